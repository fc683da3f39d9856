"""Spec of unit 00: one warm-up that shows the whole loop."""
