"""How much of the course is your own code: functions, classes and lines of the answers that passed their checks."""

import ast
from dataclasses import dataclass

from ..progress import standing
from ..system.translation import _
from . import books


@dataclass(frozen=True)
class Share:
    """One unit: its title, and exercises, functions with classes, and lines of code of its passed answers."""

    title: str
    exercises: int
    functions: int
    lines: int


@dataclass(frozen=True)
class Written:
    """All units with at least one passed answer in a saved notebook."""

    shares: tuple[Share, ...]

    def __repr__(self) -> str:
        rows = [f"{s.title:48} {s.exercises:4} {s.functions:5} {s.lines:6,}" for s in self.shares]
        head = f"{_('unit'):48} {_('exercises')} / {_('functions and classes')} / {_('lines')}"
        total = [sum(getattr(s, key) for s in self.shares) for key in ("exercises", "functions", "lines")]
        said = _("In all, of your own: exercises {exercises}, functions and classes {functions}, lines {lines}")
        told = said.format(exercises=total[0], functions=total[1], lines=f"{total[2]:,}")
        return "\n".join([head, *rows, told])


def written() -> Written:
    """Counts the passed answers in your saved notebooks, without running them.

    Blank lines and comments don't count. An answer that was passed but isn't in its saved notebook is left out.
    """
    shares = []
    for view in standing.views():
        exercises = functions = lines = 0
        try:
            book = books.read(books.find(view.name), view.name)
        except books.Unreadable:
            continue
        for exercise, entry in view.exercises:
            cell = book.answers.get(exercise["id"])
            if not standing.passed(entry) or cell is None or exercise["id"] in book.released:
                continue
            code = [ast.parse(s.text) for s in book.codes[cell].statements]
            exercises += 1
            functions += sum(isinstance(n, ast.FunctionDef | ast.ClassDef) for tree in code for n in tree.body)
            lines += sum(len(ast.unparse(tree).splitlines()) for tree in code)
        if exercises:
            shares.append(Share(view.title, exercises, functions, lines))
    return Written(tuple(shares))
