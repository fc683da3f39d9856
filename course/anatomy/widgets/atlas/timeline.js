// ModelAtlas's timeline: marks in rows of years, names of families, and lines of descent of the one that is looked at.

const BAR = 34; // px: a bar under a year
const LATER = 0.45; // opacity of lines that do not lead from the family itself, but from what started from it
const AWAY = 0.22; // opacity of marks that the filter leaves out, or that the chain of descent does not go through

// Paper behind the letters alone: lines run above and below them.
const NAME = "color: var(--ta-soft); padding-left: 3px; line-height: 24px; white-space: nowrap; cursor: pointer; " +
  "background: linear-gradient(var(--ta-paper), var(--ta-paper)) center / 100% 14px no-repeat";

/** Radius of a mark: a step of 1.5 px for ten times the parameters. */
const radius = (size) => (size ? clamp(3 + 1.5 * (Math.log10(size) - 7), 3, 10.5) : 6);

/**
 * Rows of marks, each with the name of its family, a row for each year: a hover shows a model, a click keeps it. One
 * stop for the tab key, arrow keys move the first model, with Shift the second.
 * Filled: what the filter asks for, RMSNorm where it asks for nothing; dashed: not published; round: decoder, square:
 * encoder, diamond: both.
 */
function timeline(ui, models, looks) {
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
    // In the corner, with a margin in the page's color: it is read on the largest mark, and does not cover the smallest.
    const letter = svg("text", { x: 3.5, y: 8.5, "text-anchor": "middle", class: "ta-strong",
      style: "font-size: 11px; paint-order: stroke; stroke: var(--ta-paper); stroke-width: 2px" });
    picture.append(shape, letter);
    const node = html("div", {
      role: "option", id: freshId(), "aria-label": `${m.title}, ${m.year}`,
      style: "flex: none; width: 24px; height: 24px; cursor: pointer; border-radius: 4px",
    }, picture);
    const half = { encoder: 0.9, "encoder-decoder": 1.15 }[m.kind] ?? 1;
    return { node, shape, letter, half: half * r };
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
          html("span", { "aria-hidden": "true", class: "ta-small", style: NAME }, stem));
        groups.push([group, []]);
        place.append(group);
      }
      group.lastChild.before(marks[i].node);
      groups.at(-1)[1].push(i);
    });
    box.append(row);
  }
  const tip = freshId();
  const lines = models.map(() => svg("path", { style: "fill: none; stroke: var(--ta-two); stroke-width: 1.6" }));
  Object.assign(box.style, { position: "relative", isolation: "isolate" }); // offsets of marks count from here
  box.append(svg("svg", {
    class: "ta-svg", "aria-hidden": "true", width: "100%", height: "100%",
    style: "position: absolute; inset: 0; z-index: -1; overflow: visible; pointer-events: none",
  }, svg("defs", {}, svg("marker", {
    id: tip, viewBox: "0 0 8 8", refX: 7.5, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse",
    orient: "auto",
  }, svg("path", { d: "M0 0.5L8 4L0 7.5Z", style: "fill: var(--ta-two)" }))), ...lines));
  const tag = html("span", { "aria-hidden": "true", style: "position: absolute; z-index: 1; padding: 0 4px; font-size: 12px; " +
    "white-space: nowrap; pointer-events: none; background: var(--ta-paper); border: 1px solid var(--ta-two); border-radius: 3px" });
  box.append(tag);
  /** Title and size over the mark that is looked at: its family's name does not tell which one it is. */
  function nameMark(i) {
    tag.hidden = i < 0;
    if (i < 0) return;
    const { title, size } = models[i];
    write(tag, size ? `${title}: ${inWords(ui.spec.words, size)}` : title);
    const { offsetLeft, offsetTop } = marks[i].node;
    tag.style.left = `${clamp(offsetLeft - 8, 0, box.offsetWidth - tag.offsetWidth)}px`;
    tag.style.top = `${offsetTop > 22 ? offsetTop - 20 : offsetTop + 24}px`;
  }
  const spread = router(box, marks, groups.map(([group]) => group.lastChild));
  const [key, meant] = [html("span"), html("span", { "data-readout": "terms" })];
  const legend = html("p", { class: "ta-note", style: "margin-top: 2px" }, key, " ", meant);
  const node = html("div", {}, box, legend);

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
    const open = looks().shown.map((yes, i) => (yes ? i : -1)).filter((i) => i >= 0);
    const next = stepFrom(event.key, here, open, models);
    if (next === undefined) return;
    event.preventDefault();
    ui.set(trait, next);
  });
  return {
    node,
    draw(first, other) {
      const second = ui.without("view") ? -1 : other; // nothing is compared yet
      const { shown, within, filled, legend: told, terms } = looks();
      write(key, told);
      write(meant, terms);
      // Of the one that is looked at: lines that lay there from the start would be read as a part of the scene.
      const looked = ui.pointing || document.activeElement === box || first !== ui.get("first"); // or is demonstrated
      const line = new Map(looked ? lineage(models, first) : []);
      const chain = new Set([...line.keys()].flatMap((i) => [i, models[i].after]));
      const away = (i) => chain.size > 0 && !chain.has(i);
      marks.forEach(({ node: mark, shape, letter }, i) => {
        const chosen = i === first || i === second;
        const color = i === first ? "var(--ta-two)" : i === second ? "var(--ta-good)" : "var(--ta-one)";
        fill(shape, {
          style: `stroke: ${color}; fill: ${filled[i] ? color : "none"}`,
          opacity: chosen || (shown[i] && !away(i)) ? 1 : AWAY,
          "stroke-dasharray": filled[i] === undefined ? "3 2.5" : "none",
        });
        write(letter, second < 0 ? "" : i === first ? "A" : i === second ? "B" : "");
        fill(mark, { "aria-selected": String(i === first) });
        mark.style.outline = chosen ? `2px solid ${color}` : "";
        mark.style.outlineOffset = "-1px";
      });
      lines.forEach((path, i) => fill(path, line.has(i)
        ? { d: spread(models[i].after, i), "marker-end": `url(#${tip})`, opacity: line.get(i) > 1 ? LATER : 1 }
        : { d: "", "marker-end": "none" }));
      nameMark(looked ? first : -1);
      shares.forEach(([picture, part, members]) => {
        const known = members.filter((i) => within[i] && filled[i] !== undefined);
        const full = known.filter((i) => filled[i]).length;
        picture.style.visibility = known.length ? "" : "hidden";
        fill(part, { width: (BAR * full) / Math.max(known.length, 1), "data-share": `${full}/${known.length}` });
      });
      groups.forEach(([group, members]) => {
        group.lastChild.style.visibility = members.some((i) => shown[i]) ? "" : "hidden";
        group.lastChild.style.opacity = members.every(away) ? 0.4 : "";
      });
      fill(box, { "aria-activedescendant": marks[first].node.id });
      return shown.filter(Boolean).length;
    },
  };
}

/** The bar under a year: which share of its models, of those that the years and the search leave, is filled. */
function shareBar(shares, models, year) {
  const frame = { x: 0.5, y: 0.5, height: 4 };
  const part = svg("rect", { ...frame, style: "fill: var(--ta-one)" });
  const picture = svg("svg", { viewBox: `0 0 ${BAR + 1} 5`, width: BAR + 1, height: 5, class: "ta-svg", "aria-hidden": "true",
    style: "display: block; margin-bottom: 1px" }, svg("rect", { ...frame, width: BAR, style: "fill: none; stroke: var(--ta-one)" }), part);
  shares.push([picture, part, models.flatMap((m, i) => (m.year === year ? [i] : []))]);
  return picture;
}

/** How many steps a model goes back to a family: 1 if it starts from it, Infinity if it does not go back to it. */
function stepsTo(models, stem, i) {
  let steps = 1;
  for (let at = models[i].after; at >= 0; at = models[at].after, steps++) if (models[at].stem === stem) return steps;
  return Infinity;
}

/** [model whose line is drawn when one is looked at, steps]: those that it goes back to, and those that go back to its family. */
function lineage(models, here) {
  const back = [];
  for (let i = here; models[i].after >= 0; i = models[i].after) back.push([i, 1]);
  return [...back, ...models.map((m, i) => [i, stepsTo(models, models[here].stem, i)]).filter(([, steps]) => steps < Infinity)];
}

/**
 * Lines from mark to mark, in the units of ``box``. A line runs between the rows, where no name stands, and crosses
 * rows where the fewest names and marks are in its way. Returns path(from, to), of indices.
 */
function router(box, marks, names) {
  let [known, of, obstacles] = [new Map(), "", []];
  const measured = () => {
    const size = `${box.offsetWidth} ${box.offsetHeight}`;
    if (size === of) return;
    [known, of] = [new Map(), size];
    obstacles = [...marks.map(({ node }) => [node, 1]), ...names.map((node) => [node, 3])].map(([node, weight]) => ({
      left: node.offsetLeft, right: node.offsetLeft + node.offsetWidth,
      middle: node.offsetTop + node.offsetHeight / 2, weight,
    }));
  };
  const spot = ({ node: { offsetLeft, offsetTop }, half }) => (
    { x: offsetLeft + 12, top: offsetTop, bottom: offsetTop + 24, half });

  /** The place between x and u that a line goes down at, from the height ``low`` to ``high``. */
  function crossing(x, u, low, high) {
    const inWay = obstacles.filter(({ middle }) => middle > low && middle < high);
    if (!inWay.length) return x;
    const cost = (at) => (Math.abs(at - x) + Math.abs(at - u)) / 60 +
      sum(inWay.filter(({ left, right }) => at > left - 3 && at < right + 3).map(({ weight }) => weight));
    const steps = Array.from({ length: Math.floor(box.offsetWidth / 4) }, (_, i) => 4 * i).filter((at) => at > 40);
    return [x, u, ...steps].reduce((best, at) => (cost(at) < cost(best) ? at : best));
  }

  return (from, to) => {
    measured();
    const key = `${from} ${to}`;
    if (!known.has(key)) {
      const [a, b] = [spot(marks[from]), spot(marks[to])];
      const end = [b.x, b.top + 11 - b.half];
      const [low, high] = [a.bottom, b.top];
      // In one row, the line runs above it: from top to top.
      const points = low > high ? [[a.x, a.top + 11 - a.half], [a.x, high - 4], [b.x, high - 4], end] : (() => {
        const at = crossing(a.x, b.x, low, high);
        return [[a.x, a.bottom - 11 + a.half], [a.x, low], [at, low], [at, high - 1], [b.x, high - 1], end];
      })();
      known.set(key, rounded(points));
    }
    return known.get(key);
  };
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

/** A path through points, round where it turns. */
function rounded(points) {
  const apart = points.filter((p, i) => !i || Math.hypot(p[0] - points[i - 1][0], p[1] - points[i - 1][1]) > 0.1);
  const toward = ([x, y], [u, v]) => {
    const far = Math.hypot(u - x, v - y);
    const share = Math.min(8, far / 2) / far;
    return `${x + share * (u - x)} ${y + share * (v - y)}`;
  };
  const turns = apart.slice(1, -1).map((p, i) => `L${toward(p, apart[i])}Q${p.join(" ")} ${toward(p, apart[i + 2])}`);
  return `M${apart[0].join(" ")}${turns.join("")}L${apart.at(-1).join(" ")}`;
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
