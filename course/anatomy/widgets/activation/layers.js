// What a bend is for: two layers of three units. Without a bend, their sum is a straight line.

const NET = [[2, 1], [-4, 0], [3, -1]]; // 2 f(x + 1) − 4 f(x) + 3 f(x − 1): with relu, a line with three corners

/** For each x the weighted outputs of the three units, and their sum; NaN where f is not known. */
function twoLayers(x, f) {
  const step = Math.round(1 / (x[1] - x[0]));
  return x.map((_, i) => {
    const parts = NET.map(([weight, by]) => weight * (f[i + by * step] ?? NaN));
    return [...parts, parts.reduce((a, b) => a + b)].map((v) => (Math.abs(v) < 1e-6 ? 0 : v));
  });
}

/** The units as thin lines, each with dashes of its own, and their sum as a thick one. */
function layerPanel(ui, parent, W) {
  const plot = plotPanel(ui, parent, {
    W, tall: TALL + 58, left: 26, right: 12, low: -4.2, high: 4.2, ticks: [-4, -2, 0, 2, 4],
    caption: tr("Two layers: 2 f(x + 1) − 4 f(x) + 3 f(x − 1)"),
    name: tr("The sum of three weighted units for x from −3 to 3"), cursorName: tr("Two layers: input x"), below: 22,
  });
  const thin = ["8 4", "2 3", "12 3 2 3"].map((dashes) =>
    plot.path("", `fill: none; stroke: var(--ta-reference); stroke-width: 1.4; stroke-dasharray: ${dashes}`));
  const sum = plot.path("ta-mine", "stroke-width: 4");
  const spot = plot.spot("ta-here", "fill: var(--ta-one)");
  const verdict = plot.word("");
  fill(verdict, { x: 34, y: 28 });
  verdict.style.fontSize = "15px";
  plot.note(tr("thin: the three units; thick: their sum"));
  return {
    box: plot.canvas.parentNode,
    /** Returns what the sum is at the place. */
    draw(f, place) {
      const all = twoLayers(ui.spec.x, f);
      thin.forEach((path, unit) => plot.draw(path, (i) => all[i][unit]));
      plot.draw(sum, (i) => all[i][NET.length]);
      plot.read(ui.spec.x[place]);
      plot.move(spot, ui.spec.x[place], all[place][NET.length]);
      const sums = all.map((row) => row[NET.length]).filter(Number.isFinite);
      const bend = Math.max(...sums.slice(2).map((v, i) => Math.abs(v - 2 * sums[i + 1] + sums[i])));
      write(verdict, bend < ui.spec.tolerance ? tr("a straight line") : tr("it bends"));
      return all[place][NET.length];
    },
  };
}
