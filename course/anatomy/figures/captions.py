"""The sentences above the tables of a figure's numbers, in the language in use."""

from collections.abc import Sequence

from ..system.translation import _, listed, ngettext, sentences
from .tables import Table, number


def caption(title: str, what: str, header: str, *words: str) -> str:
    """A table's caption.

    Args:
        title: that of the panel. what: name of the values. header: name of what the rows stand for; each may be "".
        words: more sentences.
    """
    what = what or ("" if title else _("values"))
    if header:  # if the values have no label, the panel's title says what they are
        by = _("{what} by {header}").format(what=what or title, header=header)
        title, what = title if what else "", by
    first = _("{a}: {b}").format(a=title, b=what) if title and what else title or what
    if first.split()[0] not in ("ms", "ns"):
        first = first[0].upper() + first[1:]
    return sentences(_("{sentence}.").format(sentence=first), *words)


def of_lines(upright: bool, name: str, at: Sequence[float]) -> str:
    """A sentence about the lines across a panel that have one name."""
    places = listed(map(number, dict.fromkeys(at)))
    if upright:
        text = ngettext("Vertical line at {places}{name}.", "Vertical lines at {places}{name}.", len(at))
    else:
        text = ngettext("Horizontal line at {places}{name}.", "Horizontal lines at {places}{name}.", len(at))
    return text.format(places=places, name=_(" ({name})").format(name=name) if name else "")


def of_rows(which: str) -> str:
    """Says which rows a thinned table has; "" if it has all."""
    return _("Rows: {which}.").format(which=which) if which else ""


def of_columns(which: str) -> str:
    """Says which columns a thinned table has; "" if it has all."""
    return _("Columns: {which}.").format(which=which) if which else ""


def told(found: Sequence[Table]) -> str:
    """Sentences that describe a figure, for one without alt text."""
    each = (_("{caption} Columns: {names}.").format(caption=t.caption, names=listed(t.columns)) for t in found)
    return sentences(_("A plot."), *each)
