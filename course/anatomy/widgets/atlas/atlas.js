// ModelAtlas: models in time with a filter, two of them side by side, one to build. Python gives every row as words
// and as shapes; the page filters, fills sentences and draws.

const POINTED = ["norm", "position", "attention", "activation", "sizes"]; // what a part of a block stands for

function atlasWidget(ui) {
  const { spec } = ui;
  const { models, words } = spec;
  choice(ui, { trait: "view", name: tr("show"), values: spec.views.map((_, i) => i), show: (i) => spec.views[i] });
  const always = [...ui.controls.children];
  always[0].style.columnGap = "6px"; // all three in one row
  const names = models.map((m) => `${m.title} (${m.year})`);

  const filter = filterButton(ui);
  for (const [trait, name, families] of spec.filters) pick(ui, { trait, name, names: families });
  slider(ui, { trait: "since", name: tr("from year"), values: spec.years });
  slider(ui, { trait: "until", name: tr("to year"), values: spec.years });
  searchBox(ui, "text", tr("search"));
  const filters = [...ui.controls.children].slice(always.length + 1);
  pick(ui, { trait: "first", name: tr("model"), names });
  const one = [...ui.controls.children].at(-1);
  pick(ui, { trait: "second", name: tr("beside it"), names });
  const two = [...ui.controls.children].at(-1);
  for (const box of [...filters, one, two]) box.classList.remove("ta-whole");
  const filtering = [...spec.filters.map(([trait]) => trait), "since", "until", "text"];
  // One that is put back to “any” must not vanish under the hand.
  filters.forEach((box, i) => box.addEventListener("input", () => filter.keep(filtering[i])));
  ui.root.append(ui.readout);
  const place = ui.row("ta-panel");

  // ---- who passes the filter -------------------------------------------------------------------------------
  const found = models.map((m) => `${m.title} ${m.organization} ${m.words.join(" ")}`.toLowerCase());
  const asked = () => spec.filters.filter(([trait]) => ui.get(trait) > 0)
    .map(([trait, name, families]) => ({ trait, name, want: families[ui.get(trait)] }));
  const within = (m, i) => m.year >= ui.seen("since") && m.year <= ui.seen("until") &&
    found[i].includes(ui.get("text").trim().toLowerCase());
  /** Whether a model has the families that are asked for, as Python's ``fits``; undefined if nobody published that. */
  const fits = (m, families) => {
    const others = families.map(({ trait, want }) => [m.family[trait], want]).filter(([has, want]) => has !== want);
    if (!others.length) return true;
    return others.every(([has]) => has === words.unknown) ? undefined : false;
  };
  const passes = (m, i) => within(m, i) && fits(m, asked()) === true;
  /** Per model: does it pass, is it within the years and the search, is its mark filled; and what filled marks have. */
  function looks() {
    const families = asked();
    const told = families.length ? families : ["LayerNorm", "RMSNorm"].map((want) => ({ trait: "norm", want }));
    const list = families.map(({ name, want }) => `${want} (${name})`).join(" + ");
    return {
      shown: models.map(passes),
      within: models.map(within),
      filled: models.map((m) => fits(m, families.length ? families : [{ trait: "norm", want: "RMSNorm" }])),
      terms: explained(told),
      legend: (list ? put(words.asked, { list }) : words.norms) + words.legend + (ui.without("view") ? "" : words.letters),
    };
  }

  /** What these families mean, each once. */
  const explained = (families) => (
    [...new Set(families.map(({ trait, want }) => words.terms[trait]?.[want] ?? ""))].join(" ").trim());

  const idle = { since: spec.years[0], until: spec.years.at(-1) };
  const inEffect = (trait) => (trait === "text" ? Boolean(ui.get(trait).trim()) : ui.get(trait) !== (idle[trait] ?? 0));

  const line = timeline(ui, models, looks);
  const beside = html("div", { class: "ta-row" });
  const [left, right] = [blockOf(ui, beside), blockOf(ui, beside)];
  const list = html("ul", {
    class: "ta-text", "data-readout": "difference", style: "margin: 2px 0 0; padding-left: 13px; line-height: 1.35; columns: 340px 2; column-gap: 26px",
  });
  const frames = html("p", { class: "ta-note" }, words.frames);
  const compared = html("div", {}, beside, frames, list);
  const built = buildPanel(ui);

  /** Sentences that tell a and b apart, as Python's ``difference`` puts them; what they differ in and what they share. */
  function difference(a, b) {
    const said = [];
    const differs = [];
    spec.sentences.forEach(([aspect, what, sentence], k) => {
      const [x, y] = [a.words[k], b.words[k]];
      if (x === y || words.unspoken.some((none) => none === x || none === y)) return;
      // Boxes that both say "MHA" differ in something smaller.
      const alike = aspect in a.family && a.family[aspect] === b.family[aspect];
      differs.push([aspect, alike ? put(words.details, { what: what.toLowerCase() }) : what.toLowerCase()]);
      const text = [x, y].includes(words.unknown) ? words.unsaid : sentence;
      said.push(put(text, { what, a: a.title, b: b.title, x, y }));
    });
    const [small, large] = a.size <= b.size ? [a, b] : [b, a];
    if (small.size && large.size >= 1.05 * small.size) {
      const ratio = large.size / small.size;
      const n = ratio < 10 ? String(Number(ratio.toPrecision(2))) : whole(ratio);
      said.push(put(words.more, { a: small.title, b: large.title, n, x: inWords(words, small.size), y: inWords(words, large.size) }));
    }
    const shared = a.words.slice(0, -1).flatMap((x, k) => (x === b.words[k] && !words.notShared.includes(x) ? [k] : []));
    const sharing = (list) => (shared.length ? [put(words.same, { list })] : []);
    said.push(...sharing(shared.map((k) => a.words[k]).join(words.apart)));
    const both = sharing(shared.map((k) => spec.sentences[k][1].toLowerCase()).join(words.comma));
    return [said.length ? said : [words.nothing], differs, both];
  }

  /** The parameters of a row in a sentence or two, and whether they are right (undefined: no sign of either). */
  function counted(i) {
    const how = ui.table("how")[i];
    if (how === 2) return [words.silent];
    if (how === 3) return [words.failed, false];
    const m = models[i];
    const [high, rest] = ui.table("count").slice(2 * i, 2 * i + 2);
    const total = high * spec.half + rest;
    const without = m.counts ? total - m.tables : total;
    const parts = {
      n: whole(m.published ? without : total), p: whole(m.published), counts: m.counts ? ` ${m.counts}` : "",
      how: words.how[how === 1 || ui.get("alone") ? 1 : ui.get("notice") ? 2 : 0], why: spec.reasons[ui.table("why")[i]],
      percent: `${without >= m.published ? "+" : ""}${fixed((100 * (without - m.published)) / m.published, 2)} %`,
    };
    // A sign of success is for a count that hits the published figure, of a model that one can build.
    const fits = spec.fitting.includes(ui.table("why")[i]) && !m.lacking;
    const good = ui.table("good")[i] === 1;
    return [put(m.published ? words.figure : words.noFigure, parts), good && !fits ? undefined : good];
  }

  /** What the models have of an aspect, side by side. */
  const ofAspect = (aspect, ...rows) => {
    const at = spec.sentences.findIndex(([name]) => name === aspect);
    if (at < 0) return "";
    const terms = explained(rows.map((m) => ({ trait: aspect, want: m.family[aspect] })));
    const has = rows.map((m) => `${m.title}: ${m.words[at]}`).join(" | ");
    return `${spec.sentences[at][1]} → ${has}${terms && `. ${terms}`}`;
  };

  /** Keeps lines for so many letters, so that what comes while somebody points moves nothing under the hand. */
  const keepRoom = (letters) => {
    const lines = Math.max(2, Math.ceil(letters / ((ui.room - 20) / 7.4)));
    const style = `${Math.round(6 + 18.2 * lines)}px`;
    if (ui.readout.dataset.room === style) return;
    ui.readout.dataset.room = ui.readout.style.minHeight = style;
  };
  /** Families that a model starts from, and that start from its own, as sentences. */
  const descent = (i) => {
    const lists = {
      after: models.filter((_, k) => k === models[i].after),
      before: models.filter((m) => models[m.after]?.stem === models[i].stem),
    };
    const n = models.filter((_, k) => stepsTo(models, models[i].stem, k) < Infinity).length;
    return Object.entries(lists).map(([which, found]) => (
      found.length ? put(words[which], { list: [...new Set(found.map((m) => m.stem))].join(words.comma) }) : "")).join("") +
      (n > 1 ? put(words.descent, { n }) : "");
  };
  /** A model and what it has of these aspects, as Python's ``line``. */
  const lineOf = (m, aspects) => {
    const has = aspects.map((aspect) => m.words[spec.sentences.findIndex(([name]) => name === aspect)]);
    return put(words.summary, { ...m, list: has.filter((x) => x !== words.unknown).join(words.apart) || m.untold });
  };
  /** Who asks for a kind of attention compares caches, and reads what is multiplied there. */
  const told = (i) => {
    const m = models[i];
    if (ui.get("attention") > 0 && m.cache.n) return lineOf(m, ["memory"]).slice(0, -1) + put(words.product, m.cache);
    const aspects = asked().map(({ trait }) => trait);
    return lineOf(m, aspects.length ? aspects : ["norm"]) + (ui.get("attention") > 0 ? "" : descents[i]);
  };
  const descents = models.map((_, i) => descent(i));
  const rooms = new Map(); // what the filters ask for → the longest line
  const roomOf = () => {
    const key = asked().map(({ trait }) => trait).join();
    if (!rooms.has(key)) rooms.set(key, Math.max(...models.map((_, at) => told(at).length)));
    return rooms.get(key);
  };
  const longest = (...rows) => Math.max(...POINTED.map((aspect) => ofAspect(aspect, ...rows).length));

  return {
    stale() { [left, right, built].forEach((part) => part.forget()); },
    draw() {
      const [view, i, k] = [ui.get("view"), ui.seen("first"), ui.seen("second")];
      const aspect = ui.seen("aspect");
      const [a, b] = [models[i], models[k]];
      filter.draw(view === 0);
      filters.forEach((box, f) => { box.hidden = view !== 0 || !filter.shows(filtering[f], inEffect(filtering[f])); });
      one.hidden = view === 0;
      two.hidden = view !== 1;
      const panel = [line.node, compared, built.node][view];
      if (place.firstChild !== panel) place.replaceChildren(panel);
      if (view === 0) {
        const summary = told(i);
        const state = put(words.found, { n: line.draw(i, k), all: models.length, summary });
        keepRoom(state.length - summary.length + roomOf());
        ui.say(state);
      } else if (view === 1) {
        const [said, differs, both] = difference(a, b);
        const aspects = differs.map(([name]) => name);
        const found = new Set(aspects.includes("placement") ? [...aspects, "norm"] : aspects);
        // Frames tell parts that differ from those that don't: where all differ, they would tell nothing.
        const parts = [a, b].flatMap((m) => m.shapes.filter(([kind, ...s]) => kind === "box" && s[4] !== "frame" && s[5]).map((s) => s[6]));
        const marked = parts.every((part) => found.has(part)) ? new Set() : found;
        frames.hidden = !marked.size;
        left.draw(a, marked);
        right.draw(b, marked);
        if (list.dataset.of !== `${i},${k}`) list.replaceChildren(...said.map((text) => html("li", { style: "break-inside: avoid" }, text)));
        list.dataset.of = `${i},${k}`;
        [...list.children].forEach((item, at) => { item.style.textDecoration = aspect && aspects[at] === aspect ? "underline" : ""; });
        [left, right].forEach((block) => block.light(aspect));
        const apart = differs.length ? put(words.differ, { a: a.title, b: b.title, list: differs.map(([, what]) => what).join(words.comma) }) : words.nothing;
        const state = [apart, ...both].join(" ");
        keepRoom(Math.max(state.length, longest(a, b)));
        ui.say(aspect ? "" : state, aspect ? ofAspect(aspect, a, b) : ""); // both at once would take a third line
      } else {
        const [text, good] = counted(i);
        built.draw(a);
        built.light(aspect);
        keepRoom(a.title.length + text.length + longest(a) + 6);
        ui.say(`${a.title}: ${text}`, aspect ? ofAspect(aspect, a) : "");
        // A visitor has built nothing: a sign of success would praise the answer to the step.
        ui.readout.dataset.good = good === undefined || ui.get("alone") ? "plain" : String(good);
      }
      ui.readout.classList.toggle("ta-word", view === 2);
      const chosen = spec.filters.map(([trait]) => ui.get(trait));
      ui.root.dataset.key = [view, i, k, ui.get("since"), ui.get("until"), ...chosen, models.filter(passes).length].join();
    },
  };
}

/**
 * Shows and hides the filters, ten controls that a first look does not need. Those in effect stay without the button, and
 * so do those that the step of the story invites to move.
 */
function filterButton(ui) {
  const bar = html("div", { class: "ta-bar", "data-part": "filter", "data-of": "view" });
  ui.controls.append(bar);
  let asked = false;
  const kept = new Set();
  const invited = () => ui.spec.story?.[ui.get("step")]?.moves ?? [];
  const node = button(bar, ui.spec.words.filter, () => {
    asked = !asked;
    kept.clear();
    ui.ask();
  });
  ui.listen("step", () => { asked = false; kept.clear(); });
  return {
    shows: (trait, inEffect) => asked || inEffect || kept.has(trait) || invited().includes(trait),
    keep: (trait) => kept.add(trait),
    draw(here) {
      bar.hidden = !here;
      fill(node, { "aria-expanded": String(asked) });
    },
  };
}

/** A sentence with its places filled. */
const put = (text, parts) => text.replace(/\{(\w+)\}/g, (_, key) => parts[key]);

/** 6.74 billion, as Python's ``short``. */
function inWords(words, n) {
  const at = [1e12, 1e9, 1e6].findIndex((limit) => n >= limit);
  return at < 0 ? String(n) : put(words.units[at], { n: Number((n / [1e12, 1e9, 1e6][at]).toPrecision(3)) });
}

/** Native search field bound to a trait. */
function searchBox(ui, trait, name) {
  const id = freshId();
  const input = keepKeys(html("input", {
    type: "search", id, style: "grid-column: 2 / 4; font: inherit; color: inherit; background: var(--ta-paper); " +
      "border: 1px solid var(--ta-rule); border-radius: 3px; padding: 1px 4px; min-width: 0; min-height: 24px",
  }));
  ui.controls.append(html("div", { class: "ta-control" }, html("label", { for: id }, name), input));
  input.addEventListener("input", () => ui.set(trait, input.value));
  ui.bind(trait, (value) => { if (input.value !== value) input.value = value; });
}

/**
 * A caption and the picture of one block; boxes whose aspect is in ``marked`` are outlined. A box that is pointed at
 * lights up the same part of the other block; for the keyboard, arrow keys walk through the parts.
 */
function blockOf(ui, parent) {
  const box = html("figure", { class: "ta-panel", style: "margin: 0; width: 366px" });
  parent.append(box);
  let [drawn, boxes] = ["", []];
  const parts = () => [...new Set(boxes.map((b) => b.dataset.aspect))];
  return {
    forget() { drawn = ""; },
    light(aspect) {
      for (const b of boxes) {
        const lit = b.dataset.aspect === aspect;
        fill(b, { style: lit ? `${b.dataset.style}; stroke: var(--ta-ink); stroke-width: 3.5` : b.dataset.style });
      }
    },
    draw(m, marked = new Set()) {
      const key = `${m.title} ${[...marked]}`;
      if (key === drawn) return;
      drawn = key;
      const where = html("small", {}, `${m.organization}, ${m.year}`);
      box.replaceChildren(html("p", { class: "ta-caption" }, m.title, where));
      const over = picture(box, 366, m.height, m.summary);
      const head = freshId();
      const tip = svg("marker", {
        id: head, viewBox: "0 0 8 8", refX: 7.5, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto",
      }, svg("path", { d: "M0 0L8 4L0 8Z", style: "fill: var(--ta-ink)" }));
      over.append(svg("defs", {}, tip));
      for (const [kind, ...rest] of m.shapes) over.append(...SHAPES[kind](rest, marked, head));
      boxes = [...over.querySelectorAll("[data-aspect]")];
      if (ui.room < 366) { // the picture shrinks on a phone, and its smallest words must not
        for (const text of over.querySelectorAll(".ta-small")) text.style.fontSize = `${(11.1 * 366) / ui.room}px`;
      }
      for (const b of boxes) touch(ui, b, () => ({ aspect: b.dataset.aspect }));
      fill(keepKeys(over), { tabindex: 0, role: "application", "aria-roledescription": tr("picture"), "aria-label": m.summary });
      over.addEventListener("keydown", (event) => {
        const here = parts().indexOf(ui.seen("aspect"));
        const to = plainKey(event) ? stepped(event.key, here, parts().length - 1) : null;
        if (to === null) return;
        event.preventDefault();
        ui.pin({ aspect: parts()[to] });
      });
    },
  };
}

const FILLS = {
  norm: "var(--ta-panel)", table: "var(--ta-paper)", frame: "none",
  attention: "color-mix(in srgb, var(--ta-one) 14%, var(--ta-paper))",
  ffn: "color-mix(in srgb, var(--ta-two) 16%, var(--ta-paper))",
};
const LINE = "stroke: var(--ta-ink); stroke-width: 1.3";
const SHAPES = {
  box([x, y, width, height, kind, aspect], marked) {
    const differs = marked.has(aspect) && kind !== "frame";
    const style = `fill: ${FILLS[kind]}; stroke: ${differs ? "var(--ta-two)" : "var(--ta-reference)"}; ` +
      `stroke-width: ${differs ? 2.4 : 1}${kind === "frame" ? "; stroke-dasharray: 5 4" : ""}`;
    const node = svg("rect", { x, y, width, height, rx: 5, style });
    if (kind !== "frame" && aspect) Object.assign(node.dataset, { aspect, style });
    return [node];
  },
  text: ([x, y, anchor, kind, said]) => (
    [svg("text", { x, y, "text-anchor": anchor, class: kind, "pointer-events": "none" }, said)]),
  path([d, kind], _, head) {
    const end = kind === "arrow" ? { "marker-end": `url(#${head})` } : {};
    return [svg("path", { d, style: `fill: none; ${LINE}`, ...end })];
  },
  sum: ([x, y]) => [
    svg("circle", { cx: x, cy: y, r: 8, style: `fill: var(--ta-paper); ${LINE}` }),
    svg("path", { d: `M${x - 4} ${y}H${x + 4}M${x} ${y - 4}V${y + 4}`, style: LINE }),
  ],
};

/** One block beside its configuration as code, what the notes have wrong, and the sources. */
function buildPanel(ui) {
  const { words } = ui.spec;
  const node = html("div", { class: "ta-row" });
  const block = blockOf(ui, node);
  const side = html("div", { style: "flex: 1 1 330px; min-width: 0" });
  const code = keepKeys(html("pre", {
    tabindex: 0, "aria-label": words.code, style: "margin: 0 0 6px; padding: 6px 10px; overflow-x: auto; " +
      "background: var(--ta-panel); color: inherit; font: 12px/1.45 var(--jp-code-font-family, monospace); border-radius: 4px",
  }));
  const [cache, lacking] = [1, 2].map(() => html("p", { style: "margin: 0 0 6px" }));
  const notes = html("ul", { style: "margin: 0 0 6px; padding-left: 18px" });
  const sources = html("p", { class: "ta-note" });
  node.append(side);
  const bar = html("div", { class: "ta-bar" });
  const copied = html("span", { class: "ta-note", role: "status" });
  side.append(cache, code, bar, lacking, notes, sources);
  button(bar, words.copy, async () => { copied.textContent = (await copy(code)) ? words.copied : words.selected; });
  bar.append(copied);
  return {
    node,
    forget: block.forget,
    light: block.light,
    draw(m) {
      block.draw(m);
      copied.textContent = "";
      code.textContent = m.code;
      code.hidden = bar.hidden = !m.code || Boolean(ui.root.closest("[data-alone]")); // a visitor has no course to run it
      cache.textContent = m.cache.n ? put(words.cache + (m.cache.size ? words.filled : ""), m.cache) : "";
      cache.hidden = !m.cache.n;
      lacking.textContent = m.lacking;
      lacking.hidden = !m.lacking;
      notes.replaceChildren(...m.notes.map((note) => html("li", {}, note)));
      sources.textContent = put(words.sources, { list: m.sources.join(words.apart) });
    },
  };
}

/** Copies the element's text: true. Where the page may not write to the clipboard it is selected instead: false. */
async function copy(node) {
  try {
    await navigator.clipboard.writeText(node.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(node);
    return false;
  }
}

const widget = { render: mount(atlasWidget) };
export default widget;
