// What a widget is put together from: controls bound to traits, a table of facts, a map of scores.

/** JupyterLab takes the arrow keys for its own shortcuts unless the focused element itself says otherwise. */
function keepKeys(node) {
  node.dataset.lmSuppressShortcuts = "true";
  return node;
}

/**
 * Native range input bound to a trait. It runs from 0 to max, or through a list of values. Where max is a function
 * (it depends on another control), a trait beyond it shows as max. "long" leaves room for values of several words.
 */
function slider(ui, { trait, name, max, values, show = String, kind = "", long = false }) {
  const id = freshId();
  const list = () => (typeof values === "function" ? values() : values);
  const top = () => (values ? list().length - 1 : typeof max === "function" ? max() : max);
  const input = keepKeys(html("input", { type: "range", id, min: 0, max: top(), step: 1, class: kind }));
  const output = html("output", { for: id });
  const widest = () => Math.max(...[...Array(top() + 1).keys()].map((i) => String(show(values ? list()[i] : i)).length));
  output.style.minWidth = `${Math.min(widest(), 22)}ch`; // so that the slider does not move with its value
  const box = html("div", { class: `ta-control ${long ? "ta-long" : ""}`, "data-part": trait });
  box.append(html("label", { for: id }, name), input, output);
  ui.controls.append(box);
  input.addEventListener("input", () => ui.set(trait, values ? list()[input.value] : Number(input.value)));
  ui.bind(trait, (value) => {
    input.max = top();
    const found = values ? list().indexOf(value) : value;
    const place = found < 0 ? top() : Math.min(found, top()); // a list that has become shorter
    input.value = place;
    const text = show(values ? list()[place] : place);
    write(output, text);
    fill(input, { "aria-valuetext": text });
  });
  return input;
}

/** A few exclusive choices, all in sight: native radio buttons bound to a trait. */
function choice(ui, { trait, name, values, show = String }) {
  const group = freshId();
  const set = html("fieldset", { class: "ta-choice", "data-part": trait }, html("legend", {}, name));
  const inputs = values.map((value) => {
    const input = keepKeys(html("input", { type: "radio", name: group }));
    input.addEventListener("change", () => ui.set(trait, value));
    set.append(html("label", {}, input, show(value)));
    return input;
  });
  ui.controls.append(set);
  ui.bind(trait, (value) => { inputs[values.indexOf(value)].checked = true; });
}

/** A list of longer choices: native select bound to a trait that holds the index. */
function pick(ui, { trait, name, names }) {
  const id = freshId();
  const select = keepKeys(html("select", { id }));
  names.forEach((text, i) => select.append(html("option", { value: i }, text)));
  ui.controls.append(html("div", { class: "ta-control ta-whole", "data-part": trait }, html("label", { for: id }, name), select));
  select.addEventListener("change", () => ui.set(trait, Number(select.value)));
  ui.bind(trait, (value) => { select.value = value; });
}

function button(parent, text, action) {
  const node = keepKeys(html("button", { type: "button", class: "ta-button" }, text));
  node.addEventListener("click", action);
  parent.append(node);
  return node;
}

/** The button that turns the trait "more": whether what few readers need at first is shown, `unfolds` first of all. */
function unfolder(ui, parent, name, unfolds) {
  const sign = html("span", { "aria-hidden": "true" });
  const node = button(parent, "", () => ui.set("more", !ui.get("more")));
  node.append(sign, name);
  unfolds.id ||= freshId();
  fill(node, { "aria-controls": unfolds.id });
  ui.bind("more", (more) => {
    write(sign, more ? "▾ " : "▸ ");
    fill(node, { "aria-expanded": String(more) });
  });
}

/** Class of a row that compares with the reference: where the reference alone is shown, the styles leave it out. */
function comparing(what, why) {
  const inEnglish = (text) => Object.keys(spoken).find((english) => spoken[english] === text) ?? text;
  return /\breference\b/.test(`${inEnglish(what)} ${inEnglish(why)}`) ? "ta-comparing" : "";
}

/** Writes the number of a check. Mere rounding says nothing on a page without a learner's function: styles hide it. */
function writeChecked(node, text) {
  write(node, text);
  node.classList.toggle("ta-rounding", /e[−-]\d+$/.test(text));
}

/** Invariants in little room: a sign and what holds, with the number after it. Names of [what, why]; as `facts`. */
function signs(parent, names) {
  const list = html("ul", { class: "ta-signs", "data-part": "checks" });
  const items = names.map(([what, why]) => {
    const [word, value] = [html("span", { class: "ta-word" }), html("span", { class: "ta-number" })];
    list.append(html("li", { title: why, class: comparing(what, why) }, html("span", { class: "ta-what" }, what), " · ", value, " ", word));
    return [value, word];
  });
  parent.append(list);
  return (values) => values.forEach(([text, word, good], i) => {
    writeChecked(items[i][0], text);
    write(items[i][1], word);
    items[i][1].dataset.good = good === undefined ? "plain" : String(good);
  });
}

/** Invariants as numbers with a word: rows of [what, why]; the setter takes [number text, word, good?]. */
function facts(parent, caption, rows) {
  const table = html("table", { class: "ta-facts", "data-part": "checks" }, html("caption", {}, caption));
  const cells = rows.map(([what, why]) => {
    const value = html("td", { class: "ta-number" });
    const word = html("td", { class: "ta-word" });
    const head = html("th", { scope: "row" }, what, html("small", {}, why));
    table.append(html("tr", { class: comparing(what, why) }, head, value, word));
    return [value, word];
  });
  parent.append(table);
  return (values) => values.forEach(([text, word, good], i) => {
    writeChecked(cells[i][0], text);
    write(cells[i][1], word);
    cells[i][1].dataset.good = good === undefined ? "plain" : String(good);
  });
}

/**
 * N × N scores as colored cells with a color bar; `inset` shortens the bar for the numbers at its ends.
 * Returns where the cells are, the SVG `over` them, and paint(S, limit, colors, show).
 */
function scoreMap(parent, { N, cell, left, right, topEdge, bottom, inset, places, caption, name, down, across }) {
  const size = N * cell;
  const [W, H] = [left + size + right, topEdge + size + bottom];
  const box = html("div", { class: "ta-panel" });
  box.append(html("p", { class: "ta-caption" }, caption, html("small", {}, tr("dotted: below 0"))));
  const stack = html("div", { class: "ta-stack", style: `width: ${W}px; aspect-ratio: ${W} / ${H}` });
  const share = (x, whole) => `${(100 * x) / whole}%`;
  const canvas = html("canvas", {
    width: 2 * N, height: 2 * N, "aria-hidden": "true",
    style: `left: ${share(left, W)}; top: ${share(topEdge, H)}; width: ${share(size, W)}; height: ${share(size, H)}`,
  });
  stack.append(canvas);
  box.append(stack);
  parent.append(box);
  const over = picture(stack, W, H, name);
  over.append(svg("rect", { x: left, y: topEdge, width: size, height: size, class: "ta-axis" }));
  for (const p of places) {
    const at = (p + 0.5) * cell;
    label(over, left - 6, topEdge + at + 4, String(p), "end", "ta-small");
    label(over, left + at, topEdge + size + 15, String(p), "middle", "ta-small");
  }
  label(over, left + size / 2, topEdge + size + 32, across, "middle");
  const middle = topEdge + size / 2;
  label(over, 10, middle, down, "middle").setAttribute("transform", `rotate(-90 10 ${middle})`);
  const stops = ["0%", "50%", "100%"].map((offset) => svg("stop", { offset }));
  const id = freshId();
  over.append(svg("defs", {}, svg("linearGradient", { id, x1: 0, x2: 0, y1: 0, y2: 1 }, ...stops)));
  const bar = { x: left + size + 12, y: topEdge + inset, width: 10, height: size - 2 * inset };
  over.append(svg("rect", { ...bar, fill: `url(#${id})`, class: "ta-legend" }));
  const ends = [topEdge + 10, topEdge + size - 3].map((y) => label(over, bar.x - 2, y, "", "start", "ta-small"));
  label(over, bar.x + 14, middle + 4, "0", "start", "ta-small");
  return {
    left, topEdge, cell, over,
    paint(S, limit, colors, show) {
      // Two by two pixels a cell, one of them darker where the score is negative: blue and vermillion are alike in gray.
      const image = new ImageData(2 * N, 2 * N);
      S.forEach((value, i) => {
        const rgb = colors.at(value / limit);
        const dot = value < 0 ? mix(rgb, colors.dot, clamp(-value / limit, 0.15, 0.6)) : rgb;
        const first = 4 * N * Math.floor(i / N) + 2 * (i % N);
        [first, first + 1, first + 2 * N, first + 2 * N + 1].forEach((at, j) => {
          image.data.set([...(j ? rgb : dot), 255], 4 * at);
        });
      });
      paintImage(canvas, image);
      [colors.plus, colors.zero, colors.negative].forEach((rgb, i) => stops[i].setAttribute("stop-color", css(rgb)));
      ends[0].textContent = `+${show(limit)}`;
      ends[1].textContent = show(-limit);
    },
  };
}

/** What a formula amounts to, and what the function has come to where that is something else. */
const outcome = (made, shown) => (Math.abs(made - shown) < 0.005 ? fixed(shown, 2)
  : tr("{made}, but the function says {shown}", { made: fixed(made, 2), shown: fixed(shown, 2) }));
