"""Takes the stills of the gallery's index: pictures of the widgets in Chromium, light and dark.

``python -m autograder.build.stills [WIDGET ...]`` (make stills) writes ``assets/gallery/NAME-THEME.webp``. They show a
phone's layout, whose letters can be read in a card, and only the drawings, from the largest one on. The README's
pictures of the RoPE explorer, which show all of it, are taken with them.
"""

import argparse
import io
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anatomy.program import gallery
from anatomy.program.gallery import Entry
from anatomy.system import files
from anatomy.widgets import REGISTERED, RopeExplorer
from PIL import Image, ImageChops

from autograder import ROOT
from autograder.chromium import program

WIDTH, HEIGHT, SHARPNESS = 400, 250, 2  # CSS pixels of a still, and how many pixels each becomes
# One font, so that the stills are alike on each machine with fonts-dejavu-core.
STILL = """.ta, .ta * { animation: none !important; transition: none !important;
  font-family: "DejaVu Sans" !important; }"""
# Without what is only read or operated.
BARE = f"""{STILL} body {{ margin: 0 !important; max-width: none !important; padding: 0 !important; }}
header, .ta-title, .ta-story, .ta-controls, .ta-readout, .ta-notice, .ta-signs, .ta-note, .ta-choice, .ta-button,
.ta-caption small {{ display: none !important; }}"""
# Where the panel with the largest drawing begins; so far up that the still is full.
FROM = """([high]) => {
  const area = (e) => { const box = e.getBoundingClientRect(); return box.width * box.height; };
  const widget = document.querySelector('.ta');
  const largest = [...widget.querySelectorAll('.ta-svg')].reduce((a, b) => (area(b) > area(a) ? b : a));
  const panel = largest.closest('.ta-panel') ?? largest;
  return Math.max(0, Math.min(panel.getBoundingClientRect().top - 8, widget.getBoundingClientRect().bottom - high));
}"""
# Widgets whose first step begins before anything has happened, or with a straight line: what the still shows instead.
LATER: dict[str, dict[str, Any]] = {
    "gradient": {"back": 96},
    "merge": {"done": 7},
    "position": {"scheme": "sinusoidal"},
}
# The README's picture: the parts of the RoPE explorer that explain it at a glance.
README: dict[str, Any] = {"panels": ["line", "dials", "map"]}
WIDE = 880  # CSS pixels
CALM = {"animations": "disabled", "caret": "hide"}
CLEAR, MOST = 48, 0.01  # difference of a color that is seen; share of such pixels in a still that is still the same


class Camera:
    """Takes stills in a running browser."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._page = self._opened(WIDTH)

    def _opened(self, width: int) -> Any:
        size = {"width": width, "height": 900}
        return self._browser.new_page(viewport=size, device_scale_factor=SHARPNESS, reduced_motion="reduce")

    def taken(self, entry: Entry) -> dict[str, Image.Image]:
        """theme → still of a widget."""
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            path = REGISTERED[entry.folder](**LATER.get(entry.folder, {})).save_html(Path(folder) / "page.html")
            for theme in gallery.THEMES:
                self._page.emulate_media(color_scheme=theme)
                _show(self._page, path, BARE)
                top = self._page.evaluate(FROM, [HEIGHT])
                clip = {"x": 0, "y": top, "width": WIDTH, "height": HEIGHT}
                found[theme] = image(self._page.screenshot(clip=clip, full_page=True, **CALM))
        return found

    def for_readme(self) -> dict[str, Image.Image]:
        """theme → picture of the whole RoPE explorer."""
        page, found = self._opened(WIDE), {}
        with tempfile.TemporaryDirectory() as folder:
            path = RopeExplorer(**README).save_html(Path(folder) / "page.html")
            for theme in gallery.THEMES:
                page.emulate_media(color_scheme=theme)
                _show(page, path, STILL)
                found[theme] = image(page.locator(".ta").screenshot(**CALM))
        page.close()
        return found


def _show(page: Any, path: Path, style: str) -> None:
    page.goto(path.as_uri())
    page.add_style_tag(content=style)
    page.wait_for_selector(".ta .ta-svg:visible")
    # Nobody answers a picture's question, so nothing in it waits for an answer.
    page.evaluate("() => document.querySelectorAll('[data-waits]').forEach((root) => { root.dataset.waits = ''; })")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def image(data: bytes) -> Image.Image:
    """A screenshot's PNG as an image."""
    return Image.open(io.BytesIO(data)).convert("RGB")


def is_current(path: Path, taken: Image.Image) -> bool:
    """Whether a stored still looks like the one just taken; letters may be a little different."""
    if not path.is_file():
        return False
    stored = Image.open(path).convert("RGB")
    if stored.size != taken.size:
        return False
    seen = ImageChops.difference(stored, taken).convert("L").point(lambda value: 255 if value > CLEAR else 0)
    return seen.histogram()[255] <= MOST * taken.width * taken.height


def packed(image: Image.Image) -> bytes:
    """The image as WebP, without loss: for drawings that is also the smallest."""
    out = io.BytesIO()
    image.save(out, "WEBP", lossless=True, quality=100, method=6)
    return out.getvalue()


def place_of(entry: Entry, theme: str) -> Path:
    """Where a still is stored."""
    return gallery.folder() / f"{entry.name}-{theme}.webp"


def readme_place(theme: str) -> Path:
    """Where a picture of the README is stored."""
    return ROOT / "assets" / "figures" / f"rope-explorer-{theme}.webp"


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium. Raises RuntimeError if it is missing."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


def store(path: Path, taken: Image.Image) -> None:
    """Writes a picture, unless the one that is there looks the same."""
    if not is_current(path, taken):
        files.replace(path, packed(taken))
        print(f"{path.name}: {path.stat().st_size / 1000:.1f} kB. Look at it before you commit it.")


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    every = {entry.name: entry for entry in gallery.entries()}
    parser = argparse.ArgumentParser(prog="make stills", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("widget", nargs="*", help="such as RopeExplorer; all, without a name")
    given = parser.parse_args(argv).widget
    if unknown := [name for name in given if name not in every]:
        print(f"stills: there is no widget {unknown[0]}; there are {', '.join(every)}.", file=sys.stderr)
        return 2
    try:
        with browser() as running:
            camera = Camera(running)
            for name in given or every:
                for theme, taken in camera.taken(every[name]).items():
                    store(place_of(every[name], theme), taken)
            for theme, taken in camera.for_readme().items():
                store(readme_place(theme), taken)
    except RuntimeError as error:
        print(f"stills: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
