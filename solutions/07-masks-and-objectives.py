# %% [markdown]
# # Masks and objectives
#
# **You will be able to**
#
# - write a causal mask, also for a cache, and prove that nothing leaks;
# - compute a text's probability and a corpus's perplexity, and spot a loss that means nothing;
# - make training examples for GPT and BERT;
# - choose between encoder, decoder and both;
# - in the extensions: padding, prefix and UniLM masks, the objectives of ALBERT, T5 and GLM, and CLIP's contrastive loss.
#
# **Prerequisites:** unit 01. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Two models of the same size read the same texts for 300 steps. Both learn to predict the next word. On new texts:
#
# | | loss per word | best possible |
# |---|---|---|
# | model A | {{leak.causal.at_300:.2f}} | {{leak.entropy:.2f}} |
# | model B | {{leak.bidirectional.at_300:.3f}} | {{leak.entropy:.2f}} |
#
# *Best possible* is no estimate: the texts come from dice, and {{leak.entropy:.2f}} is what the dice leave open. B beats the dice. (Medians of {{leak.seeds:word}} recorded runs.)

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
predict("masks.p1", "Both models now write texts of their own, word by word. Which writes more right sentences?",
        ["A", "B", "about the same"])

# %% [markdown]
# You will train both in section 4. The only line that differs between them is the mask.

# %% [markdown]
# ## 1. Not looking ahead
#
# A model that learns to predict the next word must not see it. The **causal mask** allows query $t$ the keys $0 \dots t$. True means may look; rows are queries, columns are keys.

# %% [markdown]
# ### Worked example
#
# Three words, and scores that are all equal. The mask leaves 1, 2 and 3 keys, which share the weight equally:

# %%
may = torch.ones(3, 3, dtype=torch.bool).tril()
weights = torch.zeros(3, 3).masked_fill(~may, -math.inf).softmax(-1)
may, weights

# %% [markdown]
# With the values 2, 4, 9 the outputs are 2, then $(2 + 4)/2 = 3$, then $(2 + 4 + 9)/3 = 5$. In symbols:
#
# $$\text{out}_t = \sum_{s \le t} \frac{e^{x_{ts}}}{\sum_{r \le t} e^{x_{tr}}}\; v_s, \qquad x_{ts} = \frac{q_t \cdot k_s}{\sqrt D}$$
#
# Both sums end at $t$. The lower one is easily forgotten.

# %% [markdown] statement="mask.causal"
# Write causal self-attention for any leading axes: scores, mask, softmax, weighted sum.
#
# `torch.softmax` is welcome, PyTorch's own attention function is not. The check also looks at gradients, through `q`, `k` and `v`: none may flow from word $t$ to a later word, and some must flow to every earlier one.

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
# 1. Everything but the scores stands in the worked example. Where in it does the mask come, before or after the softmax?
# 2. Scores `q @ k.transpose(-2, -1) / math.sqrt(D)`; a (T, T) mask from `torch.ones(T, T, dtype=torch.bool).tril()`; fill with `-math.inf` where it is False; softmax over the last axis; times `v`.
# 3. `scores.masked_fill(~may, -math.inf).softmax(-1) @ …`, with `may` as in the worked example for any T.

# %% [markdown] worth="mask.causal"
# $e^{-\infty}$ is exactly 0 in floating point, and so is every slope that passes through it. A leak test therefore needs no tolerance: any entry above the diagonal that is not 0 is a bug.

# %% [markdown]
# ### See it
#
# Do not trust a mask: measure it. Entry $[i, j]$ below is the largest slope of output $i$ by input $j$ (the **Jacobian**). A causal layer has zeros above the diagonal *and none below it*. A layer that reads nothing passes the first test alone.

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
        panel.set(title=f"{title}\nabove the diagonal: {table.triu(1).max():.2f}", xlabel="input word")
        panel.grid(False)
    panels[0].set(ylabel="output word")

# %% [markdown]
# The middle one is a famous leak. Weights above the diagonal are erased, but they have been counted in the sum below the fraction: the model can read the future from how large its own weights are.

# %% [markdown]
# ### Claim on trial
#
# > *"Positions that must not be attended to are set to 0."*
#
# Set the *score* to 0, set the *weight* to 0, or set the score to $-\infty$. One row, whose last key is forbidden:

# %%
scores, may = torch.tensor([[-1.0, -2.0, 3.0]]), torch.tensor([[True, True, False]])
for name, w in [("score 0", scores.masked_fill(~may, 0.0).softmax(-1)),
                ("weight 0", scores.softmax(-1) * may),
                ("score −∞", scores.masked_fill(~may, -math.inf).softmax(-1))]:
    print(f"{name:9}", [round(a, 3) for a in w[0].tolist()], f"sum {w.sum():.3f}")

# %% [markdown] evidence="exact"
# **Verdict: no.** A score of 0 is no absence: here the forbidden key gets the largest weight of all. A weight of 0 leaves a row that sums to 0.024.
#
# The weight *becomes* 0 because the score was $-\infty$ when the softmax saw it.

# %% [markdown]
# ## 2. Fewer queries than keys
#
# A chat model has read $S$ words and kept their keys (unit 08). Only the $T$ newest words ask. Their rows are the **last** $T$ rows of the square mask: query $i$ stands at place $i + S - T$.

# %%
square = torch.ones(5, 5, dtype=torch.bool).tril()
square[-2:].int()

# %% [markdown] statement="mask.rectangular"
# Return the $(T, S)$ boolean mask of the last $T$ of $S$ words. `S=None` means $S = T$.
#
# Raise a `ValueError` when $T < 1$ or $S < T$: a query without any key would be left.

# %% exercise="mask.rectangular"
def causal_mask(T, S=None):
    """Causal mask for the newest T of S words.

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
# 2. Either compare `torch.arange(S)` with the queries' places as a column, or give `tril` the offset S − T.
# 3. `return torch.arange(S) <= torch.arange(…, S)[:, None]`, after the check.

# %% [markdown] worth="mask.rectangular"
# With fewer queries than keys, conventions differ: `is_causal=True` in PyTorch's `scaled_dot_product_attention` aligns the triangle with the top left corner, FlashAttention since version 2.1 with the bottom right, as here.

# %% [markdown]
# ### See it
#
# Read seven words at once, or four and then three: the last three outputs must agree.

# %%
torch.manual_seed(0)
q, k, v = torch.randn(3, 7, 4)
whole = F.scaled_dot_product_attention(q, k, v, attn_mask=causal_mask(7))
later = F.scaled_dot_product_attention(q[4:], k, v, attn_mask=causal_mask(3, 7))
(whole[4:] - later).abs().max().item()

# %% [markdown]
# Every mask of this unit, with the ones that you have written: choose one, then point at its cells. What may a query see? A click paints a cell over. The picture on the right adds layers: what one layer hides can still arrive by way of another word.

# %%
MaskExplorer({"causal_mask": causal_mask})

# %% [markdown]
# ## 3. The probability of a text
#
# Any joint probability is a product of conditional ones. No assumption is needed, only the order, left to right:
#
# $$p(x_1, x_2, \dots, x_T) = \prod_t p(x_t \mid x_1, \dots, x_{t-1})$$
#
# A causal model has one output for each factor: what place $t$ gives out depends on words up to $t$ only. So one pass scores all of them.

# %% [markdown]
# ### Worked example: the shift
#
# The text *one dog barks* has ids 5 7 9. Place 0 reads 5 and is asked for 7; place 1 reads 7 and is asked for 9. The last place has nothing to predict.
#
# The loss of a pair is $-\ln p$ of the right word. With probabilities 1/4 and 1/2:

# %%
-(math.log(1 / 4) + math.log(1 / 2)) / 2

# %% [markdown] statement="objective.next_token"
# `next_token_pairs` cuts a text into inputs and targets, $(B, T-1)$ each, and raises a `ValueError` for fewer than two tokens.
#
# `next_token_loss` gets logits for **all** $T$ places and returns the mean of $-\ln p$ over the pairs that count, in nats. A pair counts when its input and its target are both `real` (all do when `real` is None).

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
# 1. Three tokens make two pairs. Which of the three places of logits is never asked?
# 2. Inputs `ids[:, :-1]`, targets `ids[:, 1:]`, logits `logits[:, :-1]`. Get one loss per pair (`F.cross_entropy(…, reduction="none")`, or `log_softmax` and `gather`), keep those that count, take the mean.
# 3. `nll = F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), reduction="none").view(targets.shape)`, `counts = real[:, :-1] & …`, `return nll[counts].mean()`.

# %% [markdown] worth="objective.next_token"
# Logits are big: 4,096 places times the 128,256 tokens of Llama 3's vocabulary take 2.1 GB in float32. Training code can compute this loss in chunks, so that they never all exist at once.

# %% [markdown]
# **Perplexity** is $e^{\text{loss}}$: the number of equally likely words that would leave one as unsure. A fair die has loss $\ln 6$ and perplexity 6.
#
# A corpus comes in batches. Three tokens with loss $\ln 2$ and one with $\ln 8$:
#
# $$\exp \frac{3 \ln 2 + 1 \ln 8}{4} = 2^{6/4} = 2.83, \qquad \text{not}\; \frac{2 + 8}{2} = 5$$

# %% [markdown] statement="objective.likelihood"
# `sequence_log_probability`: $\ln p$ of each text, the sum over its steps. Here `logits[:, t]` already belong to `targets[:, t]`, so nothing is shifted.
#
# `perplexity`: from the mean loss of each batch and its number of predicted tokens. No tokens at all raise a `ValueError`.

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
# 1. Probabilities multiply. What do their logarithms do? And which tokens of the corpus should weigh more than others?
# 2. `log_softmax` over the vocabulary, `gather` the targets' entries, sum over time. For perplexity: total loss over total tokens, then `math.exp`.
# 3. `log_p.gather(-1, targets[..., None]).squeeze(-1).sum(…)`; `math.exp(sum(loss * n for …) / sum(counts))`.

# %% [markdown] worth="objective.likelihood"
# Multiplying probabilities fails early: 100 words of probability 1/4 each give $6\cdot 10^{-61}$, and float32 ends near $10^{-45}$. The sum of their logarithms is a harmless −138.6.

# %% [markdown]
# ### See it
#
# The same text can be split into words, or into 4 times as many letters. Its probability is one number; the perplexity depends on the pieces:

# %%
log_p, n_words = -30.0, 10
for unit, n in (("word", n_words), ("letter", 4 * n_words)):
    print(f"perplexity per {unit:6} {perplexity([-log_p / n], [n]):6.2f}")

# %% [markdown]
# Compare perplexities only between models with the same pieces, and only where nothing leaks. Which brings us back to the puzzle.

# %% [markdown]
# ## 4. The leak
#
# The texts: *one dog sees two cats .* Number words and verbs agree with the animals, and the two animals are of different kinds. Everything else is dice: 2 · 4 · 3 · 2 · 3 = 144 sentences, $\ln 144 / 6 = {{leak.entropy:.2f}}$ nats per word.
#
# The same model, your `next_token_loss`, two masks:

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
    panels[0].set(ylabel="loss per word (nats)"), panels[0].legend()
show_large("leak")

# %% [markdown]
# The bidirectional model has learned one thing: what place $t$ is asked for stands at place $t + 1$, so look there. Its gradients show it. Here is what each model's answer at place 8 depends on:

# %%
ids = leak.texts(1, torch.Generator().manual_seed(3))

def slopes(model, place=8):
    x = model.words(ids).detach().requires_grad_()
    h = x + model.places.weight[:ids.shape[1]]
    for block in model.blocks:
        h = block(h, model.mask_of(ids.shape[1]))
    model.head(model.norm(h))[0, place, ids[0, place + 1]].backward()
    return x.grad[0].norm(dim=-1)

# %%
with described("Bars over 19 places: the causal model depends on places 0 to 8 only, the bidirectional one on 8 and 9 "
               "above all."):
    for i, name in enumerate(leak.SETTINGS):
        s = slopes(models[name])
        plt.bar(torch.arange(len(s)) + 0.4 * i - 0.2, s / s.max(), 0.4, label=name, hatch=("", "//")[i])
    plt.axvline(8.5, color="gray", lw=1), plt.xticks(range(0, 19, 2)), plt.legend()
    plt.xlabel("input place"), plt.ylabel("slope (largest = 1)")

# %% [markdown]
# ### And now without a future
#
# When a text is being written, the next word does not exist yet. Give each model the beginning alone and ask for the next word:

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
       "A is causal, B is bidirectional. B always had the answer in sight (but for the last place, always a full "
       "stop), so it never learned to predict. "
       "The causal model loses nothing when the future is cut off: it had none.",
       answer=lambda: "about the same" if abs(right["causal"] - right["bidirectional"]) < 0.1
       else "A" if right["causal"] > right["bidirectional"] else "B")

# %% [markdown]
# There is a deeper reason. Add up $p$ over *all* texts of two words, all $17^2 = 289$. A probability must give 1:

# %%
two = torch.cartesian_prod(torch.tensor([0]), torch.arange(17), torch.arange(17))
with torch.no_grad():
    for name, model in models.items():
        total = sequence_log_probability(model(two)[:, :-1], two[:, 1:]).exp().sum()
        print(f"{name:14} {total:.3f}")

# %% [markdown]
# Factors that have seen their own answers are no conditional probabilities, and their product is no probability of the text. Exponentiated, B's loss is a number, but not a perplexity.

# %% [markdown]
# ### Claim on trial
#
# > *"Models with a non-causal mask converge faster and reach a lower perplexity; they understand better, and are only less handy for generation."*
#
# The experiment has two readings: with the target in sight, and without it, as in writing. The recorded runs at two learning rates, on average (guessing blindly costs $\ln 17 = 2.83$):

# %%
mean = lambda runs: sum(sum(r) / len(r) for r in runs) / len(runs)
for rate, runs in leak.by_rate(record).items():
    for name in leak.SETTINGS:
        print(f"rate {rate}  {name:14} whole {mean(runs['whole'][name]):.3f}, beginning {mean(runs['cut'][name]):.2f}, "
              f"right sentences {sum(runs['right'][name]) / seeds:.0%}")

# %% [markdown] evidence="recorded: leak, control: learning rate"
# **Verdict: the two losses answer different questions.** With the target in sight {{leak.bidirectional.beats}} of {{leak.runs}} runs beat the entropy, which no honest model can. Without it, {{leak.bidirectional.blind}} of {{leak.runs}} do worse than guessing blindly. On average over all runs {{leak.bidirectional.right:.0%}} of the sentences that they write are right, against {{leak.causal.right:.0%}} with the causal mask.
#
# A masked or infilling model also sees both sides. There it is fair, since its targets are *hidden from the input*; but filling a gap is easier than going on, so a lower loss does not show better understanding.

# %% [markdown]
# ## 5. Hiding words: BERT
#
# To read in both directions without seeing the answer, remove the answer from the input. BERT selects 15 % of the ordinary tokens and predicts these. Of the selected, 80 % become `[MASK]`, 10 % a random token, and 10 % stay as they are ([Devlin et al. 2018](https://arxiv.org/abs/1810.04805)).
#
# Why not always `[MASK]`? It never occurs once the model is used. The other 20 % make the model keep track of ordinary words, too.

# %% [markdown]
# ### Worked example
#
# To make the function testable, the random draws are arguments. Tokens 11 … 15; the first three are selected and draw 0.5, 0.85, 0.95:
#
# | token | selected | draw | input | label |
# |---|---|---|---|---|
# | 11 | yes | 0.5 | 4 (`[MASK]`) | 11 |
# | 12 | yes | 0.85 | 72 (random) | 12 |
# | 13 | yes | 0.95 | 13 (kept) | 13 |
# | 14 | no | 0.5 | 14 | −100 |
# | 15 | no | 0.85 | 15 | −100 |
#
# −100 is PyTorch's sign for *no label*.

# %% [markdown] statement="objective.masked_lm"
# `select_tokens`: a token is selected when its draw lies below `rate` and it is not special.
#
# `mask_tokens`: a selected token with a draw below 0.8 becomes `mask_id`; from 0.8 to below 0.9 it becomes the entry of `random_ids`; from 0.9 on it stays. Labels are the original ids of *all* selected tokens, −100 elsewhere. `ids` must not be changed.

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
# 1. `labels` is given. Build the inputs the same way: where does which tensor show through?
# 2. Two `torch.where`: the first puts `mask_id` where `selected & (u < 0.8)`, the second puts `random_ids` where selected and $0.8 \le u < 0.9$. What is left is already the third action.
# 3. `inputs = torch.where(selected & (u < 0.8), mask_id, ids)`, then `inputs = torch.where(selected & (u >= 0.8) & …, random_ids, inputs)`.

# %% [markdown] worth="objective.masked_lm"
# In one pass BERT learns from 15 % of its tokens, GPT from nearly all. ModernBERT raised the share to 30 % ([Warner et al. 2024](https://arxiv.org/abs/2412.13663)).

# %% [markdown]
# ### See it
#
# 100,000 tokens: what happens to how many?

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
# BERT masked its data in advance, in 10 different ways, and cycled through them for about 40 epochs. RoBERTa draws a new mask every time ([Liu et al. 2019](https://arxiv.org/abs/1907.11692)).

# %%
predict("masks.p3", "After 40 epochs with 10 fixed masks: how many tokens have never been predicted?",
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
# An **encoder** is a stack without a causal mask; a **decoder** is a stack with one. An *encoder–decoder* has both, and the decoder's layers look at the encoder's result as well (cross-attention, unit 01).
#
# Mask and objective come in pairs: predicting the next word needs a mask that hides it; without such a mask the answer has to be hidden in the input.

# %% [markdown]
# | | encoder | decoder | encoder–decoder |
# |---|---|---|---|
# | mask | none but padding | causal | none, causal, and full between the two |
# | objective | hidden words | next word | next word of the *output*, given the input |
# | good for | one vector per word or text: search, labels | writing, and all that can be asked as writing | a fixed input turned into an output: translation, speech |
# | writes word by word | no | yes, with a cache of all words | yes, with a cache of its output; the input is read once |
# | learns from | the 15–30 % that are hidden | every word | every word of the output |
# | models | BERT, ModernBERT | GPT, LLaMA | T5, Whisper |

# %% [markdown]
# BERT, GPT-2 and T5 as pictures, read from the bottom; norms and sums are left out. The small squares are masks: a row looks, a column is seen. Find the two triangles, and the one wire that leads from a stack into the other.

# %%
from anatomy import drawings
from anatomy.atlas import configuration

drawings.stacks(*map(configuration, ("bert-base", "gpt-2", "t5-small")))

# %% [markdown]
# Three models of these kinds, built from their published configurations. *Sees future* was probed: does the first place's result move when the last word changes?

# %%
from anatomy.experiments import named_models

print(*named_models.table(["bert-base", "gpt2", "llama-3-8b", "t5-small"],
                          ["encoder_stacks", "decoder_stacks", "cross_attention_modules", "sees_future"]), sep="\n")

# %% [markdown]
# For T5 the last column is its decoder's answer; its encoder sees both sides.
#
# Which to choose? If nothing has to be written, an encoder: it sees both sides, and reads a text in one pass. If something has to be written, most models since 2020 are decoders: one stack, one objective, and any task can be put into the prompt ([Wang et al. 2022](https://arxiv.org/abs/2204.05832) compare them at equal cost). An encoder–decoder remains at home where the input is long and read once.

# %% [markdown]
# ## 7. Extension: causal and padded
#
# Short texts of a batch are filled up with padding: on the right for training, on the **left** for generation, so that all texts end at the same place and the next word is appended there. `real` is False at padding.
#
# A key must be real *and* not later than the query.

# %%
real = torch.tensor([[False, False, True, True, True]])
(real[:, None, :] & causal_mask(5)).int()

# %%
predict("masks.p2", "Rows 0 and 1 above are padding that asks. Which keys may they look at?",
        ["themselves", "the real words", "none"])

# %% [markdown]
# Padding also shifts words: the first real word above stands in column 2. Its **position** must still be 0, or the same text would look different with other padding. So positions count real words only.

# %%
real.long().cumsum(-1)

# %% [markdown] statement="mask.causal_padding"
# `causal_padding_mask`: both conditions, in shape $(B, 1, T, S)$. With `T` given, the queries are the last $T$ words.
#
# `position_ids`: the first real word gets 0, the next 1, and so on. Padding before the first word gets 0, padding after the last repeats the last word's position (nobody reads either).

# %% exercise="mask.causal_padding"
def causal_padding_mask(real, T=None):
    """real (B, S) boolean, padding on either side; a row may be all padding → (B, 1, T, S) boolean, True = may look."""
    S = real.shape[1]
    ### BEGIN SOLUTION
    return real[:, None, None, :] & causal_mask(S if T is None else T, S)
    ### END SOLUTION


def position_ids(real):
    """real (B, S) boolean → (B, S) int64 positions that count real words only."""
    ### BEGIN SOLUTION
    return (real.long().cumsum(-1) - 1).clamp(min=0)
    ### END SOLUTION

# %% [markdown] hints="mask.causal_padding"
# 1. `real` speaks about keys, `causal_mask` about queries and keys. Which axes of $(B, H, T, S)$ does each need?
# 2. `real[:, None, None, :]` is $(B, 1, 1, S)$, `causal_mask(T, S)` is $(T, S)$; `&` broadcasts. For positions: `cumsum` counts from 1, and gives 0 before the first word.
# 3. `return real[:, None, None, :] & causal_mask(…, S)` and `return (real.long().cumsum(-1) - 1).clamp(min=…)`.

# %% [markdown] worth="mask.causal_padding"
# Pretraining often avoids padding: several texts are packed into one row, and the mask keeps each from seeing the others. Llama 3 was trained that way ([2407.21783](https://arxiv.org/abs/2407.21783)).

# %%
reveal("masks.p2",
       lambda: causal_padding_mask(real)[0, 0, :2].sum(-1).tolist(),
       "None: what comes before them is padding, and what comes after them is the future. "
       "Such rows need a defined result (zeros, unit 01); nobody reads it.",
       answer="none")

# %% [markdown]
# ### See it
#
# One text, padded on the left by two or not at all. The words' outputs must be equal; with plain positions they are not.

# %%
torch.manual_seed(0)
words, places = torch.randn(1, 3, 8), torch.randn(5, 8)
padded = torch.cat([torch.zeros(1, 2, 8), words], dim=1)

def outputs(x, real, ids):
    x = x + places[ids]
    return F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], causal_padding_mask(real))[0, 0, -3:]

plain = outputs(words, real[:, 2:], torch.arange(3)[None])
for name, ids in (("real words counted", position_ids(real)), ("all columns counted", torch.arange(5)[None])):
    print(f"{name:20} outputs differ by {(outputs(padded, real, ids) - plain).abs().max():.3f}")

# %% [markdown]
# ### Claim on trial
#
# > *"The mask is filled with minus infinity (−1e9) and added to the scores, which makes the blocked weights 0."*
#
# Unit 01 tried it on ordinary rows. Left padding makes rows without any key, and code often *adds two* masks, one causal, one for padding:

# %%
scores = torch.tensor([3.0, 1.0, 2.0])
low = torch.finfo(torch.float32).min
for name, fill in [("−1e9", -1e9), ("−∞", -math.inf), ("the lowest float, twice", low + torch.tensor(low))]:
    print(f"{name:24}", torch.softmax(scores + torch.full((3,), float(fill)), -1).tolist())

# %% [markdown] evidence="exact"
# **Verdict: it holds for rows that keep a key.** In a row without any, −1e9 swallows the scores (float32 has steps of 64 up there) and every key gets 1/3, the future included. $-\infty$ gives NaN.
#
# And two masks of the lowest float add up to $-\infty$. Join masks as booleans, convert once, and define the empty row.

# %% [markdown]
# ## 8. Extension: between causal and bidirectional
#
# Translating, a model may read the whole question before it writes. A **prefix language model** lets every query see the first $p$ words, and is causal after them. Four words, $p = 2$:

# %%
block = causal_mask(4)
block[:2, :2] = True
block.int()

# %% [markdown] statement="mask.prefix_lm"
# Return the $(T, T)$ mask for a prefix of `prefix` words: a key is allowed when it lies in the prefix, or not after the query.
#
# `prefix` 0 gives the causal mask, $T$ the full one; anything outside $0 \dots T$ raises a `ValueError`.

# %% exercise="mask.prefix_lm"
def prefix_lm_mask(T, prefix):
    """(T, T) boolean mask of a prefix language model (arXiv:1910.10683, section 3.2.1), True = may look."""
    ### BEGIN SOLUTION
    if not 0 <= prefix <= T:
        raise ValueError(f"a prefix of {prefix} does not fit {T} words")
    return causal_mask(T) | (torch.arange(T) < prefix)
    ### END SOLUTION

# %% [markdown] hints="mask.prefix_lm"
# 1. Two conditions, and one of them is enough. Which operator joins them?
# 2. `torch.arange(T) < prefix` is one row that speaks about keys. It broadcasts against the causal mask.
# 3. `return causal_mask(T) | (torch.arange(T) < …)`, after the check.

# %% [markdown] worth="mask.prefix_lm"
# PaliGemma ([2407.07726](https://arxiv.org/abs/2407.07726)) uses this mask for pictures: the image and the question are the prefix, read in both directions, and the answer after them is causal.

# %% [markdown]
# UniLM trains **one** network with several masks in turn ([Dong et al. 2019](https://arxiv.org/abs/1905.03197)). The text has two segments, *source* and *target*:
#
# | objective | a word sees |
# |---|---|
# | bidirectional | everything |
# | left-to-right | itself and what precedes it |
# | right-to-left | itself and what follows it |
# | sequence-to-sequence | in the source: the source. In the target: the source, and the target up to itself |

# %% [markdown] statement="mask.unilm"
# One function for all four names, spelled as in the table. `source` and `target` are the lengths of the segments; the mask is square, of size `source + target`. Any other name raises a `ValueError`.

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
# 1. You have written three of the four already. What is the last row of the table by another name?
# 2. Bidirectional: all True. Right-to-left: swap queries and keys of the causal mask. Sequence-to-sequence: a prefix language model whose prefix is the source.
# 3. `torch.ones(T, T, dtype=torch.bool)`, `causal_mask(T).T`, `prefix_lm_mask(T, …)`, and `raise ValueError(…)` at the end.

# %% [markdown] worth="mask.unilm"
# Nothing in the words tells which mask is on. UniLM gives each objective segment embeddings of its own, so that the network knows what it is asked ([1905.03197](https://arxiv.org/abs/1905.03197), section 2.1).

# %% [markdown]
# ### See it
#
# The masks again, now with your four functions. Compare the prefix with UniLM's last row.

# %%
mine = {"causal_mask": causal_mask, "causal_padding_mask": causal_padding_mask, "position_ids": position_ids,
        "prefix_lm_mask": prefix_lm_mask, "unilm_mask": unilm_mask}
MaskExplorer(mine)

# %% [markdown]
# ### Claim on trial
#
# > *"UniLM is trained with three kinds of mask: unidirectional, bidirectional, and sequence-to-sequence."*
#
# The paper's list has four names. Are two of them the same mask?

# %%
names = ["bidirectional", "left-to-right", "right-to-left", "sequence-to-sequence"]
masks = {name: unilm_mask(name, 3, 2) for name in names}
print(len({tuple(m.flatten().tolist()) for m in masks.values()}), "different masks")
for name, m in masks.items():
    print(f"{name:21} {int(m.sum()):2} pairs, word 0 sees {int(m[0].sum())}, the last word {int(m[-1].sum())}")

# %% [markdown] evidence="exact + cited: 1905.03197"
# **Verdict: four.** The claim leaves right-to-left out. It is left-to-right for a text read backward; for a given text it is another mask, and predicts a word from what follows it.
#
# The paper ([1905.03197](https://arxiv.org/abs/1905.03197)) mixes them: a third bidirectional, a third sequence-to-sequence, a sixth for each direction.

# %% [markdown]
# ### Claim on trial
#
# > *"T5 is a prefix LM, like UniLM and GLM."*
#
# An encoder–decoder has three patterns: encoder to itself (full), decoder to encoder (full), decoder to itself (causal). Laid out as one square for 3 input and 2 output words:

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
# **Verdict: the pattern is, the model is not.** The released T5 ({{named_models.t5_small.counted:,}} parameters in its small size) has an encoder and a decoder with weights of their own, and a decoder layer shares out its attention twice: among its own words, and among the input's. A prefix LM has one stack and one softmax.
#
# The [T5 paper](https://arxiv.org/abs/1910.10683) trains a prefix LM as well, as a variant to compare with (section 3.2).

# %% [markdown]
# ## 9. Extension: pairs of sentences
#
# BERT has a second objective. **Next sentence prediction** (NSP): is the second sentence the true successor (label 0), or one from another document (label 1)? A change of topic gives most of these away, and RoBERTa dropped it without loss.
#
# ALBERT's **sentence order prediction** (SOP) swaps two true neighbors instead ([Lan et al. 2019](https://arxiv.org/abs/1909.11942)). Only their order can tell.

# %% [markdown] statement="objective.sentence_pairs"
# A document is a list of sentences, a sentence a list of ids. Both functions return `(first, second, label)`.
#
# `nsp_pair`: the sentence with its successor if `replacement` is None, else with sentence `replacement = (document, sentence)`. `ValueError` when the sentence has no successor (with a replacement, too), or the replacement lies in the same document, whatever that one says.
#
# `sop_pair`: as they come (0), or swapped (1).

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
# In BERT's paper a *sentence* is any stretch of text, and two of them together fill up to 512 tokens. In half of the pairs the second truly follows the first ([1810.04805](https://arxiv.org/abs/1810.04805)).

# %% [markdown]
# ### See it
#
# Can topic alone decide? Two topics with vocabularies of their own; the rule *no word in common means random* knows nothing of order:

# %%
g = torch.Generator().manual_seed(0)
docs = [[torch.randint(base, base + 8, (6,), generator=g).tolist() for _ in range(50)] for base in (10, 60)]
rule = lambda a, b: int(not set(a) & set(b))
nsp = [nsp_pair(docs, 0, s, r) for s in range(49) for r in (None, (1, s))]
sop = [sop_pair(docs[0][s], docs[0][s + 1], w) for s in range(49) for w in (False, True)]
for name, pairs in (("NSP", nsp), ("SOP", sop)):
    print(name, f"{sum(rule(a, b) == y for a, b, y in pairs) / len(pairs):.0%} right")

# %% [markdown]
# ## 10. Extension: hiding spans, as T5 does
#
# T5 hides runs of words. Each run leaves **one** sentinel in the input; the target spells the runs out, each after its sentinel:
#
# | | |
# |---|---|
# | text | 11 **12 13** 14 **15** 16 |
# | inputs | 11 ⟨99⟩ 14 ⟨98⟩ 16 |
# | targets | ⟨99⟩ 12 13 ⟨98⟩ 15 ⟨97⟩ |
#
# Sentinels are the last ids of the vocabulary and count down. One more closes the targets.

# %% [markdown]
# The closing sentinel follows the [paper](https://arxiv.org/abs/1910.10683) (figure 2). The released code leaves it out and appends an end-of-sequence token: another id in the same place.
#
# Where does a span start? At a hidden token whose left neighbor is not hidden:

# %%
noise = torch.tensor([False, True, True, False, True, False])
before = torch.cat([torch.tensor([False]), noise[:-1]])
starts = noise & ~before
starts.int(), starts.cumsum(0)

# %% [markdown] statement="objective.span_corruption"
# Return inputs and targets. `noise` is True where a token is hidden; neighbors that are hidden together make one span. Span $k$ has sentinel `first_sentinel - k`, and the closing one comes after the last span.
#
# If one of the sentinels needed (the closing one included) occurs in the text, raise a `ValueError`.

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
# T5's vocabulary keeps 100 ids for sentinels behind 32,000 ordinary ones. The first, `<extra_id_0>`, is id 32,099, and `<extra_id_99>` is 32,000.

# %% [markdown]
# Nothing is lost: inputs and targets together hold the whole text.

# %% [markdown] statement="objective.restore_spans"
# Rebuild the text: each sentinel of the inputs is replaced by its span from the targets. The inputs must hold exactly the sentinels of the spans, in the same order: raise a `ValueError` for one that is missing, comes twice, out of turn, or is the closing one.
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
# A round trip finds lost words, but no mistake that both functions share: if both counted sentinels upward, every text would still come back. So fixed examples are needed as well.

# %% [markdown]
# ### See it
#
# 200 random texts with random noise, there and back:

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
# Count for T5's own setting: 568 tokens, 15 % noise, mean span 3.

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
       f"{len(inputs)} inputs", "The text itself is never asked for: the 483 tokens in sight cost nothing to predict.",
       answer="114")

# %% [markdown] evidence="exact + cited: 1910.10683"
# **Verdict: no.** The decoder writes ⟨0⟩ *love* ⟨1⟩: the gaps alone. That makes 114 steps instead of 568, about a fifth.
#
# The [paper](https://arxiv.org/abs/1910.10683) tried the claim's version as well (its "BERT-style" and "MASS-style" targets) and found the short targets about as good, and cheaper (section 3.3.2).

# %% [markdown]
# ## 11. Extension: filling blanks, as GLM does
#
# GLM puts both sides of T5 into **one** sequence ([Du et al. 2021](https://arxiv.org/abs/2103.10360)). Part A is the text, with one `[M]` per blank. Part B writes the blanks one after the other, in random order. Each starts with `[S]` and is to end with `[E]`.

# %% [markdown]
# ### Worked example
#
# The text *one dog sees two cats .* with the blanks *dog sees* and *cats*. Part B writes *cats* first:
#
# | | part A | | | | | | part B | | | | |
# |---|---|---|---|---|---|---|---|---|---|---|---|
# | token | one | [M] | two | [M] | . | | [S] | cats | [S] | dog | sees |
# | position | 0 | 1 | 2 | 3 | 4 | | 3 | 3 | 1 | 1 | 1 |
# | within blank | 0 | 0 | 0 | 0 | 0 | | 1 | 2 | 1 | 2 | 3 |
# | label | – | – | – | – | – | | cats | [E] | dog | sees | [E] |

# %% [markdown]
# Each token has two positions. The first says *which blank*: the place of its `[M]` in part A. The second counts within the blank, from 1; part A has 0.
#
# So part A gives no length away: a blank of 1 and one of 10 look the same. The mask you know already: part A is the source, part B the target of UniLM's sequence-to-sequence.

# %% [markdown] statement="objective.blank_infilling"
# Build the example: tokens, positions, positions within the blank, labels. `spans` are half-open `(start, stop)`, in the order of the text; `order[0]` is the blank that part B writes first. Labels are −100 in part A.
#
# `ValueError` when two spans touch or overlap, or `order` is no permutation. No span at all is allowed. The part-A loop is given.

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
# 2. Check first. Then for each `k` of `order`: `span = text[start:stop]`; tokens get `start_id` and the span, positions the place of the blank len(span) + 1 times, within counts 1, 2, …, labels get the span and `end_id`.
# 3. `tokens += [start_id] + span`, `positions += [places[k]] * (…)`, `within += range(1, …)`, `labels += span + […]`. Spans touch when `b[0] <= a[1]` for neighbors a, b.

# %% [markdown] worth="objective.blank_infilling"
# GLM draws the lengths of its blanks from a Poisson distribution with mean 3, until at least 15 % of the tokens are hidden ([2103.10360](https://arxiv.org/abs/2103.10360)).

# %% [markdown]
# ### See it

# %%
words = ["[M]", "[S]", "[E]", "one", "dog", "sees", "two", "cats", "."]
rows = blank_infilling(torch.arange(3, 9), [(1, 3), (4, 5)], [1, 0], 0, 1, 2)
for name, row in zip(("token", "position", "within", "label"), rows):
    shown = [words[i] if name in ("token", "label") and i >= 0 else "–" if i < 0 else str(i) for i in row.tolist()]
    print(f"{name:9}" + "".join(f"{w:>6}" for w in shown))

# %% [markdown]
# One sentence, six objectives: point at the tokens, draw again, and read what the model sees and what it must predict. Then look back at GLM's mask in the first explorer.

# %%
ObjectiveLab({"next_token_pairs": next_token_pairs, "mask_tokens": mask_tokens, "span_corruption": span_corruption,
              "blank_infilling": blank_infilling, "nsp_pair": nsp_pair, "sop_pair": sop_pair})

# %% [markdown]
# ## 12. Extension: who belongs to whom, or InfoNCE
#
# The last objective predicts no words. A batch holds $B$ pairs: a picture and its caption, or a sentence and the same sentence again. Each query must find its own key among the batch's $B$ keys.

# %% [markdown]
# ### Worked example
#
# Two queries and two keys at right angles: the cosine of a pair is 1, of strangers 0. The softmax of (1, 0) gives the right key $e/(e+1) = 0.73$, so the loss is $-\ln 0.73 = 0.313$. Divided by a **temperature** of 0.1 first:

# %%
for t in (1.0, 0.1):
    p = torch.softmax(torch.tensor([1.0, 0.0]) / t, -1)[0]
    print(f"temperature {t}: right key {p:.5f}, loss {-p.log():.5f}")

# %% [markdown]
# $$\mathcal L = -\frac1B \sum_i \ln \frac{\exp(\cos(q_i, k_i)/\tau)}{\sum_j \exp(\cos(q_i, k_j)/\tau)}$$
#
# The sum runs over all $j$, the right one included. With keys that cannot be told apart the loss is $\ln B$: guessing.

# %% [markdown] statement="objective.info_nce"
# Write the loss for queries and keys $(B, d)$ of any length, row $i$ of both a pair. Only queries choose here. `F.cross_entropy` is welcome.
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
# 1. It is a classification with $B$ classes. Which class is right for query $i$?
# 2. Normalize both, multiply to a $(B, B)$ table of cosines, divide by the temperature. Row $i$ is the logits of query $i$, and its class is $i$.
# 3. `logits = F.normalize(queries, dim=-1) @ F.normalize(keys, dim=-1).T / …`, `return F.cross_entropy(logits, torch.arange(…))`.

# %% [markdown] worth="objective.info_nce"
# CLIP learns its temperature, starting from 0.07, and clips it so that cosines are never multiplied by more than 100. The authors found that necessary for stable training ([2103.00020](https://arxiv.org/abs/2103.00020)).

# %% [markdown]
# ### Experiment: two towers
#
# 64 things, seen by two "senses" that mix them in different ways. Two linear maps are trained to bring the two views of a thing together.

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
# Before training the loss is above $\ln 64$: at $\tau = 0.07$ chance differences count as certainties.
#
# Large batches make the task harder and the signal richer: $\ln B - \mathcal L$ is a lower bound on the information that the two views share, and it cannot exceed $\ln B$.

# %% [markdown]
# ### Claim on trial
#
# > *"CLIP is an encoder–decoder, with an image encoder and a text decoder."*
#
# A test: change what the *other* side reads. In an encoder–decoder the decoder's states move with the encoder's input, through cross-attention. First on two small models:

# %%
torch.manual_seed(0)
image, other, text = torch.randn(3, 1, 5, 16)
tower = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
decoder = nn.TransformerDecoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
two_towers = lambda image, text: tower(text)
for name, f in (("two encoders", two_towers), ("encoder–decoder", lambda image, text: decoder(text, image))):
    print(f"{name:16} text states move by {(f(image, text) - f(other, text)).abs().max().item():.2f}")

# %% [markdown]
# Then in CLIP's own configuration, beside T5's:

# %%
print(*named_models.table(["clip-vit-base-patch32", "t5-small"],
                          ["encoder_stacks", "decoder_stacks", "cross_attention_modules"]), sep="\n")

# %% [markdown] evidence="models: clip-vit-base-patch32"
# **Verdict: two encoders.** [CLIP](https://arxiv.org/abs/2103.00020)'s towers never see each other's input; they meet in one dot product per pair. Hence 1,000 images and 1,000 captions need 2,000 encoder runs, not a million.
#
# Its text tower does carry a causal mask, like GPT's. But nothing in it attends to an image, and nothing is generated: a mask alone makes no decoder.

# %% [markdown] written="question"
# A report compares BERT's loss on hidden words, 1.2 nats, with GPT's loss on next words, 2.9 nats, on the same texts. It concludes that BERT *understands language better*. Why does that not follow? Say what each number measures, and describe a comparison that you would trust.
#
# - what each model may see when it answers
# - whether the losses add up to the probability of a text, and which tokens are counted
# - a task that both models can do, and what is equal in it

# %% [markdown] written="answer" points=3
# The two losses answer different questions. BERT fills a gap and sees the words on both sides; GPT goes on from the left side alone, which is harder. GPT's losses add up to the log probability of the text. BERT's concern the selected 15 % alone, each from a text in which others are hidden too, and give no perplexity of the text. The pieces of the two vocabularies may differ as well. I would compare both on a task that both can do, such as labels for reviews, with the same training data and computation, on texts that neither has seen, over several seeds. Whether a model can write has to be tried without the future.
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
      "only if it is not zero below the diagonal": (True, "No leak, and no blindness: both must be measured."),
      "only if its rows sum to 1": (False, "That is about weights, not about what depends on what.")})

# %%
quiz("A cache holds 10 words and 2 new ones arrive: causal_mask(2, 12). How many keys may the first new word see?",
     {"1": (False, "That is a mask without the offset."), "11": (True, "It stands at place 10 and sees places 0 to 10."),
      "12": (False, "That would include the second new word.")})

# %%
quiz("A model's next-word loss lies below the entropy of the data. What do you do first?",
     {"celebrate": (False, "No honest model can do that."), "look for a leak": (True, "The answer is in the input somewhere."),
      "train longer": (False, "It would fall further.")})

# %%
quiz("BERT selects a token, its draw is 0.93. Is it predicted?",
     {"yes, from the unchanged token": (True, "The kept tenth is predicted as well."),
      "no, since it was not masked": (False, "All selected tokens have a label."),
      "yes, from [MASK]": (False, "That takes a draw below 0.8.")})

# %%
quiz("Ten million product reviews each need one label, and nothing is to be written. Which stack fits best?",
     {"a decoder": (False, "It works, but each word sees only what precedes it, and nothing has to be written."),
      "an encoder": (True, "One pass per review, and every word sees both sides."),
      "an encoder–decoder": (False, "The decoder would write a label word by word that can be read off a vector.")})

# %%
progress("07-masks-and-objectives")

# %% [markdown]
# ## Where this lives in real models
#
# - Causal, next word: [GPT-3](https://arxiv.org/abs/2005.14165), [LLaMA](https://arxiv.org/abs/2302.13971). Bidirectional, masked: [BERT](https://arxiv.org/abs/1810.04805), [RoBERTa](https://arxiv.org/abs/1907.11692); with SOP: [ALBERT](https://arxiv.org/abs/1909.11942).
# - Span corruption: [T5](https://arxiv.org/abs/1910.10683). Several masks, one network: [UniLM](https://arxiv.org/abs/1905.03197), [UL2](https://arxiv.org/abs/2205.05131). Blank infilling: [GLM](https://arxiv.org/abs/2103.10360).
# - What objective and mask do to zero-shot use, measured: [Wang et al. 2022](https://arxiv.org/abs/2204.05832).
# - Is 15 % right? [Wettig et al. 2022](https://arxiv.org/abs/2202.08005).
# - Contrastive: [CPC](https://arxiv.org/abs/1807.03748), [SimCSE](https://arxiv.org/abs/2104.08821), [CLIP](https://arxiv.org/abs/2103.00020).
#
# A decoder writes one token after the other, and would compute the keys of the whole text again for each. Next, **08-kv-cache-and-gqa**: how not to.
