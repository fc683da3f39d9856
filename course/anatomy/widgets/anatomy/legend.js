// What thickness means in the river: there are two kinds of lines, and each has its own measure.

/** A line that grows thicker beside what that says; two of them in a row. */
function riverLegend(parent) {
  const note = (kind, words) => html("span", {},
    svg("svg", { width: 18, height: 10, "aria-hidden": "true" }, svg("path", { d: "M0 5L18 0V10Z", class: kind })), words);
  parent.append(html("p", { class: "an-legend" },
    note("an-pale", tr("size of its numbers")), note("ta-fill-one", tr("share in the guess"))));
}
