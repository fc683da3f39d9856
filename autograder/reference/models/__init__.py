"""Whole models, assembled from the parts of this package and checked against Hugging Face's.

Read ``one_page.py`` first: a modern decoder from token ids to generated text. Then ``decoder.py``, the same wiring for
models that differ in their parts, and one module for each family.

The families of 2024 to 2026 (gpt-oss, DeepSeek-V3 and V3.2, Qwen3-Next, OLMo hybrid) are wired around parts that are
handed in, in ``anatomy.models.newer``. ``tests/models/test_newer_families.py`` hands in this package's.
"""
