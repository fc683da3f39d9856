// AnatomyView: parts at the left, the streams of all tokens in the middle, and at the right one head and what each
// layer would say next, or the part that was opened. What is pointed at lights up in all of them.

const [SCHEME, SIDE] = [180, 252]; // px, width of the columns at the left and at the right
const HIGH = 294; // px, height of the pictures
const GAP = 8; // px, between columns (.an-columns)

function anatomyWidget(ui) {
  const { layers: L, tokens: T, sizes, likely: K } = ui.spec;
  const H = sizes.n_heads;
  let panels = [];
  const writing = writingRow(ui, () => panels.forEach((stale) => stale()));
  for (const trait of ["token", "layer", "head", "part"]) ui.watch(trait);
  const prompt = promptLine(ui);
  ui.readout.style.minHeight = ui.room < 480 ? "116px" : "43px"; // room for a formula, so that nothing moves under the hand
  ui.root.append(ui.readout);

  const { room } = ui;
  const stacked = room < 640;
  const columns = ui.row("an-columns");
  const scheme = schemePanel(ui, columns, stacked ? Math.min(room, 366) : SCHEME, HIGH);
  const river = riverPanel(ui, columns, stacked ? room : room - SCHEME - SIDE - 2 * GAP, HIGH);
  const side = html("div", { class: "ta-panel", style: `width: ${stacked ? room : SIDE}px` });
  columns.append(side);
  const guess = html("div", {}, html("p", { class: "ta-caption" }, tr("What could come next")));
  const usual = html("div", { "data-part": "heads", "data-of": "part" });
  side.append(guess, usual);
  const guesses = guessRows(ui, guess, stacked ? Math.min(room, 366) : SIDE);
  const head = headPanel(ui, usual, stacked ? Math.min(8, Math.floor((room - 60) / T)) : 5);
  const lens = lensPanel(ui, usual);
  const opened = openedPanel(ui, side, stacked ? Math.min(room, 366) : SIDE);

  const cut = (l, h) => ui.table("att").subarray((l * H + h) * T * T, (l * H + h + 1) * T * T);
  const now = () => {
    const [token, layer, which] = [ui.at(), ui.seen("layer"), ui.seen("head")];
    const map = cut(layer, which);
    const row = map.subarray(token * T, (token + 1) * T);
    const far = row.reduce((best, v, i) => (v > row[best] ? i : best), 0);
    const key = Math.min(ui.seen("key") ?? far, ui.read.words.length - 1);
    return { token, layer, head: which, map, row, key, part: ui.seen("part") };
  };
  /** [text, probability] of the j-th likeliest next token; side "ref_" is the reference's, sent where it differs. */
  const says = (token, level = 2 * L, j = 0, prefix = "") => {
    const at = (level * T + token) * K + j;
    const table = (name) => ui.table(ui.get("tables")[prefix + name] ? prefix + name : name);
    return [ui.spec.vocabulary[table("lens_i")[at]] ?? "?", table("lens_p")[at]];
  };

  let shares = null;
  let walked = "";
  let schemed = "";
  riseOnce(ui, [river.rise, lens.rise, scheme.rise, guesses.rise]);
  panels = [() => { walked = schemed = ""; }, river.stale, head.stale, opened.stale];
  return {
    stale() {
      writing.follow();
      panels.forEach((stale) => stale());
    },
    draw() {
      const { words, first } = ui.read;
      const state = now();
      const { token, layer, key, row, part } = state;
      const [[word, share], [right]] = [says(token), says(token, 2 * L, 0, "ref_")];
      const quoted = `${inQuotes(word)} ${percent(share)}`;
      const changed = right === word ? "" : tr(", reference {word}", { word: inQuotes(right) });
      if (walked !== `${token},${layer}`) {
        walked = `${token},${layer}`;
        shares = river.draw(token, layer, tr("next: {word}", { word: quoted }));
      }
      const headless = goesWithout(ui, "heads");
      const plain = part === "" && headless; // a step about tokens and what comes next
      prompt(token, plain ? token : key, shares, `▸ ${quoted}${changed}`);
      scheme.fold(goesWithout(ui, "parts"));
      usual.toggleAttribute("data-away", headless);
      if (schemed !== `${part},${layer}`) {
        schemed = `${part},${layer}`;
        scheme.draw(part, layer);
      }
      usual.hidden = part !== "";
      guess.hidden = !plain;
      if (plain) guesses.draw(state, says);
      else if (part === "") {
        head.draw(state);
        lens.draw(state, says);
      }
      opened.draw(state, says);
      ui.root.dataset.key = `${first + token},${layer},${state.head},${key},${part}`;
      if (ui.seen("about")) return ui.say(tr(PURPOSE[ui.seen("about")]));
      const off = ui.table("drift")[2 * L * T + token];
      const away = off > MOVED ? tr(" Its last stream is {share} off the reference.", { share: percent(off) }) : "";
      const target = `${inQuotes(words[key])} (${first + key})`;
      const weight = fixed(row[key], 2);
      const told = { token: first + token, word: inQuotes(words[token]), layer, head: state.head, target, weight };
      const rest = first ? 1 - row.reduce((sum, v) => sum + v, 0) : 0;
      const before = rest >= 0.005 ? tr(" To tokens further back: {weight}.", { weight: fixed(rest, 2) }) : "";
      const said = `${tr(plain ? N_("Token {token} {word}.") : ui.seen("key") === undefined
        ? N_("Token {token} {word}, layer {layer}, head {head}: attends most to {target}, {weight}.")
        : N_("Token {token} {word}, layer {layer}, head {head}: attends to {target}, {weight}."), told)} ` +
        tr("Next: {word}{changed}.", { word: quoted, changed }) + before + away + opened.says(state) + writing.says();
      return ui.say(said, ui.pointing && !plain
        ? `${tr("weight")}[${first + token}, ${first + key}] = softmax(q·k / √${sizes.head_dim}) = ${fixed(row[key], 3)}` : "");
    },
  };
}

/** The weights of one head, and those of its layer's other heads as small maps to choose from. */
function headPanel(ui, parent, cell) {
  const { tokens: T, sizes } = ui.spec;
  const size = T * cell;
  const caption = html("p", { class: "ta-caption" });
  const pair = html("div", { class: "an-pair" });
  parent.append(caption, pair);
  const stack = html("div", { class: "ta-stack", style: `width: ${size}px; height: ${size}px` });
  const room = `left: 0; top: 0; width: ${size}px; height: ${size}px`;
  const map = html("canvas", { width: T, height: T, "aria-hidden": "true", style: room });
  stack.append(map);
  const heads = html("div", { class: "an-heads", role: "group", "aria-label": tr("heads of the layer") });
  pair.append(stack, heads);
  const over = picture(stack, size, size, tr("Attention weights of the head: a row for each query, a column for each key"));
  over.append(svg("rect", { x: 0, y: 0, width: size, height: size, class: "ta-axis" }));
  const row = svg("rect", { x: 0, width: size, class: "ta-axis ta-lit" });
  const spot = svg("rect", { class: "ta-axis ta-lit" });
  const pitch = () => size / ui.read.slots;
  const filled = () => ui.read.words.length * pitch();
  over.append(row, spot);
  const place = cursor(ui, over, {
    name: tr("weights, by key and query"),
    box: () => ({ x: 0, y: 0, width: filled(), height: filled() }),
    size: () => [ui.read.words.length, ui.read.words.length],
    state: (key, token) => ({ token, key }),
    at: () => [Math.min(ui.seen("key") ?? 0, ui.read.words.length - 1), ui.at()],
    says: (key, token) => {
      const { words, first } = ui.read;
      return tr("query {token} {word}, key {key} {other}",
        { token: first + token, word: inQuotes(words[token]), key: first + key, other: inQuotes(words[key]) });
    },
  });
  const small = Array.from({ length: sizes.n_heads }, (_, h) => {
    const canvas = html("canvas", { width: T, height: T, "aria-hidden": "true" });
    const choose = keepKeys(html("button", { type: "button", "aria-label": tr("head {h} of the layer", { h }) }, canvas));
    heads.append(touch(ui, choose, () => ({ head: h })));
    return [choose, canvas];
  });
  let painted = "";
  let layered = -1;
  return {
    stale() {
      painted = "";
      layered = -1;
    },
    draw({ token, layer, head, map: weights, key }) {
      if (layered !== layer) {
        layered = layer;
        small.forEach(([, canvas], h) => paintMap(canvas, ui, layer, h));
      }
      if (painted !== `${layer},${head}`) {
        painted = `${layer},${head}`;
        paintWeights(map, weights, ui);
        const { words, first } = ui.read;
        caption.replaceChildren(tr("L{layer}, head {head}", { layer, head }), html("small", {}, first
          ? tr("last {n} of {all} tokens", { n: words.length, all: first + words.length }) : tr("blue: row looks at column")));
        small.forEach(([choose], h) => fill(choose, { "aria-pressed": h === head }));
      }
      const side = pitch();
      fill(row, { y: token * side, height: side });
      fill(spot, { x: key * side - 2, y: token * side - 2, width: side + 4, height: side + 4 });
      place();
    },
  };
}

const SHADES = 255;
const shades = {};

/** Colors of weights from 0 to 1, four bytes each, computed once for a theme; the last one is not-a-number's. */
function shadesOf(dark) {
  if (!shades[dark]) {
    const colors = palette(dark);
    const all = [...Array.from({ length: SHADES + 1 }, (_, i) => colors.at(i / SHADES)), colors.at(NaN)];
    shades[dark] = Uint8ClampedArray.from(all.flatMap((rgb) => [...rgb, 255]));
  }
  return shades[dark];
}

/** Paints the slots × slots weights in use, of T × T, into a canvas; what is beyond 0 and 1 has the color of the nearer. */
function paintWeights(canvas, weights, ui) {
  const [T, slots] = [ui.spec.tokens, ui.read.slots];
  const out = new ImageData(slots, slots);
  const [to, from] = [new Uint32Array(out.data.buffer), new Uint32Array(shadesOf(ui.dark).buffer)];
  for (let i = 0; i < to.length; i++) {
    const v = weights[Math.floor(i / slots) * T + (i % slots)];
    to[i] = from[Number.isNaN(v) ? SHADES + 1 : Math.round(clamp(v, 0, 1) * SHADES)];
  }
  if (canvas.width !== slots) canvas.width = canvas.height = slots;
  paintImage(canvas, out);
}

function paintMap(canvas, ui, layer, head) {
  const { tokens: T, sizes } = ui.spec;
  const at = (layer * sizes.n_heads + head) * T * T;
  paintWeights(canvas, ui.table("att").subarray(at, at + T * T), ui);
}

/** What the model would say after each layer: the stream at that level, read by the last norm and the unembedding. */
function lensPanel(ui, parent) {
  const { layers: L } = ui.spec;
  const [W, left, high, shown] = [248, 22, 20, 3];
  parent.append(html("p", { class: "ta-caption", style: "margin-top: 4px" }, tr("What each layer would say next")));
  const canvas = picture(parent, W, (L + 1) * high, tr("The likeliest next tokens at the bottom and after each layer"));
  const wide = (W - left) / shown;
  const mark = svg("rect", { x: 0, width: W, height: high, class: "an-band" });
  canvas.append(mark);
  const rows = Array.from({ length: L + 1 }, (_, i) => {
    const y = (L - i) * high;
    label(canvas, 0, y + 13, i ? `L${i - 1}` : tr("in"), "start", "ta-small");
    return Array.from({ length: shown }, (_, j) => {
      const bar = svg("rect", { x: left + j * wide, y: y + 16, height: 4, class: j ? "an-pale" : "ta-fill-one" });
      canvas.append(bar);
      return [bar, label(canvas, left + j * wide, y + 13, "", "start", j ? "ta-small" : "ta-strong")];
    });
  });
  return {
    rise(height) { cutAbove(canvas, height === Infinity ? height : (Math.floor(height) + 0.95) / (L + 1)); },
    draw({ token, layer }, says) {
      fill(mark, { y: (L - layer - 1) * high });
      const faint = !namesItself(ui, token, says);
      fill(rows[0][0][1], { class: faint ? "ta-small" : "ta-strong" });
      rows.forEach((row, i) => row.forEach(([bar, text], j) => {
        const [word, share] = says(token, 2 * i, j);
        // What has next to no chance is left out: at the bottom it is noise.
        const nothing = i === 0 && faint;
        const noise = nothing || share < 0.005;
        const comment = nothing ? [tr("nothing yet")] : i === 0 ? ["", tr("the token itself")] : [];
        write(text, noise ? comment[j] ?? "" : `${shownToken(word).slice(0, 6)} ${percent(share)}`);
        fill(bar, { width: Number.isFinite(share) && !noise ? ((wide - 6) * clamp(share, 0, 1)).toFixed(1) : 0 });
      }));
    },
  };
}

const widget = { render: mount(anatomyWidget) };
export default widget;
