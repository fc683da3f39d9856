// ModelAtlas's timeline: marks in rows of years, names of families, and lines of descent of the one that is looked at.

const BAR = 34; // px: a bar under a year

/** Radius of a mark: a step of 1.5 px for ten times the parameters. */
const radius = (size) => (size ? clamp(3 + 1.5 * (Math.log10(size) - 7), 3, 10.5) : 6);

/**
 * Rows of marks, each with the name of its family, a row for each year: a hover shows a model, a click keeps it. One stop for the tab key, arrow keys move
 * the first model, with Shift the second.
 * Filled: RMSNorm, hollow: LayerNorm, dashed: not published; round: decoder, square: encoder, diamond: both.
 */
function timeline(ui, models, passing) {
  const box = keepKeys(html("div", {
    role: "listbox", tabindex: 0, "aria-label": ui.spec.words.timeline, class: "ta-area",
  }));
  const marks = models.map((m) => {
    const picture = svg("svg", { viewBox: "0 0 24 24", width: 24, height: 24, class: "ta-svg", "aria-hidden": "true" });
    const r = radius(m.size);
    const outline = { encoder: `M${12 - 0.9 * r} ${12 - 0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}Z`,
      "encoder-decoder": `M12 ${12 - 1.15 * r}l${1.15 * r} ${1.15 * r}l${-1.15 * r} ${1.15 * r}l${-1.15 * r} ${-1.15 * r}Z` }[m.kind];
    const shape = outline ? svg("path", { d: outline }) : svg("circle", { cx: 12, cy: 12, r });
    shape.setAttribute("stroke-width", 1.8);
    if (m.family.norm === ui.spec.words.unknown) shape.setAttribute("stroke-dasharray", "3 2.5");
    // In the corner, with a margin in the page's color: it is read on the largest mark, and does not cover the smallest.
    const letter = svg("text", { x: 3.5, y: 8.5, "text-anchor": "middle", class: "ta-strong",
      style: "font-size: 11px; paint-order: stroke; stroke: var(--ta-paper); stroke-width: 2px" });
    picture.append(shape, letter);
    const node = html("div", {
      role: "option", id: freshId(), "aria-label": `${m.title}, ${m.year}`, title: m.summary,
      style: "flex: none; width: 24px; height: 24px; cursor: pointer; border-radius: 4px",
    }, picture);
    return { node, shape, letter };
  });
  const groups = []; // [node, its models]
  const shares = []; // [picture, its filled part, models of the year]
  for (const year of ui.spec.years) {
    const place = html("div", { role: "presentation", style: "display: flex; flex-wrap: wrap; align-items: center; column-gap: 7px" });
    const row = html("div", {
      role: "presentation", style: "display: flex; min-height: 25px; border-top: 1px solid var(--ta-rule)",
    }, html("span", { style: "flex: none; width: 44px; line-height: 18px" }, String(year), shareBar(shares, models, year)), place);
    let [stem, group] = ["", null];
    models.forEach((m, i) => {
      if (m.year !== year) return;
      if (m.stem !== stem) {
        stem = m.stem;
        group = html("div", { role: "presentation", style: "display: flex; align-items: center" },
          html("span", { "aria-hidden": "true", class: "ta-small", style: "color: var(--ta-soft); background: var(--ta-paper); padding-left: 3px; line-height: 24px; white-space: nowrap; cursor: pointer" }, stem));
        groups.push([group, []]);
        place.append(group);
      }
      group.lastChild.before(marks[i].node);
      groups.at(-1)[1].push(i);
    });
    box.append(row);
  }
  const lines = models.map(() => svg("path", { style: "fill: none; stroke: var(--ta-two); stroke-width: 1.6; opacity: 0.75" }));
  Object.assign(box.style, { position: "relative", isolation: "isolate" }); // offsets of marks count from here
  box.append(svg("svg", {
    class: "ta-svg", "aria-hidden": "true", width: "100%", height: "100%",
    style: "position: absolute; inset: 0; z-index: -1; overflow: visible; pointer-events: none",
  }, ...lines));
  const node = html("div", {}, box, html("p", { class: "ta-note", style: "margin-top: 2px" }, ui.spec.words.legend));

  const which = (event) => (event.shiftKey ? "second" : "first");
  // A name stands for the model beside it.
  const spots = [...marks.map(({ node: mark }, i) => [mark, i]), ...groups.map(([group, members]) => [group.lastChild, members.at(-1)])];
  spots.forEach(([mark, i]) => {
    mark.addEventListener("pointermove", (event) => { if (event.pointerType !== "touch") ui.peek({ [which(event)]: i }); });
    mark.addEventListener("pointerleave", () => ui.peek(null));
    mark.addEventListener("click", (event) => {
      ui.peek(null);
      ui.set(which(event), i);
      box.focus({ preventScroll: true });
    });
  });
  for (const event of ["focus", "blur"]) box.addEventListener(event, () => ui.ask());
  box.addEventListener("keydown", (event) => {
    const trait = event.shiftKey ? "second" : "first";
    const here = ui.get(trait);
    const open = passing().map((yes, i) => (yes ? i : -1)).filter((i) => i >= 0);
    const next = stepFrom(event.key, here, open, models);
    if (next === undefined) return;
    event.preventDefault();
    ui.set(trait, next);
  });
  return {
    node,
    draw(first, second) {
      const shown = passing();
      marks.forEach(({ node: mark, shape, letter }, i) => {
        const chosen = i === first || i === second;
        const color = i === first ? "var(--ta-two)" : i === second ? "var(--ta-good)" : "var(--ta-one)";
        const filled = models[i].family.norm === "RMSNorm";
        fill(shape, { style: `stroke: ${color}; fill: ${filled ? color : "none"}`, opacity: shown[i] || chosen ? 1 : 0.22 });
        write(letter, i === first ? "A" : i === second ? "B" : "");
        fill(mark, { "aria-selected": String(i === first) });
        mark.style.outline = chosen ? `2px solid ${color}` : "";
        mark.style.outlineOffset = "-1px";
      });
      // Of the one that is looked at: lines that lay there from the start would be read as a part of the scene.
      const line = new Set(ui.pointing || document.activeElement === box ? lineage(models, first) : []);
      lines.forEach((path, i) => fill(path, { d: line.has(i) ? between(marks[models[i].after].node, marks[i].node) : "" }));
      shares.forEach(([picture, part, members]) => {
        const seen = members.filter((i) => shown[i] && models[i].family.norm !== ui.spec.words.unknown);
        const filled = seen.filter((i) => models[i].family.norm === "RMSNorm").length;
        picture.style.visibility = seen.length ? "" : "hidden";
        fill(part, { width: (BAR * filled) / Math.max(seen.length, 1), "data-share": `${filled}/${seen.length}` });
      });
      groups.forEach(([group, members]) => {
        group.lastChild.style.visibility = members.some((i) => shown[i]) ? "" : "hidden";
      });
      fill(box, { "aria-activedescendant": marks[first].node.id });
      return shown.filter(Boolean).length;
    },
  };
}

/** The bar under a year: which share of its models that pass the filter is filled. */
function shareBar(shares, models, year) {
  const frame = { x: 0.5, y: 0.5, height: 4 };
  const part = svg("rect", { ...frame, style: "fill: var(--ta-one)" });
  const picture = svg("svg", { viewBox: `0 0 ${BAR + 1} 5`, width: BAR + 1, height: 5, class: "ta-svg", "aria-hidden": "true",
    style: "display: block; margin-bottom: 1px" }, svg("rect", { ...frame, width: BAR, style: "fill: none; stroke: var(--ta-one)" }), part);
  shares.push([picture, part, models.flatMap((m, i) => (m.year === year ? [i] : []))]);
  return picture;
}

/** Models whose line is drawn, when one is looked at: those that it goes back to, and those that start from its family. */
function lineage(models, here) {
  const back = [];
  for (let i = here; models[i].after >= 0; i = models[i].after) back.push(i);
  return [...back, ...models.map((_, i) => i).filter((i) => models[models[i].after]?.stem === models[here].stem)];
}

/** A line from the lower edge of one mark to the upper edge of another, in the units of their common parent. */
function between(from, to) {
  const edge = (node, y) => [node.offsetLeft + node.offsetWidth / 2, node.offsetTop + y];
  const [[x, y], [u, v]] = [edge(from, from.offsetHeight - 4), edge(to, 4)];
  const middle = (y + v) / 2;
  return `M${x} ${y}C${x} ${middle} ${u} ${middle} ${u} ${v}`;
}

/** The row that a key leads to from ``here``, among the ``open`` ones; undefined for other keys. */
function stepFrom(key, here, open, models) {
  if (!open.length) return undefined;
  const year = (i) => models[i].year;
  switch (key) {
    case "ArrowRight": return open.find((i) => i > here) ?? open.at(-1);
    case "ArrowLeft": return open.findLast((i) => i < here) ?? open[0];
    case "ArrowDown": return open.find((i) => year(i) > year(here)) ?? open.at(-1);
    case "ArrowUp": {
      const last = open.findLast((i) => year(i) < year(here));
      return last === undefined ? open[0] : open.find((i) => year(i) === year(last));
    }
    case "Home": return open[0];
    case "End": return open.at(-1);
    default: return undefined;
  }
}
