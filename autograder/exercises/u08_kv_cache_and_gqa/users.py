"""How many users fit beside the weights."""

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import gqa


def users_by_subtraction(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    """divmod, with the errors spelled out."""
    if memory_bytes < 0 or weight_bytes < 0:
        raise ValueError("negative memory")
    if bytes_per_token <= 0 or tokens_per_user <= 0:
        raise ValueError("a user needs at least one byte")
    free = memory_bytes - weight_bytes
    return divmod(free, bytes_per_token * tokens_per_user)[0] if free > 0 else 0


def _users(count):
    def wrong(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
        return count(memory_bytes, weight_bytes, bytes_per_token * tokens_per_user, bytes_per_token)

    return wrong


def users_checked(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    if min(bytes_per_token, tokens_per_user) < 1:
        raise ValueError("a user needs at least one byte")
    return max(0, memory_bytes - weight_bytes) // (bytes_per_token * tokens_per_user)


def sizes_checked(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    if min(memory_bytes, weight_bytes) < 0:
        raise ValueError("negative size")
    return max(0, memory_bytes - weight_bytes) // (bytes_per_token * tokens_per_user)


GB = 10**9

EXERCISE = Exercise(
    id="cache.users",
    unit="08-kv-cache-and-gqa",
    title="How many users fit",
    points=1,
    difficulty=2,
    minutes=8,
    signature="users_that_fit(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user)",
    reference=gqa.users_that_fit,
    alternatives=[users_by_subtraction],
    cases=[
        Case(
            "by hand",
            "100 bytes, 30 of weights, users of 4 × 5 bytes: 70 / 20 makes three",
            lambda g: call(100, 30, 4, 5),
        ),
        Case(
            "80 GB",
            "13.5 GB of weights, 524,288 bytes per token, 4,096 tokens per user",
            lambda g: call(80 * GB, 13_500_000_000, 524_288, 4096),
        ),
        Case(
            "random",
            "four times random sizes that do not divide evenly",
            lambda g: several(
                4,
                lambda p: p.call(
                    24 * GB + g.integer(0, 1000), g.integer(2, 9) * GB + 1, 131_072, g.integer(1000, 9000)
                ),
            ),
        ),
        Case(
            "too large", "weights that do not fit leave room for nobody: 0", lambda g: call(24 * GB, 26 * GB, 1000, 10)
        ),
        Case("no tokens", "users of no tokens: ValueError", lambda g: call(24 * GB, 2 * GB, 1000, 0), weight=0.5),
        Case("negative", "weights of −1 bytes: ValueError", lambda g: call(24 * GB, -1, 1000, 10), weight=0.5),
    ],
    mutants=[
        Mutant(
            "weights_forgotten",
            _users(lambda m, w, user, token: m // user),
            "The weights take memory too. Subtract them first.",
        ),
        Mutant(
            "rounded_up",
            _users(lambda m, w, user, token: -(-max(0, m - w) // user)),
            "The number is rounded up. Part of a user does not fit: round down.",
        ),
        Mutant(
            "negative",
            _users(lambda m, w, user, token: (m - w) // user),
            "Where the weights alone do not fit, the result is negative. Nobody fits then: return 0.",
        ),
        Mutant(
            "fraction",
            _users(lambda m, w, user, token: max(0, m - w) / user),
            "The result is a fraction of a user. Use // to get a whole number.",
        ),
        Mutant(
            "tokens",
            _users(lambda m, w, user, token: max(0, m - w) // token),
            "This is the number of tokens that fit. Each user needs tokens_per_user of them.",
        ),
        Mutant(
            "users_checked",
            users_checked,
            "Right for what can be. Raise a ValueError for negative memory or weights as well.",
        ),
        Mutant(
            "sizes_checked",
            sizes_checked,
            "A user without any tokens makes this divide by zero. Raise a ValueError first: a user needs at least "
            "one byte and one token.",
        ),
        Mutant(
            "unchecked",
            _users(lambda m, w, user, token: max(0, m - w) // user),
            "The numbers are right. Raise a ValueError for negative sizes, or users without tokens.",
        ),
    ],
)
