// PermutationExplorer: permute the words; without positions the output's rows are permuted alike, and no more.

function permutationWidget(ui) {
  const { spec } = ui;
  const [T, D] = [spec.words.length, spec.width];
  slider(ui, { trait: "order", name: "order of the words", values: spec.names, long: true });
  slider(ui, { trait: "word", name: "word to follow", max: T - 1, show: (i) => `${i}: ${spec.words[i]}` });
  choice(ui, { trait: "positions", name: "positions", values: [false, true], show: (on) => (on ? "added" : "none") });
  ui.root.append(ui.readout);

  const [cw, ch, name, top] = [17, 30, 46, 26];
  const wide = D * cw;
  const starts = [name, name + wide + 62 + name, name + 2 * wide + 62 + 2 * name + 18, name + 3 * wide + 80 + 2 * name + 22];
  const [W, H] = [starts[3] + wide + 4, top + T * ch + 6];
  const box = html("div", { class: "ta-panel" });
  box.append(html("p", { class: "ta-caption" }, "Output of attention, one row per word",
    html("small", {}, "blue is positive, orange negative")));
  ui.row().append(box);
  const canvas = picture(box, W, H, "Four heatmaps with a row per word: f of x, its rows permuted, f of the permuted words, and the difference");
  const titles = ["f(x)", "P f(x): rows moved", "f(Px): words moved", "difference"];
  const threads = svg("g");
  canvas.append(threads);
  const grids = titles.map((title, g) => {
    label(canvas, starts[g] + wide / 2, 14, title, "middle", "ta-strong");
    const cells = Array.from({ length: T * D }, (_, i) => svg("rect", {
      x: starts[g] + (i % D) * cw, y: top + Math.floor(i / D) * ch + 1, width: cw, height: ch - 2,
    }));
    canvas.append(...cells, svg("rect", { x: starts[g], y: top + 1, width: wide, height: T * ch - 2, class: "ta-axis" }));
    const names = g === 3 ? [] : Array.from({ length: T }, (_, i) => label(canvas, starts[g] - 6, top + (i + 0.5) * ch + 4, "", "end"));
    const mark = svg("rect", { x: starts[g] - 1, width: wide + 2, height: ch, class: "ta-mark" });
    canvas.append(mark);
    return { cells, names, mark };
  });

  const side = html("div", { class: "ta-panel", style: "width: 100%" });
  ui.row().append(side);
  const show = facts(side, "What order does to the output", [
    ["max |f(Px) − P f(x)|", "0 without positions: permuting the words only permutes the rows"],
    ["distance of the two “the” in f(x)", "0 without positions: an equal word gets an equal output, wherever it stands"],
    ["farthest from the reference", "largest difference over all orders"],
  ]);

  return {
    draw() {
      const [on, order, word] = [ui.get("positions"), ui.get("order"), ui.get("word")];
      const [p, j] = [Number(on), spec.names.indexOf(order)];
      const now = spec.orders[j];
      const size = T * D;
      const cut = (table, o) => ui.table(table).subarray((p * spec.names.length + o) * size, (p * spec.names.length + o + 1) * size);
      const [before, moved, after] = [cut("out", 0), cut("moved", j), cut("out", j)];
      const difference = after.map((v, i) => v - moved[i]);
      const limit = [...before, ...after].reduce((a, v) => (Number.isFinite(v) ? Math.max(a, Math.abs(v)) : a), 1e-9);
      const colors = palette(ui.dark);
      const written = now.map((_, i) => i);
      const place = now.indexOf(word);
      [[before, written, word], [moved, now, place], [after, now, place], [difference, now, place]].forEach(
        ([values, rows, here], g) => {
          values.forEach((v, i) => grids[g].cells[i].setAttribute("fill", css(colors.at(v / limit))));
          grids[g].names.forEach((text, i) => {
            text.textContent = spec.words[rows[i]];
            text.setAttribute("class", i === here ? "ta-strong" : "ta-text");
          });
          grids[g].mark.setAttribute("y", top + here * ch);
        });
      threads.replaceChildren(...now.map((old, i) => {
        const [x1, x2] = [starts[0] + wide + 4, starts[1] - 44];
        const [y1, y2] = [top + (old + 0.5) * ch, top + (i + 0.5) * ch];
        const d = `M${x1} ${y1}C${x1 + 26} ${y1} ${x2 - 26} ${y2} ${x2} ${y2}`;
        return svg("path", { d, class: old === word ? "ta-mine" : "ta-axis" });
      }));

      const gap = ui.table("gap")[p * spec.names.length + j];
      const twins = ui.table("twins")[p];
      const far = ui.table("far")[p];
      const equal = (v) => v <= spec.tolerance;
      // With positions a difference is what should be seen; without them it is a mistake.
      const verdict = (v, trivial) => (equal(v) ? ["equal", on && !trivial ? false : true]
        : [on ? "differs, as it should" : "broken", on]);
      const row = (v, trivial) => { const [text, good] = verdict(v, trivial); return [short(v), text, good]; };
      show([row(gap, j === 0), row(twins, false), [short(far), equal(far) ? "same" : "differs", equal(far)]]);
      const change = Math.max(...Array.from({ length: D }, (_, i) => Math.abs(difference[place * D + i])));
      const way = place === word ? `stays at place ${word}` : `goes from place ${word} to ${place}`;
      ui.say(`“${now.map((i) => spec.words[i]).join(" ")}”: “${spec.words[word]}” ${way}, ` +
        `and its output changes by ${short(change)}`);
      ui.root.dataset.key = `${p},${j},${word}`;
    },
  };
}

const widget = { render: mount(permutationWidget) };
export default widget;
