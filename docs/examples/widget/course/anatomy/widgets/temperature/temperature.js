// TemperatureExplorer: a bar for each word, as long as its probability; a line where the reference's ends.

function temperatureWidget(ui) {
  const { spec } = ui;
  slider(ui, { trait: "temperature", name: "temperature", values: spec.temperatures, show: short });
  ui.root.append(ui.readout);
  const canvas = picture(ui.row(), 800, 40 * spec.words.length, "Bars: the probability of each word");
  const x = (p) => 90 + 600 * clamp(Number.isFinite(p) ? p : 0, 0, 1);
  const rows = spec.words.map((word, i) => {
    const bar = svg("rect", { x: x(0), y: 40 * i + 8, height: 24, class: "ta-fill-one" });
    label(canvas, x(0) - 10, 40 * i + 25, word, "end");
    canvas.append(bar);
    const mark = line(canvas, 0, 40 * i + 4, 0, 40 * i + 36, "ta-reference");
    return { bar, mark, value: label(canvas, 0, 40 * i + 25, "") };
  });

  return {
    draw() {
      const at = spec.temperatures.indexOf(ui.get("temperature"));
      const pick = (name) => ui.table(name).subarray(at * rows.length, (at + 1) * rows.length);
      const [mine, right] = [pick("p"), pick("ref_p")];
      rows.forEach(({ bar, mark, value }, i) => {
        bar.setAttribute("width", x(mine[i]) - x(0));
        mark.setAttribute("x1", x(right[i]));
        mark.setAttribute("x2", x(right[i]));
        value.setAttribute("x", Math.max(x(mine[i]), x(right[i])) + 8);
        value.textContent = fixed(mine[i]);
      });
      const good = ui.table("gap")[at] <= spec.tolerance;
      const said = spec.words.map((word, i) => `${word} ${fixed(mine[i])}`).join(", ");
      ui.say(`${said}: ${good ? "as the reference" : "differs from the reference"}`);
      ui.root.dataset.key = said;
    },
  };
}

const widget = { render: mount(temperatureWidget) };
export default widget;
