"""Specs of unit 04: activations and their slopes, then gated feed-forward layers and how wide they are."""
