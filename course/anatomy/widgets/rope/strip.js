// The head as it lies in memory: D numbers in a row. The same pairs can lie side by side or half a head apart.

/** Place of feature f (interleaved) in that order: pair i is (2i, 2i + 1), or (i, i + D/2). */
const placeIn = (order, f, dim) => (order === "halves" ? (f % 2) * (dim / 2) + Math.floor(f / 2) : f);

/** show(state, share): the numbers of q at m and k at n; share 0…1 is how far the riffle has gone to halves. */
function stripPanel(ui, parent, { W, dim }) {
  const inside = Object.create(ui, { controls: { value: parent } });
  choice(inside, {
    trait: "order", name: tr("Order in memory:"), values: ["interleaved", "halves"],
    show: (order) => tr(order === "halves" ? N_("first halves, then partners") : N_("partners side by side")),
  });
  const [left, cell, arcs] = [18, Math.min((W - 22) / dim, 66), 26];
  const H = arcs + 2 * 26 + 24;
  const canvas = picture(parent, W, H,
    tr("The D numbers of q and k in memory, with an arc between the two partners of each pair"));
  label(canvas, 4, arcs + 17, "q", "start", "ta-strong");
  label(canvas, 4, arcs + 43, "k", "start", "ta-strong");
  const narrow = cell < 38;
  const pairs = Array.from({ length: dim / 2 }, (_, i) => {
    const hue = `ro-pair-${i % 8}`;
    const arc = svg("path", { class: "ro-arc" });
    canvas.append(arc);
    const cells = [0, 1].map((side) => {
      const g = svg("g");
      const numbers = [0, 1].map((row) => {
        g.append(svg("rect", { x: 1, y: arcs + 26 * row, width: cell - 2, height: 24, rx: 3, class: `ro-cell ${hue}` }));
        return label(g, cell / 2, arcs + 26 * row + 16, "", "middle", "ta-small");
      });
      const name = label(g, cell / 2, H - 11, String(2 * i + side), "middle", "ta-small");
      canvas.append(g);
      return { g, numbers, name };
    });
    return { arc, cells };
  });
  return ({ q, k, plane }, share) => {
    const x = (f) => {
      const [from, to] = ["interleaved", "halves"].map((order) => placeIn(order, f, dim));
      return left + cell * (from + (to - from) * share);
    };
    pairs.forEach(({ arc, cells }, i) => {
      // On its way a card passes over the others: the second partners rise, as in a riffle of two halves.
      const rise = Math.sin(Math.PI * share) * 8;
      cells.forEach(({ g, numbers }, side) => {
        fill(g, { transform: `translate(${x(2 * i + side).toFixed(1)},${(side ? rise : -rise).toFixed(1)})` });
        [q, k].forEach((vector, row) => write(numbers[row], fixed(vector[i][side], narrow ? 1 : 2)));
      });
      const [a, b] = [x(2 * i) + cell / 2, x(2 * i + 1) + cell / 2];
      const high = Math.min(8 + Math.abs(b - a) * 0.07, arcs - 4);
      const [from, to, up] = [a, b, arcs - 4 - high].map((v) => v.toFixed(1));
      fill(arc, { d: `M${from} ${arcs - 2}C${from} ${up} ${to} ${up} ${to} ${arcs - 2}`,
        class: i === plane ? "ro-arc ro-chosen" : "ro-arc" });
    });
  };
}
