"""The answers of AttentionExplorer's story, computed from the tables that the widget draws."""

import numpy as np
import pytest
from anatomy.widgets.attention import PAD, SENTENCES, T
from anatomy.widgets.attention.story import STORY

from .case import CASE


def at(i, **other):
    """(8, 8) weights of step ``i``, with some traits replaced."""
    widget = CASE.make(**{**STORY[i].state, **other})
    return widget.weights()


def chosen(i):
    """The answer of step ``i`` in words."""
    return STORY[i].choices[STORY[i].answer]


def step_words(i):
    return SENTENCES[STORY[i].state["sentence"]]


def test_answer_1_where_very_looks_most():
    words, (shown,) = step_words(0), STORY[0].show
    row = at(0)[shown["query"]]
    order = row.argsort()[::-1]
    assert words[shown["query"]] == "very" and [words[n] for n in order[:2]] == ["like", "him"]
    assert words[at(0)[STORY[0].state["query"]].argmax()] == "very" and words[STORY[0].state["query"]] == "well"
    assert chosen(0) == f"at “{words[order[0]]}”"
    assert f"{row[order[0]]:.2f}" in STORY[0].because and f"{row[order[1]]:.2f}" in STORY[0].because


def test_answer_2_the_other_weights_shrink_by_the_same_factor():
    """The answer of step 1 is computed both from a softmax of the scores and from the row that the widget draws."""
    widget = CASE.make(**STORY[1].state)
    query, key = STORY[1].state["query"], STORY[1].state["moved"]
    q, k = (widget._inputs[name][0, 8].double().numpy() for name in "qk")
    scores = (q @ k.T / 40**0.5)[query, : query + 1]
    raised = np.exp(scores + 2 * (np.arange(query + 1) == key))
    exact = raised / raised.sum()
    before, after = at(1)[query, : query + 1], at(1, nudge=20)[query, : query + 1]
    assert step_words(1)[query] == step_words(1)[key] == "well" and "the bar of “well”" in STORY[1].says
    assert after == pytest.approx(exact, abs=1e-6)
    factors = np.delete(after / before, key)
    truth = {
        "shrink by the same factor": np.ptp(factors) < 1e-9 and factors.max() < 0.9,
        "only “very” shrinks": (factors < 0.9).sum() == 1,
        "stay": np.allclose(factors, 1),
    }
    assert set(truth) == set(STORY[1].choices) and [c for c, true in truth.items() if true] == [chosen(1)]
    assert f"at + 2.0, each becomes {factors[0]:.2f}" in STORY[1].because


def test_answer_3_one_of_the_three_heads_looks_at_the_word_before():
    def before(choice):
        """Mean weight on the token before, over all queries that have one."""
        layer, head = (int(part.split()[1]) for part in choice.split(", "))
        return np.diagonal(at(2, layer=layer, head=head), -1).mean()

    found = {choice: before(choice) for choice in STORY[2].choices}
    assert found.pop(chosen(2)) > 0.9 and max(found.values()) < 0.3


def test_answer_4_without_a_scale_the_weights_are_more_extreme():
    query = STORY[3].state["query"]
    without, usual = at(3)[query], at(3, scale="1/√D")[query]

    def entropy(row):
        return -sum(p * np.log2(p) for p in row if p > 0)

    assert chosen(3) == ("more extreme" if entropy(without) < entropy(usual) - 0.1 else "another")
    top = usual.argmax()
    assert step_words(3)[top] == "very" and f"from {usual[top]:.2f} to {without[top]:.2f}" in STORY[3].because


def test_answer_5_the_padding_mask_empties_two_columns():
    w = at(4, mask="padding")
    empty = {
        "two columns": [n for n in range(T) if (w[:, n] == 0).all()],
        "two rows": [m for m in range(T) if (w[m] == 0).all()],
    }
    assert [name for name, places in empty.items() if len(places) == 2] == [chosen(4)]
    assert [step_words(4)[n] for n in empty["two columns"]] == [PAD, PAD]
    assert (np.triu(at(4), 1) == 0).all(), "before, the causal mask hides other cells"
    assert np.triu(w, 1).max() > 0.1  # so the part above the diagonal is not empty


def test_answer_6_without_a_mask_i_looks_ahead():
    row = at(5, mask="none")[STORY[5].state["query"]]
    assert step_words(5)[0] == "I" and chosen(5) == ("no" if row[0] < 0.99 else "yes")
    ahead = row[1:].argmax() + 1
    assert step_words(5)[ahead] == "." and f"{row[ahead]:.2f}" in STORY[5].because
    assert at(5)[0, 0] == pytest.approx(1)
