// SoftmaxStabilityExplorer: a row of scores grows; what softmax makes of it, dtype by dtype and remedy by remedy.

function stabilityWidget(ui) {
  const { spec } = ui;
  const run = () => ui.get("grow") === spec.growth[1];
  choice(ui, { trait: "grow", name: "scores grow", values: spec.growth });
  choice(ui, { trait: "quantity", name: "curves show", values: spec.quantities });
  const inputs = {
    factor: slider(ui, { trait: "factor", name: "factor", max: spec.factors.length - 1, show: (i) => short(spec.factors[i]) }),
    step: slider(ui, { trait: "step", name: "step of the run", max: spec.steps.length - 1, show: (i) => String(spec.steps[i]) }),
  };
  slider(ui, { trait: "cap", name: "soft cap c", values: spec.caps, kind: "ta-two" });
  slider(ui, { trait: "gain", name: "gain of QK-norm", values: spec.gains });
  slider(ui, { trait: "coefficient", name: "λ of z-loss", values: spec.coefficients });
  ui.root.append(ui.readout);

  const [F, K, A] = [spec.factors.length, spec.keys, spec.factors.length + spec.steps.length];
  const top = ui.row();
  top.style.gap = "10px 12px";
  const kinds = ["one", "two", "good"];
  const names = ["no remedy", "soft cap", "QK-norm"];
  const bars = names.map((name, i) => rowBars(top, K, name, `Softmax weights of eight scores, ${name}`, kinds[i]));
  const pull = rowBars(top, K, "gradient of z-loss", "Gradient of z-loss by each of the eight logits", "reference");

  const middle = ui.row();
  const curve = curvePanel(middle, "", "Curves against the growth of the scores: no remedy, soft cap and QK-norm", kinds);
  const size = curvePanel(middle, "largest |score|, logarithmic", "Largest score against the growth: no remedy, soft cap, QK-norm", kinds);

  const bottom = ui.row();
  const [left, right] = ["1 1 430px", "1 1 330px"].map((flex) => html("div", { class: "ta-panel", style: `flex: ${flex}` }));
  bottom.append(left, right);
  const dtypes = dtypeTable(left, spec);
  const whose = facts(right, "Whose functions are on show", spec.names.map((name) => [name, ""]));

  return {
    draw() {
      inputs.factor.disabled = run();
      inputs.step.disabled = !run(); // a control that moves nothing should say so
      const [from, count] = run() ? [F, spec.steps.length] : [0, F];
      const at = run() ? F + Math.min(ui.get("step"), spec.steps.length - 1) : ui.get("factor");
      const [c, g, l] = [["caps", "cap"], ["gains", "gain"], ["coefficients", "coefficient"]].map(
        ([list, trait]) => spec[list].indexOf(ui.get(trait)));
      const cut = (table, block, place) => [...ui.table(table).subarray((block * A + place) * K, (block * A + place + 1) * K)];
      const rows = (place) => [cut("x", 0, place), cut("y_soft_cap", c, place), cut("s_qk_norm", g, place)];
      const measured = (place) => {
        const found = rows(place).map((x) => measuresOf(x));
        found[1].values[2] *= cut("d_soft_cap", c, place)[0]; // what reaches the score before the cap
        return found;
      };
      const own = (name) => ui.table("own")[spec.names.indexOf(name)] === 1;
      const tag = (name) => (own(name) ? "yours" : "the reference's");
      const bound = ui.table("b_qk_norm_bound")[g];

      const now = rows(at);
      const found = measured(at);
      const slope = cut("d_soft_cap", c, at)[0];
      const notes = [`scores × ${short(now[0][0] / 2)}`, `${tag("soft_cap")}, slope ${short(slope)} at the top`,
        `${tag("qk_norm")}, bound ${short(bound)}`];
      now.forEach((x, i) => bars[i].draw(x.map((v) => short3(Math.abs(v) < 1e-5 ? 0 : v)), found[i].p, 1, notes[i], (p) => fixed(p, 3)));
      const gradient = cut("g_z_loss_gradient", l, at);
      const loss = ui.table("v_z_loss")[l * A + at];
      pull.draw(gradient.map((_, i) => `logit ${i}`), gradient, Math.max(...gradient.map(Math.abs), 1e-12),
        `${tag("z_loss_gradient")}; loss ${short(loss)}`, short3);

      const which = spec.quantities.indexOf(ui.get("quantity"));
      const across = Array.from({ length: count }, (_, i) => measured(from + i));
      const ticks = run() ? spec.steps.map((s, i) => [i, String(s)]).filter(([i]) => i % 5 === 0)
        : spec.factors.map((f, i) => [i, short(f)]).filter(([i]) => i % 6 === 0);
      const along = run() ? "step of the recorded run" : "factor on the scores";
      const [high, marks] = [[2.2, [0, 0.5, 1, 1.5, 2]], [1, [0, 0.25, 0.5, 0.75, 1]], [0.26, [0, 0.05, 0.1, 0.15, 0.2, 0.25]]][which];
      curve.draw({ count, here: at - from, ticks, along, low: 0, high, marks: marks.map((v) => [v, String(v)]),
        caption: ["entropy of the weights, nats", "largest weight p", "slope of p by its score, before any cap"][which],
        lines: [0, 1, 2].map((i) => across.map((m) => m[i].values[which])) });
      size.draw({ count, here: at - from, ticks, along, low: -1, high: 5, marks: [-1, 0, 1, 2, 3, 4, 5].map((e) => [e, power(e)]),
        lines: [0, 1, 2].map((i) => across.map((m) => Math.log10(m[i].largest))) });

      dtypes(at, A, ui);
      whose(spec.names.map((name, i) => {
        const gap = ui.table("gap")[i];
        const good = gap <= spec.tolerance;
        return own(name) ? [short(gap), good ? "yours, same" : "yours, differs", good] : ["–", "reference shown"];
      }));
      const each = found.map((m, i) => `${names[i]} largest score ${short(m.largest)}, weight ${fixed(m.values[1])}`);
      const broken = spec.dtypes.filter((_, i) => !Number.isFinite(ui.table("naive")[i * A + at]));
      ui.say(`${run() ? `step ${spec.steps[at - F]}` : `factor ${short(spec.factors[at])}`}: ${each.join("; ")}. ` +
        `Softmax without a shift is not a number in ${broken.join(", ") || "no dtype"}.`);
      ui.root.dataset.key = [at, c, g, l, which, fixed(found[1].values[1], 5), fixed(loss, 5)].join();
    },
  };
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
function rowBars(parent, K, caption, name, kind) {
  const [W, row, left, right] = [195, 19, 52, 50];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const note = html("small", { style: "margin-left: 0; display: block" });
  box.append(html("p", { class: "ta-caption" }, caption, note));
  parent.append(box);
  const canvas = picture(box, W, K * row + 4, name);
  line(canvas, left, 0, left, K * row, "ta-axis");
  const color = `var(--ta-${kind})`;
  const rows = Array.from({ length: K }, (_, i) => {
    const bar = svg("rect", { x: left, y: i * row + 3, height: row - 6, fill: color, stroke: color });
    canvas.append(bar);
    return [label(canvas, left - 4, i * row + 14, "", "end", "ta-small"), bar, label(canvas, W, i * row + 14, "", "end", "ta-small")];
  });
  return {
    draw(words, values, limit, text, show) {
      note.textContent = text;
      rows.forEach(([word, bar, value], i) => {
        const v = values[i];
        word.textContent = words[i];
        value.textContent = show(v);
        bar.setAttribute("width", Number.isFinite(v) ? ((Math.abs(v) / limit) * (W - left - right)).toFixed(1) : 0);
        bar.setAttribute("fill-opacity", v < 0 ? 0.25 : 1);
        bar.setAttribute("stroke-dasharray", v < 0 ? "3 2" : "");
      });
    },
  };
}

/** Three curves over the growth, each with a line style of its own, and a mark where the slider stands. */
function curvePanel(parent, caption, name, kinds) {
  const [W, H, left, right, topEdge, bottom] = [398, 206, 46, 16, 8, 36];
  const [iw, ih] = [W - left - right, H - topEdge - bottom];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const title = html("p", { class: "ta-caption" }, caption);
  box.append(title, html("p", { class: "ta-note", style: "margin: 0" }, "solid: no remedy; dashes: soft cap; dots: QK-norm"));
  parent.append(box);
  const canvas = picture(box, W, H, name);
  const [grid, id] = [svg("g"), freshId()];
  const frame = { x: left, y: topEdge, width: iw, height: ih };
  const inside = svg("g", { "clip-path": `url(#${id})` });
  canvas.append(grid, svg("clipPath", { id }, svg("rect", frame)), svg("rect", { ...frame, class: "ta-axis" }), inside);
  const here = line(inside, 0, topEdge, 0, topEdge + ih, "ta-diagonal");
  const paths = kinds.map((kind, i) => {
    const path = svg("path", { style: `fill: none; stroke: var(--ta-${kind}); stroke-width: 2.2; stroke-dasharray: ${["none", "7 4", "2 3"][i]}` });
    inside.append(path);
    return path;
  });
  const below = label(canvas, left + iw / 2, H - 4, "", "middle");
  return {
    draw({ count, here: place, ticks, along, low, high, marks, lines, caption: words }) {
      const x = (i) => left + ((i + 0.5) / count) * iw;
      const y = (v) => topEdge + ((high - v) / (high - low)) * ih;
      if (words) title.textContent = words;
      below.textContent = along;
      grid.replaceChildren();
      ticks.forEach(([i, text]) => { line(grid, x(i), topEdge, x(i), topEdge + ih, "ta-grid"); label(grid, x(i), topEdge + ih + 15, text, "middle", "ta-small"); });
      marks.forEach(([v, text]) => { line(grid, left, y(v), left + iw, y(v), "ta-grid"); label(grid, left - 5, y(v) + 4, text, "end", "ta-small"); });
      lines.forEach((values, i) => paths[i].setAttribute("d", trace(values.map((v, j) => [x(j), v === -Infinity ? NaN : y(v)]))));
      here.setAttribute("x1", x(place));
      here.setAttribute("x2", x(place));
    },
  };
}

/** What torch computes in each dtype: softmax without and with the shift, and the learner's log Z. */
function dtypeTable(parent, spec) {
  const heads = ["dtype", "eˣ overflows at", "p without shift", "with shift", "log Z"];
  const table = html("table", { class: "ta-facts" }, html("caption", {}, "Largest weight p as torch computes it, and log Z"),
    html("tr", {}, ...heads.map((text, i) => html("th", { scope: "col", style: i ? "text-align: right; font-weight: 600" : "font-weight: 600" }, text))));
  const cells = spec.dtypes.map((dtype, i) => {
    const row = [0, 1, 2].map(() => html("td", { class: "ta-number" }));
    table.append(html("tr", {}, html("th", { scope: "row" }, dtype), html("td", { class: "ta-number" }, `x = ${fixed(spec.limits[i], 1)}`), ...row));
    return row;
  });
  parent.append(table);
  const mark = (cell, text, good) => {
    cell.textContent = text;
    cell.style.color = good ? "" : "var(--ta-bad)";
    cell.style.fontWeight = good ? "" : "600";
  };
  return (at, A, ui) => cells.forEach(([naive, shifted, logZ], i) => {
    const [n, s, z, gap] = ["naive", "shifted", "L_logsumexp", "lse_gap"].map((name) => ui.table(name)[i * A + at]);
    mark(naive, fixed(n), Number.isFinite(n));
    mark(shifted, fixed(s), Number.isFinite(s));
    const good = Number.isNaN(gap) || gap <= spec.rounding[i];
    mark(logZ, `${short3(z)}${good ? "" : " ✗"}`, good && Number.isFinite(z));
  });
}

const widget = { render: mount(stabilityWidget) };
export default widget;
