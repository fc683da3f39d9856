// CacheStepper: twelve tokens in chunks; above what a step computes and reads, below where the tokens lie.

function stepperWidget(ui) {
  const { spec } = ui;
  const last = () => spec.plans[ui.get("plan")].length - 1;
  pick(ui, { trait: "plan", name: "chunk plan", names: spec.planNames });
  pick(ui, { trait: "store", name: "store", names: spec.stores });
  slider(ui, { trait: "step", name: "step", max: last, show: (i) => String(i + 1) });
  ui.root.append(ui.readout);

  const [W, left, cell] = [800, 100, 26];
  const grid = picture(ui.row(), W, 40 + spec.length * 18, "Which queries of this step look at which keys");
  label(grid, left, 12, "key position", "start", "ta-small");
  label(grid, left - 12, 24 + spec.length * 9, "query", "end", "ta-small");
  const squares = [];
  for (let q = 0; q < spec.length; q++) {
    label(grid, left - 4, 34 + q * 18, q % 2 ? "" : String(q), "end", "ta-small");
    label(grid, left + q * cell + cell / 2, 34 + spec.length * 18, String(q), "middle", "ta-small");
    for (let k = 0; k < spec.length; k++) {
      const square = svg("rect", { x: left + k * cell, y: 20 + q * 18, width: cell - 2, height: 16 });
      grid.append(square);
      squares.push(square);
    }
  }
  const notes = [["ta-fill-two", "computed now, new key"], ["ta-fill-one", "read from the cache"], ["ta-axis", "not computed"]];
  notes.forEach(([kind, text], i) => {
    grid.append(svg("rect", { x: 480, y: 40 + i * 28, width: 18, height: 16, class: kind }));
    label(grid, 506, 53 + i * 28, text);
  });

  const memory = picture(ui.row(), W, 62, "Slots of the store after this step");
  label(memory, left - 8, 35, "slots", "end");
  const slots = Array.from({ length: spec.length }, (_, i) => {
    const box = svg("rect", { x: left + i * 40, y: 18, width: 36, height: 26, class: "ta-axis" });
    memory.append(box);
    return [box, label(memory, left + i * 40 + 18, 36, "", "middle", "ta-strong")];
  });
  const show = facts(ui.row(), "This step", [
    ["keys computed", "projected now, never again"],
    ["keys read", "old ones from the store, and the new ones"],
    ["tokens kept", "after the step"],
    ["distance from the full forward", "largest difference of the chunk's result, one buffer"],
  ]);

  return {
    draw() {
      const [p, store, step] = [ui.get("plan"), ui.get("store"), Math.min(ui.get("step"), last())];
      const plan = spec.plans[p];
      const stop = plan.slice(0, step + 1).reduce((a, b) => a + b);
      const start = stop - plan[step];
      const rolling = store === 1;
      const low = (q) => (rolling ? Math.max(0, q - spec.window + 1) : 0);
      squares.forEach((square, i) => {
        const [q, k] = [Math.floor(i / spec.length), i % spec.length];
        const seen = q >= start && q < stop && k <= q && k >= low(q);
        square.setAttribute("class", !seen ? "ta-axis" : k >= start ? "ta-fill-two" : "ta-fill-one");
      });
      const place = (t) => (rolling ? t % spec.window : store === 0 ? t
        : [2, 0, 1][Math.floor(t / spec.block)] * spec.block + (t % spec.block));
      const held = Array(spec.length).fill(null);
      for (let t = 0; t < stop; t++) held[place(t)] = t;
      slots.forEach(([box, text], i) => {
        const used = !rolling || i < spec.window;
        box.style.visibility = used ? "visible" : "hidden";
        const gap = store === 2 ? Math.floor(i / spec.block) * 14 : 0;
        box.setAttribute("x", left + i * 40 + gap);
        text.setAttribute("x", left + i * 40 + 18 + gap);
        text.textContent = held[i] === null || !used ? "" : String(held[i]);
      });
      const read = stop - low(start);
      const kept = rolling ? Math.min(stop, spec.window) : stop;
      const gap = ui.table("gap")[p * (ui.table("gap").length / spec.plans.length) + step];
      const good = gap <= spec.tolerance;
      show([[String(stop - start), ""], [String(read), ""], [String(kept), ""],
        [short(gap), good ? "same" : "differs", good]]);
      ui.say(`step ${step + 1} of ${plan.length}, ${spec.stores[store]}: tokens ${start} to ${stop - 1} are computed, ` +
        `${read} keys are read, ${kept} tokens are kept`);
      ui.root.dataset.key = `${p},${store},${step},${short(gap)}`;
    },
  };
}

const widget = { render: mount(stepperWidget) };
export default widget;
