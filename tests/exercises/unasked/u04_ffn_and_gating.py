"""What ``tests/exercises/test_arguments.py`` would ask of unit 04 and no case gives, each with its reason."""

# exercise → {"function(argument)": why one value is enough}
ONE_VALUE: dict[str, dict[str, str]] = {
    "ffn.gated": {"GatedFeedForward(bias)": "only the reference has this argument: the text asks for no biases"},
}
# exercise → {"function(a, b)": why the two never meet}
PAIR_NEVER_MEETS: dict[str, dict[str, str]] = {
    "ffn.gated": {"GatedFeedForward(activation, bias)": "only the reference has the argument bias"},
}
# exercise → why its floats come in one precision
ONE_PRECISION: dict[str, str] = {}
# exercise → {"function": why no gradient is asked of it}
NO_GRADIENT: dict[str, dict[str, str]] = {}
