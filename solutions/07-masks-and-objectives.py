# %% [markdown]
# # Masks and objectives
#
# **You will be able to**
#
# - write causal masks, also for a cache, and prove that nothing leaks;
# - compute a text's probability and perplexity, and spot a meaningless loss;
# - make training examples for GPT and BERT;
# - choose between encoder, decoder and both;
# - in the extensions: more masks, more objectives, and CLIP's contrastive loss.
#
# **Prerequisites:** unit 01. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Two models of the same size read the same texts for 300 steps. Both learn to predict the next token, here a word or a full stop. Their loss on new texts says how much the right tokens surprise them.
#
# | | loss per token | best possible |
# |---|---|---|
# | model A | {{leak.causal.at_300:.2f}} | {{leak.entropy:.2f}} |
# | model B | {{leak.bidirectional.at_300:.3f}} | {{leak.entropy:.2f}} |
#
# *Best possible* is not an estimate, since the texts come from dice, and {{leak.entropy:.2f}} is the uncertainty that the dice leave. But somehow B beats the dice. (Medians of {{leak.seeds:word}} recorded runs.)

# %% setup=true
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from anatomy import case, check, predict, progress, quiz, reveal
from anatomy.plots import described, use_style
from anatomy.widgets import MaskExplorer, ObjectiveLab
from torch import nn

use_style()

# %%
predict("masks.p1", "Both models now write texts, one token after the other. Which of them writes more correct sentences?",
        ["A", "B", "about the same"])

# %% [markdown]
# You will train both models in section 4. They differ only in their mask, so this unit begins with masks.

# %% [markdown]
# ## 1. Not looking ahead
#
# A model that learns to predict the next token must not see it, or it would learn nothing but to copy. We say that a query *sees* a key, or may look at it, if the key takes part in the query's softmax. The **causal mask** lets query $t$ see the keys $0 \dots t$. As a table it has a row for each query and a column for each key, and True means that the query may look at the key.

# %% [markdown]
# ### Worked example
#
# Take three tokens whose scores are all equal. The mask leaves them 1, 2 and 3 keys, which share the weight equally.

# %%
may = torch.ones(3, 3, dtype=torch.bool).tril()
weights = torch.zeros(3, 3).masked_fill(~may, -math.inf).softmax(-1)
may, weights

# %% [markdown]
# With the values 2, 4 and 9 the outputs are therefore 2, then $(2 + 4)/2 = 3$, then $(2 + 4 + 9)/3 = 5$. In symbols, the output of query $t$ is
#
# $$\text{out}_t = \sum_{s \le t} \frac{e^{x_{ts}}}{\sum_{r \le t} e^{x_{tr}}}\; v_s, \qquad x_{ts} = \frac{q_t \cdot k_s}{\sqrt D}$$
#
# Both sums end at $t$, although this is easily forgotten for the lower one.

# %% [markdown] statement="mask.causal"
# Write causal self-attention, which consists of scores, mask, softmax and weighted sum, for tensors with any leading axes. You may use `torch.softmax`, but not PyTorch's own attention function.
#
# The check also looks at gradients, through `q`, `k` and `v`. From the output of token $t$, no gradient may flow to a later token, and some gradient must flow to every earlier one.

# %% exercise="mask.causal"
def causal_attention(q, k, v):
    """Attention in which query t sees keys 0 … t (arXiv:1706.03762, section 3.2.3).

    Args:
        q, k: (..., T, D) float tensors. v: (..., T, Dv).

    Returns:
        (..., T, Dv) tensor, same dtype.
    """
    T, D = q.shape[-2:]
    ### BEGIN SOLUTION
    may = torch.ones(T, T, dtype=torch.bool).tril()
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)  # (..., T, T)
    return scores.masked_fill(~may, -math.inf).softmax(-1) @ v
    ### END SOLUTION

# %% [markdown] hints="mask.causal"
# 1. The worked example has everything except the scores. Where in it does the mask come, before or after the softmax?
# 2. The scores are `q @ k.transpose(-2, -1) / math.sqrt(D)`. Fill them with `-math.inf` where a mask `torch.ones(T, T, dtype=torch.bool).tril()` is False, take the softmax over the last axis, and multiply by `v`.
# 3. `scores.masked_fill(~may, -math.inf).softmax(-1) @ …`, with `may` as in the worked example for any T.

# %% [markdown] worth="mask.causal"
# In floating point, $e^{-\infty}$ is exactly 0, and so is every gradient that passes through it. A test for leaks therefore needs no tolerance, and any entry above the diagonal that is not 0 is a bug.

# %% [markdown]
# ### See it
#
# Do not trust a mask, but measure what it does, since a wrong one raises no error. Entry $[i, j]$ in the pictures below is the largest derivative of output $i$ with respect to input $j$ (from the **Jacobian**). A causal layer has zeros above the diagonal *and none below it*. A layer that reads nothing meets the first condition, too.

# %%
def dependence(f, x):
    jacobian = torch.autograd.functional.jacobian(f, x)  # (T, d_out, T, d)
    return jacobian.abs().amax(dim=(1, 3))

def mask_after_softmax(q, k, v):
    may = torch.ones(len(q), len(q)).tril()
    return (q @ k.T / math.sqrt(q.shape[-1])).softmax(-1) * may @ v

torch.manual_seed(0)
x = torch.randn(6, 4)
tables = [dependence(lambda x: f(x, x, x), x) for f in (causal_attention, mask_after_softmax, lambda q, k, v: v)]

# %%
titles = ["yours", "mask after the softmax", "reads nothing"]
with described("Three 6 by 6 pictures. Yours is a filled lower triangle. With the mask after the softmax the "
               "cells above the diagonal are filled as well. The layer that reads nothing has a diagonal alone."):
    figure, panels = plt.subplots(1, 3, figsize=(9, 3))
    for panel, table, title in zip(panels, tables, titles):
        panel.imshow(table.clamp(min=1e-4).log10(), cmap="Blues", vmin=-4, vmax=0.5)
        panel.set(title=f"{title}\nabove the diagonal: {table.triu(1).max():.2f}", xlabel="input token")
        panel.grid(False)
    panels[0].set(ylabel="output token")

# %% [markdown]
# The middle picture shows a famous leak. Its weights above the diagonal are erased, but they have already been counted in the sum below the fraction. Since this sum divides every weight, the model can read the future from how large its own weights are.

# %% [markdown]
# ### Claim on trial
#
# > *"Positions that must not be attended to are set to 0."*
#
# But *what* is set to 0? It could be the *score*, or the *weight* after the softmax, whereas the worked example set the score to $-\infty$. Here are all three, on one row whose last key is forbidden.

# %%
scores, may = torch.tensor([[-1.0, -2.0, 3.0]]), torch.tensor([[True, True, False]])
for name, w in [("score 0", scores.masked_fill(~may, 0.0).softmax(-1)),
                ("weight 0", scores.softmax(-1) * may),
                ("score −∞", scores.masked_fill(~may, -math.inf).softmax(-1))]:
    print(f"{name:9}", [round(a, 3) for a in w[0].tolist()], f"sum {w.sum():.3f}")

# %% [markdown] evidence="exact"
# **Verdict: a score of 0 hides nothing, since it is the weight that has to become 0.** Here a score of 0 even gives the forbidden key the largest weight of all. Erasing the weight after the softmax is not enough either, because the row then sums to 0.024 and not to 1. Only a score of $-\infty$ removes the weight and leaves a sum of 1.

# %% [markdown]
# ## 2. Fewer queries than keys
#
# A model that writes keeps the keys of what it has read (unit 08), so that of $S$ tokens only the $T$ newest need queries. Query $i$ is at position $i + S - T$, which means that we need the **last** $T$ rows of the square mask.

# %%
square = torch.ones(5, 5, dtype=torch.bool).tril()
square[-2:].int()

# %% [markdown] statement="mask.rectangular"
# Return the $(T, S)$ boolean mask of the last $T$ of $S$ tokens, where `S=None` means $S = T$.
#
# Raise a `ValueError` when $T < 1$ or $S < T$, because then a query without any key would be left, or no query at all.

# %% exercise="mask.rectangular"
def causal_mask(T, S=None):
    """Causal mask for the newest T of S tokens.

    Args:
        T: int, queries. S: int, keys; None means T.

    Returns:
        (T, S) boolean tensor, True = may look.
    """
    S = T if S is None else S
    ### BEGIN SOLUTION
    if T < 1 or S < T:
        raise ValueError(f"{T} queries need at least as many keys, not {S}")
    query = torch.arange(S - T, S)[:, None]  # (T, 1)
    return torch.arange(S) <= query
    ### END SOLUTION

# %% [markdown] hints="mask.rectangular"
# 1. With T = 1 and S = 6 the answer is six times True. What does a plain `tril()` give, and how far is it off?
# 2. Either compare `torch.arange(S)` with the queries' positions as a column, or give `tril` the offset S − T.
# 3. `return torch.arange(S) <= torch.arange(…, S)[:, None]`, after the check.

# %% [markdown] worth="mask.rectangular"
# With fewer queries than keys, conventions differ. `is_causal=True` in PyTorch's `scaled_dot_product_attention` aligns the triangle with the top left corner, whereas FlashAttention since version 2.1 aligns it with the bottom right, as here.

# %% [markdown]
# ### See it
#
# Read seven tokens at once, or first four and then three. If the mask is right, the last three outputs agree up to rounding.

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 7, 4)
whole = F.scaled_dot_product_attention(q, k, v, attn_mask=causal_mask(7))
later = F.scaled_dot_product_attention(q[4:], k, v, attn_mask=causal_mask(3, 7))
(whole[4:] - later).abs().max().item()

# %% [markdown]
# The explorer shows all masks of this unit, including your own. Choose one, point at its cells to find out what a query sees, and click on a cell to change it. The picture on the right adds layers, because what one layer hides can still arrive by way of another token.

# %%
MaskExplorer({"causal_mask": causal_mask})

# %% [markdown]
# ## 3. The probability of a text
#
# To know what a good loss means, we have to know what it measures. A language model gives a probability to every text, as a product of conditional probabilities. This needs no assumption, only an order, which here is from left to right.
#
# $$p(x_1, x_2, \dots, x_T) = \prod_t p(x_t \mid x_1, \dots, x_{t-1})$$

# %% [markdown]
# Predicting each token from the earlier ones is called **autoregressive**. A *regression* predicts one quantity from others, and here the others are earlier parts of the same (*auto*) sequence. The causal mask makes this possible for a whole text in one pass, since the output at position $t$ depends only on tokens up to $t$. An **autoencoding** model such as BERT (section 5), in contrast, gets a damaged text and restores it, and may look at both sides of the damage.

# %% [markdown]
# ### Worked example: the shift
#
# Suppose that the text *one dog barks* has the ids 5, 7 and 9. At position 0 the model reads 5 and should predict 7, and at position 1 it reads 7 and should predict 9. The last position has nothing to predict.

# %% [markdown]
# The loss of such a pair is $-\ln p$ of the right token. With the natural logarithm it comes in *nats*, each of which is 1.44 bits. Suppose that the two right tokens get the probabilities 1/4 and 1/2. Then the mean loss is this number of nats.

# %%
-(math.log(1 / 4) + math.log(1 / 2)) / 2

# %% [markdown] statement="objective.next_token"
# `next_token_pairs` cuts a text into inputs and targets, $(B, T-1)$ each, and raises a `ValueError` for fewer than two tokens.
#
# `next_token_loss` gets logits for **all** $T$ positions and returns the mean of $-\ln p$ over the pairs that count, in nats. A pair counts when both its input and its target are `real`, that is, not padding. When `real` is None, all pairs count.

# %% exercise="objective.next_token"
def next_token_pairs(ids):
    """ids (B, T) int64 → inputs and targets, (B, T-1) each."""
    ### BEGIN SOLUTION
    if ids.shape[1] < 2:
        raise ValueError(f"a text of {ids.shape[1]} token has nothing to predict")
    return ids[:, :-1], ids[:, 1:]
    ### END SOLUTION


def next_token_loss(logits, ids, real=None):
    """logits (B, T, V), ids (B, T), real (B, T) boolean or None → mean loss in nats, a scalar
    tensor of the dtype of logits. Gradients flow back to logits."""
    _, targets = next_token_pairs(ids)
    ### BEGIN SOLUTION
    nll = F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), reduction="none").view(targets.shape)
    if real is None:
        return nll.mean()
    counts = real[:, :-1] & real[:, 1:]
    return nll[counts].mean()
    ### END SOLUTION

# %% [markdown] hints="objective.next_token"
# 1. Three tokens make two pairs. At which of the three positions are the logits not needed?
# 2. The inputs are `ids[:, :-1]`, the targets `ids[:, 1:]`, and their logits `logits[:, :-1]`. Get one loss per pair (`F.cross_entropy(…, reduction="none")`, or `log_softmax` and `gather`), keep those that count, and take the mean.
# 3. `nll = F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), reduction="none").view(targets.shape)`, `counts = real[:, :-1] & …`, `return nll[counts].mean()`.

# %% [markdown] worth="objective.next_token"
# Logits need much memory. In float32, for example, 4,096 positions times the 128,256 tokens of Llama 3's vocabulary take 2.1 GB. Training code can compute this loss in chunks, so that the logits never all exist at once.

# %% [markdown]
# A loss in nats is hard to imagine, which is why papers report the **perplexity** $e^{\text{loss}}$. It is the number of equally likely tokens that would leave one as unsure. A fair die, for example, has a loss of $\ln 6$ and a perplexity of 6.
#
# A corpus comes in batches of different sizes. Suppose that one has three tokens with a mean loss of $\ln 2$, and another has a single token with $\ln 8$. Since every token counts equally, the perplexity is
#
# $$\exp \frac{3 \ln 2 + 1 \ln 8}{4} = 2^{6/4} = 2.83, \qquad \text{not}\; \frac{2 + 8}{2} = 5$$

# %% [markdown] statement="objective.likelihood"
# `sequence_log_probability` returns $\ln p$ of each text, which is the sum over its steps. Here `logits[:, t]` already belong to `targets[:, t]`, so nothing is shifted.
#
# `perplexity` combines the mean loss of each batch and its number of predicted tokens. If there are no tokens at all, it raises a `ValueError`.

# %% exercise="objective.likelihood"
def sequence_log_probability(logits, targets):
    """logits (B, T, V), targets (B, T) → (B,) log-probabilities in nats, same dtype; gradients flow back."""
    ### BEGIN SOLUTION
    log_p = logits.log_softmax(-1)
    return log_p.gather(-1, targets[..., None]).squeeze(-1).sum(-1)
    ### END SOLUTION


def perplexity(losses, counts):
    """losses: list of mean losses in nats. counts: list of tokens predicted in each (0 or more) → float."""
    ### BEGIN SOLUTION
    if sum(counts) < 1:
        raise ValueError("no token was predicted")
    return math.exp(sum(loss * n for loss, n in zip(losses, counts)) / sum(counts))
    ### END SOLUTION

# %% [markdown] hints="objective.likelihood"
# 1. Probabilities multiply. What do their logarithms do? And which batches of the corpus should count more than others?
# 2. Take `log_softmax` over the vocabulary, `gather` the targets' entries, and sum over time. For the perplexity, divide the total loss by the total number of tokens, then use `math.exp`.
# 3. `log_p.gather(-1, targets[..., None]).squeeze(-1).sum(…)`; `math.exp(sum(loss * n for …) / sum(counts))`.

# %% [markdown] worth="objective.likelihood"
# Multiplying probabilities fails early, since 100 tokens of probability 1/4 each give $6\cdot 10^{-61}$, whereas float32 ends near $10^{-45}$. The sum of their logarithms is a harmless −138.6.

# %% [markdown]
# ### See it
#
# The same text can be split into words, or into four times as many letters. Its probability is one number, whereas the perplexity depends on the pieces.

# %%
log_p, n_words = -30.0, 10
for unit, n in (("word", n_words), ("letter", 4 * n_words)):
    print(f"perplexity per {unit:6} {perplexity([-log_p / n], [n]):6.2f}")

# %% [markdown]
# Perplexities can therefore be compared only between models with the same pieces, and only where nothing leaks. This brings us back to the puzzle.

# %% [markdown]
# ## 4. The leak
#
# To find out how B can beat the dice, train both models. They read sentences such as *one dog sees two cats .* in which number words and verbs agree with the animals, and the two animals are of different kinds. Everything else is left to dice, with 2 · 4 · 3 · 2 · 3 = 144 sentences, $\ln 144 / 6 = {{leak.entropy:.2f}}$ nats per token. This is the *entropy* of the texts, below which no honest model gets. The two runs use the same model and your `next_token_loss`, but different masks.

# %%
from anatomy.experiments import leak

print(leak.spell(leak.texts(1, torch.Generator().manual_seed(0))[0].tolist()))
models, curves = {}, {}
for name, mask_of in (("causal", causal_mask), ("bidirectional", leak.full_mask)):
    models[name], curves[name] = leak.train(mask_of, next_token_loss, steps=300)
    print(f"{name:14} loss {curves[name][-1][1]:.3f}")

# %%
from anatomy.experiments import show_large, where

record = leak.recorded()
steps, seeds = record["curves"]["causal"][0][-1][0], len(record["curves"]["causal"])
with described("Loss against steps, yours and {seeds} recorded runs of {steps} steps: the causal model flattens at the "
               "entropy {entropy:.2f}, the bidirectional one falls through it toward 0.",
               seeds=seeds, steps=steps, entropy=leak.ENTROPY):
    figure, panels = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
    for i, name in enumerate(leak.SETTINGS):
        panels[0].plot(*zip(*curves[name]), color=f"C{i}", label=name)
        for seed in record["curves"][name]:
            panels[1].plot(*zip(*seed), color=f"C{i}", ls=("-", "--")[i], lw=1)
    for panel, title in zip(panels, ("yours", f"recorded: {steps} steps, {seeds} seeds\n{where(record)}")):
        panel.axhline(leak.ENTROPY, color="gray", lw=1, ls=":")
        panel.set(xlabel="step", ylim=(0, 3.2)), panel.set_title(title, fontsize=10)
    panels[0].set(ylabel="loss per token (nats)"), panels[0].legend()
show_large("leak")

# %% [markdown]
# The bidirectional model has learned only one thing. What it should predict at position $t$ is in its input at position $t + 1$, and so it looks there. The next picture shows this by gradients, for the answer at position 8.

# %%
ids = leak.texts(1, torch.Generator().manual_seed(3))

def slopes(model, position=8):
    x = model.words(ids).detach().requires_grad_()
    h = x + model.places.weight[:ids.shape[1]]
    for block in model.blocks:
        h = block(h, model.mask_of(ids.shape[1]))
    model.head(model.norm(h))[0, position, ids[0, position + 1]].backward()
    return x.grad[0].norm(dim=-1)

# %%
with described("Bars over 19 positions: the causal model depends on positions 0 to 8 only, the bidirectional one on 8 and 9 "
               "above all."):
    for i, name in enumerate(leak.SETTINGS):
        s = slopes(models[name])
        plt.bar(torch.arange(len(s)) + 0.4 * i - 0.2, s / s.max(), 0.4, label=name, hatch=("", "//")[i])
    plt.axvline(8.5, color="gray", lw=1), plt.xticks(range(0, 19, 2)), plt.legend()
    plt.xlabel("input position"), plt.ylabel("slope (largest = 1)")

# %% [markdown]
# ### And now without a future
#
# While a text is being written, the next token does not exist yet. To try this, give each model only the beginning of a text, and ask for the next token.

# %%
print(f"{'':15}whole text   beginning only   (guessing blindly: ln 17 = {math.log(17):.2f})")
for name, model in models.items():
    whole, cut = leak.loss_by_place(model), leak.loss_by_place(model, future=False)
    print(f"{name:15}{sum(whole) / 6:10.3f}{sum(cut) / 6:17.2f}")

# %%
written = {name: leak.write(model) for name, model in models.items()}
right = {name: leak.share_right(ids) for name, ids in written.items()}
for name, ids in written.items():
    print(f"{name}: {leak.spell(ids[0].tolist())}")

# %%
reveal("masks.p1",
       lambda: ", ".join(f"{n} {share:.0%} right" for n, share in right.items()),
       "A is the causal model and B the bidirectional one. B always had the answer in sight (except at the last "
       "position, where the answer is always a full stop), so it never learned to predict. "
       "The causal model loses nothing when the future is cut off, because it never saw one.",
       answer=lambda: "about the same" if abs(right["causal"] - right["bidirectional"]) < 0.1
       else "A" if right["causal"] > right["bidirectional"] else "B")

# %% [markdown]
# There is a deeper reason why B's loss means nothing. Add up $p$ over *all* $17^2 = 289$ texts of two tokens. If $p$ is a probability, the sum is 1.

# %%
two = torch.cartesian_prod(torch.tensor([0]), torch.arange(17), torch.arange(17))
with torch.no_grad():
    for name, model in models.items():
        total = sequence_log_probability(model(two)[:, :-1], two[:, 1:]).exp().sum()
        print(f"{name:14} {total:.3f}")

# %% [markdown]
# Factors that have seen their own answers are not conditional probabilities, so their product is not the probability of the text. Although B's loss can be exponentiated, the result is not a perplexity.

# %% [markdown]
# ### Claim on trial
#
# > *"Models with a non-causal mask converge faster and reach a lower perplexity; they understand better, and are only less handy for generation."*
#
# Such a loss can be measured with the target in sight, or without it, as in writing. Here are both for the recorded runs, as means at two learning rates. (Guessing blindly costs $\ln 17 = 2.83$ nats.)

# %%
mean = lambda runs: sum(sum(r) / len(r) for r in runs) / len(runs)
for rate, runs in leak.by_rate(record).items():
    for name in leak.SETTINGS:
        print(f"rate {rate}  {name:14} whole {mean(runs['whole'][name]):.3f}, beginning {mean(runs['cut'][name]):.2f}, "
              f"right sentences {sum(runs['right'][name]) / seeds:.0%}")

# %% [markdown] evidence="recorded: leak, control: learning rate"
# **Verdict: without a causal mask the loss is lower only because the model sees the answers, and it writes far worse.** With the target in sight, {{leak.bidirectional.beats}} of {{leak.runs}} such runs beat the entropy, which no honest model can. Without it, {{leak.bidirectional.blind}} of {{leak.runs}} do worse than guessing blindly. On average only {{leak.bidirectional.right:.0%}} of the sentences that they write are correct, against {{leak.causal.right:.0%}} for causal models.

# %% [markdown]
# A masked or infilling model also sees both sides. There it is fair, since its targets are *hidden from the input*. However, filling a gap is easier than going on, so a lower loss does not show better understanding.

# %% [markdown]
# ## 5. Hiding tokens: BERT
#
# A model can read in both directions without seeing the answer if the answer is removed from the input. BERT ([Devlin et al. 2018](https://arxiv.org/abs/1810.04805)) selects 15 % of the ordinary tokens and predicts these. Of the selected tokens, 80 % become `[MASK]`, 10 % become a random token, and 10 % stay as they are. Why are not all of them masked? Once the model is used, `[MASK]` never occurs, and the other 20 % make it keep track of ordinary tokens, too.

# %% [markdown]
# This is the first of two stages. In *pretraining* the model learns from much text that nobody had to label. In *fine-tuning* the same weights are trained a little further on a labeled task, such as telling good reviews from bad ones. A small new layer, the *head*, reads the answer off the output at `[CLS]`, a special token at the beginning of each input.

# %% [markdown]
# ### Worked example
#
# The random draws are arguments of the function, which makes it testable. Suppose that the tokens are 11 … 15, and that the first three are selected and draw 0.5, 0.85 and 0.95.
#
# | token | selected | draw | input | label |
# |---|---|---|---|---|
# | 11 | yes | 0.5 | 4 (`[MASK]`) | 11 |
# | 12 | yes | 0.85 | 72 (random) | 12 |
# | 13 | yes | 0.95 | 13 (kept) | 13 |
# | 14 | no | 0.5 | 14 | −100 |
# | 15 | no | 0.85 | 15 | −100 |
#
# The label −100 means *no label*, since PyTorch's losses skip it.

# %% [markdown] statement="objective.masked_lm"
# `select_tokens` selects a token when its draw `u` is below `rate` and the token is not `special` (as `[CLS]` is).
#
# `mask_tokens` replaces a selected token by `mask_id` when its draw is below 0.8, and by the entry of `random_ids` when the draw is from 0.8 to below 0.9. From 0.9 on the token stays. Labels are the original ids of *all* selected tokens, and −100 elsewhere. The tensor `ids` itself must not be changed.

# %% exercise="objective.masked_lm"
def select_tokens(u, special, rate=0.15):
    """u (B, T) uniform draws, special (B, T) boolean, rate in 0 … 1 → (B, T) boolean."""
    ### BEGIN SOLUTION
    return (u < rate) & ~special
    ### END SOLUTION


def mask_tokens(ids, selected, u, random_ids, mask_id):
    """ids, random_ids (B, T) int64, selected (B, T) boolean, u (B, T) → inputs and labels, (B, T) int64 each."""
    labels = torch.where(selected, ids, -100)
    ### BEGIN SOLUTION
    inputs = torch.where(selected & (u < 0.8), mask_id, ids)
    inputs = torch.where(selected & (u >= 0.8) & (u < 0.9), random_ids, inputs)
    return inputs, labels
    ### END SOLUTION

# %% [markdown] hints="objective.masked_lm"
# 1. `labels` is given. Build the inputs in the same way. Which of the three tensors is used at which positions?
# 2. Use `torch.where` twice, first with `mask_id` where `selected & (u < 0.8)`, then with `random_ids` where selected and $0.8 \le u < 0.9$. What is left is the third action.
# 3. `inputs = torch.where(selected & (u < 0.8), mask_id, ids)`, then `inputs = torch.where(selected & (u >= 0.8) & …, random_ids, inputs)`.

# %% [markdown] worth="objective.masked_lm"
# In one pass BERT learns from 15 % of its tokens, whereas GPT learns from nearly all. ModernBERT raised BERT's share to 30 % ([2412.13663](https://arxiv.org/abs/2412.13663)).

# %% [markdown]
# ### See it
#
# The next cell takes 100,000 tokens and counts what your functions do with them.

# %%
g = torch.Generator().manual_seed(0)
ids, random_ids = torch.randint(10, 1000, (2, 1, 100_000), generator=g)
u, again = torch.rand(2, 1, 100_000, generator=g)
chosen = select_tokens(u, torch.zeros_like(u).bool())
inputs, labels = mask_tokens(ids, chosen, again, random_ids, 4)
print(f"selected {chosen.float().mean():.1%}, of these [MASK] {(inputs[chosen] == 4).float().mean():.1%}, "
      f"unchanged {(inputs[chosen] == ids[chosen]).float().mean():.1%}")

# %% [markdown]
# ### Extension: static or dynamic?
#
# BERT masked its data in advance, in 10 different ways, and cycled through them for about 40 epochs. RoBERTa ([Liu et al. 2019](https://arxiv.org/abs/1907.11692)) draws a new mask every time instead. How much does that change?

# %%
predict("masks.p3", "After 40 epochs with 10 fixed masks, how many tokens have never been predicted?",
        ["about 0.1 %", "about 20 %", "about 85 %"])

# %%
def ever_predicted(copies, epochs=40, T=4000):
    seen, shares = torch.zeros(1, T).bool(), []
    for epoch in range(epochs):
        u = torch.rand(1, T, generator=torch.Generator().manual_seed(epoch % copies))
        seen |= select_tokens(u, torch.zeros(1, T).bool())
        shares.append(seen.float().mean().item())
    return shares

static, dynamic = ever_predicted(10), ever_predicted(40)

# %%
with described("Share of tokens ever predicted against epochs: with ten fixed masks it stops at 80 percent after ten epochs, "
               "with new masks it goes on to almost 100."):
    plt.plot(range(1, 41), static, label="static: 10 masks (BERT)")
    plt.plot(range(1, 41), dynamic, label="dynamic (RoBERTa)")
    plt.xlabel("epoch"), plt.ylabel("share of tokens ever predicted"), plt.ylim(0, 1.02), plt.legend()

# %%
reveal("masks.p3",
       lambda: f"static {1 - static[-1]:.1%}, dynamic {1 - dynamic[-1]:.2%}",
       "A token escapes ten independent masks with probability 0.85¹⁰ = 20 %, and forty with 0.85⁴⁰ = 0.15 %.",
       answer="about 20 %")

# %% [markdown]
# ## 6. Encoder, decoder, or both?
#
# Which kind of model goes with which objective? An **encoder** is a stack without a causal mask, which turns a text into vectors. A **decoder** is a stack with one, which writes. An *encoder–decoder* has both, and the decoder's layers also look at the encoder's result (cross-attention, unit 01).
#
# Predicting the next token needs a mask that hides it, whereas without such a mask the answer has to be hidden in the input. Mask and objective therefore come in pairs.

# %% [markdown]
# | | encoder | decoder | encoder–decoder |
# |---|---|---|---|
# | mask | none but padding | causal | none, causal, and full between the two |
# | objective | hidden tokens | next token | next token of the *output*, given the input |
# | good for | one vector per token or text, as in search and labeling | any task that can be phrased as producing text | turning a fixed input into an output, such as translation or speech |
# | writes one token after the other | no | yes, with a cache of all tokens | yes, with a cache of its output; the input is read once |
# | learns from | the 15–30 % that are hidden | every token | every token of the output |
# | models | BERT, ModernBERT | GPT, LLaMA | T5, Whisper |

# %% [markdown]
# The idea of T5 is called **text-to-text**. Every task is written as text, and every answer as well, so that one model with one loss serves them all. For example, an input can begin with *translate English to German*, and the label of a review is the written word *positive*.

# %% [markdown]
# The pictures show BERT, GPT-2 and T5, read from the bottom, without norms and sums. The small squares are masks, with a row for each query and a column for each key. Find the two triangles, and the one wire that leads from a stack into the other.

# %%
from anatomy import drawings
from anatomy.atlas import configuration

drawings.stacks(*map(configuration, ("bert-base", "gpt-2", "t5-small")))

# %% [markdown]
# Here are four released models, built from their published configurations. *Sees future* was tested by changing the last token, and says whether the first position's result moves.

# %%
from anatomy.experiments import named_models

print(*named_models.table(["bert-base", "gpt2", "llama-3-8b", "t5-small"],
                          ["encoder_stacks", "decoder_stacks", "cross_attention_modules", "sees_future"]), sep="\n")

# %% [markdown]
# For T5 the last column is about its decoder, while its encoder sees both sides.
#
# Which kind of model should one choose? If nothing has to be written, an encoder sees both sides and reads a text in one pass. If something has to be written, most models since 2020 are decoders, since they need one stack and one objective, and any task can be put into the prompt. ([Wang et al. 2022](https://arxiv.org/abs/2204.05832) compare the kinds at equal cost.) However, an encoder–decoder is still a good choice where the input is long and read once.

# %% [markdown]
# ## 7. Extension: causal and padded
#
# The short texts of a batch are filled up with padding. In training it is on the right, but for generation it is on the **left**, so that all texts end in the same column and the next token can be appended there. With `real` False at padding, a key may be seen only if it is real *and* not later than the query.

# %%
real = torch.tensor([[False, False, True, True, True]])
(real[:, None, :] & causal_mask(5)).int()

# %%
predict("masks.p2", "Rows 0 and 1 above are queries at padding positions. Which keys may they see?",
        ["themselves", "the real tokens", "none"])

# %% [markdown]
# Since padding shifts the tokens, the first real token above is in column 2. But its **position** must still be 0, or the same text would give different results with other padding. Positions therefore count only real tokens.

# %%
real.long().cumsum(-1)

# %% [markdown] statement="mask.causal_padding"
# `causal_padding_mask` joins both conditions, in shape $(B, 1, T, S)$. If `T` is given, the queries are the last $T$ tokens.
#
# `position_ids` gives 0 to the first real token, 1 to the next, and so on. Padding before them gets 0, and padding after them repeats the last token's position (neither is ever read).

# %% exercise="mask.causal_padding"
def causal_padding_mask(real, T=None):
    """real (B, S) boolean, padding on either side; a row may be all padding → (B, 1, T, S) boolean, True = may look."""
    S = real.shape[1]
    ### BEGIN SOLUTION
    return real[:, None, None, :] & causal_mask(S if T is None else T, S)
    ### END SOLUTION


def position_ids(real):
    """real (B, S) boolean → (B, S) int64 positions that count real tokens only."""
    ### BEGIN SOLUTION
    return (real.long().cumsum(-1) - 1).clamp(min=0)
    ### END SOLUTION

# %% [markdown] hints="mask.causal_padding"
# 1. `real` is about keys, while `causal_mask` is about queries and keys. Which axes of $(B, H, T, S)$ does each need?
# 2. `real[:, None, None, :]` is $(B, 1, 1, S)$, `causal_mask(T, S)` is $(T, S)$, and `&` broadcasts. For the positions, `cumsum` counts from 1, and gives 0 before the first real token.
# 3. `return real[:, None, None, :] & causal_mask(…, S)` and `return (real.long().cumsum(-1) - 1).clamp(min=…)`.

# %% [markdown] worth="mask.causal_padding"
# Pretraining often avoids padding by packing several texts into one row, where the mask keeps each of them from seeing the others. Llama 3 was trained in this way ([2407.21783](https://arxiv.org/abs/2407.21783)).

# %%
reveal("masks.p2",
       lambda: causal_padding_mask(real)[0, 0, :2].sum(-1).tolist(),
       "They see no key, because what comes before them is padding, and what comes after them is the future. "
       "Such rows need a defined result (zeros, as in unit 01), although nobody reads it.",
       answer="none")

# %% [markdown]
# ### See it
#
# Take one text, padded on the left by two or not at all. Its outputs must be equal, and with positions that count all columns they are not.

# %%
torch.manual_seed(0)
words, places = torch.randn(1, 3, 8), torch.randn(5, 8)
padded = torch.cat([torch.zeros(1, 2, 8), words], dim=1)

def outputs(x, real, ids):
    x = x + places[ids]
    return F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], causal_padding_mask(real))[0, 0, -3:]

plain = outputs(words, real[:, 2:], torch.arange(3)[None])
for name, ids in (("real tokens counted", position_ids(real)), ("all columns counted", torch.arange(5)[None])):
    print(f"{name:20} outputs differ by {(outputs(padded, real, ids) - plain).abs().max():.3f}")

# %% [markdown]
# ### Claim on trial
#
# > *"The mask is filled with minus infinity (−1e9) and added to the scores, which makes the blocked weights 0."*
#
# Unit 01 tried this on ordinary rows. However, left padding makes rows without any key, and code often *adds two* masks, such as a causal one and one for padding.

# %%
scores = torch.tensor([3.0, 1.0, 2.0])
low = torch.finfo(torch.float32).min
for name, fill in [("−1e9", -1e9), ("−∞", -math.inf), ("the lowest float, twice", low + torch.tensor(low))]:
    print(f"{name:24}", torch.softmax(scores + torch.full((3,), float(fill)), -1).tolist())

# %% [markdown] evidence="exact"
# **Verdict: it holds only for rows that keep a key.** In a row without any, −1e9 swallows the scores (float32 has steps of 64 up there), and every key gets 1/3, the future included, while $-\infty$ gives NaN.
#
# Two masks of the lowest float also add up to $-\infty$. It is safer to join masks as booleans, to convert them once, and to define the result of an empty row.

# %% [markdown]
# ## 8. Extension: between causal and bidirectional
#
# A causal mask can be stricter than necessary. A model that translates, for example, may read the whole source before it writes. A **prefix language model** (prefix LM) therefore lets every query see the first $p$ tokens, the *prefix*, and is causal after them. The next cell makes such a mask for four tokens and $p = 2$.

# %%
block = causal_mask(4)
block[:2, :2] = True
block.int()

# %% [markdown] statement="mask.prefix_lm"
# Return the $(T, T)$ mask for a prefix of `prefix` tokens. A key is allowed when it is in the prefix, or when it does not come after the query.
#
# A `prefix` of 0 gives the causal mask and one of $T$ the full mask, while anything outside $0 \dots T$ raises a `ValueError`.

# %% exercise="mask.prefix_lm"
def prefix_lm_mask(T, prefix):
    """(T, T) boolean mask of a prefix language model (arXiv:1910.10683, section 3.2.1), True = may look."""
    ### BEGIN SOLUTION
    if not 0 <= prefix <= T:
        raise ValueError(f"a prefix of {prefix} does not fit {T} tokens")
    return causal_mask(T) | (torch.arange(T) < prefix)
    ### END SOLUTION

# %% [markdown] hints="mask.prefix_lm"
# 1. There are two conditions, and one of them is enough. Which operator joins them?
# 2. `torch.arange(T) < prefix` is one row, with an entry for each key. It broadcasts against the causal mask.
# 3. `return causal_mask(T) | (torch.arange(T) < …)`, after the check.

# %% [markdown] worth="mask.prefix_lm"
# PaliGemma ([2407.07726](https://arxiv.org/abs/2407.07726)) uses this mask for pictures. The image and the question are the prefix, which is read in both directions, and the answer after them is causal.

# %% [markdown]
# Why, then, are most large models causal? They are used by **in-context learning**, which means that the prompt alone teaches the task, while the weights stay as they are. This is **zero-shot** if the prompt only describes the task, and **few-shot** if it also shows a few solved examples, as in GPT-3's paper ([2005.14165](https://arxiv.org/abs/2005.14165)). A causal model practices going on from a context at every token, and nobody has to say where a prefix ends.

# %% [markdown]
# However, in a causal model the first examples of a prompt cannot see the later ones, whereas in a prefix LM all of them see each other. In the theory of [2308.06912](https://arxiv.org/abs/2308.06912), on linear regression from examples in the prompt, the prefix LM reaches the best solution and the causal one need not.

# %% [markdown]
# Instead of choosing one mask, UniLM ([Dong et al. 2019](https://arxiv.org/abs/1905.03197)) trains **one** network with several masks in turn. Its text has two segments, *source* and *target*, and the objective says what a token sees.
#
# | objective | a token sees |
# |---|---|
# | bidirectional | everything |
# | left-to-right | itself and what precedes it |
# | right-to-left | itself and what follows it |
# | sequence-to-sequence | in the source: the source. In the target: the source, and the target up to itself |

# %% [markdown] statement="mask.unilm"
# Write one function for all four names, spelled as in the table, in which any other name raises a `ValueError`. The arguments `source` and `target` are the lengths of the segments, and the mask is square, of size `source + target`.

# %% exercise="mask.unilm"
def unilm_mask(objective, source, target):
    """(source + target, source + target) boolean mask of one of UniLM's objectives, True = may look."""
    T = source + target
    if objective == "left-to-right":
        return causal_mask(T)
    ### BEGIN SOLUTION
    if objective == "bidirectional":
        return torch.ones(T, T, dtype=torch.bool)
    if objective == "right-to-left":
        return causal_mask(T).T
    if objective == "sequence-to-sequence":
        return prefix_lm_mask(T, source)
    raise ValueError(f"unknown objective {objective!r}")
    ### END SOLUTION

# %% [markdown] hints="mask.unilm"
# 1. You have written three of the four already. Which of your masks is the last row of the table?
# 2. Bidirectional is all True. For right-to-left, swap queries and keys of the causal mask. Sequence-to-sequence is a prefix language model whose prefix is the source.
# 3. `torch.ones(T, T, dtype=torch.bool)`, `causal_mask(T).T`, `prefix_lm_mask(T, …)`, and `raise ValueError(…)` at the end.

# %% [markdown] worth="mask.unilm"
# The tokens do not tell which mask is in use. UniLM therefore has separate segment embeddings for each objective, which tell the network what it is asked to do ([1905.03197](https://arxiv.org/abs/1905.03197), section 2.1).

# %% [markdown]
# ### See it
#
# Here is the explorer again, with your new functions. Compare the prefix mask with the last UniLM mask.

# %%
mine = {"causal_mask": causal_mask, "causal_padding_mask": causal_padding_mask, "position_ids": position_ids,
        "prefix_lm_mask": prefix_lm_mask, "unilm_mask": unilm_mask}
MaskExplorer(mine)

# %% [markdown]
# ### Claim on trial
#
# > *"UniLM is trained with three kinds of mask: unidirectional, bidirectional, and sequence-to-sequence."*
#
# The paper's list has four names, but perhaps two of them are the same mask. Your function can tell.

# %%
names = ["bidirectional", "left-to-right", "right-to-left", "sequence-to-sequence"]
masks = {name: unilm_mask(name, 3, 2) for name in names}
print(len({tuple(m.flatten().tolist()) for m in masks.values()}), "different masks")
for name, m in masks.items():
    print(f"{name:21} {int(m.sum()):2} pairs, token 0 sees {int(m[0].sum())}, the last token {int(m[-1].sum())}")

# %% [markdown] evidence="exact + cited: 1905.03197"
# **Verdict: UniLM is trained with four masks, not three.** The claim leaves out right-to-left, which for a given text is a different mask from left-to-right and predicts a token from what follows it.
#
# In the paper ([1905.03197](https://arxiv.org/abs/1905.03197)), a third of the training is bidirectional, a third sequence-to-sequence, and a sixth goes to each direction.

# %% [markdown]
# ### Claim on trial
#
# > *"T5 is a prefix LM, like UniLM and GLM."*
#
# In an encoder–decoder the encoder sees itself fully, the decoder sees the encoder fully, and the decoder sees itself causally. For 3 input and 2 output tokens, here they are as one square.

# %%
no, full = torch.zeros(3, 2, dtype=torch.bool), torch.ones(3, 3, dtype=torch.bool)
pattern = torch.cat([torch.cat([full, no], 1), torch.cat([full[:2], causal_mask(2)], 1)])
print("same pattern as a prefix LM:", torch.equal(pattern, prefix_lm_mask(5, 3)))

def parameters(module):
    return sum(p.numel() for p in module.parameters())

layer, with_cross = nn.TransformerEncoderLayer(64, 4, 256), nn.TransformerDecoderLayer(64, 4, 256)
both = 2 * parameters(layer) + 2 * parameters(with_cross)
print("two layers of a prefix LM:", 2 * parameters(layer), " two + two of an encoder–decoder:", both)

# %%
torch.manual_seed(0)
q, k, v = torch.randn(2, 4), torch.randn(5, 4), torch.randn(5, 4)
one = F.scaled_dot_product_attention(q, k, v, attn_mask=pattern[3:])
two = F.scaled_dot_product_attention(q, k[:3], v[:3]) + F.scaled_dot_product_attention(q, k[3:], v[3:], causal_mask(2))
print(f"one softmax over all keys against two added up: {(one - two).abs().max():.2f} apart")

# %% [markdown] evidence="exact + models: t5-small"
# **Verdict: T5 has the pattern of a prefix LM, but it is a different model.** The released T5 ({{named_models.t5_small.counted:,}} parameters in its small size) has an encoder and a decoder with separate weights. Moreover, a decoder layer uses two softmaxes, one over its own tokens and one over those of the input, whereas a prefix LM has one stack and one softmax.
#
# The [T5 paper](https://arxiv.org/abs/1910.10683) trains a prefix LM as well, as a variant to compare with (section 3.2).

# %% [markdown]
# ## 9. Extension: pairs of sentences
#
# Many tasks compare two pieces of text, which is why BERT has a second objective, **next sentence prediction** (NSP). Is the second sentence the true successor (label 0), or one from another document (label 1)? However, a change of topic gives most of the latter away, and RoBERTa dropped NSP without loss.
#
# ALBERT ([Lan et al. 2019](https://arxiv.org/abs/1909.11942)) swaps two true neighbors instead, so that only their order can tell. This is **sentence order prediction** (SOP). In the exercise, a document is a list of sentences, and a sentence is a list of ids.

# %% [markdown] statement="objective.sentence_pairs"
# Write both ways to make a pair. Each function returns a tuple `(first, second, label)`.
#
# `nsp_pair` pairs the sentence with its successor if `replacement` is None, and otherwise with the sentence at `replacement = (document, sentence)`. It raises a `ValueError` when the sentence has no successor (also with a replacement), or when the replacement is in the same document, whichever sentence it is.
#
# `sop_pair` returns the two sentences as they come (label 0), or swapped (label 1).

# %% exercise="objective.sentence_pairs"
def nsp_pair(documents, document, sentence, replacement):
    """BERT's pair. documents: list of documents; document, sentence: ints from 0; replacement: (int, int) or None."""
    ### BEGIN SOLUTION
    text = documents[document]
    if sentence + 1 >= len(text):
        raise ValueError("the last sentence has no successor")
    if replacement is None:
        return text[sentence], text[sentence + 1], 0
    if replacement[0] == document:
        raise ValueError("the random sentence must come from another document")
    return text[sentence], documents[replacement[0]][replacement[1]], 1
    ### END SOLUTION


def sop_pair(first, second, swap):
    """ALBERT's pair. first, second: lists of ids, neighbors in a text; swap: bool."""
    ### BEGIN SOLUTION
    return (second, first, 1) if swap else (first, second, 0)
    ### END SOLUTION

# %% [markdown] hints="objective.sentence_pairs"
# 1. Write down the four results for two documents of two sentences each. Which of them share their first sentence?
# 2. `nsp_pair`: check for a successor, return the natural pair if `replacement is None`, check the document, return the replaced pair. `sop_pair` is one line.
# 3. `return text[sentence], documents[replacement[0]][replacement[1]], …` and `return (second, first, …) if swap else (first, second, …)`.

# %% [markdown] worth="objective.sentence_pairs"
# In BERT's paper ([1810.04805](https://arxiv.org/abs/1810.04805)) a *sentence* can be any stretch of text, and two of them fill up to 512 tokens. In half of the pairs the second truly follows the first.

# %% [markdown]
# ### See it
#
# Is the topic enough to decide? Take two topics with separate vocabularies. The following rule knows nothing of order, and says *random* whenever two sentences have no token in common.

# %%
g = torch.Generator().manual_seed(0)
docs = [[torch.randint(base, base + 8, (6,), generator=g).tolist() for _ in range(50)] for base in (10, 60)]
rule = lambda a, b: int(not set(a) & set(b))
nsp = [nsp_pair(docs, 0, s, r) for s in range(49) for r in (None, (1, s))]
sop = [sop_pair(docs[0][s], docs[0][s + 1], w) for s in range(49) for w in (False, True)]
for name, pairs in (("NSP", nsp), ("SOP", sop)):
    print(name, f"{sum(rule(a, b) == y for a, b, y in pairs) / len(pairs):.0%} right")

# %% [markdown]
# The rule solves nearly all of NSP, whereas on SOP it does no better than guessing.

# %% [markdown]
# ## 10. Extension: hiding spans, as T5 does
#
# BERT predicts a hidden token at its own position, whereas T5 has to *write* what is missing. It hides *spans*, which are runs of tokens. Each span leaves **one** sentinel in the input, and the target spells the spans out, each after its sentinel.
#
# | | |
# |---|---|
# | text | 11 **12 13** 14 **15** 16 |
# | inputs | 11 ⟨99⟩ 14 ⟨98⟩ 16 |
# | targets | ⟨99⟩ 12 13 ⟨98⟩ 15 ⟨97⟩ |
#
# Sentinels are the last ids of the vocabulary and count down. One more of them closes the targets.

# %% [markdown]
# The closing sentinel follows the [paper](https://arxiv.org/abs/1910.10683) (figure 2), whereas the released code appends an end-of-sequence token at the same position.
#
# To find where a span starts, look for a hidden token whose left neighbor is not hidden.

# %%
noise = torch.tensor([False, True, True, False, True, False])
before = torch.cat([torch.tensor([False]), noise[:-1]])
starts = noise & ~before
starts.int(), starts.cumsum(0)

# %% [markdown] statement="objective.span_corruption"
# Return inputs and targets for `noise`, which is True where a token is hidden. Neighbors that are hidden together make one span. Span $k$, counted from 0, has sentinel `first_sentinel - k`, and the closing one comes after the last span.
#
# If one of the sentinels needed (including the closing one) occurs in the text, raise a `ValueError`.

# %% exercise="objective.span_corruption"
def span_corruption(ids, noise, first_sentinel):
    """T5's objective (arXiv:1910.10683, section 3.1.4).

    Args:
        ids: (T,) int64. noise: (T,) boolean, True = hidden. first_sentinel: int.

    Returns:
        inputs and targets, both int64 of one axis.
    """
    inputs, targets, spans = [], [], 0
    ### BEGIN SOLUTION
    hidden_before = False
    for token, hidden in zip(ids.tolist(), noise.tolist()):
        if hidden and not hidden_before:
            inputs.append(first_sentinel - spans)
            targets.append(first_sentinel - spans)
            spans += 1
        (targets if hidden else inputs).append(token)
        hidden_before = hidden
    if any(first_sentinel - spans <= token <= first_sentinel for token in ids.tolist()):
        raise ValueError("the text holds a sentinel")
    targets.append(first_sentinel - spans)
    ### END SOLUTION
    return torch.tensor(inputs), torch.tensor(targets)

# %% [markdown] hints="objective.span_corruption"
# 1. Go through the six tokens of the example with a pencil. At which of them do you write a sentinel, and into which list?
# 2. Loop over tokens and noise, and remember whether the previous token was hidden. At the start of a span, write `first_sentinel - spans` into both lists and count it. Then write the token into one of the lists. After the loop: check, then close.
# 3. `if hidden and not hidden_before:` append to both, `spans += 1`; then `(targets if hidden else inputs).append(token)`; at the end `targets.append(first_sentinel - …)`.

# %% [markdown] worth="objective.span_corruption"
# T5's vocabulary has 100 ids for sentinels after its 32,000 ordinary ones. The first, `<extra_id_0>`, is id 32,099, and `<extra_id_99>` is 32,000.

# %% [markdown]
# Inputs and targets together hold the whole text, and nothing is lost. Your next function puts them together again.

# %% [markdown] statement="objective.restore_spans"
# Rebuild the text by replacing each sentinel of the inputs with its span from the targets. The inputs must hold exactly the sentinels of the spans, in the same order. Raise a `ValueError` for one that is missing, comes twice, comes out of turn, or is the closing one.
#
# The first part, which cuts the targets into spans, is given.

# %% exercise="objective.restore_spans"
def restore_spans(inputs, targets, first_sentinel):
    """inputs, targets as span_corruption returns them → the text (T,) int64."""
    spans = []
    for token in targets.tolist():
        if token == first_sentinel - len(spans):
            spans.append([])
        else:
            spans[-1].append(token)
    closing = first_sentinel - len(spans) + 1  # the last sentinel opens no span
    spans = spans[:-1]
    text, used = [], 0
    ### BEGIN SOLUTION
    for token in inputs.tolist():
        if closing <= token <= first_sentinel:
            if used == len(spans) or token != first_sentinel - used:
                raise ValueError(f"there is no span for sentinel {token}")
            text += spans[used]
            used += 1
        else:
            text.append(token)
    if used < len(spans):
        raise ValueError(f"{len(spans) - used} spans have no place in the inputs")
    ### END SOLUTION
    return torch.tensor(text)

# %% [markdown] hints="objective.restore_spans"
# 1. `spans` is `[[12, 13], [15]]` for the example and `closing` is 97. What do you do at 11, at 99, at 14, at 98?
# 2. Loop over the inputs. A token from `closing` to `first_sentinel` is a sentinel: it must be `first_sentinel - used`, and a span must be left, else raise. Add `spans[used]` and count up. Any other token goes to the text as it is. After the loop all spans must be used.
# 3. `if closing <= token <= first_sentinel:` raise if `used == len(spans) or token != first_sentinel - used`, then `text += spans[used]` and `used += 1`; `else: text.append(token)`; at the end `if used < len(spans): raise ValueError(…)`.

# %% [markdown] worth="objective.restore_spans"
# A round trip finds lost tokens, but no mistake that both functions share. For example, if both counted sentinels upward, every text would still come back. Fixed examples are needed as well.

# %% [markdown]
# ### See it
#
# Now let 200 random texts with random noise make the round trip.

# %%
g = torch.Generator().manual_seed(0)
lost = 0
for _ in range(200):
    ids, noise = torch.randint(0, 900, (40,), generator=g), torch.rand(40, generator=g) < 0.3
    lost += not torch.equal(restore_spans(*span_corruption(ids, noise, 999), 999), ids)
print(lost, "texts came back changed")

# %%
predict("masks.p4", "T5 hides 15 % of 568 tokens, in spans of 3 on average. How many tokens must the decoder predict?",
        ["85", "114", "568"])

# %% [markdown]
# ### Claim on trial
#
# > *"Given the input 'I [X] apples', T5 is trained to output the whole sentence, 'I love apples'."*
#
# Let your function count the targets in T5's own setting, which is 568 tokens with 15 % noise and a mean span of 3.

# %%
T = 568
hidden = round(0.15 * T)
n_spans = round(hidden / 3)
noise = torch.zeros(T, dtype=torch.bool)
for k in range(n_spans):  # spans of 3, one of them longer, evenly spread
    noise[20 * k + 1:20 * k + 4 + (k == 0) * (hidden - 3 * n_spans)] = True
inputs, targets = span_corruption(torch.arange(T), noise, 32_099)

# %%
reveal("masks.p4",
       lambda: f"{len(targets)} targets ({hidden} hidden tokens, {n_spans} sentinels, 1 to close), "
       f"{len(inputs)} inputs", "The decoder never writes the rest of the text, so the 483 tokens in sight cost nothing to predict.",
       answer="114")

# %% [markdown] evidence="exact + cited: 1910.10683"
# **Verdict: T5 is trained to write only what was hidden.** Here the decoder writes ⟨0⟩ *love* ⟨1⟩. In T5's own setting that makes 114 steps instead of 568, about a fifth.
#
# The [paper](https://arxiv.org/abs/1910.10683) tried the claim's version as well (its "BERT-style" and "MASS-style" targets), and found the short targets about as good, and cheaper (section 3.3.2).

# %% [markdown]
# ## 11. Extension: filling blanks, as GLM does
#
# While T5 needs two stacks, GLM ([Du et al. 2021](https://arxiv.org/abs/2103.10360)) puts both sides into **one** sequence. Part A is the text, with one `[M]` per blank. Part B writes the blanks one after the other, in random order. Each of them starts with `[S]`, and the model should end it with `[E]`.

# %% [markdown]
# ### Worked example
#
# The text is *one dog sees two cats .* and its blanks are *dog sees* and *cats*. Suppose that part B writes *cats* first.
#
# | | part A | | | | | | part B | | | | |
# |---|---|---|---|---|---|---|---|---|---|---|---|
# | token | one | [M] | two | [M] | . | | [S] | cats | [S] | dog | sees |
# | position | 0 | 1 | 2 | 3 | 4 | | 3 | 3 | 1 | 1 | 1 |
# | within blank | 0 | 0 | 0 | 0 | 0 | | 1 | 2 | 1 | 2 | 3 |
# | label | – | – | – | – | – | | cats | [E] | dog | sees | [E] |

# %% [markdown]
# Each token has two positions. The first says *which blank* it belongs to, because it is the position of that blank's `[M]` in part A. The second counts within the blank from 1, while part A has 0. Part A therefore gives no length away, since a blank of 1 and one of 10 look the same.
#
# You know the mask already, since part A is the source and part B the target of UniLM's sequence-to-sequence.

# %% [markdown] statement="objective.blank_infilling"
# Build the example, which consists of tokens, positions, positions within the blank, and labels. `spans` are half-open `(start, stop)`, in the order of the text, and `order[0]` is the blank that part B writes first. In part A all labels are −100.
#
# Raise a `ValueError` when two spans touch or overlap, or when `order` is not a permutation. An empty list of spans is allowed. The loop for part A is given.

# %% exercise="objective.blank_infilling"
def blank_infilling(ids, spans, order, mask_id, start_id, end_id):
    """ids (T,) int64 → four (A + B,) int64 tensors (arXiv:2103.10360, section 2.1)."""
    text, tokens, places, last = ids.tolist(), [], [], 0
    for start, stop in spans:
        tokens += text[last:start]
        places.append(len(tokens))  # where this blank's [M] stands in part A
        tokens.append(mask_id)
        last = stop
    tokens += text[last:]
    positions, within, labels = list(range(len(tokens))), [0] * len(tokens), [-100] * len(tokens)
    ### BEGIN SOLUTION
    if any(b[0] <= a[1] for a, b in zip(spans, spans[1:])) or sorted(order) != list(range(len(spans))):
        raise ValueError(f"spans {spans} must be apart, and {order} a permutation")
    for k in order:
        span = text[spans[k][0]:spans[k][1]]
        tokens += [start_id] + span
        positions += [places[k]] * (len(span) + 1)
        within += range(1, len(span) + 2)
        labels += span + [end_id]
    ### END SOLUTION
    return tuple(torch.tensor(row) for row in (tokens, positions, within, labels))

# %% [markdown] hints="objective.blank_infilling"
# 1. Look at the column of *cats* in the table: token, position, within, label. Where does each come from?
# 2. Check first. Then for each `k` of `order`: `span = text[start:stop]`; tokens get `start_id` and the span, `positions` get `places[k]` len(span) + 1 times, within counts 1, 2, …, labels get the span and `end_id`.
# 3. `tokens += [start_id] + span`, `positions += [places[k]] * (…)`, `within += range(1, …)`, `labels += span + […]`. Spans touch when `b[0] <= a[1]` for neighbors a, b.

# %% [markdown] worth="objective.blank_infilling"
# GLM draws the lengths of its blanks from a Poisson distribution with mean 3, until at least 15 % of the tokens are hidden ([2103.10360](https://arxiv.org/abs/2103.10360)).

# %% [markdown]
# ### See it
#
# Your function should give the four rows of the worked example.

# %%
words = ["[M]", "[S]", "[E]", "one", "dog", "sees", "two", "cats", "."]
rows = blank_infilling(torch.arange(3, 9), [(1, 3), (4, 5)], [1, 0], 0, 1, 2)
for name, row in zip(("token", "position", "within", "label"), rows):
    shown = [words[i] if name in ("token", "label") and i >= 0 else "–" if i < 0 else str(i) for i in row.tolist()]
    print(f"{name:9}" + "".join(f"{w:>6}" for w in shown))

# %% [markdown]
# Here is one sentence under six objectives. Point at the tokens, draw again, and read what the model sees and what it must predict. GLM's mask is in the first explorer.

# %%
ObjectiveLab({"next_token_pairs": next_token_pairs, "mask_tokens": mask_tokens, "span_corruption": span_corruption,
              "blank_infilling": blank_infilling, "nsp_pair": nsp_pair, "sop_pair": sop_pair})

# %% [markdown]
# ## 12. Extension: who belongs to whom, or InfoNCE
#
# The last objective predicts no tokens, but which things belong together. A batch holds $B$ pairs, for example pictures and their captions. One partner of each pair is the query, which must find its own key among the batch's $B$ keys.

# %% [markdown]
# ### Worked example
#
# Take two pairs at right angles, so that partners have a cosine of 1 and strangers one of 0. The softmax of (1, 0) gives the right key $e/(e+1) = 0.73$, and the loss is $-\ln 0.73 = 0.313$. Dividing the cosines by a small **temperature** such as 0.1 first makes the choice sharper.

# %%
for t in (1.0, 0.1):
    p = torch.softmax(torch.tensor([1.0, 0.0]) / t, -1)[0]
    print(f"temperature {t}: right key {p:.5f}, loss {-p.log():.5f}")

# %% [markdown]
# With the temperature $\tau$, the loss of a batch is
#
# $$\mathcal L = -\frac1B \sum_i \ln \frac{\exp(\cos(q_i, k_i)/\tau)}{\sum_j \exp(\cos(q_i, k_j)/\tau)}$$
#
# The lower sum runs over all $j$, the right one included. If the keys cannot be told apart, the loss is $\ln B$, which is that of guessing.

# %% [markdown] statement="objective.info_nce"
# Write the loss for queries and keys $(B, d)$, where row $i$ of both is a pair, and where the vectors can have any length. Only queries choose here. You may use `F.cross_entropy`, which averages over the batch.
#
# A temperature that is not positive raises a `ValueError`.

# %% exercise="objective.info_nce"
def info_nce(queries, keys, temperature=0.07):
    """Contrastive loss with in-batch negatives (arXiv:1807.03748) → scalar tensor, in nats, dtype of the inputs.

    Gradients flow back to queries and keys. Small temperatures must not overflow.
    """
    ### BEGIN SOLUTION
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, not {temperature}")
    logits = F.normalize(queries, dim=-1) @ F.normalize(keys, dim=-1).T / temperature  # (B, B)
    return F.cross_entropy(logits, torch.arange(len(logits)))
    ### END SOLUTION

# %% [markdown] hints="objective.info_nce"
# 1. This is a classification with $B$ classes. Which class is right for query $i$?
# 2. Normalize both, multiply them to a $(B, B)$ table of cosines, and divide by the temperature. Row $i$ holds the logits of query $i$, and its class is $i$.
# 3. `logits = F.normalize(queries, dim=-1) @ F.normalize(keys, dim=-1).T / …`, `return F.cross_entropy(logits, torch.arange(…))`.

# %% [markdown] worth="objective.info_nce"
# CLIP learns its temperature, starting from 0.07, and clips it so that cosines are never multiplied by more than 100. The authors found this necessary for stable training ([2103.00020](https://arxiv.org/abs/2103.00020)).

# %% [markdown]
# ### Experiment: two towers
#
# There are 64 things, seen by two "senses" that mix their features in different ways. Two linear maps are trained to bring the two views of a thing together.

# %%
torch.manual_seed(0)
things, senses = torch.randn(64, 12), torch.randn(2, 12, 20)
views = [things @ s + 0.3 * torch.randn(64, 20) for s in senses]
towers = nn.ModuleList(nn.Linear(20, 8) for _ in range(2))
optimizer = torch.optim.Adam(towers.parameters(), lr=1e-2)
before, losses = [F.normalize(t(v), dim=-1).detach() for t, v in zip(towers, views)], []
for _ in range(200):
    a, b = towers[0](views[0]), towers[1](views[1])
    loss = (info_nce(a, b) + info_nce(b, a)) / 2
    optimizer.zero_grad(), loss.backward(), optimizer.step()
    losses.append(loss.item())

# %%
after = [F.normalize(t(v), dim=-1).detach() for t, v in zip(towers, views)]
with described("Two 64 by 64 tables of cosines: patternless before training, after it a dark blue diagonal of cosines near 1."):
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.6))
    for panel, (a, b), title in zip(panels, (before, after), ("before", "after 200 steps")):
        found = ((a @ b.T).argmax(-1) == torch.arange(64)).float().mean()
        panel.imshow(a @ b.T, cmap="RdBu", vmin=-1, vmax=1)
        panel.set(title=f"{title}: {found:.0%} find their partner", xlabel="key", ylabel="query"), panel.grid(False)
print(f"loss {losses[0]:.2f} → {losses[-1]:.2f}; guessing: ln 64 = {math.log(64):.2f}")

# %% [markdown]
# Before training the loss is above $\ln 64$, because at $\tau = 0.07$ chance differences count as certainties.
#
# Large batches make the task harder and the signal richer. The difference $\ln B - \mathcal L$ is a lower bound on the information that the two views share, and it cannot exceed $\ln B$.

# %% [markdown]
# ### Claim on trial
#
# > *"CLIP is an encoder–decoder, with an image encoder and a text decoder."*
#
# To test it, change what the *other* side reads. In an encoder–decoder the decoder's states then change as well, because of cross-attention. The next cell does this with two small models.

# %%
torch.manual_seed(0)
image, other, text = torch.randn(3, 1, 5, 16)
tower = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
decoder = nn.TransformerDecoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
two_towers = lambda image, text: tower(text)
for name, f in (("two encoders", two_towers), ("encoder–decoder", lambda image, text: decoder(text, image))):
    print(f"{name:16} text states move by {(f(image, text) - f(other, text)).abs().max().item():.2f}")

# %% [markdown]
# Now compare CLIP's own configuration with that of T5.

# %%
print(*named_models.table(["clip-vit-base-patch32", "t5-small"],
                          ["encoder_stacks", "decoder_stacks", "cross_attention_modules"]), sep="\n")

# %% [markdown] evidence="models: clip-vit-base-patch32"
# **Verdict: CLIP consists of two encoders, and no decoder.** [CLIP](https://arxiv.org/abs/2103.00020)'s towers never see each other's input, since they meet only in one dot product per pair. For example, 1,000 images and 1,000 captions need 2,000 encoder runs and not a million.
#
# Its text tower does have a causal mask, like GPT's. However, nothing in it attends to an image, and nothing is generated, so the mask alone does not make it a decoder.

# %% [markdown]
# ## 13. Your own experiment
#
# Section 2 said that what one layer hides can still arrive by way of another token, but how good is that detour? The model below is a Transformer of two layers that learns to write like Jane Austen, one character after the other. In your mask, a hole at distance 1 hides from each token the one just before it, and no detour leads there. A hole at distance 2 leaves a detour, since the second layer can use the token in between.

# %%
from anatomy.experiments.growing import grow

def with_hole(distance):
    return lambda T: causal_mask(T) & ~torch.ones(T - distance).diag(-distance).bool()

for seed in (0, 1):
    near, far = (grow(seed=seed, mask=with_hole(distance)).loss for distance in (1, 2))
    print(f"seed {seed}: hole at distance 1 {near:.3f}, at distance 2 {far:.3f} nats per character")

# %% [markdown]
# These are losses on text that the model never saw, and nothing is graded. Is it really the detour that makes the difference? What would you change to find out, for example no hole, or `layers=1`? You could also learn from every second character only, with `loss=`, a function of logits (B, T, V) and targets (B, T). Run at least two seeds, and write down your answer in one sentence.

# %% [markdown] written="question"
# A report compares BERT's loss on hidden tokens, 1.2 nats, with GPT's loss on next tokens, 2.9 nats, on the same texts. It concludes that BERT *understands language better*. Why does that not follow? Say what each number measures, and describe a comparison that you would trust.
#
# - what each model may see when it answers
# - whether the losses add up to the probability of a text, and which tokens are counted
# - a task that both models can do, and what is equal in it

# %% [markdown] written="answer" points=3
# The two losses answer different questions. BERT fills a gap and sees the tokens on both sides, whereas GPT goes on from the left side alone, which is harder. GPT's losses add up to the log probability of the text. BERT's losses concern only the selected 15 %, each in a text in which others are hidden too, so they give no perplexity of the text. The pieces of the two vocabularies may differ as well. I would compare both on a task that both can do, such as labels for reviews, with the same training data and computation, on texts that neither has seen, over several seeds. Whether a model can write has to be tried without the future.
#
# ### BEGIN MARK SCHEME
# - 1 point: BERT sees both sides; a gap is easier than what comes next.
# - 1 point: GPT's factors make a probability of the text, BERT's do not; or: other tokens are counted (the selected 15 %, other pieces).
# - 1 point: the same task for both, with equal data, on unseen texts.
# - No point: "BERT's loss leaks". Its targets are hidden in the input, all but the kept tenth.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("A layer's Jacobian is zero above the diagonal. Is it a working causal layer?",
     {"yes": (False, "A layer that reads nothing passes this test, too."),
      "only if it is not zero below the diagonal": (True, "The layer must not leak, but it must also read what it may see, so both have to be measured."),
      "only if its rows sum to 1": (False, "That is about weights, and not about what depends on what.")})

# %%
quiz("A cache holds 10 tokens and 2 new ones arrive: causal_mask(2, 12). How many keys may the first new token see?",
     {"1": (False, "That would be a mask without the offset."), "11": (True, "It is at position 10, so it sees positions 0 to 10."),
      "12": (False, "That would include the second new token.")})

# %%
quiz("A model's next-token loss lies below the entropy of the data. What do you do first?",
     {"celebrate": (False, "No honest model can do that."), "look for a leak": (True, "The answer is somewhere in the input."),
      "train longer": (False, "The loss would only fall further.")})

# %%
quiz("BERT selects a token, its draw is 0.93. Is it predicted?",
     {"yes, from the unchanged token": (True, "The tenth that is kept is predicted as well."),
      "no, since it was not masked": (False, "All selected tokens have a label."),
      "yes, from [MASK]": (False, "That takes a draw below 0.8.")})

# %%
quiz("Ten million product reviews each need one label, and nothing is to be written. Which stack fits best?",
     {"a decoder": (False, "It works, but each token sees only what precedes it, although nothing has to be written."),
      "an encoder": (True, "It needs one pass per review, in which every token sees both sides."),
      "an encoder–decoder": (False, "Its decoder would write a label, token by token, that can be read off a vector.")})

# %%
progress("07-masks-and-objectives")

# %% [markdown]
# ## Where this lives in real models
#
# - [GPT-3](https://arxiv.org/abs/2005.14165) and [LLaMA](https://arxiv.org/abs/2302.13971) predict the next token, while [BERT](https://arxiv.org/abs/1810.04805), [RoBERTa](https://arxiv.org/abs/1907.11692) and [ALBERT](https://arxiv.org/abs/1909.11942) restore masked ones.
# - [T5](https://arxiv.org/abs/1910.10683) uses span corruption, and [GLM](https://arxiv.org/abs/2103.10360) fills blanks, while [UniLM](https://arxiv.org/abs/1905.03197) and [UL2](https://arxiv.org/abs/2205.05131) train one network with several masks.
# - [CPC](https://arxiv.org/abs/1807.03748), [SimCSE](https://arxiv.org/abs/2104.08821) and [CLIP](https://arxiv.org/abs/2103.00020) use contrastive losses.
# - Wang and others ([2204.05832](https://arxiv.org/abs/2204.05832)) measured zero-shot use, and Wettig and others ([2202.08005](https://arxiv.org/abs/2202.08005)) whether 15 % is right.
#
# A decoder writes one token after the other, and for each would compute the keys of the whole text again. Next, **08-kv-cache-and-gqa** shows how to avoid that.
