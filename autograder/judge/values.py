"""Evaluates the course's own functions on arguments from a student's process: sends back values, never code.

The calls come from ``proxies.py``, in the form described there. The arguments are untrusted: they are parsed as
strictly as a reply, the number and size of calls and values are limited, and it all happens in the disposable child.
Error messages stay here; only the class of an error that the exercise asks for is sent back.
"""

import builtins
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from anatomy.program import codec, runner
from anatomy.program.codec import MalformedTree, Tensors
from torch import nn

from .reply import MalformedReply, opened, plain_json

MAX_CALLS = 100  # in one round; proxies.py asks for no more
MAX_FUNCTIONS = 64  # among the arguments of one call
MAX_ANSWERS = 64  # of those functions, in one call
MAX_WANTED = 1_000  # gradients in one call
MAX_VALUE_BYTES = 8 << 20  # tensors in the result of one call
_KEY, _NAME = re.compile(r"[0-9a-f]{32}"), re.compile(r"[a-z0-9_]{1,24}")
_NO_ARGUMENTS = "sympy", "opaque", "int"  # kinds of nodes; "int" marks integers too large for a tensor
STOP = {"stop": True}  # in the table: this call has no value
Entry = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """One of the course's own functions or classes. refusals: names of the errors that its exercise asks for."""

    function: Callable[..., Any]
    refusals: frozenset[str] = frozenset()

    @property
    def is_class(self) -> bool:
        """True for a module class, whose objects are replaced by stand-ins as well."""
        return isinstance(self.function, type) and issubclass(self.function, nn.Module)


@dataclass(frozen=True)
class Call:
    """A requested call. key: its id in ``proxies.py``; like: the id of its form. tensors: those that the call names.
    The other fields are described in ``proxies.py``."""

    key: str
    like: str
    name: str
    new: Any
    state: Any
    args: Any
    wrt: list[str]
    answers: list[Any]
    cotangents: list[str] | None
    tensors: Tensors


def parse_calls(data: bytes, names: Collection[str]) -> tuple[list[str], list[Call]]:
    """(names that were called, calls whose values are wanted) from the bytes that a student's process sent.

    names: functions that may be called. Raises MalformedReply for anything else.
    """
    meta, tensors = opened(data)
    text = meta.get("wanted")
    listed = plain_json(text) if isinstance(text, str) else None
    if not isinstance(listed, list) or len(listed) != 2:
        raise MalformedReply("it holds no list of calls")
    used, calls = listed
    if not isinstance(used, list) or not all(isinstance(u, str) and u in names for u in used):
        raise MalformedReply("it names functions that were not offered")
    if not isinstance(calls, dict) or len(calls) > MAX_CALLS or not all(map(_KEY.fullmatch, calls)):
        raise MalformedReply("its list of calls has another form than was asked for")
    beside: dict[str, Tensors] = {key: {} for key in calls}
    for full, tensor in tensors.items():
        key, _, name = full.partition("/")
        if key in beside and _NAME.fullmatch(name):
            beside[key][name] = tensor
    return list(dict.fromkeys(used)), [_call(key, call, names, beside[key]) for key, call in calls.items()]


def _call(key: str, call: Any, names: Collection[str], tensors: Tensors) -> Call:
    fields = {"like", "name", "new", "state", "args", "wrt", "answers", "cotangents"}
    if not isinstance(call, dict) or set(call) != fields:
        raise MalformedReply("a call has another form than was asked for")
    listed = [call["wrt"], call["answers"], [] if call["cotangents"] is None else call["cotangents"]]
    named = isinstance(call["name"], str) and isinstance(call["like"], str)
    if not named or call["name"] not in names or not _KEY.fullmatch(call["like"]):
        raise MalformedReply("a call is of a function that was not offered")
    if not all(isinstance(part, list) for part in listed) or max(map(len, listed)) > MAX_WANTED:
        raise MalformedReply("a call has another form than was asked for")
    if len(call["answers"]) > MAX_ANSWERS:
        raise MalformedReply("a call has another form than was asked for")
    floating = [n for n, t in tensors.items() if t.is_floating_point()]
    if not all(isinstance(n, str) and n in floating for n in (*listed[0], *listed[2])):
        raise MalformedReply("a call wants gradients of what has none")
    return Call(key, **call, tensors=tensors)


class _Asks(BaseException):
    """The course's function called a function argument whose result is not known yet; it does not catch this."""

    def __init__(self, number: int, given: tuple[list[Any], dict[str, Any]]) -> None:
        super().__init__()
        self.number, self.given = number, given


class _Refused(Exception):
    """This call gets no value."""


def value_of(call: Call, given: Given) -> tuple[Entry, Tensors]:
    """(entry for the table, its tensors) of a call. Never raises because of its arguments.

    given: the function or class named ``call.name``. The entry is ``STOP`` if no value may be sent: the arguments are
    unreadable, or the function changes them, draws random numbers, fails in a way that its exercise does not ask for,
    or returns too much.
    """
    try:
        with torch.random.fork_rng(devices=()), torch.set_grad_enabled(bool(call.wrt)):
            entry, tensors = _Evaluation(call, given).entry()
    except MemoryError:
        return STOP, {}
    except Exception as error:  # including torch's errors about mismatched shapes
        return ({"raises": type(error).__name__} if _is_documented(error, given) else STOP), {}
    if sum(t.nbytes for t in tensors.values()) > MAX_VALUE_BYTES or '{"opaque"' in json.dumps(entry):
        return STOP, {}
    return entry, tensors


def _is_documented(error: Exception, given: Given) -> bool:
    name = type(error).__name__
    return name in given.refusals and getattr(builtins, name, None) is type(error)


class _Evaluation:
    """The evaluation of one call, on copies of its tensors."""

    def __init__(self, call: Call, given: Given) -> None:
        self.call, self.given = call, given
        self.leaves = {n: t.detach().clone().requires_grad_(n in call.wrt) for n, t in call.tensors.items()}
        self.functions: dict[int, Callable[..., Any]] = {}
        self.asked = 0
        self.answers = [self._decoded(a) for a in call.answers]

    def entry(self) -> tuple[Entry, Tensors]:
        """(entry, tensors). Raises whatever the function raises, and _Refused."""
        function, out = None, Tensors()
        try:
            value = self._value()
        except _Asks as asks:
            function, value = asks.number, asks.given
        tree = codec.encode(value, out, "o")
        carries = [n for n, t in out.items() if t.requires_grad]
        if self.call.cotangents is not None:
            return self._gradients([out[n] for n in carries])
        found: Entry = {"tree": tree, "function": function, "carries": carries}
        found["complex"] = [n for n, t in out.items() if t.is_complex()]
        return found, {n: runner.plain(t) for n, t in out.items()}

    def _value(self) -> Any:
        call = self.call
        module = self._module() if call.new is not None else None
        if module is not None and call.args is None:
            return _parts(module, self.functions)
        args, kwargs = self._arguments(call.args)
        # A function that writes into its arguments or draws random numbers would give a different value next time.
        versions, random = [t._version for t in self.leaves.values()], torch.get_rng_state()
        if module is None:
            value = self.given.function(*args, **kwargs)
        else:
            value = torch.func.functional_call(module, self._state(module), tuple(args), kwargs)
        if versions != [t._version for t in self.leaves.values()] or not torch.equal(random, torch.get_rng_state()):
            raise _Refused
        return value

    def _module(self) -> nn.Module:
        args, kwargs = self._arguments(self.call.new)
        torch.manual_seed(0)  # the same initial weights in every round
        if not self.given.is_class:
            raise _Refused
        return self.given.function(*args, **kwargs)

    def _state(self, module: nn.Module) -> Tensors:
        state = self._decoded(self.call.state)
        names = {n for n, _ in [*module.named_parameters(), *module.named_buffers()]}
        if not isinstance(state, dict) or set(state) != names:
            raise _Refused
        return state

    def _gradients(self, outputs: list[torch.Tensor]) -> tuple[Entry, Tensors]:
        inputs = [self.leaves[n] for n in self.call.wrt]
        cotangents = [self.leaves[n].detach() for n in self.call.cotangents or ()]
        shaped = zip(outputs, cotangents, strict=True)
        given = [torch.view_as_complex(c) if o.is_complex() else c for o, c in shaped]
        found = torch.autograd.grad(outputs, inputs, given, allow_unused=True)
        out = {f"g{i}": runner.plain(g) for i, g in enumerate(found) if g is not None}
        return {"gradients": [f"g{i}" if g is not None else None for i, g in enumerate(found)]}, out

    def _arguments(self, tree: Any) -> tuple[list[Any], dict[str, Any]]:
        value = self._decoded(tree)
        if not isinstance(value, tuple) or len(value) != 2:
            raise _Refused
        args, kwargs = value
        if not isinstance(args, tuple) or not isinstance(kwargs, dict) or not all(isinstance(k, str) for k in kwargs):
            raise _Refused
        return list(args), kwargs

    def _decoded(self, tree: Any) -> Any:
        text = json.dumps(tree)
        if any(f'{{"{kind}"' in text for kind in _NO_ARGUMENTS):
            raise MalformedTree("not a value for a function")
        return codec.decode(tree, self.leaves, self._standing)

    def _standing(self, kind: str, body: Any) -> Callable[..., Any]:
        """Stand-in for a student's function; the student's process answers each call of it, in a later round."""
        if kind != "fn" or not isinstance(body, str) or not body.isascii() or not body.isdigit() or len(body) > 2:
            raise MalformedTree("not a function")
        number = int(body)
        if number >= MAX_FUNCTIONS:
            raise MalformedTree("too many functions")

        def standing(*args: Any, **kwargs: Any) -> Any:
            self.asked += 1
            if self.asked <= len(self.answers):
                return self.answers[self.asked - 1]
            raise _Asks(number, (list(args), kwargs))

        return self.functions.setdefault(number, standing)


def _parts(module: nn.Module, functions: Mapping[int, Callable[..., Any]]) -> dict[str, Any]:
    """The contents of a stand-in for a module: parameters and buffers, and the functions that the module was given."""
    numbers = {id(f): n for n, f in functions.items()}
    places = {}
    for path, part in module.named_modules():
        for name, held in vars(part).items():
            if id(held) in numbers:
                places[f"{path}.{name}" if path else name] = numbers[id(held)]
    parameters = {n: p.detach() for n, p in module.named_parameters()}
    return {"parameters": parameters, "buffers": dict(module.named_buffers()), "functions": places}
