"""Which weights DeepNorm starts smaller."""

from autograder.judge.spec import Case, Exercise, Mutant, call
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


def _gains(small, keep=lambda n: n.endswith("_proj.weight")):
    return lambda names, beta: {n: (beta if small(n) else 1.0) for n in names if keep(n)}


FFN = ("up_proj", "gate_proj", "down_proj")
has = lambda *words: lambda n: any(w in n for w in words)

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

EXERCISE = Exercise(
    id="placement.deepnorm_init",
    title="Which weights start smaller?",
    points=1,
    difficulty=2,
    minutes=8,
    extension=True,
    signature="deepnorm_gains(names, beta)",
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
    mutants=[
        Mutant(
            "all_small",
            _gains(lambda n: True),
            "All matrices get β. Queries and keys keep gain 1: they decide where attention looks, not how large its "
            "output is.",
        ),
        Mutant(
            "the_other_way",
            _gains(has("q_proj", "k_proj")),
            "The gains are the wrong way round. Queries and keys keep 1, everything that makes the output larger "
            "gets β.",
        ),
        Mutant(
            "full_names",
            lambda names, beta: {
                n: (1.0 if n in ("attention.q_proj.weight", "attention.k_proj.weight") else beta)
                for n in names
                if n.endswith("_proj.weight")
            },
            "Whole names are compared, and a model puts more in front of them. Look for q_proj and k_proj anywhere in "
            "the name.",
        ),
        Mutant(
            "letters_alone",
            _gains(lambda n: not has("q_", "k_")(n)),
            "A name that holds q_ or k_ anywhere counts as one of queries or keys, such as seq_ or block_. Look for "
            "the words q_proj and k_proj.",
        ),
        Mutant(
            "other_letters_alone",
            _gains(has("v_", "o_", "up_", "gate_", "down_")),
            "A name that holds v_ or o_ anywhere counts as one of values or outputs, such as conv_ or to_. Look for "
            "the words q_proj and k_proj.",
        ),
        Mutant(
            "ones_left_out",
            lambda names, beta: {
                n: beta for n in names if n.endswith("_proj.weight") and not has("q_proj", "k_proj")(n)
            },
            "Queries and keys are left out. They belong into the result, with gain 1.",
        ),
        Mutant(
            "gates_forgotten",
            _gains(has("v_proj", "o_proj", "up_proj", "down_proj")),
            "gate_proj keeps gain 1. All matrices but those of queries and keys get β, the gate's too.",
        ),
        Mutant(
            "gates_left_out",
            _gains(lambda n: not has("q_proj", "k_proj")(n), lambda n: n.endswith("_proj.weight") and "gate" not in n),
            "gate_proj is left out of the result. Every name that ends in _proj.weight is a matrix.",
        ),
        Mutant(
            "ffn_left_out",
            _gains(
                lambda n: not has("q_proj", "k_proj")(n), lambda n: n.endswith("_proj.weight") and "attention." in n
            ),
            "Only the matrices of attention are in the result. Those of the feed-forward layer belong to it as well.",
        ),
        Mutant(
            "short_names",
            lambda names, beta: {
                n.split(".")[-2]: (1.0 if has("q_proj", "k_proj")(n) else beta)
                for n in names
                if n.endswith("_proj.weight")
            },
            "The keys are parts of the names, such as q_proj. Use the whole name as it came in.",
        ),
        Mutant(
            "nothing_small",
            _gains(lambda n: False),
            'All gains are 1. In Python `"q_proj" or "k_proj" in name` is always true: ask for each word, '
            '`"q_proj" in name or "k_proj" in name`.',
        ),
        Mutant(
            "keys_too",
            _gains(lambda n: "q_proj" not in n),
            "k_proj gets β. Keys, like queries, only decide where attention looks: they keep gain 1.",
        ),
        Mutant(
            "ffn_only",
            _gains(has(*FFN)),
            "Only the feed-forward matrices get β. Values and the output projection of attention are scaled too.",
        ),
        Mutant(
            "values_forgotten",
            _gains(has("o_proj", *FFN)),
            "v_proj keeps gain 1. Values pass through to the output, so they are scaled by β like o_proj.",
        ),
        Mutant(
            "attention_only",
            _gains(has("v_proj", "o_proj")),
            "The feed-forward matrices keep gain 1. They write to the stream as well: β.",
        ),
        Mutant(
            "norms_too",
            _gains(lambda n: not has("q_proj", "k_proj")(n), lambda n: n.endswith(".weight")),
            "Weights of norms are in the result. They are vectors and start at 1; leave them out.",
        ),
        Mutant(
            "biases_too",
            _gains(lambda n: not has("q_proj", "k_proj")(n), lambda n: "_proj" in n),
            "Biases are in the result. Xavier's rule is for matrices; leave biases out.",
        ),
        Mutant(
            "everything",
            _gains(lambda n: not has("q_proj", "k_proj")(n), lambda n: True),
            "Norms and biases are in the result. Keep only the names that end in _proj.weight.",
        ),
        Mutant(
            "queries_too",
            _gains(lambda n: "k_proj" not in n),
            "q_proj gets β. Queries, like keys, only decide where attention looks: they keep gain 1.",
        ),
        Mutant(
            "outputs_forgotten",
            _gains(has("v_proj", *FFN)),
            "o_proj keeps gain 1. The output projection writes to the stream, so it gets β like v_proj.",
        ),
        Mutant(
            "values_too_few",
            _gains(has("v_proj")),
            "Only v_proj gets β. All matrices but those of queries and keys do: o_proj and the feed-forward layer's "
            "too.",
        ),
        Mutant(
            "down_only",
            _gains(has("v_proj", "o_proj", "down_proj")),
            "up_proj keeps gain 1. All matrices of the feed-forward layer get β.",
        ),
        Mutant(
            "small_left_out",
            lambda names, beta: {n: 1.0 for n in names if n.endswith("_proj.weight") and has("q_proj", "k_proj")(n)},
            "Only queries and keys are in the result. The other matrices belong to it as well, with gain β.",
        ),
        Mutant(
            "inverse",
            lambda names, beta: {
                n: (1.0 if has("q_proj", "k_proj")(n) else 1 / beta) for n in names if n.endswith("_proj.weight")
            },
            "The gain is 1/β. It is β itself: these weights start smaller.",
        ),
    ],
)
