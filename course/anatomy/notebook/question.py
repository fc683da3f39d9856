"""The control of predictions and recap questions: choose, commit, see.

Real radio buttons (or one text field), a button, and a message that screen readers announce. The right answer and
its reason reach the page only after the commit, so that nobody reads them by accident.
"""

import html
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets as t

from ..system.translation import _, words

MARKS = {"right": "✓", "wrong": "✗"}
State = dict[str, Any]  # of one question; Question describes it
Item = dict[str, Any]
_HERE = Path(__file__).parent
_SCRIPT = (_HERE / "question.js").read_text(encoding="utf-8")
FALLBACK = """<style>
.jp-OutputArea-child:has(.ta-ask-plain):has(+ .jp-OutputArea-child .ta-ask) { display: none; }
.jp-OutputArea-child:has(.ta-ask-plain) + .jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets) {
  display: none; /* JupyterLab marks only an error so: "model not found" */
}
</style>"""


class Question(anywidget.AnyWidget):
    """One or several questions in one output.

    Args:
        items: list of dicts: ``key``, ``question``, ``options`` (empty for a free answer), ``labels`` (the texts shown
            for the options, if they differ from these), ``above`` (the question is already in the text above the
            cell: here only screen readers get it) and ``button``.
        on_commit: ``on_commit(key, value)`` → the new state; it runs when a learner commits an answer.
        states: key → state, for earlier answers. A state is a dict: ``choice``, ``tone`` (``kept``,
            ``right``, ``wrong`` or ``problem``), ``message``, ``why``, ``others`` (pairs of choice and reason),
            ``locked`` and ``button``.
        name: the accessible name of the whole control.
        below: function that returns HTML for a line with links under the control. In an HTML output, JupyterLab
            follows a link to a cell of the notebook; in a widget, the link would leave the page.
    """

    _esm = _SCRIPT
    _css = (_HERE / "question.css").read_text(encoding="utf-8")

    name = t.Unicode().tag(sync=True)
    token = t.Unicode().tag(sync=True)  # finds the plain question that belongs to this control
    items = t.List().tag(sync=True)
    states = t.Dict().tag(sync=True)
    words = t.Dict().tag(sync=True)  # English → what the script says instead; empty in English
    commit = t.Dict().tag(sync=True)  # from the page: key, value and a number, so that the same answer counts again

    def __init__(
        self,
        items: list[Item],
        on_commit: Callable[[str, str], State],
        states: dict[str, State] | None = None,
        name: str = "",
        below: Callable[[], str] | None = None,
    ):
        self._on_commit, self._below, self._place, self._kept = on_commit, below, None, None
        super().__init__(
            items=items,
            states=states or {},
            name=name or _("Question"),
            token=secrets.token_hex(6),
            words=words(_SCRIPT),
        )

    @t.observe("commit")
    def _committed(self, change):
        answer = change["new"]
        if not isinstance(answer, dict) or answer.get("key") not in [i["key"] for i in self.items]:
            return
        try:
            state = self._on_commit(answer["key"], str(answer.get("value", "")))
        except Exception as error:  # a traceback here would go to a log that nobody sees
            state = {
                "choice": answer.get("value", ""),
                "tone": "problem",
                "message": _("This could not be kept: {error}").format(error=f"{type(error).__name__}: {error}"),
            }
        self.show(answer["key"], {**state, "n": answer.get("n", 0)})

    def show(self, key: str, state: State) -> None:
        """Changes the state of one question."""
        # The number tells the page that its commit has arrived, even where nothing else has changed.
        number = state.get("n", self.states.get(key, {}).get("n", 0))
        self.states = {**self.states, key: {**state, "n": number}}
        if self._kept is not None:  # for when the notebook is opened again
            self._kept.update(self._without_control(), raw=True)

    def __repr__(self):
        return "\n".join(_plain(i) for i in self.items)

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        # For a page without a kernel, where controls do not work: the plain question.
        parts = "".join(_page(i) for i in self.items)
        return {**data, "text/plain": repr(self), "text/html": f"<div>{parts}</div>"}, metadata

    def _ipython_display_(self):
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        view = {kind: content for kind, content in data.items() if "widget" in kind}
        # A notebook opened again the next day has no control: JupyterLab would show "Error displaying widget" there,
        # and nothing else of the same output. So the plain question is a separate output, hidden while there is a
        # control below it.
        self._kept = display(self._without_control(), raw=True, display_id=True)
        if view:
            display({**view, "text/plain": ""}, raw=True, metadata=metadata)
        if self._below is not None:
            self._place = display(self._line(), raw=True, display_id=True)

    def _without_control(self):
        """The questions without the control, and the answers to them."""
        parts = []
        for item in self.items:
            state = self.states.get(item["key"], {})
            said = f"{MARKS.get(state.get('tone'), '')} {state.get('message', '')} {state.get('why', '')}"
            parts.append(_page(item, state.get("choice")) + (f"<p>{html.escape(said.strip())}</p>" if state else ""))
        ask = "" if all(i["key"] in self.states for i in self.items) else f"<p>{_('To answer, run this cell.')}</p>"
        plain = f'{FALLBACK}<div class="ta-ask-plain" data-ask="{self.token}">{"".join(parts)}{ask}</div>'
        return {"text/plain": repr(self), "text/html": plain}

    def draw_below(self) -> None:
        """Draws the line under the control again, if it is shown."""
        if self._place is not None:
            self._place.update(self._line(), raw=True)

    def _line(self):
        return {"text/html": self._below(), "text/plain": ""}


def _labels(item):
    return item.get("labels") or item["options"]


def _plain(item):
    return "\n".join([item["question"], *(f"  ○ {o}" for o in _labels(item))])


def _page(item, chosen=None):
    shown = {o: html.escape(label) for o, label in zip(item["options"], _labels(item), strict=True)}
    options = "".join(f"<li>{f'<strong>{s}</strong>' if o == chosen else s}</li>" for o, s in shown.items())
    return f"<p><strong>{html.escape(item['question'])}</strong></p>" + (f"<ul>{options}</ul>" if options else "")
