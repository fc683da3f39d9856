"""Tier 1 of MaskExplorer: tables, facts, mistakes."""

import math

import numpy as np
import pytest
import torch
from anatomy.widgets import MaskExplorer, mask
from anatomy.widgets.mask.scenes import KINDS, SCENES
from traitlets import TraitError

from autograder.recording.widgets.mask import MASKS


def by_hand(kind, size, i, j, rows, columns, blanks=0):
    """May row i look at column j? Follows the unit's text, not the functions."""
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
    if kind == "causal, two texts":
        return j <= i and (i < 4) == (j < 4)
    if kind == "causal, window of 2":
        return j in (i - 1, i)
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
    assert found == {"pairs": 15, "leak": 0, "empty": 3, "wrong": 0}


@pytest.mark.parametrize(
    "mask, painted, leak",
    [
        ("causal", "3,4", 1),
        ("causal", "4,3", 0),  # a cell taken away leaks nothing
        ("causal, two texts", "4,3 7,0 7,4", 2),  # behind the query, and yet of the other text
        ("GLM: part A, part B", "1,8", 1),  # the 22 pairs in part A that look ahead are meant
        ("UniLM: right-to-left", "3,2 3,4", 1),
        ("cross-attention, input padded", "0,7", 1),
    ],
)
def test_what_leaks_is_what_the_mask_forbids(mask, painted, leak):
    assert MaskExplorer(MASKS, mask=mask).facts()["leak"] == 0
    assert MaskExplorer(MASKS, mask=mask, painted=painted).facts()["leak"] == leak


def test_the_rule_on_show_is_that_of_the_reference():
    widget = MaskExplorer()
    right = np.frombuffer(widget.tables["right"], "<f4").reshape(len(SCENES), mask.SIZE, mask.SIZE) > 0
    for scene, table in zip(SCENES, right, strict=True):
        rule = scene.rule.replace("≤", "<=").replace("≥", ">=").replace("always", "True")
        for i in range(len(scene.rows)):
            for j in range(len(scene.columns)):
                assert eval(rule, {"i": i, "j": j}) == table[i, j], (scene.function, scene.rule, i, j)


def test_painted_cells_are_turned_over_in_all_that_is_shown():
    clean = MaskExplorer(MASKS, mask="causal", query=1)
    made = MaskExplorer(MASKS, mask="causal", query=1, painted="0,3 7,0 11,11")  # the last is outside this mask
    assert [tuple(c) for c in np.argwhere(made.may() != clean.may())] == [(0, 3), (7, 0)]
    assert made.facts() == {"pairs": 36, "leak": 1, "empty": 0, "wrong": 0}
    assert np.flatnonzero(made.reached()[1]).tolist() == [0, 1, 3] and made.ways()[1, 1, 3] == 1
    assert "Painted by hand: [0, 3], [7, 0]." in made.alt and "Painted" not in clean.alt
    assert made.png() != clean.png()


@pytest.mark.parametrize("cell", ["3", "1,2,3", "0,12", "-1,0", "a,b", "0;1"])
def test_a_cell_that_cannot_be_painted_is_refused(cell):
    with pytest.raises(TraitError, match="written “row,column”, each from 0 to 11; “.*” is not"):
        MaskExplorer(MASKS, painted=f"0,1 {cell}")


def test_two_layers_reach_what_one_hides():
    """Full causal attention gains nothing with depth; two keys per query reach one token further with each layer."""
    widget = MaskExplorer(MASKS, mask="causal", query=4)
    assert (widget.reached().sum(1) == 5).all()

    def window(T, S=8):
        return torch.ones(T, S).tril(S - T).triu(S - T - 1) > 0

    narrow = {**MASKS, "causal_mask": window}
    assert MaskExplorer(narrow, mask="causal", query=4).reached().sum(1).tolist() == [2, 3, 4, 5, 5, 5, 5]


def test_position_rows_of_padding_and_of_glm():
    widget = MaskExplorer(MASKS)
    ids = np.frombuffer(widget.tables["p_position_ids"], "<f4").reshape(16, 1, mask.SIZE)
    assert ids[8 + 4, 0].tolist() == [0, 0, 0, 0, 1, 2, 3, 4] + [-1] * 4  # five tokens, after three of padding
    blanks = np.frombuffer(widget.tables["p_blank_infilling"], "<f4").reshape(len(mask.BLANKS), 2, mask.SIZE)
    # one [M] two [M] and ran . | [S] cats [S] dog saw
    assert blanks[1, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 3, 3, 1, 1, 1]
    assert blanks[1, 1].tolist() == [0] * 7 + [1, 2, 1, 2, 3]


@pytest.mark.parametrize(
    "name, wrong, shown",
    [
        ("causal_mask", lambda T, S=None: torch.ones(T, S or T).tril() > 0, ("causal, newest tokens only (cache)", 1)),
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


def test_a_copier_loses_what_does_not_reach_its_position():
    """Checked by walking from token to token, not with powers of the mask."""

    def reaches(may, i, j, layers):
        return i == j or (layers > 0 and any(reaches(may, k, j, layers - 1) for k in range(len(may)) if may[i][k]))

    for painted, layers in (("", 4), ("0,3", 1), ("0,3", 2), ("3,4 0,7", 3)):
        widget = MaskExplorer(MASKS, mask="causal", painted=painted, layers=layers)
        may = widget.may().tolist()
        assert widget.copied() == [reaches(may, i, i + 1, layers) for i in range(7)]
        assert widget.loss() == pytest.approx(math.log(8) * widget.copied().count(False) / 7)
    assert MaskExplorer(MASKS, mask="causal", painted="0,3", layers=2).copied() == [True, False, True, *[False] * 4]
    assert MaskExplorer(MASKS, mask="UniLM: sequence-to-sequence", size=6).copied() == [False]
    padded = MaskExplorer(MASKS, mask="causal, padded on the left", size=4)  # five real tokens: four positions predict
    assert len(padded.copied()) == 4 and "has a loss of 2.08" in padded.alt
    blanks = MaskExplorer(
        MASKS, mask="GLM: part A, part B", size=0, painted="1,8"
    )  # “[S]” learns of “dog” by way of [M]
    assert blanks.copied() == [True, False, False] and blanks.loss() == pytest.approx(math.log(8) * 2 / 3)
    for kind in ("cross-attention, input padded", "causal, newest tokens only (cache)"):
        assert MaskExplorer(MASKS, mask=kind, size=0).loss() is None


@pytest.mark.parametrize(
    "mask, size, predicted, why",
    [
        ("causal", 0, "dog saw two cats and ran .", ""),
        ("UniLM: left-to-right", 0, "dog saw two cats and ran .", ""),
        ("prefix LM", 0, "dog saw two cats and ran .", ""),
        ("prefix LM", 3, "two cats and ran .", ""),
        ("prefix LM", 8, "", "all is prefix"),
        ("UniLM: sequence-to-sequence", 1, "saw two cats and ran .", ""),
        ("causal, padded on the left", 0, "", "one token only"),
        ("UniLM: bidirectional", 0, "", "it predicts masked tokens"),
        ("UniLM: right-to-left", 0, "", "it predicts the previous token"),
        ("GLM: part A, part B", 0, "dog saw cats", ""),
        ("GLM: part A, part B", 1, "cats dog saw", ""),
        ("causal, two texts", 0, "dog saw two cats and ran .", ""),
    ],
)
@pytest.mark.parametrize("painted", ["", "0,3 7,0"])
def test_a_loss_counts_the_tokens_that_a_model_learns_to_predict(mask, size, predicted, why, painted):
    """Those of a prefix are given, whatever is painted; some models predict something else."""
    widget = MaskExplorer(MASKS, mask=mask, size=size, painted=painted)
    scene = widget.spec["scenes"][widget.scene()]
    assert " ".join(scene["columns"][i + 1] for i in scene["predicts"]) == predicted
    assert scene["instead"] == why and (widget.loss() is None) == (not predicted)
    assert ("has a loss of" in widget.alt) == bool(predicted)
    assert not why or f"No position predicts the next token: {why}." in widget.alt
