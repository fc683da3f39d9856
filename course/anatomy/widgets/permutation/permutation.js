// PermutationExplorer: permute the words; without positions the output's rows are permuted alike, and no more.

const NAMES = 46; // width of the words beside a map
const [HIGH, TOP] = [30, 38]; // of a row, above the first
const PAUSE_MS = 1200; // between two orders of "Play"

function permutationWidget(ui) {
  const { spec } = ui;
  const [T, D] = [spec.words.length, spec.width];
  slider(ui, { trait: "order", name: tr("order"), values: spec.names, show: (order) => tr(order), long: true });
  slider(ui, { trait: "word", name: tr("word to follow"), max: T - 1, show: (i) => `${i}: ${spec.words[i]}` });
  choice(ui, { trait: "positions", name: tr("positions"), values: [false, true], show: (on) => (on ? tr("added") : tr("none")) });
  const bar = html("div", { class: "ta-bar" });
  ui.controls.append(bar);
  player(ui, bar, {
    stepName: tr("Next order"),
    playName: tr("Play orders"),
    every: PAUSE_MS,
    step: () => ui.set("order", spec.names[(spec.names.indexOf(ui.get("order")) + 1) % spec.names.length]),
    ends: () => ui.get("order") === spec.names[0],
  });
  ui.root.append(ui.readout);
  if (ui.room < 600) ui.readout.style.minHeight = "79px"; // lines that come must not move the maps under the hand
  const maps = mapPanel(ui, T, D);
  const show = signs(ui.row(), [
    [tr("maps 2 and 3"), tr("largest difference; 0 without positions: permuting the words only permutes the rows")],
    [tr("the two “the” in map 1"), tr("largest difference; 0 without positions: an equal word gets an equal output anywhere")],
    [tr("the reference"), tr("largest difference over all orders")],
  ]);

  let drawn = "";
  let now = null;
  return {
    stale() { drawn = ""; },
    draw() {
      const [on, order, word] = [ui.get("positions"), ui.seen("order"), ui.seen("word")];
      const [p, j] = [Number(on), spec.names.indexOf(order)];
      const setting = `${p},${j}`;
      if (drawn !== setting) {
        now = tablesOf(ui, p, j, T * D);
        maps.paint(now, palette(ui.dark));
        const equal = (v) => v <= spec.tolerance;
        // With positions a difference is what should be seen; without them it is a mistake.
        const verdict = (v, trivial) => (equal(v) ? [tr("equal"), !on || trivial]
          : [on ? tr("differs, as it should") : tr("broken"), on]);
        const far = ui.table("far")[p];
        show([
          [ui.table("gap")[p * spec.names.length + j], j === 0], [ui.table("twins")[p], false],
        ].map(([v, trivial]) => [short(v), ...verdict(v, trivial)])
          .concat([[short(far), equal(far) ? tr("same") : tr("differs"), equal(far)]]));
        drawn = setting;
      }
      const feature = ui.seen("feature");
      const place = now.order.indexOf(word);
      maps.mark(now.order, word, place, feature);
      const row = now.difference.slice(place * D, (place + 1) * D);
      const change = row.some(Number.isNaN) ? NaN : Math.max(...row.map(Math.abs));
      const told = { sentence: now.order.map((i) => spec.words[i]).join(" "), word: spec.words[word], from: word, place,
        change: short(change) };
      const way = place === word ? tr("“{sentence}”: “{word}” stays at place {place}", told)
        : tr("“{sentence}”: “{word}” goes from place {from} to {place}", told);
      const kept = change <= spec.tolerance;
      ui.say(tr(kept ? N_("{way}, and its output stays the same.") : N_("{way}, and its output changes by {change}."),
        { ...told, way }), formula(now, word, place, feature, D));
      ui.root.dataset.key = `${p},${j},${ui.get("word")}`;
    },
  };
}

/** What the four maps draw with these positions and this order. */
function tablesOf(ui, p, j, size) {
  const { spec } = ui;
  const cut = (name, o) => {
    const start = (p * spec.names.length + o) * size;
    return ui.table(name).subarray(start, start + size);
  };
  const [before, moved, after] = [cut("out", 0), cut("moved", j), cut("out", j)];
  return { before, moved, after, difference: [...after].map((v, i) => v - moved[i]), order: spec.orders[j] };
}

/** The number that is pointed at, in all four maps; without one, which row is which. */
function formula({ before, after, difference }, word, place, feature, D) {
  if (feature === undefined) return tr("P f(x)[{place}] = f(x)[{word}]; point at a cell for its numbers.", { place, word });
  const [old, at] = [word * D + feature, place * D + feature];
  const gap = Math.abs(difference[at]) < 1e-12 ? "0" : short(difference[at]);
  return `P f(x)[${place}, ${feature}] = f(x)[${word}, ${feature}] = ${fixed(before[old])}; ` +
    `f(Px)[${place}, ${feature}] = ${fixed(after[at])}; ${tr("difference")} = ${gap}`;
}

/** Four maps with a row for each word, side by side or two and two; threads lead from old to new places. */
function mapPanel(ui, T, D) {
  const { spec, room } = ui;
  const wide = room >= 700;
  const cell = wide ? clamp(Math.floor((room - 3 * NAMES - 96) / (4 * D)), 17, HIGH) : Math.min(17, Math.floor((room - 2 * NAMES - 44) / (2 * D)));
  const [across, thread] = [D * cell, wide ? 54 : 40];
  const second = NAMES + across + thread + NAMES;
  const third = second + across + 18 + NAMES;
  const below = TOP + T * HIGH + 14;
  const starts = wide ? [[NAMES, 0], [second, 0], [third, 0], [third + across + 22, 0]]
    : [[NAMES, 0], [second, 0], [NAMES, below], [second, below]];
  const [W, H] = wide ? [starts[3][0] + across + 2, TOP + T * HIGH + 4]
    : [second + across + 2, below + TOP + T * HIGH + 4];
  const box = html("div", { class: "ta-panel" });
  box.append(html("p", { class: "ta-caption" }, tr("Output of attention, one row per word"),
    html("small", {}, tr("dash: negative. Drag a word of map 3 to another place."))));
  ui.row().append(box);
  const canvas = picture(box, W, H, tr("Four heatmaps with a row per word: f of x, its rows permuted, " +
    "f of the permuted words, and the difference"));
  const lines = Array.from({ length: T }, () => svg("path"));
  canvas.append(...lines);
  const titles = ["f(x)", "P f(x)", "f(Px)", tr("difference")];
  // In words first, on two lines: P and f are names for what the words say.
  const plain = [tr("Map 1: as written"), tr("Map 2: attention first,"), tr("Map 3: swap first,"), tr("Map 3 minus Map 2")];
  const under = [titles[0], tr("then swap: {formula}", { formula: titles[1] }),
    tr("then attention: {formula}", { formula: titles[2] }), titles[3]];
  const written = spec.words.map((_, i) => i);
  const order = () => spec.orders[spec.names.indexOf(ui.seen("order"))];
  const rowsOf = (g) => (g === 0 ? written : order());

  const grids = titles.map((title, g) => {
    const [x, y] = [starts[g][0], starts[g][1] + TOP];
    const [middle, above] = [x + across / 2 - (wide ? 0 : 12), wide ? 24 : 22];
    label(canvas, middle, y - above, plain[g], "middle", "ta-strong").style.fontSize = wide ? "" : "11px";
    label(canvas, middle, y - 8, under[g], "middle", "ta-small");
    const rows = svg("g");
    canvas.append(rows, svg("rect", { x, y: y + 1, width: across, height: T * HIGH - 2, class: "ta-axis" }));
    const parts = written.map((word) => {
      const node = svg("g");
      const cells = Array.from({ length: D }, (_, i) => svg("rect", { x: x + i * cell, y: 1, width: cell, height: HIGH - 2 }));
      const dashes = svg("path", { class: "ta-axis", style: "stroke: var(--ta-ink)" });
      node.append(...cells, dashes);
      const name = label(node, x - 6, HIGH / 2 + 4, g === 3 ? "" : spec.words[word], "end");
      return { node, cells, dashes, name };
    });
    const order = slowRows(rows, (word) => parts[word].node, y);
    const mark = svg("rect", { x: x - 1, width: across + 2, height: HIGH, class: "ta-mark" });
    const dot = svg("rect", { width: cell, height: HIGH, class: "ta-mark", "stroke-dasharray": "3 2" });
    canvas.append(mark, dot);
    return { x, y, parts, order, mark, dot, along: null };
  });

  const places = grids.map(({ x, y }, g) => cursor(ui, canvas, {
    name: tr("Cells of {map}", { map: titles[g] }), cross: false,
    box: () => ({ x, y, width: across, height: T * HIGH }),
    size: () => [D, T],
    at: () => [ui.seen("feature") ?? -1, rowsOf(g).indexOf(ui.seen("word"))],
    state: (feature, i) => ({ word: rowsOf(g)[i], feature: Math.max(feature, 0) }),
    says: (feature, i) => tr(feature < 0 ? N_("row {i}: {word}") : N_("row {i}: {word}, feature {feature}"),
      { i, word: spec.words[rowsOf(g)[i]], feature }),
  }));
  const choose = moves(ui, canvas, order);
  for (const [g, name, press] of [[0, tr("Word as written"), undefined], [2, tr("Word in the new order"), choose]]) {
    const { x, y } = grids[g];
    places.push(cursor(ui, canvas, {
      name, press, cross: false,
      box: () => ({ x: x - NAMES, y, width: NAMES - 2, height: T * HIGH }),
      size: () => [1, T],
      at: () => [0, rowsOf(g).indexOf(ui.seen("word"))],
      state: (_, i) => ({ word: rowsOf(g)[i] }),
      says: (_, i) => tr("place {i}: {word}", { i, word: spec.words[rowsOf(g)[i]] }),
    }));
  }

  const [, , , last] = grids;
  const nothing = label(canvas, last.x + across / 2, 0, "", "middle", "ta-strong");
  fill(nothing, { "data-readout": "verdict" });
  const asked = label(canvas, last.x + across / 2, last.y + (T * HIGH) / 2 + 8, "?", "middle", "ta-strong ta-until");
  asked.style.fontSize = "28px"; // an empty map would look as if something were missing
  for (const node of [nothing, asked]) node.style.pointerEvents = "none"; // they lie on the cells that are pointed at

  return {
    paint({ before, moved, after, difference, order: rows }, colors) {
      write(nothing, difference.every((v) => Math.abs(v) <= spec.tolerance) ? tr("0 everywhere") : "");
      const top = [...before, ...after].reduce((a, v) => (Number.isFinite(v) ? Math.max(a, Math.abs(v)) : a), 1e-9);
      [before, moved, after, difference].forEach((values, g) => {
        const { x, parts, order } = grids[g];
        const words = g === 0 ? written : rows;
        grids[g].along = order(words, HIGH);
        words.forEach((word, i) => {
          let d = "";
          parts[word].cells.forEach((cellNode, j) => {
            const v = values[i * D + j];
            fill(cellNode, { fill: css(colors.at(v / top)) });
            // Where the color can be seen, so can its sign, also in gray.
            if (v < -0.04 * top) d += `M${x + (j + 0.5) * cell - 3} ${HIGH / 2}h6`;
          });
          fill(parts[word].dashes, { d });
        });
      });
    },
    mark(now, word, place, feature) {
      places.forEach((lay) => lay());
      fill(nothing, { y: last.y + (((place + T / 2) % T) + 0.5) * HIGH + 4 }); // never under the frame
      grids.forEach(({ x, y, parts, mark, dot, along }, g) => {
        const here = g === 0 ? word : place;
        parts.forEach(({ name }, i) => fill(name, { class: i === word ? "ta-strong" : "ta-text" }));
        const top = y + here * HIGH;
        if (along && Number(mark.getAttribute("y")) !== top) {
          mark.setAttribute("y", top); // it goes with its row, which is slower than other things that move
          mark.getAnimations().forEach((old) => old.cancel());
          along(mark, word);
        } else fill(mark, { y: top });
        grids[g].along = null;
        dot.style.visibility = feature === undefined ? "hidden" : "visible";
        if (feature !== undefined) fill(dot, { x: x + feature * cell, y: y + here * HIGH });
      });
      const [x1, x2] = [grids[0].x + across + 4, grids[1].x - 44];
      now.forEach((old, i) => {
        const [y1, y2] = [old, i].map((k) => TOP + (k + 0.5) * HIGH);
        const d = `M${x1} ${y1}C${x1 + 22} ${y1} ${x2 - 22} ${y2} ${x2} ${y2}`;
        fill(lines[old], { d, class: old === word ? "ta-mine" : "ta-axis" });
      });
    },
  };
}

/**
 * What a press on a row of the new order does: it takes the word that stands there; while the pointer stays down, the
 * order becomes the one of the list in which that word stands nearest to the hand.
 */
function moves(ui, canvas, order) {
  const { spec } = ui;
  let [down, taken] = [false, -1];
  canvas.addEventListener("pointerdown", () => { [down, taken] = [true, -1]; }, true);
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { [down, taken] = [false, -1]; });
  return (_, row) => {
    if (!down || taken < 0) {
      taken = order()[row];
      return ui.pin({ word: taken });
    }
    const away = (o) => Math.abs(o.indexOf(taken) - row);
    const best = spec.orders.reduce((a, o) => (away(o) < away(a) ? o : a), order());
    ui.set("order", spec.names[spec.orders.indexOf(best)]);
  };
}

const widget = { render: mount(permutationWidget) };
export default widget;
