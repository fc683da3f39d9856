# %% [markdown]
# # Normalization
#
# **You will be able to**
#
# - write LayerNorm and RMSNorm, and say what each does not notice;
# - derive a part of LayerNorm's gradient, and write all of it;
# - keep a norm working in half precision, and say what a norm costs;
# - in the extension: tell batch, layer, instance and group norm apart by their axes.
#
# **Prerequisites:** unit 00; mean, variance, the chain rule. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Three words, each made of three numbers:
#
# - $x = (1, 3, 5)$
# - $y = (101, 103, 105)$, which is $x$ plus 100
# - $z = (10, 30, 50)$, which is $x$ times 10
#
# Machine A gives all three the same answer. Machine B gives $x$ and $z$ the same answer, and $y$ a different one. BERT and GPT-2 use machine A, LLaMA uses machine B.
#
# What do they compute? You will work both out by hand with these numbers, then build them.

# %% setup=true
import math

import torch

from anatomy import case, check, predict, progress, quiz, reveal

# %%
import matplotlib.pyplot as plt
from anatomy.plots import described, use_style
from anatomy.widgets import NormExplorer

use_style()

# %% [markdown]
# ## 1. Why normalize?
#
# Each layer multiplies. If it makes its input 1.5 times as large, thirty layers make it $1.5^{30} \approx 190{,}000$ times as large, and a factor of 0.7 leaves nothing. A careful initialization can set all thirty factors to 1, but training moves them. A norm after each layer sets the size again in every step.

# %%
def sizes(factor, norm, layers=30, d=64):
    torch.manual_seed(0)
    x, seen = torch.randn(d), []
    for _ in range(layers):
        x = norm(x @ (torch.randn(d, d) * factor / math.sqrt(d)))
        seen.append(x.std().item())
    return seen

# %%
with described("Size of a vector through 30 layers, logarithmic: explodes at 1.5, vanishes at 0.7, stays 1 with a norm"):
    for factor, norm in ((1.5, lambda x: x), (0.7, lambda x: x), (1.5, lambda x: (x - x.mean()) / x.std())):
        plt.semilogy(sizes(factor, norm))
    plt.legend(["factor 1.5", "factor 0.7", "factor 1.5, normalized"]), plt.xlabel("layer"), plt.ylabel("standard deviation")

# %% [markdown]
# ## 2. LayerNorm
#
# Worked example with $x = (1, 3, 5)$:
#
# - mean: $(1+3+5)/3 = 3$
# - centered: $(-2, 0, 2)$
# - variance: $(4 + 0 + 4)/3 = 8/3$. Divided by 3, not by 2.
# - standard deviation: $\sqrt{8/3} = 1.633$
# - normalized: $(-2, 0, 2)/1.633 = (-1.225, 0, 1.225)$

# %%
x = torch.tensor([1.0, 3.0, 5.0])
centered = x - x.mean()
centered / (centered**2).mean().sqrt()

# %% [markdown]
# And the others? $y$ has the mean 103 and the same centered vector. $z$ is centered to $(-20, 0, 20)$ with a deviation of 16.33. All three become $(-1.225, 0, 1.225)$: LayerNorm is machine A.
#
# What about $(7, 7, 7)$? Its deviation is 0, and 0/0 is NaN. So a small $\varepsilon$ is added to the variance, **inside** the root.

# %% [markdown]
# $$\text{LayerNorm}(x) = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta$$
#
# Shapes: $x$ is $(B, T, d)$. Each of the $B \cdot T$ words has its own $\mu$ and $\sigma^2$, so both are $(B, T, 1)$. The learned $\gamma$ (weight) and $\beta$ (bias) are $(d,)$, and shared by all words ([Ba et al. 2016](https://arxiv.org/abs/1607.06450)).

# %% [markdown] statement="norm.layer_norm"
# Write LayerNorm over the last axis. The variance divides by $d$, and $\varepsilon$ stands inside the root. The first line is given.

# %% exercise="norm.layer_norm"
def layer_norm(x, weight, bias, eps=1e-5):
    """LayerNorm over the last axis (arXiv:1607.06450).

    Args:
        x: (..., d) float tensor; entries near 10,000 may differ by a few units. weight, bias: (d,).
        eps: added to the variance.

    Returns:
        (..., d) tensor of the dtype of x. Gradients flow to x, weight and bias.
    """
    centered = x - x.mean(-1, keepdim=True)  # (..., d)
    ### BEGIN SOLUTION
    variance = (centered**2).mean(-1, keepdim=True)  # (..., 1)
    return weight * centered / torch.sqrt(variance + eps) + bias
    ### END SOLUTION

# %% [markdown] hints="norm.layer_norm"
# 1. Go through the worked example line by line. Which of its steps is done by the given line?
# 2. `keepdim=True` leaves $(\ldots, 1)$, which fits beside $(\ldots, d)$. The mean of the squares of `centered` is the variance; `torch.var` divides by $d-1$ unless told otherwise.
# 3. `variance = (centered**2).mean(-1, keepdim=True)`, then `weight * centered / torch.sqrt(…) + bias`

# %% [markdown] worth="norm.layer_norm"
# Why center first? The shortcut mean(x²) − mean(x)² gives 0 for (10001, 10003, 10005) in float32. Both terms are near 10⁸, where neighboring numbers lie 8 apart, and the variance is 8/3.

# %%
words = torch.tensor([[1.0, 3.0, 5.0], [101.0, 103.0, 105.0], [10.0, 30.0, 50.0]])
layer_norm(words, torch.ones(3), torch.zeros(3))

# %% [markdown]
# ## 3. RMSNorm
#
# Machine B leaves the mean in. It only divides by the size, the *root mean square*. By hand:
#
# - squares of $(1, 3, 5)$: $(1, 9, 25)$, their mean $35/3$
# - root: 3.416
# - normalized: $(0.293, 0.878, 1.464)$
#
# $$\text{RMSNorm}(x) = \gamma \odot \frac{x}{\sqrt{\frac1d\sum_i x_i^2 + \varepsilon}}$$
#
# There is no bias ([Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467)).

# %% [markdown] statement="norm.rms_norm"
# Write RMSNorm over the last axis: the *mean* of the squares, and $\varepsilon$ inside the root.

# %% exercise="norm.rms_norm"
def rms_norm(x, weight, eps=1e-6):
    """RMSNorm over the last axis (arXiv:1910.07467).

    Args:
        x: (..., d) float tensor. weight: (d,). eps: added to the mean square.

    Returns:
        (..., d) tensor of the dtype of x. Gradients flow to x and weight.
    """
    ### BEGIN SOLUTION
    return weight * x / torch.sqrt((x**2).mean(-1, keepdim=True) + eps)
    ### END SOLUTION

# %% [markdown] hints="norm.rms_norm"
# 1. Redo the three lines of the example with code, for one vector.
# 2. Square, mean over the last axis with `keepdim=True`, add ε, root, divide, weight.
# 3. `return weight * x / torch.sqrt((x**2).mean(…) + eps)`

# %% [markdown] worth="norm.rms_norm"
# T5 has this norm under another name: its paper speaks of a simplified layer normalization that only rescales and has no bias ([Raffel et al. 2019](https://arxiv.org/abs/1910.10683)). Hugging Face's class is called `T5LayerNorm`.

# %%
rms_norm(words, torch.ones(3))

# %% [markdown]
# $x$ and $z$ agree, $y$ differs: machine B. The numbers of $y$ come out close to 1 each, because 101, 103 and 105 are almost equal beside their size.

# %% [markdown]
# ### Claim on trial
#
# > *"$\text{RMSNorm}(x) = \frac{x}{\sqrt{\lVert x\rVert_2^2 + \varepsilon}}\cdot\gamma$"*
#
# Without the $1/d$. Does it matter? Try LLaMA's 4096 numbers:

# %%
torch.manual_seed(0)
wide = torch.randn(4096)
claimed = wide / torch.sqrt(wide.pow(2).sum() + 1e-6)
right = rms_norm(wide, torch.ones(4096))
print(f"size of an entry: {claimed.std():.4f} instead of {right.std():.4f}, a factor of {(right / claimed).mean():.1f}")

# %% [markdown] evidence="exact"
# **Verdict: off by $\sqrt d$.** That is the vector scaled to *length* 1. RMSNorm scales it to length $\sqrt d$, so that each entry has a size of about 1, whatever the width. A checkpoint run with the claimed formula would see everything 64 times too small.

# %% [markdown]
# ### Claim on trial
#
# > *"In LLaMA, RMSNorm may also get a bias."*
#
# LLaMA-2-7B has 6,738,415,616 parameters. Its 32 layers have two norms each, and there is one at the end. Count with and without a bias:

# %%
d, ff, layers, vocabulary = 4096, 11008, 32, 32000
matrices = 2 * vocabulary * d + layers * (4 * d * d + 3 * d * ff)
for vectors, name in ((1, "weight only"), (2, "weight and bias")):
    print(f"{name:16} {matrices + (2 * layers + 1) * vectors * d:,}")

# %% [markdown] evidence="exact"
# **Verdict: it has none.** The published number leaves room for one vector per norm, to the last parameter.

# %% [markdown]
# ## 4. What a norm does not notice
#
# Compare the two formulas: RMSNorm is LayerNorm without the centering. So center first, and the two are the same.

# %% [markdown] statement="norm.from_rms"
# Write LayerNorm (without weight and bias) in two steps: subtract each token's mean, then call **your** `rms_norm` with a weight of ones. Hand `eps` on.

# %% exercise="norm.from_rms"
def layer_norm_from_rms(x, eps=1e-5):
    """LayerNorm without weight and bias by way of rms_norm: x (..., d) → (..., d) of the same dtype."""
    ### BEGIN SOLUTION
    return rms_norm(x - x.mean(-1, keepdim=True), torch.ones(x.shape[-1]), eps)
    ### END SOLUTION

# %% [markdown] hints="norm.from_rms"
# 1. What is the mean square of a vector whose mean is 0?
# 2. The mean needs `-1` and `keepdim=True`, so that each token loses its own.
# 3. `return rms_norm(x - …, torch.ones(x.shape[-1]), eps)`

# %% [markdown] worth="norm.from_rms"
# If the matrices that feed a norm only write vectors of mean 0, the first step has nothing to do. Centering them turns a trained Pre-LN model (unit 03) into an RMSNorm model with equal outputs ([Jiang et al. 2023](https://arxiv.org/abs/2305.14858)).

# %% [markdown]
# "Does not notice" can be measured. Scale and shift the input, and see by how much the output moves at most. By hand for the function that changes nothing, $x = (1,3,5)$ and $2x + 3 = (5, 9, 13)$: the outputs differ by 4, 6 and 8, at most by 8.

# %% [markdown] statement="norm.invariance"
# Return, as a float, the largest absolute change of an output entry when the input $x$ becomes $\text{scale}\cdot x + \text{shift}$:
#
# $$\max_i \big|\,\text{norm}(\text{scale}\cdot x + \text{shift})_i - \text{norm}(x)_i\,\big|$$

# %% exercise="norm.invariance"
def largest_change(norm, x, scale, shift):
    """Largest change of an output of norm; norm is a function of one tensor. Returns a float."""
    ### BEGIN SOLUTION
    return (norm(scale * x + shift) - norm(x)).abs().max().item()
    ### END SOLUTION

# %% [markdown] hints="norm.invariance"
# 1. How often does `norm` run?
# 2. Twice: on the changed input and on the old one. Then difference, absolute value, maximum.
# 3. `return (norm(scale * x + shift) - norm(x)).….item()`

# %% [markdown] worth="norm.invariance"
# A norm hides the size of the matrix before it: double that matrix and (ε aside) no output changes, but its gradient halves. Weight decay on it acts on the step size, not on the function ([van Laarhoven 2017](https://arxiv.org/abs/1706.05350)).

# %%
one, zero = torch.ones(64), torch.zeros(64)
norms = {"LayerNorm": lambda v: layer_norm(v, one, zero), "RMSNorm": lambda v: rms_norm(v, one)}
torch.manual_seed(0)
v = torch.randn(64)

# %%
predict("norm.p1", "Which of the two norms gives −x the same output as x?",
        ["both", "LayerNorm only", "RMSNorm only", "neither"])

# %%
reveal("norm.p1",
       lambda: {name: f"moves by {largest_change(norm, v, -1, 0):.2f}" for name, norm in norms.items()},
       "Neither. A norm divides by a size, and sizes are positive: the sign of the vector survives.",
       answer="neither")

# %%
for name, norm in norms.items():
    print(f"{name:10} scale 10: {largest_change(norm, v, 10, 0):.5f}   shift 10: {largest_change(norm, v, 1, 10):.5f}")

# %% [markdown]
# Both ignore the scale (the 0.00001 is $\varepsilon$'s doing), only LayerNorm ignores the shift.

# %% [markdown]
# ## See it move
#
# Your two functions, side by side. Move **shift**: which bars stand still? Then make **scale** small and **ε** large, until the invariance to scale ends. Why there?

# %%
NormExplorer({"layer_norm": layer_norm, "rms_norm": rms_norm})

# %% [markdown]
# ## 5. The gradient of LayerNorm
#
# Training sends a gradient back through the norm. What LayerNorm does not notice, no gradient can ask for: shifts and scales must be gone from it.
#
# Worked example, for the first half. Centering, $c = x - \text{mean}(x)$, has the backward pass $g \mapsto g - \text{mean}(g)$: the same projection.

# %%
x = torch.tensor([1.0, 3.0, 5.0], requires_grad=True)
g = torch.tensor([0.0, 1.0, 0.0])
(x - x.mean()).backward(g)
x.grad, g - g.mean()

# %% [markdown]
# The division by $\sigma$ removes a second direction, that of $\hat x$ itself (a longer $x$ has the same $\hat x$). With $\hat x$ the normalized input and $g = \gamma\odot\text{grad}$:
#
# $$dx = \frac{1}{\sqrt{\sigma^2+\varepsilon}}\Big(g - \underbrace{\text{mean}(g)}_{\text{shift}} - \hat x\,\underbrace{\text{mean}(g \odot \hat x)}_{\text{scale}}\Big)$$
#
# Weight and bias are shared by all tokens, so their gradients are sums over tokens: of $\text{grad}\odot\hat x$ and of $\text{grad}$.

# %% [markdown] statement="norm.backward"
# `grad` is the gradient with respect to LayerNorm's output. Return `(dx, dweight, dbias)`: $dx$ like $x$, the other two of shape $(d,)$, summed over all axes but the last. `x` has at least two axes. The lines up to `dbias` are given.

# %% exercise="norm.backward"
def layer_norm_backward(grad, x, weight, eps=1e-5):
    """Gradients of LayerNorm by hand.

    Args:
        grad, x: (..., d) float tensors with at least two axes. weight: (d,).

    Returns:
        dx (..., d), dweight (d,), dbias (d,), of the dtype of x.
    """
    centered = x - x.mean(-1, keepdim=True)
    inverse = torch.rsqrt((centered**2).mean(-1, keepdim=True) + eps)  # 1/σ, (..., 1)
    x_hat = centered * inverse
    dbias = grad.flatten(0, -2).sum(0)
    ### BEGIN SOLUTION
    g = grad * weight
    shift, scale = g.mean(-1, keepdim=True), (g * x_hat).mean(-1, keepdim=True)
    return inverse * (g - shift - x_hat * scale), (grad * x_hat).flatten(0, -2).sum(0), dbias
    ### END SOLUTION

# %% [markdown] hints="norm.backward"
# 1. Which of the three results is a copy of `dbias` with one more factor?
# 2. `g` first. Then two means over the last axis with `keepdim=True`, one of `g`, one of `g * x_hat`; both are subtracted, the second times `x_hat`. All times `inverse`.
# 3. `dx = inverse * (g - g.mean(-1, keepdim=True) - x_hat * …)` and `dweight = (grad * x_hat).flatten(0, -2).sum(0)`

# %% [markdown] worth="norm.backward"
# For the backward pass PyTorch's own kernel saves `x` and two numbers per token, the mean and 1/σ, and recomputes x̂. Written step by step, autograd keeps several tensors as large as `x`.

# %% [markdown]
# Does autograd agree? And are the two directions really gone? (What is left along $\hat x$ is $\varepsilon$'s doing.)

# %%
torch.manual_seed(0)
x, weight, grad = torch.randn(2, 4, 8, requires_grad=True), torch.randn(8), torch.randn(2, 4, 8)
layer_norm(x, weight, torch.zeros(8)).backward(grad)
dx = layer_norm_backward(grad, x.detach(), weight)[0]
x_hat = layer_norm(x.detach(), torch.ones(8), torch.zeros(8))
{"against autograd": (dx - x.grad).abs().max(), "along 1": dx.sum(-1).abs().max(), "along x̂": (dx * x_hat).sum(-1).abs().max()}

# %% [markdown]
# ### Claim on trial
#
# > *"The gradient of LayerNorm depends on statistics of the batch, so it fluctuates."*
#
# Take the Jacobian of word 0 (how its output moves with its input), then change word 1. Do the same for batch norm, which takes its statistics over the words.

# %%
from torch.autograd.functional import jacobian

torch.manual_seed(0)
words = torch.randn(5, 4)
other = words.clone()
other[1] *= 5
over = lambda axis: lambda x: ((x - x.mean(axis, keepdim=True)) / (x.var(axis, correction=0, keepdim=True) + 1e-5).sqrt())[0]
for name, norm in {"layer norm": over(1), "batch norm": over(0)}.items():
    before, after = (jacobian(norm, x)[:, 0] for x in (words, other))
    print(f"{name}: the Jacobian of word 0 moves by {(before - after).abs().max():.2g}")

# %% [markdown] evidence="exact"
# **Verdict: wrong; that is batch norm.** LayerNorm's statistics belong to one word. Change another word, and nothing moves at all.

# %% [markdown]
# ## 6. Half precision
#
# float16 ends at 65,504. A number of size 1000 is safe, its square is not. And such numbers occur: trained LLaMA models hold entries in the thousands ([Sun et al. 2024](https://arxiv.org/abs/2402.17762)).

# %%
predict("norm.p2", "rms_norm of float16 (1000, 3000, 5000), computed in float16. The result is…",
        ["0.29, 0.88, 1.46 as usual", "a little off", "all zeros", "NaN"])

# %%
big = torch.tensor([1000.0, 3000.0, 5000.0]).half()

# %%
reveal("norm.p2",
       lambda: (big / (big**2).mean().add(1e-6).sqrt()).tolist(),
       "1000² is a million, beyond float16: the mean square is infinite, and x/∞ is 0. No error, no NaN, a dead layer.",
       answer="all zeros")

# %% [markdown] statement="norm.half_precision"
# Write RMSNorm so that it survives: compute in float32, and return the dtype of `x`, which may be float16, bfloat16 or float32. The weight may have another dtype than `x`.
#
# LLaMA casts back first and multiplies by the weight then; Gemma the other way round. Both are accepted.

# %% exercise="norm.half_precision"
def rms_norm_half(x, weight, eps=1e-6):
    """RMSNorm computed in float32.

    Args:
        x: (..., d) float16, bfloat16 or float32. weight: (d,), any of these.

    Returns:
        (..., d) tensor of the dtype of x. Gradients flow to x and weight, through float32 as well.
    """
    ### BEGIN SOLUTION
    work = x.float()
    normed = work * torch.rsqrt((work**2).mean(-1, keepdim=True) + eps)
    return normed.to(x.dtype) * weight.to(x.dtype)
    ### END SOLUTION

# %% [markdown] hints="norm.half_precision"
# 1. At which moment does the overflow happen? The cast must come before it.
# 2. `x.float()`, then your rms_norm on it, then `.to(x.dtype)`. A float32 weight times a float16 tensor gives float32.
# 3. `work = x.float()`, …, `return normed.to(x.dtype) * weight.to(x.dtype)`

# %% [markdown] worth="norm.half_precision"
# bfloat16 would not overflow here, since it has the range of float32. But it has only 8 significant bits: a sum of ones, added one by one, stops growing at 256.

# %% [markdown]
# ### Claim on trial
#
# > *"`eps: float = 1e-8` avoids the division by zero."*
#
# So says an RMSNorm in course notes. It computes in the dtype of its input.

# %%
zeros = torch.zeros(4, dtype=torch.float16)
for eps in (1e-8, 1e-6):
    inside = (zeros**2).mean().add(eps)
    print(f"eps {eps:g}: under the root {inside:.2g}, result {(zeros / inside.sqrt()).tolist()}")

# %% [markdown] evidence="exact"
# **Verdict: not in float16.** Its smallest positive number is $6\cdot10^{-8}$, so $10^{-8}$ rounds to 0, and the zero vector (padding, say) becomes NaN. In float32 the claim holds: one more reason to cast first.

# %% [markdown]
# ## 7. What does a norm cost?
#
# Per entry, LayerNorm needs 1 operation to sum, 1 to center, 2 to square and sum, 1 to scale, 2 for weight and bias: **7**, and **5** per token (two divisions by $d$, ε, root, reciprocal).
#
# RMSNorm: 2 to square and sum, 1 to scale, 1 for the weight: **4**, and 4 per token.
#
# Bytes: $x$ is read `reads` times, the result written once, the vectors read once in all.

# %% [markdown] statement="norm.cost"
# Return `(operations, bytes)` as two ints, for `tokens` rows of `d` entries of `itemsize` bytes.
#
# By hand, LayerNorm, one token, $d = 4$, float16: $7\cdot4 + 5 = 33$ operations; $(4 + 4 + 2\cdot4)\cdot 2 = 32$ bytes.

# %% exercise="norm.cost"
def layer_norm_cost(tokens, d, itemsize, reads=1):
    """(operations, bytes) of LayerNorm with weight and bias."""
    ### BEGIN SOLUTION
    return tokens * (7 * d + 5), ((reads + 1) * tokens * d + 2 * d) * itemsize
    ### END SOLUTION

def rms_norm_cost(tokens, d, itemsize, reads=1):
    """(operations, bytes) of RMSNorm with a weight."""
    ### BEGIN SOLUTION
    return tokens * (4 * d + 4), ((reads + 1) * tokens * d + d) * itemsize
    ### END SOLUTION

# %% [markdown] hints="norm.cost"
# 1. Which of the numbers depend on `tokens`, and which do not?
# 2. Entries in and out: `(reads + 1) * tokens * d`. Vectors: two of `d` for LayerNorm, one for RMSNorm. Both times `itemsize`.
# 3. `return tokens * (7 * d + 5), (… + 2 * d) * itemsize`, and with 4, 4 and one `d` for RMSNorm

# %% [markdown] worth="norm.cost"
# In a block of $12d^2$ weights, a token takes $24d^2$ FLOPs. At $d = 4096$ two LayerNorms add one operation to every 7,000 of these. Their share of the *time* is another matter.

# %%
operations, traffic = layer_norm_cost(4096, 4096, 2)
print(f"{operations / traffic:.2f} operations per byte")

# %% [markdown]
# An H100 can do 20 float32 operations in the time it takes to fetch one byte (67 TFLOP/s and 3.35 TB/s by its data sheet). A norm does fewer than two per byte: it waits for memory.
#
# ### Claim on trial
#
# > *"RMSNorm is faster because it needs fewer FLOPs."*

# %%
predict("norm.p3", "Beside a plain copy of the tensor, torch's own LayerNorm with its 7 operations per entry takes…",
        ["about as long", "three times as long", "seven times as long"])

# %% [markdown]
# Three facts decide: how long an operation takes, how long a pass over memory, and how long the norms. torch's own LayerNorm is *fused*: one program that reads each row once. Yours goes step by step.

# %%
from anatomy.experiments import recorded, show_large, where
from anatomy.experiments.norm_bandwidth import measure

mine = {"your LayerNorm": layer_norm, "your RMSNorm": lambda x, weight, bias: rms_norm(x, weight)}
times = {}

def ratio():
    times.update(measure(mine, tokens=1024, d=1024))
    return f"{times['fused LayerNorm'] / times['copy']:.1f} times as long"

# %%
reveal("norm.p3",
       ratio, "One pass in, one pass out, and seven operations that cost next to nothing on the way.",
       answer=lambda: ("about as long" if times["fused LayerNorm"] < 1.7 * times["copy"] else
                       "three times as long" if times["fused LayerNorm"] < 4.6 * times["copy"] else
                       "seven times as long"))

# %%
for name, ns in times.items():
    print(f"{name:16} {ns:7.3f} ns per entry")

# %% [markdown]
# The same, recorded over five sizes (the matrix product lies far above). Your own functions may come out slower than recorded: each step asks the system for fresh memory, which the recording was allowed to keep.

# %%
record = recorded("norm_bandwidth")
rows = [r for r in record["rows"] if r["dtype"] == "float32"]
with described("Time per entry over sizes: the fused LayerNorm lies near the copy, the norms by steps several times higher"):
    for name in ("copy", "times 2", "x·x + x", "fused LayerNorm", "RMSNorm by steps", "LayerNorm by steps"):
        plt.loglog([r["tokens"] for r in rows], [r["ns_per_entry"][name] for r in rows], marker="o", label=name)
    plt.plot([1024, 1024], [times.get(name) for name in mine], "k*", markersize=10, label="yours")
    plt.xlabel(f"tokens of {rows[0]['d']} entries"), plt.ylabel("ns per entry"), plt.legend(bbox_to_anchor=(1, 1))
print(where(record))
show_large("norm_bandwidth")

# %% [markdown]
# Now two models of the time. By operations: those of the norm, at the rate of the matrix product. By bytes: passes over memory, at the rate of the copy (two passes). Written step by step, LayerNorm reads 7 times and writes 5 times, RMSNorm 4 and 3.

# %%
at = next(r["ns_per_entry"] for r in rows if r["tokens"] == 1024)
per_operation, per_pass = at["matrix product"] / (2 * rows[0]["d"]), at["copy"] / 2
for name, operations, passes in (("LayerNorm by steps", 7, 12), ("RMSNorm by steps", 4, 7)):
    print(f"{name}: by operations {operations * per_operation:.3f}, by passes {passes * per_pass:.2f}, measured {at[name]:.2f} ns")

# %% [markdown] evidence="measured: norm_bandwidth"
# **Verdict: the reason is wrong.** At 1,024 tokens operations explain {{norm_bandwidth.by_operations.least:.0%}} to {{norm_bandwidth.by_operations.most:.0%}} of the recorded time, passes over memory {{norm_bandwidth.by_passes.least:.0%}} to {{norm_bandwidth.by_passes.most:.0%}}. RMSNorm by steps is faster because it makes fewer passes. And the fused LayerNorm, with more operations but one pass, takes {{norm_bandwidth.fused_to_rms:.0%}} of its time.
#
# In one fused kernel, the two norms move the same bytes, but for the bias: there little is left to gain. These are times of a CPU; on your GPU, measure before you believe.

# %% [markdown]
# ## 8. Extension: the same formula over other axes
#
# Images come as $(N, C, H, W)$: samples, channels, rows, columns. Every norm below subtracts a mean and divides by a deviation. They differ in one thing: **over which axes** these are taken. By hand, two samples of two features:
#
# $$\begin{pmatrix}1 & 10\\ 3 & 30\end{pmatrix}$$
#
# Over axis 0 (down the columns), means are 2 and 20. Over axis 1 (along the rows), 5.5 and 16.5.

# %%
x = torch.tensor([[1.0, 10.0], [3.0, 30.0]])
x.mean(0, keepdim=True), x.mean(1, keepdim=True)

# %% [markdown]
# | norm | one mean for each | so it averages over |
# |---|---|---|
# | batch | channel | samples and places |
# | layer | sample | channels and places |
# | instance | sample and channel | places |
# | group | sample and group of neighboring channels | the group's channels and places |
#
# *Places* are all axes from 2 on: $H$ and $W$ for images. $\varepsilon$ is $10^{-5}$ in all.

# %% [markdown] statement="norm.axes"
# Write `normalize_over(x, axes, eps)` with mean and biased variance over `axes` (a tuple), and with it the three others. Their `x` has shape $(N, C, \ldots)$ with one or more places axes.
#
# `group_norm`: channels $0 \ldots C/\text{groups}-1$ are the first group. A `ValueError` if $C$ cannot be split evenly.

# %% exercise="norm.axes"
def normalize_over(x, axes, eps=1e-5):
    """(x − mean) / √(variance + eps) over a tuple of axes; same shape and dtype. Gradients flow."""
    ### BEGIN SOLUTION
    centered = x - x.mean(axes, keepdim=True)
    return centered / torch.sqrt((centered**2).mean(axes, keepdim=True) + eps)
    ### END SOLUTION

def batch_norm(x):
    """One mean per channel; x (N, C, ...) (arXiv:1502.03167)."""
    ### BEGIN SOLUTION
    return normalize_over(x, (0, *range(2, x.ndim)))
    ### END SOLUTION

def instance_norm(x):
    """One mean per sample and channel; x (N, C, ...) (arXiv:1607.08022)."""
    ### BEGIN SOLUTION
    return normalize_over(x, tuple(range(2, x.ndim)))
    ### END SOLUTION

def group_norm(x, groups):
    """One mean per sample and group of channels; x (N, C, ...) (arXiv:1803.08494). May raise ValueError."""
    ### BEGIN SOLUTION
    if x.shape[1] % groups:
        raise ValueError(f"{x.shape[1]} channels cannot be split into {groups} groups")
    split = x.unflatten(1, (groups, -1))  # (N, groups, C/groups, ...)
    return normalize_over(split, tuple(range(2, split.ndim))).flatten(1, 2)
    ### END SOLUTION

# %% [markdown] hints="norm.axes"
# 1. For an image, the axes of batch norm are (0, 2, 3). For (N, C, T) they are (0, 2). How do you write both at once?
# 2. `tuple(range(2, x.ndim))` are the places. For groups, split axis 1 in two with `x.unflatten(1, (groups, -1))`; then the axes from 2 on are right again.
# 3. `normalize_over(x, (0, *range(2, x.ndim)))`, and for groups `normalize_over(split, tuple(range(2, split.ndim))).flatten(1, 2)`

# %% [markdown] worth="norm.axes"
# Group norm was made for tasks such as detection and video, where memory allows only a few images per batch and batch statistics turn noisy. Its paper's default is 32 groups ([Wu and He 2018](https://arxiv.org/abs/1803.08494)).

# %% [markdown]
# Now let arrays tell the axes. Nudge a single number, and see along which axes the output moves:

# %%
def spread(norm, x, axes):
    nudged = x.clone()
    nudged[(0,) * x.ndim] += 1
    moved = (norm(nudged) - norm(x)).abs() > 1e-6
    counts = [len(moved.nonzero()[:, i].unique()) for i in range(x.ndim)]
    return " ".join(f"{axes[i]}:{counts[i]}/{x.shape[i]}" for i in range(x.ndim))

# %%
torch.manual_seed(0)
image = torch.randn(3, 6, 4, 5)
for name, norm in {"batch": batch_norm, "layer": lambda x: normalize_over(x, (1, 2, 3)), "instance": instance_norm,
                   "group, 3 groups": lambda x: group_norm(x, 3)}.items():
    print(f"{name:16}", spread(norm, image, "NCHW"))

# %% [markdown]
# Read it as: batch norm moved 3 of 3 samples and 1 of 6 channels. Text is $(B, T, d)$; its channels are the features. Transformers take the mean per **word**, over $d$ alone, not over $(T, d)$:

# %%
text = torch.randn(3, 7, 8)
per_feature = lambda norm: lambda x: norm(x.transpose(1, 2)).transpose(1, 2)
for name, norm in {"batch": per_feature(batch_norm), "instance": per_feature(instance_norm),
                   "layer, per word": lambda x: normalize_over(x, (2,))}.items():
    print(f"{name:16}", spread(norm, text, "BTd"))

# %% [markdown]
# ### Claim on trial
#
# > *"Instance norm normalizes over channels and samples, C and N."*
#
# Look at its line in the table of images above: which of N and C moved?

# %%
spread(instance_norm, image, "NCHW"), spread(lambda x: normalize_over(x, (0, 1)), image, "NCHW")

# %% [markdown] evidence="exact"
# **Verdict: the other way round.** One sample and one channel moved, and all places: it averages over $H$ and $W$. Samples and channels are what it keeps *apart*. A sentence like "normalizes over the channels" can mean either; axes cannot.

# %% [markdown]
# Why does text prefer the mean per word? Two sentences, the second one short and padded. Watch the first sentence while the padding of the second changes:

# %%
pair = torch.randn(2, 6, 8)
short, shorter = pair.clone(), pair.clone()
short[1, 4:], shorter[1, 2:] = 0, 0  # padding is 0
for name, norm in {"batch": per_feature(batch_norm), "layer": lambda x: normalize_over(x, (2,))}.items():
    print(f"{name}: sentence 0 moves by {(norm(short) - norm(shorter))[0].abs().max():.3f}")

# %% [markdown]
# With batch norm, your sentence depends on its neighbors and on how they are padded. LayerNorm does not.

# %% [markdown]
# At inference there may be no neighbors at all. So batch norm leads two lives. In training it uses the mean and variance of the batch, and lets a share of them (`momentum`) flow into running averages:
#
# $$\text{kept} \leftarrow (1 - \text{momentum})\cdot\text{kept} + \text{momentum}\cdot\text{batch's}$$
#
# In evaluation it uses the averages. By hand, for a batch of 1 and 3 with averages 0 and 1: the batch's mean is 2 and its variance 1, so the result is −1 and 1. Kept are $0.9\cdot 0 + 0.1\cdot 2 = 0.2$ and, with the variance over $n - 1$, $0.9\cdot 1 + 0.1\cdot 2 = 1.1$.

# %% [markdown] statement="norm.running"
# Write one step of batch norm (without weight and bias) for $x$ of shape $(N, C, \ldots)$. Return `(y, mean, variance)`: the result, and the averages that are to be kept. Change nothing in place.
#
# As in PyTorch, the variance that normalizes divides by $n$, the one that is kept by $n - 1$; $n$ counts samples and places. In evaluation the averages come back as they are.

# %% exercise="norm.running"
def batch_norm_step(x, mean, variance, training, momentum=0.1, eps=1e-5):
    """Batch norm with running averages (arXiv:1502.03167).

    Args:
        x: (N, C, ...) float tensor. mean, variance: (C,), the averages so far. training: bool.

    Returns:
        y (N, C, ...), mean (C,), variance (C,), of the dtype of x. Gradients flow from y to x.
    """
    axes = (0, *range(2, x.ndim))
    shape = (-1,) + (1,) * (x.ndim - 2)  # what makes a (C,) tensor fit beside x
    ### BEGIN SOLUTION
    now, spread = mean, variance
    if training:
        now, spread = x.mean(axes), x.var(axes, correction=0)
        mean = (1 - momentum) * mean + momentum * now
        variance = (1 - momentum) * variance + momentum * x.var(axes)
    return (x - now.view(shape)) / torch.sqrt(spread.view(shape) + eps), mean, variance
    ### END SOLUTION

# %% [markdown] hints="norm.running"
# 1. Two questions about each mode: which numbers normalize, and what happens to the averages?
# 2. `x.mean(axes)` and `x.var(axes, correction=0)` normalize in training; `x.var(axes)` divides by $n-1$. In evaluation use what was handed in.
# 3. `now, spread = mean, variance`; `if training:` replace both, and mix the averages; `return (x - now.view(shape)) / torch.sqrt(…), mean, variance`.

# %% [markdown] worth="norm.running"
# Forgetting `model.eval()` is the classic bug: batch norm goes on using the batch, so an answer depends on who else is in it. LayerNorm and RMSNorm compute the same thing in both modes.

# %%
torch.manual_seed(0)
mean, variance = torch.zeros(4), torch.ones(4)
for _ in range(60):
    _, mean, variance = batch_norm_step(3 * torch.randn(32, 4) + 5, mean, variance, training=True)
alone = 3 * torch.randn(1, 4) + 5
print("kept after 60 batches of mean 5 and deviation 3:", mean.numpy().round(1), variance.sqrt().numpy().round(1))
print("one sample in evaluation:", batch_norm_step(alone, mean, variance, training=False)[0].numpy().round(2))
print("one sample by its own statistics:", batch_norm(alone).numpy().round(2))

# %% [markdown]
# By its own statistics a single sample is its own mean: all zeros. With the averages it keeps what tells it from others. LayerNorm needs no such memory.

# %% [markdown] written="question"
# Somebody replaces every LayerNorm of a trained model by RMSNorm, keeps the weights and drops the biases. When do the outputs hardly change, and when do they change a lot? Which number would you measure at each norm before trying it? What could be done where that number is large?
#
# - in which step the two norms differ
# - a number per token, computed from statistics that you know
# - a change of the model that makes this number small, and what becomes of the biases

# %% [markdown] written="answer" points=3
# LayerNorm is RMSNorm of the centered vector. So the outputs hardly change where each token's mean is small beside its root mean square, and where the dropped bias was near 0. For $(-2, 0, 2)$ the two are equal. For $(101, 103, 105)$ LayerNorm gives $(-1.22, 0, 1.22)$ and RMSNorm three numbers near 1. I would measure, on real texts and at every norm, each token's mean divided by its root mean square. Where that is large, the vectors can be centered: change the matrices that write into the stream so that they only write vectors of mean 0. A bias can move into the linear layer that follows.
#
# ### BEGIN MARK SCHEME
# - 1 point: the difference is the centering (and the bias); small where the mean is small.
# - 1 point: a number that can be measured for each token: the mean against the root mean square, or its square against the mean of the squares.
# - 1 point: a remedy that fits: centering before the norm, or in the matrices before it; further training; a bias moved into the next layer.
# - No point: "RMSNorm has another scale". A factor could be learned by the weight; a shift of each token could not.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("x = (2, 2, 2, 2), weight ones, bias zeros. LayerNorm gives…", {
    "NaN": (False, "ε keeps the root above 0."),
    "zeros": (True, "Centered, nothing is left; 0/√ε = 0."),
    "ones": (False, "That is what RMSNorm gives.")})

# %%
quiz("You add 5 to every entry of every word. Which model's norms notice?", {
    "LLaMA's": (True, "RMSNorm does not subtract the mean."),
    "GPT-2's": (False, "LayerNorm takes the shift out."),
    "both": (False, "LayerNorm takes the shift out.")})

# %%
quiz("The gradient that leaves LayerNorm's backward pass, towards x, sums over each word to…", {
    "0": (True, "No gradient can ask for a shift, which the output does not notice."),
    "1": (False, "The mean of g is subtracted."),
    "the sum of grad": (False, "The mean of g is subtracted.")})

# %%
quiz("A float16 model gives all zeros after a norm. The first thing to look at is…", {
    "the square's overflow": (True, "x² beyond 65,504 is ∞, and x/∞ is 0. Cast to float32 first."),
    "ε": (False, "Too small an ε gives NaN, not zeros."),
    "the weight": (False, "Possible, but it starts at 1.")})

# %%
quiz("Why does RMSNorm, written step by step, take less time than LayerNorm written the same way?", {
    "It needs fewer operations": (False, "Operations are a few percent of the time."),
    "It makes fewer passes over memory": (True, "A norm waits for memory, not for arithmetic."),
    "It has no bias to learn": (False, "One vector for all tokens is hardly read at all.")})

# %%
progress("02-normalization")

# %% [markdown]
# ## Where this lives in real models
#
# - LayerNorm: the original Transformer ([1706.03762](https://arxiv.org/abs/1706.03762)), BERT, GPT-2 and GPT-3, OPT, BLOOM
# - RMSNorm: T5 ([1910.10683](https://arxiv.org/abs/1910.10683)), Gopher, LLaMA ([2302.13971](https://arxiv.org/abs/2302.13971)), Mistral, Qwen, DeepSeek; Gemma with $1 + \gamma$
# - Group norm: image diffusion models; batch norm: ResNet ([1512.03385](https://arxiv.org/abs/1512.03385))
#
# *Where* in the block the norm stands matters as much as which one. Next, **03-norm-placement**: the places it can have, and what each does to the gradient.
