"""Bytes of states, and of a stack that mixes them with caches."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
from autograder.reference import linear_attention


def of_a_layer(n_heads, d_key, d_value, itemsize=4):
    """As in the solution."""
    return n_heads * d_key * d_value * itemsize


def of_a_stack(n_layers, every, tokens, per_token, state):
    """As in the solution."""
    full = n_layers // every
    return full * tokens * per_token + (n_layers - full) * state


def layer_by_layer(n_layers, every, tokens, per_token, state):
    """Goes through the layers."""
    total = 0
    for layer in range(1, n_layers + 1):
        total += tokens * per_token if layer % every == 0 else state
    return total


def head_by_head(n_heads, d_key, d_value, itemsize=4):
    """Adds up the heads."""
    return sum(d_key * d_value for _ in range(n_heads)) * itemsize


MISTAKES = changes(
    (of_a_layer, of_a_stack),
    """
vectors: n_heads * d_key * d_value * itemsize → n_heads * (d_key + d_value) * itemsize
    state_bytes counts a key and a value per head. A state is a matrix of d_key · d_value numbers.
one_head: n_heads * d_key → d_key
    state_bytes counts one head. Each head has a state of its own.
twice: n_heads * d_key → 2 * n_heads * d_key
    state_bytes has a factor 2, as for keys and values in a cache. One matrix holds both.
square: d_key * d_value → d_key * d_key
    state_bytes counts d_key · d_key numbers. A state has d_key rows and d_value columns.
numbers: * itemsize →
    state_bytes returns numbers instead of bytes. Multiply by itemsize.
exchanged: full * tokens * per_token + (n_layers - full) * state → (n_layers - full) * tokens * per_token + full * state
    hybrid_bytes takes the full layers for those with a state. The last of every `every` layers is full, the others keep
    a state.
states_grow: (n_layers - full) * state → (n_layers - full) * state * tokens
    In hybrid_bytes the states grow with the text. Their size doesn't depend on the tokens.
caches_fixed: full * tokens * per_token → full * per_token
    In hybrid_bytes the caches don't grow. Each full layer keeps per_token bytes for every token.
states_everywhere: (n_layers - full) * state → n_layers * state
    hybrid_bytes gives every layer a state. Full layers have a cache instead.
caches_everywhere: full * tokens * per_token + → n_layers * tokens * per_token +
    hybrid_bytes gives every layer a cache. Only one of every `every` layers is full.
rounded_up: n_layers // every → -(-n_layers // every)
    hybrid_bytes rounds the number of full layers up. An incomplete group at the end has no full layer: round down.
fraction: n_layers // every → n_layers / every
    hybrid_bytes counts a fraction of a layer. Divide with //.
one_state: (n_layers - full) * state → state
    hybrid_bytes counts one state for the whole stack. Every layer that is not full keeps one.
""",
)


def _stack(g: Source, program: Program) -> Program:
    every, groups = g.integer(2, 7), g.integer(1, 9)
    layers = every * groups + g.integer(1, every)
    return program.call(
        layers, every, g.integer(10, 5000), 2 * g.integer(4, 900), 4 * g.integer(10, 9000), fn="hybrid_bytes"
    )


EXERCISE = Exercise(
    id="state.bytes",
    title="What a state weighs",
    points=1,
    difficulty=2,
    minutes=4,
    extension=True,
    reference=(linear_attention.state_bytes, linear_attention.hybrid_bytes),
    alternatives=[(of_a_layer, of_a_stack), (head_by_head, layer_by_layer)],
    cases=[
        Case(
            "the example",
            "6 layers, every third full, 50 tokens of 8 bytes, states of 100: 1,200 bytes",
            lambda g: call(6, 3, 50, 8, 100, fn="hybrid_bytes").call(7, 3, 50, 8, 100, fn="hybrid_bytes"),
            weight=0.5,
        ),
        Case(
            "a state",
            "random heads, d_key and d_value, 4 bytes and others",
            lambda g: several(
                3,
                lambda p: p.call(g.integer(2, 40), 8 * g.integer(2, 40), 8 * g.integer(2, 40)).call(
                    g.integer(2, 40), 8 * g.integer(2, 40), 8 * g.integer(2, 40), itemsize=g.integer(1, 9)
                ),
            ),
            weight=2,
        ),
        Case(
            "stacks",
            "random stacks whose last group is incomplete",
            lambda g: several(3, lambda p: _stack(g, p)),
            weight=2,
        ),
        Case(
            "all full",
            "every = 1: each layer keeps a cache",
            lambda g: several(
                2,
                lambda p: p.call(g.integer(2, 90), 1, g.integer(9, 9999), 2 * g.integer(9, 999), 64, fn="hybrid_bytes"),
            ),
        ),
        Case(
            "no full layer",
            "every is larger than the number of layers: states alone",
            lambda g: several(
                2,
                lambda p: p.call(
                    g.integer(2, 90), 99, g.integer(9, 9999), 64, 4 * g.integer(9, 9999), fn="hybrid_bytes"
                ),
            ),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
sums and single entries do not depend on the order
    aa700ecd99 alternative (head_by_head, layer_by_layer), reversed: range(1, n_layers + 1) reversed
    50fe1c0769 alternative (head_by_head, layer_by_layer), reversed: range(n_heads) reversed
""",
)
