// The story: a few steps, each of which sets the picture, says what to notice, and asks what the picture answers.

const answered = new WeakMap(); // model → the steps that were answered, also for a view that is built anew

/**
 * Steps from `spec.story`: [{ state, moves, says, asks, choices, answer, because, look, show, waits, without }]. Back and Next set a
 * step's state; the learner may then move anything, and "Set the scene" brings it back. So does an answer, for what it
 * rests on: a reply speaks of the scene, is never given about another picture, and is not shown beside one. "Show me"
 * does what the reply speaks of, and says it. Read-outs that would give the answer away wait for it, as long as the
 * scene stands.
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
    ui.stops.forEach((stop) => stop()); // else what plays would go on in the new scene
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

  if (!answered.has(ui.model)) answered.set(ui.model, new Set());
  const known = answered.get(ui.model);
  let [shown, reply, numbers] = [-1, null, null];
  const alike = (a, b) => Object.is(a, b) || (Array.isArray(a) && String(a) === String(b));
  const told = (names) => names.every((name) => alike(ui.get(name), steps[step()].state[name]));
  const rests = () => Object.keys(steps[step()].state).filter((name) => !steps[step()].moves.includes(name));
  /**
   * Does the step go without that part? Such a part comes with a later step, unless its trait, or the trait that it is
   * a part of, stands elsewhere than in the scene; in the first step also the checks. Only where the picture stands
   * alone: a notebook's text may speak of any control, and checks of the learner's own function are news at once.
   */
  ui.without = (part, of = part) => Boolean(ui.get("alone")) && told([of])
    && [...steps[step()].without, ...(step() ? [] : ["checks"])].includes(part);
  ui.bind("step", () => {
    const now = step();
    scene.setAttribute("aria-disabled", String(told(Object.keys(steps[now].state))));
    // Its room stays: nothing moves under the hand. What "Show me" does on its way belongs to the reply.
    if (reply) reply.style.visibility = stage.on || told(rests()) ? "" : "hidden";
    wait();
    for (const node of ui.root.querySelectorAll("[data-part]")) {
      node.toggleAttribute("data-away", ui.without(node.dataset.part, node.dataset.of));
    }
    if (shown === now) return;
    shown = now;
    where.textContent = tr("{n} of {all}", { n: now + 1, all: steps.length });
    // aria-disabled keeps the focus on the button when the end is reached.
    back.setAttribute("aria-disabled", String(now === 0));
    next.setAttribute("aria-disabled", String(now === steps.length - 1));
    ask(steps[now]);
    wait();
  });

  /** Read-outs of another picture don't wait: they say nothing about the scene. */
  function wait() {
    const waits = !known.has(step()) && told(rests()) ? steps[step()].waits : [];
    ui.root.dataset.waits = waits.join(" ");
    if (numbers) numbers.style.visibility = waits.length ? "" : "hidden";
  }

  function know() {
    known.add(step());
    wait();
    ui.ask();
  }

  function ask(now) {
    const { says, asks: question, choices, answer, because, look, state, show, waits } = now;
    words.textContent = says;
    reply = html("span", { class: "ta-reply" });
    // Room for the longer reply, and for the button: neither pushes the picture away when it comes.
    const room = because.length > look.length ? because : look;
    const line = html("span", { class: "ta-told", "data-room": `✓ ${room}` }, reply);
    const mark = () => options[answer].toggleAttribute("data-right", true);
    // Where to look has been looked at: what is to be seen there stands in its place.
    const seen = () => {
      mark();
      if (reply.dataset.good === "true") return;
      reply.textContent = `→ ${because}`;
      delete reply.dataset.good;
    };
    const shows = show.length
      ? [button(asks, tr("Show me"), () => showMe(ui, stage, now, told(Object.keys(state)), seen))] : [];
    for (const node of shows) fill(node, { class: "ta-button", style: "visibility: hidden" });
    const reveal = () => {
      know();
      seen();
      ui.whisper(reply.textContent);
    };
    numbers = waits.length ? button(asks, tr("Reveal"), reveal) : null;
    // One place for both: the second comes when the first goes.
    const ahead = html("span", { class: "ta-show" }, ...shows, ...(numbers ? [numbers] : []));
    const options = choices.map((choice, i) => {
      const option = button(asks, choice, () => {
        if (!told(rests())) {
          ui.release();
          ui.stops.forEach((stop) => stop());
          ui.setAll(Object.fromEntries(rests().map((name) => [name, state[name]])));
        }
        const right = i === answer;
        reply.textContent = right ? `✓ ${because}` : `✗ ${look}`;
        reply.dataset.good = String(right);
        if (right) mark();
        options.forEach((other, j) => other.setAttribute("aria-pressed", String(i === j)));
        for (const node of shows) node.style.visibility = "";
        know();
        ui.whisper(reply.textContent);
      });
      option.setAttribute("aria-pressed", "false");
      return option;
    });
    asks.replaceChildren(html("span", { class: "ta-question" }, question), ...options, ahead, line);
  }
}
