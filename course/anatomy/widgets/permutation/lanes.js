// The picture of PermutationExplorer: two lanes from the words to a result, and what their results differ by.

const [ROW, GRIP] = [21, 24]; // px, heights: of a row, and of what a finger takes hold of
const BETWEEN = 10; // px, two lanes

/** Left to right: words, a step, what comes of it, the other step, the result. Where the two lanes meet: differences. */
function lanePanel(ui, T, D) {
  const { spec, room } = ui;
  const wide = room >= 640;
  const [names, gap, meet, last] = wide ? [46, 84, 46, 66] : [42, 36, 0, 66];
  const HEAD = wide ? 20 : 36; // above the first row of a lane: on a phone its name has a line of its own
  const spare = room - 2 - 2 * (names + gap) - (wide ? meet + names + last : 0);
  const cell = clamp(Math.floor(spare / (2 * D)), 3, 24);
  const across = D * cell;
  const second = names + gap;
  const third = second + across + gap + names;
  const fourth = wide ? third + across + meet + names : third;
  const lane = HEAD + T * ROW + BETWEEN;
  const [yA, yB] = [HEAD, HEAD + lane];
  const H = (wide ? 2 * lane : 3 * lane - 16) - BETWEEN + 2;
  const yD = wide ? (H + HEAD - T * ROW) / 2 - 16 : yB + lane - 16; // its name needs one line, the legend five
  const W = wide ? fourth + last + 2 : Math.max(third + across, fourth + last) + 2;
  const box = html("div", { class: "ta-panel" });
  ui.row().append(box);
  const canvas = picture(box, W, H, tr("Two lanes from the words to a map with a row per word: A, attention and then " +
    "reorder; B, reorder and then attention; and the largest difference of each row"));
  const written = spec.words.map((_, i) => i);
  const order = () => spec.orders[spec.names.indexOf(ui.seen("order"))];
  const middle = (y, i) => y + (i + 0.5) * ROW;

  const head = (y, name, ...steps) => {
    label(canvas, 0, y - (wide ? 6 : 22), name, "start", "ta-strong");
    const places = [names + gap / 2, second + across / 2, second + across + gap / 2, third + across / 2];
    steps.forEach((text, k) => label(canvas, places[k], y - 6, text, "middle", k % 2 ? "ta-small" : "ta-text"));
  };
  const result = (formula) => tr("result {formula}", { formula });
  head(yA, tr("Lane A"), tr("attention"), wide ? tr("output {formula}", { formula: "f(x)" }) : "f(x)", tr("reorder"), result("P f(x)"));
  head(yB, tr("Lane B"), tr("reorder"), wide ? tr("words {formula}: drag one", { formula: "Px" }) : "Px", tr("attention"), result("f(Px)"));
  label(canvas, fourth + last / 2, yD - 6, tr("difference"), "middle", "ta-strong");
  const legend = [tr("dash: negative"), tr("f: attention; x: the words"), tr("P: the new order"),
    tr("dashed frame: old place"), tr("difference: largest of a row")];
  if (wide) legend.forEach((text, k) => label(canvas, W, H - 66 + 16 * k, text, "end", "ta-small"));
  else [tr("drag a word of lane B"), ...legend].forEach((text, k) => label(canvas, 0, yD + 12 + 16 * k, text, "start", "ta-small"));

  // Attention joins each row with all words, a new order each row with one.
  const joint = (x1, x2, y) => {
    const way = (from, to) => `M${x1} ${middle(y, from)}L${x2} ${middle(y, to)}`;
    const all = written.flatMap((to) => written.map((from) => way(from, to))).join("");
    const own = svg("path", { class: "ta-axis", style: "stroke: var(--ta-soft)" });
    canvas.append(svg("path", { class: "ta-grid", d: all }), own);
    return (to) => fill(own, { d: written.map((from) => way(from, to)).join("") });
  };
  const threads = (x1, x2, y) => {
    const lines = written.map(() => svg("path"));
    canvas.append(...lines);
    const bend = (x2 - x1) * 0.45;
    return (now, word) => now.forEach((old, i) => {
      const [y1, y2] = [middle(y, old), middle(y, i)];
      fill(lines[old], { d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`, class: old === word ? "ta-mine" : "ta-axis" });
    });
  };
  const first = [names, second - 4];
  const next = [second + across + 4, third - names];
  const [jointA, jointB] = [joint(...first, yA), joint(...next, yB)];
  const threadsOf = [threads(...next, yA), threads(...first, yB)];
  if (wide) {
    const from = third + across + 6;
    const to = fourth - names;
    const d = [yA, yB].map((y) => `M${from} ${middle(y, 2.5)}C${to} ${middle(y, 2.5)} ${from} ${middle(yD, 2.5)} ${to} ${middle(yD, 2.5)}`);
    canvas.append(svg("path", { class: "ta-axis", d: d.join("") }));
  }

  const lists = [yA, yB].map((y) => written.map((i) => label(canvas, names - 6, middle(y, i) + 4, spec.words[i], "end")));
  const grids = [
    { x: second, y: yA, words: () => written, map: "f(x)" },
    { x: third, y: yA, words: order, map: "P f(x)" },
    { x: third, y: yB, words: order, map: "f(Px)" },
    { x: fourth, y: yD, words: order, columns: 1, width: last },
  ].map((given) => mapOfRows(canvas, { columns: D, width: across, named: given.words === order, ...given }, spec));
  const cards = cardsOfWords(ui, canvas, { x: second, y: yB, width: across });

  const places = grids.map(({ x, y, width, columns, words, map }) => cursor(ui, canvas, {
    name: map ? tr("Cells of {map}", { map }) : tr("Largest difference of each row"), cross: false,
    box: () => ({ x, y, width, height: T * ROW }),
    size: () => [columns, T],
    at: () => [map ? ui.seen("feature") ?? -1 : 0, words().indexOf(ui.seen("word"))],
    state: (feature, i) => (map ? { word: words()[i], feature: Math.max(feature, 0) } : { word: words()[i] }),
    says: (feature, i) => tr(!map || feature < 0 ? N_("row {i}: {word}") : N_("row {i}: {word}, feature {feature}"),
      { i, word: spec.words[words()[i]], feature }),
  }));
  places.push(cursor(ui, canvas, {
    name: tr("Word as written"), cross: false,
    box: () => ({ x: 0, y: yA, width: names - 2, height: T * ROW }),
    size: () => [1, T],
    at: () => [0, ui.seen("word")],
    state: (_, word) => ({ word }),
    says: (_, i) => tr("place {i}: {word}", { i, word: spec.words[i] }),
  }));
  const twin = spec.words.findIndex((word, i) => spec.words.indexOf(word) < i); // the second “the”
  /** Words whose rows the colors would give away: of the sentence as written the twin, else all of lane B's result. */
  const covered = (map) => {
    if (!map) return written;
    if (spec.story[ui.get("step")].state.order === spec.names[0]) return [twin];
    return map === "f(Px)" ? written : [];
  };

  return {
    paint({ before, moved, after, differences, order: now }, colors) {
      const top = [...before, ...after].reduce((a, v) => (Number.isFinite(v) ? Math.max(a, Math.abs(v)) : a), 1e-9);
      [before, moved, after, differences].forEach((values, g) => grids[g].paint(values, top, colors));
      cards.lay(now);
    },
    mark(now, word, place, feature) {
      places.forEach((lay) => lay());
      lists.forEach((list) => list.forEach((name, i) => fill(name, { class: i === word ? "ta-strong" : "ta-text" })));
      grids.forEach(({ mark, cover, map }, g) => {
        mark(word, g ? place : word, feature);
        cover(covered(map));
      });
      cards.mark(word, place);
      jointA(word);
      jointB(place);
      threadsOf.forEach((draw) => draw(now, word));
    },
  };
}

/** A map whose rows travel to their new places. With one column, each row has its number on it. */
function mapOfRows(canvas, given, spec) {
  const { x, y, columns, width, named, words } = given;
  const [T, cell] = [spec.words.length, width / columns];
  const rows = svg("g");
  canvas.append(rows, svg("rect", { x, y: y + 1, width, height: T * ROW - 2, class: "ta-axis" }));
  const parts = spec.words.map((word) => {
    const [node, values] = [svg("g"), svg("g")];
    const cells = Array.from({ length: columns },
      (_, i) => svg("rect", { x: x + i * cell, y: 1, width: cell, height: ROW - 2 }));
    const dashes = svg("path", { class: "ta-axis", style: "stroke: var(--ta-ink)" });
    values.append(...cells, dashes);
    node.append(values);
    const name = label(node, x - 6, ROW / 2 + 4, named ? word : "", "end");
    const number = label(values, x + width / 2, ROW / 2 + 4, "", "middle", "ta-strong");
    return { node, values, cells, dashes, name, number };
  });
  const lay = slowRows(rows, (word) => parts[word].node, y);
  const frame = svg("rect", { x: x - 1, width: width + 2, height: ROW, class: "ta-mark" });
  const dot = svg("rect", { width: cell, height: ROW, class: "ta-mark", "stroke-dasharray": "3 2" });
  canvas.append(frame, dot);
  // An empty place would look as if something were missing.
  const asked = label(canvas, x + width / 2, 0, "?", "middle", "ta-strong ta-until");
  let along = null;
  return {
    ...given,
    paint(values, top, colors) {
      along = lay(words(), ROW);
      words().forEach((word, i) => {
        const { cells, dashes, number } = parts[word];
        let d = "";
        cells.forEach((node, j) => {
          const v = values[i * columns + j];
          const rgb = colors.at(v / top);
          fill(node, { fill: css(rgb) });
          // Where the color can be seen, so can its sign, also in gray.
          if (v < -0.04 * top) d += `M${x + (j + 0.5) * cell - 3} ${ROW / 2}h6`;
          if (columns > 1) return;
          write(number, v <= spec.tolerance ? "0" : short(v));
          number.style.fill = inkOn(rgb);
        });
        fill(dashes, { d });
      });
    },
    /** These words' rows are read-outs, which may wait for an answer. */
    cover(covered) {
      parts.forEach((part, word) => part.values.toggleAttribute("data-readout", covered.includes(word)));
      const [size, place] = covered.length > 1 ? [28, (T - 1) / 2] : [13, words().indexOf(covered[0])];
      fill(asked, { y: y + (place + 0.5) * ROW + 0.35 * size, display: covered.length ? "inline" : "none" });
      asked.style.cssText = `font-size: ${size}px; pointer-events: none`; // it lies on cells that are pointed at
    },
    mark(word, place, feature) {
      parts.forEach(({ name }, i) => fill(name, { class: i === word ? "ta-strong" : "ta-text" }));
      const top = y + place * ROW;
      if (along && Number(frame.getAttribute("y")) !== top) {
        frame.setAttribute("y", top); // it goes with its row, which is slower than other things that move
        frame.getAnimations().forEach((old) => old.cancel());
        along(frame, word);
      } else fill(frame, { y: top });
      along = null;
      const pointed = feature !== undefined && columns > 1;
      dot.style.visibility = pointed ? "visible" : "hidden";
      if (pointed) fill(dot, { x: x + feature * cell, y: top });
    },
  };
}

/** The words in their new order, as cards that can be moved like those of a list. */
function cardsOfWords(ui, canvas, { x, y, width }) {
  const { words } = ui.spec;
  const rows = svg("g");
  canvas.append(rows);
  const placeAt = (down) => clamp(Math.floor((down - y) / ROW), 0, words.length - 1);
  const parts = words.map((text, word) => {
    const node = svg("g");
    const frame = svg("rect", { x, y: 1, width, height: ROW - 2, rx: 4, class: "ta-axis" });
    node.append(frame, svg("path", { class: "ta-axis", d: `M${x + 8} 7h8m-8 3.5h8m-8 3.5h8`, style: "stroke: var(--ta-soft)" }));
    const name = label(node, x + 24, ROW / 2 + 4, text);
    // As high as a finger needs, over its neighbors' edges.
    const grip = svg("rect", { x, y: (ROW - GRIP) / 2, width, height: GRIP, class: "ta-grip", "stroke-opacity": 0 });
    node.append(gripOfWord(ui, grip, { canvas, word, placeAt }));
    return { node, frame, name };
  });
  const lay = slowRows(rows, (word) => parts[word].node, y);
  const ghost = svg("g", { style: "pointer-events: none" }); // where the word to follow stood
  canvas.append(ghost);
  ghost.append(svg("rect", { x: x + 2, y: 3, width: width - 4, height: ROW - 6, rx: 3, class: "ta-reference" }));
  const old = label(ghost, x + width - 8, ROW / 2 + 4, "", "end", "ta-small");
  return {
    lay: (order) => lay(order, ROW),
    mark(word, place) {
      parts.forEach(({ frame, name }, i) => {
        fill(frame, { class: i === word ? "ta-lit" : "ta-axis", "fill-opacity": 0 });
        fill(name, { class: i === word ? "ta-strong" : "ta-text" });
      });
      ghost.style.display = place === word ? "none" : "";
      ghost.setAttribute("transform", `translate(0 ${y + word * ROW})`);
      write(old, words[word]);
    },
  };
}
