"""A TableWidget of several functions: each that is not written yet is replaced by the reference on its own."""

from .base import TableWidget
from .calls import unwritten


class SeveralFunctions(TableWidget):
    """Base of the widgets that draw more than one of a learner's functions, given as a mapping name → function.

    A subclass lists the ``names`` and implements ``measure_one(name, fn, inputs)``, which returns that function's
    tables, each called ``<letter>_<name>``. Tables of functions that are not given or not written are the
    reference's, and the notice says which. Raises TypeError for a name that is not drawn.
    """

    names = ()
    function_name = "functions"

    @classmethod
    def measure_one(cls, name, fn, inputs):
        """The tables of one function: table name → array."""
        raise NotImplementedError

    @classmethod
    def measure(cls, fn, inputs):
        unknown = sorted(set(fn) - set(cls.names))
        if unknown:
            raise TypeError(f"{cls.__name__} draws {', '.join(cls.names)}; it does not know {', '.join(unknown)}")
        tables = {}
        for name in cls.names:
            try:
                tables |= cls.measure_one(name, fn[name], inputs) if name in fn else {}
            except NotImplementedError as error:
                if unwritten(error) is None:
                    raise
        return tables

    def refresh(self, fn=None):
        super().refresh(fn)
        stubs = sorted(name for name in self._fn or {} if not self.written(name))
        if stubs and self._fn is not None:
            self.notice = f"Showing the reference for {', '.join(stubs)}: not written yet"

    def written(self, name):
        """True when the function of that name is the learner's."""
        return self._mine is not self._reference and any(k.split("_", 1)[1] == name for k in self._mine)

    @property
    def whose(self):
        own = [self.written(name) for name in self.names]
        return "your" if all(own) else "partly the reference's" if any(own) else "the reference's"

    def shown(self, table):
        """The table on show: the learner's, or the reference's where that function is not written."""
        return self._mine.get(table, self._reference[table])
