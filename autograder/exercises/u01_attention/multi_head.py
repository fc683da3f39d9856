"""The module: four projections around attention in heads."""

import math

import torch
from torch import Tensor, nn

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source
from autograder.reference import attention as ref

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
        if n_heads <= 0 or d_model % n_heads != 0:
            raise ValueError(f"{n_heads} heads do not fit {d_model}")
        self.n = n_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d_model, d_model, bias=bias) for _ in range(4))

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        q, k, v = (p.unflatten(-1, (self.n, -1)) for p in (self.q_proj(x), self.k_proj(context), self.v_proj(context)))
        scores = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(-1).nan_to_num(0.0)
        return self.o_proj(torch.einsum("bhts,bshd->bthd", weights, v).flatten(2))


def _attend(q, k, v, mask=None):
    # As a learner writes it: without the reference's checks, so that errors read like theirs.
    return ref.softmax(_masked_scores(q, k, mask)) @ v


def _masked_scores(q, k, mask):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


class _Wrong(ref.MultiHeadAttention):
    """The layer in four steps, so that each mistake below can replace one of them; sizes are not checked."""

    def __init__(self, d_model, n_heads, bias=True):
        super().__init__(d_model, 1, bias)
        self.n_heads = n_heads

    def choose(self, x, context):
        return x if context is None else context

    def project(self, x, context):
        return self.q_proj(x), self.k_proj(context), self.v_proj(context)

    def attend(self, q, k, v, mask):
        return _attend(q, k, v, mask)

    def join(self, heads):
        return self.o_proj(ref.merge_heads(heads))

    def forward(self, x, context=None, mask=None):
        q, k, v = (ref.split_heads(p, self.n_heads) for p in self.project(x, self.choose(x, context)))
        return self.join(self.attend(q, k, v, mask))


def wrong(base=_Wrong, **methods):
    # Named like the learner's class: torch puts the name into its load errors, which are part of a fingerprint.
    return type("MultiHeadAttention", (base,), methods)


def _viewed_forward(self, x, context=None, mask=None):
    q, k, v = (split_viewed(p, self.n_heads) for p in self.project(x, x if context is None else context))
    return self.o_proj(merge_viewed(self.attend(q, k, v, mask)))


def _one_head(self, x, context=None, mask=None):
    q, k, v = (p[:, None] for p in self.project(x, x if context is None else context))
    return self.join(self.attend(q, k, v, mask))


def _always_bias(self, d_model, n_heads, bias=True):
    _Wrong.__init__(self, d_model, n_heads, True)


def _other_names(self, d_model, n_heads, bias=True):
    nn.Module.__init__(self)
    self.W_q = nn.Linear(d_model, d_model, bias=bias)


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


EXERCISE = Exercise(
    id="attention.multi_head",
    unit="01-attention",
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
            "bias=False leaves four matrices and nothing else",
            lambda g: module(g, 6, 2, bias=False).call(g.randn(1, 4, 6)),
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
            "does not fit",
            "d_model 6 cannot be shared by 4 heads: the constructor raises ValueError",
            lambda g: Program().new("MultiHeadAttention", 6, 4),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "no_output_projection",
            wrong(join=lambda self, heads: ref.merge_heads(heads)),
            "The merged heads are returned as they are. o_proj comes last: it mixes what the heads found.",
        ),
        Mutant(
            "viewed",
            wrong(forward=_viewed_forward),
            "The heads are cut without a transpose, so a head sees whole words instead of a slice of every word. "
            "Use your split_heads and merge_heads.",
        ),
        Mutant(
            "one_head",
            wrong(forward=_one_head),
            "All features go through one single attention, so n_heads plays no part. Split q, k and v into heads "
            "first.",
        ),
        Mutant(
            "scaled_by_model",
            wrong(attend=lambda self, q, k, v, mask: _attend(q / math.sqrt(self.n_heads), k, v, mask)),
            "The scores are divided by √d_model. Each head has D = d_model/H numbers: divide by √D, as your "
            "scaled_dot_product_attention does after the split.",
        ),
        Mutant(
            "unscaled",
            wrong(attend=lambda self, q, k, v, mask: _attend(q * math.sqrt(q.shape[-1]), k, v, mask)),
            "The scores are not divided by √D. Check your scaled_dot_product_attention (exercise 2): this module "
            "is built on it.",
        ),
        Mutant(
            "context_ignored",
            wrong(project=lambda self, x, c: (self.q_proj(x), self.k_proj(x), self.v_proj(x))),
            "The context is never looked at. Where it is given, keys and values come from context, and only "
            "queries from x.",
        ),
        Mutant(
            "context_or",
            wrong(choose=lambda self, x, context: context or x),
            "`context or x` asks whether a whole tensor is true, which has no answer. Write "
            "`x if context is None else context`.",
        ),
        Mutant(
            "values_from_x",
            wrong(project=lambda self, x, c: (self.q_proj(x), self.k_proj(c), self.v_proj(x))),
            "Keys come from context, but values from x. A key and its value belong to the same word: make both "
            "from context.",
        ),
        Mutant(
            "roles_swapped",
            wrong(project=lambda self, x, c: (self.q_proj(c), self.k_proj(x), self.v_proj(x))),
            "Roles are swapped: queries come from context, keys and values from x. x asks, so x makes the queries; "
            "the context answers.",
        ),
        Mutant(
            "one_projection",
            wrong(project=lambda self, x, c: (self.q_proj(x), self.q_proj(c), self.v_proj(c))),
            "The keys are made with q_proj. Keys have a matrix of their own, k_proj; sharing it makes every score "
            "table symmetric.",
        ),
        Mutant(
            "mask_ignored",
            wrong(attend=lambda self, q, k, v, mask: _attend(q, k, v)),
            "The mask is never used. Pass it on to scaled_dot_product_attention.",
        ),
        Mutant(
            "nan_on_empty",
            wrong(attend=lambda self, q, k, v, mask: _masked_scores(q, k, mask).softmax(-1) @ v),
            "A sentence without words gives NaN. Attend with your scaled_dot_product_attention: its masked_softmax "
            "gives zeros where nothing is allowed.",
        ),
        Mutant(
            "always_bias",
            wrong(__init__=_always_bias),
            "The four layers have biases even with bias=False. Pass bias on to every nn.Linear.",
        ),
        Mutant(
            "other_names",
            wrong(__init__=_other_names),
            "The weights do not fit the module. It needs four nn.Linear(d_model, d_model), named q_proj, k_proj, "
            "v_proj and o_proj, and nothing else.",
        ),
        Mutant(
            "unchecked",
            wrong(),
            "The constructor accepts sizes that do not fit. Raise a ValueError when n_heads does not divide d_model.",
        ),
    ],
)
