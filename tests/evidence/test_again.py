"""Every recorded number of the texts, computed a second time from the raw recording, independently of the first."""

import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest
from anatomy.experiments import recorded

from autograder import ROOT
from autograder.notebooks import numbers

HERE = Path(__file__).with_name("again")
PLACES = defaultdict(set)
for _path in sorted((ROOT / "solutions").glob("*.py")):
    for _match in numbers.PLACE.finditer(_path.read_text(encoding="utf-8")):
        PLACES[_match[1]].add(_match.groups())
del PLACES["unit"]


@pytest.mark.parametrize("experiment", sorted(PLACES))
def test_a_second_path_gives_the_same_numbers(experiment):
    file = HERE / f"{experiment}.py"
    assert file.exists(), f"write {file.relative_to(ROOT)} with numbers(data): path → value, from the raw recording"
    again = import_module(f"tests.evidence.again.{experiment}").numbers(recorded(experiment))
    first = numbers.flat(numbers.facts(experiment))
    wrong = []
    for _, path, form in sorted(PLACES[experiment], key=str):
        told = numbers.shown(first[path[1:]], form, path)
        if path[1:] not in again:
            wrong.append(f"{path[1:]} ({told}) is not computed a second time")
        elif (other := numbers.shown(again[path[1:]], form, path)) != told:
            wrong.append(f"{path[1:]}: the text says {told}, the second path {other}")
    assert not wrong, "\n".join(wrong)


def test_no_second_path_leads_through_the_first():
    for path in HERE.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\bfacts\b|^(?:from|import) (?:autograder|anatomy|tests)", text, re.M), path.name
