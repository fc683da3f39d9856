"""Frames of a page that come when the test says so: what moves can be looked at half-way, on any machine."""

from contextlib import contextmanager

# Frames come when the test says so, and the time between them is what it says: `frame(ms)`.
FRAMES = """() => {
  const real = { ask: window.requestAnimationFrame, drop: window.cancelAnimationFrame };
  let time = performance.now();
  let id = 0;
  window.waiting = new Map();
  performance.now = () => time;
  window.requestAnimationFrame = (action) => { waiting.set(++id, action); return id; };
  window.cancelAnimationFrame = (which) => waiting.delete(which);
  window.frame = (ms) => {
    time += ms;
    const due = [...waiting.values()];
    waiting.clear();
    due.forEach((action) => action(time));
    return waiting.size;
  };
  window.places = () => Object.fromEntries([...document.querySelectorAll('.ta svg *')].flatMap((e, i) =>
    ['x', 'y', 'x1', 'y1', 'x2', 'y2', 'cx', 'cy', 'r', 'width', 'height', 'd', 'points', 'transform']
      .filter((name) => e.hasAttribute(name)).map((name) => [`${i} ${e.tagName} ${name}`, e.getAttribute(name)])));
  window.transitions = 0; // of colors that have begun; the browser runs them by its own clock
  const count = () => transitions++;
  document.addEventListener('transitionrun', count);
  window.realFrames = () => {
    document.removeEventListener('transitionrun', count);
    frame(1000); // the page is used again: nothing may start later than now
    waiting.forEach((action) => real.ask.call(window, action));
    Object.assign(window, { requestAnimationFrame: real.ask, cancelAnimationFrame: real.drop });
    delete performance.now;
  };
}"""
HALF, WHOLE = 70, 250  # ms


@contextmanager
def frozen(page):
    """The page, whose frames wait for ``frame``."""
    page.wait_for_function("() => true")  # it keeps the frames that it finds at its first use: the real ones
    page.evaluate(FRAMES)
    try:
        yield page
    finally:
        page.evaluate("() => realFrames()")  # of a failed test too: a page without frames is never closed


def places(page):
    return page.evaluate("() => places()")


def frame(page, ms):
    """Draws one frame that many ms later; returns how many callbacks wait for the next."""
    return page.evaluate("(ms) => frame(ms)", ms)


def rest(page):
    """Draws frames until everything has arrived; returns how many callbacks wait even then."""
    frame(page, WHOLE)
    return frame(page, WHOLE)


def between(start, now, end):
    """The attributes that have left their old value and have not reached their new one."""
    return [name for name in start.keys() & now.keys() & end.keys() if now[name] not in (start[name], end[name])]
