"""Frames of a page that come when the test says so: what moves can be looked at half-way, on any machine."""

from contextlib import contextmanager

# A page's clock, put into it at its first use: freeze() stops it, and frames come when the test says so, with the time
# between them that it says, `frame(ms)`; thaw() lets it go on from there. It never goes back: what moves would have
# begun later than now, and never arrive.
CLOCK = """() => {
  if (window.freeze) return;
  const [ask, drop] = [window.requestAnimationFrame.bind(window), window.cancelAnimationFrame.bind(window)];
  const clock = performance.now.bind(performance);
  const given = new Map(); // to the browser: our number → its own
  let [ahead, stopped, id] = [0, null, 0];
  window.waiting = new Map();
  window.transitions = 0; // of colors that have begun while it stood; the browser runs them by its own clock
  document.addEventListener('transitionrun', () => { if (stopped !== null) transitions++; });
  const give = (which, action) => given.set(which, [action, ask(() => {
    given.delete(which);
    action(performance.now());
  })]);
  performance.now = () => stopped ?? clock() + ahead;
  window.requestAnimationFrame = (action) => {
    id += 1;
    if (stopped === null) give(id, action);
    else waiting.set(id, action);
    return id;
  };
  window.cancelAnimationFrame = (which) => {
    waiting.delete(which);
    if (given.has(which)) drop(given.get(which)[1]);
    given.delete(which);
  };
  window.freeze = () => {
    stopped = performance.now();
    transitions = 0;
    for (const [which, [action, theirs]] of given) {
      drop(theirs);
      waiting.set(which, action);
    }
    given.clear();
  };
  window.thaw = () => {
    ahead = stopped - clock();
    stopped = null;
    for (const [which, action] of waiting) give(which, action);
    waiting.clear();
  };
  window.frame = (ms) => {
    stopped += ms;
    const due = [...waiting.values()];
    waiting.clear();
    due.forEach((action) => action(stopped));
    return waiting.size;
  };
  window.places = () => Object.fromEntries([...document.querySelectorAll('.ta svg *')].flatMap((e, i) =>
    ['x', 'y', 'x1', 'y1', 'x2', 'y2', 'cx', 'cy', 'r', 'width', 'height', 'd', 'points', 'transform']
      .filter((name) => e.hasAttribute(name)).map((name) => [`${i} ${e.tagName} ${name}`, e.getAttribute(name)])));
}"""
HALF, WHOLE = 70, 250  # ms


@contextmanager
def frozen(page):
    """The page, whose frames wait for ``frame``."""
    page.wait_for_function("() => true")  # it keeps the frames that it finds at its first use: the real ones
    page.evaluate(CLOCK)
    page.evaluate("() => freeze()")
    try:
        yield page
    finally:
        page.evaluate("() => thaw()")  # of a failed test too: a page without frames is never closed


def places(page):
    return page.evaluate("() => places()")


def frame(page, ms):
    """Draws one frame that many ms later; returns how many callbacks wait for the next."""
    return page.evaluate("(ms) => frame(ms)", ms)


def rest(page):
    """Draws frames until everything has arrived; returns the callbacks that wait even then."""
    frame(page, WHOLE)
    frame(page, WHOLE)
    return page.evaluate("() => [...waiting.values()].map(String)")


def between(start, now, end):
    """The attributes that have left their old value and have not reached their new one."""
    return [name for name in start.keys() & now.keys() & end.keys() if now[name] not in (start[name], end[name])]
