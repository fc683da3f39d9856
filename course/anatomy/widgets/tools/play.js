// Play: the picture goes on by itself. With prefers-reduced-motion there is no Play; steps remain.

/**
 * Step and Play: `step()` moves on by one, and so does Play every so many milliseconds, until `ends()` says that a step
 * has come to an end. Returns stop().
 */
function player(ui, bar, { step, ends = () => false, every = 400, ...names }) {
  let timer = 0;
  const next = () => {
    step();
    if (ends()) stop();
  };
  const stop = playButtons(ui, bar, {
    ...names, step,
    start() {
      timer = setInterval(next, every);
      next(); // whoever presses Play sees at once that it runs
    },
    halt() { clearInterval(timer); },
  });
  return stop;
}

/**
 * Step and Play for a picture with a closed form: Play runs through the real numbers, drawn anew for each frame.
 *
 * at() position from which it starts, of the picture as it stands
 * range() [low, high]; beyond high it goes on from low
 * speed positions a second, or a function that gives them
 * show(position) what the position amounts to, name → value: that is what `ui.seen` tells meanwhile
 * keep(position) sets the traits when it stops
 *
 * It pauses while nobody can see it. Returns stop().
 */
function clock(ui, bar, { step, at, range, speed, show, keep, ...names }) {
  let [position, last, frame, running, inSight] = [0, 0, 0, false, true];
  const tick = (now) => {
    const [[low, high], rate] = [range(), typeof speed === "function" ? speed() : speed];
    position += (Math.min(now - last, 100) / 1000) * rate; // a page in the background gets no frames
    if (position > high) position = low + ((position - low) % (high - low));
    last = now;
    ui.run(show(position));
    frame = requestAnimationFrame(tick);
  };
  const go = () => {
    cancelAnimationFrame(frame);
    if (!running || !inSight) return;
    last = performance.now();
    frame = requestAnimationFrame(tick);
  };
  const sight = new IntersectionObserver(([entry]) => { inSight = entry.isIntersecting; go(); });
  sight.observe(ui.root);
  ui.atEnd(() => sight.disconnect());
  return playButtons(ui, bar, {
    ...names, step,
    start() {
      [position, running] = [at(), true];
      go();
    },
    halt() {
      running = false;
      go();
      ui.run(null);
      keep(position);
    },
  });
}

function playButtons(ui, bar, { step, start, halt, stepName = tr("Step"), playName = tr("Play") }) {
  let on = false;
  const stop = () => {
    if (!on) return;
    on = false;
    play.textContent = playName;
    ui.hush(false);
    halt();
  };
  button(bar, stepName, () => { stop(); step(); });
  const play = button(bar, playName, () => {
    if (on) return stop();
    on = true;
    play.textContent = tr("Pause");
    ui.hush(true); // several announcements a second would help nobody
    start();
  });
  const obey = () => { stop(); play.hidden = tween.calm.matches; };
  obey();
  ui.stops.push(stop);
  tween.calm.addEventListener("change", obey);
  ui.atEnd(() => { stop(); tween.calm.removeEventListener("change", obey); });
  return stop;
}
