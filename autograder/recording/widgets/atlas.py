"""Recorder of ModelAtlas: decoders of any configuration, assembled from the references, to count parameters."""

from functools import partial
from typing import Any

from anatomy.widgets import ModelAtlas
from torch import nn

from autograder.recording.widgets.tools import Recorder, no_inputs
from autograder.reference.ffn import FeedForward, GatedFeedForward
from autograder.reference.gqa import GroupedQueryAttention
from autograder.reference.models.bert import Albert, Bert, BertConfig
from autograder.reference.models.decoder import CausalDecoder
from autograder.reference.models.mixtral import MixtureOfExperts
from autograder.reference.models.olmo2 import QKNormAttention
from autograder.reference.models.qwen import HeadNormAttention
from autograder.reference.models.t5 import T5, T5Config, T5v11
from autograder.reference.norms import GemmaRMSNorm, LayerNorm, RMSNorm
from autograder.reference.placement import NormInside, ParallelBlock, PostLN, PreLN, PrePostNorm

NORMS = {"layer": LayerNorm, "rms": RMSNorm, "gemma": GemmaRMSNorm}
WIRINGS = {"pre": PreLN, "post": PostLN, "both": PrePostNorm, "inside": NormInside, "parallel": ParallelBlock}


def reference(c: dict[str, Any]) -> nn.Module:
    """A model of that configuration, made of references: its parameters are right, but it does not apply positions.

    Raises NotImplementedError for a configuration that no reference covers.
    """
    if c["kind"] == "encoder":
        sizes = BertConfig(
            *(c[k] for k in ("vocab", "d_model", "n_layers", "n_heads", "d_ff", "max_positions", "n_segments"))
        )
        encoder = Albert(sizes, c["d_embedding"]) if c["shared_layers"] else Bert(sizes)
        encoder.pooler = nn.Identity()  # type: ignore[assignment]  # a task-specific head
        return encoder
    if c["kind"] == "encoder-decoder":
        if c["position"] != "t5":
            raise NotImplementedError("the references have T5 as their only encoder-decoder")
        kind = T5v11 if c["gated"] else T5
        return kind(T5Config(*(c[k] for k in ("vocab", "d_model", "n_layers", "n_heads", "head_dim", "d_ff"))))
    return decoder(c)


def decoder(c: dict[str, Any]) -> nn.Module:
    """Like ``reference``, for decoders."""
    if c["attention"] != "grouped":
        raise NotImplementedError("latent attention comes with experts that the references do not have")
    d, norm = c["d_model"], partial(NORMS[c["norm"]], eps=c["eps"])
    blocks = [WIRINGS[c["placement"]](d, _attention(c), _ffn(c), norm) for _ in range(c["n_layers"])]
    final = nn.Identity() if c["placement"] == "post" else norm(d)
    model = CausalDecoder(c["vocab"], d, blocks, final, c["tied"])
    if c["position"] == "learned":
        model.positions = nn.Embedding(c["max_positions"], d)
    if c["embedding_norm"]:
        model.embedding_norm = norm(d)
    return model


def _attention(c):
    sizes = (c["d_model"], c["n_heads"], c["n_kv_heads"])
    if c["qk_norm"] == "head":
        return HeadNormAttention(*sizes, c["head_dim"], base=c["base"])
    if c["qk_norm"] == "whole":
        return QKNormAttention(*sizes, base=c["base"])
    return GroupedQueryAttention(*sizes, c["head_dim"], c["attention_bias"], c["out_bias"])


def _ffn(c):
    if c["n_experts"]:
        return MixtureOfExperts(c["d_model"], c["d_ff"], c["n_experts"], c["n_active"])
    kind = GatedFeedForward if c["gated"] else FeedForward
    return kind(c["d_model"], c["d_ff"], bias=c["ffn_bias"])


RECORDER = Recorder(ModelAtlas, no_inputs, decoder)
