// AttentionExplorer: who attends to whom. A word, a cell, a bar or a small map is pointed at, and all panels follow; the
// grip on a bar moves that key's score, and the softmax follows.

const GAP = 20; // px between two panels side by side
const [GRID, HEADS] = [276, 166]; // widths of the map and of the panel of heads, side by side
const BACK = { moved: -1, nudge: 0 }; // no score is moved

function attentionWidget(ui) {
  const { spec, room } = ui;
  const T = spec.sentences[0].length;
  const view = {
    words: () => spec.sentences[ui.seen("sentence")].map((word) => (word === spec.pad ? tr("pad") : word)),
    query: () => ui.seen("query"),
    key: () => ui.seen("key"),
  };
  const joined = (s) => s.filter((word) => word !== spec.pad).join(" ").replace(/ (?=[.,;])/g, "");
  pick(ui, { trait: "sentence", name: tr("sentence"), names: spec.sentences.map(joined) });
  slider(ui, { trait: "layer", name: tr("layer"), max: spec.layers - 1 });
  slider(ui, { trait: "head", name: tr("head"), max: spec.heads - 1 });
  choice(ui, { trait: "scale", name: tr("scale of q·k"), values: spec.scales, show: (scale) => tr(scale) });
  choice(ui, { trait: "mask", name: tr("mask"), values: spec.masks, show: (mask) => tr(mask) });
  // Other scores: what was moved goes back. A list is drawn anew between its two events, and keeps what it had.
  const fresh = (event) => { if (event.type === "change" || event.target.type === "range") ui.setAll(BACK); };
  for (const kind of ["input", "change"]) ui.controls.addEventListener(kind, fresh);
  for (const name of ["query", "moved"]) ui.watch(name);
  const sentence = wordRow(ui, ui.row(), T, room, view);
  ui.root.append(ui.readout);

  const row = ui.row();
  const wide = room >= 740;
  if (!wide) ui.readout.style.minHeight = room < 340 ? "134px" : "116px"; // lines that come must not move the picture under the hand
  const grid = weightGrid(ui, row, T, wide ? GRID : Math.min(room, 342), view);
  const bars = barPanel(ui, row, T, wide ? room - GRID - HEADS - 2 * GAP : room, view, now);
  const heads = headPanel(ui, row, T, wide);
  const mixed = mixBar(ui, ui.row(), T, room, view);
  const invariants = signs(ui.row(), [
    [tr("rows sum to 1"), tr("max |row sum − 1|: each query shares out one whole")],
    [tr("masked keys get 0"), tr("the largest weight where the mask forbids one")],
    [tr("as the reference"), tr("the largest difference of a weight, in all sentences, layers and heads")],
  ]);
  ui.root.append(html("p", { class: "ta-note", style: "margin: 0" },
    tr("Heads of a small model that guesses the next word, trained on Jane Austen's novels; these sentences are new to it.")));

  /** What is on show, with the row of the query as its moved score makes it. */
  function now() {
    const [s, layer, head, query, moved] = ["sentence", "layer", "head", "query", "moved"].map((name) => ui.seen(name));
    const h = layer * spec.heads + head;
    const many = spec.layers * spec.heads;
    const [mask, scale] = [spec.masks.indexOf(ui.get("mask")), spec.scales.indexOf(ui.get("scale"))];
    const setting = mask * spec.scales.length + scale;
    const size = T * T;
    const first = (setting * spec.sentences.length + s) * many * size;
    const cut = (name, start) => ui.table(name).subarray(start, start + size);
    const may = cut("allowed", (mask * spec.sentences.length + s) * size);
    const w = cut("w", first + h * size);
    const all = ui.table("w").subarray(first, first + many * size);
    const one = (table) => [...table.subarray(query * T, query * T + T)];
    const [here, before, raw] = [one(may), one(w), one(cut("scores", (s * many + h) * size))];
    const delta = moved >= 0 && here[moved] ? ui.seen("nudge") / 10 : 0;
    const follow = (row) => (delta ? nudged(row, moved, delta) : row);
    const still = raw.map((x) => x * [1, 1 / Math.sqrt(spec.D), 1 / spec.D][scale]);
    return {
      s, layer, head, query, moved, delta, setting, scale, all, may, w, here, before, raw, still, mine: follow(before),
      right: follow(one(cut("ref_w", first + h * size))), key: view.key(), words: view.words(), mask: ui.get("mask"), D: spec.D,
      scores: still.map((x, i) => (i === moved ? x + delta : x)),
    };
  }

  let drawn = "";
  return {
    stale() { drawn = ""; },
    draw() {
      const state = now();
      const { s, layer, head, query, key, setting, moved, delta, mine } = state;
      const colors = palette(ui.dark);
      const cells = `${s},${layer},${head},${setting},${delta ? `${query},${moved},${delta}` : ""}`;
      if (drawn !== cells) {
        const w = Float32Array.from(state.w);
        w.set(mine, query * T);
        grid.paint(w, state.may, colors);
        heads.paint(state.all, colors);
        const found = [...ui.table("invariants").subarray(setting * 3, setting * 3 + 3)];
        invariants(found.map((v, i) => {
          const good = v <= spec.tolerance;
          if (i === 1 && ui.get("mask") === "none") return [tr("none masked"), "", undefined];
          return [short(v), tr(good ? [N_("ok"), "ok", N_("same")][i] : [N_("broken"), "broken", N_("differs")][i]), good];
        }));
        drawn = cells;
      }
      grid.mark(query, key);
      heads.mark(layer, head);
      sentence(mine, query, key, colors);
      bars(state);
      mixed(state.words, mine, query, key);
      const text = key === undefined ? rowSaid(state, ui.seen("nudge")) : cellSaid(state, ui.get("notice"), ui.seen("tried") === key);
      ui.say(`${ui.pointing ? tr("layer {layer}, head {head}: ", { layer, head }) : ""}${text}`,
        ui.without("map") ? "" : key === undefined ? tr("Point at a cell for its formula.") : formula(state));
      ui.root.dataset.key = `${s},${layer},${head},${ui.get("query")},${setting},${ui.get("moved")},${ui.get("nudge")}`;
    },
  };
}

/** A row of weights after the score of key n has moved: its own share grows by exp(delta), and all are shared out anew. */
function nudged(row, n, delta) {
  const sum = 1 + row[n] * Math.expm1(delta);
  return row.map((v, i) => (i === n ? v * Math.exp(delta) : v) / sum);
}

/** " + 1.2" or " − 1.2"; nothing for 0. */
const plus = (x) => (x ? ` ${x < 0 ? "−" : "+"} ${fixed(Math.abs(x), 1)}` : "");

/** One query's row: its sum, its largest weight. */
function rowSaid({ words, query, mine, here, moved, delta }, nudge) {
  const sum = mine.reduce((a, b) => a + b, 0);
  const top = Math.max(...mine);
  const told = delta ? tr(" The score of “{word}” is moved:{by}.", { word: words[moved], by: plus(delta) })
    : moved >= 0 && nudge
      ? tr(" “{word}” is masked here: −∞{by} = −∞.", { word: words[moved], by: plus(nudge / 10) }) : "";
  const values = { word: words[query], n: here.filter(Boolean).length, all: here.length, sum: fixed(sum, 2), top: fixed(top, 2), other: words[mine.indexOf(top)] };
  return tr(Number.isNaN(top)
    ? N_("“{word}” may look at {n} of {all} words; its weights add up to {sum}; largest weight {top}.")
    : N_("“{word}” may look at {n} of {all} words; its weights add up to {sum}; largest weight {top} on “{other}”."), values) + told;
}

/** One cell. The reference is named where the weight is another; tried: a hand would move what is masked. */
function cellSaid({ words, query, key, mine, right, here, before, delta }, notice, tried) {
  if (tried && !here[key]) {
    return tr("“{word}” is masked: its score is −∞, and stays −∞ whatever is added. It cannot be moved.", { word: words[key] });
  }
  const beside = notice || Math.abs(mine[key] - right[key]) <= 5e-4 ? ""
    : tr(" (expected {right})", { right: fixed(right[key]) });
  const was = delta && before[key] > 5e-4
    ? tr(" = {weight} before × {factor}", { weight: fixed(before[key]), factor: short(mine[key] / before[key]) }) : "";
  return tr("“{word}” gives “{other}” the weight {weight}{was}{beside}.",
    { word: words[query], other: words[key], weight: fixed(mine[key]), was, beside });
}

/** w[m, n] as the softmax of its row, then the score itself; what is right, whatever the learner's function says. */
function formula({ query, key, scores, here, raw, scale, D, mask, moved, delta }) {
  const [cell, score] = [`w[${query}, ${key}]`, `s[${query}, ${key}]`];
  if (!here[key]) return tr("{cell} = exp(−∞) ÷ Σ = 0: the {mask} mask sets {score} = −∞.", { cell, mask: tr(mask), score });
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
  const way = by + (key === moved ? plus(delta) : "");
  const how = `${score} = q[${query}]·k[${key}]${way}${way ? ` = ${fixed(raw[key], 1)}${way}` : ""} = ${fixed(scores[key], 1)}`;
  return `${cell} = exp(${fixed(scores[key], 1)}) ÷ (${terms.join(" + ")}) = ${fixed(weight)};  ${how}`;
}

/** The sentence: point at a word, and it is the query; the others are as dark as the weights that they get. */
function wordRow(ui, parent, T, W, view) {
  const H = 30;
  const canvas = picture(parent, W, H, tr("The sentence, each word shaded by the weight that the query gives it"));
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
    name: tr("query token"), cross: false,
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
      write(text, view.words()[i]);
    });
    fill(mark, { x: query * cw + 1 });
    lit.style.visibility = key === undefined ? "hidden" : "visible";
    if (key !== undefined) fill(lit, { x: key * cw + 4 });
  };
}

/** T × T cells with their numbers; a dot where the mask forbids. */
function weightGrid(ui, parent, T, W, view) {
  const [left, top, high] = [50, 20, 25];
  const cell = Math.floor((W - left - 2) / T);
  const H = top + T * high + 4;
  const box = html("div", { class: "ta-panel", "data-part": "map", style: `width: ${W}px` });
  box.append(html("p", { class: "ta-caption" }, tr("Weights"),
    html("small", {}, tr("row: query, column: key; · masked"))));
  parent.append(box);
  const canvas = picture(box, W, H, tr("Heatmap of attention weights, one row for each query and one column for each key"));
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
    name: tr("Weights; arrow keys move query and key"), cross: false,
    box: () => ({ x: left, y: top, width: T * cell, height: T * high }),
    size: () => [T, T],
    at: () => [view.key() ?? -1, view.query()],
    state: (key, query) => ({ query, key: Math.max(key, 0) }),
    says: (key, query) => tr(key < 0 ? N_("query {query}: {word}") : N_("query {query}: {word}, key {key}: {other}"),
      { query, word: view.words()[query], key, other: view.words()[key] }),
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
        write(columns[i], view.words()[i]);
        fill(rows[i], { class: i === query ? "ta-strong" : "ta-text" });
        fill(columns[i], { class: i === key ? "ta-strong" : "ta-small" });
      });
      fill(mark, { y: y(query) });
      column.style.visibility = key === undefined ? "hidden" : "visible";
      if (key !== undefined) fill(column, { x: x(key) });
    },
  };
}

/** All heads as small maps, a row for each layer: point at one to see it large. */
function headPanel(ui, parent, T, wide) {
  const { spec } = ui;
  const [dot, left, top] = [wide ? 4 : 5, 18, 20];
  const step = T * dot + 4;
  const [w, h] = [spec.heads * step, spec.layers * step];
  const W = left + w + 2;
  const box = html("div", { class: "ta-panel", "data-part": "heads", style: `width: ${wide ? HEADS : W}px` });
  box.append(html("p", { class: "ta-caption" }, tr("All heads")));
  const stack = html("div", { class: "ta-stack", style: `width: ${W}px` });
  const maps = html("canvas", {
    width: w, height: h, "aria-hidden": "true", style: `left: ${left}px; top: ${top}px; width: ${w}px; height: ${h}px`,
  });
  stack.append(maps);
  box.append(stack);
  parent.append(box);
  const over = picture(stack, W, top + h + 20, tr("Small heatmaps of all heads: a row for each layer, a column for each head"));
  for (let i = 0; i < spec.heads; i++) label(over, left + (i + 0.5) * step, top - 6, String(i), "middle", "ta-small");
  for (let i = 0; i < spec.layers; i++) label(over, left - 6, top + (i + 0.5) * step + 4, String(i), "end", "ta-small");
  label(over, left + w / 2, top + h + 14, tr("layer ↓  head →"), "middle", "ta-small");
  const mark = svg("rect", { width: step, height: step, class: "ta-mark" });
  over.append(mark);
  const place = cursor(ui, over, {
    name: tr("All heads; arrow keys move layer and head"), cross: false,
    box: () => ({ x: left, y: top, width: w, height: h }),
    size: () => [spec.heads, spec.layers],
    at: () => [ui.seen("head"), ui.seen("layer")],
    state: (head, layer) => ({ layer, head, ...(layer === ui.get("layer") && head === ui.get("head") ? {} : BACK) }),
    says: (head, layer) => tr("layer {layer}, head {head}", { layer, head }),
  });
  return {
    paint(weights, colors) {
      const image = new ImageData(w, h);
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
      paintImage(maps, image);
    },
    mark(layer, head) {
      place();
      fill(mark, { x: left + head * step, y: top + layer * step });
    },
  };
}

const widget = { render: mount(attentionWidget) };
export default widget;
