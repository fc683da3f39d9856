// What the fills of CacheStepper's cells and slots mean.

/** Below the grid, where there is room for it. Returns draw(turning). */
function fillLegend(parent) {
  const notes = ["ta-fill-two", "ta-fill-one", "ta-axis"].map((kind) => {
    const rect = svg("rect", { x: 0.5, y: 0.5, width: 17, height: 13, class: kind });
    if (kind === "ta-fill-one") rect.style.fillOpacity = 0.22;
    if (kind === "ta-axis") rect.style.fill = "var(--ta-panel)";
    return [svg("svg", { width: 18, height: 14, style: "flex: none", "aria-hidden": "true" }, rect), html("span")];
  });
  parent.append(html("div", { class: "ta-note", style: "display: flex; flex-wrap: wrap; gap: 2px 14px" },
    ...notes.map((note) => html("span", { style: "display: flex; align-items: center; gap: 6px" }, ...note))));
  return (turning) => {
    const told = turning ? [tr("wrong score; in the store: new"), tr("right score"), tr("earlier step")]
      : [tr("new key, computed now"), tr("key read from the store"), tr("earlier step")];
    notes.forEach(([, text], i) => write(text, told[i]));
  };
}
