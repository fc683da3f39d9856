// NormExplorer: the same vector through LayerNorm and RMSNorm; what changes when it is scaled or shifted?

function normWidget(ui) {
  const { spec } = ui;
  const D = spec.d;
  slider(ui, { trait: "scale", name: "scale", values: spec.scales, show: short });
  slider(ui, { trait: "shift", name: "shift", values: spec.shifts, show: short });
  slider(ui, { trait: "eps", name: "ε", values: spec.epsilons, show: (e) => (e < 1e-2 ? minus(e.toExponential(0)) : String(e)) });
  ui.root.append(ui.readout);

  const top = ui.row();
  const input = barChart(top, D, "Input: scale · x + shift", "Bars: the eight entries of the input", "ta-tick");
  const names = ["layer_norm", "rms_norm"];
  const charts = [["LayerNorm", "one"], ["RMSNorm", "two"]].map(([name, color]) => (
    barChart(top, D, name, `Bars: the eight entries after ${name}`, `ta-fill-${color}`)));
  const bottom = ui.row();
  const halves = [0, 1].map(() => html("div", { class: "ta-panel", style: "flex: 1 1 340px" }));
  bottom.append(...halves);
  const moved = facts(halves[0], "Since scale 1 and shift 0", [
    ["LayerNorm has changed by", "largest change of an entry"],
    ["RMSNorm has changed by", "largest change of an entry"],
    ["LN(x) against RMSNorm(x − mean)", "the same function, at every setting"],
  ]);
  const sizes = facts(halves[1], "What comes out", [
    ["LayerNorm: mean, deviation", "0 and 1, while ε is small beside the variance"],
    ["RMSNorm: mean, root mean square", "any mean; 1, while ε is small beside the squares"],
    ["farthest from the reference", "largest difference, both functions"],
  ]);

  const mean = (v) => v.reduce((a, b) => a + b, 0) / D;
  const rms = (v) => Math.sqrt(mean(v.map((a) => a * a)));
  const spread = (v) => { const m = mean(v); return rms(v.map((a) => a - m)); };

  return {
    draw() {
      const [e, a, b] = [["epsilons", "eps"], ["scales", "scale"], ["shifts", "shift"]].map(
        ([list, trait]) => spec[list].indexOf(ui.get(trait)));
      const [A, B] = [spec.scales.length, spec.shifts.length];
      const at = (e * A + a) * B + b;
      const start = (e * A + spec.scales.indexOf(1)) * B + spec.shifts.indexOf(0);
      const cut = (table, place) => [...ui.table(table).subarray(place * D, (place + 1) * D)];
      const x = cut("x", a * B + b);
      const size = Math.max(...x.map(Math.abs), 1e-9);
      input.draw(x, size, { note: `mean ${short(mean(x))}, deviation ${short(spread(x))}` });
      const outputs = names.map((name, i) => {
        const y = cut(`y_${name}`, at);
        const own = ui.table("own")[i] === 1;
        const right = cut(`ref_y_${name}`, at);
        const wrong = y.some((v, j) => !(Math.abs(v - right[j]) <= spec.tolerance));
        charts[i].draw(y, 3.2, {
          note: `${own ? "yours" : "the reference"}; line: unmoved${wrong ? "; dashed: expected" : ""}`,
          before: cut(`y_${name}`, start), right: wrong ? right : null,
        });
        return y;
      });
      const found = ui.table("facts").subarray(at * 4, at * 4 + 4);
      const word = (v, yes, no) => [short(v), v <= spec.tolerance ? yes : no, v <= spec.tolerance];
      const plain = (v) => [short(v), v <= spec.tolerance ? "unchanged" : "changed"];
      moved([plain(found[0]), plain(found[1]), word(found[2], "equal", "broken")]);
      sizes([
        [`${fixed(mean(outputs[0]), 2)}, ${fixed(spread(outputs[0]), 2)}`, ""],
        [`${fixed(mean(outputs[1]), 2)}, ${fixed(rms(outputs[1]), 2)}`, ""],
        word(found[3], "same", "differs"),
      ]);
      const change = (v) => (v <= spec.tolerance ? "unchanged" : `changed by ${short(v)}`);
      ui.say(`scale ${short(ui.get("scale"))}, shift ${short(ui.get("shift"))}: LayerNorm ${change(found[0])}, ` +
        `RMSNorm ${change(found[1])}`);
      ui.root.dataset.key = `${at},${fixed(outputs[0][0], 4)},${fixed(outputs[1][0], 4)}`;
    },
  };
}

/** Bars up and down from 0, their numbers below; a line where each bar was, dashes where the reference is. */
function barChart(parent, D, caption, name, kind) {
  const [W, H, left, topEdge, ih] = [258, 226, 30, 6, 180];
  const step = (W - left) / D;
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const note = html("small", { style: "margin-left: 0; display: block" });
  box.append(html("p", { class: "ta-caption" }, caption, note));
  parent.append(box);
  const canvas = picture(box, W, H, name);
  const middle = topEdge + ih / 2;
  canvas.append(svg("rect", { x: left, y: topEdge, width: W - left, height: ih, class: "ta-axis" }));
  line(canvas, left, middle, W, middle);
  const ends = [topEdge + 10, middle + 4, topEdge + ih].map((y) => label(canvas, left - 4, y, "", "end", "ta-small"));
  const bars = Array.from({ length: D }, (_, i) => {
    const x = left + i * step;
    const bar = svg("rect", { x: x + 4, width: step - 8, class: kind === "ta-tick" ? "" : kind,
      style: kind === "ta-tick" ? "fill: var(--ta-reference)" : "" });
    const tick = line(canvas, x + 1, 0, x + step - 1, 0, "ta-reference");
    const before = line(canvas, x + 1, 0, x + step - 1, 0, "ta-mark");
    canvas.append(bar, tick, before);
    return { bar, tick, before, value: label(canvas, x + step / 2, H - (i % 2 ? 4 : 20), "", "middle", "ta-small") };
  });
  const place = (node, y) => {
    node.style.visibility = Number.isFinite(y) ? "visible" : "hidden";
    if (Number.isFinite(y)) { node.setAttribute("y1", y.toFixed(1)); node.setAttribute("y2", y.toFixed(1)); }
  };
  return {
    draw(values, limit, { note: text, before = null, right = null }) {
      note.textContent = text;
      const y = (v) => middle - (clamp(v / limit, -1, 1) * ih) / 2;
      [limit, 0, -limit].forEach((v, i) => { ends[i].textContent = v === 0 ? "0" : short(v); });
      bars.forEach(({ bar, tick, before: was, value }, i) => {
        const v = values[i];
        const seen = Number.isFinite(v);
        bar.style.visibility = seen ? "visible" : "hidden";
        if (seen) {
          bar.setAttribute("y", Math.min(y(v), middle).toFixed(1));
          bar.setAttribute("height", Math.abs(y(v) - middle).toFixed(1));
        }
        place(tick, right ? y(right[i]) : NaN);
        place(was, before ? y(before[i]) : NaN);
        value.textContent = !seen || Math.abs(v) < 100 ? fixed(v, 2) : whole(v);
      });
    },
  };
}

const widget = { render: mount(normWidget) };
export default widget;
