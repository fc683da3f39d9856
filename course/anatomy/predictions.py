"""Predict first: a prediction is recorded before the result can be seen, then both are shown side by side."""

import html
import os

from .progress import read, write


def _interactive():
    # Whole-notebook runs (tests, nbconvert) have nobody to ask; ANATOMY_RUN_ALL lets them see results.
    return not os.environ.get("ANATOMY_RUN_ALL")


def predict(prediction_id, question, options=None):
    """Asks for a prediction and records it. Shows a form with choices, or a text field where there are none.

    Args:
        prediction_id: e.g. ``"rope.p1"``; used again in ``reveal``.
        question: one sentence, shown above the form.
        options: list of choices; None for a free number or text.
    """
    import ipywidgets as widgets

    saved = read("predictions").get(prediction_id)
    label = widgets.HTML(f"<b>Predict first.</b> {html.escape(question)}")
    if options:
        field = widgets.RadioButtons(options=options, value=saved if saved in options else None,
                                     layout=widgets.Layout(width="max-content"))
    else:
        field = widgets.Text(value=saved or "", placeholder="your prediction", description="I expect",
                             continuous_update=False)
    button = widgets.Button(description="Record my prediction", button_style="primary",
                            layout=widgets.Layout(width="auto"))
    state = widgets.HTML(_state(saved))

    def record(_):
        if field.value in (None, ""):
            state.value = "Choose or write something first."
            return
        record_prediction(prediction_id, field.value)
        state.value = _state(field.value)

    button.on_click(record)
    return widgets.VBox([label, field, button, state])


def record_prediction(prediction_id, value):
    """Records a prediction without the form, e.g. ``record_prediction("rope.p1", "the score stays the same")``."""
    data = read("predictions")
    data[prediction_id] = str(value)
    write("predictions", data)


def _state(value):
    return f"Recorded: <b>{html.escape(str(value))}</b>. Now run the next cell." if value else "Not recorded yet."


class Revealed:
    """Prediction and result side by side."""

    def __init__(self, prediction, result, because):
        self.prediction, self.result, self.because = prediction, result, because

    def __repr__(self):
        return f"You predicted: {self.prediction}\nIt came out:   {self.result}\n{self.because}"

    def _repr_html_(self):
        e = html.escape
        return (f'<table><tr><th scope="row">You predicted</th><td>{e(str(self.prediction))}</td></tr>'
                f'<tr><th scope="row">It came out</th><td>{e(str(self.result))}</td></tr></table>'
                f"<p>{e(self.because)}</p>")


class PredictFirst:
    """Shown in place of a result that has no prediction yet."""

    def __repr__(self):
        return "Record your prediction in the cell above, then run this cell again."

    def _repr_html_(self):
        return "<p>Record your prediction in the cell above, then run this cell again.</p>"


def reveal(prediction_id, result, because=""):
    """Shows the recorded prediction beside the result.

    Args:
        prediction_id: the id given to ``predict``.
        result: a value, or a function without arguments that computes it (run only once a prediction exists).
        because: one or two sentences of explanation.
    """
    prediction = read("predictions").get(prediction_id)
    if prediction is None and _interactive():
        return PredictFirst()
    value = result() if callable(result) else result
    return Revealed(prediction or "(nothing recorded)", value, because)
