// Of ObjectiveLab: models under one sentence. One word is to be predicted; arrows come from what each of them sees.

const [CHIP, ARC, WIDEST] = [24, 26, 80]; // px: height of a word, room for its arrows, and its largest width
const MODELS = ["GPT", "BERT", "T5", "GLM"];
const THEIRS = ["next_token_pairs", "mask_tokens", "span_corruption", "blank_infilling"];
// Places in MODELS of those that are compared: GLM hides what T5 does, and four rows would be higher than a screen.
const beside = (which) => (MODELS[which] === "GLM" ? [2, 3] : [0, 1, 2]);

/** Words that each model sees when it must predict word p; null where it need not predict that word. */
function seenByEach(p, { masked, spans, columns }) {
  const words = masked.map((_, c) => c);
  return [
    p > 0 ? words.filter((c) => c < p) : null,
    masked[p] ? words.filter((c) => c !== p) : null,
    spans[p] ? words.filter((c) => !spans[c] || c < p) : null, // the decoder has written what it hid before p
    spans[p] ? words.filter((c) => !spans[c] || columns[c] < columns[p]) : null, // so has GLM, in an order of its own
  ];
}

/** Of the words seen to predict word p, those behind it, and all. */
const missing = (seen, p) => ({ n: seen.filter((c) => c > p).length, all: seen.length });

/** Place of the token that must predict word p under that objective, and back; undefined where there is none. */
function placesOf(which, { spans, columns, encoder }) {
  const written = []; // words of T5's decoder; undefined for the sentinel before each span
  spans.forEach((on, c) => { if (on) written.push(...(spans[c - 1] ? [c] : [undefined, c])); });
  const places = spans.map((_, c) => [c > 0 ? c - 1 : undefined, c, spans[c] ? encoder + written.indexOf(c) : undefined,
    columns[c]][which]);
  return { placeOf: (word) => places[word], wordAt: (place) => (places.includes(place) ? places.indexOf(place) : undefined) };
}

/**
 * The token of GLM's example that must predict each word; undefined where the word is not hidden. `at` is the row of
 * positions, which names a blank by the place of its [M] among the `masks`; `inside` counts from its [S], which is 1.
 */
function columnsOf(spans, masks, at, inside) {
  const starts = spans.flatMap((on, c) => (on && !spans[c - 1] ? [c] : []));
  const columns = spans.map(() => undefined);
  inside.forEach((n, column) => {
    const word = starts[masks.indexOf(at[column])] + n - 1;
    if (n > 0 && spans[word]) columns[word] = column;
  });
  return columns;
}

/**
 * The picture; setting() → { draws: { masked, spans, columns, reads, encoder }, which: place in MODELS, or −1, cut }.
 * Where cut, the text ends at the word: what a model learned to predict from and misses now leaves a dashed arrow, and
 * its name says how much that is.
 */
function waysToSee(ui, parent, setting) {
  const { text } = ui.spec;
  const narrow = ui.room < 480;
  const [left, row] = [narrow ? 0 : 92, CHIP + ARC + (narrow ? 14 : 0)];
  const cell = Math.min(WIDEST, (ui.room - left - 2) / text.length);
  const W = left + cell * text.length + 2;
  const high = () => beside(setting().which).length * row;
  const [legend, tally] = [html("span"), html("span", { "data-part": "tally" })];
  const box = html("div", { class: "ta-panel", style: "margin-bottom: 4px" }, html("p", { class: "ta-caption" },
    tr("One word to predict"),
    html("small", {}, legend, tally)));
  parent.append(box);
  const canvas = picture(box, W, row, tr("One sentence under several models: what each sees to predict one word"));
  const stack = svg("g");
  canvas.append(stack);
  const middle = (c) => left + (c + 0.5) * cell;
  const y = ARC + (narrow ? 14 : 0);
  const rows = MODELS.map((name) => {
    const node = svg("g");
    label(node, narrow ? 0 : left - 6, narrow ? 12 : y + 3, name, narrow ? "start" : "end", "ta-strong");
    const why = label(node, left + (narrow ? 110 : 2), narrow ? 12 : y - 7, "", "start", "ta-small");
    const [tally, lost] = [{ "data-part": "tally", "data-readout": "tally" }, { "data-readout": "lost" }].map((more) => {
      const text = label(node, narrow ? 42 : left - 6, narrow ? 12 : y + 18, "", narrow ? "start" : "end", "ta-small");
      fill(text, { style: "font-size: 11px", ...more });
      return text;
    });
    // One for each word, which it keeps: so arrows travel to the next word instead of jumping.
    const arcs = text.map(() => svg("path"));
    const head = svg("path", { style: "fill: var(--ta-one)" });
    const unknown = label(node, 0, y + 16, "?", "middle", "ta-strong ta-until"); // until the learner has guessed
    const chips = text.map((_, c) => {
      const rect = svg("rect", { x: left + c * cell + 1, y, width: cell - 2, height: CHIP, rx: 3, class: "ta-axis" });
      node.append(rect);
      return [rect, label(node, middle(c), y + 16, "", "middle", "ta-small")];
    });
    node.append(svg("g", { class: "ta-arcs" }, ...arcs), head, unknown);
    return { node, why, arcs, head, chips, unknown, tally, lost };
  });
  const places = () => placesOf(setting().which, setting().draws);
  const now = () => ui.seen("word") ?? places().wordAt(ui.seen("place")) ?? Math.max(setting().draws.spans.indexOf(true), 0);
  const place = cursor(ui, canvas, {
    name: tr("Word to predict"), cross: false,
    box: () => ({ x: left, y: 0, width: cell * text.length, height: high() }),
    size: () => [text.length, 1], at: () => [now(), 0],
    // Where the chosen objective predicts that word, its example below follows.
    state(c) {
      const token = places().placeOf(c);
      return token === undefined ? { word: c } : { place: token };
    },
    says: (c) => text[c],
  });

  function drawRow({ why, arcs, head, chips, unknown, tally, lost }, i, p, seen, { masked, spans, reads }, cut) {
    write(why, seen ? "" : i ? tr("does not hide “{word}”: no prediction", { word: text[p] })
      : tr("nothing stands before “{word}”", { word: text[p] }));
    const there = (c) => !cut || c <= p;
    const asked = [text.slice(1), masked, spans, spans][i].filter(Boolean).length;
    write(tally, cut ? "" : tr("{n} words", { n: asked }));
    write(lost, cut && seen ? tr("{n} of {all} missing", missing(seen, p)) : "");
    const hides = [() => false, (c) => masked[c], (c) => spans[c], (c) => spans[c]][i];
    chips.forEach(([rect, words], c) => {
      const [target, blue] = [seen !== null && c === p, there(c) && (seen?.includes(c) ?? false)];
      const color = target ? "fill: var(--ta-two); fill-opacity: 0.3" : blue ? "fill: var(--ta-one); fill-opacity: 0.3"
        : seen && there(c) ? "fill: var(--ta-rule); fill-opacity: 0.55" : "fill: none";
      const edge = there(c) && hides(c) && !target ? "; stroke-dasharray: 4 3; stroke: var(--ta-soft)" : "";
      fill(rect, { class: target ? "ta-mark" : "ta-axis", style: color + edge });
      write(words, !there(c) ? "" : i === 1 && masked[c] && !target ? reads[c] : text[c]);
      const style = `font-size: 11px${narrow ? "; font-weight: 400" : ""}`; // on a phone, bold words would touch
      fill(words, { class: target || blue ? "ta-strong" : "ta-small", style });
      words.toggleAttribute("data-readout", target);
    });
    fill(unknown, { x: middle(p), style: seen ? "" : "display: none" });
    const top = y - 1;
    const arc = (c) => {
      const [from, to] = [middle(c).toFixed(1), middle(p).toFixed(1)];
      return `M${from} ${top}C${from} ${top - bow(c)} ${to} ${top - bow(c)} ${to} ${top - 3}`;
    };
    const bow = (c) => 12 + (18 * Math.abs(c - p)) / text.length;
    arcs.forEach((path, c) => {
      const [learned, ghost] = [seen?.includes(c) ?? false, !there(c)];
      const stroke = ghost ? "stroke: var(--ta-bad); stroke-dasharray: 3 3" : "stroke: var(--ta-one)";
      fill(path, { d: arc(c), opacity: learned ? (ghost ? 0.7 : 1) : 0, style: `fill: none; stroke-width: 1.4; ${stroke}` });
    });
    fill(head, { d: `M${middle(p)} ${top}l-4 -7h8z`, opacity: Number(seen?.length > 0) });
  }

  let drawn = "";
  return {
    draw() {
      const { draws, which, cut } = setting();
      box.hidden = which < 0;
      if (which < 0) return;
      const those = beside(which);
      if (drawn !== String(those)) {
        drawn = String(those);
        those.forEach((i, at) => rows[i].node.setAttribute("transform", `translate(0 ${at * row})`));
        stack.replaceChildren(...those.map((i) => rows[i].node));
        fill(canvas, { viewBox: `0 0 ${W} ${high()}`, height: high() });
      }
      write(legend, cut ? tr("blue: it sees this; dashed arrow: it saw this when it learned")
        : tr("blue: it sees this; gray: covered; dashed: predicted, too; [M] hides a word"));
      write(tally, cut ? "" : tr("; left: words to predict"));
      const p = now();
      const each = seenByEach(p, draws);
      for (const i of those) drawRow(rows[i], i, p, each[i], draws, cut);
      place();
    },
    now,
    placeOf: (word) => places().placeOf(word),
    /** In words: what each loses where nothing follows the word; "" where no sentence is shown. */
    lost() {
      const { draws, which } = setting();
      const p = now();
      const each = which < 0 ? [] : seenByEach(p, draws);
      const said = which < 0 ? [] : beside(which).filter((i) => each[i])
        .map((i) => tr("{name} loses {n} of {all}", { name: MODELS[i], ...missing(each[i], p) }));
      const told = said.join(tr("{a}, {b}", { a: "", b: "" }));
      return told && tr("What follows “{word}” is not written yet: {told}", { word: text[p], told });
    },
  };
}
