// What could come next: the likeliest tokens as bars. After the last token each is a button that writes it.

/** Rows of guesses after a token, with a tick where the reference differs, and a row for all other tokens together. */
function guessRows(ui, parent, W) {
  const { likely: K, vocabulary } = ui.spec;
  const wide = W - 132;
  const box = html("div", { class: "an-guesses" });
  const rows = Array.from({ length: K + 1 }, (_, j) => {
    const [name, value] = [verbatim(html("span")), html("b")];
    const bar = svg("rect", { y: 3, height: 12, class: j < K ? "ta-fill-one" : "an-pale" });
    const canvas = svg("svg", { width: wide, height: 18, "aria-hidden": "true", class: "ta-svg" }, bar);
    const tick = line(canvas, 0, 0, 0, 18, "ta-tick");
    const row = html(j < K ? "button" : "div", j < K ? { type: "button" } : {}, name, canvas, value);
    if (j < K) keepKeys(row).addEventListener("click", () => ui.take(j));
    box.append(row);
    return { row, name, value, bar, tick };
  });
  const hint = html("p", { class: "an-foot" });
  parent.append(box, hint);
  return {
    rise(height) { box.style.opacity = height < Infinity ? 0 : ""; },
    draw({ token }, says) {
      const found = Array.from({ length: K }, (_, j) => says(token, undefined, j));
      const beside = Array.from({ length: K }, (_, j) => says(token, undefined, j, "ref_"));
      const last = token === ui.read.words.length - 1;
      const rest = 1 - sumOf(found.map(([, share]) => share));
      rows.forEach(({ row, name, value, bar, tick }, j) => {
        const [word, share] = found[j] ?? ["", rest];
        const right = beside.find(([other]) => j < K && other === word)?.[1];
        const differs = Math.abs(right - share) >= 0.005;
        write(name, j < K ? shownToken(word).slice(0, 10) : tr("{n} others", { n: whole(vocabulary.length - K) }));
        write(value, percent(share));
        fill(bar, { width: (wide * clamp(share || 0, 0, 1)).toFixed(1) });
        fill(tick, { x1: wide * (right ?? 0), x2: wide * (right ?? 0), visibility: differs ? "visible" : "hidden" });
        if (j < K) fill(row, { "aria-disabled": !last });
      });
      write(hint, last ? tr("Click a guess, and it is written.") : tr("The text goes on after its last token only."));
    },
  };
}

const sumOf = (numbers) => numbers.reduce((sum, v) => sum + v, 0);
