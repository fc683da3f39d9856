// On load the picture shows once what can be done with it. Any touch ends that, and with prefers-reduced-motion it does
// not begin.

const OPENING_MS = 260; // for each state: what changes has arrived before the next one
const opened = new WeakSet(); // a view that is built anew stands still

/** Shows the states of `spec.opening` one after the other, then the scene of the first step again. */
function openOnce(ui) {
  const { opening = [], story: [first] = [] } = ui.spec;
  const scene = Object.entries(first?.state ?? {});
  const again = opened.has(ui.model);
  opened.add(ui.model);
  const untouched = ui.get("step") === 0 && scene.every(([name, value]) => String(ui.get(name)) === String(value));
  if (!opening.length || !untouched || again || tween.calm.matches) return;
  const ends = ["pointerdown", "keydown", "input"];
  let [frame, start, shown, over] = [0, 0, -1, false];
  const end = () => {
    if (over) return;
    over = true;
    cancelAnimationFrame(frame);
    sight.disconnect();
    ends.forEach((name) => ui.root.removeEventListener(name, end, true));
    ui.hush(false);
    ui.demonstrate(null);
  };
  const tick = () => {
    const now = Math.floor((performance.now() - start) / OPENING_MS);
    if (now >= opening.length) return end();
    if (now !== shown) ui.demonstrate(opening[now]);
    shown = now;
    frame = requestAnimationFrame(tick);
  };
  const sight = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting) return;
    sight.disconnect();
    ui.hush(true); // nobody has asked for it, so nothing is read out
    start = performance.now();
    tick();
  }, { threshold: 0.5 });
  sight.observe(ui.root);
  ends.forEach((name) => ui.root.addEventListener(name, end, true));
  for (const name of ["step", ...Object.keys(opening[0])]) ui.listen(name, end);
  ui.atEnd(end);
}
