// Words of PermutationExplorer that a hand, or a key, moves to another place of the sentence.

/** The order in which that word of the sentence as written stands at that place; the others close up. */
function movedWord(T, word, place) {
  const rest = [...Array(T).keys()].filter((i) => i !== word);
  return [...rest.slice(0, place), word, ...rest.slice(place)];
}

/**
 * Makes the node a slider for the place of that word: dragged, or moved by arrow keys, down to later places. However the
 * words stand, each move is one of the sentence as written. Escape takes a drag back.
 *
 * placeAt(y) the place at that height of the canvas
 */
function gripOfWord(ui, node, { canvas, word, placeAt }) {
  const { spec } = ui;
  const T = spec.words.length;
  alive(canvas);
  keepKeys(node).classList.add("ta-handle");
  fill(node, {
    role: "slider", tabindex: 0, "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": T - 1,
    "aria-label": tr("Place of word {i}, “{word}”", { i: word, word: spec.words[word] }),
  });
  const placeIn = (name) => spec.orders[spec.names.indexOf(name)].indexOf(word);
  const moveTo = (place) => {
    const wanted = String(movedWord(T, word, place));
    ui.pin({ word, order: spec.names[spec.orders.findIndex((order) => String(order) === wanted)] });
  };
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
    node.focus({ preventScroll: true });
    start = { order: ui.get("order"), place: placeIn(ui.get("order")) };
    ui.root.dataset.dragging = "true";
    ui.peek(null);
    ui.pin({ word });
    ui.hush(true);
  });
  node.addEventListener("pointermove", (event) => {
    if (!start) return event.pointerType === "touch" ? undefined : ui.peek({ word });
    const place = placeAt(pointIn(canvas, event)[1]);
    if (place === start.place) return;
    start.place = place; // where the word stands now
    moveTo(place);
  });
  node.addEventListener("pointerleave", () => ui.peek(null));
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) node.addEventListener(end, release);
  node.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && start) {
      ui.set("order", start.order);
      return release();
    }
    const place = placeIn(ui.get("order"));
    const along = { ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" }[event.key] ?? event.key; // places run downward
    const to = plainKey(event) ? stepped(along, place, T - 1) : null;
    if (to === null) return;
    event.preventDefault();
    if (to !== place) moveTo(to);
  });
  ui.bind("order", (name) => {
    const i = placeIn(name);
    fill(node, { "aria-valuenow": i, "aria-valuetext": tr("place {i}: {word}", { i, word: spec.words[word] }) });
  });
  return node;
}
