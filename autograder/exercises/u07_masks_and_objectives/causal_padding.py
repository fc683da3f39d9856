"""A causal mask under padding on either side, and the position ids."""

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import masks as ref


def mask_by_loop(real, T=None):
    """Entry by entry."""
    S = real.shape[1]
    T = S if T is None else T
    return torch.tensor(
        [[[[r and s <= t + S - T for s, r in enumerate(row)] for t in range(T)]] for row in real.tolist()]
    )


def mask_by_places(real, T=None):
    """Padding is moved behind every query, then places are compared."""
    place = torch.arange(real.shape[1])
    queries = place if T is None else place[-T:]
    return (torch.where(real, place, len(place))[:, None] <= queries[:, None]).unsqueeze(1)


def ids_by_loop(real):
    """A counter per sentence."""
    rows = []
    for row in real.tolist():
        count, ids = 0, []
        for r in row:
            count += r
            ids.append(max(count - 1, 0))
        rows.append(ids)
    return torch.tensor(rows)


def ids_by_matrix(real):
    """Each place counts the real words up to itself by a triangular product."""
    S = real.shape[1]
    counts = real.long() @ torch.ones(S, S, dtype=torch.long).triu()
    return torch.relu(counts - 1)


def _combine(join=lambda pad, causal: pad & causal, causal=ref.causal_mask, shape=lambda m: m):
    def wrong(real, T=None):
        S = real.shape[1]
        T = S if T is None else T
        return shape(join(real[:, None, None, :], causal(T, S))).expand(-1, -1, T, S)

    return wrong


def queries_hidden(real, T=None):
    T = real.shape[1] if T is None else T
    return real[:, None, -T:, None] & ref.causal_mask(T, real.shape[1])


def no_head_axis(real, T=None):
    return ref.causal_padding_mask(real, T)[:, 0]


def first_queries(real, T=None):
    T = real.shape[1] if T is None else T
    return ref.causal_padding_mask(real)[:, :, :T]


def counts_from_first(real):
    first = real.long().argmax(-1, keepdim=True)
    return (torch.arange(real.shape[1]) - first).clamp(min=0)


MASK, IDS = ref.causal_padding_mask, ref.position_ids


def _lengths(g: Source, B: int, S: int) -> Tensor:
    """Between 2 and S − 2, so that every sentence has padding and more than one word."""
    return g.integers(2, S - 1, B)


def _full_and_empty(g: Source) -> Program:
    program = Program()
    for pad in (ref.left_padded, ref.right_padded):
        lengths = torch.cat([torch.tensor([0, 7]), _lengths(g, 4, 7)])[torch.randperm(6, generator=g.generator)]
        program.call(pad(lengths, 7)).call(pad(lengths, 7), fn="position_ids")
    return program


def keys_cut(real, T=None):
    T = real.shape[1] if T is None else T
    return real[:, None, None, -T:] & ref.causal_mask(T)


EXERCISE = Exercise(
    id="mask.causal_padding",
    title="Causal, with padding on either side",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="causal_padding_mask(real, T=None)",
    targets=("causal_padding_mask", "position_ids"),
    reference=(MASK, IDS),
    alternatives=[(mask_by_loop, ids_by_loop), (mask_by_places, ids_by_matrix)],
    cases=[
        Case(
            "right by hand",
            "two words and one padding on the right: nobody sees the last column",
            lambda g: call(torch.tensor([[True, True, False]])),
        ),
        Case(
            "left by hand",
            "padding first: its own row is empty, and the words after it see each other only",
            lambda g: call(torch.tensor([[False, True, True]])),
        ),
        Case(
            "places by hand",
            "one padding, then three words: places 0, 0, 1, 2, so the first word stands at 0",
            lambda g: call(torch.tensor([[False, True, True, True]]), fn="position_ids"),
        ),
        Case(
            "right", "eight sentences padded on the right to 9", lambda g: call(ref.right_padded(_lengths(g, 8, 9), 9))
        ),
        Case("left", "eight sentences padded on the left to 9", lambda g: call(ref.left_padded(_lengths(g, 8, 9), 9))),
        Case(
            "cached",
            "two newest words of eight sentences against nine keys, padded on the left",
            lambda g: call(ref.left_padded(_lengths(g, 8, 9), 9), 2),
        ),
        Case(
            "one new word",
            "the newest word of six sentences, padded on the left to 8, then all 8 with T = 8 given",
            lambda g: call(ref.left_padded(_lengths(g, 6, 8), 8), 1).call(
                ref.left_padded(_lengths(g, 6, 8), 8), T=8, fn="causal_padding_mask"
            ),
        ),
        Case(
            "full and empty",
            "a sentence without padding and one of nothing else among six, on either side: the mask and the places",
            _full_and_empty,
        ),
        Case(
            "places, left",
            "eight sentences padded on the left to 10",
            lambda g: call(ref.left_padded(_lengths(g, 8, 10), 10), fn="position_ids"),
        ),
        Case(
            "places, right",
            "padding after the last word repeats the last word's place",
            lambda g: call(ref.right_padded(_lengths(g, 8, 10), 10), fn="position_ids"),
        ),
    ],
    mutants=[
        Mutant(
            "padding_only",
            (_combine(lambda pad, causal: pad), IDS),
            "Only the padding is hidden: every word still sees the future. Both conditions must hold, joined by &.",
        ),
        Mutant(
            "causal_only",
            (_combine(lambda pad, causal: causal.expand(len(pad), 1, *causal.shape)), IDS),
            "Only the future is hidden: padding can be seen. Both conditions must hold, joined by &.",
        ),
        Mutant(
            "either",
            (_combine(lambda pad, causal: pad | causal), IDS),
            "A key is allowed when one of the two conditions holds. Both must: use & in place of |.",
        ),
        Mutant(
            "queries_hidden",
            (queries_hidden, IDS),
            "Rows of padding are emptied, and padded keys can still be seen. real belongs to the keys, which are "
            "columns: real[:, None, None, :].",
        ),
        Mutant(
            "queries_too",
            (lambda real, T=None: MASK(real, T) & queries_hidden(real, T), IDS),
            "Padding's own rows are emptied as well. real speaks about keys only: what padding sees, nobody reads.",
        ),
        Mutant(
            "no_head_axis",
            (no_head_axis, IDS),
            "The shape is (B, T, S). Scores are (B, H, T, S), so the sentences would line up with the heads: add "
            "an axis of size 1.",
        ),
        Mutant(
            "first_queries",
            (first_queries, IDS),
            "With T given, these are the first T queries. In decoding the queries are the newest: the last T rows.",
        ),
        Mutant(
            "ignores_t",
            (lambda real, T=None: MASK(real), IDS),
            "T is ignored: there is a row for every key. With T given, keep the last T rows.",
        ),
        Mutant(
            "upside_down",
            (lambda real, T=None: ~MASK(real, T), IDS),
            "The mask is upside down: True means may look.",
        ),
        Mutant(
            "as_numbers",
            (lambda real, T=None: MASK(real, T).long(), IDS),
            "The pattern is right, but these are numbers. & keeps booleans; a product of numbers needs .bool().",
        ),
        Mutant(
            "padding_looks_at_itself",
            (lambda real, T=None: MASK(real, T) | torch.eye(real.shape[1], dtype=torch.bool)[-(T or 999) :], IDS),
            "Padding sees itself here. A key must be real, also for its own query: such rows stay empty.",
        ),
        Mutant(
            "counts_from_first",
            (MASK, counts_from_first),
            "The mask is right, but places go on counting in the padding after the last word. It repeats the last "
            "word's place: count real words (cumsum).",
        ),
        Mutant(
            "float_places",
            (MASK, lambda real: IDS(real).float()),
            "The places are right, but they are floats, which cannot index a table. Count in int64: real.long().",
        ),
        Mutant(
            "plain_places",
            (MASK, lambda real: torch.arange(real.shape[1]).expand(real.shape)),
            "The mask is right, but padding is counted as words: the same sentence gets other places when it is "
            "padded on the left. Count real words only (cumsum).",
        ),
        Mutant(
            "places_from_one",
            (MASK, lambda real: real.long().cumsum(-1)),
            "The mask is right, but the first word stands at place 1. Places count from 0.",
        ),
        Mutant(
            "padding_at_zero",
            (MASK, lambda real: (real.long().cumsum(-1) - 1) * real),
            "The words' places are right. Padding after the last word repeats that word's place here, it does not "
            "go back to 0: cumsum gives this by itself.",
        ),
        Mutant(
            "negative_places",
            (MASK, lambda real: real.long().cumsum(-1) - 1),
            "The mask is right, but padding on the left gets place -1, which indexes a table from its end. Clamp at 0.",
        ),
        Mutant(
            "padding_taken_off",
            (MASK, lambda real: (torch.arange(real.shape[1]) - (~real).sum(-1, keepdim=True)).clamp(min=0)),
            "The number of padded places is taken off the column. That fits padding on the left only: count the real "
            "words up to each place (cumsum).",
        ),
        Mutant(
            "over_sentences",
            (MASK, lambda real: (real.long().cumsum(0) - 1).clamp(min=0)),
            "The count runs down the batch. Count the real words of each sentence: cumsum(-1).",
        ),
        Mutant(
            "padding_at_one",
            (MASK, lambda real: (real.long().cumsum(-1) - 1).masked_fill(~real, 1)),
            "Padding gets place 1. Here padding before the first word gets 0, and padding after the last repeats that "
            "word's place: clamp(min=0) is enough.",
        ),
        Mutant(
            "padding_at_minus_one",
            (MASK, lambda real: (real.long().cumsum(-1) - 1).masked_fill(~real, -1)),
            "Padding gets place -1, which indexes a table from its end. Padding before the first word gets 0, after "
            "the last it repeats that word's place.",
        ),
        Mutant(
            "words_before",
            (MASK, lambda real: real.long().cumsum(-1) - real.long()),
            "The words before each place are counted, so padding after the last word goes one further. It repeats the "
            "last word's place: cumsum - 1, at least 0.",
        ),
        Mutant(
            "one_row",
            (lambda real, T=None: real[:, None, None, :], IDS),
            "Only the padding is hidden, in one row for all queries. Join it with the causal mask by &, which gives T "
            "rows.",
        ),
        Mutant(
            "keys_cut",
            (keys_cut, IDS),
            "With T given the keys are cut off as well. All S keys stay: only the queries are the last T words.",
        ),
        Mutant(
            "head_axis_last",
            (lambda real, T=None: MASK(real, T).movedim(1, -1), IDS),
            "The axis of size 1 stands last. Scores are (B, H, T, S): it comes second, in the place of the heads.",
        ),
        Mutant(
            "head_axis_first",
            (lambda real, T=None: MASK(real, T).movedim(1, 0), IDS),
            "The axis of size 1 stands first. Scores are (B, H, T, S): it comes second, in the place of the heads.",
        ),
        Mutant(
            "padding_inverted",
            (_combine(lambda pad, causal: ~pad & causal), IDS),
            "Padding is allowed and words are hidden. real is True for words: use it as it is.",
        ),
        Mutant(
            "future_only",
            (_combine(lambda pad, causal: pad & ~causal), IDS),
            "Only the future is allowed. causal_mask is True where a query may look: use it as it is.",
        ),
    ],
)
