// WavelengthExplorer: tokens per full turn of every plane, on a logarithmic axis, beside the context length.

const DECADES = 7; // the axis runs from 1 to 10 million tokens at every setting, so that settings can be compared

function wavelengthWidget(ui) {
  const { spec } = ui;
  const last = () => ui.get("dim") / 2 - 1;
  slider(ui, { trait: "context", name: "context length", values: spec.contexts, show: whole });
  slider(ui, { trait: "base", name: "base of the angles", values: spec.bases, show: whole });
  slider(ui, { trait: "dim", name: "head dimension D", values: spec.dims });
  slider(ui, { trait: "plane", name: "plane to read i", max: last });
  ui.root.append(ui.readout);

  const [W, H, left, right, top, bottom] = [808, 300, 76, 12, 8, 40];
  const [iw, ih] = [W - left - right, H - top - bottom];
  const box = html("div", { class: "ta-panel" });
  const note = html("small");
  box.append(html("p", { class: "ta-caption" }, "Wavelength of each plane", note));
  ui.row().append(box);
  const canvas = picture(box, W, H, "Wavelength in tokens of every plane, logarithmic, with the context as a line");
  const y = (tokens) => top + ih * (1 - clamp(Math.log10(tokens), 0, DECADES) / DECADES);
  for (let e = 0; e <= DECADES; e++) {
    line(canvas, left, y(10 ** e), left + iw, y(10 ** e), "ta-grid");
    label(canvas, left - 6, y(10 ** e) + 4, whole(10 ** e), "end", "ta-small");
  }
  canvas.append(svg("rect", { x: left, y: top, width: iw, height: ih, class: "ta-axis" }));
  label(canvas, left + iw / 2, H - 6, "plane i", "middle");
  label(canvas, 12, top + ih / 2, "tokens per turn", "middle").setAttribute("transform", `rotate(-90 12 ${top + ih / 2})`);
  const ticks = svg("g");
  const reference = svg("path", { class: "ta-reference" });
  const limit = line(canvas, left, 0, left + iw, 0, "ta-mark");
  const limitName = label(canvas, left + 8, 0, "", "start", "ta-strong");
  const reader = line(canvas, 0, top, 0, top + ih, "ta-diagonal");
  const points = svg("g");
  const here = svg("circle", { r: 8, class: "ta-mark" });
  canvas.append(ticks, reference, points, here);

  const bottomRow = ui.row();
  const halves = [0, 1].map(() => html("div", { class: "ta-panel", style: "flex: 1 1 340px" }));
  bottomRow.append(...halves);
  const counts = facts(halves[0], "In this context", [
    ["planes with a full turn", "filled points, on or below the line"],
    ["longest wavelength", "tokens for one turn of the slowest plane"],
    ["turns of the slowest plane", "below 1: no full turn within the context"],
  ]);
  const invariants = facts(halves[1], "What must hold for every plane", [
    ["|θ[0] − 1|", "the first plane turns one radian per token"],
    ["error of θ[i+1] / θ[i]", "always the same factor, base^(−2/D)"],
    ["farthest from the reference", "largest relative difference of a frequency"],
  ]);

  let drawn = "";
  return {
    stale() { drawn = ""; },
    draw() {
      const [dim, base, context] = [ui.get("dim"), ui.get("base"), ui.get("context")];
      const count = dim / 2;
      const b = spec.bases.indexOf(base);
      const cut = (name) => ui.table(`${name}${dim}`).subarray(b * count, (b + 1) * count);
      const theta = cut("f");
      const waves = Array.from(theta, (f) => (2 * Math.PI) / Math.abs(f));
      const x = (i) => left + 10 + (i / (count - 1)) * (iw - 20);
      const key = `${dim}/${base}/${context}`;
      if (key !== drawn) {
        drawn = key;
        ticks.replaceChildren();
        for (let i = 0; i < count; i += count / 8) label(ticks, x(i), top + ih + 15, String(i), "middle", "ta-small");
        label(ticks, x(count - 1), top + ih + 15, String(count - 1), "middle", "ta-small");
        reference.setAttribute("d", trace(Array.from(cut("ref_f"), (f, i) => [x(i), y((2 * Math.PI) / f)])));
        limit.setAttribute("y1", y(context));
        limit.setAttribute("y2", y(context));
        limitName.setAttribute("y", y(context) - 6);
        limitName.textContent = `context ${whole(context)}`;
        const size = count > 64 ? 2.2 : 3.2;
        points.replaceChildren(...waves.flatMap((wave, i) => {
          if (Number.isNaN(wave)) return [];
          const box = { x: x(i) - size, y: y(wave) - size, width: 2 * size, height: 2 * size, class: "ta-open-two" };
          return [wave <= context ? svg("circle", { cx: x(i), cy: y(wave), r: size + 0.3, class: "ta-fill-one" })
            : svg("rect", box)];
        }));
        const full = waves.filter((wave) => wave <= context).length;
        const longest = Math.max(...waves);
        counts([[`${full} of ${count}`, ""], [`${whole(longest)} tokens`, ""], [short(context / longest), ""]]);
        const at = (spec.dims.indexOf(dim) * spec.bases.length + b) * 3;
        invariants([...ui.table("invariants").subarray(at, at + 3)].map((v, i) => {
          const good = v <= spec.tolerance;
          return [short(v), good ? ["ok", "ok", "same"][i] : ["broken", "broken", "differs"][i], good];
        }));
        note.textContent = `${ui.get("notice") ? "" : "points: yours; "}gray dashes: the reference; ` +
          "filled: a full turn within the context";
      }
      const plane = Math.min(ui.get("plane"), last());
      const wave = waves[plane];
      reader.setAttribute("x1", x(plane));
      reader.setAttribute("x2", x(plane));
      here.setAttribute("cx", x(plane));
      here.style.visibility = Number.isNaN(wave) ? "hidden" : "visible";
      if (!Number.isNaN(wave)) here.setAttribute("cy", y(wave));
      const turns = context / wave;
      ui.say(`plane ${plane}: θ = ${short(theta[plane])} rad per token, a full turn in ` +
        `${wave < 1000 ? fixed(wave, 1) : whole(wave)} tokens, so ${short(turns)} turns in ${whole(context)} tokens`);
      ui.root.dataset.key = `${key}/${plane}`;
    },
  };
}

const widget = { render: mount(wavelengthWidget) };
export default widget;
