// The same dials after each of SamplingExplorer's texts, side by side: what a cut keeps depends on what is there.

const [SMALL_HIGH, SMALL_TOP, SMALL_GAP] = [48, 36, 4]; // of the bars, of the words above them, between charts
const BESIDE = 220; // width of the charts, where they stand one below the other beside the bars

/** The end of a text, for a phone. */
const shortened = (text) => (text.length > 12 ? `…${text.split(" ").slice(-2).join(" ")}` : text);

/** A small chart for each text: columns for the likeliest tokens, and how many can come. A press chooses the text. */
function promptPanel(ui, row, count, beside) {
  const { spec, room } = ui;
  const each = spec.prompts.length;
  const across = beside ? BESIDE - 4 : Math.floor(room / each) - SMALL_GAP - 4;
  const narrow = across < 130; // there, what the charts are compared with takes a line of its own
  const topEdge = SMALL_TOP + (narrow ? 15 : 0);
  const [W, H] = [across + 4, topEdge + SMALL_HIGH + 2];
  const size = beside ? [W, each * (H + SMALL_GAP)] : [each * (W + SMALL_GAP), H];
  const box = html("div", { class: "ta-panel", style: `width: ${size[0]}px` },
    html("p", { class: "ta-caption" }, tr("After each text"), html("small", {}, tr("last: all others"))));
  row.append(box);
  const canvas = picture(box, ...size, tr("Small charts: the probabilities after each text, with the same dials"));
  const step = across / (count + 2.3);
  const charts = spec.prompts.map((text, i) => {
    const [left, top] = beside ? [2, i * (H + SMALL_GAP)] : [i * (W + SMALL_GAP) + 2, 0];
    const frame = svg("rect", { x: left - 1, y: top + 1, width: across + 2, height: H - 2, rx: 3, class: "ta-mark" });
    const name = label(canvas, left + 6, top + 15, narrow ? shortened(text) : text, "start", "ta-text");
    const many = label(canvas, left + 6, top + 30, "", "start", "ta-text");
    const other = narrow ? label(canvas, left + 6, top + 45, "", "start", "ta-text")
      : label(canvas, left + across - 6, top + 30, "", "end", "ta-text");
    // All others stand apart, behind a line.
    const columns = Array.from({ length: count + 1 }, (_, k) => svg("rect", {
      x: left + step * (k + (k < count ? 0.4 : 1.2)), width: step * 0.75, class: "ta-fill-one",
    }));
    const rule = left + step * (count + 0.7);
    canvas.append(frame, ...columns);
    line(canvas, rule, top + topEdge, rule, top + topEdge + SMALL_HIGH, "ta-grid");
    return { frame, foot: top + topEdge + SMALL_HIGH, name, many, other, columns };
  });
  const place = cursor(ui, canvas, {
    name: tr("Texts"), cross: false,
    box: () => ({ x: 0, y: 0, width: size[0], height: size[1] }),
    size: () => (beside ? [1, each] : [each, 1]),
    at: () => (beside ? [0, ui.seen("prompt")] : [ui.seen("prompt"), 0]),
    state: (column, line) => ({ prompt: column + line, token: 0 }), // with the likeliest token, and how it is computed
    says: (column, line) => spec.prompts[column + line],
  });
  return (distributions, here, others) => {
    place();
    charts.forEach(({ frame, foot, name, many, other, columns }, i) => {
      const p = distributions[i];
      columns.forEach((column, k) => {
        const high = SMALL_HIGH * clamp(Number.isFinite(p[k]) ? p[k] : 0, 0, 1);
        fill(column, { y: foot - high, height: high });
      });
      frame.style.visibility = i === here ? "visible" : "hidden";
      fill(name, { class: i === here ? "ta-strong" : "ta-text" });
      write(many, tr("{n} can come", { n: whole(p[count + 1]) }));
      write(other, others ? others[i] : "");
    });
  };
}
