"""Tier 1 of MaskExplorer and ObjectiveLab: tables, facts, notices, display bundle."""

import numpy as np
import pytest
import torch
from anatomy.widgets import MaskExplorer, ObjectiveLab, WrongOutput, mask, objective
from anatomy.widgets.base import NOTHING_GIVEN
from anatomy.widgets.mask_scenes import KINDS, SCENES

from autograder.recording.widgets import MASKS, OBJECTIVES

from .learners import unfinished

WIDGETS = [(MaskExplorer, MASKS), (ObjectiveLab, OBJECTIVES)]
EACH = pytest.mark.parametrize("widget, functions", WIDGETS, ids=["mask", "objective"])


def by_hand(kind, size, i, j, rows, columns, blanks=0):
    """May row i look at column j? Written from the words of the unit, not from the functions."""
    place = i + columns - rows
    if kind == "causal, padded on the right":
        return j <= i and j < size
    if kind == "causal, padded on the left":
        return j <= i and j >= 8 - size
    if kind == "prefix LM" or kind == "UniLM: sequence-to-sequence":
        return j < size or j <= i
    if kind == "UniLM: bidirectional":
        return True
    if kind == "UniLM: right-to-left":
        return j >= i
    if kind == "cross-attention, input padded":
        return j < size
    if kind == "GLM: part A, part B":
        return j < blanks or j <= i
    return j <= place


def test_every_mask_equals_a_rule_written_by_hand():
    widget = MaskExplorer(MASKS)
    for index, scene in enumerate(SCENES):
        kind = KINDS[scene.kind]
        widget.mask, widget.size = scene.kind, index - next(i for i, s in enumerate(SCENES) if s.kind == scene.kind)
        assert widget.scene() == index
        part_a = scene.columns.index("[S]") if kind.counts == "example" else 0
        may = widget.may()
        for (i, j), allowed in np.ndenumerate(may):
            size = kind.sizes[widget.size]
            assert allowed == by_hand(kind.name, size, i, j, *may.shape, part_a), (kind.name, size, i, j)
        assert widget.facts()["wrong"] == 0


def test_facts_count_what_the_words_say():
    found = MaskExplorer(MASKS, mask="causal, padded on the left", size=4).facts()
    assert found == {"pairs": 15, "ahead": 0, "empty": 3, "wrong": 0}
    assert MaskExplorer(MASKS, mask="UniLM: bidirectional").facts()["ahead"] == 28
    assert MaskExplorer(MASKS, mask="cross-attention, input padded").facts()["ahead"] == 0


def test_two_layers_reach_what_one_hides():
    """Full causal attention gains nothing by depth; two keys per query reach one word further with each layer."""
    widget = MaskExplorer(MASKS, mask="causal", query=4)
    assert (widget.reached().sum(1) == 5).all()

    def window(T, S=8):
        return torch.ones(T, S).tril(S - T).triu(S - T - 1) > 0

    narrow = {**MASKS, "causal_mask": window}
    assert MaskExplorer(narrow, mask="causal", query=4).reached().sum(1).tolist() == [2, 3, 4, 5]


def test_position_rows_of_padding_and_of_glm():
    widget = MaskExplorer(MASKS)
    ids = np.frombuffer(widget.tables["p_position_ids"], "<f4").reshape(16, 1, mask.SIZE)
    assert ids[8 + 4, 0].tolist() == [0, 0, 0, 0, 1, 2, 3, 4] + [-1] * 4  # five words, three of padding on the left
    blanks = np.frombuffer(widget.tables["p_blank_infilling"], "<f4").reshape(len(mask.BLANKS), 2, mask.SIZE)
    # one [M] two [M] and ran . | [S] cats [S] dog saw
    assert blanks[1, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 3, 3, 1, 1, 1]
    assert blanks[1, 1].tolist() == [0] * 7 + [1, 2, 1, 2, 3]


@pytest.mark.parametrize(
    "name, wrong, shown",
    [
        ("causal_mask", lambda T, S=None: torch.ones(T, S or T).tril() > 0, ("causal, newest words only (cache)", 1)),
        ("causal_mask", lambda T, S=None: torch.ones(T, S or T).tril((S or T) - T + 1) > 0, ("causal", 0)),
        (
            "causal_padding_mask",
            lambda real, T=None: torch.ones(8, 8).tril().expand(1, 1, 8, 8) > 0,
            ("causal, padded on the right", 2),
        ),
        ("prefix_lm_mask", lambda T, p: torch.ones(T, T).tril() > 0, ("prefix LM", 4)),
        ("unilm_mask", lambda o, s, t: torch.ones(s + t, s + t).tril() > 0, ("GLM: part A, part B", 0)),
    ],
)
def test_wrong_masks_show(name, wrong, shown):
    widget = MaskExplorer({**MASKS, name: wrong}, mask=shown[0], size=shown[1])
    assert widget.facts()["wrong"] > 0 and "differ from the reference's" in widget.alt and widget.whose == "your"


def at(function, draw, **state):
    return ObjectiveLab(OBJECTIVES, objective=function, draw=draw, **state)


@pytest.mark.parametrize("draw", range(objective.DRAWS))
def test_examples_hold_together(draw):
    text = objective.ids_of(objective.TEXT)
    rows = at("next_token_pairs", draw).example()
    assert rows[0, :10].tolist() == text[:-1] and rows[1, :10].tolist() == text[1:]
    rows = at("mask_tokens", draw).example()
    asked = rows[1, :11] != objective.IGNORE
    assert 1 <= asked.sum() <= 4 and (rows[1, :11][asked] == np.array(text)[asked]).all()
    assert (rows[0, :11][~asked] == np.array(text)[~asked]).all()
    t5, glm = at("span_corruption", draw), at("blank_infilling", draw)
    rows = t5.example()
    assert rows[2, 0] == 0 and rows[2, 1:].tolist()[:5] == rows[3, :5].tolist()  # the decoder reads its targets late
    hidden = sorted(i for i in rows[3] if 6 <= i < 6 + len(objective.WORDS))
    assert hidden == sorted(i for i in glm.example()[1] if i >= 6), "T5 and GLM hide the same words"
    for name, classes in (("nsp_pair", 2), ("sop_pair", 2)):
        label = at(name, draw).example()[1, 0] - objective.CLASS
        assert label in range(classes) and label == draw % 2


def test_what_a_place_sees():
    lab = at("next_token_pairs", 0, place=3)
    assert lab.visible()[0].sum() == 4 and lab.wording(lab.example()[1, 3]) == "cats"
    assert at("mask_tokens", 0, place=3).visible()[0].sum() == 11
    lab = at("span_corruption", 1)
    lab.place = int((lab.example()[0] != objective.NOTHING).sum()) + 2  # the decoder's third place
    assert lab.at() == (2, 2) and lab.visible()[1].sum() == 3
    lab = at("blank_infilling", 1, place=14)
    assert lab.visible()[0].sum() == 15
    lab.place = 2
    part_a = int((lab.example()[5] == 0).sum())
    assert lab.visible()[0].sum() == part_a == 9


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("next_token_pairs", lambda ids: (ids[:, :-1], ids[:, :-1])),
        ("mask_tokens", lambda ids, s, u, r, m: (torch.where(s, m, ids), ids)),
        ("span_corruption", lambda ids, noise, first: (ids[~noise], ids[noise])),
        ("blank_infilling", lambda ids, *rest: (ids, ids, ids, ids)),
        ("nsp_pair", lambda documents, d, s, r: (documents[d][s], documents[d][s + 1], 1)),
        ("sop_pair", lambda a, b, swap: (a, b, int(swap))),
    ],
)
def test_wrong_examples_show(name, wrong):
    lab = ObjectiveLab({**OBJECTIVES, name: wrong}, objective=name, draw=1)
    assert lab.facts()["wrong"] > 0 and lab.whose == "your" and at(name, 1).facts()["wrong"] == 0


@EACH
def test_each_unwritten_function_falls_back_by_itself(widget, functions):
    for name in functions:
        made = widget({**functions, name: unfinished})
        assert made.notice == f"Showing the reference for {name}: not written yet" and not made.written(name)
    made.refresh(functions)
    assert made.notice == ""
    assert widget().notice == NOTHING_GIVEN and widget().png()


@EACH
def test_wrong_names_results_and_errors(widget, functions):
    first = next(iter(functions))
    with pytest.raises(TypeError, match="does not know maskk"):
        widget({"maskk": unfinished})
    with pytest.raises(WrongOutput, match=f"{first} must return"):
        widget({**functions, first: lambda *args: None})
    with pytest.raises(ZeroDivisionError):
        widget({**functions, first: lambda *args: 1 / 0})


def test_sentences_for_wrong_results():
    with pytest.raises(WrongOutput, match="boolean tensor of shape .*returned dtype float32"):
        MaskExplorer({**MASKS, "prefix_lm_mask": lambda T, p: torch.ones(T, T)})
    with pytest.raises(WrongOutput, match=r"shape \(1, 1, 8, 8\) here, and it returned shape \(1, 8, 8\)"):
        MaskExplorer({**MASKS, "causal_padding_mask": lambda real: torch.ones(1, 8, 8) > 0})
    with pytest.raises(WrongOutput, match="3 things here, and it returned 2 things"):
        ObjectiveLab({**OBJECTIVES, "sop_pair": lambda a, b, swap: (a, b)})
    with pytest.raises(WrongOutput, match="at most 16 can be drawn"):
        ObjectiveLab({**OBJECTIVES, "span_corruption": lambda ids, noise, first: (ids.repeat(2), ids)})
