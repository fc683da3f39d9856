# %% [markdown]
# # Gallery
#
# Every widget of the course, with nothing to write. Press **Run → Run All Cells**. Each begins with a story: do what it says, answer its question, go on with *›*.
#
# Point at anything to see its number and formula; click to keep it, press Escape to let go. Tab and the arrow keys do the same.
#
# Here the recorded reference is at work. In the units the same pictures run your own functions.

# %%
from anatomy import widgets

# %% [markdown]
# ## A whole Transformer (units 00 and 11)
#
# What does it say next, and which layer brings that word? Open a part with a click.

# %%
widgets.AnatomyView()

# %% [markdown]
# ## A weighted average (unit 00)
#
# Give *mat* weight 0. Where does the triangle go? Then give all three the same weight.

# %%
widgets.MixExplorer()

# %% [markdown]
# ## Attention (unit 01)
#
# Compare the two sentences with the same words. Then drop the scale: how many weights stay visible?

# %%
widgets.AttentionExplorer()

# %% [markdown]
# ## Words in another order (unit 01)
#
# Without positions, attention only follows the permutation. Switch positions on, and that breaks.

# %%
widgets.PermutationExplorer()

# %% [markdown]
# ## Two norms (unit 02)
#
# Shift the vector, then stretch it. Which norm notices which?

# %%
widgets.NormExplorer()

# %% [markdown]
# ## Where gradients arrive (unit 03)
#
# Run along the picture of the last layer to change the depth, and compare Post-LN with Pre-LN.

# %%
widgets.GradientFlowExplorer()

# %% [markdown]
# ## Activations and gates (unit 04)
#
# Let β of Swish grow: which curve does it turn into?

# %%
widgets.ActivationExplorer()

# %% [markdown]
# ## Position schemes (unit 05)
#
# Look at the distance profile of each scheme. Which ones can tell left from right?

# %%
widgets.PositionExplorer()

# %% [markdown]
# ## Rotating queries and keys (unit 06)
#
# Put three tokens in front: the dials turn, the score stands still. Then break it, and look at its hands in a text that is longer than trained.

# %%
widgets.RopeExplorer()

# %% [markdown]
# ## Who may look at whom (unit 07)
#
# Step through the queries of a prefix mask. How many layers does a word need to reach the last one?

# %%
widgets.MaskExplorer()

# %% [markdown]
# ## One sentence, six lessons (unit 07)
#
# What does the model see, and what must it predict, under each objective?

# %%
widgets.ObjectiveLab()

# %% [markdown]
# ## What a cache costs (unit 08)
#
# How many users fit with 4,096 tokens each? Change the attention of LLaMA-2 7B to GQA and look again.

# %%
widgets.CacheCalculator()

# %% [markdown]
# ## Step by step through a cache (unit 08)
#
# Read a prompt of 4 tokens, then write. Which keys are computed, which are read? Then look at the positions: what becomes of the scores when every chunk counts from 0?

# %%
widgets.CacheStepper()

# %% [markdown]
# ## Sparse patterns (unit 09)
#
# Which patterns reach every earlier word, and after how many layers? Compare what each of them scores.

# %%
widgets.SparseExplorer()

# %% [markdown]
# ## Scores that grow (unit 10)
#
# Raise the factor. Which dtype is the first that cannot do without the shift? Then let the curves show the slope: which remedy keeps it?

# %%
widgets.SoftmaxStabilityExplorer()

# %% [markdown]
# ## An atlas of models (unit 11)
#
# When does RMSNorm take over? Choose GPT-2 and LLaMA 2 7B: what did four years change? Then build one, and compare its parameters with the published number.

# %%
widgets.ModelAtlas()

# %% [markdown]
# ## A word becomes tokens (unit 12)
#
# Which pair is joined first, and why is the name one token with a capital letter and two without? Choose a word, and go through its merges.

# %%
widgets.MergeExplorer()

# %% [markdown]
# ## Three dials for the next token (unit 12)
#
# Set top-p to 0.9 and compare the three prompts. How many tokens can come where the model is sure, and where it is not?

# %%
widgets.SamplingExplorer()
