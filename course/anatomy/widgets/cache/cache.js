// CacheCalculator: one model on one GPU. The learner's formula gives bytes per token; the rest is multiplication.

function cacheWidget(ui) {
  const { spec } = ui;
  pick(ui, { trait: "model", name: "model", names: spec.models });
  pick(ui, { trait: "kind", name: "attention", names: spec.kinds });
  pick(ui, { trait: "stack", name: "layers", names: spec.stacks });
  pick(ui, { trait: "gpu", name: "GPU", names: spec.gpus });
  slider(ui, { trait: "tokens", name: "tokens per user", values: spec.tokens, show: whole });
  slider(ui, { trait: "users", name: "users", values: spec.users, show: whole });
  choice(ui, { trait: "itemsize", name: "bytes per number", values: spec.itemsizes });
  ui.root.append(ui.readout);

  const size = (n) => {
    const [limit, unit] = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]].find(([l]) => n >= l) || [1, "bytes"];
    return `${short(n / limit)} ${unit}`;
  };
  const seconds = (s) => (s < 1 ? `${short(s * 1e3)} ms` : `${short(s)} s`);

  const [W, left, right] = [800, 12, 12];
  const memory = picture(ui.row(), W, 96, "Bar of weights and caches against the memory of the GPU");
  const bars = ["ta-axis", "ta-fill-one"].map((kind) => svg("rect", { y: 34, height: 26, class: kind }));
  const limit = line(memory, 0, 20, 0, 62, "ta-mark");
  memory.append(...bars, limit);
  const names = [0, 1, 2].map((i) => label(memory, 0, [26, 78, 14][i], "", "start", i === 2 ? "ta-strong" : "ta-text"));

  const kinds = picture(ui.row(), W, 30 + 26 * spec.kinds.length, "Bytes per token of each kind of attention");
  label(kinds, left, 14, "bytes per token, logarithmic, by kind of attention", "start", "ta-small");
  const scale = (n) => clamp((Math.log10(Math.max(n, 1)) - 3) / 4.2, 0, 1) * (W - 250);
  const rows = spec.kinds.map((name, i) => {
    const y = 22 + 26 * i;
    const here = label(kinds, left, y + 15, name, "start", "ta-text");
    const bar = svg("rect", { x: 130, y, height: 20, class: "ta-fill-one" });
    kinds.append(bar);
    return [here, bar, label(kinds, 0, y + 15, "", "start", "ta-small")];
  });

  const show = facts(ui.row(), "Results", [
    ["per token", "all layers; window layers count until their window is full"],
    ["per user", "tokens × bytes, at most a window in window layers"],
    ["all users", "their caches together"],
    ["users that fit", "beside weights in 2 bytes per parameter"],
    ["time per token", "weights and caches read once; a mixture of experts reads fewer weights for few users"],
    ["farthest from the reference", "largest relative difference of the formula, over all settings"],
  ]);

  const source = html("p", { class: "ta-note" });
  ui.root.append(source);

  return {
    draw() {
      const [m, k, s, g] = ["model", "kind", "stack", "gpu"].map((name) => ui.get(name));
      const [tokens, users, b] = [ui.get("tokens"), ui.get("users"), spec.itemsizes.indexOf(ui.get("itemsize"))];
      const at = (kind) => ((m * spec.kinds.length + kind) * spec.stacks.length + s) * spec.itemsizes.length + b;
      const [full, windowed] = [ui.table("full"), ui.table("windowed")];
      const perUser = full[at(k)] * tokens + windowed[at(k)] * Math.min(tokens, spec.windows[m][s]);
      const perToken = full[at(k)] + windowed[at(k)];
      const [weights, total, room] = [spec.weights[m], perUser * users, spec.memory[g]];
      const fit = perUser > 0 ? Math.floor(Math.max(0, room - weights) / perUser) : 0;
      const time = (weights + total) / spec.bandwidth[g];

      const top = Math.max(room, weights + (Number.isFinite(total) ? Math.max(total, 0) : 0)) * 1.02;
      const x = (n) => left + (clamp(n, 0, top) / top) * (W - left - right);
      bars[0].setAttribute("x", x(0));
      bars[0].setAttribute("width", x(weights) - x(0));
      bars[1].setAttribute("x", x(weights));
      bars[1].setAttribute("width", Number.isFinite(total) ? Math.max(0, x(weights + total) - x(weights)) : 0);
      bars[1].setAttribute("class", weights + total <= room ? "ta-fill-one" : "ta-fill-two");
      limit.setAttribute("x1", x(room));
      limit.setAttribute("x2", x(room));
      [`weights ${size(weights)}`, `caches ${size(total)}`, spec.gpus[g]].forEach((text, i) => {
        const place = [x(0), x(weights), x(room)][i];
        names[i].textContent = text;
        names[i].setAttribute("x", place);
        names[i].setAttribute("text-anchor", place > W / 2 ? "end" : "start");
      });
      rows.forEach(([name, bar, text], i) => {
        const n = full[at(i)] + windowed[at(i)];
        bar.setAttribute("width", scale(n));
        bar.setAttribute("class", i === k ? "ta-fill-two" : "ta-fill-one");
        name.setAttribute("class", i === k ? "ta-strong" : "ta-text");
        text.setAttribute("x", 136 + scale(n));
        text.textContent = whole(n);
      });
      const gap = ui.table("gap")[0];
      const good = gap <= spec.tolerance;
      show([[`${whole(perToken)} bytes`, ""], [size(perUser), ""], [size(total), users > fit ? "too much" : "fits", users <= fit],
        [whole(fit), ""], [seconds(time), ""], [short(gap), good ? "same" : "differs", good]]);
      source.textContent = `${spec.sources[m]} ${spec.gpuSources[g]}`;
      ui.say(`${spec.models[m]}, attention ${spec.kinds[k]}: ${whole(perToken)} bytes per token; ${whole(users)} users with ${whole(tokens)} tokens ` +
        `take ${size(total)}; ${whole(fit)} fit on ${spec.gpus[g]}; at least ${seconds(time)} per token`);
      ui.root.dataset.key = `${m},${k},${s},${g},${b},${tokens},${users},${perToken}`;
    },
  };
}

const widget = { render: mount(cacheWidget) };
export default widget;
