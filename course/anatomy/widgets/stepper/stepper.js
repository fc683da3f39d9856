// CacheStepper: eight tokens in chunks; one panel for what a step reads or scores, one for where the tokens lie.

const STEP_MS = 900; // between two steps of "Play"

const endsOf = (plan) => plan.map((_, i) => plan.slice(0, i + 1).reduce((a, b) => a + b));
/** The row of the tables for a beginning of the text: a bit for each cut, and a highest one for its length. */
const nodeOf = (plan) => endsOf(plan).reduce((node, end) => node + 2 ** (end - 1), 0);

/** Numbers in a row, as the language sets them. */
const inRow = (numbers) => numbers.join(tr("{a}, {b}", { a: "", b: "" }));

/** A list of plans, and a check box for every place where the text can be cut. */
function planControls(ui) {
  const { spec } = ui;
  const id = freshId();
  const list = keepKeys(html("select", { id }));
  spec.planNames.forEach((name, i) => list.append(html("option", { value: i }, name)));
  const own = spec.plans.length;
  list.options[own].disabled = true; // it names what the check boxes below have made
  list.addEventListener("change", () => ui.set("plan", spec.plans[Number(list.value)]));
  const known = html("div", { class: "ta-control ta-whole", "data-part": "plan" }, html("label", { for: id }, tr("chunk plan")), list);
  const set = html("fieldset", { class: "ta-choice", "data-part": "plan" }, html("legend", {}, tr("cut after token")));
  const boxes = Array.from({ length: spec.length - 1 }, (_, i) => {
    const box = keepKeys(html("input", { type: "checkbox" }));
    box.addEventListener("change", () => {
      const ends = boxes.flatMap((b, j) => (b.checked ? [j + 1] : [])).concat(spec.length);
      ui.set("plan", ends.map((end, j) => end - (j ? ends[j - 1] : 0)));
    });
    set.append(html("label", {}, box, String(i)));
    return box;
  });
  ui.controls.append(known, set);
  ui.bind("plan", (plan) => {
    const place = spec.plans.findIndex((p) => p.join() === plan.join());
    list.value = place < 0 ? own : place;
    const ends = endsOf(plan);
    boxes.forEach((box, i) => { box.checked = ends.includes(i + 1); });
  });
}

/** The step at first; folded away what else can be set. Returns the choice of positions, which one view has, and show(). */
function stepperControls(ui) {
  const { spec } = ui;
  const named = (names) => ({ values: names.map((_, i) => i), show: (i) => names[i] });
  const origins = ui.get("alone") ? [tr("counted on"), spec.origins[1]] : spec.origins; // no learner, no name of a function
  const row = (...make) => {
    const line = html("div", { class: "ta-bar", style: "grid-column: 1 / -1; column-gap: 22px; row-gap: 0" });
    for (const one of make) {
      const before = ui.controls.childElementCount;
      one();
      line.append(...[...ui.controls.children].slice(before));
    }
    ui.controls.append(line);
    return line;
  };
  const first = row(() => slider(ui, { trait: "chunk", name: tr("step"), max: () => ui.get("plan").length - 1, show: (i) => String(i + 1) }));
  first.lastElementChild.style.flex = "1 1 100px";
  player(ui, first, {
    every: STEP_MS,
    step: () => ui.pin({ chunk: ui.get("chunk") < ui.get("plan").length - 1 ? ui.get("chunk") + 1 : 0 }),
    ends: () => ui.get("chunk") === ui.get("plan").length - 1,
  });
  const second = row(
    () => choice(ui, { trait: "view", name: tr("look at"), ...named(spec.views) }),
    () => choice(ui, { trait: "origin", name: tr("positions"), ...named(origins) }),
  );
  unfolder(ui, first, tr("cuts, stores, positions"), second);
  first.lastElementChild.dataset.part = "more";
  const rest = [second, row(() => choice(ui, { trait: "store", name: tr("store"), ...named(spec.stores) })), row(() => planControls(ui))];
  return [second.lastElementChild, () => {
    for (const line of rest) line.hidden = !ui.get("more");
  }];
}

function stepperWidget(ui) {
  const { spec } = ui;
  const N = spec.length;
  const [origin, showControls] = stepperControls(ui);
  ui.root.append(ui.readout);
  const row = ui.row();
  const room = Math.max(ui.room, 280); // a page that is still being laid out may have none
  const wide = room >= 700;
  const large = room < 900 ? 424 : 500;
  const grid = gridPanel(ui, row, wide ? large : room, scene);
  const beside = wide ? room - large - 20 : room;
  const memory = memoryPanel(ui, row, beside, scene, grid.cellOf);
  const saved = savingPanel(memory.node, beside);
  const show = signs(memory.node, [
    [tr("in one buffer, weights as without cuts"), tr("largest difference of an attention weight of the chunk")],
    [tr("scores as without cuts"), tr("largest change of a score, where positions go on counting")],
  ]);

  const signsOf = (node) => node.querySelector(".ta-signs");

  /** What is on show: the chunk that is pointed at or set, what it sees, and where its scores lie. */
  function scene() {
    const [plan, store] = [ui.get("plan"), ui.get("store")];
    const step = Math.min(ui.seen("chunk"), plan.length - 1);
    const ends = endsOf(plan);
    const [start, stop] = [ends[step] - plan[step], ends[step]];
    const [rolling, turning, wrong] = [store === 1, ui.get("view") === 1, ui.get("origin") === 1];
    const node = nodeOf(plan.slice(0, step + 1));
    const positions = ui.table(wrong ? "restart_p" : "p_rotary_step").subarray(node * N, (node + 1) * N);
    const low = (q) => (rolling ? Math.max(0, q - spec.window + 1) : 0);
    const chunkOf = (q) => ends.findIndex((end) => end > q);
    // Every row was computed in its own chunk, so its numbers lie at the node of that chunk.
    const cell = (name, q, k) => ui.table(name)[(nodeOf(plan.slice(0, chunkOf(q) + 1)) * N + q) * N + k];
    const pointed = ui.seen("query");
    const query = pointed >= start && pointed < stop ? pointed : undefined;
    const score = (q, k) => cell(wrong ? "restart" : "scores", q, k);
    /** What a query gives to the keys from `first` on; of scores, before they are divided by their sum. */
    const given = (q, first) => {
      let sum = 0;
      for (let j = first; j <= q; j++) sum += turning ? Math.exp(score(q, j)) : cell("w_cached_attention", q, j);
      return sum;
    };
    // The function was given one buffer. What a window would give are the same weights, shared out anew.
    const weight = (q, k) => cell("w_cached_attention", q, k) / (rolling ? given(q, low(q)) : 1);
    return {
      plan, store, step, ends, start, stop, rolling, turning, wrong, node, low, chunkOf, weight, query, score,
      lost: low(stop - 1), // words that the newest query no longer sees
      price: () => fixed(1 - given(stop - 1, low(stop - 1)) / given(stop - 1, 0), 2), // its weight for them, if it did
      key: ui.seen("key"),
      sees: (q, k) => k <= q && k >= low(q),
      at: (t) => (Number.isNaN(positions[t]) ? "?" : String(positions[t])),
    };
  }

  return {
    draw() {
      const now = scene();
      const { plan, store, step, start, stop, turning, wrong } = now;
      showControls();
      origin.hidden = !turning;
      // Room for the longest words, so that a formula does not move the picture under the hand.
      ui.readout.style.minHeight = `${wide ? (turning ? 62 : 43) : turning ? 152 : 98}px`;
      const change = grid.draw(now);
      memory.draw(now);

      const read = stop - now.low(start);
      const stored = now.rolling ? Math.min(stop, spec.window) : stop;
      const gap = ui.table(turning ? (wrong ? "restart_gap" : "turned_gap") : "gap")[now.node];
      const [good, still] = [gap <= spec.tolerance, change <= 1e-3];
      show([[short(gap), good ? tr("same") : tr("differs"), good],
        turning ? [short(change), still ? tr("same") : tr("differs"), still] : ["", ""]]);
      signsOf(memory.node).lastElementChild.hidden = !turning; // scores are looked at in one of the views
      saved(now);
      const state = tr("step {n} of {all}: {computed}, {read}, {kept}", {
        n: step + 1, all: plan.length,
        computed: stop - start === 1 ? tr("token {n} is computed", { n: start })
          : tr("tokens {first} to {last} are computed", { first: start, last: stop - 1 }),
        read: read === 1 ? tr("1 key is read") : tr("{n} keys are read", { n: read }),
        kept: withLoss(tr("{kept} ({store})", {
          kept: stored === 1 ? tr("1 token is kept") : tr("{n} tokens are kept", { n: stored }),
          store: spec.stores[store],
        }), now),
      });
      const whose = ui.get("alone") ? tr("counted on") : tr("by the reference’s rotary_step");
      const origins = [ui.table("own")[ui.get("view")] ? spec.origins[0] : whose, spec.origins[1]];
      const told = still ? N_("{state}; positions of the keys, {origin}: {positions}; every score is right")
        : N_("{state}; positions of the keys, {origin}: {positions}; a score changes by up to {change}");
      ui.say(!turning ? state : tr(told, {
        state, origin: origins[wrong ? 1 : 0], change: short(change),
        positions: Array.from({ length: stop }, (_, t) => now.at(t)).join(" "),
      }), now.query === undefined ? memory.formula(now) : grid.formula(now));
      ui.root.dataset.key = `${plan},${store},${step},${turning},${wrong},${short(gap)}`;
    },
  };
}

/** What is kept, and what that costs the newest query. */
function withLoss(kept, { lost, stop, price }) {
  if (!lost) return kept;
  const told = { kept, query: stop - 1, n: lost, share: price() };
  return lost === 1 ? tr("{kept}; query {query} has lost 1 word, which would get {share} of its weight", told)
    : tr("{kept}; query {query} has lost {n} words, which would get {share} of its weight", told);
}

/** One row for each query, one column for each key: weights, or scores with the positions above. */
function gridPanel(ui, parent, W, scene) {
  const { spec } = ui;
  const N = spec.length;
  const narrow = W < 400;
  const [left, top, tall] = [narrow ? 54 : 66, 36, W < 450 ? 20 : 27];
  const across = Math.floor((W - left) / N);
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const caption = html("p", { class: "ta-caption" });
  box.append(caption);
  parent.append(box);
  const canvas = picture(box, W, top + N * tall + 18, tr("One row for each query, one column for each key"));
  const inColumn = (k, y, kind) => label(canvas, left + (k + 0.5) * across - 1, y, "", "middle", kind);
  const each = (make) => Array.from({ length: N }, (_, i) => make(i));
  label(canvas, left - 8, 14, tr("key"), "end", "ta-small");
  const at = label(canvas, left - 8, 30, "", "end", "ta-small");
  const columns = each((k) => [14, 30].map((y) => inColumn(k, y, "ta-small")));
  const names = each((q) => label(canvas, left - 8, top + (q + 0.5) * tall + 4, tr("query {n}", { n: q }), "end", "ta-small"));
  const cells = each((q) => each((k) => {
    const [x, y] = [left + k * across, top + q * tall];
    const rect = svg("rect", { x, y, width: across - 2, height: tall - 2 });
    canvas.append(rect);
    return [rect, label(canvas, x + across / 2 - 1, y + tall / 2 + 3, "", "middle", "ta-onfill")];
  }));
  const legend = fillLegend(box);
  const mark = svg("rect", { width: across - 2, height: tall - 2, class: "ta-mark" });
  canvas.append(mark);
  const should = label(canvas, left - 8, top + N * tall + 12, "", "end", "ta-small");
  const shoulds = each((k) => inColumn(k, top + N * tall + 12, "ta-small"));
  const place = cursor(ui, canvas, {
    name: tr("Cells; arrow keys choose a query and a key, and with the query its step"), cross: false,
    box: () => ({ x: left, y: top, width: N * across, height: N * tall }),
    size: () => [N, N],
    at: () => {
      const now = scene();
      return [now.key ?? now.stop - 1, now.query ?? now.stop - 1];
    },
    state: (key, query) => ({ chunk: scene().chunkOf(query), query, key }),
    says: (key, query) => tr("query {query}, key {key}", { query, key }),
  });

  return {
    cellOf: (q, k) => cells[q][k][0],
    /** Draws the cells; returns the largest change of a score in this step. */
    draw(now) {
      const { start, stop, turning, key, query } = now;
      const right = ui.table("right");
      write(caption, turning ? tr("Scores of the queries in this step") : tr("Weights that the queries of this step give to the keys"));
      write(at, turning ? tr("position") : tr("word"));
      legend(turning);
      const shownRow = query ?? stop - 1;
      const strong = ui.dark ? [230, 159, 0] : [198, 87, 0];
      let change = 0;
      for (let q = 0; q < N; q++) {
        fill(names[q], { class: q >= start && q < stop ? "ta-strong" : "ta-small" });
        for (let k = 0; k < N; k++) {
          const [rect, text] = cells[q][k];
          const seen = q < stop && now.sees(q, k);
          const fresh = seen && q >= start;
          let loud = k >= start;
          let value = "";
          if (fresh && turning) {
            const score = now.score(q, k);
            const off = Math.abs(score - right[q * N + k]);
            if (!(off <= change)) change = off;
            loud = !(off <= 5e-3);
            value = fixed(score, 2);
          } else if (q === stop - 1 && k < now.lost) value = "×"; // it would see them, were they not lost
          else if (fresh) value = fixed(now.weight(q, k), 2);
          // Told apart by lightness too: full color for what is new or wrong, a tint for the rest.
          fill(rect, { class: fresh ? (loud ? "ta-fill-two" : "ta-fill-one") : "ta-axis" });
          rect.style.fillOpacity = fresh && !loud ? 0.22 : 1;
          rect.style.fill = seen && !fresh ? "var(--ta-panel)" : ""; // no numbers: a cache needs no earlier query again
          write(text, value);
          text.dataset.ink = "own";
          text.style.fill = fresh && loud ? inkOn(strong) : fresh ? "var(--ta-ink)" : "var(--ta-soft)";
          text.style.fontWeight = fresh ? 600 : 400;
        }
      }
      const wrong = turning && !(change <= 5e-3); // right scores need none beside them
      write(should, wrong ? tr("right") : "");
      columns.forEach(([token, position], k) => {
        write(token, String(k));
        fill(token, { class: k === key ? "ta-strong" : "ta-small" });
        write(position, k >= stop ? "" : turning ? now.at(k) : spec.text[k]); // what is not written yet is not there
        write(shoulds[k], wrong && now.sees(shownRow, k) ? fixed(right[shownRow * N + k], 2) : "");
      });
      const shown = query !== undefined && key !== undefined;
      mark.style.visibility = shown ? "visible" : "hidden";
      if (shown) fill(mark, { x: left + key * across, y: top + query * tall });
      place();
      return change;
    },
    /** The formula of the cell that is pointed at, with its numbers. */
    formula(now) {
      const { query: q, key: k, turning } = now;
      const told = { cell: `${turning ? "s" : "w"}[${q}, ${k}]`, key: k, query: q, n: spec.window };
      if (k > q) return tr("{cell}: key {key} comes later, query {query} may not see it.", told);
      if (!now.sees(q, k)) return tr("{cell}: key {key} has left the window of {n}.", told);
      if (turning) return scoreFormula(ui, now, q, k);
      const score = (j) => ui.table("raw")[q * N + j];
      let sum = 0;
      for (let j = now.low(q); j <= q; j++) sum += Math.exp(score(j));
      const [mine, full] = [now.weight(q, k), Math.exp(score(k)) / sum];
      const formula = `${told.cell} = exp(s[${q}, ${k}]) ÷ Σ exp(s[${q}, ·]) = exp(${fixed(score(k), 2)}) ÷ ${fixed(sum, 2)} = ${fixed(full, 2)}`;
      if (Math.abs(mine - full) > 5e-3) return tr("{formula}, but the function on show gives {mine}", { formula, mine: fixed(mine, 2) });
      return k >= now.start ? tr("{formula}; its key is new", { formula }) : tr("{formula}; its key is read from the store", { formula });
    },
  };
}

/** A score of two turned pairs: their lengths, the angle between them, and the distance of their positions. */
function scoreFormula(ui, now, q, k) {
  const pair = (name, t) => [...ui.table(name).subarray(2 * t, 2 * t + 2)];
  const [a, b] = [pair("pairs_q", q), pair("pairs_k", k)];
  const angle = Math.atan2(b[1], b[0]) - Math.atan2(a[1], a[0]);
  const [p, r] = [now.at(k), now.at(q)];
  const own = now.score(q, k);
  const right = ui.table("right")[q * ui.spec.length + k];
  const beside = (formula) => (Math.abs(own - right) <= 5e-3 ? formula
    : tr("{formula}; right: {right}", { formula, right: fixed(right, 2) }));
  if (p === "?" || r === "?") {
    return tr("{formula}; a position could not be read off the keys.", { formula: beside(`s[${q}, ${k}] = ${fixed(own, 2)}`) });
  }
  return beside(`s[${q}, ${k}] = ‖q‖ ‖k‖ cos(∠(q, k) + p[${k}] − p[${q}]) ÷ √2 = ${fixed(Math.hypot(...a), 3)} · ${fixed(Math.hypot(...b), 3)} · ` +
    `cos(${fixed(angle, 3)} + ${p} − ${r}) ÷ √2 = ${fixed(own, 2)}`);
}

const widget = { render: mount(stepperWidget) };
export default widget;
