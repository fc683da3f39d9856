"""A widget as the learner sees it."""

import functools
from dataclasses import dataclass

from anatomy.widgets.tools.base import TableWidget

from .learners import unfinished

UNLABELED = ".ta-svg text:not(.ta-strong)"


@dataclass(frozen=True)
class Case:
    """A widget, the arguments with right functions, and its controls.

    controls: (role, accessible name, trait, key that moves it[, state in which it can be moved])
    silent: traits that change the picture but not the readout
    crowded: states in which the drawing shows the most
    drawn: the texts that must not overlap (letters at the tips of arrows may)
    """

    widget: type[TableWidget]
    given: tuple
    controls: list
    silent: tuple = ()
    crowded: tuple = ({},)
    drawn: str = ".ta-svg text"

    def make(self, **state):
        return self.widget(*self.given, **state)

    @functools.cached_property
    def usual(self):
        """The widget in its first state, created once: each page has its own copy of the state."""
        return self.make()

    def stubs(self, **state):
        """The widget with functions that are not written yet."""
        given = self.given[0]
        return self.widget(dict.fromkeys(given, unfinished) if isinstance(given, dict) else unfinished, **state)
