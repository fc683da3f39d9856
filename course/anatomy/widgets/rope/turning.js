// q and k at any position, also between two whole ones, as the learner's function or a fault turns them.

const FAULT = { none: 0, sign: 1, key: 2, one: 3, pairs: 4, added: 5, bfloat: 6 };
const FAR = 1000; // where the text begins for bfloat16: below 256 it has every whole number

/** An angle without its whole turns, in −π…π. */
const turnBy = (angle) => Math.atan2(Math.sin(angle), Math.cos(angle));
const spun = ([x, y], angle) => {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  return [x * c - y * s, x * s + y * c];
};
const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
const angleOf = ([x, y]) => Math.atan2(y, x);

/** Rounded to bfloat16: the upper half of a float32, to the nearest, ties to even. */
const bfloat16 = (() => {
  const number = new Float32Array(1);
  const bits = new Uint32Array(number.buffer);
  return (x) => {
    number[0] = x;
    bits[0] = (bits[0] + 0x7fff + ((bits[0] >>> 16) & 1)) & 0xffff0000;
    return number[0];
  };
})();

/** The content x, a list of planes [x, y], at position p as that fault makes it. faults.py computes the same. */
function faulty(x, letter, p, thetas, fault) {
  if (fault === FAULT.key && letter === "k") return x;
  const angle = (i) => (fault === FAULT.bfloat ? bfloat16(bfloat16(FAR + p) * bfloat16(thetas[i]))
    : p * (fault === FAULT.one ? 1 : thetas[i]));
  if (fault === FAULT.pairs && letter === "k") {
    const [flat, half] = [x.flat(), x.length];
    const out = [...flat];
    for (let i = 0; i < half; i++) [out[i], out[i + half]] = spun([flat[i], flat[i + half]], angle(i));
    return x.map((_, i) => [out[2 * i], out[2 * i + 1]]);
  }
  return x.map(([e, o], i) => {
    const [c, s] = [Math.cos(angle(i)), Math.sin(angle(i))];
    if (fault === FAULT.added) return [e + c, o + s];
    return [fault === FAULT.sign ? e * c + o * s : e * c - o * s, e * s + o * c];
  });
}

/**
 * setting() gives what the dials need for the D, base, content and fault on show, with the scores of all positions:
 * { dim, base, thetas, used, turns, content: {q, k}, at(letter, p), right(letter, p), S, RS, limit, facts, differs }.
 */
function turner(ui) {
  const { spec } = ui;
  const N = spec.positions;
  const kept = {};
  const planesOf = (row, at, planes) => Array.from({ length: planes }, (_, i) => [row[at + 2 * i], row[at + 2 * i + 1]]);

  function make(dim, base, fault, turned) {
    const [d, b, planes] = [spec.dims.indexOf(dim), spec.bases.indexOf(base), dim / 2];
    const at = d * spec.bases.length + b;
    const turns = fault > 0 || ui.table("turns")[at] > 0;
    const thetas = Array.from({ length: planes }, (_, i) => base ** ((-2 * i) / dim));
    const phases = (letter) => Array.from({ length: planes }, (_, i) => (
      turns ? (turned[(letter === "k" ? turned.length / 2 : 0) + i] * Math.PI) / 180 : 0));
    const content = {};
    const rows = {};
    const steps = {}; // angle from one position to the next, of the learner's function
    for (const letter of "qk") {
      const table = ui.table(`${letter}${dim}`);
      const phase = phases(letter);
      content[letter] = planesOf(ui.table(`plain_${letter}${dim}`), 0, planes).map((v, i) => spun(v, phase[i]));
      const row = (p) => planesOf(table, (b * N + p) * dim, planes).map((v, i) => spun(v, phase[i]));
      rows[letter] = Array.from({ length: N }, (_, p) => row(p));
      steps[letter] = rows[letter][0].map((v, i) => turnBy(angleOf(rows[letter][1][i]) - angleOf(v)));
    }
    const own = (letter, p) => {
      const low = Math.floor(p);
      if (!turns || p === low) return rows[letter][Math.round(p)];
      return rows[letter][low].map((v, i) => spun(v, (p - low) * steps[letter][i]));
    };
    const origin = fault === FAULT.bfloat ? FAR : 0;
    return {
      dim, base, fault, thetas, turns, content, origin, planes,
      /** Radians per position by which a plane's arrow is to turn, as its dial says. */
      used: fault === FAULT.one ? thetas.map(() => 1) : thetas,
      speed: (letter, i) => (fault ? (fault === FAULT.one ? 1 : thetas[i]) : steps[letter][i]),
      at: fault ? (letter, p) => faulty(content[letter], letter, p, thetas, fault) : own,
      right: (letter, p) => content[letter].map((v, i) => spun(v, (p + origin) * thetas[i])),
    };
  }

  /** S[m, n] of all whole positions, yours and the right one, and what the signs below say. */
  function score(found) {
    const all = (turn) => ["q", "k"].map((letter) => Array.from({ length: N }, (_, p) => turn(letter, p).flat()));
    const [mine, right] = [all(found.at), all(found.right)];
    [found.S, found.RS] = [mine, right].map(([q, k]) => products(q, k));
    const finite = [...found.S, ...found.RS].filter(Number.isFinite);
    found.limit = finite.reduce((a, x) => Math.max(a, Math.abs(x)), 1e-9);
    const at = spec.dims.indexOf(found.dim) * spec.bases.length + spec.bases.indexOf(found.base);
    found.facts = found.fault ? measured(found, mine) : [...ui.table("invariants").subarray(3 * at, 3 * at + 3)];
    found.differs = spec.causes[found.fault ? 0 : ui.table("cause")[at]];
    return found;
  }

  function measured({ S, RS, content }, [q, k]) {
    const worst = [0, 0, 0];
    const note = (i, x) => { if (!(Math.abs(x) <= worst[i])) worst[i] = Math.abs(x); };
    for (let m = 0; m < N; m++) {
      note(1, Math.hypot(...q[m]) - Math.hypot(...content.q.flat()));
      note(1, Math.hypot(...k[m]) - Math.hypot(...content.k.flat()));
      for (let n = 0; n < N; n++) {
        note(2, S[m * N + n] - RS[m * N + n]);
        if (m && n) note(0, S[m * N + n] - S[(m - 1) * N + n - 1]);
      }
    }
    return worst;
  }

  return {
    forget() { for (const key in kept) delete kept[key]; },
    setting() {
      const [dim, base, fault, turned] = ["dim", "base", "fault", "turned"].map(ui.get);
      const key = `${dim}/${base}/${fault}/${turned}`;
      if (!kept[key]) {
        for (const old of Object.keys(kept).slice(0, -8)) delete kept[old]; // a hand leaves hundreds behind
        kept[key] = score(make(dim, base, fault, turned));
        kept[key].key = key;
      }
      return kept[key];
    },
  };
}

function products(q, k) {
  return q.flatMap((a) => k.map((b) => a.reduce((sum, x, i) => sum + x * b[i], 0)));
}

/** |q||k| cos(φ − dθ) of one plane: its size, its φ from q to k, and its value at a distance. */
function waveOf(q, k, theta) {
  const [size, phi] = [Math.hypot(...q) * Math.hypot(...k), turnBy(angleOf(k) - angleOf(q))];
  return { size, phi, at: (d) => size * Math.cos(phi - d * theta) };
}
