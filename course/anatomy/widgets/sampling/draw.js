// Draws of SamplingExplorer: tokens that come as often as the probabilities on show say.

const SEED = 1; // the same for every page: a picture or a lesson can be repeated draw by draw

/** A small generator of numbers in 0…1, 1 excluded (mulberry32): the browser's own cannot be given a seed. */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Shares of a whole of 1. A wrong function's probabilities may have another sum, or be no numbers: the sum is taken as
 * it is. NaN if nothing can come.
 */
function widthsOf(probabilities) {
  const wide = [...probabilities].map((p) => (Number.isFinite(p) && p > 0 ? p : 0));
  const sum = wide.reduce((a, b) => a + b, 0);
  return wide.map((p) => p / sum);
}

/** The place that a number u in 0…1 falls on, if each place is as wide as its probability; −1 if nothing can come. */
function placeOf(u, probabilities) {
  const wide = widthsOf(probabilities);
  let left = u;
  for (let i = 0; i < wide.length; i++) {
    if (left < wide[i]) return i;
    left -= wide[i];
  }
  return wide.findLastIndex((p) => p > 0); // the sum was rounded
}

const noDraws = (places) => ({ counts: Array(places).fill(0), total: 0, last: -1, spots: [] });
const SPOTS = 200; // numbers that are remembered: more would be one solid bar

/** Counts of what has been drawn from one distribution; another one, known by its key, begins anew. */
function drawer(places) {
  const random = seeded(SEED);
  let [tally, of] = [noDraws(places), null];
  return {
    of(key) {
      if (key !== of) [tally, of] = [noDraws(places), key];
      return tally;
    },
    draw(probabilities, times) {
      for (let i = 0; i < times; i++) {
        const u = random();
        const place = placeOf(u, probabilities);
        if (place < 0) return;
        tally.spots = [...tally.spots.slice(1 - SPOTS), u];
        tally.counts[place] += 1;
        tally.total += 1;
        tally.last = place;
      }
    },
  };
}
