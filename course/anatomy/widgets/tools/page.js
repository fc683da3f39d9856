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
const place = document.getElementById("widget");
place.replaceChildren();
widget.render({ model: new PageModel(state), el: place });
