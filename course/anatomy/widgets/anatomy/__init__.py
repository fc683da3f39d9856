"""AnatomyView: one live Transformer, from tokens to the next word, that runs the learner's own parts.

Sources: the model is a small LLaMA, Touvron et al. 2023, arXiv:2302.13971; attention rollout, Abnar and Zuidema 2020,
arXiv:2005.00928; reading each layer's prediction with the "logit lens", nostalgebraist 2020.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import traitlets as t

from ...language import shipped
from ...program import records, units
from ...progress.standing import passed
from ...system import store
from ...system.translation import listed
from ..tools import following
from ..tools.base import NOTHING_GIVEN
from ..tools.calls import replaced, unwritten
from ..tools.drawing import Figure
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Functions, Inputs, Tables
from ..tools.words import _
from . import packed, passing, reading, still
from .places import KEY_OF, NAMES, PLACES, Place, adapted
from .story import STORY

SIZES = {"d_model": 160, "n_heads": 4, "n_kv_heads": 2, "head_dim": 40, "d_ff": 432, "vocab": 1280}
LAYERS, T = 4, 32
# The novel's continuation of the prompt.
TRUTH = ' "'
# Panels that can be opened: the places of parts, and the two ends of the model.
OPENED = ("", "embedding", *(place.key for place in PLACES), "unembedding")
# States of a part, as numbers because tables hold numbers.
REFERENCE, PASSED, UNWRITTEN, RIGHT, WRONG, FAILS, NAMED = range(7)
COLUMNS = ("state", "gap", "alone", "says", "who")


class AnatomyView(SeveralFunctions):
    """Live picture of one pass of the course's small trained model (``anatomy.language.shipped``) over 32 tokens.

    ``AnatomyView({"rms_norm": rms_norm, …})`` puts the learner's parts into their places: rms_norm, apply_rope_half,
    causal_mask or decoder_mask, scaled_dot_product_attention or grouped_attention, GatedFeedForward, pre_ln, each with
    the arguments of its exercise. Parts that are missing or not written yet are replaced by the reference. Each part is
    judged on the arguments that it gets in a pass of the reference, so that one wrong part does not make the next look
    wrong; a part that raises, or returns a different shape or NaN, is shown broken, and the reference runs instead.

    Traits: token, layer and head are the current selection; part is the opened panel, one of OPENED. text is what the
    learner typed, "" for the recorded sentence; wrote are the tokens that the model has added; draws is True if they
    are drawn from the likeliest ones, and not the likeliest itself. A text is read by the given parts, in Python;
    without any, by the page, which asks for the model's weights when it needs them. Raises TypeError for a name
    without a place and for two names of one place, MissingRecording without the trained model.
    """

    recording, function_name = "anatomy", "parts"
    controls = ("token", "layer", "head", "part", "text", "wrote", "draws")
    names = NAMES
    story = STORY

    token = t.Int(T - 1, min=0, max=T - 1).tag(sync=True)
    layer = t.Int(3, min=0, max=LAYERS - 1).tag(sync=True)
    head = t.Int(0, min=0, max=SIZES["n_heads"] - 1).tag(sync=True)
    part = t.Enum(OPENED, "").tag(sync=True)
    text = t.Unicode("").tag(sync=True)
    wrote = t.List(t.Int(min=0, max=SIZES["vocab"] - 1)).tag(sync=True)
    draws = t.Bool(False).tag(sync=True)
    asked = t.Bool(False).tag(sync=True)  # the page needs the weights
    weights = t.Bytes(None, allow_none=True).tag(sync=True)

    def __init__(self, parts: Functions | None = None, **state: Any) -> None:
        self._judged: dict[str, tuple[str, int, float, float, float]] = {}  # key → name, then as COLUMNS before "who"
        self._drift = np.zeros((2 * LAYERS + 1, T))
        self._parts: dict[str, Any] = {}  # key of a place → the learner's part that runs there
        self._named: set[str] = set()  # keys of the places whose check says what is wrong
        self._notes = ""  # the notice on the recorded sentence
        self._own_tables: dict[str, bytes] = {}  # of the recorded sentence, as they are sent
        self._reading: tuple[Any, reading.Reading] | None = None  # the last one, and what it is of
        super().__init__(parts, **state)

    @classmethod
    def measure(cls, fn: Functions, inputs: Inputs) -> Tables:
        """The tables of ``passing.measured`` with these functions, in the dtype of ``inputs["ids"]``."""
        return passing.measured({KEY_OF[name]: adapted(name, part) for name, part in fn.items()}, inputs["ids"]).tables

    def _measured(self, functions, again):
        self._judged, self._drift = {}, np.zeros((2 * LAYERS + 1, T))
        self._parts, self._reading = {}, None
        if functions is None:
            return self._reference, _(NOTHING_GIVEN)
        _places_of(functions)
        ids = self._inputs["ids"]
        reference = passing.reference(ids)
        parts, notes, stubs = {}, [], []
        for name in (n for n in NAMES if n in functions):
            key, part = KEY_OF[name], adapted(name, functions[name])
            state, gap = RIGHT, 0.0
            try:
                gap = passing.gap(key, part, reference)
                state = WRONG if gap > passing.TOLERANCE else RIGHT
                parts[key] = part
            except passing.Broken as broken:
                error = broken.why
                if isinstance(error, NotImplementedError) and unwritten(error) is not None:
                    state = UNWRITTEN
                    stubs.append(name)
                else:
                    state = FAILS
                    notes.append(replaced(name, error))
            self._judged[key] = (name, state, gap, 0.0, np.nan)
        wrong = [key for key, judged in self._judged.items() if judged[1] == WRONG]
        for key in wrong:
            alone = passing.together({key: parts[key]}, ids, [key])[0]
            self._judged[key] = (*self._judged[key][:3], *_damage(alone, reference))
        if stubs:
            names = listed(sorted(stubs))
            notes.append(_("Showing the reference for {names}: not written yet").format(names=names))
        if not parts:
            return self._reference, " ".join(notes)
        shown, failed = passing.together(parts, ids, wrong)
        for key in failed:
            name = self._judged[key][0]
            self._judged[key] = (name, FAILS, *self._judged[key][2:])
            notes.append(_("Showing the reference for {name}: with it, numbers grow out of bounds.").format(name=name))
        self._drift = passing.drift(shown, reference)
        self._parts = {key: part for key, part in parts.items() if key not in failed}
        return shown.tables, " ".join(notes)

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        return {"drift": self._drift, "parts": self._rows({})}

    def _show(self, candidate, again=None):
        super()._show(candidate, again)
        # Tables that equal the reference's are sent only once.
        own = self.tables
        self._own_tables = {k: v for k, v in own.items() if not (k.startswith("ref_") and own[k[4:]] == v)}
        self._notes = self.notice
        self._send_tables()

    def _send_tables(self):
        """Sends the tables of what is read. What the reference's parts read, the page computes itself."""
        tables, notes, read = self._own_tables, [self._notes], self._read() if self._parts else None
        if read:
            sent = read.sent(self.text, T)
            tables = {k: np.ascontiguousarray(v, dtype="<f4").tobytes() for k, v in sent.items()}
            if names := [self._judged[key][0] for key in read.failed]:
                notes.append(_("On this text the reference stands in for {names}.").format(names=listed(names)))
        with self.hold_sync():
            self.tables = {**tables, "parts": self._sent_rows()}
            self.notice = " ".join(filter(None, notes))

    @t.observe("text", "wrote")
    def _other_text(self, change):
        if self._parts:
            with following.quietly():
                self._send_tables()

    @t.observe("asked")
    def _send_weights(self, change):
        if self.asked and self.weights is None:
            self.weights = packed.model()

    @classmethod
    def parcels(cls) -> dict[str, bytes]:
        return {"weights": packed.model()}

    def _read(self):
        """The reading of the typed and written text; None for the recorded sentence."""
        of = self.text, tuple(self.wrote)
        if of == ("", ()):
            return None
        if self._reading is None or self._reading[0] != of:
            text = self.text or "".join(self.spec["words"])
            self._reading = of, reading.read(self._parts, text, self.wrote, T)
        return self._reading[1]

    def shown(self, table: str) -> np.ndarray:
        """The table of what is read; the token's axis is as long as the picture has tokens."""
        read = self._read()
        return read.tables[table] if read else super().shown(table)

    @property
    def read_words(self) -> list[str]:
        """The tokens in the picture, as text."""
        read = self._read()
        return read.words if read else self.spec["words"]

    @property
    def at(self) -> int:
        """The selected token's place in the picture."""
        return min(self.token, len(self.read_words) - 1)

    def _say(self, said):
        super()._say(said)
        slots = {target: slot for slot, target in following.targets_in(self).items()}
        self._named = {KEY_OF[slots[target]] for target in said if target in slots}
        self.tables = {**self.tables, "parts": self._sent_rows()}

    def _sent_rows(self):
        return self._rows(self._named).astype("<f4").tobytes()

    def _rows(self, named):
        """(places, COLUMNS): state; gap; drift of the last token and likeliest next token if only this part is wrong;
        index of the given name among the place's names."""
        done, rows = _passed(), []
        for place in PLACES:
            name, *judged = self._judged.get(place.key, ("", PASSED if place.key in done else REFERENCE, 0, 0, np.nan))
            if place.key in named and judged[0] == RIGHT:
                judged[0] = NAMED
            rows.append([*judged, place.names.index(name) if name else 0])
        return np.array(rows, dtype=float)

    def states(self) -> dict[str, int]:
        """key of each place → one of REFERENCE, PASSED, UNWRITTEN, RIGHT, WRONG, FAILS, NAMED. NAMED is a part that is
        right in its place, but whose check names a mistake in other cases."""
        table = np.frombuffer(self.tables["parts"], "<f4").reshape(len(PLACES), len(COLUMNS))
        return {place.key: int(row[0]) for place, row in zip(PLACES, table, strict=True)}

    def damage(self) -> dict[str, float]:
        """key of each wrong place → relative drift of the last token at the top if only this part is wrong."""
        return {key: judged[3] for key, judged in self._judged.items() if judged[1] == WRONG}

    def written(self, name: str) -> bool:
        return any(own == name and state in (RIGHT, WRONG) for own, state, *_ in self._judged.values())

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        vocabulary = passing.vocabulary()
        return {
            "title": _("Anatomy: one Transformer, alive"),
            "words": [vocabulary[int(i)] for i in inputs["ids"]],
            "vocabulary": list(vocabulary),
            "truth": TRUTH,
            "layers": LAYERS,
            "tokens": T,
            "context": packed.CONTEXT,
            "most": reading.MOST,
            "likely": passing.LIKELY,
            "bins": passing.BINS,
            "reach": passing.REACH,
            "sizes": SIZES,
            "longest": round(float(passing.reference(inputs["ids"]).tables["norms"].max())),
            "places": [_described(place) for place in PLACES],
            "opened": list(OPENED),
        }

    def likely(self, token: int, level: int = 2 * LAYERS) -> list[tuple[str, float]]:
        """The likeliest next tokens after ``level`` half layers, with probabilities; level 8 is the model's answer."""
        vocabulary = passing.vocabulary()
        ids, shares = (self.shown(name)[level, token] for name in ("lens_i", "lens_p"))
        return [(vocabulary[int(i)], float(p)) for i, p in zip(ids, shares, strict=True)]

    @property
    def words(self) -> str:
        read, spec, token = self._read(), self.read_words, self.at
        first = len(read.ids) - len(spec) if read else 0
        w, (said, share) = self.shown("att")[self.layer, self.head, token], self.likely(token)[0]
        far = int(w.argmax())
        states = self.states()
        broken = [_(place.title) for place in PLACES if states[place.key] in (WRONG, FAILS, NAMED)]
        lit = [_(place.title) for place in PLACES if states[place.key] in (PASSED, RIGHT)]
        levels = ", ".join(f"{self.likely(token, 2 * i)[0][0]!r}" for i in range(LAYERS + 1))
        told = _(
            "A Transformer of {layers} layers reads “{text}” with {whose} parts. In layer {layer}, head {head}, token "
            "{token} ({word!r}) attends most to token {far} ({other!r}), weight {weight:.2f}. Likeliest next token at "
            "the bottom and after each layer: {levels}; at the top {said!r} with {share:.0%}."
        ).format(
            layers=LAYERS,
            text="".join(spec),
            whose=self.whose,
            layer=self.layer,
            head=self.head,
            token=first + token,
            word=spec[token],
            far=first + far,
            other=spec[far],
            weight=w[far],
            levels=levels,
            said=said,
            share=share,
        )
        if self.wrote:
            told += " " + _("The model wrote: “{text}”.").format(text=shipped.tokenizer().decode(self.wrote))
        if lit:
            told += " " + _("Lit: {parts}.").format(parts=listed(lit))
        if broken:
            off = _("Broken: {parts}; the last stream ends {share:.0%} away from the reference's.")
            told += " " + off.format(parts=listed(broken), share=(read.drift if read else self._drift)[-1, token])
        return told

    def figure(self) -> Figure:
        return still.picture(self)


def _described(place: Place) -> dict[str, Any]:
    """The place as JSON for the page."""
    exercises = [records.exercise_of(name) or "" for name in place.names]
    found = [units.exercise(exercise)[0].partition("-")[0] for exercise in exercises]
    about = {"key": place.key, "title": _(place.title), "widget": place.widget, "names": list(place.names)}
    return {**about, "exercises": exercises, "units": found}


def _places_of(functions: Mapping[str, Function]) -> None:
    """Raises TypeError for names without a place, and for two names of one place."""
    unknown = sorted(set(functions) - set(NAMES))
    if unknown:
        said = _("AnatomyView has places for {names}; it does not know {unknown}")
        raise TypeError(said.format(names=listed(NAMES), unknown=listed(unknown)))
    for place in PLACES:
        both = [name for name in place.names if name in functions]
        if len(both) > 1:
            said = _("{names} stand in the same place: give AnatomyView one of them")
            raise TypeError(said.format(names=_("{first} and {second}").format(first=both[0], second=both[1])))


def _damage(one: passing.Pass, reference: passing.Pass) -> tuple[float, float]:
    """Drift of the last token at the top, and the likeliest token after it."""
    return float(passing.drift(one, reference)[-1, -1]), float(one.tables["lens_i"][-1, -1, 0])


def _passed() -> set[str]:
    """Keys of the places whose exercise the learner has passed on this computer, in any notebook."""
    with contextlib.suppress(Exception):  # a picture must not fail because of stored progress
        tries = store.read("progress")
        return {p.key for p in PLACES if any(passed(tries.get(records.exercise_of(n) or "", {})) for n in p.names)}
    return set()


_HERE = Path(__file__).parent
AnatomyView._css += (_HERE / "anatomy.css").read_text(encoding="utf-8")
