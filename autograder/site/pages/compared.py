"""All units side by side, for contributors who keep them consistent."""

from autograder import course_table
from autograder.notebooks import facts
from autograder.site import links

HERE = "compared"


def pages() -> dict[str, str]:
    """The page ``compared``."""
    table = course_table.table([course_table.row(name) for name in facts.names()])
    text = f"""# The units compared

What `python -m autograder.course_table` prints: the same measures for all units, so that what is uneven is seen.
[For contributors]({links.page(HERE, "contributors")}) says what they should be.

{table}

Minutes include reading. *Exercises* and *points* are those of the core path + those of extensions. *Difficulty* counts
the exercises of each level from 1 to 5. *Words* are those of texts, *median lines* those of code cells.
"""
    return {HERE: text}
