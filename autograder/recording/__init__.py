"""Runs references (and experiments) on a device and writes their results to ``assets/``, with a manifest."""
