// ActivationExplorer: the curve of an activation, its slope, what it does as a gate, and the units it silences.

function activationWidget(ui) {
  const { spec } = ui;
  pick(ui, { trait: "activation", name: "activation", names: spec.names });
  slider(ui, { trait: "place", name: "input x", max: spec.x.length - 1, show: (i) => fixed(spec.x[i], 2), kind: "ta-one" });
  const beta = slider(ui, { trait: "beta", name: "β of swish", values: spec.betas, show: (b) => (name() === "swish" ? short(b) : "–") });
  slider(ui, { trait: "value", name: "value branch", values: spec.values, show: (v) => fixed(v, 2), kind: "ta-two" });
  slider(ui, { trait: "shift", name: "shift of all units", values: spec.shifts, show: (s) => minus(String(s)) });
  ui.root.append(ui.readout);

  const top = ui.row();
  const curve = plotPanel(top, spec, "Curve", 430, [-1.5, 4.2], [-1, 0, 1, 2, 3, 4],
    "Curve of the activation and its slope for x from −4 to 4");
  const gate = plotPanel(top, spec, "As a gate", 340, [-6, 6], [-6, -4, -2, 0, 2, 4, 6],
    "Product of the activated gate and the value, for every input of the gate");
  const bottom = ui.row();
  const units = unitPanel(bottom, spec.units);
  const side = html("div", { class: "ta-panel", style: "flex: 1 1 300px" });
  bottom.append(side);
  const table = facts(side, "In numbers", [
    ["farthest from the reference", "largest |f − reference| for x in −4…4"],
    ["slope by hand", "largest difference from autograd's"],
    ["farthest from ReLU", "largest |f − max(x, 0)| for x in −4…4"],
    ["dead units", "0 for all 64 tokens: no gradient at all"],
    ["flat slopes", `share of slopes below ${spec.flat}`],
  ]);
  const dots = "fill: none; stroke: var(--ta-two); stroke-width: 2; stroke-dasharray: 2 3";
  const paths = {
    reference: curve.path("ta-reference"), slope: curve.path("", dots), mine: curve.path("ta-mine"),
    alone: gate.path("ta-reference"), product: gate.path("ta-mine"),
  };
  const spots = { curve: curve.spot(), gate: gate.spot() };

  function name() { return spec.names[ui.get("activation")]; }

  return {
    draw() {
      const now = name();
      beta.disabled = now !== "swish"; // a control that moves nothing should say so
      const at = now === "swish" ? spec.betas.indexOf(ui.get("beta")) : 0;
      const N = spec.x.length;
      const cut = (table) => ui.table(`${table}_${now}`).subarray(at * N, (at + 1) * N);
      const [f, d, right] = [cut("f"), cut("d"), cut("ref_f")];
      const [place, value] = [ui.get("place"), ui.get("value")];
      const own = ui.table("own")[ui.get("activation")] === 1;
      const points = (ys) => spec.x.map((x, i) => [x, ys(i)]);
      curve.draw(paths.reference, points((i) => right[i]));
      curve.draw(paths.slope, points((i) => d[i]));
      curve.draw(paths.mine, points((i) => f[i]));
      curve.note(`${own ? "blue: yours" : "blue: the reference"}; dots: its slope${own ? "; gray dashes: the reference" : ""}`);
      gate.draw(paths.alone, points(() => value));
      gate.draw(paths.product, points((i) => f[i] * value));
      gate.note("f(x) · value; gray dashes: the value alone");
      curve.move(spots.curve, spec.x[place], f[place]);
      gate.move(spots.gate, spec.x[place], f[place] * value);

      const size = 2 * spec.units;
      const from = (at * spec.shifts.length + spec.shifts.indexOf(ui.get("shift"))) * size;
      const share = ui.table(`u_${now}`).subarray(from, from + size);
      const [silent, flat] = [share.subarray(0, spec.units), share.subarray(spec.units)];
      units.draw(silent, flat, palette(ui.dark));
      const dead = silent.filter((v) => v === 1).length;
      const mean = flat.reduce((a, b) => a + b, 0) / spec.units;

      const [far, relu, hand] = ui.table("facts").subarray((ui.get("activation") * spec.betas.length + at) * 3);
      const good = far <= spec.tolerance;
      const formula = spec.hand[now];
      const missing = !formula ? ["–", ""] : now === "swish" && ui.get("beta") !== 1 ? ["β = 1 only", ""] : ["not given", ""];
      table([
        own ? [short(far), good ? "same" : "differs", good] : ["–", ""],
        Number.isNaN(hand) ? missing : [short(hand), hand <= spec.tolerance ? "ok" : "broken", hand <= spec.tolerance],
        [short(relu), ""],
        [`${dead} of ${spec.units}`, ""],
        [`${fixed(100 * mean, 0)} %`, ""],
      ]);
      ui.say(`${now} at x = ${fixed(spec.x[place], 2)}: value ${fixed(f[place])}, slope ${fixed(d[place])}; as a gate ` +
        `${fixed(f[place])} · ${fixed(value, 2)} = ${fixed(f[place] * value)}; ${dead} of ${spec.units} units dead`);
      ui.root.dataset.key = `${now},${at},${place},${value},${ui.get("shift")},${fixed(f[place], 4)}`;
    },
  };
}

/** Axes over x = −4…4 with curves that are cut off at the frame. */
function plotPanel(parent, spec, caption, W, [low, high], ticks, name) {
  const [H, left, right, topEdge, bottom] = [250, 34, 10, 8, 38];
  const [iw, ih] = [W - left - right, H - topEdge - bottom];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const note = html("small");
  box.append(html("p", { class: "ta-caption" }, caption, note));
  parent.append(box);
  const canvas = picture(box, W, H, name);
  const x = (v) => left + ((v + spec.reach) / (2 * spec.reach)) * iw;
  const y = (v) => topEdge + ((high - v) / (high - low)) * ih;
  for (let v = -spec.reach; v <= spec.reach; v += 2) {
    line(canvas, x(v), topEdge, x(v), topEdge + ih, v ? "ta-grid" : "ta-axis");
    label(canvas, x(v), topEdge + ih + 15, minus(String(v)), "middle", "ta-small");
  }
  for (const v of ticks) {
    line(canvas, left, y(v), left + iw, y(v), v ? "ta-grid" : "ta-axis");
    label(canvas, left - 6, y(v) + 4, minus(String(v)), "end", "ta-small");
  }
  label(canvas, left + iw / 2, H - 6, "x", "middle");
  const id = freshId();
  const frame = { x: left, y: topEdge, width: iw, height: ih };
  canvas.append(svg("clipPath", { id }, svg("rect", frame)), svg("rect", { ...frame, class: "ta-axis" }));
  const inside = svg("g", { "clip-path": `url(#${id})` });
  canvas.append(inside);
  return {
    path(kind, style = "") { const p = svg("path", { class: kind, style }); inside.append(p); return p; },
    spot() { const c = svg("circle", { r: 6, class: "ta-here" }); inside.append(c); return c; },
    draw(path, points) { path.setAttribute("d", trace(points.map(([a, b]) => [x(a), y(clamp(b, low - 9, high + 9))]))); },
    move(spot, a, b) {
      spot.style.visibility = Number.isFinite(b) ? "visible" : "hidden";
      if (!Number.isFinite(b)) return;
      spot.setAttribute("cx", x(a).toFixed(1));
      spot.setAttribute("cy", y(clamp(b, low, high)).toFixed(1));
    },
    note(text) { note.textContent = text; },
  };
}

/** One cell per unit: how many of its 64 slopes are not flat; a cross where the unit is dead. */
function unitPanel(parent, units) {
  const [columns, cw, ch] = [8, 53, 34];
  const rows = units / columns;
  const [W, H] = [columns * cw + 2, rows * ch + 2];
  const box = html("div", { class: "ta-panel", style: `width: 430px` });
  box.append(html("p", { class: "ta-caption" }, "Units that still learn",
    html("small", {}, "% of slopes that are not flat; × is dead")));
  parent.append(box);
  const canvas = picture(box, W, H, "Forty units: share of tokens with a slope that is not flat, and which units are dead");
  const cells = Array.from({ length: units }, (_, i) => {
    const [cx, cy] = [(i % columns) * cw + 1, Math.floor(i / columns) * ch + 1];
    const rect = svg("rect", { x: cx, y: cy, width: cw, height: ch, class: "ta-cell" });
    canvas.append(rect);
    const text = label(canvas, cx + cw / 2, cy + ch / 2 + 4, "", "middle", "ta-onfill");
    text.dataset.ink = "own";
    return [rect, text];
  });
  return {
    draw(silent, flat, colors) {
      cells.forEach(([rect, text], i) => {
        const dead = silent[i] === 1;
        const rgb = dead ? colors.at(-0.8) : colors.at(0.9 * (1 - flat[i]));
        rect.setAttribute("fill", css(rgb));
        text.setAttribute("fill", inkOn(rgb));
        text.textContent = dead ? "×" : `${Math.round(100 * (1 - flat[i]))}`;
      });
    },
  };
}

const widget = { render: mount(activationWidget) };
export default widget;
