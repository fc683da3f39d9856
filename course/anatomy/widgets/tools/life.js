// Life of a widget: it draws when a trait changes or somebody points, tells Python, and leaves nothing behind.

// Python hears of a change when the hand has rested this long: drawing needs no answer, and a message for every key
// press would have the kernel and the notebook's status bar at work between the next key and its picture.
const SAVE_MS = 300;
const USUAL_ROOM = 792; // px, while the page has not said yet how wide it is
const LEAST_ROOM = 240; // px: a page that is still being laid out may have a few, and a picture of those has no size
const PADDING = 24; // px, both sides of .ta together

/**
 * Turns build(ui) → { draw(), stale()? } into the render function that the notebook calls.
 * stale() runs before draw() when the tables or the theme have changed. When the room's width changes, everything is
 * built anew for `ui.room`: text in a picture that is shrunk would shrink with it. kind: a class of its own for the root.
 */
function mount(build, kind = "") {
  return ({ model, el }) => {
    const root = html("div", { class: `ta ${kind}`.trim(), role: "group", "aria-label": model.get("spec").title });
    el.append(root);
    let saving = 0;
    const save = () => {
      saving = 0;
      model.save_changes();
    };
    const later = () => {
      clearTimeout(saving);
      saving = setTimeout(save, SAVE_MS);
    };
    const width = () => (root.clientWidth ? Math.max(root.clientWidth - PADDING, LEAST_ROOM) : USUAL_ROOM);
    const focusable = () => [...root.querySelectorAll("[data-lm-suppress-shortcuts]")];

    let room = width();
    let close = open(model, root, build, room, later);
    const observer = new ResizeObserver(() => {
      const now = width();
      // A scroll bar that comes and goes with the height must not build for ever: a little more room is left alone.
      if (!root.clientWidth || (now >= room && now < room + 20)) return;
      room = now;
      const focused = focusable().indexOf(document.activeElement);
      close();
      close = open(model, root, build, room, later);
      if (focused >= 0) focusable()[focused]?.focus({ preventScroll: true });
    });
    observer.observe(root);
    return () => {
      observer.disconnect();
      close();
      if (saving) {
        clearTimeout(saving);
        save();
      }
      root.remove();
    };
  };
}

/** Builds the widget in `root` for that room; returns what takes it down. */
function open(model, root, build, room, later) {
  const undo = [];
  const bound = [];
  let cache = {};
  let view = null;
  let frame = 0;
  let asked = false;
  let peeked = null; // what is shown while the pointer rests there
  let held = {}; // names that are no traits, pinned by a click or a key
  let run = null; // what is shown while Play runs
  let shown = false; // a demonstration gives those values, not Play
  let discrete = false; // now changes one thing at a time: a control, a click, a step of the story
  let moving = false; // what has changed since the last drawing may travel
  const hand = handOn(root);
  undo.push(hand.end);

  // The first change is drawn as soon as its event is over, while the browser waits for the next frame anyway; what
  // changes after it waits for that frame, so that a fast hand costs one more drawing and not one for each event.
  const ask = () => {
    moving = discrete || (asked && moving && !hand.busy());
    if (asked) return;
    asked = true;
    if (!frame) queueMicrotask(drawNow);
  };
  const drawNow = () => {
    frame = requestAnimationFrame(() => {
      frame = 0;
      if (asked) paint();
    });
    if (asked) paint();
  };
  const discretely = (action) => {
    discrete = !hand.busy() && run === null;
    action();
    discrete = false;
  };
  const spec = model.get("spec");
  spoken = spec.says ?? {};
  const notice = html("div", { class: "ta-notice", role: "note" });
  const mistake = html("div", { class: "ta-mistake", role: "note" });
  const [words, formula] = [html("span", { class: "ta-line" }), html("span", { class: "ta-formula" })];
  const whispered = html("span", { class: "ta-unseen" });
  const readout = html("p", { class: "ta-readout", role: "status", "aria-live": "polite", "aria-atomic": "true" });
  readout.dataset.later = tr("More comes with your answer.");
  readout.append(whispered, words, formula);
  let longest = 0; // what the readout has held
  const isTrait = (name) => model.get(name) !== undefined;

  const ui = {
    model, root, spec, room, readout,
    controls: html("div", { class: "ta-controls" }),
    story: html("section", { class: "ta-story", "aria-label": tr("What to try: {title}", { title: spec.title }) }),
    dark: isDark(),
    get: (name) => model.get(name),
    set(name, value) {
      write(whispered, "");
      discretely(() => model.set(name, value));
      later();
    },
    setAll: (values) => Object.entries(values).forEach(([name, value]) => ui.set(name, value)),
    /** What is shown: where somebody points, else what Play has come to, what is held, or the trait. */
    seen: (name) => peeked?.[name] ?? run?.[name] ?? held[name] ?? model.get(name),
    /** Where controls stand: the trait, or what a demonstration has come to. */
    stands: (name) => (shown ? run?.[name] : undefined) ?? model.get(name),
    /** Is anything shown because somebody points at it? */
    get pointing() { return peeked !== null || Object.keys(held).length > 0; },
    /** Show this state for as long as the pointer rests; null: no longer. */
    peek(values) {
      if (values === null ? peeked === null : peeked && same(peeked, values)) return;
      peeked = values;
      ui.hush(values !== null); // what the hand passes over is not read out
      ask();
    },
    /** Keep this state: traits are set, other names are held until Escape. */
    pin(values) {
      held = {};
      for (const [name, value] of Object.entries(values)) {
        if (isTrait(name)) ui.set(name, value);
        else held[name] = value;
      }
      discretely(ask);
    },
    /** Let go of what is pointed at or held. */
    release() {
      held = {};
      peeked = null;
      ui.hush(false);
      discretely(ask);
    },
    /** Show these values while Play runs, real numbers among them; null: no longer. */
    run(values) {
      run = values;
      ask();
    },
    /** As run(), for states that are set one after the other: what they change travels. */
    demonstrate(values) {
      ui.run(values);
      shown = values !== null;
      moving = true;
    },
    /** Does a hand drag, or keep a key down? */
    get busy() { return hand.busy(); },
    stops: [], // of everything that plays
    without: () => false, // does the step go without that part? See the story.
    hush(quiet) { fill(readout, { "aria-live": quiet ? "off" : "polite" }); },
    listen(name, action) {
      model.on(`change:${name}`, action);
      undo.push(() => model.off(`change:${name}`, action));
    },
    /** show(value) runs before each drawing; a change of the trait asks for one. */
    bind(name, show) {
      bound.push(() => show(ui.stands(name)));
      ui.listen(name, ask);
    },
    /** A change of the trait asks for a drawing: for traits without a control. */
    watch: (name) => ui.listen(name, ask),
    /** Float32Array of a table. Copied, because a view that arrives need not be aligned to four bytes. */
    table(name) {
      if (!cache[name]) {
        const view = model.get("tables")[name];
        cache[name] = new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
      }
      return cache[name];
    },
    row(kind = "ta-row") {
      const node = html("div", { class: kind });
      root.append(node);
      return node;
    },
    /** The state in words, and the formula of the number that is pointed at. */
    say(text, how = "") {
      write(words, text);
      write(formula, how && ` ${how}`);
      // A line that came and went under the hand would move the picture away from it, and back, for ever.
      if (text.length + how.length <= longest) return;
      longest = text.length + how.length;
      requestAnimationFrame(() => { readout.style.minHeight = `${readout.offsetHeight}px`; });
    },
    /** Read out once, not shown: the step of a story, a reply. The next change of state ends it. */
    whisper(text) { write(whispered, `${text} `); },
    /** Draw again, after something that is no trait has changed. */
    ask,
    atEnd(action) { undo.push(action); },
  };

  const tell = (node, name) => {
    const lines = model.get(name).split("\n").filter(Boolean);
    node.replaceChildren(...lines.map((text) => html("p", {}, text)));
    node.hidden = lines.length === 0;
  };

  function stale() {
    cache = {};
    ui.dark = isDark();
    root.dataset.theme = ui.dark ? "dark" : "light";
    tell(notice, "notice");
    tell(mistake, "mistake");
    if (view.stale) view.stale();
    ask();
    moving = false;
  }

  function paint() {
    asked = false;
    if (hand.busy()) stopColors(root);
    drawMoving(root, moving, () => {
      bound.forEach((show) => show());
      view.draw();
    });
    moving = false;
    root.dataset.peek = ui.pointing ? JSON.stringify({ ...held, ...peeked }) : "";
  }

  root.replaceChildren(html("div", { class: "ta-title" }, spec.title), ui.story, mistake, ui.controls);
  view = build(ui);
  const stage = demonstrator(ui);
  story(ui, stage);
  openOnce(ui, stage);
  root.append(notice);
  ui.listen("tables", stale);
  ui.listen("notice", stale);
  ui.listen("mistake", () => tell(mistake, "mistake"));

  const escape = (event) => {
    if (event.key !== "Escape" || !ui.pointing) return;
    event.stopPropagation(); // JupyterLab would leave the cell
    ui.release();
  };
  root.addEventListener("keydown", escape);
  undo.push(() => root.removeEventListener("keydown", escape));
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", stale);
  undo.push(() => scheme.removeEventListener("change", stale));
  const theme = new MutationObserver(stale);
  theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-vscode-theme-kind"] });
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["theme"] });
  undo.push(() => theme.disconnect());

  stale();
  paint();
  return () => {
    undo.forEach((action) => action());
    cancelAnimationFrame(frame);
  };
}

const same = (a, b) => {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.is(a[name], b[name]));
};
