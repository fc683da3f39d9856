# %% [markdown]
# # Stability
#
# **You will be able to**
#
# - compute sums of exponentials that never overflow;
# - hold scores and logits down with z-loss, QK-norm and soft caps, and prove the bounds;
# - tell AdamW from L2 inside Adam, and say which parameters decay;
# - make a training run break, find out why, and stop it.
#
# **Prerequisites:** units 01 and 02. **Time:** two hours.

# %% [markdown]
# ## A puzzle before anything else
#
# A small model learns to name the token two places back. Knowing nothing costs a loss of 2.77. The learning rate climbs slowly. After some 30 steps the loss is below 0.2. Then the loss climbs too, although every batch is as easy as before and no number is infinite.
#
# Which number inside the model would you look at?

# %% setup=true
import math

import matplotlib.pyplot as plt
import torch
from anatomy import check, predict, progress, quiz, reveal
from anatomy.experiments import recorded, spike, where
from anatomy.plots import described, use_style
from anatomy.widgets import AttentionExplorer

use_style()

# %%
predict("stability.p1", "Which number tells first that this run is breaking?",
        ["the largest attention score", "the largest weight", "the sum of the output's exponentials"])

# %% [markdown]
# Keep your guess. The parts come first; section 7 runs the model.

# %% [markdown]
# ## 1. A sum that overflows
#
# ### Worked example
#
# Scores $\ln 3$ and 0 have exponentials 3 and 1, and $\ln(3 + 1) = 1.386$. Now add 1000 to both. On paper the result is 1001.386.

# %%
x = torch.tensor([math.log(3), 0.0])
torch.exp(x).sum().log(), torch.exp(x + 1000).sum().log()

# %% [markdown]
# A factor $e^m$ comes out of the sum, and out of the log as $m$:
#
# $$\log \sum_i e^{x_i} = m + \log \sum_i e^{x_i - m}$$
#
# With $m = \max_i x_i$ the largest exponent is 0.

# %% [markdown] statement="stability.logsumexp"
# Write it along axis `dim`, which disappears from the shape.
#
# A slice of nothing but $-\infty$ gives $-\infty$: shift such a slice by 0. Built-in logsumexp, logaddexp and softmax are not allowed.

# %% exercise="stability.logsumexp" todo="shift by the maximum along dim, exp, sum, log, add the maximum again"
def logsumexp(x, dim=-1):
    """log of the sum of exp(x) along dim, for a float tensor of any shape; entries may be -inf.

    Returns a tensor of the same dtype without the axis dim.
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

# %% [markdown]
# ### See it
#
# Softmax is $e^{x_i - \log Z}$ with $\log Z$ from your function. Attention built on it, with scores that you can leave unscaled:

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
# Make random scores larger and larger. Watch the condition number of the weights, and their entropy $-\sum p \ln p$: 0 means that one key has everything.

# %%
def measured(factor):
    s = factor * torch.randn(16, 16, generator=torch.Generator().manual_seed(0))
    p = torch.exp(s - logsumexp(s).unsqueeze(-1))
    return torch.linalg.cond(p.double()).item(), torch.special.entr(p).sum(-1).mean().item()

for factor in (0.01, 0.1, 1, 10, 100):
    condition, entropy = measured(factor)
    print(f"scores × {factor:6}   condition {condition:9.3g}   entropy {entropy:.3f}")

# %% [markdown]
# **Verdict: it names the wrong trouble.** A plain average has the worst condition number of all (it is singular), and trains well. With factor 0.01 the condition number is already large.
#
# What goes wrong is overflow, which the shift cures, and saturation, which it does not: scores grow, entropy falls towards 0, and with it the slopes $p(1-p)$.

# %% [markdown]
# ## 2. z-loss
#
# Cross-entropy does not care about a number added to all logits of a row. So nothing stops them from drifting together, until half precision cannot tell them apart:

# %%
logits = torch.tensor([2.0, 1.0, 0.0])
for shift in (0, 300):
    print((logits + shift).bfloat16().float() - shift)

# %% [markdown]
# PaLM adds a loss that pulls $Z = \sum_i e^{x_i}$ towards 1, that is $\log Z$ towards 0. Over $N$ rows:
#
# $$L_z = \frac{\lambda}{N} \sum_{n} (\log Z_n)^2, \qquad \frac{\partial L_z}{\partial x_{ni}} = \frac{2\lambda}{N}\, \log Z_n \, p_{ni}$$
#
# The second follows from the first because $\partial \log Z / \partial x_i = p_i$, the softmax. For $\ln 3$ and 0, $\log Z = 1.386$ and the pull is shared 3 to 1.

# %% [markdown] statement="stability.z_loss"
# Write the loss (a scalar) and its gradient (the shape of `logits`). Rows lie along the last axis; all leading axes together make the $N$ rows. Logits may be large.

# %% exercise="stability.z_loss" todo="the mean of λ (log Z)², and 2 λ log Z softmax / N"
def z_loss(logits, coefficient=1e-4):
    """z-loss (arXiv:2204.02311, section 5) of logits (..., V), with coefficient λ: a scalar tensor."""
    ### BEGIN SOLUTION
    return coefficient * (logsumexp(logits) ** 2).mean()
    ### END SOLUTION


def z_loss_gradient(logits, coefficient=1e-4):
    """Gradient of z_loss by the logits, same shape, written by hand."""
    log_z = logsumexp(logits).unsqueeze(-1)  # (..., 1)
    ### BEGIN SOLUTION
    return 2 * coefficient * log_z * torch.exp(logits - log_z) / log_z.numel()
    ### END SOLUTION

# %% [markdown] hints="stability.z_loss"
# 1. Chain rule: what is the derivative of $u^2$, and what is $u$ here?
# 2. The softmax is `torch.exp(logits - log_z)`. The number of rows is `log_z.numel()`.
# 3. `return coefficient * (logsumexp(logits) ** 2).mean()` and `return 2 * coefficient * log_z * … / log_z.numel()`.

# %%
rows = (torch.randn(4, 8, generator=torch.Generator().manual_seed(1)) + 30).requires_grad_(True)
by_autograd, = torch.autograd.grad(z_loss(rows), rows)
(by_autograd - z_loss_gradient(rows.detach())).abs().max()

# %% [markdown]
# ## 3. QK-norm
#
# Unit 01 divided by $\sqrt D$ so that scores start small. Training can undo that by making $W_Q$ and $W_K$ large. QK-norm divides each query and key by its own root mean square, then multiplies by a gain:
#
# $$\hat q = \frac{q}{\sqrt{\frac{1}{D}\sum_i q_i^2 + \varepsilon}} \odot g_q$$
#
# Shapes: `q` $(\dots, T, D)$, `k` $(\dots, S, D)$, gains $(D)$.

# %% [markdown]
# Without the gain, $\hat q$ has length at most $\sqrt D$; with it, at most $\sqrt D \max|g_q|$. A dot product is at most the product of the lengths, so
#
# $$\left|\frac{\hat q \cdot \hat k}{\sqrt D}\right| \le \sqrt D \, \max|g_q| \, \max|g_k|$$
#
# RoPE turns vectors and keeps their lengths: the bound holds after it too.

# %%
predict("stability.p2", "D = 64, gains 1, and all of W_Q and W_K is multiplied by 1000. The largest score is…",
        ["about 1,000,000 times larger", "about 1000 times larger", "the same, at most 8"])

# %% [markdown] statement="stability.qk_norm"
# Write QK-norm (return the pair), and the bound as a Python float, from the two largest lengths as above.

# %% exercise="stability.qk_norm" todo="divide q and k by their root mean square, multiply by the gains; the bound"
def qk_norm(q, k, q_gain, k_gain, eps=1e-6):
    """RMS-normalize q (..., T, D) and k (..., S, D) along the last axis; gains (D,). Returns (q, k)."""
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

# %%
def largest_score(factor, D=64):
    g = torch.Generator().manual_seed(2)
    q, k = qk_norm(factor * torch.randn(500, D, generator=g), factor * torch.randn(500, D, generator=g),
                   torch.ones(D), torch.ones(D))
    return (q @ k.T / math.sqrt(D)).abs().max().item()

reveal("stability.p2", lambda: f"{largest_score(1):.3f} before, {largest_score(1000):.3f} after; "
       f"bound {qk_norm_bound(torch.ones(64), torch.ones(64)):.0f}",
       "The length is divided out. Only the gains can make scores larger.")

# %% [markdown]
# ## 4. Soft caps
#
# A milder way: let small scores through and bend large ones.
#
# $$y = c \tanh(x / c)$$
#
# With $c = 10$: 0 stays 0, 10 becomes 7.62, 1000 becomes 10. In exact arithmetic $|y| < c$. The slope $1 - \tanh^2(x/c)$ is 1 at 0.
#
# The mask comes *after* the cap: $\tanh(-\infty) = -1$, so a mask put in before would turn into the score $-c$.

# %% [markdown] statement="stability.soft_cap"
# Write the cap (`ValueError` when `cap <= 0`), and the attention weights of capped scores. `mask` is boolean or None, True means may look, and every row has an allowed key.

# %% exercise="stability.soft_cap" todo="cap · tanh(x / cap); then cap, mask, softmax"
def soft_cap(x, cap):
    """cap · tanh(x / cap), elementwise (arXiv:2408.00118). Raises ValueError when cap <= 0."""
    ### BEGIN SOLUTION
    if cap <= 0:
        raise ValueError(f"cap must be positive, got {cap}")
    return cap * torch.tanh(x / cap)
    ### END SOLUTION


def soft_capped_weights(scores, cap, mask=None):
    """Weights (..., T, S) of scores (..., T, S): capped, then masked, then softmax."""
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

# %%
line = torch.linspace(-40, 40, 161)
with described("Capped scores against raw ones: caps 5 and 20 follow the diagonal near 0 and level off at 5 and 20."):
    plt.plot(line, line, color="gray", lw=1, label="no cap")
    for cap in (5.0, 20.0):
        plt.plot(line, soft_cap(line, cap), label=f"cap {cap:.0f}")
    plt.xlabel("score"), plt.ylabel("capped score"), plt.legend()

# %% [markdown]
# ## 5. Weight decay
#
# Adam divides a smoothed gradient by the root of its smoothed square. This function gives the direction $d$ and the new moments; `step` counts from 1:

# %% setup=true
def adam_direction(gradient, m, v, step):
    """Direction of Adam (arXiv:1412.6980) with β = 0.9, 0.999 → (direction, m, v)."""
    m = 0.9 * m + 0.1 * gradient
    v = 0.999 * v + 0.001 * gradient**2
    return (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8), m, v

# %% [markdown]
# Two ways to pull weights towards 0, with learning rate η and decay λ:
#
# - **AdamW**: $\theta \leftarrow (1 - \eta\lambda)\,\theta - \eta\, d(g)$
# - **Adam with L2**: $\theta \leftarrow \theta - \eta\, d(g + \lambda\theta)$, the gradient of $\frac{\lambda}{2}\|\theta\|^2$ joins in.
#
# Take $\theta = 2$, gradient 0, $\eta = 0.1$, $\lambda = 0.5$. AdamW gives $0.95 \cdot 2 = 1.9$. L2 has gradient 1, direction 1, and also gives 1.9. For $\theta = 4$ AdamW gives 3.8, and L2 3.9: a first step of Adam has the same length for any gradient.

# %% [markdown] statement="stability.weight_decay"
# Write both. Each returns three tensors: the new θ and the two new moments. Change nothing in place.

# %% exercise="stability.weight_decay" todo="decay the weight itself; or add λθ to the gradient"
def adamw_step(theta, gradient, m, v, step, lr, weight_decay):
    """One step of AdamW (arXiv:1711.05101) → (theta, m, v)."""
    direction, m, v = adam_direction(gradient, m, v, step)
    ### BEGIN SOLUTION
    return (1 - lr * weight_decay) * theta - lr * direction, m, v
    ### END SOLUTION


def adam_l2_step(theta, gradient, m, v, step, lr, weight_decay):
    """One step of Adam with an L2 penalty → (theta, m, v)."""
    ### BEGIN SOLUTION
    direction, m, v = adam_direction(gradient + weight_decay * theta, m, v, step)
    return theta - lr * direction, m, v
    ### END SOLUTION

# %% [markdown] hints="stability.weight_decay"
# 1. In which of the two does λ pass through the division by √v?
# 2. AdamW: `(1 - lr * weight_decay) * theta` minus the step. L2: call `adam_direction` with `gradient + weight_decay * theta`.
# 3. `return (1 - …) * theta - lr * direction, m, v`; and in the second `direction, m, v = adam_direction(gradient + …, m, v, step)`.

# %% [markdown]
# ### Claim on trial
#
# > *"AdamW decays by θ ← (1 − λ)θ − …, whatever the learning rate."*
#
# Ask PyTorch: one step with gradient 0 and λ = 0.5, at two learning rates.

# %%
for lr in (0.1, 0.01):
    p = torch.nn.Parameter(torch.tensor([2.0]))
    p.grad = torch.zeros(1)
    torch.optim.AdamW([p], lr=lr, weight_decay=0.5).step()
    mine = adamw_step(torch.tensor([2.0]), *torch.zeros(3, 1), 1, lr, 0.5)[0]
    print(f"η = {lr}: PyTorch {p.item():.3f}, yours {mine.item():.3f}, (1 − λ)θ would be 1.000")

# %% [markdown]
# **Verdict: not in the usual code.** The factor is $1 - \eta\lambda$, so a lower learning rate decays less too. The paper's formula scales the decay with a schedule factor, apart from the base learning rate: when you copy λ from a paper, see which one is meant.

# %% [markdown] statement="stability.parameter_groups"
# Not everything decays: matrices do; biases, norm gains and embedding tables do not.
#
# From a dict name → shape (a list of sizes) and a list of the embeddings' names, return two groups, names in the dict's order:
#
# `[{"params": names with two axes or more that are no embedding, "weight_decay": weight_decay}, {"params": the rest, "weight_decay": 0.0}]`

# %% exercise="stability.parameter_groups" todo="sort the names into two groups"
def parameter_groups(shapes, embeddings, weight_decay):
    """Two groups for an optimizer: the first decays, the second does not. Returns a list of two dicts."""
    ### BEGIN SOLUTION
    decay = [n for n, shape in shapes.items() if len(shape) >= 2 and n not in embeddings]
    rest = [n for n in shapes if n not in decay]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    ### END SOLUTION

# %% [markdown] hints="stability.parameter_groups"
# 1. How many axes has a bias, a gain, a matrix? Which matrix is an exception?
# 2. Decide by `len(shape) >= 2 and name not in embeddings`. What is not in the first list belongs to the second.
# 3. `decay = [n for n, shape in shapes.items() if …]`, `rest = [n for n in shapes if n not in decay]`, then the two dicts.

# %% [markdown]
# ## 6. Dropout
#
# While training, each entry is dropped with probability $p$. A share $1 - p$ survives, so the mean would shrink. *Inverted* dropout divides the survivors by $1 - p$ at once: with $p = 0.75$, a kept 1 becomes 4. The mean over patterns stays $x$, and inference does nothing at all.

# %% [markdown] statement="stability.dropout"
# The pattern `keep` is given (boolean, True = keep, broadcasts to `x`). Return `x` itself when `training` is False. With $p = 1$ all is dropped: zeros, no NaN. A `p` outside $[0, 1]$ is a `ValueError`, when training. PyTorch's dropout is not allowed.

# %% exercise="stability.dropout" todo="check p; zero what is dropped, scale what is kept, in training only"
def dropout(x, keep, p, training=True):
    """Inverted dropout with the pattern keep; p is the probability of dropping. Same shape as x."""
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

# %% [markdown]
# ### Claim on trial
#
# > *"The factor 1/(1 − p) compensates at inference: there the outputs are multiplied by (1 − p)."*
#
# Inputs and patterns need generators of their own, with different seeds.

# %%
x = 1 + torch.randn(100_000, generator=torch.Generator().manual_seed(3))
keep = torch.rand(x.shape, generator=torch.Generator().manual_seed(77)) >= 0.2
torch.manual_seed(5)
builtin = torch.nn.Dropout(0.2)
print(f"x {x.mean():.3f}   yours {dropout(x, keep, 0.2).mean():.3f}   PyTorch {builtin(x).mean():.3f}")
print("inference changes nothing:", torch.equal(builtin.eval()(x), x), torch.equal(dropout(x, keep, 0.2, False), x))

# %% [markdown]
# **Verdict: it mixes two methods.** The first dropout multiplied by $1 - p$ at inference and did nothing to the survivors in training. Inverted dropout, which libraries use, divides in training and leaves inference alone. Doing both would shrink the outputs.

# %% [markdown]
# ## 7. A loss spike, and how to stop it
#
# One more remedy acts on the gradients: if their joint length exceeds a limit, all are multiplied by the same factor. Gradients 3 and 4 have joint length 5; with limit 1 they become 0.6 and 0.8.

# %% [markdown] statement="stability.clip"
# From a list of tensors, return the list of clipped gradients and the joint length *before* clipping (a scalar tensor). At or below the limit nothing changes, and zeros stay zeros.

# %% exercise="stability.clip" todo="one length for all, one factor for all"
def clip_by_global_norm(gradients, limit):
    """Scale all gradients (tensors of any shapes) so that their joint length is at most limit (> 0).

    Returns (list of tensors, joint length before).
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

# %% [markdown]
# How high is a spike? The loss rises above the lowest value *before* it. In 3, 1, 2, 2.5, 0.5 the loss climbs from 1 to 2.5: a spike of 1.5. A run that only falls has 0.

# %% [markdown] statement="stability.spike"
# Return the height of the highest spike of a list of losses, as a float.

# %% exercise="stability.spike" todo="largest difference between a loss and the lowest loss before it"
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

# %% [markdown]
# ### Experiment: provoke it
#
# Two layers of width 32, AdamW, and a learning rate that climbs to 0.1 in 60 steps: ten times too high. Then the same start and batches with the peak at 0.01.

# %%
runs = {"nothing": spike.train(0.1)}

def report(name):
    run = runs[name]
    print(f"{name:10} spike {spike_height(run['loss']):.2f}   last 20 losses {sum(run['loss'][-20:]) / 20:.3f}   "
          f"largest score {max(run['score']):7.1f}   largest log Z {max(run['log_z']):.1f}")

report("nothing")

# %%
runs["rate / 10"] = spike.train(0.01)
report("rate / 10")

# %%
reveal("stability.p1", lambda: f"largest |score| after 20, 60, 100 and 160 steps: "
       f"{[round(runs['nothing']['score'][i - 1]) for i in (20, 60, 100, 160)]}",
       "The scores run away: the softmax becomes a hard choice with hardly any slope, so mistakes stay.")

# %% [markdown]
# Now the remedies at the high rate. First those that act on the scores:

# %%
runs["QK-norm"] = spike.train(0.1, qk_norm=qk_norm)
report("QK-norm")

# %%
runs["soft cap"] = spike.train(0.1, cap=lambda scores: soft_cap(scores, 5.0))
report("soft cap")

# %% [markdown]
# And those that act on the output logits and on the gradients:

# %%
runs["z-loss"] = spike.train(0.1, extra_loss=lambda logits: z_loss(logits, 1e-2))
report("z-loss")

# %%
runs["clipping"] = spike.train(0.1, clip=lambda gradients: clip_by_global_norm(gradients, 0.05))
report("clipping")

# %%
with described("Smoothed losses and largest scores of six runs over 160 steps. QK-norm, soft cap and the lower rate keep "
               "scores small and reach a loss near 0; without remedy scores reach thousands and the loss climbs."):
    figure, panels = plt.subplots(1, 2, figsize=(10, 3.4))
    for name, run in runs.items():
        panels[0].plot(torch.tensor(run["loss"]).unfold(0, 10, 1).mean(-1), label=name)
        panels[1].semilogy(run["score"], label=name)
    panels[0].set(xlabel="step", ylabel="loss (mean of 10)"), panels[1].set(xlabel="step", ylabel="largest |score|")
    panels[0].legend()

# %% [markdown]
# **A remedy works where the fault is.** Here scores run away. QK-norm, a cap of 5 and the lower rate hold them, and the loss stays near 0.
#
# z-loss more than halves the largest $\log Z$, which is its job, and leaves the scores alone: the loss still climbs. Clipping slows the growth and does not stop it, since Adam divides out much of a gradient's size.

# %% [markdown]
# This is one small model on one seed. Five seeds of a similar one (three layers, rate 0.06 at once) were recorded. Highest spike in the second half of each run, and largest score of all, as medians:

# %%
record = recorded("loss_spike")
numbers = lambda text: torch.tensor([float(v) for v in text.split()])
for remedy in record["remedies"]:
    rows = [r for r in record["rows"] if r["remedy"] == remedy]
    spikes = torch.tensor([spike_height(numbers(r["loss"])[100:].tolist()) for r in rows])
    scores = torch.stack([numbers(r["score"]).max() for r in rows])
    print(f"{remedy:20}  spike {spikes.median():.2f}   largest score {scores.median():6.0f}")
print(where(record))

# %% [markdown]
# Once more, what acts on the scores helps, and what acts on the output logits does not reach them. Large models show the same two faults, growing scores and drifting output logits ([Wortsman et al. 2023](https://arxiv.org/abs/2309.14322)).

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
# - z-loss: [PaLM](https://arxiv.org/abs/2204.02311). QK-norm: [Henry et al. 2020](https://arxiv.org/abs/2010.04245), [ViT-22B](https://arxiv.org/abs/2302.05442).
# - Soft caps: [Gemma 2](https://arxiv.org/abs/2408.00118), 50 on attention scores and 30 on output logits.
# - Decoupled decay: [Loshchilov and Hutter 2017](https://arxiv.org/abs/1711.05101). Clipping: [Pascanu et al. 2012](https://arxiv.org/abs/1211.5063).
