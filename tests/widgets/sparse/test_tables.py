"""Tier 1 of SparseExplorer: tables, facts, notices, display bundle."""

import numpy as np
import pytest
import torch
from anatomy.widgets import SparseExplorer, WrongOutput
from anatomy.widgets.sparse.scenes import GLOBALS, KINDS, LAYERS, SCENES, T
from anatomy.widgets.tools.base import NOTHING_GIVEN

from autograder.recording.widgets.sparse import PATTERNS
from autograder.reference import indexer
from autograder.reference import sparse as reference

from ..learners import unfinished


def windows_too_wide(T, w):
    """Does not count the query's own key."""
    distance = torch.arange(T)[:, None] - torch.arange(T)
    return (distance >= 0) & (distance <= w)


def first_of_block(T, stride, summary=1):
    own, _ = reference.fixed_masks(T, stride)
    return own, torch.ones(T, T).tril().bool() & (torch.arange(T) % stride == 0)


WRONG = {
    "local_causal_mask": windows_too_wide,
    "local_symmetric_mask": lambda T, w: reference.local_causal_mask(T, w),
    "block_mask": lambda T, b: torch.arange(T)[:, None] % b == torch.arange(T) % b,
    "longformer_mask": lambda T, w, tokens: reference.local_symmetric_mask(T, w),
    "random_mask": lambda draws, keys, allowed: draws < keys / len(draws),
    "strided_masks": lambda T, stride: reference.strided_masks(T, stride)[::-1],
    "fixed_masks": first_of_block,
    "hybrid_layers": lambda n, w, every=4: [(None, False) if i % every == 0 else (w, True) for i in range(n)],
    "best_visible": lambda scores, n: indexer.best_visible(-scores, n),
    "block_choice": lambda q, k, block, n: indexer.block_choice(q, k, block, n + 1),
}


def show(widget, scene):
    """Sets the widget to a scene."""
    widget.pattern = scene.kind
    widget.size = KINDS[scene.kind].sizes.index(scene.size)


def by_hand(name, n, layer, i, j):
    """May i look at j in that layer? Follows the unit's text; None where random draws decide."""
    back = i - j
    if name == "window, causal":
        return 0 <= back < n
    if name == "window, symmetric":
        return abs(back) <= n // 2
    if name == "blocks":
        return i // n == j // n
    if name == "window of 3 and global tokens":
        return abs(back) <= 1 or bool({i, j} & set(GLOBALS[:n]))
    if name.startswith("strided"):
        return back >= 0 and (back < n if layer % 2 else back % n == 0)
    if name.startswith("fixed"):
        return back >= 0 and (i // n == j // n if layer % 2 else j % n == n - 1)
    if name.startswith("hybrid"):
        return back >= 0 and (back < n or layer % 4 == 0)
    return back >= 0 if name == "full, causal" else None


def test_every_mask_equals_a_rule_written_by_hand():
    widget = SparseExplorer(PATTERNS)
    for index, scene in enumerate(SCENES):
        show(widget, scene)
        assert widget.scene() == index and widget.facts()["wrong"] == 0
        kind = KINDS[scene.kind]
        for layer, mask in enumerate(widget.masks(), 1):
            for (i, j), allowed in np.ndenumerate(mask):
                rule = by_hand(kind.name, scene.size, layer, i, j)
                assert rule is None or allowed == rule, (kind.name, scene.size, layer, i, j)


def test_the_rule_on_show_is_that_of_the_reference():
    widget = SparseExplorer()
    signs = {"−": "-", "≤": "<=", "|i - j|": "abs(i - j)", "⌊": "(", "⌋": ")", "/": "//", "mod": "%", " = ": " == "}
    for scene in SCENES:
        show(widget, scene)
        drawn = [rule for rule in scene.rules if "drawn" in rule]
        if any("best" in rule for rule in scene.rules):
            continue  # what recorded vectors choose: see the next test
        for layer, mask in enumerate(widget.masks()):
            rule = scene.rules[layer % len(scene.rules)]
            for sign, code in signs.items():
                rule = rule.replace(sign, code)
            rule = rule.replace("i or j is in", "{i, j} &").replace(" or drawn at random", "")
            for (i, j), allowed in np.ndenumerate(mask):
                if drawn and (rule == "drawn at random" or allowed):
                    continue  # random draws follow no rule
                assert bool(eval(rule, {"i": i, "j": j})) == allowed, (scene, layer, i, j)


def test_chosen_keys_and_blocks_are_the_best_in_every_layer():
    widget = SparseExplorer(PATTERNS, pattern="chosen keys: the best by scores")
    scores = (widget._inputs["queries"] @ widget._inputs["keys"].mT).numpy()
    for scene in (s for s in SCENES if KINDS[s.kind].function == "best_visible"):
        show(widget, scene)
        for mask, layer in zip(widget.masks(), scores, strict=True):
            for i, line in enumerate(layer):
                best = sorted(range(i + 1), key=lambda j: -line[j])[: scene.size]  # noqa: B023
                assert sorted(best) == np.flatnonzero(mask[i]).tolist()
    assert len({mask.tobytes() for mask in widget.masks()}) == LAYERS, "each layer chooses others"
    widget = SparseExplorer(PATTERNS, pattern="chosen blocks: own and best (MoBA)", size=1)
    for mask in widget.masks():
        blocks = mask.reshape(T, T // 4, 4).any(-1).sum(1)
        assert blocks[:4].tolist() == [1] * 4 and (blocks[4:] == 2).all()


def test_random_keys_are_few_and_bigbird_keeps_its_base():
    widget = SparseExplorer(PATTERNS, pattern="random keys")
    for size, count in enumerate((1, 2, 3, 4)):
        widget.size = size
        assert (widget.masks()[0].sum(1) == count).all()
    base = reference.longformer_mask(T, 3, [0]).numpy()
    bigbird = SparseExplorer(PATTERNS, pattern="window, global and random (BigBird)", size=0)
    extra = bigbird.masks()[0] & ~base
    assert (bigbird.masks()[0] & base == base).all() and (extra.sum(1) == (~base).any(1)).all()


def test_reach_over_layers_equals_the_reference_and_the_formulas():
    widget = SparseExplorer(PATTERNS)
    for scene in SCENES:
        show(widget, scene)
        masks = [torch.from_numpy(m.copy()) for m in widget.masks()]
        for n in range(1, LAYERS + 1):
            widget.layers = n
            assert (widget.reached() == reference.reach(masks[:n]).numpy()).all(), scene
    widget = SparseExplorer(PATTERNS, size=2, query=19, layers=5)
    assert widget.facts()["reached"] == reference.causal_reach(3, 5) == 11
    widget = SparseExplorer(PATTERNS, pattern="window, symmetric", size=0, query=10, layers=4)
    assert widget.facts()["reached"] == reference.symmetric_reach(1, 4) == 9


def test_facts_that_the_unit_tells():
    """Two hops reach all earlier tokens; blocks never mix; a global token needs two layers; layer 4 is full."""
    full = {}
    for scene in SCENES:
        widget = SparseExplorer(PATTERNS)
        show(widget, scene)
        full.setdefault(KINDS[scene.kind].name.split(":")[0], set()).add(widget.facts()["full"])
    assert full["strided"] == full["fixed"] == full["window of 3 and global tokens"] == {2}
    assert full["blocks"] == {0} and full["hybrid"] == {4} and full["full, causal"] == {1}
    found = SparseExplorer(PATTERNS, layers=3, size=1).facts()
    assert found == {"pairs": 39, "all_pairs": 117, "reached": 4, "full": 0, "wrong": 0}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_patterns_show(name):
    kinds = [k.name for k in KINDS if k.function == name]
    for kind in kinds:
        widget = SparseExplorer({**PATTERNS, name: WRONG[name]}, pattern=kind, size=1)
        assert widget.facts()["wrong"] > 0 and "differ from the reference's" in widget.alt and widget.whose == "your"
    other = next(k.name for k in KINDS if k.function != name)
    assert SparseExplorer({**PATTERNS, name: WRONG[name]}, pattern=other).facts()["wrong"] == 0


def test_each_unwritten_function_falls_back_by_itself():
    for name in PATTERNS:
        made = SparseExplorer({**PATTERNS, name: unfinished})
        assert made.notice == f"Showing the reference for {name}: not written yet" and not made.written(name)
    made.refresh(PATTERNS)
    assert made.notice == "" and made.written(name)
    assert SparseExplorer().notice == NOTHING_GIVEN
    assert SparseExplorer(pattern="full, causal").whose == "the reference's"


@pytest.mark.parametrize(
    "name, broken, says",
    [
        ("local_causal_mask", lambda T, w: torch.ones(T, T), "boolean tensor of shape .20, 20. here, .*dtype float32"),
        ("block_mask", lambda T, b: torch.ones(T) > 0, r"it returned shape \(20,\)"),
        ("longformer_mask", lambda T, w, tokens: None, "it returned None"),
        ("strided_masks", lambda T, s: torch.ones(T, T) > 0, "must return 2 things here"),
        ("fixed_masks", lambda T, s: (torch.ones(T, T) > 0,), "2 things here, and it returned 1"),
        ("hybrid_layers", lambda n, w: [(w, True)] * (n - 1), "8 things here, and it returned 7"),
        ("best_visible", lambda scores, n: scores, "boolean tensor of shape .8, 20, 20. here, .*dtype float32"),
        ("block_choice", lambda q, k, block, n: q > 0, "boolean tensor of shape .1, 8, 20, 20. here"),
        ("hybrid_layers", lambda n, w: [(w + 5, True)] * n, r"pairs \(window, has RoPE\).*returned \(7, True\)"),
    ],
)
def test_sentences_for_results_that_cannot_be_drawn(name, broken, says):
    with pytest.raises(WrongOutput, match=says):
        SparseExplorer({**PATTERNS, name: broken})


def test_errors_of_the_learner_come_through_and_names_are_checked():
    with pytest.raises(ZeroDivisionError):
        SparseExplorer({**PATTERNS, "block_mask": lambda T, b: 1 // 0})
    with pytest.raises(TypeError, match="does not know windows"):
        SparseExplorer({"windows": unfinished})


def test_words_say_what_is_reached():
    made = SparseExplorer(PATTERNS, pattern="strided: near and far in turn", size=2, layers=2)
    assert "looks at 2, 6, 10, 14. After 2 layers it depends on 15 of 20 tokens: 0 to 14" in made.alt
