// The story: a few steps, each of which sets the picture, says what to notice, and asks what the picture answers.

/**
 * Steps from `spec.story`: [{ state, moves, says, asks, choices, answer, because, look, show }]. Back and Next set a
 * step's state; the learner may then move anything, and "Set the scene" brings it back. So does an answer, for what it
 * rests on: a reply speaks of the scene, is never given about another picture, and is not shown beside one. "Show me"
 * does what the reply speaks of.
 */
function story(ui, stage) {
  const steps = ui.spec.story ?? [];
  if (!steps.length) return;
  const words = html("p", { class: "ta-says" });
  const asks = html("p", { class: "ta-asks" });
  const bar = html("div", { class: "ta-pager" });
  const step = () => clamp(ui.get("step"), 0, steps.length - 1);
  const go = (to) => {
    if (to < 0 || to >= steps.length) return;
    ui.release();
    ui.setAll({ ...steps[to].state, step: to });
    const { says, asks: question } = steps[to];
    ui.whisper(`${tr("Step {n} of {all}.", { n: to + 1, all: steps.length })} ${says} ${question}`);
  };
  const back = button(bar, "‹", () => go(step() - 1));
  const where = html("span", { class: "ta-where" });
  bar.append(where);
  const next = button(bar, "›", () => go(step() + 1));
  back.setAttribute("aria-label", tr("Previous step"));
  next.setAttribute("aria-label", tr("Next step"));
  // Always in sight: a button that came and went would push the picture away from under the hand.
  const scene = button(bar, "↺", () => go(step()));
  fill(scene, { "aria-label": tr("Set the scene"), title: tr("Set the scene") });
  ui.story.append(bar, words, asks);

  let [shown, reply] = [-1, null];
  const alike = (a, b) => Object.is(a, b) || (Array.isArray(a) && String(a) === String(b));
  const told = (names) => names.every((name) => alike(ui.get(name), steps[step()].state[name]));
  const rests = () => Object.keys(steps[step()].state).filter((name) => !steps[step()].moves.includes(name));
  ui.bind("step", () => {
    const now = step();
    scene.setAttribute("aria-disabled", String(told(Object.keys(steps[now].state))));
    // Its room stays: nothing moves under the hand. What "Show me" does on its way belongs to the reply.
    if (reply) reply.style.visibility = stage.on || told(rests()) ? "" : "hidden";
    if (shown === now) return;
    shown = now;
    where.textContent = tr("{n} of {all}", { n: now + 1, all: steps.length });
    // aria-disabled keeps the focus on the button when the end is reached.
    back.setAttribute("aria-disabled", String(now === 0));
    next.setAttribute("aria-disabled", String(now === steps.length - 1));
    ask(steps[now]);
  });

  function ask(now) {
    const { says, asks: question, choices, answer, because, look, state, show } = now;
    words.textContent = says;
    reply = html("span", { class: "ta-reply" });
    // Room for the longer reply, and for the button: neither pushes the picture away when it comes.
    const room = because.length > look.length ? because : look;
    const line = html("span", { class: "ta-told", "data-room": `✓ ${room}` }, reply);
    const shows = show.length
      ? [button(asks, tr("Show me"), () => showMe(ui, stage, now, told(Object.keys(state))))] : [];
    for (const node of shows) fill(node, { class: "ta-button ta-show", style: "visibility: hidden" });
    const options = choices.map((choice, i) => {
      const option = button(asks, choice, () => {
        if (!told(rests())) {
          ui.release();
          ui.setAll(Object.fromEntries(rests().map((name) => [name, state[name]])));
        }
        const right = i === answer;
        reply.textContent = right ? `✓ ${because}` : `✗ ${look}`;
        reply.dataset.good = String(right);
        options.forEach((other, j) => other.setAttribute("aria-pressed", String(i === j)));
        for (const node of shows) node.style.visibility = "";
        ui.whisper(reply.textContent);
      });
      option.setAttribute("aria-pressed", "false");
      return option;
    });
    asks.replaceChildren(html("span", { class: "ta-question" }, question), ...options, ...shows, line);
  }
}
