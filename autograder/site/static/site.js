// What the theme leaves out for a keyboard: boxes that scroll take the focus, and its labels work as the buttons they are.
(function () {
  "use strict";
  const MAY_SCROLL = "pre, math, .ta-formula-block, .cell_output, .table-wrapper";

  /** A box that scrolls must be reached by Tab, or nobody without a mouse sees its end; one that doesn't would be in the way. */
  function reach() {
    // An inline formula that scrolls loses its baseline, so only one that no line can hold does.
    document.querySelectorAll("article math:not(.tml-display)").forEach((formula) => {
      formula.classList.remove("ta-wide");
      const room = formula.parentElement.closest("p, li, td, dd, div")?.clientWidth ?? Infinity;
      formula.classList.toggle("ta-wide", formula.scrollWidth > Math.min(room, formula.clientWidth) + 1);
    });
    document.querySelectorAll(MAY_SCROLL).forEach((box) => {
      const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
      const style = getComputedStyle(box);
      const own = scrolls && /auto|scroll/.test(`${style.overflowX} ${style.overflowY}`);
      if (own) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
  }

  /** Furo opens its drawers, and folds of its tree, with labels of hidden checkboxes. */
  function labels() {
    document.querySelectorAll("label[for^='__'], .sidebar-tree label").forEach((label) => {
      if (label.classList.contains("overlay")) return;
      const box = document.getElementById(label.htmlFor);
      const open = () => label.setAttribute("aria-expanded", String(box.checked));
      label.tabIndex = 0;
      label.setAttribute("role", "button");
      if (!label.textContent.trim()) {
        label.setAttribute("aria-label", box.getAttribute("aria-label") || box.name);
      }
      box.tabIndex = -1;
      open();
      box.addEventListener("change", open);
      label.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        box.click();
      });
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      document.querySelectorAll(".sidebar-toggle:checked").forEach((box) => box.click());
    });
  }

  labels();
  reach();
  addEventListener("resize", reach);
  addEventListener("load", reach);
  document.addEventListener("toggle", reach, true);
})();
