"""What ``tests/exercises/test_arguments.py`` would ask of unit 10 and no case gives, each with its reason."""

# exercise → {"function(argument)": why one value is enough}
ONE_VALUE: dict[str, dict[str, str]] = {}
# exercise → {"function(a, b)": why the two never meet}
PAIR_NEVER_MEETS: dict[str, dict[str, str]] = {}
# exercise → why its floats come in one precision
ONE_PRECISION: dict[str, str] = {}
# exercise → {"function": why no gradient is asked of it}
NO_GRADIENT: dict[str, dict[str, str]] = {
    "stability.z_loss": {"z_loss_gradient": "it is the gradient by hand; nothing asks for gradients of gradients"},
    "stability.weight_decay": {
        name: "an optimizer's step is not trained through" for name in ("adamw_step", "adam_l2_step")
    },
    "stability.clip": {"clip_by_global_norm": "gradients are clipped after the backward pass, outside of the graph"},
}
