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
  const cell = 8;
  const [left, topEdge, size] = [40, 6, N * cell];
  const [W, H] = [left + size + 54, topEdge + size + 38];
  const box = html("div", { class: "ta-panel" });
  box.append(html("p", { class: "ta-caption" }, "Scores", html("small", {}, "equal along each diagonal?")));
  const stack = html("div", { class: "ta-stack", style: `width: ${W}px; aspect-ratio: ${W} / ${H}` });
  const share = (x, whole) => `${(100 * x) / whole}%`;
  const canvas = html("canvas", {
    width: N, height: N, "aria-hidden": "true",
    style: `left: ${share(left, W)}; top: ${share(topEdge, H)}; width: ${share(size, W)}; height: ${share(size, H)}`,
  });
  stack.append(canvas);
  box.append(stack);
  parent.append(box);
  const over = picture(stack, W, H, "Heatmap of the position part of the scores, query position down, key position across");
  over.append(svg("rect", { x: left, y: topEdge, width: size, height: size, class: "ta-axis" }));
  for (const p of [0, 8, 16, 24, N - 1]) {
    const at = (p + 0.5) * cell;
    label(over, left - 6, topEdge + at + 4, String(p), "end", "ta-small");
    label(over, left + at, topEdge + size + 15, String(p), "middle", "ta-small");
  }
  label(over, left + size / 2, topEdge + size + 32, "key position", "middle");
  const middle = topEdge + size / 2;
  label(over, 11, middle, "query position", "middle").setAttribute("transform", `rotate(-90 11 ${middle})`);
  const frame = svg("rect", { x: left, width: size, height: cell, class: "ta-mark" });
  over.append(frame);
  const stops = ["0%", "50%", "100%"].map((offset) => svg("stop", { offset }));
  const id = freshId();
  over.append(svg("defs", {}, svg("linearGradient", { id, x1: 0, x2: 0, y1: 0, y2: 1 }, ...stops)));
  const barX = left + size + 12;
  over.append(svg("rect", { x: barX, y: topEdge + 16, width: 10, height: size - 32, fill: `url(#${id})`, class: "ta-legend" }));
  const ends = [topEdge + 10, topEdge + size - 4].map((y) => label(over, barX - 2, y, "", "start", "ta-small"));
  label(over, barX + 14, middle + 4, "0", "start", "ta-small");
  return {
    draw(S, query, colors) {
      const limit = Math.max(...[...S].filter(Number.isFinite).map(Math.abs), 1e-9);
      const image = new ImageData(N, N);
      S.forEach((value, i) => image.data.set([...colors.at(value / limit), 255], 4 * i));
      canvas.getContext("2d").putImageData(image, 0, 0);
      [colors.plus, colors.zero, colors.negative].forEach((rgb, i) => stops[i].setAttribute("stop-color", css(rgb)));
      ends[0].textContent = `+${short(limit)}`;
      ends[1].textContent = short(-limit);
      frame.setAttribute("y", topEdge + query * cell);
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
