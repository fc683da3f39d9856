"""What ModelAtlas says of a KV cache, and what two models share: by the page and by Python."""

import pytest
from anatomy import atlas
from anatomy.atlas.mixing import bytes_per_token
from anatomy.widgets import ModelAtlas
from anatomy.widgets.atlas import INDEX, ROWS
from anatomy.widgets.atlas.page import cache

from ..page import said


def test_the_cache_is_the_product_of_the_published_sizes():
    told = [(row, cache(row)) for row in ROWS]
    for row, numbers in told:
        if numbers:
            product = 2 * int(numbers["layers"]) * int(numbers["heads"]) * int(numbers["dim"]) * 2
            assert numbers["n"] == f"{product:,}" == f"{bytes_per_token(row.values, 1000):,}", row.name
    assert sum(bool(numbers) for _, numbers in told) > 30
    silent = ("gpt-4", "bert-base", "t5-11b", "deepseek-v3", "mistral-7b", "gemma-2-9b", "qwen-3-next-80b-a3b")
    assert not any(cache(atlas.find(name)) for name in silent), "a formula of its own, or sizes that are not published"
    assert ModelAtlas(view=2, first=INDEX["llama-2-7b"]).cached() == (
        "KV cache: 524,288 bytes a token = key and value × 32 layers × 32 key-value heads × 128 numbers × two bytes. "
        "A full context of 4,096 tokens takes 2.1 GB."
    )
    assert ModelAtlas(first=INDEX["gpt-2"]).cached().endswith(" 1,024 tokens takes 38 MB.")


@pytest.mark.browser
@pytest.mark.parametrize("name", ["gpt-2", "falcon-7b", "llama-3-8b", "gpt-4", "mistral-7b"])
def test_the_page_says_the_same_of_the_cache(stage, name):
    view = ModelAtlas(view=2, first=INDEX[name])
    line = stage(view).locator("figure + div > p").first
    assert line.text_content() == view.cached() and line.is_visible() == bool(view.cached())
    assert view.cached() in view.words


@pytest.mark.browser
@pytest.mark.parametrize(
    "first, second, shared",
    [
        ("gpt-2", "llama-2-7b", " They share: kind, objective, placement."),
        ("gpt-2", "gpt-4", " They share: objective."),
        ("bert-base", "gpt-4", ""),
    ],
)
def test_the_gray_line_names_what_two_models_share(stage, first, second, shared):
    told = said(stage(ModelAtlas(view=1, first=INDEX[first], second=INDEX[second])))
    assert told.startswith(f"{atlas.find(first).title} and ") and told.endswith(f"sizes.{shared}")
