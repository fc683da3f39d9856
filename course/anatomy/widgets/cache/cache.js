// CacheCalculator: one model on one GPU. The learner's formula gives bytes per token; the rest is multiplication.

const AXIS = 1.25; // how far the bar goes, in memories of the GPU: it must stand still while it is dragged
const PARTS = [N_("bytes per token"), N_("per user"), N_("all users"), N_("weights"), N_("users that fit"), N_("time per token")];

const sizeOf = (n) => {
  const [limit, unit] = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]].find(([l]) => n >= l) || [];
  return unit ? `${short(n / limit)} ${unit}` : tr("{n} bytes", { n: short(n) });
};
const MEANING = [
  N_("As built: the kind of attention that this model has."),
  N_("MHA, multi-head attention: each query head has a key-value head of its own, which makes its key and its value."),
  N_("GQA, grouped-query attention: a group of query heads shares one key-value head; there are up to 8 groups."),
  N_("MQA, multi-query attention: all query heads share one key-value head."),
  N_("MLA, multi-head latent attention: 512 numbers and a key of 64 stand for all keys and values of a token."),
];
const secondsOf = (s) => (s < 1 ? `${short(s * 1e3)} ms` : `${short(s)} s`);

function cacheWidget(ui) {
  const { spec } = ui;
  const room = Math.max(ui.room, 280); // a page that is still being laid out may have none
  const wide = room >= 700;
  const settings = {}; // trait → the box of its control
  pick(ui, { trait: "model", name: tr("model"), names: spec.models });
  pick(ui, { trait: "kind", name: tr("attention"), names: spec.kinds });
  pick(ui, { trait: "gpu", name: tr("GPU"), names: spec.gpus });
  slider(ui, { trait: "users", name: tr("users"), values: spec.users, show: whole });
  pick(ui, { trait: "stack", name: tr("layers"), names: spec.stacks });
  choice(ui, { trait: "itemsize", name: tr("bytes per number"), values: spec.itemsizes });
  slider(ui, { trait: "tokens", name: tr("tokens per user"), values: spec.tokens, show: whole });
  ["model", "kind", "gpu", "users", "stack", "itemsize", "tokens"].forEach((trait, i) => { settings[trait] = ui.controls.children[i]; });
  // Two lines of controls where a grid would take three: each has the room that its words need.
  if (wide) {
    fill(ui.controls, { style: "display: flex; flex-wrap: wrap" });
    ["none", "none", "none", "1 1 150px", "3 1 200px", "none", "1 1 250px"].forEach((flex, i) => { ui.controls.children[i].style.flex = flex; });
  }
  ui.readout.style.minHeight = `${wide ? 62 : 134}px`; // room for a formula, so that nothing moves under the hand
  ui.root.append(ui.readout);

  const part = (name) => fill(ui.row(), { "data-part": name });
  const bytes = byteFactors(ui, part("bytes"), room);
  const meaning = html("p", { class: "ta-note", "data-part": "bytes" });
  fill(meaning, { style: `margin: 0; min-height: ${wide ? 18 : 54}px` }); // room for the longest
  ui.root.append(meaning);
  const bar = memoryBar(ui, part("memory"), room, scene);
  const tiles = partTiles(ui, part("memory"), room, wide ? 6 : 3);
  const pager = ui.row("ta-bar");
  fill(pager, { style: "margin: 0 0 4px; column-gap: 16px" });
  const row = ui.row();
  const unfolds = html("span", { "data-part": "more" });
  pager.append(unfolds);
  unfolder(ui, unfolds, tr("kinds of attention, lengths of text"), row);
  const half = wide ? Math.floor((room - 24) / 2) : room;
  const kinds = kindBars(ui, row, half);
  const curve = lengthCurve(ui, row, half);
  const show = signs(pager, [
    [tr("users"), tr("beside weights in 2 bytes per parameter")],
    [tr("formula as the reference"), tr("largest relative difference, over all settings")],
  ]);
  const source = html("p", { class: "ta-note", style: "margin: 0" });
  const sources = html("details", { "data-readout": "window" }, // it names Mistral's window
    html("summary", { style: "min-height: 24px; cursor: pointer" }, tr("sources")), source);
  pager.append(sources);

  const later = [row, sources, settings.stack];

  /** Everything that the settings on show amount to. */
  function scene() {
    const [m, k, s, g] = ["model", "kind", "stack", "gpu"].map((name) => ui.seen(name));
    const [tokens, users, itemsize] = [ui.seen("tokens"), ui.seen("users"), ui.get("itemsize")];
    const b = spec.itemsizes.indexOf(itemsize);
    const at = (kind) => ((m * spec.kinds.length + kind) * spec.stacks.length + s) * spec.itemsizes.length + b;
    const [full, windowed] = [ui.table("full"), ui.table("windowed")];
    const window = spec.windows[m][s];
    const perUserOf = (kind, length) => full[at(kind)] * length + windowed[at(kind)] * Math.min(length, window);
    const perTokenOf = (kind) => full[at(kind)] + windowed[at(kind)];
    const perUser = perUserOf(k, tokens);
    const [fullLayers, others, heads, dim] = spec.calls[m][k][s];
    const kept = [fullLayers && tokens, others && Math.min(tokens, window)].filter(Boolean);
    const [weights, total, memory] = [spec.weights[m], perUser * users, spec.memory[g]];
    return {
      m, k, s, g, b, tokens, users, itemsize, window, perUser, perUserOf, perTokenOf, weights, total, memory,
      sizes: { layers: fullLayers + others, heads, dim, queries: spec.heads[m], latent: spec.latent[m][k] },
      kept: [...new Set(kept)].reverse().map(whole).join("–"), // layers with a window keep fewer
      full: full[at(k)], windowed: windowed[at(k)], perToken: perTokenOf(k),
      fit: perUser > 0 ? Math.floor(Math.max(0, memory - weights) / perUser) : 0,
      tooMuch: weights + total > memory, // then nothing is read, either
      time: (weights + total) / spec.bandwidth[g],
      part: ui.seen("part"),
    };
  }

  /** How a part comes about, with its numbers. */
  function formula(now) {
    const { m, k, s, g, itemsize } = now;
    const [layers, others, heads, dim] = spec.calls[m][k][s];
    const latent = spec.latent[m][k]; // no keys and values of their own, but one vector for both
    const call = (count) => (latent ? `${count} · ${2 * dim} · ${itemsize}` : `2 · ${count} · ${heads} · ${short(dim)} · ${itemsize}`);
    const [tokens, users, each] = [whole(now.tokens), whole(now.users), sizeOf(now.perUser)];
    const [total, weights, fit] = [sizeOf(now.total), sizeOf(now.weights), whole(now.fit)];
    switch (now.part) {
      case 0: return tr(latent ? N_("bytes per token = layers · numbers for keys and values · bytes = {sum} = {total}")
        : N_("bytes per token = 2 · layers · key-value heads · numbers per head · bytes = {sum} = {total}"),
      { sum: [layers, others].filter(Boolean).map(call).join(" + "), total: whole(now.perToken) });
      case 1: return tr(!others ? N_("per user = {tokens} tokens · {full} bytes = {each}")
        : !layers ? N_("per user = min({tokens}, {window}) tokens · {windowed} bytes = {each}")
          : N_("per user = {tokens} tokens · {full} bytes + min({tokens}, {window}) · {windowed} bytes = {each}"),
      { tokens, full: whole(now.full), window: whole(now.window), windowed: whole(now.windowed), each });
      case 2: return tr("all users = {users} · {each} = {total}", { users, each, total });
      case 3: return tr("weights = {n} · 10⁹ parameters · 2 bytes = {weights}", { n: short(now.weights / 2e9), weights });
      case 4: return tr("users that fit = ({memory} − {weights}) ÷ {each}, rounded down = {fit}",
        { memory: sizeOf(now.memory), weights, each, fit });
      case 5: return tr(now.weights > now.memory ? N_("the weights alone, {weights}, are more than {memory}: nothing is written")
        : now.tooMuch ? N_("{users} caches and the weights are more than {memory}: nothing is written")
          : N_("time = ({weights} + {total}) ÷ {bandwidth} per second = {time}; everything is read once"),
      { users, weights, total, memory: sizeOf(now.memory), bandwidth: sizeOf(spec.bandwidth[g]), time: secondsOf(now.time) });
      default: return "";
    }
  }

  return {
    draw() {
      const now = scene();
      const { m, k, s, g, b, tokens, users } = now;
      const more = ui.get("more");
      for (const node of later) node.hidden = !more;
      const pale = k ? "" : ` ${tr("Pale squares: query heads without a key-value head of their own.")}`;
      write(meaning, tr(MEANING[k]) + pale);
      bytes.draw(now);
      bar.draw(now);
      tiles.draw(now, [whole(now.perToken), sizeOf(now.perUser), sizeOf(now.total), sizeOf(now.weights), whole(now.fit), now.tooMuch ? "–" : secondsOf(now.time)]);
      kinds.draw(now);
      curve.draw(now);
      const gap = ui.table("gap")[0];
      const good = gap <= spec.tolerance;
      show([[tr("{users} asked, {fit} fit", { users: whole(users), fit: whole(now.fit) }), users > now.fit ? tr("too much") : tr("fits"), users <= now.fit],
        [short(gap), good ? tr("same") : tr("differs"), good]]);
      write(source, `${spec.sources[m]} ${spec.gpuSources[g]}`);
      ui.say(tr(now.weights > now.memory
        ? N_("{model}, attention {kind}: {perToken} bytes per token; {users} users with {tokens} tokens take {total}. The weights alone do not fit on {gpu}.")
        : now.tooMuch ? N_("{model}, attention {kind}: {perToken} bytes per token; {users} users with {tokens} tokens take {total}; only {fit} fit on {gpu}.")
          : N_("{model}, attention {kind}: {perToken} bytes per token; {users} users with {tokens} tokens take {total}; {fit} fit on {gpu}; at least {time} per token."), {
        // Layers that are not the model's own are named: they outlast a change of the model.
        model: s ? tr("{model} ({layers})", { model: spec.models[m], layers: spec.stacks[s] }) : spec.models[m],
        kind: spec.kinds[k], perToken: whole(now.perToken), users: whole(users), tokens: whole(tokens),
        total: sizeOf(now.total), fit: whole(now.fit), gpu: spec.gpus[g], time: secondsOf(now.time),
      }), formula(now));
      ui.root.dataset.key = `${m},${k},${s},${g},${b},${tokens},${users},${now.perToken}`;
    },
  };
}

/** Weights, and a block for each user's cache, against the memory of the GPU. The end of the caches can be dragged. */
function memoryBar(ui, parent, W, scene) {
  const { spec } = ui;
  const y = 18;
  let height = 46; // px: more while nothing is unfolded below it
  const canvas = picture(parent, W, 84, tr("Bar of weights and caches against the memory of the GPU"));
  const id = freshId();
  const hatch = svg("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  hatch.append(svg("rect", { width: 6, height: 6, class: "ta-fill-two" }), svg("rect", { width: 2, height: 6, style: "fill: var(--ta-paper)" }));
  canvas.append(svg("defs", {}, hatch));
  const part = (i, attributes) => {
    const node = svg("rect", { y, ...attributes });
    canvas.append(node);
    return touch(ui, node, () => ({ part: i }));
  };
  const memory = svg("rect", { x: 1, y, style: "fill: none; stroke: var(--ta-rule); stroke-dasharray: 4 3; pointer-events: none" });
  canvas.append(memory); // the memory, as a box that fills up
  const weights = part(3, { style: "fill: var(--ta-panel); stroke: var(--ta-rule)" });
  const inside = part(2, { class: "ta-fill-one" });
  const beyond = part(2, { style: `fill: url(#${id}); stroke: var(--ta-two)` });
  const blocks = svg("path", { style: "fill: none; stroke: var(--ta-paper); pointer-events: none" });
  const limit = line(canvas, 0, y - 5, 0, y, "ta-mark");
  const mark = svg("rect", { y: y - 2, class: "ta-mark", style: "pointer-events: none" });
  const names = ["ta-small", "ta-small", "ta-strong"].map((kind, i) => label(canvas, 0, 11, "", "start", kind));
  const grip = svg("circle", { r: 12, class: "ta-grip" });
  const dot = svg("circle", { r: 6, class: "ta-here", style: "pointer-events: none" });
  canvas.append(blocks, limit, mark, dot, grip);
  const x = (now, bytes) => clamp((bytes / (AXIS * now.memory)) * (W - 2) + 1, 1, W - 1);
  // The trait holds a number of users, the hand and the keys move along the list of them.
  const places = {
    __proto__: ui,
    get: (name) => spec.users.indexOf(ui.get(name)),
    set: (name, i) => ui.set(name, spec.users[i]),
    bind: (name, show) => ui.bind(name, () => show(places.get(name))),
  };
  handle(places, grip, {
    canvas, trait: "users", name: tr("end of the caches: users"), max: spec.users.length - 1,
    says: (i) => tr("{n} users", { n: spec.users[i] }),
    drag([px]) {
      const now = scene();
      if (!(now.perUser > 0)) return null;
      const wanted = ((px - 1) / (W - 2)) * AXIS * now.memory - now.weights;
      const miss = (i) => Math.abs(spec.users[i] * now.perUser - wanted);
      return spec.users.reduce((best, _, i) => (miss(i) < miss(best) ? i : best), 0);
    },
  });

  return {
    draw(now) {
      height = ui.get("more") ? 36 : W < 480 ? 80 : 100;
      fill(canvas, { height: height + 38, viewBox: `0 0 ${W} ${height + 38}` });
      for (const node of [memory, weights, inside, beyond]) fill(node, { height });
      fill(mark, { height: height + 4 });
      fill(limit, { y2: y + height + 5 });
      for (const node of [dot, grip]) fill(node, { cy: y + height / 2 });
      for (const node of names.slice(0, 2)) fill(node, { y: y + height + 16 });
      const end = now.weights + (Number.isFinite(now.total) ? Math.max(now.total, 0) : 0);
      const at = [0, now.weights, Math.min(end, Math.max(now.memory, now.weights)), end].map((n) => x(now, n));
      fill(weights, { x: at[0], width: at[1] - at[0] });
      fill(inside, { x: at[1], width: at[2] - at[1] });
      fill(beyond, { x: at[2], width: at[3] - at[2] });
      const each = x(now, now.weights + now.perUser) - at[1];
      let d = "";
      if (each >= 4) for (let u = 1; u < now.users && at[1] + u * each < at[3]; u++) d += `M${(at[1] + u * each).toFixed(1)} ${y}v${height}`;
      fill(blocks, { d });
      const edge = x(now, now.memory);
      fill(limit, { x1: edge, x2: edge });
      fill(memory, { width: edge - 1 });
      for (const node of [dot, grip]) fill(node, { cx: clamp(at[3], 12, W - 12) });
      const cut = end > AXIS * now.memory ? " →" : "";
      write(names[0], tr("weights {size}", { size: sizeOf(now.weights) }));
      write(names[1], tr("{n} caches {size}", { n: whole(now.users), size: sizeOf(now.total) }) + cut);
      write(names[2], spec.gpus[now.g]);
      fill(names[0], { x: 1 });
      // Beside its own bar, yet never on the weights' words or beyond the edge.
      const room = [...names[1].textContent].reduce((sum, letter) => sum + (letter < "\u2e80" ? 6.6 : 12), 0);
      fill(names[1], { x: clamp(at[1], 130, Math.max(W - room, 130)) });
      fill(names[2], { x: edge, "text-anchor": "middle" });
      const spans = { 1: [at[1], x(now, now.weights + now.perUser)], 2: [at[1], at[3]], 3: [at[0], at[1]], 4: [at[1], Math.max(edge, at[1])], 5: [at[0], at[3]] };
      const span = spans[now.part];
      mark.style.visibility = span ? "visible" : "hidden";
      if (span) fill(mark, { x: span[0] - 1, width: span[1] - span[0] + 2 });
    },
  };
}

/** The results as a grid of tiles; each lights its part of the bar and says how it comes about. */
function partTiles(ui, parent, W, columns) {
  const rows = PARTS.length / columns;
  const [across, tall] = [W / columns, 40];
  const canvas = picture(parent, W, rows * tall, tr("Results"));
  const tiles = PARTS.map((name, i) => {
    const [x, y] = [(i % columns) * across, Math.floor(i / columns) * tall];
    const box = svg("rect", { x: x + 1, y: y + 1, width: across - 6, height: tall - 4, rx: 4, style: "fill: var(--ta-panel)" });
    canvas.append(box);
    label(canvas, x + 8, y + 15, tr(name), "start", "ta-small");
    const value = label(canvas, x + 8, y + 31, "", "start", "ta-strong");
    if (i === 4) {
      fill(value, { "data-readout": "fit" });
      label(canvas, x + 8, y + 31, "?", "start", "ta-strong ta-until");
    }
    return [box, value];
  });
  const place = cursor(ui, canvas, {
    name: tr("Results; arrow keys show how each comes about"), cross: false,
    box: () => ({ x: 0, y: 0, width: W, height: rows * tall }),
    size: () => [columns, rows],
    at: () => {
      const part = ui.seen("part") ?? 0;
      return [part % columns, Math.floor(part / columns)];
    },
    state: (column, row) => ({ part: row * columns + column }),
    says: (column, row) => `${tr(PARTS[row * columns + column])} ${tiles[row * columns + column][1].textContent}`,
  });
  return {
    draw(now, values) {
      tiles.forEach(([box, value], i) => {
        write(value, values[i]);
        fill(box, { class: now.part === i ? "ta-lit" : "" });
      });
      place();
    },
  };
}

/** Bytes per token of each kind of attention: a bar is as much shorter than the longest as its number is smaller. */
function kindBars(ui, parent, W) {
  const { spec } = ui;
  const [left, tall] = [100, 22];
  const box = html("div", { class: "ta-panel" });
  box.append(html("p", { class: "ta-caption" }, tr("Bytes per token"), html("small", {}, tr("in proportion to the largest"))));
  parent.append(box);
  const canvas = picture(box, W, tall * spec.kinds.length + 4, tr("Bytes per token of each kind of attention"));
  const long = W - left - 70;
  for (const part of [0, 1, 2, 3, 4]) line(canvas, left + (part * long) / 4, 0, left + (part * long) / 4, tall * spec.kinds.length, "ta-grid");
  const rows = spec.kinds.map((name, i) => {
    const y = tall * i;
    const bar = svg("rect", { x: left, y: y + 2, height: 18 });
    canvas.append(bar);
    return [label(canvas, 0, y + 15, name), bar, label(canvas, 0, y + 15, "", "start", "ta-small")];
  });
  const place = cursor(ui, canvas, {
    name: tr("Kinds of attention"), cross: false,
    box: () => ({ x: 0, y: 0, width: W, height: tall * spec.kinds.length }),
    size: () => [1, spec.kinds.length],
    at: () => [0, ui.seen("kind")],
    state: (_, kind) => ({ kind, part: 0 }),
    says: (_, kind) => spec.kinds[kind],
  });
  return {
    draw(now) {
      const all = spec.kinds.map((_, i) => now.perTokenOf(i));
      const most = Math.max(...all.filter(Number.isFinite), 0);
      rows.forEach(([name, bar, text], i) => {
        const n = all[i];
        const width = n > 0 && most > 0 ? Number(((long * n) / most).toFixed(1)) : 0;
        fill(bar, { width, class: `ta-fill-one ${i === now.k ? "ta-lit" : ""}` });
        bar.style.fillOpacity = i === now.k ? 1 : 0.35;
        fill(name, { class: i === now.k ? "ta-strong" : "ta-text" });
        fill(text, { x: left + 6 + width });
        write(text, whole(n));
      });
      place();
    },
  };
}

/** One user's cache against the length of the text, both logarithmic: a window bends the line. */
function lengthCurve(ui, parent, W) {
  const { spec } = ui;
  const [left, right, top, bottom, H] = [52, 26, 6, 18, 116];
  const box = html("div", { class: "ta-panel" });
  box.append(html("p", { class: "ta-caption" }, tr("Cache of one user"), html("small", {}, tr("powers of ten; thin: other kinds"))));
  parent.append(box);
  const canvas = picture(box, W, H, tr("One user's cache against the number of tokens, a line for each kind of attention"));
  const [iw, ih] = [W - left - right, H - top - bottom];
  const step = iw / (spec.tokens.length - 1);
  spec.tokens.forEach((n, i) => { if (i % 3 === 0) label(canvas, left + i * step, H - 4, whole(n), "middle", "ta-small"); });
  label(canvas, 0, H - 4, tr("tokens"), "start", "ta-small");
  const grid = Array.from({ length: 8 }, () => [line(canvas, left, 0, left + iw, 0, "ta-grid"), label(canvas, left - 6, 0, "", "end", "ta-small")]);
  const full = line(canvas, left, 0, left + iw, 0, "ta-reference");
  const name = label(canvas, left + 4, 0, tr("free memory"), "start", "ta-small");
  const thin = spec.kinds.map(() => svg("path", { class: "ta-axis" }));
  const mine = svg("path", { class: "ta-mine" });
  const here = svg("circle", { r: 6, class: "ta-here", style: "pointer-events: none" });
  canvas.append(...thin, mine);
  const place = cursor(ui, canvas, {
    name: tr("Tokens of one user"),
    box: () => ({ x: left - step / 2, y: top, width: iw + step, height: ih }),
    size: () => [spec.tokens.length, 1],
    at: () => [spec.tokens.indexOf(ui.seen("tokens")), 0],
    state: (i) => ({ tokens: spec.tokens[i], part: 1 }),
    says: (i) => tr("{n} tokens", { n: whole(spec.tokens[i]) }),
  });
  canvas.append(here);
  return {
    draw(now) {
      const logs = spec.kinds.flatMap((_, kind) => [0, spec.tokens.length - 1].map((i) => Math.log10(now.perUserOf(kind, spec.tokens[i]))));
      const finite = logs.filter(Number.isFinite);
      const low = finite.length ? Math.floor(Math.min(...finite)) : 6;
      const high = finite.length ? Math.max(Math.ceil(Math.max(...finite)), low + 1) : 12;
      const y = (bytes) => (bytes > 0 ? top + ih * (1 - (Math.log10(bytes) - low) / (high - low)) : NaN);
      const every = high - low > 6 ? 2 : 1;
      grid.forEach(([rule, text], i) => {
        const power = low + i * every;
        const used = power <= high;
        rule.style.visibility = used ? "visible" : "hidden";
        write(text, used ? sizeOf(10 ** power) : "");
        if (!used) return;
        fill(rule, { y1: y(10 ** power), y2: y(10 ** power) });
        fill(text, { y: y(10 ** power) + 4 });
      });
      const points = (kind) => trace(spec.tokens.map((n, i) => [left + i * step, y(now.perUserOf(kind, n))]));
      thin.forEach((path, kind) => fill(path, { d: points(kind) }));
      fill(mine, { d: points(now.k) });
      const free = now.memory - now.weights;
      const shown = free > 0 && Math.log10(free) < high && Math.log10(free) > low;
      for (const node of [full, name]) node.style.visibility = shown ? "visible" : "hidden";
      if (shown) {
        fill(full, { y1: y(free), y2: y(free) });
        fill(name, { y: y(free) - 3 });
      }
      const [cx, cy] = [left + spec.tokens.indexOf(now.tokens) * step, y(now.perUser)];
      here.style.visibility = Number.isFinite(cy) ? "visible" : "hidden";
      if (Number.isFinite(cy)) fill(here, { cx: cx.toFixed(1), cy: cy.toFixed(1) });
      place();
    },
  };
}

const widget = { render: mount(cacheWidget) };
export default widget;
