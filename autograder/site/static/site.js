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

  /** On the page of results: excerpts are of a page's text, without its heading, the line below it, and formulas' sources. */
  function excerpts() {
    if (typeof Search === "undefined") return;
    const whole = Search.htmlToText;
    const LEFT_OUT = "h1, h2, h3, h4, .headerlink, .ta-open, .ta-front-how, .ta-named, .ta-filter, .ta-unseen, annotation, svg, style, script";
    const APART = "p, li, dt, dd, td, th, summary, div, pre, label, small, li strong";
    const summary = Search.makeSearchSummary;
    // An excerpt begins at the last word that is found, so a page in which none stands as it was typed begins at its start.
    Search.makeSearchSummary = (text, words, anchor) => summary(text, ["", ...words], anchor);
    Search.htmlToText = (text, anchor) => {
      const page = new DOMParser().parseFromString(text, "text/html");
      page.querySelectorAll(LEFT_OUT).forEach((part) => part.remove());
      page.querySelectorAll(APART).forEach((part) => part.append(" "));
      return whole(page.body.outerHTML, anchor).replace(/\s+/g, " ").trim();
    };
  }

  const HEADINGS = "article h1, article h2, article h3, article h4";

  /** In another language a cell has the same anchor. A heading has another one, so its number stands for it: #~3. */
  function place() {
    const top = (mark) => mark.getBoundingClientRect().top;
    const marks = [...document.querySelectorAll(`article .ta-anchor[id], ${HEADINGS}`)];
    const asked = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const shown = asked && Math.abs(top(asked)) < innerHeight / 2;
    if (!shown && scrollY < 40) return "";
    const wanted = shown && marks.find((mark) => mark === asked || asked.contains(mark));
    let at = wanted ? marks.indexOf(wanted) : marks.findLastIndex((mark) => top(mark) < innerHeight / 3);
    // An exercise's heading stands right below the anchor of its cell.
    if (at > 0 && marks[at - 1].matches(".ta-anchor") && top(marks[at]) - top(marks[at - 1]) < 100) at -= 1;
    if (at < 0) return "";
    if (marks[at].matches(".ta-anchor")) return `#${encodeURIComponent(marks[at].id)}`;
    const number = [...document.querySelectorAll(HEADINGS)].indexOf(marks[at]);
    return number > 0 ? `#~${number}` : "";
  }

  function languages() {
    document.querySelectorAll(".ta-languages a:not([data-nearest])").forEach((link) => {
      const address = link.getAttribute("href");
      const keep = () => link.setAttribute("href", address + place());
      for (const event of ["pointerdown", "click", "focus"]) link.addEventListener(event, keep);
    });
    const asked = /^#~(\d+)$/.exec(location.hash);
    const heading = asked && document.querySelectorAll(HEADINGS)[Number(asked[1])];
    if (!heading) return;
    const id = heading.id || heading.closest("section[id]")?.id;
    if (id) location.replace(`#${id}`);
    else heading.scrollIntoView();
  }

  drawers();
  excerpts();
  languages();
  reach();
  addEventListener("resize", reach);
  addEventListener("load", reach);
  document.addEventListener("toggle", reach, true);
})();
