# %% [markdown]
# # Norm placement
#
# **You will be able to**
#
# - say why a layer adds its output to its input;
# - wire a Pre-LN stack, and the other wirings of real models;
# - measure gradients with hooks, and put their trend into a number;
# - say what warm-up is for, and which explanation survives a test;
# - decide claims about Post-LN and Pre-LN by experiment.
#
# **Prerequisites:** units 01 and 02; `nn.Module`, logarithms. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Three models of 12 layers are trained to name the token that was two positions back, all on the same data. Since there are 16 different tokens, a model that knows nothing has a loss of $\ln 16 = 2.773$ *nats*, the unit of a loss that is made with natural logarithms. Each model was trained for {{warmup.steps}} steps, with {{warmup.seeds}} random seeds or more, and the table shows its loss at the end.
#
# | model | median loss | from … to |
# |---|---|---|
# | A | {{warmup.post_none.median:.2f}} | {{warmup.post_none.min:.2f}} to {{warmup.post_none.max:.2f}} |
# | B: A with smaller steps at first | {{warmup.post_warm.median:.2f}} | {{warmup.post_warm.min:.2f}} to {{warmup.post_warm.max:.2f}} |
# | C: A with its norms elsewhere | {{warmup.pre_none.median:.3f}} | {{warmup.pre_none.min:.3f}} to {{warmup.pre_none.max:.3f}} |
#
# What is wrong with A, and why do two such different changes help?

# %% setup=true
import matplotlib.pyplot as plt
import torch
from anatomy import case, check, predict, progress, quiz, reveal
from anatomy.experiments import effective_depth, gradient_flow, named_models, residuals, show_large, warmup
from anatomy.experiments.wirings import INITS, FeedForward, SelfAttention, build
from anatomy.plots import described, use_style
from anatomy.widgets import GradientFlowExplorer
from torch import nn
from torch.nn import functional as F

use_style()

# %% [markdown]
# ## 1. Why add x?
#
# A Transformer is a stack of layers, and each layer has two *sublayers*, attention (unit 01) and a feed-forward layer, which is a small network applied to each token by itself (unit 04). We write $F$ for either of them. The output of a sublayer does not replace its input $x$ but is added to it, so that the next sublayer reads $x + F(x)$. What is this addition good for?

# %% [markdown]
# The addition is called a **residual connection**, because $F$ only has to provide the residue, the difference between output and input. The vector $x$ that runs through the whole stack, and to which every sublayer adds, is the *residual stream*, or *stream* for short. A sublayer sits on a *branch* of it, and a branch together with its addition is called a *step*.

# %% [markdown]
# ### Worked example: forward
#
# Suppose that $x = (1, 3)$, and that a sublayer is still weak, for example $F(x) = 0.1\,x$, which is $(0.1, 0.3)$. Without the addition, this is all that the next sublayer gets, and six such sublayers leave only $(0.000001, 0.000003)$ of the input. With the addition the first one passes on $(1.1, 3.3)$, where the input is still there, only a little changed.

# %% [markdown]
# ### Worked example: backward
#
# The gradient meets the same problem on its way back, since every step multiplies it by its slope. The slope of $F$ is 0.1, whereas that of $x + F(x)$ is 1.1, to which the added $x$ contributes the 1.
#
# | a step computes | its slope | slope of 24 steps |
# |---|---|---|
# | $F(x)$ | 0.1 | $0.1^{24} = 10^{-24}$ |
# | $x + F(x)$ | 1.1 | $1.1^{24} \approx 9.8$ |
#
# Without the added 1, the gradient that arrives at the first layer is practically 0, and this layer cannot learn.

# %%
def slope(step, steps=24):
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(steps):
        y = step(y)
    y.backward()
    return x.grad.item()

print(f"without x: {slope(lambda x: 0.1 * x):.0e}   with x: {slope(lambda x: x + 0.1 * x):.1f}")

# %% [markdown]
# The added 1 keeps the gradient from vanishing, but it bounds nothing. With slopes of 0.5, for example, the gradient would grow by a factor of $1.5^{24} \approx 17{,}000$. This is one reason why deep stacks have norms as well.

# %% [markdown]
# ### Claim on trial
#
# > *"Residual connections: to prevent overfitting."*
#
# So say the notes that this course is made from. An overfitted model does well on its training data but badly on new data. In the puzzle's task every batch is freshly drawn, so nothing *can* be overfitted. If the claim were right, leaving residual connections out would do no harm. The cell trains the puzzle's model with and without them (by Adam, at a constant rate of 0.001), with two layers and with six, always with a norm before the sublayer.

# %%
with_residual = lambda x, sublayer, norm: x + sublayer(norm(x))
no_residual = lambda x, sublayer, norm: sublayer(norm(x))
constant = lambda step: 1e-3
for depth in (2, 6):
    for name, step in (("with", with_residual), ("without", no_residual)):
        _, losses = warmup.train({"pre_ln": step}, "Pre-LN", depth, constant, steps=100)
        print(f"{depth} layers {name:8} residual: loss {sum(losses[-10:]) / 10:.2f} after 100 steps")

# %% [markdown]
# How much of the difference is due to the learning rate, and how much to the short training? The recorded runs have two rates and {{residuals.steps}} steps.

# %%
runs = residuals.recorded()
with described(residuals.words(runs)):
    peaks = sorted({r["peak"] for r in runs["rows"]})
    figure, panels = plt.subplots(1, len(peaks), figsize=(10, 3), sharey=True)
    for panel, peak in zip(panels, peaks, strict=True):
        for r in runs["rows"]:
            if r["peak"] == peak:
                x = range(runs["every"], runs["steps"] + 1, runs["every"])
                panel.semilogy(x, r["losses"], color=f"C{0 if r['residual'] else 1}", ls="-" if r["depth"] == 2 else "--",
                               lw=1, label=f"{r['depth']} layers, {'with' if r['residual'] else 'without'}"
                               if r["seed"] == 0 else None)
        panel.set(xlabel="step", title=f"rate {peak:g}, recorded ({runs['made']['device']})")
    panels[0].set_ylabel("loss")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=4, bbox_to_anchor=(0.5, -0.13))
show_large("residuals")

# %% [markdown] evidence="recorded: residuals, control: learning rate"
# **Verdict: no, residual connections are there to make deep stacks trainable.** A high loss on fresh batches is not overfitting but slow learning. Of the runs with six layers, {{residuals.with.d6.learned}} of {{residuals.with.d6.of}} get below a loss of 0.5 with residual connections, but {{residuals.without.d6.learned}} of {{residuals.without.d6.of}} without them, whereas two layers learn either way. In [He et al. 2015](https://arxiv.org/abs/1512.03385), too, deeper networks without residual connections had the higher *training* error, which overfitting would have lowered.

# %% [markdown]
# ## 2. Two places for one norm
#
# Residual connections keep a path open for the gradient, and norms set the size of the numbers again (unit 02). To combine the two, one has to choose a place for the norm. The original Transformer normalizes the sum (**Post-LN**), whereas GPT-2 normalizes what the sublayer reads (**Pre-LN**). This detail is what separates the puzzle's models A and C.

# %% [markdown]
# ### Worked example
#
# The stream is $(1, 3)$, and a toy sublayer squares each number. LayerNorm turns any two different numbers into $(-1, 1)$ or $(1, -1)$, since it subtracts their mean and divides by their standard deviation.
#
# | | sublayer reads | it gives | sum | result |
# |---|---|---|---|---|
# | Post-LN | $(1, 3)$ | $(1, 9)$ | $(2, 12)$ | $(-1, 1)$ |
# | Pre-LN | $(-1, 1)$ | $(1, 1)$ | $(2, 4)$ | $(2, 4)$ |

# %%
def layer_norm(x):
    return F.layer_norm(x, x.shape[-1:])

layer_norm(torch.tensor([[1.0, 3.0], [2.0, 12.0]]))

# %% [markdown]
# Follow each row from left to right, and say for every number which function made it, and from what. This gives one formula per row, which you write down first.

# %% [markdown] statement="placement.post_and_pre"
# Write the two rows of the table as functions `post_ln` and `pre_ln` of any stream, any sublayer and any norm. The arguments `sublayer` and `norm` are functions from $(B, T, d)$ to $(B, T, d)$ that you call, and the norm need not be LayerNorm. The result has the shape and dtype of `x`.

# %% exercise="placement.post_and_pre"
def post_ln(x, sublayer, norm):
    """Post-LN (arXiv:1706.03762). x (B, T, d); sublayer, norm: functions (B, T, d) → (B, T, d).

    The result has the shape and dtype of x.
    """
    ### BEGIN SOLUTION
    return norm(x + sublayer(x))
    ### END SOLUTION


def pre_ln(x, sublayer, norm):
    """Pre-LN (arXiv:2002.04745). Arguments and result as above."""
    ### BEGIN SOLUTION
    return x + sublayer(norm(x))
    ### END SOLUTION

# %% [markdown] hints="placement.post_and_pre"
# 1. Look at what the sublayer reads. In which row is it the stream as it is, and in which row has the norm come first?
# 2. Post-LN: call the sublayer on `x`, add `x`, normalize. Pre-LN: normalize `x`, call the sublayer, add the `x` that came in.
# 3. `return norm(x + …)` and `return x + sublayer(…)`.

# %% [markdown] worth="placement.post_and_pre"
# As formulas, Post-LN is norm(x + F(x)), and Pre-LN is x + F(norm(x)). The [Annotated Transformer](https://nlp.seas.harvard.edu/annotated-transformer/) runs Pre-LN although the paper has Post-LN. Its comment gives the reason, “for code simplicity”.

# %% [markdown]
# These are your two functions as pictures, drawn from what your code does to $x$. Read them from the bottom, where the stream, the thick line, comes in. In which picture does it reach the top without passing a norm?

# %%
from anatomy import drawings

drawings.side_by_side(drawings.wiring_of(post_ln), drawings.wiring_of(pre_ln))

# %%
predict("placement.p1", "In a stack of 24 sublayers each one gives 0. Which stack returns its input (1, 3) unchanged?",
        ["both", "only Post-LN", "only Pre-LN"])

# %%
def silent(step, x=(1.0, 3.0)):
    x = torch.tensor(x)
    for _ in range(24):
        x = step(x, torch.zeros_like, layer_norm)
    return [round(v, 3) for v in x.tolist()]

# %%
reveal("placement.p1",
       lambda: f"Post-LN {silent(post_ln)}, Pre-LN {silent(pre_ln)}",
       "Pre-LN has a path from input to output on which there is no norm. In Post-LN, however, every value passes "
       "through 24 norms, whatever the sublayers do.",
       answer="only Pre-LN")

# %% [markdown]
# ## 3. A whole block
#
# A layer, also called a *block*, takes two such steps. Attention comes first and collects something from other tokens, and the feed-forward layer comes second, so that it can work on what attention has collected. Each step has its own norm.

# %% [markdown]
# ### Worked example
#
# Start from $(1, 3)$ again, with squares in place of attention and a ReLU (negative numbers become 0) in place of the feed-forward layer.
#
# | step | stream before | norm gives | sublayer gives | stream after |
# |---|---|---|---|---|
# | "attention" | $(1, 3)$ | $(-1, 1)$ | $(1, 1)$ | $(2, 4)$ |
# | "feed-forward" | $(2, 4)$ | $(-1, 1)$ | $(0, 1)$ | $(2, 5)$ |

# %% [markdown] statement="placement.block"
# Finish the Pre-LN block, which takes these two steps in this order. Its norms are two `nn.LayerNorm(d_model)` named `attention_norm` and `ffn_norm`; weights are loaded by these names. `attention` and `ffn` are any functions or modules $(B, T, d) \to (B, T, d)$. The result has the dtype of `x`, and the tensor `x` itself is not changed.

# %% exercise="placement.block"
class PreLNBlock(nn.Module):
    """Pre-LN block (arXiv:2002.04745)."""

    def __init__(self, d_model, attention, ffn):
        super().__init__()
        self.attention, self.ffn = attention, ffn
        ### BEGIN SOLUTION
        self.attention_norm = nn.LayerNorm(d_model)
        self.ffn_norm = nn.LayerNorm(d_model)
        ### END SOLUTION

    def forward(self, x):
        """x (B, T, d_model) → (B, T, d_model)."""
        ### BEGIN SOLUTION
        x = pre_ln(x, self.attention, self.attention_norm)
        return pre_ln(x, self.ffn, self.ffn_norm)
        ### END SOLUTION

# %% [markdown] hints="placement.block"
# 1. You have written a step already. How many steps does a block take, and what does the second one start from?
# 2. Make both norms in the constructor. In `forward`, call `pre_ln` with the attention and its norm, keep the result, and call it again with the feed-forward part.
# 3. `x = pre_ln(x, self.attention, self.attention_norm)`, then `return pre_ln(x, …, …)`.

# %% [markdown] worth="placement.block"
# As formulas, the block is x′ = x + A(norm₁(x)), then x″ = x′ + F(norm₂(x′)). GPT-2's [report](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf) says in one sentence that the norm moved to the input of each sub-block, and that one more was added after the last block.

# %% [markdown]
# PyTorch's own layer has a flag for the wiring, `norm_first=True`. The cell gives it and your block the same weights, and shows the largest difference of their outputs.

# %%
torch.manual_seed(0)
theirs = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, norm_first=True)
mine = PreLNBlock(16, lambda h: theirs.self_attn(h, h, h, need_weights=False)[0],
                  lambda h: theirs.linear2(torch.relu(theirs.linear1(h))))
mine.attention_norm.load_state_dict(theirs.norm1.state_dict())
mine.ffn_norm.load_state_dict(theirs.norm2.state_dict())
x = torch.randn(2, 5, 16)
(mine(x) - theirs(x)).abs().max().item()

# %% [markdown]
# The two agree up to rounding. Here is that layer as a picture, with its sizes. Two branches leave the stream, and two sums bring them back. The shapes change inside a branch but never on the stream, because only tensors of equal shape can be added.

# %%
from anatomy.models import config

drawings.block(config(kind="encoder", d_model=16, n_heads=4, d_ff=32, norm="layer", activation="relu",
                      gated=False, position="none"))

# %% [markdown]
# ### The norm at the end
#
# In a Pre-LN stack, no norm has touched the stream that leaves the last block, so the stack ends with one more. It is called `ln_f` in GPT-2 and `norm` in LLaMA. In the worked example it turns the block's $(2, 5)$ into $(-1, 1)$.

# %% [markdown] statement="placement.final_norm"
# Write the whole stack. It has one `PreLNBlock` per pair `(attention, ffn)` in an `nn.ModuleList` named `blocks`, and after the last of them an `nn.LayerNorm(d_model)` named `final_norm`, which is all that remains if there is no pair. Weights are loaded by these names, and the dtype of `x` is kept.

# %% exercise="placement.final_norm"
class PreLNStack(nn.Module):
    """Pre-LN blocks and the norm that they need at their end. sublayers: list of pairs (attention, ffn)."""

    def __init__(self, d_model, sublayers):
        super().__init__()
        ### BEGIN SOLUTION
        self.blocks = nn.ModuleList(PreLNBlock(d_model, attention, ffn) for attention, ffn in sublayers)
        self.final_norm = nn.LayerNorm(d_model)
        ### END SOLUTION

    def forward(self, x):
        """x (B, T, d_model) → (B, T, d_model)."""
        ### BEGIN SOLUTION
        for block in self.blocks:
            x = block(x)
        return self.final_norm(x)
        ### END SOLUTION

# %% [markdown] hints="placement.final_norm"
# 1. How often is the last norm applied: once per block, or once per stack?
# 2. In the constructor make a block for each pair, and one norm. In `forward`, feed each block with what the one before gave; after the loop, normalize once.
# 3. `self.blocks = nn.ModuleList(PreLNBlock(d_model, attention, ffn) for attention, ffn in …)`; `for block in self.blocks: x = …`; `return self.final_norm(…)`.

# %% [markdown] worth="placement.final_norm"
# A Post-LN stack needs no such norm, since its last step already ends with one. A list of weights gives the wiring away. GPT-2's has an `ln_f` after the blocks, whereas BERT's encoder ends with the norm inside its last layer.

# %% [markdown]
# What is this norm for? Build fresh stacks of real blocks, and draw a random vector for each of 1,000 tokens. Its dot product with the stream is that token's *logit*, the score from which softmax makes a probability. Then leave the final norm out. The cell prints the stream's length over $\sqrt d$, how widely the logits spread, and the loss for arbitrary answers. (Xavier's rule is explained in section 4.)

# %%
def fresh_stack(depth, d=64):
    torch.manual_seed(0)
    stack = PreLNStack(d, [(SelfAttention(d), FeedForward(d)) for _ in range(depth)])
    for p in stack.parameters():
        if p.dim() == 2:
            nn.init.xavier_normal_(p)
    return stack, torch.randn(4, 16, d), torch.randn(1000, d) / d**0.5

with torch.no_grad():
    for depth in (6, 24, 96):
        stack, x, words = fresh_stack(depth)
        normed, stack.final_norm = stack(x), nn.Identity()
        for name, h in (("with", normed), ("without", stack(x))):
            logits = h @ words.T
            loss = F.cross_entropy(logits.flatten(0, 1), torch.arange(64))
            print(f"{depth:2} layers {name:8} length/√d {h.square().mean().sqrt():5.2f}   "
                  f"logits ± {logits.std():5.2f}   loss {loss:5.2f}")

# %% [markdown] evidence="exact"
# **Verdict: without its final norm a fresh stack is sure of random answers, and the deeper it is, the surer.** A fresh model should know nothing and have a loss near $\ln 1000 = 6.9$. Without the norm, however, the stream becomes about twice as long from 24 to 96 layers, and the logits grow with it, which raises the loss. With the norm all three numbers hardly depend on depth.

# %% [markdown]
# ## 4. Gradients on their way back
#
# Why should it matter whether a norm lies on the stream or on a branch? The gradient takes the same way back and meets the same norms. Write $J_F$ for the matrix of slopes (the Jacobian) of a sublayer, and $J_n$ for that of a norm. By the chain rule, the gradient that leaves a step is the one that arrives, times
#
# $$\text{Post-LN: } J_n\,(I + J_F) \qquad\qquad \text{Pre-LN: } I + J_F J_n$$

# %% [markdown]
# The $I$ is the added 1 of section 1. In Pre-LN no norm touches it, whereas in Post-LN it is multiplied by $J_n$. A Post-LN stack of 96 layers multiplies 192 such factors, two per layer, so the gradient *could* vanish or explode. Whether it does is a question for a measurement.

# %% [markdown]
# ### Worked example: a hook
#
# A gradient in the middle of a network can be measured by a **hook**, a function that is registered on a tensor, and that autograd calls in the backward pass with the tensor's gradient as the argument. For example, let $y = x^2$ at $x = 3$, and $z = 5y$. Then the gradient of $y$ is 5, and that of $x$ is $5 \cdot 2 \cdot 3 = 30$.

# %%
seen = []
x = torch.tensor(3.0, requires_grad=True)
y = x.square()
x.register_hook(lambda g: seen.append(("x", g.item())))
y.register_hook(lambda g: seen.append(("y", g.item())))
(5 * y).backward()
seen

# %% [markdown]
# When `backward` runs, $y$ comes first, since gradients are computed from the end on.

# %% [markdown] statement="placement.hooks"
# Run `x` through the layers and register a hook on **the output of each layer**. Return the result and a list with one entry per layer, the first layer first.
#
# The hooks fill this list when somebody calls `backward` on the result. After that, entry $i$ is the length of the gradient of layer $i$'s output (the root of the sum of the squares of all its entries) as a float. The gradients themselves stay as they are. The first and the last line are given.

# %% exercise="placement.hooks"
def watch(layers, x):
    """Runs x through layers and listens to the gradients that come back.

    Args:
        layers: list of functions (B, T, d) → (B, T, d). x: tensor that requires a gradient.

    Returns:
        (result, norms): norms has len(layers) entries, which the backward pass fills.
    """
    norms = [None] * len(layers)
    ### BEGIN SOLUTION
    for i, layer in enumerate(layers):
        x = layer(x)

        def hook(gradient, i=i):
            norms[i] = gradient.norm().item()

        x.register_hook(hook)
    ### END SOLUTION
    return x, norms

# %% [markdown] hints="placement.hooks"
# 1. Which entry should a hook write to, and does it still know that when it runs, long after the loop?
# 2. In the loop: `x = layer(x)`, define a function of the gradient that writes to `norms[i]`, register it on the new `x`. Bind the present `i` with a default argument. Return nothing from the hook.
# 3. `def hook(gradient, i=i): norms[i] = …` and then `x.register_hook(…)`, both inside `for i, layer in enumerate(layers)`.

# %% [markdown] worth="placement.hooks"
# A hook that returns a tensor replaces the gradient for everything earlier. For example, `lambda g: -g` reverses it, which is how networks learn features that don't tell which dataset an example came from ([Ganin et al. 2015](https://arxiv.org/abs/1505.07818)).

# %% [markdown]
# ### How weights are drawn
#
# The *initialization* (the rule that draws the first weights) decides by which factor a layer enlarges what passes through it. An output of a matrix is a sum over $d_{in}$ inputs, so its variance is $d_{in}$ times that of a weight, for inputs of variance 1. Two rules choose the weights so that the output is about as large as the input.

# %% [markdown]
# | rule | standard deviation of a weight | reason |
# |---|---|---|
# | Xavier | $\sqrt{2/(d_{in} + d_{out})}$ | a compromise between the variance $1/d_{in}$ for the way forward and $1/d_{out}$ for the way back |
# | He | $\sqrt{2/d_{in}}$ | twice the variance $1/d_{in}$, since a ReLU sets half of the inputs to 0 |
#
# ### See it
#
# How large is the gradient at each layer's output? The stack has 24 layers of real attention and feed-forward, $d = 64$, weights by Xavier's rule, and no training. The loss is the mean squared distance to a random target.

# %%
steps = {"post_ln": post_ln, "pre_ln": pre_ln}

def arriving(name, depth=24, d_model=64):
    layers = build(steps, name, depth, d_model)
    x, target = gradient_flow.batch(d_model)
    out, norms = watch(layers, x.requires_grad_())
    F.mse_loss(out, target).backward()
    return norms[:depth]

# %%
with described("Gradient norm that arrives at the output of each of 24 layers: Post-LN stays between 0.013 and 0.03 and "
               "jumps to 0.06 at the last; Pre-LN falls from 0.026 at the first layer to 0.008 at the last."):
    for name in ("Post-LN", "Pre-LN"):
        plt.plot(range(1, 25), arriving(name), label=name)
    plt.xlabel("layer"), plt.ylabel("gradient norm"), plt.ylim(0), plt.legend()

# %% [markdown]
# Neither gradient vanishes or explodes, and Pre-LN's is largest at the first layer. Post-LN's last point is the gradient of the loss itself, since nothing lies between that layer and the loss.
#
# From here on we look at what an optimizer uses, which is the gradient of each layer's **weight matrices**. The function `gradient_flow.curve` measures its norm in a fresh stack that is wired by your functions.

# %%
predict("placement.p2", "Look at the LAST layer's weights in stacks of 6, 24 and 96 layers. In Pre-LN their gradient norm…",
        ["stays the same", "halves each time", "grows", "falls below a thousandth"])

# %%
depths = [6, 24, 96]
flow = {name: [gradient_flow.curve(steps, name, depth, 64) for depth in depths] for name in ("Post-LN", "Pre-LN")}
last = {name: [c[-1] for c in curves] for name, curves in flow.items()}

# %%
reveal("placement.p2",
       lambda: ", ".join(f"{v:.3f}" for v in last["Pre-LN"]),
       "Four times as many layers have half the gradient, so it falls as 1/√depth.",
       answer="halves each time")

# %% [markdown]
# Such a trend can be put into a number. If a quantity is $c \cdot N^p$, its logarithm is $\ln c + p \ln N$, a straight line with the slope $p$. For measurements, which lie only near a line, we take the slope of the line that fits best. With $X_i = \ln N_i$, and $Y_i$ the logarithm of the norm, it is
#
# $$p = \frac{\sum_i (X_i - \bar X)(Y_i - \bar Y)}{\sum_i (X_i - \bar X)^2}$$
#
# For example, the norms 1, 0.5 and 0.25 at depths 4, 16 and 64 give $p = \ln 0.5 / \ln 4 = -0.5$.

# %% [markdown] statement="placement.trend"
# Write `exponent`, which returns the slope $p$ as a float, and `trend`, which returns `"falls"` where $p < -0.25$, `"rises"` where $p > 0.25$, and `"flat"` in between.

# %% exercise="placement.trend"
def exponent(depths, norms):
    """Slope of ln(norm) against ln(depth) by least squares, from two lists of positive numbers."""
    ### BEGIN SOLUTION
    x, y = torch.tensor(depths).double().log(), torch.tensor(norms).double().log()
    x, y = x - x.mean(), y - y.mean()
    return (x @ y / (x @ x)).item()
    ### END SOLUTION


def trend(depths, norms):
    """'falls', 'flat' or 'rises'."""
    ### BEGIN SOLUTION
    p = exponent(depths, norms)
    return "falls" if p < -0.25 else "rises" if p > 0.25 else "flat"
    ### END SOLUTION

# %% [markdown] hints="placement.trend"
# 1. Which of the two lists gets a logarithm? (Look at the formula again: $X$ and $Y$.)
# 2. Make two tensors, take `.log()`, subtract each one's mean. The numerator is their dot product, the denominator that of `x` with itself. `trend` only compares the slope with two limits.
# 3. `x = torch.tensor(depths).double().log()`, likewise `y`; `x, y = x - x.mean(), …`; `return (x @ y / (…)).item()`.

# %% [markdown] worth="placement.trend"
# In logarithms an error of 10 % counts the same at 0.001 and at 1000. One of Chinchilla's scaling laws was fitted to logarithms too, although with a Huber loss instead of squares ([Hoffmann et al. 2022](https://arxiv.org/abs/2203.15556)).

# %%
for name, norms in last.items():
    first = [c[0] for c in flow[name]]
    print(f"{name}: last layer {trend(depths, norms)} ({exponent(depths, norms):+.2f}), "
          f"first layer {trend(depths, first)} ({exponent(depths, first):+.2f})")

# %% [markdown]
# ### Why 1/√depth?
#
# Post-LN's last layer is flat, whereas Pre-LN's exponent is near −0.5, which means $1/\sqrt N$ for $N$ layers. Each Pre-LN layer *adds* about as much as the others, and nothing is ever scaled down. Since the additions point in different directions, the stream grows like a random walk, as $\sqrt N$. You saw this when you left the final norm out. The final norm divides by this length, and therefore it divides the gradient on its way back, too.

# %%
lengths = [effective_depth.fresh_streams(steps, "Pre-LN", n)[-1].square().mean().sqrt().item() for n in depths]
print([round(v, 1) for v in lengths], trend(depths, lengths), round(exponent(depths, lengths), 2))

# %% [markdown]
# ### Claim on trial
#
# > *"In deep Post-LN the gradient vanishes or explodes."*
# >
# > *"Post-norm: the gradient norm of deep layers grows, which makes it unstable; warm-up helps. Pre-norm: the gradient norm is about equal in all layers."*
# >
# > *"Pre-LN's gradients are often larger at the bottom than at the top."*
#
# Before you decide, change the initialization, the width and the depth in the first line, and compare the first layer (the bottom) with the last. Here `"normal 0.02"` draws all weights with a standard deviation of 0.02, and `"twice Xavier"` doubles Xavier's.

# %%
init, d_model, depth = "Xavier", 64, 48   # try "normal 0.02", "He", "twice Xavier"; 32 … 128; 6 … 96
for name in ("Post-LN", "Pre-LN"):
    c = gradient_flow.curve(steps, name, depth, d_model, init)
    print(f"{name:8} first {c[0]:.4f}   middle {c[depth // 2]:.4f}   last {c[-1]:.4f}   first/last {c[0] / c[-1]:.2f}")

# %% [markdown]
# Now look at all four initializations, recorded with {{gradient_flow.seeds:word}} seeds. The table shows the gradient of the first layer divided by that of the last, at 96 layers, from the smallest to the largest seed. The figure draws some of these stacks layer by layer.

# %%
data = gradient_flow.recorded()

def first_to_last(name, init, width, depth=96):
    return [c[0] / c[-1] for c in data["inits"][name][init][width][depth]]

columns = [(name, width) for name in ("Post-LN", "Pre-LN") for width in (32, 128)]
print(f"{'first/last':14}" + "".join(f"{f'{name}, d = {width}':>20}" for name, width in columns))
for init in INITS:
    cells = [first_to_last(name, init, width) for name, width in columns]
    print(f"{init:14}" + "".join(f"{f'{min(c):.2g} … {max(c):.2g}':>20}" for c in cells))

# %%
spans = {(name, init): [f"{v:.2g}" for v in sorted(first_to_last(name, init, 32))]
         for name in ("Post-LN", "Pre-LN") for init in ("Xavier", "He")}
told = "; ".join(f"{name}, {init}: {', '.join(v)}" for (name, init), v in spans.items())
with described("Gradient norm per layer in 96 layers of width 32. First over last, by seed: {told}", told=told):
    figure, panels = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
    for panel, init in zip(panels, ("Xavier", "He"), strict=True):
        for i, name in enumerate(("Post-LN", "Pre-LN")):
            for seed, c in enumerate(data["inits"][name][init][32][96]):
                panel.semilogy(range(1, 97), c, color=f"C{i}", ls=("-", "--")[i], lw=1, label=None if seed else name)
        panel.set(xlabel="layer", title=f"{init}, d = 32, recorded ({data['made']['device']})")
    panels[0].set_ylabel("gradient norm"), panels[1].legend(loc="lower right")
show_large("gradient_flow")

# %% [markdown] evidence="recorded: gradient_flow, control: initialization"
# **Verdict: the first two sentences hold only for some initializations and widths, whereas the third, which says only “often”, holds here except for very small weights.**
#
# | weights of 96 layers | the first layer's gradient |
# |---|---|
# | Post-LN, width 32, He | {{gradient_flow.post_he_32.least:,.0f}} to {{gradient_flow.post_he_32.most:,.0f}} times smaller than the last layer's |
# | Post-LN, width 128, any rule | at most {{gradient_flow.post_wide.most:.0f}} times smaller |
# | Pre-LN, Xavier | {{gradient_flow.pre_xavier.least:.0f}} to {{gradient_flow.pre_xavier.most:.0f}} times larger |
#
# In a narrow stack with large weights (He's rule, twice Xavier's, and at one seed Xavier's), Post-LN's gradient vanishes on its way to the input, but hardly in a wide one. It never explodes, and its size at the last layer hardly changes with depth. Pre-LN's is larger at the bottom, although with weights as small as 0.02 all layers get about the same.

# %% [markdown]
# What does hold with Xavier's rule is that before training the top layers of Post-LN get *large* gradients. At width 128, for example, the last of 96 layers gets {{gradient_flow.last_post_over_pre:.0f}} times the gradient that it gets in Pre-LN, and more layers do not reduce it. [Xiong et al. 2020](https://arxiv.org/abs/2002.04745) proved this, and took it for the reason why Post-LN has to begin with small steps. Section 8 puts that reason to a test.

# %% [markdown]
# ### Claim on trial
#
# > *"In Post-LN the residual path is wrapped in LayerNorm's Jacobian, which depends on batch statistics (mean, variance) and fluctuates."*
#
# Unit 02 tested a norm alone. In a whole step, does the gradient of sentence 0 change with sentence 1 of the same batch? The cell prints the largest change, for LayerNorm and, as a control, for BatchNorm.

# %%
torch.manual_seed(0)
x, direction = torch.randn(2, 3, 8), torch.randn(2, 3, 8)

def slope_of_first(norm, x):
    x = x.clone().requires_grad_()
    post_ln(x, torch.sin, norm).backward(direction)
    return x.grad[0]

other = torch.stack([x[0], 100 * torch.randn(3, 8)])
batch_norm = lambda x: F.batch_norm(x.flatten(0, 1), None, None, training=True).view_as(x)
for name, norm in (("LayerNorm", layer_norm), ("BatchNorm", batch_norm)):
    print(f"{name}: {(slope_of_first(norm, x) - slope_of_first(norm, other)).abs().max():.2f}")

# %% [markdown] evidence="exact"
# **Verdict: no, LayerNorm uses no statistics of the batch.** Its Jacobian depends on the token's own numbers alone. In BatchNorm, however, one sentence does change the gradient of another.

# %% [markdown]
# ## 5. A norm on the branch
#
# Pre-LN's stream grows with depth, because nothing bounds what a sublayer adds. Post-LN bounds the stream, but only by a norm on it. Two wirings, *sandwich* and *norm inside*, have both a bounded addition and a stream that no norm touches.

# %% [markdown]
# ### Worked example
#
# The stream is $(1, 3)$ in both rows. The sandwich has a ReLU as its sublayer and two norms, LayerNorm and then RMSNorm. The mean square of $(0, 1)$ is $0.5$, so RMSNorm divides by $\sqrt{0.5} = 0.707$. In the other row the sublayer squares, and its norm is LayerNorm.
#
# | | sublayer reads | it gives | normalized | result |
# |---|---|---|---|---|
# | sandwich | $(-1, 1)$ | $(0, 1)$ | $(0, 1.414)$ | $(1, 4.414)$ |
# | norm inside | $(1, 3)$ | $(1, 9)$ | $(-1, 1)$ | $(0, 4)$ |

# %% [markdown] statement="placement.variants"
# Write both rows as functions of any stream, sublayer and norms. In `sandwich` the two norms are different functions, `norm_in` before the sublayer and `norm_out` after it; `norm_inside` has one norm. The result has the shape and dtype of `x`.

# %% exercise="placement.variants"
def sandwich(x, sublayer, norm_in, norm_out):
    """Norms before and after the sublayer (arXiv:2105.13290; arXiv:2408.00118), (B, T, d) → (B, T, d)."""
    ### BEGIN SOLUTION
    return x + norm_out(sublayer(norm_in(x)))
    ### END SOLUTION


def norm_inside(x, sublayer, norm):
    """Norm on the sublayer's output, inside the residual (arXiv:2501.00656), (B, T, d) → (B, T, d)."""
    ### BEGIN SOLUTION
    return x + norm(sublayer(x))
    ### END SOLUTION

# %% [markdown] hints="placement.variants"
# 1. Both begin like Pre-LN, with the bare $x$ and a plus. What comes after the plus?
# 2. `sandwich`: `norm_in`, then the sublayer, then `norm_out`, then add `x`. `norm_inside`: the sublayer, then the norm, then add `x`.
# 3. `return x + norm_out(sublayer(…))` and `return x + norm(…)`.

# %% [markdown] worth="placement.variants"
# As formulas, they are x + norm_out(F(norm_in(x))) and x + norm(F(x)). In vision, Swin Transformer V2 has the norm inside, because activations had grown with depth in its larger Pre-LN models, and calls it res-post-norm ([Liu et al. 2021](https://arxiv.org/abs/2111.09883)).

# %% [markdown]
# The sandwich comes from CogView (2021). Gemma 2 and 3 use the same wiring with RMSNorm, which this unit calls *pre+post*. (Their reports call theirs *pre-norm and post-norm*.) OLMo 2 keeps only the norm after each sublayer (an RMSNorm, too), so that its sublayers read the raw stream.

# %%
predict("placement.p3", "Set the last matrix of each sublayer to 0. In which wirings does the block return its input?",
        ["in all of them", "where the norm is not on the stream", "only in Pre-LN"])

# %%
steps |= {"sandwich": sandwich, "norm_inside": norm_inside}

def zeroed(name):
    block, x = build(steps, name, 1, 32)[0], torch.randn(2, 5, 32) * 3
    for p in (block.attention.o_proj, block.ffn.down_proj):
        nn.init.zeros_(p.weight)
    return (block(x) - x).abs().max().item()

# %%
reveal("placement.p3",
       lambda: ", ".join(f"{n}: {zeroed(n):.1g}" for n in (
    "Post-LN", "Pre-LN", "sandwich", "pre+post", "norm inside")),
    "A branch that gives 0 leaves the stream alone, and only a norm on the stream still changes it. "
    "Four of the five can therefore start by doing nothing, and learn from there.",
    answer="where the norm is not on the stream")

# %% [markdown]
# ### Your wirings, live
#
# Stacks of width 32 with 6 and 12 layers are measured with **your** functions. Wider and deeper ones were recorded on the CPU, and so were the wirings of the extensions below. Change the number of layers; “Curves” shows the last layer against depth, and “All 7 wirings” the others. In which one does the last layer's gradient not fall with depth?

# %%
GradientFlowExplorer({"post_ln": post_ln, "pre_ln": pre_ln, "sandwich": sandwich, "norm_inside": norm_inside})

# %% [markdown]
# ## 6. Extension: DeepNorm
#
# Can Post-LN be made stable without moving its norm? DeepNorm keeps Post-LN's wiring, but it makes the stream heavier by $\alpha > 1$ and the initial weights smaller by $\beta < 1$, so that one sublayer changes the stream only a little.
#
# $$x \leftarrow \operatorname{norm}\big(\alpha x + F(x)\big), \qquad \alpha = (2N)^{1/4}, \quad \beta = (8N)^{-1/4}$$
#
# This is for $N$ layers of an encoder or a decoder alone. For example, $N = 8$ gives $\alpha = 16^{1/4} = 2$ and $\beta = 64^{-1/4} = 0.354$.

# %% [markdown]
# An encoder of $N$ layers *with* a decoder of $M$ layers needs two pairs.
#
# | | $\alpha$ | $\beta$ |
# |---|---|---|
# | encoder | $0.81\,(N^4 M)^{1/16}$ | $0.87\,(N^4 M)^{-1/16}$ |
# | decoder | $(3M)^{1/4}$ | $(12M)^{-1/4}$ |
#
# Each of the decoder's layers has a third sublayer, the cross-attention that reads the encoder, which is why 3 and 12 replace 2 and 8.

# %% [markdown] statement="placement.deepnorm"
# Write the wiring, whose result has the dtype of `x`, and the two functions for the scales. A pair is a tuple $(\alpha, \beta)$, and the last function returns the encoder's pair, then the decoder's. A depth below 1 raises a `ValueError`.

# %% exercise="placement.deepnorm"
def deepnorm(x, sublayer, norm, alpha):
    """DeepNorm's step (arXiv:2203.00555), (B, T, d) → (B, T, d). alpha: float."""
    ### BEGIN SOLUTION
    return norm(alpha * x + sublayer(x))
    ### END SOLUTION


def deepnorm_scale(n_layers):
    """(α, β) of an encoder or decoder on its own."""
    ### BEGIN SOLUTION
    if n_layers < 1:
        raise ValueError(f"a stack of {n_layers} layers has no scale")
    return (2 * n_layers) ** 0.25, (8 * n_layers) ** -0.25
    ### END SOLUTION


def deepnorm_scale_encoder_decoder(n_encoder, n_decoder):
    """((α, β) of the encoder, (α, β) of the decoder)."""
    ### BEGIN SOLUTION
    if n_encoder < 1 or n_decoder < 1:
        raise ValueError(f"stacks of {n_encoder} and {n_decoder} layers have no scale")
    root = (n_encoder**4 * n_decoder) ** (1 / 16)
    return (0.81 * root, 0.87 / root), ((3 * n_decoder) ** 0.25, (12 * n_decoder) ** -0.25)
    ### END SOLUTION

# %% [markdown] hints="placement.deepnorm"
# 1. The step is Post-LN with one factor. Which of the two things that are added up gets it?
# 2. Roots are powers: `(2 * n_layers) ** 0.25`, and a minus in the exponent for β. Check the depths first.
# 3. `return norm(alpha * x + …)`; `return (2 * n_layers) ** 0.25, (8 * n_layers) ** …`; with `root = (n_encoder**4 * n_decoder) ** (1 / 16)` the encoder's pair is `(0.81 * root, 0.87 / root)`.

# %% [markdown] worth="placement.deepnorm"
# Since LayerNorm ignores a common factor, norm(αx + F(x)) equals norm(x + F(x)/α), apart from ε. A heavier stream is therefore the same as a weaker sublayer.

# %% [markdown]
# ### Which weights start smaller?
#
# $\beta$ is there to keep $F(x)$ small. What reaches the stream passes through `v_proj` and `o_proj`, or through the feed-forward layer, so smaller weights there make it smaller. Queries and keys only choose the mixture, and an average of values is never longer than the longest value, however large the scores are. Their matrices keep the *gain* 1 (a factor on Xavier's standard deviation).

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 6, 8)
longest = lambda t: t.norm(dim=-1).max().item()
attend = F.scaled_dot_product_attention
print(f"longest value {longest(v):.2f}; longest output: as it is {longest(attend(q, k, v)):.2f}, with 10 times the queries "
      f"and keys {longest(attend(10 * q, 10 * k, v)):.2f}, with 10 times the values {longest(attend(q, k, 10 * v)):.2f}")

# %% [markdown] statement="placement.deepnorm_init"
# From a list of parameter names make a dictionary with the gain of each weight **matrix**. It is 1 for `q_proj` and `k_proj`, and β for all the others. Matrices are the names that end in `_proj.weight`; leave norms and biases out.

# %% exercise="placement.deepnorm_init"
def deepnorm_gains(names, beta):
    """dict parameter name → Xavier gain, e.g. {"attention.q_proj.weight": 1.0}. names: list of str; beta: float."""
    ### BEGIN SOLUTION
    gains = {}
    for name in names:
        if name.endswith("_proj.weight"):
            gains[name] = 1.0 if "q_proj" in name or "k_proj" in name else beta
    return gains
    ### END SOLUTION

# %% [markdown] hints="placement.deepnorm_init"
# 1. Two questions about each name: is it a matrix at all, and does it decide *where* or *how much*?
# 2. Loop over the names; skip those that do not end in `_proj.weight`; look for `q_proj` or `k_proj` in the others.
# 3. `if name.endswith("_proj.weight"): gains[name] = 1.0 if "q_proj" in name or … else …`.

# %% [markdown] worth="placement.deepnorm_init"
# GPT-2 starts small as well, although it is Pre-LN. The weights of its residual layers are scaled by 1/√N, where N is the number of residual layers ([its report](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf), section 2.3). Hugging Face counts two of them per block.

# %% [markdown]
# ### See it: the first step
#
# To see what the smaller weights change, train fresh models of the puzzle's kind for a single step of Adam, at rate 0.001. The cell prints how far the stack's output moves, relative to its length.

# %%
steps["deepnorm"] = deepnorm
for name in ("Post-LN", "Pre-LN", "DeepNorm"):
    moved = [warmup.first_step(steps, name, n, scale=deepnorm_scale(n) if name == "DeepNorm" else None)[1]
             for n in (6, 12, 24, 48)]
    print(f"{name:9}", "   ".join(f"{n} layers {v:.2f}" for n, v in zip((6, 12, 24, 48), moved, strict=True)))

# %% [markdown]
# DeepNorm was built to bound exactly this movement, and [Wang et al. 2022](https://arxiv.org/abs/2203.00555) trained 1,000 layers with it. At 12 layers, the mean of {{warmup.first_seeds:word}} recorded seeds is {{warmup.first.post.n12.moved:.2f}} in Post-LN, {{warmup.first.pre.n12.moved:.2f}} in Pre-LN and {{warmup.first.deep.n12.moved:.2f}} in DeepNorm. Section 8 shows why the movement matters.

# %% [markdown]
# ## 7. Extension: both sublayers at once
#
# Does the feed-forward layer have to wait for attention? In GPT-J and PaLM both read the *same* normalized input, and both outputs are added.
#
# $$h = \operatorname{norm}(x), \qquad x \leftarrow x + A(h) + F(h)$$
#
# The matrices are those of the sequential block, and one norm is saved. The gain is speed, since queries, keys, values and the feed-forward layer's first matrix (`up`) read the same $h$, so that one large product can replace four.

# %% [markdown]
# ### Worked example: stacked matrices
#
# If $y = hA^\top$ and $z = hB^\top$ read the same $h$, then one product with $A$ above $B$ gives both results, side by side. If $y = aA^\top + bB^\top$ is a sum, then one product of $(a, b)$ with $A$ next to $B$ gives $y$. The cell prints the largest difference, first for the shared input and then for the sum.

# %%
h, A, B = torch.randn(1, 2), torch.randn(2, 2), torch.randn(3, 2)
print((h @ torch.cat([A, B]).T - torch.cat([h @ A.T, h @ B.T], dim=-1)).abs().max())
a, b, C, D = torch.randn(1, 2), torch.randn(1, 3), torch.randn(2, 2), torch.randn(2, 3)
print((torch.cat([a, b], dim=-1) @ torch.cat([C, D], dim=1).T - (a @ C.T + b @ D.T)).abs().max())

# %% [markdown] statement="placement.parallel"
# Write the parallel step and `fuse`, whose results keep the dtype. The six matrices of a block are stored like `nn.Linear`'s, as (out, in). From them `fuse` makes `w_in` $(3d + d_{ff},\ d)$, in the order q, k, v, up, and `w_out` $(d,\ d + d_{ff})$, in the order o, down.

# %% exercise="placement.parallel"
def parallel(x, attention, ffn, norm):
    """Parallel block (arXiv:2204.02311), (B, T, d) → (B, T, d)."""
    ### BEGIN SOLUTION
    h = norm(x)
    return x + attention(h) + ffn(h)
    ### END SOLUTION


def fuse(w_q, w_k, w_v, w_up, w_o, w_down):
    """w_q, w_k, w_v, w_o (d, d); w_up (d_ff, d); w_down (d, d_ff) → (w_in, w_out)."""
    ### BEGIN SOLUTION
    return torch.cat([w_q, w_k, w_v, w_up]), torch.cat([w_o, w_down], dim=1)
    ### END SOLUTION

# %% [markdown] hints="placement.parallel"
# 1. Which matrices share an input, and which share an output? The example shows one of each.
# 2. Normalize once and keep $h$. For `fuse`: matrices with a common input are put below each other (`torch.cat` along axis 0), whereas those whose outputs are added are put side by side (`dim=1`).
# 3. `h = norm(x)`, `return x + attention(h) + …`; `return torch.cat([w_q, w_k, w_v, w_up]), torch.cat([w_o, …], dim=…)`.

# %% [markdown] worth="placement.parallel"
# PaLM's authors saw a small loss of quality at 8B parameters but none at 62B, and by extrapolation expected none at 540B ([Chowdhery et al. 2022](https://arxiv.org/abs/2204.02311)).

# %% [markdown]
# ### See it: six products, or two
#
# Take one head with $d = 64$ and $d_{ff} = 256$, and compute the block in both ways.

# %%
torch.manual_seed(0)
d, d_ff = 64, 256
shapes = [(d, d)] * 3 + [(d_ff, d), (d, d), (d, d_ff)]
w_q, w_k, w_v, w_up, w_o, w_down = weights = [torch.randn(s) / 8 for s in shapes]

def six(x):
    attend = lambda h: F.scaled_dot_product_attention(h @ w_q.T, h @ w_k.T, h @ w_v.T) @ w_o.T
    return parallel(x, attend, lambda h: torch.relu(h @ w_up.T) @ w_down.T, layer_norm)

def two(x):
    w_in, w_out = fuse(*weights)
    q, k, v, up = (layer_norm(x) @ w_in.T).split([d, d, d, d_ff], dim=-1)
    return x + torch.cat([F.scaled_dot_product_attention(q, k, v), torch.relu(up)], dim=-1) @ w_out.T

x = torch.randn(2, 10, d)
(six(x) - two(x)).abs().max()

# %% [markdown]
# Both ways give the same numbers up to rounding and need the same FLOPs, but a few large products keep an accelerator busier than many small ones. PaLM's authors report about 15 % faster training at large scale ([Chowdhery et al. 2022](https://arxiv.org/abs/2204.02311)).

# %% [markdown]
# ### All seven wirings, live
#
# Here is the explorer again, with your DeepNorm and your parallel block. Compare the last layer of Post-LN with that of DeepNorm. Their norms are in the same place, so the difference is due to $\alpha$ and $\beta$, and $\beta/\alpha = 1/(2\sqrt N)$ falls with depth.

# %%
GradientFlowExplorer({"post_ln": post_ln, "pre_ln": pre_ln, "sandwich": sandwich, "norm_inside": norm_inside,
                      "deepnorm": deepnorm, "parallel": parallel})

# %% [markdown]
# ## 8. Warm-up
#
# Now we can return to the puzzle. Model A is Post-LN, C is Pre-LN, and B is A with a **warm-up**, which starts with a small learning rate and raises it linearly. Suppose that the rate is to reach a peak of 0.8 in 4 steps.
#
# | step | 0 | 1 | 2 | 3 | 4 | 5 |
# |---|---|---|---|---|---|---|
# | rate | 0.2 | 0.4 | 0.6 | 0.8 | 0.8 | 0.8 |

# %% [markdown] statement="placement.warmup"
# Write the learning rate of a step, as a float. Steps count from 0, and the rate stays at `peak` after the warm-up, which takes `warmup` steps. With `warmup = 0` it is `peak` from the start.

# %% exercise="placement.warmup"
def warmup_rate(step, peak, warmup):
    """Linear warm-up, then constant. step, warmup: int ≥ 0; peak: float."""
    ### BEGIN SOLUTION
    if step + 1 >= warmup:
        return peak
    return peak * (step + 1) / warmup
    ### END SOLUTION

# %% [markdown] hints="placement.warmup"
# 1. The ramp has `warmup` equal steps, and step 0 is the first. Which share of the peak does it get?
# 2. Two cases: on the ramp the rate is `peak` times `(step + 1) / warmup`; from the last step of the ramp on it is `peak`. Decide the case first, and nothing is ever divided by 0.
# 3. `if step + 1 >= warmup: return peak`, else `return peak * …`.

# %% [markdown] worth="placement.warmup"
# After 4,000 steps of warm-up, the rate of the original Transformer falls as 1/√step. [GPT-3](https://arxiv.org/abs/2005.14165) and [LLaMA](https://arxiv.org/abs/2302.13971), however, let it fall along a cosine, to a tenth of the peak.

# %% [markdown]
# ### Experiment: who needs it?
#
# Train the puzzle's three models again with **your** functions, but with 8 layers ($d = 32$) and for 150 steps of Adam at a peak rate of 0.003. B's warm-up takes 50 of them.

# %%
def learn(name, stairs, steps_taken=150):
    rate = lambda step: warmup_rate(step, peak=3e-3, warmup=stairs)
    return warmup.smooth(warmup.train(steps, name, 8, rate, steps_taken)[1])

runs = {"Post-LN": learn("Post-LN", 0)}

# %%
runs["Post-LN, warm-up"] = learn("Post-LN", 50)

# %%
runs["Pre-LN"] = learn("Pre-LN", 0)
print({name: round(losses[-1], 2) for name, losses in runs.items()})

# %% [markdown]
# A training that is about to break amplifies the last bit of every sum, so your first number depends on your processor. The text therefore speaks of the recorded models of 12 layers, which are drawn next to yours.

# %%
long = warmup.recorded()
def recorded_runs(name, peak, stairs, factor=1):
    key = (name, peak, stairs, factor)
    return [r["losses"] for r in long["rows"] if (r["wiring"], r["peak"], r["warmup"], r["factor"]) == key]

with described("Loss against steps, yours at 8 layers and recorded at 12. {told}", told=warmup.words(long)):
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
    for i, (name, losses) in enumerate(runs.items()):
        panels[0].plot(range(10, 151, 10), losses, color=f"C{i}", label=name)
        for row in recorded_runs(name.split(",")[0], 3e-3, 100 if "warm" in name else 0):
            panels[1].plot(range(10, long["steps"] + 1, 10), row, color=f"C{i}", ls=("-", "--", "-.")[i], lw=1)
    panels[0].set(xlabel="step", ylabel="loss", title="yours: 8 layers, one seed")
    panels[1].set(xlabel="step", title=f"recorded ({long['made']['device']}): 12 layers, all seeds")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=3, bbox_to_anchor=(0.5, -0.16))
show_large("warmup")

# %% [markdown]
# Is it the wiring alone that makes a model stall? The next cell prints the recorded models of 12 layers at two rates, each with the mean of its last ten losses, one number per seed. We say that a run *stalls* if its loss stays above 2, not far from that of guessing.

# %%
for name, peak, stairs in [("Post-LN", 3e-3, 0), ("Post-LN", 3e-3, 100), ("Post-LN", 1e-3, 0),
                           ("Pre-LN", 3e-3, 0), ("DeepNorm", 3e-3, 0)]:
    ends = "   ".join(f"{losses[-1]:.3f}" for losses in recorded_runs(name, peak, stairs))
    print(f"{name:9} peak {peak}   warm-up {stairs:3}   {ends}")

# %% [markdown] evidence="recorded: warmup, control: learning rate"
# **Verdict: it is not the wiring alone, since Post-LN stalls only when its first steps are large, and a warm-up makes them small.**
#
# | model | peak rate | warm-up | runs that stall |
# |---|---|---|---|
# | Post-LN | 0.003 | no | {{warmup.post_none.stalled}} of {{warmup.post_none.of}} |
# | Post-LN | 0.003 | yes | {{warmup.post_warm.stalled}} of {{warmup.post_warm.of}} |
# | Post-LN | 0.001 | no | {{warmup.post_low_none.stalled}} of {{warmup.post_low_none.of}} |
# | Pre-LN, DeepNorm | 0.003 | no | {{warmup.no_need.stalled}} of {{warmup.no_need.of}} |
#
# So a warm-up buys Post-LN the larger rate, which Pre-LN and DeepNorm take from the first step. A run that does not stall need not learn well, however, since the worst one with warm-up ends at {{warmup.post_warm.max:.2f}}. Large Pre-LN models are trained with a warm-up as well, and nothing in this small task says that they need none.

# %% [markdown]
# ### Two explanations
#
# Why must Post-LN's first steps be small? We test two explanations.
#
# - **Size of the gradients.** Those of the top layers are large in Post-LN, so a large rate takes too large a step ([Xiong et al. 2020](https://arxiv.org/abs/2002.04745)).
# - **Movement of the output.** Post-LN depends more on its branches and amplifies small changes of the weights, which moves the output far, even if the gradients are small ([Liu et al. 2020](https://arxiv.org/abs/2004.08249)).

# %% [markdown]
# If the loss is multiplied by 0.01, every gradient becomes a hundred times smaller. By the first explanation, this should let Post-LN learn. The optimizer is *Adam*, which keeps two running averages for each weight, one of the gradient and one of its square, and divides the first by the root of the second. (A third explanation, not tried here, is that the second average rests on too few gradients at first ([RAdam](https://arxiv.org/abs/1908.03265)).)

# %%
predict("placement.p4", "Post-LN with 12 layers is trained by Adam without warm-up, and its loss is multiplied by 0.01. It…",
        ["learns as if warmed up", "stalls all the same", "learns, a hundred times slower"])

# %%
reveal("placement.p4",
       lambda: "last losses " + ", ".join(f"{losses[-1]:.2f}" for losses in recorded_runs("Post-LN", 3e-3, 0, 0.01)),
       "Adam divides each gradient by its own running size, so a factor on all of them cancels.",
       answer="stalls all the same")

# %% [markdown]
# The second explanation can be tested on fresh models of 12 layers, wired by your functions, which take one step of Adam. The rate is one at which Post-LN stalls (0.003), one at which it learns (0.001), or the warm-up's first (0.00003). The cell prints the size of the last layer's gradient (a mean over three seeds) and how far the output moves, relative to its length, seed by seed. Two outputs of equal length that have nothing in common are about $\sqrt 2 = 1.41$ lengths apart.

# %%
for name, rate, factor in [("Post-LN", 3e-3, 1), ("Post-LN", 3e-3, 0.01), ("Post-LN", 1e-3, 1), ("Post-LN", 3e-5, 1),
                           ("Pre-LN", 3e-3, 1)]:
    firsts = [warmup.first_step(steps, name, 12, rate=rate, factor=factor, seed=seed) for seed in range(3)]
    gradient = sum(g for g, _ in firsts) / 3
    print(f"{name:8} rate {rate:<6} loss × {factor:<4}   gradient {gradient:.4f}   output moves by",
          "  ".join(f"{moved:.2f}" for _, moved in firsts))

# %% [markdown] evidence="recorded: warmup, control: scale of the loss + cited: 2004.08249"
# **Verdict: under Adam it is not the size of the gradients that makes Post-LN stall, whereas the movement of the output fits the runs better.**
#
# | 12 layers | first rate | the output moves by | runs that stall |
# |---|---|---|---|
# | Post-LN | 0.003 | 1.08 to 1.43 of its length | {{warmup.post_none.stalled}} of {{warmup.post_none.of}} |
# | Post-LN, loss times 0.01 | 0.003 | 1.08 to 1.43 | {{warmup.post_scaled.stalled}} of {{warmup.post_scaled.of}} |
# | Post-LN | 0.001 | 0.82 to 1.20 | {{warmup.post_low_none.stalled}} of {{warmup.post_low_none.of}} |
# | Pre-LN | 0.003 | 0.81 to 0.98 | none |
# | Post-LN, warm-up | 0.00003 | 0.05 to 0.07 | {{warmup.post_warm.stalled}} of {{warmup.post_warm.of}} |
#
# *Measured* (movement by the cell above, stalling in the recorded runs): the factor 0.01 changes neither. Runs stall where the first step moves the output farthest, but since the ranges overlap, this step alone does not decide. *Cited:* Post-LN amplifies changes ([2004.08249](https://arxiv.org/abs/2004.08249)). *Argued:* little is left of an output that moves so far, so the next step cannot build on it. Plain gradient descent does not divide, so there the size would matter.

# %% [markdown]
# ## 9. Extension: does every layer count?
#
# In Pre-LN each layer adds about the same amount to a stream that gets longer and longer. Do the late layers still change anything? A token $(3, 4)$ of length 5 that becomes $(3, 5)$, for example, has moved by 1, so its *relative* change is $1/5 = 0.2$. The relative change of layer $l$, which turns the stream $x_{l-1}$ into $x_l$, is the mean over all tokens.
#
# $$c_l = \operatorname{mean}_{\text{tokens}}\ \frac{\lVert x_l - x_{l-1} \rVert}{\lVert x_{l-1} \rVert}$$

# %% [markdown] statement="placement.layer_changes"
# `streams` holds what enters the first layer and what leaves each one. Return $c_1, \dots, c_N$. The mean is taken over all tokens of all sentences, after the division.
#
# If there is no layer (one stream only), raise a `ValueError`.

# %% exercise="placement.layer_changes"
def layer_changes(streams):
    """Relative change per layer.

    Args:
        streams: (N + 1, B, T, d) float tensor, no token of length 0.

    Returns:
        (N,) tensor of the same dtype.
    """
    ### BEGIN SOLUTION
    if len(streams) < 2:
        raise ValueError("there is no layer between fewer than two streams")
    before, after = streams[:-1], streams[1:]
    return ((after - before).norm(dim=-1) / before.norm(dim=-1)).mean(dim=(1, 2))
    ### END SOLUTION

# %% [markdown] hints="placement.layer_changes"
# 1. How do you line up every layer's input with its output, without a loop?
# 2. `streams[:-1]` are the inputs, `streams[1:]` the outputs. Lengths are norms over the last axis, `.norm(dim=-1)`. Divide, then take the mean over axes 1 and 2.
# 3. `((after - before).norm(dim=-1) / before.norm(…)).mean(dim=(1, 2))`.

# %% [markdown] worth="placement.layer_changes"
# ShortGPT measures layers by a similar number, one minus the cosine between a layer's input and its output, and removes those with the smallest first ([Men et al. 2024](https://arxiv.org/abs/2403.03853)).

# %%
predict("placement.p5", "The first of 48 fresh Pre-LN layers changes a token by about 75 %. The last one changes it by about…",
        ["75 %", "40 %", "15 %", "2 %"])

# %%
fresh = {name: layer_changes(effective_depth.fresh_streams(steps, name, 48)) for name in ("Post-LN", "Pre-LN")}

# %%
reveal("placement.p5",
       lambda: f"{fresh['Pre-LN'][-1]:.0%}; in Post-LN {fresh['Post-LN'][-1]:.0%}",
       "The stream is a random walk. After l layers its length is about √l, while the next step is still about 1.",
       answer="15 %")

# %%
ends = [f"{name} from {c[0]:.2f} to {c[-1]:.2f}" for name, c in fresh.items()]
with described("Relative change per layer in 48 fresh layers: {told}.", told=", ".join(ends)):
    for name, changes in fresh.items():
        plt.plot(range(1, 49), changes, label=name)
    plt.xlabel("layer"), plt.ylabel("relative change"), plt.ylim(0), plt.legend()

# %% [markdown]
# ### Claim on trial
#
# > *"Pre-norm sacrifices effective depth: it adds width rather than depth. At the same depth it mostly ends up weaker than Post-LN."*
#
# Late layers that hardly change the stream read nearly the same input, as if they were one wider layer. Do they count for less? To test this, train a model and then leave out one layer at a time. Since only equally good models can be compared in this way, each training (all with a warm-up, and {{effective_depth.seeds:word}} seeds each) stops when its loss first falls below a goal.

# %%
trained = effective_depth.recorded()["trained"]
with described(effective_depth.words(trained)):
    for row in trained:
        if (row["layers"], row["peak"], row["goal"]) == (12, 3e-3, 0.02):
            i = ("Post-LN", "Pre-LN").index(row["wiring"])
            plt.semilogy(range(1, 13), row["without"], f"C{i}o" + ("-", "--")[i], lw=1, ms=3,
                         label=row["wiring"] if row["seed"] == 0 else None)
    plt.xlabel("layer left out"), plt.ylabel("loss without it"), plt.legend()
show_large("effective_depth")

# %% [markdown]
# By which factor does the loss grow if one layer of the later half is left out? The cell prints the smallest, the median and the largest factor over seeds and layers.

# %%
print("layers  peak   loss below   " + "".join(f"{name:>26}" for name in ("Post-LN", "Pre-LN")))
for layers, peak, goal in sorted({(r["layers"], r["peak"], r["goal"]) for r in trained}, reverse=True):
    cells = []
    for name in ("Post-LN", "Pre-LN"):
        factors = sorted(f for r in trained if (r["wiring"], r["layers"], r["peak"], r["goal"]) == (name, layers, peak, goal)
                         for f in effective_depth.late(r))
        cells.append(f"{factors[0]:.1f}, {factors[len(factors) // 2]:.1f}, {factors[-1]:.1f}" if factors else "not reached")
    print(f"{layers:6}  {peak:<6} {goal:<10}   " + "".join(f"{cell:>26}" for cell in cells))

# %% [markdown] evidence="recorded: effective_depth, control: learning rate"
# **Verdict: the first sentence holds here, the second is not decided.** Pre-LN's late layers do count for less, since at equal loss leaving one out costs Post-LN more. Its median factor is larger in {{effective_depth.pairs.held}} of {{effective_depth.pairs.of}} comparisons of models that differ only in wiring.
#
# That need not make Pre-LN weaker, because it reached the same loss in fewer steps in {{effective_depth.faster.held}} of {{effective_depth.faster.of}} comparisons, and layers that hardly count can be pruned. Whether a large Post-LN model ends up better, these runs cannot say.

# %% [markdown]
# ## 10. Who uses what
#
# Which of these wirings do real models use, and how can one tell?

# %% [markdown]
# The picture shows one step of each. The eighth is GPT-NeoX's, which is parallel with a norm for each branch. In which two does the thick line, the stream, pass a norm? The list after it says which models use which wiring.

# %%
drawings.wirings()

# %%
MODELS = {
    "Post-LN": ["Transformer (2017)", "GPT-1", "BERT", "OPT-350M"],
    "Pre-LN": ["GPT-2", "GPT-3", "T5", "LLaMA", "Mistral"],
    "sandwich, pre+post": ["CogView", "Gemma 2", "Gemma 3"],
    "norm inside": ["OLMo 2"],
    "DeepNorm": ["GLM-130B"],
    "parallel": ["GPT-J", "GPT-NeoX", "PaLM", "Falcon"],
}
for wiring, models in MODELS.items():
    print(f"{wiring:20}", ", ".join(models))

# %% [markdown]
# ### Claim on trial
#
# > *"Almost all language models except BERT use pre-norm. … New models also put a so-called post-norm outside the residual stream, without dropping the pre-norm."*
#
# Two questions tell wirings apart. Is the stream left alone if the sublayer gives 0? And does the sublayer notice, that is, does its input change, if the stream is ten times longer?

# %%
def fingerprint(step, *extra):
    x, seen = torch.tensor([1.0, 3.0, 8.0]), []
    alone = torch.allclose(step(x, torch.zeros_like, *extra), x)
    for scale in (1, 10):
        step(scale * x, lambda h: seen.append(h) or h, *extra)
    return alone, not torch.allclose(seen[0], seen[1], atol=1e-4)

for name, step, extra in [("Post-LN", post_ln, [layer_norm]), ("Pre-LN", pre_ln, [layer_norm]),
                          ("pre+post", sandwich, [layer_norm] * 2), ("inside", norm_inside, [layer_norm])]:
    alone, notices = fingerprint(step, *extra)
    print(f"{name:9} stream left alone: {alone!s:6} sublayer notices its length: {notices}")

# %% [markdown]
# Real models were tested in the same way. Each was built from its published configuration, by the class that runs its published weights in `transformers`.

# %%
print(*named_models.table(["gpt1", "bert-base", "opt-350m", "opt-1.3b", "gpt2", "llama-3-8b", "gemma2-9b", "olmo2-7b"],
                          ["norm", "norm_kind", "layers"]), sep="\n")

# %% [markdown] evidence="models: gpt1, bert-base, opt-350m, gpt2, llama-3-8b, gemma2-9b, olmo2-7b"
# **Verdict: most do, but BERT is not the only exception, and OLMo 2 did drop the pre-norm.** GPT-1 and OPT-350M are Post-LN too, although the larger OPT-1.3B is not. OLMo 2 (2024) has no norm before its sublayers, which gives it a fingerprint that Pre-LN cannot have. Gemma 2 has norms before its sublayers and also after them. By their papers, the original Transformer is Post-LN, and GLM-130B uses DeepNorm.

# %% [markdown]
# ## 11. Your own experiment
#
# What happens on real text? The *growing character model* is a small Transformer that learns to continue Jane Austen's novels, character by character. Here it is trained with your two wirings, at two depths, for 100 steps of which the first 20 are a warm-up. Its loss on text that it has not seen is in nats per character.

# %%
from anatomy.experiments.growing import grow

for layers in (2, 4):
    post, pre = (grow(steps=100, layers=layers, wire=wire).loss for wire in (post_ln, pre_ln))
    print(f"{layers} layers: Post-LN {post:.3f} against Pre-LN {pre:.3f} nats per character")

# %% [markdown]
# How many layers, or how large a rate (`lr=1e-2` instead of 0.003), does it take until the order of the two changes? Where would a wiring of your own end up? Write down what you expect, change one thing at a time, and run at least two seeds (`seed=0` and `seed=1`), because a difference that changes its sign with the seed tells nothing. Which answer do you write down? Nothing here is graded.

# %% [markdown] written="question"
# A Post-LN model of 12 layers, trained with Adam, stays at the loss of guessing from the beginning. Three repairs are proposed: multiply the loss by 0.01, begin with a warm-up, move the norms (Pre-LN). Predict what each one does, and why. Which result would show you that your reason is wrong?
#
# - what Adam makes of a factor on all gradients
# - what the first steps do to the model's output, with and without each repair
# - an observation that your reason rules out

# %% [markdown] written="answer" points=3
# The factor 0.01 changes nothing, because Adam divides each gradient by its own running size, so the factor cancels. In the unit {{warmup.post_scaled.stalled}} of {{warmup.post_scaled.of}} such runs stall. A warm-up helps, since at rate 0.003 the first step moves Post-LN's output by more than its own length, but at the first rate of the warm-up only by {{warmup.first.post.n12.soft:.2f}} of it. Without it {{warmup.post_none.stalled}} of {{warmup.post_none.of}} runs stall, with it {{warmup.post_warm.stalled}}. Pre-LN has a bare path, so its output moves less, and it learns at the full rate. If a run whose first steps hardly move the output stalls as well, my reason is wrong, and I would check data and loss.
#
# ### BEGIN MARK SCHEME
# - 1 point: the loss times 0.01 has no effect under Adam, with the reason.
# - 1 point: warm-up and Pre-LN help because the first steps move the output less (or: the steps are smaller), not because gradients are smaller.
# - 1 point: an observation that would refute this, for example a run with small first steps that stalls all the same.
# - No point: "the gradients vanish". Those at the top of a fresh Post-LN stack are large.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("Which step leaves the stream untouched when its sublayer gives 0?",
     {"norm(x + F(x))": (False, "The norm acts on x whatever F says."),
      "x + norm(F(x))": (True, "norm(0) is 0, and x is outside the norm."),
      "norm(2x + F(x))": (False, "A factor does not take the norm off the stream.")})

# %%
quiz("Fresh Pre-LN stacks of 10 and 40 layers. The gradient of the last layer's weights is in the deeper one…",
     {"the same": (False, "That is Post-LN."),
      "about half": (True, "It falls as 1/√depth, so four times the depth gives half the norm."),
      "a quarter": (False, "The stream grows as √depth, not as depth.")})

# %%
quiz("A list of gradient norms filled by append in hooks comes out…",
     {"first layer first": (False, "The backward pass starts at the end."),
      "last layer first": (True, "The last layer's gradient is known first."),
      "in random order": (False, "In a chain of layers the order is fixed.")})

# %%
quiz("A fresh Pre-LN stack of 96 layers without its final norm: its logits are…",
     {"about as large as at 6 layers": (False, "That takes the final norm."),
      "about four times as large": (True, "It is sixteen times as deep, so its stream is √16 = 4 times as long."),
      "sixteen times as large": (False, "The layers' outputs point in different directions, so their lengths do not add up.")})

# %%
quiz("Multiply the loss by 0.01. What happens to Adam's first step?",
     {"it is a hundredth as long": (False, "That is plain gradient descent."),
      "it stays about the same": (True, "Adam divides each gradient by its own size."),
      "it is ten times as long": (False, "The root of the squares has the gradient's own scale.")})

# %%
progress("03-norm-placement")

# %% [markdown]
# ## Where this lives in real models
#
# | wiring | papers |
# |---|---|
# | Post-LN | [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), [BERT](https://arxiv.org/abs/1810.04805), at 350M parameters [OPT](https://arxiv.org/abs/2205.01068) |
# | Pre-LN, and why | [Xiong et al. 2020](https://arxiv.org/abs/2002.04745) |
# | sandwich | [CogView](https://arxiv.org/abs/2105.13290), [Gemma 2](https://arxiv.org/abs/2408.00118), [Gemma 3](https://arxiv.org/abs/2503.19786) |
# | norm inside | [OLMo 2](https://arxiv.org/abs/2501.00656) |
# | DeepNorm | [Wang et al. 2022](https://arxiv.org/abs/2203.00555), used by [GLM-130B](https://arxiv.org/abs/2210.02414) |
# | parallel | [GPT-NeoX](https://arxiv.org/abs/2204.06745), [PaLM](https://arxiv.org/abs/2204.02311) |
#
# Why Post-LN's output moves so far is the subject of [Liu et al. 2020](https://arxiv.org/abs/2004.08249), and layers that hardly count are studied by [Gromov et al. 2024](https://arxiv.org/abs/2403.17887) and [Sun et al. 2025](https://arxiv.org/abs/2502.05795).
#
# In this unit the feed-forward layer, attention's neighbor in the block, was given. In the next one, **04-ffn-and-gating**, you write it yourself, and you will see that it holds most of the block's parameters.
