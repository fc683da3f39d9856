// Where the bytes of a cache come from: a product, each factor with as many squares as its number says.

const WORDS = {
  pair: N_("key and value"), latent: N_("latent"), layers: N_("layers"), heads: N_("key-value heads"),
  size: N_("numbers per head"), numbers: N_("numbers"), bytes: N_("bytes per number"),
};

/** [word, number, squares] of each factor of a token's bytes; pale squares up to "squares" stand for query heads. */
function factorsOf(now) {
  const { layers, heads, dim, queries, latent } = now.sizes;
  return latent
    ? [["latent", 1], ["layers", layers], ["numbers", 2 * dim], ["bytes", now.itemsize]]
    : [["pair", 2], ["layers", layers], ["heads", heads, queries], ["size", dim], ["bytes", now.itemsize]];
}

/** The path of squares first … last of so many, as large as the room allows. */
function squares(first, last, all, [width, height]) {
  let side = 12;
  while (side > 1.6 && Math.ceil(all / Math.floor(width / side)) * side > height) side -= 0.2;
  const across = Math.floor(width / side);
  let d = "";
  for (let i = first; i < last; i++) {
    const [x, y, w] = [(i % across) * side, Math.floor(i / across) * side, side * 0.75].map((n) => n.toFixed(1));
    d += `M${x} ${y}h${w}v${w}h-${w}z`;
  }
  return d || "M0 0";
}

/** The factors in a line (a phone: three columns), then the bytes of a token, the tokens, and one user's cache. */
function byteFactors(ui, parent, W) {
  const narrow = W < 700;
  const canvas = picture(parent, W, 56, tr("Where the bytes of a cache come from"));
  const wide = W / 3;
  const cell = (part) => {
    const group = svg("g");
    const box = svg("rect", { x: -5, y: 0, width: wide - 16, height: 34, rx: 4, style: "fill: var(--ta-panel)" });
    if (part !== undefined) group.append(touch(ui, box, () => ({ part })));
    const sign = label(group, -13, 14, "", "middle", "ta-small");
    const number = label(group, 0, 14, "", "start", "ta-strong");
    const word = label(group, 0, 28, "", "start", "ta-small");
    const below = { transform: "translate(0 34)", class: "ta-fill-one" };
    const pale = svg("path", { ...below, style: "fill-opacity: 0.25" });
    const full = svg("path", below);
    group.append(pale, full);
    canvas.append(group);
    return { group, box, sign, number, word, pale, full };
  };
  const factors = Array.from({ length: 5 }, () => cell());
  const [token, tokens, user] = [cell(0), cell(), cell(1)];
  for (const { group, number } of [token, user]) {
    fill(number, { "data-readout": "bytes" }); // the product is the answer; its factors are seen
    label(group, 0, 14, "?", "start", "ta-strong ta-until");
  }
  const tell = (node, sign, number, word) => {
    write(node.sign, sign);
    write(node.number, number);
    write(node.word, word);
  };
  /** Where each shown cell stands: a grid on a phone, else a line in which each has the room that its words need. */
  const place = (shown, tall) => {
    const needs = shown.map(({ word }) => Math.max(46, word.textContent.length * 5.9));
    const gap = (W - 12 - needs.reduce((sum, n) => sum + n, 0)) / (shown.length - 1);
    let x = 5;
    shown.forEach(({ group, box }, i) => {
      const at = narrow ? [(i % 3) * wide + 14, Math.floor(i / 3) * tall] : [x, 0];
      fill(group, { transform: `translate(${at[0].toFixed(1)} ${at[1]})` });
      if (!narrow) fill(box, { width: needs[i] + 10 });
      x += needs[i] + gap;
    });
    const high = narrow ? (Math.ceil(shown.length / 3) - 1) * tall + 38 : tall; // the last row has no squares
    fill(canvas, { height: high, viewBox: `0 0 ${W} ${high}` });
  };
  return {
    draw(now) {
      const high = ui.get("more") ? 15 : 36; // of the squares: they are the picture as long as nothing is unfolded
      const all = factorsOf(now);
      factors.forEach((node, i) => {
        node.group.style.display = i < all.length ? "" : "none";
        if (i >= all.length) return;
        const [word, n, of = n] = all[i];
        tell(node, i ? "×" : "", short(n), tr(WORDS[word]));
        fill(node.full, { d: squares(0, n, of, [76, high]) });
        fill(node.pale, { d: squares(n, of, of, [76, high]) });
      });
      tell(token, "=", whole(now.perToken), tr("bytes per token"));
      tell(tokens, "×", now.kept, tr("tokens"));
      tell(user, "=", sizeOf(now.perUser), tr("per user"));
      [token, user].forEach(({ box }, i) => fill(box, { class: `ta-touch ${now.part === i ? "ta-lit" : ""}` }));
      place([...factors.slice(0, all.length), token, tokens, user], high + 38);
    },
  };
}
