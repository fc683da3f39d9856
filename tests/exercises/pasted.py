"""Runs the text of a verdict as if a learner had pasted it into a cell."""

import ast

import torch
from anatomy.notebook.cases import case
from anatomy.program import toys


def pasted(text, functions):
    """The value of the last line, as a notebook shows it."""
    *before, last = ast.parse(text).body
    space = {"torch": torch, "toys": toys, "case": case, **functions}
    exec(compile(ast.Module(before, []), "<pasted>", "exec"), space)
    assert isinstance(last, ast.Expr), text
    return eval(compile(ast.Expression(last.value), "<pasted>", "eval"), space)
