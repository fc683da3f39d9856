// Checks to press: shows the recorded verdict on the chosen answer, and turns the widget to what that answer computes.
(function () {
  "use strict";

  document.querySelectorAll(".ta-press").forEach((press) => {
    const find = (selector) => [...press.querySelectorAll(selector)];
    const [radios, answers, marks] = [find("input"), find(".ta-press-answer"), find(".ta-press-mark")];
    const [said] = find(".ta-press-said");
    const [call] = find(".ta-press-call");
    const [box] = find(".ta-live");
    const button = call.querySelector("button");
    const unsaid = [...said.childNodes];
    // The place of the verdict is read out when it changes, so the verdict itself need not be.
    const verdicts = answers.map((answer) => {
      const fold = answer.querySelector("details");
      const verdict = fold.querySelector("[role=status]");
      verdict.removeAttribute("role");
      fold.remove();
      return verdict;
    });
    const chosen = () => radios.findIndex((radio) => radio.checked);

    function show() {
      answers.forEach((answer, at) => { answer.hidden = at !== chosen(); });
      said.replaceChildren(...unsaid);
      dispatchEvent(new Event("resize")); // code that scrolls must be reached by Tab (site.js)
    }

    function check() {
      const at = chosen();
      said.replaceChildren(verdicts[at]);
      const passed = answers[at].dataset.passed === "true";
      const sign = Object.assign(document.createElement("span"), { textContent: passed ? " ✓" : " ✗", ariaHidden: "true" });
      const word = Object.assign(document.createElement("span"), { className: "ta-unseen" });
      word.textContent = ` ${passed ? button.dataset.passed : button.dataset.failed}`;
      marks[at].replaceChildren(sign, word);
      const last = unsaid.map((node) => node.querySelector("[data-says]")).find(Boolean);
      last.textContent = last.dataset.says.replace("{name}", radios[at].value);
      last.hidden = false;
      TA.turn(box, answers[at].dataset.state);
    }

    find(".ta-press-choice, .ta-press-said, .ta-press-call").forEach((part) => { part.hidden = false; });
    radios.forEach((radio) => radio.addEventListener("change", show));
    button.addEventListener("click", check);
    show();
  });
})();
