"""Specs of unit 01: from softmax to multi-head attention, padding, and what a layer costs."""
