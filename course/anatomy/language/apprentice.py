"""A learner's own model that goes on learning: some minutes at a time, today or next week.

The file ``young-model.pt`` beside the notebook keeps weights, optimizer and curve, so that no minute is lost.
"""

import io
import time
from pathlib import Path

import torch
from torch import Tensor, nn

from ..system import files
from ..system.translation import _
from . import training

STEPS, ROWS, CONTEXT, RATE, WARMUP = 1800, 8, 128, 4e-3, 100  # half as many steps as the shipped model had
EVERY = 15.0  # seconds between two lines of output
Point = tuple[int, float]  # steps done, bits per byte of the pages kept back


class Apprentice:
    """A model in training, continued from its file if there is one.

    Args:
        model: maps ids (B, T) int64 to logits (B, T, vocab), alone or first in a tuple; trained in place.
        ids: (N,) int64, its text. page, n_bytes: (M,) int64, pages kept back, and the bytes of page[1:].
        path: the file. steps: in all, after which the learning rate is 0.
    """

    def __init__(
        self,
        model: nn.Module,
        ids: Tensor,
        page: Tensor,
        n_bytes: int,
        path: Path | str = "young-model.pt",
        steps: int = STEPS,
    ):
        self.model, self.ids, self.page, self.n_bytes = model, ids, page, n_bytes
        self.path, self.steps = Path(path), steps
        self.adam, self.done, self.curve = training.optimizer(model, RATE), 0, list[Point]()
        if self.path.exists():
            self._continue()

    def _continue(self) -> None:
        """Loads what the file keeps. A damaged file, or one of another model, stays as it is, and another is begun."""
        before = {name: w.clone() for name, w in self.model.state_dict().items()}
        try:
            kept = torch.load(self.path, weights_only=True)
            done, curve = int(kept["done"]), [(int(step), float(bits)) for step, bits in kept["curve"]]
            self.model.load_state_dict(kept["model"])
            self.adam.load_state_dict(kept["adam"])
        except Exception as problem:
            self.model.load_state_dict(before)
            self.adam = training.optimizer(self.model, RATE)
            old, self.path = self.path, _free(self.path)
            why = str(problem).splitlines()[0][:120]
            print(
                _("{old} does not fit this model ({why}). A new one is begun, and kept in {new}.").format(
                    old=old.name, new=self.path.name, why=why
                )
            )
        else:
            self.done, self.curve = done, curve

    def go_on(self, minutes: float) -> None:
        """Trains for some minutes, or until all steps are done or you interrupt it (■), and keeps the result."""
        end, told = time.monotonic() + 60 * minutes, time.monotonic()
        try:
            while self.done < self.steps and time.monotonic() < end:
                self._step()
                if time.monotonic() - told > EVERY:
                    self._tell()
                    told = time.monotonic()
        except KeyboardInterrupt:
            print(_("Stopped. Run the cell again to go on."))
        self.model.eval()
        if not self.curve or self.curve[-1][0] < self.done:
            self._tell()
        if minutes > 0:
            self._keep()

    @training.one_thread
    def _step(self) -> None:
        self.model.train()
        # Seeded by the step, so a continued run reads what an uninterrupted one would have read.
        generator = torch.Generator().manual_seed(self.done)
        x, y = training.batch(self.ids, ROWS, CONTEXT, generator)
        rate = training.learning_rate(self.done, self.steps, RATE, min(WARMUP, self.steps))
        training.update(self.model, self.adam, x, y, rate)
        self.done += 1

    def _tell(self) -> None:
        self.model.eval()
        bits = training.bits_per_byte(self.model, self.page, self.n_bytes, CONTEXT)
        self.curve.append((self.done, bits))
        print(_("step {done} of {steps}: {bits:.2f} bits per byte").format(done=self.done, steps=self.steps, bits=bits))

    def _keep(self) -> None:
        """Writes the file as a whole or not at all."""
        held = io.BytesIO()
        state = {"model": self.model.state_dict(), "adam": self.adam.state_dict()}
        torch.save({**state, "done": self.done, "curve": self.curve}, held)
        files.replace(self.path, held.getvalue())


def _free(path):
    """The first name of ``young-model-2.pt``, ``young-model-3.pt`` and so on that no file has."""
    number = 2
    while (new := path.with_stem(f"{path.stem}-{number}")).exists():
        number += 1
    return new
