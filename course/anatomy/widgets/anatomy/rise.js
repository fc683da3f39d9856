// On load the sentence flows upward, once: from the embeddings through one layer after the other to the next word. Any
// touch ends it, and with prefers-reduced-motion it does not begin.

const LAYER_MS = 600;
const risen = new WeakSet(); // a view that is built anew stands still

/** Each of `show` hears how far the flow has come, from 0 to the number of layers; Infinity: nothing is left of it. */
function riseOnce(ui, show) {
  if (risen.has(ui.model) || tween.calm.matches) return;
  risen.add(ui.model);
  const put = (height) => show.forEach((one) => one(height));
  const ends = ["pointerdown", "keydown", "input"];
  let frame = 0;
  let start = 0;
  const end = () => {
    cancelAnimationFrame(frame);
    sight.disconnect();
    ends.forEach((name) => ui.root.removeEventListener(name, end, true));
    put(Infinity);
  };
  const tick = () => {
    const height = (performance.now() - start) / LAYER_MS;
    if (height >= ui.spec.layers + 0.5) return end(); // it rests on the unembedding for a moment
    put(Math.min(height, ui.spec.layers));
    frame = requestAnimationFrame(tick);
  };
  const sight = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting) return put(Infinity); // a page that is printed shows all of it
    sight.disconnect();
    start = performance.now();
    tick();
  });
  put(0);
  sight.observe(ui.root);
  ends.forEach((name) => ui.root.addEventListener(name, end, true));
  ui.atEnd(end);
}

/** Cuts off what lies above that share of a drawing; Infinity: nothing. */
function cutAbove(node, share) {
  node.style.clipPath = share === Infinity ? "" : `inset(${(100 * (1 - share)).toFixed(2)}% -9px -9px)`;
}
