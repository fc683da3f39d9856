// AttentionExplorer's bars: one query's scores and weights, and the grip that moves a score.

/** One query's scores and weights: a number and a bar for each key; a gray tick shows the reference's weight. */
function barPanel(ui, parent, T, W, view, now) {
  const [names, left, top, height, end] = [48, 128, 20, 25, 60]; // at the end a number, beside the grip of a full bar
  const wide = W - left - end;
  const title = html("p", { class: "ta-caption", style: "display: flex; align-items: baseline" });
  const who = html("span");
  title.append(who, html("small", { style: "flex: 1; margin-left: 4px; overflow: hidden; white-space: nowrap" }, W < 290 ? "" : tr("drag the grip")));
  const back = button(title, tr("Put back"), () => ui.setAll({ nudge: 0 }));
  back.style.cssText = "margin: -6px 0 -2px; padding: 1px 5px; font-weight: 400"; // no higher than the captions beside it
  const box = html("div", { class: "ta-panel", style: `width: ${W}px; margin-inline: auto` }, title);
  parent.append(box);
  const canvas = picture(box, W, top + T * height + 4, tr("Bars: the weights of the query on show"));
  label(canvas, left - 10, top - 6, tr("score"), "end", "ta-small");
  const note = label(canvas, left, top - 6, "", "start", "ta-small");
  line(canvas, left, top, left, top + T * height);
  const mark = svg("rect", { x: 1, width: W - 2, height, class: "ta-mark" });
  const bars = Array.from({ length: T }, (_, i) => {
    const y = top + i * height;
    const name = label(canvas, names - 4, y + 18, "", "end");
    const bar = svg("rect", { x: left, y: y + 6, height: height - 12, class: "ta-fill-one" });
    const was = svg("path", { class: "ta-diagonal", style: "fill: none" });
    const tick = line(canvas, 0, y + 4, 0, y + height - 4, "ta-tick");
    canvas.append(bar, tick, was);
    const score = label(canvas, left - 10, y + 18, "", "end");
    return { y, name, bar, was, tick, score, value: label(canvas, W - 4, y + 18, "", "end", "ta-strong") };
  });
  canvas.append(mark);
  const place = cursor(ui, canvas, {
    name: tr("Key of the query on show"), cross: false,
    box: () => ({ x: 0, y: top, width: W, height: T * height }),
    size: () => [1, T],
    at: () => [0, view.key() ?? 0],
    state: (_, key) => ({ key }),
    says: (_, key) => (view.key() === undefined ? tr("none yet") : `${key}: ${view.words()[key]}`),
    press: (_, key) => ui.pin(now().here[key] ? { key } : { key, tried: key }),
  });
  const grip = scoreGrip(ui, canvas, wide, now);
  const long = (weight) => (Number.isFinite(weight) ? clamp(weight, 0, 1) * wide : 0);
  return (state) => {
    const { words, mine, before, right, here, still, query, key, moved, delta } = state;
    place();
    write(who, tr("“{word}” attends to", { word: words[query] }));
    write(note, delta ? tr("weight · dotted: before") : ui.get("notice") ? tr("weight") : tr("weight · tick: reference"));
    fill(back, { "aria-disabled": String(!ui.get("nudge")) });
    bars.forEach(({ y, name, bar, was, tick, score, value }, i) => {
      write(name, words[i]);
      // The number travels with its bar: at no time does one say what the other does not.
      glide(bar, "weight", [mine[i]], ([weight]) => {
        bar.setAttribute("width", long(weight).toFixed(1));
        write(value, !here[i] && mine[i] === 0 ? tr("masked") : fixed(weight));
      });
      fill(was, { d: delta && before[i] > 0.004 ? `M${left} ${y + 3}h${long(before[i]).toFixed(1)}v${height - 6}H${left}` : "" });
      const at = (left + right[i] * wide).toFixed(1);
      fill(tick, { x1: at, x2: at });
      write(score, here[i] ? fixed(still[i], Math.abs(still[i]) < 100 ? 1 : 0) + (i === moved ? plus(delta) : "") : "−∞");
    });
    mark.style.visibility = key === undefined ? "hidden" : "visible";
    if (key !== undefined) fill(mark, { y: top + key * height });
    const n = gripped(state);
    // Half of it stays right of the axis, where the scores end.
    fill(grip, { transform: `translate(${(left + Math.max(long(mine[n]), 5)).toFixed(1)},${top + (n + 0.5) * height})`,
      "aria-label": tr("grip: score of “{word}”", { word: words[n] }) });
  };
}

/**
 * The key whose bar has the grip: pointed at or held; else the one that is moved; else the one with the largest weight.
 * A masked key has none: its score cannot be moved.
 */
function gripped({ key, moved, here, mine }) {
  if (key !== undefined && here[key]) return key;
  return moved >= 0 && here[moved] ? moved : mine.reduce((top, v, i) => (here[i] && v > mine[top] ? i : top), here.indexOf(1));
}

/** Score of a key with weight p among the others; a straight line near 0 and 1, so that the hand can go beyond the ends. */
function logit(p) {
  const near = clamp(p, 0.1, 0.9);
  return Math.log(near / (1 - near)) + (p - near) / (near * (1 - near));
}

/** The round grip. The score moves as far as it takes for the tip of the bar to stay under the hand. */
function scoreGrip(ui, canvas, wide, now) {
  const { reach } = ui.spec;
  const area = canvas.querySelector(".ta-area");
  const grip = svg("g", {}, svg("circle", { r: 12, class: "ta-grip" }),
    svg("path", { d: "M-11 0l4 -4v8zM11 0l-4 -4v8z", style: "fill: var(--ta-ink)" }), svg("circle", { r: 6, class: "ta-here" }));
  let taken = null; // what a drag has changed, for Escape
  const own = Object.assign(Object.create(ui), {
    get: () => (gripped(now()) === ui.get("moved") ? ui.get("nudge") : 0),
    set(_, nudge) {
      const key = gripped(now());
      ui.pin({ key, moved: key, nudge });
    },
  });
  grip.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    taken = { moved: ui.get("moved"), nudge: ui.get("nudge") };
    ui.pin({ key: gripped(now()) });
  });
  handle(own, grip, {
    canvas, trait: "nudge", name: tr("grip"), values: Array.from({ length: 2 * reach + 1 }, (_, i) => i - reach),
    drag([x], start) {
      const { mine, key } = now();
      start.weight ??= mine[key] || 0;
      const by = logit(start.weight + (x - start.x) / wide) - logit(start.weight);
      return clamp(start.value + Math.round(10 * by), 0, 2 * reach);
    },
    says() {
      const state = now();
      const n = gripped(state);
      const [score, weight] = [fixed(state.scores[n], 1), fixed(state.mine[n], 2)];
      return tr("score {score}, weight {weight}", { score, weight });
    },
  });
  canvas.append(grip);
  for (const end of ["pointerup", "pointercancel"]) grip.addEventListener(end, () => { taken = null; });
  grip.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !taken) return;
    ui.setAll(taken);
    taken = null;
  });
  // Between a bar and its grip the hand still points at the same key.
  canvas.addEventListener("pointerleave", (event) => {
    if (event.target === area && grip.contains(event.relatedTarget)) event.stopPropagation();
  }, true);
  grip.addEventListener("pointerenter", (event) => { if (event.pointerType !== "touch") ui.peek({ key: gripped(now()) }); });
  grip.addEventListener("pointerleave", (event) => { if (event.relatedTarget !== area) ui.peek(null); });
  return grip;
}

/**
 * What the weights are for: the output of the query is the values of the words, mixed. Each value is a vector, so it is
 * a name here; its part of the bar is its weight. Returns draw(words, mine, query, key).
 */
function mixBar(ui, parent, T, W, view) {
  const narrow = W < 480;
  const [left, high, top, H] = narrow ? [2, 26, 20, 62] : [118, 26, 1, 28];
  const box = html("div", { class: "ta-panel" });
  box.append(html("p", { class: "ta-caption" }, tr("The output mixes the values of the words"),
    html("small", {}, tr("v: what a word has to give, a vector; the parts are the weights"))));
  parent.append(box);
  const canvas = picture(box, W, H, tr("The output of the query: the values of the words, each with the share of its weight"));
  const sum = label(canvas, narrow ? 2 : left - 10, narrow ? 12 : top + high / 2 + 4, "", narrow ? "start" : "end", "ta-strong");
  const iw = W - left - 4;
  const parts = Array.from({ length: T }, (_, key) => {
    const rect = svg("rect", { y: top, height: high, class: "ta-cell" });
    canvas.append(rect);
    const text = label(canvas, 0, top + high / 2 + 4, "", "middle", "ta-onfill");
    text.dataset.ink = "own";
    return [touch(ui, rect, () => ({ key })), text];
  });
  const mark = svg("rect", { y: top, height: high, class: "ta-mark", style: "pointer-events: none" });
  const told = label(canvas, left, H - 3, "", "start", "ta-small");
  fill(told, { "data-readout": "mix" });
  canvas.append(mark);
  return (words, mine, query, key) => {
    write(sum, tr("o({word}) =", { word: words[query] }));
    const colors = palette(ui.dark);
    const ends = mine.map((_, i) => mine.slice(0, i + 1).reduce((a, b) => a + Math.max(b, 0), 0));
    const whole = Math.max(ends.at(-1), 1e-9);
    parts.forEach(([rect, text], i) => {
      const width = Number.isFinite(mine[i]) ? (iw * Math.max(mine[i], 0)) / whole : 0;
      const x = left + (Number.isFinite(ends[i]) ? (iw * ends[i]) / whole : 0) - width;
      const rgb = mix(colors.zero, colors.plus, 0.25 + 0.65 * clamp(mine[i], 0, 1));
      fill(rect, { x, width, fill: css(rgb) });
      fill(text, { x: x + width / 2, fill: inkOn(rgb) });
      const name = `v(${view.words()[i]})`;
      write(text, width > 7 * name.length + 46 ? `${fixed(mine[i], 2)} · ${name}` : width > 7 * name.length + 4 ? name : "");
      if (i === key) fill(mark, { x, width });
    });
    mark.style.visibility = key === undefined ? "hidden" : "visible";
    const terms = mine.map((v, i) => [v, i]).filter(([v]) => v >= 0.005).sort((a, b) => b[0] - a[0]).slice(0, 4);
    if (narrow) write(told, terms.map(([v, i]) => `${fixed(v, 2)} · v(${words[i]})`).join(" + ") + (terms.length === 4 ? " + …" : ""));
  };
}
