// Longer than trained: a hand for each plane of a large head, with the part of its dial that training showed.

const TURN = 2 * Math.PI;
const BLUR = Math.PI / 3; // a hand that turns further from one frame to the next is drawn as a disc

/** Radians per token with that scheme, for a text longer than trained. lengths.py computes the same. */
function slowedBy(theta, base, scheme, trained, length) {
  const [s, planes] = [Math.max(1, length / trained), theta.length];
  const D = 2 * planes;
  if (scheme === 1) return theta.map((x) => x / s);
  if (scheme === 2) return theta.map((x, i) => x * s ** ((-2 * i) / (D - 2)));
  if (scheme === 3) {
    const at = (turns) => (D * Math.log(trained / (TURN * turns))) / (2 * Math.log(base));
    const [low, high] = [Math.max(Math.floor(at(32)), 0), Math.min(Math.ceil(at(1)), D - 1)];
    return theta.map((x, i) => {
      const ramp = clamp((i - low) / Math.max(high - low, 1e-3), 0, 1);
      return x * (1 - ramp) + (x / s) * ramp;
    });
  }
  return theta;
}

/** A ring segment from angle 0 over `to`, beginning at `from`; counter-clockwise, as angles grow. */
function ring(from, to, inner, outer) {
  const [a, b] = [from, to];
  if (!(b - a > 1e-3)) return "";
  const round = (r) => `M${r} 0A${r} ${r} 0 0 0 ${-r} 0A${r} ${r} 0 0 0 ${r} 0Z`;
  if (b - a > TURN - 0.05) return round(outer) + round(inner);
  const at = (r, angle) => `${(r * Math.cos(angle)).toFixed(2)} ${(-r * Math.sin(angle)).toFixed(2)}`;
  const big = b - a > Math.PI ? 1 : 0;
  const [out, back] = [`A${outer} ${outer} 0 ${big} 0 `, `A${inner} ${inner} 0 ${big} 1 `];
  return `M${at(outer, a)}${out}${at(outer, b)}L${at(inner, b)}${back}${at(inner, a)}Z`;
}

/** Everything about the hands at the current setting: frequencies, slowed ones, what training showed. */
function handsNow(ui) {
  const [head, base, trained, length, scheme] = ["head", "base", "trained", "length", "scheme"].map(ui.get);
  const [b, planes] = [ui.spec.bases.indexOf(base), head / 2];
  const theta = [...ui.table(`f${head}`).subarray(b * planes, (b + 1) * planes)];
  const slow = slowedBy(theta, base, scheme, trained, length);
  const seen = theta.map((x) => Math.abs(x) * trained);
  const reach = slow.map((x) => Math.abs(x) * length);
  const round = seen.map((x) => x >= TURN);
  const fresh = reach.map((x, i) => !round[i] && x > seen[i] * (1 + 1e-6));
  const at = (ui.spec.heads.indexOf(head) * ui.spec.bases.length + b) * 3;
  return { head, base, trained, length, scheme, theta, slow, seen, reach, round, fresh, planes,
    facts: [...ui.table("f_invariants").subarray(at, at + 3)] };
}

/** What each way of slowing does, in the order of spec.schemes. */
const SLOWED = [
  N_("No change: each hand keeps its speed, so that in a longer text the slow ones go on into what is new."),
  N_("PI (position interpolation): all hands are slowed alike, so that the whole text is read as the trained length."),
  N_("NTK: a larger base. The first hand keeps its speed, and each next one is slowed a little more."),
  N_("YaRN: hands that often went round keep their speed, those that never did are slowed as by PI."),
];

const countOf = (flags) => flags.filter(Boolean).length;

function handsSaid(ui, hands) {
  const i = Math.min(ui.seen("clock"), hands.planes - 1);
  const wave = TURN / Math.abs(hands.slow[i]);
  const tokens = wave < 1000 ? fixed(wave, 1) : whole(wave);
  return [
    tr("{new} of {all} hands reach a part of their dial that training never showed, in a text of {length} tokens",
      { new: countOf(hands.fresh), all: hands.planes, length: whole(hands.length) }),
    tr("hand {plane}: θ = {theta}, so a full turn takes 2π ÷ θ = {tokens} tokens; in training it made {turns} turns",
      { plane: i, theta: short(hands.slow[i]), tokens, turns: short(hands.seen[i] / TURN) }),
  ];
}

/** A dial and a hand for each plane; returns what draws them. pace(): tokens that Play reads in a second. */
function handsPicture(ui, host, W, planes, pace) {
  const columns = W < 560 ? 8 : planes > 64 ? 32 : 16;
  const cell = Math.min(W / columns, 52);
  const rows = Math.ceil(planes / columns);
  const R = cell / 2 - 2;
  const canvas = picture(host, W, rows * cell + 4,
    tr("A dial for each plane: gray where training has been, hatched where it has not, and its hand at the end of the text"));
  const id = freshId();
  const tile = { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  canvas.append(svg("defs", {}, svg("pattern", tile,
    svg("rect", { width: 5, height: 5, class: "ro-unseen" }), svg("rect", { width: 1.6, height: 5, class: "ro-hatch" }))));
  const offset = (W - columns * cell) / 2;
  const middle = (i) => [offset + (i % columns + 0.5) * cell, (Math.floor(i / columns) + 0.5) * cell + 2];
  const dials = Array.from({ length: planes }, (_, i) => {
    const [x, y] = middle(i);
    const g = svg("g", { transform: `translate(${x.toFixed(1)},${y.toFixed(1)})` });
    const [seen, fresh, blur] = [svg("path", { class: "ro-seen", "fill-rule": "evenodd" }),
      svg("path", { fill: `url(#${id})`, class: "ro-fresh" }), svg("circle", { r: R * 0.6, class: "ro-blur" })];
    const [hand, before] = ["", "stroke-width: 1"].map((style) => svg("path", { class: "ro-hand", style }));
    g.append(svg("circle", { r: R, class: "ta-axis" }), seen, fresh, blur, before, hand);
    canvas.append(g);
    return { seen, fresh, blur, hand, before };
  });
  const ringed = svg("rect", { width: cell - 1, height: cell - 1, rx: 4, class: "ta-mark", style: "pointer-events: none" });
  const last = planes - 1;
  const place = cursor(ui, canvas, {
    name: tr("Hands"), cross: false,
    box: () => ({ x: offset, y: 2, width: columns * cell, height: rows * cell }),
    size: () => [columns, rows],
    at: () => { const i = Math.min(ui.seen("clock"), last); return [i % columns, Math.floor(i / columns)]; },
    state: (column, row) => ({ clock: Math.min(row * columns + column, last) }),
    says: (column, row) => tr("plane {plane}", { plane: row * columns + column }),
  });
  canvas.append(ringed);
  return (hands) => {
    place();
    const chosen = Math.min(ui.seen("clock"), last);
    const [x, y] = middle(chosen);
    fill(ringed, { x: x - cell / 2 + 0.5, y: y - cell / 2 + 0.5 });
    const read = ui.seen("read"); // tokens read so far, while it plays
    const at = read ?? hands.length;
    const by = read === undefined ? 0 : pace() / 60;
    dials.forEach(({ seen, fresh, blur, hand, before }, i) => {
      const sign = hands.theta[i] < 0 ? -1 : 1;
      const gone = Math.abs(hands.slow[i]) * at;
      fill(seen, { d: ring(0, hands.seen[i], R * 0.66, R - 1), transform: `scale(1,${sign})` });
      const beyond = hands.round[i] ? "" : ring(hands.seen[i], Math.min(gone, TURN), R * 0.66, R - 1);
      fill(fresh, { d: beyond, transform: `scale(1,${sign})` });
      const fast = by * Math.abs(hands.slow[i]) > BLUR;
      blur.style.visibility = fast ? "visible" : "hidden";
      const still = Math.max(at - 1, 0) * Math.abs(hands.slow[i]); // the token before: two neighbors can be told apart
      [[hand, gone], [before, still]].forEach(([node, angle]) => {
        node.style.visibility = fast || !Number.isFinite(gone) ? "hidden" : "visible";
        fill(node, { d: `M0 0L${(R * Math.cos(angle)).toFixed(2)} ${(-sign * R * Math.sin(angle)).toFixed(2)}` });
      });
    });
  };
}

/** The hands, W px wide; show(hands) draws them at the end of the text, or where Play has come to. */
function trainingPanel(ui, parent, W) {
  const { spec } = ui;
  const controls = html("div", { class: "ta-controls" });
  const inside = Object.create(ui, { controls: { value: controls } });
  slider(inside, { trait: "length", name: tr("length of the text"), values: spec.lengths, show: whole });
  slider(inside, { trait: "trained", name: tr("trained on"), values: spec.trained, show: whole });
  const head = slider(inside, { trait: "head", name: tr("for a head dim of"), values: spec.heads }).parentNode;
  const bar = html("div", { class: "ta-bar" });
  choice(Object.create(ui, { controls: { value: bar } }), {
    trait: "scheme", name: tr("Slowed by:"), values: spec.schemes.map((_, i) => i), show: (i) => spec.schemes[i],
  });
  const pace = () => ui.get("length") / 9; // tokens per second, so that any text is read in nine
  clock(ui, bar, {
    playName: tr("Read the text"), stepName: tr("Twice as long"),
    step: () => ui.set("length", spec.lengths[spec.lengths.indexOf(ui.get("length")) + 1] ?? ui.get("length")),
    at: () => 0, range: () => [0, ui.get("length")], speed: pace, show: (read) => ({ read }), keep() {},
  });
  const own = spec.frequencies && !ui.get("notice");
  const legend = tr("Gray: angles seen in training. Hatched: never seen. Thin: the token before.");
  const counter = html("span", { class: "ta-note", style: "font-variant-numeric: tabular-nums" });
  bar.append(counter, html("span", { class: "ta-note" }, own ? `${legend} ${tr("Speeds: your rope_frequencies.")}` : legend));
  const host = html("div");
  const what = html("p", { class: "ro-what" });
  parent.append(controls, bar, what, host);

  const verdicts = signs(parent, [
    [tr("all round in training"), tr("hands that made a full turn within the trained length")],
    [tr("reach what is new"), tr("hands that come to a part of their dial that training never showed")],
    [tr("slowest turn"), tr("tokens for one turn of the slowest plane")],
    ...(spec.frequencies ? [["|θ[0] − 1|", tr("the first plane turns one radian per token")],
      [tr("error of θ[i+1] / θ[i]"), tr("always the same factor, base^(−2/D)")],
      [tr("from the formula"), tr("largest relative difference of a frequency")]] : []),
  ]);

  let shown = null;
  return (hands) => {
    // The slider that changes their number stays where it is: it is under the hand.
    if (shown?.planes !== hands.planes) {
      host.replaceChildren();
      shown = { planes: hands.planes, draw: handsPicture(ui, host, W, hands.planes, pace) };
    }
    head.hidden = Boolean(ui.get("alone")) && !ui.get("more") && hands.head === spec.heads[2]; // a setting for later
    shown.draw(hands);
    write(counter, tr("hands at token {n} of {all}", { n: whole(Math.round(ui.seen("read") ?? hands.length)), all: whole(hands.length) }));
    write(what, tr(SLOWED[hands.scheme]));
    const longest = TURN / Math.min(...hands.slow.map(Math.abs));
    verdicts([
      ...[hands.round, hands.fresh].map((flags) => [tr("{n} of {all}", { n: countOf(flags), all: hands.planes }), ""]),
      [tr("{n} tokens", { n: whole(longest) }), ""],
      ...(spec.frequencies ? hands.facts.map((v, i) => {
        const good = v <= spec.tolerance;
        return [short(v), tr(good ? N_("ok") : i === 2 ? N_("differs") : N_("broken")), good];
      }) : []),
    ]);
  };
}
