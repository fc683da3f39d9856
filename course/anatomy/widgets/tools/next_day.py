"""Keeps a widget's last picture for the next day, when its kernel is gone, with a note on how to revive it.

If a widget's view has died, JupyterLab shows an error, and nothing else from the same output. So the picture is a
separate output. It is hidden, except below such an error; then the error is hidden instead.
"""

import asyncio
import base64
import html
import io
from typing import Any

from .types import Widget
from .words import _

NAME = "ta-next-day"
REST = 2.0  # seconds without a change before the picture is redrawn
COLORS = 64  # enough for lines and maps, and a third of the bytes
# In JupyterLab only such an error matches: a live view has the class deeper inside.
DEAD = ".jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets)"
KEPT = ".jp-OutputArea-child:has(.ta-next-day)"  # :has() cannot be nested
STYLE = f"""<style>
{DEAD}:has(+ .jp-OutputArea-child .ta-next-day) {{ display: none; }}
.jp-OutputArea-child:not({DEAD}) + {KEPT} {{ display: none; }}
{DEAD} + {KEPT} .ta-next-day {{ display: block !important; }}
.ta-next-day img {{ max-width: 100%; }}
[data-jp-theme-light="false"] .ta-next-day img {{ filter: invert(0.92) hue-rotate(180deg); }}
</style>"""


def picture(widget: Widget, png: bytes) -> dict[str, str]:
    """MIME bundle with the widget's picture, hidden unless the view has died."""
    from PIL import Image

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
    """The output that keeps a widget's picture; it is redrawn REST seconds after the last change.

    png: the first picture, already drawn.
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
        except RuntimeError:  # outside a kernel nothing can be redrawn later
            return
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = loop.call_later(REST, self._draw)

    def _draw(self) -> None:
        self._waiting = None
        if self._place is not None:
            self._place.update(picture(self.widget, self.widget.png()), raw=True)
