"""Settings of torch that outlive a call: notes which of them an answer changes, and restores them."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import torch

from ..system.translation import N_, _

P = ParamSpec("P")
R = TypeVar("R")

# Kind → (getter, setter, what an answer should do instead).
_SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], str]] = {
    N_("the default device"): (torch.get_default_device, torch.set_default_device, N_("a block under torch.device(…)")),
    N_("the default dtype"): (torch.get_default_dtype, torch.set_default_dtype, N_("dtype=… where a tensor is made")),
}


@contextlib.contextmanager
def kept() -> Iterator[Callable[[], set[str]]]:
    """Yields a function that says which kinds were changed inside; restores all of them afterwards."""
    before = {kind: read() for kind, (read, *__) in _SETTINGS.items()}

    def changed() -> set[str]:
        return {kind for kind, (read, *__) in _SETTINGS.items() if read() != before[kind]}

    try:
        yield changed
    finally:
        for kind in changed():
            _SETTINGS[kind][1](before[kind])


def advice(kinds: list[str]) -> str | None:
    """One sentence for a learner whose answer changed one of these kinds; None if none of them is a setting."""
    for kind, (*__, instead) in _SETTINGS.items():
        if kind in kinds:
            said = _("your code changes {setting} for all that comes after it; use {instead}")
            return said.format(setting=_(kind), instead=_(instead))
    return None


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: ``function`` computes with one thread.

    The course's models are so small that two threads mostly wait for each other (18 to 37 times the time of one at 96
    columns), and they sum in a different order.
    """

    @functools.wraps(function)
    def pinned(*args, **kwargs):
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return function(*args, **kwargs)
        finally:
            torch.set_num_threads(threads)

    return pinned
