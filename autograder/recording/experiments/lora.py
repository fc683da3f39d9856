"""Records ``lora.json``: a small trained model learns two new tasks, with LoRA of several ranks and with all weights.

``python -m autograder.recording.experiments.lora [--device cuda]``; about fifteen minutes on one CPU core. Varies two
tasks, two rates, and the frozen model: the same model untrained is the control that shows what training contributed.
Some runs of the task that needs a new skill are five times as long, at the higher rate.
"""

import copy
import dataclasses
from collections.abc import Sequence
from functools import cache
from itertools import product
from statistics import mean

import torch
from anatomy.experiments.lora import RANKS, TASKS, adapted, given, train, trainable
from torch import nn

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.lora import LoRALinear

ABOUT = About(seconds=120)
STARTS = ("trained", "random")
FULL = 0  # instead of a rank: every weight is trained
LACKED = "farther"  # the task that needs a skill which the trained model lacks


@dataclasses.dataclass(frozen=True)
class Setting:
    """Ranks, rates of LoRA and of full training, steps of adapting and before it, number of seeds, longer runs."""

    ranks: tuple[int, ...] = (*RANKS, FULL)
    rates: tuple[float, ...] = (3e-3, 1e-2)
    full_rates: tuple[float, ...] = (1e-3, 3e-3)
    steps: int = 300
    before: int = 400
    seeds: int = 3
    longer: int = 1500
    longer_ranks: tuple[int, ...] = (1, 2, FULL)


SIZES = {"small": Setting(), "large": Setting(steps=600, before=600, seeds=3)}


def layer(d_in: int, d_out: int, r: int, alpha: float) -> LoRALinear:
    """The reference, built from sizes instead of a layer, with the call signature of the course's class."""
    return LoRALinear(nn.Linear(d_in, d_out), r, alpha)


@cache
def _given(seed, is_trained, steps, device):
    return given(seed, is_trained, steps, device)


def measure(task: str, start: str, rank: int, rate: float, seed: int, steps: int, s: Setting, device: str) -> Row:
    """One run on a copy of the given model, which is the same for all runs of a seed."""
    model = _given(seed, start == "trained", s.before, device)
    torch.manual_seed(100 + seed)
    model = adapted(model, layer, rank) if rank else copy.deepcopy(model)
    loss, accuracy = train(model, task, steps, rate, 50 + seed, device)
    return {
        "task": task,
        "start": start,
        "rank": rank,
        "rate": rate,
        "seed": seed,
        "trained": trainable(model),
        "loss": round(loss, 4),
        "accuracy": round(accuracy, 4),
    }


def facts(data: Data) -> Facts:
    """``renamed.trained.r2.mean``, ``.lowest``, ``.highest``: accuracy at the better of the two rates; also ``full``.
    ``longer``: the same for the task that needs a new skill, with more steps, at the higher rate."""
    found: Facts = {"seeds": seeds(data), "steps": data["setting"]["steps"]}
    for task, start in product(TASKS, STARTS):
        here = found.setdefault(task, {}).setdefault(start, {})
        for rank in sorted({r["rank"] for r in data["rows"]}):
            here[f"r{rank}" if rank else "full"] = _span(best(data, task, start, rank))
    found["longer"] = {"steps": data["setting"]["longer"]}
    for start, rank in product(STARTS, sorted({r["rank"] for r in data["longer"]})):
        accuracies = [r["accuracy"] for r in data["longer"] if (r["start"], r["rank"]) == (start, rank)]
        found["longer"].setdefault(start, {})[f"r{rank}" if rank else "full"] = _span(accuracies)
    counts = {r["rank"]: r["trained"] for r in data["rows"]}
    found["parameters"] = {f"r{r}" if r else "full": n for r, n in counts.items()}
    return found


def _span(accuracies: list[float]) -> dict[str, float]:
    return {"mean": mean(accuracies), "lowest": min(accuracies), "highest": max(accuracies)}


def best(data: Data, task: str, start: str, rank: int) -> list[float]:
    """Accuracies of all seeds, at the rate whose mean is higher."""
    rows = [r for r in data["rows"] if (r["task"], r["start"], r["rank"]) == (task, start, rank)]
    by_rate = [[r["accuracy"] for r in rows if r["rate"] == rate] for rate in sorted({r["rate"] for r in rows})]
    return max(by_rate, key=mean)


def controls(data: Data) -> dict[str, int]:
    """Name of a control → number of recorded values."""
    count = lambda key: len({r[key] for r in data["rows"]})
    return {"what is frozen": count("start"), "task": count("task"), "rank": count("rank"), "rate": 2, "steps": 2}


def seeds(data: Data) -> int:
    """Smallest number of seeds of any setting."""
    return fewest_seeds(data["rows"], "task", "start", "rank", "rate")


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = [
        (task, start, rank, rate, seed)
        for task, start, rank in product(TASKS, STARTS, s.ranks)
        for rate in (s.rates if rank else s.full_rates)
        for seed in range(s.seeds)
    ]
    higher = lambda rank: max(s.rates if rank else s.full_rates)
    for_longer = [run for run in todo if run[0] == LACKED and run[2] in s.longer_ranks and run[3] == higher(run[2])]
    kept = Rows("lora", options, dataclasses.asdict(s), len(todo) + len(for_longer))
    rows = [
        kept.row("{}, {}, rank {}, rate {}, seed {}".format(*run), lambda: measure(*run, s.steps, s, options.device))
        for run in todo
    ]
    longer = [
        kept.row(
            "{}, {}, rank {}, rate {}, seed {}, longer".format(*run),
            lambda: measure(*run, s.longer, s, options.device),
        )
        for run in for_longer
    ]
    save("lora", {"rows": rows, "longer": longer, "setting": dataclasses.asdict(s)}, options, range(s.seeds))
    kept.finish()


if __name__ == "__main__":
    main()
