// Eight bars beside eight scores: weights, gradients or losses.

/** Eight horizontal bars: a word at the left, the value at the right; negative bars are dashed. */
function rowBars(ui, parent, [across, tall], panel, caption, name) {
  const K = ui.spec.keys;
  const [left, right, color] = [panel ? 56 : GRIP + 4, panel === 3 ? 54 : 42, `var(--ta-${HUES[panel] ?? "reference"})`];
  // As a subgrid, so that a caption that wraps moves all four alike.
  const box = html("div", { class: "ta-panel", role: "group", "aria-label": caption,
    style: "display: grid; grid-template-rows: subgrid; grid-row: span 3; row-gap: 0" });
  const [note, head] = [html("small", { style: "display: inline-block; white-space: nowrap" }), html("div")];
  const title = html("span", {}, caption);
  box.append(html("p", { class: "ta-caption" }, title, note), head);
  parent.append(box);
  const canvas = picture(box, across(), K * tall(), name);
  canvas.style.marginBottom = "6px";
  const axis = line(canvas, left, 0, left, 0, "ta-axis");
  const tracks = svg("path", { style: "fill: var(--ta-panel)" }); // how far a bar can go: the whole weight, 1
  canvas.append(tracks);
  const rows = Array.from({ length: K }, (_, i) => {
    const bar = svg("rect", { x: left, fill: color, stroke: color });
    canvas.append(bar);
    const text = (x) => label(canvas, x, 0, "", "end", "ta-small");
    return [text(left - (panel ? 8 : 18)), bar, text(0)];
  });
  const place = cursor(ui, canvas, {
    name: tr("{panel}, bars", { panel: caption }), cross: false,
    // The scores of the first panel are a grip of their own.
    box: () => ({ x: panel ? 0 : left, y: 0, width: across() - (panel ? 0 : left), height: K * tall() }),
    size: () => [1, K],
    at: () => [0, ui.seen("key") ?? 0],
    state: (_, key) => ({ key, panel }),
    says(_, key) {
      const [word, value] = [rows[key][0].textContent, rows[key][2].textContent];
      return panel === 3 ? `${word}: ${value}` : tr("key {key}, score {score}: {weight}", { key, score: word, weight: value });
    },
  });
  return {
    canvas, head, box,
    name: (text) => write(title, text),
    draw(words, values, limit, text, show, { key, panel: pointed }) {
      const [W, row] = [across(), tall()];
      fill(canvas, { viewBox: `0 0 ${W} ${K * row}`, width: W, height: K * row });
      fill(axis, { y2: K * row });
      write(note, text);
      fill(tracks, { d: limit === 1 ? rows.map((_, i) => `M${left} ${i * row + 2}h${W - left - right}v${row - 4}H${left}z`).join("") : "" });
      rows.forEach(([word, bar, value], i) => {
        const v = values[i];
        write(word, words[i]);
        write(value, show(v));
        value.setAttribute("x", W); // words don't travel
        for (const node of [word, value]) node.setAttribute("y", (i + 0.5) * row + 4);
        const broken = !Number.isFinite(v); // as wide as can be, in red: no bar says how much it is
        fill(bar, {
          y: i * row + 2, height: row - 4,
          width: ((broken ? 1 : Math.abs(v) / limit) * (W - left - right)).toFixed(1),
          "fill-opacity": broken ? 0.15 : v < 0 ? 0.25 : 1, "stroke-dasharray": broken || v < 0 ? "3 2" : "", class: i === key ? "ta-lit" : "",
        });
        bar.style.cssText = broken ? "fill: var(--ta-bad); stroke: var(--ta-bad)" : "";
        for (const node of [word, value]) {
          node.style.fontWeight = i === key || (broken && node === value) ? 700 : 400;
          node.style.fill = i === key ? "var(--ta-ink)" : broken && node === value ? "var(--ta-bad)" : "";
          node.style.textDecoration = i === key && panel === pointed ? "underline" : "";
        }
      });
      place();
    },
  };
}
