"""A TableWidget of several functions: each unwritten one is replaced by the reference, independently of the others."""

from typing import ClassVar

import numpy as np

from ...system.translation import listed
from .base import NOTHING_GIVEN, TableWidget
from .calls import replaced, shorten, unwritten
from .types import Function, Functions, Inputs, Tables
from .words import _


class SeveralFunctions(TableWidget):
    """Base of the widgets that draw more than one of a learner's functions, passed as a mapping name → function.

    A subclass lists the ``names`` and implements ``measure_one(name, fn, inputs)``, which returns that function's
    tables, each named ``<letter>_<name>``. For functions that are missing or not written, the widget uses the
    reference's tables, and the notice lists the unwritten ones. Raises TypeError for an unknown name.
    """

    names: ClassVar[tuple[str, ...]] = ()
    function_name = "functions"
    keyed = True
    # name → (function, its tables or None, why it cannot be drawn), as measured last; always replaced as a whole
    _kept: dict[str, tuple[Function, Tables | None, str]] = {}
    # True if the reference replaces a function that fails even in the constructor
    forgiving: ClassVar[bool] = False

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """The tables of one function: table name → array."""
        raise NotImplementedError

    @classmethod
    def measure(cls, fn: Functions, inputs: Inputs) -> Tables:
        """The tables of all functions of a mapping; their errors pass through."""
        return {k: v for name in cls.names if name in fn for k, v in cls.measure_one(name, fn[name], inputs).items()}

    def _measured(self, functions, again):
        if functions is None:
            return self._reference, _(NOTHING_GIVEN)
        unknown = sorted(set(functions) - set(self.names))
        if unknown:
            said = _("{widget} draws {names}; it does not know {unknown}")
            names = {"names": listed(self.names), "unknown": listed(unknown)}
            raise TypeError(said.format(widget=type(self).__name__, **names))
        kept = {}
        for name in (n for n in self.names if n in functions):
            before = self._kept.get(name)
            # After a check, only the checked functions are measured again: some of these take a second.
            if again is None or name in again or before is None or before[0] is not functions[name]:
                before = functions[name], *self._measure(name, functions[name], self.forgiving or again is not None)
            kept[name] = before
        self._kept = kept
        stubs = sorted(name for name, (*__, tables, why) in kept.items() if tables is None and not why)
        notes = [why for *__, why in kept.values() if why]
        if stubs:
            notes.append(_("Showing the reference for {names}: not written yet").format(names=listed(stubs)))
        shown = [tables for __, tables, *__ in kept.values() if tables]
        return {k: v for tables in shown for k, v in tables.items()}, " ".join(notes)

    def _measure(self, name, fn, forgiving):
        """(tables, "") of one function; (None, "") while it is not written; (None, why) if it cannot be drawn."""
        try:
            return self.measure_one(name, fn, self._inputs), ""
        except (Exception, SystemExit) as error:
            if isinstance(error, NotImplementedError) and unwritten(error) is not None:
                return None, ""
            if forgiving:
                return None, replaced(name, error)
            shorten(error)
            raise

    def given(self) -> dict[str, Function]:
        """The mapping passed to the widget."""
        return dict(self._fn or {})

    def own(self, slot: str) -> bool:
        """True if the function shown under that name is the learner's."""
        return self.written(slot)

    def _given_with(self, new):
        return {**self._fn, **new}

    def written(self, name: str) -> bool:
        """True if the function of that name is the learner's."""
        return self._mine is not self._reference and any(k.split("_", 1)[1] == name for k in self._mine)

    @property
    def whose(self) -> str:
        own = [self.written(name) for name in self.names]
        return _("your") if all(own) else _("partly the reference's") if any(own) else _("the reference's")

    def shown(self, table: str) -> np.ndarray:
        """The table shown: the learner's, or the reference's if that function is not written."""
        return self._mine.get(table, self._reference[table])
