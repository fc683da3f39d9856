"""BERT's selection of tokens, and what becomes of them."""

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import objectives as ref

IGNORE = ref.IGNORE


def select_by_fill(u, special, rate=0.15):
    """Special tokens get a draw that no rate reaches."""
    return u.masked_fill(special, torch.inf) < rate


def select_by_list(u, special, rate=0.15):
    """Entry by entry."""
    chosen = torch.zeros_like(special)
    for place in (~special).nonzero():
        chosen[tuple(place)] = u[tuple(place)].item() < rate
    return chosen


def apply_by_fill(ids, selected, u, random_ids, mask_id):
    """Copies, filled step by step."""
    inputs, labels = ids.clone(), torch.full_like(ids, IGNORE)
    labels[selected] = ids[selected]
    inputs[selected & (u < 0.9)] = random_ids[selected & (u < 0.9)]
    inputs[selected & (u < 0.8)] = mask_id
    return inputs, labels


def apply_by_loop(ids, selected, u, random_ids, mask_id):
    """Token by token."""
    inputs, labels = ids.clone(), ids.clone()
    for place in map(tuple, torch.cartesian_prod(*map(torch.arange, ids.shape))):
        if not selected[place]:
            labels[place] = IGNORE
        elif u[place] < 0.8:
            inputs[place] = mask_id
        elif u[place] < 0.9:
            inputs[place] = random_ids[place]
    return inputs, labels


def _draws(g: Source, B: int, T: int) -> tuple[Tensor, Tensor]:
    """Uniform draws in which every row holds each of the three actions among selected and other tokens."""
    zones = torch.tensor([[0.05, 0.79], [0.801, 0.899], [0.901, 0.99]])
    zone = torch.arange(T) % 3
    selected = (torch.arange(T) // 3) % 2 == 0
    rows = []
    for _ in range(B):
        low, high = zones[zone].unbind(-1)
        order = torch.randperm(T, generator=g.generator)
        u = low + (high - low) * g.uniform(T)
        rows.append(torch.stack([u[order], selected[order].float()]))
    u, chosen = torch.stack(rows, 1)
    return u, chosen > 0


def _mlm(g: Source, B: int, T: int) -> Program:
    u, selected = _draws(g, B, T)
    return call(g.integers(10, 50, B, T), selected, u, g.integers(60, 90, B, T), g.integer(3, 10), fn="mask_tokens")


# The float64 numbers on both sides of 0.8 and 0.9, and these two themselves.
BORDERS = [0.8 - 1e-9, 0.8, 0.8 + 1e-9, 0.9 - 1e-9, 0.9, 0.9 + 1e-9]


def _borders(g: Source) -> Program:
    u = torch.tensor([BORDERS, BORDERS], dtype=torch.float64)[:, torch.randperm(6, generator=g.generator)]
    selected = g.mask(1, 6, keep=0.5).expand(2, 6) ^ torch.tensor([[False], [True]])
    return call(g.integers(10, 50, 2, 6), selected, u, g.integers(60, 90, 2, 6), g.integer(3, 10), fn="mask_tokens")


def _at_the_rate(g: Source) -> Program:
    """Draws of exactly the rate, and next to it; rates that every format holds exactly."""
    program = Program()
    for rate in (0.125, 0.25, 0.5):
        u = torch.tensor([rate, rate - 1e-9, rate + 1e-9, rate - 1e-9] * 4, dtype=torch.float64)
        u = u[torch.randperm(16, generator=g.generator)].reshape(2, 8)
        program.call(u, g.mask(2, 8, keep=0.3), rate)
    return program


def _all_or_none(g: Source) -> Program:
    """Rates 0 and 1, with a draw of 0.0 in each row."""
    program = Program()
    for rate in (0.0, 1.0):
        u = g.uniform(2, 7)
        u[:, 3] = 0.0
        special = g.mask(2, 7, keep=0.3)
        special[:, 3] = False
        program.call(u, special, rate=rate)
    return program


def _selection(g: Source, B: int, T: int) -> tuple[Tensor, Tensor]:
    """Draws on both sides of the rate, among ordinary and special tokens."""
    u = torch.stack(
        [torch.tensor([0.01, 0.145, 0.1501, 0.9, 0.1, 0.5] * T)[:T] + g.uniform(T, high=0.0049) for _ in range(B)]
    )
    special = (torch.arange(T) % 5 == 4) | (torch.arange(T) == 0)
    return u, special.expand(B, T).clone()


HAND = dict(
    ids=[[11, 12, 13, 14, 15]],
    selected=[[True, True, True, False, False]],
    u=[[0.5, 0.85, 0.95, 0.5, 0.85]],
    random_ids=[[71, 72, 73, 74, 75]],
)

MISTAKES = [
    *changes(
        (ref.select_independent, ref.mask_tokens),
        """
special_too: & ~special →
    [CLS], [SEP] and padding are selected as well. Leave out the tokens where special is True.
upper_end: u < rate → u > rate
    This selects the other 85 percent. A token is selected when its draw lies below the rate.
fixed_rate: u < rate → u < 0.15
    The rate is ignored: 0.15 is its default, not its only value.
at_the_rate: u < rate → u <= rate
    A draw that equals the rate is selected. Below the rate means <: at a rate of 0 nothing is selected.
zero_is_default: u < rate → u < (rate or 0.15)
    A rate of 0 is taken for no rate. 0 is a number like the others: it selects nothing.
special_only: & ~special → & special
    Only special tokens are selected. Turn special round with ~: these are the tokens to leave alone.
either: & ~special → | ~special
    One of the two conditions is enough here. Both must hold: join them with &.
as_numbers: (u < rate) & ~special → ((u < rate) & ~special).long()
    select_tokens returns numbers. Return booleans, as a comparison gives them.
always_mask: selected & (u_action < 0.8) → selected
; inputs = torch.where(selected & (u_action >= 0.8) & (u_action < 0.9), random_ids, inputs) →
    Every selected token becomes [MASK]. Only those that drew below 0.8 do; 10 percent become random, and 10 percent
    stay.
swapped_tenths: (u_action >= 0.8) & (u_action < 0.9) → (u_action >= 0.9)
    The two tenths are swapped: from 0.8 to below 0.9 the token becomes random, from 0.9 it stays.
no_tokens_stay: & (u_action < 0.9) →
    No selected token stays as it is. Random tokens end below 0.9; from there on the token is kept, and still
    predicted.
random_over_mask: (u_action >= 0.8) & →
    Random tokens are written over the [MASK] tokens. They belong to draws from 0.8 to below 0.9 only.
unselected_too: selected & (u_action < 0.8) → u_action < 0.8 ; selected & (u_action >= 0.8) → (u_action >= 0.8)
    Tokens that were not selected change, too. All three actions apply to selected tokens only.
others_random: selected & (u_action >= 0.8) → (u_action >= 0.8)
    Tokens that were not selected become random, too. The second condition needs `selected` as well.
others_masked: selected & (u_action < 0.8) → u_action < 0.8
    Tokens that were not selected become [MASK], too. The first condition needs `selected` as well.
upper_borders: u_action < 0.8 → u_action <= 0.8
; (u_action >= 0.8) & (u_action < 0.9) → (u_action > 0.8) & (u_action <= 0.9)
    Draws of exactly 0.8 and 0.9 go to the wrong side. Below 0.8 is [MASK], from 0.8 to below 0.9 random: < and >=.
random_to_the_end: u_action < 0.9 → u_action <= 0.9
    A draw of exactly 0.9 becomes random. Random tokens end below 0.9: from there on a token stays.
random_from_above: u_action >= 0.8 → u_action > 0.8
    A draw of exactly 0.8 stays as it is. From 0.8 on (>=) the token becomes random.
kept_and_random_masked: u_action < 0.8 → u_action < 0.9 ; (u_action >= 0.8) & (u_action < 0.9) → (u_action >= 0.9)
    [MASK] ends at 0.9 and random tokens follow here. [MASK] ends at 0.8, random at 0.9, and the rest stays.
labels_turned: selected, ids, IGNORE → selected, IGNORE, ids
    The labels are on the wrong side: selected tokens are the ones to predict, and all others get -100.
""",
    ),
    *changes(
        (select_by_fill, apply_by_fill),
        """
changes_ids: ids.clone() → ids
    The inputs are written over ids itself, which must not be changed. Work on a copy: torch.where, or ids.clone().
""",
    ),
    *changes(
        (ref.select_independent, ref.mask_tokens),
        """
labels_of_masked: selected, ids, IGNORE → selected & (u_action < 0.8), ids, IGNORE
    Only [MASK] tokens have a label. All selected tokens are predicted, random and kept ones as well.
labels_of_changed: selected, ids, IGNORE → inputs != ids, ids, IGNORE
    The kept tokens have no label. All selected tokens are predicted: otherwise the model learns that an ordinary
    token needs no thought.
labels_everywhere: torch.where(selected, ids, IGNORE) → ids
    Every token has a label. Tokens that were not selected get -100, which the loss leaves out.
labels_zero: selected, ids, IGNORE → selected, ids, 0
    Tokens without a label get 0, which is the id of a token. The sign for no label is -100.
second_from_ids: random_ids, inputs) → random_ids, ids)
    No [MASK] is in the inputs. A draw below 0.8 gives mask_id, and the second replacement starts from the inputs
    that the first one made, not from ids.
""",
    ),
    *changes(
        (select_by_fill, apply_by_fill),
        """
in_place: ids.clone() → ids ; labels[selected] = ids[selected] →
; = mask_id → = mask_id; labels[selected] = ids[selected]
    The inputs are written over ids itself, so the labels are read from corrupted tokens. Work on a copy:
    torch.where, or ids.clone().
""",
    ),
    *changes(
        (ref.select_independent, ref.mask_tokens),
        """
tenths_of_rate: u_action < 0.8 → u_action < 0.12
; (u_action >= 0.8) & (u_action < 0.9) → (u_action >= 0.12) & (u_action < 0.135)
    The borders are parts of the rate here, 0.12 and 0.135. The second draw is independent of the first: 0.8 and
    0.9.
random_and_mask_swapped: mask_id, ids) → random_ids, ids) ; random_ids, inputs) → mask_id, inputs)
    [MASK] and random tokens are exchanged: below 0.8 comes [MASK], from 0.8 to below 0.9 a random token.
no_random: inputs = torch.where(selected & (u_action >= 0.8) & (u_action < 0.9), random_ids, inputs) →
    No token becomes random. A selected token with a draw from 0.8 to below 0.9 becomes the entry of random_ids.
exchanged: IGNORE)) → IGNORE))[::-1]
    The two results stand the other way round. Return the inputs first, then the labels.
turned: u_action < 0.8 → u_action > 0.2 ; (u_action >= 0.8) & (u_action < 0.9) → (u_action > 0.1) & (u_action <= 0.2)
    The draws are counted from above. Below 0.8 is [MASK], from 0.8 to below 0.9 random, and the highest tenth
    stays.
mask_at_border: u_action < 0.8 → u_action <= 0.8 ; u_action >= 0.8 → u_action > 0.8
    A draw of exactly 0.8 becomes [MASK]. [MASK] ends below 0.8; from 0.8 on (>=) the token is random.
others_changed: selected & (u_action < → ~selected & (u_action < ; selected & (u_action > → ~selected & (u_action >
    The tokens that were not selected are changed, and the selected ones stay. Turn it round: only selected tokens
    change.
tenth_of_rest: u_action < 0.9 → u_action < 0.82
    Only a tenth of the last fifth becomes random, which is 2 percent. A tenth of all selected tokens does: which
    part of the last fifth is that?
lowest_tenth_random: (u_action >= 0.8) & (u_action < 0.9) → (u_action < 0.1)
    Draws below 0.1 become random, though [MASK] takes all below 0.8, and nothing from 0.8 on changes. Let the
    random tenth begin where [MASK] ends.
random_tenth_first: u_action < 0.8 → u_action < 0.9 ; (u_action >= 0.8) & (u_action < 0.9) → (u_action < 0.1)
    The random tenth lies in front, and [MASK] goes on to 0.9. The order is [MASK], random, kept.
""",
    ),
]

EXERCISE = Exercise(
    id="objective.masked_lm",
    title="BERT's masked tokens",
    points=3,
    difficulty=3,
    minutes=18,
    reference=(ref.select_independent, ref.mask_tokens),
    alternatives=[(select_by_fill, apply_by_fill), (select_by_list, apply_by_loop)],
    cases=[
        Case(
            "select by hand",
            "draws 0.10, 0.90 and 0.05, the last token special: only the first is selected",
            lambda g: call(torch.tensor([[0.10, 0.90, 0.05]]), torch.tensor([[False, False, True]])),
        ),
        Case(
            "rule by hand",
            "selected tokens drew 0.5, 0.85 and 0.95: [MASK] (id 4), a random token, itself",
            lambda g: call(
                *(torch.tensor(HAND[k]) for k in ("ids", "selected", "u", "random_ids")), 4, fn="mask_tokens"
            ),
        ),
        Case("select", "two rows of twelve tokens at 15 percent", lambda g: call(*_selection(g, 2, 12))),
        Case(
            "other rate",
            "a rate of 40 percent",
            lambda g: call(
                torch.tensor([[0.3, 0.5, 0.39, 0.2]]) + g.uniform(1, 4, high=0.005),
                torch.tensor([[False, False, False, True]]),
                rate=0.4,
            ),
        ),
        Case(
            "borders",
            "a draw of exactly 0.8 is random already, and one of 0.9 keeps its token",
            lambda g: call(
                torch.tensor([[11, 12, 13]]),
                torch.tensor([[True, True, True]]),
                torch.tensor([[0.79, 0.8, 0.9]], dtype=torch.float64),
                torch.tensor([[71, 72, 73]]),
                4,
                fn="mask_tokens",
            ),
        ),
        Case(
            "near the borders",
            "float64 draws at 0.8 and 0.9 and next to them, in one row selected where they are not in the other",
            _borders,
        ),
        Case(
            "at the rate",
            "draws of exactly 1/8, 1/4 and 1/2 at that rate are not selected: below means below",
            _at_the_rate,
        ),
        Case(
            "none and all",
            "a rate of 0 selects nothing, not even a draw of 0.0, and a rate of 1 all ordinary tokens",
            _all_or_none,
        ),
        Case("rule", "three rows of twelve tokens with all three actions in each", lambda g: _mlm(g, 3, 12), weight=2),
    ],
    mutants=MISTAKES,
    equivalent="""
a draw of exactly 0.8 is written over by the random token in the next line
    5bd1df5c03 u < 0.8 → u <= 0.8
""",
)
