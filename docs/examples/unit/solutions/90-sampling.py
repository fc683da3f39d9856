# %% [markdown]
# # Sampling
#
# **You will be able to** sharpen and flatten a model's choice of the next token, and say what happens at temperature 0.
#
# **Prerequisites:** unit 01. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# A model gives *cat* the score 2, *dog* 1 and *eel* 0. Softmax makes 67 %, 24 % and 9 % of them.
#
# You divide all three scores by the same number, and *cat* gets 87 %. By which number? And by which would it get 40 %?

# %% setup=true
import torch
from anatomy import case, check, predict, progress, quiz, reveal

# %% [markdown]
# ## 1. Temperature
#
# ### Worked example
#
# Scores divided by ½ are doubled: 4, 2 and 0. Softmax of these is sharper.

# %%
scores = torch.tensor([2.0, 1.0, 0.0])
scores.softmax(-1), (scores / 0.5).softmax(-1)

# %% [markdown]
# The divisor $\tau$ is called *temperature* ([Hinton et al. 2015](https://arxiv.org/abs/1503.02531)). For scores $z$ over $V$ tokens:
#
# $$p_i = \frac{e^{z_i/\tau}}{\sum_j e^{z_j/\tau}}$$
#
# Shapes: scores $(\dots, V)$, probabilities the same.

# %%
predict("sampling.p1", "With temperature 100 the three tokens get about…",
        ["67, 24 and 9 %, as before", "a third each", "100, 0 and 0 %"])

# %%
reveal("sampling.p1",
       lambda: ", ".join(f"{100 * p:.0f} %" for p in (scores / 100).softmax(-1)),
       "All scores shrink towards 0, and e to the 0 is 1 for each of them.",
       answer="a third each")

# %% [markdown] statement="sampling.tempered"
# Write it. Temperatures are positive; for 0 or less raise `ValueError`.
#
# Scores may be as large as 10,000, and no result may be NaN.

# %% exercise="sampling.tempered"
def tempered(scores, temperature=1.0):
    """Probabilities of tokens from their scores.

    Args:
        scores: (..., V) float tensor.
        temperature: positive number.

    Returns:
        (..., V) tensor of the same dtype, each row of which sums to 1.

    Raises:
        ValueError: temperature is 0 or less.
    """
    ### BEGIN SOLUTION
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    return torch.softmax(scores / temperature, -1)
    ### END SOLUTION

# %% [markdown] hints="sampling.tempered"
# 1. What is divided by the temperature: the scores, or the probabilities?
# 2. First the error, then one division, then softmax over the last axis.
# 3. `return torch.softmax(scores / …, -1)`, after an `if` that raises.

# %% [markdown] worth="sampling.tempered"
# Probabilities to the power of 1/τ, made to sum to 1 again, are the same thing. The scores are safer: a probability that was rounded to 0 stays 0 at every temperature.

# %% [markdown]
# ### Claim on trial
#
# > *"Temperature 0 is the limit of small temperatures: put 0 in, and the best token gets everything."*

# %%
for tau in (1.0, 0.1, 0.01):
    print(tau, tempered(scores, tau).tolist())

# %%
(scores / 0).softmax(-1), (torch.tensor([2.0, 2.0, 0.0]) / 0.01).softmax(-1)

# %% [markdown] evidence="exact"
# **Verdict: the limit exists, the formula does not reach it.** At 0 it computes ∞ − ∞, which is NaN. Libraries treat 0 as a case of its own, argmax. The two differ where two tokens are best: the limit gives each a half, argmax takes the first.

# %% [markdown]
# ## Your progress

# %%
progress("90-sampling")

# %% [markdown] written="question"
# A page says: *"Raise the temperature, and the model becomes creative."* What does temperature 2 do to the probabilities of *cat*, *dog* and *eel*, and what does it leave as it was? What would you let a model write, and what would you count, to test the claim?
#
# - the three probabilities, and their order
# - which parts of a model the temperature reaches
# - something that can be counted, at both temperatures

# %% [markdown] written="answer" points=3
# At temperature 2 the scores are 1, 0.5 and 0, and the probabilities 51, 31 and 19 % instead of 67, 24 and 9 %. Unlikely tokens get more, likely ones less. Their order stays, and so does all that the model knows: the temperature acts on the last scores, not on the layers before. I would let one model continue the same beginnings many times at temperature 1 and at 2, and count the different words and the wrong sentences. More of the first alone would speak for the claim; more of both is noise.
#
# ### BEGIN MARK SCHEME
# - 1 point: the probabilities come closer together, with numbers.
# - 1 point: the order stays, and the layers before are not reached.
# - 1 point: something to count at two temperatures, with all else the same.
# - No point: "the model thinks more freely".
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("Which temperature leaves softmax as it is?", {"0": (False, "That divides by zero."), "1": (True, "Divided by 1.")})

# %%
quiz("A lower temperature makes the distribution…",
     {"sharper": (True, "Differences of scores grow."), "flatter": (False, "That is what a higher one does.")})

# %%
quiz("All scores grow by 5. The probabilities…",
     {"stay the same": (True, "A common factor cancels."), "get sharper": (False, "Only differences count.")})

# %%
quiz("All scores are multiplied by 5. That is temperature…",
     {"5": (False, "Scores are divided by it."), "0.2": (True, "Dividing by 0.2 multiplies by 5.")})

# %%
quiz("Two tokens share the best score. In the limit of temperature 0 the first gets…",
     {"a half": (True, "Equal scores have equal shares at every temperature."), "all": (False, "That is argmax.")})

# %% [markdown]
# ## Where this lives in real models
#
# Sampling from a softmax with a temperature is one half of how text is generated; cutting off the tail of unlikely tokens is the other ([Holtzman et al. 2019](https://arxiv.org/abs/1904.09751)).
