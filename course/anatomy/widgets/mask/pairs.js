// Where queries and keys are different tokens, they cannot be stacked in layers: one layer, with a line for each pair.

const [QUERY_Y, KEY_Y] = [46, 166]; // px

/** Keys below, queries above, a line for each allowed pair; those of the query are strong. Returns draw(query, key). */
function pairsPicture(parent, W, H, { left, N, setting }) {
  const canvas = picture(parent, W, H, tr("Keys below, queries above: a line for each allowed pair"));
  const [all, strong] = ["stroke-opacity: 0.4", "stroke-width: 2.5"].map((style) => (
    svg("path", { style: `stroke: var(--ta-one); fill: none; ${style}` })));
  const tokens = svg("g");
  canvas.append(all, strong, tokens);
  label(canvas, left - 10, QUERY_Y + 4, tr("queries"), "end", "ta-small");
  label(canvas, left - 10, KEY_Y + 4, tr("keys"), "end", "ta-small");
  return (query, key) => {
    const { square, may, s, rows, columns } = setting();
    canvas.style.display = square ? "none" : "";
    if (square) return;
    const x = (i, count) => left + ((i + 0.5) * (W - left)) / count;
    const read = (i, j) => may[i * N + j] > 0;
    let [d, own] = ["", ""];
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        if (!read(i, j)) continue;
        const piece = `M${x(i, rows).toFixed(1)} ${QUERY_Y}L${x(j, columns).toFixed(1)} ${KEY_Y}`;
        d += piece;
        if (i === query && (key === undefined || j === key)) own += piece;
      }
    }
    fill(all, { d });
    fill(strong, { d: own });
    tokens.replaceChildren();
    const token = (word, at, y, below, kind, lit) => {
      tokens.append(svg("circle", { cx: at.toFixed(1), cy: y, r: lit ? 5 : 3, class: kind }));
      label(tokens, at, y + (below ? 20 : -11), word, "middle", lit ? "ta-strong" : "ta-small").style.fontSize = "11px";
    };
    s.rows.forEach((word, i) => token(word, x(i, rows), QUERY_Y, false, i === query ? "ta-here" : "ta-axis", i === query));
    s.columns.forEach((word, j) => {
      const on = read(query, j);
      token(word, x(j, columns), KEY_Y, true, on ? "ta-fill-one" : "ta-axis", on && (key === undefined || j === key));
    });
  };
}
