# %% [markdown]
# # Sparse attention
#
# **You will be able to**
#
# - write windows, and say how far they reach through several layers;
# - write attention that does less work, and count what it saves;
# - tell a pattern from a kernel such as FlashAttention;
# - mix local and full layers for reach and a small cache;
# - in the extensions: blocks, global, random and strided keys.
#
# **Prerequisites:** units 01, 07 and 08. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Mistral 7B has 32 layers, and in each of them a token sees 4,096 keys, its own and the 4,095 before it.
#
# A text is 131,041 tokens long. Can the last token depend on the first?

# %% setup=true
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from anatomy import case, check, predict, progress, quiz, reveal
from anatomy.experiments import one_thread, recorded, show_large, sparse, where
from anatomy.plots import described, use_style
from anatomy.widgets import SparseExplorer

def attention(q, k, v, mask):
    """Dense attention with a mask, as in unit 01: every pair is scored, then some are hidden."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(-1) @ v

def stack(x, layers):
    """x (T, d) through layers with these masks: the mean of each token and of what it reads, itself included."""
    for mask in layers:
        x = (x + attention(x, x, x, mask | torch.eye(len(x), dtype=torch.bool))) / 2
    return x

# %%
use_style()

# %%
predict("sparse.p1", "32 windows of 4,096 keys on top of each other. Can token 131,040 depend on token 0?",
        ["no: it sees 4,096 tokens and no more", "yes, and on tokens much farther back too", "yes, but on no earlier one"])

# %% [markdown]
# Keep your guess until section 2, where your own function will answer.

# %% [markdown]
# ## 1. Windows
#
# Full attention scores $n^2$ pairs, so a text of ten times the length costs a hundred times as many. Not all of them seem to be needed: in most layers of a trained model of images only few weights were large, and in early layers they belonged to near neighbors ([1904.10509](https://arxiv.org/abs/1904.10509), section 4.1). That suggests the simplest of all patterns, in which each token looks only at its neighbors.
#
# All masks here are boolean, $(T, T)$, and True means "may look". Rows are queries, columns are keys, and positions count from 0.

# %% [markdown]
# ### Worked example
#
# Everything follows from one table, which says how far each key lies behind its query.

# %%
place = torch.arange(5)
place[:, None] - place

# %% [markdown]
# A causal window of $w = 2$ keys contains the distances 0 and 1, that is, the own key and one more. A symmetric window of $w = 3$ contains −1, 0 and 1. **$w$ counts keys, the own one included**, so a causal window reaches $w - 1$ back, and a symmetric one reaches $(w - 1)/2$ to each side.

# %%
for mask in ((place[:, None] - place >= 0) & (place[:, None] - place < 2), (place[:, None] - place).abs() <= 1):
    print(mask.int(), "\n")

# %% [markdown] statement="sparse.local"
# Write both masks for any $T$ and $w$.
#
# A `ValueError` is raised for $w < 1$, and for a symmetric window with an even $w$, because it would have no middle.

# %% exercise="sparse.local"
def local_causal_mask(T, w):
    """The own key and the w - 1 before it: (T, T) boolean (arXiv:2310.06825)."""
    ### BEGIN SOLUTION
    if w < 1:
        raise ValueError(f"a window holds at least the own key, got w = {w}")
    distance = torch.arange(T)[:, None] - torch.arange(T)
    return (distance >= 0) & (distance < w)
    ### END SOLUTION


def local_symmetric_mask(T, w):
    """w keys around the own one: (T, T) boolean (arXiv:2004.05150)."""
    ### BEGIN SOLUTION
    if w < 1 or w % 2 == 0:
        raise ValueError(f"a symmetric window needs an odd number of keys, got w = {w}")
    return (torch.arange(T)[:, None] - torch.arange(T)).abs() <= (w - 1) // 2
    ### END SOLUTION

# %% [markdown] hints="sparse.local"
# 1. In the worked example, which distances are True for $w = 2$? For $w = 3$ there would be one more. Which?
# 2. Make the table of distances. Causal: at least 0 **and** less than $w$. Symmetric: the absolute value is at most $(w - 1)/2$. Check $w$ first.
# 3. `distance = torch.arange(T)[:, None] - torch.arange(T)`, `return (distance >= 0) & (distance < …)`; and `distance.abs() <= (w - 1) // 2`.

# %% [markdown] worth="sparse.local"
# Before you port a window, check what is counted. FlashAttention's `window_size=(left, right)`, for example, leaves the own key out, so this causal window is `(w - 1, 0)` there.

# %%
def show(*masks):
    for row in zip(*masks, strict=True):
        print("    ".join("".join(" ■" if pair else " ·" for pair in part) for part in row))

# %%
show(local_causal_mask(8, 3), local_symmetric_mask(8, 5))

# %% [markdown]
# ### Claim on trial
#
# > *"A sparsity pattern says which words interact. All other positions are simply set to 0 (or masked)."*
#
# The claim treats the two as the same thing. Suppose the *scores* of the others are set to 0, in a text of 512 tokens with a window of 16. How much weight then falls outside of the window?

# %%
torch.manual_seed(0)
mask, scores = local_causal_mask(512, 16), torch.randn(512, 512)
for fill in (0.0, -math.inf):
    weights = scores.masked_fill(~mask, fill).softmax(-1)
    print(f"score {fill:4}: {weights.masked_fill(mask, 0).sum(-1).mean():.0%} of the weight is outside the window")

# %% [markdown] evidence="exact"
# **Verdict: masked, with −∞, is right, but a score of 0 is no mask.** It is an ordinary score, with weight $e^0$. What is 0 in the end is the *weight*. Section 4 goes one step further and never computes such a score.

# %% [markdown]
# ## 2. What a stack of windows reaches
#
# A window cuts off everything that is far away. Does a model with windows in all layers therefore lose the beginning of a long text? Suppose $w = 2$, and look at three neighbors. In layer 1, token 2 sees token 1. In layer 2, token 3 sees token 2, which by then has read token 1. So token 3 depends on token 1, although it never looked at it.

# %% [markdown]
# In general, each layer reaches $w - 1$ tokens further back. With $w = 3$, for example, a token depends after two layers on itself and 4 more, 5 in all. Seen from one token at the top, the tokens on which it depends form a cone that becomes wider with every layer further down.
#
# $$\text{causal: } 1 + L\,(w - 1) \qquad \text{symmetric, radius } r{:}\; 1 + 2Lr$$

# %%
from anatomy import drawings

drawings.cone(layers=4, window=3)

# %% [markdown] statement="sparse.receptive_field"
# - `causal_reach`: how many tokens the last token of a long text depends on, itself included, after `n_layers` causal windows of $w$ keys.
# - `symmetric_reach`: the same in the middle of a text, for windows with $r$ keys to each side.
# - `layers_needed`: the fewest causal layers after which a token depends on one `distance` before it. It is 0 for the token itself, and a `ValueError` where no depth is enough.

# %% exercise="sparse.receptive_field"
def causal_reach(w, n_layers):
    """Words, as an int."""
    ### BEGIN SOLUTION
    return 1 + n_layers * (w - 1)
    ### END SOLUTION


def symmetric_reach(r, n_layers):
    """Words, as an int."""
    ### BEGIN SOLUTION
    return 1 + 2 * n_layers * r
    ### END SOLUTION


def layers_needed(w, distance):
    """Layers, as an int."""
    ### BEGIN SOLUTION
    if w == 1 and distance > 0:
        raise ValueError("a window of one key never reaches another token")
    return -(-distance // (w - 1)) if distance else 0
    ### END SOLUTION

# %% [markdown] hints="sparse.receptive_field"
# 1. How many new tokens does one more layer bring? Draw $w = 3$ and three layers.
# 2. A layer brings $w - 1$ tokens (causal) or $2r$ (symmetric), and one token is there before any layer. For `layers_needed` divide the distance by $w - 1$ and round up; treat $w = 1$ separately.
# 3. `return 1 + n_layers * (w - 1)`; `1 + 2 * …`; `-(-distance // (w - 1))` rounds up, after the check for `w == 1 and distance > 0`.

# %% [markdown] worth="sparse.receptive_field"
# The symmetric formula is that of convolutions. Three layers of width 3, for example, see $1 + 2\cdot 3\cdot 1 = 7$ pixels, and VGG ([1409.1556](https://arxiv.org/abs/1409.1556)) stacks them that way instead of one layer of width 7.

# %%
reveal("sparse.p1",
       lambda: f"{causal_reach(4096, 32):,} tokens: from token 131,040 back to token 0",
       "It just fits, because 32 layers lead 4,095 tokens back each, and the token itself counts. "
       "One more token in front would be out of reach.",
       answer="yes, but on no earlier one")

# %% [markdown]
# ### Claim on trial
#
# > *"Stacking $L$ windows of $w$ words builds a receptive field of about $L \times w$."*
#
# Gradients show what a token depends on, because the derivative is **exactly** 0 where no path leads. `stack`, given at the top, is the smallest network for this test: each of its layers returns the mean of a token and of what it reads. After ten layers, how many tokens does the last one depend on?

# %%
x = torch.randn(100, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
for w in (2, 3, 8):
    felt = sparse.influence(stack, [local_causal_mask(100, w)] * 10, x)
    print(f"w = {w}: measured {int((felt > 0).sum()):3}, 1 + L(w − 1) = {causal_reach(w, 10):3}, L·w = {10 * w}")

# %% [markdown] evidence="exact"
# **Verdict: the claim is close for wide windows and wrong for narrow ones.** Two windows in a row share one token. So for $w = 2$ the claim is off by almost a factor of 2, for 4,096 by 0.02 %. The Mistral paper's "approximately 131K" is such a rounding ([2310.06825](https://arxiv.org/abs/2310.06825)).
#
# The notes behind the claim take $w/2$ tokens to *each side*, which is $w + 1$ keys and makes $1 + Lw$.

# %% [markdown]
# ### Can, and does
#
# The reach says what is possible, but how *much* arrives? The next cell takes windows of 16 keys in 2, 4 and 8 layers, and shows the size of the last token's gradient by distance.

# %%
torch.manual_seed(0)
x = torch.randn(160, 16, dtype=torch.float64)
with described("Gradient of the last token by distance, logarithmic, for 2, 4 and 8 layers of windows of 16 keys: it falls "
               "with distance, steeply at the end, and stops exactly at 30, 60 and 120 tokens back."):
    for n in (2, 4, 8):
        felt = sparse.influence(stack, [local_causal_mask(160, 16)] * n, x).flip(0)
        plt.semilogy(felt.masked_fill(felt == 0, math.nan), label=f"{n} layers: to {int(felt.nonzero().max())} back")
    plt.xlabel("tokens back"), plt.ylabel("size of the gradient"), plt.legend(fontsize=8)

# %% [markdown]
# The edge is sharp, but long before it the signal has faded by orders of magnitude, because few paths lead that far and each passes through many averages. This stack is untrained; a trained one may carry more, but never across the edge.

# %% [markdown]
# ## 3. What a pattern scores
#
# Before building a pattern one wants to know what it saves, so this section counts pairs. A causal window gives each query $w$ keys, except the first $w - 1$ queries, which have fewer.
#
# For example, $T = 4$ and $w = 2$ give $1 + 2 + 2 + 2 = 7 = 4 \cdot 2 - 1$ pairs. In general, what is missing from $T \cdot w$ is $1 + 2 + \dots + (w - 1) = w(w - 1)/2$.

# %% [markdown] statement="sparse.pairs"
# Count the True entries of three masks **without** building them: causal window, symmetric window of $w$ (odd), and blocks. In a block mask the text is cut into blocks of `block` tokens, and every token sees its own block, in both directions.
#
# The results are ints, and they are also right when the window is longer than the text, and when the last block is shorter. The check counts the entries of the tensors that you make, and grading asks for 100,000 tokens.

# %% exercise="sparse.pairs"
def local_causal_pairs(T, w):
    """True entries of local_causal_mask(T, w)."""
    ### BEGIN SOLUTION
    w = min(w, T)
    return T * w - w * (w - 1) // 2
    ### END SOLUTION


def local_symmetric_pairs(T, w):
    """True entries of local_symmetric_mask(T, w)."""
    ### BEGIN SOLUTION
    r = min(w // 2, T - 1)
    return T * (1 + 2 * r) - r * (r + 1)
    ### END SOLUTION


def block_pairs(T, block):
    """True entries of block_mask(T, block)."""
    ### BEGIN SOLUTION
    full, rest = divmod(T, block)
    return full * block**2 + rest**2
    ### END SOLUTION

# %% [markdown] hints="sparse.pairs"
# 1. Draw $T = 5$, $w = 3$, both kinds. Where are windows cut off, and by how many keys?
# 2. Causal: $Tw - w(w - 1)/2$, with `min(w, T)` for $w$. Symmetric with $r$ keys to a side: the first $r$ queries lack $r, \dots, 1$, the last $r$ lack as many, so $T(1 + 2r) - r(r + 1)$, with `min(r, T - 1)`. Blocks: `divmod(T, block)`.
# 3. `w = min(w, T)`, `return T * w - w * (w - 1) // 2`; `r = min(w // 2, T - 1)`, …; `full, rest = divmod(T, block)`, `return full * block**2 + …`.

# %% [markdown] worth="sparse.pairs"
# A window begins to save late: a text of $2w$ tokens, for example, still scores 75 % of the causal pairs, and one of $10w$ tokens scores 19 %.

# %%
T, w = 131_041, 4096
print(f"the puzzle's text, causal: all {T * (T + 1) // 2:,} pairs, window {local_causal_pairs(T, w):,}")
print(f"the window scores {local_causal_pairs(T, w) / (T * (T + 1) // 2):.1%} of them")

# %% [markdown]
# ### Claim on trial
#
# > *"Sparse attention brings the cost from $O(n^2)$ down to about $O(n)$ or $O(n \log n)$."*
#
# To test it, count the pairs at $n$ and at $4n$. If they grow 4-fold, the cost is linear; if they grow 16-fold, it is quadratic. Among the patterns is *near and far* with a stride $s$, which takes the last $s$ keys and every $s$-th key back.

# %%
def pairs_of(n):
    root, near = math.isqrt(n), lambda s: local_causal_pairs(n, s)
    far = lambda s: sum(i // s + 1 for i in range(n))
    return {"window of 64": near(64), "blocks of 64": block_pairs(n, 64),
            "distances 0, 1, 2, 4, 8, …": sum(1 + i.bit_length() for i in range(n)),
            "near and far, stride √n": near(root) + far(root), "near and far, stride 8": near(8) + far(8),
            "full causal": n * (n + 1) // 2}

# %%
small, large = pairs_of(512), pairs_of(2048)
for name, count in large.items():
    print(f"{name:27} {count / 2048**2:6.2%} of n² at n = 2,048; from n to 4n it grows {count / small[name]:5.1f}-fold")

# %% [markdown] evidence="exact"
# **Verdict: it depends on what is held fixed while the text grows.** A fixed number of keys per query is linear (about 4-fold), and keys at distances 1, 2, 4, 8, … make $n \log n$ ([1907.00235](https://arxiv.org/abs/1907.00235)). A fixed stride of 8, however, stays quadratic: $n^2/16$ is a small *share*, not a lower order. A stride that grows with the text lowers the order, and one that grows as $\sqrt n$ lowers it most, to $n\sqrt n$ (8-fold).

# %% [markdown]
# ## 4. Doing less
#
# So far nothing was saved, because `attention(q, k, v, mask)` computes all $T^2$ scores and then throws most of them away. To save anything, a score must never be computed.
#
# So cut the text into blocks of $w$. A query's window lies in its own block and the one before, so a block of $w$ queries needs $2w$ keys, which are copied once.

# %% [markdown]
# ### Worked example
#
# Take six keys and $w = 2$, for example. An empty block goes in front, the text is cut into blocks, and each block is joined to the one before it.

# %%
padded = F.pad(torch.arange(6), (2, 0), value=-1).unflatten(0, (4, 2))  # four blocks of 2, the first empty
torch.cat([padded[:-1], padded[1:]], dim=1)

# %% [markdown]
# Row $m$ contains the positions that queries $mw$ to $mw + w - 1$ may need, and −1 means that there is none. Not all of these $2w$ keys belong to a query's window, so a mask is still needed: not later than the query, less than $w$ back, and not before position 0.

# %% [markdown] statement="sparse.local_attention"
# Attend over causal windows of $w$ keys, for any $T \ge 1$ and $w \ge 1$, at a cost of about $2wT$ scores. The result equals dense attention with `local_causal_mask`, in the dtype of the inputs, and gradients flow.
#
# A loop over slices of the keys is fine, although batched blocks are faster. Make no tensor of $T^2$ entries, not even a mask: the check counts operations, and grading asks for 8,192 tokens. One case has NaN among the values. A masked score that touches them is found out, since $0 \cdot \text{NaN}$ is NaN.

# %% exercise="sparse.local_attention"
def local_attention(q, k, v, w):
    """q, k (B, H, T, D), v (B, H, T, Dv) → (B, H, T, Dv) (blocks as in arXiv:2004.05150)."""
    ### BEGIN SOLUTION
    T, w = q.shape[2], min(w, q.shape[2])
    n = -(-T // w)
    def blocks(x, front):
        return F.pad(x, (0, 0, front, n * w - T)).unflatten(2, (-1, w))
    k, v = (torch.cat([b[:, :, :-1], b[:, :, 1:]], dim=3) for b in (blocks(k, w), blocks(v, w)))  # (B, H, n, 2w, D)
    i = torch.arange(n * w).view(n, w, 1)
    j = (torch.arange(n)[:, None] - 1) * w + torch.arange(2 * w)  # places of the keys, (n, 2w)
    mask = (j[:, None] <= i) & (i - j[:, None] < w) & (j[:, None] >= 0)
    return attention(blocks(q, 0), k, v, mask).flatten(2, 3)[:, :, :T]
    ### END SOLUTION

# %% [markdown] hints="sparse.local_attention"
# 1. Start with a loop: `for start in range(0, T, w)`. Which queries are in this block? Where does the first key that they need lie?
# 2. Queries `start:end`, keys `first:end` with `first = max(0, start - w)`. Their positions are `torch.arange(start, end)[:, None]` and `torch.arange(first, end)`, and the mask comes from the same comparison as in section 1. Attend, collect, and join along axis 2.
# 3. `i, j = torch.arange(start, end)[:, None], torch.arange(first, end)`, `mask = (j <= i) & (i - j < w)`, `out.append(attention(q[:, :, start:end], k[:, :, first:end], …, mask))`, at last `torch.cat(out, dim=2)`.

# %% [markdown] worth="sparse.local_attention"
# Of the $2w$ keys that a query scores here, it uses $w$. Smaller blocks waste less, since $b$ queries need only $w + b - 1$ keys. However, they make smaller matrices, which hardware likes less.

# %% [markdown]
# ### Experiment: less work, less time?
#
# Your function computes fewer scores, but it also pads, cuts and joins. Guess what is left of the saving before you measure it.

# %%
predict("sparse.p4", "4,096 tokens, a window of 128. How much faster than dense attention with a mask is your local_attention?",
        ["less than 2 times", "2 to 4 times", "more than 4 times"])

# %%
rows = sparse.window_times(attention, local_causal_mask, local_attention, [256, 512, 1024, 2048, 4096], 128)
faster = rows[-1]["dense"] / rows[-1]["gathered"]
for r in rows:
    print(f"{r['T']:5} tokens: dense {r['dense']:7.1f} ms, yours {r['gathered']:6.1f} ms, difference {r['gap']:.0e}")

# %%
reveal("sparse.p4",
       lambda: f"{faster:.1f} times",
       "It computes 16 times fewer scores, but padding and joining take time as well.",
       answer=lambda: "less than 2 times" if faster < 2 else "2 to 4 times" if faster <= 4 else "more than 4 times")

# %% [markdown]
# The figure shows your measurement next to a recording with more and larger heads. In it, *SDPA* is PyTorch's built-in attention, and "blocks" are whole blocks without a mask inside, as in BigBird.

# %%
record = recorded("sparse_attention")
ways = {way: [r for r in record["rows"] if r["way"] == way] for way in dict.fromkeys(r["way"] for r in record["rows"])}
def words_axis(lengths):
    plt.minorticks_off(), plt.xticks(lengths, lengths), plt.xlabel("tokens"), plt.legend(fontsize=7)

# %%
with described("Left: your milliseconds against length; at {T} tokens dense takes {dense:.0f}, yours {yours:.0f}. "
               "Right: recorded milliseconds of each way; those that score all pairs rise with the square, gathered "
               "ones in proportion.", T=rows[-1]["T"], dense=rows[-1]["dense"], yours=rows[-1]["gathered"]):
    plt.figure(figsize=(8, 3.6))
    plt.subplot(1, 2, 1), plt.title("measured here", fontsize=9)
    for name, marker in (("dense", "o"), ("gathered", "s")):
        plt.loglog([r["T"] for r in rows], [r[name] for r in rows], marker=marker, label=name)
    plt.ylabel("ms"), words_axis([r["T"] for r in rows])
    plt.subplot(1, 2, 2), plt.title("recorded: " + where(record), fontsize=8)
    for (name, found), marker in zip(ways.items(), "v^oDsPX"):
        plt.loglog([r["T"] for r in found], [1e3 * min(r["seconds"]) for r in found], marker=marker, label=name)
    words_axis(record["setting"]["lengths"])
show_large("sparse_attention")

# %%
pairs = zip(ways["SDPA, full causal"], ways["window, gathered"])
print(f"recorded on {record['made']['device']}: the built-in kernel, full causal, is faster than the gathered window at",
      [full["T"] for full, window in pairs if min(full["seconds"]) < min(window["seconds"])], "tokens")

# %% [markdown] evidence="measured: sparse_attention"
# **On short texts an efficient dense kernel wins, although it scores more pairs. On long texts the quadratic number of pairs decides.**

# %% [markdown]
# ### Does a fast kernel leave pairs out?
#
# Lists of efficient attention often name FlashAttention next to windows, as if it were efficient in the same way. If it left pairs out, as a window does, its results would change. PyTorch's built-in attention is such a kernel, so the next cell compares both it and a window with dense attention.

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 96, 16)
full, built_in = attention(q, k, v, torch.ones(96, 96).tril().bool()), F.scaled_dot_product_attention(q, k, v, is_causal=True)
print(f"built-in against dense: {(built_in - full).abs().max():.0e}; "
      f"window of 8 against dense: {(local_attention(q, k, v, 8) - full).abs().max():.1f}")

# %% [markdown]
# No pair is missing, so what does the kernel save? To find out, take attention without any mask, where both ways score all pairs. Written as a formula (*dense*), each step reads its input from memory and writes its result there. The kernel, however, reads `q`, `k` and `v` and writes only the result.

# %%
print(f"{'':18} million pairs   MB moved   MB held       ms")
for name in ("dense, no mask", "SDPA, no mask", "SDPA, full causal", "dense, masked"):
    r = ways[name][-1]
    print(f"{name:18} {r['pairs'] / 1e6:13.1f} {r['moved'] / 1e6:10,.0f} {r['bytes'] / 1e6:9,.0f} {1e3 * min(r['seconds']):8.0f}")

# %%
with described("Two plots against length, from the recording. Memory: dense ways far above all, rising with the square; "
               "the built-in kernel lowest, in proportion. Pairs scored: full and masked ways rise with the square, "
               "gathered ones in proportion."):
    plt.figure(figsize=(8, 3.6)).suptitle("recorded: " + where(record), fontsize=9)
    for i, (label, key, unit) in enumerate((("MB held", "bytes", 1e6), ("million pairs scored", "pairs", 1e6))):
        plt.subplot(1, 2, i + 1), plt.title(label, fontsize=9)
        for (name, found), marker in zip(ways.items(), "v^oDsPX"):
            plt.loglog([r["T"] for r in found], [r[key] / unit for r in found], marker=marker, label=name)
        words_axis(record["setting"]["lengths"])

# %% [markdown] evidence="measured: sparse_attention"
# **The kernel does the same arithmetic for the same pairs, but it moves {{sparse_attention.same_pairs.less_moved:.0f}} times fewer bytes and holds {{sparse_attention.same_pairs.less_held:.0f}} times fewer.** With a causal mask it also skips the blocks above the diagonal, which saves half of the pairs and makes it {{sparse_attention.causal.faster:.1f}} times faster again.
#
# On one core of this CPU the bytes alone gain little, a factor of {{sparse_attention.same_pairs.faster:.1f}}, because arithmetic, exponentials included, takes most of the time. On a GPU it is the other way round. Take, for example, the A100 of unit 08.

# %%
r = ways["dense, no mask"][-1]
flops = 4 * record["setting"]["heads"] * record["setting"]["head_dim"] * r["pairs"]
print(f"{1e3 * flops / 312e12:.2f} ms of arithmetic; {1e3 * r['moved'] / 2 / 2.0e12:.2f} ms to move the bytes in bfloat16")

# %% [markdown] evidence="exact + measured: sparse_attention + cited: 2205.14135"
# **FlashAttention is a kernel, not a pattern.** It scores every pair that the mask allows, and gives the same result. It is fast because of memory traffic, since scores are used up block by block and never stored. On an A100 its authors measured *more* arithmetic and still a shorter time ([2205.14135](https://arxiv.org/abs/2205.14135), figure 2).
#
# | | arithmetic | traffic | time |
# |---|---|---|---|
# | standard attention | 66.6 GFLOP | 40.3 GB | 41.7 ms |
# | FlashAttention | 75.2 GFLOP | 4.4 GB | 7.3 ms |

# %% [markdown]
# Patterns and kernels can be combined, however. FlexAttention, for example, skips the blocks that a pattern leaves empty ([2412.05496](https://arxiv.org/abs/2412.05496)).

# %% [markdown]
# ## 5. Three local layers, one full
#
# Windows are cheap, but what comes from a token far away arrives faded. Full attention reaches it at once, but is expensive. Many recent models therefore stack both: most layers look through a window, which is cheap and needs a small cache, while every fourth or so sees everything, so that nothing is ever out of reach.
#
# In one family of models (Command A) the local layers have RoPE, because they care for order nearby. The full layers have **no** positions (NoPE), so nothing in them has to be stretched to longer texts.

# %% [markdown] statement="sparse.hybrid"
# - `hybrid_layers`: for each layer a pair (window, rotates). Local layers are `(w, True)`, and every `every`-th layer, the last of each group, is `(None, False)`. `every` below 1 raises a `ValueError`.
# - `cached_tokens`: how many tokens all layers store together for a text of $T$ tokens, as an int. A local layer keeps at most its last $w$.

# %% exercise="sparse.hybrid"
def hybrid_layers(n_layers, w, every=4):
    """Plan of a stack, a list of (window or None, has RoPE) (arXiv:2501.18795, arXiv:2504.00698)."""
    ### BEGIN SOLUTION
    if every < 1:
        raise ValueError(f"every must be at least 1, got {every}")
    return [(None, False) if (n + 1) % every == 0 else (w, True) for n in range(n_layers)]
    ### END SOLUTION


def cached_tokens(T, n_layers, w, every=4):
    """Tokens in all caches, added up over the layers."""
    ### BEGIN SOLUTION
    return sum(min(T, window or T) for window, _ in hybrid_layers(n_layers, w, every))
    ### END SOLUTION

# %% [markdown] hints="sparse.hybrid"
# 1. Number the layers from 1: which of them are full when `every` is 4?
# 2. With layers counted from 0, layer $n$ is full when $(n + 1) \bmod \text{every} = 0$. Cache: go through the plan; a full layer stores $T$, a local one $\min(T, w)$.
# 3. `return [(None, False) if (n + 1) % every == 0 else (w, True) for n in range(n_layers)]`; `sum(T if window is None else min(T, window) for window, _ in …)`.

# %% [markdown] worth="sparse.hybrid"
# Gemma went further along this road: in version 2 every second layer is full and windows have 4,096 keys ([2408.00118](https://arxiv.org/abs/2408.00118)), whereas in version 3 only every sixth is full and windows have 1,024 ([2503.19786](https://arxiv.org/abs/2503.19786)).

# %% [markdown]
# ### See it
#
# What do reach and cache look like for 32 layers with windows of 4,096, in three designs, on a long text?

# %%
T, w = 131_072, 4096
for name, every in (("all local", 1000), ("3 local, 1 full", 4), ("all full", 1)):
    stored = cached_tokens(T, 32, w, every)
    far = f"{causal_reach(w, 32):,}" if every > 32 else f"all {T:,}, from layer {every} on"
    print(f"{name:16} stores {stored:9,} tokens ({stored / (32 * T):4.0%}); the last token reaches {far}")

# %% [markdown]
# The mix costs about a quarter of the cache and one quarter of the long rows of scores. In the picture, watch its fourth layer, which comes from **your** plan. (The list also has your windows, while the other patterns are the reference's until you write them in the extensions.)

# %%
patterns = {f.__name__: f for f in (local_causal_mask, local_symmetric_mask, hybrid_layers)}
SparseExplorer(patterns, pattern="hybrid: 3 local, 1 full", layers=4)

# %% [markdown]
# ### Does a layer without positions hurt?
#
# Attention without positions cannot see order, so one might expect the full layer to lose it. As a test, rotate the local layers, leave the full one alone, and shift all positions by 1,000. Only distances count in RoPE, and nothing in NoPE, so the result must stay. Then shuffle all tokens but the last two, which should change it.

# %%
def hybrid(x, start=0, w=3):
    """One group: three rotated windows, one full layer without positions; x (T, 2)."""
    for window, rotates in hybrid_layers(4, w):
        turn = torch.polar(torch.ones(len(x)), 0.5 * (start + torch.arange(len(x)).float()) * rotates)
        h = torch.view_as_real(torch.view_as_complex(x.contiguous()) * turn)
        x = x + attention(h, h, x, local_causal_mask(len(x), window or len(x)))
    return x

# %%
torch.manual_seed(0)
x = torch.randn(20, 2)
shuffled = torch.cat([x[:18][torch.randperm(18)], x[18:]])
print(f"positions from 1,000 on: {(hybrid(x, 1000) - hybrid(x)).abs().max():.0e}")
print(f"earlier tokens shuffled: {(hybrid(shuffled)[-1] - hybrid(x)[-1]).abs().max():.2f}")
alone = [attention(y, y, y, local_causal_mask(20, 20))[-1] for y in (x, shuffled)]
print(f"the full layer by itself: {(alone[0] - alone[1]).abs().max():.0e}")

# %% [markdown]
# By itself the full layer's last token does not notice an order. In the stack it does, because the local layers below have written the order into what it reads.

# %% [markdown]
# ## 6. Extension: blocks
#
# A window moves on by one key with each query, whereas hardware likes squares. So cut the text into blocks of $b$ tokens, and let each block see itself, in both directions.

# %% [markdown]
# ### Worked example
#
# Take seven tokens in blocks of 3. The quotient says which block a token is in, and the last block is shorter.

# %%
[t // 3 for t in range(7)]

# %% [markdown] statement="sparse.block"
# Write the mask: two tokens see each other when they are in the same block. `block` is the number of tokens in a block; less than 1 raises a `ValueError`.

# %% exercise="sparse.block"
def block_mask(T, block):
    """(T, T) boolean: squares on the diagonal."""
    ### BEGIN SOLUTION
    if block < 1:
        raise ValueError(f"a block holds at least one token, got {block}")
    number = torch.arange(T) // block
    return number[:, None] == number
    ### END SOLUTION

# %% [markdown] hints="sparse.block"
# 1. The worked example gives every token a number. When do two tokens see each other?
# 2. `torch.arange(T) // block` numbers the blocks. Compare the numbers as a column with the numbers as a row.
# 3. `number = torch.arange(T) // block`, `return number[:, None] == …`.

# %% [markdown] worth="sparse.block"
# FlashAttention-2 works in tiles, typically of 64 or 128 rows and columns ([2307.08691](https://arxiv.org/abs/2307.08691)). A tile with one allowed pair costs as much as a full one, so patterns of whole tiles waste least.

# %%
show(block_mask(7, 3))

# %%
predict("sparse.p2", "Tokens 3 and 4 lie in neighboring blocks of 4. After how many layers of block attention does token 4 depend on token 3?",
        ["2", "4", "never"])

# %% [markdown]
# Keep your guess until section 10, which has the tool that answers.

# %% [markdown]
# ## 7. Extension: a window and a few global tokens
#
# Some tokens matter to all others, for example those of a question, or the `[CLS]` token, whose vector is to represent the whole text. Longformer makes them *global*: they see all tokens, and all tokens see them. In the mask that is a full row and a full column for each.

# %% [markdown]
# ### Worked example
#
# Suppose that of four tokens, token 1 is global. One row of booleans says so, and as a column *or* as a row it opens the cross.

# %%
chosen = torch.tensor([False, True, False, False])
show(chosen[:, None] | chosen)

# %% [markdown] statement="sparse.global_local"
# Join a symmetric window of $w$ keys and the cross of every global token. `tokens` is a list of positions, possibly empty. A position outside $0 \dots T - 1$ raises a `ValueError`, negative ones too.

# %% exercise="sparse.global_local"
def longformer_mask(T, w, tokens):
    """Local and global attention: (T, T) boolean (arXiv:2004.05150)."""
    ### BEGIN SOLUTION
    if any(not 0 <= t < T for t in tokens):
        raise ValueError(f"global tokens must lie in 0 to {T - 1}, got {tokens}")
    chosen = torch.zeros(T, dtype=torch.bool)
    chosen[tokens] = True
    return local_symmetric_mask(T, w) | chosen[:, None] | chosen
    ### END SOLUTION

# %% [markdown] hints="sparse.global_local"
# 1. The worked example is the whole cross for one token. With two global tokens, what changes in `chosen`?
# 2. Check all positions. Make `chosen` from zeros, and set the entries in `tokens` to True. Join your symmetric window with the column and the row by `|`.
# 3. `chosen = torch.zeros(T, dtype=torch.bool)`, `chosen[tokens] = True`, `return local_symmetric_mask(T, w) | chosen[:, None] | …`.

# %% [markdown] worth="sparse.global_local"
# Longformer projects twice, with one set of $W_Q$, $W_K$, $W_V$ for the windows and another for global attention, which starts as a copy of the first ([2004.05150](https://arxiv.org/abs/2004.05150), section 3.1).

# %%
show(longformer_mask(10, 3, [0, 6]))

# %% [markdown]
# ## 8. Extension: random keys
#
# Two tokens that are far apart have no good way yet: through windows it takes many layers, and through global tokens everything must pass the same few. BigBird gives each token a few random keys as well. Any two tokens are then connected within few steps, just as strangers are through a network of chance acquaintances.

# %% [markdown]
# The keys are drawn **once** and stay: a fixed seed gives the same ones in training and in use. How does one choose 2 different keys out of many? Draw a number for every pair of query and key, and take the keys with the smallest numbers.

# %% [markdown]
# ### Worked example
#
# Suppose a query draws 0.3, 0.1, 0.2 for its keys. `argsort` gives the keys in the order of their draws, and `argsort` of *that* gives each key's rank.

# %%
order = torch.tensor([0.3, 0.1, 0.2]).argsort()
order, order.argsort()

# %% [markdown]
# Key 1 has rank 0. If it is not allowed, its draw becomes ∞, so that key 2 comes first.

# %% [markdown] statement="sparse.random"
# Give each query its `keys` allowed keys with the smallest draws. A query with fewer allowed keys gets all of those.
#
# `draws` is $(T, S)$ with different numbers in a row, of any size; `allowed` is $(T, S)$ boolean; `keys` may be larger than $S$. Return a boolean $(T, S)$.

# %% exercise="sparse.random"
def random_mask(draws, keys, allowed):
    """The random part of BigBird's pattern (arXiv:2007.14062)."""
    ### BEGIN SOLUTION
    rank = draws.masked_fill(~allowed, math.inf).argsort(-1).argsort(-1)
    return (rank < keys) & allowed
    ### END SOLUTION

# %% [markdown] hints="sparse.random"
# 1. In the worked example the ranks are 2, 0, 1. Which of them are taken for `keys = 2`?
# 2. Put ∞ where a key is not allowed, apply `argsort(-1)` twice, compare with `keys`. A row with too few allowed keys would now take forbidden ones: AND with `allowed`.
# 3. `rank = draws.masked_fill(~allowed, math.inf).argsort(-1).argsort(-1)`, `return (rank < …) & …`.

# %% [markdown] worth="sparse.random"
# The BigBird paper ([2007.14062](https://arxiv.org/abs/2007.14062)) proves that patterns with one global token can approximate every continuous function of sequences, as full attention can. The random keys, however, play no part in the proof.

# %% [markdown]
# ### See it
#
# BigBird works in blocks, so the picture has a window of three blocks, the first block global, and one random block for each. The same seed gives the same picture.

# %%
def bigbird(T, block, seed):
    n = T // block
    base = longformer_mask(n, 3, [0])
    draws = torch.rand(n, n, generator=torch.Generator().manual_seed(seed))
    blocks = base | random_mask(draws, 1, ~base)
    return blocks.repeat_interleave(block, 0).repeat_interleave(block, 1)

# %%
with described("BigBird's pattern twice, for seeds 0 and 1: a band of three blocks along the diagonal, the first block "
               "row and column full, and one more block per row at random positions that differ between the seeds."):
    for i, seed in enumerate((0, 1)):
        plt.subplot(1, 2, i + 1), plt.imshow(bigbird(48, 4, seed), cmap="Blues", vmax=1.4)
        plt.title(f"seed {seed}"), plt.xlabel("key"), plt.ylabel("query" if i == 0 else ""), plt.grid(False)

# %% [markdown]
# ## 9. Extension: two masks that work together
#
# One mask need not do everything: the Sparse Transformer gives two patterns to two heads, or to two layers in turn. Neither of them sees much, but together they reach everything.

# %% [markdown]
# ### Worked example
#
# For example, take query 10 and stride 4. The near mask has the last 4 keys, and the far mask has every 4th key back, from the query itself.

# %%
i, stride = 10, 4
[j for j in range(i + 1) if i - j < stride], [j for j in range(i + 1) if (i - j) % stride == 0]

# %% [markdown] statement="sparse.strided"
# Return both masks as a pair (near, far), both causal. The near one has `stride` keys, the own one included; the far one has all keys whose distance is a multiple of `stride`. A stride below 1 raises a `ValueError`.

# %% exercise="sparse.strided"
def strided_masks(T, stride):
    """Two (T, T) boolean masks (arXiv:1904.10509)."""
    ### BEGIN SOLUTION
    if stride < 1:
        raise ValueError(f"stride must be at least 1, got {stride}")
    distance = torch.arange(T)[:, None] - torch.arange(T)
    return local_causal_mask(T, stride), (distance >= 0) & (distance % stride == 0)
    ### END SOLUTION

# %% [markdown] hints="sparse.strided"
# 1. The two lists of the worked example are rows 10 of the two masks. Both conditions are about `i - j`.
# 2. The near mask is a function that you have. The far one: distances of at least 0 with remainder 0.
# 3. `return local_causal_mask(T, stride), (distance >= 0) & (distance % stride == …)`.

# %% [markdown] worth="sparse.strided"
# For an image read row by row, set the stride to its width, so that the far mask is the column above each pixel. For text, however, the authors preferred the fixed pattern, which comes next ([1904.10509](https://arxiv.org/abs/1904.10509), section 4.3).

# %% [markdown]
# The *fixed* pattern does not move with the query. The text is cut into blocks of `stride` tokens, and inside its block a token sees what came before. The last tokens of each block are *summaries*, seen by all later tokens. With stride 4 and one summary, for example, these are the positions 3, 7, 11, …

# %% [markdown] statement="sparse.fixed"
# Return the pair (own block so far, summaries so far), both causal. The last `summary` positions of **each** block are summaries, those of the own block too. `summary` outside $1 \dots$ `stride` raises a `ValueError`.

# %% exercise="sparse.fixed"
def fixed_masks(T, stride, summary=1):
    """Two (T, T) boolean masks (arXiv:1904.10509)."""
    ### BEGIN SOLUTION
    if not 1 <= summary <= stride:
        raise ValueError(f"summary must lie in 1 to {stride}, got {summary}")
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    is_summary = torch.arange(T) % stride >= stride - summary
    return block_mask(T, stride) & causal, is_summary & causal
    ### END SOLUTION

# %% [markdown] hints="sparse.fixed"
# 1. The remainder `t % stride` says where in its block a position is: 0 is the first. Which remainders are the last two of four?
# 2. A causal mask is `torch.ones(T, T, dtype=torch.bool).tril()`. AND it with your block mask for the first; AND it with the row of summary positions for the second.
# 3. `is_summary = torch.arange(T) % stride >= stride - summary`, `return block_mask(T, stride) & causal, is_summary & …`.

# %% [markdown] worth="sparse.fixed"
# A single summary must carry its whole block. The paper therefore uses 8 to 32 of them for strides of 128 or 256, which makes the far mask 8 to 32 times as large ([1904.10509](https://arxiv.org/abs/1904.10509), section 4.3).

# %%
show(*strided_masks(12, 4))
print()
show(*fixed_masks(12, 4))

# %% [markdown]
# In the last mask the first rows are empty, because there is no summary yet. A head with this mask alone would have to return zeros there (unit 01), whereas no row is empty when both patterns share one head.

# %% [markdown]
# ## 10. Extension: what a stack of any masks reaches
#
# Section 2 has a formula for windows, but which tokens does a stack of *other* masks reach? A product of masks tells, because it counts in how many ways one token reaches another. In $(M_2 M_1)_{ij} = \sum_k M_2[i,k]\, M_1[k,j]$ there is one way for each stop $k$ in between.

# %% [markdown]
# ### Worked example
#
# Take a window of 2 over four tokens. The next cell shows one layer, and then the number of ways over two.

# %%
m = local_causal_mask(4, 2).float()
print(m.int(), "\n\n", (m @ m).int())

# %% [markdown]
# Token 3 reaches token 1 in one way. The residual connection, which adds a layer's input to its output, keeps each token's own state even where the mask hides it, so the diagonal is always open.

# %% [markdown] statement="sparse.reach"
# `layers` is a list of masks $(T, T)$, the first layer first. Return a boolean $(T, T)$: row $i$, column $j$ is True when output $i$ can depend on input $j$.
#
# Each layer has a residual connection. Since boolean tensors cannot be multiplied, convert to float, and back after **every** layer, or the numbers of ways overflow.

# %% exercise="sparse.reach"
def reach(layers):
    """Which inputs can influence which outputs."""
    ### BEGIN SOLUTION
    own = torch.eye(len(layers[0]), dtype=torch.bool)
    reached = own
    for mask in layers:
        reached = (mask | own).float() @ reached.float() > 0
    return reached
    ### END SOLUTION

# %% [markdown] hints="sparse.reach"
# 1. Before any layer each token has reached itself. What does one more layer make of `reached`?
# 2. In a layer with mask $M$, output $i$ takes from all $k$ with $M[i, k]$, and each of these has reached what row $k$ says. This is a product with $M$ on the left. Open the diagonal of $M$ first.
# 3. `reached = (mask | own).float() @ reached.float() > 0` in a loop that starts with `reached = own = torch.eye(…).bool()`.

# %% [markdown] worth="sparse.reach"
# The number of ways grows fast: 32 windows of 4,096 keys allow up to $4096^{32} = 2^{384}$ of them, while float32 ends at $2^{128}$.

# %%
reveal("sparse.p2",
       lambda: [bool(reach([block_mask(8, 4)] * n)[4, 3]) for n in (1, 2, 4, 100)],
       "Never, because blocks that do not overlap are separate texts, whatever the depth. A model needs another pattern as well.",
       answer="never")

# %% [markdown]
# ### Two hops
#
# Do the two masks of the Sparse Transformer together reach every earlier token? And does the order of the two layers matter?

# %%
predict("sparse.p3", "Fixed pattern: first a layer of own blocks, then one of summaries. Now swap the two layers. What is reached?",
        ["the same", "less"])

# %%
T, causal = 64, torch.ones(64, 64, dtype=torch.bool).tril()
for name, masks in (("strided", strided_masks(T, 8)), ("fixed", fixed_masks(T, 8))):
    shares = [reach(list(layers)).sum() / causal.sum() for layers in (masks[:1], masks[1:], masks, masks[::-1])]
    print(f"{name:8} first {shares[0]:.0%}, second {shares[1]:.0%}, both {shares[2]:.0%}, swapped {shares[3]:.0%}")

# %%
reveal("sparse.p3",
       lambda: f"{reach(list(fixed_masks(T, 8)[::-1])).sum() / causal.sum():.0%} of the earlier tokens",
       "A summary must first read its block and then be read. If it is read too early, it contains nothing but itself.",
       answer="less")

# %% [markdown]
# In a deep stack the two kinds of layers take turns, so one more layer mends the order.
#
# Play with **your** masks: run along the small pictures, choose a query by a click, and then add layers. Which pattern fills the triangle first, and which never does?

# %%
more = {f.__name__: f for f in (block_mask, longformer_mask, random_mask, strided_masks, fixed_masks)}
SparseExplorer({**patterns, **more})

# %% [markdown]
# ## 11. Extension: reach, measured
#
# A product of masks says what can depend on what, while gradients show what does. Section 2 computed them for the last token. Here you compute them for every pair and for any masks, again in `stack(x, layers)`, where queries, keys and values are x itself.

# %% [markdown]
# ### Worked example
#
# Take three tokens of two numbers, and one layer with a window of 2. The Jacobian has four axes: output token, its feature, input token, its feature.

# %%
x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
J = torch.autograd.functional.jacobian(lambda x: stack(x, [local_causal_mask(3, 2)]), x)
print(J.shape, J[2, :, 0].tolist(), J[2, :, 1].tolist())

# %% [markdown]
# Token 2 does not depend on token 0, since all four numbers are 0, but it depends on token 1.

# %% [markdown] statement="sparse.gradient_reach"
# Return a boolean $(T, T)$: does output token $i$ of `stack(x, layers)` depend on input token $j$? It does when any feature of the one has a non-zero derivative with respect to any feature of the other; the Jacobian is given.
#
# Masks are not all that decides: where scores lie far apart, a softmax weight rounds to exactly 0, and with it the derivative. So the answer depends on x, and on its dtype, which you keep.

# %% exercise="sparse.gradient_reach"
def gradient_reach(x, layers):
    """x (T, d), layers a list of (T, T) masks → (T, T) boolean."""
    J = torch.autograd.functional.jacobian(lambda x: stack(x, layers), x)  # (T, d, T, d)
    ### BEGIN SOLUTION
    return J.abs().amax(dim=(1, 3)) > 0
    ### END SOLUTION

# %% [markdown] hints="sparse.gradient_reach"
# 1. Which two of the four axes must go? A derivative may be negative.
# 2. Take absolute values, then the maximum over axes 1 and 3, then compare with 0.
# 3. `return J.abs().amax(dim=(…)) > 0`.

# %% [markdown] worth="sparse.gradient_reach"
# `jacobian` makes one backward pass per output number, for example 128 for 32 tokens of 4 features. For one token only, a single pass from a random mix of its features will do.

# %%
torch.manual_seed(0)
x = torch.randn(32, 4, dtype=torch.float64)
for name, layers in (("3 windows", [local_causal_mask(32, 5)] * 3), ("strided", list(strided_masks(32, 6))),
                     ("fixed", list(fixed_masks(32, 6))), ("global, twice", [longformer_mask(32, 3, [0])] * 2)):
    agree = torch.equal(one_thread(gradient_reach)(x, layers), reach(layers))
    print(f"{name:14} masks and gradients agree: {agree}")

# %% [markdown]
# ## 12. Extension: lists of keys
#
# Section 4's blocks fit a window and no other pattern. What works for all is to write each query's keys as a list, pick those keys, and score nothing else, at a cost of $T \cdot n$ scores for lists of $n$.

# %% [markdown]
# ### Worked example
#
# Take a causal window of 2 over three tokens. The lists are 0; 0, 1; 1, 2. Since the first is shorter, it is padded with a key that `valid` hides. Indexing with a table then picks a list of keys for every query.

# %%
index, valid = torch.tensor([[0, 0], [0, 1], [1, 2]]), torch.tensor([[True, False], [True, True], [True, True]])
keys = torch.tensor([10.0, 20.0, 30.0])
keys[index]

# %% [markdown] statement="sparse.gather"
# - `neighbor_index`: from a mask $(T, S)$ the lists of allowed keys, rising, as `index` $(T, n)$ int64 and `valid` $(T, n)$ boolean. $n$ is the longest list, and padding comes last, with index 0. Each query has at least one key.
# - `gather_attention`: attention that scores only the listed keys, in the dtype of the inputs, with gradients; the check counts operations. The inputs are queries $(B, H, T, D)$, keys $(B, H, S, D)$, values $(B, H, S, D_v)$.

# %% exercise="sparse.gather"
def neighbor_index(mask):
    """mask (T, S) → index (T, n) int64, valid (T, n) boolean."""
    ### BEGIN SOLUTION
    n = int(mask.sum(-1).max())
    index = mask.int().argsort(dim=-1, descending=True, stable=True)[:, :n]
    valid = mask.gather(1, index)
    return index.masked_fill(~valid, 0), valid
    ### END SOLUTION


def gather_attention(q, k, v, index, valid):
    """→ (B, H, T, Dv), at a cost of T·n scores."""
    ### BEGIN SOLUTION
    keys, values = k[:, :, index], v[:, :, index]  # (B, H, T, n, D)
    scores = (q.unsqueeze(3) @ keys.mT).squeeze(3) / math.sqrt(q.shape[-1])  # (B, H, T, n)
    weights = scores.masked_fill(~valid, -math.inf).softmax(-1)
    return (weights.unsqueeze(3) @ values).squeeze(3)
    ### END SOLUTION

# %% [markdown] hints="sparse.gather"
# 1. `neighbor_index` may loop over rows: `row.nonzero().flatten()` is one list. In `gather_attention`, print the shape of `k[:, :, index]`.
# 2. Pad each list with zeros to the longest, and note in `valid` what is real. Attention: pick keys and values, $(B, H, T, n, D)$; one score per listed key, $(B, H, T, n)$, over $\sqrt D$; −∞ where not valid; softmax; weighted sum over $n$.
# 3. `scores = torch.einsum("bhtd,bhtnd->bhtn", q, k[:, :, index]) / math.sqrt(q.shape[-1])`, then `.masked_fill(~valid, -math.inf).softmax(-1)`, then `torch.einsum("bhtn,bhtnd->bhtd", …, v[:, :, index])`.

# %% [markdown] worth="sparse.gather"
# Fewer scores mean more copies: for 4,096 tokens, lists of 128 and $D = 64$, the picked keys of one head fill 134 MB in float32, while the keys themselves take 1 MB.

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 96, 16)
for name, mask in (("window", local_causal_mask(96, 8)), ("random", random_mask(torch.rand(96, 96), 8, torch.ones(96, 96).bool())),
                   ("global", longformer_mask(96, 7, [0]))):
    index, valid = neighbor_index(mask)
    gap = (gather_attention(q, k, v, index, valid) - attention(q, k, v, mask)).abs().max()
    print(f"{name:7} lists of {index.shape[1]:2}: {index.numel():5,} scores instead of {96 * 96:,}, difference {gap:.0e}")

# %% [markdown]
# The last line shows the limit of lists: one query that sees everything makes every list as long as the text. For that reason Longformer computes its global tokens separately.

# %% [markdown]
# ## 13. Your own experiment
#
# Can a language model do with windows, and how wide must they be? The *growing character model*, a two-layer Transformer, learns Jane Austen's novels character by character within a few seconds. Its part `mask` says what each position may see. In rows of 64 characters, windows of 64 keys hide nothing, whereas with windows of 4 the two layers reach 7 characters together. The loss is measured on text that the model never saw, in nats (units of the natural logarithm, lower is better). Guess which of them is better before you run the cell.

# %%
from anatomy.experiments.growing import grow

for w in (4, 64):
    mine = grow(seed=0, context=64, mask=lambda T: local_causal_mask(T, w))
    print(f"windows of {w:2}: {mine.loss:.3f} nats per character")

# %% [markdown]
# Is that what you expected, and what could explain it? What would you change to find out, for example windows of 16, more `steps`, or another pattern? Run at least two seeds for each choice, because a difference that is no larger than the one between two seeds means little. Then write down the answer that you would give. Nothing here is checked or graded.

# %% [markdown] written="question"
# A text has 100,000 tokens, and its first sentence answers a question at its end. Model A has 32 layers with causal windows of 4,096 keys; in model B every fourth layer is full. Can A find the answer, and will it? What does B pay? What would you measure to decide?
#
# - what the formula for the reach says, and what it does not say
# - how many layers the way from the first token takes in A, and in B
# - stored tokens of A and B, as numbers
# - what is measured, on which models

# %% [markdown] written="answer" points=3
# A can: it reaches $1 + 32 \cdot 4{,}095 = 131{,}041$ tokens. Whether it will is another question. The way takes at least 25 layers, and each mixes the token with thousands of others; in the unit the gradient fades by orders of magnitude long before the edge. In B one full layer leads there directly. B stores $8 \cdot 100{,}000 + 24 \cdot 4{,}096 = 898{,}304$ tokens, A 131,072, and 32 full layers would store 3,200,000; B also computes long rows of scores in 8 layers. I would train both alike and measure the share of right answers by distance, because the gradient of a fresh stack only shows what is possible.
#
# ### BEGIN MARK SCHEME
# - 1 point: the reach is enough, but it does not say how much arrives over 25 layers or more.
# - 1 point: B's price in numbers: some 900,000 stored tokens, 7 times A's, 28 % of 32 full layers.
# - 1 point: right answers by distance, in models that were trained alike.
# - No point: "A sees only 4,096 tokens".
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("A causal window of 5 keys. Token 9 looks at…",
     {"tokens 4 to 9": (False, "That is six keys; the own one counts."), "tokens 5 to 9": (True, "Its own key and four before it."),
      "tokens 4 to 8": (False, "A token sees itself.")})

# %%
quiz("Extension, section 6. Ten layers of block attention with blocks of 64. The field of token 100 is…",
     {"tokens 64 to 127": (True, "Its block. Blocks that do not overlap never mix."),
      "640 tokens": (False, "Nothing crosses the border of a block."), "all tokens": (False, "For that another pattern is needed.")})

# %%
quiz("Dense attention with the mask of a window of 128, 4,096 tokens. Compared with no mask it computes…",
     {"32 times fewer scores": (False, "The mask hides scores that have been computed."),
      "as many scores": (True, "All T². Only gathering or blocks save."), "half of them": (False, "Not even the causal half is saved.")})

# %%
quiz("FlashAttention on a causal text of T tokens. Which is true?",
     {"it scores about T²/2 pairs": (True, "Blocks above the diagonal are skipped; all other pairs are scored."),
      "it scores about T pairs": (False, "That would be another function, with other results."),
      "it stores T² scores": (False, "It never stores them: that is why it is fast.")})

# %%
quiz("Extension, section 9. Strided attention. To keep its cost at n√n for longer texts, the stride must…",
     {"stay fixed": (False, "Then the far mask has n²/(2·stride) pairs."), "grow as √n": (True, "Near: n·√n pairs, far: n·n/√n."),
      "grow as n": (False, "Then the near mask is the full triangle.")})

# %%
quiz("24 layers, windows of 1,024, every sixth layer full. A text of 100,000 tokens. Which part of the cache is local?",
     {"about 5 %": (True, "20 · 1,024 against 4 · 100,000 tokens."), "about 83 %": (False, "That is the share of layers, not of tokens."),
      "none": (False, "Local layers store their windows.")})

# %%
progress("09-sparse-attention")

# %% [markdown]
# ## Where this lives in real models
#
# - The Sparse Transformer ([1904.10509](https://arxiv.org/abs/1904.10509)) has strided and fixed patterns. GPT-3 alternates dense and locally banded layers ([2005.14165](https://arxiv.org/abs/2005.14165)).
# - Longformer ([2004.05150](https://arxiv.org/abs/2004.05150)) has global tokens, BigBird ([2007.14062](https://arxiv.org/abs/2007.14062)) random blocks.
# - Every layer of Mistral 7B ([2310.06825](https://arxiv.org/abs/2310.06825)) has a causal window, every second of Gemma 2 ([2408.00118](https://arxiv.org/abs/2408.00118)), and five of six of Gemma 3 ([2503.19786](https://arxiv.org/abs/2503.19786)).
# - Command A ([2504.00698](https://arxiv.org/abs/2504.00698), [2501.18795](https://arxiv.org/abs/2501.18795)) joins windows with RoPE and full layers without positions.
#
# All of attention is built. Next, **10-stability**: why a training run breaks, and what keeps it whole.
