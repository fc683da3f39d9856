// The proof of unit 06, section 2, for the numbers on show: four equalities, each lit while it holds.

/** The five numbers that the four equalities say are equal: of the plane on show, and in the last of all planes. */
function equalities({ m, n, q, k, scene, plane, score }) {
  const { content, used, thetas, origin } = scene;
  const [a, b, theta] = [content.q[plane], content.k[plane], used[plane]];
  const left = dot(q[plane], k[plane]);
  const back = dot(spun(q[plane], -(n + origin) * theta), b);
  const one = dot(spun(a, (m - n) * theta), b);
  const wave = waveOf(a, b, theta).at(m - n);
  const all = content.q.reduce((sum, v, i) => sum + waveOf(v, content.k[i], thetas[i]).at(m - n), 0);
  return { left, steps: [[left, back], [back, one], [one, wave], [score, all]] };
}

/** Decimals with which no two numbers of [before, after] look alike that count as different. */
const telling = (pairs, tolerance) => [3, 4, 5].find((n) => n === 5
  || pairs.every(([a, b]) => Math.abs(a - b) <= tolerance || fixed(a, n) !== fixed(b, n)));

/** What the last row says of all planes: an equality that fails need not bring the positions themselves in. */
const ALL_PLANES = {
  holds: N_("all planes: positions are in it only as m − n"),
  distance: N_("only m − n counts, but q·k is not this sum"),
  fails: N_("all planes: q·k is not this sum"),
};

/** Rows of the proof; show(state, lit) fills in the numbers and lights the first `lit` equalities, those that hold. */
function proofPanel(ui, parent, standOn) {
  const bar = html("div", { class: "ta-bar" });
  const list = html("ol", { class: "ro-proof" });
  parent.append(bar, list);
  const next = button(bar, "", () => {
    const to = (ui.get("proof") + 1) % rows.length;
    ui.set("proof", to);
    if (ui.get("stand") !== to > 0) standOn(to > 0);
  });
  next.title = tr("Each equality stands on the one before");
  const rows = [
    ["R(mθ)q · R(nθ)k", tr("the dial with the dark rim: R(mθ)q is q turned by mθ")],
    ["= R(−nθ)R(mθ)q · k", tr("both turned back by nθ: the angle between them stays")],
    ["= R((m − n)θ)q · k", tr("two turns are one; only m − n is left")],
    ["= |q||k| cos(φ − (m − n)θ)", tr("lengths times cosine; φ: from q to k before any turn")],
    ["q·k = Σ |qᵢ||kᵢ| cos(φᵢ − (m − n)θᵢ)", tr(ALL_PLANES.holds)],
  ].map(([formula, why]) => {
    const [number, sign] = [html("span", { class: "ta-number" }), html("span", { class: "ro-sign" })];
    const small = html("small", {}, why);
    const row = html("li", {}, html("span", { class: "ro-formula" }, formula), number, sign, small);
    list.append(row);
    return { row, number, sign, small };
  });
  return (state, lit) => {
    const { left, steps } = equalities(state);
    const digits = telling(steps, ui.spec.tolerance);
    const told = (v) => fixed(v, digits);
    write(next, ui.get("proof") < steps.length ? tr("Next equality") : tr("From the start")); // it doesn't wrap silently
    write(rows[0].number, told(left));
    rows[0].row.dataset.lit = "yes";
    steps.forEach(([before, after], i) => {
      const holds = Math.abs(before - after) <= ui.spec.tolerance;
      const { row, number, sign } = rows[i + 1];
      write(number, !holds ? `${told(before)} ≠ ${told(after)}` : told(after));
      const shown = i < lit;
      row.style.visibility = shown ? "" : "hidden"; // it says what is to be found out
      row.dataset.lit = shown ? (holds ? "yes" : "out") : "later";
      write(sign, holds ? "✓" : tr("✗ fails"));
      if (i < 3) return;
      const distance = state.scene.facts[0] <= ui.spec.tolerance;
      write(rows[4].small, tr(ALL_PLANES[holds || !shown ? "holds" : distance ? "distance" : "fails"]));
    });
  };
}
