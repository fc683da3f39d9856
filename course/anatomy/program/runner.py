"""Runs a program (a list of steps) on a learner's functions and reports what came back.

The same code serves the instant check, the grader's sandbox and, with the references instead of the learner's
functions, the recorder. It compares nothing and holds no expected values.

A program is JSON: ``{"steps": [step]}`` with::

    step := {"new": fn, "args": tree, "kwargs": tree, "state": {name: tensor name} | null, "train": bool,
             "methods": left out, or {name: function that overrides it in a class derived from fn}}
          | {"call": fn | null, "on": step | null, "method": name | null, "args": tree, "kwargs": tree,
             "grad": null | {"wrt": {label: tensor name}, "params": bool, "cotangent": tensor name | null},
             "law": left out, or the distribution of the numbers (``anatomy.program.distributions``),
             "tells": left out, or [what the text of its error has to contain],
             "cost": left out, or {"limits": {measure: int}, "of": [parameter or tensor], "because": text}}

``"strides": {tensor name: [stride of each axis]}`` beside the steps gives the layout of inputs that are not contiguous.

A cotangent is the gradient of the first output; null weighs the entries of all floating outputs. The outcome of each
step is ``{"value": tree}``, ``{"value": tree, "grads": tree, "carries": [bool for each floating output]}`` or
``{"raises": [type name, message, line]}``; after a raise the later steps are ``{"skipped": true}``. The outcome of a
step with limits on its cost (``anatomy.program.cost``) also has ``"cost": {measure: count}``.
"""

import contextlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..system.translation import _
from . import codec, symbolic, torch_settings, toys
from .codec import Tensors
from .cost import Account
from .cotangents import cotangent_of, weighted_sum
from .tracebacks import learners_line

Step = dict[str, Any]  # one step of a program, in the form above
Program = dict[str, Any]  # {"steps": [step], "strides": …}
Outcome = dict[str, Any]  # of a program: "results" of its steps, "used", "mutated"; see run_program and serve
Outcomes = Sequence[tuple[Outcome, Tensors]]  # for each case of an exercise its outcome, and the tensors named in it
Functions = Mapping[str, Callable[..., Any]]  # a learner's functions and classes, by the names that were asked for

_OURS = (__file__, toys.__file__)

# Functions that a program may pass as arguments, as Python text that is both run and shown to a learner, whose notebook
# has imported torch, and ``toys`` where an exercise needs it.
FUNCTION_TEXTS = {
    "relu": "torch.relu",
    "sigmoid": "torch.sigmoid",
    "tanh": "torch.tanh",
    "identity": "lambda x: x",
    "silu": "torch.nn.functional.silu",
    "gelu": "torch.nn.functional.gelu",
    "ones": "torch.ones_like",
    "square": "torch.square",
    "sin": "torch.sin",
    "zeros": "torch.zeros_like",
    "layer_norm": "lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:])",
    "rms_norm": "lambda x: torch.nn.functional.rms_norm(x, x.shape[-1:])",
    "largest": "lambda logits: logits.argmax(-1)",
    "smallest": "lambda logits: logits.argmin(-1)",
    "above_one": "lambda logits: (logits > 1).sum(1)",
    "trained": "lambda layer: {name: p.requires_grad for name, p in layer.named_parameters()}",
    "all_zero": "lambda layer: {name: not p.any() for name, p in layer.named_parameters()}",
    "toy_attention": "toys.Attention",
    "toy_ffn": "toys.ffn",
    "toy_prepare": "toys.prepare",
    "toy_attend": "toys.attend",
    "toy_decoder": "toys.decoder",
    "toy_rounding_decoder": "toys.rounding_decoder",
    "toy_stack": "toys.Stack",
}
# Compiled as lines of this file, so that an error inside one is not attributed to the learner's code.
FUNCTION_ARGUMENTS = {
    name: eval(compile(text, __file__, "eval"), {"torch": torch, "toys": toys}) for name, text in FUNCTION_TEXTS.items()
}
# Functions that compute the same, up to a constant, under another name: forbidden along with it.
RELATIVES = {
    "autograd": ("backward", "grad", "_make_dual"),
    "softmax": ("_sparse_softmax",),
    "logsumexp": ("logcumsumexp",),
    "rms_norm": ("local_response_norm",),
    "multi_head_attention_forward": ("_native_multi_head_attention",),
    "scaled_dot_product_attention": ("_native_multi_head_attention",),
    "leaky_relu": ("prelu", "rrelu"),
    "elu": ("celu", "selu"),
}


def forbidden_names(forbidden: Iterable[str]) -> frozenset[str]:
    """The torch functions that an exercise's ``forbidden`` stands for: those named and their relatives."""
    return frozenset(forbidden).union(*(RELATIVES.get(name, ()) for name in forbidden))


class _Watch(TorchFunctionMode):
    """Notes which forbidden torch functions ran: an exercise may forbid a built-in that would solve it."""

    def __init__(self, forbidden: Iterable[str]) -> None:
        super().__init__()
        self.forbidden = forbidden_names(forbidden)
        self.used: set[str] = set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in self.forbidden:
            self.used.add(name)
        return func(*args, **(kwargs or {}))


def laid_out(program: Program, tensors: Mapping[str, Tensor]) -> Tensors:
    """Copies of a program's input tensors, with the strides that it asks for (files do not store strides)."""
    strides = program.get("strides", {})
    return {name: _strided(t.detach(), strides.get(name)) for name, t in tensors.items()}


def _strided(t: Tensor, strides: Sequence[int] | None) -> Tensor:
    if strides is None:
        return t.clone()
    # Along an axis of stride 0 all entries are one and the same.
    base = t[tuple(slice(None) if s else slice(0, 1) for s in strides)]
    memory = base.new_zeros(1 + sum((n - 1) * s for n, s in zip(base.shape, strides, strict=True)))
    laid = memory.as_strided(base.shape, list(strides))
    laid.copy_(base)
    return laid.expand(t.shape)


class Execution:
    """A running program with its functions: copies of its input tensors, and the results of its steps so far.

    program, tensors, functions: as for ``run_program``. ``step`` raises whatever the functions raise.
    """

    def __init__(self, program: Program, tensors: Mapping[str, Tensor], functions: Functions) -> None:
        self.steps, self.functions = program["steps"], functions
        self.made: list[Any] = []
        self.carries: list[bool] = []  # of the last step with gradients: which floating outputs take part in them
        self.rewritten: set[str] = set()  # kinds of containers passed as arguments that a function wrote into
        self.inputs = laid_out(program, tensors)
        self.account = Account(self.steps, self.inputs, self.made)

    def step(self) -> tuple[Any, dict[str, Tensor | None] | None]:
        """(value, gradients or None) of the next step; gradients: dict label → tensor, or None where none flowed."""
        step = self.steps[len(self.made)]
        args, kwargs = self._arguments(step)
        with self.account.step(step):
            value, grads = (self._new if "new" in step else self._call)(step, args, kwargs)
        self.rewritten |= _rewritten((args, kwargs), self._arguments(step))
        self.made.append(value)
        return value, grads

    def _lookup(self, kind, body):
        if kind == "fn":
            return self.functions[body] if body in self.functions else FUNCTION_ARGUMENTS[body]
        step, *path = body
        value = self.made[step]
        for part in path:
            value = value[part]
        return value

    def _arguments(self, step):
        args = codec.decode(step["args"], self.inputs, self._lookup)
        kwargs = codec.decode(step["kwargs"], self.inputs, self._lookup)
        return [a.to_sympy() if isinstance(a, symbolic.Expression) else a for a in args], kwargs

    def _new(self, step, args, kwargs):
        made = self.functions[step["new"]]
        if methods := step.get("methods"):
            made = type(step["new"], (made,), {name: FUNCTION_ARGUMENTS[fn] for name, fn in methods.items()})
        module = made(*args, **kwargs)
        if step.get("state") is not None:
            state = {k: self.inputs[t] for k, t in step["state"].items()}
            if {t.dtype for t in state.values()} == {torch.float64}:
                module.double()  # else its weights would be rounded
            module.load_state_dict(state, strict=True)
        if hasattr(module, "train"):
            module.train(bool(step.get("train")))
        return module, None

    def _call(self, step, args, kwargs):
        module = self.made[step["on"]] if step.get("on") is not None else None
        target = module if module is not None else self.functions[step["call"]]
        if step.get("method"):
            target = getattr(target, step["method"])
        grad = step.get("grad")
        if not grad:
            # As in a notebook: autograd works inside, even if no gradient is asked for afterwards.
            with torch.enable_grad():
                return target(*args, **kwargs), None
        for name in grad["wrt"].values():
            self.inputs[name].requires_grad_(True)
        with torch.enable_grad():
            value = target(*args, **kwargs)
            outputs = floating(value)
            if grad["cotangent"] is not None:
                first = value[0] if isinstance(value, tuple | list) else value
                outputs = [first] if isinstance(first, torch.Tensor) else []
            carrying = [t for t in outputs if t.requires_grad]
            cotangent = grad["cotangent"]
            weights = [cotangent_of(t) if cotangent is None else self.inputs[cotangent] for t in carrying]
            if carrying:  # a result that is cut off from its inputs still has its numbers
                with torch._C.DisableTorchFunction():  # this backward is not the learner's
                    torch.autograd.backward(weighted_sum(carrying, weights))
        self.carries = [t.requires_grad for t in outputs]
        grads = {label: self.inputs[name].grad for label, name in grad["wrt"].items()}
        if grad.get("params"):
            grads |= {f"parameter {k}": p.grad for k, p in module.named_parameters()}
        return value, grads


def _rewritten(now: Any, before: Any) -> set[str]:
    """Kinds of containers that differ from before, such as "the list". before: the same arguments, decoded again."""
    if isinstance(now, dict):
        is_changed, pairs = list(now) != list(before), zip(now.values(), before.values(), strict=False)
    elif isinstance(now, list | tuple):
        is_changed, pairs = len(now) != len(before), zip(now, before, strict=False)
    else:
        return set()
    found: set[str] = set()
    for a, b in pairs:
        if isinstance(b, list | tuple | dict) and type(a) is type(b):
            found |= _rewritten(a, b)
        else:
            is_changed |= not _is_still(a, b)
    return found | ({f"the {type(now).__name__}"} if is_changed else set())


def _is_still(now: Any, before: Any) -> bool:
    if isinstance(before, torch.Tensor) and not before.is_complex():  # complex tensors are made anew at each decoding
        return now is before
    is_plain = before is None or isinstance(before, bool | int | float | str)
    return type(now) is type(before) and (not is_plain or now == before or before != before)


def floating(value: Any) -> list[Tensor]:
    """The floating and complex tensors in a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value] if value.is_floating_point() or value.is_complex() else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [t for part in parts for t in floating(part)]


def run_program(
    program: Program, tensors: Mapping[str, Tensor], functions: Functions, forbidden: Iterable[str] = ()
) -> tuple[Outcome, Tensors]:
    """Outcome of a program.

    Args:
        program: the parsed JSON above.
        tensors: dict of the input tensors; left untouched (each run works on copies).
        functions: dict name → the learner's function or class.
        forbidden: names of torch functions to watch for.

    Returns:
        ``(outcome, out_tensors)``; outcome has ``results``, ``used`` (forbidden names that ran) and ``mutated``
        (what the learner's code changed in place: labels of input tensors, kinds of containers, such as "the dict",
        and of settings, such as "the default device").
    """
    with _seeded(program), torch_settings.kept() as changed:
        outcome, out = _outcome(program, tensors, functions, forbidden)
        return outcome | {"mutated": sorted(changed().union(outcome["mutated"]))}, out


@contextlib.contextmanager
def _seeded(program: Program) -> Iterator[None]:
    """Seeds torch for steps that are judged by a law, so that each run draws the same numbers; restores its state."""
    if not any("law" in s for s in program["steps"]):
        yield
        return
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        yield


def _outcome(
    program: Program, tensors: Mapping[str, Tensor], functions: Functions, forbidden: Iterable[str]
) -> tuple[Outcome, Tensors]:
    execution = Execution(program, tensors, functions)
    before = {name: t.clone() for name, t in execution.inputs.items()}
    out: Tensors = {}
    done: set[str] = set()
    results: list[dict[str, Any]] = []
    watch, failed, several = _Watch(forbidden), False, len(program["steps"]) > 1
    watched = watch if watch.forbidden else contextlib.nullcontext()  # a watch turns each operator into a Python call
    for step in program["steps"]:
        if failed:
            results.append({"skipped": True})
            continue
        try:
            with watched:
                value, grads = execution.step()
        except KeyboardInterrupt:
            raise
        except (SystemExit, Exception) as error:
            results.append({"raises": described(error)})
            failed = True
            continue
        result = {"value": None if "new" in step else codec.encode(value, out, prefix="o")}
        if grads is not None:
            result["grads"] = codec.encode(grads, out, prefix="o")
            result["carries"] = execution.carries
        results.append(result)
        if several:  # copied now, since a later call may write into an earlier result
            out = {name: plain(t) if name not in done else t for name, t in out.items()}
            done = set(out)
        del value, grads
    state = {t for s in program["steps"] for t in (s.get("state") or {}).values()}
    changed = {n for n, t in execution.inputs.items() if n not in state and not _same(t, before[n])}
    out = {name: t if name in done else plain(t) for name, t in out.items()}
    for number, counts in execution.account.close().items():
        if "raises" not in results[number]:
            results[number]["cost"] = counts
    return {"results": results, "used": sorted(watch.used), "mutated": [*changed, *execution.rewritten]}, out


def described(error: BaseException) -> list[str]:
    """[type name, message, the learner's line] of an error, in the form that outcomes have."""
    line = learners_line(error, _OURS)
    try:
        message = str(error)[:600]
    except Exception:  # a class of the learner's whose __str__ fails
        message = ""
    return [type(error).__name__, message, line[:160]]


def _same(a, b):
    a = a.detach()
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))


def plain(t: Tensor) -> Tensor:
    """A tensor as it travels: on the CPU, dense, contiguous, complex as pairs of reals, and detached."""
    t = t.detach().to("cpu")
    t = t.to_dense() if t.layout is not torch.strided else t
    return torch.view_as_real(t).contiguous().clone() if t.is_complex() else t.contiguous().clone()


def calling_problem(functions: Mapping[str, Any], signature: str) -> str | None:
    """One sentence if an object handed to a check cannot be called as its exercise says, else None.

    functions: dict target → the learner's object for it, in the exercise's order. signature: of the first target.
    """
    first, *others = functions.items()
    problems = [signature_problem(first[1], signature), *(_not_callable(f, target) for target, f in others)]
    return next((p for p in problems if p), None)


def signature_problem(function: Any, signature: str) -> str | None:
    """One sentence if ``function`` cannot be called like ``signature`` says, e.g. ``"apply_rope(x, base=1e4)"``."""
    name = signature.split("(")[0]
    problem = _not_callable(function, name)
    if problem:
        return problem
    wanted = [p.strip() for p in signature[signature.index("(") + 1 : signature.rindex(")")].split(",") if p.strip()]
    names = [w.split("=")[0].strip() for w in wanted if not w.startswith("*")]
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
        return None
    if name[:1].isupper() != inspect.isclass(function):
        said = _("pass the class {name} itself, without parentheses: you passed an object made from it")
        if inspect.isclass(function):
            said = _("{name} should be a function (def {signature}: …), yours is a class")
        elif inspect.isfunction(function):
            said = _("{name} should be a class, yours is a function")
        return said.format(name=name, signature=signature)
    missing = [n for n in names if n not in parameters]
    extra = [n for n, p in parameters.items() if n not in names and p.default is p.empty]
    if not missing and not extra:
        return None
    parts = [_("{name} is missing").format(name=m) for m in missing]
    parts += [_("nothing is passed for {name}").format(name=e) for e in extra]
    if len(missing) == len(extra):
        parts = [_("rename {old} to {new}").format(old=e, new=m) for e, m in zip(extra, missing, strict=True)]
    what = _(" and ").join(parts)
    said = _("the signature should be {signature}, yours takes ({names}): {what}")
    return said.format(signature=signature, names=", ".join(parameters), what=what)


def _not_callable(function, name):
    if callable(function):
        return None
    if function is None:
        return _("{name} is None: pass the function itself, {name} without parentheses").format(name=name)
    kind = "tensor" if isinstance(function, torch.Tensor) else type(function).__name__
    said = _("expected a function or class, got a {kind}: pass its name without parentheses ({name}, not {name}(…))")
    return said.format(kind=kind, name=name)


def serve(payload: bytes, namespace: Mapping[str, Any]) -> bytes:
    """Bytes in, bytes out: evaluates in a sandboxed process what the grader asks for.

    payload: safetensors bytes whose metadata holds ``request``: a JSON list of programs, each with ``targets``
    (names looked up in ``namespace``), ``forbidden`` and a tensor name prefix. The reply has the same form, and
    is parsed on the other side as hostile data.
    """
    tensors = load(payload)
    header = json.loads(payload[8 : 8 + int.from_bytes(payload[:8], "little")])
    request = json.loads(header["__metadata__"]["request"])
    outcomes: list[Outcome] = []
    reply = {"_": torch.zeros(1)}
    for i, item in enumerate(request):
        missing = [t for t in item["targets"] if t not in namespace]
        if missing:
            outcomes.append({"missing": missing})
            continue
        functions = {t: namespace[t] for t in item["targets"]}
        own = {n.split("/", 1)[1]: t for n, t in tensors.items() if n.startswith(f"{i}/")}
        outcome, out = run_program(item["program"], own, functions, item["forbidden"])
        outcome["signature"] = calling_problem(functions, item["signature"])
        outcomes.append(outcome)
        reply |= {f"{i}/{n}": t for n, t in out.items()}
    return save(reply, metadata={"reply": json.dumps(outcomes)})
