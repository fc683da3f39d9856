// MaskExplorer: a mask as a grid of words; one query's row, and what reaches it over several layers.

function maskWidget(ui) {
  const { spec } = ui;
  const N = spec.size;
  const firsts = spec.kinds.map((_, k) => spec.scenes.findIndex((s) => s.kind === k));
  const kind = () => spec.kinds[ui.get("mask")];
  const place = () => Math.min(ui.get("size"), kind().sizes.length - 1);
  const index = () => firsts[ui.get("mask")] + place();
  const scene = () => spec.scenes[index()];
  pick(ui, { trait: "mask", name: "mask", names: spec.kinds.map((k) => k.name) });
  slider(ui, { trait: "query", name: "query", max: () => scene().rows.length - 1, show: (i) => `${i}: ${scene().rows[i]}` });
  slider(ui, {
    trait: "size", name: "size", max: () => kind().sizes.length - 1, long: true,
    show: (i) => (kind().counts === "example" ? `example ${i + 1}` : kind().counts ? `${kind().sizes[i]} ${kind().counts}` : "one size"),
  });
  slider(ui, { trait: "layers", name: "layers", values: Array.from({ length: spec.layers }, (_, i) => i + 1) });
  ui.root.append(ui.readout);

  const row = ui.row();
  const grid = maskGrid(row, N, (i) => ui.set("query", i));
  const side = html("div", { class: "ta-panel", style: "flex: 1 1 300px" });
  row.append(side);
  const path = pathPanel(side, N, spec.layers);
  const show = facts(side, "This mask", [
    ["allowed pairs", "True in the mask, of all pairs"],
    ["pairs that look ahead", "the key is later than the query"],
    ["queries that see nothing", "their softmax would be 0/0"],
    ["cells unlike the reference", "crossed out in the picture"],
  ]);

  return {
    draw() {
      const [s, at] = [scene(), index()];
      const [rows, columns] = [s.rows.length, s.columns.length];
      const query = Math.min(ui.get("query"), rows - 1);
      const cut = (name) => ui.table(name).subarray(at * N * N, (at + 1) * N * N);
      const [may, right] = [cut("may"), cut("right")];
      const positions = s.positions.length ? positionRows(ui, s.positions, columns) : [];
      grid.draw(s, may, right, query, positions, ui.get("notice") || !ui.table("own")[at]);

      const seen = s.columns.filter((_, j) => may[query * N + j] > 0);
      const layers = ui.get("layers");
      const square = rows === columns;
      const reach = Array.from({ length: spec.layers }, (_, l) => (
        ui.table("reach").subarray(((at * spec.layers + l) * N) * N, ((at * spec.layers + l) * N + N) * N)));
      path.draw(square ? s.columns : null, may, reach, query, layers);

      let [pairs, ahead, empty, wrong] = [0, 0, 0, 0];
      for (let i = 0; i < rows; i++) {
        let any = false;
        for (let j = 0; j < columns; j++) {
          const [a, b] = [may[i * N + j] > 0, right[i * N + j] > 0];
          pairs += a;
          any ||= a;
          wrong += a !== b;
          ahead += a && j > i + columns - rows;
        }
        empty += !any;
      }
      const rule = kind().ahead;
      show([
        [`${pairs} of ${rows * columns}`, ""],
        rule === "cross" ? ["", "two texts"] : [String(ahead), rule === "yes" ? (ahead ? "by design" : "") : ahead ? "leak" : "no leak",
          rule === "yes" ? undefined : ahead === 0],
        [String(empty), empty ? "define them" : ""],
        [String(wrong), wrong ? "differs" : "same", wrong === 0],
      ]);
      const reached = reach[layers - 1].subarray(query * N, query * N + columns).reduce((a, v) => a + (v > 0), 0);
      const deep = square ? `; after ${layers} layer${layers > 1 ? "s" : ""} it depends on ${reached} of ${columns}` : "";
      ui.say(`“${s.rows[query]}” (row ${query}) may look at ${seen.length} of ${columns}: ${seen.join(" ") || "nothing"}${deep}`);
      ui.root.dataset.key = `${at},${query},${layers}`;
    },
  };
}

/** [[name, numbers], …] of the scene's position rows; a negative number means no token. */
function positionRows(ui, [name, at], columns) {
  const table = ui.table(`p_${name}`);
  const rows = name === "position_ids" ? ["position"] : ["position", "in blank"];
  const N = ui.spec.size;
  return rows.map((title, r) => {
    const start = (at * rows.length + r) * N;
    return [title, [...table.subarray(start, start + columns)]];
  });
}

/** Cells of the mask; a click chooses the row. */
function maskGrid(parent, N, choose) {
  const [left, wide] = [58, 410];
  const W = left + wide + 2;
  const tall = (head) => head + wide + 4;
  let head = 30; // two rows of positions need more
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const note = html("small", {});
  box.append(html("p", { class: "ta-caption" }, "Mask", note));
  parent.append(box);
  const canvas = picture(box, W, tall(head), "Grid: one row for each query, one column for each key, filled where the query may look");
  canvas.style.cursor = "pointer";
  let shape = [1, 1];
  canvas.addEventListener("click", (event) => {
    const frame = canvas.getBoundingClientRect();
    const y = ((event.clientY - frame.top) / frame.height) * tall(head) - head;
    const i = Math.floor(y / (wide / shape[1]));
    if (i >= 0 && i < shape[0]) choose(i);
  });
  return {
    draw(s, may, right, query, positions, reference) {
      shape = [s.rows.length, s.columns.length];
      note.textContent = `row: query, column: key; blue: may look${reference ? "; the reference" : "; yours"}`;
      const cell = wide / shape[1];
      head = 30 + 16 * positions.length;
      canvas.setAttribute("viewBox", `0 0 ${W} ${tall(head)}`);
      canvas.setAttribute("height", tall(head));
      const parts = [];
      const text = (x, y, words, anchor, kind) => {
        const node = svg("text", { x, y, "text-anchor": anchor, class: kind }, words);
        parts.push(node);
        return node;
      };
      positions.forEach(([title, numbers], r) => {
        const y = 14 + 16 * r;
        text(left - 6, y, title, "end", "ta-small");
        numbers.forEach((v, j) => text(left + (j + 0.5) * cell, y, String(v), "middle", "ta-small"));
      });
      s.columns.forEach((word, j) => {
        const here = may[query * N + j] > 0;
        text(left + (j + 0.5) * cell, head - 8, word, "middle", here ? "ta-strong" : "ta-small");
      });
      s.rows.forEach((word, i) => {
        text(left - 6, head + (i + 0.5) * cell + 4, word, "end", i === query ? "ta-strong" : "ta-text");
        s.columns.forEach((_, j) => {
          const [a, b] = [may[i * N + j] > 0, right[i * N + j] > 0];
          const [x, y] = [left + j * cell, head + i * cell];
          const kind = a ? "ta-fill-one ta-cell" : "ta-axis";
          parts.push(svg("rect", { x, y, width: cell, height: cell, class: kind, style: a ? `fill-opacity: ${i === query ? 1 : 0.55}` : "" }));
          if (a !== b) {
            const d = `M${x + 8} ${y + 8}L${x + cell - 8} ${y + cell - 8}M${x + cell - 8} ${y + 8}L${x + 8} ${y + cell - 8}`;
            parts.push(svg("path", { d, class: "ta-mark", style: "stroke: var(--ta-bad)" }));
          }
        });
      });
      parts.push(svg("rect", { x: left, y: head + query * cell, width: wide, height: cell, class: "ta-mark" }));
      canvas.replaceChildren(...parts);
    },
  };
}

/** Layers from the input at the bottom to the query at the top; lines are allowed steps on a way to the query. */
function pathPanel(parent, N, layers) {
  const [W, step, top, left] = [330, 34, 14, 46];
  const tall = (depth) => top + depth * step + 26;
  const note = html("small", {});
  const box = html("div", { style: "margin-bottom: 8px" }, html("p", { class: "ta-caption" }, "What reaches the query", note));
  parent.append(box);
  const canvas = picture(box, W, tall(layers), "Layers of words: lines show on which ways the inputs below reach the query at the top");
  return {
    draw(words, may, reach, query, depth) {
      note.textContent = words ? "input words at the bottom" : "";
      if (!words) {
        canvas.setAttribute("viewBox", `0 0 ${W} 34`);
        canvas.setAttribute("height", 34);
        canvas.replaceChildren(svg("text", { x: 0, y: 20, class: "ta-text" }, "Queries and keys are different words here."));
        return;
      }
      const T = words.length;
      const x = (i) => left + ((i + 0.5) * (W - left)) / T;
      const y = (l) => top + (depth - l) * step; // layer 0 at the bottom
      canvas.setAttribute("viewBox", `0 0 ${W} ${tall(depth)}`);
      canvas.setAttribute("height", tall(depth));
      const parts = [];
      // In layer l those words matter that the query reaches over the layers above.
      const needed = (l, i) => l === depth ? i === query : reach[depth - l - 1][query * N + i] > 0;
      for (let l = depth; l > 0; l--) {
        for (let i = 0; i < T; i++) {
          if (!needed(l, i)) continue;
          for (let j = 0; j < T; j++) {
            const direct = may[i * N + j] > 0;
            if (!direct && i !== j) continue; // the residual stream keeps a word's own state
            const dashed = direct ? "" : "; stroke-dasharray: 2 3";
            const style = `stroke: var(--ta-one); stroke-opacity: 0.4${dashed}`;
            parts.push(svg("line", { x1: x(i), y1: y(l), x2: x(j), y2: y(l - 1), style }));
          }
        }
      }
      for (let l = 0; l <= depth; l++) {
        parts.push(svg("text", { x: left - 8, y: y(l) + 4, "text-anchor": "end", class: "ta-small" }, l ? `layer ${l}` : "input"));
        for (let i = 0; i < T; i++) {
          const on = needed(l, i);
          const kind = l === depth && i === query ? "ta-here" : on ? "ta-fill-one" : "ta-axis";
          parts.push(svg("circle", { cx: x(i), cy: y(l), r: on ? 5 : 3, class: kind }));
        }
      }
      words.forEach((_, i) => parts.push(svg("text", { x: x(i), y: tall(depth) - 4, "text-anchor": "middle", class: "ta-small" }, String(i))));
      canvas.replaceChildren(...parts);
    },
  };
}

const widget = { render: mount(maskWidget) };
export default widget;
