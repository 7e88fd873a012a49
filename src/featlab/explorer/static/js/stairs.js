// The three staircases, as steps that can be pressed.

import { el, exhibitLinks, fill, papers } from "./dom.js";

const HEADS = {
  giant_steps: ["Giant steps", "a few large gradient steps, n = O(d) samples each"],
  staircase: ["Correlations only", "the leap: one-pass SGD and every correlational query"],
  grand_staircase: ["Any function of the label", "message passing, reused batches"],
};

export function stairsPart() {
  const inside = el("div", { class: "three" });
  const condition = el("p", { class: "small" });
  const element = el("section", { class: "card", id: "stairs", "aria-label": "Staircases" }, el("h2", {}, "The staircases"),
    el("p", { class: "small" }, "Each step is what is found next, given all below it. Green: order 1. Ochre: order 2. Red: order 3 or more. Press a step."), inside, condition);
  return {
    element,
    tell(answer) {
      fill(inside, answer.lines.staircases.map((climb) => flight(climb, stagesOf(answer, climb.line), answer.rank)));
      condition.textContent = answer.lines.condition;
    },
  };
}

/** The stages of one staircase with their new directions and orders; giant steps find order 1, given what is known. */
function stagesOf(answer, line) {
  if (line === "giant_steps") return answer.giant_steps.map((directions) => ({ directions, exponent: 1 }));
  return answer[line];
}

function flight(climb, stages, rank) {
  const told = el("div", { class: "told", "aria-live": "polite" });
  const buttons = [];
  let known = 0;
  climb.rows.forEach(([opens, directions], place) => {
    const stage = stages[place];
    const fresh = stage ? stage.directions.length : rank - known;
    buttons.push(stair({ opens, directions, stage, known, fresh, rank }));
    known += fresh;
  });
  const press = (place) => {
    buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === place)));
    fill(told, words(climb.rows[place], stages[place], place));
  };
  buttons.forEach((button, place) => button.addEventListener("click", () => press(place)));
  const [title, meaning] = HEADS[climb.line] ?? [climb.learner, ""];
  const made = el("div", { class: "flight" }, el("h3", {}, title), el("p", { class: "small" }, meaning),
    el("div", { class: "stairs", role: "group", "aria-label": title }, buttons), told,
    el("p", { class: "small" }, papers(climb.papers), climb.exhibits.length ? [" · ", exhibitLinks(climb.exhibits)] : []));
  press(0);
  return made;
}

function stair({ opens, directions, stage, known, fresh, rank }) {
  const order = stage ? Math.min(3, stage.exponent) : 0;
  const top = el("span", { class: `new order-${order}` }, stage ? directions : "–");
  const below = el("span", { class: "known" });
  top.style.height = `${(90 * fresh) / rank}%`;
  below.style.height = `${(90 * known) / rank}%`;
  return el("button", { type: "button", class: "stair", "aria-pressed": "false", "aria-label": [opens, directions].filter(Boolean).join(": ") }, top, below);
}

function words([opens, directions], stage, place) {
  const signal = stage?.signal === undefined ? [] : [el("p", { class: "small" }, `Size of the signal, as a share: ${stage.signal.toPrecision(3)} ± ${stage.signal_error.toExponential(0)}`)];
  return [el("p", {}, el("strong", {}, `Step ${place + 1}: `), directions ? [el("span", { class: "mono" }, directions), ", "] : [], opens), ...signal];
}
