// ObjectiveLab: the rows that a model reads and predicts, and what one place of them may see.

function objectiveWidget(ui) {
  const { spec } = ui;
  const [N, R] = [spec.size, spec.rows.length];
  const objective = () => spec.objectives[ui.get("objective")];
  const example = (prefix = "") => {
    const table = ui.table(`${prefix}e_${objective().function}`);
    const start = ui.get("draw") * R * N;
    return Array.from({ length: R }, (_, r) => [...table.subarray(start + r * N, start + (r + 1) * N)]);
  };
  const lengths = (rows) => [0, 2].map((r) => rows[r].filter((v) => v !== spec.nothing).length);
  const word = (id) => spec.vocabulary[id] ?? String(id);
  const wording = (label) => {
    if (label === spec.ignore || label === spec.nothing) return "";
    return label >= spec.class ? objective().classes[label - spec.class] ?? String(label) : word(label);
  };
  const locate = (rows, place) => {
    const [first, second] = lengths(rows);
    const p = Math.min(place, first + second - 1);
    return p < first ? [0, p] : [2, p - first];
  };
  pick(ui, { trait: "objective", name: "objective", names: spec.objectives.map((o) => o.title) });
  slider(ui, {
    trait: "place", name: "place", long: true,
    max: () => lengths(example()).reduce((a, b) => a + b, -1),
    show: (p) => {
      const rows = example();
      const [r, c] = locate(rows, p);
      return `${r ? "decoder " : ""}${c}: ${word(rows[r][c])}`;
    },
  });
  slider(ui, { trait: "draw", name: "random draw", max: spec.draws - 1 });
  ui.root.append(ui.readout);

  const box = html("div", { class: "ta-panel", style: "width: 100%" });
  const note = html("small", {});
  box.append(html("p", { class: "ta-caption" }, "The example", note));
  ui.row().append(box);
  const [left, top, cell, step] = [106, 4, 44, 34];
  const [W, H] = [left + N * cell + 2, top + 7 * step];
  const canvas = picture(box, W, H, "Rows of tokens: the text, what the model reads, what it must predict");
  const side = html("div", { class: "ta-panel", style: "width: 100%" });
  ui.row().append(side);
  const show = facts(side, "This example", [
    ["tokens read", "each costs a step of computation"],
    ["predictions", "each is one term of the loss"],
    ["entries unlike the reference", "tokens, labels and positions"],
  ]);

  /** Which tokens of the two sequences this place may see. */
  function visible(rows, [row, column]) {
    const there = [0, 2].map((r) => rows[r].map((v) => v !== spec.nothing));
    const reads = objective().reads;
    if (reads === "encoder-decoder") return [there[0], there[1].map((on, c) => on && row === 2 && c <= column)];
    const partA = reads === "prefix" ? rows[5].filter((v) => v === 0).length : reads === "full" ? N : 0;
    return [there[0].map((on, c) => on && (c <= column || c < partA)), there[1]];
  }

  return {
    draw() {
      const rows = example();
      const right = example("ref_");
      const at = locate(rows, ui.get("place"));
      const seen = visible(rows, at);
      const pair = objective().classes.length > 0;
      note.textContent = `blue: seen from this place; orange: to be predicted there; ${ui.get("notice") || !ui.table("own")[ui.get("objective")] ? "the reference" : "yours"}`;
      const parts = [];
      let line = 0;
      const name = (text) => parts.push(svg("text", { x: left - 8, y: top + line * step + 21, "text-anchor": "end", class: "ta-small" }, text));
      const chip = (c, text, { fill = "none", outline = "ta-axis", strong = false, wrong = false, wide = 1 }) => {
        const [x, y] = [left + c * cell + 1, top + line * step + 2];
        const width = wide * cell - 2;
        const color = fill === "none" ? "fill: none" : `fill: var(--ta-${fill}); fill-opacity: 0.3`;
        parts.push(svg("rect", { x, y, width, height: step - 6, rx: 3, class: "ta-axis", style: color }));
        if (outline === "ta-mark") parts.push(svg("rect", { x, y, width, height: step - 6, rx: 3, class: "ta-mark" }));
        if (wrong) parts.push(svg("rect", { x: x + 2, y: y + 2, width: width - 4, height: step - 10, rx: 2, class: "ta-mark", style: "stroke: var(--ta-bad); stroke-dasharray: 3 2" }));
        parts.push(svg("text", { x: x + width / 2, y: y + 18, "text-anchor": "middle", class: strong ? "ta-strong" : "ta-small", style: strong ? "font-size: 11px" : "" }, text));
      };
      if (!pair) {
        name("text");
        spec.text.forEach((text, c) => chip(c, text, {}));
        line += 1;
      }
      const labels = { 0: rows[2].some((v) => v !== spec.nothing) ? "encoder reads" : "model reads", 1: "must predict",
        2: "decoder reads", 3: "must predict", 4: "position", 5: "in blank" };
      for (let r = 0; r < R; r++) {
        // The encoder of T5 predicts nothing: no row of dashes for it.
        if (rows[r].every((v) => v === spec.nothing || (r === 1 && v === spec.ignore))) continue;
        name(labels[r]);
        rows[r].forEach((v, c) => {
          if (v === spec.nothing) return;
          const wrong = v !== right[r][c];
          if (r === 0 || r === 2) {
            const on = seen[r / 2][c];
            chip(c, word(v), { fill: on ? "one" : "none", strong: on, outline: at[0] === r && at[1] === c ? "ta-mark" : "ta-axis", wrong });
          } else if (r === 1 || r === 3) {
            const here = at[0] === r - 1 && at[1] === c;
            const text = wording(v);
            if (text || here) chip(c, text || "–", { fill: here && text ? "two" : "none", strong: here, wrong, wide: v >= spec.class ? 2 : 1 });
          } else {
            parts.push(svg("text", { x: left + (c + 0.5) * cell, y: top + line * step + 21, "text-anchor": "middle", class: "ta-small" }, String(v)));
          }
        });
        line += 1;
      }
      canvas.setAttribute("viewBox", `0 0 ${W} ${top + line * step}`);
      canvas.setAttribute("height", top + line * step);
      canvas.replaceChildren(...parts);

      const read = lengths(rows).reduce((a, b) => a + b, 0);
      const asked = [1, 3].flatMap((r) => rows[r]).filter((v) => v !== spec.nothing && v !== spec.ignore).length;
      const wrong = rows.reduce((sum, values, r) => sum + values.filter((v, c) => v !== right[r][c]).length, 0);
      show([[String(read), ""], [String(asked), ""], [String(wrong), wrong ? "differs" : "same", wrong === 0]]);
      const [row, column] = at;
      const words = [0, 2].flatMap((r, k) => rows[r].filter((_, c) => seen[k][c])).map(word);
      const answer = wording(rows[row + 1][column]);
      ui.say(`${row ? "decoder place" : "place"} ${column}, “${word(rows[row][column])}”, sees ${words.join(" ")} → ` +
        (answer ? `must predict “${answer}”` : "predicts nothing"));
      ui.root.dataset.key = `${ui.get("objective")},${ui.get("draw")},${row},${column}`;
    },
  };
}

const widget = { render: mount(objectiveWidget) };
export default widget;
