"""How an exercise is specified: cases, mutants, points. One spec serves check, trusted grading and the tests.

A case is a builder: it gets a seeded source of random tensors and returns a program. The public cases are built
once with a fixed seed and recorded; the grader builds them again with a seed that the student cannot know.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import torch
from anatomy import codec, runner
from anatomy.codec import Fn, Ref, Tensors, Tree
from torch import Tensor

__all__ = ["Case", "Exercise", "Fn", "Implementation", "Mutant", "Program", "Ref", "Source", "call"]

Target = Callable[..., Any]  # a function or class that an exercise asks for
Implementation = Target | tuple[Target, ...]  # a tuple where an exercise asks for several
Item = TypeVar("Item")


class Source:
    """Seeded tensors for a case. The same seed gives the same case on every machine (CPU generator)."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def randn(self, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32) -> Tensor:
        """Normal values of standard deviation ``scale``."""
        return (torch.randn(*shape, generator=self.generator) * scale).to(dtype)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0, dtype: torch.dtype = torch.float32) -> Tensor:
        """Uniform values in [low, high)."""
        return (low + (high - low) * torch.rand(*shape, generator=self.generator)).to(dtype)

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


class Program:
    """Steps to run on the learner's functions; see ``anatomy.runner`` for what they become.

    ``Program().new("Attention", 8, 2, state={...}).call(x)`` builds a module, loads weights by name (strict) and
    calls it. ``Program().call(a).call(b, cache=Ref(0, 1))`` makes two calls, the second with a part of the first's
    result. Ref(i) is the result of step i, a ``new`` step included.
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

        grad: positions (int) or keyword names whose gradient is wanted; needs ``cotangent``, the gradient of the
        first output. params: also return the gradient of every named parameter.
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
            step["grad"] = {"wrt": wrt, "params": params, "cotangent": self._tree(cotangent)["tensor"]}
        self.steps.append(step)
        return self

    def finish(self, target: str) -> runner.Program:
        """JSON form, with the default target filled in."""
        for s in self.steps:
            if "call" in s and s["call"] is None and s["on"] is None:
                s["call"] = target
        return {"steps": self.steps}


def call(*args: Any, **kwargs: Any) -> Program:
    """A program of one call to the exercise's first target."""
    return Program().call(*args, **kwargs)


def several(times: int, add: Callable[[Program], object]) -> Program:
    """A program of several calls: ``add(program)`` adds one, with fresh arguments each time.

    For answers of which few are possible (a mask of some size, a count): a guess is rarely right ``times`` times.
    """
    program = Program()
    for _ in range(times):
        add(program)
    return program


@dataclass
class Case:
    """One case of an exercise.

    name: short slug. shows: the sentence that a learner reads. build: Source → Program. weight: share of the
    points; 0 for a case that an identity or a stub would pass. rtol: relative tolerance where the default of 64
    rounding steps does not fit (an approximation, a measured number).
    """

    name: str
    shows: str
    build: Callable[[Source], Program]
    weight: float = 1.0
    rtol: float | None = None


@dataclass
class Mutant:
    """A mistake that learners really make: an implementation of it, and the sentence it deserves.

    fn: the wrong function or class (a tuple where the exercise has several targets).
    """

    name: str
    fn: Implementation
    message: str


@dataclass
class Exercise:
    """Everything the judge knows about one exercise.

    id: semantic, frozen after release, e.g. ``rope.rotate_half``. unit: folder name. reference: the right function
    or class (a tuple for several targets). alternatives: correct solutions written differently; they must pass.
    targets: names in the learner's notebook; signature: of the first target. forbidden: names of torch functions
    that would do it, with one sentence why. extension: not on the unit's core path; its points count extra.
    """

    id: str
    unit: str
    title: str
    points: float
    difficulty: int
    minutes: int
    signature: str
    reference: Implementation
    cases: list[Case]
    mutants: list[Mutant]
    alternatives: list[Implementation]
    targets: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    forbidden_message: str = ""
    extension: bool = False

    def __post_init__(self):
        if not self.targets:
            self.targets = (self.signature.split("(")[0],)
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

    def functions(self, implementation: Implementation) -> dict[str, Target]:
        """dict target → function for a reference, alternative or mutant."""
        items = implementation if isinstance(implementation, tuple) else (implementation,)
        return dict(zip(self.targets, items, strict=True))
