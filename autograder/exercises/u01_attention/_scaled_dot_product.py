"""Wrong ways to attend: each leaves out, doubles or misplaces one step."""

import math

import torch

from autograder.reference import attention as ref

INF = math.inf


def _attend(scores, v, mask, fill=-INF):
    # ref.softmax gives zeros for a row of minus infinities, as a learner's masked_softmax does.
    if mask is not None:
        scores = scores.masked_fill(~mask, fill)
    return ref.softmax(scores, -1) @ v


def nan_on_empty(q, k, v, mask=None):
    scores = ref.attention_scores(q, k)
    return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -INF), -1) @ v


def no_scale(q, k, v, mask=None):
    return _attend(q @ k.mT, v, mask)


def scale_by_d(q, k, v, mask=None):
    return _attend(q @ k.mT / q.shape[-1], v, mask)


def scale_by_dv(q, k, v, mask=None):
    return _attend(q @ k.mT / math.sqrt(v.shape[-1]), v, mask)


def scale_by_keys(q, k, v, mask=None):
    return _attend(q @ k.mT / math.sqrt(k.shape[-2]), v, mask)


def scale_by_axis_one(q, k, v, mask=None):
    return _attend(q @ k.mT / math.sqrt(q.shape[1]), v, mask)


def all_axes(q, k, v, mask=None):
    return _attend(q @ k.permute(*range(k.dim())[::-1]) / math.sqrt(q.shape[-1]), v, mask)


def reshaped_keys(q, k, v, mask=None):
    return _attend(q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]) / math.sqrt(q.shape[-1]), v, mask)


def scale_after(q, k, v, mask=None):
    return _attend(q @ k.mT, v, mask) / math.sqrt(q.shape[-1])


def naive_softmax(q, k, v, mask=None):
    scores = ref.attention_scores(q, k)
    e = torch.exp(scores if mask is None else scores.masked_fill(~mask, -INF))
    return e / e.sum(-1, keepdim=True) @ v


def weights_only(q, k, v, mask=None):
    return ref.attention_weights(ref.attention_scores(q, k), mask)


def over_queries(q, k, v, mask=None):
    scores = ref.attention_scores(q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -INF)
    return torch.softmax(scores, -2) @ v


def ignores_q(q, k, v, mask=None):
    scores = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    return _attend(scores, v, mask)


def inverted_mask(q, k, v, mask=None):
    return _attend(ref.attention_scores(q, k), v, None if mask is None else ~mask)


def mask_after(q, k, v, mask=None):
    w = torch.softmax(ref.attention_scores(q, k), -1)
    return (w if mask is None else w * mask) @ v


def zero_fill(q, k, v, mask=None):
    return _attend(ref.attention_scores(q, k), v, mask, fill=0.0)


def mask_added(q, k, v, mask=None):
    scores = ref.attention_scores(q, k)
    return _attend(scores if mask is None else scores + mask, v, None)


def mask_ignored(q, k, v, mask=None):
    return _attend(ref.attention_scores(q, k), v, None)


def _weigh(scores, v, mask):
    # With masked_softmax: zeros where nothing is allowed.
    return ref.attention_weights(scores, mask) @ v


def over_queries_unmasked(q, k, v, mask=None):
    return over_queries(q, k, v) if mask is None else _weigh(ref.attention_scores(q, k), v, mask)


def over_axis_one(q, k, v, mask=None):
    scores = ref.attention_scores(q, k)
    return ref.softmax(scores, 1) @ v if mask is None else _weigh(scores, v, mask)


def axes_one_and_two(q, k, v, mask=None):
    return _weigh(torch.matmul(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1]), v, mask)


def scaled_by(factor):
    """Other divisors of the scores. factor: (q, k) → divisor."""
    return lambda q, k, v, mask=None: _weigh(q @ k.mT / factor(q, k), v, mask)


def unscaled_with_mask(q, k, v, mask=None):
    return _weigh(ref.attention_scores(q, k) if mask is None else q @ k.mT, v, mask)


def unscaled_without_mask(q, k, v, mask=None):
    return _weigh(ref.attention_scores(q, k) if mask is not None else q @ k.mT, v, mask)


def pair_returned(q, k, v, mask=None):
    weights = ref.attention_weights(ref.attention_scores(q, k), mask)
    return weights @ v, weights


def keys_for_values(q, k, v, mask=None):
    return _weigh(ref.attention_scores(q, k), k, mask)


def weights_transposed(q, k, v, mask=None):
    return ref.attention_weights(ref.attention_scores(q, k), mask).transpose(-2, -1) @ v


def scores_transposed(q, k, v, mask=None):
    return _weigh(k @ q.transpose(-2, -1) / math.sqrt(q.shape[-1]), v, mask)


def large_negative(q, k, v, mask=None):
    return _attend(ref.attention_scores(q, k), v, mask, fill=-1e9)


def truth_of_mask(q, k, v, mask=None):
    scores = ref.attention_scores(q, k)
    return _weigh(scores, v, mask) if mask else _weigh(scores, v, None)


def no_softmax(q, k, v, mask=None):
    scores = ref.attention_scores(q, k)
    return scores @ v if mask is None else _weigh(scores, v, mask)


def softmax_twice(q, k, v, mask=None):
    return _weigh(ref.softmax(ref.attention_scores(q, k)), v, mask)


def detached(q, k, v, mask=None):
    return ref.scaled_dot_product_attention(q, k, v, mask).detach()


def renormalized(q, k, v, mask=None):
    w = ref.softmax(ref.attention_scores(q, k))
    if mask is not None:
        w = w * mask
        w = w / w.sum(-1, keepdim=True)
    return w @ v


def softmax_before_mask(q, k, v, mask=None):
    w = ref.softmax(ref.attention_scores(q, k))
    return (w if mask is None else ref.attention_weights(w, mask)) @ v


def mask_not_optional(q, k, v, mask=None):
    return ref.softmax(ref.attention_scores(q, k).masked_fill(~mask, -INF)) @ v


def floor_division(q, k, v, mask=None):
    return _weigh(q @ k.mT // math.sqrt(q.shape[-1]), v, mask)
