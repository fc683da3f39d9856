// TilesExplorer, “merged parts”: an average and an lse for each block, and what merge makes of them, two at a time.

const [BOX, DOWN] = [32, 18]; // px: height of a box, and of the lines between the two rows

/** Boxes for the blocks that are read and, below them, for what has been joined so far. */
function joinedParts(ui, parent, W, now) {
  const { spec } = ui;
  const T = spec.length;
  const most = T / Math.min(...spec.blocks);
  const canvas = picture(parent, W, 2 * BOX + DOWN + 19,
    tr("Boxes: the average and the lse of each block, and of those that merge has joined"));
  const lines = svg("path", { class: "ta-axis" });
  canvas.append(lines);
  const boxes = [0, 1].map((row) => Array.from({ length: most }, () => {
    const rect = svg("rect", { y: 2 + row * (BOX + DOWN), height: BOX, rx: 4, class: row ? "ta-fill-one" : "ta-axis" });
    if (row) rect.style.fillOpacity = 0.14;
    canvas.append(rect);
    const texts = [13, 27].map((down) => label(canvas, 0, 2 + row * (BOX + DOWN) + down, "", "middle", "ta-small"));
    return { rect, texts };
  }));

  const how = label(canvas, 2, 2 * BOX + DOWN + 15, "", "start", "ta-small");

  /** Average of the values and lse of the keys from..to that the query sees. */
  function part(from, to) {
    const { scores, sees } = now();
    const keys = [...Array(T).keys()].filter((s) => s >= from && s < to && sees(s));
    const [sum, mixed] = [0, 1].map((power) => keys.reduce((a, s) => a + Math.exp(scores[s]) * spec.values[s] ** power, 0));
    return [mixed / sum, Math.log(sum)];
  }

  return () => {
    const { block, read, here } = now();
    const each = Math.min((W - 2) / read, 110);
    const middle = (j) => 1 + (j + 0.5) * each;
    boxes.forEach((row, which) => row.forEach(({ rect, texts }, j) => {
      const shown = j < read && j >= which; // the first block has nothing to be joined with
      for (const node of [rect, ...texts]) node.style.visibility = shown ? "visible" : "hidden";
      if (!shown) return;
      fill(rect, { x: (middle(j) - each / 2 + 3).toFixed(1), width: (each - 6).toFixed(1) });
      const newest = which && j === read - 1; // what the function has made
      const [average, lse] = newest ? [here.result, Math.log(here.sum) + here.largest]
        : part(which ? 0 : j * block, (j + 1) * block);
      write(texts[0], fixed(average, 2));
      write(texts[1], tr("lse {lse}", { lse: fixed(lse, 2) }));
      for (const node of texts) fill(node, { x: middle(j).toFixed(1), class: newest ? "ta-strong" : "ta-small" });
    }));
    const [old, fresh] = [part(0, (read - 1) * block), part((read - 1) * block, read * block)];
    const share = 1 / (1 + Math.exp(fresh[1] - old[1]));
    const seen = { a: fixed(share, 2), b: fixed(1 - share, 2), old: fixed(old[0], 2), fresh: fixed(fresh[0], 2),
      result: outcome(share * old[0] + (1 - share) * fresh[0], here.result) };
    write(how, read > 1 ? tr("{a} × {old} + {b} × {fresh} = {result}, weighted by e^lse", seen) : "");
    let path = "";
    for (let j = 1; j < read; j++) {
      path += `M${middle(j)} ${2 + BOX}v${DOWN}`; // a block
      path += j === 1 ? `M${middle(0)} ${2 + BOX}L${middle(1)} ${2 + BOX + DOWN}` // with the first
        : `M${middle(j - 1) + each / 2 - 3} ${2 + BOX * 1.5 + DOWN}h6`; // or with what was joined before
    }
    fill(lines, { d: path });
  };
}
