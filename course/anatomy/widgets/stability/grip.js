// The scores as a grip: a box with an arrow at each side.

const DRAG = 8; // px for one step of the growth

/** The scores of the first panel are a grip: to the right all grow, to the left all shrink. */
function scoreGrip(growth, canvas, last, says) {
  const size = { x: 0.5, y: 0.5, width: GRIP, rx: 8 };
  const under = svg("rect", { ...size, style: "fill: var(--ta-panel)" });
  canvas.prepend(under);
  const grip = svg("rect", { ...size, class: "ta-grip", style: "stroke: var(--ta-soft); stroke-width: 1.5" });
  // Two arrows that point away from the scores, as on every other grip.
  const d = `M10 -6v12l-6 -6zM${GRIP - 9} -6v12l6 -6z`;
  const arrows = svg("path", { d, style: "fill: var(--ta-ink); pointer-events: none" });
  canvas.append(arrows, grip);
  handle(growth, grip, {
    canvas, trait: "growth", name: tr("the eight scores"), max: last, says,
    drag: ([x], start) => clamp(start.value + Math.round((x - start.x) / DRAG), 0, last()),
  });
  grip.style.cursor = "ew-resize";
  /** The grip is as high as all rows together. */
  return (high) => {
    for (const box of [under, grip]) fill(box, { height: high - 1 });
    fill(arrows, { transform: `translate(0,${high / 2})` });
  };
}
