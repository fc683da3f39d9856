// The wirings themselves, small: the stream runs to the right, a branch leaves it, and ⊕ adds its result to the stream.

const [WIRING, LOW, STREAM_Y, BRANCH_Y] = [174, 68, 45, 14]; // px: size of a drawing, heights of stream and branch
const NORM_PX = 36;
const DRAWING = 212; // px, with what is said below it

/**
 * Of each function: the branch's boxes, what stands on the stream before and after the sum, where the norm sits, and
 * the whole for who does not see the drawing.
 */
const WAYS = {
  post_ln: { branch: ["sublayer"], after: "norm", sits: N_("norm last, on the stream"),
    says: N_("{name}: the sublayer’s result is added to the stream, and the norm takes the sum.") },
  pre_ln: { branch: ["norm", "sublayer"], sits: N_("norm first, on the branch"),
    says: N_("{name}: the norm and then the sublayer stand on the branch; nothing on the stream but the sum.") },
  sandwich: { branch: ["norm", "sublayer", "norm"], sits: N_("norms on the branch, twice"),
    says: N_("{name}: the branch has a norm, the sublayer, and a second norm; nothing on the stream but the sum.") },
  norm_inside: { branch: ["sublayer", "norm"], sits: N_("norm last, on the branch"),
    says: N_("{name}: the sublayer and then the norm stand on the branch; nothing on the stream but the sum.") },
  deepnorm: { branch: ["sublayer"], before: "× α", after: "norm", sits: N_("norm last; stream × α"),
    says: N_("{name}: the stream is multiplied by α, the sublayer’s result is added, and the norm takes the sum.") },
  parallel: { branch: ["norm", ["attention", "FFN"]], sits: N_("one norm, two sublayers"),
    says: N_("{name}: one norm on the branch feeds attention and FFN; both results are added to the stream.") },
};

/** Where a wiring is drawn; i: 0 for the first of the two, 1 for the second. Returns draw(its function, its name). */
function wiringPicture(parent, i) {
  const canvas = picture(parent, DRAWING, LOW, "");
  const color = `var(--ta-${i ? "two" : "one"})`;
  let drawn = "";
  return (fn, name) => {
    if (drawn === name) return;
    drawn = name;
    canvas.setAttribute("aria-label", tr(WAYS[fn].says, { name }));
    canvas.replaceChildren();
    drawWay(canvas, WAYS[fn], color);
    const said = label(canvas, 2, LOW - 2, "", "start", "ta-small");
    said.append(svg("tspan", { class: "ta-strong", style: "fill: var(--ta-ink)" }, name), ` ${tr(WAYS[fn].sits)}`);
  };
}

function drawWay(canvas, { branch, before, after }, color) {
  const wide = { norm: NORM_PX, sublayer: 52, attention: 58, FFN: 58 };
  const size = (what) => wide[Array.isArray(what) ? what[0] : what];
  const gap = branch.length > 2 ? 6 : 10;
  const fork = 7; // where the branch leaves the stream
  const sum = branch.reduce((x, what) => x + size(what) + gap, fork + gap) + 6;
  way(canvas, `M0 ${STREAM_Y}H${WIRING - 6}`);
  canvas.append(svg("path", { d: `M${WIRING - 7} ${STREAM_Y - 4}l7 4l-7 4z`, style: "fill: var(--ta-ink)" }));
  let x = fork + gap;
  let from = fork;
  for (const what of branch) {
    const both = Array.isArray(what);
    const entry = from === fork ? `M${from} ${STREAM_Y}` : `M${from} ${BRANCH_Y}H${from + gap / 2}`;
    const rows = both ? [BRANCH_Y - 8, BRANCH_Y + 10] : [BRANCH_Y];
    for (const y of rows) {
      way(canvas, `${entry}V${y}H${x}`);
      boxOf(canvas, both ? what[rows.indexOf(y)] : what, x, y, size(what), both ? 16 : 20, color);
    }
    from = x + size(what);
    x = from + gap;
    if (both) for (const y of rows) way(canvas, `M${from} ${y}H${sum}V${STREAM_Y - 7}`);
  }
  if (!Array.isArray(branch.at(-1))) way(canvas, `M${from} ${BRANCH_Y}H${sum}V${STREAM_Y - 7}`);
  if (before) boxOf(canvas, before, fork + gap + 10, STREAM_Y, 34, 18, "");
  const style = "fill: var(--ta-paper); stroke: var(--ta-ink)";
  canvas.append(svg("circle", { cx: sum, cy: STREAM_Y, r: 7, class: "ta-sum", style }));
  way(canvas, `M${sum - 4} ${STREAM_Y}h8M${sum} ${STREAM_Y - 4}v8`);
  if (after) boxOf(canvas, after, sum + 20, STREAM_Y, NORM_PX, 20, color);
}

const WAY = "fill: none; stroke: var(--ta-ink); stroke-width: 1.2";
const way = (canvas, d) => canvas.append(svg("path", { d, style: WAY }));

/** A box around its name, its left edge at x, its middle at y. Norms have their wiring's color: they differ. */
function boxOf(canvas, what, x, y, width, height, color) {
  const stroke = what === "norm" ? `stroke: ${color}; stroke-width: 2.2` : "stroke: var(--ta-rule); stroke-width: 1";
  const place = { x, y: y - height / 2, width, height, rx: 3 };
  canvas.append(svg("rect", { ...place, class: what === "norm" ? "ta-norm" : "", style: `fill: var(--ta-panel); ${stroke}` }));
  const text = { norm: N_("norm"), sublayer: N_("sublayer"), attention: N_("attention"), FFN: N_("FFN") }[what];
  label(canvas, x + width / 2, y + 4, text ? tr(text) : what, "middle", "ta-small").style.fill = "var(--ta-ink)";
}
