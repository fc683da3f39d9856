// NormExplorer: the same vector through LayerNorm and RMSNorm; what changes when it is scaled or shifted?

const NORMS = { layer_norm: "LayerNorm", rms_norm: "RMSNorm" };
const PULL = 12; // px of a drag to the next value of a list
const STAGES = [N_("x"), N_("mean subtracted"), N_("after the norm")];
// Where the bars stood before, the formulas, the mean, and the sizes that the norms divide by: some steps go without.
const EARLIER = { "data-part": "before", "data-of": "scale" };
const FORMULA = { "data-part": "formula", "data-of": "eps" };
const [MEAN, SIZES] = [{ "data-part": "mean", "data-of": "shift" }, { "data-part": "sizes", "data-of": "scale" }];
const [INPUT, GAP, LEAST] = [280, 20, 210]; // px: the input's panel, between panels, the narrowest panel of a norm

function normWidget(ui) {
  const { spec, room } = ui;
  const D = spec.d;
  const exponent = (e) => (e < 1e-2 ? minus(e.toExponential(0)) : String(e));
  slider(ui, { trait: "scale", name: tr("scale"), values: spec.scales, show: short });
  slider(ui, { trait: "shift", name: tr("shift"), values: spec.shifts, show: short });
  slider(ui, { trait: "eps", name: "ε", values: spec.epsilons, show: exponent });
  const bar = ui.row("ta-bar");
  bar.style.margin = "0 0 3px";
  choice(ui, { trait: "show", name: tr("norms as"), values: spec.shows, show: (what) => tr(what) });
  bar.append(ui.controls.lastChild);
  choice(ui, { trait: "stage", name: tr("stage"), values: STAGES.map((_, i) => i), show: (i) => tr(STAGES[i]) });
  const stages = ui.controls.lastChild;
  stages.style.marginLeft = "16px";
  bar.append(stages);
  if (room < 480) ui.readout.style.minHeight = room < 340 ? "116px" : "98px"; // a formula must not move the bars under the hand
  ui.root.append(ui.readout);

  const row = ui.row();
  const wide = room >= INPUT + 2 * (LEAST + GAP);
  const half = Math.floor((room - GAP) / 2);
  const W = wide ? Math.floor((room - INPUT - 2 * GAP) / 2) : half >= LEAST ? half : room;
  const input = inputChart(ui, row, wide ? INPUT : room);
  const charts = Object.entries(NORMS).map(([norm, name], i) => barChart(ui, row, {
    W, left: 22, caption: name,
    formula: i ? "x ÷ √(RMS² + ε)" : "(x − μ) ÷ √(σ² + ε)",
    name: tr("Bars: the eight entries after {norm}", { norm: name }),
    entries: tr("Entries of {norm}", { norm: name }), kind: `ta-fill-${i ? "two" : "one"}`, end: 3.2, ticks: [3, 2, 1, 0, -1, -2, -3], more: { norm },
  }));
  const verdicts = charts.map(({ canvas }) => {
    const node = label(canvas, W - 8, 24, "", "end", "ta-text");
    fill(node, { "data-readout": "verdict", style: "font-size: 15px; font-weight: 700; paint-order: stroke; stroke: var(--ta-paper); stroke-width: 4px" });
    return node;
  });
  const points = Object.entries(NORMS).map(([norm, name], i) => pointPicture(charts[i].canvas.parentNode, {
    W, norm, name: tr("{norm} as the way of one point, seen from the side of the plane of mean 0", { norm: name }), D,
  }));
  const numbers = signs(ui.row(), [
    [tr("LayerNorm(x) against RMSNorm(x − μ)"), tr("largest difference; the same function, at every setting")],
    [tr("LayerNorm: mean, σ"), tr("0 and 1, while ε is small beside the variance")],
    [tr("RMSNorm: mean, RMS"), tr("any mean; 1, while ε is small beside the squares")],
    [tr("from the reference"), tr("largest difference, both functions")],
  ]);

  const mean = (v) => v.reduce((a, b) => a + b, 0) / D;
  const rms = (v) => Math.sqrt(mean(v.map((a) => a * a)));
  const sizes = (v) => ({ mean: mean(v), spread: rms(v.map((a) => a - mean(v))), rms: rms(v) });

  return {
    draw() {
      const [e, a, b] = [["epsilons", "eps"], ["scales", "scale"], ["shifts", "shift"]].map(
        ([list, trait]) => spec[list].indexOf(ui.seen(trait)));
      const [A, B] = [spec.scales.length, spec.shifts.length];
      const [one, zero] = [spec.scales.indexOf(1), spec.shifts.indexOf(0)];
      const at = (e * A + a) * B + b;
      const start = (e * A + one) * B + zero;
      const cut = (table, place) => [...ui.table(table).subarray(place * D, (place + 1) * D)];
      const [x, first] = [cut("x", a * B + b), cut("x", one * B + zero)];
      const of = sizes(x);
      const pointed = ui.get("show") === "points";
      const stage = ui.get("stage");
      stages.hidden = !pointed;
      const [entry, norm] = [ui.seen("entry") ?? -1, ui.seen("norm")];
      const [low, high] = [sizes(first).mean, sizes(first).spread];
      // All that the widget draws of x lies in one plane through 0: (1, …, 1) is up, x₀ − its mean is across.
      const point = (v) => [mean(v.map((a, i) => (a * (first[i] - low)) / high)), mean(v)];
      input.draw(x, of, first, entry, norm);
      const found = ui.table("facts").subarray(at * 4, at * 4 + 4);
      const between = ui.without("before", "scale"); // without the short lines, the norms are compared with each other
      const seen = Object.keys(NORMS).map((name, i) => {
        const [y, right] = [cut(`y_${name}`, at), cut(`ref_y_${name}`, at)];
        const own = ui.table("own")[i] === 1;
        const wrong = y.some((v, j) => !(Math.abs(v - right[j]) <= spec.tolerance));
        charts[i].canvas.style.display = pointed ? "none" : "";
        points[i].canvas.style.display = pointed ? "" : "none";
        if (pointed) {
          const way = [x, i ? x : x.map((v) => v - of.mean), y];
          points[i].draw(stage, way.map((v) => ({ at: point(v), long: Math.sqrt(D) * rms(v) })), wrong ? point(right) : null);
        }
        // The notice says what is not the learner's; a reader without functions has nothing to compare with.
        const [side, bars] = own ? [[N_("yours, from the side"), N_("yours, from the side; hollow: expected")],
          [N_("yours; short lines: at shift 0, scale 1"), N_("yours; dashed: expected")]]
          : [[N_("from the side")], [N_("short lines: at shift 0, scale 1")]];
        charts[i].draw(y, {
          note: tr((pointed ? side : bars)[Number(wrong)]),
          before: cut(`y_${name}`, start), right: wrong ? right : null, entry,
        });
        // x₀ itself is what both are compared with.
        write(verdicts[i], at === start || between ? "" : found[i] <= spec.tolerance ? tr("notices nothing") : tr("notices it"));
        return { y, right };
      });
      const word = (v, yes, no) => [short(v), v <= spec.tolerance ? yes : no, v <= spec.tolerance];
      const [layer, root] = seen.map(({ y }) => sizes(y));
      numbers([
        word(found[2], tr("equal"), tr("broken")),
        [`${fixed(layer.mean, 2)}, ${fixed(layer.spread, 2)}`, ""],
        [`${fixed(root.mean, 2)}, ${fixed(root.rms, 2)}`, ""],
        word(found[3], tr("same"), tr("differs")),
      ]);
      const change = (v) => (v <= spec.tolerance ? tr("unchanged") : tr("changed by {gap}", { gap: short(v) }));
      const scale = [ui.seen("scale"), ui.seen("shift")].map(short);
      const alike = found[0] <= spec.tolerance === found[1] <= spec.tolerance;
      const long = { root: `√${D}`, x: fine(Math.sqrt(D) * of.rms), flat: fine(Math.sqrt(D) * of.spread), high: fixed(Math.sqrt(D) * of.mean, 2),
        layer: fine(Math.sqrt(D) * layer.rms), rms: fine(Math.sqrt(D) * root.rms) };
      ui.say(...(entry >= 0
        ? formulas({ i: entry, x: x[entry], first: first[entry], scale, of, eps: ui.get("eps"), norm, seen, spec, exponent })
        : [tr(between ? N_("scale {scale}, shift {shift}: LayerNorm and RMSNorm differ by {gap} at most.")
          : alike ? N_("scale {scale}, shift {shift}: LayerNorm is {layer}, and RMSNorm is {rms}.")
          : N_("scale {scale}, shift {shift}: LayerNorm is {layer}, but RMSNorm is {rms}."),
        { scale: scale[0], shift: scale[1], layer: change(found[0]), rms: change(found[1]),
          gap: fixed(Math.max(...seen[0].y.map((v, i) => Math.abs(v - seen[1].y[i]))), 3) }),
          pointed ? tr(TOLD[stage], long)
            : `μ = ${fixed(of.mean, places(of))}, σ = ${fine(of.spread)}, RMS = ${fine(of.rms)}`]));
      ui.root.dataset.key = `${at},${pointed ? stage : ""},${fixed(seen[0].y[0], 4)},${fixed(seen[1].y[0], 4)}`;
    },
  };
}

/** Decimals with which x − μ keeps three digits, however small the spread is. */
const places = ({ spread }) => clamp(3 - Math.floor(Math.log10(spread || 1)), 0, 6);

/** Four significant digits, so that what is put into a formula gives what stands behind its last sign. */
const fine = (v) => (v && Math.abs(v) < 1e-3 ? minus(v.toExponential(2)) : minus(String(Number(v.toPrecision(4)))));

/** A number behind a sign: a negative one gets its parentheses. */
const term = (text) => (text.startsWith("−") ? `(${text})` : text);

/** [where the entry comes from, what the norms make of it], both with their numbers. */
function formulas({ i, x, first, scale, of, eps, norm, seen, spec, exponent }) {
  const number = (v) => fixed(v, places(of));
  const ends = ({ y, right }) => {
    const off = !(Math.abs(y[i] - right[i]) <= spec.tolerance);
    return off ? tr("{right}; yours gives {mine}", { right: fixed(right[i]), mine: fixed(y[i]) }) : fixed(right[i]);
  };
  const from = tr("entry {i}: x[{i}] = scale · x₀[{i}] + shift = {scale} · {first} + {shift} = {x};",
    { i, scale: scale[0], first: term(fixed(first)), shift: term(scale[1]), x: number(x) });
  const shifted = `(${number(x)} − ${term(number(of.mean))})`;
  if (norm === "layer_norm") {
    return [from, `LayerNorm: y[${i}] = γ (x[${i}] − μ) ÷ √(σ² + ε) + β = 1 · ${shifted} ÷ ` +
      `√(${fine(of.spread ** 2)} + ${exponent(eps)}) + 0 = ${ends(seen[0])}`];
  }
  if (norm === "rms_norm") {
    return [from, tr("RMSNorm: y[{i}] = γ x[{i}] ÷ √(mean of x² + ε) = 1 · {x} ÷ √({square} + {eps}) = {y}",
      { i, x: term(number(x)), square: fine(of.rms ** 2), eps: exponent(eps), y: ends(seen[1]) })];
  }
  const root = (size) => fine(Math.sqrt(size ** 2 + eps));
  return [from, `LayerNorm: ${shifted} ÷ ${root(of.spread)} = ${ends(seen[0])}; ` +
    `RMSNorm: ${number(x)} ÷ ${root(of.rms)} = ${ends(seen[1])}`];
}

/** Bars up and down from 0, their numbers below; a short line where each bar was, dashes where the reference is. */
function barChart(ui, parent, { W, left, right = 0, caption, formula = "", name, entries, kind, tint = "", end, ticks, more = {} }) {
  const D = ui.spec.d;
  const [topEdge, ih] = [6, 204];
  const H = topEdge + ih + 34;
  const step = (W - left - right) / D;
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const note = html("small", { style: "display: block; margin-left: 0", ...EARLIER });
  // The formula is not bold: with it the caption stays one line, and the three pictures stay level.
  const told = formula && html("span", { style: "font-weight: 400; white-space: nowrap", ...FORMULA }, ` ${formula}`);
  box.append(html("p", { class: "ta-caption" }, caption, told, note));
  parent.append(box);
  const canvas = picture(box, W, H, name);
  const middle = topEdge + ih / 2;
  const y = (v) => middle - (clamp(v / end, -1, 1) * ih) / 2;
  const column = svg("rect", { y: topEdge, width: step, height: ih, style: "fill: var(--ta-panel)" });
  canvas.append(column);
  for (const v of ticks) {
    line(canvas, left, y(v), W, y(v), "ta-grid");
    label(canvas, left - 4, clamp(y(v) + 4, topEdge + 10, topEdge + ih), short(v), "end", "ta-small");
  }
  canvas.append(svg("rect", { x: left, y: topEdge, width: W - left, height: ih, class: "ta-axis" }));
  line(canvas, left, middle, W, middle);
  const bars = Array.from({ length: D }, (_, i) => {
    const x = left + i * step;
    const bar = svg("rect", { x: x + 4, width: step - 8, style: tint });
    const tick = line(canvas, x + 1, 0, x + step - 1, 0, "ta-reference");
    const before = fill(line(canvas, x + 1, 0, x + step - 1, 0, "ta-mark"), EARLIER);
    const on = svg("path", { style: "fill: var(--ta-ink); stroke: var(--ta-paper)" }); // it goes on beyond the axis
    canvas.append(bar, on, tick, before);
    label(canvas, x + step / 2, topEdge + ih + 13, String(i), "middle", "ta-small");
    return { bar, on, tick, before };
  });
  // Of the entry that is pointed at alone: eight numbers are wider than eight bars.
  const value = label(canvas, 0, H - 4, "", "middle", "ta-strong");
  const place = cursor(ui, canvas, {
    name: entries, cross: false,
    box: () => ({ x: left, y: topEdge, width: W - left - right, height: ih }),
    size: () => [D, 1],
    at: () => [ui.seen("entry") ?? 0, 0],
    state: (i) => ({ entry: i, ...more }),
    says: (i) => (ui.seen("entry") === undefined ? tr("none yet") : tr("entry {i}", { i })),
  });
  const across = (node, y) => {
    node.style.visibility = Number.isFinite(y) ? "visible" : "hidden";
    if (Number.isFinite(y)) fill(node, { y1: y.toFixed(1), y2: y.toFixed(1) });
  };
  return {
    canvas, middle, topEdge, ih, y, x: (i) => left + (i + 0.5) * step,
    draw(values, { note: text, before, right: expected = null, entry }) {
      write(note, text);
      place();
      column.style.visibility = entry >= 0 ? "visible" : "hidden";
      if (entry >= 0) fill(column, { x: left + entry * step });
      const told = entry >= 0 ? values[entry] : NaN;
      write(value, entry < 0 ? "" : Math.abs(told) >= 100 ? whole(told) : fixed(told, 2));
      if (entry >= 0) value.setAttribute("x", clamp(left + (entry + 0.5) * step, 16, W - 16)); // words don't travel
      bars.forEach(({ bar, on, tick, before: was }, i) => {
        const v = values[i];
        const seen = Number.isFinite(v);
        bar.style.visibility = seen ? "visible" : "hidden";
        fill(bar, { class: `${kind} ${i === entry ? "ta-lit" : ""}` });
        if (seen) fill(bar, { y: Math.min(y(v), middle).toFixed(1), height: Math.abs(y(v) - middle).toFixed(1) });
        const [up, top] = [v > 0 ? 1 : -1, v > 0 ? topEdge + 2 : topEdge + ih - 2];
        const tip = left + (i + 0.5) * step;
        on.setAttribute("d", Math.abs(v) > end ? `M${tip - 6} ${top + 8 * up}h12l-6 ${-8 * up}z` : ""); // it doesn't travel
        across(tick, expected ? y(expected[i]) : NaN);
        across(was, Math.abs(before[i]) <= end ? y(before[i]) : NaN);
      });
    },
  };
}

const TOLD = [
  N_("x is {flat} along the plane of mean 0 and {root} · μ = {high} above it: {root} · RMS = {x} long."),
  N_("LayerNorm lets x fall on the plane of mean 0, where {root} · σ = {flat} are left. RMSNorm keeps all of {x}."),
  N_("Divided by √(σ² + ε) and √(RMS² + ε): LayerNorm's y is {layer} long, RMSNorm's {rms}. The circle is the sphere of radius {root}, from the side."),
];

/**
 * What a norm does to a vector, as the way of one point: up is along (1, …, 1), across is the plane of mean 0. As in the
 * unit's drawing, the token is round, the mean subtracted square, and the result a triangle.
 */
function pointPicture(box, { W, norm, name, D }) {
  const [topEdge, ih, unit] = [6, 204, 33]; // px of √D, the sphere's radius
  const layer = norm === "layer_norm";
  const [color, H] = [`var(--ta-${layer ? "one" : "two"})`, topEdge + ih + 34];
  const canvas = picture(box, W, H, name);
  const [x, y] = [(v) => W / 2 + v * unit, (v) => topEdge + ih / 2 - v * unit];
  const id = freshId();
  const frame = { x: 0.5, y: topEdge, width: W - 1, height: ih };
  const inside = svg("g", { "clip-path": `url(#${id})` });
  canvas.append(svg("clipPath", { id }, svg("rect", frame)), svg("rect", { ...frame, class: "ta-axis" }), inside);
  line(inside, x(0), topEdge, x(0), topEdge + ih, "ta-grid");
  line(inside, 0, y(0), W, y(0), "ta-mark").style.strokeWidth = 1;
  inside.append(svg("circle", { cx: x(0), cy: y(0), r: unit, class: "ta-diagonal", style: "fill: none" }));
  const [up, flat, radius] = ["(1, …, 1)", tr("mean 0"), `√${D}`].map((text) => label(canvas, 0, 0, text, "start", "ta-small"));
  const ways = [0, 1].map(() => line(inside, 0, 0, 0, 0, "ta-reference"));
  const vector = line(inside, x(0), y(0), x(0), y(0), "");
  vector.style.cssText = `stroke: ${color}; stroke-width: 2.5; ${layer ? "" : "stroke-dasharray: 6 3"}`;
  const shape = (d, style) => {
    const node = svg("path", { d, style });
    inside.append(node);
    return node;
  };
  const TRIANGLE = "M0 -7L6.5 5H-6.5Z";
  const right = shape(TRIANGLE, "fill: none; stroke: var(--ta-reference); stroke-width: 1.6; stroke-dasharray: 2 2");
  const marks = ["M-4.5 0A4.5 4.5 0 1 1 4.5 0A4.5 4.5 0 1 1 -4.5 0Z", "M-4 -4H4V4H-4Z", TRIANGLE]
    .map((d) => shape(d, `fill: ${color}; stroke: var(--ta-paper); stroke-width: 1`));
  const names = [0, 1, 2].map(() => label(canvas, 0, 0, "", "start", "ta-strong"));
  for (const node of names) node.style.cssText = "paint-order: stroke; stroke: var(--ta-paper); stroke-width: 3px";
  const below = label(canvas, W / 2, H - 16, "", "middle", "ta-small");
  const put = (node, at) => {
    const good = at !== null && at.every(Number.isFinite);
    node.style.visibility = good ? "visible" : "hidden";
    if (good) fill(node, { transform: `translate(${x(at[0]).toFixed(2)},${y(at[1]).toFixed(2)})` });
  };
  return {
    canvas,
    /** seen: { at: [across, up] in √D, long } of x, of x as the norm centers it, and of its result */
    draw(stage, seen, expected) {
      const side = seen[0].at[0] < 0 ? 1 : -1; // what the axes are called stands where x is not
      const say = (node, [a, b], anchor) => fill(node, { x: a, y: b, "text-anchor": anchor });
      say(up, [x(0) + 5 * side, topEdge + 13], side < 0 ? "end" : "start");
      say(flat, [x(0) + side * (W / 2 - 4), y(0) + 14], side < 0 ? "start" : "end");
      say(radius, [x(0) + side * unit * 0.75, y(0) + unit * 0.75 + 12], side < 0 ? "end" : "start");
      const here = (i) => seen[Math.min(i, stage)].at;
      const ends = seen.map(({ at }) => at.every(Number.isFinite));
      [0, 1].forEach((i) => {
        ways[i].style.visibility = ends[i] && ends[i + 1] ? "visible" : "hidden";
        const [from, to] = [here(i), here(i + 1)];
        if (ends[i + 1]) fill(ways[i], { x1: x(from[0]), y1: y(from[1]), x2: x(to[0]), y2: y(to[1]) });
      });
      const now = here(2);
      vector.style.visibility = now.every(Number.isFinite) ? "visible" : "hidden";
      if (now.every(Number.isFinite)) fill(vector, { x2: x(now[0]), y2: y(now[1]) });
      marks.forEach((mark, i) => put(mark, i === 1 && !layer ? null : here(i)));
      put(right, stage === 2 ? expected : null);
      const words = ["x", layer ? "x − μ" : "", "y"];
      names.forEach((node, i) => {
        const shown = i <= stage && words[i] && ends[i];
        write(node, shown ? words[i] : "");
        if (!shown) return;
        // Beyond the frame the name stands where the way leaves it.
        const [a, b] = seen[i].at;
        const [w, h] = [(W / 2 - 20) / unit, (ih / 2 - 16) / unit];
        const cut = Math.min(1, w / Math.abs(a || 1e-9), h / Math.abs(b || 1e-9));
        const left = a < 0;
        fill(node, { "text-anchor": left ? "end" : "start" });
        node.setAttribute("x", x(a * cut) + (left ? -8 : 8)); // words don't travel
        node.setAttribute("y", y(b * cut) + (i === 1 ? 18 : i === 2 && b * cut < 0.3 ? -7 : 4));
      });
      const long = seen.slice(0, stage + 1).map(({ long: v }) => short(v));
      write(below, tr("length {way}", { way: (layer ? long : long.filter((_, i) => i !== 1)).join(" → ") }));
    },
  };
}

/** The input's bars, and beside them what the norms measure with: σ from the mean, RMS from 0. Dragged, they move it. */
function inputChart(ui, parent, W) {
  const { spec } = ui;
  const [left, right] = [30, 99];
  const chart = barChart(ui, parent, {
    W, left, right, caption: tr("Input: scale · x₀ + shift"), name: tr("Bars: the eight entries of the input"),
    entries: tr("Entries of Input"), kind: "", tint: "fill: var(--ta-rule)", end: spec.end, ticks: [1, 0.5, 0, -0.5, -1].map((v) => v * spec.end),
  });
  const { canvas, middle, topEdge, ih, y } = chart;
  const edge = W - right;
  const ruler = line(canvas, left, 0, edge + 70, 0, "ta-diagonal");
  const zero = line(canvas, edge, middle, edge + 26, middle);
  const at = (kind) => {
    const g = svg("g", { style: "pointer-events: none", ...SIZES });
    canvas.append(g);
    return { g, draw: arrow(g, kind) };
  };
  const units = { layer_norm: at("ta-one"), rms_norm: at("ta-two") };
  const parts = { layer_norm: at("ta-one"), rms_norm: at("ta-two") };
  fill(label(canvas, edge + 18, middle + 15, "RMS", "middle", "ta-strong"),
    { ...SIZES, style: "paint-order: stroke; stroke: var(--ta-paper); stroke-width: 3px" });
  const move = (values) => ([, y], start) => clamp(start.value + Math.round((start.y - y) / PULL), 0, values.length - 1);
  const grips = [["shift", "μ", edge + 48], ["scale", "σ", edge + 86]].map(([trait, letter, x]) => {
    const values = spec[`${trait}s`];
    const grip = svg("g", {}, svg("rect", { x: x - 12, y: -16, width: 24, height: 32, rx: 8, class: "ta-grip",
      style: "fill: var(--ta-paper)" }), svg("path", { d: `M${x} -13l4 4h-8zM${x} 13l4 -4h-8z`, style: "fill: var(--ta-ink)" }));
    label(grip, x, 4, letter, "middle", "ta-strong");
    fill(grip, trait === "scale" ? SIZES : MEAN);
    canvas.append(handle(ui, grip, {
      canvas, trait, name: tr("grip {letter}: {trait}", { letter, trait: tr(trait) }), values, drag: move(values), says: (i) => short(values[i]),
    }));
    return grip;
  });
  liftBars(ui, canvas);

  return {
    draw(x, { mean, spread, rms }, before, entry, norm) {
      const most = x.reduce((a, v) => (Math.abs(v) > Math.abs(a) ? v : a));
      // A grip that has come to the edge goes on growing: the note says how far.
      const past = [["μ", mean, mean], ["σ", spread, mean + spread]].filter(([, , place]) => Math.abs(place) > spec.end)
        .map(([letter, size]) => `, ${letter} ${short(size)}`).join("");
      const note = Math.abs(most) > spec.end ? tr("arrows: bars go on to {most}{sizes}",
        { most: short(most), sizes: ui.without("mean", "shift") ? past.replace(/, μ[^,]*/, "") : past })
        : tr("short lines: x₀, at shift 0 and scale 1");
      chart.draw(x, { note, before, entry });
      ruler.style.visibility = ui.without("mean", "shift") ? "hidden" : "visible";
      fill(ruler, { y1: y(mean).toFixed(1), y2: y(mean).toFixed(1) });
      const put = ({ g, draw }, place, from, to) => {
        fill(g, { transform: `translate(${place.toFixed(1)},${y(from).toFixed(1)})` });
        draw(0, y(to) - y(from));
      };
      put(units.layer_norm, edge + 68, mean, mean + spread);
      put(units.rms_norm, edge + 18, 0, rms);
      [mean, mean + spread].forEach((v, i) => {
        fill(grips[i], { transform: `translate(0,${clamp(y(v), topEdge + 16, topEdge + ih - 16).toFixed(1)})` });
      });
      // What the norm that is pointed at divides, and what it divides by.
      for (const [i, name] of Object.keys(NORMS).entries()) {
        const told = entry >= 0 && (norm ?? name) === name;
        parts[name].g.style.visibility = told ? "visible" : "hidden";
        units[name].g.style.opacity = norm && norm !== name ? 0.3 : 1;
        if (told) put(parts[name], chart.x(entry) + (norm ? 0 : i ? 4 : -4), i ? 0 : mean, x[entry]);
      }
      fill(zero, { class: norm === "rms_norm" ? "ta-mark" : "ta-axis" });
    },
  };
}

/** A bar that is pressed and moved up or down takes all others along: the hand's way to shift. Sideways it scrubs. */
function liftBars(ui, canvas) {
  const { shifts } = ui.spec;
  const area = canvas.querySelector(".ta-area");
  let start = null;
  area.style.cursor = "grab";
  area.addEventListener("pointerdown", (event) => {
    if (event.button || event.pointerType === "touch") return;
    start = { y: pointIn(canvas, event)[1], place: shifts.indexOf(ui.get("shift")) };
    ui.root.dataset.dragging = "true";
  });
  area.addEventListener("pointermove", (event) => {
    if (!start) return;
    const to = shifts[clamp(start.place + Math.round((start.y - pointIn(canvas, event)[1]) / PULL), 0, shifts.length - 1)];
    if (to !== ui.get("shift")) ui.set("shift", to);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) area.addEventListener(end, () => {
    start = null;
    delete ui.root.dataset.dragging;
  });
}

const widget = { render: mount(normWidget) };
export default widget;
