"""Films the README's moving picture: a wrong apply_rope is checked and named, its dials stretch; mended, they turn.

``python -m tests.browser.film`` (make film) drives JupyterLab and writes ``assets/figures/film-THEME.webp``. Each frame
is a state of the page and is shown for a time that stands here, so a slow machine makes the same film. The cells are
those of unit 06, without what stands between them.
"""

import copy
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from anatomy.system import files
from PIL import Image

from autograder import ROOT, exercises
from tests.widgets.lab import launched, open_notebook, start_lab
from tests.widgets.page import find, settle

UNIT, EXERCISE, MISTAKE = "06-rope", "rope.apply_rope", "both_plus"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
WIDTH, HEIGHT, BAR = 880, 540, 24  # pixels; a README on GitHub is at most that wide. BAR: of JupyterLab, left out
WRONG, RIGHT = "even * cos + odd * sin", "even * cos - odd * sin"
ANSWER = f"""def apply_rope(x, position_ids, base=10000.0):
    wide = torch.promote_types(x.dtype, torch.float32)
    angles = position_ids[..., None] * rope_frequencies(x.shape[-1], base).to(wide)
    if position_ids.dim() == 2:
        angles = angles.unsqueeze(1)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([{WRONG}, even * sin + odd * cos], dim=-1)
    return turned.flatten(-2).to(x.dtype)"""
WIDGET = "RopeExplorer(apply_rope)"
SOLVE, CHECK, BEFORE = f"solve-{EXERCISE.replace('.', '-')}", f"check-{EXERCISE.replace('.', '-')}", "rope_frequencies"
WRONG_STEPS = 4  # positions that the query goes on while the answer is wrong
STEPS, PARTS = 8, 6  # positions that the query goes on, and frames of each
PART_MS = 40  # of the widget's own time from frame to frame
# No bars of JupyterLab around the notebook, no cursor that blinks.
STYLE = """.jp-Notebook-ExecutionIndicator, .jp-cell-toolbar, #jp-bottom-panel { display: none !important; }
.cm-cursor { animation: none !important; opacity: 1 !important; }
.jp-Notebook { scrollbar-width: none; padding-top: 6px !important; }
.jp-Notebook-footer { visibility: hidden; }"""
# The widget's clock, which stands still between frames: performance.now and requestAnimationFrame.
CLOCK = """() => {
  let now = performance.now(), count = 0;
  const waiting = new Map();
  performance.now = () => now;
  window.requestAnimationFrame = (run) => { waiting.set(++count, run); return count; };
  window.cancelAnimationFrame = (which) => { waiting.delete(which); };
  window.goOn = (ms) => {
    now += ms;
    const due = [...waiting.values()];
    waiting.clear();
    due.forEach((run) => run(now));
  };
}"""
ABOUT = 0x010E  # Exif's ImageDescription, which is ASCII
BOOK = "window.jupyterapp.shell.currentWidget.content"

Frame = tuple[Image.Image, int]  # picture, milliseconds


def message() -> str:
    """What the check says about the film's mistake."""
    return next(m.message for m in exercises.get(EXERCISE).mutants if m.name == MISTAKE)


def notebook() -> nbformat.NotebookNode:
    """The film's cells: imports, frequencies with their solution, the wrong answer, its check, the dials."""
    book = nbformat.read(ROOT / "solutions" / UNIT / f"{UNIT}.ipynb", as_version=4)
    cells = {c.id: c for c in book.cells}
    setup = next(c for c in book.cells if "setup" in c.metadata.get("tags", ()))
    widget = next(c for c in book.cells if c.source == WIDGET)
    chosen = [setup, cells[f"solve-rope-{BEFORE}"], cells[SOLVE], cells[CHECK], widget]
    made = nbformat.v4.new_notebook(cells=copy.deepcopy(chosen), metadata=book.metadata)
    made.cells[2].source = ANSWER
    for cell in made.cells:
        cell.metadata.pop("nbgrader", None)
    return made


def plain(text: str) -> str:
    """The text in ASCII."""
    return text.encode("ascii", "replace").decode()


class Camera:
    """A page with the film's notebook."""

    def __init__(self, page: Any, url: str, theme: str) -> None:
        self.page = page
        open_notebook(page, url, f"{UNIT}/{UNIT}.ipynb")
        page.evaluate("(t) => window.jupyterapp.commands.execute('apputils:change-theme', { theme: t })", THEMES[theme])
        page.wait_for_function("(dark) => document.body.dataset.jpThemeLight === String(!dark)", arg=theme == "dark")
        for side in ("left", "right"):
            page.evaluate(
                "(side) => window.jupyterapp.commands.execute('application:toggle-side-tabbar', { side })", side
            )
        page.add_style_tag(content=STYLE)

    def cell(self, at: int) -> Any:
        """Makes a cell the active one; returns its element."""
        self.page.evaluate(
            f"(at) => {{ {BOOK}.activeCellIndex = at; {BOOK}.deselectAll(); {BOOK}.mode = 'command'; }}", at
        )
        return self.page.locator(".jp-Notebook .jp-Cell").nth(at)

    def run(self, at: int) -> Any:
        """Runs a cell; returns its element when it has run."""
        cell = self.cell(at)
        self.page.evaluate("async () => { await window.jupyterapp.commands.execute('notebook:run-cell') }")
        return cell

    def scroll(self, at: int) -> float:
        """How far the notebook has to be scrolled for a cell to be at the top."""
        return self.page.evaluate(
            f"""(at) => {{ const view = {BOOK}.viewportNode ?? {BOOK}.node; const outer = {BOOK}.outerNode ?? view;
              const cell = {BOOK}.widgets[at].node.getBoundingClientRect();
              return outer.scrollTop + cell.top - outer.getBoundingClientRect().top - 6; }}""",
            at,
        )

    def below(self, element: Any, at: int) -> float:
        """How much of an element would lie below the page if its cell were at the top."""
        cell, box = self.page.locator(".jp-Notebook .jp-Cell").nth(at).bounding_box(), element.bounding_box()
        top = self.page.locator(".jp-Notebook").bounding_box()["y"]
        return max(0.0, top + box["y"] + box["height"] - cell["y"] + 20 - HEIGHT)

    def to(self, top: float) -> None:
        """Scrolls the notebook."""
        self.page.evaluate(f"(top) => {{ const outer = {BOOK}.outerNode ?? {BOOK}.node; outer.scrollTop = top; }}", top)

    def at_dials(self, dials: Any) -> float:
        """How far the notebook has to be scrolled for the widget's dials to be on the page."""
        return self.scroll(4) + self.below(dials.locator(".ro-dials"), 4)

    def ride(self, dials: Any) -> Iterator[Frame]:
        """From the answer down to the dials."""
        near, far = self.scroll(2), self.at_dials(dials)
        for part in (0.15, 0.5, 0.85, 1):
            self.to(near + part * (far - near))
            yield self.frame(60)

    def frame(self, ms: int, still: bool = True) -> Frame:
        """The page as it is, to be shown for some time. still: wait for it to settle first."""
        if still:
            settle(self.page)
            settle(self.page)
        shown = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT}
        data = self.page.screenshot(animations="disabled", caret="initial", clip=shown)
        return Image.open(io.BytesIO(data)).convert("RGB"), ms


def scenes(camera: Camera) -> Iterator[Frame]:
    """The film, frame by frame."""
    page = camera.page
    for at in (0, 1):
        camera.run(at)
    camera.cell(2)
    camera.to(camera.scroll(2))
    yield camera.frame(1000)
    camera.run(2)
    checked = camera.run(3)
    checked.get_by_text(message().split(". ")[0]).first.wait_for()
    page.mouse.move(2, HEIGHT)
    got = checked.get_by_text("got", exact=True).first
    camera.to(camera.scroll(2) + camera.below(got, 2))
    yield camera.frame(3000)
    dials = camera.run(4).locator(".ta")
    dials.locator(".ta-svg").first.wait_for()
    query = find(dials, "slider", "query position m")
    yield from camera.ride(dials)
    for _ in range(WRONG_STEPS):
        query.press("ArrowRight")
        camera.to(camera.at_dials(dials))
        yield camera.frame(350)
    for _ in range(WRONG_STEPS):
        query.press("ArrowLeft")

    line = next(i for i, text in enumerate(ANSWER.split("\n")) if WRONG in text)
    column = ANSWER.split("\n")[line].index(WRONG) + WRONG.index("+")
    camera.cell(2)
    page.evaluate(
        f"""([line, column]) => {{ {BOOK}.mode = 'edit'; const editor = {BOOK}.activeCell.editor; editor.focus();
          editor.setSelection({{ start: {{ line, column }}, end: {{ line, column: column + 1 }} }}); }}""",
        [line, column],
    )
    camera.to(camera.scroll(2))
    yield camera.frame(900)
    page.keyboard.type("-")
    camera.to(camera.scroll(2))
    yield camera.frame(700)
    camera.run(2)
    checked = camera.run(3)
    checked.get_by_text("Worth knowing.").wait_for()
    camera.to(camera.scroll(2))
    yield camera.frame(1500)

    yield from camera.ride(dials)
    page.evaluate(CLOCK)
    for _ in range(STEPS):
        query.press("ArrowRight")
        camera.to(camera.at_dials(dials))
        for _part in range(PARTS):
            page.evaluate("(ms) => window.goOn(ms)", PART_MS)
            yield camera.frame(PART_MS + 10, still=False)
    yield camera.frame(700, still=False)


def packed(frames: list[Frame], quality: int = 80) -> bytes:
    """An animated WebP without end, without loss. Alike frames are one."""
    kept: list[list[Any]] = []
    for image, ms in frames:
        if kept and kept[-1][0].tobytes() == image.tobytes():
            kept[-1][1] += ms
        else:
            kept.append([image, ms])
    first, *others = [image for image, _ in kept]
    out, told = io.BytesIO(), Image.Exif()
    told[ABOUT] = plain(message())  # so that a test can see whether the check still says it
    first.save(
        out, "WEBP", save_all=True, append_images=others, duration=[ms for _, ms in kept], loop=0, lossless=True,
        quality=quality, method=4, exif=told,
    )  # fmt: skip
    return out.getvalue()


def place_of(theme: str) -> Path:
    """Where the film is stored."""
    return ROOT / "assets" / "figures" / f"film-{theme}.webp"


def filmed(theme: str, browser: Any, url: str) -> list[Frame]:
    """The frames of the film in one theme."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT + BAR})
    context.set_default_timeout(60_000)
    page = context.new_page()
    frames = list(scenes(Camera(page, url, theme)))
    page.evaluate("async () => { await window.jupyterapp.shell.currentWidget.context.sessionContext.shutdown() }")
    context.close()
    return frames


def main() -> int:
    """Makes both films."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ANATOMY_HOME"] = str(Path(folder) / "home")
        place = Path(folder) / "work" / UNIT
        place.mkdir(parents=True)
        with launched() as browser:
            for theme in sys.argv[1:] or THEMES:
                (place / f"{UNIT}.ipynb").write_text(json.dumps(notebook()), encoding="utf-8")
                with start_lab(place.parent, timeout=180) as url:
                    data = packed(filmed(theme, browser, url))
                files.replace(place_of(theme), data)
                print(f"{place_of(theme).name}: {len(data) / 1000:.0f} kB. Look at it before you commit it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
