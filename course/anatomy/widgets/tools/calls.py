"""Calls a learner's function for a widget: detects unwritten functions, and explains wrong results."""

import dis
import linecache
import textwrap
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .types import Function
from .words import _

_PACKAGE = Path(__file__).resolve().parents[2]
_LIBRARIES = (Path(torch.__file__).resolve().parents[1], Path(dis.__file__).resolve().parent)


class WrongOutput(ValueError):
    """The learner's function returned something that cannot be drawn; the message is one sentence."""

    def _render_traceback_(self):
        # IPython prints these lines instead of a traceback, which would point into the widget's code.
        return [f"{type(self).__name__}: {self}"]


def call(fn: Function, name: str, expected: Sequence[int], *tensors: Any, **options: Any) -> Tensor:
    """Returns the result of ``fn(*tensors, **options)`` as a plain detached tensor.

    expected: the required shape. The function gets copies, so that in-place changes of its arguments do not affect the
    next call. Raises WrongOutput for anything except a floating tensor of that shape; errors of the function itself
    pass through.
    """
    result = fn(*(t.clone() if isinstance(t, torch.Tensor) else t for t in tensors), **options)
    got = None
    if not isinstance(result, torch.Tensor):
        got = _article(type(result).__name__)
    elif tuple(result.shape) != tuple(expected):
        got = _("shape {shape}").format(shape=tuple(result.shape))
    elif not result.is_floating_point():
        got = _("dtype {dtype}").format(dtype=str(result.dtype).removeprefix("torch."))
    if got is not None:
        said = _("{name} must return a floating-point tensor of shape {shape} here, and it returned {got}.")
        raise WrongOutput(said.format(name=name, shape=tuple(expected), got=got))
    return result.detach().cpu()


def unwritten(error: BaseException) -> str | None:
    """Name of the unwritten function that raised this NotImplementedError, or None.

    torch raises the same class when a kernel lacks a dtype (softmax of integers, say). Such a bug must be shown to the
    learner, so only an error that Python code raised on purpose counts: the last instruction of the innermost frame
    must be a ``raise``.
    """
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    last = frames[-1]
    code = last.tb_frame.f_code
    if code.co_code[last.tb_lasti] != dis.opmap["RAISE_VARARGS"]:
        return None
    # A stub may raise through a helper of this package; the learner's function is the frame before it.
    for frame in reversed(frames):
        code = frame.tb_frame.f_code
        if _PACKAGE not in Path(code.co_filename).parents:
            return code.co_name
    return last.tb_frame.f_code.co_name


def replaced(name: str, error: BaseException) -> str:
    """One sentence: the reference is shown instead of that function, and why."""
    try:
        said = " ".join(str(error).split())
    except Exception:  # the learner's own error class may fail here
        said = ""
    text = _("Showing the reference for {name}, which raised {error}")
    if isinstance(error, WrongOutput):
        text = _("Showing the reference for {name}")
    text = text.format(name=name, error=type(error).__name__) + (f": {said}" if said else "")
    return _("{sentence}.").format(sentence=textwrap.shorten(text, 300, placeholder=" …").rstrip(".。"))


def shorten(error: BaseException) -> None:
    """Makes a notebook show an error of the learner's code without the widget's own lines around it."""
    if not hasattr(error, "_render_traceback_"):
        error._render_traceback_ = partial(_short, error)  # type: ignore[attr-defined]  # called by IPython


def _short(error):
    lines, inside = [_("Your code raised an error when the widget called it:")], False
    for frame, number in traceback.walk_tb(error.__traceback__):
        parents = set(Path(frame.f_code.co_filename).parents)
        inside |= _PACKAGE in parents  # the frames before are the cell that created the widget
        if inside and not {_PACKAGE, *_LIBRARIES} & parents:
            source = linecache.getline(frame.f_code.co_filename, number).strip()
            said = _("line {n} of {name}:  {code}")
            lines.append("  " + said.format(n=number, name=frame.f_code.co_name, code=source))
    return [
        *lines,
        f"{type(error).__name__}: {error}",
        _("Run the check of that exercise: it shows the smallest input that fails."),
    ]


def _article(word):
    if word == "NoneType":
        return "None"
    return (_("an {type}") if word[0] in "aeiou" else _("a {type}")).format(type=word)
