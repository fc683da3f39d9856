"""Models as the exercises on serving hand them over."""

from autograder.judge.spec import Source
from autograder.reference.serving import Served

Model = dict[str, int]
FIELDS = Served._fields


def served(model: Model) -> Served:
    """The reference's form of a model."""
    return Served(**{name: model[name] for name in FIELDS})


def draw_model(g: Source) -> Model:
    """A random decoder with shared keys: 2 to 9 billion weights."""
    kv = g.choice((2, 4, 8))
    return {
        "weights": g.integer(2_000, 9_000) * 1_000_003,
        "n_layers": g.integer(20, 60),
        "n_heads": kv * g.choice((2, 3, 4)),
        "n_kv_heads": kv,
        "head_dim": g.choice((64, 96, 128)),
    }


def device(g: Source) -> tuple[float, float]:
    """(bytes per second, FLOP per second) of a random chip whose ridge lies at 40 to 300 FLOPs per byte."""
    bandwidth = g.number(0.5, 4) * 1e12
    return bandwidth, bandwidth * g.number(40, 300, 1)
