// The form above the table of claims: shows the rows of a unit, of a kind of evidence, with some words.
(function () {
  "use strict";
  const form = document.querySelector(".ta-filter");
  const rows = [...document.querySelectorAll(".ta-claims tbody tr")].map((row) => ({
    row,
    unit: row.cells[0].textContent.trim(),
    kinds: row.cells[3].querySelector("em").textContent.split(/, |、/),
    // A formula holds its source, too, which a reader may type.
    text: row.textContent.toLowerCase(),
  }));
  const told = form.querySelector("output");

  function filter() {
    const { unit, kind, words } = Object.fromEntries(new FormData(form));
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const one of rows) {
      const fits = (!unit || one.unit === unit) && (!kind || one.kinds.includes(kind))
        && wanted.every((word) => one.text.includes(word));
      one.row.hidden = !fits;
      shown += fits;
    }
    told.textContent = told.dataset.says.replace("{n}", shown);
    dispatchEvent(new Event("resize")); // what scrolls now must be reached by Tab (site.js)
  }

  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
