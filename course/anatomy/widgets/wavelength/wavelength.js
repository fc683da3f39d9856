// WavelengthExplorer: tokens per full turn of every plane, on a logarithmic axis, beside the context length.

const DECADES = 7; // the axis runs from 1 to 10 million tokens at every setting, so that settings can be compared
const MOST = 128; // planes of the largest head
const MANY = 90; // more turns than this are a block, not a wave

function wavelengthWidget(ui) {
  const { spec, room } = ui;
  const last = () => ui.get("dim") / 2 - 1;
  slider(ui, { trait: "context", name: tr("context length"), values: spec.contexts, show: whole });
  slider(ui, { trait: "base", name: tr("base"), values: spec.bases, show: whole });
  slider(ui, { trait: "dim", name: tr("head dim D"), values: spec.dims });
  slider(ui, { trait: "plane", name: tr("plane to read i"), max: last });
  ui.root.append(ui.readout);

  const row = ui.row();
  const box = html("div", { class: "ta-panel" });
  const note = html("small");
  box.append(html("p", { class: "ta-caption" }, tr("Wavelength of each plane"), note));
  row.append(box);
  const chart = wavelengthChart(ui, box, room, last);
  const strip = turnStrip(box, room);
  const counts = signs(ui.row(), [
    [tr("planes with a full turn"), tr("filled points, on or below the line")],
    [tr("longest wavelength"), tr("tokens for one turn of the slowest plane")],
    [tr("turns of the slowest plane"), tr("below 1: no full turn within the context")],
    ["|θ[0] − 1|", tr("the first plane turns one radian per token")],
    [tr("error of θ[i+1] / θ[i]"), tr("always the same factor, base^(−2/D)")],
    [tr("from the reference"), tr("largest relative difference of a frequency")],
  ]);

  let drawn = "";
  let now = null;
  return {
    stale() { drawn = ""; },
    draw() {
      const [dim, base, context] = [ui.get("dim"), ui.get("base"), ui.get("context")];
      const count = dim / 2;
      const key = `${dim}/${base}/${context}`;
      if (key !== drawn) {
        drawn = key;
        const b = spec.bases.indexOf(base);
        const cut = (name) => ui.table(`${name}${dim}`).subarray(b * count, (b + 1) * count);
        const turn = (theta) => Array.from(theta, (f) => (2 * Math.PI) / Math.abs(f));
        now = { theta: cut("f"), waves: turn(cut("f")), right: turn(cut("ref_f")) };
        chart.layout(now, context);
        const full = now.waves.filter((wave) => wave <= context).length;
        const longest = Math.max(...now.waves);
        const at = (spec.dims.indexOf(dim) * spec.bases.length + b) * 3;
        counts([
          [tr("{n} of {all}", { n: full, all: count }), ""], [tr("{n} tokens", { n: whole(longest) }), ""], [short(context / longest), ""],
          ...[...ui.table("invariants").subarray(at, at + 3)].map((v, i) => {
            const good = v <= spec.tolerance;
            return [short(v), tr(good ? [N_("ok"), "ok", N_("same")][i] : [N_("broken"), "broken", N_("differs")][i]), good];
          }),
        ]);
        write(note, tr(ui.get("notice") ? N_("filled: a full turn within the context; dashes: reference")
          : N_("filled: a full turn within the context; dashes: the reference")));
      }
      const plane = Math.min(ui.seen("plane"), last());
      const [theta, wave] = [now.theta[plane], now.waves[plane]];
      chart.mark(now, plane);
      strip(theta, context, plane);
      const tokens = wave < 1000 ? fixed(wave, 1) : whole(wave);
      ui.say(tr("plane {plane}: θ = {theta} rad per token, {turns} turns in {context} tokens",
        { plane, theta: short(theta), turns: short(context / wave), context: whole(context) }),
      tr("λ[{plane}] = 2π ÷ θ[{plane}] = 6.283 ÷ {theta} = {tokens} tokens for a full turn", { plane, theta: short(theta), tokens }));
      ui.root.dataset.key = `${key}/${plane}`;
    },
  };
}

/** A point for each plane; the line of the context can be dragged. */
function wavelengthChart(ui, parent, W, last) {
  const { contexts } = ui.spec;
  const [H, left, right, top, bottom] = [222, 76, 8, 8, 36];
  const [iw, ih] = [W - left - right, H - top - bottom];
  const canvas = picture(parent, W, H, tr("Wavelength in tokens of every plane, logarithmic, with the context as a line"));
  const y = (tokens) => top + ih * (1 - clamp(Math.log10(tokens), 0, DECADES) / DECADES);
  let count = 1;
  const x = (i) => left + 10 + (i / (count - 1)) * (iw - 20);
  for (let e = 0; e <= DECADES; e++) {
    line(canvas, left, y(10 ** e), left + iw, y(10 ** e), "ta-grid");
    label(canvas, left - 6, y(10 ** e) + 4, whole(10 ** e), "end", "ta-small");
  }
  canvas.append(svg("rect", { x: left, y: top, width: iw, height: ih, class: "ta-axis" }));
  label(canvas, left + iw / 2, H - 4, tr("plane i"), "middle");
  label(canvas, 12, top + ih / 2, tr("tokens per turn"), "middle").setAttribute("transform", `rotate(-90 12 ${top + ih / 2})`);
  const ticks = svg("g");
  const reference = svg("path", { class: "ta-reference" });
  const limit = line(canvas, left, 0, left + iw, 0, "ta-mark");
  const limitName = label(canvas, left + 34, 0, "", "start", "ta-strong");
  const reader = line(canvas, 0, top, 0, top + ih, "ta-diagonal");
  const points = svg("g");
  const here = svg("circle", { r: 8, class: "ta-mark", style: "pointer-events: none" });
  canvas.append(ticks, reference, points, here);
  const pool = Array.from({ length: MOST }, () => {
    const pair = [svg("circle", { class: "ta-fill-one" }), svg("rect", { class: "ta-open-two" })];
    points.append(...pair);
    return pair;
  });
  const place = cursor(ui, canvas, {
    name: tr("Planes"), cross: false,
    // Half a step to each side, so that each plane is a column of its own.
    box: () => {
      const half = (iw - 20) / (count - 1) / 2;
      return { x: x(0) - half, y: top, width: iw - 20 + 2 * half, height: ih };
    },
    size: () => [count, 1],
    at: () => [Math.min(ui.seen("plane"), last()), 0],
    state: (i) => ({ plane: i }),
    says: (i) => tr("plane {i}", { i }),
  });
  // The planes turn fast at this end, far below the line: nothing else is to be pointed at there. The slider is the
  // line's way for the keyboard.
  const grip = svg("g", {}, svg("circle", { r: 12, class: "ta-grip", style: "fill: var(--ta-panel)" }),
    svg("path", { d: "M0 -8L4 -3H-4ZM0 8L4 3H-4Z", style: "fill: var(--ta-ink)" }));
  canvas.append(grip);
  handle(ui, grip, {
    canvas, trait: "context", name: tr("context length"), max: contexts.length - 1, stop: false,
    drag: ([, hand]) => contexts.reduce((best, c) => (Math.abs(y(c) - hand) < Math.abs(y(best) - hand) ? c : best)),
  });

  return {
    layout({ waves, right: expected }, context) {
      if (count !== waves.length) {
        count = waves.length;
        ticks.replaceChildren();
        for (let i = 0; i < count; i += count / 8) label(ticks, x(i), top + ih + 15, String(i), "middle", "ta-small");
        label(ticks, x(count - 1), top + ih + 15, String(count - 1), "middle", "ta-small");
      }
      fill(reference, { d: trace(expected.map((wave, i) => [x(i), y(wave)])) });
      fill(limit, { y1: y(context), y2: y(context) });
      fill(grip, { transform: `translate(${left + 16},${y(context).toFixed(1)})` });
      fill(limitName, { y: y(context) - 6 });
      write(limitName, tr("context {n}", { n: whole(context) }));
      const size = Math.min(3.2, Math.max(1.8, (0.4 * iw) / count));
      pool.forEach(([dot, square], i) => {
        const wave = waves[i] ?? NaN;
        dot.style.display = wave <= context ? "" : "none";
        square.style.display = wave > context ? "" : "none";
        if (wave <= context) fill(dot, { cx: x(i).toFixed(1), cy: y(wave).toFixed(1), r: size + 0.3 });
        if (wave > context) fill(square, { x: (x(i) - size).toFixed(1), y: (y(wave) - size).toFixed(1), width: 2 * size, height: 2 * size });
      });
    },
    mark({ waves }, plane) {
      place();
      fill(reader, { x1: x(plane), x2: x(plane) });
      here.style.visibility = Number.isNaN(waves[plane]) ? "hidden" : "visible";
      if (!Number.isNaN(waves[plane])) fill(here, { cx: x(plane).toFixed(1), cy: y(waves[plane]).toFixed(1) });
    },
  };
}

/** cos(θ·t) of one plane from the first token of the context to the last. */
function turnStrip(parent, W) {
  const [H, left, right, ih] = [50, 76, 8, 32];
  const iw = W - left - right;
  const canvas = picture(parent, W, H, tr("The turns of the plane on show, from the first token of the context to the last"));
  canvas.append(svg("rect", { x: left, y: 1, width: iw, height: ih, class: "ta-axis" }));
  line(canvas, left, 1 + ih / 2, left + iw, 1 + ih / 2, "ta-grid");
  const name = label(canvas, left - 6, 21, "", "end", "ta-small");
  label(canvas, left, H - 4, tr("token 0"), "start", "ta-small");
  const end = label(canvas, left + iw, H - 4, "", "end", "ta-small");
  const middle = label(canvas, left + iw / 2, H - 4, "", "middle", "ta-small");
  const wave = svg("path", { class: "ta-mine", style: "stroke-width: 1.6" });
  const block = svg("rect", { x: left, y: 3, width: iw, height: ih - 4, style: "fill: var(--ta-one); fill-opacity: 0.35" });
  canvas.append(block, wave);
  return (theta, context, plane) => {
    const turns = (context * Math.abs(theta)) / (2 * Math.PI);
    const drawn = turns <= (MANY * iw) / 700;
    block.style.visibility = turns > (MANY * iw) / 700 ? "visible" : "hidden";
    const steps = drawn ? Math.round(clamp(turns * 16, 60, 2 * iw)) : 0;
    fill(wave, { d: trace(Array.from({ length: steps + (drawn ? 1 : 0) }, (_, i) => (
      [left + (i * iw) / steps, 1 + ih / 2 - (ih / 2 - 3) * Math.cos((theta * context * i) / steps)]))) });
    write(name, `cos(θ[${plane}]·t)`);
    write(end, whole(context));
    write(middle, Number.isFinite(turns) ? tr("{n} turns", { n: short(turns) }) : "");
  };
}

const widget = { render: mount(wavelengthWidget) };
export default widget;
