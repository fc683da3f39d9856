"""Describes a wrong result that matches no fingerprint, by claims that hold in every failed case."""

import itertools
import re
from collections.abc import Sequence

import torch

from ..program.codec import Memory
from ..program.records import ExerciseRecord
from ..program.runner import Outcomes
from ..system.translation import N_, _, listed_and, said, sentences
from . import common_input, error_advice, places, relations, wrong_form
from .compare import Difference, difference
from .naming import blamed, expects_error, functions_of
from .verdict import Mistake

_PLAIN = ("missing", "signature", "mutated", "untold", "length", "keys", "expression", "gradient", "law", "cost")
_ORDINALS = (N_("first"), N_("second"), N_("third"), N_("fourth"))
_WORK = N_("Work the smallest failing case by hand, and print each intermediate value.")


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
    memory = memory or Memory()
    try:
        return explained(record, outcomes, problems, memory)
    except Exception:  # an outcome of a hostile process that fails only when examined closely
        problem = next(p for p in problems if p is not None)
        return [
            Mistake(f"generic.{problem.kind}", _sentence(problem.sentence or _("The result is wrong"), record.targets))
        ]


def explained(
    record: ExerciseRecord, outcomes: Outcomes, problems: Sequence[Difference | None], memory: Memory
) -> list[Mistake]:
    """As ``generic``, but raises whatever errors a malformed outcome causes."""
    failure = _Failure(record, outcomes, problems, memory)
    main = failure.main()
    more = failure.more(main.name)
    return [main, Mistake("generic.where", more)] if more else [main]


class _Failure:
    """The first failed case, among the cases of the same function."""

    def __init__(self, record, outcomes, problems, memory):
        self.record, self.outcomes, self.problems, self.memory = record, outcomes, problems, memory
        self.first = next(i for i, p in enumerate(problems) if p is not None)
        self.case, self.problem = record.cases[self.first], problems[self.first]
        functions = functions_of(self.case)
        # Cases of another function, or that expect an error, say nothing about this one's numbers.
        self.same = [i for i, c in enumerate(record.cases) if functions_of(c) == functions and not expects_error(c)]
        self.failed = [i for i in self.same if problems[i] is not None] or [self.first]
        self.passed = [i for i in self.same if problems[i] is None]

    def _told(self):
        return _sentence(self.problem.sentence, self.record.targets)

    def main(self):
        """The Mistake that says what is wrong."""
        kind = self.problem.kind
        if kind == "not_written":
            return _not_written(self.record, self.case, self._error(), self._at())
        value = error_advice.called_value(*map(str, self._error())) if kind == "raised" else ""
        if value:
            return Mistake("called_value", sentences(self._raised(), value))
        if kind == "raised":
            return Mistake("generic.raised", self._raised())
        if kind == "raises":
            return Mistake("generic.raises", self._raises())
        if kind == "cost":
            return Mistake("generic.cost", _but(self.problem.sentence))
        if kind == "gradient":
            return Mistake("generic.gradient", _but(self.problem.sentence))
        if kind in _PLAIN:
            return Mistake(f"generic.{kind}", self._told() + self._hint())
        if self.problem.nothing:
            if self._may_be_nothing():
                return Mistake("generic.type", _sentence(self.problem.nothing, self.record.targets))
            return wrong_form.of_nothing(self._told())
        if kind in ("type", "shape", "dtype"):
            want, got = self._pair(self.first)[1:] or (None, None)
            return getattr(wrong_form, f"of_{kind}")(self._told(), want, got)
        if kind == "nan":
            return Mistake(
                "generic.nan",
                self._told()
                + _(" Look for 0/0, ∞ − ∞ (a softmax over nothing but −∞), or the exponential of a large number."),
            )
        if self.problem.gradient is not None:
            return Mistake("generic.gradients", self._gradients())
        found = self._values()
        found.message = sentences(self._right_functions(), found.message)
        return found

    def more(self, name):
        """Sentences that say which function, which cases and which entries; empty if nothing is certain."""
        if name in ("generic.not_written", "generic.needs_another", "generic.missing", "generic.signature"):
            return ""
        is_of_numbers = self.problem.kind == "values" and self.problem.gradient is None
        parts = ["" if is_of_numbers else self._right_functions(), self._raised_elsewhere()]
        if is_of_numbers or name == "generic.nan":
            parts.append(self._where())
        if name not in ("generic.raises", "generic.mutated", "generic.type"):
            parts += [self._contrast(), self._in_place(name)]
        return " ".join(p for p in parts if p)

    def _error(self):
        return next((r["raises"] for r in self.outcomes[self.first][0]["results"] if "raises" in r), ["", "", ""])

    def _at(self):
        return next((i for i, r in enumerate(self.outcomes[self.first][0]["results"]) if "raises" in r), 0)

    def _raised(self):
        """The sentence for an error where a result was asked for."""
        name, message, line = (str(p) for p in self._error())
        told = error_advice.raised(self.problem, name, message, self.record.targets)
        if line.startswith(("raise ", "assert ")):
            refuses = _("{sentence} Your own check refuses here what is allowed: {case}.")
            return refuses.format(sentence=told, case=self._shows(self.case))
        return told

    def _shows(self, case):
        return said(self.record.id, case.shows)

    def _raises(self):
        """The sentences for an error that was asked for but not raised."""
        told = self._told()
        got = self._error()[0]
        if got == "AssertionError":
            told += _(" An assert raises AssertionError: write if …: raise ValueError(…) in its place.")
        elif got:
            told += _(" Look at what comes in before you work with it.")
        if not all(expects_error(c) for c, p in zip(self.record.cases, self.problems, strict=True) if p is not None):
            return told
        right = _("{sentence} All numbers are right; only the check of what comes in is missing: {case}.")
        if got:
            right = _("{sentence} All numbers are right; only the kind of error is not: {case}.")
        return right.format(sentence=told, case=self._shows(self.case))

    def _gradients(self):
        """The sentences that say which gradients are wrong although the result itself is right."""
        at = self.problem.step
        (want, tensors), (have, theirs) = self.case.outcomes["expected"], self.outcomes[self.first]
        want = self.memory.value(want["results"][at]["grads"], tensors)
        have = self.memory.value(have["results"][at]["grads"], theirs)
        wrong = [k for k, g in want.items() if difference(g, have[k], rtol=1e-4) and not _close(g, have[k])]
        zero = [k for k in wrong if have[k] is not None and not have[k].any()]
        right = [k for k in want if k not in wrong]
        told = _("The numbers are right, but {gradients} not.")
        if right:
            told = _("The numbers are right, but {gradients} not ({others} right).")
        told = told.format(
            gradients=_gradients_for(wrong or [self.problem.gradient]), others=_gradients_for(right) if right else ""
        )
        if zero:
            told = sentences(told, _("{gradients} 0 everywhere.").format(gradients=_gradients_for(zero).capitalize()))
        return told + _(
            " Is a part of the result cut off (detach, .data, torch.tensor, no_grad), or changed afterwards?"
        )

    def _may_be_nothing(self):
        """Is None the right result in some case? Then a missing return is unlikely."""
        return any(
            "call" in step and result.get("value", 0) is None
            for case in self.record.cases
            for step, result in zip(case.program["steps"], case.outcomes["expected"][0]["results"], strict=True)
        )

    def _hint(self):
        found = self._last_pair(self.first) if self.problem.kind == "length" else None
        # Only a tuple is several results; a list of tokens or of numbers is one.
        is_of_results = found and isinstance(found[0], tuple) and len(found[0]) != len(found[1])
        return _(" Count what you return, in the order of the text.") if is_of_results else ""

    def _last_pair(self, i):
        """(expected, got) of the last step of a case."""
        pairs = self.record.cases[i].outcomes["expected"], self.outcomes[i]
        return [self.memory.value(outcome["results"][-1].get("value"), tensors) for outcome, tensors in pairs]

    def _pair(self, i):
        """(path, expected, got) of the first value that differs in a case; () if there is nothing to compare.

        A value that differs by more than rounding takes precedence.
        """
        return self._first_unlike(i, _is_same) or self._first_unlike(i, _is_nearly_the_same)

    def _first_unlike(self, i, same):
        (want, want_tensors), (have, have_tensors) = self.record.cases[i].outcomes["expected"], self.outcomes[i]
        for n, (step, theirs) in enumerate(zip(want["results"], have["results"], strict=True)):
            for part in ("value", "grads"):
                if part in step and part in theirs:
                    found = places.first_unlike(
                        self.memory.value(step[part], want_tensors),
                        self.memory.value(theirs[part], have_tensors),
                        (n, part),
                        same,
                    )
                    if found:
                        return found
        return ()

    def _values(self):
        items, are_moved = self._items()
        if are_moved:
            return Mistake("generic.items", items)
        found = self._relation()
        if found:
            return Mistake(f"generic.{found[0]}", found[1])
        if not self.passed:
            wrong = _("Type and shape are right, the numbers are not.")
            return Mistake("generic.values", sentences(wrong, items or _(_WORK)))
        partly = _("Right in {n} of {all} cases (for example: {case}), but not in the one below.").format(
            n=len(self.passed), all=len(self.same), case=self._shows(self.record.cases[self.passed[0]])
        )
        return Mistake("generic.partly", sentences(partly, items or _("What is different about its input?")))

    def _items(self):
        """(which of several results are always right, or in which order they come; True if only the order is wrong)."""
        right, order, number = None, None, 0
        for i in self.failed:
            want, have = self._last_pair(i)
            if not isinstance(want, tuple) or not isinstance(have, list | tuple) or not 1 < len(want) == len(have) < 5:
                return "", False
            number = len(want)
            same = {(k, n) for k, a in enumerate(want) for n, b in enumerate(have) if _is_same(a, b)}
            right = {k for k in range(number) if (k, k) in same and (right is None or k in right)}
            moved = set(itertools.permutations(range(number))) - {tuple(range(number))}
            orders = {p for p in moved if all((p[n], n) in same for n in range(number))}
            order = orders if order is None else order & orders
        if order:
            turn = sorted(min(order))
            told = _("The {n} results are right, but in another order: yours are the {places} of those asked for.")
            return told.format(n=number, places=listed_and([_(_ORDINALS[min(order)[n]]) for n in turn])), True
        if not right or len(right) == number:
            return "", False
        good, bad = ([_(_ORDINALS[n]) for n in range(number) if (n in right) is k] for k in (True, False))
        told = {
            (True, True): _("Of the {n} results the {good} is always right, the {bad} is not."),
            (True, False): _("Of the {n} results the {good} is always right, the {bad} are not."),
            (False, True): _("Of the {n} results the {good} are always right, the {bad} is not."),
            (False, False): _("Of the {n} results the {good} are always right, the {bad} are not."),
        }[len(good) == 1, len(bad) == 1]
        return told.format(n=number, good=listed_and(good), bad=listed_and(bad)), False

    def _raised_elsewhere(self):
        """The error of a larger case, which may explain what is wrong with the small one."""
        if self.problem.kind in ("raised", "raises"):
            return ""
        at = next((i for i in self.failed if self.problems[i].kind == "raised"), None)
        if at is None:
            return ""
        error = next(r["raises"] for r in self.outcomes[at][0]["results"] if "raises" in r)
        told = error_advice.raised(self.problems[at], *error[:2], self.record.targets)
        return _("In another case: {sentence}").format(sentence=told.replace("Your code", "your code", 1))

    def _relation(self):
        """A relation that holds in all failed cases of this function."""
        if not self.failed or any(self.problems[i].kind != "values" for i in self.failed):
            return None
        pairs, inputs, paths, are_numbers = [], [], set(), True
        for i in self.failed:
            found = self._numbers(i) or self._pair(i)
            if not found:
                return None
            path, want, got = found
            are_numbers = are_numbers and not isinstance(got, torch.Tensor)
            want, got = places.as_tensor(want), places.as_tensor(got)
            if want is None or got is None or want.shape != got.shape:
                return None
            paths.add(path[1:])
            pairs.append((want, got))
            inputs.append(list(self.record.cases[i].tensors.values()))
        told = relations.relation(pairs, inputs) if len(paths) == 1 else None
        if told and told[0] == "zeros" and are_numbers:
            return "zeros", _("Every failing result is 0. Is it rounded down on the way, by // or int(…)?")
        return told

    def _numbers(self, i):
        """As ``_pair``, but if each of several calls gives one number, the numbers of all calls."""
        (want, want_tensors), (have, have_tensors) = self.record.cases[i].outcomes["expected"], self.outcomes[i]
        numbers = [
            (self.memory.value(a.get("value"), want_tensors), self.memory.value(b.get("value"), have_tensors))
            for a, b in zip(want["results"], have["results"], strict=True)
        ]
        alone = all(isinstance(v, int | float) and not isinstance(v, bool) for pair in numbers for v in pair)
        if len(numbers) < 2 or not alone:
            return ()
        return (0, "value"), [pair[0] for pair in numbers], [pair[1] for pair in numbers]

    def _right_functions(self):
        """The sentence that says which of several functions pass everything, and which one is wrong."""
        targets = self.record.targets
        if len(targets) < 2:
            return ""
        right, wrong = set(), set()
        for c, p in zip(self.record.cases, self.problems, strict=True):
            if p is None:
                right |= functions_of(c)
            else:
                wrong |= blamed(c, p)
        fine, wrong = (
            [t for t in targets if t in right - wrong],
            [t for t in targets if t in blamed(self.case, self.problem)],
        )
        if not fine or not wrong:
            return ""
        told = _("{names} pass everything; the mistake is in {others}.")
        if len(fine) == 1:
            told = _("{names} passes everything; the mistake is in {others}.")
        return told.format(names=listed_and(fine), others=listed_and(wrong))

    def _contrast(self):
        cases = self.record.cases
        told = common_input.told([cases[i] for i in self.failed], [cases[i] for i in self.passed], self.record)
        return _("Of the cases tried, those fail in which {what}, and no others.").format(what=told) if told else ""

    def _in_place(self, name):
        changed = self.outcomes[self.first][0].get("mutated")
        return "" if name == "generic.raised" or not changed else _sentence(error_advice.changed(changed))

    def _where(self):
        """Where the largest failed case is wrong: in a very small one, some simple pattern fits by chance."""
        pairs = []
        for i in self.failed:
            found = self._pair(i) if self.problems[i].kind in ("values", "nan") else ()
            want, got = (places.as_tensor(v) for v in found[1:]) if found else (None, None)
            if want is not None and got is not None and want.shape == got.shape and want.numel() > 3:
                pairs.append((want, got))
        if not pairs:
            return ""
        want, got = max(pairs, key=lambda pair: pair[0].numel())  # the first of the largest
        largest = _(" (in the largest failed case)") if len(self.failed) > 1 else ""
        pattern = places.where(want, got)
        if pattern:
            return _("The entries are wrong {where}{case}.").format(where=pattern, case=largest)
        return places.first_wrong(want, got, largest)


def _is_same(a, b):
    return difference(a, b, rtol=1e-4) is None or _close(a, b)


def _is_nearly_the_same(a, b):
    return difference(a, b) is None


def _close(a, b):
    return (
        isinstance(a, torch.Tensor)
        and isinstance(b, torch.Tensor)
        and a.shape == b.shape
        and a.dtype == b.dtype
        and torch.allclose(a.double(), b.double(), 1e-4, 1e-6, equal_nan=True)
        and not a.is_complex()
    )


def _not_written(record, case, error, at):
    """The Mistake that says what is not written yet: a function of this exercise, or an earlier one that it uses."""
    step = case.program["steps"][at] if at < len(case.program["steps"]) else {}
    name = step.get("new") or step.get("call") or record.targets[0]
    other = str(error[1]).partition(":")[0]  # a released stub says "exercise.id: …"
    if other != record.id and re.fullmatch(r"[a-z_]+\.[a-z0-9_]{1,40}", other):
        uses = _("{name} uses your answer to {exercise}, which is not written yet. Solve that exercise first.")
        return Mistake("generic.needs_another", uses.format(name=name, exercise=other))
    told = _("{name} is not written yet: replace the line that raises NotImplementedError.")
    return Mistake("generic.not_written", told.format(name=name))


def _but(sentence):
    """A sentence about what is wrong although the numbers are right."""
    if sentence.startswith(_("the numbers are right")):
        return _sentence(sentence)
    return _sentence(_("the numbers are right, but {sentence}").format(sentence=sentence))


def _gradients_for(labels):
    """Gradients in words, with their verb: ``the gradient for x is``."""
    arguments = {f"argument {i}": _("the {nth} argument").format(nth=_(n)) for i, n in enumerate(_ORDINALS)}
    words = listed_and([arguments.get(label, label.removeprefix("parameter ")) for label in labels[:4]])
    told = _("the gradient for {what} is") if len(labels) == 1 else _("the gradients for {what} are")
    return told.format(what=words)


def _sentence(text, names=()):
    """The text as a sentence. names: of functions; one at the beginning is not capitalized."""
    first = re.match(r"\w*", text)
    if first is None or first[0] not in names:
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!", "。", "？", "！")) else _("{sentence}.").format(sentence=text)
