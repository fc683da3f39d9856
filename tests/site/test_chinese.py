"""Search in Chinese and English on pages in Chinese, from disk."""

import pytest

from autograder.site import build
from autograder.site.checks import ways
from autograder.site.chinese import Bigrams

PAGES = {"index": "# 变形金刚解剖\n\n{doc}`attention`\n\n```{toctree}\nattention\nnorm\n```\n"}
PAGES |= {
    "attention": "# 注意力\n\n缩放点积注意力把查询与键相乘。The softmax of scores.",
    "norm": "# 归一化\n\n均方根归一化。",
}


def test_neighbors_are_terms():
    assert Bigrams({}).split("点积注意力 softmax2") == ["点积", "积注", "注意", "意力", "softmax2"]
    assert Bigrams({}).split("键") == ["键"] and Bigrams({}).stem("RoPE") == "rope"


@pytest.fixture(scope="module")
def chinese(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zh")
    for name, text in PAGES.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    out = folder / "html"
    assert build.run_sphinx(folder, out, "zh_CN", []) == ""
    return out


@pytest.mark.browser
@pytest.mark.parametrize("words, page", [("点积注意力", "attention"), ("均方根", "norm"), ("softmax", "attention")])
def test_words_are_found_from_disk(browser, chinese, words, page):
    assert not ways.searching(browser, f"{chinese.as_uri()}/", {words: page}).wrong


@pytest.mark.browser
def test_what_is_nowhere_is_not_found(browser, chinese):
    assert ways.searching(browser, f"{chinese.as_uri()}/", {"softmax": "norm"}).wrong
