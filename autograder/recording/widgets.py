"""Writes ``assets/recordings/widgets``: for each widget its inputs and the reference's tables, and one manifest.

``python -m autograder.recording.widgets [--device cuda] [--out assets/recordings/widgets]``. The inputs are drawn
once, here, so that the learner's package needs no random numbers and both functions see the same values. The
references run on the device in float64 and are then rounded. A file whose numbers differ by rounding only stays as it
is, so that another processor changes no bytes (``--fresh`` writes all anew).
"""

import argparse
import hashlib
import json
import math
from pathlib import Path

import torch
from anatomy.widgets import (
    activation,
    attention,
    cache,
    gradient,
    mask,
    mix,
    norm,
    objective,
    permutation,
    position,
    rope,
    sparse,
    stability,
    stepper,
    wavelength,
)
from safetensors.numpy import load, save
from torch.utils._pytree import tree_map

from autograder import ROOT
from autograder.exercises.u00_start_here import weighted_average
from autograder.exercises.u07_masks_and_objectives.blanks import blank_infilling
from autograder.exercises.u08_kv_cache_and_gqa.stores import cached_attention, rotary_step
from autograder.recording.keep import STEP, close, middle, same_device
from autograder.recording.references import device_facts, made
from autograder.reference import activations, masks, objectives, residual
from autograder.reference import sparse as patterns
from autograder.reference import stability as stable
from autograder.reference.attention import scaled_dot_product_attention
from autograder.reference.gqa import kv_bytes_per_token
from autograder.reference.norms import layer_norm, rms_norm
from autograder.reference.placement import deepnorm_decoder_only
from autograder.reference.positions.alibi import alibi_bias
from autograder.reference.positions.deberta import deberta_scores
from autograder.reference.positions.learned import LearnedPositions
from autograder.reference.positions.shaw import shaw_index
from autograder.reference.positions.sinusoidal import shift_matrix, sinusoid, sinusoid_half
from autograder.reference.positions.t5_buckets import t5_relative_bucket
from autograder.reference.positions.transformer_xl import transformer_xl_scores
from autograder.reference.rope import apply_rope, rope_frequencies

SEED = 20210420


def rope_inputs(generator):
    """q and k for each D. In every plane q has length 1 and k 0.8; k leads or trails q by up to 1.2 rad.

    The lead is never 0 in all planes: with k parallel to q the score would be even in m − n, and a rotation in
    the wrong direction could not be told from a right one.
    """
    inputs = {}
    for D in rope.DIMS:
        angle = 2 * math.pi * torch.rand(D // 2, generator=generator, dtype=torch.float64)
        lead = 1.2 * (2 * torch.rand(D // 2, generator=generator, dtype=torch.float64) - 1)
        for name, length, a in (("q", 1.0, angle), ("k", 0.8, angle + lead)):
            inputs[f"{name}{D}"] = length * torch.stack([a.cos(), a.sin()], dim=-1).flatten()
    return inputs


def mix_inputs(generator):
    """Three words' numbers, chosen to be easy to average in one's head."""
    return {"values": torch.tensor([[1.0], [5.0], [9.0]])}


def _words(sentences, generator, width):
    """word → embedding (width,), standard normal, drawn in the order in which the words first appear."""
    vocabulary = dict.fromkeys(word for sentence in sentences for word in sentence)
    return {word: _normal(generator, width) for word in vocabulary}


def _normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def attention_inputs(generator):
    """q and k (sentences, heads, T, D): entries near unit variance, so that q·k has a variance near D."""
    D = attention.D
    table = _words(attention.SENTENCES, generator, D)
    x = torch.stack([torch.stack([table[word] for word in s]) for s in attention.SENTENCES])[:, None]
    w_q, w_k = (_normal(generator, attention.HEADS, D, D) / math.sqrt(D) for _ in range(2))
    return {"q": x @ w_q, "k": x @ w_k}


def permutation_inputs(generator):
    """x and positions (T, d_model), and three projections."""
    width = permutation.D_MODEL
    table = _words([permutation.WORDS], generator, width)
    shapes = {"w_q": width, "w_k": width, "w_v": permutation.D_V}
    return {
        "x": torch.stack([table[word] for word in permutation.WORDS]),
        "positions": _normal(generator, permutation.T, width),
        **{name: _normal(generator, width, out) / math.sqrt(width) for name, out in shapes.items()},
    }


def no_inputs(generator):
    """Nothing to draw: the settings are all there is."""
    return {}


def frequencies_float64(D, base):
    """The reference's frequencies before they are rounded to float32."""
    return rope_frequencies(D, base, dtype=torch.float64)


def activation_inputs(generator):
    """x: the points of the curves. pre (tokens, units): each unit's inputs scatter by 1 around a mean of its own."""
    pre = _normal(generator, activation.TOKENS, activation.UNITS) + _normal(generator, activation.UNITS)
    reach, points = activation.REACH, activation.POINTS
    return {"x": torch.linspace(-reach, reach, points, dtype=torch.float64), "pre": pre}


ACTIVATIONS = {name: getattr(activations, name) for name in activation.ACTIVATIONS} | {
    "sigmoid_prime": activations.sigmoid_derivative,
    "silu_prime": activations.silu_derivative,
    "gelu_prime": activations.gelu_derivative,
}


def norm_inputs(generator):
    """One vector of mean 0.5, far enough from 0 that RMSNorm and LayerNorm can be told apart at the start."""
    x = _normal(generator, norm.D)
    return {"x": 0.5 + x - x.mean()}


def stepper_inputs(generator):
    """q and k (1, 1, T, D) for attention without positions, and pairs of numbers for RoPE with one plane."""
    sizes = {"q": 4, "k": 4, "rotary_q": 2, "rotary_k": 2}
    return {name: _normal(generator, 1, 1, stepper.LENGTH, D) for name, D in sizes.items()}


def sparse_inputs(generator):
    """draws: a number for each pair; base: BigBird's window and global word; band: the hybrid's windows."""
    T = sparse.T
    return {
        "draws": torch.rand(T, T, generator=generator),
        "base": patterns.longformer_mask(T, 3, [0]),
        "band": torch.stack([patterns.local_causal_mask(T, w) for w in sparse.WINDOWS]),
    }


PATTERNS = {name: getattr(patterns, name) for name in sparse.SparseExplorer.names if hasattr(patterns, name)} | {
    "random_mask": patterns.smallest_draws,
    "hybrid_layers": patterns.interleaved_layers,
}


def gradient_inputs(generator):
    """α and β of DeepNorm for the depths that are measured live; the weights come from seeds in the measurement."""
    return {"scales": torch.tensor([deepnorm_decoder_only(n) for n in gradient.LIVE_DEPTHS])}


def _walk(generator, rows, width):
    """A random walk from row to row, so that neighboring distances have similar vectors, as trained tables do."""
    return _normal(generator, rows, width).cumsum(0) / math.sqrt(rows)


def stability_inputs(generator):
    """A row of scores that are easy to read; a query of length √D and keys that score exactly so with it. steps and
    growth: the largest score of a recorded run without remedy, whose scores grow at every measured step or so."""
    data = json.loads((ROOT / "assets" / "experiments" / "loss_spike.json").read_text(encoding="utf-8"))
    run = next(r for r in data["rows"] if (r["remedy"], r["seed"]) == ("nothing", 0))
    growth = [float(v) for v in run["score"].split()][::2]
    row = torch.tensor([2.0, 1.5, 1.0, 0.5, 0.0, -0.5, -1.0, -2.0], dtype=torch.float64)
    q, around = _normal(generator, 1, stability.D), _normal(generator, stability.KEYS, stability.D)
    q = q * math.sqrt(stability.D) / q.norm()
    across = around - (around @ q.T) * q / stability.D  # the part of each key that the query does not see
    return {
        "row": row,
        "q": q,
        "k": across + row[:, None] * q / math.sqrt(stability.D),
        "steps": torch.arange(len(growth), dtype=torch.float64) * 2 * data["every"],
        "growth": torch.tensor(growth),
    }


def position_inputs(generator):
    """Tables, projections and words for every scheme; ``look`` is W_Q of a head that looks 3 back."""
    T, width, D = position.T, position.WIDTH, position.D
    fresh = _normal(generator, T, width)
    near = torch.softmax(-((torch.arange(T)[:, None] - torch.arange(T)).double() ** 2) / 16, -1)
    smooth = near @ fresh
    distances = sinusoid_half(torch.arange(T - 1, -T, -1).double(), width)
    return {
        "w_q": _normal(generator, width, width) / math.sqrt(width),
        "look": shift_matrix(3, width),
        "w_k": _normal(generator, width, width) / math.sqrt(width),
        "fresh": fresh / math.sqrt(width),
        "smooth": smooth / smooth.norm(dim=-1).mean(),
        "word": _normal(generator, D),
        "v": _normal(generator, 1, D),
        "shaw_table": _walk(generator, 2 * position.LARGEST_CLIP + 1, D),
        "r": distances @ _normal(generator, width, D) / math.sqrt(width),
        "t5_s": _walk(generator, position.BUCKETS, 4),
        "t5_c": _walk(generator, position.BUCKETS, 4),
        "kr": _walk(generator, 2 * position.DEBERTA_K, D),
        "qr": _walk(generator, 2 * position.DEBERTA_K, D),
    }


POSITIONS = {
    "sinusoid": sinusoid,
    "LearnedPositions": LearnedPositions,
    "shaw_index": shaw_index,
    "transformer_xl_scores": transformer_xl_scores,
    "t5_relative_bucket": t5_relative_bucket,
    "deberta_scores": deberta_scores,
    "alibi_bias": alibi_bias,
}


def objective_inputs(generator):
    """Draws of every example: which tokens BERT selects, which two spans T5 and GLM hide, GLM's order."""
    n, T = objective.DRAWS, objective.T
    spans, order = [], []
    while len(spans) < n:
        drawn, shuffled = objectives.sample_glm_spans(T, generator, ratio=0.36, mean_span=2.0)
        if len(drawn) == 2:  # one would have no order, three are too long for the page
            spans.append(drawn)
            order.append(shuffled)
    chosen = objectives.select_exact(torch.rand(n, T, generator=generator), torch.zeros(n, T).bool(), 0.3)
    low = len(objective.SPECIALS)
    return {
        "spans": torch.tensor(spans),
        "order": torch.tensor(order),
        "selected": chosen,
        "u": torch.rand(n, T, generator=generator),
        "random": torch.randint(low, low + len(objective.WORDS), (n, T), generator=generator),
    }


MASKS = {name: getattr(masks, name) for name in mask.MaskExplorer.names if hasattr(masks, name)} | {
    "blank_infilling": blank_infilling
}
OBJECTIVES = {name: getattr(objectives, name) for name in objective.ObjectiveLab.names} | {
    "blank_infilling": blank_infilling
}

# file stem → (widget, inputs, reference); a widget of several functions takes a dict of them
WIDGETS = {
    "activation": (activation.ActivationExplorer, activation_inputs, ACTIVATIONS),
    "attention": (attention.AttentionExplorer, attention_inputs, scaled_dot_product_attention),
    "cache": (cache.CacheCalculator, no_inputs, kv_bytes_per_token),
    "gradient": (
        gradient.GradientFlowExplorer,
        gradient_inputs,
        {name: getattr(residual, name) for name in gradient.GradientFlowExplorer.names},
    ),
    "mask": (mask.MaskExplorer, no_inputs, MASKS),
    "mix": (mix.MixExplorer, mix_inputs, weighted_average),
    "norm": (norm.NormExplorer, norm_inputs, {"layer_norm": layer_norm, "rms_norm": rms_norm}),
    "objective": (objective.ObjectiveLab, objective_inputs, OBJECTIVES),
    "permutation": (permutation.PermutationExplorer, permutation_inputs, scaled_dot_product_attention),
    "position": (position.PositionExplorer, position_inputs, POSITIONS),
    "rope": (rope.RopeExplorer, rope_inputs, apply_rope),
    "sparse": (sparse.SparseExplorer, sparse_inputs, PATTERNS),
    "stability": (
        stability.SoftmaxStabilityExplorer,
        stability_inputs,
        {name: getattr(stable, name) for name in stability.SoftmaxStabilityExplorer.names},
    ),
    "stepper": (
        stepper.CacheStepper,
        stepper_inputs,
        {"cached_attention": cached_attention, "rotary_step": rotary_step},
    ),
    "wavelength": (wavelength.WavelengthExplorer, no_inputs, frequencies_float64),
}

# Functions that are given whole modules: the measurement runs on the device, not the function alone.
WHOLE = ("gradient",)
# They measure in float32, through many layers: 2e-5 was seen between two sets of kernels; the widget allows 2 %.
DEEP = 1e-3


def recording(name, device="cpu"):
    """Arrays of one widget's file: its inputs, and the reference's tables under ``ref_``; float32."""
    widget, draw, function = WIDGETS[name]
    # One seed per file, so that adding a widget leaves the others' bytes alone.
    generator = torch.Generator().manual_seed(SEED + sum(name.encode()))
    inputs = {k: v.float() for k, v in draw(generator).items()}

    place = torch.device(device)
    to = lambda tree, where: tree_map(lambda t: t.to(where) if isinstance(t, torch.Tensor) else t, tree)

    def on_device(function):
        # A class makes a module that stays where it is made: on the CPU.
        if place.type == "cpu" or name in WHOLE or isinstance(function, type):
            return function

        def call(*args, **options):
            with place:
                return to(function(*to(args, place), **to(options, place)), "cpu")

        return call

    moved = {k: on_device(f) for k, f in function.items()} if isinstance(function, dict) else on_device(function)
    # The widget's own code stays on the CPU, as in a notebook: elsewhere works the reference alone.
    where = place if name in WHOLE else torch.device("cpu")
    tables = widget.measure(moved, {k: v.double().to(where) for k, v in inputs.items()})
    return {**{k: v.numpy() for k, v in inputs.items()}, **{f"ref_{k}": v.astype("float32") for k, v in tables.items()}}


def stays(name, old, new):
    """Whether two dicts of a widget's arrays are the same but for rounding: a few steps of float32."""
    rtol = DEEP if name in WHOLE else 4 * STEP
    old, new = ({k: torch.from_numpy(v) for k, v in arrays.items()} for arrays in (old, new))
    return old.keys() == new.keys() and all(close(new[k], t, rtol * middle(t), rtol) for k, t in old.items())


def record(out, device="cpu", fresh=False):
    """Write every file and manifest.json into ``out``; returns the manifest."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "manifest.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    before = {k: v for k, v in before.items() if k != "files"}
    comparable = not fresh and same_device(before or None, device_facts(str(device)))
    files = {}
    for name in WIDGETS:
        arrays, file = recording(name, device), out / f"{name}.safetensors"
        data = save(arrays)
        if comparable and file.exists() and stays(name, load(file.read_bytes()), arrays):
            data = file.read_bytes()
        file.write_bytes(data)
        files[file.name] = {
            "sha256": hashlib.sha256(data).hexdigest(),
            "tensors": {k: list(v.shape) for k, v in sorted(arrays.items())},
        }
    facts = made(before, str(device), "make record", SEED, [out / name for name in files], "float64, stored as float32")
    manifest = {**facts, "files": files}
    text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    path.write_text(text, encoding="utf-8")
    return manifest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", default=ROOT / "assets" / "recordings" / "widgets")
    parser.add_argument("--fresh", action="store_true", help="write everything new, also what differs by rounding only")
    options = parser.parse_args()
    for name, entry in record(options.out, options.device, options.fresh)["files"].items():
        print(name, entry["sha256"][:12], f"{len(entry['tensors'])} tensors")


if __name__ == "__main__":
    main()
