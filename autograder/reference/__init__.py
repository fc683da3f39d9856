"""Reference implementations in plain PyTorch, independent of device and dtype; import torch and math only."""
