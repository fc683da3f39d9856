"""Measurements in a widget's page: contrast, sizes of letters and targets, overflow, series in grayscale."""

# Letter sizes in CSS px as displayed: a shrunken SVG shrinks its letters. → [[px, text], …] below `least`.
SMALL_LETTERS = """(least) => [...document.querySelectorAll('.ta *')].flatMap((e) => {
  const own = [...e.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
  if (!own || e.closest('option') || !e.checkVisibility({visibilityProperty: true})) return [];
  const m = e.getScreenCTM?.();
  const px = parseFloat(getComputedStyle(e).fontSize) * (m ? Math.sqrt(Math.abs(m.a * m.d - m.b * m.c)) : 1);
  return px < least - 0.05 ? [[+px.toFixed(1), e.textContent.trim().slice(0, 40)]] : [];
})"""

# Contrast of all letters with their background. → [[contrast, text, px], …] of all visible words.
CONTRAST = """() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const color = numbers(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll('.ta *')) {
    const own = [...e.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
    if (!own || e.dataset.ink || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    const ink = numbers(e.namespaceURI.includes('svg') ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), e.textContent.trim().slice(0, 40), parseFloat(style.fontSize)]);
  }
  return found;
}"""

# Elements that need sideways scrolling, except inside parts that scroll themselves. → [[px out, name], …]
STICKING_OUT = """() => {
  const held = (e) => {
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) {
      if (getComputedStyle(p).overflowX !== 'visible' && !(p instanceof SVGElement)) return true;
    }
    return false;
  };
  const out = [...document.querySelectorAll('.ta, .ta *')].flatMap((e) => {
    const box = e.getBoundingClientRect();
    const by = Math.max(box.right - innerWidth, -box.left);
    const seen = box.width && e.checkVisibility({visibilityProperty: true}) && !e.matches('.ta-area');
    const name = `${e.tagName} ${e.getAttribute('class') ?? ''} ${e.textContent.trim().slice(0, 30)}`;
    return by > 1 && seen && !held(e) ? [[Math.round(by), name]] : [];
  });
  const page = document.documentElement.scrollWidth - innerWidth;
  return page > 0 && !out.length ? [[page, 'the page']] : out;
}"""

# Pointer targets below `least` px. The area that takes the pointer counts: for a check box also its label, for a shape
# the points where elementsFromPoint finds it. Parts that are only `ta-touch` can also be reached with the cursor on
# their picture, and words in a line of text are as wide as they are: only their height counts (WCAG exempts both).
SMALL_TARGETS = """(least) => {
  const reach = (e, box) => [[1, 0], [0, 1]].map(([dx, dy]) => {
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const hit = (by) => document.elementsFromPoint(x + dx * by, y + dy * by).some((n) => n === e || e.contains(n));
    let [low, high] = [0, 0];
    while (low > -least && hit(low - 0.5)) low -= 0.5;
    while (high < least && hit(high + 0.5)) high += 0.5;
    return high - low;
  });
  const found = [];
  const all = 'input, select, button, summary, [role=button], [role=slider], [tabindex="0"], .ta-handle, .ta-touch';
  for (const e of document.querySelectorAll(`.ta :is(${all})`)) {
    if (!e.checkVisibility({visibilityProperty: true}) || !e.getClientRects().length) continue;
    const other = !e.matches('[tabindex="0"]') && e.closest('svg')?.querySelector('.ta-area');
    if (e.matches('.ta-touch') && other) continue;
    const label = e.matches('input') && e.closest('label');
    const box = (label || e).getBoundingClientRect();
    if (!box.width || !box.height) continue; // a bar of zero
    let size = getComputedStyle(e).display === 'inline' ? [least, box.height] : [box.width, box.height];
    if (Math.min(...size) < least && e instanceof SVGElement) {
      e.scrollIntoView({block: 'center'});
      size = reach(e, e.getBoundingClientRect());
    }
    // Half a pixel is what rounding to device pixels may take.
    if (Math.min(...size) < least - 0.5) {
      const name = (e.ariaLabel ?? label?.textContent ?? e.textContent).trim().slice(0, 40);
      found.push([size.map((v) => +v.toFixed(1)).join(' × '), `${e.tagName} ${e.getAttribute('class') ?? ''} ${name}`]);
    }
  }
  return found;
}"""

# Classes that mark a series: two of them in one drawing must be distinguishable without their colors.
SERIES = ("one", "two", "fill-one", "fill-two", "mine", "reference", "ghost", "open-two", "good", "bad")
# All styles of each series in a drawing; the tip of an arrow belongs to its shaft, which may be dashed.
# → [[drawing, series, look], …]
LOOKS = """(series) => {
  const numbers = (color) => color.match(/[\\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
  const paper = numbers(getComputedStyle(document.querySelector('.ta')).backgroundColor);
  const light = (color, opacity) => {
    const [r, g, b, a = 1] = numbers(color);
    return [r, g, b].map((v, i) => v * a * opacity + paper[i] * (1 - a * opacity)).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  };
  const found = {};
  [...document.querySelectorAll('.ta svg')].forEach((svg, i) => {
    for (const e of svg.querySelectorAll('path, rect, circle, line, polyline, polygon, ellipse')) {
      const name = series.find((s) => e.classList.contains(`ta-${s}`));
      const box = e.getBoundingClientRect();
      if (!name || e.matches('.ta-head') || e.closest('defs') || box.width + box.height < 3) continue;
      if (!e.checkVisibility({visibilityProperty: true})) continue;
      const style = getComputedStyle(e);
      const open = style.fill === 'none' || style.fill === 'transparent';
      const paint = open ? style.stroke : style.fill;
      if (paint === 'none') continue;
      const look = {
        shape: e.tagName === 'line' || e.tagName === 'polyline' ? 'path' : e.tagName, open,
        pattern: paint.startsWith('url'), dashes: open ? style.strokeDasharray : 'none',
        outline: !open && style.stroke !== 'none' ? style.stroke : '',
        width: open ? parseFloat(style.strokeWidth) : 0, height: open ? 0 : Math.round(box.height),
        light: +light(paint, style.opacity * (open ? style.strokeOpacity : style.fillOpacity)).toFixed(4),
      };
      const where = svg.getAttribute('aria-label')?.slice(0, 60) ?? `drawing ${i + 1}`;
      found[JSON.stringify([where, name, look])] = [where, name, look];
    }
  });
  return Object.values(found);
}"""

LEAST_GRAY = 1.8  # contrast of two grays that are distinguishable side by side in print
WIDER = 1.5


def gray_contrast(one, other):
    """Contrast of two relative luminances, as WCAG computes it: the contrast of two colors in a grayscale print."""
    low, high = sorted((one, other))
    return (high + 0.05) / (low + 0.05)


def told_apart(one, other):
    """The feature by which two looks differ without color: a word, or "" if there is none."""
    for name in ("shape", "open", "pattern", "dashes", "outline"):
        if one[name] != other[name]:
            return name
    widths = sorted((one["width"], other["width"]))
    if widths[0] and widths[1] / widths[0] >= WIDER:
        return "width"
    return "gray" if gray_contrast(one["light"], other["light"]) >= LEAST_GRAY else ""


def alike_in_gray(looks):
    """A line for each pair of series in one drawing that are not distinguishable in a grayscale print."""
    found = []
    for i, (where, name, look) in enumerate(looks):
        for there, other, seen in looks[i + 1 :]:
            if where == there and name != other and not told_apart(look, seen):
                contrast = gray_contrast(look["light"], seen["light"])
                pair = " and ".join(sorted((name, other)))
                found.append(f"{where}: {pair} ({look['shape']}), {contrast:.2f} : 1")
    return sorted(set(found))
