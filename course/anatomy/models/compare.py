"""The learner's models beside those of Hugging Face: same random weights, strict load, logits, generated tokens.

``transformers`` is an extra of the learner's environment (``pip install transformers``); without it each comparison
says so in one sentence.
"""

import copy
import html
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..experiments import one_thread
from .families import FAMILIES, configuration
from .pretrained import Build, Cut, Rename, open_checkpoint, renamed

VOCAB, LENGTH, STEPS = 61, 11, 9
_COMMON = {"vocab_size": VOCAB, "num_hidden_layers": 3, "max_position_embeddings": 64, "pad_token_id": 0}
# Special words of the real vocabularies lie outside tiny ones.
_NO_WORDS = {"bos_token_id": None, "eos_token_id": None}
_LLAMA = _COMMON | {
    "hidden_size": 48,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 40,
    "tie_word_embeddings": False,
}
_BERT = _COMMON | {"hidden_size": 48, "num_attention_heads": 4, "intermediate_size": 40}
# Sizes at which a mistake shows: KV heads shared, head dims of their own, windows shorter than the text.
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
_CLASSES = {"bert": "BertForPreTraining", "albert": "AlbertModel", "t5": "T5ForConditionalGeneration"}
_CLASSES |= {"gpt2": "GPT2LMHeadModel"}


NO_TRANSFORMERS = "Hugging Face's transformers isn't installed: pip install transformers"


class NoTransformers(Exception):
    """Hugging Face's library isn't installed."""


@dataclass(frozen=True)
class Comparison:
    """One family: largest difference of the outputs and their largest value, generated tokens equal or not (None:
    nothing is generated), parameters of both models."""

    family: str
    difference: float
    scale: float
    same_tokens: bool | None
    parameters: tuple[int, int]

    @property
    def equal(self) -> bool:
        """Whether the outputs agree within float32's rounding, and tokens and parameters do."""
        return self.difference <= 2e-5 * self.scale and self.same_tokens is not False and len({*self.parameters}) == 1


def their_model(family: str, seed: int = 0, **changes: Any) -> Any:
    """A tiny model of Hugging Face with random weights, in float32.

    Raises: NoTransformers; KeyError where the course compares no such family.
    """
    try:
        import transformers
    except ImportError:
        raise NoTransformers(NO_TRANSFORMERS) from None
    settings = _NO_WORDS | TINY[family] | changes
    if family == "mixtral":
        settings = settings | {"experts_implementation": "eager"}
    made = transformers.AutoConfig.for_model(family, **settings, attn_implementation="eager")
    name = _CLASSES.get(family) or transformers.AutoModelForCausalLM._model_mapping[type(made)].__name__
    model = getattr(transformers, name)(made)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            # Fresh models have norms of 1 and biases of 0, where a forgotten one does not show.
            parameter.copy_(0.3 * noise + 1 if parameter.dim() == 1 else 0.3 * noise)
    return model.eval()


@torch.no_grad()
def compare(family: str, build: Build, rename: Rename, cut: Cut | None = None, seed: int = 0) -> Comparison:
    """The learner's model and Hugging Face's with the same weights, on the same text, the last words of one padded.

    Args:
        family: a key of ``TINY``. build: configuration → the learner's model. rename, cut: as for load_pretrained;
        cut is needed for gpt2.

    Raises: NoTransformers; RuntimeError where a name or a shape does not fit (strict load).
    """
    theirs = their_model(family, seed)
    facts = theirs.config.to_dict()
    state = {n: t.clone() for n, t in theirs.state_dict().items()}
    mine = build(configuration(facts))
    mine.load_state_dict(renamed(state, facts, rename, cut), strict=True)
    mine.eval()
    ids = torch.randint(1, VOCAB, (2, LENGTH), generator=torch.Generator().manual_seed(seed + 1))
    run = {"bert": _bert, "albert": _albert, "t5": _t5}.get(family, _decoder)
    return _comparison(FAMILIES[family].title, *run(mine, theirs, ids), (mine, theirs))


Pairs = list[tuple[Tensor, Tensor]]


def _comparison(title: str, pairs: Pairs, same: bool | None, models: tuple[Any, Any]) -> Comparison:
    gap = max(float((a - b).abs().max()) for a, b in pairs)
    scale = max(float(b.abs().max()) for _, b in pairs)
    mine, theirs = (sum(p.numel() for p in m.parameters()) for m in models)
    return Comparison(title, gap, scale, same, (mine, theirs))


def _decoder(mine: Any, theirs: Any, ids: Tensor) -> tuple[Pairs, bool]:
    """Plain, left-padded, and greedy generation with a cache on both sides."""
    real = torch.arange(ids.shape[1]) >= torch.tensor([[0], [4]])
    positions = (real.long().cumsum(-1) - 1).clamp(min=0)
    padded = theirs(ids, attention_mask=real.long(), position_ids=positions).logits
    pairs = [(mine(ids)[0], theirs(ids).logits), (mine(ids, real)[0][real], padded[real])]
    tokens, past, new = ids, None, ids
    for _ in range(STEPS):
        logits, past = mine(new, None, past)
        new = logits[:, -1:].argmax(-1)
        tokens = torch.cat([tokens, new], dim=1)
    settings = copy.deepcopy(theirs.generation_config)
    settings.update(max_new_tokens=STEPS, do_sample=False, eos_token_id=None, pad_token_id=0)
    return pairs, torch.equal(tokens, theirs.generate(ids, generation_config=settings))


def _bert(mine: Any, theirs: Any, ids: Tensor) -> tuple[Pairs, None]:
    real, segments = _right_padded(), ids % 2
    expected = theirs(ids, token_type_ids=segments, attention_mask=real.long())
    words, sentence = mine(ids, segments, real)
    return [(words[real], expected.prediction_logits[real]), (sentence, expected.seq_relationship_logits)], None


def _albert(mine: Any, theirs: Any, ids: Tensor) -> tuple[Pairs, None]:
    real, segments = _right_padded(), ids % 2
    expected = theirs(ids, token_type_ids=segments, attention_mask=real.long())
    hidden, pooled = mine(ids, segments, real)
    return [(hidden[real], expected.last_hidden_state[real]), (pooled, expected.pooler_output)], None


def _t5(mine: Any, theirs: Any, ids: Tensor) -> tuple[Pairs, bool]:
    real, target = _right_padded(), ids.flip(1)[:, :7]
    expected = theirs(ids, attention_mask=real.long(), decoder_input_ids=target).logits
    pairs = [(mine(ids, target, real), expected)]
    memory, past = mine.encode(ids, real), None
    tokens = new = torch.zeros(2, 1, dtype=torch.long)
    for _ in range(STEPS):
        logits, past = mine.decode(new, memory, real, past)
        new = logits[:, -1:].argmax(-1)
        tokens = torch.cat([tokens, new], dim=1)
    settings = copy.deepcopy(theirs.generation_config)
    settings.update(max_new_tokens=STEPS, do_sample=False, eos_token_id=None, pad_token_id=0)
    return pairs, torch.equal(tokens, theirs.generate(ids, attention_mask=real.long(), generation_config=settings))


def _right_padded() -> Tensor:
    return torch.arange(LENGTH) < torch.tensor([[LENGTH], [6]])


class Table:
    """Comparisons for people: text, and HTML in a notebook."""

    def __init__(self, rows: Iterable[Comparison | tuple[str, str]]) -> None:
        self.rows = list(rows)

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (r.family, f"{r.difference:.0e}", f"{r.scale:.1f}", _tokens(r), f"{r.parameters[0]:,}", _verdict(r))
            if isinstance(r, Comparison)
            else (r[0], "", "", "", "", r[1])
            for r in self.rows
        ]

    HEAD = ("family", "largest difference", "largest output", "tokens", "parameters", "")

    def __repr__(self) -> str:
        cells = [self.HEAD, *self._cells()]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.HEAD))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells)

    def _repr_html_(self) -> str:
        row = lambda kind, cells: "<tr>" + "".join(f"<{kind}>{html.escape(c)}</{kind}>" for c in cells) + "</tr>"
        return f"<table>{row('th', self.HEAD)}{''.join(row('td', c) for c in self._cells())}</table>"


def _tokens(r: Comparison) -> str:
    return "" if r.same_tokens is None else "equal" if r.same_tokens else "differ"


def _verdict(r: Comparison) -> str:
    return "equal" if r.equal else "different"


@one_thread
@torch.no_grad()
def compare_checkpoint(mine: Any, folder: Path, ids: Tensor) -> Table:
    """The learner's decoder beside Hugging Face's, which gets its weights from a checkpoint's files: one row.

    Args: mine, with the same weights loaded; folder, that of the checkpoint; ids (2, T) int64, T > 4: the second row is
    also read as if its first four tokens were padding.
    """
    opened = open_checkpoint(folder)
    title = FAMILIES[opened.theirs["model_type"]].title
    try:
        import transformers
    except ImportError:
        return Table([(title, NO_TRANSFORMERS)])
    made = transformers.AutoConfig.for_model(**opened.theirs, attn_implementation="eager")
    theirs = transformers.AutoModelForCausalLM.from_config(made).float().eval()
    # Not strict, because a tied head has no weights in the file. Whatever else were missing shows in the logits.
    theirs.load_state_dict(opened.state(), strict=False)
    return Table([_comparison(title, *_decoder(mine, theirs, ids), (mine, theirs))])


@one_thread
def compare_all(
    build: Build, rename: Rename, cut: Cut | None = None, families: Iterable[str] = TINY, seed: int = 0
) -> Table:
    """A row for each family: the comparison, or in words why there is none. One that fails stops no other."""
    rows: list[Comparison | tuple[str, str]] = []
    for family in families:
        try:
            rows.append(compare(family, build, rename, cut if family == "gpt2" else None, seed))
        except NoTransformers as error:
            return Table([*rows, ("all", str(error))])
        except Exception as error:  # of the learner's model: each has ways of its own to fail
            says = str(error).strip().split("\n")[0] or "no message"
            rows.append((FAMILIES[family].title, f"{type(error).__name__}: {says}"))
    return Table(rows)
