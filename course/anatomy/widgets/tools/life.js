// Life of a widget: it draws when a trait changes, tells Python, and leaves nothing behind.

// Python hears of a change when the hand has rested this long: drawing needs no answer, and a message for every key
// press would have the kernel and the notebook's status bar at work between the next key and its picture.
const SAVE_MS = 300;

/**
 * Turns build(ui) → { draw(), stale()? } into the render function that the notebook calls.
 * stale() runs before draw() when the tables or the theme have changed.
 */
function mount(build) {
  return ({ model, el }) => {
    const undo = [];
    const bound = [];
    let cache = {};
    let view = null;
    let frame = 0;
    let asked = false;
    let saving = 0;
    const save = () => {
      saving = 0;
      model.save_changes();
    };

    // The first change is drawn as soon as its event is over, while the browser waits for the next frame anyway; what
    // changes after it waits for that frame, so that a fast hand costs one more drawing and not one for each event.
    const ask = () => {
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
    const spec = model.get("spec");
    const title = html("div", { class: "ta-title" }, spec.title);
    const notice = html("div", { class: "ta-notice", role: "note" });
    const mistake = html("div", { class: "ta-mistake", role: "note" });
    const root = html("div", { class: "ta", role: "group", "aria-label": spec.title }, title, notice, mistake);

    const ui = {
      model, root, spec,
      controls: html("div", { class: "ta-controls" }),
      readout: html("p", { class: "ta-readout", role: "status", "aria-live": "polite", "aria-atomic": "true" }),
      dark: isDark(),
      get: (name) => model.get(name),
      set(name, value) {
        model.set(name, value);
        clearTimeout(saving);
        saving = setTimeout(save, SAVE_MS);
      },
      listen(name, action) {
        model.on(`change:${name}`, action);
        undo.push(() => model.off(`change:${name}`, action));
      },
      /** show(value) runs before each drawing; a change of the trait asks for one. */
      bind(name, show) {
        bound.push(() => show(model.get(name)));
        ui.listen(name, ask);
      },
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
      say(text) { if (ui.readout.textContent !== text) ui.readout.textContent = text; },
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
    }

    function paint() {
      asked = false;
      bound.forEach((show) => show());
      view.draw();
    }

    root.append(ui.controls);
    view = build(ui);
    ui.listen("tables", stale);
    ui.listen("notice", stale);
    ui.listen("mistake", () => tell(mistake, "mistake"));

    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", stale);
    undo.push(() => scheme.removeEventListener("change", stale));
    const theme = new MutationObserver(stale);
    theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    undo.push(() => theme.disconnect());

    stale();
    paint();
    el.append(root);
    return () => {
      undo.forEach((action) => action());
      if (saving) {
        clearTimeout(saving);
        save();
      }
      cancelAnimationFrame(frame);
      root.remove();
    };
  };
}
