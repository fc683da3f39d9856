// What every widget draws with. Python joins the files of this folder and the widget's own into one ES module, in the
// order of SCRIPTS in base.py: there is no bundler and nothing is fetched.

// An HTML parser gives inline <svg> its namespace, so that no address has to be written down here.
const SVG = (() => {
  const box = document.createElement("template");
  box.innerHTML = "<svg></svg>";
  return box.content.firstChild.namespaceURI;
})();

/** Sets the attributes that have changed: a picture that is drawn again for each move of a hand changes little. */
function fill(node, attributes, children = []) {
  for (const name in attributes) {
    const value = String(attributes[name]);
    if (!travels(node, name, value) && node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Text of a node, written only where it has changed. */
function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const freshId = () => "ta" + Math.random().toString(36).slice(2, 10);
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

// ---- words -----------------------------------------------------------------------------------------------

// English stands in these scripts; Python hands over what the page says in its place (`spec.says`), when the kernel
// speaks another language. Numbers look in all languages as Python prints them.
let spoken = {};

/** The words in the page's language. `{name}` is a place for a value. */
const tr = (english, values = {}) =>
  (spoken[english] ?? english).replace(/\{(\w+)\}/g, (place, name) => (name in values ? String(values[name]) : place));

/** Marks words that stand in a list; `tr` is asked where they are shown. */
const N_ = (english) => english;

// ---- numbers as text -------------------------------------------------------------------------------------

const minus = (text) => text.replaceAll("-", "\u2212");

/** Fixed decimals with a true minus sign; a not-a-number is said, never drawn as 0. */
function fixed(x, digits = 3) {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x < 0 ? "\u2212∞" : "∞";
  const text = x.toFixed(digits);
  return minus(Number(text) === 0 ? text.replace("-", "") : text);
}

// Made once: toLocaleString makes one for each call, at ten times the cost.
const THREE_DIGITS = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
const WHOLE = new Intl.NumberFormat("en-US");

/** Three significant digits: 1.2e−7, 0.251, 54,400 … */
function short(x) {
  if (!Number.isFinite(x)) return fixed(x);
  if (x !== 0 && Math.abs(x) < 1e-3) return minus(x.toExponential(1));
  return minus(THREE_DIGITS.format(x));
}

const whole = (x) => (Number.isFinite(x) ? minus(WHOLE.format(Math.round(x))) : fixed(x));

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

/** The page's theme as JupyterLab, VS Code or Colab (colabtools #1214) says it; the system's where none does. */
const isDark = () => {
  const { jpThemeLight: lab, vscodeThemeKind: code } = document.body.dataset;
  const colab = document.documentElement.getAttribute("theme");
  if (lab !== undefined) return lab === "false";
  if (code !== undefined) return !code.endsWith("light");
  return colab === null ? matchMedia("(prefers-color-scheme: dark)").matches : colab === "dark";
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
    dot: dark ? [255, 255, 255] : [0, 0, 0], // marks what is negative
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
  const draw = ([length, angle]) => {
    const [x, y] = [length * Math.cos(angle), length * Math.sin(angle)];
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
  // It turns the shorter way round and keeps its length meanwhile: between two of its places there is no third one.
  let angle = 0;
  return (x, y) => {
    const turn = Math.atan2(y, x) - angle;
    if (Number.isFinite(turn)) angle += Math.atan2(Math.sin(turn), Math.cos(turn));
    glide(shaft, "arrow", [Math.hypot(x, y), angle], draw);
  };
}
