// Of PositionExplorer: the map of scores.

/** What the colors mean, top to bottom; the setter takes the largest score and the colors. */
function colorBar(parent, x, y, height) {
  const stops = ["0%", "50%", "100%"].map((offset) => svg("stop", { offset }));
  const id = freshId();
  parent.append(svg("defs", {}, svg("linearGradient", { id, x1: 0, x2: 0, y1: 0, y2: 1 }, ...stops)),
    svg("rect", { x, y: y + 16, width: 10, height: height - 32, fill: `url(#${id})`, class: "ta-legend" }));
  const ends = [y + 10, y + height - 3].map((at) => label(parent, x - 2, at, "", "start", "ta-small"));
  label(parent, x + 14, y + height / 2 + 4, "0", "start", "ta-small");
  return (limit, { plus, zero, negative }) => {
    [plus, zero, negative].forEach((rgb, i) => stops[i].setAttribute("stop-color", css(rgb)));
    write(ends[0], `+${short(limit)}`);
    write(ends[1], short(-limit));
  };
}

/** N × N scores; the row on show is framed, the cell on show too, with the diagonal of its distance. */
function positionHeat(ui, parent, N, cell) {
  const [left, right, topEdge, size] = [40, 54, 6, N * cell];
  const box = html("div", { class: "ta-panel" });
  box.append(html("p", { class: "ta-caption" }, tr("Scores S[query, key]"),
    html("small", {}, tr("“−”: below 0"))));
  const [W, H] = [left + size + right, topEdge + size + FOOT];
  const stack = html("div", { class: "ta-stack", style: `width: ${W}px; height: ${H}px` });
  const canvas = html("canvas", { width: N, height: N, "aria-hidden": "true",
    style: `left: ${left}px; top: ${topEdge}px; width: ${size}px; height: ${size}px` });
  stack.append(canvas);
  box.append(stack);
  parent.append(box);
  const over = picture(stack, W, H,
    tr("Heatmap of the position part of the scores, query position down, key position across"));
  over.append(svg("rect", { x: left, y: topEdge, width: size, height: size, class: "ta-axis" }));
  for (const p of [0, 8, 16, 24, N - 1]) {
    label(over, left - 6, topEdge + (p + 0.5) * cell + 4, String(p), "end", "ta-small");
    label(over, left + (p + 0.5) * cell, topEdge + size + 15, String(p), "middle", "ta-small");
  }
  const middle = topEdge + size / 2;
  label(over, left + size / 2, topEdge + size + 32, tr("key position"), "middle");
  const down = label(over, 10, middle, tr("query position"), "middle");
  fill(down, { transform: `rotate(-90 10 ${middle})` });
  const legend = colorBar(over, left + size + 12, topEdge, size);
  const below = svg("path", { style: "stroke-width: 1.2" }); // the signs of the map, for whoever sees no colors
  over.append(below);
  const diagonal = line(over, 0, 0, 0, 0, "ta-diagonal");
  const id = freshId();
  const stripes = svg("pattern", { id, width: 5, height: 5, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)" });
  stripes.append(svg("rect", { width: 5, height: 5, style: "fill: var(--ta-paper)" }),
    svg("rect", { width: 1.5, height: 5, style: "fill: var(--ta-soft)" }));
  const hatched = svg("path", { style: `fill: url(#${id}); stroke: none` });
  over.append(svg("defs", {}, stripes), hatched);
  const frame = svg("rect", { x: left, width: size, height: cell, class: "ta-mark" });
  const here = svg("rect", { width: cell + 4, height: cell + 4, class: "ta-mark" });
  over.append(frame, here);
  const place = cursor(ui, over, {
    name: tr("Scores; arrow keys move key and query, with shift both"), diagonal: true,
    box: () => ({ x: left, y: topEdge, width: size, height: size }),
    size: () => [N, N],
    at: () => [ui.seen("key") ?? ui.seen("query"), ui.seen("query")],
    state: (key, query) => ({ query, key }),
    says: (key, query) => tr("query {query}, key {key}", { query, key }),
  });

  /** A “−” in some cells below 0, in each row at other places, so that no diagonal is passed over. */
  function minusSigns(S, untrained) {
    let d = "";
    for (let q = 1; q < N; q += 3) {
      for (let k = (q * 3) % 4; k < N; k += 4) {
        if (S[q * N + k] >= 0 || untrained(q, k)) continue;
        d += `M${left + (k + 0.5) * cell - 2.5} ${topEdge + (q + 0.5) * cell}h5`;
      }
    }
    return d;
  }

  return {
    width: W,
    paint({ S, limit, untrained }, colors) {
      const image = new ImageData(N, N);
      S.forEach((v, i) => image.data.set([...colors.at(v / limit), 255], 4 * i));
      paintImage(canvas, image);
      legend(limit, colors);
      below.setAttribute("d", minusSigns(S, untrained));
      below.style.stroke = css(colors.dot);
      let d = "";
      for (let q = 0; q < N; q++) {
        for (let [k, from] = [0, 0]; k <= N; k++) {
          if (k < N && untrained(q, k)) continue;
          const [x, wide] = [left + from * cell, (k - from) * cell];
          if (wide) d += `M${x} ${topEdge + q * cell}h${wide}v${cell}h${-wide}z`;
          from = k + 1;
        }
      }
      hatched.setAttribute("d", d); // a mark of what is unknown appears where it belongs
    },
    mark(query, key) {
      place();
      fill(frame, { y: topEdge + query * cell });
      const shown = key === undefined ? "hidden" : "visible";
      here.style.visibility = diagonal.style.visibility = shown;
      if (key === undefined) return;
      fill(here, { x: left + key * cell - 2, y: topEdge + query * cell - 2 });
      const [up, down] = [Math.min(query, key), N - 1 - Math.max(query, key)];
      const at = (p, edge) => edge + (p + 0.5) * cell;
      fill(diagonal, { x1: at(key - up, left), y1: at(query - up, topEdge),
        x2: at(key + down, left), y2: at(query + down, topEdge) });
    },
  };
}
