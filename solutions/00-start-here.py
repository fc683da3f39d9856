# %% [markdown]
# # Start here
#
# **You will be able to** run a cell, write an exercise, read what a check tells you, and find your progress again tomorrow.
#
# **Prerequisites:** Python functions, and tensors of any library (NumPy is fine). **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Suppose that the word *cat* carries the number 1, *sat* carries 5 and *mat* carries 9. A machine mixes the three numbers into one, and its answer is 7.4.
#
# Which word did it listen to most? By the end of this page you will have built that machine, which is the heart of every Transformer.

# %% [markdown]
# ## Run a cell
#
# Click the cell below and press **Shift + Enter**. It loads what this page needs.

# %% setup=true
import torch
from anatomy import case, check, environment_report, predict, progress, quiz, reveal
from anatomy.widgets import AnatomyView, MixExplorer

# %%
environment_report()

# %% [markdown]
# ## Where this course goes
#
# The picture below shows a whole Transformer at work, a small one that has read Jane Austen's novels. Text goes in at the bottom, and a guess of the next word comes out at the top. Point at the words, and answer the questions of the blue bar. You can also type a text of your own, and let the model write on.
#
# Nothing in it has to be clear today. You will build each of its parts, and a part gets a ✓ here when you have passed its exercises.

# %%
AnatomyView()

# %% [markdown]
# ## How this course talks
#
# Three expressions occur in every unit.
#
# - A **token** is one of the pieces into which a model cuts its text, for example words, parts of words or single characters. In our small examples a token is simply a word, such as *cat*.
# - A **claim on trial** is a sentence that many texts repeat. You test it by an experiment before you believe it.
# - **The notes** are the Chinese course notes from which this course is made. Their facts were checked, and some of their sentences are on trial.

# %% [markdown]
# ## Worked example: the machine with numbers
#
# A *weight* says how much a word counts. Suppose that *cat* has weight 1, *sat* has weight 2 and *mat* has weight 7. Multiply each number by its weight, add the products up, and divide by the total weight.
#
# $$\frac{1\cdot 1 + 2\cdot 5 + 7\cdot 9}{1 + 2 + 7} = \frac{74}{10} = 7.4$$

# %%
words = torch.tensor([1.0, 5.0, 9.0])
weights = torch.tensor([1.0, 2.0, 7.0])
(weights * words).sum() / weights.sum()

# %% [markdown]
# The machine listened to *mat* most, which has seven tenths of the weight.
#
# In a real model a token has many numbers instead of one, its *vector*. The vectors of $T$ tokens with $D$ numbers each form a tensor of shape $(T, D)$. The answer has shape $(D,)$, because each column is mixed with the same weights.

# %% [markdown]
# ## Predict first
#
# Before some results you are asked for a prediction, since a wrong guess that you wrote down teaches more than a right answer that you read.
#
# Choose an answer, then press *Keep my prediction*. The result waits in a folded cell, whose text breaks off with three dots. Run it with Shift + Enter like any other cell. (A click on the dots would unfold its code.)

# %%
predict("start.p1", "All three weights are multiplied by 10. The average…",
        ["is 10 times larger", "stays the same", "is 10 times smaller"])

# %%
reveal("start.p1",
       lambda: f"{(10 * weights * words).sum() / (10 * weights).sum():.1f}",
       "The factor 10 is in the numerator and in the denominator, so it cancels.",
       answer="stays the same")

# %% [markdown]
# ## Your first exercise
#
# Each exercise has a statement, a cell to write in, a check, and three hints that unfold when you click them.
#
# **Run the check before you write anything**, and read what it says. Then write `return weights @ values`, which is wrong, and check again. The message names the mistake, so that you can put it right.

# %% [markdown] statement="start.weighted_average"
# Average the rows of `values` so that each row counts as often as its weight says.
#
# $$\text{out} = \frac{\sum_t w_t\, v_t}{\sum_t w_t}$$
#
# The weights are positive and need not sum to 1. Each row of `values` belongs to one token, and the columns are its numbers.

# %% exercise="start.weighted_average"
def weighted_average(values, weights):
    """Weighted average of rows.

    Args:
        values: (T, D) float tensor, one row per word.
        weights: (T,) float tensor of positive weights.

    Returns:
        (D,) tensor, same dtype as values.
    """
    ### BEGIN SOLUTION
    return weights @ values / weights.sum()
    ### END SOLUTION

# %% [markdown] hints="start.weighted_average"
# 1. Work the two-row case of the check by hand. Which number do you divide by?
# 2. `weights @ values` multiplies each row by its weight and adds the rows up: shapes $(T,)$ and $(T, D)$ give $(D,)$. One division is left.
# 3. `return (weights @ values) / …`, where the dots are the sum of all weights.

# %% [markdown] worth="start.weighted_average"
# With positive weights, each entry of the result lies between the smallest and the largest value of its column. An attention head (unit 01) obeys the same rule, since it is a weighted average too. It blends its values and never goes beyond them.

# %% [markdown]
# ## Now see it move
#
# The picture runs **your** function, so drag the bars with the mouse, or move the sliders with Tab and the arrow keys. Point at a word to see its part of the sum. Until you have written the function, it uses a recorded solution and says so. If your function is wrong, you see your number next to the expected one.

# %%
MixExplorer(weighted_average)

# %% [markdown]
# ## Your progress
#
# Passed exercises are remembered on your disk, so you can close everything and run this line again tomorrow.

# %%
progress("00-start-here")

# %% [markdown]
# ## Claim on trial
#
# > *"The weights must sum to 1, otherwise the average is meaningless."*
#
# You can decide this one yourself, for example by comparing weights that sum to 1 with the same weights times 50.

# %%
share = weights / weights.sum()
(share * words).sum(), (50 * share * words).sum() / (50 * share).sum()

# %% [markdown] evidence="exact"
# **Verdict: the weights may have any positive sum, as long as you divide by it.** The factor 50 cancels, so both averages are the same. Attention, however, makes its weights sum to 1 first (by softmax) and can then leave the division out.

# %% [markdown]
# ## The letters used in this course
#
# Shapes are written with these letters, so come back here when you have forgotten one.
#
# | letter | means | example |
# |---|---|---|
# | $B$ | batch, the sentences computed together | 2 |
# | $T$ | length of a sequence (of the queries) | 6 tokens |
# | $S$ | number of keys, where it differs from $T$ | 9 |
# | $d_{model}$ | numbers per token | 512 |
# | $H$ | attention heads | 8 |
# | $G$ | key-value heads (fewer than $H$ in newer models) | 2 |
# | $D$ | head dim, the numbers per head, often $d_{model}/H$ | 64 |
#
# Shapes keep the order $(B, H, T, D)$, and positions are counted from 0. A mask, which says which token may look at which, is boolean, and **True means "may look"**.

# %% [markdown]
# ## The whole on one page
#
# The drawing shows the path of a token through GPT-2, **from the bottom up**. Three ids (the tokens' numbers in the vocabulary) go in, and each becomes 768 numbers. Your machine is in each of the twelve blocks. The words on the right say where you build which part.
#
# Follow the shapes upward. Which one stays the same from the embedding to the final norm?

# %%
from anatomy import drawings
from anatomy.atlas import configuration

met = {"embedding": "unit 11", "positions": "unit 05", "blocks": "units 01 to 04", "norm": "unit 02",
       "head": "unit 11", "softmax": "unit 01", "choice": "unit 12"}
drawings.token_path(configuration("gpt-2"), batch=1, length=3, met=met)

# %% [markdown]
# ## When a check fails
#
# - Read the bold line, which names the mistake where the check knows it.
# - Copy the *smallest failing case* into a new cell. It runs as it is, so you can print what happens inside.
# - A cell that failed, was changed and not run, or was deleted is not judged. The check says so once you saved (Ctrl+S).
# - Unfold a hint when you are stuck; the next one is inside it.
# - Put code that your answer needs into its cell or a new cell, so that grading finds it.

# %% [markdown] written="question"
# A friend's `weighted_average` divides by the number of rows instead of by the sum of the weights, and passes the friend's own test. For which weights do the two functions agree? Describe the smallest test that tells them apart, with both results, and say why the friend's test may have missed it.
#
# - which property of the weights makes both agree, whatever the values
# - an example with numbers, worked both ways
# - what a test has to vary so that such a mistake shows

# %% [markdown] written="answer" points=2
# They agree for all values if the weights sum to the number of rows, for example if all weights are 1. The smallest test is one row with value 5 and weight 2. The right answer is 5, while the friend gets $2 \cdot 5 / 1 = 10$. A test with the weights (1, 1, 1) or (0.5, 1.5) has that sum by chance and sees nothing, so a test should use weights with another sum. It can also multiply all weights by 10. The average has to stay the same, whereas the friend's becomes ten times as large.
#
# ### BEGIN MARK SCHEME
# - 1 point: both agree where the weights sum to the number of rows. "All weights are 1" is enough if the sum is given as the reason.
# - 1 point: a test with another sum, with both results right, and why a test with that sum misses the mistake.
# - No point: "they agree where the weights sum to 1". Then the friend's result is too small by a factor of $T$.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("A check shows 'got' and 'expected'. Which inputs are these for?",
     {"the largest case": (False, "Large cases are hard to read."),
      "the smallest case that fails": (True, "That way you can work it by hand."),
      "a random case each time": (False, "The cases of the check are always the same.")})

# %%
quiz("values has shape (T, D), weights (T,). What is the shape of weights @ values?",
     {"(T,)": (False, "The axis T is summed over."), "(D,)": (True, "One number per column is left."),
      "(T, D)": (False, "That would be before the sum.")})

# %%
quiz("In this course a mask entry is True. The query…",
     {"may look at that key": (True, "True means may look, everywhere in this course."),
      "may not look at it": (False, "Some libraries do it that way; this course does not.")})

# %%
quiz("You passed an exercise, then broke your function and checked again. Your progress…",
     {"is lost": (False, "A pass is never taken back."), "stays": (True, "The best result counts.")})

# %%
quiz("Where does a helper function belong?",
     {"in the answer cell or a new cell": (True, "Both are run when your work is graded."),
      "inside a demonstration cell": (False, "Those are not run when your work is graded.")})

# %% [markdown]
# ## Where this lives in real models
#
# A weighted average whose weights are computed from the tokens themselves is *attention* ([Bahdanau et al. 2014](https://arxiv.org/abs/1409.0473), [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762)).
#
# **By the end of unit 12** you will have written the rest as well, from the code that cuts text into tokens to the loop that writes new ones. Your own parts, joined to a model like LLaMA, will load trained weights and write sentences in the manner of Jane Austen.
#
# Here you chose the weights yourself. In the next unit, **01-attention**, the tokens choose them.
