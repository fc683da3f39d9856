"""Takes the README's picture of the RoPE explorer: ``python -m autograder.recording.screenshot`` (needs Chromium)."""

import shutil
import sys
import tempfile
from pathlib import Path

from anatomy.widgets import RopeExplorer
from playwright.sync_api import sync_playwright

from autograder import ROOT
from autograder.reference.rope import apply_rope


def take(out: Path, scheme: str = "light") -> Path:
    """Writes the widget's exported page as a PNG at twice the resolution; returns the path."""
    browser_path = shutil.which("chromium")
    if browser_path is None:
        raise RuntimeError("Chromium is needed for a screenshot: make system-packages")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_path = RopeExplorer(apply_rope).save_html(Path(folder) / "rope.html")
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 880, "height": 760}, color_scheme=scheme, device_scale_factor=1.5)
        page.goto(page_path.as_uri())
        page.locator(".ta").screenshot(path=out)
        browser.close()
    return out


if __name__ == "__main__":
    target = ROOT / "assets" / "figures" / "rope-explorer.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    sys.exit(print(take(target)))
