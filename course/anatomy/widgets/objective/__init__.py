"""ObjectiveLab: one text as a training example for six objectives; what the model sees and must predict.

Sources: arXiv:1810.04805 (BERT), arXiv:1909.11942 (ALBERT), arXiv:1910.10683 (T5), arXiv:2103.10360 (GLM).
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
import traitlets as t

from ...system.translation import listed, sentences
from ..tools.calls import WrongOutput
from ..tools.drawing import BLUE, VERMILLION, Figure, new_figure, rectangle
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Functions, Inputs, Tables
from ..tools.whole import several_of, tensor_of
from ..tools.words import N_, _
from .story import STORY

DOCUMENTS = (
    (("one", "dog", "saw", "two", "cats", "."), ("then", "it", "ran", "home", ".")),
    (("rates", "went", "up", "."), ("banks", "lend", "less", "money", ".")),
)
TEXT = DOCUMENTS[0][0] + DOCUMENTS[0][1]
T = len(TEXT)
SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[M]", "[S]", "[E]")
WORDS = tuple(dict.fromkeys(w for document in DOCUMENTS for sentence in document for w in sentence))
SENTINELS = tuple(f"⟨{k}⟩" for k in range(6))
VOCABULARY = SPECIALS + WORDS + SENTINELS[::-1]  # sentinels count down from the last id
FIRST_SENTINEL = len(VOCABULARY) - 1
DRAWS, SIZE = 6, 16
IGNORE, NOTHING, CLASS = -100, -1, 1000  # no label, no token, CLASS + label of a pair
ROWS = ("sees", "predicts", "decoder sees", "decoder predicts", "position", "in blank")
# function → (name in the list, attention pattern, classes of a pair)
OBJECTIVES = {
    "next_token_pairs": (N_("next token (GPT)"), "causal", ()),
    "mask_tokens": (N_("masked tokens (BERT)"), "full", ()),
    "span_corruption": (N_("span corruption (T5)"), "encoder-decoder", ()),
    "blank_infilling": (N_("blank infilling (GLM)"), "prefix", ()),
    "nsp_pair": (N_("next sentence (BERT)"), "full", (N_("next"), N_("random"))),
    "sop_pair": (N_("sentence order (ALBERT)"), "full", (N_("in order"), N_("swapped"))),
}
TITLES = tuple(o[0] for o in OBJECTIVES.values())


def ids_of(words: Iterable[str]) -> list[int]:
    """List of vocabulary indices."""
    return [VOCABULARY.index(w) for w in words]


def word(i: int) -> str:
    """The word of an id, or the number if the vocabulary has no such id."""
    return VOCABULARY[i] if 0 <= i < len(VOCABULARY) else str(i)


class ObjectiveLab(SeveralFunctions):
    """Training examples made by a learner's functions, passed as a mapping by name, from recorded random draws.

    ``next_token_pairs(ids)``, ``mask_tokens(ids, selected, u, random_ids, mask_id)``, ``span_corruption(ids, noise,
    first_sentinel)``, ``blank_infilling(ids, spans, order, mask_id, start_id, end_id)``, ``nsp_pair(documents,
    document, sentence, replacement)`` and ``sop_pair(first, second, swap)``. T5 and GLM hide the same spans.

    Traits objective (index into TITLES; a function's name works too), draw, place (index of a token) and cut (what
    follows the predicted word is not written yet) follow the controls; a click on a token chooses it. Raises the errors
    of TableWidget.
    """

    recording = "objective"
    names = tuple(OBJECTIVES)
    function_name = "objectives"
    controls = ("objective", "draw", "place", "cut")
    story = STORY
    opening = tuple({"place": i} for i in range(7))

    objective = t.Int(0, min=0, max=len(OBJECTIVES) - 1).tag(sync=True)
    draw = t.Int(0, min=0, max=DRAWS - 1).tag(sync=True)
    place = t.Int(2, min=0, max=2 * SIZE - 1).tag(sync=True)
    cut = t.Bool(False).tag(sync=True)

    def __init__(self, functions: Functions | None = None, objective: int | str = 0, **state: Any) -> None:
        index = cls_index(objective) if isinstance(objective, str) else objective
        super().__init__(functions, objective=index, **state)

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """e_<name> (draws, ROWS, SIZE): ids by row; NOTHING for no token, IGNORE for no label."""
        make = {
            "next_token_pairs": _next_token,
            "mask_tokens": _masked,
            "span_corruption": _spans,
            "blank_infilling": _blanks,
            "nsp_pair": _next_sentence,
            "sop_pair": _order,
        }[name]
        return {f"e_{name}": np.stack([_lay_out(name, make(fn, draws(inputs, i))) for i in range(DRAWS)])}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        own = [float(mine is not reference and f"e_{name}" in mine) for name in self.names]
        hidden = np.stack([draws(inputs, i)["noise"].numpy() for i in range(DRAWS)]).astype(float)
        return {**{k: v for k, v in reference.items() if k not in mine}, "own": np.array(own), "hidden": hidden}

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        objectives = [
            {"function": name, "title": _(title), "reads": reads, "classes": [_(c) for c in classes]}
            for name, (title, reads, classes) in OBJECTIVES.items()
        ]
        return {
            "title": _("Objectives: what the model sees, what it must predict"),
            "objectives": objectives,
            "text": list(TEXT),
            "vocabulary": list(VOCABULARY),
            "rows": list(ROWS),
            "size": SIZE,
            "draws": DRAWS,
            "ignore": IGNORE,
            "nothing": NOTHING,
            "class": CLASS,
        }

    def example(self, reference: bool = False) -> np.ndarray:
        """The example (ROWS, SIZE) int64 of the current objective and draw."""
        table = f"e_{self.names[self.objective]}"
        found = self._reference[table] if reference else self.shown(table)
        return found[self.draw].astype(int)

    def facts(self) -> dict[str, int]:
        """Counts in the current example: ``read`` and ``predicted`` tokens, ``wrong`` entries against the reference."""
        rows = self.example()
        labels = rows[[1, 3]]
        return {
            "read": int((rows[[0, 2]] != NOTHING).sum()),
            "wrong": int((rows != self.example(True)).sum()),
            "predicted": int(((labels != NOTHING) & (labels != IGNORE)).sum()),
        }

    def at(self) -> tuple[int, int]:
        """(row of the sequence read, column) of the current token: the decoder's tokens follow the encoder's."""
        lengths = (self.example()[[0, 2]] != NOTHING).sum(1)
        place = min(self.place, int(lengths.sum()) - 1)
        return (0, place) if place < lengths[0] else (2, place - int(lengths[0]))

    def visible(self) -> np.ndarray:
        """(2, SIZE) boolean: the tokens of the two sequences that the current token may see."""
        rows, (row, column) = self.example(), self.at()
        there = rows[[0, 2]] != NOTHING
        column_of = np.arange(SIZE)
        reads = OBJECTIVES[self.names[self.objective]][1]
        if reads == "encoder-decoder":
            return np.stack([there[0], there[1] & (row == 2) & (column_of <= column)])
        part_a = int((rows[5] == 0).sum()) if reads == "prefix" else SIZE if reads == "full" else 0
        return np.stack([there[0] & ((column_of <= column) | (column_of < part_a)), there[1]])

    def lost(self) -> tuple[int, dict[str, tuple[int, int]]]:
        """The word above which the models are compared, and for each that must predict it, how many of the words that
        it sees stand behind that word, and how many it sees in all."""
        masked = self._reference["e_mask_tokens"][self.draw, 1, :T] != IGNORE
        spans = np.frombuffer(self.tables["hidden"], "<f4").reshape(DRAWS, T)[self.draw] > 0
        glm = _filled(self._reference["e_blank_infilling"][self.draw].astype(int), spans)
        name, (row, column) = self.names[self.objective], self.at()
        encoder = int((self.example()[0] != NOTHING).sum())
        written = [w for c in range(T) if spans[c] for w in ([c] if spans[c - 1] and c else [-1, c])]
        places = {
            "next_token_pairs": {c: c + 1 for c in range(T - 1)},
            "mask_tokens": {c: c for c in range(T)},
            "span_corruption": {encoder + n: c for n, c in enumerate(written) if c >= 0},
            "blank_infilling": {c: w for w, c in glm.items()},
        }
        p = places.get(name, {}).get(column if row == 0 else encoder + column, int(np.argmax(spans)))
        kept = [c for c in range(T) if not spans[c]]
        seen = {
            "GPT": list(range(p)) if p else None,
            "BERT": [c for c in range(T) if c != p] if masked[p] else None,
            "T5": [*kept, *(c for c in range(p) if spans[c])] if spans[p] else None,
            "GLM": [*kept, *(w for w, c in glm.items() if c < glm[p])] if spans[p] else None,
        }
        beside = ("T5", "GLM") if name == "blank_infilling" else ("GPT", "BERT", "T5") if name in places else ()
        return p, {m: (sum(c > p for c in sees), len(sees)) for m in beside if (sees := seen[m]) is not None}

    def wording(self, label: int) -> str:
        """A label in words; empty if nothing is predicted."""
        if label in (IGNORE, NOTHING):
            return ""
        return _(OBJECTIVES[self.names[self.objective]][2][label - CLASS]) if label >= CLASS else word(label)

    @property
    def whose(self) -> str:
        return _("your") if self.written(self.names[self.objective]) else _("the reference's")

    @property
    def words(self) -> str:
        rows, found, (row, column) = self.example(), self.facts(), self.at()
        seen = [word(i) for line, on in zip(rows[[0, 2]], self.visible(), strict=True) for i in line[on]]
        said = " ".join(word(i) for i in rows[0] if i != NOTHING)
        decoder = " ".join(word(i) for i in rows[2] if i != NOTHING)
        answer = self.wording(rows[row + 1][column])
        about = _("Objective lab with {whose} example of {title}, draw {draw}.")
        reads = _("The model reads: {read}; the decoder: {decoder}.") if decoder else _("The model reads: {read}.")
        word_lost, lost = self.lost() if self.cut else (0, {})
        told = listed(_("{name} loses {n} of {all}").format(name=m, n=n, all=of) for m, (n, of) in lost.items())
        unwritten = _("What follows “{word}” is not written yet: {told}").format(word=TEXT[word_lost], told=told)
        counted = _("{read} tokens read, {predicted} predicted; {wrong} entries differ from the reference.")
        return sentences(
            about.format(whose=self.whose, title=_(TITLES[self.objective]), draw=self.draw),
            _("Text: {text}").format(text=" ".join(TEXT)),
            reads.format(read=said, decoder=decoder),
            _("At token {n} it sees {seen} and predicts {answer}.").format(
                n=column, seen=" ".join(seen), answer=answer or _("nothing")
            ),
            f"{unwritten}." if lost else "",
            counted.format(**found),
        )

    def figure(self) -> Figure:
        fig = new_figure(8.4, 2.8)
        axes = fig.subplots()
        rows, (row, column), visible = self.example(), self.at(), self.visible()
        lines = [r for r in range(4) if (rows[r] != NOTHING).any()]
        for y, r in enumerate(lines):
            axes.text(-0.6, y, ROWS[r], ha="right", va="center", fontsize=8)
            for x, i in enumerate(rows[r]):
                if i == NOTHING:
                    continue
                asked = r == row + 1 and x == column
                seen = r in (0, 2) and visible[r // 2, x]
                face = VERMILLION if asked else BLUE if seen else "white"
                axes.add_patch(
                    rectangle(
                        (x - 0.46, y - 0.4),
                        0.92,
                        0.8,
                        facecolor=face,
                        edgecolor="gray",
                        alpha=0.45 if asked or seen else 1.0,
                    )
                )
                text = word(i) if r in (0, 2) else self.wording(i) or "–"
                axes.text(x, y, text, ha="center", va="center", fontsize=7)
        axes.set_xlim(-2.5, SIZE)
        axes.set_ylim(len(lines) - 0.4, -0.6)
        axes.axis("off")
        axes.set_title(f"{TITLES[self.objective]}: token {column} sees the blue tokens", fontsize=10, loc="left")
        return fig


def cls_index(name: str) -> int:
    """Index of an objective by its function's name."""
    return list(OBJECTIVES).index(name)


def _filled(rows, spans):
    """Word → column of GLM's example at which it is predicted. A piece is known by the position of its [M]."""
    starts = [c for c in range(T) if spans[c] and not (c and spans[c - 1])]
    masks = [c for c in range(SIZE) if rows[5, c] == 0 and rows[0, c] == VOCABULARY.index("[M]")]
    found = {}
    for column in np.flatnonzero(rows[5] > 0):
        at = starts[masks.index(rows[4, column])] + int(rows[5, column]) - 1
        if at < T and spans[at]:
            found[at] = int(column)
    return found


def draws(inputs: Inputs, i: int) -> dict[str, Any]:
    """The i-th recorded draws as arguments for the functions."""
    spans = [tuple(int(x) for x in s) for s in inputs["spans"][i]]
    order = [int(k) for k in inputs["order"][i]]
    noise = torch.zeros(T, dtype=torch.bool)
    for start, stop in spans:
        noise[start:stop] = True
    return {
        "spans": spans,
        "order": order,
        "noise": noise,
        "selected": inputs["selected"][i] > 0,
        "u": inputs["u"][i],
        "random": inputs["random"][i].long(),
        "natural": i % 2 == 0,
        "other": i // 2 % 2,
    }


def _next_token(fn, d):
    inputs, targets = several_of(fn(torch.tensor([ids_of(TEXT)])), "next_token_pairs", 2)
    inputs, targets = (tensor_of(v, "next_token_pairs", "integer", (1, T - 1))[0] for v in (inputs, targets))
    return {0: inputs, 1: targets}


def _masked(fn, d):
    arguments = torch.tensor([ids_of(TEXT)]), d["selected"][None], d["u"][None], d["random"][None], 3
    both = several_of(fn(*arguments), "mask_tokens", 2)
    inputs, labels = (tensor_of(v, "mask_tokens", "integer", (1, T))[0] for v in both)
    return {0: inputs, 1: labels}


def _spans(fn, d):
    both = several_of(fn(torch.tensor(ids_of(TEXT)), d["noise"].clone(), FIRST_SENTINEL), "span_corruption", 2)
    inputs, targets = (tensor_of(v, "span_corruption", "integer") for v in both)
    # T5's decoder starts from the padding id and reads its own targets, one step late.
    return {0: inputs, 1: [IGNORE] * len(inputs), 2: [0, *targets.tolist()[:-1]], 3: targets}


def _blanks(fn, d):
    arguments = torch.tensor(ids_of(TEXT)), list(d["spans"]), list(d["order"]), 3, 4, 5
    made = several_of(fn(*arguments), "blank_infilling", 4)
    tokens = tensor_of(made[0], "blank_infilling", "integer")
    rows = [tokens, *(tensor_of(v, "blank_infilling", "integer", tokens.shape) for v in made[1:])]
    return {0: rows[0], 1: rows[3], 4: rows[1], 5: rows[2]}


def _pair(name, made):
    first, second, label = several_of(made, name, 3)
    if int(label) not in (0, 1):
        said = _("{name} must return 0 or 1 as its label, and it returned {label}.")
        raise WrongOutput(said.format(name=name, label=label))
    a, b = ([int(x) for x in v] for v in (first, second))
    read = [1, *a, 2, *b, 2]  # [CLS] a [SEP] b [SEP]
    return {0: read, 1: [CLASS + int(label)] + [IGNORE] * (len(read) - 1)}


def _next_sentence(fn, d):
    documents = [[ids_of(s) for s in document] for document in DOCUMENTS]
    return _pair("nsp_pair", fn(documents, 0, 0, None if d["natural"] else (1, d["other"])))


def _order(fn, d):
    return _pair("sop_pair", fn(ids_of(DOCUMENTS[d["other"]][0]), ids_of(DOCUMENTS[d["other"]][1]), not d["natural"]))


def _lay_out(name, rows):
    out = np.full((len(ROWS), SIZE), float(NOTHING))
    for r, values in rows.items():
        if len(values) > SIZE:
            said = _("{name} returned {n} tokens for a text of {all}: at most {most} can be drawn.")
            raise WrongOutput(said.format(name=name, n=len(values), all=T, most=SIZE))
        out[r, : len(values)] = [int(v) for v in values]
    return out
