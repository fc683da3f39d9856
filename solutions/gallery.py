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
# This is the whole machine that the course builds, in one picture: you see where each part stands and what it does to the text.
#
# What does it say next, and which layer brings that word? Open a part with a click.

# %%
widgets.AnatomyView()

# %% [markdown]
# ## A weighted average (unit 00)
#
# Attention is, at its core, an average with weights, and in this picture you hold the weights yourself.
#
# Give *mat* weight 0. Where does the triangle go? Then give all three the same weight.

# %%
widgets.MixExplorer()

# %% [markdown]
# ## Attention (unit 01)
#
# Attention decides from which tokens a token takes its information, and this picture shows every weight and where it comes from.
#
# Compare the two sentences with the same words. Then drop the scale: how many weights stay visible?

# %%
widgets.AttentionExplorer()

# %% [markdown]
# ## Words in another order (unit 01)
#
# Attention alone does not notice the order of its tokens, which is why a model needs positions.
#
# Without positions, attention only follows the permutation. Switch positions on, and that breaks.

# %%
widgets.PermutationExplorer()

# %% [markdown]
# ## Two norms (unit 02)
#
# A norm keeps the numbers of a deep model within bounds, and the two usual norms do it in different ways.
#
# Shift the vector, then stretch it. Which norm notices which?

# %%
widgets.NormExplorer()

# %% [markdown]
# ## Where gradients arrive (unit 03)
#
# The place of the norm decides which layers of a deep model get a large gradient, and which a small one.
#
# Let the gradient run back through 12 layers, then through 96. Whose last layer is pushed less in a deeper stack, and why?

# %%
widgets.GradientFlowExplorer()

# %% [markdown]
# ## Activations and gates (unit 04)
#
# Without the bend of its activation, an FFN would be no more than one matrix, and models use bends of very different shapes.
#
# Let β of Swish go to 0: what is left of the line that three units add up to?

# %%
widgets.ActivationExplorer()

# %% [markdown]
# ## Position schemes (unit 05)
#
# There are several ways to tell a model the order of its tokens, and each way sees distances differently.
#
# Look at the distance profile of each scheme. Which ones can tell left from right?

# %%
widgets.PositionExplorer()

# %% [markdown]
# ## Rotating queries and keys (unit 06)
#
# Most models of today use RoPE: it turns queries and keys in such a way that a score depends only on their distance.
#
# Put three tokens in front: the dials turn, the score stands still. Then break it, and look at its hands in a text that is longer than trained.

# %%
widgets.RopeExplorer()

# %% [markdown]
# ## Who may look at whom (unit 07)
#
# The mask says which tokens a token may look at, and so it decides what a model can be trained for.
#
# Step through the queries of a prefix mask. How many layers does a token need to reach the last one?

# %%
widgets.MaskExplorer()

# %% [markdown]
# ## One sentence, six lessons (unit 07)
#
# What is hidden from a model and what it must predict make the difference between GPT, BERT and T5.
#
# What does the model see, and what must it predict, under each objective?

# %%
widgets.ObjectiveLab()

# %% [markdown]
# ## What a cache costs (unit 08)
#
# While a model writes, its stored keys and values fill the memory, so they decide how many users share a GPU.
#
# How many users fit with 4,096 tokens each? Change the attention of LLaMA-2 7B to GQA and look again.

# %%
widgets.CacheCalculator()

# %% [markdown]
# ## Step by step through a cache (unit 08)
#
# A cache saves a model from computing the same keys again for every token that it writes.
#
# Read a prompt of 4 tokens, then write. Which keys are computed, which are read? Then look at the positions: what becomes of the scores when every chunk counts from 0?

# %%
widgets.CacheStepper()

# %% [markdown]
# ## Sparse patterns (unit 09)
#
# The cost of full attention grows with the square of the length, so long texts need patterns that leave out most pairs.
#
# Which patterns reach every earlier token, and after how many layers? Compare what each of them scores.

# %%
widgets.SparseExplorer()

# %% [markdown]
# ## Scores that grow (unit 10)
#
# If scores grow during the training, softmax becomes a choice of one token and its gradient vanishes; several remedies keep the scores small.
#
# Raise the factor. Which dtype is the first that cannot do without the shift? Then let the curves show the slope: which remedy keeps it?

# %%
widgets.SoftmaxStabilityExplorer()

# %% [markdown]
# ## An atlas of models (unit 11)
#
# Well-known models are combinations of the same few parts, and the atlas shows which model chose which of them, and when.
#
# When does RMSNorm take over? Choose GPT-2 and LLaMA 2 7B: what did four years change? Then build one, and compare its parameters with the published number.

# %%
widgets.ModelAtlas()

# %% [markdown]
# ## A word becomes tokens (unit 12)
#
# A model reads tokens and not letters, and a list of merges decides which tokens a word becomes.
#
# Which pair is joined first, and why is the name one token with a capital letter and two without? Choose a word, and go through its merges.

# %%
widgets.MergeExplorer()

# %% [markdown]
# ## Three dials for the next token (unit 12)
#
# A model gives only probabilities; temperature, top-k and top-p decide which token is written.
#
# Set top-p to 0.9 and compare the three prompts. How many tokens can come where the model is sure, and where it is not?

# %%
widgets.SamplingExplorer()

# %% [markdown]
# ## Attention in tiles (unit 14)
#
# Exact attention needs only a few scores at a time, if it keeps three numbers for each word and rescales them when a larger score comes.
#
# Press “Read on” until key 6 comes. What shrinks? Then let no word look ahead: how many tiles are left?

# %%
widgets.TilesExplorer()

# %% [markdown]
# ## A matrix that remembers (unit 14)
#
# A few numbers can stand for a whole text, if a memory knows how to overwrite what is no longer true.
#
# The dog goes from the kitchen into the garden. Where is it, says the memory that adds, and where the one that corrects?

# %%
widgets.MemoryExplorer()

# %% [markdown]
# ## Who works for which word (unit 15)
#
# A model with experts stores many parameters and uses few of them for each word, which pays if no expert is left without work.
#
# Give expert 2 some work with its knob. Then let each word go to two experts, and press “Balance once” until all have the same load.

# %%
widgets.ExpertsExplorer()
