# %% [markdown]
# # The feed-forward layer and its gate
#
# **You will be able to**
#
# - write the activations of today's models;
# - build one gated layer for GLU, GeGLU and SwiGLU, and derive LLaMA's width;
# - plan a fair comparison of two layers;
# - in the extensions: compute slopes by hand, and find dead units.
#
# **Prerequisites:** unit 00; `nn.Linear`; for the extensions unit 01 and derivatives of products. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# In the original Transformer a token is a vector of 512 numbers. The layer that you will build widens it to 2048, four times as many, before it brings it back to 512. In LLaMA-7B (7 billion parameters) a token has 4096 numbers, so the same rule would give 16,384.
#
# However, LLaMA's wide vector has **11,008** numbers (*hidden units*), which is 2.6875 times 4096 and not a power of two. It follows from three steps of arithmetic, which you will write in section 8.

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
# LLaMA-7B has 32 such layers, each with three matrices of 4096 × 11008 (section 7 shows why three). How many of its 6,738,415,616 parameters is that?

# %%
print(f"{32 * 3 * 4096 * 11008 / 6_738_415_616:.0%} of all parameters")

# %% [markdown]
# ## 1. Why a layer needs a nonlinearity
#
# A *feed-forward layer* widens each token's vector by a matrix $W_1$, applies a nonlinear function, and brings the vector back by a matrix $W_2$:
#
# $$\text{FFN}(x) = f(x W_1)\,W_2$$
#
# Here $x$ has shape $(B, T, d_{model})$, the hidden layer $(B, T, d_{ff})$, and the result $(B, T, d_{model})$ again. The function $f$, called the *activation*, acts on each number by itself. To see why we need it, suppose that we leave it out.

# %%
predict("ffn.p1", "Without f: ten matrices of 512 × 512, one after the other. What can they do that one cannot?",
        ["ten times as much", "a little more", "nothing more"])

# %% [markdown]
# Two small matrices are enough to try it.

# %%
a, b, x = torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.tensor([[3.0, 0.0], [1.0, 1.0]]), torch.tensor([1.0, -1.0])

# %%
reveal("ffn.p1",
       lambda: f"two matrices in a row give {(x @ a @ b).tolist()}, their product alone {(x @ (a @ b)).tolist()}",
       "Nothing more. (xA)B = x(AB): any number of linear maps in a row is one linear map.",
       answer="nothing more")

# %% [markdown]
# ### Worked example: the layer of 2017
#
# Without $f$, then, the wide vector would be a waste. Here is the layer of the original Transformer, but without biases, as in LLaMA. $W_1$ is called `up_proj` and $W_2$ `down_proj`. The layer accepts any `activation`, because we are going to try several.

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
# The layer is *position-wise*, which means that each token passes through it alone. Suppose that token 1 of the tokens 0, 1 and 2 changes. Then only its output changes, because tokens exchange information in attention and never here. The cell prints each output's largest change.

# %%
torch.manual_seed(0)
layer, words = FeedForward(4, 16, torch.relu), torch.randn(1, 3, 4)
changed = words.clone()
changed[0, 1] += 1.0
(layer(changed) - layer(words)).detach().abs().amax(-1)

# %% [markdown]
# ### A small model to try your layers in
#
# What a layer is worth shows only in a model that learns something. Our *character model* reads eight characters of Python's documentation and predicts the ninth. Their vectors are joined into one vector of 96 numbers, which the layers treat like a single token, so that one hidden unit sees all eight. The model has two feed-forward layers, each of which adds its result to its input (a *residual connection*), and *norms* that keep the numbers at a steady size.

# %% [markdown]
# There is no attention, so nearly all that the model learns beyond a linear guess comes from your layers.
#
# Its loss is measured in *nats*, where a loss of $L$ nats means that the right character gets the probability $e^{-L}$ on average (a geometric mean). The function below trains for 150 steps and prints both for text that was kept back. We begin without an activation, to have something to improve on.

# %%
from dataclasses import replace
from anatomy.experiments.ffn_variants import ALPHABET, LAPTOP, limit, train

SHORT, models = replace(LAPTOP, steps=150), {}

def try_out(name, make_layer):
    models[name], row = train(make_layer, setting=SHORT)
    print(f"{name:14} {row['loss']:.3f} nats, so the right character gets {math.exp(-row['loss']):.1%}")

try_out("no activation", lambda d: FeedForward(d, 4 * d, nn.Identity()))

# %% [markdown]
# Keep this line for comparison. (Its last digits depend on your processor.)

# %% [markdown]
# ## 2. ReLU and its relatives
#
# Which function should $f$ be? Two older activations come first, as worked examples. The sigmoid, which you will meet again as a gate, maps every number into 0…1, while tanh maps it into −1…1.
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
# At ±100 the result is right although $e^{100}$ is infinite in float32, because $1/(1+\infty) = 0$. One of the four formulas that you write next is not as forgiving.

# %% [markdown] statement="activation.family"
# Write four activations, all of which keep the shape and dtype of `x`. At ±200 their values and gradients must be finite (no NaN).
#
# | | where $x > 0$ | elsewhere |
# |---|---|---|
# | `relu` | $x$ | 0 |
# | `leaky_relu` | $x$ | $\text{slope}\cdot x$, for any slope |
# | `elu` | $x$ | $\alpha\,(e^x - 1)$ |
# | `squared_relu` | $x^2$, the square of `relu` | 0 |

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
# Squared ReLU came out of an automated search, in which an evolutionary algorithm tried small changes to a Transformer's program and kept this one ([So et al. 2021](https://arxiv.org/abs/2109.08668)).

# %%
x = torch.linspace(-3, 3, 301)
with described("Four activations from −3 to 3: all equal x on the right but squared ReLU, which grows as x²"):
    for f in (relu, lambda x: leaky_relu(x, 0.1), elu, squared_relu):
        plt.plot(x, f(x))
    plt.ylim(-1.5, 3), plt.legend(["ReLU", "leaky ReLU, slope 0.1", "ELU", "squared ReLU"])

# %% [markdown]
# Now your ReLU goes into the model. The number of parameters, the seed and the batches stay the same, so that any difference comes from the corner at 0.

# %%
try_out("ReLU", lambda d: FeedForward(d, 4 * d, relu))

# %% [markdown]
# Thanks to the corner, a unit can stay silent (give 0) until several characters *together* push it above 0. For example, it can wait for the letters `retur` before it makes an `n` more likely. In a linear unit, each character adds its own share, whatever the others are.

# %% [markdown]
# Silence has a price, however. Left of 0 the ReLU is flat, so the weights of a silent unit get no gradient from that token. A unit that gives 0 for *every* token gets none at all and is called *dead*. This is one reason to look for an activation without a flat half.

# %% [markdown]
# ## 3. GELU: keep it with probability Φ
#
# ReLU either keeps a number or replaces it by 0. Suppose that chance makes this decision instead, and keeps larger numbers more often. Draw a number $z$ from the standard normal distribution, keep $x$ if $z < x$, and take 0 otherwise. For $x = 1$ you keep it in 84 % of all draws, so 0.84 remains on average.

# %%
torch.manual_seed(0)
z = torch.randn(100_000)
torch.where(z < 1.0, 1.0, 0.0).mean()

# %% [markdown]
# GELU is this average, computed without the draws ([Hendrycks and Gimpel 2016](https://arxiv.org/abs/1606.08415)). Here $\Phi(x)$ is the probability of $z < x$, written with the *error function* erf (`torch.erf`):
#
# $$\text{GELU}(x) = x\,\Phi(x), \qquad \Phi(x) = \tfrac12\left(1 + \text{erf}\!\left(\tfrac{x}{\sqrt 2}\right)\right)$$
#
# Many models, such as GPT-2, use an approximation by tanh instead:
#
# $$\tfrac12 x \left(1 + \tanh\!\left(\sqrt{\tfrac{2}{\pi}}\,\left(x + 0.044715\,x^3\right)\right)\right)$$

# %% [markdown]
# The root covers the whole fraction, which makes the constant 0.798. With it $\frac12(1+\tanh)$ rises at 0 as fast as $\Phi$ does, with a slope of $\frac{1}{\sqrt{2\pi}} = 0.399$.

# %%
predict("ffn.p2", "How far apart are the two forms at most, over all x?",
        ["0.1", "0.01", "0.0005", "they are equal"])

# %% [markdown] statement="activation.gelu"
# Write both forms, `gelu` with erf and `gelu_tanh` with tanh, in the shape and dtype of `x`. Far from 0, values and gradients must stay numbers (no NaN). In the second form the inner polynomial is given, and the constant in front of it is $\sqrt{2/\pi}$.

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
# 1. At $x = 1$ the answers are 0.8413 and 0.8412. If yours is 0.92, look at what is inside erf.
# 2. Both have the shape ½ · x · (1 + something between −1 and 1), which is erf of a scaled `x` or tanh of a scaled `inner`.
# 3. `0.5 * x * (1 + torch.erf(x / …))` and `0.5 * x * (1 + torch.tanh(… * inner))`, where the dots are first $\sqrt 2$ and then $\sqrt{2/\pi}$.

# %% [markdown] worth="activation.gelu"
# The paper has a third form, $x\,\sigma(1.702\,x)$, which is cheaper. OpenAI's [CLIP](https://github.com/openai/CLIP/blob/main/clip/model.py) was trained with it and calls it QuickGELU.

# %%
x = torch.linspace(-8, 8, 160_001, dtype=torch.float64)
gap = (gelu(x) - gelu_tanh(x)).abs()

# %%
reveal("ffn.p2",
       lambda: f"{gap.max():.2g}, at x = ±{x[gap.argmax()].abs():.1f}",
       "Small, but not nothing: a checkpoint trained with one form should be run with the same form.",
       answer="0.0005")

# %% [markdown]
# Put your GELU into the model to see whether the softer decision helps.

# %%
try_out("GELU", lambda d: FeedForward(d, 4 * d, gelu))

# %% [markdown]
# Another seed would move the loss as well, so a small difference between two lines may be luck. Section 10 shows how to find out.

# %% [markdown]
# ## 4. Swish and its parameter β
#
# Is there a smooth activation with a simpler formula? LLaMA uses SiLU, which is $x\,\sigma(x)$ and looks much like GELU. Swish adds a parameter $\beta$ inside $\sigma$ ([Ramachandran et al. 2017](https://arxiv.org/abs/1710.05941)). For example, at $x = 1$ and $\beta = 1$ we have $\sigma(1) = 0.731$, and Swish gives 0.731.

# %% [markdown] statement="activation.swish"
# Write the function below for any shape and any number $\beta$, in the dtype of `x`. Its value and its gradient must be finite (no NaN) for inputs of ±1000.
#
# $$\text{swish}(x) = x\,\sigma(\beta x)$$

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
# The function $x\,\sigma(x)$ was found three times within two years. It appeared as SiLU in the [GELU paper](https://arxiv.org/abs/1606.08415), again in reinforcement learning ([Elfwing et al. 2017](https://arxiv.org/abs/1702.03118)), and in an automated search, which named it Swish.

# %% [markdown]
# To see what $\beta$ does, compare Swish with the straight line $x/2$ and with ReLU. The cell prints the largest distances for $x$ in −6…6.

# %%
x = torch.linspace(-6, 6, 1_200_001, dtype=torch.float64)
for beta in (0, 0.01, 1, 10, 100):
    line, corner = (swish(x, beta) - x / 2).abs().max(), (swish(x, beta) - relu(x)).abs().max()
    print(f"beta {beta:6}:  from x/2 {line:.4f}   from ReLU {corner:.5f}")

# %% [markdown]
# At $\beta = 0$ Swish *is* $x/2$, because the factor $\sigma(0)$ is ½ for every input. As $\beta$ grows, Swish approaches ReLU, and the largest distance is $0.278/\beta$. For $\beta = 1$ it is also how far SiLU dips below zero, at $x = -1.28$, since ReLU is 0 there.

# %% [markdown]
# ### See it move
#
# The explorer draws your functions together with the slopes that autograd finds for them. Move **β** first, then choose `relu` and move **shift of all units** to the left. Which activations leave units dead, and which leave them a small slope?

# %%
mine = {"relu": relu, "leaky_relu": leaky_relu, "elu": elu, "squared_relu": squared_relu, "gelu": gelu,
        "gelu_tanh": gelu_tanh, "swish": swish, "sigmoid": sigmoid, "tanh": tanh}
ActivationExplorer(mine, activation="swish")

# %% [markdown]
# ## 5. Extension: slopes by hand
#
# Where a unit's activation is flat, its weights get no gradient, so the slope tells where learning stops. As a worked example, $\tanh = 2\sigma(2x) - 1$ has the slope $1 - \tanh^2$. Such a formula can be checked against autograd.

# %%
x = torch.tensor([-2.0, 0.0, 1.0], requires_grad=True)
torch.tanh(x).sum().backward()
x.grad, 1 - torch.tanh(x.detach()) ** 2

# %% [markdown]
# Two rules are enough for the others. The chain rule gives the slope of the sigmoid, and the product rule gives that of everything of the form $x\cdot g(x)$, such as SiLU and GELU:
#
# $$\sigma' = \sigma\,(1-\sigma), \qquad \big(x\,g(x)\big)' = g(x) + x\,g'(x)$$
#
# Here $(1-\sigma)$ is $1 - \sigma(x)$ and not $\sigma(1 - x)$. For GELU, $g = \Phi$, whose slope is the density $\varphi(x) = \frac{1}{\sqrt{2\pi}}\,e^{-x^2/2}$. The factor in front makes the area under it 1.

# %% [markdown] statement="activation.derivatives"
# Write by hand the slopes of the sigmoid, of SiLU (Swish with β = 1) and of exact GELU, elementwise and in the dtype of `x`. Slopes at ±100 must be numbers and not NaN, and so must the slopes of these slopes. Where $\sigma(x)$ is needed, `f` holds it.

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
# For the backward pass, sigmoid and ReLU need only their output. SiLU and GELU, however, fall before they rise, so one output can belong to two inputs, and the input has to be kept.

# %% [markdown]
# Compare your slope of the sigmoid with autograd's along a line, then look at all slopes together.

# %%
x = torch.linspace(-5, 5, 201, requires_grad=True)
torch.sigmoid(x).sum().backward()
truth, x = x.grad, x.detach()
(sigmoid_prime(x) - truth).abs().max()

# %%
with described("Slopes: the sigmoid's stays below 0.25, those of SiLU and GELU pass 1 and go below 0 on the left"):
    plt.plot(x, sigmoid_prime(x), x, silu_prime(x), x, gelu_prime(x), x, (x > 0).float())
    plt.legend(["sigmoid", "SiLU", "GELU", "ReLU"]), plt.xlabel("x"), plt.ylabel("slope")

# %% [markdown]
# The sigmoid's slope is never above ¼, so twenty sigmoids in a row multiply a gradient by at most $4^{-20} \approx 10^{-12}$, and we say that it *vanishes*. At its flat ends, where the slope is even smaller (below 0.007 at ±5), the sigmoid *saturates*. [Glorot and Bengio 2010](https://proceedings.mlr.press/v9/glorot10a.html) describe both in deep networks.
#
# The explorer now checks your slopes by hand against your curves.

# %%
ActivationExplorer(mine | {"sigmoid_prime": sigmoid_prime, "silu_prime": silu_prime, "gelu_prime": gelu_prime},
                   activation="gelu", shift=-3)

# %% [markdown]
# ## 6. Extension: the slope of softmax is a matrix
#
# So far each input had one slope. Softmax, however, turns a whole row into shares, so a change of one input moves *all* outputs. For example, take two equal scores and raise the first by 0.01.

# %%
before, after = torch.softmax(torch.tensor([[1.0, 1.0], [1.01, 1.0]]), -1)
(after - before) / 0.01

# %% [markdown]
# The first share gains a quarter of what we added to its score, and the other loses as much. With $p$ as the output, all slopes of a row form a matrix:
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
# The second row is almost certain, and even its largest slope is almost 0, so softmax saturates, too. [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762) suspect that large scores do this and therefore divide them by $\sqrt{D}$, which unit 01 puts to the test.

# %% [markdown]
# ## 7. The gate
#
# In a plain layer a hidden unit has one number, which decides both *whether* something is passed on and *what*, although these are often two questions. Suppose that one number of the token's vector, $x_2$, says how likely a letter is, and that another, $x_1$, says how much this counts here, or even that the opposite is true. Then the layer needs the product $x_1 x_2$.
#
# Can your ReLU give it? Since $\text{relu}(a) + \text{relu}(-a) = |a|$, two units make $|x_1 + x_2|$ and two more $|x_1 - x_2|$. Half the difference of these looks promising.

# %%
x1, x2 = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [2.0, 3.0], [4.0, 6.0]]).T
four_units = (relu(x1 + x2) + relu(-x1 - x2) - relu(x1 - x2) - relu(x2 - x1)) / 2
print("product        ", (x1 * x2).tolist())
print("four ReLU units", four_units.tolist())

# %% [markdown]
# Four units are right where both numbers are 1 or −1. One unit alone could not do even that, because its inputs at $(1, 1)$ and at $(-1, -1)$ have opposite signs. ReLU sets one of the two to 0, although the product is 1 at both.
#
# Further out the four fail, and a thousand would fail as well. When both numbers double, every sum of ReLU units (without biases) doubles, whereas the product grows fourfold. A unit that multiplies two numbers, however, is exact.

# %% [markdown]
# A gated layer therefore has two numbers for each unit, a *gate* and a *value*, and passes on their product. For example, a gate of $\sigma(2) = 0.88$ and a value of −5 pass on −4.4. With a gate of $\sigma(-3) = 0.05$ the same value is held back, and −0.24 is left.

# %% [markdown]
# As a formula, where ⊙ multiplies number by number:
#
# $$\text{FFN}(x) = \big(f(x W_{gate}) \odot x W_{up}\big)\,W_{down}$$
#
# | $f$ | name | used in |
# |---|---|---|
# | sigmoid | GLU (*gated linear unit*) | [Dauphin et al. 2016](https://arxiv.org/abs/1612.08083) |
# | ReLU | ReGLU | |
# | GELU | GeGLU | T5 v1.1, Gemma |
# | SiLU | SwiGLU | PaLM, LLaMA, Mistral, Qwen |
# | none | bilinear | |
#
# **Convention of this course:** the *gate* is the branch that goes through the activation, which can shut a unit off. The *up* branch, the value, stays linear.
#
# The picture shows a plain and a gated layer with equally many weights, for tokens of 768 numbers.

# %%
from anatomy import drawings

drawings.feed_forward(d_model=768, d_ff=3072, gated_d_ff=2048)

# %% [markdown] statement="ffn.gated"
# Complete the layer so that it serves any activation. Its weights are loaded by name, so the three linear layers must be called `gate_proj`, `up_proj` and `down_proj`, and they have no biases. (The first of them is made already.)
#
# Shapes: `x` is $(\ldots, d_{model})$, the layer is $(\ldots, d_{ff})$ inside, and the result is $(\ldots, d_{model})$ in the dtype of `x`.

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
# Double the input, and see what your gate adds. If it is always 1, the map is linear and the output doubles. Without an activation the map is *bilinear*, and the output grows fourfold, as the product did. With SiLU the factor depends on the input.

# %%
torch.manual_seed(0)
x = torch.randn(1, 6)
for name, f in {"always 1": torch.ones_like, "bilinear": lambda x: x, "SwiGLU": swish}.items():
    layer = GatedFeedForward(6, 16, f)
    print(f"{name:9} output grows by {(layer(2 * x).norm() / layer(x).norm()).item():.3f}")

# %% [markdown]
# Now your gated layer goes into the model, with SiLU as LLaMA has it. Its width is only $\frac83\,d_{model}$, so that three matrices have as many parameters as two had (section 8).

# %%
try_out("SwiGLU", lambda d: GatedFeedForward(d, 8 * d // 3, swish))

# %% [markdown]
# Compare your four lines, in which only your layer changed.
#
# To see what a trained gate does, we train a layer with a sigmoid, whose gates are shares between 0 (closed) and 1 (open), and let it read a sentence, eight characters at a time.

# %%
glu, _ = train(lambda d: GatedFeedForward(d, 8 * d // 3, torch.sigmoid), setting=SHORT)
sentence = "this method returns the value of an attribute"
rows = torch.tensor([ALPHABET.index(c) for c in sentence]).unfold(0, 8, 1)
with torch.no_grad():
    h = glu.norms[0](glu.embed(rows).flatten(1))
    gate, value = torch.sigmoid(glu.layers[0].gate_proj(h)), glu.layers[0].up_proj(h)
unit = gate.std(0).argmax()  # the one whose gate moves most

# %%
share, full, letters = gate[:, unit], value[:, unit], sentence[7:]
most, least = (sentence[i : i + 8] for i in (share.argmax(), share.argmin()))
with described("One unit over a sentence: its gate is most open after “{most}” and most closed after “{least}”",
               most=most, least=least):
    plt.bar(range(len(letters)), full, color="lightgray", label="value")
    plt.bar(range(len(letters)), share * full, width=0.5, label="what the gate lets through")
    plt.xticks(range(len(letters)), list(letters)), plt.legend()

# %% [markdown]
# Each pair of bars belongs to the eight characters that end at the letter below. Where the colored bar fills the gray one, the gate is open. Where gray is left over, the gate holds the value back, which no ReLU unit can do with a positive number. Write `unit = 7`, for example, at the top of the last cell (up to 255), and look for a gate that you can explain.

# %% [markdown]
# ### Claim on trial
#
# As in unit 00, we test what texts repeat. Here two of them contradict each other (each has its own letters).
#
# > *"The gate is $xV$, and the activated branch $\max(0, xW_1)$ is what it filters."* And elsewhere: *"$B$ goes through the activation and becomes the gate."*
#
# To find out whether it matters, we swap the branches of a layer and compare the outputs.

# %%
layer = GatedFeedForward(6, 16, torch.sigmoid)
swapped = GatedFeedForward(6, 16, torch.sigmoid)
swapped.load_state_dict(layer.state_dict())
swapped.gate_proj, swapped.up_proj = swapped.up_proj, swapped.gate_proj
(layer(x) - swapped(x)).abs().max().item()

# %% [markdown] evidence="exact"
# **Verdict: which branch is *called* the gate is a convention, but which one is *activated* is not.** A name changes nothing. The activation, however, acts on one branch only, and a checkpoint whose `gate_proj` and `up_proj` are swapped gives other outputs.

# %% [markdown]
# ### Claim on trial
#
# > *"The product of two branches makes the variance larger or smaller and can upset the residual stream. So PaLM, LLaMA and others multiply it by a constant, such as $\beta = 1/\sqrt2$ or $2/3$, to bring output and input closer."*
#
# (The *residual stream* is the sum to which all layers add their results. This $\beta$ is not that of Swish.) To see whether the worry is right, take two independent branches of variance 1.

# %%
torch.manual_seed(0)
gated, values = torch.randn(2, 1_000_000)
product = swish(gated) * values
{"standard deviation": product.std().item(), "after 1/√2": (product / math.sqrt(2)).std().item()}

# %% [markdown]
# The product does shrink, but a factor below 1 shrinks it further. And what could such a factor do that the next matrix, `down_proj`, cannot do as well?

# %%
scaled = GatedFeedForward(6, 16, swish)
plain = GatedFeedForward(6, 16, swish)
plain.load_state_dict(scaled.state_dict() | {"down_proj.weight": scaled.down_proj.weight / math.sqrt(2)})
with_factor = scaled.down_proj(swish(scaled.gate_proj(x)) * scaled.up_proj(x) / math.sqrt(2))
(with_factor - plain(x)).abs().max().item()

# %% [markdown]
# Nothing, because `down_proj` absorbs it. (The difference above is rounding.) Do the models have such a factor all the same? LLaMA's own layer in `transformers` was compared, at random weights, with $\text{down}(\beta\cdot\text{SiLU}(\text{gate})\odot\text{up})$. The numbers are relative differences.

# %%
from anatomy.experiments import recorded

llama = recorded("named_models")["models"]["llama-2-7b"]["probe"]
{"β = 1": llama["mlp_without_factor"], "1/√2": llama["mlp_with_half_sqrt"], "2/3": llama["mlp_with_two_thirds"]}

# %% [markdown] evidence="exact + models: llama-2-7b + cited: 2204.02311"
# **Verdict: neither LLaMA nor PaLM has such a factor, and `down_proj` could learn whatever it does.** LLaMA's layer is the plain product, and PaLM's paper ([2204.02311](https://arxiv.org/abs/2204.02311)) writes $\text{Swish}(xW)\cdot xV$. The 2/3 is real, but it belongs to the width, as you find next.

# %% [markdown]
# ## 8. Where 11008 comes from
#
# At the same width a gated layer has 50 % more parameters than a plain one, so any gain could be due to size. Count for $d_{model} = 6$, first with width 24 for both, then with width 16 for the gated layer.

# %%
count = lambda layer: sum(p.numel() for p in layer.parameters())
count(FeedForward(6, 24, relu)), count(GatedFeedForward(6, 24, swish)), count(GatedFeedForward(6, 16, swish))

# %% [markdown]
# The narrower width makes the comparison fair, with $3 \cdot 6 \cdot 16 = 2 \cdot 6 \cdot 24$ parameters.
#
# Now on paper, for any $d$: for which width $w$ is $3\, d\, w = 2\, d \cdot 4d$? In practice two more steps follow, because a width is a whole number and hardware works best with multiples of a number such as 256. LLaMA's code first rounds the solution **down**, and then **up** to a multiple.

# %% [markdown] statement="ffn.matched_width"
# Write these three steps (solve, round down, round up) and return an int. A width that is a multiple already stays. Sizes below 1 raise a `ValueError`.

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
# Reports count this width in two ways. Gemma's lists 49,152 for the 7B model, gate and up together, whereas its code has 24,576 for each, eight times $d_{model}$ ([Gemma Team 2024](https://arxiv.org/abs/2403.08295)).

# %%
for name, d in {"7B": 4096, "13B": 5120, "33B": 6656, "65B": 8192}.items():
    print(f"LLaMA-{name}: d_model {d}, d_ff {matched_width(d, 256)}")

# %% [markdown]
# The steps 4096 → 10922.67 → 10922 → **11008** solve the puzzle, and they give all four widths of the first LLaMA.
#
# Later models change the rule. Llama-2-70B and Llama-3-8B, for example, multiply by another 1.3 before they round, to multiples of 4096 and 1024, while PaLM keeps $4\,d_{model}$ with three matrices.

# %%
for d, multiple in ((8192, 4096), (4096, 1024)):
    print(math.ceil(int(1.3 * matched_width(d)) / multiple) * multiple)

# %% [markdown]
# ## 9. Extension: dead units and stuck gates
#
# How many units stop learning? A ReLU unit does when it is dead (0 for every token). A sigmoid gate near 0 or 1 is *stuck*, because its slope is almost 0 there. For example, take the gates 0.01, 0.5, 0.99 and 0.2 with a margin of 0.05. Two of the four are stuck, a share of 0.5.

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
# OPT uses ReLU, and in some early layers of its 66B model more than 70 % of the units never fired on a large and diverse collection of text ([Voita et al. 2023](https://arxiv.org/abs/2309.04827)).

# %% [markdown]
# Now count dead units in the character model, whose two layers have {{unit_health.units}} units each. It is trained twice, with a high learning rate (0.03) and with a fifth of it. Every 50 steps your `dead_units` is called for 4,000 *windows* (rows of eight characters).

# %%
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
# In your plot, however, the number of dead units (the claim's *neurons*) falls again. How often is even a *living* unit 0, and how many of the dead ones are alive at the end?

# %%
alive = collect(model, "down_proj")[1][:, ~dead[-1, 1]]
print(f"zeros of the living units of layer 1: {(alive == 0).float().mean():.0%}")
once, still = dead[:, 1].any(0), dead[-1, 1]
print(f"layer 1: {once.sum()} units were dead at some time, {(once & ~still).sum()} of them live at the end")

# %% [markdown]
# Units that are dead on 4,000 windows may wake on others. The recorded runs therefore try every window of the training text, {{unit_health.windows:,}} of them. A unit that none of them wakes gets no gradient at all. In the *frozen* runs, everything below layer 1 stops learning at step {{unit_health.step}}, so that what layer 1 reads stays the same.

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
# **Verdict: too strong, because most dead units come back.** A negative input silences a unit for *that token* only. Of the units that no window woke at step {{unit_health.step}} ({{unit_health.seeds:word}} seeds together), most were alive at the end. At a fifth of the high rate only {{unit_health.fifth.dead}} were dead, so the high rate is to blame.
#
# | learning rate | dead at step {{unit_health.step}} | of these alive at the end |
# |---|---|---|
# | high | {{unit_health.high.dead}} | {{unit_health.high.back}} |
# | half of it | {{unit_health.half.dead}} | {{unit_health.half.back}} |

# %% [markdown] evidence="recorded: unit_health, control: frozen"
# **Verdict: with fixed inputs, however, the claim is right.** How can a unit come back without a gradient? What it reads changes, because everything below it keeps learning. If that is frozen at step {{unit_health.step}}, {{unit_health.frozen.back}} of {{unit_health.frozen.dead}} dead units return.

# %% [markdown]
# Do units die with a smooth activation such as SiLU, too?

# %%
quiet, _, none = deaths(lambda d: FeedForward(d, 4 * d, swish), dead_units, setting=replace(HIGH, steps=100))
print("dead units with SiLU:", none[-1].sum(-1).tolist())

# %% [markdown]
# SiLU is 0 at a single point, so hardly any output is ever exactly 0. Gates, however, can be stuck, so look at those of the sigmoid layer from section 7.

# %%
[f"layer {i}: {gate_saturation(g):.0%} of the gates stuck" for i, g in enumerate(gates(glu))]

# %% [markdown]
# Stuck does not mean broken, since a gate that is certain about a token *should* be near 0 or 1. Only a gate that is certain and wrong is a problem.

# %% [markdown]
# ## 10. Which one is best?
#
# One short run cannot tell a better layer from a lucky one. A fair comparison needs equal parameters (your `matched_width`), equal data, and more than one seed. Two models with the same seed see the same batches and share part of their luck, so we compare them *pairwise*, seed by seed.

# %% [markdown]
# For example, take the losses 3, 5, 4 against 1, 2, 3. The differences are 2, 3 and 1, with mean 2 and standard deviation 1. The *standard error* of this mean, $1/\sqrt 3 = 0.58$, says how far the mean would typically move with other seeds.

# %% [markdown] statement="ffn.paired_difference"
# Given losses `a` and `b` of shape $(n,)$, in which the same index is the same seed, return two floats: the mean of `a − b`, and its standard error
#
# $$\text{error} = \frac{s}{\sqrt n}, \qquad s = \text{standard deviation of the differences, dividing by } n - 1$$
#
# Do not round float64 losses to float32.

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
# With few seeds the error is itself uncertain. For five seeds, for example, 95 % takes ±2.78 errors rather than ±1.96 (Student's t, four degrees of freedom). To halve the error, you need four times as many seeds.

# %%
predict("ffn.p3", "At equal parameters, which layer reads characters best?",
        ["plain ReLU", "plain GELU", "GLU (sigmoid gate)", "SwiGLU", "bilinear (gated, without an activation)"])

# %% [markdown]
# ### The plan
#
# Before we look at the recorded runs, we write down what we are going to compare. If we searched all pairs of {{ffn_variants.variants:word}} layers for large differences, luck alone would provide some. So there are three questions, and no more. (The course chose them after the recording. You have not seen it yet, so for you it is a plan.)
#
# | comparison | question |
# |---|---|
# | SwiGLU − GELU | Does a gate help? |
# | GeGLU − SwiGLU | Does it matter which smooth function is in the gate? |
# | both activated − SwiGLU | Does it hurt if the value is activated, too? |
#
# "Both activated" is SwiGLU with SiLU on both branches.

# %% [markdown]
# We also say beforehand how large a difference must be. If two layers are equally good, luck puts their mean difference more than 2.4 standard errors away from 0 in 5 % of all experiments with eight seeds (Student's t). Three comparisons give luck three chances, so each gets only a third of the 5 %, and the limit rises. The function `limit` computes it from the number of comparisons and the number of seeds minus 1.

# %%
plan = [("SwiGLU", "GELU"), ("GeGLU", "SwiGLU"), ("both activated", "SwiGLU")]
needed = limit(len(plan), 8 - 1)
f"one comparison: {limit(1, 8 - 1):.2f} errors, three: {needed:.2f}"

# %% [markdown]
# Beyond {{ffn_variants.limit:.2f}} standard errors we speak of **a difference**. Below that the question is **not settled**, because a small difference may still exist.
#
# Your own runs come first, with two of the layers, one seed and 400 steps each. The cell prints parameters and losses.

# %%
from anatomy.experiments import show_large, where

makers = {"ReLU": lambda d: FeedForward(d, 4 * d, relu),
          "SwiGLU": lambda d: GatedFeedForward(d, matched_width(d), swish)}
own = {name: train(make)[1] for name, make in makers.items()}
{name: (row["parameters"], round(row["loss"], 3)) for name, row in own.items()}

# %% [markdown]
# One learning rate may suit one layer and not the other. The recorded runs therefore train all {{ffn_variants.variants:word}} layers at {{ffn_variants.rates:word}} rates, with {{ffn_variants.choosing:word}} seeds each. ("Gated twice" multiplies SwiGLU's product by a third branch.) In the plot, bars are standard errors and stars are your own runs.

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
# This plot is for choosing each layer's rate. Its lowest losses must not be compared, because we picked them for being low, and luck helps with that. So each layer was trained again at its best rate, with {{ffn_variants.fresh:word}} fresh seeds, and these runs decide.

# %%
best = {r["variant"]: torch.tensor(r["losses"], dtype=torch.float64) for r in record["compared"]}

def compare(a, b):
    mean, error = paired_difference(best[a], best[b])
    says = "a difference" if abs(mean) > needed * error else "not settled"
    print(f"{a:14} minus {b:6} {mean:+.3f} ± {error:.3f}, {abs(mean) / error:4.1f} errors: {says}")

for a, b in plan:
    compare(a, b)

# %%
reveal("ffn.p3",
       lambda: f"lowest mean: {min(best, key=lambda n: best[n].mean())}",
       "It has the lowest mean of your five choices. Which differences are more than luck, only the plan can say.",
       answer="SwiGLU")

# %% [markdown] evidence="recorded: ffn_variants, control: learning rate"
# **Verdict: the gate helps in this model, while it is not settled whether SiLU or GELU belongs in it.** A negative difference means that the first layer predicts better.
#
# | comparison | nats per character | |
# |---|---|---|
# | SwiGLU − GELU | ${{ffn_variants.pair.swiglu_gelu.mean:+.3f}} \pm {{ffn_variants.pair.swiglu_gelu.error:.3f}}$ | {{ffn_variants.pair.swiglu_gelu.says}} |
# | GeGLU − SwiGLU | ${{ffn_variants.pair.geglu_swiglu.mean:+.3f}} \pm {{ffn_variants.pair.geglu_swiglu.error:.3f}}$ | {{ffn_variants.pair.geglu_swiglu.says}} |
#
# The other layers point the same way, although they were not in the plan. With the fresh seeds, the gated layer has the lower mean in {{ffn_variants.gate.lower}} of {{ffn_variants.gate.pairs}} pairs of a gated and a plain layer.

# %% [markdown] evidence="recorded: ffn_variants, control: learning rate"
# **Verdict: the learning rate can turn the order of two layers around.** At {{ffn_variants.slow.rate}}, the lowest rate ({{ffn_variants.choosing:word}} seeds), the mean loss is lower than GLU's in {{ffn_variants.slow.better_than_glu}} of the {{ffn_variants.slow.others}} other layers. When each layer has its best rate (the fresh seeds), it is lower in {{ffn_variants.slow.better_than_glu_at_best}} of them. A comparison at a single rate, such as yours, may therefore measure the rate and not the layer.

# %% [markdown]
# However, this is a small experiment, with {{ffn_variants.parameters:,}} parameters in the feed-forward layers, 400 steps and one text. For {{ffn_variants.at_edge:word}} of the layers, the best rate is at the edge of those tried. [Shazeer 2020](https://arxiv.org/abs/2002.05202) compared such layers in T5, where GeGLU and SwiGLU had the lowest perplexities. (Perplexity is $e^L$ for a loss of $L$ nats.)

# %% [markdown]
# ### Claim on trial
#
# > *"The value branch is not activated. With an activation it would lose its channel for passing information on directly: more like a double suppression, and not what GLU was designed for."*
#
# The third comparison of the plan tests this, because "both activated" does what the claim warns of.

# %%
compare("both activated", "SwiGLU")

# %% [markdown] evidence="recorded: ffn_variants, control: learning rate"
# **Verdict: activating the value seems to cost a little, but most of the gate's gain remains.** Both activated minus SwiGLU is ${{ffn_variants.pair.both_activated_swiglu.mean:+.3f}} \pm {{ffn_variants.pair.both_activated_swiglu.error:.3f}}$ nats per character. This is {{ffn_variants.pair.both_activated_swiglu.says}} by the limit for three comparisons, but not by that for all pairs of layers. The gap between SwiGLU and GELU is more than three times as large, so most of the gain does not need the channel. A loss cannot tell us what GLU's designers intended.

# %% [markdown]
# ## 11. Your own experiment
#
# Must a gate be a sigmoid or SiLU? It could also be, for example, tanh, your squared ReLU, or a function of your own. Nobody answers this for you, and nothing is graded. Try it in a small Transformer of two layers that reads Jane Austen's novels character by character. Only its feed-forward layer is yours.

# %%
from anatomy.experiments.growing import grow

for seed in (0, 1):
    plain = grow(seed=seed, make_ffn=lambda d: FeedForward(d, 4 * d, gelu))
    gated = grow(seed=seed, make_ffn=lambda d: GatedFeedForward(d, matched_width(d), torch.tanh))
    print(f"seed {seed}: {plain.loss:.3f} against {gated.loss:.3f} nats per character")

# %% [markdown]
# What would you change, and what do you expect? Write it down, run at least two seeds, and then write your answer in one sentence, with how sure you are. (In a fair comparison `gated.parameters` is close to `plain.parameters`, and `gated.say("It was", 80)` lets the model write.)

# %% [markdown] written="question"
# A report says: *SwiGLU beats GELU, loss 3.21 against 3.23, same $d_{model}$, same width $4\,d_{model}$, same learning rate, one seed.* What keeps this from being a fair comparison? Describe the experiment that you would run instead. When would you call its result a difference?
#
# - how many numbers each of the two layers can learn
# - what changes when the run is repeated, and how that becomes an error bar
# - how the learning rate is chosen, and on which runs
# - a rule for the decision, set before the runs

# %% [markdown] written="answer" points=4
# At the same width the gated layer has three matrices instead of two, so it has 50 % more parameters, and its width should be two thirds as large. One seed has no error bar, and one rate may suit one layer. In the unit, {{ffn_variants.slow.better_than_glu}} of the {{ffn_variants.slow.others}} other layers have a lower mean loss than GLU at {{ffn_variants.slow.rate}}, but {{ffn_variants.slow.better_than_glu_at_best}} when each has its best rate. I would choose each layer's rate with some seeds, train both with eight fresh seeds, and take the mean of the paired differences with its standard error. With one planned comparison and eight seeds, I would call it a difference beyond 2.4 standard errors (Student's t), with three beyond {{ffn_variants.limit:.1f}}.
#
# ### BEGIN MARK SCHEME
# - 1 point: unequal numbers of parameters, and the matched width ($\tfrac23$ of it, so $\tfrac83\,d_{model}$).
# - 1 point: several seeds, compared in pairs, with a standard error.
# - 1 point: a learning rate for each layer, chosen on other runs than those that are compared.
# - 1 point: a rule in units of the standard error that is set before the runs, for the comparisons that are planned.
# - No point: "train longer" or "take a larger model" alone.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap
#
# In this unit's model a gate helped at equal parameters, and paired seeds with a limit showed that this was more than luck.

# %%
quiz("Swish with β = 0 is…", {
    "the identity": (False, "The gate σ(0) is ½."),
    "x/2": (True, "A straight line: nothing bends any more."),
    "ReLU": (False, "That is the other end, β → ∞.")})

# %%
quiz("A checkpoint was trained with the tanh form of GELU and is run with the exact form. The outputs…", {
    "are equal": (False, "The forms differ by up to 0.0005 per unit."),
    "differ a little": (True, "In the recorded model the swap moves the loss by {{ffn_variants.swapped.tanh.mean:+.5f}} nats."),
    "are useless": (False, "Even 2/√π instead of √(2/π) moves the recorded loss by {{ffn_variants.swapped.wrong.mean:+.4f}} nats.")})

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
quiz("A ReLU unit gives 0 for 95 % of the tokens. It is…", {
    "dead": (False, "It learns from the other 5 %."),
    "alive": (True, "Dead means 0 for every token."),
    "broken": (False, "Being silent for most tokens is no fault.")})

# %%
progress("04-ffn-and-gating")

# %% [markdown]
# ## Where this lives in real models
#
# | layer | models |
# |---|---|
# | ReLU, width $4\,d_{model}$ | the original Transformer ([1706.03762](https://arxiv.org/abs/1706.03762)), OPT |
# | GELU | BERT, GPT-2 and GPT-3 ([1606.08415](https://arxiv.org/abs/1606.08415)) |
# | GeGLU | T5 v1.1, mT5, Gemma |
# | SwiGLU | PaLM, LLaMA ([2302.13971](https://arxiv.org/abs/2302.13971)), Mistral, Qwen; compared by [Shazeer 2020](https://arxiv.org/abs/2002.05202) |
# | squared ReLU | Primer ([2109.08668](https://arxiv.org/abs/2109.08668)), Nemotron-4 ([2402.16819](https://arxiv.org/abs/2402.16819)) |
#
# Neither attention nor this layer knows in which order the tokens come. The next unit, **05-position-encodings**, shows how a model is told.
