// PositionExplorer: the position part of the scores as a heatmap, and the score against the distance.

function positionWidget(ui) {
  const { spec } = ui;
  const N = spec.places;
  const scheme = () => spec.schemes[ui.get("scheme")];
  const last = () => scheme().variants.length - 1;
  pick(ui, { trait: "scheme", name: "scheme", names: spec.schemes.map((s) => s.name) });
  slider(ui, { trait: "variant", name: "variant", max: last, show: (i) => scheme().variants[i], long: true });
  slider(ui, { trait: "query", name: "query position", max: N - 1, kind: "ta-two" });
  ui.listen("scheme", () => { if (ui.get("variant") > last()) ui.set("variant", last()); });
  ui.root.append(ui.readout);

  const row = ui.row();
  const map = positionHeat(row, N);
  const curve = positionCurve(row, N);
  const below = html("div", { class: "ta-panel", style: "width: 100%" });
  ui.row().append(below);
  const table = facts(below, "What this score knows", [
    ["largest spread", "scores of pairs with one distance: 0 means that only the distance counts"],
    ["r against −r", "largest difference of the two means: 0 means that the direction is lost"],
    ["farthest from the reference", "largest difference of a score"],
  ]);
  ui.root.append(html("p", { class: "ta-note" },
    "The same word stands at all 32 places. Tables, words and projections are fixed random numbers: nothing is trained."));

  return {
    draw() {
      const [at, query] = [ui.get("scheme"), ui.get("query")];
      const variant = Math.min(ui.get("variant"), last());
      const { name, table: source, variants } = scheme();
      const cut = (from) => ui.table(from).subarray(variant * N * N, (variant + 1) * N * N);
      const [S, right] = [cut(source), cut(`ref_${source}`)];
      const own = ui.table("own")[at] === 1;
      map.draw(S, query, palette(ui.dark));
      curve.draw(S, right, query, own);
      const found = [...ui.table("facts").subarray((at * 8 + variant) * 3, (at * 8 + variant) * 3 + 3)];
      const small = found.map((v) => v <= spec.tolerance);
      const words = [small[0] ? "distance only" : "place counts", small[1] ? "no direction" : "direction",
        small[2] ? "same" : "differs"];
      const rows = found.map((v, i) => [short(v), words[i], i === 2 ? small[2] : undefined]);
      if (!own) rows[2] = ["–", "not yours yet"];
      table(rows);
      const scores = [...S.subarray(query * N, (query + 1) * N)];
      const top = Math.max(...scores);
      const winners = scores.filter((v) => v >= top - spec.tolerance).length;
      const best = !Number.isFinite(top) ? "has no largest score"
        : winners > 1 ? `gives ${winners} keys its largest score, ${fixed(top, 2)}`
          : `scores key ${scores.indexOf(top)} highest, ${fixed(top, 2)}`;
      ui.say(`${name}, ${variants[variant]}: query ${query} ${best}; ${words[0]}, ${words[1]}`);
      ui.root.dataset.key = `${at},${variant},${query},${fixed(S[query * N], 4)}`;
    },
  };
}

/** N × N scores; the row on show is framed. */
function positionHeat(parent, N) {
  const map = scoreMap(parent, {
    N, cell: 8, left: 40, right: 54, topEdge: 6, bottom: 38, inset: 16, places: [0, 8, 16, 24, N - 1], caption: "Scores",
    name: "Heatmap of the position part of the scores, query position down, key position across",
    down: "query position", across: "key position",
  });
  const frame = svg("rect", { x: map.left, width: N * map.cell, height: map.cell, class: "ta-mark" });
  map.over.append(frame);
  return {
    draw(S, query, colors) {
      const limit = Math.max(...[...S].filter(Number.isFinite).map(Math.abs), 1e-9);
      map.paint(S, limit, colors, short);
      frame.setAttribute("y", map.topEdge + query * map.cell);
    },
  };
}

/** Mean score for each distance with a band for all pairs, the reference's mean in dashes, and one query's scores. */
function positionCurve(parent, N) {
  const [W, H, left, right, topEdge, bottom] = [440, 300, 48, 10, 6, 38];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const note = html("small", { style: "margin-left: 0; display: block" });
  box.append(html("p", { class: "ta-caption" }, "Score against distance", note));
  parent.append(box);
  const canvas = picture(box, W, H, "Score against relative position: mean, band of all pairs, and the query on show");
  const [iw, ih] = [W - left - right, H - topEdge - bottom];
  const x = (r) => left + ((r + N - 1) / (2 * N - 2)) * iw;
  for (const r of [-30, -20, -10, 0, 10, 20, 30]) {
    line(canvas, x(r), topEdge, x(r), topEdge + ih, r === 0 ? "ta-axis" : "ta-grid");
    label(canvas, x(r), topEdge + ih + 15, minus(String(r)), "middle", "ta-small");
  }
  canvas.append(svg("rect", { x: left, y: topEdge, width: iw, height: ih, class: "ta-axis" }));
  label(canvas, left + iw / 2, H - 5, "r = key − query", "middle");
  const scale = svg("g");
  const band = svg("path", { style: "fill: var(--ta-one); fill-opacity: 0.22; stroke: none" });
  const mean = svg("path", { class: "ta-mine" });
  const reference = svg("path", { class: "ta-reference" });
  const dots = svg("g");
  canvas.append(scale, band, mean, reference, dots);
  const marks = Array.from({ length: N }, () => {
    const dot = svg("circle", { r: 3, class: "ta-here", style: "stroke-width: 0.5" });
    dots.append(dot);
    return dot;
  });

  function profile(S) {
    const rows = [];
    for (let r = 1 - N; r < N; r++) {
      let [sum, count, low, high] = [0, 0, Infinity, -Infinity];
      for (let i = Math.max(0, -r); i < Math.min(N, N - r); i++) {
        const v = S[i * N + i + r];
        [sum, count, low, high] = [sum + v, count + 1, Math.min(low, v), Math.max(high, v)];
      }
      rows.push([r, sum / count, low, high]);
    }
    return rows;
  }

  return {
    draw(S, expected, query, own) {
      const [mine, theirs] = [profile(S), profile(expected)];
      const seen = [...S, ...expected].filter(Number.isFinite);
      const { low, high, ticks } = niceScale(Math.min(...seen, 0), Math.max(...seen, 0));
      const y = (v) => topEdge + ih * (1 - (v - low) / (high - low));
      scale.replaceChildren();
      for (const tick of ticks) {
        line(scale, left, y(tick), left + iw, y(tick), tick === 0 ? "ta-axis" : "ta-grid");
        label(scale, left - 6, y(tick) + 4, short(tick), "end", "ta-small");
      }
      const whole = mine.every(([, , l, h]) => Number.isFinite(l) && Number.isFinite(h));
      const edge = [...mine.map(([r, , l]) => [x(r), y(l)]), ...[...mine].reverse().map(([r, , , h]) => [x(r), y(h)])];
      band.setAttribute("d", whole ? `${trace(edge)}Z` : "");
      mean.setAttribute("d", trace(mine.map(([r, m]) => [x(r), y(m)])));
      reference.setAttribute("d", trace(theirs.map(([r, m]) => [x(r), y(m)])));
      mean.style.visibility = own ? "visible" : "hidden";
      marks.forEach((dot, key) => {
        const v = S[query * N + key];
        dot.style.visibility = Number.isFinite(v) ? "visible" : "hidden";
        if (!Number.isFinite(v)) return;
        dot.setAttribute("cx", x(key - query).toFixed(1));
        dot.setAttribute("cy", y(v).toFixed(1));
      });
      note.textContent = own ? "line: your mean; band: all pairs; dashes: the reference; dots: this query"
        : "dashes: the reference's mean; band: all pairs; dots: this query";
    },
  };
}

const widget = { render: mount(positionWidget) };
export default widget;
