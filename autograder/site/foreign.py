"""Marks English parts of a site in another language with ``lang="en"``: articles, and the titles that link to them. A
sentence above such an article says that it is in English only.
"""

import html
import posixpath
import re
from collections.abc import Set
from dataclasses import dataclass, field

from anatomy.system.translation import tag

from .words import _

_TREE = re.compile(r'<div class="(sidebar|toc)-tree">.*?</div>', re.S)
_LINK = re.compile(r'<a class="([^"]*)" href="([^"#]*)(#?)"')
_NEIGHBOR = re.compile(r'(<a class="(?:next|prev)-page" href="([^"]*)">.*?<div class="title")>(.*?)<', re.S)
_ARTICLE = re.compile(r'<article( role="main")')


@dataclass
class English:
    """Pages in English, by their paths without suffix. titles: their titles in the sidebar; "": English."""

    pages: Set[str] = field(default_factory=frozenset)
    titles: dict[str, str] = field(default_factory=dict)

    def marked(self, page: str, here: str) -> str:
        """The HTML of the page ``here`` with ``lang="en"`` on its English parts."""
        if not self.pages:
            return page

        def path(address: str) -> str:
            there = posixpath.normpath(posixpath.join(posixpath.dirname(here), address))
            return there.removesuffix(".html") if address else here

        def tree(found: re.Match[str]) -> str:
            if found[1] == "toc":
                return found[0].replace(
                    ' class="toc-tree"', ' class="toc-tree" lang="en"', 1 if here in self.pages else 0
                )
            return _LINK.sub(lambda a: a[0] + ' lang="en"' * (self.titles.get(path(a[2])) == ""), found[0])

        def neighbor(found: re.Match[str]) -> str:
            title = self.titles.get(path(found[2]))
            if title is None:
                return found[0]
            return f"{found[1]}>{html.escape(title)}<" if title else f'{found[1]} lang="en">{found[3]}<'

        if here in self.pages:
            note = f'<p class="ta-english-only" lang="{tag()}">{html.escape(_("This page is in English only."))}</p>'
            page = _ARTICLE.sub(lambda found: f'{note}\n<article lang="en"{found[1]}', page, count=1)
        return _NEIGHBOR.sub(neighbor, _TREE.sub(tree, page))
