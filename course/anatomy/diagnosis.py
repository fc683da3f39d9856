"""What can be said of a wrong result that no fingerprint fits: claims that hold in every failed case, or none."""

import re
from collections.abc import Sequence

import torch

from . import advice, contrast, relations
from .codec import Memory, Opaque
from .compare import Difference, difference
from .naming import expects_error, functions_of
from .records import ExerciseRecord
from .runner import Outcomes
from .verdict import Mistake

_PLAIN = ("missing", "signature", "mutated", "length", "keys", "expression", "gradient")
_WORK = "Work the smallest failing case by hand, and print each intermediate value."


def generic(
    record: ExerciseRecord,
    outcomes: Outcomes,
    problems: Sequence[Difference | None],
    memory: Memory | None = None,
) -> list[Mistake]:
    """One or two Mistakes for a failed check: what is wrong, then where. Never raises.

    record: ExerciseRecord. outcomes: as for ``judging.judge``. problems: for each case its Difference, or None; at
    least one is a Difference. memory: where decoded values are kept.
    """
    try:
        failure = _Failure(record, outcomes, problems, memory or Memory())
        main = failure.main()
    except Exception:  # an outcome of a hostile process that only fails when looked at closely
        problem = next(p for p in problems if p is not None)
        return [Mistake(f"generic.{problem.kind}", _sentence(problem.sentence or "The result is wrong"))]
    try:
        more = failure.more(main.name)
    except Exception:
        more = ""
    return [main, Mistake("generic.where", more)] if more else [main]


class _Failure:
    """The first failed case, among the cases of the same function."""

    def __init__(self, record, outcomes, problems, memory):
        self.record, self.outcomes, self.problems, self.memory = record, outcomes, problems, memory
        self.first = next(i for i, p in enumerate(problems) if p is not None)
        self.case, self.problem = record.cases[self.first], problems[self.first]
        functions = functions_of(self.case)
        # Cases of another function, or that expect an error, have nothing to say about this one's numbers.
        self.same = [i for i, c in enumerate(record.cases) if functions_of(c) == functions and not expects_error(c)]
        self.failed = [i for i in self.same if problems[i] is not None] or [self.first]
        self.passed = [i for i in self.same if problems[i] is None]

    def main(self):
        """The Mistake that says what is wrong."""
        kind = self.problem.kind
        if kind == "not_written":
            return Mistake("generic.not_written", _not_written(self.record, self.case, self._error(), self._at()))
        if kind == "raised":
            return Mistake("generic.raised", advice.raised(self.problem, *self._error()[:2]))
        if kind == "raises":
            return Mistake("generic.raises", self._raises())
        if kind in _PLAIN:
            return Mistake(f"generic.{kind}", _sentence(self.problem.sentence) + self._hint())
        if kind == "type":
            return Mistake("generic.type", _sentence(self.problem.sentence) + self._type_hint())
        if kind == "shape":
            return self._shape()
        if kind == "dtype":
            return Mistake(
                "generic.dtype",
                _sentence(self.problem.sentence) + f" Cast it to {self.problem.expected} before you return it.",
            )
        if kind == "nan":
            return Mistake(
                "generic.nan",
                _sentence(self.problem.sentence) + " Look for 0/0, ∞ − ∞, or the exponential of a large number.",
            )
        return self._values()

    def more(self, name):
        """Sentences on which function, which cases and which entries; empty where nothing is sure."""
        if name in ("generic.not_written", "generic.missing", "generic.signature"):
            return ""
        parts = [self._right_functions(), self._raised_elsewhere()]
        if name not in ("generic.raises", "generic.mutated", "generic.type"):
            parts += [self._contrast(), self._in_place(name)]
        if name in ("generic.partly", "generic.values", "generic.nan", "generic.nearly", "generic.order"):
            parts.append(self._where())
        return " ".join(p for p in parts if p)

    def _error(self):
        return next((r["raises"] for r in self.outcomes[self.first][0]["results"] if "raises" in r), ["", "", ""])

    def _at(self):
        return next((i for i, r in enumerate(self.outcomes[self.first][0]["results"]) if "raises" in r), 0)

    def _raises(self):
        """An error that was asked for did not come."""
        told = _sentence(self.problem.sentence)
        others = all(expects_error(c) for c, p in zip(self.record.cases, self.problems, strict=True) if p is not None)
        if not others:
            return told
        return f"{told} All numbers are right; only the check of what comes in is missing: {self.case.shows}."

    def _hint(self):
        if self.problem.kind != "length":
            return ""
        return " Count what you return, in the order of the text."

    def _type_hint(self):
        if self.problem.sentence.endswith("is a return missing?"):
            return " print only shows a value, return hands it back."
        want, got = self._pair(self.first)[1:] or (None, None)
        if isinstance(want, torch.Tensor):
            if isinstance(got, list | tuple) and got and all(isinstance(v, torch.Tensor) for v in got):
                for i, v in enumerate(got[:8]):
                    if difference(want, v, rtol=1e-4) is None:
                        return f" Item {i} of it is right: return that one alone."
                if want.ndim and want.shape[:1] == (len(got),):
                    return " Put the items together with torch.stack or torch.cat."
            if (
                isinstance(got, list | tuple)
                or isinstance(got, Opaque)
                and got.type_name.startswith(("list ", "tuple "))
            ):
                return " Stay with tensors all the way, or wrap it at the end: torch.tensor(…), torch.stack(…)."
            if isinstance(got, bool | int | float):
                return " Leave out .item() and float(…), or wrap it: torch.tensor(…)."
            if isinstance(got, Opaque) and "numpy" in got.type_name:
                return " Use torch's functions in place of numpy's; torch.from_numpy(…) turns an array into a tensor."
        if isinstance(want, list | tuple) and isinstance(got, torch.Tensor):
            return " Return the values one after the other: return a, b."
        if isinstance(want, float | int) and isinstance(got, torch.Tensor):
            return " One number is asked for: sum or average over all axes."
        if isinstance(want, float | int) and isinstance(got, list | tuple):
            return " Return one number. Which of these is asked for?"
        return ""

    def _shape(self):
        want, got = self._pair(self.first)[1:]
        told, theirs, right = _sentence(self.problem.sentence), tuple(got.shape), tuple(want.shape)
        if got.ndim == want.ndim and sorted(theirs) == sorted(right):
            return Mistake(
                "generic.axes",
                f"The axes are in another order: {theirs} instead of {right}. Look at "
                "transpose, permute and the order of reshape.",
            )
        if got.numel() == want.numel():
            return Mistake(
                "generic.reshape",
                f"The right number of values in the wrong shape: {theirs} instead of {right}." + _ones(theirs, right),
            )
        if got.ndim == 0:
            return Mistake(
                "generic.shape", f"{told} One number is left: does a sum or mean run over all axes? Say which: dim=-1."
            )
        if got.ndim == want.ndim - 1:
            return Mistake(
                "generic.shape", f"{told} One axis was lost: in a sum, a mean or an index. keepdim=True keeps it."
            )
        if got.ndim > want.ndim:
            return Mistake(
                "generic.shape",
                f"{told} It has {got.ndim - want.ndim} axis too many: broadcasting adds "
                "axes on the left. Print the shapes at each line.",
            )
        return Mistake("generic.shape", f"{told} Print the shapes at each line.")

    def _pair(self, i):
        """(path, expected, got) of the first value that differs in a case; () where there is none to compare."""
        (want, want_tensors), (have, have_tensors) = self.record.cases[i].outcomes["expected"], self.outcomes[i]
        for n, (step, theirs) in enumerate(zip(want["results"], have["results"], strict=True)):
            for part in ("value", "grads"):
                if part in step and part in theirs:
                    found = _leaf(
                        self.memory.value(step[part], want_tensors),
                        self.memory.value(theirs[part], have_tensors),
                        (n, part),
                    )
                    if found:
                        return found
        return ()

    def _values(self):
        found = self._relation()
        if found:
            return Mistake(f"generic.{found[0]}", found[1])
        items = self._items()
        if not self.passed:
            return Mistake("generic.values", f"Type and shape are right, the numbers are not. {items or _WORK}")
        right = self.record.cases[self.passed[0]].shows
        return Mistake(
            "generic.partly",
            f"Right in {len(self.passed)} of {len(self.same)} cases (for example: {right})"
            f", but not in the one below. {items or 'What is different about its input?'}",
        )

    def _items(self):
        """Which of several results are right wherever the others are not."""
        right = None
        for i in self.failed:
            (want, tensors), (have, theirs) = self.record.cases[i].outcomes["expected"], self.outcomes[i]
            pairs = (want, tensors), (have, theirs)
            want, have = (self.memory.value(o["results"][-1].get("value"), t) for o, t in pairs)
            if not isinstance(want, tuple) or not isinstance(have, list | tuple) or not 1 < len(want) == len(have) < 5:
                return ""
            same = [difference(a, b, rtol=1e-4) is None or _close(a, b) for a, b in zip(want, have, strict=True)]
            right = same if right is None else [a and b for a, b in zip(right, same, strict=False)]
        if not right or not any(right) or all(right):
            return ""
        names = ("first", "second", "third", "fourth")
        good, bad = ([n for n, r in zip(names, right, strict=False) if r is k] for k in (True, False))
        return (
            f"Of the {len(right)} results the {_listed(good)} {'is' if len(good) == 1 else 'are'} always right, "
            f"the {_listed(bad)} {'is' if len(bad) == 1 else 'are'} not."
        )

    def _raised_elsewhere(self):
        """Larger cases may say by an error what is wrong with the small one."""
        if self.problem.kind in ("raised", "raises"):
            return ""
        at = next((i for i in self.failed if self.problems[i].kind == "raised"), None)
        if at is None:
            return ""
        error = next(r["raises"] for r in self.outcomes[at][0]["results"] if "raises" in r)
        return "In another case: " + advice.raised(self.problems[at], *error[:2]).replace("Your code", "your code", 1)

    def _relation(self):
        """A relation that holds in all failed cases of this function."""
        if not self.failed or any(self.problems[i].kind != "values" for i in self.failed):
            return None
        pairs, inputs, paths = [], [], set()
        for i in self.failed:
            path, want, got = self._pair(i)
            want, got = _as_tensor(want), _as_tensor(got)
            if want is None or got is None or want.shape != got.shape:
                return None
            paths.add(path[1:])
            pairs.append((want, got))
            inputs.append(list(self.record.cases[i].tensors.values()))
        return relations.relation(pairs, inputs) if len(paths) == 1 else None

    def _right_functions(self):
        """Which of several functions pass everything, and which one is left."""
        targets = self.record.targets
        if len(targets) < 2:
            return ""
        right, wrong = set(), set()
        for c, p in zip(self.record.cases, self.problems, strict=True):
            if p is None:
                right |= functions_of(c)
            else:
                wrong |= _blamed(c, p)
        fine, wrong = (
            [t for t in targets if t in right - wrong],
            [t for t in targets if t in _blamed(self.case, self.problem)],
        )
        if not fine or not wrong:
            return ""
        return (
            f"{_listed(fine)} {'passes' if len(fine) == 1 else 'pass'} everything; the mistake is in {_listed(wrong)}."
        )

    def _contrast(self):
        cases = self.record.cases
        told = contrast.told([cases[i] for i in self.failed], [cases[i] for i in self.passed], self.record)
        return f"Of the cases tried, those fail in which {told}, and no others." if told else ""

    def _in_place(self, name):
        if name == "generic.raised" or not self.outcomes[self.first][0].get("mutated"):
            return ""
        return "Your code also writes into its input; work on a new tensor (x = x * 2, not x *= 2)."

    def _where(self):
        """Where the largest failed case is wrong: two entries differ in some simple pattern by chance."""
        best = ("", 0)
        for i in self.failed:
            found = self._pair(i) if self.problems[i].kind in ("values", "nan") else ()
            want, got = (_as_tensor(v) for v in found[1:]) if found else (None, None)
            if want is not None and got is not None and want.shape == got.shape and want.numel() > max(best[1], 3):
                best = (relations.where(want, got) or "", want.numel())
        if not best[0]:
            return ""
        return f"The entries are wrong {best[0]}" + (" (in the largest failed case)." if len(self.failed) > 1 else ".")


def _blamed(case, problem):
    """The function whose step went wrong in a failed case; all that it calls where this is not known."""
    steps = case.program["steps"]
    step = steps[problem.step] if problem.step is not None else {}
    step = steps[step["on"]] if step.get("on") is not None else step
    name = step.get("call") or step.get("new")
    return frozenset([name]) if name else functions_of(case)


def _listed(names):
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def _leaf(want, got, path):
    """(path, expected, got) of the first part that differs; lists of numbers count as one part."""
    if difference(want, got, rtol=1e-4) is None or _close(want, got):
        return None
    deeper = isinstance(want, list | tuple) and isinstance(got, list | tuple) and len(want) == len(got)
    if deeper and _as_tensor(want) is None:
        for i, (a, b) in enumerate(zip(want, got, strict=True)):
            found = _leaf(a, b, (*path, i))
            if found:
                return found
    if isinstance(want, dict) and isinstance(got, dict) and set(want) == set(got):
        for key in want:
            found = _leaf(want[key], got[key], (*path, key))
            if found:
                return found
    return path, want, got


def _close(a, b):
    return (
        isinstance(a, torch.Tensor)
        and isinstance(b, torch.Tensor)
        and a.shape == b.shape
        and a.dtype == b.dtype
        and torch.allclose(a.double(), b.double(), 1e-4, 1e-6, equal_nan=True)
        and not a.is_complex()
    )


def _as_tensor(value):
    """A number, or a list of numbers, as a tensor; None for everything else."""
    if isinstance(value, torch.Tensor):
        return None if value.is_complex() else value
    if isinstance(value, bool) or not isinstance(value, int | float | list | tuple):
        return None
    items = value if isinstance(value, list | tuple) else [value]
    if not items or any(isinstance(v, bool) or not isinstance(v, int | float) for v in items):
        return None
    t = torch.tensor([float(v) for v in items], dtype=torch.float64)
    return t if isinstance(value, list | tuple) else t[0]


def _ones(theirs, right):
    """What to do where only axes of length 1 differ."""
    if [n for n in theirs if n != 1] != [n for n in right if n != 1]:
        return " Look at the order of reshape and transpose."
    return (
        " An axis of length 1 is too many: squeeze it, or leave out keepdim or None."
        if len(theirs) > len(right)
        else " An axis of length 1 is missing: keepdim=True, unsqueeze or None puts it there."
    )


def _not_written(record, case, error, at):
    """Which function is missing: the one called, another of the exercise's, or an earlier exercise that it uses."""
    step = case.program["steps"][at] if at < len(case.program["steps"]) else {}
    name = step.get("new") or step.get("call") or record.targets[0]
    other = str(error[1]).partition(":")[0]  # a released stub says "exercise.id: …"
    if other != record.id and re.fullmatch(r"[a-z_]+\.[a-z0-9_]{1,40}", other):
        return f"{name} uses your answer to {other}, which is not written yet. Solve that exercise first."
    return f"{name} is not written yet: replace the line that raises NotImplementedError."


def _sentence(text):
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."
