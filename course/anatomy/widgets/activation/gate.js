// A gated unit multiplies: what passes the gate is a value times f.

/** Gate times value, f(x) · v · x, beside the value alone, which is dragged. */
function gatePanel(ui, parent, W) {
  const { spec } = ui;
  const plot = plotPanel(ui, parent, {
    W, tall: TALL + 58, below: 22, left: 24, right: 12, low: -4.2, high: 4.2, ticks: [-4, -2, 0, 2, 4],
    caption: tr("Gate · value: f(x) · v x"), cursorName: tr("Gate: input x"),
    name: tr("Product of the activated gate and the value, for every input of the gate"),
  });
  const paths = { alone: plot.path("ta-reference"), product: plot.path("ta-mine") };
  const spot = plot.spot("ta-here", "fill: var(--ta-one)");
  plot.note(tr("dashed: the value v x, drag its grip"));
  const pill = grip("v", 24, false);
  const unit = (TALL + 58) / 8.4;
  const VALUE_AT = 2; // x of the grip
  const apart = spec.values[1] - spec.values[0];
  plot.canvas.append(handle(ui, pill.node, {
    canvas: plot.canvas, trait: "value", name: tr("grip v: the value"), values: spec.values, says: (i) => fixed(spec.values[i], 2),
    drag: ([, hand], { y, value }) => clamp(value + Math.round((y - hand) / unit / apart / VALUE_AT), 0, spec.values.length - 1),
  }));
  return {
    box: plot.canvas.parentNode,
    draw(f, value, place) {
      const x = spec.x[place];
      plot.read(x);
      plot.draw(paths.alone, (i) => value * spec.x[i]);
      plot.draw(paths.product, (i) => f[i] * value * spec.x[i]);
      plot.move(spot, x, f[place] * value * x);
      fill(pill.node, { transform: `translate(${plot.x(VALUE_AT).toFixed(1)},${plot.y(value * VALUE_AT).toFixed(1)})` });
    },
  };
}
