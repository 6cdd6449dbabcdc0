"""Reading one Python file: text and places, tree and scopes, the meaning of names, the flow of devices."""
