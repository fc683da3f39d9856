"""What ``tests/exercises/test_arguments.py`` would ask of unit 08 and no case gives, each with its reason."""

_STORED = "a cache serves decoding, where nothing is trained; whoever stores tokens detached is right"

# exercise → {"function(argument)": why one value is enough}
ONE_VALUE: dict[str, dict[str, str]] = {}
# exercise → {"function(a, b)": why the two never meet}
PAIR_NEVER_MEETS: dict[str, dict[str, str]] = {}
# exercise → why its floats come in one precision
ONE_PRECISION: dict[str, str] = {
    "cache.append": "the constructor names no dtype, so a cache holds float32, as torch.zeros makes it",
    "cache.rolling": "the constructor names no dtype, so a cache holds float32, as torch.zeros makes it",
    "cache.rotary_offset": "the notebook's rotate computes float32 angles, and turns written by hand may do so, too",
}
# exercise → {"function": why no gradient is asked of it}
NO_GRADIENT: dict[str, dict[str, str]] = {
    "cache.append": {"KVCache": _STORED},
    "cache.rolling": {"RollingCache": _STORED},
    "cache.paged": {"gather": _STORED},
    "cache.pool_heads": {"pool_heads": "a checkpoint is converted once, before training goes on with the new weights"},
    "cache.quantize": {
        "quantize": "the codes are integers, so nothing can be trained through them",
        "dequantize": "the codes are integers, so nothing can be trained through them",
    },
}
