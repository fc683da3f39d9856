"""What MergeExplorer's story says is what its tables show."""

from anatomy.language import corpus
from anatomy.widgets.merge.story import WORDS

from .case import CASE


def answer(i):
    step = CASE.widget.story[i]
    return step.choices[step.answer]


def at(step, **state):
    return CASE.make(**{**CASE.widget.story[step].state, **state})


def test_the_smallest_number_goes_first_wherever_the_pair_is():
    assert answer(0) == "e + t, lowest number"
    made = at(0)
    numbers = [rank for _, rank in made.pairs()]
    assert min(n for n in numbers if n is not None) == 83 and "merge 83" in CASE.widget.story[0].because
    known = [n for n in numbers if n is not None]
    assert numbers[0] != min(known) and numbers[-1] == max(known) == 417, "the other choices"
    assert made.next_merge() == numbers[7] == 83 and numbers[0] == 126 and made._spelled(made.tokens()[8]) == "t"
    assert at(0, done=1).tokens()[7:] == [256 + 83, made.tokens()[9]]


def test_a_pair_that_occurs_twice_here_waits_for_one_with_a_smaller_number():
    assert answer(1) == "the novels have it more often"
    made = at(1)
    for number in (13, 38):
        assert f"{made.spec['counted'][number]:,}" in CASE.widget.story[1].because
    assert [rank for _, rank in made.pairs()].count(38) == 2 and made.next_merge() == 13
    assert at(1, done=1).next_merge() == 38
    assert len(at(1, done=1).tokens()) - len(at(1, done=2).tokens()) == 2, "both are joined at once"


def test_no_merge_joins_the_small_letter_to_the_rest_of_the_name():
    assert answer(2) == "the novels never write it so"
    made = at(2)
    assert made.done >= made.last() and [made._spelled(i) for i in made.tokens()] == ["·e", "lizabeth"]
    assert made.pairs()[0][1] is None
    capital = at(2, word=WORDS.index(" Elizabeth"))
    assert [capital._spelled(i) for i in capital.tokens()] == ["·Elizabeth"]
    assert " elizabeth" not in corpus.training_text() and capital.last() and capital._inputs["cuts"][0, 8] == 574


def test_a_space_in_front_saves_two_tokens():
    assert answer(3) == "the one without the space"
    made, with_space = at(3), at(3, word=WORDS.index(" happiness"))
    assert made.done >= made.last() and with_space.done >= with_space.last()
    assert len(made.tokens()) == 3 and len(with_space.tokens()) == 1
    text = corpus.training_text()
    assert text.count(" happiness") > 0.95 * text.count("happiness")


def test_a_script_that_training_never_met_costs_a_token_for_each_byte():
    assert answer(4) == "six tokens"
    made, chinese = at(4), at(4, word=WORDS.index("中文"))
    assert [made._spelled(i) for i in made.tokens()][-2:] == ["195", "169"] == [str(b) for b in "é".encode()]
    assert made.spec["wide"][made.word] == [["é", 4, 2]] and "é" not in corpus.training_text()
    assert [size for _, _, size in chinese.spec["wide"][chinese.word]] == [3, 3]
    assert len(chinese.tokens()) == 6 and all(rank is None for _, rank in chinese.pairs())


def test_words_are_what_their_comment_says():
    def count(word):
        return len(CASE.make(word=WORDS.index(word), done=12).tokens())

    assert count(" believe") == 1 and count(" beleive") == 3
    assert count(" acknowledged") == 5 and count(" 1811") == 5
