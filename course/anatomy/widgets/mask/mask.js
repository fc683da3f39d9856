// MaskExplorer: a mask as a grid of tokens that can be painted; one query's row, and what reaches it over several layers.

const QUERY_MS = 700; // between two queries of "Play"
// What the size says, for what a kind of mask counts.
const SIZES = {
  "new tokens": N_("{n} new tokens"), "real tokens": N_("{n} real tokens"), "in the prefix": N_("{n} in the prefix"),
  "source tokens": N_("{n} source tokens"), example: N_("example {n}"), "": N_("one size"),
};

function maskWidget(ui) {
  const { spec, room } = ui;
  const N = spec.size;
  const firsts = spec.kinds.map((_, k) => spec.scenes.findIndex((s) => s.kind === k));
  const kind = () => spec.kinds[ui.get("mask")];
  const place = () => Math.min(ui.get("size"), kind().sizes.length - 1);
  const index = () => firsts[ui.get("mask")] + place();
  const scene = () => spec.scenes[index()];
  pick(ui, { trait: "mask", name: tr("mask"), names: spec.kinds.map((k) => k.name) });
  slider(ui, { trait: "query", name: tr("query"), max: () => scene().rows.length - 1, show: (i) => `${i}: ${scene().rows[i]}` });
  const deep = slider(ui, { trait: "layers", name: tr("layers"), values: Array.from({ length: spec.layers }, (_, i) => i + 1) });
  const size = slider(ui, {
    trait: "size", name: tr("size"), max: () => kind().sizes.length - 1, long: true,
    show: (i) => tr(SIZES[kind().counts], { n: kind().counts === "example" ? i + 1 : kind().sizes[i] }),
  });
  Object.assign(size.parentNode.dataset, { part: "sizes", of: "mask" }); // a mask has its own sizes, or just one
  // Another mask is another sheet: what was painted on the last one does not stay.
  const fresh = () => ui.set("painted", "");
  ui.controls.querySelector("select").addEventListener("change", fresh);
  size.addEventListener("input", fresh);
  ui.watch("painted");
  const [left, gap] = [50, 20];
  const side = Math.min(284, room - left - 2);
  const wide = room >= left + side + gap + 300;
  const choose = ui.controls.firstChild;
  const bar = html("div", { class: "ta-bar" });
  (wide ? choose : ui.controls).append(bar); // one line for both
  if (wide) choose.style.cssText = "grid-column: 1 / -1; grid-template-columns: max-content minmax(0, max-content) 1fr";
  player(ui, bar, {
    stepName: tr("Next query"), playName: tr("Play queries"), every: QUERY_MS,
    step: () => ui.set("query", (Math.min(ui.get("query"), scene().rows.length - 1) + 1) % scene().rows.length),
    ends: () => ui.get("query") === scene().rows.length - 1,
  });
  const back = button(bar, tr("Back to the mask"), fresh);
  ui.readout.style.minHeight = room < 480 ? "116px" : "43px";
  ui.root.append(ui.readout);

  const row = ui.row();
  /** Does the token after position i reach it? undefined where no position predicts the next token. */
  const copies = (i, layers) => (now.s.predicts.includes(i) ? now.ways[layers][i * N + i + 1] > 0 : undefined);
  let now = null; // what is on the sheet; made anew when the scene, the paint or the tables change
  const grid = maskGrid(ui, row, { left, side, N, setting: () => now, paint });
  const path = pathPanel(ui, row, wide ? room - left - side - 2 - gap : Math.min(room, 420), wide ? 208 : 220, N, () => now);
  const lossBar = barOfLoss(path.box, wide ? room - left - side - 2 - gap : Math.min(room, 420), spec.guess);
  const show = signs(wide ? path.box : ui.row(), [
    [tr("allowed pairs"), tr("True in the mask, of all pairs")],
    [tr("pairs that leak"), tr("allowed, though the mask’s rule forbids them")],
    [tr("queries that see nothing"), tr("their softmax would be 0 ÷ 0")],
    [tr("unlike the reference"), tr("cells of the function, before any painting; crossed out in the picture")],
    [tr("next tokens that a model can copy"),
      tr("those that reach it through the layers on show; one it must guess, among 8, costs ln 8")],
  ]);

  /** Turns a cell over; a stroke gives all its cells the value of its first. Returns that value. */
  function paint(i, j, value = !now.may[i * N + j]) {
    if (value !== now.may[i * N + j] > 0) {
      const cell = `${i},${j}`;
      const cells = ui.get("painted").split(" ").filter(Boolean);
      ui.set("painted", (cells.includes(cell) ? cells.filter((c) => c !== cell) : [...cells, cell]).join(" "));
      now = setting(); // a fast stroke may reach the next cell before the next drawing
    }
    return value;
  }

  function setting() {
    const [at, painted] = [index(), ui.get("painted")];
    if (now && now.at === at && now.painted === painted) return now;
    const s = scene();
    const [rows, columns] = [s.rows.length, s.columns.length];
    const cut = (name) => ui.table(name).subarray(at * N * N, (at + 1) * N * N);
    const [given, right] = [cut("may"), cut("right")];
    const may = Uint8Array.from(given, (v) => (v > 0 ? 1 : 0));
    const cells = painted.split(" ").filter(Boolean).map((c) => c.split(",").map(Number))
      .filter(([i, j]) => i < rows && j < columns);
    for (const [i, j] of cells) may[i * N + j] = 1 - may[i * N + j];
    const found = { at, painted, s, rows, columns, given, right, may, cells, square: rows === columns, counts: [] };
    found.ways = found.square ? powers(may, rows, N, spec.layers) : [];
    let [pairs, leak, empty, wrong] = [0, 0, 0, 0];
    for (let i = 0; i < rows; i++) {
      let any = 0;
      for (let j = 0; j < columns; j++) {
        const a = may[i * N + j];
        any += a;
        wrong += given[i * N + j] > 0 !== right[i * N + j] > 0;
        leak += a && !right[i * N + j];
      }
      found.counts.push(any);
      pairs += any;
      empty += !any;
    }
    found.signs = [
      [tr("{n} of {all}", { n: pairs, all: rows * columns }), ""],
      [String(leak), leak ? tr("leak") : tr("no leak"), leak === 0],
      [String(empty), empty ? tr("their softmax is 0 ÷ 0") : ""],
      [String(wrong), wrong ? tr("differs") : tr("same"), wrong === 0],
    ];
    fill(back, { "aria-disabled": String(!painted) });
    return found;
  }

  /** What a model can copy, and its loss if it guesses the others. */
  function copier(layers) {
    const copied = now.s.predicts.filter((i) => copies(i, layers)).length;
    const many = now.s.predicts.length;
    if (!now.square) return ["", tr("not counted: not a square mask")];
    if (!many) return ["", tr("none: {why}", { why: now.s.instead })];
    return [tr("{n} of {all}", { n: copied, all: many }), tr("so its loss is {loss}", { loss: fixed(lossNow(layers), 2) })];
  }

  /** Nats that it costs, undefined where no position predicts the next token. */
  function lossNow(layers) {
    const many = now.s.predicts;
    return now.square && many.length ? (spec.guess * many.filter((i) => !copies(i, layers)).length) / many.length : undefined;
  }

  function lossFormula(query, layers) {
    const copied = copies(query, layers);
    if (copied === undefined) return "";
    return tr(copied ? N_("Next token “{word}”: copied, loss 0") : N_("Next token “{word}”: guessed among 8 words, loss ln 8 = {loss}"),
      { word: now.s.columns[query + 1], loss: fixed(spec.guess, 2) });
  }

  /** Of the cell or the token that is pointed at: is it allowed, and on how many ways does it reach the query? */
  function formula(query, key, level, layers) {
    if (key === undefined) return lossFormula(query, layers);
    if (level !== undefined) return waysFormula(now, query, key, layers - level, N);
    const [allowed, n] = [now.may[query * N + key], now.counts[query]];
    const painted = now.cells.some(([i, j]) => i === query && j === key);
    const weight = allowed ? tr("at equal scores its weight is 1 ÷ {n} = {weight}", { n, weight: short(1 / n) })
      : n ? tr("its score becomes −∞, its weight exp(−∞) = 0") : tr("the whole row is False: 0 ÷ 0 in the softmax");
    return tr(painted ? N_("mask[{query}, {key}] = {allowed} (painted; rule: {rule}): {weight}")
      : N_("mask[{query}, {key}] = {allowed} (rule: {rule}): {weight}"),
    { query, key, allowed: allowed ? "True" : "False", rule: now.s.rule, weight });
  }

  let drawn = null;
  return {
    stale() { now = null; },
    draw() {
      now = setting();
      const { s, rows, columns, may } = now;
      const layers = ui.get("layers");
      const query = Math.min(ui.seen("query"), rows - 1);
      const key = ui.seen("key") < columns ? ui.seen("key") : undefined;
      const level = now.square && key !== undefined && ui.seen("level") <= layers ? ui.seen("level") : undefined;
      if (drawn !== now) grid.paint(positionRows(ui, s.positions, columns), ui.get("notice") || !ui.table("own")[now.at]);
      drawn = now;
      grid.mark(query, key);
      path.draw(query, key, level ?? 0, layers);
      lossBar(lossNow(layers), s.predicts.length);
      show([...now.signs, copier(layers)]);
      // What would move nothing is not offered. Its room stays: nothing moves.
      size.parentNode.style.visibility = kind().sizes.length > 1 ? "" : "hidden";
      deep.parentNode.style.visibility = now.square ? "" : "hidden";

      const seen = s.columns.filter((_, j) => may[query * N + j]);
      let text = tr("“{word}” (row {row}) may look at {n} of {all}: {seen}",
        { word: s.rows[query], row: query, n: seen.length, all: columns, seen: seen.join(" ") || tr("nothing") });
      if (now.square) {
        const reached = now.ways[layers].subarray(query * N, query * N + columns).reduce((sum, v) => sum + (v > 0), 0);
        text = tr(layers > 1 ? N_("{told}; after {layers} layers it depends on {n} of {all}")
          : N_("{told}; after {layers} layer it depends on {n} of {all}"), { told: text, layers, n: reached, all: columns });
      }
      // What it depends on without a filled cell would look like a contradiction.
      if (now.square && !seen.length) text = tr("{told}: itself, which the residual connection keeps", { told: text });
      ui.say(text, formula(query, key, level, layers));
      ui.root.dataset.key = `${now.at},${query},${layers},${now.painted}`;
    },
  };
}

/** Ways from key to query over 0, 1, … layers: powers of the mask with the residual connection, which keeps a token's own state. */
function powers(may, T, N, layers) {
  const one = new Float64Array(N * N);
  for (let i = 0; i < T; i++) one[i * N + i] = 1;
  const found = [one];
  for (let l = 1; l <= layers; l++) {
    const next = new Float64Array(N * N);
    for (let i = 0; i < T; i++) {
      for (let k = 0; k < T; k++) {
        if (may[i * N + k] || i === k) for (let j = 0; j < T; j++) next[i * N + j] += found[l - 1][k * N + j];
      }
    }
    found.push(next);
  }
  return found;
}

/** ways₂[3, 1] = Σₖ ways₁[k, 1]: the sum over the tokens k that the query itself reads, with their own numbers. */
function waysFormula({ may, ways, columns }, query, key, depth, N) {
  if (depth < 1) return "";
  const count = (d, i) => ways[d][i * N + key];
  const named = (d, i) => `${tr("ways")}${"₀₁₂₃₄₅₆₇"[d]}[${i}, ${key}]`;
  if (depth === 1) {
    const formula = `${named(1, query)} = ${count(1, query)}`;
    return may[query * N + key] || query !== key ? formula : tr("{formula}, the residual connection", { formula });
  }
  const terms = [];
  for (let k = 0; k < columns; k++) if ((may[query * N + k] || k === query) && count(depth - 1, k)) terms.push(count(depth - 1, k));
  const sum = terms.length > 1 ? `${terms.join(" + ")} = ` : "";
  return tr("{formula}, over each k that row {row} reads",
    { formula: `${named(depth, query)} = Σₖ ${named(depth - 1, "k")} = ${sum}${count(depth, query)}`, row: query });
}

/** [[name, numbers], …] of the scene's position rows; a negative number means no token. */
function positionRows(ui, positions, columns) {
  if (!positions.length) return [];
  const [name, at] = positions;
  const table = ui.table(`p_${name}`);
  const rows = name === "position_ids" ? [tr("position")] : [tr("position"), tr("in blank")];
  const N = ui.spec.size;
  return rows.map((title, r) => {
    const start = (at * rows.length + r) * N;
    return [title, [...table.subarray(start, start + columns)]];
  });
}

/** Cells of the mask. Pointing shows a cell, a click or a stroke paints; the token of a row chooses the query. */
function maskGrid(ui, parent, { left, side, N, setting, paint }) {
  const W = left + side + 2;
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const [caption, note] = [html("span"), html("small")];
  box.append(html("p", { class: "ta-caption" }, caption, note));
  parent.append(box);
  const canvas = picture(box, W, 10, tr("Grid: one row for each query, one column for each key, filled where the query may look"));
  const [words, cells, over] = [svg("g"), svg("g"), svg("g", { style: "pointer-events: none" })];
  const strong = svg("path", { class: "ta-fill-one ta-cell" });
  const [corners, crosses] = [svg("path", { class: "ta-open-two" }), svg("g")];
  const [frame, column] = [svg("rect", { class: "ta-mark" }), svg("rect", { class: "ta-mark", style: "stroke-dasharray: 4 3; stroke-width: 1.5" })];
  over.append(strong, corners, crosses, column, frame);
  canvas.append(words, cells, over);
  let [head, shape, rects, rowWords, columnWords] = [30, "", [], [], []];
  let stroke = null; // the value that the present stroke paints
  for (const start of ["pointerdown", "keydown"]) canvas.addEventListener(start, () => { stroke = null; }, true);
  const cell = () => side / setting().columns;
  const spot = cursor(ui, canvas, {
    name: tr("Mask; arrow keys walk, Enter paints"), cross: false,
    box: () => ({ x: left, y: head, width: side, height: setting().rows * cell() }),
    size: () => [setting().columns, setting().rows],
    at: () => [Math.min(ui.seen("key") ?? 0, setting().columns - 1), Math.min(ui.seen("query"), setting().rows - 1)],
    state: (key, query) => ({ query, key }),
    press(key, query) {
      stroke = paint(query, key, stroke ?? undefined);
      ui.pin({ query, key });
    },
    says: (key, query) => tr(setting().may[query * N + key] ? N_("query {word}, key {other}, may look")
      : N_("query {word}, key {other}, may not look"), { word: setting().s.rows[query], other: setting().s.columns[key] }),
  });

  /** Nodes for this many rows and columns. */
  function layout(rows, columns) {
    const c = cell();
    rects = Array.from({ length: rows * columns }, (_, n) => svg("rect", {
      x: left + (n % columns) * c, y: head + Math.floor(n / columns) * c, width: c, height: c }));
    cells.replaceChildren(...rects);
    words.replaceChildren();
    columnWords = Array.from({ length: columns }, (_, j) => label(words, left + (j + 0.5) * c, head - 7, "", "middle", "ta-small"));
    rowWords = Array.from({ length: rows }, (_, i) => {
      const text = label(words, left - 6, head + (i + 0.5) * c + 4, "", "end");
      const target = svg("rect", { x: 0, y: head + i * c, width: left - 2, height: c, fill: "transparent" });
      words.append(touch(ui, target, () => ({ query: i })));
      return text;
    });
    fill(canvas, { viewBox: `0 0 ${W} ${head + rows * c + 2}`, height: head + rows * c + 2 });
  }

  const square = (i, j) => { const c = cell(); return `M${left + j * c} ${head + i * c}h${c}v${c}h${-c}z`; };
  return {
    paint(positions, reference) {
      const { s, rows, columns, may, given, right, cells: turned } = setting();
      write(caption, ui.get("alone") ? tr("The mask") : reference ? tr("Reference’s mask") : tr("Your mask"));
      write(note, turned.length ? tr("filled: may look; corner: painted") : tr("filled: may look"));
      head = 20 + 14 * positions.length;
      if (shape !== `${rows},${columns},${head}`) layout(rows, columns);
      shape = `${rows},${columns},${head}`;
      const c = cell();
      words.querySelectorAll(".ta-place").forEach((node) => node.remove());
      positions.forEach(([title, numbers], r) => {
        const number = (x, text, anchor) => label(words, x, 11 + 14 * r, text, anchor, "ta-small ta-place");
        number(left - 6, title, "end");
        numbers.forEach((v, j) => number(left + (j + 0.5) * c, String(v), "middle"));
      });
      s.columns.forEach((word, j) => write(columnWords[j], word));
      s.rows.forEach((word, i) => write(rowWords[i], word));
      const crossed = [];
      rects.forEach((rect, n) => {
        const [i, j] = [Math.floor(n / columns), n % columns];
        const on = may[i * N + j];
        fill(rect, { class: on ? "ta-fill-one ta-cell" : "ta-axis", "fill-opacity": on ? 0.55 : 1 });
        if (given[i * N + j] > 0 === right[i * N + j] > 0) return;
        const [x, y, d] = [left + j * c + 6, head + i * c + 6, c - 12];
        crossed.push(svg("path", { d: `M${x} ${y}l${d} ${d}m0 ${-d}l${-d} ${d}`, class: "ta-mark", style: "stroke: var(--ta-bad)" }));
      });
      crosses.replaceChildren(...crossed);
      fill(corners, { d: turned.map(([i, j]) => `M${left + (j + 1) * c - 12} ${head + i * c + 1}h11v11z`).join("") });
    },
    mark(query, key) {
      spot();
      const { s, may, columns, rows } = setting();
      const c = cell();
      let d = "";
      s.columns.forEach((_, j) => {
        const on = may[query * N + j];
        if (on) d += square(query, j);
        fill(columnWords[j], { class: j === key ? "ta-strong" : "ta-small", style: on || j === key ? `font-size: 11px; fill: var(--ta-ink); font-weight: ${c < 30 ? 400 : 600}` : "" });
      });
      rowWords.forEach((text, i) => fill(text, { class: i === query ? "ta-strong" : "ta-text" }));
      fill(strong, { d });
      fill(frame, { x: left, y: head + query * c, width: side, height: c });
      column.style.visibility = key === undefined ? "hidden" : "visible";
      if (key !== undefined) fill(column, { x: left + key * c, y: head, width: c, height: rows * c });
    },
  };
}

/** Layers from the input at the bottom to the query at the top; lines are allowed steps on a way to the query. */
function pathPanel(ui, parent, W, H, N, setting) {
  const [top, left, foot] = [26, 48, 22];
  const [caption, note] = [html("span"), html("small")];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` }, html("p", { class: "ta-caption" }, caption, note));
  parent.append(box);
  const canvas = picture(box, W, H, tr("Layers of tokens: lines show on which ways the inputs below reach the query at the top"));
  const pairs = pairsPicture(box, W, H, { left, N, setting });
  const whole = svg("g");
  const lines = ["stroke-opacity: 0.4", "stroke-opacity: 0.5; stroke-dasharray: 2 3", "stroke-width: 2.5; stroke-opacity: 1"]
    .map((style) => svg("path", { style: `stroke: var(--ta-one); fill: none; ${style}` }));
  const dots = svg("g");
  whole.append(...lines, dots);
  canvas.append(whole);
  let [shape, circles, words] = ["", [], []];
  let depth = 1;
  const T = () => setting().columns;
  const x = (i) => left + ((i + 0.5) * (W - left)) / T();
  const step = () => Math.min(84, (H - top - foot) / depth);
  const y = (l) => top + (depth - l) * step() - 12; // layer 0 at the bottom
  const spot = cursor(ui, canvas, {
    name: tr("Ways to the query; arrow keys walk through tokens and layers"), cross: false,
    box: () => ({ x: left, y: 2, width: W - left, height: y(0) + 22 }),
    size: () => [T(), depth + 1],
    at: () => [ui.seen("key") ?? Math.min(ui.seen("query"), T() - 1), depth - Math.min(ui.seen("level") ?? (ui.seen("key") === undefined ? depth : 0), depth)],
    state: (key, r) => (r === 0 ? { query: key, key, level: depth } : { key, level: depth - r }),
    says: (key, r) => tr(r === depth ? N_("{word}, input") : N_("{word}, layer {n}"), { word: setting().s.columns[key], n: depth - r }),
  });

  function layout(count) {
    circles = Array.from({ length: depth + 1 }, () => Array.from({ length: count }, () => svg("circle")));
    dots.replaceChildren(...circles.flat());
    for (let l = 0; l <= depth; l++) label(dots, left - 10, y(l) + 4, l ? tr("layer {n}", { n: l }) : tr("input"), "end", "ta-small");
    words = Array.from({ length: count }, (_, i) => label(dots, x(i), y(0) + 20, "", "middle", "ta-small"));
    circles.forEach((line, l) => line.forEach((circle, i) => fill(circle, { cx: x(i).toFixed(1), cy: y(l).toFixed(1) })));
  }

  return {
    box,
    draw(query, key, level, layers) {
      const { square, may, ways, s, columns } = setting();
      canvas.style.display = square ? "" : "none";
      write(caption, square ? tr("What reaches the query") : tr("What the queries read"));
      write(note, square ? tr("point at a token to see its paths") : tr("a line for each allowed pair, one layer"));
      pairs(query, key);
      if (!square) return;
      depth = layers;
      if (shape !== `${columns},${depth}`) layout(columns);
      shape = `${columns},${depth}`;
      spot();
      // Needed in layer l: what the query reaches over the layers above. On the way: what the token pointed at reaches too.
      const needed = (l, i) => ways[depth - l][query * N + i] > 0;
      const onWay = (l, i) => key !== undefined && l >= level && needed(l, i) && ways[l - level][i * N + key] > 0;
      const d = ["", "", ""];
      for (let l = depth; l > 0; l--) {
        for (let i = 0; i < columns; i++) {
          if (!needed(l, i)) continue;
          for (let j = 0; j < columns; j++) {
            const direct = may[i * N + j];
            if (!direct && i !== j) continue;
            const piece = `M${x(i).toFixed(1)} ${y(l).toFixed(1)}L${x(j).toFixed(1)} ${y(l - 1).toFixed(1)}`;
            d[direct ? 0 : 1] += piece;
            if (onWay(l, i) && onWay(l - 1, j)) d[2] += piece;
          }
        }
      }
      lines.forEach((path, n) => fill(path, { d: d[n] }));
      circles.forEach((line, l) => line.forEach((circle, i) => {
        const [on, lit, here] = [needed(l, i), onWay(l, i), l === level && i === key];
        const kind = l === depth && i === query ? "ta-here" : on ? "ta-fill-one" : "ta-axis";
        fill(circle, { r: here ? 7 : on ? 5 : 3, class: lit || here ? `${kind} ta-lit` : kind });
      }));
      s.columns.forEach((word, i) => {
        write(words[i], word);
        fill(words[i], { class: needed(0, i) ? "ta-small ta-needed" : "ta-small", style: needed(0, i) ? "font-weight: 600; fill: var(--ta-ink)" : "" });
      });
    },
  };
}

const widget = { render: mount(maskWidget) };
export default widget;
