// What makes a picture answer the hand. Hover only peeks: traits stand still and Python hears nothing. A click, a drag
// or a key pins: it sets the traits. Escape lets go. Whatever the hand can do, a key can do with the same result.

const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const JUMP = 8; // Page Up, Page Down
const STILL = 8; // px that a finger may move and still mean a tap

/** Where the pointer is, in the units of the drawing, however far it has been shrunk. */
function pointIn(canvas, event) {
  const [box, view] = [canvas.getBoundingClientRect(), canvas.viewBox.baseVal];
  return [((event.clientX - box.left) * view.width) / box.width, ((event.clientY - box.top) * view.height) / box.height];
}

const plainKey = (event) => !(event.ctrlKey || event.metaKey || event.altKey);

/** Steps of an arrow key, Home, End, Page Up and Page Down from `value` within 0…max; null for any other key. */
function stepped(key, value, max) {
  const arrow = ARROWS[key];
  if (arrow) return clamp(value + (arrow[0] || -arrow[1]), 0, max);
  const to = { Home: 0, End: max, PageUp: value + JUMP, PageDown: value - JUMP }[key];
  return to === undefined ? null : clamp(to, 0, max);
}

/** The key that does along a row what this one does along what runs down, from the first place at the top. */
const downward = (key) => ({ ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" })[key] ?? key;

/** A picture with parts that take the focus: role img would hide them from assistive technology. */
function alive(canvas) {
  canvas.setAttribute("role", "group");
  return canvas;
}

/**
 * A cursor over a grid of `columns` × `rows` (a map, a curve, bars, words in a row). It hovers, clicks, scrubs, and
 * walks by arrow keys; with shift along the diagonal where `diagonal` is true.
 *
 * box() { x, y, width, height } of the grid in the canvas's units, at the time of the event
 * size() [columns, rows], if they change
 * state(column, row) what is shown when that cell is pointed at: traits, or names of the widget's own
 * at() [column, row] of what is shown now: where the keyboard starts from
 * says(column, row) words for assistive technology
 * press(column, row) instead of pinning, for a click, Enter and Space: paint a cell, say
 *
 * Returns place(): lays the area where box() says, and draws the cross when somebody points here.
 */
function cursor(ui, canvas, { name, box, size, state, at, says, press, diagonal = false, cross = true }) {
  alive(canvas);
  const area = keepKeys(svg("rect", { class: "ta-area", tabindex: 0 }));
  const lines = svg("path", { class: "ta-cross" });
  canvas.append(lines, area);
  let down = null;

  const cell = (event) => {
    const [b, [columns, rows], [x, y]] = [box(), size(), pointIn(canvas, event)];
    return [clamp(Math.floor(((x - b.x) * columns) / b.width), 0, columns - 1),
      clamp(Math.floor(((y - b.y) * rows) / b.height), 0, rows - 1)];
  };
  const choose = (column, row) => (press ? press(column, row) : ui.pin(state(column, row)));

  area.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    const here = cell(event);
    if (!down) ui.peek(state(...here));
    else if (String(here) !== down.last) {
      down.last = String(here);
      choose(...here);
    }
  });
  area.addEventListener("pointerleave", () => ui.peek(null));
  area.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault(); // no selection of text, no focus of the notebook's cell
    area.focus({ preventScroll: true });
    const here = cell(event);
    down = { last: String(here), x: event.clientX, y: event.clientY };
    if (event.pointerType === "touch") return; // it may be the start of a scroll
    area.setPointerCapture(event.pointerId);
    ui.peek(null);
    choose(...here);
  });
  area.addEventListener("pointerup", (event) => {
    const tapped = down && Math.hypot(event.clientX - down.x, event.clientY - down.y) < STILL;
    if (event.pointerType === "touch" && tapped) choose(...cell(event));
    down = null;
  });
  for (const end of ["pointercancel", "lostpointercapture"]) area.addEventListener(end, () => { down = null; });

  area.addEventListener("keydown", (event) => {
    if (!plainKey(event)) return;
    const [[columns, rows], [column, row]] = [size(), at()];
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return choose(column, row);
    }
    const arrow = ARROWS[event.key];
    let to = null;
    if (rows === 1 || columns === 1) {
      const along = stepped(rows === 1 ? event.key : downward(event.key), rows === 1 ? column : row, Math.max(columns, rows) - 1);
      if (along !== null) to = rows === 1 ? [along, 0] : [0, along];
    } else if (arrow && event.shiftKey && diagonal) {
      const by = arrow[0] || arrow[1];
      if (Math.min(column, row) + by >= 0 && column + by < columns && row + by < rows) to = [column + by, row + by];
    } else if (arrow) {
      to = [clamp(column + arrow[0], 0, columns - 1), clamp(row + arrow[1], 0, rows - 1)];
    } else if (event.key === "Home" || event.key === "End") {
      to = [event.key === "Home" ? 0 : columns - 1, row];
    }
    if (!to) return;
    event.preventDefault();
    ui.pin(state(...to));
  });

  return () => {
    const [b, [columns, rows], [column, row]] = [box(), size(), at()];
    fill(area, { x: b.x, y: b.y, width: b.width, height: b.height });
    const flat = rows === 1 || columns === 1;
    const now = says ? says(column, row) : flat ? String(Math.max(column, row)) : tr("column {column}, row {row}", { column, row });
    // One axis is a slider to assistive technology. Two are what ARIA calls an application: it passes the arrow keys on.
    fill(area, flat
      ? { role: "slider", "aria-label": name, "aria-valuemin": 0, "aria-valuemax": Math.max(columns, rows) - 1,
        "aria-valuenow": rows === 1 ? column : row, "aria-valuetext": now,
        "aria-orientation": rows === 1 ? "horizontal" : "vertical" }
      : { role: "application", "aria-roledescription": tr("map"), "aria-label": `${name}: ${now}` });
    const shown = cross && ui.pointing && column >= 0 && row >= 0;
    lines.style.visibility = shown ? "visible" : "hidden";
    if (!shown) return;
    const [x, y] = [b.x + ((column + 0.5) * b.width) / columns, b.y + ((row + 0.5) * b.height) / rows];
    fill(lines, { d: (rows > 1 ? `M${b.x} ${y}H${b.x + b.width}` : "") + (columns > 1 ? `M${x} ${b.y}V${b.y + b.height}` : "") });
  };
}

/**
 * A part of the drawing that is dragged, and is a slider for the keyboard. drag([x, y], start) gives the trait's new
 * value, null for "stay"; start is { x, y, value } of the moment when the hand took hold. Escape takes a drag back.
 * values: the list that the trait is out of; drag and says then deal in places of that list
 * get, set: where neither the trait nor its place in a list is the number that drag and says deal in
 * along: the key that does along a row what this one shall do here (`downward`)
 * stop: false for a second grip of the same trait, which would be one more stop of the tab key.
 */
function handle(ui, node, { canvas, trait, name, max, values, drag, says = String, stop = true, along = (key) => key, ...own }) {
  alive(canvas);
  keepKeys(node).classList.add("ta-handle");
  const top = () => (values ? values.length - 1 : typeof max === "function" ? max() : max);
  const get = own.get ?? (() => (values ? values.indexOf(ui.get(trait)) : ui.get(trait)));
  const set = own.set ?? ((to) => ui.set(trait, values ? values[to] : to));
  if (stop) fill(node, { role: "slider", tabindex: 0, "aria-label": name, "aria-valuemin": 0 });
  else fill(node, { tabindex: -1, "aria-hidden": "true" });
  let start = null;
  const release = () => {
    if (!start) return;
    start = null;
    delete ui.root.dataset.dragging;
    ui.hush(false);
  };
  node.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    node.setPointerCapture(event.pointerId);
    if (stop) node.focus({ preventScroll: true });
    const [x, y] = pointIn(canvas, event);
    start = { x, y, value: get(), whole: ui.get(trait) };
    ui.root.dataset.dragging = "true";
    ui.peek(null);
    ui.hush(true);
  });
  node.addEventListener("pointermove", (event) => {
    if (!start) return;
    const next = drag(pointIn(canvas, event), start);
    if (next !== null && next !== get()) set(next);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) node.addEventListener(end, release);
  node.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && start) {
      ui.set(trait, start.whole);
      return release();
    }
    const to = plainKey(event) ? stepped(along(event.key), get(), top()) : null;
    if (to === null) return;
    event.preventDefault();
    set(to);
  });
  if (stop) ui.bind(trait, () => fill(node, { "aria-valuemax": top(), "aria-valuenow": get(), "aria-valuetext": says(get()) }));
  return node;
}

/** A part that shows `state()` while it is pointed at and keeps it after a click. A cursor gives its keyboard way. */
function touch(ui, node, state) {
  node.classList.add("ta-touch");
  node.addEventListener("pointerenter", (event) => { if (event.pointerType !== "touch") ui.peek(state()); });
  node.addEventListener("pointerleave", () => ui.peek(null));
  node.addEventListener("click", () => { ui.peek(null); ui.pin(state()); });
  return node;
}
