// Of PositionExplorer: the vectors of the positions, from whose products its map is made.

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
