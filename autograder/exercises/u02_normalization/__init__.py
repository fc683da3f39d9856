"""Specs of unit 02: LayerNorm and RMSNorm, their invariances and gradients, the cost, and the other norms by axes."""
