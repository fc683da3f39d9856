// What a bend is for: two layers of three units. Without a bend, their sum is a straight line.

const NET = [[2, 1], [-4, 0], [3, -1]]; // 2 f(x + 1) − 4 f(x) + 3 f(x − 1): with relu, a line with three corners
// px for a "+" between pictures, a unit's share of the width, and px of the least one, before the page has room.
const REACH = 3; // in x: f is known up to 4, and a unit asks for it one beside x
const [SIGN, UNIT_SHARE, LEAST] = [22, 0.18, 60];

/** For each x the weighted outputs of the three units, and their sum; NaN where f is not known. */
function twoLayers(x, f) {
  const step = Math.round(1 / (x[1] - x[0]));
  return x.map((_, i) => {
    const parts = NET.map(([weight, by]) => weight * (f[i + by * step] ?? NaN));
    return [...parts, parts.reduce((a, b) => a + b)].map((v) => (Math.abs(v) < 1e-6 ? 0 : v));
  });
}

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
  const parts = ["2 f(x + 1)", "−4 f(x)", "3 f(x − 1)"].map((caption, i) => {
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
  const verdict = parts[NET.length].word("");
  fill(verdict, { x: 32, y: 28, "data-readout": "verdict" });
  verdict.style.fontSize = "15px";
  return {
    box,
    /** Returns what the sum is at the place. */
    draw(f, place) {
      const all = twoLayers(ui.spec.x, f);
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
      write(verdict, bend < ui.spec.tolerance ? tr("a straight line") : tr("it bends"));
      return all[place][NET.length];
    },
  };
}
