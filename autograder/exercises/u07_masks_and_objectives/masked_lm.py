"""BERT's selection of tokens, and what becomes of them."""

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import objectives as ref

SELECT, APPLY = ref.select_independent, ref.mask_tokens
IGNORE = ref.IGNORE


def select_by_fill(u, special, rate=0.15):
    """Special tokens get a draw that no rate reaches."""
    return u.masked_fill(special, 2.0) < rate


def select_by_list(u, special, rate=0.15):
    """Entry by entry."""
    rows = zip(u.tolist(), special.tolist(), strict=True)
    return torch.tensor([[not s and x < rate for x, s in zip(a, b, strict=True)] for a, b in rows])


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
    for b in range(ids.shape[0]):
        for t in range(ids.shape[1]):
            if not selected[b, t]:
                labels[b, t] = IGNORE
            elif u[b, t] < 0.8:
                inputs[b, t] = mask_id
            elif u[b, t] < 0.9:
                inputs[b, t] = random_ids[b, t]
    return inputs, labels


def _apply(
    masked=lambda s, u: s & (u < 0.8),
    random=lambda s, u: s & (u >= 0.8) & (u < 0.9),
    labels=lambda ids, inputs, s, u: torch.where(s, ids, IGNORE),
):
    def wrong(ids, selected, u, random_ids, mask_id):
        inputs = torch.where(masked(selected, u), mask_id, ids)
        inputs = torch.where(random(selected, u), random_ids, inputs)
        return inputs, labels(ids, inputs, selected, u)

    return wrong


def second_from_ids(ids, selected, u, random_ids, mask_id):
    swap = selected & (u >= 0.8) & (u < 0.9)
    return torch.where(swap, random_ids, ids), torch.where(selected, ids, IGNORE)


def in_place(ids, selected, u, random_ids, mask_id):
    inputs = ids
    inputs[selected & (u < 0.8)] = mask_id
    swap = selected & (u >= 0.8) & (u < 0.9)
    inputs[swap] = random_ids[swap]
    return inputs, torch.where(selected, ids, IGNORE)


def _draws(g: Source, B: int, T: int) -> tuple[Tensor, Tensor]:
    """Uniform draws in which every row holds each of the three actions among selected and other tokens."""
    zones = torch.tensor([[0.05, 0.75], [0.81, 0.89], [0.91, 0.99]])
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
    return call(g.integers(10, 50, B, T), selected, u, g.integers(60, 90, B, T), 4, fn="mask_tokens")


def _selection(g: Source, B: int, T: int) -> tuple[Tensor, Tensor]:
    """Draws on both sides of the rate, among ordinary and special tokens."""
    u = torch.stack(
        [torch.tensor([0.01, 0.14, 0.16, 0.9, 0.1, 0.5] * T)[:T] + g.uniform(T, high=0.005) for _ in range(B)]
    )
    special = (torch.arange(T) % 5 == 4) | (torch.arange(T) == 0)
    return u, special.expand(B, T).clone()


HAND = dict(
    ids=[[11, 12, 13, 14, 15]],
    selected=[[True, True, True, False, False]],
    u=[[0.5, 0.85, 0.95, 0.5, 0.85]],
    random_ids=[[71, 72, 73, 74, 75]],
)

EXERCISE = Exercise(
    id="objective.masked_lm",
    unit="07-masks-and-objectives",
    title="BERT's masked tokens",
    points=3,
    difficulty=3,
    minutes=18,
    signature="select_tokens(u, special, rate=0.15)",
    targets=("select_tokens", "mask_tokens"),
    reference=(SELECT, APPLY),
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
                torch.tensor([[0.79, 0.8, 0.9]]),
                torch.tensor([[71, 72, 73]]),
                4,
                fn="mask_tokens",
            ),
        ),
        Case("rule", "three rows of twelve tokens with all three actions in each", lambda g: _mlm(g, 3, 12), weight=2),
    ],
    mutants=[
        Mutant(
            "special_too",
            (lambda u, special, rate=0.15: u < rate, APPLY),
            "[CLS], [SEP] and padding are selected as well. Leave out the tokens where special is True.",
        ),
        Mutant(
            "upper_end",
            (lambda u, special, rate=0.15: (u > rate) & ~special, APPLY),
            "This selects the other 85 percent. A token is selected when its draw lies below the rate.",
        ),
        Mutant(
            "fixed_rate",
            (lambda u, special, rate=0.15: (u < 0.15) & ~special, APPLY),
            "The rate is ignored: 0.15 is its default, not its only value.",
        ),
        Mutant(
            "always_mask",
            (SELECT, _apply(masked=lambda s, u: s, random=lambda s, u: s & (u > 2))),
            "Every selected token becomes [MASK]. Only those that drew below 0.8 do; 10 percent become random, and "
            "10 percent stay.",
        ),
        Mutant(
            "swapped_tenths",
            (SELECT, _apply(random=lambda s, u: s & (u >= 0.9))),
            "The two tenths are swapped: from 0.8 to below 0.9 the token becomes random, from 0.9 it stays.",
        ),
        Mutant(
            "no_tokens_stay",
            (SELECT, _apply(random=lambda s, u: s & (u >= 0.8))),
            "No selected token stays as it is. Random tokens end below 0.9; from there on the token is kept, and "
            "still predicted.",
        ),
        Mutant(
            "random_over_mask",
            (SELECT, _apply(random=lambda s, u: s & (u < 0.9))),
            "Random tokens are written over the [MASK] tokens. They belong to draws from 0.8 to below 0.9 only.",
        ),
        Mutant(
            "unselected_too",
            (SELECT, _apply(masked=lambda s, u: u < 0.8, random=lambda s, u: (u >= 0.8) & (u < 0.9))),
            "Tokens that were not selected change, too. All three actions apply to selected tokens only.",
        ),
        Mutant(
            "labels_of_masked",
            (SELECT, _apply(labels=lambda ids, inputs, s, u: torch.where(s & (u < 0.8), ids, IGNORE))),
            "Only [MASK] tokens have a label. All selected tokens are predicted, random and kept ones as well.",
        ),
        Mutant(
            "labels_of_changed",
            (SELECT, _apply(labels=lambda ids, inputs, s, u: torch.where(inputs != ids, ids, IGNORE))),
            "The kept tokens have no label. All selected tokens are predicted: otherwise the model learns that an "
            "ordinary word needs no thought.",
        ),
        Mutant(
            "labels_everywhere",
            (SELECT, _apply(labels=lambda ids, inputs, s, u: ids)),
            "Every token has a label. Tokens that were not selected get -100, which the loss leaves out.",
        ),
        Mutant(
            "labels_zero",
            (SELECT, _apply(labels=lambda ids, inputs, s, u: torch.where(s, ids, 0))),
            "Tokens without a label get 0, which is a word of the vocabulary. The sign for no label is -100.",
        ),
        Mutant(
            "second_from_ids",
            (SELECT, second_from_ids),
            "The [MASK] tokens are gone again: the second replacement starts from ids. Let it start from the inputs "
            "that the first one made.",
        ),
        Mutant(
            "in_place",
            (SELECT, in_place),
            "The inputs are written over ids itself, so the labels are read from corrupted tokens. Work on a copy: "
            "torch.where, or ids.clone().",
        ),
    ],
)
