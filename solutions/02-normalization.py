# %% [markdown]
# # Normalization
#
# **You will be able to**
#
# - write LayerNorm and RMSNorm, and say which changes of its input each of them ignores;
# - derive LayerNorm's gradient, and write it in code;
# - keep a norm working in half precision, and say what a norm costs;
# - in the extension: tell batch, layer, instance and group norm apart by their axes.
#
# **Prerequisites:** unit 00; mean, variance, the chain rule. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Here are three tokens, each made of three numbers.
#
# | token | numbers | how they are made |
# |---|---|---|
# | $x$ | $(1, 3, 5)$ | |
# | $y$ | $(101, 103, 105)$ | $x$ plus 100 |
# | $z$ | $(10, 30, 50)$ | $x$ times 10 |
#
# Machine A gives all three the same answer. Machine B gives $x$ and $z$ the same answer, but $y$ a different one. BERT and GPT-2 use machine A, whereas LLaMA uses machine B.
#
# What do they compute? You will work both out by hand with these numbers, and then build them.

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
# Each layer multiplies the size of its input by some factor. If this factor is 1.5, thirty layers make the input $1.5^{30} \approx 190{,}000$ times as large, and if it is 0.7, almost nothing is left. A careful *initialization* (the rule that draws the first weights) can set all thirty factors to 1 at the start. However, training moves the weights, and the factors move with them.

# %% [markdown]
# A norm after each layer sets the size again in every step, whatever the weights have become. There are networks without norms, although at a price. They need a special initialization, and other means against steps that are too large. The figure compares the two factors with a norm.

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
# How can the size of a vector be set? *LayerNorm* first subtracts the mean of its numbers and then divides by their standard deviation, as the table shows for $x = (1, 3, 5)$. Note that the variance divides by 3 and not by 2.
#
# | step | by hand |
# |---|---|
# | mean | $(1+3+5)/3 = 3$ |
# | centered | $(-2, 0, 2)$ |
# | variance | $(4 + 0 + 4)/3 = 8/3$ |
# | standard deviation | $\sqrt{8/3} = 1.633$ |
# | normalized | $(-2, 0, 2)/1.633 = (-1.225, 0, 1.225)$ |

# %%
x = torch.tensor([1.0, 3.0, 5.0])
centered = x - x.mean()
centered / (centered**2).mean().sqrt()

# %% [markdown]
# What happens to the other two tokens? The mean of $y$ is 103, and its centered vector is the same as that of $x$. The vector $z$ is centered to $(-20, 0, 20)$, with a deviation of 16.33. All three become $(-1.225, 0, 1.225)$, so LayerNorm is machine A.
#
# A token such as $(7, 7, 7)$ makes trouble, because its deviation is 0, and 0/0 is NaN. Therefore a small $\varepsilon$ is added to the variance, **inside** the root.

# %% [markdown]
# $$\text{LayerNorm}(x) = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta$$
#
# A batch $x$ of $B$ sentences with $T$ tokens each has shape $(B, T, d)$. Each of the $B \cdot T$ tokens has its own $\mu$ and $\sigma^2$, so both have shape $(B, T, 1)$. The learned vectors $\gamma$ (weight) and $\beta$ (bias) have shape $(d,)$ and are shared by all tokens ([Ba et al. 2016](https://arxiv.org/abs/1607.06450)). They let the model choose another size and another mean for each entry, where that helps.

# %% [markdown] statement="norm.layer_norm"
# Write LayerNorm over the last axis, where the variance divides by $d$ and $\varepsilon$ is added inside the root. The first line of the solution is given.

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
# Centering comes first because the shortcut mean(x²) − mean(x)² gives 0 for (10001, 10003, 10005) in float32, although the variance is 8/3. Both terms are near 10⁸, where neighboring numbers lie 8 apart.

# %%
words = torch.tensor([[1.0, 3.0, 5.0], [101.0, 103.0, 105.0], [10.0, 30.0, 50.0]])
layer_norm(words, torch.ones(3), torch.zeros(3))

# %% [markdown]
# ## 3. RMSNorm
#
# Machine B notices that $y$ is shifted, since it doesn't subtract the mean. It only divides by the size of the numbers, their *root mean square*. This is what it does to $x = (1, 3, 5)$.
#
# | step | by hand |
# |---|---|
# | mean of the squares | $(1 + 9 + 25)/3 = 35/3$ |
# | its root | 3.416 |
# | normalized | $(0.293, 0.878, 1.464)$ |
#
# $$\text{RMSNorm}(x) = \gamma \odot \frac{x}{\sqrt{\frac1d\sum_i x_i^2 + \varepsilon}}$$
#
# Unlike LayerNorm it has no bias ([Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467)).

# %% [markdown] statement="norm.rms_norm"
# Write RMSNorm over the last axis, with the *mean* of the squares and with $\varepsilon$ inside the root.

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
# T5 has this norm under another name. Its paper speaks of a simplified layer normalization that only rescales and has no bias ([Raffel et al. 2019](https://arxiv.org/abs/1910.10683)), and Hugging Face calls its class `T5LayerNorm`.

# %%
rms_norm(words, torch.ones(3))

# %% [markdown]
# $x$ and $z$ agree and $y$ differs, so this is machine B. The numbers of $y$ all come out close to 1, because the differences between 101, 103 and 105 are small compared with their size.

# %% [markdown]
# ### Claim on trial
#
# > *"$\text{RMSNorm}(x) = \frac{x}{\sqrt{\lVert x\rVert_2^2 + \varepsilon}}\cdot\gamma$"*
#
# This formula, from the notes that the course is made from, lacks the $1/d$. To see whether that matters, try a vector with as many numbers as LLaMA's, 4096.

# %%
torch.manual_seed(0)
wide = torch.randn(4096)
claimed = wide / torch.sqrt(wide.pow(2).sum() + 1e-6)
right = rms_norm(wide, torch.ones(4096))
print(f"size of an entry: {claimed.std():.4f} instead of {right.std():.4f}, a factor of {(right / claimed).mean():.1f}")

# %% [markdown] evidence="exact"
# **Verdict: the claimed result is too small by a factor of $\sqrt d$.** The formula scales the vector to *length* 1, whereas RMSNorm scales it to length $\sqrt d$, so that each entry has a size of about 1, whatever the width. A checkpoint that was run with the claimed formula would see everything 64 times too small.

# %% [markdown]
# ### Claim on trial
#
# > *"In LLaMA, RMSNorm may also get a bias."*
#
# The published number of parameters decides this. LLaMA-2-7B has 6,738,415,616 of them, and its 32 layers have two norms each, with one more at the end, so it is enough to count with and without a bias.

# %%
d, ff, layers, vocabulary = 4096, 11008, 32, 32000
matrices = 2 * vocabulary * d + layers * (4 * d * d + 3 * d * ff)
for vectors, name in ((1, "weight only"), (2, "weight and bias")):
    print(f"{name:16} {matrices + (2 * layers + 1) * vectors * d:,}")

# %% [markdown] evidence="exact"
# **Verdict: no, LLaMA's norms have no bias.** With one vector per norm the count agrees to the last parameter, which leaves no room for a second.

# %% [markdown]
# ## 4. What a norm does not notice
#
# The two formulas are closely related, because for a vector whose mean is 0 the root mean square is the standard deviation. If you center first, the two norms do the same.
#
# In a picture, centering drops the vector onto the plane of all vectors with mean 0, and the division then moves it along its ray to the sphere of radius $\sqrt d$. With three numbers per token one can draw it, here with your function.

# %%
from anatomy.experiments import projection

with described("Ten tokens of three numbers, seen from the side: subtracting the mean moves each onto the plane of mean 0. "
               "Seen from above: dividing moves each along its ray onto a circle of radius √3."):
    projection.draw(lambda x: layer_norm(x, torch.ones(3), torch.zeros(3)))

# %% [markdown] statement="norm.from_rms"
# Write LayerNorm (without weight and bias) by way of **your** `rms_norm`, with the same `eps` and without a root or a division of your own. What has to happen to `x` before, and which weight changes nothing?

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
# If the matrices that feed a norm only write vectors of mean 0, the first step has nothing to do. Centering these matrices turns a trained Pre-LN model (unit 03) into an RMSNorm model with equal outputs ([Jiang et al. 2023](https://arxiv.org/abs/2305.14858)).

# %% [markdown]
# We say that a norm *does not notice* a change of its input if its output stays the same. To measure this, scale and shift the input, and see by how much the output moves at most. Suppose, for example, that the function is no norm at all but returns its input. With $x = (1,3,5)$ and $2x + 3 = (5, 9, 13)$, the outputs differ by 4, 6 and 8, at most by 8.

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
# A norm hides the size of the matrix before it. If that matrix is doubled, no output changes (apart from ε), but its gradient is halved. Weight decay on it acts on the step size and not on the function ([van Laarhoven 2017](https://arxiv.org/abs/1706.05350)).

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
       "Neither does. A norm divides by a size, and since sizes are positive, the sign of the vector survives.",
       answer="neither")

# %%
for name, norm in norms.items():
    print(f"{name:10} scale 10: {largest_change(norm, v, 10, 0):.5f}   shift 10: {largest_change(norm, v, 1, 10):.5f}")

# %% [markdown]
# Both norms ignore the scale (the remaining 0.00001 comes from $\varepsilon$), but only LayerNorm ignores the shift.

# %% [markdown]
# ## See it move
#
# Here are your two functions, side by side. Move **shift** and watch which bars don't move. Then make **scale** small and **ε** large, until the norms notice the scale, and think about why that happens just there.

# %%
NormExplorer({"layer_norm": layer_norm, "rms_norm": rms_norm})

# %% [markdown]
# ## 5. The gradient of LayerNorm
#
# In training the gradient flows back through every norm, so it matters what LayerNorm does to it. The output does not change when the input is shifted or rescaled. Therefore the gradient with respect to the input has no component in these two directions. We derive it in two halves, first for the centering and then for the division.
#
# For the first half, centering, $c = x - \text{mean}(x)$, has the backward pass $g \mapsto g - \text{mean}(g)$. That is, the gradient is centered as well.

# %%
x = torch.tensor([1.0, 3.0, 5.0], requires_grad=True)
g = torch.tensor([0.0, 1.0, 0.0])
(x - x.mean()).backward(g)
x.grad, g - g.mean()

# %% [markdown]
# For the second half, let $s = \sqrt{\text{mean}(c^2) + \varepsilon}$, let $\hat x = c/s$ be the normalized vector, and let $g = \gamma\odot\text{grad}$ be the gradient that arrives at it.
#
# 1. The slope of $s$ is $\dfrac{\partial s}{\partial c_j} = \dfrac{c_j}{d\,s} = \dfrac{\hat x_j}{d}$.
# 2. By the quotient rule, $\dfrac{\partial \hat x_i}{\partial c_j} = \dfrac1s\Big(\delta_{ij} - \dfrac{\hat x_i \hat x_j}{d}\Big)$, where $\delta_{ij}$ is 1 if $i = j$ and 0 otherwise.
# 3. Multiply by $g_i$ and sum over $i$. The gradient of $c$ is $\dfrac1s\big(g - \hat x\,\text{mean}(g\odot\hat x)\big)$.
# 4. The first half centers this result, and since $\hat x$ has mean 0, only $\text{mean}(g)$ is subtracted.

# %% [markdown]
# The result takes the two directions out of $g$.
#
# $$dx = \frac{1}{\sqrt{\sigma^2+\varepsilon}}\Big(g - \underbrace{\text{mean}(g)}_{\text{shift}} - \hat x\,\underbrace{\text{mean}(g \odot \hat x)}_{\text{scale}}\Big)$$
#
# Weight and bias are shared by all tokens, so their gradients are sums over the tokens, of $\text{grad}\odot\hat x$ for the weight and of $\text{grad}$ for the bias.

# %% [markdown] statement="norm.backward"
# Let `grad` be the gradient with respect to LayerNorm's output. Return `(dx, dweight, dbias)`, where $dx$ has the shape of $x$, and the other two have shape $(d,)$ and are summed over all axes but the last. You may rely on `x` having at least two axes, and the lines up to `dbias` are given.

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
# For the backward pass PyTorch's own kernel saves `x` and two numbers per token, the mean and 1/σ, and recomputes x̂ from them. If LayerNorm is written step by step, however, autograd keeps several tensors as large as `x`.

# %% [markdown]
# Does autograd agree, and are the two directions really gone? (What is left along $\hat x$ comes from $\varepsilon$.)

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
# If so, it would change with the other tokens. Take the Jacobian of one token, which says how its output moves with its input, and then change another token. Do the same for batch norm, which takes its statistics over the tokens. (The cell calls a token a word.)

# %%
from torch.autograd.functional import jacobian

torch.manual_seed(0)
words = torch.randn(5, 4)
other = words.clone()
other[1] *= 5
over = lambda axis: lambda x: ((x - x.mean(axis, keepdim=True)) / (x.var(axis, correction=0, keepdim=True) + 1e-5).sqrt())[0]
for name, norm in {"layer norm": over(1), "batch norm": over(0)}.items():
    before, after = (jacobian(norm, x)[:, 0] for x in (words, other))
    print(f"{name}: the Jacobian of token 0 moves by {(before - after).abs().max():.2g}")

# %% [markdown] evidence="exact"
# **Verdict: no, that is true of batch norm.** LayerNorm's statistics come from one token alone. If another token changes, nothing moves at all.

# %% [markdown]
# ## 6. Half precision
#
# Large models store numbers in 16 bits instead of 32 to save memory and time, which is called *half precision*. The price is a smaller range or fewer digits. For example, float16 ends at 65,504. A number of size 1000 is safe, but its square is not, and trained LLaMA models do have entries in the thousands ([Sun et al. 2024](https://arxiv.org/abs/2402.17762)).

# %%
predict("norm.p2", "rms_norm of float16 (1000, 3000, 5000), computed in float16. The result is…",
        ["0.29, 0.88, 1.46 as usual", "a little off", "all zeros", "NaN"])

# %%
big = torch.tensor([1000.0, 3000.0, 5000.0]).half()

# %%
reveal("norm.p2",
       lambda: (big / (big**2).mean().add(1e-6).sqrt()).tolist(),
       "1000² is a million and beyond float16, so the mean square is infinite, and x/∞ is 0. There is no error and no "
       "NaN, and yet the layer is dead.",
       answer="all zeros")

# %% [markdown] statement="norm.half_precision"
# Write RMSNorm so that it survives this. Compute in float32, and return the dtype of `x`, which may be float16, bfloat16 or float32. The weight may have another dtype than `x`.
#
# LLaMA first casts back and then multiplies by the weight, whereas Gemma does it the other way round, and both ways are accepted.

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
# bfloat16 would not overflow here, since it has the range of float32. However, it has only 8 significant bits, so a sum of ones, added one by one, stops growing at 256.

# %% [markdown]
# ### Claim on trial
#
# > *"`eps: float = 1e-8` avoids the division by zero."*
#
# This is from the notes, whose RMSNorm computes in the dtype of its input. The next cell tries it on zeros in float16.

# %%
zeros = torch.zeros(4, dtype=torch.float16)
for eps in (1e-8, 1e-6):
    inside = (zeros**2).mean().add(eps)
    print(f"eps {eps:g}: under the root {inside:.2g}, result {(zeros / inside.sqrt()).tolist()}")

# %% [markdown] evidence="exact"
# **Verdict: not in float16.** The smallest positive number of float16 is $6\cdot10^{-8}$, so $10^{-8}$ is rounded to 0, and the zero vector of a padding token, for example, becomes NaN. In float32 the claim holds, which is one more reason to cast first.

# %% [markdown]
# ## 7. What does a norm cost?
#
# RMSNorm is simpler, so is it also faster? To find out, count the operations and the bytes that each norm moves.
#
# | operations per entry | LayerNorm | RMSNorm |
# |---|---|---|
# | sum and center | 1 + 1 | – |
# | square and sum | 2 | 2 |
# | scale | 1 | 1 |
# | weight and bias | 2 | 1 |
# | **per entry** | **7** | **4** |
# | **in addition per token** | **5** | **4** |
#
# The 5 operations per token are two divisions by $d$, ε, the root and the reciprocal; RMSNorm has one division by $d$ less. As for the bytes, $x$ is read `reads` times, the result is written once, and the weight and bias vectors are read once in all.

# %% [markdown] statement="norm.cost"
# Return `(operations, bytes)` as two ints, for `tokens` rows of `d` entries of `itemsize` bytes.
#
# For example, LayerNorm on one token with $d = 4$ in float16 takes $7\cdot4 + 5 = 33$ operations and moves $(4 + 4 + 2\cdot4)\cdot 2 = 32$ bytes.

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
# In a block of $12d^2$ weights, a token takes $24d^2$ FLOPs. At $d = 4096$ two LayerNorms add one operation to every 7,000 of these. Their share of the *time*, however, is another matter.

# %%
operations, traffic = layer_norm_cost(4096, 4096, 2)
print(f"{operations / traffic:.2f} operations per byte")

# %% [markdown]
# By its data sheet (67 TFLOP/s and 3.35 TB/s), an H100 can do 20 float32 operations in the time that it takes to fetch one byte. A norm needs fewer than two per byte, so most of the time it waits for memory.
#
# ### Claim on trial
#
# > *"RMSNorm is faster because it needs fewer FLOPs."*

# %%
predict("norm.p3", "Compared with a plain copy of the tensor, torch's own LayerNorm with its 7 operations per entry takes…",
        ["about as long", "three times as long", "seven times as long"])

# %% [markdown]
# Three measurements decide: how long an operation takes, how long a pass over memory takes, and how long the norms take. While your norms go step by step, torch's own LayerNorm is *fused*, which means that one program reads each row once and does all the steps on it.

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
       ratio, "It reads once and writes once, as the copy does, and the seven operations on the way cost next to nothing.",
       answer=lambda: ("about as long" if times["fused LayerNorm"] < 1.7 * times["copy"] else
                       "three times as long" if times["fused LayerNorm"] < 4.6 * times["copy"] else
                       "seven times as long"))

# %%
for name, ns in times.items():
    print(f"{name:16} {ns:7.3f} ns per entry")

# %% [markdown]
# Here are the same times, recorded over five sizes (the matrix product lies far above). Your own functions may come out slower than the recorded ones, because each step asks the system for fresh memory, which the recording was allowed to keep.

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
# Which of the two, operations or passes, explains these times? We make two predictions and compare both with the clock. The first counts a norm's operations, at the rate of the matrix product. The second counts its passes over memory, at the rate of the copy, which makes two. Written step by step, LayerNorm reads 7 times and writes 5 times, and RMSNorm reads 4 times and writes 3 times.

# %%
at = next(r["ns_per_entry"] for r in rows if r["tokens"] == 1024)
per_operation, per_pass = at["matrix product"] / (2 * rows[0]["d"]), at["copy"] / 2
for name, operations, passes in (("LayerNorm by steps", 7, 12), ("RMSNorm by steps", 4, 7)):
    print(f"{name}: by operations {operations * per_operation:.3f}, by passes {passes * per_pass:.2f}, measured {at[name]:.2f} ns")

# %% [markdown] evidence="measured: norm_bandwidth"
# **Verdict: the reason is wrong. RMSNorm by steps is faster because it makes fewer passes over memory.** At 1,024 tokens operations explain at most {{norm_bandwidth.by_operations.most:.0%}} of the recorded time, whereas passes explain at least {{norm_bandwidth.by_passes.least:.0%}}. The fused LayerNorm, which needs more operations but a single pass, takes only {{norm_bandwidth.fused_to_rms:.0%}} of the time of RMSNorm by steps.
#
# If both norms are fused, they move the same bytes except for the bias vector, so little is left to gain. Since these are times of a CPU, measure on your GPU before you believe that they hold there.

# %% [markdown]
# ## 8. Extension: the same formula over other axes
#
# How is LayerNorm related to the norms that are used for images? Images have the shape $(N, C, H, W)$, for samples, channels, rows and columns. Think of a block of small cubes, with one edge for samples, one for channels and one for the places in the image. Each norm below subtracts a mean and divides by a deviation, and they differ only in **which axes** these are taken over, that is, in which cubes of the block share one mean.

# %% [markdown]
# Suppose, for example, that there are two samples (rows) of two features (columns).
#
# $$\begin{pmatrix}1 & 10\\ 3 & 30\end{pmatrix}$$
#
# Over axis 0, down the columns, the means are 2 and 20. Over axis 1, along the rows, they are 5.5 and 16.5.

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
# Here *places* are all axes from 2 on, such as $H$ and $W$ for images, and $\varepsilon$ is $10^{-5}$ in all four norms.
#
# In the picture, rows are three samples, columns are four channels, and the blue squares share one mean.

# %%
from anatomy import drawings

drawings.norm_groups(batch=3, channels=4, groups=2)

# %% [markdown] statement="norm.axes"
# Write `normalize_over(x, axes, eps)` with mean and biased variance over `axes` (a tuple), and use it to write the three others. Their `x` has shape $(N, C, \ldots)$ with one or more axes of places.
#
# In `group_norm`, the channels $0 \ldots C/\text{groups}-1$ are the first group. If $C$ cannot be split evenly, raise a `ValueError`.

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
# Group norm was made for tasks such as detection and video, where memory allows only a few images per batch, so that batch statistics turn noisy. Its paper's default is 32 groups ([Wu and He 2018](https://arxiv.org/abs/1803.08494)).

# %% [markdown]
# A table can be wrong, so let the arrays tell their axes themselves. Change a single number a little, and see along which axes the output moves.

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
# The first line says that batch norm moved 3 of 3 samples and 1 of 6 channels. Text has the shape $(B, T, d)$, and its channels are the features. Transformers take the mean per **token**, over $d$ alone and not over $(T, d)$.

# %%
text = torch.randn(3, 7, 8)
per_feature = lambda norm: lambda x: norm(x.transpose(1, 2)).transpose(1, 2)
for name, norm in {"batch": per_feature(batch_norm), "instance": per_feature(instance_norm),
                   "layer, per token": lambda x: normalize_over(x, (2,))}.items():
    print(f"{name:16}", spread(norm, text, "BTd"))

# %% [markdown]
# ### Claim on trial
#
# > *"Instance norm normalizes over channels and samples, C and N."*
#
# Look at its line in the printed table for images above. Which of N and C moved?

# %%
spread(instance_norm, image, "NCHW"), spread(lambda x: normalize_over(x, (0, 1)), image, "NCHW")

# %% [markdown] evidence="exact"
# **Verdict: no, instance norm averages over $H$ and $W$.** One sample and one channel moved, but all places in them. Samples and channels are what it keeps *apart*. A sentence such as "normalizes over the channels" can mean either, whereas a list of axes cannot.

# %% [markdown]
# Why do models of text prefer the mean per token? Take two sentences, of which the second is short and padded with zeros. Watch what happens to the first sentence while the padding of the second changes.

# %%
pair = torch.randn(2, 6, 8)
short, shorter = pair.clone(), pair.clone()
short[1, 4:], shorter[1, 2:] = 0, 0  # padding is 0
for name, norm in {"batch": per_feature(batch_norm), "layer": lambda x: normalize_over(x, (2,))}.items():
    print(f"{name}: sentence 0 moves by {(norm(short) - norm(shorter))[0].abs().max():.3f}")

# %% [markdown]
# With batch norm a sentence depends on its neighbors in the batch and on how they are padded, whereas with LayerNorm it does not.

# %% [markdown]
# When a trained model is used, there may be no neighbors at all. This is why batch norm works in two modes. In training it uses the mean and variance of the batch, and lets a share of them (`momentum`) flow into running averages:
#
# $$\text{kept} \leftarrow (1 - \text{momentum})\cdot\text{kept} + \text{momentum}\cdot\text{batch's}$$
#
# In evaluation it uses the averages.

# %% [markdown]
# For example, let the batch be 1 and 3, and let the averages so far be 0 and 1. The batch's mean is 2 and its variance is 1, so the result is −1 and 1. The new averages are $0.9\cdot 0 + 0.1\cdot 2 = 0.2$ for the mean and, with the variance over $n - 1$, which is 2, $0.9\cdot 1 + 0.1\cdot 2 = 1.1$ for the variance.

# %% [markdown] statement="norm.running"
# Write one step of batch norm (without weight and bias) for $x$ of shape $(N, C, \ldots)$. Return `(y, mean, variance)`, which are the result and the averages to keep, without changing any argument in place.
#
# As in PyTorch, the variance that normalizes divides by $n$, whereas the one that is kept divides by $n - 1$, and $n$ counts samples and places. In evaluation the averages are returned as they are.

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
# Forgetting `model.eval()` is the classic bug, because batch norm then goes on using the batch, and an answer depends on who else is in it. LayerNorm and RMSNorm compute the same thing in both modes.

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
# By its own statistics a single sample is its own mean, so all its numbers become 0. With the running averages, however, it keeps what distinguishes it from others. LayerNorm needs no such memory, because it never looks beyond the token.

# %% [markdown]
# ## 9. Your own experiment
#
# Does a real model need a norm at all, and does it matter which one? The *growing character model* is a small Transformer that learns to continue Jane Austen's novels, one character at a time, and you can replace any of its parts. As its norm it takes a module, so the first cell puts your `rms_norm` into one, with a weight to learn.

# %%
class MyNorm(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(d))

    def forward(self, x):
        return rms_norm(x, self.weight)

# %%
from anatomy.experiments.growing import grow

for seed in (0, 1):
    none, yours = (grow(seed=seed, make_norm=norm).loss for norm in (lambda d: torch.nn.Identity(), MyNorm))
    print(f"seed {seed}: no norm {none:.3f} against yours {yours:.3f} nats per character")

# %% [markdown]
# The numbers are losses on text that the model has not seen, in *nats*, the unit of a loss that is made with natural logarithms, and lower is better. Now think of a change of your own. For example, put in LayerNorm, leave the weight out, train four layers instead of two (`layers=4`), or take a larger rate (`lr=1e-2` instead of 0.003). Write down what you expect, change one thing at a time, and run at least two seeds. Nothing here is graded, but which answer would you write down in one sentence?

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
    "zeros": (True, "Centering leaves only zeros, and 0/√ε is 0."),
    "ones": (False, "That is what RMSNorm gives.")})

# %%
quiz("You add 5 to every entry of every token. Which model's norms notice?", {
    "LLaMA's": (True, "RMSNorm does not subtract the mean."),
    "GPT-2's": (False, "LayerNorm takes the shift out."),
    "both": (False, "LayerNorm takes the shift out.")})

# %%
quiz("The gradient that leaves LayerNorm's backward pass, towards x, sums over each token to…", {
    "0": (True, "A shift doesn't change the output, so the gradient has no component along it."),
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
    "It has no bias to learn": (False, "The bias is one vector shared by all tokens, so reading it costs almost nothing.")})

# %%
progress("02-normalization")

# %% [markdown]
# ## Where this lives in real models
#
# | norm | models |
# |---|---|
# | LayerNorm | the original Transformer ([1706.03762](https://arxiv.org/abs/1706.03762)), BERT, GPT-2 and GPT-3, OPT, BLOOM |
# | RMSNorm | T5 ([1910.10683](https://arxiv.org/abs/1910.10683)), Gopher, LLaMA ([2302.13971](https://arxiv.org/abs/2302.13971)), Mistral, Qwen, DeepSeek; Gemma with $1 + \gamma$ |
# | group norm | image diffusion models |
# | batch norm | ResNet ([1512.03385](https://arxiv.org/abs/1512.03385)) |
#
# *Where* in the block a norm is put matters as much as which norm it is. The next unit, **03-norm-placement**, tries the possible places and measures what each of them does to the gradient.
