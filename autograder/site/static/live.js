// Brings the widgets of a page to life when they are scrolled to; until then, and without this script, their pictures
// stand there. Script elements alone work from a host and from disk: a page on disk may not fetch, nor import modules.
(function () {
  "use strict";
  const base = document.currentScript.src.replace(/core\.js.*$/, "");
  const NEAR = "300px"; // how far below the window a widget begins to load

  // The model that a widget talks to, where no kernel is: what is set stays in the page.
  class PageModel {
    constructor(state) {
      this.state = state;
      this.listeners = {};
    }
    get(name) { return this.state[name]; }
    set(name, value) {
      this.state[name] = value;
      (this.listeners[`change:${name}`] || []).forEach((action) => action());
    }
    save_changes() {}
    parcel(name) { return open(this.state.parcels[name]).then((tables) => Object.values(tables)[0]); }
    on(event, action) { (this.listeners[event] ||= []).push(action); }
    off(event, action) { this.listeners[event] = (this.listeners[event] || []).filter((other) => other !== action); }
  }

  const asked = {};
  const load = (name) => (asked[name] ||= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `${base}${name}.js`;
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  }));

  const opened = {};
  const open = (name) => (opened[name] ||= load(name).then(async () => {
    const { index, gzip } = TA.packs[name];
    delete TA.packs[name];
    const packed = Uint8Array.from(atob(gzip), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const bytes = await new Response(stream).arrayBuffer();
    const tables = {};
    let at = 0;
    for (const [table, length] of index) {
      tables[table] = new DataView(bytes, at, length);
      at += length;
    }
    return tables;
  }));

  /** A page may hold several stories; each landmark gets a name of its own. Widgets build themselves anew at times. */
  const titled = {};
  function nameStory(root) {
    const title = root.getAttribute("aria-label");
    titled[title] = (titled[title] || 0) + 1;
    const suffix = titled[title] > 1 ? `: ${title} (${titled[title]})` : `: ${title}`;
    const change = () => root.querySelectorAll("section.ta-story:not([data-named])").forEach((story) => {
      story.dataset.named = "";
      story.setAttribute("aria-label", story.getAttribute("aria-label") + suffix);
    });
    change();
    new MutationObserver(change).observe(root, { childList: true });
  }

  async function start(box) {
    const begun = performance.now();
    const { widget, state: name } = box.dataset;
    try {
      await Promise.all([load(widget), load(name)]);
      const { packs, ...state } = TA.states[name];
      box.toggleAttribute("data-alone", state.alone); // then nothing is compared with the reference
      const tables = Object.assign({}, ...(await Promise.all(packs.map(open))));
      state.tables = Object.fromEntries(Object.entries(state.tables).map(([key, hash]) => [key, tables[hash]]));
      const place = document.createElement("div");
      const picture = box.firstElementChild;
      box.append(place);
      picture.hidden = true;
      const model = new PageModel(state);
      try {
        TA.widgets[widget].render({ model, el: place });
        picture.remove();
      } catch (error) {
        place.remove();
        picture.hidden = false;
        throw error;
      }
      performance.mark("ta-drawn");
      nameStory(place.firstElementChild);
      box.dataset.ms = Math.round(performance.now() - begun);
      return model;
    } catch (error) {
      box.dataset.failed = String(error); // the picture stays
    }
  }

  const begun = new Map();
  const begin = (box) => begun.get(box) ?? begun.set(box, start(box)).get(box);

  /** Turns a box's widget to another recorded state: that state's tables, notice and mistake. */
  TA.turn = async (box, name) => {
    box.dataset.shows = name;
    const [model] = await Promise.all([begin(box), load(name)]);
    const { packs, tables, ...others } = TA.states[name];
    const opened = Object.assign({}, ...(await Promise.all(packs.map(open))));
    if (!model || box.dataset.shows !== name) return; // it is a picture, or was turned again meanwhile
    for (const [trait, value] of Object.entries(others)) model.set(trait, value);
    model.set("tables", Object.fromEntries(Object.entries(tables).map(([key, hash]) => [key, opened[hash]])));
  };

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      begin(entry.target);
    }
  }, { rootMargin: NEAR });
  document.querySelectorAll(".ta-live").forEach((box) => seen.observe(box));
})();
