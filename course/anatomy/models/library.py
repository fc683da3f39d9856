"""Hugging Face's models for the comparison: live if ``transformers`` is installed, else from recorded answers.

The library is not part of a learner's environment. So its answers for one set of tiny random models, and for the
course's checkpoint on the first page of its held-out text, are stored in ``assets/models/hugging_face``, with its
version; ``autograder/recording/hugging_face.py`` writes them.
"""

import copy
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from ..program.records import MissingRecording, assets_dir
from ..system.installation import how_to_repair, pip_install
from ..system.translation import _
from .names import State
from .pretrained import open_checkpoint

VOCAB, LENGTH, STEPS = 61, 11, 9
SEED = 0  # seed of the recorded weights
GRID = 32  # weights are drawn in steps of 1/32, so that each fits into a byte
EVERY = 7  # one in seven rows of a checkpoint's outputs is recorded: they are 20 times as wide as tiny models'
FILES = ("tiny.safetensors", "checkpoint.safetensors", "manifest.json")  # and one of each newer family
_COMMON = {"vocab_size": VOCAB, "num_hidden_layers": 3, "max_position_embeddings": 64, "pad_token_id": 0}
# Special tokens of the real vocabularies are outside the tiny ones.
_NO_WORDS = {"bos_token_id": None, "eos_token_id": None}
_LLAMA = _COMMON | {
    "hidden_size": 48,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 40,
    "tie_word_embeddings": False,
}
_BERT = _COMMON | {"hidden_size": 48, "num_attention_heads": 4, "intermediate_size": 40}
# Sizes that reveal mistakes: shared KV heads, head_dim not d_model / n_heads, windows shorter than the text.
TINY: dict[str, dict[str, Any]] = {
    "llama": _LLAMA,
    "mistral": _LLAMA | {"sliding_window": 4, "head_dim": 10},
    "mixtral": _LLAMA | {"num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": None},
    "qwen2": _LLAMA,
    "qwen3": _LLAMA | {"head_dim": 10},
    "gemma2": _LLAMA
    | {
        "head_dim": 10,
        "sliding_window": 4,
        "query_pre_attn_scalar": 11,
        "attn_logit_softcapping": 3.0,
        "final_logit_softcapping": 2.0,
        "tie_word_embeddings": True,
    },
    "olmo2": _LLAMA,
    "glm": _LLAMA | {"head_dim": 8, "attention_bias": True},
    "deepseek_v3": _LLAMA
    | {
        "num_key_value_heads": 6,
        "first_k_dense_replace": 3,
        "q_lora_rank": 9,
        "kv_lora_rank": 7,
        "qk_nope_head_dim": 5,
        "qk_rope_head_dim": 4,
        "v_head_dim": 6,
    },
    "gpt2": {"vocab_size": VOCAB, "n_embd": 48, "n_layer": 3, "n_head": 4, "n_positions": 64},
    "bert": _BERT,
    "albert": _BERT | {"embedding_size": 10},
    "t5": {
        "vocab_size": VOCAB,
        "d_model": 48,
        "d_kv": 10,
        "num_heads": 3,
        "num_layers": 3,
        "d_ff": 40,
        "pad_token_id": 0,
        "decoder_start_token_id": 0,
    },
}
_DEEPSEEK = TINY["deepseek_v3"] | {
    "first_k_dense_replace": 1,
    "n_routed_experts": 9,
    "n_shared_experts": 2,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 14,
    "routed_scaling_factor": 1.7,
}
_STATES = {
    "layer_types": ["linear_attention", "full_attention", "linear_attention"],
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 6,
    "linear_conv_kernel_dim": 3,
}
# The families of ``newer``. A setting model_type says what the library calls a family that has another name here.
NEWER_TINY: dict[str, dict[str, Any]] = {
    "gpt_oss": _LLAMA
    | {
        "head_dim": 10,
        "sliding_window": 4,
        "num_local_experts": 5,
        "num_experts_per_tok": 2,
        "swiglu_limit": 2.0,
        "max_position_embeddings": 2048,
        "rope_parameters": {
            "rope_type": "yarn",
            "rope_theta": 10000.0,
            "factor": 8.0,
            "original_max_position_embeddings": 256,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "truncate": False,
        },
    },
    "qwen3_next": _LLAMA
    | _STATES
    | {
        "head_dim": 16,
        "num_experts": 5,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 14,
        "shared_expert_intermediate_size": 12,
        "rms_norm_eps": 1e-3,
    },
    "olmo_hybrid": _LLAMA | _STATES | {"rope_parameters": {"rope_type": "default", "rope_theta": None}},
    "deepseek_v3_experts": _DEEPSEEK | {"model_type": "deepseek_v3", "n_group": 3, "topk_group": 2},
    # With few index heads, many scores are exactly 0. The library's sorting then decides which of them is chosen, and
    # that depends on later keys.
    "deepseek_v32": _DEEPSEEK
    | {"n_group": 3, "topk_group": 2, "index_topk": 4, "index_n_heads": 16, "index_head_dim": 8},
}
ALL_TINY = TINY | NEWER_TINY
# How far weights are spread, where 1 would let rounding grow from layer to layer: gates and norms of small results.
SPREAD = {"qwen3_next": 0.3, "olmo_hybrid": 0.3}
_CLASSES = {"bert": "BertForPreTraining", "albert": "AlbertModel", "t5": "T5ForConditionalGeneration"}
_CLASSES |= {"gpt2": "GPT2LMHeadModel"}


class NoTransformers(Exception):
    """Hugging Face's library isn't installed, and the requested answer was not recorded; the message says both."""


@dataclass(frozen=True)
class Answers:
    """A model's answers for the texts of a comparison.

    outputs: one or more tensors, without padding. tokens: the ids of a text followed by the model's greedy
    continuation; None for a model that does not generate.
    """

    outputs: list[Tensor]
    tokens: Tensor | None


@dataclass(frozen=True)
class Theirs:
    """Hugging Face's model in one comparison. facts: its configuration; state: its weights, under its own names;
    source: a sentence on the origin of the answers; every: one in ``every`` rows of its outputs is known."""

    facts: dict[str, Any]
    state: State
    parameters: int
    answers: Answers
    source: str
    every: int = 1


def tiny(family: str, seed: int = SEED) -> Theirs:
    """Returns a tiny model with random weights, and its answers for ``texts(seed)``.

    Raises: NoTransformers; KeyError for a family that the course does not compare; MissingRecording.
    """
    settings = ALL_TINY[family]
    if library := transformers():
        model = their_model(family, seed)
        return _live(library, model, ANSWERS.get(family, _decoder)(model, texts(seed)))
    if seed != SEED:
        raise NoTransformers(_not_recorded(_("Only the weights of seed {seed} were recorded.").format(seed=SEED)))
    known, tensors = manifest()["tiny"][family], _tensors(file_of(family))
    assert known["settings"] == settings, "recorded for other sizes"
    codes = {name: drawn_weights(tensors[f"{family}.weights.{kept}"]) for name, kept in known["weights"].items()}
    return Theirs(known["facts"], codes, known["parameters"], _recorded(tensors, family), _source())


def of_checkpoint(folder: Path, ids: Tensor) -> Theirs:
    """Returns their model with a checkpoint's weights, and its answers as a decoder for ids (2, T) int64.

    Raises: NoTransformers; NoCheckpoint; MissingRecording.
    """
    opened = open_checkpoint(folder)
    if library := transformers():
        made = library.AutoConfig.for_model(**opened.theirs, attn_implementation="eager")
        model = library.AutoModelForCausalLM.from_config(made).float().eval()
        # Not strict, because a tied head has no weights in the file. Any other missing weight shows in the logits.
        model.load_state_dict(opened.state(), strict=False)
        return _live(library, model, _decoder(model, ids))
    known = manifest()["checkpoint"]
    if known["weights"] != digest_of(folder):
        raise NoTransformers(_not_recorded(_("Only the course's own checkpoint was recorded.")))
    if known["ids"] != ids.tolist():
        raise NoTransformers(_not_recorded(_("Only the first 128 tokens of the unit's page were recorded.")))
    recorded = _recorded(_tensors(FILES[1]), "checkpoint")
    return Theirs(opened.theirs, opened.state(), known["parameters"], recorded, _source(), EVERY)


def transformers() -> Any:
    """The library, or None if it isn't installed."""
    try:
        return import_module("transformers")
    except ImportError:
        return None


def texts(seed: int) -> Tensor:
    """Input of the tiny models, (2, LENGTH) int64."""
    return torch.randint(1, VOCAB, (2, LENGTH), generator=torch.Generator().manual_seed(seed + 1))


def their_model(family: str, seed: int = SEED, **changes: Any) -> Any:
    """Builds a tiny Hugging Face model with random weights, in float32.

    Raises: NoTransformers; KeyError for a family that the course does not compare.
    """
    library = transformers()
    if library is None:
        raise NoTransformers(_not_recorded(""))
    library.logging.set_verbosity_error()  # it warns that fast kernels for graphics cards are missing
    settings = _NO_WORDS | ALL_TINY[family] | changes
    if family == "mixtral" or family in NEWER_TINY:
        settings = settings | {"experts_implementation": "eager"}
    kind = settings.pop("model_type", family)
    made = library.AutoConfig.for_model(kind, **settings, attn_implementation="eager")
    name = _CLASSES.get(family) or library.AutoModelForCausalLM._model_mapping[type(made)].__name__
    model = getattr(library, name)(made)
    generator = torch.Generator().manual_seed(seed)
    learned = [b for name, b in model.named_buffers() if name.endswith("e_score_correction_bias")]  # moved by hand
    with torch.no_grad():
        for parameter in [*model.parameters(), *learned]:
            noise = torch.randn(parameter.shape, generator=generator) * GRID * SPREAD.get(family, 1)
            parameter.copy_(drawn_weights(noise.round().clamp(-127, 127)))
    return model.eval()


def drawn_weights(codes: Tensor) -> Tensor:
    """Weights from codes −127 … 127. Fresh models have norms of 1 and biases of 0, so a forgotten one does not show:
    here all vectors are 1 plus a random number."""
    return codes.float() / GRID * 0.3 + (1.0 if codes.dim() == 1 else 0.0)


def coded(weights: Tensor) -> Tensor:
    """The int8 codes of weights that ``their_model`` has drawn."""
    return ((weights - (1.0 if weights.dim() == 1 else 0.0)) / 0.3 * GRID).round().to(torch.int8)


@cache
def manifest() -> dict[str, Any]:
    """The recordings' contents, and how they were made. Raises MissingRecording with a one-sentence message."""
    return json.loads(_file(FILES[2]).read_text(encoding="utf-8"))


def digest_of(folder: Path) -> str:
    """SHA-256 of a checkpoint's weights file."""
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def file_of(family: str) -> str:
    """Name of the file with a tiny model's recording."""
    return f"{family}.safetensors" if family in NEWER_TINY else FILES[0]


def folder() -> Path:
    """Folder of the recordings."""
    return assets_dir() / "models" / "hugging_face"


def _file(name: str) -> Path:
    path = folder() / name
    if not path.is_file():
        missing = _("{file} is missing: what Hugging Face's models gave is incomplete. {repair}")
        raise MissingRecording(missing.format(file=path, repair=how_to_repair()))
    return path


@cache
def _tensors(name: str) -> dict[str, Tensor]:
    return load_file(_file(name))


def _recorded(tensors: dict[str, Tensor], name: str) -> Answers:
    first = f"{name}.outputs."
    outputs = [tensors[n] for n in sorted(tensors) if n.startswith(first)]
    return Answers(outputs, tensors.get(f"{name}.tokens"))


def _live(library: Any, model: Any, answers: Answers) -> Theirs:
    state = {n: t.clone() for n, t in model.state_dict().items()}
    parameters = sum(p.numel() for p in model.parameters())
    source = _("Hugging Face's models ran here: transformers {version}.").format(version=library.__version__)
    return Theirs(model.config.to_dict(), state, parameters, answers, source)


def _source() -> str:
    made = manifest()["made"]
    recorded = _("Hugging Face's side was recorded with transformers {version} ({device}).")
    return recorded.format(version=made["transformers"], device=made["device"])


def _not_recorded(what: str) -> str:
    ask = _("Hugging Face's transformers isn't installed here. To ask it live: {command}")
    command = pip_install(f"transformers=={manifest()['made']['transformers']}")
    return " ".join(filter(None, [what, ask.format(command=command)]))


def _decoder(model: Any, ids: Tensor) -> Answers:
    """Plain, left-padded, and greedy generation with a cache."""
    real = left_padded(ids)
    positions = (real.long().cumsum(-1) - 1).clamp(min=0)
    padded = model(ids, attention_mask=real.long(), position_ids=positions).logits
    return Answers([model(ids).logits, padded[real]], model.generate(ids, generation_config=_greedy(model)))


def _bert(model: Any, ids: Tensor) -> Answers:
    real, segments = right_padded(), ids % 2
    found = model(ids, token_type_ids=segments, attention_mask=real.long())
    return Answers([found.prediction_logits[real], found.seq_relationship_logits], None)


def _albert(model: Any, ids: Tensor) -> Answers:
    real, segments = right_padded(), ids % 2
    found = model(ids, token_type_ids=segments, attention_mask=real.long())
    return Answers([found.last_hidden_state[real], found.pooler_output], None)


def _t5(model: Any, ids: Tensor) -> Answers:
    real, target = right_padded(), ids.flip(1)[:, :7]
    logits = model(ids, attention_mask=real.long(), decoder_input_ids=target).logits
    return Answers([logits], model.generate(ids, attention_mask=real.long(), generation_config=_greedy(model)))


ANSWERS: dict[str, Callable[[Any, Tensor], Answers]] = {"bert": _bert, "albert": _albert, "t5": _t5}


def _greedy(model: Any) -> Any:
    settings = copy.deepcopy(model.generation_config)
    settings.update(max_new_tokens=STEPS, do_sample=False, eos_token_id=None, pad_token_id=0)
    return settings


def left_padded(ids: Tensor) -> Tensor:
    """(2, T) bool: the first four of the second row are padding."""
    return torch.arange(ids.shape[1]) >= torch.tensor([[0], [4]])


def right_padded() -> Tensor:
    """(2, LENGTH) bool: the last five of the second row are padding."""
    return torch.arange(LENGTH) < torch.tensor([[LENGTH], [6]])
