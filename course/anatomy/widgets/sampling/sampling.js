// SamplingExplorer: a bar for each of the ten likeliest tokens and one for all others; three dials change them. Below
// each bar a second one says how often that token was drawn.

const MANY = 100; // draws at one press
const FEW = 5; // the top-k that a story compares top-p with

function samplingWidget(ui) {
  const { spec } = ui;
  pick(ui, { trait: "prompt", name: tr("the text so far"), names: spec.prompts });
  slider(ui, { trait: "temperature", name: tr("temperature"), values: spec.temperatures, show: short });
  slider(ui, { trait: "top_k", name: "top-k", values: spec.top_k, show: (k) => (k ? String(k) : tr("all")) });
  slider(ui, { trait: "top_p", name: "top-p", values: spec.top_p, show: (p) => (p < 1 ? short(p) : tr("all")) });
  const count = spec.tokens[0].length;
  const draws = drawer(count + 1);
  drawButtons();
  if (ui.room < 480) ui.readout.style.minHeight = "98px"; // a formula must not move the bars under the hand
  ui.root.append(ui.readout);
  const nameOf = (i) => (i < count ? spec.tokens[ui.seen("prompt")][i] : tr("all others"));
  const [row, beside] = [ui.row(), ui.room >= 700];
  const bars = barPanel(ui, row, beside ? ui.room - BESIDE - 24 : ui.room, nameOf);
  const texts = promptPanel(ui, row, count, beside);
  const signRow = ui.row();
  const checks = signs(signRow, [
    [tr("tokens that can come"), tr("of {n} in the vocabulary", { n: whole(spec.vocabulary) })],
    [tr("sum of all probabilities"), tr("1 after every cut")],
    [tr("from the reference"), tr("largest difference of a probability")],
  ]);
  signRow.querySelectorAll("li")[1].dataset.part = "sum"; // a check that a story can leave for later
  let age = 0; // of the tables: draws from other ones do not count

  /** Where the tables hold the distribution on show, and its numbers; those after the other texts, with these dials. */
  function scene() {
    const [k, share, prompt] = [ui.get("top_k"), ui.get("top_p"), ui.seen("prompt")];
    const sizes = [spec.temperatures, spec.top_k, spec.top_p];
    const placed = (text, ...cuts) => [ui.seen("temperature"), ...(cuts.length ? cuts : [k, share])]
      .reduce((place, value, i) => place * sizes[i].length + sizes[i].indexOf(value), text);
    const cut = (name, at) => ui.table(name).subarray(at * (count + 2), (at + 1) * (count + 2));
    const at = placed(prompt);
    const texts = spec.prompts.map((_, i) => cut("p", placed(i)));
    const tally = prompt === ui.get("prompt") ? draws.of(`${at},${age}`) : noDraws(count + 1); // a glance leaves the draws alone
    const few = share < 1 && !k ? spec.prompts.map((_, i) => cut("p", placed(i, FEW, 1))[count + 1]) : null;
    const uncut = share < 1 && ui.seen("temperature") > 0 ? cut("p", placed(prompt, k, 1)) : null; // what top-p adds up
    return { at, texts, prompt, mine: texts[prompt], right: cut("ref_p", at), tally, few, uncut, share };
  }

  function drawButtons() {
    const bar = html("div", { class: "ta-bar", "data-part": "draw" });
    ui.controls.append(bar);
    const press = (times) => () => {
      draws.draw(scene().mine.subarray(0, count + 1), times);
      drawMoving(ui.root, true, draw);
    };
    button(bar, tr("Draw"), press(1));
    button(bar, tr("Draw {n}", { n: MANY }), press(MANY));
  }

  function draw() {
    const now = scene();
    const { at, mine, tally } = now;
    // `drawn` is no trait: a demonstration asks for that many draws.
    if (ui.seen("drawn") > tally.total) draws.draw(mine.subarray(0, count + 1), ui.seen("drawn") - tally.total);
    const token = ui.seen("token");
    bars(now, token);
    texts(now.texts, now.prompt, now.few && now.few.map((n) => tr("with top-k {k}: {n}", { k: FEW, n: whole(n) })));
    const [possible, gap, total] = [mine[count + 1], ui.table("gap")[at], ui.table("total")[at]];
    const good = gap <= spec.tolerance;
    checks([
      [whole(possible), ""],
      [fixed(total), Math.abs(total - 1) <= spec.tolerance ? tr("ok") : tr("broken"), Math.abs(total - 1) <= spec.tolerance],
      [short(gap), good ? tr("same") : tr("differs"), good],
    ]);
    const said = tr("probability of {token}: {p}; of all tokens beyond the ten: {rest}; {n} can come", {
      token: nameOf(0), p: fixed(mine[0]), rest: fixed(mine[count]), n: whole(possible),
    });
    ui.say(tally.total ? `${said}; ${drawnInWords(tally)}` : said, token === undefined ? "" : formula(token, now));
    ui.root.dataset.key = `${at}`;
  }

  function drawnInWords({ total, last, spots }) {
    const told = { n: whole(total), token: last < count ? nameOf(last) : tr("another token") };
    const drawn = total === 1 ? tr("drawn: {token}", told) : tr("{n} draws, the last one: {token}", told);
    return tr("{drawn}, hit by the random number {u}", { drawn, u: fixed(spots.at(-1)) });
  }

  function formula(token, { mine, tally }) {
    const computed = probabilityOf(token, mine);
    return tally.total ? tr("{formula}; drawn {n} times of {all}", {
      formula: computed, n: whole(tally.counts[token]), all: whole(tally.total),
    }) : computed;
  }

  function probabilityOf(token, mine) {
    const [prompt, temperature] = [ui.seen("prompt"), ui.seen("temperature")];
    if (token === count) return tr("1 − the ten above = {p}", { p: fixed(mine[count]) });
    const name = nameOf(token);
    if (mine[token] === 0 && temperature > 0) return tr("{token} is cut: its probability is 0", { token: name });
    if (temperature === 0) return tr("at temperature 0: {token} = {p}", { token: name, p: short(mine[token]) });
    const parts = {
      token: name, logit: fixed(spec.logits[prompt][token], 2), t: short(temperature), p: fixed(mine[token]),
      n: whole(mine[count + 1]),
    };
    return mine[count + 1] === spec.vocabulary
      ? tr("probability of {token} = exp(score {logit} ÷ temperature {t}) ÷ sum over all {n} = {p}", parts)
      : tr("probability of {token} = exp(score {logit} ÷ temperature {t}) ÷ sum over the {n} left = {p}", parts);
  }

  return { stale() { age += 1; }, draw };
}

/** The text with the token that was drawn last, and for each token its probability and the share of the draws. */
function barPanel(ui, row, wide, nameOf) {
  const { spec } = ui;
  const count = spec.tokens[0].length;
  const [left, high] = [wide < 420 ? 74 : 88, 19];
  // Columns of numbers stand still: a draw or a dial moves only bars.
  const [values, often, sums] = [wide - 152, wide - 142, wide - 1];
  const [written, token] = [html("span"), html("strong", { style: "display: inline-block; white-space: pre" })];
  const box = html("div", { class: "ta-panel", style: `width: ${wide}px` },
    html("p", { class: "ta-caption" }, tr("Probability of each token"),
      html("small", {}, tr("“·”: a space; “·gl” begins “glad”")),
      html("small", { class: "ta-comparing" }, tr("line: the reference"))),
    html("p", { style: "margin: 0 0 2px; font-size: 15px" }, written, token));
  row.append(box);
  const canvas = picture(box, wide, high * (count + 1) + 6 + STRIP,
    tr("Bars: the probability of each token, and how often it was drawn; below, a strip on which random numbers fall"));
  const x = (p) => left + Math.max(values - 46 - left, 0) * clamp(Number.isFinite(p) ? p : 0, 0, 1);
  const bar = (y, height, kind) => {
    const node = svg("rect", { x: x(0), y, height, class: kind });
    canvas.append(node);
    return node;
  };
  const rows = [...Array(count + 1).keys()].map((i) => {
    const y = high * i;
    const name = label(canvas, x(0) - 8, y + 11.5, "", "end");
    return {
      name,
      bar: bar(y + 2, 10, "ta-fill-one"),
      drawn: bar(y + 12.5, 5, "ta-open-two"),
      mark: line(canvas, 0, y + 1, 0, y + 13, "ta-reference ta-comparing"),
      value: label(canvas, values, y + 11.5, "", "end"),
      often: label(canvas, often, y + 11.5, "", "start", "ta-small"),
      sum: label(canvas, sums, y + 11.5, "", "end", "ta-small"),
    };
  });
  const drawing = svg("g", { "data-part": "draw" });
  canvas.append(drawing);
  const strip = drawingStrip(drawing, high * (count + 1) + 6, wide, count, nameOf);
  let [seen, flight] = [0, null]; // draws so far, and the way of the last one
  const reached = line(canvas, 0, 0, wide, 0, "ta-diagonal"); // where top-p cuts
  line(canvas, 0, high * count, wide, high * count, "ta-grid"); // below it, one bar stands for many tokens
  // `token` is no trait: a bar that is pointed at is shown for that long, one that is clicked until Escape.
  const place = cursor(ui, canvas, {
    name: tr("Tokens"),
    box: () => ({ x: 0, y: 0, width: wide, height: high * (count + 1) }),
    size: () => [1, count + 1],
    at: () => [0, ui.seen("token") ?? 0],
    state: (_, token) => ({ token }),
    says: (_, token) => nameOf(token),
    cross: false,
  });

  /** The height at which the sum of the probabilities reaches a share: below a token, or within all others. */
  function level(so, share) {
    if (!so) return {};
    const first = so.findIndex((sum) => sum >= share - 1e-6);
    const row = first < 0 ? count : first;
    const part = row < count ? 1 : clamp((share - so[count - 1]) / (so[count] - so[count - 1]), 0, 1);
    const y = high * (row + (Number.isFinite(part) ? part : 1)) - (row < count ? 0.5 : 0);
    // Within a row, the line leaves out the words and numbers.
    return { y1: y, y2: y, ...(row < count ? { x1: 0, x2: wide } : { x1: left, x2: values - 46 }) };
  }

  return ({ mine, right, tally, uncut, share }, here) => {
    place();
    write(written, spec.prompts[ui.seen("prompt")]);
    const { last, total, counts } = tally;
    const segment = strip(mine.subarray(0, count + 1), tally, here);
    write(token, last < 0 ? " …" : last < count ? nameOf(last).replace("·", " ") : tr(" (another token)"));
    if (total !== seen) flight?.cancel();
    if (tween.on && total === seen + 1) flight = comeOver(token, segment);
    seen = total;
    const so = uncut ? rows.map((_, i) => uncut.subarray(0, i + 1).reduce((a, b) => a + b, 0)) : null;
    fill(reached, { ...level(so, share), visibility: so ? "visible" : "hidden" });
    rows.forEach(({ bar, drawn, mark, name, value, often, sum }, i) => {
      fill(bar, { width: x(mine[i]) - x(0) });
      fill(mark, { x1: x(right[i]), x2: x(right[i]) });
      fill(name, { class: i === here ? "ta-strong" : "ta-text" });
      write(name, nameOf(i));
      write(value, mine[i] !== 0 ? fixed(mine[i]) : ui.seen("temperature") > 0 ? tr("cut") : "0");
      fill(drawn, { width: x(total ? counts[i] / total : 0) - x(0) });
      write(sum, so ? tr("sum {n}", { n: fixed(so[i]) }) : "");
      write(often, total ? tr("drawn {n}", { n: whole(counts[i]) }) : "");
    });
  };
}

const widget = { render: mount(samplingWidget) };
export default widget;
