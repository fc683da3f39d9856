// What CacheStepper's cache is for: two bars, which grow apart from step to step.

/**
 * How many keys have been computed so far; and without a cache, where each step computes those of all tokens anew. What
 * this step adds has the color that new keys have everywhere.
 */
function savingPanel(parent, W) {
  const box = html("div", { class: "ta-panel", "data-part": "saved" },
    html("p", { class: "ta-caption" }, tr("Keys computed so far"), html("small", {}, tr("orange: in this step"))));
  parent.prepend(box); // before the store: it is why there is one
  const [left, high] = [104, 36];
  const canvas = picture(box, W, 2 * high + 2, "");
  const rows = [[tr("with the cache"), "ta-fill-one"], [tr("without a cache"), "ta-open-two"]].map(([name, kind], i) => {
    label(canvas, left - 8, i * high + 22, name, "end", "ta-small");
    const bar = svg("rect", { x: left, y: i * high + 4, height: high - 8, class: kind, style: i ? "" : "fill-opacity: 0.22" });
    const fresh = svg("rect", { y: i * high + 4, height: high - 8, class: "ta-fill-two" });
    canvas.append(bar, fresh);
    return { bar, fresh, value: label(canvas, left, i * high + 22, "", "start", "ta-strong") };
  });
  return ({ ends, step }) => {
    const anew = (upTo) => ends.slice(0, upTo + 1).reduce((a, b) => a + b);
    const numbers = [ends[step], anew(step)];
    const before = step ? [ends[step - 1], anew(step - 1)] : [0, 0];
    rows.forEach(({ bar, fresh, value }, i) => {
      const long = (n) => ((W - left - 30) * n) / anew(ends.length - 1);
      const width = long(numbers[i]);
      fill(bar, { width: long(before[i]) });
      fill(fresh, { x: left + long(before[i]), width: width - long(before[i]) });
      fill(value, { x: left + width + 6 });
      write(value, String(numbers[i]));
    });
    const [n, all] = numbers;
    fill(canvas, { "aria-label": tr("Keys computed so far: {n} with the cache, {all} without a cache", { n, all }) });
  };
}
