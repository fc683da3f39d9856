// The table of dtypes: where softmax breaks in each.

/** What torch computes in each dtype: softmax without and with the shift, and the learner's log Z. */
function dtypeTable(ui, parent) {
  const { spec } = ui;
  const heads = [tr("dtype"), tr("exp(x) up to"), tr("no shift"), tr("shift"), "log Z"].map((text) => (ui.room < 330 ? text : text.replaceAll(" ", "\u00a0")));
  const table = html("table", { class: "ta-facts" }, html("caption", {}, tr("Largest weight in each dtype, and log Z")),
    html("tr", {}, ...heads.map((text, i) => html("th", { scope: "col", style: `${i ? "text-align: right; " : ""}vertical-align: bottom; font-weight: 600` }, text))));
  const middle = "vertical-align: middle";
  const lines = [];
  const cells = spec.dtypes.map((dtype, i) => {
    const row = [0, 1, 2].map(() => html("td", { class: "ta-number", style: middle }));
    row[0].dataset.readout = "no shift";
    const head = html("th", { scope: "row" });
    const line = html("tr", {}, head, html("td", { class: "ta-number", style: middle }, `x = ${fixed(spec.limits[i], 1)}`), ...row);
    button(head, dtype, () => {}).style.cssText = "min-width: 72px; padding: 0 6px; text-align: left"; // the row answers the click
    touch(ui, line, () => ({ dtype: i }));
    table.append(line);
    lines.push(line);
    return row;
  });
  parent.append(table);
  const mark = (cell, text, good) => {
    write(cell, text);
    cell.style.color = good ? "" : "var(--ta-bad)";
    cell.style.fontWeight = good ? "" : "600";
  };
  return (at, A) => cells.forEach(([naive, shifted, logZ], i) => {
    lines[i].style.cssText = ui.seen("dtype") === i ? "outline: 2px solid var(--ta-ink); background: var(--ta-panel)" : "";
    const [n, s, z, gap] = ["naive", "shifted", "L_logsumexp", "lse_gap"].map((name) => ui.table(name)[i * A + at]);
    mark(naive, fixed(n), Number.isFinite(n));
    mark(shifted, fixed(s), Number.isFinite(s));
    const good = Number.isNaN(gap) || gap <= spec.rounding[i];
    mark(logZ, `${short3(z)}${good ? "" : " ✗"}`, good && Number.isFinite(z));
  });
}
