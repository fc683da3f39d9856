"""The measurement of benchmarks.widget_latency in a page: performs actions, and detects when their picture is drawn.

It reads only two values from the page, which every widget provides: ``dataset.key`` of its root changes with each drawn
state, ``dataset.peek`` with the element under the pointer. Each action starts at the time stamp of its first event, and
ends in the first task after the animation frame in which one of the two has changed. The time of scripts is also
measured: from the first listener of an event to the last, plus the callbacks of animation frames.
"""

import random
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page
from playwright.sync_api import TimeoutError as NoAnswer

PATIENCE = 400  # ms to wait for a picture; an action that changes nothing (a hover within one cell) is not counted
PAUSE = (40, 120)  # ms between a picture and the next action: random moments relative to the frames
FRAME = 1000 / 60

LOOK = """(() => { const root = document.querySelector('.ta');
  return root ? `${root.dataset.key ?? ''}|${root.dataset.peek ?? ''}` : ''; })()"""

WATCH = """() => {
  const look = () => %s;
  const state = window.latency = { found: [], scripts: [], since: null, busy: 0 };
  let seen = look();
  let entered = null;
  // The first listener of the first event of an action, and the last of each: what lies between is the widget's, with
  // the microtasks that it asked for. Events of one action (keydown, input; pointerover, pointermove) come in a row.
  const kinds = ['keydown', 'input', 'change', 'click', 'pointerover', 'pointerenter', 'pointermove'];
  for (const kind of kinds) {
    addEventListener(kind, (e) => {
      if (!state.armed) return;
      state.since ??= e.timeStamp;
      entered ??= performance.now();
    }, true);
    addEventListener(kind, () => {
      if (entered !== null) state.busy += performance.now() - entered;
      entered = null;
    });
  }
  const plain = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (action) => plain((now) => {
    const start = performance.now();
    action(now);
    state.busy += performance.now() - start;
  });
  // What stands there in an animation frame is in its picture; a message posted from it arrives after the drawing.
  const after = new MessageChannel();
  after.port1.onmessage = ({ data: now }) => {
    if (!now || now === seen) return;
    seen = now;
    if (state.armed && state.since !== null) {
      state.found.push(performance.now() - state.since);
      state.scripts.push(state.busy);
      state.armed = false;
    }
  };
  window.arm = () => Object.assign(state, { armed: true, since: null, busy: 0 }) && (entered = null, true);
  const frame = () => { after.port2.postMessage(look()); plain(frame); };
  plain(frame);
}"""

# Points for the pointer: centers of the elements that respond to it, and points on the areas of maps and curves.
HOVERED = """() => {
  const seen = (e) => e.checkVisibility({visibilityProperty: true}) && e.getBoundingClientRect().width > 3;
  const points = [];
  for (const e of [...document.querySelectorAll('.ta .ta-area')].filter(seen)) {
    const b = e.getBoundingClientRect();
    for (let i = 1; i < 64; i++) {
      points.push([b.x + (b.width * (i % 8 || 4)) / 8, b.y + (b.height * Math.ceil(i / 8)) / 9]);
    }
  }
  for (const e of [...document.querySelectorAll('.ta .ta-touch')].filter(seen)) {
    const b = e.getBoundingClientRect();
    points.push([b.x + b.width / 2, b.y + b.height / 2]);
  }
  return points.filter(([x, y]) => x > 0 && y > 0 && x < innerWidth && y < innerHeight);
}"""
# Boxes of draggable elements: handles, else areas, over which the pressed pointer scrubs.
DRAGGED = """() => {
  const seen = (e) => e.checkVisibility({visibilityProperty: true}) && e.getBoundingClientRect().width > 3;
  const pick = (s) => [...document.querySelectorAll(s)].filter(seen).map((e) => e.getBoundingClientRect())
    .filter((b) => b.top > 0 && b.bottom < innerHeight).map((b) => [b.x, b.y, b.width, b.height]);
  const handles = pick('.ta .ta-handle, .ta .ta-grip');
  return handles.length ? { kind: 'handle', boxes: handles } : { kind: 'area', boxes: pick('.ta .ta-area') };
}"""


@dataclass
class Found:
    """Measurements of one kind of action: ms to pixels and ms of scripts, one value each per action.

    what: "key", "hover" or "drag". unanswered: number of actions after which nothing changed.
    """

    what: str
    pixels: list[float] = field(default_factory=list)
    scripts: list[float] = field(default_factory=list)
    unanswered: int = 0


def watch(page: Page, look: str = LOOK) -> None:
    """Starts the measurement in a page; look: JavaScript expression whose value changes with the picture."""
    page.evaluate(WATCH % look)


def act(page: Page, found: Found, action: Callable[[], object], draw: random.Random) -> bool:
    """Performs one action at a random time; returns whether the picture changed."""
    page.wait_for_timeout(PAUSE[0] + (PAUSE[1] - PAUSE[0]) * draw.random())
    before = len(page.evaluate("() => (window.arm(), window.latency.found)"))
    action()
    try:
        page.wait_for_function(f"() => window.latency.found.length > {before}", timeout=PATIENCE, polling=15)
    except NoAnswer:
        page.evaluate("() => { window.latency.armed = false; }")
        found.unanswered += 1
        return False
    pixels, script = page.evaluate("() => [window.latency.found.at(-1), window.latency.scripts.at(-1)]")
    found.pixels.append(pixels)
    found.scripts.append(script)
    return True


def by_key(page: Page, control: Locator, times: int) -> Found:
    """Arrow keys on a control, back and forth."""
    found, draw = Found("key"), random.Random(0)
    control.focus()
    forth, way = True, {True: "ArrowRight", False: "ArrowLeft"}
    for _ in range(3):  # the first presses include compilation
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(100)
    for i in range(2 * times):
        if len(found.pixels) == times:
            break
        forth = forth if i % 8 else not forth
        # At the end of its range a control stops, so turn back.
        if not act(page, found, lambda: page.keyboard.press(way[forth]), draw):
            forth = not forth
    return found


def by_hover(page: Page, times: int) -> Found:
    """The pointer moves between random points that respond to it, without pressing a button."""
    found, draw = Found("hover"), random.Random(1)
    points = page.evaluate(HOVERED)
    if len(points) < 2:
        return found
    _move(page, found, lambda: _moves(page, points, draw), times, draw)
    page.mouse.move(1, 1)
    return found


def by_drag(page: Page, times: int) -> Found:
    """The pointer presses on a handle and moves around it, or on an area and scrubs over it."""
    found, draw = Found("drag"), random.Random(2)
    target = page.evaluate(DRAGGED)
    if not target["boxes"]:
        return found
    x, y, width, height = target["boxes"][0]
    center, far = (x + width / 2, y + height / 2), (60, 60)
    if target["kind"] == "area":
        far = (width * 0.45, height * 0.45)
    page.mouse.move(*center)
    page.mouse.down()
    steps = [i / 6 - 1 for i in range(13)]
    points = [(center[0] + far[0] * i, center[1] + far[1] * j) for i in steps for j in steps]
    _move(page, found, lambda: _moves(page, points, draw), times, draw)
    page.mouse.up()
    page.mouse.move(1, 1)
    return found


def _moves(page, points, draw):
    page.mouse.move(*draw.choice(points))


def _move(page, found, action, times, draw):
    for _ in range(3):
        action()
        page.wait_for_timeout(100)
    # Up to three of four moves may change nothing; a widget that never responds is given up after 10 moves.
    while len(found.pixels) < times and found.unanswered < 10 + 3 * len(found.pixels):
        act(page, found, action, draw)


def percentile(values: Iterable[float], share: int) -> float:
    """The percentile ``share`` (nearest rank)."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, max(0, -(-len(ranked) * share // 100) - 1))]


# A page that responds with one changed letter: its time is due to the machine, the browser and the measurement.
CONTROL = """<!doctype html><html lang="en"><body><div class="ta" data-key="0" data-peek="">
<input type="range" min="0" max="99999"><svg width="300" height="200"><rect class="ta-area" width="300" height="200"
 fill="#eee"/></svg><p>0</p></div><script>
const root = document.querySelector('.ta'), said = document.querySelector('p');
let n = 0, down = false;
const answer = (where) => { root.dataset[where] = ++n; said.textContent = n % 10; };
document.querySelector('input').addEventListener('input', () => answer('key'));
const area = document.querySelector('rect');
area.addEventListener('pointerdown', (e) => { down = true; area.setPointerCapture(e.pointerId); });
area.addEventListener('pointerup', () => { down = false; });
area.addEventListener('pointermove', () => answer(down ? 'key' : 'peek'));
</script></body></html>"""


def frames(page: Page, count: int = 120) -> list[float]:
    """Milliseconds between animation frames while nothing happens."""
    return page.evaluate(
        """(count) => new Promise((done) => {
          const times = [];
          const frame = (now) => {
            times.push(now);
            if (times.length <= count) requestAnimationFrame(frame);
            else done(times.slice(1).map((t, i) => t - times[i]));
          };
          requestAnimationFrame(frame);
        })""",
        count,
    )


def ways(page: Page, control: Locator, times: int) -> Iterator[Found]:
    """Measures all three kinds of action in turn; yields those that the page supports."""
    for found in (by_key(page, control, times), by_hover(page, times), by_drag(page, times)):
        if found.pixels:
            yield found


def figures(values: list[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    return statistics.median(values), percentile(values, 95)
