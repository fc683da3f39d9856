// Words of PermutationExplorer that a hand, or a key, moves to another place of the sentence.

/** The order in which that word of the sentence as written stands at that place; the others close up. */
function movedWord(T, word, place) {
  const rest = [...Array(T).keys()].filter((i) => i !== word);
  return [...rest.slice(0, place), word, ...rest.slice(place)];
}

/**
 * Makes the node a slider for the place of that word, with later places further down. However the words stand, each
 * move is one of the sentence as written.
 *
 * placeAt(y) the place at that height of the canvas
 */
function gripOfWord(ui, node, { canvas, word, placeAt }) {
  const { spec } = ui;
  const T = spec.words.length;
  const get = () => spec.orders[spec.names.indexOf(ui.get("order"))].indexOf(word);
  fill(node, { "aria-orientation": "vertical" });
  handle(ui, node, {
    canvas, trait: "order", name: tr("Place of word {i}, “{word}”", { i: word, word: spec.words[word] }), max: T - 1, get,
    set(place) {
      if (place === get()) return; // a word that stays leaves the others where they are
      const wanted = String(movedWord(T, word, place));
      ui.pin({ word, order: spec.names[spec.orders.findIndex((order) => String(order) === wanted)] });
    },
    drag: ([, y]) => placeAt(y),
    says: (i) => tr("place {i}: {word}", { i, word: spec.words[word] }),
    along: downward,
  });
  node.addEventListener("pointerdown", (event) => { if (!event.button) ui.pin({ word }); }); // before it moves
  return touch(ui, node, () => ({ word }));
}
