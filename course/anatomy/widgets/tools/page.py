"""A widget as a page of its own, with tables, script and styles inside: it needs no kernel and no network.

Others will see such a page, so nothing of the learner's record is in it; and nobody can give it a function, so nothing
in it asks for one.
"""

import base64
import html
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from ...system.html_page import html_page
from .story import Step
from .words import N_, _

# Said in notebooks while a widget has no function of the learner's.
NOTHING_GIVEN = N_("This is the reference at work. Give the widget your own function and it shows yours.")
# Scripts draw other words while there is a notice; this one is there, and has no line to show.
NOTHING_TO_SAY = "\n"
_HERE = Path(__file__).parent


class Shown(Protocol):
    """What a page needs of a widget; TableWidget has it."""

    story: ClassVar[tuple[Step, ...]]
    controls: ClassVar[tuple[str, ...]]
    tables: Any
    spec: Any
    _css: Any
    _esm: Any

    @property
    def alt(self) -> str: ...

    def png(self) -> bytes: ...

    def parcels(self) -> dict[str, bytes]: ...

    def for_others(self) -> AbstractContextManager[None]: ...


@dataclass(frozen=True)
class Around:
    """What a page has besides the widget: HTML for its head and HTML above the widget. title: "" for the widget's."""

    title: str = ""
    head: str = ""
    above: str = ""


def outside(kind: type[Shown], state: Mapping[str, Any]) -> dict[str, Any]:
    """A widget's state as a page outside notebooks shows it, from the traits' values.

    Without steps of the story that ask for a function, and without the notice that does. If no function was given,
    ``alone`` is true: then the comparisons with the reference are left out as well.
    """
    spec, notice = dict(state["spec"]), state.get("notice", "")
    alone = notice in (NOTHING_GIVEN, _(NOTHING_GIVEN))
    told = zip(kind.story, spec.get("story", ()), strict=False)
    spec["story"] = [step for about, step in told if not about.asks_for_function]
    return {**state, "spec": spec, "notice": NOTHING_TO_SAY if alone else notice, "alone": alone}


def written(widget: Shown, around: Around | None = None) -> str:
    """The page's HTML. Without JavaScript it shows the widget's picture and the picture's description."""
    around = around or Around()
    with widget.for_others():
        traits = {name: getattr(widget, name) for name in ("spec", "notice", "mistake", "step", *widget.controls)}
        state = outside(type(widget), traits)
        for name, parts in (("tables", widget.tables), ("parcels", widget.parcels())):
            state[name] = {k: base64.b64encode(v).decode() for k, v in parts.items()}
        alt, picture = html.escape(widget.alt, quote=True), base64.b64encode(widget.png()).decode()
    data = json.dumps(state, sort_keys=True).replace("<", "\\u003c")  # "</script>" must not end the element
    title = html.escape(around.title or widget.spec["title"])
    style, script = ((_HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    larger = f'<button type="button" id="large" aria-pressed="false" hidden>{_("Large")}</button>'
    body = f"""<header>{around.above}{larger}</header>
<main>
<h1 class="ta-unseen">{title}</h1>
<div id="widget"{" data-alone" * state["alone"]}><img alt="{alt}" src="data:image/png;base64,{picture}"></div>
</main>
<script type="application/json" id="state">{data}</script>
<script type="module">
{widget._esm}
{script}</script>"""
    return html_page(title, f"{around.head}<style>\n{style}{widget._css}</style>", body)
