"""Records ``assets/experiments/length.json``: train short, test long, for every position scheme, several seeds.

``python -m autograder.recording.experiments.length [--device cuda]``. Five times the training of the notebook's live
run, so that the schemes that learn slowly (sinusoidal, learned, T5) also settle; about five minutes on one CPU core.
"""

import dataclasses

import torch
from anatomy.experiments import length as experiment
from anatomy.experiments.length import Scheme
from torch import nn

from autograder.exercises.u06_rope.measuring import accuracy_by_position
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import rope, rope_scaling
from autograder.reference.positions.alibi import alibi_slopes
from autograder.reference.positions.sinusoidal import sinusoid
from autograder.reference.positions.t5_buckets import t5_relative_bucket

SEEDS = range(3)
STEPS, TUNING_STEPS = 1000, 300
D, BASE, S, L = experiment.D_MODEL // experiment.HEADS, 10000.0, 4, experiment.TRAINED


class T5Bias(nn.Module):
    """One learned number per head and bucket of distances, 32 buckets up to distance 128, causal."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(32, experiment.HEADS)
        nn.init.zeros_(self.table.weight)

    def forward(self, distance):
        buckets = t5_relative_bucket(-distance, bidirectional=False, num_buckets=32, max_distance=128)
        return self.table(buckets).permute(2, 0, 1)


def alibi(distance):
    """Minus slope times distance, one slope per head."""
    return -alibi_slopes(experiment.HEADS).to(distance.device)[:, None, None] * distance


def notes_turn(x, ids):
    """Half-split RoPE whose quarter turn is [−x₁, x₂], as a page of notes has it: no rotation."""
    angles = torch.cat([ids[:, None] * rope.rope_frequencies(D, BASE, device=ids.device)] * 2, dim=-1)
    x1, x2 = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-x1, x2], dim=-1) * angles.sin()


ROPE = Scheme(turn=rope.apply_rope)
TRAINED = {
    "no positions": lambda: Scheme(),
    "sinusoidal": lambda: Scheme(add=lambda ids: sinusoid(ids, experiment.D_MODEL)),
    "learned": lambda: Scheme(add=nn.Embedding(L, experiment.D_MODEL)),
    "T5 bias": lambda: Scheme(bias=T5Bias()),
    "ALiBi": lambda: Scheme(bias=alibi),
    "RoPE, wrong half": lambda: Scheme(turn=notes_turn),
    "RoPE": lambda: ROPE,
}
INTERPOLATED = Scheme(turn=lambda x, ids: rope_scaling.apply_scaled_rope(
    x, rope_scaling.position_interpolation(ids, S).float(), rope.rope_frequencies(D, BASE)))
STRETCHED = {
    "RoPE + PI": INTERPOLATED,
    "RoPE + NTK": Scheme(turn=lambda x, ids: rope.apply_rope(x, ids, rope_scaling.ntk_base(BASE, S, D))),
    "RoPE + YaRN": Scheme(turn=lambda x, ids: rope_scaling.apply_scaled_rope(
        x, ids, rope_scaling.yarn_frequencies(D, BASE, S, L), rope_scaling.yarn_temperature(S))),
    "RoPE + window of 64": dataclasses.replace(ROPE, window=L),
}


def measure(model, device, scheme=None, length=S * L):
    """Rounded curves of both questions on 384 rows."""
    found = experiment.test(model, accuracy_by_position, scheme, length=length, rows=384, device=device)
    return {k: [round(v, 4) for v in values] for k, values in found.items()}


def main():
    """Command line."""
    options = arguments(__doc__.splitlines()[0]).parse_args()
    prepare(options.device)
    curves = {}
    for seed in SEEDS:
        for name, make in TRAINED.items():
            # A module draws its first weights when it is made, so the seed comes before.
            torch.manual_seed(seed)
            model, seconds = experiment.train(make(), STEPS, seed=seed, device=options.device)
            # A learned table has no row past the training length: there is nothing to measure.
            found = measure(model, options.device, length=L if name == "learned" else S * L)
            curves.setdefault(name, []).append(found)
            print(seed, name, f"{seconds:.0f} s", found["twin"][::4], found["back"][::4], flush=True)
        for name, scheme in STRETCHED.items():
            curves.setdefault(name, []).append(measure(model, options.device, scheme))
        experiment.train(INTERPOLATED, TUNING_STEPS, S * L, rows=8, seed=seed, model=model, device=options.device)
        curves.setdefault("RoPE + PI, tuned", []).append(measure(model, options.device))
    save("length", {"schemes": curves, "steps": STEPS, "tuning_steps": TUNING_STEPS, "trained": L, "width": 16},
         options, SEEDS)


if __name__ == "__main__":
    main()
