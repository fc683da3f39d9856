"""Makes one SVG for light and dark pages: background, text and every series keep their contrast on both.

Matplotlib writes colors into each element. This module strengthens them where a white background needs it, and a style
sheet inside the picture replaces them on a dark page. Hues stay those of Okabe and Ito ("Color Universal Design",
2008); contrasts are those of WCAG 2.2 (1.4.3 for text, 1.4.11 for graphics).
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

LIGHT, DARK = "#ffffff", "#111111"  # backgrounds of JupyterLab's two themes
BLACK, INK = "#000000", "#ececec"  # black on the light background becomes INK on the dark one
DRAWN, WRITTEN = 3.0, 4.5  # minimal contrast with the background, for graphics and text
MARGIN = 1.03  # reserve, because colors are whole numbers, and browsers round them
TINT = 1.3  # a filled area with less contrast to white is a tint of the background, and stays a tint
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
FONTS = "'DejaVu Sans', Verdana, sans-serif"  # Verdana has nearly the same widths
_COLOR = re.compile(r"(?<![\w-])(fill|stroke): (#[0-9a-f]{6})\b")
_FAMILY = re.compile(r" ?font-family: 'DejaVu Sans'[^;]*;?")

ET.register_namespace("", SVG)
ET.register_namespace("xlink", XLINK)


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colors ``#rrggbb``, from 1 to 21 (WCAG 2.2)."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def mixed(color: str, other: str, share: float) -> str:
    """Mixes ``color`` with a share from 0 to 1 of another; returns ``#rrggbb``."""
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(_rgb(color), _rgb(other), strict=True))


def seen(color: str, paper: str, least: float) -> str:
    """The color nearest to ``color``, toward black or white, whose contrast with ``paper`` is at least ``least``."""
    away = "#000000" if _luminance(paper) > 0.18 else "#ffffff"
    steps = (mixed(color, away, i / 64) for i in range(65))
    return next((c for c in steps if contrast(c, paper) >= least * MARGIN), away)


def pair(color: str, name: str = "stroke", text: bool = False) -> tuple[str, str]:
    """Returns (color on white, color on dark) for a color that Matplotlib wrote as ``fill`` or ``stroke``."""
    if color in (LIGHT, BLACK):
        return (LIGHT, DARK) if color == LIGHT else (BLACK, INK)
    if name == "fill" and not text and contrast(color, LIGHT) < TINT:
        return color, mixed(DARK, color, 0.2)
    least = WRITTEN if text else DRAWN
    return seen(color, LIGHT, least), seen(color, DARK, least)


def themed(svg: str, alt: str = "", follow: bool = True) -> str:
    """Makes Matplotlib's SVG follow ``prefers-color-scheme``; in an ``img``, that is the element's ``color-scheme``.

    Args:
        svg: as ``savefig(format="svg")`` writes it, on a white background.
        alt: text that a screen reader says if the picture is opened by itself.
        follow: False keeps all colors, for a figure with its own background.

    Images and the small fields of a color bar keep their colors in both themes: they are data.
    """
    root = ET.fromstring(svg)
    for extra in root.findall(f"{{{SVG}}}metadata"):
        root.remove(extra)
    rules: dict[str, str] = {}
    for element, is_data in _elements(root):
        style = "; ".join(filter(None, [element.get("style", ""), *_attributes(element)]))
        if element.tag == f"{{{SVG}}}text" or element.tag == f"{{{SVG}}}tspan":
            style = _FAMILY.sub("", style)
        if is_data:  # removes the space that the style sheet's selectors look for
            style = _COLOR.sub(r"\1:\2", style)
        elif follow:
            style = _COLOR.sub(lambda found: _replaced(found, element, rules), style)
        if style:
            element.set("style", style.strip())
        for part in ("text", "tail"):
            if not (getattr(element, part) or "").strip():
                setattr(element, part, None)
        if "d" in element.attrib:
            element.set("d", " ".join(element.get("d", "").split()))
    sheet = next(root.iter(f"{{{SVG}}}style"))
    dark = "".join(f"{where}{{{what}!important}}" for where, what in sorted(rules.items()))
    sheet.text = f"{sheet.text}text{{font-family:{FONTS}}}"
    if follow:
        # Matplotlib writes no fill for black text and some black markers.
        sheet.text += f"@media (prefers-color-scheme:dark){{svg{{fill:{INK}}}{dark}}}"
    root.set("role", "img")
    if alt:
        title = ET.Element(f"{{{SVG}}}title")
        title.text = alt
        root.insert(0, title)
    return ET.tostring(root, encoding="unicode") + "\n"


def _elements(root: ET.Element) -> Iterator[tuple[ET.Element, bool]]:
    """Yields (element, True if it belongs to the cells of a mesh), for the whole picture."""
    todo = [(root, False)]
    while todo:
        element, is_data = todo.pop()
        is_data = is_data or element.get("id", "").startswith("QuadMesh")
        yield element, is_data
        todo += [(child, is_data) for child in element]


def _attributes(element: ET.Element) -> list[str]:
    """Turns color attributes, as in a hatch, into style declarations."""
    names = [n for n in ("fill", "stroke") if element.get(n, "").startswith("#")]
    return [f"{name}: {element.attrib.pop(name)}" for name in names]


def _replaced(found: re.Match[str], element: ET.Element, rules: dict[str, str]) -> str:
    """Returns the declaration for a white background; adds the one for a dark page to ``rules``."""
    name, color = found.groups()
    text = element.tag == f"{{{SVG}}}text"
    light, dark = pair(color, name, text)
    rules[f'{"text" if text else ":not(text)"}[style*="{name}: {light}"]'] = f"{name}:{dark}"
    return f"{name}: {light}"


def _rgb(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _luminance(color: str) -> float:
    parts = (c / 255 for c in _rgb(color))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
