// AttentionExplorer: the weights of every query as a heatmap, and one query's row as bars with numbers.

function attentionWidget(ui) {
  const { spec } = ui;
  const T = spec.sentences[0].length;
  const words = () => spec.sentences[ui.get("sentence")];
  pick(ui, { trait: "sentence", name: "sentence", names: spec.sentences.map((s) => s.join(" ")) });
  slider(ui, { trait: "query", name: "query token", max: T - 1, show: (i) => `${i}: ${words()[i]}` });
  slider(ui, { trait: "layer", name: "layer", max: spec.layers - 1 });
  slider(ui, { trait: "head", name: "head", max: spec.heads - 1 });
  choice(ui, { trait: "scale", name: "scale of q·k", values: spec.scales });
  choice(ui, { trait: "mask", name: "mask", values: spec.masks });
  ui.root.append(ui.readout);

  const row = ui.row();
  const grid = weightGrid(row, T);
  const side = html("div", { class: "ta-panel", style: "flex: 1 1 340px" });
  row.append(side);
  const bars = barPanel(ui, side, T);
  const invariants = facts(side, "What must hold in all rows, sentences, layers and heads", [
    ["max |row sum − 1|", "each query shares out one whole"],
    ["largest weight under the mask", "a forbidden key gets exactly 0"],
    ["farthest from the reference", "largest difference of a weight"],
  ]);
  ui.root.append(html("p", { class: "ta-note" },
    "The heads of a small model of four layers, trained on Jane Austen's novels; these sentences it never saw. It was " +
    "trained with the causal mask and the scale 1/√D: any other setting shows what it was not made for."));

  return {
    draw() {
      const [s, query] = [ui.get("sentence"), ui.get("query")];
      const h = ui.get("layer") * spec.heads + ui.get("head");
      const [mask, scale] = [spec.masks.indexOf(ui.get("mask")), spec.scales.indexOf(ui.get("scale"))];
      const setting = mask * spec.scales.length + scale;
      const start = ((setting * spec.sentences.length + s) * spec.layers * spec.heads + h) * T * T;
      const cut = (name) => ui.table(name).subarray(start, start + T * T);
      const first = (mask * spec.sentences.length + s) * T * T;
      const may = ui.table("allowed").subarray(first, first + T * T);
      const [w, right] = [cut("w"), cut("ref_w")];
      grid.draw(words(), w, may, query, palette(ui.dark), spec.pad);
      const at = query * T;
      const [mine, here] = [w.subarray(at, at + T), may.subarray(at, at + T)];
      bars.draw(words(), mine, right.subarray(at, at + T), here, query);
      const found = [...ui.table("invariants").subarray(setting * 3, setting * 3 + 3)];
      invariants(found.map((v, i) => {
        const good = v <= spec.tolerance;
        if (i === 1 && ui.get("mask") === "none") return ["none masked", "", undefined];
        return [short(v), good ? ["ok", "ok", "same"][i] : ["broken", "broken", "differs"][i], good];
      }));
      const sum = mine.reduce((a, b) => a + b, 0);
      const bits = mine.reduce((a, b) => a - (b === 0 ? 0 : b * Math.log2(b)), 0);
      const most = Math.log2(here.reduce((a, b) => a + b, 0));
      const top = Math.max(...mine);
      const where = Number.isNaN(top) ? "" : ` on “${words()[mine.indexOf(top)]}”`;
      ui.say(`“${words()[query]}”: row sum ${fixed(sum)}, entropy ${fixed(bits, 2)} bits ` +
        `of at most ${fixed(most, 2)}; largest weight ${fixed(top, 2)}${where}`);
      ui.root.dataset.key = `${s},${h},${query},${setting}`;
    },
  };
}

/** T × T cells with their numbers; a dot where the mask forbids. */
function weightGrid(parent, T) {
  const [left, top, cell] = [56, 24, 44];
  const [W, H] = [left + T * cell + 2, top + T * cell + 4];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  box.append(html("p", { class: "ta-caption" }, "Weights", html("small", {}, "row: query, column: key; · is masked")));
  parent.append(box);
  const canvas = picture(box, W, H, "Heatmap of attention weights, one row for each query and one column for each key");
  const at = (i) => (i + 0.5) * cell;
  const [rows, columns] = [0, 1].map((way) => Array.from({ length: T }, (_, i) => (way === 0
    ? label(canvas, left - 6, top + at(i) + 4, "", "end")
    : label(canvas, left + at(i), top - 8, "", "middle", "ta-small"))));
  const cells = Array.from({ length: T * T }, (_, i) => {
    const [m, n] = [Math.floor(i / T), i % T];
    const rect = svg("rect", { x: left + n * cell, y: top + m * cell, width: cell, height: cell, class: "ta-cell" });
    canvas.append(rect);
    const text = label(canvas, left + at(n), top + at(m) + 4, "", "middle", "ta-onfill");
    text.dataset.ink = "own";
    return [rect, text];
  });
  const mark = svg("rect", { x: left, width: T * cell, height: cell, class: "ta-mark" });
  canvas.append(mark);

  return {
    draw(words, w, may, query, colors) {
      words.forEach((word, i) => {
        rows[i].textContent = columns[i].textContent = word;
        rows[i].setAttribute("class", i === query ? "ta-strong" : "ta-text");
      });
      cells.forEach(([rect, text], i) => {
        const rgb = colors.at(w[i]);
        rect.setAttribute("fill", css(rgb));
        text.setAttribute("fill", inkOn(rgb));
        text.textContent = !may[i] && w[i] === 0 ? "·" : fixed(w[i], 2);
      });
      mark.setAttribute("y", top + query * cell);
    },
  };
}

/** The weights of one query as bars; a gray tick shows the reference's. */
function barPanel(ui, parent, T) {
  const [left, height, wide, number] = [56, 22, 268, 58];
  const [W, H] = [left + wide + number, T * height + 2];
  const title = html("p", { class: "ta-caption" });
  const box = html("div", { style: "margin-bottom: 10px" }, title);
  parent.append(box);
  const canvas = picture(box, W, H, "Bars: the weights of the query on show");
  line(canvas, left, 0, left, H);
  const bars = Array.from({ length: T }, (_, i) => {
    const y = i * height;
    const name = label(canvas, left - 6, y + 15, "", "end");
    const bar = svg("rect", { x: left, y: y + 3, height: height - 6, class: "ta-fill-one" });
    const tick = line(canvas, 0, y + 1, 0, y + height - 1, "ta-tick");
    canvas.append(bar, tick);
    return { name, bar, tick, value: label(canvas, left + wide + number, y + 15, "", "end", "ta-strong") };
  });
  return {
    draw(words, mine, right, may, query) {
      title.replaceChildren(`“${words[query]}” attends to`,
        html("small", {}, ui.get("notice") ? "" : "bar: yours; gray tick: the reference"));
      bars.forEach(({ name, bar, tick, value }, i) => {
        name.textContent = words[i];
        bar.setAttribute("width", Number.isFinite(mine[i]) ? clamp(mine[i], 0, 1) * wide : 0);
        tick.setAttribute("x1", left + right[i] * wide);
        tick.setAttribute("x2", left + right[i] * wide);
        value.textContent = !may[i] && mine[i] === 0 ? "masked" : fixed(mine[i]);
      });
    },
  };
}

const widget = { render: mount(attentionWidget) };
export default widget;
