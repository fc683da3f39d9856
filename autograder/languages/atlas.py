"""The phrases of the atlas of models that are to be translated, with places for numbers: each once."""

from collections.abc import Iterator
from itertools import chain

from anatomy import atlas
from anatomy.atlas import counting
from anatomy.atlas.spoken import parts, pattern
from anatomy.atlas.words import MORE, SAME, SENTENCES, UNSAID, families, short, size
from anatomy.widgets.atlas import LABELS, PHRASES, VIEWS
from anatomy.widgets.atlas.block import block
from anatomy.widgets.atlas.choices import ANY
from anatomy.widgets.atlas.page import FILTERS, NOT_BUILT, NOTE, NOTHING, SUMMARY


def phrases() -> Iterator[str]:
    """What pages and the widget show of the models, then the widget's own words."""
    for row in atlas.models():
        for aspect, words in atlas.words(row).items():
            yield aspect
            yield from (pattern(part)[0] for part in parts(aspect, words))
        for word in (*families(row).values(), short(size(row)) if size(row) else ""):
            yield pattern(word)[0]
        noted = [text for note in row.notes_said for text in (note["key"], note["said"], note["why"])]
        shapes = [shape[-1] for shape in block(row)[1] if shape[0] == "text"]
        for text in (*row.remarks, *(row.differs or ())[1:], *noted, *atlas.lacking(row), row.counts or "", *shapes):
            yield pattern(str(text))[0]
    yield from (*counting.REASONS, *(sentence for _key, sentence in counting.MISTAKES))
    yield from (*chain(*SENTENCES.values()), UNSAID, MORE, SAME, NOTE, NOT_BUILT, SUMMARY, NOTHING, ANY)
    yield from (*VIEWS, *FILTERS, *LABELS.values())
    for phrase in PHRASES.values():
        yield from phrase if isinstance(phrase, list) else [phrase]
