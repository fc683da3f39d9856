"""Encodes values for the way between a learner's process and the judge: a JSON tree plus named plain tensors.

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
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ..system import texts
from . import symbolic

Tree = Any  # JSON: follows the grammar above if this side made it, and may be anything if the other side did
Tensors = dict[str, Tensor]  # the tensors beside a tree, by their names in it

MAX_DEPTH = 12
MAX_NODES = 20_000
MAX_KEYS = 500  # of all dictionaries in a tree together: keys of equal hash are compared, all with all
MAX_TEXT = 10_000  # characters of a string
MAX_DIGITS = 400  # of an integer
MAX_BITS = 1_328  # of an integer with at most that many digits
MAX_NAME = 80  # characters of a type's name
_DENSE = 1 << 26  # entries that a sparse tensor may have once it is dense
_INTEGER = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")
_EXACT = 2**53  # from here on float64, as which many programs read JSON's numbers, does not hold every integer
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


_PARTS = (torch.float16, torch.float32, torch.float64)  # dtypes of the parts of complex numbers
_SCALARS = (str, int, float, bool, type(None))
_KEYS = (*_SCALARS, tuple)
# Other dtypes that travel: no exercise asks for them; a learner who returns one is told its name.
_OTHERS = {torch.complex32, torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e5m2}


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


class _TooLarge(Exception):
    """More parts than a reply may have."""


def encode(value: Any, tensors: Tensors, prefix: str = "t") -> Tree:
    """Tree of ``value``; adds its tensors to ``tensors`` under new names, made of the prefix and a number.

    Values outside the grammar, and those that are too large for it, become ``{"opaque": what it is}``: the judge then
    says what came back instead of what was asked for. Never raises.
    """
    encoder = _Encoder(len(tensors), prefix)
    try:
        tree = encoder.tree(value, 0)
    except _TooLarge:
        return {"opaque": f"{type(value).__name__[:MAX_NAME]} of more than {MAX_NODES} values"}
    tensors |= encoder.added
    return tree


class _Encoder:
    """Makes trees. count: number of the tensors that exist already."""

    def __init__(self, count: int, prefix: str) -> None:
        self.count, self.prefix, self.left = count, prefix, MAX_NODES
        self.added: Tensors = {}

    def tree(self, value: Any, depth: int) -> Tree:
        self.left -= 3 if isinstance(value, complex) else 1
        if self.left < 0:
            raise _TooLarge
        if depth > MAX_DEPTH:
            return {"opaque": "a structure nested too deeply"}
        try:
            return self._tree(value, depth)
        except _TooLarge:
            raise
        except Exception:  # a class of the learner's, whose methods may do anything
            return {"opaque": type(value).__name__[:MAX_NAME]}

    def _tree(self, value: Any, depth: int) -> Tree:
        if isinstance(value, Tensor):
            return self._tensor(value)
        if _is_of_numpy(value):
            # A number of numpy counts as a number; an array is not the tensor that was asked for, and would break the
            # next exercise.
            return {"opaque": "numpy array"} if value.ndim else self.tree(value.item(), depth)
        if isinstance(value, list | tuple | dict | set | frozenset):
            return _collection(value, lambda part: self.tree(part, depth + 1))
        return _single(value)

    def _tensor(self, tensor: Tensor) -> Tree:
        problem = _cannot_travel(tensor)
        if problem:
            return {"opaque": problem}
        name = f"{self.prefix}{self.count + len(self.added)}"
        self.added[name] = tensor
        return {"complex_tensor" if tensor.is_complex() else "tensor": name}


def _cannot_travel(tensor: Tensor) -> str | None:
    """Description of a tensor whose kind has no plain values to send; None for all others."""
    if tensor.is_meta:
        return "tensor without values (device meta)"
    if tensor.is_nested or tensor.is_quantized:
        return f"{'nested' if tensor.is_nested else 'quantized'} tensor"
    if tensor.dtype not in _OTHERS and tensor.dtype not in _DTYPES.values():
        return f"tensor of dtype {str(tensor.dtype).split('.')[1]}"
    if tensor.layout is not torch.strided and tensor.numel() > _DENSE:
        return f"sparse tensor of shape {tuple(tensor.shape)}"
    return None


def _is_of_numpy(value: Any) -> bool:
    """Is it one of numpy's arrays or numbers? (numpy's other objects have no ``item``.)"""
    return type(value).__module__ == "numpy" and hasattr(value, "dtype") and hasattr(value, "item")


def _collection(value: Any, inside: Callable[[Any], Tree]) -> Tree:
    """Tree of a value that holds others. inside: makes the tree of each of those."""
    if isinstance(value, dict):
        return {"dict": [[inside(k), inside(v)] for k, v in value.items()]}
    if isinstance(value, set | frozenset):
        if len(value) > MAX_NODES:
            raise _TooLarge
        return inside(sorted(value, key=repr))  # a set's own order differs between processes
    kind = "list" if isinstance(value, list) else "tuple"
    return {kind: [inside(v) for v in value]}


def _single(value: Any) -> Tree:
    """Tree of a value that holds no others."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:  # truncated, it would be a different number
            return {"opaque": f"number of more than {MAX_DIGITS} digits"}
        return value if abs(value) < _EXACT else {"int": str(value)}
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
    return {"opaque": type(value).__name__[:MAX_NAME]}


def decode(tree: Tree, tensors: Mapping[str, Tensor], lookup: Callable[[str, Any], Any] | None = None) -> Any:
    """The value of a tree. ``lookup(kind, payload)`` resolves ``ref`` and ``fn`` nodes, which only programs have.

    Raises MalformedTree for anything outside the grammar.
    """
    left, keys = MAX_NODES, MAX_KEYS

    def walk(node, depth):
        nonlocal left
        left -= 1
        if depth > MAX_DEPTH or left < 0:
            raise MalformedTree("the reply is nested too deeply or too large")
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if not isinstance(node, dict) or len(node) != 1:
            raise MalformedTree(f"not a value: {type(node).__name__}")
        ((kind, body),) = node.items()
        if kind in ("list", "tuple") and isinstance(body, list):
            items = [walk(n, depth + 1) for n in body]
            return items if kind == "list" else tuple(items)
        if kind == "dict" and isinstance(body, list):
            return dictionary(body, depth)
        if kind == "tensor" and isinstance(body, str):
            if body not in tensors:
                raise MalformedTree(f"no tensor named {body[:40]}")
            return tensors[body]
        if kind == "complex_tensor" and isinstance(body, str):
            t = tensors.get(body)
            if t is None or not (t.is_complex() or t.dtype in _PARTS and t.ndim and t.shape[-1] == 2):
                raise MalformedTree("not a complex tensor")
            # A copy: in a file, pairs of float64 may start at an address where torch's complex128 arithmetic crashes.
            return t if t.is_complex() else torch.view_as_complex(t.contiguous().clone())
        if kind == "int" and isinstance(body, str) and _INTEGER.fullmatch(body):
            return int(body)
        if kind == "float" and body in ("nan", "inf", "-inf"):
            return float(body)
        if kind == "complex" and isinstance(body, list) and len(body) == 2:
            if not all(isinstance(b, int | float) for b in body):
                raise MalformedTree("not a complex number")
            return complex(float(body[0]), float(body[1]))
        if kind == "dtype" and isinstance(body, str) and body in _DTYPES:
            return _DTYPES[body]
        if kind == "sympy":
            return symbolic.Expression(body)
        if kind == "opaque" and isinstance(body, str):
            return Opaque(texts.short(body, MAX_NAME))
        if kind in ("ref", "fn") and lookup is not None:
            return lookup(kind, body)
        raise MalformedTree(f"unknown kind of value: {str(kind)[:40]}")

    def dictionary(pairs, depth):
        nonlocal keys
        keys -= len(pairs)
        if keys < 0:
            raise MalformedTree(f"dictionaries of more than {MAX_KEYS} keys")
        found = {}
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise MalformedTree("a dictionary whose keys have no values")
            key, value = walk(pair[0], depth + 1), walk(pair[1], depth + 1)
            if not isinstance(key, _KEYS) or isinstance(key, tuple) and not _is_short(key):
                raise MalformedTree("a dictionary with unusable keys")
            found[key] = value
        return found

    return walk(tree, 0)


def _is_short(key: tuple[Any, ...]) -> bool:
    """True if a tuple may be a key: a few plain values."""
    return len(key) <= 8 and all(isinstance(part, _SCALARS) for part in key)


class Memory:
    """Cache of the values of trees: each is decoded only once; a malformed tree raises its error each time."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Any, Exception | None, Tree, Mapping[str, Tensor]]] = {}

    def value(self, tree: Tree, tensors: Mapping[str, Tensor]) -> Any:
        """The value that ``decode`` gives for a tree without ``ref`` and ``fn``. Callers must not change it."""
        key = id(tree), id(tensors)
        if key not in self._known:
            value, failed = None, None
            try:
                value = decode(tree, tensors)
            except Exception as error:
                failed = error
            self._known[key] = value, failed, tree, tensors  # kept alive, so that their ids remain unique
        value, failed, *_ = self._known[key]
        if failed is not None:
            raise failed.with_traceback(None)
        return value


class Opaque:
    """Stands for a value that cannot travel; equal to nothing."""

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name

    def __repr__(self) -> str:
        return f"<{self.type_name}>"
