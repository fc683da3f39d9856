// The words of the prompt, and the river: the residual stream of each token, through all half layers from the bottom
// to the top, with the way on which one token's last vector came.

const BUCKETS = 5; // strengths of a way that are told apart
const LEGEND = 18; // px, height of the line about thickness
const MOVED = 1e-3; // relative distance from the reference that is more than rounding

/** Marks around a token that is a quotation mark itself are of another kind. */
function inQuotes(text) {
  return text.includes('"') ? `‹${shownToken(text)}›` : `“${shownToken(text)}”`;
}

/** A token as a word: a space in front of it is not shown; one that is nothing but white space is. */
function shownToken(text) {
  const trimmed = text.trim();
  return trimmed || (text.includes("\n") ? "⏎" : "␣");
}

const percent = (share) => (Number.isFinite(share) ? `${Math.round(100 * share)}%` : "NaN");

/** A node for pieces of the text, which are no words of the page: a browser that translates pages leaves them alone. */
const verbatim = (node) => fill(node, { translate: "no" });

/** What is read, token by token. One is pointed at or clicked; the line under it is its share in what is shown. */
function promptLine(ui) {
  const next = html("b");
  const line = html("p", { class: "an-prompt" });
  let before = [];
  const chips = Array.from({ length: ui.spec.tokens }, (_, token) => {
    const [space, chip] = [document.createTextNode(""), verbatim(html("span"))];
    line.append(space, chip);
    return [space, touch(ui, chip, () => ({ token }))];
  });
  line.append(next);
  ui.root.append(line);
  return (token, key, shares, says) => {
    write(next, says);
    const { words, written } = ui.read;
    const now = [token, key, shares, words, written];
    if (now.every((value, i) => value === before[i])) return;
    before = now;
    chips.forEach(([space, chip], i) => {
      chip.hidden = i >= words.length;
      if (chip.hidden) return;
      // The rest of a word, and a sign after it, stand close; a line breaks at a space only.
      write(space, i > 0 && /^\S/.test(words[i]) ? "" : " ");
      write(chip, shownToken(words[i]));
      chip.toggleAttribute("data-written", i >= words.length - written);
      fill(chip, { "data-share": Math.min(4, Math.ceil(shares[i] * 14 - 0.3)) });
      chip.toggleAttribute("data-here", i === token);
      chip.toggleAttribute("data-key", i === key && key !== token);
    });
  };
}

/** Attention weights (layers, T, T), the mean of a layer's heads. */
function meanOfHeads(att, { layers: L, tokens: T, sizes }) {
  const [H, size] = [sizes.n_heads, T * T];
  const mean = new Float32Array(L * size);
  for (let i = 0; i < att.length; i++) mean[Math.floor(i / (H * size)) * size + (i % size)] += att[i] / H;
  return mean;
}

/**
 * Shares of what a token's last vector came from, walked back from the top (attention rollout, arXiv:2005.00928): half
 * by the stream, half by the mean of the heads. Returns the shares at the bottom; `stem` and `flow` hear of the way.
 */
function walkBack(mean, { layers: L, tokens: T }, token, stem, flow) {
  let share = new Float32Array(T);
  share[token] = 1;
  for (let l = L - 1; l >= 0; l--) {
    const next = new Float32Array(T);
    for (let t = 0; t < T; t++) {
      if (!(share[t] >= 0.01)) continue;
      next[t] += share[t] / 2;
      stem(l, t, share[t]);
      for (let s = 0; s < T; s++) {
        const along = (share[t] * mean[(l * T + t) * T + s]) / 2;
        if (!(along > 0)) continue;
        next[s] += along;
        if (s !== t && along > 0.01) flow(l, s, t, along);
      }
    }
    share = next;
  }
  return share;
}

const bucket = (share) => clamp(Math.ceil(share * 12) - 1, 0, BUCKETS - 1);

function riverPanel(ui, parent, W, all) {
  const H = all - LEGEND;
  const { layers: L, tokens: T } = ui.spec;
  const box = html("div", { class: "ta-panel", style: `width: ${W}px` });
  const legend = html("small");
  box.append(html("p", { class: "ta-caption" }, tr("Residual streams"), legend));
  riverLegend(box);
  parent.append(box);
  const canvas = picture(box, W, H, tr("Residual streams of all tokens, from the embedding at the bottom to the top"));
  const lines = [20, 6]; // px above the bottom: of names
  const [left, top, bottom] = [24, 22, 34];
  const [wide, lift] = [W - left - 6, (H - top - bottom) / (2 * L)];
  let step = wide / T; // a short text has wider places
  const x = (t) => left + (t + 0.5) * step;
  const y = (i) => H - bottom - i * lift;
  const band = svg("rect", { x: left, width: wide, height: 2 * lift, class: "an-band" });
  const [flow, bed] = [svg("g"), svg("g")];
  flow.append(bed);
  canvas.append(band, flow);
  for (let l = 0; l < L; l++) {
    line(canvas, left, y(2 * l), left + wide, y(2 * l), "ta-grid");
    label(canvas, left - 4, y(2 * l + 1) + 4, `L${l}`, "end", "ta-small");
  }
  const segments = Array.from({ length: T * 2 * L }, (_, n) => {
    const segment = svg("path");
    bed.append(segment);
    return segment;
  });
  // Twice the share of a stem has the number of a flow's (draw), so that the same share is as thick in both.
  const [stems, flows] = [1, 0.5].map((thick) => Array.from({ length: BUCKETS }, (_, b) => {
    const path = svg("path", { class: "an-way", "stroke-width": Math.max(0.8, thick * (b + 1)),
      "stroke-opacity": 0.4 + (0.6 * b) / (BUCKETS - 1) });
    flow.append(path);
    return path;
  }));
  const says = label(canvas, 0, top - 8, "", "middle", "ta-strong an-halo");
  const names = Array.from({ length: T }, () => verbatim(label(canvas, 0, H, "", "middle", "ta-small")));
  const place = cursor(ui, canvas, {
    name: tr("streams, by token and layer"),
    box: () => ({ x: left, y: y(2 * L), width: ui.read.words.length * step, height: 2 * L * lift }),
    size: () => [ui.read.words.length, L],
    state: (token, row) => ({ token, layer: L - 1 - row }),
    at: () => [ui.at(), L - 1 - ui.seen("layer")],
    says: (token, row) => tr("token {token} {word}, layer {layer}",
      { token: ui.read.first + token, word: inQuotes(ui.read.words[token]), layer: L - 1 - row }),
    cross: false,
  });

  /**
   * Names below the streams: the token's, and of those that fed its guess (the text underlines them), what gave most first. Where places are
   * wide, all others have names, too; under narrow ones, nobody could tell which name belongs to which stream.
   */
  function nameStreams(token, shares) {
    const { words } = ui.read;
    const [...all] = words.keys();
    const fed = all.filter((t) => t !== token && 14 * shares[t] > 0.3).sort((a, b) => shares[b] - shares[a]);
    const rows = lines.map((above) => ({ baseline: H - above, taken: [] }));
    const placed = new Set();
    for (const t of new Set([token, ...fed, ...(step > 12 ? all : [])])) {
      const text = shownToken(words[t]);
      const wide = text.length * (t === token ? 3.6 : 3.3) + 3;
      const middle = clamp(x(t), left + wide, W - wide);
      const row = rows.find(({ taken }) => taken.every(([from, to]) => middle + wide < from || middle - wide > to));
      if (!row) continue;
      row.taken.push([middle - wide, middle + wide]);
      placed.add(t);
      write(names[t], text);
      fill(names[t], { x: middle, y: row.baseline, class: t === token ? "ta-strong" : "ta-small" });
    }
    names.forEach((name, t) => { if (!placed.has(t)) write(fill(name, { class: "ta-small" }), ""); });
  }

  let mean = null;
  return {
    rise(height) {
      cutAbove(flow, height / L);
      says.style.visibility = height < Infinity ? "hidden" : "";
    },
    /** Widths by length, dashed and colored by distance from the reference. */
    stale() {
      step = wide / ui.read.slots;
      mean = meanOfHeads(ui.table("att"), ui.spec);
      const [norms, drift] = [ui.table("norms"), ui.table("drift")];
      write(legend, drift.some((v) => !(v <= MOVED)) ? tr("orange, dashed: off the reference") : tr("one per token"));
      // At least the recorded sentence's: one more token leaves the widths of the others as they are.
      const longest = norms.reduce((most, v) => (v > most ? v : most), ui.spec.longest);
      segments.forEach((segment, n) => {
        const [t, i] = [Math.floor(n / (2 * L)), n % (2 * L)];
        const [length, off] = [norms[(i + 1) * T + t], drift[(i + 1) * T + t]];
        const away = !(off <= MOVED);
        fill(segment, {
          d: `M${x(t).toFixed(1)} ${y(i).toFixed(1)}V${y(i + 1).toFixed(1)}`,
          class: t >= ui.read.words.length ? "an-none" : away ? "an-off" : "an-on",
          "stroke-width": (0.8 + ((Math.min(step, 24) - 2.5) * (Number.isFinite(length) ? length : 0)) / longest).toFixed(1),
          "stroke-opacity": away ? clamp(0.35 + off, 0.35, 1).toFixed(2) : 0.5,
        });
      });
    },
    draw(token, layer, answer) {
      const [d, e] = [Array(BUCKETS).fill(""), Array(BUCKETS).fill("")];
      const at = (value) => value.toFixed(1);
      const shares = walkBack(mean, ui.spec, token,
        (l, t, share) => { d[bucket(share)] += `M${at(x(t))} ${at(y(2 * l + 2))}V${at(y(2 * l))}`; },
        (l, s, t, share) => {
          const [low, high] = [y(2 * l), y(2 * l + 1)];
          const [from, to, middle] = [x(s), x(t), (low + high) / 2].map(at);
          e[bucket(2 * share)] += `M${from} ${at(low)}C${from} ${middle} ${to} ${middle} ${to} ${at(high)}`;
        });
      stems.forEach((path, b) => fill(path, { d: d[b] }));
      flows.forEach((path, b) => fill(path, { d: e[b] }));
      fill(band, { y: y(2 * layer + 2) });
      write(says, answer);
      const room = answer.length * 3.6;
      fill(says, { x: clamp(x(token), left + room, W - room) });
      nameStreams(token, shares);
      place();
      return shares;
    },
  };
}
