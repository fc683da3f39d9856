"""Specs of unit 05: positions added to words, positions inside the scores, positions as a bias."""
