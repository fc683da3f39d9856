"""Follows docs/contributing/language.md: a filled-in catalogue and two commands give a unit in Chinese."""

import json

import pytest

from tests.once import made_once

from .clone import Clone, with_unit

UNIT, PLACE = "90-sampling", "docs/examples/language/locale/zh_CN/units/90-sampling.po"


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    made = Clone(tmp_path_factory.mktemp("language"), made_once(tmp_path_factory, f"unit-{UNIT}", with_unit))
    made.take("language")
    made.said = made.python("-m", "autograder.languages")
    return made


def test_the_example_is_translated_and_becomes_a_notebook(clone):
    assert f"zh_CN  {UNIT:24} 66/66 translated" in clone.said, clone.said
    assert (clone / f"locale/zh_CN/units/{UNIT}.po").read_bytes() == (clone / PLACE).read_bytes()
    clone.python("-m", "autograder.languages", "--check")
    clone.python("-m", "autograder.languages.notebooks", "zh_CN", "--unit", UNIT)
    book = json.loads((clone / f"build/zh_CN/course/{UNIT}/{UNIT}.ipynb").read_text(encoding="utf-8"))
    stub = next(c for c in book["cells"] if c["id"] == "solve-sampling-tempered")
    assert "由分数得到各 token 的概率" in "".join(stub["source"]) and stub["metadata"]["nbgrader"]["grade_id"]
    text = json.dumps([c["source"] for c in book["cells"]], ensure_ascii=False)
    assert "各三分之一" in text and "one third" not in text


def test_the_package_says_the_units_words(clone):
    script = "import anatomy; anatomy.speak('zh_CN'); print(anatomy.predict('sampling.p1').items[0]['labels'])"
    assert "各三分之一" in clone.python("-c", script)
    script = (
        "import anatomy, torch; anatomy.speak('zh_CN')\n"
        "wrong = lambda scores, temperature=1.0: torch.softmax(scores * temperature, -1)\n"
        "print(anatomy.evaluate('sampling.tempered', wrong).text())"
    )
    assert "这里分数乘以了温度。" in clone.python("-c", script)


def test_a_slip_is_named_with_its_place(clone):
    path = clone / f"locale/zh_CN/units/{UNIT}.po"
    good = path.read_text(encoding="utf-8")
    assert "dim=-1" in good and "`ValueError`" in good
    at = good.index("`ValueError`", good.index("msgstr", good.index("`ValueError`")))
    path.write_text(good[:at] + "ValueError" + good[at + len("`ValueError`") :], encoding="utf-8")
    said = clone.python("-m", "autograder.languages", fails=True)
    assert "the code `ValueError` is missing" in said and f"{UNIT}#" in said
    path.write_text(good, encoding="utf-8")
