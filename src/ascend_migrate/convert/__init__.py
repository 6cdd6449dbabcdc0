"""Write what the engine made: into a new tree, over the originals, or nowhere at all."""
