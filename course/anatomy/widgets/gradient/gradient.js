// GradientFlowExplorer: two wirings side by side, gradient norm per layer, and the last layer's against depth.

function gradientWidget(ui) {
  const { spec } = ui;
  pick(ui, { trait: "wiring", name: "wiring", names: spec.names });
  pick(ui, { trait: "other", name: "compare with", names: spec.names });
  slider(ui, { trait: "depth", name: "number of layers", values: spec.depths });
  slider(ui, { trait: "width", name: "width d", values: spec.widths });
  slider(ui, { trait: "seed", name: "seed", max: spec.seeds - 1 });
  ui.root.append(ui.readout);

  const top = ui.row();
  const layers = logPanel(top, "Gradient norm per layer", 470, "Gradient norm of each layer's weights, two wirings", "layer");
  const depth = logPanel(top, "Last layer against depth", 310, "Gradient norm of the last layer for 6 to 96 layers, two wirings",
    "number of layers");
  const bottom = ui.row();
  const tables = ["one", "two"].map(() => {
    const side = html("div", { class: "ta-panel", style: "flex: 1 1 340px" });
    bottom.append(side);
    return facts(side, " ", [
      ["first layer / last layer", "1 where all layers learn alike"],
      ["last layer", "gradient norm of its weights"],
      ["exponent against depth", `of the last layer, ${spec.depths[0]} to ${spec.depths.at(-1)} layers, recorded`],
      ["live curves against the reference", `width ${spec.live_width}, ${spec.live.join(" and ")} layers`],
    ]);
  });
  const captions = [...bottom.querySelectorAll("caption")];
  const kinds = [["ta-mine", ""], ["", "fill: none; stroke: var(--ta-two); stroke-width: 2.4; stroke-dasharray: 2 4"]];

  const [W, D, S, L] = [spec.widths.length, spec.depths.length, spec.seeds, spec.depths.at(-1)];
  const index = () => ({ w: spec.widths.indexOf(ui.get("width")), d: spec.depths.indexOf(ui.get("depth")), s: ui.get("seed") });

  function recordedCurve(place, w, d, s) {
    const from = (((place * W + w) * D + d) * S + s) * L;
    return [...ui.table("curves").subarray(from, from + spec.depths[d])];
  }

  function isLive(place) {
    return ui.table("own")[place] === 1 && ui.get("width") === spec.live_width && spec.live.includes(ui.get("depth"));
  }

  function liveCurve(place) {
    const [n, widest] = [spec.live.length, spec.live.at(-1)];
    const from = ((spec.places[place] * n + spec.live.indexOf(ui.get("depth"))) * S + ui.get("seed")) * widest;
    return [...ui.table(spec.tables[place]).subarray(from, from + ui.get("depth"))];
  }

  const trend = (p) => (p < -spec.steep ? "falls" : p > spec.steep ? "rises" : "stays flat");

  return {
    draw() {
      const { w, d, s } = index();
      const chosen = [ui.get("wiring"), ui.get("other")];
      const live = chosen.map(isLive);
      const curves = chosen.map((p, i) => (live[i] ? liveCurve(p) : recordedCurve(p, w, d, s)));
      const saved = recordedCurve(chosen[0], w, d, s);
      const lasts = chosen.map((p) => spec.depths.map((n, i) => recordedCurve(p, w, i, s)[n - 1]));

      const numbers = (c) => c.map((v, i) => [i + 1, v]);
      const drawn = [...curves.map((c, i) => ({ points: numbers(c), kind: kinds[i] }))];
      if (live[0]) drawn.unshift({ points: numbers(saved), kind: ["ta-reference", ""] });
      const size = ui.get("depth");
      layers.draw(drawn, [1, size], size === 6 ? [1, 2, 3, 4, 5, 6] : [1, size / 4, size / 2, (3 * size) / 4, size], false);
      const whose = (i) => (live[i] ? "yours" : `recorded, ${spec.device}`);
      layers.note(`blue: ${whose(0)}; dots: ${whose(1)}${live[0] ? `; gray dashes: recorded, ${spec.device}` : ""}`);
      depth.draw(lasts.map((c, i) => ({ points: spec.depths.map((n, j) => [n, c[j]]), kind: kinds[i] })),
        [spec.depths[0], spec.depths.at(-1)], spec.depths, true);
      depth.note(`recorded, ${spec.device}`);

      chosen.forEach((p, i) => {
        const [first, last] = [curves[i][0], curves[i].at(-1)];
        const slope = ui.table("slopes")[(p * W + w) * S + s];
        const far = ui.table("far")[p];
        captions[i].textContent = `${spec.names[p]} (${i ? "dots" : "line"}), ${whose(i)}`;
        const compared = ui.table("own")[p] !== 1 ? ["–", ""]
          : [far <= spec.tolerance ? "equal" : Number.isFinite(far) ? `×${short(10 ** far)}` : "NaN",
            far <= spec.tolerance ? "same" : "differs", far <= spec.tolerance];
        tables[i]([[short(first / last), ""], [short(last), ""], [fixed(slope, 2), trend(slope)], compared]);
      });
      const tell = (i) => `${spec.names[chosen[i]]}: first / last ${short(curves[i][0] / curves[i].at(-1))}, ` +
        `last ${short(curves[i].at(-1))}`;
      ui.say(`${size} layers of width ${ui.get("width")}, seed ${s}. ${tell(0)}. ${tell(1)}`);
      ui.root.dataset.key = `${chosen},${w},${d},${s},${short(curves[0][0])}`;
    },
  };
}

/** Axes with a logarithmic y that fits its curves in whole decades; x is linear or logarithmic. */
function logPanel(parent, caption, W, name, xlabel) {
  const [H, left, right, topEdge, bottom] = [260, 46, 12, 8, 38];
  const [iw, ih] = [W - left - right, H - topEdge - bottom];
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const note = html("small", { style: "margin-left: 0; display: block" });
  box.append(html("p", { class: "ta-caption" }, caption, note));
  parent.append(box);
  const canvas = picture(box, W, H, name);
  const grid = svg("g");
  const curves = svg("g");
  canvas.append(grid, curves, svg("rect", { x: left, y: topEdge, width: iw, height: ih, class: "ta-axis" }));
  label(canvas, left + iw / 2, H - 6, xlabel, "middle");
  return {
    note(text) { note.textContent = text; },
    draw(list, [from, to], ticks, logarithmic) {
      const seen = list.flatMap(({ points }) => points.map((p) => p[1])).filter((v) => Number.isFinite(v) && v > 0);
      const power = (v) => Math.log10(Math.max(v, 1e-12));
      let [low, high] = [Math.floor(power(Math.min(...seen, 1))), Math.ceil(power(Math.max(...seen, 0.01)))];
      if (high - low < 2) high = low + 2;
      const scale = logarithmic ? Math.log : (v) => v;
      const x = (v) => left + ((scale(v) - scale(from)) / (scale(to) - scale(from))) * iw;
      const y = (v) => topEdge + ((high - power(v)) / (high - low)) * ih;
      grid.replaceChildren();
      const stride = Math.ceil((high - low) / 6);
      for (let p = low; p <= high; p += stride) {
        line(grid, left, y(10 ** p), left + iw, y(10 ** p), "ta-grid");
        label(grid, left - 6, y(10 ** p) + 4, p >= -3 && p <= 3 ? short(10 ** p) : `1e${minus(String(p))}`, "end", "ta-small");
      }
      for (const v of ticks) {
        line(grid, x(v), topEdge, x(v), topEdge + ih, "ta-grid");
        label(grid, x(v), topEdge + ih + 15, String(v), "middle", "ta-small");
      }
      curves.replaceChildren(...list.map(({ points, kind: [kind, style] }) => svg("path", {
        class: kind, style, d: trace(points.map(([a, b]) => [x(a), b > 0 ? y(b) : NaN])),
      })));
    },
  };
}

const widget = { render: mount(gradientWidget) };
export default widget;
