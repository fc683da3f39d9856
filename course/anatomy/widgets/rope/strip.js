// The head as it lies in memory: D numbers in a row. The same pairs can lie side by side or half a head apart.

/** Place of feature f (interleaved) when all first numbers come before their partners: pair i is (i, i + D/2). */
const inHalves = (f, dim) => (f % 2) * (dim / 2) + Math.floor(f / 2);

/** Which of q and k have that order. */
const REORDERED = { interleaved: [0, 0], halves: [1, 1], q: [1, 0] };

/** What is multiplied at each place of memory. */
function productsIn(order, q, k) {
  const dim = 2 * q.length;
  const [left, right] = [q, k].map((vector, row) => {
    const flat = vector.flat();
    return REORDERED[order][row] ? flat.reduce((all, v, f) => { all[inHalves(f, dim)] = v; return all; }, []) : flat;
  });
  return left.map((v, place) => v * right[place]);
}

/** show(state, shares): the numbers of q at m and k at n; 0…1 is how far the riffle of each has gone to halves. */
function stripPanel(ui, parent, { W, dim }) {
  const bar = html("div", { class: "ta-bar" });
  const inside = Object.create(ui, { controls: { value: bar } });
  parent.append(bar);
  choice(inside, {
    trait: "order", name: tr("Order in memory:"), values: ["interleaved", "halves", "q"],
    show: (order) => tr({ interleaved: N_("partners side by side"), halves: N_("both reordered"),
      q: N_("only q reordered") }[order]),
  });
  const [left, cell, arcs] = [34, Math.min((W - 38) / dim, 66), 26];
  const H = arcs + 2 * 26 + 24;
  const canvas = picture(parent, W, H,
    tr("The D numbers of q and k in memory, with an arc between the two partners of each pair"));
  label(canvas, 4, arcs + 17, "q", "start", "ta-strong");
  label(canvas, 4, arcs + 43, "k", "start", "ta-strong");
  label(canvas, 4, H - 7, "q × k", "start", "ta-small");
  const narrow = cell < 38;
  const pairs = Array.from({ length: dim / 2 }, (_, i) => {
    const hue = `ro-pair-${i % 8}`;
    const arc = svg("path", { class: "ro-arc" });
    canvas.append(arc);
    const cells = [0, 1].map(() => ["q", "k"].map((letter, row) => {
      const g = svg("g", { "data-row": letter });
      g.append(svg("rect", { x: 1, y: arcs + 26 * row, width: cell - 2, height: 24, rx: 3, class: `ro-cell ${hue}` }));
      canvas.append(g);
      return { g, number: label(g, cell / 2, arcs + 26 * row + 16, "", "middle", "ta-small") };
    }));
    return { arc, cells };
  });
  const terms = Array.from({ length: dim }, (_, i) => label(canvas, left + cell * (i + 0.5), H - 7, "", "middle", "ta-small"));
  const sum = html("strong", { class: "ta-number" });
  bar.append(html("p", { class: "ro-score" }, html("span", {}, tr("added up:"), " q·k = ", sum)));
  return ({ q, k, plane }, shares) => {
    const x = (f, share) => left + cell * (f + (inHalves(f, dim) - f) * share);
    const digits = narrow ? 1 : 2;
    const products = productsIn(ui.get("order"), q, k);
    terms.forEach((term, place) => write(term, fixed(products[place], digits)));
    write(sum, fixed(products.reduce((all, v) => all + v, 0)));
    pairs.forEach(({ arc, cells }, i) => {
      cells.forEach((rows, side) => rows.forEach(({ g, number }, row) => {
        // On its way a card passes over the others: the second partners rise, as in a riffle of two halves.
        const rise = Math.sin(Math.PI * shares[row]) * (side ? 8 : -8);
        fill(g, { transform: `translate(${x(2 * i + side, shares[row]).toFixed(1)},${rise.toFixed(1)})` });
        write(number, fixed([q, k][row][i][side], digits));
      }));
      const [a, b] = [0, 1].map((side) => x(2 * i + side, shares[0]) + cell / 2);
      const high = Math.min(8 + Math.abs(b - a) * 0.07, arcs - 4);
      const [from, to, up] = [a, b, arcs - 4 - high].map((v) => v.toFixed(1));
      fill(arc, { d: `M${from} ${arcs - 2}C${from} ${up} ${to} ${up} ${to} ${arcs - 2}`,
        class: i === plane ? "ro-arc ro-chosen" : "ro-arc" });
    });
  };
}
