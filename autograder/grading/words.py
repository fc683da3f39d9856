"""Numbers in sentences for people."""


def number(points: float) -> str:
    """Points: two decimals at most (the tables keep them all)."""
    return f"{round(points, 2):g}"


def amount(how_many: float, what: str) -> str:
    """So many of something; ``what`` in the singular.

    >>> amount(1, "submission"), amount(0.5, "point")
    ('1 submission', '0.5 points')
    """
    return f"{number(how_many)} {what}{'' if number(how_many) == '1' else 's'}"
