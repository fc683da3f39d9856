"""Which parameters decay."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
from autograder.reference import optim


def parameter_groups(shapes, embeddings, weight_decay):
    """dict name → shape, names of embeddings → two groups of names. By way of the rule for modules."""
    model = torch.nn.Module()
    for i, (name, shape) in enumerate(shapes.items()):
        p = torch.nn.Parameter(torch.zeros(*shape))
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


EXERCISE = Exercise(
    id="stability.parameter_groups",
    unit="10-stability",
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
            "convolution",
            "a kernel of three axes decays; two tables do not",
            lambda g: call(
                _shapes(g, {"places": 2, "words": 2, "conv": 3, "head.weight": 2}), ["words", "places"], 0.05
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
            "swapped",
            lambda shapes, embeddings, weight_decay: [
                dict(group, weight_decay=wd)
                for group, wd in zip(
                    groups_by_lists(shapes, embeddings, weight_decay), (0.0, weight_decay), strict=True
                )
            ],
            "The names are right and the decays are swapped: the first group decays.",
        ),
    ],
)
