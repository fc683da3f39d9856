# %% [markdown]
# # Assembly: from parts to models
#
# **You will be able to**
#
# - put your own parts together into a LLaMA that equals the real one;
# - read from a configuration what is computed, and with how many numbers;
# - add a family as one small class, and see where families differ.
#
# **Prerequisites:** units 01 to 04 and 06 to 08; for the extensions unit 05. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# A file contains a language model of 6,738,415,616 numbers. A note says that it has 32,000 tokens, width 4,096, 32 blocks, 32 query heads, gated feed-forward layers 11,008 wide, and no biases.
#
# However, the note forgets how many key-value heads there are, and whether the head, which scores the tokens at the end, is a separate matrix or the table of the embedding, used a second time. The count alone gives both away.

# %% setup=true
import math
import re

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from anatomy import case, check, parts, predict, progress, quiz, reveal
from anatomy.cost import Meter
from anatomy.experiments import named_models
from anatomy.language import shipped
from anatomy.models import config, has_window
from anatomy.models.compare import compare_all
from anatomy.plots import described, use_style
from anatomy.widgets import AnatomyView, ModelAtlas
from torch import nn

# %%
use_style()

# %%
predict("assembly.p1", "6,738,415,616 numbers. Which model is it?",
        ["32 key-value heads, a separate head", "8 key-value heads, a separate head",
         "32 key-value heads, the embedding as head"])

# %% [markdown]
# Keep your guess until section 7, where your own model decides.

# %% [markdown]
# ## 1. Your parts
#
# You have already written everything in LLaMA that computes something. This unit adds the wires, a few lines that pass the result of one part to the next.
#
# | part | unit | written by you |
# |---|---|---|
# | norm | 02 | `rms_norm` |
# | where the norms sit | 03 | `pre_ln`, `post_ln`, `sandwich`, `norm_inside` |
# | gated feed-forward layer | 04 | `GatedFeedForward` |
# | rotary positions | 06 | `apply_rope_half` |
# | shared key-value heads | 08 | `repeat_kv`, `grouped_attention` |

# %% [markdown]
# Which of these parts are done? The next cell takes your answers out of the notebooks next to this one, runs them and judges them.

# %%
parts.show("norm.rms_norm", "placement.post_and_pre", "placement.variants", "ffn.gated", "rope.apply_rope_half", "cache.grouped")

# %% [markdown] statement="assembly.parts"
# Run the cell with `parts.bring` once: your code from units 02, 04, 06 and 08 then replaces that line. Run it again to define the functions. Write here whatever your notebooks lack; the check is that of those units.
#
# The parts are copied and not imported, so that you can change one here and watch the whole model change.

# %% setup=true
def rms_norm(*args, **kwargs):
    raise NotImplementedError("assembly.parts: your code goes here")
apply_rope_half = repeat_kv = grouped_attention = GatedFeedForward = rms_norm  # until yours are below

# %% exercise="assembly.parts" bring="norm.rms_norm rope.apply_rope_half cache.grouped ffn.gated"
### BEGIN SOLUTION
def rms_norm(x, weight, eps=1e-6):
    return weight * x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps)
def apply_rope_half(x, position_ids, base=10000.0):
    wide = torch.promote_types(x.dtype, torch.float32)
    theta = base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = position_ids[..., None] * theta.to(wide)
    angles = angles.unsqueeze(1) if position_ids.dim() == 2 else angles
    (a, b), cos, sin = x.chunk(2, -1), angles.cos(), angles.sin()
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)

def repeat_kv(x, n):
    return x.repeat_interleave(n, dim=1)
def grouped_attention(q, k, v, mask=None):
    if q.shape[1] % k.shape[1]:
        raise ValueError(f"{k.shape[1]} key-value heads cannot serve {q.shape[1]} query heads")
    k, v = (repeat_kv(x, q.shape[1] // k.shape[1]) for x in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(-1) @ v

class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.activation = activation
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
    def forward(self, x):
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))
### END SOLUTION

# %% [markdown] hints="assembly.parts"
# 1. You don't have to invent anything. If the line was not replaced, the text below the cell says which notebook lacks which answer, and where to find it.
# 2. Open that unit, finish the exercise until its check passes, save, and run the cell here again. Or copy the answer over by hand, with the functions that it calls.
# 3. `def rms_norm(x, weight, eps=1e-6): …`, `def apply_rope_half(x, position_ids, base=10000.0): …`, `def repeat_kv(x, n): …`, `def grouped_attention(q, k, v, mask=None): …`, `class GatedFeedForward(nn.Module): …`.

# %% [markdown] worth="assembly.parts"
# Hugging Face's library copies as well: as a policy, the file of each model repeats norm and attention in full. So whoever reads one model needs no other file, and a change to LLaMA cannot break Qwen.

# %% [markdown] statement="assembly.wirings"
# Bring the four ways to place the norms from unit 03 as well: `post_ln(x, sublayer, norm)`, `pre_ln` and `norm_inside` with the same arguments, and `sandwich(x, sublayer, norm_in, norm_out)`. Again, run the cell twice.

# %% setup=true
def post_ln(*args, **kwargs):
    raise NotImplementedError("assembly.wirings: your code goes here")
pre_ln = sandwich = norm_inside = post_ln  # until yours are below

# %% exercise="assembly.wirings" bring="placement.post_and_pre placement.variants"
### BEGIN SOLUTION
def post_ln(x, sublayer, norm):
    return norm(x + sublayer(x))


def pre_ln(x, sublayer, norm):
    return x + sublayer(norm(x))


def sandwich(x, sublayer, norm_in, norm_out):
    return x + norm_out(sublayer(norm_in(x)))


def norm_inside(x, sublayer, norm):
    return x + norm(sublayer(x))
### END SOLUTION

# %% [markdown] hints="assembly.wirings"
# 1. Each is one line around the plus. Which of the four normalize before the sublayer, and which after it?
# 2. Post-LN normalizes the sum. Pre-LN normalizes what the sublayer reads, the inside norm normalizes what the sublayer returns, and the sandwich does both. The last three add to the bare `x`.
# 3. `return norm(x + …)`, `return x + sublayer(…)`, `return x + norm(…)`, `return x + norm_out(sublayer(…))`.

# %% [markdown] worth="assembly.wirings"
# In three of the four wirings, an $x$ travels from the embedding to the last block with nothing but additions on its way. Only Post-LN has a norm on that road, which is why it alone needs no norm after the last block.

# %% [markdown]
# ## 2. A configuration chooses
#
# How can the same code be LLaMA or GPT-2? A *configuration* tells it which norm, how many heads and which widths to use. That is why a released model consists of three files: its numbers, its configuration, and a tokenizer, which unit 12 needs. Here the configuration is a dict, and `config` fills in from a small LLaMA whatever you don't say.

# %%
c = config(d_model=8, n_heads=4, n_kv_heads=2)
{key: c[key] for key in ("d_model", "n_heads", "n_kv_heads", "head_dim", "d_ff", "norm", "placement", "position", "tied")}

# %% [markdown]
# When your parts meet, they don't fit together in three places. The first mismatch is the norm: unit 03's block always made an `nn.LayerNorm`, whereas LLaMA wants RMSNorm, and a block should not have to care.
#
# ### Worked example
#
# LayerNorm moves the vector (3, 4) to mean 0, while RMSNorm only divides it by $\sqrt{(9 + 16)/2} = 3.54$, so that its direction stays the same.

# %%
x = torch.tensor([3.0, 4.0])
print(nn.LayerNorm(2)(x).tolist(), rms_norm(x, torch.ones(2)).tolist())

# %% [markdown]
# The plain feed-forward layer is given, and so is a table of activations, because a configuration names its activation by a word, such as `"silu"`.

# %% setup=true
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
               "silu": F.silu, "squared_relu": lambda x: F.relu(x) ** 2}

class FeedForward(nn.Module):
    """down_proj(activation(up_proj(x))): no gate."""

    def __init__(self, d_model, d_ff, activation, bias):
        super().__init__()
        self.activation = activation
        self.up_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.down_proj = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x):
        return self.down_proj(self.activation(self.up_proj(x)))

# %% [markdown] statement="assembly.pieces"
# Write the three pieces that a configuration chooses. Like all later modules, they keep the dtype of their weights.
#
# - `RMSNorm(d, eps)` is a module around **your** `rms_norm`, with one parameter `weight`, ones of shape $(d)$.
# - `make_norm(c)` builds `NORMS[c["norm"]]` with width `c["d_model"]` and ε `c["eps"]`.
# - `make_ffn(c)` builds a `GatedFeedForward` where `c["gated"]` is true, else a `FeedForward`, with biases if `c["ffn_bias"]` says so. Both get `c["d_model"]`, `c["d_ff"]` and `ACTIVATIONS[c["activation"]]`.

# %% exercise="assembly.pieces"
class RMSNorm(nn.Module):
    """rms_norm with a weight of its own (arXiv:1910.07467)."""

    def __init__(self, d, eps=1e-6):
        super().__init__()
        ### BEGIN SOLUTION
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        return rms_norm(x, self.weight, self.eps)
        ### END SOLUTION


NORMS = {"layer": nn.LayerNorm, "rms": RMSNorm}

def make_norm(c):
    ### BEGIN SOLUTION
    return NORMS[c["norm"]](c["d_model"], c["eps"])
    ### END SOLUTION

def make_ffn(c):
    ### BEGIN SOLUTION
    sizes = c["d_model"], c["d_ff"], ACTIVATIONS[c["activation"]]
    return GatedFeedForward(*sizes) if c["gated"] else FeedForward(*sizes, c["ffn_bias"])
    ### END SOLUTION

# %% [markdown] hints="assembly.pieces"
# 1. `nn.Parameter` makes a tensor a weight, which training moves and which a checkpoint stores by its name. What else must the module remember?
# 2. In `__init__` keep `eps`, and `self.weight = nn.Parameter(torch.ones(d))`; `forward` passes both to `rms_norm`. `NORMS[c["norm"]]` is a class: call it with the width and ε. `make_ffn` chooses between two classes with one more `if`.
# 3. `return NORMS[c["norm"]](c["d_model"], …)` and `return GatedFeedForward(c["d_model"], c["d_ff"], ACTIVATIONS[c["activation"]])`, or `FeedForward(…, c["ffn_bias"])`.

# %% [markdown] worth="assembly.pieces"
# The table `NORMS` is the whole trick of a model zoo. A new norm is one entry in it, and no block changes. Gemma's norm, for example, multiplies by $1 + w$, so that weight decay, which pulls every $w$ toward 0, pulls the norm's factor toward 1.

# %% [markdown]
# Two configurations now lead to different pieces, first those of a small LLaMA, then those of a model like GPT-2.

# %%
for changes in ({}, {"norm": "layer", "gated": False, "ffn_bias": True, "d_ff": 32}):
    c = config(d_model=8, n_heads=4, **changes)
    names = [*make_norm(c).state_dict(), *make_ffn(c).state_dict()]
    print(sum(p.numel() for m in (make_norm(c), make_ffn(c)) for p in m.parameters()), "numbers in", ", ".join(names))

# %% [markdown]
# ## 3. From ids to vectors
#
# How does a token's id become a vector? It picks a row of a table. A model with learned positions adds a row of a second table, and BERT one of a third, the *segments*, which say whether the token belongs to the first or to the second of two texts.

# %% [markdown]
# ### Worked example
#
# There are four tokens with two numbers each. The ids 3 and 1 become two rows, to which the rows of positions 0 and 1 are added.

# %%
tokens = torch.tensor([[0.0, 0.0], [1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
positions = torch.tensor([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]])
tokens[[3, 1]] + positions[[0, 1]]

# %% [markdown]
# Later you will load released files into this module, and a strict loader accepts no tensor too many and none too few. Therefore the module must build exactly the tables that its configuration names. For example, these are the names in two real files.
#
# | yours | GPT-2's file | BERT's file |
# |---|---|---|
# | `tokens` | `wte.weight` | `embeddings.word_embeddings.weight` |
# | `positions` | `wpe.weight` | `embeddings.position_embeddings.weight` |
# | `segments` | has none | `embeddings.token_type_embeddings.weight` |
# | `norm` | has none | `embeddings.LayerNorm.weight`, `….bias` |

# %% [markdown]
# At the other end the model must say how well each token of the vocabulary fits its last vector. The cheapest way is to use the same table once more, by a product with each of its rows. Such a head is called **tied**, and it adds no weight to the model. (It is the method `logits` below, which is given.)

# %%
predict("assembly.p2", "ALBERT, a smaller BERT, has 30,000 tokens and width 768. Its table is only 128 wide, "
        "and one matrix widens the rows to 768. Compared with a full table, the two together hold…",
        ["half the numbers", "about a sixth", "about a hundredth"])

# %% [markdown] statement="assembly.embeddings"
# The five parts are given, each only where the configuration has it. A table that isn't there is `None`, and a step that isn't there is `nn.Identity()`. Write `forward`.
#
# - It adds up the rows of all tables that are there, and applies `norm`, then `widen`.
# - With `segments=None` every token belongs to segment 0.
# - A position beyond the last row of `positions` raises a `ValueError`. Without that table the argument is not used and may be `None`.

# %% exercise="assembly.embeddings"
class Embeddings(nn.Module):
    """Token + position + segment (arXiv:1810.04805), factorized where d_embedding < d_model (arXiv:1909.11942)."""

    def __init__(self, c):
        super().__init__()
        d = c["d_embedding"]
        self.tokens = nn.Embedding(c["vocab"], d)
        self.positions = nn.Embedding(c["max_positions"], d) if c["position"] == "learned" else None
        self.segments = nn.Embedding(c["n_segments"], d) if c["n_segments"] else None
        self.norm = nn.LayerNorm(d, c["eps"]) if c["embedding_norm"] else nn.Identity()
        self.widen = nn.Linear(d, c["d_model"]) if d != c["d_model"] else nn.Identity()

    def forward(self, ids, positions, segments=None):
        """ids, positions, segments (B, T) int64 → (B, T, d_model). segments=None: all 0; positions=None: no table."""
        ### BEGIN SOLUTION
        x = self.tokens(ids)
        if self.positions is not None:
            if positions.max() >= self.positions.num_embeddings:
                raise ValueError(f"positions end at {self.positions.num_embeddings - 1}, got {positions.max()}")
            x = x + self.positions(positions)
        if self.segments is not None:
            x = x + self.segments(torch.zeros_like(ids) if segments is None else segments)
        return self.widen(self.norm(x))
        ### END SOLUTION

    def logits(self, x):
        """x (B, T, d_embedding) → (B, T, vocab): the product with each token's vector."""
        return x @ self.tokens.weight.T

# %% [markdown] hints="assembly.embeddings"
# 1. Read `__init__` from top to bottom, which is the order of `forward` as well.
# 2. `forward` starts with `self.tokens(ids)`; each further table adds its rows if there is one. Compare the largest position with the table before you look it up. The norm comes after all sums, `widen` after the norm.
# 3. `x = x + self.positions(positions)`, `x = x + self.segments(torch.zeros_like(ids) if segments is None else segments)`, `return self.widen(self.norm(x))`.

# %% [markdown] worth="assembly.embeddings"
# Tying saves GPT-2 50,257 · 768 = 38.6 million numbers, a quarter of what it would have without. However, thrift is not the only reason: the models of [Press and Wolf 2016](https://arxiv.org/abs/1608.05859) predicted better with one table than with two.

# %%
count = lambda **changes: sum(p.numel() for p in Embeddings(config(
    vocab=30_000, d_model=768, n_heads=12, **changes)).parameters())

# %%
reveal("assembly.p2",
       lambda: f"{count(d_embedding=128):,} of {count():,}: {count(d_embedding=128) / count():.3f}",
       "30,000 rows of 128 are 3.84 million numbers, and the matrix adds 0.1 million. "
       "At width 4,096 the two would hold 28 times fewer numbers than a full table.",
       answer="about a sixth")

# %% [markdown]
# ## 4. One attention layer
#
# The second mismatch is attention, since unit 01's knows neither rotary positions nor shared key-value heads, while unit 08's cache has no weights. One layer has all of it, in five steps, with $H$ query heads and $G$ key-value heads of $D$ numbers, $T$ new tokens and $S$ in all.
#
# | step | shape |
# |---|---|
# | project `x` | $(B, T, H D)$, keys and values $(B, T, G D)$ |
# | split into heads | $(B, H, T, D)$, $(B, G, T, D)$ |
# | `prepare`: turn queries and keys | the same |
# | join the past | keys and values $(B, G, S, D)$ |
# | `attend`, merge, project | $(B, T, d_{model})$ |

# %% [markdown]
# ### Worked example
#
# Two tokens have $H D = 6$ numbers each, that is, three heads of two. `unflatten` cuts them into heads, and `transpose` puts heads before tokens. The same two steps in reverse lead back.

# %%
q = torch.arange(12.0).reshape(1, 2, 6)
heads = q.unflatten(-1, (3, 2)).transpose(1, 2)
print(heads.shape, heads[0, 1].tolist(), torch.equal(heads.transpose(1, 2).flatten(2), q))

# %% [markdown]
# Since families of models differ in `prepare` and `attend` alone, these two are methods, so that a subclass can replace one of them. `attend` is your `grouped_attention` and is given.

# %% [markdown] statement="assembly.attention"
# Write the layer with `q_proj`, `k_proj` and `v_proj` (biases as `c["attention_bias"]` says), `o_proj` (bias as `c["out_bias"]` says), and two methods.
#
# - `prepare` turns queries and keys with `c["base"]` where `c["position"]` is `"rope"`, else it leaves them alone. The shape of `positions` is $(T)$ or $(B, T)$.
# - `forward` calls `prepare` and `attend`, and returns the result with the pair (all keys, all values), which is the next call's `past`. Keys are stored after they were turned.

# %% exercise="assembly.attention"
class Attention(nn.Module):
    """x (B, T, d_model), mask (B, 1, T, S), positions (T) or (B, T), past: two (B, G, S - T, D) → (B, T, d_model), (k, v)."""
    def __init__(self, c):
        super().__init__()
        self.c = c
        d, H, G, D = c["d_model"], c["n_heads"], c["n_kv_heads"], c["head_dim"]
        self.q_proj = nn.Linear(d, H * D, bias=c["attention_bias"])
        ### BEGIN SOLUTION
        self.k_proj = nn.Linear(d, G * D, bias=c["attention_bias"])
        self.v_proj = nn.Linear(d, G * D, bias=c["attention_bias"])
        self.o_proj = nn.Linear(H * D, d, bias=c["out_bias"])
        ### END SOLUTION

    def prepare(self, q, k, positions):
        ### BEGIN SOLUTION
        if self.c["position"] != "rope":
            return q, k
        return tuple(apply_rope_half(x, positions, self.c["base"]) for x in (q, k))
        ### END SOLUTION
    def attend(self, q, k, v, mask):
        return grouped_attention(q, k, v, mask)
    def forward(self, x, mask=None, positions=None, past=None):
        ### BEGIN SOLUTION
        split = lambda y: y.unflatten(-1, (-1, self.c["head_dim"])).transpose(1, 2)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        q, k = self.prepare(q, k, positions)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        return self.o_proj(self.attend(q, k, v, mask).transpose(1, 2).flatten(2)), (k, v)
        ### END SOLUTION

# %% [markdown] hints="assembly.attention"
# 1. Follow the table: five steps, one or two lines each. Which of the three tensors does `prepare` not get?
# 2. `p(x).unflatten(-1, (-1, D)).transpose(1, 2)` for each of the three projections. Turn the new `q` and `k`, then put the past's keys and values in front along axis 2. The result of `attend` goes back by `transpose` and `flatten(2)`.
# 3. `q, k = self.prepare(q, k, positions)`, `k = torch.cat([past[0], k], dim=2)`, `out = self.attend(q, k, v, mask)`, `return self.o_proj(out.transpose(1, 2).flatten(2)), (k, v)`.

# %% [markdown] worth="assembly.attention"
# `head_dim` need not be `d_model / n_heads`. In Gemma 7B, for example, 16 heads of 256 make 4,096 numbers out of a width of 3,072 ([2403.08295](https://arxiv.org/abs/2403.08295)), so attention works with wider vectors than the stream.

# %% [markdown]
# ### See it
#
# A cache must not change any result. To test that, the cell reads six tokens once as a whole, and once in three pieces with a past.

# %%
torch.manual_seed(0)
layer, x = Attention(config(d_model=16, n_heads=4, n_kv_heads=2)), torch.randn(1, 6, 16)
causal, places = torch.ones(6, 6).tril().bool(), torch.arange(6)
full, past, out = layer(x, causal, places)[0], None, []
for a, b in ((0, 2), (2, 5), (5, 6)):
    result, past = layer(x[:, a:b], causal[a:b, :b], places[a:b], past)
    out.append(result)
print("keys stored:", tuple(past[0].shape), " largest difference:", (torch.cat(out, 1) - full).abs().max().item())

# %% [markdown]
# Two real variants take a method each. Qwen 3 normalizes the queries and keys of every head before they turn ([2505.09388](https://arxiv.org/abs/2505.09388)), while Gemma 2 keeps scores between −50 and 50 by a tanh, unit 10's soft cap ([2408.00118](https://arxiv.org/abs/2408.00118)).

# %%
class HeadNorm(Attention):
    def __init__(self, c):
        super().__init__(c)
        self.q_norm, self.k_norm = (RMSNorm(c["head_dim"], c["eps"]) for _ in range(2))

    def prepare(self, q, k, positions):
        return super().prepare(self.q_norm(q), self.k_norm(k), positions)

class SoftCapped(Attention):
    def attend(self, q, k, v, mask):
        k, v = (repeat_kv(x, q.shape[1] // k.shape[1]) for x in (k, v))
        scores = q @ k.mT / math.sqrt(self.c["query_scale"])
        scores = self.c["score_cap"] * torch.tanh(scores / self.c["score_cap"])
        return scores.masked_fill(~mask, -math.inf).softmax(-1) @ v

# %% [markdown]
# What are the two good for? Make the input a hundred times larger, and see how much of its attention the last token gives to one key. (The cell uses rows of the unit matrix as values, so that the result shows the weights.)

# %%
def sharpest(kind, scale):
    torch.manual_seed(0)
    layer = kind(config(d_model=16, n_heads=4, n_kv_heads=2, score_cap=2.0))
    one_hot = torch.eye(6).expand(1, 2, 6, 6)  # values that show the weights
    layer.attend = lambda q, k, v, mask: kind.attend(layer, q, k, one_hot, mask)
    layer.o_proj = nn.Identity()
    return layer(scale * x, causal, places)[0][0, -1].max().item()
for kind in (Attention, HeadNorm, SoftCapped):
    print(f"{kind.__name__:10}", " ".join(f"{sharpest(kind, s):.3f}" for s in (1, 100)))

# %% [markdown]
# The plain layer turns large inputs into large scores and stops mixing, whereas the other two don't let the scores grow.

# %% [markdown]
# ## 5. A block
#
# A block has two sublayers on the *residual stream*, the vectors that run from the embedding to the head and to which each sublayer adds its result. With Pre-LN, as in LLaMA and GPT-2, it looks like this.
#
# ```
# x ──┬──────────────────────────────── + ──┬───────────────────────────── + ──► x
#     └─ attention_norm ─ attention ────┘   └─ ffn_norm ─ feed-forward ────┘
#                            │ keys, values ──► past
# ```
#
# The third mismatch is that your wirings want a sublayer that returns **one** tensor, whereas attention returns two things. A small function in between sets the second one aside.

# %% [markdown]
# ### Worked example
#
# `quiet` returns only the first part of what `layer` returns, so that `pre_ln` can use it, and puts the second into `kept`, a list outside of it. In the block you define such a function inside of `forward`, whose variables it may use; that is called a *closure*.

# %%
def quiet(y):
    out, pair = layer(y, causal, places)
    kept.append(pair)
    return out
kept = []
print(pre_ln(x, quiet, nn.LayerNorm(16)).shape, kept[0][0].shape)

# %% [markdown]
# In the block below, the names of the norms depend on the configuration. For a name that is a string, `setattr(self, "attention_norm", part)` does the same as `self.attention_norm = part`, and `getattr` reads it back.

# %% [markdown] statement="assembly.block"
# The parts are given. `WIRINGS` has your four functions, and there is one norm per sublayer, `attention_norm` and `ffn_norm`, except where the placement is `"both"`. There are two then, such as `attention_norm_in` and `attention_norm_out`, and `self.ends` says which.
#
# Write `forward`, which sends the stream through attention and then through the feed-forward layer, each wired by `self.wiring`. It takes what attention takes and returns what attention returns, namely the stream and the pair (keys, values).

# %% exercise="assembly.block"
WIRINGS = {"pre": pre_ln, "post": post_ln, "inside": norm_inside, "both": sandwich}


class Block(nn.Module):
    """Attention, then the feed-forward layer, wired as c["placement"] says."""

    def __init__(self, c, attention=Attention, ffn=make_ffn):
        super().__init__()
        self.attention, self.ffn = attention(c), ffn(c)
        self.wiring = WIRINGS[c["placement"]]
        self.ends = ["norm_in", "norm_out"] if c["placement"] == "both" else ["norm"]
        for end in self.ends:
            setattr(self, f"attention_{end}", make_norm(c))
            setattr(self, f"ffn_{end}", make_norm(c))

    def forward(self, x, mask=None, positions=None, past=None):
        """x (B, T, d_model) → (B, T, d_model), (keys, values)."""
        ### BEGIN SOLUTION
        kept = []
        def attention(y):
            out, pair = self.attention(y, mask, positions, past)
            kept.append(pair)
            return out
        x = self.wiring(x, attention, *(getattr(self, f"attention_{end}") for end in self.ends))
        return self.wiring(x, self.ffn, *(getattr(self, f"ffn_{end}") for end in self.ends)), kept[0]
        ### END SOLUTION

# %% [markdown] hints="assembly.block"
# 1. The wiring is called twice, each time with the stream, a sublayer and its norms. Only attention needs the trick of the example.
# 2. The norms of attention are `(getattr(self, f"attention_{end}") for end in self.ends)`, one or two. Before you call the wiring, define a function `attention(y)` that calls `self.attention(y, mask, positions, past)`, stores the pair and returns the rest; then `self.wiring(x, attention, …)` and `self.wiring(x, self.ffn, …)`.
# 3. With one norm: `x = self.wiring(x, attention, self.attention_norm)`, `return self.wiring(x, self.ffn, self.ffn_norm), kept[0]`. With two: `…, self.attention_norm_in, self.attention_norm_out)`.

# %% [markdown] worth="assembly.block"
# A fifth placement has no wiring here. GPT-J and PaLM run both sublayers side by side, on one norm ([2204.02311](https://arxiv.org/abs/2204.02311)). `Block` cannot do that, because its second sublayer waits for the first, and theirs does not.

# %% [markdown]
# Here is the block as a picture, drawn from a configuration, with the shape at every edge. Change one value in the first line and run the cell again. Which shapes does `n_kv_heads` change, for example, and which boxes move with `placement`?

# %%
from anatomy import drawings

c = config(d_model=16, n_heads=4, n_kv_heads=2, placement="pre")   # try "post", "inside", "both", "parallel"
drawings.block(c)

# %% [markdown]
# ### See it
#
# What does the placement do to the size of the stream? The cell sends vectors of a size of about 1 (root mean square) through twelve blocks with random weights, and prints their size at the end.

# %%
torch.manual_seed(0)
start = torch.randn(1, 6, 16)
for placement in WIRINGS:
    c, x = config(d_model=16, n_heads=4, placement=placement), start
    for block in [Block(c) for _ in range(12)]:
        x, _ = block(x, causal, places)
    print(f"{placement:7} {x.pow(2).mean().sqrt().item():.2f}")

# %% [markdown]
# Post-LN ends at 1, since its last step is a norm. The other three only add to the stream, so a last norm has to bring it back to size before the head reads it.

# %% [markdown]
# ## 6. A decoder
#
# What does a stack of blocks still lack? Two things belong to no part: which tokens may see which, and which position each token has. One mask brings three conditions together: no future, no padding, and in some layers no further than a window.

# %% [markdown]
# ### Worked example
#
# Two texts are in one batch, the second one padded on the left because it is shorter. Its tokens have positions 0 and 1, whatever comes before them.

# %%
real = torch.tensor([[True, True, True, True], [False, False, True, True]])
print(real.int().cumsum(-1) - 1)

# %% [markdown]
# However, padding sets a trap, because row 0 of the second text is padding, and under a causal mask it sees padding alone, that is, nothing. A softmax over nothing is 0/0 = NaN. In the next layer its key and value are NaN as well, and since weight 0 times NaN is NaN, one padded token ruins the text. That is why every token may see **itself**.

# %%
torch.tensor([0.0, 1.0]) @ torch.tensor([[math.nan], [5.0]])

# %% [markdown] statement="assembly.masks"
# - `position_ids(real)` gives the positions of the real tokens, from 0. Padding before the first real token gets 0, and padding after the last one gets that token's position.
# - `decoder_mask(real, T, window)` is a mask in which the queries are the newest $T$ of $S$ tokens, the keys all $S$. It is True where the key is real, not in the future, and at most `window - 1` tokens back. In addition, each token always sees itself.

# %% exercise="assembly.masks"
def position_ids(real):
    """real (B, S) bool → (B, S) int64."""
    ### BEGIN SOLUTION
    return (real.cumsum(-1) - 1).clamp(min=0)
    ### END SOLUTION


def decoder_mask(real, T, window=None):
    """real (B, S) bool → (B, 1, T, S) bool, True = may look. window=None: no window."""
    ### BEGIN SOLUTION
    S = real.shape[1]
    query, key = torch.arange(S - T, S)[:, None], torch.arange(S)
    seen = key <= query
    if window is not None:
        seen = seen & (key > query - window)
    return seen & real[:, None, None, :] | (key == query)
    ### END SOLUTION

# %% [markdown] hints="assembly.masks"
# 1. The cell above counts already; what is wrong with its first two columns? For the mask, number queries and keys by their columns: the first query is in column $S - T$.
# 2. `clamp(min=0)` mends the count. A column of queries against a row of keys: `key <= query`, with a window also `key > query - window`. `real[:, None, None, :]` joins by `&`, the token's own column by `|`, last.
# 3. `return seen & real[:, None, None, :] | (key == query)`, with `query = torch.arange(S - T, S)[:, None]` and `key = torch.arange(S)`.

# %% [markdown] worth="assembly.masks"
# Columns and positions are two numberings: the mask compares columns, while RoPE turns by positions. If padding is only on the left, they differ by a constant in each row. Servers pad on the left for another reason, namely that all rows then end in the last column, where the next token is appended.

# %%
print(position_ids(real).tolist())
decoder_mask(real, 2, window=2).int()

# %% [markdown]
# The decoder puts all of this in order. At its end come the *logits*, one score for each token of the vocabulary, which a softmax turns into the probabilities of the next token.

# %% [markdown] statement="assembly.decoder"
# Write the model. It returns the logits, and a list of each layer's (keys, values), the next `past`.
#
# - It has `embeddings`, `blocks` (an `nn.ModuleList` of `c["n_layers"]`, with `attention` and `ffn`), and `final_norm` from `make_norm` (with placement `"post"` an `nn.Identity()`).
# - Only if `c["tied"]` is false, `head` is an `nn.Linear` without bias.
# - With `real=None` nothing is padding, otherwise `real` covers past and new tokens.
# - Layer `i` has the window `c["window"]` where `has_window(c, i)` says so.

# %% exercise="assembly.decoder"
class Decoder(nn.Module):
    """Token ids → logits of the next token, and the pairs (keys, values) of all layers."""

    def __init__(self, c, attention=Attention, ffn=make_ffn):
        super().__init__()
        self.c = c
        ### BEGIN SOLUTION
        self.embeddings = Embeddings(c)
        self.blocks = nn.ModuleList(Block(c, attention, ffn) for _ in range(c["n_layers"]))
        self.final_norm = nn.Identity() if c["placement"] == "post" else make_norm(c)
        self.head = None if c["tied"] else nn.Linear(c["d_model"], c["vocab"], bias=False)
        ### END SOLUTION

    def forward(self, ids, real=None, past=None):
        """ids (B, T), real (B, S) bool, past: n_layers pairs → logits (B, T, vocab), n_layers pairs (B, G, S, D)."""
        ### BEGIN SOLUTION
        seen, T = past[0][0].shape[2] if past else 0, ids.shape[1]
        if real is None:
            real = torch.ones(len(ids), seen + T, dtype=torch.bool)
        positions = position_ids(real)[:, seen:]
        x, kept = self.embeddings(ids, positions), []
        for i, block in enumerate(self.blocks):
            mask = decoder_mask(real, T, self.c["window"] if has_window(self.c, i) else None)
            x, pair = block(x, mask, positions, past[i] if past else None)
            kept.append(pair)
        return self.logits(self.final_norm(x)), kept
        ### END SOLUTION

    def logits(self, x):
        return self.embeddings.logits(x) if self.c["tied"] else self.head(x)

# %% [markdown] hints="assembly.decoder"
# 1. Which of `ids`, `real` and `past` knows how many tokens came before? Everything else follows from that number.
# 2. `seen` is the length of the first layer's keys, 0 without a past. Without `real`, make one of `True`, (B, seen + T). Positions of **all** tokens, of which the new ones are the last T. Then the embeddings, the loop over blocks with each layer's mask and past, the last norm, the logits.
# 3. `positions = position_ids(real)[:, seen:]`; in the loop `x, pair = block(x, decoder_mask(real, T, …), positions, past[i] if past else None)` and `kept.append(pair)`; then `return self.logits(self.final_norm(x)), kept`.

# %% [markdown] worth="assembly.decoder"
# GPT-2, LLaMA 1 to 3, Mistral and Qwen all run these fifteen lines, since they differ only in the configuration and in a method here and there. Other families, such as GPT-J and Falcon, also order the parts of a block differently.

# %% [markdown]
# ### It speaks
#
# Time to hear your model. A small LLaMA that has read Jane Austen's six novels comes with the course, and because its weights have the names of your modules, they load straight into **your** decoder.

# %%
c, state = shipped.checkpoint()
austen, tokenizer = Decoder(c).eval(), shipped.tokenizer()
print(austen.load_state_dict(state, strict=True), f"{sum(p.numel() for p in austen.parameters()):,} numbers")

# %% [markdown]
# To write, the model reads a beginning, one token is drawn by its probabilities, and this token alone is fed back, because the past has everything before it. (Dividing by 0.7 favors likely tokens a little; unit 12 says more.)

# %%
text, past = tokenizer.encode("Did you think").ids, None
new = torch.tensor([text])
torch.manual_seed(0)
with torch.no_grad():
    for _ in range(30):
        logits, past = austen(new, past=past)
        new = torch.multinomial((logits[:, -1] / 0.7).softmax(-1), 1)  # drawn, and fed back alone
        text.append(new.item())
tokenizer.decode(text)

# %% [markdown]
# Every token of that came out of your code. The next unit lets the model write more, and takes it apart.

# %% [markdown]
# ### Three promises
#
# However, a decoder with a small mistake may sound just as good. Three things must hold in every decoder: a text in pieces gives the same logits as the whole, a padded text the same as alone, and a changed token changes nothing before it.

# %%
torch.manual_seed(0)
model = Decoder(config(vocab=50, d_model=32, n_layers=3, n_kv_heads=2, window=3, window_every=2))
ids = torch.randint(50, (2, 6))
full, past, out = model(ids)[0], None, []
for chunk in ids.split([2, 3, 1], dim=1):
    logits, past = model(chunk, past=past)
    out.append(logits)
print("in chunks:", (torch.cat(out, 1) - full).abs().max().item())

# %%
real = torch.arange(6) >= torch.tensor([[0], [4]])
print("padded:", (model(ids, real)[0][1, 4:] - model(ids[1:, 4:])[0]).abs().max().item())
changed = torch.cat([ids[:, :5], (ids[:, 5:] + 1) % 50], dim=1)
print("future changed:", (model(changed)[0] - full).abs().amax((0, 2)).tolist())

# %%
predict("assembly.p3", "The second row is padded by four again, but now its positions count the padding, "
        "so they are 4, 5 instead of 0, 1. With RoPE its logits…",
        ["stay the same", "change a little", "become rubbish"])

# %%
def counting_padding(model):
    global position_ids
    own, position_ids = position_ids, lambda real: torch.arange(real.shape[1]).expand(real.shape)
    try:
        return (model(ids, real)[0][1, 4:] - model(ids[1:, 4:])[0]).abs().max().item()
    finally:
        position_ids = own
learned = Decoder(config(vocab=50, d_model=32, n_layers=3, position="learned"))

# %%
reveal("assembly.p3",
       lambda: f"RoPE: {counting_padding(model):.0e}, learned positions: {counting_padding(learned):.2f}",
       "Under RoPE a score depends only on the distance of two tokens, which is the same as before. "
       "A table of positions, however, adds other rows for 4, 5 than for 0, 1.",
       answer="stay the same")

# %% [markdown]
# ### Your Transformer, alive
#
# Here is the picture that opened unit 00, now with **your** parts in it, on the weights of the little Austen model. If a part is not written yet, the course's runs instead. Type a text, and your parts read it and write on.
#
# Then break one on purpose: for example, take the square root out of `rms_norm`, and run its cell and this one. How far up does the damage go, and does the next token change? Put the root back before you go on.

# %%
AnatomyView({"rms_norm": rms_norm, "apply_rope_half": apply_rope_half, "decoder_mask": decoder_mask,
             "grouped_attention": grouped_attention, "GatedFeedForward": GatedFeedForward, "pre_ln": pre_ln})

# %% [markdown]
# ## 7. Count before you build
#
# How many numbers does a model have? LLaMA-2-7B in float32 takes 27 GB, but to count its numbers nobody needs to store one, because on the device `meta` a tensor has a shape, a dtype and no memory.

# %% [markdown]
# ### Worked example
#
# The first layer would take 40 GB, but nobody allocates them. Then two layers share one weight, which has two names although it is one tensor.

# %%
with torch.device("meta"):
    big = nn.Linear(100_000, 100_000, bias=False)
print(big.weight.shape, big.weight.device, f"{big.weight.nbytes:,} bytes, none of them here")
pair = nn.ModuleDict({"tokens": nn.Embedding(5, 3), "head": nn.Linear(3, 5, bias=False)})
pair.head.weight = pair.tokens.weight
print(list(pair.state_dict()), len(list(pair.parameters())))

# %% [markdown] statement="assembly.parameters"
# Write `count(build, c)`, which returns how many numbers are in the parameters of `build(c)`, an int.
#
# - A tied weight counts once, and a frozen one counts as well. Buffers, which are stored and never learned, don't count.
# - Nothing is allocated, since the check asks for a model of petabytes.

# %% exercise="assembly.parameters"
def count(build, c):
    """Numbers in the parameters of the module build(c), each once, without memory for any of them."""
    ### BEGIN SOLUTION
    with torch.device("meta"):
        model = build(c)
    return sum(p.numel() for p in model.parameters())
    ### END SOLUTION

# %% [markdown] hints="assembly.parameters"
# 1. Look at both lines that the example prints. Which call belongs inside of the `with`, and which of the two lists has the shared weight once?
# 2. Call `build(c)` on the device `meta`. Then add `numel()` of everything in `model.parameters()`, which leaves out repetitions by itself.
# 3. `with torch.device("meta"):` and in it `model = build(c)`; then `return sum(p.numel() for p in …)`.

# %% [markdown] worth="assembly.parameters"
# Large models are loaded this way, too. Libraries first build them on `meta`, so that they know from the shapes which GPU has room for which block, and then replace the empty tensors by those of the file.

# %% [markdown]
# ### The puzzle, answered
#
# `shares` counts the numbers of **your** decoder by kind, in any size, and so decides between the three candidates.

# %%
LLAMA = dict(vocab=32_000, d_model=4096, n_layers=32, n_heads=32, d_ff=11_008, tied=False)
def shares(**changes):
    """Numbers in the vocabulary's tables, attention, feed-forward layers and norms."""
    with torch.device("meta"):
        named = dict(Decoder(config(**changes)).named_parameters())
    kinds = {"vocabulary": ("tokens", "positions", "head."), "attention": ("attention.",), "feed-forward": ("ffn.",)}
    found = {k: sum(p.numel() for n, p in named.items() if any(w in n for w in words)) for k, words in kinds.items()}
    return found | {"norms": sum(p.numel() for p in named.values()) - sum(found.values())}

# %%
reveal("assembly.p1",
       lambda: "; ".join(f"{name} {sum(shares(**LLAMA | change).values()):,}" for name, change in (
           ("32 heads, separate head", {}), ("8 heads", {"n_kv_heads": 8}), ("tied", {"tied": True}))),
       "It is LLaMA-7B or LLaMA-2-7B, since both have these sizes and neither shares its key-value heads.",
       answer="32 key-value heads, a separate head")

# %% [markdown]
# ### Experiment: where are the numbers?
#
# Two models of the same size may spend their numbers on different things, such as wide layers or a large vocabulary.

# %%
predict("assembly.p4", "Llama 3 with 8 billion numbers has 32 blocks, 128,256 tokens and 8 key-value heads. "
        "Most of its numbers are in…",
        ["attention", "the feed-forward layers", "the vocabulary's two tables"])

# %%
GPT2 = dict(norm="layer", position="learned", activation="gelu_tanh", gated=False, attention_bias=True,
            out_bias=True, ffn_bias=True, vocab=50_257, d_model=768, n_layers=12, n_heads=12, max_positions=1024)
sizes = {"GPT-2": GPT2, "LLaMA-2-7B": LLAMA,
         "Llama-3-8B": LLAMA | dict(vocab=128_256, n_kv_heads=8, d_ff=14_336),
         "LLaMA-2-70B": LLAMA | dict(d_model=8192, n_layers=80, n_heads=64, n_kv_heads=8, d_ff=28_672)}
counted = {name: shares(**changes) for name, changes in sizes.items()}
{name: f"{sum(found.values()):,}" for name, found in counted.items()}

# %%
part = {kind: [100 * found[kind] / sum(found.values()) for found in counted.values()] for kind in counted["GPT-2"]}
told = ". ".join(f"{name}: " + ", ".join(f"{kind} {part[kind][i]:.0f}" for kind in part)
                 for i, name in enumerate(counted))
with described("Stacked bars, percent of all numbers. {told}", told=told):
    left = [0.0] * len(counted)
    for kind, values in part.items():
        plt.barh(list(counted), values, left=left, label=kind)
        left = [a + b for a, b in zip(left, values)]
    plt.xlabel("% of the numbers"), plt.gca().invert_yaxis(), plt.legend(ncols=4, fontsize=8, loc="lower center")

# %%
reveal("assembly.p4",
       lambda: f"feed-forward {part['feed-forward'][2]:.0f} %, attention {part['attention'][2]:.0f} %, "
               f"vocabulary {part['vocabulary'][2]:.0f} %",
       "Compared with LLaMA-2-7B, shared key-value heads free 0.8 billion numbers, "
       "and a vocabulary four times as large takes 0.8 billion.",
       answer="the feed-forward layers")

# %% [markdown]
# ### Your counts beside the published ones
#
# Do the counts of your classes agree with those of others? For each model the cell prints what its paper or model card says, what Hugging Face's class counts, and what yours counts.

# %%
def beside(names, ours):
    """A line for each model: published, counted with transformers, counted with your classes."""
    for name, own in zip(names, ours):
        known = named_models.recorded()[name]
        print(f"{name:12} {known['published']:>14,} {known['counted']:>14,} {own:>14,}")
mistral = LLAMA | dict(n_kv_heads=8, d_ff=14_336)
beside(["gpt2", "llama-2-7b", "llama-3-8b", "mistral-7b", "llama-2-70b"],
       [count(Decoder, config(**c)) for c in (GPT2, LLAMA, sizes["Llama-3-8B"], mistral, sizes["LLaMA-2-70B"])])

# %% [markdown]
# ### Claim on trial
#
# A claim on trial is a sentence that many texts repeat, and that you test before you believe it. Here it is enough to count.
#
# > *"RMSNorm has fewer parameters, because it has no bias. In today's large models many other biases are gone as well, for example those of the feed-forward layer. This lowers computation and memory, and makes training more stable."*
#
# GPT-2 has a bias in every layer and every norm, so count those of one block, first at its real width, then at GPT-3's.

# %%
biases = lambda module: sum(p.numel() for name, p in module.named_parameters() if name.endswith("bias"))
for width in (768, 12_288):
    with torch.device("meta"):
        block = Block(config(**GPT2 | {"d_model": width}))
    some, whole = biases(block), sum(p.numel() for p in block.parameters())
    print(f"width {width:6,}: {some:7,} of a block's {whole:13,} numbers are biases, {some / whole:.3%}")

# %% [markdown] evidence="exact + cited: 2204.02311"
# **Verdict: leaving out biases saves almost nothing.** In GPT-2 they are about a thousandth of a block, and even less in wider models, because matrices grow with the square of the width and biases only with the width. The work shrinks just as little, since a bias is one addition next to a whole row of products. Stability, however, cannot be decided by a count. PaLM's authors, who left out all of them, report that large models then trained more stably ([2204.02311](https://arxiv.org/abs/2204.02311), section 2).

# %% [markdown]
# ### Claim on trial
#
# > *"LLaMA's overall structure is similar to that of the GPT series; it differs only in model size and in training data."*
#
# Make the sizes equal: take GPT-2's width, depth and vocabulary, and LLaMA's configuration otherwise. Which entries still differ, although the claim says that none should? And which weights of a block does one model have and the other lack?

# %%
ours, theirs = config(**GPT2), config(**{k: GPT2[k] for k in ("vocab", "d_model", "n_layers", "n_heads")})
print({k: (ours[k], theirs[k]) for k in ours if ours[k] != theirs[k] and k not in ("d_ff", "max_positions")})
gpt, llama = (set(Block(c | {"d_model": 8, "d_ff": 8, "n_heads": 2, "n_kv_heads": 2, "head_dim": 4}).state_dict())
              for c in (ours, theirs))
print(f"GPT-2 {len(gpt)}, LLaMA {len(llama)}, in both {len(gpt & llama)}; LLaMA's alone: {llama - gpt}")

# %% [markdown]
# Here are both blocks, GPT-2's first and LLaMA's second. Read them from the bottom up.

# %%
drawings.side_by_side(drawings.block(ours), drawings.block(theirs))

# %% [markdown]
# Does it matter, or are these only names? Copy the weights that both have, and draw the rest at random. As a control, copy only the table of tokens, which is also the head.

# %%
torch.manual_seed(0)
small = dict(vocab=50, d_model=32, n_layers=3, n_heads=4, max_positions=8, d_ff=64)
one = Decoder(config(**GPT2 | small))
for what, wanted in (("all that both have", ""), ("the table alone", "embeddings.tokens")):
    other = Decoder(config(**small))
    other.load_state_dict({n: w for n, w in one.state_dict().items() if wanted in n}, strict=False)
    a, b = (m(ids)[0].flatten() for m in (one, other))
    print(f"{what}: the logits correlate by {torch.corrcoef(torch.stack([a, b]))[0, 1].item():.2f}")

# %% [markdown] evidence="exact + cited: 2302.13971"
# **Verdict: the plan is the same, the parts are not.** The first half of the sentence holds, because one class of yours builds both. However, LLaMA has RMSNorm, rotary positions, a gate with SiLU and no biases, and of a GPT-2 block's sixteen weights eight exist in it. That matters: copying all that both have makes their logits hardly more alike than copying the table alone. LLaMA's own paper lists three changes of architecture, and says where each came from ([2302.13971](https://arxiv.org/abs/2302.13971), section 2.2).

# %% [markdown]
# ### And the big ones?
#
# The atlas contains the models that made history, with their papers. *Build* counts a model with **your** `Decoder` and draws its block, and *compare* says in words what differs between two. For example, look for two of the same year that have little in common.

# %%
ModelAtlas(Decoder)

# %% [markdown]
# ## 8. Their weights under your names
#
# How do released numbers get into your model? A checkpoint is a dict from names to tensors, and everybody chooses other names. Hugging Face's LLaMA, for example, calls a matrix `model.layers.31.mlp.up_proj.weight`, while yours calls it `blocks.31.ffn.up_proj.weight`. So a loader has to rename before it loads, and because nobody wants to list the names of 32 layers, it follows a few rules.

# %% [markdown]
# Each rule is a regular expression, that is, a pattern for whole names, and a new name, in which `\1` stands for what the first group (the first pair of parentheses) matched. Three of LLaMA's rules look like this.
#
# | pattern for their name | your name |
# |---|---|
# | `model\.embed_tokens\.(.*)` | `embeddings.tokens.\1` |
# | `model\.layers\.(\d+)\.mlp\.(.*)` | `blocks.\1.ffn.\2` |
# | `model\.layers\.(\d+)\.post_attention_layernorm\.(.*)` | `blocks.\1.ffn_norm.\2` |
#
# The last row shows why nobody can guess the rules: they name this norm after what comes before it, and you after what comes next.

# %% [markdown]
# ### Worked example
#
# Follow two real names through the second and the third rule. The middle column shows what the groups match.
#
# | their name | `\1` and `\2` | your name |
# |---|---|---|
# | `model.layers.31.mlp.up_proj.weight` | `31`, `up_proj.weight` | `blocks.31.ffn.up_proj.weight` |
# | `model.layers.0.post_attention_layernorm.weight` | `0`, `weight` | `blocks.0.ffn_norm.weight` |
#
# The cell does the first one in Python. Then it tries a pattern that matches only a piece of the name.

# %%
pattern, new = r"model\.layers\.(\d+)\.mlp\.(.*)", r"blocks.\1.ffn.\2"
name = "model.layers.31.mlp.up_proj.weight"
print(re.fullmatch(pattern, name).groups(), re.sub(pattern, new, name))
print(re.fullmatch(r"mlp", name), re.search(r"mlp", name))

# %% [markdown]
# `fullmatch` wants the whole name, while `search` is content with a piece of it.
#
# What goes wrong in practice goes wrong silently. Suppose that no rule knows a name; then a block keeps its random weights. Or two names become one, and the second tensor replaces the first. Unless the loader is strict, both load without an error, and the model writes nonsense. That is why `rename` must refuse both. Other tensors are left out on purpose, such as the masks in old files of GPT-2; their rule says `None` instead of a name.

# %% [markdown] statement="assembly.names"
# Write `rename(state, rules)`, which returns a new dict with the same tensors. The `rules` are a list of pairs (pattern, new name).
#
# - For each name, the **first** pattern that matches the **whole** name decides, so nothing is renamed twice.
# - If its rule says `None`, leave the tensor out.
# - Otherwise store the tensor under its new name, or raise a `ValueError` if that name is taken.
# - If no rule matches some names, raise a `ValueError` that lists them all.

# %% exercise="assembly.names"
def rename(state, rules):
    """Tensors of state under new names.

    Args:
        state: dict name → tensor, left as it is. rules: list of (regular expression, new name or None).
    """
    ### BEGIN SOLUTION
    renamed, unmatched = {}, []
    for name, tensor in state.items():
        rule = next((r for r in rules if re.fullmatch(r[0], name)), None)
        if rule is None:
            unmatched.append(name)
        elif rule[1] is not None:
            new = re.sub(*rule, name)
            if new in renamed:
                raise ValueError(f"{name} would be a second {new}")
            renamed[new] = tensor
    if unmatched:
        raise ValueError(f"no rule for {', '.join(unmatched)}")
    return renamed
    ### END SOLUTION

# %% [markdown] hints="assembly.names"
# 1. For one name: which rule is the first that matches? Three things can follow: there is none, it says `None`, or it has a new name.
# 2. Loop over the names, and inside over the rules until `re.fullmatch` finds something. Collect names without a rule in a list, and raise the error after the loop. Before a tensor is stored, test whether its new name is taken.
# 3. `rule = next((r for r in rules if re.fullmatch(r[0], name)), None)`, then `if rule is None: unmatched.append(name)`, `elif rule[1] is not None: new = re.sub(*rule, name)`, and so on.

# %% [markdown] worth="assembly.names"
# `load_state_dict(strict=True)` makes the same test from the other side and refuses if one of **your** names is missing. Only both tests together prove that every tensor of a file has found a home.

# %% [markdown]
# The picture shows where your function sends some names of a LLaMA file, by the rules that the course has for LLaMA.

# %%
from anatomy.models import names

some = ["model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight", "model.layers.0.mlp.down_proj.weight",
        "model.layers.0.post_attention_layernorm.weight", "model.norm.weight", "lm_head.weight"]
rules = names.DECODER + names.PRE
drawings.renaming({name: next(iter(rename({name: name}, rules)), None) for name in some})

# %% [markdown]
# ### Equal to the real one
#
# Does your LLaMA compute the same as theirs? The course has the rules for thirteen families, and Hugging Face's library has the models. Both get the same random weights, loaded strictly, and the same texts, one of them padded.

# %%
predict("assembly.p5", "Your LLaMA and Hugging Face's have the same weights, and compute logits around 10 in float32. "
        "The largest difference is…",
        ["exactly 0", "about 0.00001", "about 0.01"])

# %%
def build(c):
    return Decoder(c, HeadNorm if c["qk_norm"] == "head" else Attention)
compared = compare_all(build, rename, families=["llama", "mistral", "qwen2", "qwen3"])
compared

# %%
reveal("assembly.p5",
       lambda: compared.rows[0][1] if isinstance(compared.rows[0], tuple) else f"{compared.rows[0].difference:.0e}",
       "Sums in another order round differently in their last bits. A mistake, such as a wrong layout or ε, "
       "would make a larger difference by far.",
       answer="about 0.00001")

# %% [markdown]
# Generation is the sharper test, because one wrong token changes all that follow. Both models write greedily (they always take the most probable token), with both caches, and every token is the same. Mistral 7B of 2023 is LLaMA with a window, Qwen 2 has three biases, and Qwen 3 uses your `HeadNorm`. The real weights come the same way, where there is a network or a folder with the checkpoint.
#
# ```python
# from anatomy.models.pretrained import load_pretrained
# model = load_pretrained("Qwen/Qwen3-0.6B", build, rename)
# ```

# %% [markdown]
# ## 9. Your own experiment
#
# Which of your parts matters most? LLaMA's authors changed three at once, so their paper cannot say. You can ask the growing character model, which has two layers, learns Jane Austen's novels character by character, and takes any of your parts. Its loss on unseen text is in nats per character, the mean of $-\log p$ of the right character. Below, a model of your norm, your wiring and your gate meets one in which the wiring is swapped.

# %%
from anatomy.experiments.growing import grow

mine = dict(make_norm=RMSNorm, wire=pre_ln, make_ffn=lambda d: GatedFeedForward(d, 8 * d // 3, F.silu))
for seed in (0, 1):
    all_mine, swapped = grow(seed=seed, **mine), grow(seed=seed, **mine | {"wire": norm_inside})
    print(f"seed {seed}: {all_mine.loss:.3f} against {swapped.loss:.3f} nats per character")

# %% [markdown]
# What would you swap next, for example the norm, the feed-forward layer, or a wiring that you invent? Write down what you expect, run at least two seeds, and write your answer in one sentence. Does the part change the loss by more than the seed does? Nothing here is graded.

# %% [markdown] written="question"
# A colleague writes a LLaMA and loads a released checkpoint with `strict=True`. No name is missing and no shape is wrong, but the model writes nonsense. Which three mistakes, of different kinds, can strict loading not see? Say for each what is computed instead, and which test would show it without reading the code.
#
# - what names and shapes say, and what they don't
# - for each mistake, what is computed instead
# - for each mistake, a test with its input and with what must come out

# %% [markdown] written="answer" points=4
# Loading compares names and shapes, whereas the code decides what is done with the numbers. First, rotary pairs may be neighbors instead of halves; then scores change at every distance but 0. Test: logits equal the original's at the first position, and differ from the second on. Second, gate and up may be exchanged, so that SiLU falls on the wrong branch. Test: one feed-forward layer on a random vector must give the same as down(silu(gate) · up) by hand. Third, key-value heads may be repeated as a, b, a, b, so that query heads read the wrong keys. Test: when all key-value heads are made equal, the mistake has no effect; when they differ, it has.
#
# ### BEGIN MARK SCHEME
# - 1 point: says that names and shapes do not fix the computation, with an example.
# - 1 point: three mistakes that really pass a strict load, of different kinds (layout, order of parts, constants, masks or positions).
# - 1 point: says for each what is computed instead.
# - 1 point: tests that separate, with what must come out. "Compare all logits with the original" finds all and separates none: half a point, if a part is then switched off or replaced.
# - No point: a bias or a norm that is missing, a matrix of unequal sides that lies transposed. Strict loading finds these.
# ### END MARK SCHEME

# %% [markdown]
# ## 10. Extension: an encoder
#
# A decoder writes, so it must not see what comes next. BERT only reads, and every token may look at both sides. It is the encoder of the Transformer alone ([1810.04805](https://arxiv.org/abs/1810.04805), section 3), and not “a seq2seq model”, as the claim in unit 01 said. The blocks are the same, and the table shows what changes.
#
# | | decoder | encoder |
# |---|---|---|
# | mask | past and itself, real | all that is real |
# | positions | count real tokens | 0, 1, 2, …, padding included |
# | segments | none | text 0 or text 1 |
# | result | logits and a cache | one vector for each token |

# %% [markdown]
# ### Worked example
#
# Two texts have three columns each, but the second one has only two tokens. All scores are 0, so the weights show the mask alone. Its shape $(B, 1, 1, T)$ serves every head and every query, which means that padding may look, although nobody looks at it.

# %%
real = torch.tensor([[True, True, True], [True, True, False]])
mask = real[:, None, None, :]
print(mask.shape, torch.zeros(2, 1, 3, 3).masked_fill(~mask, -math.inf).softmax(-1)[1, 0].tolist())

# %% [markdown] statement="assembly.encoder"
# Write the encoder, with `embeddings`, `blocks` and `final_norm` as in your decoder (none with weights for `"post"`), and without a head.
#
# With `c["shared_layers"]` there is **one** block, which runs `c["n_layers"]` times, as in ALBERT. `segments` and `real` may be `None`, which means one text and no padding.

# %% exercise="assembly.encoder"
class Encoder(nn.Module):
    """Every token sees every real token (BERT, arXiv:1810.04805; ALBERT, arXiv:1909.11942)."""

    def __init__(self, c, attention=Attention, ffn=make_ffn):
        super().__init__()
        self.c = c
        ### BEGIN SOLUTION
        self.embeddings = Embeddings(c)
        stored = 1 if c["shared_layers"] else c["n_layers"]
        self.blocks = nn.ModuleList(Block(c, attention, ffn) for _ in range(stored))
        self.final_norm = nn.Identity() if c["placement"] == "post" else make_norm(c)
        ### END SOLUTION

    def forward(self, ids, segments=None, real=None):
        """ids, segments (B, T) int64, real (B, T) bool → (B, T, d_model)."""
        ### BEGIN SOLUTION
        positions = torch.arange(ids.shape[1]).expand(ids.shape)
        mask = None if real is None else real[:, None, None, :]
        x = self.embeddings(ids, positions, segments)
        for layer in range(self.c["n_layers"]):
            x, _ = self.blocks[layer % len(self.blocks)](x, mask, positions)
        return self.final_norm(x)
        ### END SOLUTION

# %% [markdown] hints="assembly.encoder"
# 1. Start from your decoder and strike out what an encoder doesn't need: the past, the causal mask, the logits. What does the table say about positions?
# 2. `__init__`: how many blocks are stored depends on `shared_layers`. `forward`: positions are `torch.arange(T)` for every row, the mask is the example's or `None`; run `n_layers` rounds, and keep only the first of the two things that a block returns.
# 3. `for layer in range(self.c["n_layers"]): x, _ = self.blocks[layer % len(self.blocks)](x, mask, positions)`, before it `x = self.embeddings(ids, positions, segments)`, after it `return self.final_norm(x)`.

# %% [markdown] worth="assembly.encoder"
# Nothing in the code is about *language*. For example, if you cut an image into squares and let one linear layer make a vector of each, these blocks are a vision transformer ([2010.11929](https://arxiv.org/abs/2010.11929)).

# %%
predict("assembly.p6", "ALBERT-base stores one block, whereas BERT-base stores twelve. "
        "Compared with BERT, reading a text takes it…",
        ["a twelfth of the operations", "about half", "as many"])

# %%
BERT = dict(kind="encoder", vocab=30_522, d_model=768, n_layers=12, n_heads=12, norm="layer", eps=1e-12,
            placement="post", embedding_norm=True, position="learned", max_positions=512, n_segments=2,
            activation="gelu", gated=False, attention_bias=True, out_bias=True, ffn_bias=True)
ALBERT = BERT | dict(vocab=30_000, d_embedding=128, shared_layers=True)
def with_pooler(c):
    return nn.ModuleList([Encoder(c), nn.Linear(c["d_model"], c["d_model"])])
beside(["bert-base"], [count(with_pooler, config(**BERT))])
print(f"albert-base  {count(with_pooler, config(**ALBERT)):,}")

# %%
def work(c):
    with torch.no_grad(), Meter() as meter:
        Encoder(c)(torch.zeros(1, 16, dtype=torch.long))
    return meter.counts["flops"]
small = dict(vocab=50, d_model=64, n_heads=4, d_ff=256, d_embedding=64)
bert_work, albert_work = (work(config(**changes | small)) for changes in (BERT, ALBERT))

# %%
reveal("assembly.p6",
       lambda: f"{albert_work:,} and {bert_work:,} multiplications and additions (twelve layers of width 64)",
       "One set of weights runs twelve rounds. Sharing saves memory and traffic, but no time.",
       answer="as many")

# %% [markdown]
# ### Equal to the real ones
#
# BERT's file contains more than the encoder, namely what its training read off it. Masked tokens are guessed at each position, through one more layer and the tied table, while a *pooled* first vector (one layer and a tanh) says whether two texts belong together. ALBERT's file has only the pooled vector.

# %%
class Bert(nn.Module):
    """The encoder and what BERT's training reads off it: a token for each mask, and whether two texts belong together."""

    def __init__(self, c):
        super().__init__()
        d = c["d_model"]
        self.encoder, self.pooler, self.next_sentence = Encoder(c), nn.Linear(d, d), nn.Linear(d, 2)
        self.transform, self.transform_norm = nn.Linear(d, d), make_norm(c)
        self.word_bias = nn.Parameter(torch.zeros(c["vocab"]))

    def forward(self, ids, segments=None, real=None):
        x = self.encoder(ids, segments, real)
        words = self.encoder.embeddings.logits(self.transform_norm(F.gelu(self.transform(x)))) + self.word_bias
        return words, self.next_sentence(torch.tanh(self.pooler(x[:, 0])))

# %%
class Albert(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.encoder, self.pooler = Encoder(c), nn.Linear(c["d_model"], c["d_model"])

    def forward(self, ids, segments=None, real=None):
        x = self.encoder(ids, segments, real)
        return x, torch.tanh(self.pooler(x[:, 0]))

# %%
def build(c):
    if c["kind"] == "encoder":
        return (Albert if c["shared_layers"] else Bert)(c)
    return Decoder(c, HeadNorm if c["qk_norm"] == "head" else Attention)
compare_all(build, rename, families=["bert", "albert"])

# %% [markdown]
# ## 11. Extension: families that differ by a few lines
#
# How far is it from LLaMA to another family? Often it takes only a method or two. Each cell below holds all that is new in one family.
#
# | family | what is new | where |
# |---|---|---|
# | OLMo 2 | norms inside, a norm over a token's queries | placement, `prepare` |
# | GLM | half of each head turns, in pairs of neighbors | `prepare` |
# | Gemma 2 | $1 + w$ in norms, caps, scaled embeddings | `attend`, both ends |
# | DeepSeek | keys and values from one narrow latent | attention |

# %%
class WholeNorm(Attention):  # OLMo 2: one norm over all heads of a token
    def __init__(self, c):
        super().__init__(c)
        self.q_norm = RMSNorm(c["n_heads"] * c["head_dim"], c["eps"])
        self.k_norm = RMSNorm(c["n_kv_heads"] * c["head_dim"], c["eps"])

    def prepare(self, q, k, positions):
        over = lambda norm, x: norm(x.transpose(1, 2).flatten(2)).unflatten(2, (x.shape[1], -1)).transpose(1, 2)
        return super().prepare(over(self.q_norm, q), over(self.k_norm, k), positions)

# %% [markdown]
# GLM's pairs are neighbors, 0 with 1, 2 with 3, and the second half of each head doesn't turn ([2406.12793](https://arxiv.org/abs/2406.12793)). Your `apply_rope_half` can do that, if you sort the first members of the pairs before the second ones, turn, and sort back.

# %%
def turn_neighbors(x, positions, base):
    a, b = apply_rope_half(torch.cat([x[..., ::2], x[..., 1::2]], -1), positions, base).chunk(2, -1)
    return torch.stack([a, b], -1).flatten(-2)

class PartialRope(Attention):
    def prepare(self, q, k, positions):
        r, base = self.c["rotary_dim"], self.c["base"]
        turn = lambda x: torch.cat([turn_neighbors(x[..., :r], positions, base), x[..., r:]], -1)
        return turn(q), turn(k)

# %% [markdown]
# Gemma 2 changes both ends of the decoder: vectors are multiplied by $\sqrt{d}$ on their way in, and logits are capped on their way out ([2408.00118](https://arxiv.org/abs/2408.00118)). The weights of its norms start at 0, so the norm's factor is $1 + w$.

# %%
class GemmaNorm(RMSNorm):
    def forward(self, x):
        return rms_norm(x, 1 + self.weight, self.eps)

class Scaled(Embeddings):
    def forward(self, ids, positions, segments=None):
        return super().forward(ids, positions, segments) * math.sqrt(self.tokens.embedding_dim)

class Gemma(Decoder):
    def __init__(self, c):
        super().__init__(c, SoftCapped)
        self.embeddings = Scaled(c)

    def logits(self, x):
        return self.c["logit_cap"] * torch.tanh(super().logits(x) / self.c["logit_cap"])

NORMS["gemma"] = GemmaNorm

# %% [markdown]
# DeepSeek's attention stores one *latent* per token (a short vector) and one small key that turns, shared by all heads. Unit 08 showed why; here every head's keys and values are made from the latent again ([2405.04434](https://arxiv.org/abs/2405.04434)).

# %%
class Latent(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        d, H, r, n = c["d_model"], c["n_heads"], c["rope_dim"], c["head_dim"]
        self.q_down, self.q_norm = nn.Linear(d, c["q_rank"], bias=False), RMSNorm(c["q_rank"])
        self.q_up = nn.Linear(c["q_rank"], H * (n + r), bias=False)
        self.kv_down, self.kv_norm = nn.Linear(d, c["kv_rank"] + r, bias=False), RMSNorm(c["kv_rank"])
        self.kv_up = nn.Linear(c["kv_rank"], H * (n + c["v_dim"]), bias=False)
        self.o_proj = nn.Linear(H * c["v_dim"], d, bias=False)

    def forward(self, x, mask=None, positions=None, past=None):
        c, r, n = self.c, self.c["rope_dim"], self.c["head_dim"]
        cut = lambda y: y.unflatten(-1, (c["n_heads"], -1)).transpose(1, 2)
        turn = lambda y: turn_neighbors(y, positions, c["base"])
        q, q_turned = cut(self.q_up(self.q_norm(self.q_down(x)))).split([n, r], -1)
        latent, key = self.kv_down(x).split([c["kv_rank"], r], -1)
        latent, key = self.kv_norm(latent)[:, None], turn(key[:, None])
        if past is not None:
            latent, key = torch.cat([past[0], latent], 2), torch.cat([past[1], key], 2)
        k, v = cut(self.kv_up(latent[:, 0])).split([n, c["v_dim"]], -1)
        q, k = torch.cat([q, turn(q_turned)], -1), torch.cat([k, key.expand(-1, c["n_heads"], -1, -1)], -1)
        out = grouped_attention(q, k, v, mask)
        return self.o_proj(out.transpose(1, 2).flatten(2)), (latent, key)

# %%
def attention_of(c):
    if c["attention"] == "latent":
        return Latent
    if c["position"] == "rope_pairs":
        return PartialRope
    return {None: Attention, "head": HeadNorm, "whole": WholeNorm}[c["qk_norm"]]

def build(c):
    return Gemma(c) if c["norm"] == "gemma" else Decoder(c, attention_of(c))

# %%
predict("assembly.p7", "Suppose that somebody takes OLMo 2's norms of queries and keys head by head, as in Qwen 3. "
        "A strict load of OLMo 2's weights…",
        ["finds the mistake", "finds nothing"])

# %%
compare_all(build, rename, families=["olmo2", "glm", "gemma2", "deepseek_v3"])

# %%
def loaded():
    c = config(d_model=16, n_heads=4, n_kv_heads=2)
    try:
        HeadNorm(c).load_state_dict(WholeNorm(c).state_dict(), strict=True)
    except RuntimeError as error:
        return str(error).split("\n")[1].split(":")[0].strip()
    return "nothing was found"

# %%
reveal("assembly.p7",
       loaded,
       "A head has fewer numbers than a token, so the shapes differ. Most mistakes, however, are not so kind.",
       answer="finds the mistake")

# %% [markdown]
# ## 12. Extension: GPT-2's matrices
#
# For GPT-2 renaming is not enough. Its file comes from another library, whose layers (Hugging Face's `Conv1D`) compute $xW$ where `nn.Linear` computes $xW^\top$, so every matrix is stored transposed. Besides, queries, keys and values are one layer, `c_attn`, three times as wide.

# %% [markdown]
# ### Worked example
#
# Here is a layer from 2 to 6 numbers, as Conv1D has it. Columns 0 and 1 make the query, 2 and 3 the key.

# %%
w = torch.arange(12.0).reshape(2, 6)
x = torch.tensor([1.0, 10.0])
print((x @ w).tolist(), F.linear(x, w.T[:2]).tolist(), F.linear(x, w.T[2:4]).tolist())

# %% [markdown] statement="assembly.fused"
# Write `unfuse(state)`, which returns a new dict for a strict load into `nn.Linear`.
#
# - Weights of `c_attn`, `c_proj` and `c_fc` are transposed. Nothing else is, since embeddings and biases are stored as they should be.
# - `h.0.attn.c_attn.weight` becomes `h.0.attn.q_proj.weight`, `….k_proj.weight` and `….v_proj.weight`, in this order, and so does its bias.
# - A `c_attn` that doesn't divide by three raises a `ValueError`.

# %% exercise="assembly.fused"
def unfuse(state):
    """GPT-2's tensors as nn.Linear stores them; each keeps its dtype."""
    ### BEGIN SOLUTION
    out = {}
    for name, tensor in state.items():
        layer = name.split(".")[-2]
        if layer in ("c_attn", "c_proj", "c_fc") and name.endswith("weight"):
            tensor = tensor.T
        if layer != "c_attn":
            out[name] = tensor
        elif len(tensor) % 3:
            raise ValueError(f"{name}: {len(tensor)} do not divide by three")
        else:
            for part, piece in zip(("q_proj", "k_proj", "v_proj"), tensor.chunk(3)):
                out[name.replace("c_attn", part)] = piece
    return out
    ### END SOLUTION

# %% [markdown] hints="assembly.fused"
# 1. A name's last word but one is the layer. Two questions follow for each tensor: is it to be transposed, and is it to be cut?
# 2. `layer = name.split(".")[-2]`. Transpose first: then the three parts lie one below the other, for the weight as for the bias, and `chunk(3)` cuts both.
# 3. `if layer in (…) and name.endswith("weight"): tensor = tensor.T`, then `for part, piece in zip(("q_proj", …), tensor.chunk(3)): out[name.replace("c_attn", part)] = piece`.

# %% [markdown] worth="assembly.fused"
# One wide product is faster than three narrow ones, because the GPU reads `x` only once. Servers therefore fuse again what you have just taken apart, although with shared key-value heads the three parts have different widths.

# %%
compare_all(build, rename, unfuse, families=["gpt2"])

# %% [markdown]
# ## 13. Extension: rows in the other order
#
# Two files of the same LLaMA differ. Meta publishes it with pairs of neighbors, (0, 1), (2, 3), …, the interleaved layout, whereas Hugging Face's file has half-split pairs, $(i, i + D/2)$, as your `apply_rope_half`. To change over, one moves the **rows** of `q_proj` and `k_proj` once, since a row makes one number of a head.

# %% [markdown]
# ### Worked example
#
# In one head of six rows, the first members 0, 2, 4 come first, then the second members 1, 3, 5.

# %%
rows = torch.arange(6).reshape(3, 2)
print(rows.tolist(), rows.T.flatten().tolist())

# %% [markdown] statement="assembly.rotary_rows"
# `to_half_rows(weight, n_heads)` moves the rows of each head from the interleaved to the half-split layout, and `to_interleaved_rows` moves them back. `weight` is a matrix $(H D, d)$ or a bias $(H D)$, and the heads stay in order.
#
# If the rows cannot be split into `n_heads` heads of even $D$, both raise a `ValueError`.

# %% exercise="assembly.rotary_rows"
def to_half_rows(weight, n_heads):
    """weight (H·D, …) for pairs (2i, 2i + 1) → for pairs (i, i + D/2)."""
    ### BEGIN SOLUTION
    if len(weight) % (2 * n_heads):
        raise ValueError(f"{len(weight)} rows are no {n_heads} heads of pairs")
    return weight.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).flatten(0, 2)
    ### END SOLUTION


def to_interleaved_rows(weight, n_heads):
    """The way back."""
    ### BEGIN SOLUTION
    if len(weight) % (2 * n_heads):
        raise ValueError(f"{len(weight)} rows are no {n_heads} heads of pairs")
    return weight.unflatten(0, (n_heads, 2, -1)).transpose(1, 2).flatten(0, 2)
    ### END SOLUTION

# %% [markdown] hints="assembly.rotary_rows"
# 1. In the example a row of six becomes three pairs, and a transpose does the rest. With heads, which axis stays in front?
# 2. `unflatten(0, (n_heads, -1, 2))` has axes head, pair, member. Exchange the last two of these and flatten all three. On the way back the head's rows are two halves: `(n_heads, 2, -1)`.
# 3. `return weight.unflatten(0, (n_heads, -1, 2)).transpose(…).flatten(0, 2)`; for the way back the same with `(n_heads, 2, -1)`.

# %% [markdown] worth="assembly.rotary_rows"
# Only queries and keys turn, so values and `o_proj` are left alone. And nothing is lost by the move: a score is a sum over a head's numbers, in whatever order.

# %% [markdown]
# To see whether it works, the cell compares the scores of neighbors that turn with those of halves that turn, first after their rows were moved and then without moving them.

# %%
torch.manual_seed(0)
wq, wk, x, at = torch.randn(24, 16), torch.randn(12, 16), torch.randn(1, 5, 16), torch.arange(5)
cut = lambda y: y.unflatten(-1, (-1, 6)).transpose(1, 2)
one = [turn_neighbors(cut(x @ w.T), at, 10_000.0) for w in (wq, wk)]
two = [apply_rope_half(cut(x @ to_half_rows(w, len(w) // 6).T), at) for w in (wq, wk)]
score = lambda q, k: q @ repeat_kv(k, 2).mT
print("moved:", (score(*one) - score(*two)).abs().max().item())
print("not moved:", (score(*one) - score(*(apply_rope_half(cut(x @ w.T), at) for w in (wq, wk)))).abs().max().item())

# %% [markdown]
# ## 14. Extension: a choice of experts
#
# A gated layer has two thirds of a block's numbers or more, and every token pays for all of them. Mixtral has eight such layers, called **experts**, of which only two run for each token. A small matrix, the router, scores them and chooses the best, so that 47 billion numbers are stored but 13 billion are used per token ([2401.04088](https://arxiv.org/abs/2401.04088)).

# %% [markdown]
# ### Worked example
#
# Suppose that a token has these probabilities for four experts. The two best have 0.5 and 0.3, which are divided by 0.8 so that the shares sum to 1.

# %%
p = torch.tensor([0.1, 0.5, 0.1, 0.3])
best, chosen = p.topk(2)
print(chosen.tolist(), (best / best.sum()).tolist())

# %% [markdown] statement="assembly.experts"
# Write the layer with `router`, an `nn.Linear` from `d_model` to `c["n_experts"]` without bias, and with `experts`, that many layers from `make_ffn(c)`.
#
# For each token, take the softmax over the experts and its `c["n_active"]` largest probabilities, and rescale these to shares that sum to 1. The result is the sum of the chosen experts' results, weighted by these shares. An expert runs on its own tokens only; the check counts the work.

# %% exercise="assembly.experts"
class Experts(nn.Module):
    """A feed-forward layer of which each token uses a part (arXiv:2401.04088)."""

    def __init__(self, c):
        super().__init__()
        ### BEGIN SOLUTION
        self.n_active = c["n_active"]
        self.router = nn.Linear(c["d_model"], c["n_experts"], bias=False)
        self.experts = nn.ModuleList(make_ffn(c) for _ in range(c["n_experts"]))
        ### END SOLUTION

    def forward(self, x):
        """(B, T, d_model) → the same shape and dtype."""
        ### BEGIN SOLUTION
        share, chosen = self.router(x).softmax(-1).topk(self.n_active, dim=-1)
        share = share / share.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            b, t, place = torch.where(chosen == i)
            out = out.index_put((b, t), expert(x[b, t]) * share[b, t, place][:, None], accumulate=True)
        return out
        ### END SOLUTION

# %% [markdown] hints="assembly.experts"
# 1. `topk` gives shares and experts per token. Turn the question around: for expert $i$, which tokens have chosen it, and with which share?
# 2. `share, chosen = p.topk(k)`, both $(B, T, k)$; divide the shares by their sum. For each expert, `torch.where(chosen == i)` lists text, token and place. Run the expert on `x[b, t]`, multiply by `share[b, t, place]`, and add into a tensor of zeros.
# 3. In the loop: `b, t, place = torch.where(chosen == i)`, then `out = out.index_put((b, t), expert(x[b, t]) * …[:, None], accumulate=True)`.

# %% [markdown] worth="assembly.experts"
# Nothing here keeps the router from sending all tokens to one expert, and in training it tends to do that. Mixtral's ancestors therefore add a loss for even use ([2101.03961](https://arxiv.org/abs/2101.03961)), while DeepSeek-V3 moves a bias per expert ([2412.19437](https://arxiv.org/abs/2412.19437)).

# %%
MIXTRAL = LLAMA | dict(n_kv_heads=8, d_ff=14_336, n_experts=8, n_active=2)
stored, two = (count(lambda c: Decoder(c, ffn=Experts), config(**MIXTRAL | dict(n_experts=n))) for n in (8, 2))
used = two + 32 * 6 * 4096  # a token meets two experts of each layer, and the whole router: all 8 rows of it
print(f"{stored:,} stored; a token meets {used:,} of them")

# %% [markdown]
# ## 15. Extension: one stack reads, another writes
#
# T5 keeps both halves of the first Transformer. An encoder reads the source and leaves a **memory**, one vector per token. A decoder writes the target, and in every block its queries look at the memory, too. Instead of positions, all layers of a stack add unit 05's bias per distance to their scores, which are not divided.

# %% [markdown] statement="assembly.t5_parts"
# Bring your `t5_bias` and `t5_attention` from unit 05: run the cell twice, as in section 1. `T5Attention` is given, and its `mask` is a number that is added to the scores, −∞ where nobody may look.

# %% setup=true
def t5_bias(*args, **kwargs):
    raise NotImplementedError("assembly.t5_parts: your code goes here")
t5_attention = t5_bias  # until yours are below

# %% exercise="assembly.t5_parts" bring="position.t5_bias"
### BEGIN SOLUTION
def t5_relative_bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    N = num_buckets // 2 if bidirectional else num_buckets
    E = N // 2
    n = relative_position.abs() if bidirectional else (-relative_position).clamp(min=0)
    share = torch.log(n.clamp(min=1) / E) / math.log(max_distance / E)
    bucket = torch.where(n < E, n, (E + (share * (N - E)).floor().long()).clamp(max=N - 1))
    return bucket + N * (relative_position > 0) if bidirectional else bucket

def t5_bias(weight, T, S, bidirectional=True):
    distance = torch.arange(S) - torch.arange(T)[:, None]
    return weight[t5_relative_bucket(distance, bidirectional, weight.shape[0])].permute(2, 0, 1)[None]

def t5_attention(q, k, v, bias, mask=None):
    scores = q @ k.mT + bias
    return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(-1) @ v
### END SOLUTION


class T5Attention(Attention):
    def attend(self, q, k, v, mask):
        return t5_attention(q, k, v, torch.zeros(1) if mask is None else mask)

# %% [markdown] hints="assembly.t5_parts"
# 1. Nothing new is asked here: look for T5 in unit 05. If the line was not replaced, the text below the cell says what is missing.
# 2. `t5_bias` looks up `weight` at the bucket of each distance, key minus query, and brings the heads to the front. `t5_attention` adds that to the products before the softmax.
# 3. `return weight[t5_relative_bucket(…, bidirectional, weight.shape[0])].permute(2, 0, 1)[None]`, and `scores = q @ k.mT + bias`, masked, `.softmax(-1) @ v`.

# %% [markdown] worth="assembly.t5_parts"
# For a softmax, a bias of −∞ and a boolean mask are the same thing. That is why PyTorch's own attention takes either in one argument, `attn_mask`, and tells them apart by their dtype.

# %% [markdown]
# ### Worked example
#
# In cross-attention the queries come from one text, keys and values from the other; here two new tokens meet a memory of three. Since the memory's keys don't change while the answer is written, the first call's pair serves all later ones.

# %%
torch.manual_seed(0)
x, memory = torch.randn(1, 2, 4), torch.randn(1, 3, 4)
print((x @ memory.mT).softmax(-1).shape, ((x @ memory.mT).softmax(-1) @ memory).shape)

# %% [markdown] statement="assembly.cross_block"
# `CrossAttention` has the weights of `T5Attention` and another `forward`. Queries come from `x`, keys and values from `memory`, or from `past` where there is one; then the memory is not read. `forward` scores with `self.attend` and returns the result with the pair (keys, values).
#
# `CrossBlock` is Pre-LN with three sublayers, `attention`, `cross_attention` and `ffn`, each with its norm of `__init__`. Its `past`, like its second result, is two pairs, its own keys and values, then the memory's.

# %% exercise="assembly.cross_block"
class CrossAttention(T5Attention):
    def forward(self, x, memory, mask=None, past=None):
        """x (B, T, d_model), memory (B, S, d_model), mask added to (B, H, T, S) → (B, T, d_model), (keys, values)."""
        ### BEGIN SOLUTION
        cut = lambda y: y.unflatten(-1, (-1, self.c["head_dim"])).transpose(1, 2)
        k, v = past or (cut(self.k_proj(memory)), cut(self.v_proj(memory)))
        out = self.attend(cut(self.q_proj(x)), k, v, mask)
        return self.o_proj(out.transpose(1, 2).flatten(2)), (k, v)
        ### END SOLUTION


class CrossBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attention, self.cross_attention, self.ffn = T5Attention(c), CrossAttention(c), make_ffn(c)
        self.attention_norm, self.cross_norm, self.ffn_norm = (make_norm(c) for _ in range(3))

    def forward(self, x, memory, mask=None, cross_mask=None, past=None):
        ### BEGIN SOLUTION
        own, other = past or (None, None)
        out, own = self.attention(self.attention_norm(x), mask, None, own)
        x = x + out
        out, other = self.cross_attention(self.cross_norm(x), memory, cross_mask, other)
        x = x + out
        return x + self.ffn(self.ffn_norm(x)), (own, other)
        ### END SOLUTION

# %% [markdown] hints="assembly.cross_block"
# 1. `CrossAttention.forward` is your attention's without `prepare`, and with two sources. In the block each sublayer reads the stream through its norm, and adds to it.
# 2. Cut heads as before. `k, v = past` where there is a past, else both projected from `memory`. The block takes `past` apart first, and calls `self.attention(norm(x), mask, None, own)`, then cross-attention, then `ffn`.
# 3. `k, v = past or (cut(self.k_proj(memory)), cut(self.v_proj(memory)))`. In the block: `out, own = self.attention(self.attention_norm(x), mask, None, own)`, `x = x + out`, the same with `cross_attention`, and `return x + self.ffn(…), (own, other)`.

# %% [markdown] worth="assembly.cross_block"
# The memory may be anything that is a row of vectors, so the same block can also write about images. In Whisper, for example, the memory is sound, thirty seconds of it in 1,500 vectors ([2212.04356](https://arxiv.org/abs/2212.04356)).

# %% [markdown]
# Two things are given: `Stacks` has T5's weights, and `blocked` puts −∞ into a bias where a mask is False.

# %% setup=true
class Stacks(nn.Module):
    """All weights of a T5."""

    def __init__(self, c):
        super().__init__()
        self.c, n = c, c["n_layers"]
        self.embeddings = Embeddings(c)
        self.encoder = nn.ModuleList(Block(c, T5Attention) for _ in range(n))
        self.decoder = nn.ModuleList(CrossBlock(c) for _ in range(n))
        self.encoder_norm, self.decoder_norm = make_norm(c), make_norm(c)
        self.encoder_bias, self.decoder_bias = (nn.Embedding(32, c["n_heads"]) for _ in range(2))
        if not c["tied"]:
            self.head = nn.Linear(c["d_model"], c["vocab"], bias=False)


def blocked(bias, mask):
    return bias.masked_fill(~mask, -math.inf)

# %% [markdown] statement="assembly.encoder_decoder"
# - In `encode`, every block gets the same mask, `t5_bias` of `encoder_bias.weight`, blocked at padding, and `encoder_norm` comes last.
# - In `decode`, the bias is that of `decoder_bias.weight`, not bidirectional, blocked at the future. Its last $T$ rows belong to the new tokens, and the memory's padding is blocked as well. `decode` returns logits, and a list of each block's second result.
# - With `real=None` nothing is padding.
# - A tied head gets the normed stream divided by $\sqrt{d_{model}}$, a separate head as it is.

# %% exercise="assembly.encoder_decoder"
class EncoderDecoder(Stacks):
    """T5 (arXiv:1910.10683)."""

    def encode(self, ids, real=None):
        """ids, real (B, S) → memory (B, S, d_model). The embeddings need no positions: None."""
        ### BEGIN SOLUTION
        mask = t5_bias(self.encoder_bias.weight, ids.shape[1], ids.shape[1])
        x, mask = self.embeddings(ids, None), mask if real is None else blocked(mask, real[:, None, None])
        for block in self.encoder:
            x, _ = block(x, mask)
        return self.encoder_norm(x)
        ### END SOLUTION

    def decode(self, ids, memory, real=None, past=None):
        """ids (B, T) new tokens, memory and its real (B, S), past per layer → logits (B, T, vocab), caches."""
        ### BEGIN SOLUTION
        seen, x, caches = past[0][0][0].shape[2] if past else 0, self.embeddings(ids, None), []
        S = seen + ids.shape[1]
        bias = t5_bias(self.decoder_bias.weight, S, S, bidirectional=False)
        mask = blocked(bias, torch.ones(S, S).tril().bool())[:, :, seen:]
        hidden = None if real is None else blocked(torch.zeros(1), real[:, None, None])
        for i, block in enumerate(self.decoder):
            x, pair = block(x, memory, mask, hidden, past[i] if past else None)
            caches.append(pair)
        x = self.decoder_norm(x)
        return self.embeddings.logits(x / x.shape[-1] ** 0.5) if self.c["tied"] else self.head(x), caches
        ### END SOLUTION

    def forward(self, source, target, real=None):
        return self.decode(target, self.encode(source, real), real)[0]

# %% [markdown] hints="assembly.encoder_decoder"
# 1. Both halves look like your encoder and your decoder. What replaces positions and masks, and where does the decoder get the number of tokens that came before?
# 2. `encode`: bias $(1, H, S, S)$, blocked where `real[:, None, None]` is False. `decode`: all $S$ = past + new tokens, bias and triangle $(S, S)$, of both the rows from `seen` on; for the memory a zero, blocked at padding. Loop over the blocks with each layer's past.
# 3. `mask = blocked(t5_bias(self.decoder_bias.weight, S, S, bidirectional=False), torch.ones(S, S).tril().bool())[:, :, seen:]`; `hidden = None if real is None else blocked(torch.zeros(1), real[:, None, None])`; `seen = past[0][0][0].shape[2] if past else 0`.

# %% [markdown] worth="assembly.encoder_decoder"
# In T5's paper, an encoder and a decoder of 12 layers each take the work of one decoder of 12, because the source passes only through the one and the target only through the other. So they have twice the numbers for the same operations ([1910.10683](https://arxiv.org/abs/1910.10683), section 3.2).

# %%
T5 = dict(kind="encoder-decoder", vocab=32_128, d_model=512, n_layers=6, n_heads=8, d_ff=2048, position="t5",
          activation="relu", gated=False, query_scale=1, eps=1e-6)
beside(["t5-small"], [count(EncoderDecoder, config(**T5))])

# %% [markdown]
# ## 16. Extension: thirteen families, one table
#
# The table compares everything that you wrote with everything that they wrote. A family whose exercise is still open says so in its row.

# %%
def build(c):
    if c["kind"] == "encoder-decoder":
        return EncoderDecoder(c)
    if c["kind"] == "encoder":
        return (Albert if c["shared_layers"] else Bert)(c)
    if c["norm"] == "gemma":
        return Gemma(c)
    return Decoder(c, attention_of(c), Experts if c["n_experts"] else make_ffn)

# %%
everything = compare_all(build, rename, unfuse)
everything

# %% [markdown]
# How large is a difference that comes from a mistake? Here one constant of LLaMA, RoPE's base, is wrong, although the weights load as before.

# %%
wrong = compare_all(lambda c: build(c | {"base": 500_000.0}), rename, families=["llama"])
wrong

# %%
shown = [(r.family, r.difference / r.scale) for r in everything.rows if not isinstance(r, tuple)]
shown += [("LLaMA, wrong base", r.difference / r.scale) for r in wrong.rows if not isinstance(r, tuple)]
if shown:
    names, gaps = zip(*shown)
    with described("Largest difference of each family, as a share of its largest output: {told}. Float32 rounds at 6e-8.",
                   told=", ".join(f"{n} {g:.0e}" for n, g in shown)):
        plt.barh(names, gaps), plt.xscale("log"), plt.gca().invert_yaxis()
        plt.axvline(torch.finfo(torch.float32).eps / 2, color="black", linestyle="--", label="one rounding step")
        plt.xlabel("largest difference / largest output"), plt.legend()

# %% [markdown]
# All bars but the last are rounding, carried through three layers, while the last one is a single wrong number in a configuration.

# %% [markdown]
# ## Recap

# %%
quiz("A checkpoint loads with strict=True into your decoder. What is proven?",
     {"names and shapes agree": (True, "And nothing else: gate and up have one shape, and two names that can be mixed up."),
      "the logits are right": (False, "Layout of RoPE, order of heads, ε and masks have no weights."),
      "the configuration is right": (False, "Base, ε, window and placement leave no trace in names and shapes.")})

# %%
quiz("LLaMA-2-7B gets 8 key-value heads instead of 32. What becomes smaller?",
     {"the cache and two matrices": (True, "k_proj and v_proj in each block, and every key and value that is stored."),
      "the cache alone": (False, "The projections that make keys and values have fewer rows, too."),
      "all four matrices of attention": (False, "Queries and the output projection have one slice per query head.")})

# %%
quiz("Why may a padded token see itself?",
     {"its row would have no key, and NaN spreads": (True, "Weight 0 times NaN is NaN, in the next layer."),
      "its own key is real": (False, "It is not, and no real token sees it."),
      "so that its logits are right": (False, "Nobody reads them.")})

# %%
quiz("Which placement needs no norm after the last block?",
     {"Post-LN": (True, "Its last step is a norm already."),
      "Pre-LN": (False, "Its stream is a sum of everything, of any size."),
      "the sandwich": (False, "Its norms lie on the branches; the stream is never normalized.")})

# %%
quiz("A new family normalizes queries and keys before they turn. What do you write?",
     {"a subclass with another prepare": (True, "Five lines, and the rest of the model stays."),
      "another Decoder": (False, "It does not know what happens inside of attention."),
      "another attend": (False, "There it would come after the turn, and after the cache.")})

# %%
progress("11-assembly")

# %% [markdown]
# ## Where this lives in real models
#
# - Hugging Face's `modeling_llama.py` is your `Decoder` with other names, while Mistral, Qwen and OLMo change a method or a line.
# - GPT-2, BERT, T5 and Gemma ([2403.08295](https://arxiv.org/abs/2403.08295)) tie their heads, while LLaMA ([2302.13971](https://arxiv.org/abs/2302.13971)) and Mistral ([2310.06825](https://arxiv.org/abs/2310.06825)) have separate ones.
# - ALBERT factorizes its embeddings ([1909.11942](https://arxiv.org/abs/1909.11942)).
# - OLMo 2 ([2501.00656](https://arxiv.org/abs/2501.00656)) and Qwen 3 ([2505.09388](https://arxiv.org/abs/2505.09388)) normalize queries and keys, whereas Gemma 2 caps their scores ([2408.00118](https://arxiv.org/abs/2408.00118)).
#
# The model is complete, but its weights came from elsewhere. Next, **12-language-model**: it learns to write, and you choose its words.
