"""Which weights DeepNorm starts smaller."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import residual as ref


def gains_by_filter(names, beta):
    """A comprehension over names that end in _proj.weight."""
    return {n: (1.0 if "q_proj" in n or "k_proj" in n else beta) for n in names if n.endswith("_proj.weight")}


def gains_by_table(names, beta):
    """One table per kind of matrix."""
    table = {
        "q_proj": 1.0,
        "k_proj": 1.0,
        "v_proj": beta,
        "o_proj": beta,
        "up_proj": beta,
        "gate_proj": beta,
        "down_proj": beta,
    }
    found = {}
    for name in names:
        parts = name.split(".")
        if parts[-1] == "weight" and parts[-2] in table:
            found[name] = table[parts[-2]]
    return found


LAYER = [
    f"{m}.{k}"
    for m in (
        "attention.q_proj",
        "attention.k_proj",
        "attention.v_proj",
        "attention.o_proj",
        "ffn.up_proj",
        "ffn.down_proj",
        "attention_norm",
        "ffn_norm",
    )
    for k in ("weight", "bias")
]

MISTAKES = changes(
    gains_by_filter,
    """
all_small: 1.0 if "q_proj" in n or "k_proj" in n else beta → beta
    All matrices get β. Queries and keys keep gain 1: they decide where attention looks, not how large its output
    is.
the_other_way: 1.0 if → beta if ; else beta → else 1.0
    The gains are the wrong way round. Queries and keys keep 1, everything that makes the output larger gets β.
full_names: "q_proj" in n or "k_proj" in n → n in ("attention.q_proj.weight", "attention.k_proj.weight")
    Whole names are compared, and a model puts more in front of them. Look for q_proj and k_proj anywhere in the
    name.
letters_alone: "q_proj" in n or "k_proj" in n → "q_" in n or "k_" in n
    A name that holds q_ or k_ anywhere counts as one of queries or keys, such as seq_ or block_. Look for q_proj and
    k_proj in full.
other_letters_alone: 1.0 if → beta if ; else beta → else 1.0
; "q_proj" in n or "k_proj" in n → any(w in n for w in ("v_", "o_", "up_", "gate_", "down_"))
    A name that holds v_ or o_ anywhere counts as one of values or outputs, such as conv_ or to_. Look for q_proj and
    k_proj in full.
ones_left_out: 1.0 if "q_proj" in n or "k_proj" in n else beta → beta
; n.endswith("_proj.weight") → n.endswith("_proj.weight") and not ("q_proj" in n or "k_proj" in n)
    Queries and keys are left out. They belong into the result, with gain 1.
gates_forgotten: "q_proj" in n or "k_proj" in n → "q_proj" in n or "k_proj" in n or "gate_proj" in n
    gate_proj keeps gain 1. All matrices but those of queries and keys get β, the gate's too.
gates_left_out: n.endswith("_proj.weight") → n.endswith("_proj.weight") and "gate" not in n
    gate_proj is left out of the result. Every name that ends in _proj.weight is a matrix.
ffn_left_out: n.endswith("_proj.weight") → n.endswith("_proj.weight") and "attention." in n
    Only the matrices of attention are in the result. Those of the feed-forward layer belong to it as well.
short_names: {n: → {n.split(".")[-2]:
    The keys are parts of the names, such as q_proj. Use the whole name as it came in.
nothing_small: "q_proj" in n or → "q_proj" or
    All gains are 1. In Python `"q_proj" or "k_proj" in name` is always true: ask for each by itself, `"q_proj" in name
    or "k_proj" in name`.
keys_too: "q_proj" in n or "k_proj" in n → "q_proj" in n
    k_proj gets β. Keys, like queries, only decide where attention looks: they keep gain 1.
ffn_only: "q_proj" in n or "k_proj" in n → "q_proj" in n or "k_proj" in n or "v_proj" in n or "o_proj" in n
    Only the feed-forward matrices get β. Values and the output projection of attention are scaled too.
values_forgotten: "q_proj" in n or "k_proj" in n → "q_proj" in n or "k_proj" in n or "v_proj" in n
    v_proj keeps gain 1. Values pass through to the output, so they are scaled by β like o_proj.
attention_only: 1.0 if "q_proj" in n or "k_proj" in n else beta → beta if "v_proj" in n or "o_proj" in n else 1.0
    The feed-forward matrices keep gain 1. They write to the stream as well: β.
norms_too: n.endswith("_proj.weight") → n.endswith(".weight")
    Weights of norms are in the result. They are vectors and start at 1; leave them out.
biases_too: n.endswith("_proj.weight") → "_proj" in n
    Biases are in the result. Xavier's rule is for matrices; leave biases out.
everything: if n.endswith("_proj.weight") →
    Norms and biases are in the result. Keep only the names that end in _proj.weight.
queries_too: "q_proj" in n or "k_proj" in n → "k_proj" in n
    q_proj gets β. Queries, like keys, only decide where attention looks: they keep gain 1.
outputs_forgotten: "q_proj" in n or "k_proj" in n → "q_proj" in n or "k_proj" in n or "o_proj" in n
    o_proj keeps gain 1. The output projection writes to the stream, so it gets β like v_proj.
values_too_few: 1.0 if "q_proj" in n or "k_proj" in n else beta → beta if "v_proj" in n else 1.0
    Only v_proj gets β. All matrices but those of queries and keys do: o_proj and the feed-forward layer's too.
down_only: "q_proj" in n or "k_proj" in n → "q_proj" in n or "k_proj" in n or "up_proj" in n or "gate_proj" in n
    up_proj keeps gain 1. All matrices of the feed-forward layer get β.
small_left_out: 1.0 if "q_proj" in n or "k_proj" in n else beta → 1.0
; n.endswith("_proj.weight") → n.endswith("_proj.weight") and ("q_proj" in n or "k_proj" in n)
    Only queries and keys are in the result. The other matrices belong to it as well, with gain β.
inverse: else beta → else 1 / beta
    The gain is 1/β. It is β itself: these weights start smaller.
""",
)

EXERCISE = Exercise(
    id="placement.deepnorm_init",
    title="Which weights start smaller?",
    points=1,
    difficulty=2,
    minutes=8,
    extension=True,
    reference=ref.deepnorm_gains,
    alternatives=[gains_by_filter, gains_by_table],
    cases=[
        Case(
            "by hand",
            "a query matrix keeps gain 1, a value matrix gets β = 0.5",
            lambda g: call(["attention.q_proj.weight", "attention.v_proj.weight"], 0.5),
        ),
        Case(
            "a block",
            "all sixteen parameters of a block of a decoder: six of them are matrices",
            lambda g: call([f"decoder.layers.7.{n}" for n in LAYER], g.number(0.2, 0.8, digits=7)),
        ),
        Case(
            "gated",
            "a gated layer deep in a model, whose name holds q_, k_, v_ and o_ in other places",
            lambda g: call(
                [
                    f"seq_to_seq.conv_block_7.{n}"
                    for n in (
                        "attention.k_proj.weight",
                        "attention.o_proj.weight",
                        "ffn.gate_proj.weight",
                        "ffn.up_proj.weight",
                        "ffn.down_proj.weight",
                        "ffn_norm.weight",
                    )
                ],
                g.number(0.2, 0.8, digits=7),
            ),
        ),
    ],
    mutants=MISTAKES,
)
