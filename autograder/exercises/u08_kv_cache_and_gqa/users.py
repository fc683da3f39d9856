"""How many users fit beside the weights."""

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference import gqa


def users_that_fit(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    """The reference without a reserve."""
    return gqa.users_that_fit(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user)


def users_by_subtraction(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    """divmod, with the errors spelled out."""
    if memory_bytes < 0 or weight_bytes < 0:
        raise ValueError("negative memory")
    if bytes_per_token <= 0 or tokens_per_user <= 0:
        raise ValueError("a user needs at least one byte")
    users, _ = divmod(memory_bytes - weight_bytes, bytes_per_token * tokens_per_user)
    return max(users, 0)


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


def positive_checked(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    if min(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user) <= 0:
        raise ValueError("sizes must be positive")
    return max(0, memory_bytes - weight_bytes) // (bytes_per_token * tokens_per_user)


def _checked(is_wrong):
    def wrong(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
        if is_wrong(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
            raise ValueError("sizes")
        return max(0, memory_bytes - weight_bytes) // (bytes_per_token * tokens_per_user)

    return wrong


def no_brackets(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    return max(0, memory_bytes - weight_bytes) // bytes_per_token * tokens_per_user


def of_sum(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    return max(0, memory_bytes - weight_bytes) // (bytes_per_token + tokens_per_user)


def _smallest(g: Source) -> Program:
    """The edges of what is allowed, in one program: a guess is right in all of them by no luck."""
    return call(g.integer(20, 2000), 0, 2, 3).call(0, 0, 3, 4).call(5, 5, 1, 1).call(6, 5, 1, 1)


GB = 10**9

EXERCISE = Exercise(
    id="cache.users",
    title="How many users fit",
    points=1,
    difficulty=2,
    minutes=8,
    signature="users_that_fit(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user)",
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
            "nearest",
            _users(lambda m, w, user, token: round(max(0, m - w) / user)),
            "The number is rounded to the nearest. Part of a user does not fit, however large: round down.",
        ),
        Mutant(
            "weights_per_user",
            _users(lambda m, w, user, token: m // (w + user)),
            "The weights are counted for every user. They lie in memory once: subtract them, then divide.",
        ),
        Mutant(
            "positive_checked",
            positive_checked,
            "No memory or no weights raise an error here, but only negative ones are wrong. Compare those two with "
            "< 0, not <= 0.",
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
        Mutant(
            "no_brackets",
            no_brackets,
            "The product of bytes and tokens lacks its brackets, so the quotient is multiplied by the tokens. One user "
            "takes (bytes_per_token * tokens_per_user).",
        ),
        Mutant(
            "subtracted_after",
            _users(lambda m, w, user, token: max(0, m - w // user)),
            "Only the weights are divided: brackets are missing. Subtract first, (memory_bytes - weight_bytes), then "
            "divide.",
        ),
        Mutant(
            "bytes_ignored",
            _users(lambda m, w, user, token: max(0, m - w) // (user // token) if token else 0),
            "The free memory is divided by the tokens of a user alone. Each token takes bytes_per_token: multiply "
            "the two.",
        ),
        Mutant(
            "of_sum",
            of_sum,
            "Bytes per token and tokens per user are added. A user takes their product.",
        ),
        Mutant(
            "as_float",
            lambda *sizes: float(users_that_fit(*sizes)),
            "The numbers are right, but of type float, at least where nobody fits. Count users with ints: max(0, …) "
            "and //, without a float on the way.",
        ),
        Mutant(
            "at_least_one",
            _users(lambda m, w, user, token: max(1, max(0, m - w) // user)),
            "At least one user is counted, even where there is no room for one. Then the answer is 0.",
        ),
        Mutant(
            "too_large_refused",
            _checked(lambda m, w, b, t: min(m, w) < 0 or min(b, t) < 1 or w > m),
            "Weights that do not fit into the memory raise an error. They are no illegal size: nobody fits, so "
            "return 0.",
        ),
        Mutant(
            "full_refused",
            _checked(lambda m, w, b, t: min(m, w) < 0 or min(b, t) < 1 or w >= m),
            "Weights that leave no byte free raise an error. They are no illegal size: nobody fits, so return 0.",
        ),
        Mutant(
            "ones_refused",
            _checked(lambda m, w, b, t: min(m, w) < 0 or min(b, t) <= 1),
            "A user with 1 token or a token of 1 byte is refused. Both are allowed: raise only below 1.",
        ),
        Mutant(
            "product_checked",
            _checked(lambda m, w, b, t: min(m, w) < 0 or b * t <= 0),
            "Two negative sizes have a positive product, so they pass the check. Compare bytes and tokens each by "
            "itself.",
        ),
        Mutant(
            "negatives_checked",
            _checked(lambda m, w, b, t: min(m, w, b, t) < 0),
            "Negative sizes are refused, but a user without any bytes or tokens makes this divide by zero. Raise a "
            "ValueError below 1 for these two.",
        ),
        Mutant(
            "tokens_unchecked",
            _checked(lambda m, w, b, t: min(m, w) < 0 or b < 1),
            "tokens_per_user is not checked. Raise a ValueError where it is below 1, as for bytes_per_token.",
        ),
        Mutant(
            "bytes_unchecked",
            _checked(lambda m, w, b, t: min(m, w) < 0 or t < 1),
            "bytes_per_token is not checked. Raise a ValueError where it is below 1, as for tokens_per_user.",
        ),
        Mutant(
            "memory_unchecked",
            _checked(lambda m, w, b, t: w < 0 or min(b, t) < 1),
            "A negative memory is not refused. Raise a ValueError for it, as for negative weights.",
        ),
        Mutant(
            "weights_unchecked",
            _checked(lambda m, w, b, t: m < 0 or min(b, t) < 1),
            "Negative weights are not refused. Raise a ValueError for them, as for a negative memory.",
        ),
    ],
)
