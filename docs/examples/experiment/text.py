# %% [markdown]
# ### Claim on trial: the order of a sum doesn't matter
#
# It doesn't on paper. Add the same float32 numbers one after the other, and in pairs:

# %%
from anatomy.experiments import show_large, sum_order

for n in (64, 512, 4096):
    print(f"{n:5}  forwards {sum_order.error(sum_order.forwards, n):.1e}  in pairs {sum_order.error(sum_order.pairwise, n):.1e}")
show_large("sum_order")

# %% [markdown] evidence="recorded: sum_order, control: dtype of the sum"
# **Verdict: it matters for long sums.** In {{sum_order.larger:word}} of {{sum_order.of:word}} recorded seeds the loop's error on {{sum_order.n:,}} numbers is the larger one, on average {{sum_order.times:.1f}} times that of the pairs. Added in float64, the same loop has {{sum_order.control:.0e}} times that error: the order costs by rounding.
