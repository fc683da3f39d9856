// Of MaskExplorer: what a leak does to the loss.

/** The loss of a model that copies what it sees, as a bar from 0; the whole track is what guessing everything costs. */
function barOfLoss(parent, W, most) {
  const [left, right, height] = [2, 44, 12];
  const said = html("p", { style: "margin: 0; font-size: 11px; line-height: 16px; color: var(--ta-soft)" });
  parent.append(said);
  const name = tr("The loss, as a bar from 0; the whole line is the loss of guessing each word");
  const canvas = picture(parent, W, height + 4, name);
  const full = W - left - right;
  const bar = svg("rect", { class: "ta-fill-two", x: left, y: 2, height });
  const number = label(canvas, W - right + 6, height + 1, "", "start", "ta-strong");
  canvas.append(svg("rect", { class: "ta-axis", x: left, y: 2, width: full, height }), bar);
  return (loss, many) => {
    for (const node of [said, canvas]) node.style.visibility = loss === undefined ? "hidden" : "";
    if (loss === undefined) return;
    write(said, tr(many > 1 ? N_("mean loss of {n} words, if what is seen is copied, the rest guessed")
      : N_("loss of {n} word, if it is copied where it is seen, else guessed"), { n: many }));
    fill(bar, { width: (full * loss) / most });
    write(number, fixed(loss, 2));
  };
}
