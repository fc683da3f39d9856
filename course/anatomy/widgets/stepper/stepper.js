// CacheStepper: eight tokens in chunks; above what a step reads or scores, below where the tokens lie.

const endsOf = (plan) => plan.map((_, i) => plan.slice(0, i + 1).reduce((a, b) => a + b));
/** The row of the tables for a beginning of the text: a bit for each cut, and a highest one for its length. */
const nodeOf = (plan) => endsOf(plan).reduce((node, end) => node + 2 ** (end - 1), 0);

/** A list of plans, and a check box for every place where the text can be cut. */
function planControls(ui) {
  const { spec } = ui;
  const id = freshId();
  const list = keepKeys(html("select", { id }));
  spec.planNames.forEach((name, i) => list.append(html("option", { value: i }, name)));
  const own = spec.plans.length;
  list.options[own].disabled = true; // it names what the check boxes below have made
  list.addEventListener("change", () => ui.set("plan", spec.plans[Number(list.value)]));
  ui.controls.append(html("div", { class: "ta-control ta-whole" }, html("label", { for: id }, "chunk plan"), list));

  const set = html("fieldset", { class: "ta-choice", style: "grid-column: 1 / -1" }, html("legend", {}, "cut after token"));
  const boxes = Array.from({ length: spec.length - 1 }, (_, i) => {
    const box = keepKeys(html("input", { type: "checkbox" }));
    box.addEventListener("change", () => {
      const ends = boxes.flatMap((b, j) => (b.checked ? [j + 1] : [])).concat(spec.length);
      ui.set("plan", ends.map((end, j) => end - (j ? ends[j - 1] : 0)));
    });
    set.append(html("label", {}, box, String(i)));
    return box;
  });
  ui.controls.append(set);
  ui.bind("plan", (plan) => {
    const known = spec.plans.findIndex((p) => p.join() === plan.join());
    list.value = known < 0 ? own : known;
    const ends = endsOf(plan);
    boxes.forEach((box, i) => { box.checked = ends.includes(i + 1); });
  });
}

function stepperWidget(ui) {
  const { spec } = ui;
  const N = spec.length;
  const named = (names) => ({ values: names.map((_, i) => i), show: (i) => names[i] });
  const wideChoice = (trait, name, names) => {
    choice(ui, { trait, name, ...named(names) });
    ui.controls.lastElementChild.style.gridColumn = "1 / -1";
    return ui.controls.lastElementChild;
  };
  wideChoice("view", "look at", spec.views);
  const origin = wideChoice("origin", "positions", spec.origins);
  planControls(ui);
  wideChoice("store", "store", spec.stores);
  slider(ui, { trait: "step", name: "step", max: () => ui.get("plan").length - 1, show: (i) => String(i + 1) });
  ui.root.append(ui.readout);

  const [W, left, top, wide, tall] = [800, 78, 38, 58, 24];
  const grid = picture(ui.row(), W, top + N * tall + 20, "One row for each query, one column for each key");
  const head = label(grid, left - 8, 14, "key", "end", "ta-small");
  const at = label(grid, left - 8, 30, "", "end", "ta-small");
  const columns = Array.from({ length: N }, (_, k) => [14, 30].map((y) => (
    label(grid, left + (k + 0.5) * wide, y, "", "middle", "ta-strong"))));
  const cells = [];
  const names = Array.from({ length: N }, (_, q) => {
    for (let k = 0; k < N; k++) {
      const [x, y] = [left + k * wide, top + q * tall];
      const box = svg("rect", { x, y, width: wide - 2, height: tall - 2 });
      grid.append(box);
      cells.push([box, label(grid, x + wide / 2 - 1, y + 16, "", "middle", "ta-text")]);
    }
    return label(grid, left - 8, top + q * tall + 16, `query ${q}`, "end", "ta-small");
  });
  const should = label(grid, left - 8, top + N * tall + 13, "", "end", "ta-small");
  const shoulds = Array.from({ length: N }, (_, k) => (
    label(grid, left + (k + 0.5) * wide - 1, top + N * tall + 13, "", "middle", "ta-small")));
  const x = left + N * wide + 26;
  const notes = [0, 1, 2].map((i) => {
    const box = svg("rect", { x, y: top + 8 + i * 28, width: 18, height: 16 });
    grid.append(box);
    return [box, label(grid, x + 26, top + 21 + i * 28, "")];
  });

  const memory = picture(ui.row(), W, 84, "Slots of the store after this step, and the token in each");
  const slots = Array.from({ length: spec.table.length * spec.block }, () => {
    const box = svg("rect", { y: 22, width: 54, height: 40, class: "ta-axis" });
    memory.append(box);
    return [box, label(memory, 0, 14, "", "middle", "ta-small"), label(memory, 0, 40, "", "middle", "ta-strong"),
      label(memory, 0, 56, "", "middle", "ta-small")];
  });
  label(memory, left - 8, 14, "slot", "end", "ta-small");
  const kept = label(memory, left - 8, 40, "token", "end", "ta-small");
  const turned = label(memory, left - 8, 56, "position", "end", "ta-small");
  const rule = label(memory, left, 79, "", "start", "ta-small");

  const show = facts(ui.row(), "This step", [
    ["keys computed", "projected now, never again"],
    ["keys read", "old ones from the store, and the new ones"],
    ["tokens kept", "after the step"],
    ["distance from the full forward", "largest difference of an attention weight of the chunk, one buffer"],
    ["largest change of a score", "against the full forward, where positions go on counting"],
  ]);

  return {
    draw() {
      const [plan, store, view] = [ui.get("plan"), ui.get("store"), ui.get("view")];
      const step = Math.min(ui.get("step"), plan.length - 1);
      const ends = endsOf(plan);
      const [start, stop] = [ends[step] - plan[step], ends[step]];
      const node = nodeOf(plan.slice(0, step + 1));
      const [rolling, turning, wrong] = [store === 1, view === 1, ui.get("origin") === 1];
      origin.hidden = !turning;
      const low = (q) => (rolling ? Math.max(0, q - spec.window + 1) : 0);
      const cut = (name, size) => ui.table(name).subarray(node * size, (node + 1) * size);
      const positions = cut(wrong ? "restart_p" : "p_rotary_step", N);
      const told = (t) => (Number.isNaN(positions[t]) ? "?" : String(positions[t]));

      // Every row was computed in its own chunk, so its scores lie at the node of that chunk.
      const right = ui.table("right");
      const scores = ui.table(wrong ? "restart" : "scores");
      let change = 0;
      cells.forEach(([box, text], i) => {
        const [q, k] = [Math.floor(i / N), i % N];
        const seen = q < stop && k <= q && k >= low(q);
        const now = seen && q >= start;
        const done = turning && seen && !now;
        const chunk = nodeOf(plan.slice(0, ends.findIndex((end) => end > q) + 1));
        const score = scores[(chunk * N + q) * N + k];
        const off = Math.abs(score - right[i]);
        if (now && !(off <= change)) change = off;
        const moved = !(off <= 5e-3);
        const kind = turning ? (now && moved ? "ta-fill-two" : "ta-fill-one") : k >= start ? "ta-fill-two" : "ta-fill-one";
        box.setAttribute("class", now ? kind : "ta-axis");
        box.style.fillOpacity = turning && now ? 0.3 : 1;
        text.textContent = turning && (now || done) ? fixed(score, 2) : "";
        text.setAttribute("class", now ? "ta-strong" : "ta-small");
      });
      const legend = turning ? [["ta-fill-one", "this step, right score"], ["ta-fill-two", "this step, another score"], ["ta-axis", "earlier, hidden, or later"]]
        : [["ta-fill-two", "computed now, new key"], ["ta-fill-one", "read from the store"], ["ta-axis", "not computed"]];
      notes.forEach(([box, text], i) => {
        box.setAttribute("class", legend[i][0]);
        box.style.fillOpacity = turning ? 0.3 : 1;
        text.textContent = legend[i][1];
      });
      columns.forEach(([token, position], k) => {
        token.textContent = String(k);
        position.textContent = turning && k < stop ? told(k) : "";
      });
      should.textContent = turning ? "right scores" : "";
      shoulds.forEach((text, k) => {
        text.textContent = turning && k < stop && k >= low(stop - 1) ? fixed(right[(stop - 1) * N + k], 2) : "";
      });
      names.forEach((name, q) => name.setAttribute("class", q >= start && q < stop ? "ta-strong" : "ta-small"));
      head.textContent = "key";
      at.textContent = turning ? "position" : "";

      const place = (t) => (rolling ? t % spec.window : store === 0 ? t
        : spec.table[Math.floor(t / spec.block)] * spec.block + (t % spec.block));
      const count = rolling ? spec.window : store === 0 ? N : slots.length;
      const held = Array(count).fill(null);
      for (let t = 0; t < stop; t++) held[place(t)] = t;
      slots.forEach(([box, name, token, position], i) => {
        const used = i < count;
        const page = Math.floor(i / spec.block);
        const far = left + i * 58 + (store === 2 ? page * 16 : 0);
        box.style.visibility = used ? "visible" : "hidden";
        box.setAttribute("x", far);
        box.setAttribute("class", used && held[i] >= start && held[i] !== null ? "ta-fill-two" : held[i] === null ? "ta-axis" : "ta-fill-one");
        box.style.fillOpacity = 0.3;
        [name, token, position].forEach((text) => text.setAttribute("x", far + 27));
        name.textContent = !used ? "" : store === 2 ? `${page}·${i % spec.block}` : String(i);
        token.textContent = used && held[i] !== null ? String(held[i]) : "";
        position.textContent = turning && used && held[i] !== null ? told(held[i]) : "";
      });
      kept.textContent = "token";
      turned.textContent = turning ? "position" : "";
      rule.textContent = store === 0 ? "Token p lies in slot p."
        : rolling ? `Token p lies in slot p mod ${spec.window} and overwrites token p − ${spec.window}.`
          : `Block·place. The page table ${spec.table.join(", ")} says: token p lies in block table[p // ${spec.block}], place p mod ${spec.block}.`;

      const read = stop - low(start);
      const stored = rolling ? Math.min(stop, spec.window) : stop;
      const gap = ui.table(turning ? (wrong ? "restart_gap" : "turned_gap") : "gap")[node];
      const [good, still] = [gap <= spec.tolerance, change <= 1e-3];
      show([[String(stop - start), ""], [String(read), ""], [String(stored), ""],
        [short(gap), good ? "same" : "differs", good],
        turning ? [short(change), still ? "same" : "differs", still] : ["", "no positions"]]);
      const given = ui.table("own")[view] ? spec.origins[0] : "by the reference’s rotary_step";
      const stand = Array.from({ length: stop }, (_, t) => told(t)).join(" ");
      const many = (n, word) => (n === 1 ? `1 ${word} is` : `${n} ${word}s are`);
      const fresh = stop - start === 1 ? `token ${start} is` : `tokens ${start} to ${stop - 1} are`;
      ui.say(`step ${step + 1} of ${plan.length} (chunks of ${plan.join(", ")}), ${spec.stores[store]}: ${fresh} computed, ` +
        `${many(read, "key")} read, ${many(stored, "token")} kept` +
        (turning ? `; positions of the keys, ${wrong ? spec.origins[1] : given}: ${stand}; a score changes by up to ${short(change)}` : ""));
      ui.root.dataset.key = `${plan},${store},${step},${view},${wrong},${short(gap)}`;
    },
  };
}

const widget = { render: mount(stepperWidget) };
export default widget;
