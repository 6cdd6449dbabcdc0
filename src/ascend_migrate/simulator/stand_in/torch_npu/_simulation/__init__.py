"""How the simulated NPU looks from Python. Nothing here is part of torch_npu's own names."""
