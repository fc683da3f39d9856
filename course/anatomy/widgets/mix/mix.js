// MixExplorer: three weights stand on a beam, and the learner's function says where it balances.

const TRAITS = ["first", "second", "third"];
const UNIT = 20; // px of height for one unit of weight
const OVER = 24; // px from the top of a bar to its words: the grip and the frame of its focus have room between
const BAR = 36;
const DROP = 14; // px that an end of the beam goes down at most, when it tips
const TIPPED = 2; // units between triangle and average at which it does
const SWING_MS = 900;
const [PER_UNIT, MOST] = [6, 4]; // degrees that the beam tips when the average moves by one, and at most
const RULE = 296; // width of the panel of sums, beside the beam

function mixWidget(ui) {
  const { spec, room } = ui;
  TRAITS.forEach((trait, i) => slider(ui, { trait, name: tr("weight of {word}", { word: spec.words[i] }), max: spec.top }));
  ui.root.append(ui.readout);
  const row = ui.row();
  const wide = room >= 2 * RULE;
  if (!wide) ui.readout.style.minHeight = "62px"; // a third line must not move the bars under the hand
  const beam = beamPanel(ui, row, wide ? room - RULE - 20 : room);
  const sums = sumPanel(ui, row, wide ? RULE : room);

  const place = ([a, b, c]) => (a * (spec.top + 1) + b) * (spec.top + 1) + c;
  let began = { step: ui.get("step"), weights: TRAITS.map((t) => ui.get(t)) }; // a dotted triangle shows it, once it is left

  return {
    draw() {
      const weights = TRAITS.map((t) => ui.seen(t));
      const at = place(weights);
      const [value, right] = [ui.table("out")[at], ui.table("ref_out")[at]];
      const total = weights.reduce((a, b) => a + b);
      const word = ui.seen("word") ?? -1;
      const good = Math.abs(value - right) <= spec.tolerance;
      if (began.step !== ui.get("step")) began = { step: ui.get("step"), weights: TRAITS.map((t) => spec.story[ui.get("step")].state[t]) };
      beam(weights, value, right, good, word, ui.table("out")[place(began.weights)]);
      sums(weights, total, word);
      const verdict = ui.get("notice") ? "" : good ? tr(" (as expected)") : tr(" (expected {right})", { right: fixed(right) });
      ui.say(total === 0 ? tr("All weights are 0: there is nothing to average.") :
        tr("weights {weights}, total {total}: the average is {average}{verdict}.",
          { weights: weights.join(", "), total, average: good ? neat(value) : fixed(value), verdict }),
      formula(spec, weights, total, word));
      ui.root.dataset.key = `${weights.join(",")},${fixed(value, 4)}`;
    },
  };
}

/** What a weighted average is, with these numbers; the term of the word that is pointed at stands in brackets. */
function formula({ words, values }, weights, total, word) {
  const terms = weights.map((w, i) => (i === word ? `[${w}·${values[i]}]` : `${w}·${values[i]}`));
  const sum = weights.reduce((a, w, i) => a + w * values[i], 0);
  const whole = `(${terms.join(" + ")}) ÷ (${weights.join(" + ")}) = ${sum} ÷ ${total}`;
  if (total === 0) return tr("{formula}: no number answers that", { formula: whole });
  const own = word < 0 ? "" : tr("; share of {word}: {weight} ÷ {total} = {share}",
    { word: words[word], weight: weights[word], total, share: neat(weights[word] / total) });
  return `${whole} = ${neat(sum / total)}${own}`;
}

/** Two decimals at most: 5, 7.4, 6.33. */
const neat = (x) => fixed(x, 2).replace(/\.?0+$/, "");

/**
 * Bars as high as the weights on a beam along a number line, and the triangle at the average. The beam tips where the
 * triangle does not stand under the point where the bars balance: while it is on its way there, or for a wrong average.
 */
function beamPanel(ui, parent, W) {
  const { spec } = ui;
  const [left, base] = [20, 16 + OVER + spec.top * UNIT];
  const H = base + 54;
  const note = html("small");
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  box.append(html("p", { class: "ta-caption" }, tr("Drag the top of a bar"), note));
  parent.append(box);
  const canvas = picture(box, W, H,
    tr("A number line from 0 to 10: a bar for each word, as high as its weight, and the average"));
  const x = (v) => left + (v / 10) * (W - 2 * left);
  for (const weight of [spec.top / 2, spec.top]) {
    canvas.append(svg("path", { class: "ta-grid", d: `M${x(0)} ${base - weight * UNIT}H${x(10)}` }));
    label(canvas, x(0), base - weight * UNIT - 3, tr("weight {n}", { n: weight }), "start", "ta-small");
  }
  label(canvas, 0, base + 51, tr("value"), "start", "ta-small");
  const beam = svg("g");
  line(beam, x(0), base, x(10), base, "ta-mark");
  for (let v = 0; v <= 10; v++) {
    line(canvas, x(v), base, x(v), base + 5);
    label(canvas, x(v), base + 34, String(v), "middle", "ta-small"); // beneath the triangle's room
  }
  // A grip at weight 0 lies beneath all three of them, and must be taken hold of all the same.
  const marked = (kind) => svg("path", { class: kind, style: "pointer-events: none" });
  const [arm, mine, ghost, first] = ["ta-arrow ta-two", "ta-fill-two", "ta-reference", "ta-diagonal"].map(marked);
  first.style.cssText += "; fill: none; stroke-dasharray: 2 2";
  const bars = spec.values.map((v, i) => {
    const group = svg("g");
    const bar = svg("rect", { x: x(v) - BAR / 2, width: BAR, class: "ta-fill-one" });
    const text = label(group, x(v), 0, "", "middle", "ta-strong");
    const grip = handle(ui, svg("circle", { cx: x(v), r: 13, class: "ta-grip" }), {
      canvas, trait: TRAITS[i], name: tr("bar of {word}: its weight", { word: spec.words[i] }), max: spec.top,
      drag: ([, y]) => clamp(Math.round((base - y) / UNIT), 0, spec.top),
    });
    const knob = svg("circle", { cx: x(v), r: 5, class: "ta-here", style: "pointer-events: none" });
    const blocks = blocksOf(group, v, x(v), base, spec.top);
    group.prepend(bar);
    group.append(grip, knob);
    beam.append(touch(ui, group, () => ({ word: i })));
    return { bar, text, grip, knob, blocks };
  });
  beam.append(arm);
  canvas.append(beam, first, mine, ghost);
  const shown = label(canvas, 0, base + 51, "", "middle", "ta-strong");
  const triangle = (v) => {
    const place = clamp(x(v), 8, W - 8);
    return `M${place.toFixed(1)} ${base + 2}l-9 18h18z`;
  };

  const pivot = (v) => clamp(x(v), x(0), x(10));
  const swing = swinging(beam);
  let goal = NaN;
  let still = 0; // degrees at which the beam comes to rest
  /** The triangle at v, and the beam on it: on the way to its goal it hurries after the weights, which came first. */
  const stand = ([v, right], share) => {
    mine.setAttribute("d", triangle(v));
    shown.setAttribute("x", clamp(x(v), 22, W - 22).toFixed(1));
    const off = (Number.isFinite(right) ? right - v : 0) + 4 * (goal - v) * share;
    still = Math.atan2(clamp(off / TIPPED, -1, 1) * DROP, x(10) - x(0)) * (180 / Math.PI);
    beam.setAttribute("transform", `rotate(${still.toFixed(3)} ${pivot(v).toFixed(1)} ${base})`);
  };

  return (weights, value, right, good, word, began) => {
    bars.forEach(({ bar, text, grip, knob, blocks }, i) => {
      const top = base - UNIT * weights[i];
      fill(bar, { y: top, height: base - top, class: i === word ? "ta-fill-one ta-lit" : "ta-fill-one" });
      for (const node of [grip, knob]) fill(node, { cy: top });
      fill(text, { y: top - OVER });
      blocks.forEach((block, k) => { block.style.display = k < weights[i] ? "" : "none"; });
      write(text, `${spec.words[i]} × ${weights[i]}`);
    });
    const seen = Number.isFinite(value);
    mine.style.visibility = shown.style.visibility = seen ? "visible" : "hidden";
    // The expected place is drawn where it is another one: on top of the triangle it would only hide it.
    const apart = Number.isFinite(right) && !good;
    ghost.style.visibility = apart ? "visible" : "hidden";
    arm.style.visibility = seen && word >= 0 ? "visible" : "hidden";
    if (apart) fill(ghost, { d: triangle(right) });
    const left_ = Number.isFinite(began) && Math.abs(value - began) > spec.tolerance;
    first.style.visibility = left_ && !apart ? "visible" : "hidden";
    if (left_) fill(first, { d: triangle(began) });
    write(note, apart ? tr("your average: the beam tips on it; dashed: the expected one")
      : left_ ? tr("dotted: where the triangle was at first") : tr("the triangle goes where the bars balance"));
    beam.style.transform = seen ? "" : "none";
    const pull = value - goal;
    goal = value;
    if (!seen) return;
    glide(beam, "triangle", [value, right], stand);
    if (ui.root.dataset.dragging && Number.isFinite(pull) && pull) swing(pull, still, [pivot(value), base]);
    write(shown, good ? neat(value) : fixed(value));
    if (word >= 0) fill(arm, { d: `M${clamp(x(value), 8, W - 8).toFixed(1)} ${base}H${x(spec.values[word])}` });
  };
}

/** A bar's units of weight from the bottom up, each with the value of its word: what is added up, one by one. */
function blocksOf(parent, value, x, base, top) {
  return Array.from({ length: top }, (_, k) => {
    const block = svg("g", { style: "pointer-events: none" });
    parent.append(block);
    const y = base - k * UNIT;
    if (k) block.append(svg("path", { d: `M${x - BAR / 2} ${y}h${BAR}`, style: "stroke: var(--ta-paper)" }));
    const text = label(block, x, y - 3, String(value), "middle", "ta-onfill");
    fill(text, { style: "fill: var(--ta-paper)", "data-ink": "own" });
    return block;
  });
}

/**
 * While a bar is held, the triangle is at its place at once. The beam tips to the side that has become heavier, and
 * swings until it is level: swing(pull, degrees of rest, pivot). The browser turns it, so that no drawing waits for it.
 */
function swinging(beam) {
  let [push, since, now] = [0, 0, null];
  const at = (ms) => Math.exp(-ms / 180) * Math.cos(ms / 90); // of the push, so many ms after it
  return (pull, rest, [x, y]) => {
    if (tween.calm.matches) return;
    const left = now?.playState === "running" ? push * at(performance.now() - since) : 0;
    [push, since] = [clamp(left + pull * PER_UNIT, -MOST, MOST), performance.now()];
    now?.cancel();
    const tipped = Array.from({ length: SWING_MS / 30 }, (_, i) => push * at(30 * i));
    now = beam.animate([...tipped, 0].map((degrees) => ({
      transform: `translate(${x}px, ${y}px) rotate(${rest + degrees}deg) translate(${-x}px, ${-y}px)`,
    })), { duration: SWING_MS });
  };
}

const widget = { render: mount(mixWidget) };
export default widget;
