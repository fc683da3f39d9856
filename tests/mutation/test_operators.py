"""Each operator makes the changes that its name says, on small sources."""

import ast

import pytest
import torch

from autograder.mutation import helpers
from autograder.mutation.changes import Code, Composer, mutants
from autograder.mutation.field import OF_FIELD
from autograder.mutation.operators import USUAL
from autograder.mutation.subjects import solution_lines

# operator, an answer's body, one of the bodies that the operator makes from it
MADE = [
    ("constant", "return x + 2", "return x + 3"),
    ("constant", "return x.sum(-1)", "return x.sum(-2)"),
    ("constant", "return x / 0.5", "return x / 0.0"),
    ("flag", "return x.sum(0, keepdim=True)", "return x.sum(0, keepdim=False)"),
    ("einsum", "return einsum('ij,jk->ik', x, y)", "return einsum('ij,jk->ki', x, y)"),
    ("compare", "return x < y", "return x <= y"),
    ("arithmetic", "return x / y", "return x // y"),
    ("arithmetic", "return x // y", "return -(-x // y)"),
    ("augmented", "x += y", "x -= y"),
    ("operand", "return x * y", "return y"),
    ("swapped", "return x - y", "return y - x"),
    ("sign", "return ~x", "return x"),
    ("clause", "return x and y", "return y"),
    ("condition", "return x if y else 1", "return x if not y else 1"),
    ("branch", "return x if y else 1", "return 1"),
    ("if", "if x:\n    raise ValueError", "pass"),
    ("if", "if x:\n    y = 1", "y = 1"),
    ("filter", "return [i for i in x if i]", "return [i for i in x]"),
    ("error", "raise ValueError", "raise RuntimeError('mutant')"),
    ("statement", "x = y\nreturn x", "pass\nreturn x"),
    ("loop", "for i in x:\n    y = i", "for i in x:\n    y = i\n    break"),
    ("jump", "while x:\n    break", "while x:\n    pass"),
    ("keyword", "return x.sum(dim=1)", "return x.sum()"),
    ("argument", "return x.view(y, 7)", "return x.view(7, y)"),
    ("argument", "return x.view(y, 7)", "return x.view(y)"),
    ("call", "return torch.exp(x)", "return x"),
    ("name", "return x.mean(1)", "return x.sum(1)"),
    ("transpose", "return x.mT", "return x"),
    ("slice", "return x[y:]", "return x[y + 1:]"),
    ("slice", "return x[::2]", "return x[:]"),
    ("results", "return (x, y)", "return (y, x)"),
    ("ignored", "return x", "x = mutation.zeros(x)\nreturn x"),
    ("result", "return x", "return mutation.detach(x)"),
    ("result", "return x", "return mutation.int_to_float(x)"),
    ("in_place", "return x + y", "return mutation.add_(x, y)"),
    ("in_place", "return x.exp()", "return x.exp_()"),
    ("unbiased", "return x.mean(1)", "return mutation.mean_unbiased(x, 1)"),
    ("reversed", "return torch.arange(x)", "return torch.arange(x).flip(0)"),
    ("window", "return range(x)", "return range(x - 1)"),
    ("eps", "return torch.sqrt(x + eps)", "return x.sqrt() + eps"),
    ("eps", "return (x + eps) ** -0.5", "return 1 / (x ** 0.5 + eps)"),
    ("made", "return torch.zeros(x)", "return torch.zeros(x, dtype=torch.float64)"),
]


def made(source):
    """(operator, text) of each mutant of a source."""
    code = Code(ast.parse(source).body, lambda node, _: True)
    return [(m.operator, m.after) for m in mutants("toy.x", "solution", code, [*USUAL, *OF_FIELD])]


def function(body, arguments="x, y"):
    return f"def f({arguments}):\n" + "\n".join(f"    {line}" for line in body.split("\n"))


@pytest.mark.parametrize("operator, before, after", MADE, ids=[f"{o}: {a}" for o, _, a in MADE])
def test_it_makes_what_it_says(operator, before, after):
    assert (operator, function(after)) in made(function(before))


def test_no_operator_is_left_out():
    apart = {"default", "precision"}  # tested below
    assert {o.name for o in [*USUAL, *OF_FIELD]} == {operator for operator, *_ in MADE} | apart


def test_defaults_are_changed_and_put_in_the_place_of_arguments():
    texts = [after.split("\n") for _, after in made("def f(x, *, eps=0.5):\n    return x + eps")]
    assert ["def f(x, *, eps=1.0):", "    return x + eps"] in texts
    assert ["def f(x, *, eps=0.5):", "    eps = mutation.default(eps, 0.5)", "    return x + eps"] in texts


def run(source, operator, says, *args):
    code = Code(ast.parse(source).body, lambda node, _: True)
    (found,) = [
        m for m in mutants("toy.x", "solution", code, [*USUAL, *OF_FIELD]) if (m.operator, m.says) == (operator, says)
    ]
    space = {"mutation": helpers}
    exec(found.code, space)
    return space["f"](*args)


def test_precision_rounds_inside_and_gives_back_the_dtype():
    x = torch.tensor([1.0 + 2.0**-30], dtype=torch.float64)
    for source in ("def f(x):\n    if True:\n        return x * 1", "f = lambda x: x * 1"):
        name = "f" if source.startswith("def") else "lambda"
        result = run(source, "precision", f"{name}: computes in float32", x)
        assert result.dtype == torch.float64 and result.item() == 1.0


def test_what_is_said_in_errors_docstrings_and_annotations_stays():
    source = "def f(x: 'a1'=None) -> 3:\n    'say 1'\n    raise ValueError(f'{x + 1} is 2')"
    assert {operator for operator, _ in made(source)} <= {"ignored", "precision", "error"}


def test_equal_mutants_are_made_once():
    for source in (
        function("return x[0] + 1 - y"),
        "f = lambda x: x + 1",
        function("if x < 1:\n    return y\nreturn 0"),
    ):
        texts = [after for _, after in made(source)]
        assert len(set(texts)) == len(texts) > 5
        assert source not in texts


def test_the_tree_is_as_before():
    tree = ast.parse(function("for i in range(x):\n    y = y.sum(-1)[1:] if y > 2 else -x\nreturn (x, y)"))
    before = ast.dump(tree)
    assert len(list(mutants("toy.x", "solution", Code(tree.body, lambda *_: True), [*USUAL, *OF_FIELD]))) > 30
    assert ast.dump(tree) == before


def test_two_changes_at_once_are_both_made_or_refused():
    source = function("y = x - 3\nreturn y * 2")
    code = Code(ast.parse(source).body, lambda node, _: True)
    made = {m.after: m for m in mutants("toy.x", "solution", code, [*USUAL, *OF_FIELD])}
    change = lambda old, new: made[ast.unparse(ast.parse(source.replace(old, new)))]
    plus, thrice = change("x - 3", "x + 3"), change("y * 2", "y * 3")
    composer, space = Composer([*USUAL, *OF_FIELD]), {}
    (both,) = composer.both(plus, thrice).values()
    exec(both, space)
    assert space["f"](5, 0) == (5 + 3) * 3
    for same_place in ("3 - x", "x - 4"):
        assert composer.both(plus, change("x - 3", same_place)) is None


def keys(source, **changed):
    names = {"exercise": "toy.x", "subject": "solution"} | changed
    code = Code(ast.parse(source).body, lambda node, _: True)
    return {m.key for m in mutants(**names, code=code, operators=[*USUAL, *OF_FIELD])}


def test_keys_survive_edits_elsewhere_and_tell_everything_apart():
    f, g = function("return x - y"), "def g(x):\n    return x"
    assert keys(f) <= keys(f"\n\n{g}\n\n{f}")
    of_class = lambda text: keys(
        f"class A:\n    def one(self, x):\n        return x + 1\n    def two(self):\n        {text}"
    )
    assert of_class("pass") and of_class("pass") <= of_class("self.y = 2")
    assert not keys(f) & keys(f, exercise="toy.y") and not keys(f) & keys(f, subject="alternative g")
    equal = [after for _, after in made(f) if (_, after) in made(f.replace("x - y", "x * y"))]
    assert len(keys(f) & keys(f.replace("x - y", "x * y"))) == len(equal)


def test_helpers_count_what_they_change():
    x = torch.ones(2)
    cases = [
        (helpers.detach, x, x.clone().requires_grad_(True)),
        (helpers.to_float32, x, x.double()),
        (helpers.to_float64, x.double(), x),
        (helpers.int_to_float, (0.5, True), (1, True)),
        (helpers.zeros, torch.zeros(2), x),
        (helpers.ones, (x > 0), (x > 1)),
        (helpers.narrowed, [x], [x.double()]),
    ]
    for change, same, other in cases:
        for value, effects in ((same, 0), (other, 1)):
            helpers.effects = 0
            change(value)
            assert helpers.effects == effects, change
    helpers.effects = 0
    helpers.default((lambda v: v + 1), (lambda v: v + 1))
    assert helpers.effects == 0


def test_lines_of_the_solution():
    assert solution_lines("a\n### BEGIN SOLUTION\nb\nc\n### END SOLUTION\nd") == {3, 4}
