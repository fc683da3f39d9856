// Of ObjectiveLab: GPT, BERT and T5 under one sentence. One word is to be predicted; arrows come from what each one sees.

const [CHIP, ARC, WIDEST] = [24, 26, 80]; // px: height of a word, room for its arrows, and its largest width
const THREE = ["GPT", "BERT", "T5"];
const THEIRS = ["next_token_pairs", "mask_tokens", "span_corruption"];

/** Words that each of the three sees when it must predict word p; null where it need not predict that word. */
function seenByThree(p, { masked, spans }) {
  const words = masked.map((_, c) => c);
  return [
    p > 0 ? words.filter((c) => c < p) : null,
    masked[p] ? words.filter((c) => c !== p) : null,
    spans[p] ? words.filter((c) => !spans[c] || c < p) : null, // the decoder has written what it hid before p
  ];
}

/** Place of the token that must predict word p under that objective, and back; undefined where there is none. */
function placesOf(which, { spans, encoder }) {
  const written = []; // words of T5's decoder; undefined for the sentinel before each span
  spans.forEach((on, c) => { if (on) written.push(...(spans[c - 1] ? [c] : [undefined, c])); });
  const places = spans.map((_, c) => [c > 0 ? c - 1 : undefined, c, spans[c] ? encoder + written.indexOf(c) : undefined][which]);
  return { placeOf: (word) => places[word], wordAt: (place) => (places.includes(place) ? places.indexOf(place) : undefined) };
}

/** The picture; setting() → { draws: { masked, spans, reads, encoder }, which: place in THREE, or −1 }. */
function threeWays(ui, parent, setting) {
  const { text } = ui.spec;
  const narrow = ui.room < 480;
  const [left, row] = [narrow ? 0 : 52, CHIP + ARC + (narrow ? 14 : 0)];
  const cell = Math.min(WIDEST, (ui.room - left - 2) / text.length);
  const [W, H] = [left + cell * text.length + 2, THREE.length * row];
  const box = html("div", { class: "ta-panel", style: "margin-bottom: 8px" }, html("p", { class: "ta-caption" },
    tr("One word to predict"), html("small", {}, tr("blue: it sees this; gray: covered; dashed: taken out of the text"))));
  parent.append(box);
  const canvas = picture(box, W, H, tr("One sentence under GPT, BERT and T5: what each sees to predict one word"));
  const middle = (c) => left + (c + 0.5) * cell;
  const rows = THREE.map((name, i) => {
    const y = i * row + ARC + (narrow ? 14 : 0);
    label(canvas, narrow ? 0 : left - 10, narrow ? i * row + 12 : y + 16, name, narrow ? "start" : "end", "ta-strong");
    const why = label(canvas, left + (narrow ? 44 : 2), narrow ? i * row + 12 : y - 7, "", "start", "ta-small");
    // One for each word, which it keeps: so arrows travel to the next word instead of jumping.
    const arcs = text.map(() => svg("path", { style: "fill: none; stroke: var(--ta-one); stroke-width: 1.4" }));
    const head = svg("path", { style: "fill: var(--ta-one)" });
    const unknown = label(canvas, 0, y + 16, "?", "middle", "ta-strong ta-until"); // until the learner has guessed
    const chips = text.map((_, c) => {
      const rect = svg("rect", { x: left + c * cell + 1, y, width: cell - 2, height: CHIP, rx: 3, class: "ta-axis" });
      canvas.append(rect);
      return [rect, label(canvas, middle(c), y + 16, "", "middle", "ta-small")];
    });
    canvas.append(svg("g", { class: "ta-arcs" }, ...arcs), head, unknown);
    return { y, why, arcs, head, chips, unknown };
  });
  const places = () => placesOf(setting().which, setting().draws);
  const now = () => ui.seen("word") ?? places().wordAt(ui.seen("place")) ?? Math.max(setting().draws.spans.indexOf(true), 0);
  const place = cursor(ui, canvas, {
    name: tr("Word to predict"), cross: false,
    box: () => ({ x: left, y: 0, width: cell * text.length, height: H }),
    size: () => [text.length, 1], at: () => [now(), 0],
    // Where the chosen objective predicts that word, its example below follows.
    state(c) {
      const token = places().placeOf(c);
      return token === undefined ? { word: c } : { place: token };
    },
    says: (c) => text[c],
  });

  function drawRow({ y, why, arcs, head, chips, unknown }, i, p, seen, { masked, spans, reads }) {
    write(why, seen ? "" : i ? tr("does not hide “{word}”, so it need not predict it", { word: text[p] })
      : tr("nothing stands before “{word}”", { word: text[p] }));
    const hides = [() => false, (c) => masked[c], (c) => spans[c]][i];
    chips.forEach(([rect, words], c) => {
      const [target, blue] = [seen !== null && c === p, seen?.includes(c) ?? false];
      const color = target ? "fill: var(--ta-two); fill-opacity: 0.3" : blue ? "fill: var(--ta-one); fill-opacity: 0.3"
        : seen ? "fill: var(--ta-rule); fill-opacity: 0.55" : "fill: none";
      const edge = hides(c) && !target ? "; stroke-dasharray: 4 3; stroke: var(--ta-soft)" : "";
      fill(rect, { class: target ? "ta-mark" : "ta-axis", style: color + edge });
      write(words, i === 1 && masked[c] && !target ? reads[c] : text[c]);
      fill(words, { class: target || blue ? "ta-strong" : "ta-small", style: "font-size: 11px" });
      words.toggleAttribute("data-readout", target);
    });
    fill(unknown, { x: middle(p), style: seen ? "" : "display: none" });
    const top = y - 1;
    const arc = (c) => {
      const [from, to] = [middle(c).toFixed(1), middle(p).toFixed(1)];
      return `M${from} ${top}C${from} ${top - high(c)} ${to} ${top - high(c)} ${to} ${top - 3}`;
    };
    const high = (c) => 12 + (18 * Math.abs(c - p)) / text.length;
    arcs.forEach((path, c) => fill(path, { d: arc(c), opacity: Number(seen?.includes(c) ?? false) }));
    fill(head, { d: `M${middle(p)} ${top}l-4 -7h8z`, opacity: Number(seen?.length > 0) });
  }

  return {
    draw() {
      const { draws, which } = setting();
      box.hidden = which < 0;
      if (which < 0) return;
      const p = now();
      seenByThree(p, draws).forEach((seen, i) => drawRow(rows[i], i, p, seen, draws));
      place();
    },
  };
}
