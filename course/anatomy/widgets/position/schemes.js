// Of PositionExplorer: the curves of all schemes, side by side, and what each of them can do.

// px: what a curve needs across with its words beside it, what lies over it, and a line of words; where all schemes fit
// into one row, their words stand below.
const [ACROSS, OVER, WORDS, ONE_ROW] = [164, 16, 12, 760];

/** Mean score of each distance, from −(N − 1) to N − 1. */
const meansByDistance = (S, N, untrained) => Array.from({ length: 2 * N - 1 }, (_, i) => {
  const r = i - N + 1;
  const [from, to] = [Math.max(0, -r), Math.min(N, N - r)];
  let [sum, count] = [0, 0];
  for (let q = from; q < to; q++) {
    if (untrained(q, q + r)) continue;
    sum += S[q * N + q + r];
    count++;
  }
  return sum / count;
});

/**
 * Every scheme, small: its mean score against the distance, which ends where its numbers are not trained, and, once a
 * question has been answered, in words what it can do. Point at one to see it large, click to choose it.
 * found(scheme) → its { values, untrained, direction }.
 */
function schemeCurves(ui, parent, found) {
  const { places: N } = ui.spec;
  const schemes = ui.spec.schemes.filter(({ made }) => made);
  const single = ui.room >= ONE_ROW;
  const columns = single ? schemes.length : clamp(Math.floor(ui.room / ACROSS), 1, 4);
  const tall = single ? 16 : 25; // a curve
  const [across, high] = [ui.room / columns, OVER + tall + (single ? WORDS + 3 : 5)];
  const rows = Math.ceil(schemes.length / columns);
  const box = html("div", { class: "ta-panel" });
  box.append(html("p", { class: "ta-caption" }, tr("The eight schemes, small"),
    html("small", {},
      tr("mean score at each distance, in the middle r = 0; no line: no trained number; click to choose"))));
  parent.append(box);
  const over = picture(box, ui.room, rows * high, tr("The scores of every scheme, small"));
  const wide = single ? across - 18 : across - 100; // of a curve
  const tiles = schemes.map(({ name }, i) => {
    const [x, y] = [(i % columns) * across, Math.floor(i / columns) * high];
    const [left, top] = [x + 6, y + OVER];
    const frame = svg("rect", { x: x + 1, y: y + 1, width: across - 3, height: high - 2, rx: 4, style: "fill: none" });
    const curve = svg("path", { class: "ta-mine", style: "stroke-width: 1.8" });
    over.append(frame);
    const named = label(over, x + 3, y + 13, name, "start", "ta-small");
    line(over, left + wide / 2, top, left + wide / 2, top + tall, "ta-grid");
    over.append(curve);
    const words = [0, 1].map((n) => {
      const [at, down] = single ? [x + (n ? across - 5 : 4), top + tall + WORDS - 1]
        : [left + wide + 10, top + 11 + n * WORDS];
      const text = label(over, at, down, "", single && n ? "end" : "start", "ta-small");
      fill(text, { "data-readout": "can", style: "font-size: 11px; letter-spacing: -0.4px" });
      return text;
    });
    return { frame, named, curve, left, top, words };
  });
  const index = (column, row) => Math.min(row * columns + column, schemes.length - 1);
  const walk = cursor(ui, over, {
    name: tr("Schemes; arrow keys choose one"), cross: false,
    box: () => ({ x: 0, y: 0, width: ui.room, height: rows * high }),
    size: () => [columns, rows],
    at() {
      const i = Math.min(ui.seen("scheme"), schemes.length - 1);
      return [i % columns, Math.floor(i / columns)];
    },
    state: (column, row) => ({ scheme: index(column, row) }),
    says: (column, row) => schemes[index(column, row)].name,
  });

  function paint({ curve, left, top, words }, { values, untrained, direction }) {
    const means = meansByDistance(values, N, untrained);
    const [low, high] = [Math.min(...means.filter(Number.isFinite)), Math.max(...means.filter(Number.isFinite))];
    const y = (v) => top + 2 + (tall - 4) * (1 - (v - low) / Math.max(high - low, 1e-9));
    fill(curve, { d: trace(means.map((v, i) => [left + (i * wide) / (2 * N - 2), y(v)])) });
    const all = values.every((_, i) => !untrained(Math.floor(i / N), i % N));
    write(words[0], all ? tr("every r") : "");
    write(words[1], direction ? tr("direction") : "");
  }

  let painted = "";
  return {
    stale() { painted = ""; },
    draw(chosen) {
      const now = `${ui.get("variant")}/${ui.seen("trained")}`;
      if (now !== painted) schemes.forEach((_, i) => paint(tiles[i], found(i)));
      painted = now;
      tiles.forEach(({ frame, named }, i) => {
        fill(frame, { class: i === chosen ? "ta-lit" : "ta-axis" });
        fill(named, { class: i === chosen && !single ? "ta-strong" : "ta-small" }); // in one row bold names would touch
        fill(named, { style: `font-size: 11px${single ? "; letter-spacing: -0.4px" : ""}` });
      });
      walk();
    },
  };
}
