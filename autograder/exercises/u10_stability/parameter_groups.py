"""Which parameters decay."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
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


def _groups(rule):
    def wrong(shapes, embeddings, weight_decay):
        on = [n for n in shapes if rule(n, shapes[n], embeddings)]
        return [
            {"params": on, "weight_decay": weight_decay},
            {"params": [n for n in shapes if n not in on], "weight_decay": 0.0},
        ]

    return wrong


def embeddings_twice(shapes, embeddings, weight_decay):
    on = [n for n in shapes if len(shapes[n]) > 1]
    return [
        {"params": on, "weight_decay": weight_decay},
        {"params": [n for n in shapes if n not in on or n in embeddings], "weight_decay": 0.0},
    ]


def embeddings_lost(shapes, embeddings, weight_decay):
    return [
        {"params": [n for n in shapes if len(shapes[n]) > 1 and n not in embeddings], "weight_decay": weight_decay},
        {"params": [n for n in shapes if len(shapes[n]) < 2], "weight_decay": 0.0},
    ]


def _shapes(g: Source, names: dict[str, int]) -> dict[str, list[int]]:
    """Random sizes of at least 2, an axis for each letter."""
    return {name: [g.integer(2, 9) for _ in range(axes)] for name, axes in names.items()}


def _layer(number: int) -> dict[str, int]:
    axes = {"norm.weight": 1, "q.weight": 2, "norm.bias": 1, "k.weight": 2}
    return {f"layers.{number}.{name}": count for name, count in axes.items()}


def _decays(given, factors):
    """The right names with the decay times each factor."""
    return [dict(g, weight_decay=given[2] * f) for g, f in zip(groups_by_lists(*given), factors, strict=True)]


def _names(given, change):
    """The right decays with the two lists of names changed."""
    groups = groups_by_lists(*given)
    return [dict(g, params=names) for g, names in zip(groups, change(*(g["params"] for g in groups)), strict=True)]


EXERCISE = Exercise(
    id="stability.parameter_groups",
    title="Which parameters decay",
    points=2,
    difficulty=2,
    minutes=8,
    signature="parameter_groups(shapes, embeddings, weight_decay)",
    reference=parameter_groups,
    alternatives=[groups_by_lists, groups_by_loop],
    cases=[
        Case(
            "three",
            "a matrix decays; its bias and the table of word vectors do not",
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
    mutants=[
        Mutant(
            "everything",
            _groups(lambda n, s, e: True),
            "Everything decays. Vectors (biases and gains) and embeddings belong into the second group.",
        ),
        Mutant(
            "embeddings_decay",
            _groups(lambda n, s, e: len(s) > 1),
            "The tables of word and position vectors decay. Names in embeddings belong into the second group.",
        ),
        Mutant(
            "embeddings_twice",
            embeddings_twice,
            "Embeddings are in both groups, and an optimizer refuses that. Take them out of the first.",
        ),
        Mutant(
            "embeddings_lost",
            embeddings_lost,
            "Embeddings are in no group, so they would never be trained. They belong into the second.",
        ),
        Mutant(
            "part_of_a_name",
            _groups(lambda n, s, e: len(s) > 1 and not any(x in n for x in e)),
            "A name that only contains an embedding's name counts as one. Names must be equal: name not in embeddings.",
        ),
        Mutant(
            "numbers_decay",
            _groups(lambda n, s, e: len(s) != 1 and n not in e),
            "A single number, which has no axes, decays. Only two axes or more do: len(shape) >= 2.",
        ),
        Mutant(
            "empty_dropped",
            lambda *given: [group for group in groups_by_lists(*given) if group["params"]],
            "A group without names is left out. Return two groups always; an empty list is fine.",
        ),
        Mutant(
            "exchanged",
            lambda *given: groups_by_lists(*given)[::-1],
            "The two groups have changed places: the one that decays comes first.",
        ),
        Mutant(
            "sorted",
            lambda *given: [dict(group, params=sorted(group["params"])) for group in groups_by_lists(*given)],
            "The names are sorted. Keep them in the order of the dict.",
        ),
        Mutant(
            "decay_fixed",
            lambda shapes, embeddings, weight_decay: groups_by_lists(shapes, embeddings, 0.1),
            "The decay stands in your code as a number. Use the argument weight_decay.",
        ),
        Mutant(
            "by_name",
            _groups(lambda n, s, e: not n.endswith("bias") and n not in e),
            "The gain of a norm is called weight and is a vector. Decide by the number of axes, not by the name.",
        ),
        Mutant(
            "vectors_decay",
            _groups(lambda n, s, e: n not in e),
            "Biases and gains decay. Only parameters with two axes or more belong into the first group.",
        ),
        Mutant(
            "only_two_axes",
            _groups(lambda n, s, e: len(s) == 2 and n not in e),
            "A kernel of three axes is left out. Two axes or more decay.",
        ),
        Mutant(
            "axes_of_one",
            _groups(lambda n, s, e: sum(size > 1 for size in s) >= 2 and n not in e),
            "Axes of size 1 are not counted, so a matrix of one row does not decay. Its shape has two axes all the "
            "same.",
        ),
        Mutant(
            "swapped",
            lambda shapes, embeddings, weight_decay: [
                dict(group, weight_decay=wd)
                for group, wd in zip(
                    groups_by_lists(shapes, embeddings, weight_decay), (0.0, weight_decay), strict=True
                )
            ],
            "The names are right and the decays are swapped: the first group decays.",
        ),
        Mutant(
            "by_words",
            _groups(lambda n, s, e: not ("bias" in n or "norm" in n or n in e)),
            "Words such as bias and norm decide, and a gain or a number with another name decays. Decide by "
            "the number of axes.",
        ),
        Mutant(
            "named_weight",
            _groups(lambda n, s, e: n.endswith("weight") and n not in e),
            "Names that end in weight decay. Gains of norms do too, and not every matrix: decide by the "
            "number of axes.",
        ),
        Mutant(
            "begins_with",
            _groups(lambda n, s, e: len(s) > 1 and not any(n.startswith(x) for x in e)),
            "A name that begins like an embedding's counts as one. Names must be equal: name not in embeddings.",
        ),
        Mutant(
            "ends_with",
            _groups(lambda n, s, e: len(s) > 1 and not any(n.endswith(x) for x in e)),
            "A name that ends like an embedding's counts as one. Names must be equal: name not in embeddings.",
        ),
        Mutant(
            "three_axes",
            _groups(lambda n, s, e: len(s) > 2 and n not in e),
            "Matrices do not decay here. Two axes are enough: len(shape) >= 2.",
        ),
        Mutant(
            "one_axis",
            _groups(lambda n, s, e: len(s) > 0 and n not in e),
            "Vectors decay here, gains and biases. Two axes or more are needed: len(shape) >= 2.",
        ),
        Mutant(
            "only_embeddings",
            _groups(lambda n, s, e: n in e),
            "The embeddings decay, and nothing else does. It is the other way round: name not in embeddings.",
        ),
        Mutant(
            "only_vectors",
            _groups(lambda n, s, e: len(s) < 2 and n not in e),
            "Vectors are in the group that decays, and matrices are not. The comparison is turned: len(shape) >= 2.",
        ),
        Mutant(
            "both_decay",
            lambda *given: _decays(given, (1, 1)),
            "Both groups decay. The names are right; the second group gets weight_decay 0.0.",
        ),
        Mutant(
            "none_decays",
            lambda *given: _decays(given, (0, 0)),
            "No group decays. The names are right; the first group gets weight_decay.",
        ),
        Mutant(
            "rest_sorted",
            lambda *given: _names(given, lambda on, off: (on, sorted(off))),
            "The second group is sorted. Keep its names in the order of the dict; a set has no order.",
        ),
        Mutant(
            "decaying_sorted",
            lambda *given: _names(given, lambda on, off: (sorted(on), off)),
            "The first group is sorted. Keep its names in the order of the dict; a set has no order.",
        ),
        Mutant(
            "all_in_second",
            lambda *given: _names(given, lambda on, off: (on, [*given[0]])),
            "The second group holds all names, those of the first as well. A name belongs to one group only.",
        ),
        Mutant(
            "vectors_lost",
            lambda *given: _names(given, lambda on, off: (on, [n for n in off if n in given[1]])),
            "Biases, gains and single numbers are in no group, so they would never be trained. All that does "
            "not decay is in the second.",
        ),
        Mutant(
            "with_shapes",
            lambda *given: _names(
                given, lambda on, off: ([(n, given[0][n]) for n in on], [(n, given[0][n]) for n in off])
            ),
            "The groups hold pairs of name and shape. Names alone are asked for.",
        ),
        Mutant(
            "shapes_alone",
            lambda *given: _names(given, lambda on, off: ([given[0][n] for n in on], [given[0][n] for n in off])),
            "The groups hold shapes. The names are asked for.",
        ),
        Mutant(
            "words_alone",
            _groups(lambda n, s, e: not ("bias" in n or "norm" in n)),
            "The words bias and norm in a name decide, and tables of vectors decay like matrices. Nobody knows all "
            "names: ask how many axes there are, and whether the name is in embeddings.",
        ),
        Mutant(
            "bias_alone",
            _groups(lambda n, s, e: not n.endswith("bias")),
            "Everything decays but what is called bias: gains and tables of vectors do as well. Ask how many axes "
            "there are, and whether the name is in embeddings.",
        ),
        Mutant(
            "weight_without_norm",
            _groups(lambda n, s, e: n.endswith("weight") and "norm" not in n and n not in e),
            "What decays is told by the words weight and norm in its name, so a kernel with another name does not. The "
            "number of axes tells it, whatever the name.",
        ),
    ],
)
