"""Specs of unit 11: own parts become models, models get real weights, and families differ by a few lines."""
