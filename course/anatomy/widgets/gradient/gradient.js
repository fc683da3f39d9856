// GradientFlowExplorer: two wirings side by side, gradient norm per layer, and the last layer's against depth.

const KINDS = [["ta-mine", ""], ["", "fill: none; stroke: var(--ta-two); stroke-width: 2.6; stroke-dasharray: 2 4"]];
const RUN_MS = 2400; // that the gradient takes from the last layer to the first
const HIGHER = 20; // a scale that holds bars so many times as high as those shown would flatten them
const [TILE, LEAST, MOST] = [84, 0.006, 5]; // a small picture: its height in px, the ends of its axis

function gradientWidget(ui) {
  const { spec } = ui;
  const room = Math.max(ui.room, 280); // a page that is still being laid out may have none
  const wide = room >= 700;
  pick(ui, { trait: "wiring", name: tr("wiring"), names: spec.names });
  pick(ui, { trait: "other", name: tr("compare with"), names: spec.names });
  slider(ui, { trait: "depth", name: tr("number of layers"), values: spec.depths });
  slider(ui, { trait: "width", name: tr("width d"), values: spec.widths });
  slider(ui, { trait: "seed", name: tr("seed"), max: spec.seeds - 1 });
  slider(ui, { trait: "back", name: tr("run back through"), max: () => ui.get("depth") });
  Object.assign(ui.controls.lastChild.dataset, { part: "run", of: "wiring" }); // the button moves it, but doesn't bring it
  ui.readout.style.minHeight = `${wide ? 43 : 116}px`; // room for a formula, so that nothing moves under the hand
  ui.root.append(ui.readout);

  const [W, D, S, L] = [spec.widths.length, spec.depths.length, spec.seeds, spec.depths.at(-1)];
  const flow = flowPicture(ui, ui.row(), room, wide, { at: () => (pointedLayer() ?? ui.seen("depth")) - 1 });
  const bar = html("div", { class: "ta-bar", style: "margin: 0 0 2px" });
  ui.root.append(bar);
  const linear = runBack(ui, bar);
  const below = unfolding(ui, bar);
  const smallRow = ui.row();
  const small = smallPictures(ui, smallRow, room, wide ? spec.names.length : 4, curveOf);
  const ih = wide && room < 900 ? 64 : 140; // all is to be seen at once in a notebook
  const top = ui.row();
  top.style.rowGap = "2px";
  const layers = logPanel(ui, top, {
    caption: tr("Gradient norm per layer"), W: wide ? room - 350 : room, ih, xlabel: tr("layer"),
    name: tr("Gradient norm of each layer's weights, two wirings"), cursor: tr("Layers"),
    count: () => ui.seen("depth"), at: () => (pointedLayer() ?? ui.seen("depth")) - 1,
    state: (i) => ({ layer: i + 1 }), says: (i) => tr("layer {n}", { n: i + 1 }),
  });
  const depth = logPanel(ui, top, {
    caption: tr("Last layer against depth"), W: wide ? 330 : room, ih, xlabel: tr("layers"),
    name: tr("Gradient norm of the last layer for 6 to 96 layers, two wirings"), cursor: tr("Depths"),
    count: () => D, at: () => spec.depths.indexOf(ui.seen("depth")),
    state: (i) => ({ depth: spec.depths[i], last: true }), says: (i) => tr("{n} layers", { n: spec.depths[i] }),
  });
  const why = html("p", { class: "ta-note", style: "margin: 0", "data-readout": "why" });
  top.append(why);
  const sides = ["one", "two"].map(() => {
    const side = html("div", { style: wide ? "display: grid; grid-template-columns: minmax(124px, max-content) 1fr" : "" });
    const caption = html("b", { style: "font-size: 12px" });
    side.append(caption);
    side.dataset.part = "checks"; // whose caption goes and comes with them
    ui.root.append(side);
    const told = [caption, signs(side, [
      [tr("first / last layer"), tr("1 where all layers learn alike")],
      [tr("last layer"), tr("gradient norm of its weights")],
      [tr("{n} × deeper", { n: L / spec.depths[0] }),
        tr("what becomes of the last layer’s gradient from {from} to {to} layers", { from: spec.depths[0], to: L })],
      [tr("as the reference"), tr("on width {width}, {first} and {second} layers",
        { width: spec.live_width, first: spec.live[0], second: spec.live[1] })],
    ])];
    side.lastChild.style.cssText = "margin: 0; gap: 0 10px";
    return told;
  });

  const pointedLayer = () => (ui.seen("layer") <= ui.seen("depth") ? ui.seen("layer") : undefined);
  const index = () => ({ w: spec.widths.indexOf(ui.get("width")), d: spec.depths.indexOf(ui.seen("depth")), s: ui.get("seed") });

  function recordedCurve(place, w, d, s) {
    const from = (((place * W + w) * D + d) * S + s) * L;
    return [...ui.table("curves").subarray(from, from + spec.depths[d])];
  }

  /** RMS of the stream before layer 1 and after each layer; null for a function that is not wired as the reference is. */
  function streamOf(place, { w, d, s }) {
    if (ui.table("own")[place] === 1 && !(ui.table("far")[place] <= spec.tolerance)) return null;
    const from = (((place * W + w) * D + d) * S + s) * (L + 1);
    return [...ui.table("streams").subarray(from, from + spec.depths[d] + 1)];
  }

  /** The last layer's norm of that wiring for every depth. */
  function lastsOf(place) {
    const { w, s } = index();
    return spec.depths.map((n, i) => recordedCurve(place, w, i, s)[n - 1]);
  }

  function isLive(place, d) {
    return ui.table("own")[place] === 1 && ui.get("width") === spec.live_width && spec.live.includes(spec.depths[d]);
  }

  function liveCurve(place, d, s) {
    const [n, widest, size] = [spec.live.length, spec.live.at(-1), spec.depths[d]];
    const from = ((spec.places[place] * n + spec.live.indexOf(size)) * S + s) * widest;
    return [...ui.table(spec.tables[place]).subarray(from, from + size)];
  }

  /** Gradient norm per layer, as it is shown: the learner's where there is one. */
  function curveOf(place, { w, d, s } = index()) {
    return isLive(place, d) ? liveCurve(place, d, s) : recordedCurve(place, w, d, s);
  }

  /**
   * End of the bars' scale. It holds all depths and seeds that a slider in sight reaches, so that a bar which looks lower
   * is lower. held: those sliders, none where the scale would flatten what is shown.
   */
  function scaleOf(chosen, curves) {
    const { w, d, s } = index();
    const highest = (all) => Math.max(...all.flat().filter(Number.isFinite), 1e-12);
    const held = ["depth", "seed"].filter((trait) => !ui.without(trait));
    const depths = held.includes("depth") ? spec.depths.map((_, i) => i) : [d];
    const seeds = held.includes("seed") ? Array.from({ length: S }, (_, i) => i) : [s];
    const [all, shown] = [highest(chosen.flatMap((p) => depths.flatMap((i) => seeds.map((k) => curveOf(p, { w, d: i, s: k }))))),
      highest(curves)];
    return all <= HIGHER * shown ? { top: all, held } : { top: shown, held: [] };
  }

  const trend = (p) => tr(p < -spec.steep ? N_("falls") : p > spec.steep ? N_("rises") : N_("stays flat"));
  /** How many times as large a value is as it was: × or ÷ a number of at least 1. */
  const times = (ratio) => (ratio < 1 ? `÷ ${short(1 / ratio)}` : `× ${short(ratio)}`);

  /** What the last layers of the chosen wirings do with depth, and what follows for Post-LN if it is one of them. */
  function lastLayers(chosen, slopes) {
    const [one, two] = chosen.map((p) => spec.names[p]);
    const [goes, goes2] = slopes.map(trend);
    const told = one === two ? tr("Last layer with depth: {one}’s {goes}.", { one, goes })
      : tr("Last layer with depth: {one}’s {goes}, {two}’s {goes2}.", { one, goes, two, goes2 });
    if (!chosen.some((p) => spec.functions[p] === "post_ln")) return told;
    return tr("{told} Post-LN’s stays large, so it needs warm-up (arXiv:2002.04745).", { told });
  }

  let drawn = ""; // the setting whose curves stand there
  let now = null;
  return {
    stale() { drawn = ""; },
    draw() {
      const { w, d, s } = index();
      const chosen = [ui.seen("wiring"), ui.seen("other")];
      const size = ui.seen("depth");
      const key = `${chosen},${w},${d},${s}`;
      if (key !== drawn) now = settle(chosen, w, d, s);
      drawn = key;
      const unfolded = below();
      smallRow.hidden = unfolded !== "all";
      top.hidden = unfolded !== "curves";
      small.draw(chosen);
      const back = Math.min(ui.seen("back"), size);
      const scale = scaleOf(chosen, now.curves);
      flow.draw(now.curves, now.streams, size, back, pointedLayer(), unfolded === "", scale.top);
      linear(scale);
      const layer = pointedLayer();
      layers.point(layer === undefined ? null : now.curves.map((c) => [layer, c[layer - 1]]));
      depth.point(now.lasts.map((c) => [size, c[d]]));

      const [one, two] = chosen.map((p) => spec.names[p]);
      const [last, ratio] = [now.curves.map((c) => short(c.at(-1))), now.curves.map((c) => short(c[0] / c.at(-1)))];
      const at = (values, i) => short(values[i]);
      const front = size - Math.floor(back) + 1; // the layer that the gradient reached last
      let how = "";
      if (back < size && layer === undefined && !ui.seen("last")) {
        how = back < 1 ? tr("The gradient stands behind layer {size}.", { size })
          : tr("The gradient has come to layer {front}: {a} ({one}), {b} ({two}).",
            { front, one, two, a: at(now.curves[0], front - 1), b: at(now.curves[1], front - 1) });
      }
      if (layer !== undefined) {
        how = tr("g[{layer}] = √Σ (∂loss/∂W)² over the weights W of layer {layer} = {a} ({one}), {b} ({two}).",
          { layer, one, two, a: at(now.curves[0], layer - 1), b: at(now.curves[1], layer - 1) });
        const [r, r2] = now.streams.map((stream) => stream && short(stream.sizes[layer]));
        if (r && r2) how += ` ${tr("Stream after it, RMS: {r}, {r2}.", { r, r2 })}`;
      } else if (ui.seen("last")) {
        const [p, q] = now.slopes.map((slope) => fixed(slope, 2));
        how = tr("g[{size}] of {size} layers = {a} ({one}), {b} ({two}); about depth to the power {p} and {q}.",
          { size, one, two, p, q, a: at(now.lasts[0], d), b: at(now.lasts[1], d) });
      }
      ui.say(tr(one === two
        ? N_("{size} layers of width {width}, seed {seed}. {one}: layer 1 gets {ratio} times the {last} of layer {size}.")
        : N_("{size} layers of width {width}, seed {seed}. {one}: layer 1 gets {ratio} times the {last} of layer {size}; " +
          "{two}: {ratio2} times {last2}."),
      { size, width: ui.get("width"), seed: s, one, two, ratio: ratio[0], last: last[0], ratio2: ratio[1], last2: last[1] }), how);
      ui.root.dataset.key = `${key},${back < size ? back : ""},${short(now.curves[0][0])}`;
    },
  };

  /** Draws the curves of a setting and its numbers; returns them. */
  function settle(chosen, w, d, s) {
    const live = chosen.map((p) => isLive(p, d));
    const curves = chosen.map((p) => curveOf(p, { w, d, s }));
    const lasts = chosen.map(lastsOf);
    // One scale for both bands and for every depth, so that a stream is seen to grow with it.
    const most = Math.max(...chosen.flatMap((p) => spec.depths.flatMap((_, i) => streamOf(p, { w, d: i, s }) ?? [])));
    const streams = chosen.map((p) => {
      const sizes = streamOf(p, { w, d, s });
      return sizes && { sizes, most, normed: spec.final[p] };
    });
    const far = chosen.map((p) => ui.table("far")[p]);
    const slopes = chosen.map((p) => ui.table("slopes")[(p * W + w) * S + s]);
    const size = spec.depths[d];
    const list = curves.map((c, i) => ({ points: c.map((v, j) => [j + 1, v]), kind: KINDS[i] }));
    // Where the function is right the recorded curve lies under its own: dashes show there only if they say more.
    const apart = live[0] && !(far[0] <= spec.tolerance);
    if (apart) list.unshift({ points: recordedCurve(chosen[0], w, d, s).map((v, j) => [j + 1, v]), kind: ["ta-reference", ""] });
    layers.draw(list, [1, size], size === 6 ? [1, 2, 3, 4, 5, 6] : [1, size / 4, size / 2, (3 * size) / 4, size], false);
    // A page without the learner's functions has nothing to tell apart.
    const named = chosen.map((p, i) => (ui.get("alone") ? spec.names[p]
      : `${spec.names[p]}, ${live[i] ? tr("yours") : tr("recorded")}`));
    layers.note(tr(apart ? N_("solid: {one}; dots: {two}; gray dashes: recorded") : N_("solid: {one}; dots: {two}"),
      { one: named[0], two: named[1] }));
    depth.draw(lasts.map((c, i) => ({ points: spec.depths.map((n, j) => [n, c[j]]), kind: KINDS[i] })),
      [spec.depths[0], L], spec.depths, true);
    depth.note(tr("run along it to change the depth"));
    write(why, lastLayers(chosen, slopes));
    chosen.forEach((p, i) => {
      const same = i && p === chosen[0]; // its row would say the same once more
      write(sides[i][0], same ? tr("compared with itself") : named[i]);
      sides[i][0].nextSibling.style.visibility = same ? "hidden" : "";
      flow.wires[i](spec.functions[p], spec.names[p]);
      const compared = ui.table("own")[p] !== 1 ? [tr("is it"), ""]
        : [far[i] <= spec.tolerance ? tr("equal") : Number.isFinite(far[i]) ? `×${short(10 ** far[i])}` : "NaN",
          far[i] <= spec.tolerance ? tr("same") : tr("differs"), far[i] <= spec.tolerance];
      sides[i][1]([[short(curves[i][0] / curves[i].at(-1)), ""], [short(curves[i].at(-1)), ""],
        [times(lasts[i].at(-1) / lasts[i][0]), trend(slopes[i])], compared]);
    });
    return { curves, lasts, slopes, streams };
  }
}

/**
 * The button that lets the gradient run back through the stack, layer by layer; with reduced motion, at once. An answer
 * lets it run, too, where the step is about it. Returns linear({ top, held }), which says the scale of the bars.
 */
function runBack(ui, bar) {
  const all = ui.spec.depths.at(-1);
  let [frame, start] = [0, 0];
  const halt = () => {
    cancelAnimationFrame(frame);
    frame = 0;
    ui.hush(false);
    ui.run(null);
  };
  const tick = (now) => {
    const back = ((now - start) / RUN_MS) * ui.get("depth");
    if (back >= ui.get("depth")) {
      halt();
      return ui.set("back", all);
    }
    ui.run({ back: Math.max(back, 0) });
    frame = requestAnimationFrame(tick);
  };
  const scale = html("p", { class: "ta-note", style: "margin: 0" });
  const run = () => {
    halt();
    if (tween.calm.matches) return ui.set("back", all);
    ui.hush(true);
    start = performance.now();
    frame = requestAnimationFrame(tick);
  };
  button(bar, `◂ ${tr("Let the gradient run back")}`, run);
  // The reply speaks of the bars, so they come. With reduced motion, nothing moves that nobody has asked for.
  const replied = (event) => {
    const told = event.target.closest(".ta-asks [aria-pressed]") && !tween.calm.matches;
    const moves = ui.spec.story?.[ui.get("step")]?.moves ?? [];
    if (told && moves.includes("back") && ui.get("back") < ui.get("depth")) run();
  };
  ui.root.addEventListener("click", replied);
  ui.atEnd(() => ui.root.removeEventListener("click", replied));
  ui.stops.push(() => { if (frame) halt(); });
  bar.append(scale);
  // Another step of the story, or a hand at the slider, takes over.
  for (const trait of ["step", "back"]) ui.listen(trait, () => { if (frame) halt(); });
  ui.atEnd(() => cancelAnimationFrame(frame));
  const says = { "": N_("bars: linear from 0 to {top}"), depth: N_("bars: linear from 0 to {top}, at every depth"),
    seed: N_("bars: linear from 0 to {top}, with every seed"),
    "depth,seed": N_("bars: linear from 0 to {top}, at every depth and seed") };
  return ({ top, held }) => write(scale, tr(says[held], { top: short(top) }));
}

/**
 * Buttons that unfold one thing below the flow: the curves, or all wirings. The flow is large while neither is shown.
 * Returns which one is: "curves", "all" or "".
 */
function unfolding(ui, bar) {
  let open = "";
  const nodes = Object.entries({ curves: tr("Curves"), all: tr("All {n} wirings", { n: ui.spec.names.length }) }).map(
    ([what, name]) => [what, fill(button(bar, name, () => {
      open = open === what ? "" : what;
      ui.ask();
    }), { "data-part": "unfold", "data-of": "wiring" })]);
  ui.listen("step", () => { open = ""; });
  return () => {
    for (const [what, node] of nodes) node.setAttribute("aria-pressed", String(open === what));
    return open;
  };
}

/** One small picture for each wiring, its gradient norm per layer: point to see it large, click to choose it. */
function smallPictures(ui, parent, W, columns, curveOf) {
  const { spec } = ui;
  const rows = Math.ceil(spec.names.length / columns);
  const across = W / columns;
  const canvas = picture(parent, W, rows * TILE, tr("Gradient norm per layer, small, for every wiring"));
  const place = (i) => [(i % columns) * across, Math.floor(i / columns) * TILE];
  const tiles = spec.names.map((name, i) => {
    const [x, y] = place(i);
    const size = { x: x + 1, y: y + 1, width: across - 6, height: TILE - 4, rx: 4 };
    const box = svg("rect", { ...size, style: "fill: var(--ta-panel)" });
    const id = freshId();
    const curve = svg("path", { class: "ta-mine" });
    // A curve that is too high leaves its picture at the top: on an axis for all, the others would be flat.
    const clip = svg("clipPath", { id }, svg("rect", { ...size, y: y + 15, height: TILE - 18 }));
    canvas.append(clip, box, svg("g", { "clip-path": `url(#${id})` }, curve));
    return [box, curve, label(canvas, x + 6, y + 13, name, "start", "ta-small")];
  });
  const walk = cursor(ui, canvas, {
    name: tr("Wirings; arrow keys choose one"), cross: false,
    box: () => ({ x: 0, y: 0, width: W, height: rows * TILE }),
    size: () => [columns, rows],
    at: () => [ui.seen("wiring") % columns, Math.floor(ui.seen("wiring") / columns)],
    state: (column, row) => ({ wiring: Math.min(row * columns + column, spec.names.length - 1) }),
    says: (column, row) => spec.names[Math.min(row * columns + column, spec.names.length - 1)],
  });
  const [low, high] = [Math.log10(LEAST), Math.log10(MOST)];
  return {
    draw(chosen) {
      tiles.forEach(([box, curve, name], i) => {
        const [x, y] = place(i);
        const values = curveOf(i);
        const at = (v, j) => [x + 8 + (j * (across - 20)) / (values.length - 1),
          v > 0 ? y + TILE - 7 - ((Math.log10(v) - low) / (high - low)) * (TILE - 22) : NaN];
        const [kind, style] = KINDS[chosen.indexOf(i)] ?? ["ta-axis", "stroke: var(--ta-soft)"];
        fill(curve, { d: trace(values.map(at)), class: kind, style });
        write(name, values.some((v) => v > MOST) ? `${spec.names[i]} ↑` : spec.names[i]);
        fill(box, { class: i === chosen[0] ? "ta-lit" : "" });
        fill(name, { class: chosen.includes(i) ? "ta-strong" : "ta-small" });
        name.style.fontSize = "11px";
      });
      walk();
    },
  };
}

/** Axes with a logarithmic y that fits its curves in whole decades; x is linear or logarithmic; with a cursor. */
function logPanel(ui, parent, { caption, W, ih, name, xlabel, cursor: called, ...pointing }) {
  const { count, at, state, says } = pointing;
  const [left, right, topEdge] = [46, 14, 6];
  const iw = W - left - right;
  const H = topEdge + ih + 18;
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const note = html("small", { style: "margin-left: 0; display: block" });
  box.append(html("p", { class: "ta-caption" }, caption, note));
  parent.append(box);
  const canvas = picture(box, W, H, name);
  const [grid, curves] = [svg("g"), svg("g")];
  const dots = KINDS.map((_, i) => svg("circle", {
    r: 5, class: i ? "ta-here" : "ta-fill-one", style: "stroke: var(--ta-paper); stroke-width: 1.5; pointer-events: none",
  }));
  canvas.append(grid, curves, svg("rect", { x: left, y: topEdge, width: iw, height: ih, class: "ta-axis" }));
  label(canvas, left - 12, topEdge + ih + 15, xlabel, "end", "ta-small"); // before its numbers: no line of its own
  const step = () => iw / (count() - 1);
  const place = cursor(ui, canvas, {
    name: called,
    box: () => ({ x: left - step() / 2, y: topEdge, width: iw + step(), height: ih }),
    size: () => [count(), 1], at: () => [at(), 0], state, says,
  });
  canvas.append(...dots);
  let [x, y] = [() => 0, () => 0];
  return {
    box,
    note(text) { write(note, text); },
    draw(list, [from, to], ticks, logarithmic) {
      const seen = list.flatMap(({ points }) => points.map((p) => p[1])).filter((v) => Number.isFinite(v) && v > 0);
      const power = (v) => Math.log10(Math.max(v, 1e-12));
      let [low, high] = [Math.floor(power(Math.min(...seen, 1))), Math.ceil(power(Math.max(...seen, 0.01)))];
      if (high - low < 2) high = low + 2;
      const scale = logarithmic ? Math.log : (v) => v;
      x = (v) => left + ((scale(v) - scale(from)) / (scale(to) - scale(from))) * iw;
      y = (v) => topEdge + ((high - power(v)) / (high - low)) * ih;
      grid.replaceChildren();
      const stride = Math.ceil((high - low) / 6);
      for (let p = low; p <= high; p += stride) {
        line(grid, left, y(10 ** p), left + iw, y(10 ** p), "ta-grid");
        label(grid, left - 6, y(10 ** p) + 4, p >= -3 && p <= 3 ? short(10 ** p) : `1e${minus(String(p))}`, "end", "ta-small");
      }
      for (const v of ticks) {
        line(grid, x(v), topEdge, x(v), topEdge + ih, "ta-grid");
        label(grid, x(v), topEdge + ih + 15, String(v), "middle", "ta-small");
      }
      curves.replaceChildren(...list.map(({ points, kind: [kind, style] }) => svg("path", {
        class: kind, style, d: trace(points.map(([a, b]) => [x(a), b > 0 ? y(b) : NaN])),
      })));
    },
    /** Dots on both curves, [x, value] each; null: none. */
    point(points) {
      dots.forEach((dot, i) => {
        const [a, b] = points ? points[i] : [0, NaN];
        dot.style.visibility = b > 0 && Number.isFinite(b) ? "visible" : "hidden";
        if (b > 0 && Number.isFinite(b)) fill(dot, { cx: x(a).toFixed(1), cy: y(b).toFixed(1) });
      });
      place();
    },
  };
}

const widget = { render: mount(gradientWidget) };
export default widget;
