"""Records ``assets/experiments/ffn_variants.json``: feed-forward variants at equal parameters, several seeds.

``python -m autograder.recording.experiments.ffn_variants [--device cuda] [--large]``. Each variant is trained at
three learning rates, because the best rate differs: at a single one, the comparison would measure the rate.
"""

import dataclasses

from anatomy.experiments import ffn_variants as experiment
from torch import nn

from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import activations
from autograder.reference.ffn import FeedForward, GatedFeedForward, matched_hidden_size

SEEDS = range(5)
RATES = {"laptop": (6e-3, 1.5e-2, 4e-2), "large": (5e-4, 1e-3, 2e-3)}


class BothActivated(GatedFeedForward):
    """A gated layer whose value branch is activated as well: the notes say that this must be worse."""

    def forward(self, x):
        return self.down_proj(self.activation(self.gate_proj(x)) * self.activation(self.up_proj(x)))


def plain(activation):
    """Two matrices of width 4·d_model, no bias (so that parameters match those of the gated layers)."""
    return lambda d: FeedForward(d, 4 * d, activation, bias=False)


def gated(activation, layer=GatedFeedForward):
    """Three matrices of the matched width."""
    return lambda d: layer(d, matched_hidden_size(d), activation)


VARIANTS = {
    "ReLU": plain(activations.relu), "GELU": plain(nn.functional.gelu), "SiLU": plain(nn.functional.silu),
    "squared ReLU": plain(activations.squared_relu), "GLU": gated(activations.sigmoid),
    "ReGLU": gated(activations.relu), "GeGLU": gated(nn.functional.gelu), "SwiGLU": gated(nn.functional.silu),
    "bilinear": gated(activations.identity), "both activated": gated(nn.functional.silu, BothActivated),
}


def main():
    """Command line."""
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="the setting for a GPU")
    options = parser.parse_args()
    prepare(options.device)
    size = "large" if options.large else "laptop"
    base = experiment.LARGE if options.large else experiment.LAPTOP
    rows = []
    for name, make in VARIANTS.items():
        for lr in RATES[size]:
            runs = [experiment.train(make, seed, dataclasses.replace(base, lr=lr), options.device)[1]
                    for seed in SEEDS]
            rows.append({"variant": name, "lr": lr, "losses": [round(r["loss"], 5) for r in runs],
                         "parameters": runs[0]["parameters"]})
            print(name, lr, rows[-1]["losses"], flush=True)
    save("ffn_variants", {"setting": {"size": size, **dataclasses.asdict(base)}, "rows": rows}, options, SEEDS)


if __name__ == "__main__":
    main()
