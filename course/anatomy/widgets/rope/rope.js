// RopeExplorer: q turns with its position m, k with its position n, and the score should follow m − n alone.

const STEP_MS = 160; // between two steps of "Play"
const SCRUB = 4; // px a position, on dials too slow to be turned by hand

function ropeWidget(ui) {
  const { spec, room } = ui;
  const N = spec.positions;
  const scores = {};

  slider(ui, { trait: "m", name: tr("query position m"), max: N - 1, kind: "ta-one" });
  slider(ui, { trait: "n", name: tr("key position n"), max: N - 1, kind: "ta-two" });
  slider(ui, { trait: "base", name: tr("base of the angles"), values: spec.bases, show: whole });
  slider(ui, { trait: "dim", name: tr("head dim D"), values: spec.dims });
  const bar = html("div", { class: "ta-bar" });
  ui.controls.append(bar);
  motion(ui, bar, N);
  ui.root.append(ui.readout);

  const row = ui.row();
  const MAP = 38 + 4 * N + 50;
  const wide = room >= MAP + 300;
  const W = wide ? room - MAP - 20 : room;
  const left = html("div", { class: "ta-panel", style: `width: ${W}px` });
  row.append(left);
  const dials = dialPanel(ui, left, N, W, setting);
  const curve = curvePanel(ui, left, N, W);
  const map = heatPanel(ui, row, N);
  const invariants = signs(ui.row(), [
    [tr("depends on m − n alone"), "max |S[m+1, n+1] − S[m, n]|"],
    [tr("keeps every length"), "max | ‖Rx‖ − ‖x‖ |"],
    [tr("as the reference"), tr("max |S − S of the reference|: right direction, pairs and speeds")],
  ]);

  /** Rotated vectors and the score table S (N × N, row m) of the setting on show, yours and the reference's. */
  function setting() {
    const [dim, base] = [ui.get("dim"), ui.get("base")];
    const key = `${dim}/${base}`;
    if (!scores[key]) {
      const [d, b] = [spec.dims.indexOf(dim), spec.bases.indexOf(base)];
      const size = N * dim;
      const cut = (name) => ui.table(name).subarray(b * size, (b + 1) * size);
      const side = (prefix) => {
        const [q, k] = [cut(`${prefix}q${dim}`), cut(`${prefix}k${dim}`)];
        return { q, k, S: products(q, k, N, dim) };
      };
      const found = { key, dim, base, yours: side(""), reference: side("ref_") };
      const finite = found.yours.S.concat(found.reference.S).filter(Number.isFinite);
      found.low = finite.reduce((a, x) => Math.min(a, x), 0);
      found.high = finite.reduce((a, x) => Math.max(a, x), 0);
      found.limit = Math.max(-found.low, found.high, 1e-9);
      const at = d * spec.bases.length + b;
      found.facts = ui.table("invariants").subarray(3 * at, 3 * at + 3);
      found.differs = spec.causes[ui.table("cause")[at]];
      scores[key] = found;
    }
    return scores[key];
  }

  let drawn = null;
  return {
    stale() {
      for (const key in scores) delete scores[key];
      drawn = null;
    },
    draw() {
      const now = setting();
      const [m, n] = [ui.seen("m"), ui.seen("n")];
      if (drawn !== now) {
        dials.layout(now.dim, now.base);
        map.paint(now, palette(ui.dark));
        curve.layout(now);
        const words = [[tr("ok"), tr("broken")], [tr("ok"), tr("broken")], [tr("same"), tr(now.differs)]];
        invariants([...now.facts].map((x, i) => {
          const good = x <= spec.tolerance;
          return [short(x), words[i][good ? 0 : 1], good];
        }));
        drawn = now;
      }
      const terms = dials.turn(now, m, n);
      map.mark(m, n);
      curve.move(now, m, n);
      const [mine, right] = [now.yours.S[m * N + n], now.reference.S[m * N + n]];
      const beside = ui.get("notice") ? "" : tr(" (reference {right})", { right: fixed(right) });
      ui.say(tr("m = {m}, n = {n}, m − n = {distance}:  score q·k = {score}{beside}",
        { m, n, distance: minus(String(m - n)), score: fixed(mine), beside }),
        `S[${m}, ${n}] = ${sum(terms, ui.seen("plane"))} = ${fixed(mine, 2)}`);
      ui.root.dataset.key = `${m},${n},${now.key},${fixed(mine, 4)}`;
    },
  };
}

/** a − b + … of the planes' products; with many, the first three, the last, and the plane that is pointed at. */
function sum(terms, plane = -1) {
  const shown = terms.map((x, i) => [x, i]).filter(([, i]) => terms.length <= 4 || i < 3 || i === plane || i === terms.length - 1);
  return shown.map(([x, i], j) => {
    const gap = j && i - shown[j - 1][1] > 1 ? " + …" : "";
    const sign = x < 0 ? "− " : j ? "+ " : "";
    const text = `${sign}${fixed(Math.abs(x), 2)}`;
    return `${gap} ${i === plane ? `[${text}]` : text}`;
  }).join("").trim();
}

function products(q, k, N, D) {
  const S = new Array(N * N);
  for (let m = 0; m < N; m++) {
    for (let n = 0; n < N; n++) {
      let sum = 0;
      for (let i = 0; i < D; i++) sum += q[m * D + i] * k[n * D + i];
      S[m * N + n] = sum;
    }
  }
  return S;
}

/** Buttons that move both positions together, so that a true score stands still. */
function motion(ui, bar, N) {
  player(ui, bar, {
    stepName: tr("Step both +1"),
    playName: tr("Play both"),
    every: STEP_MS,
    step() {
      const [m, n] = [ui.get("m"), ui.get("n")];
      const start = Math.min(m, n); // after the end both go back, with their distance kept
      const on = Math.max(m, n) < N - 1;
      ui.setAll({ m: on ? m + 1 : m - start, n: on ? n + 1 : n - start });
    },
  });
}

/** An angle without its whole turns, in −π…π. */
const turnBy = (angle) => Math.atan2(Math.sin(angle), Math.cos(angle));

/** One dial per plane. Its arrows are dragged: the position becomes the one whose arrow is nearest the hand. */
function dialPanel(ui, parent, N, W, setting) {
  const [H, most] = [144, 8];
  parent.append(html("p", { class: "ta-caption" }, tr("Planes"),
    html("small", {}, tr("drag q or k (dashed); gray: the reference"))));
  const canvas = picture(parent, W, H, tr("Dials: in each plane of two features, the rotated query q and key k as arrows"));
  let dials = [];
  // Grips outlive a layout, and with them what listens to them and the focus. One stop of the tab key for each arrow.
  const grips = Array.from({ length: most }, (_, i) => [["m", "q"], ["n", "k"]].map(([trait, letter]) => {
    const grip = svg("circle", { r: 12, class: "ta-grip" });
    return handle(ui, grip, {
      canvas, trait, name: tr("arrow {letter}: its position {trait}", { letter, trait }), max: N - 1, stop: i === 0,
      drag([x, y], start) {
        const { cx, cy, slow } = dials[i];
        // 63 positions turn this dial by less than half a turn: a hand would have to be finer than a pixel.
        if (slow) return clamp(start.value + Math.round((x - start.x) / SCRUB), 0, N - 1);
        // The hand's own angle is followed through whole turns, so that the end of the range is a stop, not a jump.
        const now = setting();
        start.table ??= angles(now.yours[letter], i, now.dim);
        start.hand ??= start.table[start.value];
        start.hand += turnBy(Math.atan2(cy - y, x - cx) - start.hand);
        return nearest(start.table, start.hand, start.value);
      },
    });
  }));

  /** Angles of one plane's arrow at every position, without jumps of a whole turn: what the learner's table says. */
  function angles(table, plane, dim) {
    const out = [];
    for (let p = 0; p < N; p++) {
      const raw = Math.atan2(table[p * dim + 2 * plane + 1], table[p * dim + 2 * plane]);
      out.push(p ? out[p - 1] + turnBy(raw - out[p - 1]) : raw);
    }
    return out;
  }

  function layout(dim, base) {
    canvas.replaceChildren();
    const planes = dim / 2;
    const cw = W / planes;
    const r = Math.min(cw / 2 - 3, H / 2 - 22);
    const narrow = cw < 78;
    dials = Array.from({ length: planes }, (_, i) => {
      const [cx, cy] = [(i + 0.5) * cw, H / 2];
      const theta = base ** ((-2 * i) / dim);
      const g = svg("g", { transform: `translate(${cx.toFixed(1)},${cy.toFixed(1)})` });
      g.append(svg("circle", { r, class: "ta-axis" }));
      line(g, -r, 0, r, 0, "ta-grid");
      line(g, 0, -r, 0, r, "ta-grid");
      canvas.append(g);
      // With eight planes a narrow slot holds one number; every second one stands lower, out of its neighbor's way.
      const drop = narrow && i % 2 ? 13 : 0;
      label(g, 0, -r - 6 - drop, narrow ? short(theta) : `θ = ${short(theta)}`, "middle", "ta-small");
      const part = label(g, 0, r + 15 + drop, "", "middle", "ta-small");
      const ghosts = [arrow(g, "ta-ghost", false), arrow(g, "ta-ghost", false)];
      const k = arrow(g, "ta-two");
      const q = arrow(g, "ta-one");
      const names = ["q", "k"].map((name) => label(g, 0, 0, name, "middle", "ta-strong"));
      g.append(...grips[i]);
      g.onpointerenter = () => ui.peek({ plane: i });
      g.onpointerleave = () => ui.peek(null);
      return { r, part, ghosts, q, k, names, narrow, cx, cy, slow: theta * (N - 1) < Math.PI };
    });
  }

  /** Draws both arrows in each dial; returns the planes' products. */
  function turn(now, m, n) {
    const { dim, yours, reference } = now;
    return dials.map((dial, i) => {
      const at = (table, position) => [table[position * dim + 2 * i], table[position * dim + 2 * i + 1]];
      const scale = dial.r / ui.spec.reach;
      const [q, k] = [at(yours.q, m), at(yours.k, n)];
      [at(reference.q, m), at(reference.k, n)].forEach(([x, y], j) => dial.ghosts[j](x * scale, -y * scale));
      dial.q(q[0] * scale, -q[1] * scale);
      dial.k(k[0] * scale, -k[1] * scale);
      // Each letter stands near its tip, on the side away from the other arrow.
      const turnsLeft = q[0] * k[1] - q[1] * k[0] > 0 ? 1 : -1;
      [q, k].forEach(([x, y], j) => {
        const length = Math.hypot(x, y);
        dial.names[j].style.visibility = length > 0 ? "visible" : "hidden";
        if (!(length > 0 && length < Infinity)) return; // also when it is not a number
        const out = Math.max(Math.min(length * scale, dial.r) - 7, 0);
        const [ux, uy] = [x / length, -y / length];
        const side = 9 * (j === 0 ? turnsLeft : -turnsLeft);
        fill(dial.names[j], { x: (ux * out - uy * side).toFixed(1), y: (uy * out + ux * side + 4).toFixed(1) });
        fill(grips[i][j], { cx: (x * scale).toFixed(1), cy: (-y * scale).toFixed(1) });
      });
      const product = q[0] * k[0] + q[1] * k[1];
      write(dial.part, dial.narrow ? fixed(product, 2) : `q·k = ${fixed(product, 2)}`);
      return product;
    });
  }
  return { layout, turn };
}

/** Index of the value nearest to `wanted`; of two as near, the one nearer to where the hand is. */
function nearest(values, wanted, from) {
  let best = from;
  values.forEach((value, i) => { if (Math.abs(value - wanted) < Math.abs(values[best] - wanted)) best = i; });
  return best;
}

/** S[m, n] as a picture of N × N cells: stripes along the diagonals when the score is relative. */
function heatPanel(ui, parent, N) {
  const map = scoreMap(parent, {
    N, cell: 4, left: 38, right: 50, topEdge: 4, bottom: 36, inset: 14, places: [0, 16, 32, 48, N - 1],
    caption: tr("Scores S[m, n]"), name: tr("Heatmap of the score for every query position m (down) and key position n (across)"),
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

  return {
    paint: (now, colors) => map.paint(now.yours.S, now.limit, colors, (v) => fixed(v, 1)),
    mark(m, n) {
      place();
      fill(here, { x: left + n * cell + cell / 2 - 5, y: topEdge + m * cell + cell / 2 - 5 });
      const [up, down] = [Math.min(m, n), N - 1 - Math.max(m, n)];
      const at = (p, edge) => edge + (p + 0.5) * cell;
      fill(diagonal, { x1: at(n - up, left), y1: at(m - up, topEdge), x2: at(n + down, left), y2: at(m + down, topEdge) });
    },
  };
}

/** Score against m − n for the n on show; the reference's curve is the same for every n. The point can be dragged. */
function curvePanel(ui, parent, N, W) {
  const [H, left, right, topEdge, bottom] = [168, 36, 8, 6, 32];
  const note = html("small");
  parent.append(html("p", { class: "ta-caption" }, tr("Score against m − n"), note));
  const canvas = picture(parent, W, H, tr("Curve of the score against the distance m minus n, for the key position on show"));
  const [iw, ih] = [W - left - right, H - topEdge - bottom];
  const x = (delta) => left + ((delta + N - 1) / (2 * N - 2)) * iw;
  for (const delta of [-60, -40, -20, 0, 20, 40, 60]) {
    line(canvas, x(delta), topEdge, x(delta), topEdge + ih, "ta-grid");
    label(canvas, x(delta), topEdge + ih + 14, minus(String(delta)), "middle", "ta-small");
  }
  canvas.append(svg("rect", { x: left, y: topEdge, width: iw, height: ih, class: "ta-axis" }));
  label(canvas, left + iw / 2, H - 4, "m − n", "middle");
  const scale = svg("g");
  const mine = svg("path", { class: "ta-mine" });
  const reference = svg("path", { class: "ta-reference" });
  const here = svg("circle", { r: 7, class: "ta-here" });
  canvas.append(scale, mine, reference);
  const distances = 2 * N - 1;
  const place = cursor(ui, canvas, {
    name: tr("Curve: distance m − n"),
    // Half a step to each side, so that each distance is a column of its own.
    box: () => ({ x: left - iw / (4 * N - 4), y: topEdge, width: iw + iw / (2 * N - 2), height: ih }),
    size: () => [distances, 1],
    at: () => [ui.seen("m") - ui.seen("n") + N - 1, 0],
    // n stays as long as m can make the distance; beyond that n gives way.
    state: (i) => {
      const m = clamp(ui.get("n") + i - N + 1, 0, N - 1);
      return { m, n: m - (i - N + 1) };
    },
    says: (i) => `m − n = ${i - N + 1}`,
  });
  canvas.append(here);
  here.style.pointerEvents = "none";
  let y = () => 0;

  return {
    layout(now) {
      const { low, high, ticks } = niceScale(now.low, now.high);
      y = (score) => topEdge + ih * (1 - (score - low) / (high - low));
      scale.replaceChildren();
      for (const tick of ticks) {
        line(scale, left, y(tick), left + iw, y(tick), tick === 0 ? "ta-axis" : "ta-grid");
        label(scale, left - 6, y(tick) + 4, short(tick), "end", "ta-small");
      }
      const points = [];
      for (let delta = 1 - N; delta < N; delta++) {
        points.push([x(delta), y(now.reference.S[delta >= 0 ? delta * N : -delta])]);
      }
      fill(reference, { d: trace(points) });
      const alone = Boolean(ui.get("notice"));
      mine.style.visibility = alone ? "hidden" : "visible";
      write(note, alone ? tr("dashed: the reference") : tr("solid: yours at this n; dashed: the reference"));
    },
    move(now, m, n) {
      place();
      const points = [];
      for (let p = 0; p < N; p++) points.push([x(p - n), y(now.yours.S[p * N + n])]);
      fill(mine, { d: trace(points) });
      const score = now.yours.S[m * N + n];
      here.style.visibility = Number.isFinite(score) ? "visible" : "hidden";
      if (Number.isFinite(score)) fill(here, { cx: x(m - n).toFixed(1), cy: y(score).toFixed(1) });
    },
  };
}

const widget = { render: mount(ropeWidget) };
export default widget;
