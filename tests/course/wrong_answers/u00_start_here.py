"""Wrong answers to unit 00."""

WRONG_ANSWERS = [
    (
        "prints in place of returning",
        "start.weighted_average",
        """
def weighted_average(values, weights):
    print(weights @ values / weights.sum())
""",
        ["is None: is a return missing? print only shows"],
    ),
    (
        "numpy habits",
        "start.weighted_average",
        """
import numpy as np
def weighted_average(values, weights):
    return np.average(values.numpy(), axis=0, weights=weights.numpy())
""",
        ["numpy array", "torch.from_numpy"],
    ),
    (
        "other parameter names",
        "start.weighted_average",
        """
def weighted_average(vals, w):
    return w @ vals / w.sum()
""",
        ["rename vals to values and rename w to weights"],
    ),
    (
        "multiplies instead of @",
        "start.weighted_average",
        """
def weighted_average(values, weights):
    return (values * weights).sum(0) / weights.sum()
""",
        ["lays the weights along the columns"],
    ),
]
