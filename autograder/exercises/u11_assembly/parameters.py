"""Counting a model's parameters without memory for them."""

import math
from contextlib import ExitStack
from typing import Any

import torch

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, Source, call, several
from autograder.reference.assembly.loading import count

STACK, EMPTY = Fn("toy_stack"), Fn("toy_attention")
HUGE = 1 << 24  # one layer of so many squared numbers in float32 is a petabyte: more than a process can address


def by_stack(build, c):
    """The device as one of the contexts of a stack, shapes multiplied out."""
    with ExitStack() as contexts:
        contexts.enter_context(torch.device("meta"))
        model = build(c)
    return sum(math.prod(p.shape) for p in model.parameters())


def by_identity(build, c):
    """Every parameter of every part as the key of a dict: the same one counts once."""
    with torch.device("meta"):
        model = build(c)
    own = {p: p.shape.numel() for part in model.modules() for p in part.parameters()}
    return sum(own.values())


def by_names(build, c):
    """Named parameters; torch leaves out those that it has seen."""
    with torch.device("meta"):
        named = dict(build(c).named_parameters())
    total = 0
    for tensor in named.values():
        size = 1
        for n in tensor.shape:
            size *= n
        total += size
    return total


def counted(of):
    """``count`` whose sum over the model is ``of(model)``."""

    def wrong(build, c):
        with torch.device("meta"):
            return of(build(c))

    return wrong


def over(choose, size=lambda p: p.numel()):
    """A sum over the parameters that ``choose`` lets through."""
    return counted(lambda model: sum(size(p) for p in model.parameters() if choose(p)))


def allocated(build, c):
    return sum(p.numel() for p in build(c).parameters())


def moved_afterwards(build, c):
    return sum(p.numel() for p in build(c).to("meta").parameters())


def built_before(build, c):
    model = build(c)
    with torch.device("meta"):
        return sum(p.numel() for p in model.parameters())


def by_address(model):
    return sum({p.data_ptr(): p.numel() for p in model.parameters()}.values())


def by_part(model):
    return sum(p.numel() for part in model.modules() for p in part.parameters(recurse=False))


def with_buffers(model):
    return sum(t.numel() for t in [*model.parameters(), *model.buffers()])


def without_shared(model):
    """A parameter under two names counts under none."""
    names = [id(p) for _, p in model.named_parameters(remove_duplicate=False)]
    return sum(p.numel() for p in model.parameters() if names.count(id(p)) == 1)


def sizes(g: Source, **changes: Any) -> dict[str, Any]:
    """Sizes of a toy model, drawn where they are not given."""
    drawn = {"vocab": g.integer(20, 90), "d_model": g.integer(4, 19), "n_layers": g.integer(2, 6)}
    return {**drawn, "tied": False, "frozen": False, **changes}


def _models(times: int, **changes: Any) -> Any:
    return lambda g: several(times, lambda p: p.call(STACK, sizes(g, **changes)))


def _builders(g: Source) -> Program:
    """Two models of other sizes; then another builder, which makes nothing that has parameters, of the second's."""
    c = sizes(g, n_heads=2)
    return call(STACK, sizes(g)).call(STACK, c).call(EMPTY, c)


def remembering():
    """Counts by what the configuration says."""
    counts: dict[str, int] = {}
    return lambda build, c: counts.setdefault(str(c), count(build, c))


def _by_hand(g: Source) -> Program:
    return call(STACK, {"vocab": 3, "d_model": 2, "n_layers": 1, "tied": False, "frozen": False})


EXERCISE = Exercise(
    id="assembly.parameters",
    title="Count without building",
    points=1,
    difficulty=2,
    minutes=4,
    signature="count(build, c)",
    reference=count,
    alternatives=[by_stack, by_identity, by_names],
    cases=[
        Case(
            "by hand",
            "an embedding of 3 × 2, a layer of 2 × 2 + 2, a norm of 2 + 2 and a head of 2 × 3: 22 numbers",
            _by_hand,
        ),
        Case(
            "untied",
            "two models of other sizes, with biases, a norm and a buffer that is no parameter; then one that has none",
            _builders,
        ),
        Case("tied", "the head's weight is the embedding's own: it counts once, in two models", _models(2, tied=True)),
        Case("frozen", "parameters that are not trained at the moment count all the same", _models(2, frozen=True)),
        Case(
            "petabytes",
            "three layers of more than 2^48 numbers each: no machine can allocate them",
            lambda g: call(STACK, sizes(g, d_model=HUGE + g.integer(1, 999), n_layers=3, tied=True)),
            weight=2,
        ),
    ],
    mutants=[
        Mutant(
            "by_configuration",
            remembering(),
            "Counts are kept by the configuration, so another model of the same sizes gets the first one's. Count what "
            "build(c) makes.",
        ),
        Mutant(
            "allocated",
            allocated,
            'The model is built with memory for all its numbers. Build it inside `with torch.device("meta"):`, where '
            "tensors have shapes and nothing else.",
        ),
        Mutant(
            "moved_afterwards",
            moved_afterwards,
            "The model is built first and moved to the meta device afterwards: the memory was needed already. Put the "
            'call of build inside `with torch.device("meta"):`.',
        ),
        Mutant(
            "tied_twice",
            counted(by_part),
            "A tied weight is counted in both parts that use it. model.parameters() gives each parameter once.",
        ),
        Mutant(
            "state_dict",
            counted(lambda model: sum(t.numel() for t in model.state_dict().values())),
            "The entries of state_dict() are counted: buffers too, and a tied weight under both its names. Count "
            "model.parameters().",
        ),
        Mutant(
            "with_buffers",
            counted(with_buffers),
            "Buffers are counted too. Masks and tables of positions are stored, but not learned: count "
            "model.parameters() alone.",
        ),
        Mutant(
            "without_shared",
            counted(without_shared),
            "A tied weight is not counted at all. It is stored once, and counts once.",
        ),
        Mutant(
            "trainable",
            over(lambda p: p.requires_grad),
            "Only parameters that want a gradient are counted. A frozen one is part of the model too.",
        ),
        Mutant(
            "matrices",
            over(lambda p: p.dim() > 1),
            "Only matrices are counted. Biases and the weights of norms are parameters too.",
        ),
        Mutant(
            "tensors",
            over(lambda p: True, lambda p: 1),
            "The tensors are counted, not the numbers in them. Add p.numel() for each parameter p.",
        ),
        Mutant(
            "first_axis",
            over(lambda p: True, len),
            "Only the rows of each parameter are counted: len gives the first axis. Take p.numel().",
        ),
        Mutant(
            "axes_added",
            over(lambda p: True, lambda p: sum(p.shape)),
            "The sizes of the axes are added. A matrix of n × m has n · m numbers: p.numel().",
        ),
        Mutant(
            "bytes",
            over(lambda p: True, lambda p: p.nbytes),
            "These are bytes, four for each number in float32. Count the numbers: p.numel().",
        ),
        Mutant(
            "by_address",
            counted(by_address),
            "Parameters are told apart by data_ptr(). On the meta device there is no memory and all addresses are 0: "
            "model.parameters() leaves out repetitions by itself.",
        ),
        Mutant(
            "by_size",
            counted(lambda model: sum({p.numel() for p in model.parameters()})),
            "Parameters of equal size count once, because a set keeps one of each number. Sum over the parameters "
            "themselves.",
        ),
        Mutant(
            "millions",
            counted(lambda model: sum(p.numel() for p in model.parameters()) / 1e6),
            "The result is in millions. Return the number itself, an int.",
        ),
        Mutant(
            "as_tensor",
            counted(lambda model: torch.tensor(sum(p.numel() for p in model.parameters()), device="cpu")),
            "The number is right, but it lies in a tensor. Return a Python int: p.numel() is one, and so is their sum.",
        ),
        Mutant(
            "half_counted",
            counted(lambda model: sum(p.numel() for name, p in model.named_parameters() if name.endswith("weight"))),
            "Only parameters called weight are counted. Biases are parameters too.",
        ),
        Mutant(
            "without_embedding",
            counted(lambda model: sum(p.numel() for n, p in model.named_parameters() if "tokens" not in n)),
            "The embedding is left out. Its table is learned as well: count all of model.parameters().",
        ),
        Mutant(
            "layers_only",
            counted(lambda model: sum(p.numel() for p in model.layers.parameters())),
            "Only the layers are counted. Embedding, final norm and head belong to the model too.",
        ),
    ],
)
