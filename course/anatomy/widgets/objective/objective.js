// ObjectiveLab: the rows that a model reads and predicts, and what one token of them may see.

const PLACE_MS = 800; // between two tokens of "Play"

function objectiveWidget(ui) {
  const { spec, room } = ui;
  const [N, R] = [spec.size, spec.rows.length];
  const objective = () => spec.objectives[ui.get("objective")];
  const example = (prefix = "") => {
    const table = ui.table(`${prefix}e_${objective().function}`);
    const start = ui.get("draw") * R * N;
    return Array.from({ length: R }, (_, r) => [...table.subarray(start + r * N, start + (r + 1) * N)]);
  };
  const lengths = (rows) => [0, 2].map((r) => rows[r].filter((v) => v !== spec.nothing).length);
  const count = (rows) => lengths(rows).reduce((a, b) => a + b);
  const word = (id) => spec.vocabulary[id] ?? String(id);
  const wording = (label) => {
    if (label === spec.ignore || label === spec.nothing) return "";
    return label >= spec.class ? objective().classes[label - spec.class] ?? String(label) : word(label);
  };
  const locate = (rows, place) => {
    const [first, second] = lengths(rows);
    const p = Math.min(place, first + second - 1);
    return p < first ? [0, p] : [2, p - first];
  };
  /** Places of the tokens that must predict something, in order. */
  const predicting = () => {
    const rows = example();
    const [first] = lengths(rows);
    return [[1, 0], [3, first]].flatMap(([r, from]) => rows[r].flatMap((v, c) => (wording(v) ? [from + c] : [])));
  };
  /** Where the slider can stand: those, and the token that is framed, should it predict nothing. */
  const stops = () => [...new Set([...predicting(), Math.min(ui.stands("place"), count(example()) - 1)])].sort((a, b) => a - b);
  pick(ui, { trait: "objective", name: tr("objective"), names: spec.objectives.map((o) => o.title) });
  // Another objective has its tokens elsewhere: the word to predict stays, or else the first that it predicts.
  const choose = ui.controls.querySelector("select");
  let kept;
  ui.controls.addEventListener("change", (event) => { if (event.target === choose) kept = ways.now(); }, true);
  choose.addEventListener("change", () => ui.set("place", ways.placeOf(kept) ?? predicting()[0] ?? 0));
  const place = slider(ui, {
    trait: "place", name: tr("predicted word"), long: true, values: stops,
    show(p) {
      const rows = example();
      const [row, column] = locate(rows, p);
      return wording(rows[row + 1][column]) || tr("nothing");
    },
  });
  const stop = place.parentNode.querySelector("output");
  stop.toggleAttribute("data-readout", true); // the word is to be guessed first where the picture lets it wait
  const others = slider(ui, {
    trait: "draw", name: tr("hide others"), max: spec.draws - 1, show: (i) => tr("{n} of {all}", { n: i + 1, all: spec.draws }),
  });
  const bar = html("div", { class: "ta-bar", style: room > 770 ? "grid-column: span 2" : "" }); // one line for both
  ui.controls.append(bar);
  player(ui, bar, {
    stepName: tr("To the next predicted word"), playName: tr("Play predicted words"), every: PLACE_MS,
    step() {
      const all = predicting();
      ui.set("place", all.find((p) => p > ui.get("place")) ?? all[0] ?? 0);
    },
    ends: () => ui.get("place") >= (predicting().at(-1) ?? 0),
  });
  const cut = keepKeys(html("input", { type: "checkbox" }));
  cut.addEventListener("change", () => ui.set("cut", cut.checked));
  ui.bind("cut", (value) => { cut.checked = value; });
  const style = "display: inline-flex; align-items: center; gap: 4px; min-height: 24px";
  bar.append(html("label", { style, "data-part": "cut" }, cut, tr("nothing follows yet")));
  ui.readout.style.minHeight = room < 480 ? "116px" : "61px";
  ui.root.append(ui.readout);
  const ways = waysToSee(ui, ui.row(), () => ({
    draws: drawsNow(), which: THEIRS.indexOf(objective().function), cut: ui.get("cut"),
  }));
  const beneath = ui.row();
  Object.assign(beneath.dataset, { part: "example", of: "objective" });
  const table = tokenTable(ui, beneath, { word, wording, lengths, setting: () => now });
  const counts = ui.row(); // they are of the example
  Object.assign(counts.dataset, { part: "example", of: "objective" });
  const show = signs(counts, [
    [tr("tokens read"), tr("each costs a step of computation")],
    [tr("predictions"), tr("each is one term of the loss; T5’s ⟨0⟩ and GLM’s [E] count, too")],
    [tr("entries unlike the reference"), tr("tokens, labels and positions; crossed out in the picture")],
  ]);

  /** What the current draw hides, as the reference does it: by BERT, with what it reads there, and by T5 and GLM. */
  function drawsNow() {
    const [n, from] = [spec.text.length, ui.get("draw")];
    const rowOf = (name, r) => [...ui.table(`ref_e_${name}`).subarray((from * R + r) * N, (from * R + r + 1) * N)];
    const spans = [...ui.table("hidden").subarray(from * n, (from + 1) * n)].map((v) => v > 0);
    const [tokens, at, inside] = [0, 4, 5].map((r) => rowOf("blank_infilling", r));
    const masks = tokens.flatMap((v, c) => (inside[c] === 0 && word(v) === "[M]" ? [c] : []));
    return {
      masked: rowOf("mask_tokens", 1).slice(0, n).map((v) => v !== spec.ignore),
      reads: rowOf("mask_tokens", 0).slice(0, n).map(word),
      spans,
      columns: columnsOf(spans, masks, at, inside),
      encoder: objective().function === "span_corruption" ? lengths(example())[0] : 0,
    };
  }

  /** Which tokens of the two sequences this token may see. */
  function visible(rows, [row, column]) {
    const there = [0, 2].map((r) => rows[r].map((v) => v !== spec.nothing));
    const reads = objective().reads;
    if (reads === "encoder-decoder") return [there[0], there[1].map((on, c) => on && row === 2 && c <= column)];
    const partA = reads === "prefix" ? rows[5].filter((v) => v === 0).length : reads === "full" ? N : 0;
    return [there[0].map((on, c) => on && (c <= column || c < partA)), there[1]];
  }

  /** The term of the loss at this token: whose logarithm, given what, divided by how many. */
  function formula({ rows, asked }, [row, column], seen) {
    const label = rows[row + 1][column];
    if (!wording(label)) {
      return row === 0 && rows[2].some((v) => v !== spec.nothing) ? tr("The encoder has no labels.")
        : tr("labels[{n}] = {label}: no term in the loss", { n: column, label });
    }
    const given = [0, 2].map((r, k) => [["x", "y"][k], seen[k].lastIndexOf(true)]).filter(([, last]) => last >= 0)
      .map(([letter, last]) => `${letter}[0…${last}]`).join(", ");
    const options = label >= spec.class ? objective().classes.length : spec.vocabulary.length;
    return tr("labels[{n}] = “{word}”: one of {terms} terms, −ln p({word} | {given}) ÷ {terms}; " +
      "a blind guess among {options} has −ln(1 ÷ {options}) = {loss}",
    { n: column, word: wording(label), terms: asked, given, options, loss: short(Math.log(options)) });
  }

  let now = null;
  let drawn = null;
  return {
    stale() { now = null; },
    draw() {
      const key = `${ui.get("objective")},${ui.get("draw")}`;
      if (!now || now.key !== key) {
        const [rows, right] = [example(), example("ref_")];
        now = {
          key, rows, right, title: objective().title, marks: MARKS[objective().function], pair: objective().classes.length > 0,
          asked: [1, 3].flatMap((r) => rows[r]).filter((v) => v !== spec.nothing && v !== spec.ignore).length,
          wrong: rows.reduce((sum, values, r) => sum + values.filter((v, c) => v !== right[r][c]).length, 0),
          reference: ui.get("notice") || !ui.table("own")[ui.get("objective")],
        };
        const hidden = ui.table("hidden").subarray(ui.get("draw") * spec.text.length, (ui.get("draw") + 1) * spec.text.length);
        now.hidden = spec.text.map((_, c) => (
          objective().function === "mask_tokens" ? wording(rows[1][c]) !== ""
            : ["span_corruption", "blank_infilling"].includes(objective().function) && hidden[c] > 0));
      }
      if (drawn !== now) {
        table.layout();
        show([[String(count(now.rows)), ""], [String(now.asked), ""], [String(now.wrong), now.wrong ? tr("differs") : tr("same"), now.wrong === 0]]);
        // Of a pair, one token alone predicts: there is nothing to walk through.
        place.parentNode.hidden = bar.hidden = predicting().length < 2;
        write(others.parentNode.querySelector("label"), now.pair ? tr("other pairs") : tr("hide others"));
        drawn = now;
      }
      const at = locate(now.rows, ui.seen("place"));
      const seen = visible(now.rows, at);
      table.draw(at, seen);
      ways.draw();
      const waits = (ui.root.dataset.waits ?? "").includes("numbers");
      fill(place, { "aria-valuetext": waits ? tr("to be guessed") : stop.textContent });
      const [row, column] = at;
      const words = [0, 2].flatMap((r, k) => now.rows[r].filter((_, c) => seen[k][c])).map(word);
      const answer = wording(now.rows[row + 1][column]);
      const other = ui.seen("word"); // one that has no place in the example
      const lost = ui.get("cut") ? ways.lost() : "";
      if (lost) ui.say(lost, ui.pointing ? formula(now, at, seen) : "");
      else if (other !== undefined) ui.say(tr("“{word}” is not among the words to predict here.", { word: spec.text[other] }));
      else ui.say(tr(answer ? N_("{place}, “{word}”, sees {seen} → must predict “{answer}”") : N_("{place}, “{word}”, sees {seen} → predicts nothing"),
        { place: placed(row, column), word: word(now.rows[row][column]), seen: words.join(" "), answer }), ui.pointing ? formula(now, at, seen) : "");
      ui.root.dataset.key = `${key},${row},${column},${ui.get("cut")}`;
    },
  };
}

/** A token by its row, the decoder's or the only one that is read, and its column. */
const placed = (row, column) => tr(row ? N_("decoder token {n}") : N_("token {n}"), { n: column });

/** What the marks in an example are, and what its rows have to do with one another. */
const MARKS = {
  next_token_pairs: N_("below each word: the next one, to be predicted"),
  mask_tokens: N_("[M]: a hidden word, to be predicted; below the others stands nothing"),
  span_corruption: N_("⟨0⟩, ⟨1⟩: blanks; decoder starts with [PAD], then reads earlier answers"),
  blank_infilling: N_("[M]: a blank; from [S] to [E]: its piece; position: of the blank"),
  nsp_pair: N_("[CLS] must tell; [SEP] ends a sentence"),
  sop_pair: N_("[CLS] must tell; [SEP] ends a sentence"),
};

/**
 * Rows of tokens under one another, in as many pieces as the room asks for. Pointing at a token, or at its label or its
 * position, shows what that token sees.
 */
function tokenTable(ui, parent, { word, wording, lengths, setting }) {
  const { spec, room } = ui;
  // On a phone the names of the rows stand above them, so that more tokens stand side by side.
  const above = room < 480 ? 16 : 0;
  const [left, top, step] = [above ? 0 : 92, 4, 30 + above];
  const cell = above ? 41 : room < 900 ? 42 : clamp(Math.floor((room - 94) / spec.size), 50, 70);
  const per = Math.max(2, Math.min(spec.size, Math.floor((room - left - 2) / cell)));
  const W = left + per * cell + 2;
  const [caption, note] = [html("span"), html("small")];
  const box = html("div", { class: "ta-panel" }, html("p", { class: "ta-caption" }, caption, note));
  parent.append(box);
  const canvas = picture(box, W, 10, tr("Rows of tokens: the text, what the model reads, what it must predict"));
  const chips = svg("g");
  canvas.append(chips);
  let [lines, tokens] = [[], []]; // pieces of rows, { row, from, to }; nodes of the tokens, { row, column, rect, text }
  const TEXT = -1;
  const sequence = (row) => (row === 2 || row === 3 ? 2 : 0);
  /** The line and the column in it where that token of what is read stands. */
  const spotOf = (row, column, like = row) => {
    const found = lines.findIndex((l) => l.row === like && column >= l.from && column < l.to);
    return [column - lines[Math.max(found, 0)].from, Math.max(found, 0)];
  };
  const here = () => {
    const [first, second] = lengths(setting().rows);
    const p = Math.min(ui.seen("place"), first + second - 1);
    return p < first ? [0, p] : [2, p - first];
  };
  const place = cursor(ui, canvas, {
    name: tr("Tokens; arrow keys walk along them"), cross: false,
    box: () => ({ x: left, y: top, width: per * cell, height: lines.length * step }),
    size: () => [per, lines.length],
    at() {
      const [row, column] = here();
      const line = lines[ui.seen("line")];
      return line && sequence(line.row) === row && column >= line.from && column < line.from + per
        ? [column - line.from, ui.seen("line")] : spotOf(row, column);
    },
    state(c, l) {
      const [first, second] = lengths(setting().rows);
      const decoder = sequence(lines[l].row) === 2;
      const column = Math.min(lines[l].from + c, (decoder ? second : first) - 1);
      return { place: decoder ? first + column : column, line: l };
    },
    says() {
      const [row, column] = here();
      return tr("{place}, {word}", { place: placed(row, column), word: word(setting().rows[row][column]) });
    },
  });

  return {
    layout() {
      const { rows, right, pair, hidden, reference, title, marks } = setting();
      write(caption, tr("Input and answers: {title}", { title }));
      const some = rows[2].some((v) => v !== spec.nothing);
      const names = { [TEXT]: tr("text"), 0: some ? tr("encoder reads") : tr("model reads"), 1: tr("must predict"),
        2: tr("decoder reads"), 3: tr("must predict"), 4: tr("position"), 5: tr("in blank") };
      // Where a sentence stands above, that has told the colors.
      const colors = pair ? tr("; blue: what the framed token sees; orange: what it must predict") : "";
      write(note, `${tr(marks)}${colors}${ui.get("alone") ? "" : `; ${reference ? tr("the reference") : tr("yours")}`}`);
      const cells = { [TEXT]: pair ? [] : spec.text.map((_, c) => c) };
      rows.forEach((values, r) => {
        // The encoder of T5 predicts nothing: no row of dashes for it.
        const none = values.every((v) => v === spec.nothing || (r === 1 && v === spec.ignore));
        cells[r] = none ? [] : values.flatMap((v, c) => (v === spec.nothing ? [] : [c]));
      });
      lines = [];
      for (const section of [[TEXT, 0, 1, 4, 5], [2, 3]]) {
        for (let from = 0; from < spec.size; from += per) {
          for (const row of section) {
            const here = cells[row].filter((c) => c >= from && c < from + per);
            // Answers that are all empty need no line.
            if (here.some((c) => row !== 1 || wording(rows[1][c]))) lines.push({ row, from, to: from + per });
          }
        }
      }
      fill(canvas, { viewBox: `0 0 ${W} ${top + lines.length * step}`, height: top + lines.length * step });
      chips.replaceChildren();
      tokens = [];
      lines.forEach(({ row, from, to }, l) => {
        const y = top + l * step + above + 2;
        label(chips, above ? 0 : left - 8, above ? y - 5 : y + 17, names[row], above ? "start" : "end", "ta-small");
        for (const column of cells[row].filter((c) => c >= from && c < to)) {
          const value = row === TEXT ? null : rows[row][column];
          const wide = row === 1 && value >= spec.class ? 2 : 1;
          const x = left + (column - from) * cell + 1;
          const rect = svg("rect", { x, y, width: wide * cell - 2, height: 26, rx: 3, class: "ta-axis" });
          const text = label(chips, x + (wide * cell - 2) / 2, y + 17, row === TEXT ? spec.text[column] : row > 3 ? String(value)
            : row % 2 ? wording(value) : word(value), "middle", "ta-small");
          if (row < 4) chips.insertBefore(rect, text);
          if (row === TEXT && hidden[column]) fill(rect, { style: "fill: none; stroke: var(--ta-soft); stroke-dasharray: 4 3" });
          tokens.push({ row, column, rect, text, empty: row % 2 === 1 && row > 0 && row < 4 && !wording(value) });
          if (row === TEXT || value === right[row][column]) continue;
          chips.append(svg("path", { d: `M${x + 4} ${y + 4}L${x + 36} ${y + 22}M${x + 36} ${y + 4}L${x + 4} ${y + 22}`, class: "ta-mark",
            style: "stroke: var(--ta-bad); stroke-opacity: 0.7" }));
        }
      });
    },
    draw([row, column], seen) {
      place();
      for (const token of tokens) {
        if (token.row === TEXT) continue;
        const on = sequence(token.row) === row && token.column === column;
        if (token.row > 3) {
          fill(token.text, { class: on ? "ta-strong" : "ta-small", style: "font-size: 11px" });
          continue;
        }
        const asks = token.row === row + 1 && on;
        const blue = token.row % 2 === 0 && seen[token.row / 2][token.column];
        const color = blue ? "one" : asks && !token.empty ? "two" : "";
        if (token.empty) write(token.text, asks ? "–" : "");
        token.rect.style.visibility = token.empty && !asks ? "hidden" : "visible";
        fill(token.rect, { class: on && (token.row === row || asks) ? "ta-mark" : "ta-axis",
          style: `${token.rect.style.visibility === "hidden" ? "visibility: hidden; " : ""}${color ? `fill: var(--ta-${color}); fill-opacity: 0.3` : "fill: none"}` });
        fill(token.text, { class: blue || asks ? "ta-strong" : "ta-small", style: "font-size: 11px" });
      }
    },
  };
}

const widget = { render: mount(objectiveWidget) };
export default widget;
