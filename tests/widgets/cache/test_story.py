"""The story of CacheCalculator: the right answers are true of its own numbers, the others are not."""

from anatomy.widgets import CacheCalculator
from anatomy.widgets.cache import KINDS, TOKENS, cached_heads
from anatomy.widgets.cache.models import MODELS
from anatomy.widgets.cache.story import STORY

from .learners import right_bytes


def shown(i, **changed):
    return CacheCalculator(right_bytes, **{**STORY[i].state, **changed}).readings()


def chosen(i):
    return STORY[i].choices[STORY[i].answer]


def test_it_starts_where_the_widget_starts():
    widget = CacheCalculator()
    assert {name: getattr(widget, name) for name in STORY[0].state} == STORY[0].state


def test_32_users_do_not_fit():
    assert shown(0, users=32)["fit"] == 30 and "30 fit" in STORY[0].because and chosen(0) == "no"


def test_one_key_head_stores_least():
    sizes = {name: shown(1, kind=i)["per_token"] for i, name in enumerate(KINDS)}
    assert min(sizes, key=sizes.get) == chosen(1) == "MQA" and set(STORY[1].choices) <= set(sizes)
    model, told = MODELS[STORY[1].state["model"]], STORY[1].because
    mqa, mla = ((cached_heads(model, KINDS.index(name))) for name in ("MQA", "MLA, 512 + 64"))
    assert mqa == (1, 128) and "of 128 numbers" in told and 2 * mla[0] * mla[1] == 512 + 64
    assert f": {2 * mqa[0] * mqa[1]}. MLA keeps {2 * mla[0] * mla[1]} for both" in told  # keys and values, in both


def test_mistrals_cache_stops_at_its_window():
    assert MODELS[STORY[2].state["model"]].name == "Mistral 7B"
    sizes = [shown(2, tokens=n)["per_user"] for n in TOKENS]
    first = next(n for n, now, later in zip(TOKENS, sizes, sizes[1:], strict=False) if now == later)
    assert chosen(2) == f"{first:,}" == "4,096"


def test_the_time_does_not_double_with_the_users():
    one, two = shown(3, users=16)["seconds"], shown(3, users=32)["seconds"]
    assert one < two < 1.9 * one and chosen(3).startswith("no")


def test_only_mqa_makes_the_users_fit():
    changes = {"1 byte per number": {"itemsize": 1}, "MQA": {"kind": 3}, "GQA, up to 8": {"kind": 2}}
    assert shown(4)["fit"] < 64 and set(changes) == set(STORY[4].choices)
    assert [name for name, change in changes.items() if shown(4, **change)["fit"] >= 64] == [chosen(4)]
