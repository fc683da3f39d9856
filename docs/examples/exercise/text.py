# %% [markdown]
# ## 12. Extension: Swish without an exponential
#
# A phone has no fast $e^x$. MobileNetV3 ([Howard et al. 2019](https://arxiv.org/abs/1905.02244)) replaces the gate $\sigma(x)$ by straight lines: 0 up to −3, 1 from 3 on, and a slope of 1/6 between them.

# %% [markdown] statement="activation.hard_swish"
# Write
#
# $$\text{hardswish}(x) = x\cdot\frac{\min(\max(x + 3,\ 0),\ 6)}{6}$$
#
# for any shape. torch's own form of it, and its ReLU6, are not allowed here.

# %% exercise="activation.hard_swish"
def hard_swish(x):
    """x times a gate of straight lines, elementwise (arXiv:1905.02244)."""
    ### BEGIN SOLUTION
    return x * (x + 3).clamp(0, 6) / 6
    ### END SOLUTION

# %% [markdown] hints="activation.hard_swish"
# 1. How large is the gate at −3, at 0 and at 3? Swish has almost 0, exactly ½ and almost 1 there.
# 2. Shift x, cut it off on both sides, divide. Then multiply by x.
# 3. `x * (x + …).clamp(…, …) / …`

# %% [markdown] worth="activation.hard_swish"
# It is at most 0.15 away from Swish, and its gate is exactly 0 left of −3: there it passes no gradient at all, as ReLU does.

