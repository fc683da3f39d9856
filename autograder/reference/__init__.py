"""Reference implementations in plain PyTorch, independent of device and dtype; imports torch and math only."""
