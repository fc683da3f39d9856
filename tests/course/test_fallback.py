"""Messages for mistakes that have no name: the argument, what the code takes it for, and right numbers."""

import inspect

import pytest
import torch
from anatomy.judge import probing
from anatomy.program import records

from autograder import exercises
from autograder.messages import verdict_on

ID = "start.weighted_average"


def right(values, weights):
    return weights @ values / weights.sum()


def messages(*functions, of=ID):
    return [m.message for m in verdict_on(of, functions).mistakes]


# ── findings from calls with changed arguments ───────────────────────────────────────────────────────────────────────


def wrong(exercise_id, **changed):
    """Messages for a reference with some functions replaced. changed: target → f(right, *args)."""
    exercise = exercises.get(exercise_id)
    functions = exercise.functions(exercise.reference)
    for name, f in changed.items():
        right = functions[name]
        made = lambda *args, _f=f, _right=right, **kwargs: _f(_right, *args, **kwargs)
        made.__signature__ = inspect.signature(right)
        functions[name] = made
    return [m.message for m in verdict_on(exercise_id, list(functions.values())).mistakes]


def unnamed(monkeypatch):
    """Turns the naming of known mistakes off."""
    from anatomy.judge import naming

    monkeypatch.setattr(naming, "named", lambda *args: None)
    monkeypatch.setattr(naming, "in_part", lambda *args: None)


@pytest.mark.parametrize(
    "exercise_id, changed, words",
    [
        (
            "position.looking_back",
            {"looking_back": lambda f, back, d, base=1e4: f(back + 1, d, base)},
            "as if back were one larger",
        ),
        (
            "attention.masked_softmax",
            {"masked_softmax": lambda f, scores, mask: f(scores, ~mask)},
            "True and False had changed places in mask",
        ),
        (
            "rope.apply_scaled_rope",
            {"apply_scaled_rope": lambda f, x, p, t, temperature=1.0: f(x, p, t, temperature**2)},
            "as if temperature were its square",
        ),
    ],
)
def test_what_the_code_takes_an_argument_for(exercise_id, changed, words, monkeypatch):
    unnamed(monkeypatch)
    assert words in " ".join(wrong(exercise_id, **changed))


@pytest.mark.parametrize(
    "exercise_id, changed, words",
    [
        ("norm.layer_norm", {"layer_norm": lambda f, x, w, b, eps=1e-5: f(x, w, b)}, "does not depend on eps"),
        ("norm.layer_norm", {"layer_norm": lambda f, x, w, b, eps=1e-5: f(x, w, b * 0, eps)}, "not depend on bias"),
        (
            "position.looking_back",
            {"looking_back": lambda f, back, d, base=1e4: f(1, d, base)},
            "does not depend on back",
        ),
    ],
)
def test_numbers_that_are_ignored_are_named(exercise_id, changed, words, monkeypatch):
    unnamed(monkeypatch)
    assert words in " ".join(wrong(exercise_id, **changed))


def test_one_number_that_comes_out_right_says_nothing_of_arguments():
    def case(n):
        step = {"call": "square", "on": None, "method": None, "args": {"list": [n]}, "kwargs": {"dict": []}}
        expected = {"results": [{"value": n * n}], "used": [], "mutated": []}
        return records.CaseRecord(f"{n}", "a square", 1.0, {"steps": [step]}, {}, {"expected": (expected, {})}, {})

    def said(*numbers):
        listed = [case(n) for n in numbers]
        record = records.ExerciseRecord("x.y", "u", "t", 1.0, ["square"], "square(n)", [], "", {}, listed)
        return probing._exchanged(record, {"square": lambda n: (n + 1) ** 2}, [False] * len(numbers))

    assert said(3) is None and said(3, 5).message == "Your code behaves as if n were one larger."


def test_what_is_printed_while_probing_is_not_shown(capsys):
    def loud(values, weights):
        print("here")
        return values.mean(0) + values[0] ** 2

    record = records.load(ID)
    from anatomy.judge import judging
    from anatomy.program import runner

    outcomes = [runner.run_program(c.program, c.tensors, {"weighted_average": loud}) for c in record.cases]
    before = capsys.readouterr().out.count("here")
    probing.add_findings(record, {"weighted_average": loud}, judging.judge(record, outcomes))
    assert before == len(record.cases) and capsys.readouterr().out == ""


# ── messages that the numbers are right ──────────────────────────────────────────────────────────────────────────────


def test_right_numbers_of_another_dtype():
    assert (
        "The numbers are right, but the result has dtype float64"
        in messages(lambda values, weights: right(values, weights).double())[0]
    )
    said = messages(lambda values, weights: (right(values, weights) * 2).double())[0]
    assert "dtype float64" in said and "The numbers are right" not in said


@pytest.mark.parametrize("kind", ["cost", "gradient"])
def test_right_numbers_that_cost_too_much_or_carry_no_gradient(kind):
    from anatomy.judge import diagnosis
    from anatomy.judge.compare import Difference

    record = records.load(ID)
    problems = [Difference(kind, "your code does twice the work", step=0)] + [None] * (len(record.cases) - 1)
    outcomes = [c.outcomes["expected"] for c in record.cases]
    said = diagnosis.generic(record, outcomes, problems)[0]
    assert (
        said.name == f"generic.{kind}" and said.message == "The numbers are right, but your code does twice the work."
    )


def test_which_gradients_are_wrong_is_said():
    exercise = exercises.get("ffn.gated")

    class Cut(exercise.reference):
        def forward(self, x):
            gate = self.gate_proj.weight
            self.gate_proj.weight = torch.nn.Parameter(gate.detach(), requires_grad=False)
            try:
                return super().forward(x)
            finally:
                self.gate_proj.weight = gate

    said = " ".join(messages(Cut, of=exercise.id))
    assert "numbers are right" in said and "gate_proj.weight" in said


def test_results_in_another_order_are_told(monkeypatch):
    unnamed(monkeypatch)
    said = wrong("attention.logit_variance", logit_variance=lambda f, *args: f(*args)[::-1])
    assert "yours are the second and first of those asked for" in said[0]


def test_another_error_than_the_one_asked_for(monkeypatch):
    unnamed(monkeypatch)

    def asserts(f, x, n_heads):
        assert x.shape[-1] % n_heads == 0
        return f(x, n_heads)

    said = wrong("attention.split_heads", split_heads=asserts)[0]
    assert "An assert raises AssertionError" in said and "only the kind of error is not" in said


def test_a_check_that_refuses_what_is_allowed(monkeypatch):
    unnamed(monkeypatch)

    def strict(values, weights):
        if len(values) > 1:
            raise ValueError("too many")
        return right(values, weights)

    assert "Your own check refuses here what is allowed" in messages(strict)[0]


def test_a_float_for_a_count_is_right_but_for_its_type():
    from anatomy.judge import wrong_form

    assert "The number is right; count with //" in wrong_form.of_type("The result is the float 7.0.", 7, 7.0).message
    assert "is right" not in wrong_form.of_type("The result is a float.", 7, 8.0).message


def test_extra_points_are_called_so():
    from anatomy.judge.verdict import Verdict

    assert "passed (2 extra points)" in Verdict("x.y", True, 2.0, 2.0, extension=True).text()
    assert "passed</b> (1 extra point)" not in Verdict("x.y", True, 1.0, 1.0).html()
    assert "(1 extra point)" in Verdict("x.y", True, 1.0, 1.0, extension=True).html()
    assert Verdict.from_dict(Verdict("x.y", True, 1.0, 1.0, extension=True).to_dict()).extension
