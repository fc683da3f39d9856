// RopeExplorer: q turns with its position m, k with its position n, and the score should follow m − n alone.

// Least width of a panel, and what it wants beyond that: a share of what is left in its row. 0: a row of its own.
const ROOMS = {
  line: [0, 0], breaking: [0, 0], dials: [380, 3], proof: [336, 1], score: [300, 3], map: [282, 0],
  training: [0, 0], strip: [0, 0],
};
const GAP = 20;
// What a widget shows, besides the two positions.
const STATE = ["base", "dim", "panels", "plane", "stand", "proof", "front", "hand", "turned", "waves", "fault", "order",
  "head", "trained", "length", "scheme", "clock"];

/** Rows of [name, width] for the open panels: as many side by side as there is room for. */
function arranged(names, room) {
  const rows = [];
  let row = [];
  let taken = 0;
  const finish = () => {
    const left = room - taken;
    const shares = row.reduce((all, name) => all + ROOMS[name][1], 0);
    const width = ([least, share]) => Math.floor(least + (shares ? (left * share) / shares : 0));
    if (row.length) rows.push(row.map((name) => [name, width(ROOMS[name])]));
    [row, taken] = [[], 0];
  };
  for (const name of Object.keys(ROOMS).filter((panel) => names.includes(panel))) {
    const [least] = ROOMS[name];
    if (least === 0 || room < 640) {
      finish();
      rows.push([[name, room]]);
    } else {
      if (row.length && taken + GAP + least > room) finish();
      taken += (row.length ? GAP : 0) + least;
      row.push(name);
    }
  }
  finish();
  return rows;
}

/** A ui whose listeners and drawings end with close(): for panels that are built anew while the widget stays. */
function partOf(ui) {
  const undo = [];
  const bound = [];
  const part = Object.create(ui, {
    listen: {
      value(name, action) {
        ui.model.on(`change:${name}`, action);
        undo.push(() => ui.model.off(`change:${name}`, action));
      },
    },
    bind: { value(name, show) { bound.push(() => show(ui.get(name))); } }, // all traits are watched as it is
    atEnd: { value(action) { undo.push(action); } },
  });
  return { part, show: () => bound.forEach((show) => show()), close: () => undo.forEach((action) => action()) };
}

function ropeWidget(ui) {
  const { spec, room } = ui;
  const N = spec.positions;
  const scenes = turner(ui);
  const moves = glider(ui, () => draw());
  const hold = positions(ui, moves, N, () => !scenes.setting().turns, () => draw());
  const NAMES = {
    line: tr("Tokens"), dials: tr("Planes"), proof: tr("Proof"), score: tr("Score"), map: tr("Map"),
    breaking: tr("Break it"), training: tr("Longer than trained"), strip: tr("In memory"),
  };
  const PANELS = Object.keys(NAMES);
  for (const trait of ["m", "n", ...STATE]) ui.watch(trait);

  /**
   * The first step is about arrows that turn: what later steps explain is not there yet, unless it was asked for. These
   * are panels that come and go, so the steps' `without`, which hides what is always there, can't name their parts.
   */
  const bare = () => ui.get("step") === 0 && !ui.get("stand") && !ui.get("fault")
    && ui.get("panels").every((name) => name === "line" || name === "dials");

  /** Where the picture stands alone, a control can wait for its step, too: a notebook's text may speak of any of them. */
  const later = (step) => Boolean(ui.get("alone")) && ui.get("step") < step;
  const quiet = () => later(1) && bare();
  /** A control that one step is about, and the others, on a page alone, are not; "more panels" brings it back. */
  const elsewhere = (step) => Boolean(ui.get("alone")) && ui.get("step") !== step && !ui.get("more");

  const sliders = html("div", { class: "ta-controls" });
  const inside = Object.create(ui, { controls: { value: sliders } });
  slider(inside, { trait: "base", name: tr("base of the angles"), values: spec.bases, show: whole });
  const dim = slider(inside, { trait: "dim", name: tr("head dim D"), values: spec.dims }).parentNode;
  const folds = html("div", { class: "ta-bar ro-folds", role: "group", "aria-label": tr("Panels") });
  const buttons = PANELS.map((name) => button(folds, NAMES[name], () => {
    const open = ui.get("panels");
    ui.set("panels", open.includes(name) ? open.filter((other) => other !== name) : [...open, name]);
  }));
  const area = ui.row("ro-area");
  const bar = ui.row("ta-bar ro-below");
  const settings = ui.row();
  settings.append(sliders, folds);
  const unfolds = html("span", { "data-part": "more" });
  bar.append(unfolds);
  unfolder(ui, unfolds, tr("more panels"), settings);
  const below = html("div");
  bar.append(below);
  const invariants = signs(below, [
    [tr("depends on m − n alone"), "max |S[m+1, n+1] − S[m, n]|"],
    [tr("keeps every length"), "max | ‖Rx‖ − ‖x‖ |"],
    [tr("as the reference"), tr("max |S − S of the reference|: right direction, pairs and speeds")],
  ]);
  ui.root.append(ui.readout);

  let parts = null; // { key, show: { name: state => … }, close }
  const build = {
    line(part, box, W) {
      const bar = html("div", { class: "ta-bar" });
      box.append(bar);
      hold.play(part, bar, () => step(1));
      button(bar, tr("Three tokens in front"), () => step(3));
      const place = tokenLine(part, box, { W, hold });
      const score = html("strong", { class: "ta-number" });
      box.append(html("p", { class: "ro-score" },
        tr("The query q of “sat” asks, the key k of “cat” answers. If arrows point alike, the score is high:"),
        html("span", {}, "q·k = ", score)));
      return (state) => {
        bar.hidden = state.quiet || (ui.get("step") === 4 && !ui.get("more")); // in that step k walks alone
        place(state.m, state.n, ui.get("front"));
        write(score, fixed(state.near.score));
      };
    },
    dials(part, box, W) {
      const bar = html("div", { class: "ta-bar" });
      box.append(bar);
      const stand = button(bar, tr("Stand on k"), () => standOn(!ui.get("stand")));
      const inside = Object.create(part, { controls: { value: bar } });
      choice(inside, { trait: "hand", name: tr("A drag moves the"), values: ["position", "content"],
        show: (hand) => tr(hand === "content" ? N_("content") : N_("position")) });
      const hand = bar.lastChild;
      const note = html("span", { class: "ta-note" });
      bar.append(note);
      const turn = dialPanel(part, box, { W, dim: ui.get("dim"), hold, now: scenes.setting });
      return (state) => {
        fill(stand, { "aria-pressed": String(ui.get("stand")) });
        stand.hidden = state.bare || (elsewhere(2) && !ui.get("stand"));
        hand.hidden = elsewhere(3) && ui.get("hand") === "position";
        write(note, state.scene.turns ? (state.bare ? "" : startSaid(state))
          : tr("This function does not turn these planes evenly: the picture steps through whole positions, and content stays."));
        turn({ ...state, stand: moves.at("stand") });
      };
    },
    proof: (part, box) => {
      const show = proofPanel(part, box, standOn);
      return (state) => show(state.near, ui.get("proof"));
    },
    score: (part, box, W) => scorePanel(part, box, { W, dim: ui.get("dim") }),
    map: (part, box) => heatPanel(part, box, N),
    breaking: (part, box) => breakingPanel(part, box),
    training(part, box, W) {
      const show = trainingPanel(part, box, W);
      return (state) => show(state.hands);
    },
    strip(part, box, W) {
      const show = stripPanel(part, box, { W, dim: ui.get("dim") });
      let [before, byHand] = [ui.get("order"), false];
      box.addEventListener("change", () => { byHand = true; }, true); // before the choice sets the trait
      return (state) => {
        const order = ui.get("order");
        REORDERED[order].forEach((to, row) => {
          const name = `halves ${"qk"[row]}`;
          if (byHand && order !== before) moves.glide(name, to, 1200); // the riffle
          else if (!moves.on(name)) moves.put(name, to);
        });
        [before, byHand] = [order, byHand && order === before];
        show(state.near, ["q", "k"].map((letter) => moves.at(`halves ${letter}`)));
      };
    },
  };

  /** Both positions move on by that much; at the end of the text they go back, and the tokens in front with them. */
  function step(by) {
    const [m, n, front] = ["m", "n", "front"].map(ui.get);
    const on = Math.max(m, n) + by < N;
    hold.shift(on ? by : -Math.min(m, n));
    if (by > 1 || !on) ui.set("front", on ? front + by : 0);
  }

  /** The dials turn back by nθ, slowly enough to be followed; a step of the story does it at the pace of all else. */
  function standOn(on) {
    ui.set("stand", on);
    moves.glide("stand", on ? 1 : 0, 1200);
  }

  function rebuild() {
    const open = PANELS.filter((name) => ui.get("panels").includes(name));
    const key = JSON.stringify([open, ...(open.some((name) => name !== "training") ? [ui.get("dim"), ui.get("hand")] : [])]);
    if (parts?.key === key) return;
    const focusable = () => [...area.querySelectorAll("[data-lm-suppress-shortcuts]")];
    const focused = focusable().indexOf(document.activeElement);
    parts?.close();
    const { part, show, close } = partOf(ui);
    const views = [];
    area.replaceChildren();
    for (const row of arranged(open, room)) {
      const line = html("div", { class: "ro-row" });
      area.append(line);
      for (const [name, W] of row) {
        const box = html("section", { class: `ta-panel ro-panel ro-${name}`, "aria-label": NAMES[name] });
        box.style.width = `${W}px`;
        line.append(box);
        views.push(build[name](part, box, W));
      }
    }
    focusable()[focused]?.focus({ preventScroll: true });
    parts = { key, close, draw: (state) => { show(); views.forEach((view) => view(state)); } };
  }
  let closed = false; // a hand may let go after that
  ui.atEnd(() => {
    parts?.close();
    closed = true;
  });

  /** q at m and k at n, as they are and as they should be, with the score and each plane's part of it. */
  function pairAt(scene, m, n) {
    const [q, k] = [scene.at("q", m), scene.at("k", n)];
    const right = { q: scene.right("q", m), k: scene.right("k", n) };
    const parts = q.map((v, i) => dot(v, k[i]));
    return { m, n, q, k, right, parts, score: parts.reduce((a, x) => a + x, 0) };
  }

  function draw() {
    if (closed) return;
    rebuild();
    const scene = scenes.setting();
    const [m, n] = [hold.shown("m"), hold.shown("n")];
    const plane = Math.min(ui.seen("plane"), scene.planes - 1);
    const near = { ...pairAt(scene, Math.round(m), Math.round(n)), scene, plane };
    const state = { ...pairAt(scene, m, n), near, scene, plane, hands: null, bare: bare(), quiet: quiet() };
    if (ui.get("panels").includes("training")) state.hands = handsNow(ui);
    if (!moves.on("stand")) moves.put("stand", ui.get("stand") ? 1 : 0);
    const open = ui.get("panels");
    settings.hidden = !ui.get("more");
    // The hands have signs and a head of their own.
    below.hidden = dim.hidden = open.length > 0 && open.every((name) => name === "training");
    buttons.forEach((node, i) => fill(node, { "aria-pressed": String(open.includes(PANELS[i])) }));
    parts.draw(state);
    const words = [[tr("ok"), tr("broken")], [tr("ok"), tr("broken")], [tr("same"), tr(scene.differs)]];
    invariants(scene.facts.map((x, i) => {
      const good = x <= spec.tolerance;
      return [short(x), words[i][good ? 0 : 1], good];
    }));
    say(state);
    const key = [Number(m.toFixed(3)), Number(n.toFixed(3)), fixed(state.score, 4), JSON.stringify(STATE.map(ui.get))];
    ui.root.dataset.key = key.join(",");
  }

  /** Numbers are those of whole positions: between two of them they would pass too fast to be read. */
  function say({ near, scene, plane, hands }) {
    if (hands && !ui.get("panels").includes("dials")) return ui.say(...handsSaid(ui, hands));
    const { m, n, right, parts: terms, score } = near;
    const reference = right.q.reduce((a, v, i) => a + dot(v, right.k[i]), 0);
    const beside = ui.get("notice") && !scene.fault ? "" : tr(" (reference {right})", { right: fixed(reference) });
    const split = ui.get("order") === "q" && ui.get("panels").includes("strip");
    const strangers = split ? productsIn("q", near.q, near.k).reduce((a, x) => a + x, 0) : 0;
    const memory = split ? tr("; place by place in memory {sum}", { sum: fixed(strangers) }) : "";
    const text = tr("m = {m}, n = {n}, m − n = {distance}:  score q·k = {score}{beside}",
      { m, n, distance: minus(String(m - n)), score: fixed(score), beside });
    const wave = waveOf(scene.content.q[plane], scene.content.k[plane], scene.used[plane]);
    const pointed = ui.seen("plane") !== ui.get("plane");
    return ui.say(text + memory, pointed
      ? tr("plane {plane}: |q||k| cos(φ − (m − n)θ) = {size} · cos({phi} − {turn}) = {value}",
        { plane, size: fixed(wave.size, 2), phi: fixed(wave.phi, 2), turn: fixed((m - n) * scene.used[plane], 2),
          value: fixed(wave.at(m - n), 2) })
      : quiet() || split ? "" : `${later(4) ? "q·k" : `S[${m}, ${n}]`} = ${sum(terms)} = ${fixed(score, 2)}`);
  }

  return {
    stale() {
      scenes.forget();
      parts?.close();
      parts = null;
    },
    draw,
  };
}

const widget = { render: mount(ropeWidget, "ta-broad") };
export default widget;
