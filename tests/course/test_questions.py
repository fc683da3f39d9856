"""Predictions and recap questions: what is stored, when, and what a page receives before and after an answer."""

import json

import anatomy
import pytest
from anatomy.notebook import predictions, question, quizzes
from anatomy.system import store
from IPython.core.interactiveshell import InteractiveShell

from .units_folder import ROPE, write


@pytest.fixture(autouse=True)
def small_course(tmp_path, monkeypatch):
    """Two small units, and a session in which no question was asked yet."""
    monkeypatch.setenv("ANATOMY_ASSETS", str(write(tmp_path / "assets")))
    monkeypatch.delenv("ANATOMY_RUN_ALL", raising=False)
    for memory in (predictions._asked, predictions._options, predictions._waiting):
        monkeypatch.setattr(predictions, memory_name(memory), {})


def memory_name(memory):
    return next(name for name, value in vars(predictions).items() if value is memory)


@pytest.fixture
def shell(monkeypatch):
    """Records what IPython displays; yields the list of (data, whether it is an update)."""
    sent = []
    shell = InteractiveShell.instance()
    monkeypatch.setattr(
        shell.display_pub,
        "publish",
        lambda data, metadata=None, transient=None, update=False, **kwargs: sent.append((data, update)),
    )
    yield sent
    InteractiveShell.clear_instance()


def commit(control, value, key=None):
    """Does what the page does when the button is pressed."""
    control.commit = {"key": key or control.items[0]["key"], "value": value, "n": control.commit.get("n", 0) + 1}
    return control.states[control.commit["key"]]


# ---- predictions -----------------------------------------------------------------------------------------


def test_the_course_knows_question_and_options():
    control = anatomy.predict("rope.p1")
    assert control.items == [
        {
            "key": "rope.p1",
            "question": "The product is…",
            "above": True,
            "options": ["0.5 again", "some other number", "gone?"],
            "button": "Keep my prediction",
        }
    ]
    assert control.states == {} and store.read("predictions") == {}
    own = anatomy.predict("own.p1", "How many?", [1, 2])
    assert own.items[0]["options"] == ["1", "2"] and not own.items[0]["above"]
    with pytest.raises(ValueError, match="no prediction 'rope.p9'"):
        anatomy.predict("rope.p9")


@pytest.mark.parametrize(
    "name, choice, words",
    [
        ("rope.p1", "0.5 again", "Kept: 0.5 again. Run the next cell to compare."),
        ("rope.p1", "gone?", "Kept: gone? Run the next cell to compare."),
        ("rope.p2", "ruins back", "Kept: ruins back. The result comes further down; you will see both side by side."),
        ("rope.p3", "12", "Kept: 12. The result comes further down; you will see both side by side."),
    ],
)
def test_a_commit_is_on_disk_before_the_page_says_so(name, choice, words):
    state = commit(anatomy.predict(name), choice)
    assert f"{state['message']} {state['why']}" == words and not state.get("locked")
    assert store.read("predictions")[name] == {"choice": choice, "held": None, "shown": False}


def test_a_prediction_may_be_changed_until_its_result_was_shown():
    control = anatomy.predict("rope.p1")
    commit(control, "gone?")
    commit(control, "some other number")
    assert store.read("predictions")["rope.p1"]["choice"] == "some other number"
    anatomy.reveal("rope.p1", "0.500", answer="0.5 again")
    assert control.states["rope.p1"]["locked"]
    late = commit(control, "0.5 again")
    assert late["choice"] == "some other number" and late["locked"]
    assert store.read("predictions")["rope.p1"] == {"choice": "some other number", "held": False, "shown": True}
    again = anatomy.predict("rope.p1").states["rope.p1"]
    assert again["locked"] and "stays as it is" in again["why"]


def test_record_prediction_follows_the_same_rule(capsys):
    anatomy.record_prediction("rope.p3", 12)
    anatomy.record_prediction("rope.p3", 13)
    assert store.read("predictions")["rope.p3"]["choice"] == "13"
    anatomy.reveal("rope.p3", 13)
    anatomy.record_prediction("rope.p3", 14)
    assert "your prediction stays: 13" in capsys.readouterr().out
    assert store.read("predictions")["rope.p3"] == {"choice": "13", "held": None, "shown": True}


def test_predictions_are_kept_before_the_result_is_seen():
    computed, value = [], 42
    result = lambda: computed.append(1) or value
    waiting = anatomy.reveal("rope.p1", result)
    assert repr(waiting) == "This result waits for your prediction." and "42" not in waiting._repr_html_()
    assert 'href="06-rope.ipynb#cell-id=predict-rope-p1"' in waiting._repr_html_()
    anatomy.record_prediction("rope.p1", "gone?")
    assert repr(waiting) == "You predicted: gone?\nIt came out:   42" and computed == [1]
    assert repr(anatomy.reveal("rope.p1", result, "because")).endswith("42\nbecause")


@pytest.mark.parametrize(
    "choice, words, held",
    [("0.5 again", "Your prediction held. Yes.", True), ("gone?", "It came out differently. Yes.", False)],
)
def test_both_stand_side_by_side_and_the_first_result_counts(choice, words, held):
    anatomy.record_prediction("rope.p1", choice)
    shown = anatomy.reveal("rope.p1", lambda: "0.500", "Yes.", answer=lambda: "0.5 again")
    assert repr(shown) == f"You predicted: {choice}\nIt came out:   0.5 again (0.500)\n{words}"
    assert "wrong" not in shown._repr_html_() and '<th scope="row"' in shown._repr_html_()
    anatomy.reveal("rope.p1", "0", answer="gone?")
    assert store.read("predictions")["rope.p1"] == {"choice": choice, "held": held, "shown": True}


def test_what_comes_from_outside_is_escaped():
    anatomy.record_prediction("rope.p3", "<b>12</b>")
    shown = anatomy.reveal("rope.p3", "<script>1</script>", "a < b")._repr_html_()
    assert "<script>" not in shown and "<b>12" not in shown and "a &lt; b" in shown
    for control in (anatomy.predict("rope.p2"), anatomy.quiz("06-rope")):
        html = control._repr_mimebundle_()[0]["text/html"]
        assert "&lt;" in html and "<all>" not in html and "<19>" not in html


@pytest.mark.parametrize(
    "name, answer, words",
    [
        ("rope.p1", "0.5", r"rope.p1: the answer '0.5' is none of the options \['0.5 again'"),
        ("rope.p3", "12", "rope.p3 has no options, so reveal\\(\\) takes no answer"),
        ("own.p1", "3", "none of the options"),
    ],
)
def test_an_answer_that_is_no_option_is_found_while_writing(name, answer, words):
    anatomy.predict("own.p1", "How many?", ["1", "2"])
    with pytest.raises(ValueError, match=words):
        anatomy.reveal(name, 0, answer=answer)
    anatomy.record_prediction(name, "1")
    with pytest.raises(ValueError, match=words):
        anatomy.reveal(name, 0, answer=lambda: answer)


def test_a_run_of_the_whole_notebook_sees_results(monkeypatch):
    monkeypatch.setenv("ANATOMY_RUN_ALL", "1")
    shown = anatomy.reveal("rope.p1", "0.500", answer="0.5 again")
    assert repr(shown) == "You predicted: (nothing recorded)\nIt came out:   0.5 again (0.500)"
    assert store.read("predictions") == {}


def test_the_waiting_cell_shows_the_result_by_itself(shell):
    control = anatomy.predict("rope.p2")
    control._ipython_display_()
    waiting = anatomy.reveal("rope.p2", lambda: 7, "So it is.", answer="ruins back")
    waiting._ipython_display_()
    shell.clear()
    state = commit(control, "rescues <all>")
    assert state["locked"] and state["why"] == "The result is there now."
    (result, updated), (below, _), (kept, updated_too) = shell
    assert updated_too and "<strong>rescues &lt;all&gt;</strong>" in kept["text/html"] and "Kept: " in kept["text/html"]
    assert updated and "It came out differently." in result["text/html"] and "ruins back" in result["text/plain"]
    assert 'href="06-rope.ipynb#cell-id=reveal-rope-p2"' in below["text/html"]
    shell.clear()
    commit(control, "ruins back")
    assert not [data for data, _ in shell if "It came out" in data["text/plain"]], "a result is shown once"


def test_an_error_in_a_waiting_result_is_said_in_place_and_may_be_mended(shell):
    broken = [True]
    waiting = anatomy.reveal("rope.p1", lambda: 1 / 0 if broken else 3)
    waiting._ipython_display_()
    control = anatomy.predict("rope.p1")
    state = commit(control, "gone?")
    assert not state.get("locked") and store.read("predictions")["rope.p1"]["choice"] == "gone?"
    assert shell[-1][0]["text/plain"] == (
        "The result could not be computed: ZeroDivisionError: division by zero. "
        "Look at the cells above, then run this one again."
    )
    broken.clear()
    assert "It came out:   3" in repr(anatomy.reveal("rope.p1", lambda: 1 / 0 if broken else 3))
    with pytest.raises(ZeroDivisionError):
        anatomy.reveal("rope.p1", lambda: 1 / 0)


def test_the_old_file_is_read(tmp_path):
    folder = store.home()
    folder.mkdir(parents=True)
    (folder / "predictions.json").write_text(json.dumps({"rope.p1": "gone?", "rope.p2": 3}))
    assert anatomy.predict("rope.p1").states["rope.p1"]["choice"] == "gone?"
    assert "gone?" in repr(anatomy.reveal("rope.p1", 1))
    assert json.loads((folder / "predictions.json").read_text())["rope.p1"]["shown"] is True


def test_the_next_day_an_answered_quiz_shows_its_answer_and_why(shell):
    control = anatomy.quiz("06-rope")
    control._ipython_display_()
    shell.clear()
    commit(control, "by 5θ")
    page, updated = shell[-1][0]["text/html"], shell[-1][1]
    assert updated and "<strong>by 5θ</strong>" in page and "✓ Right." in page and "R(12 − 7)" in page
    assert "To answer, run this cell." in page, "there is a second question"
    again = anatomy.quiz("06-rope")
    shell.clear()
    again._ipython_display_()
    assert "✓ Right." in shell[0][0]["text/html"]


def test_without_a_kernel_there_is_a_plain_question_and_no_answer(shell):
    for control, asked, option in (
        (anatomy.predict("rope.p1"), "The product is…", "gone?"),
        (anatomy.quiz("06-rope"), "Which turn is left?", "by 5θ"),
    ):
        shell.clear()
        control._ipython_display_()
        data = shell[0][0]
        for kind in ("text/plain", "text/html"):
            assert asked in data[kind] and option in data[kind] and "own turn" not in data[kind]
        assert not [kind for kind in data if "widget" in kind], "JupyterLab would show an error in its place"


def test_nothing_right_or_why_is_sent_before_a_commit():
    control = anatomy.quiz("06-rope")
    sent = str({k: v for k, v in control.get_state().items() if k not in ("_esm", "_css")})
    assert "by 5θ" in sent
    for secret in ("right", "R(12", "own turn", "relative"):
        assert secret not in sent


# ---- recap questions -------------------------------------------------------------------------------------


def test_the_first_answer_is_what_counts():
    control = anatomy.quiz("06-rope")
    assert [i["key"] for i in control.items] == ["rope.q-1", "rope.q-2"]
    wrong = commit(control, "by 12θ", "rope.q-1")
    assert (wrong["message"], wrong["why"], wrong["button"]) == (
        "Not quite.",
        "That is the key's own turn.",
        "Answer again",
    ) and not wrong.get("locked")
    assert "others" not in wrong, "what is right stays open"
    commit(control, "by 12θ", "rope.q-1")
    right = commit(control, "by 5θ", "rope.q-1")
    assert right["message"] == "Right." and right["locked"] and len(right["others"]) == 2
    assert store.read("quizzes") == {
        "rope.q-1": {"first": "by 12θ", "right_on_first": False, "tries": 2, "last": "by 5θ", "right": True}
    }
    commit(control, "nothing", "rope.q-2")
    assert store.read("quizzes")["rope.q-2"]["right_on_first"]


def test_answers_come_back_when_the_cell_runs_again():
    control = anatomy.quiz("06-rope")
    commit(control, "by 5θ", "rope.q-1")
    commit(control, "all scores", "rope.q-2")
    again = anatomy.quiz("06-rope")
    assert again.states["rope.q-1"]["locked"] and again.states["rope.q-2"]["message"] == "Not quite."
    changed = {**ROPE["quizzes"][1], "choices": [{"text": "new", "right": True, "why": ""}]}
    assert quizzes._state(changed, store.read("quizzes")["rope.q-2"]) is None, "the choices are others now"


def test_a_single_question_and_its_one_right_choice():
    control = anatomy.quiz("?", {"a": (True, "since"), "b": (False, "no")})
    assert commit(control, "b")["why"] == "no" and commit(control, "a")["locked"]
    for choices in ({"a": (True, ""), "b": (True, "")}, {"a": (False, "")}):
        with pytest.raises(ValueError, match="exactly one right choice"):
            anatomy.quiz("?", choices)
    with pytest.raises(anatomy.program.records.MissingRecording, match="Units: 00-start, 06-rope"):
        anatomy.quiz("07-none")


# ---- the control -----------------------------------------------------------------------------------------


def test_an_error_while_keeping_is_shown_and_odd_messages_are_ignored():
    control = question.Question(
        [{"key": "k", "question": "?", "options": [], "above": False, "button": "Go"}], lambda key, value: 1 / 0
    )
    assert "ZeroDivisionError" in commit(control, "x")["message"]
    before = control.states
    control.commit = {"key": "unknown", "value": "x", "n": 9}
    assert control.states == before


def test_the_same_commit_twice_is_answered_twice():
    """The page waits for its commit's own number; a state equal to the previous one would not be sent."""
    control = anatomy.predict("rope.p1")
    assert [commit(control, "gone?")["n"] for _ in range(2)] == [1, 2]


def test_a_disk_that_refuses_is_said_and_the_session_goes_on(monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.os, "replace", full)
    assert "could not be saved" in commit(anatomy.predict("rope.p1"), "gone?")["why"]
    assert "You predicted: gone?" in repr(anatomy.reveal("rope.p1", 1))
    assert "could not be saved" in commit(anatomy.quiz("06-rope"), "by 5θ", "rope.q-1")["why"]
