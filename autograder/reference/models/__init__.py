"""Whole models, assembled from the parts of this package and checked against Hugging Face's."""
