"""A decoder from a configuration: positions, masks, caches, the last norm and the head."""

from collections.abc import Callable

import torch
from anatomy.models import config
from torch import nn

from autograder.judge.spec import Case, Exercise, Fn, Program, Ref, Source
from autograder.reference.assembly.attention import Attention
from autograder.reference.assembly.block import Block
from autograder.reference.assembly.decoder import Decoder
from autograder.reference.assembly.embeddings import Embeddings
from autograder.reference.assembly.pieces import make_ffn, make_norm
from autograder.reference.masks import left_padded, right_padded

from ._decoder import MISTAKES
from .shared import SLIM, SLIM_LLAMA, Config, bounds, gpt, llama, made, weights


class OnePass(nn.Module):
    """Correct: masks written out in the loop, the head as a function."""

    def __init__(self, c, attention=Attention, ffn=make_ffn):
        super().__init__()
        self.n, self.w, self.every = c["n_layers"], c["window"], c["window_every"]
        self.embeddings = Embeddings(c)
        self.blocks = nn.ModuleList([Block(each, attention=attention, ffn=ffn) for each in [c] * self.n])
        self.final_norm = None if c["placement"] == "post" else make_norm(c)
        self.head = None if c["tied"] else nn.Linear(c["d_model"], c["vocab"], bias=False)

    def forward(self, ids, real=None, past=None):
        B, T = ids.shape
        S = T if past is None else T + {v.shape[-2] for _, v in past}.pop()  # all layers hold as many
        real = torch.ones((B, S), dtype=torch.bool) if real is None else real
        place = torch.relu(torch.cumsum(real, 1) - 1)[:, -T:]
        columns = torch.arange(S)
        gap = columns[-T:, None] - columns
        x = self.embeddings(ids, place)
        pairs = []
        for i in range(self.n):
            w = self.w if self.w is not None and i % self.every == 0 else S
            mask = (gap >= 0) & (gap < w) & (real[:, None, None] | (gap == 0))
            x, pair = self.blocks[i](x, mask, place, None if past is None else past[i])
            pairs += [pair]
        x = x if self.final_norm is None else self.final_norm(x)
        return x @ (self.embeddings.tokens if self.head is None else self.head).weight.T, pairs


class TokenByToken(Decoder):
    """Correct, and slow: one column after the other, each with the past of those before."""

    def forward(self, ids, real=None, past=None):
        out = []
        for t, token in enumerate(ids.T):
            so_far = None if real is None else real[:, : real.shape[1] - ids.shape[1] + t + 1]
            logits, past = super().forward(token[:, None], so_far, past)
            out.append(logits)
        return torch.cat(out, dim=1), past


def _new(g: Source, c: Config) -> Program:
    return made(g, "Decoder", Decoder, c)


def _ids(g: Source, c: Config, B: int, T: int) -> torch.Tensor:
    return g.integers(0, c["vocab"], B, T)


def _whole(c: Config, B: int = 2, T: int = 5) -> Callable[[Source], Program]:
    return lambda g: _new(g, c).call(_ids(g, c, B, T))


def _padded(c: Config, pad: Callable[..., torch.Tensor]) -> Callable[[Source], Program]:
    """Three texts, each with some padding."""

    def build(g):
        return _new(g, c).call(_ids(g, c, 3, 6), real=pad(g.integers(1, 5, 3), 6))

    return build


def _chunks(c: Config, plan: list[int], is_padded: bool = False) -> Callable[[Source], Program]:
    """A text in pieces, each call with what the one before returned."""

    def build(g):
        program, T = _new(g, c), sum(plan)
        real = left_padded(torch.tensor([T - 3, T - 1]), T)
        for i, (a, b) in enumerate(bounds(plan)):
            given = {"real": real[:, :b]} if is_padded else {}
            given |= {"past": Ref(i, 1)} if i else {}
            program.call(_ids(g, c, 2, b - a), **given)
        return program

    return build


def _texts(g: Source) -> Program:
    """Two ways on from one past, and a text of its own: nothing that a call leaves behind may count for another."""
    c = gpt(**SLIM)
    program = _new(g, c).call(_ids(g, c, 2, 1)).call(_ids(g, c, 2, 3), past=Ref(1, 1))
    return program.call(_ids(g, c, 2, 2), past=Ref(1, 1)).call(_ids(g, c, 2, 1))


def _toys(g: Source) -> Program:
    c = llama(n_layers=3, norm="layer", eps=0.1)
    names = [f"blocks.{i}.{part}_norm" for i in range(3) for part in ("attention", "ffn")] + ["final_norm"]
    state = {f"{n}.{k}": g.uniform(12, low=0.5, high=1.5) for n in names for k in ("weight", "bias")}
    state["embeddings.tokens.weight"] = g.randn(13, 12)
    new = Program().new("Decoder", c, Fn("toy_attention"), Fn("toy_ffn"), state=state)
    return new.call(_ids(g, c, 2, 3)).call(_ids(g, c, 2, 2), past=Ref(1, 1))


def _toy_ffn(g: Source) -> Program:
    """Attention by default, the other sublayer from outside."""
    c = llama(n_layers=1)
    state = {n: t for n, t in _weights_of(g, c).items() if ".ffn." not in n}
    return Program().new("Decoder", c, ffn=Fn("toy_ffn"), state=state).call(_ids(g, c, 2, 4))


def _toy_attention(g: Source) -> Program:
    c = llama(n_layers=1)
    state = {n: t for n, t in _weights_of(g, c).items() if ".attention." not in n}
    return Program().new("Decoder", c, attention=Fn("toy_attention"), state=state).call(_ids(g, c, 2, 4))


def _weights_of(g: Source, c: Config) -> dict[str, torch.Tensor]:
    return weights(g, Decoder(c))


def _by_hand(g: Source) -> Program:
    """Attention and feed-forward layers that add nothing: the logits are products of rows of one table."""
    c = config(vocab=3, d_model=2, n_layers=1, n_heads=1, d_ff=2, placement="post", norm="layer", eps=0.0)
    state = {n: torch.zeros_like(t) for n, t in Decoder(c).state_dict().items()}
    state |= {n: torch.ones(2) for n in state if n.endswith("norm.weight")}
    state["embeddings.tokens.weight"] = torch.tensor([[0.0, 1.0], [1.0, 0.0], [3.0, -3.0]])
    return Program().new("Decoder", c, state=state).call(torch.tensor([[0, 1, 2]]))


def _gradients(c: Config) -> Callable[[Source], Program]:
    def build(g):
        B, T = 2, 4
        new, ids = _new(g, c), _ids(g, c, B, T)
        ids[1, 2] = 0
        return new.call(ids, params=True, cotangent=g.randn(B, T, c["vocab"]))

    return build


def _too_long(g: Source) -> Program:
    """Nine places, ten tokens."""
    c = gpt(n_layers=1)
    return _new(g, c).call(_ids(g, c, 2, 10))


def _long_with_padding(g: Source) -> Program:
    """Eleven columns, at most nine of them words."""
    c = gpt(n_layers=1)
    return _new(g, c).call(_ids(g, c, 3, 11), left_padded(g.integers(4, 10, 3), 11))


# Where every layer's keys and values come back several times.
THIN, THIN_LLAMA = SLIM | {"n_layers": 2}, SLIM_LLAMA | {"n_layers": 2}
WINDOWS = llama(**SLIM_LLAMA | {"n_layers": 3}, window=2, window_every=2, max_positions=40)

EXERCISE = Exercise(
    id="assembly.decoder",
    title="A decoder",
    points=3,
    difficulty=4,
    minutes=14,
    signature="Decoder(c, attention=Attention, ffn=make_ffn)",
    reference=Decoder,
    alternatives=[OnePass, TokenByToken],
    cases=[
        Case("by hand", "layers that add nothing: vectors become (−1, 1) or (1, −1), logits are products", _by_hand),
        Case("llama", "two blocks with RMSNorm, RoPE and a gate; 4 query heads on 2; tied", _whole(llama()), weight=2),
        Case("gpt", "learned positions, LayerNorm, biases, no gate; tied", _whole(gpt())),
        Case(
            "own head",
            "the head has weights of its own; one text of one token",
            _whole(llama(tied=False, n_layers=1), 1, 1),
        ),
        Case("post", "Post-LN: no norm after the last block", _whole(gpt(placement="post", n_layers=1, eps=0.1))),
        Case("olmo", "norms inside, then a last norm", _whole(llama(placement="inside", tied=False, n_layers=1), 1, 4)),
        Case("gemma", "four norms per block", _whole(llama(placement="both", n_layers=1))),
        Case("left", "three texts padded on the left, RoPE", _padded(llama(**THIN_LLAMA), left_padded)),
        Case("right", "three texts padded on the right, learned positions", _padded(gpt(**SLIM), right_padded)),
        Case(
            "left places",
            "three texts padded on the left, learned positions",
            _padded(gpt(**THIN), left_padded),
            weight=2,
        ),
        Case(
            "chunks",
            "2, 3 and 1 tokens, each with the past from before",
            _chunks(llama(**THIN_LLAMA), [2, 3, 1]),
            weight=2,
        ),
        Case(
            "two ways on",
            "a token, then three with its past, then two others with the same past, and last a text of its own",
            _texts,
        ),
        Case(
            "padded chunks",
            "3 and 2 tokens in float64; the first three of one text are padding",
            lambda g: _chunks(gpt(**THIN), [3, 2], True)(g).double(),
            weight=2,
        ),
        Case("windows", "three layers, the first and the third see two keys", _whole(WINDOWS, 2, 6)),
        Case(
            "windows in chunks", "two layers, 3 and 3 tokens, padded", _chunks({**WINDOWS, "n_layers": 2}, [3, 3], True)
        ),
        Case("window in every layer", "both layers see three keys", _whole(llama(window=3), 1, 6)),
        Case("toys", "sublayers made by the two functions that are handed in, with a past", _toys),
        Case("toy ffn", "only the feed-forward layer is handed in", _toy_ffn, weight=0.5),
        Case("toy attention", "only attention is handed in", _toy_attention, weight=0.5),
        Case(
            "gradients", "gradients reach every weight of a LLaMA, through a tied head", _gradients(llama(**SLIM_LLAMA))
        ),
        Case("more gradients", "and of a GPT whose head is its own", _gradients(gpt(**SLIM, tied=False)), weight=0.5),
        Case("wide batch", "eleven columns with padding, at most nine words: they fit nine places", _long_with_padding),
        Case("too long", "ten words for nine learned places raise ValueError", _too_long, weight=0.5),
    ],
    mutants=MISTAKES,
)
