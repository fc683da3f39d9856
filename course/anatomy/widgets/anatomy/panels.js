// A part that is opened: its own small picture for the token and layer that are pointed at, what became of the
// learner's, and where it is built.

const LOW = 178; // px, height of a panel's picture

/** One line for each part: what its picture shows. */
const ABOUT = {
  embedding: N_("Each token picks a row of a table, and its stream begins with it."),
  norm:
    N_("Root mean square of the token's stream before each norm (gray) and after (blue). L0a: before attention in L0."),
  rope: N_("q of this token (blue) and k of the key (orange, dashed), turned by their positions: every second pair."),
  mask: N_("Filled: may look. The row is the token's."),
  attention: N_("All heads, a row for each layer. Below, what this token takes its vector from."),
  ffn: N_("How the gate's inputs of this token are spread, and SiLU, which lets them through (dashed)."),
  residual:
    N_("Length of the token's stream (gray), and of what each half of a layer adds (blue). L0a: attention of layer 0."),
  unembedding: N_("The likeliest tokens after this one; a gray tick shows the reference where it differs."),
};

function openedPanel(ui, parent, W) {
  const box = html("section", { "aria-label": tr("the part that is open") });
  const title = html("span");
  const head = html("div", { class: "an-head" }, title);
  const about = html("p", { class: "an-foot" });
  const stage = html("div");
  const foot = html("p", { class: "an-foot" });
  button(head, tr("Close"), () => ui.pin({ part: "" })).setAttribute("aria-label", tr("close the part"));
  box.append(head, about, stage, foot);
  parent.append(box);
  let shown = "";
  let part = null;

  function open(key) {
    shown = key;
    stage.replaceChildren();
    part = PANELS[key](ui, stage, W);
    const found = verdictOf(ui, key);
    title.replaceChildren(found ? found.title : tr(key), html("small", {}, shapesOf(ui.spec, key)));
    about.textContent = tr(ABOUT[key]);
    foot.replaceChildren(...footOf(ui, found, key));
  }
  return {
    stale() { shown = ""; },
    says: ({ part: key }) => (key ? tr(" Open: {part}.", { part: verdictOf(ui, key)?.title ?? tr(key) }) : ""),
    draw(state, says) {
      box.hidden = state.part === "";
      if (state.part === "") return;
      if (shown !== state.part) open(state.part);
      part(state, says);
    },
  };
}

/** What became of the learner's part, and where it is built. */
function footOf(ui, found, key) {
  if (ui.get("alone")) return found ? moreIn(found.widget) : []; // a visitor has not built it
  if (!found) {
    return [key === "embedding" ? tr("Built in unit 11 (assembly.embeddings).")
      : tr("Built in unit 11 (assembly.embeddings): the embedding's table once more.")];
  }
  const { state, gap, alone, says, who, names, exercises, units, widget } = found;
  const word = inQuotes(ui.spec.vocabulary[says] ?? "?");
  const verdict = {
    [STATE.wrong]: [tr("✗ Yours is wrong here. "),
      tr("Off by up to {gap} of the largest number. Alone it moves the last stream by {share}; the next word is then {word}. ",
        { gap: short(gap), share: percent(alone), word })],
    [STATE.fails]: [tr("✗ Yours fails here. "), tr("The reference stands in. ")],
    [STATE.named]: [tr("✗ Its check names a mistake. "), tr("In this place it is right. ")],
    [STATE.right]: [tr("✓ Yours, right in this place. "), ""],
    [STATE.passed]: [tr("✓ You passed its exercise. "), ""],
    [STATE.unwritten]: ["", tr("Yours is not written yet. ")],
  }[state] ?? ["", ""];
  return [html("b", {}, verdict[0]), verdict[1] + tr("Built in unit {unit}: {name} ({exercise}).",
    { unit: units[who], name: names[who], exercise: exercises[who] }), ...moreIn(widget)];
}

/** The way to the widget that shows only this part: on a page of the gallery, which has neighbors (gallery_pages.py). */
function moreIn(widget) {
  if (!document.querySelector("nav a[rel=next], nav a[rel=prev]")) return [];
  return [" ", html("a", { href: `${widget}.html${location.search}` }, tr("More in {widget}", { widget }))];
}

/** The name of a half of a layer: L2a is attention in layer 2, L2f its FFN. */
const half = (i) => `L${i >> 1}${"af"[i % 2]}`;

const PANELS = {
  embedding: embeddingPanel,
  unembedding: (ui, stage, W) => guessRows(ui, stage, W).draw,
  norm: (ui, stage, W) => twoBars(ui, stage, W, {
    tables: ["before", "after"], names: (i) => (i === 2 * ui.spec.layers ? tr("end") : half(i)), digits: 1,
    count: 2 * ui.spec.layers + 1, name: tr("Root mean squares before and after each norm"),
  }),
  residual: (ui, stage, W) => twoBars(ui, stage, W, {
    tables: ["norms", "added"], names: half, count: 2 * ui.spec.layers, digits: 0,
    name: tr("Lengths of the stream and of what is added"),
  }),
  rope: dialsPanel,
  mask: maskPanel,
  attention: headsPanel,
  ffn: gatePanel,
};

/** What the last norm and the unembedding would make of the row alone, and whether that is the token itself. */
function embeddingPanel(ui, stage, W) {
  const bars = likelyBars(ui, stage, W);
  const told = html("p", { class: "an-foot an-back" });
  stage.append(told);
  return (state, says) => {
    bars(state, says);
    const [word, share] = says(state.token, 0);
    const values = { word: inQuotes(word), share: percent(share) };
    write(told, namesItself(ui, state.token, says)
      ? tr("Read back at once, the row names its own token: {word}, {share}.", values)
      : tr("Read back at once, the row says nothing yet: its best guess has {share}.", values));
  };
}

/** What the embedding's row is most like, as bars. */
function likelyBars(ui, stage, W) {
  const [K, high, left] = [ui.spec.likely, LOW / ui.spec.likely, 74];
  const canvas = picture(stage, W, LOW, tr("The likeliest tokens and their probabilities"));
  const wide = W - left - 44;
  line(canvas, left, 0, left, LOW);
  const bars = Array.from({ length: K }, (_, j) => {
    const y = j * high;
    const bar = svg("rect", { x: left, y: y + 6, height: high - 14, class: "ta-fill-one" });
    canvas.append(bar);
    return [verbatim(label(canvas, left - 6, y + high / 2 + 3, "", "end", "ta-text")), bar,
      label(canvas, W, y + high / 2 + 3, "", "end", "ta-strong")];
  });
  return ({ token }, says) => bars.forEach(([name, bar, value], j) => {
    const [word, share] = says(token, 0, j);
    write(name, shownToken(word).slice(0, 10));
    write(value, percent(share));
    fill(bar, { width: (wide * clamp(share || 0, 0, 1)).toFixed(1) });
  });
}

/** A pale and a full bar for each half of a layer; the pale one's number stands above, the full one's at the foot. */
function twoBars(ui, stage, W, { tables, names, count, name, digits }) {
  const { tokens: T } = ui.spec;
  const canvas = picture(stage, W, LOW, name);
  const [low, pitch] = [LOW - 34, W / count];
  line(canvas, 0, low, W, low);
  const bars = Array.from({ length: count }, (_, i) => {
    const middle = (i + 0.5) * pitch;
    const pair = ["an-pale", "ta-fill-one"].map((kind, j) => svg("rect", {
      x: i * pitch + 2 + (j * (pitch - 4)) / 2, width: (pitch - 6) / 2, class: kind,
    }));
    canvas.append(...pair);
    label(canvas, middle, low + 13, names(i), "middle", "ta-small");
    return pair.map((bar, j) => [bar, label(canvas, middle, low + 28, "", "middle", j ? "ta-strong" : "ta-small")]);
  });
  return ({ token }) => {
    // The stream before a half is level i; what the half adds has number i, too.
    const rows = tables.map((table) => Array.from({ length: count }, (_, i) => ui.table(table)[i * T + token]));
    const most = Math.max(1e-9, ...rows.flat().filter(Number.isFinite));
    bars.forEach((pair, i) => {
      const heights = rows.map((row) => ((low - 18) * (Number.isFinite(row[i]) ? row[i] : 0)) / most);
      pair.forEach(([bar, text], j) => {
        fill(bar, { y: (low - heights[j]).toFixed(1), height: heights[j].toFixed(1) });
        write(text, fixed(rows[j][i], rows[j][i] >= 9.95 ? 0 : digits));
      });
      fill(pair[0][1], { y: (low - Math.max(...heights) - 4).toFixed(1) });
    });
  };
}

/** Ten of the twenty dials of RoPE: an arrow for q at the token's position, one for k at the key's. */
function dialsPanel(ui, stage, W) {
  const pairs = ui.spec.sizes.head_dim / 2;
  const columns = 5;
  const [pitch, r] = [W / columns, Math.min(W / columns / 2 - 4, 30)];
  const high = 2 * r + 28;
  const canvas = picture(stage, W, 2 * high, tr("Dials: how far query and key are turned, for every second pair"));
  const dials = Array.from({ length: 10 }, (_, n) => {
    const [x, y] = [((n % columns) + 0.5) * pitch, Math.floor(n / columns) * high + r + 4];
    const g = svg("g", { transform: `translate(${x},${y})` });
    g.append(svg("circle", { r, class: "ta-axis" }));
    canvas.append(g);
    label(g, 0, r + 14, tr("pair {n}", { n: 2 * n }), "middle", "ta-small");
    const k = arrow(g, "ta-two");
    return { pair: 2 * n, q: arrow(g, "ta-one"), k };
  });
  return ({ token, key }) => {
    const turn = ui.table("turn");
    for (const { pair, q, k } of dials) {
      for (const [point, at] of [[q, token], [k, key]]) {
        const angle = turn[at * pairs + pair];
        point(r * Math.cos(angle), -r * Math.sin(angle));
      }
    }
  };
}

function maskPanel(ui, stage, W) {
  const { tokens: T } = ui.spec;
  const size = T * Math.floor(LOW / T);
  const cell = size / ui.read.slots;
  const stack = html("div", { class: "ta-stack", style: `width: ${size}px; height: ${size}px` });
  const room = `left: 0; top: 0; width: ${size}px; height: ${size}px`;
  const map = html("canvas", { width: T, height: T, "aria-hidden": "true", style: room });
  const says = html("p", { class: "an-foot" });
  stack.append(map);
  stage.append(stack, says);
  const over = picture(stack, size, size, tr("The mask: one row for each query, one column for each key"));
  over.append(svg("rect", { x: 0, y: 0, width: size, height: size, class: "ta-axis" }));
  const row = svg("rect", { x: 0, width: size, height: cell, class: "ta-axis ta-lit" });
  over.append(row);
  const may = ui.table("may");
  paintWeights(map, may, ui);
  return ({ token }) => {
    fill(row, { y: token * cell });
    const line = may.subarray(token * T, (token + 1) * T);
    const seen = line.reduce((sum, v) => sum + v, 0);
    const later = line.slice(token + 1).some((v) => v > 0);
    const { words, first } = ui.read;
    write(says, tr(later
      ? N_("Token {token} {word} may look at {seen} of {all} tokens, some of them later than itself.")
      : N_("Token {token} {word} may look at {seen} of {all} tokens, none later than itself."),
    { token: first + token, word: inQuotes(words[token]), seen: first + seen, all: first + words.length }));
  };
}

/** All heads as small maps, and the strongest weights of the token's row. */
function headsPanel(ui, stage, W) {
  const { layers: L, tokens: T, sizes } = ui.spec;
  const [H, cell, left] = [sizes.n_heads, 32, 24];
  const [across, down] = [(W - left) / H, cell + 3];
  const stack = html("div", { class: "ta-stack", style: `width: ${W}px; height: ${L * down}px` });
  stage.append(stack);
  const maps = Array.from({ length: L * H }, (_, i) => {
    const [l, h] = [Math.floor(i / H), i % H];
    const canvas = html("canvas", { width: T, height: T, "aria-hidden": "true",
      style: `left: ${left + h * across}px; top: ${(L - 1 - l) * down}px; width: ${cell}px; height: ${cell}px` });
    paintMap(canvas, ui, l, h);
    stack.append(canvas);
    return canvas;
  });
  const over = picture(stack, W, L * down, tr("All heads, a row for each layer"));
  maps.forEach((_, i) => {
    const [l, h] = [Math.floor(i / H), i % H];
    const y = (L - 1 - l) * down;
    over.append(svg("rect", { x: left + h * across, y, width: cell, height: cell, class: "ta-axis" }));
    if (h === 0) label(over, 0, y + cell / 2 + 4, `L${l}`, "start", "ta-small");
  });
  const here = svg("rect", { width: cell + 2, height: cell + 2, class: "ta-axis ta-lit" });
  over.append(here);
  const place = cursor(ui, over, {
    name: tr("heads, by head and layer"),
    box: () => ({ x: left, y: 0, width: H * across, height: L * down }),
    size: () => [H, L],
    state: (head, row) => ({ head, layer: L - 1 - row }),
    at: () => [ui.seen("head"), L - 1 - ui.seen("layer")],
    says: (head, row) => tr("layer {layer}, head {head}", { layer: L - 1 - row, head }),
    cross: false,
  });
  const canvas = picture(stage, W, 54, tr("The strongest weights of the token's row"));
  const bars = [0, 1, 2].map((j) => {
    const bar = svg("rect", { x: 66, y: 4 + j * 18, height: 11, class: "ta-fill-one" });
    canvas.append(bar);
    const text = (x, kind) => label(canvas, x, 14 + j * 18, "", "end", kind);
    return [verbatim(text(62, "ta-small")), bar, text(W, "ta-strong")];
  });
  return ({ layer, head, row }) => {
    fill(here, { x: left + head * across - 1, y: (L - 1 - layer) * down - 1 });
    place();
    const { words, first } = ui.read;
    const order = [...words.keys()].sort((a, b) => row[b] - row[a]);
    bars.forEach(([name, bar, value], j) => {
      const at = order[j];
      write(name, at === undefined ? "" : `${first + at} ${shownToken(words[at]).slice(0, 6)}`);
      write(value, at === undefined ? "" : fixed(row[at], 2));
      fill(bar, { width: ((W - 66 - 40) * clamp(row[at] || 0, 0, 1)).toFixed(1) });
    });
  };
}

/** Histogram of the gate's inputs, and SiLU over it. */
function gatePanel(ui, stage, W) {
  const { bins, reach, tokens: T } = ui.spec;
  const canvas = picture(stage, W, LOW, tr("Histogram of the gate's inputs of this token, with the curve of SiLU"));
  const [low, high] = [LOW - 30, LOW - 40];
  const pitch = W / bins;
  const columns = Array.from({ length: bins }, (_, i) => {
    const column = svg("rect", { x: i * pitch + 0.5, width: pitch - 1, class: "ta-fill-one" });
    canvas.append(column);
    return column;
  });
  line(canvas, 0, low, W, low);
  const at = (x) => (W * (x + reach)) / (2 * reach);
  const curve = Array.from({ length: 81 }, (_, i) => -reach + (i * reach) / 40)
    .map((x) => [at(x), low - (high / (reach * 1.1)) * (x / (1 + Math.exp(-x)))]);
  canvas.append(svg("path", { class: "an-curve", d: trace(curve) }));
  for (const x of [-reach, -reach / 2, 0, reach / 2, reach]) {
    label(canvas, clamp(at(x), 10, W - 10), low + 13, minus(String(x)), "middle", "ta-small");
  }
  const note = label(canvas, W / 2, LOW - 3, "", "middle", "ta-small");
  return ({ token, layer }) => {
    const row = ui.table("gate").subarray((layer * T + token) * bins, (layer * T + token + 1) * bins);
    const most = row.reduce((a, v) => Math.max(a, v), 1e-9);
    columns.forEach((column, i) => {
      const height = (0.9 * high * (Number.isFinite(row[i]) ? row[i] : 0)) / most;
      fill(column, { y: (low - height).toFixed(1), height: height.toFixed(1) });
    });
    const shut = row.slice(0, bins / 2).reduce((sum, v) => sum + v, 0);
    write(note, tr("layer {layer}: {share} of the {n} gates get less than 0",
      { layer, share: percent(shut), n: ui.spec.sizes.d_ff }));
  };
}
