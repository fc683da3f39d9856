// CacheStepper: where the tokens of the text lie, and those that the window has lost.

const FLY_MS = 600; // from the cell where a key was computed to its slot
const SLOT = 56; // px: height of a slot

/**
 * The slots of the store after the step, and the rule that fills them. A new token flies into its
 * slot from its own cell of the grid, cellOf(query, key); one that the window overwrites leaves it and is crossed out.
 */
function memoryPanel(ui, parent, W, scene, cellOf) {
  const { spec } = ui;
  const N = spec.length;
  const [left, most] = [54, spec.table.length * spec.block];
  const across = Math.floor((W - left) / most);
  const node = html("div", { class: "ta-panel", style: `width: ${W}px` });
  node.append(html("p", { class: "ta-caption" }, tr("The store after this step"),
    html("small", {}, tr("K: key, V: value"))));
  parent.append(node);
  const canvas = picture(node, W, SLOT + 22,
    tr("Slots of the store after this step: the token in each, with its key and its value"));
  const slots = Array.from({ length: most }, (_, i) => {
    const x = left + i * across;
    const rect = svg("rect", { x, y: 20, width: across - 3, height: SLOT, class: "ta-axis" });
    canvas.append(rect);
    return [rect, label(canvas, x + across / 2 - 1.5, 14, "", "middle", "ta-small")];
  });
  const placed = (slot) => `translate(${left + slot * across} 20)`;
  const ghostAt = (token) => spec.window + 1 + token; // beside the slots of the window
  const chips = Array.from({ length: N }, () => {
    const node = svg("g", { transform: placed(0), style: "visibility: hidden" });
    const rect = svg("rect", { width: across - 3, height: SLOT });
    node.append(rect);
    const text = (x, y, parent = node) => label(parent, x, y, "", "middle", "ta-onfill");
    const middle = across / 2 - 1.5;
    const texts = [text(middle, 15), text(middle, 31)];
    texts[0].style.fontWeight = 600;
    const pair = svg("g"); // what the slot holds of the token
    const half = middle - 3.5;
    [0, 1].forEach((i) => {
      const x = 2.5 + i * (half + 2);
      pair.append(svg("rect", { x, y: 37, width: half, height: 16, rx: 2, style: "fill: none" }));
      texts.push(text(x + half / 2, 49, pair));
    });
    const cross = svg("path", {
      class: "ta-axis", style: "stroke: var(--ta-soft)", d: `M4 38L${across - 7} ${SLOT - 3}M${across - 7} 38L4 ${SLOT - 3}`, // below its number, which stays legible
    });
    node.append(pair, cross);
    for (const each of texts) each.dataset.ink = "own";
    canvas.append(node);
    return { node, rect, texts, pair, cross, at: null, flight: null };
  });
  const slotWord = label(canvas, left - 8, 14, "", "end", "ta-small");
  const borders = svg("path", { class: "ta-axis", style: "stroke: var(--ta-ink); stroke-width: 1.6", // between pages
    d: [1, 2].map((page) => `M${left + page * spec.block * across - 1.5} 4v${SLOT + 18}`).join("") });
  canvas.append(borders);
  label(canvas, left - 8, 36, tr("token"), "end", "ta-small");
  const turned = label(canvas, left - 8, 52, "", "end", "ta-small");
  label(canvas, left - 8, 70, tr("holds"), "end", "ta-small");
  const lostBy = label(canvas, left + ghostAt(0) * across, 14, "", "start", "ta-small");
  const mark = svg("rect", { y: 19, width: across - 1, height: SLOT + 2, class: "ta-mark" });
  canvas.append(mark);
  const rule = html("p", { class: "ta-note" });
  node.append(rule);

  const slotOf = (t, store) => (store === 1 ? t % spec.window : store === 0 ? t
    : spec.table[Math.floor(t / spec.block)] * spec.block + (t % spec.block));
  const countOf = (store) => (store === 1 ? spec.window : store === 0 ? N : most);
  /** Which token each slot holds; null for an empty one. */
  function heldBy({ store, stop }) {
    const held = Array(countOf(store)).fill(null);
    for (let t = 0; t < stop; t++) held[slotOf(t, store)] = t;
    return held;
  }
  const slotAt = (now) => (now.key === undefined ? -1 : heldBy(now).indexOf(now.key));
  const place = cursor(ui, canvas, {
    name: tr("Slots"), cross: false,
    box: () => ({ x: left, y: 20, width: across * countOf(ui.get("store")), height: SLOT }),
    size: () => [countOf(ui.get("store")), 1],
    at: () => [ui.seen("slot") ?? Math.max(slotAt(scene()), 0), 0],
    state: (slot) => {
      const key = heldBy(scene())[slot];
      return key === null ? { slot } : { slot, key };
    },
    says: (slot) => {
      const token = heldBy(scene())[slot];
      return token === null ? tr("slot {slot}, empty", { slot }) : tr("slot {slot}, token {token}", { slot, token });
    },
  });
  const nameOf = (slot, store) => (store === 2 ? `${Math.floor(slot / spec.block)}·${slot % spec.block}` : String(slot));

  /** Above a slot: its number; of pages, only theirs, over the middle. */
  const headOf = (slot, store) => (store !== 2 ? String(slot)
    : slot % spec.block === 1 ? tr("page {n}", { n: Math.floor(slot / spec.block) }) : "");

  /** A new token on its way from the cell where its key was computed. */
  function fly(token, slot) {
    const box = cellOf(token, token).getBoundingClientRect();
    const [x, y] = pointIn(canvas, { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 });
    const size = 0.4; // as high as the cell
    const way = [`translate(${x - (size * across) / 2}px, ${y - (size * SLOT) / 2}px) scale(${size})`,
      `translate(${left + slot * across}px, 20px) scale(1)`];
    return chips[token].node.animate(way.map((transform) => ({ transform })), { duration: FLY_MS, easing: "ease-in-out" });
  }

  return {
    node,
    draw(now) {
      const { store, start, turning } = now;
      const held = heldBy(now);
      const strong = ui.dark ? [230, 159, 0] : [198, 87, 0];
      slots.forEach(([rect, name], i) => {
        const used = i < held.length;
        rect.style.visibility = used ? "visible" : "hidden";
        write(name, used ? headOf(i, store) : "");
      });
      borders.style.visibility = store === 2 ? "visible" : "hidden";
      write(slotWord, store === 2 ? "" : tr("slot"));
      chips.forEach((chip, t) => {
        const { node, rect, texts, pair, cross } = chip;
        const lost = t < now.lost;
        const at = lost ? ghostAt(t) : t < now.stop ? held.indexOf(t) : null;
        const fresh = t >= start && !lost;
        if (at !== chip.at) {
          chip.flight?.cancel();
          chip.flight = tween.on && chip.at === null && !lost ? fly(t, at) : null;
          chip.at = at;
        }
        node.style.visibility = at === null ? "hidden" : "visible";
        if (at !== null) fill(node, { transform: placed(at) });
        fill(rect, { class: lost ? "ta-axis" : fresh ? "ta-fill-two" : "ta-fill-one" });
        rect.style.fillOpacity = fresh ? 1 : 0.22;
        for (const part of [pair, cross]) part.style.display = (part === cross) === lost ? "" : "none";
        const told = [String(t), turning ? now.at(t) : spec.text[t], "K", "V"];
        texts.forEach((text, i) => write(text, at === null || (lost && i > 1) ? "" : told[i]));
        const ink = lost ? "var(--ta-soft)" : fresh ? inkOn(strong) : "var(--ta-ink)";
        for (const text of texts) text.style.fill = ink;
        for (const frame of pair.querySelectorAll("rect")) fill(frame, { stroke: ink });
      });
      write(lostBy, now.lost ? tr("lost to query {n}", { n: now.stop - 1 }) : "");
      const here = ui.seen("slot") ?? slotAt(now);
      mark.style.visibility = here >= 0 && here < held.length ? "visible" : "hidden";
      fill(mark, { x: left + Math.max(here, 0) * across - 1 });
      write(turned, turning ? tr("position") : tr("word"));
      write(rule, store === 0 ? ""
        : now.rolling ? tr("Token p takes slot p mod {n}, the rest of p ÷ {n}, from token p − {n}.", { n: spec.window })
          : tr("Table {table}: token p lies in page table[p // {n}], at place p mod {n}. Here // divides and drops the " +
            "rest; mod is that rest.", { table: inRow(spec.table), n: spec.block }));
      place();
    },
    /** Why the token that is pointed at lies where it does. */
    formula(now) {
      const { store, key, stop } = now;
      const slot = ui.seen("slot");
      if (key === undefined) return slot === undefined ? "" : tr("Slot {slot} is empty.", { slot: nameOf(slot, store) });
      if (key >= stop) return tr("Token {n} is not stored yet.", { n: key });
      if (store === 0) return tr("Token {n} lies in slot {n}.", { n: key });
      if (store === 1) {
        const told = { n: key, window: spec.window, slot: key % spec.window };
        return heldBy(now).indexOf(key) < 0 ? tr("Token {n}: slot {n} mod {window} = {slot}, and was overwritten.", told)
          : tr("Token {n}: slot {n} mod {window} = {slot}.", told);
      }
      const part = Math.floor(key / spec.block);
      return tr("Token {n}: page table[{n} // {size}] = table[{part}] = {page}, place {n} mod {size} = {place}.",
        { n: key, size: spec.block, part, page: spec.table[part], place: key % spec.block });
    },
  };
}
