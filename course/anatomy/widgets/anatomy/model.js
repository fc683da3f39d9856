// The course's trained model in plain JavaScript, one token at a time: keys and values of earlier tokens are kept, so a
// new token costs one column of the picture (unit 08). It gives what PyTorch gives, up to rounding.

/** Numbers of the packed model: a head in JSON, then the high bytes of all float16 weights, then the low ones. */
async function unpackModel(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const start = 4 + new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, start)));
  const count = (bytes.length - start) / 2;
  const weights = new Float32Array(count);
  const float = allFloat16();
  for (let i = 0; i < count; i++) weights[i] = float[(bytes[start + i] << 8) | bytes[start + count + i]];
  return { head, weights };
}

/** All 65,536 numbers of float16, to be looked up by their bits. */
function allFloat16() {
  const out = new Float32Array(65536);
  for (let bits = 0; bits < 32768; bits++) {
    const [power, digits] = [bits >> 10, bits & 1023];
    const size = power === 31 ? (digits ? NaN : Infinity)
      : power ? (1 + digits / 1024) * 2 ** (power - 15) : digits * 2 ** -24;
    out[bits] = size;
    out[bits | 32768] = -size;
  }
  return out;
}

/** y = W x, where W (y.length, x.length) lies row by row; the number of columns is a multiple of four. */
function times(W, x, y) {
  const n = x.length;
  for (let r = 0, at = 0; r < y.length; r++, at += n) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let i = 0; i < n; i += 4) {
      a += W[at + i] * x[i];
      b += W[at + i + 1] * x[i + 1];
      c += W[at + i + 2] * x[i + 2];
      d += W[at + i + 3] * x[i + 3];
    }
    y[r] = a + b + c + d;
  }
  return y;
}

const size2 = (x) => x.reduce((sum, v) => sum + v * v, 0);
const rootMeanSquare = (x) => Math.sqrt(size2(x) / x.length);

function softmaxOf(scores) {
  const top = scores.reduce((most, v) => (v > most ? v : most), -Infinity);
  const out = scores.map((v) => Math.exp(v - top));
  const sum = out.reduce((all, v) => all + v, 0);
  return out.map((v) => v / sum);
}

/**
 * The decoder. `tokens` holds what the picture shows of each token that was read: { id, levels, att, added, before,
 * after, gate, turn }, as the tables of passing.py. read(ids) reads a text; what it shares with the one before is kept.
 */
class SmallDecoder {
  constructor({ head, weights }) {
    const { d_model: d, n_heads: H, n_kv_heads: G, head_dim: D, d_ff, vocab, n_layers } = head;
    let at = 0;
    const take = (count) => weights.subarray(at, (at += count));
    this.c = head;
    this.table = take(vocab * d);
    this.layers = Array.from({ length: n_layers }, () => ({
      norm: take(d), q: take(H * D * d), k: take(G * D * d), v: take(G * D * d), o: take(d * H * D),
      norm2: take(d), gate: take(d_ff * d), up: take(d_ff * d), down: take(d * d_ff),
      keys: new Float32Array(head.context * G * D), values: new Float32Array(head.context * G * D),
    }));
    this.gain = take(d);
    this.tokens = [];
  }

  read(ids) {
    let same = 0;
    while (same < ids.length && same < this.tokens.length && ids[same] === this.tokens[same].id) same++;
    this.tokens.length = same;
    for (let i = same; i < ids.length; i++) this.step(ids[i]);
    return this.tokens;
  }

  /** Reads one token at the next position. */
  step(id) {
    const { d_model: d } = this.c;
    const token = { id, levels: [], att: [], added: [], before: [], after: [], gate: [], turn: this.angles(this.tokens.length) };
    let x = this.table.slice(id * d, (id + 1) * d);
    token.levels.push(x);
    const add = (y) => {
      token.added.push(Math.sqrt(size2(y)));
      x = x.map((v, i) => v + y[i]);
      token.levels.push(x);
    };
    for (const layer of this.layers) {
      add(this.attend(layer, this.norm(x, layer.norm, token), token));
      add(this.feed(layer, this.norm(x, layer.norm2, token), token));
    }
    token.last = this.norm(x, this.gain, token);
    this.tokens.push(token);
  }

  /** RMSNorm (unit 02); notes the sizes before and after. */
  norm(x, gain, token = null) {
    const scale = Math.sqrt(size2(x) / x.length + this.c.eps);
    const y = x.map((v, i) => (v / scale) * gain[i]);
    token?.before.push(rootMeanSquare(x));
    token?.after.push(rootMeanSquare(y));
    return y;
  }

  angles(position) {
    const { head_dim: D, base } = this.c;
    return Array.from({ length: D / 2 }, (_, i) => position * base ** ((-2 * i) / D));
  }

  /** Turns each head of x by the position's angles, in pairs (i, i + D/2): RoPE (unit 06). */
  turn(x, angles) {
    const half = angles.length;
    for (let start = 0; start < x.length; start += 2 * half) {
      for (let i = 0; i < half; i++) {
        const [a, b, cos, sin] = [x[start + i], x[start + i + half], Math.cos(angles[i]), Math.sin(angles[i])];
        x[start + i] = a * cos - b * sin;
        x[start + i + half] = b * cos + a * sin;
      }
    }
    return x;
  }

  /** Grouped attention of one query to all keys so far (units 01, 08). */
  attend(layer, x, token) {
    const { n_heads: H, n_kv_heads: G, head_dim: D } = this.c;
    const [wide, seen] = [G * D, this.tokens.length + 1];
    const q = this.turn(times(layer.q, x, new Float32Array(H * D)), token.turn);
    layer.keys.set(this.turn(times(layer.k, x, new Float32Array(wide)), token.turn), (seen - 1) * wide);
    layer.values.set(times(layer.v, x, new Float32Array(wide)), (seen - 1) * wide);
    const out = new Float32Array(H * D);
    for (let h = 0; h < H; h++) {
      const group = Math.floor(h / (H / G)) * D;
      const scores = new Float32Array(seen);
      for (let s = 0; s < seen; s++) {
        let dot = 0;
        for (let i = 0; i < D; i++) dot += q[h * D + i] * layer.keys[s * wide + group + i];
        scores[s] = dot / Math.sqrt(D);
      }
      const weights = softmaxOf(scores);
      token.att.push(weights);
      for (let i = 0; i < D; i++) {
        let sum = 0;
        for (let s = 0; s < seen; s++) sum += weights[s] * layer.values[s * wide + group + i];
        out[h * D + i] = sum;
      }
    }
    return times(layer.o, out, new Float32Array(x.length));
  }

  /** The gated feed-forward layer (unit 04). */
  feed(layer, x, token) {
    const { d_ff } = this.c;
    const gate = times(layer.gate, x, new Float32Array(d_ff));
    const up = times(layer.up, x, new Float32Array(d_ff));
    token.gate.push(gate);
    return times(layer.down, gate.map((g, i) => (g / (1 + Math.exp(-g))) * up[i]), new Float32Array(x.length));
  }

  /** Logits of the next token, as if the model ended after that half layer: the last norm, then the table. */
  logits(token, level = token.levels.length - 1) {
    return times(this.table, this.norm(token.levels[level], this.gain), new Float32Array(this.c.vocab));
  }
}
