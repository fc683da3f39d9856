"""``python -m autograder.site.checks [folder]`` (make site-check): all checks of a built site; fails if one does."""

import argparse
import filecmp
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from anatomy.program import units

from autograder.chromium import program

from .. import neighbors
from ..build import BUILD, Site
from . import Finding, budgets, files, looking, table, ways
from .serving import served

# One page of each kind, for slow checks.
SOME = ["index.html", "claims.html", "units/00-start-here.html", "gallery/index.html", "gallery/rope.html"]
SOME += ["press/00-weighted_average.html"]
QUERIES = {"softmax": "units/01-attention", "rotary": "units/06-rope", "gradebook": "docs/instructors"}


def same_bytes(site: Path) -> Finding:
    """Checks that a second build from the same executed notebooks gives the same bytes."""
    with tempfile.TemporaryDirectory() as place:
        again = Path(place) / "html"
        Site(again).build()
        names = {p.relative_to(root) for root in (site, again) for p in root.rglob("*") if p.is_file()}
        _, differ, missing = filecmp.cmpfiles(site, again, sorted(map(str, names)), shallow=False)
        differ = [name for name in differ if not _same_page(site / name, again / name)]
    wrong = [f"{name} differs" for name in differ] + [f"{name} is in one only" for name in missing]
    return Finding("a second build", f"{len(wrong)} of {len(names):,} files differ", "0", wrong)


def _same_page(one: Path, other: Path) -> bool:
    """True if two files are pages that differ only in the line that links to other languages."""
    if one.suffix != ".html":
        return False
    first, second = (neighbors.without_line(page.read_text(encoding="utf-8")) for page in (one, other))
    return first == second


def check(site: Path, browser: object, run: list[str], quick: bool = False) -> Iterator[Finding]:
    """Yields each finding as soon as it is known. run: the units whose pages have outputs. quick: check only a few
    pages where otherwise all are checked.
    """
    pages = files.Pages(site)
    names = [pages.name(page) for page in pages.text]
    own = [f"units/{name}.html" for name in run]
    few = [name for name in names if name in SOME or name in own or name == "search.html"]
    disk = f"{site.as_uri()}/"
    yield from (files.links(pages), files.outside(pages), files.tables(site))
    yield from (files.solutions(pages), files.formulas(pages))
    with served(site) as host:
        yield from budgets.first_page(browser, host)
        yield from budgets.unit_pages(browser, host, own)
        yield ways.keyboard(browser, host.address, SOME)
        yield ways.without_scripts(browser, host.address, [*own, *SOME])
        yield ways.paper(browser, host.address, own[:2] if quick else [*own, SOME[0]])
        yield ways.themes(browser, host.address, "gallery/rope.html")
        yield ways.searching(browser, host.address, QUERIES)
        yield from looking.every_page(browser, host.address, SOME if quick else names)
    yield ways.searching(browser, disk, QUERIES)
    for f in looking.every_page(browser, disk, SOME if quick else few, ways=["light"])[3:]:
        yield Finding(f"from disk: {f.name}", f.measured, f.limit, f.wrong)
    yield same_bytes(site)


def main() -> int:
    """The command; returns its exit status."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(prog="make site-check", description="Look at the built site in a browser.")
    parser.add_argument("site", nargs="?", type=Path, default=BUILD / "html")
    parser.add_argument("--quick", action="store_true", help="a few pages for what looks at every page")
    given = parser.parse_args()
    site = given.site.resolve()
    if not (site / "index.html").is_file():
        print(f"There is no site in {given.site}. First: make site", file=sys.stderr)
        return 2
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        good = True
        for finding in check(site, browser, units.names(), given.quick):
            print(table([finding]), flush=True)
            good = good and finding.good
        browser.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
