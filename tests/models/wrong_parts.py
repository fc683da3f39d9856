"""Wrong parts for the newer families: of each family, what is wrong → name of the part → the function in its place."""

import functools
import math
import types

import torch

from tests.models.learner import solution


def plain_attention(q, k, v, sink, mask):
    """The sink is left out of the denominator."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def divided_sink(q, k, v, sink, mask):
    """The sink is divided by √D, like a score."""
    return solution("sink_attention", "gate.sink")(q, k, v, sink / math.sqrt(q.shape[-1]), mask)


def reversed_weights(logits, k):
    """The weights come in another order than the experts."""
    weights, chosen = logits.softmax(-1).topk(k, dim=-1)
    return weights.flip(-1), chosen


def scaling_bias(logits, bias, k, scale):
    """The bias that chooses is part of the weights."""
    weights, chosen = (logits.sigmoid() + bias).topk(k, dim=-1)
    return scale * weights / weights.sum(-1, keepdim=True), chosen


def choosing_without_bias(logits, bias, k, scale):
    """The bias closes groups, and does nothing else."""
    weights, chosen = logits.sigmoid().where(bias > -math.inf, 0).topk(k, dim=-1)
    return scale * weights / weights.sum(-1, keepdim=True), chosen


def without_groups(logits, bias, k, scale):
    """Experts of closed groups work, too."""
    bias = bias.where(bias > -math.inf, bias.amax(0))
    return solution("route_biased", "experts.route")(logits, bias, k, scale)


def unscaled(logits, bias, k, scale):
    """The weights sum to 1."""
    return solution("route_biased", "experts.route")(logits, bias, k)


def latent_with(**changed):
    """The learner's latent attention, with other functions of its notebook."""
    right = solution("LatentAttention", "latent.shipped")
    f = right.forward
    return type("Wrong", (right,), {"forward": types.FunctionType(f.__code__, f.__globals__ | changed, "forward")})


def half_pairs(x, positions, base=10_000.0):
    """Pairs (i, i + D/2) in place of neighbors."""
    return solution("apply_rope_half", "rope.apply_rope_half")(x, positions, base)


def wrong_delta(q, k, v, decay, rate, state=None, late=False, adds=False, long=False):
    """late: decays after the write; adds: writes v and not v − Sᵀk; long: keys keep their lengths."""
    k = k if long else torch.nn.functional.normalize(k, dim=-1)
    state, out = v.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1]) if state is None else state, []
    for t in range(q.shape[2]):
        key, value, kept = k[:, :, t, :, None], v[:, :, t, None, :], decay[:, :, t, None, None]
        state = state if late else kept * state
        state = state + rate[:, :, t, None, None] * key @ (value if adds else value - key.mT @ state)
        state = kept * state if late else state
        out.append(q[:, :, t, None, :] @ state)
    return torch.cat(out, dim=2), state


def forgetful(q, k, v, decay, rate, state=None):
    """The border between two calls is lost."""
    return solution("delta_rule", "state.delta")(q, k, v, decay, rate)


def ungated(attended, x, w_gate):
    """The heads are joined, and there is no gate."""
    return attended.transpose(1, 2).flatten(2)


def silu_gate(attended, x, w_gate):
    """SiLU in place of a sigmoid."""
    return ungated(attended, x, w_gate) * torch.nn.functional.silu(x @ w_gate.T)


def layer_norm(x, weight, eps=1e-6):
    """The mean is subtracted."""
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, None, eps)


def nothing_hidden(scores, n):
    """All keys are chosen."""
    T, S = scores.shape[-2:]
    return torch.ones(scores.shape, dtype=torch.bool).tril(S - T)


def best_of_all(scores, n):
    """Keys of the future compete, and are hidden only then."""
    T, S = scores.shape[-2:]
    chosen = torch.zeros(scores.shape, dtype=torch.bool).scatter(-1, scores.topk(min(n, S), dim=-1).indices, True)
    return chosen & nothing_hidden(scores, n) | torch.eye(S, dtype=torch.bool)[S - T :]


def without_relu(q, k, w):
    """Negative products count as well."""
    return torch.einsum("btjd,bsd,btj->bts", q, k, w)


STATES = {
    "decay after the write": {"delta_rule": functools.partial(wrong_delta, late=True)},
    "values are added": {"delta_rule": functools.partial(wrong_delta, adds=True)},
    "keys keep their lengths": {"delta_rule": functools.partial(wrong_delta, long=True)},
    "key heads in another order": {"repeat_kv": lambda x, n: x.repeat(1, n, 1, 1)},
}
ROUTED = {
    "the bias scales too": {"route_biased": scaling_bias},
    "the bias does not choose": {"route_biased": choosing_without_bias},
    "groups stay open": {"route_biased": without_groups},
    "weights sum to 1": {"route_biased": unscaled},
}
WRONG = {
    "deepseek_v32": ROUTED
    | {
        "the indexer rotates neighbors": {"apply_rope_half": solution("apply_rope", "rope.apply_rope")},
        "the indexer rotates nothing": {"apply_rope_half": lambda x, positions, base: x},
        "all keys are chosen": {"best_visible": nothing_hidden},
        "the future competes": {"best_visible": best_of_all},
        "no ReLU": {"index_scores": without_relu},
    },
    "olmo_hybrid": STATES,
    "qwen3_next": STATES
    | {
        "no gate": {"gated_output": ungated},
        "SiLU gates": {"gated_output": silu_gate},
        "weights in another order": {"route": reversed_weights},
        "the mean is subtracted": {"rms_norm": layer_norm},
        "nothing is rotated": {"apply_rope_half": lambda x, positions, base: x},
    },
    "deepseek_v3_experts": ROUTED
    | {
        "nothing is rotated": {"LatentAttention": latent_with(rotate_pairs=lambda x, positions: x)},
        "other pairs are rotated": {"LatentAttention": latent_with(rotate_pairs=half_pairs)},
    },
    "gpt_oss": {
        "no sink": {"sink_attention": plain_attention},
        "sink divided": {"sink_attention": divided_sink},
        "weights in another order": {"route": reversed_weights},
        "no temperature": {"yarn_temperature": lambda s: 1.0},
        "queries share other heads": {"repeat_kv": lambda x, n: x.repeat(1, n, 1, 1)},
    },
}
