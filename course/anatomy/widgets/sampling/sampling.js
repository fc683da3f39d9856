// SamplingExplorer: a bar for each of the ten likeliest tokens and one for all others; three dials change them.

function samplingWidget(ui) {
  const { spec } = ui;
  pick(ui, { trait: "prompt", name: tr("the text so far"), names: spec.prompts });
  slider(ui, { trait: "temperature", name: tr("temperature"), values: spec.temperatures, show: short });
  slider(ui, { trait: "top_k", name: "top-k", values: spec.top_k, show: (k) => (k ? String(k) : tr("all")) });
  slider(ui, { trait: "top_p", name: "top-p", values: spec.top_p, show: (p) => (p < 1 ? short(p) : tr("all")) });
  ui.root.append(ui.readout);
  const count = spec.tokens[0].length;
  const [left, high, wide] = [112, 26, Math.min(ui.room, 760)];
  const box = html("div", { class: "ta-panel" }, html("p", { class: "ta-caption" }, tr("Probability of each token"),
    html("small", {}, tr("Σ adds exp(logit ÷ temperature) over the tokens that can come; line: the reference"))));
  ui.row().append(box);
  const canvas = picture(box, wide, high * (count + 1), tr("Bars: the probability of each token"));
  const x = (p) => left + (wide - left - 70) * clamp(Number.isFinite(p) ? p : 0, 0, 1);
  const rows = [...Array(count + 1).keys()].map((i) => {
    const bar = svg("rect", { x: x(0), y: high * i + 5, height: 16, class: i < count ? "ta-fill-one" : "ta-open-two" });
    const name = label(canvas, x(0) - 8, high * i + 18, "", "end");
    canvas.append(bar);
    const mark = line(canvas, 0, high * i + 2, 0, high * i + 24, "ta-reference");
    return { bar, mark, name, value: label(canvas, 0, high * i + 18, "") };
  });
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
  const checks = signs(ui.row(), [
    [tr("tokens that can come"), tr("of {n} in the vocabulary", { n: whole(spec.vocabulary) })],
    [tr("sum of all probabilities"), tr("1 after every cut")],
    [tr("from the reference"), tr("largest difference of a probability")],
  ]);
  const nameOf = (i) => (i < count ? spec.tokens[ui.get("prompt")][i] : tr("all others"));

  return {
    draw() {
      const [prompt, temperature] = [ui.get("prompt"), ui.get("temperature")];
      const [k, share] = [ui.get("top_k"), ui.get("top_p")];
      const sizes = [spec.temperatures, spec.top_k, spec.top_p];
      const places = [temperature, k, share].map((value, i) => sizes[i].indexOf(value));
      const at = places.reduce((sum, one, i) => sum * sizes[i].length + one, prompt);
      const cut = (name) => ui.table(name).subarray(at * (count + 2), (at + 1) * (count + 2));
      const [mine, right] = [cut("p"), cut("ref_p")];
      const token = ui.seen("token");
      place();
      rows.forEach(({ bar, mark, name, value }, i) => {
        fill(bar, { width: x(mine[i]) - x(0) });
        fill(mark, { x1: x(right[i]), x2: x(right[i]) });
        fill(value, { x: Math.max(x(mine[i]), x(right[i])) + 8 });
        fill(name, { class: i === token ? "ta-strong" : "ta-text" });
        write(name, nameOf(i));
        write(value, mine[i] === 0 ? tr("cut") : fixed(mine[i]));
      });
      const [possible, gap, total] = [mine[count + 1], ui.table("gap")[at], ui.table("total")[at]];
      const good = gap <= spec.tolerance;
      checks([
        [whole(possible), ""],
        [fixed(total), Math.abs(total - 1) <= spec.tolerance ? tr("ok") : tr("broken"), Math.abs(total - 1) <= spec.tolerance],
        [short(gap), good ? tr("same") : tr("differs"), good],
      ]);
      const best = spec.tokens[prompt][0];
      const said = tr("{token} {p}, others {rest}; {n} can come", {
        token: best, p: fixed(mine[0]), rest: fixed(mine[count]), n: whole(possible),
      });
      ui.say(said, token === undefined ? "" : formula(token, prompt, temperature, mine));
      ui.root.dataset.key = `${at}`;
    },
  };

  function formula(token, prompt, temperature, mine) {
    if (token === count) return tr("1 − the ten above = {p}", { p: fixed(mine[count]) });
    const name = nameOf(token);
    if (mine[token] === 0) return tr("{token} is cut: p = 0", { token: name });
    if (temperature === 0) return tr("at temperature 0: {token} = 1", { token: name });
    return tr("p({token}) = exp({logit} ÷ {t}) ÷ Σ = {p}", {
      token: name, logit: fixed(spec.logits[prompt][token], 2), t: short(temperature), p: fixed(mine[token]),
    });
  }
}

const widget = { render: mount(samplingWidget) };
export default widget;
