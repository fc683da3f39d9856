"""Which parameters decay."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call
from autograder.reference import optim


def parameter_groups(shapes, embeddings, weight_decay):
    """dict name → shape, names of embeddings → two groups of names. By way of the rule for modules."""
    model = torch.nn.Module()
    for i, (name, shape) in enumerate(shapes.items()):
        p = torch.nn.Parameter(torch.zeros(shape))
        if name in embeddings:
            layer = torch.nn.Embedding(1, 1)
            layer.weight = p
        else:
            layer = torch.nn.Module()
            layer.register_parameter("weight", p)
        model.add_module(str(i), layer)
    names = {id(p): name for p, name in zip(model.parameters(), shapes, strict=True)}
    return [
        {"params": [names[id(p)] for p in group["params"]], "weight_decay": group["weight_decay"]}
        for group in optim.parameter_groups(model, weight_decay)
    ]


def groups_by_lists(shapes, embeddings, weight_decay):
    """Two comprehensions."""
    on = [n for n in shapes if len(shapes[n]) > 1 and n not in embeddings]
    return [
        {"params": on, "weight_decay": weight_decay},
        {"params": [n for n in shapes if n not in on], "weight_decay": 0.0},
    ]


def groups_by_loop(shapes, embeddings, weight_decay):
    """A loop with two lists."""
    decay, rest = [], []
    for name, shape in shapes.items():
        (rest if name in embeddings or len(shape) < 2 else decay).append(name)
    return [dict(params=decay, weight_decay=weight_decay), dict(params=rest, weight_decay=0.0)]


def _shapes(g: Source, names: dict[str, int]) -> dict[str, list[int]]:
    """Random sizes of at least 2, an axis for each letter."""
    return {name: [g.integer(2, 9) for _ in range(axes)] for name, axes in names.items()}


def _layer(number: int) -> dict[str, int]:
    axes = {"norm.weight": 1, "q.weight": 2, "norm.bias": 1, "k.weight": 2}
    return {f"layers.{number}.{name}": count for name, count in axes.items()}


MISTAKES = changes(
    groups_by_lists,
    """
everything: if len(shapes[n]) > 1 and n not in embeddings →
    Everything decays. Vectors (biases and gains) and embeddings belong into the second group.
embeddings_decay: and n not in embeddings →
    The tables of token and position vectors decay. Names in embeddings belong in the second group.
embeddings_twice: and n not in embeddings → ; n not in on → n not in on or n in embeddings
    Embeddings are in both groups, and an optimizer refuses that. Take them out of the first.
embeddings_lost: n not in on → len(shapes[n]) < 2
    Embeddings are in no group, so they would never be trained. They belong into the second.
part_of_a_name: n not in embeddings → not any(x in n for x in embeddings)
    A name that only contains an embedding's name counts as one. Names must be equal: name not in embeddings.
numbers_decay: > 1 → != 1
    A single number, which has no axes, decays. Only two axes or more do: len(shape) >= 2.
empty_dropped: return [ → return [group for group in [ ; 0.0}, → 0.0}] if group["params"]
    A group without names is left out. Return two groups always; an empty list is fine.
exchanged: {"params": on, "weight_decay": weight_decay}, → ; 0.0}, → 0.0}, {"params": on, "weight_decay": weight_decay},
    The two groups have changed places: the one that decays comes first.
sorted: "params": on → "params": sorted(on)
; [n for n in shapes if n not in on] → sorted(n for n in shapes if n not in on)
    The names are sorted. Keep them in the order of the dict.
decay_fixed: "weight_decay": weight_decay → "weight_decay": 0.1
    The decay stands in your code as a number. Use the argument weight_decay.
by_name: len(shapes[n]) > 1 → not n.endswith("bias")
    The gain of a norm is called weight and is a vector. Decide by the number of axes, not by the name.
vectors_decay: len(shapes[n]) > 1 and →
    Biases and gains decay. Only parameters with two axes or more belong into the first group.
only_two_axes: > 1 → == 2
    A kernel of three axes is left out. Two axes or more decay.
axes_of_one: len(shapes[n]) > 1 → sum(size > 1 for size in shapes[n]) >= 2
    Axes of size 1 are not counted, so a matrix of one row does not decay. Its shape has two axes all the same.
swapped: "params": on, "weight_decay": weight_decay → "params": on, "weight_decay": 0.0
; in on], "weight_decay": 0.0 → in on], "weight_decay": weight_decay
    The names are right and the decays are swapped: the first group decays.
by_words: len(shapes[n]) > 1 and n not in embeddings → not ("bias" in n or "norm" in n or n in embeddings)
    Words such as bias and norm decide, and a gain or a number with another name decays. Decide by the number of
    axes.
named_weight: len(shapes[n]) > 1 → n.endswith("weight")
    Names that end in weight decay. Gains of norms do too, and not every matrix: decide by the number of axes.
begins_with: n not in embeddings → not any(n.startswith(x) for x in embeddings)
    A name that begins like an embedding's counts as one. Names must be equal: name not in embeddings.
ends_with: n not in embeddings → not any(n.endswith(x) for x in embeddings)
    A name that ends like an embedding's counts as one. Names must be equal: name not in embeddings.
three_axes: > 1 → > 2
    Matrices do not decay here. Two axes are enough: len(shape) >= 2.
one_axis: > 1 → > 0
    Vectors decay here, gains and biases. Two axes or more are needed: len(shape) >= 2.
only_embeddings: len(shapes[n]) > 1 and n not in embeddings → n in embeddings
    The embeddings decay, and nothing else does. It is the other way round: name not in embeddings.
only_vectors: > 1 → < 2
    Vectors are in the group that decays, and matrices are not. The comparison is turned: len(shape) >= 2.
both_decay: 0.0 → weight_decay
    Both groups decay. The names are right; the second group gets weight_decay 0.0.
none_decays: "weight_decay": weight_decay → "weight_decay": 0.0
    No group decays. The names are right; the first group gets weight_decay.
rest_sorted: [n for n in shapes if n not in on] → sorted(n for n in shapes if n not in on)
    The second group is sorted. Keep its names in the order of the dict; a set has no order.
decaying_sorted: "params": on → "params": sorted(on)
    The first group is sorted. Keep its names in the order of the dict; a set has no order.
all_in_second: [n for n in shapes if n not in on] → [*shapes]
    The second group holds all names, those of the first as well. A name belongs to one group only.
vectors_lost: n not in on → n not in on and n in embeddings
    Biases, gains and single numbers are in no group, so they would never be trained. All that does not decay is in
    the second.
with_shapes: "params": on → "params": [(n, shapes[n]) for n in on] ; "params": [n for → "params": [(n, shapes[n]) for
    The groups hold pairs of name and shape. Names alone are asked for.
shapes_alone: "params": on → "params": [shapes[n] for n in on] ; "params": [n for → "params": [shapes[n] for
    The groups hold shapes. The names are asked for.
words_alone: len(shapes[n]) > 1 and n not in embeddings → not ("bias" in n or "norm" in n)
    The words bias and norm in a name decide, and tables of vectors decay like matrices. Nobody knows all names: ask
    how many axes there are, and whether the name is in embeddings.
bias_alone: len(shapes[n]) > 1 and n not in embeddings → not n.endswith("bias")
    Everything decays but what is called bias: gains and tables of vectors do as well. Ask how many axes there are,
    and whether the name is in embeddings.
weight_without_norm: len(shapes[n]) > 1 → n.endswith("weight") and "norm" not in n
    What decays is told by the words weight and norm in its name, so a kernel with another name does not. The number
    of axes tells it, whatever the name.
""",
)


EXERCISE = Exercise(
    id="stability.parameter_groups",
    title="Which parameters decay",
    points=2,
    difficulty=2,
    minutes=8,
    reference=parameter_groups,
    alternatives=[groups_by_lists, groups_by_loop],
    cases=[
        Case(
            "three",
            "a matrix decays; its bias and the table of token vectors do not",
            lambda g: call({"up.weight": [8, 4], "up.bias": [8], "words": [50, 4]}, ["words"], 0.1),
        ),
        Case(
            "norms",
            "gains of norms are called weight too, and do not decay",
            lambda g: call(_shapes(g, _layer(g.integer(0, 90))), [], g.number(0.01, 0.2)),
        ),
        Case(
            "like an embedding",
            "names that only contain an embedding's name are none, and a single number (no axes) does not decay",
            lambda g: call(
                _shapes(g, {"words": 2, "words.up.weight": 2, "in.words": 2, "scale": 0}),
                ["words"],
                g.number(0.01, 0.2),
            ),
        ),
        Case(
            "no matrix",
            "nothing decays: the first group is empty, and still there",
            lambda g: call(_shapes(g, {"gain": 1, "words": 2, "bias": 1}), ["words"], g.number(0.01, 0.2)),
            weight=0.5,
        ),
        Case(
            "convolution",
            "a kernel of three axes and a matrix of one row decay; two tables do not",
            lambda g: call(
                _shapes(g, {"places": 2, "words": 2, "conv": 3}) | {"head.weight": [1, g.integer(2, 9)]},
                ["words", "places"],
                0.05,
            ),
        ),
    ],
    mutants=MISTAKES,
)
