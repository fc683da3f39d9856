"""The right answers to mutate: the solution in a unit's text, and the alternatives of a spec."""

import ast
import builtins
import contextlib
import io
import operator
import symtable
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from autograder import exercises
from autograder.judge.spec import Exercise, Implementation
from autograder.notebooks.cells import Cell, read_cells
from autograder.notebooks.source import source_path

from . import helpers
from .changes import Code, Function, Mutant, mutants
from .field import OF_FIELD
from .operators import USUAL

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
ANSWER = "_answer"  # the name that an alternative gets


@dataclass
class Subject:
    """A right answer as code.

    name: ``solution``, or the alternative as its spec writes it. code: its statements; space: the namespace they run
    in. answer: picks the implementation from the namespace afterwards. path, first: file and first line (from 1).
    """

    exercise: Exercise
    name: str
    code: Code
    space: dict[str, Any]
    answer: Callable[[dict[str, Any]], Implementation]
    path: Path
    first: int = 1
    compiled: list[CodeType] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.compiled = [compile(ast.unparse(s), "<answer>", "exec") for s in self.code.statements]

    def mutants(self) -> Iterator[Mutant]:
        """Every mutant of the answer, each once."""
        return mutants(self.exercise.id, self.name, self.code, [*USUAL, *OF_FIELD], self.first)

    def implementation(self, mutant: Mutant | None = None) -> Implementation:
        """The answer, or a mutant of it, from a fresh run of the code. Raises whatever the code raises."""
        return self.with_codes({mutant.at: mutant.code} if mutant else {})

    def with_codes(self, codes: Mapping[int, CodeType]) -> Implementation:
        """The answer from a fresh run with some statements replaced. Raises whatever the code raises."""
        space = {**self.space, "mutation": helpers}
        for at, code in enumerate(self.compiled):
            exec(codes.get(at, code), space)
        return self.answer(space)


def subjects(exercise: Exercise) -> list[Subject]:
    """The solution, then the alternatives."""
    return [*_solution(exercise), *_alternatives(exercise)]


def _solution(exercise: Exercise) -> Iterator[Subject]:
    for cell, space in _solutions(exercise.unit):
        if cell.exercise == exercise.id:
            tree = ast.parse(cell.source)
            lines = solution_lines(cell.source)
            code = Code(tree.body, lambda node, _: _in_solution(node, lines))
            answer = lambda names: tuple(names[t] for t in exercise.targets)
            yield Subject(exercise, "solution", code, space, answer, source_path(exercise.unit), cell.first)


@cache
def _solutions(unit: str) -> list[tuple[Cell, dict[str, Any]]]:
    """The exercise cells of a unit, each with the names that the setup cells and the exercises before it define."""
    space: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
    found = []
    for cell in read_cells(source_path(unit))[0]:
        if cell.part == "exercise":
            found.append((cell, dict(space)))
        if cell.part == "exercise" or cell.setup:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.source, f"<{cell.exercise or 'setup'}>", "exec"), space)
    return found


def solution_lines(source: str) -> set[int]:
    """Line numbers (from 1) of a cell between its solution marks."""
    inside, found = False, set()
    for number, line in enumerate(source.splitlines(), 1):
        if BEGIN in line or END in line:
            inside = BEGIN in line
        elif inside:
            found.add(number)
    return found


def _in_solution(node: ast.AST, lines: set[int]) -> bool:
    """True if the node is part of the solution. The marks are inside a function, which counts if a statement does."""
    if isinstance(node, ast.FunctionDef):
        return any(s.lineno in lines for s in node.body)
    return _line(node) in lines


def _line(node: ast.AST) -> int | None:
    inner = node.target if isinstance(node, ast.comprehension) else node  # the only kind of node here without a line
    return getattr(inner, "lineno", None)


def _alternatives(exercise: Exercise) -> Iterator[Subject]:
    path, _ = exercises.place_of(exercise)
    module = _module(path)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    given = _given(tree, exercise.id)
    top = _top_level(tree)
    tried: set[int] = set()  # statements that an earlier alternative has, too: their mutants are made once
    for i, expression in enumerate(_one_by_one(given, len(exercise.alternatives))):
        reached = _reached(expression, top)
        answer = ast.copy_location(ast.Assign([ast.Name(ANSWER, ast.Store())], expression, lineno=given.lineno), given)
        code = Code([*reached, answer], partial(_in_new_function, frozenset(tried)))
        tried |= {id(statement) for statement in reached}
        name = " ".join(ast.unparse(expression).split())
        name = f"alternative {name if len(name) <= 60 else f'{i + 1}'}"
        yield Subject(exercise, name, code, vars(module), operator.itemgetter(ANSWER), path)


def _in_new_function(tried: frozenset[int], node: ast.AST, code: Code) -> bool:
    """True for a node of a function, lambda or class that is not ``tried``; lines that only combine these are left."""
    kinds = Function | ast.ClassDef
    around = [node, *code.above(node)]
    return id(around[-1]) not in tried and any(isinstance(n, kinds) for n in around)


def _module(path: Path) -> ModuleType:
    return next(m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == str(path))


def _given(tree: ast.Module, exercise_id: str) -> ast.expr:
    """The expression that a spec passes as ``alternatives``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Exercise":
            keywords = {k.arg: k.value for k in node.keywords}
            if ast.unparse(keywords["id"]) == repr(exercise_id):
                return keywords["alternatives"]
    raise LookupError(f"{exercise_id}: its spec has no Exercise(id=…, alternatives=…) to read")


def _one_by_one(given: ast.expr, count: int) -> list[ast.expr]:
    if isinstance(given, ast.List) and not any(isinstance(e, ast.Starred) for e in given.elts):
        return given.elts
    return [ast.Subscript(given, ast.Constant(i), ast.Load()) for i in range(count)]


def _top_level(tree: ast.Module) -> dict[str, ast.stmt]:
    """Name → the statement that defines it: a function, a class, or an assignment to one name."""
    found: dict[str, ast.stmt] = {}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            found[statement.name] = statement
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            if isinstance(statement.targets[0], ast.Name) and statement.targets[0].id != "EXERCISE":
                found[statement.targets[0].id] = statement
    return found


def _reached(expression: ast.expr, top: dict[str, ast.stmt]) -> list[ast.stmt]:
    """The module's statements that an expression needs, directly or indirectly, in the order of the module."""
    needed: set[str] = set()
    waiting: list[ast.AST] = [expression]
    while waiting:
        names = (_looked_up(waiting.pop()) & top.keys()) - needed
        needed |= names
        waiting += [top[n] for n in names]
    return sorted({id(top[n]): top[n] for n in needed}.values(), key=lambda s: s.lineno)


def _looked_up(node: ast.AST) -> set[str]:
    """Names that code looks up in its module, which excludes arguments and other local variables."""

    def of(table: symtable.SymbolTable, is_module: bool) -> set[str]:
        found = {s.get_name() for s in table.get_symbols() if s.is_referenced() and (is_module or s.is_global())}
        return found.union(*(of(t, False) for t in table.get_children()))

    return of(symtable.symtable(ast.unparse(node), "<answer>", "exec"), True)
