// What a bend is for: two layers of three units. Without a bend, their sum is a straight line.

const WEIGHTS = ["w1", "w2", "w3"]; // w1 f(x + 1) + w2 f(x) + w3 f(x − 1): with relu, a line with three corners
const NET = [1, 0, -1];
const hillAt = (x) => Math.max(0, 2 - 2 * Math.abs(x)); // what relu draws with the weights 2, −4, 2
// px for a "+" between pictures, a unit's share of the width, and px of the least one, before the page has room.
const REACH = 3; // in x: f is known up to 4, and a unit asks for it one beside x
const [SIGN, UNIT_SHARE, LEAST] = [22, 0.18, 60];

/** For each x the weighted outputs of the three units, and their sum; NaN where f is not known. */
function twoLayers(x, f, weights) {
  const step = Math.round(1 / (x[1] - x[0]));
  return x.map((_, i) => {
    const parts = NET.map((by, unit) => weights[unit] * (f[i + by * step] ?? NaN));
    return [...parts, parts.reduce((a, b) => a + b)].map((v) => (Math.abs(v) < 1e-6 ? 0 : v));
  });
}

/** The sum with its numbers: 2 · f(1.50) − 4 · f(0.50) + 3 · f(−0.50). */
const summed = (weights, x) => weights.map((w, i) =>
  `${i ? (w < 0 ? " − " : " + ") : w < 0 ? "−" : ""}${Math.abs(w)} · f(${fixed(x + NET[i], 2)})`).join("");

/** A sum of pictures: a unit + a unit + a unit = the thick line. At x each shows its height, and the heights add up. */
function layerPanel(ui, parent, W) {
  const wide = W >= 700;
  const small = Math.max(LEAST, Math.floor(wide ? W * UNIT_SHARE : (W - 2 * SIGN) / 3));
  const box = html("div", { style: "max-width: 100%" });
  const row = html("div", { class: "ta-row", style: "gap: 0; align-items: center" });
  parent.append(box);
  box.append(row);
  const sign = (text) => row.append(html("b", { "aria-hidden": "true", style: `width: ${SIGN}px; text-align: center` }, text));
  const panel = (width, left, texts) => plotPanel(ui, row, {
    W: width, reach: REACH, apart: width < 240 ? REACH : 1, tall: wide ? TALL + 58 : 150, left, right: 6,
    low: -4.2, high: 4.2, ticks: [-4, -2, 0, 2, 4], below: 22, ...texts,
  });
  const units = ["f(x + 1)", "f(x)", "f(x − 1)"];
  const parts = units.map((caption, i) => {
    if (i) sign("+");
    const name = tr("Unit {n}: {formula}", { n: i + 1, formula: caption });
    return panel(small, i ? 6 : 22, { caption, name, cursorName: tr("{name}, input x", { name }) });
  });
  sign("=");
  parts.push(panel(wide ? W - 3 * (small + SIGN) : Math.max(LEAST, W - SIGN), 22, {
    caption: tr("Two layers: their sum"), cursorName: tr("Two layers: input x"),
    name: tr("The sum of three weighted units for x from −3 to 3"),
  }));
  const plots = parts.map((plot, i) => ({
    plot, path: plot.path("ta-mine", i === NET.length ? "stroke-width: 4" : ""),
    stem: plot.path("", "fill: none; stroke: var(--ta-two); stroke-width: 4"),
    spot: plot.spot("ta-here", "fill: var(--ta-one)"),
  }));
  // Each unit's weight is a grip on its line, 1 right of its corner: there a relu unit is as high as its weight.
  const one = Math.round(5 / (ui.spec.x[1] - ui.spec.x[0])); // the place of x = 1
  const [tall, heightOfOne] = [wide ? TALL + 58 : 150, (f) => (Math.abs(f[one]) > 0.2 ? f[one] : 1)];
  let high = 1; // f(1)
  const grips = WEIGHTS.map((trait, i) => {
    const pill = grip("", 26, false);
    parts[i].canvas.append(handle(ui, pill.node, {
      canvas: parts[i].canvas, trait, name: tr("grip: weight of unit {n}", { n: i + 1 }), values: ui.spec.weights,
      says: (at) => minus(String(ui.spec.weights[at])),
      drag: ([, hand], { y, value }) => clamp(value + Math.round((y - hand) / (tall / 8.4) / high), 0, ui.spec.weights.length - 1),
    }));
    return pill;
  });
  const whole = parts[NET.length];
  const hill = whole.path("ta-reference");
  const named = label(whole.canvas, 30, whole.bottom - 8, tr("dashed: a hill"), "start", "ta-small");
  for (const node of [hill, named]) node.dataset.part = "hill";
  const verdict = parts[NET.length].word("");
  fill(verdict, { x: 32, y: 28, "data-readout": "verdict" });
  verdict.style.fontSize = "15px";
  return {
    box,
    /** Returns what the sum is at the place. */
    draw(f, place, weights) {
      const all = twoLayers(ui.spec.x, f, weights);
      high = heightOfOne(f);
      grips.forEach((pill, i) => {
        const [at, low] = [parts[i].y(weights[i] * high), parts[i].bottom - 17];
        const across = Math.min(parts[i].x(1 - NET[i]), small - 14); // all of it is in the picture, on the narrowest page too
        fill(pill.node, { transform: `translate(${across.toFixed(1)},${clamp(at, 25, low).toFixed(1)})` });
        write(pill.text, minus(String(weights[i])));
        parts[i].title(`${minus(String(weights[i]))} ${units[i]}`);
      });
      whole.draw(hill, (i) => (Math.abs(ui.spec.x[i]) < REACH + 1e-6 ? hillAt(ui.spec.x[i]) : NaN));
      const at = ui.spec.x[place];
      plots.forEach(({ plot, path, stem, spot }, unit) => {
        const height = Math.abs(at) < REACH + 1e-6 ? all[place][unit] : NaN;
        plot.draw(path, (i) => all[i][unit]);
        plot.read(at);
        plot.move(spot, at, height);
        fill(stem, { d: trace([0, height].map((v) => [plot.x(at), plot.y(v)])) });
        plot.note(Number.isFinite(height) ? fixed(height, 2) : "–");
      });
      const sums = all.map((row) => row[NET.length]).filter(Number.isFinite);
      const bend = Math.max(...sums.slice(2).map((v, i) => Math.abs(v - 2 * sums[i + 1] + sums[i])));
      const covered = ui.spec.x.every((v, i) => Math.abs(v) > REACH || Math.abs(all[i][NET.length] - hillAt(v)) < 0.05);
      write(verdict, bend < ui.spec.tolerance ? tr("a straight line") : covered ? tr("the hill") : tr("it bends"));
      return all[place][NET.length];
    },
  };
}
