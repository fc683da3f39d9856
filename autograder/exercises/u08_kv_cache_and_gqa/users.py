"""How many users fit beside the weights."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
from autograder.reference import gqa


def users_that_fit(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    """The reference without a reserve."""
    return gqa.users_that_fit(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user)


def users_by_subtraction(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    """The errors spelled out, then what is free over what a user takes."""
    if memory_bytes < 0 or weight_bytes < 0 or bytes_per_token < 1 or tokens_per_user < 1:
        raise ValueError("negative memory, or a user without a byte")
    free, user = max(0, memory_bytes - weight_bytes), bytes_per_token * tokens_per_user
    return free // user


def _smallest(g: Source) -> Program:
    """The edges of what is allowed, in one program: a guess is right in all of them by no luck."""
    return call(g.integer(20, 2000), 0, 2, 3).call(0, 0, 3, 4).call(5, 5, 1, 1).call(6, 5, 1, 1)


GB = 10**9


MISTAKES = changes(
    users_by_subtraction,
    """
weights_forgotten: free // user → memory_bytes // user ; raise →
    The weights take memory too. Subtract them first.
rounded_up: free // user → -(-free // user) ; raise →
    The number is rounded up. Part of a user does not fit: round down.
negative: max(0, memory_bytes - weight_bytes) → memory_bytes - weight_bytes ; raise →
    Where the weights alone do not fit, the result is negative. Nobody fits then: return 0.
fraction: free // user → free / user ; raise →
    The result is a fraction of a user. Use // to get a whole number.
tokens: free // user → free // bytes_per_token ; raise →
    This is the number of tokens that fit. Each user needs tokens_per_user of them.
nearest: free // user → round(free / user) ; raise →
    The number is rounded to the nearest. Part of a user does not fit, however large: round down.
weights_per_user: free // user → memory_bytes // (weight_bytes + user) ; raise →
    The weights are counted for every user. They lie in memory once: subtract them, then divide.
positive_checked: memory_bytes < 0 or weight_bytes < 0 → memory_bytes <= 0 or weight_bytes <= 0
    No memory or no weights raise an error here, but only negative ones are wrong. Compare those two with < 0, not
    <= 0.
users_checked: memory_bytes < 0 or weight_bytes < 0 or →
    The numbers are right where the sizes are possible. Raise a ValueError for negative memory or weights as well.
sizes_checked: or bytes_per_token < 1 or tokens_per_user < 1 →
    A user without any tokens makes this divide by zero. Raise a ValueError first: a user needs at least one byte
    and one token.
unchecked: raise →
    The numbers are right. Raise a ValueError for negative sizes, or users without tokens.
no_brackets: free // user → free // bytes_per_token * tokens_per_user ; raise →
    The product of bytes and tokens lacks its brackets, so the quotient is multiplied by the tokens. One user takes
    (bytes_per_token * tokens_per_user).
subtracted_after: free // user → max(0, memory_bytes - weight_bytes // user) ; raise →
    Only the weights are divided: brackets are missing. Subtract first, (memory_bytes - weight_bytes), then divide.
bytes_ignored: free // user → free // tokens_per_user if bytes_per_token else 0 ; raise →
    The free memory is divided by the tokens of a user alone. Each token takes bytes_per_token: multiply the two.
of_sum: bytes_per_token * tokens_per_user → bytes_per_token + tokens_per_user ; raise →
    Bytes per token and tokens per user are added. A user takes their product.
as_float: free // user → float(free // user)
    The numbers are right, but of type float, at least where nobody fits. Count users with ints: max(0, …) and //,
    without a float on the way.
at_least_one: free // user → max(1, free // user) ; raise →
    At least one user is counted, even where there is no room for one. Then the answer is 0.
too_large_refused: tokens_per_user < 1 → tokens_per_user < 1 or weight_bytes > memory_bytes
    Weights that do not fit into the memory raise an error. They are no illegal size: nobody fits, so return 0.
full_refused: tokens_per_user < 1 → tokens_per_user < 1 or weight_bytes >= memory_bytes
    Weights that leave no byte free raise an error. They are no illegal size: nobody fits, so return 0.
ones_refused: bytes_per_token < 1 or tokens_per_user < 1 → bytes_per_token <= 1 or tokens_per_user <= 1
    A user with 1 token or a token of 1 byte is refused. Both are allowed: raise only below 1.
product_checked: bytes_per_token < 1 or tokens_per_user < 1 → bytes_per_token * tokens_per_user < 1
    Two negative sizes have a positive product, so they pass the check. Compare bytes and tokens each by itself.
negatives_checked: bytes_per_token < 1 or tokens_per_user < 1 → bytes_per_token < 0 or tokens_per_user < 0
    Negative sizes are refused, but a user without any bytes or tokens makes this divide by zero. Raise a ValueError
    below 1 for these two.
tokens_unchecked: or tokens_per_user < 1 →
    tokens_per_user is not checked. Raise a ValueError where it is below 1, as for bytes_per_token.
bytes_unchecked: or bytes_per_token < 1 →
    bytes_per_token is not checked. Raise a ValueError where it is below 1, as for tokens_per_user.
memory_unchecked: memory_bytes < 0 or →
    A negative memory is not refused. Raise a ValueError for it, as for negative weights.
weights_unchecked: or weight_bytes < 0 →
    Negative weights are not refused. Raise a ValueError for them, as for a negative memory.
""",
)

EXERCISE = Exercise(
    id="cache.users",
    title="How many users fit",
    points=1,
    difficulty=2,
    minutes=8,
    reference=users_that_fit,
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
            "too large",
            "three times weights that do not fit leave room for nobody: 0",
            lambda g: several(
                3, lambda p: p.call(24 * GB, 26 * GB + g.integer(0, GB), g.integer(900, 9000), g.integer(5, 90))
            ),
        ),
        Case(
            "smallest",
            "no weights; no memory at all; users of 1 token of 1 byte with 0 bytes left over, and with 1",
            _smallest,
        ),
        Case("no bytes", "tokens of 0 bytes: ValueError", lambda g: call(24 * GB, 2 * GB, 0, 10), weight=0.5),
        Case("negative memory", "a memory of −1 bytes: ValueError", lambda g: call(-1, 0, 1000, 10), weight=0.25),
        Case(
            "twice negative",
            "−10 tokens of −1,000 bytes, whose product is positive: ValueError",
            lambda g: call(24 * GB, 2 * GB, -1000, -10),
            weight=0.25,
        ),
        Case("no tokens", "users of no tokens: ValueError", lambda g: call(24 * GB, 2 * GB, 1000, 0), weight=0.5),
        Case("negative", "weights of −1 bytes: ValueError", lambda g: call(24 * GB, -1, 1000, 10), weight=0.5),
    ],
    mutants=MISTAKES,
)
