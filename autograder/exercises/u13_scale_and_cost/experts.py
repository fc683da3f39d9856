"""Experts: parameters that work, and those that a batch fetches."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call, several
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


def _mixture(g: Source) -> tuple[int, int]:
    n = 2 ** g.integer(3, 8)
    return n, g.integer(2, n // 2)


MISTAKES = changes(
    (serving.expert_parameters, serving.experts_read),
    """
no_shared: shared + n_experts * expert, shared + n_active * expert → n_experts * expert, n_active * expert
    The shared parameters are missing.
shared_in_each: shared + n_experts * expert → n_experts * (shared + expert)
; shared + n_active * expert → n_active * (shared + expert)
    The shared parameters are counted for every expert. They exist once.
shared_once_used: shared + n_active * expert → n_active * expert
    Among what a token uses the shared parameters are missing: attention and embeddings work for all.
one_expert: shared + n_active * expert → shared + expert
    A token uses one expert here. It uses n_active.
all_active: shared + n_active * expert → shared + n_experts * expert
    All experts work for each token here. Only n_active do.
added: shared + n_active * expert → shared + (n_experts + n_active) * expert
    The active experts are counted beside all others. They are some of them.
exchanged: n_experts * expert, shared + n_active * expert → n_active * expert, shared + n_experts * expert
    The two results are exchanged: (all, active).
share: shared + n_active * expert → (shared + n_experts * expert) * n_active / n_experts
    The active part is a share of everything. The shared parameters work in full.
whole_experts: return n_experts → return float(round(n_experts ; ** users) → ** users)))
    The number is rounded to whole experts. It is an expectation: leave what stands behind the point.
per_user: n_experts * (1 - (1 - n_active / n_experts) ** users) → users * n_active
    Every user fetches experts of their own here. Several tokens may choose the same one.
cut_off: n_experts * (1 - (1 - n_active / n_experts) ** users) → min(n_experts, users * n_active)
    Users avoid each other's experts here until all are taken. They choose for themselves and meet.
one_choice: n_active / n_experts → 1 / n_experts
    Each user chooses one expert here. They choose n_active.
independent_choices: (1 - n_active / n_experts) ** users → (1 - 1 / n_experts) ** (users * n_active)
    A user may choose one expert twice here. Those of one token are different: they miss with 1 − k/E.
probability: n_experts * (1 - (1 - n_active / n_experts) ** users) → 1 - (1 - n_active / n_experts) ** users
    The chance of one expert comes back. Multiply by their number.
missed: n_experts * (1 - (1 - n_active / n_experts) ** users) → n_experts * (1 - n_active / n_experts) ** users
    The experts that nobody chooses are counted. Subtract from all.
same_experts: n_experts * (1 - (1 - n_active / n_experts) ** users) → n_active
    All users use the same experts here. Each chooses for themselves.
all_read: n_experts * (1 - (1 - n_active / n_experts) ** users) → n_experts
    All experts are fetched here, whoever asks. A small batch leaves some.
divided: (1 - n_active / n_experts) ** users → (1 - n_active / n_experts) / max(users, 1)
    The chance to be missed by all users is a power, not a quotient: (1 − k/E)^B.
""",
)

EXERCISE = Exercise(
    id="serve.experts",
    title="Experts that sleep",
    points=2,
    difficulty=3,
    minutes=10,
    extension=True,
    reference=(expert_parameters, experts_read),
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
    mutants=MISTAKES,
)
