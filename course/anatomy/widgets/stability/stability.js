// SoftmaxStabilityExplorer: a row of scores grows; what softmax makes of it, dtype by dtype and remedy by remedy.

const NAMES = [N_("no remedy"), N_("soft cap"), N_("QK-norm")];
const HUES = ["one", "two", "good", "reference", "two", "good"];
const DASHES = ["none", "7 4", "2 3"];
const GRIP = 66; // px: width of the scores that are dragged
const LINES = 338; // px of the number line of dtypes beside the curve
// What is unfolded: the panels of bars, how many of the curves, the number line, and whether softmax is computed in
// float16, with its NaN. Folded, float16 stands alone.
const FOLDED = { panels: [0], lines: 0, dtypes: true, half: true };
const SHOWN = {
  "soft cap": { panels: [0, 1], lines: 2 },
  "QK-norm": { panels: [0, 1, 2], lines: 3 },
  "z-loss": { panels: [0, 3], lines: 0 },
  dtypes: { panels: [0], lines: 0, dtypes: true, half: true },
  loss: { panels: [0, 4, 5], lines: 0, half: true },
  slope: { panels: [0], lines: 1 },
  all: { panels: [0, 1, 2, 3], lines: 3, dtypes: true },
};
const MEANING = {
  "soft cap": N_("A soft cap squeezes each score between −c and c: y = c tanh(x ÷ c)."),
  "QK-norm": N_("QK-norm scales q and k to a fixed length, which the gain sets, so no score gets beyond a bound."),
  "z-loss": N_("A logit is a score before softmax, Z the sum of all exp(logit). z-loss = λ (log Z)² is added to the loss."),
  loss: N_("Each bar is the loss in float16 if the token of that score is the right one. Z is the sum of all exp(x), so p = exp(x) ÷ Z, and −log p = log Z − x."),
  slope: N_("The slope says how much the largest weight p changes if its score changes a little: p (1 − p). The gradient that softmax passes back is in proportion to it."),
  dtypes: N_("A dtype says how a number is stored. Its bar ends at its largest number: what is larger becomes ∞, and ∞ ÷ ∞ is NaN, not a number. Left of the bar it becomes 0, which does no harm here. At the right stands the largest weight p."),
};

function stabilityWidget(ui) {
  const { spec } = ui;
  const { room } = ui;
  const wide = room >= 700;
  const run = () => ui.get("grow") === spec.growth[1];
  const [F, K, A] = [spec.factors.length, spec.keys, spec.factors.length + spec.steps.length];
  choice(ui, { trait: "grow", name: tr("scores grow"), values: spec.growth, show: (way) => tr(way) });
  if (room < 480) ui.readout.style.minHeight = "80px"; // a formula must not move the bars under the hand
  ui.root.append(ui.readout);

  // How far the scores have grown is one of two traits; the hand and the keys move the one that counts.
  const moved = () => (run() ? "run_step" : "factor");
  const last = () => (run() ? spec.steps.length : F) - 1;
  const grown = (i) => (run() ? tr("step {n} of the run", { n: spec.steps[i] }) : tr("factor {n}", { n: count(spec.factors[i]) }));
  const growth = {
    __proto__: ui,
    get: () => Math.min(ui.stands(moved()), last()),
    set: (_, i) => ui.set(moved(), i),
    bind: (_, show) => ["factor", "run_step", "grow"].forEach((name) => ui.bind(name, () => show(growth.get()))),
  };

  // Captions, sliders and bars stand in rows of one grid, so that the bars begin at one height whatever a caption says.
  const most = wide ? 4 : room >= 320 ? 2 : 1;
  const shown = () => (ui.get("more") ? SHOWN[ui.get("part")] : FOLDED);
  const columns = () => Math.min(most, shown().panels.length);
  const top = ui.row("ta-remedies");
  top.style = "display: grid; column-gap: 16px";
  const across = () => Math.min(Math.floor((room - 16 * (columns() - 1)) / columns()), room < 900 ? 640 : 900); // fewer panels have more room
  // With a number line or curves below them, rows are low.
  const tall = () => {
    const { panels, lines, dtypes } = shown();
    if (shown() === FOLDED) return 20;
    if (dtypes || lines) return 14;
    return panels.length > 1 ? 16 : room < 900 ? 24 : 32;
  };
  const describe = (name, i) => (i < 3 ? tr("Softmax weights of eight scores, {remedy}", { remedy: name })
    : i < 4 ? tr("Gradient of z-loss by each of the eight logits") : tr("Loss for each of the eight scores as {formula}", { formula: name }));
  const bars = [...NAMES, N_("z-loss"), "−log p", "log Z − x"].map((name, i) => (i < 4 ? tr(name) : name))
    .map((name, i) => rowBars(ui, top, [across, tall], i, name, describe(name, i)));
  /** A slider in the panel of what it moves; its whole name is for who does not see the panel. */
  const slide = (panel, [whole, shown], options) => {
    const at = whole.indexOf(shown);
    const [before, after] = at < 0 ? [`${whole}: `, ""] : [whole.slice(0, at), whole.slice(at + shown.length)];
    const hidden = (text) => html("span", { class: "ta-unseen" }, text);
    const input = slider(ui, { ...options, name: html("span", {}, hidden(before), shown, hidden(after)) });
    input.style.accentColor = `var(--ta-${HUES[panel] ?? "reference"})`;
    bars[panel].head.append(input.parentNode);
    return input.parentNode;
  };
  const sliders = {
    factor: slide(0, [tr("factor"), tr("factor")], { trait: "factor", max: F - 1, show: (i) => count(spec.factors[i]) }),
    run_step: slide(0, [tr("step of the run"), tr("step")], { trait: "run_step", max: spec.steps.length - 1, show: (i) => String(spec.steps[i]) }),
  };
  slide(1, [tr("soft cap c"), tr("cap c")], { trait: "cap", values: spec.caps });
  slide(2, [tr("gain of QK-norm"), tr("gain")], { trait: "gain", values: spec.gains });
  slide(3, [tr("λ of z-loss"), tr("λ")], { trait: "coefficient", values: spec.coefficients });
  const gripFits = scoreGrip(growth, bars[0].canvas, last,
    () => tr("scores up to {score}", { score: count(scene().now[0][0]) }));

  const [bar, second] = [0, 1].map(() => html("div", { class: "ta-bar", style: "grid-column: 1 / -1" }));
  bar.append(ui.controls.firstElementChild);
  ui.controls.append(bar, second);
  const middle = ui.row();
  unfolder(ui, bar, tr("remedies, curves and dtypes"), second);
  bar.lastElementChild.dataset.part = "more";
  choice(ui, { trait: "part", name: tr("show"), values: spec.parts, show: (part) => tr(part) });
  const parts = ui.controls.lastElementChild;
  second.append(parts);
  const curve = curvePanel(ui, middle, wide ? room - LINES - 20 : room, () => [last() + 1, moved()], grown);
  const left = html("div", { class: "ta-panel" });
  middle.append(left);
  // Alone, the number line has two thirds of the width.
  const lined = () => (!wide ? room : shown() === FOLDED ? across() : shown().lines ? LINES : Math.round((room - 20) * 0.66));
  const dtypes = dtypeLines(ui, left, lined);
  // Beside the curves or the number line; on a phone, above them.
  const meaning = html("p", { class: "ta-note", style: wide ? "font-size: 13px" : "order: -1" });
  middle.append(meaning);
  const below = ui.row();
  const whose = signs(below, spec.names.map((name) => [name, tr("largest relative difference from the reference")]));

  const own = (name) => ui.table("own")[spec.names.indexOf(name)] === 1;
  const plain = (name) => own(name) || ui.get("alone"); // in a page outside a notebook, everything is the reference's
  const right = (name) => ui.table("gap")[spec.names.indexOf(name)] <= spec.tolerance;

  /** What is on show: the growth that is pointed at or set, and the scores it gives, plain and under each remedy. */
  function scene() {
    const from = run() ? F : 0;
    const at = from + Math.min(ui.seen(moved()), last());
    const [c, g, l] = [["caps", "cap"], ["gains", "gain"], ["coefficients", "coefficient"]].map(
      ([list, trait]) => spec[list].indexOf(ui.get(trait)));
    const cut = (table, block, place) => [...ui.table(table).subarray((block * A + place) * K, (block * A + place + 1) * K)];
    const rows = (place) => [cut("x", 0, place), cut("y_soft_cap", c, place), cut("s_qk_norm", g, place)];
    return { at, from, c, g, l, cut, rows, now: rows(at), key: ui.seen("key"), panel: ui.seen("panel"), dtype: ui.seen("dtype") };
  }

  let drawn = ""; // the setting whose curves stand there: pointing along them changes none
  return {
    stale() { drawn = ""; },
    draw() {
      const more = ui.get("more");
      const part = shown();
      const whole = part === SHOWN.all;
      top.style.gridTemplateColumns = `repeat(${columns()}, ${across()}px)`;
      bars.forEach(({ box }, i) => { box.style.display = part.panels.includes(i) ? "grid" : "none"; });
      curve.only(part.lines);
      left.style.display = part.dtypes ? "" : "none";
      if (wide) meaning.style.width = `${part.dtypes ? room - 20 - lined() : part.lines ? LINES : room}px`;
      below.hidden = !whole;
      second.hidden = !more;
      meaning.style.display = whole ? "none" : "";
      write(meaning, more && !whole ? tr(MEANING[ui.get("part")]) : "");
      sliders.factor.hidden = run();
      sliders.run_step.hidden = !run();
      gripFits(K * tall());
      const it = scene();
      const { at, from, c, g, l, cut, now } = it;
      const measured = (place) => {
        const found = it.rows(place).map((x) => measuresOf(x));
        found[1].parts = [found[1].values[2], cut("d_soft_cap", c, place)[0]];
        found[1].values[2] *= found[1].parts[1]; // what reaches the score before the cap
        return found;
      };
      const found = measured(at);
      const slope = cut("d_soft_cap", c, at)[0];
      const loss = ui.table("v_z_loss")[l * A + at];
      const notes = [tr("drag ↔"),
        tr(plain("soft_cap") ? N_("own slope {slope}") : N_("reference, own slope {slope}"), { slope: tellable(slope) }),
        tr(plain("qk_norm") ? N_("bound {bound}") : N_("reference, bound {bound}"), { bound: short(ui.table("b_qk_norm_bound")[g]) })];
      const shift = part === SHOWN.loss || ui.get("exp_of") === spec.exp_of[1];
      const half = cut("half", Number(shift), at); // softmax in float16
      if (part.half) notes[0] = part === SHOWN.loss ? "p" : shift ? "exp(x − max) ÷ Σ exp(x − max)" : "exp(x) ÷ Σ exp(x)";
      bars[0].name(part.half ? tr("softmax in float16") : part.panels.length > 1 ? tr(NAMES[0]) : tr("softmax"));
      const drawn0 = part.half ? half : found[0].p;
      now.forEach((x, i) => bars[i].draw(x.map((v) => short3(Math.abs(v) < 1e-5 ? 0 : v)), i ? found[i].p : drawn0, 1, notes[i],
        i || !part.half ? fixed : (v) => fixed(v, 2), it));
      const logZ = ui.table("L_logsumexp")[at];
      const losses = [half.map((p) => 0 - Math.log(p)), now[0].map((x) => logZ - x)]; // 0 −: no loss is −0
      const most = Math.max(...losses[1].filter(Number.isFinite), 1e-3);
      const tenth = (v) => short3(Number.isNaN(v) ? v : Number(v.toFixed(1)) || 0);
      losses.forEach((loss, i) => bars[4 + i].draw(
        now[0].map(short3), loss.map((v) => (Math.abs(v) < 0.05 ? 0 : v)), most, [tr("from the weight"), tr("without a weight")][i], tenth, it));
      const gradient = cut("g_z_loss_gradient", l, at);
      bars[3].draw(gradient.map((_, i) => tr("logit {n}", { n: i })), gradient, Math.max(...gradient.map(Math.abs), 1e-12),
        tr(plain("z_loss_gradient") ? N_("{loss}, gradient") : N_("reference, {loss}, gradient"), { loss: tiny(loss) }),
        tellable, it);

      const which = spec.quantities.indexOf(ui.get("quantity"));
      const value = (m) => (which === 3 ? Math.log10(m.largest) : m.values[which]);
      const setting = [run(), c, g, which].join();
      if (setting !== drawn) {
        drawn = setting;
        const across = Array.from({ length: last() + 1 }, (_, i) => measured(from + i));
        const ticks = run() ? spec.steps.map((s, i) => [i, String(s)]).filter(([i]) => i % 5 === 0)
          : spec.factors.map((f, i) => [i, count(f)]).filter(([i]) => i % (room < 320 ? 12 : 6) === 0);
        const [low, high, marks] = [
          [0, 2.2, [0, 0.5, 1, 1.5, 2]], [0, 1, [0, 0.25, 0.5, 0.75, 1]], [0, 0.26, [0, 0.05, 0.1, 0.15, 0.2, 0.25]],
          [-1, 5, [-1, 0, 1, 2, 3, 4, 5]],
        ][which];
        curve.draw({ ticks, along: run() ? tr("step of the recorded run") : tr("factor on the scores"), shows: tr(ui.get("quantity")), low, high,
          marks: marks.map((v) => [v, which === 3 ? count(10 ** v) : String(v)]),
          lines: [0, 1, 2].map((i) => across.map((m) => value(m[i]))) });
      }
      curve.point(at - from, found.map(value));
      // Where the dtype that is pointed at breaks without the shift.
      curve.shade(it.dtype === undefined ? []
        : [...ui.table("naive").subarray(it.dtype * A + from, it.dtype * A + from + last() + 1)].map((p) => !Number.isFinite(p)));

      if (part.dtypes) dtypes(at, A, now[0], part === FOLDED, whole || !ui.get("alone"));
      whose(spec.names.map((name) => (own(name)
        ? [short(ui.table("gap")[spec.names.indexOf(name)]), right(name) ? tr("yours, same") : tr("yours, differs"), right(name)]
        : ["–", tr("reference shown")])));
      const broken = spec.dtypes.filter((_, i) => !Number.isFinite(ui.table(shift ? "shifted" : "naive")[i * A + at]));
      const told = tr("{growth}, scores up to {score}", { growth: grown(at - from), score: count(found[0].largest) });
      const here = { setting: told, n: it.key };
      if (it.dtype !== undefined) ui.say(tr("{setting}:", here), dtypeFormula(it));
      else if (it.key !== undefined) ui.say(tr(it.panel === 3 ? N_("{setting}, logit {n}:") : N_("{setting}, key {n}:"), here),
        (part.half && halfFormula(it, half, losses, logZ)) || formula(it, found, gradient));
      else if (ui.seen("along")) ui.say(tr("{setting}:", here), values(found.slice(0, part.lines), which));
      else if (part === FOLDED || part === SHOWN.loss) {
        const largest = half.reduce((a, b) => Math.max(a, b));
        ui.say(tr(Number.isNaN(largest) ? shift ? N_("{setting}: float16 cannot hold the largest score itself. ∞ − ∞ is NaN.")
          : N_("{setting}: in float16, softmax gives NaN, which means “not a number”.")
          : N_("{setting}: in float16, the largest weight is {p}."), { ...here, p: fixed(largest, 2) }));
      } else {
        const [a, b, c] = found.map((m) => fixed(m.values[1]));
        const softmax = tr(broken.length
          ? shift ? N_("Even with the shift, softmax is not a number in {dtypes}.") : N_("Softmax without the shift is not a number in {dtypes}.")
          : shift ? N_("With the shift, softmax works in every dtype.") : N_("Softmax works in every dtype, even without the shift."),
        { dtypes: broken.join(", ") });
        const z = short3(ui.table("L_logsumexp")[2 * A + at]);
        ui.say(tr({
          "soft cap": N_("{setting}: largest weight {a} with no remedy, {b} with soft cap."),
          "QK-norm": N_("{setting}: largest weight {a} with no remedy, {b} with soft cap, {c} with QK-norm."),
          "z-loss": N_("{setting}: log Z is {z}, and z-loss {loss}."),
          dtypes: N_("{setting}. {softmax}"),
          slope: N_("{setting}: largest weight {a}, slope {slope}."),
          all: N_("{setting}: largest weight {a} with no remedy, {b} with soft cap, {c} with QK-norm. {softmax}"),
        }[ui.get("part")], { ...here, a, b, c, softmax, z, loss: tiny(loss), slope: tiny(found[0].values[2]) }));
      }
      ui.root.dataset.key = [more && ui.get("part"), ui.get("exp_of"), at, c, g, l, which, fixed(found[1].values[1], 5), fixed(loss, 5)].join();
    },
  };

  function values(found, which) {
    const told = found.map((m, i) => {
      const value = which === 3 ? m.largest : m.values[which];
      const [p, cap] = (m.parts ?? []).map(tiny);
      const product = which === 2 && i === 1 ? `${tr("{p} times the cap’s own slope {cap}", { p, cap })} = ` : "";
      return `${product}${tiny(value)} (${tr(NAMES[i])})`;
    });
    return tr([N_("entropy −Σ p ln p, in nats = {values}"), N_("largest p = 1 ÷ Σ exp(x − max) = {values}"),
      N_("slope p (1 − p) = {values}"), N_("largest |x| = {values}")][which],
    { values: told.reduce((a, b) => tr("{a}, {b}", { a, b })) });
  }

  /** The pointed weight in float16, or one of the two losses. */
  function halfFormula({ key: i, panel, now }, half, losses, logZ) {
    const x = now[0].map(short3);
    if (panel === 4) return `−log p[${i}] = −log ${weight(half[i])} = ${short3(losses[0][i])}`;
    if (panel === 5) return `log Z − x[${i}] = ${short3(logZ)} − ${x[i]} = ${short3(losses[1][i])}`;
    const shifted = shown() === SHOWN.loss || ui.get("exp_of") === spec.exp_of[1];
    return tr("p[{i}] = exp({x}) ÷ Σ = {p} in float16", { i, x: shifted ? `${x[i]} − ${x[0]}` : x[i], p: weight(half[i]) });
  }

  /** How the pointed weight, or gradient, comes from its score. A function that differs keeps its own name. */
  function formula({ key: i, panel, now, c, g, l, at }, found, gradient) {
    if (panel === 3) {
      const how = right("z_loss_gradient") && right("logsumexp")
        ? `2 λ log Z · p[${i}] = 2 · ${spec.coefficients[l]} · ${short3(ui.table("L_logsumexp")[2 * A + at])} · ${weight(found[0].p[i])}`
        : "z_loss_gradient(x, λ)";
      return tr("∂ z-loss ÷ ∂x[{i}] = {how} = {value}", { i, how, value: tiny(gradient[i]) });
    }
    const x = now[panel];
    const [plain, bound, all] = [now[0][i], ui.table("b_qk_norm_bound")[g], right("qk_norm") && right("qk_norm_bound")];
    const before = [
      `x[${i}] = ${short3(plain)}`,
      `y[${i}] = ${right("soft_cap") ? "c tanh(x ÷ c)" : "soft_cap(x, c)"} = ${right("soft_cap")
        ? `${spec.caps[c]} tanh(${short3(plain)} ÷ ${spec.caps[c]}) = ` : ""}${short3(x[i])}`,
      tr(all ? N_("x[{i}] = bound · cos(q, k) = {bound} · {cos} = {x}") : N_("x[{i}] = q · k ÷ √D of your q and k = {x}"),
        { i, bound: short(bound), cos: fixed(x[i] / bound, 2), x: short3(x[i]) }),
    ][panel];
    const biggest = Math.max(...x);
    const sum = x.reduce((a, v) => a + Math.exp(v - biggest), 0);
    return `${before}; p[${i}] = exp(${short3(x[i])} − ${short3(biggest)}) ÷ Σ = ` +
      `${tiny(Math.exp(x[i] - biggest))} ÷ ${fixed(sum)} = ${weight(found[panel].p[i])}`;
  }

  function dtypeFormula({ at, now, dtype: i }) {
    const shift = ui.get("exp_of") === spec.exp_of[1];
    const p = ui.table(shift ? "shifted" : "naive")[i * A + at];
    return tr(shift
      ? Number.isFinite(p) ? N_("With the shift, exp(x − max) is at most 1, which {dtype} can hold. Largest p = 1 ÷ Σ exp(x − max) = {p}.")
        : N_("{dtype} cannot hold the largest score itself: x − max = ∞ − ∞, which is NaN.")
      : Number.isFinite(p) ? N_("exp overflows in {dtype} beyond x = {limit}{where}. Largest p = exp(x) ÷ Σ exp(x) = {p}.")
        : N_("exp overflows in {dtype} beyond x = {limit}{where}. Largest p = exp(x) ÷ Σ exp(x) = ∞ ÷ ∞, which is NaN. " +
          "With the shift, exp(x − max) is at most 1."),
    { dtype: spec.dtypes[i], limit: fixed(spec.limits[i], 1), where: shown().lines ? tr(" (shaded)") : "", p: fixed(p) });
  }
}

const count = (x) => (Math.abs(x) >= 1e3 ? whole(x) : short(x));
/** At most six letters, so that it stands at the end of a bar. */
const short3 = (x) => (Number.isFinite(x) && Math.abs(x) >= 1e4 ? minus(x.toExponential(1).replace("e+", "e")) : count(x));
const weight = (p) => (p < 1e-3 ? tiny(p) : fixed(p));
const tiny = (x) => (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e3 ? minus(String(Number(x.toPrecision(2)))) : short3(x));

/** Of a number that ends a bar: beyond a millionth, its size tells nothing. */
const tellable = (x) => (x === 0 || !(Math.abs(x) < 1e-6) ? tiny(x) : x < 0 ? "≈ 0" : `< ${minus("1e-6")}`);

/** Softmax of a row in double precision, and what is read off it; NaN where a score is not finite. */
function measuresOf(x) {
  const top = Math.max(...x);
  const e = x.map((v) => Math.exp(v - top));
  const sum = e.reduce((a, b) => a + b, 0);
  const p = e.map((v) => v / sum);
  const weight = Math.max(...p);
  const entropy = p.reduce((a, v) => a - (v > 0 ? v * Math.log(v) : v), 0);
  return { p, largest: Math.max(...x.map(Math.abs)), values: [Number.isNaN(weight) ? NaN : entropy, weight, weight * (1 - weight)] };
}

/** A line and a mark for each remedy; each has a shape of its own, for who sees no color. */
function series(parent, i) {
  const kind = `ta-${HUES[i]}`;
  const path = svg("path", { class: kind, style: `fill: none; stroke: var(--${kind}); stroke-width: 2.2; stroke-dasharray: ${DASHES[i]}` });
  const style = `fill: var(--${kind}); stroke: var(--ta-paper); pointer-events: none`;
  const mark = [() => svg("circle", { r: 6, class: kind, style }), () => svg("rect", { x: -4, y: -4, width: 8, height: 8, class: kind, style }),
    () => svg("path", { d: "M0 -5.5L5.5 0L0 5.5L-5.5 0Z", class: kind, style })][i]();
  parent.append(path);
  return [path, mark];
}

/** Three curves over the growth; run along them to grow the scores. */
function curvePanel(ui, parent, W, along, grown) {
  const [H, left, right, topEdge, bottom] = [168, 64, 22, 22, 32];
  const [iw, ih] = [W - left - right, H - topEdge - bottom];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  choice(ui, { trait: "quantity", name: tr("curve shows"), values: ui.spec.quantities, show: (what) => tr(what) });
  box.append(ui.controls.lastChild);
  parent.append(box);
  const canvas = picture(box, W, H, tr("Curves against the growth of the scores: no remedy, soft cap and QK-norm"));
  const [grid, broken, id] = [svg("g"), svg("path", { style: "fill: var(--ta-bad); fill-opacity: 0.22; shape-rendering: crispEdges" }), freshId()];
  const frame = { x: left, y: topEdge, width: iw, height: ih };
  const inside = svg("g", { "clip-path": `url(#${id})` });
  canvas.append(grid, svg("clipPath", { id }, svg("rect", { ...frame, y: topEdge - 2, height: ih + 4 })), svg("rect", { ...frame, class: "ta-axis" }), inside);
  inside.append(broken);
  const here = line(inside, 0, topEdge, 0, topEdge + ih, "ta-diagonal");
  const [paths, dots, keys] = [[], [], []];
  NAMES.forEach((name, i) => {
    const [path, dot] = series(inside, i);
    paths.push(path);
    dots.push(dot);
    const start = Math.round((i * W) / 3) + (W > 400 ? 20 : 0);
    const [sample, mark] = series(canvas, i);
    fill(sample, { d: `M${start} 9H${start + 26}` });
    fill(mark, { transform: `translate(${start + 13},9)` });
    canvas.append(mark);
    keys.push([[path, dots[i]], [sample, mark, label(canvas, start + 31, 13, tr(name), "start", "ta-small")]]);
  });
  const below = label(canvas, left + iw / 2, H - 3, "", "middle");
  const upright = `translate(10,${topEdge + ih / 2}) rotate(-90)`;
  const what = label(canvas, 0, 4, "", "middle");
  what.setAttribute("transform", upright);
  const place = cursor(ui, canvas, {
    name: tr("Curves: growth of the scores"), cross: false,
    box: () => frame,
    size: () => [along()[0], 1],
    at: () => [Math.min(ui.seen(along()[1]), along()[0] - 1), 0],
    state: (i) => ({ [along()[1]]: i, along: true }),
    says: grown,
  });
  canvas.append(...dots);
  const x = (i) => left + ((i + 0.5) / along()[0]) * iw;
  let y = () => 0;
  return {
    draw({ ticks, along: words, shows, low, high, marks, lines }) {
      y = (v) => topEdge + ((high - v) / (high - low)) * ih;
      write(below, words);
      write(what, shows);
      grid.replaceChildren();
      ticks.forEach(([i, text]) => { line(grid, x(i), topEdge, x(i), topEdge + ih, "ta-grid"); label(grid, x(i), topEdge + ih + 14, text, "middle", "ta-small"); });
      marks.forEach(([v, text]) => { line(grid, left, y(v), left + iw, y(v), "ta-grid"); label(grid, left - 5, y(v) + 4, text, "end", "ta-small"); });
      lines.forEach((values, i) => fill(paths[i], { d: trace(values.map((v, j) => [x(j), v === -Infinity ? NaN : y(v)])) }));
    },
    /** Shows the first of the lines. */
    only(count) {
      box.style.display = count ? "" : "none";
      for (const [i, [drawn, legend]] of keys.entries()) {
        for (const node of drawn) node.style.display = i < count ? "" : "none";
        for (const node of legend) node.style.display = i < count && count > 1 ? "" : "none"; // one line needs no name
      }
    },
    point(i, values) {
      fill(here, { x1: x(i), x2: x(i) });
      dots.forEach((dot, j) => {
        const good = Number.isFinite(values[j]);
        dot.style.visibility = good ? "visible" : "hidden";
        if (good) fill(dot, { transform: `translate(${x(i).toFixed(1)},${clamp(y(values[j]), topEdge, topEdge + ih).toFixed(1)})` });
      });
      place();
    },
    shade(columns) {
      const step = iw / along()[0];
      fill(broken, { d: columns.map((bad, i) => (bad ? `M${(x(i) - step / 2).toFixed(1)} ${topEdge}h${step.toFixed(2)}v${ih}h${(-step).toFixed(2)}Z` : "")).join("") });
    },
  };
}

const widget = { render: mount(stabilityWidget) };
export default widget;
