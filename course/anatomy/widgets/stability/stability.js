// SoftmaxStabilityExplorer: a row of scores grows; what softmax makes of it, dtype by dtype and remedy by remedy.

const NAMES = ["no remedy", "soft cap", "QK-norm"];
const HUES = ["one", "two", "good"];
const DRAG = 8; // px for one step of the growth

function stabilityWidget(ui) {
  const { spec } = ui;
  const room = Math.max(ui.room, 280); // a page that is still being laid out may have none
  const wide = room >= 700;
  const run = () => ui.get("grow") === spec.growth[1];
  choice(ui, { trait: "grow", name: "scores grow", values: spec.growth });
  choice(ui, { trait: "quantity", name: "curve shows", values: spec.quantities });
  const choices = html("div", { class: "ta-bar", style: "grid-column: 1 / -1; column-gap: 24px; row-gap: 0" });
  choices.append(...ui.controls.children);
  ui.controls.append(choices);
  const inputs = {
    factor: slider(ui, { trait: "factor", name: "factor", max: spec.factors.length - 1, show: (i) => short(spec.factors[i]) }),
    run_step: slider(ui, { trait: "run_step", name: "step of the run", max: spec.steps.length - 1, show: (i) => String(spec.steps[i]) }),
  };
  slider(ui, { trait: "cap", name: "soft cap c", values: spec.caps, kind: "ta-two" });
  slider(ui, { trait: "gain", name: "gain of QK-norm", values: spec.gains });
  slider(ui, { trait: "coefficient", name: "λ of z-loss", values: spec.coefficients });
  ui.readout.style.minHeight = `${wide ? 62 : 152}px`; // room for a formula, so that nothing moves under the hand
  ui.root.append(ui.readout);

  const [F, K, A] = [spec.factors.length, spec.keys, spec.factors.length + spec.steps.length];
  // How far the scores have grown is one of two traits; the hand and the keys move the one that counts.
  const moved = () => (run() ? "run_step" : "factor");
  const last = () => (run() ? spec.steps.length : F) - 1;
  const growth = {
    __proto__: ui,
    get: () => Math.min(ui.get(moved()), last()),
    set: (_, i) => ui.set(moved(), i),
    bind: (_, show) => ["factor", "run_step", "grow"].forEach((name) => ui.bind(name, () => show(growth.get()))),
  };

  const top = ui.row();
  top.style.gap = "6px 12px";
  const W = Math.floor((room - (wide ? 36 : 12)) / (wide ? 4 : 2));
  const bars = NAMES.map((name, i) => rowBars(ui, top, W, name, `Softmax weights of eight scores, ${name}`, HUES[i], i));
  const pull = rowBars(ui, top, W, "gradient of z-loss", "Gradient of z-loss by each of the eight logits", "reference", 3);
  scoreGrip(growth, bars[0].canvas, last, () => short(scene().now[0][0]));

  const middle = ui.row();
  const curve = curvePanel(ui, middle, wide ? room - 352 : room, () => [last() + 1, moved()]);
  const left = html("div", { class: "ta-panel", style: `width: ${wide ? 332 : room}px` });
  middle.append(left);
  const dtypes = dtypeTable(ui, left);
  const whose = signs(ui.row(), spec.names.map((name) => [name, "largest relative difference from the reference"]));

  const own = (name) => ui.table("own")[spec.names.indexOf(name)] === 1;
  const tag = (name) => (own(name) ? "yours" : "the reference's");

  /** What is on show: the growth that is pointed at or set, and the scores it gives, plain and under each remedy. */
  function scene() {
    const from = run() ? F : 0;
    const at = from + Math.min(ui.seen(moved()), last());
    const [c, g, l] = [["caps", "cap"], ["gains", "gain"], ["coefficients", "coefficient"]].map(
      ([list, trait]) => spec[list].indexOf(ui.get(trait)));
    const cut = (table, block, place) => [...ui.table(table).subarray((block * A + place) * K, (block * A + place + 1) * K)];
    const rows = (place) => [cut("x", 0, place), cut("y_soft_cap", c, place), cut("s_qk_norm", g, place)];
    return { at, from, c, g, l, cut, rows, now: rows(at), key: ui.seen("key"), panel: ui.seen("panel") };
  }

  let drawn = ""; // the setting whose curves stand there: pointing along them changes none
  return {
    stale() { drawn = ""; },
    draw() {
      inputs.factor.disabled = run();
      inputs.run_step.disabled = !run(); // a control that moves nothing should say so
      const it = scene();
      const { at, from, c, g, l, cut, now } = it;
      const measured = (place) => {
        const found = it.rows(place).map((x) => measuresOf(x));
        found[1].values[2] *= cut("d_soft_cap", c, place)[0]; // what reaches the score before the cap
        return found;
      };
      const found = measured(at);
      const slope = cut("d_soft_cap", c, at)[0];
      const bound = ui.table("b_qk_norm_bound")[g];
      const notes = [`drag the scores ↔; factor ${short(now[0][0] / 2)}`, `${tag("soft_cap")}, slope ${short(slope)}`,
        `${tag("qk_norm")}, bound ${short(bound)}`];
      const tidy = (v) => short3(Math.abs(v) < 1e-5 ? 0 : v);
      now.forEach((x, i) => bars[i].draw(x.map(tidy), found[i].p, 1, notes[i], (p) => fixed(p, 3), it));
      const gradient = cut("g_z_loss_gradient", l, at);
      const loss = ui.table("v_z_loss")[l * A + at];
      pull.draw(gradient.map((_, i) => `logit ${i}`), gradient, Math.max(...gradient.map(Math.abs), 1e-12),
        `${tag("z_loss_gradient")}; loss ${short(loss)}`, short3, it);

      const which = spec.quantities.indexOf(ui.get("quantity"));
      const setting = [run(), c, g, which].join();
      if (setting !== drawn) {
        drawn = setting;
        const across = Array.from({ length: last() + 1 }, (_, i) => measured(from + i));
        const ticks = run() ? spec.steps.map((s, i) => [i, String(s)]).filter(([i]) => i % 5 === 0)
          : spec.factors.map((f, i) => [i, short(f)]).filter(([i]) => i % 6 === 0);
        const plain = (list) => list.map((v) => [v, String(v)]);
        const [low, high, marks, caption] = [
          [0, 2.2, plain([0, 0.5, 1, 1.5, 2]), "Entropy of the weights"],
          [0, 1, plain([0, 0.25, 0.5, 0.75, 1]), "Largest weight p"],
          [0, 0.26, plain([0, 0.05, 0.1, 0.15, 0.2, 0.25]), "Slope of p by its score"],
          [-1, 5, [-1, 0, 1, 2, 3, 4, 5].map((e) => [e, power(e)]), "Largest score"],
        ][which];
        const value = (m) => (which === 3 ? Math.log10(m.largest) : m.values[which]);
        curve.draw({ ticks, along: run() ? "step of the recorded run" : "factor on the scores", low, high, marks, caption,
          lines: [0, 1, 2].map((i) => across.map((m) => value(m[i]))) });
      }
      curve.point(at - from, found.map((m) => (which === 3 ? Math.log10(m.largest) : m.values[which])));

      dtypes(at, A);
      whose(spec.names.map((name, i) => {
        const gap = ui.table("gap")[i];
        const good = gap <= spec.tolerance;
        return own(name) ? [short(gap), good ? "yours, same" : "yours, differs", good] : ["–", "reference shown"];
      }));
      const each = found.map((m, i) => `${NAMES[i]} largest score ${short(m.largest)}, weight ${fixed(m.values[1])}`);
      const broken = spec.dtypes.filter((_, i) => !Number.isFinite(ui.table("naive")[i * A + at]));
      ui.say(`${run() ? `step ${spec.steps[at - F]}` : `factor ${short(spec.factors[at])}`}: ${each.join("; ")}. ` +
        `Softmax without a shift is not a number in ${broken.join(", ") || "no dtype"}.`,
      ui.seen("dtype") !== undefined ? dtypeFormula(it) : it.key !== undefined ? formula(it, found, gradient)
        : ui.seen("along") ? values(found, which) : "");
      ui.root.dataset.key = [at, c, g, l, which, fixed(found[1].values[1], 5), fixed(loss, 5)].join();
    },
  };

  function values(found, which) {
    const each = found.map((m, i) => `${short(which === 3 ? m.largest : m.values[which])} (${NAMES[i]})`).join(", ");
    return `${["entropy = −Σ p log p", "largest p", "slope = p (1 − p), with the cap times its own slope", "largest |x|"][which]} = ${each}.`;
  }

  /** How the pointed weight, or gradient, comes from its score. */
  function formula({ key: i, panel, now, c, g, l, at }, found, gradient) {
    if (panel === 3) {
      return `∂z-loss/∂x[${i}] = 2 λ log Z · p[${i}] = 2 · ${short(spec.coefficients[l])} · ` +
        `${short(ui.table("L_logsumexp")[2 * A + at])} · ${short3(found[0].p[i])} = ${short3(gradient[i])}`;
    }
    const x = now[panel];
    const top = Math.max(...x);
    const sum = x.reduce((a, v) => a + Math.exp(v - top), 0);
    const before = panel === 1 ? `y[${i}] = c tanh(x ÷ c) = ${spec.caps[c]} tanh(${short3(now[0][i])} ÷ ${spec.caps[c]}) = ${short3(x[i])}; `
      : panel === 2 ? `s[${i}] = bound · cos(q, k) = ${short(ui.table("b_qk_norm_bound")[g])} · ` +
        `${fixed(x[i] / ui.table("b_qk_norm_bound")[g], 2)} = ${short3(x[i])}; ` : "";
    return `${before}p[${i}] = exp(${short3(x[i])} − ${short3(top)}) ÷ Σ = ${short3(Math.exp(x[i] - top))} ÷ ${short(sum)} = ${fixed(found[panel].p[i], 3)}`;
  }

  function dtypeFormula({ at, now }) {
    const i = ui.seen("dtype");
    const [top, p] = [now[0][0], ui.table("naive")[i * A + at]];
    return `${spec.dtypes[i]}: exp overflows from x = ${fixed(spec.limits[i], 1)}, and the largest x is ${short3(top)}: exp(x) ÷ Σ exp(x) ` +
      (Number.isFinite(p) ? `= ${fixed(p, 3)}.` : "= ∞ ÷ ∞ = NaN. With the shift, exp(x − max) is at most 1.");
  }
}

/** The scores of the first panel are a grip: to the right all grow, to the left all shrink. */
function scoreGrip(growth, canvas, last, says) {
  const grip = svg("rect", { x: 0, y: 1, width: 48, height: 102, rx: 4, class: "ta-grip" });
  grip.style.cursor = "ew-resize";
  canvas.append(grip);
  handle(growth, grip, {
    canvas, trait: "growth", name: "the eight scores", max: last, says,
    drag: ([x], start) => clamp(start.value + Math.round((x - start.x) / DRAG), 0, last()),
  });
}

const power = (e) => (e < 0 ? "0.1" : (10 ** e).toLocaleString("en-US"));
const short3 = (x) => (Number.isFinite(x) && Math.abs(x) >= 1e4 ? minus(x.toExponential(1).replace("e+", "e")) : short(x));

/** Softmax of a row in double precision, and what is read off it; NaN where a score is not finite. */
function measuresOf(x) {
  const top = Math.max(...x);
  const e = x.map((v) => Math.exp(v - top));
  const sum = e.reduce((a, b) => a + b, 0);
  const p = e.map((v) => v / sum);
  const weight = Math.max(...p);
  const entropy = p.reduce((a, v) => a - (v > 0 ? v * Math.log(v) : v), 0);
  return { p, largest: Math.max(...x.map(Math.abs)), values: [Number.isNaN(weight) ? NaN : entropy, weight, weight * (1 - weight)] };
}

/** Eight horizontal bars: a word at the left, the value at the right; negative bars are dashed. */
function rowBars(ui, parent, W, caption, name, kind, panel) {
  const K = ui.spec.keys;
  const [row, left, right] = [13, 52, 46];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const note = html("small", { style: "margin-left: 0; display: block" });
  box.append(html("p", { class: "ta-caption" }, caption, note));
  parent.append(box);
  const canvas = picture(box, W, K * row, name);
  line(canvas, left, 0, left, K * row, "ta-axis");
  const color = `var(--ta-${kind})`;
  const rows = Array.from({ length: K }, (_, i) => {
    const bar = svg("rect", { x: left, y: i * row + 2, height: row - 4, fill: color, stroke: color });
    canvas.append(bar);
    return [label(canvas, left - 5, i * row + 10.5, "", "end", "ta-small"), bar, label(canvas, W, i * row + 10.5, "", "end", "ta-small")];
  });
  const place = cursor(ui, canvas, {
    name: caption, cross: false,
    // The scores of the first panel are a grip of their own.
    box: () => ({ x: panel ? 0 : left, y: 0, width: W - (panel ? 0 : left), height: K * row }),
    size: () => [1, K],
    at: () => [0, ui.seen("key") ?? 0],
    state: (_, key) => ({ key, panel }),
    says: (_, key) => `${rows[key][0].textContent}: ${rows[key][2].textContent}`,
  });
  return {
    canvas,
    draw(words, values, limit, text, show, { key, panel: pointed }) {
      write(note, text);
      rows.forEach(([word, bar, value], i) => {
        const v = values[i];
        write(word, words[i]);
        write(value, show(v));
        fill(bar, {
          width: Number.isFinite(v) ? ((Math.abs(v) / limit) * (W - left - right)).toFixed(1) : 0,
          "fill-opacity": v < 0 ? 0.25 : 1, "stroke-dasharray": v < 0 ? "3 2" : "", class: i === key ? "ta-lit" : "",
        });
        for (const node of [word, value]) {
          node.style.fontWeight = i === key ? 700 : 400;
          node.style.textDecoration = i === key && panel === pointed ? "underline" : "";
        }
      });
      place();
    },
  };
}

/** Three curves over the growth, each with a line style of its own; run along them to grow the scores. */
function curvePanel(ui, parent, W, along) {
  const [H, left, right, topEdge, bottom] = [150, 50, 10, 6, 32];
  const [iw, ih] = [W - left - right, H - topEdge - bottom];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const [title, styles] = [html("span"), html("small", {}, "solid: no remedy; dashes: soft cap; dots: QK-norm")];
  box.append(html("p", { class: "ta-caption" }, title, styles));
  parent.append(box);
  const canvas = picture(box, W, H, "Curves against the growth of the scores: no remedy, soft cap and QK-norm");
  const [grid, id] = [svg("g"), freshId()];
  const frame = { x: left, y: topEdge, width: iw, height: ih };
  const inside = svg("g", { "clip-path": `url(#${id})` });
  canvas.append(grid, svg("clipPath", { id }, [svg("rect", frame)]), svg("rect", { ...frame, class: "ta-axis" }), inside);
  const here = line(inside, 0, topEdge, 0, topEdge + ih, "ta-diagonal");
  const paths = HUES.map((hue, i) => {
    const path = svg("path", { style: `fill: none; stroke: var(--ta-${hue}); stroke-width: 2.2; stroke-dasharray: ${["none", "7 4", "2 3"][i]}` });
    inside.append(path);
    return path;
  });
  const below = label(canvas, left + iw / 2, H - 3, "", "middle");
  const place = cursor(ui, canvas, {
    name: "Curves: growth of the scores", cross: false,
    box: () => frame,
    size: () => [along()[0], 1],
    at: () => [Math.min(ui.seen(along()[1]), along()[0] - 1), 0],
    state: (i) => ({ [along()[1]]: i, along: true }),
    says: (i) => `${below.textContent} ${i}`,
  });
  const dots = HUES.map((hue) => svg("circle", { r: 4, style: `fill: var(--ta-${hue}); stroke: var(--ta-paper); pointer-events: none` }));
  canvas.append(...dots);
  const x = (i) => left + ((i + 0.5) / along()[0]) * iw;
  let y = () => 0;
  return {
    draw({ ticks, along: words, low, high, marks, lines, caption }) {
      y = (v) => topEdge + ((high - v) / (high - low)) * ih;
      write(title, caption);
      write(below, words);
      grid.replaceChildren();
      ticks.forEach(([i, text]) => { line(grid, x(i), topEdge, x(i), topEdge + ih, "ta-grid"); label(grid, x(i), topEdge + ih + 14, text, "middle", "ta-small"); });
      marks.forEach(([v, text]) => { line(grid, left, y(v), left + iw, y(v), "ta-grid"); label(grid, left - 5, y(v) + 4, text, "end", "ta-small"); });
      lines.forEach((values, i) => fill(paths[i], { d: trace(values.map((v, j) => [x(j), v === -Infinity ? NaN : y(v)])) }));
    },
    point(i, values) {
      fill(here, { x1: x(i), x2: x(i) });
      dots.forEach((dot, j) => {
        const good = Number.isFinite(values[j]);
        dot.style.visibility = good ? "visible" : "hidden";
        if (good) fill(dot, { cx: x(i).toFixed(1), cy: clamp(y(values[j]), topEdge, topEdge + ih).toFixed(1) });
      });
      place();
    },
  };
}

/** What torch computes in each dtype: softmax without and with the shift, and the learner's log Z. */
function dtypeTable(ui, parent) {
  const { spec } = ui;
  const heads = ["dtype", "eˣ overflows at", "p, no shift", "p, shift", "log Z"];
  const table = html("table", { class: "ta-facts" }, html("caption", {}, "In each dtype: the largest weight p, and log Z"),
    html("tr", {}, ...heads.map((text, i) => html("th", { scope: "col", style: i ? "text-align: right; font-weight: 600" : "font-weight: 600" }, text))));
  const lines = [];
  const cells = spec.dtypes.map((dtype, i) => {
    const row = [0, 1, 2].map(() => html("td", { class: "ta-number" }));
    const head = html("th", { scope: "row" });
    const line = html("tr", {}, head, html("td", { class: "ta-number" }, `x = ${fixed(spec.limits[i], 1)}`), ...row);
    button(head, dtype, () => {}); // the row itself answers the click
    touch(ui, line, () => ({ dtype: i }));
    table.append(line);
    lines.push(line);
    return row;
  });
  parent.append(table);
  const mark = (cell, text, good) => {
    write(cell, text);
    cell.style.color = good ? "" : "var(--ta-bad)";
    cell.style.fontWeight = good ? "" : "600";
  };
  return (at, A) => cells.forEach(([naive, shifted, logZ], i) => {
    lines[i].style.outline = ui.seen("dtype") === i ? "2px solid var(--ta-ink)" : "";
    const [n, s, z, gap] = ["naive", "shifted", "L_logsumexp", "lse_gap"].map((name) => ui.table(name)[i * A + at]);
    mark(naive, fixed(n), Number.isFinite(n));
    mark(shifted, fixed(s), Number.isFinite(s));
    const good = Number.isNaN(gap) || gap <= spec.rounding[i];
    mark(logZ, `${short3(z)}${good ? "" : " ✗"}`, good && Number.isFinite(z));
  });
}

const widget = { render: mount(stabilityWidget) };
export default widget;
