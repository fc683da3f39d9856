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


def test_the_larger_model_has_the_smaller_cache_per_token():
    """Of LLaMA-2, both factors that differ are those that the reply tells, and so is the product."""
    small, large = MODELS[STORY[1].state["model"]], MODELS[STORY[1].show[-1]["model"]]
    assert (small.name, large.name) == ("LLaMA-2 7B", "LLaMA-2 70B") and large.name in STORY[1].says
    one, two = shown(1)["per_token"], shown(1, model=MODELS.index(large))["per_token"]
    assert two < one and chosen(1) == "no, smaller"
    told = f"2 × {large.layers} × {large.kv_heads} × {large.head_dim} × 2 = {two:,.0f} bytes, not {one:,.0f}"
    assert told in STORY[1].because and small.head_dim == large.head_dim
    assert large.layers / small.layers == 2.5 and large.kv_heads / small.kv_heads == 1 / 4


def test_with_one_key_head_a_thousand_users_fit():
    fits = {name: shown(2, kind=i)["fit"] for i, name in enumerate(KINDS)}
    assert fits["as built"] == 30 and "30 users fit" in STORY[2].asks
    assert fits["MQA"] == max(fits.values()) == 991 and STORY[2].because.startswith("991:")
    told = {choice: int(choice.removeprefix("about ").replace(",", "")) for choice in STORY[2].choices}
    assert min(told, key=lambda choice: abs(told[choice] - 991)) == chosen(2)
    assert shown(2)["per_token"] == 32 * shown(2, kind=3)["per_token"] and "1/32" in STORY[2].because
    heads, size = cached_heads(MODELS[STORY[2].state["model"]], KINDS.index("MQA"))
    assert (heads, size) == (1, 128) and f"{2 * heads * size} numbers a layer" in STORY[2].because


def test_the_time_does_not_double_with_the_users():
    one, two = shown(3, users=16)["seconds"], shown(3, users=32)["seconds"]
    assert one < two < 1.9 * one and chosen(3).startswith("no")
    n, told = {users: shown(3, users=users) for users in (16, 32)}, STORY[3].because
    assert f"{1e3 * one:.1f} → {1e3 * two:.1f} ms" in told and f"{n[16]['weights'] / 1e9:.1f} GB of" in told
    assert f"{n[16]['total'] / 1e9:.2f} → {n[32]['total'] / 1e9:.1f} GB" in told


def test_only_mqa_makes_the_users_fit():
    changes = {"1 byte per number": {"itemsize": 1}, "MQA": {"kind": 3}, "GQA, up to 8": {"kind": 2}}
    assert shown(4)["fit"] < 64 and set(changes) == set(STORY[4].choices)
    assert [name for name, change in changes.items() if shown(4, **change)["fit"] >= 64] == [chosen(4)]


def test_mistrals_cache_stops_at_its_window():
    assert MODELS[STORY[5].state["model"]].name == "Mistral 7B"
    sizes = [shown(5, tokens=n)["per_user"] for n in TOKENS]
    first = next(n for n, now, later in zip(TOKENS, sizes, sizes[1:], strict=False) if now == later)
    assert chosen(5) == f"{first:,}" == "4,096"
