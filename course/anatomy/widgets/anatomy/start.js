// What stands in the place of the parts at first: the way of a text through the model, in four sentences.

const WAY = [
  N_("The text is cut into tokens: words and pieces of words."),
  N_("Each token rises through {layers} layers as an upright line."),
  N_("In each layer it first fetches from tokens before it, then is worked on alone."),
  N_("At the top, it guesses the next token."),
];

function wayThrough(ui, parent) {
  const list = html("ol", { class: "an-steps" }, ...WAY.map((text) => html("li", {}, tr(text, { layers: ui.spec.layers }))));
  parent.append(list);
  return list;
}
