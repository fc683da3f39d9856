"""GLM's example, right and with mistakes."""

from itertools import pairwise

from autograder.reference import objectives as ref


def blank_infilling(ids, spans, order, mask_id, start_id, end_id):
    """tokens, positions, blank positions and labels of GLM's example; the mask is unilm_mask's affair."""
    made = ref.blank_infilling(ids, spans, order, mask_id, start_id, end_id)
    return made.tokens, made.positions, made.blank_positions, made.labels


def check_spans(spans, order):
    if any(b <= a for (_, a), (b, _) in pairwise(spans)):
        raise ValueError("spans touch")
    if sorted(order) != list(range(len(spans))):
        raise ValueError("order must be a permutation")
