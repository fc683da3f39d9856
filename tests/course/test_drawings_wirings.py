"""Drawn wirings match the references': by running them on stand-ins, by number, and box by box."""

import inspect

import pytest
import torch
from anatomy import drawings
from anatomy.drawings.tracing import follow

from autograder import exercises
from autograder.reference import placement
from autograder.reference.norms import GemmaRMSNorm, LayerNorm, RMSNorm


def references():
    """dict name in the table → the reference's step as a function."""
    found = {}
    for exercise in ("post_and_pre", "variants", "deepnorm", "parallel"):
        spec = exercises.get(f"placement.{exercise}")
        found |= dict(zip(spec.targets, spec.reference, strict=True))

    def two_norms(x, attention, ffn, norm_1, norm_2):
        norms = iter((norm_1, norm_2))
        return placement.ParallelBlockTwoNorms(8, attention, ffn, lambda d: next(norms)).forward(x)

    names = {"Post-LN": "post_ln", "Pre-LN": "pre_ln", "sandwich": "sandwich", "pre+post": "sandwich"}
    names |= {"norm inside": "norm_inside", "DeepNorm": "deepnorm", "parallel": "parallel"}
    return {name: found[target] for name, target in names.items()} | {"parallel, two norms": two_norms}


CLASSES = {
    "Post-LN": placement.PostLN,
    "Pre-LN": placement.PreLN,
    "sandwich": placement.SandwichLN,
    "pre+post": placement.PrePostNorm,
    "norm inside": placement.NormInside,
    "DeepNorm": placement.DeepNorm,
    "parallel": placement.ParallelBlock,
    "parallel, two norms": placement.ParallelBlockTwoNorms,
}


def test_the_eight_wirings_are_the_references_classes():
    blocks = [
        c
        for n, c in vars(placement).items()
        if inspect.isclass(c) and c.__module__ == placement.__name__ and "attention" in inspect.signature(c).parameters
    ]
    assert set(blocks) == set(CLASSES.values()) and list(drawings.WIRINGS) == list(CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_a_wiring_is_what_its_reference_does(name):
    w = drawings.WIRINGS[name]
    found = follow(references()[name])
    assert (found.ways, found.after, found.shared) == (w.ways, w.after, w.shared)
    made = inspect.signature(CLASSES[name]).parameters["norm"].default
    assert w.kind == {LayerNorm: "LayerNorm", RMSNorm: "RMSNorm", GemmaRMSNorm: "RMSNorm"}[made]
    assert w.source.removeprefix("arXiv:") in inspect.getdoc(CLASSES[name])


@pytest.mark.parametrize("exercise_", ["post_and_pre", "variants", "deepnorm", "parallel"])
def test_right_answers_that_are_written_differently_have_the_same_picture(exercise_):
    spec = exercises.get(f"placement.{exercise_}")
    tried = 0
    for answer in spec.alternatives:
        for other, reference in zip(answer, spec.reference, strict=True):
            if list(inspect.signature(reference).parameters)[0] == "x":
                mine, theirs = follow(other), follow(reference)
                assert (mine.ways, mine.after, mine.shared) == (theirs.ways, theirs.after, theirs.shared)
                tried += 1
    assert tried


def test_a_sum_may_be_written_with_torchs_own_words():
    for step in (lambda x, F, norm: torch.add(x, F(norm(x))), lambda x, F, norm: F(norm(x.clone())).add_(x)):
        assert follow(step).ways == ((), ("norm", "F"))
    with pytest.raises(ValueError, match="calls torch's softmax"):
        follow(lambda x, F, norm: x + torch.softmax(F(x), -1))


@pytest.mark.parametrize("name", CLASSES)
def test_a_wirings_formula_gives_the_references_numbers(name):
    torch.manual_seed(0)
    x, norms = torch.randn(2, 3, 8, dtype=torch.float64), []
    norms = [lambda h, i=i: torch.nn.functional.layer_norm(h, h.shape[-1:]) * (1 + 0.1 * i) for i in range(2)]
    step = references()[name]
    takes = list(inspect.signature(step).parameters)[1:]
    given = {"alpha": 1.7, "attention": torch.tanh, "ffn": torch.sin, "sublayer": torch.sin, "norm": norms[0]}
    given |= {"norm_in": norms[0], "norm_out": norms[0], "norm_1": norms[0], "norm_2": norms[1]}
    expected = step(x, *(given[n] for n in takes))
    formula, _, where = drawings.WIRINGS[name].formula.partition(", h = ")
    names = {
        "x": x,
        "F": torch.sin,
        "A": torch.tanh,
        "α": 1.7,
        "norm": norms[0],
        "norm_1": norms[0],
        "norm_2": norms[1],
    }
    plain = lambda text: text.replace("·", "*").replace("norm₁", "norm_1").replace("norm₂", "norm_2")
    if where:
        names["h"] = eval(plain(where), names)
    assert torch.allclose(eval(plain(formula), names), expected)


@pytest.mark.parametrize("name", CLASSES)
def test_the_picture_of_a_wiring_has_its_boxes_in_that_order(name):
    w, (panel,) = drawings.WIRINGS[name], drawings.wiring(name).panels
    signs = [b for b in panel.boxes if b.kind == "sum"]
    assert len(signs) == len(w.ways) - 1
    stream = {p[0] for wire in panel.wires if wire.kind == "stream" for p in wire.points}
    assert len(stream) == 1
    on_stream = sorted((b for b in panel.boxes if b.x in stream), key=lambda b: b.y)
    assert [b.text for b in on_stream] == [*w.ways[0], *["+"] * len(signs), *w.after]
    side = sorted((b for b in panel.boxes if b.x not in stream), key=lambda b: (b.y, b.x))
    columns = [[b.text for b in side if b.x == x] for x in sorted({b.x for b in side if b.kind in ("mix", "ffn")})]
    assert columns == [list(way[w.shared :]) for way in w.ways[1:]]
    assert [b.text for b in side if b.kind == "norm"].count("norm") == (1 if w.shared else str(w.ways).count("norm"))


def test_a_step_of_ones_own_is_drawn_as_it_is_even_if_it_is_wrong():
    wrong = drawings.wiring_of(lambda x, sublayer, norm: norm(x) + sublayer(norm(x)), "mine")
    assert "norm(x) + F(norm(x))" in wrong.alt
    assert "F(norm(x))" in drawings.wiring_of(lambda x, sublayer, norm: sublayer(norm(x))).alt
    assert "norm(x + F(x))" in drawings.wiring_of(lambda x, sublayer, norm: norm(sublayer(x) + x)).alt
