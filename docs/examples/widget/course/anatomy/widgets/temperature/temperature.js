// TemperatureExplorer: a bar for each word, as long as its probability; a line where the reference's ends.

function temperatureWidget(ui) {
  const { spec } = ui;
  slider(ui, { trait: "temperature", name: "temperature", values: spec.temperatures, show: short });
  ui.root.append(ui.readout);
  const [left, high, wide] = [50, 40, Math.min(ui.room, 780)];
  const canvas = picture(ui.row(), wide, high * spec.words.length, "Bars: the probability of each word");
  const x = (p) => left + (wide - left - 60) * clamp(Number.isFinite(p) ? p : 0, 0, 1);
  const rows = spec.words.map((word, i) => {
    const bar = svg("rect", { x: x(0), y: high * i + 8, height: 24, class: "ta-fill-one" });
    const name = label(canvas, x(0) - 10, high * i + 25, word, "end");
    canvas.append(bar);
    const mark = line(canvas, 0, high * i + 4, 0, high * i + 36, "ta-reference");
    return { bar, mark, name, value: label(canvas, 0, high * i + 25, "") };
  });
  // `word` is no trait: a bar that is pointed at is shown for that long, one that is clicked until Escape.
  const place = cursor(ui, canvas, {
    name: "Words",
    box: () => ({ x: 0, y: 0, width: wide, height: high * spec.words.length }),
    size: () => [1, spec.words.length],
    at: () => [0, ui.seen("word") ?? 0],
    state: (_, word) => ({ word }),
    says: (_, word) => spec.words[word],
    cross: false,
  });

  return {
    draw() {
      const at = spec.temperatures.indexOf(ui.get("temperature"));
      const cut = (name) => ui.table(name).subarray(at * rows.length, (at + 1) * rows.length);
      const [mine, right] = [cut("p"), cut("ref_p")];
      const word = ui.seen("word");
      place();
      rows.forEach(({ bar, mark, name, value }, i) => {
        fill(bar, { width: x(mine[i]) - x(0) });
        fill(mark, { x1: x(right[i]), x2: x(right[i]) });
        fill(value, { x: Math.max(x(mine[i]), x(right[i])) + 8 });
        fill(name, { class: i === word ? "ta-strong" : "ta-text" });
        write(value, fixed(mine[i]));
      });
      const good = ui.table("gap")[at] <= spec.tolerance;
      const said = spec.words.map((text, i) => `${text} ${fixed(mine[i])}`).join(", ");
      const T = short(spec.temperatures[at]);
      const score = (i) => short(spec.scores[i]);
      const formula = `p(${spec.words[word]}) = exp(${score(word ?? 0)} ÷ ${T}) ÷ Σ exp(score ÷ ${T}) = ${fixed(mine[word ?? 0])}`;
      ui.say(`${said}: ${good ? "as the reference" : "differs from the reference"}`, word === undefined ? "" : formula);
      ui.root.dataset.key = said;
    },
  };
}

const widget = { render: mount(temperatureWidget) };
export default widget;
