# %% [markdown]
# # Stability
#
# **You will be able to**
#
# - compute sums of exponentials that never overflow, and say where each dtype would;
# - bound scores and logits with z-loss, QK-norm and soft caps, and prove the bounds;
# - say which parameters decay, and what decay can and cannot limit;
# - make a training run break, find out why, and stop it.
#
# **Prerequisites:** units 01 and 02. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# A small model learns to name the token two positions back, which is one of 16. Guessing would cost a loss of $\ln 16 = 2.77$ nats (the unit of natural logarithms). The learning rate climbs slowly, and at first all goes well.
#
# | step | 0 | 20 | 30 | 40 |
# |---|---|---|---|---|
# | loss | {{loss_spike.puzzle.step_0:.2f}} | {{loss_spike.puzzle.step_20:.2f}} | {{loss_spike.puzzle.step_30:.2f}} | {{loss_spike.puzzle.step_40:.2f}} |
#
# Then the loss climbs again in every one of {{loss_spike.seeds:word}} recorded runs, and {{loss_spike.nothing.above_005:word}} of them end above 0.05, the worst at {{loss_spike.nothing.end_max:.2f}}. However, the rule was learned, every batch is as easy as before, and no number is infinite. Which number inside the model would you look at?

# %% setup=true
import math

import matplotlib.pyplot as plt
import torch
from anatomy import case, check, predict, progress, quiz, reveal
from anatomy.experiments import recorded, show_large, where
from anatomy.experiments.loss_spike import end, recorded_alarms, remedies, train
from anatomy.plots import described, use_style
from anatomy.widgets import AttentionExplorer, SoftmaxStabilityExplorer

use_style()

# %%
predict("stability.p1", "One number leaves the range of a healthy run whenever this run breaks, and stays inside when it is cured. Which?",
        ["the largest attention score", "the length of the gradient", "the log of the sum of the output's exponentials"])

# %% [markdown]
# Keep your guess until section 7, where you run the model. The parts that come first are the remedies that you will try on it.

# %% [markdown]
# ## 1. A sum that overflows
#
# Softmax divides exponentials by their sum, and exponentials grow so fast that this sum can become infinite although every share is an ordinary number. The first part is therefore a sum that cannot overflow.
#
# ### Worked example
#
# The scores $\ln 3$ and 0 have the exponentials 3 and 1, and $\ln(3 + 1) = 1.386$. When 1000 is added to both scores, the result on paper is 1001.386.

# %%
x = torch.tensor([math.log(3), 0.0])
torch.exp(x).sum().log(), torch.exp(x + 1000).sum().log()

# %% [markdown]
# A factor $e^m$ comes out of the sum, and it comes out of the log as $m$:
#
# $$\log \sum_i e^{x_i} = m + \log \sum_i e^{x_i - m}$$
#
# With $m = \max_i x_i$ the largest exponent is 0, and no term of the sum is larger than 1.

# %% [markdown]
# How large $x$ may be without this shift depends on the dtype. For example, float16 and bfloat16 (both are called half precision) have 16 bits each, but they spend them differently.

# %%
predict("stability.p2", "From about which x on is e to the x infinite in bfloat16?",
        ["11, as in float16", "89, as in float32", "710, as in float64"])

# %%
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    print(f"{str(dtype)[6:]:9} e^10, e^12, e^80, e^100 =", torch.exp(torch.tensor([10, 12, 80, 100], dtype=dtype)).tolist())

# %%
reveal("stability.p2",
       lambda: ", ".join(f"{str(d)[6:]} {math.log(torch.finfo(d).max):.1f}" for d in (
    torch.float16, torch.bfloat16, torch.float32, torch.float64)),
       "bfloat16 has float32's range and pays in digits: it says 22016 where e^10 is 22026.5.",
       answer="89, as in float32")

# %% [markdown] statement="stability.logsumexp"
# Write this log of a sum along axis `dim`, which disappears from the shape.
#
# A slice in which every entry is $-\infty$ gives $-\infty$. To get there, shift such a slice by 0.

# %% exercise="stability.logsumexp"
def logsumexp(x, dim=-1):
    """log of the sum of exp(x) along dim, for a float tensor of any shape; entries may be -inf.

    Returns a tensor of the same dtype without the axis dim. Gradients flow.
    """
    ### BEGIN SOLUTION
    m = x.amax(dim=dim, keepdim=True)
    m = torch.where(m == -math.inf, torch.zeros_like(m), m)
    return (m + torch.log(torch.exp(x - m).sum(dim=dim, keepdim=True))).squeeze(dim)
    ### END SOLUTION

# %% [markdown] hints="stability.logsumexp"
# 1. What does your softmax of unit 01 subtract before exp? Here it must come back at the end: where?
# 2. `m = x.amax(dim=dim, keepdim=True)`, made 0 where it is $-\infty$. Then log of the sum of `torch.exp(x - m)`, plus `m`, and the axis away with `squeeze(dim)`.
# 3. `m = torch.where(m == -math.inf, torch.zeros_like(m), m)`, then `return (m + torch.log(…)).squeeze(dim)`.

# %% [markdown] worth="stability.logsumexp"
# FlashAttention-2 keeps exactly this number, one logsumexp for each query. From it the backward pass recomputes all weights instead of storing them ([2307.08691](https://arxiv.org/abs/2307.08691)).

# %% [markdown]
# ### See it
#
# With $\log Z$ for the result of your function, softmax is $e^{x_i - \log Z}$, and the next cell builds attention on that. Leave the scores unscaled in the explorer, and the weights sharpen while nothing overflows.

# %%
def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.exp(scores - logsumexp(scores).unsqueeze(-1)) @ v

AttentionExplorer(attention)

# %% [markdown]
# ### Claim on trial
#
# > *"The exponential in softmax makes the attention matrix ill-conditioned. That is why training gets unstable."*
#
# A matrix is ill-conditioned if it stretches some directions far more than others, and the *condition number* is the largest such ratio. To test the claim, we make random scores larger and larger. We watch the condition number of the weights and their entropy $-\sum p \ln p$, which is 0 when one key has all the weight.

# %%
def measured(factor):
    s = factor * torch.randn(16, 16, generator=torch.Generator().manual_seed(0))
    p = torch.exp(s - logsumexp(s).unsqueeze(-1))
    return torch.linalg.cond(p.double()).item(), torch.special.entr(p).sum(-1).mean().item()

for factor in (0.01, 0.1, 1, 10, 100):
    condition, entropy = measured(factor)
    print(f"scores × {factor:6}   condition {condition:9.3g}   entropy {entropy:.3f}")

# %% [markdown] evidence="exact"
# **Verdict: the condition number does not tell trouble from health.** It is large at both ends of the table. Where the scores are *small*, nearly equal weights in all rows make the matrix nearly singular, and every fresh model starts like that, and learns.
#
# Large scores do harm in two other ways. The exponentials overflow, which the shift cures. Softmax also saturates, which the shift does not cure. As it does, the entropy falls toward 0, and with it the slopes $p(1-p)$ from which a model learns.

# %% [markdown]
# ## 2. z-loss
#
# Overflow can be avoided, but there is a quieter trouble. Cross-entropy does not change when a number is added to all logits of a row, so nothing keeps them from drifting together. In half precision, such a drift ends with logits that can no longer be told apart.

# %%
logits = torch.tensor([2.0, 1.0, 0.0])
for shift in (0, 300):
    print((logits + shift).bfloat16().float() - shift)

# %% [markdown]
# PaLM therefore adds a loss that pulls $Z = \sum_i e^{x_i}$ toward 1, and so $\log Z$ toward 0. Over $N$ rows, the loss and its gradient are
#
# $$L_z = \frac{\lambda}{N} \sum_{n} (\log Z_n)^2, \qquad \frac{\partial L_z}{\partial x_{ni}} = \frac{2\lambda}{N}\, \log Z_n \, p_{ni}$$
#
# The second follows from the first because $\partial \log Z / \partial x_i = p_i$, the softmax. For example, the logits $\ln 3$ and 0 have $\log Z = 1.386$, and they share the pull 3 to 1.

# %% [markdown] statement="stability.z_loss"
# Write the loss (a scalar) and its gradient (the shape of `logits`). Rows lie along the last axis, all leading axes together make the $N$ rows, and logits may be large.

# %% exercise="stability.z_loss"
def z_loss(logits, coefficient=1e-4):
    """z-loss (arXiv:2204.02311, section 5) of logits (..., V): a scalar tensor of their dtype. Gradients flow."""
    ### BEGIN SOLUTION
    return coefficient * (logsumexp(logits) ** 2).mean()
    ### END SOLUTION


def z_loss_gradient(logits, coefficient=1e-4):
    """Gradient of z_loss by the logits, same shape and dtype, written by hand."""
    log_z = logsumexp(logits).unsqueeze(-1)  # (..., 1)
    ### BEGIN SOLUTION
    return 2 * coefficient * log_z * torch.exp(logits - log_z) / log_z.numel()
    ### END SOLUTION

# %% [markdown] hints="stability.z_loss"
# 1. Chain rule: what is the derivative of $u^2$, and what is $u$ here?
# 2. The softmax is `torch.exp(logits - log_z)`. The number of rows is `log_z.numel()`.
# 3. `return coefficient * (logsumexp(logits) ** 2).mean()` and `return 2 * coefficient * log_z * … / log_z.numel()`.

# %% [markdown] worth="stability.z_loss"
# The same penalty on the logits of a router keeps mixtures of experts stable, which are models in which a router chooses among several feed-forward layers. There it is called *router z-loss* and comes from ST-MoE ([Zoph et al. 2022](https://arxiv.org/abs/2202.08906)).

# %% [markdown]
# Your gradient agrees with autograd's, apart from rounding.

# %%
rows = (torch.randn(4, 8, generator=torch.Generator().manual_seed(1)) + 30).requires_grad_(True)
by_autograd, = torch.autograd.grad(z_loss(rows), rows)
(by_autograd - z_loss_gradient(rows.detach())).abs().max()

# %% [markdown]
# ## 3. QK-norm
#
# Attention has its own kind of drift. Unit 01 divided by $\sqrt D$ so that scores start small, but training can undo this by making $W_Q$ and $W_K$ large. QK-norm prevents this, because it divides each query and key by its own root mean square. It then multiplies by a gain.
#
# $$\hat q = \frac{q}{\sqrt{\frac{1}{D}\sum_i q_i^2 + \varepsilon}} \odot g_q$$
#
# Here `q` has shape $(\dots, T, D)$, `k` has $(\dots, S, D)$, and each gain has $(D)$.

# %% [markdown]
# ### Worked example
#
# For $q = (6, 8)$ the mean of the squares is 50 and its root is 7.07, so $\hat q = (0.849, 1.131)$ for gains of 1. The length was 10 and is now $\sqrt 2 = \sqrt D$. For $q = (600, 800)$ the result is the same.

# %% [markdown]
# So without the gain, $\hat q$ has length $\sqrt D$ (ε makes it a little shorter), and with it at most $\sqrt D \max|g_q|$. Since a dot product is at most the product of the lengths,
#
# $$\left|\frac{\hat q \cdot \hat k}{\sqrt D}\right| \le \sqrt D \, \max|g_q| \, \max|g_k|$$
#
# RoPE, which turns queries and keys according to their positions, keeps their lengths, and the bound holds after it, too.

# %%
predict("stability.p3", "D = 64, gains 1, and all of W_Q and W_K is multiplied by 1000. The largest score is…",
        ["about 1,000,000 times larger", "about 1000 times larger", "the same, at most 8"])

# %% [markdown] statement="stability.qk_norm"
# Write QK-norm, which returns the pair, and the bound as a Python float, which follows from the two largest lengths as above.

# %% exercise="stability.qk_norm"
def qk_norm(q, k, q_gain, k_gain, eps=1e-6):
    """RMS-normalize q (..., T, D) and k (..., S, D) along the last axis; gains (D,).

    Returns (q, k), of the same shapes and dtypes. Gradients flow.
    """
    ### BEGIN SOLUTION
    q = q * torch.rsqrt((q**2).mean(-1, keepdim=True) + eps) * q_gain
    k = k * torch.rsqrt((k**2).mean(-1, keepdim=True) + eps) * k_gain
    return q, k
    ### END SOLUTION


def qk_norm_bound(q_gain, k_gain):
    """Largest |q·k|/√D that qk_norm allows, as a float."""
    ### BEGIN SOLUTION
    return math.sqrt(q_gain.shape[-1]) * q_gain.abs().max().item() * k_gain.abs().max().item()
    ### END SOLUTION

# %% [markdown] hints="stability.qk_norm"
# 1. It is the RMSNorm of unit 02, once with each gain. Which axis is one vector?
# 2. `(q**2).mean(-1, keepdim=True) + eps` goes under `torch.rsqrt`. A negative gain stretches too: `abs()`.
# 3. `q = q * torch.rsqrt(…) * q_gain`, the same for k; `return math.sqrt(q_gain.shape[-1]) * … * …`.

# %% [markdown] worth="stability.qk_norm"
# Models differ in what counts as one vector. While Qwen3 ([2505.09388](https://arxiv.org/abs/2505.09388)) normalizes each head by itself, as here, OLMo 2 ([2501.00656](https://arxiv.org/abs/2501.00656)) normalizes all heads of a token together, before they are split.

# %%
def largest_score(factor, D=64):
    g = torch.Generator().manual_seed(2)
    q, k = qk_norm(factor * torch.randn(500, D, generator=g), factor * torch.randn(500, D, generator=g),
                   torch.ones(D), torch.ones(D))
    return (q @ k.T / math.sqrt(D)).abs().max().item()

# %%
reveal("stability.p3",
       lambda: f"{largest_score(1):.3f} before, {largest_score(1000):.3f} after; "
       f"bound {qk_norm_bound(torch.ones(64), torch.ones(64)):.0f}",
       "The length is divided out. Only the gains can make scores larger.",
       answer="the same, at most 8")

# %% [markdown]
# ## 4. Soft caps
#
# While QK-norm changes every score, a soft cap is milder. It lets small scores through and bends only large ones.
#
# $$y = c \tanh(x / c)$$
#
# With $c = 10$, for example, 0 stays 0, 10 becomes 7.62, and 1000 becomes 10. In exact arithmetic $|y| < c$ for every $x$, and the slope $1 - \tanh^2(x/c)$ is 1 at 0.
#
# The mask has to come *after* the cap. Since $\tanh(-\infty) = -1$, a mask put in before would turn into the score $-c$, and forbidden keys would get some weight.

# %% [markdown] statement="stability.soft_cap"
# Write the cap (`ValueError` when `cap <= 0`), and the attention weights of capped scores. `mask` is boolean or None, True means may look, and every row has an allowed key.

# %% exercise="stability.soft_cap"
def soft_cap(x, cap):
    """cap · tanh(x / cap), elementwise, same dtype (arXiv:2408.00118). Raises ValueError when cap <= 0."""
    ### BEGIN SOLUTION
    if cap <= 0:
        raise ValueError(f"cap must be positive, got {cap}")
    return cap * torch.tanh(x / cap)
    ### END SOLUTION


def soft_capped_weights(scores, cap, mask=None):
    """Weights (..., T, S) of scores (..., T, S), same dtype: capped, then masked, then softmax. Gradients flow."""
    ### BEGIN SOLUTION
    scores = soft_cap(scores, cap)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, dim=-1)
    ### END SOLUTION

# %% [markdown] hints="stability.soft_cap"
# 1. Follow one forbidden score through cap and mask, in both orders. Which order gives it weight 0?
# 2. Check the cap, then `cap * torch.tanh(x / cap)`. For the weights: your cap, `masked_fill(~mask, -math.inf)`, softmax.
# 3. `scores = soft_cap(scores, cap)`, then mask unless it is None, then `return torch.softmax(…, dim=-1)`.

# %% [markdown] worth="stability.soft_cap"
# A cap acts between score and softmax, which is inside the attention kernel, so a kernel without it cannot run Gemma 2 correctly. FlashAttention has had caps since version 2.6, of 2024.

# %%
line = torch.linspace(-40, 40, 161)
with described("Capped scores against raw ones: caps 5 and 20 follow the diagonal near 0 and level off at 5 and 20."):
    plt.plot(line, line, color="gray", lw=1, label="no cap")
    for cap in (5.0, 20.0):
        plt.plot(line, soft_cap(line, cap), label=f"cap {cap:.0f}")
    plt.xlabel("score"), plt.ylabel("capped score"), plt.legend()

# %% [markdown]
# ### Extension: a claim on trial
#
# > *"Scores near the cap or below it stay practically unchanged."* (from a page of notes)
#
# Take the cap 10 and apply your function to a few scores. How much of each score is gone, and how much slope is left?

# %%
x = torch.tensor([1.0, 2.0, 5.0, 10.0, 20.0], requires_grad=True)
y = soft_cap(x, 10.0)
y.sum().backward()
for score, capped, slope in zip(x.tolist(), y.tolist(), x.grad.tolist()):
    print(f"score {score:4.0f} → {capped:5.2f}   {1 - capped / score:4.0%} gone   slope {slope:.2f}")

# %% [markdown] evidence="exact"
# **Verdict: only scores far below the cap stay unchanged.** At half of the cap 8 % of the score is gone, and at the cap itself 24 %, with a slope of 0.42. "Soft" means that the curve bends early, so a model that needs scores of 10 needs a cap well above 10.

# %% [markdown]
# ### All of it at once
#
# Eight scores between −2 and 2 are multiplied by a factor, and the explorer applies your functions of sections 1 to 4 to them.
#
# 1. When you raise the factor, at which score does softmax without the shift break in each dtype, and what happens to log Z there?
# 2. When the curves show the slope, which remedy keeps it, and which keeps only the weights?
# 3. When the scores grow *as in a training run*, which is the run of the puzzle, at which step is the slope gone?

# %%
SoftmaxStabilityExplorer({"logsumexp": logsumexp, "z_loss": z_loss, "z_loss_gradient": z_loss_gradient,
                          "qk_norm": qk_norm, "qk_norm_bound": qk_norm_bound, "soft_cap": soft_cap})

# %% [markdown]
# Softmax without the shift breaks at 11.3 in float16, at 90.5 in bfloat16 and float32, and at 724 in float64, which are the slider's first steps above the limits of section 1, while your log Z stays finite.
#
# Far out, the cap makes all positive scores equal, so the weights look healthy again. However, the slope before the cap is 0, and no gradient comes back. QK-norm keeps both, because large scores never reach the softmax. In the run without remedy the slope is gone by step 32, while the loss is still small.

# %% [markdown]
# ## 5. Weight decay
#
# Scores also stay small if the weights that make them stay small. Weight decay takes care of this inside the optimizer, which is usually Adam. For each parameter, Adam keeps two running averages, one of the gradient and one of its square. Its direction $d$ is the first divided by the root of the second, so $d$ has a size of about 1 however large the gradients are.

# %% [markdown]
# AdamW takes a share of each weight away at every step, whatever the gradient says. With learning rate η and decay λ,
#
# $$\theta \leftarrow (1 - \eta\lambda)\,\theta - \eta\, d$$
#
# For example, with $\eta = 0.1$, $\lambda = 0.5$ and no gradient, $\theta = 2$ becomes 1.9. Which parameters should be pulled toward 0 like that?

# %% [markdown] statement="stability.parameter_groups"
# The usual choice is that matrices decay, while biases, norm gains and embedding tables do not.
#
# From a dict name → shape (a list of sizes) and a list of the embeddings' names, return two groups, each with its names as a list in the dict's order:
#
# ```
# [{"params": two axes or more, no embedding, "weight_decay": weight_decay},
#  {"params": all others,                     "weight_decay": 0.0}]
# ```

# %% exercise="stability.parameter_groups"
def parameter_groups(shapes, embeddings, weight_decay):
    """Two groups for an optimizer: the first decays, the second does not. Returns a list of two dicts.

    embeddings holds whole names. A group may be empty, and a shape too (a single number).
    """
    ### BEGIN SOLUTION
    decay = [n for n, shape in shapes.items() if len(shape) >= 2 and n not in embeddings]
    rest = [n for n in shapes if n not in decay]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    ### END SOLUTION

# %% [markdown] hints="stability.parameter_groups"
# 1. How many axes has a bias, a gain, a matrix? Which matrix is an exception?
# 2. Decide by `len(shape) >= 2 and name not in embeddings`. What is not in the first list belongs to the second.
# 3. `decay = [n for n, shape in shapes.items() if …]`, `rest = [n for n in shapes if n not in decay]`, then the two dicts.

# %% [markdown] worth="stability.parameter_groups"
# There is no law about embeddings. For example, nanoGPT looks only at the number of axes and lets them decay, whereas OLMo 2 took them out, for stability ([2501.00656](https://arxiv.org/abs/2501.00656)).

# %% [markdown]
# ### Extension: AdamW, and L2 inside Adam
#
# This function computes Adam's direction from the gradient and the two running averages, which are called *moments* and which it returns as well. Both start at 0 and are too small at first, which a division corrects that depends on `step`, counted from 1.

# %% setup=true
def adam_direction(gradient, m, v, step):
    """Direction of Adam (arXiv:1412.6980) with β = 0.9, 0.999 → (direction, m, v)."""
    m = 0.9 * m + 0.1 * gradient
    v = 0.999 * v + 0.001 * gradient**2
    return (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8), m, v

# %% [markdown]
# There are two ways to pull weights toward 0, with learning rate η and decay λ.
#
# - **AdamW** shrinks the weight directly, by $\theta \leftarrow (1 - \eta\lambda)\,\theta - \eta\, d(g)$.
# - **Adam with L2** adds $\frac{\lambda}{2}\|\theta\|^2$ to the loss, whose gradient $\lambda\theta$ joins $g$, so that $\theta \leftarrow \theta - \eta\, d(g + \lambda\theta)$.
#
# The ½ cancels the 2 that the square brings into the derivative. A penalty of $\lambda\|\theta\|^2$, without the ½, would have twice the gradient.

# %% [markdown]
# #### Worked example
#
# With $\theta = 2$, gradient 0, $\eta = 0.1$ and $\lambda = 0.5$, AdamW gives $0.95 \cdot 2 = 1.9$. L2 has gradient 1 and therefore direction 1, and also gives 1.9. For $\theta = 4$, however, AdamW gives 3.8 and L2 gives 3.9, because a first step of Adam has the same length for any gradient.

# %% [markdown] statement="stability.weight_decay"
# Write both steps. Each returns three tensors, the new θ and the two new moments, and changes nothing in place.

# %% exercise="stability.weight_decay"
def adamw_step(theta, gradient, m, v, step, lr, weight_decay):
    """One step of AdamW (arXiv:1711.05101) → (theta, m, v), dtypes kept."""
    direction, m, v = adam_direction(gradient, m, v, step)
    ### BEGIN SOLUTION
    return (1 - lr * weight_decay) * theta - lr * direction, m, v
    ### END SOLUTION


def adam_l2_step(theta, gradient, m, v, step, lr, weight_decay):
    """One step of Adam with an L2 penalty → (theta, m, v), dtypes kept."""
    ### BEGIN SOLUTION
    direction, m, v = adam_direction(gradient + weight_decay * theta, m, v, step)
    return theta - lr * direction, m, v
    ### END SOLUTION

# %% [markdown] hints="stability.weight_decay"
# 1. In which of the two does λ pass through the division by √v?
# 2. AdamW: `(1 - lr * weight_decay) * theta` minus the step. L2: call `adam_direction` with `gradient + weight_decay * theta`.
# 3. `return (1 - …) * theta - lr * direction, m, v`; and in the second `direction, m, v = adam_direction(gradient + …, m, v, step)`.

# %% [markdown] worth="stability.weight_decay"
# Left alone, a weight under AdamW shrinks by a factor $e$ in about $1/(\eta\lambda)$ steps, for example in 33,000 steps for $\eta = 3\cdot 10^{-4}$ and $\lambda = 0.1$.

# %% [markdown]
# #### Claim on trial
#
# > *"AdamW decays by θ ← (1 − λ)θ − …, whatever the learning rate."*
#
# To see what PyTorch does, take one step with gradient 0 and λ = 0.5, at two learning rates.

# %%
for lr in (0.1, 0.01):
    p = torch.nn.Parameter(torch.tensor([2.0]))
    p.grad = torch.zeros(1)
    torch.optim.AdamW([p], lr=lr, weight_decay=0.5).step()
    mine = adamw_step(torch.tensor([2.0]), *torch.zeros(3, 1), 1, lr, 0.5)[0]
    print(f"η = {lr}: PyTorch {p.item():.3f}, yours {mine.item():.3f}, (1 − λ)θ would be 1.000")

# %% [markdown] evidence="exact"
# **Verdict: in the usual code a lower learning rate also means less decay.** The factor there is $1 - \eta\lambda$. The paper's formula, however, scales the decay with a schedule factor, apart from the base learning rate. When you copy λ from a paper, check which of the two is meant.

# %% [markdown]
# ## 6. Extension: dropout
#
# Dropout hides random entries while a model trains, so that it cannot rely on any single one. Each entry is dropped with probability $p$. A share $1 - p$ survives and the mean would shrink, so *inverted* dropout divides the survivors by $1 - p$ at once. For example, with $p = 0.75$ a kept 1 becomes 4. The mean over patterns stays $x$, and inference does nothing at all.

# %% [markdown] statement="stability.dropout"
# The pattern `keep` is given (boolean, True = keep, broadcasts to `x`). Return `x` itself when `training` is False. With $p = 1$ all is dropped, and the result is zeros without NaN. A `p` outside $[0, 1]$ is a `ValueError`, when training.

# %% exercise="stability.dropout"
def dropout(x, keep, p, training=True):
    """Inverted dropout with the pattern keep; p is the probability of dropping. Shape and dtype of x."""
    ### BEGIN SOLUTION
    if not training:
        return x
    if not 0 <= p <= 1:
        raise ValueError(f"p must lie in [0, 1], got {p}")
    return x * keep / (1 - p) if p < 1 else torch.zeros_like(x)
    ### END SOLUTION

# %% [markdown] hints="stability.dropout"
# 1. What share of the entries survives, and what brings the mean back?
# 2. Inference first: return `x`. Then the check, then `x * keep / (1 - p)`, with $p = 1$ apart.
# 3. `return x * keep / (1 - p) if p < 1 else torch.zeros_like(x)`.

# %% [markdown] worth="stability.dropout"
# Large models often train without dropout, such as PaLM, which used none in pretraining and 0.1 in most fine-tuning ([2204.02311](https://arxiv.org/abs/2204.02311), section 5).

# %% [markdown]
# ### Claim on trial
#
# > *"The factor 1/(1 − p) compensates at inference: there the outputs are multiplied by (1 − p)."*
#
# Take 100,000 numbers with mean 1, $p = 0.2$. What do training and inference do to the mean?

# %%
torch.manual_seed(5)
x, builtin = 1 + torch.randn(100_000), torch.nn.Dropout(0.2)
keep = torch.rand(x.shape) >= 0.2
print(f"mean of x {x.mean():.3f}; in training: yours {dropout(x, keep, 0.2).mean():.3f}, PyTorch {builtin(x).mean():.3f}")
builtin.eval()
print(f"at inference: yours {dropout(x, keep, 0.2, False).mean():.3f}, PyTorch {builtin(x).mean():.3f}, "
      f"times 1 − p {0.8 * builtin(x).mean():.3f}")

# %% [markdown] evidence="exact"
# **Verdict: inverted dropout multiplies nothing at inference, and the claim mixes two methods.** The first dropout left the survivors alone in training and multiplied by $1 - p$ at inference. Inverted dropout, which libraries use, divides in training and leaves inference alone. Whoever did both would shrink the outputs.

# %% [markdown]
# ## 7. A loss spike, and how to stop it
#
# Two parts are missing before the run of the puzzle. One is a remedy that acts on the gradients, called *clipping*. If their joint length exceeds a limit, all of them are multiplied by the same factor. For example, gradients 3 and 4 have joint length 5, and with limit 1 they become 0.6 and 0.8.

# %% [markdown] statement="stability.clip"
# From a list of tensors, return the list of clipped gradients and the joint length *before* clipping (a scalar tensor). At or below the limit nothing changes, and zeros stay zeros.

# %% exercise="stability.clip"
def clip_by_global_norm(gradients, limit):
    """Scale all gradients (tensors of any shapes) so that their joint length is at most limit (> 0).

    Returns (list of tensors, joint length before), dtypes kept.
    """
    ### BEGIN SOLUTION
    norm = torch.sqrt(sum((g**2).sum() for g in gradients))
    factor = limit / torch.clamp(norm, min=limit)
    return [g * factor for g in gradients], norm
    ### END SOLUTION

# %% [markdown] hints="stability.clip"
# 1. The length of one long vector made of all gradients: what is under the root?
# 2. Root of the sum of all squares. The factor is `limit / norm`, but never above 1.
# 3. `norm = torch.sqrt(sum(… for g in gradients))`, `factor = limit / torch.clamp(norm, min=limit)`.

# %% [markdown] worth="stability.clip"
# One factor for all keeps the direction of the gradient, whereas clipping each tensor by itself would turn it. GPT-3 ([2005.14165](https://arxiv.org/abs/2005.14165)) and LLaMA ([2302.13971](https://arxiv.org/abs/2302.13971)) both use the limit 1.0.

# %% [markdown]
# The other part measures how high a spike is, by how far the loss rises above the lowest value *before* it. For example, in 3, 1, 2, 2.5, 0.5 the loss climbs from 1 to 2.5, which is a spike of 1.5. A run that only falls has 0.

# %% [markdown] statement="stability.spike"
# Return the height of the highest spike of a list of losses, as a float.

# %% exercise="stability.spike"
def spike_height(losses):
    """Largest rise above the lowest loss so far, in the unit of the losses; 0.0 where there is none."""
    ### BEGIN SOLUTION
    lowest, height = losses[0], 0.0
    for loss in losses:
        lowest = min(lowest, loss)
        height = max(height, loss - lowest)
    return height
    ### END SOLUTION

# %% [markdown] hints="stability.spike"
# 1. Walk through the list once. Which two numbers must you remember?
# 2. The lowest loss so far, and the largest difference so far.
# 3. `lowest = min(lowest, loss)`, then `height = max(height, loss - …)`.

# %% [markdown] worth="stability.spike"
# PaLM's largest model spiked some 20 times. The authors went back about 100 steps and skipped 200 to 500 batches, and the spike did not return ([2204.02311](https://arxiv.org/abs/2204.02311), section 5.1).

# %% [markdown]
# ### Experiment: provoke it
#
# Which number tells that a run is breaking, and which remedy stops it? To find out, we need a run that breaks. Ours has two layers of width 32, AdamW, and a learning rate that climbs to 0.1 in 60 steps, which is ten times too high. A second run has the same start and the same batches, but a tenth of the rate.

# %% [markdown]
# `train` returns curves with one number per step. They are the `loss`, the largest |attention score| as `score`, the largest log Z of the output as `log_z`, and the length of the `gradient` before clipping.

# %%
runs = {"nothing": train(seed=0), "a tenth of the rate": train(seed=0, slower=10)}

def report(name):
    run = runs[name]
    print(f"{name:20} spike {spike_height(run['loss']):.2f}   at the end {end(run['loss']):.3f}   "
          f"largest score {max(run['score']):6.0f}   largest log Z {max(run['log_z']):4.1f}")

for name in runs:
    report(name)

# %%
with described("Loss, largest score and gradient length of the two runs. At the high rate the loss falls below 0.1, then "
               "climbs again, and scores reach thousands; at a tenth of it the loss ends near 0, scores near 25."):
    figure, panels = plt.subplots(1, 3, figsize=(10, 3))
    for panel, curve in zip(panels, ("loss", "score", "gradient")):
        for name, run in runs.items():
            panel.semilogy(run[curve], label=name, lw=1.2)
        panel.set(xlabel="step", title={"score": "largest |score|", "gradient": "length of the gradient"}.get(curve, curve))
    panels[0].legend(fontsize=8, loc="lower left")

# %% [markdown]
# Which of these numbers is the first to leave the range that it has in a healthy run? We say that a number sounds the *alarm* at the first step at which it is more than twice as large as it ever gets in the healthy run. For the loss, it is the first step above 0.1 after it was below.

# %%
def alarms(run, healthy=runs["a tenth of the rate"]):
    first = lambda values, limit, start=0: next((i for i in range(start, len(values)) if values[i] > limit), "never")
    learned = next(i for i, v in enumerate(run["loss"]) if v < 0.1)
    return {"loss": first(run["loss"], 0.1, learned),
            **{name: first(run[name], 2 * max(healthy[name])) for name in ("score", "gradient", "log_z")}}

# %%
alarms(runs["nothing"])

# %% [markdown]
# These are the alarms of your own run. A run that spikes amplifies the last bit of every sum, so another processor gets another run, with its alarms a few steps earlier or later. We therefore count alarms in the recorded runs of {{loss_spike.seeds:word}} seeds.

# %%
record = recorded("loss_spike")
heard = {name: recorded_alarms(record, name) for name in ("nothing", "QK-norm")}
for name in heard:
    print(f"{name:8}", {what: sum(a[what] is not None for a in heard[name]) for what in heard[name][0]},
          f"of {len(heard[name])} sound")

# %%
def sounds(what):
    """In how many runs this alarm sounds, without remedy and with one."""
    return [sum(a[what] is not None for a in heard[name]) for name in heard]

# %%
reveal("stability.p1",
       lambda: f"alarms without remedy and with QK-norm, of {len(heard['nothing'])} runs each: "
       + ", ".join(f"{what} {sounds(key)[0]} and {sounds(key)[1]}"
                   for what, key in (("score", "score"), ("gradient", "gradient"), ("log Z", "log_z"))),
       "Where scores are large, softmax becomes a hard choice with hardly any slope, so mistakes stay. "
       "Nothing is wrong at the output: log Z is no help.",
       answer="the largest attention score")

# %% [markdown]
# ### Claim on trial
#
# > *"Loss and length of the gradient tell whether a run is stable: in a stable run both are smooth."*
#
# To test this, train with QK-norm at the high rate. What do the two numbers say, and how does the run end?

# %%
runs["QK-norm"] = train(seed=0, qk_norm=qk_norm)
print("alarms:", alarms(runs["QK-norm"]))
report("QK-norm")

# %% [markdown] evidence="recorded: loss_spike, control: learning rate"
# **Verdict: neither the loss nor the gradient tells a broken run from a good one, but the largest score does.** The table counts the alarms in {{loss_spike.seeds}} recorded runs each.
#
# | | loss | gradient | log Z | score |
# |---|---|---|---|---|
# | without remedy (ends at {{loss_spike.nothing.end_median:.2f}}, median) | {{loss_spike.nothing.loss_alarms}} | {{loss_spike.nothing.gradient_alarms}} | {{loss_spike.nothing.log_z_alarms}} | {{loss_spike.nothing.score_alarms}} |
# | QK-norm (ends at {{loss_spike.qk_norm.end_max:.3f}} at most) | {{loss_spike.qk_norm.loss_alarms}} | {{loss_spike.qk_norm.gradient_alarms}} | {{loss_spike.qk_norm.log_z_alarms}} | {{loss_spike.qk_norm.score_alarms}} |
#
# The loss jumps in runs that end well, too, and so does the gradient in some of them. In the broken runs, score and gradient leave their range at most {{loss_spike.nothing.apart}} steps apart, and in {{loss_spike.nothing.gradient_first:word}} of {{loss_spike.seeds:word}} the gradient is first. So watch the loss, and log the scores.

# %% [markdown]
# ### The remedies
#
# Where must a remedy act to cure this run? QK-norm, which acts on the scores, was one attempt. The function `remedies` builds nine runs from your functions, and the table says where each of them acts.
#
# | acts on | runs |
# |---|---|
# | the scores | QK-norm; a soft cap of 30 on scores |
# | the weights | decay of 0.3 on matrices, or on the norms' gains too |
# | the gradients | clipping to a length of 0.05 |
# | the output logits | z-loss with weight 0.01; a soft cap of 15 on logits |
# | all steps | a tenth of the learning rate |
# | nothing | the run of the puzzle |
#
# Clipping and z-loss are far stronger here than usual, so that they get a fair chance.

# %%
predict("stability.p4", "z-loss holds log Z down, and does it well here. Does it stop this spike?",
        ["yes", "not quite: the spike is at most half as high", "no"])

# %%
changes = remedies(qk_norm, soft_cap, z_loss, parameter_groups, clip_by_global_norm)
list(changes)

# %% [markdown]
# The cap bounds the scores at 30. What is measured, however, is their size *before* it, which can be larger.

# %%
runs["soft cap on scores"] = train(seed=0, **changes["soft cap on scores"])
report("soft cap on scores")

# %% [markdown]
# Next come the remedies that act on the gradients and on the output logits.

# %%
for name in ("clipping", "z-loss", "soft cap on logits"):
    runs[name] = train(seed=0, **changes[name])
    report(name)

# %%
reveal("stability.p4",
       lambda: f"largest log Z {max(runs['nothing']['log_z']):.0f} → {max(runs['z-loss']['log_z']):.0f}, "
       f"spike {spike_height(runs['nothing']['loss']):.2f} → {spike_height(runs['z-loss']['loss']):.2f}, "
       f"loss at the end {end(runs['nothing']['loss']):.2f} → {end(runs['z-loss']['loss']):.2f}, "
       f"largest score {max(runs['z-loss']['score']):,.0f}",
       "It does its job at the output. The fault is in the scores, which it does not reach.",
       answer=lambda: "yes" if end(runs["z-loss"]["loss"]) < 0.05 else "not quite: the spike is at most half as high"
       if 2 * spike_height(runs["z-loss"]["loss"]) <= spike_height(runs["nothing"]["loss"]) else "no")

# %% [markdown]
# ### Claim on trial
#
# > *"Weight decay keeps weights from exploding, and so training stable. Norms and biases get none."*
#
# We try λ = 0.3 twice, first for your first group alone, then for the gains of the norms as well. The printed `gain` is the largest one of a norm in front of attention.

# %%
for name in ("decay on matrices", "decay on gains too"):
    runs[name] = train(seed=0, **changes[name])
    report(name)
    print(f"{'':20} largest gain {runs[name]['gain'][-1]:.1f}")

# %% [markdown] evidence="recorded: loss_spike, control: learning rate"
# **Verdict: decay limits only what it acts on, and on the matrices alone it was not enough.** It lowers the largest score from {{loss_spike.nothing.score_median:,.0f}} to {{loss_spike.decay_on_matrices.score_median:.0f}} (medians of {{loss_spike.seeds:word}} recorded runs). However, {{loss_spike.decay_on_matrices.above_005}} of {{loss_spike.seeds}} runs still end above 0.05, because the gains of the norms are free and stretch what enters $W_Q$ and $W_K$. With the gains in the group, {{loss_spike.decay_on_gains_too.below_001}} of {{loss_spike.seeds}} end below 0.01.
#
# Large models usually leave the gains free and bound the scores themselves, which works without tuning λ.

# %% [markdown]
# ### One seed is an anecdote
#
# All your runs had seed 0, and another seed may tell another story. Therefore all remedies were recorded with {{loss_spike.seeds:word}} seeds in the same setting, and the plot shows your loss curves on the range of the recorded ones. (Seed 0 is among them, but once a run has spiked, rounding alone decides where it goes.)

# %%
numbers = lambda text: torch.tensor([float(v) for v in text.split()])
rows = {name: [r for r in record["rows"] if r["remedy"] == name] for name in record["remedies"]}

with described("Loss over 160 steps, your run on the band of eight recorded seeds. Without remedy the band climbs back to "
               "around 1 after step 40; with QK-norm it falls below 0.01."):
    for name in ("nothing", "QK-norm"):
        losses = torch.stack([numbers(r["loss"]) for r in rows[name]])
        line, = plt.semilogy(runs[name]["loss"], lw=1.2, label=f"{name}, yours")
        plt.fill_between(range(losses.shape[1]), losses.amin(0), losses.amax(0), color=line.get_color(), alpha=0.2, lw=0)
    plt.xlabel("step"), plt.ylabel("loss"), plt.legend()
print(where(record))
show_large("loss_spike")

# %% [markdown]
# The next plot shows where each remedy ends. Dots are recorded seeds, the bar reaches from the second lowest to the second highest of them, and the cross is your run.

# %%
def dots(panel, i, values, mine):
    values = sorted(values)
    panel.plot(values, [i] * len(values), "o", color="#56B4E9", ms=4, ls="none", label="recorded seeds")
    panel.plot([values[1], values[-2]], [i, i], color="#0072B2", ls="-", lw=2, label="second lowest to second highest")
    panel.plot(mine, i, "x", color="black", ms=8, mew=2, label="yours")

with described("Nine runs, loss at the end and largest score, eight seeds and yours. QK-norm, a soft cap on scores, decay "
               "on gains too and a tenth of the rate end below 0.05 with scores below 500; without remedy, and with the "
               "others, most end above 0.2 with scores of 400 and more."):
    figure, panels = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
    for i, name in enumerate(reversed(record["remedies"])):
        dots(panels[0], i, [end(numbers(r["loss"]).tolist()) for r in rows[name]], end(runs[name]["loss"]))
        dots(panels[1], i, [numbers(r["score"]).max() for r in rows[name]], max(runs[name]["score"]))
    panels[0].set_yticks(range(len(rows)), reversed(record["remedies"]))
    panels[0].set(xscale="log", xlabel="mean of the last 20 losses"), panels[1].set(xscale="log", xlabel="largest |score|")

# %% [markdown] evidence="recorded: loss_spike, control: learning rate"
# **Verdict: a remedy works where the fault is, and here the scores run away.**
#
# | remedy | runs that end below 0.05 |
# |---|---|
# | QK-norm, a cap on scores, decay that reaches the gains, a lower rate | {{loss_spike.cures.held}} of {{loss_spike.cures.runs}} |
# | z-loss, a cap on logits | {{loss_spike.elsewhere.held}} of {{loss_spike.elsewhere.runs}} |
#
# The remedies of the first row all hold the scores down. Those of the second row act on the output, where nothing was wrong.

# %% [markdown] evidence="recorded: loss_spike, control: learning rate"
# **Verdict: clipping helps and does not cure.** With it {{loss_spike.clipping.better}} of {{loss_spike.seeds}} seeds end lower than without, but {{loss_spike.clipping.below_005:word}} below 0.05 (medians {{loss_spike.clipping.end_median:.2f}} and {{loss_spike.nothing.end_median:.2f}}). Adam divides out most of a gradient's size anyway.

# %% [markdown]
# This does not make z-loss useless. Large models show two faults, growing scores and drifting output logits. While QK-norm cures the first, z-loss cures the second ([Wortsman et al. 2023](https://arxiv.org/abs/2309.14322)).

# %% [markdown]
# ## 8. Your own experiment
#
# Does a remedy also help a model that reads text? Nobody answers this for you, and nothing is graded. The cell trains a small Transformer of two layers on Jane Austen's novels, character by character, at a learning rate ten times as high as its usual one. The second model of each seed uses your QK-norm (with gains of 1) and your attention of section 1.

# %%
from anatomy.experiments.growing import grow

ones = torch.ones(16)  # width 64 in 4 heads
normed = lambda q, k, v, mask: attention(*qk_norm(q, k, ones, ones), v, mask)
for seed in (0, 1):
    plain, mine = grow(seed=seed, lr=3e-2), grow(seed=seed, lr=3e-2, attend=normed)
    print(f"seed {seed}: {plain.loss:.3f} against {mine.loss:.3f} nats per character")

# %% [markdown]
# What would you change? You could try, for example, another rate, a soft cap in `attend`, or your z-loss added to the cross-entropy in `loss=lambda logits, targets: …`, where logits have shape $(B, T, V)$ and targets $(B, T)$. Say what you expect, run at least two seeds, and write down in one sentence what you found. (`plain.losses` holds the training loss of every ten steps.)

# %% [markdown] written="question"
# The loss of a large run jumps and stays up. In the 100 steps before, the largest attention score grew tenfold, log Z of the output stayed where it was, and the gradient grew late. A colleague proposes z-loss and clipping. What do you expect of each of them, what would you try instead, and how would you test it?
#
# - which of the logged numbers moved, and where it is computed
# - which number each remedy bounds
# - what the optimizer makes of a shorter gradient
# - a test with a control, and what would prove you wrong

# %% [markdown] written="answer" points=4
# The logs name the fault, because the scores run away while the output does not. z-loss acts on log Z, where nothing was wrong. In the unit, z-loss and a cap on logits saved {{loss_spike.elsewhere.held}} of {{loss_spike.elsewhere.runs}} runs. Clipping eases it (medians of {{loss_spike.clipping.end_median:.2f}} with it, {{loss_spike.nothing.end_median:.2f}} without), but Adam divides by the gradient's running size anyway. I would bound the scores instead, for example by QK-norm, a cap on scores, or decay that reaches the gains. With these or a lower rate {{loss_spike.cures.held}} of {{loss_spike.cures.runs}} runs end below 0.05. To test it I would run from before the jump with and without the remedy, over several seeds. A jump with small scores would prove me wrong.
#
# ### BEGIN MARK SCHEME
# - 1 point: finds the fault in the attention scores, because they grew while log Z did not.
# - 1 point: z-loss bounds log Z of the output and does not reach the scores.
# - 1 point: clipping eases at most, since Adam divides by the gradient's running size.
# - 1 point: a remedy that bounds the scores, tested with and without it, with the scores logged.
# - No point: a list of remedies that does not say which number each one bounds.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("All scores of a row grow by 7. logsumexp of the row…",
     {"grows by 7": (True, "The factor e⁷ comes out of the sum, and out of the log as 7."),
      "stays": (False, "Softmax stays; logsumexp does not."), "grows by e⁷": (False, "The log undoes exp.")})

# %%
quiz("A row has log Z = −2. In which direction does z-loss move its logits?",
     {"up": (True, "The gradient is negative, and descent goes against it."),
      "down": (False, "That is for log Z above 0."), "not at all": (False, "Only log Z = 0 is left alone.")})

# %%
quiz("D = 256 and all gains are 2. QK-norm keeps scores within…",
     {"64": (True, "√256 · 2 · 2."), "16": (False, "The gains are missing."), "1024": (False, "That bounds q·k before √D.")})

# %%
quiz("AdamW, λ = 0.1, η falls from 0.01 to 0.001. The decay per step…",
     {"falls to a tenth": (True, "It is η·λ."), "stays 0.1": (False, "That would be 1 − λ."),
      "depends on the gradient": (False, "That is L2 inside Adam.")})

# %%
quiz("Attention scores explode. Which remedy bounds them?",
     {"z-loss": (False, "It acts on the output logits."), "QK-norm": (True, "Lengths are divided out."),
      "dropout": (False, "It has no bound.")})

# %%
progress("10-stability")

# %% [markdown]
# ## Where this lives in real models
#
# | part | where |
# |---|---|
# | z-loss | [PaLM](https://arxiv.org/abs/2204.02311), [OLMo 2](https://arxiv.org/abs/2501.00656) |
# | QK-norm | [Henry et al. 2020](https://arxiv.org/abs/2010.04245), [ViT-22B](https://arxiv.org/abs/2302.05442), OLMo 2 |
# | soft caps | [Gemma 2](https://arxiv.org/abs/2408.00118), 50 on attention scores and 30 on output logits; [Gemma 3](https://arxiv.org/abs/2503.19786) replaced them by QK-norm |
# | decoupled decay | [Loshchilov and Hutter 2017](https://arxiv.org/abs/1711.05101) |
# | clipping | [Pascanu et al. 2012](https://arxiv.org/abs/1211.5063) |
# | dropout | [Srivastava et al. 2014](https://jmlr.org/papers/v15/srivastava14a.html) |
#
# Now no part of a Transformer is missing. In the next unit, **11-assembly**, you put your parts together and load the weights of real models.
