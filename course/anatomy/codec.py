"""Values on their way between a learner's process and the judge: a JSON tree plus named plain tensors.

Nothing here can run code on arrival. Tensors travel beside the tree (as safetensors), never inside it, and no
object is ever unpickled, because one of the two ends may be hostile.

Tree grammar::

    tree   := null | true | number | string | {"list": [tree]} | {"tuple": [tree]} | {"dict": [[tree, tree]]}
            | {"tensor": name} | {"complex_tensor": name of its real view (…, 2)} | {"dtype": "float16"}
            | {"int": "digits"} | {"float": "nan" | "inf" | "-inf"} | {"complex": [re, im]}
            | {"sympy": node} | {"opaque": type name}
    (in programs only) {"ref": [step, path…]} | {"fn": name}
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from . import symbolic

Tree = Any  # JSON that follows the grammar above, where this side made it; any JSON at all where the other side did
Tensors = dict[str, Tensor]  # the tensors beside a tree, by the names that stand in it

MAX_DEPTH = 12
MAX_NODES = 20_000
MAX_TEXT = 10_000  # characters of a string
MAX_DIGITS = 400  # of an integer
_EXACT = 2**53  # from here on JSON's numbers, which many read as float64, are not every integer
_DTYPES = {
    str(d).split(".")[1]: d
    for d in (
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.int8,
        torch.uint8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.bool,
        torch.complex64,
        torch.complex128,
    )
}


class MalformedTree(ValueError):
    """The tree does not follow the grammar, or is larger than a reply may be."""


class Ref:
    """In a program: the result of an earlier step, or a part of it, e.g. ``Ref(0, 1)`` is ``result_0[1]``."""

    def __init__(self, step: int, *path: int | str) -> None:
        self.step, self.path = step, path


class Fn:
    """In a program: one of the learner's other functions, or a named torch function, passed as an argument."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name  # as a learner would write it, also inside a list


def encode(value: Any, tensors: Tensors, prefix: str = "t", depth: int = 0) -> Tree:
    """Tree of ``value``; its tensors are added to ``tensors`` under fresh names, the prefix and a number.

    Values outside the grammar become ``{"opaque": type name}``: the judge then says what came back instead of
    what was asked for.
    """
    if depth > MAX_DEPTH:
        return {"opaque": "a structure nested too deeply"}
    if isinstance(value, Tensor):
        return _add_tensor(value, tensors, prefix)
    if _is_of_numpy(value):
        # A number is a number; an array is not the tensor that was asked for, and the next exercise would trip over it.
        return {"opaque": "numpy array"} if value.ndim else encode(value.item(), tensors, prefix, depth)
    if isinstance(value, list | tuple | dict | set | frozenset):
        return _collection(value, lambda part: encode(part, tensors, prefix, depth + 1))
    return _single(value)


def _add_tensor(tensor: Tensor, tensors: Tensors, prefix: str) -> Tree:
    name = f"{prefix}{len(tensors)}"
    tensors[name] = tensor
    return {"complex_tensor" if tensor.is_complex() else "tensor": name}


def _is_of_numpy(value: Any) -> bool:
    """Is it one of numpy's arrays or numbers? (numpy's other objects have no ``item``.)"""
    return type(value).__module__ == "numpy" and hasattr(value, "dtype") and hasattr(value, "item")


def _collection(value: Any, inside: Callable[[Any], Tree]) -> Tree:
    """Tree of a value that holds others. inside: makes the tree of one of those."""
    if isinstance(value, dict):
        return {"dict": [[inside(k), inside(v)] for k, v in value.items()]}
    if isinstance(value, set | frozenset):
        return inside(sorted(value, key=repr))  # a set's own order is another one in each process
    kind = "list" if isinstance(value, list) else "tuple"
    return {kind: [inside(v) for v in value[:MAX_NODES]]}


def _single(value: Any) -> Tree:
    """Tree of a value that holds no others."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, int):
        return value if abs(value) < _EXACT else {"int": str(value)[:MAX_DIGITS]}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).split(".")[1]}
    if isinstance(value, Ref):
        return {"ref": [value.step, *value.path]}
    if isinstance(value, Fn):
        return {"fn": value.name}
    if symbolic.is_sympy(value):
        return {"sympy": symbolic.to_tree(value)}
    return {"opaque": type(value).__name__}


def decode(tree: Tree, tensors: Mapping[str, Tensor], lookup: Callable[[str, Any], Any] | None = None) -> Any:
    """The value of a tree. ``lookup(kind, payload)`` resolves ``ref`` and ``fn`` nodes, which only programs have.

    Raises MalformedTree for anything outside the grammar.
    """
    budget = [MAX_NODES]

    def walk(node, depth):
        budget[0] -= 1
        if depth > MAX_DEPTH or budget[0] < 0:
            raise MalformedTree("the reply is nested too deeply or too large")
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if not isinstance(node, dict) or len(node) != 1:
            raise MalformedTree(f"not a value: {str(node)[:80]}")
        ((kind, body),) = node.items()
        if kind in ("list", "tuple") and isinstance(body, list):
            items = [walk(n, depth + 1) for n in body]
            return items if kind == "list" else tuple(items)
        if kind == "dict" and isinstance(body, list):
            try:
                return {walk(k, depth + 1): walk(v, depth + 1) for k, v in body}
            except (TypeError, ValueError) as error:
                raise MalformedTree("a dictionary with unusable keys") from error
        if kind == "tensor" and isinstance(body, str):
            if body not in tensors:
                raise MalformedTree(f"no tensor named {body[:40]}")
            return tensors[body]
        if kind == "complex_tensor" and isinstance(body, str):
            t = tensors.get(body)
            if t is None or not (t.is_complex() or t.is_floating_point() and t.ndim and t.shape[-1] == 2):
                raise MalformedTree("not a complex tensor")
            return t if t.is_complex() else torch.view_as_complex(t.contiguous())
        if kind == "int" and isinstance(body, str) and len(body) <= MAX_DIGITS and body.lstrip("-").isdigit():
            return int(body)
        if kind == "float" and body in ("nan", "inf", "-inf"):
            return float(body)
        if kind == "complex" and isinstance(body, list) and len(body) == 2:
            return complex(*(walk(b, depth + 1) for b in body))
        if kind == "dtype" and isinstance(body, str) and body in _DTYPES:
            return _DTYPES[body]
        if kind == "sympy":
            return symbolic.Expression(body)
        if kind == "opaque" and isinstance(body, str):
            return Opaque(body[:80])
        if kind in ("ref", "fn") and lookup is not None:
            return lookup(kind, body)
        raise MalformedTree(f"unknown kind of value: {str(kind)[:40]}")

    return walk(tree, 0)


class Opaque:
    """Stands for a value that cannot travel; equal to nothing."""

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name

    def __repr__(self) -> str:
        return f"<{self.type_name}>"
