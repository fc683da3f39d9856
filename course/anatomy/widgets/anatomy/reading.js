// What the page's own model read, as the tables that the panels draw: the last tokens of the text, up to as many as the
// picture has places for. passing.py makes the same tables of a learner's parts.

/** The likeliest tokens after each half layer, as two flat lists; computed once for a token, when it is first drawn. */
function likeliest(decoder, token, K) {
  token.likely ??= token.levels.map((_, level) => {
    const shares = softmaxOf(decoder.logits(token, level));
    const best = [];
    for (let i = 0; i < shares.length; i++) {
      if (best.length === K && shares[i] <= shares[best[K - 1]]) continue;
      let at = Math.min(best.length, K - 1);
      while (at > 0 && shares[i] > shares[best[at - 1]]) {
        best[at] = best[at - 1];
        at--;
      }
      best[at] = i;
    }
    return best.map((id) => [id, shares[id]]);
  });
  return token.likely;
}

/** Does the stream at the bottom, read back, give most of its chance to the token that it comes from? */
function namesItself(ui, token, says) {
  const [word, share] = says(token, 0);
  return word === ui.read.words[token] && share >= 0.5;
}

/** The share of the gate's inputs in each bin. */
function binsOf(gates, bins, reach) {
  const out = new Float32Array(bins);
  for (const g of gates) {
    const inside = clamp(g, -reach, reach * (1 - 1e-6));
    out[Math.floor((inside + reach) * (bins / 2 / reach))] += 1 / gates.length;
  }
  return out;
}

/** Tables of tokens[first…], each with room for T tokens, by the names and in the order of passing.measured. */
function tablesOf(decoder, first, { layers: L, tokens: T, likely: K, bins, reach, sizes }) {
  const [H, half, levels] = [sizes.n_heads, sizes.head_dim / 2, 2 * L + 1];
  const sizesOf = { att: L * H * T * T, norms: levels * T, added: 2 * L * T, before: levels * T, after: levels * T,
    gate: L * T * bins, turn: T * half, may: T * T, lens_i: levels * T * K, lens_p: levels * T * K, drift: levels * T };
  const out = Object.fromEntries(Object.entries(sizesOf).map(([name, count]) => [name, new Float32Array(count)]));
  decoder.tokens.slice(first).forEach((token, t) => {
    token.att.forEach((row, i) => out.att.set(row.subarray(first), (i * T + t) * T));
    token.levels.forEach((x, i) => { out.norms[i * T + t] = Math.sqrt(size2(x)); });
    for (const name of ["added", "before", "after"]) token[name].forEach((v, i) => { out[name][i * T + t] = v; });
    token.gate.forEach((gates, l) => out.gate.set(binsOf(gates, bins, reach), (l * T + t) * bins));
    out.turn.set(token.turn.map((angle) => Math.atan2(Math.sin(angle), Math.cos(angle))), t * half);
    out.may.fill(1, t * T, t * T + t + 1);
    likeliest(decoder, token, K).forEach((found, i) => found.forEach(([id, share], j) => {
      out.lens_i[(i * T + t) * K + j] = id;
      out.lens_p[(i * T + t) * K + j] = share;
    }));
  });
  return { ...out, ref_lens_i: out.lens_i, ref_lens_p: out.lens_p };
}
