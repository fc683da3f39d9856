"""Gradients are judged in each case that asks for them; where a text says "by hand", autograd is named and refused."""

import pytest
import torch
from anatomy.judge import judging
from anatomy.program import runner

from autograder import exercises
from autograder.judge.drawing import draw_record
from autograder.judge.spec import Case, Exercise, Program, call


def parts(x, weight):
    """Two results that have gradients and one that has none."""
    return weight * x, (weight * x).sum(-1), (x > 0).sum()


def toy(function=parts, *cases, **about):
    return Exercise(
        id="toy.parts",
        unit="01-attention",
        title="Toy",
        points=2,
        difficulty=1,
        minutes=1,
        signature="parts(x, weight)",
        reference=function,
        cases=list(cases)
        or [
            Case("values", "the values of all parts", lambda g: call(g.randn(2, 3), g.randn(3))),
            Case("gradients", "gradients of all parts", lambda g: call(g.randn(2, 3), g.randn(3), grad=[0, 1])),
        ],
        mutants=[],
        alternatives=[],
        **about,
    )


def verdict_on(exercise, *answer):
    record = draw_record(exercise)
    named = dict(zip(exercise.targets, answer, strict=True))
    return judging.judge(
        record, [runner.run_program(c.program, c.tensors, named, record.forbidden) for c in record.cases]
    )


def test_every_floating_result_is_trained_through():
    assert verdict_on(toy(), parts).passed
    assert verdict_on(toy(), lambda x, weight: (x * weight, (x * weight).sum(-1), (x > 0).sum())).passed


def test_a_given_gradient_is_not_stretched_over_a_result_of_another_shape():
    """Raises the error of ``backward``, which is how a mistake that returns one row instead of all is recorded."""
    case = Case("given", "a gradient that is given", lambda g: call(g.randn(2, 3), grad=[0], cotangent=g.randn(2, 3)))
    drawn = draw_record(toy(lambda x: 2 * x, case)).cases[0]
    run = lambda f: runner.run_program(drawn.program, drawn.tensors, {"parts": f})[0]["results"][0]
    assert "value" in run(lambda x: 2 * x)
    assert run(lambda x: 2 * x[:1])["raises"][:2] == [
        "RuntimeError",
        "Mismatch in shape: grad_output[0] has a shape of torch.Size([2, 3]) and output[0] has a shape of "
        "torch.Size([1, 3]).",
    ]


@pytest.mark.parametrize("cut", ["detach", "numpy", "tensor", "no_grad"])
def test_a_cut_result_is_told_and_keeps_the_other_points(cut):
    cuts = {
        "detach": lambda t: t.detach(),
        "numpy": lambda t: torch.from_numpy(t.detach().numpy()),
        "tensor": lambda t: torch.tensor(t.tolist()),
        "no_grad": lambda t: t.data,
    }

    def second_cut(x, weight):
        a, b, c = parts(x, weight)
        return a, cuts[cut](b), c

    verdict = verdict_on(toy(), second_cut)
    assert verdict.score == 1 and not verdict.passed
    assert "second of the 2 floating results" in verdict.text() and "the numbers are right" in verdict.text().lower()
    all_cut = verdict_on(toy(), lambda x, weight: tuple(cuts[cut](t) if t.ndim else t for t in parts(x, weight)))
    assert all_cut.score == 1 and "cut off" in all_cut.text()


def test_one_argument_cut_off_is_told_by_its_place():
    verdict = verdict_on(toy(), lambda x, weight: parts(x, weight.detach()))
    assert not verdict.passed and "the second argument" in verdict.text()


def test_a_gradient_that_is_wrong_is_no_value_that_is_wrong():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad

    verdict = verdict_on(toy(), lambda x, weight: parts(Doubled.apply(x), weight))
    assert verdict.score == 1 and "gradient" in verdict.text()


def test_all_parameters_of_a_module_are_judged():
    class Two(torch.nn.Module):
        def __init__(self, cut=False):
            super().__init__()
            self.a, self.b = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))
            self.cut = cut

        def forward(self, x):
            return x * self.a, x * (self.b.detach() if self.cut else self.b)

    def case(g):
        return (
            Program().new("parts", state={"a": g.randn(3), "b": g.randn(3)}).call(g.randn(2, 3), params=True, grad=[0])
        )

    exercise = toy(Two, Case("gradients", "gradients of both parameters", case))
    exercise.signature = "parts()"
    assert verdict_on(exercise, Two).passed
    verdict = verdict_on(exercise, lambda: Two(cut=True))
    assert not verdict.passed and "parameter b" in verdict.text()


def test_autograd_works_inside_an_answer_as_it_does_in_a_notebook():
    def slope(x):
        return 2 * x

    def by_backward(x):
        y = x.clone().requires_grad_()
        (y * y).sum().backward()
        return y.grad

    exercise = toy(slope, Case("slope", "the slope of a square", lambda g: call(g.randn(4))))
    exercise.signature = "parts(x)"
    assert verdict_on(exercise, by_backward).passed
    assert verdict_on(exercise, torch.func.grad(lambda x: (x * x).sum())).passed


def leaf(x):
    return x.detach().clone().requires_grad_()


def by_backward(f, x):
    y = leaf(x)
    f(y).sum().backward()
    return y.grad


def by_grad(f, x):
    y = leaf(x)
    return torch.autograd.grad(f(y).sum(), y)[0]


def by_inner_backward(f, x):
    y = leaf(x)
    torch.autograd.backward(f(y).sum())
    return y.grad


WAYS = {
    "Tensor.backward": by_backward,
    "torch.autograd.grad": by_grad,
    "torch.autograd.backward": by_inner_backward,
    "torch.func.grad": lambda f, x: torch.func.grad(lambda y: f(y).sum())(x),
    "torch.func.vjp": lambda f, x: torch.func.vjp(f, x)[1](torch.ones_like(f(x)))[0],
    "torch.func.jacrev": lambda f, x: torch.func.jacrev(lambda y: f(y).sum())(x),
    "torch.func.jvp": lambda f, x: torch.func.jvp(f, (x,), (torch.ones_like(x),))[1],
    "functional.jacobian": lambda f, x: torch.autograd.functional.jacobian(lambda y: f(y).sum(), x),
}


@pytest.mark.parametrize("way", WAYS)
def test_where_it_is_by_hand_every_way_to_autograd_is_named(way):
    exercise = exercises.get("activation.derivatives")
    assert "autograd" in exercise.not_allowed()
    gelu = lambda x: x * 0.5 * (1 + torch.erf(x / 2**0.5))
    answer = [lambda x, f=f: WAYS[way](f, x) for f in (torch.sigmoid, lambda x: x * torch.sigmoid(x), gelu)]
    verdict = verdict_on(exercise, *answer)
    assert verdict.score == 0 and verdict.mistakes[0].name == "forbidden_builtin"
    assert "but autograd ran" in verdict.mistakes[0].message


def test_the_gradient_that_a_case_asks_for_is_not_held_against_the_answer():
    exercise = toy(parts, forbidden=("autograd",), forbidden_message="Write it.")
    assert verdict_on(exercise, parts).passed


@pytest.mark.parametrize("unit", exercises.units())
def test_what_is_forbidden_stands_in_the_text(unit):
    from autograder.notebooks.source import source_notebook

    cells = source_notebook(unit).cells
    for exercise in (e for e in exercises.of_unit(unit) if e.forbidden):
        said = next(c.source for c in cells if c.id.startswith("say-") and exercise.id in c.source)
        for name in exercise.forbidden:
            inner = name.startswith(("_", "native_")) or name.endswith("_")
            assert inner or name in said.split("**Not allowed here:**")[1]
