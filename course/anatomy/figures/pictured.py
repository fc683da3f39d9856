"""The words in plots and drawings, in the language in use.

A picture is laid out with its English words. Those of its SVG are replaced when it is shown, so a page needs no font of
ours: the browser has one. A PNG is drawn by Matplotlib, which stays English where no font with Chinese is installed.
"""

import html
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from ..system.labels import label
from ..system.translation import ENGLISH, language

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WRITTEN = re.compile(r"(<(text|tspan|title|desc)\b[^>]*>)([^<]+)(?=</\2>)")
# Fonts with Chinese: Debian's small one, Windows, macOS, and what people install.
_FONTS = (
    "WenQuanYi Micro Hei",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Microsoft YaHei",
    "SimHei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Heiti TC",
    "STHeiti",
)


def in_svg(svg: str) -> str:
    """An SVG with its words in the language in use, each in its place."""
    if language() == ENGLISH:
        return svg
    return _WRITTEN.sub(lambda m: m[1] + html.escape(label(html.unescape(m[3])), quote=False), svg)


@cache
def font() -> str:
    """Name of an installed font with Chinese; "" without one."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    found = _first(entry.name for entry in fontManager.ttflist)
    if not found:  # Matplotlib keeps a list, and doesn't see what was installed later
        for path in {*findSystemFonts()} - {entry.fname for entry in fontManager.ttflist}:
            with suppress(Exception):  # a file that FreeType can't read costs nobody a plot
                fontManager.addfont(path)
        found = _first(entry.name for entry in fontManager.ttflist)
    return found


def _first(installed: Iterable[str]) -> str:
    known = set(installed)
    return next((name for name in _FONTS if name in known), "")


@contextmanager
def spoken(figure: "Figure") -> Iterator[None]:
    """Has Matplotlib draw a figure with its labels in the language in use, if an installed font has the letters."""
    changed: list[tuple[Any, str]] = []
    if language() != ENGLISH and font():
        changed = [(text, text.get_text()) for text in _texts(figure) if label(text.get_text()) != text.get_text()]
    families = [text.get_fontfamily() for text, _english in changed]
    for text, english in changed:
        text.set_text(label(english))
        text.set_fontfamily(["DejaVu Sans", font()])
    try:
        yield
    finally:
        for (text, english), family in zip(changed, families, strict=True):
            text.set_text(english)
            text.set_fontfamily(family)


def _texts(figure: "Figure") -> Iterable[Any]:
    from matplotlib.text import Text

    return figure.findobj(Text)
