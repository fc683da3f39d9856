// The number line of dtypes: where exp of each score lies, and where each dtype ends.

// Powers of ten: all dtypes, or float16 alone, and px beside its lane. What lies farther out stands at the edge.
const ALL = { axis: [-48, 45], ticks: [-40, -20, 0, 20, 40], beside: 96 };
const ONE = { axis: [-15, 10], ticks: [-12, -8, -4, 0, 4, 8], beside: 42 };
const BREAK = "M-5 7L-1 -7M1 7L5 -7"; // across a bar that goes on beyond the axis
const EDGE = 9; // px beyond both ends of the axis: there a number is 0, or ∞
const LANE = 25; // px of a dtype
const SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const MARKS = {
  held: ["M-3.5 0A3.5 3.5 0 1 1 3.5 0A3.5 3.5 0 1 1 -3.5 0Z", "fill: var(--ta-one); stroke: var(--ta-paper)"],
  zero: ["M-3 0A3 3 0 1 1 3 0A3 3 0 1 1 -3 0Z", "fill: var(--ta-paper); stroke: var(--ta-reference); stroke-width: 1.5"],
  out: ["M-4 -4L4 4M4 -4L-4 4", "fill: none; stroke: var(--ta-bad); stroke-width: 2.5"],
};

/** 10²⁰; with a factor, 3.4·10³⁸. */
const power = (n) => (n ? `10${[...String(n)].map((c) => SUPER[c] ?? "⁻").join("")}` : "1");
/** A number of which the natural logarithm is given: it may be beyond JavaScript's own. */
function largest(log) {
  const n = Math.floor(log / Math.LN10);
  return n < 6 ? whole(Math.exp(log)) : `${(10 ** (log / Math.LN10 - n)).toFixed(1)}·${power(n)}`;
}

/**
 * One lane for each dtype on a shared logarithmic axis. At its right stand what torch computes in that dtype, softmax's
 * largest weight without or with the shift, and the learner's log Z.
 */
function dtypeLines(ui, parent, across) {
  const { spec } = ui;
  const [left, topEdge] = [64 + EDGE, 18];
  let [extent, rows, right, bottom] = [ALL, spec.dtypes.length, 0, 0];
  const measure = (alone) => {
    extent = alone ? ONE : ALL;
    [rows, right] = [alone ? 1 : spec.dtypes.length, extent.beside + EDGE];
    bottom = topEdge + LANE * rows;
  };
  measure(false);
  choice(ui, { trait: "exp_of", name: tr("exp of"), values: spec.exp_of, show: (x) => x });
  parent.append(ui.controls.lastChild);
  const canvas = picture(parent, across(), bottom + 30, tr("Number line: exp of each score, and how far each dtype reaches"));
  const x = (log) => left + ((clamp(log / Math.LN10, ...extent.axis) - extent.axis[0]) / (extent.axis[1] - extent.axis[0])) * (across() - left - right);
  const told = svg("rect", { x: 0, height: LANE, style: "fill: var(--ta-panel); stroke: var(--ta-ink)" });
  canvas.append(told);
  const ticks = [...new Set([...ALL.ticks, ...ONE.ticks])].map((n) => [n, line(canvas, 0, topEdge, 0, bottom, n ? "ta-grid" : "ta-diagonal"),
    label(canvas, 0, 0, power(n), "middle", "ta-small")]);
  const [zero, infinite, below] = ["0", "∞", ""].map((text) => label(canvas, 0, 0, text, "middle", "ta-small"));
  const heads = [tr("largest p"), "log Z"].map((text) => label(canvas, 0, 11, text, "end", "ta-small"));
  const legend = [["held", "held"], ["zero", "→ 0"], ["out", "→ ∞"]].map(([kind, text]) => {
    const [d, style] = MARKS[kind];
    const mark = svg("path", { d, style });
    canvas.append(mark);
    return [mark, label(canvas, 0, 11, kind === "held" ? tr("fits") : text, "start", "ta-small")];
  });
  const lanes = spec.dtypes.map((dtype, i) => {
    const y = topEdge + i * LANE;
    const lane = svg("g"); // all of a lane, so that float16 can stand alone
    canvas.append(lane);
    label(lane, 4, y + 21, dtype, "start", "ta-small");
    const bar = svg("rect", { y: y + 13, height: 9, style: "fill: var(--ta-rule)" });
    const breaks = [0, 1].map(() => svg("path", { d: BREAK, style: "stroke: var(--ta-ink); stroke-width: 1.5" }));
    lane.append(bar, ...breaks);
    const end = label(lane, 0, y + 10, largest(spec.limits[i]), "end", "ta-small");
    end.style.cssText = "paint-order: stroke; stroke: var(--ta-paper); stroke-width: 3px";
    const marks = Array.from({ length: spec.keys }, () => svg("path"));
    lane.append(...marks);
    const [p, z] = [0, 1].map(() => label(lane, 0, y + 21, "", "end", "ta-small"));
    p.dataset.readout = "largest p";
    return { lane, y: y + 17.5, bar, breaks, end, marks, p, z };
  });
  const place = cursor(ui, canvas, {
    name: tr("dtypes"), cross: false,
    box: () => ({ x: 0, y: topEdge, width: across(), height: bottom - topEdge }),
    size: () => [1, rows],
    at: () => [0, Math.min(ui.seen("dtype") ?? 0, rows - 1)],
    state: (_, dtype) => ({ dtype }),
    says: (_, dtype) => spec.dtypes[dtype],
  });
  const stop = canvas.querySelector(".ta-area");
  const put = (node, at) => node.setAttribute("x", at); // words don't travel
  const mark = (node, text, good) => {
    write(node, text);
    node.style.cssText = good ? "" : "fill: var(--ta-bad); font-weight: 600";
  };

  return (at, A, scores, alone, sums) => {
    measure(alone);
    stop.style.display = alone ? "none" : ""; // one lane gives no choice
    const W = across();
    const shifted = ui.get("exp_of") === spec.exp_of[1];
    fill(canvas, { viewBox: `0 0 ${W} ${bottom + 30}`, width: W, height: bottom + 30 });
    for (const [n, rule, text] of ticks) {
      for (const node of [rule, text]) node.style.display = extent.ticks.includes(n) ? "" : "none";
      fill(rule, { x1: x(n * Math.LN10), x2: x(n * Math.LN10), y2: bottom });
      put(text, x(n * Math.LN10));
    }
    for (const node of [zero, infinite, ...ticks.map(([, , text]) => text)]) node.setAttribute("y", bottom + 12);
    below.setAttribute("y", bottom + 26);
    write(below, alone ? W < 340 ? `exp(${ui.get("exp_of")})` : tr("{what} of each score; each line is 10⁴ times the one before", { what: `exp(${ui.get("exp_of")})` })
      : tr(W < 460 ? N_("logarithmic: each line is 10²⁰ times the one before")
        : N_("logarithmic, 10²⁰ from line to line; “//”: float64 goes on, 8 times as far")));
    lanes.forEach(({ lane, p, z }, i) => {
      lane.style.display = i < rows ? "" : "none";
      [p, z].forEach((node, i) => node.setAttribute("display", alone || (i && !sums) ? "none" : "inline")); // a style would be lost
    });
    heads.forEach((node, i) => node.setAttribute("display", alone || (i && !sums) ? "none" : "inline"));
    put(zero, left - EDGE);
    put(infinite, W - right + EDGE);
    put(below, alone ? W / 2 : (left + W - right) / 2);
    heads.forEach((node, i) => put(node, W - (i ? 4 : 44)));
    legend.forEach(([node, text], i) => {
      node.setAttribute("transform", `translate(${left + i * 46},7)`);
      put(text, left + i * 46 + 8);
    });
    const dtype = ui.seen("dtype");
    told.style.visibility = dtype === undefined ? "hidden" : "visible";
    fill(told, { y: topEdge + (dtype ?? 0) * LANE, width: W });
    lanes.forEach(({ y, bar, breaks, end, marks, p, z }, i) => {
      const [least, limit] = [spec.least[i], spec.limits[i]];
      fill(bar, { x: x(least), width: x(limit) - x(least) });
      [[least, 16], [limit, -16]].forEach(([v, inward], side) => {
        const beyond = Math.abs(v / Math.LN10) > Math.abs(extent.axis[side]);
        fill(breaks[side], { transform: `translate(${x(v) + inward},${y})`, display: beyond ? "inline" : "none" });
      });
      put(end, Math.max(x(limit), left + 50));
      // A score is a number of the dtype, too: float16 ends at 65,504.
      const held = scores.map((v) => (Math.log(Math.abs(v)) > limit ? Infinity * v : v));
      const top = shifted ? Math.max(...held) : 0;
      held.map((v) => v - top).forEach((v, k) => {
        const kind = v > limit ? "out" : v < least ? "zero" : "held";
        const [d, style] = MARKS[kind];
        const beyond = { out: v > extent.axis[1] * Math.LN10, zero: v < extent.axis[0] * Math.LN10 }[kind] ? EDGE : 0;
        marks[k].style.cssText = `${style}; visibility: ${Number.isNaN(v) ? "hidden" : "visible"}`;
        fill(marks[k], { d, "data-kind": Number.isNaN(v) ? "none" : kind,
          ...(Number.isNaN(v) ? {} : { transform: `translate(${(x(v) + (kind === "zero" ? -beyond : beyond)).toFixed(1)},${y})` }) });
      });
      const [weight, logZ, gap] = [shifted ? "shifted" : "naive", "L_logsumexp", "lse_gap"].map((name) => ui.table(name)[i * A + at]);
      put(p, W - 44);
      put(z, W - 4);
      mark(p, fixed(weight), Number.isFinite(weight));
      const good = Number.isNaN(gap) || gap <= spec.rounding[i];
      mark(z, `${short3(logZ)}${good ? "" : " ✗"}`, good && Number.isFinite(logZ));
    });
    place();
  };
}
