// Demonstrations: states that follow each other by themselves, slowly enough to see what each one changes. On load the
// picture shows once what can be done with it; after an answer, "Show me" does what the reply speaks of.

const OPENING_MS = 260; // for each state: what changes has arrived before the next one
const SHOW_MS = 750; // there is also time to look at what has changed
const opened = new WeakSet(); // a view that is built anew stands still

/**
 * One demonstration at a time. Whatever the learner or Python does ends it where it is.
 *
 * prepare({ states, every, put(state), end(whole) }) → go(). end() is called once; whole: nobody has ended it before.
 */
function demonstrator(ui) {
  let [now, ours, frame] = [null, false, 0];
  const end = (whole = false) => {
    if (!now) return;
    const over = now;
    now = null;
    cancelAnimationFrame(frame);
    ui.hush(false);
    over.end(whole);
  };
  const tick = () => {
    const time = performance.now();
    if (time >= now.next) {
      if (!now.left.length) return end(true);
      now.next = time + now.every;
      ours = true;
      now.put(now.left.shift());
      ours = false;
    }
    frame = requestAnimationFrame(tick);
  };
  const touched = (event) => { if (!event.repeat) end(); };
  const kinds = ["pointerdown", "keydown", "input"];
  kinds.forEach((kind) => ui.root.addEventListener(kind, touched, true));
  ui.atEnd(() => {
    kinds.forEach((kind) => ui.root.removeEventListener(kind, touched, true));
    end();
  });
  for (const name of ["step", ...Object.keys(ui.spec.story?.[0]?.state ?? {})]) ui.listen(name, () => { if (!ours) end(); });
  return {
    get on() { return now !== null; },
    prepare(what) {
      end();
      const mine = now = { ...what, left: [...what.states], next: 0 };
      return () => {
        if (now !== mine) return;
        ui.hush(true); // what passes is not read out
        tick();
      };
    },
  };
}

/** Shows the states of `spec.opening` one after the other, then the scene of the first step again. */
function openOnce(ui, stage) {
  const { opening = [], story: [first] = [] } = ui.spec;
  const scene = Object.entries(first?.state ?? {});
  const again = opened.has(ui.model);
  opened.add(ui.model);
  const untouched = ui.get("step") === 0 && scene.every(([name, value]) => String(ui.get(name)) === String(value));
  if (!opening.length || !untouched || again || tween.calm.matches) return;
  const go = stage.prepare({
    states: opening, every: OPENING_MS, put: ui.demonstrate,
    end() {
      sight.disconnect();
      ui.demonstrate(null);
    },
  });
  const sight = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting) return;
    sight.disconnect();
    go();
  }, { threshold: 0.5 });
  sight.observe(ui.root);
}

/**
 * Does what the reply of a step speaks of, from the scene on, and leaves the picture there, as if the learner had done
 * it. A state names what changes in it: traits, or what is pointed at, which lasts for one state. atScene: it stands so.
 * seen: called when all of it has been shown.
 */
function showMe(ui, stage, { state: scene, show }, atScene, seen) {
  if (ui.busy) return; // a hand drags, or keeps the key down
  ui.stops.forEach((stop) => stop());
  const end = Object.entries(Object.assign({}, scene, ...show)).filter(([name]) => name in scene || name in show.at(-1));
  const steps = atScene && !ui.pointing ? show : [scene, ...show];
  // Without motion its end is enough, unless it ends where it began.
  const returns = atScene && end.every(([name, value]) => String(value) === String(scene[name]));
  stage.prepare({
    states: tween.calm.matches && !returns ? [Object.fromEntries(end)] : steps, every: SHOW_MS, put: ui.pin,
    end(whole) {
      if (whole) {
        seen();
        ui.whisper(tr("The picture shows it now:"));
      }
      ui.ask();
    },
  })();
}
