"""AnatomyView's model in the page equals PyTorch's; a typed text is read and goes on, with a kernel and without one."""

import base64
import random

import numpy as np
import pytest
import torch
from anatomy.language import corpus, shipped
from anatomy.language.stand_in import StandIn
from anatomy.widgets import AnatomyView
from anatomy.widgets.anatomy import T, packed, reading

from ..page import said, settle
from ..stages import set_state, tables_of
from . import learners

browser_test = pytest.mark.browser
TEXTS = {
    "a phrase": "It is a truth universally",
    "one letter": "x",
    "capitals": "MR. DARCY AND EMMA",
    "contractions, digits": "don't I'LL they've '80s 3.14 ½ Ⅷ",
    "white space": "  two  spaces\n\n\ttabs\x85\u2003\ufeff ends ",
    "never seen": "héllo 你好 👋🏽 e\u0301 \u200b\x00",
    "more than is read": "She was " * 60,
}
LONG = " ".join(["It is a truth universally acknowledged, that a single man must be in want of a wife."] * 3)
GREEDY = 30
RUN = """([text, count]) => {
  const typed = tokenizer.encode(text).slice(-96);
  const ids = [...typed];
  const logits = () => decoder.logits(decoder.read(ids).at(-1));
  const first = [...logits()];
  while (ids.length < 128 && ids.length < typed.length + count) {
    const now = logits();
    ids.push(now.indexOf(Math.max(...now)));
  }
  return [first, ids.slice(typed.length)];
}"""


@pytest.fixture(scope="module")
def torchs():
    c, weights = shipped.checkpoint()
    model = StandIn(c)
    model.load_state_dict(weights)
    return lambda ids: model(torch.tensor([ids]))[0][0, -1].detach()


@pytest.fixture(scope="module")
def bare(browser):
    """A page with the widget's own model and tokenizer, and no widget."""
    page = browser.new_page()
    page.evaluate("(packed) => { window.packed = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0)); }", weights())
    page.add_script_tag(
        type="module",
        content=AnatomyView._esm
        + """
        const found = await unpackModel(window.packed);
        Object.assign(window, { tablesOf, tokenizer: tokenizerOf(found.head), decoder: new SmallDecoder(found) });""",
    )
    page.wait_for_function("() => window.decoder")
    yield page
    page.close()


def weights():
    return base64.b64encode(packed.model()).decode()


def typed(ids):
    return ids[-reading.MOST :]


# ---- the page's model ---------------------------------------------------------------------------------------------


def test_the_packed_weights_are_the_shipped_ones_exactly():
    """float16 is what the file holds, so nothing is rounded on the way to the page."""
    for name, weight in shipped.checkpoint()[1].items():
        assert torch.equal(weight, weight.half().float()), name
    assert len(packed.model()) < 2_400_000


@browser_test
@pytest.mark.parametrize("kind", TEXTS)
def test_tokens_logits_and_the_continuation_equal_pytorchs(bare, torchs, kind):
    ids = shipped.tokenizer().encode(TEXTS[kind]).ids
    assert bare.evaluate("(text) => tokenizer.encode(text)", TEXTS[kind]) == ids
    assert bare.evaluate("(ids) => tokenizer.decode(ids)", ids) == TEXTS[kind]
    logits, greedy = bare.evaluate(RUN, [TEXTS[kind], GREEDY])
    assert np.abs(np.array(logits) - torchs(typed(ids)).numpy()).max() < 1e-4  # of up to 15
    expected = list(typed(ids))
    while len(expected) < min(packed.CONTEXT, len(typed(ids)) + GREEDY):
        expected.append(int(torchs(expected).argmax()))
    assert greedy == expected[len(typed(ids)) :] and len(greedy) == GREEDY


@browser_test
def test_all_letters_of_the_basic_plane_are_cut_and_merged_alike(bare):
    """Every letter next to others and next to white space, and novels cut at random places."""
    draw = random.Random(0)
    letters = [chr(i) for i in range(0x10000) if not 0xD800 <= i < 0xE000]
    draw.shuffle(letters)
    texts = ["".join(letters[i : i + 500]) for i in range(0, len(letters), 500)]
    texts += [("  " if i % 800 else " ").join(letters[i : i + 400]) for i in range(0, 8000, 400)]
    book = corpus.held_out_text()
    texts += [book[(at := draw.randrange(len(book) - 300)) : at + 300] for _ in range(30)]
    assert bare.evaluate("(texts) => texts.map((text) => tokenizer.encode(text))", texts) == [
        encoded.ids for encoded in shipped.tokenizer().encode_batch(texts)
    ]


@browser_test
@pytest.mark.parametrize("text", ["My dear Mr. Bennet", LONG], ids=["short", "beyond the picture"])
def test_the_pages_tables_are_those_of_python(bare, text):
    """All that the panels draw, with what was kept of another text that begins alike."""
    expected = reading.read({}, text, [], T)
    bare.evaluate("(text) => decoder.read(tokenizer.encode(text))", text[:9] + "zzz")
    found = bare.evaluate(
        """([text, spec]) => {
          const ids = tokenizer.encode(text);
          decoder.read(ids);
          return Object.entries(tablesOf(decoder, Math.max(0, ids.length - spec.tokens), spec)).map(
            ([name, table]) => [name, [...table]]);
        }""",
        [text, AnatomyView().spec],
    )
    assert (len(expected.ids) > T) == (len(text) > 100)
    sent, found = expected.sent(text, T), dict(found)
    assert set(sent) - {"ids", "text"} <= set(found)
    for name, table in sent.items():
        if name not in ("ids", "text", "drift"):
            assert np.allclose(np.ravel(table), found[name], rtol=1e-3, atol=1e-4), name


@browser_test
def test_a_token_costs_less_than_fifty_milliseconds(bare):
    """Reading and the predictions of all layers, at the end of the longest text."""
    spent = bare.evaluate(
        """(spec) => {
      decoder.read([]);
      return Array.from({ length: 128 }, (_, i) => {
        const start = performance.now();
        decoder.step((i * 37) % 1280);
        tablesOf(decoder, Math.max(0, i - 31), spec);
        return performance.now() - start;
      }).slice(-64).sort((a, b) => a - b);
    }""",
        AnatomyView().spec,
    )
    print(f"a token: median {spent[32]:.1f} ms, slowest {spent[-1]:.1f} ms")
    assert spent[32] < 50


# ---- a page without a kernel --------------------------------------------------------------------------------------


@pytest.fixture
def alone(pages, tmp_path):
    """The saved page, opened from disk, offline; counts how often something was unpacked."""
    assert (path := AnatomyView().save_html(tmp_path / "page.html")).stat().st_size < 3_500_000
    with pages.page({"width": 860, "height": 900}, reduced_motion="no-preference", offline=True) as page:
        page.goto(path.as_uri())
        page.evaluate("""() => {
          const kind = (window.unpacked = 0, DecompressionStream);
          window.DecompressionStream = class extends kind { constructor(...a) { super(...a); unpacked++; } };
        }""")
        page.wait_for_selector(".ta .ta-svg:visible")
        yield page


READ = "() => !/on its way|Waiting/.test(document.querySelector('.ta-readout').textContent)"


def type_in(page, text):
    page.get_by_label("your text").fill(text)
    settle(page)
    page.wait_for_function(READ)


def words_of(page):
    return page.locator(".an-prompt span:visible").all_text_contents()


def next_step(page, times):
    for _ in range(times):
        press(page, "Next step")


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()
    settle(page)


@browser_test
def test_a_typed_text_is_read_and_goes_on_without_a_kernel(alone, torchs):
    """The words, the likeliest next token, the written tokens in the field and apart from the typed ones."""
    assert alone.evaluate("() => unpacked") == 0, "nothing is unpacked before somebody types"
    type_in(alone, "My dear Mr. Bennet")
    assert alone.evaluate("() => unpacked") == 1
    assert words_of(alone) == ["M", "y", "dear", "Mr", ".", "Bennet"]
    assert "Read by" not in said(alone), "there is nobody else"
    ids = shipped.tokenizer().encode("My dear Mr. Bennet").ids
    for _ in range(3):
        ids.append(int(torchs(ids).argmax()))
        press(alone, "One token")
    field = alone.get_by_label("your text")
    assert field.input_value() == shipped.tokenizer().decode(ids)
    assert alone.locator(".an-prompt span[data-written]:visible").count() == 3
    field.press("Enter")
    settle(alone)
    assert alone.locator(".an-prompt span[data-written]:visible").count() == 4 and "It wrote" in said(alone)
    for left in (3, 2, 1, 0):  # the last one each time
        press(alone, "Take back")
        assert alone.locator(".an-prompt span[data-written]:visible").count() == left
        assert field.input_value() == shipped.tokenizer().decode(ids[: len(ids) - 3 + left])
    assert field.input_value() == "My dear Mr. Bennet"
    assert alone.get_by_role("button", name="Take back").get_attribute("aria-disabled") == "true"
    field.fill("")
    settle(alone)
    assert "".join(words_of(alone)).startswith("Darcywasfixed")


@browser_test
def test_a_guess_is_written_by_a_click_after_the_last_token_alone(alone):
    """The five likeliest of Python, and one number for all others; the second of them is what is written."""
    type_in(alone, "My dear Mr. Bennet")
    made = AnatomyView(text="My dear Mr. Bennet")
    rows, likely = alone.locator(".an-guesses > *"), made.likely(made.at)
    told = [(word.strip() or "⏎", f"{share:.0%}") for word, share in likely]
    found = [tuple(row.locator("span, b").all_text_contents()) for row in rows.all()]
    rest = 1 - sum(share for _, share in likely)
    assert found == [*told, ("1,275 others", f"{rest:.0%}")] and len(made.spec["vocabulary"]) == 1280
    shares = [*(share for _, share in likely), rest]
    wide = alone.locator(".an-guesses svg").first.evaluate("(e) => Number(e.getAttribute('width'))")
    bars = alone.locator(".an-guesses rect").evaluate_all("(all) => all.map((e) => Number(e.getAttribute('width')))")
    assert np.allclose(np.array(bars) / wide, shares, atol=0.01), "linear, from 0"
    alone.locator(".an-prompt span").nth(2).click()
    settle(alone)
    assert rows.first.get_attribute("aria-disabled") == "true"
    rows.nth(1).click(force=True)
    settle(alone)
    assert alone.get_by_label("your text").input_value() == "My dear Mr. Bennet"
    alone.locator(".an-prompt span").nth(5).click()
    settle(alone)
    rows.nth(1).click()
    settle(alone)
    assert alone.get_by_label("your text").input_value() == "My dear Mr. Bennet" + likely[1][0]


@browser_test
def test_what_is_drawn_belongs_to_the_typed_text(alone):
    """The bars of the layers, the streams in use and the places of a longer text are what Python finds for it."""
    next_step(alone, 2)
    type_in(alone, LONG)
    made = AnatomyView(text=LONG)
    drawn = " ".join(alone.locator(".ta-svg text").all_text_contents())
    for level in range(0, 9, 2):
        word, share = made.likely(made.at, level)[0]
        assert f"{word.strip() or '⏎'}"[:6] + f" {share:.0%}" in drawn
    count = len(shipped.tokenizer().encode(LONG).ids)
    assert f"last {T} of {count} tokens" in alone.locator(".ta").text_content()
    assert f"Token {count - 1}" in said(alone) and "Next: " in said(alone)
    type_in(alone, "She was")
    assert alone.locator(".an-on").count() == 2 * 8


@browser_test
def test_it_writes_on_until_it_is_stopped_and_reads_no_more_than_it_learned(alone):
    type_in(alone, "Emma was")
    press(alone, "Write on")
    alone.wait_for_function("() => document.querySelectorAll('.an-prompt span[data-written]:not([hidden])').length > 2")
    press(alone, "Pause")
    stopped = alone.get_by_label("your text").input_value()
    alone.wait_for_timeout(800)
    assert alone.get_by_label("your text").input_value() == stopped
    type_in(alone, TEXTS["more than is read"])
    alone.evaluate("""async () => {
      const more = [...document.querySelectorAll('button')].find((b) => b.textContent === 'One token');
      for (let i = 0; i < 40; i++) { more.click(); await new Promise(requestAnimationFrame); }
    }""")
    settle(alone)
    assert f"After {packed.CONTEXT} tokens it reads no more" in said(alone)
    whole = alone.get_by_label("your text").input_value()
    wrote = len(shipped.tokenizer().encode(whole.removeprefix(TEXTS["more than is read"])).ids)
    assert wrote <= packed.CONTEXT - reading.MOST


@browser_test
def test_a_draw_is_not_always_the_likeliest_and_taking_back_draws_anew(alone):
    next_step(alone, 6)
    type_in(alone, "It is a truth universally")

    def drawn():
        for _ in range(12):
            press(alone, "One token")
        text = alone.get_by_label("your text").input_value()
        for _ in range(12):
            press(alone, "Take back")
        return text

    likeliest = drawn()
    assert drawn() == likeliest
    alone.get_by_label("draw among 5").check()
    assert len({likeliest, drawn(), drawn(), drawn()}) >= 3


STREAMS = """() => [...document.querySelectorAll('[aria-label^="Residual streams"] path.an-on')].map(
  (path) => path.getAttribute('d') + ' ' + path.getAttribute('stroke-width')).slice(0, 8 * COUNT)"""


@browser_test
@pytest.mark.parametrize("text, count, most", [("My dear Mr. Bennet", 6, 10), ("It is a truth universally", 10, 20)])
def test_earlier_streams_stay_where_they_are_while_it_writes(alone, text, count, most):
    """The two texts of the story: place, height and width of each stream, token after token."""
    alone.emulate_media(reduced_motion="reduce")
    type_in(alone, text)
    settle(alone)
    streams = STREAMS.replace("COUNT", str(count))
    before = alone.evaluate(streams)
    assert len(before) == 8 * count
    for _ in range(most):
        press(alone, "One token")
        assert alone.evaluate(streams) == before
    assert alone.locator(".an-on").count() == 8 * (count + most)


@browser_test
def test_streams_have_the_names_that_fit(alone):
    """All of a short text; no two of a long one lie on each other, and the token's own is among them."""
    alone.emulate_media(reduced_motion="reduce")
    type_in(alone, "My dear Mr. Bennet")
    names = alone.locator('[aria-label^="Residual streams"] text[translate="no"]')
    assert [name for name in names.all_text_contents() if name] == ["M", "y", "dear", "Mr", ".", "Bennet"]
    type_in(alone, LONG)
    settle(alone)
    boxes = names.evaluate_all("""(all) => all.filter((e) => e.textContent).map((e) => {
      const { left, right, top } = e.getBoundingClientRect();
      return [left, right, Math.round(top)];
    })""")
    assert 2 < len(boxes) < 32
    for i, (left, right, top) in enumerate(boxes):
        assert all(abs(top - other[2]) > 8 or right <= other[0] or left >= other[1] for other in boxes[i + 1 :])
    assert names.evaluate_all("(all) => all.filter((e) => e.classList.contains('ta-strong')).length") == 1


@browser_test
@pytest.mark.parametrize("text, itself", [("I am", True), ("I am sure", False), ("M", False)])
def test_the_row_read_back_is_called_its_own_token_only_where_it_is(alone, text, itself):
    """The caption of the embedding and the lowest line of the layers, with Python's own numbers."""
    next_step(alone, 2)  # where the layers are
    type_in(alone, text)
    made = AnatomyView(text=text)
    word, share = made.likely(made.at, 0)[0]
    assert (word == made.read_words[made.at] and share >= 0.5) == itself
    lowest = alone.locator('[aria-label^="The likeliest next tokens at the bottom"] text').all_text_contents()
    after = lowest[lowest.index("in") + 1 :][:2]
    guess = f"{word.strip()[:6]} {share:.0%}"
    assert after == ([guess, "the token itself"] if itself else ["nothing yet", ""])
    press(alone, "embedding")
    told = alone.locator(".an-back").text_content()
    assert ("names its own token" in told) == (f"“{word.strip()}”" in told) == itself and f"{share:.0%}" in told
    assert ("says nothing yet" in told) == (not itself)


# ---- a page with a kernel -----------------------------------------------------------------------------------------


@browser_test
def test_python_is_asked_for_the_weights_once_somebody_types(stage):
    page = stage(AnatomyView())
    assert not page.evaluate("() => model.get('asked')")
    page.get_by_label("your text").fill("She was")
    page.wait_for_function("() => model.get('asked')")
    page.get_by_text("Waiting for the kernel").first.wait_for()
    assert (made := AnatomyView()).weights is None
    made.asked = True
    page.evaluate("(bytes) => model.set('weights', view(bytes))", base64.b64encode(made.weights).decode())
    page.wait_for_function(READ)
    assert words_of(page) == ["She", "was"]


@browser_test
def test_the_learners_parts_read_what_is_typed(stage):
    """Python computes the tables; a wrong part writes its own word, and the page says who read."""
    made = AnatomyView({"GatedFeedForward": learners.Swapped})
    page = stage(made)
    state = {"text": "My dear Mr. Bennet", "token": 31}
    set_state(page, state)
    assert "Waiting for the kernel" in said(page)
    made.text = state["text"]
    page.evaluate("([tables, notice]) => replaceTables(tables, notice)", [tables_of(made), made.notice])
    settle(page)
    (word, _), (right, _) = made.likely(made.at)[0], AnatomyView(text=made.text).likely(5)[0]
    assert word != right and f"“{word.strip()}”" in said(page) and f"reference “{right}”" in said(page)
    assert "by your parts and the reference's" in said(page) and page.locator(".an-off").count() > 10
    press(page, "One token")
    assert page.evaluate("() => model.get('wrote').length") == 1 and "Waiting" in said(page)
