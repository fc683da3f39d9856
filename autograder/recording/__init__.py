"""Runs references (and experiments) on a device and writes what they gave to ``assets/``, with a manifest."""
