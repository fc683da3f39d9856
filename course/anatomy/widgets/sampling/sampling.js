// SamplingExplorer: a bar for each of the ten likeliest tokens and one for all others; three dials change them. Below
// each bar a second one says how often that token was drawn.

const MANY = 100; // draws at one press

function samplingWidget(ui) {
  const { spec } = ui;
  pick(ui, { trait: "prompt", name: tr("the text so far"), names: spec.prompts });
  slider(ui, { trait: "temperature", name: tr("temperature"), values: spec.temperatures, show: short });
  slider(ui, { trait: "top_k", name: "top-k", values: spec.top_k, show: (k) => (k ? String(k) : tr("all")) });
  slider(ui, { trait: "top_p", name: "top-p", values: spec.top_p, show: (p) => (p < 1 ? short(p) : tr("all")) });
  const count = spec.tokens[0].length;
  const draws = drawer(count + 1);
  drawButtons();
  ui.root.append(ui.readout);
  const nameOf = (i) => (i < count ? spec.tokens[ui.seen("prompt")][i] : tr("all others"));
  const [row, beside] = [ui.row(), ui.room >= 700];
  const bars = barPanel(ui, row, beside ? ui.room - BESIDE - 24 : ui.room, nameOf);
  const texts = promptPanel(ui, row, count, beside);
  const checks = signs(ui.row(), [
    [tr("tokens that can come"), tr("of {n} in the vocabulary", { n: whole(spec.vocabulary) })],
    [tr("sum of all probabilities"), tr("1 after every cut")],
    [tr("from the reference"), tr("largest difference of a probability")],
  ]);
  let age = 0; // of the tables: draws from other ones do not count

  /** Where the tables hold the distribution on show, and its numbers; those after the other texts, with these dials. */
  function scene() {
    const [k, share, prompt] = [ui.get("top_k"), ui.get("top_p"), ui.seen("prompt")];
    const sizes = [spec.temperatures, spec.top_k, spec.top_p];
    const places = [ui.seen("temperature"), k, share].map((value, i) => sizes[i].indexOf(value));
    const placed = (text) => places.reduce((sum, one, i) => sum * sizes[i].length + one, text);
    const cut = (name, at) => ui.table(name).subarray(at * (count + 2), (at + 1) * (count + 2));
    const at = placed(prompt);
    const texts = spec.prompts.map((_, i) => cut("p", placed(i)));
    const tally = prompt === ui.get("prompt") ? draws.of(`${at},${age}`) : noDraws(count + 1); // a glance leaves the draws alone
    return { at, texts, prompt, mine: texts[prompt], right: cut("ref_p", at), tally };
  }

  function drawButtons() {
    const bar = html("div", { class: "ta-bar" });
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
    texts(now.texts, now.prompt);
    const [possible, gap, total] = [mine[count + 1], ui.table("gap")[at], ui.table("total")[at]];
    const good = gap <= spec.tolerance;
    checks([
      [whole(possible), ""],
      [fixed(total), Math.abs(total - 1) <= spec.tolerance ? tr("ok") : tr("broken"), Math.abs(total - 1) <= spec.tolerance],
      [short(gap), good ? tr("same") : tr("differs"), good],
    ]);
    const said = tr("{token} {p}, others {rest}; {n} can come", {
      token: nameOf(0), p: fixed(mine[0]), rest: fixed(mine[count]), n: whole(possible),
    });
    ui.say(tally.total ? `${said}; ${drawnInWords(tally)}` : said, token === undefined ? "" : formula(token, now));
    ui.root.dataset.key = `${at}`;
  }

  function drawnInWords({ total, last }) {
    const told = { n: whole(total), token: last < count ? nameOf(last) : tr("one of the others") };
    return total === 1 ? tr("drawn: {token}", told) : tr("{n} draws, the last one: {token}", told);
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
    if (mine[token] === 0 && temperature > 0) return tr("{token} is cut: p = 0", { token: name });
    if (temperature === 0) return tr("at temperature 0: {token} = {p}", { token: name, p: short(mine[token]) });
    return tr("p({token}) = exp({logit} ÷ {t}) ÷ Σ = {p}", {
      token: name, logit: fixed(spec.logits[prompt][token], 2), t: short(temperature), p: fixed(mine[token]),
    });
  }

  return { stale() { age += 1; }, draw };
}

/** The text with the token that was drawn last, and for each token its probability and the share of the draws. */
function barPanel(ui, row, wide, nameOf) {
  const { spec } = ui;
  const count = spec.tokens[0].length;
  const [left, high] = [88, 25];
  const [written, token] = [html("span"), html("strong")];
  const box = html("div", { class: "ta-panel", style: `width: ${wide}px` },
    html("p", { class: "ta-caption" }, tr("Probability of each token"),
      html("small", {}, tr("“·”: a space; “·gl” begins “glad”")),
      html("small", { class: "ta-comparing" }, tr("line: the reference"))),
    html("p", { style: "margin: 0 0 2px; font-size: 15px" }, written, token));
  row.append(box);
  const canvas = picture(box, wide, high * (count + 1), tr("Bars: the probability of each token, and how often it was drawn"));
  const x = (p) => left + (wide - left - 125) * clamp(Number.isFinite(p) ? p : 0, 0, 1);
  const bar = (y, height, kind) => {
    const node = svg("rect", { x: x(0), y, height, class: kind });
    canvas.append(node);
    return node;
  };
  const rows = [...Array(count + 1).keys()].map((i) => {
    const y = high * i;
    const name = label(canvas, x(0) - 8, y + 14, "", "end");
    return {
      name,
      bar: bar(y + 3, 13, "ta-fill-one"),
      drawn: bar(y + 16.5, 5.5, "ta-open-two"),
      mark: line(canvas, 0, y + 1, 0, y + 17, "ta-reference ta-comparing"),
      value: label(canvas, 0, y + 14, ""),
      often: label(canvas, 0, y + 14, "", "start", "ta-small"),
    };
  });
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

  return ({ mine, right, tally }, here) => {
    place();
    write(written, spec.prompts[ui.seen("prompt")]);
    const { last, total, counts } = tally;
    write(token, last < 0 ? " …" : last < count ? nameOf(last).replace("·", " ") : tr(" (one of the others)"));
    rows.forEach(({ bar, drawn, mark, name, value, often }, i) => {
      fill(bar, { width: x(mine[i]) - x(0) });
      fill(mark, { x1: x(right[i]), x2: x(right[i]) });
      fill(name, { class: i === here ? "ta-strong" : "ta-text" });
      write(name, nameOf(i));
      write(value, mine[i] !== 0 ? fixed(mine[i]) : ui.seen("temperature") > 0 ? tr("cut") : "0");
      const share = total ? counts[i] / total : 0;
      fill(drawn, { width: x(share) - x(0) });
      const end = Math.max(...[mine[i], right[i], share].map(x)) + 8;
      fill(value, { x: end });
      fill(often, { x: end + 44 });
      write(often, total ? tr("drawn {n}", { n: whole(counts[i]) }) : "");
    });
  };
}

const widget = { render: mount(samplingWidget) };
export default widget;
