"""ascend-migrate: move PyTorch projects written for CUDA to Huawei Ascend NPUs."""

__version__ = "0.1.0"
