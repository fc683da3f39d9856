// Text to tokens and back, in the page: byte-pair encoding with the course's own merges (unit 10).

// What is never merged across: contractions, words, numbers, signs and white space, as GPT-2 cuts a text. \p{White_Space}
// and not \s, which in JavaScript differs from other languages by two characters.
const PIECES = new RegExp(
  String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|` +
  String.raw`\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+`, "gu");

/**
 * The tokenizer. bytes: the token of each of the 256 bytes; merges: pairs of tokens, flat, the first one learned first;
 * merge number i makes the token 256 + i.
 */
function tokenizerOf({ bytes, merges }) {
  const rank = new Map();
  const spelled = Array(256 + merges.length / 2);
  bytes.forEach((token, byte) => { spelled[token] = [byte]; });
  const pair = (a, b) => a * spelled.length + b;
  for (let i = 0; 2 * i < merges.length; i++) {
    const [a, b] = [merges[2 * i], merges[2 * i + 1]];
    rank.set(pair(a, b), i);
    spelled[256 + i] = [...spelled[a], ...spelled[b]];
  }
  const known = new Map();

  /** Tokens of one piece: the merge that was learned first comes first, everywhere. */
  function merged(piece) {
    let tokens = Array.from(new TextEncoder().encode(piece), (byte) => bytes[byte]);
    for (;;) {
      let best = Infinity;
      for (let i = 0; i + 1 < tokens.length; i++) best = Math.min(best, rank.get(pair(tokens[i], tokens[i + 1])) ?? Infinity);
      if (best === Infinity) return tokens;
      const next = [];
      for (let i = 0; i < tokens.length; i++) {
        const here = i + 1 < tokens.length && rank.get(pair(tokens[i], tokens[i + 1])) === best;
        next.push(here ? 256 + best : tokens[i]);
        if (here) i++;
      }
      tokens = next;
    }
  }

  return {
    encode: (text) => (text.match(PIECES) ?? []).flatMap((piece) => {
      if (!known.has(piece)) known.set(piece, merged(piece));
      return known.get(piece);
    }),
    decode: (tokens) => new TextDecoder("utf-8", { ignoreBOM: true })
      .decode(Uint8Array.from(tokens.flatMap((token) => spelled[token]))),
  };
}
