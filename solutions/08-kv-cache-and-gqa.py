# %% [markdown]
# # The KV cache and grouped queries
#
# **You will be able to**
#
# - write a cache that changes no result, however the text is cut;
# - share keys among heads (GQA, MQA), and say what that saves;
# - count a real model's cache, its users, and how fast it serves them;
# - in the extensions: latents (MLA), rolling windows, pages and integers.
#
# **Prerequisites:** units 01 and 06. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# A GPU has 80 GB of memory. A model of 6.74 billion parameters, 2 bytes each, takes 13.5 GB of it, and the rest is for users, each with a conversation of 4,096 tokens.
#
# The text of such a conversation is only some 16 kilobytes, so how many users fit at once?

# %% setup=true
import math

import matplotlib.pyplot as plt
import torch
from anatomy import case, check, predict, progress, quiz, reveal
from anatomy.experiments import decode, named_models, recorded, roofline, show_large, where
from anatomy.plots import described, use_style
from anatomy.widgets import CacheCalculator, CacheStepper
from torch import nn

def rotate(x, positions):
    """Turns pairs of numbers x (..., T, 2) by positions (T,) radians: RoPE with one pair."""
    turn = torch.polar(torch.ones(len(positions)), positions.float())
    return torch.view_as_real(torch.view_as_complex(x.contiguous()) * turn)

# %%
use_style()

# %%
predict("cache.p1", "LLaMA-2-7B, 80 GB, 4,096 tokens each. How many users fit?",
        ["about 4 million", "about 4,000", "about 30"])

# %% [markdown]
# Keep your guess until section 7, where your own function will answer.

# %% [markdown]
# ## 1. Store what does not change
#
# A decoder writes one token at a time. To write token 5, for example, it needs the keys and values of tokens 0 to 4. Since a causal mask hides whatever comes later, these are the same numbers as one step ago. What does it cost to compute them anew all the same?

# %%
predict("cache.p2", "A model writes 1,000 tokens and computes all keys anew at each step. "
        "How many keys does it compute?",
        ["1,000", "500,500", "1,000,000"])

# %%
reveal("cache.p2",
       lambda: f"{sum(range(1, 1001)):,}",
       "Step t computes t keys: 1 + 2 + … + 1,000. With a store, each key is computed once: 1,000.",
       answer="500,500")

# %% [markdown]
# ### Worked example
#
# Suppose that a buffer has room for three tokens, one number each. After the first token its length is 1, so the second goes to slot 1.

# %%
buffer, length = torch.zeros(3), 0
for key in (1.0, 2.0):
    buffer[length] = key
    length += 1
    print(buffer.tolist(), "in use:", buffer[:length].tolist())

# %% [markdown]
# The unused slot is not harmless, because a key of zeros gets the score 0, and a score of 0 gets weight. So only the slots in use are returned.
#
# A real cache holds keys and values of $B$ sequences and $G$ heads, which makes two buffers $(B, G, \text{capacity}, D)$ per layer.

# %% [markdown]
# The drawing shows one step in a layer of four heads, from the bottom up. One token goes in, so every projection gives one row ($T = 1$). Where does the length $S$ of the whole text come in?

# %%
from anatomy import drawings
from anatomy.models import config

drawings.cache(config(d_model=64, n_heads=4))

# %% [markdown] statement="cache.append"
# Write the cache of one layer, in which `append` stores $T$ new tokens behind the old ones and returns all stored keys and values, in order.
#
# More tokens than `capacity` raise a `ValueError`.

# %% exercise="cache.append"
class KVCache:
    """Keys and values of one layer, for up to `capacity` tokens."""

    def __init__(self, B, G, capacity, D):
        self.length = 0
        ### BEGIN SOLUTION
        self.keys = torch.zeros(B, G, capacity, D)
        self.values = torch.zeros(B, G, capacity, D)
        ### END SOLUTION

    def append(self, keys, values):
        """keys, values (B, G, T, D) → all keys (B, G, S, D), all values (B, G, S, D)."""
        ### BEGIN SOLUTION
        end = self.length + keys.shape[2]
        if end > self.keys.shape[2]:
            raise ValueError(f"room for {self.keys.shape[2]} tokens, {end} are needed")
        self.keys[:, :, self.length:end] = keys
        self.values[:, :, self.length:end] = values
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]
        ### END SOLUTION

# %% [markdown] hints="cache.append"
# 1. In the example, which line writes, which counts, and what is handed out? Tokens now come several at a time, so a slot becomes a slice.
# 2. `end = self.length + T`. Check it against the capacity, write both buffers at `[:, :, self.length:end]`, set the length to `end`, return `[:, :, :end]` of both.
# 3. `self.keys[:, :, self.length:end] = keys`, the same for the values, then `self.length = …` and `return self.keys[:, :, :end], …`.

# %% [markdown] worth="cache.append"
# Joining with `torch.cat` would make a new tensor of all $t$ tokens at step $t$, which is 500,500 token copies for a text of 1,000, whereas the buffer writes each token once.

# %% [markdown]
# ## 2. One step, with a past
#
# What does attention compute when some tokens are stored already? The queries are those of the $T$ new tokens, while the keys are those of all $S = \text{past} + T$ tokens. Reading a prompt (*prefill*) is one large chunk with no past, and writing (*decode*) is chunks of $T = 1$.

# %% [markdown]
# ### Worked example
#
# Suppose that two tokens are stored, and a chunk of three comes. Its first token is at position 2 and sees positions 0, 1, 2. So the mask is the causal one of all five tokens, and the chunk uses its last three rows.

# %%
torch.ones(5, 5).tril()[2:].int()

# %% [markdown]
# | tensor | shape |
# |---|---|
# | `q`, `k`, `v`: the chunk | $(B, H, T, D)$, $(B, H, T, D)$, $(B, H, T, D_v)$ |
# | `past`: keys and values | $(B, H, S - T, D)$, $(B, H, S - T, D_v)$ |
# | mask | $(T, S)$: query $t$ sees key $s$ when $s \le S - T + t$ |
# | result | $(B, H, T, D_v)$ |
#
# Here the past is a pair of tensors and not an object, so that each call can be checked alone.

# %% [markdown] statement="cache.step"
# Write causal attention for a chunk with a past. Return the result **and** the pair (all keys, all values), which is the next chunk's past. Score the chunk's queries alone, $T \times S$ numbers per head, because the check counts the work.
#
# With `past=None`, nothing came before.

# %% exercise="cache.step"
def cached_attention(q, k, v, past=None):
    """Causal attention of T new tokens, with a past.

    Args:
        q, k: (B, H, T, D). v: (B, H, T, Dv). past: None or (keys, values) of the tokens before.

    Returns:
        (B, H, T, Dv), and (all keys, all values), each with S tokens.
    """
    ### BEGIN SOLUTION
    if past is not None:
        k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
    T, S = q.shape[2], k.shape[2]
    mask = torch.ones(T, S).tril(S - T).bool()
    scores = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ v, (k, v)
    ### END SOLUTION

# %% [markdown] hints="cache.step"
# 1. In the example the mask's rows are the last three of five. `tril` takes a diagonal: which one starts at the third column?
# 2. Join past and new along axis 2. The mask is `torch.ones(T, S).tril(S - T)`: with no past it is the usual triangle, with $T = 1$ a row of ones. Then scores, softmax, sum as in unit 01.
# 3. `k = torch.cat([past[0], k], dim=2)`, likewise `v`; fill the scores with `-math.inf` where the mask is 0; `return weights @ v, (k, …)`.

# %% [markdown] worth="cache.step"
# Since any plan gives the same result, servers cut long prompts into chunks and let the single tokens of other users ride along with each. This is *chunked prefill* ([Agrawal et al. 2023](https://arxiv.org/abs/2308.16369)).

# %% [markdown]
# ### See it
#
# However the text is cut, the result should be the same. For example, `[1] * 6` is pure decoding, and `[6]` pure prefill.

# %%
def in_chunks(step, q, k, v, plan):
    past, out = None, []
    for chunk in zip(*(x.split(plan, dim=2) for x in (q, k, v)), strict=True):
        result, past = step(*chunk, past)
        out.append(result)
    return torch.cat(out, dim=2)

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 2, 3, 6, 4)
full = cached_attention(q, k, v)[0]
for plan in ([1] * 6, [2, 3, 1], [5, 1]):
    print(plan, (in_chunks(cached_attention, q, k, v, plan) - full).abs().max().item())

# %% [markdown]
# Now step through it with **your** function. Press Step, or point at the rows. To cut the text where you like, press “cuts, stores, positions” first. Cells in full color have a new key, while tinted ones have a key that is only read. (Positions come in section 3, windows and pages in sections 11 and 12.)

# %%
CacheStepper(cached_attention)

# %% [markdown]
# ### Experiment: what the store saves
#
# How much time does the past save? Write $n$ tokens with and without it. Other machines give other milliseconds, so look at the slopes.

# %%
rows = decode.writing_times(cached_attention, [32, 64, 128, 256])
with described("Milliseconds to write n tokens on logarithmic axes: at {n} tokens {slow:.0f} without a past and "
               "{fast:.0f} with one.", n=rows[-1]["n"], slow=rows[-1]["without"], fast=rows[-1]["with"]):
    for name, marker in (("without", "o"), ("with", "s")):
        plt.loglog([r["n"] for r in rows], [r[name] for r in rows], marker=marker, label=f"{name} a past")
    plt.xticks([r["n"] for r in rows], [r["n"] for r in rows]), plt.minorticks_off()
    plt.xlabel("tokens written"), plt.ylabel("ms, one layer of attention"), plt.legend()

# %% [markdown]
# And this is attention alone, whereas a whole model without a store would also run its projections and feed-forward layers on the whole text at every step.

# %% [markdown]
# ## 3. Positions go on counting
#
# At which position does a later chunk start? After five tokens it is position 5. If that is forgotten, a model with RoPE still runs without an error, but gets worse with each chunk.
#
# Keys are stored **rotated**. Since position 3 stays position 3, a stored key never has to be touched again.

# %% [markdown]
# Heads here have $D = 2$, so RoPE is one pair of numbers turned by the position in radians. For that, the function `rotate(x, positions)` is given.

# %%
x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
rotate(x, torch.tensor([0, 1]))

# %% [markdown] statement="cache.rotary_offset"
# Rotate queries and keys of the chunk by their absolute positions (the first token of the text is at 0), then make one step with `cached_attention`. The returned keys are the rotated ones, while values are not rotated.

# %% exercise="cache.rotary_offset"
def rotary_step(q, k, v, past=None):
    """As cached_attention with D = 2, with RoPE; past holds rotated keys."""
    ### BEGIN SOLUTION
    start = 0 if past is None else past[0].shape[2]
    positions = start + torch.arange(q.shape[2])
    return cached_attention(rotate(q, positions), rotate(k, positions), v, past)
    ### END SOLUTION

# %% [markdown] hints="cache.rotary_offset"
# 1. Who knows how many tokens came before? Look at the shapes you have.
# 2. The past's keys have one row per token: `past[0].shape[2]`. Positions are that number plus `torch.arange(T)`. Rotate only the new keys, before they join the past.
# 3. `positions = start + torch.arange(q.shape[2])`, `return cached_attention(rotate(q, positions), rotate(k, …), v, …)`.

# %% [markdown] worth="cache.rotary_offset"
# StreamingLLM ([2309.17453](https://arxiv.org/abs/2309.17453)) goes the other way. Because it drops old tokens, it stores keys *before* the turn, and at each step counts positions anew inside the cache.

# %% [markdown]
# How large is the error of a model whose chunks all start at position 0, compared with yours?

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 8, 2)
full = rotary_step(q, k, v)[0]
restart = lambda q, k, v, past: cached_attention(*(rotate(x, torch.arange(x.shape[2])) for x in (q, k)), v, past)
for name, step in (("going on", rotary_step), ("starting at 0", restart)):
    print(f"{name:14} largest error {(in_chunks(step, q, k, v, [4, 3, 1]) - full).abs().max():.1e}")

# %% [markdown]
# ### See it
#
# A score depends on the *distance* of two positions. When every chunk starts at 0, token 4 of the plan below gets position 0, which is three positions *before* the prompt's last token.

# %%
predict("cache.p6", "A prompt of 4, then one token at a time, each chunk counted from 0. "
        "Which score of token 5 is still right?",
        ["the one with itself", "those with the prompt", "none"])

# %%
torch.manual_seed(0)
q, k = torch.randn(2, 6, 2)
right, wrong = ((rotate(q, at) @ rotate(k, at).T)[5] for at in (torch.arange(6), torch.tensor([0, 1, 2, 3, 0, 0])))

# %%
reveal("cache.p6",
       lambda: f"right for key {torch.isclose(right, wrong, atol=1e-5).nonzero().flatten().tolist()} alone",
       "Token 5 and itself are at distance 0 either way. To key 3 it becomes −3 instead of 2, to key 4 it is 0, not 1.",
       answer="the one with itself")

# %% [markdown]
# Below, positions are read off the keys that **your** `rotary_step` stores, and scores off its result. Switch to the wrong offset and compare with the right scores, then try plans of your own.

# %%
CacheStepper(cached_attention, rotary_step, view=1, chunk=2, step=4)

# %% [markdown]
# ## 4. Extension: two caches in an encoder–decoder
#
# A decoder layer of T5 has two attentions, and each has its cache. That of self-attention grows with each written token. Cross-attention, however, reads the encoder's output, the *memory*, whose $S$ source tokens never change while the answer is written. So its keys and values are computed at the first step.

# %% [markdown] statement="cache.cross"
# Write `forward`, one head of cross-attention with the projections of `__init__`. The first call projects keys and values from `memory` and keeps them. Later calls neither read the memory's contents nor project again, which the check counts.
#
# There is no mask, and the result has `x`'s dtype. A later memory of another shape raises a `ValueError`. Gradients of a first call reach `x`, `memory` and all weights.

# %% exercise="cache.cross"
class CrossAttention(nn.Module):
    """Cross-attention with a cache of its own."""

    def __init__(self, d_model):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.v_proj = nn.Linear(d_model, d_model, bias=False)
        self.stored = None

    def forward(self, x, memory):
        """x (B, T, d_model), memory (B, S, d_model) → (B, T, d_model)."""
        ### BEGIN SOLUTION
        if self.stored is None:
            self.stored = self.k_proj(memory), self.v_proj(memory)
        keys, values = self.stored
        if keys.shape != memory.shape:
            raise ValueError(f"stored {tuple(keys.shape)}, got a memory of {tuple(memory.shape)}")
        scores = self.q_proj(x) @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])
        return scores.softmax(-1) @ values
        ### END SOLUTION

# %% [markdown] hints="cache.cross"
# 1. `self.stored` is None only once. What belongs inside that `if`, and what runs every time?
# 2. First call: store the projected keys and values. Every call: compare shapes, project x to queries, scores over √d_model, softmax, sum of the stored values.
# 3. `if self.stored is None: self.stored = self.k_proj(memory), …`, then `keys, values = self.stored`, then attention as in unit 01.

# %% [markdown] worth="cache.cross"
# Without the store each step would project the memory again, which costs $4Sd^2$ FLOPs per layer, for example 1.2 billion for 512 source tokens and $d = 768$. That is 1,024 times what the newest token's query costs.

# %% [markdown]
# ### Claim on trial
#
# > *"An encoder–decoder encodes its input once. The encoder's output is a fixed memory, so the KV cache does not grow with the input."*

# %%
for S in (100, 1000):
    layer = CrossAttention(64)
    layer(torch.randn(1, 1, 64), torch.randn(1, S, 64))
    print(f"{S:5} source tokens: {sum(t.nbytes for t in layer.stored):8,} bytes in one layer")

# %% [markdown] evidence="exact"
# **Verdict: the cache is fixed in time, but not in size.** The memory is written once and never extended, and so far the claim is right. However, cross-attention stores a key and a value for every source token, in every decoder layer, so ten times the input takes ten times the bytes.

# %% [markdown]
# ## 5. Sharing keys
#
# Does every query head need its own keys? In multi-head attention (MHA) each of $H$ query heads has its own key head. In grouped-query attention (GQA), however, $H/G$ neighboring query heads share one of $G$ key-value heads. The case $G = 1$ is called multi-query attention (MQA).

# %% [markdown]
# ### Worked example
#
# With $H = 4$ and $G = 2$, for example, query heads 0 and 1 read group 0, and heads 2 and 3 read group 1. In general, head $h$ reads group $\lfloor h / (H/G) \rfloor$.

# %%
H, G = 4, 2
[h // (H // G) for h in range(H)]

# %% [markdown]
# The drawings show who reads what, for four query heads of 16 numbers, and below each picture what is stored. Which lines end in the same square?

# %%
drawings.key_value_heads(n_heads=4, n_kv_heads=2, head_dim=16)

# %%
predict("cache.p3", "Two key-value heads a, b serve four query heads. x.repeat(1, 2, 1, 1) on axis 1 gives the order…",
        ["a a b b", "a b a b"])

# %%
reveal("cache.p3",
       lambda: " ".join("ab"[int(i)] for i in torch.tensor([0, 1]).repeat(2)),
       "repeat puts the copies one after the other, so query head 1 would read group 1. No error, but nonsense.",
       answer="a b a b")

# %% [markdown] statement="cache.grouped"
# `repeat_kv` repeats each head $n$ times in a row, $(B, G, S, D) \to (B, G \cdot n, S, D)$.
#
# `grouped_attention` attends with $H$ query heads on $G$ key-value heads. The mask, boolean with True = may look, broadcasts to $(B, H, T, S)$. A `ValueError` is raised when $G$ does not divide $H$.

# %% exercise="cache.grouped"
def repeat_kv(x, n):
    """Heads a b become a a b b for n = 2."""
    ### BEGIN SOLUTION
    return x.repeat_interleave(n, dim=1)
    ### END SOLUTION


def grouped_attention(q, k, v, mask=None):
    """q (B, H, T, D), k (B, G, S, D), v (B, G, S, Dv) → (B, H, T, Dv) (arXiv:2305.13245)."""
    ### BEGIN SOLUTION
    H, G = q.shape[1], k.shape[1]
    if H % G:
        raise ValueError(f"{G} key-value heads cannot serve {H} query heads")
    k, v = repeat_kv(k, H // G), repeat_kv(v, H // G)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ v
    ### END SOLUTION

# %% [markdown] hints="cache.grouped"
# 1. The worked example lists which group each head reads: 0, 0, 1, 1. Which torch function repeats entries in a row?
# 2. `repeat_interleave(n, dim=1)`. Then check $H$ and $G$, repeat keys and values $H/G$ times, and attend as ever.
# 3. `k, v = repeat_kv(k, H // G), repeat_kv(v, …)`, scores over √D, mask, softmax, `@ v`.

# %% [markdown] worth="cache.grouped"
# Groups suit a model that is split over several GPUs. With $G = 8$, for example, each of eight holds one key head, while MQA's single head must be copied to all of them ([2305.13245](https://arxiv.org/abs/2305.13245)).

# %% [markdown]
# PyTorch's own attention has a switch for groups, so it can tell whether yours is right.

# %%
torch.manual_seed(0)
q, k, v = torch.randn(2, 8, 3, 16), torch.randn(2, 2, 7, 16), torch.randn(2, 2, 7, 16)
theirs = nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
(grouped_attention(q, k, v) - theirs).abs().max().item()

# %% [markdown]
# ### Claim on trial
#
# > *"The LLaMA series uses GQA: where there are fewer key-value heads than heads, `repeat_kv` copies keys and values, which lowers the memory that the KV cache takes."*
#
# First, does the whole series share? The table has the parameters of five models, counted from their published configurations, and what the count would be with the other kind of sharing.

# %%
print(*named_models.table(["llama-1-7b", "llama-2-7b", "llama-2-13b", "llama-2-70b", "llama-3-8b"],
                          ["heads", "kv_heads", "published", "counted", "with_8_kv_heads", "with_mha"]), sep="\n")

# %% [markdown]
# The first paper calls its small model 6.7B ([2302.13971](https://arxiv.org/abs/2302.13971), table 2). With 8 key-value heads it would have 5.9 billion parameters, so it does not share.
#
# Second, do the copies save anything? One decoding step, of 32 query heads on 1,024 tokens, is timed three times, with `repeat_kv` alone, with `repeat_kv` and attention, and with attention that reads the $G$ heads where they lie.

# %%
rows = decode.step_times(repeat_kv, 1024, [1, 4, 8, 32])
print("  G   stored MB   repeat_kv ms   with attention   in place ms")
for r in rows:
    print(f"{r['G']:3}{r['bytes'] / 1e6:12.1f}{r['copying']:15.2f}{r['copied']:17.2f}{r['grouped']:14.2f}")

# %% [markdown]
# Whatever $G$ is, the copies are as large as a cache without sharing. `repeat_interleave` makes them even at $G = 32$, where nothing is repeated, whereas `expand` followed by `reshape`, which the recording below uses, copies nothing for $G = 1$ and 32.

# %%
record = recorded("decode")
lengths, heads = sorted({r["S"] for r in record["rows"]}), record["setting"]["H"]
below = [r["copied"] > r["grouped"] for r in record["rows"] if r["G"] < heads]
with described("Milliseconds of one decoding step against key-value heads, recorded on {device}, for {n} lengths: "
               "copying first is slower in {slower} of {all} cases below {heads} heads.",
               device=where(record), n=len(lengths), slower=sum(below), all=len(below), heads=heads):
    for i, S in enumerate(lengths):
        at = [r for r in record["rows"] if r["S"] == S]
        plt.loglog([r["G"] for r in at], [r["grouped"] for r in at], f"C{i}-" + "osD"[i], label=f"{S:,} tokens, in place")
        plt.loglog([r["G"] for r in at], [r["copied"] for r in at], f"C{i}:" + "x+v"[i], label=f"{S:,} tokens, copied")
    plt.xticks([r["G"] for r in at], [r["G"] for r in at]), plt.minorticks_off()
    plt.xlabel("key-value heads G"), plt.ylabel("ms")
    plt.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    plt.title("recorded: " + where(record), fontsize=9)
show_large("decode")

# %% [markdown] evidence="models: llama-1-7b, llama-2-7b, llama-2-13b, llama-2-70b, llama-3-8b + measured: decode"
# **Verdict: not the whole series shares keys, and copying them saves nothing.** LLaMA-1, and LLaMA-2 up to 13B, are MHA, while LLaMA-2 70B and Llama 3 share ([2307.09288](https://arxiv.org/abs/2307.09288), [2407.21783](https://arxiv.org/abs/2407.21783)).
#
# What saves memory is *storing* only $G$ heads, whereas repeating them is extra work. In {{decode.slower.held}} of {{decode.slower.of}} recorded cases with 2 heads or more that are shared, copying first was slower, at the longest cache {{decode.slower.least:.1f}} to {{decode.slower.most:.1f}} times. Good kernels therefore let a group's queries read one key in place.

# %% [markdown]
# ## 6. Extension: from an old model to a new one
#
# Must a model be trained anew to share keys? A trained MHA model can become GQA without starting over. Average the key (and value) heads of each group, then train a little more. For example, here are four heads of one row each, pooled into two groups.

# %%
heads = torch.tensor([0.0, 2.0, 10.0, 20.0])
heads.reshape(2, 2).mean(1)

# %% [markdown] statement="cache.pool_heads"
# Pool a projection matrix from $H$ to $G$ heads, $(H \cdot D, d_{model}) \to (G \cdot D, d_{model})$. Likewise, a bias $(H \cdot D)$ becomes $(G \cdot D)$. Head $h$ owns rows $hD$ to $(h+1)D - 1$, and neighboring heads form a group.
#
# A `ValueError` is raised when `n_kv_heads` does not divide `n_heads`.

# %% exercise="cache.pool_heads"
def pool_heads(weight, n_heads, n_kv_heads):
    """Mean of each group's heads (arXiv:2305.13245, section 2.1)."""
    ### BEGIN SOLUTION
    if n_heads % n_kv_heads:
        raise ValueError(f"{n_heads} heads do not make {n_kv_heads} groups")
    return weight.unflatten(0, (n_kv_heads, n_heads // n_kv_heads, -1)).mean(1).flatten(0, 1)
    ### END SOLUTION

# %% [markdown] hints="cache.pool_heads"
# 1. In the example a head was one row, and the view was (groups, heads per group). Which axis is added when a head has $D$ rows?
# 2. View the first axis as $(G, H/G, D)$, take the mean over axis 1, join the first two axes again. `unflatten(0, …)` leaves all other axes alone, so a bias works too.
# 3. `weight.unflatten(0, (n_kv_heads, n_heads // n_kv_heads, -1)).mean(1).flatten(…)`.

# %% [markdown] worth="cache.pool_heads"
# The paper tried three ways to make a group's head. The mean of the old ones did best, keeping one of them came second, and starting from random numbers last ([2305.13245](https://arxiv.org/abs/2305.13245)).

# %% [markdown]
# ### See it
#
# How much does pooling change what a layer computes? It is exact where a group's heads are equal, and its error grows as they differ.

# %%
torch.manual_seed(0)
q, x = torch.randn(1, 4, 6, 8), torch.randn(1, 6, 32)
split = lambda w: (x @ w.T).unflatten(-1, (-1, 8)).transpose(1, 2)
for spread in (0.0, 0.1, 0.5, 1.0):
    w_k, w_v = (torch.randn(2, 1, 8, 32).expand(2, 2, 8, 32) + spread * torch.randn(2, 2, 8, 32) for _ in "kv")
    w_k, w_v = w_k.reshape(32, 32) / 6, w_v.reshape(32, 32) / 6
    pooled = grouped_attention(q, split(pool_heads(w_k, 4, 2)), split(pool_heads(w_v, 4, 2)))
    error = (pooled - grouped_attention(q, split(w_k), split(w_v))).norm() / pooled.norm()
    print(f"heads differ by {spread:.1f}: relative error {error:.3f}")

# %% [markdown]
# That is why the paper goes on training, and 5 % of the original steps bring most of the quality back ([2305.13245](https://arxiv.org/abs/2305.13245)).

# %% [markdown]
# ## 7. Count the bytes
#
# How many bytes does a token leave in the cache? In each layer it is $G$ keys and $G$ values of $D$ numbers. With $N$ layers and $b$ bytes per number that makes
#
# $$\text{bytes per token} = 2 \cdot N \cdot G \cdot D \cdot b$$
#
# For example, one layer with one head of 4 numbers in 2 bytes needs $2 \cdot 1 \cdot 1 \cdot 4 \cdot 2 = 16$.

# %% [markdown] statement="cache.bytes"
# Write the formula, and the size of **both** caches of one encoder–decoder request, with MHA in all `n_decoder` layers, as integers in bytes. Self-attention stores the `target` tokens written so far, while cross-attention stores a key and a value for each of the `source` tokens that the encoder has read.

# %% exercise="cache.bytes"
def kv_bytes_per_token(n_layers, n_kv_heads, head_dim, itemsize=2):
    """Bytes that one token adds to the cache of a decoder."""
    ### BEGIN SOLUTION
    return 2 * n_layers * n_kv_heads * head_dim * itemsize
    ### END SOLUTION


def encoder_decoder_bytes(n_decoder, n_heads, head_dim, source, target, itemsize=2):
    """Bytes of self- and cross-attention's caches of one request."""
    ### BEGIN SOLUTION
    return kv_bytes_per_token(n_decoder, n_heads, head_dim, itemsize) * (source + target)
    ### END SOLUTION

# %% [markdown] hints="cache.bytes"
# 1. Count one layer by hand: how many vectors does one token leave behind, and how long are they?
# 2. Self-attention holds `target` tokens, cross-attention `source` tokens, both in each decoder layer and with all heads.
# 3. `return 2 * n_layers * n_kv_heads * …`, and `kv_bytes_per_token(…) * (source + …)`.

# %% [markdown] worth="cache.bytes"
# Mistral 7B and Mixtral 8x7B ([2401.04088](https://arxiv.org/abs/2401.04088)) have the same 32 layers, 8 key-value heads and head dim 128. So a token adds the same bytes in both, although Mixtral has more than six times the parameters.

# %% [markdown]
# ### Claim on trial
#
# > *"Per token, each layer stores 2·H·D numbers, H being the attention heads: 16 KiB per layer, 512 KiB in all, 4 GiB at 8,192 tokens."*

# %%
models = {"LLaMA-2-7B": (32, 32, 32, 128), "LLaMA-2-70B": (80, 64, 8, 128), "Llama-3-8B": (32, 32, 8, 128),
          "ChatGLM2-6B": (28, 32, 2, 128)}
for name, (N, H, G, D) in models.items():
    print(f"{name:12} with H: {kv_bytes_per_token(N, H, D):9,}   with G: {kv_bytes_per_token(N, G, D):8,} bytes")
one = kv_bytes_per_token(1, 32, 128)
print(f"{one / 1024:.0f} KiB, {32 * one / 1024:.0f} KiB, {32 * one * 8192 / 2**30:.0f} GiB")

# %% [markdown] evidence="exact"
# **Verdict: right for an MHA model, such as LLaMA at 7B, where G = H, and wrong for a model that shares keys.** What counts is the number of *key-value* heads. With $H$ instead, the formula is 4 times too large for Llama-3-8B and 16 times for ChatGLM2-6B.

# %% [markdown] statement="cache.users"
# How many users' caches fit beside the weights? Round down, and return 0 when the weights alone are too large.
#
# Negative sizes, or a user without any bytes or tokens, raise a `ValueError`, while 0 bytes of memory or of weights are allowed.

# %% exercise="cache.users"
def users_that_fit(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    """Whole users that fit, as an int."""
    ### BEGIN SOLUTION
    if min(memory_bytes, weight_bytes) < 0 or min(bytes_per_token, tokens_per_user) < 1:
        raise ValueError("sizes must not be negative, and a user needs at least one byte")
    return max(0, memory_bytes - weight_bytes) // (bytes_per_token * tokens_per_user)
    ### END SOLUTION

# %% [markdown] hints="cache.users"
# 1. 100 bytes, 30 of them taken, 20 per user: how many whole users?
# 2. Check the arguments. Free memory is `max(0, memory - weights)`; one user takes `bytes_per_token * tokens_per_user`; divide with `//`.
# 3. `return max(0, memory_bytes - weight_bytes) // (…)`.

# %% [markdown] worth="cache.users"
# A full server must still go on writing. vLLM then pauses the newest request, drops or moves out its cache, and resumes it when there is room ([2309.06180](https://arxiv.org/abs/2309.06180), section 4.5).

# %%
reveal("cache.p1",
       lambda: users_that_fit(80 * 10**9, 13_480_000_000, kv_bytes_per_token(32, 32, 128), 4096),
       "Each token of text, some 4 bytes, leaves 524,288 bytes behind. A user with 4,096 tokens takes 2.1 GB.",
       answer="about 30")

# %%
print("users of Llama-3-8B, 8 key-value heads, 16.1 GB of weights:",
      users_that_fit(80 * 10**9, 16_060_000_000, kv_bytes_per_token(32, 8, 128), 4096))
mib = encoder_decoder_bytes(12, 12, 64, 512, 128) / 2**20
print(f"T5-base, 512 tokens in, 128 out: {mib:.1f} MiB, four fifths of it for cross-attention")


# %% [markdown]
# ### See it
#
# Here are real models, with **your** formula. Drag the end of the caches. The button “kinds of attention, lengths of text” adds bars and a curve to point at. Which change lets the most users fit, fewer key heads, a latent, windows, or fewer bytes per number? For example, try Gemma 3 with 131,072 tokens, as built and with every layer full.

# %%
CacheCalculator(kv_bytes_per_token)

# %% [markdown]
# ## 8. A whole step
#
# How fast are all these users served? To write one token for each of $B$ users, a GPU fetches the weights once, for all of them, and the cache of each. Therefore no step is shorter than
#
# $$\frac{\text{weights} + B \cdot \text{tokens} \cdot \text{bytes per token}}{\text{bytes per second}}$$
#
# For example, an A100 with 80 GB fetches 2.0 TB and computes 312 TFLOP per second in bfloat16 (NVIDIA's data sheet).

# %% [markdown]
# ### Worked example
#
# Take Llama-3-8B and one user with 4,096 tokens. The weights are 15.0 GB (of the input embedding, another 1.05 GB, a step reads one row), and the cache is 0.54 GB. Together this is 15.5 GB, which takes 7.8 ms: at most 129 tokens per second.

# %%
predict("cache.p7", "64 such users instead of one. The tokens per second of all together are at most…",
        ["64 times as many", "about 20 times as many", "as many as before"])

# %%
bandwidth, arithmetic, tokens = 2.0e12, 312e12, 4096
served = {"LLaMA-2-7B, 32 key heads": (13_476_831_232, 262_144_000, kv_bytes_per_token(32, 32, 128)),
          "Llama-3-8B, 8 key heads": (16_060_522_496, 1_050_673_152, kv_bytes_per_token(32, 8, 128))}

def fetching(model, users):
    """Least seconds of a step: weights without the input embedding, and all caches."""
    weights, embedding, per_token = served[model]
    return (weights - embedding + users * tokens * per_token) / bandwidth

# %%
reveal("cache.p7",
       lambda: f"{64 * fetching('Llama-3-8B, 8 key heads', 1) / fetching('Llama-3-8B, 8 key heads', 64):.1f} times",
       "The weights are fetched once for all, 15.0 GB. The caches are not: 64 times 0.54 GB.",
       answer="about 20 times as many")

# %%
with described("Most tokens per second against users, by memory traffic: both curves rise and bend. The model with 8 key "
               "heads is above from two users on, and goes on to about four times as many."):
    for model, (weights, _, per_token) in served.items():
        most = users_that_fit(80 * 10**9, weights, per_token, tokens)
        plt.plot(range(1, most + 1), [n / fetching(model, n) for n in range(1, most + 1)], label=model)
        flops = most * weights  # 2 FLOPs per weight of 2 bytes
        print(f"{model:25} {most:3} users: {1e3 * fetching(model, most):.0f} ms to fetch, "
              f"{1e3 * flops / arithmetic:.0f} ms to compute, {most / fetching(model, most):5,.0f} tokens/s")
    plt.xlabel("users, 4,096 tokens each"), plt.ylabel("tokens per second at most"), plt.legend()

# %% [markdown]
# Both lines end where the memory is full. At that point four fifths of a step go to caches, and the arithmetic waits. Sharing keys therefore pays twice, since four times the users fit, and they get almost four times the tokens per second.

# %% [markdown]
# ### What users share
#
# All users share the weights, and they can share caches, too, as far as their texts *begin* alike, because a stored key depends on its token and on those before it, but on nothing after. Suppose that eight requests have one prompt of 1,000 tokens. Read it once, and let all go on from the same past.

# %%
torch.manual_seed(0)
prompt, texts = torch.randn(3, 1, 2, 1000, 2), torch.randn(8, 3, 1, 2, 5, 2)
_, past = rotary_step(*prompt)  # once for all
shared = [rotary_step(*text, past)[0] for text in texts]
apart = [rotary_step(*torch.cat([prompt, text], 3))[0][:, :, 1000:] for text in texts]
print("largest difference:", max((a - b).abs().max().item() for a, b in zip(shared, apart, strict=True)))

# %% [markdown]
# The results are the same, but what does this save in bytes? Take Llama-3-8B as an example, and let each request add 200 tokens.

# %%
per_token = kv_bytes_per_token(32, 8, 128)
one_each, one_prompt = 8 * (1000 + 200) * per_token, (1000 + 8 * 200) * per_token
print(f"a cache each: {one_each:,} bytes; the prompt once: {one_prompt:,}; {one_each / one_prompt:.1f} times less")

# %% [markdown] evidence="exact + cited: 2309.06180"
# **So a batch shares weights, and what its texts have in common at the beginning.** vLLM keeps caches in blocks that may belong to several requests, and copies a block when one of them writes into it ([2309.06180](https://arxiv.org/abs/2309.06180), section 4.4). Whether a step also fetches less depends on the kernel, which must read shared keys once for all queries ([2402.05099](https://arxiv.org/abs/2402.05099)).

# %% [markdown]
# ## 9. Extension: FLOPs per byte
#
# A chip can compute, and it can fetch. For which of the two does a step wait? *Arithmetic intensity* is FLOPs per byte fetched or written. Below the chip's own ratio (the *ridge*) a step waits for memory, above it for arithmetic. For attention alone, it can be counted by hand.

# %% [markdown]
# ### Worked example
#
# Take one query of $D = 2$ on $S = 3$ keys. The scores need $2 \cdot 3 \cdot 2 = 12$ FLOPs, and the weighted sum 12 more. What moves is the query (2 numbers), the keys (6), the values (6) and the result (2), so 16 numbers in 32 bytes, which makes an intensity of $24 / 32 = 0.75$.

# %% [markdown] statement="cache.intensity"
# `attention_cost` returns (FLOPs, bytes) for $T$ queries per user on that user's own $S$ keys, with $H$ query heads and $G$ key-value heads. Count as in the example, where q, k, v are read once, the result is written once, scores and weights stay on the chip, and masked pairs count.
#
# `roofline_seconds` is the least time when computing and fetching overlap.

# %% exercise="cache.intensity"
def attention_cost(B, T, S, H, G, D, itemsize=2):
    """(FLOPs, bytes moved) of attention for B users."""
    ### BEGIN SOLUTION
    flops = 4 * B * H * T * S * D
    numbers = 2 * B * H * T * D + 2 * B * G * S * D
    return flops, numbers * itemsize
    ### END SOLUTION


def roofline_seconds(flops, moved, peak_flops, bandwidth):
    """Seconds; peak_flops in FLOP/s, bandwidth in bytes/s (Williams et al. 2009)."""
    ### BEGIN SOLUTION
    return max(flops / peak_flops, moved / bandwidth)
    ### END SOLUTION

# %% [markdown] hints="cache.intensity"
# 1. Which of the four tensors have $H$ heads, which $G$? Which have $T$ rows, which $S$?
# 2. FLOPs: two products of $2 \cdot H \cdot T \cdot S \cdot D$ per user. Numbers: q and the result have $H \cdot T \cdot D$, k and v have $G \cdot S \cdot D$. The time is the larger of the two quotients.
# 3. `flops = 4 * B * H * T * S * D`, `numbers = 2 * B * D * (H * T + …)`, `return max(flops / peak_flops, …)`.

# %% [markdown] worth="cache.intensity"
# That scores stay on the chip is FlashAttention's doing. Written to memory in 2 bytes, those of 32 heads on 4,096 tokens would fill 1.07 GB, while `q` with $D = 128$ takes 34 MB.

# %%
predict("cache.p4", "One token, 4,096 cached, 32 heads, MHA, 2 bytes. Serving 64 users with texts of their own instead of 1, "
        "the intensity of attention…",
        ["grows 64 times", "stays the same", "falls"])

# %%
intensity = lambda *sizes: attention_cost(*sizes)[0] / attention_cost(*sizes)[1]

# %%
reveal("cache.p4",
       lambda: [round(intensity(B, 1, 4096, 32, 32, 128), 3) for B in (1, 64)],
       "Each text brings keys of its own, 64 times the FLOPs on 64 times the bytes. Keys that serve several queries raise "
       "it: those of shared heads, and those of a shared prompt.",
       answer="stays the same")

# %% [markdown]
# With $S$ large and $T = 1$, all but the keys and values can be left out, and the intensity is
#
# $$\frac{4HSD}{2GSD \cdot b} = \frac{2}{b} \cdot \frac{H}{G}$$
#
# In 2 bytes, that is $H/G$ FLOPs per byte. Where does it lie under the roof of section 8's A100, 312 TFLOP/s and 2.0 TB/s?

# %%
peak, bandwidth = 312e12, 2.0e12
points = {f"decode, G = {G}": (1, 1, 4096, 32, G, 128) for G in (32, 8, 1)} | {"prefill": (1, 4096, 4096, 32, 32, 128)}
with described("Roofline: rate against intensity. Decoding with 32, 8 and 1 key-value heads lies at about 1, 4 and 32 "
               "FLOPs per byte on the slope, prefill at 2,048 touches the flat roof; the ridge is at 156."):
    roof = [0.25, peak / bandwidth, 4000]
    plt.loglog(roof, [min(peak, x * bandwidth) for x in roof], color="gray", label="roof")
    for i, (name, sizes) in enumerate(points.items()):
        flops, moved = attention_cost(*sizes)
        rate = flops / roofline_seconds(flops, moved, peak, bandwidth)
        plt.loglog(flops / moved, rate, "osD^"[i], color=f"C{i}", label=f"{name}: {flops / moved:,.0f} per byte")
    plt.xlabel("FLOPs per byte"), plt.ylabel("FLOP/s at most"), plt.legend(fontsize=8)

# %% [markdown]
# With MHA, attention can use less than 1 % of the chip's arithmetic while decoding, and sharing keys raises that by $H/G$.
#
# Does a real machine behave like that? Below, its roof was measured first (a large copy or sum, and a large matrix product), then decoding on a full cache. The place of each dot is computed by **your** `attention_cost`.

# %%
record = recorded("roofline")
peak, bandwidth, dots = roofline.measured(record, attention_cost)
print("recorded on", where(record))
for name, (x, rate) in dots.items():
    print(f"{name:16} {x:7.1f} FLOPs per byte {rate / min(peak, x * bandwidth):5.0%} of the roof")

# %%
told = "; ".join(f"{name}: {x:.1f} FLOPs per byte, {rate:.1e} FLOP/s" for name, (x, rate) in dots.items())
with described("Roofline measured on {device}. {told}", device=where(record), told=told):
    roof = [0.25, peak / bandwidth, 4000]
    plt.loglog(roof, [min(peak, x * bandwidth) for x in roof], color="gray", label="roof")
    for i, (name, (x, rate)) in enumerate(dots.items()):
        plt.loglog(x, rate, "osD^"[i], color=f"C{i}", label=name)
    plt.xlabel("FLOPs per byte"), plt.ylabel("FLOP/s"), plt.legend(fontsize=8)
    plt.title("recorded: " + where(record), fontsize=9)
show_large("roofline")

# %% [markdown] evidence="measured: roofline"
# **Sharing keys moves decoding to the right and up along the slope, while prefill lies far to the right.** The distance to the roof is what kernels lose. A dot a little above the slope read part of its keys from the chip's own small memory, which the slope leaves out.

# %% [markdown]
# ## 10. Extension: one latent for all heads
#
# Can all heads share what is stored and still have their own keys? Multi-head latent attention (MLA) stores one vector $c$ of $R$ numbers per token, and makes every head's key and value from it, $k_h = W^{UK}_h c$ and $v_h = W^{UV}_h c$. So it stores $R$ numbers instead of $2HD$.
#
# Must decoding then make $H$ keys from every latent, at every step? It need not, because
#
# $$q \cdot (W c) = (W^\top q) \cdot c$$

# %% [markdown]
# ### Worked example
#
# Suppose that $q = (1, 2)$, and that $W$ maps latents of 3 numbers to keys of 2. On the left, a key is made first. On the right, the query moves into the latent space, once, and meets stored latents as they are.

# %%
q, c = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0, 2.0])
W = torch.tensor([[1.0, 0.0, 3.0], [0.0, 1.0, 1.0]])
(q @ (W @ c)).item(), q @ W, ((q @ W) @ c).item()

# %% [markdown]
# The values work alike, because $\sum_s w_s W^{UV} c_s = W^{UV} \sum_s w_s c_s$. Mix latents first, and apply the matrix once.
#
# RoPE would come between $q$ and $W$, different for each position, and forbid this. So MLA adds one small rotated key, shared by all heads and stored with $c$. The exercise leaves it out, except in the bytes.

# %% [markdown]
# The drawing shows DeepSeek-V3's attention, from the bottom up. Only what is in the two dotted boxes is stored, while everything between the latent and the softmax is made anew, for all 128 heads.

# %%
drawings.latent(config(attention="latent", d_model=7168, n_heads=128, head_dim=128, q_rank=1536,
                       kv_rank=512, rope_dim=64, v_dim=128, query_scale=192))

# %% [markdown] statement="cache.latent"
# Write three functions for one sequence, all of whose latents are visible. `absorbed_queries` gives $W_h^\top q$ for each head. `absorbed_attention` attends on latents without ever making a key or a value per head, and the check counts operations. The scale is that of the heads, $\sqrt D$, because the scores are the same numbers as before.
#
# `latent_bytes_per_token` counts $R$ latent and `rope_dim` rotary numbers per layer.

# %% exercise="cache.latent"
def absorbed_queries(q, w_uk):
    """q (H, T, D), w_uk (H, D, R) → (H, T, R)."""
    ### BEGIN SOLUTION
    return q @ w_uk
    ### END SOLUTION


def absorbed_attention(q, c, w_uk, w_uv):
    """q (H, T, D), c (S, R), w_uk (H, D, R), w_uv (H, Dv, R) → (H, T, Dv) (arXiv:2405.04434)."""
    ### BEGIN SOLUTION
    scores = absorbed_queries(q, w_uk) @ c.T / math.sqrt(q.shape[-1])  # (H, T, S)
    mixed = scores.softmax(-1) @ c  # (H, T, R)
    return mixed @ w_uv.transpose(-2, -1)
    ### END SOLUTION


def latent_bytes_per_token(n_layers, kv_rank, rope_dim, itemsize=2):
    """Bytes that one token adds to the cache, as an int."""
    ### BEGIN SOLUTION
    return n_layers * (kv_rank + rope_dim) * itemsize
    ### END SOLUTION

# %% [markdown] hints="cache.latent"
# 1. In the example, `q @ W` was the query in the latent space. With heads, `@` multiplies head by head.
# 2. Scores: absorbed queries times `c.T`, over $\sqrt D$ with $D$ from `q`. Softmax. Mix: weights times `c`. Then each head's `w_uv`, transposed. Bytes: no factor 2, one latent serves keys and values.
# 3. `mixed = (absorbed_queries(q, w_uk) @ c.T / math.sqrt(…)).softmax(-1) @ c`, `return mixed @ w_uv.transpose(…)`.

# %% [markdown] worth="cache.latent"
# The price is arithmetic, since in DeepSeek-V2 a score now multiplies 512 numbers instead of 128, rotary part aside. Decoding waits for memory, so it can afford that.

# %% [markdown]
# ### See it
#
# It should still be the same function as attention in which keys and values are written out, as in training.

# %%
torch.manual_seed(0)
q, c, w_uk, w_uv = torch.randn(8, 1, 16), torch.randn(50, 24), torch.randn(8, 16, 24), torch.randn(8, 16, 24)
expanded = grouped_attention(q[None], (c @ w_uk.mT)[None], (c @ w_uv.mT)[None])[0]
print("difference:", (absorbed_attention(q, c, w_uk, w_uv) - expanded).abs().max().item())
print("numbers per token:", 24, "against", 2 * 8 * 16)

# %% [markdown]
# ### Claim on trial
#
# > *"DeepSeek (678B), 2024."*
#
# Rebuild DeepSeek-V3 from the sizes in its paper ([2412.19437](https://arxiv.org/abs/2412.19437), section 4.2) and its released configuration, with width 7168, 61 layers, 128 heads, latents of 1536 (queries) and 512, three dense layers of 18432, then 256 + 1 experts of 2048.

# %%
d, N, H, vocabulary = 7168, 61, 128, 129280
attention = d * 1536 + 1536 * H * (128 + 64) + d * (512 + 64) + 512 * H * (128 + 128) + H * 128 * d
dense, experts = 3 * 3 * d * 18432, 58 * (257 * 3 * d * 2048 + 256 * d)
print(f"{(N * attention + dense + experts + 2 * vocabulary * d) / 1e9:.1f} billion parameters by hand, "
      f"{named_models.recorded()['deepseek-v3']['counted'] / 1e9:.1f} in the published configuration")
print(f"{latent_bytes_per_token(N, 512, 64):,} bytes per token; as MHA {kv_bytes_per_token(N, H, 128):,}")

# %% [markdown] evidence="models: deepseek-v3 + exact"
# **Verdict: DeepSeek-V3 has 671B parameters, and "DeepSeek" names many models.** For the cache, however, another number counts. With MLA a token of V3 takes 70,272 bytes, which is about half of Llama-3-8B's 131,072, although the model is more than 80 times larger.

# %% [markdown]
# ## 11. Extension: a window that rolls
#
# Must a cache grow with the text? Some layers look only $w$ tokens back, the newest included (unit 09 says why that can be enough). Their cache never needs more than $w$ slots, because position $p$ lives in slot $p \bmod w$ and overwrites position $p - w$.

# %%
w = 3
slots = [None] * w
for p in range(6):
    slots[p % w] = p
    print(p, slots)

# %% [markdown]
# After position 4 the slots hold 3, 4, 2, which is not in order. What `append` returns must be in order again, because the mask counts positions.

# %% [markdown] statement="cache.rolling"
# Write the cache of a window, in which `append` returns the up to `window` − 1 tokens before the chunk, followed by the **whole** chunk, oldest first. The first query of a chunk needs those old ones. Return new tensors, since slots will be overwritten.
#
# A chunk may be longer than the window. How you store the tokens is up to you, but old ones must leave the memory, because the check measures what a cache keeps.

# %% exercise="cache.rolling"
class RollingCache:
    """Keys and values of the last `window` tokens (arXiv:2310.06825)."""

    def __init__(self, B, G, window, D):
        self.window = window
        ### BEGIN SOLUTION
        self.keys = torch.zeros(B, G, 0, D)
        self.values = torch.zeros(B, G, 0, D)
        ### END SOLUTION

    def append(self, keys, values):
        """keys, values (B, G, T, D) → keys, values (B, G, S, D) with S ≤ window − 1 + T."""
        ### BEGIN SOLUTION
        old = max(0, self.keys.shape[2] - (self.window - 1))
        keys = torch.cat([self.keys[:, :, old:], keys], dim=2)
        values = torch.cat([self.values[:, :, old:], values], dim=2)
        self.keys, self.values = keys[:, :, -self.window:], values[:, :, -self.window:]
        return keys, values
        ### END SOLUTION

# %% [markdown] hints="cache.rolling"
# 1. Forget slots for a moment: if you could keep a plain list of the last $w$ tokens, what would you return, and what would you keep?
# 2. Keep at most $w$ tokens. For a new chunk: take the last $w - 1$ of them, put the chunk behind, return all of that, keep its last $w$.
# 3. `keys = torch.cat([self.keys[:, :, old:], keys], dim=2)` with `old = max(0, … - (self.window - 1))`; then `self.keys = keys[:, :, -self.window:]`.

# %% [markdown] worth="cache.rolling"
# A model trained with full attention does not survive this, and breaks down once its first tokens are overwritten. However, keeping the first four for good mostly repairs it ([Xiao et al. 2023](https://arxiv.org/abs/2309.17453)).

# %% [markdown]
# ### See it
#
# Decoding through your cache must equal full attention under a banded mask, however long the text.

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 40, 8)
band = torch.ones(40, 40).tril().triu(-4).bool()
cache, out = RollingCache(1, 2, 5, 8), []
for t in range(40):
    keys, values = cache.append(k[:, :, t:t + 1], v[:, :, t:t + 1])
    out.append(grouped_attention(q[:, :, t:t + 1], keys, values))
print("difference:", (torch.cat(out, 2) - grouped_attention(q, k, v, band)).abs().max().item())
print("tokens that the last query reads:", keys.shape[2])

# %% [markdown]
# Here is the stepper again, now with a window of 3. Which slot will token 7 take, and which token does it overwrite? Press Step and point at its slot. Position and slot are two different numbers, and the keys keep the positions they were turned by.

# %%
CacheStepper(cached_attention, rotary_step, store=1, chunk=3, step=2)

# %% [markdown]
# ## 12. Extension: pages
#
# Nobody knows beforehand how long an answer will be. A buffer per user must therefore be as long as the longest answer, and most of it stays empty. Operating systems, which had the same problem with programs, give out small blocks as they are needed, and keep a table.

# %% [markdown]
# ### Worked example
#
# Suppose that a block has room for 4 tokens. A user with table `[7, 2]` has tokens 0–3 in block 7 and 4–7 in block 2. Token 5, for example, is in column $5 // 4 = 1$, so in block 2, at place $5 \bmod 4 = 1$. Five tokens need two blocks, and three slots are idle.

# %% [markdown] statement="cache.paged"
# - `blocks_needed` returns how many blocks a text of `length` tokens takes.
# - `slot_of` returns the pair (block, place) of token $t$ (counted from 0).
# - `gather` returns a user's keys in order, $(G, \text{length}, D)$, from the pool $(\text{blocks}, G, \text{block size}, D)$ and the user's table, a list of block numbers.

# %% exercise="cache.paged"
def blocks_needed(length, block):
    """Blocks of `block` tokens, as an int."""
    ### BEGIN SOLUTION
    return -(-length // block)
    ### END SOLUTION


def slot_of(table, t, block):
    """(number of the block in the pool, place inside it)."""
    ### BEGIN SOLUTION
    return table[t // block], t % block
    ### END SOLUTION


def gather(pool, table, length):
    """pool (n_blocks, G, block, D) → (G, length, D) (arXiv:2309.06180)."""
    ### BEGIN SOLUTION
    blocks = pool[table]  # (m, G, block, D)
    return blocks.transpose(0, 1).flatten(1, 2)[:, :length]
    ### END SOLUTION

# %% [markdown] hints="cache.paged"
# 1. `pool[table]` picks the blocks in the table's order. Which two axes must be neighbors before they are joined?
# 2. Round up with `-(-length // block)`. The column is `t // block`, the place `t % block`. For `gather`: pick, swap axes 0 and 1, flatten blocks and places into one axis, cut to `length`.
# 3. `pool[table].transpose(0, 1).flatten(…)[:, :length]`.

# %% [markdown] worth="cache.paged"
# Tables may point at the same block. For example, a thousand chats with one system prompt store it once, and a block is copied only when one of them writes into it ([2309.06180](https://arxiv.org/abs/2309.06180), section 4.4).

# %% [markdown]
# ### See it
#
# Here a block holds 3 tokens, and the table is `[2, 0, 1]`. Go through the steps, and say before each where its token will lie.

# %%
CacheStepper(cached_attention, rotary_step, store=2, chunk=0, step=3)

# %% [markdown]
# Suppose that a thousand requests have random lengths, at most 2,048 tokens. How much of the memory given out holds no token?

# %%
lengths = torch.randint(1, 2049, (1000,), generator=torch.Generator().manual_seed(0)).pow(2) // 2048 + 1
print(f"one buffer of 2,048 each: {1 - lengths.sum() / (1000 * 2048):.1%} idle")
for block in (1, 16, 128):
    handed = sum(blocks_needed(n, block) for n in lengths.tolist()) * block
    print(f"blocks of {block:3}: {1 - lengths.sum() / handed:.1%} idle")

# %% [markdown]
# ### Shared blocks
#
# Section 8's eight requests can share their blocks, too. With blocks of 16, the prompt fills 62 blocks and half of another. The full ones appear in all eight tables, whereas the half-filled one is copied for each request that goes on writing in it. Only the last writer keeps the original.

# %%
full, all_blocks = 1000 // 16, blocks_needed(1200, 16)
own = [range(full + u * (all_blocks - full), full + (u + 1) * (all_blocks - full)) for u in range(8)]
tables = [[*range(full), *mine] for mine in own]
pool = torch.randn(len({b for table in tables for b in table}), 8, 16, 4)
prompts = [gather(pool, table, full * 16) for table in tables]
print(f"blocks: {8 * all_blocks} in caches of their own, {len(pool)} shared;",
      "all eight read one prompt:", all(torch.equal(prompts[0], other) for other in prompts))

# %% [markdown]
# ### Claim on trial
#
# > *"Architecture of the newest models, presumably: decoder-only with efficient attention, such as FlashAttention and PagedAttention."*
#
# If these were architecture, they would change what the model computes. So attend on a contiguous cache, and on the same tokens scattered over pages.

# %%
torch.manual_seed(0)
keys, values, pool = torch.randn(2, 10, 4), torch.randn(2, 10, 4), torch.zeros(2, 6, 2, 4, 4)
table, query = [5, 0, 3], torch.randn(1, 2, 1, 4)
for t in range(10):
    block, place = slot_of(table, t, 4)
    pool[0, block, :, place], pool[1, block, :, place] = keys[:, t], values[:, t]
paged = grouped_attention(query, gather(pool[0], table, 10)[None], gather(pool[1], table, 10)[None])
torch.equal(paged, grouped_attention(query, keys[None], values[None]))

# %% [markdown]
# Now compute the same attention by FlashAttention, which PyTorch has for this chip as well.

# %%
with nn.attention.sdpa_kernel(nn.attention.SDPBackend.FLASH_ATTENTION):
    flash = nn.functional.scaled_dot_product_attention(query, keys[None], values[None])
(flash - paged).abs().max().item()

# %% [markdown] evidence="exact + cited: 2205.14135"
# **Verdict: neither of the two is architecture.** Pages say where a cache lies, and FlashAttention in which order exact attention is computed ([2205.14135](https://arxiv.org/abs/2205.14135)). Both run on old models without retraining, whereas GQA, MLA and windows change the function.

# %% [markdown]
# ## 13. Extension: integers
#
# Can each stored number take fewer bytes? To halve them, store whole numbers from −127 to 127 and one scale per slice.
#
# $$\text{scale} = \frac{\max |x|}{2^{\text{bits} - 1} - 1}, \qquad \text{code} = \text{round}\!\left(\frac{x}{\text{scale}}\right)$$
#
# In 3 bits, for example, the largest code is 3. For 0.2, 0.85, −1.5 the scale is 0.5, the codes are 0, 2, −3, and back come 0, 1, −1.5. No entry moves by more than half a scale.

# %% [markdown] statement="cache.quantize"
# Write both directions, where `dim` is the axis that shares a scale, and the scale keeps it with size 1. Codes are `torch.int8`, a slice of zeros has scale 0 and codes 0, and `dequantize` gives float32.
#
# `bits` outside 2 to 8 raises a `ValueError`.

# %% exercise="cache.quantize"
def quantize(x, dim, bits=8):
    """x float32 or float64 → (codes int8 of the same shape, scale of x's dtype with size 1 along dim)."""
    ### BEGIN SOLUTION
    if not 2 <= bits <= 8:
        raise ValueError(f"bits must lie in 2 to 8, got {bits}")
    scale = x.abs().amax(dim=dim, keepdim=True) / (2 ** (bits - 1) - 1)
    safe = torch.where(scale == 0, torch.ones_like(scale), scale)
    return torch.round(x / safe).to(torch.int8), scale
    ### END SOLUTION


def dequantize(codes, scale):
    """codes · scale, as float32 whatever the scale's dtype."""
    ### BEGIN SOLUTION
    return (codes * scale).float()
    ### END SOLUTION

# %% [markdown] hints="cache.quantize"
# 1. Work the example backwards: which division gives 0.5 from −1.5 and 3 bits?
# 2. `x.abs().amax(dim=dim, keepdim=True)` over the largest code is the scale. Divide, round, convert. Where the scale is 0, divide by 1 instead.
# 3. `scale = x.abs().amax(dim=dim, keepdim=True) / (2 ** (bits - 1) - 1)`; codes are `torch.round(x / …).to(torch.int8)`.

# %% [markdown] worth="cache.quantize"
# In 8 bits the code −128 stays unused, so that 0 is exactly 0 and $-x$ gets minus the code of $x$. One 16-bit scale for 128 numbers adds an eighth of a bit to each.

# %% [markdown]
# ### Experiment: which axis?
#
# Which numbers should share a scale, those of a token or those of a channel? Keys of real models have a few channels that are large for every token ([KIVI](https://arxiv.org/abs/2402.02750)). To imitate one, make channel 3 ten times larger.

# %%
predict("cache.p5", "4 bits, one large channel. The smaller error comes from one scale…",
        ["per token", "per channel", "both are equal"])

# %%
torch.manual_seed(0)
flat, spiky = torch.randn(1, 1, 200, 16), torch.randn(1, 1, 200, 16)
spiky[..., 3] *= 10
def error(x, dim, bits):
    others = torch.arange(16) != 3
    return (dequantize(*quantize(x, dim, bits)) - x)[..., others].pow(2).mean().sqrt().item()

# %%
bits = list(range(3, 9))
with described("Root mean square error of the fifteen ordinary channels against bits: within a factor of two for even "
               "keys; with one large channel a scale per token is about three times worse than a scale per channel."):
    for i, (name, x) in enumerate((("even keys", flat), ("one large channel", spiky))):
        plt.semilogy(bits, [error(x, -1, b) for b in bits], f"C{i}-" + "os"[i], label=f"{name}, scale per token")
        plt.semilogy(bits, [error(x, -2, b) for b in bits], f"C{i}:" + "x+"[i], label=f"{name}, scale per channel")
    plt.xlabel("bits"), plt.ylabel("error of the other channels"), plt.legend(fontsize=8)

# %%
reveal("cache.p5",
       lambda: f"per token {error(spiky, -1, 4):.2f}, per channel {error(spiky, -2, 4):.2f}",
       "A slice is as coarse as its largest entry makes it. Per token, every slice contains the large channel.",
       answer="per channel")

# %% [markdown]
# ## 14. Your own experiment
#
# What does sharing keys cost, and what does it save? The model below is a small two-layer Transformer that reads Jane Austen's novels character by character and attends with your `grouped_attention`. Its loss is in nats per character (one nat is 1.44 bits), and lower is better.

# %%
from anatomy.experiments.growing import grow

for G in (4, 2, 1):
    grown = grow(seed=0, n_kv_heads=G, attend=grouped_attention)
    print(f"{G} key-value heads: {grown.loss:.3f} nats per character, {grown.parameters:,} parameters, "
          f"{kv_bytes_per_token(2, G, 16)} bytes of cache per token")

# %% [markdown]
# Nothing here is graded. The models with fewer key heads also have fewer parameters, so what would you change to make the comparison fair, for example with `d_model`, `n_heads` or `steps`? Run at least two seeds, and write down how much loss you would pay for half the cache.

# %% [markdown] written="question"
# A server with a KV cache is right while it reads a prompt in one chunk, and wrong as soon as it writes, one token at a time. The full forward pass is right. Which two faults can do this? Say for each what it does to the scores, and describe a test that tells the two apart.
#
# - what is different in the first step that has a past
# - for each fault: which keys get a wrong score, or none
# - a part that can be switched off, or one stored key that can be changed

# %% [markdown] written="answer" points=4
# First, positions may start at 0 in every chunk. Stored keys keep their own, so distances are wrong: in the unit's plan token 5 stands at −3 from key 3 instead of 2, and only its score with itself is right. Second, a chunk may use the first $T$ rows of the square mask instead of the last; a single token then sees key 0 alone. One chunk without a past is right with both, since its positions and rows do start at 0. To tell them apart, run without RoPE: the first fault vanishes, the second stays. Or change the stored key 3: with the second fault the output does not move.
#
# ### BEGIN MARK SCHEME
# - 1 point: one fault that needs a past: positions, rows of the mask, stored keys written over or rotated again.
# - 1 point: a second one of another kind.
# - 1 point: for both, what happens to the scores.
# - 1 point: a test that separates them. Comparing with the full pass finds both and separates none.
# - No point: causes that a single chunk would show too, such as $H/G$ groups in the wrong order.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("Five tokens are cached, a chunk of three comes. Its second token may look at…",
     {"two keys": (False, "Those of its own chunk; the past counts too."),
      "seven keys": (True, "Positions 0 to 6: itself and all before."), "eight keys": (False, "The last one comes later.")})

# %%
quiz("Which change makes the cache of LLaMA-2-7B four times smaller?",
     {"8 key-value heads instead of 32": (True, "Bytes are proportional to G."),
      "repeat_kv with n = 4": (False, "It makes copies while computing; nothing stored gets smaller."),
      "8 query heads instead of 32": (False, "Queries are never stored.")})

# %%
quiz("A batch of 64 users decodes, each with a text of their own. What do they share?",
     {"weights": (True, "Fetched once for all. So batching helps, until the caches outweigh them."),
      "caches": (False, "Only where texts begin alike."), "nothing": (False, "All use the same weights.")})

# %%
quiz("On a full GPU each step fetches 15 GB of weights and 64 GB of caches. Which change helps most?",
     {"weights in half the bytes": (False, "7.5 GB less, of 79."),
      "caches in half the bytes": (True, "32 GB less of 79, or twice the users."),
      "a GPU with twice the FLOP/s": (False, "The step waits for memory, not for arithmetic.")})

# %%
quiz("Extension, section 10. MLA's scores are computed on latents of 512 numbers, heads have 128 + 64. Which root is divided by?",
     {"√512": (False, "The scores are the same numbers as q·k of the heads."),
      "√192": (True, "Size of the head's query, rotary part included."), "none": (False, "Absorbing changes no score.")})

# %%
quiz("Extension, section 11. A window of 4,096, a text of 100,000 tokens. That layer's cache holds…",
     {"4,096 tokens": (True, "It stopped growing there."), "100,000 tokens": (False, "The old ones are overwritten."),
      "24 tokens": (False, "That is the number of full turns.")})

# %%
progress("08-kv-cache-and-gqa")

# %% [markdown]
# ## Where this lives in real models
#
# | what | where |
# |---|---|
# | one key head for all | [Shazeer 2019](https://arxiv.org/abs/1911.02150), [PaLM](https://arxiv.org/abs/2204.02311) |
# | groups | [Ainslie et al. 2023](https://arxiv.org/abs/2305.13245), Llama 3, [Mistral](https://arxiv.org/abs/2310.06825), [Qwen 2](https://arxiv.org/abs/2407.10671) |
# | latents | [DeepSeek-V2](https://arxiv.org/abs/2405.04434) and V3 |
# | rolling windows | Mistral 7B, every other layer of [Gemma 2](https://arxiv.org/abs/2408.00118) |
# | pages | [vLLM](https://arxiv.org/abs/2309.06180) |
# | integers | [KIVI](https://arxiv.org/abs/2402.02750) |
# | what inference costs | [Pope et al. 2022](https://arxiv.org/abs/2211.05102) |
#
# The cache grows with the text, and so does the time of a step. The next unit, **09-sparse-attention**, asks what happens if each token looks at fewer keys.

