"""Records ``length.json``: train short, test long, for every position scheme, several seeds.

``python -m autograder.recording.experiments.length [--device cuda]``. Trains five times as long as the notebook's live
run, so that the schemes that learn slowly (sinusoidal, learned, T5) also settle; about half an hour on one CPU core.
There are two further parts: ``ablations`` asks why some schemes survive and one does not, and ``shorter`` trains some
schemes on half the length, to see whether the breaking point follows the training length.
"""

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from anatomy.experiments import length as experiment
from anatomy.experiments.length import Scheme
from torch import Tensor, nn

from autograder.recording.experiments import About, Data, Facts
from autograder.recording.experiments.counting import paired
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import rope, rope_scaling
from autograder.reference.measuring import accuracy_by_position
from autograder.reference.positions import alibi as alibi_
from autograder.reference.positions.deberta import deberta_scores
from autograder.reference.positions.shaw import shaw_scores
from autograder.reference.positions.sinusoidal import sinusoid, sinusoid_half
from autograder.reference.positions.t5_buckets import t5_relative_bucket
from autograder.reference.positions.transformer_xl import transformer_xl_scores
from autograder.reference.positions.tupe import tupe_position_scores, tupe_scores

Curves = dict[str, Any]  # accuracy by place for each question, and other measurements of a run
ABOUT = About(seconds=390)

WIDTH, HEADS = experiment.D_MODEL, experiment.HEADS
D, BASE, STRETCH, L = WIDTH // HEADS, 10000.0, 4, experiment.TRAINED
PLACES = 16  # places per point of a curve


@dataclasses.dataclass(frozen=True)
class Setting:
    """Training steps, further steps on long rows for the tuned scheme, number of seeds, rows in the test.

    longer: factor on the steps for the scheme that had not settled.
    """

    steps: int = 1000
    tuning_steps: int = 300
    seeds: int = 3
    rows: int = 384
    longer: int = 3


SIZES = {"small": Setting(), "large": Setting(steps=1500, tuning_steps=1000, seeds=5, rows=1536, longer=2)}


class T5Bias(nn.Module):
    """One learned number per head and bucket of distances, 32 buckets up to distance 128, causal."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(32, HEADS)
        nn.init.zeros_(self.table.weight)

    def forward(self, distance: Tensor) -> Tensor:
        buckets = t5_relative_bucket(-distance, bidirectional=False, num_buckets=32, max_distance=128)
        return self.table(buckets).permute(2, 0, 1)


class Shaw(nn.Module):
    """Relative keys, clipped at distance ``clip``; the relative values are left out."""

    def __init__(self, clip: int = 16):
        super().__init__()
        self.clip = clip
        self.rel_k = nn.Parameter(0.1 * torch.randn(2 * clip + 1, D))

    def rows(self, first: int, end: int) -> list[Tensor]:
        """Views of the rows that a causal reader uses for distances first … end − 1: (end − first, D)."""
        return [self.rel_k[self.clip - end + 1 : self.clip - first + 1]]

    def forward(self, q: Tensor, k: Tensor) -> Tensor:
        return shaw_scores(q, k, self.rel_k)


class TransformerXL(nn.Module):
    """Four terms; distances enter as sinusoids through a learned matrix."""

    def __init__(self):
        super().__init__()
        self.r_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.u, self.v = (nn.Parameter(torch.zeros(HEADS, D)) for _ in range(2))

    def forward(self, q: Tensor, k: Tensor) -> Tensor:
        T = q.shape[-2]
        encoded = sinusoid_half(torch.arange(T - 1, -T, -1, device=q.device), WIDTH)
        r = self.r_proj(encoded.to(q.dtype)).unflatten(-1, (HEADS, D)).transpose(0, 1)  # (H, 2T-1, D)
        return transformer_xl_scores(q, k, r, self.u, self.v)


class DeBERTa(nn.Module):
    """Disentangled scores with learned relative tables up to distance ``clip``."""

    def __init__(self, clip: int = 16):
        super().__init__()
        self.clip = clip
        self.kr, self.qr = (nn.Parameter(0.1 * torch.randn(HEADS, 2 * clip, D)) for _ in range(2))

    def rows(self, first: int, end: int) -> list[Tensor]:
        """Views of the rows that a causal reader uses for distances first … end − 1: (H, end − first, D) each."""
        return [
            self.kr[:, self.clip + first : self.clip + end],
            self.qr[:, self.clip - end + 1 : self.clip - first + 1],
        ]

    def forward(self, q: Tensor, k: Tensor) -> Tensor:
        return deberta_scores(q, k, self.kr, self.qr)


class Tupe(nn.Module):
    """Learned positions with their own projections; works only up to the length of its table."""

    def __init__(self):
        super().__init__()
        self.pos_q, self.pos_k = (nn.Parameter(torch.randn(HEADS, L, D)) for _ in range(2))

    def forward(self, q: Tensor, k: Tensor) -> Tensor:
        T = q.shape[-2]
        return tupe_scores(q, k, tupe_position_scores(self.pos_q[:, :T], self.pos_k[:, :T]))


def alibi(distance: Tensor) -> Tensor:
    """Minus slope times distance, one slope per head."""
    return -alibi_.alibi_slopes(HEADS).to(distance.device)[:, None, None] * distance


def notes_turn(x: Tensor, ids: Tensor) -> Tensor:
    """Half-split RoPE with the quarter turn [−x₁, x₂], as some notes have it, which is not a rotation."""
    angles = torch.cat([ids[:, None] * rope.rope_frequencies(D, BASE, device=ids.device)] * 2, dim=-1)
    x1, x2 = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-x1, x2], dim=-1) * angles.sin()


ROPE = Scheme(turn=rope.apply_rope)
TRAINED = {
    "no positions": lambda: Scheme(),
    "sinusoidal": lambda: Scheme(add=lambda ids: sinusoid(ids, WIDTH)),
    "learned": lambda: Scheme(add=nn.Embedding(L, WIDTH)),
    "TUPE": lambda: Scheme(score=Tupe()),
    "Shaw": lambda: Scheme(score=Shaw()),
    "Transformer-XL": lambda: Scheme(score=TransformerXL()),
    "DeBERTa": lambda: Scheme(score=DeBERTa()),
    "T5 bias": lambda: Scheme(bias=T5Bias()),
    "ALiBi": lambda: Scheme(bias=alibi),
    "partial RoPE": lambda: Scheme(turn=lambda x, ids: rope.apply_partial_rope(x, ids, D // 2)),
    "RoPE, wrong half": lambda: Scheme(turn=notes_turn),
    "RoPE": lambda: ROPE,
}
ENDING = ("learned", "TUPE")  # tables without rows past the training length, where nothing can be measured
UNSETTLED = "Transformer-XL"  # had not learned the twin in some runs
CLIPPED: dict[str, Callable[[int], Shaw | DeBERTa]] = {
    "Shaw": Shaw,
    "DeBERTa": DeBERTa,
}  # normally clipped at distance 16; here also past all tested distances
SHORTER = ("RoPE", "sinusoidal", "RoPE, wrong half")  # also trained on L/2
INTERPOLATED = Scheme(
    turn=lambda x, ids: rope_scaling.apply_scaled_rope(
        x, rope_scaling.position_interpolation(ids, STRETCH).float(), rope.rope_frequencies(D, BASE)
    )
)
# The base depends on the text's length, so early places are read as in training.
DYNAMIC = Scheme(turn=lambda x, ids: rope.apply_rope(x, ids, rope_scaling.dynamic_ntk_base(BASE, D, len(ids), L)))


def stretched(trained: int) -> dict[str, Scheme]:
    """Name → Scheme: ways to read rows of four times the ``trained`` length without further training."""
    yarn = rope_scaling.yarn_frequencies(D, BASE, STRETCH, trained)
    return {
        "RoPE + PI": INTERPOLATED,
        "RoPE + NTK": Scheme(turn=lambda x, ids: rope.apply_rope(x, ids, rope_scaling.ntk_base(BASE, STRETCH, D))),
        "RoPE + YaRN": Scheme(
            turn=lambda x, ids: rope_scaling.apply_scaled_rope(x, ids, yarn, rope_scaling.yarn_temperature(STRETCH))
        ),
        f"RoPE + window of {trained}": dataclasses.replace(ROPE, window=trained),
    }


def measure(
    model: experiment.Reader, s: Setting, device: str, scheme: Scheme | None = None, length: int = STRETCH * L
) -> Curves:
    """Rounded curves of both questions."""
    found = experiment.test(model, accuracy_by_position, scheme, length, s.rows, PLACES, device)
    return {k: [round(v, 4) for v in values] for k, values in found.items()}


@torch.no_grad()
def measure_growing(model: experiment.Reader, s: Setting, device: str, scheme: Scheme) -> Curves:
    """Like ``measure``, but each stretch is read at the end of a text, as during generation."""
    game = experiment.deal(s.rows, STRETCH * L, torch.Generator().manual_seed(77))
    game = experiment.Game(*(t.to(device) for t in game))
    curves: Curves = {name: [] for name in experiment.QUESTIONS}
    for n in range(PLACES, STRETCH * L + 1, PLACES):
        pieces = zip(game.cards[:, :n].split(32), game.colors[:, :n].split(32), strict=True)
        logits = torch.cat([model(cards, colors, scheme)[:, -PLACES:] for cards, colors in pieces])
        for i, name in enumerate(experiment.QUESTIONS):
            share = accuracy_by_position(logits[:, :, i], getattr(game, name)[:, n - PLACES : n], PLACES)
            curves[name].append(round(share.item(), 4))
    return curves


def run(name: str, seed: int, s: Setting, device: str) -> dict[str, Curves]:
    """Scheme → curves: the trained scheme, and for RoPE also the ways to stretch it."""
    # A module draws its initial weights when it is created, so set the seed first.
    torch.manual_seed(seed)
    model, _ = experiment.train(TRAINED[name](), s.steps, seed=seed, device=device)
    found = {name: measure(model, s, device, length=L if name in ENDING else STRETCH * L)}
    if name == "RoPE":
        found |= {n: measure(model, s, device, scheme) for n, scheme in stretched(L).items()}
        found["RoPE + dynamic NTK"] = measure_growing(model, s, device, DYNAMIC)
        experiment.train(INTERPOLATED, s.tuning_steps, STRETCH * L, rows=8, seed=seed, model=model, device=device)
        found["RoPE + PI, tuned"] = measure(model, s, device)
    return found


def run_longer(seed: int, s: Setting, device: str) -> dict[str, Curves]:
    """Scheme → curves: the scheme that had not settled, with more steps."""
    torch.manual_seed(seed)
    model, _ = experiment.train(TRAINED[UNSETTLED](), s.longer * s.steps, seed=seed, device=device)
    return {f"{UNSETTLED}, longer": measure(model, s, device)}


def run_unclipped(name: str, seed: int, s: Setting, device: str) -> dict[str, Curves]:
    """Scheme → curves: tables with a row for each distance, then the same with random rows for untrained distances.

    near, far: root mean square of the rows that training used and of those that it never used.
    """
    torch.manual_seed(seed)
    score = CLIPPED[name](STRETCH * L)
    model, _ = experiment.train(Scheme(score=score), s.steps, seed=seed, device=device)
    near, far = score.rows(0, L), score.rows(L, STRETCH * L)
    size = lambda tables: round(torch.cat([t.flatten() for t in tables]).square().mean().sqrt().item(), 4)
    found = {f"{name}, every distance": {**measure(model, s, device), "near": size(near), "far": size(far)}}
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for table, trained in zip(far, near, strict=True):
            drawn = torch.randn(table.shape, generator=noise).to(device)
            table.copy_(drawn * trained.square().mean().sqrt())
    found[f"{name}, far rows drawn"] = {**measure(model, s, device), "near": size(near), "far": size(far)}
    return found


def run_shorter(name: str, seed: int, s: Setting, device: str) -> dict[str, Curves]:
    """Scheme → curves along rows of 2L, trained on L/2."""
    torch.manual_seed(seed)
    short, long = L // 2, STRETCH * L // 2
    model, _ = experiment.train(TRAINED[name](), s.steps, short, seed=seed, device=device)
    found = {name: measure(model, s, device, length=long)}
    if name == "RoPE":
        found |= {n: measure(model, s, device, scheme, long) for n, scheme in stretched(short).items()}
    return found


def plan(s: Setting, schemes: Sequence[str], device: str) -> Iterator[tuple[str, str, Callable[[], dict[str, Curves]]]]:
    """(part of the data, key of the row, function that measures it), in the order of measuring."""
    for seed, name in itertools.product(range(s.seeds), schemes):
        yield "schemes", f"{name}, seed {seed}", partial(run, name, seed, s, device)
    for seed, name in itertools.product(range(s.seeds), SHORTER):
        yield (
            "shorter",
            f"{name}, trained on {L // 2}, seed {seed}",
            partial(run_shorter, name, seed, s, device),
        )
    for seed in range(s.seeds):
        yield "ablations", f"{UNSETTLED}, longer, seed {seed}", partial(run_longer, seed, s, device)
        for name in CLIPPED:
            yield (
                "ablations",
                f"{name}, every distance, seed {seed}",
                partial(run_unclipped, name, seed, s, device),
            )


def main(
    argv: Sequence[str] | None = None, setting: Setting | None = None, schemes: Sequence[str] = tuple(TRAINED)
) -> None:
    """Command line; the other arguments are for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = list(plan(s, schemes, options.device))
    rows = Rows("length", options, dataclasses.asdict(s), len(todo))
    data: dict[str, dict[str, list[Curves]]] = {}
    for part, key, measured in todo:
        for name, found in rows.row(key, measured).items():
            data.setdefault(part, {}).setdefault(name, []).append(found)
    save(
        "length",
        {**data, "steps": s.steps, "longer": s.longer, "tuning_steps": s.tuning_steps, "trained": L, "width": PLACES},
        options,
        range(s.seeds),
    )
    rows.finish()


def seeds(data: Data) -> int:
    """The smallest number of seeds of any scheme."""
    return min(len(runs) for part in ("schemes", "ablations", "shorter") for runs in data[part].values())


def controls(data: Data) -> dict[str, int]:
    """Quantity varied besides the seed → number of values."""
    longer = f"{UNSETTLED}, longer" in data["ablations"]
    clips = sum("every distance" in name for name in data["ablations"]) == len(CLIPPED)
    return {"trained length": 1 + bool(data["shorter"]), "steps": 1 + longer, "clipping distance": 1 + clips}


def facts(data: Data) -> Facts:
    """Numbers for texts: for each scheme, both questions at the end of the trained rows and of the long ones.

    ``tested`` is text, since a number such as 256 also means other things in a unit.
    """
    half = data["trained"] // 2
    return {
        **_part(data["schemes"], data["trained"] // data["width"] - 1),
        "shorter": {
            **_part(data["shorter"], half // data["width"] - 1),
            "trained": half,
            "tested": str(STRETCH * half),
        },
        "ablations": {
            _identifier(name): _told(runs, data["trained"] // data["width"] - 1)
            for name, runs in data["ablations"].items()
        },
        "trained": data["trained"],
        "tested": str(STRETCH * data["trained"]),
        "seeds": seeds(data),
        "steps": data["steps"],
        "tuning_steps": data["tuning_steps"],
        "longer_steps": data["longer"] * data["steps"],
    }


def _part(schemes, at):
    """Facts of each scheme, and of the pairs that texts compare; ``at``: the last stretch of the trained length."""
    compared = {"wrong_half_minus_right": ("RoPE, wrong half", "RoPE"), "ntk_minus_rope": ("RoPE + NTK", "RoPE")}
    pairs = {
        fact: {
            question: paired(
                [a[question][-1] - b[question][-1] for a, b in zip(schemes[one], schemes[other], strict=True)]
            )
            for question in experiment.QUESTIONS
        }
        for fact, (one, other) in compared.items()
    }
    return {_identifier(name): _told(runs, at) for name, runs in schemes.items()} | pairs


def _identifier(name):
    return re.sub(r"[^a-z0-9]+", "_", name.lower())


def _told(runs, at):
    """Means, ranges and numbers of right runs (95 % or more): at the end of the trained length, at the very end, and
    anywhere."""
    told = {"of": len(runs)} | {k: _over([r[k] for r in runs]) for k in ("near", "far") if k in runs[0]}
    for question in experiment.QUESTIONS:
        curves = [r[question] for r in runs]
        told[question] = {
            "trained": _over([c[at] for c in curves]),
            "end": _over([c[-1] for c in curves]),
            "anywhere": _over(list(itertools.chain(*curves))),
        }
    return told


def _over(values):
    return {
        "mean": sum(values) / len(values),
        "min": min(values),
        "max": max(values),
        "right": sum(v >= 0.95 for v in values),
    }


if __name__ == "__main__":
    main()
