"""Widgets in another language: all text that a page shows or tells a screen reader comes from the catalogues."""

import json
import re

import pytest
from anatomy.system import translation
from anatomy.system.translation import speak, speaking
from anatomy.widgets import REGISTERED
from anatomy.widgets.tools.words import CONTEXT

from autograder.languages import extract

# Text to ignore: the example sentences, names in code (those with a “_” are known) and of models, units, formulas.
SAME = {
    "mix": "cat sat mat",
    "permutation": "the dog bites man",
    "attention": "I like him very well pad hope you are quite No indeed it is not He ought he does exp entropy",
    "anatomy": "The She He",
    "rope": "max Rx cos PI NTK YaRN",
    "position": "Shaw Transformer XL DeBERTa ALiBi PE sin cos kr qr",
    "mask": "one dog saw two cats and ran ein Hund sah zwei pad",
    "objective": "one dog saw two cats then it ran home rates went up banks lend less money PAD CLS SEP BERT GPT GLM",
    "cache": "LLaMA Llama Mistral Qwen Gemma DeepSeek ChatGLM GPT MHA MQA TB GB MB kB ms",
    "sparse": "",
    "merge": "ab abeth et eth li liz lizabeth ha pp in es ess iness",
    "sampling": "top",
    "stepper": "The cat sat on the mat and slept",
    "activation": "relu elu gelu swish sigmoid tanh max exp",
    "gradient": "Post Pre LN DeepNorm",
    "norm": "LayerNorm RMS",
    "stability": "float bfloat logsumexp tanh log max",
    "tiles": "",
    "memory": "",
    "experts": "",
    "atlas": "MHA MQA GQA MLA GELU GeGLU ReLU SwiGLU SiLU ReGLU LayerNorm",
}
FORMULA = re.compile(
    r"[“‹][^”›]*[”›]|^\s?\S+ \d+%$|exp\([^)]*\)|softmax|f\(Px\)|P f\(x\)|f\(x\)|RMSNorm|RoPE|NaN|<pad>|\bq\b|\bk\b"
    r"|\b\w+_\w+\b"
)
SEEN = """() => {
  const found = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) found.push(node.textContent);
    else if (node.nodeType === Node.ELEMENT_NODE && !node.matches("style, script, [translate=no]")) {
      for (const name of ["aria-label", "aria-valuetext", "title", "aria-roledescription"]) {
        if (node.hasAttribute(name)) found.push(node.getAttribute(name));
      }
      node.childNodes.forEach(walk);
    }
  };
  walk(document.querySelector("main"));
  return found;
}"""


def left_over(text):
    """The parts of a text outside all brackets."""
    while "⟦" in text:
        at = text.rindex("⟦")
        end = text.find("⟧", at)
        text = text[:at] + " " + (text[end + 1 :] if end >= 0 else "")
    return text


@pytest.mark.browser
@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_no_word_of_a_page_bypasses_the_catalogues(name, brackets, browser, tmp_path):
    kind = REGISTERED[name]
    with speaking("en"):
        plain = kind()
    assert "says" not in plain.spec, "English needs no words"
    speak(brackets)
    widget = kind()
    assert widget.words.startswith("⟦") and widget.spec["title"].startswith("⟦"), widget.words
    page = browser.new_page()
    page.goto(widget.save_html(tmp_path / "page.html").as_uri())
    page.wait_for_selector("#widget .ta-title")
    if name == "atlas":
        same = [[m["title"], m["organization"], m["sources"], m["code"]] for m in plain.spec["models"]]
    else:
        same = [plain.spec.get(key) for key in ("words", "sentences", "prompts", "tokens")]
    known = set(re.findall(r"[A-Za-z]+", json.dumps(same))) | set(SAME[name].split())
    bypassing = set()

    def look():
        for text in page.evaluate(SEEN):
            words = re.findall(r"[A-Za-z]{2,}", FORMULA.sub(" ", left_over(text)))
            bypassing.update(text for w in words if w not in known)

    for _step in range(len(kind.story)):
        look()
        page.locator('[aria-label="⟦Next step⟧"]').dispatch_event("click")
    for part in page.locator(".an-part").all():  # of AnatomyView: each opens its own panel
        part.dispatch_event("click")
        look()
    page.close()
    assert not bypassing, sorted(bypassing)


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_pictures_stay_english_and_their_descriptions_do_not(name, brackets):
    """Matplotlib's own font lacks the letters of most other languages."""
    with speaking("en"):
        plain = REGISTERED[name]().png()
    speak(brackets)
    assert REGISTERED[name]().png() == plain


def test_what_scripts_ask_for_is_in_the_catalogue(entries):
    known = {e.english for e in entries["widgets"] if e.context == CONTEXT}
    for name in REGISTERED:
        folder = extract.WIDGETS / name
        for script in [*folder.glob("*.js"), *(extract.WIDGETS / "tools").glob("*.js")]:
            source = script.read_text(encoding="utf-8")
            asked = translation.asked_for(source)
            assert set(asked) <= known
            assert len(re.findall(r"\btr\(", source)) >= len([a for a in asked if f'tr("{a}"' in source])


def test_chinese_words_of_the_atlas_are_equal_and_different_as_the_english_ones():
    """The page filters and compares them by equality."""
    plain = REGISTERED["atlas"]().spec
    with speaking("zh_CN"):
        spec = REGISTERED["atlas"]().spec
    for place, (trait, _name, families) in enumerate(spec["filters"]):
        assert len(set(families)) == len(families) == len(plain["filters"][place][2])
        assert {m["family"][trait] for m in spec["models"]} <= set(families)
    for mine, theirs in zip(spec["models"], plain["models"], strict=True):
        for name in ("unspoken", "notShared"):
            listed = [w in plain["words"][name] for w in theirs["words"]]
            assert [w in spec["words"][name] for w in mine["words"]] == listed, (mine["title"], name)
    for aspect in range(len(spec["sentences"])):
        pairs = {(m["words"][aspect], p["words"][aspect]) for m, p in zip(spec["models"], plain["models"], strict=True)}
        assert len({a for a, _b in pairs}) == len({b for _a, b in pairs}), spec["sentences"][aspect]
