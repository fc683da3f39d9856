// Break it without code: a choice of faults, and one sentence on what each breaks.

function breakingPanel(ui, parent) {
  const inside = Object.create(ui, { controls: { value: parent } });
  choice(inside, {
    trait: "fault", name: tr("Broken:"), values: ui.spec.faults.map((_, i) => i), show: (i) => ui.spec.faults[i][0],
  });
  const sentence = html("p", { class: "ta-note" });
  parent.append(sentence);
  return () => write(sentence, ui.spec.faults[ui.get("fault")][1]);
}
