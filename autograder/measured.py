"""How well the checks judge: what ``make bench-judge`` measured, for the site's page and the README.

``benchmarks/judge.json`` holds part → key → Entry. The parts are ``listed`` and ``mutants`` (keys: units), ``answers``
(set and unit), ``hostile`` (kinds of submissions) and ``stock`` (their techniques).

``benchmarks/answers/first_trials.json`` says what the checks said of each set of answers when it was new; the checks
were mended after that, so it can't be measured again.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from autograder import ROOT

FILE = ROOT / "benchmarks" / "judge.json"
TRIALS = ROOT / "benchmarks" / "answers" / "first_trials.json"
PARTS = ("listed", "answers", "mutants", "hostile", "stock")


class LostSentence(ValueError):
    """A README lacks the sentence that a measured number belongs into; the message names it."""


@dataclass(frozen=True)
class Entry:
    """One measurement.

    figures: name → count. of: what was measured, as counts and digests; another ``of`` today means that the entry is
    out of date. date: of the end. machine: processor, Python, torch. commit: of the repository. checks: digest of the
    code and the recordings that decide.
    """

    figures: dict[str, float]
    of: dict[str, Any]
    date: str
    machine: str
    commit: str
    checks: str


@dataclass(frozen=True)
class Trial:
    """What the checks said of a set of answers when it was new. named, told: percent of the wrong ones."""

    date: str
    wrong: int
    right: int
    named: float
    told: float
    passed: int
    refused: int


def read() -> dict[str, dict[str, Entry]]:
    """Part → key → entry; empty where nothing was measured."""
    data = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    return {part: {key: Entry(**entry) for key, entry in data.get(part, {}).items()} for part in PARTS}


def to_bytes(measured: Mapping[str, Mapping[str, Entry]]) -> bytes:
    """The file's bytes, one entry in a line, so that a new measurement changes few lines."""
    parts = []
    for part in PARTS:
        lines = [
            f"  {json.dumps(key)}: {json.dumps(asdict(entry), ensure_ascii=False)}"
            for key, entry in sorted(measured.get(part, {}).items())
        ]
        parts.append(f"{json.dumps(part)}: {{\n" + ",\n".join(lines) + "\n}")
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()


def trials() -> dict[str, Trial]:
    """Set → first trial, in the order in which they were made."""
    return {name: Trial(**trial) for name, trial in json.loads(TRIALS.read_text(encoding="utf-8")).items()}


def total(entries: Mapping[str, Entry]) -> Counter[str]:
    """Name → sum of the figures of some entries."""
    found: Counter[str] = Counter()
    for entry in entries.values():
        found.update(entry.figures)
    return found


def of_set(entries: Mapping[str, Entry], name: str) -> dict[str, Entry]:
    """The entries of one set of answers."""
    return {key: entry for key, entry in entries.items() if key.startswith(f"{name} ")}


@cache
def facts() -> dict[str, str]:
    """Name → number as text, for the sentences of the README, as far as it is measured."""
    known, first = read(), trials().values()
    wrong, right = sum(t.wrong for t in first), sum(t.right for t in first)
    numbers = {
        "answers": wrong + right,
        "right": right,
        "refused": sum(t.refused for t in first),
        "wrong": wrong,
        "passed": sum(t.passed for t in first),
        "named": sum(t.wrong * t.named for t in first) / wrong,
    }
    if "submissions" in known["hostile"]:
        figures = known["hostile"]["submissions"].figures
        numbers |= {"hostile": figures["tried"], "paid": figures["paid"]}
    if known["stock"]:
        sums = total(known["stock"])
        numbers |= {"tried": sums["tried"], "paid by stock": sums["paid"]}
    return {name: f"{number:,.0f}" for name, number in numbers.items()}


# Where a README has which number: # is the number.
SENTENCES = {
    "README.md": {
        "answers": "# answers, written",
        "right": "of # right ones",
        "refused": "right ones # were refused",
        "wrong": "of # wrong ones",
        "passed": "wrong ones # passed",
        "named": "and # % were told",
        "hostile": "Of # hostile submissions",
        "paid": "hostile submissions # get",
        "tried": "of the # run in stock",
        "paid by stock": "nbgrader, # do.",
    },
    "README.zh-CN.md": {
        "answers": "有 # 份答案只根据课文写成",
        "right": "各试一次：# 份正确的",
        "refused": "正确的，被拒 # 份",
        "wrong": "份；# 份错误的",
        "passed": "错误的，放过 # 份",
        "named": "有 # % 被指出",
        "hostile": "。# 份恶意提交",
        "paid": "恶意提交，# 份拿到",
        "tried": "其中 # 份交给",
        "paid by stock": "nbgrader，有 # 份",
    },
}


def filled(name: str, text: str) -> str:
    """A README's text with the measured numbers. Raises LostSentence."""
    for fact, sentence in SENTENCES[name].items():
        before, after = map(re.escape, sentence.split("#"))
        found = re.findall(f"({before})([0-9][0-9,]*)({after})", text)
        if len(found) != 1:
            raise LostSentence(f"{name} has {sentence!r}, where # is a number, {len(found)} times, not once")
        begins, old, ends = found[0]
        text = text.replace(begins + old + ends, begins + facts().get(fact, old) + ends)
    return text
