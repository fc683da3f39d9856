"""Tier 1, no browser: how widgets of one function handle stubs, errors and wrong results."""

import numpy as np
import pytest
import torch
from anatomy.program.records import MissingRecording
from anatomy.widgets import (
    AttentionExplorer,
    MixExplorer,
    PermutationExplorer,
    RopeExplorer,
    WrongOutput,
)
from anatomy.widgets.rope import TOLERANCE, FrequencyExplorer
from anatomy.widgets.tools.base import NOTHING_GIVEN

from .attention.learners import right_attention
from .learners import unfinished
from .mix.learners import right_average
from .rope.learners import right_frequencies, right_rope, sign_rope

WIDGETS = [
    (RopeExplorer, right_rope),
    (FrequencyExplorer, right_frequencies),
    (AttentionExplorer, right_attention),
    (PermutationExplorer, right_attention),
    (MixExplorer, right_average),
]


EACH = pytest.mark.parametrize("widget, fn", WIDGETS, ids=lambda v: getattr(v, "recording", ""))


def array(widget, name, *shape):
    return np.frombuffer(widget.tables[name], "<f4").reshape(shape)


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
    assert widget.alt.count("(broken)") == 2 and "(differs)" in widget.alt
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


def test_missing_recording_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    with pytest.raises(MissingRecording, match="rope.safetensors.*make record"):
        RopeExplorer(right_rope)
