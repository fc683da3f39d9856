// Rows of PermutationExplorer on their way to a new order: slowly enough to follow one, and never hidden behind another.

const [LEAST_MS, ROW_MS] = [300, 60]; // of a whole reordering: at least, and more for each place of the longest way
const BOW = 12; // px to the side, half-way: rows that go down keep right, rows that go up keep left

/**
 * Rows by word: order(words, high) lays them from the top, each as high as that. If any moves, it returns
 * along(node, word), which takes a frame around that word's row along with it; else null.
 */
function slowRows(parent, nodeOf, y) {
  const goals = new Map(); // word → where its row lies, or is on its way to
  /** Where the eye sees a row now, which may be on its way. */
  const seen = (word) => {
    const node = nodeOf(word);
    if (!node.getAnimations().length) return [0, goals.get(word)];
    const { e, f } = new DOMMatrix(getComputedStyle(node).transform);
    return [e, f];
  };
  const move = (node, base, [fromX, fromY], to, ms) => {
    const bow = Math.sign(to - fromY) * BOW;
    const way = [[fromX, fromY], [bow, (fromY + to) / 2], [0, to]];
    const easing = ["ease-in", "ease-out", "linear"];
    node.animate(way.map(([x, at], i) => ({ transform: `translate(${x}px, ${at - to + base}px)`, easing: easing[i] })), ms);
  };
  return (words, high) => {
    // To ask where rows are makes the browser work out all styles at once: only where one has to move.
    if (words.every((word, i) => goals.get(word) === y + i * high)) return null;
    const starts = new Map(words.map((word) => [word, goals.has(word) ? seen(word) : null]));
    const far = Math.max(...words.map((word, i) => Math.abs((starts.get(word)?.[1] ?? y + i * high) - y - i * high)));
    const ms = LEAST_MS + ROW_MS * Math.min(far / high, words.length - 1);
    words.forEach((word, i) => {
      const [node, start, to] = [nodeOf(word), starts.get(word), y + i * high];
      if (goals.get(word) === to) return;
      goals.set(word, to);
      node.setAttribute("transform", `translate(0 ${to})`);
      node.getAnimations().forEach((old) => old.cancel());
      if (!start) parent.append(node);
      else if (tween.on) move(node, to, start, to, ms);
    });
    return (node, word) => {
      const [start, to] = [starts.get(word), goals.get(word)];
      if (start && tween.on && start[1] !== to) move(node, 0, start, to, ms);
    };
  };
}
