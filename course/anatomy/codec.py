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

import torch

from . import symbolic

MAX_DEPTH = 12
MAX_NODES = 20_000
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

    def __init__(self, step, *path):
        self.step, self.path = step, path


class Fn:
    """In a program: one of the learner's other functions, or a named torch function, passed as an argument."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name  # as a learner would write it, also inside a list


def encode(value, tensors, prefix="t", depth=0):
    """Tree of ``value``; its tensors are added to the dict ``tensors`` under fresh names.

    Values outside the grammar become ``{"opaque": type name}``: the judge then says what came back instead of
    what was asked for.
    """
    if depth > MAX_DEPTH:
        return {"opaque": "a structure nested too deeply"}
    if value is None or isinstance(value, bool | str):
        return value if not isinstance(value, str) else value[:10_000]
    if isinstance(value, torch.Tensor):
        name = f"{prefix}{len(tensors)}"
        tensors[name] = value
        return {"complex_tensor" if value.is_complex() else "tensor": name}
    if hasattr(value, "dtype") and type(value).__module__ == "numpy":
        # A number is a number; an array is not the tensor that was asked for, and the next exercise would trip over it.
        return {"opaque": "numpy array"} if getattr(value, "ndim", 0) else encode(value.item(), tensors, prefix, depth)
    if isinstance(value, int):
        return value if abs(value) < 2**53 else {"int": str(value)[:400]}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).split(".")[1]}
    if isinstance(value, torch.Size):
        value = tuple(value)
    if isinstance(value, list | tuple):
        items = [encode(v, tensors, prefix, depth + 1) for v in value[:MAX_NODES]]
        return {"list" if isinstance(value, list) else "tuple": items}
    if isinstance(value, dict):
        pairs = [
            [encode(k, tensors, prefix, depth + 1), encode(v, tensors, prefix, depth + 1)] for k, v in value.items()
        ]
        return {"dict": pairs}
    if isinstance(value, set | frozenset):
        return encode(sorted(value, key=repr), tensors, prefix, depth + 1)
    if isinstance(value, Ref):
        return {"ref": [value.step, *value.path]}
    if isinstance(value, Fn):
        return {"fn": value.name}
    if symbolic.is_sympy(value):
        return {"sympy": symbolic.to_tree(value)}
    return {"opaque": type(value).__name__}


def decode(tree, tensors, lookup=None):
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
        if kind == "int" and isinstance(body, str) and len(body) <= 400 and body.lstrip("-").isdigit():
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

    def __init__(self, type_name):
        self.type_name = type_name

    def __repr__(self):
        return f"<{self.type_name}>"
