// Of SparseExplorer: what the layers on show cost, and what the query gets for it, both against full attention.

const TRADE = { down: 20, high: 11, before: 112, after: 122 }; // px: a row, its bar, room for its name and its numbers

/** Two bars, linear from 0: scored pairs, and tokens that reach the query. The gray frame is full attention's. */
function tradeBars(ui, parent, W) {
  const { down, high, before, after } = TRADE;
  const wide = W - before - after;
  const box = html("div", {}, html("p", { class: "ta-caption" }, tr("Cost and reach"), html("small", {}, tr("gray frame: full attention"))));
  parent.append(box);
  const canvas = picture(box, W, 2 * down, tr("Bars: scored pairs and tokens that reach the query, against full attention"));
  const rows = [0, 1].map((i) => {
    const y = i * down + 4;
    const named = label(canvas, 0, y + high - 1, "", "start", "ta-small");
    canvas.append(svg("rect", { x: before, y, width: wide, height: high, class: "ta-axis" }));
    const bar = svg("rect", { x: before, y, width: 0, height: high, class: "ta-fill-one" });
    canvas.append(bar);
    return { named, bar, told: label(canvas, W - after + 8, y + high - 1, "", "start", "ta-small") };
  });
  return (values) => values.forEach(([name, n, all], i) => {
    const { named, bar, told } = rows[i];
    write(named, name);
    fill(bar, { width: ((wide * n) / all).toFixed(1) });
    write(told, tr("{n} of {all}: {percent} %", { n, all, percent: Math.round((100 * n) / all) }));
  });
}
