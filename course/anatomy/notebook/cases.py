"""``case("attention.softmax", 3)``: one case of an exercise, to look at and to run by hand."""

import copy
from collections.abc import Callable
from typing import Any

from torch import Tensor

from ..judge.compare import show
from ..program import codec, records, runner
from ..program.cost import Counts, excess
from ..program.symbolic import Expression
from ..system.translation import _, listed, said


class Case:
    """One case: its inputs and what is expected.

    ``args``, ``kwargs``: of its last call. ``state``: the weights that it loads, by name; None if there are none.
    ``expected``: the value of the last step; if it asks for gradients, a dict of them with the value under
    ``"value"``; if an error is expected, the error's name. Every access gives fresh copies: a function that writes
    into its input does no harm.
    """

    def __init__(self, record: records.ExerciseRecord, number: int) -> None:
        self.exercise, self.number, self._record = record.id, number, record
        self._case = record.cases[number - 1]
        self.shows, self._steps = self._case.shows, self._case.program["steps"]

    @property
    def args(self) -> tuple[Any, ...]:
        """Positional arguments of the last call. Raises ValueError if one is a function of yours."""
        return tuple(self._decoded(self._steps[-1]["args"]))

    @property
    def kwargs(self) -> dict[str, Any]:
        """Keyword arguments of the last call. Raises ValueError if one is a function of yours."""
        return self._decoded(self._steps[-1]["kwargs"])

    @property
    def state(self) -> dict[str, Tensor] | None:
        """dict of weights to load, or None."""
        loaded = [s["state"] for s in self._steps if s.get("state") is not None]
        return {k: self._case.tensors[n].clone() for k, n in loaded[-1].items()} if loaded else None

    @property
    def expected(self) -> Any:
        """The result that the last step should give."""
        outcome, tensors = self._case.outcomes["expected"]
        raised = next((r["raises"][0] for r in outcome["results"] if "raises" in r), None)
        if raised:
            return raised
        tensors = {n: t.clone() for n, t in tensors.items()}
        last = outcome["results"][-1]
        value = _plain(codec.decode(last["value"], tensors))
        return {"value": value, **codec.decode(last["grads"], tensors)} if "grads" in last else value

    def run(self, *functions: Callable[..., Any], call: int | None = None) -> Any:
        """The value that your functions give in this case.

        Args:
            functions: what ``check`` gets, in the same order.
            call: number of the call whose value to return, from 1; default the last.

        Returns:
            The value; a dict like ``expected`` if the call asks for gradients.

        Raises:
            TypeError: the number of functions is not the exercise's. Errors of your functions are raised, too.
        """
        targets = self._record.targets
        if len(functions) != len(targets):
            raise TypeError(
                _("this case needs {names}: {count} given to it, not {count2}").format(
                    names=listed(targets), count=len(targets), count2=len(functions)
                )
            )
        named = dict(zip(targets, functions, strict=True))
        execution = runner.Execution(self._case.program, self._case.tensors, named)
        value, calls = None, 0
        for step in self._steps:
            value, grads = execution.step()
            calls += "call" in step
            if grads is not None:
                value = {"value": value, **grads}
            if calls == call:
                break
        return value

    def cost(self, *functions: Callable[..., Any]) -> Counts:
        """The cost of your functions in this case: dict measure → count.

        Counts the measures that the case limits: of the first call that exceeds a limit, or else of the last limited
        call. Without limits it counts the work, the multiplications and additions, and the largest tensor of the last
        call.

        Args:
            functions: what ``check`` gets, in the same order.

        Raises:
            TypeError: the number of functions is not the exercise's. RuntimeError: the call raised an error.
        """
        targets = self._record.targets
        if len(functions) != len(targets):
            raise TypeError(
                _("this case needs {names}: {count} given to it, not {count2}").format(
                    names=listed(targets), count=len(targets), count2=len(functions)
                )
            )
        steps = copy.deepcopy(self._steps)
        if not any("cost" in s for s in steps):
            steps[-1]["cost"] = {"limits": dict.fromkeys(("work", "flops", "largest"), 0)}
        named = dict(zip(targets, functions, strict=True))
        outcome = runner.run_program({**self._case.program, "steps": steps}, self._case.tensors, named)[0]
        raised = next((r["raises"] for r in outcome["results"] if "raises" in r), None)
        if raised:
            raise RuntimeError(_("the call raised {error}: {message}").format(error=raised[0], message=raised[1]))
        pairs = [
            (s["cost"]["limits"], r["cost"]) for s, r in zip(steps, outcome["results"], strict=True) if "cost" in s
        ]
        limits, counts = next((p for p in pairs if excess(*p)), pairs[-1])
        return {m: counts[m] for m in limits}

    def _decoded(self, tree):
        return codec.decode(tree, runner.laid_out(self._case.program, self._case.tensors), self._lookup)

    def _lookup(self, kind, body):
        if kind == "fn":
            if body in self._record.targets:
                raise ValueError(
                    _("this case passes your own {body}: use .run({names})").format(
                        body=body, names=", ".join(self._record.targets)
                    )
                )
            return runner.FUNCTION_ARGUMENTS[body]
        # A part of an earlier result: the expected one is used instead of yours.
        step, *path = body
        outcome, tensors = self._case.outcomes["expected"]
        value = codec.decode(outcome["results"][step]["value"], {n: t.clone() for n, t in tensors.items()})
        for part in path:
            value = value[part]
        return value

    def __repr__(self) -> str:
        try:
            given = [_short(show(a, 8)) for a in self.args]
            given += [f"{k}={_short(show(v, 8))}" for k, v in self.kwargs.items()]
        except ValueError:
            given = ["…"]
        last = self._steps[-1]
        name = last.get("call") or last.get("new") or (last.get("method") or "m")
        lines = [
            _("{exercise}, case {number} of {count}: {shows}").format(
                exercise=self.exercise,
                number=self.number,
                count=len(self._record.cases),
                shows=said(self.exercise, self.shows),
            ),
            f"  call     {name}({', '.join(given)})",
        ]
        if self.state:
            lines.append("  weights  " + _short(", ".join(f"{k} {tuple(t.shape)}" for k, t in self.state.items())))
        lines += [
            f"  expected {_short(show(self.expected, 8))}",
            _("  Look at .args, .kwargs, .state, .expected, or .run({names}).").format(
                names=", ".join(self._record.targets)
            ),
        ]
        return "\n".join(lines)


def case(exercise_id: str, number: int) -> Case:
    """One case of an exercise, as a Case.

    Args:
        exercise_id: e.g. ``"attention.softmax"``.
        number: from 1, in the order of the verdict's list.

    Raises:
        MissingRecording: unknown exercise or number; the message says which ones there are.
    """
    record = records.recent(exercise_id, with_mistakes=False)
    count = len(record.cases)
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= count:
        raise records.MissingRecording(
            _("{exercise_id} has the cases 1 to {count}; there is no case {number!r}.").format(
                exercise_id=exercise_id, count=count, number=number
            )
        )
    return Case(record, number)


def _short(text, most=500):
    """Cuts off a long text, such as a whole model's weights: the case's attributes hold the rest."""
    if len(text) <= most:
        return text
    return (text[:most].rpartition(", ")[0] or text[:most]) + ", …"


def _plain(value):
    if isinstance(value, Expression):
        return value.to_sympy()
    if isinstance(value, list | tuple):
        return type(value)(_plain(v) for v in value)
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, dict) else value
