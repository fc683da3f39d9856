// TilesExplorer: a query reads the keys block by block. A bar for each key shrinks when a larger score comes, and so do
// the sum and the mixed values, the only things that are kept.

const READ_MS = 900; // between two blocks of "Play"
const [BAR_HIGH, KEPT] = [52, 3]; // px of a bar of 1; numbers kept for each query
const BESIDE = 38; // px from a kept number to what it is
const halves = (x) => fixed(x, 1).replace(".0", ""); // scores are multiples of one half

function tilesWidget(ui) {
  const { spec, room } = ui;
  const T = spec.length;
  const left = 44;
  const cell = Math.min(30, Math.floor((room - left - 2) / T));
  const W = left + T * cell + 2;
  const wide = room >= W + 20 + 320;
  const needs = (query, block = ui.seen("block"), look = ui.seen("look")) => (
    look === spec.looks[1][0] ? Math.floor(query / block) + 1 : T / block);

  slider(ui, { trait: "query", name: tr("query"), max: T - 1, show: (i) => tr("word {n}", { n: i }) });
  slider(ui, {
    trait: "read", name: tr("blocks read"),
    values: () => Array.from({ length: needs(ui.get("query")) }, (_, i) => i + 1),
    show: (n) => tr("{n} of {all}", { n, all: needs(ui.get("query")) }),
  });
  const bar = html("div", { class: "ta-bar" });
  ui.controls.append(bar);
  player(ui, bar, { stepName: tr("Read on"), playName: tr("Play"), every: READ_MS, step,
    ends: () => ui.get("read") >= needs(ui.get("query")) });
  const readOn = bar.firstChild;
  readOn.style.minWidth = "104px"; // another word on it must not move what stands beside it
  const fold = button(bar, "", () => ui.set("more", !ui.get("more")));
  const sign = html("span", { "aria-hidden": "true" });
  fold.append(sign, tr("size, mask, merge"));
  fold.dataset.part = "more";
  ui.watch("more");
  const later = html("div"); // controls that are folded away at first
  later.append(...folded());
  ui.controls.append(later);
  if (wide) {
    fill(ui.controls, { style: "display: flex; flex-wrap: wrap" });
    for (const [i, node] of [...ui.controls.children].entries()) node.style.flex = i < 2 ? "1 1 220px" : "none";
  }
  ui.readout.style.minHeight = room < 480 ? "98px" : "43px";
  ui.root.append(ui.readout);

  const row = ui.row();
  const sheet = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const side = html("div", { class: "ta-panel", style: `width: ${wide ? room - W - 20 : Math.min(room, 420)}px` });
  row.append(sheet, side);
  let now = null;
  const grid = tileGrid(ui, sheet, { left, cell, W, T, CELL_HIGH: wide ? 12 : 18, now: () => now, needs });
  const bars = barsOfKeys(ui, sheet, { left, cell, W, T, now: () => now });
  const kept = keptNumbers(ui, side, wide ? room - W - 20 : Math.min(room, 420), () => now);
  const show = signs(side, [
    [tr("result, against one softmax"), tr("over all keys that are read, at once")],
    [tr("sum, against one softmax"), tr("e to the lse, measured against the largest score")],
    [tr("tiles computed"), tr("for all queries")],
  ]);

  const last = (query, block) => query >= T - block;

  /** The next block of keys; after the last one, the next queries begin. The last queries read again. */
  function step() {
    const [query, block] = [ui.get("query"), ui.get("block")];
    const read = Math.min(ui.get("read"), needs(query));
    if (read < needs(query)) return ui.set("read", read + 1);
    ui.setAll({ query: last(query, block) ? query : Math.floor(query / block) * block + 2 * block - 1, read: 1 });
  }

  function folded() {
    const from = ui.controls.children.length;
    choice(ui, { trait: "block", name: tr("keys in a block"), values: spec.blocks });
    choice(ui, { trait: "look", name: tr("looks at"), values: spec.looks.map(([v]) => v),
      show: (v) => spec.looks.find(([w]) => w === v)[1] });
    choice(ui, { trait: "way", name: tr("done as"), values: spec.ways.map(([v]) => v),
      show: (v) => spec.ways.find(([w]) => w === v)[1] });
    return [...ui.controls.children].slice(from);
  }

  /** Everything that is on show: what has been read, and what the function makes of it. */
  function scene() {
    const [query, block, look, way] = ["query", "block", "look", "way"].map((name) => ui.seen(name));
    const causal = look === spec.looks[1][0];
    const all = needs(query);
    const read = Math.min(ui.seen("read"), all);
    const method = spec.ways.findIndex(([name]) => name === way);
    const scores = ui.table("scores").subarray(query * T, (query + 1) * T);
    const sees = (s, n = read) => s < n * block && (!causal || s <= query);
    const largestOf = (n) => Math.max(...[...scores].filter((_, s) => sees(s, n)));
    const at = (n) => spec.scenes.findIndex(([b, c, r]) => b === block && c === Number(causal) && r === n) * T + query;
    const moment = (name, n) => {
      const line = ui.table(name).subarray(at(n) * (T + 2), (at(n) + 1) * (T + 2));
      const largest = largestOf(n);
      const sum = Math.exp(line[T + 1] - largest);
      return { largest, sum, result: line[T], mixed: line[T] * sum,
        bars: [...line.subarray(0, T)].map((w) => w * sum) };
    };
    const mine = `w_${spec.functions[method]}`;
    const place = (method * spec.scenes.length * T + at(read)) * 2;
    const gaps = ui.table("gap").subarray(place, place + 2);
    const before = read > 1 ? moment(mine, read - 1) : null;
    const here = moment(mine, read);
    return {
      query, block, causal, all, read, way, method, scores, sees, here, before, right: moment("right", read), gaps,
      factor: before ? Math.exp(before.largest - here.largest) : 1, rows: Math.floor(query / block),
      own: ui.table("own")[method] > 0, key: ui.seen("key"), part: ui.seen("part"),
    };
  }

  /** How a number comes about. */
  function formula() {
    const { key, part, here, before, block, scores, sees, factor, query, read } = now;
    const two = (x) => fixed(x, 2);
    if (key !== undefined) {
      const told = { key, query, score: fixed(scores[key], 1), largest: fixed(here.largest, 1),
        bar: outcome(Math.exp(scores[key] - here.largest), here.bars[key]) };
      if (sees(key)) return tr("bar of word {key} = e^({score} − {largest}) = {bar}", told);
      return now.causal && key > query ? tr("word {key} comes after word {query}: it is hidden", told)
        : tr("score of word {key} = {score}: its block is not read yet", told);
    }
    if (part === undefined) return "";
    const fresh = [...here.bars.keys()].filter((s) => s >= (read - 1) * block && sees(s));
    const news = fresh.reduce((a, s) => a + here.bars[s], 0);
    const mixedNews = fresh.reduce((a, s) => a + here.bars[s] * spec.values[s], 0);
    const told = {
      largest: fixed(here.largest, 1), old: before ? fixed(before.largest, 1) : "", result: two(here.result),
      sum: outcome((before ? before.sum * factor : 0) + news, here.sum),
      mixed: outcome((before ? before.mixed * factor : 0) + mixedNews, here.mixed),
      lastSum: before ? two(before.sum) : "", lastMixed: before ? two(before.mixed) : "",
      news: two(news), mixedNews: two(mixedNews), list: fresh.map((s) => two(here.bars[s])).join(" + "),
    };
    if (part === 0) return before ? tr("largest = the larger one of {old} and the block's scores = {largest}", told)
      : tr("largest = {largest}, of the first block", told);
    if (part === 2) return before ? tr("mixed = {lastMixed} · e^({old} − {largest}) + {mixedNews} (new bars × values) = {mixed}", told) : tr("mixed = new bars × values = {mixed}", told);
    if (part === 3) return tr("result = mixed ÷ sum = {mixed} ÷ {sum} = {result}",
      { ...told, mixed: two(here.mixed), sum: two(here.sum) });
    return before ? tr("sum = {lastSum} · e^({old} − {largest}) + {news} (new bars) = {sum}", told)
      : tr("sum = {list} = {sum}", told);
  }

  return {
    draw() {
      now = scene();
      const { here, right, gaps, query, block, all, read, factor, causal } = now;
      const more = ui.get("more");
      later.style.display = more ? "contents" : "none";
      write(sign, more ? "▾ " : "▸ ");
      fill(fold, { "aria-expanded": String(more) });
      write(readOn, read < all ? tr("Read on") : last(query, block) ? tr("Read again") : tr("Next queries"));
      grid();
      bars();
      kept();
      const count = (T / block) ** 2;
      const computed = causal ? ((T / block) * (T / block + 1)) / 2 : count;
      const verdict = (i) => (gaps[i] <= spec.tolerance ? [tr("same"), true] : [tr("differs"), false]);
      show([
        [fixed(here.result, 2), ...verdict(0)],
        [fixed(here.sum, 2), ...verdict(1)],
        [tr("{n} of {all}", { n: computed, all: count }), ""],
      ]);
      const good = gaps.every((gap) => gap <= spec.tolerance);
      const told = {
        query, keys: read * block, T: all * block, largest: halves(here.largest), sum: fixed(here.sum, 2),
        mixed: fixed(here.mixed, 2),
        result: fixed(here.result, 2), factor: fixed(factor, 2), right: fixed(right.result, 2),
      };
      const verdicts = good ? "" : tr(" (one softmax: {right})", told);
      ui.say(ui.without("kept") ? (factor < 1
        ? tr("Word {query} has read {keys} of {T}: a larger score, {largest}, makes all bars before {factor} times as high.", told)
        : tr("Word {query} has read {keys} of {T}: largest score {largest}.", told))
        : (factor < 1
        ? tr("Word {query} has read {keys} of {T}: a larger score, {largest}, makes all before {factor} times as large; sum {sum}, mixed {mixed}, result {result}{verdicts}.", { ...told, verdicts })
        : tr("Word {query} has read {keys} of {T}: largest score {largest}, sum {sum}, mixed {mixed}, result {result}{verdicts}.", { ...told, verdicts })),
      formula());
      ui.root.dataset.key = `${query},${read},${block},${causal},${now.method},${fixed(here.sum, 4)}`;
    },
  };
}

/** All T × T scores in tiles: the framed one is held, paler ones are forgotten, crossed-out ones never computed. */
function tileGrid(ui, parent, { left, cell, W, T, CELL_HIGH, now, needs }) {
  const [top, high] = [18, T * CELL_HIGH];
  const note = html("small");
  parent.append(html("p", { class: "ta-caption" }, tr("Scores, in tiles"), note));
  const canvas = picture(parent, W, top + high + 2,
    tr("Table of scores: a row for each query, a column for each key, cut into tiles; one tile is held"));
  const done = svg("path", { class: "ta-fill-one", style: "fill-opacity: 0.14" });
  const held = svg("rect", { class: "ta-fill-one", style: "fill-opacity: 0.3" });
  const skipped = svg("path", { class: "ta-axis" });
  const lines = svg("path", { class: "ta-axis" });
  const frame = svg("rect", { class: "ta-mark", style: "stroke-width: 2.5" });
  const one = svg("rect", { x: left, width: T * cell, height: CELL_HIGH, class: "ta-mark",
    style: "stroke-width: 1; stroke-dasharray: 3 2" });
  canvas.append(done, held, skipped, lines, one, frame);
  for (let i = 0; i < T; i++) {
    label(canvas, left + (i + 0.5) * cell, top - 5, String(i), "middle", "ta-small");
    label(canvas, left - 6, top + (i + 0.5) * CELL_HIGH + 4, String(i), "end", "ta-small");
  }
  label(canvas, 0, top - 5, tr("key"), "start", "ta-small");
  const name = label(canvas, 10, top + high / 2, tr("query"), "middle", "ta-small");
  name.setAttribute("transform", `rotate(-90 10 ${top + high / 2})`);
  const texts = Array.from({ length: T * T }, (_, c) => {
    const [x, y] = [left + ((c % T) + 0.5) * cell, top + (Math.floor(c / T) + 0.5) * CELL_HIGH + 4];
    return label(canvas, x, y, "", "middle", "ta-small");
  });
  const place = cursor(ui, canvas, {
    name: tr("Tiles; arrow keys move the query and the key"), cross: false,
    box: () => ({ x: left, y: top, width: T * cell, height: high }),
    size: () => [T, T],
    at: () => [ui.seen("key") ?? (now().read - 1) * now().block, ui.seen("query")],
    state: (key, query) => ({ query, read: Math.min(Math.floor(key / ui.get("block")) + 1,
      needs(query, ui.get("block"), ui.get("look"))), key }),
    says: (key, query) => tr("query {query}, key {key}", { query, key }),
  });
  const square = (i, j, b) => `M${left + j * b * cell} ${top + i * b * CELL_HIGH}h${b * cell}v${b * CELL_HIGH}h${-b * cell}z`;
  const cross = (i, j, b) => `M${left + j * b * cell} ${top + i * b * CELL_HIGH}l${b * cell} ${b * CELL_HIGH}m0 ${-b * CELL_HIGH}l${-b * cell} ${b * CELL_HIGH}`;

  return () => {
    const { block: b, query, read, rows, causal, own } = now();
    write(note, own ? tr("framed: held now, blue: done; yours") : tr("framed: held now, blue: done"));
    const count = T / b;
    let [old, never, rule] = ["", "", ""];
    for (let i = 0; i < count; i++) {
      for (let j = 0; j < count; j++) {
        if (causal && j > i) never += cross(i, j, b);
        else if (i < rows || (i === rows && j < read - 1)) old += square(i, j, b);
      }
      rule += `M${left} ${top + i * b * CELL_HIGH}h${T * cell}M${left + i * b * cell} ${top}v${high}`;
    }
    fill(done, { d: old });
    fill(skipped, { d: never });
    fill(lines, { d: `${rule}M${left} ${top + high}h${T * cell}M${left + T * cell} ${top}v${high}` });
    const tile = { x: left + (read - 1) * b * cell, y: top + rows * b * CELL_HIGH, width: b * cell,
      height: b * CELL_HIGH };
    fill(held, tile);
    fill(frame, tile);
    fill(one, { y: top + query * CELL_HIGH });
    const scores = ui.table("scores");
    texts.forEach((node, c) => {
      const [i, j] = [Math.floor(c / T), c % T];
      const inTile = Math.floor(i / b) === rows && Math.floor(j / b) === read - 1;
      write(node, inTile ? (causal && j > i ? "–" : halves(scores[c])) : "");
      fill(node, { class: i === query ? "ta-strong" : "ta-small" });
    });
    place();
  };
}

/** A bar for each key that is read, under its column: e to its score minus the largest one so far. */
function barsOfKeys(ui, parent, { left, cell, W, T, now }) {
  const [top, limit] = [20, 1.15];
  const foot = top + BAR_HIGH;
  const note = html("small");
  parent.append(html("p", { class: "ta-caption", style: "margin-top: 4px" }, tr("How much each key counts"),
    note));
  const canvas = picture(parent, W, foot + 48,
    tr("Bars: how much each key counts beside the one with the largest score"));
  const x = (s) => left + s * cell;
  const y = (v) => foot - BAR_HIGH * clamp(Number.isFinite(v) ? v : 0, 0, limit);
  const band = svg("rect", { y: top, height: BAR_HIGH, style: "fill: var(--ta-panel)" });
  canvas.append(band);
  for (const v of [0, 1]) {
    line(canvas, left, y(v), left + T * cell, y(v), v ? "ta-grid" : "ta-axis");
  }
  label(canvas, left - 6, y(1) + 4, "1", "end", "ta-small");
  const values = svg("g", { "data-part": "values" });
  canvas.append(values);
  label(canvas, left - 6, foot + 14, tr("bar"), "end", "ta-small");
  label(canvas, left - 6, foot + 28, tr("score"), "end", "ta-small");
  label(values, left - 6, foot + 42, tr("value"), "end", "ta-small");
  const bars = ui.spec.values.map((value, s) => {
    const bar = svg("rect", { x: x(s) + 3, width: cell - 6, class: "ta-fill-one" });
    canvas.append(bar);
    const middle = x(s) + cell / 2;
    label(values, middle, foot + 42, short(value), "middle", "ta-small");
    const [text, score] = [14, 28].map((down) => label(canvas, middle, foot + down, "", "middle", "ta-small"));
    return { bar, text, score };
  });
  const ghost = svg("path", { class: "ta-reference",
    style: "pointer-events: none; stroke-width: 1.2; stroke-dasharray: 3 2" });
  const factor = label(canvas, 0, top - 7, "", "middle", "ta-strong");
  canvas.append(ghost);
  const place = cursor(ui, canvas, {
    name: tr("Bars; arrow keys choose a key"),
    box: () => ({ x: left, y: top, width: T * cell, height: foot - top }),
    size: () => [T, 1],
    at: () => [ui.seen("key") ?? 0, 0],
    state: (key) => ({ key }),
    says: (key) => tr("key {key}: {bar}", { key, bar: fixed(now().here.bars[key], 2) }),
  });

  return () => {
    const { here, before, block, read, sees, scores, factor: shrunk, key } = now();
    fill(band, { x: x((read - 1) * block), width: block * cell });
    let outline = "";
    bars.forEach(({ bar, text, score }, s) => {
      const shown = sees(s) ? here.bars[s] : 0;
      fill(bar, { y: y(shown), height: foot - y(shown), class: s === key ? "ta-fill-one ta-lit" : "ta-fill-one" });
      write(text, sees(s) ? fixed(here.bars[s], 2).replace(/^0(?=.)/, cell < 28 ? "" : "0") : ""); // “.14” where there is little room
      write(score, sees(s) ? halves(scores[s]) : "");
      if (!before || shrunk === 1 || !sees(s, read - 1)) return;
      outline += `M${x(s) + 3} ${foot}V${y(before.bars[s]).toFixed(1)}h${cell - 6}V${foot}`;
    });
    fill(ghost, { d: outline });
    write(factor, shrunk < 1 ? tr("dashed: before; × e^({old} − {largest}) = × {factor}",
      { old: halves(before.largest), largest: halves(here.largest), factor: fixed(shrunk, 2) }) : "");
    fill(factor, { x: Math.max(x(((read - 1) * block) / 2), left + 66) });
    write(note, tr("bar = e^(score − {largest})", { largest: halves(here.largest) }));
    place();
  };
}

/** The three numbers that are kept for the query, the result, and how many numbers are held at once. */
function keptNumbers(ui, parent, W, now) {
  const { spec } = ui;
  const [left, right] = [66, 50];
  const tops = [0, 28, 72, 120]; // px of the rows; below the sum and the mixed values stands how they come about
  const T = spec.length;
  const box = html("div", { "data-part": "kept" });
  parent.append(box);
  box.append(html("p", { class: "ta-caption" }, tr("Kept for this query"),
    html("small", {}, tr("each bar has a scale of its own"))));
  const names = [tr("largest"), tr("sum"), tr("mixed"), tr("result")];
  const whats = [tr("the largest score so far"), "", "", tr("= mixed ÷ sum")]; // the others are told by their parts
  const H = tops[3] + 30;
  const canvas = picture(box, W, H, tr("Bars: the numbers that are kept, and the result"));
  // Of the scales; a wrong number may be longer, and is cut off. Beside the result there is room for what it is.
  const ends = [1, 6, 30, 2 * Math.max(...spec.values)];
  const x = (i, v) => left + (W - left - right) * clamp(Number.isFinite(v) ? v / ends[i] : 0, 0, 1);
  line(canvas, 0, tops[3] - 2, W, tops[3] - 2, "ta-grid"); // below it is what comes out
  const rows = names.map((name, i) => {
    const y = tops[i];
    label(canvas, 4, y + 19, name, "start", "ta-text");
    const bar = svg("rect", { x: left, y: y + 7, height: 16, class: "ta-fill-one" });
    const fresh = svg("rect", { y: y + 7, height: 16, style: "fill: var(--ta-paper); fill-opacity: 0.55" });
    const ghost = svg("rect", { x: left, y: y + 7, height: 16, class: "ta-reference",
      style: "stroke-width: 1.2; stroke-dasharray: 3 2" });
    canvas.append(bar, fresh, ghost);
    const tick = line(canvas, 0, y + 3, 0, y + 27, "ta-tick");
    const how = label(canvas, left, y + (whats[i] ? 19 : 37), "", "start", "ta-small");
    fill(how, { "data-readout": "how" });
    return { bar, fresh, ghost, tick, how, value: label(canvas, 0, y + 19, "", "start", "ta-strong"),
      mark: svg("rect", { x: 1, y: y + 2, width: W - 2, height: i === 1 || i === 2 ? 40 : 26, class: "ta-mark" }) };
  });
  canvas.append(...rows.map((r) => r.mark));
  const place = cursor(ui, canvas, {
    name: tr("Kept numbers; arrow keys show how each comes about"), cross: false,
    box: () => ({ x: 0, y: 0, width: W, height: H }),
    size: () => [1, 4],
    at: () => [0, ui.seen("part") ?? 1],
    state: (_, part) => ({ part }),
    says: (_, part) => `${names[part]} ${rows[part].value.textContent}`,
  });

  const held = html("div", { style: "margin-top: 6px" });
  const parts = html("div", { style: "margin-top: 6px" }, html("p", { class: "ta-caption" }, tr("Blocks; below, joined by merge"),
    html("small", {}, tr("average; lse"))));
  parent.append(held, parts);
  held.append(html("p", { class: "ta-caption" }, tr("In fast memory"), html("small", {}, tr("to scale"))));
  const joined = joinedParts(ui, parts, W, now);
  const memory = picture(held, W, 66, tr("Bars: the numbers held at once, beside the number of all scores"));
  const scale = (n) => ((W - 2) * n) / (T * T);
  const whole_ = svg("rect", { x: 1, y: 40, width: scale(T * T), height: 8, class: "ta-axis" });
  const tile = svg("rect", { x: 1, y: 4, height: 12, class: "ta-fill-one" });
  const more = svg("rect", { y: 4, height: 12, class: "ta-open-two" });
  memory.append(whole_, tile, more);
  const words = label(memory, 1, 30, "", "start", "ta-small");
  label(memory, 1, 62, tr("too large for it: all {n} scores", { n: T * T }), "start", "ta-small");

  return () => {
    const { here, before, right: good, factor, part, block, gaps, sees, read, way } = now();
    const merges = way === spec.ways[1][0];
    const added = (of) => [...here.bars.keys()].filter((s) => s >= (read - 1) * block && sees(s))
      .reduce((sum, s) => sum + here.bars[s] * of(s), 0);
    const news = [0, added(() => 1), added((s) => spec.values[s]), 0];
    const values = [here.largest, here.sum, here.mixed, here.result];
    const old = before ? [0, before.sum, before.mixed, 0] : [0, 0, 0, 0];
    const right_ = [good.largest, good.sum, good.mixed, good.result];
    const off = gaps.some((gap) => !(gap <= spec.tolerance));
    rows.forEach(({ bar, fresh, ghost, tick, how, value, mark }, i) => {
      const long = i ? x(i, values[i]) - left : 0;
      const shrunk = factor < 1 && (i === 1 || i === 2);
      fill(bar, { width: long.toFixed(1) });
      ghost.style.visibility = shrunk ? "visible" : "hidden";
      if (shrunk) fill(ghost, { width: (x(i, old[i]) - left).toFixed(1) });
      tick.style.visibility = i && off ? "visible" : "hidden";
      if (i && off) fill(tick, { x1: x(i, right_[i]), x2: x(i, right_[i]) });
      write(value, i ? fixed(values[i], 2) : halves(values[i]));
      const end = left + Math.max(long, shrunk ? x(i, old[i]) - left : 0, off && i ? x(i, right_[i]) - left : 0) + 6;
      fill(value, { x: end.toFixed(1) });
      if (whats[i]) fill(how, { x: (end + BESIDE).toFixed(1) });
      mark.style.visibility = part === i ? "visible" : "hidden";
      // Not of a function that has made something else of them.
      const joined = before && news[i] && Math.abs(old[i] * factor + news[i] - values[i]) < 0.005;
      const told = { old: fixed(old[i], 2), news: fixed(news[i], 2), last: halves(before?.largest ?? 0),
        largest: halves(here.largest) };
      write(how, whats[i] || (!joined ? "" : factor === 1 ? tr("{old} + {news} (paler: new)", told)
        : tr("{old} × e^({last} − {largest}) + {news} (paler: new)", told)));
      fresh.style.visibility = joined ? "visible" : "hidden";
      if (joined) fill(fresh, { x: x(i, old[i] * factor).toFixed(1), width: (long - x(i, old[i] * factor) + left).toFixed(1) });
    });
    parts.hidden = !merges;
    held.hidden = merges;
    if (merges) joined();
    fill(tile, { width: scale(block * block) });
    fill(more, { x: 1 + scale(block * block), width: scale(KEPT * block) });
    more.style.visibility = ui.without("kept") ? "hidden" : "visible";
    write(words, ui.without("kept") ? tr("a tile of {tile} scores: the framed one", { tile: block * block }) : tr("a tile of {tile} scores, and {kept} numbers for each of {rows} queries",
      { tile: block * block, kept: KEPT, rows: block }));
    place();
  };
}

const widget = { render: mount(tilesWidget) };
export default widget;
