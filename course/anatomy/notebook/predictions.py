"""Predict first: a prediction is stored before the result can be seen, then both are shown side by side.

A prediction may be changed until its result has been shown; after that it is final.
"""

import html
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..program import units
from ..program.records import MissingRecording
from ..system import stopped, store
from ..system.labels import label
from ..system.translation import _, said

if TYPE_CHECKING:
    from .question import Question

_asked: dict[str, "Question"] = {}  # id → the control shown in this session
_options: dict[str, list[str]] = {}  # id → options given to predict() in a cell
_waiting: dict[str, "Revealed"] = {}  # id → the Revealed that waits for this prediction


def _interactive():
    # Whole-notebook runs (tests, nbconvert) have no learner to ask; with ANATOMY_RUN_ALL they see the results.
    return not os.environ.get("ANATOMY_RUN_ALL")


# ---- asking ----------------------------------------------------------------------------------------------


def predict(prediction_id: str, question: str | None = None, options: Iterable[object] | None = None) -> "Question":
    """Asks for a prediction and stores it: one of some options, or a text if there are none.

    Args:
        prediction_id: e.g. ``"rope.p1"``; used again in ``reveal``.
        question: one sentence. None for the course's own question with that id and its options.
        options: list of choices; None for a free number or text.

    Raises:
        ValueError: no question was given, and the course has none with that id.
    """
    known = _known(prediction_id)
    if question is None and known is None:
        raise ValueError(_("The course has no prediction {name!r}.").format(name=prediction_id))
    above = question is None  # the course's own questions are in the text above the cell
    if above:
        question, options = known["question"], known["options"]
    _options[prediction_id] = list(map(str, options or []))
    _asked[prediction_id] = _control(prediction_id, question, above)
    return _asked[prediction_id]


def _control(prediction_id, words, above):
    from .question import Question  # here, because `import anatomy` should not wait for the widget libraries

    unit, options = _unit(prediction_id), _options[prediction_id]
    item = {
        "key": prediction_id,
        "question": said(unit, words),
        "options": options,
        "above": above,
        "button": _("Keep my prediction"),
    } | labels(unit, options)
    entry = store.read("predictions").get(prediction_id)
    states = {prediction_id: _state(prediction_id, entry)} if entry else {}
    far = _known(prediction_id) and not _known(prediction_id)["adjacent"]
    return Question(
        [item], _commit, states, _("Prediction"), below=(lambda: _link_below(prediction_id)) if far else None
    )


def _commit(prediction_id, value):
    """Stores a prediction that a learner made in the page; returns what the page shows then."""
    entry, saved = _record(prediction_id, value)
    waiting = _waiting.get(prediction_id)
    if waiting is not None:
        waiting.prediction_came(entry["choice"])
        entry = store.read("predictions").get(prediction_id, entry)
    control = _asked.get(prediction_id)
    if control is not None:
        control.draw_below()
    state = _state(prediction_id, entry, here=waiting is not None)
    return (
        state
        if saved
        else {**state, "why": f"{state['why']} {_('(It could not be saved, and is kept while this notebook runs.)')}"}
    )


def record_prediction(prediction_id: str, value: object) -> None:
    """Stores a prediction without the control, e.g. ``record_prediction("rope.p1", "the score stays the same")``.

    Once its result has been shown, a prediction does not change, and one line says so.
    """
    entry = store.read("predictions").get(prediction_id)
    if entry and entry["shown"] and entry["choice"] != str(value):
        stays = said(_unit(prediction_id), entry["choice"])
        print(_("(the result has been shown; your prediction stays: {choice})").format(choice=stays))
        return
    state = _commit(prediction_id, str(value))
    if prediction_id in _asked:
        _asked[prediction_id].show(prediction_id, state)


def _record(prediction_id, value):
    def change(data):
        entry = data.get(prediction_id)
        if not (entry and entry["shown"]):
            data[prediction_id] = {"choice": value, "held": None, "shown": False}

    data, saved = store.update("predictions", change)
    return data[prediction_id], saved


def _state(prediction_id, entry, here=False):
    """What the page shows of a stored prediction; ``here``: is its result shown in this session?"""
    shown = said(_unit(prediction_id), entry["choice"])
    kept = _("Kept: {choice}") if shown.endswith((".", "!", "?", "…", "。", "！", "？")) else _("Kept: {choice}.")
    state = {"choice": entry["choice"], "tone": "kept", "message": kept.format(choice=shown)}
    known = _known(prediction_id)
    if entry["shown"]:
        stays = _("The result has been shown, so your prediction stays as it is.")
        why = _("The result is there now.") if here else stays
        return {**state, "why": why, "locked": True}
    if known and known["adjacent"]:
        why = _("Run the next cell to compare.")
    else:
        why = _("The result comes further down; you will see both side by side.")
    return {**state, "why": why, "button": _("Change my prediction")}


def labels(unit: str, options: Iterable[str]) -> dict[str, list[str]]:
    """{"labels": the texts shown for the options} if these differ from the options: what is stored is English."""
    shown = [said(unit, o) for o in options]
    return {} if shown == list(options) else {"labels": shown}


def _unit(prediction_id):
    """The unit that asks for a prediction; "" if the course does not know it."""
    try:
        return units.prediction(prediction_id)[0]
    except (KeyError, MissingRecording):
        return ""


def _known(prediction_id):
    """The course's entry for a prediction, or None."""
    try:
        return units.prediction(prediction_id)[1]
    except (KeyError, MissingRecording):
        return None


def _link(kind, prediction_id, words):
    """An HTML link to the predict or reveal cell; "" if the course does not know the prediction."""
    try:
        unit = units.prediction(prediction_id)[0]
    except (KeyError, MissingRecording):
        return ""
    address = units.link(unit, units.cell_id(kind, prediction_id), here=unit)
    return units.anchor(address, words) if address else ""


def _link_below(prediction_id):
    """HTML under a control whose result is far away: a link to it, once a prediction is stored."""
    kept = prediction_id in store.read("predictions")
    return _link("reveal", prediction_id, _("Go to the result")) if kept else ""


# ---- showing ---------------------------------------------------------------------------------------------


def reveal(
    prediction_id: str, result: object, because: str = "", answer: str | Callable[[], str] | None = None
) -> "Revealed":
    """Shows the prediction beside the result, or a placeholder until there is a prediction.

    Args:
        prediction_id: the id given to ``predict``.
        result: a value, or a function without arguments that computes it. It runs with this cell, but its value is
            shown only once a prediction exists.
        because: one or two sentences of explanation.
        answer: the option that is the result, or a function without arguments that returns it, to say whether the
            prediction held. None for a free answer, which is not judged.

    Raises:
        ValueError: ``answer`` is not one of the options.
    """
    if isinstance(answer, str):
        _one_of_the_options(prediction_id, answer)
    shown = Revealed(prediction_id, result, because, answer)
    entry = store.read("predictions").get(prediction_id)
    _waiting.pop(prediction_id, None)
    try:
        if entry is None and _interactive():
            _waiting[prediction_id] = shown
            shown.prepare()
            return shown
        shown.show(entry["choice"] if entry else None)
    except (Exception, KeyboardInterrupt) as error:
        raise stopped.shortly(error) from None
    control = _asked.get(prediction_id)
    if entry and control is not None:
        now = store.read("predictions").get(prediction_id, entry)
        control.show(prediction_id, _state(prediction_id, now, here=True))
    return shown


def _one_of_the_options(prediction_id, answer):
    known = _known(prediction_id)
    options = _options.get(prediction_id, known["options"] if known else None)
    if options is None or answer in options:
        return
    if not options:
        raise ValueError(_("{name} has no options, so reveal() takes no answer.").format(name=prediction_id))
    wrong = _("{name}: the answer {answer!r} is none of the options {options}.")
    raise ValueError(wrong.format(name=prediction_id, answer=answer, options=options))


def _result(value: object) -> str:
    """A result in words, which the cell's code has put together in English."""
    return str({k: label(str(v)) for k, v in value.items()}) if isinstance(value, dict) else label(str(value))


class Revealed:
    """Prediction and result side by side; a placeholder for both until there is a prediction."""

    def __init__(self, prediction_id: str, result: object, because: str, answer: str | Callable[[], str] | None):
        self.id, self.because = prediction_id, because
        self.prediction: str | None = None
        self.answer: str | None = None
        self.held: bool | None = None
        self.error: str | None = None
        self.value: object = None
        self.open = False
        self._result, self._answer = result, answer
        self._place = None

    def prepare(self) -> None:
        """Computes now what is shown later: by then, other cells may have changed the variables in it."""
        try:
            self._result, self._answer = self._computed()
        except Exception:
            pass  # for example, an exercise that it needs is not written yet: showing the result will say so

    def _computed(self):
        return tuple(f() if callable(f) else f for f in (self._result, self._answer))

    def show(self, prediction: str | None) -> None:
        """Shows the result, and records whether the prediction held. Raises what the result's function raises."""
        value, answer = self._computed()
        if answer is not None:
            _one_of_the_options(self.id, answer)
            self.held = None if prediction is None else prediction == answer
        self.prediction, self.value, self.answer, self.open = prediction, value, answer, True
        if prediction is not None:
            store.update("predictions", self._seen)

    def _seen(self, data):
        entry = data.get(self.id)
        if entry and not entry["shown"]:  # only the first time counts
            entry |= {"shown": True, "held": self.held}

    def prediction_came(self, prediction: str) -> None:
        """Shows the result in the cell that waits for it."""
        try:
            self.show(prediction)
            _waiting.pop(self.id, None)
        except Exception as error:
            # No running cell could show a traceback. The prediction stays, and the cell can be run again.
            self.error = f"{type(error).__name__}: {error}"
        if self._place is not None:
            self._place.update(self._bundle(), raw=True)

    def _bundle(self):
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _ipython_display_(self):
        from IPython.display import display

        self._place = display(self._bundle(), raw=True, display_id=True)

    @property
    def _came_out(self):
        """(the result, more about it)."""
        value, unit = str(self.value), _unit(self.id)
        if self.answer in (None, value):
            shown = said(unit, value)
            return (shown if shown != value else _result(self.value), "")
        return said(unit, self.answer), _result(self.value)

    @property
    def _judgment(self):
        return {True: _("Your prediction held."), False: _("It came out differently."), None: ""}[self.held]

    @property
    def _predicted(self):
        return said(_unit(self.id), self.prediction) if self.prediction else _("(nothing recorded)")

    @property
    def _why(self):
        return said(_unit(self.id), self.because)

    def __repr__(self):
        if self.error:
            failed = _("The result could not be computed: {error}. Look at the cells above, then run this one again.")
            return failed.format(error=self.error)
        if not self.open:
            return _("This result waits for your prediction.")
        result, more = self._came_out
        lines = [
            _("You predicted: {choice}").format(choice=self._predicted),
            _("It came out:   {result}").format(result=result) + (f" ({more})" if more else ""),
        ]
        return "\n".join([*lines, *filter(None, [" ".join(filter(None, [self._judgment, self._why]))])])

    def _repr_html_(self):
        e = html.escape
        if self.error or not self.open:
            link = "" if self.error else _link("predict", self.id, _("Go to the question"))
            return f'<p style="margin:.4em 0">{e(repr(self))} {link}</p>'
        result, more = self._came_out
        cell = 'style="text-align:left;vertical-align:top;padding:4px 12px 4px 0;white-space:normal"'
        more = f"<br>{e(more)}" if more else ""
        judgment = f"<strong>{e(self._judgment)}</strong> " if self._judgment else ""
        return (
            f'<table style="margin:.2em 0"><tr><th scope="row" {cell}>{_("You predicted")}</th>'
            f"<td {cell}>{e(self._predicted)}</td></tr>"
            f'<tr><th scope="row" {cell}>{_("It came out")}</th><td {cell}>{e(result)}{more}</td></tr></table>'
            f'<p style="margin:.4em 0">{judgment}{e(self._why)}</p>'
        )
