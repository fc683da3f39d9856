"""One training run, which can be interrupted: it saves its whole state at regular intervals.

Interruptions do not change the result: batches come from a generator that is part of the state.
"""

import hashlib
import io
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from anatomy.language.training import batch, bits_per_byte, learning_rate, optimizer, update
from anatomy.system import files
from torch import Tensor

from autograder.recording.language_model.model import model
from autograder.recording.references import device_facts
from autograder.reference.language.bpe import BytePairEncoding
from autograder.reference.models.decoder import CausalDecoder
from autograder.reference.models.llama import LlamaConfig


@dataclass(frozen=True)
class Training:
    """Sizes of the model and settings of its training: ``rows`` sequences of ``context`` tokens per step.

    points: number of points of the loss curve, each measured on ``probe`` tokens of both parts of the text.
    """

    merges: int = 1024
    d_model: int = 160
    n_layers: int = 4
    n_heads: int = 4
    n_kv_heads: int = 2
    d_ff: int = 432
    context: int = 128
    rows: int = 8
    steps: int = 3600
    warmup: int = 100
    rate: float = 4e-3
    points: int = 25
    probe: int = 16_385

    def sizes(self) -> LlamaConfig:
        """Configuration of the model."""
        return LlamaConfig(256 + self.merges, self.d_model, self.n_layers, self.n_heads, self.n_kv_heads, self.d_ff)

    def measured(self) -> list[int]:
        """The steps at which the curve has a point: close together at first, the last one at the end."""
        last = max(1, self.points - 1)
        return sorted({round(self.steps * (i / last) ** 2) for i in range(self.points)} | {self.steps})


@dataclass(frozen=True)
class Text:
    """Ids of the two parts of the text, and the tokenizer that made them."""

    tokenizer: BytePairEncoding
    train: Tensor  # (N,)
    held_out: Tensor  # (M,)

    @classmethod
    def encoded(cls, tokenizer: BytePairEncoding, train: str, held_out: str) -> "Text":
        """Encodes two texts."""
        return cls(tokenizer, torch.tensor(tokenizer.encode(train)), torch.tensor(tokenizer.encode(held_out)))

    def bits(self, trained: CausalDecoder, ids: Tensor, context: int, device: str) -> float:
        """Bits per byte on all of ``ids`` but the first token; the bytes are counted exactly."""
        n_bytes = sum(len(self.tokenizer.bytes[token]) for token in ids[1:].tolist())
        return bits_per_byte(trained, ids.to(device), n_bytes, context)


class Run:
    """A training run with one seed. path: file of its state, which lets another process continue the run."""

    EVERY = 200  # steps between saved states

    def __init__(self, s: Training, seed: int, text: Text, device: str, path: Path):
        self.s, self.text, self.device, self.path = s, text, device, path
        self.model = model(s.sizes(), seed).to(device)
        self.model.head.weight = self.model.tokens.weight  # keep them tied, however the device moves parameters
        self.adam = optimizer(self.model, s.rate)
        self.generator = torch.Generator().manual_seed(seed)
        self.step, self.seconds = 0, 0.0
        self.curve: list[dict[str, float]] = []
        digest = hashlib.sha256(json.dumps([text.train.tolist(), text.held_out.tolist()]).encode()).hexdigest()
        self.head = json.dumps([device_facts(device), torch.__version__, asdict(s), seed, digest], sort_keys=True)
        self._resume()

    def go_on(self, steps: int | None = None) -> "Run":
        """Trains until the end, or for ``steps`` more steps."""
        end = self.s.steps if steps is None else min(self.s.steps, self.step + steps)
        self._measure()
        while self.step < end:
            start = time.process_time()
            x, y = batch(self.text.train, self.s.rows, self.s.context, self.generator)
            rate = learning_rate(self.step, self.s.steps, self.s.rate, self.s.warmup)
            update(self.model, self.adam, x.to(self.device), y.to(self.device), rate)
            self.step += 1
            self._measure()
            self.seconds += time.process_time() - start
            if self.step == end or self.step % self.EVERY == 0:
                self._keep()
        return self

    def _measure(self):
        """Adds a point to the curve if one is due."""
        if self.step not in self.s.measured() or self.step in [point["step"] for point in self.curve]:
            return
        self.model.eval()
        bits = lambda ids: round(self.text.bits(self.model, ids[: self.s.probe], self.s.context, self.device), 4)
        parts = {"train": self.text.train, "held_out": self.text.held_out}
        self.curve.append({"step": self.step} | {name: bits(ids) for name, ids in parts.items()})
        self.model.train()
        print(f"  {self.curve[-1]}, {self.seconds:.0f} s", flush=True)

    def _state(self) -> dict[str, Any]:
        return {
            "head": self.head,
            "model": self.model.state_dict(),
            "adam": self.adam.state_dict(),
            "generator": self.generator.get_state(),
            "step": self.step,
            "seconds": self.seconds,
            "curve": self.curve,
        }

    def _keep(self):
        buffer = io.BytesIO()
        torch.save(self._state(), buffer)
        files.replace(self.path, buffer.getvalue())

    def _resume(self):
        if not self.path.exists():
            return
        state = torch.load(self.path, map_location="cpu", weights_only=True)
        if state["head"] != self.head:  # a different device, torch, setting or text: a different run
            return
        self.model.load_state_dict(state["model"])
        self.adam.load_state_dict(state["adam"])
        self.generator.set_state(state["generator"])
        self.step, self.seconds, self.curve = state["step"], state["seconds"], state["curve"]
        print(f"  goes on after step {self.step}: {self.path.name}", flush=True)
