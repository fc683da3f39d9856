// PositionExplorer: the position part of the scores as a heatmap, and the score against the distance.

// The score of query i and key j, as each scheme of the list makes it; r = j − i.
const TERMS = [
  [ // sinusoidal
    (i, j) => `PE(${i})·PE(${j}) = ${cosines(j - i)}`,
    (i, j) => `PE(${i}) W_q · PE(${j}) W_k`,
    (i, j) => `PE(${i}) W · PE(${j}) = ${cosines(j - i + 3)}`,
  ],
  [(i, j) => `p[${i}]·p[${j}]`], // learned absolute
  [(i, j, variant) => `q·a[${clipped(j - i, variant)}] − q·a[0]`], // Shaw
  [ // Transformer-XL
    (i, j) => `(q·R[${minus(String(i - j))}] + v·R[${minus(String(i - j))}]) ÷ √8`,
    (i, j) => `q·R[${minus(String(i - j))}] ÷ √8`,
    (i, j) => `v·R[${minus(String(i - j))}] ÷ √8`,
  ],
  [(i, j, head) => bucket(j - i, head)], // T5, bidirectional
  [(i, j, head) => bucket(j - i, head)], // T5, causal
  [ // DeBERTa
    (i, j) => `(q·kr[δ(${i}, ${j})] + k·qr[δ(${j}, ${i})]) ÷ √24`,
    (i, j) => `q·kr[δ(${i}, ${j})] ÷ √24`,
    (i, j) => `k·qr[δ(${j}, ${i})] ÷ √24`,
  ],
  [(i, j, variant) => `−${variant.match(/1\/\d+/)[0]} · |${minus(String(j - i))}|`], // ALiBi
  [() => ""], // no scheme
];

const cosines = (r) => tr("cos({r} · 1) + cos({r} · 0.562) + … (16 terms)", { r: minus(String(r)) });

const bucket = (r, head) => tr("b[bucket of {r}, {head}]", { r: minus(String(r)), head });

const clipped = (r, variant) => {
  const k = Number(variant.match(/\d+/)[0]);
  return minus(String(clamp(r, -k, k)));
};

function positionWidget(ui) {
  const { spec, room } = ui;
  const N = spec.places;
  const scheme = () => spec.schemes[ui.seen("scheme")];
  const last = () => scheme().variants.length - 1;
  const shownOf = (s) => Math.min(ui.get("variant"), s.variants.length - 1);
  pick(ui, { trait: "scheme", name: tr("scheme"), names: spec.schemes.map((s) => s.name) });
  const variants = slider(ui, { trait: "variant", name: scheme().kind, max: last, show: (i) => scheme().choices[i], long: true });
  const choices = variants.parentNode;
  choices.querySelector("output").style.minWidth = "5ch"; // longer values take what they need
  const kind = choices.querySelector("label"); // each scheme has variants of another kind
  slider(ui, { trait: "query", name: tr("query position"), max: N - 1, kind: "ta-two" });
  const lengths = Array.from({ length: N - spec.shortest + 1 }, (_, i) => spec.shortest + i);
  const trained = slider(ui, {
    trait: "trained", name: tr("trained on texts of"), values: lengths, show: (n) => tr("{n} words", { n }), long: true,
  });
  ui.listen("scheme", () => { if (ui.get("variant") > last()) ui.set("variant", last()); });
  ui.readout.style.minHeight = ui.room < 480 ? "98px" : "43px"; // room for a formula, so that nothing moves under the hand
  ui.root.append(ui.readout);

  const smallRow = ui.row();
  const small = schemeCurves(ui, smallRow, (i) => {
    const [s, variant] = [spec.schemes[i], shownOf(spec.schemes[i])];
    const values = ui.table(s.table).subarray(variant * N * N, (variant + 1) * N * N);
    return { values, untrained: untrained(i, variant), direction: ui.table("facts")[(i * 8 + variant) * 3 + 1] > spec.tolerance };
  });
  const about = html("p", { class: "ta-note", style: `margin: 0; min-height: ${room < 480 ? 52 : 17}px` });
  ui.root.append(about);
  const strip = wordRow(ui, ui.row());
  const row = ui.row();
  const cell = room < 900 ? 6 : 7;
  const vectors = encodings(ui, row, cell);
  Object.assign(smallRow.dataset, { part: "schemes", of: "scheme" });
  for (const node of [about, vectors.box]) Object.assign(node.dataset, { part: "vectors", of: "scheme" });
  const map = positionHeat(ui, row, N, cell);
  const rest = room - vectors.width - map.width - 32;
  row.style.columnGap = "16px";
  const curve = positionCurve(ui, row, [rest >= 280 ? rest : room, 32 * cell + (rest >= 380 ? 16 : 0)], N);
  const waves = waveParts(ui, ui.row());
  const table = signs(ui.row(), [
    [tr("spread within a distance"), tr("largest difference of scores of pairs with one distance")],
    [tr("r against −r"), tr("largest difference of the mean scores of r and −r")],
    [tr("from the reference"), tr("largest difference of a score")],
  ]);
  const note = html("p", { class: "ta-note", style: "margin: 0" });
  ui.root.append(note);

  /** Does the score of query q and key k need a number that no text as long as the training's has? */
  function untrained(at, variant) {
    const [needs, length] = [ui.table("needs"), ui.seen("trained")];
    const first = (at * 8 + variant) * (2 * N - 1) + N - 1;
    return spec.schemes[at].by_place ? (q, k) => Math.max(q, k) >= length : (q, k) => needs[first + k - q] > length;
  }

  let drawn = "";
  let now = null;
  return {
    stale() { drawn = ""; small.stale(); },
    draw() {
      const at = ui.seen("scheme");
      const [query, key] = [ui.seen("query"), ui.seen("key")];
      const variant = shownOf(scheme());
      const { name, table: source, variants } = scheme();
      const length = ui.seen("trained");
      if (drawn !== `${at}/${variant}/${length}`) {
        drawn = `${at}/${variant}/${length}`;
        const cut = (from) => ui.table(from).subarray(variant * N * N, (variant + 1) * N * N);
        const found = [...ui.table("facts").subarray((at * 8 + variant) * 3, (at * 8 + variant) * 3 + 3)];
        now = { S: cut(source), right: cut(`ref_${source}`), own: ui.table("own")[at] === 1 };
        const small = found.map((v) => v <= spec.tolerance);
        // Where variants differ in a number alone, colors and scale keep still, so that its slider changes what is seen.
        const whole = scheme().graded ? (from) => ui.table(from) : cut;
        now.every = [...whole(source), ...whole(`ref_${source}`)];
        now.limit = largest(whole(source));
        now.untrained = untrained(at, variant);
        const level = Math.max(...now.S) - Math.min(...now.S) <= spec.tolerance;
        now.shape = level ? "level" : small[0] ? "curve" : now.S.every(Number.isFinite) ? "band" : "gaps";
        now.words = [level ? tr("all alike") : small[0] ? tr("distance only") : tr("position counts"),
          small[1] ? tr("no direction") : tr("direction")];
        map.paint(now, palette(ui.dark));
        curve.layout(now);
        vectors.paint(scheme(), palette(ui.dark));
        write(about, scheme().about);
        write(kind, scheme().kind);
        choices.hidden = !last();
        const same = [short(found[2]), small[2] ? tr("same") : tr("differs"), small[2]];
        // Mere rounding is 0, unless a learner's function has made it.
        table([...now.words.map((word, i) => [short(small[i] && !now.own ? 0 : found[i]), word]), now.own ? same : ["–", scheme().made ? tr("not yours yet") : ""]]);
        write(note, length < N
          ? tr("Hatched, “?”: the score needs a number that no text of {n} words trains. Numbers in tables are random here.", { n: length })
          : tr(scheme().random[variant] ? N_("All 32 words are the same. Tables, vectors and projections are random here, not trained. A decoder hides the keys ahead.")
            : N_("All 32 words are the same. A decoder hides the keys ahead.")));
      }
      smallRow.hidden = !scheme().made; // without a scheme, the others would answer before there is a question
      trained.disabled = !scheme().made; // and there is no number that a text could train
      small.draw(at);
      vectors.mark(query, key);
      map.mark(query, key);
      // All schemes and the waves, or the words, would be higher than a screen.
      const roomy = room >= 900 || smallRow.hidden || smallRow.hasAttribute("data-away");
      waves.box.hidden = !(roomy && scheme().waves && variant === 0);
      if (!waves.box.hidden) waves.draw(ui.table(scheme().encodings), query, key ?? query);
      strip.box.hidden = !roomy || !waves.box.hidden;
      if (!strip.box.hidden) strip.draw(now.S.subarray(query * N, (query + 1) * N), now, palette(ui.dark), query, key);
      curve.move(now, query, key);
      const told = { scheme: name, variant: variants[variant], query, key };
      if (key === undefined) {
        const lacking = [...Array(N).keys()].filter((k) => now.untrained(query, k)).length;
        const said = { ...told, best: best(now, query), spread: now.words[0], direction: now.words[1], n: lacking };
        ui.say(lacking ? tr("{scheme}, {variant}: {best}; {n} keys without a trained number", said)
          : tr("{scheme}, {variant}: {best}; {spread}, {direction}", said));
      } else {
        const [mine, right] = [now.S[query * N + key], now.right[query * N + key]];
        const terms = (TERMS[at][variant] ?? TERMS[at][0])(query, key, variants[variant]);
        const lacks = now.untrained(query, key);
        const other = Math.abs(mine - right) <= spec.tolerance ? "" : tr(" (reference {right})", { right: fixed(right, 2) });
        ui.say(tr("{scheme}, {variant}: query {query}, key {key}, r = {r}", { ...told, r: minus(String(key - query)) }),
          `S[${query}, ${key}] = ${terms && `${terms} = `}${lacks ? tr("? (never trained)") : `${fixed(mine, 2)}${other}`}`);
      }
      ui.root.dataset.key = `${at},${variant},${query},${ui.get("trained")},${key ?? "–"},${fixed(now.S[query * N + (key ?? 0)], 4)}`;
    },
  };

  function best({ S, untrained }, query) {
    const scores = [...S.subarray(query * N, (query + 1) * N)].map((v, k) => (untrained(query, k) ? -Infinity : v));
    const top = Math.max(...scores);
    const winners = scores.filter((v) => v >= top - spec.tolerance).length;
    if (!Number.isFinite(top)) return tr("query {query} has no largest score", { query });
    return winners > 1 ? tr("query {query} gives {n} keys its largest score, {score}", { query, n: winners, score: fixed(top, 2) })
      : tr("query {query} scores key {key} highest, {score}", { query, key: scores.indexOf(top), score: fixed(top, 2) });
  }
}

// What the line of the curve is: a band has a height only where pairs of one distance differ.
const LINES = {
  level: N_("all distances alike"),
  curve: N_("one score a distance"),
  band: N_("mean; band: all pairs"),
  gaps: N_("mean"),
};

/** Mean score for each distance with a band for all pairs, the reference's mean in dashes, and one query's scores. */
function positionCurve(ui, parent, [W, H], N) {
  const [left, right, topEdge, bottom] = [40, 10, 6, 38];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const note = html("small", { style: `margin-left: 0; display: block; min-height: ${W < 380 ? 34 : 0}px` });
  box.append(html("p", { class: "ta-caption" }, tr("Score against distance"), note));
  parent.append(box);
  const canvas = picture(box, W, H, tr("Score against relative position: mean, band of all pairs, and the query on show"));
  const [iw, ih] = [W - left - right, H - topEdge - bottom];
  const x = (r) => left + ((r + N - 1) / (2 * N - 2)) * iw;
  for (const r of [-30, -20, -10, 0, 10, 20, 30]) {
    line(canvas, x(r), topEdge, x(r), topEdge + ih, r === 0 ? "ta-axis" : "ta-grid");
    label(canvas, x(r), topEdge + ih + 15, minus(String(r)), "middle", "ta-small");
  }
  canvas.append(svg("rect", { x: left, y: topEdge, width: iw, height: ih, class: "ta-axis" }));
  const across = label(canvas, left + iw / 2, H - 5, "", "middle");
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
  const here = svg("circle", { r: 7, class: "ta-mark", style: "pointer-events: none" });
  canvas.append(here);
  const place = cursor(ui, canvas, {
    name: tr("Curve: distance r"),
    // Half a step to each side, so that each distance is a column of its own.
    box: () => ({ x: left - iw / (4 * N - 4), y: topEdge, width: iw + iw / (2 * N - 2), height: ih }),
    size: () => [2 * N - 1, 1],
    at: () => [(ui.seen("key") ?? ui.seen("query")) - ui.seen("query") + N - 1, 0],
    // The query stays as long as a key lies at that distance; beyond the end it gives way.
    state: (i) => {
      const key = clamp(ui.get("query") + i - N + 1, 0, N - 1);
      return { query: key - (i - N + 1), key };
    },
    says: (i) => `r = ${i - N + 1}`,
  });
  let y = () => 0;

  /** [r, mean, low, high] over the pairs that have a number. */
  function profile(S, untrained) {
    const rows = [];
    for (let r = 1 - N; r < N; r++) {
      let [sum, count, low, high] = [0, 0, Infinity, -Infinity];
      for (let i = Math.max(0, -r); i < Math.min(N, N - r); i++) {
        if (untrained(i, i + r)) continue;
        const v = S[i * N + i + r];
        [sum, count, low, high] = [sum + v, count + 1, Math.min(low, v), Math.max(high, v)];
      }
      rows.push([r, sum / count, low, high]);
    }
    return rows;
  }

  return {
    layout({ S, right: expected, own, shape, every, untrained }) {
      const [mine, theirs] = [profile(S, untrained), profile(expected, untrained)];
      const seen = every.filter(Number.isFinite);
      const { low, high, ticks } = niceScale(...(shape === "level" && !seen.some(Boolean) ? [-1, 1] : [Math.min(...seen, 0), Math.max(...seen, 0)]));
      y = (v) => topEdge + ih * (1 - (v - low) / (high - low));
      scale.replaceChildren();
      for (const tick of ticks) {
        line(scale, left, y(tick), left + iw, y(tick), tick === 0 ? "ta-axis" : "ta-grid");
        label(scale, left - 6, y(tick) + 4, short(tick), "end", "ta-small");
      }
      const edge = [...mine.map(([r, , l]) => [x(r), y(l)]), ...[...mine].reverse().map(([r, , , h]) => [x(r), y(h)])].filter(([, v]) => Number.isFinite(v));
      fill(band, { d: shape === "band" ? `${trace(edge)}Z` : "" });
      fill(mean, { d: trace(mine.map(([r, m]) => [x(r), y(m)])) });
      fill(reference, { d: trace(theirs.map(([r, m]) => [x(r), y(m)])) });
      mean.style.visibility = own ? "visible" : "hidden";
      // Without a learner's function the mean is one line, and there is nothing to compare it with.
      write(note, tr(own ? N_("line: {line}; dashes: reference; dots: query") : N_("dashes: {line}; dots: query"),
        { line: tr(LINES[shape]) }));
    },
    move({ S, untrained }, query, key) {
      place();
      const put = (dot, column) => {
        const v = column === undefined || untrained(query, column) ? NaN : S[query * N + column];
        dot.style.visibility = Number.isFinite(v) ? "visible" : "hidden";
        if (Number.isFinite(v)) fill(dot, { cx: x(column - query).toFixed(1), cy: y(v).toFixed(1) });
      };
      marks.forEach(put);
      put(here, key);
      const distance = tr("r = key − query");
      write(across, key === undefined ? distance : `${distance} = ${key} − ${query} = ${minus(String(key - query))}`);
    },
  };
}

const widget = { render: mount(positionWidget) };
export default widget;
