"""Stages: bare pages, each with one widget drawn by its own script with a fake model.

Opening a page costs thirty times as much as drawing a widget in it. So a few pages stay open, and widgets are put on
them one after the other: whatever a widget or a test leaves in a page is cleared before the next one.
"""

import base64
from contextlib import closing, contextmanager

from .page import settle

# Turns off everything that moves or blinks by itself, which would make each picture or color different.
CALM = """.ta, .ta *, .ta *::before, .ta *::after {
  animation: none !important; transition: none !important; caret-color: transparent !important;
}"""

STAGE = """<!doctype html><html lang="en"><head><title>stage</title><script>
// Count what render() leaves behind: listeners on media queries, observers, and listeners on the model.
window.held = {media: 0, observers: 0};
const ours = new WeakSet(); // the browser's driver observes the page as well
const {addEventListener: add, removeEventListener: remove} = EventTarget.prototype;
EventTarget.prototype.addEventListener = function (...a) {
  if (this instanceof MediaQueryList) held.media++; return add.apply(this, a); };
EventTarget.prototype.removeEventListener = function (...a) {
  if (this instanceof MediaQueryList) held.media--; return remove.apply(this, a); };
const {observe, disconnect} = MutationObserver.prototype;
MutationObserver.prototype.observe = function (...a) {
  if (a[1].attributeFilter?.includes("data-jp-theme-light")) { ours.add(this); held.observers++; }
  return observe.apply(this, a); };
MutationObserver.prototype.disconnect = function () {
  if (ours.has(this)) held.observers--; return disconnect.apply(this); };

const view = (text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const padded = new Uint8Array(bytes.length + 1); // messages from a kernel are not aligned to four bytes
  padded.set(bytes, 1);
  return new DataView(padded.buffer, 1);
};
const unpack = (tables) => Object.fromEntries(Object.entries(tables).map(([k, v]) => [k, view(v)]));
const modelOf = (state) => {
  const listeners = {};
  state.tables = unpack(state.tables);
  const model = {
    saves: 0, listeners,
    get: (k) => state[k],
    set(k, v) { state[k] = v; (listeners["change:" + k] || []).forEach((f) => f()); },
    save_changes() { model.saves++; },
    on(e, f) { (listeners[e] ||= []).push(f); },
    off(e, f) { listeners[e] = (listeners[e] || []).filter((g) => g !== f); },
  };
  return model;
};
window.replaceTables = (tables, notice) => { model.set("tables", unpack(tables)); model.set("notice", notice); };
window.put = async ({css, state, esm, around}) => {
  document.body.innerHTML = `<style></style>${around}<div id="place"></div>`;
  document.querySelector("style").textContent = css;
  const module = await import(URL.createObjectURL(new Blob([esm], {type: "text/javascript"})));
  window.model = modelOf(state);
  const close = module.default.render({model, el: document.getElementById("place")});
  window.cleanup = () => { window.cleanup = () => {}; close(); };
};
window.cleanup = () => {};
window.clear = () => {
  cleanup();
  document.body.replaceChildren();
  for (const e of [document.documentElement, document.body]) {
    for (const {name} of [...e.attributes]) if (name !== "lang") e.removeAttribute(name);
  }
  getSelection().removeAllRanges();
  scrollTo(0, 0);
  Object.assign(held, {media: 0, observers: 0});
};
</script></head><body></body></html>"""


def state_of(widget):
    """The traits that the page reads, with the tables in base64."""
    state = {name: getattr(widget, name) for name in ("spec", "notice", "mistake", "step", *widget.controls)}
    return {**state, "tables": tables_of(widget)}


def tables_of(widget):
    return {k: base64.b64encode(v).decode() for k, v in widget.tables.items()}


def set_state(page, state):
    """Sets traits as Python would, and waits for the drawing."""
    page.evaluate("(state) => Object.entries(state).forEach(([k, v]) => model.set(k, v))", state)
    settle(page)


class Pages:
    """Pages of a browser that are reused. Two of a kind stay open."""

    def __init__(self, browser):
        self.browser, self.kept = browser, {}

    @contextmanager
    def page(self, viewport, color_scheme="light", reduced_motion="reduce", **lasting):
        """Lends a page; the borrower must clear it. lasting: options that a context can't change later.

        Fails if a script in the page raised an error or wrote one to the console.
        """
        kept = self.kept.setdefault(tuple(sorted(lasting.items())), [])
        page = kept.pop() if kept else self._new(viewport, **lasting)
        try:
            if page.viewport_size != viewport:
                page.set_viewport_size(viewport)
            page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
            page.errors.clear()
            yield page
            page.mouse.up()
            page.mouse.move(0, 0)
            assert not page.errors, page.errors
        except BaseException:
            page.context.close()  # its state is unknown
            raise
        if len(kept) < 2:
            kept.append(page)
        else:
            page.context.close()

    def _new(self, viewport, **lasting):
        page = self.browser.new_context(viewport=viewport, **lasting).new_page()
        page.set_default_timeout(60_000)
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda line: page.errors.append(line.text) if line.type == "error" else None)
        return page

    def close(self):
        for page in sum(self.kept.values(), []):
            page.context.close()


class Stages(Pages):
    """Pages with a widget's drawing, cleared after each use."""

    def showing(self, widget, css="", **options):
        """A page with the widget drawn, at rest; css is added after the widget's own."""
        options = {"viewport": {"width": 820, "height": 900}, **options}
        return self.drawing(widget._esm, widget._css + css, state_of(widget), **options)

    @contextmanager
    def drawing(self, esm, css, state, around="", **options):
        """A page with that script's drawing; around: HTML placed before it."""
        with self.page(**options) as page:
            page.evaluate("(given) => put(given)", {"css": css, "state": state, "esm": esm, "around": around})
            settle(page)
            yield page
            page.evaluate("() => clear()")
            # After a click, Chromium hides focus that a script sets until a key is pressed, even on the next widget.
            page.keyboard.press("Shift")

    def _new(self, viewport, **lasting):
        page = super()._new(viewport, **lasting)
        page.set_content(STAGE)
        return page


@contextmanager
def on_stage(browser, widget, css="", **options):
    """A new page with that widget."""
    with closing(Stages(browser)) as stages, stages.showing(widget, css, **options) as page:
        yield page
