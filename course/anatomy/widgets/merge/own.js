// A word of one's own in MergeExplorer. The tables hold what a function made of the listed words; this one is split in
// the page by the course's merges, whatever function is on show.

const ownWords = new WeakMap(); // model → letters: a view that is built anew goes on with them

/** What can be drawn of a text: its letters, as many as the rows have room for behind a space. */
function lettersOf(text, room) {
  const size = (letters) => new TextEncoder().encode(letters).length;
  let letters = "";
  for (const one of text.normalize("NFC").match(/\p{L}/gu) ?? []) if (size(` ${letters}${one}`) <= room) letters += one;
  return letters;
}

/**
 * The states of a word, as the tables hold those of the listed ones: `ids` and `ranks` of their pairs by state; `cuts`,
 * how many merges come before the one that changes it next. merges: pairs of ids, flat; byteOf: the byte of each id.
 */
function splitByMerges(word, merges, byteOf) {
  const rankOf = new Map();
  for (let i = 0; 2 * i < merges.length; i++) rankOf.set(`${merges[2 * i]} ${merges[2 * i + 1]}`, i);
  let ids = Array.from(new TextEncoder().encode(word), (byte) => byteOf.indexOf(byte));
  const states = [];
  for (;;) {
    const ranks = ids.slice(1).map((right, i) => rankOf.get(`${ids[i]} ${right}`) ?? NOTHING);
    const known = ranks.filter((rank) => rank !== NOTHING);
    const next = known.length ? Math.min(...known) : merges.length / 2;
    states.push({ ids, ranks, cut: next });
    if (!known.length) break;
    const joined = [];
    for (let i = 0; i < ids.length; i++) {
      joined.push(ranks[i] === next ? BASE + next : ids[i]);
      if (ranks[i] === next) i++;
    }
    ids = joined;
  }
  let at = 0;
  const wide = [...word].map((one) => {
    const size = new TextEncoder().encode(one).length;
    at += size;
    return [one, at - size, size];
  }).filter(([, , size]) => size > 1);
  return { states, wide, bytes: at, name: word.replace(" ", "·") };
}

/** The field, to be laid among the controls, and own(): the word in it, split; null while a listed one is on show. */
function ownField(ui) {
  const { spec } = ui;
  const id = freshId();
  const input = keepKeys(html("input", {
    id, type: "text", size: 12, autocomplete: "off", spellcheck: "false", class: "ta-button",
  }));
  input.style.cursor = "text";
  const [usual, full, others] = [tr("split by the course’s merges, behind a space"),
    tr("split by the course’s merges; no more letters fit"), tr("split by the course’s merges; letters alone are taken")];
  const note = html("span", { id: `${id}-note`, class: "ta-note" }, usual);
  input.setAttribute("aria-describedby", note.id);
  const field = html("div", { class: "ta-bar", style: "grid-column: 1 / -1" },
    html("label", { for: id }, tr("or a word of your own")), input, note);
  let split = null;
  const take = (letters) => {
    ownWords.set(ui.model, letters);
    split = letters ? splitByMerges(` ${letters}`, ui.table("merges"), spec.byte_of) : null;
  };
  const letGo = () => {
    if (!split) return;
    take("");
    input.value = "";
    write(note, usual);
    ui.ask();
  };
  input.addEventListener("input", (event) => {
    if (event.isComposing) return; // letters that are still being put together
    const letters = lettersOf(input.value, spec.longest);
    const typed = input.value.normalize("NFC").match(/\p{L}/gu) ?? [];
    write(note, typed.length > [...letters].length ? full : input.value.normalize("NFC") !== letters ? others : usual);
    if (input.value !== letters) input.value = letters;
    take(letters);
    ui.set("done", letters ? spec.longest - 1 : 0); // all that can be joined is
    ui.ask();
  });
  input.addEventListener("compositionend", () => input.dispatchEvent(new Event("input")));
  for (const trait of ["word", "step"]) ui.listen(trait, letGo);
  take(ownWords.get(ui.model) ?? "");
  input.value = ownWords.get(ui.model);
  return { own: () => split, field };
}
