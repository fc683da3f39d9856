"""What ``tests/exercises/test_arguments.py`` would ask of unit 11 and no case gives, each with its reason."""

_LAYERS = "the layers of a new module are float32, and the text changes no dtype"
_CONVERTED = "a checkpoint is converted once, before anything is trained"
_AS_UNIT_04 = "only the reference has this argument: the text asks for no biases"

# exercise → {"function(argument)": why one value is enough}
ONE_VALUE: dict[str, dict[str, str]] = {
    "assembly.parts": {"GatedFeedForward(bias)": _AS_UNIT_04},
}
# exercise → {"function(a, b)": why the two never meet}
PAIR_NEVER_MEETS: dict[str, dict[str, str]] = {
    "assembly.parts": {"GatedFeedForward(activation, bias)": _AS_UNIT_04},
}
# exercise → why its floats come in one precision
ONE_PRECISION: dict[str, str] = {
    "assembly.attention": _LAYERS,
}
# exercise → {"function": why no gradient is asked of it}
NO_GRADIENT: dict[str, dict[str, str]] = {
    "assembly.names": {"rename": _CONVERTED},
    "assembly.fused": {"unfuse": _CONVERTED},
    "assembly.rotary_rows": {"to_half_rows": _CONVERTED, "to_interleaved_rows": _CONVERTED},
}
