// The learner's own text. What is read is the text and the tokens that the model has written after it, both traits. With
// parts of the learner in the picture and a kernel, Python reads it; otherwise the model of this page does (model.js).

const PACE = 320; // ms between two tokens, so that they can be read
const engines = new WeakMap(); // a view that is built anew goes on with the same model

/** A number from 0 to 1 that belongs to a draw: the same for the same seed and place. */
function luck(seed, place) {
  let x = Math.imul(seed * 1009 + place + 1, 0x9e3779b1);
  x = Math.imul(x ^ (x >>> 15), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}

/**
 * What is read and shown: ui.read = { words, first, written, full, slots }, the words in the picture, the number of the
 * first, how many of the last ones the model wrote, whether it can read no more, and the places that the picture has for
 * words; ui.table and ui.at follow it. changed() runs when it is another text.
 */
function readingOf(ui, changed) {
  const { tokens: T, words, vocabulary, context, most } = ui.spec;
  if (!engines.has(ui.model)) engines.set(ui.model, { decoder: null, asked: false, seed: 0, fails: false });
  const engine = engines.get(ui.model);
  const stored = ui.table;
  const sentence = words.join("");
  let here = null; // tables of this page's model
  let drawn = ""; // what the picture shows
  // A short text is drawn larger, with places left for as many tokens again: streams keep still while it goes on.
  const put = (shown, first = 0, written = 0, full = false) => {
    const short = first === 0 && shown.length <= T / 2 && shown.length - written <= T / 4;
    ui.read = { words: shown, first, written, full, slots: short ? T / 2 : T };
  };
  put(words);
  ui.table = (name) => here?.[name] ?? stored(name);
  ui.at = () => Math.min(ui.seen("token"), ui.read.words.length - 1);

  const own = () => ui.spec.places.filter(({ key }) => verdictOf(ui, key).own).length;
  const byPython = () => !ui.model.parcel && own() > 0;
  const wanted = () => JSON.stringify([ui.get("text"), ui.get("wrote")]);
  const show = (ids, written, tables) => {
    here = tables;
    const first = Math.max(0, ids.length - T);
    put(ids.slice(first).map((id) => vocabulary[id]), first, written, ids.length >= context);
    changed();
  };
  const asRecorded = () => {
    here = null;
    put(words);
    changed();
  };

  /** What Python's tables are about: the text in UTF-16 units, and the ids. */
  function followPython() {
    const told = Boolean(ui.get("tables").ids);
    const [text, ids] = told ? [String.fromCharCode(...stored("text")), [...stored("ids")]] : ["", []];
    const written = ui.get("wrote");
    const ends = ids.length === context || written.every((id, i) => id === ids[ids.length - written.length + i]);
    const now = ends && text === ui.get("text") && (told || !written.length) ? wanted() : `${text}:${ids}`;
    if (now === drawn) return;
    drawn = now;
    if (told) show(ids, now === wanted() ? written.length : 0, null);
    else asRecorded();
  }

  function followPage() {
    const now = wanted();
    if (now === drawn) return;
    const [text, written] = [ui.get("text"), ui.get("wrote")];
    if (!text && !written.length) {
      drawn = now;
      return asRecorded();
    }
    if (!engine.decoder) return load();
    drawn = now;
    const typed = engine.tokenizer.encode(text || sentence).slice(-most);
    const ids = [...typed, ...written].slice(0, context);
    engine.decoder.read(ids);
    show(ids, ids.length - typed.length, tablesOf(engine.decoder, Math.max(0, ids.length - T), ui.spec));
  }

  /** The packed model comes from the page that carries it, or from Python, which sends it once it is asked. */
  function load() {
    const packed = ui.get("weights");
    if (packed) return unpack(Promise.resolve(packed));
    if (engine.asked) return;
    engine.asked = true;
    if (ui.model.parcel) return unpack(ui.model.parcel("weights"));
    ui.model.set("asked", true);
    ui.model.save_changes();
  }
  function unpack(promised) {
    engine.loading ??= promised.then(unpackModel).then((found) => {
      engine.tokenizer = tokenizerOf(found.head);
      engine.decoder = new SmallDecoder(found);
    }).catch(() => { engine.fails = true; }).then(() => engine.ready());
  }
  engine.ready = ui.ask;
  ui.watch("weights");

  const follow = () => (byPython() ? followPython() : followPage());
  ui.bind("text", follow);
  ui.watch("wrote");
  return {
    engine, sentence, load, follow, own, byPython,
    settled: () => drawn === wanted(),
    /** The text as it can be read: partial letters are told as the tokenizer tells them. */
    spelled: (ids) => (engine.tokenizer ? engine.tokenizer.decode(ids) : ids.map((id) => vocabulary[id]).join("")),
  };
}

/**
 * A field for the text, and buttons that let the model go on. Returns follow(), and says(): whose parts read, and what
 * is missing.
 */
function writingRow(ui, changed) {
  const { tokens: T, layers: L, likely: K, vocabulary, context, places } = ui.spec;
  const reading = readingOf(ui, changed);
  const { engine } = reading;
  const id = freshId();
  const field = keepKeys(html("input", { type: "text", id, maxlength: 2000, autocomplete: "off", spellcheck: "false",
    placeholder: tr("type, and the model reads along") }));
  const bar = html("span", { class: "an-go" });
  ui.controls.append(html("div", { class: "an-writing" }, html("label", { for: id }, tr("your text")), field, bar));

  /** The likeliest next tokens and their probabilities. */
  const listed = () => {
    const at = (2 * L * T + ui.read.words.length - 1) * K;
    return ["lens_i", "lens_p"].map((name) => ui.table(name).subarray(at, at + K));
  };
  /** The number in that list of the next token: the likeliest, or a draw with these probabilities. */
  function chosen() {
    const [, shares] = listed();
    let left = ui.get("draws") ? luck(engine.seed, ui.get("wrote").length) * shares.reduce((sum, v) => sum + v, 0) : 0;
    let j = 0;
    while (j < K - 1 && left > shares[j]) left -= shares[j++];
    return j;
  }
  function goOn(j = chosen()) {
    if (ui.read.full) return stop();
    if (!reading.settled()) return; // the next token is not known before the last one was read
    const next = listed()[0][j];
    ui.set("wrote", [...ui.get("wrote"), next]);
    ui.set("token", T - 1);
    ui.whisper(tr("It wrote {word}.", { word: inQuotes(vocabulary[next] ?? "?") }));
  }
  const stop = player(ui, bar, { step: () => goOn(), stepName: tr("One token"), playName: tr("Write on"), every: PACE });
  /** Writes the j-th of the likeliest, if the last token is the one that is looked at. */
  ui.take = (j) => {
    stop();
    if (ui.at() === ui.read.words.length - 1) goOn(j);
  };
  const again = button(bar, tr("Take back"), () => {
    stop();
    if (!ui.get("wrote").length) return;
    engine.seed++; // what is drawn in its place is another draw
    ui.set("wrote", ui.get("wrote").slice(0, -1));
  });
  again.title = tr("take back the last token that the model wrote");
  const draws = keepKeys(html("input", { type: "checkbox" }));
  draws.addEventListener("change", () => ui.set("draws", draws.checked));
  bar.append(html("label", { "data-part": "draws",
    title: tr("not always the likeliest token: a draw among the {k} likeliest", { k: K }) },
    draws, tr("draw among {k}", { k: K })));

  field.addEventListener("focus", () => { if (!reading.byPython()) reading.load(); });
  field.addEventListener("input", () => {
    stop();
    if (ui.get("wrote").length) ui.set("wrote", []);
    ui.set("token", T - 1);
    ui.set("text", field.value);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    stop();
    goOn();
  });
  ui.bind("draws", (drawn) => { draws.checked = drawn; });
  ui.bind("wrote", (wrote) => {
    const text = ui.get("text");
    const whole = wrote.length ? (text || reading.sentence) + reading.spelled(wrote) : text;
    if (field.value !== whole) {
      field.value = whole;
      field.scrollLeft = field.scrollWidth;
    }
    fill(again, { "aria-disabled": !wrote.length });
  });

  return {
    follow: reading.follow,
    says() {
      if (engine.fails) return tr(" This browser cannot run the model.");
      if (!reading.settled()) return ui.model.parcel ? tr(" The model is on its way …") : tr(" Waiting for the kernel …");
      if (!ui.get("text") && !ui.get("wrote").length) return "";
      const own = reading.byPython() ? reading.own() : 0;
      const whose = own === places.length ? tr(" Read by your parts.")
        : own ? tr(" Read by your parts and the reference's.") : "";
      return whose + (ui.read.full ? tr(" After {n} tokens it reads no more.", { n: context }) : "");
    },
  };
}
