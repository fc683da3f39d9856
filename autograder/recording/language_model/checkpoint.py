"""Writes a trained model in the format of ``transformers``: ``LlamaForCausalLM.from_pretrained(folder)`` reads it."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from anatomy.system import files
from safetensors.torch import save
from torch import Tensor

from autograder.recording.language_model.training import Training
from autograder.reference.language.bpe import Pair, tokenizer_json
from autograder.reference.models.decoder import CausalDecoder

THEIRS = (
    ("tokens.", "model.embed_tokens."),
    ("final_norm.", "model.norm."),
    ("blocks.", "model.layers."),
    (".attention_norm.", ".input_layernorm."),
    (".ffn_norm.", ".post_attention_layernorm."),
    (".attention.", ".self_attn."),
    (".ffn.", ".mlp."),
)
"""Pieces of our names, and what ``transformers`` calls them."""


def their_name(ours: str) -> str:
    """``blocks.0.ffn.up_proj.weight`` is ``model.layers.0.mlp.up_proj.weight``."""
    for mine, theirs in THEIRS:
        ours = ours.replace(mine, theirs)
    return ours


def course_name(ours: str) -> str:
    """The name in a learner's ``Decoder``, which keeps the token table inside its embeddings."""
    return ours.replace("tokens.", "embeddings.tokens.")


def stored(trained: CausalDecoder) -> dict[str, Tensor]:
    """Our name → tensor in float16, on the CPU; the head is tied to the embedding and not stored."""
    return {n: p.detach().cpu().to(torch.float16).contiguous() for n, p in trained.named_parameters()}


def config_json(s: Training) -> dict[str, Any]:
    """Contents of ``config.json``. Its dtype is that of the loaded weights; they are stored in float16."""
    c = s.sizes()
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": c.vocab,
        "hidden_size": c.d_model,
        "intermediate_size": c.d_ff,
        "num_hidden_layers": c.n_layers,
        "num_attention_heads": c.n_heads,
        "num_key_value_heads": c.n_kv_heads,
        "head_dim": c.d_model // c.n_heads,
        "max_position_embeddings": s.context,
        "hidden_act": "silu",
        "rms_norm_eps": c.eps,
        "rope_theta": c.base,
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
        "torch_dtype": "float32",
    }


def write(folder: Path, trained: CausalDecoder, s: Training, merges: Sequence[Pair], manifest: dict[str, Any]) -> None:
    """Writes weights, configuration, tokenizer, and ``manifest.json`` with the files' hashes and the course's names.

    manifest: further entries of ``manifest.json``.
    """
    tensors = stored(trained)
    contents = {
        "config.json": _text(config_json(s)),
        "generation_config.json": _text({"do_sample": True, "temperature": 0.7, "max_new_tokens": 80}),
        "model.safetensors": save({their_name(n): t for n, t in sorted(tensors.items())}, {"format": "pt"}),
        "tokenizer.json": _text(tokenizer_json(merges)),
        "tokenizer_config.json": _text(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "model_max_length": s.context,
                "clean_up_tokenization_spaces": False,
            }
        ),
    }
    for name, data in contents.items():
        files.replace(folder / name, data)
    listed = {n: {"bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in contents.items()}
    names = {their_name(n): course_name(n) for n in tensors}
    files.replace(folder / "manifest.json", _text({"files": listed, "names": names, **manifest}))


def write_other(folder: Path, trained: CausalDecoder, seed: int, manifest: dict[str, Any]) -> None:
    """Writes the weights of a further seed, under the names of a learner's ``Decoder``, for experiments to compare.

    They are not part of the student package.
    """
    data = save({course_name(n): t for n, t in sorted(stored(trained).items())}, {"format": "pt"})
    files.replace(folder / "seeds" / f"{seed}.safetensors", data)
    listed = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    files.replace(folder / "seeds" / f"{seed}.json", _text({"file": listed, **manifest}))


def _text(value):
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
