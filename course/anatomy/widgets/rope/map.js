// S[m, n] as a picture of N × N cells: stripes along the diagonals when the score depends on m − n alone.

function heatPanel(ui, parent, N) {
  const map = scoreMap(parent, {
    N, cell: 3, left: 38, right: 50, topEdge: 4, bottom: 36, inset: 14, places: [0, 16, 32, 48, N - 1],
    caption: tr("Scores S[m, n]"),
    name: tr("Heatmap of the score for every query position m (down) and key position n (across)"),
    down: tr("query position m"), across: tr("key position n"),
  });
  const { left, topEdge, cell, over } = map;
  const diagonal = line(over, 0, 0, 0, 0, "ta-diagonal");
  const here = svg("rect", { width: 10, height: 10, class: "ta-mark" });
  over.append(here);
  const place = cursor(ui, over, {
    name: tr("Scores; arrow keys move n and m, with shift both"), diagonal: true,
    box: () => ({ x: left, y: topEdge, width: N * cell, height: N * cell }),
    size: () => [N, N],
    at: () => [ui.seen("n"), ui.seen("m")],
    state: (n, m) => ({ m, n }),
    says: (n, m) => `m ${m}, n ${n}`,
  });
  let drawn = null;
  return ({ m, n, scene }) => {
    if (drawn !== scene) map.paint(scene.S, scene.limit, palette(ui.dark), (v) => fixed(v, 1));
    drawn = scene;
    place();
    const at = (p, edge) => edge + (p + 0.5) * cell;
    fill(here, { x: at(n, left) - 5, y: at(m, topEdge) - 5 });
    const [up, down] = [Math.min(m, n), N - 1 - Math.max(m, n)];
    fill(diagonal, { x1: at(n - up, left), y1: at(m - up, topEdge), x2: at(n + down, left), y2: at(m + down, topEdge) });
  };
}
