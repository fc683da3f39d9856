"""TableWidget: Python computes every position and setting once, the page looks them up and draws."""

import base64
import html
import io
import json
from pathlib import Path

import anywidget
import numpy as np
import torch
import traitlets as t
from safetensors.numpy import load_file

from ..records import MissingRecording, assets_dir
from .calls import shorten, unwritten

_HERE = Path(__file__).parent


def _source(name):
    return (_HERE / name).read_text(encoding="utf-8")


# For the learner who only looks, in the gallery or in a saved page.
NOTHING_GIVEN = "Showing the reference. Give the widget your own code to see it here."


class TableWidget(anywidget.AnyWidget):
    """Base of the widgets that draw tables of a learner's function.

    A subclass names its ``script`` (a file beside this one), its ``recording`` (a file under
    ``assets/recordings/widgets``, with the inputs and the reference's tables), the ``function_name`` that the
    course uses, and ``controls``, the traits that the page's controls move. It implements ``measure``,
    ``derive``, ``describe``, ``figure`` and the property ``alt``.

    Everything is computed in the constructor and in ``refresh``; moving a control costs no Python at all.
    Raises MissingRecording when the reference's tables are not there, WrongOutput when the function returns
    something that cannot be drawn, and whatever the function itself raises.
    """

    script = recording = function_name = None
    controls = ()

    spec = t.Dict().tag(sync=True)  # settings and words that never change
    tables = t.Dict().tag(sync=True)  # name → little-endian float32 bytes
    notice = t.Unicode().tag(sync=True)  # what is on show if it is not the learner's function

    def __init_subclass__(cls, **kwargs):
        if "script" in cls.__dict__:
            cls._esm = _source("common.js") + _source(cls.script)
            cls._css = _source("widgets.css")
        super().__init_subclass__(**kwargs)

    def __init__(self, fn=None, **state):
        self._fn = fn
        recorded = load_recording(self.recording)
        self._reference = {k.removeprefix("ref_"): v for k, v in recorded.items() if k.startswith("ref_")}
        self._inputs = {k: torch.from_numpy(v) for k, v in recorded.items() if not k.startswith("ref_")}
        self._mine = {}
        super().__init__(**state)
        self.spec = self.describe(self._inputs)
        self.refresh()

    @classmethod
    def measure(cls, fn, inputs):
        """The tables of ``fn``: name → array. ``inputs`` are the recording's tensors, and give the dtype."""
        raise NotImplementedError

    def derive(self, mine, reference, inputs):
        """More tables, computed from those of the learner and of the reference: the invariants."""
        raise NotImplementedError

    def describe(self, inputs):
        """JSON for the page: title, values of the controls, sizes."""
        raise NotImplementedError

    def figure(self):
        """The present state as a matplotlib Figure, for places where no widget can live."""
        raise NotImplementedError

    @property
    def alt(self):
        """The present state in words."""
        raise NotImplementedError

    def refresh(self, fn=None):
        """Compute the tables again, with another function if one is given.

        While the function raises NotImplementedError the reference is shown, and the notice says so.
        """
        candidate = self._fn if fn is None else fn
        name, mine, notice = self.function_name, self._reference, ""
        if candidate is None:
            notice = NOTHING_GIVEN
        else:
            try:
                mine = self.measure(candidate, self._inputs)
            except NotImplementedError as error:
                culprit = unwritten(error)
                if culprit is None:
                    shorten(error)
                    raise
                own = culprit in (name, getattr(candidate, "__name__", name))
                notice = f"Showing the reference: {name if own else culprit} is not written yet"
            except Exception as error:
                shorten(error)
                raise
        tables = {**mine, **{f"ref_{k}": v for k, v in self._reference.items()},
                  **self.derive(mine, self._reference, self._inputs)}
        self._fn, self._mine = candidate, mine
        with self.hold_sync():
            self.tables = {k: np.ascontiguousarray(v, dtype="<f4").tobytes() for k, v in tables.items()}
            self.notice = notice

    @property
    def whose(self):
        """Whose curves these are, for the text description."""
        return "the reference's" if self.notice else "your"

    def png(self):
        """The figure as PNG bytes; the same state gives the same bytes."""
        out = io.BytesIO()
        self.figure().savefig(out, format="png", dpi=100, metadata={"Software": None})
        return out.getvalue()

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        alt = self.alt
        data = {**data, "text/plain": alt, "image/png": base64.b64encode(self.png()).decode()}
        return data, {**metadata, "image/png": {"alt": alt}}

    def save_html(self, path):
        """Write one self-contained page: tables, script and styles inside, no kernel and no network needed.

        Returns the path. Without JavaScript the page shows the picture and its description.
        """
        state = {name: getattr(self, name) for name in ("spec", "notice", *self.controls)}
        state["tables"] = {k: base64.b64encode(v).decode() for k, v in self.tables.items()}
        data = json.dumps(state, sort_keys=True).replace("<", "\\u003c")  # "</script>" must not end the element
        picture = base64.b64encode(self.png()).decode()
        title, alt = html.escape(self.spec["title"]), html.escape(self.alt, quote=True)
        page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ margin: 16px auto; max-width: 860px; background: #fff; }}
body > img {{ max-width: 100%; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #141414; }} }}
{self._css}</style>
</head>
<body>
<main id="widget"><img alt="{alt}" src="data:image/png;base64,{picture}"></main>
<script type="application/json" id="state">{data}</script>
<script type="module">
{self._esm}
{_source("page.js")}</script>
</body>
</html>
"""
        path = Path(path)
        path.write_text(page, encoding="utf-8")
        return path


def load_recording(name):
    """Arrays of ``assets/recordings/widgets/<name>.safetensors``; MissingRecording if the file is not there."""
    path = assets_dir() / "recordings" / "widgets" / f"{name}.safetensors"
    if not path.exists():
        raise MissingRecording(f"{path} is missing, which holds a widget's inputs and reference curves. In the "
                               "course's repository run `make record`; in a student package, unpack the zip again.")
    return load_file(path)
