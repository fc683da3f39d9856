// ActivationExplorer: the curve of an activation, its slope, what it does as a gate, and the units it silences.

const TALL = 180; // px of the curve's frame
const [GATE, UNITS, GAP] = [212, 210, 20]; // px: panels beside the curve, and between panels
const ROUNDING = 1e-9; // what is smaller is 0
const REACH_OF_TANGENT = 1.1; // in x, to each side

function activationWidget(ui) {
  const { spec, room } = ui;
  const name = () => spec.names[ui.get("activation")];
  pick(ui, { trait: "activation", name: tr("activation"), names: spec.names });
  slider(ui, { trait: "place", name: tr("input x"), max: spec.x.length - 1, show: (i) => fixed(spec.x[i], 2), kind: "ta-one" });
  const beta = slider(ui, { trait: "beta", name: tr("β of swish"), values: spec.betas, show: (b) => (name() === "swish" ? short(b) : "–") });
  const size = slider(ui, { trait: "value", name: tr("value v"), values: spec.values, show: (v) => fixed(v, 2), kind: "ta-two" });
  const moved = slider(ui, { trait: "shift", name: tr("shift of all units"), values: spec.shifts, show: (s) => minus(String(s)) });
  choice(ui, { trait: "look", name: tr("look at"), values: spec.looks, show: (what) => tr(what) });
  ui.controls.lastElementChild.style.gridColumn = room >= 700 ? "span 2" : "1 / -1";
  if (room < 480) ui.readout.style.minHeight = room < 340 ? "134px" : "98px"; // a longer formula must not move the curve
  ui.root.append(ui.readout);

  const row = ui.row();
  const wide = room >= GATE + UNITS + 2 * GAP + 290;
  const pair = room >= GATE + UNITS + GAP;
  const curve = curvePanel(ui, row, wide ? room - GATE - UNITS - 2 * GAP : room);
  const gate = gatePanel(ui, row, wide ? GATE : pair ? room - UNITS - GAP : room);
  const units = unitPanel(ui, row, wide || pair ? UNITS : Math.min(room, 330));
  const layers = layerPanel(ui, row, room);
  Object.assign(gate.box.dataset, { part: "gate", of: "value" });
  Object.assign(units.box.dataset, { part: "units", of: "shift" });
  row.style.justifyContent = "center"; // where a step leaves panels out
  const below = ui.row();
  const numbers = signs(below, [
    [tr("from the reference"), tr("largest |f − reference| for x in −4…4")],
    [tr("slope by hand"), tr("largest difference from autograd's")],
    [tr("largest gap to ReLU"), tr("largest |f − max(x, 0)| for x in −4…4")],
    [tr("dead units"), tr("0 for all 64 inputs: no gradient at all")],
    [tr("flat slopes"), tr("share of slopes below {limit} in size, of all units and inputs", { limit: spec.flat })],
  ]);

  const items = [...below.querySelectorAll("li")];
  return {
    draw() {
      const now = name();
      const added = ui.get("look") === spec.looks[0];
      beta.parentNode.hidden = now !== "swish"; // a control that moves nothing is not there
      const [gated, counted] = [gate.box, units.box].map(({ dataset: { part, of } }) => !added && !ui.without(part, of));
      size.parentNode.hidden = gate.box.hidden = !gated;
      moved.parentNode.hidden = units.box.hidden = !counted;
      curve.box.hidden = added;
      curve.only(counted);
      layers.box.hidden = !added;
      // Slopes, dead units and flat slopes are those of the hidden pictures.
      const at = now === "swish" ? spec.betas.indexOf(ui.seen("beta")) : 0;
      const N = spec.x.length;
      const cut = (table) => ui.table(`${table}_${now}`).subarray(at * N, (at + 1) * N);
      const [f, d, right, rightSlope] = ["f", "d", "ref_f", "ref_d"].map(cut);
      const [place, value, shift, unit] = [ui.seen("place"), ui.get("value"), ui.get("shift"), ui.seen("unit") ?? -1];
      const own = ui.table("own")[ui.get("activation")] === 1;
      curve.draw({ f, d, right, place, shift, unit, own, toRelu: now === "swish" });
      gate.draw(f, value, place);
      const weights = WEIGHTS.map((name) => ui.get(name));
      const sum = layers.draw(f, place, weights);

      const both = 2 * spec.units;
      const from = (at * spec.shifts.length + spec.shifts.indexOf(shift)) * both;
      const share = ui.table(`u_${now}`).subarray(from, from + both);
      const [silent, flat] = [share.subarray(0, spec.units), share.subarray(spec.units)];
      units.draw(silent, flat, palette(ui.dark), unit);
      const dead = silent.filter((v) => v === 1).length;
      const mean = flat.reduce((a, b) => a + b, 0) / spec.units;

      const [far, relu, hand] = ui.table("facts").subarray((ui.get("activation") * spec.betas.length + at) * 3);
      const good = far <= spec.tolerance;
      // A slope by hand is given for few functions, and for swish with β = 1 alone.
      const given = !ui.get("alone");
      const numbered = [own || given, !added && !Number.isNaN(hand), !added && now === "swish" && given, counted, counted];
      items.forEach((item, i) => { item.hidden = !numbered[i]; });
      numbers([
        own ? [short(far), good ? tr("same") : tr("differs"), good] : ["–", ""],
        [short(hand), hand <= spec.tolerance ? tr("ok") : tr("broken"), hand <= spec.tolerance],
        [short(relu), ""],
        [tr("{n} of {all}", { n: dead, all: spec.units }), ""],
        [`${fixed(100 * mean, 0)} %`, ""],
      ]);
      const [x, y, slope] = [spec.x[place], f[place], d[place]];
      const here = { name: now, x: fixed(x, 2), y: told(y), slope: told(slope), dead, units: spec.units,
        value: term(fixed(value * x, 2)), product: told(y * value * x) };
      if (unit >= 0) ui.say(...unitWords(unit, curve.inputs(unit, shift), silent[unit], flat[unit], spec.flat));
      else if (added) {
        ui.say(tr("{name} at x = {x}: f(x) = {y}, slope {slope}.", here),
          Number.isFinite(sum) ? tr("Sum = {formula} = {sum}", { formula: summed(weights, x), sum: told(sum) }) : "");
      } else {
        ui.say(tr(LINES[`${gated ? "gate" : ""}${counted ? "units" : ""}`], here),
          formulas(now, x, ui.seen("beta"), [right[place], y], [rightSlope[place], slope], spec.tolerance));
      }
      ui.root.dataset.key = `${now},${added},${at},${place},${value},${shift},${weights},${fixed(y, 4)}`;
    },
  };
}

/** What the line says, by the panels that are there beside the curve. */
const LINES = {
  "": N_("{name} at x = {x}: f(x) = {y}, slope {slope}."),
  gate: N_("{name} at x = {x}: gate {y} · value {value} = {product}."),
  units: N_("{name} at x = {x}: f(x) = {y}, slope {slope}; {dead} of {units} units dead."),
  gateunits: N_("{name} at x = {x}: gate {y} · value {value} = {product}; {dead} of {units} units dead."),
};

/** A number behind a sign: a negative one gets its parentheses. */
const term = (text) => (text.startsWith("−") ? `(${text})` : text);

/**
 * Three decimals, or two digits of what would be 0.000: numbers put into a formula must give what stands behind it.
 * What is 0 up to rounding is 0.
 */
const told = (v) => (Math.abs(v) >= ROUNDING && Math.abs(v) < 1e-3 ? short(v) : fixed(v));

/** For each activation: how f and its slope come about, with the numbers put in. f and d are what comes out. */
const FORMULAS = {
  relu: (x, f) => [`max(0, x) = max(0, ${fixed(x, 2)}) = ${f}`, x > 0 ? tr("1 for x > 0") : tr("0 for x < 0")],
  leaky_relu: (x, f) => (x > 0 ? [tr("x for x > 0, = {f}", { f }), tr("1 for x > 0")]
    : [`0.01 · x = 0.01 · ${term(fixed(x, 2))} = ${f}`, tr("0.01 for x < 0")]),
  elu: (x, f, d) => (x > 0 ? [tr("x for x > 0, = {f}", { f }), tr("1 for x > 0")]
    : [`exp(x) − 1 = exp(${fixed(x, 2)}) − 1 = ${f}`, `exp(x) = ${d}`]),
  squared_relu: (x, f, d) => [`max(0, x)² = max(0, ${fixed(x, 2)})² = ${f}`,
    `2 · max(0, x) = 2 · ${fixed(Math.max(0, x), 2)} = ${d}`],
  gelu: (x, f, d, beta, raw) => {
    const below = told(x ? raw / x : 0.5); // Φ: the share of normal numbers below x
    return [`x · Φ(x) = ${fixed(x, 2)} · ${below} = ${f}`,
      `Φ(x) + x · φ(x) = ${below} + ${term(fixed(x, 2))} · ${told(Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI))} = ${d}`];
  },
  gelu_tanh: (x, f, d) => {
    const [a, b] = [Math.sqrt(2 / Math.PI), 0.044715 * Math.sqrt(2 / Math.PI)];
    const t = Math.tanh(a * x + b * x ** 3);
    const gate = told((1 + t) / 2);
    return [`x · s = ${fixed(x, 2)} · ${gate} = ${f}, s = (1 + tanh(0.798 x + 0.0357 x³)) ÷ 2`,
      `s + x · s′ = ${gate} + ${term(fixed(x, 2))} · ${told(((1 - t * t) / 2) * (a + 3 * b * x * x))} = ${d}`];
  },
  swish: (x, f, d, beta) => {
    const [s, r] = [1 / (1 + Math.exp(-beta * x)), 1 / (1 + Math.exp(beta * x))].map(told);
    return [`x · σ(βx) = ${fixed(x, 2)} · ${s} = ${f}`,
      `σ + βx · σ · (1 − σ) = ${s} + ${term(fixed(beta * x, 2))} · ${s} · ${r} = ${d}`];
  },
  sigmoid: (x, f, d) => [`1 ÷ (1 + exp(−x)) = 1 ÷ (1 + ${short(Math.exp(-x))}) = ${f}`,
    `f · (1 − f) = ${f} · ${told(1 / (1 + Math.exp(x)))} = ${d}`],
  tanh: (x, f, d) => [`tanh(x) = ${f}`, `1 − f² = 1 − ${term(f)}² = ${d}`],
};

/** f and f′ with their numbers; [right, mine] of each, told apart where they differ. */
function formulas(name, x, beta, [right, mine], [rightSlope, slope], tolerance) {
  const kink = Math.abs(x) < 1e-6 && (name === "relu" || name === "leaky_relu");
  const [f, d] = FORMULAS[name](kink ? 0 : x, told(right), told(rightSlope), beta, right);
  const shown = (how, a, b) => (Math.abs(a - b) <= tolerance ? how : tr("{formula}, yours gives {value}", { formula: how, value: told(b) }));
  return tr(kink ? N_("f(x) = {f}; f′(x) has no value at 0; autograd takes {slope}") : N_("f(x) = {f}; f′(x) = {d}"),
    { f: shown(f, right, mine), d: shown(d, rightSlope, slope), slope: fixed(slope, 2) });
}

/** A unit's inputs, and how many of them still teach it something. */
function unitWords(unit, inputs, silent, flat, limit) {
  const [low, high] = [Math.min(...inputs), Math.max(...inputs)];
  const n = inputs.length;
  const steep = Math.round(n * (1 - flat));
  const zeros = Math.round(n * silent);
  return [tr("unit {unit}: {n} inputs from {low} to {high}.", { unit, n, low: fixed(low, 2), high: fixed(high, 2) }),
    tr("|f′| is at least {limit} for {steep} of them: {steep} ÷ {n} = {share} % still learn.",
      { limit, steep, n, share: fixed((100 * steep) / n, 0) }) +
    (silent === 1 ? tr(" f = 0 for all {n}: the unit is dead.", { n })
      : tr(zeros ? N_(" f is exactly 0 for {zeros}.") : N_(" f is exactly 0 for none."), { zeros }))];
}

/** Axes over x = −reach…reach with curves that are cut off at the frame, and a cursor along x; apart: its numbers. */
function plotPanel(ui, parent, texts) {
  const { spec } = ui;
  const { W, tall, left, right, low, high, ticks, caption, name, cursorName, below, reach = spec.reach, apart = 2 } = texts;
  const topEdge = 8;
  const iw = W - left - right;
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const note = html("small", { style: "display: block; margin-left: 0" });
  const title = html("span", {}, caption);
  box.append(html("p", { class: "ta-caption" }, title, note));
  parent.append(box);
  const canvas = picture(box, W, topEdge + tall + below, name);
  const x = (v) => left + ((v + reach) / (2 * reach)) * iw;
  const y = (v) => topEdge + ((high - v) / (high - low)) * tall;
  for (let v = -reach; v <= reach; v += apart) {
    line(canvas, x(v), topEdge, x(v), topEdge + tall, v ? "ta-grid" : "ta-axis");
    label(canvas, x(v), topEdge + tall + 14, minus(String(v)), "middle", "ta-small");
  }
  for (const v of ticks) {
    line(canvas, left, y(v), left + iw, y(v), v ? "ta-grid" : "ta-axis");
    if (left > 20) label(canvas, left - 5, y(v) + 4, minus(String(v)), "end", "ta-small"); // else its neighbor has them
  }
  const id = freshId();
  const frame = { x: left, y: topEdge, width: iw, height: tall };
  canvas.append(svg("clipPath", { id }, svg("rect", frame)), svg("rect", { ...frame, class: "ta-axis" }));
  const reader = line(canvas, 0, topEdge, 0, topEdge + tall, "ta-diagonal");
  const inside = svg("g", { "clip-path": `url(#${id})` });
  const over = svg("g", { style: "pointer-events: none" });
  canvas.append(inside);
  const first = spec.x.findIndex((v) => v > -reach - 1e-6);
  const columns = spec.x.length - 2 * first;
  const step = iw / (columns - 1);
  const place = cursor(ui, canvas, {
    name: cursorName, cross: false,
    box: () => ({ x: left - step / 2, y: topEdge, width: iw + step, height: tall }),
    size: () => [columns, 1],
    at: () => [clamp(ui.seen("place") - first, 0, columns - 1), 0],
    state: (i) => ({ place: i + first }),
    says: (i) => `x = ${fixed(spec.x[i + first], 2)}`,
  });
  canvas.append(over);
  return {
    canvas, x, y, iw, bottom: topEdge + tall,
    path(kind, style = "") { const p = svg("path", { class: kind, style }); inside.append(p); return p; },
    spot(kind, style = "") { const c = svg("circle", { r: 6, class: kind, style }); over.append(c); return c; },
    word(text) { // with a rim, because it stands among curves
      const node = label(over, 0, 0, text, "start", "ta-strong");
      fill(node, { style: "paint-order: stroke; stroke: var(--ta-paper); stroke-width: 3px" });
      return node;
    },
    draw(path, ys) {
      const points = spec.x.map((v, i) => [x(v), y(clamp(ys(i), low - 9, high + 9))]);
      fill(path, { d: trace(points) });
    },
    move(spot, a, b) {
      spot.style.visibility = Number.isFinite(b) ? "visible" : "hidden";
      if (Number.isFinite(b)) fill(spot, { cx: x(a).toFixed(1), cy: y(clamp(b, low, high)).toFixed(1) });
    },
    read(a) {
      place();
      reader.style.visibility = Math.abs(a) < reach + 1e-6 ? "visible" : "hidden";
      fill(reader, { x1: x(a).toFixed(1), x2: x(a).toFixed(1) });
    },
    note: (text) => write(note, text),
    title: (text) => write(title, text),
  };
}

/** A grip with two small triangles: across for what moves sideways, else up and down. Drawn around (0, 0). */
function grip(letter, wide, across) {
  const [w, h] = [wide, across ? 24 : 34];
  const d = across ? `M${3 - w / 2} 0l5 -4v8zM${w / 2 - 3} 0l-5 -4v8z` : "M0 -14l4 4h-8zM0 14l4 -4h-8z";
  const node = svg("g", {}, svg("rect", { x: -w / 2, y: -h / 2, width: w, height: h, rx: 8, class: "ta-grip",
    style: "fill: var(--ta-paper)" }), svg("path", { d, style: "fill: var(--ta-ink)" }));
  return { node, text: label(node, 0, 4, letter, "middle", "ta-strong") };
}

/** f, its slope and the tangent; below them where the units' inputs lie. The heap of inputs is dragged: the shift. */
function curvePanel(ui, parent, W) {
  const { spec } = ui;
  const [heap, left, right] = [28, 26, 12];
  const plot = plotPanel(ui, parent, {
    W, tall: TALL, left, right, low: -1.5, high: 4.2, ticks: [-1, 0, 1, 2, 3, 4], caption: tr("Curve f and slope f′"),
    name: tr("Curve of the activation and its slope for x from −4 to 4; below, the inputs of all units"),
    cursorName: tr("Curve: input x"), below: 22 + heap + 30,
  });
  const { canvas, x, y, iw } = plot;
  const [roof, floor] = [plot.bottom + 22, plot.bottom + 22 + heap];
  const dots = "fill: none; stroke: var(--ta-two); stroke-width: 2; stroke-dasharray: 2 3";
  const thin = "fill: none; stroke: var(--ta-reference); stroke-width: 1.2";
  const paths = { relu: plot.path("", thin), reference: plot.path("ta-reference"), slope: plot.path("", dots), mine: plot.path("ta-mine") };
  const tangent = plot.path("ta-mark");
  const spots = { d: plot.spot("ta-open-two", "stroke-width: 2.5"), f: plot.spot("ta-here", "fill: var(--ta-one)") };
  const names = { f: plot.word("f"), d: plot.word("f′") };

  // Parts of x with a flat slope are hatched; the heap and the ticks stand on them.
  const hatch = freshId();
  const frame = { x: left, y: roof, width: iw, height: heap };
  canvas.append(svg("defs", {}, svg("pattern", { id: hatch, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    svg("path", { d: "M0 6L6 0", style: "stroke: var(--ta-two); stroke-width: 1.2" }))));
  const flats = svg("path", { fill: `url(#${hatch})` });
  const hill = svg("path", { style: "fill: var(--ta-reference); fill-opacity: 0.55" });
  const ticks = svg("path", { class: "ta-mark", style: "stroke-width: 1.2" });
  const foot = svg("g");
  canvas.append(foot);
  foot.append(flats, hill, ticks, svg("rect", { ...frame, class: "ta-axis" }));
  const words = label(foot, 0, floor + 19, "", "start", "ta-small");
  const pill = grip("", 50, true);
  foot.append(handle(ui, pill.node, {
    canvas, trait: "shift", name: tr("heap of inputs: shift of all units"), values: spec.shifts, says: (i) => minus(String(spec.shifts[i])),
    drag: ([hand], start) => clamp(start.value + Math.round(((hand - start.x) * 2 * spec.reach) / iw), 0, spec.shifts.length - 1),
  }));
  const inputs = (unit, shift) => {
    const all = ui.table("pre");
    return Array.from({ length: all.length / spec.units }, (_, t) => all[t * spec.units + unit] + shift);
  };
  /** Outline of the heap of all inputs, in steps of a quarter. */
  const outline = (shift) => {
    const [bins, width] = [8 * spec.reach, 0.25];
    const counts = new Array(bins).fill(0);
    for (const v of ui.table("pre")) {
      const bin = Math.floor((v + shift + spec.reach) / width);
      if (bin >= 0 && bin < bins) counts[bin] += 1;
    }
    const most = Math.max(...counts);
    const heights = counts.map((n) => floor - (n / Math.max(most, 1)) * (heap - 3));
    // From edge to edge of the frame; between them the middle of each bin.
    return [[left, heights[0]], ...heights.map((h, i) => [x((i + 0.5) * width - spec.reach), h]), [left + iw, heights.at(-1)]];
  };

  return {
    inputs, box: canvas.parentNode,
    /** Without the units, their heap of inputs leaves no gap. */
    only(counted) {
      const H = counted ? floor + 30 : plot.bottom + 22;
      foot.style.display = counted ? "" : "none";
      fill(canvas, { viewBox: `0 0 ${W} ${H}`, height: H });
    },
    draw({ f, d, right: expected, place, shift, unit, own, toRelu }) {
      const at = spec.x[place];
      plot.read(at);
      plot.draw(paths.reference, (i) => expected[i]);
      plot.draw(paths.slope, (i) => d[i]);
      plot.draw(paths.mine, (i) => f[i]);
      plot.draw(paths.relu, (i) => (toRelu ? Math.max(0, spec.x[i]) : NaN));
      const legend = own ? tr("blue: yours; dashed: reference; dots: slope") : tr("blue: f; dots: its slope f′");
      plot.note(toRelu ? tr("{legend}; thin: relu", { legend }) : legend);
      plot.move(spots.f, at, f[place]);
      plot.move(spots.d, at, d[place]);
      const reach = REACH_OF_TANGENT;
      fill(tangent, { d: trace([-reach, reach].map((h) => [x(at + h), y(f[place] + h * d[place])])) });
      const higher = f[place] >= d[place];
      for (const [name, v, up] of [["f", f[place], higher], ["d", d[place], !higher]]) {
        names[name].style.visibility = Number.isFinite(v) ? "visible" : "hidden";
        const beside = at > 3.4 ? -20 : up ? -16 : 9;
        if (Number.isFinite(v)) fill(names[name], { x: (x(at) + beside).toFixed(1), y: (y(clamp(v, -1.2, 3.9)) + (up ? -9 : 17)).toFixed(1) });
      }

      const half = iw / (spec.x.length - 1) / 2;
      fill(flats, { d: spec.x.map((v, i) => (Math.abs(d[i]) < spec.flat ? `M${(x(v) - half).toFixed(1)} ${roof}h${(2 * half).toFixed(2)}v${heap}h-${(2 * half).toFixed(2)}z` : "")).join("") });
      fill(hill, { d: `${trace(outline(shift))}V${floor}H${left}Z` });
      fill(ticks, { d: unit < 0 ? "" : inputs(unit, shift).filter((v) => Math.abs(v) <= spec.reach).map((v) => `M${x(v).toFixed(1)} ${floor}v-${heap - 6}`).join("") });
      hill.style.opacity = unit < 0 ? 1 : 0.35;
      const middle = clamp(x(shift), left + 24, W - 25);
      fill(pill.node, { transform: `translate(${middle.toFixed(1)},${floor + 15})` });
      write(pill.text, minus(String(shift)));
      write(words, tr(W < 320 ? N_("hatched: flat") : unit < 0 ? N_("inputs of all units; hatched: flat") : N_("inputs of unit {unit}; hatched: flat"), { unit }));
      const leftHand = middle < left + iw / 2;
      fill(words, { "text-anchor": leftHand ? "start" : "end", x: (leftHand ? Math.max(middle + 32, left) : Math.min(middle - 32, W)).toFixed(1) });
    },
  };
}

/** One cell per unit: how many of its 64 slopes are not flat; a cross where the unit is dead. */
function unitPanel(ui, parent, W) {
  const { units } = ui.spec;
  const columns = 8;
  const rows = units / columns;
  const [cw, ch] = [(W - 2) / columns, 49];
  const H = rows * ch + 2;
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  box.append(html("p", { class: "ta-caption" }, tr("Units that still learn"),
    html("small", { style: "display: block; margin-left: 0" }, tr("% of slopes not flat; ×: dead"))));
  parent.append(box);
  const canvas = picture(box, W, H, tr("Forty units: share of inputs with a slope that is not flat, and which units are dead"));
  const cells = Array.from({ length: units }, (_, i) => {
    const [x, y] = [(i % columns) * cw + 1, Math.floor(i / columns) * ch + 1];
    const rect = svg("rect", { x, y, width: cw, height: ch, class: "ta-cell" });
    canvas.append(rect);
    const text = label(canvas, x + cw / 2, y + ch / 2 + 4, "", "middle", "ta-onfill");
    text.dataset.ink = "own";
    return [rect, text];
  });
  const mark = svg("rect", { width: cw, height: ch, class: "ta-mark", style: "stroke-width: 3" });
  canvas.append(mark);
  const place = cursor(ui, canvas, {
    name: tr("Units"), cross: false,
    box: () => ({ x: 1, y: 1, width: W - 2, height: rows * ch }),
    size: () => [columns, rows],
    at: () => [(ui.seen("unit") ?? 0) % columns, Math.floor((ui.seen("unit") ?? 0) / columns)],
    state: (column, row) => ({ unit: row * columns + column }),
    says: (column, row) => (ui.seen("unit") === undefined ? tr("none yet") : tr("unit {unit}", { unit: row * columns + column })),
  });
  return {
    box,
    draw(silent, flat, colors, unit) {
      place();
      cells.forEach(([rect, text], i) => {
        const dead = silent[i] === 1;
        const rgb = dead ? colors.at(-0.8) : colors.at(0.9 * (1 - flat[i]));
        fill(rect, { fill: css(rgb) });
        fill(text, { fill: inkOn(rgb) });
        write(text, dead ? "×" : `${Math.round(100 * (1 - flat[i]))}`);
      });
      mark.style.visibility = unit >= 0 ? "visible" : "hidden";
      if (unit >= 0) fill(mark, { x: (unit % columns) * cw + 1, y: Math.floor(unit / columns) * ch + 1 });
    },
  };
}

const widget = { render: mount(activationWidget) };
export default widget;
