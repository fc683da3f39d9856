"""Specs of unit 03: where the norm sits, what that does to gradients, DeepNorm, warm-up, effective depth."""
