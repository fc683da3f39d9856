"""What ``tests/exercises/test_arguments.py`` would ask of unit 09 and no case gives, each with its reason."""

NO_DEVICE = "the learner's function has no device; only the reference, which other units use, has one"

# exercise → {"function(argument)": why one value is enough}
ONE_VALUE: dict[str, dict[str, str]] = {
    "sparse.local": {"local_causal_mask(device)": NO_DEVICE, "local_symmetric_mask(device)": NO_DEVICE},
    "sparse.block": {"block_mask(device)": NO_DEVICE},
    "sparse.global_local": {"longformer_mask(device)": NO_DEVICE},
    "sparse.strided": {"strided_masks(device)": NO_DEVICE},
    "sparse.fixed": {"fixed_masks(device)": NO_DEVICE},
}
# exercise → {"function(a, b)": why the two never meet}
PAIR_NEVER_MEETS: dict[str, dict[str, str]] = {"sparse.fixed": {"fixed_masks(device, summary)": NO_DEVICE}}
# exercise → why its floats come in one precision
ONE_PRECISION: dict[str, str] = {}
# exercise → {"function": why no gradient is asked of it}
NO_GRADIENT: dict[str, dict[str, str]] = {}
