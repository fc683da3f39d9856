"""Numbers in sentences for people."""

from anatomy.system.translation import ngettext, one_or_many

_KNOWN = {  # words that stand on pages, so they are translated; other words are printed by commands alone
    "point": one_or_many("{n} point", "{n} points"),
    "extra point": one_or_many("{n} extra point", "{n} extra points"),
    "submission": one_or_many("{n} submission", "{n} submissions"),
    "student": one_or_many("{n} student", "{n} students"),
    "pair": one_or_many("{n} pair", "{n} pairs"),
}


def number(points: float) -> str:
    """Points: two decimals at most (the tables keep them all)."""
    return f"{round(points, 2):g}"


def amount(how_many: float, what: str) -> str:
    """A number with its noun; give ``what`` in the singular.

    >>> amount(1, "submission"), amount(0.5, "point")
    ('1 submission', '0.5 points')
    """
    one, several = _KNOWN.get(what, (f"{{n}} {what}", f"{{n}} {what}s"))
    return ngettext(one, several, 1 if number(how_many) == "1" else 2).format(n=number(how_many))
