// PermutationExplorer: permute the words; without positions the output's rows are permuted alike, and no more.

const PAUSE_MS = 1200; // between two orders of "Play"

function permutationWidget(ui) {
  const { spec } = ui;
  const [T, D] = [spec.words.length, spec.width];
  const named = spec.names.slice(0, spec.named);
  const own = (order) => (named.includes(order) ? [] : [order]); // that of a word which was moved comes last
  slider(ui, {
    trait: "order", name: tr("order"), values: () => [...named, ...own(ui.stands("order"))], show: (order) => tr(order), long: true,
  });
  slider(ui, { trait: "word", name: tr("word to follow"), max: T - 1, show: (i) => `${i}: ${spec.words[i]}` });
  choice(ui, { trait: "positions", name: tr("positions"), values: [false, true], show: (on) => (on ? tr("added") : tr("none")) });
  const bar = html("div", { class: "ta-bar", "data-part": "orders" });
  ui.controls.append(bar);
  player(ui, bar, {
    stepName: tr("Next order"),
    playName: tr("Play orders"),
    every: PAUSE_MS,
    step: () => ui.set("order", named[(Math.max(named.indexOf(ui.get("order")), 0) + 1) % named.length]), // a drag began at the first
    ends: () => ui.get("order") === named[0],
  });
  ui.root.append(ui.readout);
  if (ui.room < 600) ui.readout.style.minHeight = "79px"; // lines that come must not move the lanes under the hand
  const lanes = lanePanel(ui, T, D);
  const show = signs(ui.row(), [
    [tr("lanes A and B"), tr("largest difference; 0 without positions: permuting the words only permutes the rows")],
    [tr("the two “the” of f(x)"), tr("largest difference; 0 without positions: an equal word gets an equal output anywhere")],
    [tr("the reference"), tr("largest difference over all orders")],
  ]);

  let drawn = "";
  let now = null;
  return {
    stale() { drawn = ""; },
    draw() {
      const [on, order, word] = [ui.get("positions"), ui.seen("order"), ui.seen("word")];
      const [p, j] = [Number(on), spec.names.indexOf(order)];
      const setting = `${p},${j}`;
      if (drawn !== setting) {
        now = tablesOf(ui, p, j, D);
        lanes.paint(now, palette(ui.dark));
        const equal = (v) => v <= spec.tolerance;
        // With positions a difference is what should be seen; without them it is a mistake.
        const verdict = (v, trivial) => (equal(v) ? [tr("equal"), !on || trivial]
          : [on ? tr("differs, as it should") : tr("broken"), on]);
        const far = ui.table("far")[p];
        show([
          [ui.table("gap")[p * spec.names.length + j], j === 0], [ui.table("twins")[p], false],
        ].map(([v, trivial]) => [short(v), ...verdict(v, trivial)])
          .concat([[short(far), equal(far) ? tr("same") : tr("differs"), equal(far)]]));
        drawn = setting;
      }
      const feature = ui.seen("feature");
      const place = now.order.indexOf(word);
      lanes.mark(now.order, word, place, feature);
      const change = now.differences[place];
      const told = { sentence: now.order.map((i) => spec.words[i]).join(" "), word: spec.words[word], from: word, place,
        change: short(change) };
      const way = place === word ? tr("“{sentence}”: “{word}” stays at place {place}", told)
        : tr("“{sentence}”: “{word}” goes from place {from} to {place}", told);
      const kept = change <= spec.tolerance;
      // Of the sentence as written there is nothing to compare.
      const effect = j === 0 ? N_("{way}.") : kept ? N_("{way}, and its output stays the same.")
        : N_("{way}, and its output changes by {change}.");
      ui.say(tr(effect, { ...told, way }), formula(now, word, place, feature, D));
      ui.root.dataset.key = `${p},${j},${ui.get("word")}`;
    },
  };
}

/** What the lanes draw with these positions and this order; of each row of their results, the largest difference. */
function tablesOf(ui, p, j, D) {
  const { spec } = ui;
  const [order, size] = [spec.orders[j], spec.words.length * D];
  const out = (o) => {
    const start = (p * spec.names.length + o) * size;
    return ui.table("out").subarray(start, start + size);
  };
  const [before, after] = [out(0), out(j)];
  const rowOf = (values, i) => [...values.subarray(i * D, (i + 1) * D)];
  const moved = order.flatMap((i) => rowOf(before, i));
  const differences = order.map((_, i) => Math.max(...rowOf(after, i).map((v, f) => Math.abs(v - moved[i * D + f]))));
  return { before, moved, after, differences, order };
}

/** The number that is pointed at, in all maps; without one, which row is which. */
function formula({ before, after }, word, place, feature, D) {
  if (feature === undefined) return tr("P f(x)[{place}] = f(x)[{word}]; point at a cell for its numbers.", { place, word });
  const [old, at] = [word * D + feature, place * D + feature];
  const difference = after[at] - before[old];
  const gap = Math.abs(difference) < 1e-12 ? "0" : short(difference);
  return `P f(x)[${place}, ${feature}] = f(x)[${word}, ${feature}] = ${fixed(before[old])}; ` +
    `f(Px)[${place}, ${feature}] = ${fixed(after[at])}; ${tr("difference")} = ${gap}`;
}

const widget = { render: mount(permutationWidget) };
export default widget;
