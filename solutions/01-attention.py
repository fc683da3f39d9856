# %% [markdown]
# # Attention
#
# **You will be able to**
#
# - say what a summary of fixed size loses, and how attention gets around it;
# - write softmax, scaled dot-product attention and a multi-head layer that agree with PyTorch's own;
# - say what the division by $\sqrt{D}$ is for, and what attention cannot know about word order;
# - mask padding without a single NaN, and tell the three families of models apart.
#
# **Prerequisites:** unit 00; matrix products, `nn.Module`. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# An attention layer reads *dog bites man* and gives each word one number:
#
# | dog | bites | man |
# |---|---|---|
# | 5.45 | 2.12 | 3.13 |
#
# Now it reads *man bites dog*: the same words, the opposite meaning. Which numbers does it give?

# %% setup=true
import math

import matplotlib.pyplot as plt
import torch
from anatomy import case, check, predict, progress, quiz, reveal
from anatomy.plots import described, use_style
from anatomy.widgets import AttentionExplorer, PermutationExplorer
from torch import nn

use_style()

# %%
predict("attention.p1", "Reading 'man bites dog', the layer gives…",
        ["each word the number it had before", "each place the number it had before (man gets 5.45)",
         "three new numbers"])

# %% [markdown]
# Keep your guess. You will build that layer, and it will answer.

# %% [markdown]
# ## 1. What one vector loses
#
# Early neural translators read a sentence word by word and handed on one vector, their last state, however long the sentence was ([Cho et al. 2014](https://arxiv.org/abs/1409.1259)). Suppose that vector holds 16 numbers. A sentence of 2 words has 8 numbers for each word, a sentence of 16 words has one.
#
# A test of what gets lost: a reader sees $n$ random words (16 different ones exist), then is asked for one of them by its place. Guessing is right once in 16.

# %%
predict("attention.p7", "The reader keeps 16 numbers. After training, how often does it recall one of 8 words?",
        ["nearly always", "about half the time", "about one time in five"])

# %% [markdown]
# Two readers share the same recurrent encoder. One answers from the last state. The other keeps *all* states, one per word, and lets the question choose among them: that choice is attention, and you will build it. Train both:

# %%
from anatomy.experiments import bottleneck, show_large

for way in bottleneck.WAYS:
    print(f"{way:11} recalls {bottleneck.train_recaller(way, length=8)[0]:.0%} of new questions about 8 words")

# %%
rows = [r for r in bottleneck.recorded()["rows"] if r["steps"] == 400]
mean = lambda **at: torch.tensor([r["accuracy"] for r in rows if at.items() <= r.items()]).mean().item()
styles = {("last state", 16): "s--", ("last state", 64): "^-.", ("attention", 16): "o-", ("attention", 64): "v:"}
told = [f"{way}, {size} numbers: " + ", ".join(f"{mean(way=way, size=size, length=n):.2f}" for n in (2, 4, 8, 16))
        for way, size in styles]
with described("Recorded accuracy for sentences of 2, 4, 8 and 16 words, mean and all seeds. {means}.",
               means="; ".join(told)):
    for i, ((way, size), style) in enumerate(styles.items()):
        found = [r for r in rows if (r["way"], r["size"]) == (way, size)]
        plt.plot([r["length"] for r in found], [r["accuracy"] for r in found], ".", color=f"C{i}")
        plt.plot((2, 4, 8, 16), [mean(way=way, size=size, length=n) for n in (2, 4, 8, 16)], style, color=f"C{i}",
                 label=f"{way}, {size} numbers")
    plt.xscale("log", base=2), plt.xticks((2, 4, 8, 16), (2, 4, 8, 16))
    plt.xlabel("words in the sentence"), plt.ylabel("accuracy"), plt.legend(loc=(0.62, 0.45))
show_large("bottleneck")

# %%
reveal("attention.p7",
       lambda: f"{mean(way='last state', size=16, length=8):.0%}",
       "The mean of the recorded runs. Eight words of 16 kinds are 32 bits. Sixteen numbers have room for that, but "
       "training does not find a way to pack them so that any single word can be read back.",
       answer="about one time in five")

# %% [markdown] evidence="recorded: bottleneck, control: size of the state"
# Recorded: from the last state of 16 numbers, mean recall falls from {{bottleneck.last_state.size16.length2.mean:.1%}} at 2 words to {{bottleneck.last_state.size16.length8.mean:.0%}} at 8. Four times the numbers move the limit: {{bottleneck.last_state.size64.length8.mean:.0%}} at 8 words, {{bottleneck.last_state.size64.length16.mean:.0%}} at 16. With attention the lowest of all runs has {{bottleneck.attention.lowest:.2%}}.
#
# Longer training helps the last state too (after half the steps it had {{bottleneck.last_state.fewer.size64.length8.mean:.0%}} instead of {{bottleneck.last_state.size64.length8.mean:.0%}}). So this is what training reached here, not a proven limit. Attention's memory has a price of its own: it grows with the text.

# %% [markdown]
# ## 2. From scores to weights
#
# Unit 00 mixed words with weights that somebody chose. Attention computes its weights from *scores*: any numbers, large or negative. Softmax turns them into positive weights that sum to 1.
#
# Scores 2, 1, 0 have exponentials 7.39, 2.72, 1. Their sum is 11.11, so the weights are 0.67, 0.24, 0.09.

# %%
scores = torch.tensor([2.0, 1.0, 0.0])
e = torch.exp(scores)
e / e.sum()

# %% [markdown]
# $$w_i = \frac{e^{x_i}}{\sum_j e^{x_j}}$$
#
# A score that is larger by 1 gets a weight that is $e = 2.72$ times larger, wherever the two scores lie. Only differences count.

# %%
predict("attention.p2", "Add 1000 to all three scores and run the same two lines. The weights…",
        ["stay the same", "become 1, 0, 0", "are not numbers any more"])

# %%
reveal("attention.p2",
       lambda: (torch.exp(scores + 1000) / torch.exp(scores + 1000).sum()).tolist(),
       "On paper they stay the same. But exp(1002) is larger than float32's largest number, 3.4e38, "
       "so it becomes infinite, and infinity divided by infinity is not a number (NaN).",
       answer="are not numbers any more")

# %% [markdown]
# The fix is also found on paper. Multiply numerator and denominator by $e^{-m}$, for any $m$:
#
# $$\frac{e^{x_i}}{\sum_j e^{x_j}} = \frac{e^{x_i - m}}{\sum_j e^{x_j - m}}$$
#
# With $m = \max_j x_j$ the largest exponent is 0, so nothing overflows.

# %% [markdown] statement="attention.softmax"
# Write softmax along axis `dim`, with the shift. Each slice along `dim` has a maximum of its own.
#
# A score of $-\infty$ gets weight exactly 0 (every slice tested here has at least one finite score).

# %% exercise="attention.softmax"
def softmax(x, dim=-1):
    """Softmax along one axis.

    Args:
        x: float tensor of any shape; entries may be -inf.
        dim: axis whose slices should sum to 1.

    Returns:
        Tensor of the same shape and dtype.
    """
    ### BEGIN SOLUTION
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)
    ### END SOLUTION

# %% [markdown] hints="attention.softmax"
# 1. Which line of the example gives an infinite number when 1000 is added, and what would make its largest input 0?
# 2. Three steps: subtract the maximum along `dim`, take `torch.exp`, divide by the sum along `dim`. The maximum and the sum keep their axis (`keepdim=True`), so that they line up with `x`.
# 3. `e = torch.exp(x - x.amax(dim=dim, keepdim=True))`, then `return e / …`, where the dots are a sum with the same two arguments.

# %% [markdown] worth="attention.softmax"
# With the shift, softmax passes over each row three times: for the maximum, the sum and the division. A running maximum, with the sum rescaled whenever it changes, merges the first two passes ([Milakov and Gimelshein 2018](https://arxiv.org/abs/1805.02867)).

# %% [markdown]
# ### See it
#
# Multiply the same scores by a factor: the wider their spread, the more of the weight the largest one takes.

# %%
line = torch.linspace(-1, 1, 9)
with described("Three curves of softmax weights over nine evenly spaced scores: nearly flat for factor 0.5, "
               "rising for factor 2, and for factor 8 almost all weight on the last score."):
    for factor in (0.5, 2, 8):
        plt.plot(range(9), softmax(factor * line), marker="o", label=f"scores × {factor}")
    plt.xlabel("key"), plt.ylabel("weight"), plt.legend()

# %% [markdown]
# ## 3. Queries, keys, values
#
# Where do scores come from? Each word makes three vectors: a *query* (what it is looking for), a *key* (what it can be found by) and a *value* (what it has to give). The score of a pair is the dot product of one word's query with the other's key.

# %% [markdown]
# ### Worked example
#
# One query of size $D = 4$ meets three keys. The dot products are 4, 2, 0. Divided by $\sqrt 4$ they are 2, 1, 0, whose weights you know: 0.67, 0.24, 0.09. The values are 10, 20, 40, so the result is
#
# $$0.67 \cdot 10 + 0.24 \cdot 20 + 0.09 \cdot 40 = 15.1$$

# %%
q = torch.tensor([[2.0, 0.0, 0.0, 0.0]])
k = torch.tensor([[2.0, 0.0, 5.0, 0.0], [1.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 7.0]])
v = torch.tensor([[10.0], [20.0], [40.0]])
softmax(q @ k.T / math.sqrt(4)) @ v

# %% [markdown]
# For all queries at once:
#
# $$\text{Attention}(Q, K, V) = \text{softmax}\!\left(\frac{QK^\top}{\sqrt{D}}\right)V$$
#
# | tensor | shape |
# |---|---|
# | `q` | $(\dots, T, D)$ |
# | `k` | $(\dots, S, D)$ |
# | scores, weights | $(\dots, T, S)$ |
# | `v` | $(\dots, S, D_v)$ |
# | result | $(\dots, T, D_v)$ |
#
# The dots stand for any leading axes, such as batch and heads. Each *row* of weights sums to 1: a query divides its attention among the keys.

# %% [markdown]
# ### Masks
#
# A **mask** says which keys a query may look at. In this course it is boolean and **True means may look**. A forbidden score becomes $-\infty$ *before* the softmax, so its weight is exactly 0 and the others still sum to 1.

# %%
allowed = torch.tensor([[True, True, False]])
masked = (q @ k.T / math.sqrt(4)).masked_fill(~allowed, -math.inf)
masked, softmax(masked)

# %% [markdown]
# And a query that may look at nothing? It happens: batches contain empty sentences, and unit 07 will combine masks until some rows are empty.

# %%
torch.softmax(torch.full((1, 3), -math.inf), dim=-1)

# %% [markdown]
# All scores are $-\infty$, and softmax divides 0 by 0. One such NaN reaches the loss, and from there every weight of the model.
#
# A mean over nothing has no right value, so we *define* one: zeros. That has to hold in the backward pass too.

# %% [markdown] statement="attention.masked_softmax"
# Write softmax over the last axis, among the keys where `mask` is True. Forbidden keys get exactly 0. A row without any allowed key gets zeros, and no gradient is NaN.
#
# Any softmax may be used here, yours included.

# %% exercise="attention.masked_softmax"
def masked_softmax(scores, mask):
    """Softmax over allowed keys.

    Args:
        scores: (..., T, S) float tensor.
        mask: boolean tensor that broadcasts to it, True = may look.

    Returns:
        (..., T, S) weights, same dtype; rows without an allowed key are zeros.
    """
    ### BEGIN SOLUTION
    weights = softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
    empty = ~mask.any(dim=-1, keepdim=True)  # (..., T or 1, 1)
    return weights.masked_fill(empty, 0.0)
    ### END SOLUTION

# %% [markdown] hints="attention.masked_softmax"
# 1. The mask alone tells which rows are empty. What do you put there, after the softmax has made NaN of them?
# 2. Fill forbidden scores with `-math.inf`, take the softmax, then fill rows where `mask.any(dim=-1, keepdim=True)` is False with 0. Filling, unlike adding or multiplying, also stops NaN on the way back.
# 3. `weights = softmax(scores.masked_fill(~mask, -math.inf))`, `empty = ~mask.any(…)`, `return weights.masked_fill(empty, …)`.

# %% [markdown] worth="attention.masked_softmax"
# Until 2024, PyTorch's `scaled_dot_product_attention` could give NaN for a query without any allowed key. A change of that year made it give zeros, as your function does ([pull request 133882](https://github.com/pytorch/pytorch/pull/133882)).

# %% [markdown]
# ### Attention in one function
#
# Everything is there now: scores, masked weights, weighted sum.

# %% [markdown] statement="attention.scaled_dot_product"
# Write attention as in the formula, for any leading axes, with an optional boolean mask that broadcasts to the scores' shape $(\dots, T, S)$.
#
# Without a mask, use your `softmax`; with one, your `masked_softmax`, so that a query that may look at nothing gets zeros.

# %% exercise="attention.scaled_dot_product"
def scaled_dot_product_attention(q, k, v, mask=None):
    """Attention (arXiv:1706.03762, equation 1).

    Args:
        q: (..., T, D) float tensor of queries.
        k: (..., S, D) keys.
        v: (..., S, Dv) values.
        mask: boolean, broadcasts to (..., T, S); True = this query may look at this key. None: all may.

    Returns:
        (..., T, Dv) tensor, same dtype; zeros where a query may look at nothing.
    """
    ### BEGIN SOLUTION
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., T, S)
    weights = softmax(scores) if mask is None else masked_softmax(scores, mask)
    return weights @ v
    ### END SOLUTION

# %% [markdown] hints="attention.scaled_dot_product"
# 1. The worked example is almost the function. What is fixed there (the 4, the transpose of two axes) that must follow the inputs here?
# 2. `k.transpose(-2, -1)` swaps the last two axes whatever stands before them. Divide by `math.sqrt(q.shape[-1])`. The weights come from `softmax(scores)` without a mask and from `masked_softmax(scores, mask)` with one. Multiply them by `v`.
# 3. `scores = q @ k.transpose(-2, -1) / math.sqrt(…)`; `weights = softmax(scores) if mask is None else masked_softmax(…)`; `return weights @ …`.

# %% [markdown] worth="attention.scaled_dot_product"
# Your version stores all $T \cdot S$ weights: with 32 heads and 8,192 words in float16, 4 GiB per layer and sentence. FlashAttention computes the same result tile by tile and never stores them ([Dao et al. 2022](https://arxiv.org/abs/2205.14135)).

# %% [markdown]
# ### See it
#
# The layer of the puzzle gives every word two numbers and has three small matrices. With the identity as values, attention returns its own weights.

# %%
words = {"dog": [2.0, 0.0], "bites": [0.0, 2.0], "man": [1.0, 1.0]}
W_Q = torch.eye(2)
W_K = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
W_V = torch.tensor([[1.0], [3.0]])

def read(sentence, values=None):
    x = torch.tensor([words[w] for w in sentence.split()])
    return scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V if values is None else values)

# %%
with described("Weights of the sentence dog bites man as a 3 by 3 picture, one row per looking word."):
    plt.figure(figsize=(3.4, 3))
    plt.imshow(read("dog bites man", torch.eye(3)), cmap="Blues", vmin=0, vmax=1)
    plt.xticks(range(3), words), plt.yticks(range(3), words), plt.grid(False)
    plt.xlabel("looked at (key)"), plt.ylabel("looking (query)"), plt.colorbar(label="weight")

# %% [markdown]
# Now real heads, computed by **your** function. A small model, which you will build in unit 12, was trained on Jane Austen's novels; these are its 16 heads, in sentences it never saw. It reads from left to right, so the mask is *causal*: no word looks ahead.

# %% [markdown]
# Point at a word, a cell or a small map. Look for a head that looks at the word before, one at itself, one at the first word. Drag the grip on a bar: one score moves, all weights follow. Then switch the scaling off, or the mask. (`<pad>` is filler; section 8 hides it.)

# %%
AttentionExplorer(scaled_dot_product_attention)

# %% [markdown]
# PyTorch does all this in one call. Does your function agree with it, also where the third query may look at nothing?

# %%
torch.manual_seed(0)
q, k, v = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 6, 8), torch.randn(2, 3, 6, 5)
mask = torch.ones(4, 6).bool()
mask[2] = False
for m in (None, mask):
    theirs = nn.functional.scaled_dot_product_attention(q, k, v, m)
    print((scaled_dot_product_attention(q, k, v, m) - theirs).abs().max())

# %% [markdown]
# ### Extension: claim on trial, minus infinity as −1e9
#
# > *"[…] the scores are filled with minus infinity (−1e9), so that the weight of masked places after the softmax is 0."*
#
# The claim takes the two for the same. Try an ordinary row, an empty row, and half precision:

# %%
row, some, none = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[True, True, False]]), torch.zeros(1, 3).bool()
for mask in (some, none):
    print([[round(w, 3) for w in t[0].tolist()] for t in (softmax(row.masked_fill(~mask, -1e9)),
                                                          masked_softmax(row, mask))])

# %%
try:
    row.half().masked_fill(~some, -1e9)
except RuntimeError as error:
    print(error)

# %% [markdown] evidence="exact"
# **Verdict: true for float32 rows with an allowed key, and only there.** There exp(−1e9) underflows to exactly 0.
#
# In an empty row all scores are the same −1e9, so the forbidden keys get equal weights: a wrong number without a warning. And float16 ends at 65504, so it cannot hold −1e9 at all. Use $-\infty$, and say what an empty row gives.

# %% [markdown]
# ## 4. Why divide by √D?
#
# Take queries and keys whose entries are independent, with mean 0 and variance 1. One product $q_i k_i$ has variance $1 \cdot 1 = 1$. A dot product adds up $D$ of them.

# %%
predict("attention.p3", "Heads often have D = 64. How far from 0 does a typical score q·k lie (standard deviation)?",
        ["1", "8", "64"])

# %%
torch.manual_seed(0)

# %%
reveal("attention.p3",
       lambda: f"{(torch.randn(1000, 64) @ torch.randn(64, 1000)).std():.2f}",
       "Variances of independent terms add up: 64 terms of variance 1 have variance 64, and √64 = 8.",
       answer="8")

# %% [markdown]
# In symbols, and with what the division does to it:
#
# $$\operatorname{Var}(q \cdot k) = D, \qquad \operatorname{Var}\!\left(\frac{q \cdot k}{\sqrt D}\right) = \frac{D}{(\sqrt D)^2} = 1$$
#
# This is the reason that the paper gives in a footnote ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762)). It assumes variance 1. Do fresh layers have it? That depends on their initialization:

# %%
torch.manual_seed(0)
fresh = {"nn.Linear": lambda w: w, "Xavier": nn.init.xavier_uniform_,
         "N(0, 0.02²)": lambda w: nn.init.normal_(w, std=0.02)}
x = torch.randn(200, 768)
print("initialization   variance of q   std of q·k, D = 64   divided by √D")
for name, init in fresh.items():
    q_proj, k_proj = nn.Linear(768, 768), nn.Linear(768, 768)
    init(q_proj.weight.data), init(k_proj.weight.data)
    q, k = q_proj(x), k_proj(x)
    std = (q[:, :64] @ k[:, :64].T).std()
    print(f"{name:15}{q.var():14.2f}{std:21.1f}{std / 8:16.2f}")

# %% [markdown] evidence="recorded: root_d, control: learning rate"
# Xavier's rule gives a square matrix variance 1, and scores 8 wide. PyTorch's default and the normal weights of [BERT's code](https://github.com/google-research/bert/blob/master/modeling.py) and GPT-2 (standard deviation 0.02, here at $d_{model} = 768$) give about a third of that variance, so the scores are less than 3 wide before any division. The growth with $\sqrt D$ is the same in all three.
#
# Does it hurt to leave the division out? In a small recorded training it did, in {{root_d.not_divided.worse}} of {{root_d.not_divided.of}} pairs of runs, though not for the footnote's reason alone; the second extension below shows them.

# %% [markdown]
# ### Extension: variance against D
#
# Do not take $\operatorname{Var}(q \cdot k) = D$ from the page: measure it.

# %% [markdown] statement="attention.logit_variance"
# Score every query against every key. Return two numbers: the variance of the raw scores $q \cdot k$, and the variance of the scores divided by $\sqrt D$.
#
# Variance here is the mean squared distance from the mean, over all $N \cdot M$ scores (divide by the count, not by the count minus 1). The first line is given.

# %% exercise="attention.logit_variance"
def logit_variance(q, k):
    """Variance of attention scores before and after scaling.

    Args:
        q: (N, D) float tensor. k: (M, D) float tensor.

    Returns:
        Two floats: (variance of q·k, variance of q·k/√D).
    """
    raw = q @ k.T  # (N, M): all pairs
    ### BEGIN SOLUTION
    scaled = raw / math.sqrt(q.shape[-1])
    return raw.var(unbiased=False).item(), scaled.var(unbiased=False).item()
    ### END SOLUTION

# %% [markdown] hints="attention.logit_variance"
# 1. Scores 2 and 6: their mean is 4, the squared distances are 4 and 4, so the variance is 4. What is it after dividing both scores by 2?
# 2. `raw.var(unbiased=False)` divides by the count. Do the same with `raw / math.sqrt(q.shape[-1])`.
# 3. `scaled = raw / math.sqrt(q.shape[-1])`, then return `raw.var(unbiased=False).item()` and the same of `scaled`.

# %% [markdown] worth="attention.logit_variance"
# Dividing by √D is right while queries and keys are unrelated. Once training aligns them, a score can grow like $D$ itself, which is why µP divides by $D$ ([Yang et al. 2022](https://arxiv.org/abs/2203.03466)).

# %%
torch.manual_seed(0)
sizes = [4, 16, 64, 256, 1024]
measured = [logit_variance(torch.randn(300, D), torch.randn(300, D)) for D in sizes]
for D, (before, after) in zip(sizes, measured):
    print(f"D = {D:4}   variance {before:8.2f}   after division by √D {after:5.2f}")

# %%
with described("On two logarithmic axes the variance of raw scores follows the line D from 4 to 1024, "
               "and the variance of scaled scores stays near 1."):
    plt.loglog(sizes, [b for b, _ in measured], "o-", label="q·k")
    plt.loglog(sizes, [a for _, a in measured], "s--", label="q·k/√D")
    plt.loglog(sizes, sizes, "-", color="gray", lw=5, zorder=1, label="D")
    plt.xlabel("D"), plt.ylabel("variance of the scores"), plt.legend()

# %% [markdown]
# ### Extension: does leaving it out hurt?
#
# The footnote's argument: the slope of a weight by its own score is $w(1-w)$. It is 0.25 at $w = 0.5$ and almost 0 where one key takes everything. Here 16 random keys share one query's attention, with queries and keys of variance 1:

# %%
def sharpness(D, scale):
    weights = softmax(torch.randn(400, D) @ torch.randn(D, 16) * scale)
    return weights.amax(-1).mean().item(), (weights * (1 - weights)).sum(-1).mean().item()

torch.manual_seed(0)
raw = [sharpness(D, 1.0) for D in sizes]
scaled = [sharpness(D, D**-0.5) for D in sizes]

# %%
with described("Two panels against D. Without scaling the largest of 16 weights rises from 0.4 to almost 1 "
               "and the summed slope falls toward 0; with scaling both stay flat."):
    figure, panels = plt.subplots(1, 2, figsize=(8.5, 3))
    for i, label in enumerate(["largest of 16 weights", "summed slope Σ w(1−w)"]):
        panels[i].semilogx(sizes, [r[i] for r in raw], "o-", label="q·k")
        panels[i].semilogx(sizes, [s[i] for s in scaled], "s--", label="q·k/√D")
        panels[i].set(xlabel="D", ylabel=label, ylim=(0, 1.05))
    panels[0].legend()

# %% [markdown]
# At $D = 1024$ one key takes nearly all the weight by chance, and hardly any slope is left to change that. So scores that start too wide should learn badly.
#
# A test: one head looks up a value by its key among 8 pairs. Train it with the division, without it, and without it but with fresh $W_Q$, $W_K$ scaled down so that the scores *start* as narrow as with the division.

# %%
from anatomy.experiments import root_d

print("  D  way            fresh std   accuracy after 300 steps")
for D in (16, 256):
    for way in root_d.WAYS:
        run = root_d.train_lookup(D, way, rate=1e-2)
        print(f"{D:3}  {way:12}{run['spread']:11.1f}{run['accuracy']:15.0%}")

# %%
data, ways = root_d.recorded()["rows"], list(root_d.WAYS)
ends = lambda D, rate, way: [r["accuracy"] for r in data if (r["head_dim"], r["rate"], r["way"]) == (D, rate, way)]
rates, dims = (sorted({r[k] for r in data}) for k in ("rate", "head_dim"))
average = lambda runs: sum(runs) / len(runs)
told = "; ".join(f"rate {rate:g}, {way}: " + ", ".join(f"{average(ends(D, rate, way)):.2f}" for D in dims)
                 for rate in rates for way in ways)
with described("Recorded accuracy, five seeds each, for D = {dims}. Means at {told}.", dims=dims, told=told):
    figure, panels = plt.subplots(1, 3, figsize=(9.5, 3), sharey=True)
    for panel, rate in zip(panels, rates):
        for i, way in enumerate(ways):
            for D in dims:
                panel.plot([dims.index(D) + 0.1 * (i - 1)] * 5, ends(D, rate, way), "os^"[i], color=f"C{i}", ms=4,
                           label=way if D == dims[0] else None)
        panel.set(xticks=range(3), xticklabels=dims, xlabel="head dim D", title=f"learning rate {rate:g}")
    panels[0].set(ylabel="accuracy"), panels[0].legend()
show_large("root_d")

# %% [markdown] evidence="recorded: root_d, control: learning rate"
# Recorded, without the division, the loss ends higher in {{root_d.not_divided.worse}} of {{root_d.not_divided.of}} pairs of runs (same seed, same batches). In {{root_d.not_divided.clear:word}} of {{root_d.not_divided.settings:word}} settings the mean difference exceeds two standard errors; {{root_d.comparisons}} comparisons were made in all, of which about one gets there by chance.
#
# How much it hurts depends on the learning rate. At 0.001 the worst run without it still answers {{root_d.not_divided.lowest_at_rate0:.1%}}, although scores of $D = 256$ start {{root_d.not_divided.d256.spread:.1f}} wide. At 0.01 and $D = 256$ it answers {{root_d.not_divided.d256.rate2.accuracy:.1%}} on average, with a narrow start {{root_d.small_start.d256.rate2.accuracy:.1%}}, with the division {{root_d.divided.d256.rate2.accuracy:.1%}}.

# %% [markdown] evidence="recorded: root_d, control: start + argued"
# **Verdict on this task: the division helps, and not mainly for the reason given.** At a small learning rate, wide fresh scores cost little. At a large one, a narrow start does not replace the division: it ends behind it in {{root_d.small_start.fast.worse}} of {{root_d.small_start.fast.of}} pairs.
#
# What fits the runs is the step: one step of Adam moves all $D$ products of a score together, and the division shrinks that move by $\sqrt D$. This is one small head; unit 10 takes up scores that grow in large models. T5 has no division: [its code](https://github.com/huggingface/transformers/blob/main/src/transformers/models/t5/modeling_t5.py) starts with smaller query weights.

# %% [markdown]
# ## 5. What attention does not know
#
# Back to the puzzle. Your function reads both sentences:

# %%
reveal("attention.p1",
       lambda: "; ".join(
    ", ".join(f"{w} {n:.2f}" for w, n in zip(s.split(), read(s).flatten().tolist()))
    for s in ("dog bites man", "man bites dog")),
    "Every word keeps its number. Nothing in the formula says where a word stands.",
    answer="each word the number it had before")

# %% [markdown]
# Is that so for any input? Take seven random words in ten random orders. If attention only moves the rows along with the words, `out[p]` (the old outputs, reordered) equals attention on `x[p]` (the reordered words).

# %%
torch.manual_seed(0)
x, W, places = torch.randn(7, 8), torch.randn(3, 8, 8) / math.sqrt(8), torch.randn(7, 8)

def run(x, mask=None):
    return scaled_dot_product_attention(*(x @ w for w in W), mask)

def gap(mask=None, place=0.0):
    orders = [torch.randperm(7) for _ in range(10)]
    return max((run(x + place, mask)[p] - run(x[p] + place, mask)).abs().max() for p in orders)

print(f"no mask               {gap():.1e}")
print(f"causal mask           {gap(torch.ones(7, 7).tril().bool()):.1e}")
print(f"a vector per place    {gap(place=places):.1e}")

# %% [markdown]
# Without a mask the gap is rounding. This property is called **permutation equivariance**: reorder the input, and the output is reordered in the same way.
#
# Two things break it: a mask that depends on place (causal: each word sees itself and those before it), and a vector added for each place. The second is what units 05 and 06 are about.

# %% [markdown]
# ### Claim on trial
#
# > *"The word vectors of the two sentences are the same set. […] Without a mask, attention is completely symmetric, $f(x, y) = f(y, x)$, so the attention computed for the two sentences is exactly the same."*
#
# Take the puzzle's layer, dog (0) and man (2). Is the score of dog looking at man that of man looking at dog?

# %%
three = torch.tensor(list(words.values()))
S = (three @ W_Q) @ (three @ W_K).T
tied = (three @ W_K) @ (three @ W_K).T
for name, s in (("W_Q and W_K", S), ("W_K twice", tied), ("softmax of that", softmax(tied))):
    print(f"{name:16} dog → man {s[0, 2]:.3f}   man → dog {s[2, 0]:.3f}")

# %% [markdown] evidence="exact"
# **Verdict: right conclusion, wrong reason.** $QK^\top$ is not symmetric: with $W_Q \neq W_K$ a word can look without being looked at. Even with one matrix for both, the softmax treats each row by itself.
#
# What holds is equivariance. The outputs of the two sentences are the same rows in another order, so whatever adds them up or picks "dog" sees no difference.

# %% [markdown]
# ### Extension: predict the shuffle
#
# To describe a new order, give a list `perm`: place $i$ now holds the word that stood at place `perm[i]`. Indexing does just that.

# %%
x = ["dog", "bites", "man"]
perm = [2, 0, 1]
[x[p] for p in perm]

# %% [markdown]
# The score of a pair depends on the two words alone. So if place $i$ holds old word `perm[i]` and place $j$ holds old word `perm[j]`, their new score is the old score of these two:
#
# $$S'_{ij} = S_{p_i\, p_j}$$
#
# Rows and columns of the score matrix are shuffled, and no score changes.

# %% [markdown] statement="attention.permutation"
# Self-attention read a sentence of $T$ words; you have its scores $(T, T)$ and its outputs $(T, D)$. The words are then put in the order `perm` (place $i$ holds old word `perm[i]`).
#
# Return the new scores and the new outputs **without computing attention again**.

# %% exercise="attention.permutation"
def after_permutation(scores, out, perm):
    """What attention gives for x[perm], from what it gave for x.

    Args:
        scores: (T, T) float tensor, rows are queries, columns are keys.
        out: (T, D) float tensor of outputs.
        perm: (T,) int64 tensor, each of 0 … T-1 once.

    Returns:
        Two new tensors (scores, out) of the same shapes.
    """
    ### BEGIN SOLUTION
    return scores[perm][:, perm], out[perm]
    ### END SOLUTION

# %% [markdown] hints="attention.permutation"
# 1. Write the three words and the 3×3 table of the first case on paper, and move one word. Which row moves? Which column?
# 2. `scores[perm]` reorders rows. Columns need an index after a colon. Outputs have one axis that belongs to words.
# 3. `return scores[perm][:, …], out[…]`, and both dots are the same name.

# %% [markdown] worth="attention.permutation"
# Shuffle only the keys and values, together, and no output changes at all: a sum has no order. It is the order of the queries, and nothing else, that the outputs follow.

# %% [markdown]
# Is your shuffle what attention does? Compare it with attention run again, then drag the words of the widget into other orders and add positions.

# %%
x, p = torch.randn(7, 8), torch.randperm(7)
q, k = x @ W[0], x @ W[1]
scores, outputs = after_permutation(q @ k.T, run(x), p)
print(f"scores  {(scores - q[p] @ k[p].T).abs().max():.1e}   outputs {(outputs - run(x[p])).abs().max():.1e}")

# %%
PermutationExplorer(scaled_dot_product_attention)

# %% [markdown]
# ## 6. Several heads
#
# One query makes one set of weights. A verb may want its subject *and* its object, without mixing them. So the $d_{model}$ numbers of a word are dealt out to $H$ heads of $D = d_{model}/H$ numbers, and each head attends by itself.

# %% [markdown]
# ### Worked example
#
# Two words of four numbers, two heads. Head 0 takes the first two numbers of *every* word, head 1 the last two.

# %%
x = torch.arange(8.0).reshape(1, 2, 4)
x[..., :2], x[..., 2:]

# %% [markdown]
# Attention wants one tensor $(B, H, T, D)$. Reading memory in order, the last axis of 4 splits into (2 heads, 2 numbers); then the head axis moves forward:
#
# $$(B, T, d_{model}) \to (B, T, H, D) \to (B, H, T, D)$$

# %%
predict("attention.p4", "What does x.reshape(1, 2, 2, 2), without moving any axis, put into head 0?",
        ["0, 1 and 4, 5: half of each word", "0, 1, 2, 3: the whole first word", "0, 2 and 4, 6: every other number"])

# %%
reveal("attention.p4",
       lambda: x.reshape(1, 2, 2, 2)[0, 0].tolist(),
       "The first four numbers in memory are word 0. The shape is right and the contents are wrong, "
       "which is why this mistake runs without an error.",
       answer="0, 1, 2, 3: the whole first word")

# %% [markdown] statement="attention.split_heads"
# Write both directions. Head $h$ owns the numbers $hD$ to $(h+1)D - 1$ of every word. `merge_heads` undoes `split_heads`.
#
# `split_heads` raises a `ValueError` when `n_heads` does not divide $d_{model}$.

# %% exercise="attention.split_heads"
def split_heads(x, n_heads):
    """(B, T, d_model) → (B, H, T, D). ValueError when n_heads does not divide d_model."""
    ### BEGIN SOLUTION
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError(f"{n_heads} heads cannot share d_model {d_model}")
    return x.reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2)
    ### END SOLUTION


def merge_heads(x):
    """(B, H, T, D) → (B, T, H·D)."""
    ### BEGIN SOLUTION
    B, H, T, D = x.shape
    return x.transpose(1, 2).reshape(B, T, H * D)
    ### END SOLUTION

# %% [markdown] hints="attention.split_heads"
# 1. A reshape keeps the numbers in the order in which they are read, row by row; it only cuts axes or joins neighbors. Which two axes must be neighbors before you join them?
# 2. Split: check, reshape to `(B, T, H, D)`, swap axes 1 and 2. Merge: the same steps backwards, so swap first, then reshape.
# 3. `x.reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2)` and `x.transpose(…).reshape(B, T, …)`.

# %% [markdown] worth="attention.split_heads"
# $H \cdot D$ may exceed $d_{model}$, since the matrices that make queries, keys and values are free to widen. T5-11B has words of 1,024 numbers and 128 heads of 128, 16,384 in all ([Raffel et al. 2019](https://arxiv.org/abs/1910.10683)).

# %% [markdown]
# ### See it
#
# All heads at once must equal a loop over heads.

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 2, 5, 12)
together = merge_heads(scaled_dot_product_attention(*(split_heads(t, 3) for t in (q, k, v))))
cuts = [slice(4 * h, 4 * h + 4) for h in range(3)]
loop = torch.cat([scaled_dot_product_attention(q[..., c], k[..., c], v[..., c]) for c in cuts], dim=-1)
(together - loop).abs().max()

# %% [markdown]
# The same numbers as a picture, from the bottom up: 2 sentences of 5 words, 12 numbers each, 3 heads. Cutting a row moves nothing. In the next step the bands come apart: the head axis stands in front of the words.

# %%
from anatomy import drawings

drawings.split_and_merge(d_model=12, n_heads=3, batch=2, length=5)

# %% [markdown]
# ## 7. The layer
#
# After the merge, the numbers of head 0 and head 1 lie side by side and have never met. The output matrix $W_O$ mixes them:
#
# $$\text{MHA}(X) = \text{concat}(\text{head}_1, \dots, \text{head}_H)\, W_O$$
#
# Four linear maps in all, each $d_{model} \to d_{model}$: `q_proj`, `k_proj`, `v_proj`, `o_proj`.

# %% [markdown]
# In **cross-attention** the queries come from one sequence $x$ of length $T$, keys and values from another, the *context*, of length $S$. A translator's decoder reads the source sentence this way. The result has one row per query: $(B, T, d_{model})$.

# %% [markdown] statement="attention.multi_head"
# Write the module with four `nn.Linear` layers named as above, each with a bias if `bias` is True. Weights are loaded by these names. The result has the dtype of `x`.
#
# `context=None` means self-attention. Pass `mask` to your attention function as it is: a sentence without words then gives `o_proj`'s bias in every row, and no NaN. The constructor raises a `ValueError` when `n_heads` does not divide `d_model`.

# %% exercise="attention.multi_head"
class MultiHeadAttention(nn.Module):
    """Multi-head attention (arXiv:1706.03762, section 3.2.2)."""

    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        self.n_heads = n_heads
        ### BEGIN SOLUTION
        if d_model % n_heads:
            raise ValueError(f"{n_heads} heads cannot share d_model {d_model}")
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        ### END SOLUTION

    def forward(self, x, context=None, mask=None):
        """x (B, T, d_model), context (B, S, d_model) or None, mask: broadcasts to (B, H, T, S) → (B, T, d_model)."""
        ### BEGIN SOLUTION
        context = x if context is None else context
        q = split_heads(self.q_proj(x), self.n_heads)
        k = split_heads(self.k_proj(context), self.n_heads)
        v = split_heads(self.v_proj(context), self.n_heads)
        return self.o_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask)))
        ### END SOLUTION

# %% [markdown] hints="attention.multi_head"
# 1. Everything is written already: two helpers and one attention function. Who asks the questions in cross-attention, and who answers?
# 2. Project x to queries and the context to keys and values; split all three; attend; merge; project with `o_proj`. Without a context, the context is x.
# 3. `q = split_heads(self.q_proj(x), self.n_heads)`, likewise k and v from `context`; `return self.o_proj(merge_heads(scaled_dot_product_attention(…)))`.

# %% [markdown] worth="attention.multi_head"
# The bias of `k_proj` has no effect: it adds the same number to every score of a query, and softmax ignores that. [Whisper](https://github.com/openai/whisper/blob/main/whisper/model.py) leaves this one bias out.

# %% [markdown]
# ### See it
#
# PyTorch stacks three of the four matrices into one. With the same numbers, both layers must agree.

# %%
torch.manual_seed(0)
mine, theirs = MultiHeadAttention(12, 3), nn.MultiheadAttention(12, 3, batch_first=True)
three = [mine.q_proj, mine.k_proj, mine.v_proj]
theirs.load_state_dict({"in_proj_weight": torch.cat([p.weight for p in three]),
                        "in_proj_bias": torch.cat([p.bias for p in three]),
                        "out_proj.weight": mine.o_proj.weight, "out_proj.bias": mine.o_proj.bias})
x = torch.randn(2, 5, 12)
(mine(x) - theirs(x, x, x)[0]).abs().max().item()

# %% [markdown]
# ### Extension: who came first?
#
# A task that is nothing but word order: eight words, two of them special. Did special word A come before special word B? Your layer learns it three times: with no positions, with a learned vector per place, and with no positions but a causal mask.

# %%
predict("attention.p5", "Without positions and without a mask, the accuracy after 300 steps is about…",
        ["50 %", "75 %", "100 %"])

# %%
from anatomy.experiments.word_order import SETTINGS, recorded, train_reader

curves = {name: train_reader(MultiHeadAttention, **setting) for name, setting in SETTINGS.items()}

# %%
ends = {name: [seed[-1][1] for seed in runs] for name, runs in recorded()["curves"].items()}
told = "; ".join(f"{name} {min(v):.2f} to {max(v):.2f}" for name, v in ends.items())
with described("Accuracy against steps: your run with 8 words, recorded runs with 32. Recorded ends: {told}.",
               told=told):
    figure, panels = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
    for i, (name, curve) in enumerate(curves.items()):
        panels[0].plot(*zip(*curve), label=name, color=f"C{i}")
        for seed in recorded()["curves"][name]:
            panels[1].plot(*zip(*seed), color=f"C{i}", ls=("-", "--", "-.")[i], lw=1)
    panels[0].set(xlabel="training step", ylabel="accuracy", title="yours: 8 words"), panels[0].legend()
    panels[1].set(xlabel="training step", title="recorded: 32 words, 5 seeds each")
show_large("word_order")

# %%
reveal("attention.p5",
       lambda: f"{curves['no positions'][-1][1]:.1%}",
       "Exchange A and B: the outputs are the same rows in another order, their mean is the same, and so is "
       "the answer, which should be the opposite. No amount of training helps.",
       answer="50 %")

# %% [markdown] evidence="recorded: word_order, control: learning rate"
# Recorded with 32 words, and with 8 words at three learning rates: a vector per place found the order in {{word_order.vector_per_place.found}} of {{word_order.vector_per_place.of}} runs (accuracy {{word_order.learned:.0%}} or more), a causal mask in {{word_order.causal_mask.found}} of {{word_order.causal_mask.of}}. Without either, all {{word_order.no_positions.of}} runs ended between {{word_order.no_positions.lowest_of_all:.1%}} and {{word_order.no_positions.highest_of_all:.1%}}.
#
# So a causal mask alone can do it: a word's output depends on what came before. Language models can be trained that way ([Haviv et al. 2022](https://arxiv.org/abs/2203.16634); [Kazemnejad et al. 2023](https://arxiv.org/abs/2305.19466) call it NoPE), and unit 09 comes back to it.

# %% [markdown]
# ## 8. Padding
#
# Sentences of a batch have different lengths. Short ones are filled up on the right with padding, which must not be seen. Lengths 1 and 3, padded to 4, as a mask:

# %%
lengths = torch.tensor([1, 3])
place = torch.arange(4)
[[bool(p < n) for p in place] for n in lengths]

# %% [markdown]
# Scores have shape $(B, H, T, S)$. What this mask hides depends on the sentence and the key, not on head or query. Axes of size 1 say so, and broadcasting does the rest: $(B, 1, 1, S)$.

# %% [markdown] statement="attention.padding_mask"
# Return the boolean mask for sentences of the given lengths, padded on the right to $S$ words: True at places $0$ to $\text{length} - 1$. Shape $(B, 1, 1, S)$.
#
# A length of 0 is allowed. A length larger than $S$ raises a `ValueError`.

# %% exercise="attention.padding_mask"
def padding_mask(lengths, S):
    """Mask that hides right padding from every query.

    Args:
        lengths: (B,) int64 tensor. S: int, padded length.

    Returns:
        (B, 1, 1, S) boolean tensor, True = real word.
    """
    ### BEGIN SOLUTION
    if (lengths > S).any():
        raise ValueError(f"a length in {lengths.tolist()} is larger than {S}")
    return (torch.arange(S) < lengths[:, None])[:, None, None, :]
    ### END SOLUTION

# %% [markdown] hints="attention.padding_mask"
# 1. Compare each place with each length: that is a table of $B$ rows and $S$ columns. Which shapes make one comparison give a table?
# 2. `torch.arange(S)` has shape `(S,)` and `lengths[:, None]` has shape `(B, 1)`. Compare them with `<`, then insert two axes. Check `(lengths > S).any()` first.
# 3. `return (torch.arange(S) < lengths[:, None])[:, None, …, :]`.

# %% [markdown] worth="attention.padding_mask"
# Pretraining of large language models needs hardly any padding. GPT-3's short documents were packed into full windows of 2,048 tokens, with a separator token between them and no mask ([Brown et al. 2020](https://arxiv.org/abs/2005.14165), appendix B).

# %% [markdown]
# ### See it
#
# Lengths 2 and 3. Put garbage into the padding: outputs of real words must not move.

# %%
torch.manual_seed(0)
layer, x, mask = MultiHeadAttention(12, 3), torch.randn(2, 4, 12), padding_mask(torch.tensor([2, 3]), 4)
garbage = x.clone()
garbage[0, 2:], garbage[1, 3:] = 1000.0, -1000.0
(layer(x, mask=mask) - layer(garbage, mask=mask)).abs().amax(-1).detach()

# %% [markdown]
# Rows are sentences, columns are words. Only the padding's own outputs move, and nobody reads those.
#
# Now an empty sentence in the batch. With your `masked_softmax` inside, the layer gives its rows `o_proj`'s bias; the gradients are finite as well.

# %%
out = layer(x, mask=padding_mask(torch.tensor([0, 4]), 4))
out.sum().backward()
print("NaN in the output:   ", out.isnan().any().item())
print("empty rows = the bias:", torch.allclose(out[0], layer.o_proj.bias))
print("NaN in a gradient:   ", any(p.grad.isnan().any().item() for p in layer.parameters()))

# %% [markdown]
# ## 9. Three families
#
# From this one layer, three kinds of models are built:
#
# - **Encoder-only** (BERT): each layer has one attention block, and every word sees every word.
# - **Decoder-only** (GPT): one block per layer, word $t$ sees words $0$ to $t$.
# - **Encoder–decoder** (original Transformer, T5): an encoder reads the $S$ input words, a decoder writes $T$ output words. Each decoder layer has *two* blocks: causal self-attention, and cross-attention to the encoder's output.

# %% [markdown]
# ### Claim on trial
#
# > *"BERT is made for language understanding: its input is usually text, its output usually a label. Yet BERT is in essence a seq2seq model (an encoder–decoder architecture that works through time steps, for input and output sequences of any length: RNN, LSTM, GRU)."*
#
# The published configurations can tell: has BERT-base a decoder, or cross-attention? And does its first word already see the last one, which no step-by-step model can?

# %%
from anatomy.experiments.named_models import recorded as named_models

print(f"{'':11}published   encoders  decoders  cross-attention  first word sees last")
for name in ("bert-base", "t5-small"):
    m = named_models()[name]
    sees = m["sees_future"] if not m["decoder_stacks"] else f"{m['encoder_sees_future']}, decoder {m['sees_future']}"
    print(f"{name:11}{m['published'] / 1e6:7.0f} M{m['encoder_stacks']:9}{m['decoder_stacks']:10}"
          f"{m['cross_attention_modules']:12} blocks     {sees}")

# %% [markdown]
# And in kind, on your own layer: feed four words, then the same four and a fifth. Do the first four outputs stay?

# %%
torch.manual_seed(0)
x = torch.randn(1, 5, 12)
encoder, rnn = MultiHeadAttention(12, 3), nn.RNN(12, 12, batch_first=True)
for name, f in [("RNN", lambda x: rnn(x)[0]), ("encoder", encoder)]:
    moved = (f(x)[:, :4] - f(x[:, :4])).abs().max().item()
    print(f"{name:8} first four outputs move by {moved:.2f}; 5 words in, {f(x).shape[1]} rows out")
print(f"cross-attention: 5 words in, {encoder(torch.randn(1, 3, 12), context=x).shape[1]} rows out")

# %% [markdown] evidence="models: bert-base, t5-small"
# **Verdict: no.** BERT-base is one stack of encoder layers: no decoder, no cross-attention. It takes no time steps, since its first word sees the last, and it gives one row per input word. A label is read off one of these rows.
#
# Another number of rows needs a second stack that asks for them through cross-attention. T5-small has one, with a cross-attention block in each of its decoder layers; the original Transformer does too.

# %% [markdown]
# ## 10. Extension: what it costs
#
# Multiplying an $(a, b)$ by a $(b, c)$ matrix takes $a \cdot b \cdot c$ multiplications and as many additions: $2abc$ FLOPs.
#
# BERT-base has $d_{model} = 768$. Its attention block holds four 768 × 768 matrices and four biases: $4 \cdot (768^2 + 768) = 2{,}362{,}368$ parameters.

# %% [markdown]
# One block, $T$ queries, $S$ keys, $d = d_{model}$:
#
# | product | rows × inner × columns | FLOPs |
# |---|---|---|
# | $W_Q$, $W_O$ | $BT \times d \times d$, twice | $4BTd^2$ |
# | $W_K$, $W_V$ | $BS \times d \times d$, twice | $4BSd^2$ |
# | scores, all heads | $H$ times $T \times D \times S$, per sentence | $2BTSd$ |
# | weighted sum | $H$ times $T \times S \times D$, per sentence | $2BTSd$ |

# %%
predict("attention.p6", "BERT-base reads 512 words. Which share of the block's FLOPs do the two T×T products take?",
        ["about 25 %", "about 50 %", "about 90 %"])

# %% [markdown] statement="attention.cost"
# Write both counts for one block, as Python integers. A multiply-add is 2 FLOPs. Only the six matrix products count (softmax, scaling and biases lack the factor $d$), and all $T \cdot S$ pairs count, masked or not.
#
# `attention_flops` raises a `ValueError` when `H` does not divide `d_model`.

# %% exercise="attention.cost"
def attention_parameters(d_model, bias=True):
    """Parameters of one attention block, as an int."""
    ### BEGIN SOLUTION
    return 4 * d_model * d_model + (4 * d_model if bias else 0)
    ### END SOLUTION


def attention_flops(B, T, S, d_model, H):
    """FLOPs of one forward pass of one block, T queries against S keys, as an int."""
    ### BEGIN SOLUTION
    if d_model % H:
        raise ValueError(f"{H} heads cannot share d_model {d_model}")
    projections = 4 * B * T * d_model**2 + 4 * B * S * d_model**2
    pairs = 4 * B * T * S * d_model
    return projections + pairs
    ### END SOLUTION

# %% [markdown] hints="attention.cost"
# 1. Work the smallest case by hand: one word of two numbers. Each projection is a (1, 2) by (2, 2) product, 8 FLOPs. How many projections? How large are the other two products?
# 2. Add up the last column of the table. $H$ heads of $D = d/H$ numbers cost as much as one head of $d$, so $H$ appears in the check only.
# 3. `projections = 4 * B * T * d_model**2 + 4 * B * S * …`, `pairs = 4 * B * T * …`.

# %% [markdown] worth="attention.cost"
# Training costs three times this. For each product the backward pass takes two more, one for each factor's gradient, which leads to the rule of 6 FLOPs per weight and word ([Kaplan et al. 2020](https://arxiv.org/abs/2001.08361)).

# %%
def pair_share(T, d_model):
    return 4 * T * T * d_model / attention_flops(1, T, T, d_model, 1)

# %%
reveal("attention.p6",
       lambda: f"{pair_share(512, 768):.0%}",
       "The four projections do three quarters of the work. The T² products take over at T = 2·d_model = 1536.",
       answer="about 25 %")

# %% [markdown]
# ### Experiment: count what really runs
#
# PyTorch can count the FLOPs of every matrix product as it happens. Formula against measurement, on your module:

# %%
from torch.utils.flop_counter import FlopCounterMode

def counted(mask=None, B=2, T=64, S=96, d_model=48, H=4):
    with FlopCounterMode(display=False) as counter:
        MultiHeadAttention(d_model, H)(torch.randn(B, T, d_model), torch.randn(B, S, d_model), mask)
    return counter.get_total_flops()

counted(), attention_flops(2, 64, 96, 48, 4)

# %%
lengths = [2**i for i in range(6, 15)]
with described("FLOPs per word against length on logarithmic axes, d_model 768: the projections are a flat line, "
               "the T by T products rise and cross it at 1536 words."):
    plt.loglog(lengths, [8 * 768**2] * 9, label="projections")
    plt.loglog(lengths, [pair_share(T, 768) * attention_flops(1, T, T, 768, 12) / T for T in lengths], label="pairs")
    plt.axvline(2 * 768, color="gray", lw=1)
    plt.xlabel("length T"), plt.ylabel("FLOPs per word"), plt.legend()

# %% [markdown]
# ## 11. Extension: three families in numbers
#
# What do the three families cost, layer for layer?

# %% [markdown] statement="attention.families"
# `encoder_only_counts` is given. Write the other two. Each returns four integers, summed over all layers: blocks, parameters, FLOPs, and *allowed pairs*: the (query, key) pairs of one sentence that the masks leave open, heads not counted separately.
#
# FLOPs are those of dense code, where a masked score is computed and then hidden.

# %% exercise="attention.families"
def encoder_only_counts(n_layers, B, T, d_model, H, bias=True):
    """n_layers bidirectional blocks on T words → (blocks, parameters, FLOPs, allowed pairs)."""
    parameters, flops = attention_parameters(d_model, bias), attention_flops(B, T, T, d_model, H)
    return n_layers, n_layers * parameters, n_layers * flops, n_layers * T * T


def decoder_only_counts(n_layers, B, T, d_model, H, bias=True):
    """n_layers causal blocks on T words → (blocks, parameters, FLOPs, allowed pairs)."""
    ### BEGIN SOLUTION
    blocks, parameters, flops, _ = encoder_only_counts(n_layers, B, T, d_model, H, bias)
    return blocks, parameters, flops, n_layers * T * (T + 1) // 2
    ### END SOLUTION


def encoder_decoder_counts(n_encoder, n_decoder, B, S, T, d_model, H, bias=True):
    """Encoder on S words, decoder on T words → (blocks, parameters, FLOPs, allowed pairs)."""
    ### BEGIN SOLUTION
    cross = (n_decoder, n_decoder * attention_parameters(d_model, bias),
             n_decoder * attention_flops(B, T, S, d_model, H), n_decoder * T * S)
    encoder = encoder_only_counts(n_encoder, B, S, d_model, H, bias)
    decoder = decoder_only_counts(n_decoder, B, T, d_model, H, bias)
    return tuple(a + b + c for a, b, c in zip(encoder, decoder, cross))
    ### END SOLUTION

# %% [markdown] hints="attention.families"
# 1. Draw three words and an arrow for each allowed pair of the decoder: 1 + 2 + 3 arrows. Then add a box of two input words: which arrows of the decoder point there?
# 2. Decoder-only differs from encoder-only in the pairs alone: $T(T+1)/2$ per layer. Encoder–decoder is the sum of three: encoder on $S$, decoder on $T$, and `n_decoder` blocks of $T$ queries against $S$ keys.
# 3. `cross = (n_decoder, n_decoder * attention_parameters(…), n_decoder * attention_flops(B, T, S, …), n_decoder * T * …)`, then add up the three tuples entry by entry.

# %% [markdown] worth="attention.families"
# Decoder-only began as an economy: to summarize long texts, Liu et al. dropped the encoder and put input and output into one sequence ([2018](https://arxiv.org/abs/1801.10198)). The first GPT, months later, built on that decoder.

# %% [markdown]
# ### See it
#
# A task: read 512 words, write 128. The decoder-only model puts both into one sequence of 640. All three have 12 layers in total, $d_{model} = 768$.

# %%
rows = {"encoder-only, reads 512": encoder_only_counts(12, 1, 512, 768, 12),
        "decoder-only, 512 + 128": decoder_only_counts(12, 1, 640, 768, 12),
        "encoder–decoder, 6 + 6": encoder_decoder_counts(6, 6, 1, 512, 128, 768, 12)}
print(f"{'':26}blocks  parameters   GFLOPs  allowed pairs")
for name, (blocks, parameters, flops, pairs) in rows.items():
    print(f"{name:26}{blocks:6}{parameters:12,}{flops / 1e9:9.1f}{pairs:15,}")

# %% [markdown]
# The encoder–decoder has 50 % more attention parameters and still needs less work: each half of its layers sees only its own part of the text. Where it pays is elsewhere; unit 08 counts its caches, unit 11 whole models.

# %% [markdown]
# ### Claim on trial
#
# > *"Training attention costs a decoder-only model a little less than an encoder-only one of the same size, because its mask is triangular."*
#
# Count what runs with and without the mask, and what the mask leaves open:

# %%
T, causal = 1024, torch.ones(64, 64).tril().bool()
print("FLOPs without and with mask:", counted(S=64), counted(causal, S=64))
encoder, decoder = encoder_only_counts(12, 1, T, 768, 12), decoder_only_counts(12, 1, T, 768, 12)
print(f"allowed pairs: {decoder[3] / encoder[3]:.1%} of all")
print(f"saved at most, at {T} words: {(1 - decoder[3] / encoder[3]) * pair_share(T, 768):.1%} of the block")

# %% [markdown] evidence="exact"
# **Verdict: not by itself.** Dense code computes every score and then hides half of them, so the FLOPs are equal.
#
# A kernel that skips hidden tiles can save up to half of the *pair* products ([FlashAttention-2](https://arxiv.org/abs/2307.08691) does). Up to 1024 words at this width that is a fifth of the block or less, since the projections do not shrink.

# %% [markdown] written="question"
# A colleague deletes the division by $\sqrt D$, sees nearly the same loss in the first step of a fresh model with $D = 64$, and calls the division useless. Why may a fresh model show no difference? What would you measure instead? Predict how the width of the scores changes from $D = 16$ to $D = 256$, with and without the division.
#
# - which assumption the reason for the division makes, and whether fresh weights meet it
# - a measurement that lasts longer than one step, and what stays equal in it
# - the two factors from $D = 16$ to $D = 256$

# %% [markdown] written="answer" points=3
# The reason for the division assumes entries of variance 1. PyTorch's default weights, and BERT's, give queries and keys about a third of that, so scores at $D = 64$ are less than 3 wide before any division, and no softmax is saturated yet. I would train pairs of models from the same seeds, with and without the division, at several learning rates and sizes $D$, and compare their losses at the end. In the unit's recorded training leaving it out was worse in {{root_d.not_divided.worse}} of {{root_d.not_divided.of}} pairs. From $D = 16$ to 256 the scores get $\sqrt{16} = 4$ times as wide without the division; with it their width stays.
#
# ### BEGIN MARK SCHEME
# - 1 point: fresh weights may have less than variance 1; then scores are narrow with or without the division.
# - 1 point: whole trainings in pairs (same seed), at more than one learning rate or size; or the width of scores, or of the largest weights, followed through a training.
# - 1 point: 4 times as wide without the division, unchanged with it.
# - No point: "softmax cancels the factor". It cancels what is added to all scores, not what multiplies them.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("A sentence of 16 words is read into states of 64 numbers. With attention, the encoder hands on…",
     {"16 states": (True, "One per word: what can be looked up grows with the text, and so does the memory."),
      "one state of 64 numbers": (False, "That is the last state alone, the bottleneck of section 1."),
      "one state of 1,024 numbers": (False, "Attention changes how many states are kept, not their size.")})

# %%
quiz("A row of 50 scores is shifted by +7. Its softmax…",
     {"does not change": (True, "The factor e⁷ cancels."),
      "gets larger": (False, "Weights sum to 1 before and after."),
      "needs more precision": (False, "Shifting by the maximum removes the 7 first.")})

# %%
quiz("q is (2, 8, 10, 64), k is (2, 8, 30, 64). Which shape do the scores have?",
     {"(2, 8, 10, 30)": (True, "One score per query and key, in each head of each sentence."),
      "(2, 8, 30, 10)": (False, "Rows are queries."), "(2, 8, 64, 64)": (False, "64 is summed over.")})

# %%
quiz("D grows from 64 to 256. Without scaling, the scores' standard deviation…",
     {"doubles": (True, "It is √D: 8 becomes 16."), "grows four times": (False, "The variance does."),
      "stays": (False, "Only the scaled scores' does.")})

# %%
quiz("Which layer can tell 'dog bites man' from 'man bites dog' by the mean of its outputs?",
     {"self-attention with 16 heads": (False, "Each head is equivariant, and so are all together."),
      "self-attention with a causal mask": (True, "The mask depends on the place."),
      "self-attention with a padding mask": (False, "With no padding it hides nothing; it depends on length alone.")})

# %%
quiz("A sentence of the batch has no words, and every one of its scores is −∞. Your layer gives…",
     {"NaN": (False, "A plain softmax would, from 0/0. masked_softmax defines zeros."),
      "the mean of its padding": (False, "That is what −1e9 in place of −∞ would do."),
      "o_proj's bias in every row": (True, "Each head gives zeros, and o_proj adds its bias.")})

# %%
progress("01-attention")

# %% [markdown]
# ## Where this lives in real models
#
# - Scaled dot products, heads and $W_O$: [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762); attention before it: [Bahdanau et al. 2014](https://arxiv.org/abs/1409.0473).
# - Encoder-only: [BERT](https://arxiv.org/abs/1810.04805). Encoder–decoder: [T5](https://arxiv.org/abs/1910.10683). Decoder-only: [GPT-3](https://arxiv.org/abs/2005.14165), [LLaMA](https://arxiv.org/abs/2302.13971).
# - Equivariance put to use, on sets: [Set Transformer](https://arxiv.org/abs/1810.00825).
# - Do all heads matter? [Michel et al. 2019](https://arxiv.org/abs/1905.10650).
# - The shift by the maximum, in one pass over the data: [Milakov and Gimelshein 2018](https://arxiv.org/abs/1805.02867), and with it [FlashAttention](https://arxiv.org/abs/2205.14135).
#
# Attention only blends vectors; nothing keeps their size from growing or fading layer by layer. Next, **02-normalization**: what keeps it in place.
