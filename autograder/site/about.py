"""What each page says about itself: to search engines and to sites that show a link, and at its foot."""

import html
import re
from typing import Any

from anatomy.program import gallery
from anatomy.system.translation import language
from docutils import nodes
from sphinx.application import Sphinx

from autograder.notebooks import address

from .words import _

SITE = "Transformer Anatomy"
LONGEST = 200  # characters of a description; what shows links cuts off more
SHORTEST = 40  # a shorter paragraph says nothing by itself
_PROMISE = re.compile(r'"ta-promise">(.*?)</p>', re.S)
_WHOLE = re.compile(r"<div class=\"left-details\">.*?</div>", re.S)
LICENSES = {
    "MIT": "https://opensource.org/license/mit",
    "CC BY 4.0": "https://creativecommons.org/licenses/by/4.0/",
}


def description(tree: nodes.document) -> str:
    """The page's first words in running text, at most ``LONGEST`` characters; "" if it has none."""
    for node in tree.findall(lambda n: isinstance(n, nodes.paragraph | nodes.raw)):
        promise = _PROMISE.search(node.astext()) if isinstance(node, nodes.raw) else None
        if promise:
            return _cut(html.unescape(promise[1]))
        if isinstance(node, nodes.paragraph) and isinstance(node.parent, nodes.section):
            words = " ".join([_plain(node), *_listed(node)])
            if len(words) > SHORTEST:
                return _cut(words)
    return ""


def _plain(node: nodes.Element) -> str:
    """The text of a paragraph; "" if it has a formula, whose source nobody wants to read there."""
    return "" if any(node.findall(nodes.math)) else " ".join(node.astext().split())


def _listed(node: nodes.paragraph) -> list[str]:
    """The items of the list that ends the paragraph's sentence: "You will be able to" do one thing; do another."""
    following = node.next_node(descend=False, siblings=True)
    if not isinstance(following, nodes.bullet_list) or node.astext().endswith((".", "。")):
        return []
    return [text for item in following.findall(nodes.paragraph) if (text := _plain(item))]


def _cut(words: str) -> str:
    """Whole sentences, or parts between semicolons, if they fit, else whole words."""
    if len(words) <= LONGEST:
        return words.rstrip(":：")
    ends = [m.end() for m in re.finditer(r"[.!?;](?= )|[。！？；]", words[: LONGEST + 1])]
    if ends and ends[-1] > 40:
        return words[: ends[-1]].rstrip(";；")
    return words[:LONGEST].rsplit(" ", 1)[0].rstrip(",;: ") + " …"


def picture(page: str) -> str:
    """Address of the picture that goes with a link to a page: a widget's own, else the README's; "" if not public."""
    name = page.removeprefix("gallery/")
    entry = next((e for e in gallery.entries() if e.folder == name and name != page), None)
    path = "figures/rope-explorer-light.webp" if entry is None else f"gallery/{gallery.stills(entry)['light'].name}"
    return address.read().raw(f"assets/{path}")


def tags(page: str, title: str, words: str) -> str:
    """HTML for a page's head: its description, and the same for sites that show a link."""
    shown = {"type": "website", "site_name": SITE, "title": title or SITE, "description": words}
    shown |= {"locale": language() if "_" in language() else "en_US", "image": picture(page)}
    made = [f'<meta property="og:{key}" content="{html.escape(says)}">' for key, says in shown.items() if says]
    if words:
        made.insert(0, f'<meta name="description" content="{html.escape(words)}">')
    if shown["image"]:
        made.append('<meta name="twitter:card" content="summary_large_image">')
    return "\n".join(made) + "\n"


def foot() -> str:
    """HTML of the line at a page's foot: version, licenses, the source if it is public, the theme."""
    known = address.read()
    code, text = (f'<a href="{there}">{name}</a>' for name, there in LICENSES.items())
    parts = [
        f"{SITE} {known.version}",
        _("Code: {code}, text: {text}").format(code=code, text=text),
        f'<a href="{known.repository}">{_("Source")}</a>' if known.repository else "",
        _("Made with {theme}").format(theme='<a href="https://github.com/pradyunsg/furo">Furo</a>'),
    ]
    return f'<div class="left-details">{" · ".join(part for part in parts if part)}</div>'


def footed(page: str) -> str:
    """A page's HTML with that line instead of the theme's."""
    return _WHOLE.sub(lambda _found: foot(), page, count=1)


def _head(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document | None) -> None:
    title = re.sub(r"<[^>]+>", "", context.get("title") or "")
    words = description(tree) if tree is not None else ""
    context["metatags"] = context.get("metatags", "") + tags(page, html.unescape(title), words)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("html-page-context", _head)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
