"""Tier 1 of PositionExplorer: tables against loops, facts, notices, the display bundle, the recording."""

import math

import numpy as np
import pytest
import torch
from anatomy.widgets import PositionExplorer, WrongOutput
from anatomy.widgets.position import CLIPS, NAMES, SCHEMES, SLOPES, TOLERANCE, D, T, profile
from anatomy.widgets.tools.base import NOTHING_GIVEN
from torch import nn

from ..learners import unfinished
from .learners import POSITIONS, cosine_only, deberta_as_released, reversed_shaw, rounded_buckets

EVERY = [(name, j) for name, _, _, variants in SCHEMES for j in range(len(variants))]


def table(widget, name, variants):
    return np.frombuffer(widget.tables[name], "<f4").reshape(variants, T, T)


@pytest.fixture(scope="module")
def right():
    return PositionExplorer(**POSITIONS)


@pytest.mark.parametrize("scheme, variant", EVERY)
def test_right_functions_equal_the_reference(right, scheme, variant):
    right.scheme, right.variant = NAMES.index(scheme), variant
    assert right.notice == "" and right.facts()["reference"] < TOLERANCE
    assert "(ok)" in right.alt and "with your" in right.alt


def test_sinusoid_is_a_sum_of_cosines_and_looks_back(right):
    S = table(right, "s_sinusoid", 3)
    for i, j in ((0, 0), (5, 20), (31, 2)):
        assert S[0, i, j] == pytest.approx(sum(math.cos((j - i) * 1e4 ** (-f / 16)) for f in range(16)), abs=1e-4)
    assert (S[2].argmax(1)[3:] == np.arange(T - 3)).all()
    mean, low, high = profile(S[1].astype(float))
    assert (high - low).max() > 1


def test_relative_tables_equal_loops(right):
    x = {k: v.double() for k, v in right._inputs.items()}
    buckets = table(right, "s_t5_relative_bucket", 4)
    shaw, xl = table(right, "s_shaw_index", 4), table(right, "s_transformer_xl_scores", 3)
    deberta = table(right, "s_deberta_scores", 3)
    for i, j in ((0, 0), (3, 9), (9, 3), (31, 0), (0, 31), (12, 13)):
        row = min(max(j - i, -4), 4) + 16
        assert shaw[1, i, j] == pytest.approx(float((x["shaw_table"][row] - x["shaw_table"][16]) @ x["word"]), abs=1e-5)
        r = x["r"][T - 1 - (i - j)]
        assert xl[0, i, j] == pytest.approx(float((x["word"] + x["v"][0]) @ r) / math.sqrt(D), abs=1e-5)
        delta = lambda a, b: min(max(a - b + 8, 0), 15)
        both = x["word"] @ x["kr"][delta(i, j)] + x["v"][0] @ x["qr"][delta(j, i)]
        assert deberta[0, i, j] == pytest.approx(float(both) / math.sqrt(3 * D), abs=1e-5)
        near = abs(j - i) if abs(j - i) < 8 else 8 if abs(j - i) < 12 else None
        if near is not None:
            assert buckets[2, i, j] == pytest.approx(float(x["t5_s"][near + 16 * (j > i), 2]), abs=1e-6)


def test_alibi_and_causal_buckets(right):
    S = table(right, "s_alibi_bias", 8)
    assert np.allclose(S[:, 20, 17], [-3 * m for m in SLOPES]) and (S[:, 4, 4] == 0).all()
    causal = table(right, "c_t5_relative_bucket", 4)
    assert (causal[0][np.triu_indices(T)] == causal[0, 0, 0]).all()  # the future counts as distance 0


@pytest.mark.parametrize(
    "scheme, variant, spread, direction",
    [
        ("sinusoidal", 0, False, False),
        ("sinusoidal", 1, True, True),
        ("sinusoidal", 2, False, True),
        ("learned absolute", 0, True, False),
        ("Shaw", 0, False, True),
        ("Transformer-XL", 0, False, True),
        ("T5, bidirectional", 1, False, True),
        ("T5, causal", 1, False, True),
        ("DeBERTa", 0, False, True),
        ("ALiBi", 3, False, False),
    ],
)
def test_facts_say_what_each_scheme_knows(right, scheme, variant, spread, direction):
    right.scheme, right.variant = NAMES.index(scheme), variant
    found = right.facts()
    assert (found["spread"] > 0.1, found["direction"] > 0.1) == (spread, direction)
    assert ("position counts" in right.alt, "(direction)" in right.alt) == (spread, direction)
    assert min(found["spread"], 0.1) in (0.1, pytest.approx(0, abs=TOLERANCE))


@pytest.mark.parametrize(
    "name, fn, scheme, variant",
    [
        ("sinusoid", cosine_only, "sinusoidal", 0),
        ("shaw_index", reversed_shaw, "Shaw", 3),
        ("t5_relative_bucket", rounded_buckets, "T5, bidirectional", 0),
        ("deberta_scores", deberta_as_released, "DeBERTa", 2),
        ("alibi_bias", lambda slopes, n, m: -POSITIONS["alibi_bias"](slopes, n, m), "ALiBi", 0),
    ],
)
def test_mistakes_show(name, fn, scheme, variant):
    widget = PositionExplorer({**POSITIONS, name: fn}, scheme=scheme, variant=variant)
    assert widget.facts()["reference"] > 0.05 and "(broken)" in widget.alt
    other = next(n for n, f, *_ in SCHEMES if f != name)
    widget.scheme = NAMES.index(other)
    assert widget.facts()["reference"] < TOLERANCE


def test_some_functions_all_functions_none():
    assert PositionExplorer().notice == NOTHING_GIVEN
    some = PositionExplorer(sinusoid=POSITIONS["sinusoid"], scheme="ALiBi")
    assert some.notice == "" and "the reference's alibi_bias" in some.alt
    stub = PositionExplorer({"shaw_index": unfinished}, sinusoid=POSITIONS["sinusoid"])
    assert stub.notice == "Showing the reference for shaw_index: not written yet"
    assert np.array_equal(stub.shown("s_shaw_index"), stub._reference["s_shaw_index"])
    with pytest.raises(TypeError, match="does not know rope"):
        PositionExplorer(rope=unfinished)


def test_a_class_that_is_not_written_counts_as_a_stub():
    class LearnedPositions(nn.Module):
        def __init__(self, max_positions, d_model):
            super().__init__()
            raise NotImplementedError("position.learned")

    widget = PositionExplorer(LearnedPositions=LearnedPositions)
    assert widget.notice == "Showing the reference for LearnedPositions: not written yet"


@pytest.mark.parametrize(
    "name, fn, words",
    [
        ("shaw_index", lambda T, S, k: torch.zeros(T, S), "returned dtype float32"),
        ("shaw_index", lambda T, S, k: torch.zeros(T, dtype=torch.int64), "returned shape (32,)"),
        ("shaw_index", lambda T, S, k: POSITIONS["shaw_index"](T, S, k) - k, "run from -2 to 2"),
        ("t5_relative_bucket", lambda r, bidirectional=True: r.abs() + 5, "run from 5 to 36"),
        ("t5_relative_bucket", lambda r, bidirectional=True: None, "returned NoneType"),
        ("sinusoid", lambda p, d: torch.zeros(3, d), "(32, 32) here, and it returned shape (3, 32)"),
        ("alibi_bias", lambda slopes, T, S: torch.zeros(T, S), "returned shape (32, 32)"),
    ],
)
def test_a_wrong_result_gets_one_sentence(name, fn, words):
    with pytest.raises(WrongOutput) as caught:
        PositionExplorer({name: fn})
    text = str(caught.value)
    assert words in text and name in text and text.count(".") == 1 and "\n" not in text


def test_the_learners_error_passes_through():
    with pytest.raises(ZeroDivisionError):
        PositionExplorer(sinusoid=lambda p, d: 1 / 0)


def test_a_variant_beyond_the_last_shows_the_last(right):
    right.scheme, right.variant = NAMES.index("ALiBi"), 7
    right.scheme = NAMES.index("Shaw")
    assert "(K = 16)" in right.alt and np.array_equal(right.scores(), table(right, "s_shaw_index", len(CLIPS))[3])


def test_not_a_number_is_said_and_drawn():
    nothing = lambda p, d: torch.full((len(p), d), float("nan"))
    widget = PositionExplorer(sinusoid=nothing, scheme="sinusoidal")
    assert "key none highest" in widget.alt and "(broken)" in widget.alt and widget.png()


def test_the_opening_runs_along_the_row_that_the_question_is_about():
    asked = PositionExplorer.story[0]
    assert all(state.keys() == {"key"} and 0 <= state["key"] < T for state in PositionExplorer.opening)
    assert f"place {asked.state['query']}" in asked.asks


@pytest.mark.parametrize("length", [4, 9, 16, 17, 31])
def test_what_a_training_text_trains_equals_loops(right, length):
    """A row of a table is trained if any pair of a text of that length uses it."""
    places = torch.arange(T)
    r = places - places[:, None]
    rows = {("T5, bidirectional", 1): POSITIONS["t5_relative_bucket"](r),
            ("T5, causal", 0): POSITIONS["t5_relative_bucket"](r, bidirectional=False),
            ("DeBERTa", 1): (-r + 8).clamp(0, 15), ("learned absolute", 0): torch.maximum(places[:, None], places),
            **{("Shaw", j): POSITIONS["shaw_index"](T, T, k) for j, k in enumerate(CLIPS)}}  # fmt: skip
    right.trained = length
    for (right_scheme, right.variant), row in rows.items():
        right.scheme = NAMES.index(right_scheme)
        seen = set(row[:length, :length].flatten().tolist())
        lacks = np.array([[n not in seen for n in line] for line in row.tolist()])
        assert np.array_equal(right.untrained(), lacks), right_scheme
        assert f"texts of {length} words, {lacks.mean():.0%} of the pairs" in right.alt
    for right_scheme in ("sinusoidal", "Transformer-XL", "ALiBi"):
        right.scheme = NAMES.index(right_scheme)
        assert not right.untrained().any()
    assert right.png()
    right.trained = T
    assert not right.untrained().any() and "lack a trained number" not in right.alt
