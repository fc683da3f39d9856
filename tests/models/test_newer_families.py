"""The newer families, wired from the course's answers and from the reference's parts, equal Hugging Face's models.

``pytest tests/models/test_newer_families.py -rP`` prints the differences.
"""

import functools
import sys
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
from tests.models.learner import solution
from tests.models.wrong_parts import WRONG, forgetful, ungated
from tests.reference.hf_float64 import float64

UNIT = "15-experts-and-drafts"
CLOSE = 1e-5  # of the largest logit, in float32


def reference(name, exercise):
    """One function or class of the reference."""
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


def test_qwens_block_for_drafts_is_left_out():
    theirs, ours = loaded("qwen3_next")
    state = theirs.state_dict() | {"mtp.layers.0.mlp.gate.weight": torch.zeros(1)}
    assert set(renamed(state, theirs.config.to_dict(), rename)) == set(ours.state_dict())


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
