"""Records ``length.json``: train short, test long, for every position scheme, several seeds.

``python -m autograder.recording.experiments.length [--device cuda]``. Five times the training of the notebook's live
run, so that the schemes that learn slowly (sinusoidal, learned, T5) also settle; about ten minutes on one CPU core.
"""

import dataclasses

import torch
from anatomy.experiments import length as experiment
from anatomy.experiments.length import Scheme
from torch import nn

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

WIDTH, HEADS = experiment.D_MODEL, experiment.HEADS
D, BASE, STRETCH, L = WIDTH // HEADS, 10000.0, 4, experiment.TRAINED
PLACES = 16  # places per point of a curve


@dataclasses.dataclass(frozen=True)
class Setting:
    """Steps of training, further steps on long rows for the tuned scheme, number of seeds, rows in the test."""

    steps: int = 1000
    tuning_steps: int = 300
    seeds: int = 3
    rows: int = 384


SIZES = {"small": Setting(), "large": Setting(steps=1500, tuning_steps=1000, seeds=5, rows=1536)}


class T5Bias(nn.Module):
    """One learned number per head and bucket of distances, 32 buckets up to distance 128, causal."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(32, HEADS)
        nn.init.zeros_(self.table.weight)

    def forward(self, distance):
        buckets = t5_relative_bucket(-distance, bidirectional=False, num_buckets=32, max_distance=128)
        return self.table(buckets).permute(2, 0, 1)


class Shaw(nn.Module):
    """Relative keys, clipped at distance 16; the relative values are left out."""

    def __init__(self):
        super().__init__()
        self.rel_k = nn.Parameter(0.1 * torch.randn(33, D))

    def forward(self, q, k):
        return shaw_scores(q, k, self.rel_k)


class TransformerXL(nn.Module):
    """Four terms; distances enter as sinusoids through a learned matrix."""

    def __init__(self):
        super().__init__()
        self.r_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.u, self.v = (nn.Parameter(torch.zeros(HEADS, D)) for _ in range(2))

    def forward(self, q, k):
        T = q.shape[-2]
        encoded = sinusoid_half(torch.arange(T - 1, -T, -1, device=q.device), WIDTH)
        r = self.r_proj(encoded.to(q.dtype)).unflatten(-1, (HEADS, D)).transpose(0, 1)  # (H, 2T-1, D)
        return transformer_xl_scores(q, k, r, self.u, self.v)


class DeBERTa(nn.Module):
    """Disentangled scores with learned relative tables up to distance 16."""

    def __init__(self):
        super().__init__()
        self.kr, self.qr = (nn.Parameter(0.1 * torch.randn(HEADS, 32, D)) for _ in range(2))

    def forward(self, q, k):
        return deberta_scores(q, k, self.kr, self.qr)


class Tupe(nn.Module):
    """Learned positions with projections of their own; ends where its table ends."""

    def __init__(self):
        super().__init__()
        self.pos_q, self.pos_k = (nn.Parameter(torch.randn(HEADS, L, D)) for _ in range(2))

    def forward(self, q, k):
        T = q.shape[-2]
        return tupe_scores(q, k, tupe_position_scores(self.pos_q[:, :T], self.pos_k[:, :T]))


def alibi(distance):
    """Minus slope times distance, one slope per head."""
    return -alibi_.alibi_slopes(HEADS).to(distance.device)[:, None, None] * distance


def notes_turn(x, ids):
    """Half-split RoPE whose quarter turn is [−x₁, x₂], as a page of notes has it: no rotation."""
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
ENDING = ("learned", "TUPE")  # tables without a row past the training length: there is nothing to measure
INTERPOLATED = Scheme(turn=lambda x, ids: rope_scaling.apply_scaled_rope(
    x, rope_scaling.position_interpolation(ids, STRETCH).float(), rope.rope_frequencies(D, BASE)))
STRETCHED = {
    "RoPE + PI": INTERPOLATED,
    "RoPE + NTK": Scheme(turn=lambda x, ids: rope.apply_rope(x, ids, rope_scaling.ntk_base(BASE, STRETCH, D))),
    "RoPE + YaRN": Scheme(turn=lambda x, ids: rope_scaling.apply_scaled_rope(
        x, ids, rope_scaling.yarn_frequencies(D, BASE, STRETCH, L), rope_scaling.yarn_temperature(STRETCH))),
    "RoPE + window of 64": dataclasses.replace(ROPE, window=L),
}
# The base follows the length of the text: early places are read as trained.
DYNAMIC = Scheme(turn=lambda x, ids: rope.apply_rope(x, ids, rope_scaling.dynamic_ntk_base(BASE, D, len(ids), L)))


def measure(model, s, device, scheme=None, length=STRETCH * L):
    """Rounded curves of both questions."""
    found = experiment.test(model, accuracy_by_position, scheme, length, s.rows, PLACES, device)
    return {k: [round(v, 4) for v in values] for k, values in found.items()}


@torch.no_grad()
def measure_growing(model, s, device, scheme):
    """As ``measure``, but each stretch is read when the text ends with it, as when it is being written."""
    game = experiment.deal(s.rows, STRETCH * L, torch.Generator().manual_seed(77))
    game = experiment.Game(*(t.to(device) for t in game))
    curves = {name: [] for name in experiment.QUESTIONS}
    for n in range(PLACES, STRETCH * L + 1, PLACES):
        pieces = zip(game.cards[:, :n].split(32), game.colors[:, :n].split(32), strict=True)
        logits = torch.cat([model(cards, colors, scheme)[:, -PLACES:] for cards, colors in pieces])
        for i, name in enumerate(experiment.QUESTIONS):
            share = accuracy_by_position(logits[:, :, i], getattr(game, name)[:, n - PLACES:n], PLACES)
            curves[name].append(round(share.item(), 4))
    return curves


def run(name, seed, s, device):
    """scheme → curves: the trained scheme, and for RoPE also the ways to stretch it."""
    # A module draws its first weights when it is made, so the seed comes before.
    torch.manual_seed(seed)
    model, _ = experiment.train(TRAINED[name](), s.steps, seed=seed, device=device)
    found = {name: measure(model, s, device, length=L if name in ENDING else STRETCH * L)}
    if name == "RoPE":
        found |= {n: measure(model, s, device, scheme) for n, scheme in STRETCHED.items()}
        found["RoPE + dynamic NTK"] = measure_growing(model, s, device, DYNAMIC)
        experiment.train(INTERPOLATED, s.tuning_steps, STRETCH * L, rows=8, seed=seed, model=model, device=device)
        found["RoPE + PI, tuned"] = measure(model, s, device)
    return found


def main(argv=None, setting=None, schemes=tuple(TRAINED)):
    """Command line; the other arguments are for tests."""
    options = arguments(__doc__.splitlines()[0]).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    rows, curves = Rows("length", options, dataclasses.asdict(s), s.seeds * len(schemes)), {}
    for seed in range(s.seeds):
        for scheme in schemes:
            for name, found in rows.row(f"{scheme}, seed {seed}", lambda: run(scheme, seed, s, options.device)).items():
                curves.setdefault(name, []).append(found)
    save("length", {"schemes": curves, "steps": s.steps, "tuning_steps": s.tuning_steps, "trained": L, "width": PLACES},
         options, range(s.seeds))
    rows.finish()


if __name__ == "__main__":
    main()
