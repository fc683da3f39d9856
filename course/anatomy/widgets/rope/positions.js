// Positions as real numbers: m and n are whole, and what is drawn may be between two of them, because Play, a hand or a
// button moves it there. Also what turns slower than motion.js lets things travel: a dial turned back, a riffle.

const PACE = 1; // positions per second: the fastest dial turns by one radian in that time, which an eye can follow
const EASE_MS = 600;

/** 0…1 → 0…1, slow at both ends. */
const eased = (t) => t * t * (3 - 2 * t);

/**
 * Numbers by name that glide: at(name) now, put(name, value) at once, glide(name, to, ms), on(name) while it does. While
 * any of them moves, draw() runs in each frame. With prefers-reduced-motion everything is at its end at once.
 */
function glider(ui, draw) {
  const values = {};
  const paths = {};
  let frame = 0;
  const tick = (now) => {
    frame = 0;
    for (const [name, path] of Object.entries(paths)) {
      path.since = Math.min(path.since ?? now, now);
      const share = Math.min((now - path.since) / path.ms, 1);
      values[name] = path.from + (path.to - path.from) * eased(share);
      if (share === 1) delete paths[name];
    }
    draw();
    if (Object.keys(paths).length) frame ||= requestAnimationFrame(tick);
  };
  ui.atEnd(() => cancelAnimationFrame(frame));
  const self = {
    at: (name) => values[name] ?? 0,
    on: (name) => name in paths,
    put(name, value) {
      delete paths[name];
      values[name] = value;
    },
    glide(name, to, ms = EASE_MS) {
      if (tween.calm.matches) return self.put(name, to);
      if (self.at(name) === to) return delete paths[name];
      paths[name] = { from: self.at(name), to, ms };
      frame ||= requestAnimationFrame(tick);
    },
  };
  return self;
}

/** Returns shown(trait), play(part, bar, step), shift(by), drag(trait, real) and letGo(trait). */
function positions(ui, moves, N, whole, draw) {
  const off = (trait) => (ui.seen(trait) === ui.get(trait) ? moves.at(trait) : 0);
  return {
    shown: (trait) => {
      const real = ui.seen(trait) + off(trait);
      return whole() ? Math.round(real) : real;
    },
    /** Both move on together, and turn round at an end: a jump would look as if the dials had gone wild. */
    play(part, bar, step) {
      let [from, begun] = [null, 0];
      const show = (position) => {
        const room = N - 1 - Math.max(from.m, from.n) + Math.min(from.m, from.n);
        const gone = room > 0 ? (Math.min(from.m, from.n) + position) % (2 * room) : 0;
        const least = gone > room ? 2 * room - gone : gone;
        const by = least - Math.min(from.m, from.n);
        return { m: from.m + by, n: from.n + by };
      };
      clock(part, bar, {
        stepName: tr("Step both +1"), playName: tr("Play both"), step,
        at() {
          [from, begun] = [{ m: ui.get("m"), n: ui.get("n") }, performance.now()];
          return 0;
        },
        range: () => [0, Infinity],
        speed: () => PACE * eased(Math.min(1, (performance.now() - begun) / EASE_MS)), // it starts gently
        show,
        keep(position) {
          const { m, n } = show(position);
          ui.setAll({ m: Math.round(m), n: Math.round(m) - (from.m - from.n) });
          for (const [trait, real] of [["m", m], ["n", n]]) {
            moves.put(trait, tween.calm.matches ? 0 : real - ui.get(trait));
            moves.glide(trait, 0, 250);
          }
          draw();
        },
      });
    },
    /** Both move by that much, and are seen on their way. */
    shift(by) {
      for (const trait of ["m", "n"]) {
        if (!tween.calm.matches) moves.put(trait, moves.at(trait) - by);
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
