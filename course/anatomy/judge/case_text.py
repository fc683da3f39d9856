"""Writes a case as Python text, which a learner pastes into the notebook to see the result of a verdict.

Exact to the last bit, so that the pasted text fails like the case. Where it would be too long to read, the text fetches
the case instead (``anatomy.case``).
"""

import math
import struct

import torch
from torch import Tensor

from ..program.records import ExerciseRecord
from ..program.runner import FUNCTION_TEXTS

MAX_ENTRIES = 24  # of one tensor
MAX_CHARACTERS = 500
WIDTH = 100  # a longer call gets one line for each argument
_INFERRED = (torch.float32, torch.int64, torch.bool, torch.complex64)  # that torch.tensor infers from plain numbers


class _TooLong(Exception):
    """The case cannot be written out, or would be too long to read."""


def spelled(record: ExerciseRecord, number: int, at: int | None = None, gradient: str | None = None) -> str:
    """Python text whose last line is an expression for the value of one step of a case. Never raises.

    Args:
        record: ExerciseRecord. number: of the case, from 1.
        at: index of the step; default the last one.
        gradient: label of a gradient of that step; then the last line shows this gradient.
    """
    case = record.cases[number - 1]
    at = len(case.program["steps"]) - 1 if at is None else at
    try:
        if case.program.get("strides"):
            raise _TooLong  # a tensor made from text is contiguous
        text = "\n".join(_Writer(record, case, at).lines(gradient))
        if len(text) <= MAX_CHARACTERS:
            return text
    except Exception:  # a case that cannot be written out can still be fetched
        pass
    return _fetched(record, case, number, at, gradient)


def _fetched(record, case, number, at, gradient):
    fetch, steps = f'case("{record.id}", {number})', case.program["steps"]
    step = steps[at]
    own = any(f'"fn": "{t}"' in str(step).replace("'", '"') for t in record.targets)
    if len(steps) == 1 and "call" in step and not step.get("method") and not step.get("grad") and not own:
        inside = ["*c.args"] * bool(step["args"]["list"]) + ["**c.kwargs"] * bool(step["kwargs"]["dict"])
        return f"c = {fetch}\n{step['call']}({', '.join(inside)})"
    calls = [i for i, s in enumerate(steps) if "call" in s]
    which = [f"call={calls.index(at) + 1}"] if at in calls[:-1] else []
    part = f'["{gradient or "value"}"]' if step.get("grad") else ""
    return f"{fetch}.run({', '.join([*record.targets, *which])}){part}"


class _Writer:
    """Writes the steps of one case up to ``at`` as lines."""

    def __init__(self, record, case, at):
        self.case, self.steps, self.at, self.targets = case, case.program["steps"], at, record.targets
        self.parameters = [
            p.split("=")[0].strip() for p in record.signature.partition("(")[2].rpartition(")")[0].split(",")
        ]
        self.taken, self.names, self.variables = {*record.targets, "torch", "case"}, {}, {}

    def lines(self, gradient):
        needed = _references([s["args"] for s in self.steps[: self.at + 1]] + [s["kwargs"] for s in self.steps])
        lines = []
        for i, step in enumerate(self.steps[: self.at + 1]):
            last = i == self.at
            if last and step.get("grad"):
                lines += self._gradient(step, gradient)
            elif "new" in step:
                lines += self._new(i, step)
            elif not last and i in needed:
                call = self._call(step)
                self.names[i] = self._name("y")
                lines.append(f"{self.names[i]} = {call}")
            else:
                lines.append(self._call(step))
            if sum(map(len, lines)) > MAX_CHARACTERS:
                raise _TooLong
        return lines

    def _name(self, wish):
        name, count = wish, 1
        while name in self.taken:
            count += 1
            name = f"{wish}{count}"
        self.taken.add(name)
        return name

    def _new(self, i, step):
        made = _broken(_class_text(step), self._inside(step))
        if i == self.at and step.get("state") is None:
            return [made]
        self.names[i] = name = self._name("m")
        lines = [f"{name} = {made}"]
        if step.get("state") is not None:
            dtypes = {self.case.tensors[t].dtype for t in step["state"].values()}
            lines += [f"{name}.double()"] * (dtypes == {torch.float64})
            weights = [f'"{k}": {self._tensor(t)}' for k, t in step["state"].items()]
            lines.append(_broken(f"{name}.load_state_dict", [_broken("", weights, "{}")]))
            # Only an object that loads weights is sure to be a module with both modes.
            lines += [] if step.get("train") else [f"{name}.eval()"]
        return lines

    def _call(self, step):
        name = self.names[step["on"]] if step.get("on") is not None else step["call"]
        return _broken(name + (f".{step['method']}" if step.get("method") else ""), self._inside(step))

    def _inside(self, step):
        return [self._value(a) for a in step["args"]["list"]] + [
            f"{k}={self._value(v)}" for k, v in step["kwargs"]["dict"]
        ]

    def _gradient(self, step, label):
        """The call, its backward pass and the gradient asked for; without a label the value, which may need both."""
        lines, asked = [], step["grad"]
        for name, tensor in asked["wrt"].items():
            if label in (None, name):
                variable = self.variables[tensor] = self._name(self._wish(step, name))
                lines.append(f"{variable} = {_with_grad(self._tensor(tensor))}")
        call, result = self._call(step), self._name("y")
        value = self.case.outcomes["expected"][0]["results"][self.at]["value"]
        several = isinstance(value, dict) and bool({"tuple", "list"} & set(value))
        back = _broken(f"{result}{'[0]' * several}.backward", [self._tensor(asked["cotangent"])])
        return [*lines, f"{result} = {call}", back, result if label is None else self._shown(step, label)]

    def _shown(self, step, label):
        if label in step["grad"]["wrt"]:
            return f"{self.variables[step['grad']['wrt'][label]]}.grad"
        path, module = label.removeprefix("parameter "), self.names[step["on"]]
        dotted = all(p.isidentifier() for p in path.split("."))
        return f"{module}.{path}.grad" if dotted else f'{module}.get_parameter("{path}").grad'

    def _wish(self, step, label):
        """The variable's name: that of the parameter for which it is passed."""
        if not label.startswith("argument "):
            return label
        place = int(label.split()[1])
        if step.get("on") is None and step["call"] == self.targets[0] and place < len(self.parameters):
            return self.parameters[place]
        return "x"

    def _tensor(self, name):
        return tensor_text(self.case.tensors[name])

    def _value(self, tree):
        if tree is None or isinstance(tree, bool | int | str):
            return repr(tree)
        if isinstance(tree, float):
            return _number(tree)
        ((kind, body),) = tree.items()
        if kind in ("tensor", "complex_tensor"):
            return self.variables.get(body) or self._complex_or_plain(kind, body)
        if kind == "list":
            return f"[{', '.join(map(self._value, body))}]"
        if kind == "tuple":
            return f"({', '.join(map(self._value, body))}{',' * (len(body) == 1)})"
        if kind == "dict":
            return "{" + ", ".join(f"{self._value(k)}: {self._value(v)}" for k, v in body) + "}"
        if kind == "ref":
            return self.names[body[0]] + "".join(f"[{p!r}]" for p in body[1:])
        if kind == "fn":
            return body if body in self.targets else FUNCTION_TEXTS[body]
        if kind == "float":
            return _number(float(body))
        simple = {
            "dtype": lambda: f"torch.{body}",
            "int": lambda: body,
            "complex": lambda: f"complex({self._value(body[0])}, {self._value(body[1])})",
        }
        if kind not in simple:
            raise _TooLong
        return simple[kind]()

    def _complex_or_plain(self, kind, name):
        tensor = self.case.tensors[name]
        if kind == "complex_tensor" and not tensor.is_complex():  # recorded as its real view
            tensor = torch.view_as_complex(tensor.contiguous())
        return tensor_text(tensor)


def _with_grad(text):
    """The text of a tensor, changed so that gradients flow to it."""
    if ")." in text:
        return f"{text}.requires_grad_()"
    return f"{text[:-1]}, requires_grad=True)"


def _references(trees):
    """Indices of the steps whose results the trees use."""
    found = set()
    for tree in trees:
        if isinstance(tree, dict):
            if set(tree) == {"ref"}:
                found.add(tree["ref"][0])
            else:
                found |= _references(tree.values())
        elif isinstance(tree, list):
            found |= _references(tree)
    return found


def _class_text(step):
    """The class that a step constructs: the learner's, or one derived from it with methods of its own."""
    if not step.get("methods"):
        return step["new"]
    methods = ", ".join(f'"{name}": {FUNCTION_TEXTS[fn]}' for name, fn in step["methods"].items())
    return f'type("{step["new"]}", ({step["new"]},), {{{methods}}})'


def _broken(name, inside, brackets="()"):
    """``name(inside)``; each argument gets its own line if a single line would be too long."""
    line = f"{name}{brackets[0]}{', '.join(inside)}{brackets[1]}"
    if len(line) <= WIDTH or len(inside) < 2:
        return line
    return f"{name}{brackets[0]}\n    " + ",\n    ".join(inside) + brackets[1]


def tensor_text(t: Tensor) -> str:
    """Python text that makes a tensor with the same dtype, shape and bits (except the bits inside a NaN).

    Raises an exception for a tensor of more than MAX_ENTRIES entries that has no short form.
    """
    short = _short(t) if t.numel() > 8 or not t.numel() else None
    if short:
        return short
    if t.numel() > MAX_ENTRIES:
        raise _TooLong
    return f"torch.tensor({_nested(t.tolist(), t.dtype)}{_dtype(t)})"


def _dtype(t):
    return "" if t.dtype in _INFERRED else f", dtype={t.dtype}"


def _short(t):
    """The text of a tensor that one function makes: empty, constant, counting up, or a triangle of True; or None."""
    size = ", ".join(map(str, t.shape))
    kind = "" if t.dtype == torch.float32 else f", dtype={t.dtype}"
    if not t.numel():
        return f"torch.zeros({size}{kind})"
    first = t.flatten()[0]
    if _identical(t, first.expand_as(t)):
        if first.item() == 0 and _identical(first, torch.zeros_like(first)):
            return f"torch.zeros({size}{kind})"
        if first.item() == 1:
            return f"torch.ones({size}{kind})"
        return f"torch.full({tuple(t.shape)}, {_nested(first.item(), t.dtype)}{_dtype(t)})"
    if t.dtype == torch.int64 and t.ndim == 1:
        low = int(first)
        if _identical(t, torch.arange(low, low + len(t))):
            return f"torch.arange({f'{low}, ' if low else ''}{low + len(t)})"
    if t.dtype == torch.bool and t.ndim == 2 and _identical(t, torch.ones_like(t).tril()):
        return f"torch.ones({size}, dtype=torch.bool).tril()"
    return None


def _identical(a, b):
    if a.shape != b.shape or not torch.equal(a, b):
        return False
    return not a.is_floating_point() or torch.equal(a.signbit(), b.signbit())


def _nested(value, dtype):
    if isinstance(value, list):
        return f"[{', '.join(_nested(v, dtype) for v in value)}]"
    if isinstance(value, complex):
        part = torch.float64 if dtype == torch.complex128 else torch.float32
        return f"complex({_number(value.real, part)}, {_number(value.imag, part)})"
    return _number(value, dtype) if isinstance(value, float) else repr(value)


def _number(x, dtype=torch.float64):
    """The shortest text of a float that gives the same value in a dtype."""
    if not math.isfinite(x):
        return "torch.nan" if math.isnan(x) else "torch.inf" if x > 0 else "-torch.inf"
    if dtype != torch.float64:
        for digits in range(1, 17):
            rounded = float(f"{x:.{digits}g}")
            if _in_dtype(rounded, dtype) == x:
                return repr(rounded)
    return repr(x)


_PACKED = {torch.float32: struct.Struct("f"), torch.float16: struct.Struct("e")}


def _in_dtype(x, dtype):
    """A float rounded to a dtype. A tensor would give the same, but take thirty times as long."""
    if dtype not in _PACKED:
        return torch.tensor(x, dtype=dtype).item()
    try:
        return _PACKED[dtype].unpack(_PACKED[dtype].pack(x))[0]
    except OverflowError:  # larger than the largest number after rounding
        return math.inf
