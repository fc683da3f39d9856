"""What ``tests/exercises/test_arguments.py`` would ask of unit 05 and no case gives, each with its reason."""

_OF_TORCH = "nn.Module's own method: no part of the answer takes this argument"
_REFERENCE_ONLY = "the reference alone takes a device: the learner's signature ends with offset"

# exercise → {"function(argument)": why one value is enough}
ONE_VALUE: dict[str, dict[str, str]] = {
    "position.learned": {
        f"LearnedPositions.state_dict({argument})": _OF_TORCH for argument in ("destination", "keep_vars", "prefix")
    },
    "position.shaw": {"shaw_index(device)": _REFERENCE_ONLY},
}
# exercise → {"function(a, b)": why the two never meet}
PAIR_NEVER_MEETS: dict[str, dict[str, str]] = {
    "position.learned": {
        f"LearnedPositions.state_dict({pair})": _OF_TORCH
        for pair in ("destination, keep_vars", "destination, prefix", "keep_vars, prefix")
    },
    "position.shaw": {"shaw_index(device, offset)": _REFERENCE_ONLY},
}
# exercise → why its floats come in one precision
ONE_PRECISION: dict[str, str] = {}
# exercise → {"function": why no gradient is asked of it}
NO_GRADIENT: dict[str, dict[str, str]] = {}
