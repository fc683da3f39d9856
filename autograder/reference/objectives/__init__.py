"""Training objectives: how inputs are corrupted, what is predicted, and how the loss is averaged.

Every random choice can be passed in as numbers, so that a function is determined by its arguments; a
``sample_*`` function draws those numbers. Draws are made on the CPU and moved, so that a seed gives the
same data on every device.
"""

from autograder.reference.objectives.blank_infilling import (
    BlankInfilling,
    blank_infilling,
    blank_infilling_loss,
    fill_blanks,
    sample_glm_spans,
)
from autograder.reference.objectives.clm import (
    next_token_loss,
    next_token_pairs,
    perplexity,
    sequence_log_probability,
)
from autograder.reference.objectives.contrastive import (
    info_nce,
    mutual_information_bound,
    symmetric_info_nce,
)
from autograder.reference.objectives.mlm import (
    IGNORE,
    MaskedTokens,
    dynamic_mlm,
    mask_tokens,
    masked_loss,
    sample_mlm,
    select_exact,
    select_independent,
    static_mlm,
)
from autograder.reference.objectives.pairs import (
    PackedPair,
    SentencePair,
    nsp_pair,
    pack_pair,
    sample_nsp,
    sample_sop,
    sop_pair,
)
from autograder.reference.objectives.span_corruption import (
    SpanCorruption,
    noise_counts,
    restore_spans,
    sample_noise_mask,
    span_corruption,
)

__all__ = [
    "IGNORE",
    "BlankInfilling",
    "MaskedTokens",
    "PackedPair",
    "SentencePair",
    "SpanCorruption",
    "blank_infilling",
    "blank_infilling_loss",
    "dynamic_mlm",
    "fill_blanks",
    "info_nce",
    "mask_tokens",
    "masked_loss",
    "mutual_information_bound",
    "next_token_loss",
    "next_token_pairs",
    "noise_counts",
    "nsp_pair",
    "pack_pair",
    "perplexity",
    "restore_spans",
    "sample_glm_spans",
    "sample_mlm",
    "sample_noise_mask",
    "sample_nsp",
    "sample_sop",
    "select_exact",
    "select_independent",
    "sequence_log_probability",
    "sop_pair",
    "span_corruption",
    "static_mlm",
    "symmetric_info_nce",
]
