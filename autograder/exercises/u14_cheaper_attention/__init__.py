"""Specs of unit 14: attention in tiles, chosen keys, states instead of caches, and heads that may be silent."""
