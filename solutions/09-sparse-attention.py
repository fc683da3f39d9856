# %% [markdown]
# # Sparse attention
#
# **You will be able to**
#
# - write windows, and say after how many layers one word can depend on another;
# - count what a pattern saves, and write attention that really does less work;
# - tell a pattern from a kernel, and say why FlashAttention is fast;
# - mix local and full layers for reach and a small cache;
# - in the extensions: blocks, global, random and strided keys.
#
# **Prerequisites:** units 01, 07 and 08. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Mistral 7B has 32 layers. In each of them a word sees 4,096 keys: its own and the 4,095 before it.
#
# A text is 131,041 words long. Can the last word depend on the first?

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
    """x (T, d) through layers with these masks: the mean of each word and of what it reads, itself included."""
    for mask in layers:
        x = (x + attention(x, x, x, mask | torch.eye(len(x), dtype=torch.bool))) / 2
    return x

# %%
use_style()

# %%
predict("sparse.p1", "32 windows of 4,096 keys on top of each other. Can word 131,040 depend on word 0?",
        ["no: it sees 4,096 words and no more", "yes, and on words much farther back too", "yes, but on no earlier one"])

# %% [markdown]
# Keep your guess. In section 2 your own function will answer.

# %% [markdown]
# ## 1. Windows
#
# Full attention scores $n^2$ pairs. Yet in most layers of a trained model of images only few weights were large, in early layers those of near neighbors ([1904.10509](https://arxiv.org/abs/1904.10509), section 4.1). So let each word look at its neighbors only.
#
# All masks here are boolean, $(T, T)$, True = may look. Rows are queries, columns are keys, places count from 0.

# %% [markdown]
# ### Worked example
#
# Everything follows from one table, how far each key lies behind its query:

# %%
place = torch.arange(5)
place[:, None] - place

# %% [markdown]
# A causal window of $w = 2$ keys holds the distances 0 and 1: the own key and one more. A symmetric window of $w = 3$ holds −1, 0 and 1. **$w$ counts keys, the own one included.** So a causal window reaches $w - 1$ back, a symmetric one $(w - 1)/2$ to each side.

# %%
for mask in ((place[:, None] - place >= 0) & (place[:, None] - place < 2), (place[:, None] - place).abs() <= 1):
    print(mask.int(), "\n")

# %% [markdown] statement="sparse.local"
# Write both masks for any $T$ and $w$.
#
# A `ValueError` is raised for $w < 1$, and for a symmetric window with an even $w$: it would have no middle.

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
# Before you port a window, check what is counted: FlashAttention's `window_size=(left, right)` leaves the own key out, so this causal window is `(w - 1, 0)` there.

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
# Are these two the same? Set the *scores* of the others to 0, and ask how much weight falls outside a window of 16, in a text of 512 words.

# %%
torch.manual_seed(0)
mask, scores = local_causal_mask(512, 16), torch.randn(512, 512)
for fill in (0.0, -math.inf):
    weights = scores.masked_fill(~mask, fill).softmax(-1)
    print(f"score {fill:4}: {weights.masked_fill(mask, 0).sum(-1).mean():.0%} of the weight is outside the window")

# %% [markdown] evidence="exact"
# **Verdict: masked, with −∞; a score of 0 is no mask.** It is an ordinary score with weight $e^0$. What is 0 in the end is the *weight*. A better way comes in section 4: never compute that score.

# %% [markdown]
# ## 2. What a stack of windows reaches
#
# In layer 1, word 2 sees word 1. In layer 2, word 3 sees word 2, which by then has read word 1. So word 3 depends on word 1, at which it never looked.
#
# With $w = 3$ each layer reaches 2 words further back. Two layers: the word itself and 4 more, 5 in all.
#
# $$\text{causal: } 1 + L\,(w - 1) \qquad \text{symmetric, radius } r{:}\; 1 + 2Lr$$

# %% [markdown] statement="sparse.receptive_field"
# - `causal_reach`: how many words the last word of a long text depends on, itself included, after `n_layers` causal windows of $w$ keys.
# - `symmetric_reach`: the same in the middle of a text, for windows with $r$ keys to each side.
# - `layers_needed`: the fewest causal layers after which a word depends on one `distance` before it. 0 for itself; a `ValueError` where no depth is enough.

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
        raise ValueError("a window of one key never reaches another word")
    return -(-distance // (w - 1)) if distance else 0
    ### END SOLUTION

# %% [markdown] hints="sparse.receptive_field"
# 1. How many new words does one more layer bring? Draw $w = 3$ and three layers.
# 2. A layer brings $w - 1$ words (causal) or $2r$ (symmetric), and one word is there before any layer. For `layers_needed` divide the distance by $w - 1$ and round up; $w = 1$ is a case of its own.
# 3. `return 1 + n_layers * (w - 1)`; `1 + 2 * …`; `-(-distance // (w - 1))` rounds up, after the check for `w == 1 and distance > 0`.

# %% [markdown] worth="sparse.receptive_field"
# The symmetric formula is that of convolutions. Three layers of width 3 see $1 + 2\cdot 3\cdot 1 = 7$ pixels, and VGG ([1409.1556](https://arxiv.org/abs/1409.1556)) stacks them that way in place of one layer of width 7.

# %%
reveal("sparse.p1",
       lambda: f"{causal_reach(4096, 32):,} words: from word 131,040 back to word 0",
       "Just so: 32 layers of 4,095 words back, and the word itself. One more word in front would be out of reach.",
       answer="yes, but on no earlier one")

# %% [markdown]
# ### Claim on trial
#
# > *"Stacking $L$ windows of $w$ words builds a receptive field of about $L \times w$."*
#
# Gradients show what a word depends on: where no path leads, the derivative is **exactly** 0. `stack`, given at the top, is the smallest network to ask: each layer returns the mean of a word and of what it reads. From how many words does the last one feel anything after ten layers?

# %%
x = torch.randn(100, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
for w in (2, 3, 8):
    felt = sparse.influence(stack, [local_causal_mask(100, w)] * 10, x)
    print(f"w = {w}: measured {int((felt > 0).sum()):3}, 1 + L(w − 1) = {causal_reach(w, 10):3}, L·w = {10 * w}")

# %% [markdown] evidence="exact"
# **Verdict: close for wide windows, wrong for narrow ones.** Two windows in a row share one word. For $w = 2$ the claim is off by almost a factor of 2, for 4,096 by 0.02 %. The Mistral paper's "approximately 131K" is such a rounding ([2310.06825](https://arxiv.org/abs/2310.06825)).
#
# The notes behind the claim take $w/2$ words to *each side*: $w + 1$ keys. That makes $1 + Lw$.

# %% [markdown]
# ### Can, and does
#
# Reach says what is possible. How *much* arrives? Windows of 16 keys in 2, 4 and 8 layers; the size of the last word's gradient, by distance.

# %%
torch.manual_seed(0)
x = torch.randn(160, 16, dtype=torch.float64)
with described("Gradient of the last word by distance, logarithmic, for 2, 4 and 8 layers of windows of 16 keys: it falls "
               "with distance, steeply at the end, and stops exactly at 30, 60 and 120 words back."):
    for n in (2, 4, 8):
        felt = sparse.influence(stack, [local_causal_mask(160, 16)] * n, x).flip(0)
        plt.semilogy(felt.masked_fill(felt == 0, math.nan), label=f"{n} layers: to {int(felt.nonzero().max())} back")
    plt.xlabel("words back"), plt.ylabel("size of the gradient"), plt.legend(fontsize=8)

# %% [markdown]
# The edge is sharp, but long before it the signal has faded by orders of magnitude: few paths lead that far, and each passes through many averages. This stack is untrained. A trained one may carry more, but never across the edge.

# %% [markdown]
# ## 3. What a pattern scores
#
# Count before you build. A causal window gives each query $w$ keys, except the first $w - 1$ queries, which have fewer.
#
# **Worked example:** $T = 4$, $w = 2$: $1 + 2 + 2 + 2 = 7 = 4 \cdot 2 - 1$. Missing from $T \cdot w$ are $1 + 2 + \dots + (w - 1) = w(w - 1)/2$.

# %% [markdown] statement="sparse.pairs"
# Count the True entries of three masks **without** building them: causal window, symmetric window of $w$ (odd), and blocks. In a block mask the text is cut into blocks of `block` words, and every word sees its own block, in both directions.
#
# Ints, also right when the window is longer than the text, and when the last block is shorter. The check counts the entries of the tensors that you make, and grading asks for 100,000 words.

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
# A window begins to save late: a text of $2w$ words still scores 75 % of the causal pairs, one of $10w$ words 19 %.

# %%
T, w = 131_041, 4096
print(f"the puzzle's text, causal: all {T * (T + 1) // 2:,} pairs, window {local_causal_pairs(T, w):,}")
print(f"the window scores {local_causal_pairs(T, w) / (T * (T + 1) // 2):.1%} of them")

# %% [markdown]
# ### Claim on trial
#
# > *"Sparse attention brings the cost from $O(n^2)$ down to about $O(n)$ or $O(n \log n)$."*
#
# Count the pairs at $n$ and at $4n$. Growth by 4 is linear, by 16 quadratic. *Near and far* with a stride $s$: the last $s$ keys, and every $s$-th key back.

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
# **Verdict: it depends on what is held fixed.** A fixed number of keys per query is linear (about 4-fold). Keys at distances 1, 2, 4, 8, … make $n \log n$ ([1907.00235](https://arxiv.org/abs/1907.00235)). A fixed stride of 8 stays quadratic: $n^2/16$ is a small *share*, not a lower order. The stride must grow as $\sqrt n$, which gives $n\sqrt n$ (8-fold).

# %% [markdown]
# ## 4. Doing less
#
# So far nothing was saved. `attention(q, k, v, mask)` computes all $T^2$ scores, and then throws most away. To save, a score must never be computed.
#
# Cut the text into blocks of $w$: a query's window lies in its own block and the one before. So a block of $w$ queries needs $2w$ keys, copied once.

# %% [markdown]
# ### Worked example
#
# Six keys, $w = 2$. An empty block goes in front, the text is cut into blocks, and each block is joined to the one before it:

# %%
padded = F.pad(torch.arange(6), (2, 0), value=-1).unflatten(0, (4, 2))  # four blocks of 2, the first empty
torch.cat([padded[:-1], padded[1:]], dim=1)

# %% [markdown]
# Row $m$ holds the places that queries $mw$ to $mw + w - 1$ may need; −1 is no place. Inside these $2w$ keys the window still holds: not later than the query, less than $w$ back, and not before place 0.

# %% [markdown] statement="sparse.local_attention"
# Attend over causal windows of $w$ keys, for any $T \ge 1$ and $w \ge 1$, at a cost of about $2wT$ scores. The result equals dense attention with `local_causal_mask`, in the dtype of the inputs, and gradients flow.
#
# A loop over slices of the keys is fine; batched blocks are faster. Make no tensor of $T^2$ entries, not even a mask: the check counts operations, and grading asks for 8,192 words. One case has NaN among the values: a masked score that touches them is found out, since $0 \cdot \text{NaN}$ is NaN.

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
# 2. Queries `start:end`, keys `first:end` with `first = max(0, start - w)`. Their places are `torch.arange(start, end)[:, None]` and `torch.arange(first, end)`: the mask comes from the same comparison as in section 1. Attend, collect, join along axis 2.
# 3. `i, j = torch.arange(start, end)[:, None], torch.arange(first, end)`, `mask = (j <= i) & (i - j < w)`, `out.append(attention(q[:, :, start:end], k[:, :, first:end], …, mask))`, at last `torch.cat(out, dim=2)`.

# %% [markdown] worth="sparse.local_attention"
# Of the $2w$ keys that a query scores here, it uses $w$. Smaller blocks waste less, since $b$ queries need only $w + b - 1$ keys, but they make smaller matrices, which hardware likes less.

# %% [markdown]
# ### Experiment: less work, less time?

# %%
predict("sparse.p4", "4,096 words, a window of 128. How much faster than dense attention with a mask is your local_attention?",
        ["less than 2 times", "2 to 4 times", "more than 4 times"])

# %%
rows = sparse.window_times(attention, local_causal_mask, local_attention, [256, 512, 1024, 2048, 4096], 128)
faster = rows[-1]["dense"] / rows[-1]["gathered"]
for r in rows:
    print(f"{r['T']:5} words: dense {r['dense']:7.1f} ms, yours {r['gathered']:6.1f} ms, difference {r['gap']:.0e}")

# %%
reveal("sparse.p4",
       lambda: f"{faster:.1f} times",
       "16 times fewer scores, for some padding and joining.",
       answer=lambda: "less than 2 times" if faster < 2 else "2 to 4 times" if faster <= 4 else "more than 4 times")

# %% [markdown]
# Beside yours, a recording with more and larger heads. *SDPA* is PyTorch's built-in; "blocks" are whole blocks without a mask inside, as in BigBird.

# %%
record = recorded("sparse_attention")
ways = {way: [r for r in record["rows"] if r["way"] == way] for way in dict.fromkeys(r["way"] for r in record["rows"])}
def words_axis(lengths):
    plt.minorticks_off(), plt.xticks(lengths, lengths), plt.xlabel("words"), plt.legend(fontsize=7)

# %%
with described("Left: your milliseconds against length; at {T} words dense takes {dense:.0f}, yours {yours:.0f}. "
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
      [full["T"] for full, window in pairs if min(full["seconds"]) < min(window["seconds"])], "words")

# %% [markdown] evidence="measured: sparse_attention"
# On short texts a good kernel beats a smaller count. In the end the square decides.

# %% [markdown]
# ### Claim on trial
#
# > *"Architecture of the newest models, presumably: decoder-only with efficient attention, such as FlashAttention."*
#
# Efficient in which way? If it left pairs out, as a window does, results would change. PyTorch's built-in is such a kernel. Compare it with dense attention, and a window:

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 96, 16)
full, built_in = attention(q, k, v, torch.ones(96, 96).tril().bool()), F.scaled_dot_product_attention(q, k, v, is_causal=True)
print(f"built-in against dense: {(built_in - full).abs().max():.0e}; "
      f"window of 8 against dense: {(local_attention(q, k, v, 8) - full).abs().max():.1f}")

# %% [markdown]
# No pair is missing. What, then, does the kernel save? Look at attention without any mask, where both ways score all pairs: written as a formula (*dense*), each step reads its input from memory and writes its result there. The kernel reads `q`, `k` and `v` and writes the result.

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
# Same pairs, same arithmetic, but {{sparse_attention.same_pairs.less_moved:.0f}} times fewer bytes to move and {{sparse_attention.same_pairs.less_held:.0f}} times fewer to hold. With a causal mask the kernel skips the blocks above the diagonal: half the pairs, {{sparse_attention.causal.faster:.1f}} times faster again.
#
# On one core of this CPU the bytes alone gain little, a factor of {{sparse_attention.same_pairs.faster:.1f}}: arithmetic, exponentials included, takes most of the time. On a GPU it is the other way round. Take the A100 of unit 08:

# %%
r = ways["dense, no mask"][-1]
flops = 4 * record["setting"]["heads"] * record["setting"]["head_dim"] * r["pairs"]
print(f"{1e3 * flops / 312e12:.2f} ms of arithmetic; {1e3 * r['moved'] / 2 / 2.0e12:.2f} ms to move the bytes in bfloat16")

# %% [markdown] evidence="exact + measured: sparse_attention + cited: 2205.14135"
# **Verdict: FlashAttention is a kernel, not a pattern.** It scores every pair that the mask allows, and gives the same result. It is fast because of memory traffic: scores are used up block by block and never stored. Its authors measured, on an A100, *more* arithmetic (75.2 instead of 66.6 GFLOP), a ninth of the traffic (4.4 instead of 40.3 GB), and 7.3 instead of 41.7 ms ([2205.14135](https://arxiv.org/abs/2205.14135), figure 2).

# %% [markdown]
# Pattern and kernel go together: FlexAttention skips the blocks that a pattern leaves empty ([2412.05496](https://arxiv.org/abs/2412.05496)).

# %% [markdown]
# ## 5. Three local layers, one full
#
# Why choose? Many recent models stack both. Most layers look through a window, which is cheap and needs a small cache. Every fourth or so sees everything, so nothing is ever out of reach.
#
# In one family (Command A) local layers have RoPE: they care for order nearby. The full layers have **no** positions (NoPE): nothing in them has to be stretched to longer texts.

# %% [markdown] statement="sparse.hybrid"
# - `hybrid_layers`: for each layer a pair (window, rotates). Local layers are `(w, True)`; every `every`-th layer, the last of each group, is `(None, False)`. `every` below 1 raises a `ValueError`.
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
# Gemma went further along this road: version 2 has every second layer full and windows of 4,096 ([2408.00118](https://arxiv.org/abs/2408.00118)), version 3 every sixth and windows of 1,024 ([2503.19786](https://arxiv.org/abs/2503.19786)).

# %% [markdown]
# ### See it
#
# Reach and cache of 32 layers with windows of 4,096, in three designs, on a long text:

# %%
T, w = 131_072, 4096
for name, every in (("all local", 1000), ("3 local, 1 full", 4), ("all full", 1)):
    stored = cached_tokens(T, 32, w, every)
    far = f"{causal_reach(w, 32):,}" if every > 32 else f"all {T:,}, from layer {every} on"
    print(f"{name:16} stores {stored:9,} tokens ({stored / (32 * T):4.0%}); the last word reaches {far}")

# %% [markdown]
# The mix costs about a quarter of the cache and one quarter of the long rows of scores. Watch its fourth layer, from **your** plan. (The list also has your windows; the other patterns are the reference's until you write them in the extensions.)

# %%
patterns = {f.__name__: f for f in (local_causal_mask, local_symmetric_mask, hybrid_layers)}
SparseExplorer(patterns, pattern="hybrid: 3 local, 1 full", layers=4)

# %% [markdown]
# ### Does a layer without positions hurt?
#
# Rotate the local layers, leave the full one alone, and shift all positions by 1,000. Only distances count in RoPE, and nothing in NoPE, so the result must stay. Then shuffle all words but the last two:

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
print(f"earlier words shuffled:  {(hybrid(shuffled)[-1] - hybrid(x)[-1]).abs().max():.2f}")
alone = [attention(y, y, y, local_causal_mask(20, 20))[-1] for y in (x, shuffled)]
print(f"the full layer by itself: {(alone[0] - alone[1]).abs().max():.0e}")

# %% [markdown]
# By itself the full layer's last word does not notice an order. In the stack it does: the local layers below have written the order into what it reads.

# %% [markdown]
# ## 6. Extension: blocks
#
# Hardware likes squares. Cut the text into blocks of $b$ words, and let each block see itself, in both directions.

# %% [markdown]
# ### Worked example
#
# Seven words in blocks of 3. The quotient says which block a word is in; the last block is shorter:

# %%
[t // 3 for t in range(7)]

# %% [markdown] statement="sparse.block"
# Write the mask: two words see each other when they are in the same block. `block` is the number of words in a block; less than 1 raises a `ValueError`.

# %% exercise="sparse.block"
def block_mask(T, block):
    """(T, T) boolean: squares on the diagonal."""
    ### BEGIN SOLUTION
    if block < 1:
        raise ValueError(f"a block holds at least one word, got {block}")
    number = torch.arange(T) // block
    return number[:, None] == number
    ### END SOLUTION

# %% [markdown] hints="sparse.block"
# 1. The worked example gives every word a number. When do two words see each other?
# 2. `torch.arange(T) // block` numbers the blocks. Compare the numbers as a column with the numbers as a row.
# 3. `number = torch.arange(T) // block`, `return number[:, None] == …`.

# %% [markdown] worth="sparse.block"
# FlashAttention-2 works in tiles, typically of 64 or 128 rows and columns ([2307.08691](https://arxiv.org/abs/2307.08691)). A tile with one allowed pair costs as much as a full one, so patterns of whole tiles waste least.

# %%
show(block_mask(7, 3))

# %%
predict("sparse.p2", "Words 3 and 4 lie in neighboring blocks of 4. After how many layers of block attention does word 4 depend on word 3?",
        ["2", "4", "never"])

# %% [markdown]
# Section 10 has the tool that answers.

# %% [markdown]
# ## 7. Extension: a window and a few global tokens
#
# Some words matter to all: a question, a `[CLS]` token. Longformer makes them *global*: they see all words, and all words see them. In the mask that is a full row and a full column for each.

# %% [markdown]
# ### Worked example
#
# Four words, word 1 is global. One row of booleans says who is; as a column *or* as a row it opens the cross:

# %%
chosen = torch.tensor([False, True, False, False])
show(chosen[:, None] | chosen)

# %% [markdown] statement="sparse.global_local"
# Join a symmetric window of $w$ keys and the cross of every global token. `tokens` is a list of places, possibly empty. A place outside $0 \dots T - 1$ raises a `ValueError`, negative ones too.

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
# 2. Check all places. Make `chosen` from zeros, set the entries in `tokens` to True. Join your symmetric window with the column and the row by `|`.
# 3. `chosen = torch.zeros(T, dtype=torch.bool)`, `chosen[tokens] = True`, `return local_symmetric_mask(T, w) | chosen[:, None] | …`.

# %% [markdown] worth="sparse.global_local"
# Longformer projects twice: one set of $W_Q$, $W_K$, $W_V$ for the windows, another for global attention, which starts as a copy of the first ([2004.05150](https://arxiv.org/abs/2004.05150), section 3.1).

# %%
show(longformer_mask(10, 3, [0, 6]))

# %% [markdown]
# ## 8. Extension: random keys
#
# BigBird adds random keys: with a few each, a graph of words is connected within few steps, like a network of chance acquaintances. The keys are drawn **once** and stay: a fixed seed, the same for training and use.
#
# How to choose 2 different keys out of many? Draw a number for every pair, take the smallest.

# %% [markdown]
# ### Worked example
#
# A query draws 0.3, 0.1, 0.2 for its keys. `argsort` gives the keys in order of their draws. `argsort` of *that* gives each key's rank:

# %%
order = torch.tensor([0.3, 0.1, 0.2]).argsort()
order, order.argsort()

# %% [markdown]
# Rank 0 is key 1. If key 1 is not allowed, its draw becomes ∞, and key 2 comes first.

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
# The BigBird paper ([2007.14062](https://arxiv.org/abs/2007.14062)) proves that patterns with one global token can approximate every continuous function of sequences, as full attention can. The random keys play no part in the proof.

# %% [markdown]
# ### See it
#
# BigBird's pattern in blocks: a window of three blocks, the first block global, one random block each. The same seed gives the same picture.

# %%
def bigbird(T, block, seed):
    n = T // block
    base = longformer_mask(n, 3, [0])
    draws = torch.rand(n, n, generator=torch.Generator().manual_seed(seed))
    blocks = base | random_mask(draws, 1, ~base)
    return blocks.repeat_interleave(block, 0).repeat_interleave(block, 1)

# %%
with described("BigBird's pattern twice, for seeds 0 and 1: a band of three blocks along the diagonal, the first block "
               "row and column full, and one more block per row at random places that differ between the seeds."):
    for i, seed in enumerate((0, 1)):
        plt.subplot(1, 2, i + 1), plt.imshow(bigbird(48, 4, seed), cmap="Blues", vmax=1.4)
        plt.title(f"seed {seed}"), plt.xlabel("key"), plt.ylabel("query" if i == 0 else ""), plt.grid(False)

# %% [markdown]
# ## 9. Extension: two masks that work together
#
# The Sparse Transformer gives two patterns to two heads, or to two layers in turn. Neither sees much. Together they reach everything.

# %% [markdown]
# ### Worked example
#
# Query 10, stride 4. The near mask: the last 4 keys. The far mask: every 4th key back, from the query itself.

# %%
i, stride = 10, 4
[j for j in range(i + 1) if i - j < stride], [j for j in range(i + 1) if (i - j) % stride == 0]

# %% [markdown] statement="sparse.strided"
# Return both masks as a pair (near, far), both causal. The near one holds `stride` keys, the own one included; the far one holds all keys whose distance is a multiple of `stride`. A stride below 1 raises a `ValueError`.

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
# For an image read row by row, set the stride to its width: the far mask is then the column above each pixel. For text the authors preferred the fixed pattern, which comes next ([1904.10509](https://arxiv.org/abs/1904.10509), section 4.3).

# %% [markdown]
# The *fixed* pattern does not move with the query. Blocks of `stride` words; inside its block a word sees what came before. The last words of each block are *summaries*, seen by all later words. With stride 4 and one summary these are the places 3, 7, 11, …

# %% [markdown] statement="sparse.fixed"
# Return the pair (own block so far, summaries so far). Both are causal. The last `summary` places of **each** block are summaries, those of the own block too. `summary` outside $1 \dots$ `stride` raises a `ValueError`.

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
# 1. The remainder `t % stride` says where in its block a place is: 0 is the first. Which remainders are the last two of four?
# 2. A causal mask is `torch.ones(T, T, dtype=torch.bool).tril()`. AND it with your block mask for the first; AND it with the row of summary places for the second.
# 3. `is_summary = torch.arange(T) % stride >= stride - summary`, `return block_mask(T, stride) & causal, is_summary & …`.

# %% [markdown] worth="sparse.fixed"
# A single summary must carry its whole block. The paper uses 8 to 32 of them for strides of 128 or 256, which makes the far mask 8 to 32 times as large ([1904.10509](https://arxiv.org/abs/1904.10509), section 4.3).

# %%
show(*strided_masks(12, 4))
print()
show(*fixed_masks(12, 4))

# %% [markdown]
# In the last mask the first rows are empty: there is no summary yet. A head of its own would have to return zeros there (unit 01); when both patterns share one head, no row is empty.

# %% [markdown]
# ## 10. Extension: what a stack of any masks reaches
#
# Section 2 counted for windows. A product of masks counts for any pattern, in how many ways one word reaches another: $(M_2 M_1)_{ij} = \sum_k M_2[i,k]\, M_1[k,j]$, one for each stop $k$ in between.

# %% [markdown]
# ### Worked example
#
# A window of 2 over four words. One layer, then the number of ways over two:

# %%
m = local_causal_mask(4, 2).float()
print(m.int(), "\n\n", (m @ m).int())

# %% [markdown]
# Word 3 reaches word 1 in one way. The residual connection keeps each word's own state even where the mask hides it, so the diagonal is always open.

# %% [markdown] statement="sparse.reach"
# `layers` is a list of masks $(T, T)$, the first layer first. Return a boolean $(T, T)$: row $i$, column $j$ is True when output $i$ can depend on input $j$.
#
# Each layer has a residual connection. Boolean tensors cannot be multiplied: convert to float, and back after **every** layer, or the numbers of ways overflow.

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
# 1. Before any layer each word has reached itself. What does one more layer make of `reached`?
# 2. In a layer with mask $M$, output $i$ takes from all $k$ with $M[i, k]$, and each of these has reached what row $k$ says: a product with $M$ on the left. Open the diagonal of $M$ first.
# 3. `reached = (mask | own).float() @ reached.float() > 0` in a loop that starts with `reached = own = torch.eye(…).bool()`.

# %% [markdown] worth="sparse.reach"
# Ways multiply fast: 32 windows of 4,096 keys allow up to $4096^{32} = 2^{384}$ of them, and float32 ends at $2^{128}$.

# %%
reveal("sparse.p2",
       lambda: [bool(reach([block_mask(8, 4)] * n)[4, 3]) for n in (1, 2, 4, 100)],
       "Never. Blocks that do not overlap are separate texts, whatever the depth. A model needs another pattern beside them.",
       answer="never")

# %% [markdown]
# ### Two hops
#
# Do two masks of the Sparse Transformer reach every earlier word? Then the order of the layers:

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
       lambda: f"{reach(list(fixed_masks(T, 8)[::-1])).sum() / causal.sum():.0%} of the earlier words",
       "A summary must first read its block, then be read. Asked too early, it knows nothing but itself.",
       answer="less")

# %% [markdown]
# In a deep stack the two kinds of layers take turns, and one more layer mends the order.
#
# Play with **your** masks: run along the small pictures, choose a query by a click, then add layers. Which pattern fills the triangle first? Which never does?

# %%
more = {f.__name__: f for f in (block_mask, longformer_mask, random_mask, strided_masks, fixed_masks)}
SparseExplorer({**patterns, **more})

# %% [markdown]
# ## 11. Extension: reach, measured
#
# A product of masks says what can be. Gradients show what is: section 2 asked them about the last word, here you ask about every pair, for any masks.
#
# Again in `stack(x, layers)`, where queries, keys and values are x itself.

# %% [markdown]
# ### Worked example
#
# Three words of two numbers, one layer with a window of 2. The Jacobian has four axes: output word, its feature, input word, its feature.

# %%
x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
J = torch.autograd.functional.jacobian(lambda x: stack(x, [local_causal_mask(3, 2)]), x)
print(J.shape, J[2, :, 0].tolist(), J[2, :, 1].tolist())

# %% [markdown]
# Word 2 does not depend on word 0: all four numbers are 0. On word 1 it does.

# %% [markdown] statement="sparse.gradient_reach"
# Return a boolean $(T, T)$: does output word $i$ of `stack(x, layers)` depend on input word $j$? It does when any feature of the one has a non-zero derivative with respect to any feature of the other. The Jacobian is given.
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
# `jacobian` makes one backward pass per output number: 128 for 32 words of 4 features. To ask about one word only, a single pass from a random mix of its features will do.

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
# Section 4's blocks fit a window. For any other pattern, write each query's keys as a list, pick those keys, and score nothing else: $T \cdot n$ scores for lists of $n$.

# %% [markdown]
# ### Worked example
#
# A causal window of 2 over three words. The lists are 0; 0, 1; 1, 2. The first is padded with a key that `valid` hides. Indexing with a table picks a list of keys for every query:

# %%
index, valid = torch.tensor([[0, 0], [0, 1], [1, 2]]), torch.tensor([[True, False], [True, True], [True, True]])
keys = torch.tensor([10.0, 20.0, 30.0])
keys[index]

# %% [markdown] statement="sparse.gather"
# - `neighbor_index`: from a mask $(T, S)$ the lists of allowed keys, rising, as `index` $(T, n)$ int64 and `valid` $(T, n)$ boolean. $n$ is the longest list. Padding comes last, with index 0. Each query has at least one key.
# - `gather_attention`: attention that scores only the listed keys, in the dtype of the inputs, with gradients; the check counts operations. Queries $(B, H, T, D)$, keys $(B, H, S, D)$, values $(B, H, S, D_v)$.

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
# Fewer scores, more copies: for 4,096 words, lists of 128 and $D = 64$, the picked keys of one head fill 134 MB in float32. The keys themselves take 1 MB.

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 96, 16)
for name, mask in (("window", local_causal_mask(96, 8)), ("random", random_mask(torch.rand(96, 96), 8, torch.ones(96, 96).bool())),
                   ("global", longformer_mask(96, 7, [0]))):
    index, valid = neighbor_index(mask)
    gap = (gather_attention(q, k, v, index, valid) - attention(q, k, v, mask)).abs().max()
    print(f"{name:7} lists of {index.shape[1]:2}: {index.numel():5,} scores instead of {96 * 96:,}, difference {gap:.0e}")

# %% [markdown]
# Look at the last line: one query that sees everything makes every list as long as the text. Longformer computes its global tokens apart for that reason.

# %% [markdown] written="question"
# A text has 100,000 words; a question at its end is answered by its first sentence. Model A has 32 layers with causal windows of 4,096 keys. Model B is the same, with every fourth layer full. Can A find the answer, and will it? What does B pay? What would you measure to decide between them?
#
# - what the formula for the reach says, and what it does not say
# - how many layers the way from the first word takes in A, and in B
# - stored tokens of A and B, as numbers
# - what is measured, on which models

# %% [markdown] written="answer" points=3
# A can: it reaches $1 + 32 \cdot 4{,}095 = 131{,}041$ words. Whether it will is another question. The way takes at least 25 layers, and each mixes the word with thousands of others; in the unit the gradient fades by orders of magnitude long before the edge. In B one full layer leads there directly. B stores $8 \cdot 100{,}000 + 24 \cdot 4{,}096 = 898{,}304$ tokens, A 131,072, and 32 full layers would store 3,200,000; B also computes long rows of scores in 8 layers. I would train both alike and measure the share of right answers by distance: the gradient of a fresh stack only shows what is possible.
#
# ### BEGIN MARK SCHEME
# - 1 point: the reach is enough, but it does not say how much arrives over 25 layers or more.
# - 1 point: B's price in numbers: some 900,000 stored tokens, 7 times A's, 28 % of 32 full layers.
# - 1 point: right answers by distance, in models that were trained alike.
# - No point: "A sees only 4,096 words".
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("A causal window of 5 keys. Word 9 looks at…",
     {"words 4 to 9": (False, "That is six keys; the own one counts."), "words 5 to 9": (True, "Its own key and four before it."),
      "words 4 to 8": (False, "A word sees itself.")})

# %%
quiz("Extension, section 6. Ten layers of block attention with blocks of 64. The field of word 100 is…",
     {"words 64 to 127": (True, "Its block. Blocks that do not overlap never mix."),
      "640 words": (False, "Nothing crosses the border of a block."), "all words": (False, "For that another pattern is needed.")})

# %%
quiz("Dense attention with the mask of a window of 128, 4,096 words. Compared with no mask it computes…",
     {"32 times fewer scores": (False, "The mask hides scores that have been computed."),
      "as many scores": (True, "All T². Only gathering or blocks save."), "half of them": (False, "Not even the causal half is saved.")})

# %%
quiz("FlashAttention on a causal text of T words. Which is true?",
     {"it scores about T²/2 pairs": (True, "Blocks above the diagonal are skipped; all other pairs are scored."),
      "it scores about T pairs": (False, "That would be another function, with other results."),
      "it stores T² scores": (False, "It never stores them: that is why it is fast.")})

# %%
quiz("Extension, section 9. Strided attention. To keep its cost at n√n for longer texts, the stride must…",
     {"stay fixed": (False, "Then the far mask holds n²/(2·stride) pairs."), "grow as √n": (True, "Near: n·√n pairs, far: n·n/√n."),
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
# - Strided and fixed: the Sparse Transformer ([1904.10509](https://arxiv.org/abs/1904.10509)). GPT-3 alternates dense and locally banded layers ([2005.14165](https://arxiv.org/abs/2005.14165)), for texts of 2,048 tokens.
# - Global tokens: Longformer ([2004.05150](https://arxiv.org/abs/2004.05150)). Random blocks: BigBird ([2007.14062](https://arxiv.org/abs/2007.14062)).
# - Causal windows in every layer: Mistral 7B ([2310.06825](https://arxiv.org/abs/2310.06825)); in every second: Gemma 2 ([2408.00118](https://arxiv.org/abs/2408.00118)); five of six: Gemma 3 ([2503.19786](https://arxiv.org/abs/2503.19786)).
# - Windows with RoPE, full layers without positions: [2501.18795](https://arxiv.org/abs/2501.18795), Command A ([2504.00698](https://arxiv.org/abs/2504.00698)).
#
# All of attention is there. Next, **10-stability**: why a training run breaks, and what keeps it whole.
