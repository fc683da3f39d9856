// AttentionExplorer: who attends to whom. A word, a cell, a bar or a small map is pointed at, and all panels follow.

const GAP = 20; // px between two panels side by side
const HEADS = 132; // width of the panel of heads

function attentionWidget(ui) {
  const { spec, room } = ui;
  const T = spec.sentences[0].length;
  const view = {
    brief: () => view.words().map((word) => (word === spec.pad ? "pad" : word)), // fits above a narrow column
    words: () => spec.sentences[ui.seen("sentence")],
    query: () => ui.seen("query"),
    key: () => ui.seen("key"),
  };
  const joined = (s) => s.filter((word) => word !== spec.pad).join(" ").replace(/ (?=[.,;])/g, "");
  pick(ui, { trait: "sentence", name: "sentence", names: spec.sentences.map(joined) });
  slider(ui, { trait: "layer", name: "layer", max: spec.layers - 1 });
  slider(ui, { trait: "head", name: "head", max: spec.heads - 1 });
  choice(ui, { trait: "scale", name: "scale of q·k", values: spec.scales });
  choice(ui, { trait: "mask", name: "mask", values: spec.masks });
  const sentence = wordRow(ui, ui.row(), T, room, view);
  ui.root.append(ui.readout);

  const row = ui.row();
  const wide = room >= 740;
  if (!wide) ui.readout.style.minHeight = "98px"; // lines that come must not move the picture under the hand
  const grid = weightGrid(ui, row, T, Math.min(wide ? 342 : room, 342), view);
  const bars = barPanel(ui, row, T, wide ? room - 342 - HEADS - 2 * GAP : room, view);
  const heads = headPanel(ui, row, T, wide);
  const invariants = signs(ui.row(), [
    ["rows sum to 1", "max |row sum − 1|: each query shares out one whole"],
    ["masked keys get 0", "the largest weight where the mask forbids one"],
    ["as the reference", "the largest difference of a weight, in all sentences, layers and heads"],
  ]);
  ui.root.append(html("p", { class: "ta-note" },
    "Heads of a small model trained on Jane Austen's novels, causally and with 1/√D; these sentences are new to it."));

  let drawn = "";
  return {
    stale() { drawn = ""; },
    draw() {
      const [s, layer, head] = [ui.seen("sentence"), ui.seen("layer"), ui.seen("head")];
      const h = layer * spec.heads + head;
      const many = spec.layers * spec.heads;
      const [mask, scale] = [spec.masks.indexOf(ui.get("mask")), spec.scales.indexOf(ui.get("scale"))];
      const setting = mask * spec.scales.length + scale;
      const size = T * T;
      const first = (setting * spec.sentences.length + s) * many * size;
      const cut = (name, start) => ui.table(name).subarray(start, start + size);
      const may = cut("allowed", (mask * spec.sentences.length + s) * size);
      const [w, right] = [cut("w", first + h * size), cut("ref_w", first + h * size)];
      const raw = cut("scores", (s * many + h) * size);
      const factor = [1, 1 / Math.sqrt(spec.D), 1 / spec.D][scale];
      const [query, key] = [view.query(), view.key()];
      const cells = `${s},${h},${setting}`;
      if (drawn !== cells) {
        const colors = palette(ui.dark);
        grid.paint(w, may, colors);
        heads.paint(ui.table("w").subarray(first, first + many * size), colors);
        const found = [...ui.table("invariants").subarray(setting * 3, setting * 3 + 3)];
        invariants(found.map((v, i) => {
          const good = v <= spec.tolerance;
          if (i === 1 && ui.get("mask") === "none") return ["none masked", "", undefined];
          return [short(v), good ? ["ok", "ok", "same"][i] : ["broken", "broken", "differs"][i], good];
        }));
        drawn = cells;
      }
      grid.mark(query, key);
      heads.mark(layer, head);
      const at = query * T;
      const one = (table) => table.subarray(at, at + T);
      const [mine, here] = [one(w), one(may)];
      const scores = [...one(raw)].map((x) => x * factor);
      sentence(mine, query, key, palette(ui.dark));
      bars({ mine, right: one(right), here, scores, query, key });
      const text = key === undefined ? rowSaid(view.words(), query, mine, here)
        : cellSaid(view.words(), query, key, mine[key], right[at + key], ui.get("notice"));
      ui.say(`${ui.pointing ? `layer ${layer}, head ${head}: ` : ""}${text}`,
        key === undefined ? "Point at a cell for its formula."
          : formula({ query, key, scores, here, raw: raw[at + key], scale, D: spec.D, mask: ui.get("mask") }));
      ui.root.dataset.key = `${s},${h},${ui.get("query")},${setting}`;
    },
  };
}

/** One query's row: its sum, its entropy, its largest weight. */
function rowSaid(words, query, mine, here) {
  const sum = mine.reduce((a, b) => a + b, 0);
  const bits = mine.reduce((a, b) => a - (b === 0 ? 0 : b * Math.log2(b)), 0);
  const most = Math.log2(here.reduce((a, b) => a + b, 0));
  const top = Math.max(...mine);
  const where = Number.isNaN(top) ? "" : ` on “${words[mine.indexOf(top)]}”`;
  return `“${words[query]}”: row sum ${fixed(sum)}, entropy ${fixed(bits, 2)} bits ` +
    `of at most ${fixed(most, 2)}; largest weight ${fixed(top, 2)}${where}.`;
}

/** One cell. The reference is named where the weight is another. */
function cellSaid(words, query, key, mine, right, notice) {
  const beside = notice || Math.abs(mine - right) <= 5e-4 ? "" : ` (expected ${fixed(right)})`;
  return `“${words[query]}” gives “${words[key]}” the weight ${fixed(mine)}${beside}.`;
}

/** w[m, n] as the softmax of its row, then the score itself; what is right, whatever the learner's function says. */
function formula({ query, key, scores, here, raw, scale, D, mask }) {
  const [cell, score] = [`w[${query}, ${key}]`, `s[${query}, ${key}]`];
  if (!here[key]) return `${cell} = exp(−∞) ÷ Σ = 0: the ${mask} mask sets ${score} = −∞.`;
  const open = scores.map((x, i) => [x, i]).filter(([, i]) => here[i]);
  const shown = open.filter(([, i], j) => open.length <= 4 || j < 2 || i === key || j === open.length - 1);
  const terms = shown.map(([x, i], j) => {
    const rank = (key) => open.findIndex((o) => o[1] === key);
    const gap = j && rank(i) - rank(shown[j - 1][1]) > 1 ? "… + " : "";
    return `${gap}exp(${fixed(x, 1)})`;
  });
  const top = Math.max(...open.map(([x]) => x));
  const sum = open.reduce((a, [x]) => a + Math.exp(x - top), 0);
  const weight = Math.exp(scores[key] - top) / sum;
  const by = ["", ` ÷ √${D}`, ` ÷ ${D}`][scale];
  const how = `${score} = q[${query}]·k[${key}]${by}${by ? ` = ${fixed(raw, 1)}${by}` : ""} = ${fixed(scores[key], 1)}`;
  return `${cell} = exp(${fixed(scores[key], 1)}) ÷ (${terms.join(" + ")}) = ${fixed(weight)};  ${how}`;
}

/** The sentence: point at a word, and it is the query; the others are as dark as the weights that they get. */
function wordRow(ui, parent, T, W, view) {
  const H = 30;
  const canvas = picture(parent, W, H, "The sentence, each word shaded by the weight that the query gives it");
  const cw = W / T;
  const cells = Array.from({ length: T }, (_, i) => {
    const box = svg("rect", { x: i * cw + 1, y: 2, width: cw - 2, height: H - 4, rx: 3, class: "ta-axis" });
    canvas.append(box);
    const text = label(canvas, (i + 0.5) * cw, H / 2 + 4, "", "middle", "ta-text");
    text.dataset.ink = "own";
    return [box, text];
  });
  const mark = svg("rect", { y: 2, width: cw - 2, height: H - 4, rx: 3, class: "ta-mark" });
  const lit = svg("rect", { y: H - 5, width: cw - 8, height: 3, class: "ta-fill-two" });
  canvas.append(mark, lit);
  const place = cursor(ui, canvas, {
    name: "query token", cross: false,
    box: () => ({ x: 0, y: 0, width: W, height: H }),
    size: () => [T, 1],
    at: () => [view.query(), 0],
    state: (query) => ({ query }),
    says: (i) => `${i}: ${view.words()[i]}`,
  });
  return (mine, query, key, colors) => {
    place();
    cells.forEach(([box, text], i) => {
      const rgb = colors.at(mine[i]);
      box.style.fill = css(rgb);
      text.style.fill = inkOn(rgb);
      write(text, view.brief()[i]);
    });
    fill(mark, { x: query * cw + 1 });
    lit.style.visibility = key === undefined ? "hidden" : "visible";
    if (key !== undefined) fill(lit, { x: key * cw + 4 });
  };
}

/** T × T cells with their numbers; a dot where the mask forbids. */
function weightGrid(ui, parent, T, W, view) {
  const [left, top, high] = [50, 20, 28];
  const cell = Math.floor((W - left - 2) / T);
  const H = top + T * high + 4;
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  box.append(html("p", { class: "ta-caption" }, "Weights", html("small", {}, "row: query, column: key; · is masked")));
  parent.append(box);
  const canvas = picture(box, W, H, "Heatmap of attention weights, one row for each query and one column for each key");
  const [x, y] = [(i) => left + i * cell, (i) => top + i * high];
  const rows = Array.from({ length: T }, (_, i) => label(canvas, left - 6, y(i + 0.5) + 4, "", "end"));
  const columns = Array.from({ length: T }, (_, i) => label(canvas, x(i + 0.5), top - 6, "", "middle", "ta-small"));
  const cells = Array.from({ length: T * T }, (_, i) => {
    const [m, n] = [Math.floor(i / T), i % T];
    const rect = svg("rect", { x: x(n), y: y(m), width: cell, height: high, class: "ta-cell" });
    canvas.append(rect);
    const text = label(canvas, x(n + 0.5), y(m + 0.5) + 4, "", "middle", "ta-onfill");
    text.dataset.ink = "own";
    return [rect, text];
  });
  const mark = svg("rect", { x: left, width: T * cell, height: high, class: "ta-mark" });
  const column = svg("rect", { y: top, width: cell, height: T * high, class: "ta-mark", "stroke-dasharray": "3 3" });
  canvas.append(column, mark);
  const place = cursor(ui, canvas, {
    name: "Weights; arrow keys move query and key", cross: false,
    box: () => ({ x: left, y: top, width: T * cell, height: T * high }),
    size: () => [T, T],
    at: () => [view.key() ?? -1, view.query()],
    state: (key, query) => ({ query, key: Math.max(key, 0) }),
    says: (key, query) => `query ${query}: ${view.words()[query]}${key < 0 ? "" : `, key ${key}: ${view.words()[key]}`}`,
  });

  return {
    paint(w, may, colors) {
      cells.forEach(([rect, text], i) => {
        const rgb = colors.at(w[i]);
        fill(rect, { fill: css(rgb) });
        fill(text, { fill: inkOn(rgb) });
        write(text, !may[i] && w[i] === 0 ? "·" : fixed(w[i], 2));
      });
    },
    mark(query, key) {
      place();
      view.words().forEach((word, i) => {
        write(rows[i], word);
        write(columns[i], view.brief()[i]);
        fill(rows[i], { class: i === query ? "ta-strong" : "ta-text" });
        fill(columns[i], { class: i === key ? "ta-strong" : "ta-small" });
      });
      fill(mark, { y: y(query) });
      column.style.visibility = key === undefined ? "hidden" : "visible";
      if (key !== undefined) fill(column, { x: x(key) });
    },
  };
}

/** One query's scores and weights: a number and a bar for each key; a gray tick shows the reference's weight. */
function barPanel(ui, parent, T, W, view) {
  const [names, left, top, height, end] = [50, 106, 20, 28, 52];
  const wide = W - left - end;
  const title = html("p", { class: "ta-caption" });
  const [who, note] = [html("span"), html("small")];
  title.append(who, note);
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` }, title);
  parent.append(box);
  const canvas = picture(box, W, top + T * height + 4, "Bars: the weights of the query on show");
  label(canvas, left - 6, top - 6, "score", "end", "ta-small");
  label(canvas, left, top - 6, "weight", "start", "ta-small");
  line(canvas, left, top, left, top + T * height);
  const mark = svg("rect", { x: 1, width: W - 2, height, class: "ta-mark" });
  const bars = Array.from({ length: T }, (_, i) => {
    const y = top + i * height;
    const name = label(canvas, names - 4, y + 18, "", "end");
    const bar = svg("rect", { x: left, y: y + 6, height: height - 12, class: "ta-fill-one" });
    const tick = line(canvas, 0, y + 4, 0, y + height - 4, "ta-tick");
    canvas.append(bar, tick);
    const score = label(canvas, left - 6, y + 18, "", "end");
    return { name, bar, tick, score, value: label(canvas, W - 4, y + 18, "", "end", "ta-strong") };
  });
  canvas.append(mark);
  const place = cursor(ui, canvas, {
    name: "Key of the query on show", cross: false,
    box: () => ({ x: 0, y: top, width: W, height: T * height }),
    size: () => [1, T],
    at: () => [0, view.key() ?? 0],
    state: (_, key) => ({ key }),
    says: (_, key) => (view.key() === undefined ? "none yet" : `${key}: ${view.words()[key]}`),
  });
  return ({ mine, right, here, scores, query, key }) => {
    place();
    write(who, `“${view.words()[query]}” attends to`);
    write(note, ui.get("notice") ? "" : "gray tick: reference");
    bars.forEach(({ name, bar, tick, score, value }, i) => {
      write(name, view.words()[i]);
      fill(bar, { width: (Number.isFinite(mine[i]) ? clamp(mine[i], 0, 1) * wide : 0).toFixed(1) });
      const at = (left + right[i] * wide).toFixed(1);
      fill(tick, { x1: at, x2: at });
      write(score, here[i] ? fixed(scores[i], 1) : "−∞");
      write(value, !here[i] && mine[i] === 0 ? "masked" : fixed(mine[i]));
    });
    mark.style.visibility = key === undefined ? "hidden" : "visible";
    if (key !== undefined) fill(mark, { y: top + key * height });
  };
}

/** All heads as small maps, a row for each layer: point at one to see it large. */
function headPanel(ui, parent, T, wide) {
  const { spec } = ui;
  const [dot, left, top] = [wide ? 3 : 5, 18, 20];
  const step = T * dot + 4;
  const [w, h] = [spec.heads * step, spec.layers * step];
  const W = left + w + 2;
  const box = html("div", { class: "ta-panel", style: `width: ${wide ? HEADS : W}px` });
  box.append(html("p", { class: "ta-caption" }, "All heads"));
  const stack = html("div", { class: "ta-stack", style: `width: ${W}px` });
  const maps = html("canvas", {
    width: w, height: h, "aria-hidden": "true", style: `left: ${left}px; top: ${top}px; width: ${w}px; height: ${h}px`,
  });
  stack.append(maps);
  box.append(stack);
  parent.append(box);
  const over = picture(stack, W, top + h + 20, "Small heatmaps of all heads: a row for each layer, a column for each head");
  for (let i = 0; i < spec.heads; i++) label(over, left + (i + 0.5) * step, top - 6, String(i), "middle", "ta-small");
  for (let i = 0; i < spec.layers; i++) label(over, left - 6, top + (i + 0.5) * step + 4, String(i), "end", "ta-small");
  label(over, left + w / 2, top + h + 14, "layer ↓  head →", "middle", "ta-small");
  const mark = svg("rect", { width: step, height: step, class: "ta-mark" });
  over.append(mark);
  const place = cursor(ui, over, {
    name: "All heads; arrow keys move layer and head", cross: false,
    box: () => ({ x: left, y: top, width: w, height: h }),
    size: () => [spec.heads, spec.layers],
    at: () => [ui.seen("head"), ui.seen("layer")],
    state: (head, layer) => ({ layer, head }),
    says: (head, layer) => `layer ${layer}, head ${head}`,
  });
  return {
    paint(weights, colors) {
      const context = maps.getContext("2d");
      const image = context.createImageData(w, h);
      const size = T * T;
      const rule = mix(colors.zero, [128, 128, 128], 0.35); // a frame, so that empty cells are seen to be inside
      for (let y = 0; y < h; y++) {
        for (let x = 0; x < w; x++) {
          const [m, n] = [Math.floor(((y % step) - 2) / dot), Math.floor(((x % step) - 2) / dot)];
          const inside = m >= 0 && n >= 0 && m < T && n < T;
          const i = (Math.floor(y / step) * spec.heads + Math.floor(x / step)) * size + m * T + n;
          image.data.set([...(inside ? colors.at(weights[i]) : rule), 255], 4 * (y * w + x));
        }
      }
      context.putImageData(image, 0, 0);
    },
    mark(layer, head) {
      place();
      fill(mark, { x: left + head * step, y: top + layer * step });
    },
  };
}

const widget = { render: mount(attentionWidget) };
export default widget;
