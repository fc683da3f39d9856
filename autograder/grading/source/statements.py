"""A notebook as statements: what each mentions, and how it hangs together with others."""

import ast
from dataclasses import dataclass, field
from typing import NamedTuple


class Mention(NamedTuple):
    """kind: ``library`` and ``module`` (the latter as a value), ``base`` (a class is made from it), ``attribute``,
    ``own`` (of an object that the notebook defines), ``builtin``, ``free`` (nobody binds it), ``store`` and
    ``library store`` (an attribute is given), ``odd`` (cannot be resolved; name: what). owner: the class, for ``own``;
    what it is looked up on, for ``odd``. sure: the name that is looked up can have no other value."""

    kind: str
    name: str
    line: int
    owner: str = ""
    sure: bool = True


@dataclass(eq=False)
class Unit:
    """A statement at the top of a cell: its mentions, and how it hangs together with others.

    uses, binds: names of the notebook. gives: (attribute, name or function, what is stored in it or handed to it),
    where that may be called later. forwards: those to which it hands its own arguments. defines: attribute names of
    its classes, and those it stores. flexible: classes that store attributes under names made at run time.
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
