"""Runs and records: cases as programs, values as JSON and tensors, cost, distributions, recordings."""
