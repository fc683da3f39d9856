"""A notebook as a list of statements: what each of them mentions, and how it depends on others."""

import ast
from dataclasses import dataclass, field
from typing import NamedTuple


class Mention(NamedTuple):
    """One name that a statement mentions.

    kind: ``library``, ``module`` (used as a value), ``base`` (of a class), ``attribute``, ``own`` (attribute of an
    instance of a notebook class), ``own class`` (attribute of a function or class of the notebook), ``builtin``,
    ``free`` (unbound), ``import``, ``star`` (import), ``store`` and ``library store`` (assignment to an attribute), or
    ``odd`` (cannot be resolved). owner: the class, for ``own``; the kind of object that is looked at, for ``odd``.
    sure: True if the name can have no other value.
    """

    kind: str
    name: str
    line: int
    owner: str = ""
    sure: bool = True


@dataclass(eq=False)
class Unit:
    """A statement at the top level of a cell: its mentions, and how it depends on other statements.

    Attributes:
        uses: names of the notebook that it reads.
        binds: names of the notebook that it binds.
        gives: (attribute, name or function; what is stored in it or passed to it), if that may be called later.
        forwards: the attributes, names and functions to which it passes its own arguments.
        defines: attribute names of its classes, and attribute names that it assigns.
        flexible: classes that set attributes whose names are made at run time.
    """

    cell: str
    node: ast.stmt
    trusted: bool = False
    mentions: list[Mention] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    gives: list[tuple[str, "Unit"]] = field(default_factory=list)
    forwards: set[str] = field(default_factory=set)
    defines: set[str] = field(default_factory=set)
    flexible: set[str] = field(default_factory=set)
