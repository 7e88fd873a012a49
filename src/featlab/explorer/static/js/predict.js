// Predict and simulate: the theory's curve as sliders move, the seeds of a simulation as they come, and their agreement.

import { post, stream } from "./api.js";
import { onParsed, parsedTarget } from "./composer.js";
import { curvesPart } from "./curves.js";
import { announce, duration, el, fill, labelled, papers, slider } from "./dom.js";
import { dials, experimentOf, learnerOf, settings, withObserved } from "./experiment.js";
import { learners } from "./facts.js";
import { changeExperiment, state } from "./state.js";
import { spherePart } from "./sphere.js";
import { spectrumPart } from "./spectrum.js";
import { sweepPart } from "./sweep.js";
import { theoryPart } from "./theory.js";

export function predictView(place) {
  const controls = el("div", { class: "card controls", id: "controls" });
  const about = el("p", { class: "small" });
  const status = el("p", { class: "progress", role: "status", id: "theory-status" });
  const parts = [curvesPart(), spectrumPart(), spherePart(), sweepPart(() => experimentOf(state(), learnerOf(state(), known)))];
  const runner = runPart(parts, () => experimentOf(state(), learnerOf(state(), known)));
  fill(place, el("div", { class: "bench" }, controls, el("div", {}, el("div", { class: "card" }, about, runner.element, status, parts[0].element, runner.agreement), parts.slice(1).map((part) => part.element))));
  let [known, dialsShown] = [null, null];
  const theory = theoryPart(status, parts, () => runner.outdated());

  function look() {
    const now = state();
    if (now.view !== "predict" || !known || parsedTarget()?.typed !== now.target) return;
    const learner = learnerOf(now, known);
    theory.ask(experimentOf(now, learner), learner);
  }

  function dress(now) {
    const learner = learnerOf(now, known);
    if (dialsShown?.learner !== learner.name || dialsShown.fields !== fieldsShown(now, learner)) {
      dialsShown = { learner: learner.name, fields: fieldsShown(now, learner), ...controlsOf(now, learner, known) };
      fill(controls, dialsShown.elements);
      fill(about, el("strong", {}, learner.name), ` – ${learner.does} `, papers(learner.papers));
    }
    dialsShown.update(now);
  }

  async function begin() {
    try {
      known ??= await learners();
      dress(state());
      look();
    } catch (fault) {
      fill(status, el("span", { class: "notice fault" }, fault.message));
    }
  }
  onParsed((parsed) => parsed && look());
  begin();
  return {
    update(now) {
      if (!known) return;
      dress(now);
      look();
    },
    again() { theory.forget(); runner.lost(); begin(); },
  };
}

const fieldsShown = (now, learner) => dials(now, learner).map((one) => one.name).join();

/** The controls of a learner: its name, its sliders, and every other field under "More options". */
function controlsOf(now, learner, known) {
  const choose = el("select", { id: "learner", onchange: () => changeExperiment({ ...Object.fromEntries(Object.keys(state().x).map((name) => [name, null])), learner: choose.value }) },
    known.learners.map((one) => el("option", { value: one.name, selected: one.name === learner.name }, one.predictable ? one.name : `${one.name} (no theory)`)));
  const sliders = dials(now, learner).map((one) => [one.name, slider(one.label, { id: `dial-${one.name}`, min: one.low, max: one.high, step: one.step, value: one.value, shown: one.shown,
    moved: (value) => turn(learner, one.name, value) })]);
  const dialled = new Set([...sliders.map(([name]) => name), "noise", "spike", "alignment"]);
  const others = [...learner.fields, ...known.fields].filter((one) => !dialled.has(one.name)).map((one) => [one.name, control(one)]);
  return {
    elements: [labelled("Learner", choose), sliders.map(([, made]) => made),
      el("details", { id: "more" }, el("summary", {}, "More options"), others.map(([, made]) => made.element))],
    update(fresh) {
      const places = Object.fromEntries(dials(fresh, learner).map((one) => [one.name, one.value]));
      for (const [name, made] of sliders) if (name in places) made.set(places[name]);
      const said = settings(fresh, learner);
      for (const [name, made] of others) made.set(said[name]);
    },
  };
}

/** A dial is moved: at least as far as makes a difference, since sizes are rounded and one neuron is followed by two. */
function turn(learner, name, value) {
  const dial = dials(state(), learner).find((one) => one.name === name);
  const said = settings(state(), learner);
  const usual = Object.fromEntries(learner.fields.map((field) => [field.name, field.default]));
  const same = (patch) => Object.entries(patch).every(([field, text]) => String(said[field] ?? usual[field]) === text);
  const way = Math.sign(value - dial.value) * dial.step;
  let place = value;
  while (way && place > dial.low && place < dial.high && same(dial.patch(place))) place += way;
  changeExperiment(dial.patch(Math.min(dial.high, Math.max(dial.low, place))), name);
}

/** A field as a control: a list to choose from, a tick, or a text. */
function control(field) {
  const label = field.name.replaceAll("_", " ");
  const fallback = field.default === null ? "" : String(field.default);
  const tell = (value) => changeExperiment({ [field.name]: value }, field.name);
  if (field.kind === "flag") {
    const box = el("input", { type: "checkbox", id: `field-${field.name}`, onchange: () => tell(String(box.checked)) });
    const element = el("div", { class: "field" }, el("div", { class: "tick" }, box, el("label", { for: box.id }, label)), el("p", { class: "hint" }, field.meaning));
    return { element, set: (value) => { box.checked = String(value ?? field.default) === "true"; } };
  }
  if (field.kind === "choice") {
    const list = el("select", { id: `field-${field.name}`, onchange: () => tell(list.value) }, field.choices.map((one) => el("option", { value: one }, one)));
    return { element: labelled(label, list, field.meaning), set: (value) => { list.value = value ?? fallback; } };
  }
  const text = el("input", { type: "text", id: `field-${field.name}`, spellcheck: "false", autocomplete: "off", placeholder: fallback || field.takes, maxlength: "500", onchange: () => tell(text.value.trim()) });
  return { element: labelled(label, text, field.meaning), set: (value) => { if (document.activeElement !== text) text.value = value ?? ""; } };
}

/** A simulation: started, paused, cancelled; every seed is handed on as it comes. */
function runPart(parts, experiment) {
  const button = (id, words, pressed) => el("button", { type: "button", id, onclick: pressed }, words);
  const start = button("simulate", "Simulate", () => run());
  const pause = button("pause", "Pause", () => control(paused ? "resume" : "pause"));
  const cancel = button("cancel", "Cancel", () => { running?.stop(); ended("Cancelled."); });
  const words = el("p", { class: "progress", role: "status", id: "run-status" });
  const bar = el("progress", { "aria-label": "Seeds that are done", max: 1, value: 0, hidden: true });
  const agreement = el("div", { id: "agreement" });
  let [running, job, paused, done, seeds, began] = [null, null, false, 0, 0, 0];
  [pause, cancel].forEach((one) => { one.disabled = true; one.classList.add("quiet"); });

  function ended(said) {
    running = null;
    paused = false;
    start.disabled = false;
    pause.disabled = cancel.disabled = bar.hidden = true;
    pause.textContent = "Pause";
    fill(words, said);
    announce(said);
  }

  async function control(what) {
    try {
      await post(`jobs/${job}/${what}`, {});
    } catch (fault) {
      fill(words, fault.message);
    }
  }

  /** Seeds that had begun come after a pause, too. */
  function count() {
    if (paused) fill(words, `Paused after ${done} of ${seeds} seeds.`);
    else fill(words, el("span", { class: "spinner" }), `${done} of ${seeds} seeds, ${duration((performance.now() - began) / 1000)}`);
  }

  const heard = {
    queued: (data) => { job = data.job; fill(words, el("span", { class: "spinner" }), data.place ? `Waiting, ${data.place} before this one …` : "Starting …"); },
    started: (data) => { seeds = data.seeds?.length ?? seeds; began = performance.now(); pause.disabled = false;
      fill(words, el("span", { class: "spinner" }), `Running ${seeds} seeds${data.seconds ? `, about ${duration(data.seconds)}` : ""}; the first compiles its program …`); },
    seed: (data) => { done += 1; bar.value = done / seeds; parts.forEach((part) => part.seed?.(data.simulation));
      count(); },
    paused: () => { paused = true; pause.textContent = "Resume"; count(); },
    resumed: () => { paused = false; pause.textContent = "Pause"; count(); },
    agreement: (data) => fill(agreement, verdictOf(data)),
    done: () => ended(`Done: ${done} seeds in ${duration((performance.now() - began) / 1000)}.`),
    cancelled: () => ended("Cancelled."),
    error: (data) => { fill(agreement, el("p", { class: "notice fault" }, data.error.message)); ended("The simulation failed."); },
  };

  async function run() {
    const asked = withObserved(experiment());
    [done, seeds] = [0, Number(asked.seeds ?? 10)];
    parts.forEach((part) => part.begin?.());
    fill(agreement);
    start.disabled = true;
    cancel.disabled = bar.hidden = false;
    bar.value = 0;
    fill(words, el("span", { class: "spinner" }), "Asking …");
    const mine = (running = stream("simulate", { experiment: asked }, (name, data) => { if (running === mine) heard[name]?.(data); }));
    try {
      await mine.ended;
    } catch (fault) {
      if (running === mine) heard.error({ error: fault });
    }
  }

  return {
    element: el("div", { class: "run" }, el("div", { class: "row" }, start, pause, cancel, words), bar),
    agreement,
    outdated() {
      if (!running && !done) return;
      running?.stop();
      if (running) ended("Cancelled: something else is asked now.");
      else fill(words);
      fill(agreement);
      done = 0;
      parts.forEach((part) => part.begin?.());
    },
    lost() { if (running) { running.stop(); ended("The run was lost when the server ended. Simulate again."); } },
  };
}

const CLASSES = { agrees: "agrees", disagrees: "disagrees" };

function verdictOf(data) {
  if (!data.agreement) return el("p", { class: "agreement" }, el("strong", {}, "No comparison. "), data.reason);
  const { verdict, reason } = data.agreement;
  const capital = verdict[0].toUpperCase() + verdict.slice(1);
  return el("p", { class: `agreement ${CLASSES[verdict] ?? ""}` }, el("strong", {}, `Theory ${verdict === "cannot tell" ? "and simulation: cannot tell" : verdict}. `),
    reason || `${capital}.`);
}
