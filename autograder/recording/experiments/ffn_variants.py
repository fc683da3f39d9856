"""Records ``ffn_variants.json``: feed-forward variants at equal parameters, five seeds.

``python -m autograder.recording.experiments.ffn_variants [--device cuda]``. Each variant is trained at
three learning rates, because the best rate differs: at a single one, the comparison would measure the rate.
"""

import dataclasses

from anatomy.experiments import ffn_variants as experiment
from torch import nn

from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import activations
from autograder.reference.ffn import FeedForward, GatedFeedForward, matched_hidden_size


@dataclasses.dataclass(frozen=True)
class Setting:
    """model: sizes and training; learning rates to choose from; number of seeds."""

    model: experiment.Setting
    rates: tuple
    seeds: int = 5


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

SIZES = {"small": Setting(experiment.LAPTOP, (6e-3, 1.5e-2, 4e-2)),
         "large": Setting(dataclasses.replace(experiment.LARGE, steps=800), (5e-4, 1e-3, 2e-3))}


def measure(name, lr, s, device):
    """One variant at one rate, all seeds."""
    runs = [experiment.train(VARIANTS[name], seed, dataclasses.replace(s.model, lr=lr), device)[1]
            for seed in range(s.seeds)]
    return {"variant": name, "lr": lr, "losses": [round(r["loss"], 5) for r in runs],
            "parameters": runs[0]["parameters"]}


def main(argv=None, setting=None, variants=tuple(VARIANTS)):
    """Command line; the other arguments are for tests."""
    options = arguments(__doc__.splitlines()[0]).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = [(name, lr) for name in variants for lr in s.rates]
    kept = Rows("ffn_variants", options, dataclasses.asdict(s), len(todo))
    rows = [kept.row(f"{name} at rate {lr:g}", lambda: measure(name, lr, s, options.device)) for name, lr in todo]
    facts = {"size": options.setting, **dataclasses.asdict(s.model)}
    save("ffn_variants", {"setting": facts, "rows": rows}, options, range(s.seeds))
    kept.finish()


if __name__ == "__main__":
    main()
