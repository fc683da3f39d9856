"""Specs of unit 07: who may look at whom, and what a model is asked to predict."""
