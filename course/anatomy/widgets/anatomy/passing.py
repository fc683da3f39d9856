"""Runs the small trained model with any parts, collects everything that the picture shows, and judges parts."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...language import shipped
from ..tools.types import Tables
from . import packed
from .places import STAND_INS

Parts = Mapping[str, Callable[..., Tensor]]  # key of a place → function, called as its stand-in

LIKELY = 5  # number of tokens listed at each level
BINS, REACH = 32, 8.0  # bins of the gate's histogram, from -REACH to REACH
# Relative to a result's largest number. Right float32 parts are off by 1e-6, wrong ones by far more than 1e-3.
TOLERANCE = 1e-4


class Broken(Exception):
    """A part failed during a pass. key: its place; why: the error."""

    def __init__(self, key: str, why: BaseException):
        super().__init__(key)
        self.key, self.why = key, why


@functools.cache
def _checkpoint() -> tuple[dict[str, Any], dict[str, Tensor]]:
    c, weights = shipped.checkpoint()
    return dict(c), weights


@functools.cache
def vocabulary() -> tuple[str, ...]:
    """The text of each token of the model; of a part of a letter, its bytes."""
    tokenizer, letters = shipped.tokenizer(), packed.letters()
    hexadecimal = lambda i: " ".join(f"0x{letters.index(letter):02X}" for letter in tokenizer.id_to_token(i))
    told = {i: tokenizer.decode([i]) for i in range(tokenizer.get_vocab_size())}
    return tuple(hexadecimal(i) if "\ufffd" in text else text for i, text in told.items())


@dataclass
class Pass:
    """Results of one pass.

    stream: (2L+1, T, d), the residual stream before the first block and after each half of one. calls: key of a place →
    list of (arguments, result). tables: as ``measured`` describes.
    """

    stream: Tensor
    calls: dict[str, list[tuple[tuple[Any, ...], Tensor]]] = field(default_factory=dict)
    tables: Tables = field(default_factory=dict)


@torch.no_grad()
def measured(parts: Parts, ids: Tensor) -> Pass:
    """Runs a pass over ids (T,) int64 or floating, with stand-ins for missing parts.

    The pass uses the dtype of ids if it is floating, else float32. Tables, for L layers, H heads, D numbers per head:
    att (L, H, T, T); norms (2L+1, T), lengths of the stream; added (2L, T), lengths of each half layer's output;
    before, after (2L+1, T), root mean squares around each norm; gate (L, T, BINS), share of the gate's units in each
    bin; turn (T, D/2), angles by which RoPE rotated the first head's query; may (T, T), 1 where the mask allows;
    lens_i, lens_p (2L+1, T, LIKELY), the likeliest next tokens after each half, and their probabilities.

    Raises Broken if a part fails with any error except KeyboardInterrupt.
    """
    c, weights = _checkpoint()
    dtype = ids.dtype if ids.is_floating_point() else torch.float32
    T, L, H, G = len(ids), c["n_layers"], c["n_heads"], c["n_kv_heads"]
    w = {name: tensor.to(dtype) for name, tensor in weights.items()}
    positions = torch.arange(T)[None]
    found = Pass(torch.empty(0))
    empty = lambda *shape: torch.full(shape, torch.nan, dtype=dtype)
    tables = {
        "att": empty(L, H, T, T),
        "added": empty(2 * L, T),
        "before": empty(2 * L + 1, T),
        "after": empty(2 * L + 1, T),
        "gate": empty(L, T, BINS),
        "turn": empty(T, c["head_dim"] // 2),
    }

    def use(key, *arguments):
        try:
            result = parts[key](*arguments) if key in parts else STAND_INS[key](*arguments)
        except Broken:  # a part inside this one failed
            raise
        except (Exception, SystemExit) as error:
            if key not in parts:
                raise
            raise Broken(key, error) from error
        found.calls.setdefault(key, []).append((arguments, result))
        return result

    def norm(half, name):
        def normed(x):
            y = use("norm", x, w[name], c["eps"])
            tables["before"][half], tables["after"][half] = (z[0].square().mean(-1).sqrt() for z in (x, y))
            return y

        return normed

    def attention(layer):
        at = f"blocks.{layer}.attention"

        def attended(x):
            split = lambda name, n: (x @ w[f"{at}.{name}.weight"].T).unflatten(-1, (n, -1)).transpose(1, 2)
            plain, k, v = split("q_proj", H), split("k_proj", G), split("v_proj", G)
            q, k = use("rope", plain, positions, c["base"]), use("rope", k, positions, c["base"])
            if layer == 0:
                turned, straight = (torch.complex(*y[0, 0].chunk(2, -1)) for y in (q, plain))
                tables["turn"].copy_((turned / straight).angle())
            out = use("attention", q, k, v, mask)
            # With unit vectors as values, the output is the weights; this call is not part of the pass.
            unit = torch.eye(T, dtype=dtype).expand(1, G, T, T)
            try:
                tables["att"][layer] = parts.get("attention", STAND_INS["attention"])(q, k, unit, mask)[0]
            except (Exception, SystemExit) as error:
                raise Broken("attention", error) from error
            y = out.transpose(1, 2).flatten(2) @ w[f"{at}.o_proj.weight"].T
            tables["added"][2 * layer] = y[0].norm(dim=-1)
            return y

        return attended

    def feed_forward(layer):
        matrices = [w[f"blocks.{layer}.ffn.{name}_proj.weight"] for name in ("gate", "up", "down")]

        def fed(x):
            gates = (x[0] @ matrices[0].T).clamp(-REACH, REACH * (1 - 1e-6))
            bins = ((gates + REACH) * (BINS / 2 / REACH)).long()
            tables["gate"][layer] = torch.nn.functional.one_hot(bins, BINS).to(dtype).mean(1)
            y = use("ffn", x, *matrices)
            tables["added"][2 * layer + 1] = y[0].norm(dim=-1)
            return y

        return fed

    mask = use("mask", T)
    x = w["embeddings.tokens.weight"][ids.long()][None]
    levels = [x]
    for layer in range(L):
        for half, (name, sublayer) in enumerate((("attention", attention(layer)), ("ffn", feed_forward(layer)))):
            x = use("residual", x, sublayer, norm(2 * layer + half, f"blocks.{layer}.{name}_norm.weight"))
            levels.append(x)
    last = norm(2 * L, "final_norm.weight")(x)

    found.stream = torch.cat(levels)
    # The lens is a measuring instrument: below the top it always uses the stand-in's norm.
    read = STAND_INS["norm"](found.stream, w["final_norm.weight"], c["eps"])
    read[-1] = last[0]
    likely = (read @ w["embeddings.tokens.weight"].T).softmax(-1).topk(LIKELY)
    tables |= {
        "norms": found.stream.norm(dim=-1),
        "lens_i": likely.indices,
        "lens_p": likely.values,
        "may": mask[0, 0].to(dtype),
    }
    found.tables = {name: table.double().numpy() for name, table in tables.items()}
    return found


def drift(one: Pass, reference: Pass) -> np.ndarray:
    """(2L+1, T) float64: distance of each residual stream from the reference's, relative to the reference's length."""
    away = (one.stream - reference.stream).double().norm(dim=-1)
    return (away / reference.stream.double().norm(dim=-1)).numpy()


def gap(key: str, part: Callable[..., Tensor], reference: Pass) -> float:
    """Difference between a part and the reference, on the arguments of each of the reference's calls.

    Returns the largest difference, relative to the largest number of that result; for a mask, the share of wrong cells.
    Raises Broken if the part fails.
    """
    worst = 0.0
    for arguments, right in reference.calls[key]:
        try:
            with torch.no_grad():
                got = part(*arguments)
        except (Exception, SystemExit) as error:
            raise Broken(key, error) from error
        if right.dtype == torch.bool:
            worst = max(worst, float((got != right).double().mean()))
        else:
            worst = max(worst, float((got - right).abs().max() / right.abs().max()))
    return worst


@functools.lru_cache(maxsize=16)  # a learner may type many texts
def _reference(ids: tuple[int, ...]) -> Pass:
    return measured({}, torch.tensor(ids))


def reference(ids: Tensor) -> Pass:
    """The pass with only stand-ins, in float32; cached."""
    return _reference(tuple(ids.long().tolist()))


def together(parts: Parts, ids: Tensor, wrong: Sequence[str]) -> tuple[Pass, list[str]]:
    """Returns the pass with all these parts, and the places of parts that were left out because something failed.

    wrong: places of parts already known to be wrong. These are left out first, because a right part may fail on the
    numbers of a wrong one.
    """
    kept, failed = dict(parts), list[str]()
    while True:
        try:
            return measured(kept, ids.long()), failed
        except Broken as error:
            out = [key for key in wrong if key in kept] or [error.key]
            failed += out
            kept = {key: part for key, part in kept.items() if key not in out}
