// The gradient on its way back: from the loss at the right, through the layers of both stacks, as bars on their stream.

const [FLOW, ROW] = [62, 68]; // px: the largest bar, and a stack with its bars

/** Both stacks, each with its wiring drawn before it. wires: draw(function, name) of each. */
function flowPicture(ui, parent, room, wide, { at }) {
  const box = html("div", { class: "ta-panel", style: "display: flex; flex-wrap: wrap; gap: 0 8px" });
  const drawings = html("div");
  box.append(drawings);
  parent.append(box);
  parent.style.marginBottom = "0";
  const wires = [0, 1].map((i) => wiringPicture(drawings, i));
  const W = wide ? room - DRAWING - 8 : room;
  const [left, right, high] = [12, 44, 2 * ROW];
  const iw = W - left - right;
  const canvas = picture(box, W, high + 16, tr("The gradient of each layer, as bars, on its way from the loss back to layer 1"));
  const stacks = [0, 1].map((i) => stackOf(canvas, { left, iw, middle: (i + 0.5) * ROW }, i));
  const numbers = svg("g");
  const here = svg("rect", { y: 0, height: high, class: "ta-axis", style: "stroke: var(--ta-ink); stroke-dasharray: 2 3" });
  canvas.append(numbers, here);
  label(canvas, left - 10, high + 13, tr("layer"), "start", "ta-small");
  const step = () => iw / ui.seen("depth");
  const place = cursor(ui, canvas, {
    name: tr("Flow"), cross: false,
    box: () => ({ x: left, y: 0, width: iw, height: high }),
    size: () => [ui.seen("depth"), 1], at: () => [at(), 0],
    state: (i) => ({ layer: i + 1 }), says: (i) => tr("layer {n}", { n: i + 1 }),
  });
  let numbered = 0;
  return {
    wires,
    /** Bars of the last `back` layers, a real number; one linear scale for both stacks; returns its end. */
    draw(curves, size, back, layer) {
      const top = Math.max(...curves.flat().filter(Number.isFinite), 1e-12);
      stacks.forEach((stack, i) => stack(curves[i], top, back));
      const x = (n) => left + (n - 0.5) * step();
      if (numbered !== size) {
        const every = size > 24 ? size / 8 : size > 12 ? 3 : 1;
        const shown = Array.from({ length: size }, (_, j) => j + 1).filter((n) => n % every === 0 && (n > 1 || every > 1));
        numbers.replaceChildren();
        for (const n of shown) label(numbers, x(n), high + 13, String(n), "middle", "ta-small");
      }
      numbered = size;
      here.style.visibility = layer === undefined ? "hidden" : "visible";
      fill(here, { x: left + ((layer ?? 1) - 1) * step(), width: step() });
      place();
      return top;
    },
  };
}

/** One stack: its stream from the loss back, and a bar for each layer that the gradient has come to, from 0 to `top`. */
function stackOf(canvas, { left, iw, middle }, i) {
  const end = left + iw;
  line(canvas, left, middle, end + 6, middle);
  canvas.append(svg("path", { d: `M${left - 8} ${middle}l8 -4v8z`, style: "fill: var(--ta-rule)" }));
  label(canvas, end + 9, middle + 4, tr("loss"), "start", "ta-small");
  const bars = svg("path", { class: i ? "ta-open-two" : "ta-fill-one", style: i ? "stroke-width: 1" : "" });
  canvas.append(bars);
  return (curve, top, back) => {
    const size = curve.length;
    const each = iw / size;
    const w = Math.max(each - (size > 24 ? 1 : 3), 1.5);
    fill(bars, { d: curve.map((v, j) => {
      const lit = clamp(back - (size - 1 - j), 0, 1); // the layer that it comes to now grows
      const tall = Number.isFinite(v) ? (FLOW * lit * v) / top : 0;
      const x = left + (j + 0.5) * each - w / 2;
      return `M${x.toFixed(2)} ${(middle + tall / 2).toFixed(2)}v${(-tall).toFixed(2)}h${(lit && w).toFixed(2)}v${tall.toFixed(2)}z`;
    }).join("") });
  };
}
