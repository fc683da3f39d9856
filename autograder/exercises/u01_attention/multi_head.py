"""The module: four projections around attention in heads."""

import math

import torch
from torch import Tensor, nn

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source
from autograder.reference import attention as ref

from . import _multi_head as layers
from .shared import merge_viewed, split_viewed


class HeadLoop(nn.Module):
    """Correct: one head at a time, with slices of the big matrices."""

    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads must divide d_model")
        self.H, self.D = n_heads, d_model // n_heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=bias))

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        if mask is not None and mask.dim() == 4:
            mask = mask.expand(-1, self.H, -1, -1)
        heads = []
        for h in range(self.H):
            cut = slice(h * self.D, (h + 1) * self.D)
            q, k = self.q_proj(x)[..., cut], self.k_proj(context)[..., cut]
            m = mask[:, h] if mask is not None and mask.dim() == 4 else mask
            heads.append(ref.scaled_dot_product_attention(q, k, self.v_proj(context)[..., cut], m))
        return self.o_proj(torch.cat(heads, dim=-1))


class Einsum(nn.Module):
    """Correct: einsum over named axes, no split and no merge."""

    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"{n_heads} heads do not fit {d_model}")
        self.n = n_heads
        for name in ("q", "k", "v", "o"):
            self.add_module(f"{name}_proj", nn.Linear(d_model, d_model, bias=bias))

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        q, k, v = (p.unflatten(-1, (self.n, -1)) for p in (self.q_proj(x), self.k_proj(context), self.v_proj(context)))
        scores = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        share = scores.softmax(-1).nan_to_num(0.0)
        return self.o_proj(torch.einsum("bhts,bshd->bthd", share, v).flatten(2))


NAMES = ("q_proj", "k_proj", "v_proj", "o_proj")


def weights(g: Source, d_model: int, bias: bool = True) -> dict[str, Tensor]:
    """Random weights by name."""
    state = {f"{n}.weight": g.randn(d_model, d_model, scale=d_model**-0.5) for n in NAMES}
    return state | ({f"{n}.bias": g.randn(d_model, scale=0.5) for n in NAMES} if bias else {})


def module(g: Source, d_model: int, n_heads: int, bias: bool = True) -> Program:
    """A program that builds the learner's module and loads weights into it."""
    kwargs = {} if bias else {"bias": False}
    return Program().new("MultiHeadAttention", d_model, n_heads, state=weights(g, d_model, bias), **kwargs)


def _by_hand(g: Source) -> Program:
    eye = torch.eye(2)
    state = {f"{n}.weight": eye.clone() for n in NAMES} | {"o_proj.weight": 2 * eye}
    p = Program().new("MultiHeadAttention", 2, 1, state=state, bias=False)
    return p.call(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]))


def _padding(*rows: list[bool]) -> Tensor:
    return torch.tensor(rows)[:, None, None, :]


def _per_head(g: Source, *shape: int) -> Tensor:
    """Each head and query has an allowed and a forbidden key."""
    mask = g.mask(*shape)
    mask[..., -1] = False
    return mask


EXERCISE = Exercise(
    id="attention.multi_head",
    title="Multi-head attention",
    points=4,
    difficulty=3,
    minutes=20,
    signature="MultiHeadAttention(d_model, n_heads, bias=True)",
    reference=ref.MultiHeadAttention,
    alternatives=[HeadLoop, Einsum],
    forbidden=("scaled_dot_product_attention", "multi_head_attention_forward"),
    forbidden_message="Build it from your own scaled_dot_product_attention.",
    cases=[
        Case(
            "by hand",
            "one head, W_Q, W_K and W_V the identity, W_O twice the identity: each word keeps the larger "
            "share of itself",
            _by_hand,
        ),
        Case(
            "self-attention",
            "2 sentences of 5 words, d_model 6, 3 heads, with biases",
            lambda g: module(g, 6, 3).call(g.randn(2, 5, 6)),
            weight=2,
        ),
        Case(
            "cross-attention",
            "3 queries from x look at 5 words of context",
            lambda g: module(g, 6, 3).call(g.randn(2, 3, 6), context=g.randn(2, 5, 6)),
            weight=2,
        ),
        Case(
            "no bias",
            "bias=False leaves four matrices and nothing else; weights and x are float64, and so is the result",
            lambda g: module(g, 6, 2, bias=False).call(g.randn(1, 4, 6)).double(),
        ),
        Case(
            "mask per query",
            "word t sees words 0 to t: a (T, T) mask",
            lambda g: module(g, 8, 4).call(g.randn(2, 5, 8), mask=torch.ones(5, 5).tril().bool()),
        ),
        Case(
            "mask per key",
            "the second sentence has 2 words only: a (B, 1, 1, T) mask",
            lambda g: module(g, 6, 3).call(g.randn(2, 4, 6), mask=_padding([True] * 4, [True, True, False, False])),
        ),
        Case(
            "empty sentence",
            "the second sentence has no words at all: its rows are o_proj's bias, not NaN",
            lambda g: module(g, 6, 2).call(g.randn(2, 3, 6), mask=_padding([True, True, False], [False] * 3)),
        ),
        Case(
            "context and mask",
            "queries look at 5 words of context, and a mask of shape (B, H, T, S) hides other keys in every head",
            lambda g: module(g, 6, 3).call(g.randn(2, 4, 6), context=g.randn(2, 5, 6), mask=_per_head(g, 2, 3, 4, 5)),
            weight=2,
        ),
        Case(
            "gradients",
            "gradients reach x, the context and all eight parameters",
            lambda g: module(g, 6, 2).call(
                g.randn(1, 3, 6), context=g.randn(1, 4, 6), grad=[0, "context"], params=True
            ),
        ),
        Case(
            "does not fit",
            "d_model 6 cannot be shared by 4 heads: the constructor raises ValueError",
            lambda g: Program().new("MultiHeadAttention", 6, 4),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "no_output_projection",
            layers.wrong(join=lambda self, heads: ref.merge_heads(heads)),
            "The merged heads are returned as they are. o_proj comes last: it mixes what the heads found.",
        ),
        Mutant(
            "viewed",
            layers.wrong(forward=layers.viewed_forward),
            "The heads are cut without a transpose, so a head sees whole words instead of a slice of every word. "
            "Use your split_heads and merge_heads.",
        ),
        Mutant(
            "one_head",
            layers.wrong(forward=layers.one_head),
            "All features go through one single attention, so n_heads plays no part. Split q, k and v into heads "
            "first.",
        ),
        Mutant(
            "scaled_by_model",
            layers.wrong(attend=lambda self, q, k, v, mask: layers.attend(q / math.sqrt(self.n_heads), k, v, mask)),
            "The scores are divided by √d_model. Each head has D = d_model/H numbers: divide by √D, as your "
            "scaled_dot_product_attention does after the split.",
        ),
        Mutant(
            "unscaled",
            layers.wrong(attend=lambda self, q, k, v, mask: layers.attend(q * math.sqrt(q.shape[-1]), k, v, mask)),
            "The scores are not divided by √D. Check your scaled_dot_product_attention: this module is built on it.",
        ),
        Mutant(
            "context_ignored",
            layers.wrong(project=lambda self, x, c: (self.q_proj(x), self.k_proj(x), self.v_proj(x))),
            "The context is never looked at. Where it is given, keys and values come from context, and only "
            "queries from x.",
        ),
        Mutant(
            "context_or",
            layers.wrong(layers.Checked, choose=lambda self, x, context: context or x),
            "`context or x` and `if context` ask whether a whole tensor is true, which has no answer. Write "
            "`x if context is None else context`.",
        ),
        Mutant(
            "values_from_x",
            layers.wrong(project=lambda self, x, c: (self.q_proj(x), self.k_proj(c), self.v_proj(x))),
            "Keys come from context, but values from x. A key and its value belong to the same word: make both "
            "from context.",
        ),
        Mutant(
            "roles_swapped",
            layers.wrong(project=lambda self, x, c: (self.q_proj(c), self.k_proj(x), self.v_proj(x))),
            "Roles are swapped: queries come from context, keys and values from x. x asks, so x makes the queries; "
            "the context answers.",
        ),
        Mutant(
            "one_projection",
            layers.wrong(project=lambda self, x, c: (self.q_proj(x), self.q_proj(c), self.v_proj(c))),
            "The keys are made with q_proj. Keys have a matrix of their own, k_proj; sharing it makes every score "
            "table symmetric.",
        ),
        Mutant(
            "mask_ignored",
            layers.wrong(attend=lambda self, q, k, v, mask: layers.attend(q, k, v)),
            "The mask is never used. Pass it on to scaled_dot_product_attention.",
        ),
        Mutant(
            "mask_dropped_with_context",
            layers.wrong(forward=layers.mask_without_context),
            "Where a context is given the mask is dropped. It hides keys of the context just as well: pass it on in "
            "both cases.",
        ),
        Mutant(
            "first_heads_mask",
            layers.wrong(attend=layers.with_first_heads_mask),
            "All heads use the first head's mask. A (B, H, T, S) mask has one for each head: pass it on as it is.",
        ),
        Mutant(
            "nan_on_empty",
            layers.wrong(layers.Checked, attend=layers.nan_on_empty),
            "A sentence without words gives NaN. Attend with your scaled_dot_product_attention: its masked_softmax "
            "gives zeros where nothing is allowed.",
        ),
        Mutant(
            "always_bias",
            layers.wrong(__init__=layers.always_bias),
            "There are biases even with bias=False. Pass bias on to every one of the four nn.Linear, o_proj too.",
        ),
        Mutant(
            "other_names",
            layers.wrong(__init__=layers.other_names),
            "The weights do not fit the module. It needs four nn.Linear(d_model, d_model), named q_proj, k_proj, "
            "v_proj and o_proj, and nothing else.",
        ),
        Mutant(
            "unchecked",
            layers.wrong(),
            "The constructor accepts sizes that do not fit. Raise a ValueError when n_heads does not divide d_model.",
        ),
        Mutant(
            "split_viewed",
            layers.wrong(forward=layers.joined(split_viewed, ref.merge_heads)),
            "q, k and v are reshaped straight to (B, H, T, D), so a head gets whole words. Split with your "
            "split_heads: (B, T, H, D) first, then swap axes 1 and 2.",
        ),
        Mutant(
            "merge_viewed",
            layers.wrong(forward=layers.joined(ref.split_heads, merge_viewed)),
            "The heads are joined without swapping axes back, so a word gets numbers of other words. Use your "
            "merge_heads.",
        ),
        Mutant(
            "interleaved",
            layers.wrong(forward=layers.joined(layers.split_interleaved, layers.merge_interleaved)),
            "Head h gets every H-th number. It owns the block hD to (h+1)D − 1: use your split_heads and merge_heads.",
        ),
        Mutant(
            "interleaved_split",
            layers.wrong(forward=layers.joined(layers.split_interleaved, ref.merge_heads)),
            "The split gives head h every H-th number. It owns the block hD to (h+1)D − 1: use your split_heads.",
        ),
        Mutant(
            "interleaved_merge",
            layers.wrong(forward=layers.joined(ref.split_heads, layers.merge_interleaved)),
            "The numbers of the heads are joined alternately. Those of head 0 come first, all of them: use your "
            "merge_heads.",
        ),
        Mutant(
            "first_head_only",
            layers.wrong(forward=layers.first_head_only),
            "q, k and v are never cut into heads: one head has all d_model numbers. Use your split_heads before the "
            "attention and merge_heads after it.",
        ),
        Mutant(
            "no_head_axis",
            layers.wrong(forward=layers.no_head_axis),
            "q, k and v go into the attention without a head axis, and a mask for heads does not fit them. Split them "
            "first, and merge the result.",
        ),
        Mutant(
            "one_length",
            layers.wrong(layers.Checked, forward=layers.one_length),
            "Keys and values are reshaped with the length of x. The context has a length of its own: take it from "
            "their shape, or use your split_heads.",
        ),
        Mutant(
            "scaled_twice",
            layers.wrong(attend=lambda self, q, k, v, mask: layers.attend(q / math.sqrt(q.shape[-1]), k, v, mask)),
            "The scores are divided by D, by √D twice. Your scaled_dot_product_attention scales already.",
        ),
        Mutant(
            "keys_from_x",
            layers.wrong(layers.Checked, project=lambda self, x, c: (self.q_proj(x), self.k_proj(x), self.v_proj(c))),
            "Values come from context, but keys from x. A key and its value belong to the same word: make both from "
            "context.",
        ),
        Mutant(
            "all_from_context",
            layers.wrong(project=lambda self, x, c: (self.q_proj(c), self.k_proj(c), self.v_proj(c))),
            "Queries come from context too, so x is not looked at. x asks: make the queries from x.",
        ),
        Mutant(
            "values_of_k_proj",
            layers.wrong(project=lambda self, x, c: (self.q_proj(x), self.k_proj(c), self.k_proj(c))),
            "The values are made with k_proj, and v_proj is never used. Values have a matrix of their own.",
        ),
        Mutant(
            "keys_of_v_proj",
            layers.wrong(project=lambda self, x, c: (self.q_proj(x), self.v_proj(c), self.v_proj(c))),
            "The keys are made with v_proj, and k_proj is never used. Keys have a matrix of their own.",
        ),
        Mutant(
            "only_q_proj",
            layers.wrong(project=lambda self, x, c: (self.q_proj(x), self.q_proj(c), self.q_proj(c))),
            "Keys and values are made with q_proj. Each has a matrix of its own: k_proj and v_proj.",
        ),
        Mutant(
            "raw_values",
            layers.wrong(project=lambda self, x, c: (self.q_proj(x), self.k_proj(c), c)),
            "The values are the words themselves. They go through v_proj first.",
        ),
        Mutant(
            "keys_and_values_exchanged",
            layers.wrong(project=lambda self, x, c: (self.q_proj(x), self.v_proj(c), self.k_proj(c))),
            "Keys and values are exchanged: k_proj makes the keys, v_proj the values, and the attention takes q, k, v "
            "in this order.",
        ),
        Mutant(
            "mask_inverted",
            layers.wrong(
                attend=lambda self, q, k, v, mask: layers.attend(q, k, v, mask if mask is None else ~mask),
            ),
            "The mask is turned round before it is passed on. True means may look everywhere in this unit: pass it on "
            "as it is.",
        ),
        Mutant(
            "mask_unsqueezed",
            layers.wrong(
                layers.Checked,
                attend=lambda self, q, k, v, mask: layers.attend(q, k, v, mask if mask is None else mask[:, None]),
            ),
            "The mask gets one more axis. It broadcasts to (B, H, T, S) as it is: pass it on unchanged.",
        ),
        Mutant(
            "mask_dropped_without_context",
            layers.wrong(forward=layers.mask_without_self),
            "Where no context is given the mask is dropped. Self-attention needs it just as well: pass it on in both "
            "cases.",
        ),
        Mutant(
            "never_bias",
            layers.wrong(__init__=layers.never_bias),
            "The four layers have no biases, though bias is True. Pass bias on to every nn.Linear.",
        ),
        Mutant(
            "head_sizes",
            layers.wrong(__init__=layers.head_sizes),
            "q_proj, k_proj and v_proj have the size of one head. All heads share a matrix: nn.Linear(d_model, "
            "d_model), which is split afterwards.",
        ),
        Mutant(
            "residual",
            layers.wrong(forward=layers.residual),
            "x is added to the result. The skip connection belongs to the block around this layer: return o_proj's "
            "output alone.",
        ),
        Mutant(
            "pair_returned",
            layers.wrong(forward=layers.pair_returned),
            "forward returns a tuple. Return o_proj's output alone.",
        ),
        *layers.MORE_ABOUT_HEADS,
    ],
)
