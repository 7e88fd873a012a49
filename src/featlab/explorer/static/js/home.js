// Take it home: the same without this page, as a command, as Python, as JSON, as an address, as a page.

import { post, postForText } from "./api.js";
import { announce, el, fill, save } from "./dom.js";
import { experimentOf, learnerOf } from "./experiment.js";
import { learners, questionOf } from "./facts.js";
import { raceOf } from "./race.js";
import { addressOf, lastView, state } from "./state.js";

const WHATS = [["explain", "What can be learned of the function"], ["predict", "The theory of the experiment"], ["simulate", "Its simulation"], ["compare", "Both, with their agreement"], ["race", "The race"]];

export function homeView(place) {
  const choose = el("select", { id: "what", onchange: () => look() }, WHATS.map(([value, words]) => el("option", { value }, words)));
  const inside = el("div", { id: "home" });
  const page = el("button", { type: "button", id: "page", onclick: () => takePage() }, "Save the page of explain");
  const words = el("p", { class: "progress", role: "status", id: "home-status" });
  fill(place, el("div", { class: "card" }, el("h2", {}, "Take it home"), el("div", { class: "field" }, el("label", { for: "what" }, "What is taken"), choose),
    el("div", { class: "row" }, page), words, el("p", { class: "small" }, "Pictures are saved as SVG or PNG by the buttons above each of them.")), inside);

  async function look() {
    const what = choose.value;
    try {
      const experiment = await experimentFor(what);
      const answer = await post("take-home", { what, experiment });
      fill(inside, block("Command line", answer.command, "command"), block("Python", answer.python, "python"), block("JSON", JSON.stringify(answer.json, null, 2), "json"), block("Address of this state", addressHere(), "address"));
      fill(words);
    } catch (fault) {
      fill(inside, block("Address of this state", addressHere(), "address"));
      fill(words, el("span", { class: "notice fault" }, fault.message));
    }
  }

  async function takePage() {
    page.disabled = true;
    fill(words, el("span", { class: "spinner" }), "Writing the page …");
    try {
      save("explanation.html", await postForText("page", questionOf(state())), "text/html");
      fill(words, "Saved as explanation.html.");
    } catch (fault) {
      fill(words, el("span", { class: "notice fault" }, fault.message));
    }
    page.disabled = false;
  }
  return { update: (now, changed) => { if (changed.has("view") || changed.has("first")) choose.value = { predict: "compare", race: "race" }[lastView()] ?? "explain"; look(); }, again: () => { look(); } };
}

const given = (said) => Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null && value !== undefined));

async function experimentFor(what) {
  const now = state();
  if (what === "explain") return given({ ...questionOf(now), noise: now.noise || null, dim: now.dim });
  if (what === "race") return given({ ...raceOf(now), noise: now.noise || null });
  return experimentOf(now, learnerOf(now, await learners()));
}

const addressHere = () => location.href.split("#")[0] + addressOf({ ...state(), view: lastView() });

function block(title, text, id) {
  const copy = el("button", { type: "button", class: "quiet", "aria-label": `Copy: ${title}`, onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      announce(`${title}: copied`);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(shown);
      copy.textContent = "Selected: press Ctrl-C";
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 2000);
  } }, "Copy");
  const shown = el("pre", { id: `home-${id}`, tabindex: "0" }, text);
  return el("section", { class: "card", "aria-label": title }, el("div", { class: "field-head" }, el("h3", {}, title), copy), shown);
}
