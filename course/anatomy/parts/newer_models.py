"""Whole models of 2024 to 2026 from your own parts: built, and compared with Hugging Face's."""

from types import SimpleNamespace
from typing import Any

from torch import nn

from ..models import newer
from ..models.compare import Table, compare_all
from ..models.config import Config, WrongConfiguration
from ..models.names import Rules, State
from .judged import NotYet, look


def needed_by(family: str) -> list[str]:
    """The exercises whose answers a newer family is built of, e.g. for ``show(*needed_by("gpt_oss"))``.

    Raises KeyError for an unknown family; ``anatomy.models.newer.NEWER`` has them all.
    """
    return list(dict.fromkeys(newer.NEWER[family].parts.values()))


def build_newer(c: Config) -> nn.Module:
    """Builds a newer family's model from your own parts. c: a configuration whose ``family`` is in ``NEWER``.

    Raises:
        NotYet: an answer that the family needs doesn't pass; the message says which.
        Stopped: you interrupted your own code.
    """
    family = newer.NEWER[c["family"]]
    return family.build(c, SimpleNamespace(**{name: _own(name, i) for name, i in family.parts.items()}))


def compare_newer(*families: str, **changes: Any) -> Table:
    """Table with a row for each newer family: your model beside Hugging Face's, with the same random weights.

    A family that needs an answer you haven't passed yet says so in its row.

    Args:
        families: names in ``NEWER``; all without.
        changes: values of the configuration that your model gets wrong on purpose, e.g. ``window=5``.
    """

    def build(c: Config) -> nn.Module:
        if unknown := changes.keys() - c.keys():
            raise WrongConfiguration(f"this family's configuration has {', '.join(c)}, and no {', '.join(unknown)}")
        return build_newer(c | changes)

    return compare_all(build, _rename, families=families or newer.NEWER)


def _own(name: str, exercise_id: str) -> Any:
    part = look(exercise_id)
    if part.why:
        raise NotYet(part.problem)
    return dict(zip(part.targets, part.values, strict=True))[name]


def _rename(state: State, rules: Rules) -> State:
    return _own("rename", "assembly.names")(state, rules)
