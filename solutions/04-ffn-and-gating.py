# %% [markdown]
# # The feed-forward layer and its gate
#
# **You will be able to** write every activation of today's models and its slope, build one gated layer that serves GLU, GeGLU and SwiGLU, derive LLaMA's width 11008, find dead units in a trained model, and compare layers fairly.
#
# **Prerequisites:** 00, derivatives of products, `nn.Linear`. **Time:** about 2½ hours; sections 1–5 and 6–10 make two sittings.

# %% [markdown]
# ## A puzzle with numbers
#
# The original Transformer has words of 512 numbers, and a hidden layer of 2048: four times as wide. LLaMA-7B has words of 4096 numbers. Four times that is 16,384.
#
# But its hidden layer has **11,008** units. That is 2.6875 times 4096, no power of two, no round number. Nobody chose it: three steps of arithmetic lead there.
#
# Which? In section 8 you will write them down.

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
# How much hangs on that number? LLaMA-7B has 32 layers, each with three matrices of 4096 × 11008, and 6,738,415,616 parameters in all.

# %%
print(f"{32 * 3 * 4096 * 11008 / 6_738_415_616:.0%} of all parameters")

# %% [markdown]
# ## 1. Why something must bend
#
# A feed-forward layer widens each word's vector, bends it, and brings it back:
#
# $$\text{FFN}(x) = f(x W_1)\,W_2$$
#
# Shapes: $x$ is $(B, T, d_{model})$, the hidden layer $(B, T, d_{ff})$, the result $(B, T, d_{model})$. The function $f$ acts on each number by itself: it is the *activation*.

# %%
predict("ffn.p1", "Without f: ten matrices of 512 × 512, one after the other. What can they do that one cannot?",
        ["ten times as much", "bend the space a little", "nothing more"])

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
# It is *position-wise*: each word passes through alone. Change word 1 of three, and only the output of word 1 moves. Words talk to each other in attention, never here.

# %%
torch.manual_seed(0)
layer, words = FeedForward(4, 16, torch.relu), torch.randn(1, 3, 4)
changed = words.clone()
changed[0, 1] += 1.0
(layer(changed) - layer(words)).detach().abs().amax(-1)

# %% [markdown]
# ## 2. Activations with a corner
#
# First the two old, smooth ones as worked examples. The sigmoid squeezes every number into 0…1, tanh into −1…1:
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
# Look at ±100: $e^{100}$ is infinite in float32, and still nothing breaks, because $1/(1+\infty) = 0$. Not every formula is so lucky; one of the next four is not.

# %% [markdown] statement="activation.family"
# Write four activations. All keep the shape of `x`.
#
# - `relu`: $x$ where $x > 0$, else 0
# - `leaky_relu`: $x$ where $x > 0$, else $\text{slope}\cdot x$, for any slope
# - `elu`: $x$ where $x > 0$, else $\alpha\,(e^x - 1)$
# - `squared_relu`: the square of `relu`
#
# The ready-made ones of torch are not allowed here.

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
# Squared ReLU was found rather than designed: an evolutionary search over small changes to a Transformer's program came upon it ([So et al. 2021](https://arxiv.org/abs/2109.08668)).

# %%
x = torch.linspace(-3, 3, 301)
with described("Four activations from −3 to 3: all equal x on the right but squared ReLU, which grows as x²"):
    for f in (relu, lambda x: leaky_relu(x, 0.1), elu, squared_relu):
        plt.plot(x, f(x))
    plt.ylim(-1.5, 3), plt.legend(["ReLU", "leaky ReLU, slope 0.1", "ELU", "squared ReLU"])

# %% [markdown]
# ## 3. GELU: keep it with probability Φ
#
# Draw a number $z$ from the standard normal distribution. Keep $x$ if $z < x$, else take 0. For $x = 1$ you keep it in 84 % of all draws, so on average 0.84 is left:

# %%
torch.manual_seed(0)
z = torch.randn(100_000)
torch.where(z < 1.0, 1.0, 0.0).mean()

# %% [markdown]
# GELU is that average, without the draws ([Hendrycks and Gimpel 2016](https://arxiv.org/abs/1606.08415)):
#
# $$\text{GELU}(x) = x\,\Phi(x), \qquad \Phi(x) = \tfrac12\left(1 + \text{erf}\!\left(\tfrac{x}{\sqrt 2}\right)\right)$$
#
# The error function erf was slow once, so many models (GPT-2 among them) use
#
# $$\tfrac12 x \left(1 + \tanh\!\left(\sqrt{\tfrac{2}{\pi}}\,\left(x + 0.044715\,x^3\right)\right)\right)$$

# %%
predict("ffn.p2", "How far apart are the two forms at most, over all x?",
        ["0.1", "0.01", "0.0005", "they are equal"])

# %% [markdown] statement="activation.gelu"
# Write both forms: `gelu` with erf, `gelu_tanh` with tanh. In the second, the inner polynomial is given; the constant in front of it is $\sqrt{2/\pi}$.
#
# `torch.erf`, `torch.tanh` and `math` are allowed, torch's own GELU is not.

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
# This is found in course notes. The constant is 1.128 there, not 0.798.

# %%
claimed = 0.5 * x * (1 + torch.tanh(2 / math.sqrt(math.pi) * (x + 0.044715 * x**3)))
f"{(gelu(x) - claimed).abs().max():.2g} instead of {gap.max():.2g}"

# %% [markdown]
# **Verdict: wrong constant.** It is $\sqrt{2/\pi}$, and the error is 160 times smaller with it. Where does it come from? Both curves must leave 0 in the same direction, and $\Phi$ has the slope $\frac{1}{\sqrt{2\pi}}$ there: ½ · 0.798 = 0.399.

# %% [markdown]
# ### Claim on trial
#
# > *"The density of the standard normal distribution is $\frac{1}{2\pi}e^{-x^2/2}$."*
#
# A density has area 1. Add it up:

# %%
bell = torch.exp(-x**2 / 2)
step = x[1] - x[0]
[f"{(bell / c).sum() * step:.3f}" for c in (2 * math.pi, math.sqrt(2 * math.pi))]

# %% [markdown]
# **Verdict: the root is missing.** $\frac{1}{2\pi}$ belongs to the two-dimensional density. You will need the right one in section 5.

# %% [markdown]
# ## 4. Swish and its slider
#
# SiLU, the activation of LLaMA, is $x\,\sigma(x)$. Swish puts a slider $\beta$ inside ([Ramachandran et al. 2017](https://arxiv.org/abs/1710.05941)). By hand at $x = 1$, $\beta = 1$: $\sigma(1) = 0.731$, so Swish gives 0.731.

# %% [markdown] statement="activation.swish"
# Write
#
# $$\text{swish}(x) = x\,\sigma(\beta x)$$
#
# for any shape. It must survive inputs of ±1000. torch's own SiLU is not allowed, `torch.sigmoid` is.

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
# What do the ends of the slider give? Compare with a straight line and with ReLU:

# %%
x = torch.linspace(-6, 6, 1_200_001, dtype=torch.float64)
for beta in (0, 0.01, 1, 10, 100):
    line, corner = (swish(x, beta) - x / 2).abs().max(), (swish(x, beta) - relu(x)).abs().max()
    print(f"beta {beta:6}:  from x/2 {line:.4f}   from ReLU {corner:.5f}")

# %% [markdown]
# At $\beta = 0$ Swish *is* $x/2$: the gate $\sigma(0)$ stands half open for everybody. As $\beta$ grows it comes near ReLU, with a gap of $0.278/\beta$.
#
# Note the 0.278: it is also how far SiLU dips below zero, at $x = -1.28$.

# %% [markdown]
# ## See it move
#
# Your functions, with the slope that autograd finds for them. Move **β**, then choose `relu` and move **shift of all units** to the left: which activations leave units dead, and which merely deaf?

# %%
mine = {"relu": relu, "leaky_relu": leaky_relu, "elu": elu, "squared_relu": squared_relu, "gelu": gelu,
        "gelu_tanh": gelu_tanh, "swish": swish, "sigmoid": sigmoid, "tanh": tanh}
ActivationExplorer(mine, activation="swish")

# %% [markdown]
# ## 5. Slopes by hand
#
# Worked example: $\tanh = 2\sigma(2x) - 1$ has the slope $1 - \tanh^2$. Check such a formula against autograd, which knows nothing of it:

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
# Write the slopes of the sigmoid, of SiLU (Swish with β = 1) and of exact GELU, by hand, elementwise. Slopes at ±100 must be numbers, not NaN. Where $\sigma(x)$ is needed, `f` holds it.

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

# %% [markdown]
# **Verdict: a misplaced parenthesis.** $f(x)\,(1 - f(x))$ is meant. By symmetry $1 - f(x) = f(-x)$, which is perhaps how $f(1-x)$ came about.

# %%
with described("Slopes: the sigmoid's stays below 0.25, those of SiLU and GELU pass 1 and go below 0 on the left"):
    plt.plot(x, sigmoid_prime(x), x, silu_prime(x), x, gelu_prime(x), x, (x > 0).float())
    plt.legend(["sigmoid", "SiLU", "GELU", "ReLU"]), plt.xlabel("x"), plt.ylabel("slope")

# %% [markdown]
# Read the sigmoid's curve as a warning: its slope is never above ¼. Twenty sigmoids in a row multiply a gradient by at most $4^{-20} \approx 10^{-12}$. That is *saturation*, and the reason why hidden layers left the sigmoid.

# %% [markdown]
# ## 6. Softmax: an activation that looks at its neighbors
#
# Softmax turns a whole row into shares, so a change of one input moves *all* outputs. Its slope is a matrix. Concrete numbers: of two equal scores, raise the first by 0.01.

# %%
before, after = torch.softmax(torch.tensor([[1.0, 1.0], [1.01, 1.0]]), -1)
(after - before) / 0.01

# %% [markdown]
# One share gains 0.25 per unit, the other loses 0.25: nothing is created. With $p$ the output,
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
# The second row is sure of itself, and its largest slope is almost 0: softmax saturates too. This is why attention divides its scores by $\sqrt{D}$.

# %% [markdown]
# ## 7. The gate
#
# A plain layer decides with the same number *whether* and *what* to pass on. A gated layer splits the two. One unit, by hand: its gate says $\sigma(2) = 0.88$, its value is −5. It passes −4.4. With a gate of $\sigma(-3) = 0.05$ it passes −0.24: the same value, held back.

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
# Shapes: `x` $(\ldots, d_{model})$, inside $(\ldots, d_{ff})$, result $(\ldots, d_{model})$.

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
# Two limits tell what the gate adds. A gate that is always 1 leaves a linear map. No activation at all leaves a *bilinear* map: double the input, and the output grows fourfold.

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

# %% [markdown]
# **Verdict: a convention, but one that must be kept.** The product does not care about names; the activation does. A checkpoint whose `gate_proj` and `up_proj` are swapped gives other outputs. The activated branch is bounded on one side, so it can shut a unit off: that is why this course calls *it* the gate.

# %% [markdown]
# ### Claim on trial
#
# > *"$\text{FFN}(x) = W_{down}\big(\beta\cdot\text{SwiGLU}(W_g x)\odot(W_{up}x)\big)$, and PaLM and LLaMA use $\beta = 1/\sqrt2$ or $2/3$ to keep the variance."*
#
# Two claims in one. First: SwiGLU is already the whole product, so this multiplies by the up branch twice. Second: what could a factor do?

# %%
scaled = GatedFeedForward(6, 16, swish)
plain = GatedFeedForward(6, 16, swish)
plain.load_state_dict(scaled.state_dict() | {"down_proj.weight": scaled.down_proj.weight / math.sqrt(2)})
with_factor = scaled.down_proj(swish(scaled.gate_proj(x)) * scaled.up_proj(x) / math.sqrt(2))
(with_factor - plain(x)).abs().max().item()

# %% [markdown]
# **Verdict: there is no such factor.** Neither the PaLM nor the LLaMA paper has one. It would add nothing that `down_proj` cannot learn: scaling that matrix gives the same layer. The 2/3 is real, but it belongs somewhere else, as you find out now.

# %% [markdown]
# ## 8. Where 11008 comes from
#
# A gated layer has three matrices where the plain one has two. At the same width it would be half as large again, and any gain could be due to size. Count for $d_{model} = 6$ and width 24:

# %%
count = lambda layer: sum(p.numel() for p in layer.parameters())
count(FeedForward(6, 24, relu)), count(GatedFeedForward(6, 24, swish)), count(GatedFeedForward(6, 16, swish))

# %% [markdown]
# Width 16 makes them equal: $3 \cdot 6 \cdot 16 = 2 \cdot 6 \cdot 24$.
#
# Now you. On paper: for which width $w$ is $3\, d\, w = 2\, d \cdot 4d$? Then two practical steps. A width is a whole number: LLaMA's code rounds **down**. And hardware likes multiples of, say, 256: the code rounds that **up** to the next multiple.

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
# It is a rule, not a law of nature. Llama-2-70B and Llama-3-8B multiply by another 1.3 before rounding, to multiples of 4096 and 1024: 28672 and 14336.

# %%
for d, multiple in ((8192, 4096), (4096, 1024)):
    print(math.ceil(int(1.3 * matched_width(d)) / multiple) * multiple)

# %% [markdown]
# ## 9. Dead units and stuck gates
#
# A ReLU unit that gives 0 passes no gradient: its weights do not hear about that word. A unit that gives 0 for *every* word hears of nothing. A sigmoid gate near 0 or 1 is stuck in another way: its slope is almost 0.
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
# Now a trained model. It reads eight characters of English and predicts the ninth, with two feed-forward layers of 384 units and nothing else. It is trained twice: with a high learning rate, and with a fifth of it.

# %%
from dataclasses import replace
from anatomy.experiments.unit_health import HIGH, collect, deaths, gates

make = lambda d: FeedForward(d, 4 * d, relu)
model, steps, dead = deaths(make, dead_units)
calm = deaths(make, dead_units, setting=replace(HIGH, lr=HIGH.lr / 5))[2]

# %%
with described("Dead units during training: hundreds in layer 1 at the high rate, falling; almost none at a fifth of it"):
    plt.plot(steps, dead.sum(-1), marker="o")
    plt.plot(steps, calm[:, 1].sum(-1), marker="s")
    plt.legend(["layer 0", "layer 1", "layer 1, a fifth of the rate"], bbox_to_anchor=(1, 1))
    plt.xlabel("step"), plt.ylabel("dead units of 384")

# %% [markdown]
# ### Claim on trial
#
# > *"When the input of a ReLU is negative, its gradient is 0. The neuron's gradient is 0 from then on, and its weights are never updated again."*
#
# First: how often is a *living* unit 0? Then: how many of the units that were once dead are alive at the end?

# %%
alive = collect(model, "down_proj")[0]
print(f"zeros in layer 0, where no unit is dead: {(alive == 0).float().mean():.0%}")
once, still = dead[:, 1].any(0), dead[-1, 1]
print(f"layer 1: {once.sum()} units were dead at some time, {(once & ~still).sum()} of them live at the end")

# %% [markdown]
# Dead on 4,000 windows is not dead on all. The recorded run asked every window of the training text, 441,713 of them: a unit that none of them wakes gets no gradient at all.

# %%
from anatomy.experiments import recorded, show_large, where

record = recorded("unit_health")
for r in record["rows"]:
    if r["lr"] == HIGH.lr and r["step"] == 50:
        print(f"seed {r['seed']}: {r['dead']} dead at step 50, {r['alive_at_the_end']} of these alive at the end")
print(where(record))
show_large("unit_health")

# %% [markdown]
# **Verdict: too strong.** A negative input silences a unit for *that word*; living units are silent most of the time. A unit that is silent for all words gets no gradient, but what it *sees* still changes: embeddings, norms and the layer below keep learning, and carry most dead units back to life.
#
# They died of steps that were too large: at a fifth of the rate hardly any did.

# %%
quiet, _, none = deaths(lambda d: FeedForward(d, 4 * d, swish), dead_units)
print("dead units with SiLU:", none[-1].sum(-1).tolist())

# %% [markdown]
# SiLU is 0 at a single point, so no unit is ever exactly dead. And gates? Train a GLU, whose gate is a sigmoid, at the usual rate:

# %%
from anatomy.experiments.ffn_variants import train

glu, _ = train(lambda d: GatedFeedForward(d, matched_width(d), torch.sigmoid))
[f"layer {i}: {gate_saturation(g):.0%} of the gates stuck" for i, g in enumerate(gates(glu))]

# %% [markdown]
# Stuck is not broken: a gate that is sure about a word *should* be near 0 or 1. It becomes a problem when the gate is sure and wrong.
#
# Look at all of this in the explorer: your slopes by hand are now checked against your curves.

# %%
ActivationExplorer(mine | {"sigmoid_prime": sigmoid_prime, "silu_prime": silu_prime, "gelu_prime": gelu_prime},
                   activation="gelu", shift=-3)

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
# Your own run first: three of the variants, one seed, 400 steps each.

# %%
makers = {"ReLU": lambda d: FeedForward(d, 4 * d, relu), "ReGLU": lambda d: GatedFeedForward(d, matched_width(d), relu),
          "SwiGLU": lambda d: GatedFeedForward(d, matched_width(d), swish)}
own = {name: train(make)[1] for name, make in makers.items()}
{name: (row["parameters"], round(row["loss"], 3)) for name, row in own.items()}

# %% [markdown]
# Now beside it, the recorded runs: ten variants, three learning rates, five seeds each. Bars show the standard error, stars are yours.

# %%
record = recorded("ffn_variants")
names = list(dict.fromkeys(r["variant"] for r in record["rows"]))
with described("Validation loss of ten layers at three learning rates; gated ones lie lowest, SwiGLU and GeGLU first"):
    for i, lr in enumerate((0.006, 0.015, 0.04)):
        runs = torch.tensor([r["losses"] for r in record["rows"] if r["lr"] == lr])
        places = torch.arange(len(names)) + 0.2 * (i - 1)
        error = runs.std(1) / math.sqrt(runs.shape[1])
        plt.errorbar(places, runs.mean(1), error, fmt="os^"[i], label=f"rate {lr}")
    plt.plot([names.index(n) for n in own], [own[n]["loss"] for n in own], "k*", markersize=10, label="your run")
    plt.xticks(range(len(names)), names, rotation=40, ha="right"), plt.ylabel("loss, nats per character"), plt.legend()
print(where(record))
show_large("ffn_variants")

# %% [markdown]
# Each variant at its best rate, against SwiGLU, seed by seed:

# %%
best = {}
for r in record["rows"]:
    losses = torch.tensor(r["losses"], dtype=torch.float64)
    if r["variant"] not in best or losses.mean() < best[r["variant"]].mean():
        best[r["variant"]] = losses
for name in sorted(best, key=lambda n: best[n].mean()):
    mean, error = paired_difference(best[name], best["SwiGLU"])
    print(f"{name:15} {best[name].mean():.3f}   behind SwiGLU by {mean:+.3f} ± {error:.3f}")

# %%
reveal("ffn.p3",
       lambda: min(best, key=lambda n: best[n].mean()),
       "GeGLU is two standard errors behind: a hint, no proof. Each gated layer beats each plain one, at its best rate.",
       answer="SwiGLU")

# %% [markdown]
# Three things to take from the plot.
#
# - **The gate matters more than the activation.** Even without any activation, the gated layer beats plain ReLU clearly.
# - **The learning rate can turn the order around.** At 0.006, GLU is last of all; at 0.04 no plain layer is better. A comparison at one rate measures the rate.
# - **This is small**: 150 thousand parameters and one text. Several best rates lie at the edge of what was tried.

# %% [markdown]
# ### Claim on trial
#
# > *"The value branch must not be activated: that would be a double suppression and close the channel for information."*
#
# The variant "both activated" puts a SiLU on both branches.

# %%
for other in ("SwiGLU", "bilinear", "GELU"):
    print(f"both activated minus {other}: %+.3f ± %.3f" % paired_difference(best["both activated"], best[other]))

# %% [markdown]
# **Verdict: half right.** Activating both is worse than SwiGLU, by four standard errors. But no channel closes: it is as good as the gated layer without any activation, and beats GELU by far.

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
    "differ a little": (True, "Small errors, in every unit of every layer."),
    "are useless": (False, "That would take the wrong constant 2/√π.")})

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
    "alive": (True, "Dead means 0 for every word. Living units are silent most of the time."),
    "saturated": (False, "Saturation is said of flat ends, as of the sigmoid.")})

# %%
progress("04-ffn-and-gating")

# %% [markdown]
# ## Where this lives in real models
#
# - ReLU, width 4·d: the original Transformer ([1706.03762](https://arxiv.org/abs/1706.03762)), OPT. GELU: BERT, GPT-2 and GPT-3 ([1606.08415](https://arxiv.org/abs/1606.08415))
# - GeGLU: T5 v1.1, mT5, Gemma. SwiGLU: PaLM, LLaMA ([2302.13971](https://arxiv.org/abs/2302.13971)), Mistral, Qwen; compared by [Shazeer 2020](https://arxiv.org/abs/2002.05202)
# - Squared ReLU: Primer ([2109.08668](https://arxiv.org/abs/2109.08668)), Nemotron-4 ([2402.16819](https://arxiv.org/abs/2402.16819))
#
# Next: **05-position-encodings**.
