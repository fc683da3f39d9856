// MemoryExplorer: pairs are written into two matrices, one that adds and one that corrects, and a key reads both.

const [CELL, ROW, READ] = [25, 34, 20]; // px: height of a cell of a memory, of a row of pairs, of a bar
const SCALE = [-1, 3]; // of what is read
const KEYS = { "data-part": "keys" }; // the first step asks about places alone

function memoryWidget(ui) {
  const { spec, room } = ui;
  const [D, V] = [spec.keys.length, spec.places.length];
  const wide = room >= 700;
  const later = []; // controls that are folded away at first

  choice(ui, { trait: "asked", name: tr("ask for"), values: [...spec.keys.keys()], show: (i) => spec.keys[i] });
  const [bar, other] = [html("div", { class: "ta-bar" }), html("div", { class: "ta-bar", "data-part": "more" })];
  ui.controls.append(bar, other);
  const back = button(bar, tr("Take back"), () => ui.set("text", before(ui.get("text"))));
  const fold = button(other, "", () => ui.set("more", !ui.get("more")));
  const sign = html("span", { "aria-hidden": "true" });
  fold.append(sign, tr("decay, rate"));
  for (const name of ["more", "text"]) ui.watch(name);
  choice(ui, { trait: "decay", name: tr("decay"), values: spec.decays, show: short });
  choice(ui, { trait: "rate", name: tr("rate of the delta rule"), values: spec.rates, show: short });
  later.push(...[...ui.controls.children].slice(-2));
  fill(ui.controls, { style: "display: flex; flex-wrap: wrap; column-gap: 24px" });
  ui.readout.style.minHeight = room < 480 ? "116px" : "62px";
  ui.root.append(ui.readout);

  const row = ui.row();
  const [first, each] = wide ? [236, Math.floor((room - 236 - 44) / 2)] : [Math.min(room, 300), Math.min(room, 330)];
  let now = null;
  const grid = pairGrid(ui, row, first, () => now, press);
  const panels = spec.rules.map((_, rule) => memoryPanel(ui, row, each, rule, () => now));
  const writing = lastWrite(ui, () => now, (rule) => panels[rule].matrix);
  const show = signs(ui.row(), [
    [tr("adding: error for the newest place"), tr("largest distance of what is read")],
    [tr("delta rule: error for the newest place"), tr("largest distance of what is read")],
    [tr("added, as the reference"), tr("memory and results")],
    [tr("delta rule, as the reference"), tr("memory and results")],
  ]);

  /** The text without its last pair. */
  function before(text) {
    return text ? Math.floor((text - 1) / (D * V)) : 0;
  }

  /** [[key, place], …] of a text. */
  function pairsOf(text) {
    return text ? [...pairsOf(before(text)), [Math.floor(((text - 1) % (D * V)) / V), (text - 1) % V]] : [];
  }

  /** Writes a pair. Nothing is lost when all are written: the grid says so. */
  function press(place, key) {
    if (pairsOf(ui.get("text")).length === spec.most) return;
    ui.set("text", D * V * ui.get("text") + key * V + place + 1);
  }

  function scene() {
    const [text, asked, decay, rate] = ["text", "asked", "decay", "rate"].map((name) => ui.seen(name));
    const setting = (rule) => spec.decays.indexOf(decay) + (rule ? spec.decays.length * spec.rates.indexOf(rate) : 0);
    const stride = D * V + 1;
    const cut = (kind, rule, n) => {
      const at = (setting(rule) * spec.texts + n) * stride;
      return ui.table(`${kind}_${spec.functions[rule]}`).subarray(at, at + D * V);
    };
    const read = (memory, key) => spec.places
      .map((_, j) => spec.vectors[key].reduce((sum, x, i) => sum + x * memory[i * V + j], 0));
    const pairs = pairsOf(text);
    const rules = spec.rules.map((_, rule) => ({
      memory: cut("m", rule, text), right: cut("ref_m", rule, text), old: cut("m", rule, before(text)),
      gap: ui.table(`gap_${spec.functions[rule]}`)[setting(rule) * spec.texts + text], own: ui.table("own")[rule] > 0,
    }));
    for (const it of rules) [it.read, it.expected] = [read(it.memory, asked), read(it.right, asked)];
    return {
      text, asked, decay, rate, pairs, rules, read, last: pairs.findLast(([key]) => key === asked)?.[1],
      pair: ui.seen("pair"), cell: ui.seen("cell"), place: ui.seen("place"), rule: ui.seen("rule"),
    };
  }

  /** How the number that is pointed at comes about. */
  function formula() {
    const { pair, cell, place, rule, rules, asked, decay, rate, pairs, read } = now;
    const two = (x) => fixed(x, 2);
    if (pair !== undefined) {
      const [key, to] = [Math.floor(pair / V), pair % V];
      const held = decay * read(rules[1].memory, key)[to];
      return tr("to write {key} – {place}: adding writes 1; the delta rule reads {held} there, and writes {rate} · (1 − {held}) = {change}", {
        key: spec.keys[key], place: spec.places[to], held: two(held), rate: short(rate), change: two(rate * (1 - held)),
      });
    }
    if (rule === undefined) return "";
    const { memory, old } = rules[rule];
    if (place !== undefined) {
      const terms = spec.vectors[asked].map((x, i) => `${short(x)} · ${two(memory[i * V + place])}`).join(" + ");
      return tr("{place} read by {key} = {terms} = {value}", { place: spec.places[place], key: spec.keys[asked], terms,
        value: two(rules[rule].read[place]) });
    }
    if (cell === undefined) return "";
    if (!pairs.length) return tr("nothing is written yet: all numbers are 0");
    const [i, j] = [Math.floor(cell / V), cell % V];
    const [key, to] = pairs[pairs.length - 1];
    const [x, wanted, held] = [spec.vectors[key][i], Number(j === to), decay * read(old, key)[j]];
    const made = decay * old[cell] + (rule ? rate * x * (wanted - held) : x * wanted);
    const told = {
      value: outcome(made, memory[cell]), old: two(old[cell]), decay: short(decay), x: short(x), key: spec.keys[key],
      i: i + 1, place: spec.places[j], wanted, held: two(held), rate: short(rate),
    };
    return rule === 0 ? tr("row {i}, {place} = decay {decay} · {old} + {key}'s key {x} · new {wanted} = {value}", told)
      : tr("row {i}, {place} = decay {decay} · {old} + rate {rate} · {key}'s key {x} · (new {wanted} − held {held}) = {value}", told);
  }

  return {
    draw() {
      now = scene();
      const { asked, rules, last, text, decay, rate } = now;
      const more = ui.get("more");
      for (const node of later) node.hidden = !more;
      write(sign, more ? "▾ " : "▸ ");
      fill(fold, { "aria-expanded": String(more) });
      fill(back, { "aria-disabled": String(!now.pairs.length) });
      grid();
      panels.forEach((panel) => panel.draw());
      writing();
      const off = (it) => (last === undefined ? ["–", tr("never written")]
        : [fixed(Math.max(...it.read.map((v, j) => Math.abs(v - Number(j === last)))), 2), ""]);
      const verdict = ({ gap }) => (gap <= spec.tolerance ? [fixed(gap, 2), tr("same"), true]
        : [fixed(gap, 2), tr("differs"), false]);
      show([...rules.map(off), ...rules.map(verdict)]);
      const list = (it) => spec.places.map((place, j) => [place, fixed(it.read[j], 2)])
        .filter((_, j) => !(Math.abs(it.read[j]) < 0.005)).map(([place, value]) => tr("{place} {value}", { place, value }))
        .join(tr("{a}, {b}", { a: "", b: "" })) || tr("nothing");
      ui.say(tr("Asked for the {key}, adding reads: {added}. The delta rule reads: {delta}.",
        { key: spec.keys[asked], added: list(rules[0]), delta: list(rules[1]) }), formula());
      ui.root.dataset.key = `${text},${asked},${decay},${rate}`;
    },
  };
}

/** A row for each key, a column for each value: a press writes that pair. Cells say when they were written. */
function pairGrid(ui, parent, W, now, press) {
  const { spec } = ui;
  const V = spec.places.length;
  const vectorOf = (i) => `(${spec.vectors[i].map(short).join(", ")})`;
  const [left, top] = [86, 20];
  const cell = (W - left - 2) / V;
  const note = html("small");
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` },
    html("p", { class: "ta-caption" }, tr("Write a pair"), note));
  parent.append(box);
  const H = top + spec.keys.length * ROW + 2;
  const canvas = picture(box, W, H, tr("Grid of pairs: a row for each key, a column for each place; numbers say in which order they were written"));
  const mark = svg("rect", { width: cell, height: ROW, class: "ta-mark" });
  spec.places.forEach((name, j) => label(canvas, left + (j + 0.5) * cell, top - 6, name, "middle", "ta-small"));
  const names = spec.keys.map((name, i) => {
    fill(label(canvas, 0, top + i * ROW + 29, vectorOf(i), "start", "ta-small"), KEYS);
    return label(canvas, 0, top + i * ROW + 15, name, "start", "ta-text");
  });
  const cells = spec.keys.flatMap((_, i) => spec.places.map((__, j) => {
    const rect = svg("rect", { x: left + j * cell + 1, y: top + i * ROW + 1, width: cell - 2, height: ROW - 2, rx: 4 });
    canvas.append(rect);
    return { rect, text: label(canvas, left + (j + 0.5) * cell, top + i * ROW + 21, "", "middle", "ta-strong") };
  }));
  canvas.append(mark);
  // Room for the longest pair: a write doesn't push away what it is shown in.
  const told = html("p", { class: "ta-note", "data-part": "products", style: "min-height: 67px" });
  box.append(told);
  const place = cursor(ui, canvas, {
    name: tr("Pairs; arrow keys choose one, Enter writes it"), cross: false, press,
    box: () => ({ x: left, y: top, width: V * cell, height: spec.keys.length * ROW }),
    size: () => [V, spec.keys.length],
    at: () => [(ui.seen("pair") ?? 0) % V, Math.floor((ui.seen("pair") ?? 0) / V)],
    state: (j, i) => ({ pair: i * V + j }),
    says: (j, i) => tr("{key} – {place}", { key: spec.keys[i], place: spec.places[j] }),
  });
  return () => {
    const { pairs, pair, asked } = now();
    write(note, pairs.length < spec.most ? tr("press a cell") : tr("full: three pairs"));
    const [key, to] = pairs.at(-1) ?? [];
    write(told, key === undefined ? tr("Nothing is written yet.")
      : tr("The last write, {key} – {place}, changed the framed numbers. Below, how: the {key}'s key {vector} at the left times the numbers above.",
        { key: spec.keys[key], place: spec.places[to], vector: vectorOf(key) }));
    cells.forEach(({ rect, text }, c) => {
      const times = [...pairs.keys()].filter((n) => pairs[n][0] * V + pairs[n][1] === c).map((n) => n + 1);
      const newest = times.length && times.at(-1) === pairs.length;
      fill(rect, { style: `fill: ${times.length ? "var(--ta-one)" : "var(--ta-panel)"}; fill-opacity: ${times.length ? 0.25 : 1}; stroke: var(${newest ? "--ta-ink" : "--ta-rule"})` });
      write(text, times.map((n) => tr("{n}.", { n })).join(" "));
    });
    names.forEach((node, i) => fill(node, { class: i === asked ? "ta-strong" : "ta-text" }));
    mark.style.visibility = pair === undefined ? "hidden" : "visible";
    if (pair !== undefined) fill(mark, { x: left + (pair % V) * cell, y: top + Math.floor(pair / V) * ROW });
    place();
  };
}

/** One memory: its numbers, beside each row the number of the key that asks, below each column what comes out. */
function memoryPanel(ui, parent, W, rule, now) {
  const { spec } = ui;
  const [D, V] = [spec.keys.length, spec.places.length];
  const [left, top] = [66, 20];
  const cell = (W - left - 2) / V;
  const note = html("small", { style: "display: block; margin: 0" }); // below the name: beside it, one of the two would break
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` },
    html("p", { class: "ta-caption" }, spec.rules[rule], note));
  parent.append(box);
  const start = top + D * CELL + 10; // of the bars
  const H = start + V * READ + 2;
  const canvas = picture(box, W, H, tr("Memory, {rule}: its numbers, and bars for what is read",
    { rule: spec.rules[rule] }));
  spec.places.forEach((name, j) => label(canvas, left + (j + 0.5) * cell, top - 6, name, "middle", "ta-small"));
  const whose = fill(label(canvas, left - 8, top - 6, "", "end", "ta-small"), KEYS);
  const factors = spec.keys.map((_, i) => fill(label(canvas, left - 8, top + i * CELL + 17, "", "end", "ta-text"), KEYS));
  const cells = Array.from({ length: D * V }, (_, c) => {
    const [i, j] = [Math.floor(c / V), c % V];
    const rect = svg("rect", { x: left + j * cell, y: top + i * CELL, width: cell, height: CELL, class: "ta-cell" });
    canvas.append(rect);
    return { rect, text: label(canvas, left + (j + 0.5) * cell, top + i * CELL + 16, "", "middle", "ta-onfill") };
  });
  const matrix = svg("rect", { x: left, y: top, width: V * cell, height: D * CELL, class: "ta-axis" });
  const frames = svg("path", { class: "ta-axis", style: "stroke: var(--ta-ink); stroke-width: 2",
    "data-part": "products", "data-frames": rule });
  canvas.append(matrix, frames);
  const crosses = svg("path", { class: "ta-mark", style: "stroke: var(--ta-bad)" });
  const [low, high] = SCALE;
  const x = (v) => left + ((clamp(Number.isFinite(v) ? v : 0, low, high) - low) / (high - low)) * (W - left - 36);
  for (let v = low; v <= high; v++) line(canvas, x(v), start, x(v), start + V * READ, v ? "ta-grid" : "ta-axis");
  const bars = spec.places.map((name, j) => {
    const y = start + j * READ;
    const bar = svg("rect", { y: y + 3, height: READ - 6, class: "ta-fill-one" });
    canvas.append(bar);
    return {
      bar, name: label(canvas, left - 8, y + 14, "", "end", "ta-text"),
      value: fill(label(canvas, 0, y + 14, "", "start", "ta-strong"),
        { style: "paint-order: stroke; stroke: var(--ta-paper); stroke-width: 3px" }), // over the lines of the grid
      tick: line(canvas, 0, y + 1, 0, y + READ - 1, "ta-tick"),
    };
  });
  const mark = svg("rect", { class: "ta-mark" });
  canvas.append(crosses, mark);
  const held = () => (now().rule === rule ? now() : {});
  const inMatrix = cursor(ui, canvas, {
    name: tr("{rule}: the memory's numbers", { rule: spec.rules[rule] }), cross: false,
    box: () => ({ x: left, y: top, width: V * cell, height: D * CELL }),
    size: () => [V, D],
    at: () => [(held().cell ?? 0) % V, Math.floor((held().cell ?? 0) / V)],
    state: (j, i) => ({ cell: i * V + j, rule }),
    says: (j, i) => tr("row {i}, {place}: {value}", { i: i + 1, place: spec.places[j],
      value: fixed(now().rules[rule].memory[i * V + j], 2) }),
  });
  const inBars = cursor(ui, canvas, {
    name: tr("{rule}: what is read", { rule: spec.rules[rule] }), cross: false,
    box: () => ({ x: 0, y: start, width: W, height: V * READ }),
    size: () => [1, V],
    at: () => [0, held().place ?? 0],
    state: (_, place) => ({ place, rule }),
    says: (_, place) => tr("{place} {value}", { place: spec.places[place],
      value: fixed(now().rules[rule].read[place], 2) }),
  });

  return { matrix, draw };

  function draw() {
    const { rules, asked, last, decay, pairs } = now();
    const { memory, old, right, read, expected, gap, own } = rules[rule];
    const colors = palette(ui.dark);
    let [wrong, changed] = ["", ""];
    cells.forEach(({ rect, text }, c) => {
      const rgb = colors.at(Number.isFinite(memory[c]) ? memory[c] / 2 : NaN);
      fill(rect, { style: `fill: ${css(rgb)}` });
      fill(text, { style: `fill: ${inkOn(rgb)}`, "data-ink": "own" });
      write(text, fixed(memory[c], 2));
      const [X, Y] = [left + (c % V) * cell, top + Math.floor(c / V) * CELL];
      if (pairs.length && Math.abs(memory[c] - decay * old[c]) > 0.005) changed += `M${X + 2} ${Y + 2}h${cell - 4}v${CELL - 4}h${4 - cell}z`;
      if (Math.abs(memory[c] - right[c]) <= spec.tolerance) return;
      wrong += `M${X + 3} ${Y + 3}l9 9m0 -9l-9 9`;
    });
    fill(frames, { d: changed });
    fill(crosses, { d: wrong });
    factors.forEach((node, i) => write(node, `× ${short(spec.vectors[asked][i])}`));
    write(whose, tr("{key}'s key", { key: spec.keys[asked] }));
    bars.forEach(({ bar, name, value, tick }, j) => {
      fill(bar, { x: Math.min(x(0), x(read[j])), width: Math.abs(x(read[j]) - x(0)) });
      write(name, (j === last ? "● " : "") + spec.places[j]);
      const off = !(Math.abs(read[j] - expected[j]) <= spec.tolerance);
      tick.style.visibility = off ? "visible" : "hidden";
      if (off) fill(tick, { x1: x(expected[j]), x2: x(expected[j]) });
      write(value, fixed(read[j], 2));
      fill(value, { x: Math.max(x(read[j]), x(0), off ? x(expected[j]) : 0) + 5 });
    });
    write(note, !(gap <= spec.tolerance) ? tr("lines: the reference") : last === undefined
      ? (own ? tr("yours") : ui.get("alone") ? "" : tr("the reference"))
      : tr("●: written last for “{key}”", { key: spec.keys[asked] }));
    const { cell: here, place } = held();
    mark.style.visibility = here === undefined && place === undefined ? "hidden" : "visible";
    if (here !== undefined) fill(mark, { x: left + (here % V) * cell, y: top + Math.floor(here / V) * CELL,
      width: cell, height: CELL });
    else if (place !== undefined) fill(mark, { x: 1, y: start + place * READ, width: W - 2, height: READ });
    inMatrix();
    inBars();
  }
}

const widget = { render: mount(memoryWidget) };
export default widget;
