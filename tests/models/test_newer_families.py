"""The newer families, wired from the course's answers and from the reference's parts, equal Hugging Face's models.

``pytest tests/models/test_newer_families.py -rP`` prints the differences.
"""

import functools
import math
import sys
import types
from types import SimpleNamespace

import pytest
import torch
from anatomy.models import library
from anatomy.models.compare import Table, compare
from anatomy.models.families import KNOWN, UnknownFamily, configuration, name_of
from anatomy.models.library import NEWER_TINY, their_model
from anatomy.models.newer import NEWER, build
from anatomy.models.pretrained import load_pretrained, renamed

from autograder import exercises
from autograder.reference.assembly.loading import rename
from tests.models.learner import solved
from tests.reference.hf_float64 import float64

UNIT = "15-experts-and-drafts"
CLOSE = 1e-5  # of the largest logit, in float32
UNITS = {
    "placement": "03-norm-placement",
    "norm": "02-normalization",
    "ffn": "04-ffn-and-gating",
    "rope": "06-rope",
    "cache": "08-kv-cache-and-gqa",
    "assembly": "11-assembly",
    "index": "14-cheaper-attention",
    "state": "14-cheaper-attention",
    "gate": "14-cheaper-attention",
    "latent": "14-cheaper-attention",
    "experts": "15-experts-and-drafts",
}


def solution(name, exercise):
    """One function or class of the course's own answers."""
    return getattr(solved(UNITS[exercise.split(".")[0]]), name)


def reference(name, exercise):
    """The same of the reference."""
    spec = exercises.get(exercise)
    return spec.functions(spec.reference)[name]


@functools.cache
def own(family, source=solution):
    return {name: source(name, exercise) for name, exercise in NEWER[family].parts.items()}


def builder(family, source=solution, **wrong):
    """configuration → model, of these parts; wrong: name of a part → what takes its place."""
    assert set(wrong) <= set(own(family, source))
    return lambda c: build(c, SimpleNamespace(**own(family, source) | wrong))


@functools.cache
def loaded(family, source=solution):
    """The library's tiny model, and ours with its weights."""
    theirs = their_model(family)
    facts = theirs.config.to_dict()
    ours = builder(family, source)(configuration(facts)).eval()
    ours.load_state_dict(renamed(theirs.state_dict(), facts, rename), strict=True)
    return theirs, ours


def ids(length, seed=5):
    return torch.randint(1, library.VOCAB, (2, length), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("source", [solution, reference])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("family", NEWER)
def test_a_whole_model_equals_hugging_faces(family, seed, source):
    """Plain and left-padded logits, nine tokens with a cache, and the number of parameters; a strict load."""
    found = compare(family, builder(family, source), rename, None, seed)
    print(Table([found]), found.difference / found.scale)
    assert found.scale > 0.5 and found.difference <= CLOSE * found.scale
    assert found.same_tokens is True and found.parameters[0] == found.parameters[1]


def test_every_newer_family_is_compared():
    assert set(NEWER) == set(NEWER_TINY) and not set(NEWER) & set(library.TINY)
    assert all(solution(n, e) and reference(n, e) for f in NEWER.values() for n, e in f.parts.items())


@pytest.mark.parametrize("family", NEWER)
def test_in_double_precision_a_whole_model_equals_hugging_faces(family):
    """What is left in float32 is rounding: here only the frequencies of rotations may be of float32."""
    theirs = their_model(family)
    facts, state = theirs.config.to_dict(), theirs.state_dict()
    ours = builder(family, reference)(configuration(facts)).double().eval()
    ours.load_state_dict(renamed(state, facts, rename), strict=True)
    with float64():
        theirs = their_model(family).double()
        theirs.load_state_dict(state)
        expected, found = theirs(ids(23)).logits, ours(ids(23))[0]
    gap = float((found - expected).abs().max() / expected.abs().max())
    print(f"{family}: {gap:.0e}")
    assert found.dtype == torch.float64 and gap <= 1e-7


@torch.no_grad()
@pytest.mark.parametrize("length", [1, 7, 23])
@pytest.mark.parametrize("family", NEWER)
def test_other_lengths_equal_hugging_faces(family, length):
    theirs, ours = loaded(family)
    expected = theirs(ids(length)).logits
    torch.testing.assert_close(ours(ids(length))[0], expected, rtol=0, atol=CLOSE * float(expected.abs().max()))


@torch.no_grad()
@pytest.mark.parametrize("family", NEWER)
def test_padding_on_the_right_equals_hugging_faces(family):
    theirs, ours = loaded(family)
    real = torch.arange(9) < torch.tensor([[9], [5]])
    positions = (real.long().cumsum(-1) - 1).clamp(min=0)
    expected = theirs(ids(9), attention_mask=real.long(), position_ids=positions).logits[real]
    got = ours(ids(9), real)[0][real]
    torch.testing.assert_close(got, expected, rtol=0, atol=CLOSE * float(expected.abs().max()))


@torch.no_grad()
@pytest.mark.parametrize("family", NEWER)
def test_pieces_with_a_past_equal_the_whole(family):
    """With padding on the left as well: its row begins in the second piece."""
    _, ours = loaded(family)
    for real in (None, torch.arange(12) >= torch.tensor([[0], [4]])):
        whole, past, out, seen = ours(ids(12), real)[0], None, [], 0
        for piece in ids(12).split([3, 5, 1, 3], dim=1):
            seen += piece.shape[1]
            logits, past = ours(piece, None if real is None else real[:, :seen], past)
            out.append(logits)
        rows = slice(None) if real is None else real
        torch.testing.assert_close(torch.cat(out, 1)[rows], whole[rows], rtol=0, atol=CLOSE * float(whole.abs().max()))


@torch.no_grad()
def test_olmo_hybrid_may_rotate_and_may_have_smaller_rates():
    """The released models don't, but their code can."""
    rope = {"rope_type": "default", "rope_theta": 500.0}
    theirs = their_model("olmo_hybrid", rope_parameters=rope, linear_allow_neg_eigval=False)
    facts = theirs.config.to_dict()
    c = configuration(facts)
    assert c["position"] == "rope" and c["base"] == 500.0 and c["state_rate"] == 1.0
    ours = builder("olmo_hybrid")(c).eval()
    ours.load_state_dict(renamed(theirs.state_dict(), facts, rename), strict=True)
    expected = theirs(ids(11)).logits
    torch.testing.assert_close(ours(ids(11))[0], expected, rtol=0, atol=CLOSE * float(expected.abs().max()))


@torch.no_grad()
@pytest.mark.parametrize("family", [f for f in NEWER if "delta_rule" in NEWER[f].parts])
def test_a_lost_state_is_felt_in_the_second_piece(family):
    _, ours = loaded(family)
    facts = their_model(family).config.to_dict()
    wrong = builder(family, delta_rule=forgetful)(configuration(facts)).eval()
    wrong.load_state_dict(ours.state_dict())
    whole, (first, past) = ours(ids(12))[0], wrong(ids(12)[:, :7])
    torch.testing.assert_close(first, whole[:, :7], rtol=0, atol=CLOSE * float(whole.abs().max()))
    assert (wrong(ids(12)[:, 7:], None, past)[0] - whole[:, 7:]).abs().max() > 1000 * CLOSE * whole.abs().max()


@torch.no_grad()
@pytest.mark.parametrize("family", NEWER)
def test_the_future_changes_nothing_before_it(family):
    _, ours = loaded(family)
    changed = ids(12).clone()
    changed[:, 8:] = ids(12, seed=6)[:, 8:]
    before, after = ours(ids(12))[0], ours(changed)[0]
    gap = (before - after).abs().amax((0, 2)) / before.abs().max()
    assert float(gap[:8].max()) <= CLOSE and float(gap[8]) > 1e-3


@pytest.mark.parametrize("family", NEWER)
def test_names_must_be_all_and_no_more(family):
    theirs, ours = loaded(family)
    facts, state = theirs.config.to_dict(), theirs.state_dict()
    with pytest.raises(ValueError, match="no rule for extra"):
        renamed(state | {"extra": torch.zeros(1)}, facts, rename)
    for name in state:
        kept = renamed({n: t for n, t in state.items() if n != name}, facts, rename)
        with pytest.raises(RuntimeError, match="Missing key"):
            builder(family)(configuration(facts)).load_state_dict(kept, strict=True)


@torch.no_grad()
@pytest.mark.parametrize("family", NEWER)
def test_a_saved_checkpoint_loads(tmp_path, family):
    """The library may write other names and pieces than its model holds."""
    theirs, _ = loaded(family)
    theirs.save_pretrained(tmp_path)
    ours = load_pretrained(tmp_path, builder(family), rename)
    expected = theirs(ids(9)).logits
    torch.testing.assert_close(ours(ids(9))[0], expected, rtol=0, atol=CLOSE * float(expected.abs().max()))


# -- a wrong part is felt in the whole ---------------------------------------------------------------------------------


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


def test_each_family_has_wrong_parts():
    assert set(WRONG) == set(NEWER)


@pytest.mark.parametrize("family, name", [(f, n) for f, parts in WRONG.items() for n in parts])
def test_a_wrong_part_is_felt_in_the_whole(family, name):
    """The weights load, and the logits are far from the library's: a thousand times as far as with the right part."""
    found = compare(family, builder(family, **WRONG[family][name]), rename)
    print(f"{family}, {name}: {found.difference / found.scale:.0e}")
    assert not found.equal and found.difference > 1000 * CLOSE * found.scale


@torch.no_grad()
@pytest.mark.parametrize("is_late", [False, True])
def test_a_gate_after_the_output_projection_is_felt(is_late):
    """The gate has as many numbers as a token where heads and tokens are equally wide."""
    theirs, gates = their_model("qwen3_next", head_dim=8), []

    class Late(solution("Attention", "assembly.attention")):
        def __init__(self, c):
            super().__init__(c)
            self.o_proj.register_forward_hook(lambda layer, given, out: out * gates.pop())

    def later(attended, x, w_gate):
        gates.append(torch.sigmoid(x @ w_gate.T))
        return ungated(attended, x, w_gate)

    facts = theirs.config.to_dict()
    ours = builder("qwen3_next", **{"Attention": Late, "gated_output": later} if is_late else {})(configuration(facts))
    ours.load_state_dict(renamed(theirs.state_dict(), facts, rename), strict=True)
    expected = theirs(ids(9)).logits
    gap = float((ours(ids(9))[0] - expected).abs().max() / expected.abs().max())
    assert gap > 0.1 if is_late else gap <= CLOSE


WRONG_VALUES = {
    "deepseek_v32": {"index_keys": 5, "n_open": 3, "base": 500.0, "eps": 1e-2},
    "olmo_hybrid": {"state_rate": 1.0, "position": "rope", "state_eps": 1e-2, "eps": 1e-2},
    "qwen3_next": {"rotary_dim": 8, "state_rate": 2.0, "base": 500.0, "eps": 1e-2, "n_active": 1},
    "deepseek_v3_experts": {"n_open": 3, "expert_scale": 1.0, "n_active": 2, "eps": 1e-2},
    "gpt_oss": {"window": 5, "window_every": 1, "yarn": (4.0, 256, 32.0, 1.0), "expert_limit": 7.0, "eps": 1e-2},
}


@pytest.mark.parametrize("family, key", [(f, k) for f, values in WRONG_VALUES.items() for k in values])
def test_a_wrong_value_is_felt_in_the_whole(family, key):
    right = configuration(their_model(family).config.to_dict())
    assert right[key] != WRONG_VALUES[family][key]
    found = compare(family, lambda c: builder(family)(c | {key: WRONG_VALUES[family][key]}), rename)
    assert not found.equal and found.difference > 100 * CLOSE * found.scale


# -- without the library -----------------------------------------------------------------------------------------------


@pytest.fixture
def no_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert library.transformers() is None


@pytest.mark.parametrize("family", NEWER)
def test_a_learner_without_the_library_meets_its_recording(family, no_library):
    found = compare(family, builder(family), rename)
    assert found.equal and found.scale > 0.5 and found.same_tokens is True and "recorded" in found.source
    wrong = compare(family, builder(family, **next(iter(WRONG[family].values()))), rename)
    assert not wrong.equal


REFUSED = {
    "deepseek_v32": [({"mlp_layer_types": ["sparse"] * 3}, "first layers are dense")],
    "olmo_hybrid": [({"attention_bias": True}, "no biases")],
    "qwen3_next": [({"mlp_only_layers": [1]}, "all layers have experts"), ({"hidden_act": "gelu"}, "SiLU")],
    "deepseek_v3_experts": [
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0}}, "scaled"),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}, "base 10,000"),
        ({"q_lora_rank": None}, "latent for queries"),
    ],
    "gpt_oss": [
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}, "stretches"),
        ({"layer_types": ["full_attention"] * 3}, "every second layer"),
    ],
}


@pytest.mark.parametrize("family, changes, said", [(f, c, s) for f, cases in REFUSED.items() for c, s in cases])
def test_an_option_that_no_part_has_is_named(family, changes, said):
    facts = their_model(family).config.to_dict()
    assert name_of(facts) == family and configuration(facts)["family"] == family and KNOWN[family].title
    with pytest.raises(UnknownFamily, match=said):
        configuration(facts | changes)
