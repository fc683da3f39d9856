"""PositionExplorer: the part of a score that depends only on positions, for eight schemes side by side.

Sources: arXiv:1706.03762 (sinusoidal), 1803.02155 (Shaw), 1901.02860 (Transformer-XL), 1910.10683 (T5), 2006.03654
(DeBERTa), 2108.12409 (ALiBi).
"""

import re
from typing import Any

import numpy as np
import torch
import traitlets as t

from ...system.translation import listed, sentences
from ..tools.calls import WrongOutput, call
from ..tools.drawing import BLUE, DASHES, GRAY, VERMILLION, Figure, diverging, new_figure, number, plain
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Functions, Inputs, Tables
from ..tools.words import N_, _
from .story import STORY

T, WIDTH, D = 32, 32, 8  # positions; features of an absolute encoding; features of a head
LARGEST_CLIP, DEBERTA_K, BUCKETS = 16, 8, 32
CLIPS = (2, 4, 8, LARGEST_CLIP)
SLOPES = tuple(2.0**-h for h in range(1, 9))
# name, the course's function, letter of its table, variants
SCHEMES = (
    (N_("sinusoidal"), "sinusoid", "s", (N_("no projections"), N_("random W"), N_("W turns by 3"))),
    (N_("learned absolute"), "LearnedPositions", "s", (N_("fresh table"), N_("smooth table"))),
    ("Shaw", "shaw_index", "s", tuple(f"K = {k}" for k in CLIPS)),
    ("Transformer-XL", "transformer_xl_scores", "s", ("q·r + v·r", N_("q·r alone"), N_("v·r alone"))),
    (N_("T5, bidirectional"), "t5_relative_bucket", "s", tuple(f"head {n}" for n in range(1, 5))),
    (N_("T5, causal"), "t5_relative_bucket", "c", tuple(f"head {n}" for n in range(1, 5))),
    ("DeBERTa", "deberta_scores", "s", (N_("both terms"), N_("query asks"), N_("key asks"))),
    ("ALiBi", "alibi_bias", "s", tuple(f"slope 1/{1 / m:.0f}" for m in SLOPES)),
)
NAMES = [name for name, *_ in SCHEMES]
# The last entry of the list, where the story begins: no function of the course makes these scores, and all are 0.
NO_SCHEME = (N_("no scheme"), "", "s", (N_("words alone"),))
LISTED = (*SCHEMES, NO_SCHEME)
# What the variants of each scheme are, in their order.
KINDS = (
    N_("projections W"),
    N_("table"),
    N_("largest distance K"),
    N_("terms"),
    N_("head"),
    N_("head"),
    N_("terms"),
    N_("slope"),
    N_("terms"),
)
GRADED = (KINDS[2], KINDS[4], KINDS[7])  # variants that differ in a number, so they share their colors and scale
# What each scheme does, in their order.
ABOUT = (
    N_("The first Transformer (2017): waves of many speeds, fast ones on the left, make a vector for each position."),
    N_("As in BERT and GPT-2: a table with one vector for each position, which training fills."),
    N_("Shaw and others (2018): a vector for each distance up to K; its product with the query goes into the score."),
    N_("A model of 2019: the waves stand for distances; the query q and a learned vector v ask them."),
    N_("A model of 2019: one number for each distance and head; far distances share one (a “bucket”)."),
    N_("T5’s decoder looks back alone, so its numbers are for distances back; all ahead count as distance 0."),
    N_("A model of 2020: vectors for distances; the query asks one and the key asks another."),
    N_("“Attention with linear biases” (2021): nothing is learned; each step of distance costs the same."),
    N_("Nothing is added to the scores: they come from the words alone."),
)
ENCODED = ("sinusoid", "LearnedPositions")  # have a vector for each position
FORMULAS = ("", "alibi_bias", "sinusoid")  # have no numbers to train, but for projections
FILLED = ("shaw_index", "t5_relative_bucket", "deberta_scores")  # have a table by distance, which training fills
SHORTEST = 4  # words of the shortest training text
# float32 sums of 16 cosines are off by 1e-5; different schemes differ by tenths.
TOLERANCE = 1e-3
FACTS = ("spread", "direction", "reference")


class PositionExplorer(SeveralFunctions):
    """Live picture of position schemes; functions are passed by keyword, or as a mapping by name.

    ``sinusoid(positions, d_model)``, the class ``LearnedPositions(max_positions, d_model)``, ``shaw_index(T, S, k)``,
    ``transformer_xl_scores(q, k, r, u, v)``, ``t5_relative_bucket(relative_position, bidirectional=…)``,
    ``deberta_scores(qc, kc, kr, qr)``, ``alibi_bias(slopes, T, S)``; each of them is optional.

    Each is measured on 32 positions that all have the same token, so that only the position part of the scores remains:
    (32, 32) per variant. Tables, vectors and projections are fixed random numbers; nothing is trained.

    Traits scheme (index into LISTED; a name works too), variant, query and trained (words of a training text: what no
    such text trains is hatched) follow the controls; a variant beyond the scheme's last one shows the last one. It
    begins without a scheme. Raises the errors of TableWidget.
    """

    recording = "position"
    names = tuple(dict.fromkeys(fn for _name, fn, *_rest in SCHEMES))
    function_name = "function of yours"
    controls = ("scheme", "variant", "query", "trained")
    story = STORY
    # Wherever one points, the score stands still.
    opening = tuple({"key": key} for key in range(0, T, 4))

    scheme = t.Int(0, min=0, max=len(LISTED) - 1).tag(sync=True)
    variant = t.Int(0, min=0, max=7).tag(sync=True)
    query = t.Int(20, min=0, max=T - 1).tag(sync=True)
    trained = t.Int(T, min=SHORTEST, max=T).tag(sync=True)

    def __init__(
        self,
        functions: Functions | None = None,
        *,
        scheme: int | str | None = None,
        variant: int = 0,
        query: int = 20,
        trained: int = T,
        **named: Function,
    ) -> None:
        if scheme is None:
            scheme = len(SCHEMES)
        index = [name for name, *_ in LISTED].index(scheme) if isinstance(scheme, str) else scheme
        merged = {**(functions or {}), **named}
        super().__init__(merged or None, scheme=index, variant=variant, query=query, trained=trained)

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """s (variants, T, T), the position part of the scores; for t5_relative_bucket also c, the causal one; for
        sinusoid and LearnedPositions also pe, the encodings (variants, T, WIDTH)."""
        return {k: np.stack([v.numpy() for v in rows]) for k, rows in _MEASURES[name](fn, name, inputs).items()}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        facts = np.zeros((len(LISTED), 8, len(FACTS)))
        needs = np.zeros((len(LISTED), 8, 2 * T - 1))
        tables = {**reference, **mine}
        for i, (*_rest, variants) in enumerate(LISTED):
            for j in range(len(variants)):
                S, right = (scores_in(source, i, j) for source in (tables, reference))
                mean, low, high = profile(S)
                facts[i, j] = (high - low).max(), np.abs(mean - mean[::-1]).max(), np.abs(S - right).max()
                needs[i, j] = _lengths(reference, i, j)
        own = [float(f"{letter}_{fn}" in mine and mine is not reference) for _name, fn, letter, _variants in LISTED]
        unwritten = {k: v for k, v in reference.items() if k not in mine}
        nothing = np.zeros((1, T, T))
        return {**unwritten, "s_": nothing, "ref_s_": nothing, "facts": facts, "needs": needs, "own": np.array(own)}

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        schemes = [
            {
                "name": _(name),
                "table": f"{letter}_{fn}",
                "variants": [_shown(v) for v in variants],
                "kind": _(kind),
                "choices": [_chosen(v) for v in variants],
                "about": _(about),
                "made": fn != "",
                "encodings": f"pe_{fn}" if fn in ENCODED else "",
                "waves": fn == "sinusoid",
                "graded": kind in GRADED,
                "random": [fn not in FORMULAS or v == "random W" for v in variants],
                "by_place": fn == "LearnedPositions",
            }
            for (name, fn, letter, variants), kind, about in zip(LISTED, KINDS, ABOUT, strict=True)
        ]
        return {
            "title": _("Positions: what do they add to a score?"),
            "places": T,
            "shortest": SHORTEST,
            "features": WIDTH,
            "schemes": schemes,
            "tolerance": TOLERANCE,
        }

    def _at(self):
        """Indices of the current scheme and variant."""
        return self.scheme, min(self.variant, len(LISTED[self.scheme][3]) - 1)

    def scores(self) -> np.ndarray:
        """The scores shown, (32, 32) float64: row = query, column = key."""
        return scores_in({**self._reference, **self._mine}, *self._at())

    def untrained(self) -> np.ndarray:
        """(32, 32) boolean: pairs whose score needs a number that no text of ``trained`` words trains."""
        places = np.arange(T)
        if LISTED[self.scheme][1] == "LearnedPositions":
            return np.maximum(places[:, None], places) >= self.trained
        needs = np.frombuffer(self.tables["needs"], "<f4").reshape(len(LISTED), 8, 2 * T - 1)[self._at()]
        return needs[places - places[:, None] + T - 1] > self.trained

    def facts(self) -> dict[str, float]:
        """For the scores shown: ``spread``, largest difference among pairs of the same distance; ``direction``, largest
        difference between the mean scores of r and −r; ``reference``, largest distance to the reference."""
        table = np.frombuffer(self.tables["facts"], "<f4").reshape(len(LISTED), 8, len(FACTS))
        return dict(zip(FACTS, table[self._at()].tolist(), strict=True))

    @property
    def whose(self) -> str:
        return _("your") if self.written(LISTED[self.scheme][1]) else _("the reference's")

    @property
    def words(self) -> str:
        i, j = self._at()
        name, fn, _letter, variants = LISTED[i]
        S, found = self.scores(), self.facts()
        scheme = _("Position explorer, scheme {scheme} ({variant}) with {whose} {function}")
        about = scheme if fn else _("Position explorer without a scheme")
        shown = _("{about}: a heatmap of the position part of 32 × 32 scores, and the score against r = key − query.")
        spread = _("Largest spread among pairs of one distance: {spread} ({state}).")
        turned = _("r and −r differ by up to {direction} ({state}).")
        far = _("Farthest from the reference: {far} ({state}).")
        compared = far.format(
            far=number(found["reference"]), state=_("ok") if found["reference"] <= TOLERANCE else _("broken")
        )
        return sentences(
            shown.format(
                about=about.format(scheme=_(name), variant=_shown(variants[j]), whose=self.whose, function=fn)
            ),
            _("Mean score by r: {near}.").format(
                near=listed(f"{r}: {profile(S)[0][r + T - 1]:.2f}" for r in range(-4, 5))
            ),
            self._highest(np.where(self.untrained()[self.query], np.nan, S[self.query])),
            spread.format(spread=number(found["spread"]), state=_spread(S, found["spread"])),
            turned.format(
                direction=number(found["direction"]),
                state=_("no direction") if found["direction"] <= TOLERANCE else _("direction"),
            ),
            *([compared] if fn else []),
            *([self._lack()] if self.trained < T else []),
        )

    def _highest(self, row):
        """Which keys the query scores highest."""
        best = np.flatnonzero(row >= np.nanmax(row) - TOLERANCE) if np.isfinite(row).any() else [_("none")]
        if len(best) > 1:
            return _("Query {query} gives {n} keys its largest score.").format(query=self.query, n=len(best))
        return _("Query {query} scores key {best} highest.").format(query=self.query, best=best[0])

    def _lack(self):
        """How many pairs have no trained number."""
        lack = _("After training on texts of {n} words, {share} of the pairs lack a trained number.")
        return lack.format(n=self.trained, share=f"{self.untrained().mean():.0%}")

    def figure(self) -> Figure:
        fig = new_figure(8.4, 3.6)
        heat, curve = fig.subplots(1, 2, width_ratios=[1, 1.3])
        i, j = self._at()
        name, fn, _letter, variants = LISTED[i]
        S, right = self.scores(), scores_in(self._reference, i, j)
        shares = range(len(variants)) if KINDS[i] in GRADED else (j,)
        every = np.stack([scores_in({**self._reference, **self._mine}, i, v) for v in shares])
        top = np.abs(every[np.isfinite(every)]).max(initial=0) or 1
        hatched = self.untrained()
        shown = np.where(hatched, np.nan, S)
        known = np.array([not np.diagonal(hatched, r).all() for r in range(1 - T, T)])
        fig.colorbar(heat.imshow(shown, cmap=diverging(), vmin=-top, vmax=top), ax=heat).ax.tick_params(labelsize=8)
        heat.axhline(self.query, color="black", linewidth=1)
        plain(heat, f"{name}: {variants[j]}", "key position", "query position")
        r = np.arange(1 - T, T)
        mean, low, high = profile(S)
        curve.fill_between(r, low, high, where=known, color=BLUE, alpha=0.25, linewidth=0)
        curve.plot(
            r,
            np.where(known, profile(right)[0], np.nan),
            color=GRAY,
            linestyle=DASHES,
            label="reference" if fn else "no scheme",
        )
        if self.written(fn):
            banded = self.facts()["spread"] > TOLERANCE
            said = "mean (band: all pairs of a distance)" if banded else "each distance has one score"
            curve.plot(r, np.where(known, mean, np.nan), color=BLUE, label=f"yours: {said}")
        curve.plot(np.arange(T) - self.query, shown[self.query], ".", color=VERMILLION, label=f"query {self.query}")
        curve.legend(fontsize=8)
        plain(curve, "Score against distance", "r = key − query", "score")
        return fig


def _shown(variant):
    """The name of a variant in the current language."""
    word, _blank, number_of = variant.partition(" ")
    if word == "head":
        return _("head {n}").format(n=number_of)
    if word == "slope":
        return _("slope {m}").format(m=number_of)
    return _(variant)


def _chosen(variant):
    """The same beside the name of its slider, which says what it is."""
    number_of = re.sub(r"^(K =|head|slope) ", "", variant)
    return _(variant) if number_of == variant else number_of


def scores_in(tables: Tables, scheme: int, variant: int) -> np.ndarray:
    """The scores of one variant out of those tables, (T, T) float64; all 0 without a scheme."""
    _name, fn, letter, _variants = LISTED[scheme]
    return tables[f"{letter}_{fn}"][variant].astype(float) if fn else np.zeros((T, T))


def _spread(S, spread):
    """What the scores depend on, in words."""
    if S.max() - S.min() <= TOLERANCE:
        return _("all alike")
    return _("distance only") if spread <= TOLERANCE else _("position counts")


def _lengths(reference, scheme, variant):
    """For each r the least length of a training text that trains its number, (2T−1,); 0 where a formula makes it."""
    if LISTED[scheme][1] not in FILLED:
        return np.zeros(2 * T - 1)
    # Distances that share a row of the table have one score, and the nearest of them is in the shortest text.
    mean, far = profile(scores_in(reference, scheme, variant))[0].round(6), np.abs(np.arange(1 - T, T))
    return np.array([1 + far[mean == m].min() for m in mean])


def profile(S: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, lowest and highest score for each r = −(T−1) … T−1: three arrays (2T−1,)."""
    lines = [np.diagonal(S, r) for r in range(1 - len(S), len(S))]
    mean, low, high = (np.array([f(d) for d in lines]) for f in (np.mean, np.min, np.max))
    return mean, low, high


def _sinusoid(fn, name, x):
    pe = call(fn, name, (T, WIDTH), torch.arange(T), WIDTH).to(x["w_q"].dtype)
    scores = [pe @ pe.T, pe @ x["w_q"] @ (pe @ x["w_k"]).T, pe @ x["look"] @ pe.T]
    return {f"s_{name}": scores, f"pe_{name}": [pe]}


def _learned(fn, name, x):
    rows, encodings = [], []
    for weight in (x["fresh"], x["smooth"]):
        module = fn(T, WIDTH).to(weight.dtype)
        module.load_state_dict({"weight": weight}, strict=True)
        pe = call(module, name, (T, WIDTH), torch.arange(T))
        rows.append(pe @ pe.T)
        encodings.append(pe)
    return {f"s_{name}": rows, f"pe_{name}": encodings}


def _shaw(fn, name, x):
    asked = x["shaw_table"] @ x["word"]  # (2·16 + 1,)
    middle = asked[LARGEST_CLIP]
    rows = []
    for k in CLIPS:
        index = _whole(fn(T, T, k), name, 2 * k + 1)
        rows.append((asked[LARGEST_CLIP - k : LARGEST_CLIP + k + 1] - middle)[index])
    return {f"s_{name}": rows}


def _transformer_xl(fn, name, x):
    word, nothing = x["word"].expand(1, 1, T, D), torch.zeros_like(x["word"]).expand(1, 1, T, D)
    none = torch.zeros_like(x["v"])
    parts = ((word, x["v"]), (word, none), (nothing, x["v"]))
    ask = lambda q, v: call(fn, name, (1, 1, T, T), q, nothing, x["r"][None], none, v)[0, 0]
    return {f"s_{name}": [ask(q, v) for q, v in parts]}


def _t5(fn, name, x):
    r = torch.arange(T) - torch.arange(T)[:, None]
    tables = {}
    for letter, both in (("s", True), ("c", False)):
        index = _whole(fn(r.clone(), bidirectional=both), name, BUCKETS)
        tables[f"{letter}_{name}"] = list(x[f"t5_{letter}"][index].permute(2, 0, 1))
    return tables


def _deberta(fn, name, x):
    q, k = (x[n].expand(1, 1, T, D) for n in ("word", "v"))
    empty = torch.zeros_like(x["kr"])
    ask = lambda kr, qr: call(fn, name, (1, 1, T, T), q, k, kr[None], qr[None])[0, 0]
    words = ask(empty, empty)
    pairs = ((x["kr"], x["qr"]), (x["kr"], empty), (empty, x["qr"]))
    return {f"s_{name}": [ask(*pair) - words for pair in pairs]}


def _alibi(fn, name, x):
    slopes = torch.tensor(SLOPES, dtype=x["word"].dtype)
    return {f"s_{name}": list(call(fn, name, (len(SLOPES), T, T), slopes, T, T))}


_MEASURES = {
    "sinusoid": _sinusoid,
    "LearnedPositions": _learned,
    "shaw_index": _shaw,
    "alibi_bias": _alibi,
    "transformer_xl_scores": _transformer_xl,
    "t5_relative_bucket": _t5,
    "deberta_scores": _deberta,
}


def _whole(index, name, rows):
    """Returns ``index`` if it is a (T, T) tensor of integers from 0 to ``rows`` − 1, else raises WrongOutput."""
    asked = {"name": name, "shape": (T, T), "last": rows - 1}
    got = None
    if not isinstance(index, torch.Tensor):
        got = type(index).__name__
    elif tuple(index.shape) != (T, T):
        got = _("shape {shape}").format(shape=tuple(index.shape))
    elif index.is_floating_point() or index.dtype == torch.bool:
        got = _("dtype {dtype}").format(dtype=str(index.dtype).removeprefix("torch."))
    if got is not None:
        said = _(
            "{name} must return an integer tensor of shape {shape} with entries 0 to {last} here, and it returned "
            "{got}."
        )
        raise WrongOutput(said.format(**asked, got=got))
    if index.min() < 0 or index.max() >= rows:
        said = _(
            "{name} must return an integer tensor of shape {shape} with entries 0 to {last} here, and its entries run "
            "from {low} to {high}."
        )
        raise WrongOutput(said.format(**asked, low=int(index.min()), high=int(index.max())))
    return index.detach().cpu()
