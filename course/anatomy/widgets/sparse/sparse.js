// SparseExplorer: what one layer of a sparse pattern scores, and what a stack of them reaches.

function sparseWidget(ui) {
  const { spec } = ui;
  const T = spec.length;
  const firsts = spec.kinds.map((_, k) => spec.scenes.findIndex((s) => s.kind === k));
  const kind = () => spec.kinds[ui.get("pattern")];
  const index = () => firsts[ui.get("pattern")] + Math.min(ui.get("size"), kind().sizes.length - 1);
  const sizeText = (i) => kind().counts.replace("{}", kind().sizes[i]);
  pick(ui, { trait: "pattern", name: "pattern", names: spec.kinds.map((k) => k.name) });
  slider(ui, { trait: "layers", name: "layers", values: Array.from({ length: spec.layers }, (_, i) => i + 1), long: true });
  const size = slider(ui, {
    trait: "size", name: "size", max: () => kind().sizes.length - 1, long: true,
    show: (i) => (kind().counts ? sizeText(i) : "one size"),
  });
  slider(ui, { trait: "query", name: "query", max: T - 1, show: (i) => `word ${i}`, long: true });
  ui.readout.style.minHeight = "48px"; // two lines, so that nothing below moves
  ui.root.append(ui.readout);

  const row = ui.row();
  const grid = sparseGrid(row, T, (i) => ui.set("query", i));
  const side = html("div", { class: "ta-panel", style: "flex: 1 1 330px" });
  row.append(side);
  const paths = growth(side, T);
  const show = facts(side, "Cost and reach", [
    ["pairs scored in the last layer", "of n² pairs of words"],
    ["pairs in all layers shown", "of n² for each layer"],
    ["the query depends on", "words, itself included"],
    ["everything reached after", kindNote],
    ["cells unlike the reference", "crossed out in the picture"],
  ]);

  return {
    draw() {
      size.disabled = kind().sizes.length === 1;
      const [at, layers, query] = [index(), ui.get("layers"), ui.get("query")];
      const { first } = spec.scenes[at];
      const { masks, ahead, counts, sizes } = kind();
      const cell = (name, place) => ui.table(name).subarray(place * T * T, (place + 1) * T * T);
      const layer = Array.from({ length: layers }, (_, l) => cell("may", first + (l % masks)));
      const hops = cell("hops", at);
      const last = first + ((layers - 1) % masks);
      grid.draw(layer[layers - 1], cell("right", last), hops, layers, query, !ui.table("own")[at]);
      paths.draw(layer, query);

      const count = (mask) => mask.reduce((sum, v) => sum + (v > 0), 0);
      const pairs = layer.map(count);
      const total = pairs.reduce((a, b) => a + b);
      const share = (n, of) => `${Math.round((100 * n) / of)} %`;
      let [wrong, full] = [0, 0];
      for (let m = 0; m < masks; m++) {
        const [a, b] = [cell("may", first + m), cell("right", first + m)];
        for (let c = 0; c < T * T; c++) wrong += (a[c] > 0) !== (b[c] > 0);
      }
      for (let c = 0; c < T * T; c++) {
        if (!ahead && c % T > Math.floor(c / T)) continue;
        full = hops[c] ? Math.max(full, hops[c]) : Infinity;
        if (full === Infinity) break;
      }
      const seen = [];
      const direct = [];
      for (let j = 0; j < T; j++) {
        const hop = hops[query * T + j];
        if (hop && hop <= layers) seen.push(j);
        if (layer[layers - 1][query * T + j] > 0) direct.push(j);
      }
      show([
        [`${pairs[layers - 1]} of ${T * T}`, share(pairs[layers - 1], T * T)],
        [`${total} of ${layers * T * T}`, share(total, layers * T * T)],
        [`${seen.length} of ${T}`, ""],
        [full === Infinity ? `more than ${spec.layers}` : String(full), full === 1 ? "layer" : "layers"],
        [String(wrong), wrong ? "differs" : "same", wrong === 0],
      ]);
      const named = counts ? `, ${sizeText(Math.min(ui.get("size"), sizes.length - 1))}` : "";
      ui.say(`${kind().name}${named}: in layer ${layers} query ${query} looks at ${runs(direct)}; after ${layers} ` +
        `layer${layers > 1 ? "s" : ""} it depends on ${seen.length} of ${T} words: ${runs(seen)}`);
      ui.root.dataset.key = `${at},${query},${layers}`;
    },
  };
}

const kindNote = "every word, or every earlier word where the pattern is causal";

/** [4, 5, 6, 9] as "4 to 6, 9". */
function runs(places) {
  const found = [];
  places.forEach((p) => {
    const end = found[found.length - 1];
    if (end && end[1] === p - 1) end[1] = p;
    else found.push([p, p]);
  });
  return found.map(([a, b]) => (a === b ? String(a) : `${a} to ${b}`)).join(", ") || "nothing";
}

/** Cells of the last layer's mask over what is reached; a click chooses the row. */
function sparseGrid(parent, T, choose) {
  const [left, head, size] = [34, 30, 20];
  const wide = T * size;
  const [W, H] = [left + wide + 2, head + wide + 2];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const note = html("small", {});
  box.append(html("p", { class: "ta-caption" }, "Scored and reached", note));
  parent.append(box);
  const canvas = picture(box, W, H, "Grid: one row for each query, one column for each key; filled where the last layer scores, dotted where the stack reaches");
  canvas.style.cursor = "pointer";
  const legend = html("p", { class: "ta-note" }, "Filled: scored in the last layer. Dot: reached through the layers. Click a row to choose the query.");
  box.append(legend);
  canvas.addEventListener("click", (event) => {
    const frame = canvas.getBoundingClientRect();
    const i = Math.floor((((event.clientY - frame.top) / frame.height) * H - head) / size);
    if (i >= 0 && i < T) choose(i);
  });
  const ticks = svg("g");
  for (let i = 0; i < T; i += 5) {
    label(ticks, left + (i + 0.5) * size, head - 8, String(i), "middle", "ta-small");
    label(ticks, left - 6, head + (i + 0.5) * size + 4, String(i), "end", "ta-small");
  }
  label(ticks, left + wide, head - 8, "key", "end", "ta-small");
  label(ticks, left - 6, head - 8, "query", "end", "ta-small");
  const cells = svg("g");
  canvas.append(ticks, cells);
  return {
    draw(may, right, hops, layers, query, reference) {
      note.textContent = reference ? "the reference" : "yours";
      const parts = [];
      for (let i = 0; i < T; i++) {
        for (let j = 0; j < T; j++) {
          const c = i * T + j;
          const [x, y] = [left + j * size, head + i * size];
          const [scored, reached] = [may[c] > 0, hops[c] > 0 && hops[c] <= layers];
          const strong = i === query ? 1 : 0.6;
          const style = scored ? `fill-opacity: ${strong}` : reached ? "fill-opacity: 0.16" : "";
          const kind = scored || reached ? "ta-fill-one ta-cell" : "ta-grid";
          parts.push(svg("rect", { x, y, width: size, height: size, class: kind, style }));
          if (reached && !scored) parts.push(svg("circle", { cx: x + size / 2, cy: y + size / 2, r: i === query ? 3.5 : 2.2, class: "ta-fill-one" }));
          if (scored !== right[c] > 0) {
            const d = `M${x + 5} ${y + 5}l10 10M${x + 15} ${y + 5}l-10 10`;
            parts.push(svg("path", { d, class: "ta-mark", style: "stroke: var(--ta-bad)" }));
          }
        }
      }
      parts.push(svg("rect", { x: left, y: head + query * size, width: wide, height: size, class: "ta-mark" }));
      cells.replaceChildren(...parts);
    },
  };
}

/** Layers from the input at the bottom to the query at the top; lines are the steps on a way to the query. */
function growth(parent, T) {
  const [W, H, top, left] = [350, 216, 12, 50];
  const box = html("div", { style: "margin-bottom: 6px" }, html("p", { class: "ta-caption" }, "What reaches the query", html("small", {}, "input words at the bottom")));
  parent.append(box);
  const canvas = picture(box, W, H, "Layers of words: lines show on which ways the inputs below reach the query at the top");
  const x = (i) => left + ((i + 0.5) * (W - left)) / T;
  return {
    draw(layer, query) {
      const depth = layer.length;
      const step = Math.min(50, (H - top - 34) / depth);
      const y = (l) => H - 30 - l * step; // layer 0 at the bottom
      const parts = [];
      let needed = new Set([query]);
      const dots = (l) => {
        parts.push(svg("text", { x: left - 8, y: y(l) + 4, "text-anchor": "end", class: "ta-small" }, l ? `layer ${l}` : "input"));
        for (let i = 0; i < T; i++) {
          const on = needed.has(i);
          const kind = l === depth && i === query ? "ta-here" : on ? "ta-fill-one" : "ta-axis";
          parts.push(svg("circle", { cx: x(i), cy: y(l), r: on ? 4.5 : 2, class: kind }));
        }
      };
      for (let l = depth; l > 0; l--) {
        const below = new Set(needed); // the residual connection keeps a word's own state
        for (const i of needed) {
          for (let j = 0; j < T; j++) {
            const direct = layer[l - 1][i * T + j] > 0;
            if (!direct && i !== j) continue;
            below.add(j);
            const dashed = direct ? "" : "; stroke-dasharray: 2 3";
            parts.push(svg("line", { x1: x(i), y1: y(l), x2: x(j), y2: y(l - 1), style: `stroke: var(--ta-one); stroke-opacity: 0.3${dashed}` }));
          }
        }
        dots(l);
        needed = below;
      }
      dots(0);
      for (let i = 0; i < T; i += 5) parts.push(svg("text", { x: x(i), y: H - 8, "text-anchor": "middle", class: "ta-small" }, String(i)));
      canvas.replaceChildren(...parts);
      canvas.dataset.inputs = [...needed].sort((a, b) => a - b).join(" ");
    },
  };
}

const widget = { render: mount(sparseWidget) };
export default widget;
