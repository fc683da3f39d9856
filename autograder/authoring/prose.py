"""Thermometers for a unit's prose: how often its sentences are joined, and how many are very short.

They count the text that a learner reads in full: statements, text cells and the notes after an exercise, without hints,
model answers, headings, tables, quoted claims, code and formulas. A good number does not make a good text; a bad one
shows a text whose reader has to supply the joints.
"""

import re
from dataclasses import dataclass

from autograder.notebooks.cells import read_cells
from autograder.notebooks.source import source_path

CAUSAL = re.compile(
    r"\b(because|since|so that|therefore|hence|thus|(which|that) is why|for this reason)\b|[,;] so\b", re.I
)
EXAMPLE = re.compile(r"\b(for example|for instance|such as|suppose|say,|imagine|e\.g\.)", re.I)
CONTRAST = re.compile(r"\b(however|although|though|while|whereas|unlike|in contrast|on the other hand)\b", re.I)
NO_PROSE = re.compile(r"```.*?```|\$\$.*?\$\$|<(svg|table|div).*?</\1>|^(#|\||>|!\[).*?$", re.S | re.M)
ONE_WORD = re.compile(r"`[^`]*`|\$[^$]*\$|\{\{[^}]*\}\}|https?://\S+")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
SENTENCE = re.compile(r"(?<=[.!?])[\"”)*_]*\s+(?=[\"“(*_]*[A-Z§])|\n\s*\n|(?:\n|^)\s*(?:[-*]|\d+\.) ")
SHORT = 6  # words


@dataclass(frozen=True)
class Prose:
    """One unit's prose: number of words; causal words, words that introduce an example, contrasts and colons, each per
    thousand words; share of the sentences of six words or fewer."""

    words: int
    causal: float
    example: float
    contrast: float
    colons: float
    short: float


def prose(unit: str) -> Prose:
    """The thermometers of a unit, e.g. ``prose("06-rope")``."""
    cells = [c for c in read_cells(source_path(unit))[0] if not c.code and c.written != "answer"]
    return of_text("\n\n".join(c.source for c in cells if c.part != "hints"))


def of_text(markdown: str) -> Prose:
    """The thermometers of a text. A formula, a piece of code, a template or an address counts as one word."""
    text = ONE_WORD.sub("X", LINK.sub(r"\1", NO_PROSE.sub("\n\n", markdown)))
    sentences = [re.findall(r"\w[\w’'-]*", s) for s in SENTENCE.split(text) if s]
    sentences = [s for s in sentences if s]
    n = max(sum(map(len, sentences)), 1)
    causal, example, contrast = (1000 * len(p.findall(text)) / n for p in (CAUSAL, EXAMPLE, CONTRAST))
    short = sum(len(s) <= SHORT for s in sentences) / max(len(sentences), 1)
    return Prose(n, causal, example, contrast, 1000 * len(re.findall(r":(?=\s|$)", text, re.M)) / n, short)
