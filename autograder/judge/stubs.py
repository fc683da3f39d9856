"""The names and the signature that an exercise asks for, read from the cell in its unit's text."""

import ast
import copy
import re
from functools import cache

from autograder import ROOT

_CELL = re.compile(r'^# %%[^\n]*\bexercise="([^"]+)"[^\n]*\n(.*?)(?=^# %%|\Z)', re.M | re.S)


def asked_for(exercise_id: str) -> tuple[tuple[str, ...], str]:
    """Targets of an exercise, in the order of its cell, and how the first is called, e.g. ``rms_norm(x, eps=1e-6)``.

    A class is called as its ``__init__`` is. Raises ValueError where no text has the exercise, where its cell is not
    Python, and where a class has no ``__init__`` to read.
    """
    source = _cells().get(exercise_id)
    if source is None:
        raise ValueError(f"no text in solutions/ has the exercise {exercise_id}: add its cell, or give its signature")
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise ValueError(f"the cell of {exercise_id} in its text is not Python: {error.msg}") from None
    defined = [s for s in body if isinstance(s, ast.FunctionDef | ast.ClassDef)]
    if not defined:
        raise ValueError(f"the cell of {exercise_id} in its text defines no function or class")
    return tuple(s.name for s in defined), f"{defined[0].name}({_arguments(exercise_id, defined[0], source)})"


@cache
def _cells() -> dict[str, str]:
    """Exercise id → source of its cell, of all texts."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "solutions").glob("*.py"))]
    return {m[1]: m[2] for text in texts for m in _CELL.finditer(text)}


def _arguments(exercise_id: str, definition: ast.FunctionDef | ast.ClassDef, source: str) -> str:
    """Arguments as the text writes them, without annotations."""
    function, is_class = definition, isinstance(definition, ast.ClassDef)
    if isinstance(function, ast.ClassDef):
        inside = [s for s in function.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"]
        if not inside:
            raise ValueError(f"{exercise_id}: {definition.name} has no __init__ in the text: give the signature")
        function = inside[0]
    arguments = copy.deepcopy(function.args)
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    if is_class:
        del arguments.args[0]
    # ast would write 1e-5 as 1e-05.
    written = [ast.Name(ast.get_source_segment(source, d) or "") for d in arguments.defaults]
    arguments.defaults = list[ast.expr](written)
    arguments.kw_defaults = [d and ast.Name(ast.get_source_segment(source, d) or "") for d in arguments.kw_defaults]
    return ast.unparse(arguments)
