"""CacheStepper: a text read and written chunk by chunk; what each step computes, reads and stores."""

import numpy as np
import torch
import traitlets as t

from .base import TableWidget
from .calls import WrongOutput
from .figures import BLUE, GRAY, VERMILLION, new_figure, number, plain

LENGTH, WINDOW, BLOCK = 12, 4, 4
PLANS = ((6, 1, 1, 1, 1, 1, 1), (1,) * 12, (12,), (4, 4, 4), (2, 3, 1, 5, 1))
PLAN_NAMES = ("prompt of 6, then one by one", "one by one", "all at once", "chunks of 4", "chunks of 2, 3, 1, 5, 1")
STORES = ("one buffer", f"rolling window of {WINDOW}", f"pages of {BLOCK}")
STEPS = max(len(p) for p in PLANS)
TOLERANCE = 1e-4


class CacheStepper(TableWidget):
    """Live picture of ``cached_attention(q, k, v, past=None)``, which returns (result, (all keys, all values)).

    The function is fed 12 tokens by each of the PLANS, q, k and v (1, 2, T, 4) float32; each chunk's result is compared
    with the full forward pass of the recording. Traits plan and store are indices, step counts chunks. The pictures of
    the window and of the pages show where tokens lie; the comparison is that of the one buffer.
    Raises as TableWidget says.
    """

    script, recording, function_name = "stepper.js", "stepper", "cached_attention"
    controls = ("plan", "store", "step")

    plan = t.Int(0, min=0, max=len(PLANS) - 1).tag(sync=True)
    store = t.Int(0, min=0, max=len(STORES) - 1).tag(sync=True)
    step = t.Int(1, min=0, max=STEPS - 1).tag(sync=True)

    def __init__(self, cached_attention=None, **state):
        super().__init__(cached_attention, **state)

    @classmethod
    def measure(cls, fn, inputs):
        """out (plans, 1, 2, 12, 4): the results of all chunks, joined."""
        return {"out": np.stack([_feed(fn, inputs, plan) for plan in PLANS])}

    def derive(self, mine, reference, inputs):
        gaps = np.zeros((len(PLANS), STEPS))
        full = reference["out"][PLANS.index((LENGTH,))]
        for p, plan in enumerate(PLANS):
            ends = np.cumsum(plan)
            for s, end in enumerate(ends):
                rows = slice(end - plan[s], end)
                gaps[p, s] = np.abs(mine["out"][p][:, :, rows] - full[:, :, rows]).max()
        return {"gap": gaps}

    def describe(self, inputs):
        return {"title": "Step by step through a cache", "length": LENGTH, "window": WINDOW, "block": BLOCK,
                "plans": [list(p) for p in PLANS], "planNames": list(PLAN_NAMES), "stores": list(STORES),
                "tolerance": TOLERANCE}

    def figures(self):
        """Of the present step: start, stop, read (keys that are read), stored (tokens kept), gap."""
        plan = PLANS[self.plan]
        step = min(self.step, len(plan) - 1)
        stop = sum(plan[:step + 1])
        start = stop - plan[step]
        first = max(0, start - WINDOW + 1) if self.store == 1 else 0
        gap = np.frombuffer(self.tables["gap"], "<f4").reshape(len(PLANS), STEPS)[self.plan, step]
        return {"start": start, "stop": stop, "read": stop - first, "first": first, "gap": float(gap),
                "stored": min(stop, WINDOW) if self.store == 1 else stop}

    @property
    def alt(self):
        n = self.figures()
        good = "equals" if n["gap"] <= TOLERANCE else "differs from"
        return (f"Plan {PLAN_NAMES[self.plan]}, {STORES[self.store]}: this step computes tokens {n['start']} to "
                f"{n['stop'] - 1}, reads {n['read']} keys and leaves {n['stored']} stored. The chunk's result by "
                f"{self.whose} cached_attention {good} the full forward pass (largest difference {number(n['gap'])}).")

    def figure(self):
        fig, n = new_figure(8.4, 1.6), self.figures()
        axes = fig.add_subplot()
        for p in range(LENGTH):
            color = VERMILLION if n["start"] <= p < n["stop"] else BLUE if n["first"] <= p < n["stop"] else "white"
            axes.add_patch(_square(p, color))
            axes.text(p + 0.5, 0.5, str(p), ha="center", va="center", fontsize=9,
                      color="black" if color == "white" else "white")
        axes.set(xlim=(0, LENGTH), ylim=(0, 1), yticks=[], xticks=[])
        plain(axes, f"computed: {n['start']} to {n['stop'] - 1} (red), read from the cache: blue")
        return fig


def _square(p, color):
    from matplotlib.patches import Rectangle
    return Rectangle((p + 0.05, 0.05), 0.9, 0.9, facecolor=color, edgecolor=GRAY)


def _feed(fn, inputs, plan):
    past, out = None, []
    for q, k, v in zip(*(inputs[name].clone().split(plan, dim=2) for name in "qkv"), strict=True):
        result = fn(q, k, v, past)
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise WrongOutput("cached_attention must return a result and the pair (keys, values).")
        piece, past = result
        if not isinstance(piece, torch.Tensor) or piece.shape != v.shape:
            raise WrongOutput(f"cached_attention must return a result of shape {tuple(v.shape)} here.")
        out.append(piece.detach().cpu())
    return torch.cat(out, dim=2).numpy()
