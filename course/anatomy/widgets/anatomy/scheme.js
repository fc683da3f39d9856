// The parts of one layer and the two ends of the model, from the bottom to the top: each opens when it is clicked.

const STATE = { reference: 0, passed: 1, unwritten: 2, right: 3, wrong: 4, fails: 5, named: 6 };
const SAYS = [N_("the reference's"), N_("passed"), N_("the reference's, yours is not written yet"),
  N_("yours, right in this place"), N_("yours, wrong"), N_("yours fails: the reference stands in"),
  N_("yours, right in this place, but its check says what is wrong")];

/** What Python found out about the part in a place; key: the place's. Null for the two ends of the model. */
function verdictOf(ui, key) {
  const i = ui.spec.places.findIndex((place) => place.key === key);
  if (i < 0) return null;
  const [state, gap, alone, says, who] = ui.table("parts").subarray(5 * i, 5 * i + 5);
  const own = state === STATE.right || state === STATE.wrong || state === STATE.named;
  return { ...ui.spec.places[i], state, gap, alone, says, who, own, lit: state === STATE.passed || state === STATE.right,
    bad: state >= STATE.wrong };
}

/**
 * Does the step go without the parts, or without the heads? In a notebook, too, as long as none of the parts is the
 * learner's, given or passed: a newcomer begins with the text alone.
 */
function goesWithout(ui, part) {
  if (ui.without(part, "part")) return true;
  const { state, without } = ui.spec.story[ui.get("step")];
  const known = ui.spec.places.some(({ key }) => verdictOf(ui, key).state !== STATE.reference);
  return !known && ui.get("part") === state.part && without.includes(part);
}

/** What a part is there for, in a line: read where it is pointed at. */
const PURPOSE = {
  embedding: N_("The embedding turns each token into numbers: its stream begins with them."),
  norm: N_("RMSNorm brings a stream back to one size, so that each part reads numbers of the same scale."),
  rope: N_("RoPE turns queries and keys by their positions, so that attention knows how far apart two tokens are."),
  mask: N_("The mask hides what comes later: a token may look at itself and at what stands before it."),
  attention: N_("Attention lets a token take from other tokens what it looks for in them."),
  ffn: N_("The FFN works on each token by itself, with what was learned in training."),
  residual: N_("The plus adds what a part has found to the stream, so that nothing before it is lost."),
  unembedding: N_("The unembedding turns a stream into a probability for each token that could come next."),
};

/** The same in two or three words, which stand in the part's box. */
const DOES = {
  embedding: N_("turns it into numbers"),
  norm: N_("brings to one size"),
  rope: N_("tells order"),
  mask: N_("stops peeking"),
  attention: N_("looks back and fetches"),
  ffn: N_("treats each token alone"),
  residual: N_("adds"),
  unembedding: N_("guesses the next token"),
};

/** Shapes of what goes in and comes out, or the number of heads; "" for a part that keeps the shape. */
function shapesOf({ sizes: { d_model: d, n_heads: heads, n_kv_heads: kv, d_ff }, vocabulary }, key) {
  return {
    embedding: `(T) → (T, ${d})`,
    attention: tr("q: {heads} heads; k, v: {kv}", { heads, kv }),
    ffn: `${d} → ${d_ff} → ${d}`,
    unembedding: `(T, ${d}) → (T, ${vocabulary.length})`,
  }[key] ?? "";
}

function schemePanel(ui, parent, W, H) {
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const hint = html("small", {}, tr("click to open"));
  const caption = html("span");
  box.append(html("p", { class: "ta-caption" }, caption, hint));
  const way = wayThrough(ui, box);
  parent.append(box);
  const canvas = alive(picture(box, W, H, tr("The parts of the model, from the embedding at the bottom to the next word")));
  Object.assign(canvas.dataset, { part: "parts", of: "part" });
  const [stream, left, high] = [17, 33, 30];
  const wide = W - left - 5;
  const tops = [1, 35, 75, 109, 143, 177, 211, 262]; // the frame around a layer needs room
  const row = (i) => tops[i];
  // [row, key, text, name for assistive technology, share of the width, from]
  const rows = [
    [0, "unembedding", tr("unembedding"), tr("unembedding"), 1, 0],
    [1, "norm", "RMSNorm", tr("last RMSNorm"), 1, 0],
    [2, "ffn", tr("gated FFN"), tr("gated FFN"), 1, 0],
    [3, "norm", "RMSNorm", tr("RMSNorm before the FFN"), 1, 0],
    [4, "attention", tr("attention"), tr("attention"), 1, 0],
    [5, "rope", "RoPE", "RoPE", 0.42, 0],
    [5, "mask", tr("mask"), tr("mask"), 0.565, 0.435],
    [6, "norm", "RMSNorm", tr("RMSNorm before attention"), 1, 0],
    [7, "embedding", tr("embedding"), tr("embedding"), 1, 0],
  ];
  const edge = row(2) - 5;
  const tall = row(6) + high + 5 - edge;
  canvas.append(svg("rect", { x: 0.5, y: edge, width: W - 1, height: tall, rx: 6, class: "an-frame" }));
  line(canvas, stream, row(7) + high / 2, stream, row(0) + high / 2, "an-wire");
  const parts = [];
  const add = (key, name, shape, text, x, y, size, crack) => {
    const g = svg("g", { class: "an-part", role: "button", tabindex: 0 }, shape);
    const words = label(g, x, y, text, "middle", "ta-text");
    const broken = svg("path", { class: "an-crack", d: crack });
    g.append(broken);
    keepKeys(g);
    const toggle = () => ui.pin({ part: ui.get("part") === key ? "" : key });
    g.addEventListener("click", toggle);
    for (const kind of ["pointerenter", "focus"]) {
      g.addEventListener(kind, (event) => { if (event.pointerType !== "touch") ui.peek({ about: key }); });
    }
    for (const kind of ["pointerleave", "blur"]) g.addEventListener(kind, () => ui.peek(null));
    g.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle();
    });
    canvas.append(g);
    parts.push({ g, key, name, words, text, broken });
    return g;
  };
  const byRow = rows.map(() => []);
  for (const [i, key, text, name, share, from] of rows) {
    const [x, y, w] = [left + from * wide, row(i), share * wide];
    const middle = y + high / 2;
    if (from === 0) line(canvas, stream, middle, x, middle, "an-wire");
    const g = add(key, name, svg("rect", { x, y, width: w, height: high, rx: 4 }), text, x + w / 2, y + 13, w,
      `M${x + w - 8} ${y}l-4 10l6 5l-5 15`);
    label(g, x + w / 2, y + 25, tr(DOES[key]), "middle", "ta-small");
    byRow[i].push(g);
  }
  for (const i of [2, 4]) {
    const y = row(i) + high / 2;
    const name = i === 2 ? tr("residual plus after the FFN") : tr("residual plus after attention");
    const g = add("residual", name, svg("circle", { cx: stream, cy: y, r: 12 }), "+", stream, y + 4, 24,
      `M${stream + 2} ${y - 12}l-4 8l6 4l-5 12`);
    label(g, stream, y + 23, tr(DOES.residual), "middle", "ta-small an-adds");
  }
  const which = label(canvas, left + wide, row(7) - 5, "", "end", "ta-small"); // beside the trunk, under the frame

  return {
    /** Where a step goes without the parts, the way of a text stands in their place. */
    fold(folded) {
      canvas.toggleAttribute("data-away", folded);
      write(caption, folded ? tr("How it works") : tr("Parts"));
      way.hidden = !folded;
      hint.hidden = folded;
    },
    /** Lights the parts that the flow is passing: five rows in each layer, from the lowest to the highest. */
    rise(height) {
      const row = height === Infinity ? -1 : height === 0 ? 7 : height >= ui.spec.layers ? 0 : 6 - Math.floor((height % 1) * 5);
      byRow.forEach((found, i) => found.forEach((g) => g.toggleAttribute("data-now", i === row)));
    },
    draw(open, layer) {
      write(which, tr("layer {layer}; the last is {last}", { layer, last: ui.spec.layers - 1 }));
      for (const { g, key, name, words, text, broken } of parts) {
        const found = verdictOf(ui, key);
        const sign = found?.bad ? "✗ " : found?.lit ? "✓ " : "";
        write(words, text === "+" ? (found.bad ? "✗" : "+") : sign + text);
        const kind = found?.bad ? " an-bad" : found?.lit ? " an-lit" : "";
        fill(g, {
          class: `an-part ta-touch${kind}${open === key ? " an-open" : ""}`,
          "aria-label": found && found.state ? `${name}: ${tr(SAYS[found.state])}` : name,
          "aria-expanded": open === key,
        });
        broken.style.display = found?.bad ? "" : "none";
      }
    },
  };
}
