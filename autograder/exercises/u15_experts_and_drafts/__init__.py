"""Specs of unit 15: experts and their balance, verified drafts, wide residual streams, Muon, and grouped weights."""
