# %% [markdown]
# # Scale and cost
#
# **You will be able to**
#
# - read a model's width off its number of parameters;
# - say what a training computes, how long it takes, and how large a model a budget deserves;
# - adapt a frozen model by a low-rank difference (LoRA);
# - predict and measure the time of a decoding step.
#
# **Prerequisites:** units 01, 07, 08 and 12. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# GPT-3 has 175 billion parameters and was trained on 300 billion tokens. Suppose that you had 1,024 GPUs, and that each of them got through 140,000,000,000,000 operations per second (140 TFLOP/s), day and night. How long would the training take?

# %% setup=true
import math

import matplotlib.pyplot as plt
import torch
from anatomy import case, check, predict, progress, quiz, reveal
from anatomy.experiments import lora, named_models, recorded, scaling, scaling_law, serving, show_large, where
from anatomy.plots import described, use_style
from anatomy.widgets import CacheCalculator
from torch import nn

# %%
use_style()

# %%
predict("scale.p1", "175 billion parameters, 300 billion tokens, 1,024 GPUs at 140 TFLOP/s each. It takes…",
        ["about a day", "about a month", "about a year"])

# %% [markdown]
# Keep your guess until section 2, where you compute the answer with your own functions.

# %% [markdown]
# ## 1. A width, read off a count
#
# How large a model is, and what it costs, depends on a few numbers such as its width. This section counts from a width to the number of parameters, and then goes back.

# %% [markdown]
# A GPT layer of width $d$ has four attention matrices ($4d^2$ numbers) and, as in unit 04, two feed-forward matrices to width $4d$ and back ($8d^2$). Biases add $9d$, and two norms add $4d$. Below the $L$ layers are two tables, for $V$ tokens and $P$ positions, and above them is one more norm ($2d$). The head is *tied*, which means that it uses the table of tokens again and adds nothing.
#
# $$N = L\,(12 d^2 + 13 d) + (V + P)\, d + 2d$$
#
# Vocabularies range from about 30 thousand tokens, as in BERT, to about 250 thousand, as in BLOOM.

# %% [markdown]
# ### Worked example
#
# Take $d = 2$, one layer, 5 tokens and 3 positions. The layer has $12 \cdot 4 + 13 \cdot 2 = 74$ parameters, the tables have $8 \cdot 2 = 16$, and the last norm has 4, which makes 94 in all.
#
# To go back from 94 parameters, solve $12 d^2 + (5 + 3 + 13 + 2)\, d = 94$. This is a quadratic equation, and its positive root is 2.

# %%
a, b, N = 12, 23, 94
(-b + math.sqrt(b**2 + 4 * a * N)) / (2 * a)

# %% [markdown] statement="scale.hidden_size"
# Write the count, and the way back, which is the width that a count of `parameters` belongs to. Published counts are rounded, so the root is not a whole number and has to be rounded to the nearest multiple of `multiple`. Both functions return integers.

# %% exercise="scale.hidden_size"
def gpt_parameters(d_model, n_layers, vocab, positions):
    """Parameters of a GPT with a tied head, as an int."""
    ### BEGIN SOLUTION
    return n_layers * (12 * d_model**2 + 13 * d_model) + (vocab + positions) * d_model + 2 * d_model
    ### END SOLUTION


def hidden_size(parameters, n_layers, vocab, positions, multiple=64):
    """The d_model, a multiple of `multiple`, that such a count belongs to."""
    ### BEGIN SOLUTION
    a, b = 12 * n_layers, 13 * n_layers + vocab + positions + 2
    d = (-b + math.sqrt(b**2 + 4 * a * parameters)) / (2 * a)
    return multiple * round(d / multiple)
    ### END SOLUTION

# %% [markdown] hints="scale.hidden_size"
# 1. In the example, which numbers are multiplied by $d^2$, and which by $d$? With $L$ layers, what is multiplied by $L$?
# 2. $a = 12L$ and $b = 13L + V + P + 2$. The root is $(-b + \sqrt{b^2 + 4aN}) / (2a)$. Divide it by `multiple`, round, and multiply again.
# 3. `a, b = 12 * n_layers, 13 * n_layers + vocab + positions + 2`, then `d = (-b + math.sqrt(…)) / (2 * a)`, `return multiple * round(…)`.

# %% [markdown] worth="scale.hidden_size"
# Above a few billion parameters the layers are nearly everything, and $12\,L\,d^2$ is a good estimate. GPT-3's two tables hold 0.4 % of its parameters, whereas those of the smallest GPT-2 hold 32 %.

# %% [markdown]
# ### Claim on trial
#
# > *"Hidden size: GPT-1 3072, GPT-2 6400, GPT-3 49152."*
#
# Your function can test these numbers, because published counts of parameters, layers and tables leave only one possible width.

# %%
published = {"GPT-1": (117_000_000, 12, 40478, 512), "GPT-2 XL": (1_558_000_000, 48, 50257, 1024),
             "GPT-3": (175_000_000_000, 96, 50257, 2048)}
for name, counts in published.items():
    d = hidden_size(*counts)
    print(f"{name:9} width {d:6,}, feed-forward {4 * d:6,}; width {4 * d:,} would be "
          f"{gpt_parameters(4 * d, *counts[1:]) / counts[0]:.0f} times the parameters")

# %% [markdown] evidence="exact + models: gpt1, gpt2-xl, gpt3-175b"
# **Verdict: these are the widths of the feed-forward layers, not of the models.** The counts decode to 768, 1,600 and 12,288, which is what the models' configurations say, and the claim's numbers are four times as large. With a width of 49,152, GPT-3 would have 16 times its parameters.

# %% [markdown]
# ### The shape of real models
#
# Models with equally many parameters can have different shapes, which three ratios describe. These are $d_{ff} / d_{model}$, heads times head dim over $d_{model}$, and the *aspect ratio*, which is $d_{model}$ over the number of layers.

# %%
shapes = {name: m for name, m in named_models.recorded().items() if m.get("decoder_stacks", 1) == 1}
ratios = {name: (m["d_ff"] / m["d_model"], m["heads"] * m["d_head"] / m["d_model"], m["d_model"] / m["layers"])
          for name, m in sorted(shapes.items(), key=lambda item: item[1]["counted"])}
print(f"{'':14}{'billions':>9}{'d_ff/d':>8}{'H·D/d':>8}{'d/layers':>10}")
for name, (ffn, heads, aspect) in ratios.items():
    print(f"{name:14}{shapes[name]['counted'] / 1e9:9.1f}{ffn:8.2f}{heads:8.2f}{aspect:10.0f}")

# %% [markdown]
# ### Claim on trial
#
# > *"Heads times head size, over the model's size, is 1 or more. Mainstream models have an aspect ratio of 100 to 200."*
#
# Is this a law, or a habit of some models? The next cell counts large and small models separately.

# %%
for label, chosen in (("over 5 billion", [n for n in ratios if shapes[n]["counted"] > 5e9]),
                      ("smaller", [n for n in ratios if shapes[n]["counted"] <= 5e9])):
    inside = [n for n in chosen if 100 <= ratios[n][2] <= 200]
    print(f"{label:15} {len(inside)} of {len(chosen)} have an aspect ratio of 100 to 200")
print("H·D below d:", [n for n, (_, heads, _) in ratios.items() if heads < 0.99])

# %% [markdown] evidence="exact + models: gpt2-xl, gemma2-9b, bloom, palm-540b"
# **Verdict: it is a habit of large models, and it has exceptions.** Of the 12 recorded decoders over 5 billion parameters, 10 lie between 100 and 200, while Gemma 2 has 85 and BLOOM has 205. The smaller ones are all below 100, such as GPT-2 XL with 33. The first half of the claim has an exception as well, since PaLM's heads together are *narrower* than its width, by a factor of 0.67.

# %% [markdown]
# ## 2. What a training run computes
#
# To predict what a training costs, count its arithmetic. In the forward pass, a weight that meets a token makes one multiplication and one addition, which are 2 FLOPs (floating-point operations).
#
# The backward pass turns each matrix product into two of the same size, one for the gradient of its input and one for that of its weight. Large runs often store few activations to save memory, and run the forward pass a second time when the backward pass needs the others.

# %% [markdown]
# ### Worked example
#
# Suppose that a model has 10 parameters and reads 5 tokens. Its forward pass takes $2 \cdot 10 \cdot 5 = 100$ FLOPs. How many does the backward pass take, and how many the whole step? Work this out before you write code.
#
# If a device reaches 5 FLOP/s, then 300 FLOPs take it 60 seconds, and two devices 30.

# %% [markdown] statement="scale.flops"
# Derive the FLOPs of a training run for given numbers of `parameters` and `tokens`, counting one forward pass and the backward pass, and the forward pass twice where `recompute` is true. For whole numbers the result is an int.
#
# Then write the days that it takes, as a float. `achieved` is what each of the `devices` really gets done, in FLOP per second.

# %% exercise="scale.flops"
def training_flops(parameters, tokens, recompute=False):
    """FLOPs of a training run (arXiv:2001.08361); recompute: the forward pass runs twice."""
    ### BEGIN SOLUTION
    return (8 if recompute else 6) * parameters * tokens
    ### END SOLUTION


def training_days(flops, devices, achieved):
    """Days that `devices` need, each at `achieved` FLOP/s."""
    ### BEGIN SOLUTION
    return flops / (devices * achieved) / 86_400
    ### END SOLUTION

# %% [markdown] hints="scale.flops"
# 1. How many passes are there, and what does each of them cost per parameter and token?
# 2. It is 2 forward, 2 more with `recompute`, and 4 backward. The seconds are the FLOPs over what all devices do in one second, and a day has 86,400 of them.
# 3. `return (8 if recompute else 6) * …` and `return flops / (devices * achieved) / …`.

# %% [markdown] worth="scale.flops"
# A device reaches much less than its data sheet says. PaLM, for example, reached 46 % of its chips' peak, which its authors called *model FLOPs utilization* ([2204.02311](https://arxiv.org/abs/2204.02311)).

# %% [markdown]
# ### See it
#
# For $N$ parameters and $D$ tokens you have derived $2ND$ forward and $4ND$ backward, so together
#
# $$C = 6 N D$$
#
# and $8ND$ with the forward pass twice. Torch can count operations, which shows whether this is true of a Transformer, here of four layers with width 768.

# %%
for length in (128, 512, 2048):
    counted = scaling.training_step(length=length)
    print(f"{length:5} tokens a text: forward {counted['forward']:.2f}, backward {counted['backward']:.2f} per N·D")

# %% [markdown]
# What exceeds 2 and 4 is the work of attention itself, which multiplies queries with keys, and weights with values. No parameter takes part in it, and it grows with the length of the text. At 512 tokens it adds about a tenth, so $6ND$ is a good estimate unless texts are long.

# %% [markdown]
# ### Claim on trial
#
# > *"GPT-3: trained on 1024 A100 with 80 GB for about a month."*
#
# This is the puzzle from the beginning, and your own functions can now rebuild the number. Table D.1 of GPT-3's paper counts $3.14 \cdot 10^{23}$ FLOPs.

# %%
plain, again = (training_flops(175e9, 300e9, recompute) for recompute in (False, True))
print(f"{plain:.2e} FLOPs; 1,024 A100 at 140 TFLOP/s: {training_days(plain, 1024, 140e12):.0f} days, "
      f"with the forward pass twice {training_days(again, 1024, 140e12):.0f}")

# %%
reveal("scale.p1",
       lambda: f"{training_days(again, 1024, 140e12):.0f} days with the forward pass twice, "
       f"{training_days(plain, 1024, 140e12):.0f} without",
       "It is 6 or 8 times 175 billion times 300 billion, divided by 1,024 times 140 TFLOP/s.",
       answer="about a month")

# %% [markdown] evidence="exact + cited: 2005.14165 + cited: 2104.04473"
# **Verdict: the month is right as an estimate, but it is not what happened.** The 34 days on 1,024 A100 are in section 5.1 of [2104.04473](https://arxiv.org/abs/2104.04473), whose authors estimated a year later, with $8ND$, what their own software would need. GPT-3's paper says that all its models were trained on V100 GPUs ([2005.14165](https://arxiv.org/abs/2005.14165), section 2.3).

# %% [markdown]
# How can 1,024 GPUs work on one model? In **data parallelism** each of them, or each group, has a copy of the model and reads other texts, and their gradients are averaged. A model that is too large for one GPU is split up. **Tensor parallelism** divides each matrix among several GPUs, whereas **pipeline parallelism** gives each GPU a few of the layers. Large runs, such as those of [2104.04473](https://arxiv.org/abs/2104.04473), combine all three.

# %% [markdown]
# ## 3. How large a model does a budget deserve?
#
# With $C = 6ND$ fixed, a larger model sees fewer tokens. To find the best division, the authors of the Chinchilla paper trained over 400 models. Their table 3 lists, for each size, the budget at which that size is best. Here are three of its nine rows.
#
# | parameters | FLOPs | tokens |
# |---|---|---|
# | 1 billion | 1.21e20 | 20.2 billion |
# | 67 billion | 5.76e23 | 1.5 trillion |
# | 1 trillion | 1.27e26 | 21.2 trillion |

# %%
predict("scale.p2", "The budget grows 100 times. Then the best model grows about…",
        ["3 times, on 30 times the tokens", "10 times, on 10 times the tokens", "100 times, on the same tokens"])

# %% [markdown]
# ### Worked example
#
# Such rows follow a *power law* $y = a\,x^b$, which is the straight line $\log y = \log a + b \log x$ in logarithms. For example, let $y$ be 3, 6 and 12 where $x$ is 1, 4 and 16. Each step multiplies $x$ by 4 and $y$ by 2, so $b = \log 2 / \log 4 = 0.5$, and at $x = 1$ we read off that $a = y = 3$.

# %% [markdown] statement="scale.allocation"
# - `fit_power_law` returns $(a, b)$ as floats, from the least squares of $\log y$ over $\log x$, computed in float64.
# - `allocate` divides a budget $C$ and returns $N = a\,C^b$, together with the tokens $D$ that $C = 6ND$ leaves for this $N$.

# %% exercise="scale.allocation"
def fit_power_law(x, y):
    """(coefficient, exponent) of y = coefficient · x**exponent, for positive tensors x, y (n,)."""
    ### BEGIN SOLUTION
    u, v = x.double().log(), y.double().log()
    du = u - u.mean()
    exponent = (du * (v - v.mean())).sum() / (du**2).sum()
    return torch.exp(v.mean() - exponent * u.mean()).item(), exponent.item()
    ### END SOLUTION


def allocate(flops, coefficient, exponent):
    """(parameters, tokens) for a budget in FLOPs (arXiv:2203.15556)."""
    ### BEGIN SOLUTION
    parameters = coefficient * flops**exponent
    return parameters, flops / (6 * parameters)
    ### END SOLUTION

# %% [markdown] hints="scale.allocation"
# 1. With $u = \log x$ and $v = \log y$ this is the line of best fit. Through which point does such a line always go?
# 2. The slope is $\sum (u - \bar u)(v - \bar v) / \sum (u - \bar u)^2$. The intercept is $\bar v$ − slope · $\bar u$, and its exponential is the coefficient. The tokens are $C / (6N)$.
# 3. `u, v = x.double().log(), y.double().log()`, `du = u - u.mean()`, `exponent = (du * (v - v.mean())).sum() / …`, `return torch.exp(…).item(), exponent.item()`.

# %% [markdown] worth="scale.allocation"
# Two years earlier, Kaplan and others ([2001.08361](https://arxiv.org/abs/2001.08361)) had found an exponent of 0.73, and so much larger models on few tokens. As was explained later, they had not counted the head's FLOPs, warm-ups were too long for small models, and the optimizer was not tuned to the size ([2406.19146](https://arxiv.org/abs/2406.19146)).

# %% [markdown]
# ### See it
#
# The paper found its answer in three ways, from minima over training curves, from minima at fixed budgets, and from a fitted formula of the loss. Tables 3 and A3 give the budget for each size according to each approach, and your function fits a law to each.

# %%
sizes = torch.tensor([0.4, 1, 10, 67, 175, 280, 520, 1000, 10_000], dtype=torch.float64) * 1e9
budgets = {"1, training curves": [1.92e19, 1.21e20, 1.23e22, 5.76e23, 3.85e24, 9.90e24, 3.43e25, 1.27e26, 1.30e28],
           "2, fixed budgets": [1.84e19, 1.20e20, 1.32e22, 6.88e23, 4.54e24, 1.18e25, 4.19e25, 1.59e26, 1.75e28],
           # Table A3 prints 1.26e24 at 175 billion, less than for 67; its own 12.0 trillion tokens make it 1.26e25.
           "3, fitted loss": [2.21e19, 1.62e20, 2.46e22, 1.71e24, 1.26e25, 3.52e25, 1.36e26, 5.65e26, 8.55e28]}
laws = {name: fit_power_law(torch.tensor(C, dtype=torch.float64), sizes) for name, C in budgets.items()}
for name, law in laws.items():
    N, D = allocate(5.76e23, *law)
    print(f"approach {name:18} N ~ C^{law[1]:.2f}; for 5.76e23 FLOPs {N / 1e9:3.0f} billion on {D / 1e12:.1f} trillion")

# %%
reveal("scale.p2",
       lambda: f"{100 ** laws['1, training curves'][1]:.1f} times",
       "The exponent is about a half, which gives √100 for the model and √100 for the tokens.",
       answer="10 times, on 10 times the tokens")

# %% [markdown]
# The third approach disagrees with the others. However, when it was refitted from the published plot, it agreed with the first two ([2404.10102](https://arxiv.org/abs/2404.10102)).

# %% [markdown]
# ### Measure a law of your own
#
# These tables are not raw measurements. Their rows lie on the paper's own fits, so your line reads a law back and does not test it. To test one, train models yourself, in a small world: Jane Austen's novels, read character by character by Transformers with two layers.
#
# As in approach 2, sizes compete for one budget, here 4 billion FLOPs. A model of $N$ parameters then reads $D = C / (6N)$ characters, so a wider one reads fewer.

# %%
predict("scale.p6", "Widths 4, 8 and 16 spend 4 billion FLOPs each. On pages that no model has read, the loss is lowest for…",
        ["width 4, which reads most", "width 8", "width 16, which is the largest"])

# %%
mine = [scaling_law.run(4e9, width) for width in (4, 8, 16)]
for run in mine:
    print(f"width {run['width']:2}: {run['parameters']:5,} parameters read {run['characters']:7,} characters; "
          f"loss {run['loss']:.3f} nats per character")

# %%
reveal("scale.p6",
       lambda: ", ".join(f"width {run['width']}: {run['loss']:.3f}" for run in mine),
       "The narrow model has read most but is too small to learn more from it. The wide one could learn more but has read too little.",
       answer=lambda: ["width 4, which reads most", "width 8", "width 16, which is the largest"][
           min(range(3), key=lambda i: mine[i]["loss"])])

# %% [markdown]
# One budget gives one best size. For a law, the recording has {{scaling_law.budgets:word}} larger budgets with five widths each, {{scaling_law.seeds:word}} seeds, and a learning rate of 0.2 over the width. These are the mean losses at 25 billion FLOPs.
#
# | width | parameters | characters read | loss |
# |---|---|---|---|
# | 8 | {{scaling_law.one.width8.parameters:,}} | {{scaling_law.one.width8.characters:,}} | {{scaling_law.one.width8.loss:.3f}} |
# | 12 | {{scaling_law.one.width12.parameters:,}} | {{scaling_law.one.width12.characters:,}} | {{scaling_law.one.width12.loss:.3f}} |
# | 16 | {{scaling_law.one.width16.parameters:,}} | {{scaling_law.one.width16.characters:,}} | {{scaling_law.one.width16.loss:.3f}} |
# | 24 | {{scaling_law.one.width24.parameters:,}} | {{scaling_law.one.width24.characters:,}} | {{scaling_law.one.width24.loss:.3f}} |
# | 32 | {{scaling_law.one.width32.parameters:,}} | {{scaling_law.one.width32.characters:,}} | {{scaling_law.one.width32.loss:.3f}} |

# %% [markdown]
# Such a row of losses at equal FLOPs is called an *IsoFLOP curve*. The best size may lie between two of the five. To estimate it, lay a parabola over $\log N$ through the lowest loss and its two neighbors, and take the parabola's lowest point, which is a cross in the next picture.

# %%
record = recorded("scaling_law")
bowls = [scaling_law.bowls([r for r in record["rows"] if r["seed"] == seed]) for seed in record["made"]["seeds"]]
told = "; ".join(f"{C / 1e9:.4g}: " + ", ".join(f"{bowl[C].size:,.0f}" for bowl in bowls) for C in bowls[0])
with described("Loss over parameters, recorded on {device}. Best sizes of the seeds by billions of FLOPs: {told}.",
               device=where(record), told=told):
    for i, C in enumerate(bowls[0]):
        runs = [r for r in record["rows"] if r["budget"] == C]
        plt.semilogx([r["parameters"] for r in runs], [r["loss"] for r in runs], f"C{i}" + "osD^"[i], ms=4, ls="",
                     label=f"{C / 1e9:.4g} billion FLOPs")
        for bowl in bowls:
            plt.plot(bowl[C].sizes, bowl[C].losses, f"C{i}-", lw=1)
            plt.plot(bowl[C].size, bowl[C].loss, "kx")
    plt.xlabel("parameters"), plt.ylabel("nats per character"), plt.legend(fontsize=8)
    plt.title("recorded: " + where(record), fontsize=9)
show_large("scaling_law")

# %% [markdown]
# Now let **your** functions fit a law to the best sizes of each seed, and continue it down to the budget of your own three models.

# %%
for seed, bowl in enumerate(bowls):
    best = torch.tensor([at.size for at in bowl.values()])
    law = fit_power_law(torch.tensor(list(bowl)), best)
    print(f"seed {seed}: {', '.join(f'{N:,.0f}' for N in best)}; N ~ C^{law[1]:.2f}; "
          f"4 billion FLOPs ask for {allocate(4e9, *law)[0]:,.0f}")

# %% [markdown] evidence="recorded: scaling_law, control: learning rate"
# **What the recording says: with the budget, the model has to grow and the text as well.** If one size were best for every budget, the exponent would be 0, and if the text never grew, it would be 1. Each seed's exponent, at each rate, is nearer to a half than to either. Chinchilla's approach 2 has 0.49.
#
# | rate × width | fitted to | exponents of the {{scaling_law.seeds:word}} seeds |
# |---|---|---|
# | 0.2 | {{scaling_law.budgets:word}} budgets, five widths each | {{scaling_law.exponent.least:.2f}} to {{scaling_law.exponent.most:.2f}} |
# | 0.2 | two of them, three widths each | {{scaling_law.rates.usual.least:.2f}} to {{scaling_law.rates.usual.most:.2f}} |
# | 0.4 | the same | {{scaling_law.rates.other.least:.2f}} to {{scaling_law.rates.other.most:.2f}} |

# %% [markdown]
# However, it does *not* say that your law is Chinchilla's. Its exponents differ by up to {{scaling_law.exponent.apart:.2f}} from seed to seed, and without half of the budgets they are higher throughout, so agreement to a few hundredths would be luck. The budgets span a factor of only {{scaling_law.times:.0f}}, the largest model has {{scaling_law.largest:,}} parameters, tables counted, the rate was chosen by hand, and all text is by one author.

# %% [markdown]
# A law is also safe only near its data. Continued down to your budget, it asks for {{scaling_law.live.asked.least:,.0f}} to {{scaling_law.live.asked.most:,.0f}} parameters, but the {{scaling_law.seeds:word}} seeds measure {{scaling_law.live.size.least:,.0f}} to {{scaling_law.live.size.most:,.0f}} there.

# %% [markdown]
# ### What was done since
#
# Approach 1 asks for about 20 tokens per parameter. The next cell compares this with models from the papers on Chinchilla, LLaMA ([2302.13971](https://arxiv.org/abs/2302.13971)), Llama 2 ([2307.09288](https://arxiv.org/abs/2307.09288)) and Llama 3 ([2407.21783](https://arxiv.org/abs/2407.21783)).

# %%
trained = {"GPT-3 175B": (175e9, 300e9), "Gopher 280B": (280e9, 300e9), "Chinchilla 70B": (70e9, 1.4e12),
           "LLaMA 7B": (6.7e9, 1.0e12), "Llama 2 7B": (6.7e9, 2.0e12), "Llama 3 8B": (8.0e9, 15e12)}
for name, (N, D) in trained.items():
    best, tokens = allocate(training_flops(N, D), *laws["1, training curves"])
    print(f"{name:15} {D / N:6.1f} tokens per parameter; its budget is best spent on {best / 1e9:5.1f} billion")

# %% [markdown]
# GPT-3 was too large for its tokens. The Llamas, in contrast, are too *small* for theirs, and for a good reason. Training is paid once, whereas every token that a model ever writes costs about $2N$ FLOPs. Therefore the cheapest model to train is not the cheapest one to use.

# %% [markdown]
# ## 4. Extension: where a fitted loss is smallest
#
# Why is the exponent about a half? Approach 3 answers with a formula for the loss. It adds a part $E$ that no model gets below, a part that more parameters lower, and a part that more tokens lower.
#
# $$L(N, D) = E + \frac{A}{N^\alpha} + \frac{B}{D^\beta}$$
#
# Along $6ND = C$, more of $N$ means less of $D$. The loss is smallest where one percent more of $N$ wins exactly as much as one percent less of $D$ loses.

# %% [markdown]
# ### Worked example
#
# Suppose that both terms are alike, with $A = B = 5$ and $\alpha = \beta = 0.5$. Then neither number deserves more than the other, so $N = D$. A budget of 2,400 leaves $N \cdot D = 400$, which is spent best on 20 parameters and 20 tokens.

# %% [markdown] statement="scale.loss_fit"
# Write the loss for a `fit`, which is the tuple $(E, A, \alpha, B, \beta)$. Then derive a formula for the best size, which is the number of parameters $N$ with the smallest loss among those with $6ND = C$, and write it as well. Both functions return floats.

# %% exercise="scale.loss_fit"
def predicted_loss(parameters, tokens, fit):
    """Loss in nats per token, as a float (arXiv:2203.15556, section 3.3)."""
    ### BEGIN SOLUTION
    E, A, alpha, B, beta = fit
    return E + A / parameters**alpha + B / tokens**beta
    ### END SOLUTION


def best_size(flops, fit):
    """The N of the smallest loss among those with 6·N·D = flops, as a float."""
    ### BEGIN SOLUTION
    _, A, alpha, B, beta = fit
    G = (alpha * A / (beta * B)) ** (1 / (alpha + beta))
    return G * (flops / 6) ** (beta / (alpha + beta))
    ### END SOLUTION

# %% [markdown] hints="scale.loss_fit"
# 1. On paper, put $D = C / (6N)$ into the loss, so that only $N$ is left. Which of the five constants disappears when you take the derivative?
# 2. The derivative is 0 where $\alpha A / N^\alpha = \beta B / D^\beta$. Put $D = C / (6N)$ into this, solve for $N^{\alpha + \beta}$, and take the root.
# 3. `G = (alpha * A / (beta * B)) ** (1 / (alpha + beta))`, `return G * (flops / 6) ** (…)`.

# %% [markdown] worth="scale.loss_fit"
# Near its minimum the curve is flat. At Chinchilla's budget, for example, a model of half or twice the best size loses less than 0.01 nats by the refitted formula, which means that many sizes are nearly best.

# %% [markdown]
# In your formula the budget has the exponent $\beta / (\alpha + \beta)$, which is a half if both terms fall equally fast. The whole formula is
#
# $$N = \left(\frac{\alpha A}{\beta B}\right)^{\frac{1}{\alpha + \beta}} \left(\frac{C}{6}\right)^{\frac{\beta}{\alpha + \beta}}$$
#
# The next cell evaluates it with the constants of the paper and with those of the refit.

# %%
fits = {"Hoffmann et al.": (1.69, 406.4, 0.34, 410.7, 0.28), "Besiroglu et al.": (1.8172, 482.01, 0.3478, 2085.43, 0.3658)}
C = training_flops(70e9, 1.4e12)
for name, fit in fits.items():
    N = best_size(C, fit)
    losses = [predicted_loss(f * N, C / (6 * f * N), fit) for f in (0.5, 1, 2)]
    print(f"{name:16} {N / 1e9:4.0f} billion, {C / 6 / N**2:3.0f} tokens per parameter; "
          f"loss at half, best and twice the size: {', '.join(f'{x:.3f}' for x in losses)}")

# %% [markdown]
# Chinchilla was trained on 20 tokens per parameter. The first fit, as its paper prints it, asks for 93, whereas the refit asks for 18.

# %% [markdown]
# ## 5. Adapt a large model
#
# Suppose that you want to train LLaMA's 6.7 billion parameters a little further, on your own texts. The optimizer Adam keeps two running averages for each weight. With the weight and its gradient, these are 16 bytes in float32, or 108 GB. To avoid this, LoRA freezes the weight $W$ and learns only a low-rank difference, so that a layer computes
#
# $$y = W x + \frac{\alpha}{r}\, B\,(A\,x)$$
#
# Here $A$ is $(r, d_{in})$ and starts random, while $B$ is $(d_{out}, r)$ and starts at 0, so that training begins with the given model. The rank $r$ is small, and $\alpha$ is a constant.

# %% [markdown]
# ### Worked example
#
# Take $x = (1, 2)$, $r = 1$, $A = (1\;\, 1)$, $B = (2, -1)^\top$ and $\alpha = 4$. First comes $A x = 3$, which is a single number, then $B \cdot 3 = (6, -3)$, and times $\alpha / r = 4$ this is $(24, -12)$.
#
# In this order the matrix $BA$ is never made. At width 4,096 it would have 16.8 million numbers, whereas $A$ and $B$ of rank 8 have 65,536.

# %% [markdown] statement="lora.forward"
# Write the difference alone, $\frac{\alpha}{r} B (A x)$, for inputs of any leading shape, without forming $BA$ (the check counts operations). Then complete the layer, in which all of `base` is frozen and the difference is added to what it gives. Gradients must still reach `x` through the base, and the dtype of `x` is kept.

# %% exercise="lora.forward"
def low_rank(x, A, B, alpha):
    """x (..., d_in), A (r, d_in), B (d_out, r) → (α/r)·B·A·x, (..., d_out) (arXiv:2106.09685)."""
    ### BEGIN SOLUTION
    return alpha / A.shape[0] * (x @ A.T @ B.T)
    ### END SOLUTION


class LoRALinear(nn.Module):
    """A frozen linear layer `base` with a trainable difference of rank r."""

    def __init__(self, d_in, d_out, r, alpha):
        super().__init__()
        self.base = nn.Linear(d_in, d_out)
        self.A = nn.Parameter((2 * torch.rand(r, d_in) - 1) / math.sqrt(d_in))
        self.B = nn.Parameter(torch.zeros(d_out, r))
        self.alpha = alpha
        ### BEGIN SOLUTION
        self.base.requires_grad_(False)
        ### END SOLUTION

    def forward(self, x):
        """x (..., d_in) → (..., d_out)."""
        ### BEGIN SOLUTION
        return self.base(x) + low_rank(x, self.A, self.B, self.alpha)
        ### END SOLUTION

# %% [markdown] hints="lora.forward"
# 1. The brackets in $B\,(A\,x)$ say what comes first. With tokens in rows, on which side do you multiply by a transposed matrix?
# 2. `x @ A.T` has $r$ numbers per token. Multiply by `B.T`, then by α over the number of rows of `A`. A module's `requires_grad_(False)` freezes its weight and bias.
# 3. `return alpha / A.shape[0] * (x @ A.T @ …)`; in the constructor `self.base.requires_grad_(False)`; `return self.base(x) + low_rank(…)`.

# %% [markdown] worth="lora.forward"
# Dividing by $r$ lets one learning rate serve several ranks. For large ranks this is too much, which is why rsLoRA divides by $\sqrt r$ instead ([2312.03732](https://arxiv.org/abs/2312.03732)).

# %%
predict("scale.p3", "What does the layer learn if A starts at 0 as well?",
        ["the same, after one lost step", "nothing at all"])

# %%
torch.manual_seed(0)
layer, x = LoRALinear(6, 4, 2, 4.0), torch.randn(3, 6)
print("starts as its base:", torch.equal(layer(x), layer.base(x)))
largest = {}
for start in ("A random", "A = 0"):
    if start == "A = 0":
        nn.init.zeros_(layer.A)
    grads = torch.autograd.grad(layer(x).square().sum(), [layer.A, layer.B])
    largest[start] = [g.abs().max().item() for g in grads]
    print(f"{start:9} largest gradient of A {largest[start][0]:.2f}, of B {largest[start][1]:.2f}")

# %%
reveal("scale.p3",
       lambda: f"gradients {largest['A = 0']}",
       "The gradient of A has a factor B, and that of B has a factor A. With A random, B moves first, and A from the next step on.",
       answer="nothing at all")

# %% [markdown]
# ### Merge it
#
# After training, the two matrices are no longer needed, because $W + \frac{\alpha}{r} B A$ is one matrix of the old shape.
#
# Suppose, for example, that $W$ is full of ones, $A = (3\;\, 4)$, $B = (1, 2)^\top$ and $\alpha = 2$. Then $BA$ has the rows $(3, 4)$ and $(6, 8)$, doubled $(6, 8)$ and $(12, 16)$, and the sum is $(7, 9)$ and $(13, 17)$.

# %% [markdown] statement="lora.merge"
# Write the merged weight as a new tensor in the dtype of `weight`. This may be bfloat16 while $A$ and $B$ are float32, so add first and round afterward. Then count the parameters that LoRA trains for one matrix.

# %% exercise="lora.merge"
def merge(weight, A, B, alpha):
    """weight (d_out, d_in), A (r, d_in), B (d_out, r) → weight + (α/r)·B·A."""
    ### BEGIN SOLUTION
    return (weight + alpha / A.shape[0] * (B @ A)).to(weight.dtype)
    ### END SOLUTION


def lora_parameters(d_in, d_out, r):
    """Numbers in A and B, as an int."""
    ### BEGIN SOLUTION
    return r * (d_in + d_out)
    ### END SOLUTION

# %% [markdown] hints="lora.merge"
# 1. Here $BA$ is wanted, once. In which order do the two give the shape of `weight`?
# 2. `B @ A` is (d_out, d_in). Scale it, add `weight`, and convert the sum with `.to(weight.dtype)`. A has r rows of d_in numbers, and B has d_out rows of r.
# 3. `return (weight + alpha / A.shape[0] * (…)).to(weight.dtype)`, `return r * (…)`.

# %% [markdown] worth="lora.merge"
# Servers that hold many adapters of one model do not merge. All users share the product with $W$, and each of them adds a small product with their own adapter ([2311.03285](https://arxiv.org/abs/2311.03285)).

# %%
count = 32 * 2 * lora_parameters(4096, 4096, 8)
print(f"rank 8 on q and v in all 32 layers of LLaMA-7B: {count:,} parameters, {count / 6_738_415_616:.2%}")
print(f"Adam's 16 bytes for each: {16 * count / 1e6:.0f} MB in place of {16 * 6_738_415_616 / 1e9:.0f} GB")

# %% [markdown]
# However, the frozen weights must still be there, 13.5 GB in 2 bytes each, and so must the activations. LoRA saves what Adam keeps, and not what the forward pass needs.

# %% [markdown]
# ### Another voice
#
# Can such a small difference change how a model speaks? Unit 12's language model has read nothing but Jane Austen. In this section, **your** layer goes around every matrix of its blocks and reads four chapters of Herman Melville's *Moby-Dick* (1851). The decoder is your own too, from unit 11. As long as that one doesn't pass, the course's `StandIn` takes its place, and a line of output says so.

# %%
from anatomy import parts
from anatomy.experiments import voices
from anatomy.language import shipped, training
from anatomy.language.stand_in import StandIn

Decoder = parts.mine("assembly.decoder", otherwise=StandIn)
configuration, checkpoint = shipped.checkpoint()
austen = Decoder(configuration)
austen.load_state_dict(checkpoint)
austen = austen.eval()
before = voices.bits(austen)
hear = lambda model: voices.say(model, "The captain was", seed=2)
print(hear(austen))

# %% [markdown]
# The next cell trains your layers with rank 8 for 40 steps, each of which reads 512 tokens. To measure the change, *bits per byte* say what the model pays for a text that no training has read (the fewer, the better). One text is a chapter of *Moby-Dick* that is kept back, the other is pages of the novels.

# %%
torch.manual_seed(0)
sailor = voices.adapted(austen, LoRALinear, r=8)
trained_here, whole = lora.trainable(sailor), sum(w.numel() for w in austen.parameters())
losses = training.train(sailor, voices.sea(), voices.STEPS, rows=voices.ROWS, context=voices.CONTEXT, rate=voices.RATE)
print(f"{trained_here:,} numbers train, {trained_here / whole:.0%} of {whole:,}; loss {losses[0]:.2f} → {losses[-1]:.2f}")

# %%
for author, now in voices.bits(sailor).items():
    print(f"{author:8} {before[author]:.2f} → {now:.2f} bits per byte")
print(hear(sailor))

# %% [markdown]
# The prompt and the seed are the same, but another voice speaks. On the chapter that it hasn't read, the model now pays less for each byte. It pays *more* for Austen, because what it learned is added to the same matrices that write like her. However, since the base is frozen, nothing of her is lost.

# %% [markdown]
# Your `merge` makes an ordinary decoder of the two, which should write the same text. What if you then subtract the difference again, by merging $-B$?

# %%
learned = voices.differences(sailor)
merged_voice = voices.merged(austen, learned, merge)
returned = voices.merged(merged_voice, learned, merge, sign=-1)
for name, made, given in (("merged", merged_voice, sailor), ("subtracted", returned, austen)):
    count = sum(w.numel() for w in made.parameters())
    print(f"{name:10} {count:,} parameters, the same text: {hear(made) == hear(given)}")
largest, share = voices.gap(returned, austen)
print(f"after subtracting, {share:.1%} of the weights differ from Austen's, by {largest:.0e} at most")

# %% [markdown]
# So Austen is back, but not to the last bit. Since float32 rounds every sum, some weights come back with an error of about one rounding step, which is too small to hear. To get her back exactly, keep $W$, and store each voice as its $A$ and $B$.

# %% [markdown]
# ### Claim on trial
#
# > *"Decoder-only models wait for their KV cache, so when serving, the rank of LoRA must be weighed against latency."*
#
# If this is true, a larger rank must make a step more expensive. The next cell counts for ranks 1 to 64, before merging and after.

# %%
x, weight = torch.randn(1, 512), torch.randn(512, 512) / 22
for r in (1, 8, 64):
    A, B = torch.randn(r, 512) / 22, torch.randn(512, r)
    apart = scaling.flops(lambda: x @ weight.T + low_rank(x, A, B, 2 * r))
    merged = merge(weight, A, B, 2 * r)
    gap = (x @ merged.T - x @ weight.T - low_rank(x, A, B, 2 * r)).abs().max() / (x @ merged.T).abs().max()
    print(f"rank {r:2}: {apart:,} FLOPs apart, {scaling.flops(lambda: x @ merged.T):,} merged; "
          f"largest difference {gap:.0e} of the result")

# %% [markdown] evidence="exact"
# **Verdict: after merging, the rank costs nothing.** Every rank then costs what the model without LoRA costs, to the last FLOP and byte, and the cache never changes, since no head is added. Only adapters that stay separate cost more, by $2r(d_{in} + d_{out})$ FLOPs per token.

# %% [markdown]
# ## 6. How large must the rank be?
#
# ### Claim on trial
#
# > *"The kind of model sets the rank: encoder-only 4–16, decoder-only 8–16 for instructions and 16–64 for complex tasks."*
#
# The note itself calls this rough experience. To test whether the kind of model decides, one model is enough, provided that it gets two different tasks.

# %% [markdown]
# A small decoder has learned to name the token two positions back. Freeze it, and let it learn one of two new tasks.
#
# | task | what the model should name | what is new for it |
# |---|---|---|
# | *renamed* | the same token, under a new name | only what it says, since it knows where to look |
# | *farther* | the token five positions back | where to look |

# %%
predict("scale.p4", "Which task does a rank of 1 or 2 solve?",
        ["renamed alone", "farther alone", "both"])

# %% [markdown]
# Try it with **your** layer around every matrix. The control is the same model before its training, which is random and just as frozen.

# %%
bases = {"trained": lora.given(trained=True), "random": lora.given(trained=False)}

# %%
for start, model in bases.items():
    adapted = lora.adapted(model, LoRALinear, r=1)
    _, accuracy = lora.train(adapted, "renamed", rate=1e-2)
    print(f"renamed, {start:7} base, rank 1: accuracy {accuracy:.2f} with {lora.trainable(adapted):,} numbers")

# %% [markdown]
# Since these are only two runs, the next picture shows recordings of {{lora.seeds:word}} seeds for each task, base and rank. Each ran at two learning rates, of which the better one is drawn.

# %%
record = recorded("lora")
ranks = (1, 2, 4, 8, 0)
def mean_accuracy(task, start, r):
    rows = [row for row in record["rows"] if (row["task"], row["start"], row["rank"]) == (task, start, r)]
    by_rate = [[row["accuracy"] for row in rows if row["rate"] == rate] for rate in {row["rate"] for row in rows}]
    return max(sum(a) / len(a) for a in by_rate)

found = {(task, start): [mean_accuracy(task, start, r) for r in ranks]
         for task in lora.TASKS for start in ("trained", "random")}

# %%
told = "; ".join(f"{task}, {start} base: " + ", ".join(f"{a:.2f}" for a in line) for (task, start), line in found.items())
with described("Mean accuracy for rank 1, 2, 4, 8 and all weights, recorded on {device}. {told}.",
               device=where(record), told=told):
    for i, ((task, start), line) in enumerate(found.items()):
        plt.plot(line, ("o-", "x:", "s-", "+:")[i], color=f"C{i // 2}", label=f"{task}, {start} base")
    plt.xticks(range(5), ["1", "2", "4", "8", "all weights"]), plt.xlabel("rank"), plt.ylabel("accuracy")
    plt.legend(fontsize=8), plt.title("recorded: " + where(record), fontsize=9)
show_large("lora")

# %%
reveal("scale.p4",
       lambda: ", ".join(f"{task} {found[task, 'trained'][1]:.2f} at rank 2" for task in lora.TASKS),
       "A small change is enough for what the model can already do. Within these 300 steps, the skill that it lacks does not come with rank 2.",
       answer="renamed alone")

# %% [markdown] evidence="recorded: lora, control: task"
# **Verdict: one model needs different ranks for different tasks, so the kind of model alone does not set the rank.** The table shows mean accuracies after {{lora.steps}} steps.
#
# | task | base | rank 1 | rank 2 | rank 8 | all weights |
# |---|---|---|---|---|---|
# | *renamed* | trained | {{lora.renamed.trained.r1.mean:.2f}} | {{lora.renamed.trained.r2.mean:.2f}} | {{lora.renamed.trained.r8.mean:.2f}} | {{lora.renamed.trained.full.mean:.2f}} |
# | *renamed* | random | {{lora.renamed.random.r1.mean:.2f}} | {{lora.renamed.random.r2.mean:.2f}} | {{lora.renamed.random.r8.mean:.2f}} | {{lora.renamed.random.full.mean:.2f}} |
# | *farther* | trained | {{lora.farther.trained.r1.mean:.2f}} | {{lora.farther.trained.r2.mean:.2f}} | {{lora.farther.trained.r8.mean:.2f}} | {{lora.farther.trained.full.mean:.2f}} |
# | *farther* | random | {{lora.farther.random.r1.mean:.2f}} | {{lora.farther.random.r2.mean:.2f}} | {{lora.farther.random.r8.mean:.2f}} | {{lora.farther.random.full.mean:.2f}} |
#
# On *renamed*, what the base knows helps at rank 1. On *farther* it is in the way from rank 2 on, where a *random* base does better. A toy of {{lora.parameters.full:,}} weights shows that tasks differ, but not which rank yours needs.

# %% [markdown] evidence="recorded: lora, control: steps"
# **Verdict: much of what looked like rank was time.** On *farther* even all weights reach only {{lora.farther.trained.full.mean:.2f}}, so {{lora.steps}} steps may be too few for any rank. The next table shows the trained base on this task after {{lora.longer.steps:,}} steps. What is left of the differences varies widely from seed to seed.
#
# | | worst seed | best seed |
# |---|---|---|
# | rank 1 | {{lora.longer.trained.r1.lowest:.2f}} | {{lora.longer.trained.r1.highest:.2f}} |
# | rank 2 | {{lora.longer.trained.r2.lowest:.2f}} | {{lora.longer.trained.r2.highest:.2f}} |
# | all weights | {{lora.longer.trained.full.lowest:.2f}} | {{lora.longer.trained.full.highest:.2f}} |

# %% [markdown]
# ## 7. What a step of the whole model costs
#
# Once a model is trained, people wait for each of its tokens. Unit 08 asked what attention waits for, and now we ask the same about a decoding step of the whole model, which writes one new token for each of $B$ users. What must it fetch from memory, and what must it compute?
#
# Since all users share the $W$ weights, a step fetches each weight once, but multiplies it by every user's token.

# %% [markdown]
# The caches, in contrast, are not shared. Each user has $S$ cached tokens of their own. In each of $L$ layers, a cached token has a key and a value of $D$ numbers for each of $G$ key-value heads, and a step fetches all of them. Then each of $H$ heads computes a score with every cached key, and a weighted sum of all cached values. (From here on, $D$ is the head dim and no longer a number of tokens.)

# %% [markdown]
# ### Worked example
#
# Suppose that a model has 100 weights and one layer, with 2 heads of 4 numbers that share one key-value head. It serves 3 users with 5 cached tokens each, in 2 bytes per number. Their caches hold 120 numbers, so a step fetches $2 \cdot (100 + 120) = 440$ bytes. It computes 1,080 FLOPs, of which the weights take 600 and attention takes 480. How do the numbers 120, 600 and 480 come about?

# %% [markdown]
# On a chip that fetches 10 bytes and computes 40 FLOPs per second, fetching takes 44 s and computing 27 s. Since the two overlap, the step takes 44 s and waits for memory.

# %% [markdown] statement="serve.step_seconds"
# Derive the cost of such a step. `model` is a dict with `weights` (numbers in all matrices), `n_layers`, `n_heads`, `n_kv_heads` and `head_dim`, and a number has `itemsize` bytes. Count a multiplication and an addition as 2 FLOPs, and only the `tokens` that are cached for each user, not the new one.
#
# `step_cost` returns (FLOPs, bytes) as integers, and `step_seconds` the least time when fetching and computing overlap. `bandwidth` is in bytes, and `peak` in FLOPs per second.

# %% exercise="serve.step_seconds"
def step_cost(model, users, tokens, itemsize=2):
    """(FLOPs, bytes) of one decoding step, `tokens` cached for each user (arXiv:2211.05102)."""
    ### BEGIN SOLUTION
    L, D = model["n_layers"], model["head_dim"]
    flops = users * (2 * model["weights"] + 4 * L * model["n_heads"] * D * tokens)
    numbers = model["weights"] + users * tokens * 2 * L * model["n_kv_heads"] * D
    return flops, itemsize * numbers
    ### END SOLUTION


def step_seconds(model, users, tokens, bandwidth, peak, itemsize=2):
    """Least seconds of that step, as a float."""
    ### BEGIN SOLUTION
    flops, moved = step_cost(model, users, tokens, itemsize)
    return max(flops / peak, moved / bandwidth)
    ### END SOLUTION

# %% [markdown] hints="serve.step_seconds"
# 1. Explain the three numbers of the example first. Which parts of the cost are there for each user, which for each head, and which for each key-value head? The weights are the only thing that all users share.
# 2. The FLOPs are `users * (2 * weights + 4 * layers * heads * head_dim * tokens)`. The numbers are the weights plus `users * tokens * 2 * layers * kv_heads * head_dim`, and times `itemsize` they are bytes. The time is the larger quotient.
# 3. `flops = users * (2 * model["weights"] + …)`, `return flops, itemsize * (model["weights"] + …)`, `return max(flops / peak, …)`.

# %% [markdown] worth="serve.step_seconds"
# Reading a prompt is the same sum with thousands of tokens instead of users, since all of them share one fetch of the weights. Prefill computes at full speed, and a prompt's tokens are cheaper than those that are written.

# %% [markdown]
# In symbols, with $b$ bytes per number, you have derived
#
# $$\text{bytes} = b\,(W + B \cdot S \cdot 2 L G D) \qquad \text{FLOPs} = B\,(2W + 4 L H D \cdot S)$$
#
# The 4 comes from two products, scores and weighted sum, with 2 FLOPs each. Since $G$ occurs on the left only, sharing key-value heads saves bytes but no FLOPs.

# %% [markdown]
# ### See it
#
# Here is Llama-3-8B on an A100 (2.0 TB/s, 312 TFLOP/s). Only 7.5 of its 8.0 billion weights count, because a step reads just a few rows of the input embedding.

# %%
llama = {"weights": 7_504_924_672, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "head_dim": 128}
a100 = 2.0e12, 312e12
users = [2**n for n in range(11)]
last = [users[-1] / step_seconds(llama, users[-1], tokens, *a100) for tokens in (0, 4096)]
with described("Tokens per second of all users against their number, for 0, 512 and 4,096 cached tokens: without a "
               "cache it rises, then stays at {without:,.0f}; with 4,096 tokens it bends early, to {full:,.0f}.",
               without=last[0], full=last[1]):
    for tokens in (0, 512, 4096):
        rates = [n / step_seconds(llama, n, tokens, *a100) for n in users]
        plt.loglog(users, rates, marker="o", ms=3, label=f"{tokens:,} tokens cached")
    plt.xlabel("users"), plt.ylabel("tokens per second"), plt.legend()

# %% [markdown]
# ## 8. Enough users to compute
#
# More users make better use of the weights that were fetched. From how many users on does arithmetic decide? Both times grow with the number of users. Computing overtakes fetching only if each further user adds more time to compute than to fetch.

# %% [markdown]
# ### Worked example
#
# Suppose that 100 weights in 2 bytes are fetched at 10 bytes per second, which takes 20 s for any number of users. One user adds 6 s of computing and 2 s of fetching, so that $6B \ge 20 + 2B$ holds from $B = 5$ on.
#
# However, if a user added 6 s of computing and 7 s of fetching, or 6 s of each, no number would be enough.

# %% [markdown] statement="serve.compute_bound"
# Return the smallest whole number of users at which computing takes as long as fetching or longer, or `None` where there is no such number (your `step_cost` may help).

# %% exercise="serve.compute_bound"
def compute_bound_users(model, tokens, bandwidth, peak, itemsize=2):
    """An int, or None where caches grow faster than arithmetic."""
    ### BEGIN SOLUTION
    _, weights = step_cost(model, 0, tokens, itemsize)
    flops, moved = step_cost(model, 1, tokens, itemsize)
    gained = flops / peak - (moved - weights) / bandwidth
    if gained <= 0:
        return None
    return math.ceil(weights / bandwidth / gained)
    ### END SOLUTION

# %% [markdown] hints="serve.compute_bound"
# 1. Write the two times as lines in $B$. One starts at 0, the other at the time of the weights. When do they never meet?
# 2. `step_cost(model, 0, …)` gives the bytes of the weights, and `step_cost(model, 1, …)` adds one user. What a user gains is FLOPs / peak − cache / bandwidth. If this is not positive, return `None`. Otherwise divide weights / bandwidth by the gain, and round up.
# 3. `gained = flops / peak - (moved - weights) / bandwidth`, `if gained <= 0: return None`, `return math.ceil(…)`.

# %% [markdown] worth="serve.compute_bound"
# Without caches the answer depends on the chip alone, as $b \cdot \text{peak} / (2 \cdot \text{bandwidth})$, which is 156 on an A100 in 2 bytes. It is the ridge of unit 08's roofline.

# %%
for tokens in (0, 100, 400, 700, 800, 4096):
    print(f"{tokens:5,} tokens cached: {compute_bound_users(llama, tokens, *a100)} users")

# %% [markdown]
# Beyond some 750 tokens *no* batch is large enough, because every user brings more bytes than their FLOPs can hide. This is why caches are shared, shortened and quantized, and why a chip that only computes faster would not help.
#
# The calculator adds the limit of real memory, and takes its bytes from **your** `step_cost`. 14 users of 32,768 tokens fit. Which change of the attention makes room for 64? Point at the kinds to try them.

# %%
def kv_bytes_per_token(n_layers, n_kv_heads, head_dim, itemsize=2):
    model = {"weights": 0, "n_layers": n_layers, "n_heads": 1, "n_kv_heads": n_kv_heads, "head_dim": head_dim}
    return step_cost(model, 1, 1, itemsize)[1]

CacheCalculator(kv_bytes_per_token, model=4, users=64, tokens=32768, step=4)

# %% [markdown]
# ## 9. Predicted, then measured
#
# To see whether the formula predicts what happens, take a model of {{serving.megabytes:.0f}} MB, on one thread of your processor. First measure what the machine can do, namely bytes per second when that much memory is read once, and FLOPs per second of a large matrix product.

# %%
decoder = serving.Decoder()
bandwidth, peak = serving.machine()
print(f"{bandwidth / 1e9:.1f} GB/s, {peak / 1e9:.0f} GFLOP/s; weights {4 * decoder.sizes['weights'] / 1e6:.0f} MB")
print("predicted for one user:", f"{1e3 * step_seconds(decoder.sizes, 1, 1, bandwidth, peak, 4):.1f} ms;",
      "arithmetic decides from", compute_bound_users(decoder.sizes, 1, bandwidth, peak, 4), "users on")

# %%
rows = serving.measured(step_seconds, [(1, 1), (1, 2048), (8, 1), (32, 1), (8, 2048)], decoder, bandwidth, peak, 3)
print("users  cached   predicted   measured")
for r in rows:
    print(f"{r['users']:5}{r['tokens']:8,}{r['predicted']:9.1f} ms{r['measured']:8.1f} ms  {r['ratio']:5.1f} times")

# %% [markdown]
# For one user, bytes should explain most of the time. For batches, however, the prediction is a bound and not a forecast, since a product with few rows does not run at the speed of a large one.
#
# Now try a model {{serving.shrunk:.0f}} times smaller, of the same make.

# %%
predict("scale.p5", "The small model has 225 times fewer weights. Its step is faster…",
        ["225 times or more", "100 to 225 times", "less than 100 times"])

# %%
small = serving.Decoder(d_model=64)
fast = serving.machine(4 * small.sizes["weights"])
tiny = serving.measured(step_seconds, [(1, 1)], small, *fast, repeats=50)[0]
print(f"predicted {tiny['predicted']:.3f} ms, measured {tiny['measured']:.2f} ms: {tiny['ratio']:.0f} times the prediction")

# %%
reveal("scale.p5",
       lambda: f"{rows[0]['measured'] / tiny['measured']:.0f} times",
       "Each step makes over a hundred calls of torch, which take microseconds each, however small their tensors are. The formula counts bytes and FLOPs, but no calls.",
       answer=lambda: ["225 times or more", "100 to 225 times", "less than 100 times"][
           (rows[0]["measured"] < 225 * tiny["measured"]) + (rows[0]["measured"] < 100 * tiny["measured"])])

# %%
record = recorded("serving")
large = record["rows"][0]["steps"]
told = [(tokens, [r for r in large if r["tokens"] == tokens]) for tokens in dict.fromkeys(r["tokens"] for r in large)]
with described("Milliseconds of a step against users, recorded on {device}: measured times lie above the predicted "
               "ones, {low:.1f} to {high:.1f} times.",
               device=where(record), low=min(r["ratio"] for r in large), high=max(r["ratio"] for r in large)):
    for i, (tokens, at) in enumerate(told):
        plt.loglog([r["users"] for r in at], [r["measured"] for r in at], f"C{i}" + "osD"[i],
                   label=f"{tokens:,} cached, measured")
        plt.loglog([r["users"] for r in at], [r["predicted"] for r in at], f"C{i}" + ("--", ":", "-.")[i],
                   label=f"{tokens:,} cached, predicted")
    plt.xlabel("users"), plt.ylabel("ms per step"), plt.legend(fontsize=8)
    plt.title("recorded: " + where(record), fontsize=9)
show_large("serving")

# %% [markdown] evidence="measured: serving"
# **What the recording says: the prediction explains most of one user's time, less of most batches', and little of a tiny model's.**
#
# | step | measured time, as a multiple of the prediction |
# |---|---|
# | one user | {{serving.one.least:.1f}} to {{serving.one.most:.1f}} |
# | more users | {{serving.batch.least:.1f}} to {{serving.batch.most:.1f}} |
# | {{serving.shrunk:.0f}} times fewer weights | {{serving.tiny_ratio:.0f}} |
#
# Nevertheless, batches pay, since {{serving.most_users}} users take {{serving.slower:.1f}} times as long as one and together get {{serving.faster:.1f}} times as many tokens. The tiny model is only {{serving.tiny_speedup:.0f}} times faster, because the calls decide.

# %% [markdown]
# ## 10. Extension: experts that sleep
#
# A model can have many parameters and still be fast if most of them rest. A mixture of experts has $E$ feed-forward layers side by side, of which each token uses $k$. The parameters that are stored and those that work for a token are then two different numbers. However, a step fetches every expert that *any* user's token chose.

# %% [markdown]
# ### Worked example
#
# Suppose that there are four experts, and that each token uses two. A token misses a given expert with probability $1 - 2/4 = 0.5$, so two users both miss it with $0.5^2 = 0.25$. On average, three of four experts are therefore fetched.

# %% [markdown] statement="serve.experts"
# - `expert_parameters` returns all parameters, and those that one token uses. `shared` parameters are outside the experts, and `expert` are those of one expert, in all layers together.
# - `experts_read` returns how many different experts of a layer a step fetches on average, when each of `users` tokens chooses `n_active` different ones, evenly and independently of the others.

# %% exercise="serve.experts"
def expert_parameters(shared, expert, n_experts, n_active):
    """(all, used by one token), as ints."""
    ### BEGIN SOLUTION
    return shared + n_experts * expert, shared + n_active * expert
    ### END SOLUTION


def experts_read(n_experts, n_active, users):
    """Expected number of different experts, as a float."""
    ### BEGIN SOLUTION
    return n_experts * (1 - (1 - n_active / n_experts) ** users)
    ### END SOLUTION

# %% [markdown] hints="serve.experts"
# 1. Think about one expert. With which probability does nobody choose it?
# 2. One token misses it with $1 - k/E$, and all $B$ tokens with that to the power $B$. The expected number is $E$ times the probability that somebody chooses it.
# 3. `return shared + n_experts * expert, shared + …` and `return n_experts * (1 - (…) ** users)`.

# %% [markdown] worth="serve.experts"
# Real routers do not choose evenly, although training pushes them to do so. A loss or a bias keeps the load of the experts balanced ([2412.19437](https://arxiv.org/abs/2412.19437)).

# %%
shared, expert = 1_605_636_096, 32 * 3 * 4096 * 14336  # Mixtral 8x7B: all else, and three matrices in 32 layers
total, active = expert_parameters(shared, expert, 8, 2)
print(f"Mixtral 8x7B: {total / 1e9:.1f} billion, of which {active / 1e9:.1f} work for a token")
for users in (1, 2, 4, 8, 16, 32):
    read = shared + experts_read(8, 2, users) * expert
    print(f"{users:3} users: {experts_read(8, 2, users):.1f} experts, {read / 1e9:.1f} billion weights fetched")

# %% [markdown]
# One user gets the speed of a 13-billion model, whereas a batch of 16 fetches nearly all 46.7 billion weights, and only its arithmetic stays small. So experts save FLOPs for everybody, but bytes only for few users.

# %% [markdown]
# ## 11. Which architecture would you choose?
#
# Now compare whole architectures, in three models with equally many parameters. A stack of 28 layers serves as encoder or as decoder, while the third model has 12 + 12 layers with cross-attention. Suppose that one request reads 512 tokens and writes 128, and let torch count the FLOPs.

# %%
print(f"{'':17}{'read':>9}{'write':>11}{'cache':>12}")
for row in scaling.architectures():
    print(f"{row['name']:17}{row['read'] / 1e9:6.0f} GF{row['write'] / 1e9:8,.0f} GF{row['cache'] / 1e6:9.1f} MB")

# %% [markdown]
# An encoder alone stores nothing between two tokens, so to write with it, everything must be read again for each token. In an encoder–decoder each token passes through only half of the layers, and only half of the layers keep keys.

# %% [markdown]
# | job | choice | costs, from this course |
# |---|---|---|
# | label, search, compare | encoder-only | one pass, no cache; sees both sides (unit 07) |
# | long input, short output | encoder–decoder | above: less than half of the reading and of the cache |
# | dialog, code, anything | decoder-only | one stack, one cache that goes on growing (unit 08) |

# %% [markdown]
# No count can say which one *learns* better for its FLOPs. Wang and others trained them side by side ([2204.05832](https://arxiv.org/abs/2204.05832)). Right after pretraining, a causal decoder was best on new tasks. After further training on many tasks, however, the best models were those that see their input from both sides and had filled in masked tokens.

# %% [markdown]
# ## 12. Your own experiment
#
# Which shape is best for a given number of parameters, deep and narrow or shallow and wide? The cell below trains small Transformers that learn to write like Jane Austen, one character after the other, and prints their loss on unseen text in nats per character. Both shapes have about 100,000 parameters, so by your own formula they cost nearly the same.

# %%
from anatomy.experiments.growing import grow

for layers, d_model in ((1, 88), (4, 44)):
    for seed in (0, 1):
        made = grow(seed=seed, layers=layers, d_model=d_model)
        flops = training_flops(made.parameters, 150 * 16 * 32)  # steps, rows, characters in a row
        print(f"{layers} × width {d_model}: {made.parameters:,} parameters, {flops:.1e} FLOPs, {made.loss:.3f} nats")

# %% [markdown]
# Nothing is graded here. Which shapes lie in between, and is the best one the same if the rate `lr` or the number of `steps` changes? A width must be a multiple of `n_heads`, which is 4 unless you choose another, and `.parameters` says how many there are. Run at least two seeds for each shape, and write down your answer in one sentence, with the aspect ratio that you would choose.

# %% [markdown] written="question"
# A team serves a model of 8 billion weights to 32 users at once, with texts of about 8,000 tokens. A step takes too long. One engineer proposes GPUs with twice the FLOP/s, another a model of the same size with a quarter of the key-value heads, and a third LoRA adapters of a smaller rank. Which of the three helps, and why do the others not?
#
# - what a step fetches and what it computes
# - which of the two decides here
# - what each proposal changes

# %% [markdown] written="answer" points=3
# A step fetches the weights once, some 16 GB in two bytes, and the cache of every user. With 8 key-value heads in 32 layers this is 131 kB per token, so 34 GB for 32 users of 8,000 tokens. It computes about 0.6 TFLOP, which a GPU of 312 TFLOP/s does in 2 ms, while 50 GB take 25 ms at 2 TB/s. So the step waits for memory, and twice the FLOP/s change nothing. A quarter of the key-value heads leaves 8 GB of caches and 24 GB in all, which is about twice as fast. The rank changes nothing once the adapters are merged, and little before.
#
# ### BEGIN MARK SCHEME
# - 1 point: bytes decide, with the caches as the larger part; an estimate or a formula is enough.
# - 1 point: fewer key-value heads help, since caches shrink by that factor while the weights stay.
# - 1 point: neither FLOP/s nor rank help, each with its reason: arithmetic already waits; a merged adapter costs nothing.
# - No point: "more FLOP/s always help", or an answer that counts the weights alone.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("A model has 12 layers of width 768. Twice the width and the same layers give about…",
     {"twice the parameters": (False, "Only the tables grow like that."),
      "four times the layers' parameters": (True, "12·L·d² grows with the square of d."),
      "eight times": (False, "That would need twice the layers as well.")})

# %%
quiz("Why 6·N·D, and not 2·N·D?",
     {"the backward pass costs twice the forward pass": (True, "It makes two products for each of the forward pass, so 2 + 4."),
      "there are three matrices in a feed-forward layer": (False, "They are in N already."),
      "Adam keeps two averages": (False, "Their cost per step does not grow with the tokens.")})

# %%
quiz("By Chinchilla's approach 1, four times the budget is best spent on…",
     {"four times the parameters": (False, "Then there would not be one token more."),
      "four times the tokens": (False, "Both grow."),
      "twice of both": (True, "Both exponents are about a half, and 2 · 2 = 4.")})

# %%
quiz("LoRA trains 0.06 % of the parameters. A training step's forward pass takes…",
     {"0.06 % of the FLOPs": (False, "The frozen weights still compute."),
      "about the FLOPs of the whole model": (True, "It even takes a little more. What is saved is gradients and Adam's memory."),
      "half": (False, "Nothing of the forward pass is left out.")})

# %%
quiz("After merging, an adapter of rank 64 makes a decoding step…",
     {"slower than one of rank 8": (False, "Both adapters are gone, and one matrix of the old shape is left."),
      "as fast as the model without it": (True, "The shapes are the same, and so are the bytes.")})

# %%
quiz("64 users with long texts. A step waits for…",
     {"arithmetic": (False, "With long caches no batch is large enough."),
      "the caches": (True, "Each user brings their own cache, whereas the weights are shared."),
      "the weights": (False, "This is true of one user, but 64 caches outweigh them.")})

# %%
progress("13-scale-and-cost")

# %% [markdown]
# ## All of it is yours
#
# This is the picture of unit 00 again. When you saw it first, you had written one station of it, a weighted average. Today the words on the right say what each station has become, because you have written them all.

# %%
from anatomy import drawings
from anatomy.atlas import configuration

yours = {"embedding": "your Embeddings", "positions": "your tables", "blocks": "your attention", "norm": "your norms",
         "head": "your Decoder", "softmax": "your softmax", "choice": "your distribution"}
drawings.token_path(configuration("gpt-2"), batch=1, length=3, met=yours)

# %% [markdown]
# How much code is that? The next cell counts it in your saved notebooks, unit by unit. It takes only answers that passed, without comments and blank lines.

# %%
from anatomy import parts

parts.written()

# %% [markdown]
# Five papers that you can now read with your own code in mind, in this order:
#
# 1. [Attention is all you need](https://arxiv.org/abs/1706.03762), because you have written each of its formulas.
# 2. [LLaMA](https://arxiv.org/abs/2302.13971), whose description of the architecture names your norms, your gate and your rotation.
# 3. [Chinchilla](https://arxiv.org/abs/2203.15556), whose three approaches you have compared.
# 4. [FlashAttention](https://arxiv.org/abs/2205.14135), which computes your softmax without ever storing all the scores.
# 5. [DeepSeek-V3](https://arxiv.org/abs/2412.19437), which puts latent caches and experts into one large model.

# %% [markdown]
# ## Where this lives in real models
#
# - Scaling laws: [Kaplan et al. 2020](https://arxiv.org/abs/2001.08361), [Hoffmann et al. 2022](https://arxiv.org/abs/2203.15556), and a refit of the latter by [Besiroglu et al. 2024](https://arxiv.org/abs/2404.10102).
# - LoRA: [Hu et al. 2021](https://arxiv.org/abs/2106.09685), and on a base in 4 bits QLoRA ([2305.14314](https://arxiv.org/abs/2305.14314)).
# - Serving: [Pope et al. 2022](https://arxiv.org/abs/2211.05102), and with experts Mixtral ([2401.04088](https://arxiv.org/abs/2401.04088)) and DeepSeek-V3 ([2412.19437](https://arxiv.org/abs/2412.19437)).
#
# Every part of the Transformer that most models share is now yours. However, a model's cost still grows with its text, because every token attends to all the others. Next, **14-cheaper-attention** asks what of that can be saved.
