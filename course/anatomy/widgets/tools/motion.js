// Motion: what has changed travels to its new place, so that the eye can follow what became of it. The drawings know
// nothing of it: they give each attribute its new value, and `fill` lets those that can travel do so.

const MOVE_MS = 200;
const FIRST_MS = 16; // of a move are gone when it starts: the first frame after an input differs already
const DRAG_PX = 2; // that a pressed pointer moves before it drags
const PLACES = new Set([
  "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "d", "points", "transform",
]);
const NUMBER = /-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?/gi;

const tween = {
  on: false, // while a drawing runs whose changes travel
  calm: matchMedia("(prefers-reduced-motion: reduce)"),
  moves: new Map(), // owner → name → move
  unseen: new Set(), // nodes that nobody saw before this drawing: they appear where they belong
  frame: 0,
};

/** Runs draw(); where `on`, what it changes travels, colors too (widgets.css). */
function drawMoving(root, on, draw) {
  if (on && !tween.calm.matches) {
    tween.on = true;
    tween.unseen = new Set(root.querySelectorAll("svg [style*=hidden]"));
    root.dataset.moving = "";
    setOut(root, "colors", { from: [0], to: [1], goal: MOVE_MS, put() {}, end() { delete root.dataset.moving; } });
  }
  try {
    draw();
  } finally {
    tween.on = false;
    tween.unseen.clear();
  }
}

/** Colors that are on their way arrive at once. Places do so when they are drawn anew. */
function stopColors(root) {
  halt(root, "colors");
  delete root.dataset.moving;
}

/** What was hidden sets out from these attributes, where drawings move. Called before it is shown and filled. */
function comeFrom(node, attributes) {
  if (!tween.on) return;
  tween.unseen.delete(node);
  for (const [name, value] of Object.entries(attributes())) node.setAttribute(name, value);
}

/**
 * put(numbers, share) from those that were put last to these, frame by frame while drawings move, else at once; share
 * of the way, 1 at its end.
 */
function glide(owner, name, numbers, put) {
  const move = tween.moves.get(owner)?.get(name);
  const shown = glided.get(owner) ?? glided.set(owner, {}).get(owner);
  const alike = (a) => a.length === numbers.length && a.every((v, i) => Object.is(v, numbers[i]));
  if (move && alike(move.goal)) return;
  if (move) halt(owner, name);
  const from = shown[name];
  const keep = (values, share = 1) => put(shown[name] = values, share);
  const finite = (v, i) => Number.isFinite(v) && Number.isFinite(numbers[i]);
  const way = tween.on && from?.length === numbers.length && !alike(from) && from.every(finite);
  if (way) setOut(owner, name, { from, to: numbers, goal: numbers, put: keep, end: () => keep(numbers) });
  else keep(numbers);
}
const glided = new WeakMap();

/** An image on a canvas; while drawings move, the one before it fades into it. */
const paintImage = (canvas, image) => glide(canvas, "image", image.data,
  (data) => canvas.getContext("2d").putImageData(new ImageData(data, image.width), 0, 0));

/**
 * Rows that change their order: order(keys) → their nodes. A key keeps the node that make(key) gave it, and the node
 * travels to place(i), a transform; nodes whose keys are gone are removed.
 */
function rowsByKey(parent, make, place) {
  const rows = new Map();
  return (keys) => {
    for (const [key, row] of rows) {
      if (keys.includes(key)) continue;
      row.remove();
      rows.delete(key);
    }
    return keys.map((key, i) => {
      if (!rows.has(key)) {
        rows.set(key, make(key));
        parent.append(rows.get(key));
      }
      return fill(rows.get(key), { transform: place(i) });
    });
  };
}

/** Does the attribute travel to its value, or is it on its way? Where the two differ in more than numbers, it jumps. */
function travels(node, name, value) {
  if (!tween.on && !tween.moves.size) return false;
  const move = tween.moves.get(node)?.get(name);
  if (move?.goal === value) return true;
  if (move) halt(node, name);
  if (!tween.on || !PLACES.has(name)) return false;
  const old = node.getAttribute(name);
  if (old === null || old === value || !node.ownerSVGElement || node.classList.contains("ta-area")) return false;
  if (tween.unseen.has(node) || tween.unseen.has(node.parentNode)) return false;
  const words = value.split(NUMBER);
  if (String(old.split(NUMBER)) !== String(words)) return false;
  const [from, to] = [old, value].map((text) => (text.match(NUMBER) ?? []).map(Number));
  // The flags of an arc are 0 or 1, and nothing between.
  const flips = (v, i) => v !== to[i] && [v, to[i]].every((x) => x === 0 || x === 1);
  if (name === "d" && /a/i.test(value) && from.some(flips)) return false;
  setOut(node, name, {
    from, to, goal: value,
    put: (now) => node.setAttribute(name, words.map((word, i) => (i ? +now[i - 1].toFixed(3) : "") + word).join("")),
    end: () => node.setAttribute(name, value),
  });
  return true;
}

function setOut(owner, name, move) {
  if (!tween.moves.has(owner)) tween.moves.set(owner, new Map());
  tween.moves.get(owner).set(name, { ...move, start: performance.now() - FIRST_MS });
  drawAt(move, FIRST_MS);
  tween.frame ||= requestAnimationFrame(moveOn);
}

function halt(owner, name) {
  const named = tween.moves.get(owner);
  named?.delete(name);
  if (named?.size === 0) tween.moves.delete(owner);
}

function drawAt({ from, to, put: show }, ms) {
  const share = 1 - (1 - ms / MOVE_MS) ** 3;
  show(from.map((v, i) => v + (to[i] - v) * share), share);
}

/** One frame of all that moves; there is no next one when everything has arrived. */
function moveOn() {
  const now = performance.now();
  for (const [owner, named] of tween.moves) {
    for (const [name, move] of named) {
      const ms = now - move.start;
      if (ms >= MOVE_MS) {
        halt(owner, name);
        move.end();
      } else if (ms > FIRST_MS + 4) drawAt(move, ms); // else it was drawn for this frame when it set out
    }
  }
  tween.frame = tween.moves.size ? requestAnimationFrame(moveOn) : 0;
}

/** busy(): a pointer drags, or a key repeats: the picture must follow the hand at once. */
function handOn(root) {
  let [pressed, drags, repeats] = [null, false, false];
  const heard = {
    pointerdown(event) { [pressed, drags, repeats] = [event, false, false]; },
    pointermove({ clientX, clientY }) {
      if (pressed && Math.hypot(clientX - pressed.clientX, clientY - pressed.clientY) > DRAG_PX) drags = true;
    },
    keydown(event) { repeats = event.repeat; },
    keyup() { repeats = false; },
  };
  const letGo = () => { [pressed, drags] = [null, false]; };
  for (const kind in heard) root.addEventListener(kind, heard[kind], true);
  for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, letGo, true);
  return {
    busy: () => drags || repeats,
    end() {
      for (const kind in heard) root.removeEventListener(kind, heard[kind], true);
      for (const kind of ["pointerup", "pointercancel"]) removeEventListener(kind, letGo, true);
    },
  };
}
