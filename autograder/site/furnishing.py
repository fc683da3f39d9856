"""Adds what the theme's pages lack: names for screen readers, ids of cells to link to, classes for kinds of sections,
and the page's theme for widgets and figures.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .about import footed
from .theme import spoken
from .words import _

_TOP = re.compile(r'(<a href="#" class="back-to-top.*?</a>)', re.S)
_ANCHOR = re.compile(r'<div class="ta-anchor" id="([^"]+)">')
_EMPTY_HEAD = re.compile(r"<th([^>]*)><p></p></th>")
_HEAD_OF_SIGNS = re.compile(
    r"<th([^>]*)><p>(<math)((?:(?!</math>).)*<annotation[^>]*>([^<]*)</annotation>.*?</math>)</p></th>"
)
# Runs before the theme's own script sets the theme: widgets and figures read JupyterLab's attribute.
WATCH = """<script>
new MutationObserver(() => {
  const { theme } = document.body.dataset;
  if (theme === "light" || theme === "dark") document.body.dataset.jpThemeLight = String(theme === "light");
  else delete document.body.dataset.jpThemeLight;
}).observe(document.body, { attributes: true, attributeFilter: ["data-theme"] });
</script>
"""


def sections() -> dict[str, re.Pattern[str]]:
    """CSS class → pattern for the titles of such sections; an untranslated unit has English titles."""
    extension, trial = re.escape(_("Extension")), re.escape(_("claim on trial"))
    return {
        "ta-is-extension": re.compile(rf"^(?:\d+\. )?(?:Extension\b|{extension})"),
        "ta-is-trial": re.compile(rf"claims? on trial|{trial}", re.I),
    }


def _sections(app: Sphinx, tree: nodes.document) -> None:
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for raw in tree.findall(nodes.raw):
        for anchor in _ANCHOR.findall(raw.astext()):
            slugs.setdefault(anchor, (0, anchor, ""))
    kinds = sections()
    for section in tree.findall(nodes.section):
        title = section[0].astext()
        section["classes"] += [kind for kind, pattern in kinds.items() if pattern.search(title)]
        if section.next_node(lambda n: isinstance(n, nodes.container) and "ta-statement" in n["classes"]) in section:
            section["classes"].append("ta-is-exercise")


def furnished(page: str) -> str:
    """The theme's HTML with these additions, and with the theme's words in the current language."""
    page = footed(spoken(page))
    page = page.replace("<body>", f"<body>\n{WATCH}", 1)
    page = page.replace('<aside class="sidebar-drawer">', f'<aside class="sidebar-drawer" aria-label="{_("Site")}">')
    page = page.replace('<aside class="toc-drawer"', f'<aside class="toc-drawer" aria-label="{_("On this page")}"')
    page = _TOP.sub(rf'<nav aria-label="{_("Top")}">\1</nav>', page, count=1)
    page = page.replace('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">')
    page = _EMPTY_HEAD.sub(r"<td\1><p></p></td>", page)  # an empty corner of a table is not a header
    # Some screen readers find no text in a header that is only a formula: give them its source.
    page = _HEAD_OF_SIGNS.sub(r'<th\1><p>\2 aria-hidden="true"\3<span class="ta-unseen">\4</span></p></th>', page)
    page = page.replace('<div id="search-results"></div>', f'<h1>{_("Search")}</h1>\n<div id="search-results"></div>')
    found = re.search(r'data-content_root="([^"]*)"', page)
    root = found[1] if found else ""
    for kind, script in (("ta-live", "live/core.js"), ("ta-press", "press.js")):
        if f'class="{kind}"' in page:  # at the end, after all elements that the script looks for
            page = page.replace("</body>", f'<script src="{root}_static/{script}"></script>\n</body>')
    return page


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("doctree-read", _sections)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
