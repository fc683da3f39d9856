"""The weighted average as learners write it."""


def right_average(values, weights):
    return (values * weights[:, None]).sum(0) / weights.sum()
