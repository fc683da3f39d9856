// What the theme leaves out for a keyboard: boxes that scroll take the focus, and its drawers open with buttons.
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

  /** Furo opens its drawers with labels of hidden checkboxes, which no key reaches: here buttons take their place. */
  function drawers() {
    document.querySelectorAll("label[for^='__']:not(.overlay)").forEach((label) => {
      const box = document.getElementById(label.htmlFor);
      const button = document.createElement("button");
      button.type = "button";
      button.className = `${label.className} ta-drawer-button`;
      button.setAttribute("aria-label", box.getAttribute("aria-label"));
      button.append(...label.childNodes);
      const tell = () => button.setAttribute("aria-expanded", String(box.checked));
      tell();
      box.addEventListener("change", tell);
      button.addEventListener("click", () => {
        box.click();
        const drawer = document.querySelector(box.id === "__toc" ? ".toc-drawer" : ".sidebar-drawer");
        if (box.checked) drawer.querySelector("a, input")?.focus();
      });
      label.replaceWith(button);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      document.querySelectorAll(".sidebar-toggle:checked").forEach((box) => {
        box.click();
        [...document.querySelectorAll(".ta-drawer-button")].find((b) => b.offsetParent && b.getAttribute("aria-label") === box.getAttribute("aria-label"))?.focus();
      });
    });
  }

  drawers();
  reach();
  addEventListener("resize", reach);
  addEventListener("load", reach);
  document.addEventListener("toggle", reach, true);
})();
