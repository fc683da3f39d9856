// RopeExplorer: q turns with its position m, k with its position n, and the score should follow m − n alone.

const STEP_MS = 160; // between two steps of "Play"

function ropeWidget(ui) {
  const { spec } = ui;
  const N = spec.positions;
  const scores = {};

  slider(ui, { trait: "m", name: "query position m", max: N - 1, kind: "ta-one" });
  slider(ui, { trait: "n", name: "key position n", max: N - 1, kind: "ta-two" });
  slider(ui, { trait: "base", name: "base of the angles", values: spec.bases, show: whole });
  slider(ui, { trait: "dim", name: "head dimension D", values: spec.dims });

  const bar = ui.row("ta-bar");
  motion(ui, bar, N);
  ui.root.append(ui.readout);

  const top = ui.row();
  const dials = dialPanel(ui, top);
  const map = heatPanel(top, N);
  const bottom = ui.row();
  const curve = curvePanel(ui, bottom, N);
  const side = html("div", { class: "ta-panel", style: "flex: 1 1 300px" });
  bottom.append(side);
  const invariants = facts(side, "What must hold at all positions", [
    ["max |S[m+1, n+1] − S[m, n]|", "the score depends on m − n alone"],
    ["max | ‖Rx‖ − ‖x‖ |", "a rotation keeps every length"],
    ["max |S − S of the reference|", "right direction, pairs and speeds"],
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
      const at = (d * spec.bases.length + b) * 3;
      found.facts = ui.table("invariants").subarray(at, at + 3);
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
      const [m, n] = [ui.get("m"), ui.get("n")];
      if (drawn !== now) {
        dials.layout(now.dim, now.base);
        map.paint(now, palette(ui.dark));
        curve.layout(now);
        const words = [["ok", "broken"], ["ok", "broken"], ["same", "differs"]];
        invariants([...now.facts].map((x, i) => {
          const good = x <= spec.tolerance;
          return [short(x), words[i][good ? 0 : 1], good];
        }));
        drawn = now;
      }
      dials.turn(now, m, n);
      map.mark(m, n);
      curve.move(now, m, n);
      const [mine, right] = [now.yours.S[m * N + n], now.reference.S[m * N + n]];
      const beside = ui.get("notice") ? "" : ` (reference ${fixed(right)})`;
      ui.say(minus(`m = ${m}, n = ${n}, m − n = ${m - n}:  score q·k = `) + fixed(mine) + beside);
      ui.root.dataset.key = `${m},${n},${now.key},${fixed(mine, 4)}`;
    },
  };
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
  let timer = 0;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  function step() {
    const [m, n] = [ui.get("m"), ui.get("n")];
    const start = Math.min(m, n); // after the end both go back, with their distance kept
    const [nextM, nextN] = Math.max(m, n) < N - 1 ? [m + 1, n + 1] : [m - start, n - start];
    ui.model.set("m", nextM);
    ui.set("n", nextN);
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play: advance both";
    ui.readout.setAttribute("aria-live", "polite");
  }
  button(bar, "Step both +1", () => { stop(); step(); });
  const play = button(bar, "Play: advance both", () => {
    if (timer) return stop();
    timer = setInterval(step, STEP_MS);
    play.textContent = "Pause";
    ui.readout.setAttribute("aria-live", "off"); // six announcements a second would help nobody
  });
  bar.append(html("span", { class: "ta-note" }, "m and n move together: the score should stand still"));
  const obey = () => { stop(); play.hidden = calm.matches; };
  obey();
  calm.addEventListener("change", obey);
  ui.atEnd(() => { stop(); calm.removeEventListener("change", obey); });
}

/** One dial per plane. */
function dialPanel(ui, parent) {
  const [W, H] = [430, 292];
  const box = html("div", { class: "ta-panel", style: "width: 430px" });
  box.append(html("p", { class: "ta-caption" }, "Planes", html("small", {}, "q solid, k dashed; gray: the reference")));
  parent.append(box);
  const canvas = picture(box, W, H, "Dials: in each plane of two features, the rotated query q and key k as arrows");
  let dials = [];

  function layout(dim, base) {
    canvas.replaceChildren();
    const planes = dim / 2;
    const columns = planes === 8 ? 4 : 2;
    const [cw, ch] = [W / columns, H / Math.ceil(planes / columns)];
    // Words beside the dial where a slot is wide, above and below it where it is tall.
    const beside = planes === 4;
    const r = beside ? Math.min(ch / 2 - 8, 64) : Math.min(cw / 2 - 6, ch / 2 - 26);
    dials = Array.from({ length: planes }, (_, i) => {
      const cx = (i % columns) * cw + (beside ? r + 4 : cw / 2);
      const cy = Math.floor(i / columns) * ch + ch / 2 + (beside ? 0 : 2);
      const g = svg("g", { transform: `translate(${cx.toFixed(1)},${cy.toFixed(1)})` });
      g.append(svg("circle", { r, class: "ta-axis" }));
      line(g, -r, 0, r, 0, "ta-grid");
      line(g, 0, -r, 0, r, "ta-grid");
      canvas.append(g);
      const angle = `θ = ${short(base ** ((-2 * i) / dim))}`;
      const words = beside ? [`plane ${i}`, angle, ""] : [planes === 2 ? `plane ${i}: ${angle}` : `${i}: ${angle}`, ""];
      const spots = beside ? [[r + 9, -16], [r + 9, 2], [r + 9, 20]] : [[0, -r - 7], [0, r + 16]];
      const parts = words.map((text, j) => label(g, ...spots[j], text, beside ? "start" : "middle", "ta-small"));
      const ghosts = [arrow(g, "ta-ghost", false), arrow(g, "ta-ghost", false)];
      const k = arrow(g, "ta-two");
      const q = arrow(g, "ta-one");
      const names = ["q", "k"].map((name) => label(g, 0, 0, name, "middle", "ta-strong"));
      return { r, part: parts.at(-1), ghosts, q, k, names };
    });
  }

  function turn(now, m, n) {
    const { dim, yours, reference } = now;
    dials.forEach((dial, i) => {
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
        dial.names[j].setAttribute("x", (ux * out - uy * side).toFixed(1));
        dial.names[j].setAttribute("y", (uy * out + ux * side + 4).toFixed(1));
      });
      dial.part.textContent = `q·k = ${fixed(q[0] * k[0] + q[1] * k[1], 2)}`;
    });
  }
  return { layout, turn };
}

/** S[m, n] as a picture of N × N cells: stripes along the diagonals when the score is relative. */
function heatPanel(parent, N) {
  const map = scoreMap(parent, {
    N, cell: 4, left: 38, right: 50, topEdge: 4, bottom: 36, inset: 14, places: [0, 16, 32, 48, N - 1],
    caption: "Scores S[m, n]", name: "Heatmap of the score for every query position m (down) and key position n (across)",
    down: "query position m", across: "key position n",
  });
  const { left, topEdge, cell, over } = map;
  const diagonal = line(over, 0, 0, 0, 0, "ta-diagonal");
  const here = svg("rect", { width: 10, height: 10, class: "ta-mark" });
  over.append(here);

  return {
    paint: (now, colors) => map.paint(now.yours.S, now.limit, colors, (v) => fixed(v, 1)),
    mark(m, n) {
      here.setAttribute("x", left + n * cell + cell / 2 - 5);
      here.setAttribute("y", topEdge + m * cell + cell / 2 - 5);
      const [up, down] = [Math.min(m, n), N - 1 - Math.max(m, n)];
      const at = (p, edge) => edge + (p + 0.5) * cell;
      diagonal.setAttribute("x1", at(n - up, left));
      diagonal.setAttribute("y1", at(m - up, topEdge));
      diagonal.setAttribute("x2", at(n + down, left));
      diagonal.setAttribute("y2", at(m + down, topEdge));
    },
  };
}

/** Score against m − n for the n on show; the reference's curve is the same for every n. */
function curvePanel(ui, parent, N) {
  const [W, H, left, right, topEdge, bottom] = [430, 222, 44, 10, 8, 40];
  const box = html("div", { class: "ta-panel", style: "width: 430px" });
  const note = html("small");
  box.append(html("p", { class: "ta-caption" }, "Score against m − n", note));
  parent.append(box);
  const canvas = picture(box, W, H, "Curve of the score against the distance m minus n, for the key position on show");
  const [iw, ih] = [W - left - right, H - topEdge - bottom];
  const x = (delta) => left + ((delta + N - 1) / (2 * N - 2)) * iw;
  for (const delta of [-60, -40, -20, 0, 20, 40, 60]) {
    line(canvas, x(delta), topEdge, x(delta), topEdge + ih, "ta-grid");
    label(canvas, x(delta), topEdge + ih + 15, minus(String(delta)), "middle", "ta-small");
  }
  canvas.append(svg("rect", { x: left, y: topEdge, width: iw, height: ih, class: "ta-axis" }));
  label(canvas, left + iw / 2, H - 7, "m − n", "middle");
  const scale = svg("g");
  const mine = svg("path", { class: "ta-mine" });
  const reference = svg("path", { class: "ta-reference" });
  const here = svg("circle", { r: 6, class: "ta-here" });
  canvas.append(scale, mine, reference, here);
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
      reference.setAttribute("d", trace(points));
      const alone = Boolean(ui.get("notice"));
      mine.style.visibility = alone ? "hidden" : "visible";
      note.textContent = alone ? "dashed: the reference" : "solid: yours at this n; dashed: the reference";
    },
    move(now, m, n) {
      const points = [];
      for (let p = 0; p < N; p++) points.push([x(p - n), y(now.yours.S[p * N + n])]);
      mine.setAttribute("d", trace(points));
      const score = now.yours.S[m * N + n];
      here.style.visibility = Number.isFinite(score) ? "visible" : "hidden";
      if (Number.isFinite(score)) {
        here.setAttribute("cx", x(m - n).toFixed(1));
        here.setAttribute("cy", y(score).toFixed(1));
      }
    },
  };
}

const widget = { render: mount(ropeWidget) };
export default widget;
