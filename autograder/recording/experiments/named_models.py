"""Records ``named_models.json``: properties of named models, from their configurations and ``transformers``' classes.

``python -m autograder.recording.experiments.named_models``; under a minute on one CPU core, nothing is downloaded.
Parameters are counted at the published sizes on the meta device, which holds shapes but no numbers. Behavior is probed
on the same class with the same flags, few layers and random weights (``model_probes.py``). The bytes are the same on
every machine: the file holds only integers, words and rounded ratios, no date and no processor.
"""

import json
import sys
from collections.abc import Container, Sequence
from typing import Any

import torch
from anatomy.system import files
from torch import nn

from autograder.recording.experiments import About, Data, Facts
from autograder.recording.experiments import model_probes as probes
from autograder.recording.experiments.named_configurations import MODELS, PALM, Named
from autograder.recording.experiments.writing import arguments

ABOUT = About(read=True)

NAME = "named_models"


def missing() -> str | None:
    """The name of the missing package, or None."""
    try:
        import transformers  # noqa: F401
    except ModuleNotFoundError as error:
        return error.name
    return None


def build(entry: Named, changes: dict[str, Any] | None = None, device: str = "meta") -> Any:
    """The entry's class with its published configuration and these changes, on the device; weights unset on meta."""
    import transformers

    settings = {**entry.config, **(changes or {})}
    model = getattr(transformers, entry.model)
    with torch.device(device):
        return model(model.config_class(**settings, attn_implementation="eager", experts_implementation="eager"))


def counted(entry: Named, model: nn.Module) -> dict[str, int]:
    """Parameters of the model at its published sizes, and with the changes that the entry lists."""
    found = {"counted": probes.count(model)}
    found |= {name: probes.count(build(entry, changes)) for name, changes in entry.alternatives.items()}
    return found | {name: part(model) for name, part in entry.parts.items()}


def sizes(entry: Named, model: Any) -> Facts:
    """Sizes in the published configuration, read from the full model's modules where possible."""
    stack, config = probes.main_stack(model), getattr(model.config, "text_config", model.config)
    at, heads = probes.places(model, stack[0]), config.num_attention_heads
    d_ff, d_model = sorted(stack[0].get_submodule(at.ffn_out).get_parameter("weight").shape, reverse=True)
    facts = {
        "layers": len(stack),
        "d_model": d_model,
        "d_ff": d_ff,
        "heads": heads,
        **stack_counts(model),
        "cross_attention_modules": probes.cross_attention_modules(model),
        "positions": probes.position_scheme(model),
    }
    if entry.latent:  # MLA keeps one latent vector for all heads
        facts |= {"d_head": config.qk_nope_head_dim + config.qk_rope_head_dim, "kv_latent": config.kv_lora_rank}
    else:
        wide = getattr(config, "head_dim", None) or getattr(config, "d_kv", None)
        facts |= {"kv_heads": getattr(config, "num_key_value_heads", None) or heads, "d_head": wide or d_model // heads}
    head = model.get_output_embeddings()
    if head is not None:
        facts["tied"] = head.weight is model.get_input_embeddings().weight
    return facts


def stack_counts(model: nn.Module) -> dict[str, int]:
    """Numbers of encoder and decoder stacks. Stacks without "encoder" in their names are decoders."""
    names = probes.stacks(model)
    encoders = sum("encoder" in name for name in names)
    return {"encoder_stacks": encoders, "decoder_stacks": len(names) - encoders}


def behavior(entry: Named) -> Facts:
    """Facts from probing the small model."""
    model = probes.randomized(build(entry, entry.tiny, "cpu"))
    stack = probes.main_stack(model)
    facts = {
        "sees_future": probes.sees_future(model, stack[-1]),
        "norm": probes.norm_placement(model, stack[0]),
        "norm_kind": probes.norm_kind(stack[0]),
    }
    if entry.model.startswith("T5"):
        encoder, own = probes.stacks(model)["encoder.block"], lambda s: {id(p) for p in s.parameters()}
        facts["encoder_sees_future"] = probes.sees_future(model, encoder[-1], probes.encode)
        facts["stacks_share_weights"] = bool(own(stack) & own(encoder))
    if entry.score:
        facts["score_factor"], bias, seen = probes.score_factor(model, stack[0])
        facts["scaled"] = facts["score_factor"] != probes.NOT_SCALED
        if bias.abs().max() > 1e-6:
            expected = probes.own_bias(model, stack[0], bias.shape[0])
            facts["bias_after_scaling"] = bool((bias - probes.centered(expected, seen)).abs().max() < 1e-5)
    if entry.model == "CLIPModel":
        facts["text_depends_on_image"] = probes.text_depends_on_image(model)
    if entry.swiglu:
        facts |= probes.swiglu_factors(model)
    return facts


def off_percent(count: int, published: int) -> float:
    """Percentage by which the count exceeds the published number."""
    return round(100 * (count / published - 1), 2) + 0.0  # no -0.0


def palm() -> Facts:
    """PaLM has no class, so sums up its matrices from the published sizes (tied embeddings, no biases)."""
    c = PALM
    query = output = c["d_model"] * c["heads"] * c["d_head"]
    shared_key_value = 2 * c["d_model"] * c["kv_heads"] * c["d_head"]
    ffn = 3 * c["d_model"] * c["d_ff"]
    matrices = c["layers"] * (query + output + shared_key_value + ffn) + c["vocab"] * c["d_model"]
    gains = (c["layers"] + 1) * c["d_model"]  # attention and FFN read the same norm; one more at the end
    table = c["positions_2048"] * c["d_model"]
    found = {"counted": matrices + gains, "matrices": matrices, "with_learned_positions": matrices + gains + table}
    billions = {f"{name}_billions": round(n / 1e9, 2) for name, n in found.items()}
    return {
        **found,
        **billions,
        "counted_by": "arithmetic",
        "positions": "rotary",
        **{k: c[k] for k in ("layers", "d_model", "d_ff", "heads", "kv_heads", "d_head")},
    }


def measure(entry: Named) -> Facts:
    """All facts of one model."""
    facts: Facts = {"published": entry.published, "source": entry.source}
    if entry.model == "PaLM":
        facts |= palm()
        return facts | {"off_percent": off_percent(facts["counted"], entry.published)}
    model = build(entry)
    facts |= {"class": entry.model, "counted_by": "class", "configuration": entry.config, **counted(entry, model)}
    facts["off_percent"] = off_percent(facts[entry.compared], entry.published)
    if entry.compared != "counted":
        facts["published_counts"] = entry.compared
    return facts | {"probe": {**sizes(entry, model), **behavior(entry)}}


def record(names: Container[str] | None = None) -> Data:
    """Contents of the file; ``names``: only these models."""
    import transformers

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()  # it warns about token ids outside a small vocabulary
    made = {
        "command": f"python -m autograder.recording.experiments.{NAME}",
        "dtype": "float64",
        "seeds": [0],
        "tf32": False,
        "torch": torch.__version__.split("+")[0],
        "transformers": transformers.__version__,
    }
    return {"made": made, "models": {n: measure(e) for n, e in MODELS.items() if names is None or n in names}}


def contents(data: Data) -> bytes:
    """The bytes of the file."""
    return (json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def facts(data: Data) -> Facts:
    """Model → its facts, flat, under names that are valid identifiers: ``bert_base.counted``."""
    key = lambda name: name.replace("-", "_").replace(".", "_")
    flat = lambda entry: {
        k: v for k, v in {**entry, **entry.get("probe", {})}.items() if k not in ("probe", "configuration")
    }
    return {key(name): flat(entry) for name, entry in data["models"].items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Command line: accepts the options of all experiments, but only --out matters; there is one size."""
    options = arguments(__doc__).parse_args([*(sys.argv[1:] if argv is None else argv), "--setting", "small"])
    options.out.mkdir(parents=True, exist_ok=True)
    files.replace(options.out / f"{NAME}.json", contents(record()))
    print(f"{NAME}.json: {len(MODELS)} models")
    return 0


if __name__ == "__main__":
    sys.exit(main())
