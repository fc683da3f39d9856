// Of PositionExplorer: the vectors of the positions, from whose products its map is made, and all schemes, small.

// px: side of a small map, what a map and its curve need across, and what lies over and under them; where all schemes
// fit into one row, their curves say more than their maps.
const [THUMB, ACROSS, OVER, UNDER, ONE_ROW] = [29, 164, 16, 3, 760];

const FOOT = 35; // px below a map, for its numbers and its name

/** Values as cells of a canvas, `columns` in a row; values as large as `limit` have the full color. */
function paintCells(canvas, values, columns, limit, colors) {
  const image = new ImageData(columns, values.length / columns);
  values.forEach((v, i) => image.data.set([...colors.at(v / limit), 255], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

const largest = (values) => Math.max(...[...values].filter(Number.isFinite).map(Math.abs), 0) || 1;

/** One row for each position, as high as the map's rows beside it; the query's and the key's are framed. */
function encodings(ui, parent, cell) {
  const { places: N, features: F } = ui.spec;
  const [left, topEdge, each, right] = [24, 6, 3, 4];
  const [width, high] = [left + F * each + right, N * cell];
  const box = html("div", { class: "ta-panel", style: `width: ${width}px` });
  const caption = html("p", { class: "ta-caption" }, tr("Vectors"));
  const none = html("p", { class: "ta-note", style: "position: absolute" });
  const stack = html("div", { class: "ta-stack", style: `width: ${width}px; height: ${topEdge + high + FOOT}px` });
  const canvas = html("canvas", { width: F, height: N, "aria-hidden": "true",
    style: `left: ${left}px; top: ${topEdge}px; width: ${F * each}px; height: ${high}px` });
  stack.append(canvas, none);
  box.append(caption, stack);
  parent.append(box);
  const over = picture(stack, width, topEdge + high + FOOT, tr("The vector of each position, one row each"));
  over.append(svg("rect", { x: left, y: topEdge, width: F * each, height: high, class: "ta-axis" }));
  const names = ["query", "key"].map(() => label(over, left - 5, 0, "", "end", "ta-small"));
  const frames = names.map(() => svg("rect", { x: left - 1, width: F * each + 2, height: cell, class: "ta-frame",
    style: "fill: none; stroke: var(--ta-ink); stroke-width: 1.6" }));
  over.append(...frames);
  const below = [0.25, 0.5, 0.75].map((share) => label(over, left + F * each * share, topEdge + high + 15, "", "middle", "ta-small"));
  const inOrder = Array.from({ length: F }, (_, f) => f);
  const wavesApart = [...inOrder.filter((f) => f % 2 === 0), ...inOrder.filter((f) => f % 2)];
  return {
    box,
    width,
    paint({ encodings: table, waves, made }, colors) {
      none.hidden = table !== "";
      write(none, made ? tr("None: a position has no vector here. Each distance r has a score, so the map has stripes.")
        : tr("None: nothing here knows of positions, so the map has one color."));
      canvas.hidden = table === "";
      over.style.visibility = table ? "visible" : "hidden";
      if (!table) return;
      // Sines stand in the even features and cosines in the odd ones: side by side, each is a fan of waves.
      const order = waves ? wavesApart : inOrder;
      (waves ? ["sin", "", "cos"] : ["", tr("{n} features", { n: F }), ""]).forEach((text, i) => write(below[i], text));
      const [values, size] = [ui.table(table), N * F];
      const variant = Math.min(ui.get("variant"), values.length / size - 1);
      const shown = values.subarray(variant * size, (variant + 1) * size);
      paintCells(canvas, shown.map((_, i) => shown[i - (i % F) + order[i % F]]), F, largest(shown), colors);
    },
    mark(query, key) {
      [query, key].forEach((place, i) => {
        frames[i].style.visibility = names[i].style.visibility = place === undefined ? "hidden" : "inherit";
        if (place === undefined) return;
        fill(frames[i], { y: topEdge + place * cell });
        // Two numbers in one place, or nearly so, could not be read.
        const near = i && Math.abs(query - key) * cell < 11;
        write(names[i], near ? "" : String(place));
        fill(names[i], { y: topEdge + (place + 0.5) * cell + 4 });
      });
    },
  };
}

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
 * Every scheme, small: its map, and its curve against the distance, which ends where its numbers are not trained.
 * Point at one to see it large, click to choose it. cut(scheme) → its scores; lacking(index) → which pairs have none.
 */
function schemeMaps(ui, parent, cut, lacking) {
  const { places: N } = ui.spec;
  const schemes = ui.spec.schemes.filter(({ made }) => made);
  const single = ui.room >= ONE_ROW;
  const columns = single ? schemes.length : clamp(Math.floor(ui.room / ACROSS), 1, 4);
  const [across, high] = [ui.room / columns, OVER + THUMB + UNDER];
  const rows = Math.ceil(schemes.length / columns);
  const box = html("div", { class: "ta-panel" });
  box.append(html("p", { class: "ta-caption" }, tr("The eight schemes, small"),
    html("small", {}, tr("mean score at each distance, in the middle r = 0; no line: no trained number; click to choose"))));
  const stack = html("div", { class: "ta-stack", style: `width: ${ui.room}px; height: ${rows * high}px` });
  box.append(stack);
  parent.append(box);
  const spot = (i) => [(i % columns) * across, Math.floor(i / columns) * high];
  const canvases = schemes.map((_, i) => {
    const [x, y] = spot(i);
    const place = `left: ${x + 4}px; top: ${y + OVER}px; width: ${THUMB}px; height: ${THUMB}px`;
    return html("canvas", { width: N, height: N, "aria-hidden": "true", style: `${place}${single ? "; display: none" : ""}` });
  });
  stack.append(...canvases);
  const over = picture(stack, ui.room, rows * high, tr("The scores of every scheme, small"));
  const beside = single ? 6 : THUMB + 14; // where a curve begins
  const wide = across - beside - 12;
  const tiles = schemes.map(({ name }, i) => {
    const [x, y] = spot(i);
    const [left, top, middle] = [x + beside, y + OVER, x + beside + wide / 2];
    const frame = svg("rect", { x: x + 1, y: y + 1, width: across - 3, height: high - 2, rx: 4, style: "fill: none" });
    const curve = svg("path", { class: "ta-mine", style: "stroke-width: 1.8" });
    over.append(frame);
    const named = label(over, x + 3, y + 13, name, "start", "ta-small");
    line(over, middle, top, middle, top + THUMB, "ta-grid");
    over.append(curve);
    return { frame, named, curve, left, top };
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

  function paint({ curve, left, top }, values, untrained, canvas, colors) {
    const known = values.map((v, i) => (untrained(Math.floor(i / N), i % N) ? 0 : v)); // no score, no color
    paintCells(canvas, known, N, largest(values), colors);
    const means = meansByDistance(values, N, untrained);
    const [low, high] = [Math.min(...means.filter(Number.isFinite)), Math.max(...means.filter(Number.isFinite))];
    const y = (v) => top + 2 + (THUMB - 6) * (1 - (v - low) / Math.max(high - low, 1e-9));
    fill(curve, { d: trace(means.map((v, i) => [left + (i * wide) / (2 * N - 2), y(v)])) });
  }

  let painted = "";
  return {
    stale() { painted = ""; },
    draw(chosen, colors) {
      const now = `${ui.get("variant")}/${ui.seen("trained")}`;
      if (now !== painted) schemes.forEach((scheme, i) => paint(tiles[i], cut(scheme), lacking(i), canvases[i], colors));
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
