"""Finds what answers to exercises with forbidden built-ins may call, from a rebuilt notebook's source.

It answers two questions. *What can a target reach?* Its own code, the student's functions, classes and names that it
mentions, other answers, and everything stored where these look: all library names in there have to be in ``allowed``.
*What changes the meaning of names?* An assignment to a library, a hook, code made from text: anywhere in the notebook.
A cell that only experiments next to an answer (``torch.softmax`` for comparison) is neither.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import nbformat
from anatomy.system.translation import N_

from ..base.masters import MARK
from . import allowed
from .changing import changes_meaning, free_is_dangerous
from .lasting import take_away_overridden
from .mentions import gather
from .parsing import hides, parsed
from .scopes import Scope, bind, canonical, public_names, scope_of
from .statements import Mention, Unit

UNRESOLVED = N_("cannot be resolved")


@dataclass(frozen=True)
class Finding:
    """Something that an answer may reach and that correct answers do not need.

    name: dotted name, or UNRESOLVED. evidence: the line, cut to 160 characters. forbidden: True if it is one of the
    exercise's forbidden built-ins, used by name in code that the answer surely runs.
    """

    name: str
    evidence: str
    cell: str
    line: int
    forbidden: bool = False

    @property
    def where(self) -> str:
        return f"{self.cell}, line {self.line}"


@dataclass
class Calls:
    """The readable part of a notebook: its statements and how they depend on each other."""

    units: list[Unit] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)  # cells that are too deep to parse
    top: Scope = field(default_factory=lambda: Scope(ast.Module([], [])))
    failed: frozenset[str] = frozenset()  # cells that may not have run to their end
    whole: "Calls | None" = None  # the Calls of all cells, if this one has only the cells before a check

    # ---- what a target reaches -------------------------------------------------------------------------------------
    def findings(self, targets: Sequence[str], forbidden: tuple[str, ...]) -> list[Finding]:
        """What targets reach that is not on the list, and what changes meanings anywhere; forbidden names first."""
        reached = self._reached(targets)
        found = self._imported(targets, forbidden)
        for unit, certain in reached:
            found += self._judged(unit, forbidden, certain, [u for u, _ in reached])
        used = {m.name.rpartition(".")[2] for u, _ in reached for m in u.mentions if m.kind in ("library", "attribute")}
        found += [f for f in (self.whole or self)._changes if f not in found]
        found += self._stores(used)
        unread = (self.whole or self).unread
        found += [Finding(UNRESOLVED, "(a cell that cannot be read)", cell, 1) for cell in unread]
        return sorted(dict.fromkeys(found), key=lambda f: not f.forbidden)

    def _reached(self, targets: Sequence[str]) -> list[tuple[Unit, bool]]:
        """(statement, True if the targets surely run it) for everything that the targets reach."""
        found: dict[int, tuple[Unit, bool]] = {}
        seen: set[str] = set()
        doors: set[str] = set()
        todo: list[tuple[str, bool]] = []

        def add(unit: Unit, sure: bool) -> None:
            if id(unit) not in found and not unit.trusted:
                found[id(unit)] = (unit, sure)
                todo.extend((n, sure) for n in sorted(unit.uses) if n not in asked or unit not in last)
                todo.extend((n, False) for n in sorted(unit.binds - asked))
                todo.extend((m.name, False) for m in unit.mentions if m.kind in _ATTRIBUTES and m.name in self._given)

        # Targets are looked up at the end of the notebook: earlier meanings of their names don't count.
        asked, last = set(targets), [u for t in targets for u in self._last(t)]
        for unit in last:
            add(unit, all(len(self._last(t)) == 1 for t in targets))
        for name in targets:
            self._open(name, doors, add)
        while todo:
            name, certain = todo.pop(0)
            if name not in seen:
                seen.add(name)
                units = self._binding.get(name, [])
                for unit in units:
                    add(unit, certain and len(units) == 1 and len(self.top.names.get(name, [])) == 1)
                self._open(name, doors, add)
        return list(found.values())

    def _open(self, name: str, doors: set[str], add: Callable[[Unit, bool], None]) -> None:
        """Adds what is passed to a name, and to everything that passes its own arguments on to that name."""
        todo = [name]
        while todo:
            door = todo.pop()
            if door not in doors:
                doors.add(door)
                for unit in self._given.get(door, []):
                    add(unit, False)
                todo += [n for unit in self._forwarding.get(door, []) for n in unit.binds]

    def _last(self, name: str) -> list[Unit]:
        """The statements that may have given a name the value that it has at the end of the notebook."""
        units = self._binding.get(name, [])
        sure = [
            i
            for i, u in enumerate(units)
            if isinstance(u.node, ast.FunctionDef | ast.ClassDef | ast.Assign) and u.cell not in self.failed
        ]
        return units[sure[-1] :] if sure else units

    @cached_property
    def _binding(self) -> dict[str, list[Unit]]:
        """Name → statements that may have bound it, in notebook order, without those that were surely overridden."""
        found = _by_name((name, u) for u in self.units for name in u.binds)
        for name, unit in self.top.settled.items():
            units = found.get(name, [])
            last = units.index(unit) if unit in units else 0  # a unit that is too deep to be read binds nothing
            # A function that declares the name global may bind it at any later call.
            inside = [u for u in units[:last] if getattr(u.node, "name", name) != name]
            found[name] = inside + units[last:]
        return found

    @cached_property
    def _given(self) -> dict[str, list[Unit]]:
        return _by_name((name, part) for u in self.units if not u.trusted for name, part in u.gives)

    @cached_property
    def _forwarding(self) -> dict[str, list[Unit]]:
        return _by_name((name, u) for u in self.units for name in u.forwards)

    def _imported(self, targets: Sequence[str], forbidden: tuple[str, ...]) -> list[Finding]:
        """Targets that are library functions, imported under the target's name."""
        found = []
        for name in targets:
            for unit in self._last(name) + [u for u in self._after(name) if isinstance(u.node, ast.ImportFrom)]:
                for m in unit.mentions:
                    if m.kind == "import" and m.name.endswith(f".{name}"):
                        found.append(self._finding(unit.cell, m.line, canonical(m.name)[0]))
                    elif m.kind == "star" and name in public_names(m.name):
                        found.append(self._finding(unit.cell, m.line, canonical(f"{m.name}.{name}")[0]))
                    elif m.kind == "import" and isinstance(unit.node, ast.ImportFrom | ast.Import):
                        if any(a.asname == name for a in unit.node.names):
                            found.append(self._finding(unit.cell, m.line, m.name))
        return found

    def _after(self, name: str) -> list[Unit]:
        units = [i for i, u in enumerate(self.units) if u in self._last(name)]
        return [u for u in self.units[min(units, default=0) :] if not u.trusted]

    # ---- judging ---------------------------------------------------------------------------------------------------
    def _judged(self, unit: Unit, forbidden: tuple[str, ...], certain: bool, reached: Sequence[Unit]) -> list[Finding]:
        found = []
        for mention in unit.mentions:
            name = self._outside(mention, forbidden, reached)
            if name:
                plain = mention.kind in ("library", "attribute") and allowed.plain(mention.name) in allowed.refused(
                    forbidden
                )
                found.append(self._finding(unit.cell, mention.line, name, plain and certain and mention.sure))
        return found

    def _outside(self, m: Mention, forbidden: tuple[str, ...], reached: Sequence[Unit]) -> str:
        """The name that a mention stands for if no answer needs it, else ""."""
        short = allowed.plain(m.name)
        barred = short in allowed.refused(forbidden) or short in allowed.equivalents(forbidden)
        if m.kind == "library":
            return m.name if (barred and not m.name.startswith("builtins.")) or not allowed.library(m.name) else ""
        if m.kind == "attribute":
            own = m.name in self._attributes and not barred
            return "" if own or (m.name in allowed.METHODS and not barred) else f".{m.name}"
        if m.kind == "own":
            return "" if self._is_own(m, barred, reached) else f".{m.name}"
        if m.kind == "own class":
            fine = m.name in self._attributes or m.name in allowed.HARMLESS_DUNDERS or m.name in allowed.METHODS
            return "" if fine else f".{m.name}"
        if m.kind == "builtin":
            return "" if allowed.builtin(m.name) and m.name not in _NEVER_ALONE else m.name
        if m.kind == "base":
            return "" if m.name in allowed.BASES or allowed.builtin(m.name.rpartition(".")[2]) else m.name
        if m.kind == "odd":
            return "" if m.owner == "an instance" and m.name in _ON_SELF else UNRESOLVED
        if m.kind in ("module", "free"):
            return UNRESOLVED
        return m.name if m.kind == "library store" else ""

    def _is_own(self, m: Mention, barred: bool, reached: Sequence[Unit]) -> bool:
        """True if ``self.name`` is surely the student's own attribute, or a harmless one of a tensor."""
        if not barred and (m.name in self._attributes or m.name in allowed.METHODS):
            return True
        if not barred:
            return m.owner in self._flexible and not m.name.startswith("_")
        if m.name not in self._attributes:
            return False
        # A method that is looked up on its class can be called with a tensor as ``self``.
        taken = any(n.kind == "own class" and n.owner == m.owner for u in reached for n in u.mentions)
        return not taken

    @cached_property
    def _attributes(self) -> set[str]:
        return {n for u in self.units for n in u.defines}

    @cached_property
    def _flexible(self) -> set[str]:
        return {n for u in self.units for n in u.flexible}

    # ---- what changes meanings -------------------------------------------------------------------------------------
    @cached_property
    def _changes(self) -> list[Finding]:
        found = []
        for unit in self.units:
            for m in unit.mentions if not unit.trusted else ():
                if changes_meaning(m) or (m.kind == "free" and free_is_dangerous(m.name)):
                    unclear = m.kind in ("odd", "module", "star")
                    found.append(self._finding(unit.cell, m.line, UNRESOLVED if unclear else m.name))
        return found

    def _stores(self, used: set[str]) -> list[Finding]:
        """Assignments to attributes of unknown objects whose names are torch functions that the answer uses."""
        return [
            self._finding(unit.cell, m.line, f".{m.name} = …")
            for unit in self.units
            if not unit.trusted
            for m in unit.mentions
            if m.kind == "store" and not m.owner and m.name in used and f"torch.{m.name}" in allowed.LIBRARY
        ]

    def _finding(self, cell: str, line: int, name: str, forbidden: bool = False) -> Finding:
        lines = self.sources[cell].split("\n")
        text = lines[line - 1].strip() if line <= len(lines) else ""
        return Finding(name, text[:160], cell, line, forbidden)


_RUNS_CODE = re.compile(r"^\s*(?:%%|.*%time)", re.MULTILINE)
_ATTRIBUTES = ("attribute", "own", "own class")
_NEVER_ALONE = {"getattr", "setattr", "delattr", "vars"}  # as calls only: not renamed or passed to map
_ON_SELF = {"getattr", "setattr"}  # setattr(self, f"{name}_proj", …)


def _by_name(pairs: Iterable[tuple[str, Unit]]) -> dict[str, list[Unit]]:
    found: dict[str, list[Unit]] = {}
    for name, unit in pairs:
        found.setdefault(name, []).append(unit)
    return found


def read_calls(
    notebook: nbformat.NotebookNode, failed: Collection[str] = (), before: str = "", whole: Calls | None = None
) -> Calls:
    """The Calls of a rebuilt notebook. Never raises because of the student's source.

    Args:
        notebook: the rebuilt notebook.
        failed: ids of cells that did not run to their end.
        before: id of a check cell; reads only the cells above it, which define what the answers meant at that check.
        whole: the Calls of all cells, for what changes meanings anywhere.
    """
    # Code run by a magic may fail silently, and %timeit binds nothing.
    magic = {c.id for c in notebook.cells if c.cell_type == "code" and _RUNS_CODE.search(c.source)}
    calls = Calls(failed=frozenset({*failed, *magic}), whole=whole)
    for cell in notebook.cells:
        if before and cell.id == before:
            break
        role = cell.metadata[MARK]["role"] if cell.cell_type == "code" else ""
        if role not in ("setup", "answer", "extra") or not cell.source.strip():
            continue
        calls.sources[cell.id] = cell.source
        tree = parsed(cell.source)
        if tree is None:
            calls.unread += [cell.id] if hides(cell.source) else []
            continue
        trusted = role == "setup"
        try:
            bind(tree.body, calls.top, cell.id, trusted)
            if "global" in cell.source:
                for node in ast.walk(tree):
                    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                        scope_of(node, calls.top)  # names that it declares global are bound in the notebook's scope
        except RecursionError:
            calls.unread.append(cell.id)
            continue
        calls.units += [Unit(cell.id, statement, trusted) for statement in tree.body]
        calls.top.changed |= _growing(tree)
    take_away_overridden(calls.units, calls.top, calls.failed)
    calls.unread += dict.fromkeys(u.cell for u in gather(calls.units, calls.top))
    return calls


def _growing(tree: ast.Module) -> set[str]:
    """Names whose lists may change: those used for anything but loops, indexing, ``join`` and calls like ``len``."""
    fine: set[int] = set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension):
            fine.add(id(node.iter))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            fine.add(id(node.value))
        elif isinstance(node, ast.Call) and (
            (isinstance(node.func, ast.Attribute) and node.func.attr == "join")
            or (isinstance(node.func, ast.Name) and node.func.id in ("len", "print", "enumerate", "zip", "range"))
        ):
            fine |= {id(a) for a in node.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in fine:
            found.add(node.id)
    return found
