// The text as a line of tokens: q belongs to one and k to another, and both can be dragged along it.

const PITCH = 104; // px of a token's box: “sat: q, m = 63” in bold, or a translation of it
const APART = 84; // px that the distance needs

/** Draws the line; place(m, n, front) moves the two tokens, with `front` tokens that were put before the text. */
function tokenLine(ui, parent, { W, hold }) {
  const N = ui.spec.positions;
  const [H, left] = [84, 12];
  const step = (W - 2 * left) / (N - 1);
  const x = (p) => left + p * step;
  const canvas = picture(parent, W, H,
    tr("The text as a line of tokens, with the query's token above it and the key's below"));
  alive(canvas);
  const size = Math.min(step - 2, 8);
  const tokens = Array.from({ length: N }, (_, p) => {
    const side = size.toFixed(1);
    const token = svg("rect", { x: (x(p) - size / 2).toFixed(1), y: 42 - size / 2, width: side, height: side, rx: 1.5 });
    canvas.append(token);
    return token;
  });
  const span = svg("path", { class: "ta-diagonal", style: "fill: none" });
  const distance = label(canvas, 0, 0, "", "middle", "ta-small");
  canvas.append(span);
  const boxes = [["m", "q", tr("sat"), tr("query position m"), 4], ["n", "k", tr("cat"), tr("key position n"), 58]].map(
    ([trait, letter, word, name, y]) => {
      const stem = line(canvas, 0, y < 42 ? 28 : 56, 0, y < 42 ? 36 : 48, `ro-stem ro-${letter}`);
      const text = svg("text", { x: 0, y: y + 16, "text-anchor": "middle", class: "ta-strong" });
      const frame = { x: -PITCH / 2, y, width: PITCH, height: 24, rx: 5, class: `ro-token ro-${letter}` };
      const box = svg("g", {}, svg("rect", frame), text);
      canvas.append(box);
      box.addEventListener("lostpointercapture", () => hold.letGo(trait));
      handle(ui, box, {
        canvas, trait, name, max: N - 1,
        drag: ([hand], start) => hold.drag(trait, start.value + (hand - start.x) / step),
      });
      return (p) => {
        write(text, `${word}: ${letter}, ${trait} = ${Math.round(p)}`);
        fill(box, { transform: `translate(${clamp(x(p), PITCH / 2, W - PITCH / 2).toFixed(1)},0)` });
        fill(stem, { x1: x(p).toFixed(1), x2: x(p).toFixed(1) });
      };
    });
  return (m, n, front) => {
    boxes[0](m);
    boxes[1](n);
    const kind = (p) => {
      if (p === Math.round(m)) return "ro-at ro-q";
      if (p === Math.round(n)) return "ro-at ro-k";
      return p < front ? "ro-new" : "ro-tick";
    };
    tokens.forEach((token, p) => fill(token, { class: kind(p) }));
    // From the edge of k's box to q's token, with the number on it where there is room.
    const edge = clamp(x(n), PITCH / 2, W - PITCH / 2) + (Math.sign(m - n) * PITCH) / 2;
    const room = (x(m) - edge) * Math.sign(m - n) > APART;
    fill(span, { d: room ? `M${edge.toFixed(1)} 74H${x(m).toFixed(1)}V50` : "" });
    fill(distance, { x: ((x(m) + edge) / 2).toFixed(1), y: 69 });
    write(distance, room ? `m − n = ${minus(String(Math.round(m) - Math.round(n)))}` : "");
  };
}
