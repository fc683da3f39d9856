"""Tier 1, no browser: tables, invariants, notices, the display bundle, and the recording."""

import json
import math

import numpy as np
import pytest
import torch
from anatomy.records import MissingRecording
from anatomy.widgets import (
    AttentionExplorer,
    MixExplorer,
    PermutationExplorer,
    RopeExplorer,
    WavelengthExplorer,
    WrongOutput,
)
from anatomy.widgets.base import NOTHING_GIVEN
from anatomy.widgets.permutation import ORDERS
from anatomy.widgets.rope import BASES, DIMS, POSITIONS, TOLERANCE

from .learners import (
    backward_rope,
    causal_always,
    columns_attention,
    deaf_rope,
    half_exponent,
    right_attention,
    right_average,
    right_frequencies,
    right_rope,
    sign_rope,
    unfinished,
    unscaled_attention,
    zero_mask_attention,
)

WIDGETS = [
    (RopeExplorer, right_rope),
    (WavelengthExplorer, right_frequencies),
    (AttentionExplorer, right_attention),
    (PermutationExplorer, right_attention),
    (MixExplorer, right_average),
]
EACH = pytest.mark.parametrize("widget, fn", WIDGETS, ids=lambda v: getattr(v, "recording", ""))


def array(widget, name, *shape):
    return np.frombuffer(widget.tables[name], "<f4").reshape(shape)


def test_rope_tables_equal_a_loop_over_planes():
    widget = RopeExplorer(right_rope)
    for D in DIMS:
        q = array(widget, f"q{D}", len(BASES), POSITIONS, D)
        start = widget._inputs[f"q{D}"].tolist()
        for j, m, i in ((0, 63, 0), (2, 7, 1), (4, 40, D // 2 - 1)):
            angle = m * BASES[j] ** (-2 * i / D)
            x, y = start[2 * i], start[2 * i + 1]
            expected = [x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)]
            assert np.allclose(q[j, m, 2 * i : 2 * i + 2], expected, atol=2e-5)


def test_right_rope_keeps_every_invariant_at_every_setting():
    table = array(RopeExplorer(right_rope), "invariants", len(DIMS), len(BASES), 3)
    assert table.max() < TOLERANCE


@pytest.mark.parametrize(
    "fn, broken",
    [
        (sign_rope, {"shift", "norm", "reference"}),
        (backward_rope, {"reference"}),  # still a rotation: only the comparison can tell
        (deaf_rope, {"shift", "reference"}),
        (lambda x, position_ids, base=1e4: x, {"reference"}),
        (lambda x, position_ids, base=1e4: right_rope(x, position_ids), set()),  # right at base 1e4 only
    ],
)
def test_mistakes_show_in_the_invariants(fn, broken):
    widget = RopeExplorer(fn, dim=8, base=1e4)
    found = widget.invariants()
    assert {k for k, v in found.items() if v > TOLERANCE} == broken
    for name in broken:
        assert found[name] > 0.1  # far from the limit, not by a hair
    assert ("broken" in widget.alt) == bool(broken)


def test_base_ignored_shows_at_another_base():
    widget = RopeExplorer(lambda x, position_ids, base=1e4: right_rope(x, position_ids), base=100.0)
    assert widget.invariants()["reference"] > 0.1


def test_scores_follow_the_settings():
    widget = RopeExplorer(right_rope, dim=4)
    before = widget.scores()
    assert before.shape == (POSITIONS, POSITIONS)
    assert np.allclose(before[5:, 5:], before[:-5, :-5], atol=TOLERANCE)
    widget.base = 100.0
    assert not np.allclose(widget.scores(), before, atol=0.1)
    assert not np.allclose(before, before.T, atol=0.1)  # so that direction can be seen at all


def test_unfinished_function_shows_the_reference_and_says_so():
    widget = RopeExplorer(unfinished)
    assert widget.notice == "Showing the reference: apply_rope is not written yet"
    assert widget.tables["q8"] == widget.tables["ref_q8"]

    def apply_rope(x, position_ids, base=10000.0):
        raise NotImplementedError("rope.apply")

    assert RopeExplorer(apply_rope).notice == "Showing the reference: apply_rope is not written yet"
    assert RopeExplorer().notice == NOTHING_GIVEN


def test_an_unfinished_part_is_named():
    def rotate_pairs(x):
        raise NotImplementedError

    widget = RopeExplorer(lambda x, position_ids, base=1e4: rotate_pairs(x))
    assert widget.notice == "Showing the reference: rotate_pairs is not written yet"


def test_torch_saying_not_implemented_is_a_bug_and_not_an_empty_stub():
    def apply_rope(x, position_ids, base=10000.0):
        return torch.softmax(position_ids, -1)  # of integers: torch raises NotImplementedError from C++

    with pytest.raises(NotImplementedError, match="Long"):
        RopeExplorer(apply_rope)


def test_the_learners_error_passes_through_and_a_notebook_shows_their_lines_only():
    def turn(x):
        return x @ torch.ones(7, 7)

    def apply_rope(x, position_ids, base=10000.0):
        return turn(x)

    with pytest.raises(RuntimeError, match="mat1") as caught:
        RopeExplorer(apply_rope)
    first, *own, error, advice = caught.value._render_traceback_()
    assert [line.split(":")[0].split()[-1] for line in own] == ["apply_rope", "turn"]
    assert own[1].endswith("return x @ torch.ones(7, 7)") and error.startswith("RuntimeError: mat1")
    assert "Run the check" in advice and "widget" in first


@pytest.mark.parametrize(
    "fn, words",
    [
        (lambda x, position_ids, base=1e4: x[0], "it returned shape (2, 64, 4)"),
        (lambda x, position_ids, base=1e4: None, "it returned None"),
        (lambda x, position_ids, base=1e4: x.numpy(), "it returned a ndarray"),
        (lambda x, position_ids, base=1e4: x.long(), "it returned dtype int64"),
    ],
)
def test_a_wrong_result_gets_one_sentence(fn, words):
    with pytest.raises(WrongOutput) as caught:
        RopeExplorer(fn)
    text = str(caught.value)
    assert words in text and "(1, 2, 64, 4)" in text and text.count(".") == 1 and "\n" not in text
    assert caught.value._render_traceback_() == [f"WrongOutput: {text}"]


def test_refresh_takes_the_mended_function_and_keeps_the_old_picture_on_error():
    widget = RopeExplorer(unfinished)
    widget.refresh(sign_rope)
    assert widget.notice == "" and widget.invariants()["norm"] > 0.1
    before = dict(widget.tables)
    with pytest.raises(WrongOutput):
        widget.refresh(lambda x, position_ids, base=1e4: x[0])
    assert widget.tables == before
    widget.refresh(right_rope)
    assert widget.invariants()["norm"] < TOLERANCE
    widget.refresh()
    assert widget.notice == ""


def test_a_function_that_writes_into_its_argument_spoils_nothing():
    def greedy(x, position_ids, base=10000.0):
        out = right_rope(x, position_ids, base)
        x.zero_()
        position_ids.zero_()
        return out

    assert RopeExplorer(greedy).tables == RopeExplorer(right_rope).tables


def test_gradients_and_not_a_number_do_no_harm():
    RopeExplorer(lambda x, position_ids, base=1e4: right_rope(x, position_ids, base).requires_grad_())
    widget = RopeExplorer(lambda x, position_ids, base=1e4: x * float("nan"))
    assert widget.alt.count("(broken)") == 3
    widget.png()


@EACH
def test_right_functions_are_right_everywhere(widget, fn):
    made = widget(fn)
    assert made.notice == ""
    for name in ("invariants", "far", "gap"):
        if name in made.tables and widget is not PermutationExplorer:
            assert array(made, name, -1).max() < TOLERANCE
    assert "broken" not in made.alt


@EACH
def test_every_widget_falls_back_and_says_so(widget, fn):
    made = widget(unfinished)
    assert made.notice == f"Showing the reference: {widget.function_name} is not written yet"
    assert "the reference's" in made.alt.lower()
    with pytest.raises(WrongOutput, match=f"{widget.function_name} must return a floating-point tensor of shape"):
        widget(lambda *args, **kwargs: torch.zeros(7, 7, 7))
    with pytest.raises(RuntimeError, match="boom"):

        def bomb(*args, **kwargs):
            raise RuntimeError("boom")

        widget(bomb)


def test_wavelengths_by_hand():
    widget = WavelengthExplorer(right_frequencies)
    waves = widget.wavelengths()
    assert len(waves) == 64 and round(waves.max()) == 54410 and np.isclose(waves[0], 2 * math.pi)
    # 2π·10000^(i/64) ≤ 4096 holds for i ≤ 64·ln(4096/2π)/ln(10000) = 45.03, which are 46 planes
    assert widget.full_turns() == 46
    widget.context = 65536
    assert widget.full_turns() == 64


def test_wrong_exponent_shows():
    found = WavelengthExplorer(half_exponent).invariants()
    assert found["first"] < TOLERANCE and found["ratio"] > 0.05 and found["reference"] > 1
    zero = WavelengthExplorer(lambda D, base=1e4: torch.zeros(D // 2))
    assert "broken" in zero.alt and zero.png()


def test_attention_weights_equal_a_loop():
    widget = AttentionExplorer(right_attention, sentence=2, head=3, scale="1/D", mask="causal")
    q, k = widget._inputs["q"][2, 3].double(), widget._inputs["k"][2, 3].double()
    for m in range(8):
        exponentials = [math.exp(float(q[m] @ k[n]) / 16) for n in range(m + 1)]
        expected = [e / sum(exponentials) for e in exponentials] + [0.0] * (7 - m)
        assert np.allclose(widget.weights()[m], expected, atol=1e-6)


def test_attention_scales_sharpen_and_flatten():
    largest = [AttentionExplorer(right_attention, scale=scale).weights().max() for scale in ("none", "1/√D", "1/D")]
    assert largest[0] > largest[1] > largest[2]


def test_attention_padding_is_never_read():
    widget = AttentionExplorer(right_attention, mask="padding", sentence=0)
    assert (widget.weights()[:, 6:] == 0).all() and (widget.weights()[:, :6] > 0).all()


@pytest.mark.parametrize(
    "fn, mask, broken",
    [
        (unscaled_attention, "none", {"reference"}),
        (columns_attention, "none", {"sum", "reference"}),
        (zero_mask_attention, "none", set()),
        (zero_mask_attention, "padding", {"masked", "reference"}),
        (zero_mask_attention, "causal", {"masked", "reference"}),
        (causal_always, "none", {"reference"}),
    ],
)
def test_attention_mistakes_show(fn, mask, broken):
    found = AttentionExplorer(fn, mask=mask).invariants()
    assert {k for k, v in found.items() if v > TOLERANCE} == broken
    assert all(found[name] > 0.01 for name in broken)


def test_permutation_holds_without_positions_and_breaks_with_them():
    widget = PermutationExplorer(right_attention)
    for order in ORDERS:
        widget.order, widget.positions = order, False
        assert widget.gap() < TOLERANCE
        widget.positions = True
        assert widget.gap() < TOLERANCE if order == "as written" else widget.gap() > 0.1
    assert sorted(map(sorted, ORDERS.values())) == [list(range(6))] * len(ORDERS)


def test_permutation_rows_are_moved_the_right_way():
    widget = PermutationExplorer(right_attention, order="shuffled")
    out = array(widget, "out", 2, len(ORDERS), 6, 8)
    place = list(ORDERS).index("shuffled")
    for new, old in enumerate(ORDERS["shuffled"]):
        assert np.allclose(out[0, place, new], out[0, 0, old], atol=1e-5)


def test_permutation_shows_a_hidden_mask():
    widget = PermutationExplorer(causal_always)
    assert widget.gap() > 0.1 and "not equal" in widget.alt


def test_missing_recording_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    with pytest.raises(MissingRecording, match="rope.safetensors.*make record"):
        RopeExplorer(right_rope)


def test_recording_is_reproducible_and_equal_to_the_committed_one(tmp_path):
    from anatomy.records import assets_dir
    from safetensors.numpy import load_file

    from autograder.recording.widgets import record

    first = record(tmp_path / "a")
    assert record(tmp_path / "b") == first
    committed = assets_dir() / "recordings" / "widgets"
    manifest = json.loads((committed / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["seed"] == first["seed"] and manifest["files"].keys() == first["files"].keys()
    for name in first["files"]:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        fresh, kept = load_file(tmp_path / "a" / name), load_file(committed / name)
        assert fresh.keys() == kept.keys()
        for key, value in fresh.items():
            # Rounded from float64, so two machines may differ in the last bit of float32 and no more.
            assert np.allclose(value, kept[key], rtol=2e-7, atol=2e-7, equal_nan=True), (name, key)


def test_template_keeps_the_alt_text(tmp_path):
    import nbformat
    from anatomy.widgets import TEMPLATES
    from bs4 import BeautifulSoup
    from nbconvert import HTMLExporter

    output = nbformat.v4.new_output(
        "display_data",
        {"image/png": "aGk=", "text/plain": "words"},
        metadata={"image/png": {"alt": 'a "curve" that <falls>'}},
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("w", outputs=[output])])
    exporter = HTMLExporter(template_name="course", extra_template_basedirs=[str(TEMPLATES)])
    page, _ = exporter.from_notebook_node(book)
    assert BeautifulSoup(page, "html.parser").img["alt"] == 'a "curve" that <falls>'
    plain, _ = HTMLExporter(template_name="lab").from_notebook_node(book)
    assert "falls" not in plain  # the day this fails, nbconvert does it by itself and the template can go
