// The same dials after each of SamplingExplorer's texts, side by side: what a cut keeps depends on what is there.

const [SMALL_HIGH, SMALL_TOP] = [64, 36]; // of the bars, and of the words above them

/** The end of a text, for a phone. */
const shortened = (text) => (text.length > 12 ? `…${text.split(" ").slice(-2).join(" ")}` : text);

/** A small chart for each text: columns for the likeliest tokens, and how many can come. A press chooses the text. */
function promptPanel(ui, count) {
  const { spec, room } = ui;
  const each = spec.prompts.length;
  const gap = 14;
  const across = Math.floor(Math.min(room, 792) / each) - gap;
  const box = html("div", { class: "ta-panel" }, html("p", { class: "ta-caption" }, tr("After each text"),
    html("small", {}, tr("the ten likeliest tokens, and all others together after the line"))));
  ui.row().append(box);
  const H = SMALL_TOP + SMALL_HIGH + 2;
  const canvas = picture(box, each * (across + gap), H, tr("Small charts: the probabilities after each text, with the same dials"));
  const step = across / (count + 2.3);
  const charts = spec.prompts.map((text, i) => {
    const left = i * (across + gap) + 2;
    const frame = svg("rect", { x: left - 1, y: 1, width: across + 2, height: H - 2, rx: 3, class: "ta-mark" });
    const name = label(canvas, left + 6, 15, across < 130 ? shortened(text) : text, "start", "ta-text");
    const many = label(canvas, left + 6, 30, "", "start", "ta-text");
    // All others stand apart, behind a line.
    const columns = Array.from({ length: count + 1 }, (_, k) => svg("rect", {
      x: left + step * (k + (k < count ? 0.4 : 1.2)), width: step * 0.75, class: "ta-fill-one",
    }));
    const rule = left + step * (count + 0.7);
    canvas.append(frame, ...columns);
    line(canvas, rule, SMALL_TOP, rule, SMALL_TOP + SMALL_HIGH, "ta-grid");
    return { frame, name, many, columns };
  });
  const place = cursor(ui, canvas, {
    name: tr("Texts"), cross: false,
    box: () => ({ x: 0, y: 0, width: each * (across + gap), height: H }),
    size: () => [each, 1],
    at: () => [ui.seen("prompt"), 0],
    state: (prompt) => ({ prompt }),
    says: (prompt) => spec.prompts[prompt],
  });
  return (distributions, here) => {
    place();
    charts.forEach(({ frame, name, many, columns }, i) => {
      const p = distributions[i];
      columns.forEach((column, k) => {
        const high = SMALL_HIGH * clamp(Number.isFinite(p[k]) ? p[k] : 0, 0, 1);
        fill(column, { y: SMALL_TOP + SMALL_HIGH - high, height: high });
      });
      frame.style.visibility = i === here ? "visible" : "hidden";
      fill(name, { class: i === here ? "ta-strong" : "ta-text" });
      write(many, tr("{n} can come", { n: whole(p[count + 1]) }));
    });
  };
}
