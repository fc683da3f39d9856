// Of PositionExplorer: the query's row of the map once more, as words. It is one word everywhere, so only places can differ.

const [LEAST_WORD, WORD_HIGH, NUMBERS] = [23.5, 22, 15]; // px: a word's least width, its height, and room for its place

/** One chip for each key, in the color of its score, its ink the weight that softmax makes of it; where there is no room for all of them, those around the query. */
function wordRow(ui, parent) {
  const { places: N } = ui.spec;
  const shown = Math.min(N, Math.floor(ui.room / LEAST_WORD));
  const wide = ui.room / shown;
  const box = html("div", { class: "ta-panel" }, html("p", { class: "ta-caption" }, tr("The query’s row, as words"),
    html("small", {}, shown < N ? tr("color: score; ink: weight after softmax; frame: query; {n} of {all} words", { n: shown, all: N })
      : tr("color: score; ink: weight after softmax; frame: the query; bar below: the key pointed at"))));
  parent.append(box);
  const canvas = picture(box, ui.room, WORD_HIGH + NUMBERS + 4, tr("The words at the keys, in the colors of the query's scores"));
  const chips = Array.from({ length: shown }, (_, c) => {
    const rect = svg("rect", { x: c * wide + 1, y: 1, width: wide - 2, height: WORD_HIGH - 2, rx: 3 });
    canvas.append(rect);
    const word = label(canvas, (c + 0.5) * wide, WORD_HIGH - 7, tr("dog"), "middle", "ta-small");
    return { rect, word, place: label(canvas, (c + 0.5) * wide, WORD_HIGH + 12, "", "middle", "ta-small") };
  });
  const under = svg("rect", { y: WORD_HIGH + NUMBERS, width: wide - 4, height: 3, style: "fill: var(--ta-two)" });
  canvas.append(under);
  const from = () => clamp(ui.seen("query") - Math.floor(shown / 2), 0, N - shown);
  const lay = cursor(ui, canvas, {
    name: tr("Words; arrow keys move the key"), cross: false,
    box: () => ({ x: 0, y: 0, width: ui.room, height: WORD_HIGH + NUMBERS }),
    size: () => [shown, 1],
    at: () => [clamp((ui.seen("key") ?? ui.seen("query")) - from(), 0, shown - 1), 0],
    state: (c) => ({ query: ui.get("query"), key: from() + c }),
    says: (c) => tr("query {query}, key {key}", { query: ui.seen("query"), key: from() + c }),
  });

  return {
    box,
    /** scores of the query's row, of which the largest one has all its ink; one as large as `limit` has the full color, and one that is not trained has none */
    draw(scores, { limit, untrained }, colors, query, key) {
      lay();
      const top = Math.max(...scores.filter((v, p) => !untrained(query, p) && Number.isFinite(v)));
      chips.forEach(({ rect, word, place }, c) => {
        const p = from() + c;
        const lacks = untrained(query, p);
        const color = colors.at(lacks ? 0 : scores[p] / limit);
        write(word, lacks ? "?" : tr("dog"));
        const edge = p === query ? "stroke: var(--ta-ink); stroke-width: 2" : "stroke: var(--ta-rule)";
        fill(rect, { style: `fill: ${css(color)}; ${edge}` });
        word.style.fill = inkOn(color);
        word.style.fillOpacity = lacks || !Number.isFinite(scores[p]) ? 1 : Math.exp(scores[p] - top).toFixed(3);
        write(place, String(p));
        fill(place, { class: p === query || p === key ? "ta-strong" : "ta-small", style: "font-size: 11px" });
      });
      under.style.visibility = key >= from() && key < from() + shown ? "visible" : "hidden";
      if (key !== undefined) fill(under, { x: (key - from()) * wide + 2 });
    },
  };
}
