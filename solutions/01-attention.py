# %% [markdown]
# # Attention
#
# **You will be able to**
#
# - say what a fixed-size summary loses, and how attention gets around it;
# - write softmax, scaled dot-product attention and a multi-head layer that agree with PyTorch's;
# - say what the division by $\sqrt{D}$ is for, and what attention cannot know about word order;
# - mask padding without NaN, and tell the three families of models apart.
#
# **Prerequisites:** unit 00; matrix products, `nn.Module`. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# An attention layer reads *dog bites man* and gives each token, which is a word here, one number.
#
# | dog | bites | man |
# |---|---|---|
# | 5.45 | 2.12 | 3.13 |
#
# Now it reads *man bites dog*. The words are the same, but the meaning is the opposite. Which numbers does it give?

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
        ["each word the number it had before", "each position the number it had before (man gets 5.45)",
         "three new numbers"])

# %% [markdown]
# Keep your guess until section 5. By then you will have built this layer and can run it.

# %% [markdown]
# ## 1. What one vector loses
#
# Why did anybody invent attention? Around 2014, neural translators were *recurrent networks*. Such a network reads a sentence token by token and carries along one vector, its *state*. At each step it computes a new state from the old one and the next token, so that its *last state* depends on the whole sentence.
#
# A translator had two such networks, an *encoder*, which read the source sentence, and a *decoder*, which got the encoder's last state and wrote the translation ([Cho et al. 2014](https://arxiv.org/abs/1409.1259)).

# %% [markdown]
# This last state is a bottleneck, because it has the same size however long the sentence is. If it holds 16 numbers, for example, a sentence of 2 tokens has 8 numbers per token, but a sentence of 16 tokens only one.
#
# Attention was invented to get around it. The encoder keeps *all* its states, one per token, and at each step the decoder chooses among them ([Bahdanau et al. 2014](https://arxiv.org/abs/1409.0473)).

# %% [markdown]
# Does the bottleneck really lose something that matters? To test this, a reader sees $n$ random tokens (16 different ones exist) and is then asked for the token at one position. Guessing is right once in 16 times.

# %%
predict("attention.p7", "The reader keeps a last state of 16 numbers. After training, how often does it recall one of 8 tokens?",
        ["nearly always", "about half the time", "about one time in five"])

# %% [markdown]
# The next cell trains two readers with the same recurrent encoder. One answers from the last state, while the other lets the question choose among all states, in a way that sections 2 and 3 explain. Both are trained by *Adam*, an optimizer that divides each gradient by a running estimate of its size.

# %%
from anatomy.experiments import bottleneck, show_large

for way in bottleneck.WAYS:
    print(f"{way:11} recalls {bottleneck.train_recaller(way, length=8)[0]:.0%} of new questions about 8 words")

# %% [markdown]
# One run can be luck, so here are recorded runs with {{bottleneck.seeds:word}} seeds each, for two sizes of the state and four lengths of sentences.

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
       "This is the mean of the recorded runs. Eight tokens of 16 kinds are 32 bits. Sixteen numbers have room for "
       "that, but training does not find a way to pack them so that any single token can be read back.",
       answer="about one time in five")

# %% [markdown] evidence="recorded: bottleneck, control: size of the state"
# **Verdict: the last state forgets as the sentence grows, while attention recalls nearly every token.** A larger state only moves the limit. With attention, even the worst of all runs recalls {{bottleneck.attention.lowest:.2%}}.
#
# | mean recall from | 2 tokens | 8 tokens | 16 tokens |
# |---|---|---|---|
# | a last state of 16 numbers | {{bottleneck.last_state.size16.length2.mean:.1%}} | {{bottleneck.last_state.size16.length8.mean:.0%}} | {{bottleneck.last_state.size16.length16.mean:.0%}} |
# | a last state of 64 numbers | {{bottleneck.last_state.size64.length2.mean:.1%}} | {{bottleneck.last_state.size64.length8.mean:.0%}} | {{bottleneck.last_state.size64.length16.mean:.0%}} |
#
# This is what training reached here, not a proven limit, since longer training helps the last state too (after half the steps, 64 numbers recalled {{bottleneck.last_state.fewer.size64.length8.mean:.0%}} of 8 tokens). Attention pays in another way, as its memory grows with the text.

# %% [markdown]
# ## 2. From scores to weights
#
# Unit 00 mixed numbers with weights that somebody chose. Attention computes its weights from *scores*, which may be any numbers, large or negative. *Softmax* turns scores into positive weights that sum to 1. It takes the exponential of each score, which is always positive, and divides by the sum of all exponentials.
#
# For example, the scores 2, 1, 0 have exponentials 7.39, 2.72, 1. Their sum is 11.11, so the weights are 0.67, 0.24, 0.09.

# %%
scores = torch.tensor([2.0, 1.0, 0.0])
e = torch.exp(scores)
e / e.sum()

# %% [markdown]
# In symbols, the score $x_i$ gets the weight $w_i$.
#
# $$w_i = \frac{e^{x_i}}{\sum_j e^{x_j}}$$
#
# A score that is larger by 1 gets a weight that is $e = 2.72$ times as large, whatever the two scores are. Only the differences between scores count.

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
# The remedy can be found on paper too. Multiplying the numerator and the denominator by $e^{-m}$, for any number $m$, does not change the fraction.
#
# $$\frac{e^{x_i}}{\sum_j e^{x_j}} = \frac{e^{x_i - m}}{\sum_j e^{x_j - m}}$$
#
# If $m = \max_j x_j$, the largest exponent is 0, so nothing overflows.

# %% [markdown] statement="attention.softmax"
# Write softmax along axis `dim`, with this shift. Each slice along `dim` is shifted by its own maximum.
#
# A score of $-\infty$ gets weight exactly 0. (Every slice tested here has at least one finite score.)

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
# With the shift, softmax passes over each row three times, for the maximum, for the sum and for the division. However, a running maximum, with the sum rescaled whenever it changes, merges the first two passes ([Milakov and Gimelshein 2018](https://arxiv.org/abs/1805.02867)).

# %% [markdown]
# ### See it
#
# The wider the scores spread, the more of the weight the largest one takes. The next cell shows it for nine scores, which it multiplies by three factors.

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
# Where do the scores come from? A token has to find the tokens that matter to it. In *the cat that chased the dogs was tired*, for example, the word *was* needs its subject *cat*. Each token therefore makes three vectors from its own, with three matrices that are learned.
#
# | vector | says |
# |---|---|
# | *query* | what the token is looking for |
# | *key* | what the token can be found by |
# | *value* | what the token gives when it is found |

# %% [markdown]
# The score of a pair is the dot product of one token's query with the other token's key, which is large if the two vectors point in similar directions. We say that the first token *looks at* the second, although all that happens is a dot product and a softmax.

# %% [markdown]
# ### Worked example
#
# Take one query of size $D = 4$ and three keys with the dot products 4, 2, 0. Divided by $\sqrt D = \sqrt 4$ (section 4 says why) they become the scores 2, 1, 0, whose weights you know, 0.67, 0.24, 0.09. If the values are 10, 20, 40, the weights mix them as follows.
#
# $$0.67 \cdot 10 + 0.24 \cdot 20 + 0.09 \cdot 40 = 15.1$$

# %%
q = torch.tensor([[2.0, 0.0, 0.0, 0.0]])
k = torch.tensor([[2.0, 0.0, 5.0, 0.0], [1.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 7.0]])
v = torch.tensor([[10.0], [20.0], [40.0]])
softmax(q @ k.T / math.sqrt(4)) @ v

# %% [markdown]
# ### One token on its way through the layer
#
# Now follow *dog* through the layer of the puzzle, whose matrices are in the code further down. From its vector (2, 0) they make the query (2, 0), the key (0, 4) and the value 2. The token *bites* has the key (2, 0) and the value 6, and *man* has the key (1, 2) and the value 4.

# %% [markdown]
# The query of *dog* meets all three keys, including its own. The dot products are 0, 4 and 2, and divided by $\sqrt 2$ they become the scores 0, 2.83 and 1.41. Softmax turns these into the weights 0.045, 0.768 and 0.187, so *dog* looks mostly at *bites*. Mixed with these weights, the values give the number of *dog* in the puzzle.
#
# $$0.045 \cdot 2 + 0.768 \cdot 6 + 0.187 \cdot 4 = 5.45$$
#
# The picture shows the same way with all its numbers, from the query at the bottom to the output at the top.

# %%
from anatomy import drawings

dog, keys = torch.tensor([2.0, 0.0]), torch.tensor([[0.0, 4.0], [2.0, 0.0], [1.0, 2.0]])
values, scores = torch.tensor([[2.0], [6.0], [4.0]]), keys @ dog / math.sqrt(2)
drawings.one_query(dog, keys, values, ["dog", "bites", "man"], scores, softmax(scores), softmax(scores) @ values)

# %% [markdown]
# ### All tokens at once
#
# If the queries are the rows of a matrix $Q$, and keys and values those of $K$ and $V$, one product $QK^\top$ computes all scores, and the whole of attention is one line.
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
# The dots stand for any leading axes, such as batch and heads (section 6). Each *row* of weights sums to 1, because each query divides its attention among the keys.

# %% [markdown]
# ### Masks
#
# Some tokens must not be seen, for example those that a model still has to predict. A **mask** says which keys a query may look at. In this course it is boolean, and **True means may look**. A forbidden score becomes $-\infty$ *before* the softmax, so that its weight is exactly 0 and the others still sum to 1.

# %%
allowed = torch.tensor([[True, True, False]])
masked = (q @ k.T / math.sqrt(4)).masked_fill(~allowed, -math.inf)
masked, softmax(masked)

# %% [markdown]
# What about a query that may look at nothing? This happens, since batches can contain empty sentences, and unit 07 will combine masks until some rows are empty.

# %%
torch.softmax(torch.full((1, 3), -math.inf), dim=-1)

# %% [markdown]
# All scores are $-\infty$, so softmax divides 0 by 0. A single NaN of this kind reaches the loss, and from there every weight of the model.
#
# A mean over nothing has no right value, so we *define* it to be zeros. The backward pass needs the same care, because a NaN in a gradient does the same damage.

# %% [markdown] statement="attention.masked_softmax"
# Write softmax over the last axis, among the keys where `mask` is True. Forbidden keys get weight exactly 0. A row without any allowed key gets zeros, and no gradient is NaN.
#
# You may use any softmax here, including your own.

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
# Until 2024, PyTorch's `scaled_dot_product_attention` could give NaN for a query without any allowed key. A change of that year made it give zeros, as your function does ([pull request 133882](https://github.com/pytorch/pytorch/pull/133882)), although NaN was still reported in 2025 ([issue 163997](https://github.com/pytorch/pytorch/issues/163997)).

# %% [markdown]
# ### Attention in one function
#
# You now have all parts of attention, namely scores, masked weights and a weighted sum. The function that joins them will be used in the whole course.

# %% [markdown] statement="attention.scaled_dot_product"
# Write attention as in the formula, for any leading axes, with an optional boolean mask that broadcasts to the scores' shape $(\dots, T, S)$.
#
# Use your `softmax` if there is no mask. If there is one, use your `masked_softmax`, so that a query that may look at nothing gets zeros.

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
# 2. `k.transpose(-2, -1)` swaps the last two axes whatever axes come before them. Divide by `math.sqrt(q.shape[-1])`. The weights come from `softmax(scores)` without a mask and from `masked_softmax(scores, mask)` with one. Multiply them by `v`.
# 3. `scores = q @ k.transpose(-2, -1) / math.sqrt(…)`; `weights = softmax(scores) if mask is None else masked_softmax(…)`; `return weights @ …`.

# %% [markdown] worth="attention.scaled_dot_product"
# Your version stores all $T \cdot S$ weights. With 32 heads and 8,192 tokens these are 4 GiB per layer and sentence, even in half precision (16 bits per number instead of 32). FlashAttention, however, computes the same result tile by tile and never stores them ([Dao et al. 2022](https://arxiv.org/abs/2205.14135)).

# %% [markdown]
# ### See it
#
# Your function can now run the layer of the puzzle, which gives each token two numbers and has three small matrices. With the identity matrix as values, attention returns its own weights.

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
# The row of *dog* has the three weights that you followed above. Now **your** function computes the weights of a trained model, the small one that you will build in unit 12. It was trained on Jane Austen's novels, and these are its 16 *heads* (attention functions that run in parallel, section 6) in sentences that it never saw. It reads from left to right, so its mask is *causal*, which means that no token looks ahead.

# %% [markdown]
# Point at a token, a cell or a small map. Look for a head in which each token looks at the one before, one in which it looks at itself, and one in which it looks at the first token. Drag the grip on a bar, so that one score moves while all weights follow. Then switch the scaling off, or the mask. (`<pad>` is filler, which section 8 hides.)

# %%
AttentionExplorer(scaled_dot_product_attention)

# %% [markdown]
# PyTorch does all this in one call. Does your function agree with it, even where the third query may look at nothing? (Differences of about 1e-7 are rounding.)

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
# The claim treats −∞ and −1e9 as the same. Try an ordinary row, an empty row, and a row in half precision (float16), in which a number has 16 bits instead of 32 to save memory and time.

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
# **Verdict: −1e9 can replace −∞ only in rows that have an allowed key, and not in float16.** In float32, exp(−1e9) is too small and becomes exactly 0.
#
# In an empty row, however, all scores are the same −1e9, so the forbidden keys get equal weights, which is wrong and gives no warning. Float16 ends at 65504, so it cannot hold −1e9 at all. Use $-\infty$, and say what an empty row gives.

# %% [markdown]
# ## 4. Why divide by √D?
#
# How large would the scores be without the division? Take queries and keys whose entries are independent, with mean 0 and variance 1. Then one product $q_i k_i$ has variance $1 \cdot 1 = 1$, and a dot product adds up $D$ of them.

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
# The division brings this variance back to 1, whatever $D$ is.
#
# $$\operatorname{Var}(q \cdot k) = D, \qquad \operatorname{Var}\!\left(\frac{q \cdot k}{\sqrt D}\right) = \frac{D}{(\sqrt D)^2} = 1$$
#
# This is the reason that the paper gives in a footnote ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762)). Scores that spread more would give nearly all weight to one key, as you saw in section 2.

# %% [markdown]
# The argument assumes that queries and keys have variance 1. Whether those of a fresh layer do depends on the *initialization*, the rule by which its weights are drawn. **Xavier** initialization chooses their variance so that a layer's output varies about as much as its input. (**He** initialization makes it larger for layers with a ReLU, which sets about half of the numbers to 0.) Compare it with PyTorch's default and with a fixed standard deviation of 0.02.

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
# **Verdict: undivided scores grow with $\sqrt D$, but how wide they start depends on the initialization.** With Xavier's and $D = 64$ they are 8 wide (in standard deviation), as the footnote assumes. PyTorch's default and the 0.02 of [BERT's code](https://github.com/google-research/bert/blob/master/modeling.py) and GPT-2 give queries and keys about a third of the variance here, so the scores are less than 3 wide before any division.
#
# Does it hurt to leave the division out? In a small recorded training it did, in {{root_d.not_divided.worse}} of {{root_d.not_divided.of}} pairs of runs, although not only for the footnote's reason. The second extension below shows them.

# %% [markdown]
# ### Extension: variance against D
#
# Do not believe $\operatorname{Var}(q \cdot k) = D$ because a page says so, but measure it.

# %% [markdown] statement="attention.logit_variance"
# Score every query against every key; the first line, which does this, is given. Return two numbers, the variance of the raw scores $q \cdot k$ and the variance of the scores divided by $\sqrt D$.
#
# Variance here is the mean squared distance from the mean, over all $N \cdot M$ scores (divide by the count, not by the count minus 1).

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
# Dividing by √D is right while queries and keys are unrelated. Once training aligns them, however, a score can grow like $D$ itself, which is why µP divides by $D$ ([Yang et al. 2022](https://arxiv.org/abs/2203.03466)).

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
# Why would wide scores be bad for training? The slope of a weight by its own score is $w(1-w)$, which is 0.25 at $w = 0.5$ but almost 0 where one key takes everything, so that hardly any gradient passes. The next cells show this for 16 random keys that share one query's attention, with queries and keys of variance 1.

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
# At $D = 1024$ one key takes nearly all the weight by chance, and hardly any slope is left to change that. According to this argument, a head whose scores start too wide should learn badly.
#
# As a test, one head looks up a value by its key among 8 pairs. Train it with the division, without it, and without it but with fresh $W_Q$ and $W_K$ scaled down so that the scores *start* as narrow as with the division. If only the start mattered, the third way would do as well as the first.

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
# **Verdict: without the division training nearly always ends worse, and by far the most with wide heads at a large learning rate.** The loss ends higher in {{root_d.not_divided.worse}} of {{root_d.not_divided.of}} pairs of runs with the same seed and batches. In {{root_d.not_divided.clear:word}} of {{root_d.not_divided.settings:word}} settings the mean difference exceeds two standard errors. (Among {{root_d.comparisons}} comparisons, chance alone would make about one exceed them.)
#
# At a learning rate of 0.001 the worst run without the division still answers {{root_d.not_divided.lowest_at_rate0:.1%}} of the questions, although scores of $D = 256$ start {{root_d.not_divided.d256.spread:.1f}} wide. At 0.01, however, the ways differ.
#
# | $D = 256$, learning rate 0.01 | mean accuracy |
# |---|---|
# | with the division | {{root_d.divided.d256.rate2.accuracy:.1%}} |
# | without it, narrow start | {{root_d.small_start.d256.rate2.accuracy:.1%}} |
# | without it | {{root_d.not_divided.d256.rate2.accuracy:.1%}} |

# %% [markdown] evidence="recorded: root_d, control: start + argued"
# **Verdict on this task: the division helps, but not mainly because it makes the scores start narrow.** At a small learning rate, wide fresh scores cost little. At a large one, a narrow start does not replace the division, since it ends with the higher loss in {{root_d.small_start.fast.worse}} of {{root_d.small_start.fast.of}} pairs.
#
# Step size explains the runs better. One Adam step pushes all $D$ products of a score the same way, so an undivided score jumps $\sqrt D$ times as far (which we did not test separately).

# %% [markdown]
# All this is about one small head, and unit 10 takes up scores that grow in large models. T5 is a large model without the division, although [its code](https://github.com/huggingface/transformers/blob/main/src/transformers/models/t5/modeling_t5.py) starts with smaller query weights.

# %% [markdown]
# ## 5. What attention does not know
#
# Now let your function read both sentences of the puzzle.

# %%
reveal("attention.p1",
       lambda: "; ".join(
    ", ".join(f"{w} {n:.2f}" for w, n in zip(s.split(), read(s).flatten().tolist()))
    for s in ("dog bites man", "man bites dog")),
    "Every word keeps its number, because nothing in the formula says at which position a token is.",
    answer="each word the number it had before")

# %% [markdown]
# Is that so for any input? Take seven random tokens in ten random orders. If attention only moves the rows along with the tokens, `out[p]` (the old outputs, reordered) equals attention on `x[p]` (the reordered tokens). The next cell prints the largest gap between the two.

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
print(f"a vector per position {gap(place=places):.1e}")

# %% [markdown]
# Without a mask the gap is only rounding. If the input is reordered, the output is reordered in the same way, which is called **permutation equivariance**.
#
# Two things break it. One is a mask that depends on the position, such as the causal mask, with which each token sees itself and those before it. The other is a vector added at each position, which is what units 05 and 06 are about.

# %% [markdown]
# ### Claim on trial
#
# > *"The word vectors of the two sentences are the same set. […] Without a mask, attention is completely symmetric, $f(x, y) = f(y, x)$, so the attention computed for the two sentences is exactly the same."*
#
# Take *dog* (0) and *man* (2) in the puzzle's layer. Does *dog* looking at *man* have the same score as *man* looking at *dog*? And with $W_K$ for both queries and keys?

# %%
three = torch.tensor(list(words.values()))
S = (three @ W_Q) @ (three @ W_K).T
tied = (three @ W_K) @ (three @ W_K).T
for name, s in (("W_Q and W_K", S), ("W_K twice", tied), ("softmax of that", softmax(tied))):
    print(f"{name:16} dog → man {s[0, 2]:.3f}   man → dog {s[2, 0]:.3f}")

# %% [markdown] evidence="exact"
# **Verdict: attention is blind to word order, but not because it is symmetric.** $QK^\top$ is not symmetric, since with $W_Q \neq W_K$ a token can look at another without being looked at. Even with one matrix for both, softmax treats each row by itself, so the weights differ.
#
# The right reason is equivariance. The outputs of the two sentences are the same rows in another order, so whatever adds them up or picks the row of *dog* sees no difference.

# %% [markdown]
# ### Extension: predict the shuffle
#
# Can you say what attention gives for a shuffled sentence without running it again? A list `perm` describes the new order. Position $i$ now has the token that was at position `perm[i]`, so the new order comes from indexing.

# %%
x = ["dog", "bites", "man"]
perm = [2, 0, 1]
[x[p] for p in perm]

# %% [markdown]
# The score of a pair depends on its two tokens alone. So if position $i$ now has the old token `perm[i]` and position $j$ the old token `perm[j]`, their new score is the old score of these two.
#
# $$S'_{ij} = S_{p_i\, p_j}$$
#
# Rows and columns of the score matrix are shuffled, while no score changes.

# %% [markdown] statement="attention.permutation"
# Self-attention has read a sentence of $T$ tokens, and you have its scores $(T, T)$ and its outputs $(T, D)$. The tokens are then put in the order `perm` (position $i$ now has the old token `perm[i]`).
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
# 2. `scores[perm]` reorders rows. Columns need an index after a colon. Outputs have one axis that belongs to tokens.
# 3. `return scores[perm][:, …], out[…]`, and both dots are the same name.

# %% [markdown] worth="attention.permutation"
# If only the keys and values are shuffled, together, no output changes at all, because a sum has no order. The outputs follow the order of the queries and nothing else.

# %% [markdown]
# Compare your shuffle with attention that is run again. Then drag the words of the widget into other orders, and add positions.

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
# One query makes one set of weights, but a verb, for example, may want its subject *and* its object without mixing them. Therefore the $d_{model}$ numbers of a token are dealt out to $H$ **heads** of $D = d_{model}/H$ numbers, and each head computes attention by itself.

# %% [markdown]
# ### Worked example
#
# Take two tokens of four numbers and two heads. Head 0 takes the first two numbers of *every* token, and head 1 takes the last two.

# %%
x = torch.arange(8.0).reshape(1, 2, 4)
x[..., :2], x[..., 2:]

# %% [markdown]
# Your attention function needs one tensor $(B, H, T, D)$, with the heads as a leading axis like the batch. Since memory is read in order, the last axis of 4 splits into (2 heads, 2 numbers), and then the head axis moves forward.
#
# $$(B, T, d_{model}) \to (B, T, H, D) \to (B, H, T, D)$$

# %%
predict("attention.p4", "What does x.reshape(1, 2, 2, 2), without moving any axis, put into head 0?",
        ["0, 1 and 4, 5: half of each token", "0, 1, 2, 3: the whole first token", "0, 2 and 4, 6: every other number"])

# %%
reveal("attention.p4",
       lambda: x.reshape(1, 2, 2, 2)[0, 0].tolist(),
       "The first four numbers in memory are token 0. The contents are wrong although the shape is right, "
       "which is why this mistake runs without an error.",
       answer="0, 1, 2, 3: the whole first token")

# %% [markdown] statement="attention.split_heads"
# Write both directions. Head $h$ gets the numbers $hD$ to $(h+1)D - 1$ of every token, and `merge_heads` undoes `split_heads`.
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
# $H \cdot D$ may exceed $d_{model}$, since the matrices that make queries, keys and values are free to widen. T5-11B, for example, has 1,024 numbers per token and 128 heads of 128 numbers, 16,384 in all ([Raffel et al. 2019](https://arxiv.org/abs/1910.10683)).

# %% [markdown]
# ### See it
#
# All heads at once must give the same as a loop over the heads.

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 2, 5, 12)
together = merge_heads(scaled_dot_product_attention(*(split_heads(t, 3) for t in (q, k, v))))
cuts = [slice(4 * h, 4 * h + 4) for h in range(3)]
loop = torch.cat([scaled_dot_product_attention(q[..., c], k[..., c], v[..., c]) for c in cuts], dim=-1)
(together - loop).abs().max()

# %% [markdown]
# The picture shows the same steps from the bottom up, for 2 sentences of 5 tokens with 12 numbers each and 3 heads. Cutting a row moves no number, while in the next step the bands come apart, because the head axis moves in front of the tokens.

# %%
drawings.split_and_merge(d_model=12, n_heads=3, batch=2, length=5)

# %% [markdown]
# ## 7. The layer
#
# After the merge, the numbers of all heads are in one row, but nothing has combined them yet. This is the task of the output matrix $W_O$.
#
# $$\text{MHA}(X) = \text{concat}(\text{head}_1, \dots, \text{head}_H)\, W_O$$
#
# In all, the layer has four linear maps $d_{model} \to d_{model}$, called `q_proj`, `k_proj`, `v_proj` and `o_proj`.

# %% [markdown]
# In *self-attention* a sequence looks at itself. In **cross-attention** the queries come from one sequence $x$ of length $T$, while keys and values come from another, the *context*, of length $S$. A translator's decoder, for example, reads the source sentence this way. The result $(B, T, d_{model})$ has one row per query.

# %% [markdown] statement="attention.multi_head"
# Write the module with four `nn.Linear` layers, each with a bias if `bias` is True. Name them as above, because weights are loaded by these names. The result has the dtype of `x`.
#
# `context=None` means self-attention. Pass `mask` to your attention function as it is, so that a sentence without tokens gives `o_proj`'s bias in every row, and no NaN. The constructor raises a `ValueError` when `n_heads` does not divide `d_model`.

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
# 1. Everything is written already: two helpers and one attention function. Which sequence do the queries come from in cross-attention, and which the keys and values?
# 2. Project x to queries and the context to keys and values; split all three; attend; merge; project with `o_proj`. Without a context, the context is x.
# 3. `q = split_heads(self.q_proj(x), self.n_heads)`, likewise k and v from `context`; `return self.o_proj(merge_heads(scaled_dot_product_attention(…)))`.

# %% [markdown] worth="attention.multi_head"
# The bias of `k_proj` has no effect, because it adds the same number to every score of a query, and softmax ignores that. This is why [Whisper](https://github.com/openai/whisper/blob/main/whisper/model.py) can leave this one bias out.

# %% [markdown]
# ### See it
#
# PyTorch's own layer stacks three of the four matrices into one. With the same numbers in them, both layers must agree.

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
# Can training make up for what attention does not know? In this task only order matters. A sentence has eight tokens, two of them special, and the question is whether special token A comes before special token B. Your layer learns it with no positions, with a learned vector for each position, and with no positions but a causal mask.

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
       "If A and B are exchanged, the outputs are the same rows in another order. Their mean is the same, and so "
       "is the answer, although it should be the opposite. No amount of training helps.",
       answer="50 %")

# %% [markdown] evidence="recorded: word_order, control: learning rate"
# **Verdict: without positions and without a mask no run found the order, while a causal mask alone was enough.** The recorded runs have 32 tokens, or 8 tokens at three learning rates.
#
# | | runs that found the order (accuracy {{word_order.learned:.0%}} or more) |
# |---|---|
# | a vector for each position | {{word_order.vector_per_place.found}} of {{word_order.vector_per_place.of}} |
# | a causal mask | {{word_order.causal_mask.found}} of {{word_order.causal_mask.of}} |
# | neither | {{word_order.no_positions.found}} of {{word_order.no_positions.of}} (highest accuracy {{word_order.no_positions.highest_of_all:.1%}}) |
#
# With a causal mask, a token's output depends on what came before. Language models can be trained that way too ([Haviv et al. 2022](https://arxiv.org/abs/2203.16634); [Kazemnejad et al. 2023](https://arxiv.org/abs/2305.19466) call it NoPE), and unit 09 comes back to it.

# %% [markdown]
# ## 8. Padding
#
# The sentences of a batch have different lengths. Short ones are therefore filled up on the right with *padding*, which must not be seen. For example, the lengths 1 and 3, padded to 4, give this mask.

# %%
lengths = torch.tensor([1, 3])
place = torch.arange(4)
[[bool(p < n) for p in place] for n in lengths]

# %% [markdown]
# Scores have shape $(B, H, T, S)$. What this mask hides depends on the sentence and the key, but not on the head or the query. So it has the shape $(B, 1, 1, S)$, and broadcasting repeats it along the axes of size 1.

# %% [markdown] statement="attention.padding_mask"
# Return the boolean mask of shape $(B, 1, 1, S)$ for sentences of the given lengths, padded on the right to $S$ tokens. It is True at positions $0$ to $\text{length} - 1$.
#
# A length of 0 is allowed, while a length larger than $S$ raises a `ValueError`.

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
# 1. Compare each position with each length: that is a table of $B$ rows and $S$ columns. Which shapes make one comparison give a table?
# 2. `torch.arange(S)` has shape `(S,)` and `lengths[:, None]` has shape `(B, 1)`. Compare them with `<`, then insert two axes. Check `(lengths > S).any()` first.
# 3. `return (torch.arange(S) < lengths[:, None])[:, None, …, :]`.

# %% [markdown] worth="attention.padding_mask"
# Pretraining of large language models needs hardly any padding. GPT-3's short documents were packed into full windows of 2,048 tokens, with a separator token between them and no mask ([Brown et al. 2020](https://arxiv.org/abs/2005.14165), appendix B).

# %% [markdown]
# ### See it
#
# Take the lengths 2 and 3, and put garbage into the padding. If the mask works, the outputs of real tokens do not move.

# %%
torch.manual_seed(0)
layer, x, mask = MultiHeadAttention(12, 3), torch.randn(2, 4, 12), padding_mask(torch.tensor([2, 3]), 4)
garbage = x.clone()
garbage[0, 2:], garbage[1, 3:] = 1000.0, -1000.0
(layer(x, mask=mask) - layer(garbage, mask=mask)).abs().amax(-1).detach()

# %% [markdown]
# Rows are sentences and columns are positions. Only the outputs at padding move, and nobody reads those.
#
# Now put an empty sentence into the batch. Because your `masked_softmax` gives zeros for it, its rows are `o_proj`'s bias, and the gradients are finite as well.

# %%
out = layer(x, mask=padding_mask(torch.tensor([0, 4]), 4))
out.sum().backward()
print("NaN in the output:   ", out.isnan().any().item())
print("empty rows = the bias:", torch.allclose(out[0], layer.o_proj.bias))
print("NaN in a gradient:   ", any(p.grad.isnan().any().item() for p in layer.parameters()))

# %% [markdown]
# ## 9. Three families
#
# Three families of models are built from this one layer, and they differ in who may look at whom.
#
# - **Encoder-only** models such as BERT have one attention block per layer, in which every token sees every token.
# - **Decoder-only** models such as GPT also have one block per layer, but token $t$ sees only tokens $0$ to $t$.
# - **Encoder–decoder** models such as the original Transformer and T5 have two stacks. The encoder reads the $S$ input tokens, and the decoder writes $T$ output tokens. Each decoder layer has *two* blocks, causal self-attention and cross-attention to the encoder's output.

# %% [markdown]
# ### Claim on trial
#
# > *"BERT is made for language understanding: its input is usually text, its output usually a label. Yet BERT is in essence a seq2seq model (an encoder–decoder architecture that works through time steps, for input and output sequences of any length: RNN, LSTM, GRU)."*
#
# The published configurations can tell. Does BERT-base have a decoder or cross-attention? And does its first token see the last one, which is impossible in a model that works step by step?

# %%
from anatomy.experiments.named_models import recorded as named_models

print(f"{'':11}published   encoders  decoders  cross-attention  first word sees last")
for name in ("bert-base", "t5-small"):
    m = named_models()[name]
    sees = m["sees_future"] if not m["decoder_stacks"] else f"{m['encoder_sees_future']}, decoder {m['sees_future']}"
    print(f"{name:11}{m['published'] / 1e6:7.0f} M{m['encoder_stacks']:9}{m['decoder_stacks']:10}"
          f"{m['cross_attention_modules']:12} blocks     {sees}")

# %% [markdown]
# Your own layer shows the difference as well. Feed it four tokens, then the same four and a fifth. In a recurrent network the first four outputs stay the same.

# %%
torch.manual_seed(0)
x = torch.randn(1, 5, 12)
encoder, rnn = MultiHeadAttention(12, 3), nn.RNN(12, 12, batch_first=True)
for name, f in [("RNN", lambda x: rnn(x)[0]), ("encoder", encoder)]:
    moved = (f(x)[:, :4] - f(x[:, :4])).abs().max().item()
    print(f"{name:8} first four outputs move by {moved:.2f}; 5 words in, {f(x).shape[1]} rows out")
print(f"cross-attention: 5 words in, {encoder(torch.randn(1, 3, 12), context=x).shape[1]} rows out")

# %% [markdown] evidence="models: bert-base, t5-small"
# **Verdict: BERT is not an encoder–decoder but a single stack of encoder layers.** It has no decoder and no cross-attention. It doesn't work through time steps, since its first token sees the last. It gives one row per input token, and a label is read off one of these rows.
#
# To produce a different number of rows, a model needs a second stack, whose queries read the first through cross-attention. T5-small, for example, has a cross-attention block in each of its decoder layers, and so does the original Transformer.

# %% [markdown]
# ## 10. Extension: what it costs
#
# How much does attention cost, and which part costs most? Multiplying an $(a, b)$ by a $(b, c)$ matrix takes $a \cdot b \cdot c$ multiplications and as many additions, that is, $2abc$ floating-point operations (FLOPs).
#
# BERT-base, for example, has $d_{model} = 768$. Its attention block has four 768 × 768 matrices and four biases, $4 \cdot (768^2 + 768) = 2{,}362{,}368$ parameters.

# %% [markdown]
# The table lists the products of one block with $T$ queries, $S$ keys and $d = d_{model}$.
#
# | product | rows × inner × columns | FLOPs |
# |---|---|---|
# | $W_Q$, $W_O$ | $BT \times d \times d$, twice | $4BTd^2$ |
# | $W_K$, $W_V$ | $BS \times d \times d$, twice | $4BSd^2$ |
# | scores, all heads | $H$ times $T \times D \times S$, per sentence | $2BTSd$ |
# | weighted sum | $H$ times $T \times S \times D$, per sentence | $2BTSd$ |

# %%
predict("attention.p6", "BERT-base reads 512 tokens. Which share of the block's FLOPs do the two T×T products take?",
        ["about 25 %", "about 50 %", "about 90 %"])

# %% [markdown] statement="attention.cost"
# Write both counts for one block, as Python integers. A multiply-add counts as 2 FLOPs. Only the six matrix products count, since softmax, scaling and biases lack the factor $d$, and all $T \cdot S$ pairs count, whether masked or not.
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
# 1. Work the smallest case by hand: one token of two numbers. Each projection is a (1, 2) by (2, 2) product, 8 FLOPs. How many projections? How large are the other two products?
# 2. Add up the last column of the table. $H$ heads of $D = d/H$ numbers cost as much as one head of $d$, so $H$ appears in the check only.
# 3. `projections = 4 * B * T * d_model**2 + 4 * B * S * …`, `pairs = 4 * B * T * …`.

# %% [markdown] worth="attention.cost"
# Training costs three times this, because for each product the backward pass takes two more, one for each factor's gradient. This leads to the rule of 6 FLOPs per weight and token ([Kaplan et al. 2020](https://arxiv.org/abs/2001.08361)).

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
# PyTorch can count the FLOPs of every matrix product as it happens. Compare your formula with this measurement on your own module.

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
# What do the three families cost if they have the same number of layers?

# %% [markdown] statement="attention.families"
# `encoder_only_counts` is given, and you write the other two. Each returns four integers, summed over all layers, namely blocks, parameters, FLOPs and *allowed pairs*. These are the (query, key) pairs of one sentence that the masks leave open, with heads not counted separately.
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
# The decoder-only model began as a way to save work. To summarize long texts, Liu et al. dropped the encoder and put input and output into one sequence ([2018](https://arxiv.org/abs/1801.10198)). The first GPT, months later, built on that decoder.

# %% [markdown]
# ### See it
#
# Suppose the task is to read 512 tokens and to write 128. The decoder-only model puts both into one sequence of 640 tokens. All three models have 12 layers in total and $d_{model} = 768$.

# %%
rows = {"encoder-only, reads 512": encoder_only_counts(12, 1, 512, 768, 12),
        "decoder-only, 512 + 128": decoder_only_counts(12, 1, 640, 768, 12),
        "encoder–decoder, 6 + 6": encoder_decoder_counts(6, 6, 1, 512, 128, 768, 12)}
print(f"{'':26}blocks  parameters   GFLOPs  allowed pairs")
for name, (blocks, parameters, flops, pairs) in rows.items():
    print(f"{name:26}{blocks:6}{parameters:12,}{flops / 1e9:9.1f}{pairs:15,}")

# %% [markdown]
# The encoder–decoder has 50 % more attention parameters, although it needs less work, because each half of its layers sees only its own part of the text. Unit 08 counts its caches, and unit 11 whole models.

# %% [markdown]
# ### Claim on trial
#
# > *"Training attention costs a decoder-only model a little less than an encoder-only one of the same size, because its mask is triangular."*
#
# Count the FLOPs with and without the mask, and the share of the pairs that the mask leaves open.

# %%
T, causal = 1024, torch.ones(64, 64).tril().bool()
print("FLOPs without and with mask:", counted(S=64), counted(causal, S=64))
encoder, decoder = encoder_only_counts(12, 1, T, 768, 12), decoder_only_counts(12, 1, T, 768, 12)
print(f"allowed pairs: {decoder[3] / encoder[3]:.1%} of all")
print(f"saved at most, at {T} words: {(1 - decoder[3] / encoder[3]) * pair_share(T, 768):.1%} of the block")

# %% [markdown] evidence="exact"
# **Verdict: a triangular mask alone saves nothing, because dense code computes every score and then hides half of them.** The FLOPs with and without it are equal.
#
# However, a kernel that skips hidden tiles, such as [FlashAttention-2](https://arxiv.org/abs/2307.08691), can save up to half of the *pair* products. At this width and up to 1,024 tokens that is a fifth of the block or less, since the projections do not shrink.

# %% [markdown]
# ## 12. Your own experiment
#
# The experiments so far used toy tasks. What do the parts of attention do on real text? The *growing character model* is a two-layer Transformer that learns in a few seconds to predict the next character of Jane Austen's novels, and any of its parts may be yours. Its loss is the mean of $-\ln p$ of the right character on pages that it never saw. The unit is called *nats* per character, and less is better.
#
# The first comparison takes the division by $\sqrt D$ out of your attention.

# %%
from anatomy.experiments.growing import grow

def undivided(q, k, v, mask):
    return scaled_dot_product_attention(q * math.sqrt(q.shape[-1]), k, v, mask)

for seed in (0, 1):
    mine, other = (grow(seed=seed, attend=f) for f in (scaled_dot_product_attention, undivided))
    print(f"seed {seed}: {mine.loss:.3f} with the division, {other.loss:.3f} without, in nats per character")

# %% [markdown]
# Is this what you expected after section 4? What would you change next, for example the number of heads (`n_heads=1` or 16), the learning rate (`lr=0.01` instead of 0.003), or softmax itself? Run at least two seeds of each setting, because a single run can be luck, and write down your answer in one sentence. Nothing here is graded.

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
      "self-attention with a causal mask": (True, "The mask depends on the position."),
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
# | what | where |
# |---|---|
# | scaled dot products, heads and $W_O$ | [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762) |
# | attention before that | [Bahdanau et al. 2014](https://arxiv.org/abs/1409.0473) |
# | encoder-only | [BERT](https://arxiv.org/abs/1810.04805) |
# | encoder–decoder | [T5](https://arxiv.org/abs/1910.10683) |
# | decoder-only | [GPT-3](https://arxiv.org/abs/2005.14165), [LLaMA](https://arxiv.org/abs/2302.13971) |
# | equivariance put to use, on sets | [Set Transformer](https://arxiv.org/abs/1810.00825) |
# | whether all heads matter | [Michel et al. 2019](https://arxiv.org/abs/1905.10650) |
# | the shift by the maximum, in one pass over the data | [Milakov and Gimelshein 2018](https://arxiv.org/abs/1805.02867), [FlashAttention](https://arxiv.org/abs/2205.14135) |
#
# Attention only blends vectors, and nothing in it keeps their size from growing or fading from layer to layer. In the next unit, **02-normalization**, you build what does.
