// What theory says while a slider moves: a draft at once, the whole prediction when it rests; never more than one is waited for.

import { latest, post } from "./api.js";
import { debounce, duration, el, fill } from "./dom.js";
import { withObserved } from "./experiment.js";

const REST = 250; // milliseconds without a change before a draft is followed by the whole prediction
// Milliseconds after which what is being computed is given up for something else that is asked: longer on a machine that is slow.
const [STALE, LONGEST] = [700, 4000];
const SLOW = 300; // milliseconds after which a person is told that something is being computed, and how long it takes
const QUICK = 120; // milliseconds of a whole prediction that needs no draft

/** `ask(experiment, learner)` draws what theory says of it in all parts; `outdated` is called when another is asked. */
export function theoryPart(status, parts, outdated) {
  const answers = latest();
  const quick = new Map(); // of each learner, the milliseconds that its last whole prediction took
  const patience = new Map(); // of each learner, how long it is waited for: twice as long as its last answer took
  let [wanted, flight] = [null, null];

  const patient = (learner) => patience.get(learner) ?? STALE;
  const wait = (learner, milliseconds) => patience.set(learner, Math.min(LONGEST, Math.max(STALE, milliseconds)));

  async function estimate(mine) {
    const { seconds } = await post("estimate", { experiment: mine.experiment });
    if (flight === mine) fill(status, el("span", { class: "spinner" }), `Computing ${mine.drawn ? "the last digits of " : ""}the theory … about ${duration(seconds)}`);
  }

  async function fly(draft, drawn) {
    whole.cancel();
    const mine = (flight = { ...wanted, draft, drawn, began: performance.now() });
    const slow = setTimeout(() => estimate(mine).catch(() => null), SLOW); // who cannot estimate says nothing
    const stale = setTimeout(() => { if (flight === mine) leave(mine); }, patient(mine.learner));
    try {
      const answer = await answers("predict", { experiment: withObserved(mine.experiment), draft });
      if (flight !== mine || !answer) return;
      land(mine, answer);
    } catch (fault) {
      if (flight !== mine) return;
      flight = null;
      refuse(mine, fault);
    } finally {
      clearTimeout(slow);
      clearTimeout(stale);
    }
  }

  /** It is stale: if something else is wanted, that is asked, and waited for longer, or nothing would ever be drawn. */
  function leave(mine) {
    mine.stale = true;
    if (wanted?.name === mine.name) return;
    wait(mine.learner, 2 * patient(mine.learner));
    begin();
  }

  function land(mine, answer) {
    flight = null;
    const spent = performance.now() - mine.began;
    if (!mine.drawn) wait(mine.learner, 2 * spent);
    if (!mine.draft) quick.set(mine.learner, spent); // who has no drafts is always asked for one, and what is kept is found
    parts.forEach((part) => part.theory?.(answer.prediction));
    const more = answer.draft ? ", to the accuracy of the picture. " : ". ";
    fill(status, el("span", { class: "reading", id: "theory-time", "data-draft": String(answer.draft) }, `Theory in ${Math.round(spent)} ms${more}`), el("span", { class: "small" }, answer.prediction.words));
    if (wanted?.name !== mine.name) begin();
    else if (answer.draft) whole();
  }

  function refuse(mine, fault) {
    if (wanted?.name !== mine.name) return begin();
    if (fault.lost) wanted = null;
    fill(status, el("span", { class: fault.kind === "no prediction" ? "notice" : "notice fault" }, fault.message));
    return parts.forEach((part) => part.theory?.(null));
  }

  const begin = () => wanted && fly(!(quick.get(wanted.learner) < QUICK), false);
  const whole = debounce(() => fly(false, true), REST);
  return {
    ask(experiment, learner) {
      const name = JSON.stringify(experiment);
      if (name === wanted?.name) return;
      wanted = { name, experiment, learner: learner.name };
      outdated();
      parts.forEach((part) => part.expect?.(experiment, learner));
      if (!flight || flight.drawn) begin();
      else if (flight.stale) leave(flight); // else when it is there, or stale
    },
    forget() { wanted = null; },
  };
}
