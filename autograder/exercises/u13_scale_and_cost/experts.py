"""Experts: parameters that work, and those that a batch fetches."""

from autograder.judge.spec import Case, Exercise, Mutant, Source, call, several
from autograder.reference import serving


def expert_parameters(shared, expert, n_experts, n_active):
    """(all, those that a token uses)."""
    return tuple(serving.expert_parameters(shared, expert, n_experts, n_active))


def experts_read(n_experts, n_active, users):
    """Expected number of different experts."""
    return serving.experts_read(n_experts, n_active, users)


def parameters_by_sum(shared, expert, n_experts, n_active):
    """One expert after the other."""
    return sum([expert] * n_experts, shared), sum([expert] * n_active, shared)


def read_by_misses(n_experts, n_active, users):
    """All but the missed, in whole numbers as long as possible."""
    return n_experts - (n_experts - n_active) ** users / n_experts ** (users - 1)


EP, ER = expert_parameters, experts_read


def _parameters(count):
    return lambda shared, expert, n_experts, n_active: count(shared, expert, n_experts, n_active), ER


def _read(count):
    return EP, lambda n_experts, n_active, users: count(n_experts, n_active, users)


def _mixture(g: Source) -> tuple[int, int]:
    n = 2 ** g.integer(3, 8)
    return n, g.integer(2, n // 2)


EXERCISE = Exercise(
    id="serve.experts",
    title="Experts that sleep",
    points=2,
    difficulty=3,
    minutes=10,
    extension=True,
    signature="expert_parameters(shared, expert, n_experts, n_active)",
    targets=("expert_parameters", "experts_read"),
    reference=(EP, ER),
    alternatives=[(parameters_by_sum, read_by_misses)],
    cases=[
        Case("by hand", "10 shared, four experts of 5, two of them active: 30 and 20", lambda g: call(10, 5, 4, 2)),
        Case(
            "parameters",
            "three random mixtures",
            lambda g: several(3, lambda p: p.call(g.integer(10**8, 10**9), g.integer(10**8, 10**9), *_mixture(g))),
        ),
        Case(
            "one user",
            "a single token fetches the experts that it uses, in two random mixtures",
            lambda g: several(2, lambda p: p.call(*_mixture(g), 1, fn="experts_read")),
            weight=0.5,
        ),
        Case(
            "two users",
            "two of four each: the second finds one that is new, on average",
            lambda g: call(4, 2, 2, fn="experts_read"),
            weight=0.5,
        ),
        Case(
            "batches",
            "four random mixtures and numbers of users",
            lambda g: several(4, lambda p: p.call(*_mixture(g), g.integer(2, 12), fn="experts_read")),
            weight=2,
        ),
        Case("nobody", "without users nothing is fetched", lambda g: call(8, 2, 0, fn="experts_read"), weight=0),
    ],
    mutants=[
        Mutant("no_shared", _parameters(lambda s, e, n, k: (n * e, k * e)), "The shared parameters are missing."),
        Mutant(
            "shared_in_each",
            _parameters(lambda s, e, n, k: (n * (s + e), k * (s + e))),
            "The shared parameters are counted for every expert. They exist once.",
        ),
        Mutant(
            "shared_once_used",
            _parameters(lambda s, e, n, k: (s + n * e, k * e)),
            "Among what a token uses the shared parameters are missing: attention and embeddings work for all.",
        ),
        Mutant(
            "one_expert",
            _parameters(lambda s, e, n, k: (s + n * e, s + e)),
            "A token uses one expert here. It uses n_active.",
        ),
        Mutant(
            "all_active",
            _parameters(lambda s, e, n, k: (s + n * e, s + n * e)),
            "All experts work for each token here. Only n_active do.",
        ),
        Mutant(
            "added",
            _parameters(lambda s, e, n, k: (s + n * e, s + (n + k) * e)),
            "The active experts are counted beside all others. They are some of them.",
        ),
        Mutant(
            "exchanged",
            _parameters(lambda s, e, n, k: (s + k * e, s + n * e)),
            "The two results are exchanged: (all, active).",
        ),
        Mutant(
            "share",
            _parameters(lambda s, e, n, k: (s + n * e, (s + n * e) * k / n)),
            "The active part is a share of everything. The shared parameters work in full.",
        ),
        Mutant(
            "whole_experts",
            _read(lambda n, k, B: float(round(n * (1 - (1 - k / n) ** B)))),
            "The number is rounded to whole experts. It is an expectation: leave what stands behind the point.",
        ),
        Mutant(
            "per_user",
            _read(lambda n, k, B: B * k),
            "Every user fetches experts of their own here. Several tokens may choose the same one.",
        ),
        Mutant(
            "cut_off",
            _read(lambda n, k, B: min(n, B * k)),
            "Users avoid each other's experts here until all are taken. They choose for themselves and meet.",
        ),
        Mutant(
            "one_choice",
            _read(lambda n, k, B: n * (1 - (1 - 1 / n) ** B)),
            "Each user chooses one expert here. They choose n_active.",
        ),
        Mutant(
            "independent_choices",
            _read(lambda n, k, B: n * (1 - (1 - 1 / n) ** (B * k))),
            "A user may choose one expert twice here. Those of one token are different: they miss with 1 − k/E.",
        ),
        Mutant(
            "probability",
            _read(lambda n, k, B: 1 - (1 - k / n) ** B),
            "The chance of one expert comes back. Multiply by their number.",
        ),
        Mutant(
            "missed",
            _read(lambda n, k, B: n * (1 - k / n) ** B),
            "The experts that nobody chooses are counted. Subtract from all.",
        ),
        Mutant(
            "same_experts",
            _read(lambda n, k, B: k),
            "All users use the same experts here. Each chooses for themselves.",
        ),
        Mutant(
            "all_read",
            _read(lambda n, k, B: n),
            "All experts are fetched here, whoever asks. A small batch leaves some.",
        ),
        Mutant(
            "divided",
            _read(lambda n, k, B: n * (1 - (1 - k / n) / max(B, 1))),
            "The chance to be missed by all users is a power, not a quotient: (1 − k/E)^B.",
        ),
    ],
)
