// The score as a sum: a bar for each plane, and a wave for each plane over the distance.

/** a − b + … of the planes' products; with many, the first three, the last, and the plane that is pointed at. */
function sum(terms, plane = -1) {
  const few = (i) => terms.length <= 4 || i < 3 || i === plane || i === terms.length - 1;
  const shown = terms.map((x, i) => [x, i]).filter(([, i]) => few(i));
  return shown.map(([x, i], j) => {
    const gap = j && i - shown[j - 1][1] > 1 ? " + …" : "";
    const sign = x < 0 ? "− " : j ? "+ " : "";
    const text = `${sign}${fixed(Math.abs(x), 2)}`;
    return `${gap} ${i === plane ? `[${text}]` : text}`;
  }).join("").trim();
}

/** Bars that stack to q·k: each begins where the one above it ends. */
function stackedBars(parent, W, planes) {
  const [row, left, right] = [13, 52, 46];
  const H = row * (planes + 1) + 4;
  const iw = W - left - right;
  const canvas = picture(parent, W, H,
    tr("Bars of the planes' products, each beginning where the one above it ends; they add up to q·k"));
  const zero = line(canvas, 0, 0, 0, H, "ta-axis");
  const bars = Array.from({ length: planes + 1 }, (_, i) => {
    const y = i * row + (i === planes ? 3 : 0);
    label(canvas, left - 6, y + 11, i === planes ? "q·k" : tr("plane {i}", { i }), "end", "ta-small");
    const bar = svg("rect", { y: y + 2, height: row - 4 });
    canvas.append(bar);
    return { bar, number: label(canvas, 0, y + 11, "", "start", "ta-small") };
  });
  return (parts, off, limit) => {
    const x = (v) => left + (clamp(v / limit, -1, 1) + 1) * (iw / 2);
    fill(zero, { x1: x(0), x2: x(0) });
    let at = 0;
    bars.forEach(({ bar, number }, i) => {
      const [from, by] = i === planes ? [0, at] : [at, off.includes(i) ? 0 : parts[i]];
      const [a, b] = [x(Math.min(from, from + by)), x(Math.max(from, from + by))];
      const [start, wide] = Number.isFinite(by) ? [a, Math.max(b - a, 0.8)] : [0, 0];
      fill(bar, { x: start.toFixed(1), width: wide.toFixed(1), class: by < 0 ? "ta-open-two" : "ta-fill-one" });
      fill(number, { x: left + iw + 4 });
      write(number, i < planes && off.includes(i) ? tr("off") : fixed(by, 2));
      if (i < planes) at += by;
    });
  };
}

/** What the score can come to at most: a scale that stays while content turns. A fault may go beyond. */
const scaleOf = ({ content, limit }) => Math.max(limit,
  content.q.reduce((all, v, i) => all + Math.hypot(...v) * Math.hypot(...content.k[i]), 0));

/** Which line is which: with no function of the learner's, and no fault, there is one score. */
const LINES = [
  N_("Dashed: the right score; solid: the score here. Thin: each plane’s wave; bold: plane {plane}’s. Dot: this pair."),
  N_("Dashed: the score at each distance. Thin: each plane’s wave; bold: plane {plane}’s. Dot: this pair."),
  N_("Thick: the score at each distance. Thin: each plane’s wave; bold: plane {plane}’s. Dot: this pair."),
];

/** Bars, switches of the waves, and the curve of the score over m − n with its waves. */
function scorePanel(ui, parent, { W, dim }) {
  const N = ui.spec.positions;
  const planes = dim / 2;
  const bars = stackedBars(parent, W, planes);
  const bar = html("div", { class: "ta-bar ro-waves" }, tr("waves, on or off:"));
  parent.append(bar);
  const switches = Array.from({ length: planes }, (_, i) => button(bar, String(i), () => {
    const off = ui.get("waves");
    ui.set("waves", off.includes(i) ? off.filter((p) => p !== i) : [...off, i].sort((a, b) => a - b));
  }));
  switches.forEach((node, i) => fill(node, { "aria-label": tr("wave of plane {i}", { i }) }));
  const curve = curvePanel(ui, parent, N, W);
  const lines = html("p", { class: "ta-note", style: "margin: 0" });
  parent.append(lines);
  return (state) => {
    const off = ui.get("waves").filter((i) => i < planes);
    switches.forEach((node, i) => fill(node, { "aria-pressed": String(!off.includes(i)) }));
    bar.hidden = Boolean(ui.get("alone")) && !ui.get("more") && !off.length; // no step needs them
    bars(state.parts, off, scaleOf(state.scene));
    curve(state, off);
    const single = Boolean(ui.get("notice")) && !state.scene.fault;
    write(lines, tr(LINES[single ? (ui.get("alone") ? 2 : 1) : 0], { plane: state.plane }));
  };
}

/** Score against m − n for the n on show, its waves thin behind it; the right sum is dashed. */
function curvePanel(ui, parent, N, W) {
  const [H, left, right, topEdge, bottom] = [168, 36, 8, 6, 30];
  const canvas = picture(parent, W, H,
    tr("Curve of the score against the distance m minus n, as a sum of one wave for each plane"));
  const [iw, ih] = [W - left - right, H - topEdge - bottom];
  const x = (delta) => left + ((delta + N - 1) / (2 * N - 2)) * iw;
  for (const delta of [-60, -40, -20, 0, 20, 40, 60]) {
    line(canvas, x(delta), topEdge, x(delta), topEdge + ih, "ta-grid");
    label(canvas, x(delta), topEdge + ih + 14, minus(String(delta)), "middle", "ta-small");
  }
  canvas.append(svg("rect", { x: left, y: topEdge, width: iw, height: ih, class: "ta-axis" }));
  label(canvas, left + iw / 2, H - 3, "m − n", "middle");
  const scale = svg("g");
  const waves = svg("path", { class: "ro-waveline", style: "stroke-width: 1.2; stroke-opacity: 1" });
  const bold = svg("path", { class: "ro-waveline", style: "stroke-width: 2.6; stroke-opacity: 1" });
  const mine = svg("path", { class: "ta-mine" });
  const reference = svg("path", { class: "ta-reference" });
  const here = svg("circle", { r: 7, class: "ta-here", style: "pointer-events: none" });
  canvas.append(scale, waves, bold, mine, reference);
  const place = cursor(ui, canvas, {
    name: tr("Curve: distance m − n"),
    // Half a step to each side, so that each distance is a column of its own.
    box: () => ({ x: left - iw / (4 * N - 4), y: topEdge, width: iw + iw / (2 * N - 2), height: ih }),
    size: () => [2 * N - 1, 1],
    at: () => [Math.round(ui.seen("m") - ui.seen("n")) + N - 1, 0],
    // n stays as long as m can make the distance; beyond that n gives way.
    state: (i) => {
      const m = clamp(ui.get("n") + i - N + 1, 0, N - 1);
      return { m, n: m - (i - N + 1) };
    },
    says: (i) => `m − n = ${i - N + 1}`,
  });
  canvas.append(here);
  let drawn = "";

  return ({ m, n, scene, k, parts, plane }, off) => {
    place();
    const { low, high, ticks } = niceScale(-scaleOf(scene), scaleOf(scene));
    const y = (score) => topEdge + ih * (1 - (score - low) / (high - low));
    const on = scene.thetas.map((_, i) => i).filter((i) => !off.includes(i));
    if (drawn !== `${scene.key}/${off}/${plane}`) {
      drawn = `${scene.key}/${off}/${plane}`;
      scale.replaceChildren();
      for (const tick of ticks) {
        line(scale, left, y(tick), left + iw, y(tick), tick === 0 ? "ta-axis" : "ta-grid");
        label(scale, left - 6, y(tick) + 4, short(tick), "end", "ta-small");
      }
      const fine = Array.from({ length: 4 * (2 * N - 2) + 1 }, (_, i) => i / 4 - N + 1);
      const each = scene.content.q.map((q, i) => waveOf(q, scene.content.k[i], scene.thetas[i]));
      const wave = (i) => trace(fine.map((d) => [x(d), y(each[i].at(d))]));
      fill(waves, { d: on.map(wave).join("") });
      fill(bold, { d: on.includes(plane) ? wave(plane) : "" });
      fill(reference, { d: trace(fine.map((d) => [x(d), y(on.reduce((s, i) => s + each[i].at(d), 0))])) });
      const alone = Boolean(ui.get("notice")) && !scene.fault;
      mine.style.visibility = alone ? "hidden" : "visible";
      fill(reference, { class: alone && ui.get("alone") ? "ta-mine" : "ta-reference" }); // nothing to compare with
    }
    const points = [];
    for (let p = 0; p <= N - 1; p += scene.turns ? 0.5 : 1) {
      const q = scene.at("q", p);
      points.push([x(p - n), y(on.reduce((s, i) => s + dot(q[i], k[i]), 0))]);
    }
    fill(mine, { d: trace(points) });
    const score = on.reduce((s, i) => s + parts[i], 0);
    here.style.visibility = Number.isFinite(score) ? "visible" : "hidden";
    if (Number.isFinite(score)) fill(here, { cx: x(m - n).toFixed(1), cy: y(score).toFixed(1) });
  };
}
