"""Counting a model's parameters without memory for them."""

import math
from contextlib import ExitStack
from typing import Any

import torch

from autograder.judge.changes import changes
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


MISTAKES = [
    Mutant(
        "by_configuration",
        remembering(),
        "Counts are kept by the configuration, so another model of the same sizes gets the first one's. Count what "
        "build(c) makes.",
    ),
    *changes(
        count,
        """
allocated: with torch.device("meta"): → if True:
    The model is built with memory for all its numbers. Build it inside `with torch.device("meta"):`, where tensors
    have shapes and nothing else.
moved_afterwards: with torch.device("meta"): → if True: ; model = build(c) → model = build(c).to("meta")
    The model is built first and moved to the meta device afterwards: the memory was needed already. Put the call of
    build inside `with torch.device("meta"):`.
tied_twice: for p in model.parameters() → for part in model.modules() for p in part.parameters(recurse=False)
    A tied weight is counted in both parts that use it. model.parameters() gives each parameter once.
state_dict: model.parameters() → model.state_dict().values()
    The entries of state_dict() are counted: buffers too, and a tied weight under both its names. Count
    model.parameters().
with_buffers: model.parameters() → [*model.parameters(), *model.buffers()]
    Buffers are counted too. Masks and tables of positions are stored, but not learned: count model.parameters()
    alone.
without_shared: in model.parameters() → in model.parameters() if names.count(id(p)) == 1
; return sum → names = [id(p) for _, p in model.named_parameters(remove_duplicate=False)]; return sum
    A tied weight is not counted at all. It is stored once, and counts once.
trainable: in model.parameters() → in model.parameters() if p.requires_grad
    Only parameters that want a gradient are counted. A frozen one is part of the model too.
matrices: in model.parameters() → in model.parameters() if p.dim() > 1
    Only matrices are counted. Biases and the weights of norms are parameters too.
tensors: p.numel() → 1
    The tensors are counted, not the numbers in them. Add p.numel() for each parameter p.
first_axis: p.numel() → len(p)
    Only the rows of each parameter are counted: len gives the first axis. Take p.numel().
axes_added: p.numel() → sum(p.shape)
    The sizes of the axes are added. A matrix of n × m has n · m numbers: p.numel().
bytes: p.numel() → p.nbytes
    These are bytes, four for each number in float32. Count the numbers: p.numel().
by_address: sum(p.numel() → sum({p.data_ptr(): p.numel() ; parameters()) → parameters()}.values())
    Parameters are told apart by data_ptr(). On the meta device there is no memory and all addresses are 0:
    model.parameters() leaves out repetitions by itself.
by_size: sum(p.numel() → sum({p.numel() ; parameters()) → parameters()})
    Parameters of equal size count once, because a set keeps one of each number. Sum over the parameters themselves.
millions: parameters()) → parameters()) / 1e6
    The result is in millions. Return the number itself, an int.
as_tensor: return sum → return torch.tensor(sum ; parameters()) → parameters()))
    The number is right, but it lies in a tensor. Return a Python int: p.numel() is one, and so is their sum.
half_counted: p in model.parameters() → name, p in model.named_parameters() if name.endswith("weight")
    Only parameters called weight are counted. Biases are parameters too.
without_embedding: p in model.parameters() → name, p in model.named_parameters() if "tokens" not in name
    The embedding is left out. Its table is learned as well: count all of model.parameters().
layers_only: model.parameters() → model.layers.parameters()
    Only the layers are counted. Embedding, final norm and head belong to the model too.
""",
    ),
]

EXERCISE = Exercise(
    id="assembly.parameters",
    title="Count without building",
    points=1,
    difficulty=2,
    minutes=4,
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
    mutants=MISTAKES,
)
