// The gradient on its way back: from the loss at the right, through the layers of both stacks, as bars on their stream.

// px: a stack with its bars, where nothing else is shown below it and where something is; what it leaves above its bars.
const [TALL, LOW_ROW, OVER] = [134, 68, 6];

/** Both stacks, each with its wiring drawn before it. wires: draw(function, name) of each. */
function flowPicture(ui, parent, room, wide, { at }) {
  const box = html("div", { class: "ta-panel", style: "display: flex; flex-wrap: wrap; gap: 0 8px" });
  const drawings = html("div", { style: wide ? "display: flex; flex-direction: column; justify-content: space-around" : "" });
  box.append(drawings);
  parent.append(box);
  parent.style.marginBottom = "0";
  const wires = [0, 1].map((i) => wiringPicture(drawings, i));
  const W = wide ? room - DRAWING - 8 : room;
  const [left, right] = [12, 52];
  const iw = W - left - right;
  let row = LOW_ROW;
  const canvas = picture(box, W, 2 * row + 16, tr("The gradient of each layer, as bars, on its way from the loss back to layer 1"));
  const stacks = [0, 1].map((i) => stackOf(canvas, { left, iw }, i));
  const numbers = svg("g");
  const named = label(canvas, left - 10, 0, tr("layer"), "start", "ta-small");
  const here = svg("rect", { y: 0, class: "ta-axis", style: "stroke: var(--ta-ink); stroke-dasharray: 2 3" });
  const hint = label(canvas, left + iw / 2, 20, tr("empty: let the gradient run back from the loss"), "middle");
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
    /** Bars of the last `back` layers, a real number; one linear scale for both stacks; returns its end. */
    draw(curves, size, back, layer, large) {
      row = large && wide ? TALL : LOW_ROW;
      fill(canvas, { height: 2 * row + 16, viewBox: `0 0 ${W} ${2 * row + 16}` });
      const top = Math.max(...curves.flat().filter(Number.isFinite), 1e-12);
      stacks.forEach((stack, i) => stack(curves[i], top, back, (i + 0.5) * row, row - OVER));
      hint.style.visibility = back > 0 ? "hidden" : "visible"; // boxes without bars look as if something were missing
      const x = (n) => left + (n - 0.5) * step();
      if (numbered !== `${size}/${row}`) {
        const every = size > 24 ? size / 8 : size > 12 ? 3 : 1;
        const shown = Array.from({ length: size }, (_, j) => j + 1).filter((n) => n % every === 0 && (n > 1 || every > 1));
        numbers.replaceChildren();
        for (const n of shown) label(numbers, x(n), 2 * row + 13, String(n), "middle", "ta-small");
        fill(named, { y: 2 * row + 13 });
      }
      numbered = `${size}/${row}`;
      here.style.visibility = layer === undefined ? "hidden" : "visible";
      fill(here, { x: left + ((layer ?? 1) - 1) * step(), width: step(), height: 2 * row });
      place();
      return top;
    },
  };
}

/**
 * One stack: its layers as faint boxes, the stream through them, and a bar for each layer that the gradient has come
 * to, from 0 to `top`. The gradient's front is an arrow; it starts at the loss and leaves the stack at the left.
 */
function stackOf(canvas, { left, iw }, i) {
  const end = left + iw;
  const hue = `var(--ta-${i ? "two" : "one"})`;
  const boxes = svg("path", { style: "fill: var(--ta-panel); stroke: var(--ta-rule); stroke-opacity: 0.6" });
  const stream = line(canvas, left - 8, 0, end + 10, 0);
  const bars = svg("path", { class: i ? "ta-open-two" : "ta-fill-one", style: i ? "stroke-width: 1" : "" });
  const front = svg("path", { d: "M-9 0l12 -9v18z",
    style: `fill: ${hue}; stroke: var(--ta-paper); stroke-width: 1.5; pointer-events: none` });
  const loss = svg("circle", { r: 7, cx: end + 16, class: "ta-loss", style: `fill: var(--ta-paper); stroke: ${hue}; stroke-width: 2.5` });
  const name = label(canvas, end + 16, 0, tr("loss"), "middle", "ta-small");
  canvas.append(boxes, stream, bars, loss, front);
  return (curve, top, back, middle, tall) => {
    const size = curve.length;
    const each = iw / size;
    const w = Math.max(each - (size > 24 ? 1 : 3), 1.5);
    const x = (j) => left + (j + 0.5) * each - w / 2;
    const slot = (_, j) => `M${x(j).toFixed(2)} ${(middle - tall / 2).toFixed(2)}v${tall}h${w.toFixed(2)}v${-tall}z`;
    fill(boxes, { d: curve.map(slot).join("") });
    fill(stream, { y1: middle, y2: middle });
    fill(loss, { cy: middle });
    fill(name, { y: middle + 21 });
    fill(front, { transform: `translate(${(end - back * each).toFixed(2)} ${middle})` });
    front.style.opacity = back < size ? 1 : 0;
    fill(bars, { d: curve.map((v, j) => {
      const lit = clamp(back - (size - 1 - j), 0, 1); // the layer that it comes to now grows
      const high = Number.isFinite(v) ? (tall * lit * v) / top : 0;
      return `M${x(j).toFixed(2)} ${(middle + high / 2).toFixed(2)}v${(-high).toFixed(2)}h${(lit && w).toFixed(2)}v${high.toFixed(2)}z`;
    }).join("") });
  };
}
