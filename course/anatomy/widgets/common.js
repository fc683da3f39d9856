// What every widget shares. Python puts this file before the widget's own, and the two are one ES module:
// there is no bundler and nothing is fetched.

// An HTML parser gives inline <svg> its namespace, so that no address has to be written down here.
const SVG = (() => {
  const box = document.createElement("template");
  box.innerHTML = "<svg></svg>";
  return box.content.firstChild.namespaceURI;
})();

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const freshId = () => "ta" + Math.random().toString(36).slice(2, 10);
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

// ---- numbers as text -------------------------------------------------------------------------------------

const minus = (text) => text.replaceAll("-", "\u2212");

/** Fixed decimals with a true minus sign; a not-a-number is said, never drawn as 0. */
function fixed(x, digits = 3) {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x < 0 ? "\u2212∞" : "∞";
  const text = x.toFixed(digits);
  return minus(Number(text) === 0 ? text.replace("-", "") : text);
}

/** Three significant digits: 1.2e−7, 0.251, 54,400 … */
function short(x) {
  if (!Number.isFinite(x)) return fixed(x);
  if (x !== 0 && Math.abs(x) < 1e-3) return minus(x.toExponential(1));
  return minus(x.toLocaleString("en-US", { maximumSignificantDigits: 3 }));
}

const whole = (x) => (Number.isFinite(x) ? minus(Math.round(x).toLocaleString("en-US")) : fixed(x));

/** Range that contains low…high and about four round ticks in it. */
function niceScale(low, high) {
  const rough = Math.max(high - low, 1e-9) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999);
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)];
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  return { low: first * step, high: last * step, ticks };
}

// ---- colors ----------------------------------------------------------------------------------------------

const isDark = () => {
  const lab = document.body.dataset.jpThemeLight;
  return lab === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : lab === "false";
};

const mix = (a, b, t) => a.map((x, i) => Math.round(x + (b[i] - x) * t));
const css = (rgb) => `rgb(${rgb.join(",")})`;

/** Colors of a heatmap: Okabe–Ito blue and vermillion, blending into the page at zero. */
function palette(dark) {
  const zero = dark ? [24, 24, 24] : [255, 255, 255];
  const plus = dark ? [86, 180, 233] : [0, 114, 178];
  const negative = dark ? [230, 120, 20] : [213, 94, 0];
  return {
    zero,
    plus,
    negative,
    /** value in −1…1; not-a-number is gray */
    at: (v) => (Number.isNaN(v) ? [128, 128, 128] : mix(zero, v < 0 ? negative : plus, clamp(Math.abs(v), 0, 1))),
  };
}

/** Black or white, whichever has the higher contrast with the color: at least 4.5 (WCAG's relative luminance). */
function inkOn(rgb) {
  const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

// ---- pieces of a picture ---------------------------------------------------------------------------------

/** An SVG with a name for assistive technology, drawn one to one and shrinking with a narrow page. */
function picture(parent, width, height, name) {
  const node = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": name, class: "ta-svg",
  });
  parent.append(node);
  return node;
}

function label(parent, x, y, words, anchor = "start", kind = "ta-text") {
  const node = svg("text", { x, y, "text-anchor": anchor, class: kind }, words);
  parent.append(node);
  return node;
}

function line(parent, x1, y1, x2, y2, kind = "ta-axis") {
  const node = svg("line", { x1, y1, x2, y2, class: kind });
  parent.append(node);
  return node;
}

/** Path through the finite points; a gap where a value is not a number. */
function trace(points) {
  let pen = "M";
  let d = "";
  for (const [x, y] of points) {
    if (!Number.isFinite(x) || !Number.isFinite(y)) { pen = "M"; continue; }
    d += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = "L";
  }
  return d;
}

/** Arrow from the origin: the shaft, and its head as a second path so that a dashed shaft keeps a solid head. */
function arrow(parent, kind, withHead = true) {
  const shaft = svg("path", { class: `ta-arrow ${kind}` });
  const head = svg("path", { class: `ta-head ${kind}` });
  parent.append(shaft);
  if (withHead) parent.append(head);
  return (x, y) => {
    const length = Math.hypot(x, y);
    if (!Number.isFinite(length) || length < 1e-6) {
      shaft.setAttribute("d", "");
      head.setAttribute("d", "");
      return;
    }
    const [ux, uy] = [x / length, y / length];
    const size = withHead ? Math.min(8, length) : 0;
    const [bx, by] = [x - ux * size, y - uy * size];
    shaft.setAttribute("d", `M0 0L${bx.toFixed(2)} ${by.toFixed(2)}`);
    const side = size * 0.45;
    head.setAttribute("d", `M${x.toFixed(2)} ${y.toFixed(2)}L${(bx - uy * side).toFixed(2)} ` +
      `${(by + ux * side).toFixed(2)}L${(bx + uy * side).toFixed(2)} ${(by - ux * side).toFixed(2)}Z`);
  };
}

// ---- controls --------------------------------------------------------------------------------------------

/** JupyterLab takes the arrow keys for its own shortcuts unless the focused element itself says otherwise. */
function keepKeys(node) {
  node.dataset.lmSuppressShortcuts = "true";
  return node;
}

/**
 * Native range input bound to a trait. It runs from 0 to max, or through a list of values. Where max is a function
 * (it depends on another control), a trait beyond it shows as max. "long" leaves room for values of several words.
 */
function slider(ui, { trait, name, max, values, show = String, kind = "", long = false }) {
  const id = freshId();
  const top = () => (values ? values.length - 1 : typeof max === "function" ? max() : max);
  const input = keepKeys(html("input", { type: "range", id, min: 0, max: top(), step: 1, class: kind }));
  const output = html("output", { for: id });
  const box = html("div", { class: `ta-control ${long ? "ta-long" : ""}` });
  box.append(html("label", { for: id }, name), input, output);
  ui.controls.append(box);
  input.addEventListener("input", () => ui.set(trait, values ? values[input.value] : Number(input.value)));
  ui.bind(trait, (value) => {
    input.max = top();
    const place = values ? values.indexOf(value) : Math.min(value, top());
    input.value = place;
    const text = show(values ? value : place);
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
  });
  return input;
}

/** A few exclusive choices, all in sight: native radio buttons bound to a trait. */
function choice(ui, { trait, name, values, show = String }) {
  const group = freshId();
  const set = html("fieldset", { class: "ta-choice" }, html("legend", {}, name));
  const inputs = values.map((value) => {
    const input = keepKeys(html("input", { type: "radio", name: group }));
    input.addEventListener("change", () => ui.set(trait, value));
    set.append(html("label", {}, input, show(value)));
    return input;
  });
  ui.controls.append(set);
  ui.bind(trait, (value) => { inputs[values.indexOf(value)].checked = true; });
}

/** A list of longer choices: native select bound to a trait that holds the index. */
function pick(ui, { trait, name, names }) {
  const id = freshId();
  const select = keepKeys(html("select", { id }));
  names.forEach((text, i) => select.append(html("option", { value: i }, text)));
  ui.controls.append(html("div", { class: "ta-control ta-whole" }, html("label", { for: id }, name), select));
  select.addEventListener("change", () => ui.set(trait, Number(select.value)));
  ui.bind(trait, (value) => { select.value = value; });
}

function button(parent, text, action) {
  const node = keepKeys(html("button", { type: "button", class: "ta-button" }, text));
  node.addEventListener("click", action);
  parent.append(node);
  return node;
}

/** Invariants as numbers with a word: rows of [what, why]; the setter takes [number text, word, good?]. */
function facts(parent, caption, rows) {
  const table = html("table", { class: "ta-facts" }, html("caption", {}, caption));
  const cells = rows.map(([what, why]) => {
    const value = html("td", { class: "ta-number" });
    const word = html("td", { class: "ta-word" });
    const head = html("th", { scope: "row" }, what, html("small", {}, why));
    table.append(html("tr", {}, head, value, word));
    return [value, word];
  });
  parent.append(table);
  return (values) => values.forEach(([text, word, good], i) => {
    cells[i][0].textContent = text;
    cells[i][1].textContent = word;
    cells[i][1].dataset.good = good === undefined ? "plain" : String(good);
  });
}

/**
 * N × N scores as colored cells with a color bar; `inset` shortens the bar for the numbers at its ends.
 * Returns where the cells are, the SVG `over` them, and paint(S, limit, colors, show).
 */
function scoreMap(parent, { N, cell, left, right, topEdge, bottom, inset, places, caption, name, down, across }) {
  const size = N * cell;
  const [W, H] = [left + size + right, topEdge + size + bottom];
  const box = html("div", { class: "ta-panel" });
  box.append(html("p", { class: "ta-caption" }, caption, html("small", {}, "equal along each diagonal?")));
  const stack = html("div", { class: "ta-stack", style: `width: ${W}px; aspect-ratio: ${W} / ${H}` });
  const share = (x, whole) => `${(100 * x) / whole}%`;
  const canvas = html("canvas", {
    width: N, height: N, "aria-hidden": "true",
    style: `left: ${share(left, W)}; top: ${share(topEdge, H)}; width: ${share(size, W)}; height: ${share(size, H)}`,
  });
  stack.append(canvas);
  box.append(stack);
  parent.append(box);
  const over = picture(stack, W, H, name);
  over.append(svg("rect", { x: left, y: topEdge, width: size, height: size, class: "ta-axis" }));
  for (const p of places) {
    const at = (p + 0.5) * cell;
    label(over, left - 6, topEdge + at + 4, String(p), "end", "ta-small");
    label(over, left + at, topEdge + size + 15, String(p), "middle", "ta-small");
  }
  label(over, left + size / 2, topEdge + size + 32, across, "middle");
  const middle = topEdge + size / 2;
  label(over, 10, middle, down, "middle").setAttribute("transform", `rotate(-90 10 ${middle})`);
  const stops = ["0%", "50%", "100%"].map((offset) => svg("stop", { offset }));
  const id = freshId();
  over.append(svg("defs", {}, svg("linearGradient", { id, x1: 0, x2: 0, y1: 0, y2: 1 }, ...stops)));
  const bar = { x: left + size + 12, y: topEdge + inset, width: 10, height: size - 2 * inset };
  over.append(svg("rect", { ...bar, fill: `url(#${id})`, class: "ta-legend" }));
  const ends = [topEdge + 10, topEdge + size - 3].map((y) => label(over, bar.x - 2, y, "", "start", "ta-small"));
  label(over, bar.x + 14, middle + 4, "0", "start", "ta-small");
  return {
    left, topEdge, cell, over,
    paint(S, limit, colors, show) {
      const image = new ImageData(N, N);
      S.forEach((value, i) => image.data.set([...colors.at(value / limit), 255], 4 * i));
      canvas.getContext("2d").putImageData(image, 0, 0);
      [colors.plus, colors.zero, colors.negative].forEach((rgb, i) => stops[i].setAttribute("stop-color", css(rgb)));
      ends[0].textContent = `+${show(limit)}`;
      ends[1].textContent = show(-limit);
    },
  };
}

// Python hears of a change when the hand has rested this long: drawing needs no answer, and a message for every key
// press would have the kernel and the notebook's status bar at work between the next key and its picture.
const SAVE_MS = 300;

// ---- life of a widget ------------------------------------------------------------------------------------

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
