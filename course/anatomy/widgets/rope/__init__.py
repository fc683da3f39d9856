"""RopeExplorer: a query and a key rotate with their positions; the score should depend only on the distance.

Source of the method: Su et al. 2021, arXiv:2104.09864.
"""

from typing import Any

import numpy as np
import torch
import traitlets as t

from ..tools.base import TableWidget
from ..tools.calls import call
from ..tools.drawing import Figure, number
from ..tools.types import Function, Inputs, Tables
from ..tools.words import N_, _
from . import faults, lengths, still
from .story import STORY, TRAINING

POSITIONS = 64
DIMS = (4, 8, 16)
BASES = (100.0, 1e3, 1e4, 1e5, 5e5)
# float32 angles up to 63 rad are off by 4e-6, so a right function is off by about 1e-5, and wrong ones by tenths.
TOLERANCE = 1e-4
INVARIANTS = ("shift", "norm", "reference")
# Labels for a function that differs from the reference; the table ``cause`` holds their indices.
CAUSES = (
    N_("differs"),
    N_("differs: turns the other way"),
    N_("differs: pairs the halves"),
    N_("differs: other speeds"),
)
PANELS = ("line", "dials", "proof", "score", "map", "breaking", "training", "strip")
HANDS = ("position", "content")
ORDERS = ("interleaved", "halves", "q")  # "q": the halves for q alone
EQUALITIES = 4


class RopeExplorer(TableWidget):
    """Live picture of ``apply_rope(x, position_ids, base=10000.0)`` (interleaved pairs).

    The function gets x (1, 2, 64, D) float32, a query in head 0 and a key in head 1, the same vector at each of 64
    positions, and position_ids (1, 64) int64, once per D in 4, 8, 16 and per base. The positions are in shuffled order,
    to expose a function that ignores position_ids. In every plane the query has length 1 and the key 0.8, with fixed
    random angles. Between two positions the page turns each plane by a part of its step, where the function turns.

    Traits, which the controls change: m, n (0..63), base and dim; ``more``, whether base, dim and the choice of panels
    are unfolded; ``panels``, the open ones of PANELS; ``fault``, an index into faults.FAULTS, drawn instead of the
    function; ``turned``, degrees by which the content of q (8 planes) and of k (8) is turned; ``waves``, planes whose
    wave is left out; ``head``, ``trained``, ``length``, ``scheme`` and ``clock`` of the panel *Longer than trained*.
    Raises the errors of TableWidget.
    """

    recording, function_name = "rope", "apply_rope"
    controls = (
        *("m", "n", "base", "dim", "more", "panels", "plane", "stand", "proof", "front", "hand", "turned", "waves"),
        *("fault", "order", "head", "trained", "length", "scheme", "clock"),
    )
    story = STORY
    opening = tuple({"m": 9 + by} for by in range(7))

    m = t.Int(9, min=0, max=POSITIONS - 1).tag(sync=True)
    n = t.Int(4, min=0, max=POSITIONS - 1).tag(sync=True)
    base = t.Enum(BASES, 1e4).tag(sync=True)
    dim = t.Enum(DIMS, 8).tag(sync=True)
    more = t.Bool(False).tag(sync=True)
    panels = t.List(t.Enum(PANELS), ["line", "dials"]).tag(sync=True)
    plane = t.Int(0, min=0, max=DIMS[-1] // 2 - 1).tag(sync=True)
    stand = t.Bool(False).tag(sync=True)
    proof = t.Int(0, min=0, max=EQUALITIES).tag(sync=True)
    front = t.Int(0, min=0, max=POSITIONS - 1).tag(sync=True)
    hand = t.Enum(HANDS, "position").tag(sync=True)
    turned = t.List(t.Int(0, min=0, max=359), [0] * DIMS[-1], DIMS[-1], DIMS[-1]).tag(sync=True)
    waves = t.List(t.Int(0, min=0, max=DIMS[-1] // 2 - 1)).tag(sync=True)
    fault = t.Int(0, min=0, max=len(faults.FAULTS) - 1).tag(sync=True)
    order = t.Enum(ORDERS, "interleaved").tag(sync=True)
    head = t.Enum(lengths.HEADS, 128).tag(sync=True)
    trained = t.Enum(lengths.TRAINED, 4096).tag(sync=True)
    length = t.Enum(lengths.LENGTHS, 16384).tag(sync=True)
    scheme = t.Int(0, min=0, max=len(lengths.SCHEMES) - 1).tag(sync=True)
    clock = t.Int(32, min=0, max=lengths.HEADS[-1] // 2 - 1).tag(sync=True)

    def __init__(self, apply_rope: Function | None = None, **state: Any) -> None:
        super().__init__(apply_rope, **state)

    @staticmethod
    def of_frequencies(rope_frequencies: Function | None = None, **state: Any) -> "RopeExplorer":
        """The same picture, turned by a function ``rope_frequencies(D, base=10000.0)``; see FrequencyExplorer."""
        return FrequencyExplorer(rope_frequencies, **state)

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """q4, k4, q8, … of shape (bases, 64, D): the rotated query and key at every position."""
        order = (torch.arange(POSITIONS) * 37 + 11) % POSITIONS  # 37 is odd, so that each position occurs once
        ids = order[None, :]
        tables = {}
        for D in DIMS:
            x = torch.stack([inputs[f"q{D}"], inputs[f"k{D}"]])[None, :, None, :].expand(1, 2, POSITIONS, D)
            rows = [call(fn, cls.function_name, x.shape, x, ids, base=base)[0] for base in BASES]
            sorted_rows = torch.stack(rows)[:, :, torch.argsort(order)]  # (bases, 2, positions, D)
            tables[f"q{D}"], tables[f"k{D}"] = sorted_rows[:, 0].numpy(), sorted_rows[:, 1].numpy()
        return tables

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        """Invariants, causes, whether the function turns, the vectors without position, and frequencies."""
        settings = [(D, j) for D in DIMS for j in range(len(BASES))]
        rows = {(D, j): [mine[f"{name}{D}"][j].astype(float) for name in "qk"] for D, j in settings}
        plain = {D: [inputs[f"{name}{D}"].numpy().astype(float) for name in "qk"] for D in DIMS}
        shape = (len(DIMS), len(BASES))
        values = [_invariants(rows[D, j], plain[D], _scores(reference, D, j)) for D, j in settings]
        f = {f"f{D}": mine.get(f"f{D}", np.stack([faults.thetas(D, base) for base in BASES])) for D in lengths.HEADS}
        return {
            "invariants": np.array(values).reshape(*shape, len(INVARIANTS)),
            "cause": np.array([_cause(rows[D, j], plain[D], BASES[j]) for D, j in settings]).reshape(shape),
            "turns": np.array([all(map(_turns, rows[D, j])) for D, j in settings]).reshape(shape),
            **{f"plain_{name}{D}": inputs[f"{name}{D}"].numpy() for D in DIMS for name in "qk"},
            **f,
            "f_invariants": np.array([[_of_frequencies(f[f"f{D}"][j], BASES[j]) for j in range(len(BASES))]
                                      for D in lengths.HEADS]),
        }  # fmt: skip

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("RoPE: turn the query by mθ, the key by nθ"),
            "positions": POSITIONS,
            "dims": list(DIMS),
            "bases": list(BASES),
            "tolerance": TOLERANCE,
            "causes": CAUSES,
            "faults": [[_(name), _(sentence)] for name, sentence in faults.FAULTS],
            "heads": list(lengths.HEADS),
            "trained": list(lengths.TRAINED),
            "lengths": list(lengths.LENGTHS),
            "schemes": [_(name) for name in lengths.SCHEMES],
            "frequencies": self.function_name == "rope_frequencies",
            "reach": 1.06,
        }  # reach: a dial's rim, in units of the query's length

    def _table(self, name: str) -> np.ndarray:
        """Row of that table for the current D and base."""
        table = np.frombuffer(self.tables[name], "<f4").reshape(len(DIMS), len(BASES), -1)
        return table[DIMS.index(self.dim), BASES.index(self.base)]

    def turns(self) -> bool:
        """Whether the function turns each plane by the same angle from any position to the next."""
        return bool(self._table("turns")[0])

    def content(self, letter: str) -> np.ndarray:
        """The query ("q") or key ("k") without its position, (D,) float64, its planes turned by ``turned``."""
        x = self._inputs[f"{letter}{self.dim}"].numpy().astype(float)
        return faults.turned(x, self._phases(letter)[None], slice(0, None, 2), slice(1, None, 2))[0]

    def _phases(self, letter):
        first = 0 if letter == "q" else DIMS[-1] // 2
        return np.radians(self.turned[first : first + self.dim // 2])

    def vectors(self, letter: str) -> np.ndarray:
        """The rotated queries ("q") or keys ("k") shown, (64, D) float64."""
        if self.fault:
            return faults.broken(self.content(letter), letter, np.arange(POSITIONS), self.base, self.fault)
        rows = self._mine[f"{letter}{self.dim}"][BASES.index(self.base)].astype(float)
        if not self.turns():
            return rows
        z = rows[:, 0::2] + 1j * rows[:, 1::2]
        z = z * np.exp(1j * self._phases(letter))
        return np.stack([z.real, z.imag], axis=-1).reshape(rows.shape)

    def scores(self) -> np.ndarray:
        """S (64, 64) float64 for the current state: S[m, n] = q at m times k at n."""
        return self.vectors("q") @ self.vectors("k").T

    def in_memory(self) -> float:
        """q·k at m and n, multiplied place by place as the two lie in memory."""
        q, k = self.vectors("q")[self.m], self.vectors("k")[self.n]
        halves = np.r_[0 : self.dim : 2, 1 : self.dim : 2]
        return float((q if self.order == "interleaved" else q[halves]) @ (k[halves] if self.order == "halves" else k))

    def right_scores(self) -> np.ndarray:
        """The scores of a right rotation for the current D, base and content: (64, 64) float64."""
        own = self.fault or self.turns()
        q, k = (self.content(n) if own else self._inputs[f"{n}{self.dim}"].numpy().astype(float) for n in "qk")
        return np.matmul(
            faults.broken(q, "q", np.arange(POSITIONS), self.base, 0),
            faults.broken(k, "k", np.arange(POSITIONS), self.base, 0).T,
        )

    def invariants(self) -> dict[str, float]:
        """The three invariants for the current D and base.

        ``shift``: max |S[m+1, n+1] − S[m, n]|; ``norm``: max change of length; ``reference``: max |S − the reference's
        S|. For a right function, each is within TOLERANCE.
        """
        if self.fault:
            rows, plain = [self.vectors(name) for name in "qk"], [self.content(name) for name in "qk"]
            row = _invariants(rows, plain, self.right_scores())
            return dict(zip(INVARIANTS, map(float, row), strict=True))
        return dict(zip(INVARIANTS, self._table("invariants").tolist(), strict=True))

    def cause(self) -> str:
        """How the function differs from the reference for the current D and base, if it does: one of CAUSES."""
        return CAUSES[0 if self.fault else int(self._table("cause")[0])]

    def frequencies(self) -> np.ndarray:
        """Radians per token of the large head's planes: (head/2,) float64."""
        table = np.frombuffer(self.tables[f"f{self.head}"], "<f4").reshape(len(BASES), -1)
        return table[BASES.index(self.base)].astype(float)

    def slowed(self) -> np.ndarray:
        """The same with the scheme for longer texts."""
        return lengths.slowed(self.frequencies(), self.base, self.scheme, self.trained, self.length)

    def wavelengths(self) -> np.ndarray:
        """Tokens per full turn of each plane of the large head: (head/2,) float64, 2π/|θ|."""
        with np.errstate(divide="ignore"):  # θ = 0 never turns: an infinite wavelength
            return 2 * np.pi / np.abs(self.frequencies())

    def frequency_invariants(self) -> dict[str, float]:
        """For the large head: ``first`` |θ₀ − 1|, ``ratio`` the largest relative error of θᵢ₊₁/θᵢ against base^(−2/D),
        ``formula`` the largest relative distance to base^(−2i/D). Right: within TOLERANCE."""
        shape = (len(lengths.HEADS), len(BASES), len(lengths.FREQUENCY_INVARIANTS))
        row = np.frombuffer(self.tables["f_invariants"], "<f4").reshape(shape)[
            lengths.HEADS.index(self.head), BASES.index(self.base)
        ]
        return dict(zip(lengths.FREQUENCY_INVARIANTS, row.tolist(), strict=True))

    @property
    def words(self) -> str:
        S, found = self.scores(), self.invariants()
        states = {k: (_("ok") if v <= TOLERANCE else _("broken")) for k, v in found.items()}
        if not found["reference"] <= TOLERANCE:
            states["reference"] = _(self.cause())
        told = _(
            "RoPE explorer with {whose} {function}, D = {dim}, base {base:,.0f}. Dials of {planes} planes show the "
            "query at m = {m} (blue, solid) and the key at n = {n} (orange, dashed); a curve shows the score against "
            "m − n and a heatmap the score of all positions. Score q·k = {score:.3f}. Largest change when both "
            "positions move by one: {shift} ({shift_state}); largest change of a length: {norm} ({norm_state}); "
            "farthest from the reference: {far} ({state})."
        ).format(
            whose=self.whose,
            function=self.function_name,
            dim=self.dim,
            base=self.base,
            planes=self.dim // 2,
            m=self.m,
            n=self.n,
            score=S[self.m, self.n],
            shift=number(found["shift"]),
            shift_state=states["shift"],
            norm=number(found["norm"]),
            norm_state=states["norm"],
            far=number(found["reference"]),
            state=states["reference"],
        )
        if self.fault:
            told += " " + _("Broken on purpose: {what}").format(what=_(faults.FAULTS[self.fault][1]))
        if self.order == "q" and "strip" in self.panels:
            told += " " + _("Place by place in memory, with q alone reordered: q·k = {score:.3f}.").format(
                score=self.in_memory()
            )
        return told + (" " + self._lengths_told() if "training" in self.panels else "")

    def _lengths_told(self):
        theta, found = self.frequencies(), self.frequency_invariants()
        signs = [_("ok") if v <= TOLERANCE else _("broken") for v in found.values()]
        with np.errstate(divide="ignore"):  # a plane that never turns
            longest = (2 * np.pi / np.abs(self.slowed())).max()
        return _(
            "A head of {head} has {planes} hands; within {trained:,} tokens of training {round} of them went all "
            "round, the slowest needs {longest:,.0f} tokens for a turn, and in a text of {length:,} tokens {new} "
            "reach a part of their dial never seen ({scheme}). First frequency 1: {first}; constant ratio: {ratio}; "
            "the formula's frequencies: {formula}."
        ).format(
            head=self.head,
            planes=len(theta),
            trained=self.trained,
            round=int(lengths.all_round(theta, self.trained).sum()),
            longest=longest,
            length=self.length,
            new=int(lengths.unseen(theta, self.base, self.scheme, self.trained, self.length).sum()),
            scheme=_(lengths.SCHEMES[self.scheme]),
            **dict(zip(found, signs, strict=True)),
        )

    def figure(self) -> Figure:
        alone = "training" in self.panels and "dials" not in self.panels
        return still.hands(self) if alone else still.dials_and_scores(self)


class FrequencyExplorer(RopeExplorer):
    """RopeExplorer for ``rope_frequencies(D, base=10000.0)``, which returns (D/2,) float32, radians per token.

    The function is called for D in 4…16, whose dials it turns, and in 32…256, whose hands it turns. It opens with the
    panel *Longer than trained*.
    """

    function_name = "rope_frequencies"

    def __init__(self, rope_frequencies: Function | None = None, **state: Any) -> None:
        super().__init__(rope_frequencies, **{"panels": ["training"], "step": TRAINING, **state})

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """As RopeExplorer.measure, and f32, f64, … of shape (bases, D/2)."""
        found = {
            D: torch.stack([call(fn, cls.function_name, (D // 2,), D, base=base) for base in BASES])
            for D in (*DIMS, *lengths.HEADS)
        }
        tables = {f"f{D}": found[D].numpy() for D in lengths.HEADS}
        for D in DIMS:
            angles = torch.arange(POSITIONS)[:, None] * found[D].double()[:, None]  # (bases, positions, D/2)
            for name in "qk":
                pairs = inputs[f"{name}{D}"].double().unflatten(0, (-1, 2))
                z = torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angles), angles)
                tables[f"{name}{D}"] = torch.view_as_real(z).flatten(-2).float().numpy()
        return tables


def _scores(tables, D, j):
    return tables[f"q{D}"][j].astype(float) @ tables[f"k{D}"][j].astype(float).T


def _invariants(rows, plain, right):
    S = rows[0] @ rows[1].T
    longer = [np.linalg.norm(turned, axis=-1) - np.linalg.norm(x) for turned, x in zip(rows, plain, strict=True)]
    return [np.abs(a).max() for a in (S[1:, 1:] - S[:-1, :-1], np.stack(longer), S - right)]


def _of_frequencies(f, base):
    f, D = f.astype(float), 2 * len(f)
    with np.errstate(all="ignore"):  # a frequency of 0 shows as a broken ratio, not as a warning
        ratio = f[1:] / f[:-1] * base ** (2 / D) - 1
        return [abs(f[0] - 1), np.abs(ratio).max(), np.abs(f / faults.thetas(D, base) - 1).max()]


def _turns(rows):
    """Whether (64, D) rows turn in each plane of neighbors by one angle per position and keep their lengths."""
    z = rows[:, 0::2] + 1j * rows[:, 1::2]
    with np.errstate(all="ignore"):
        step = z[1] / z[0]
        return bool(
            (np.abs(np.abs(step) - 1) <= TOLERANCE).all() and (np.abs(z[1:] - z[:-1] * step) <= TOLERANCE).all()
        )


def _cause(rows, plain, base):
    """Index in CAUSES of the known mistake that explains the rows of q and k; 0 if none fits."""
    D = len(plain[0])
    angles = np.outer(np.arange(POSITIONS), faults.thetas(D, base))
    interleaved = (slice(0, None, 2), slice(1, None, 2))
    halves = (slice(0, D // 2), slice(D // 2, None))
    pairs = list(zip(plain, rows, strict=True))
    for cause, (turn, planes) in enumerate([(-angles, interleaved), (angles, halves)], start=1):
        if all(np.abs(faults.turned(x, turn, *planes) - got).max() <= TOLERANCE for x, got in pairs):
            return cause
    first, second = interleaved
    kept = all(
        np.abs(np.hypot(got[:, first], got[:, second]) - np.hypot(x[first], x[second])).max() <= TOLERANCE
        for x, got in pairs
    )
    moved = all(np.abs(got - x).max() > TOLERANCE for x, got in pairs)
    return 3 if kept and moved else 0
