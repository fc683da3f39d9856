"""Which known mistake a learner made: the one whose recorded outcomes (its fingerprint) are the learner's outcomes.

A wrong name sends a learner looking where nothing is wrong, so a coincidence must not name. Every case counts as
evidence for what it shows: equal wrong numbers for much, an error that happens to be of the same type for nothing.
"""

import re

import torch

from . import codec
from .compare import difference
from .verdict import Mistake

VALUE, ERROR, ACCIDENT = "value", "error", "accident"  # how an outcome is like a fingerprint


def named(record, outcomes, problems):
    """The known Mistake that explains a failed check, or None.

    record: ExerciseRecord. outcomes: as for ``judging.judge``. problems: for each case its Difference, or None.
    """
    check = _Check(record, outcomes, problems)
    found = []
    for name, message in record.mistakes.items():
        like = [check.likeness(i, name) for i in range(len(record.cases))]
        level = check.level(like)
        if level is not None and check.convincing(like, level) and not check.contradicted(name, like, level):
            # Of two on one level the one that is alike in more cases: a missing check at the end looks the same in
            # every mistake without it.
            found.append((level, -sum(k in (VALUE, ERROR) for k in like), len(found), Mistake(name, message)))
    return min(found)[3] if found else None


def functions_of(case):
    """Names of the learner's functions that a case calls."""
    return frozenset(s.get("call") or s.get("new") for s in case.program["steps"]) - {None}


def expects_error(case):
    """Should this case raise?"""
    return any("raises" in r for r in case.outcomes["expected"][0]["results"])


def _numbers(case):
    """How many numbers the last step of a case gives."""
    outcome, tensors = case.outcomes["expected"]
    value = outcome["results"][-1].get("value")
    (items,) = value.values() if isinstance(value, dict) else (value,)
    return sum(t.numel() for t in tensors.values()) or (len(items) if isinstance(items, list) else 1)


class _Check:
    """One failed check beside the fingerprints of its exercise."""

    def __init__(self, record, outcomes, problems):
        self.cases, self.outcomes, self.problems = record.cases, outcomes, problems
        self.failed = [i for i, p in enumerate(problems) if p is not None]
        first = functions_of(self.cases[self.failed[0]])
        self.near = [i for i in self.failed if functions_of(self.cases[i]) == first]
        # Errors that an exercise asks for are written on purpose; what torch raises is an accident.
        self.deliberate = {"ValueError"} | {
            r["raises"][0] for c in self.cases for r in c.outcomes["expected"][0]["results"] if "raises" in r
        }

    def likeness(self, i, name):
        """How the outcome of case i is like that of a known mistake, or None."""
        theirs = self.cases[i].outcomes.get(name)
        try:
            return None if theirs is None else _likeness(self.cases[i], theirs, self.outcomes[i], self.deliberate)
        except Exception:  # a malformed outcome is like no fingerprint
            return None

    def level(self, like):
        """How much of the check a mistake explains: 0 every case, 1 every failed case, 2 every failed case of the
        function that failed first (an exercise may ask for several, each with its own mistake), 3 the first failed
        case and most of the others (a second, smaller mistake lies on top); None too little."""
        if all(like):
            return 0
        if all(like[i] for i in self.failed):
            return 1
        if all(like[i] for i in self.near):
            return 2
        if like[self.failed[0]] and 2 * sum(like[i] is not None for i in self.failed) > len(self.failed):
            return 3
        return None

    def convincing(self, like, level):
        """Does a failed case show this mistake, rather than merely not speak against it?"""
        shown = [i for i in self.failed if like[i] in (VALUE, ERROR)]
        if level == 0 or not shown:
            return bool(shown)
        if all(expects_error(self.cases[i]) for i in self.failed):
            return True
        # Where a result is wrong, errors alone prove nothing; nor does NaN, which comes from anywhere.
        telling = [i for i in shown if not expects_error(self.cases[i]) and self.problems[i].kind != "nan"]
        # What speaks against it elsewhere is only outweighed by more than one number.
        return bool(telling) and (level == 1 or len(telling) > 1 or _numbers(self.cases[telling[0]]) > 1)

    def contradicted(self, name, like, level):
        """Does the learner pass a case of the same function in which this mistake gives another result? Whoever has
        made it would fail there too. (Not asked of cases that expect an error: a check may be missing or not.)"""
        if level == 0:
            return False
        functions = {functions_of(self.cases[i]) for i in self.failed if like[i]}
        return any(
            p is None and not like[i] and functions_of(c) in functions and not expects_error(c) and name in c.outcomes
            for i, (c, p) in enumerate(zip(self.cases, self.problems, strict=True))
        )


def _likeness(case, theirs, got, deliberate):
    """How one outcome is like a fingerprint. Raises all kinds of errors for an outcome that is malformed."""
    (mine, my_tensors), (known, known_tensors) = got, theirs
    if mine.get("missing") or mine.get("signature") or bool(mine.get("mutated")) > bool(known.get("mutated")):
        return None
    # A fingerprint is met more loosely than an expectation: another order of summation is still the same mistake.
    loose = {id(t): 10 * case.atol.get(n, 0.0) + 1e-6 for n, t in known_tensors.items()}
    for a, b in zip(known["results"], mine["results"], strict=True):
        if "raises" in a or "raises" in b:
            return _error_likeness(a["raises"], b["raises"], deliberate) if "raises" in a and "raises" in b else None
        for part in ("value", "grads"):
            if part in a and not _same(
                codec.decode(a[part], known_tensors), codec.decode(b[part], my_tensors), loose, case.rtol or 1e-5
            ):
                return None
    return VALUE


def _error_likeness(known, mine, deliberate):
    if known[0] != mine[0]:
        return None
    return ERROR if known[0] in deliberate or _words(known[1]) == _words(mine[1]) else ACCIDENT


def _words(message):
    """What an error says, without the numbers of the case; names that do not load apart from shapes that do not."""
    return re.sub(r"\d+", "#", message)[:30], "size mismatch" in message


def _same(known, mine, loose, rtol):
    known, mine = _as_numbers(known, mine)
    return difference(known, mine, loose, rtol) is None


def _as_numbers(a, b):
    """Both values, with 0-d tensors as numbers where the other side has a number: the mistake is the same one."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b):
        pairs = [_as_numbers(x, y) for x, y in zip(a, b, strict=True)]
        return [p[0] for p in pairs], [p[1] for p in pairs]
    if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
        return _number(a, b), _number(b, a)
    return a, b


def _number(value, beside):
    plain = isinstance(value, torch.Tensor) and value.ndim == 0 and isinstance(beside, int | float)
    return value.item() if plain else value
