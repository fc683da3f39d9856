"""What a widget leaves for the next day, when no kernel holds it any more: its last picture, and how to move it.

Where the view of a widget has died JupyterLab shows an error, and nothing else of the same output. So the picture is
an output of its own. It is hidden everywhere but below such an error, and then the error is hidden instead.
"""

import asyncio
import base64
import html
import io
from typing import Any

from PIL import Image

from .types import Widget
from .words import _

NAME = "ta-next-day"
REST = 2.0  # seconds without a change, after which the picture is drawn again
COLORS = 64  # enough for lines and maps, and a third of the bytes
# JupyterLab marks only such an error so: a view that lives has the class further inside.
DEAD = ".jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets)"
KEPT = ".jp-OutputArea-child:has(.ta-next-day)"  # no :has() may stand inside another
STYLE = f"""<style>
{DEAD}:has(+ .jp-OutputArea-child .ta-next-day) {{ display: none; }}
.jp-OutputArea-child:not({DEAD}) + {KEPT} {{ display: none; }}
{DEAD} + {KEPT} .ta-next-day {{ display: block !important; }}
.ta-next-day img {{ max-width: 100%; }}
</style>"""


def picture(widget: Widget, png: bytes) -> dict[str, str]:
    """MIME bundle: the widget's picture, hidden but where its view has died."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(png)) as drawn:
        drawn.convert("RGB").quantize(COLORS).save(small, format="PNG", optimize=True)
    source = base64.b64encode(small.getvalue()).decode()
    image = f'<img alt="{html.escape(widget.alt, quote=True)}" src="data:image/png;base64,{source}">'
    words = html.escape(_("This is the last picture. Run this cell, and it moves."))
    return {
        "text/html": f'{STYLE}<div class="{NAME}" style="display:none">{image}<p>{words}</p></div>',
        "text/plain": "",
    }


class LastPicture:
    """The output that keeps a widget's picture, and is drawn again when the widget has rested after a change.

    png: the first picture, which exists already.
    """

    def __init__(self, widget: Widget, png: bytes) -> None:
        from IPython.display import display

        self.widget = widget
        self._waiting: asyncio.TimerHandle | None = None
        self._place = display(picture(widget, png), raw=True, display_id=True)
        widget.observe(self._changed, [*widget.controls, "tables", "mistake"])

    def _changed(self, change: Any) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # outside of a kernel nothing can be drawn later
            return
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = loop.call_later(REST, self._draw)

    def _draw(self) -> None:
        self._waiting = None
        if self._place is not None:
            self._place.update(picture(self.widget, self.widget.png()), raw=True)
