"""Chromium for the widget tests, and a stage: a widget's own script in a bare page with a fake model."""

import base64
import json

import pytest

STAGE = """<!doctype html><html lang="en"><head><title>stage</title><style>%(css)s</style></head>
<body><div id="place"></div><script type="module">
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

const state = %(state)s;
const view = (text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const padded = new Uint8Array(bytes.length + 1); // messages from a kernel are not aligned to four bytes
  padded.set(bytes, 1);
  return new DataView(padded.buffer, 1);
};
const unpack = (tables) => Object.fromEntries(Object.entries(tables).map(([k, v]) => [k, view(v)]));
state.tables = unpack(state.tables);
const listeners = {};
window.model = {
  saves: 0, listeners,
  get: (k) => state[k],
  set(k, v) { state[k] = v; (listeners["change:" + k] || []).forEach((f) => f()); },
  save_changes() { model.saves++; },
  on(e, f) { (listeners[e] ||= []).push(f); },
  off(e, f) { listeners[e] = (listeners[e] || []).filter((g) => g !== f); },
};
window.replaceTables = (tables, notice) => { model.set("tables", unpack(tables)); model.set("notice", notice); };
const module = await import(URL.createObjectURL(new Blob([%(esm)s], {type: "text/javascript"})));
window.cleanup = module.default.render({model, el: document.getElementById("place")});
window.ready = true;
</script></body></html>"""


def state_of(widget):
    """The traits that the page reads, with tables in base64."""
    state = {name: getattr(widget, name) for name in ("spec", "notice", "mistake", "step", *widget.controls)}
    return {**state, "tables": tables_of(widget)}


def tables_of(widget):
    return {k: base64.b64encode(v).decode() for k, v in widget.tables.items()}


@pytest.fixture
def draw(browser):
    """draw(html, **context options) → page that shows a STAGE; the test fails on any script error."""
    contexts, errors = [], []

    def show(html, **options):
        context = browser.new_context(**{"viewport": {"width": 900, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
        page.set_content(html)
        page.wait_for_function("() => window.ready")
        return page

    yield show
    for context in contexts:
        context.close()
    assert not errors, errors


@pytest.fixture
def stage(draw):
    """stage(widget, **context options) → page with the widget drawn."""
    return lambda widget, **options: draw(
        STAGE % {"css": widget._css, "state": json.dumps(state_of(widget)), "esm": json.dumps(widget._esm)}, **options
    )
