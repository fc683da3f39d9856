"""Shows a figure: a picture that follows the page's theme, alt text, and its numbers as a table.

``page(svg, alt, tables)`` is the HTML; ``bundle(figure)`` is what a cell displays for a Matplotlib figure; after
``follow_theme()`` a notebook shows every figure that way. ``themes`` changes the colors, ``reading`` reads the numbers,
and ``tables`` writes them.
"""

import base64
import html
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..system.translation import _
from . import pictured
from .tables import Table, as_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# An SVG in an <img> takes the color-scheme of its element as the reader's preference (Media Queries 5). JupyterLab, VS
# Code and Colab set an attribute for their theme and no color-scheme; elsewhere the system's preference counts.
STYLE = """<style>
.ta-figure { margin: 0; }
.ta-figure > img { max-width: 100%; height: auto; color-scheme: light dark; }
:is([data-jp-theme-light="true"], [data-vscode-theme-kind$="light"], html[theme="light"]) .ta-figure > img {
  color-scheme: only light; }
:is([data-jp-theme-light="false"], [data-vscode-theme-kind]:not([data-vscode-theme-kind$="light"]), html[theme="dark"])
  .ta-figure > img { color-scheme: dark; }
.ta-figure summary { cursor: pointer; padding: 3px 0; width: fit-content; }
.ta-figure .ta-numbers { overflow: auto; max-height: 26em; }
.ta-figure table { border-collapse: collapse; margin: 4px 0 14px; font-variant-numeric: tabular-nums; }
.ta-figure caption { text-align: left; font-weight: 600; padding: 2px 0; }
.ta-figure :is(th, td) { padding: 2px 8px; text-align: right; border-bottom: 1px solid #8886; }
.ta-figure :is(th, td):first-child { text-align: left; }
</style>"""


def page(svg: str | bytes, alt: str, tables: Sequence[Table] = (), caption: str = "") -> str:
    """HTML of one figure, which loads no other files.

    Args:
        svg: the picture, as ``themes.themed`` returns it.
        alt: alternative text.
        tables: the numbers, folded up below the picture; a screen reader reads them as tables.
        caption: a line below the picture.
    """
    picture = base64.b64encode(svg.encode() if isinstance(svg, str) else svg).decode()
    below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    if tables:
        numbers = html.escape(_("The numbers of this figure"))
        # A scrolling box must be reachable by keyboard, and JupyterLab must leave the keys in it alone.
        below += (
            f'<details data-lm-suppress-shortcuts="true"><summary>{numbers}</summary>'
            f'<div class="ta-numbers" role="region" aria-label="{numbers}" tabindex="0">'
            f"{''.join(map(as_html, tables))}</div></details>"
        )
    return (
        f'{STYLE}<figure class="ta-figure"><img src="data:image/svg+xml;base64,{picture}" alt="{html.escape(alt)}">'
        f"{below}</figure>"
    )


def bundle(figure: "Figure", alt: str = "", png: bool = True) -> tuple[dict[str, str], dict[str, Any]]:
    """Returns (data, metadata) that a notebook displays for a Matplotlib figure.

    Args:
        figure: drawn on a white background; with a different background it keeps its colors in both themes.
        alt: alternative text; "" builds one from the names of what is drawn.
        png: add a PNG, for a front end that shows no HTML.
    """
    import matplotlib as mpl
    from matplotlib.colors import to_hex

    from .captions import told
    from .reading import tables

    found = tables(figure)
    alt = alt or told(found)
    picture = io.StringIO()
    # Text stays text, at any page size. Each picture is a separate document, so that equal ids don't clash.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "figure"}):
        figure.savefig(picture, format="svg", bbox_inches="tight", metadata={"Date": None})
    from .themes import LIGHT, themed

    follow = to_hex(figure.get_facecolor()) == LIGHT
    svg = themed(pictured.in_svg(picture.getvalue()), alt, follow)
    data = {"text/html": page(svg, alt, found), "text/plain": alt}
    if png:
        buffer = io.BytesIO()
        with pictured.spoken(figure):
            figure.savefig(buffer, format="png", bbox_inches="tight")
        data["image/png"] = base64.b64encode(buffer.getvalue()).decode()
    return data, {"image/png": {"alt": alt}}


def follow_theme() -> None:
    """Makes this notebook show every figure with ``bundle`` from now on, including those of a learner's own cells.

    Does nothing outside a notebook.
    """
    from IPython import get_ipython
    from matplotlib.figure import Figure

    formatter = getattr(getattr(get_ipython(), "display_formatter", None), "mimebundle_formatter", None)
    if formatter is not None:  # Matplotlib's own backend adds the PNG
        formatter.for_type(Figure, lambda figure: bundle(figure, png=False))
