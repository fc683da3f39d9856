"""Specs of unit 13: sizes read off counts, compute and how to spend it, low-rank adapters, what serving costs."""
