"""Specs of unit 09: patterns of sparse attention, how far they reach, what they cost, and stacks that mix them."""
