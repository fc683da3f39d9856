"""ModelAtlas: a timeline of released Transformers, two of them side by side, and one to build."""

from typing import Any

import numpy as np
import traitlets as t
from torch import nn

from ...atlas import closed_form, difference, lacking
from ...atlas.counting import EXACTLY, MISTAKES, REASONS, ROUNDED, compare, parameters
from ...atlas.rows import NoConfiguration, configuration
from ...atlas.spoken import apart, spoken, spoken_in_parts
from ...atlas.words import MORE, NOT_SHARED, SAME, SENTENCES, UNKNOWN, UNSAID, UNSPOKEN
from ...system.translation import ENGLISH, listed, sentences, speaking
from ..tools.base import TableWidget
from ..tools.calls import WrongOutput
from ..tools.drawing import Figure
from ..tools.types import Function, Inputs, Tables
from ..tools.words import _
from . import still
from .block import KEYS
from .choices import CHOICES as CHOICES
from .choices import INDEX as INDEX
from .choices import ROWS as ROWS
from .choices import YEARS
from .glossary import TERMS
from .page import FILTERS, NOT_PUBLISHED, SUMMARY, card, fits, line, matches, stem
from .story import STORY

VIEWS = ("timeline", "compare", "build")
LABELS = {"placement": "norms sit"}
PLAIN = "llama-2-7b"  # any Decoder has the parts for it
HALF = 2**20  # counts exceed float32's precision, so they are stored as a multiple of this and a rest
PHRASES: dict[str, Any] = {
    "unknown": UNKNOWN,
    "unsaid": UNSAID,
    "more": MORE,
    "same": SAME,
    "notShared": list(NOT_SHARED),
    "unspoken": list(UNSPOKEN),
    "both": "{a} and {b}. {list}",
    "units": ["{n} trillion", "{n} billion", "{n} million"],
    "nothing": "They differ in nothing that the atlas holds.",
    "found": "{n} of {all} models. {summary}",
    "after": " It starts from {list}.",
    "before": " From it start {list}.",
    "descent": " In all, {n} models go back to it.",
    "differ": "{a} and {b} differ in: {list}.",
    "details": "details of {what}",  # of two that belong to one family
    "timeline": "Timeline: arrow keys choose the model, with Shift the one beside it",
    "norms": "Filled: RMSNorm, hollow: LayerNorm, dashed: not published; bar: filled share.",
    "asked": "Filled: {list}, hollow: others, dashed: not published; bar: filled share.",
    "legend": " Round: decoder, square: encoder, diamond: both; larger: more parameters.",
    "letters": " A: the model, B: beside it.",
    "frames": "Framed in orange: where the two differ.",
    "how": ["by your Decoder", "by the sizes", "by the reference"],
    "filter": "Filter",
    "figure": "{n} parameters {how}, published {p}{counts}: {percent}. {why}",
    "noFigure": "{n} parameters {how}. {why}",
    "cache": "KV cache: {n} bytes a token = "
    "key and value × {layers} layers × {heads} key-value heads × {dim} numbers × two bytes.",
    "product": " = 2 × {layers} layers × {heads} key-value heads × {dim} × 2 bytes.",
    "filled": " A full context of {context} tokens takes {size}.",
    "silent": "Its sizes are not published, so nothing is counted.",
    "failed": "Your Decoder cannot build this one yet.",
    "code": "The configuration as code",
    "copy": "Copy the code",
    "copied": "Copied.",
    "selected": "Selected: press Ctrl+C or ⌘C.",
    "sources": "Sources: {list}.",
    "notPublished": NOT_PUBLISHED,
    "keys": list(KEYS.values()),
    "terms": [sentence for families in TERMS.values() for sentence in families.values()],
}
BUILT, BY_FORMULA, NOT_COUNTED, FAILED = range(4)


class ModelAtlas(TableWidget):
    """Live picture of the atlas; it counts parameters with ``Decoder(c)``, a class that takes a configuration.

    The class is built on the meta device, with one layer and with two; each further layer adds what the second did.
    Rows that are not decoders, and rows that the course has no parts for, are counted in closed form. The widget says
    so if the class cannot build a row; it must be able to build the plain one, LLaMA 2 7B.

    Traits: view is an index of VIEWS; norm, placement, position, activation, attention and mixing are indices of
    CHOICES; since and until are years; text is a search text; first and second are indices of rows. Raises the errors
    of TableWidget, and WrongOutput if Decoder does not return a module.
    """

    recording, function_name = "atlas", "Decoder"
    controls = ("view", *FILTERS, "since", "until", "text", "first", "second")
    story = STORY
    opening = tuple({"until": year} for year in YEARS)  # as the years went by

    view = t.Int(0, min=0, max=len(VIEWS) - 1).tag(sync=True)
    norm = t.Int(0, min=0, max=len(CHOICES["norm"]) - 1).tag(sync=True)
    placement = t.Int(0, min=0, max=len(CHOICES["placement"]) - 1).tag(sync=True)
    position = t.Int(0, min=0, max=len(CHOICES["position"]) - 1).tag(sync=True)
    activation = t.Int(0, min=0, max=len(CHOICES["activation"]) - 1).tag(sync=True)
    attention = t.Int(0, min=0, max=len(CHOICES["attention"]) - 1).tag(sync=True)
    mixing = t.Int(0, min=0, max=len(CHOICES["mixing"]) - 1).tag(sync=True)
    since = t.Enum(YEARS, YEARS[0]).tag(sync=True)
    until = t.Enum(YEARS, YEARS[-1]).tag(sync=True)
    text = t.Unicode("").tag(sync=True)
    first = t.Int(INDEX["gpt-2"], min=0, max=len(ROWS) - 1).tag(sync=True)
    second = t.Int(INDEX[PLAIN], min=0, max=len(ROWS) - 1).tag(sync=True)

    def __init__(self, Decoder: Function | None = None, **state: Any) -> None:
        super().__init__(Decoder, **state)

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """count (rows, 2), a multiple of HALF and the rest; how (rows,): BUILT, BY_FORMULA, NOT_COUNTED or FAILED."""
        count, how = np.zeros((len(ROWS), 2)), np.zeros(len(ROWS))
        _count(fn, configuration(PLAIN))  # stubs and bugs raise here
        for i, row in enumerate(ROWS):
            n, how[i] = _counted(fn, row)
            count[i] = divmod(n, HALF)
        return {"count": count, "how": how}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        why, good = np.zeros(len(ROWS)), np.zeros(len(ROWS))
        for i, row in enumerate(ROWS):
            if mine["how"][i] in (BUILT, BY_FORMULA):
                result = compare(row, _whole(mine["count"][i]))
                why[i], good[i] = self._reasons.index(result.why), result.agrees
        return {"why": why, "good": good}

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("Atlas of models"),
            "views": [spoken(view) for view in VIEWS],
            "filters": [[name, spoken(LABELS.get(name, name)), [*map(spoken, CHOICES[name])]] for name in FILTERS],
            "years": list(YEARS),
            "half": HALF,
            "models": _cards(),
            "reasons": [spoken(reason) for reason in self._reasons],
            "fitting": [self._reasons.index(reason) for reason in (EXACTLY, ROUNDED)],
            "sentences": [[aspect, spoken(what), spoken(sentence)] for aspect, (what, sentence) in SENTENCES.items()],
            "words": {
                **{name: _spoken(phrase) for name, phrase in PHRASES.items() if name != "terms"},
                "terms": {
                    name: {spoken(family): spoken(sentence) for family, sentence in told.items()}
                    for name, told in TERMS.items()
                },
                "summary": spoken(SUMMARY),
                "comma": listed(["", ""]),
                "apart": apart(["", ""]),
            },
        }

    @property
    def _reasons(self):
        """All possible last sentences of a count."""
        own = [row.differs[1] for row in ROWS if row.differs]
        return list(dict.fromkeys([*REASONS, *(sentence for _key, sentence in MISTAKES), *own]))

    def shown(self) -> list[int]:
        """Indices of the rows that pass the filter."""
        return [i for i, row in enumerate(ROWS) if matches(row, self._asked, self.since, self.until, self.text)]

    def filled(self) -> list[bool | None]:
        """For each row whether its mark is filled: it has what the filter asks for, RMSNorm if the filter asks for
        nothing. None if that is not published."""
        return [fits(row, self._asked or {"norm": "RMSNorm"}) for row in ROWS]

    @property
    def _asked(self):
        """Name of a filter → the family that it asks for."""
        return {name: CHOICES[name][getattr(self, name)] for name in FILTERS if getattr(self, name)}

    def counted(self) -> str:
        """The first model's parameters in a sentence or two."""
        row, how = ROWS[self.first], int(self._mine["how"][self.first])
        told = self.spec["words"]
        if how == NOT_COUNTED:
            return told["silent"]
        if how == FAILED:
            return told["failed"]
        result = compare(row, _whole(self._mine["count"][self.first]))
        by = told["how"][1 if how == BY_FORMULA else 2 if self.notice else 0]
        if result.percent is None:
            return told["noFigure"].format(n=f"{result.counted:,}", how=by, why=spoken(result.why))
        counts = f" {spoken(row.counts)}" if row.counts else ""
        return told["figure"].format(
            n=f"{result.compared:,}",
            how=by,
            p=f"{row.published:,}",
            counts=counts,
            percent=f"{result.percent:+.2f} %".replace("-", "−"),
            why=spoken(result.why),
        )

    def cached(self) -> str:
        """What the first model's KV cache takes, in a sentence or two; "" if that is not known."""
        numbers, told = self.spec["models"][self.first]["cache"], self.spec["words"]
        said = told["cache"] + (told["filled"] if "size" in numbers else "")
        return said.format(**numbers) if numbers else ""

    @property
    def words(self) -> str:
        one, two, shown, told = ROWS[self.first], ROWS[self.second], self.shown(), self.spec["words"]
        if self.view == 0:
            numbers = self.spec["models"][self.first]["cache"]
            caches = self.attention and numbers  # who asks for a kind of attention compares caches
            added = told["product"].format(**numbers) if caches else "" if self.attention else _descent(one)
            summary = line(one, ("memory",) if caches else self._asked or ("norm",))
            if caches:
                summary = summary[:-1]  # its full stop comes after the product
            return told["found"].format(n=len(shown), all=len(ROWS), summary=summary) + added
        if self.view == 1:
            said = difference(one.name, two.name)
            return told["both"].format(a=one.title, b=two.title, list=sentences(*said) or told["nothing"])
        card = self.spec["models"][self.first]
        return sentences(card["summary"], self.counted(), self.cached(), card["lacking"], *card["notes"])

    def figure(self) -> Figure:
        with speaking(ENGLISH):  # Matplotlib's own font lacks other letters
            cards = _cards()
        if self.view == 0:
            return still.timeline(cards, self.shown(), self.first, self.filled(), " + ".join(self._asked.values()))
        if self.view == 1:
            return still.blocks([cards[self.first], cards[self.second]])
        card = cards[self.first]
        return still.blocks([card], beside=card["code"] or card["lacking"])


def _cards():
    return [{**card(row), "after": INDEX.get(row.after, -1)} for row in ROWS]


def _spoken(phrase):
    return [spoken_in_parts("mixing", each) for each in phrase] if isinstance(phrase, list) else spoken(phrase)


def _descent(row):
    """Families that a row starts from and that start from its own, as sentences; "" if no source says anything."""
    stems = {r.name: stem(r) for r in ROWS}
    lines = {
        "after": {stems[row.after]: None} if row.after else {},
        "before": {stem(r): None for r in ROWS if r.after and stems[r.after] == stem(row)},
    }
    said = [spoken(PHRASES[which]).format(list=listed(found)) for which, found in lines.items() if found]
    n = sum(stem(row) in _origins(r, stems) for r in ROWS)
    return "".join([*said, *([spoken(PHRASES["descent"]).format(n=n)] if n > 1 else [])])


def _origins(row, stems):
    """Names of the families that a row goes back to."""
    while row.after:
        yield stems[row.after]
        row = ROWS[INDEX[row.after]]


def _count(fn, c):
    """``parameters``, with few layers and experts: most of these models take too long to build completely."""

    def build(changed):
        model = fn(changed)
        if not isinstance(model, nn.Module):
            raise WrongOutput(f"Decoder must return a module, and it returned {type(model).__name__}.")
        return model

    return parameters(build, c, whole=False)


def _counted(fn, row):
    """(parameters, how) of a row."""
    if row.get("kind") == "decoder" and not lacking(row):
        try:
            return _count(fn, configuration(row.name)), BUILT
        except NoConfiguration:
            pass
        except Exception:  # a part that this Decoder does not have; other bugs show in the plain row
            return 0, FAILED
    n = closed_form(row)
    return (n, BY_FORMULA) if n is not None else (0, NOT_COUNTED)


def _whole(pair):
    return int(pair[0]) * HALF + int(pair[1])
