"""Whole models, assembled from the parts of this package and checked against Hugging Face's.

Read ``one_page.py`` first: a modern decoder from token ids to generated text. Then ``decoder.py``, the same wiring for
models that differ in their parts, and one module for each family.
"""
