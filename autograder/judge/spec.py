"""Specifies an exercise: cases, mutants, points. The instant check, trusted grading and the tests share one spec.

A case is a builder: it gets a seeded source of random tensors and returns a program. The public cases are built
once with a fixed seed and recorded; the grader builds them again with a seed that the student cannot know.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import torch
from anatomy.program import codec, cost, runner
from anatomy.program.codec import Fn, Ref, Tensors, Tree
from anatomy.program.distributions import Law
from torch import Tensor

from .stubs import asked_for

__all__ = ["Case", "Exercise", "Fn", "Implementation", "Mutant", "Program", "Ref", "Source", "call"]

Target = Callable[..., Any]  # a function or class that an exercise asks for
Implementation = Target | tuple[Target, ...]  # a tuple if an exercise asks for several
Item = TypeVar("Item")


# Forbidden as a whole, by whatever name it is called.
_WORDS = {"autograd": "autograd (`backward`, `torch.autograd`, `torch.func`)"}


class Source:
    """Seeded tensors for a case. The same seed gives the same case on every machine (CPU generator)."""

    def __init__(self, seed: int, graded: bool = False) -> None:
        self.generator, self.graded = torch.Generator().manual_seed(seed), graded
        self.is_large = False  # True once a size is drawn that wasteful answers cannot afford

    def size(self, shown: int, graded: int) -> int:
        """``shown`` in a check; ``graded`` in grading, a size at which a wasteful answer runs out of memory.

        The counts of a check can be forged; this cannot. Known mistakes do not run at such a size. Raises ValueError
        if the graded size is less than four times ``shown``, too small to have any effect.
        """
        if graded < 4 * shown:
            raise ValueError(f"a graded size of {graded} is hardly more than {shown}: at which does memory run out?")
        self.is_large |= self.graded
        return graded if self.graded else shown

    def randn(self, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32) -> Tensor:
        """Normal values of standard deviation ``scale``."""
        return (torch.randn(*shape, generator=self.generator, dtype=_drawn_as(dtype)) * scale).to(dtype)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0, dtype: torch.dtype = torch.float32) -> Tensor:
        """Uniform values in [low, high)."""
        return (low + (high - low) * torch.rand(*shape, generator=self.generator, dtype=_drawn_as(dtype))).to(dtype)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """int64 values in [low, high)."""
        return torch.randint(low, high, shape, generator=self.generator)

    def integer(self, low: int, high: int) -> int:
        """One Python int in [low, high)."""
        return int(torch.randint(low, high, (1,), generator=self.generator))

    def number(self, low: float, high: float, digits: int = 3) -> float:
        """One Python float in [low, high), rounded, so that it reads well in a message."""
        return round(float(low + (high - low) * torch.rand(1, generator=self.generator)), digits)

    def choice(self, items: Sequence[Item]) -> Item:
        """One of ``items``."""
        return items[self.integer(0, len(items))]

    def mask(self, *shape: int, keep: float = 0.6) -> Tensor:
        """Boolean mask, True with probability ``keep``; the first entry of each row is True."""
        mask = torch.rand(*shape, generator=self.generator) < keep
        mask[..., 0] = True
        return mask


def _drawn_as(dtype: torch.dtype) -> torch.dtype:
    """The dtype to draw in: float64 itself, so that all its digits are random, else float32, which is then rounded."""
    return dtype if dtype == torch.float64 else torch.float32


class Program:
    """Steps to run on the learner's functions; ``anatomy.program.runner`` executes them.

    ``Program().new("Attention", 8, 2, state={...}).call(x)`` builds a module, loads weights by name (strict) and
    calls it. ``Program().call(a).call(b, cache=Ref(0, 1))`` makes two calls, the second with a part of the first's
    result. Ref(i) is the result of step i; ``new`` steps count too.
    """

    def __init__(self) -> None:
        self.steps: list[runner.Step] = []
        self.tensors: Tensors = {}
        self._module: int | None = None

    def _tree(self, value: Any) -> Tree:
        return codec.encode(value, self.tensors, prefix="i")

    def new(self, fn: str, *args: Any, state: Tensors | None = None, train: bool = False, **kwargs: Any) -> Self:
        """Constructs a module; later calls go to it. ``state``: dict of tensors to load with strict=True."""
        names = None
        if state is not None:
            names = {k: self._tree(v)["tensor"] for k, v in state.items()}
        self.steps.append(
            {"new": fn, "args": self._tree(list(args)), "kwargs": self._tree(kwargs), "state": names, "train": train}
        )
        self._module = len(self.steps) - 1
        return self

    def derived(self, **methods: Fn) -> Self:
        """Makes the last module an instance of a class derived from the learner's, with some methods overridden.

        This shows whether the learner's other methods call them.
        """
        assert self._module is not None, "only a class that was constructed can be derived from"
        self.steps[self._module]["methods"] = {name: function.name for name, function in methods.items()}
        return self

    def call(
        self,
        *args: Any,
        fn: str | None = None,
        method: str | None = None,
        grad: Sequence[int | str] | None = None,
        cotangent: Tensor | None = None,
        params: bool = False,
        **kwargs: Any,
    ) -> Self:
        """Calls a function (``fn``; default the first target) or the module made last.

        grad: positions (int) or keyword names of the arguments whose gradients are wanted. cotangent: the gradient of
        the first output; default: weights for the entries of all floating outputs. params: also return the gradient of
        every named parameter.
        """
        on = self._module if fn is None else None
        step: runner.Step = {
            "call": fn,
            "on": on,
            "method": method,
            "args": self._tree(list(args)),
            "kwargs": self._tree(kwargs),
            "grad": None,
        }
        if grad is not None or params:
            wrt = {}
            for g in grad or ():
                if isinstance(g, int):
                    wrt[f"argument {g}"] = step["args"]["list"][g]["tensor"]
                else:
                    wrt[g] = dict(step["kwargs"]["dict"])[g]["tensor"]
            given = None if cotangent is None else self._tree(cotangent)["tensor"]
            step["grad"] = {"wrt": wrt, "params": params, "cotangent": given}
        self.steps.append(step)
        return self

    def drawn_from(self, law: Law) -> Self:
        """Judges the random numbers of the last step by their distribution: they cannot equal the reference's.

        law: from ``anatomy.program.distributions``.
        """
        self.steps[-1]["law"] = law
        return self

    def within(
        self,
        *,
        because: str,
        of: Sequence[str | int] = (),
        **limits: int,
    ) -> Self:
        """Limits the cost of the last step; judged only if its value is right.

        limits: measure of ``cost`` → the largest count that passes, e.g. ``work=190_000``. because: why that is
        enough, as the end of a sentence. of: for ``reads``: names of parameters, and positions of arguments.
        Raises ValueError for an unknown measure, for ``reads`` without ``of``, or if the last step is not a call.
        """
        unknown = set(limits) - set(cost.MEASURES)
        if unknown or not limits or ("reads" in limits) != bool(of):
            raise ValueError(
                f"limits {limits} of {list(of)}: the measures are {', '.join(cost.MEASURES)}; reads needs of"
            )
        step = self.steps[-1]
        if "call" not in step:
            raise ValueError("only a call has a cost")
        inputs = step["args"]["list"]
        step["cost"] = {
            "limits": limits,
            "of": [o if isinstance(o, str) else {"tensor": inputs[o]["tensor"]} for o in of],
            "because": because,
        }
        return self

    def double(self) -> Self:
        """Turns all tensors so far, weights included, into float64 and scales them so that float32 has to round."""
        wide = lambda t: t.double() * (1 + 2**-30) if t.is_floating_point() else t
        self.tensors = {name: wide(t) for name, t in self.tensors.items()}
        return self

    def finish(self, target: str) -> runner.Program:
        """JSON form, with the default target filled in and the strides of inputs that are not contiguous.

        So a case can pass ``q.transpose(1, 2)`` or ``row.expand(4, -1)`` to test answers on such tensors.
        """
        for s in self.steps:
            if "call" in s and s["call"] is None and s["on"] is None:
                s["call"] = target
        return {"steps": self.steps} | ({"strides": self.strides()} if self.strides() else {})

    def strides(self) -> dict[str, list[int]]:
        """Name → strides of the inputs that are not contiguous."""
        state = {t for s in self.steps for t in (s.get("state") or {}).values()}
        # Complex numbers are sent as pairs of reals, with a different shape and so different strides.
        loose = {n: t for n, t in self.tensors.items() if not (n in state or t.is_contiguous() or t.is_complex())}
        return {n: list(t.stride()) for n, t in loose.items()}


def refused(*args: Any, tells: Sequence[str], **kwargs: Any) -> Program:
    """Like ``call``, for a call that raises an error whose text has to contain the names in ``tells``."""
    program = call(*args, **kwargs)
    program.steps[-1]["tells"] = list(tells)
    return program


def call(*args: Any, **kwargs: Any) -> Program:
    """A program of one call to the exercise's first target."""
    return Program().call(*args, **kwargs)


def several(times: int, add: Callable[[Program], object]) -> Program:
    """A program of several calls: ``add(program)`` adds one, with fresh arguments each time.

    For targets with few possible answers (a mask of some size, a count): a guess is rarely right ``times`` times.
    """
    program = Program()
    for _ in range(times):
        add(program)
    return program


@dataclass
class Case:
    """One case of an exercise.

    Attributes:
        name: short slug.
        shows: the sentence that a learner reads.
        build: Source → Program.
        weight: share of the points; 0 for a case that an identity or a stub would pass.
        rtol: relative tolerance if the default of 64 rounding steps does not fit (an approximation, a measured number).
        rounding: how many rounding steps of its largest entry a result may be off, if the default of 32 would hide the
            mistake: 32 steps of bfloat16 are a quarter of the number.
    """

    name: str
    shows: str
    build: Callable[[Source], Program]
    weight: float = 1.0
    rtol: float | None = None
    rounding: float | None = None


@dataclass
class Mutant:
    """A mistake that learners really make: an implementation of it, and the sentence that explains it.

    fn: the wrong function or class (a tuple if the exercise has several targets). change: the edit that turns the right
    answer into it, "" if the mistake is written out in full (see ``changes.py``).
    """

    name: str
    fn: Implementation
    message: str
    change: str = ""


@dataclass
class Exercise:
    """Everything the judge knows about one exercise.

    id: semantic, frozen after release, e.g. ``rope.rotate_half``.
    reference: the right function or class (a tuple for several targets).
    mutants: mistakes that learners make (see ``changes.py``); of two with equal outcomes the first is named.
    alternatives: correct solutions written differently; they must pass.
    targets, signature: names in the learner's notebook, and how the first is called; read from the exercise's cell
        where they are not given.
    forbidden: names of torch functions that would do it, with one sentence why.
    extension: not on the unit's core path; its points count extra.
    idle: arguments that the right answer does not depend on: no learner hears that an answer ignores them.
    unasked: what ``tests/exercises/test_arguments.py`` would ask and no case gives, with its reasons:
        ``f(x)`` has always the same value, ``f(a, b)`` never come together, ``gradient of f`` is not asked for, and
        ``precision`` of floats is always the same.
    equivalent: machine-made mutants that pass and may, with reasons, as ``python -m autograder.mutation --template``
        prints them.
    unit: the folder that the spec lies in (``autograder.exercises`` sets it).
    """

    id: str
    title: str
    points: float
    difficulty: int
    minutes: int
    reference: Implementation
    cases: list[Case]
    mutants: list[Mutant]
    alternatives: list[Implementation]
    signature: str = ""
    targets: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    forbidden_message: str = ""
    extension: bool = False
    idle: tuple[str, ...] = ()
    unasked: str = ""
    equivalent: str = ""
    unit: str = ""

    def __post_init__(self):
        if not self.signature:
            names, self.signature = asked_for(self.id)
            self.targets = self.targets or names
        self.targets = self.targets or (self.signature.split("(")[0],)
        names = [c.name for c in self.cases]
        problems = []
        if len(set(names)) != len(names):
            problems.append("two cases share a name")
        if len({m.name for m in self.mutants}) != len(self.mutants):
            problems.append("two mutants share a name")
        if not any(c.weight for c in self.cases):
            problems.append("no case has any weight")
        if not 1 <= self.difficulty <= 5 or self.points <= 0 or self.minutes <= 0:
            problems.append("difficulty is 1 to 5, points and minutes are positive")
        if problems:
            raise ValueError(f"exercise {self.id}: {'; '.join(problems)}")

    def not_allowed(self) -> str:
        """The notebook's line about forbidden functions, made from the judge's own list; "" if nothing is forbidden."""
        names, wholes = self.forbidden_names()
        listed = ["torch's " + ", ".join(names)] * bool(names) + wholes
        return f"**Not allowed here:** {', '.join(listed)}. {self.forbidden_message}".strip() if listed else ""

    def forbidden_names(self) -> tuple[list[str], list[str]]:
        """(forbidden torch functions to list in a text, things forbidden as a whole), as Markdown."""
        # In-place variants and torch's internal names need no mention.
        names = [n for n in self.forbidden if n not in _WORDS and not n.startswith(("_", "native_")) and n[-1] != "_"]
        return [f"`{n}`" for n in names], [_WORDS[n] for n in self.forbidden if n in _WORDS]

    def functions(self, implementation: Implementation) -> dict[str, Target]:
        """dict target → function for a reference, alternative or mutant."""
        items = implementation if isinstance(implementation, tuple) else (implementation,)
        return dict(zip(self.targets, items, strict=True))
