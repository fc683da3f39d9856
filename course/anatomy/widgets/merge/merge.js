// MergeExplorer: a row of tiles for each state of a word, and the pairs of the last row with the numbers of their merges.

const [TILE, TOP, PAIR] = [24, 18, 22]; // px: height of a row, room above for braces, height of a pair
const MERGE_MS = 1200; // Play
const JOIN_MS = 220;
const NOTHING = -1;
const BASE = 256;
const COUNTED = { "data-part": "counted", "data-readout": "counted" }; // why training learned a pair early or late

function mergeWidget(ui) {
  const { spec, room } = ui;
  const states = ui.table("cuts").length / spec.words.length;
  pick(ui, { trait: "word", name: tr("word"), names: spec.words });
  const { own, field } = ownField(ui);
  const listed = (s) => (s < states ? ui.table("cuts")[ui.get("word") * states + s] : NOTHING);
  const cut = (s) => (own() ? own().states[s]?.cut ?? NOTHING : listed(s));
  const last = () => [...Array(spec.longest).keys()].filter((s) => cut(s) !== NOTHING).length - 1;
  const same = (s) => Boolean(own()) || ui.table("same")[ui.get("word") * states + s] === 1;
  const name = () => own()?.name ?? spec.words[ui.get("word")];
  const wide = () => own()?.wide ?? spec.wide[ui.get("word")];
  const done = () => Math.min(ui.seen("done"), last());
  const all = ui.table("merges").length / 2;
  const parents = (id) => [...ui.table("merges").subarray(2 * (id - BASE), 2 * (id - BASE) + 2)];
  const sizes = Array(BASE).fill(1);
  for (let id = BASE; id < BASE + all; id++) sizes.push(parents(id).reduce((sum, part) => sum + sizes[part], 0));
  const sizeOf = (id) => sizes[id] ?? 1;
  const piece = (id) => spec.pieces[id] ?? "?";
  const length = () => own()?.bytes ?? spec.bytes[ui.get("word")];
  const row = (name, s, width) => {
    if (own()) return own().states[s][name === "rank" ? "ranks" : "ids"];
    const at = (ui.get("word") * states + s) * width;
    return [...ui.table(name).subarray(at, at + width)];
  };
  /** Tokens of a state: id, first byte and number of bytes of each, drawn as wide as the word. */
  const tokens = (name, s) => {
    let at = 0;
    return row(name, s, spec.longest).filter((id) => id !== NOTHING).map((id) => {
      at += sizeOf(id);
      return { id, at: at - sizeOf(id), size: sizeOf(id) };
    });
  };
  const pairs = (s) => {
    const ids = tokens("ids", s).map((token) => token.id);
    const ranks = row("rank", s, spec.longest - 1);
    return ids.slice(1).map((right, i) => ({ left: ids[i], right, rank: ranks[i] }));
  };
  const smallest = (list) => Math.min(...list.map(({ rank }) => (rank === NOTHING ? Infinity : rank)));
  /** Would the marks of what is joined next give a step's answer away? */
  const waits = () => (ui.root.dataset.waits ?? "").includes("numbers");
  const scene = { all, cut, done, last, length, name, own, pairs, parents, piece, same, smallest, states, tokens,
    waits, wide };

  slider(ui, { trait: "done", name: tr("merges done"), max: last });
  const bar = html("div", { class: "ta-bar" });
  ui.controls.append(bar);
  button(bar, "◀", () => ui.set("done", Math.max(done() - 1, 0))).setAttribute("aria-label", tr("Merge before"));
  player(ui, bar, {
    stepName: tr("Next merge"), every: MERGE_MS,
    step: () => ui.set("done", done() < last() ? done() + 1 : 0),
    ends: () => done() === last(),
  });
  const next = bar.children[1];
  next.style.minWidth = "106px"; // another word leaves Play where it is
  field.dataset.part = "own";
  ui.controls.append(field);
  if (room < 480) ui.readout.style.minHeight = "97px";
  ui.root.append(ui.readout);
  const both = ui.row();
  const side = room >= 640;
  const rows = tilesPanel(ui, both, side ? Math.floor(room * 0.58) : room, scene);
  const list = pairsPanel(ui, both, side ? room - Math.floor(room * 0.58) - 21 : room, scene);
  const checks = signs(ui.row(), [
    [tr("tokens"), tr("in the last row")],
    [tr("bytes"), tr("in the first row")],
    [tr("rows as the reference’s"), tr("of this word, also those still to come")],
  ]);

  return {
    draw() {
      const s = done();
      const now = pairs(s);
      const [count, rank] = [tokens("ids", s).length, smallest(now)];
      write(next, s < last() ? tr("Next merge") : tr("Start again"));
      rows.draw(now);
      list.draw(now);
      const right = [...Array(last() + 1).keys()].filter(same).length;
      checks([
        [whole(count), ""],
        [whole(length()), ""],
        own() ? [tr("not compared"), ""]
          : [tr("{n} of {all}", { n: right, all: last() + 1 }), right > last() ? tr("same") : tr("differs"), right > last()],
      ]);
      const told = { word: name(), n: count, bytes: length(), done: s, rank };
      const size = count === 1 ? tr("1 token for {bytes} bytes", told) : tr("{n} tokens for {bytes} bytes", told);
      const words = rank < Infinity ? tr("{word}, merges done: {done}. {size}; next is merge {rank}.", { ...told, size })
        : tr("{word}, merges done: {done}. {size}; no merge joins what is left.", { ...told, size });
      ui.say(words, rows.formula() || list.formula(now));
      ui.root.dataset.key = `${told.word},${s},${count},${rank}`;
    },
  };
}

/** One row for each state so far; below the last one the ids, and the reference's tokens. */
function tilesPanel(ui, parent, W, scene) {
  const { cut, done, last, length, own, parents, piece, same, smallest, states, pairs, tokens, waits } = scene;
  const wideOnes = scene.wide;
  const { spec } = ui;
  const left = 74;
  // A word of one's own may need more rows than any that is listed.
  const height = () => TOP + Math.max(states, last() + 1) * TILE + 42;
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` }, html("p", { class: "ta-caption" }, tr("The word, row by row"),
    html("small", {}, tr("blue: joined below; pale: just made"))));
  parent.append(box);
  const canvas = picture(box, W, height(), tr("Tiles: one row after each merge that changes the word"));
  const each = (n, make) => Array.from({ length: n }, (_, i) => make(i));
  const tile = (kind) => {
    const rect = svg("rect", { height: TILE - 4, rx: 3, class: "ta-axis" });
    canvas.append(rect);
    return [rect, label(canvas, 0, 0, "", "middle", kind)];
  };
  const braces = each((spec.longest - 1) / 2, () => { // one for each character of two bytes, behind a space
    const path = svg("path", { class: "ta-axis" });
    canvas.append(path);
    return [path, label(canvas, 0, 11, "", "middle", "ta-strong")];
  });
  const lines = each(spec.longest, () => {
    const group = svg("g");
    canvas.append(group);
    const name = label(group, left - 8, 0, "", "end", "ta-small");
    return { group, name, tiles: each(spec.longest, () => {
      const made = tile("ta-onfill");
      group.append(...made);
      return made;
    }) };
  });
  const idName = label(canvas, left - 8, 0, tr("id"), "end", "ta-small");
  const ids = each(spec.longest, () => label(canvas, 0, 0, "", "middle", "ta-small"));
  const refName = label(canvas, left - 8, 0, tr("reference"), "end", "ta-small ta-comparing");
  const references = each(spec.longest, () => tile("ta-small ta-comparing"));
  const coming = label(canvas, left + 2, 0, "", "start", "ta-small");
  const mark = svg("rect", { rx: 3, class: "ta-mark" });
  canvas.append(mark);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const alone = () => Boolean(ui.root.closest("[data-alone]")); // then there is no row of the reference
  let before = null;

  const cell = (list) => (W - left - 2) / Math.max(length(), list.reduce((sum, { size }) => sum + size, 0), 1);
  const place = cursor(ui, canvas, {
    name: tr("Tiles; arrow keys choose a row and a byte"), cross: false,
    box: () => ({ x: left, y: TOP, width: W - left - 2, height: (done() + 1) * TILE }),
    size: () => [length(), done() + 1],
    at: () => [Math.min(ui.seen("byte") ?? 0, length() - 1), Math.min(ui.seen("row") ?? done(), done())],
    state: (byte, line) => ({ row: line, byte }),
    says: (byte, line) => {
      const token = found(byte, line);
      return token ? tr("row {row}: {token}", { row: line, token: piece(token.id) }) : tr("row {row}", { row: line });
    },
  });
  const found = (byte, line) => tokens("ids", line).find(({ at, size }) => byte >= at && byte < at + size);
  const pointed = () => {
    const [line, byte] = [ui.seen("row"), ui.seen("byte")];
    return line === undefined || line > done() ? undefined : found(byte, line);
  };
  /** Places of the tiles that the smallest of the pairs joins, from the left and without overlap. */
  const joined = (list) => {
    const [rank, places] = [smallest(list), []];
    list.forEach((pair, i) => { if (pair.rank === rank && places.at(-1) !== i) places.push(i, i + 1); });
    return places;
  };
  const lay = ([rect, text], x, y, width, words) => {
    fill(rect, { x: x + 1.5, y, width: Math.max(width - 3, 1) });
    rect.style.visibility = "visible";
    fill(text, { x: x + width / 2, y: y + TILE / 2 + 2 });
    write(text, words);
  };
  const hide = ([rect, text]) => {
    rect.style.visibility = "hidden";
    write(text, "");
  };

  return {
    draw() {
      const s = done();
      fill(canvas, { height: height(), viewBox: `0 0 ${W} ${height()}` });
      const ink = inkOn(ui.dark ? [86, 180, 233] : [0, 114, 178]);
      lines.forEach(({ name, tiles }, line) => {
        const list = line <= s ? tokens("ids", line) : [];
        const width = cell(list);
        const next = line < s || (line === s && !waits()) ? joined(pairs(line)) : [];
        const y = TOP + line * TILE;
        fill(name, { y: y + TILE / 2 + 4, class: line === s ? "ta-text" : "ta-small" });
        const wrong = line <= s && !same(line);
        name.style.fill = wrong ? "var(--ta-bad)" : "";
        const n = line ? cut(line - 1) : 0;
        write(name, line > s ? "" : wrong ? `✗ ${line ? n : tr("bytes")}` : line ? tr("merge {n}", { n }) : tr("bytes"));
        tiles.forEach((pair, i) => {
          const token = list[i];
          if (!token) return hide(pair);
          lay(pair, left + token.at * width, y + 2, token.size * width, piece(token.id));
          const [rect, text] = pair;
          const [loud, made] = [next.includes(i), line > 0 && token.id === BASE + cut(line - 1)];
          fill(rect, { class: loud || made ? "ta-fill-one" : "ta-axis" });
          rect.style.fillOpacity = loud ? 1 : 0.25;
          text.dataset.ink = "own";
          text.style.fill = loud ? ink : "var(--ta-ink)";
          text.style.fontWeight = loud || made ? 600 : 400;
        });
      });
      const y = TOP + (s + 1) * TILE;
      const [mine, right] = [tokens("ids", s), own() ? [] : tokens("ref_ids", s)];
      fill(idName, { y: y + 10 });
      ids.forEach((text, i) => {
        if (mine[i]) fill(text, { x: left + (mine[i].at + mine[i].size / 2) * cell(mine), y: y + 10 });
        write(text, mine[i] ? String(mine[i].id) : "");
      });
      fill(refName, { y: y + 30 });
      refName.style.visibility = own() ? "hidden" : "";
      references.forEach((pair, i) => {
        const token = right[i];
        if (!token) return hide(pair);
        lay(pair, left + token.at * cell(right), y + 15, token.size * cell(right), String(token.id));
        fill(pair[0], { class: "ta-reference ta-comparing" });
      });
      braces.forEach(([path, text], i) => {
        const wide = wideOnes()[i];
        path.style.visibility = wide ? "visible" : "hidden";
        write(text, wide ? wide[0] : "");
        if (!wide) return;
        const unit = (W - left - 2) / length();
        const [x, end] = [left + wide[1] * unit + 3, left + (wide[1] + wide[2]) * unit - 3];
        fill(path, { d: `M${x} ${TOP}V${TOP - 5}H${end}V${TOP}` });
        fill(text, { x: (x + end) / 2 });
      });
      fill(coming, { y: TOP + (s + 1) * TILE + (own() || alone() ? 30 : 52) });
      write(coming, comingInWords(last() - s));
      const [list, pair, token] = [mine, ui.seen("pair"), pointed()];
      const pointedAt = token ? [ui.seen("row"), token, token] : list[pair + 1] ? [s, list[pair], list[pair + 1]] : null;
      mark.style.visibility = pointedAt ? "visible" : "hidden";
      if (pointedAt) {
        const [line, first, end] = pointedAt;
        const width = cell(tokens("ids", line));
        // What a tile was made of lies above it, up to its bytes.
        fill(mark, {
          x: left + first.at * width + 0.5, width: (end.at + end.size - first.at) * width - 1,
          y: TOP + (token ? 0 : line * TILE) + 1, height: (token ? line + 1 : 1) * TILE - 2,
        });
      }
      place();
      join(s);
    },
    /** What the tile that is pointed at is made of. */
    formula() {
      const token = pointed();
      if (!token) return "";
      const told = { token: piece(token.id), id: token.id };
      if (token.id < BASE) {
        const byte = spec.byte_of[token.id];
        const part = wideOnes().find(([, at, size]) => token.at >= at && token.at < at + size);
        return part ? tr("byte {byte}, number {n} of {all} of {letter}: id = {id}", {
          ...told, byte, n: token.at - part[1] + 1, all: part[2], letter: part[0],
        }) : tr("{token} is byte {byte}: id = {id}", { ...told, byte });
      }
      if (!spec.pieces[token.id]) return tr("id {id}: no merge makes it", told);
      const [a, b] = parents(token.id);
      return tr("{token} = {left} + {right}, by merge {n}: id = 256 + {n} = {id}", {
        ...told, left: piece(a), right: piece(b), n: token.id - BASE,
      });
    },
  };

  /** The newest row comes out of the one before, where only one merge was added. */
  function join(s) {
    const word = scene.name();
    if (before && before.word === word && before.s === s - 1 && !calm.matches) {
      lines[s].group.animate(
        [{ transform: `translateY(${-TILE}px)`, opacity: 0.4 }, { transform: "none", opacity: 1 }],
        { duration: JOIN_MS, easing: "ease-out" },
      );
    }
    before = { word, s };
  }
}

/** How many rows are still to come. */
function comingInWords(n) {
  if (!n) return tr("No merge is left to come.");
  return n === 1 ? tr("1 more merge changes this word.") : tr("{n} more merges change this word.", { n });
}

/** The pairs of the last row: bars as long as the numbers of their merges. The shortest one is joined next. */
function pairsPanel(ui, parent, W, { all, done, piece, smallest, pairs, waits }) {
  const { spec } = ui;
  const most = spec.longest - 1;
  const [left, right] = [104, 124];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` }, html("p", { class: "ta-caption" }, tr("Pairs left"),
    html("small", {}, tr("low: learned early")), html("small", COUNTED, tr("right: counted"))));
  parent.append(box);
  const canvas = picture(box, W, most * PAIR, tr("Bars: the number of the merge of each pair"));
  const x = (rank) => left + ((W - left - right) * rank) / all;
  const rows = Array.from({ length: most }, (_, i) => {
    const bar = svg("rect", { x: left, y: i * PAIR + 5, height: PAIR - 11, class: "ta-fill-one" });
    canvas.append(bar);
    const text = (at, anchor) => label(canvas, at, i * PAIR + 14, "", anchor);
    const [value, next, times] = [text(left + 6, "start"), text(0, "start"), text(W - 2, "end")];
    fill(next, { class: "ta-strong", "data-readout": "next" });
    fill(times, { class: "ta-small", ...COUNTED });
    return { bar, name: text(left - 8, "end"), value, next, times };
  });
  const mark = svg("rect", { x: 1, width: W - 2, height: PAIR - 2, rx: 3, class: "ta-mark" });
  canvas.append(mark);
  const count = () => Math.max(pairs(done()).length, 1);
  const place = cursor(ui, canvas, {
    name: tr("Pairs"), cross: false,
    box: () => ({ x: 0, y: 0, width: W, height: Math.max(count() * PAIR, 24) }),
    size: () => [1, count()],
    at: () => [0, Math.min(ui.seen("pair") ?? 0, count() - 1)],
    state: (_, pair) => ({ pair }),
    says: (_, i) => {
      const pair = pairs(done())[i];
      return pair ? `${piece(pair.left)} + ${piece(pair.right)}` : tr("no pair is left");
    },
  });

  return {
    draw(now) {
      const rank = smallest(now);
      rows.forEach(({ bar, name, value, next, times }, i) => {
        const pair = now[i];
        const known = pair && pair.rank !== NOTHING;
        const first = known && pair.rank === rank;
        const chosen = first && !waits();
        bar.style.visibility = known ? "visible" : "hidden";
        fill(bar, { width: known ? x(pair.rank + 1) - left : 0 });
        bar.style.fillOpacity = chosen ? 1 : 0.25;
        fill(name, { class: chosen ? "ta-strong" : "ta-text" });
        write(name, pair ? `${piece(pair.left)} + ${piece(pair.right)}` : "");
        const end = known ? x(pair.rank + 1) + 6 : pair ? left : 6;
        fill(value, { x: end, class: chosen ? "ta-strong" : known ? "ta-text" : "ta-small" });
        write(value, !pair ? (i ? "" : tr("no pair is left")) : known ? String(pair.rank) : tr("no merge"));
        fill(next, { x: end + 8 * String(pair?.rank).length + 6 });
        write(next, first ? tr("← next") : "");
        write(times, known ? tr("{n} times", { n: whole(spec.counted[pair.rank]) }) : "");
      });
      const here = ui.seen("pair");
      const shown = here !== undefined && here < now.length;
      mark.style.visibility = shown ? "visible" : "hidden";
      if (shown) fill(mark, { y: here * PAIR + 1 });
      place();
    },
    /** What becomes of the pair that is pointed at. */
    formula(now) {
      const here = ui.seen("pair");
      if (here === undefined) return "";
      const pair = now[here];
      if (!pair) return now.length ? "" : tr("tokens: 1, so no pair is left");
      const told = { left: piece(pair.left), right: piece(pair.right), a: pair.left, b: pair.right, n: pair.rank, id: BASE + pair.rank };
      if (pair.rank === NOTHING) return tr("{left} + {right} = ({a}, {b}): none of the {all} merges", { ...told, all: whole(all) });
      return tr("{left} + {right} = ({a}, {b}) is merge {n}, counted {times} times: new id = 256 + {n} = {id}", {
        ...told, times: whole(spec.counted[pair.rank]),
      });
    },
  };
}

const widget = { render: mount(mergeWidget) };
export default widget;
