// MemoryExplorer: the last write as what it is. A key's column times a value's row is a matrix of the memory's size, and
// it is added to the memory; the delta rule first takes away another one: the same column times what the memory held.

const [LINE, ABOVE, SIGN] = [15, 15, 14]; // px: a row of a product, the numbers above it, the sign before it
const FLY_MS = 600; // of a product on its way into the memory

/** As few decimals as it takes, two at most. */
const brief = (x) => (Number.isFinite(x) ? minus(String(Number(x.toFixed(2)) || 0)) : fixed(x));

/** Three products in a row; into(rule) → the memory's own picture of its matrix. Returns draw(). */
function lastWrite(ui, now, into) {
  const { spec, room } = ui;
  const row = fill(ui.row(), { style: "align-items: flex-end", "data-part": "products" });
  const [half, third] = [Math.floor((room - 20) / 2), Math.floor((room - 40) / 3)]; // the delta rule's two are neighbors
  const products = [["+", 0, room], ["−", 1, half], ["+", 1, half]]
    .map(([sign, rule, W]) => ({ rule, ...product(ui, row, room >= 700 ? third : W, sign) }));
  let shown = null; // the text whose last write is on show

  return () => {
    const { text, pairs, rules, decay, rate, read, cell, rule: pointed } = now();
    const [key, to] = pairs.at(-1) ?? [];
    const column = key === undefined ? null : spec.vectors[key];
    const value = spec.places.map((_, j) => Number(j === to));
    const held = column && read(rules[1].old, key).map((x) => decay * x);
    const told = (factor, what) => (column === null ? tr("nothing yet")
      : factor === 1 ? tr("{key} × {what}", { key: spec.keys[key], what })
        : tr("{rate} · {key} × {what}", { rate: short(factor), key: spec.keys[key], what }));
    [[tr("Adding writes"), 1, value, spec.places[to]], [tr("Delta rule: removes"), rate, held, tr("held")],
      [tr("then adds"), rate, value, spec.places[to]]].forEach(([name, factor, across, what], i) => {
      const one = products[i];
      const { memory, old } = rules[one.rule];
      /** Has the function written something else than this? The sum of what is removed and added can be seen. */
      const wrong = (c, x, j) => column && i !== 1
        && !(Math.abs(decay * old[c] + (i ? rate * x * (value[j] - held[j]) : x * value[j]) - memory[c]) < 1e-3);
      one.draw({ name, told: told(factor, what), factor, column, across, wrong, at: pointed === one.rule ? cell : undefined });
    });
    if (text !== shown) products.forEach((one) => one.land());
    // What was written last flies into the memories; what is taken back does not.
    if (tween.on && shown !== null && column && text > shown) {
      products.forEach((one, i) => one.fly(into(one.rule), i === 2 ? FLY_MS / 2 : 0));
    }
    shown = text;
  };
}

/** A key's column at the left, a value's row above, and in each cell the product of its two numbers. */
function product(ui, parent, W, sign) {
  const { spec } = ui;
  const [D, V] = [spec.keys.length, spec.places.length];
  const left = SIGN + 30;
  const cell = (W - left - 2) / V;
  const [name, what] = [html("span"), html("small")];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` }, html("p", { class: "ta-caption" }, name, what));
  parent.append(box);
  const canvas = picture(box, W, ABOVE + D * LINE + 2, "");
  const above = spec.places.map((_, j) => label(canvas, left + (j + 0.5) * cell, ABOVE - 4, "", "middle", "ta-small"));
  const beside = spec.keys.map((_, i) => label(canvas, left - 6, ABOVE + i * LINE + 12, "", "end", "ta-small"));
  label(canvas, 0, ABOVE + (D * LINE) / 2 + 5, sign, "start", "ta-strong");
  const matrix = svg("g", { id: freshId() });
  const cells = Array.from({ length: D * V }, (_, c) => {
    const [x, y] = [left + (c % V) * cell, ABOVE + Math.floor(c / V) * LINE];
    const rect = svg("rect", { x, y, width: cell, height: LINE, class: "ta-cell" });
    matrix.append(rect);
    const text = label(matrix, x + cell / 2, y + 11.5, "", "middle", "ta-small");
    text.dataset.ink = "own";
    return { rect, text };
  });
  const frame = { x: left, y: ABOVE, width: V * cell, height: D * LINE };
  const crosses = svg("path", { class: "ta-axis", style: "stroke: var(--ta-bad); stroke-width: 2" });
  const mark = svg("rect", { width: cell, height: LINE, class: "ta-mark" });
  const copy = svg("use", { href: `#${matrix.id}`, style: "opacity: 0; pointer-events: none" });
  canvas.append(matrix, svg("rect", { ...frame, class: "ta-axis" }), crosses, mark, copy);

  let flight = null;
  return {
    land() { flight?.cancel(); },
    draw({ name: says, told, factor, column, across, wrong, at }) {
      write(name, says);
      write(what, told);
      fill(canvas, { "aria-label": `${says}: ${told}` });
      const colors = palette(ui.dark);
      let path = "";
      cells.forEach(({ rect, text }, c) => {
        const [i, j] = [Math.floor(c / V), c % V];
        const made = column ? factor * column[i] * across[j] : 0;
        const rgb = colors.at((sign === "+" ? made : -made) / 2); // as it changes the memory
        fill(rect, { style: `fill: ${css(rgb)}` });
        fill(text, { style: `fill: ${inkOn(rgb)}` });
        write(text, column ? brief(made) : "");
        if (wrong(c, column?.[i], j)) path += `M${left + j * cell + 3} ${ABOVE + i * LINE + 3}l8 8m0 -8l-8 8`;
      });
      fill(crosses, { d: path });
      above.forEach((node, j) => write(node, column ? brief(across[j]) : ""));
      beside.forEach((node, i) => write(node, column ? brief(column[i]) : ""));
      mark.style.visibility = at === undefined ? "hidden" : "visible";
      if (at !== undefined) fill(mark, { x: left + (at % V) * cell, y: ABOVE + Math.floor(at / V) * LINE });
    },
    /** A copy of the matrix on its way to that node, where it becomes one with the memory. */
    fly(goal, delay) {
      if (!canvas.getScreenCTM()) return; // the products come with a later step
      const box = goal.getBoundingClientRect();
      const [x, y] = pointIn(canvas, { clientX: box.left, clientY: box.top });
      const [far, end] = pointIn(canvas, { clientX: box.right, clientY: box.bottom });
      const [wide, tall] = [(far - x) / frame.width, (end - y) / frame.height];
      const to = `translate(${x - frame.x * wide}px, ${y - frame.y * tall}px) scale(${wide}, ${tall})`;
      const way = [{ transform: "none", opacity: 1 }, { transform: to, opacity: 0.9, offset: 0.8 }, { transform: to, opacity: 0 }];
      flight = copy.animate(way, { duration: FLY_MS, delay, easing: "ease-in-out" });
    },
  };
}
