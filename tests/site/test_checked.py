"""The page How the checks are checked, the READMEs and the file of measurements agree, and none is out of date."""

import dataclasses
import re

import pytest

from autograder import ROOT, exercises, measured
from autograder.site.pages import checked
from benchmarks import judge, judge_parts, written_answers

KNOWN = measured.read()


def rows(text):
    """The cells of a page's tables, row by row."""
    return [[c.strip() for c in line.strip("|").split("|")] for line in text.split("\n") if line.startswith("|")]


def totals():
    """The rows "all" of the page, in its order."""
    return [row[1:] for row in rows(checked.pages()["checked"]) if row[0] == "**all**"]


def test_no_figure_is_older_than_what_it_counts():
    """Other exercises, other listed mistakes, other answers or other cheats than those that were measured."""
    for job in judge.jobs(measured.PARTS, exercises.units()):
        entry = KNOWN[job.part].get(job.key)
        again = f"{job.part} {job.key} is out of date: make bench-judge PART={job.part} ARGS=--due, then make build"
        assert entry is None or entry.of == job.of, again
        assert (
            entry is None or job.part != "listed" or all(entry.figures[n] == job.of[n] for n in ("mistakes", "right"))
        ), again


def test_an_exercise_more_is_noticed(monkeypatch):
    more = {**judge_parts.of_unit("06-rope"), "mistakes": 1}
    monkeypatch.setattr(judge_parts, "of_unit", lambda unit: more)
    assert [job.key for job in judge.jobs(["listed"], ["06-rope"]) if job.due(KNOWN)] == ["06-rope"]


@pytest.mark.parametrize("part", ["listed", "mutants", "hostile", "stock"])
def test_nothing_is_left_out(part):
    if part == "stock" and not KNOWN["stock"]:  # takes an hour; the page says that it is missing
        assert "| not measured yet |" in checked.pages()["checked"]
        return
    missing = [job.key for job in judge.jobs([part], exercises.units()) if job.key not in KNOWN[part]]
    assert not missing, f"make bench-judge PART={part} ARGS=--due"


def test_the_page_has_the_sums_of_the_file(monkeypatch):
    listed, mutants = measured.total(KNOWN["listed"]), measured.total(KNOWN["mutants"])
    of = lambda some, all_: f"{some:,} of {all_:,}"
    assert totals() == [
        [
            of(listed["caught"], listed["mistakes"]),
            of(listed["named"], listed["mistakes"]),
            of(listed["accepted"], listed["right"]),
        ],
        [f"{mutants[name]:,}" for name in ("mutants", "killed", "without_effect", "explained", "left")],
    ]
    unit, entry = next(iter(KNOWN["listed"].items()))
    worse = dataclasses.replace(entry, figures={**entry.figures, "caught": entry.figures["caught"] - 1})
    monkeypatch.setattr(measured, "read", lambda: {**KNOWN, "listed": {**KNOWN["listed"], unit: worse}})
    assert totals()[0][0] == of(listed["caught"] - 1, listed["mistakes"])


def test_the_page_says_what_was_not_measured(monkeypatch):
    less = {key: entry for key, entry in KNOWN["listed"].items() if key != "06-rope"}
    monkeypatch.setattr(measured, "read", lambda: {**KNOWN, "listed": less})
    assert "Not measured yet: unit 06." in checked.pages()["checked"]


def test_each_figure_has_its_command_its_date_and_its_machine():
    text = checked.pages()["checked"]
    for part in measured.PARTS:
        assert f"`make bench-judge PART={part}`" in text
        for entry in KNOWN[part].values():
            said = [r for r in rows(text) if r[0].startswith(f"`{part}`") and r[1].replace("\u2011", "-") == entry.date]
            assert any(entry.commit in r[2] and [f"`{entry.checks}`", entry.machine] == r[3:] for r in said)


@pytest.mark.parametrize("name", measured.SENTENCES)
def test_a_readme_has_the_numbers_of_the_file(name, monkeypatch):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert measured.filled(name, text) == text, "make build"
    facts = measured.facts()
    for fact in facts:
        monkeypatch.setattr(measured, "facts", lambda fact=fact: {**facts, fact: "987,654"})
        assert measured.filled(name, text).count("987,654") == 1, fact
    with pytest.raises(measured.LostSentence, match="0 times"):
        measured.filled(name, "nothing")


def test_first_trials_are_of_the_answers_that_lie_here():
    for name, trial in measured.trials().items():
        answers = written_answers.read(name)
        assert (trial.wrong, trial.right) == (sum(not a.right for a in answers), sum(a.right for a in answers))
    page = (ROOT / "benchmarks" / "answers" / "README.md").read_text(encoding="utf-8")
    for name, t in measured.trials().items():
        (row,) = re.findall(rf"^\| {name}\b.*$", page, re.M)
        assert f"| {t.wrong}, {t.right} | {t.named} %, {t.told} % | {t.passed} (" in row and f"| {t.refused} |" in row


def test_a_new_set_keeps_its_first_trial(monkeypatch, tmp_path):
    figures = {"wrong": 10, "named": 7, "told": 1, "passed": 1, "right": 5, "refused": 0}
    entry = measured.Entry(figures, {}, "2030-01-01", "", "", "")
    kept = tmp_path / "first_trials.json"
    kept.write_bytes(measured.TRIALS.read_bytes())
    monkeypatch.setattr(measured, "TRIALS", kept)
    monkeypatch.setattr(measured, "read", lambda: {"answers": {f"fifth {u}": entry for u in exercises.units()}})
    judge.keep_first_trial("fifth")
    sixteen = len(exercises.units())
    fifth = measured.Trial("2030-01-01", 10 * sixteen, 5 * sixteen, 70.0, 10.0, sixteen, 0)
    assert measured.trials()["fifth"] == fifth and len(measured.trials()) == 4
    monkeypatch.setattr(measured, "read", lambda: {"answers": {}})
    judge.keep_first_trial("fifth")
    assert measured.trials()["fifth"] == fifth


def test_a_measurement_keeps_the_others(monkeypatch, tmp_path):
    monkeypatch.setattr(measured, "FILE", tmp_path / "judge.json")
    for key in ("a", "b"):
        judge.store(judge.Job("listed", key, {"n": 1}, dict), {"mistakes": 2}, "digest")
    assert set(measured.read()["listed"]) == {"a", "b"} and measured.read()["listed"]["a"].of == {"n": 1}
