# %% [markdown]
# # Cheaper attention
#
# **You will be able to**
#
# - compute exact attention without holding all its scores;
# - let a small attention choose a large one's keys;
# - replace the cache by a state, and correct what it holds;
# - let a head be silent;
# - in the extensions: chunks, MLA as shipped, blocks, a backward pass.
#
# **Prerequisites:** units 01, 07, 08, 09 and 12; logarithms. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Models of 2025 read texts of 131,072 tokens with an ordinary softmax. The table of one head's scores has 131,072² entries, which take 34 GB in 2 bytes each, and a model has hundreds of heads.
#
# Nevertheless a GPU with 80 GB computes these softmaxes exactly. How many scores of a head must it hold at once?

# %% setup=true
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from anatomy import case, check, predict, progress, quiz, reveal
from anatomy.cost import Meter
from anatomy.experiments import choosing, recall, recorded, show_large, where
from anatomy.plots import described, use_style
from anatomy.widgets import AttentionExplorer, MemoryExplorer, SparseExplorer, TilesExplorer
from torch import nn

def rotate_pairs(x, positions, base=10_000.0):
    """Turns the pairs of neighbors of x (..., T, D) by their positions (T,), as unit 06's apply_rope."""
    angle = positions[:, None] * base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    cos, sin, a, b = angle.cos().to(x.dtype), angle.sin().to(x.dtype), x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

# %%
use_style()

# %%
predict("cheaper.p1", "How many scores of a head must be in memory at the same time?",
        ["all of them, or the result is an approximation", "at least one whole row, 131,072",
         "as few as one likes"])

# %% [markdown]
# Keep your guess until section 2, where your own function will answer.

# %% [markdown]
# ## 1. Two halves of a softmax
#
# Suppose that one machine has seen the first half of the keys, and another one the second half. Each has computed its own softmax and its own average of values. Can the two averages be joined into the right one, although neither machine knows the other's scores?
#
# They can, if each also says how much its keys weigh together.

# %% [markdown]
# ### Worked example
#
# Machine A has two keys with scores 0 and 0, so its sum of exponentials is $e^0 + e^0 = 2$. Its values are 10 and 30, and their average is 20. Machine B has one key with score $\ln 6$, so its sum is 6, and its value is 60.
#
# The sums 2 and 6 are the weights of the two averages: $(2 \cdot 20 + 6 \cdot 60)/8 = 50$. A softmax over all three keys gives the same.

# %%
scores, values = torch.tensor([0.0, 0.0, math.log(6)]), torch.tensor([10.0, 30.0, 60.0])
(scores.softmax(-1) @ values).item(), (2 * 20 + 6 * 60) / 8

# %% [markdown]
# A sum of exponentials overflows easily, because $e^{89}$ is too large for a float32. So what is passed on is its logarithm, called **logsumexp** or lse for short. For scores $x_s$ it is $\ln \sum_s e^{x_s}$, which is $\ln 2$ for machine A and $\ln 6$ for B.
#
# A part in which a query may see no key at all has the sum 0, so its lse is $\ln 0 = -\infty$, and its average is set to 0.

# %% [markdown] statement="tiles.merge"
# Join two partial results of the same queries. Return the average over the keys of both, and their lse.
#
# The lse may be 1,000 for one query and −1,000 for another. Nothing may overflow, and no average may be lost. Where neither part saw a key, the result is 0 with lse −∞, and never NaN.

# %% exercise="tiles.merge"
def merge(out_a, lse_a, out_b, lse_b):
    """out (..., T, Dv) and lse (..., T) of two sets of keys → out and lse of their union (arXiv:1805.02867)."""
    ### BEGIN SOLUTION
    lse = torch.logaddexp(lse_a, lse_b)
    safe = lse.masked_fill(lse == -math.inf, 0.0)
    a, b = (lse_a - safe).exp(), (lse_b - safe).exp()
    return a[..., None] * out_a + b[..., None] * out_b, lse
    ### END SOLUTION

# %% [markdown] hints="tiles.merge"
# 1. In the example the weights of the averages were 2/8 and 6/8. How do they follow from $\ln 2$, $\ln 6$ and $\ln 8$?
# 2. `torch.logaddexp` gives the new lse. A part's weight is $e^{\text{its lse} - \text{new lse}}$, which is at most 1. Where the new lse is −∞, subtract 0 instead, because −∞ − (−∞) is NaN.
# 3. `safe = lse.masked_fill(lse == -math.inf, 0.0)`, `a = (lse_a - safe).exp()`, and `a[..., None]` fits the shape of `out_a`.

# %% [markdown] worth="tiles.merge"
# Merging in any order and in any grouping gives the same result. So servers cut a long cache among several processors, which read it at the same time and merge at the end (*split-K* or *flash decoding*).

# %% [markdown]
# ### See it
#
# Cut 12 keys into three parts, attend to each part alone, and merge. Does the order in which you merge them matter?

# %%
def partial(q, k, v):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ v, scores.logsumexp(-1)

# %%
torch.manual_seed(0)
q, k, v = torch.randn(2, 4, 8), torch.randn(2, 12, 8), torch.randn(2, 12, 8)
a, b, c = (partial(q, k[:, s:s + 4], v[:, s:s + 4]) for s in (0, 4, 8))
for first, second, third in ((a, b, c), (c, a, b)):
    print((merge(*merge(*first, *second), *third)[0] - partial(q, k, v)[0]).abs().max().item())

# %% [markdown]
# ## 2. Keys in blocks
#
# Merging makes a loop possible that reads the keys block by block and holds the scores of one block only. FlashAttention ([2205.14135](https://arxiv.org/abs/2205.14135)) keeps three things per query while it goes on, namely the largest score so far $m$, the sum $Z$ of all $e^{x - m}$, and the sum of the values, each times the same $e^{x - m}$.
#
# When a larger score arrives, $m$ changes, and what was summed before was measured against the old $m$.

# %% [markdown]
# ### Worked example
#
# Block 1 has the scores 1 and 2, block 2 has 4. After block 1, $m = 2$ and $Z = e^{-1} + e^0 = 1.368$. Block 2 raises the maximum to 4, so the old sum is multiplied by $e^{2 - 4}$ before the new part is added.

# %%
total = math.exp(1 - 2) + math.exp(2 - 2)
total = total * math.exp(2 - 4) + math.exp(4 - 4)
total, sum(math.exp(x - 4) for x in (1, 2, 4))

# %% [markdown] statement="tiles.stream"
# Write attention over blocks of `block` keys (the last one may be shorter), with scores divided by $\sqrt D$. Return the result and the lse of each query.
#
# `mask` is boolean, has $S$ columns and broadcasts to $(\dots, T, S)$; True means "may look". A query without any key gets 0 and −∞. Scores may be ±1,000. Make no floating tensor of $T \times S$ numbers, since grading asks for 18,000 tokens.
#
# A `ValueError` is raised for `block` < 1.

# %% exercise="tiles.stream"
def attention_in_blocks(q, k, v, block, mask=None):
    """q (..., T, D), k (..., S, D), v (..., S, Dv) → out (..., T, Dv), lse (..., T) (arXiv:2205.14135)."""
    ### BEGIN SOLUTION
    if block < 1:
        raise ValueError(f"a block holds at least one key, got {block}")
    largest = q.new_full(q.shape[:-1], -math.inf)
    total, mixed = torch.zeros_like(largest), v.new_zeros(*q.shape[:-1], v.shape[-1])
    for start in range(0, k.shape[-2], block):
        part = slice(start, start + block)
        scores = q @ k[..., part, :].mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask[..., part], -math.inf)
        new = torch.maximum(largest, scores.amax(-1))
        safe = new.masked_fill(new == -math.inf, 0.0)
        old, weights = (largest - safe).exp(), (scores - safe[..., None]).exp()
        total = total * old + weights.sum(-1)
        mixed = mixed * old[..., None] + weights @ v[..., part, :]
        largest = new
    return mixed / total.masked_fill(total == 0, 1.0)[..., None], largest + total.log()
    ### END SOLUTION

# %% [markdown] hints="tiles.stream"
# 1. In the example two things happen for every block: what was there is rescaled, then something is added. Which quantities need that? And what is subtracted as long as a query has seen no key?
# 2. Start with $m = -\infty$, $Z = 0$ and values 0. Per block: scores, mask, new maximum; `old` $= e^{m - m_{new}}$; multiply $Z$ and the values by it, add the block's part. Divide once at the end. Or call your `merge` for each block.
# 3. `new = torch.maximum(largest, scores.amax(-1))`, `safe = new.masked_fill(new == -math.inf, 0.0)`, `total = total * (largest - safe).exp() + …`, at the end `largest + total.log()`.

# %% [markdown] worth="tiles.stream"
# With the lse kept, the backward pass can recompute any score's weight as $e^{x - \text{lse}}$, so training needs no stored weights either. FlashAttention-2 ([2307.08691](https://arxiv.org/abs/2307.08691)) stores this one number per query and head.

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2048, 64)
largest = {}
for block in (2048, 128, 16):
    with torch.no_grad(), Meter() as meter:
        attention_in_blocks(q, k, v, block)
    largest[block] = meter.counts["largest"]

# %%
reveal("cheaper.p1",
       lambda: "; ".join(f"blocks of {b:,}: {n:,} numbers" for b, n in largest.items()),
       "All scores are 4.2 million numbers. With blocks of 128 the largest tensor is one block of scores. "
       "With blocks of 16 it is the result itself, 2,048 × 64.",
       answer="as few as one likes")

# %% [markdown]
# Below, **your** loop walks over 12 keys in blocks, and in the last step your `merge` does the same. Press **Read on** until key 6 comes, whose score is larger than all before. What shrinks?

# %%
TilesExplorer({"attention_in_blocks": attention_in_blocks, "merge": merge})

# %% [markdown]
# The next picture is that of unit 01. Here your loop draws the weights of the trained model's heads, three keys at a time. Move a key's score far up, and watch the weights of the blocks that came before.

# %%
AttentionExplorer(lambda q, k, v, mask=None: attention_in_blocks(q, k, v, 3, mask)[0])

# %% [markdown]
# ### Claim on trial
#
# > *"FlashAttention approximates attention, and it is fast because it saves FLOPs."*
#
# First, compare both ways with a computation in float64. Second, count the multiplications and additions of their products.

# %%
exact = partial(q.double(), k.double(), v.double())[0]
for name, way in (("all scores at once", lambda: partial(q, k, v)[0]), ("blocks of 128", lambda: attention_in_blocks(q, k, v, 128)[0])):
    with torch.no_grad(), Meter() as meter:
        error = (way().double() - exact).abs().max().item()
    print(f"{name:18}: error {error:.1e}, {meter.counts['flops']:,} FLOPs, largest tensor {meter.counts['largest']:,}")

# %% [markdown] evidence="exact + cited: 2205.14135"
# **Verdict: neither is true.** Both ways are off by the rounding of float32 and no more, and their products have the same FLOPs, to which the rescaling even adds some. What is saved is memory traffic, because a block of scores never leaves the chip's own fast memory. The paper counts those accesses ([2205.14135](https://arxiv.org/abs/2205.14135), section 3.2), and its backward pass computes scores a second time on purpose.

# %% [markdown]
# ## 3. Extension: tiles that nobody needs
#
# In a causal model half of all pairs are hidden. With the queries cut into blocks as well, the scores form square **tiles**. A tile whose keys all come after its queries contains nothing but hidden pairs, so it need not be computed at all.

# %% [markdown]
# ### Worked example
#
# Suppose that six tokens are cut into blocks of 2. Row $i$ of tiles needs the tiles 0 to $i$, and only the last of them, on the diagonal, needs a mask, so 6 tiles of 9 are computed.

# %%
for start in range(0, 6, 2):
    print("queries", (start, start + 1), "tiles of keys", [(s, s + 1) for s in range(0, start + 2, 2)])

# %% [markdown]
# With a past, as in unit 08, the queries are the last $T$ of $S$ tokens, so query $t$ sees keys 0 to $S - T + t$, and the diagonal runs $S - T$ further to the right.

# %% [markdown] statement="tiles.causal"
# Write causal attention of the last $T$ of $S$ tokens, in tiles of `block` queries and at most `block` keys, with result and lse as before. Hand each block of queries only those keys that its last query may see.
#
# In two cases the last token has NaN in its key and value. A tile that reads them for an earlier query is found out, since $0 \cdot \text{NaN}$ is NaN.

# %% exercise="tiles.causal"
def causal_in_tiles(q, k, v, block):
    """q (..., T, D), k (..., S, D), v (..., S, Dv), T ≤ S → out (..., T, Dv), lse (..., T)."""
    ### BEGIN SOLUTION
    T, past, outs, lses = q.shape[-2], k.shape[-2] - q.shape[-2], [], []
    for start in range(0, T, block):
        end = min(start + block, T)
        mask = torch.ones(end - start, past + end).tril(past + start).bool()
        keys, values = k[..., :past + end, :], v[..., :past + end, :]
        out, lse = attention_in_blocks(q[..., start:end, :], keys, values, block, mask)
        outs.append(out)
        lses.append(lse)
    return torch.cat(outs, -2), torch.cat(lses, -1)
    ### END SOLUTION

# %% [markdown] hints="tiles.causal"
# 1. Queries `start` to `end - 1` stand at positions $S - T + \text{start}$ and on. Which is the last key that the last of them sees?
# 2. Loop over blocks of queries. Cut keys and values at $S - T + \text{end}$. The mask of that piece is lower triangular with diagonal $S - T + \text{start}$. Call `attention_in_blocks`, collect, and join along the axis of tokens.
# 3. `end = min(start + block, T)`, `mask = torch.ones(end - start, past + end).tril(past + start).bool()`, `torch.cat(outs, -2)`, `torch.cat(lses, -1)`.

# %% [markdown] worth="tiles.causal"
# For long texts this halves the work, which dense attention with a mask never does. Windows (unit 09) skip the tiles on the other side too, so their saving grows with the text.

# %%
predict("cheaper.p2", "2,048 tokens, tiles of 256. Which part of all tiles does causal attention compute?",
        ["exactly half", "a bit more than half", "all of them"])

# %%
def flops(way):
    with torch.no_grad(), Meter() as meter:
        way()
    return meter.counts["flops"]

# %%
reveal("cheaper.p2",
       lambda: f"{flops(lambda: causal_in_tiles(q, k, v, 256)) / flops(lambda: attention_in_blocks(q, k, v, 256)):.2%}",
       "Of 64 tiles, 28 lie above the diagonal. The 8 on it are computed whole, so it is 36 of 64. "
       "Smaller tiles come closer to a half.",
       answer="a bit more than half")

# %% [markdown]
# ### See it: four devices in a ring
#
# Between machines the same step is called Ring attention ([2310.01889](https://arxiv.org/abs/2310.01889)). Suppose that nothing is masked, and that each of four devices holds a quarter of the tokens. Keys and values travel around the ring, and at every stop a device merges what it sees, so no device ever holds all keys.

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 64, 8)
Q, K, V = (x.split(16, dim=1) for x in (q, k, v))
held = [(torch.zeros(1, 16, 8), torch.full((1, 16), -math.inf)) for _ in range(4)]
for stop in range(4):
    for device in range(4):
        source = (device + stop) % 4  # whose keys are here now
        held[device] = merge(*held[device], *partial(Q[device], K[source], V[source]))

# %%
(torch.cat([out for out, _ in held], 1) - partial(q, k, v)[0]).abs().max().item()

# %% [markdown]
# ## 4. An indexer
#
# So far nothing was left out, whereas unit 09 left out keys by their *place*. Could a model choose by *content* instead? Then it would have to know which keys matter before it computes their scores. DeepSeek-V3.2 ([2512.02556](https://arxiv.org/abs/2512.02556)) has a second, much smaller attention for that, the *lightning indexer*, with $J$ small heads that share one key per token.
#
# $$I_{t,s} = \sum_{j=1}^{J} w_{t,j} \cdot \text{ReLU}(q_{t,j} \cdot k_s)$$
#
# All three, $q$, $k$ and the weight $w$ of each head, are computed from the tokens. There is no softmax and no root, because only the order of the scores will count.

# %% [markdown]
# ### Worked example
#
# Take two heads whose products with one key are 3 and −2, and whose weights are 0.5 and 4. The second product is negative, so ReLU makes it 0, and the score is $0.5 \cdot 3 + 4 \cdot 0 = 1.5$. Without ReLU it would be −6.5.

# %% [markdown] statement="index.scores"
# Write the formula for $B$ sequences, $T$ queries and $S$ keys. Weights may be negative, and gradients flow, because an indexer is trained.

# %% exercise="index.scores"
def index_scores(q, k, w):
    """q (B, T, J, D), k (B, S, D), w (B, T, J) → (B, T, S) (arXiv:2512.02556, equation 1)."""
    ### BEGIN SOLUTION
    products = torch.einsum("btjd,bsd->btjs", q, k).relu()
    return torch.einsum("btjs,btj->bts", products, w)
    ### END SOLUTION

# %% [markdown] hints="index.scores"
# 1. In the example, which comes first: ReLU, weight, or sum?
# 2. Products of every query head with every key make $(B, T, J, S)$. ReLU. Multiply by `w`, which needs an axis at the end, and sum over $J$.
# 3. `products = torch.einsum("btjd,bsd->btjs", q, k).relu()`, then `(products * w[..., None]).sum(…)`.

# %% [markdown] worth="index.scores"
# In DeepSeek-V3.2 the indexer has 64 heads of 128 numbers, and attention has 128 heads on latents of 576. Computed in 8 bits, and with one shared key, a score of the indexer costs a small part of what it replaces.

# %% [markdown]
# ## 5. Choose
#
# Each query now keeps the $n$ keys with the best scores, of those that it may see. DeepSeek-V3.2 takes $n = 2{,}048$ keys, however long the text is. Attention itself then needs $T \cdot n$ scores instead of $T^2$.

# %% [markdown]
# ### Worked example
#
# The last of five queries has the scores 0, 2, 0, 0, 1, and $n = 3$. Keys 1 and 4 are chosen for certain. The third place is a tie between the keys 0, 2 and 3, which all have exactly 0. Such ties are common, because ReLU makes zeros. A rule is needed, and here it says that **the earlier key wins**.

# %%
torch.tensor([0.0, 2.0, 0.0, 0.0, 1.0]).sort(descending=True, stable=True).indices

# %% [markdown] statement="index.choose"
# Return a boolean mask, True at the `n` best visible keys of each query. Queries are the last $T$ of $S$ tokens, so query $t$ sees keys 0 to $S - T + t$. A query that sees fewer than `n` keys keeps all of them. Of equal scores the earlier key wins.

# %% exercise="index.choose"
def best_visible(scores, n):
    """scores (..., T, S) → boolean (..., T, S)."""
    ### BEGIN SOLUTION
    T, S = scores.shape[-2:]
    seen = torch.ones(T, S).tril(S - T).bool()
    order = scores.masked_fill(~seen, -math.inf).sort(dim=-1, descending=True, stable=True).indices
    chosen = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, order[..., :n], True)
    return chosen & seen
    ### END SOLUTION

# %% [markdown] hints="index.choose"
# 1. Hidden keys must lose against every visible one, also against negative scores. What do you put in their place, and when?
# 2. Fill hidden scores with −∞, sort each row downward and stably, take the first `n` positions, write True there. Rows with fewer visible keys have picked hidden ones as well, so remove these.
# 3. `order = ….sort(dim=-1, descending=True, stable=True).indices`, `torch.zeros_like(scores, dtype=torch.bool).scatter(-1, order[..., :n], True) & seen`.

# %% [markdown] worth="index.choose"
# A real kernel never makes the mask. It hands the list of positions to attention, which gathers those keys as in unit 09's extension.

# %% [markdown]
# In the patterns of unit 09, the place of a token decided what it reads. Here scores decide, so the columns differ from query to query and from layer to layer. The scores below are random, as before training. Add layers: after how many does the last token depend on every earlier one?

# %%
SparseExplorer({"best_visible": best_visible}, pattern="chosen keys: the best by scores", query=19)

# %% [markdown]
# ### Claim on trial
#
# > *"An indexer is causal as soon as its scores are: whatever comes later is masked with −∞, so it cannot change what an earlier token reads."*
#
# Try it on a text of 200 tokens, once with the first 150 tokens alone and once whole. The first 150 queries should choose the same keys. First, choose by `torch.topk`, which breaks ties as it likes, then by your function.

# %%
def by_topk(scores, n):
    seen = torch.ones(scores.shape[-2:]).tril().bool()
    order = scores.masked_fill(~seen, -math.inf).topk(n, dim=-1).indices
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, order, True) & seen

# %%
torch.manual_seed(0)
for J in (1, 2, 8):
    scores = index_scores(torch.randn(1, 200, J, 16), torch.randn(1, 200, 16), torch.rand(1, 200, J))
    for name, pick in (("topk", by_topk), ("yours", best_visible)):
        changed = (pick(scores[:, :150, :150], 64) != pick(scores, 64)[:, :150, :150]).any(-1).sum()
        print(f"{J} heads, {(scores == 0).float().mean():4.0%} zeros, {name:5}: {changed} of 150 queries read other keys")

# %% [markdown] evidence="exact"
# **Verdict: masked scores are not enough, because a tie can let the future in.** With one head half of all scores are exactly 0. Which of them `topk` takes depends on the length of the row, and so on tokens that come later. A rule for ties that looks at positions only, such as yours, cures it. With many heads, however, zeros are rare, and the trap stays unseen.

# %% [markdown]
# ### Experiment: does it find them?
#
# Can an indexer learn what a trained model reads? Take the small model of unit 12 and one of its layers, with rows of 128 tokens. An indexer gets 100 steps to imitate that layer's weights, on the novels that the model was trained on. Then both read pages that neither has seen, and each query keeps 8 keys. How much of the attention weight lies on these 8?

# %%
learn, test = (choosing.layers(choosing.rows(n, held_out))[0] for n, held_out in ((48, False), (16, True)))
indexer = choosing.train_indexer(learn, index_scores, steps=100)

# %%
n, place = 8, torch.arange(128)
far = (place[:, None] - place).expand(16, 128, 128)
ways = {"the indexer": best_visible(index_scores(*indexer(test.x)).detach(), n), "the last 8": (far >= 0) & (far < n),
        "any 8": best_visible(torch.rand(16, 128, 128, generator=torch.Generator().manual_seed(0)), n),
        "the best 8": best_visible(test.weights.mean(1), n)}
for name, chosen in ways.items():
    print(f"{name:12} {choosing.share(test, chosen, n):.0%} of the weight")

# %% [markdown]
# Compare the indexer with the last 8. In short rows of a small model, most of the weight lies on near keys anyway, so a window is a strong rival. *The best 8* are chosen with the weights of all four heads known, so no indexer of one list for all heads can do better.

# %% [markdown]
# ### Claim on trial
#
# > *"With an indexer, attention becomes linear in the length of the text."*
#
# Count multiplications for the newest query of DeepSeek-V3.2. Its indexer scores every earlier token, with 64 heads of 128 numbers. Attention reads at most 2,048 of them. For each of 128 heads, a key has 576 numbers and a value 512.

# %%
per_index, per_pair = 64 * 128, 128 * (576 + 512)
for S in (4_096, 32_768, 131_072):
    dense, chosen, index = S * per_pair, min(S, 2048) * per_pair, S * per_index
    print(f"{S:7,} tokens: dense {dense / 1e9:5.1f} billion; chosen keys {chosen / 1e9:.2f} + indexer {index / 1e9:.2f}, "
          f"{dense / (chosen + index):.1f} times less")

# %% [markdown] evidence="exact + cited: 2512.02556"
# **Verdict: attention proper becomes linear, but the indexer stays quadratic.** It looks at every earlier token, and at 131,072 tokens it costs several times as much as the attention that it serves. Each of its scores is 17 times cheaper, so the saving comes near that factor and not beyond. The paper says so, too ([2512.02556](https://arxiv.org/abs/2512.02556)). All keys must also stay in the cache, because any of them may be chosen.

# %% [markdown]
# ## 6. A state instead of a cache
#
# Must all keys be kept in a cache? In softmax attention they must, because $e^{q \cdot k}$ ties each query to each key. Leave the softmax out, and the sum can be taken in another order:
#
# $$\sum_s (q \cdot k_s)\, v_s = q\, \underbrace{\sum_s k_s v_s^\top}_{M}$$
#
# The matrix $M$ with $D \times D_v$ numbers, the **state**, holds the whole past, and this is called *linear attention* ([2006.16236](https://arxiv.org/abs/2006.16236)).

# %% [markdown]
# ### Worked example
#
# Two pairs are written, key $(1, 0)$ with value 10, and key $(0, 1)$ with value 20. Reading with the first key gives back its value.

# %%
state = torch.zeros(2, 1)
for key, value in (((1.0, 0.0), 10.0), ((0.0, 1.0), 20.0)):
    state = state + torch.tensor(key)[:, None] * value
state.flatten(), torch.tensor([1.0, 0.0]) @ state

# %% [markdown]
# To let old pairs fade, the state is multiplied by a **decay** between 0 and 1 before each write. What was written at $s$ has then shrunk, by the time $t$, by all decays *after* $s$ up to $t$. So the same result is a masked product, without any state:
#
# $$\text{out}_t = \sum_{s \le t} (q_t \cdot k_s) \Big( \prod_{r=s+1}^{t} a_r \Big) v_s$$
#
# The first form writes one token after the other, as in decoding. The second one has no loop, so it suits training. With decays 0.5 and 0.8 at tokens 1 and 2, for example, token 2 reads token 0 times $0.5 \cdot 0.8 = 0.4$.

# %% [markdown] statement="state.linear"
# Write both forms, in which `decay` has one number in (0, 1] per token and head. `linear_recurrent` begins with the given `state`, or with zeros, and returns the results and the last state. `linear_parallel` makes no state, and must stay finite when many small decays follow each other.
#
# There is neither a softmax nor a root here. Do not change a state that you were given.

# %% exercise="state.linear"
def linear_recurrent(q, k, v, decay, state=None):
    """q, k (B, H, T, D), v (B, H, T, Dv), decay (B, H, T), state (B, H, D, Dv) → (B, H, T, Dv), last state."""
    ### BEGIN SOLUTION
    if state is None:
        state = v.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1])
    out = []
    for t in range(q.shape[2]):
        state = decay[:, :, t, None, None] * state + k[:, :, t, :, None] * v[:, :, t, None, :]
        out.append(q[:, :, t, None, :] @ state)
    return torch.cat(out, dim=2), state
    ### END SOLUTION


def linear_parallel(q, k, v, decay):
    """The same result (B, H, T, Dv) as one masked product (arXiv:2307.08621)."""
    ### BEGIN SOLUTION
    passed = decay.log().cumsum(-1)
    T = q.shape[2]
    between = passed[..., :, None] - passed[..., None, :]
    between = between.masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf).exp()
    return (q @ k.mT * between) @ v
    ### END SOLUTION

# %% [markdown] hints="state.linear"
# 1. Recurrent: in the example, which shape do key and value need so that their product is a matrix? Parallel: a product of decays from $s + 1$ to $t$ is a quotient of two products from the start, and its logarithm a difference.
# 2. Per token: state times decay, plus `k[:, :, t, :, None] * v[:, :, t, None, :]`, then `q` times state. Parallel: `decay.log().cumsum(-1)`, differences of all pairs, −∞ where $s > t$, then `exp`; multiply the scores by it.
# 3. `passed = decay.log().cumsum(-1)`, `between = (passed[..., :, None] - passed[..., None, :]).masked_fill(…triu(1)…, -math.inf).exp()`, `(q @ k.mT * between) @ v`.

# %% [markdown] worth="state.linear"
# A decay that is fixed for each head is RetNet ([2307.08621](https://arxiv.org/abs/2307.08621)). One that each token computes is Mamba-2, whose paper shows that its layer is this masked product ([2405.21060](https://arxiv.org/abs/2405.21060)).

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 50, 8)
decay = torch.rand(1, 2, 50) * 0.3 + 0.7
out, state = linear_recurrent(q, k, v, decay)
print("largest difference:", (out - linear_parallel(q, k, v, decay)).abs().max().item(), "state:", tuple(state.shape))

# %% [markdown]
# ## 7. Correct what is stored
#
# What does adding do if a key gets a new value, as when a story says first that the dog is in the kitchen, and later that it is in the garden?

# %% [markdown]
# ### Worked example
#
# The key $(1, 0)$ is written with 10, and later with 30. An added state then reads their sum, 40. However, the **delta rule** reads first what the key holds, here 10, and writes only the difference, $30 - 10 = 20$.

# %%
key, added = torch.tensor([1.0, 0.0]), torch.tensor([10.0, 0.0])
(key @ (added + key * 30)).item(), (key @ (added + key * (30 - key @ added))).item()

# %% [markdown]
# With a **rate** $\beta_t$ in [0, 1], which says how much of the difference is written, and the decay $a_t$ of section 6, this is the *gated delta rule* ([2412.06464](https://arxiv.org/abs/2412.06464)). The state is first multiplied by the decay, then
#
# $$M \leftarrow M + \beta_t\, k_t \left(v_t - M^\top k_t\right)^\top$$
#
# Only a key of length 1 reads exactly what it wrote, since $k \cdot k = 1$. So each key is divided by its length first.

# %% [markdown] statement="state.delta"
# Write the gated delta rule token after token. Divide keys by their length, but leave queries as they are. Decay first, then read what the decayed state holds for the key, write the difference, and read with the query, so that a query sees its own token's pair.
#
# Begin with `state`, or with zeros, return the results and the last state, and do not change a state that you were given.

# %% exercise="state.delta"
def delta_rule(q, k, v, decay, rate, state=None):
    """q, k (B, H, T, D), v (B, H, T, Dv), decay, rate (B, H, T) → (B, H, T, Dv), state (B, H, D, Dv)."""
    ### BEGIN SOLUTION
    k = k / k.norm(dim=-1, keepdim=True)
    if state is None:
        state = v.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1])
    out = []
    for t in range(q.shape[2]):
        key, value = k[:, :, t, :, None], v[:, :, t, None, :]  # (B, H, D, 1), (B, H, 1, Dv)
        state = decay[:, :, t, None, None] * state
        change = value - key.mT @ state
        state = state + rate[:, :, t, None, None] * key @ change
        out.append(q[:, :, t, None, :] @ state)
    return torch.cat(out, dim=2), state
    ### END SOLUTION

# %% [markdown] hints="state.delta"
# 1. In the example the written part was $30 - 10$. Which product of state and key gives the 10? Is it read before the decay or after it?
# 2. Make the key a column $(B, H, D, 1)$ and the value a row $(B, H, 1, D_v)$. Decay the state. Stored: `key.mT @ state`. Add `rate * key @ (value - stored)`. Read with the query row.
# 3. `state = decay[:, :, t, None, None] * state`, `state = state + rate[:, :, t, None, None] * key @ (value - …)`, `out.append(q[:, :, t, None, :] @ state)`.

# %% [markdown] worth="state.delta"
# Each write is one step of gradient descent on half the squared error of what the key reads, with the rate as step size. So the state is a small linear model that learns while it reads, and decay is its weight decay.

# %% [markdown]
# Below, **your** two rules write the same pairs into a state each. Write the dog into another place, and ask for it: which rule has forgotten the first place?

# %%
MemoryExplorer({"linear_recurrent": linear_recurrent, "delta_rule": delta_rule})

# %% [markdown]
# ### See it
#
# Write $N$ random pairs into a state of 32 × 32 numbers and read them all back. The error is relative to the values, so 0 is perfect and 1 is no better than answering 0. With how many pairs does each memory break down?

# %%
def read_back(N, write, D=32):
    g = torch.Generator().manual_seed(N)
    k, v = F.normalize(torch.randn(8, 1, N, D, generator=g), dim=-1), torch.randn(8, 1, N, D, generator=g)
    state = write(k, v, torch.ones(8, 1, N))[1]
    wrong = (k @ state - v).norm(dim=-1) / v.norm(dim=-1)
    return wrong.mean().item(), wrong[..., -1].mean().item()

# %%
sizes = [4, 8, 16, 32, 64, 128]
added = [read_back(N, lambda k, v, one: linear_recurrent(k, k, v, one)) for N in sizes]
delta = [read_back(N, lambda k, v, one: delta_rule(k, k, v, one, one)) for N in sizes]
with described("Relative error of what is read back against the number of pairs, 32 numbers per key. Added: {a:.2f} at 4 "
               "pairs, {b:.2f} at 32. Delta rule: {c:.2f} and {d:.2f}, and 0 for the newest pair.",
               a=added[0][0], b=added[3][0], c=delta[0][0], d=delta[3][0]):
    for name, errors, mark in (("added", added, "o"), ("delta rule", delta, "s")):
        plt.plot(sizes, [mean for mean, _ in errors], f"-{mark}", label=f"{name}, all pairs")
        plt.plot(sizes, [last for _, last in errors], f":{mark}", label=f"{name}, the newest")
    plt.xscale("log"), plt.xticks(sizes, sizes), plt.xlabel("pairs"), plt.ylabel("relative error"), plt.legend(fontsize=8)

# %% [markdown]
# The newest pair is always read back exactly with the delta rule, and older ones fade as new ones are written over them. At most $D$ keys can be at right angles to each other, so no rule stores more than $D$ arbitrary pairs without error.

# %% [markdown]
# ### Claim on trial
#
# > *"A state of fixed size cannot look things up: only softmax attention finds again what was said."*
#
# {{recall.pairs}} pairs go by, over 16 keys, so that keys come again with new values. Then the model is asked for the last value of 8 of them. Three layers try it, softmax attention, an added state and the delta rule, and all have the same parameters. Here is a short training with **your** functions, and below it are longer ones, recorded.

# %%
def added(q, k, v, rate):
    return q @ linear_recurrent(k[:, None], k[:, None], v[:, None], torch.ones_like(rate)[:, None])[1][:, 0]

def corrected(q, k, v, rate):
    return q @ delta_rule(k[:, None], k[:, None], v[:, None], torch.ones_like(rate)[:, None], rate[:, None])[1][:, 0]

for name, memory in (("softmax", "softmax"), ("added", added), ("delta rule", corrected)):
    print(f"{name:10} {recall.train(memory, steps=60, measured=[60])[0]:.0%} right after 60 steps")

# %%
record = recorded("recall")
last = max(r["steps"] for r in record["rows"])
print(f"after {last} steps, recorded on", where(record))
for way in recall.WAYS:
    for again in (True, False):
        right = [r["accuracy"] for r in record["rows"] if (r["way"], r["rewritten"], r["steps"]) == (way, again, last)]
        print(f"{way:10} {'keys come again' if again else 'all keys differ':16}", *(f"{a:.0%}" for a in right))
show_large("recall")

# %% [markdown] evidence="recorded: recall, control: keys that repeat + exact"
# **Verdict: it depends on how the state is written.** With the delta rule {{recall.delta_rule.rewritten.mean:.0%}} of the answers are right, as with softmax ({{recall.softmax.rewritten.mean:.0%}}), and an added state finds {{recall.added.rewritten.mean:.0%}} ({{recall.seeds:word}} seeds each). The control shows what it fails at. If no key comes twice, it finds {{recall.added.different.mean:.0%}}, so it isn't too small; it cannot overwrite.
#
# However, the figure above shows a limit that no rule removes, because a state of $D \times D$ numbers holds at most $D$ arbitrary pairs.

# %% [markdown]
# ## 8. Extension: what a state weighs
#
# How long must a text be before a state is smaller than a cache? In Qwen3-Next, for example, three of four layers keep a state, for 32 heads with keys and values of 128 numbers, in 4 bytes each, because it is summed over the whole text. Every fourth layer is ordinary attention with 2 key-value heads of 256 numbers, in 2 bytes.

# %% [markdown]
# ### Worked example
#
# Take a stack of 6 layers in which every third is full attention, so layers 2 and 5 (counted from 0) are full, and four keep a state. A state has 100 bytes, a token adds 8 bytes to each full layer. With 50 tokens this makes $2 \cdot 50 \cdot 8 + 4 \cdot 100 = 1{,}200$ bytes. If 7 layers were built, the seventh would keep a state as well.

# %% [markdown] statement="state.bytes"
# Write the bytes of one layer's states, and of a whole *hybrid* of `n_layers` layers, the last of every `every` being full attention. (In unit 09, a hybrid mixed windows with full layers.) `per_token` is what a token adds in one full layer, and `state` what one other layer holds. The results are ints.

# %% exercise="state.bytes"
def state_bytes(n_heads, d_key, d_value, itemsize=4):
    """Bytes of one layer's states."""
    ### BEGIN SOLUTION
    return n_heads * d_key * d_value * itemsize
    ### END SOLUTION


def hybrid_bytes(n_layers, every, tokens, per_token, state):
    """Bytes of all caches and states after so many tokens."""
    ### BEGIN SOLUTION
    full = n_layers // every
    return full * tokens * per_token + (n_layers - full) * state
    ### END SOLUTION

# %% [markdown] hints="state.bytes"
# 1. A state is a matrix per head. In the example of 7 layers, how many are full?
# 2. Full layers: `n_layers // every`. Only they grow with the tokens. The others hold one state each.
# 3. `full = n_layers // every`, `return full * tokens * per_token + (…) * state`.

# %% [markdown] worth="state.bytes"
# A server must keep states as it keeps caches, one set per user. However, a state cannot be cut back to an earlier token, so sharing a common prompt needs a copy of the state at exactly its end.

# %%
predict("cheaper.p3", "Qwen3-Next: from how many tokens on is a full layer's cache larger than another layer's state?",
        ["about 1,000", "about 30,000", "about 1,000,000"])

# %%
state, per_token = state_bytes(32, 128, 128), 2 * 2 * 256 * 2

# %%
reveal("cheaper.p3",
       lambda: f"{state:,} / {per_token:,} = {state / per_token:,.0f} tokens",
       "A state of 32 matrices is not small. Below that length the cache would be cheaper, since it begins with nothing.",
       answer="about 1,000")

# %%
lengths = [2**n for n in range(8, 19)]
kinds = {"all 48 layers full": 1, "every fourth full": 4, "none full": 49}
with described("Gigabytes of caches and states against tokens, both logarithmic: all full rises in proportion; with every "
               "fourth full it is flat up to about 1,000 tokens and then rises to a quarter; with none full it stays flat."):
    for name, every in kinds.items():
        plt.loglog(lengths, [hybrid_bytes(48, every, n, per_token, state) / 1e9 for n in lengths], label=name)
    plt.xlabel("tokens"), plt.ylabel("GB per user"), plt.legend(fontsize=8)

# %% [markdown]
# A quarter of the layers keeps a cache, so in the end the hybrid needs a quarter of the bytes. Why not leave these out as well? They can look up any token exactly, whereas a state forgets. Kimi Linear ([2510.26692](https://arxiv.org/abs/2510.26692)) also mixes three to one, and reports that this mixture did better than others that it tried.

# %% [markdown]
# ## 9. A head that may be silent
#
# The weights of a softmax sum to 1. So a head that finds nothing relevant must still look somewhere. Many large models put that weight on the first token, which is then called an *attention sink* ([2309.17453](https://arxiv.org/abs/2309.17453)). Does the small model of unit 12 do so, too?

# %%
choosing_rows = choosing.layers(choosing.rows(16))
for i, layer in enumerate(choosing_rows):
    print(f"layer {i}: weight on the first token, by head", *(f"{w:.1%}" for w in layer.weights[:, :, 32:, 0].mean((0, 2))))

# %% [markdown]
# It does not, because every head gives the first token less than the 1.4 % that it would get from an even spread over all visible tokens. One possible reason, which is not tested here, is that it was trained on rows that begin anywhere in a text, so that a row's first token is nothing special.
#
# gpt-oss ([2508.10925](https://arxiv.org/abs/2508.10925)) gives the weight a place of its own. Each head has one learned number $z$, its *sink*, and the denominator becomes $e^{z} + \sum_s e^{x_s}$, while no value belongs to it.

# %% [markdown]
# ### Worked example
#
# Two keys have score 0, and the sink is $\ln 2$. The denominator is $1 + 1 + 2 = 4$, so both keys get 1/4, and one half of the weight goes nowhere. The result is half as long as without the sink.

# %%
x = torch.tensor([0.0, 0.0, math.log(2)])
x.softmax(-1)[:2].tolist()

# %% [markdown] statement="gate.sink"
# Write attention with a sink per head. The scores are divided by $\sqrt D$ and masked, while the sink is neither. Mask as before, boolean with True = may look. A query that may look nowhere gets 0. Scores and sinks of 1,000 must not overflow, and no gradient may be NaN.

# %% exercise="gate.sink"
def sink_attention(q, k, v, sink, mask=None):
    """q (B, H, T, D), k (B, H, S, D), v (B, H, S, Dv), sink (H,) → (B, H, T, Dv) (arXiv:2508.10925)."""
    ### BEGIN SOLUTION
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    column = sink[:, None, None].expand(*scores.shape[:-1], 1)
    weights = torch.cat([scores, column], dim=-1).softmax(-1)
    return weights[..., :-1] @ v
    ### END SOLUTION

# %% [markdown] hints="gate.sink"
# 1. In the example, three numbers went into the softmax, and two weights were used. What shape must the third have when there are $B$, $H$ and $T$?
# 2. Scores and mask as ever. Expand the sink to $(B, H, T, 1)$ and join it to the scores as one more column. Softmax over all columns, then drop the last weight.
# 3. `column = sink[:, None, None].expand(*scores.shape[:-1], 1)`, `torch.cat([scores, column], dim=-1).softmax(-1)[..., :-1] @ v`.

# %% [markdown] worth="gate.sink"
# You have written this already: it is `merge` with a second part whose result is 0 and whose lse is the sink. So a kernel that reads keys in blocks needs no change inside, and corrects its result at the end.

# %%
torch.manual_seed(0)
q, k, v, sink = torch.randn(1, 4, 5, 8), torch.randn(1, 4, 9, 8), torch.randn(1, 4, 9, 8), torch.randn(4)
out, lse = attention_in_blocks(q, k, v, 4)
merged = merge(out, lse, torch.zeros_like(out), sink[:, None].expand_as(lse))[0]
print("difference:", (sink_attention(q, k, v, sink) - merged).abs().max().item())

# %% [markdown]
# Below are the trained model's 16 heads again, now with a sink of 2 in each. The picture says that its rows no longer sum to 1, and this time that is right. Which heads lose most of their weight? Compare the sums, because a sink takes most where all scores are small.

# %%
AttentionExplorer(lambda q, k, v, mask=None: sink_attention(q, k, v, torch.full((16,), 2.0), mask))

# %% [markdown]
# ## 10. Extension: a gate on the result
#
# A sink depends on the scores alone. A *gate* lets the token itself decide. In Qwen3-Next, the heads' joined result is multiplied, number by number, by a sigmoid of the layer's input ([2505.06708](https://arxiv.org/abs/2505.06708)), before the output projection:
#
# $$\text{out} = \text{heads} \odot \sigma(x W_g^\top)$$
#
# For example, with a result of 4 and a gate's input of 0, $\sigma(0) = 0.5$ makes 2 of it. With an input of −10 it is as good as gone.

# %% [markdown] statement="gate.output"
# Join the heads in their order, as in unit 01, and apply the gate. The output projection is not part of it.

# %% exercise="gate.output"
def gated_output(attended, x, w_gate):
    """attended (B, H, T, D), x (B, T, d_model), w_gate (H·D, d_model) → (B, T, H·D)."""
    ### BEGIN SOLUTION
    joined = attended.transpose(1, 2).flatten(2)
    return joined * torch.sigmoid(x @ w_gate.T)
    ### END SOLUTION

# %% [markdown] hints="gate.output"
# 1. Which two axes must be neighbors before heads can be joined?
# 2. Swap axes 1 and 2, flatten the last two, multiply by the sigmoid of `x @ w_gate.T`.
# 3. `attended.transpose(1, 2).flatten(2) * torch.sigmoid(…)`.

# %% [markdown] worth="gate.output"
# The paper tried the gate in five places and found this one best. With it, its models put 4.8 % of their weight on the first token, and without it 46.7 % ([2505.06708](https://arxiv.org/abs/2505.06708)).

# %% [markdown]
# ## 11. Extension: chunks
#
# Of the two forms in section 6, the recurrent one makes $T$ small steps, one after the other, which leaves a GPU idle. The masked product computes all $T^2$ pairs. Training takes a middle way: it cuts the text into **chunks**, uses the masked product inside each, and carries one state from chunk to chunk.

# %% [markdown]
# ### Worked example
#
# Chunks have 2 tokens, and all decays are 0.5. At the border the state is $M$. The chunk's first token reads $0.5\,M$, because its own decay comes before it reads, and the second token reads $0.25\,M$. At the end, the first token's pair has shrunk by the second one's decay, so the new state is $0.25\,M + 0.5\,k_0 v_0^\top + k_1 v_1^\top$.

# %% [markdown] statement="state.chunks"
# Compute the same as `linear_recurrent`, chunk by chunk, for any $T$ (the last chunk may be shorter), and call `linear_parallel` inside each of them. The check counts the numbers that you write, so make one state per chunk, and not all $T^2$ pairs.

# %% exercise="state.chunks"
def linear_in_chunks(q, k, v, decay, chunk, state=None):
    """Shapes as in linear_recurrent → (B, H, T, Dv), last state (arXiv:2405.21060)."""
    ### BEGIN SOLUTION
    if state is None:
        state = v.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1])
    out = []
    for start in range(0, q.shape[2], chunk):
        a, b, c, d = (x[:, :, start:start + chunk] for x in (q, k, v, decay))
        passed = d.log().cumsum(-1)
        out.append(linear_parallel(a, b, c, d) + passed.exp()[..., None] * (a @ state))
        left = (passed[..., -1:] - passed).exp()
        state = passed[..., -1, None, None].exp() * state + (left[..., None] * b).mT @ c
    return torch.cat(out, dim=2), state
    ### END SOLUTION

# %% [markdown] hints="state.chunks"
# 1. In the example, which product of decays belongs to a token that reads the state at the border? And which to a pair that waits until the chunk's end?
# 2. Inside a chunk: `passed = decay.log().cumsum(-1)`. A result is the masked product plus `passed.exp()` times `q @ state`. The new state is the old one times the last `passed.exp()`, plus all pairs, each times the decays after it: `(passed[..., -1:] - passed).exp()`.
# 3. `out.append(linear_parallel(a, b, c, d) + passed.exp()[..., None] * (a @ state))`, `state = passed[..., -1, None, None].exp() * state + (left[..., None] * b).mT @ c`.

# %% [markdown] worth="state.chunks"
# The delta rule can be cut into chunks as well. Each write there depends on the writes before it, so a small triangular system is solved in every chunk ([2406.06484](https://arxiv.org/abs/2406.06484)).

# %%
torch.manual_seed(0)
q, k, v, decay = *torch.randn(3, 1, 2, 1024, 16), torch.rand(1, 2, 1024) * 0.2 + 0.8
right = linear_recurrent(q, k, v, decay)[0]
for chunk in (1, 16, 64, 1024):
    with torch.no_grad(), Meter() as meter:
        error = (linear_in_chunks(q, k, v, decay, chunk)[0] - right).abs().max().item()
    print(f"chunks of {chunk:5}: {meter.counts['work']:12,} operations in {1024 // chunk:4} steps, difference {error:.0e}")

# %% [markdown]
# ## 12. Extension: MLA as it is shipped
#
# Unit 08 computed attention on latents and left out the part with positions. DeepSeek-V3's layer has it ([2412.19437](https://arxiv.org/abs/2412.19437), section 2.1.1). A rotation between $q$ and $W^{UK}$ would differ for every pair of positions, so it could not be absorbed. Therefore each head's query has two parts, of which the *plain* part meets the latent, while the *rotary* part meets one small key that is rotated, stored, and shared by all heads. The score is the sum of both products.

# %% [markdown]
# ### Worked example
#
# Suppose that a head has 2 plain numbers, whose product is 5, and 2 rotary ones. Rotary query and shared key are both $(1, 0)$, at positions 3 and 2, so they are one radian apart, their product is $\cos 1 = 0.54$, and the score is $(5 + 0.54)/\sqrt{2 + 2} = 2.77$.

# %%
one = torch.tensor([[1.0, 0.0]])
turned = rotate_pairs(one, torch.tensor([3])) @ rotate_pairs(one, torch.tensor([2])).T
((5 + turned) / math.sqrt(4)).item()

# %% [markdown]
# Queries are made in two steps as well, through a latent of their own, which saves parameters and is not stored, and both latents go through an RMSNorm. All matrices of the heads lie in one, so `kv_up.weight` has $H$ times `nope` + `v_dim` rows. Each head's rows lie together, those of $W^{UK}_h$ first.

# %% [markdown] statement="latent.shipped"
# Write `forward` for the last $T$ of $S$ tokens, causal. Return the output and the pair (latents after their norm, rotated keys) of all $S$ tokens. The next chunk gets it as `past`, and its positions go on. Each head's query has `nope` plain numbers first, then `rope` rotary ones, and `kv_down` gives the latent first, then the shared key. Divide by $\sqrt{\text{nope} + \text{rope}}$, and rotate with the given `rotate_pairs`.
#
# Whether you write keys out or move the query into the latent space is up to you.

# %% exercise="latent.shipped"
class LatentAttention(nn.Module):
    """Attention of DeepSeek-V3 (arXiv:2412.19437)."""

    def __init__(self, d_model, H, q_rank, kv_rank, nope, rope, v_dim):
        super().__init__()
        self.H, self.kv_rank, self.nope, self.rope, self.v_dim = H, kv_rank, nope, rope, v_dim
        self.q_down, self.q_norm = nn.Linear(d_model, q_rank, bias=False), nn.RMSNorm(q_rank, eps=1e-6)
        self.q_up = nn.Linear(q_rank, H * (nope + rope), bias=False)
        self.kv_down, self.kv_norm = nn.Linear(d_model, kv_rank + rope, bias=False), nn.RMSNorm(kv_rank, eps=1e-6)
        self.kv_up = nn.Linear(kv_rank, H * (nope + v_dim), bias=False)
        self.o_proj = nn.Linear(H * v_dim, d_model, bias=False)

    def forward(self, x, past=None):
        """x (B, T, d_model) → (B, T, d_model), and (latents (B, S, kv_rank), keys (B, S, rope))."""
        ### BEGIN SOLUTION
        start, T = 0 if past is None else past[0].shape[1], x.shape[1]
        at = start + torch.arange(T)
        q = self.q_up(self.q_norm(self.q_down(x))).unflatten(-1, (self.H, -1)).transpose(1, 2)
        q, q_rope = q.split([self.nope, self.rope], -1)
        c, k_rope = self.kv_down(x).split([self.kv_rank, self.rope], -1)
        c, k_rope = self.kv_norm(c), rotate_pairs(k_rope, at)
        if past is not None:
            c, k_rope = torch.cat([past[0], c], 1), torch.cat([past[1], k_rope], 1)
        w_uk, w_uv = self.kv_up.weight.unflatten(0, (self.H, -1)).split([self.nope, self.v_dim], 1)
        scores = (q @ w_uk) @ c[:, None].mT + rotate_pairs(q_rope, at) @ k_rope[:, None].mT
        mask = torch.ones(T, start + T).tril(start).bool()
        weights = (scores / math.sqrt(self.nope + self.rope)).masked_fill(~mask, -math.inf).softmax(-1)
        heads = (weights @ c[:, None]) @ w_uv.mT
        return self.o_proj(heads.transpose(1, 2).flatten(2)), (c, k_rope)
        ### END SOLUTION

# %% [markdown] hints="latent.shipped"
# 1. Go through the tensors in order: queries, latent and shared key, past, scores, values. Which of them are rotated, and at which positions?
# 2. `q_up(q_norm(q_down(x)))`, cut into heads, split. `kv_down(x)`, split; norm the one, rotate the other; join with the past. Cut `kv_up.weight` into heads and split it into $W^{UK}$ and $W^{UV}$. Add both products, divide, mask, softmax, mix latents, apply $W^{UV}$, join heads, `o_proj`.
# 3. `w_uk, w_uv = self.kv_up.weight.unflatten(0, (self.H, -1)).split([self.nope, self.v_dim], 1)`; `scores = (q @ w_uk) @ c[:, None].mT + rotate_pairs(q_rope, at) @ k_rope[:, None].mT`.

# %% [markdown] worth="latent.shipped"
# In DeepSeek-V3 a token stores 512 + 64 numbers per layer. DeepSeek-V3.2 attends to latents that its indexer has chosen, so your sections 4, 5 and 12 together are its attention.

# %%
torch.manual_seed(0)
layer, x = LatentAttention(64, 4, 24, 16, 8, 4, 8), torch.randn(1, 20, 64)
whole, (latents, keys) = layer(x)
first, past = layer(x[:, :15])
second, _ = layer(x[:, 15:], past)
print("in chunks:", (torch.cat([first, second], 1) - whole).abs().max().item())
print("numbers per token:", latents.shape[-1] + keys.shape[-1], "against", 4 * (8 + 4) + 4 * 8, "with keys and values")

# %% [markdown]
# ## 13. Extension: blocks instead of keys
#
# Single keys that lie far apart in memory are slow to fetch, whereas neighbors come together. So MoBA ([2502.13189](https://arxiv.org/abs/2502.13189)) and NSA ([2502.11089](https://arxiv.org/abs/2502.11089)) choose whole blocks. In MoBA, a block is represented by the **mean** of its keys, and its score is the query times that mean. No indexer is needed, so nothing has to be trained for it.
#
# A query always reads its own block, up to itself, because that block is not complete yet, while all blocks before it compete.

# %% [markdown]
# ### Worked example
#
# Six keys of one number make three blocks, (1, 3), (−2, 4) and (5, 1), with means 2, 1 and 3. The query at position 4 is 1, and it may read two blocks. One is its own, of which it sees key 4. Of the other two, block 0 wins with 2 against 1. So it reads the keys 0, 1 and 4.

# %% [markdown] statement="index.blocks"
# Return the boolean mask $(B, H, T, T)$ of what each query reads, its own block up to itself and the `n` − 1 earlier blocks with the best scores (all of them, if there are fewer). The last block may be shorter than `block`, and each head chooses for itself.

# %% exercise="index.blocks"
def block_choice(q, k, block, n):
    """q, k (B, H, T, D) → boolean (B, H, T, T) (arXiv:2502.13189)."""
    ### BEGIN SOLUTION
    T = q.shape[-2]
    own, blocks = torch.arange(T) // block, torch.arange(-(-T // block))
    means = torch.stack([part.mean(-2) for part in k.split(block, -2)], -2)
    earlier = blocks < own[:, None]
    hidden = (q @ means.mT).masked_fill(~earlier, -math.inf)
    order = hidden.sort(dim=-1, descending=True, stable=True).indices[..., :n - 1]
    chosen = torch.zeros(hidden.shape, dtype=torch.bool).scatter(-1, order, True) & earlier
    chosen = chosen | (blocks == own[:, None])
    return chosen.repeat_interleave(block, -1)[..., :T] & torch.ones(T, T).tril().bool()
    ### END SOLUTION

# %% [markdown] hints="index.blocks"
# 1. Which blocks compete for a query, and which one is read without competing?
# 2. The means are `part.mean(-2)` for every part of `k.split(block, -2)`. Score them, hide all but earlier blocks, choose `n - 1` as in section 5, and add the own block. Then repeat each column `block` times, cut to $T$, and make it causal.
# 3. `own = torch.arange(T) // block`, `earlier = blocks < own[:, None]`, at the end `chosen.repeat_interleave(block, -1)[..., :T] & torch.ones(T, T).tril().bool()`.

# %% [markdown] worth="index.blocks"
# The means cost $T/b$ products per query, for blocks of $b$ keys, so the choice itself becomes cheap. However, a single important key can vanish in the mean of its block.

# %% [markdown]
# How often does that happen? In each of 200 texts of 64 random keys, key 21 fits the last query, which reads its own block and 16 earlier keys.

# %%
torch.manual_seed(0)
keys, query = torch.randn(200, 1, 64, 16), torch.zeros(200, 1, 64, 16)
keys[:, :, 21, 0] += 3.0
query[..., 0] = 1.0
for block in (1, 2, 4, 8, 16):
    chosen = block_choice(query, keys, block, 16 // block + 1)
    print(f"blocks of {block:2}: key 21 is read in {chosen[:, 0, -1, 21].float().mean():.0%} of the texts")

# %% [markdown]
# ## 14. Extension: backward by recomputing
#
# Training needs gradients, and for these autograd would keep the weights of every block, $T \times S$ numbers after all. FlashAttention keeps $q$, $k$, $v$, the result and the lse instead, and computes each block's weights a second time, $w = e^{x - \text{lse}}$.
#
# With $g$ for the gradient of the result, a value's gradient is $\sum_t w_{ts}\, g_t$. A score's gradient is
#
# $$w_{ts} \left( g_t \cdot v_s - g_t \cdot \text{out}_t \right)$$
#
# The second term is the same for all keys of a query, because it is the weighted mean of the first.

# %% [markdown]
# ### Worked example
#
# One query has the weights 1/4 and 3/4, and the values 0 and 4, so its result is 3. For $g = 1$ the scores' gradients are $\frac14 (0 - 3) = -0.75$ and $\frac34 (4 - 3) = 0.75$. They sum to 0, since shifting all scores changes nothing.

# %% [markdown] statement="tiles.backward"
# Return the gradients of $q$, $k$ and $v$ for attention without a mask, block by block. `out` and `lse` come from the forward pass, and `d_out` is the gradient of `out`. Scores are $q \cdot k / \sqrt D$, which their derivative has to know. Make no tensor of $T \times S$ numbers, because the check looks at the largest.

# %% exercise="tiles.backward"
def attention_backward(q, k, v, out, lse, d_out, block):
    """Shapes as in attention_in_blocks → gradients of q, k, v (arXiv:2307.08691, algorithm 2)."""
    ### BEGIN SOLUTION
    root, dq, dk, dv = math.sqrt(q.shape[-1]), torch.zeros_like(q), [], []
    mean = (d_out * out).sum(-1, keepdim=True)
    for keys, values in zip(k.split(block, -2), v.split(block, -2), strict=True):
        weights = (q @ keys.mT / root - lse[..., None]).exp()
        d_scores = weights * (d_out @ values.mT - mean) / root
        dq = dq + d_scores @ keys
        dk.append(d_scores.mT @ q)
        dv.append(weights.mT @ d_out)
    return dq, torch.cat(dk, -2), torch.cat(dv, -2)
    ### END SOLUTION

# %% [markdown] hints="tiles.backward"
# 1. In the example, which of the numbers need all keys, and which a single one? The former must be known before the loop.
# 2. Before the loop, $g \cdot \text{out}$ for each query. Per block: weights from scores and lse; the scores' gradient by the formula, divided by $\sqrt D$; add its product with the keys to dq; its transpose times $q$ is the block's dk; the weights' transpose times $g$ is its dv.
# 3. `d_scores = weights * (d_out @ values.mT - mean) / root`, `dq = dq + d_scores @ keys`, `dk.append(d_scores.mT @ q)`, `dv.append(weights.mT @ d_out)`.

# %% [markdown] worth="tiles.backward"
# The forward pass has two products per tile, and the backward pass five, since the scores are computed once more. Even so it is faster than reading stored weights back from memory ([2205.14135](https://arxiv.org/abs/2205.14135), section 3.1).

# %%
torch.manual_seed(0)
q, k, v = (torch.randn(1, 2, 40, 8, requires_grad=True) for _ in range(3))
out, lse = attention_in_blocks(q, k, v, 16)
d_out = torch.randn_like(out)
right = torch.autograd.grad(out, (q, k, v), d_out)
with torch.no_grad():
    mine = attention_backward(q, k, v, out, lse, d_out, 16)
print("largest differences:", *(f"{(a - b).abs().max().item():.0e}" for a, b in zip(mine, right, strict=True)))

# %% [markdown]
# ## 15. Your own experiment
#
# What does a language model lose without softmax? The small model of unit 08 reads Jane Austen's novels, character by character, with whatever attention you hand to it. Its loss is in nats per character, and lower is better. A row has only 32 characters, so a state is not short of room here.

# %%
from anatomy.experiments.growing import grow

slow = torch.tensor([0.7, 0.9, 0.97, 1.0])[None, :, None]  # a decay for each head
forms = {"softmax": lambda q, k, v, mask=None: attention_in_blocks(q, k, v, 8, mask)[0],
         "sink": lambda q, k, v, mask=None: sink_attention(q, k, v, torch.zeros(4), mask),
         "added": lambda q, k, v, mask=None: linear_parallel(q, F.normalize(k, dim=-1), v, slow.expand(q.shape[:3]))}
for name, attend in forms.items():
    print(f"{name:8} {grow(seed=0, attend=attend, n_kv_heads=4).loss:.3f} nats per character")

# %% [markdown]
# Nothing here is graded. Try other decays, `steps`, and a longer `context`. Run at least two seeds before you believe a difference, and write down in one sentence what the state costs and what it saves. Where would you keep a full layer?

# %% [markdown] written="question"
# Two colleagues make a model of 32 layers cheaper for texts of 500,000 tokens. One adds an indexer, so that each query attends to the 2,048 best keys. The other replaces three of four layers by a state with the gated delta rule. What happens with each proposal to a user's memory and to the work for a new token, and what does the model do less well?
#
# - what has to stay in memory
# - what is still done for every earlier token
# - what is lost for good, and what is only passed over

# %% [markdown] written="answer" points=3
# With the indexer, all keys and values stay in memory, because any of them may be chosen later, and the indexer's own keys are added. A new token attends to 2,048 keys instead of 500,000, but the indexer still scores all of them, at a small cost each. Weight that is spread over more keys is missed, though a later query may choose what this one passed over. With states, three quarters of the caches are gone, and these layers do the same work at any length, while the last quarter is as large and slow as before. What a state has overwritten or let decay is lost for good, so exact recall depends on the full layers.
#
# ### BEGIN MARK SCHEME
# - 1 point: the indexer saves work in attention, not memory, and still looks at every earlier token.
# - 1 point: states save memory and work in their layers, while the full layers still grow with the text.
# - 1 point: a weakness of each, such as passed-over keys that can still be chosen later, against pairs that are overwritten for good.
# - No point: "the indexer makes the cache smaller", or "a state stores everything".
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("Two parts have lse 2 and lse 5. The merged lse is…",
     {"7": (False, "That would be the logarithm of a product of the sums."),
      "a little more than 5": (True, "ln(e² + e⁵) = 5.05."), "3.5": (False, "A mean of logarithms means nothing here.")})

# %%
quiz("Attention in blocks meets a larger score than all before. What must be rescaled?",
     {"the sum and the mixed values": (True, "Both were measured against the old maximum."),
      "the sum alone": (False, "The values carry the same factors."),
      "the new scores": (False, "They are measured against the new maximum already.")})

# %%
quiz("An indexer chooses 2,048 keys per query. The KV cache holds…",
     {"2,048 tokens": (False, "Another query may choose other keys."), "all tokens": (True, "Any of them may be chosen later."),
      "none": (False, "Attention reads the keys that are chosen.")})

# %%
quiz("A key is written twice with rate 1 by the delta rule, first with value 10, then with 30. It reads…",
     {"40": (False, "Adding would give that."), "30": (True, "What it held is taken out before the write."),
      "20": (False, "That is the difference that is written.")})

# %%
quiz("A head's scores are all 0 for 7 keys, and its sink is 0. How much weight do the keys get together?",
     {"7/8": (True, "The denominator has eight equal terms."), "1": (False, "The sink takes a share."),
      "0": (False, "The sink is only one of eight terms.")})

# %%
progress("14-cheaper-attention")

# %% [markdown]
# ## Where this lives in real models
#
# | what | where |
# |---|---|
# | softmax in one pass | [Milakov and Gimelshein 2018](https://arxiv.org/abs/1805.02867), [FlashAttention](https://arxiv.org/abs/2205.14135) and every large model since |
# | tiles from other machines | [Ring attention](https://arxiv.org/abs/2310.01889) |
# | an indexer | [DeepSeek-V3.2](https://arxiv.org/abs/2512.02556), GLM-5 |
# | blocks chosen by content | [NSA](https://arxiv.org/abs/2502.11089), [MoBA](https://arxiv.org/abs/2502.13189) |
# | states with decay | [RetNet](https://arxiv.org/abs/2307.08621), [Mamba-2](https://arxiv.org/abs/2405.21060) |
# | gated delta rule | [Yang et al. 2024](https://arxiv.org/abs/2412.06464), Qwen3-Next, [Kimi Linear](https://arxiv.org/abs/2510.26692) |
# | sinks | [StreamingLLM](https://arxiv.org/abs/2309.17453), [gpt-oss](https://arxiv.org/abs/2508.10925) |
# | gates | [Qiu et al. 2025](https://arxiv.org/abs/2505.06708), Qwen3-Next |
#
# Attention need not be what it was in unit 01. However, most of a model's weights stand in its FFNs, and most of the time of a single user goes into reading weights, once for each token. Next, **15-experts-and-drafts** asks how a token can do with fewer of them, and how one pass can write more than one token.
