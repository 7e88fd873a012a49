// The view of a function: what can be learned of it.

import { onParsed, parsedTarget } from "./composer.js";
import { costsPart } from "./costs.js";
import { announce, debounce, el, exhibitLinks, fill, papers } from "./dom.js";
import { analysis } from "./facts.js";
import { linkPart } from "./link.js";
import { Picture } from "./plots.js";
import { stairsPart } from "./stairs.js";
import { state } from "./state.js";

const PAUSE = 250; // milliseconds without a change before an analysis is asked for
const KINDS = { TRIVIAL: "trivial", EASY: "easy", HARD: "hard" };

export function functionView(place) {
  const status = el("p", { class: "progress", role: "status", id: "analysis-status" });
  const verdict = el("div", { id: "verdict" });
  const notices = el("div");
  const numbers = el("div", { class: "numbers" });
  const energies = new Picture({ title: "Hermite energies", name: "energies", height: 360 });
  const [link, stairs, costs] = [linkPart(), stairsPart(), costsPart()];
  const body = el("div", {}, verdict, notices, numbers, el("div", { class: "two" }, link.element, el("section", { class: "card stacked" }, energies.element, link.slice)), stairs.element, costs.element);
  fill(place, status, body);
  let asked = null;

  async function look() {
    const now = state();
    if (now.view !== "function" || parsedTarget()?.typed !== now.target) return;
    const question = analysis(now);
    if (question === asked) return;
    asked = question;
    fill(status, el("span", { class: "spinner" }), "Analysing …");
    body.classList.add("busy");
    try {
      const answer = await question;
      if (question === asked) tell(answer);
    } catch (fault) {
      if (question !== asked) return;
      asked = null;
      fill(status, el("span", { class: "notice fault" }, fault.message));
    }
  }

  function tell(answer) {
    fill(status);
    body.classList.remove("busy");
    const { lines } = answer;
    fill(verdict, el("section", { class: `card verdict ${KINDS[lines.verdict] ?? "undecided"}`, "aria-label": "Verdict" },
      el("div", { class: "word" }, lines.verdict), el("p", { class: "reason" }, lines.reason),
      el("p", { class: "small" }, lines.setting, " · ", papers(ofVerdict(lines)), lines.exhibits.length ? [" · shown by ", exhibitLinks(lines.exhibits)] : [])));
    fill(notices, lines.notices.map((one) => el("p", { class: `notice ${one.kind === "Doubt" ? "doubt" : ""}` }, el("strong", {}, `${one.kind}: `), one.words)));
    fill(numbers, lines.exponents.map(number));
    drawEnergies(energies, answer);
    stairs.tell(answer);
    costs.tell(answer);
    announce(`${lines.verdict}: ${lines.reason}`);
  }

  const soon = debounce(look, PAUSE);
  onParsed((parsed) => {
    if (parsed === null) body.classList.add("busy");
    else link.tell(parsed);
    if (parsed) soon();
  });
  if (parsedTarget()) link.tell(parsedTarget());
  return {
    update(now, changed) {
      if (["view", "noise", "spike", "alignment", "first"].some((name) => changed.has(name))) soon();
      costs.update(now);
    },
    again() { asked = null; link.again(); soon(); },
  };
}

/** The verdict is the kind of the hardest step of the grand staircase, and rests on its papers. */
const ofVerdict = (lines) => lines.staircases.find((one) => one.line === "grand_staircase").papers;

const NAMES = { information_exponent: "Information exponent", leap: "Leap", generative_exponent: "Generative exponent", alpha_c: "Critical ratio n/d" };

function number(one) {
  return el("section", { class: "number", "aria-label": NAMES[one.line] ?? one.name },
    el("p", { class: "small" }, NAMES[one.line] ?? one.name, " ", el("span", { class: "mono" }, one.symbol)),
    el("b", {}, one.value), el("p", { class: "small" }, one.meaning),
    el("p", { class: "small" }, papers(one.papers), one.exhibits.length ? [" · ", exhibitLinks(one.exhibits)] : []));
}

/** The share of the variance at each degree, and what is beyond those computed. */
function drawEnergies(picture, answer) {
  const { hermite_energies: all, variance } = answer;
  const shares = all.map((energy) => (variance ? energy / variance : 0));
  const degrees = shares.map((_, place) => String(place + 1));
  const rest = Math.max(0, 1 - shares.reduce((sum, share) => sum + share, 0));
  picture.draw((palette) => ({
    traces: [{ type: "bar", x: [...degrees, `>${degrees.length}`], y: [...shares, rest], marker: { color: [...degrees.map(() => palette.accent), palette.line] },
      hovertemplate: "degree %{x}: %{y:.3g}<extra></extra>" }],
    layout: { xaxis: { title: "degree k", type: "category" }, yaxis: { title: "share of Var y", range: [0, 1.02] }, showlegend: false, bargap: 0.35 },
    label: `Hermite energies by degree, as shares of the variance ${variance.toPrecision(4)}`,
    headers: ["Degree", "Energy", "Share"],
    rows: [...all.map((energy, place) => [degrees[place], energy, shares[place]]), [`>${degrees.length}`, rest * variance, rest]],
  }));
}
