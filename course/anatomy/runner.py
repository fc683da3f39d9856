"""Runs a program (a list of steps) on a learner's functions and reports what came back.

The same code serves the instant check, the grader's sandbox and, with the references in place of the learner's
functions, the recorder. It compares nothing and holds no expected values.

A program is JSON: ``{"steps": [step]}`` with::

    step := {"new": fn, "args": tree, "kwargs": tree, "state": {name: tensor name} | null, "train": bool}
          | {"call": fn | null, "on": step | null, "method": name | null, "args": tree, "kwargs": tree,
             "grad": null | {"wrt": {label: tensor name}, "params": bool, "cotangent": tensor name}}

The outcome of each step is ``{"value": tree}``, ``{"value": tree, "grads": tree}`` or
``{"raises": [type name, message, line]}``; after a raise the later steps are ``{"skipped": true}``.
"""

import base64
import inspect
import json
import traceback

import torch
from safetensors.torch import load, save
from torch.overrides import TorchFunctionMode

from . import codec

FUNCTION_ARGUMENTS = {
    "relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "identity": lambda x: x,
    "silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu, "ones": torch.ones_like,
    "square": torch.square, "sin": torch.sin, "zeros": torch.zeros_like,
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: torch.nn.functional.rms_norm(x, x.shape[-1:]),
}
# What computes the same, or all but a constant of it, under another name: forbidden along with it.
RELATIVES = {
    "softmax": ("_sparse_softmax",), "logsumexp": ("logcumsumexp",), "rms_norm": ("local_response_norm",),
    "multi_head_attention_forward": ("_native_multi_head_attention",),
    "scaled_dot_product_attention": ("_native_multi_head_attention",),
    "leaky_relu": ("prelu", "rrelu"), "elu": ("celu", "selu"),
}


def forbidden_names(forbidden):
    """The torch functions that an exercise's ``forbidden`` stands for: those named and their relatives."""
    return frozenset(forbidden).union(*(RELATIVES.get(name, ()) for name in forbidden))


class _Watch(TorchFunctionMode):
    """Names of the torch functions that ran: an exercise may forbid a built-in that would do it."""

    def __init__(self, forbidden):
        super().__init__()
        self.forbidden, self.used = forbidden_names(forbidden), set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in self.forbidden:
            self.used.add(name)
        return func(*args, **(kwargs or {}))


def run(program, tensors, functions, forbidden=()):
    """Outcome of a program.

    Args:
        program: the parsed JSON above.
        tensors: dict of the input tensors; left untouched (each run works on copies).
        functions: dict name → the learner's function or class.
        forbidden: names of torch functions to watch for.

    Returns:
        ``(outcome, out_tensors)``; outcome has ``results``, ``used`` (forbidden names that ran) and ``mutated``
        (labels of input tensors that the learner's code changed in place).
    """
    inputs = {name: t.detach().clone() for name, t in tensors.items()}
    before = {name: t.clone() for name, t in inputs.items()}
    out, results, made = {}, [], []

    def lookup(kind, body):
        if kind == "fn":
            return functions[body] if body in functions else FUNCTION_ARGUMENTS[body]
        step, *path = body
        value = made[step]
        for part in path:
            value = value[part]
        return value

    watch = _Watch(forbidden)
    failed = False
    for step in program["steps"]:
        if failed:
            results.append({"skipped": True})
            continue
        try:
            with watch:
                value, grads = _step(step, inputs, functions, made, lookup)
        except (KeyboardInterrupt, SystemExit, Exception) as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            results.append({"raises": _describe(error)})
            made.append(None)
            failed = True
            continue
        made.append(value)
        result = {"value": None if "new" in step else codec.encode(value, out, prefix="o")}
        if grads is not None:
            result["grads"] = codec.encode(grads, out, prefix="o")
        results.append(result)
    state = {t for s in program["steps"] for t in (s.get("state") or {}).values()}
    mutated = sorted(n for n in inputs if n not in state and not _same(inputs[n], before[n]))
    out = {name: _plain(t) for name, t in out.items()}
    return {"results": results, "used": sorted(watch.used), "mutated": mutated}, out


def _step(step, inputs, functions, made, lookup):
    args = codec.decode(step["args"], inputs, lookup)
    kwargs = codec.decode(step["kwargs"], inputs, lookup)
    if "new" in step:
        module = functions[step["new"]](*args, **kwargs)
        if step.get("state") is not None:
            module.load_state_dict({k: inputs[t] for k, t in step["state"].items()}, strict=True)
        if hasattr(module, "train"):
            module.train(bool(step.get("train")))
        return module, None
    target = made[step["on"]] if step.get("on") is not None else functions[step["call"]]
    if step.get("method"):
        target = getattr(target, step["method"])
    grad = step.get("grad")
    if not grad:
        with torch.no_grad():
            value = target(*args, **kwargs)
        return value, None
    for name in grad["wrt"].values():
        inputs[name].requires_grad_(True)
    module = made[step["on"]] if step.get("on") is not None else None
    with torch.enable_grad():
        value = target(*args, **kwargs)
        first = value[0] if isinstance(value, tuple | list) else value
        if not isinstance(first, torch.Tensor) or not first.requires_grad:
            raise RuntimeError("the result is cut off from its inputs, so no gradient can flow back "
                               "(was it detached, or made with torch.tensor?)")
        first.backward(inputs[grad["cotangent"]].to(first.dtype))
    grads = {label: inputs[name].grad for label, name in grad["wrt"].items()}
    if grad.get("params"):
        grads |= {f"parameter {k}": p.grad for k, p in module.named_parameters()}
    return value, grads


def _describe(error):
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if f.filename != __file__ and "/torch/" not in f.filename]
    line = (theirs[-1].line or "").strip() if theirs else ""
    return [type(error).__name__, str(error)[:600], line[:160]]


def _same(a, b):
    a = a.detach()
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))


def _plain(t):
    t = t.detach().to("cpu")
    t = t.to_dense() if t.layout is not torch.strided else t
    return torch.view_as_real(t).contiguous().clone() if t.is_complex() else t.contiguous().clone()


def signature_problem(function, signature):
    """One sentence if ``function`` cannot be called like ``signature`` says, e.g. ``"apply_rope(x, base=1e4)"``."""
    if function is None or not callable(function):
        return f"expected a function or class, got {type(function).__name__}: pass its name without parentheses"
    wanted = [p.strip() for p in signature[signature.index("(") + 1:signature.rindex(")")].split(",") if p.strip()]
    names = [w.split("=")[0].strip() for w in wanted if not w.startswith("*")]
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
        return None
    missing = [n for n in names if n not in parameters]
    extra = [n for n, p in parameters.items() if n not in names and p.default is p.empty]
    if missing or extra:
        have = ", ".join(parameters)
        return f"the signature should be {signature}, yours takes ({have})"
    return None


def serve(payload, namespace):
    """Bytes in, bytes out: what the grader's side asks a sandboxed process to evaluate.

    payload: safetensors bytes whose metadata holds ``request``: a JSON list of programs, each with ``targets``
    (names looked up in ``namespace``), ``forbidden`` and a tensor name prefix. The reply has the same form, and
    is parsed on the other side as hostile data.
    """
    tensors = load(payload)
    header = json.loads(payload[8:8 + int.from_bytes(payload[:8], "little")])
    request = json.loads(header["__metadata__"]["request"])
    outcomes, reply = [], {"_": torch.zeros(1)}
    for i, item in enumerate(request):
        missing = [t for t in item["targets"] if t not in namespace]
        if missing:
            outcomes.append({"missing": missing})
            continue
        functions = {t: namespace[t] for t in item["targets"]}
        own = {n.split("/", 1)[1]: t for n, t in tensors.items() if n.startswith(f"{i}/")}
        outcome, out = run(item["program"], own, functions, item["forbidden"])
        outcome["signature"] = signature_problem(functions[item["targets"][0]], item["signature"])
        outcomes.append(outcome)
        reply |= {f"{i}/{n}": t for n, t in out.items()}
    return save(reply, metadata={"reply": json.dumps(outcomes)})


def serve_text(text, namespace):
    """The same over a channel that carries text only (a Jupyter kernel's user_expressions)."""
    return base64.b64encode(serve(base64.b64decode(text), namespace)).decode()
