"""The student's loop: what check and evaluate say, and that nothing a learner does loses anything."""

import json
import os

import anatomy
import pytest
import torch
from anatomy import CheckFailed, check, evaluate, progress, records
from anatomy.progress import home, read, summary

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


@pytest.mark.parametrize("fn, name", [
    (lambda values, weights: None, "generic.type"),
    (lambda values: values, "generic.signature"),
    (lambda values, weights: right(values, weights).double(), "generic.dtype"),
    (lambda values, weights: right(values, weights)[None], "generic.reshape"),
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
])
def test_mistakes_without_a_fingerprint_are_named_too(fn, name):
    verdict = evaluate(ID, fn)
    assert not verdict.passed and verdict.mistakes[0].name == name, verdict.text()
    assert verdict.mistakes[0].message[0].isupper() or verdict.mistakes[0].message.startswith("weighted_average")


def test_a_failure_shows_the_smallest_case_with_expected_and_got():
    text = evaluate(ID, lambda values, weights: weights @ values).text()
    assert "weighted_average([[0, 10], [4, 20]], [1, 3])" in text
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
    assert len(caught.value._render_traceback_()) == 1 and "plain mean" in caught.value._render_traceback_()[0]
    check(ID, right)
    assert read("progress")[ID] == {"tries": 3, "best": 1, "passed_on_try": 3}


def test_progress_survives_a_restart_and_a_later_failure():
    check(ID, right)
    with pytest.raises(CheckFailed):
        check(ID, lambda values, weights: values.mean(0))
    assert summary()[0][:3] == ("00-start-here", 1, 1)
    assert "1/1 exercises" in repr(progress("00-start-here"))
    assert "passed on try 1" in progress("00-start-here")._repr_html_()


def test_progress_of_an_unknown_unit_names_the_known_ones():
    with pytest.raises(ValueError, match="There is no unit '99'. Units: 00-start-here"):
        progress("99")


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
    assert not list(home().glob(".*.tmp"))


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
        return (total.double() / weights.double().sum()).float()

    assert evaluate(ID, noisy).passed


def test_predictions_are_recorded_before_the_result_is_seen(monkeypatch):
    monkeypatch.delenv("ANATOMY_RUN_ALL", raising=False)
    computed = []
    result = lambda: computed.append(1) or 42
    assert "Record your prediction" in repr(anatomy.reveal("t.p", result)) and not computed
    anatomy.record_prediction("t.p", "41")
    shown = anatomy.reveal("t.p", result, "because")
    assert "41" in repr(shown) and "42" in repr(shown) and computed


def test_quiz_needs_exactly_one_right_choice():
    with pytest.raises(ValueError, match="exactly one right choice"):
        anatomy.quiz("?", {"a": (True, ""), "b": (True, "")})
