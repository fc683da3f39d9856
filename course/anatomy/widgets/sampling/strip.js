// How SamplingExplorer draws: all tokens side by side, each as wide as its probability. A random number falls on the
// strip, and what it hits is drawn.

const [WORDS, SEGMENT, TICKS] = [14, 18, 8]; // px: the line above the strip, the strip, the marks of all numbers below
const STRIP = WORDS + SEGMENT + TICKS + 2;
const LETTER = 6.5; // px: a token's name that does not fit its segment is left out

/** The strip in a canvas, from `top` down, that wide. Returns draw(), which returns the segment that was hit last. */
function drawingStrip(canvas, top, wide, count, nameOf) {
  label(canvas, 0, top + 10, tr("A draw: a random number falls on this strip"), "start", "ta-small");
  const [y, foot] = [top + WORDS, top + WORDS + SEGMENT];
  const segments = Array.from({ length: count + 1 }, (_, i) => {
    const rect = svg("rect", { y, height: SEGMENT, class: i < count ? "ta-fill-one" : "ta-axis" });
    if (i < count) rect.style.fillOpacity = i % 2 ? 0.15 : 0.35;
    canvas.append(rect);
    return { rect, text: label(canvas, 0, y + 13, "", "middle", "ta-text") };
  });
  const numbers = svg("path", { class: "ta-axis", style: "stroke: var(--ta-two)" });
  const hit = svg("rect", { y, height: SEGMENT, class: "ta-axis", style: "stroke: var(--ta-two); stroke-width: 2" });
  const pin = svg("path", { d: `M0 ${y - 2}V${foot + 1}M-4 ${foot + TICKS}L0 ${foot + 1}L4 ${foot + TICKS}Z`, class: "ta-here" });
  pin.style.stroke = "var(--ta-ink)";
  canvas.append(numbers, hit, pin);
  const at = (share) => 1 + share * (wide - 2);

  return (probabilities, { spots, last }, here) => {
    const parts = widthsOf(probabilities);
    let from = 0;
    segments.forEach(({ rect, text }, i) => {
      const to = from + (parts[i] || 0);
      const box = { x: at(from), width: at(to) - at(from) };
      fill(rect, box);
      rect.style.stroke = i === here ? "var(--ta-ink)" : "";
      const name = nameOf(i);
      const fits = box.width > LETTER * name.length + 4;
      write(text, fits ? name : "");
      if (fits) fill(text, { x: box.x + box.width / 2 });
      if (i === last) fill(hit, box);
      from = to;
    });
    for (const node of [hit, pin]) node.style.visibility = last < 0 ? "hidden" : "visible";
    if (last >= 0) fill(pin, { transform: `translate(${at(spots.at(-1)).toFixed(1)} 0)` });
    fill(numbers, { d: spots.map((u) => `M${at(u).toFixed(1)} ${foot + 2}v${TICKS - 2}`).join("") });
    return hit;
  };
}

const FLY_MS = 500; // of a drawn token on its way from its segment to the end of the text

/** The word that has just been written comes from where its segment is. Returns the animation. */
function comeOver(word, segment) {
  const [there, here] = [segment.getBoundingClientRect(), word.getBoundingClientRect()];
  const [x, y] = [there.left + there.width / 2 - here.left - here.width / 2, there.top - here.top];
  const way = [`translate(${x}px, ${y}px)`, "none"].map((transform) => ({ transform }));
  return word.animate(way, { duration: FLY_MS, easing: "ease-in-out" });
}
