// Questions with a commit button. Native radio buttons in a fieldset carry the keyboard and the screen reader; this
// file only sends what was chosen and shows what Python answers. One module, nothing is fetched.

function node(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** JupyterLab takes arrow keys, Enter and Space for its own shortcuts unless the focused element says otherwise. */
function keepKeys(element) {
  element.dataset.lmSuppressShortcuts = "true";
  return element;
}

/** The page's theme as JupyterLab, VS Code or Colab (colabtools #1214) says it; the system's where none does. */
const isDark = () => {
  const { jpThemeLight: lab, vscodeThemeKind: code } = document.body.dataset;
  const colab = document.documentElement.getAttribute("theme");
  if (lab !== undefined) return lab === "false";
  if (code !== undefined) return !code.endsWith("light");
  return colab === null ? matchMedia("(prefers-color-scheme: dark)").matches : colab === "dark";
};

/** The words of the page's language; Python hands them over, and English stands here. */
let words = {};
const tr = (english) => words[english] ?? english;

const freshId = () => "ask" + Math.random().toString(36).slice(2, 10);

// A kernel that is busy with another cell answers when it is done; after this long the page says that it waits.
const WAIT_MS = 500;
const MARKS = { right: "\u2713 ", kept: "\u2713 " };

function question(model, item) {
  const group = freshId();
  const legend = node("legend", item.above ? { class: "ta-ask-unseen" } : {}, item.question);
  const set = node("fieldset", {}, legend);
  const inputs = item.options.map((text, i) => {
    const input = keepKeys(node("input", { type: "radio", name: group, value: text }));
    set.append(node("label", { class: "ta-ask-option" }, input, node("span", {}, (item.labels || item.options)[i])));
    return input;
  });
  const free = item.options.length === 0;
  if (free) {
    inputs.push(keepKeys(node("input", { type: "text", id: group, autocomplete: "off" })));
    // In JupyterLab Enter in a text field does not submit a form by itself.
    inputs[0].addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    });
    set.append(node("div", { class: "ta-ask-free" }, node("label", { for: group }, tr("I expect")), inputs[0]));
  }
  const button = keepKeys(node("button", { type: "submit" }, item.button));
  set.append(button);
  // The live region stands there, empty, from the start: one that is put in together with its text is often not read.
  const mark = node("span", { class: "ta-ask-mark", "aria-hidden": "true" });
  const message = node("strong");
  const why = node("span");
  const result = node("div", { class: "ta-ask-result", role: "status", "aria-live": "polite", "aria-atomic": "true",
    tabindex: "-1" }, mark, message, why);
  const more = node("details", { class: "ta-ask-more" });
  const form = node("form", { class: "ta-ask-item", novalidate: "" }, set, result, more);
  let waiting = 0; // the number of a commit that Python has not answered yet
  let timer = 0;

  function say(tone, text, reason = "") {
    result.dataset.tone = tone;
    mark.textContent = MARKS[tone] || "";
    message.textContent = text;
    why.textContent = reason ? ` ${reason}` : "";
  }

  function current() {
    return free ? inputs[0].value.trim() : inputs.find((input) => input.checked)?.value || "";
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (waiting || set.disabled) return;
    const value = current();
    if (!value) {
      say("problem", free ? tr("Write something first.") : tr("Choose one first."));
      return;
    }
    waiting = (model.get("commit").n || 0) + 1;
    timer = setTimeout(() => say("problem", tr("Waiting for the kernel, which is busy \u2026")), WAIT_MS);
    model.set("commit", { key: item.key, value, n: waiting });
    model.save_changes();
  });

  function update() {
    const state = model.get("states")[item.key];
    if (!state || (waiting && (state.n || 0) < waiting)) return;
    const answered = waiting > 0;
    waiting = 0;
    clearTimeout(timer);
    // What somebody is just choosing is not taken away by an answer to something else.
    if (free) inputs[0].value = state.choice || (answered ? "" : inputs[0].value);
    else if (state.choice) inputs.forEach((input) => { input.checked = input.value === state.choice; });
    inputs.forEach((input) => input.parentElement.classList.toggle("ta-ask-chosen", input.value === state.choice));
    button.textContent = state.button || item.button;
    say(state.tone || "", state.message || "", state.why);
    more.replaceChildren();
    more.hidden = !(state.others || []).length;
    if (!more.hidden) {
      const list = node("dl");
      for (const [text, reason] of state.others) list.append(node("dt", {}, text), node("dd", {}, reason));
      more.append(keepKeys(node("summary", {}, tr("And the others?"))), list);
    }
    // A disabled element loses the focus to nowhere, and a keyboard its place in the page.
    const focused = set.contains(document.activeElement);
    if (state.locked && focused) result.focus({ preventScroll: true });
    set.disabled = Boolean(state.locked);
    button.hidden = Boolean(state.locked);
  }

  more.hidden = true;
  update();
  return { form, update, stop: () => clearTimeout(timer) };
}

function render({ model, el }) {
  words = model.get("words") || {};
  const root = node("div", { class: "ta-ask", role: "group", "aria-label": model.get("name") });
  const questions = model.get("items").map((item) => question(model, item));
  questions.forEach(({ form }) => root.append(form));
  const update = () => questions.forEach((one) => one.update());
  const theme = () => { root.dataset.theme = isDark() ? "dark" : "light"; };
  model.on("change:states", update);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", theme);
  const lab = new MutationObserver(theme);
  lab.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-vscode-theme-kind"] });
  lab.observe(document.documentElement, { attributes: true, attributeFilter: ["theme"] });
  theme();
  el.append(root);
  // The plain question, for a page without a kernel, would be read twice.
  const plain = [...document.querySelectorAll(`[data-ask="${model.get("token")}"]`)];
  plain.forEach((element) => { element.hidden = true; });
  return () => {
    plain.forEach((element) => { element.hidden = false; });
    model.off("change:states", update);
    scheme.removeEventListener("change", theme);
    lab.disconnect();
    questions.forEach(({ stop }) => stop());
    root.remove();
  };
}

export default { render };
