// The exported page: the widget's own module with this file behind it, and a model that lives in the page.
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
  /** Bytes that only some readers need: decoded when somebody asks. */
  async parcel(name) { return bytesOf(this.state.parcels[name]); }
  on(event, action) { (this.listeners[event] ||= []).push(action); }
  off(event, action) { this.listeners[event] = (this.listeners[event] || []).filter((other) => other !== action); }
}

const bytesOf = (text) => new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
const state = JSON.parse(document.getElementById("state").textContent);
for (const [name, text] of Object.entries(state.tables)) {
  state.tables[name] = bytesOf(text);
}

/**
 * Enlarges the widget: a little where the page is wide, because few pictures gain by being longer, and for a lecture so
 * much that it fills the window. Letters, targets and pictures grow together. Links within the gallery keep the choice.
 */
function atSize(place, button) {
  const [margins, widest, usual, most] = [32, 1200, 960, 1.25]; // px, and how often the usual size
  const [lecture, high, least] = [844, 560, 1.25]; // px: what most steps of a story need
  const narrow = 900; // px: no room to grow
  const isLarge = () => new URLSearchParams(location.search).has("large");
  const fit = () => {
    const wide = document.documentElement.clientWidth - margins;
    const large = isLarge() && wide >= narrow;
    document.body.toggleAttribute("data-large", large);
    place.style.zoom = large ? Math.max(least, Math.min(wide / lecture, innerHeight / high))
      : clamp(Math.min(wide, widest) / usual, 1, most);
    button.hidden = wide < narrow || !("zoom" in place.style);
    button.setAttribute("aria-pressed", String(large));
    for (const link of document.querySelectorAll("nav a")) {
      if (link.host === location.host) link.search = isLarge() ? "?large" : "";
    }
  };
  button.addEventListener("click", () => {
    history.replaceState(null, "", isLarge() ? location.pathname : "?large");
    fit();
  });
  addEventListener("resize", fit);
  fit();
}

const place = document.getElementById("widget");
place.replaceChildren();
atSize(place, document.getElementById("large"));
widget.render({ model: new PageModel(state), el: place });
