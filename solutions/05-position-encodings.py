# %% [markdown]
# # Position encodings
#
# **You will be able to**
#
# - write the position encodings of the first Transformer, BERT, T5 and BLOOM as their papers define them, and four more in the extensions;
# - say of each scheme whether it knows distance, direction or the position itself, and what it cannot express;
# - predict which schemes still work on texts longer than those of training, and explain why.
#
# **Prerequisites:** unit 01. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# The attention layer of unit 01 gave each word the same number in every order of the words. Suppose that we now lower each score by the distance of its two words (1 for neighbors, 2 for the outer two). For *dog bites man*, the layer then gives these numbers.
#
# | dog | bites | man |
# |---|---|---|
# | 5.34 | 2.15 | 3.87 |
#
# For *bites dog man* it gives dog 5.20, bites 2.08, man 3.25, so the order counts now. What will it give for *man bites dog*?

# %% setup=true
import math

import matplotlib.pyplot as plt
import torch
from anatomy import case, check, predict, progress, quiz, reveal
from anatomy.plots import described, use_style
from anatomy.widgets import PositionExplorer
from torch import nn

use_style()

# %%
predict("position.p1", "Reading 'man bites dog', the layer with distances gives…",
        ["three new numbers", "each word the number it had in 'dog bites man'", "each position the number it had"])

# %% [markdown]
# Keep your guess until section 6, which runs this layer.

# %% [markdown]
# ## Where a position can enter
#
# Attention alone ignores the order of the tokens, so positions must be brought in. On the way from a token to a score there are three stations for this. A scheme can add something to the **embedding**, the vector of the token before the first layer. It can change the **queries and keys** (or values) inside each attention layer, or it can change the **score** of a query and a key directly. The table shows where each scheme enters.

# %% [markdown]
# | scheme | enters at | what is brought in | section |
# |---|---|---|---|
# | sinusoid (the first Transformer) | the embedding | a fixed vector for each position | 1 |
# | learned table (BERT, GPT-2) | the embedding | a trained vector for each position | 2 |
# | T5 | the score | a trained number for each range of distances | 4 |
# | ALiBi (BLOOM) | the score | a fixed penalty that grows with the distance | 5 |
# | Shaw et al. | the keys and values | a trained vector for each distance | 10, extension |
# | Transformer-XL | the score | products with a vector for the distance | 11, extension |
# | DeBERTa | the score | products with a vector for the distance | 12, extension |
# | TUPE | the score | a product of two positions | 13, extension |
# | RoPE (LLaMA) | the queries and keys | a rotation by the position | unit 06 |
#
# The picture shows the same stations on the way up, from the token's id to the softmax. (Shaw et al. are left out.)

# %%
from anatomy import drawings

drawings.position_map()

# %% [markdown]
# ### Four wishes
#
# There are so many schemes because one would like to have four things at once, and each scheme gives up at least one of them.
#
# - **Unique:** no two positions look the same.
# - **Long:** the scheme works on texts that are longer than those of training.
# - **Consistent:** equal distances look equal, for example those of two neighbors at the beginning of a book and on page 300.
# - **Cheap:** the scheme stores few numbers and needs little work.

# %% [markdown]
# Each section therefore asks what its scheme cannot express or where it ends, and closes with the answer. Section 7 collects the answers in a table with a column for each wish.

# %% [markdown]
# ## 1. Waves for positions
#
# **Question:** do waves end somewhere, and can a layer read the position from them right away?
#
# The embedding of a token says which token it is, but not where in the text it is. The simplest remedy is to add a second vector that depends only on the position, and that exists for every position, however late.

# %% [markdown]
# A clock solves a similar problem with hands of different speeds. The fast hand tells close moments apart, while the slow hands tell distant moments apart. The original Transformer writes position $p$ the same way. Each pair of features is a hand, given by the sine and the cosine of its angle, because a sine alone would fit two angles.
#
# Suppose, for example, that 4 features hold two hands. The first moves by an angle of 1 per position, and the second is ten times slower. Position 3 then becomes this vector.

# %%
p = 3
[round(n, 3) for n in (math.sin(p), math.cos(p), math.sin(p / 10), math.cos(p / 10))]

# %% [markdown]
# In general there are $d_{model}/2$ hands, and hand $i = 0 \dots d_{model}/2 - 1$ fills the features $2i$ and $2i + 1$.
#
# $$PE[p, 2i] = \sin(p\,\omega_i), \quad PE[p, 2i+1] = \cos(p\,\omega_i), \quad \omega_i = \text{base}^{-2i/d_{model}}$$
#
# The speeds $\omega_i$ (1 and $1/10$ above, with base 100) are called *frequencies*. Here $i$ counts *pairs* of features, which share a frequency. It ends at 31 for $d_{model} = 64$, for example. Positions count from 0, and the vector is added to the token's embedding once, before the first layer.

# %% [markdown] statement="position.sinusoidal"
# Encode `positions` of any shape, with sine and cosine alternating as in the formula. Negative positions are allowed (section 11 encodes distances like this), and an odd `d_model` raises a `ValueError`.

# %% exercise="position.sinusoidal"
def sinusoid(positions, d_model, base=10000.0):
    """Sinusoidal encodings (arXiv:1706.03762, section 3.5).

    Args:
        positions: int64 tensor of any shape, () too.
        d_model: int, even.
        base: float.

    Returns:
        (..., d_model) float32 tensor, the shape of positions with one axis more.
    """
    ### BEGIN SOLUTION
    if d_model % 2:
        raise ValueError(f"d_model must be even, got {d_model}")
    frequencies = base ** (-torch.arange(0, d_model, 2) / d_model)  # (d_model/2,)
    angles = positions[..., None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    ### END SOLUTION

# %% [markdown] hints="position.sinusoidal"
# 1. Write the frequencies as one tensor of `d_model/2` numbers first. Which shapes let one product give the angle of every position and every pair?
# 2. `torch.arange(0, d_model, 2)` is the list of all $2i$, and `positions[..., None]` adds an axis for the pairs. Stack sine and cosine along a *new* last axis, then flatten the last two axes, so that they alternate.
# 3. `frequencies = base ** (-torch.arange(0, d_model, 2) / d_model)`, `angles = positions[..., None] * frequencies`, `return torch.stack([angles.sin(), …], dim=-1).flatten(…)`.

# %% [markdown] worth="position.sinusoidal"
# The authors' own [code](https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/layers/common_attention.py) does not alternate, for all sines come first and then all cosines. For a model trained from scratch that is just as good, whereas for loaded weights the order matters.

# %% [markdown]
# ### See it
#
# The heatmap shows your encodings of 64 positions, one in each row.

# %%
with described("Heatmap of 64 positions by 64 features: fast stripes at the left, slower ones to the right, and almost "
               "constant columns at the far right."):
    plt.figure(figsize=(6, 3))
    plt.imshow(sinusoid(torch.arange(64), 64), cmap="RdBu", aspect="auto")
    plt.xlabel("feature"), plt.ylabel("position"), plt.grid(False), plt.colorbar()

# %% [markdown]
# Neighboring positions differ in the fast features at the left, whereas distant positions differ in slower ones. The right third hardly changes here, because its hands need thousands of positions for one turn.

# %% [markdown]
# **Answer:** the waves have no end, and no two positions share a vector, since the first hand never comes back to an old angle. However, the sum mixes content and position, and a layer has to *learn* matrices $W_Q$ and $W_K$ that read the position out of it. Section 7 tests whether they also read positions that training never met.

# %% [markdown]
# ## 2. A learned table
#
# **Question:** what happens after the last row of a table?
#
# The waves were chosen by hand, and training might find better vectors. BERT and GPT-2 therefore keep a table with one trained row for each position, and add row $p$ to the token at position $p$. BERT-base, for example, stores $512 \times 768 = 393{,}216$ numbers for positions 0 to 511. When a text reaches position 512, the layer should say at once that it has no row for it.

# %% [markdown] statement="position.learned"
# Write the module, whose only parameter is `weight`, of shape `(max_positions, d_model)`, drawn from $\mathcal N(0, 0.02^2)$.
#
# `forward` reads the rows of `position_ids`, in the dtype of the table. A position outside the table, *negative ones too*, raises a `ValueError`.

# %% exercise="position.learned"
class LearnedPositions(nn.Module):
    """A trained vector per position (BERT, arXiv:1810.04805; GPT-2). Gradients flow to the rows that are read."""

    def __init__(self, max_positions, d_model):
        super().__init__()
        ### BEGIN SOLUTION
        self.weight = nn.Parameter(0.02 * torch.randn(max_positions, d_model))
        ### END SOLUTION

    def forward(self, position_ids):
        """position_ids (...) int64 → (..., d_model). ValueError outside 0 … max_positions-1."""
        ### BEGIN SOLUTION
        size = self.weight.shape[0]
        if ((position_ids < 0) | (position_ids >= size)).any():
            raise ValueError(f"positions must lie in 0..{size - 1}, got {position_ids.tolist()}")
        return self.weight[position_ids]
        ### END SOLUTION

# %% [markdown] hints="position.learned"
# 1. What does Python give for `row[-1]`? And torch? That is why both ends need a check.
# 2. Write `nn.Parameter(0.02 * torch.randn(…))` in the constructor. In `forward`, compare with 0 and with `self.weight.shape[0]`, raise if any position is outside, then index.
# 3. `if ((position_ids < 0) | (position_ids >= …)).any(): raise ValueError(…)`, then `return self.weight[…]`.

# %% [markdown] worth="position.learned"
# BERT met positions beyond 127 only at the end of its training. While 90 % of the steps used sequences of 128 tokens, the last 10 % used 512 to train the rest of the table (appendix A.2 of its [paper](https://arxiv.org/abs/1810.04805)).

# %% [markdown]
# Let us ask a table of 512 rows for positions 510 to 513.

# %%
try:
    LearnedPositions(512, 768)(torch.arange(510, 514))
except ValueError as error:
    print(error)

# %% [markdown]
# **Answer:** after the last row there is nothing, not even a poor guess, and a longer text has to be cut. Moreover, the model has to learn what "one position further" means for every row anew, because each row is trained on its own.

# %% [markdown]
# ### Extension: let an RNN count
#
# A *recurrent network* (RNN, unit 01) reads token by token and keeps a state, a vector that depends on all tokens so far and on their order. If this state is added to each token, attention can learn where tokens are without any table.
#
# $$h_t = \tanh(W_{in}\, x_t + W_{rec}\, h_{t-1}), \qquad x_t \leftarrow x_t + h_t$$

# %%
torch.manual_seed(0)
W_in, W_rec = torch.randn(2, 4, 4) / 2

def recurrent(x):
    state, states = torch.zeros(4), []
    for word in x:
        state = torch.tanh(W_in @ word + W_rec @ state)
        states.append(state)
    return x + torch.stack(states)

word = torch.tensor([1.0, 0.0, -1.0, 0.5])
recurrent(word.expand(3, 4))

# %% [markdown]
# Three equal tokens get three different rows, and there is no maximum length. The price is the loop, in which step $t$ has to wait for step $t - 1$.

# %% [markdown]
# ## 3. Distances inside the score
#
# Both schemes so far are added to the token and must find their way into the scores from there. Yet a head often needs only to know how far away a key is, and on which side. *Relative* schemes put this distance directly into the score. All of them start from a table of distances, which we count as **key minus query**.

# %% setup=true
def relative_positions(T, S, offset=0):
    """(T, S) int64: key position j minus query position i + offset."""
    return torch.arange(S) - (torch.arange(T)[:, None] + offset)

# %%
relative_positions(3, 3), relative_positions(2, 5, offset=3)

# %% [markdown]
# A negative number means that the key is in the past. The `offset` is the position of the first query. If, for example, a model continues a text and only the last two of five tokens are queries, the offset is 3, as in the second table.
#
# The next two sections turn each distance into a number that is added to the score. T5 looks it up, while ALiBi computes it.

# %% [markdown]
# ## 4. T5: one number per bucket
#
# **Question:** which distances can T5 not tell apart, and what can one number per distance not express?
#
# T5 adds a *single trained number* for each head and distance to the score, and nothing else. Since a table with a number for every distance would end again, T5 sorts the distances into *buckets*, which are narrow near the query and wide far away. For example, distances 3 and 4 have a bucket each, whereas 60 and 63 share one.

# %% [markdown]
# ### Worked example
#
# Suppose that there are 32 buckets, 16 for each side of the query. Half of a side is exact, with buckets 0 … 7 for the distances 0 … 7. The other 8 buckets divide the distances 8 … 127 evenly *on a logarithmic scale*. From 8 to 128 is a factor of 16, and each bucket spans a factor of $16^{1/8} = \sqrt 2$. The next cell computes where the buckets begin.

# %%
[round(8 * 2 ** (b / 2), 1) for b in range(9)]

# %% [markdown]
# Each bucket starts at the next whole number, at 8, 12, 16, 23, 32, 46, 64, 91, and the last one also takes everything from 128 on. For example, 8 to 11 share bucket 8, because $8\sqrt 2 = 11.3$. The formula says the same for $E$ exact buckets of $N$ on a side, a scale that ends at $M$ (128 here), and a distance $n \ge E$.
#
# $$\text{bucket}(n) = E + \left\lfloor \frac{\ln(n/E)}{\ln(M/E)}\,(N - E) \right\rfloor, \quad \text{at most } N - 1$$

# %% [markdown] statement="position.t5_buckets"
# Return the bucket of each `relative_position`, which is key minus query, in one of two cases.
#
# - *Bidirectional:* each side has $N = $ `num_buckets // 2` buckets. Past and present take buckets $0 \dots N-1$, and the future takes the same plus $N$.
# - *Causal:* all `num_buckets` are for the past, and a key in the future counts as distance 0.
#
# In both cases the first $E = N // 2$ distances, from 0 on, have a bucket each, and the others follow the formula with $M = $ `max_distance`. $N$ and $E$ are given in the stub.

# %% exercise="position.t5_buckets"
def t5_relative_bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    """T5's bucket for each relative position (arXiv:1910.10683, section 2.1).

    Args:
        relative_position: int64 tensor of any shape, key minus query.
        bidirectional: bool. num_buckets: int, 2 or more for a side. max_distance: int, M, above E.

    Returns:
        int64 tensor of the same shape, entries 0 … num_buckets-1.
    """
    N = num_buckets // 2 if bidirectional else num_buckets
    E = N // 2
    ### BEGIN SOLUTION
    n = relative_position.abs() if bidirectional else (-relative_position).clamp(min=0)
    share = torch.log(n.clamp(min=1) / E) / math.log(max_distance / E)  # clamp: no log of 0
    far = (E + (share * (N - E)).floor().long()).clamp(max=N - 1)
    bucket = torch.where(n < E, n, far)
    return bucket + N * (relative_position > 0) if bidirectional else bucket
    ### END SOLUTION

# %% [markdown] hints="position.t5_buckets"
# 1. First turn the relative position into a distance $n \ge 0$. How does that differ between the two cases?
# 2. Compute the logarithmic bucket for *all* $n$ (with `n.clamp(min=1)`, since ln 0 is −∞), limit it to $N - 1$, and let `torch.where(n < E, n, far)` choose. Add $N$ where the key is in the future.
# 3. `share = torch.log(n.clamp(min=1) / E) / math.log(max_distance / E)`, `far = (E + (share * (N - E)).floor().long()).clamp(max=…)`, `bucket = torch.where(…)`, `return bucket + N * (relative_position > 0) if bidirectional else …`.

# %% [markdown] worth="position.t5_buckets"
# To a single layer all distances in the last bucket look alike. A stack of layers can still tell them apart, as the [paper](https://arxiv.org/abs/1910.10683) notes, when later layers combine what earlier ones gathered nearby.

# %% [markdown]
# In the picture of both cases, distances share a bucket where a staircase is flat. In the bidirectional case, keys in the future have buckets 17 to 31 of their own. (Bucket 16 would be a future key at distance 0.)

# %%
r = torch.arange(-140, 141)
with described("Bucket against relative position: bidirectional, two staircases of 16 buckets, the future one 16 higher; "
               "causal, one staircase of 32 buckets in the past and 0 in the future."):
    plt.step(r, t5_relative_bucket(r), where="mid", label="bidirectional")
    plt.step(r, t5_relative_bucket(r, bidirectional=False), where="mid", label="causal")
    plt.xlabel("r = key − query"), plt.ylabel("bucket"), plt.legend()

# %% [markdown] statement="position.t5_bias"
# Now give each bucket its number. `t5_bias` looks the buckets up in `weight`, of shape `(num_buckets, H)`, and returns $(1, H, T, S)$; `max_distance` stays 128. Queries and keys both start at position 0.
#
# `t5_attention` adds a bias to the scores. T5 divides **neither** the scores nor the bias by $\sqrt D$.

# %% exercise="position.t5_bias"
def t5_bias(weight, T, S, bidirectional=True):
    """weight (num_buckets, H) → (1, H, T, S) of the same dtype. Gradients flow to weight: it is trained."""
    ### BEGIN SOLUTION
    bucket = t5_relative_bucket(relative_positions(T, S), bidirectional, weight.shape[0])  # (T, S)
    return weight[bucket].permute(2, 0, 1)[None]
    ### END SOLUTION


def t5_attention(q, k, v, bias, mask=None):
    """q (B, H, T, D), k (B, H, S, D), v (B, H, S, Dv), bias and mask broadcast to (B, H, T, S) → (B, H, T, Dv).

    mask: boolean, True = may look; every query may look at one key at least. Large scores give no NaN.
    Gradients flow to q, k, v and bias.
    """
    ### BEGIN SOLUTION
    scores = q @ k.transpose(-2, -1) + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ v
    ### END SOLUTION

# %% [markdown] hints="position.t5_bias"
# 1. `weight[bucket]` has shape $(T, S, H)$. Which axes must move to fit scores of shape $(B, H, T, S)$?
# 2. Take the buckets of `relative_positions(T, S)`, index `weight`, use `permute(2, 0, 1)`, and add one axis in front. The attention is that of unit 01 without the division, and the bias is added before mask and softmax.
# 3. `return weight[bucket].permute(2, 0, 1)[None]`; `scores = q @ k.transpose(-2, -1) + …`, mask, `return scores.softmax(-1) @ v`.

# %% [markdown] worth="position.t5_bias"
# For 4,096 tokens and 8 heads the bias is a tensor of 134 million numbers, although it is made from 256 weights. FlexAttention therefore computes it inside its kernel and stores none of it ([paper](https://arxiv.org/abs/2412.05496)).

# %% [markdown]
# All layers of a stack share one table. T5-small stores only $32 \times 8 = 256$ numbers for its encoder, compared with BERT-base's 393,216. Without the division by $\sqrt D$ the scores would be large at the start of training, which is why T5 starts with query weights that are smaller by $\sqrt D$ instead.

# %% [markdown]
# ### Claim on trial
#
# Many texts repeat this sentence, and we test it before we believe it.
#
# > *"Transformer-XL, T5 and DeBERTa put relative positions into the score: $\text{softmax}\left((QK^\top + \text{Bias}) / \sqrt{D}\right)V$, where the bias is a number looked up for $i - j$."*
#
# Does it matter whether the bias is divided as well? Suppose that two keys have equal content, and that the second is one position further away. A bias of −1 should then multiply its weight by $e^{-1} = 0.37$. The next cell tries both orders with $D = 64$, so that $\sqrt D = 8$.

# %%
content, bias = torch.tensor([0.0, 0.0]), torch.tensor([0.0, -1.0])
for name, scores in (("as claimed", (content + bias) / 8), ("bias after scaling", content / 8 + bias)):
    w = scores.softmax(0)
    print(f"{name:18} weights {w[0]:.3f} and {w[1]:.3f}, ratio {w[1] / w[0]:.2f}")

# %% [markdown]
# The order matters, since only the bias after scaling gives 0.37. The next cell builds real models with random weights, and measures the factor of $q \cdot k$ and whether the bias is added whole after it. (BLOOM uses ALiBi, the subject of section 5. DeBERTa has no bias, hence the dash.)

# %%
from anatomy.experiments import named_models

facts = ["positions", "score_factor", "bias_after_scaling"]
print(*named_models.table(["t5-small", "bloom", "deberta-base"], facts), sep="\n")

# %% [markdown] evidence="exact + models: t5-small, bloom, deberta-base"
# **Verdict: no, the formula fits only one term of one of the three models.** This term is Transformer-XL's number per distance, as the table below shows. (Sections 11 and 12 explain the products.)
#
# | model | added to $q \cdot k$ | what is divided |
# |---|---|---|
# | T5 | a number per distance | nothing |
# | Transformer-XL | a number per distance, and the product of the query with a vector | everything, by $\sqrt D$ |
# | DeBERTa | two products with vectors | everything, by $\sqrt{3D}$ |
# | BLOOM (not in the claim) | a fixed penalty | only $q \cdot k$, by $\sqrt D$ |
#
# A *trained* bias can make up for the division by growing $\sqrt D$ times larger. A fixed bias (ALiBi) or a loaded one cannot, and with $D = 64$ it would be 8 times weaker.

# %% [markdown]
# **Answer:** T5 cannot tell apart two distances in one bucket, and all far ones share the last bucket. Since its number is the same for all tokens, it can say "prefer the third token back", for example, but not "prefer it if I am a verb". The scheme has no end, although section 7 will ask whether its numbers are any good at far distances.

# %% [markdown]
# ## 5. ALiBi: a penalty
#
# **Question:** what can a fixed penalty not express, and does it end?
#
# ALiBi (*attention with linear biases*) trains nothing for positions. Each head subtracts a fixed slope $m_h$ times the distance from the scaled scores.
#
# $$\text{score}_{ij} = \frac{q_i \cdot k_j}{\sqrt D} - m_h\,|i - j|$$
#
# With 8 heads the slopes are $\tfrac12, \tfrac14, \dots, \tfrac1{256}$. A head with a large slope sees only a few tokens, while one with a small slope sees hundreds.

# %% [markdown]
# For $H$ a power of two, the slopes are $2^{-8/H}, 2^{-16/H}, \dots, 2^{-8}$.
#
# For any other $H$, take the largest power of two $P$ below $H$. Its slopes come first, and the rest are the 1st, 3rd, 5th … slope of the series for $2P$. Twelve heads, for example, get the eight slopes above, then $2^{-0.5}, 2^{-1.5}, 2^{-2.5}, 2^{-3.5}$.

# %% [markdown] statement="position.alibi"
# Write both functions, with a `ValueError` for fewer than one head. In the bias, query $i$ is at position $i + \text{offset}$, and the distance is an absolute value. (The paper is causal, where it makes no difference.)

# %% exercise="position.alibi"
def alibi_slopes(n_heads):
    """(n_heads,) float32 tensor of slopes (arXiv:2108.12409 and the authors' code)."""
    ### BEGIN SOLUTION
    if n_heads < 1:
        raise ValueError(f"n_heads must be positive, got {n_heads}")
    P = 2 ** int(math.log2(n_heads))
    first = [2 ** (-8 * h / P) for h in range(1, P + 1)]
    between = [2 ** (-4 * h / P) for h in range(1, 2 * (n_heads - P), 2)]
    return torch.tensor(first + between)
    ### END SOLUTION


def alibi_bias(slopes, T, S, offset=0):
    """slopes (H,) → (H, T, S) of the same dtype, -slope·|i + offset - j|. Gradients flow to slopes."""
    ### BEGIN SOLUTION
    return -slopes[:, None, None] * relative_positions(T, S, offset).abs()
    ### END SOLUTION

# %% [markdown] hints="position.alibi"
# 1. Write down the exponents for 4 heads and for 8 heads side by side. Which of the second list are missing in the first?
# 2. Let `P = 2 ** int(math.log2(n_heads))`. The first P exponents are $8h/P$, $h = 1 \dots P$. The others are $8h/(2P)$ for odd $h$, as many as are missing. For the bias, `slopes[:, None, None]` lines up with `(T, S)`.
# 3. `between = [2 ** (-4 * h / P) for h in range(1, 2 * (n_heads - P), 2)]`, `torch.tensor(first + between)`; bias `-slopes[:, None, None] * relative_positions(…).abs()`.

# %% [markdown] worth="position.alibi"
# The authors first tried to train the slopes, and gave it up because such models did not extrapolate well. The series here is the one that they kept out of about ten tried by hand ([paper](https://arxiv.org/abs/2108.12409)).

# %% [markdown]
# The largest model of [BLOOM](https://arxiv.org/abs/2211.05100), which uses ALiBi, has 112 heads. Since this is no power of two, its slopes need your second rule (64, then 48 from the series for 128).

# %%
bloom = alibi_slopes(112)
print(f"{bloom[0]:.3f} … {bloom[63]:.5f}, then {bloom[64]:.3f} … {bloom[-1]:.5f}")

# %% [markdown]
# **Answer:** ALiBi has no end and stores nothing. However, the bias of each head only falls with the distance, and unlike T5's it can never prefer the third token to a nearer one. (Several heads together can, as section 7 shows.) Since $|i - j|$ is the same on both sides, ALiBi leaves the direction to the causal mask.

# %% [markdown]
# ### Extension: a soft window
#
# A penalty never cuts a token off, but far ones get next to no weight. How many tokens does a head with slope 1/2 still see?

# %%
predict("position.p3", "All tokens are alike. How many of the nearest tokens get 99 % of the weight for slope 1/2?",
        ["about 3", "about 10", "about 30"])

# %%
slopes = alibi_slopes(8)
weights = alibi_bias(slopes, 1, 1024, offset=1023)[:, 0].softmax(-1).flip(-1)  # nearest token first
nearest = (weights.cumsum(-1) < 0.99).sum(-1) + 1
for m, n in zip(slopes, nearest):
    print(f"slope 1/{1 / m:.0f}: {n} of 1024 tokens get 99 %")

# %%
reveal("position.p3",
       lambda: f"{nearest[0]} tokens",
       "Weights fall by e^(−1/2) per token, so n tokens get 1 − e^(−n/2), which reaches 0.99 at n = 2·ln 100 = 9.2.",
       answer="about 10")

# %% [markdown]
# The picture compares three slopes with a *hard window*, a mask that shows only the nearest 32 tokens.

# %%
with described("Weight against distance on a logarithmic axis: straight falling lines for ALiBi's slopes 1/2, 1/8 and "
               "1/32, beside a hard window of 32 tokens that ends in a cliff."):
    for h in (0, 2, 4):
        plt.semilogy(weights[h, :100], label=f"slope 1/{1 / slopes[h]:.0f}")
    plt.step(range(34), [1 / 32] * 32 + [1e-6] * 2, color="gray", label="hard window of 32")
    plt.ylim(1e-5, 1), plt.xlabel("distance"), plt.ylabel("weight"), plt.legend()

# %% [markdown]
# While the window drops everything beyond its edge, ALiBi lets it fade, and a strong match far away can still win. For example, a score 16 higher pays for 32 tokens at slope 1/2.

# %% [markdown]
# ## 6. Side by side
#
# Which scheme knows distance, which direction, and which the position itself? The explorer below takes a text of 32 equal tokens, in which only positions make scores differ, and two facts under its picture give the answer. The **spread** is the largest difference between the scores of pairs with the same $r$ (key minus query). If it is 0, only the distance counts. If the scores at $r$ and $-r$ are equal, the **direction** is lost.

# %% [markdown]
# Go through the schemes and their variants (those of the extensions are drawn with the course's own code). Which of them have a spread, and which have lost the direction?

# %%
PositionExplorer(sinusoid=sinusoid, LearnedPositions=LearnedPositions, t5_relative_bucket=t5_relative_bucket,
                 alibi_bias=alibi_bias)

# %% [markdown]
# Schemes that are added to the embedding have a spread, except for waves without projections or with a $W$ that turns them by 3. The relative schemes have none, because they are made from distances. The direction is lost for ALiBi, and for waves and tables without projections, because the product of two position vectors is the same in either order.

# %% [markdown]
# ### Back to the puzzle
#
# Now we can name the layer of the puzzle, which lowers each score by the distance $|j - i|$. It is ALiBi with slope 1 and no mask.

# %%
words = {"dog": [2.0, 0.0], "bites": [0.0, 2.0], "man": [1.0, 1.0]}

def read(sentence, bias):
    W_K, W_V = torch.tensor([[0.0, 2.0], [1.0, 0.0]]), torch.tensor([[1.0], [3.0]])
    x = torch.tensor([words[w] for w in sentence.split()])
    scores = x @ (x @ W_K).T / math.sqrt(2) + bias(relative_positions(3, 3))
    return dict(zip(sentence.split(), (scores.softmax(-1) @ x @ W_V).flatten().tolist()))

say = lambda numbers: ", ".join(f"{w} {n:.2f}" for w, n in numbers.items())

# %%
reveal("position.p1",
       lambda: "; ".join(say(read(s, lambda r: -r.abs())) for s in ("dog bites man", "man bites dog")),
       "The second sentence is the mirror image of the first. All distances are the same, so every word keeps its number.",
       answer="each word the number it had in 'dog bites man'")

# %% [markdown]
# ### Claim on trial
#
# > *"Without a mask attention is symmetric, $f(x, y) = f(y, x)$, so two sentences of the same words get the same attention. That is why positions are needed."*
#
# Since unit 01 tried the first half, we try the second. The layer reads three orders of the same words without a bias, with a symmetric bias (the distance), and with one that is not symmetric (a penalty for looking ahead).

# %%
biases = {"none": lambda r: 0.0 * r, "distance −|r|": lambda r: -r.abs(), "ahead costs 1": lambda r: -(r > 0).float()}
for name, bias in biases.items():
    print(name)
    for sentence in ("dog bites man", "man bites dog", "bites dog man"):
        numbers = read(sentence, bias)
        print(f"    {sentence}: {say({w: numbers[w] for w in words})}")

# %% [markdown] evidence="exact"
# **Verdict: positions are needed, but for another reason.** Scores are not symmetric, as unit 01 showed. The order is lost because attention is *equivariant*, which means that reordered tokens give the same numbers, reordered in the same way. A bias by distance changes that, as *bites dog man* shows.
#
# However, a symmetric bias still cannot tell a sentence from its mirror image. For that, $r$ and $-r$ must differ, by bias, projections or a causal mask. This is why ALiBi and waves without projections rely on a mask, whereas T5, with buckets for each side, does not.

# %% [markdown]
# ## 7. Longer than in training
#
# Training on long texts is expensive, because attention compares all pairs of tokens. Which schemes let a model train on short texts and read longer ones afterwards?
#
# ### Claim on trial
#
# > *"Sinusoidal positions extrapolate: they can process sequences longer than those of training."*

# %% [markdown]
# Sinusoids are *defined* for every position, but do they work there? In a small game, a model with one causal attention layer of two heads reads a row of cards. Each kind of card occurs twice, each time in one of eight random colors, and the model answers two questions.

# %% [markdown]
# - **Three back**, at each card: what color was the card three positions before? Only an exact position tells.
# - **Twin**, when a kind comes for the second time: what color did it have the first time? Only content tells, at any distance.
#
# Rows have 64 cards in training and 256 in the test. A blind guess is right in one of eight cases.

# %%
predict("position.p4", "Trained on 64 positions, sinusoids answer 'three back' at positions 128 to 256 in…",
        ["nearly all cases", "about half", "hardly more than chance (1 in 8)"])

# %%
from anatomy.experiments import length

def accuracy(logits, target, width):
    asked = (target >= 0).float()
    right = (logits.argmax(-1) == target).float()
    per_stretch = lambda t: t.sum(0).view(-1, width).sum(1)
    return per_stretch(right * asked) / per_stretch(asked)

games, trained = {}, {}

def play(name, scheme):
    trained[name], seconds = length.train(scheme, steps=300)
    games[name] = length.test(trained[name], accuracy)

# %% [markdown]
# The function `accuracy` gives the share of right answers for each stretch of the row, where a target of −1 asks nothing. Now train three models with your functions, for 300 steps each.

# %%
play("sinusoidal", length.Scheme(add=lambda ids: sinusoid(ids, length.D_MODEL)))

# %%
class Buckets(nn.Module):
    """Your buckets, and a trained number for each."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(32, length.HEADS))

    def forward(self, distance):  # query minus key, so the sign is turned
        return self.weight[t5_relative_bucket(-distance, bidirectional=False)].permute(2, 0, 1)

play("T5 bias", length.Scheme(bias=Buckets()))

# %%
two_slopes = alibi_slopes(length.HEADS)[:, None, None]
play("ALiBi", length.Scheme(bias=lambda distance: -two_slopes * distance))

# %%
from anatomy.experiments import recorded, show_large, where

record = recorded("trained_length")
QUESTIONS = {"twin": "color of the twin", "back": "color three positions back"}

def runs(scheme, length, question):
    chosen = [r for r in record["rows"] if (r["scheme"], r["trained"]) == (scheme, length)]
    return torch.tensor([r[question] for r in chosen])

def band(panel, curves, color, label=None):
    place = [16 * n + 8 for n in range(curves.shape[1])]
    style = {"C0": "-", "C1": "--"}.get(color, ":")  # of the edges, which can be told apart without color
    panel.fill_between(place, curves.amin(0), curves.amax(0), fc=(color, 0.3), ec=color, ls=style, label=label)
    return place

# %%
told = "; ".join(f"{name} {runs(name, 64, 'twin')[:, -1].mean():.2f} and {runs(name, 64, 'back')[:, -1].mean():.2f}"
                 for name in games)
with described("Share of right answers along rows of 256 cards, live lines and recorded bands, trained on 64 and 128 "
               "positions. Recorded on 64, at the last positions, twin and three back: {told}.", told=told):
    figure, panels = plt.subplots(2, 2, figsize=(9, 5.6), sharex=True, sharey=True)
    for row, places in zip(panels, (64, 128)):
        for panel, question in zip(row, QUESTIONS):
            for c, name in enumerate(games):
                x = band(panel, runs(name, places, question), f"C{c}", name)
                if places == 64:
                    panel.plot(x, games[name][question], color=f"C{c}")
            panel.axvline(places, color="gray", lw=1)
            panel.set_title(f"{QUESTIONS[question]}, trained on {places}", fontsize=10)
    panels[0, 0].legend(), panels[1, 0].set_xlabel("position"), panels[1, 0].set_ylabel("share right")
    figure.suptitle("bands recorded: " + where(record), fontsize=9)
show_large("trained_length")

# %% [markdown]
# Lines are your runs of 300 steps (trained on 64 only), and bands are {{trained_length.seeds:word}} recorded runs of {{trained_length.steps:,}} steps. The gray line marks the length of the training rows. A learned table is not drawn, because it has no row 64.

# %%
reveal("position.p4",
       lambda: f"{runs('sinusoidal', 64, 'back')[:, 8:].mean():.0%} (recorded)",
       "The likely reason: each hand stays between −1 and 1, but together they point in ways that training never met.",
       answer="hardly more than chance (1 in 8)")

# %% [markdown] evidence="recorded: trained_length, control: trained length"
# **Verdict: sinusoids are defined beyond the trained length, but they work worse there, and the exact position is nearly lost.** Both answers get worse in {{trained_length.sinusoidal.on64.back_fell:word}} of {{trained_length.seeds:word}} runs, as the shares of right answers show.
#
# | trained on 64 positions | within 64, mean | beyond, lowest to highest run |
# |---|---|---|
# | three back | {{trained_length.sinusoidal.on64.back_inside:.2f}} | {{trained_length.sinusoidal.on64.back_beyond_lowest:.2f}}–{{trained_length.sinusoidal.on64.back_beyond_highest:.2f}} |
# | twin | {{trained_length.sinusoidal.on64.twin_inside:.2f}} | {{trained_length.sinusoidal.on64.twin_beyond_lowest:.2f}}–{{trained_length.sinusoidal.on64.twin_beyond_highest:.2f}} |
#
# The twin needs no position, and yet it suffers, perhaps because unknown position vectors are added to the tokens.

# %% [markdown] evidence="recorded: trained_length, control: trained length"
# **Longer rows in training move the edge, but they do not remove it.** Trained on 128 positions, sinusoids keep the twin up to there ({{trained_length.sinusoidal.on128.twin_inside:.2f}}) and lose part of it beyond ({{trained_length.sinusoidal.on128.twin_beyond:.2f}}), in {{trained_length.sinusoidal.on128.twin_fell:word}} of {{trained_length.seeds:word}} runs. *Three back* is fully learned in {{trained_length.sinusoidal.on128.back_learned:word}} of the {{trained_length.seeds:word}}, and beyond 128 positions it falls to {{trained_length.sinusoidal.on128.back_beyond_lowest:.2f}}–{{trained_length.sinusoidal.on128.back_beyond_highest:.2f}} in all of them.

# %% [markdown] evidence="recorded: trained_length, control: trained length"
# **ALiBi with two heads does not learn *three back*; with eight heads it mostly does, but misses some twins.** The bias of a single head always favors the nearest token over the third. Several heads together can single the third out, because the layer can subtract one head from another, and the difference of two decays can peak at distance 3. The table shows shares of right answers after training on 64 positions.
#
# | ALiBi | three back, within 64 | three back, end of 256 | twins missed, end of 256 |
# |---|---|---|---|
# | two heads | {{trained_length.alibi.on64.back_inside:.2f}} | {{trained_length.alibi.on64.back_end:.2f}} | {{trained_length.alibi.on64.twin_missed_end:.0%}} |
# | eight heads | {{trained_length.alibi8.on64.back_inside:.2f}} | {{trained_length.alibi8.on64.back_end:.2f}} | {{trained_length.alibi8.on64.twin_missed_end:.0%}} |

# %% [markdown] evidence="recorded: trained_length, control: trained length"
# **With two heads, T5 and ALiBi keep the content beyond the trained length.** They miss at most {{trained_length.twin_missed:.2%}} of the twins there in each of {{trained_length.both_runs}} runs (both schemes, both training lengths). The exact position is another matter, for T5 learns it but loses it slowly, from {{trained_length.t5.on64.back_inside:.2f}} within 64 positions to {{trained_length.t5.on64.back_end:.2f}} at the end of the row.

# %% [markdown]
# ### As far as training reaches
#
# Why does T5 lose it slowly? Its last bucket covers all far distances, so its bias is *defined* at distance 200. But a number in a table is learned only if something in training looks it up.

# %%
predict("position.p5", "Trained on rows of 64 positions, what does this T5 table add to a score at distance 200?",
        ["what training found best for far tokens", "the number that it had before training", "nothing: an error"])

# %%
for places in (64, 128):
    met = t5_relative_bucket(-torch.arange(places), bidirectional=False).unique()
    print(f"rows of {places} positions look up {len(met)} of 32 buckets, up to bucket {met.max()}")
trained_table = trained["T5 bias"].scheme.bias.weight.detach()
for b in (3, 10, 26, 27, 31):
    print(f"bucket {b:2}: {trained_table[b, 0]:+.3f} (head 1), {trained_table[b, 1]:+.3f} (head 2)")

# %%
reveal("position.p5",
       lambda: f"bucket {t5_relative_bucket(torch.tensor(-200), bidirectional=False)}: {trained_table[31].tolist()}",
       "No two positions of a row of 64 are 67 or more apart. Buckets 27 to 31 never had a gradient, and stay at 0.",
       answer="the number that it had before training")

# %% [markdown]
# The longer recorded runs show what this does. In the head that looks three back, bucket 3 has the value {{trained_length.t5.third:.1f}}, and buckets 4 to 26 have −{{trained_length.t5.lowered:.1f}} on average. The five buckets that nothing looked up have 0, which is *more* than that average. The longer the row, the more far tokens drown out the third. If that is the reason, it should help to copy the value of bucket 26 into these five, without any training.

# %%
filled = torch.tensor([r["filled"]["back"] for r in record["rows"] if "filled" in r])
lines = {"trained on 64": runs("T5 bias", 64, "back"), "bucket 26 copied into 27 to 31": filled,
         "trained on 128": runs("T5 bias", 128, "back")}
told = "; ".join(f"{name} {curves[:, -1].mean():.2f}" for name, curves in lines.items())
with described("Three back along rows of 256 cards, T5 bias, recorded. At the last positions: {told}.", told=told):
    plt.figure(figsize=(6, 3))
    for c, (name, curves) in enumerate(lines.items()):
        plt.plot(band(plt.gca(), curves, f"C{c}"), curves.mean(0), color=f"C{c}", ls=("-", "--", ":")[c], label=name)
    plt.ylim(0, 1.05), plt.xlabel("position"), plt.ylabel("share right"), plt.legend()

# %% [markdown] evidence="recorded: trained_length, control: trained length + exact + cited: 1910.10683"
# **Verdict: a bucket is known only as far as training reaches.** In {{trained_length.t5.unchanged:word}} of {{trained_length.seeds:word}} runs exactly buckets {{trained_length.t5.first}} to {{trained_length.t5.last}} kept their first value, and filling them helped in {{trained_length.t5.gained:word}} of {{trained_length.seeds:word}}.
#
# | T5 | three back, end of 256 |
# |---|---|
# | trained on 64 positions | {{trained_length.t5.on64.back_end:.2f}} |
# | the same, with bucket 26 copied into the last five | {{trained_length.t5.filled_end:.2f}} |
# | trained on 128 positions, which meet every bucket | {{trained_length.t5.on128.back_end:.2f}} |
#
# [T5](https://arxiv.org/abs/1910.10683) itself was trained on 512 tokens, which meet all of its buckets.

# %% [markdown]
# ### The four wishes again
#
# The table collects what this unit has shown, and no scheme in it fulfills all four.
#
# | scheme | unique | long | consistent | cheap |
# |---|---|---|---|---|
# | sinusoid | yes | no, exact position nearly lost, content worse | only behind projections that fit (section 9) | yes, stores nothing |
# | learned table | yes | no, it has no row | no | no, 393,216 numbers in BERT-base |
# | T5 | no, it knows only distances | content yes, exact position only as far as training reaches | yes | yes, 256 numbers in T5-small |
# | ALiBi | no, it knows only distances | content mostly, exact position only with eight heads | yes | yes, stores nothing |

# %% [markdown]
# The column *long* rests on one small game, for large models a hint but not a proof.
#
# The core path goes on in section 16. Of the extensions in between, **choose two**. Each can be read alone. Sections 8 and 9 ask why the first Transformer took waves and not just any vectors, sections 10 to 13 present four more schemes, and section 15 tries a claim about PaLM. (Section 14 only draws the schemes of 10 to 12.)

# %% [markdown]
# ## 8. Extension: a shift is one matrix
#
# **Question:** what do waves have that a learned table lacks?
#
# A shifted wave is a mix of sine and cosine of the old one. For one hand with the angle $x = p\,\omega$ and a shift by $k$, which turns it by $a = k\,\omega$, the two equations say how.
#
# $$\sin(x + a) = \cos a \,\sin x + \sin a \,\cos x$$
# $$\cos(x + a) = -\sin a \,\sin x + \cos a \,\cos x$$

# %% [markdown]
# ### Worked example
#
# With frequency 1, from position 2 to position 3, we have $a = 1$, $\cos 1 = 0.540$, $\sin 1 = 0.841$, and the mix is a 2×2 matrix.

# %%
block = torch.tensor([[math.cos(1), math.sin(1)], [-math.sin(1), math.cos(1)]])
block @ torch.tensor([math.sin(2), math.cos(2)]), (math.sin(3), math.cos(3))

# %% [markdown]
# The 2 does not occur in the matrix, so the same matrix takes any $p$ to $p + 1$, for example 70 to 71. With one such block for each pair along the diagonal, there is *one* matrix $M_k$ for all positions.
#
# $$PE[p + k] = M_k\, PE[p]$$

# %% [markdown] statement="position.shift_matrix"
# Build $M_k$, which acts on column vectors. It has one 2×2 block per pair and zeros elsewhere, and $k$ may be negative. The stub gives the loop over pairs.

# %% exercise="position.shift_matrix"
def shift_matrix(k, d_model, base=10000.0):
    """M_k with PE[p + k] = M_k PE[p] for every p.

    Args:
        k: int, the shift. d_model: int, even. base: float.

    Returns:
        (d_model, d_model) float32 tensor.
    """
    M = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        ### BEGIN SOLUTION
        angle = k * base ** (-2 * i / d_model)
        cos, sin = math.cos(angle), math.sin(angle)
        M[2 * i:2 * i + 2, 2 * i:2 * i + 2] = torch.tensor([[cos, sin], [-sin, cos]])
        ### END SOLUTION
    return M

# %% [markdown] hints="position.shift_matrix"
# 1. The worked example is the first block for $k = 1$. What changes from block to block?
# 2. Pair $i$ turns by the angle $k\,\omega_i$. Its block covers rows and columns $2i$ and $2i + 1$; the first row comes from the first equation.
# 3. `angle = k * base ** (-2 * i / d_model)`, then `M[2 * i:2 * i + 2, 2 * i:2 * i + 2] = torch.tensor([[math.cos(angle), …], […, math.cos(angle)]])`.

# %% [markdown] worth="position.shift_matrix"
# The authors chose waves for this property, because they hoped that attention would easily learn distances from it. Yet a learned table, which lacks it, gave nearly identical results (section 3.5 of their [paper](https://arxiv.org/abs/1706.03762)).

# %% [markdown]
# ### See it
#
# A single matrix moves a hundred positions by 7, and the cell prints its largest error.

# %%
waves = sinusoid(torch.arange(107), 32)
moved = waves[:100] @ shift_matrix(7, 32).T  # rows are positions, so the matrix is transposed
(moved - waves[7:]).abs().max()

# %% [markdown]
# **Answer:** in the waves, "seven positions further" is the same linear map everywhere, and a linear map is what a projection can learn. A learned table starts without anything of this kind.

# %% [markdown]
# ## 9. Extension: what a score knows
#
# **Question:** can a score read distance and direction from waves, although they are only added to the tokens?
#
# Take the product of two position vectors alone, without tokens and projections. A pair of features with the angles $x = p\,\omega_i$ and $x + a = (p + k)\,\omega_i$ contributes $\sin x \sin(x + a) + \cos x \cos(x + a) = \cos a$, so that the position $p$ cancels.
#
# $$PE[p] \cdot PE[p + k] = \sum_i \cos(k\,\omega_i)$$

# %%
pe = sinusoid(torch.arange(32), 32)  # 32 positions, 32 features

# %%
predict("position.p2", "In a text of 32 tokens, which position's encoding is more like that of position 10?",
        ["position 7", "position 13", "both alike"])

# %%
reveal("position.p2",
       lambda: f"10·7: {pe[10] @ pe[7]:.3f}   10·13: {pe[10] @ pe[13]:.3f}",
       "A cosine is the same for k and −k. The product knows the distance and not the direction.",
       answer="both alike")

# %% [markdown]
# In a layer, projections come in between. To see what they do, we need the instrument behind the picture of section 6.

# %% [markdown] statement="position.distance_profile"
# For each relative position $r = -(T-1) \dots T-1$, in this order, return the mean of all scores with $j - i = r$ (key minus query), and their *spread*, which is the largest minus the smallest.

# %% exercise="position.distance_profile"
def distance_profile(scores):
    """Mean and spread of the scores for each relative position.

    Args:
        scores: (T, T) float tensor, row i = query, column j = key.

    Returns:
        Two (2T-1,) tensors (mean, spread) of the dtype of scores; entry c belongs to j - i = c - (T-1).
        Gradients flow from both to the scores.
    """
    ### BEGIN SOLUTION
    T = len(scores)
    lines = [scores.diagonal(r) for r in range(-(T - 1), T)]
    return torch.stack([d.mean() for d in lines]), torch.stack([d.max() - d.min() for d in lines])
    ### END SOLUTION

# %% [markdown] hints="position.distance_profile"
# 1. Draw a 3×3 table and write $j - i$ into each cell. Where are equal numbers?
# 2. `scores.diagonal(r)` gives all entries with $j - i = r$. Collect them for $r$ from $-(T-1)$ to $T - 1$, then take means, and maximum minus minimum.
# 3. `lines = [scores.diagonal(r) for r in range(-(T - 1), T)]`, then `torch.stack([d.mean() for d in lines])` and the same with `d.max() - …`.

# %% [markdown] worth="position.distance_profile"
# A spread of 0 everywhere makes the matrix *Toeplitz*. In that case $2T - 1$ numbers describe it instead of $T^2$, and with the fast Fourier transform it multiplies a vector in $O(T \log T)$ steps.

# %% [markdown]
# ### Experiment: what projections do
#
# Through $W_Q$ and $W_K$, the product of positions $p$ and $n$ becomes $PE[p]\, W_Q W_K^\top PE[n]^\top$ (vectors are rows here). To see what is left of the distance, we try random matrices first.

# %%
torch.manual_seed(0)
W_Q, W_K = torch.randn(2, 32, 32) / math.sqrt(32)
scores = {"no projection": pe @ pe.T, "random W_Q, W_K": (pe @ W_Q) @ (pe @ W_K).T}
for name, s in scores.items():
    mean, spread = distance_profile(s)
    print(f"{name:16} largest spread {spread.max():6.3f}   r and −r differ by {(mean - mean.flip(0)).abs().max():.3f}")

# %% [markdown]
# ### Claim on trial
#
# > *"The product of two sinusoids depends on the distance alone and has no direction. In attention it becomes $PE_t^\top W_Q^\top W_K PE_{t+k}$: the projections destroy the relative position."*
#
# The first sentence is true, as you have seen. The random matrices seem to prove the second, because pairs of equal distance now differ. However, the matrices of a model are *learned*. Is there a choice that keeps the distance and even adds a direction?

# %% [markdown]
# Suppose that $W_K$ is the identity and that $W_Q$ turns $PE[p]$ into $PE[p - \text{back}]$. Then query $p$ is most like key $p - \text{back}$, and we have a head that looks a fixed number of tokens back.
#
# The matrix $M_k$ of section 8 moves each column $PE[p]$ to $PE[p + k]$. On its diagonal, each pair of features has this block, and the rest is 0.
#
# $$\begin{pmatrix}\cos k\omega_i & \sin k\omega_i\\ -\sin k\omega_i & \cos k\omega_i\end{pmatrix}$$

# %% [markdown] statement="position.looking_back"
# Return $W_Q$ with `PE[p] @ W_Q` equal to `PE[p - back]` for every $p$. Mind the side, because here the vector is a *row*, multiplied from the left.

# %% exercise="position.looking_back"
def looking_back(back, d_model, base=10000.0):
    """W_Q of a head that looks `back` tokens back when W_K is the identity.

    Args:
        back: int; a negative one looks ahead. d_model: int, even. base: float.

    Returns:
        (d_model, d_model) float32 tensor.
    """
    ### BEGIN SOLUTION
    return shift_matrix(-back, d_model, base).T
    ### END SOLUTION

# %% [markdown] hints="position.looking_back"
# 1. $M_k$ shifts columns by $k$. Which $k$ is needed, and what turns a rule for columns into one for rows?
# 2. $PE[p - b] = M_{-b}\,PE[p]$ for columns. Transposed, it says that the row $PE[p]$ is multiplied by $M_{-b}^\top$.
# 3. `return shift_matrix(…, d_model, base).T` with the shift that goes back. If you skipped section 8, fill the transposed blocks in a loop over the pairs.

# %% [markdown] worth="position.looking_back"
# Trained Transformers do have heads that look at the neighboring token. When heads of a translation model were pruned, specialized heads like these were among the last to go ([Voita et al. 2019](https://arxiv.org/abs/1905.09418)).

# %% [markdown]
# In the picture of all three choices of $W_Q$ and $W_K$, a wide band means that pairs of equal distance differ.

# %%
scores["looks 3 back"] = pe @ looking_back(3, 32) @ pe.T
r = torch.arange(-31, 32)
with described("Score against relative position: without projection a symmetric peak at 0, with random matrices a low "
               "irregular line with a wide band, with looking_back a sharp peak at minus 3 and no band."):
    for name, s in scores.items():
        mean, spread = distance_profile(s)
        line, = plt.plot(r, mean, label=name)
        plt.fill_between(r, mean - spread / 2, mean + spread / 2, alpha=0.2, color=line.get_color())
    plt.xlabel("r = key − query"), plt.ylabel("score (band: spread)")
    plt.legend(loc="center left", bbox_to_anchor=(1, 0.5))

# %% [markdown] evidence="exact"
# **Verdict: projections can destroy the relative position, but they need not.** While random projections mix the hands, $W_Q W_K^\top = M_k$ keeps the score a function of the distance alone, and gives it the direction that the bare product lacks. Any sum of such matrices does, too.

# %% [markdown]
# **Answer:** yes, it can read both, but only behind projections that fit. Whether training finds them was not tried here, while relative schemes don't depend on it.

# %% [markdown]
# ## Extension: four more schemes
#
# If one multiplies out the score of a token with its position, $x_i + p_i$, and another, $x_j + p_j$, four products appear.
#
# | | key's token | key's position |
# |---|---|---|
# | **query's token** | token–token | token–position |
# | **query's position** | position–token | position–position |
#
# A sinusoid or a learned table brings in all four, and a single pair of matrices $W_Q$, $W_K$ has to serve them all. Each of the next four schemes gives a different answer to which of them should count. Their sections need this table, but not each other.
#
# | section | scheme | keeps | positions are |
# |---|---|---|---|
# | 10 | Shaw et al. | token–token, token–position | distances, clipped |
# | 11 | Transformer-XL | all four | distances of any size |
# | 12 | DeBERTa | all but position–position | distances, clipped |
# | 13 | TUPE | token–token, position–position | absolute |

# %% [markdown]
# ## 10. Extension: Shaw et al., two small tables
#
# **Question:** what does a *vector* per distance express that a number cannot, and where does its table end?
#
# T5's number is the same for all tokens. If a distance has a vector instead, each query can weigh the distances differently. Shaw et al. add one vector per distance, $a_r$, to the key and another, $b_r$, to the value.
#
# $$e_{ij} = \frac{q_i \cdot (k_j + a_{r})}{\sqrt D}, \qquad o_i = \sum_j w_{ij}\,(v_j + b_{r}), \qquad r = \text{clip}(j - i, -K, K)$$
#
# Since distances beyond $K$ share one row, each table has $2K + 1$ rows and the text may be of any length.

# %% [markdown]
# ### Worked example
#
# With $K = 1$ there are rows for $-1, 0, 1$. Adding $K$ turns them into the row numbers 0, 1, 2.

# %%
relative_positions(4, 4).clamp(-1, 1) + 1

# %% [markdown] statement="position.shaw"
# `shaw_index` gives the row of the tables for each pair, and a `ValueError` for negative $K$ (its argument `k`). `shaw_attention` is attention with both tables; $K$ follows from their number of rows, $2K + 1$, and the heads share them.
#
# A boolean mask, in which True means that the query may look, applies to the scores. Library functions are welcome, and every query here may look at one key at least.

# %% exercise="position.shaw"
def shaw_index(T, S, k, offset=0):
    """Row of a relative table for each pair: (T, S) int64 in 0 … 2k; offset: position of the first query."""
    ### BEGIN SOLUTION
    if k < 0:
        raise ValueError(f"the clipping distance must not be negative, got {k}")
    return relative_positions(T, S, offset).clamp(-k, k) + k
    ### END SOLUTION


def shaw_attention(q, k, v, rel_k, rel_v, mask=None, offset=0):
    """Attention with relative keys and values (arXiv:1803.02155).

    Args:
        q: (B, H, T, D). k: (B, H, S, D). v: (B, H, S, Dv). rel_k: (2K+1, D). rel_v: (2K+1, Dv).
        mask: boolean, broadcasts to (B, H, T, S). offset: position of the first query.

    Returns:
        (B, H, T, Dv) tensor of the dtype of q. Gradients flow to q, k, v and both tables.
    """
    ### BEGIN SOLUTION
    index = shaw_index(q.shape[-2], k.shape[-2], rel_k.shape[0] // 2, offset)  # (T, S)
    position = torch.einsum("bhtd,tsd->bhts", q, rel_k[index])
    scores = (q @ k.transpose(-2, -1) + position) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ v + torch.einsum("bhts,tsd->bhtd", weights, rel_v[index])
    ### END SOLUTION

# %% [markdown] hints="position.shaw"
# 1. Multiply the formula out into $q_i \cdot k_j + q_i \cdot a_r$, and $\sum w v + \sum w b$. You know each first half. What shape has `rel_k[index]`?
# 2. `rel_k[index]` is $(T, S, D)$, one vector per pair. `torch.einsum("bhtd,tsd->bhts", q, rel_k[index])` takes its product with each query. Add, scale, mask, softmax; then two sums over keys.
# 3. `position = torch.einsum("bhtd,tsd->bhts", q, rel_k[index])`, `scores = (q @ k.transpose(-2, -1) + …) / math.sqrt(…)`, result `weights @ v + torch.einsum("bhts,tsd->bhtd", weights, …)`.

# %% [markdown] worth="position.shaw"
# In the ablations of their [paper](https://arxiv.org/abs/1803.02155) on translation, the table for keys seemed to be enough without the one for values, and $K = 2$ did about as well as larger clipping distances.

# %% [markdown]
# ### See it
#
# The picture shows the position part of the score, $q \cdot a_r$, for a text that repeats a single token, with $K = 3$ and a random table. The cell prints the *spread*, the largest difference between pairs with the same $r$.

# %%
torch.manual_seed(0)
rel_k, query = torch.randn(7, 8), torch.randn(8)
s = rel_k[shaw_index(16, 16, 3)] @ query  # (16, 16)
lines = [s.diagonal(r) for r in range(-15, 16)]  # the pairs with the same r
with described("Position score against relative position: seven different values from minus 3 to 3, and a flat line to "
               "either side."):
    plt.step(range(-15, 16), [line.mean().item() for line in lines], where="mid")
    plt.xlabel("r = key − query"), plt.ylabel("q · a")
print(f"largest spread {max(line.max() - line.min() for line in lines):.1f}")

# %% [markdown]
# **Answer:** because the vector is multiplied by the query, each token can prefer other distances, and the two sides are free to differ. Still only the distance counts, as the spread of 0 shows. The table ends at $K$, and beyond it all distances look alike.

# %% [markdown]
# ## 11. Extension: four terms, Transformer-XL
#
# **Question:** can one keep all four products and still know only distances, and what does it cost?
#
# Transformer-XL and XLNet keep all four products and make every position relative. The key's position becomes a projected sinusoid of the *distance* $i - j$ (**query minus key** here), called $r_{i-j}$. The query's own position must go, since only distances may count. Two trained vectors replace it, $u$ where it meets tokens and $v$ where it meets distances.
#
# $$\text{score}_{ij} = \frac{q_i \cdot k_j + q_i \cdot r_{i-j} + u \cdot k_j + v \cdot r_{i-j}}{\sqrt D} = \frac{(q_i + u) \cdot k_j + (q_i + v) \cdot r_{i-j}}{\sqrt D}$$

# %% [markdown]
# ### Worked example: whose distance is it?
#
# A vector for each pair would be expensive, so the products are computed once for each *distance* and then moved to their keys.

# %% [markdown]
# Suppose that there are three keys at positions 0 to 2, and that only the last two tokens are queries. Query 0 is then at position 1, and query 1 at position 2. The possible distances $i - j$ are 2, 1, 0, −1. One product $(q + v)\,r^\top$ gives four columns in this order, of which each query needs three.
#
# | | column: 2 | 1 | 0 | −1 |
# |---|---|---|---|---|
# | query 0 | | key 0 | key 1 | key 2 |
# | query 1 | key 0 | key 1 | key 2 | |
#
# The last row starts at column 0, and each row above starts one column later.

# %% [markdown] statement="position.relative_shift"
# Given products for all $T + S - 1$ distances, from $S - 1$ down to $-(T - 1)$, keep for each query the $S$ columns that are its keys, so that `out[i, j] = x[i, j − i + T − 1]`.
#
# Any way is fine, for example slices, `gather`, or the paper's trick (pad, reshape, cut). Fewer columns than rows leave no key and raise a `ValueError`.

# %% exercise="position.relative_shift"
def relative_shift(x):
    """Move each row so that column j holds key j (arXiv:1901.02860, appendix B).

    Args:
        x: (..., T, T+S-1) float tensor.

    Returns:
        (..., T, S) tensor of the dtype of x. Gradients flow to x.
    """
    ### BEGIN SOLUTION
    *lead, T, R = x.shape
    S = R - T + 1
    if S < 1:
        raise ValueError(f"{T} rows need at least {T} columns, got {R}")
    padded = torch.cat([x.new_zeros(*lead, T, 1), x], dim=-1)  # (..., T, R+1)
    # Read as rows of T: each old row now starts one column further to the left than the one above it.
    return padded.reshape(*lead, R + 1, T)[..., 1:, :].reshape(*lead, T, R)[..., :S]
    ### END SOLUTION

# %% [markdown] hints="position.relative_shift"
# 1. Write $T = 2$, $S = 3$ with the letters of the table above. At which column does each row start?
# 2. Row $i$ is `x[..., i, T - 1 - i : T - 1 - i + S]`. Stack these rows along axis −2. That is a complete answer; the trick does the same without a loop.
# 3. `S = x.shape[-1] - T + 1`; after the check, `return torch.stack([x[..., i, T - 1 - i:…] for i in range(T)], dim=…)`.

# %% [markdown] worth="position.relative_shift"
# Music Transformer made the same move some months earlier and calls it [skewing](https://arxiv.org/abs/1809.04281). Without it every pair needs its own vector, $T \cdot S \cdot D$ numbers.

# %% [markdown] statement="position.four_terms"
# Write the scores, without a mask. `r` contains one vector per head for each of the distances $S - 1$ down to $-(T - 1)$, and `u` and `v` have one vector per head.

# %% exercise="position.four_terms"
def transformer_xl_scores(q, k, r, u, v):
    """Four-term relative scores (arXiv:1901.02860, section 3.3).

    Args:
        q: (B, H, T, D). k: (B, H, S, D). r: (H, T+S-1, D). u, v: (H, D).

    Returns:
        (B, H, T, S) tensor of the dtype of q. Gradients flow to all five: u and v are trained.
    """
    ### BEGIN SOLUTION
    content = (q + u[:, None]) @ k.transpose(-2, -1)
    position = relative_shift((q + v[:, None]) @ r.transpose(-2, -1))
    return (content + position) / math.sqrt(q.shape[-1])
    ### END SOLUTION

# %% [markdown] hints="position.four_terms"
# 1. The right-hand form of the equation has two products, not four. Which axis must `u` gain to be added to every query of its head?
# 2. `q + u[:, None]` adds $(H, 1, D)$ to $(B, H, T, D)$. Multiply by the keys; do the same with `v` and `r`, and shift that result.
# 3. `content = (q + u[:, None]) @ k.transpose(-2, -1)`, `position = relative_shift((q + v[:, None]) @ …)`, `return (content + position) / …`.

# %% [markdown] worth="position.four_terms"
# The terms with $u$ and $v$ don't depend on the query. The paper calls $u \cdot k_j$ a global content bias, which some tokens get from every query, and $v \cdot r$ a global positional bias.

# %% [markdown]
# ### See it
#
# With keys of zeros only the position terms remain. If all queries are the same as well, every diagonal, on which the distance is the same, must be constant.

# %%
torch.manual_seed(0)
distances = sinusoid(torch.arange(15, -16, -1), 8)[None]  # 15 … -15
same_word = torch.randn(8).expand(1, 1, 16, 8)
s = transformer_xl_scores(same_word, torch.zeros(1, 1, 16, 8), distances, torch.zeros(1, 8), torch.randn(1, 8))[0, 0]
lines = [s.diagonal(r) for r in range(-15, 16)]  # the pairs with the same distance
means = torch.stack([line.mean() for line in lines])
print(f"largest difference on a diagonal {max(line.max() - line.min() for line in lines):.1e}, "
      f"the two sides differ by up to {(means - means.flip(0)).abs().max():.2f}")

# %% [markdown]
# **Answer:** all four products can be kept. Only the distance counts here, and with it the direction, because $r_3$ and $r_{-3}$ differ in their sines. There is no last distance, and the cost is a second product, of each query with each distance.

# %% [markdown]
# ## 12. Extension: DeBERTa, tokens and positions kept separate
#
# **Question:** which of the four products can one leave out, and what can a model without any absolute position not know?
#
# DeBERTa never adds a position to a token. It keeps three of the four products, all with relative positions, and leaves out position–position, because that product would be the same for every pair at a distance, whatever the tokens are.

# %% [markdown]
# Each of two tables has $2k$ rows, for the distances $-k$ to $k - 1$ (**query minus key** here). Row $\delta(i, j)$ belongs to the distance $i - j$, moved up by $k$ and clipped. The table $K$ meets queries, and the table $Q$ meets keys.
#
# $$\delta(i, j) = \text{clip}(i - j + k,\ 0,\ 2k - 1)$$
#
# $$\text{score}_{ij} = \frac{q_i \cdot k_j + q_i \cdot K_{\delta(i, j)} + k_j \cdot Q_{\delta(j, i)}}{\sqrt{3D}}$$
#
# The third term is seen from the key's side. There the key's *token* weighs how far away the query is, which is why its row is $\delta(j, i)$. The next cell shows the rows for four tokens and $k = 2$.

# %% setup=true
def deberta_index(T, k):
    """δ(i, j) for all pairs: (T, T) int64, row i = query, column j = key."""
    return (k - relative_positions(T, T)).clamp(0, 2 * k - 1)

# %%
deberta_index(4, 2)

# %% [markdown]
# The divisor is $\sqrt{3D}$ because each of the three products has variance $D$, as in unit 01, and their sum has variance $3D$.

# %% [markdown] statement="position.disentangled"
# Write the scores. `qc` and `kc` come from tokens, while `kr` and `qr` come from the $2k$ relative vectors and are the tables $K$ and $Q$ of the formula.
#
# The stub gives the first two terms, `c2c` (token to token) and `c2p` (token to position). In the second one, `kr[:, delta]` is a vector for each pair, and `einsum` multiplies it by the query of the pair.

# %% exercise="position.disentangled"
def deberta_scores(qc, kc, kr, qr):
    """Disentangled scores (arXiv:2006.03654, section 3.1).

    Args:
        qc, kc: (B, H, T, D). kr, qr: (H, 2k, D).

    Returns:
        (B, H, T, T) tensor of the dtype of qc. Gradients flow to all four.
    """
    delta = deberta_index(qc.shape[-2], kr.shape[-2] // 2)  # (T, T), rows i, columns j
    c2c = qc @ kc.transpose(-2, -1)
    c2p = torch.einsum("bhid,hijd->bhij", qc, kr[:, delta])
    ### BEGIN SOLUTION
    p2c = torch.einsum("bhjd,hijd->bhij", kc, qr[:, delta.T])  # delta.T[i, j] = δ(j, i)
    return (c2c + c2p + p2c) / math.sqrt(3 * qc.shape[-1])
    ### END SOLUTION

# %% [markdown] hints="position.disentangled"
# 1. Compare the second and the third term of the formula letter by letter: whose token, which table, which index?
# 2. `delta.T` has $\delta(j, i)$ at row $i$, column $j$. In the `einsum` the token's vector now carries the letter of the key, `j`.
# 3. `p2c = torch.einsum("bhjd,hijd->bhij", kc, qr[:, …])`, then `return (c2c + c2p + p2c) / math.sqrt(3 * …)`.

# %% [markdown] worth="position.disentangled"
# The given `kr[:, delta]` copies a vector for every pair, $H T^2 D$ numbers. Algorithm 1 of the [paper](https://arxiv.org/abs/2006.03654) multiplies each token by all $2k$ vectors first, and then picks single products.

# %% [markdown]
# Loaded weights need care, because the authors' code and Hugging Face's use $\delta(i, j)$ in the third term, while the paper and the check here use $\delta(j, i)$. The two agree after reading that table backwards, up to length $k$.

# %% [markdown]
# ### Why absolute positions after all?
#
# In training, DeBERTa guesses masked tokens. Suppose that *store* and *mall* are masked in *A new store opened beside the new mall.* Both follow *new*, so their nearest neighbors say little. However, one of them is the subject because it comes early in the sentence, and that is an absolute position.
#
# DeBERTa therefore adds absolute positions once, and late. In its last layer, the *enhanced mask decoder* (EMD), the *queries* come from $h + p$, the layer's input plus absolute positions, while keys and values come from $h$ alone.

# %% [markdown]
# The released base model stores 12 layers, and in pretraining the last one, as the EMD, runs twice with the same weights (appendix A.8 of the [paper](https://arxiv.org/abs/2006.03654)). The cell shows what the EMD gains for two masked tokens in the same surroundings, whose vectors are equal.

# %%
torch.manual_seed(0)
h = torch.randn(1, 5, 8)
h[:, 4] = h[:, 1]  # two masked tokens with the same relative context
p = sinusoid(torch.arange(5), 8)
rows = lambda queries: nn.functional.scaled_dot_product_attention(queries, h, h)[0]
for name, queries in (("without positions", h), ("EMD: h + p as queries", h + p)):
    print(f"{name:22} the two rows differ by {(rows(queries)[1] - rows(queries)[4]).abs().max():.2f}")

# %% [markdown]
# **Answer:** position–position can go, since it doesn't depend on the tokens. A model that knows only distances cannot tell apart two tokens in the same surroundings, which is why DeBERTa brings absolute positions back at its end. Distances beyond about $k$ share a row.

# %% [markdown]
# ## 13. Extension: TUPE, tokens and positions untied
#
# **Question:** what is lost if tokens and positions never meet in a product?
#
# TUPE drops the two mixed products and *unties* the other two, which means that tokens and positions get separate projections, $W$ and $U$.
#
# $$\text{score}_{ij} = \frac{(x_i W_Q)\cdot(x_j W_K) + (p_i U_Q)\cdot(p_j U_K)}{c}$$
#
# The second product has no token in it and can be shared by all layers.

# %% [markdown] statement="position.untied"
# Write the scores. The projections have been applied already, so `q` and `k` are made from tokens, while `pos_q` and `pos_k` are made from positions, the same for every sentence of the batch.
#
# The divisor $c$, the same for both products, is yours to find. If all entries of the four inputs are independent with mean 0 and variance 1, the scores have variance 1.

# %% exercise="position.untied"
def tupe_scores(q, k, pos_q, pos_k):
    """Untied scores (arXiv:2006.15595).

    Args:
        q, k: (B, H, T, D) from tokens. pos_q, pos_k: (H, T, D) from positions.

    Returns:
        (B, H, T, T) tensor of the dtype of q. Gradients flow to all four.
    """
    ### BEGIN SOLUTION
    return (q @ k.transpose(-2, -1) + pos_q @ pos_k.transpose(-2, -1)) / math.sqrt(2 * q.shape[-1])
    ### END SOLUTION

# %% [markdown] hints="position.untied"
# 1. In unit 01 a product of two vectors of size $D$ had variance $D$, which is why it was divided by $\sqrt D$. What variance has a sum of two such products?
# 2. The sum has variance $2D$. Both products have queries on rows and keys on columns, and broadcasting adds the batch axis.
# 3. `return (q @ k.transpose(-2, -1) + pos_q @ …) / math.sqrt(2 * …)`.

# %% [markdown] worth="position.untied"
# The [paper](https://arxiv.org/abs/2006.15595) unties one thing more. Since `[CLS]` represents the whole sentence, its position scores are replaced by two trained numbers, one for `[CLS]` as the query and one for `[CLS]` as the key.

# %% [markdown]
# **Answer:** a head can still say "prefer the first token", for example, but not "look further back if I am a verb", because no product contains both a token and a position. Equal distances look equal only if training makes them so, since the positions are absolute, and the scheme ends where its vectors $p$ end.

# %% [markdown]
# ## 14. Extension: your schemes in the picture
#
# Now the explorer of section 6 draws Shaw et al., Transformer-XL and DeBERTa with the functions that you have written.

# %%
PositionExplorer(shaw_index=shaw_index, transformer_xl_scores=transformer_xl_scores, deberta_scores=deberta_scores,
                 scheme="Shaw")

# %% [markdown]
# These are the rows of all four schemes in the table of wishes. Since none was tried beyond a trained length, the column *long* says only where the scheme is defined.
#
# | scheme | unique | long (defined) | consistent | cheap |
# |---|---|---|---|---|
# | Shaw et al. | no, only distances up to $K$ | everywhere | yes | two tables of $2K + 1$ rows |
# | Transformer-XL | no, only distances | everywhere | yes | a second product, and $u$, $v$ per head |
# | DeBERTa | only in the EMD | everywhere, before the EMD | yes, before the EMD | two tables of $2k$ rows |
# | TUPE | yes | where $p$ is | only if learned | one product for all layers |

# %% [markdown]
# ## 15. Extension: claim on trial, PaLM's positions
#
# > *"PaLM uses absolute embeddings and ALiBi."*
#
# The notes behind this course say so, but in another table they say RoPE. Part of this can be counted, because a learned table stores numbers, whereas ALiBi, RoPE and sinusoids store nothing. The [paper](https://arxiv.org/abs/2204.02311) tells the sizes of its three models and how many parameters each has (table 1). Is there room for a table? The next cell adds up the matrices of all layers (SwiGLU is the feed-forward part) and an embedding of 256,000 tokens.

# %%
models = {"8B": (32, 4096, 16, 8.63), "62B": (64, 8192, 32, 62.50), "540B": (118, 18432, 48, 540.35)}
for name, (layers, d, heads, told) in models.items():
    attention = 2 * d * heads * 256 + 2 * d * 256  # queries and output; a single head of keys and values
    total = layers * (attention + 3 * d * 4 * d) + 256_000 * d  # SwiGLU; tokens, shared with the output; no biases
    print(f"{name}: the paper {told:.2f} billion; rebuilt {total / 1e9:.3f}, "
          f"with a table of 2,048 positions {(total + 2048 * d) / 1e9:.3f}")

# %% [markdown] evidence="exact + models: palm-540b + cited: 2204.02311"
# **Verdict: PaLM has no learned table, and it doesn't use ALiBi.** Rounded to two decimals, all three counts are met without a table and exceeded with one. (The norms, left out here, weigh at most 0.002 billion.) No count can decide among the schemes that store nothing, but the [paper](https://arxiv.org/abs/2204.02311) names *RoPE embeddings* (section 2).

# %% [markdown]
# ## 16. Your own experiment
#
# Does a causal model need positions at all? With a causal mask the first token sees one key and the tenth sees ten, and perhaps that is enough for a model to know where it is. Nobody answers this for you, and nothing here is graded.
#
# `grow` trains a Transformer of two layers for a few seconds on Jane Austen's novels, in rows of 32 characters. Its loss on text that it never saw is counted in *nats*, the mean of $-\ln$ of the probability that it gave to the right character, and lower is better.

# %%
from anatomy.experiments.growing import grow

schemes = {"no positions": {"table": None},
           "sinusoid": {"table": lambda T, d: sinusoid(torch.arange(T), d)},
           "ALiBi": {"table": None, "bias": lambda n_heads, T: alibi_bias(alibi_slopes(n_heads), T, T)}}
for name, parts in schemes.items():
    print(f"{name:12} {grow(seed=0, **parts).loss:.3f} nats per character")

# %% [markdown]
# What would you change to trust the answer? You could read longer rows (`context=64`), take the course's learned table by leaving `table` out, or make your sinusoid smaller before it is added. Run at least two seeds of each before you believe a difference, and write down the answer in one sentence, with its number.

# %% [markdown] written="question"
# Texts will be four times as long as in training. The task asks for the token exactly three positions back, and for the last mention of a name, however far back. What do sinusoids, T5's buckets and ALiBi each lose beyond the trained length, and why? Choose one of them and say what you would change about its training.
#
# - for each scheme, treat far content and the exact position separately
# - distinguish what is defined at a distance from what training has set there
# - propose a change that follows from the reason you gave

# %% [markdown] written="answer" points=4
# Sinusoids lose most of the exact position and part of the far content, because far positions have combinations of hands never trained. In the unit *three back* falls from {{trained_length.sinusoidal.on64.back_inside:.2f}} to {{trained_length.sinusoidal.on64.back_beyond_lowest:.2f}}–{{trained_length.sinusoidal.on64.back_beyond_highest:.2f}}. With two heads ALiBi keeps far content, but misses the exact position even within 64 ({{trained_length.alibi.on64.back_inside:.2f}}), because one head's bias favors the nearest token; with eight heads it mostly finds it ({{trained_length.alibi8.on64.back_end:.2f}} at 256). T5 keeps the content and loses the exact position slowly, to {{trained_length.t5.on64.back_end:.2f}}, because buckets of far distances never had a gradient and stay at their first value. I would train T5 on rows that meet every bucket ({{trained_length.t5.on128.back_end:.2f}}), or copy its last trained bucket.
#
# ### BEGIN MARK SCHEME
# - 1 point: sinusoids are defined everywhere, but positions come that training never met; both questions suffer.
# - 1 point: ALiBi keeps the content; the bias of one head alone cannot favor the third token over the nearest, so the exact position takes several heads. ("Two heads don't learn it" and "eight heads do" are both right.)
# - 1 point: T5 keeps the content; the exact position fades because far buckets were never trained.
# - 1 point: a change that follows: rows that meet every bucket (or filled buckets); for another choice, longer rows in training, with its limit.
# - No point: "sinusoids extrapolate, since a sine is defined everywhere".
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("d_model = 512. How many different frequencies does the sinusoid use?",
     {"512": (False, "A sine and a cosine share one."), "256": (True, "One per pair of features."),
      "10000": (False, "That is the base.")})

# %%
quiz("Which scores can tell key p − 2 from key p + 2 without a mask?",
     {"PE[p]·PE[n] without projections": (False, "A sum of cosines is the same for ±2."),
      "ALiBi's penalty": (False, "|−2| = |2|."),
      "T5's bidirectional bias": (True, "The future has buckets of its own.")})

# %%
quiz("A learned table of 512 rows, as in BERT, gets a text of 600 tokens. What happens?",
     {"The last row serves for all the rest": (False, "Some relative schemes do that: far distances share a row."),
      "Tokens from position 512 on have no vector": (True, "There is no such row: an error, or a text that is cut."),
      "It works a little worse": (False, "That needs a scheme that is defined there.")})

# %%
quiz("Bidirectional T5, 32 buckets: which two distances into the past share a bucket?",
     {"6 and 7": (False, "Below 8 each distance has its own."), "11 and 12": (False, "8 to 11, then 12 to 15."),
      "12 and 15": (True, "Both are in bucket 9.")})

# %%
quiz("T5's causal buckets end at distance 128. Which training leaves none of them at its first value?",
     {"Rows of 64 tokens": (False, "Distances end at 63, in bucket 26 of 31."),
      "Rows of 512 tokens": (True, "All distances from 0 to 511 occur, so every bucket is looked up."),
      "Any: the last bucket covers the rest": (False, "It covers them, but nothing looks it up.")})

# %%
progress("05-position-encodings")

# %% [markdown]
# ## Where this lives in real models
#
# - Sinusoids are in [the original Transformer](https://arxiv.org/abs/1706.03762), and learned tables in [BERT](https://arxiv.org/abs/1810.04805), GPT-2 and [OPT](https://arxiv.org/abs/2205.01068).
# - Buckets are in [T5](https://arxiv.org/abs/1910.10683), mT5 and Flan-T5, and [ALiBi](https://arxiv.org/abs/2108.12409) is in [BLOOM](https://arxiv.org/abs/2211.05100) and MPT.
# - The papers of the extensions are [Shaw et al. 2018](https://arxiv.org/abs/1803.02155), [Transformer-XL](https://arxiv.org/abs/1901.02860), [XLNet](https://arxiv.org/abs/1906.08237), [DeBERTa](https://arxiv.org/abs/2006.03654) and [TUPE](https://arxiv.org/abs/2006.15595).
#
# Most decoders since 2021 rotate queries and keys instead. The next unit, **06-rope**, shows this rotation, and why it sees distances alone.
