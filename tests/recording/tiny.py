"""Every experiment at a size that runs in a second, on the CPU or on a pretended device."""

import importlib
import json

from anatomy.experiments import ffn_variants as variants


def script(name):
    return importlib.import_module(f"autograder.recording.experiments.{name}")


MODEL = variants.Setting(d_model=16, layers=2, steps=3, batch=8)
TINY = {
    "bottleneck": lambda m: m.Setting(lengths=(2, 4), sizes=(4,), measured=(1, 2), seeds=1),
    "recall": lambda m: m.Setting(pairs=6, different=4, measured=(1, 2), seeds=1),
    "root_d": lambda m: m.Setting(head_dims=(4, 8), rates=(1e-3,), steps=2, seeds=1),
    "word_order": lambda m: m.Setting(length=8, steps=2, every=1, seeds=1),
    "leak": lambda m: m.Setting(steps=2, every=1, seeds=1, written=4),
    "warmup": lambda m: m.Setting(
        runs=tuple((2, 1e-3, name, 5, 1.0, 1) for name in m.WIRINGS),
        steps=20,
        first_depths=(2,),
        first_rates=(1e-3,),
        first_seeds=1,
    ),
    "residuals": lambda m: m.Setting(depths=(2,), peaks=(1e-3,), steps=20, seeds=1),
    "unit_health": lambda m: m.Setting(MODEL, rates=(1e-2,), steps=(1, 2), seeds=1),
    "ffn_variants": lambda m: m.Setting(MODEL, rates=(1e-2,), seeds=1, fresh=2),
    "decode": lambda m: m.Setting(B=2, H=4, D=8, groups=(1, 4), lengths=(8,)),
    "effective_depth": lambda m: m.Setting(
        depths=(2,), width=16, runs=((2, 1e-3),), goals=(9.0,), window=1, steps=2, warmup=1, seeds=1
    ),
    "gradient_flow": lambda m: m.Setting(widths=(16, 128), depths=(2,), init_widths=(16,), init_depths=(2,), seeds=1),
    "trained_length": lambda m: m.Setting(steps=1, seeds=1, rows=32),
    "length": lambda m: m.Setting(steps=1, tuning_steps=1, seeds=1, rows=32),
    "language_model": lambda m: m.Setting(
        m.Training(8, 16, 1, 2, 1, 24, context=16, rows=2, steps=3, warmup=1, points=3, probe=129),
        seeds=1,
        orders=2,
        prompts=("It was",),
        temperatures=(0.7,),
        sampled=3,
        text=20_000,
    ),
    "induction": lambda m: m.Setting(steps=2, every=1, seeds=1),
    "breaking": lambda m: m.Setting(fresh=1, small=2, tokens=256, characters=20_000),
    "longer_text": lambda m: m.Setting(tuning=1, tokens=1024, characters=20_000),
    "speed_of_speech": lambda m: m.Setting(widths=(32,), past=4, rounds=1, repeats=1),
    "norm_bandwidth": lambda m: m.Setting(sizes=((4, 16),), dtypes=("float32", "bfloat16"), rounds=1),
    "roofline": lambda m: m.Setting(
        d_model=32,
        heads=4,
        head_dim=8,
        latent=16,
        rotary=8,
        d_ff=64,
        contexts=(8, 16),
        prompts=(4,),
        batches=(1,),
        roofline_context=8,
        copied=4096,
        square=16,
        rounds=2,
        repeats=1,
    ),
    "sparse_attention": lambda m: m.Setting(
        heads=2, head_dim=8, window=8, lengths=(16, 32), longest_dense=16, rounds=1, repeats=1
    ),
    "balancing": lambda m: m.Setting(steps=2, seeds=1),
    "muon": lambda m: m.Setting(adamw=(1e-2,), muon=(5e-2,), steps=2, seeds=2, choosing=1),
    "lora": lambda m: m.Setting(ranks=(1, 0), rates=(1e-2,), full_rates=(1e-3,), steps=2, before=2, seeds=1, longer=3),
    "serving": lambda m: m.Setting(
        d_model=128, layers=1, users=(1, 2), contexts=(1, 4), most=8, square=16, repeats=1, dtype="float32"
    ),
    "scaling_law": lambda m: m.Setting({1e7: (4, 8), 2e7: (4, 8)}, {1e7: (4,), 2e7: (4,)}, {1e7: (4,)}, seeds=1),
    "loss_spike": lambda m: m.experiment.Setting(d_model=8, heads=2, layers=1, length=6, batch=4, steps=4),
}


def record_tiny(name, device, out, monkeypatch):
    """Runs an experiment at a tiny setting, into the folder ``out``; returns its data."""
    module = script(name)
    if name == "sparse_attention":  # torch makes block masks internally, where the pretended device can't act
        monkeypatch.setattr(
            module, "flex_window", lambda T, w, device: module.ways(T, TINY[name](module), "cpu")["window, gathered"][0]
        )
    module.main(["--device", device, "--out", str(out)], TINY[name](module))
    path = out / ("large" if device == "cuda" else "") / f"{name}.json"
    return json.loads(path.read_text())
