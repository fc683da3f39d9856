// What moves by itself: numbers that glide to where they belong, and Play, which moves q and k on together.

const PACE = 1; // positions per second: the fastest dial turns by one radian in that time, which an eye can follow
const EASE_MS = 600;

/** 0…1 → 0…1, slow at both ends. */
const eased = (t) => t * t * (3 - 2 * t);

/**
 * Numbers by name that glide: at(name) now, put(name, value) at once, glide(name, to, ms) smoothly. While anything
 * moves, draw() runs in each frame. With prefers-reduced-motion everything is at its end at once.
 */
function glider(ui, draw) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const values = {};
  const paths = {};
  let frame = 0;
  const tick = (now) => {
    frame = 0;
    for (const [name, path] of Object.entries(paths)) {
      path.since ??= now;
      const share = Math.min((now - path.since) / path.ms, 1);
      values[name] = path.from + (path.to - path.from) * eased(share);
      if (share === 1) delete paths[name];
    }
    draw();
    if (Object.keys(paths).length) frame ||= requestAnimationFrame(tick);
  };
  ui.atEnd(() => cancelAnimationFrame(frame));
  const self = {
    calm,
    at: (name) => values[name] ?? 0,
    put(name, value) {
      delete paths[name];
      values[name] = value;
    },
    glide(name, to, ms = EASE_MS) {
      if (calm.matches) return self.put(name, to);
      if (self.at(name) === to && !paths[name]) return;
      if (paths[name]?.to === to) return;
      paths[name] = { from: self.at(name), to, ms };
      frame ||= requestAnimationFrame(tick);
    },
  };
  return self;
}

/**
 * A button that plays: step(dt) runs in each frame with the seconds since the one before, and says whether to go on;
 * rest() runs at the end. With prefers-reduced-motion there is no button.
 */
function playButton(ui, parent, name, { start = () => {}, step, rest, draw }) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let frame = 0;
  let before = 0;
  let speed = 0;
  const stop = () => {
    if (!frame) return;
    cancelAnimationFrame(frame);
    frame = 0;
    node.textContent = name;
    ui.hush(false);
    rest();
  };
  const tick = (now) => {
    // A page that was hidden for a while goes on from where it was.
    const dt = before ? Math.min((now - before) / 1000, 0.05) : 0;
    before = now;
    speed = Math.min(1, speed + dt / 0.6); // it starts gently
    frame = requestAnimationFrame(tick);
    if (step(dt * eased(speed))) draw();
    else stop();
  };
  const node = button(parent, name, () => {
    if (frame) return stop();
    start();
    [before, speed] = [0, 0];
    frame = requestAnimationFrame(tick);
    node.textContent = tr("Pause");
    ui.hush(true); // several announcements a second would help nobody
  });
  const obey = () => { stop(); node.hidden = calm.matches; };
  obey();
  calm.addEventListener("change", obey);
  ui.atEnd(() => { stop(); calm.removeEventListener("change", obey); });
  return { stop, get playing() { return frame !== 0; } };
}

/**
 * Positions as real numbers. The traits m and n are whole; what is shown is off from them by `off`, which Play, a hand
 * and a button change. Returns shown(trait), play(parent), shift(by) and drag(trait, real).
 */
function positions(ui, moves, N, whole, draw) {
  const off = (trait) => (ui.seen(trait) === ui.get(trait) ? moves.at(trait) : 0);
  const put = (m, n) => {
    const [wm, wn] = [Math.round(m), Math.round(n)];
    moves.put("m", m - wm);
    moves.put("n", n - wn);
    // Without a message to Python: it hears of it when Play ends.
    if (wm !== ui.get("m")) ui.model.set("m", wm);
    if (wn !== ui.get("n")) ui.model.set("n", wn);
  };
  let at = { m: 0, n: 0, way: 1 };
  const settled = () => {
    ui.setAll({ m: ui.get("m"), n: ui.get("n") });
    for (const trait of ["m", "n"]) moves.glide(trait, 0, 250);
    draw();
  };
  return {
    shown: (trait) => {
      const real = ui.seen(trait) + off(trait);
      return whole() ? Math.round(real) : real;
    },
    play: (parent, part) => playButton(part, parent, tr("Play both"), {
      start() { at = { m: ui.get("m") + off("m"), n: ui.get("n") + off("n"), way: at.way }; },
      step(dt) {
        // At an end it turns round: a jump to the other end would look as if the dials had gone wild.
        if (Math.max(at.m, at.n) >= N - 1) at.way = -1;
        if (Math.min(at.m, at.n) <= 0) at.way = 1;
        const by = clamp(at.way * dt * PACE, -Math.min(at.m, at.n), N - 1 - Math.max(at.m, at.n));
        at.m += by;
        at.n += by;
        put(at.m, at.n);
        return true;
      },
      rest: settled,
      draw,
    }),
    /** Both move by that much, and are seen on their way. */
    shift(by) {
      for (const trait of ["m", "n"]) {
        if (!moves.calm.matches) moves.put(trait, moves.at(trait) - by);
        ui.set(trait, ui.get(trait) + by);
        moves.glide(trait, 0, 400 + 200 * Math.abs(by));
      }
    },
    /** A hand holds the position at `real`; returns the whole one, for the trait. */
    drag(trait, real) {
      const to = Math.round(clamp(real, 0, N - 1));
      moves.put(trait, clamp(real, 0, N - 1) - to);
      draw();
      return to;
    },
    letGo(trait) {
      moves.glide(trait, 0, 200);
      draw(); // where nothing glides, it is there at once
    },
  };
}
