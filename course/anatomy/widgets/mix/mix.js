// MixExplorer: three words on a number line, and the average that the learner's function makes of them.

function mixWidget(ui) {
  const { spec } = ui;
  const traits = ["first", "second", "third"];
  traits.forEach((trait, i) => slider(ui, { trait, name: `weight of ${spec.words[i]}`, max: spec.top }));
  ui.root.append(ui.readout);
  const [W, H, left, right, base] = [800, 150, 30, 30, 104];
  const canvas = picture(ui.row(), W, H, "Number line from 0 to 10 with the three words and their weighted average");
  const x = (v) => left + (v / 10) * (W - left - right);
  line(canvas, x(0), base, x(10), base);
  for (let v = 0; v <= 10; v++) {
    line(canvas, x(v), base, x(v), base + 5);
    label(canvas, x(v), base + 20, String(v), "middle", "ta-small");
  }
  const spots = spec.values.map((v, i) => {
    const disc = svg("circle", { cx: x(v), cy: base, class: "ta-fill-one", "fill-opacity": 0.75 });
    canvas.append(disc);
    return [disc, label(canvas, x(v), 40, spec.words[i], "middle", "ta-strong")];
  });
  const ghost = svg("path", { class: "ta-reference" });
  const mine = svg("path", { class: "ta-fill-two" });
  canvas.append(ghost, mine);
  const shown = label(canvas, 0, base + 40, "", "middle", "ta-strong");

  return {
    draw() {
      const weights = traits.map((t) => ui.get(t));
      const at = (weights[0] * (spec.top + 1) + weights[1]) * (spec.top + 1) + weights[2];
      const [value, right] = [ui.table("out")[at], ui.table("ref_out")[at]];
      spots.forEach(([disc, text], i) => {
        disc.setAttribute("r", weights[i] ? 4 + 2.2 * weights[i] : 2);
        text.setAttribute("y", base - 12 - 2.2 * weights[i]);
        text.textContent = `${spec.words[i]} × ${weights[i]}`;
      });
      const seen = Number.isFinite(value);
      mine.style.visibility = shown.style.visibility = seen ? "visible" : "hidden";
      ghost.style.visibility = Number.isFinite(right) ? "visible" : "hidden";
      const place = clamp(x(seen ? value : 0), 8, W - 8);
      mine.setAttribute("d", `M${place} ${base + 2}l-9 20h18z`);
      ghost.setAttribute("d", `M${x(Number.isFinite(right) ? right : 0)} 20V${base + 24}`);
      shown.setAttribute("x", place);
      shown.textContent = fixed(value);
      const good = Math.abs(value - right) <= spec.tolerance;
      const total = weights.reduce((a, b) => a + b);
      const verdict = ui.get("notice") ? "" : good ? " (as expected)" : ` (expected ${fixed(right)})`;
      ui.say(total === 0 ? "All weights are 0: there is nothing to average." :
        `weights ${weights.join(", ")}, total ${total}: the average is ${fixed(value)}${verdict}`);
      ui.root.dataset.key = `${weights.join(",")},${fixed(value, 4)}`;
    },
  };
}

const widget = { render: mount(mixWidget) };
export default widget;
