"""Search in Chinese without a dictionary: every two adjacent characters are a term, in the index and in the query.

Sphinx 9.0's own Chinese search finds nothing, not even Latin words: its script needs a stemmer that is missing.
"""

import re
from collections.abc import Set
from typing import Any

from sphinx.application import Sphinx
from sphinx.search import SearchLanguage

_RUN = re.compile(r"[\u3400-\u9fff]+|[A-Za-z0-9_]+")


class Bigrams(SearchLanguage):
    """Latin words as they are; Chinese as pairs of adjacent characters, or a single character if it stands alone."""

    lang = "zh"
    language_name = "Chinese"
    stopwords: Set[str] = frozenset()
    js_splitter_code = r"""
function splitQuery(query) {
  const terms = [];
  for (const run of query.match(/[\u3400-\u9fff]+|[A-Za-z0-9_]+/g) || []) {
    if (!/^[\u3400-\u9fff]/.test(run) || run.length === 1) terms.push(run);
    else for (let i = 0; i + 1 < run.length; i++) terms.push(run.slice(i, i + 2));
  }
  return terms;
}
"""

    def split(self, input: str) -> list[str]:
        """The terms of a text."""
        terms = []
        for run in _RUN.findall(input):
            if run[0] < "\u3400" or len(run) == 1:
                terms.append(run)
            else:
                terms += [run[i : i + 2] for i in range(len(run) - 1)]
        return terms

    def stem(self, word: str) -> str:
        """The word in lower case."""
        return word.lower()

    def word_filter(self, word: str) -> bool:
        """Keeps every term except ""."""
        return bool(word)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_search_language(Bigrams)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
