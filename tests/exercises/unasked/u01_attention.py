"""What ``tests/exercises/test_arguments.py`` would ask of unit 01 and no case gives, each with its reason."""

# exercise → {"function(argument)": why one value is enough}
ONE_VALUE: dict[str, dict[str, str]] = {}
# exercise → {"function(a, b)": why the two never meet}
PAIR_NEVER_MEETS: dict[str, dict[str, str]] = {}
# exercise → why its floats come in one precision
ONE_PRECISION: dict[str, str] = {}
# exercise → {"function": why no gradient is asked of it}
NO_GRADIENT: dict[str, dict[str, str]] = {}
