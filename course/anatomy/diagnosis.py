"""Mistakes that need no fingerprint: what any wrong tensor can be asked about."""

import math
import re

import torch

from . import codec
from .verdict import Mistake


def generic(record, case, outcome, tensors, problem, passed):
    """One or two Mistakes for the first failing case; always at least one."""
    name, want = problem.kind, None
    if name == "not_written":
        return [Mistake("generic.not_written", _not_written(record, case, outcome))]
    if name == "raised":
        return [Mistake("generic.raised", problem.sentence)]
    if name in ("missing", "signature", "mutated", "raises", "length", "keys", "expression"):
        return [Mistake(f"generic.{name}", _sentence(problem.sentence))]
    try:
        want, got = _failing_pair(case, outcome, tensors)
        inputs = [t for t in case.tensors.values()]
        found = _tensor_mistake(name, want, got, inputs) if isinstance(want, torch.Tensor) else None
    except Exception:
        found = None
    if found:
        return [found]
    if name in ("shape", "dtype", "nan", "type"):
        hints = {"shape": " Print the shapes at each line.",
                 "dtype": f" Cast it to {problem.expected} before you return it.",
                 "nan": " Look for 0/0, ∞ − ∞, or the exponential of a large number.", "type": ""}
        return [Mistake(f"generic.{name}", _sentence(problem.sentence) + hints[name])]
    if any(passed):
        ok = next(c.shows for c, p in zip(record.cases, passed, strict=True) if p)
        return [Mistake("generic.partly", f"Some cases pass ({ok.rstrip('.')}), this one does not: "
                        f"{case.shows.rstrip('.')}. What is different about its input?")]
    return [Mistake("generic.values", "Type and shape are right, the numbers are not. Work the small case below by "
                    "hand, and print each intermediate value.")]


def _not_written(record, case, outcome):
    """Which function is missing: the one called, another of the exercise's, or an earlier exercise that it uses."""
    name, other = record.targets[0], ""
    try:
        at = next(i for i, r in enumerate(outcome["results"]) if "raises" in r)
        step = case.program["steps"][at]
        name = step.get("new") or step.get("call") or name
        # A released stub says "exercise.id: what to write".
        other = str(outcome["results"][at]["raises"][1]).partition(":")[0]
    except (StopIteration, LookupError, TypeError, AttributeError):
        pass
    if other != record.id and re.fullmatch(r"[a-z_]+\.[a-z0-9_]{1,40}", other):
        return f"{name} uses your answer to {other}, which is not written yet. Solve that exercise first."
    return f"{name} is not written yet: replace the line that raises NotImplementedError."


def _sentence(text):
    text = text[0].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."


def _failing_pair(case, outcome, tensors):
    want, want_tensors = case.outcomes["expected"]
    for step, theirs in zip(want["results"], outcome["results"], strict=True):
        e, g = codec.decode(step["value"], want_tensors), codec.decode(theirs["value"], tensors)
        pairs = zip(e, g, strict=True) if isinstance(e, list | tuple) and isinstance(g, list | tuple) else [(e, g)]
        for a, b in pairs:
            if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and (
                    a.shape != b.shape or not torch.allclose(a.double(), b.double(), 1e-4, 1e-6, equal_nan=True)):
                return a, b
    return None, None


def _tensor_mistake(kind, want, got, inputs):
    if kind == "shape":
        if got.ndim == want.ndim and sorted(got.shape) == sorted(want.shape):
            return Mistake("generic.axes", f"The axes are in another order: {tuple(got.shape)} instead of "
                           f"{tuple(want.shape)}. Look at transpose, permute and the order of reshape.")
        if got.numel() == want.numel():
            return Mistake("generic.reshape", f"The right number of values in the wrong shape: {tuple(got.shape)} "
                           f"instead of {tuple(want.shape)}.")
        return None
    if kind != "values" or want.numel() < 2:
        return None
    e, g = want.double(), got.double()
    if not (e.isfinite().all() and g.isfinite().all()):
        return None
    close = lambda a, b: a.shape == b.shape and torch.allclose(a, b, 1e-4, 1e-6)
    if any(close(g, t.double()) for t in inputs if t.is_floating_point() and t.shape == got.shape):
        return Mistake("generic.unchanged", "The result equals an input: nothing was done to it.")
    if close(g, -e):
        return Mistake("generic.sign", "Every entry has the wrong sign.")
    big = e.abs() > 1e-6
    if big.any():
        ratio = g[big] / e[big]
        factor = ratio.median().item()
        if torch.allclose(g, factor * e, 1e-3, 1e-6) and abs(factor) > 1e-9:
            return Mistake("generic.factor", f"Every entry is {factor:.4g} times the expected one{_known(factor)}.")
    offset = (g - e).median().item()
    if torch.allclose(g - e, torch.full_like(e, offset), 1e-3, 1e-6):
        return Mistake("generic.offset", f"Every entry is off by the same {offset:.4g}.")
    if e.ndim >= 2 and e.shape[-1] == e.shape[-2] and close(g, e.transpose(-1, -2)):
        return Mistake("generic.transposed", "This is the transpose of the expected result: the last two axes are "
                       "swapped.")
    if close(g.flatten().sort().values, e.flatten().sort().values):
        return Mistake("generic.order", "The right numbers in the wrong places: the order of an axis, a reshape or "
                       "an index is off.")
    return None


def _known(factor):
    for value in (factor, 1 / factor):
        for n in (2, 3, 4, 5, 6, 8, 12, 16, 32, 64):
            if math.isclose(value, math.sqrt(n), rel_tol=1e-3) and n not in (4, 16, 64):
                return f" (that is {'' if value == factor else '1/'}√{n})"
    return ""
