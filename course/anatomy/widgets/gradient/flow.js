// Both stacks: the stream as a band that is as high as its numbers are large, from the input at the left to the loss,
// and above it, as bars, the gradient on its way back.

// px: a stack, where nothing else is shown below it and where something is; what it leaves free above its bars.
const [TALL, LOW_ROW, OVER] = [130, 68, 6];
const PHONE_ROW = 112; // px: a phone scrolls anyway, and there the bars are narrow
const [BARS, BAND] = [0.53, 0.42]; // shares of a stack: its bars; its stream where it is largest
const POINTS = 96; // of a band, whatever the depth is: so it travels
const TIMES = [1, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 1e5, 1e6]; // as tall as to scale, for hairlines
const HALO = "paint-order: stroke; stroke: var(--ta-paper); stroke-width: 4px; pointer-events: none"; // over boxes
const STREAM = { "data-part": "stream", "data-of": "depth" }; // the first step does without it

/** Both stacks, each with its wiring drawn before it. wires: draw(function, name) of each. */
function flowPicture(ui, parent, room, wide, { at }) {
  const box = html("div", { class: "ta-panel", style: "display: flex; flex-wrap: wrap; gap: 0 8px" });
  const drawings = html("div", { style: wide ? "display: flex; flex-direction: column; justify-content: space-around" : "" });
  box.append(drawings);
  parent.append(box);
  parent.style.marginBottom = "0";
  const wires = [0, 1].map((i) => wiringPicture(drawings, i));
  const W = wide ? room - DRAWING - 8 : room;
  const [left, right] = [58, 78];
  const iw = W - left - right;
  let row = wide ? LOW_ROW : PHONE_ROW;
  const canvas = picture(box, W, 2 * row + 16, tr("The gradient of each layer, as bars, on its way from the loss back to layer 1"));
  // What is drawn in both lanes of each stack.
  const lanes = [0, 1].map(() => [label(canvas, left - 10, 0, tr("gradient"), "end", "ta-small"),
    fill(label(canvas, left - 10, 0, tr("stream"), "end", "ta-small"), STREAM)]);
  const stacks = [0, 1].map((i) => stackOf(canvas, { left, iw }, i));
  const numbers = svg("g");
  const named = label(canvas, left - 10, 0, tr("layer"), "end", "ta-small");
  const here = svg("rect", { y: 0, class: "ta-axis", style: "stroke: var(--ta-ink); stroke-dasharray: 2 3" });
  const hint = label(canvas, left + iw / 2, 20,
    wide ? tr("empty: let the gradient run back from the loss") : tr("empty: let the gradient run back"), "middle");
  hint.style.cssText = HALO;
  canvas.append(numbers, here);
  const step = () => iw / ui.seen("depth");
  const place = cursor(ui, canvas, {
    name: tr("Flow"), cross: false,
    box: () => ({ x: left, y: 0, width: iw, height: 2 * row }),
    size: () => [ui.seen("depth"), 1], at: () => [at(), 0],
    state: (i) => ({ layer: i + 1 }), says: (i) => tr("layer {n}", { n: i + 1 }),
  });
  let numbered = "";
  return {
    wires,
    /**
     * Bars of the last `back` layers, a real number; one linear scale to `top` for both stacks, but for bars that would be
     * hairlines, which are drawn many times as tall. streams: { sizes, normed, most }, the end of the bands' scale, or null.
     */
    draw(curves, streams, size, back, layer, large, top) {
      row = !wide ? PHONE_ROW : large ? TALL : LOW_ROW;
      fill(canvas, { height: 2 * row + 16, viewBox: `0 0 ${W} ${2 * row + 16}` });
      stacks.forEach((stack, i) => stack(curves[i], streams[i], top, back, i * row, row - OVER));
      lanes.forEach(([gradient, stream], i) => {
        fill(gradient, { y: i * row + BARS * row });
        fill(stream, { y: (i + 1) * row - (BAND / 2) * row });
        stream.style.visibility = streams[i] ? "visible" : "hidden";
      });
      hint.style.visibility = back > 0 ? "hidden" : "visible"; // boxes without bars look as if something were missing
      const x = (n) => left + (n - 0.5) * step();
      if (numbered !== `${size}/${row}`) {
        const every = size > 24 ? size / (wide ? 8 : 4) : size > 12 ? (wide ? 3 : 6) : size > 6 && !wide ? 3 : 1;
        const shown = Array.from({ length: size }, (_, j) => j + 1).filter((n) => n % every === 0 || n === 1);
        numbers.replaceChildren();
        for (const n of shown) label(numbers, x(n), 2 * row + 13, String(n), "middle", "ta-small");
        fill(named, { y: 2 * row + 13 });
      }
      numbered = `${size}/${row}`;
      here.style.visibility = layer === undefined ? "hidden" : "visible";
      fill(here, { x: left + ((layer ?? 1) - 1) * step(), width: step(), height: 2 * row });
      place();
    },
  };
}

/**
 * One stack: its layers as faint boxes with a bar for each that the gradient has come to, from 0 to `top`, and the
 * stream below them. The gradient's front is an arrow on the stream; it starts at the loss.
 */
function stackOf(canvas, { left, iw }, i) {
  const end = left + iw;
  const hue = `var(--ta-${i ? "two" : "one"})`;
  const boxes = svg("path", { style: "fill: var(--ta-panel); stroke: var(--ta-rule); stroke-opacity: 0.6" });
  const stream = line(canvas, left - 8, 0, end + 40, 0);
  const band = svg("path", { ...STREAM, class: "ta-stream",
    style: `fill: ${hue}; fill-opacity: 0.3; stroke: ${hue}; stroke-width: 1` });
  const bars = svg("path", { class: i ? "ta-open-two" : "ta-fill-one", style: i ? "stroke-width: 1" : "" });
  const front = svg("path", { d: "M-9 0l12 -9v18z",
    style: `fill: ${hue}; stroke: var(--ta-paper); stroke-width: 1.5; pointer-events: none` });
  const loss = svg("circle", { r: 7, cx: end + 42, class: "ta-loss",
    style: `fill: var(--ta-paper); stroke: ${hue}; stroke-width: 2.5` });
  const name = label(canvas, end + 52, 0, tr("loss"), "start", "ta-small");
  const divided = fill(label(canvas, end + 30, 0, "", "start", "ta-small"), { ...STREAM, "data-readout": "size" });
  const taller = label(canvas, left + 4, 0, "", "start", "ta-strong");
  taller.style.cssText = HALO;
  canvas.append(boxes, stream, band, bars, taller, loss, front);
  return (curve, sizes, top, back, above, tall) => {
    const size = curve.length;
    const each = iw / size;
    const w = Math.max(each - (size > 24 ? 1 : 3), 1.5);
    const [foot, middle] = [above + OVER / 2 + BARS * tall, above + OVER / 2 + (1 - BAND / 2) * tall];
    const own = Math.max(...curve.filter(Number.isFinite), 1e-12);
    const times = TIMES.findLast((n) => n <= top / own);
    const x = (j) => left + (j + 0.5) * each - w / 2;
    const bar = (j, wide, high) =>
      `M${x(j).toFixed(2)} ${foot.toFixed(2)}v${(-high).toFixed(2)}h${wide.toFixed(2)}v${high.toFixed(2)}z`;
    fill(boxes, { d: curve.map((_, j) => bar(j, w, BARS * tall)).join("") });
    fill(stream, { y1: middle, y2: middle });
    fill(loss, { cy: middle });
    fill(name, { y: middle + 4 });
    fill(front, { transform: `translate(${(back > 0 ? end - back * each : end + 28).toFixed(2)} ${middle})` });
    front.style.opacity = back < size ? 1 : 0;
    fill(bars, { d: curve.map((v, j) => {
      const lit = clamp(back - (size - 1 - j), 0, 1); // the layer that it comes to now grows
      const high = Number.isFinite(v) ? (BARS * tall * lit * v * times) / top : 0;
      return bar(j, lit && w, high);
    }).join("") });
    write(taller, times > 1 && back > 0 ? tr("magnified: bars {n} times as tall", { n: whole(times) }) : "");
    fill(taller, { y: above + OVER + 10 });
    band.style.visibility = sizes ? "visible" : "hidden";
    write(divided, sizes?.normed ? `÷ ${short(sizes.sizes.at(-1))}` : "");
    if (!sizes) return;
    const half = (v) => (BAND * tall * v) / sizes.most / 2;
    const last = sizes.sizes.at(-1);
    const edge = Array.from({ length: POINTS + 1 }, (_, k) => {
      const [at, part] = [Math.floor((k * size) / POINTS), ((k * size) / POINTS) % 1];
      const v = sizes.sizes[at] + part * ((sizes.sizes[at + 1] ?? last) - sizes.sizes[at]);
      return [left + (k * iw) / POINTS, half(v)];
    });
    // The norm at the end of a stack whose stream is not normed brings it back to size 1.
    edge.push([end + 26, half(sizes.normed ? 1 : last)], [end + 36, half(sizes.normed ? 1 : last)]);
    const way = [...edge.map(([a, b]) => [a, middle - b]), ...edge.reverse().map(([a, b]) => [a, middle + b])];
    fill(band, { d: `M${way.map(([a, b]) => `${a.toFixed(1)} ${b.toFixed(2)}`).join("L")}z` });
    fill(divided, { y: middle - 12 });
  };
}
