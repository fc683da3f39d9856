"""Tier 1 of ObjectiveLab: tables, facts, mistakes."""

import numpy as np
import pytest
import torch
from anatomy.widgets import ObjectiveLab, objective

from autograder.recording.widgets.objective import OBJECTIVES


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
    assert rows[2, 0] == 0 and rows[2, 1:].tolist()[:5] == rows[3, :5].tolist()  # decoder inputs: shifted targets
    hidden = sorted(i for i in rows[3] if 6 <= i < 6 + len(objective.WORDS))
    assert hidden == sorted(i for i in glm.example()[1] if i >= 6), "T5 and GLM hide the same tokens"
    for name, classes in (("nsp_pair", 2), ("sop_pair", 2)):
        label = at(name, draw).example()[1, 0] - objective.CLASS
        assert label in range(classes) and label == draw % 2


def test_what_a_token_sees():
    lab = at("next_token_pairs", 0, place=3)
    assert lab.visible()[0].sum() == 4 and lab.wording(lab.example()[1, 3]) == "cats"
    assert at("mask_tokens", 0, place=3).visible()[0].sum() == 11
    lab = at("span_corruption", 1)
    lab.place = int((lab.example()[0] != objective.NOTHING).sum()) + 2  # the decoder's third token
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
