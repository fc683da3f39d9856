// ExpertsExplorer: words fall into the stacks of three experts. A knob under each stack is the bias of its expert.

const PLAY_MS = 900; // between two steps of the balance
const CHIP = 15; // px of height of a word in a stack
const WEIGHTS = { "data-part": "weights", "data-of": "k" }; // a lone expert's is 1: the first step does without them

function expertsWidget(ui) {
  const { spec, room } = ui;
  const [N, E] = [spec.words.length, spec.experts];
  const levels = spec.biases.length;
  const none = spec.biases.indexOf(0);
  const knobs = Array.from({ length: E }, (_, e) => `bias${e}`);
  const wide = room >= 700;
  const later = []; // controls that are folded away at first
  const named = (list) => ({ values: list.map(([v]) => v), show: (v) => list.find(([w]) => w === v)[1] });

  slider(ui, { trait: "word", name: tr("word"), max: N - 1, show: (i) => spec.words[i] });
  const [bar, other] = ["balancing", "more"].map((part) => html("div", { class: "ta-bar", "data-part": part }));
  ui.controls.append(bar, other);
  player(ui, bar, { stepName: tr("Balance once"), playName: tr("Play"), every: PLAY_MS, step: balance, ends: settled });
  const balancing = [...bar.children];
  const been = []; // the positions of the knobs while Play runs
  let swings = ""; // the position to which Play has come back
  const fold = button(other, "", () => ui.set("more", !ui.get("more")));
  const sign = html("span", { "aria-hidden": "true" });
  fold.append(sign, tr("more settings"));
  ui.watch("more");
  choice(ui, { trait: "k", name: tr("experts for a word"), values: spec.choices });
  choice(ui, { trait: "router", name: tr("router (scores the experts)"), ...named(spec.routers) });
  chooseOf(tr("room of an expert"), "room", spec.rooms);
  later.push(...[...ui.controls.children].slice(-3));
  // Parts of their own: to be folded away is not to be away, and a step shows only the one that it speaks of.
  for (const node of later) fill(node, { "data-of": node.dataset.part, "data-part": `folded-${node.dataset.part}` });
  fill(ui.controls, { style: "display: flex; flex-wrap: wrap; column-gap: 20px" });
  ui.controls.firstChild.style.flex = "1 1 200px";
  ui.readout.style.minHeight = room < 480 ? "98px" : "43px";
  ui.root.append(ui.readout);

  const row = ui.row();
  const side = wide ? 300 : Math.min(room, 340);
  let now = null;
  const stacks = stackPanel(ui, row, wide ? room - side - 20 : room, { N, E, knobs, none, now: () => now });
  const scores = scorePanel(ui, row, side, { E, now: () => now });
  const show = signs(scores.box, [
    [tr("busiest expert"), tr("share of all choices")],
    [tr("experts without work"), tr("that nobody chose")],
    [tr("dropped"), tr("choices without a place")],
    [tr("choice and weights, as the reference"), tr("for all words")],
    [tr("next bias, as the reference"), tr("of each expert")],
    [tr("places, as the reference"), tr("which choices find one")],
  ]);

  /** A list bound to a trait that holds one of its values. */
  function chooseOf(name, trait, list) {
    const id = freshId();
    const select = keepKeys(html("select", { id }));
    list.forEach(([value, text]) => select.append(html("option", { value }, text)));
    ui.controls.append(html("div", { class: "ta-control ta-whole", "data-part": trait },
      html("label", { for: id }, name), select));
    select.addEventListener("change", () => ui.set(trait, select.value));
    ui.bind(trait, (value) => { select.value = value; });
  }

  /** Each knob goes where the learner's function moves its bias, as far as it can be turned. */
  function balance() {
    const { next } = scene();
    const [first, second] = spec.biases;
    const to = next.map((bias) => clamp(Math.round((bias - first) / (second - first)), 0, levels - 1));
    ui.setAll(Object.fromEntries(knobs.map((name, e) => [name, Number.isFinite(to[e]) ? to[e] : ui.get(name)])));
  }

  /** Whether Play has come to where it was: to rest, or, if the loads swing to and fro, once around. */
  function settled() {
    const { at } = scene();
    if (!been.includes(at)) return !been.push(at);
    swings = been.at(-1) === at ? "" : at;
    been.length = 0;
    ui.ask();
    return true;
  }

  function scene() {
    const [k, router, word, limit] = ["k", "router", "word", "room"].map((name) => ui.seen(name));
    const biased = router === spec.routers[0][0];
    const turned = knobs.map((name) => ui.seen(name));
    const at = (biased ? turned : turned.map(() => none)).reduce((sum, level) => sum * levels + level, 0);
    const [count, ki, ri] = [levels ** E, spec.choices.indexOf(k), spec.rooms.findIndex(([name]) => name === limit)];
    const wide_ = Math.max(...spec.choices) + 1;
    const from = (biased ? ki * count + at : ki) * N * wide_;
    const lines = ui.table(biased ? "t_route_biased" : "t_route").subarray(from, from + N * wide_);
    const words = spec.words.map((_, n) => {
      const digits = lines[n * wide_];
      return {
        chosen: Array.from({ length: k }, (__, rank) => Math.floor(digits / E ** (k - 1 - rank)) % E),
        weights: [...lines.subarray(n * wide_ + 1, n * wide_ + 1 + k)],
      };
    });
    const bits = ri ? ui.table("t_within_capacity")[(ki * (spec.rooms.length - 1) + ri - 1) * count + at] : NaN;
    const kept = (n, rank) => !ri || Math.floor(bits / 2 ** (n * k + rank)) % 2 > 0;
    // Stacks grow as places are given: all first choices in the order of the words, then all second ones.
    const stacks = Array.from({ length: E }, () => []);
    for (let rank = 0; rank < k; rank++) {
      words.forEach(({ chosen }, n) => stacks[chosen[rank]].push({ n, rank, kept: kept(n, rank) }));
    }
    const biases = turned.map((level) => (biased ? spec.biases[level] : 0));
    const next = [...ui.table("t_balanced_bias").subarray((ki * count + at) * E, (ki * count + at + 1) * E)];
    const scoresOf = (n) => {
      const exps = spec.logits[n].map(Math.exp);
      const sum = exps.reduce((a, b) => a + b);
      return exps.map((x) => (biased ? x / (1 + x) : x / sum));
    };
    return {
      k, word, biased, words, stacks, biases, next, scores: scoresOf(word), capacity: spec.capacities[ki][ri], at,
      loads: stacks.map((stack) => stack.length), mean: (N * k) / E, all: N * k,
      off: [ui.table(biased ? "off_route_biased" : "off_route")[biased ? ki * count + at : ki],
        ui.table("off_balanced_bias")[ki * count + at],
        ri ? ui.table("off_within_capacity")[(ki * (spec.rooms.length - 1) + ri - 1) * count + at] : 0],
      own: ui.table("own"), expert: ui.seen("expert"), part: ui.seen("part"),
    };
  }

  /** How the number that is pointed at comes about. */
  function formula() {
    const { expert, part, word, words, scores, biases, biased, loads, all, mean, capacity } = now;
    if (expert === undefined) return "";
    const load = capacity === null ? tr("expert {n}: {load} of {all} choices = {share} %; mean {mean}", {
      n: expert, load: loads[expert], all, share: Math.round((100 * loads[expert]) / all), mean: short(mean),
    }) : tr("expert {n}: {load} choices, room for {room}: {dropped} dropped", {
      n: expert, load: loads[expert], room: capacity, dropped: now.stacks[expert].filter((it) => !it.kept).length,
    });
    if (part === undefined) return load;
    const { chosen, weights } = words[word];
    const rank = chosen.indexOf(expert);
    const sum = chosen.reduce((total, e) => total + scores[e], 0);
    const three = (x) => fixed(x, 3); // two would show ties that are none
    const told = {
      word: spec.words[word], n: expert, score: three(scores[expert]), bias: short(biases[expert]),
      total: three(scores[expert] + biases[expert]),
      weight: rank < 0 ? "" : outcome(biased ? scores[expert] / sum : scores[expert], weights[rank]), sum: three(sum),
    };
    const chooses = biased ? tr("{word}, expert {n}: score {score} + bias {bias} = {total}", told)
      : tr("{word}, expert {n}: probability {score}, by a softmax over all three", told);
    if (rank < 0) return tr("{formula}: not chosen", { formula: chooses });
    return biased ? tr("{formula}; weight = {score} ÷ {sum} = {weight}", { ...told, formula: chooses })
      : tr("{formula} = its weight {weight}", { ...told, formula: chooses });
  }

  return {
    draw() {
      now = scene();
      const { loads, all, off, word, words, stacks: piles, k } = now;
      const more = ui.get("more");
      for (const node of later) node.hidden = !more;
      write(sign, more ? "▾ " : "▸ ");
      fill(fold, { "aria-expanded": String(more) });
      for (const node of balancing) node.disabled = !now.biased; // there is no bias to move
      stacks();
      scores.draw();
      const dropped = piles.flat().filter((it) => !it.kept).length;
      const verdict = (gap) => (gap <= spec.tolerance ? [tr("same"), true] : [tr("differs"), false]);
      show([
        [`${Math.round((100 * Math.max(...loads)) / all)} %`, ""],
        [String(loads.filter((n) => !n).length), ""],
        now.capacity === null ? ["–", tr("no limit")] : [tr("{n} of {all}", { n: dropped, all }), ""],
        ...off.map((gap) => ["", ...verdict(gap)]),
      ]);
      const bare = ui.without(WEIGHTS["data-part"], WEIGHTS["data-of"]);
      const goes = words[word].chosen.map((e, rank) => (bare ? tr("expert {n}", { n: e })
        : tr("expert {n} (weight {weight})", { n: e, weight: fixed(words[word].weights[rank], 2) })));
      const told = { loads: loads.join(", "), dropped, all, word: spec.words[word],
        goes: goes.join(tr("{a}, {b}", { a: "", b: "" })) };
      ui.say(now.capacity === null ? tr("Loads {loads}. “{word}” goes to {goes}.", told)
        : tr("Loads {loads}; dropped {dropped} of {all}. “{word}” goes to {goes}.", told),
        formula() || (now.biased && now.at === swings ? tr("The loads swing to and fro: steps of 0.1 are too coarse to meet the mean here.") : ""));
      ui.root.dataset.key = `${now.at},${k},${word},${now.biased},${now.capacity}`;
    },
  };
}

/** The stacks of words, the mean load, the room, and a knob below each. */
function stackPanel(ui, parent, W, { N, E, knobs, none, now }) {
  const { spec } = ui;
  const [top, left, right] = [36, 0, 50];
  const each = (W - left - right) / E;
  const foot = top + N * CHIP + 4;
  const H = foot + 52;
  const note = html("small");
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` },
    html("p", { class: "ta-caption" }, tr("Who works for which word"), note));
  parent.append(box);
  // The text in its order, in which the first ones are served; the slider of words does the same for a keyboard.
  const text_ = html("p", { class: "ta-note", "aria-hidden": "true", style: "margin: 0; cursor: pointer" });
  const said = spec.words.map((word, n) => {
    const node = html("span", {}, word);
    node.addEventListener("click", () => ui.set("word", n));
    text_.append(node, " ");
    return node;
  });
  box.append(text_);
  const canvas = picture(box, W, H, tr("Stacks of words: one for each expert, as high as its load, with a knob for its bias below"));
  const x = (e) => left + e * each;
  const chip = each * 0.84;
  const slot = (e, i) => `translate(${(x(e) + (each - chip) / 2).toFixed(1)} ${foot - (i + 1) * CHIP})`;
  const frames = Array.from({ length: E }, (_, e) => {
    canvas.append(svg("rect", { x: x(e) + 3, y: top, width: each - 6, height: foot - top,
      style: "fill: var(--ta-panel)" }));
    const mark = svg("rect", { x: x(e) + 3, y: top, width: each - 6, height: foot - top, class: "ta-mark" });
    canvas.append(mark);
    return { mark, name: label(canvas, x(e) + each / 2, 13, tr("expert {n}", { n: e }), "middle", "ta-strong"),
      load: label(canvas, x(e) + each / 2, 29, "", "middle", "ta-text") };
  });
  const mean = svg("path", { class: "ta-diagonal", "data-part": "mean" });
  const [meanName, roomName] = Array.from({ length: 2 }, () => label(canvas, W - right + 4, 0, "", "start", "ta-small"));
  meanName.dataset.part = "mean";
  const group = svg("g");
  const limit = svg("path", { class: "ta-mark", style: "stroke-width: 3" });
  canvas.append(mean, group, limit);
  const order = rowsByKey(group, (key) => {
    const node = svg("g", { "data-choice": key });
    node.append(svg("rect", { width: chip, height: CHIP - 2, rx: 3 }),
      svg("text", { x: chip / 2, y: 10.5, "text-anchor": "middle", class: "ta-small" }));
    return node;
  }, (i) => places[i]);
  let places = [];
  const place = cursor(ui, canvas, {
    name: tr("Stacks; arrow keys walk through the words"), cross: false,
    box: () => ({ x: left, y: foot - N * CHIP, width: E * each, height: N * CHIP }),
    size: () => [E, N],
    at: () => {
      const e = ui.seen("expert") ?? now().words[ui.seen("word")].chosen[0];
      const i = now().stacks[e].findIndex((it) => it.n === ui.seen("word"));
      return [e, N - 1 - Math.max(i, 0)];
    },
    state: (e, line) => {
      const it = now().stacks[e][N - 1 - line];
      return it ? { word: it.n, expert: e } : { expert: e };
    },
    says: (e, line) => {
      const it = now().stacks[e][N - 1 - line];
      return it ? tr("expert {n}, {word}", { n: e, word: spec.words[it.n] }) : tr("expert {n}, no word", { n: e });
    },
  });
  const reach = each / 2 - 22;
  const middle = (e) => x(e) + each / 2;
  const knobX = (e, level) => middle(e) + ((level - none) / none) * reach;
  const turned = knobs.map((trait, e) => {
    line(canvas, middle(e) - reach, foot + 18, middle(e) + reach, foot + 18, "ta-axis");
    line(canvas, middle(e), foot + 12, middle(e), foot + 24, "ta-axis");
    const dot = svg("circle", { r: 6, cy: foot + 18, class: "ta-here", style: "pointer-events: none" });
    const grip = svg("circle", { r: 13, cy: foot + 18, class: "ta-grip" });
    canvas.append(dot, grip);
    handle(ui, grip, {
      canvas, trait, name: tr("bias of expert {n}", { n: e }), max: spec.biases.length - 1,
      drag: ([px]) => clamp(Math.round(((px - middle(e)) / reach) * none + none), 0, spec.biases.length - 1),
      says: (level) => fixed(spec.biases[level], 1),
    });
    const text = label(canvas, middle(e), foot + 47, "", "middle", "ta-small");
    text.append(svg("tspan"), svg("tspan", { "data-part": "balancing" }));
    return { dot, grip, text };
  });

  return () => {
    const { stacks, words, word, loads, k, mean: even, capacity, biased, biases, next, own, expert, part } = now();
    const whose = own[biased ? 1 : 0] ? tr("yours") : ui.get("alone") ? "" : tr("the reference");
    const legend = k > 1 ? tr("dashed: second choices") : "";
    write(note, whose && legend ? tr("{a}; {b}", { a: whose, b: legend }) : whose || legend);
    said.forEach((node, n) => fill(node, { style: n === word ? "font-weight: 700; text-decoration: underline" : "" }));
    const all_ = stacks.flatMap((stack, e) => stack.map((it, i) => ({ ...it, e, i })));
    places = all_.map(({ e, i }) => slot(e, i));
    order(all_.map(({ n, rank }) => `${n}.${rank}`)).forEach((node, c) => {
      const { n, rank, kept } = all_[c];
      const here = n === word;
      const [rect, text] = node.children;
      fill(rect, { style: `fill: ${kept && rank === 0 ? "var(--ta-one)" : "var(--ta-paper)"}; fill-opacity: ${kept && rank === 0 ? 0.25 : 1}; `
        + `stroke: var(${here ? "--ta-ink" : kept ? "--ta-one" : "--ta-bad"}); stroke-width: ${here ? 2 : 1}; stroke-dasharray: ${rank ? "4 2" : "none"}` });
      write(text, kept ? spec.words[n] : `✗ ${spec.words[n]}`);
      const out = "text-decoration: line-through; fill: var(--ta-bad)";
      fill(text, { class: here ? "ta-strong" : "ta-small", style: kept ? "" : out });
    });
    const level = (n) => foot - n * CHIP;
    fill(mean, { d: `M${left} ${level(even)}H${left + E * each}` });
    fill(meanName, { y: level(even) + (capacity === even ? 14 : 4) });
    write(meanName, tr("mean {n}", { n: short(even) }));
    write(roomName, capacity === null ? "" : tr("room {n}", { n: capacity }));
    for (const node of [limit, roomName]) node.style.visibility = capacity === null ? "hidden" : "visible";
    if (capacity !== null) fill(roomName, { y: level(capacity) + (capacity === even ? 0 : 4) });
    if (capacity !== null) fill(limit, { d: frames.map((_, e) => `M${x(e) + 3} ${level(capacity)}h${each - 6}`).join("") });
    frames.forEach(({ mark, load }, e) => {
      mark.style.visibility = e === expert && part === undefined ? "visible" : "hidden";
      write(load, tr("load {n}", { n: loads[e] }));
    });
    turned.forEach(({ dot, grip, text }, e) => {
      const cx = knobX(e, ui.seen(knobs[e]));
      fill(dot, { cx, style: `pointer-events: none; opacity: ${biased ? 1 : 0.3}` });
      fill(grip, { cx });
      const moves = biased && Math.abs(next[e] - biases[e]) > 1e-3;
      write(text.children[0], biased ? tr("bias {bias}", { bias: fixed(biases[e], 1) }) : tr("no bias here"));
      write(text.children[1], moves ? ` → ${fixed(next[e], 1)}` : "");
    });
    place();
  };
}

/** The scores of one word: a bar for each expert, the line that chooses, and the weight that it gets. */
function scorePanel(ui, parent, W, { E, now }) {
  const { spec } = ui;
  const [high, left, right, low, top] = [42, 62, 8, -0.4, 1.4];
  const caption = html("span");
  const note = html("small");
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` },
    html("p", { class: "ta-caption" }, caption, note));
  parent.append(box);
  const canvas = picture(box, W, E * high + 18, tr("Bars: the scores of one word, and which experts it goes to"));
  const x = (v) => left + ((clamp(v, low, top) - low) / (top - low)) * (W - left - right);
  for (const v of [0, 0.5, 1]) {
    line(canvas, x(v), 0, x(v), E * high, v ? "ta-grid" : "ta-axis");
    label(canvas, x(v), E * high + 14, short(v), "middle", "ta-small");
  }
  const rows = Array.from({ length: E }, (_, e) => {
    const y = e * high;
    const bar = svg("rect", { x: x(0), y: y + 6, height: 14, class: "ta-fill-one" });
    const mark = svg("rect", { x: 1, y: y + 1, width: W - 2, height: high - 2, class: "ta-mark" });
    canvas.append(bar, mark);
    const sum = line(canvas, 0, y + 2, 0, y + 24, "ta-mark");
    const text = label(canvas, left, y + 36, "", "start", "ta-small");
    text.append(svg("tspan"), svg("tspan", WEIGHTS));
    return { bar, mark, sum, text, name: label(canvas, 6, y + 17, tr("expert {n}", { n: e }), "start", "ta-text") };
  });
  const place = cursor(ui, canvas, {
    name: tr("Scores of the word; arrow keys choose an expert"), cross: false,
    box: () => ({ x: 0, y: 0, width: W, height: E * high }),
    size: () => [1, E],
    at: () => [0, ui.seen("part") ?? 0],
    state: (_, e) => ({ expert: e, part: e }),
    says: (_, e) => `${tr("expert {n}", { n: e })}: ${rows[e].text.textContent}`,
  });
  return {
    box,
    draw() {
      const { word, words, scores, biases, biased, part } = now();
      write(caption, tr("Scores of “{word}”", { word: spec.words[word] }));
      write(note, biased ? tr("line: score + bias") : tr("probabilities, which sum to 1"));
      const { chosen, weights } = words[word];
      rows.forEach(({ bar, mark, sum, name, text }, e) => {
        fill(bar, { width: (x(scores[e]) - x(0)).toFixed(1) });
        sum.style.visibility = biased ? "visible" : "hidden";
        if (biased) fill(sum, { x1: x(scores[e] + biases[e]).toFixed(1), x2: x(scores[e] + biases[e]).toFixed(1) });
        const rank = chosen.indexOf(e);
        fill(name, { class: rank < 0 ? "ta-text" : "ta-strong" });
        const number = { score: fixed(scores[e], 3) };
        const told = { place: rank + 1, score: biased ? tr("score {score}", number) : tr("probability {score}", number) };
        write(text.children[0], rank < 0 ? tr("{score}, not chosen", told) : chosen.length === 1
          ? tr("{score}, chosen", told) : tr("{score}, choice {place}", told));
        write(text.children[1], rank < 0 ? "" : tr(": weight {weight}", { weight: fixed(weights[rank], 2) }));
        mark.style.visibility = part === e ? "visible" : "hidden";
      });
      place();
    },
  };
}

const widget = { render: mount(expertsWidget) };
export default widget;
