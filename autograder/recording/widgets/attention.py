"""Recorder of AttentionExplorer: queries and keys of the trained language model, in four sentences it never saw."""

import torch
from anatomy.language import shipped
from anatomy.widgets import AttentionExplorer, attention
from anatomy.widgets.tools.types import Inputs
from torch import Tensor

from autograder.recording.widgets.tools import Recorder
from autograder.reference.assembly.attention import Attention
from autograder.reference.assembly.decoder import Decoder
from autograder.reference.attention import scaled_dot_product_attention

TEXTS = (
    "I like him very well.",
    "I hope you are quite well.",
    "No, indeed, it is not.",
    "He ought not; he does not.",
)
FILLER = "\n"  # fills positions without a token


class Watched(Attention):
    """Keeps the queries and keys of its last call, as they enter the scores."""

    def prepare(self, q: Tensor, k: Tensor, positions: Tensor | None) -> tuple[Tensor, Tensor]:
        self.kept = super().prepare(q, k, positions)
        return self.kept


def tokens() -> Tensor:
    """(sentences, T) int64. Raises ValueError if the tokenizer splits a sentence differently than the widget."""
    tokenizer = shipped.tokenizer()
    (filler,) = tokenizer.encode(FILLER).ids
    rows = []
    for text, words in zip(TEXTS, attention.SENTENCES, strict=True):
        ids = tokenizer.encode(text).ids
        cut = [tokenizer.decode([i]).strip() for i in ids]
        if cut + [attention.PAD] * (len(words) - len(cut)) != list(words):
            raise ValueError(f"the tokens of {text!r} are {cut}, and the widget shows {list(words)}")
        rows.append(ids + [filler] * (len(words) - len(ids)))
    return torch.tensor(rows)


@torch.no_grad()
def attention_inputs(generator: torch.Generator) -> Inputs:
    """q and k (sentences, layers·heads, T, D), rotated, with keys repeated for every head. Nothing is drawn."""
    c, weights = shipped.checkpoint()
    model = Decoder(c, attention=Watched).double()
    model.load_state_dict(weights)
    model(tokens())
    q, k = zip(*(block.get_submodule("attention").kept for block in model.blocks), strict=True)
    return {
        "q": torch.cat(q, 1),
        "k": torch.cat([x.repeat_interleave(c["n_heads"] // c["n_kv_heads"], 1) for x in k], 1),
    }


RECORDER = Recorder(AttentionExplorer, attention_inputs, scaled_dot_product_attention)
