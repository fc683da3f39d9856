# %% [markdown]
# # Experts and drafts
#
# **You will be able to**
#
# - route tokens to experts, and keep all at work;
# - let a cheap model draft tokens without changing what the large one would write;
# - widen the residual stream without letting it explode;
# - write the optimizer Muon, and store weights in 4 bits;
# - give positions to pictures.
#
# **Prerequisites:** units 01, 03, 12 and 13; for the extensions units 02, 06, 11 and 14. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# A language model writes one token per call. A table of token pairs, which knows only what often follows what, guesses four tokens ahead in no time. The model looks at all four guesses in a single call. From the left, it keeps them up to the first one that fails, and then it adds one token of its own.
#
# Each guess passes in about half of the cases. How many tokens come out of one call on average?

# %% setup=true
import math

import matplotlib.pyplot as plt
import torch
from anatomy import case, check, predict, progress, quiz, reveal
from anatomy.experiments import balancing, drafting, fewer_bits, muon, recorded, show_large, where
from anatomy.plots import described, use_style
from anatomy.widgets import ExpertsExplorer, SamplingExplorer
from torch import nn
from torch.nn import functional as F


def pick(probabilities, u):
    """The token that u in [0, 1) falls on when probabilities (V,) lie side by side from 0 to 1."""
    return min(int((probabilities.cumsum(-1) <= u).sum()), len(probabilities) - 1)

# %%
use_style()

# %%
predict("draft.p1", "Four guesses, each passing with a chance of about 1/2. One call of the model gives on average…",
        ["about 1 token", "about 2 tokens", "about 4 tokens"])

# %% [markdown]
# Keep your guess until section 5, where the trained model of this course answers. Most parts of this unit are used in models of 2024 to 2026, and the table at the end says where.

# %% [markdown]
# ## 1. Who works for a token?
#
# A *mixture of experts* replaces a feed-forward layer by $E$ of them, the *experts*. A small linear layer, the *router*, gives each token one number per expert, and only the $k$ experts with the largest numbers work for this token. So a model can store many parameters and use few of them, which unit 13 counts.
#
# The outputs of the chosen experts are multiplied by *weights* and added, and routers differ in how they make these weights.

# %% [markdown]
# ### Worked example
#
# Suppose that a token's router gives three experts the numbers $\log 6$, $\log 3$ and $\log 1$, of which two may work. A softmax over all three gives 0.6, 0.3 and 0.1, so experts 0 and 1 work with the weights 0.6 and 0.3.
#
# If the softmax came after the choice, the weights would be 2/3 and 1/3. With $k = 1$ the only weight would be 1 whatever the router says, and so the router would get no gradient.

# %%
logits = torch.tensor([6.0, 3.0, 1.0]).log()
for k in (2, 1):
    before, after = logits.softmax(-1).topk(k).values, logits.topk(k).values.softmax(-1)
    print(f"k = {k}: softmax before the choice {before.numpy().round(2)}, after it {after.numpy().round(2)}")

# %% [markdown]
# DeepSeek-V3 uses another router, in which each expert gets a *score* between 0 and 1 by a sigmoid. To choose the experts, a *bias* is added to each score, a number per expert that is the same for all tokens. However, the bias takes no part in the weights. These are the scores of the chosen experts, divided by their sum and multiplied by a constant `scale`.

# %% [markdown]
# For example, let the scores be 0.8, 0.6 and 0.4 and the biases 0, 0 and 0.5. Then experts 2 (0.9) and 0 (0.8) work. Their weights are 0.4 / 1.2 = 1/3 and 0.8 / 1.2 = 2/3.

# %% [markdown] statement="experts.route"
# Write both routers. Each returns the weights of the chosen experts and which experts these are, in the order of the choice: the most wanted expert comes first. `logits` may have any leading shape, such as $(B, T, E)$.

# %% exercise="experts.route"
def route(logits, k):
    """logits (..., E) → weights (..., k), chosen (..., k) int64: softmax over all experts (arXiv:2101.03961)."""
    ### BEGIN SOLUTION
    weights, chosen = logits.softmax(-1).topk(k, dim=-1)
    return weights, chosen
    ### END SOLUTION


def route_biased(logits, bias, k, scale=1.0):
    """logits (..., E), bias (E,) → weights (..., k) that sum to scale, chosen (..., k) (arXiv:2412.19437)."""
    ### BEGIN SOLUTION
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    weights = scores.gather(-1, chosen)
    return scale * weights / weights.sum(-1, keepdim=True), chosen
    ### END SOLUTION

# %% [markdown] hints="experts.route"
# 1. In the second example, which numbers decide, and which numbers become weights? `topk` gives values and indices; when do you need only the indices?
# 2. `route`: softmax over the last axis, then `topk(k, dim=-1)`. `route_biased`: sigmoid, `topk` of scores plus bias, then take the plain scores of the chosen experts with `gather(-1, chosen)`. Divide them by their sum, and multiply by `scale`.
# 3. `chosen = (scores + bias).topk(k, dim=-1).indices`, `weights = scores.gather(-1, chosen)`, `return scale * weights / weights.sum(…), chosen`.

# %% [markdown] worth="experts.route"
# Unit 11's layer divides the softmax probabilities by their sum, as Mixtral does. That equals a softmax after the choice, which is fine for $k = 2$ and would leave a router with $k = 1$ untrained.

# %% [markdown]
# Many models add a *shared expert*, which works for every token beside the chosen ones. What everybody needs is then learned once, and the chosen experts can differ more. The next cell builds such a layer on **your** router, with the experts as small random maps.

# %%
torch.manual_seed(0)
experts, shared, x = torch.randn(4, 8, 8) / 8, torch.randn(8, 8) / 8, torch.randn(5, 8)
weights, chosen = route_biased(torch.randn(5, 4), torch.zeros(4), 2)
y = x @ shared
for place in range(2):
    y = y + weights[:, place, None] * torch.einsum("td,tde->te", x, experts[chosen[:, place]])
print(f"{x.shape[0]} tokens; experts {chosen.tolist()}; output {tuple(y.shape)}")

# %% [markdown]
# Only two of the four experts are multiplied with any token, and the shared one with all. In DeepSeek-V3 each of 58 layers has 256 experts, of which 8 work, and one shared expert ([2412.19437](https://arxiv.org/abs/2412.19437), section 4.2).

# %% [markdown]
# ## 2. Keep all of them busy
#
# Nothing above prevents the router from sending all tokens to the same few experts. An expert that gets more tokens learns more, becomes better, and so gets even more of them. In the next cells you see this in training: eight experts, one for each token, learn a task that has eight parts. An even share would be 12.5 % each.

# %%
predict("draft.p2", "Nobody keeps the balance. After 400 steps, the busiest of eight experts gets…",
        ["about 12 % of the tokens", "20 to 40 %", "nearly all"])

# %%
free = balancing.train(seed=0)
print("load:", ", ".join(f"{share:.0%}" for share in free.load), f"; loss {free.loss:.3f}")

# %%
reveal("draft.p2",
       lambda: f"{free.busiest:.0%}, and {free.starved} experts get less than 2 %",
       "Some experts do the work of about two parts, and others have stopped learning because hardly any token reaches them.",
       answer=lambda: "about 12 % of the tokens" if free.busiest < 0.2 else "20 to 40 %" if free.busiest < 0.5 else "nearly all")

# %% [markdown]
# ### A loss for balance
#
# One remedy is to add a number to the loss that is large when a few experts get most of the tokens. The *share* $f_i$ of expert $i$ is the part of all choices that fell on it. Let $P_i$ be its mean probability over all tokens.
#
# $$\text{loss} = E \sum_{i=1}^{E} f_i\, P_i$$
#
# With even shares it is 1. Since shares are counts, they have no gradient, but the $P_i$ have one, which pushes the probability of busy experts down.

# %% [markdown]
# ### Worked example
#
# Suppose that two experts have the mean probabilities 0.7 and 0.3. Of four tokens, three chose expert 0, so the shares are 0.75 and 0.25. The loss is $2\,(0.75 \cdot 0.7 + 0.25 \cdot 0.3) = 1.2$.
#
# If each token chooses $k = 2$ experts, there are eight choices, not four. Shares that are divided by the number of tokens alone would sum to 2, and the loss would grow with $k$.

# %% [markdown]
# A model has $L$ such layers, of which each has a load of its own. Suppose that in one layer all tokens choose expert 0, and in the next layer all choose expert 1. Each layer is as uneven as it can be. But if you join the layers before counting, both experts have a share of a half, and nothing seems wrong. So the loss is computed for each layer, and then averaged over the layers.

# %% [markdown] statement="experts.balance_loss"
# Write the loss for $L$ layers at once: `probabilities` come from the softmax over all experts, and `chosen` from the router. Return a scalar tensor that still has its gradient.

# %% exercise="experts.balance_loss"
def balance_loss(probabilities, chosen):
    """probabilities (L, N, E), chosen (L, N, k) int64 → scalar, 1 when all is even (arXiv:2101.03961)."""
    ### BEGIN SOLUTION
    _, N, E = probabilities.shape
    counts = F.one_hot(chosen, E).sum((1, 2)).to(probabilities.dtype)
    share = counts / (N * chosen.shape[-1])
    return E * (share * probabilities.mean(1)).sum(-1).mean()
    ### END SOLUTION

# %% [markdown] hints="experts.balance_loss"
# 1. Which axis is averaged for $P_i$, and which axes are counted for $f_i$? Which axis must survive until the sum over the experts is done?
# 2. `F.one_hot(chosen, E)` has the shape $(L, N, k, E)$. Its sum over axes 1 and 2 counts the choices of each layer; divide by $N \cdot k$. The mean probability is `probabilities.mean(1)`. Multiply, sum over the experts, times $E$, and average over the layers.
# 3. `share = F.one_hot(chosen, E).sum((1, 2)) / (N * chosen.shape[-1])`, `return E * (share * probabilities.mean(1)).sum(-1).…`.

# %% [markdown] worth="experts.balance_loss"
# Hugging Face's loss for Mixtral joins the tokens of all layers before it counts, as in the example, so uneven layers can hide each other. A user pointed it out in 2024 (transformers, issue 31464).

# %% [markdown]
# ### A bias for balance
#
# A loss for balance pulls the router away from what would be best for the text. DeepSeek-V3 therefore moves the bias of section 1 directly, without a gradient, after each step. The bias goes up by a small constant for experts with less than the mean load, and down for those with more.

# %% [markdown]
# For example, six choices fell on three experts as 4, 2 and 0, where the mean is 2. With a rate of 0.1 the biases 0, 0, 0 become −0.1, 0 and 0.1. It does not matter how far an expert lies above or below the mean.

# %% [markdown] statement="experts.balance_bias"
# Write the next bias, as a new tensor in the dtype of `bias`. An expert that nobody chose counts as one with load 0.

# %% exercise="experts.balance_bias"
def balanced_bias(bias, chosen, rate=0.001):
    """bias (E,), chosen (..., k) int64 → the next bias (E,) (arXiv:2408.15664)."""
    ### BEGIN SOLUTION
    load = torch.bincount(chosen.flatten(), minlength=len(bias)).to(bias.dtype)
    return bias + rate * (load.mean() - load).sign()
    ### END SOLUTION

# %% [markdown] hints="experts.balance_bias"
# 1. Which of 4, 2 and 0 lie above their mean? `sign` turns a difference into −1, 0 or 1.
# 2. Count with `torch.bincount(chosen.flatten(), minlength=len(bias))`, so that experts without tokens have a count, too. Then add `rate` times the sign of (mean − load).
# 3. `load = torch.bincount(chosen.flatten(), minlength=…).to(bias.dtype)`, `return bias + rate * (…).sign()`.

# %% [markdown] worth="experts.balance_bias"
# The step is the same for all because loads are noisy: a batch that happens to be about one subject should not throw the router over.

# %% [markdown]
# Below, **your** routers send twelve words to three experts. Drag the knob under an expert: which words come to it? Then press **experts for a word, router, room**, and choose two experts for a word. If a word keeps its two experts while you turn a knob, do its weights change? At last press **Balance once**, which moves the biases by your function.

# %%
ExpertsExplorer({"route": route, "route_biased": route_biased, "balanced_bias": balanced_bias})

# %% [markdown]
# ### See it
#
# Here is the same training with **your** loss and with **your** bias, each of which takes a few seconds.

# %%
runs = {"nothing": free, "loss": balancing.train(loss=balance_loss), "bias": balancing.train(bias=balanced_bias)}
for name, run in runs.items():
    print(f"{name:8} busiest {run.busiest:.0%}, under 2 %: {run.starved}, loss of the task {run.loss:.3f}")

# %%
with described("Share of the tokens for each of eight experts: {runs}.",
               runs="; ".join(f"{n}: busiest {r.busiest:.0%}" for n, r in runs.items())):
    for i, (name, run) in enumerate(runs.items()):
        plt.bar([e + 0.27 * (i - 1) for e in range(8)], sorted(run.load), 0.27, label=name, hatch=("", "//", "..")[i])
    plt.axhline(1 / 8, color="gray", ls=":"), plt.xlabel("expert, by its load"), plt.ylabel("share of the tokens")
    plt.legend()

# %% [markdown]
# ### Claim on trial
#
# > *"Balancing is for the hardware alone: experts that work evenly finish at the same time, but what the model learns gets worse."*
#
# If this is true, the task's own loss must be higher with balance than without. One run per setting cannot decide this, so {{balancing.seeds:word}} seeds were recorded for each.

# %%
record = recorded("balancing")
for way in ("nothing", "weak loss", "loss", "bias"):
    rows = [row for row in record["rows"] if row["way"] == way]
    print(f"{way:10} loss of the task", " ".join(f"{row['loss']:.3f}" for row in rows))
show_large("balancing")

# %% [markdown] evidence="recorded: balancing, control: balancing"
# **Verdict: here balance improves what is learned.** Experts that get no tokens learn nothing, and their parameters are lost. The table has means over {{balancing.seeds}} seeds; the weak loss is the same loss with a fifth of the strength.
#
# | | busiest expert | starved, in a run | loss of the task |
# |---|---|---|---|
# | nothing | {{balancing.nothing.busiest:.0f}} % | {{balancing.nothing.fewest}} to {{balancing.nothing.most}} | {{balancing.nothing.loss:.3f}} |
# | weak loss | {{balancing.weak.busiest:.0f}} % | {{balancing.weak.fewest}} to {{balancing.weak.most}} | {{balancing.weak.loss:.3f}} |
# | loss | {{balancing.loss.busiest:.0f}} % | {{balancing.loss.fewest}} to {{balancing.loss.most}} | {{balancing.loss.loss:.3f}} |
# | bias | {{balancing.bias.busiest:.0f}} % | {{balancing.bias.fewest}} to {{balancing.bias.most}} | {{balancing.bias.loss:.3f}} |
#
# However, this task has eight equal parts. Where the parts of real text are unequal, perfect balance may cost something.

# %% [markdown]
# ## 3. Extension: places are limited
#
# Experts often lie on different GPUs, and each of them has memory for a fixed number of tokens, its *capacity*. Choices beyond it are dropped: that expert does not work for that token, which goes on with its residual stream alone.
#
# Places are given to all first choices in the order of the tokens, then to all second choices, and so on, so that nobody's second choice takes a place from somebody's first.

# %% [markdown]
# ### Worked example
#
# Three tokens choose the experts (0, 1), (1, 0) and (0, 1), and each expert has two places. First choices: 0, 1, 0 all find a place, and expert 0 is full. Second choices: token 0 gets the last place of expert 1, token 1 finds expert 0 full, and token 2 finds expert 1 full.

# %% [markdown] statement="experts.capacity"
# Return which choices find a place, as booleans of the shape of `chosen`.

# %% exercise="experts.capacity"
def within_capacity(chosen, n_experts, capacity):
    """chosen (N, k) int64 → (N, k) bool (arXiv:2101.03961)."""
    ### BEGIN SOLUTION
    N, k = chosen.shape
    queue = chosen.T.flatten()
    place = F.one_hot(queue, n_experts).cumsum(0).gather(1, queue[:, None])
    return (place <= capacity).reshape(k, N).T
    ### END SOLUTION

# %% [markdown] hints="experts.capacity"
# 1. Put all choices into one queue. Which order of the axes brings the first choices of all tokens to the front?
# 2. `queue = chosen.T.flatten()`. A running count of each expert is `F.one_hot(queue, n_experts).cumsum(0)`; take from each row the column of its own expert. Compare with the capacity, then bring the result back to the shape $(N, k)$.
# 3. `place = F.one_hot(queue, n_experts).cumsum(0).gather(1, queue[:, None])`, `return (place <= capacity).reshape(k, N).T`.

# %% [markdown] worth="experts.capacity"
# Dropping makes a token's result depend on the other tokens of its batch. DeepSeek-V3 drops nothing, since its experts are balanced well enough.

# %% [markdown]
# How much room do experts need? Here 1,000 tokens choose two of eight experts each, by random numbers. Which choices are dropped, and how many?

# %%
torch.manual_seed(0)
_, chosen = route(torch.randn(1000, 8), 2)
for factor in (1.0, 1.25, 2.0):
    kept = within_capacity(chosen, 8, int(factor * 2000 / 8)).float().mean(0)
    print(f"places for {factor:.2f} times the mean load: kept {kept[0]:.1%} of first, {kept[1]:.1%} of second choices")

# %% [markdown]
# ## 4. Draft and verify
#
# A decoder that writes waits for its weights to be fetched from memory, once per token (unit 08). Reading five tokens in one call takes hardly longer than reading one. So let a cheap model, the *draft*, write $K$ tokens, and let the large model read all of them in one call. It then says at each place from which *law* it would have drawn, that is, which probability each token has there.

# %% [markdown]
# Which drafted tokens may stay? If all of them stayed, the text would be the draft's, but it should have *exactly* the law of the large model.

# %% [markdown]
# ### Worked example
#
# At one place there are two tokens, A and B. The draft draws them with the probabilities $q = (0.8, 0.2)$, the model would draw them with $p = (0.5, 0.5)$. The draft draws A too often, so an A is kept with the chance $p / q = 0.5 / 0.8 = 0.625$. A drafted B is always kept, since $q < p$.
#
# So A comes out with $0.8 \cdot 0.625 = 0.5$, which is right, and B with only 0.2, so 0.3 is missing. Since an A is refused with just this chance, $0.8 \cdot 0.375 = 0.3$, B is drawn in that case.

# %% [markdown]
# In general, a drafted token $x$ is kept with the chance $\min(1,\, p(x) / q(x))$. At the first refused token a new one is drawn from what the draft has too little of, the *residual law*
#
# $$r(x) = \frac{\max(0,\; p(x) - q(x))}{\sum_y \max(0,\; p(y) - q(y))}$$
#
# and everything drafted behind it is thrown away, because it continues a text that no longer exists. If all $K$ tokens are kept, the model's call has also given the law of place $K + 1$. So one more token, the *bonus*, is drawn from it for free.

# %% [markdown]
# Random numbers are given, so that everybody gets the same text. Token $i$ is kept if $u_i\, q(x_i) < p(x_i)$. The last number, $u_K$, draws the token that is added: `pick(probabilities, u)` from the setup cell lays the probabilities side by side from 0 to 1, and returns the token that $u$ falls on.

# %%
half = torch.tensor([0.5, 0.3, 0.2])
[pick(half, u) for u in (0.1, 0.49, 0.5, 0.79, 0.8)]

# %% [markdown] statement="draft.verify"
# Return the kept tokens and the one that is added, between 1 and $K + 1$ tokens. `q` has the draft's law at each of $K$ places, `p` the model's law at the same places and at the one behind them.

# %% exercise="draft.verify"
def verify(drafted, q, p, u):
    """drafted (K,) int64, q (K, V), p (K + 1, V), u (K + 1,) → (n,) int64, 1 ≤ n ≤ K + 1 (arXiv:2211.17192)."""
    ### BEGIN SOLUTION
    for i, token in enumerate(drafted):
        if u[i] * q[i, token] >= p[i, token]:
            rest = (p[i] - q[i]).clamp(min=0)
            return torch.cat([drafted[:i], torch.tensor([pick(rest / rest.sum(), u[-1])])])
    return torch.cat([drafted, torch.tensor([pick(p[-1], u[-1])])])
    ### END SOLUTION

# %% [markdown] hints="draft.verify"
# 1. Go through the drafted tokens from the left. When may you return, and which law does the added token have in that case? What if the loop ends without a refusal?
# 2. At a refusal at place $i$: `rest = (p[i] - q[i]).clamp(min=0)`, divided by its sum, and `pick` with `u[-1]`. Return `drafted[:i]` and this token. Behind the loop: all of `drafted`, and a token picked from `p[-1]`.
# 3. `for i, token in enumerate(drafted):`, `if u[i] * q[i, token] >= p[i, token]:`, … `return torch.cat([drafted[:i], torch.tensor([…])])`; at the end `return torch.cat([drafted, torch.tensor([pick(p[-1], u[-1])])])`.

# %% [markdown] worth="draft.verify"
# For a single token the rule is also the best possible, since no other rule with this output law keeps a drafted token more often.

# %% [markdown]
# ### See it: the law is exact
#
# For one drafted token the output's law can be added up without any chance: over all tokens that the draft may draw, and over a fine grid of both random numbers. Does it equal the model's law?

# %%
p, q, n = torch.tensor([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]]), torch.tensor([[0.2, 0.3, 0.5]]), 40
grid = (torch.arange(n) + 0.5) / n
law = torch.zeros(3)
for token in range(3):
    for u in torch.cartesian_prod(grid, grid):
        law[verify(torch.tensor([token]), q, p, u)[0]] += q[0, token] / n**2
for name, numbers in (("model", p[0]), ("draft", q[0]), ("output", law)):
    print(f"{name:6}", numbers.numpy().round(3))

# %% [markdown]
# ### Claim on trial
#
# > *"Speculative decoding is an approximation: the text is a compromise between the large model and the small one, and a bad draft makes it worse."*
#
# If this is true, a worse draft must move the output's law away from the model's. So take drafts that get worse and worse, up to one that always draws the token which the model likes least.

# %%
for name, worse in (("good", [0.4, 0.4, 0.2]), ("bad", [0.2, 0.0, 0.8]), ("hopeless", [0.0, 0.0, 1.0])):
    law, kept = torch.zeros(3), 0.0
    for token in range(3):
        for u in torch.cartesian_prod(grid, grid):
            out = verify(torch.tensor([token]), torch.tensor([worse]), p, u)
            law[out[0]] += worse[token] / n**2
            kept += (len(out) == 2) * worse[token] / n**2
    print(f"{name:9} draft: output {[round(x, 2) for x in law.tolist()]}, kept {kept:.0%}")

# %% [markdown] evidence="exact + cited: 2211.17192"
# **Verdict: the output has the model's law with every draft.** A bad draft makes the text slower and not worse. (The proof is the worked example with letters: theorem 1 in appendix A.1 of [2211.17192](https://arxiv.org/abs/2211.17192).)

# %% [markdown]
# ## 5. How much faster is it?
#
# A token that is drawn from $q$ passes with the chance $\alpha = \sum_x \min(p(x), q(x))$, the *acceptance*. In the first example it is $0.5 + 0.2 = 0.7$.
#
# Suppose that each of $K$ drafted tokens passes with the same chance $\alpha$. At least one token comes out. A second comes out if the first passes, which has the chance $\alpha$, and a third with $\alpha^2$. For $\alpha = 0.5$ and $K = 2$ that makes $1 + 0.5 + 0.25 = 1.75$ tokens per call.

# %% [markdown]
# Since drafting takes time, too, the tokens per call are not yet the speed. If one drafted token costs a tenth of a call of the large model, a round with $K = 2$ costs $1 + 2 \cdot 0.1 = 1.2$ calls. It gives 1.75 tokens, so it is $1.75 / 1.2 = 1.46$ times faster than writing one token per call.

# %% [markdown] statement="draft.speed"
# Write a function for each of three numbers: the acceptance of laws with any leading shape, the expected tokens per call, and the speedup when a drafted token costs `cost` calls.

# %% exercise="draft.speed"
def acceptance(p, q):
    """p, q (..., V) → (...): how likely a token drawn from q passes."""
    ### BEGIN SOLUTION
    return torch.minimum(p, q).sum(-1)
    ### END SOLUTION


def tokens_per_call(rate, K):
    """Expected number of tokens, as a float, if each of K drafted tokens passes with chance rate."""
    ### BEGIN SOLUTION
    return sum(rate**i for i in range(K + 1))
    ### END SOLUTION


def speedup(rate, K, cost):
    """Times faster than one token per call."""
    ### BEGIN SOLUTION
    return tokens_per_call(rate, K) / (1 + K * cost)
    ### END SOLUTION

# %% [markdown] hints="draft.speed"
# 1. How likely is it that token 3 comes out? What must have passed before?
# 2. `torch.minimum(p, q)`, summed over the tokens. The sum $1 + \alpha + \dots + \alpha^K$ has $K + 1$ terms. A round costs $1 + K \cdot$ `cost`.
# 3. `return torch.minimum(p, q).sum(-1)`, `return sum(rate**i for i in range(…))`, `return tokens_per_call(rate, K) / (…)`.

# %% [markdown] worth="draft.speed"
# For a large model one drafted token of a small one costs a few percent of a call. In a batch of many users, however, calls wait for arithmetic (unit 13), so five tokens cost about five times as much as one, and drafts don't pay.

# %% [markdown]
# ### See it: a table drafts for a Transformer
#
# Now comes the puzzle, in which unit 12's model writes like Jane Austen. The draft is a table of which token follows which in her novels. First your formulas say how many tokens to expect, from both laws on a page that no training read. Then **your** `verify` lets them write.

# %%
p, q = drafting.laws()
rate = acceptance(p, q).mean().item()
print(f"acceptance {rate:.2f}, so {tokens_per_call(rate, 4):.2f} tokens per call with K = 4")

# %%
written = [drafting.write(verify, "The captain was", 60, 4, seed) for seed in (0, 1, 2)]
measured = sum(w.tokens for w in written) / sum(w.calls for w in written)
print(written[0].text.split("\n")[0])
print(f"{sum(w.tokens for w in written)} tokens in {sum(w.calls for w in written)} calls: {measured:.2f} per call")

# %%
reveal("draft.p1",
       lambda: f"{measured:.2f} tokens per call",
       "The first guess saves a call in half of the cases, the second in a quarter, and so on: 1 + 1/2 + 1/4 + 1/8 + 1/16 is a little less than 2.",
       answer=lambda: min(("about 1 token", "about 2 tokens", "about 4 tokens"), key=lambda a: abs(int(a.split()[1]) - measured)))

# %% [markdown]
# Where is drafting easy? Look at the model's law after three beginnings. Where one token has nearly all of the probability, a draft that guesses it will pass, whereas a flat law makes every guess doubtful. (The picture uses the course's own functions for temperature and cutting, which were exercises of unit 12.)

# %%
SamplingExplorer()

# %% [markdown]
# How many tokens should be drafted? The curves show the speedup for three costs of the draft, at this acceptance and at 0.8.

# %%
with described("Speedup against the number of drafted tokens at acceptance {rate:.2f} and 0.8, for three costs: with a "
               "free draft it rises and flattens; with a cost it has a maximum and then falls.", rate=rate):
    for i, a in enumerate((rate, 0.8)):
        for j, cost in enumerate((0, 0.05, 0.2)):
            plt.plot(range(13), [speedup(a, K, cost) for K in range(13)], ("-", "--", ":")[j], color=f"C{i}",
                     label=f"acceptance {a:.2f}, cost {cost}")
    plt.xlabel("drafted tokens K"), plt.ylabel("times faster"), plt.legend(fontsize=8)

# %% [markdown]
# A model can also draft for itself. With *multi-token prediction*, DeepSeek-V3 trains one more block that predicts the token after the next, and uses it as a draft with $K = 1$. Its paper reports an acceptance of 85 to 90 %, so your formula gives 1.85 to 1.9 tokens per call. The paper measured 1.8 times as many tokens per second ([2412.19437](https://arxiv.org/abs/2412.19437), section 5.4.3).

# %% [markdown]
# ## 6. Extension: a wider road
#
# The residual stream carries everything from layer to layer in one vector per token (unit 03). *Hyper-connections* carry $n$ vectors, the *streams*, where $n$ is 4 for example. Before each layer the streams are added to one input, with weights, and the layer's output is written back to all of them. Between layers, an $n \times n$ matrix *mixes* the streams, and training decides how.
#
# What happens to a signal after many such mixings?

# %%
predict("draft.p3", "The mixing matrices are the identity plus noise of 0.3. After 96 of them, a signal is up to…",
        ["about 4 times as large", "about 100 times as large", "more than 1,000 times as large"])

# %%
def gain(matrices):
    """Largest sum of absolute values in a row or a column of the product."""
    product = torch.linalg.multi_dot(matrices).abs()
    return max(product.sum(0).max(), product.sum(1).max()).item()

torch.manual_seed(0)
free_gain = {L: gain([torch.eye(4) + 0.3 * torch.randn(4, 4) for _ in range(L)]) for L in (12, 48, 96)}
print({L: f"{g:,.0f}" for L, g in free_gain.items()})

# %%
reveal("draft.p3",
       lambda: f"{free_gain[96]:,.0f} times",
       "Each matrix may stretch a little, and 96 little stretches multiply.",
       answer=lambda: f"{'more than 1,000' if free_gain[96] > 1000 else 'about 100'} times as large")

# %% [markdown]
# DeepSeek-V4 therefore allows only matrices that are *doubly stochastic*, which means that no entry is negative, and that each row and each column sums to 1. Every new stream is then an average of old ones, so nothing grows. And a product of such matrices is doubly stochastic again.
#
# To get such a matrix from any numbers, take exponentials. Then divide each row by its sum, divide each column by its sum, and repeat. This is the *Sinkhorn* iteration.

# %% [markdown]
# ### Worked example
#
# Suppose that the exponentials are the rows (1, 3) and (1, 1). Divided by the sums of the rows they are (0.25, 0.75) and (0.5, 0.5). The columns then sum to 0.75 and 1.25. Divided by these, the rows are (0.33, 0.6) and (0.67, 0.4). The columns are right, and the rows sum to 0.93 and 1.07, so another round is needed.

# %% [markdown] statement="streams.sinkhorn"
# Write the iteration, in which a round divides first by the sums of the rows (the last axis), then by those of the columns. `logits` as large as 1,000 must not give infinity or NaN, so make the first division of the rows a softmax.

# %% exercise="streams.sinkhorn"
def doubly_stochastic(logits, rounds=20):
    """logits (..., n, n) → (..., n, n), whose rows and columns sum to 1 after enough rounds (arXiv:2512.24880)."""
    ### BEGIN SOLUTION
    x = logits.softmax(-1)
    x = x / x.sum(-2, keepdim=True)
    for _ in range(rounds - 1):
        x = x / x.sum(-1, keepdim=True)
        x = x / x.sum(-2, keepdim=True)
    return x
    ### END SOLUTION

# %% [markdown] hints="streams.sinkhorn"
# 1. What is the exponential of the logits, divided by the sums of its rows? It is a function that you know.
# 2. Start with `logits.softmax(-1)` and divide by the sums of the columns, `x.sum(-2, keepdim=True)`. That was the first round; `rounds - 1` more follow, each with two divisions.
# 3. `x = logits.softmax(-1)`, `x = x / x.sum(-2, keepdim=True)`, `for _ in range(rounds - 1):` both divisions again.

# %% [markdown] worth="streams.sinkhorn"
# Sinkhorn and Knopp proved in 1967 that this converges for positive matrices. Twenty rounds are what DeepSeek-V4 runs in every layer, for every token.

# %%
print("rows of the example after one round:", doubly_stochastic(torch.tensor([[1.0, 3.0], [1.0, 1.0]]).log(), 1).sum(-1))
torch.manual_seed(0)
for L in (12, 48, 96):
    made = [doubly_stochastic(3 * torch.eye(4) + torch.randn(4, 4)) for _ in range(L)]
    print(f"{L} layers: largest gain {free_gain[L]:,.1f} free, {gain(made):.3f} doubly stochastic")

# %% [markdown]
# ### Claim on trial
#
# > *"Averages lose what they average: after many doubly stochastic mixings all streams are the same, so four streams are no better than one."*
#
# If nothing but mixing happened, this would be a matter of how close the matrices are to the identity. So measure how different four streams remain: 1 means as different as at the start, 0 that they are equal.

# %%
def difference(strength, L):
    torch.manual_seed(0)
    x = torch.eye(4)
    for _ in range(L):
        x = doubly_stochastic(strength * torch.eye(4) + torch.randn(4, 4)) @ x
    return (x - x.mean(0)).norm().item() / (torch.eye(4) - 0.25).norm().item()

for strength in (0, 3, 6, 9):
    print(f"diagonal + {strength}: after 12 layers {difference(strength, 12):.3f}, after 96 {difference(strength, 96):.3f}")

# %% [markdown] evidence="exact"
# **Verdict: the claim is right for mixing alone, and how soon it comes true depends on the diagonal.** Strong mixing makes the streams equal within 12 layers, whereas a diagonal of 9 leaves most of the difference after 96. In a model each layer also writes to the streams with different strengths, which makes them differ again.

# %% [markdown]
# ## 7. Extension: one step on the wide road
#
# In DeepSeek-V4 all three kinds of weights are computed from the streams themselves, for each token. Join the $n$ streams of a token to one vector of $n d$ numbers, and divide it by its root mean square (unit 02, without a gain). One matrix makes $2n + n^2$ numbers from this vector, which are split into three parts.

# %% [markdown]
# Each part is multiplied by a number of its own, its `scale`, and a bias is added. Then
#
# - `read` is the sigmoid of the first $n$,
# - `write` is twice the sigmoid of the next $n$,
# - `mix` is your `doubly_stochastic` of the rest, as an $n \times n$ matrix.

# %% [markdown]
# ### Worked example
#
# Two streams hold 1 and 3, and the layer doubles its input. Let `read` be (0.5, 0.5), `write` (1, 2), and `mix` the rows (0.75, 0.25) and (0.25, 0.75). The layer's input is $0.5 \cdot 1 + 0.5 \cdot 3 = 2$, so its output is 4. Stream 0 becomes $0.75 \cdot 1 + 0.25 \cdot 3 + 1 \cdot 4 = 5.5$.
#
# The entry `mix[i, j]` says how much of stream $i$ goes to stream $j$, so the sum runs over the *rows*.

# %% [markdown] statement="streams.step"
# Write the weights, and the step. `layer` is a function from $(B, T, d)$ to the same shape; one call of it serves all streams. Use the root mean square with `eps` inside the root.

# %% exercise="streams.step"
def road_weights(streams, weight, bias, scale, rounds=20, eps=1e-6):
    """streams (B, T, n, d), weight (2n + n², n·d), bias (2n + n²,), scale (3,) → read, write (B, T, n), mix (B, T, n, n)."""
    ### BEGIN SOLUTION
    n = streams.shape[2]
    flat = streams.flatten(2)
    flat = flat * torch.rsqrt(flat.pow(2).mean(-1, keepdim=True) + eps)
    made = (flat @ weight.T).split([n, n, n * n], -1)
    read, write, mix = (m * s + b for m, s, b in zip(made, scale, bias.split([n, n, n * n])))
    return read.sigmoid(), 2 * write.sigmoid(), doubly_stochastic(mix.unflatten(-1, (n, n)), rounds)
    ### END SOLUTION


def wide_step(streams, layer, read, write, mix):
    """streams (B, T, n, d) → the next streams, the same shape."""
    ### BEGIN SOLUTION
    y = layer((read[..., None] * streams).sum(-2))
    return mix.mT @ streams + write[..., None] * y[..., None, :]
    ### END SOLUTION

# %% [markdown] hints="streams.step"
# 1. Which axis of the streams is summed for the layer's input, and which axis of `mix` for a new stream? In the example, stream 0 uses the first *column*.
# 2. Join streams and numbers with `flatten(2)`, norm, multiply by `weight.T`, split into `[n, n, n * n]`. For the step: `(read[..., None] * streams).sum(-2)` goes into the layer; the new streams are `mix.mT @ streams` plus `write[..., None] * y[..., None, :]`.
# 3. `made = (flat @ weight.T).split([n, n, n * n], -1)`; `read.sigmoid(), 2 * write.sigmoid(), doubly_stochastic(mix.unflatten(-1, (n, n)), rounds)`; `return mix.mT @ streams + …`.

# %% [markdown] worth="streams.step"
# With zeros for `weight`, a large diagonal in the bias of `mix`, `read` at $1/n$ and `write` at 1, the streams start as copies of an ordinary residual stream, so a trained model could be widened without changing what it computes.

# %% [markdown]
# What do the streams cost? A token's state is $n$ times as large, but the layers are as wide as before, and the weights per sublayer are few. For $n = 4$ and $d = 4{,}096$:

# %%
n, d = 4, 4096
print(f"weights of one wide step: {(2 * n + n * n) * n * d:,}; of one feed-forward layer of 4 d: {8 * d * d:,}")

# %% [markdown]
# ## 8. Extension: Muon, a step that turns
#
# Adam divides each number of a gradient by its own usual size, as if a matrix were a list of numbers. However, a weight matrix turns vectors into vectors. Its gradient is a sum of directions, each with a strength, its *singular value*. A few strengths are usually far larger than the rest. *Muon* makes them all about equal before it takes a step, so that weak directions are learned as fast as strong ones.

# %% [markdown]
# How can singular values be changed without computing them? For a matrix $X$, the product $(X X^\top) X$ has the same directions, with each value $s$ turned into $s^3$, and $(X X^\top)^2 X$ has $s^5$. So a polynomial of matrices acts on each singular value by itself:
#
# $$X \leftarrow a X + b\,(X X^\top) X + c\,(X X^\top)^2 X \qquad s \leftarrow a s + b s^3 + c s^5$$
#
# The numbers $a = 3.4445$, $b = -4.775$, $c = 2.0315$ are chosen such that five rounds bring everything from 0.01 to 1 near 1, between about 0.7 and 1.2.

# %%
s = torch.tensor([0.01, 0.1, 0.3, 1.0])
for step in range(5):
    s = 3.4445 * s - 4.775 * s**3 + 2.0315 * s**5
    print(step + 1, [round(x, 2) for x in s.tolist()])

# %% [markdown]
# At the start, $X$ is the matrix divided by its norm (the root of the sum of all squares), so no singular value exceeds 1. A tall matrix is transposed first and back at the end. Then $X X^\top$ has the shorter side, which saves work.
#
# The step itself begins with an ordinary momentum $m \leftarrow \beta m + (1 - \beta) g$. Then it looks ahead by applying the same line once more to the new $m$, but does not keep that result. The polynomial's rounds are applied to this result, and the weight moves against what they give, by the rate times $\sqrt{\max(1, \text{rows} / \text{columns})}$.

# %% [markdown] statement="muon.step"
# Write both functions. The matrix is divided by its norm, but never by less than `eps`, so a gradient of zeros gives a step of zeros. For a matrix of many rows and few columns the check counts the work.
#
# No argument is changed in place.

# %% exercise="muon.step"
def orthogonalize(g, rounds=5, eps=1e-7):
    """g (m, n) → (m, n), the same directions with singular values near 1."""
    ### BEGIN SOLUTION
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / x.norm().clamp(min=eps)
    for _ in range(rounds):
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return x.T if g.shape[0] > g.shape[1] else x
    ### END SOLUTION


def muon_step(weight, gradient, momentum, rate, beta=0.95):
    """(next weight, next momentum); all tensors (m, n)."""
    ### BEGIN SOLUTION
    momentum = beta * momentum + (1 - beta) * gradient
    ahead = beta * momentum + (1 - beta) * gradient
    m, n = weight.shape
    return weight - rate * math.sqrt(max(1, m / n)) * orthogonalize(ahead), momentum
    ### END SOLUTION

# %% [markdown] hints="muon.step"
# 1. Put $X X^\top$ into a variable. How can both of its terms be applied to $X$ with one product? When are rows more than columns, and what must happen at the end then?
# 2. `s = x @ x.T`, then `x = a * x + (b * s + c * s @ s) @ x`, five times. For the step: momentum, `ahead` by the same line from the new momentum, then `weight - rate * factor * orthogonalize(ahead)`.
# 3. `x = g.T if g.shape[0] > g.shape[1] else g`, `x = x / x.norm().clamp(min=eps)`; `ahead = beta * momentum + (1 - beta) * gradient`; `return weight - rate * math.sqrt(max(1, m / n)) * …, momentum`.

# %% [markdown] worth="muon.step"
# PyTorch has it as `torch.optim.Muon`, which computes the products in bfloat16: since the values only come near 1 anyway, rounding does not matter. Kimi K2, a model with a trillion parameters, was trained with a variant of it ([2507.20534](https://arxiv.org/abs/2507.20534)).

# %%
torch.manual_seed(0)
gradient = torch.randn(64, 4) @ torch.randn(4, 32) + 0.05 * torch.randn(64, 32)
for name, matrix in (("gradient", gradient / gradient.norm()), ("step", orthogonalize(gradient))):
    values = torch.linalg.svdvals(matrix)
    print(f"{name:9} singular values: largest {values[0]:.2f}, fifth {values[4]:.3f}, smallest {values[-1]:.3f}")

# %% [markdown]
# ### Claim on trial
#
# > *"Muon needs fewer steps than AdamW."*
#
# A fair comparison gives both the best of several rates. Here is one run of each, in which a small model reads the novels character by character. In Muon's run, **your** step moves the matrices of the blocks, and AdamW moves everything else.

# %%
for name, step, rate in (("AdamW", None, 0.01), ("Muon", muon_step, 0.05)):
    print(f"{name:6} rate {rate}: {muon.train(step, rate):.3f} nats per character after {muon.STEPS} steps")

# %%
record = recorded("muon")
with described("Held-out loss of every recorded run against the rate, for AdamW and Muon; recorded on {device}.",
               device=where(record)):
    for i, name in enumerate(("AdamW", "Muon")):
        rows = [row for row in record["rows"] if row["optimizer"] == name]
        plt.semilogx([r["rate"] for r in rows], [r["loss"] for r in rows], "ox"[i], label=name)
    plt.xlabel("rate"), plt.ylabel("nats per character"), plt.legend(), plt.title("recorded: " + where(record), fontsize=9)
show_large("muon")

# %% [markdown] evidence="recorded: muon, control: learning rate"
# **Verdict: in this small model it is right, since Muon is further after as many steps.** Three seeds chose the rate of each optimizer, and {{muon.seeds:word}} fresh seeds compare them at that rate, after {{muon.steps}} steps.
#
# | | best rate | loss |
# |---|---|---|
# | AdamW | {{muon.adamw.rate}} | {{muon.adamw.loss:.3f}} |
# | Muon | {{muon.muon.rate}} | {{muon.muon.loss:.3f}} |
#
# Muon is lower in {{muon.better}} of {{muon.seeds}} seeds, by {{muon.lowest:.3f}} to {{muon.highest:.3f}} nats. A step costs more with it, by five rounds of three products per matrix. This run says nothing about long trainings or large models.

# %% [markdown]
# ## 9. Extension: fewer bits for weights
#
# A step of decoding fetches every weight once. Weights of 4 bits instead of 16 are fetched in a quarter of the time, and a model of 8 billion parameters takes 4 GB instead of 16. The weights are stored as small integers, the *codes*, times a number that several of them share, the *scale*.

# %% [markdown]
# How many weights should share a scale? An *outlier*, one weight that is far larger than the others, makes the scale large, and then small weights all get the code 0. So each row is cut into *groups* of neighbors with a scale each.

# %% [markdown]
# ### Worked example
#
# In 3 bits, codes run from −3 to 3. Take the row 0.1, −0.2, 0.3, 6.0. One scale for all is $6 / 3 = 2$, so the codes are 0, 0, 0, 3, and three weights are lost. In groups of two, the first scale is $0.2 / 3$, with the codes 2 (1.5, rounded to even) and −3. The second is 2, with the codes 0 and 3.
#
# A scale takes 16 bits. Groups of two therefore cost $3 + 16/2 = 11$ bits per weight, and groups of 32 would cost 3.5.

# %% [markdown] statement="bits.groups"
# Write both directions and the cost. A group is `group` neighbors in a row; its scale is its largest magnitude over $2^{\text{bits} - 1} - 1$. A group of zeros has scale 0 and codes 0. If groups do not fit the rows, raise a `ValueError`.

# %% exercise="bits.groups"
def quantize_groups(w, group, bits):
    """w (m, n) → codes (m, n) int8, scale (m, n / group) of w's dtype."""
    ### BEGIN SOLUTION
    if w.shape[1] % group:
        raise ValueError(f"groups of {group} do not fit rows of {w.shape[1]}")
    parts = w.unflatten(-1, (-1, group))
    scale = parts.abs().amax(-1) / (2 ** (bits - 1) - 1)
    safe = torch.where(scale == 0, 1.0, scale)
    return (parts / safe[..., None]).round().flatten(1).to(torch.int8), scale
    ### END SOLUTION


def restore_groups(codes, scale):
    """codes (m, n), scale (m, n / group) → (m, n) in the scale's dtype."""
    ### BEGIN SOLUTION
    parts = codes.unflatten(-1, (scale.shape[1], -1))
    return (parts * scale[..., None]).flatten(1)
    ### END SOLUTION


def bits_per_weight(bits, group, scale_bits=16):
    """Bits that a weight takes, its part of the scale included, as a float."""
    ### BEGIN SOLUTION
    return bits + scale_bits / group
    ### END SOLUTION

# %% [markdown] hints="bits.groups"
# 1. `w.unflatten(-1, (-1, group))` cuts each row into groups. Over which axis is the largest magnitude taken then?
# 2. Scale: `parts.abs().amax(-1)` over the largest code. Divide the groups by it (by 1 where it is 0), round, flatten, and convert to `torch.int8`. Back: cut the codes into as many groups as there are scales, multiply, flatten.
# 3. `safe = torch.where(scale == 0, 1.0, scale)`, `(parts / safe[..., None]).round().flatten(1).to(…)`; `codes.unflatten(-1, (scale.shape[1], -1)) * scale[..., None]`.

# %% [markdown] worth="bits.groups"
# gpt-oss stores its experts in 4 bits with one scale of 8 bits for each 32 weights, so 4.25 bits per weight, and its 120 billion parameters fit on one GPU of 80 GB ([2508.10925](https://arxiv.org/abs/2508.10925)).

# %% [markdown]
# ### Experiment: what does it cost?
#
# Round all matrices in the blocks of the Austen model, and measure bits per byte on pages of the novels that no training read.

# %%
predict("draft.p4", "Weights in 4 bits and groups of 16 instead of 32-bit floats. The loss on unseen pages rises by…",
        ["less than 1 %", "about 10 %", "more than 50 %"])

# %%
exact = fewer_bits.bits_per_byte()
cost = {bits: fewer_bits.bits_per_byte(lambda w: restore_groups(*quantize_groups(w, 16, bits))) for bits in (8, 4, 3, 2)}
print(f"unrounded {exact:.3f} bits per byte")
for bits, now in cost.items():
    print(f"{bits} bits, {bits_per_weight(bits, 16):.0f} with scales: {now:.3f}, {now / exact - 1:+.1%}")

# %%
reveal("draft.p4",
       lambda: f"{cost[4] / exact - 1:.2%}",
       "Rounding errors of many weights mostly cancel. With 2 bits only the codes −1, 0 and 1 are left, and then it breaks.",
       answer=lambda: "less than 1 %" if cost[4] < 1.01 * exact else "about 10 %" if cost[4] < 1.5 * exact else "more than 50 %")

# %% [markdown]
# Now make one weight in each row of a matrix fifty times as large. By how much do smaller groups lower the error of the other weights, and how many bits do they cost?

# %%
torch.manual_seed(0)
w = torch.randn(64, 128)
w[torch.arange(64), torch.randint(0, 128, (64,))] *= 50
small = w.abs() < 5
for group in (128, 32, 8):
    error = (restore_groups(*quantize_groups(w, group, 4)) - w)[small].pow(2).mean().sqrt()
    print(f"groups of {group:3}: {bits_per_weight(4, group):.2f} bits, error of the ordinary weights {error:.2f}")

# %% [markdown]
# In groups of 8 an outlier spoils only its seven neighbors, so the error falls to about a quarter. However, 16-bit scales then cost two bits per weight.

# %% [markdown]
# ## 10. Extension: positions since RoPE
#
# RoPE turns the planes of a token by one number, its place in the text (unit 06). Which number should a piece of a picture have? It has a row and a column, and in a video a time as well. Qwen2-VL's *M-RoPE* gives each token three positions: time, height and width. The planes of a head are cut into three *sections*, and each plane turns by the position of its section. A word has its place three times, so for text nothing changes.

# %% [markdown]
# ### Worked example
#
# A head of $D = 8$ has four planes with the frequencies 1, 0.1, 0.01 and 0.001. Let the sections have 2, 1 and 1 planes. A piece of a picture at time 3, height 5 and width 7 turns its planes by $3 \cdot 1$, $3 \cdot 0.1$, $5 \cdot 0.01$ and $7 \cdot 0.001$. The frequencies run on from section to section.

# %%
theta = 10_000 ** (-torch.arange(0, 8, 2) / 8)
section = [0, 0, 1, 2]
print((torch.tensor([3, 5, 7])[section] * theta).numpy().round(4))

# %% [markdown] statement="positions.sections"
# Turn the planes of all heads. Plane $i$ is the numbers $i$ and $i + D/2$, as in unit 06's `apply_rope_half`. Compute angles in float32, for a float64 input in float64, and return `x`'s dtype. If the sections don't have $D/2$ planes together, raise a `ValueError`.

# %% exercise="positions.sections"
def turn_by_sections(x, positions, sections, base=10000.0):
    """x (B, H, T, D), positions (3, B, T), sections three ints → (B, H, T, D) (arXiv:2409.12191)."""
    ### BEGIN SOLUTION
    D = x.shape[-1]
    if sum(sections) != D // 2:
        raise ValueError(f"sections {sections} don't have {D // 2} planes")
    wide = torch.promote_types(x.dtype, torch.float32)
    theta = base ** -(torch.arange(0, D, 2, dtype=wide) / D)
    axis = torch.arange(3).repeat_interleave(torch.tensor(sections))
    angles = positions[axis].permute(1, 2, 0).unsqueeze(1) * theta
    x1, x2 = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], dim=-1).to(x.dtype)
    ### END SOLUTION

# %% [markdown] hints="positions.sections"
# 1. Compute the frequencies of the whole head first. Then find out for each plane which of the three positions it turns by.
# 2. `axis`, a number 0, 1 or 2 for each plane, chooses rows: `positions[axis]` is $(D/2, B, T)$. Bring the planes to the end, add an axis for the heads, multiply by the frequencies, and turn halves as in unit 06.
# 3. `axis = torch.arange(3).repeat_interleave(torch.tensor(sections))`, `angles = positions[axis].permute(1, 2, 0).unsqueeze(1) * theta`.

# %% [markdown] worth="positions.sections"
# Here all slow planes belong to the width. Qwen3-VL deals the planes out in turn instead, so that time, height and width all have fast and slow ones ([2511.21631](https://arxiv.org/abs/2511.21631)).

# %% [markdown]
# ### Worked example: Llama 3 slows its slow planes down
#
# Llama 3.1 was trained on 8,192 tokens first and then reads 131,072. How often does a plane turn round within the 8,192? A plane with four turns or more keeps its frequency. One with a single turn or less has not seen all its angles, so its frequency is divided by 8. In between, both are mixed in proportion to the turns, while YaRN (unit 06) mixes in proportion to the plane's number.

# %%
def llama3_frequencies(D, base=500_000.0, factor=8.0, low=1.0, high=4.0, trained=8_192):
    """(D / 2,) frequencies of Llama 3.1 (arXiv:2407.21783)."""
    theta = base ** (-torch.arange(0, D, 2) / D)
    turns = trained * theta / (2 * math.pi)
    keep = ((turns - low) / (high - low)).clamp(0, 1)
    return theta * (keep + (1 - keep) / factor)

share = llama3_frequencies(128) * 500_000.0 ** (torch.arange(0, 128, 2) / 128)
for what, planes in (("kept", share > 0.999), ("mixed", (share < 0.999) & (share > 0.126)), ("an eighth", share < 0.126)):
    print(f"{what}: {planes.sum()} of 64 planes")

# %% [markdown]
# ### Worked example: scores that do decay
#
# Unit 06 called the decay of RoPE's scores a tendency, since $q$ and $k$ set the phase of each plane. *xPos* makes it a law: plane $i$ of a query at $m$ is multiplied by $\zeta_i^m$, that of a key at $n$ by $\zeta_i^{-n}$, with $\zeta_i < 1$. So its part of the score shrinks by $\zeta_i^{m - n}$, whatever $q$ and $k$ are. Below, their phases prefer the distance 2,000. The last number in each row is the most that xPos allows there.

# %%
i = torch.arange(32) / 32
theta, zeta = 10_000 ** -i, ((i + 0.4) / 1.4) ** (1 / 512)
for distance in (0, 500, 2_000, 8_000):
    planes = ((distance - 2_000) * theta).cos()
    print(f"distance {distance:5}: RoPE {planes.mean():5.2f}, xPos {(zeta**distance * planes).mean():5.2f}, "
          f"at most {(zeta**distance).mean():.2f}")

# %% [markdown]
# ### Worked example: a table of turns
#
# Angles depend on position and plane, not on the layer or the text. So cosines and sines are computed once, as a table with a row for each position, and every layer looks them up. Such a table belongs in float32: rounding it to bfloat16 is a different mistake from rounding the angles, and a smaller one.

# %%
angles = torch.arange(131_072)[:, None] * llama3_frequencies(128)
table = torch.stack([angles.cos(), angles.sin()])
error = lambda rounded: (rounded.float() - table).abs().max()
print(f"{table.numel() * 4 / 1e6:.0f} MB; rounding the table changes it by {error(table.bfloat16()):.3f}, "
      f"rounding the angles by {error(torch.stack([angles.bfloat16().cos(), angles.bfloat16().sin()])):.1f}")

# %% [markdown]
# ## 11. Extension: whole models of today
#
# Which models use what you wrote in the last two units? Five of them can be put together from your answers, as unit 11 did with older ones. The course only connects the parts, while everything that computes something is **yours**.
#
# | model | what is new in it |
# |---|---|
# | gpt-oss | sinks, windows in every second layer, stretched rotations, experts |
# | DeepSeek-V3 | latents as in unit 14, a router with a bias, groups of experts |
# | DeepSeek-V3.2 | an indexer that chooses what attention reads |
# | Qwen3-Next | states by the delta rule, gated attention, experts |
# | OLMo hybrid | the same states with rates up to 2 |

# %%
from anatomy import parts
parts.show(*parts.needed_by("gpt_oss"))

# %% [markdown]
# The next cell builds all five in a tiny size and loads random weights of Hugging Face's models by name, so that none may be missing or left over. Then both read the same two texts, one of them padded, and write nine tokens. If a part is still to do, the row of each model that needs it says where it is.

# %%
parts.compare_newer()

# %% [markdown]
# How large is a difference that comes from a mistake? For example, let every second layer of gpt-oss see five tokens instead of four, although the weights load as before.

# %%
parts.compare_newer("gpt_oss", window=5)

# %% [markdown]
# Differences of a few millionths are rounding, whereas a single wrong number in a configuration shows at once.

# %% [markdown]
# ## 12. Your own experiment
#
# How many experts should a small model have? The growing model below reads the novels character by character, with a mixture of experts built on **your** router. Every token uses one expert, so both models need the same work per token, although they store different numbers of parameters.

# %%
from anatomy.experiments.growing import grow

class Mixture(nn.Module):
    def __init__(self, d, n_experts, k=1):
        super().__init__()
        self.router, self.k = nn.Linear(d, n_experts, bias=False), k
        self.up = nn.Parameter(torch.randn(n_experts, d, 2 * d) / d**0.5)
        self.down = nn.Parameter(torch.randn(n_experts, 2 * d, d) / (2 * d) ** 0.5)

    def forward(self, x):
        weights, chosen = route(self.router(x), self.k)
        share = torch.zeros_like(self.router(x)).scatter(-1, chosen, weights)
        every = torch.einsum("btd,edf->btef", x, self.up).relu()
        return torch.einsum("btef,efd,bte->btd", every, self.down, share)

# %%
for n_experts in (1, 4):
    grown = grow(steps=100, seed=0, make_ffn=lambda d: Mixture(d, n_experts))
    print(f"{n_experts} experts: {grown.parameters:,} parameters, {grown.loss:.3f} nats per character")

# %% [markdown]
# Nothing here is graded. (For simplicity this layer computes all experts and hides most of them; a real one computes only the chosen.) Try $k = 2$, more experts, or a balance: where would you add **your** loss? (If it is computed and printed but never added, nothing changes, and no error says so.) Run at least two seeds for each setting, and write down in one sentence what a fourfold number of experts is worth.

# %% [markdown] written="question"
# A team speeds up its chat model with drafts from a small model. Users complain that answers got worse. An engineer finds that all drafted tokens with $p(x) > 0.1$ are kept, and that refused ones are drawn anew from $p$. Why does the text no longer have the model's law? Say what is wrong with each of the two rules, give a small example with numbers, and describe a test that would have found it.
#
# - what happens to a token that the draft draws too often
# - which law a token has that is drawn after a refusal
# - how the output's law can be compared with the model's

# %% [markdown] written="answer" points=3
# A token may be kept only with the chance $\min(1, p/q)$. With a fixed threshold, a token that the draft draws too often comes out too often. For example, for $p = (0.5, 0.5)$ and $q = (0.8, 0.2)$ both tokens are above 0.1, so all are kept and A comes out with 0.8. The second rule is wrong even with right acceptance: after a refusal, the new token has to come from the residual law, $\max(0, p - q)$ divided by its sum. Drawing from $p$ gives A again with 0.5, so A has $0.5 + 0.3 \cdot 0.5 = 0.65$. A test adds up the output's law over all drafted tokens and random numbers, or draws many and compares shares with $p$, in a case where $q$ is far from $p$; reading texts does not show it.
#
# ### BEGIN MARK SCHEME
# - 1 point: acceptance needs the ratio p/q, with the reason: what the draft draws too often must be refused in part.
# - 1 point: after a refusal the residual law, not p; an example with numbers for at least one of the two rules.
# - 1 point: a test that compares laws, exact or by many draws, with a draft that differs from the model.
# - No point: "the small model is worse", without saying that exact verification would hide it.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("A router takes its top 1 and then a softmax over what it chose. What goes wrong?",
     {"the weight is always 1, so the router gets no gradient": (True, "One number after a softmax is 1, whatever it was."),
      "nothing, the order doesn't matter": (False, "It does not change who is chosen, but it changes the weights."),
      "the wrong expert is chosen": (False, "A softmax keeps the order.")})

# %%
quiz("In layer 1 all tokens choose expert 0, in layer 2 all choose expert 1. A balance loss over both layers joined says…",
     {"all is even": (True, "The imbalances cancel, so the loss must be computed per layer."),
      "as uneven as possible": (False, "Joined, both experts have the same share.")})

# %%
quiz("A balance loss is computed in each step and printed, but never added to the loss of the model. The load is…",
     {"as uneven as without it": (True, "Only what is added to the loss gets a gradient, and no error tells."),
      "even": (False, "A number that is only printed trains nothing.")})

# %%
quiz("A draft that is always refused makes the text…",
     {"worse": (False, "Each token then comes from the residual law, and the output's law is the model's."),
      "slower than without a draft": (True, "One token per call, and the drafting on top."),
      "repeat itself": (False, "Nothing of the draft is left in it.")})

# %%
quiz("Why doubly stochastic, and not just small numbers?",
     {"products of such matrices are such matrices": (True, "So the gain is 1 after any number of layers."),
      "they are symmetric": (False, "Most of them are not."),
      "they can be inverted": (False, "Not all, and nobody inverts them.")})

# %%
quiz("Muon makes the singular values of a step…",
     {"about equal": (True, "Between about 0.7 and 1.2, which is near enough."),
      "smaller than those of Adam's step": (False, "It says nothing about Adam's."),
      "exactly 1": (False, "Five rounds of the polynomial only come near.")})

# %%
progress("15-experts-and-drafts")

# %% [markdown]
# ## Where this lives in real models
#
# | what | where |
# |---|---|
# | softmax router, capacity, loss | [Switch](https://arxiv.org/abs/2101.03961), [Mixtral](https://arxiv.org/abs/2401.04088), Qwen3-Next |
# | sigmoid router, moved bias, shared expert | [DeepSeek-V3](https://arxiv.org/abs/2412.19437), [Kimi K2](https://arxiv.org/abs/2507.20534), [bias alone](https://arxiv.org/abs/2408.15664) |
# | draft and verify | [Leviathan et al. 2022](https://arxiv.org/abs/2211.17192), [Chen et al. 2023](https://arxiv.org/abs/2302.01318) |
# | wide residual streams | [Zhu et al. 2024](https://arxiv.org/abs/2409.19606), [doubly stochastic](https://arxiv.org/abs/2512.24880), DeepSeek-V4 |
# | Muon | [Jordan et al. 2024](https://kellerjordan.github.io/posts/muon/), Kimi K2 |
# | positions of pictures, scaled planes, decay | [Qwen2-VL](https://arxiv.org/abs/2409.12191), [Llama 3.1](https://arxiv.org/abs/2407.21783), [xPos](https://arxiv.org/abs/2212.10554) |
# | weights in 4 bits | [GPTQ](https://arxiv.org/abs/2210.17323), [gpt-oss](https://arxiv.org/abs/2508.10925) |
#
# What is still open is how all these parts behave together in a large model, which no small run can show. This was the last unit, and `progress()` says what is still open for you. `anatomy certificate`, in a terminal, puts what you built on one page to print.
