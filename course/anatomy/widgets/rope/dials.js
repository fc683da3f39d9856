// A dial for each plane: q and k as arrows, and between them the wedge (m − n)θ, the only thing that positions decide.

const SCRUB = 4; // px a position, on dials too slow to be turned by hand
const DEGREES = 180 / Math.PI;

/** The outline of a wedge from one angle over another, less than a full turn. */
function wedgePath(from, over, r) {
  if (!Number.isFinite(over) || Math.abs(over) < 1e-4) return "";
  const steps = Math.max(2, Math.ceil(Math.abs(over) / 0.12));
  const points = Array.from({ length: steps + 1 }, (_, i) => {
    const angle = from + (over * i) / steps;
    return [r * 0.45 * Math.cos(angle), -r * 0.45 * Math.sin(angle)];
  });
  return `M0 0${trace(points).replace("M", "L")}Z`;
}

const differ = (v, right) => !(Math.hypot(v[0] - right[0], v[1] - right[1]) < 0.02);

/** What the dotted line is, and where its wedge leads: not to q where the turn is no turn by mθ. */
function startSaid({ m, q, k, right, scene }) {
  const off = q.some((v, i) => differ(v, spun(scene.content.q[i], (m + scene.origin) * scene.used[i])));
  const said = tr(off ? N_("Dotted: q at position n; the wedge leads to where q should be.")
    : N_("Dotted: q at position n; the wedge leads to q."));
  const ghosts = q.some((v, i) => differ(v, right.q[i]) || differ(k[i], right.k[i]));
  return ghosts ? `${said} ${tr("Gray: the right arrow.")}` : said;
}

/** A speed in radians per token, and in degrees where there is room for both. */
const speedSaid = (theta, roomy) => `θ = ${short(theta)}${roomy ? ` = ${short((theta * 180) / Math.PI)}°` : ""}`;

/** An angle by its name, with the product that it is where there is room. */
const angleSaid = (name, steps, theta, roomy) => `${name} = ${roomy ? `${minus(String(steps))} · ${short(theta)} = ` : ""}`
  + short(Number((steps * theta).toFixed(3)));

/** The part of an angle that its wedge leaves out, whole turns, and the part that it shows. */
const turnsSaid = (turns, rest) => tr(Math.abs(turns) === 1 ? N_("= {n} turn {rest}") : N_("= {n} turns {rest}"),
  { n: minus(String(turns)), rest: `${rest < 0 ? "−" : "+"} ${fixed(Math.abs(rest), 2)}` });

/** One entry of a trait that is a list, as if it were a trait of its own. */
function entryOf(ui, trait, index) {
  return Object.create(ui, {
    get: { value: (name) => (name === trait ? ui.get(trait)[index] : ui.get(name)) },
    set: { value: (name, value) => ui.set(name, ui.get(name).map((old, i) => (i === index ? value : old))) },
    bind: { value: (name, show) => ui.bind(name, () => show()) },
  });
}

/** Draws the dials for that D, W px wide; turn(now, stand) moves the arrows, stand in 0…1 is how far it stands on k. */
function dialPanel(ui, parent, { W, dim, hold, now }) {
  const N = ui.spec.positions;
  const planes = dim / 2;
  // A slot holds its numbers from 90 px on.
  const columns = W < 370 ? Math.min(planes, 2) : Math.min(planes, 4);
  const cw = W / columns;
  const roomy = cw >= 168; // px, for an angle as a product
  const r = Math.min(cw / 2 - 5, planes > 2 * columns ? 50 : 56);
  const [ch, top] = [2 * r + 62, 16];
  const canvas = picture(parent, W, ch * (planes / columns), ""); // named below
  alive(canvas);
  const middle = (i) => [((i % columns) + 0.5) * cw, Math.floor(i / columns) * ch + top + r];
  const place = cursor(ui, canvas, {
    name: tr("Planes"), cross: false,
    box: () => ({ x: 0, y: 0, width: W, height: ch * (planes / columns) }),
    size: () => [columns, planes / columns],
    at: () => { const i = Math.min(ui.seen("plane"), planes - 1); return [i % columns, Math.floor(i / columns)]; },
    state: (column, row) => ({ plane: row * columns + column }),
    says: (column, row) => tr("plane {plane}", { plane: row * columns + column }),
  });

  const dials = Array.from({ length: planes }, (_, i) => {
    const [cx, cy] = middle(i);
    const g = svg("g", { transform: `translate(${cx.toFixed(1)},${cy.toFixed(1)})` });
    const frame = svg("g");
    for (let a = 0; a < 12; a++) {
      const [c, s] = [Math.cos((a * Math.PI) / 6), Math.sin((a * Math.PI) / 6)];
      line(frame, c * r * (a % 3 ? 0.92 : 0.84), s * r * (a % 3 ? 0.92 : 0.84), c * r, s * r, "ta-axis");
    }
    const rim = svg("circle", { r, class: "ta-axis" });
    const wedge = svg("path", { class: "ro-wedge" });
    g.append(rim, frame, wedge);
    g.style.pointerEvents = "none";
    canvas.append(g);
    const theta = label(g, 0, -r - 5, "", "middle", "ta-small");
    const angle = label(g, 0, r + 13, "", "middle", "ta-small");
    const wound = label(g, 0, r + 26, "", "middle", "ta-small");
    const part = label(g, 0, r + 39, "", "middle", "ta-small");
    const away = arrow(g, "ta-ghost ro-start", false); // q where it would be at k's place: the wedge starts there
    const ghosts = [arrow(g, "ta-ghost", false), arrow(g, "ta-ghost", false)];
    const [k, q] = [arrow(g, "ta-two"), arrow(g, "ta-one")];
    const names = ["q", "k"].map((name) => label(g, 0, 0, name, "middle", "ta-strong"));
    return { g, rim, frame, wedge, theta, angle, wound, part, away, ghosts, q, k, names };
  });
  // Grips come last, so that they lie over the area that the cursor needs.
  const grips = dials.map((_, i) => ["q", "k"].map((letter, j) => {
    const grip = svg("circle", { r: 12, class: "ta-grip ro-grip" });
    canvas.append(grip);
    return ui.get("hand") === "content" ? contentGrip(grip, i, letter, j) : positionGrip(grip, i, letter);
  }));

  /** A drag turns the arrow, and its position follows; one stop of the tab key for each letter. */
  function positionGrip(grip, i, letter) {
    const trait = letter === "q" ? "m" : "n";
    grip.addEventListener("lostpointercapture", () => hold.letGo(trait));
    return handle(ui, grip, {
      canvas, trait, name: tr("arrow {letter}: its position {trait}", { letter, trait }), max: N - 1, stop: i === 0,
      drag([x, y], start) {
        const speed = now().speed(letter, i);
        // 63 positions turn this dial by less than half a turn: a hand would have to be finer than a pixel.
        if (!(Math.abs(speed) * (N - 1) >= Math.PI)) return hold.drag(trait, start.value + (x - start.x) / SCRUB);
        return hold.drag(trait, start.value + followed(start, x, y, i) / speed);
      },
    });
  }

  /** A drag turns the vector itself, wherever it stands: its content, the phase of the wave. */
  function contentGrip(grip, i, letter, j) {
    const index = i + (j ? ui.get("turned").length / 2 : 0);
    grip.addEventListener("pointerdown", () => ui.set("plane", i)); // its wave is bold
    return handle(entryOf(ui, "turned", index), grip, {
      canvas, trait: "turned", max: 359,
      name: tr("content of {letter} in plane {plane}, in degrees", { letter, plane: i }),
      drag: ([x, y], start) => (Math.round(start.value + followed(start, x, y, i) * DEGREES) % 360 + 360) % 360,
    });
  }

  /** The angle that the hand has gone since it took hold, followed through whole turns. */
  function followed(start, x, y, i) {
    const [cx, cy] = middle(i);
    start.hand ??= Math.atan2(cy - start.y, start.x - cx);
    start.gone ??= 0;
    const hand = Math.atan2(cy - y, x - cx);
    start.gone += turnBy(hand - start.hand);
    start.hand = hand;
    return start.gone;
  }

  return function turn({ m, n, q, k, right, near, scene, plane, stand, bare, quiet }) {
    place();
    fill(canvas, { "aria-label": tr(bare
      ? N_("Dials: in each plane of two features, the rotated query q and key k as arrows")
      : N_("Dials: in each plane of two features, the rotated query q and key k as arrows, and the wedge (m − n)θ")) });
    // The room for whole turns comes last where no dial has any.
    const gone = bare ? near.m : near.m - near.n; // where k plays no part yet, q alone turns
    const winds = scene.used.some((theta) => Math.abs(gone * theta) >= TURN);
    dials.forEach((dial, i) => {
      const back = -stand * (n + scene.origin) * scene.used[i];
      // These faults make vectors longer; the rim, which is the length of q, shrinks with them.
      const longest = { [FAULT.added]: 2.05, [FAULT.sign]: 1.45 }[scene.fault] ?? 1;
      const scale = r / ui.spec.reach / longest;
      const seen = (v) => spun(v, back);
      const [a, b] = [seen(q[i]), seen(k[i])];
      // A ghost only where it differs: two lines on top of each other would hide the wedge.
      [[q[i], right.q[i]], [k[i], right.k[i]]].forEach(([mine, wanted], j) => {
        const off = differ(mine, wanted);
        const [x, y] = seen(wanted);
        dial.ghosts[j](off ? x * scale : 0, off ? -y * scale : 0);
      });
      dial.q(a[0] * scale, -a[1] * scale);
      dial.k(b[0] * scale, -b[1] * scale);
      fill(dial.frame, { transform: `rotate(${(-back * DEGREES).toFixed(2)}) scale(${(1 / longest).toFixed(4)})` });
      fill(dial.rim, { class: i === plane ? "ta-mark" : "ta-axis", r: (r / longest).toFixed(2) });
      const between = (m - n) * scene.used[i];
      const start = angleOf(spun(scene.content.q[i], (n + scene.origin) * scene.used[i] + back));
      const turns = Math.trunc(between / TURN);
      const wedge = bare ? "" : wedgePath(start, between - turns * TURN, r / longest);
      fill(dial.wedge, { d: wedge });
      const long = wedge ? Math.hypot(...scene.content.q[i]) * scale : 0;
      dial.away(long * Math.cos(start), -long * Math.sin(start));
      const turnsLeft = a[0] * b[1] - a[1] * b[0] > 0 ? 1 : -1;
      [a, b].forEach(([x, y], j) => {
        const length = Math.hypot(x, y);
        dial.names[j].style.visibility = length > 0 ? "visible" : "hidden";
        if (!(length > 0 && length < Infinity)) return; // also when it is not a number
        const out = Math.max(Math.min(length * scale, r) - 7, 0);
        const [ux, uy] = [x / length, -y / length];
        const side = 9 * (j === 0 ? turnsLeft : -turnsLeft); // on the side away from the other arrow
        fill(dial.names[j], { x: (ux * out - uy * side).toFixed(1), y: (uy * out + ux * side + 4).toFixed(1) });
        const [cx, cy] = middle(i);
        fill(grips[i][j], { cx: clamp(cx + x * scale, 12, W - 12).toFixed(1), cy: (cy - y * scale).toFixed(1) });
      });
      write(dial.theta, speedSaid(scene.used[i], roomy));
      const [angle, whole] = [gone * scene.used[i], Math.trunc((gone * scene.used[i]) / TURN)];
      write(dial.angle, angleSaid(bare ? "mθ" : "(m − n)θ", gone, scene.used[i], roomy));
      write(dial.wound, whole ? turnsSaid(whole, angle - whole * TURN) : "");
      fill(dial.part, { y: r + (winds ? 39 : 27) });
      write(dial.part, quiet ? "" : tr("adds {n}", { n: fixed(near.parts[i], 2) }));
    });
  };
}
