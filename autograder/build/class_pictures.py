"""Takes the pictures of docs/instructors.md: a student's page and the report, of the made-up class of a rehearsal.

``python -m autograder.build.class_pictures`` (make class-pictures) writes ``docs/pictures/NAME.webp``. The class is
graded with one fixed secret, so that the pages are the same each time but for the numbers of the machine.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder import ROOT
from autograder.classes import rehearsal

from . import stills

FOLDER = ROOT / "docs" / "pictures"
UNIT = "01-attention"
WIDTH = 900  # CSS pixels
# Name → (the page in the rehearsal's folder, how much of it is shown, in CSS pixels).
SHOWN = {
    "student-page": (f"feedback/bob/{UNIT}/{UNIT}.html", 862),
    "report": ("report.html", 728),
}


def taken(browser: Any, folder: Path) -> dict[str, Any]:
    """Name → the top of the page, as an image. folder: of a rehearsal that was graded."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=1.5)
    found = {}
    for name, (path, height) in SHOWN.items():
        page.goto((folder / path).as_uri())
        page.add_style_tag(content=stills.STILL.replace(".ta, .ta *", "body"))
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height}
        found[name] = stills.image(page.screenshot(clip=clip, full_page=True, **stills.CALM))
    page.close()
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "class"
        rehearsal.make(folder, UNIT)
        if status := rehearsal.grade(folder, secret="of the pictures"):
            return status
        try:
            with stills.browser() as running:
                for name, image in taken(running, folder).items():
                    stills.store(FOLDER / f"{name}.webp", image)
        except RuntimeError as error:
            print(f"class-pictures: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
