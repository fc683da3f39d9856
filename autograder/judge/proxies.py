"""Stand-ins that replace earlier answers in a student's process while a later exercise is run again.

Sent as text after ``asked.py``, so it must not import anything from this package. A stand-in contains no solution, only
a table of calls and their results. A call that is missing from the table is noted, for the grader to compute
(``values.py``), and ends the case, which runs again in the next round with a longer table.

A *call* is JSON, with its tensors beside it: ``name``; ``new`` and ``state`` of an object made from a class, else null;
``args``; ``wrt``, names of tensors whose gradients are wanted; ``answers``, the results so far of the functions among
its arguments (they are called here, never by the grader); ``cotangents`` in a call for gradients, else null.

Nothing here decides anything: a student's code can rewrite it all, and its output is only a claim to be judged.
"""

import builtins
import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from anatomy.program import codec, runner
from safetensors.torch import load, save
from torch import nn
from torch.autograd.function import once_differentiable
from torch.utils._python_dispatch import _disable_current_modes

WAIT = "Wait"  # tells the grader that a case waits for a value
MAX_CALLS = 100  # in one round
MAX_CALL_BYTES = 4 << 20  # tensors of one call
MAX_ROUND_BYTES = 16 << 20  # tensors of all calls in one round


class Wait(BaseException):
    """The case cannot continue without a value; a student's ``except Exception`` does not catch this."""


class Stopped(Wait):
    """The case cannot continue: no value is available for this call."""


def follow(
    payload: bytes,
    student_ns: dict[str, Any],
    ban: Mapping[str, Sequence[str]] | None,
    names: Mapping[str, bool],
    answer: Callable[..., bytes],
) -> bytes:
    """The calls whose values are wanted, and the replies to several requests, in the form of ``asked.answer``.

    Args:
        payload: the table, then the requests, each preceded by 8 bytes of length.
        ban: one element of ``asked.answer``'s bans.
        names: name of each stand-in → whether it is a class.
        answer: ``asked.answer``.
    """
    parts = []
    while payload:
        size = int.from_bytes(payload[:8], "little")
        parts.append(payload[8 : 8 + size])
        payload = payload[8 + size :]
    desk = Desk(parts[0])
    for name, is_class in names.items():
        student_ns[name] = _class(desk, name) if is_class else _function(desk, name)
    replies = []
    for request in parts[1:]:
        desk.is_open, desk.guesses = False, 0
        reply = answer(_sized(request), student_ns, [ban])
        replies.append(_sized(b"-" + WAIT.encode()) if desk.is_open else reply)
    return _sized(b"+" + desk.wanted()) + b"".join(replies)


def _sized(part: bytes) -> bytes:
    return len(part).to_bytes(8, "little") + part


class Desk:
    """The table of known values, and the list of wanted ones. is_open: whether the current case waits for a value.
    guesses: how often it continued without one."""

    def __init__(self, table: bytes) -> None:
        header = json.loads(table[8 : 8 + int.from_bytes(table[:8], "little")])
        self.entries = json.loads(header["__metadata__"]["table"])
        self.tensors: dict[str, codec.Tensors] = {}
        for full, tensor in load(table).items():
            key, _, name = full.partition("/")
            self.tensors.setdefault(key, {})[name] = tensor
        self.like: dict[str, str] = {}  # form of a call → key of a known call of that form
        for key, entry in self.entries.items():
            self.like.setdefault(entry.pop("like"), key)
        self.calls: dict[str, Any] = {}
        self.sent: codec.Tensors = {"_": torch.zeros(1)}
        self.used: list[str] = []
        self.is_open, self.guesses = False, 0

    def wanted(self) -> bytes:
        """The list as safetensors bytes."""
        with _unwatched():
            return save(self.sent, metadata={"wanted": json.dumps([self.used, self.calls])})

    def entry(self, call: dict[str, Any], tensors: codec.Tensors) -> tuple[dict[str, Any], codec.Tensors]:
        """The table's entry for a call, with copies of its tensors. Raises Wait, or the error that the call raises.

        An unknown call gets the entry of a known call of the same form, so that a loop over such calls asks for all
        of its values at once. The case then counts as waiting, whatever its result.
        """
        text = json.dumps(call, sort_keys=True)
        key = hashlib.sha256(text.encode() + save({"_": torch.zeros(1)} | tensors)).hexdigest()[:32]
        if key not in self.entries:
            like = _form(text, tensors)
            self._want(key, call | {"like": like}, tensors)
            self.guesses += 1
            if like not in self.like or self.guesses > MAX_CALLS:  # a loop that waits for the right value never ends
                raise Wait
            key = self.like[like]
        entry = self.entries[key]
        if "stop" in entry:
            raise Stopped
        if "raises" in entry:
            raise getattr(builtins, entry["raises"])("this call is refused")
        return entry, {name: t.clone() for name, t in self.tensors.get(key, {}).items()}

    def _want(self, key: str, call: dict[str, Any], tensors: codec.Tensors) -> None:
        self.is_open = True
        size = sum(t.nbytes for t in tensors.values())
        full = len(self.calls) >= MAX_CALLS or size + sum(t.nbytes for t in self.sent.values()) > MAX_ROUND_BYTES
        if key not in self.calls and not full:
            self.calls[key] = call
            self.sent |= {f"{key}/{name}": t.clone() for name, t in tensors.items()}

    def value(self, call: dict[str, Any], functions: list[Callable[..., Any]], live: codec.Tensors) -> Any:
        """The result of a call, attached to the graph of its arguments. Raises Wait, or the error that the call raises.

        functions: the functions among the arguments, which the call may use. live: the tensors as passed.
        """
        if call["name"] not in self.used:
            self.used.append(call["name"])
        with _unwatched():
            grad = torch.is_grad_enabled()
            call["wrt"] = sorted(n for n, t in live.items() if grad and t.requires_grad)
            tensors = _copies(live)
        while True:
            with _unwatched():
                entry, out = self.entry(call, tensors)
                given = codec.decode(entry["tree"], self._attached(call, tensors, live, entry, out))
            if entry["function"] is None:
                return given
            args, kwargs = given
            answer = functions[entry["function"]](*args, **kwargs)
            with _unwatched():
                more: codec.Tensors = {}
                tree = _tree(answer, more, functions, f"a{len(call['answers'])}_")
                live = live | more
                tensors |= _copies(more)
                wrt = [n for n, t in more.items() if grad and t.requires_grad]
                call = call | {"answers": [*call["answers"], tree], "wrt": sorted(call["wrt"] + wrt)}

    def _attached(
        self,
        call: dict[str, Any],
        tensors: codec.Tensors,
        live: codec.Tensors,
        entry: dict[str, Any],
        out: codec.Tensors,
    ) -> codec.Tensors:
        """The tensors of an entry, as results of a function that looks up its gradients when they are needed."""
        for name in entry["complex"]:
            out[name] = torch.view_as_complex(out[name])
        carrying = entry["carries"]
        if not carrying:
            return out
        wrt, asked, known = call["wrt"], dict(call), dict(tensors)

        def gradients(cotangents: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
            with _unwatched():
                beside = {f"c{i}": c for i, c in enumerate(cotangents)}
                found, parts = self.entry(asked | {"cotangents": list(beside)}, known | _copies(beside))
                pairs = zip(found["gradients"], wrt, strict=True)
                plain = [(parts[g] if g else None, live[n].is_complex()) for g, n in pairs]
                return [torch.view_as_complex(g) if g is not None and z else g for g, z in plain]

        results = _Given.apply(gradients, [out[n] for n in carrying], *[live[n] for n in wrt])
        return out | dict(zip(carrying, results, strict=True))


class _Given(torch.autograd.Function):
    """Values from the table, with gradients from the table."""

    @staticmethod
    def forward(ctx, gradients, values, *inputs):
        ctx.gradients = gradients
        return tuple(values)

    @staticmethod
    @once_differentiable
    def backward(ctx, *cotangents):
        return None, None, *ctx.gradients(cotangents)


@contextlib.contextmanager
def _unwatched() -> Iterator[None]:
    """Hides our own operations from the cost counters and from the watch for forbidden functions."""
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        yield


def _copies(tensors: codec.Tensors) -> codec.Tensors:
    """Copies of the tensors, ready to send. Raises Stopped if they exceed the limit for one call."""
    if sum(t.numel() * t.element_size() for t in tensors.values()) > MAX_CALL_BYTES:
        raise Stopped
    return {name: runner.plain(t) for name, t in tensors.items()}


def _tree(value: Any, tensors: codec.Tensors, functions: list[Callable[..., Any]], prefix: str) -> Any:
    """Tree of arguments; appends the functions among them to ``functions``. Raises Stopped if one cannot be sent."""
    tree = codec.encode(_named(value, functions, 0), tensors, prefix)
    if '{"opaque"' in json.dumps(tree):
        raise Stopped
    return tree


def _named(value: Any, functions: list[Callable[..., Any]], depth: int) -> Any:
    """The value with each function replaced by a name, except where it is nested too deeply to be sent anyway."""
    if depth < codec.MAX_DEPTH and type(value) in (list, tuple):
        return type(value)(_named(v, functions, depth + 1) for v in value)
    if depth < codec.MAX_DEPTH and type(value) is dict:
        return {k: _named(v, functions, depth + 1) for k, v in value.items()}
    if callable(value) and not isinstance(value, torch.Tensor):
        functions.append(value)
        return codec.Fn(str(len(functions) - 1))
    return value


def _form(text: str, tensors: codec.Tensors) -> str:
    """Hash of the form of a call: its JSON without numbers, and the shapes and dtypes of its tensors."""
    shapes = [(name, str(t.dtype), tuple(t.shape)) for name, t in sorted(tensors.items())]
    without = re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "0", text)
    return hashlib.sha256(f"{without} {shapes}".encode()).hexdigest()[:32]


def _call(name: str, args: Any, new: Any = None, state: Any = None) -> dict[str, Any]:
    return {"name": name, "new": new, "state": state, "args": args, "wrt": [], "answers": [], "cotangents": None}


def _function(desk: Desk, name: str) -> Callable[..., Any]:
    def given(*args: Any, **kwargs: Any) -> Any:
        functions: list[Callable[..., Any]] = []
        tensors: codec.Tensors = {}
        with _unwatched():
            tree = _tree((args, kwargs), tensors, functions, "t")
        return desk.value(_call(name, tree), functions, tensors)

    given.__name__ = given.__qualname__ = name
    return given


def _class(desk: Desk, name: str) -> type[nn.Module]:
    class Given(nn.Module):
        """Has parameters and functions under the names that the state needs, and takes ``forward`` from the table."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__()
            functions: list[Callable[..., Any]] = []
            tensors: codec.Tensors = {}
            with _unwatched():
                tree = _tree((args, kwargs), tensors, functions, "n")
            made = desk.value(_call(name, None, tree), functions, tensors)
            for full, tensor in made["parameters"].items():
                holder, last = self._holder(full)
                holder.register_parameter(last, nn.Parameter(tensor.detach()))
            for full, tensor in made["buffers"].items():
                holder, last = self._holder(full)
                holder.register_buffer(last, tensor.detach())
            for full, number in made["functions"].items():
                holder, last = self._holder(full)
                setattr(holder, last, functions[number])
            # A tuple, since functions may be modules, which must become submodules only under the names set above.
            self._made = tree, functions, tensors, (list(made["parameters"]), list(made["buffers"]))

        def _holder(self, full: str) -> tuple[nn.Module, str]:
            *path, last = full.split(".")
            holder: nn.Module = self
            for part in path:
                if not hasattr(holder, part):
                    holder.add_module(part, nn.Module())
                holder = getattr(holder, part)
            return holder, last

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            new, first, made, (parameters, buffers) = self._made
            functions, tensors = list(first), dict(made)
            with _unwatched():
                tree = _tree((args, kwargs), tensors, functions, "t")
                own: dict[str, Any] = dict(self.named_parameters()) | dict(self.named_buffers())
                state = _tree({n: own[n] for n in [*parameters, *buffers]}, tensors, functions, "s")
            return desk.value(_call(name, tree, new, state), functions, tensors)

    Given.__name__ = Given.__qualname__ = name
    return Given
