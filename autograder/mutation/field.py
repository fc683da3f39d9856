"""Operators specific to deep learning: precision, gradients, axes, masks, windows, eps, and ignored arguments."""

import ast
from collections.abc import Callable
from typing import Any

from .changes import Code, Edits, Function, Operator, changed, expression, number, short

OF_FIELD: list[Operator] = []

RESULTS = ("detach", "to_float32", "to_float64", "to_half", "int_to_float")
IN_PLACE = frozenset(
    "masked_fill exp div mul add sub clamp clamp_min clamp_max scatter scatter_add tril triu abs neg sqrt rsqrt log "
    "sigmoid tanh relu pow round floor index_fill index_copy cumsum".split()
)
MADE = frozenset("zeros ones full empty arange linspace eye tensor zeros_like ones_like full_like empty_like".split())
COUNTED = ("range", "arange")


def of_field(
    name: str, *kinds: type[ast.AST], quiet: bool = False
) -> Callable[[Callable[[Any, Code], Edits]], Callable[[Any, Code], Edits]]:
    """Registers an operator for nodes of these kinds. quiet: a change without any effect is not a mistake."""

    def register(edit: Callable[[Any, Code], Edits]) -> Callable[[Any, Code], Edits]:
        OF_FIELD.append(Operator(name, kinds, edit, quiet))
        return edit

    return register


def helper(name: str, *args: ast.expr) -> ast.Call:
    """A call of a function of ``helpers``."""
    return ast.Call(ast.Attribute(ast.Name("mutation", ast.Load()), name, ast.Load()), list(args), [])


def arguments(node: Function) -> list[ast.arg]:
    """A function's own arguments, without self."""
    listed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [a for a in listed if a.arg not in ("self", "cls")]


def defaults(node: Function) -> dict[str, ast.expr]:
    """Name → default value."""
    positional = [*node.args.posonlyargs, *node.args.args]
    behind = positional[len(positional) - len(node.args.defaults) :]
    found = {a.arg: d for a, d in zip(behind, node.args.defaults, strict=True)}
    return found | {a.arg: d for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None}


def begun(node: Function, **values: ast.expr) -> Function:
    """A function that begins by assigning these values to its arguments."""
    if isinstance(node, ast.Lambda):
        inner = ast.Lambda(ast.arguments([], [ast.arg(n) for n in values], None, [], [], None, []), node.body)
        return changed(node, body=ast.Call(inner, list(values.values()), []))
    begin: list[ast.stmt] = [ast.Assign([ast.Name(n, ast.Store())], v, lineno=1) for n, v in values.items()]
    return changed(node, body=_after_docstring(node, begin))


def _after_docstring(node: ast.FunctionDef, begin: list[ast.stmt]) -> list[ast.stmt]:
    k = 1 if ast.get_docstring(node) is not None else 0
    return [*node.body[:k], *begin, *node.body[k:]]


def _name(node: Function) -> str:
    return node.name if isinstance(node, ast.FunctionDef) else "lambda"


@of_field("ignored", ast.FunctionDef, ast.Lambda, quiet=True)
def ignored(node: Function, code: Code) -> Edits:
    """An argument that has no effect: always its default, or zeros, or ones (a mask: all True)."""
    given = defaults(node)
    for argument in arguments(node):
        name = ast.Name(argument.arg, ast.Load())
        if argument.arg in given:
            new = begun(node, **{argument.arg: helper("default", name, given[argument.arg])})
            yield f"{_name(node)}: {argument.arg} is always its default", new
            continue
        for value in ("zeros", "ones"):
            yield f"{_name(node)}: {argument.arg} is always {value}", begun(node, **{argument.arg: helper(value, name)})


@of_field("precision", ast.FunctionDef, ast.Lambda, quiet=True)
def precision(node: Function, code: Code) -> Edits:
    """The whole function computes in float32 or in bfloat16; the result has the right dtype."""
    names = [a.arg for a in arguments(node)]
    if not names or _name(node) == "__init__":
        return
    for cast, dtype in (("narrowed", "float32"), ("rounded", "bfloat16")):
        new = begun(node, **{n: helper(cast, ast.Name(n, ast.Load())) for n in names})
        kept = helper("dtype_of", *(ast.Name(n, ast.Load()) for n in names))
        if isinstance(new, ast.Lambda):
            yield f"lambda: computes in {dtype}", changed(new, body=helper("back", new.body, kept))
            continue
        first = ast.Assign([ast.Name("dtype_asked_for", ast.Store())], kept, lineno=1)
        body = [_Returned("dtype_asked_for").visit(s) for s in new.body]
        yield (
            f"{_name(node)}: computes in {dtype}",
            changed(new, body=_after_docstring(changed(new, body=body), [first])),
        )


class _Returned(ast.NodeTransformer):
    """Casts the values that a function returns, but not those of nested functions; does not modify the given tree."""

    def __init__(self, dtype: str) -> None:
        self.dtype = ast.Name(dtype, ast.Load())

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return node if node.value is None else ast.Return(helper("back", node.value, self.dtype))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """A copy of the statement with its inner statements visited."""
        if not isinstance(node, ast.stmt | ast.ExceptHandler):
            return node
        lists = {f: v for f, v in ast.iter_fields(node) if isinstance(v, list) and v and isinstance(v[0], ast.stmt)}
        return changed(node, **{f: [self.visit(s) for s in v] for f, v in lists.items()})


@of_field("result", ast.Return, ast.Lambda, quiet=True)
def result(node: ast.Return | ast.Lambda, code: Code) -> Edits:
    """The result detached, in a different dtype, or a float instead of an int."""
    value = node.body if isinstance(node, ast.Lambda) else node.value
    if value is None:
        return
    field = "body" if isinstance(node, ast.Lambda) else "value"
    for change in RESULTS:
        yield f"{short(node)}: result {change}", changed(node, **{field: helper(change, value)})


@of_field("in_place", ast.BinOp, quiet=True)
def in_place_operation(node: ast.BinOp, code: Code) -> Edits:
    """x += y instead of x + y, if x is an argument."""
    function = code.function(node)
    operations = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mult_", ast.Div: "div_"}
    if (
        isinstance(node.left, ast.Name)
        and function is not None
        and type(node.op) in operations
        and node.left.id in {a.arg for a in arguments(function)}
    ):
        yield f"{short(node)} in place", helper(operations[type(node.op)], node.left, node.right)


@of_field("in_place", ast.Call, quiet=True)
def in_place_call(node: ast.Call, code: Code) -> Edits:
    """x.exp_() instead of x.exp()."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in IN_PLACE:
        if ast.unparse(node.func.value) not in ("torch", "F", "math", "nn", "torch.nn.functional"):
            new = changed(node, func=changed(node.func, attr=node.func.attr + "_"))
            yield f".{node.func.attr} → .{node.func.attr}_ in {short(node)}", new


@of_field("unbiased", ast.Call)
def unbiased(node: ast.Call, code: Code) -> Edits:
    """A mean over n − 1."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "mean":
        args = node.args if ast.unparse(node.func.value) == "torch" else [node.func.value, *node.args]
        yield f"{short(node)} over n − 1", changed(helper("mean_unbiased", *args), keywords=node.keywords)


@of_field("reversed", ast.Call)
def reversed_axis(node: ast.Call, code: Code) -> Edits:
    """Positions from the last to the first."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called == "arange":
        yield f"{short(node)} reversed", expression(f"({ast.unparse(node)}).flip(0)")
    elif called == "range":
        yield f"{short(node)} reversed", ast.Call(ast.Name("reversed", ast.Load()), [node], [])


@of_field("window", ast.Call, ast.Compare)
def window(node: ast.Call | ast.Compare, code: Code) -> Edits:
    """One more or one less: at the ends of a range, or in the bound of a comparison."""
    if isinstance(node, ast.Compare):
        places = [
            (i, c)
            for i, c in enumerate(node.comparators)
            if isinstance(node.ops[i], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        ]
        field, items = "comparators", node.comparators
    else:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        places = list(enumerate(node.args)) if called in COUNTED else []
        field, items = "args", node.args
    for i, item in places:
        if number(item) is not None or isinstance(item, ast.Starred):
            continue
        for words, operator in (("+ 1", ast.Add()), ("- 1", ast.Sub())):
            new = ast.BinOp(item, operator, ast.Constant(1))
            yield (
                f"{short(item, 40)} {words} in {short(node)}",
                changed(node, **{field: [*items[:i], new, *items[i + 1 :]]}),
            )


@of_field("eps", ast.Call)
def eps_outside(node: ast.Call, code: Code) -> Edits:
    """eps added to the root: sqrt(v) + eps instead of sqrt(v + eps)."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("sqrt", "rsqrt"):
        return
    inside = node.args[0] if node.args else node.func.value
    if isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Add) and "eps" in ast.unparse(inside.right):
        root = f"({ast.unparse(inside.left)}).sqrt() + {ast.unparse(inside.right)}"
        yield f"{short(node)}: eps outside", expression(f"1 / ({root})" if node.func.attr == "rsqrt" else f"({root})")


@of_field("eps", ast.BinOp)
def eps_outside_power(node: ast.BinOp, code: Code) -> Edits:
    """v ** 0.5 + eps instead of (v + eps) ** 0.5, and the same for −0.5."""
    power, inside = number(node.right), node.left
    if isinstance(node.op, ast.Pow) and power in (0.5, -0.5) and isinstance(inside, ast.BinOp):
        if isinstance(inside.op, ast.Add) and "eps" in ast.unparse(inside.right):
            root = f"({ast.unparse(inside.left)}) ** 0.5 + {ast.unparse(inside.right)}"
            yield f"{short(node)}: eps outside", expression(f"1 / ({root})" if power < 0 else f"({root})")


@of_field("made", ast.Call, quiet=True)
def made(node: ast.Call, code: Code) -> Edits:
    """A tensor created as float64: everything computed with it becomes float64 too, or raises."""
    if any(k.arg == "dtype" for k in node.keywords) or not isinstance(node.func, ast.Attribute):
        return
    if node.func.attr in MADE and ast.unparse(node.func.value) == "torch":
        double = ast.keyword("dtype", expression("torch.float64"))
        yield f"{short(node)} in float64", changed(node, keywords=[*node.keywords, double])
