"""The student's loop: what check and evaluate say, and that no action of a learner loses anything."""

import json
import os
import shutil

import pytest
import torch
from anatomy import CheckFailed, check, evaluate, progress
from anatomy.judge.verdict import Mistake
from anatomy.notebook import after_check, checks
from anatomy.program import records
from anatomy.progress.standing import views
from anatomy.system.store import home, read

from autograder import exercises

ID = "start.weighted_average"


def right(values, weights):
    return weights @ values / weights.sum()


def in_place(values, weights):
    values *= weights[:, None]
    return values.sum(0) / weights.sum()


def first_name(fn):
    return evaluate(ID, fn).mistakes[0].name


def test_evaluate_returns_a_verdict_and_shows_nothing(capsys):
    verdict = evaluate(ID, right)
    assert (verdict.passed, verdict.score, verdict.max_score, verdict.mistakes) == (True, 1, 1, [])
    assert capsys.readouterr().out == "" and read("progress") == {}


@pytest.mark.parametrize(
    "fn, name",
    [
        (lambda values, weights: None, "generic.type"),
        (lambda values: values, "generic.signature"),
        (lambda values, weights: right(values, weights).double(), "generic.dtype"),
        (lambda values, weights: right(values, weights)[None, None], "generic.reshape"),
        (lambda values, weights: right(values, weights) * float("nan"), "generic.nan"),
        (lambda values, weights: -right(values, weights), "generic.sign"),
        (lambda values, weights: 3 * right(values, weights), "generic.factor"),
        (lambda values, weights: right(values, weights) + 1, "generic.offset"),
        (lambda values, weights: right(values, weights).flip(0), "generic.order"),
        (lambda values, weights: right(values, weights).tolist(), "generic.type"),
        (lambda values, weights: object(), "generic.type"),
        (lambda values, weights: 1 / 0, "generic.raised"),
        (in_place, "generic.mutated"),
        (3, "generic.signature"),
    ],
)
def test_mistakes_without_a_fingerprint_are_named_too(fn, name):
    verdict = evaluate(ID, fn)
    assert not verdict.passed and verdict.mistakes[0].name == name, verdict.text()
    assert verdict.mistakes[0].message[0].isupper() or verdict.mistakes[0].message.startswith("weighted_average")


def test_a_failure_shows_the_smallest_case_with_expected_and_got():
    text = evaluate(ID, lambda values, weights: weights @ values).text()
    assert "weighted_average(torch.tensor([[0.0, 10.0], [4.0, 20.0]]), torch.tensor([1.0, 3.0]))" in text
    assert "expected [3, 17.5]" in text and "got      [12, 70]" in text
    assert "Divide it by the sum of the weights" in text


def test_a_pass_lists_what_was_tried():
    text = evaluate(ID, right).text()
    assert text.count("✓") >= 5 and "multiplying every weight by 10 changes nothing" in text


def test_html_escapes_what_a_learner_returns():
    verdict = evaluate(ID, lambda values, weights: "<script>alert(1)</script>")
    assert "<script>" not in verdict.html() and "&lt;script&gt;" in verdict.html()


def test_check_raises_with_a_short_traceback_and_counts_tries():
    for _ in range(2):
        with pytest.raises(CheckFailed) as caught:
            check(ID, lambda values, weights: values.mean(0))
    assert caught.value._render_traceback_() == [f"{ID}: not yet"], "the mistake stands in the verdict, once"
    assert "plain mean" not in str(caught.value)
    check(ID, right)
    entry = read("progress")[ID]
    assert entry == {"tries": 3, "best": 1, "passed_on_try": 3, "passed_at": entry["passed_at"]}


def test_validate_sees_the_mistake(monkeypatch):
    """nbgrader's Validate shows only a failing cell's traceback."""
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    with pytest.raises(CheckFailed) as caught:
        check(ID, lambda values, weights: values.mean(0))
    assert "plain mean" in caught.value._render_traceback_()[0]


def test_a_later_pass_does_not_count_as_a_try(monkeypatch):
    shown = []
    monkeypatch.setattr(checks, "_display", lambda shell, markup, text, about: shown.append((text, about)))
    with pytest.raises(CheckFailed):
        check(ID, lambda values, weights: values.mean(0))
    for _ in range(3):
        check(ID, right)
    with pytest.raises(CheckFailed):
        check(ID, lambda values, weights: values.mean(0))
    assert read("progress")[ID]["passed_on_try"] == 2
    assert [about["anatomy"]["tries"] for _, about in shown] == [1, 2, 2, 2, 2]


def test_a_hint_is_offered_after_the_second_failing_try(monkeypatch):
    shown = []
    monkeypatch.setattr(checks, "_display", lambda shell, markup, text, about: shown.append(markup + text))
    for _ in range(4):
        with pytest.raises(CheckFailed):
            check(ID, lambda values, weights: values.mean(0))
    assert "Stuck?" not in shown[0]
    for text, hint in zip(shown[1:], ("Hint 1: a nudge", "Hint 2: a plan", "Hint 3: nearly code"), strict=True):
        assert hint in text and 'href="00-start-here.ipynb#cell-id=hint-start-weighted_average"' in text
    check(ID, right)
    assert "Stuck?" not in shown[-1]


def test_a_pass_says_what_is_worth_knowing_and_what_comes_next(monkeypatch):
    shown = []
    monkeypatch.setattr(checks, "_display", lambda shell, markup, text, about: shown.extend((markup, text)))
    check(ID, right)
    markup, text = shown
    assert "Worth knowing: With positive weights" in text and "<b>Worth knowing.</b> With positive weights" in markup
    assert "Start here: 1 of 1 exercises." in text and 'aria-label="Start here: 1 of 1 exercises"' in markup
    assert "Unit done. Next unit: Attention" in text and 'href="../01-attention/01-attention.ipynb"' in markup


def test_within_a_unit_the_next_exercise_is_named(monkeypatch):
    shown = []
    monkeypatch.setattr(checks, "_display", lambda shell, markup, text, about: shown.extend((markup, text)))
    check("attention.softmax", exercises.get("attention.softmax").reference)
    assert "Next: Rows that may look at nothing, about 12 min" in shown[1]
    assert 'href="../01-attention/01-attention.ipynb#cell-id=say-attention-masked_softmax"' in shown[0]


@pytest.mark.parametrize("broken", ["{", '{"exercises": []}'])
def test_a_check_needs_none_of_what_stands_around_it(monkeypatch, tmp_path, broken):
    (tmp_path / "00-start-here.json").write_text(broken)
    monkeypatch.setenv("ANATOMY_UNITS", str(tmp_path))
    check(ID, right)
    assert read("progress")[ID]["passed_on_try"] == 1


def test_a_sentence_in_markdown_becomes_html_and_plain_text():
    said = "*Two* of `a*b*c < 1`, $x_1*x_2$ and **one** ([Su & al.](https://arxiv.org/abs/2104.09864))."
    assert after_check.inline(said) == (
        '<i>Two</i> of <code>a*b*c &lt; 1</code>, $x_1*x_2$ and <b>one</b> (<a href="https://arxiv.org/abs/2104.09864" '
        'target="_blank" rel="noopener">Su &amp; al.</a>).'
    )
    assert after_check.bare(said) == "Two of a*b*c < 1, x_1*x_2 and one (Su & al. (https://arxiv.org/abs/2104.09864))."


def test_progress_survives_a_restart_and_a_later_failure():
    check(ID, right)
    with pytest.raises(CheckFailed):
        check(ID, lambda values, weights: values.mean(0))
    first = views()[0]
    assert (first.name, first.done, len(first.core)) == ("00-start-here", 1, 1)
    assert "1/1 exercises" in repr(progress("00-start-here"))
    assert "passed on try 1" in progress("00-start-here")._repr_html_()


def test_a_damaged_progress_file_is_kept_aside(capsys):
    home().mkdir(parents=True)
    (home() / "progress.json").write_text("{broken")
    check(ID, right)
    assert "was kept as progress.damaged-" in capsys.readouterr().out
    assert [p.read_text() for p in home().glob("progress.damaged-*")] == ["{broken"]


def test_a_full_disk_costs_the_record_and_not_the_check(monkeypatch, capsys):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    check(ID, right)
    assert "progress was not saved: No space left on device" in capsys.readouterr().out
    assert not list(home().glob(".*-tmp"))


def test_an_unknown_exercise_suggests_the_nearest():
    with pytest.raises(records.MissingRecording, match="Did you mean 'start.weighted_average'"):
        evaluate("start.weighted_averages", right)


def test_missing_recordings_say_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    with pytest.raises(records.MissingRecording, match="make record"):
        evaluate(ID, right)


def test_a_missing_tensor_file_is_named(monkeypatch, tmp_path):
    (tmp_path / "recordings").mkdir()
    source = records.assets_dir() / "recordings" / "00-start-here.json"
    (tmp_path / "recordings" / source.name).write_text(source.read_text())
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    with pytest.raises(records.MissingRecording, match="00-start-here.safetensors is missing"):
        evaluate(ID, right)


def test_a_check_reads_the_recordings_of_its_unit_alone(monkeypatch, tmp_path):
    """Half a second of each first check went into those of the other units; a damaged one of them stops nothing."""
    shutil.copytree(records.assets_dir() / "units", tmp_path / "units")
    (tmp_path / "recordings").mkdir()
    for source in (records.assets_dir() / "recordings").glob("00-start-here.*"):
        shutil.copy(source, tmp_path / "recordings")
    damaged = tmp_path / "recordings" / "06-rope.json"
    damaged.write_text("{")
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    assert records.load(ID).cases and records.recent(ID).cases and records.calls_of(ID)[0] == ["weighted_average"]
    with pytest.raises(json.JSONDecodeError):
        records.known_exercises()
    damaged.unlink()
    with pytest.raises(records.MissingRecording, match="rope.rotate_half has no recording"):
        records.load("rope.rotate_half")


def test_the_wrong_number_of_functions_is_explained():
    with pytest.raises(TypeError, match="needs weighted_average: 1 given to it, not 2"):
        check(ID, right, right)


def test_verdict_round_trips_as_json():
    verdict = evaluate(ID, lambda values, weights: weights @ values)
    assert type(verdict).from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict


def test_a_different_algorithm_is_not_punished_for_rounding():
    def noisy(values, weights):
        total = torch.zeros(values.shape[1])
        for i in torch.randperm(len(values), generator=torch.Generator().manual_seed(1)):
            total = total + values[i] * weights[i]
        return (total.double() / weights.double().sum()).to(values.dtype)

    assert evaluate(ID, noisy).passed


def test_an_error_is_told_once():
    def broken(values, weights):
        return values.reshape(7)

    verdict, said = evaluate(ID, broken), "shape '[7]' is invalid"
    assert verdict.text().count(said) == 2, "in words, and in the row `got`: " + verdict.text()
    verdict.mistakes = [Mistake("named", "This mistake has a name.")]
    assert verdict.text().count(said) == 1 and "In your line: return values.reshape(7)" in verdict.text()
    assert verdict.html().count("In your line:") == 1
