# %% [markdown]
# # Gallery
#
# Every widget of the course, with nothing to write. Press **Run → Run All Cells**, then move the sliders with the mouse, or with Tab and the arrow keys.
#
# Each picture shows the recorded reference. In the units the same pictures run your own functions.

# %%
from anatomy.widgets import (
    AttentionExplorer,
    MixExplorer,
    PermutationExplorer,
    RopeExplorer,
    WavelengthExplorer,
)

# %% [markdown]
# ## A weighted average (unit 00)
#
# Give *mat* weight 0. Where does the triangle go? Then give all three the same weight.

# %%
MixExplorer()

# %% [markdown]
# ## Attention (unit 01)
#
# Compare the two sentences with the same words. Then drop the scale: how many weights stay visible?

# %%
AttentionExplorer()

# %% [markdown]
# ## Words in another order (unit 01)
#
# Without positions, attention only follows the permutation. Switch positions on, and that breaks.

# %%
PermutationExplorer()

# %% [markdown]
# ## Rotating queries and keys (unit 06)
#
# Move both positions by one with the button: the dials turn, the score stands still.

# %%
RopeExplorer()

# %% [markdown]
# ## Wavelengths of RoPE (unit 06)
#
# How many planes finish a full turn within 4,096 tokens? Raise the base and look again.

# %%
WavelengthExplorer()
