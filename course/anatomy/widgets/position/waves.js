// Of PositionExplorer: what each wave of a sinusoidal encoding adds to the score, which is the sum of all.

const [WAVE_HIGH, WAVE_TOP, LEAST_WAVE] = [40, 15, 70]; // px: a wave's height, room for its number, its least width

/** The faster half of the waves as small curves over the keys, all of one height; of the others, which hardly move, the sum. */
function waveParts(ui, parent) {
  const { places: N, features: F } = ui.spec;
  const waves = F / 4;
  const columns = ui.room >= waves * LEAST_WAVE ? waves : waves / 2;
  const [across, down] = [ui.room / columns, WAVE_TOP + WAVE_HIGH + 6];
  const note = html("small");
  const box = html("div", { class: "ta-panel" }, html("p", { class: "ta-caption" }, tr("Waves in the score"), note));
  parent.append(box);
  const canvas = picture(box, ui.room, (waves / columns) * down, tr("What each wave adds to the score, for each key"));
  const wide = across - 8;
  const x = (k) => (k / (N - 1)) * wide;
  const y = (v) => WAVE_TOP + (WAVE_HIGH / 2) * (1 - v);
  const tiles = Array.from({ length: waves }, (_, i) => {
    const tile = svg("g", { transform: `translate(${(i % columns) * across + 4} ${Math.floor(i / columns) * down})` });
    canvas.append(tile);
    const named = label(tile, wide / 2, 11, "", "middle", "ta-small");
    line(tile, 0, y(0), wide, y(0), "ta-grid");
    const middle = line(tile, 0, y(1), 0, y(-1), "ta-grid");
    const curve = svg("path", { class: "ta-mine", style: "stroke-width: 1.6" });
    const dot = svg("circle", { r: 3.5, class: "ta-here" });
    tile.append(curve, dot);
    return { named, middle, curve, dot };
  });

  return {
    box,
    /** values (N, F): sines in the even features, cosines in the odd ones */
    draw(values, query, key) {
      const part = (i, k) => [2 * i, 2 * i + 1].reduce((sum, f) => sum + values[query * F + f] * values[k * F + f], 0);
      tiles.forEach(({ named, middle, curve, dot }, i) => {
        fill(middle, { x1: x(query), x2: x(query) });
        fill(curve, { d: trace(Array.from({ length: N }, (_, k) => [x(k), y(part(i, k))])) });
        const now = part(i, key);
        dot.style.visibility = Number.isFinite(now) ? "visible" : "hidden";
        if (Number.isFinite(now)) fill(dot, { cx: x(key).toFixed(1), cy: y(now).toFixed(1) });
        write(named, fixed(now, 2));
      });
      const sum = (from, to) => fixed(Array.from({ length: to - from }, (_, i) => part(from + i, key)).reduce((a, b) => a + b), 2);
      write(note, tr("dots: r = {r}, where these {n} add {fast} to the score, and the other {n} add {slow}",
        { r: minus(String(key - query)), n: waves, fast: sum(0, waves), slow: sum(waves, 2 * waves) }));
    },
  };
}
