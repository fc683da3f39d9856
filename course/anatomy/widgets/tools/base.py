"""TableWidget: Python computes tables for every position and setting once; the page looks values up and draws."""

import base64
import inspect
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import numpy as np
import torch
import traitlets as t
from safetensors.numpy import load_file

from ...program.records import MissingRecording, assets_dir
from ...system import files, store, translation
from ...system.installation import how_to_repair
from . import following, next_day, page
from .calls import replaced, shorten, unwritten
from .drawing import Figure, above
from .page import NOTHING_GIVEN as NOTHING_GIVEN
from .story import Step
from .types import Function, Inputs, Tables
from .words import _, for_page

_HERE = Path(__file__).parent
# Of all widgets, before their own.
SCRIPTS = ("motion.js", "drawing.js", "parts.js", "touch.js", "play.js", "demonstration.js", "story.js", "life.js")


def _source(name):
    return (_HERE / name).read_text(encoding="utf-8")


class TableWidget(anywidget.AnyWidget):
    """Base of the widgets that draw tables of a learner's function.

    A subclass sets its ``recording``: the name of its folder, of its first script (``rope/rope.js``, which the other
    scripts of the folder follow), and of the file under ``assets/recordings/widgets`` with the inputs and the
    reference's tables. It sets ``function_name``, the course's
    name of the function, and ``controls``, the traits that the page's controls change. It implements ``measure``,
    ``derive``, ``describe``, ``figure`` and the property ``words``.

    Everything is computed in the constructor and in ``refresh``; moving a control runs no Python at all. While the
    check of a function shown does not pass, ``mistake`` holds the check's message. After each check the widget switches
    to the function that was checked (``following``).

    Raises MissingRecording if the reference's tables are missing, WrongOutput if the function returns something that
    cannot be drawn, and any error that the function itself raises.
    """

    recording: ClassVar[str] = ""
    function_name: ClassVar[str] = ""
    controls: ClassVar[tuple[str, ...]] = ()
    keyed: ClassVar[bool] = False  # True if functions are passed under names
    # name → id of the exercise that is meant, where an earlier unit asks for a function of that name, too
    asked_by: ClassVar[Mapping[str, str]] = {}
    story: ClassVar[tuple[Step, ...]] = ()
    opening: ClassVar[tuple[dict[str, Any], ...]] = ()  # states that a page shows once on load (demonstration.js)

    spec = t.Dict().tag(sync=True)  # settings and words that never change
    step = t.Int(0, min=0).tag(sync=True)  # step of the story
    tables = t.Dict().tag(sync=True)  # name → little-endian float32 bytes
    notice = t.Unicode().tag(sync=True)  # says what is shown if it is not the learner's function
    mistake = t.Unicode().tag(sync=True)  # the checks' messages about the learner's functions shown, one line each

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "recording" in cls.__dict__:
            own = Path(inspect.getfile(cls)).parent / f"{cls.recording}.js"
            others = sorted(set(own.parent.glob("*.js")) - {own})  # their functions are hoisted, so they may come later
            scripts = [path.read_text(encoding="utf-8") for path in (own, *others)]
            cls._esm = "\n".join(["".join(map(_source, SCRIPTS)) + scripts[0], *scripts[1:]])
            cls._css = _source("widgets.css")
        super().__init_subclass__(**kwargs)

    def __init__(self, fn: Any = None, **state: Any) -> None:
        self._fn = fn
        self._last: next_day.LastPicture | None = None  # set once the widget is displayed
        recorded = load_recording(self.recording)
        self._reference: Tables = {k.removeprefix("ref_"): v for k, v in recorded.items() if k.startswith("ref_")}
        self._inputs: Inputs = {k: torch.from_numpy(v) for k, v in recorded.items() if not k.startswith("ref_")}
        self._mine: Tables = {}
        self._said: dict[str, str] = {}  # target → its check's message
        super().__init__(**state)
        told = {"story": [step.described() for step in self.story], "opening": list(self.opening)}
        self.spec = {**self.describe(self._inputs), **told}
        says = for_page(type(self), str(self._esm))
        if says:  # in English the page needs no words from Python
            self.spec = {**self.spec, "says": says}
        self.refresh()
        following.register(self)

    @classmethod
    def measure(cls, fn: Any, inputs: Inputs) -> Tables:
        """Tables of the given function(s) ``fn``: name → array. ``inputs`` are the recording's and set the dtype."""
        raise NotImplementedError

    @classmethod
    def parcels(cls) -> dict[str, bytes]:
        """Bytes that only some readers need, by name: a page without a kernel carries them, and unpacks them on demand
        (``model.parcel`` in page.js)."""
        return {}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        """More tables, such as invariants, computed from the learner's and the reference's tables."""
        raise NotImplementedError

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        """JSON for the page: title, values of the controls, sizes."""
        raise NotImplementedError

    def figure(self) -> Figure:
        """The current state as a matplotlib Figure, for places that cannot show widgets."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """The current picture in words."""
        raise NotImplementedError

    @property
    def alt(self) -> str:
        """The current state in words: the check's messages, then the picture."""
        return " ".join([*self.mistake.splitlines(), self.words])

    def refresh(self, fn: Any = None) -> None:
        """Compute the tables again, with a new function if one is given.

        While the function raises NotImplementedError the reference is shown, and the notice says so.
        """
        with self.hold_sync():
            self._show(self._fn if fn is None else fn)
            self._say(following.what_checks_say(self))

    def follow(self, checked: Mapping[str, Function]) -> None:
        """Switches to the functions that were just checked, target → function, if this widget shows them.

        A function that cannot be drawn is replaced by the reference, and the notice says why. An error would be
        confusing, because the learner did not run this cell.
        """
        new = {slot: checked[target] for slot, target in following.targets_in(self).items() if target in checked}
        if not new:
            return
        functions = self._given_with(new)
        with self.hold_sync():
            try:
                self._show(functions, again=new.keys())
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a learner's own error class may not be an Exception
                self._show(None)
                self._fn, self.notice = functions, replaced(next(iter(new)), error)
            shown = [target for slot, target in following.targets_in(self).items() if self.own(slot)]
            said = {
                target: following.last_said(target, checked[target])
                if target in checked
                else self._said.get(target, "")
                for target in shown
            }
            self._say({target: sentence for target, sentence in said.items() if sentence})

    def given(self) -> dict[str, Function]:
        """slot → function, for the given functions. Slots are the widget's names for them."""
        return {} if self._fn is None else {self.function_name: self._fn}

    def own(self, slot: str) -> bool:
        """True if the function shown in that slot is the learner's."""
        return self._mine is not self._reference

    def _given_with(self, new):
        return new[self.function_name]

    def _show(self, candidate, again=None):
        mine, notice = self._measured(candidate, again)
        tables = {
            **mine,
            **{f"ref_{k}": v for k, v in self._reference.items()},
            **self.derive(mine, self._reference, self._inputs),
        }
        self._fn, self._mine = candidate, mine
        with self.hold_sync():
            self.tables = {k: np.ascontiguousarray(v, dtype="<f4").tobytes() for k, v in tables.items()}
            self.notice = notice

    def _measured(self, fn, again):
        """(tables, notice) of the given function. again: None, or the slots to measure; then errors are not raised."""
        if fn is None:
            return self._reference, _(NOTHING_GIVEN)
        name = self.function_name
        try:
            return self.measure(fn, self._inputs), ""
        except (Exception, SystemExit) as error:
            culprit = unwritten(error) if isinstance(error, NotImplementedError) else None
            if culprit is not None:
                own = culprit in (name, getattr(fn, "__name__", name))
                said = _("Showing the reference: {name} is not written yet")
                return self._reference, said.format(name=name if own else culprit)
            if again is None:
                shorten(error)
                raise
            return self._reference, replaced(name, error)

    def _say(self, said):
        self._said, self.mistake = said, following.in_words(said)

    @property
    def whose(self) -> str:
        """Owner of the curves, for the text description."""
        return _("the reference's") if self.notice else _("your")

    def png(self) -> bytes:
        """The figure as PNG bytes; the same state gives the same bytes."""
        from matplotlib import style

        out = io.BytesIO()
        # Matplotlib's own font has only Latin letters, so pictures are in English; their descriptions are translated.
        # Whatever style a notebook has set, they are drawn in Matplotlib's own.
        with translation.speaking(translation.ENGLISH), style.context("default"):
            above(self.figure(), self.mistake).savefig(out, format="png", dpi=100, metadata={"Software": None})
        return out.getvalue()

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        alt = self.alt
        data = {**data, "text/plain": alt, "image/png": base64.b64encode(self.png()).decode()}
        return data, {**metadata, "image/png": {"alt": alt}}

    def _ipython_display_(self) -> None:
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        display(data, raw=True, metadata=metadata)
        self._last = next_day.LastPicture(self, base64.b64decode(data["image/png"]))

    def save_html(self, path: str | Path) -> Path:
        """Write one self-contained page, with tables, script and styles inside; it needs no kernel and no network.

        Nothing of the learner's record is in it. Without JavaScript the page shows the picture and its description.
        Returns the path.
        """
        path = Path(path)
        files.replace(path, page.written(self).encode())
        return path

    @contextmanager
    def for_others(self) -> Iterator[None]:
        """For a while, the tables and words say nothing of what the learner has passed: a page for others is made."""
        with self.hold_sync():
            try:
                with store.unread():
                    self._say(self._said)
                    yield
            finally:
                self._say(self._said)


def load_recording(name: str) -> Tables:
    """Arrays of ``assets/recordings/widgets/<name>.safetensors``; raises MissingRecording if the file is missing."""
    path = assets_dir() / "recordings" / "widgets" / f"{name}.safetensors"
    if not path.exists():
        missing = _("{path} is missing, which holds a widget's inputs and reference curves. {repair}")
        raise MissingRecording(missing.format(path=path, repair=how_to_repair("make record")))
    return load_file(path)
