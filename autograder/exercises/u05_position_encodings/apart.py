"""Words and positions apart: DeBERTa's three terms and TUPE's two; and ALiBi's fixed penalty."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference.positions import alibi, deberta, tupe

UNIT = "05-position-encodings"


# --- DeBERTa -------------------------------------------------------------------------------------------------------
def deberta_by_pairs(qc, kc, kr, qr):
    """One position vector per pair."""
    d = deberta.deberta_index(qc.shape[-2], kr.shape[-2] // 2)
    c2c = torch.einsum("bhid,bhjd->bhij", qc, kc)
    c2p = torch.einsum("bhid,hijd->bhij", qc, kr[:, d])
    p2c = torch.einsum("bhjd,hijd->bhij", kc, qr[:, d.T])
    return (c2c + c2p + p2c) * (3 * qc.shape[-1]) ** -0.5


def deberta_by_loop(qc, kc, kr, qr):
    """Pair by pair, two loops."""
    T, rows = qc.shape[-2], kr.shape[-2]
    delta = lambda i, j: min(max(i - j + rows // 2, 0), rows - 1)
    columns = [
        [
            (qc[:, :, i] * kc[:, :, j]).sum(-1)
            + (qc[:, :, i] * kr[:, delta(i, j)]).sum(-1)
            + (kc[:, :, j] * qr[:, delta(j, i)]).sum(-1)
            for j in range(T)
        ]
        for i in range(T)
    ]
    return torch.stack([torch.stack(c, -1) for c in columns], -2) / math.sqrt(3 * qc.shape[-1])


def _deberta(terms=(1, 1, 1), scale=3, index=lambda d: d, p2c=None, extra=0.0):
    """Disentangled scores with one part changed."""

    def wrong(qc, kc, kr, qr):
        d = index(deberta.deberta_index(qc.shape[-2], kr.shape[-2] // 2))
        key_side = torch.einsum("bhid,hijd->bhij", qc, kr[:, d])
        query_side = p2c(qc, kc, qr, d) if p2c else torch.einsum("bhjd,hijd->bhij", kc, qr[:, d.T])
        both = torch.einsum("hijd,hijd->hij", qr[:, d.T], kr[:, d])
        total = terms[0] * qc @ kc.mT + terms[1] * key_side + terms[2] * query_side + extra * both
        return total / math.sqrt(scale * qc.shape[-1])

    return wrong


def _deb(g, B, H, T, D, k):
    return g.randn(B, H, T, D), g.randn(B, H, T, D), g.randn(H, 2 * k, D), g.randn(H, 2 * k, D)


DISENTANGLED = Exercise(
    id="position.disentangled",
    unit=UNIT,
    title="DeBERTa's three terms",
    points=3,
    difficulty=4,
    minutes=20,
    extension=True,
    signature="deberta_scores(qc, kc, kr, qr)",
    reference=deberta.deberta_scores,
    alternatives=[deberta_by_pairs, deberta_by_loop],
    cases=[
        Case(
            "by hand",
            "D = 3, so the sum is divided by 3: contents all 0 but qc, whose position terms are 3·row",
            lambda g: call(
                torch.tensor([[[[3.0, 0.0, 0.0], [3.0, 0.0, 0.0]]]]),
                torch.zeros(1, 1, 2, 3),
                torch.tensor([[[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [5.0, 0.0, 0.0], [7.0, 0.0, 0.0]]]),
                torch.zeros(1, 4, 3),
            ),
        ),
        Case(
            "position to content",
            "the same with kc and qr: only the third term is left",
            lambda g: call(
                torch.zeros(1, 1, 2, 3),
                torch.tensor([[[[3.0, 0.0, 0.0], [3.0, 0.0, 0.0]]]]),
                torch.zeros(1, 4, 3),
                torch.tensor([[[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [5.0, 0.0, 0.0], [7.0, 0.0, 0.0]]]),
            ),
        ),
        Case(
            "random",
            "two sentences, three heads, five places, k = 3",
            lambda g: call(*_deb(g, 2, 3, 5, 4, 3)),
            weight=2,
        ),
        Case(
            "clipped",
            "seven places, k = 2: most distances share the outer rows",
            lambda g: call(*_deb(g, 1, 2, 7, 3, 2)),
        ),
    ],
    mutants=[
        Mutant(
            "scaled_by_d",
            _deberta(scale=1),
            "The sum is divided by √D. Three terms are added, so DeBERTa divides by √(3D).",
        ),
        Mutant(
            "words_scaled_apart",
            lambda qc, kc, kr, qr: (
                deberta.deberta_scores(qc, kc, kr, qr) + qc @ kc.mT * ((1 - 3**-0.5) / math.sqrt(qc.shape[-1]))
            ),
            "The word product is divided by √D and only the others by √(3D). Add all three terms first, then divide "
            "the sum by √(3D).",
        ),
        Mutant(
            "released_index",
            _deberta(p2c=lambda qc, kc, qr, d: torch.einsum("bhjd,hijd->bhij", kc, qr[:, d])),
            "The third term uses δ(i, j). The released code does that too, but this exercise follows the paper's "
            "δ(j, i): from the key's side.",
        ),
        Mutant(
            "query_twice",
            _deberta(p2c=lambda qc, kc, qr, d: torch.einsum("bhid,hijd->bhij", qc, qr[:, d.T])),
            "The third term takes the query's content. It is position to content: the key's content kc meets the "
            "position query qr.",
        ),
        Mutant(
            "key_table_twice",
            lambda qc, kc, kr, qr: deberta.deberta_scores(qc, kc, kr, kr),
            "The third term uses kr. It is position to content: the key's content kc meets qr.",
        ),
        Mutant(
            "third_term_by_query",
            _deberta(p2c=lambda qc, kc, qr, d: torch.einsum("bhid,hijd->bhij", kc, qr[:, d.T])),
            "In the third term kc carries the letter of the query. Its rows are keys: bhjd, not bhid.",
        ),
        Mutant(
            "no_third_term",
            _deberta(terms=(1, 1, 0)),
            "The third term is missing: the key's content against qr, position to content.",
        ),
        Mutant(
            "no_second_term",
            _deberta(terms=(1, 0, 1)),
            "The second term is missing: the query's content against kr, content to position.",
        ),
        Mutant(
            "position_to_position",
            _deberta(extra=1.0, scale=4),
            "A fourth term, position to position, is added and counted. DeBERTa leaves it out and divides by √(3D).",
        ),
        Mutant(
            "reversed",
            _deberta(index=lambda d: d.T),
            "δ is taken the other way round in both terms. δ(i, j) is i − j + k: query minus key.",
        ),
    ],
)


# --- ALiBi ---------------------------------------------------------------------------------------------------------
def slopes_by_recursion(n_heads):
    """The authors' way: a power of two, or the one below it and every other slope of the one above."""
    if n_heads < 1:
        raise ValueError("no heads")
    if n_heads & (n_heads - 1) == 0:
        return torch.tensor([2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)])
    power = 2 ** int(math.log2(n_heads))
    return torch.cat([slopes_by_recursion(power), slopes_by_recursion(2 * power)[0::2][: n_heads - power]])


def bias_by_subtracting(slopes, T, S, offset=0):
    """Outer difference, then one product."""
    i, j = torch.arange(offset, offset + T), torch.arange(S)
    return torch.einsum("h,ts->hts", slopes, -(i[:, None] - j[None, :]).abs().to(slopes.dtype))


def slopes_by_series(n_heads):
    """Repeated multiplication."""
    if n_heads <= 0:
        raise ValueError(n_heads)
    P = 1
    while 2 * P <= n_heads:
        P *= 2
    first = [(2 ** (-8 / P)) ** (h + 1) for h in range(P)]
    rest = [(2 ** (-4 / P)) ** (2 * h + 1) for h in range(n_heads - P)]
    return torch.tensor(first + rest)


def bias_by_loop_of_heads(slopes, T, S, offset=0):
    """Head by head."""
    distance = torch.tensor([[float(abs(i + offset - j)) for j in range(S)] for i in range(T)])
    return torch.stack([-m * distance for m in slopes])


def _slopes(exponents):
    """Slopes 2^-e for the exponents of a wrong rule."""
    return lambda n_heads: torch.tensor([2.0**-e for e in exponents(n_heads)])


def _power(n):
    return 2 ** (n.bit_length() - 1)


def from_zero(n):
    return (
        [8 * h / n for h in range(n)]
        if n == _power(n)
        else [8 * h / _power(n) for h in range(_power(n))]
        + [4 * h / _power(n) for h in range(1, 2 * (n - _power(n)), 2)]
    )


def _between(steps):
    """The first slopes right, the extra ones at steps(count) of the longer series."""

    def exponents(n):
        P = _power(n)
        return [8 * h / P for h in range(1, P + 1)] + [4 * h / P for h in steps(n - P)]

    return exponents


def _distance(change, offset_used=True):
    def wrong(slopes, T, S, offset=0):
        r = torch.arange(S) - torch.arange(T)[:, None] - (offset if offset_used else 0)
        return slopes[:, None, None] * change(r).to(slopes.dtype)

    return wrong


B = alibi.alibi_bias

ALIBI = Exercise(
    id="position.alibi",
    unit=UNIT,
    title="ALiBi: a slope per head",
    points=2,
    difficulty=3,
    minutes=15,
    signature="alibi_slopes(n_heads)",
    targets=("alibi_slopes", "alibi_bias"),
    reference=(alibi.alibi_slopes, alibi.alibi_bias),
    alternatives=[(slopes_by_recursion, bias_by_subtracting), (slopes_by_series, bias_by_loop_of_heads)],
    cases=[
        Case("eight heads", "1/2, 1/4, … 1/256", lambda g: call(8)),
        Case(
            "twelve heads",
            "the eight of above, then every other slope of sixteen: 0.7071, 0.3536, 0.1768, 0.0884",
            lambda g: call(12),
            weight=2,
        ),
        Case("four heads", "1/4, 1/16, 1/64, 1/256", lambda g: call(4)),
        Case("six heads", "four slopes of four heads, then two of eight: 1/2 and 1/8", lambda g: call(6)),
        Case("no heads", "0 heads raise ValueError", lambda g: call(0), weight=0.5),
        Case(
            "bias by hand",
            "slope 1/2, three places: 0 here, −1/2 one place away, −1 two places away",
            lambda g: call(torch.tensor([0.5]), 3, 3, fn="alibi_bias"),
        ),
        Case(
            "more keys",
            "two heads, two queries that start at position 3, five keys",
            lambda g: call(g.uniform(2, low=0.1, high=0.9), 2, 5, offset=3, fn="alibi_bias"),
        ),
    ],
    mutants=[
        Mutant(
            "one_series",
            (_slopes(lambda n: [8 * (h + 1) / n for h in range(n)]), B),
            "The power-of-two rule is used for every number of heads. Otherwise take the slopes of the largest "
            "power of two below, then every other slope of twice that.",
        ),
        Mutant(
            "starts_at_one",
            (_slopes(from_zero), B),
            "The first slope is 1. The series starts with its own ratio: 2^(−8/H), then 2^(−16/H), and so on to 2^−8.",
        ),
        Mutant(
            "next_in_order",
            (_slopes(_between(lambda m: range(1, m + 1))), B),
            "The extra slopes are the first ones of the longer series. Every second of those exists already: take "
            "the 1st, the 3rd, the 5th and so on.",
        ),
        Mutant(
            "even_ones",
            (_slopes(_between(lambda m: range(2, 2 * m + 1, 2))), B),
            "The extra slopes are the 2nd, 4th and so on of the longer series, which exist already. Take the 1st, "
            "the 3rd, the 5th.",
        ),
        Mutant(
            "reward",
            (alibi.alibi_slopes, _distance(lambda r: r.abs())),
            "The bias grows with distance. It is a penalty: minus slope times distance.",
        ),
        Mutant(
            "signed",
            (alibi.alibi_slopes, _distance(lambda r: r)),
            "Keys in the future get a bonus here. The distance is an absolute value: |i − j|.",
        ),
        Mutant(
            "offset_ignored",
            (alibi.alibi_slopes, _distance(lambda r: -r.abs(), offset_used=False)),
            "The queries are taken to start at position 0. Query i stands at position i + offset.",
        ),
        Mutant(
            "unchecked",
            (lambda n_heads: alibi.alibi_slopes(n_heads) if n_heads else torch.zeros(0), B),
            "The numbers are right. Raise a ValueError when there are no heads.",
        ),
    ],
)


# --- TUPE ----------------------------------------------------------------------------------------------------------
def tupe_scores(q, k, pos_q, pos_k):
    """Both products, each divided by √(2D)."""
    return tupe.tupe_scores(q, k, tupe.tupe_position_scores(pos_q, pos_k))


def tupe_side_by_side(q, k, pos_q, pos_k):
    """Words and positions side by side: one product of vectors of size 2D."""
    long = lambda x, p: torch.cat([x, p.expand_as(x)], dim=-1)
    a, b = long(q, pos_q), long(k, pos_k)
    return a @ b.mT / math.sqrt(a.shape[-1])


def _tupe(content, position, tied=False):
    def wrong(q, k, pos_q, pos_k):
        D = q.shape[-1]
        if tied:
            return (q + pos_q) @ (k + pos_k).mT / math.sqrt(content * D)
        return q @ k.mT / math.sqrt(content * D) + pos_q @ pos_k.mT / math.sqrt(position * D)

    return wrong


UNTIED = Exercise(
    id="position.untied",
    unit=UNIT,
    title="TUPE: untied positions",
    points=1,
    difficulty=1,
    minutes=6,
    extension=True,
    signature="tupe_scores(q, k, pos_q, pos_k)",
    reference=tupe_scores,
    alternatives=[
        tupe_side_by_side,
        lambda q, k, pos_q, pos_k: (q @ k.mT + pos_q @ pos_k.mT) / (2 * q.shape[-1]) ** 0.5,
    ],
    cases=[
        Case(
            "by hand",
            "D = 2, so both products are divided by 2: words 6, positions 4, together (6 + 4)/2 = 5",
            lambda g: call(
                torch.tensor([[[[3.0, 0.0]]]]),
                torch.tensor([[[[2.0, 7.0]]]]),
                torch.tensor([[[0.0, 4.0]]]),
                torch.tensor([[[9.0, 1.0]]]),
            ),
        ),
        Case(
            "random",
            "two sentences, three heads, five places",
            lambda g: call(g.randn(2, 3, 5, 4), g.randn(2, 3, 5, 4), g.randn(3, 5, 4), g.randn(3, 5, 4)),
            weight=2,
        ),
    ],
    mutants=[
        Mutant(
            "tied",
            _tupe(2, 2, tied=True),
            "Words and positions are added before the product, which brings in word–position terms. Untied means "
            "two products, added as scores.",
        ),
        Mutant(
            "scaled_by_d",
            _tupe(1, 1),
            "Both products are divided by √D. Two terms of equal size are added, so TUPE divides by √(2D).",
        ),
        Mutant("words_unscaled_share", _tupe(1, 2), "Only the positions are divided by √(2D). Both products are."),
        Mutant(
            "no_positions",
            lambda q, k, pos_q, pos_k: q @ k.mT / math.sqrt(2 * q.shape[-1]),
            "The position product is missing.",
        ),
    ],
)

EXERCISES = [DISENTANGLED, ALIBI, UNTIED]
