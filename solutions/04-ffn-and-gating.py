# %% [markdown]
# # The feed-forward layer and its gate
#
# **You will be able to**
#
# - write the activations of today's models;
# - build one gated layer that serves GLU, GeGLU and SwiGLU, and derive LLaMA's width 11008;
# - compare layers fairly;
# - in the extensions: slopes by hand, the slope of softmax, and dead units.
#
# **Prerequisites:** unit 00; `nn.Linear`; for the extensions unit 01 and derivatives of products. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# The original Transformer has words of 512 numbers, and a hidden layer of 2048: four times as wide. LLaMA-7B has words of 4096 numbers. Four times that is 16,384.
#
# But its hidden layer has **11,008** units: 2.6875 times 4096, and no power of two. Nobody picked that number. Three steps of arithmetic lead to it.
#
# Which? You will write them down in section 8.

# %% setup=true
import math

import torch
from torch import nn

from anatomy import case, check, predict, progress, quiz, reveal

# %%
import matplotlib.pyplot as plt
from anatomy.plots import described, use_style
from anatomy.widgets import ActivationExplorer

use_style()

# %% [markdown]
# Much depends on it. LLaMA-7B has 32 layers, each with three matrices of 4096 × 11008, and 6,738,415,616 parameters in all:

# %%
print(f"{32 * 3 * 4096 * 11008 / 6_738_415_616:.0%} of all parameters")

# %% [markdown]
# ## 1. Why a layer needs a nonlinearity
#
# A feed-forward layer widens each word's vector, applies a nonlinear function, and brings it back:
#
# $$\text{FFN}(x) = f(x W_1)\,W_2$$
#
# Shapes: $x$ is $(B, T, d_{model})$, the hidden layer $(B, T, d_{ff})$, the result $(B, T, d_{model})$. The function $f$, called the *activation*, acts on each number by itself.

# %%
predict("ffn.p1", "Without f: ten matrices of 512 × 512, one after the other. What can they do that one cannot?",
        ["ten times as much", "a little more", "nothing more"])

# %%
a, b, x = torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.tensor([[3.0, 0.0], [1.0, 1.0]]), torch.tensor([1.0, -1.0])

# %%
reveal("ffn.p1",
       lambda: f"two matrices in a row give {(x @ a @ b).tolist()}, their product alone {(x @ (a @ b)).tolist()}",
       "Nothing more. (xA)B = x(AB): any number of linear maps in a row is one linear map.",
       answer="nothing more")

# %% [markdown]
# ## Worked example: the layer of 2017
#
# The layers of this unit have no biases, as in LLaMA. Any activation can be handed in.

# %% setup=true
class FeedForward(nn.Module):
    """down_proj(activation(up_proj(x))), x (..., d_model) → (..., d_model)."""

    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.activation = activation
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.down_proj(self.activation(self.up_proj(x)))  # (B, T, d_ff) inside

# %% [markdown]
# It is *position-wise*: each word passes through alone. Change word 1 of three, and only the output of word 1 changes. Words exchange information in attention, never here.

# %%
torch.manual_seed(0)
layer, words = FeedForward(4, 16, torch.relu), torch.randn(1, 3, 4)
changed = words.clone()
changed[0, 1] += 1.0
(layer(changed) - layer(words)).detach().abs().amax(-1)

# %% [markdown]
# ## 2. Activations with a corner
#
# First, two older smooth activations as worked examples. The sigmoid maps every number into 0…1, tanh into −1…1:
#
# $$\sigma(x) = \frac{1}{1+e^{-x}} \qquad \tanh(x) = 2\,\sigma(2x) - 1$$

# %% setup=true
def sigmoid(x):
    return 1 / (1 + torch.exp(-x))

def tanh(x):
    return 2 * sigmoid(2 * x) - 1

# %%
x = torch.tensor([-100.0, -1.0, 0.0, 1.0, 100.0])
sigmoid(x), tanh(x)

# %% [markdown]
# Look at ±100: $e^{100}$ is infinite in float32, and still the result is right, because $1/(1+\infty) = 0$. One of the next four formulas is not as forgiving.

# %% [markdown] statement="activation.family"
# Write four activations. All keep the shape and dtype of `x`.
#
# - `relu`: $x$ where $x > 0$, else 0
# - `leaky_relu`: $x$ where $x > 0$, else $\text{slope}\cdot x$, for any slope
# - `elu`: $x$ where $x > 0$, else $\alpha\,(e^x - 1)$
# - `squared_relu`: the square of `relu`
#
# Gradients at ±200 must be numbers, too.

# %% exercise="activation.family"
def relu(x):
    """x where positive, else 0; any shape."""
    ### BEGIN SOLUTION
    return x.clamp(min=0)
    ### END SOLUTION

def leaky_relu(x, slope=0.01):
    """x where positive, else slope * x (Maas et al. 2013)."""
    ### BEGIN SOLUTION
    return torch.where(x > 0, x, slope * x)
    ### END SOLUTION

def elu(x, alpha=1.0):
    """x where positive, else alpha * (e^x - 1) (arXiv:1511.07289)."""
    ### BEGIN SOLUTION
    return torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0)))
    ### END SOLUTION

def squared_relu(x):
    """relu(x) squared (arXiv:2109.08668)."""
    ### BEGIN SOLUTION
    return relu(x) ** 2
    ### END SOLUTION

# %% [markdown] hints="activation.family"
# 1. What should each function give for −2 and for 3? Write these eight numbers down first.
# 2. `torch.where(condition, a, b)` takes `a` where the condition holds. Multiplying by a mask is not the same: $0\cdot\infty$ is NaN, and $e^{200}$ is infinite.
# 3. `torch.where(x > 0, x, …)` serves two of them; `x.clamp(min=0)` the other two.

# %% [markdown] worth="activation.family"
# Squared ReLU came out of an automated search: an evolutionary algorithm tried small changes to a Transformer's program and kept it ([So et al. 2021](https://arxiv.org/abs/2109.08668)).

# %%
x = torch.linspace(-3, 3, 301)
with described("Four activations from −3 to 3: all equal x on the right but squared ReLU, which grows as x²"):
    for f in (relu, lambda x: leaky_relu(x, 0.1), elu, squared_relu):
        plt.plot(x, f(x))
    plt.ylim(-1.5, 3), plt.legend(["ReLU", "leaky ReLU, slope 0.1", "ELU", "squared ReLU"])

# %% [markdown]
# Left of 0 the ReLU is flat: a unit with output 0 gets no gradient from that word. A unit that gives 0 for *every* word gets none at all and is called *dead*.

# %% [markdown]
# ## 3. GELU: keep it with probability Φ
#
# Draw a number $z$ from the standard normal distribution. Keep $x$ if $z < x$, else take 0. For $x = 1$ you keep it in 84 % of all draws, so 0.84 remains on average:

# %%
torch.manual_seed(0)
z = torch.randn(100_000)
torch.where(z < 1.0, 1.0, 0.0).mean()

# %% [markdown]
# GELU is this average, without the draws ([Hendrycks and Gimpel 2016](https://arxiv.org/abs/1606.08415)):
#
# $$\text{GELU}(x) = x\,\Phi(x), \qquad \Phi(x) = \tfrac12\left(1 + \text{erf}\!\left(\tfrac{x}{\sqrt 2}\right)\right)$$
#
# Many models, GPT-2 among them, use an approximation by tanh:
#
# $$\tfrac12 x \left(1 + \tanh\!\left(\sqrt{\tfrac{2}{\pi}}\,\left(x + 0.044715\,x^3\right)\right)\right)$$

# %%
predict("ffn.p2", "How far apart are the two forms at most, over all x?",
        ["0.1", "0.01", "0.0005", "they are equal"])

# %% [markdown] statement="activation.gelu"
# Write both forms: `gelu` with erf, `gelu_tanh` with tanh. In the second, the inner polynomial is given; the constant in front of it is $\sqrt{2/\pi}$.

# %% exercise="activation.gelu"
def gelu(x):
    """x Φ(x), exact, elementwise (arXiv:1606.08415)."""
    ### BEGIN SOLUTION
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
    ### END SOLUTION

def gelu_tanh(x):
    """The tanh approximation of the same paper."""
    inner = x + 0.044715 * x**3
    ### BEGIN SOLUTION
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * inner))
    ### END SOLUTION

# %% [markdown] hints="activation.gelu"
# 1. At $x = 1$ the answers are 0.8413 and 0.8412. If yours is 0.92, look at what stands inside erf.
# 2. Both have the shape ½ · x · (1 + something between −1 and 1). The somethings are erf of a scaled x, and tanh of a scaled `inner`.
# 3. `0.5 * x * (1 + torch.erf(x / …))` and `0.5 * x * (1 + torch.tanh(… * inner))`; the two dots are $\sqrt 2$ and $\sqrt{2/\pi}$.

# %% [markdown] worth="activation.gelu"
# The paper has a third, cheaper form, $x\,\sigma(1.702\,x)$. OpenAI's [CLIP](https://github.com/openai/CLIP/blob/main/clip/model.py) was trained with it and calls it QuickGELU.

# %%
x = torch.linspace(-8, 8, 160_001, dtype=torch.float64)
gap = (gelu(x) - gelu_tanh(x)).abs()

# %%
reveal("ffn.p2",
       lambda: f"{gap.max():.2g}, at x = ±{x[gap.argmax()].abs():.1f}",
       "Small, but not nothing: a checkpoint trained with one form should be run with the same form.",
       answer="0.0005")

# %% [markdown]
# ### Claim on trial
#
# > *"GELU ≈ ½x(1 + tanh(2/√π · (x + 0.044715x³)))"*
#
# Course notes print this. Its constant $2/\sqrt\pi$ is 1.128; yours above is 0.798.

# %%
claimed = 0.5 * x * (1 + torch.tanh(2 / math.sqrt(math.pi) * (x + 0.044715 * x**3)))
f"{(gelu(x) - claimed).abs().max():.2g} instead of {gap.max():.2g}"

# %% [markdown] evidence="exact"
# **Verdict: wrong constant.** It is $\sqrt{2/\pi}$, and the error is 160 times smaller with it. The reason: at 0, $\frac12(1+\tanh)$ must rise as fast as $\Phi$, whose slope is $\frac{1}{\sqrt{2\pi}}$ = 0.399 = ½ · 0.798.

# %% [markdown]
# ### Claim on trial
#
# > *"The density of the standard normal distribution is $\frac{1}{2\pi}e^{-x^2/2}$."*
#
# The area under a density is 1. Add it up:

# %%
bell = torch.exp(-x**2 / 2)
step = x[1] - x[0]
[f"{(bell / c).sum() * step:.3f}" for c in (2 * math.pi, math.sqrt(2 * math.pi))]

# %% [markdown] evidence="exact"
# **Verdict: the root is missing.** The factor is $\frac{1}{\sqrt{2\pi}}$; without the root it belongs to the density of two variables.

# %% [markdown]
# ## 4. Swish and its parameter β
#
# SiLU, the activation of LLaMA, is $x\,\sigma(x)$. Swish adds a parameter $\beta$ inside ([Ramachandran et al. 2017](https://arxiv.org/abs/1710.05941)). By hand at $x = 1$, $\beta = 1$: $\sigma(1) = 0.731$, so Swish gives 0.731.

# %% [markdown] statement="activation.swish"
# Write
#
# $$\text{swish}(x) = x\,\sigma(\beta x)$$
#
# for any shape. It and its gradient must survive inputs of ±1000.

# %% exercise="activation.swish"
def swish(x, beta=1.0):
    """Swish, elementwise; SiLU at beta = 1 (arXiv:1710.05941)."""
    ### BEGIN SOLUTION
    return x * torch.sigmoid(beta * x)
    ### END SOLUTION

# %% [markdown] hints="activation.swish"
# 1. What is $\sigma(0)$? Then you know what β = 0 must give.
# 2. One sigmoid, one product. β appears once.
# 3. `return x * torch.sigmoid(…)`

# %% [markdown] worth="activation.swish"
# $x\,\sigma(x)$ was found three times within two years: as SiLU in the [GELU paper](https://arxiv.org/abs/1606.08415), again in reinforcement learning ([Elfwing et al. 2017](https://arxiv.org/abs/1702.03118)), and by an automated search, which named it Swish.

# %% [markdown]
# What do small and large β give? Compare with a straight line and with ReLU:

# %%
x = torch.linspace(-6, 6, 1_200_001, dtype=torch.float64)
for beta in (0, 0.01, 1, 10, 100):
    line, corner = (swish(x, beta) - x / 2).abs().max(), (swish(x, beta) - relu(x)).abs().max()
    print(f"beta {beta:6}:  from x/2 {line:.4f}   from ReLU {corner:.5f}")

# %% [markdown]
# At $\beta = 0$ Swish *is* $x/2$: the factor $\sigma(0)$ is ½ for every input. As $\beta$ grows it approaches ReLU, with a gap of $0.278/\beta$.
#
# Note the 0.278: it is also how far SiLU dips below zero, at $x = -1.28$.

# %% [markdown]
# ## See it move
#
# Your functions, with the slope that autograd finds for them. Move **β**. Then choose `relu` and move **shift of all units** to the left: which activations leave units dead, and which leave them with a slope that is only small?

# %%
mine = {"relu": relu, "leaky_relu": leaky_relu, "elu": elu, "squared_relu": squared_relu, "gelu": gelu,
        "gelu_tanh": gelu_tanh, "swish": swish, "sigmoid": sigmoid, "tanh": tanh}
ActivationExplorer(mine, activation="swish")

# %% [markdown]
# ## 5. Extension: slopes by hand
#
# Worked example: $\tanh = 2\sigma(2x) - 1$ has the slope $1 - \tanh^2$. Check such a formula against autograd, which does not use it:

# %%
x = torch.tensor([-2.0, 0.0, 1.0], requires_grad=True)
torch.tanh(x).sum().backward()
x.grad, 1 - torch.tanh(x.detach()) ** 2

# %% [markdown]
# Two rules are enough for the rest. The chain rule gives the sigmoid, and the product rule everything of the form $x\cdot g(x)$:
#
# $$\sigma' = \sigma\,(1-\sigma), \qquad \big(x\,g(x)\big)' = g(x) + x\,g'(x)$$
#
# For GELU, $g = \Phi$, whose slope is the density $\varphi(x) = \frac{1}{\sqrt{2\pi}}\,e^{-x^2/2}$.

# %% [markdown] statement="activation.derivatives"
# Write the slopes of the sigmoid, of SiLU (Swish with β = 1) and of exact GELU, by hand, elementwise, in the dtype of `x`. Slopes at ±100, and slopes of these slopes, must be numbers, not NaN. Where $\sigma(x)$ is needed, `f` holds it.

# %% exercise="activation.derivatives"
def sigmoid_prime(x):
    """Slope of the sigmoid."""
    f = torch.sigmoid(x)
    ### BEGIN SOLUTION
    return f * (1 - f)
    ### END SOLUTION

def silu_prime(x):
    """Slope of x σ(x)."""
    f = torch.sigmoid(x)
    ### BEGIN SOLUTION
    return f + x * f * (1 - f)
    ### END SOLUTION

def gelu_prime(x):
    """Slope of x Φ(x)."""
    ### BEGIN SOLUTION
    cumulative = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
    density = torch.exp(-x**2 / 2) / math.sqrt(2 * math.pi)
    return cumulative + x * density
    ### END SOLUTION

# %% [markdown] hints="activation.derivatives"
# 1. All three have a nice value at 0: ¼, ½ and ½.
# 2. The first is a product of two things made of `f`. The other two follow from the product rule, with $g = \sigma$ and $g = \Phi$; each has two terms.
# 3. `f * (1 - f)`, then `f + x * …`, then `cumulative + x * density` with the Φ of your gelu and the density above.

# %% [markdown] worth="activation.derivatives"
# For the backward pass sigmoid and ReLU need only their output. SiLU and GELU fall before they rise, so one output can belong to two inputs, and the input has to be kept.

# %% [markdown]
# ### Claim on trial
#
# > *"For the sigmoid, $f'(x) = f(x)\,f(1-x)$."*
#
# At $x = 0$ that is ½ · 0.731 = 0.366. Ask autograd along the line:

# %%
x = torch.linspace(-5, 5, 201, requires_grad=True)
torch.sigmoid(x).sum().backward()
truth, x = x.grad, x.detach()
{"f(x) f(1-x)": (sigmoid(x) * sigmoid(1 - x) - truth).abs().max(), "f (1-f)": (sigmoid_prime(x) - truth).abs().max()}

# %% [markdown] evidence="exact"
# **Verdict: a misplaced parenthesis.** The slope is $f(x)\,(1 - f(x))$. By symmetry $1 - f(x) = f(-x)$, which is close to what the claim says, and perhaps where it comes from.

# %%
with described("Slopes: the sigmoid's stays below 0.25, those of SiLU and GELU pass 1 and go below 0 on the left"):
    plt.plot(x, sigmoid_prime(x), x, silu_prime(x), x, gelu_prime(x), x, (x > 0).float())
    plt.legend(["sigmoid", "SiLU", "GELU", "ReLU"]), plt.xlabel("x"), plt.ylabel("slope")

# %% [markdown]
# The sigmoid's slope is never above ¼, so twenty sigmoids in a row multiply a gradient by at most $4^{-20} \approx 10^{-12}$: it *vanishes*. At the flat ends it is worse: at ±5 the slope is below 0.007. That is *saturation*. [Glorot and Bengio 2010](https://proceedings.mlr.press/v9/glorot10a.html) describe both in deep networks.

# %% [markdown]
# In the explorer your slopes by hand are now checked against your curves:

# %%
ActivationExplorer(mine | {"sigmoid_prime": sigmoid_prime, "silu_prime": silu_prime, "gelu_prime": gelu_prime},
                   activation="gelu", shift=-3)

# %% [markdown]
# ## 6. Extension: the slope of softmax is a matrix
#
# Softmax turns a whole row into shares, so a change of one input moves *all* outputs. Of two equal scores, raise the first by 0.01:

# %%
before, after = torch.softmax(torch.tensor([[1.0, 1.0], [1.01, 1.0]]), -1)
(after - before) / 0.01

# %% [markdown]
# One share gains 0.25 per unit, the other loses 0.25, and the sum stays 1. With $p$ the output,
#
# $$\frac{\partial p_i}{\partial x_j} = p_i\,(\delta_{ij} - p_j)$$
#
# where $\delta_{ij}$ is 1 for $i = j$ and 0 otherwise.

# %% [markdown] statement="activation.softmax_jacobian"
# Given the **outputs** `p` of a softmax, of shape $(\ldots, n)$, return the matrix of slopes of each row, of shape $(\ldots, n, n)$: entry $(i, j)$ says how output $i$ moves with input $j$.

# %% exercise="activation.softmax_jacobian"
def softmax_jacobian(p):
    """diag(p) − p pᵀ for each row.

    Args:
        p: (..., n) float tensor, each row sums to 1.

    Returns:
        (..., n, n) tensor of the same dtype.
    """
    ### BEGIN SOLUTION
    return torch.diag_embed(p) - p[..., :, None] * p[..., None, :]
    ### END SOLUTION

# %% [markdown] hints="activation.softmax_jacobian"
# 1. Write down the 2 × 2 matrix for p = (0.5, 0.5) from the numbers above.
# 2. Two parts: $p_i$ on the diagonal, minus the product $p_i\,p_j$ everywhere. Batch axes stay in front.
# 3. `torch.diag_embed(p) - …`, where the dots multiply `p[..., :, None]` (a column) with `p[..., None, :]` (a row).

# %% [markdown] worth="activation.softmax_jacobian"
# Training never builds this matrix. A gradient `g` passes through as `p * (g - (g * p).sum(-1, keepdim=True))`, which takes on the order of $n$ steps instead of $n^2$.

# %%
p = torch.softmax(torch.tensor([[2.0, 1.0, 0.0], [20.0, 1.0, 0.0]]), -1)
softmax_jacobian(p).abs().amax((-1, -2))

# %% [markdown]
# The second row is almost certain, and its largest slope is almost 0: softmax saturates too. [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762) suspect this effect behind large scores, and divide them by $\sqrt{D}$; unit 01 measures it.

# %% [markdown]
# ## 7. The gate
#
# In a plain layer one number decides both *whether* and *what* to pass on. A gated layer uses two. One unit, by hand: its gate is $\sigma(2) = 0.88$, its value −5, so it passes −4.4. With a gate of $\sigma(-3) = 0.05$ it passes −0.24: the same value, held back.

# %% [markdown]
# $$\text{FFN}(x) = \big(f(x W_{gate}) \odot x W_{up}\big)\,W_{down}$$
#
# | $f$ | name | used in |
# |---|---|---|
# | sigmoid | GLU | [Dauphin et al. 2016](https://arxiv.org/abs/1612.08083) |
# | ReLU | ReGLU | |
# | GELU | GeGLU | T5 v1.1, Gemma |
# | SiLU | SwiGLU | PaLM, LLaMA, Mistral, Qwen |
# | none | bilinear | |
#
# **Convention of this course:** the *gate* is the branch that goes through the activation. The *up* branch, the value, stays linear.

# %% [markdown] statement="ffn.gated"
# Complete the layer for any activation. Weights are loaded by name, so the three linear layers must be called `gate_proj`, `up_proj` and `down_proj`, without biases. The first is made already.
#
# Shapes: `x` $(\ldots, d_{model})$, inside $(\ldots, d_{ff})$, result $(\ldots, d_{model})$ in the dtype of `x`.

# %% exercise="ffn.gated"
class GatedFeedForward(nn.Module):
    """down_proj(activation(gate_proj(x)) * up_proj(x)) (arXiv:2002.05202).

    Args:
        d_model, d_ff: widths. activation: function of a tensor, elementwise.
    """

    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.activation = activation
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        ### BEGIN SOLUTION
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        ### END SOLUTION

    def forward(self, x):
        """x (..., d_model) → (..., d_model)."""
        ### BEGIN SOLUTION
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))
        ### END SOLUTION

# %% [markdown] hints="ffn.gated"
# 1. Compare with `FeedForward` above: one more linear layer, one more product.
# 2. `up_proj` has the shape of `gate_proj`; `down_proj` goes back. In `forward`, activate the gate only, multiply elementwise, then go down.
# 3. `self.down_proj(self.activation(…) * …)`

# %% [markdown] worth="ffn.gated"
# Both branches read the same `x`, so one product with the two matrices stacked gives both. Phi-3 stores them that way, as `gate_up_proj`, and cuts the result in half.

# %% [markdown]
# Two special cases show what the gate adds. A gate that is always 1 leaves a linear map. No activation at all leaves a *bilinear* map: double the input, and the output grows fourfold.

# %%
torch.manual_seed(0)
x = torch.randn(1, 6)
for name, f in {"always 1": torch.ones_like, "bilinear": lambda x: x, "SwiGLU": swish}.items():
    layer = GatedFeedForward(6, 16, f)
    print(f"{name:9} output grows by {(layer(2 * x).norm() / layer(x).norm()).item():.3f}")

# %% [markdown]
# ### Claim on trial
#
# > *"The gate is $xV$, and the activated branch $\max(0, xW_1)$ is what it filters."* And elsewhere: *"$B$ goes through the activation and becomes the gate."*
#
# Course notes use both names for both branches. Does it matter which one is activated?

# %%
layer = GatedFeedForward(6, 16, torch.sigmoid)
swapped = GatedFeedForward(6, 16, torch.sigmoid)
swapped.load_state_dict(layer.state_dict())
swapped.gate_proj, swapped.up_proj = swapped.up_proj, swapped.gate_proj
(layer(x) - swapped(x)).abs().max().item()

# %% [markdown] evidence="exact"
# **Verdict: a convention, but one to keep.** Which factor is *called* the gate changes nothing; which one is *activated* does. A checkpoint whose `gate_proj` and `up_proj` are swapped gives other outputs. The activated branch is bounded on one side and can shut a unit off: this course calls *it* the gate.

# %% [markdown]
# ### Claim on trial
#
# > *"The product of two branches makes the variance larger or smaller and can upset the residual stream. So PaLM, LLaMA and others multiply it by a constant, such as $\beta = 1/\sqrt2$ or $2/3$, to bring output and input closer."*
#
# The worry first. Two independent branches of variance 1:

# %%
torch.manual_seed(0)
gates, values = torch.randn(2, 1_000_000)
product = swish(gates) * values
{"standard deviation": product.std().item(), "after 1/√2": (product / math.sqrt(2)).std().item()}

# %% [markdown]
# The product does shrink, but a factor below 1 shrinks it further. Then: what can a factor do that the next matrix cannot?

# %%
scaled = GatedFeedForward(6, 16, swish)
plain = GatedFeedForward(6, 16, swish)
plain.load_state_dict(scaled.state_dict() | {"down_proj.weight": scaled.down_proj.weight / math.sqrt(2)})
with_factor = scaled.down_proj(swish(scaled.gate_proj(x)) * scaled.up_proj(x) / math.sqrt(2))
(with_factor - plain(x)).abs().max().item()

# %% [markdown]
# Nothing: `down_proj` absorbs it. Last, LLaMA's own layer in `transformers`, with random weights. How far is it from $\text{down}(\beta\cdot\text{SiLU}(\text{gate})\odot\text{up})$?

# %%
from anatomy.experiments import recorded

llama = recorded("named_models")["models"]["llama-2-7b"]["probe"]
{"β = 1": llama["mlp_without_factor"], "1/√2": llama["mlp_with_half_sqrt"], "2/3": llama["mlp_with_two_thirds"]}

# %% [markdown] evidence="exact + models: llama-2-7b + cited: 2204.02311"
# **Verdict: there is no such factor.** LLaMA's layer is the plain product, and PaLM's paper ([2204.02311](https://arxiv.org/abs/2204.02311)) writes $\text{Swish}(xW)\cdot xV$. A factor adds nothing that `down_proj` cannot learn. The 2/3 is real, but it belongs to the width, as you find next.

# %% [markdown]
# ## 8. Where 11008 comes from
#
# A gated layer has three matrices where the plain one has two. At the same width it has half as many parameters again, and any gain could be due to size. Count for $d_{model} = 6$ and width 24:

# %%
count = lambda layer: sum(p.numel() for p in layer.parameters())
count(FeedForward(6, 24, relu)), count(GatedFeedForward(6, 24, swish)), count(GatedFeedForward(6, 16, swish))

# %% [markdown]
# Width 16 makes them equal: $3 \cdot 6 \cdot 16 = 2 \cdot 6 \cdot 24$.
#
# Now on paper: for which width $w$ is $3\, d\, w = 2\, d \cdot 4d$? Two practical steps follow. A width is a whole number: LLaMA's code rounds **down**. And hardware works best with multiples of, say, 256: the code rounds **up** to the next multiple.

# %% [markdown] statement="ffn.matched_width"
# Write these three steps. Return an int. Sizes below 1 raise a `ValueError`.
#
# `multiple_of=1` means no rounding to a multiple.

# %% exercise="ffn.matched_width"
def matched_width(d_model, multiple_of=1):
    """Width at which a gated layer has the parameters of a plain one of width 4 * d_model.

    Args:
        d_model, multiple_of: positive ints.

    Returns:
        int. Raises ValueError when an argument is below 1.
    """
    ### BEGIN SOLUTION
    if d_model < 1 or multiple_of < 1:
        raise ValueError(f"sizes must be positive, got {d_model} and {multiple_of}")
    width = 8 * d_model // 3
    return math.ceil(width / multiple_of) * multiple_of
    ### END SOLUTION

# %% [markdown] hints="ffn.matched_width"
# 1. For $d = 6$ the answer is 16. What fraction of $d$ is that?
# 2. Whole-number division `//` rounds down. For the next multiple: how many multiples fit, rounded up?
# 3. `width = … * d_model // 3`, then `math.ceil(width / multiple_of) * multiple_of`, with the check for small sizes in front.

# %% [markdown] worth="ffn.matched_width"
# Reports count this width in two ways. Gemma's lists 49,152 for the 7B model, gate and up together; its code has 24,576 for each, eight times $d_{model}$ ([Gemma Team 2024](https://arxiv.org/abs/2403.08295)).

# %%
for name, d in {"7B": 4096, "13B": 5120, "33B": 6656, "65B": 8192}.items():
    print(f"LLaMA-{name}: d_model {d}, d_ff {matched_width(d, 256)}")

# %% [markdown]
# The puzzle is solved: 4096 → 10922.67 → 10922 → **11008**. All four widths of the first LLaMA come out.
#
# Later models change the rule: Llama-2-70B and Llama-3-8B multiply by another 1.3 before they round, to multiples of 4096 and 1024. PaLM keeps $4\,d_{model}$ with three matrices.

# %%
for d, multiple in ((8192, 4096), (4096, 1024)):
    print(math.ceil(int(1.3 * matched_width(d)) / multiple) * multiple)

# %% [markdown]
# ### Claim on trial
#
# > *"Hidden size: GPT-1 3072, GPT-2 6400, GPT-3 49152."*
#
# A table of course notes says so, beside a column "attention dimension" with 768, 1600 and 12288; a second table calls 768 and 1600 the size of the hidden layer. Parameters decide. Per layer: $4d^2$ in attention, $8d^2$ in a feed-forward layer of width $4d$, and $13d$ biases and norm weights.

# %%
def gpt_parameters(d, layers, context, vocabulary=50257):
    return layers * (12 * d**2 + 13 * d) + (vocabulary + context) * d + 2 * d

for name, d, layers, context in (("GPT-2", 768, 12, 1024), ("GPT-2 XL", 1600, 48, 1024), ("GPT-3", 12288, 96, 2048)):
    print(f"{name:8}  words of {d}: {gpt_parameters(d, layers, context):,}")
    print(f"{'':8}  words of {4 * d}: {gpt_parameters(4 * d, layers, context):,}")

models = recorded("named_models")["models"]
{name: f"{models[name]['counted']:,}" for name in ("gpt2", "gpt2-xl", "gpt3-175b")}

# %% [markdown] evidence="exact + models: gpt2, gpt2-xl, gpt3-175b"
# **Verdict: these are feed-forward widths**, $4\,d_{model}$. The words have 768, 1600 and 12288 numbers: with these the formula gives what the models' own class counts (last line) and what was published as 124M, 1558M and 175B. With words of 49152 numbers GPT-3 would have 2.8 trillion parameters. GPT-1 has the 12 layers and the 768 of the smallest GPT-2.

# %% [markdown]
# ### Extension: what was GPT-3 trained on?
#
# #### Claim on trial
#
# > *"GPT-3: trained on 1024 A100 with 80 GB for about a month."*
#
# No run can decide what happened in 2020; papers can. But the claim's numbers can be rebuilt: 175 billion parameters $N$, 300 billion tokens, and 140 TFLOP/s reached per A100. A step takes $6N$ operations per token, or $8N$ if the forward pass is computed twice to save memory.

# %%
parameters, tokens, speed = 175e9, 300e9, 1024 * 140e12
for each in (6, 8):
    print(f"{each}N per token: {each * parameters * tokens / speed / 86_400:.0f} days")

# %% [markdown] evidence="cited: 2005.14165 + cited: 2104.04473 + exact"
# **Verdict: an estimate, told as history.** GPT-3's paper names V100 GPUs in a cluster of Microsoft's (section 2.3 of [2005.14165](https://arxiv.org/abs/2005.14165)). The 1024 A100 and 34 days are what [2104.04473](https://arxiv.org/abs/2104.04473) estimates a year later for its own software, with the $8N$ above.

# %% [markdown]
# ## 9. Extension: dead units and stuck gates
#
# A dead ReLU unit gives 0 for every word and gets no gradient. A sigmoid gate near 0 or 1 is stuck in another way: its slope is almost 0.
#
# By hand: gates 0.01, 0.5, 0.99, 0.2 with a margin of 0.05. Two of four are stuck, a share of 0.5.

# %% [markdown] statement="ffn.unit_health"
# - `dead_units(hidden)`: True for each unit that is exactly 0 for every token. `hidden` has shape $(\ldots, d_{ff})$, the result $(d_{ff},)$.
# - `gate_saturation(gate, margin)`: the share of gates below `margin` or above `1 − margin`, as a scalar float32 tensor.

# %% exercise="ffn.unit_health"
def dead_units(hidden):
    """(..., d_ff) → (d_ff,) boolean: which units are 0 for every token."""
    ### BEGIN SOLUTION
    return (hidden == 0).flatten(0, -2).all(0)
    ### END SOLUTION

def gate_saturation(gate, margin=0.05):
    """Share of gates, values in [0, 1] of any shape, within margin of an end."""
    ### BEGIN SOLUTION
    return ((gate < margin) | (gate > 1 - margin)).float().mean()
    ### END SOLUTION

# %% [markdown] hints="ffn.unit_health"
# 1. Is a unit with the values +1 and −1 dead? Is one with 0, 0, 0.7?
# 2. Compare with 0 first; then all axes but the last must agree. `flatten(0, -2)` makes one axis of them.
# 3. `(hidden == 0).flatten(0, -2).…(0)`, and the mean of a condition made with `|`, as floats.

# %% [markdown] worth="ffn.unit_health"
# OPT uses ReLU. In some early layers of its 66B model, more than 70 % of the units never fired on a large and diverse collection of text ([Voita et al. 2023](https://arxiv.org/abs/2309.04827)).

# %% [markdown]
# Now a trained model. It reads eight characters of English and predicts the ninth, with two feed-forward layers of {{unit_health.units}} units and nothing else. It is trained twice: with a high learning rate, and with a fifth of it.

# %%
from dataclasses import replace
from anatomy.experiments.unit_health import HIGH, collect, deaths, gates

make = lambda d: FeedForward(d, 4 * d, relu)
model, steps, dead = deaths(make, dead_units)

# %%
calm = deaths(make, dead_units, setting=replace(HIGH, lr=HIGH.lr / 5))[2]

# %%
counts = dead.sum(-1)
with described("Dead units of 384 over training: layer 1 {last} at the high rate, layer 0 {first}; layer 1 at a fifth "
               "of the rate {calm}",
               last=counts[:, 1].tolist(), first=counts[:, 0].tolist(), calm=calm[:, 1].sum(-1).tolist()):
    plt.plot(steps, counts, marker="o")
    plt.plot(steps, calm[:, 1].sum(-1), marker="s")
    plt.legend(["layer 0", "layer 1", "layer 1, a fifth of the rate"], bbox_to_anchor=(1, 1))
    plt.xlabel("step"), plt.ylabel("dead units of 384")

# %% [markdown]
# ### Claim on trial
#
# > *"When the input of a ReLU is negative, the gradient is 0. The gradient of this neuron, and of those after it, is 0 for ever; it responds to no data any more, and its parameters are never updated."*
#
# First: how often is a *living* unit 0? Then: how many units that were dead at some time are alive at the end?

# %%
alive = collect(model, "down_proj")[1][:, ~dead[-1, 1]]
print(f"zeros of the living units of layer 1: {(alive == 0).float().mean():.0%}")
once, still = dead[:, 1].any(0), dead[-1, 1]
print(f"layer 1: {once.sum()} units were dead at some time, {(once & ~still).sum()} of them live at the end")

# %% [markdown]
# Dead on 4,000 windows is not dead on all. The recorded runs ask every window of the training text, {{unit_health.windows:,}} of them: a unit that none of them wakes gets no gradient at all. In the *frozen* runs, everything below layer 1 stops learning at step {{unit_health.step}}.

# %%
from anatomy.experiments import show_large, where

record = recorded("unit_health")
for r in record["rows"]:
    if r["step"] == 50:
        print(f"rate {r['lr']:g}{', frozen below' * r['frozen']}, seed {r['seed']}: {r['dead']} dead at step 50, "
              f"{r['alive_at_the_end']} of these alive at the end")
print(where(record))
show_large("unit_health")

# %% [markdown] evidence="recorded: unit_health, control: learning rate"
# **Verdict: too strong.** A negative input silences a unit for *that word* only. Even of {{unit_health.high.dead}} units that no window woke at step {{unit_health.step}} ({{unit_health.seeds:word}} seeds), {{unit_health.high.back}} were alive at the end. At half the rate it was {{unit_health.half.back}} of {{unit_health.half.dead}}; at a fifth, {{unit_health.fifth.dead}} were dead in all. So units die at high rates, and most of them return.

# %% [markdown] evidence="recorded: unit_health, control: frozen"
# How, without a gradient? What a dead unit *sees* changes, because the layers below keep learning. Freeze them at step {{unit_health.step}}, and of {{unit_health.frozen.dead}} dead units {{unit_health.frozen.back}} return. With fixed inputs the claim is right.

# %%
quiet, _, none = deaths(lambda d: FeedForward(d, 4 * d, swish), dead_units, setting=replace(HIGH, steps=100))
print("dead units with SiLU:", none[-1].sum(-1).tolist())

# %% [markdown]
# SiLU is 0 at a single point, so hardly any output is ever exactly 0. And gates? Train a GLU, whose gate is a sigmoid, for a while at the usual rate:

# %%
from anatomy.experiments.ffn_variants import LAPTOP, train

glu, _ = train(lambda d: GatedFeedForward(d, matched_width(d), torch.sigmoid), setting=replace(LAPTOP, steps=200))
[f"layer {i}: {gate_saturation(g):.0%} of the gates stuck" for i, g in enumerate(gates(glu))]

# %% [markdown]
# Stuck is not broken: a gate that is certain about a word *should* be near 0 or 1. It is a problem only where the gate is certain and wrong.

# %% [markdown]
# ## 10. Which one is best?
#
# A fair comparison needs equal parameters (your `matched_width`), equal data, and more than one seed. Two models trained from the same seed see the same batches in the same order, so compare them *pairwise*.
#
# By hand: losses 3, 5, 4 against 1, 2, 3. The differences are 2, 3, 1: mean 2, standard deviation 1, and the error of the mean is $1/\sqrt 3 = 0.58$.

# %% [markdown] statement="ffn.paired_difference"
# Given losses `a` and `b` of shape $(n,)$, with the same seed in the same place, return two floats: the mean of `a − b`, and its standard error
#
# $$\text{error} = \frac{s}{\sqrt n}, \qquad s = \text{standard deviation of the differences, dividing by } n - 1$$

# %% exercise="ffn.paired_difference"
def paired_difference(a, b):
    """Mean of a − b and its standard error.

    Args:
        a, b: (n,) float tensors, n ≥ 2; the same place is the same seed.

    Returns:
        (mean, error), two floats.
    """
    ### BEGIN SOLUTION
    difference = a.double() - b.double()
    return difference.mean().item(), difference.std().item() / math.sqrt(len(a))
    ### END SOLUTION

# %% [markdown] hints="ffn.paired_difference"
# 1. Start with the three differences of the example. Which one number per seed do you need?
# 2. Subtract first, then summarize. `torch.std` divides by $n - 1$ by default.
# 3. `d = a - b`, then `d.mean().item()` and `d.std().item() / …`

# %% [markdown] worth="ffn.paired_difference"
# With few seeds the error is itself uncertain: for five, 95 % takes ±2.78 errors rather than ±1.96 (Student's t, four degrees of freedom). To halve the error takes four times the seeds.

# %%
predict("ffn.p3", "At equal parameters, which layer reads characters best?",
        ["plain ReLU", "plain GELU", "GLU (sigmoid gate)", "SwiGLU", "no activation at all (bilinear)"])

# %% [markdown]
# Your own runs first: two of the variants, one seed, 400 steps each.

# %%
from anatomy.experiments import show_large, where
from anatomy.experiments.ffn_variants import limit, train

makers = {"ReLU": lambda d: FeedForward(d, 4 * d, relu),
          "SwiGLU": lambda d: GatedFeedForward(d, matched_width(d), swish)}
own = {name: train(make)[1] for name, make in makers.items()}
{name: (row["parameters"], round(row["loss"], 3)) for name, row in own.items()}

# %% [markdown]
# One seed proves nothing, and neither does one learning rate. The recorded runs train {{ffn_variants.variants:word}} layers at {{ffn_variants.rates:word}} rates, {{ffn_variants.choosing:word}} seeds each. "Both activated" puts a SiLU on both branches; "gated twice" multiplies by a third branch. Stars are yours.

# %%
record = recorded("ffn_variants")
names, rates = ([*dict.fromkeys(r[k] for r in record["rows"])] for k in ("variant", "lr"))
with described("Validation loss of {n} layers at the learning rates {rates}, with your own runs as stars",
               n=len(names), rates=rates):
    for i, lr in enumerate(rates):
        runs = torch.tensor([r["losses"] for r in record["rows"] if r["lr"] == lr])
        places = torch.arange(len(names)) + 0.15 * (i - 1.5)
        error = runs.std(1) / math.sqrt(runs.shape[1])
        plt.errorbar(places, runs.mean(1), error, fmt="os^D"[i], label=f"rate {lr}")
    plt.plot([names.index(n) for n in own], [own[n]["loss"] for n in own], "k*", markersize=10, label="your run")
    plt.xticks(range(len(names)), names, rotation=40, ha="right"), plt.ylabel("loss, nats per character"), plt.legend()
print(where(record))
show_large("ffn_variants")

# %% [markdown]
# The plot serves to choose each layer's rate. Those losses must not be compared: the rate was picked because they were low. So each layer was trained again at its best rate with {{ffn_variants.fresh:word}} fresh seeds.
#
# How large must a difference be? {{ffn_variants.variants:Word}} layers make {{ffn_variants.pairs}} pairs. Were all layers equally good, luck alone would put about {{ffn_variants.by_chance:.0f}} pairs more than two errors apart. To keep that chance below 5 % for *all* pairs together, each gets 5 % / {{ffn_variants.pairs}} (Bonferroni). By Student's t that takes {{ffn_variants.limit:.1f}} errors.

# %% [markdown]
# One standard for every pair: below 2 errors **no difference**, above {{ffn_variants.limit:.1f}} **a difference**, between them **not settled**. Each layer against SwiGLU:

# %%
best = {r["variant"]: torch.tensor(r["losses"], dtype=torch.float64) for r in record["compared"]}
needed = limit(len(best) * (len(best) - 1) // 2, len(best["SwiGLU"]) - 1)

def compare(a, b):
    mean, error = paired_difference(best[a], best[b])
    size = abs(mean) / error
    says = "no difference" if size < 2 else "a difference" if size > needed else "not settled"
    return f"{a:15} minus {b:13} {mean:+.3f} ± {error:.3f}, {size:4.1f} errors: {says}"

for name in sorted(set(best) - {"SwiGLU"}, key=lambda n: best[n].mean()):
    print(compare(name, "SwiGLU"))

# %%
reveal("ffn.p3",
       lambda: f"lowest mean: {min(best, key=lambda n: best[n].mean())}",
       "The lowest of your five choices. The table says which others it can be told from.",
       answer="SwiGLU")

# %% [markdown] evidence="recorded: ffn_variants, control: learning rate"
# **Gated against plain.** Of {{ffn_variants.gate.pairs}} pairs of a gated and a plain layer, the gated one is lower in {{ffn_variants.gate.lower}}, and in {{ffn_variants.gate.settled}} that is a difference. GLU against squared ReLU: ${{ffn_variants.pair.glu_squared_relu.mean:+.3f}} \pm {{ffn_variants.pair.glu_squared_relu.error:.3f}}$, {{ffn_variants.pair.glu_squared_relu.says}}. GeGLU against SwiGLU: ${{ffn_variants.pair.geglu_swiglu.mean:+.3f}} \pm {{ffn_variants.pair.geglu_swiglu.error:.3f}}$, {{ffn_variants.pair.geglu_swiglu.says}}.
#
# **The learning rate can turn the order around.** At {{ffn_variants.slow.rate}}, where {{ffn_variants.choosing:word}} seeds choose, {{ffn_variants.slow.better_than_glu}} of the other {{ffn_variants.slow.others}} layers have a lower mean than GLU. When each layer has its best rate, only {{ffn_variants.slow.better_than_glu_at_best}} do.

# %% [markdown]
# **And this is small**: {{ffn_variants.parameters:,}} parameters in these layers, 400 steps, one text. For {{ffn_variants.at_edge:word}} of the layers the best rate lies at the edge of what was tried. [Shazeer 2020](https://arxiv.org/abs/2002.05202) compared such layers in T5; there GeGLU and SwiGLU had the lowest perplexities.

# %% [markdown]
# ### Claim on trial
#
# > *"$\text{FFN}(x) = W_{down}\big(\beta\cdot\text{SwiGLU}(W_g x)\odot(W_{up}x)\big)$."*
#
# The same notes define SwiGLU, rightly, as the product of gate and value, and their code has one product. Read as printed, the formula has two: a third branch gates what SwiGLU has gated. "Gated twice" is that layer, with four matrices of width $2\,d_{model}$, so that the parameters are equal:

# %%
print(compare("gated twice", "SwiGLU"), compare("gated twice", "squared ReLU"), sep="\n")

# %% [markdown] evidence="recorded: ffn_variants, control: learning rate + cited: 2002.05202"
# **Verdict: one product too many.** The formula as printed is another layer than that of [2002.05202](https://arxiv.org/abs/2002.05202). Against SwiGLU, gated twice is ${{ffn_variants.pair.gated_twice_swiglu.mean:+.3f}} \pm {{ffn_variants.pair.gated_twice_swiglu.error:.3f}}$: {{ffn_variants.pair.gated_twice_swiglu.says}}. Against squared ReLU it is ${{ffn_variants.pair.gated_twice_squared_relu.mean:+.3f}} \pm {{ffn_variants.pair.gated_twice_squared_relu.error:.3f}}$: {{ffn_variants.pair.gated_twice_squared_relu.says}}.

# %% [markdown]
# ### Claim on trial
#
# > *"The value branch is not activated. With an activation it would lose its channel for passing information on directly: more like a double suppression, and not what GLU was designed for."*
#
# "Both activated" does it:

# %%
for other in ("SwiGLU", "bilinear", "GELU"):
    print(compare("both activated", other))

# %% [markdown] evidence="recorded: ffn_variants, control: learning rate"
# **Verdict: no channel closes.** Against GELU, both activated is ${{ffn_variants.pair.both_activated_gelu.mean:+.3f}} \pm {{ffn_variants.pair.both_activated_gelu.error:.3f}}$: {{ffn_variants.pair.both_activated_gelu.says}}. Against SwiGLU it is ${{ffn_variants.pair.both_activated_swiglu.mean:+.3f}} \pm {{ffn_variants.pair.both_activated_swiglu.error:.3f}}$ ({{ffn_variants.pair.both_activated_swiglu.says}}), against bilinear ${{ffn_variants.pair.both_activated_bilinear.mean:+.3f}} \pm {{ffn_variants.pair.both_activated_bilinear.error:.3f}}$ ({{ffn_variants.pair.both_activated_bilinear.says}}). What GLU was designed for, no loss can tell.

# %% [markdown] written="question"
# A report says: *SwiGLU beats GELU, loss 3.21 against 3.23, same $d_{model}$, same width $4\,d_{model}$, same learning rate, one seed.* What keeps this from being a fair comparison? Describe the experiment that you would run instead. When would you call its result a difference?
#
# - how many numbers each of the two layers can learn
# - what changes when the run is repeated, and how that becomes an error bar
# - how the learning rate is chosen, and on which runs
# - a rule for the decision, set before the runs

# %% [markdown] written="answer" points=4
# At the same width the gated layer has three matrices instead of two, half as many parameters again: its width should be two thirds of that. One seed has no error bar. One learning rate may suit one layer only: in the unit {{ffn_variants.slow.better_than_glu}} of the other {{ffn_variants.slow.others}} layers beat GLU at {{ffn_variants.slow.rate}}, and {{ffn_variants.slow.better_than_glu_at_best}} do when each has its best rate. I would choose each layer's rate with some seeds, then train both with the same fresh seeds, eight of them, and take the mean of the paired differences with its standard error. With eight seeds I would call it a difference beyond 2.4 errors (Student's t), and ask for more where many pairs are compared.
#
# ### BEGIN MARK SCHEME
# - 1 point: unequal numbers of parameters, and the matched width ($\tfrac23$ of it, so $\tfrac83\,d_{model}$).
# - 1 point: several seeds, compared in pairs, with a standard error.
# - 1 point: a learning rate for each layer, chosen on other runs than those that are compared.
# - 1 point: a rule in units of the standard error, stricter where many pairs are compared.
# - No point: "train longer" or "take a larger model" alone.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("Swish with β = 0 is…", {
    "the identity": (False, "The gate σ(0) is ½."),
    "x/2": (True, "A straight line: nothing bends any more."),
    "ReLU": (False, "That is the other end, β → ∞.")})

# %%
quiz("A checkpoint was trained with the tanh form of GELU and is run with the exact form. The outputs…", {
    "are equal": (False, "The forms differ by up to 0.0005 per unit."),
    "differ a little": (True, "In the recorded model the swap moves the loss by {{ffn_variants.swapped.tanh.mean:+.5f}} nats."),
    "are useless": (False, "Even the wrong constant 2/√π moves the recorded loss by {{ffn_variants.swapped.wrong.mean:+.4f}} nats.")})

# %%
quiz("In a SwiGLU layer of this course, which branch stays linear?", {
    "gate": (False, "The gate goes through SiLU."),
    "up": (True, "The value passes as it is, and is scaled by the gate."),
    "both": (False, "Then it would be bilinear.")})

# %%
quiz("d_model is 768, multiples of 64. The matched gated width is…", {
    "3072": (False, "That is 4 · 768, the plain width."),
    "2048": (True, "8 · 768 / 3 = 2048, a multiple of 64 already."),
    "2112": (False, "One multiple too many.")})

# %%
quiz("A ReLU unit gives 0 for 95 % of the words. It is…", {
    "dead": (False, "It learns from the other 5 %."),
    "alive": (True, "Dead means 0 for every word."),
    "broken": (False, "Being silent for most words is no fault.")})

# %%
progress("04-ffn-and-gating")

# %% [markdown]
# ## Where this lives in real models
#
# - ReLU, width $4\,d_{model}$: the original Transformer ([1706.03762](https://arxiv.org/abs/1706.03762)), OPT. GELU: BERT, GPT-2 and GPT-3 ([1606.08415](https://arxiv.org/abs/1606.08415))
# - GeGLU: T5 v1.1, mT5, Gemma. SwiGLU: PaLM, LLaMA ([2302.13971](https://arxiv.org/abs/2302.13971)), Mistral, Qwen; compared by [Shazeer 2020](https://arxiv.org/abs/2002.05202)
# - Squared ReLU: Primer ([2109.08668](https://arxiv.org/abs/2109.08668)), Nemotron-4 ([2402.16819](https://arxiv.org/abs/2402.16819))
#
# Neither attention nor this layer knows in which order the words stand. Next, **05-position-encodings**: how they are told.
