"""Counts what a call costs, the same on every machine: no clock is read.

A step of a program that states limits (``"cost"``, see ``runner``) runs under a ``Meter``. A learner's process
can forge what it reports, so a count only explains; grading also asks for a size that the expensive way cannot handle.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from ..system.translation import N_, _, ngettext, one_or_many
from ..system.translation import said as unit_said

Counts = dict[str, int]  # measure → what a call costs

REASON = "cost"  # translation context of the reasons why a limit is enough
MAX_COUNT = 1 << 63  # an honest count is far below
ALIKE = 1.25  # largest ratio between two ways to write the same mistake; between two mistakes it is larger
# Each measure: the sentence for exceeding it, and its count in singular and plural.
_DOES = N_("your code does {count}{where}, the limit here is {limit}: {because}")
MEASURES = {
    "work": (_DOES, *one_or_many("{n} operation", "{n} operations")),
    "flops": (_DOES, *one_or_many("{n} multiplication or addition", "{n} multiplications and additions")),
    "entries": (
        N_("your code writes {count}{where}, the limit here is {limit}: {because}"),
        *one_or_many("{n} entry of a tensor", "{n} entries of tensors"),
    ),
    "largest": (
        N_("your code makes a tensor of {count}{where}, the limit here is {limit}: {because}"),
        *one_or_many("{n} number", "{n} numbers"),
    ),
    "kept": (
        N_("your code keeps {count}{where}, the limit here is {limit}: {because}"),
        *one_or_many("{n} byte", "{n} bytes"),
    ),
    "reads": (
        N_("your code makes {count}{where}, the limit here is {limit}: {because}"),
        *one_or_many("{n} needless read of weights or inputs", "{n} needless reads of weights or inputs"),
    ),
}


class _Mode(TorchDispatchMode):
    """A dispatch mode for code that is never compiled."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # True wraps the mode in a guard that imports torch's compiler, which takes a second


class Meter(_Mode):
    """Counts what the torch operators inside a ``with`` do. Numpy, other threads and Python numbers escape it.

    counts: ``flops`` of contractions (a multiplication and an addition are two); ``entries`` written into new or given
    tensors, of any dtype; ``work``: flops, and the entries of floating tensors; ``largest``: entries of the largest
    floating tensor written; ``reads``: how often an operator read one of ``watched`` (a view of it reads nothing).
    """

    def __init__(self, watched: Sequence[Tensor] = ()) -> None:
        super().__init__()
        self.watched = {_storage(t) for t in watched}
        self.counts: Counts = dict.fromkeys(("work", "flops", "entries", "largest", "reads"), 0)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        try:
            self._count(func, args, kwargs, result)
        except Exception:  # a kind of tensor without storage or shape; counting must never disturb the call
            pass
        return result

    def _count(self, func, args, kwargs, result):
        if func.is_view:
            return
        storages = [_storage(t) for t in _tensors((*args, *kwargs.values()))]
        flops = _flops(func, args, kwargs, result)
        written = [t for t in _tensors(result) if _storage(t) not in storages or func._schema.is_mutable]
        floating = [t.numel() for t in written if t.is_floating_point() or t.is_complex()]
        self.counts["flops"] += flops
        self.counts["entries"] += sum(t.numel() for t in written)
        self.counts["work"] += flops + sum(floating)
        self.counts["largest"] = max([self.counts["largest"], *floating])
        self.counts["reads"] += sum(s in self.watched for s in storages)


class Ledger(_Mode):
    """Knows the storages made inside its ``with`` blocks, and the given ones, and which of them are still alive.

    It holds weak references only, so it finds everything that is kept, wherever: in an object, a closure, a global
    list. A slice keeps the whole tensor that it was cut from, and counts as that. Copies that numpy or Python keep are
    not found.
    """

    def __init__(self, given: Iterable[Tensor] = ()) -> None:
        super().__init__()
        self._known: dict[int, tuple[StorageWeakRef, int]] = {}
        for tensor in given:
            self._add(tensor)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in _tensors(result):
            self._add(tensor)
        return result

    def _add(self, tensor):
        try:
            storage = tensor.untyped_storage()
            self._known.setdefault(storage._cdata, (StorageWeakRef(storage), storage.nbytes()))
        except Exception:  # a tensor without one storage
            pass

    def kept(self) -> int:
        """Bytes of the storages that are alive."""
        return sum(size for reference, size in self._known.values() if not reference.expired())


class Account:
    """Counts the cost of those steps of one program that state limits.

    steps: the program's. inputs: its tensors by name; made: the results of its steps so far. Both are read; ``close``
    drops their values if a limit is on ``kept``.
    """

    def __init__(self, steps: Sequence[Mapping[str, Any]], inputs: dict[str, Tensor], made: list[Any]) -> None:
        self.inputs, self.made = inputs, made
        self.step_counts: dict[int, Counts] = {}
        asking = [i for i, s in enumerate(steps) if "cost" in s and "kept" in s["cost"]["limits"]]
        self.keeping = asking[-1] if asking else None  # the step with the limit; the whole program is watched
        self.ledger = Ledger(inputs.values()) if asking else None

    @contextmanager
    def step(self, step: Mapping[str, Any]) -> Iterator[None]:
        """Runs one step; if it states limits, its counts are in ``step_counts`` afterwards, by the step's number."""
        with ExitStack() as modes:
            if self.ledger:
                modes.enter_context(self.ledger)
            meter = modes.enter_context(Meter(self._watched(step))) if "cost" in step else None
            yield
        if meter:
            limits = step["cost"]["limits"]
            # The largest tensor tells ways of equal cost apart, such as all pairs from all pairs up to the diagonal.
            self.step_counts[len(self.made)] = {m: n for m, n in meter.counts.items() if m in (*limits, "largest")}

    def _watched(self, step):
        module = self.made[step["on"]] if step.get("on") is not None else None
        of = step["cost"].get("of", ())
        return [module.get_parameter(o) if isinstance(o, str) else self.inputs[o["tensor"]] for o in of]

    def close(self) -> dict[int, Counts]:
        """The counts of each step by its number; to be called after the program, when its values are no longer
        needed."""
        if self.ledger and self.keeping in self.step_counts:
            # Objects that were made stay; results of calls only count if these objects keep them.
            self.made[:] = [m for m in self.made if not isinstance(m, Tensor | tuple | list | dict)]
            self.inputs.clear()
            self.step_counts[self.keeping]["kept"] = self.ledger.kept()
        return self.step_counts


def _tensors(values):
    """The tensors that an operator gets or returns; torch's own walk over containers takes four times as long."""
    if isinstance(values, Tensor):
        return [values]
    return [t for v in values for t in _tensors(v)] if isinstance(values, tuple | list) else []


def _storage(tensor):
    return tensor.untyped_storage()._cdata


def _flops(func, args, kwargs, result):
    formula = _formulas().get(func._overloadpacket)
    return int(formula(*args, **kwargs, out_val=result)) if formula else 0


@cache
def _formulas() -> Mapping[Any, Callable[..., int]]:
    """Operator → its FLOPs: torch's own table, and the CPU operators that it lacks."""
    from torch.utils.flop_counter import flop_registry  # slow to import, and seldom needed

    aten = torch.ops.aten
    return {
        **flop_registry,
        aten._scaled_dot_product_flash_attention_for_cpu: _attention,
        aten.mv: lambda a, b, **_: 2 * a.numel(),
        aten.dot: lambda a, b, **_: 2 * a.numel(),
        aten.vdot: lambda a, b, **_: 2 * a.numel(),
        aten.addmv: lambda c, a, b, **_: 2 * a.numel(),
        aten.addmv_: lambda c, a, b, **_: 2 * a.numel(),
        aten.addmm_: lambda c, a, b, **_: 2 * a.numel() * b.shape[-1],
        aten.addbmm: lambda c, a, b, **_: 2 * a.numel() * b.shape[-1],
        aten.addbmm_: lambda c, a, b, **_: 2 * a.numel() * b.shape[-1],
        aten.baddbmm_: lambda c, a, b, **_: 2 * a.numel() * b.shape[-1],
        aten._int_mm: lambda a, b, **_: 2 * a.numel() * b.shape[-1],
        aten._cdist_forward: lambda a, b, *_, **__: 3 * a.numel() * b.shape[-2],
        aten._trilinear: lambda a, b, c, *_, **__: 2 * max(a.numel(), b.numel(), c.numel()),
    }


def _attention(query, key, value, *_, **__):
    pairs = math.prod(query.shape[:-1]) * key.shape[-2]
    return 2 * pairs * (query.shape[-1] + value.shape[-1])


def is_count(value: Any) -> bool:
    """Is it a whole number that can be a cost?"""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_COUNT


def said(count: int) -> str:
    """A count in the words of a sentence: "950", "12,300", "2.56 million"."""
    for size, word in ((10**12, N_("{n} trillion")), (10**9, N_("{n} billion")), (10**6, N_("{n} million"))):
        if count >= size:
            return _(word).format(n=f"{float(f'{count / size:.3g}'):,g}")
    return f"{count:,}"


def counted(measure: str, count: int) -> str:
    """A count with its unit: "1 operation", "2.56 million operations"."""
    one, several = MEASURES[measure][1:]
    return ngettext(one, several, count).format(n=said(count))


def excess(limits: Mapping[str, int], counts: Any) -> str | None:
    """The measure that exceeds its limit by most; "" if a count is missing or malformed; None if all are within limits.

    limits: measure → limit. counts: what a process reports, which may be anything.
    """
    if not isinstance(counts, dict) or not all(is_count(counts.get(m)) for m in limits):
        return ""
    over = [m for m, limit in limits.items() if counts[m] > limit]
    return max(over, key=lambda m: counts[m] / max(limits[m], 1)) if over else None


def sentence(limits: Mapping[str, int], counts: Any, because: str, call: int | None) -> tuple[str, str, str] | None:
    """The message on a call that cost too much: (sentence, expected, got); None if it keeps within its limits.

    limits, counts: as for ``excess``. because: why the limit is enough. call: its number, if there are several.
    """
    over = excess(limits, counts)
    if over is None:
        return None
    measure = over or next(iter(limits))
    expected = _("at most {count}").format(count=counted(measure, limits[measure]))
    if not over:
        return _("what this call costs could not be counted"), expected, _("no count")
    told, got = _(MEASURES[measure][0]), counted(measure, counts[measure])
    where = _(" in call {n}").format(n=call) if call is not None else ""
    return (
        told.format(count=got, where=where, limit=said(limits[measure]), because=unit_said(REASON, because)),
        expected,
        got,
    )


def alike(limits: Mapping[str, int], a: Any, b: Any) -> bool:
    """True if two reports show the same excess: both within all limits, or both over the same one, with about as many
    operations and as large a tensor.

    How many tensors an expensive way writes besides its scores is a matter of style.
    """
    first, second = excess(limits, a), excess(limits, b)
    if first != second or first == "":
        return False
    if first is None:
        return True
    about = {"largest": 4.0, "work": ALIKE, "flops": ALIKE}
    compared = [m for m in {first, "largest"} & set(about) if is_count(a.get(m)) and is_count(b.get(m))]
    return all(max(a[m], b[m]) <= about[m] * min(a[m], b[m]) for m in compared)
