# %% [markdown]
# # Position encodings
#
# **You will be able to**
#
# - write the position encodings of the first Transformer, BERT, T5 and BLOOM as their papers define them, and in the extensions four more;
# - say of each whether it knows distance, direction, or the place itself;
# - predict which ones survive texts longer than those of training, and why.
#
# **Prerequisites:** unit 01. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Unit 01's layer gave every word the same number in any order. Now each score is lowered by the distance of the two words: 1 for neighbors, 2 for the next but one. It reads *dog bites man*:
#
# | dog | bites | man |
# |---|---|---|
# | 5.34 | 2.15 | 3.87 |
#
# For *bites dog man* it now gives dog 5.20, bites 2.08, man 3.25: the order counts. And for *man bites dog*?

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
        ["three new numbers", "each word the number it had in 'dog bites man'", "each place the number it had"])

# %% [markdown]
# Keep your guess until section 12.

# %% [markdown]
# ## 1. Waves for positions
#
# A clock shows time with hands of different speeds: the fast one tells close moments apart, the slow ones tell distant moments apart. The original Transformer writes position $p$ the same way. Each pair of features is a hand: the sine and the cosine of its angle.
#
# With 4 features and base 100 there are two hands, of speed 1 and $1/10$. Position 3 is

# %%
p = 3
[round(n, 3) for n in (math.sin(p), math.cos(p), math.sin(p / 10), math.cos(p / 10))]

# %% [markdown]
# In general, for $i = 0 \dots d_{model}/2 - 1$:
#
# $$PE[p, 2i] = \sin(p\,\omega_i), \quad PE[p, 2i+1] = \cos(p\,\omega_i), \quad \omega_i = \text{base}^{-2i/d_{model}}$$
#
# Positions count from 0. The vector is added to the word's vector, once, before the first layer.

# %% [markdown] statement="position.sinusoidal"
# Encode `positions` of any shape, sine and cosine alternating as in the formula. Negative positions are allowed (section 7 needs them).
#
# An odd `d_model` raises a `ValueError`.

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
# 2. `torch.arange(0, d_model, 2)` is the list of all $2i$. `positions[..., None]` adds an axis for the pairs. Stack sine and cosine along a *new* last axis, then flatten the last two axes: that makes them alternate.
# 3. `frequencies = base ** (-torch.arange(0, d_model, 2) / d_model)`, `angles = positions[..., None] * frequencies`, `return torch.stack([angles.sin(), …], dim=-1).flatten(…)`.

# %% [markdown] worth="position.sinusoidal"
# The authors' own [code](https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/layers/common_attention.py) does not alternate: all sines come first, then all cosines. For a model trained from scratch that is as good; for loaded weights the order matters.

# %% [markdown]
# ### See it

# %%
with described("Heatmap of 64 positions by 64 features: fast stripes at the left, slower ones to the right, and almost "
               "constant columns at the far right."):
    plt.figure(figsize=(6, 3))
    plt.imshow(sinusoid(torch.arange(64), 64), cmap="RdBu", aspect="auto")
    plt.xlabel("feature"), plt.ylabel("position"), plt.grid(False), plt.colorbar()

# %% [markdown]
# Neighbors differ in the fast features at the left, distant positions in slower ones. The right third hardly moves within 64 positions: its hands need thousands for a turn.

# %% [markdown]
# ### Claim on trial
#
# > *"In $PE[p, 2i]$, $PE[p, 2i+1]$, $i$ is the index of the dimension and runs over $0 \dots d_{model} - 1$; even dimensions take the sine, odd ones the cosine."*
#
# The second half is right. Count what the first would give, with $d_{model} = 64$ and features $2i$ and $2i + 1$:

# %%
for last in (63, 31):
    i = torch.arange(last + 1)
    slowest = 10000.0 ** (-2 * i[-1] / 64)
    print(f"i up to {last}: features 0 … {2 * last + 1}, slowest hand turns once in {2 * math.pi / slowest:,.0f} positions")

# %% [markdown] evidence="exact"
# **Verdict: no.** It would fill 128 features of 64, and half of the hands would need 62,832 positions or more for a turn. $i$ counts *pairs*: $0 \dots d_{model}/2 - 1$.
#
# A column number $c$ in the exponent makes no error, only other frequencies: sine and cosine of a pair then turn at different speeds. The check above knows that mistake.

# %% [markdown]
# ## 2. Extension: a shift is one matrix
#
# Why waves? Because a shifted wave is a mix of sine and cosine of the old one. For one hand and a shift by $k$, with $a = k\omega$:
#
# $$\sin(x + a) = \cos a \,\sin x + \sin a \,\cos x$$
# $$\cos(x + a) = -\sin a \,\sin x + \cos a \,\cos x$$

# %% [markdown]
# ### Worked example
#
# Frequency 1, from position 2 to position 3: $a = 1$, $\cos 1 = 0.540$, $\sin 1 = 0.841$.

# %%
block = torch.tensor([[math.cos(1), math.sin(1)], [-math.sin(1), math.cos(1)]])
block @ torch.tensor([math.sin(2), math.cos(2)]), (math.sin(3), math.cos(3))

# %% [markdown]
# The 2 is nowhere in the matrix. It takes position 2 to 3, 70 to 71, any $p$ to $p + 1$. With one block per pair along the diagonal there is *one* matrix $M_k$ for all positions:
#
# $$PE[p + k] = M_k\, PE[p]$$

# %% [markdown] statement="position.shift_matrix"
# Build $M_k$, which acts on column vectors: one 2×2 block per pair, zeros elsewhere. $k$ may be negative. The loop over pairs is given.

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
# The authors chose waves for this property, hoping that attention would easily learn distances from it. Yet a learned table, which lacks it, gave nearly identical results ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.5).

# %% [markdown]
# ### See it
#
# One matrix for a shift by 7, a hundred positions:

# %%
table = sinusoid(torch.arange(107), 32)
moved = table[:100] @ shift_matrix(7, 32).T  # rows are positions, so the matrix is transposed
(moved - table[7:]).abs().max()

# %% [markdown]
# ## 3. Extension: what a score knows
#
# A score of two positions alone is $PE[p] \cdot PE[p + k]$. Each pair gives $\sin x \sin(x + a) + \cos x \cos(x + a) = \cos a$, so
#
# $$PE[p] \cdot PE[p + k] = \sum_i \cos(k\,\omega_i)$$
#
# The position $p$ has canceled.

# %%
predict("position.p2", "In a sentence of 32 words, which position's encoding is more like that of position 10?",
        ["position 7", "position 13", "both alike"])

# %%
reveal("position.p2",
       lambda: f"10·7: {table[10] @ table[7]:.3f}   10·13: {table[10] @ table[13]:.3f}",
       "A cosine is the same for k and −k. The product knows the distance and not the direction.",
       answer="both alike")

# %% [markdown]
# To compare schemes, we need an instrument. It takes any $T \times T$ scores and asks: what does a relative position $r = j - i$ (key minus query) get on average, and how much do pairs of equal $r$ differ?
#
# If the *spread* is 0, only the distance counts. If it isn't, the place counts too.

# %% [markdown] statement="position.distance_profile"
# For each relative position $r = -(T-1) \dots T-1$, in this order, return the mean of all scores with $j - i = r$, and their spread: largest minus smallest.

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
# 1. Draw a 3×3 table and write $j - i$ into each cell. Where do equal numbers stand?
# 2. `scores.diagonal(r)` holds all entries with $j - i = r$. Collect them for $r$ from $-(T-1)$ to $T - 1$, then take means, and maximum minus minimum.
# 3. `lines = [scores.diagonal(r) for r in range(-(T - 1), T)]`, then `torch.stack([d.mean() for d in lines])` and the same with `d.max() - …`.

# %% [markdown] worth="position.distance_profile"
# A spread of 0 everywhere makes the matrix *Toeplitz*: $2T - 1$ numbers describe it instead of $T^2$, and by FFT it multiplies a vector in $O(T \log T)$ steps.

# %% [markdown]
# ### Experiment: what projections do
#
# In a layer, positions reach the score through $W_Q$ and $W_K$: the product becomes $PE[p]\, W_Q W_K^\top PE[n]^\top$. Random matrices first:

# %%
torch.manual_seed(0)
pe = sinusoid(torch.arange(32), 32)
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
# The first sentence you have just seen. The random matrices seem to prove the second: pairs of equal distance now differ. But matrices are *learned*. Is there a choice that keeps the distance and even adds a direction?

# %% [markdown]
# With rows for positions, $PE\,W_Q$ holds the queries. Take the identity for $W_K$ and let $W_Q$ turn $PE[p]$ into $PE[p - \text{back}]$. Then query $p$ is most like key $p - \text{back}$: a head that looks a fixed number of words back.

# %% [markdown] statement="position.looking_back"
# Return $W_Q$ with `PE[p] @ W_Q` equal to `PE[p - back]` for every $p$. Mind the side: here the vector is a *row*, multiplied from the left.

# %% exercise="position.looking_back"
def looking_back(back, d_model, base=10000.0):
    """W_Q of a head that looks `back` words back when W_K is the identity.

    Args:
        back: int; a negative one looks ahead. d_model: int, even. base: float.

    Returns:
        (d_model, d_model) float32 tensor.
    """
    ### BEGIN SOLUTION
    return shift_matrix(-back, d_model, base).T
    ### END SOLUTION

# %% [markdown] hints="position.looking_back"
# 1. You have a matrix that shifts columns by $k$. Which $k$ is needed, and what turns a rule for columns into one for rows?
# 2. $PE[p - b] = M_{-b}\,PE[p]$ for columns. Transposed: row $PE[p]$ times $M_{-b}^\top$.
# 3. `return shift_matrix(…, d_model, base).T` with the shift that goes back.

# %% [markdown] worth="position.looking_back"
# Trained Transformers do have heads that look at the neighboring word. When a translation model's heads were pruned, specialized heads like these were among the last to go ([Voita et al. 2019](https://arxiv.org/abs/1905.09418)).

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
# **Verdict: they can, and they need not.** Random projections do mix the hands. But $W_Q W_K^\top = M_k$ keeps the score a function of the distance alone, and gives it the direction that the bare product lacks. Any sum of such matrices does, too.
#
# Whether training finds such matrices was not tried here. The schemes from section 5 on build the distance in.

# %% [markdown]
# ## 4. A learned table
#
# BERT and GPT-2 leave the waves out: row $p$ of a trained table is added to the word at position $p$. BERT-base stores $512 \times 768 = 393{,}216$ numbers.
#
# A table has an end. What should happen at position 512? An honest layer says so at once.

# %% [markdown] statement="position.learned"
# Write the module. Its only parameter is `weight`, shape `(max_positions, d_model)`, drawn from $\mathcal N(0, 0.02^2)$.
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
# 2. `nn.Parameter(0.02 * torch.randn(…))` in the constructor. In `forward` compare with 0 and with `self.weight.shape[0]`, raise if any is outside, then index.
# 3. `if ((position_ids < 0) | (position_ids >= …)).any(): raise ValueError(…)`, then `return self.weight[…]`.

# %% [markdown] worth="position.learned"
# BERT met positions beyond 127 only at the end: 90 % of its steps used sequences of 128 tokens, and the last 10 % used 512 to train the rest of the table ([Devlin et al. 2018](https://arxiv.org/abs/1810.04805), appendix A.2).

# %%
try:
    LearnedPositions(512, 768)(torch.arange(510, 514))
except ValueError as error:
    print(error)

# %% [markdown]
# ### Extension: let an RNN count
#
# An RNN's state depends on all words before it, in order. Add the state to each word, and attention learns where words stand without any table:
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
# Three equal words, three different rows, and no maximum length. The price is the loop: step $t$ waits for step $t - 1$. The Transformer was made to get rid of that loop.

# %% [markdown]
# ## 5. Distances inside the score
#
# So far positions were added to words and had to find their way into scores. Relative schemes put the distance there directly. First, a table of all distances, **key minus query**:

# %% setup=true
def relative_positions(T, S, offset=0):
    """(T, S) int64: key position j minus query position i + offset."""
    return torch.arange(S) - (torch.arange(T)[:, None] + offset)

# %%
relative_positions(3, 3), relative_positions(2, 5, offset=3)

# %% [markdown]
# Negative means the past. The `offset` is the position of the first query: with five keys of which the last two are also queries, it is 3.
#
# What does a score do with a distance? Shaw et al. look up a *vector* and multiply it by the query (section 6). T5 looks up a *number* (section 8). ALiBi computes one (section 10). All three get away from the table that ends: distances beyond some largest one share an entry, or need none.

# %% [markdown]
# ## 6. Extension: Shaw et al., two small tables
#
# One vector per distance is added to the key, another to the value:
#
# $$e_{ij} = \frac{q_i \cdot (k_j + a_{r})}{\sqrt D}, \qquad o_i = \sum_j w_{ij}\,(v_j + b_{r}), \qquad r = \text{clip}(j - i, -K, K)$$
#
# Distances beyond $K$ share one row, so each table has $2K + 1$ rows, and text may be of any length.

# %% [markdown]
# ### Worked example
#
# $K = 1$ has rows for $-1, 0, 1$. Adding $K$ makes row numbers 0, 1, 2:

# %%
relative_positions(4, 4).clamp(-1, 1) + 1

# %% [markdown] statement="position.shaw"
# `shaw_index` gives the row of the tables for each pair, a `ValueError` for negative $K$. `shaw_attention` is attention with both tables; $K$ follows from their number of rows, $2K + 1$, and the heads share them.
#
# A boolean mask, True = may look, applies to the scores. Library functions are welcome; every query here may look at one key at least.

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
# 1. Multiply the formula out: $q_i \cdot k_j + q_i \cdot a_r$, and $\sum w v + \sum w b$. Each first half you know. What shape has `rel_k[index]`?
# 2. `rel_k[index]` is $(T, S, D)$: one vector per pair. `torch.einsum("bhtd,tsd->bhts", q, rel_k[index])` takes its product with each query. Add, scale, mask, softmax; then two sums over keys.
# 3. `position = torch.einsum("bhtd,tsd->bhts", q, rel_k[index])`, `scores = (q @ k.transpose(-2, -1) + …) / math.sqrt(…)`, result `weights @ v + torch.einsum("bhts,tsd->bhtd", weights, …)`.

# %% [markdown] worth="position.shaw"
# In the authors' ablations on translation, the table for keys seemed to be enough without the one for values, and $K = 2$ did about as well as larger clipping distances ([Shaw et al. 2018](https://arxiv.org/abs/1803.02155)).

# %% [markdown]
# ### See it
#
# The position part of the score, $q \cdot a_r$, for one word that stands everywhere, with $K = 3$ and a random table:

# %%
torch.manual_seed(0)
rel_k, query = torch.randn(7, 8), torch.randn(8)
mean, spread = distance_profile(rel_k[shaw_index(16, 16, 3)] @ query)
with described("Position score against relative position: seven different values from minus 3 to 3, and a flat line to "
               "either side."):
    plt.step(range(-15, 16), mean, where="mid")
    plt.xlabel("r = key − query"), plt.ylabel("q · a")
print(f"largest spread {spread.max():.1f}")

# %% [markdown]
# Only the distance counts (spread 0), the two sides are free to differ, and beyond 3 all distances look alike. The sinusoid got there only with special projections.

# %% [markdown]
# ## 7. Extension: four terms, Transformer-XL
#
# Multiply out the score of $x_i + p_i$ and $x_j + p_j$. Four products appear:
#
# | | key's word | key's position |
# |---|---|---|
# | **query's word** | word–word | word–position |
# | **query's position** | position–word | position–position |
#
# Most schemes of this unit choose among these four. Transformer-XL and XLNet keep all of them and make every position relative.

# %% [markdown]
# The key's position becomes a sinusoid of the *distance* $i - j$, projected: $r_{i-j}$. The query's own position must go, since only distances may count. Two trained vectors stand in for it, $u$ toward words and $v$ toward distances:
#
# $$\text{score}_{ij} = \frac{q_i \cdot k_j + q_i \cdot r_{i-j} + u \cdot k_j + v \cdot r_{i-j}}{\sqrt D} = \frac{(q_i + u) \cdot k_j + (q_i + v) \cdot r_{i-j}}{\sqrt D}$$

# %% [markdown]
# ### Worked example: whose distance is it?
#
# Two queries, three keys, the first of which is memory. Query 0 stands at 1, query 1 at 2. Possible distances: 2, 1, 0, −1. One product $(q + v)\,r^\top$ gives four columns, in this order, but each query needs three of them:
#
# | | column: 2 | 1 | 0 | −1 |
# |---|---|---|---|---|
# | query 0 | | key 0 | key 1 | key 2 |
# | query 1 | key 0 | key 1 | key 2 | |

# %% [markdown]
# The last row starts at column 0, each row above one column later.

# %% [markdown] statement="position.relative_shift"
# Given products for all $T + S - 1$ distances, $S - 1$ down to $-(T - 1)$, keep for each query the $S$ columns that are its keys: `out[i, j] = x[i, j − i + T − 1]`.
#
# Any way is fine: slices, `gather`, or the paper's trick (pad, reshape, cut). Fewer columns than rows leave no key: `ValueError`.

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
    # Read as rows of T: each old row now starts one place further to the left than the one above it.
    return padded.reshape(*lead, R + 1, T)[..., 1:, :].reshape(*lead, T, R)[..., :S]
    ### END SOLUTION

# %% [markdown] hints="position.relative_shift"
# 1. Write $T = 2$, $S = 3$ with the letters of the table above. At which column does each row start?
# 2. Row $i$ is `x[..., i, T - 1 - i : T - 1 - i + S]`. Stack these rows along axis −2. That is a complete answer; the trick does the same without a loop.
# 3. `S = x.shape[-1] - T + 1`; after the check, `return torch.stack([x[..., i, T - 1 - i:…] for i in range(T)], dim=…)`.

# %% [markdown] worth="position.relative_shift"
# Music Transformer made the same move some months earlier and calls it skewing ([Huang et al. 2018](https://arxiv.org/abs/1809.04281)). Without it every pair needs a vector of its own, $T \cdot S \cdot D$ numbers, like `rel_k[index]` in section 6.

# %% [markdown] statement="position.four_terms"
# Write the scores. `r` holds one vector per head for the distances $S - 1$ down to $-(T - 1)$; `u` and `v` one vector per head. Nothing here is masked.

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
# The terms with $u$ and $v$ don't depend on who asks. The paper calls $u \cdot k_j$ a global content bias, which some words get from every query, and $v \cdot r$ a global positional bias.

# %% [markdown]
# ### See it
#
# Zero keys leave the position terms. With the same word everywhere, every diagonal must be constant:

# %%
torch.manual_seed(0)
distances = sinusoid(torch.arange(15, -16, -1), 8)[None]  # 15 … -15
same_word = torch.randn(8).expand(1, 1, 16, 8)
s = transformer_xl_scores(same_word, torch.zeros(1, 1, 16, 8), distances, torch.zeros(1, 8), torch.randn(1, 8))[0, 0]
mean, spread = distance_profile(s)
print(f"largest spread {spread.max():.1e}, r and −r differ by up to {(mean - mean.flip(0)).abs().max():.2f}")

# %% [markdown]
# Distance only, and with direction: $r_3$ and $r_{-3}$ differ in their sines, and $v$ asks for them. From here on no scheme of this unit adds positions to values.

# %% [markdown]
# ## 8. T5: one number per bucket
#
# T5 adds a *single trained number* per head and distance to the score, and nothing else. Distances are sorted into buckets, fine near the query and coarse far away: 3 words and 4 are kept apart, 60 and 63 are not.

# %% [markdown]
# ### Worked example
#
# 32 buckets, 16 for each side. Half of a side is exact: distances 0 … 7 have buckets 0 … 7. The other 8 divide 8 … 127 evenly *on a logarithmic scale*. From 8 to 128 is a factor of 16, so each bucket spans a factor $16^{1/8} = \sqrt 2$:

# %%
[round(8 * 2 ** (b / 2), 1) for b in range(9)]

# %% [markdown]
# A bucket starts at the first whole number: 8, 12, 16, 23, 32, 46, 64, 91. As a formula, with $E$ exact buckets of $N$ on a side and the largest distance $M$:
#
# $$\text{bucket}(n) = E + \left\lfloor \frac{\ln(n/E)}{\ln(M/E)}\,(N - E) \right\rfloor, \quad \text{at most } N - 1$$

# %% [markdown] statement="position.t5_buckets"
# `relative_position` is key minus query.
#
# - *Bidirectional:* each side has $N = $ `num_buckets // 2`. Past and present take buckets $0 \dots N-1$, the future the same plus $N$.
# - *Causal:* all `num_buckets` are for the past; a key in the future counts as distance 0.
#
# In both, $E = N // 2$ distances from 0 on have buckets of their own. $N$ and $E$ are given.

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
# To a single layer all distances in the last bucket look alike. A stack can still tell them apart, as the paper notes, when later layers combine what earlier ones gathered nearby ([Raffel et al. 2019](https://arxiv.org/abs/1910.10683)).

# %% [markdown]
# ### Claim on trial
#
# > *"T5's table: distances 8 and 9 fall into bucket 8, 10 to 15 into bucket 9, 16 to 22 into bucket 10, 23 and more into bucket 11 …"*
#
# The sentence below this table says that 8 to 11 share an entry. Both can't be right. The reference agrees with Hugging Face's T5 on 4,001 distances, and your function with the reference:

# %%
bucket = t5_relative_bucket(-torch.arange(31))
for b in range(7, 12):
    members = (bucket == b).nonzero().flatten().tolist()
    print(f"bucket {b:2}: {members[0]} … {members[-1]}")

# %% [markdown] evidence="exact"
# **Verdict: the sentence is right, the table wrong in two entries.** 8 to 11 share bucket 8, because $8\sqrt 2 = 11.3$; 12 to 15 share bucket 9. The rest of the table holds. It is one side only: keys in the *future* have buckets 17 to 31 of their own.

# %%
r = torch.arange(-140, 141)
with described("Bucket against relative position: bidirectional, two staircases of 16 buckets, the future one 16 higher; "
               "causal, one staircase of 32 buckets in the past and 0 in the future."):
    plt.step(r, t5_relative_bucket(r), where="mid", label="bidirectional")
    plt.step(r, t5_relative_bucket(r, bidirectional=False), where="mid", label="causal")
    plt.xlabel("r = key − query"), plt.ylabel("bucket"), plt.legend()

# %% [markdown] statement="position.t5_bias"
# `t5_bias` looks the buckets up in `weight`, `(num_buckets, H)`, and returns $(1, H, T, S)$; the largest distance stays 128. Queries and keys both start at position 0.
#
# `t5_attention` adds a bias to the scores. T5 divides **neither** by $\sqrt D$.

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
# 2. Buckets from `relative_positions(T, S)`, index `weight`, `permute(2, 0, 1)`, one axis in front. The attention is unit 01's without the division, with the bias added before mask and softmax.
# 3. `return weight[bucket].permute(2, 0, 1)[None]`; `scores = q @ k.transpose(-2, -1) + …`, mask, `return scores.softmax(-1) @ v`.

# %% [markdown] worth="position.t5_bias"
# For 4,096 words and 8 heads the bias is a tensor of 134 million numbers, made from 256 weights. FlexAttention computes such a bias inside its kernel and stores none of it ([Dong et al. 2024](https://arxiv.org/abs/2412.05496)).

# %% [markdown]
# All layers of a stack share one table: T5-small stores $32 \times 8 = 256$ numbers for its encoder, against BERT-base's 393,216. Without the division by $\sqrt D$ scores would start out large; T5 starts with query weights that are smaller by $\sqrt D$ instead.

# %% [markdown]
# ### Claim on trial
#
# > *"Transformer-XL, T5 and DeBERTa put relative positions into the score: $\text{softmax}\left((QK^\top + \text{Bias}) / \sqrt{D}\right)V$, where the bias is a number looked up for $i - j$."*
#
# One key stands one place further away, with equal content. A bias of −1 should cost it a factor $e^{-1} = 0.37$. With $D = 64$:

# %%
content, bias = torch.tensor([0.0, 0.0]), torch.tensor([0.0, -1.0])
for name, scores in (("as claimed", (content + bias) / 8), ("bias after scaling", content / 8 + bias)):
    w = scores.softmax(0)
    print(f"{name:18} weights {w[0]:.3f} and {w[1]:.3f}, ratio {w[1] / w[0]:.2f}")

# %% [markdown]
# And the named models? Their own classes with random weights tell the factor of $q \cdot k$, and whether the bias is added whole after it:

# %%
from anatomy.experiments import named_models

facts = ["positions", "score_factor", "bias_after_scaling"]
print(*named_models.table(["t5-small", "bloom", "deberta-base"], facts), sep="\n")

# %% [markdown] evidence="exact + models: t5-small, bloom, deberta-base"
# **Verdict: it fits one term of one of the three.** T5 adds its number to scores that it never scales. Transformer-XL has a number per distance, $v \cdot r$, and divides it with all the rest; its other position term and both of DeBERTa's are vectors times a query or key, and as products are scaled. BLOOM (ALiBi) scales first, then adds.
#
# A *trained* bias can make up for the factor by growing $\sqrt D$ times larger. Fixed ones (ALiBi) and loaded weights cannot: here each penalty would be 8 times weaker.

# %% [markdown]
# ## 9. Extension: DeBERTa, words and positions apart
#
# DeBERTa never adds a position to a word. It keeps three of the four products of section 7, all relative: word–word, word–position, position–word. The fourth, position–position, is left out: it would be the same for every pair at that distance, whatever the words.

# %% [markdown]
# Row $\delta(i, j)$ of a table of $2k$ rows stands for the distance $i - j$ (**query minus key** here), moved up by $k$ and clipped:
#
# $$\delta(i, j) = \text{clip}(i - j + k,\ 0,\ 2k - 1)$$
#
# $$\text{score}_{ij} = \frac{q_i \cdot k_j + q_i \cdot K_{\delta(i, j)} + k_j \cdot Q_{\delta(j, i)}}{\sqrt{3D}}$$
#
# The third term is seen from the key's side: the key's *word* asks how far away the query is, so the distance is $\delta(j, i)$.

# %% setup=true
def deberta_index(T, k):
    """δ(i, j) for all pairs: (T, T) int64, row i = query, column j = key."""
    return (k - relative_positions(T, T)).clamp(0, 2 * k - 1)

# %%
deberta_index(4, 2)

# %% [markdown]
# Why $\sqrt{3D}$? Each of the three products has variance $D$ (unit 01, section 3). Their sum has variance $3D$.

# %% [markdown] statement="position.disentangled"
# Write the scores. `qc` and `kc` come from words, `kr` and `qr` from the $2k$ relative vectors: the tables $K$ and $Q$ of the formula.
#
# The first two terms are given. Pairs are picked out with `einsum`, as in section 6.

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
# 1. Compare the second and the third term of the formula letter by letter: whose word, which table, which index?
# 2. `delta.T` holds $\delta(j, i)$ at row $i$, column $j$. In the `einsum` the word vector now carries the letter of the key, `j`.
# 3. `p2c = torch.einsum("bhjd,hijd->bhij", kc, qr[:, …])`, then `return (c2c + c2p + p2c) / math.sqrt(3 * …)`.

# %% [markdown] worth="position.disentangled"
# The given `kr[:, delta]` copies a vector for every pair, $H T^2 D$ numbers. The paper's algorithm multiplies each word by all $2k$ vectors first, and then picks single products ([He et al. 2020](https://arxiv.org/abs/2006.03654), algorithm 1).

# %% [markdown]
# ### Claim on trial
#
# > *"DeBERTa's third term is $R_{j,i}\, x_i W_Q W_K^\top x_j^\top$. Its base model for masked words has 13 layers: 11 with relative positions, then 2 with absolute ones; fine-tuning uses 11 and 1."*
#
# Read the term aloud: position, word of $i$, word of $j$. Do the shapes fit?

# %%
R, x_i, x_j, W = torch.randn(1, 8), torch.randn(1, 8), torch.randn(1, 8), torch.randn(8, 8)
try:
    R @ x_i @ W @ W.T @ x_j.T
except RuntimeError as error:
    print("as printed:", error)
print("R_ji W_Q W_Kᵀ x_jᵀ:", (R @ W @ W.T @ x_j.T).shape)

# %%
from anatomy.experiments import named_models

print(*named_models.table(["deberta-base"], ["layers", "positions", "score_factor"]), sep="\n")

# %% [markdown] evidence="exact + models: deberta-base + cited: 2006.03654"
# **Verdict on the term: no.** Three row vectors make no score. With $x_i$ struck out it is the paper's, position to content ([He et al. 2020](https://arxiv.org/abs/2006.03654), section 3.1). The score then sums three products, and the base model divides by $\sqrt{3D}$, as you do.
#
# (The authors' code and Hugging Face's use $\delta(i, j)$ in it. The two agree after reading that table backwards, up to length $k$; trained weights need the code's version. The check here follows the paper.)

# %% [markdown] evidence="models: deberta-base + cited: 2006.03654"
# **Verdict on the layers: 13 steps, 12 layers.** The released base model stores 12. Eleven run once. In pretraining the last one, as *enhanced mask decoder* (EMD), runs twice with the same weights ([He et al. 2020](https://arxiv.org/abs/2006.03654), appendix A.8). Fine-tuned models use each layer once, as the claim's last words say.

# %% [markdown]
# ### Why absolute positions after all?
#
# *A new store opened beside the new mall.* Mask *store* and *mall*: both follow *new*, so their nearest neighbors say little. One is the subject because it stands early in the sentence.
#
# DeBERTa therefore adds absolute positions once, late: the EMD's *queries* come from $h + p$, keys and values from $h$ alone. Eleven layers stay free of absolute positions.

# %%
torch.manual_seed(0)
h = torch.randn(1, 5, 8)
h[:, 4] = h[:, 1]  # two masked words with the same relative context
p = sinusoid(torch.arange(5), 8)
rows = lambda queries: nn.functional.scaled_dot_product_attention(queries, h, h)[0]
for name, queries in (("without positions", h), ("EMD: h + p as queries", h + p)):
    print(f"{name:22} the two rows differ by {(rows(queries)[1] - rows(queries)[4]).abs().max():.2f}")

# %% [markdown]
# ## 10. ALiBi: a penalty
#
# ALiBi learns nothing about positions. Each head subtracts a fixed slope times the distance from the scaled scores:
#
# $$\text{score}_{ij} = \frac{q_i \cdot k_j}{\sqrt D} - m_h\,|i - j|$$
#
# With 8 heads the slopes are $\tfrac12, \tfrac14, \dots, \tfrac1{256}$: one head sees a few words, another hundreds.

# %% [markdown]
# For $H$ a power of two, the slopes are $2^{-8/H}, 2^{-16/H}, \dots, 2^{-8}$.
#
# Otherwise take the largest power of two $P$ below $H$. Its slopes come first. The rest are the 1st, 3rd, 5th … slope of the series for $2P$, which lie between those of $P$. Twelve heads: eight slopes as above, then $2^{-0.5}, 2^{-1.5}, 2^{-2.5}, 2^{-3.5}$.

# %% [markdown] statement="position.alibi"
# Write both functions. Fewer than one head raises a `ValueError`. In the bias, query $i$ stands at position $i + \text{offset}$, and the distance is an absolute value: the paper is causal, where it makes no difference.

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
# 2. `P = 2 ** int(math.log2(n_heads))`. The first P exponents are $8h/P$, $h = 1 \dots P$. The others are $8h/(2P)$ for odd $h$, as many as are missing. For the bias, `slopes[:, None, None]` lines up with `(T, S)`.
# 3. `between = [2 ** (-4 * h / P) for h in range(1, 2 * (n_heads - P), 2)]`, `torch.tensor(first + between)`; bias `-slopes[:, None, None] * relative_positions(…).abs()`.

# %% [markdown] worth="position.alibi"
# The authors first tried to train the slopes, and gave it up because such models did not extrapolate well. The series here is the one they kept out of about ten tried by hand ([Press et al. 2021](https://arxiv.org/abs/2108.12409)).

# %% [markdown]
# ### Extension: a soft window
#
# How many words does a head with slope 1/2 still see?

# %%
predict("position.p3", "All words are alike. How many of the nearest words hold 99 % of the weight for slope 1/2?",
        ["about 3", "about 10", "about 30"])

# %%
slopes = alibi_slopes(8)
weights = alibi_bias(slopes, 1, 1024, offset=1023)[:, 0].softmax(-1).flip(-1)  # nearest word first
nearest = (weights.cumsum(-1) < 0.99).sum(-1) + 1
for m, n in zip(slopes, nearest):
    print(f"slope 1/{1 / m:.0f}: {n} of 1024 words hold 99 %")

# %%
reveal("position.p3",
       lambda: f"{nearest[0]} words",
       "Weights fall by e^(−1/2) per word, so n words hold 1 − e^(−n/2), which reaches 0.99 at n = 2·ln 100 = 9.2.",
       answer="about 10")

# %%
with described("Weight against distance on a logarithmic axis: straight falling lines for ALiBi's slopes 1/2, 1/8 and "
               "1/32, beside a hard window of 32 words that ends in a cliff."):
    for h in (0, 2, 4):
        plt.semilogy(weights[h, :100], label=f"slope 1/{1 / slopes[h]:.0f}")
    plt.step(range(34), [1 / 32] * 32 + [1e-6] * 2, color="gray", label="hard window of 32")
    plt.ylim(1e-5, 1), plt.xlabel("distance"), plt.ylabel("weight"), plt.legend()

# %% [markdown]
# A hard window drops all beyond its edge; ALiBi lets it fade. A strong match far away can still win: a score 16 higher pays for 32 words at slope 1/2.

# %% [markdown]
# ### Extension: claim on trial
#
# > *"PaLM uses absolute embeddings and ALiBi."*
#
# The same notes say RoPE in another table. ALiBi, RoPE and sinusoids store nothing, but a learned table does. The paper tells the sizes of its three models and how many parameters each has ([Chowdhery et al. 2022](https://arxiv.org/abs/2204.02311), table 1). Do they have room for one?

# %%
models = {"8B": (32, 4096, 16, 8.63), "62B": (64, 8192, 32, 62.50), "540B": (118, 18432, 48, 540.35)}
for name, (layers, d, heads, told) in models.items():
    attention = 2 * d * heads * 256 + 2 * d * 256  # queries and output; a single head of keys and values
    total = layers * (attention + 3 * d * 4 * d) + 256_000 * d  # SwiGLU; words, shared with the output; no biases
    print(f"{name}: the paper {told:.2f} billion; rebuilt {total / 1e9:.3f}, "
          f"with a table of 2,048 positions {(total + 2048 * d) / 1e9:.3f}")

# %% [markdown] evidence="exact + models: palm-540b + cited: 2204.02311"
# **Verdict: no learned table, and not ALiBi.** All three counts are met without a table and exceeded with one. (The norms, left out, weigh at most 0.002 billion.) Among schemes that store nothing no count can decide; the [paper](https://arxiv.org/abs/2204.02311) names *RoPE embeddings* (section 2).
#
# The pair would also be odd: ALiBi has no table that ends, and an absolute one beside it brings the end back.

# %% [markdown]
# [BLOOM](https://arxiv.org/abs/2211.05100) does use ALiBi. The 112 heads of its largest model are no power of two, so its slopes need your second rule (64, then 48 in between):

# %%
bloom = alibi_slopes(112)
print(f"{bloom[0]:.3f} … {bloom[63]:.5f}, then {bloom[64]:.3f} … {bloom[-1]:.5f}")

# %% [markdown]
# ## 11. Extension: TUPE
#
# Adding $p$ to $x$ mixes the four products of section 7 in one pair of matrices. TUPE *unties* them: words and positions get projections of their own, and only the two pure products are added:
#
# $$\text{score}_{ij} = \frac{(x_i W_Q)\cdot(x_j W_K)}{\sqrt{2D}} + \frac{(p_i U_Q)\cdot(p_j U_K)}{\sqrt{2D}}$$
#
# The second product has no word in it, so all layers can share it. DeBERTa leaves out just this term.

# %% [markdown] statement="position.untied"
# Add both products, scaled as in the formula. The projections have been applied already.

# %% exercise="position.untied"
def tupe_scores(q, k, pos_q, pos_k):
    """Untied scores (arXiv:2006.15595).

    Args:
        q, k: (B, H, T, D) from words. pos_q, pos_k: (H, T, D) from positions.

    Returns:
        (B, H, T, T) tensor of the dtype of q. Gradients flow to all four.
    """
    ### BEGIN SOLUTION
    return (q @ k.transpose(-2, -1) + pos_q @ pos_k.transpose(-2, -1)) / math.sqrt(2 * q.shape[-1])
    ### END SOLUTION

# %% [markdown] hints="position.untied"
# 1. DeBERTa adds three terms and divides by $\sqrt{3D}$. Here?
# 2. Both products have queries on rows and keys on columns, and broadcasting adds the batch axis.
# 3. `return (q @ k.transpose(-2, -1) + pos_q @ …) / math.sqrt(2 * …)`.

# %% [markdown] worth="position.untied"
# TUPE unties one thing more. `[CLS]` stands for the whole sentence, so its position scores are replaced by two trained numbers, one for where it looks and one for who looks at it ([Ke et al. 2020](https://arxiv.org/abs/2006.15595)).

# %% [markdown]
# ## 12. Side by side
#
# Distance, direction, place: which scheme knows what? Read the two facts below the picture. A spread of 0 means that only the distance counts; equal scores at $r$ and $-r$ mean that direction is lost.
#
# Go through the schemes and their variants; those of the extensions are drawn with the reference. Which of them have a spread? Which have lost the direction?

# %%
PositionExplorer(sinusoid=sinusoid, LearnedPositions=LearnedPositions, t5_relative_bucket=t5_relative_bucket,
                 alibi_bias=alibi_bias)

# %% [markdown]
# ### Extension: with your functions of the extensions

# %%
PositionExplorer(shaw_index=shaw_index, transformer_xl_scores=transformer_xl_scores, deberta_scores=deberta_scores,
                 scheme="Shaw")

# %% [markdown]
# ### Back to the puzzle
#
# Its layer lowers each score by the distance, $-|j - i|$: ALiBi with slope 1 and no mask.

# %%
words = {"dog": [2.0, 0.0], "bites": [0.0, 2.0], "man": [1.0, 1.0]}
W_K, W_V = torch.tensor([[0.0, 2.0], [1.0, 0.0]]), torch.tensor([[1.0], [3.0]])

def read(sentence, bias):
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
# Unit 01 tried the first half. Here is the other: give positions that *are* symmetric (distance), and positions that are not (a penalty for looking ahead).

# %%
biases = {"none": lambda r: 0.0 * r, "distance −|r|": lambda r: -r.abs(), "ahead costs 1": lambda r: -(r > 0).float()}
for name, bias in biases.items():
    print(name)
    for sentence in ("dog bites man", "man bites dog", "bites dog man"):
        numbers = read(sentence, bias)
        print(f"    {sentence}: {say({w: numbers[w] for w in words})}")

# %% [markdown] evidence="exact"
# **Verdict: positions are needed, for another reason.** Scores are not symmetric (unit 01); the order is lost because attention is *equivariant*: reorder the words, and the same numbers come out reordered. A bias by distance changes that: see *bites dog man*. A symmetric one still cannot tell a sentence from its mirror image. For that, $r$ and $-r$ must differ, by bias, projections or a causal mask.
#
# So ALiBi and the bare sinusoid rely on a mask or on learned projections; T5's two sides do not.

# %% [markdown]
# ## 13. Longer than in training
#
# ### Claim on trial
#
# > *"Sinusoidal positions extrapolate: they can process sequences longer than those of training."*
#
# They are *defined* for every position. Do they work there? A small game decides: at each card of a row, name the color three places back (exact place), and the color of this card's twin (content). Rows of 64 in training, 256 in the test.

# %%
predict("position.p4", "Trained on 64 places, sinusoidal positions find 'three back' at places 128 to 256 in…",
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
# Three short live runs with your functions:

# %%
play("sinusoidal", length.Scheme(add=lambda ids: sinusoid(ids, length.D_MODEL)))

# %%
class Buckets(nn.Module):
    """Your buckets, and a trained number for each."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(32, length.HEADS))

    def forward(self, distance):  # query minus key
        return self.weight[t5_relative_bucket(-distance, bidirectional=False)].permute(2, 0, 1)

play("T5 bias", length.Scheme(bias=Buckets()))

# %%
slopes = alibi_slopes(length.HEADS)[:, None, None]
play("ALiBi", length.Scheme(bias=lambda distance: -slopes * distance))

# %%
from anatomy.experiments import recorded, show_large, where

record = recorded("trained_length")
QUESTIONS = {"twin": "color of the twin", "back": "color three places back"}

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
               "places. Recorded on 64, at the last places, twin and three back: {told}.", told=told):
    figure, panels = plt.subplots(2, 2, figsize=(9, 5.6), sharex=True, sharey=True)
    for row, places in zip(panels, (64, 128)):
        for panel, question in zip(row, QUESTIONS):
            for c, name in enumerate(games):
                x = band(panel, runs(name, places, question), f"C{c}", name)
                if places == 64:
                    panel.plot(x, games[name][question], color=f"C{c}")
            panel.axvline(places, color="gray", lw=1)
            panel.set_title(f"{QUESTIONS[question]}, trained on {places}", fontsize=10)
    panels[0, 0].legend(), panels[1, 0].set_xlabel("place"), panels[1, 0].set_ylabel("share right")
    figure.suptitle("bands recorded: " + where(record), fontsize=9)
show_large("trained_length")

# %% [markdown]
# Lines are your runs of 300 steps, bands {{trained_length.seeds:word}} recorded runs of {{trained_length.steps:,}}. The gray line marks the end of training lengths. A learned table is not drawn: it has no row 64.

# %%
reveal("position.p4",
       lambda: f"{runs('sinusoidal', 64, 'back')[:, 8:].mean():.0%} (recorded)",
       "The likely reason: each hand stays between −1 and 1, but together they point in ways that training never met.",
       answer="hardly more than chance (1 in 8)")

# %% [markdown] evidence="recorded: trained_length, control: trained length"
# **Verdict: defined, not working.** In {{trained_length.sinusoidal.on64.back_fell:word}} of {{trained_length.seeds:word}} runs *three back* falls from {{trained_length.sinusoidal.on64.back_inside:.2f}} within 64 places to {{trained_length.sinusoidal.on64.back_beyond_lowest:.2f}}–{{trained_length.sinusoidal.on64.back_beyond_highest:.2f}} beyond. The twin, a question about *content*, falls too, to {{trained_length.sinusoidal.on64.twin_beyond_lowest:.2f}}–{{trained_length.sinusoidal.on64.twin_beyond_highest:.2f}}: perhaps because unknown position vectors are added to the words.

# %% [markdown] evidence="recorded: trained_length, control: trained length"
# **Longer rows in training move the edge.** Trained on 128 places, the sinusoid keeps the twin up to there ({{trained_length.sinusoidal.on128.twin_inside:.2f}}) and loses it beyond ({{trained_length.sinusoidal.on128.twin_beyond:.2f}}), in {{trained_length.sinusoidal.on128.twin_fell:word}} of {{trained_length.seeds:word}} runs. *Three back* is fully learned in {{trained_length.sinusoidal.on128.back_learned:word}} of the {{trained_length.seeds:word}}; beyond 128 it is {{trained_length.sinusoidal.on128.back_beyond_lowest:.2f}}–{{trained_length.sinusoidal.on128.back_beyond_highest:.2f}} in all.

# %% [markdown] evidence="recorded: trained_length, control: trained length"
# **How many heads?** ALiBi with two heads doesn't learn the exact place even within 64 places ({{trained_length.alibi.on64.back_inside:.2f}}), because the bias of a single head always favors the nearest word over the third. Several heads together can single it out, since the difference of two decays has a peak. With the eight heads of the paper's models it has {{trained_length.alibi8.on64.back_inside:.2f}} within 64 places and {{trained_length.alibi8.on64.back_end:.2f}} at the end of rows of 256; there it misses {{trained_length.alibi8.on64.twin_missed_end:.0%}} of the twins, of which two heads miss hardly any.

# %% [markdown] evidence="recorded: trained_length, control: trained length"
# **T5 and ALiBi keep the content:** with two heads, in each of {{trained_length.both_runs}} runs they miss at most {{trained_length.twin_missed:.2%}} of the twins beyond their training length. The exact place is another matter. T5 learns it and loses it slowly, from {{trained_length.t5.on64.back_inside:.2f}} within 64 places to {{trained_length.t5.on64.back_end:.2f}} at the end of the row. Why?

# %% [markdown]
# ### As far as training reaches
#
# T5's last bucket covers all far distances, so its bias is *defined* at 200. But a number in a table is learned only if something in training looks it up.

# %%
predict("position.p5", "Trained on rows of 64 places, what does this T5 table add to a score at distance 200?",
        ["what training found best for far words", "the number that it had before training", "nothing: an error"])

# %%
for places in (64, 128):
    met = t5_relative_bucket(-torch.arange(places), bidirectional=False).unique()
    print(f"rows of {places} places look up {len(met)} of 32 buckets, up to bucket {met.max()}")
table = trained["T5 bias"].scheme.bias.weight.detach()
for b in (3, 10, 26, 27, 31):
    print(f"bucket {b:2}: {table[b, 0]:+.3f} (head 1), {table[b, 1]:+.3f} (head 2)")

# %%
reveal("position.p5",
       lambda: f"bucket {t5_relative_bucket(torch.tensor(-200), bidirectional=False)}: {table[31].tolist()}",
       "No two places of a row of 64 are 67 or more apart. Buckets 27 to 31 never had a gradient, and stay at 0.",
       answer="the number that it had before training")

# %% [markdown]
# In the recorded head that looks three back, bucket 3 holds {{trained_length.t5.third:.1f}} and buckets 4 to 26 hold −{{trained_length.t5.lowered:.1f}} on average; the five that nobody looked up hold 0, which is *more* than a near word gets. So the longer the row, the more far words drown out the third. If that is the reason, a copy of bucket 26 in the five rows should help, without any training:

# %%
filled = torch.tensor([r["filled"]["back"] for r in record["rows"] if "filled" in r])
lines = {"trained on 64": runs("T5 bias", 64, "back"), "bucket 26 copied into 27 to 31": filled,
         "trained on 128": runs("T5 bias", 128, "back")}
told = "; ".join(f"{name} {curves[:, -1].mean():.2f}" for name, curves in lines.items())
with described("Three back along rows of 256 cards, T5 bias, recorded. At the last places: {told}.", told=told):
    plt.figure(figsize=(6, 3))
    for c, (name, curves) in enumerate(lines.items()):
        plt.plot(band(plt.gca(), curves, f"C{c}"), curves.mean(0), color=f"C{c}", ls=("-", "--", ":")[c], label=name)
    plt.ylim(0, 1.05), plt.xlabel("place"), plt.ylabel("share right"), plt.legend()

# %% [markdown] evidence="recorded: trained_length, control: trained length + exact + cited: 1910.10683"
# **Verdict: a bucket is known as far as training reaches.** In {{trained_length.t5.unchanged:word}} of {{trained_length.seeds:word}} runs exactly buckets {{trained_length.t5.first}} to {{trained_length.t5.last}} kept their first value. Filling them lifts *three back* at the end of the row from {{trained_length.t5.on64.back_end:.2f}} to {{trained_length.t5.filled_end:.2f}} (difference {{trained_length.t5.gain:.2f}}, standard error {{trained_length.t5.gain_error:.3f}}, better in {{trained_length.t5.gained:word}} of {{trained_length.seeds:word}}). Trained on 128 places, which meet every bucket, it is {{trained_length.t5.on128.back_end:.2f}}.
#
# [T5](https://arxiv.org/abs/1910.10683) was trained on 512 tokens: all of its buckets were met. Unit 06 plays on with RoPE.

# %% [markdown] written="question"
# Texts will be four times as long as in training. The task asks for the word exactly three places back, and for the last mention of a name, however far back. What do sinusoids, T5's buckets and ALiBi each lose beyond the trained length, and why? Choose one: what would you change about its training?
#
# - for each scheme: far content and the exact place, treated apart
# - what is defined at a distance, against what training has set there
# - a change that follows from the reason you gave

# %% [markdown] written="answer" points=4
# Sinusoids lose both: at far places the hands stand in combinations that did not occur in training. In the unit *three back* falls from {{trained_length.sinusoidal.on64.back_inside:.2f}} to {{trained_length.sinusoidal.on64.back_beyond_lowest:.2f}}–{{trained_length.sinusoidal.on64.back_beyond_highest:.2f}}. ALiBi keeps far content; with two heads it does not learn the exact place even within 64 places ({{trained_length.alibi.on64.back_inside:.2f}}), because the bias of one head alone favors the nearest word; with eight heads it does ({{trained_length.alibi8.on64.back_end:.2f}} at 256). T5 keeps the content and loses the place slowly, to {{trained_length.t5.on64.back_end:.2f}}: buckets of far distances never had a gradient and stay at their first value. I would take T5 and train on rows that meet every bucket ({{trained_length.t5.on128.back_end:.2f}}), or copy the last trained bucket into the rest.
#
# ### BEGIN MARK SCHEME
# - 1 point: sinusoids are defined everywhere, but positions come that training never met; both questions suffer.
# - 1 point: ALiBi keeps the content; the bias of one head alone cannot favor the third word over the nearest, so the exact place takes several heads. ("Two heads don't learn it" and "eight heads do" are both right.)
# - 1 point: T5 keeps the content; the place fades because far buckets were never trained.
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
quiz("A learned table of 512 rows, as in BERT, gets a text of 600 words. What happens?",
     {"The last row serves for all the rest": (False, "That is how a relative table is clipped."),
      "Words 512 and later have no position": (True, "There is no such row: an error, or a text that is cut off."),
      "It works a little worse": (False, "That needs a scheme that is defined there.")})

# %%
quiz("Bidirectional T5, 32 buckets: which two distances into the past share a bucket?",
     {"6 and 7": (False, "Below 8 each distance has its own."), "11 and 12": (False, "8 to 11, then 12 to 15."),
      "12 and 15": (True, "Both are in bucket 9.")})

# %%
quiz("T5's causal buckets end at distance 128. Which training leaves none of them at its first value?",
     {"Rows of 64 words": (False, "Distances end at 63, in bucket 26 of 31."),
      "Rows of 512 words": (True, "All distances from 0 to 511 occur, so every bucket is looked up."),
      "Any: the last bucket covers the rest": (False, "It covers them, but nothing looks it up.")})

# %%
progress("05-position-encodings")

# %% [markdown]
# ## Where this lives in real models
#
# - Sinusoids: [the original Transformer](https://arxiv.org/abs/1706.03762). Learned tables: [BERT](https://arxiv.org/abs/1810.04805), GPT-2, [OPT](https://arxiv.org/abs/2205.01068).
# - [Shaw et al. 2018](https://arxiv.org/abs/1803.02155); [Transformer-XL](https://arxiv.org/abs/1901.02860) and [XLNet](https://arxiv.org/abs/1906.08237).
# - Buckets: [T5](https://arxiv.org/abs/1910.10683), mT5, Flan-T5.
# - [DeBERTa](https://arxiv.org/abs/2006.03654) and [TUPE](https://arxiv.org/abs/2006.15595).
# - [ALiBi](https://arxiv.org/abs/2108.12409) in [BLOOM](https://arxiv.org/abs/2211.05100) and MPT.
# - Most decoders since 2021 rotate queries and keys instead.
#
# Next, **06-rope**: that rotation, and why it sees distances alone.
