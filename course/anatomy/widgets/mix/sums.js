// The calculation of MixExplorer: products, their sum and its quotient, and each word's part of the average.

/** A row for each word with its product and its share, their sums; below, the parts of the average, end to end. */
function sumPanel(ui, parent, W) {
  const { spec } = ui;
  const [height, top] = [24, 20];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  box.append(html("p", { class: "ta-caption" }, tr("The sum in numbers"),
    html("small", {}, tr("share: weight ÷ total"))));
  parent.append(box);
  const sum = top + 3 * height;
  const steps = sum + 2 * height + 34;
  const canvas = picture(box, W, steps + 3 * height + 34,
    tr("A table of products, weight × value, and shares, with their sums; below, bars: each word’s share × value, " +
      "end to end from 0 to the average"));
  const columns = [88, 146, 214, W - 6]; // their right ends
  const across = (y, texts, kind) => texts.map((text, k) => label(canvas, columns[k], y, text, "end", kind));
  across(12, [tr("weight"), tr("× value"), tr("= product"), tr("share")], "ta-small");
  const mark = svg("rect", { x: 1, width: W - 2, height, class: "ta-mark" });
  const rows = spec.words.map((word, i) => {
    label(canvas, 8, top + i * height + 17, word, "start", "ta-strong");
    const [weight, , product, share] = across(top + i * height + 17, ["", `× ${spec.values[i]}`, "", ""], "ta-text");
    return { weight, product, share };
  });
  line(canvas, 0, sum + 1, W, sum + 1);
  label(canvas, 8, sum + 19, tr("sum"), "start", "ta-strong");
  const [heavy, , product, one] = across(sum + 19, ["", "", "", ""], "ta-strong");
  const quotient = label(canvas, 8, sum + 43, "", "start", "ta-strong");
  const parts = partsOf(canvas, spec, steps, height, W);
  for (const { share } of [...rows, { share: one }]) fill(share, { "data-readout": "share" });
  // An empty column would look as if something were missing.
  label(canvas, W - 6, top + 1.5 * height + 8, "?", "end", "ta-strong ta-until").style.fontSize = "22px";
  canvas.append(mark);
  const place = cursor(ui, canvas, {
    name: tr("Word whose share is shown"), cross: false,
    box: () => ({ x: 0, y: top, width: W, height: 3 * height }),
    size: () => [1, spec.words.length],
    at: () => [0, ui.seen("word") ?? 0],
    state: (_, i) => ({ word: i }),
    says: (_, i) => (ui.seen("word") === undefined ? tr("none yet") : spec.words[i]),
  });

  return (weights, total, word) => {
    place();
    const products = weights.map((w, i) => w * spec.values[i]);
    const all = products.reduce((a, b) => a + b);
    rows.forEach(({ weight, product: own, share }, i) => {
      write(weight, String(weights[i]));
      write(own, `= ${products[i]}`);
      write(share, total ? fixed(weights[i] / total, 2) : "–");
    });
    write(heavy, String(total));
    write(product, String(all));
    write(one, total ? "1.00" : "–");
    write(quotient, tr("average = {sum} ÷ {total} = {average}",
      { sum: all, total, average: total ? neat(all / total) : "–" }));
    parts(weights.map((w, i) => (total ? products[i] / total : 0)), word, total);
    mark.style.visibility = word >= 0 ? "visible" : "hidden";
    if (word >= 0) fill(mark, { y: top + word * height });
  };
}

/** Bars of share × value: each begins where the last one ends, and the last ends at the average. */
function partsOf(canvas, spec, top, height, W) {
  const left = 44;
  const x = (v) => left + (v / 10) * (W - left - 40);
  const bottom = top + 3 * height;
  label(canvas, 8, top - 8, tr("share × value, end to end"), "start", "ta-small");
  for (let v = 0; v <= 10; v += 5) {
    line(canvas, x(v), v ? bottom - 4 : top, x(v), bottom);
    label(canvas, x(v), bottom + 13, String(v), "middle", "ta-small");
  }
  line(canvas, x(0), bottom, x(10), bottom);
  const rows = spec.words.map((word, i) => {
    const y = top + i * height;
    label(canvas, 8, y + 16, word, "start", "ta-strong");
    const bar = svg("rect", { y: y + 4, height: height - 8, class: "ta-fill-one" });
    const guide = svg("path", { class: "ta-axis", "stroke-dasharray": "3 2" });
    canvas.append(bar, guide);
    return { bar, guide, y, part: label(canvas, 0, y + 16, "", "start", "ta-small") };
  });
  const end = label(canvas, 0, bottom + 28, "", "middle", "ta-strong");
  return (parts, word, total) => {
    let from = 0;
    rows.forEach(({ bar, guide, y, part }, i) => {
      const to = from + parts[i];
      fill(bar, { x: x(from), width: x(to) - x(from), class: i === word ? "ta-fill-one ta-lit" : "ta-fill-one" });
      fill(guide, { d: `M${x(to)} ${y + 4}V${i < 2 ? y + height + 4 : bottom + 16}` });
      fill(part, { x: x(to) + 5, "data-readout": "part" });
      write(part, total ? `+ ${neat(parts[i])}` : "–");
      from = to;
    });
    fill(end, { x: x(from) });
    write(end, total ? neat(from) : "");
  };
}
