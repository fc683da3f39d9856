// SparseExplorer: what one layer of a sparse pattern scores, and what a stack of them reaches.

const LAYER_MS = 700; // between two layers of "Play"

function sparseWidget(ui) {
  const { spec, room } = ui;
  const T = spec.length;
  const firsts = spec.kinds.map((_, k) => spec.scenes.findIndex((s) => s.kind === k));
  const kind = () => spec.kinds[ui.get("pattern")];
  const sized = (k) => Math.min(ui.get("size"), spec.kinds[k].sizes.length - 1);
  const sizeText = (k, i) => tr(spec.kinds[k].counts, { n: spec.kinds[k].sizes[i] });
  pick(ui, { trait: "pattern", name: tr("pattern"), names: spec.kinds.map((k) => k.name) });
  if (room > 540) ui.controls.firstChild.style.gridColumn = "span 2";
  slider(ui, { trait: "query", name: tr("query"), max: T - 1, show: (n) => tr("token {n}", { n }), long: true });
  const size = slider(ui, {
    trait: "size", name: tr("size"), max: () => kind().sizes.length - 1, long: true,
    show: (i) => (kind().counts ? sizeText(ui.get("pattern"), i) : tr("one size")),
  });
  slider(ui, { trait: "layers", name: tr("layers"), values: Array.from({ length: spec.layers }, (_, i) => i + 1), long: true });
  const bar = html("div", { class: "ta-bar", "data-part": "layers" });
  ui.controls.append(bar);
  player(ui, bar, { stepName: tr("Add a layer"), playName: tr("Play layers"), every: LAYER_MS,
    step: () => ui.set("layers", (ui.seen("layers") % spec.layers) + 1), ends: () => ui.get("layers") === spec.layers });
  ui.readout.style.minHeight = room < 480 ? "116px" : "61px";
  ui.root.append(ui.readout);

  const row = ui.row();
  const [left, gap] = [34, 20];
  const cell = Math.min(15, Math.floor((room - left - 2) / T));
  const W = left + T * cell + 2;
  const wide = room >= W + gap + 340;
  let now = null; // the pattern on show, and its masks
  const grid = sparseGrid(ui, row, { left, cell, T, setting: () => now });
  const side = html("div", { class: "ta-panel", style: `width: ${wide ? room - W - gap : Math.min(room, 440)}px` });
  row.append(side);
  const paths = growth(ui, side, wide ? room - W - gap : Math.min(room, 440), T, () => now);
  const trade = tradeBars(ui, side, wide ? room - W - gap : Math.min(room, 440));
  const strip = thumbnails(ui, side, wide ? room - W - gap : Math.min(room, 440), T, (k) => masksOf(k).layer[ui.seen("layers") - 1]);
  const show = signs(side, [
    [tr("all is reached after"), tr("every token, or every earlier token where the pattern is causal")],
    [tr("unlike the reference"), tr("cells of this pattern; crossed out in the picture")],
  ]);

  const cut = (name, at) => ui.table(name).subarray(at * T * T, (at + 1) * T * T);

  /** Masks of the layers on show, of a pattern at the present size. */
  function masksOf(k) {
    const at = firsts[k] + sized(k);
    const { first } = spec.scenes[at];
    return { at, first, layer: Array.from({ length: ui.seen("layers") }, (_, l) => cut("may", first + (l % spec.kinds[k].masks))) };
  }

  function setting() {
    const [k, layers] = [ui.seen("pattern"), ui.seen("layers")];
    const { at, first, layer } = masksOf(k);
    if (now && now.at === at && now.layers === layers) return now;
    const { masks, ahead, name, counts } = spec.kinds[k];
    const hops = cut("hops", at);
    const last = (layers - 1) % masks;
    const pairs = layer.reduce((sum, mask) => sum + mask.filter((v) => v > 0).length, 0);
    const period = Array.from({ length: masks }, (_, m) => cut("may", first + m));
    const full = layersUntilAll(period, T, ahead);
    let wrong = 0;
    for (let m = 0; m < masks; m++) {
      const b = cut("right", first + m);
      for (let c = 0; c < T * T; c++) wrong += (period[m][c] > 0) !== (b[c] > 0);
    }
    return { at, k, layers, layer, hops, pairs, wrong, full, may: layer[layers - 1], right: cut("right", first + last),
      rule: spec.scenes[at].rules[last % spec.scenes[at].rules.length], name: counts ? tr("{name}, {size}", { name, size: sizeText(k, sized(k)) }) : name,
      reference: !ui.table("own")[at] };
  }

  let drawn = null;
  return {
    stale() { now = null; },
    draw() {
      size.disabled = kind().sizes.length === 1;
      now = setting();
      const { layers, layer, hops, pairs, full, wrong, may } = now;
      const query = ui.seen("query");
      const key = ui.seen("key");
      const level = ui.seen("level") <= layers ? ui.seen("level") : undefined;
      if (drawn !== now) grid.paint();
      drawn = now;
      grid.mark(query, key);
      strip.draw(now.k, `${ui.get("size")},${layers}`);
      const ways = key === undefined ? null : upwards(layer, key, level ?? 0, T);
      paths.draw(query, key, level ?? 0, ways);

      const seen = [];
      const direct = [];
      for (let j = 0; j < T; j++) {
        const hop = hops[query * T + j];
        if (hop && hop <= layers) seen.push(j);
        if (may[query * T + j] > 0) direct.push(j);
      }
      const { ahead } = spec.kinds[now.k];
      trade([
        [tr("scored pairs"), pairs, layers * (ahead ? T * T : (T * (T + 1)) / 2)],
        [tr("reaches query {query}", { query }), seen.length, ahead ? T : query + 1],
      ]);
      show([
        full === Infinity ? [tr("never"), ""] : [String(full), full === 1 ? tr("layer") : tr("layers")],
        [String(wrong), wrong ? tr("differs") : tr("same"), wrong === 0],
      ]);
      const told = { name: now.name, layers, query, direct: runs(direct), n: seen.length, all: T, seen: runs(seen) };
      ui.say(layers === 1
        ? tr("{name}: in layer {layers} query {query} looks at {direct}; after {layers} layer it depends on {n} of {all} tokens: {seen}", told)
        : tr("{name}: in layer {layers} query {query} looks at {direct}; after {layers} layers it depends on {n} of {all} tokens: {seen}", told),
      key === undefined ? "" : level === undefined ? cellFormula(now, query, key, T) : waysFormula(now, query, key, level, ways, T));
      ui.root.dataset.key = `${now.at},${query},${layers}`;
    },
  };
}

/** [4, 5, 6, 9] as "4 to 6, 9". */
function runs(places) {
  const found = [];
  places.forEach((p) => {
    const end = found[found.length - 1];
    if (end && end[1] === p - 1) end[1] = p;
    else found.push([p, p]);
  });
  const said = found.map(([first, last]) => (first === last ? String(first) : tr("{first} to {last}", { first, last })));
  return said.join(tr("{a}, {b}", { a: "", b: "" })) || tr("nothing");
}

/** May row i of that mask read token j? The residual connection keeps a token's own state, whatever the mask says. */
const reads = (mask, i, j, T) => i === j || mask[i * T + j] > 0;

/** On how many ways each token of each layer knows token `key` of layer `level`: [layer][token]. */
function upwards(layer, key, level, T) {
  const found = [];
  found[level] = Array.from({ length: T }, (_, i) => (i === key ? 1 : 0));
  for (let l = level + 1; l <= layer.length; l++) {
    found[l] = found[level].map((_, i) => found[l - 1].reduce((sum, n, j) => sum + (n && reads(layer[l - 1], i, j, T) ? n : 0), 0));
  }
  return found;
}

/** On how many ways each token of each layer reaches the query at the top: [layer][token]. */
function downwards(layer, query, T) {
  const found = [];
  found[layer.length] = Array.from({ length: T }, (_, i) => (i === query ? 1 : 0));
  for (let l = layer.length; l > 0; l--) {
    found[l - 1] = found[l].map((_, j) => found[l].reduce((sum, n, i) => sum + (n && reads(layer[l - 1], i, j, T) ? n : 0), 0));
  }
  return found;
}

/** Is that pair scored in the last layer, by which rule, and if not, on which way does the token arrive? */
function cellFormula(now, query, key, T) {
  const { may, hops, layer, layers, rule } = now;
  const allowed = may[query * T + key] > 0;
  const hop = hops[query * T + key];
  const told = { query, key, layers, rule, hop };
  if (allowed) return tr("mask[{query}, {key}] = True in layer {layers} (rule: {rule}): the pair is scored", told);
  if (!hop) return tr("mask[{query}, {key}] = False in layer {layers} (rule: {rule}); no path yet from {key} to {query}", told);
  if (hop > layers) {
    return tr("mask[{query}, {key}] = False in layer {layers} (rule: {rule}); no path yet from {key} to {query}, one after {hop} layers", told);
  }
  const ways = upwards(layer, key, 0, T);
  const way = [query];
  for (let l = layers; l > 0; l--) {
    const at = way[way.length - 1];
    // Stay where a layer is not needed, else the nearest token that knows the key.
    const from = [...ways[l - 1].keys()].filter((j) => ways[l - 1][j] && reads(layer[l - 1], at, j, T));
    way.push(from.includes(at) ? at : from.reduce((a, b) => (Math.abs(b - key) < Math.abs(a - key) ? b : a)));
  }
  return tr("mask[{query}, {key}] = False in layer {layers} (rule: {rule}); token {key} arrives by {way}",
    { ...told, way: way.filter((p, i) => p !== way[i - 1]).join(" ← ") });
}

/** The number of ways as the sum over the tokens that the query itself reads in the last layer. */
function waysFormula({ layer, layers }, query, key, level, ways, T) {
  if (level === layers) return "";
  const terms = ways[layers - 1].filter((n, k) => n && reads(layer[layers - 1], query, k, T));
  const shown = terms.length > 7 ? [...terms.slice(0, 5), "…", terms[terms.length - 1]] : terms;
  const sum = terms.length > 1 ? `${shown.map((n) => (n === "…" ? n : whole(n))).join(" + ")} = ` : "";
  const told = { key, level, query, sum: sum + whole(ways[layers][query]) };
  return level ? tr("paths from token {key} of layer {level} to query {query} = {sum}", told)
    : tr("paths from input token {key} to query {query} = {sum}", told);
}

/** Layers, whose masks come in turn, until every token, or every earlier one, is reached; Infinity if that never comes. */
function layersUntilAll(masks, T, ahead) {
  let reached = Array.from({ length: T }, (_, i) => new Set([i]));
  const complete = () => reached.every((seen, i) => seen.size === T || (!ahead && [...Array(i + 1).keys()].every((j) => seen.has(j))));
  for (let [layer, idle] = [0, 0]; idle < masks.length; layer++) {
    const mask = masks[layer % masks.length];
    // A residual connection leads past each layer, so a token always reaches itself.
    const next = reached.map((_, i) => new Set(reached.flatMap((seen, j) => (i === j || mask[i * T + j] > 0 ? [...seen] : []))));
    idle = next.every((seen, i) => seen.size === reached[i].size) ? idle + 1 : 0;
    reached = next;
    if (complete()) return layer + 1;
  }
  return Infinity;
}

/** Cells of the last layer's mask over what is reached; a click or the arrow keys choose the query. */
function sparseGrid(ui, parent, { left, cell, T, setting }) {
  const [head, wide] = [22, T * cell];
  const [W, H] = [left + wide + 2, head + wide + 2];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const [caption, note] = [html("span"), html("small", {})];
  box.append(html("p", { class: "ta-caption" }, caption, note));
  parent.append(box);
  const canvas = picture(box, W, H, tr("Grid: one row for each query, one column for each key; filled where the last layer scores, dotted where the stack reaches"));
  for (let i = 0; i < T; i += 5) {
    label(canvas, left + (i + 0.5) * cell, head - 7, String(i), "middle", "ta-small");
    label(canvas, left - 6, head + (i + 0.5) * cell + 4, String(i), "end", "ta-small");
  }
  label(canvas, left + wide, head - 7, tr("key"), "end", "ta-small");
  label(canvas, left - 4, head - 7, tr("query"), "end", "ta-small");
  let d = "";
  for (let i = 0; i <= T; i++) d += `M${left + i * cell} ${head}v${wide}M${left} ${head + i * cell}h${wide}`;
  const rated = svg("path", { class: "ta-cell", style: "fill: var(--ta-soft); fill-opacity: 0.18" });
  const faint = svg("path", { class: "ta-fill-one ta-cell", style: "fill-opacity: 0.16" });
  const scored = svg("path", { class: "ta-fill-one ta-cell", style: "fill-opacity: 0.6" });
  const strong = svg("path", { class: "ta-fill-one ta-cell" });
  const dots = svg("path", { class: "ta-fill-one" });
  const crosses = svg("g");
  const column = svg("rect", { y: head, width: cell, height: wide, class: "ta-mark", style: "stroke-dasharray: 4 3; stroke-width: 1.5" });
  const frame = svg("rect", { x: left, width: wide, height: cell, class: "ta-mark" });
  canvas.append(svg("path", { d, class: "ta-grid" }), rated, faint, scored, strong, dots, crosses, column, frame);
  const place = cursor(ui, canvas, {
    name: tr("Pattern; arrow keys move the query and the key"), cross: false,
    box: () => ({ x: left, y: head, width: wide, height: wide }),
    size: () => [T, T],
    at: () => [ui.seen("key") ?? ui.seen("query"), ui.seen("query")],
    state: (key, query) => ({ query, key }),
    says: (key, query) => (setting().may[query * T + key] > 0 ? tr("query {query}, key {key}, scored", { query, key })
      : tr("query {query}, key {key}, not scored", { query, key })),
  });
  const square = (i, j) => `M${left + j * cell} ${head + i * cell}h${cell}v${cell}h${-cell}z`;
  const dot = (i, j, r) => `M${left + (j + 0.5) * cell - r} ${head + (i + 0.5) * cell}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
  return {
    paint() {
      const { k, may, right, hops, layers, reference } = setting();
      const rates = ui.spec.kinds[k].rated;
      write(caption, rates ? tr("Rated (tint), scored, reached (dots)") : tr("Scored (filled), reached (dots)"));
      write(note, ui.get("alone") ? "" : reference ? tr("the reference") : tr("yours"));
      let [all, some, round, tinted] = ["", "", "", ""];
      const crossed = [];
      for (let c = 0; c < T * T; c++) {
        const [i, j] = [Math.floor(c / T), c % T];
        if (rates && j <= i) tinted += square(i, j);
        if (may[c] > 0) all += square(i, j);
        else if (hops[c] > 0 && hops[c] <= layers) {
          some += square(i, j);
          round += dot(i, j, 2.2);
        }
        if (may[c] > 0 === right[c] > 0) continue;
        const [x, y, side] = [left + j * cell + 4, head + i * cell + 4, cell - 8];
        crossed.push(svg("path", { d: `M${x} ${y}l${side} ${side}m0 ${-side}l${-side} ${side}`, class: "ta-mark", style: "stroke: var(--ta-bad)" }));
      }
      fill(rated, { d: tinted });
      fill(scored, { d: all });
      fill(faint, { d: some });
      fill(dots, { d: round });
      crosses.replaceChildren(...crossed);
    },
    mark(query, key) {
      place();
      let row = "";
      for (let j = 0; j < T; j++) if (setting().may[query * T + j] > 0) row += square(query, j);
      fill(strong, { d: row });
      fill(frame, { y: head + query * cell });
      column.style.visibility = key === undefined ? "hidden" : "visible";
      if (key !== undefined) fill(column, { x: left + key * cell });
    },
  };
}

/** Layers from the input at the bottom to the query at the top; lines are the steps on a way to the query. */
function growth(ui, parent, W, T, setting) {
  const [H, top, left, foot] = [130, 12, 50, 24];
  const note = html("small");
  const box = html("div", {}, html("p", { class: "ta-caption" }, tr("What reaches the query"), note));
  parent.append(box);
  const canvas = picture(box, W, H, tr("Layers of tokens: lines show on which paths the inputs below reach the query at the top"));
  const x = (i) => left + ((i + 0.5) * (W - left)) / T;
  const lines = ["stroke-opacity: 0.35", "stroke-opacity: 0.45; stroke-dasharray: 2 3", "stroke-width: 2.2"]
    .map((style) => svg("path", { style: `stroke: var(--ta-one); fill: none; ${style}` }));
  const dots = svg("g");
  canvas.append(...lines, dots);
  for (let i = 0; i < T; i += 5) label(canvas, x(i), H - 6, String(i), "middle", "ta-small");
  let [depth, circles] = [0, []];
  const y = (l) => top + ((depth - l) * (H - top - foot)) / depth; // layer 0 at the bottom, whatever the depth
  const half = () => (H - top - foot) / depth / 2;
  const place = cursor(ui, canvas, {
    name: tr("Paths to the query; arrow keys walk through tokens and layers"), cross: false,
    box: () => ({ x: left, y: top - half(), width: W - left, height: H - top - foot + 2 * half() }),
    size: () => [T, depth + 1],
    at: () => [ui.seen("key") ?? ui.seen("query"), depth - Math.min(ui.seen("level") ?? (ui.seen("key") === undefined ? depth : 0), depth)],
    state: (key, r) => (r === 0 ? { query: key, key, level: depth } : { key, level: depth - r }),
    says: (key, r) => (r === depth ? tr("token {key}, input", { key }) : tr("token {key}, layer {layer}", { key, layer: depth - r })),
  });

  function layout() {
    circles = Array.from({ length: depth + 1 }, (_, l) => Array.from({ length: T }, (_, i) => (
      svg("circle", { cx: x(i).toFixed(1), cy: y(l).toFixed(1) }))));
    dots.replaceChildren(...circles.flat());
    for (let l = 0; l <= depth; l++) label(dots, left - 10, y(l) + 4, l ? tr("layer {n}", { n: l }) : tr("input"), "end", "ta-small");
  }

  return {
    draw(query, key, level, ways) {
      const { layer, layers } = setting();
      if (depth !== layers) {
        depth = layers;
        layout();
      }
      place();
      const down = downwards(layer, query, T);
      const onWay = (l, i) => ways !== null && l >= level && down[l][i] > 0 && ways[l][i] > 0;
      const d = ["", "", ""];
      for (let l = depth; l > 0; l--) {
        for (let i = 0; i < T; i++) {
          if (!down[l][i]) continue;
          for (let j = 0; j < T; j++) {
            const direct = layer[l - 1][i * T + j] > 0;
            if (!direct && i !== j) continue;
            const piece = `M${x(i).toFixed(1)} ${y(l).toFixed(1)}L${x(j).toFixed(1)} ${y(l - 1).toFixed(1)}`;
            d[direct ? 0 : 1] += piece;
            if (onWay(l, i) && onWay(l - 1, j)) d[2] += piece;
          }
        }
      }
      lines.forEach((path, n) => fill(path, { d: d[n] }));
      write(note, d[1] ? tr("dotted: own state, not scored") : tr("point at a token to see its paths"));
      circles.forEach((line, l) => line.forEach((circle, i) => {
        const [on, lit, here] = [down[l][i] > 0, onWay(l, i), l === level && i === key];
        const kind = l === depth && i === query ? "ta-here" : on ? "ta-fill-one" : "ta-axis";
        fill(circle, { r: here ? 6 : on ? 4.5 : 2, class: lit || here ? `${kind} ta-lit` : kind });
      }));
      canvas.dataset.inputs = [...down[0].keys()].filter((j) => down[0][j]).join(" ");
    },
  };
}

/** All patterns in small, each with the mask of the layer on show: pointing along them compares, a click keeps one. */
function thumbnails(ui, parent, W, T, maskOf) {
  const { kinds } = ui.spec;
  const across = W / kinds.length < 44 ? kinds.length / 2 : kinds.length; // in two rows where the names have no room in one
  const down = kinds.length / across;
  const width = W / across;
  const side = Math.min(width - 4, down > 1 ? 27 : 40);
  const high = side + 18;
  const H = down * high;
  const box = html("div", { "data-part": "patterns", "data-of": "pattern" });
  box.append(html("p", { class: "ta-caption" }, tr("All patterns"), html("small", {}, tr("point along them, click to keep one"))));
  parent.append(box);
  const canvas = picture(box, W, H, tr("All patterns in small: the cells that the layer on show scores"));
  const x = (k) => (k % across) * width + (width - side) / 2;
  const y = (k) => Math.floor(k / across) * high + 3;
  const inked = kinds.map(({ short: name }, k) => {
    const path = svg("path", { class: "ta-fill-one", transform: `translate(${x(k).toFixed(1)} ${y(k)}) scale(${(side / T).toFixed(4)})` });
    canvas.append(svg("rect", { x: x(k), y: y(k), width: side, height: side, class: "ta-axis" }), path);
    label(canvas, x(k) + side / 2, y(k) + side + 13, name, "middle", "ta-small").style.letterSpacing = "-0.4px";
    return path;
  });
  const frame = svg("rect", { width: side + 4, height: side + 4, class: "ta-mark" });
  canvas.append(frame);
  const place = cursor(ui, canvas, {
    name: tr("pattern, in small"), cross: false,
    box: () => ({ x: 0, y: 0, width: W, height: H }),
    size: () => [across, down],
    at: () => [ui.seen("pattern") % across, Math.floor(ui.seen("pattern") / across)],
    state: (c, r) => ({ pattern: r * across + c }),
    says: (c, r) => kinds[r * across + c].name,
  });
  let shown = null;
  return {
    draw(pattern, state) {
      const tables = ui.table("may");
      if (!shown || shown[0] !== tables || shown[1] !== state) {
        inked.forEach((path, k) => fill(path, { d: rows(maskOf(k), T) }));
        shown = [tables, state];
      }
      fill(frame, { x: x(pattern) - 2, y: y(pattern) - 2 });
      place();
    },
  };
}

/** The True cells of a mask as one path in units of a cell, each run of them a single rectangle. */
function rows(mask, T) {
  let d = "";
  for (let i = 0; i < T; i++) {
    for (let j = 0, start = 0; j <= T; j++) {
      if (j < T && mask[i * T + j] > 0) continue;
      if (j > start) d += `M${start} ${i}h${j - start}v1h${start - j}z`;
      start = j + 1;
    }
  }
  return d;
}

const widget = { render: mount(sparseWidget) };
export default widget;
