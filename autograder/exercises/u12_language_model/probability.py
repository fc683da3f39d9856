"""A language model that counts: contexts, their mixture, and bits per byte."""

import math
from collections import Counter, defaultdict

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference.language.counting import bits_per_byte, count_contexts, probability


def count_by_length(text, order):
    """Correct: one length of context after the other."""
    if order < 1:
        raise ValueError("order")
    found = defaultdict(Counter)
    for k in range(order):
        for i in range(k, len(text)):
            found[text[i - k : i]][text[i]] += 1
    return {context: dict(seen) for context, seen in found.items()}


def probability_from_behind(counts, context, char):
    """Correct: each context asks the one that is shorter by its first character."""
    shorter = probability_from_behind(counts, context[1:], char) if context else 1 / 256
    if context not in counts:
        return shorter
    seen = counts[context]
    total = sum(seen.values()) + len(seen)
    return seen.get(char, 0) / total + len(seen) / total * shorter


def bits_of_product(counts, text, order):
    """Correct: the logarithms are added as natural ones."""
    nats = 0.0
    for i in range(len(text)):
        nats -= math.log(probability(counts, text[:i][-(order - 1) :] if order > 1 else "", text[i]))
    return nats / math.log(2) / len(text)


LETTERS = "abA "  # a capital and a space are characters like others


def _text(g: Source, size: int, letters: str = LETTERS) -> str:
    return "".join(g.choice(letters) for _ in range(size))


def _page(g: Source, size: int) -> str:
    """A capital, a line end inside, and spaces around."""
    half = size // 2 - 2
    return f" {_text(g, half)}A\n{_text(g, half)} "


def _counts(g: Source, order: int, size: int = 30) -> dict[str, dict[str, int]]:
    return count_contexts(_text(g, size), order)


def _asked(g: Source, order: int) -> Program:
    counts = _counts(g, order)
    program = Program()
    for _ in range(3):
        program.call(counts, _text(g, order - 1), g.choice(LETTERS), fn="probability")
    return program


def _unknown(g: Source) -> Program:
    counts = _counts(g, 3, g.integer(20, 40))
    program = Program().call(counts, "z" + g.choice(LETTERS), g.choice(LETTERS), fn="probability")
    program.call(counts, g.choice(LETTERS) + "z", g.choice(LETTERS), fn="probability")
    return program.call(counts, _text(g, 2), "z", fn="probability").call({}, "ab", "c", fn="probability")


def _shorter(g: Source) -> Program:
    """Orders 2 and 1 under counts of order 4: contexts that are known, and must not be used."""
    counts = _counts(g, 4, 40)
    program = Program()
    for order in (2, 1):
        program.call(counts, _text(g, 12), order, fn="bits_per_byte")
    return program


def _prob(mistake: Mutant) -> Mutant:
    """A mistake in ``probability`` alone: changed in one text with it, ``bits_per_byte`` would call the changed one."""
    assert not isinstance(mistake.fn, tuple)
    return Mutant(mistake.name, (count_contexts, mistake.fn, bits_per_byte), mistake.message, mistake.change)


MISTAKES = [
    *changes(
        (count_contexts, probability, bits_per_byte),
        r"""
one_too_long: order - 1) + 1 → order) + 1
    The contexts go up to order characters. An order of 3 looks at groups of 3, so the context has 2: order − 1.
one_too_short: range(min(i, order - 1) + 1) → range(min(i + 1, max(1, order - 1)))
    The longest contexts are missing. range(order) ends at order − 1, and contexts of that length count too.
no_empty: range(min(i, order - 1) + 1) → range(1, min(i, order - 1) + 1)
    The empty context is missing. It counts how often each character comes at all: start at length 0.
longest_only: range(min(i, order - 1) + 1) → range(order - 1, min(i, order - 1) + 1)
    Only contexts of full length are counted. The mixture needs all lengths from 0 to order − 1.
full_windows: range(min(i, order - 1) + 1) → range(order if i >= order - 1 else 0)
    The first characters of the text are left out. They have short contexts: count those that fit.
with_itself: text[i - k : i] → text[i - k : i + 1]
    The context includes the character that it should foretell. It ends before it: text[i - k:i].
last_left_out: enumerate(text): → enumerate(text[:-1]):
    The last character of the text is not counted. Let the loop run over all of them.
seen_once: seen.get(char, 0) + 1 → 1
    Each character is counted once at most. Add 1 every time it comes behind the context.
starts_at_zero: seen.get(char, 0) + 1 → seen.get(char, -1) + 1
    The first time is counted as 0. A character that came once has the count 1.
wraps: range(min(i, order - 1) + 1) → range(order)
    For the first characters the slice starts below 0, which Python reads from the end of the text. Skip contexts
    longer than what stands before.
from_start: text[i - k : i] → text[:k]
    The contexts are taken from the start of the text. They end right before the character: text[i - k:i].
lower_case: counts: Counts = {} → text, counts = text.lower(), {}
    Capitals are counted as small letters. A and a are two characters: take the text as it is.
line_ends_replaced: counts: Counts = {} → text, counts = text.replace("\n", " "), {}
    Line ends are counted as spaces. A line end is a character of its own: take the text as it is.
stripped: counts: Counts = {} → text, counts = text.strip(), {}
    Spaces at the ends of the text are not counted. They are characters like others: take the text as it is.
unchecked: raise ValueError(f"the order is at least 1, got {order}") → pass
    The counts are right. Raise a ValueError for an order below 1.
""",
    ),
    *map(
        _prob,
        changes(
            probability,
            """
starts_at_nothing: 1 / 256 → 0.0
    The mixture starts from 0, so a character that was never seen is impossible, and its bits are infinite. Start
    from 1/256.
starts_at_one: 1 / 256 → 1.0
    The mixture starts from 1. Before anything is counted each of 256 bytes has 1/256.
starts_among_seen: 1 / 256 → 1 / max(1, len(counts.get("", {})))
    The mixture starts from one over the number of characters seen. Any of the 256 bytes may come: start from 1/256.
no_empty_end: range(len(context) + 1) → range(1, len(context) + 1)
    The empty context is skipped. Start with it: how often a character comes at all is the first thing that is mixed
    in.
minus_zero: context[len(context) - k :] → context[-k:]
    For k = 0, context[-0:] is the whole context, not the empty one. Write context[len(context) - k:].
front: context[len(context) - k :] → context[:k]
    The first characters of the context are used. Those next to the new character tell most: take its ends.
long_first: context[len(context) - k :] → context[k:]
    Long contexts are mixed in first, so the empty one weighs most. Begin with the empty context and end with the
    longest.
longest_not_asked: range(len(context) + 1) → range(max(1, len(context)))
    The longest context is never asked. The lengths go from 0 to len(context), which range reaches with + 1.
empty_only: range(len(context) + 1) → range(1)
    Only the empty context is asked, so the text before makes no difference. Go on with longer ends of it.
longest_known: u * p → u / 256
    Only the longest known context is mixed with 1/256. Each context mixes with the probability of the one shorter
    by a character.
counts_alone: (seen.get(char, 0) + u * p) / (n + u) → seen.get(char, 0) / n
    Counts alone decide: a character that did not come behind this context gets 0. Give the shorter context its
    share: + u·p.
add_one: u * p) / (n + u) → p) / (n + 1)
    The shorter context gets the share of one count. In Witten and Bell's way it gets u: as many as there are
    different characters.
not_divided: u * p) / (n + u) → u * p) / n
    The probabilities add up to more than 1: divide by n + u, since u shares were added.
shares_of_n: u * p) / (n + u) → n * p) / (2 * n)
    The shorter context gets n shares, as many as characters were counted. It gets u, the number of different ones.
product: u * p) / (n + u) → u) / (n + u) * p
    The contexts are multiplied. They are mixed: (count + u·p) / (n + u).
known_only: seen is None → seen is None or char not in seen
    The loop ends where the character was not seen. Not coming tells something too: its count is 0 there, and the
    mixture goes on.
nothing_for_unknown: break → return 0.0
    A context that was never seen gives 0. It knows nothing, so the probability of the shorter one stands.
anything_for_unknown: break → return 1 / 256
    A context that was never seen gives 1/256. Keep what the shorter contexts said.
""",
        ),
    ),
    *changes(
        (count_contexts, probability, bits_per_byte),
        """
nats: math.log2 → math.log
    This is in nats. A bit is a logarithm to base 2: math.log2.
sign: -math.log2 → math.log2
    The bits are negative. A probability is below 1, so its logarithm is: take the minus of it.
sum: sum(bits) / len(bits) → sum(bits)
    This is the sum over the text. Divide by its length: bits per byte.
mean_of_probabilities: [-math.log2(probability → [(probability
; sum(bits) / len(bits) → -math.log2(sum(bits) / len(bits))
    The probabilities are averaged, then the logarithm is taken. Average the bits: a surprise counts by its
    logarithm.
context_too_long: order + 1) → order)
    The context has order characters. It has order − 1, the next one makes it a group of order.
context_too_short: order + 1) → max(0, order - 2))
    The context is one character too short. It has order − 1.
no_context: text[max(0, i - order + 1) : i] → ""
    Every character is asked for without a context. Hand over the order − 1 characters before it.
whole_context: text[max(0, i - order + 1) : i] → text[:i]
    The whole text before is handed over, however small the order. Take the last order − 1 characters.
first_skipped: enumerate(text)] → [*enumerate(text)][order - 1 :]]
    The first characters are left out. They count too, with the shorter context that they have.
""",
    ),
]

EXERCISE = Exercise(
    id="ngram.probability",
    title="A model that counts",
    points=3,
    difficulty=3,
    minutes=12,
    reference=(count_contexts, probability, bits_per_byte),
    alternatives=[(count_by_length, probability_from_behind, bits_of_product)],
    cases=[
        Case(
            "counts by hand",
            "abracadabra, order 2: a is followed by b twice, by c and d once",
            lambda g: call("abracadabra", 2),
        ),
        Case("letters alone", "order 1 has the empty context only", lambda g: call(_text(g, 20), 1)),
        Case(
            "counts",
            "30 characters, order 3: contexts of 0, 1 and 2; capitals, spaces and a line end count as they are",
            lambda g: call(_page(g, 30), 3),
        ),
        Case(
            "short",
            "two letters and order 5: no context is longer than what stands before",
            lambda g: call(_text(g, 2, "abcdefghijklmnop"), 5),
            weight=0.5,
        ),
        Case("order", "an order of 0: ValueError", lambda g: call("abc", 0), weight=0.25),
        Case(
            "by hand",
            "abracadabra, order 2: a behind r has (2 + 1 · 0.3137) / 3",
            lambda g: call(count_contexts("abracadabra", 2), "r", "a", fn="probability"),
        ),
        Case("mixed", "three contexts of two letters, three characters", lambda g: _asked(g, 3), weight=2),
        Case("longer", "contexts of three letters, counted to order 4", lambda g: _asked(g, 4)),
        Case("unknown", "contexts with a letter never seen, an unseen letter, and no counts at all", _unknown),
        Case(
            "bits",
            "bits per byte of 12 characters under counts of 30, order 3",
            lambda g: call(_counts(g, 3), _page(g, 12), 3, fn="bits_per_byte"),
        ),
        Case("shorter", "bits of orders 2 and 1 under counts of order 4: longer contexts are not used", _shorter),
    ],
    mutants=MISTAKES,
    equivalent="""
counts are the same, in whatever order positions and lengths are visited
    d650022368 solution, reversed: range(min(i, order - 1) + 1) reversed
    6fba451a4c alternative (count_by_length, probability_from_behind, bits_of_product), reversed: range(order) reversed
    951a207cac alternative (count_by_length, probability_from_behind, bits_of_product), reversed: range(k, len(text)) …
a Counter is a dict
    fadd001c5e alternative (count_by_length, probability_from_behind, bits_of_product), call: dict(seen) → its argument
a sum in another order
    d6233228df alternative (count_by_length, probability_from_behind, bits_of_product), reversed: range(len(text)) rev…
""",
)
