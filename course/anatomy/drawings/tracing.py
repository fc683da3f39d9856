"""Finds out what a step of the residual stream does by running it: stand-ins record every sum, product and call."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

HOW = "a step returns a sum of the stream and of what functions make of it, such as x + sublayer(norm(x))"


@dataclass(frozen=True)
class Found:
    """name: the function's name. ways, after, shared: as in ``wirings.Wiring``."""

    name: str
    ways: tuple[tuple[str, ...], ...]
    after: tuple[str, ...]
    shared: bool


class Mark:
    """Stand-in for a tensor. word: its origin ("x", "+" or a function's word); of: the marks that it was made from."""

    def __init__(self, word: str, *of: "Mark") -> None:
        self.word, self.of = word, of

    def __add__(self, other: Any) -> "Mark":
        return Mark("+", self, _mark(other))

    def __radd__(self, other: Any) -> "Mark":
        return Mark("+", _mark(other), self)

    def __mul__(self, other: Any) -> "Mark":
        if not isinstance(other, Alpha):
            raise ValueError(f"the stream is multiplied by {other!r}; {HOW}")
        return Mark("× α", self)

    __rmul__ = __mul__

    def add(self, other: Any) -> "Mark":
        """As ``+``; likewise ``add_`` and ``torch.add``."""
        return self + other

    add_ = add

    def clone(self) -> "Mark":
        """Returns itself, because a copy computes nothing."""
        return self

    def sum(self, dim: int = 0) -> "Mark":
        """For stacked tensors, works as ``+``. Raises ValueError for any other sum."""
        if self.word != "stack" or dim != 0:
            raise ValueError(f"the step sums the numbers of a tensor, which no wiring needs; {HOW}")
        return reduce(Mark.__add__, self.of)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> "Mark":
        if function.__name__ == "add" and not set(kwargs or ()) - {"alpha"}:
            other = _mark(args[1])
            return _mark(args[0]) + (other * kwargs["alpha"] if kwargs else other)
        if function.__name__ == "stack" and not kwargs:
            return Mark("stack", *map(_mark, args[0]))
        raise ValueError(f"the step calls torch's {function.__name__}, which no wiring needs; {HOW}")

    def __getattr__(self, name: str) -> Any:
        raise ValueError(f"the step asks for .{name} of a tensor, which no wiring needs; {HOW}")


class Alpha(float):
    """Stand-in for DeepNorm's factor; a number, so that torch's functions accept it."""


def _mark(value: Any) -> Mark:
    if not isinstance(value, Mark):
        raise ValueError(f"{value!r} is no tensor of the stream; {HOW}")
    return value


def follow(step: Callable[..., Any]) -> Found:
    """Runs ``step`` on stand-ins.

    The order and names of its arguments decide what they get: the stream; the sublayer, or ``attention`` and ``ffn``;
    norms; ``alpha``. Raises ValueError if it is not a function, or not a wiring; the function's own errors pass
    through.
    """
    if not callable(step):
        raise ValueError(f"a wiring is drawn from a function, not from {type(step).__name__}")
    names = list(inspect.signature(step).parameters)
    if len(names) < 2:
        raise ValueError(
            f"{_name(step)} takes {len(names)} arguments; a step takes the stream and a sublayer, then norms"
        )
    x = Mark("x")
    given: list[Any] = [x]
    for i, name in enumerate(names[1:]):
        if name == "alpha":
            given.append(Alpha())
        elif name in ("attention", "ffn"):
            given.append(_stand_in({"attention": "attention", "ffn": "FFN"}[name]))
        else:
            given.append(_stand_in("F" if i == 0 else "norm"))
    made = step(*given)
    if not isinstance(made, Mark) or made.word == "stack":
        raise ValueError(f"{_name(step)} returns {type(made).__name__}; {HOW}")
    return _read(_name(step), made)


def _name(step: Callable[..., Any]) -> str:
    return getattr(step, "__name__", type(step).__name__)


def _stand_in(word: str) -> Callable[[Any], Mark]:
    return lambda tensor: Mark(word, _mark(tensor))


def _read(name: str, made: Mark) -> Found:
    after: list[str] = []
    while made.word not in ("+", "x", "F", "attention", "FFN", "stack"):
        after.insert(0, made.word)
        (made,) = made.of
    chains = [_chain(term) for term in _terms(made)]
    # The stream's own path first, regardless of the order of the sum.
    chains.sort(key=lambda chain: any(m.word in ("F", "attention", "FFN") for m in chain))
    branches = sum(any(m.word in ("F", "attention", "FFN") for m in chain) for chain in chains)
    if len(chains) - branches > 1:
        raise ValueError(f"{name} adds the stream itself {len(chains) - branches} times; once is a residual")
    if not 1 <= branches <= 2:
        raise ValueError(f"{name} calls {branches} sublayers; one or two can be drawn")
    firsts = [id(chain[0]) for chain in chains if chain]
    ways = tuple(tuple(m.word for m in chain) for chain in chains)
    return Found(name, ways, tuple(after), len(set(firsts)) < len(firsts))


def _terms(made: Mark) -> list[Mark]:
    return [t for part in made.of for t in _terms(part)] if made.word == "+" else [made]


def _chain(term: Mark) -> list[Mark]:
    """Marks between the old stream and ``term``, starting at the stream. Raises ValueError for a sum inside."""
    chain: list[Mark] = []
    while term.word != "x":
        if term.word in ("+", "stack"):
            raise ValueError(f"a sum stands inside of a function that is added; {HOW}")
        chain.insert(0, term)
        (term,) = term.of
    return chain
