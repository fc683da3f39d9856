"""Usual mutation operators: constants, comparisons, arithmetic, statements, calls, slices, names."""

import ast
from collections.abc import Callable
from typing import Any

from .changes import Code, Edits, Operator, changed, expression, number, short, without

USUAL: list[Operator] = []

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
CALCULATED: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
BORDER: dict[type[ast.cmpop], int] = {ast.Lt: 1, ast.LtE: -1, ast.Gt: -1, ast.GtE: 1}  # includes or excludes it
# Names of methods and torch functions, and the names easily written instead.
NAMES = {
    "sum": ("mean",),
    "mean": ("sum",),
    "amax": ("amin",),
    "amin": ("amax",),
    "maximum": ("minimum",),
    "minimum": ("maximum",),
    "max": ("min",),
    "min": ("max",),
    "argmax": ("argmin",),
    "argmin": ("argmax",),
    "sin": ("cos",),
    "cos": ("sin",),
    "floor": ("ceil",),
    "ceil": ("floor",),
    "round": ("floor",),
    "zeros": ("ones",),
    "ones": ("zeros",),
    "zeros_like": ("ones_like",),
    "ones_like": ("zeros_like",),
    "tril": ("triu",),
    "triu": ("tril",),
    "log": ("log2",),
    "log2": ("log",),
    "exp": ("expm1",),
    "sqrt": ("abs",),
    "rsqrt": ("sqrt",),
    "any": ("all",),
    "all": ("any",),
    "softmax": ("log_softmax",),
    "log_softmax": ("softmax",),
    "repeat_interleave": ("repeat",),
    "repeat": ("repeat_interleave",),
    "relu": ("abs",),
    "sigmoid": ("tanh",),
    "tanh": ("sigmoid",),
    "clamp_min": ("clamp_max",),
    "clamp_max": ("clamp_min",),
}
BUILT_IN = {
    "min": ("max",),
    "max": ("min",),
    "any": ("all",),
    "all": ("any",),
    "sum": ("max",),
    "int": ("round",),
    "round": ("int",),
    "reversed": ("list",),
    "sorted": ("list",),
}
MODULES = ("torch", "F", "math", "torch.nn.functional", "nn.functional")
COMMUTE = frozenset("add mul maximum minimum max min equal allclose isclose gcd lcm hypot dot".split())
COMMUTE_LAST = frozenset("transpose swapaxes addcmul".split())
CONSTRUCTORS = ("nn", "self", "super()", "torch.nn")


def usual(name: str, *kinds: type[ast.AST]) -> Callable[[Callable[[Any, Code], Edits]], Callable[[Any, Code], Edits]]:
    """Registers an operator for nodes of these kinds."""

    def register(edit: Callable[[Any, Code], Edits]) -> Callable[[Any, Code], Edits]:
        USUAL.append(Operator(name, kinds, edit))
        return edit

    return register


@usual("constant", ast.Constant, ast.UnaryOp)
def constant(node: ast.Constant | ast.UnaryOp, code: Code) -> Edits:
    """A different number: one more, one less, zero, or twice as much."""
    value, parent = number(node), code.parent.get(node)
    if value is None or number(parent) is not None:
        return
    if isinstance(value, int):
        others: list[int | float] = [value + 1, value - 1, 0, 2 * value, *([-2] if value == -1 else [])]
    else:
        others = [value * 2, 0.0, value + 1]
    for other in dict.fromkeys(others):
        if other != value and not _said_otherwise(node, value, other, parent):
            yield f"{value} → {other} in {short(parent or node)}", expression(repr(other))


def _said_otherwise(node: ast.AST, value: int | float, other: int | float, parent: ast.AST | None) -> bool:
    """Whether another operator makes the same change: x + 0 is the operand alone, x < 2 is x <= 1 for integers."""
    if isinstance(parent, ast.BinOp):
        neutral = 0 if isinstance(parent.op, ast.Add | ast.Sub) else 1
        either = isinstance(parent.op, ast.Add | ast.Mult)
        factors = isinstance(parent.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow)
        return factors and other == neutral and (either or node is parent.right)
    if isinstance(parent, ast.Compare) and isinstance(value, int) and node is parent.comparators[-1]:
        return other - value == BORDER.get(type(parent.ops[-1]))
    return False


@usual("flag", ast.Constant)
def flag(node: ast.Constant, code: Code) -> Edits:
    """True instead of False, or False instead of True."""
    if isinstance(node.value, bool):
        yield f"{node.value} → {not node.value} in {short(code.parent[node])}", ast.Constant(not node.value)


@usual("einsum", ast.Constant)
def einsum(node: ast.Constant, code: Code) -> Edits:
    """The last two axes of an einsum's output swapped."""
    if isinstance(node.value, str) and "->" in node.value:
        inputs, output = node.value.split("->")
        if len(output.strip()) >= 2:
            yield f"output of {node.value!r} transposed", ast.Constant(f"{inputs}->{output[:-2]}{output[:-3:-1]}")


@usual("compare", ast.Compare)
def compare(node: ast.Compare, code: Code) -> Edits:
    """A different comparison: the bound included or excluded, or the direction reversed."""
    for i, operator in enumerate(node.ops):
        for other in COMPARED.get(type(operator), ()):
            ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
            new = changed(node, ops=ops)
            yield f"{short(node)} → {short(new)}", new


@usual("arithmetic", ast.BinOp)
def arithmetic(node: ast.BinOp, code: Code) -> Edits:
    """A different operation; // is also rounded up."""
    for other in CALCULATED.get(type(node.op), ()):
        new = changed(node, op=other())
        yield f"{short(node)} → {short(new)}", new
    if isinstance(node.op, ast.FloorDiv):
        below = ast.BinOp(ast.UnaryOp(ast.USub(), node.left), ast.FloorDiv(), node.right)
        yield f"{short(node)} rounded up", ast.UnaryOp(ast.USub(), below)


@usual("augmented", ast.AugAssign)
def augmented(node: ast.AugAssign, code: Code) -> Edits:
    """A different operation in x += 1, or a plain assignment."""
    for other in CALCULATED.get(type(node.op), ()):
        new = changed(node, op=other())
        yield f"{short(node)} → {short(new)}", new
    yield f"{short(node)} → =", ast.Assign([node.target], node.value, lineno=1)


@usual("operand", ast.BinOp)
def operand(node: ast.BinOp, code: Code) -> Edits:
    """One operand alone."""
    yield f"{short(node)} → {short(node.left, 40)}", node.left
    yield f"{short(node)} → {short(node.right, 40)}", node.right


@usual("swapped", ast.BinOp)
def swapped(node: ast.BinOp, code: Code) -> Edits:
    """Operands swapped, if the order matters."""
    if isinstance(node.op, ast.Sub) and _sign_is_lost(node, code):
        return
    if isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.Pow | ast.MatMult):
        new = changed(node, left=node.right, right=node.left)
        yield f"{short(node)} → {short(new)}", new


def _sign_is_lost(node: ast.AST, code: Code) -> bool:
    """Whether only the absolute value of a node, or its square, is used."""
    parent = code.parent.get(node)
    if isinstance(parent, ast.BinOp):
        return isinstance(parent.op, ast.Pow) and parent.left is node and number(parent.right) == 2
    name = _last_name(parent.func) if isinstance(parent, ast.Call) else getattr(parent, "attr", "")
    if name == "pow":
        call = code.parent[parent] if isinstance(parent, ast.Attribute) else parent
        return isinstance(call, ast.Call) and bool(call.args) and number(call.args[-1]) == 2
    return name in ("abs", "square")


def _last_name(function: ast.AST) -> str:
    return function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)


@usual("sign", ast.UnaryOp)
def sign(node: ast.UnaryOp, code: Code) -> Edits:
    """The operand without minus, not or ~."""
    if number(node) is None:
        yield f"{short(node)} → {short(node.operand)}", node.operand


@usual("clause", ast.BoolOp)
def clause(node: ast.BoolOp, code: Code) -> Edits:
    """and instead of or, or instead of and; one clause left out."""
    new = changed(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
    yield f"{short(node)} → {short(new)}", new
    for i, value in enumerate(node.values):
        rest = without(node.values, i)
        yield f"{short(node)} without {short(value, 40)}", changed(node, values=rest) if len(rest) > 1 else rest[0]


@usual("condition", ast.If, ast.IfExp)
def condition(node: ast.If | ast.IfExp, code: Code) -> Edits:
    """The condition negated."""
    yield f"if not ({short(node.test)})", changed(node, test=ast.UnaryOp(ast.Not(), node.test))


@usual("branch", ast.IfExp)
def branch(node: ast.IfExp, code: Code) -> Edits:
    """Always the same branch."""
    yield f"{short(node)} → {short(node.body, 40)}", node.body
    yield f"{short(node)} → {short(node.orelse, 40)}", node.orelse


@usual("if", ast.If)
def if_statement(node: ast.If, code: Code) -> Edits:
    """An if that is left out, or whose body always runs."""
    if any(isinstance(s, ast.Raise) for s in node.body):
        yield f"no error for {short(node.test)}", node.orelse or [ast.Pass()]
    else:
        yield f"if {short(node.test)} left out", node.orelse or [ast.Pass()]
        yield f"if {short(node.test)} always", node.body


@usual("filter", ast.comprehension)
def filtered(node: ast.comprehension, code: Code) -> Edits:
    """A comprehension without one of its conditions."""
    for i, test in enumerate(node.ifs):
        yield f"for … without if {short(test)}", changed(node, ifs=without(node.ifs, i))


@usual("error", ast.Raise)
def error(node: ast.Raise, code: Code) -> Edits:
    """An error of a different type, or no error."""
    if node.exc is not None:
        yield "an error of another type", ast.parse("raise RuntimeError('mutant')").body
    around = code.parent.get(node)
    if not (isinstance(around, ast.If) and around.body == [node]):  # else the operator for if makes this change
        yield "no error", [ast.Pass()]


@usual("statement", ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)
def statement(node: ast.stmt, code: Code) -> Edits:
    """A statement left out; its name keeps its old value."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        yield f"left out: {short(node)}", [ast.Pass()]


@usual("loop", ast.For, ast.While)
def loop(node: ast.For | ast.While, code: Code) -> Edits:
    """A loop that runs once, or never."""
    yield f"{short(node, 50)} runs once", changed(node, body=[*node.body, ast.Break()])
    yield f"{short(node, 50)} never runs", [ast.Pass()]


@usual("jump", ast.Break, ast.Continue)
def jump(node: ast.stmt, code: Code) -> Edits:
    """A break or continue left out."""
    yield f"without {short(node)}", [ast.Pass()]


@usual("keyword", ast.Call)
def keyword(node: ast.Call, code: Code) -> Edits:
    """One keyword argument left out. Not ``device``: all cases run on the same device."""
    for i, given in enumerate(node.keywords):
        if given.arg != "device":
            yield f"{short(node)} without {short(given, 40)}", changed(node, keywords=without(node.keywords, i))


@usual("argument", ast.Call)
def argument(node: ast.Call, code: Code) -> Edits:
    """Two neighbouring arguments swapped, or the last one left out."""
    if any(isinstance(a, ast.Starred) for a in node.args):
        return
    name = _last_name(node.func)
    for i in range(len(node.args) - 1):
        if name in COMMUTE or (name in COMMUTE_LAST and i == len(node.args) - 2):
            continue
        order = [*node.args[:i], node.args[i + 1], node.args[i], *node.args[i + 2 :]]
        yield f"{short(node)}: arguments {i + 1} and {i + 2} swapped", changed(node, args=order)
    if node.args and not (name == "nan_to_num" and number(node.args[-1]) == 0):  # 0 is its default
        yield f"{short(node)} without its last argument", changed(node, args=node.args[:-1])


@usual("call", ast.Call)
def called(node: ast.Call, code: Code) -> Edits:
    """The argument without the call: x instead of torch.exp(x) and x.exp().

    Not for x.item(): the judge accepts a tensor of one number instead of that number.
    """
    if _last_name(node.func) == "item":
        return
    if isinstance(node.func, ast.Attribute):
        owner = ast.unparse(node.func.value)
        if owner in MODULES:
            if node.args:
                yield f"{short(node)} → its argument", node.args[0]
        elif owner not in CONSTRUCTORS:
            yield f"{short(node)} → {short(node.func.value, 40)}", node.func.value
    elif isinstance(node.func, ast.Name) and node.args and node.func.id not in ("super", "range", "print"):
        yield f"{short(node)} → its argument", node.args[0]


@usual("name", ast.Call)
def named(node: ast.Call, code: Code) -> Edits:
    """A similar function: mean instead of sum, cos instead of sin, triu instead of tril."""
    if isinstance(node.func, ast.Attribute):
        for other in NAMES.get(node.func.attr, ()):
            yield f"{node.func.attr} → {other} in {short(node)}", changed(node, func=changed(node.func, attr=other))
    elif isinstance(node.func, ast.Name):
        for other in BUILT_IN.get(node.func.id, ()):
            yield f"{node.func.id} → {other} in {short(node)}", changed(node, func=ast.Name(other, ast.Load()))


@usual("transpose", ast.Attribute)
def transpose(node: ast.Attribute, code: Code) -> Edits:
    """Without .mT or .T."""
    if node.attr in ("mT", "T") and isinstance(node.ctx, ast.Load):
        yield f"{short(node)} → {short(node.value)}", node.value


@usual("slice", ast.Slice)
def sliced(node: ast.Slice, code: Code) -> Edits:
    """A bound shifted by one or left out; the step left out."""
    parent = code.parent[node]
    whole = short(code.parent[parent] if isinstance(parent, ast.Tuple) else parent)
    for border in ("lower", "upper"):
        value = getattr(node, border)
        if value is None:
            continue
        if number(value) is None:
            for by, operator in (("+ 1", ast.Add()), ("- 1", ast.Sub())):
                new = ast.BinOp(value, operator, ast.Constant(1))
                yield f"{short(value)} {by} in {whole}", changed(node, **{border: new})
        yield f"without {short(value)} in {whole}", changed(node, **{border: None})
    if node.step is not None:
        yield f"without the step in {whole}", changed(node, step=None)


@usual("results", ast.Return)
def results(node: ast.Return, code: Code) -> Edits:
    """Two results swapped."""
    if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
        yield f"{short(node)}: swapped", ast.Return(changed(node.value, elts=node.value.elts[::-1]))


@usual("default", ast.FunctionDef, ast.Lambda)
def default(node: ast.FunctionDef | ast.Lambda, code: Code) -> Edits:
    """A different default value."""
    positional = [*node.args.posonlyargs, *node.args.args]
    behind = positional[len(positional) - len(node.args.defaults) :]
    for i, (arg, value) in enumerate(zip(behind, node.args.defaults, strict=True)):
        for other in _other_defaults(value):
            defaults = [*node.args.defaults[:i], other, *node.args.defaults[i + 1 :]]
            yield (
                f"{arg.arg}={short(value)} → {short(other)}",
                changed(node, args=changed(node.args, defaults=defaults)),
            )
    for i, (arg, given) in enumerate(zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)):
        for other in _other_defaults(given):
            given_to = [*node.args.kw_defaults[:i], other, *node.args.kw_defaults[i + 1 :]]
            new = changed(node, args=changed(node.args, kw_defaults=given_to))
            yield f"{arg.arg}={short(given) if given else ''} → {short(other)}", new


def _other_defaults(value: ast.expr | None) -> list[ast.expr]:
    is_number = number(value)
    if is_number is not None:
        others = {is_number + 1, is_number * 2} if isinstance(is_number, int) else {is_number * 2}
        return [expression(repr(o)) for o in sorted(others - {is_number})]
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return [ast.Constant(not value.value)]
    return []
