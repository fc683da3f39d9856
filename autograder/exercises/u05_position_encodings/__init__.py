"""Specs of unit 05: positions added to tokens, positions inside the scores, positions as a bias."""
