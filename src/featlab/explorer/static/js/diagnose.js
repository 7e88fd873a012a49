// Diagnose: a CSV is dropped, a column chosen, and what theory says of it is told. It goes to this machine's server only.

import { stream } from "./api.js";
import { announce, el, fill, labelled, save, short } from "./dom.js";
import { Picture } from "./plots.js";

const LARGEST = 16 * 2 ** 20;

export function diagnoseView(place) {
  const chooser = el("input", { type: "file", accept: ".csv,text/csv", id: "csv", onchange: () => chooser.files[0] && take(chooser.files[0]) });
  const drop = el("div", { class: "drop" }, el("p", {}, el("strong", {}, "Drop a CSV here"), ", or choose one. It never leaves this machine."), el("label", { for: "csv" }, "File "), chooser);
  const column = el("select", { id: "label" });
  const curves = el("input", { type: "checkbox", id: "with-curves", checked: true });
  const start = el("button", { type: "button", id: "diagnose-start", onclick: () => (running ? halt("Stopped.") : run()) }, "Diagnose");
  const settings = el("div", { class: "card", hidden: true }, labelled("The label is the column", column, "What is to be learned; every other column is an input."),
    el("div", { class: "field tick" }, curves, el("label", { for: "with-curves" }, "Learning curves (most of the time)")), start);
  const words = el("p", { class: "progress", role: "status", id: "diagnose-status" });
  const picture = new Picture({ title: "Learning curves", name: "learning-curves", height: 380 });
  const report = el("div", { id: "report" });
  const pictures = el("div", { class: "card", hidden: true }, picture.element);
  fill(place, el("div", { class: "card" }, drop), settings, words, report, pictures);
  let [running, text, name] = [null, null, ""];

  for (const event of ["dragenter", "dragover"]) place.addEventListener(event, () => drop.classList.add("over"));
  place.addEventListener("dragleave", (left) => { if (!place.contains(left.relatedTarget)) drop.classList.remove("over"); });
  place.addEventListener("drop", (dropped) => {
    drop.classList.remove("over");
    if (dropped.dataTransfer.files[0]) take(dropped.dataTransfer.files[0]);
  });

  async function take(file) {
    if (file.size > LARGEST) return fill(words, el("span", { class: "notice fault" }, `${file.name} has ${short(file.size / 2 ** 20, 3)} MB; at most 16 are read here. The command line takes more: featlab diagnose FILE --label NAME`));
    [text, name] = [await file.text(), file.name];
    const names = header(text);
    fill(column, names.map((one, index) => el("option", { value: one, selected: index === names.length - 1 }, one)));
    settings.hidden = names.length < 2;
    return fill(words, names.length < 2 ? "This file has no second column: a CSV with a line of names is expected." : `${name}: ${names.length} columns, ${short(text.trimEnd().split("\n").length - 1)} rows.`);
  }

  function halt(said) {
    running?.stop();
    running = null;
    start.textContent = "Diagnose";
    fill(words, said);
  }

  async function run() {
    start.textContent = "Stop";
    fill(report);
    pictures.hidden = true;
    fill(words, el("span", { class: "spinner" }), "Asking …");
    const query = new URLSearchParams({ label: column.value, curves: String(curves.checked) });
    const mine = (running = stream(`diagnose?${query}`, text, (event, data) => running === mine && heard[event]?.(data), "text/csv"));
    try {
      await mine.ended;
    } catch (fault) {
      if (running === mine) halt(el("span", { class: "notice fault" }, fault.message));
    }
  }

  const heard = {
    queued: (data) => fill(words, el("span", { class: "spinner" }), data.place ? `Waiting, ${data.place} before this one …` : "Starting …"),
    step: (data) => fill(words, el("span", { class: "spinner" }), `${data.words} …`),
    error: (data) => halt(el("span", { class: "notice fault" }, data.error.message)),
    cancelled: () => halt("Stopped."),
    done: (data) => {
      fill(report, el("section", { class: "card", "aria-label": "Diagnosis" }, el("h2", {}, `What theory says of ${name}`), el("pre", { tabindex: "0" }, data.words),
        el("button", { type: "button", class: "quiet", onclick: () => save("diagnosis.html", data.page, "text/html") }, "Save as a page with pictures")));
      const list = data.diagnosis.curves ?? [];
      pictures.hidden = !list.length;
      if (list.length) picture.draw((palette) => learning(palette, list));
      halt("Done.");
      announce("The diagnosis is done.");
    },
  };
  return { again() { if (running) halt("The diagnosis was lost when the server ended. Start it again."); } };
}

/** The names in the first line of a CSV; quotes may hold commas. */
function header(text) {
  const line = text.replace(/^\ufeff/, "").split(/\r?\n/, 1)[0];
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => (quoted?.replaceAll('""', '"') ?? plain).trim());
}

const errorsAt = (one, size) => one.errors.map((split) => split[size]);
const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;

/** Errors over splits of the rows, at each size; over that of ridge regression lies its theory. */
function learning(palette, list) {
  const curves = list.map((one) => ({ ...one, means: one.sizes.map((_, size) => mean(errorsAt(one, size))) }));
  const traces = curves.flatMap((one, place) => {
    const colour = palette.series[place % 6];
    const spread = one.sizes.map((_, size) => [Math.min(...errorsAt(one, size)), Math.max(...errorsAt(one, size))]);
    return [
      { type: "scatter", mode: "lines+markers", x: one.sizes, y: one.means, name: one.kind, line: { color: colour, width: 2.5 },
        error_y: { type: "data", symmetric: false, array: spread.map(([, high], size) => high - one.means[size]), arrayminus: spread.map(([low], size) => one.means[size] - low), thickness: 1.2, width: 3 } },
      one.theory && { type: "scatter", mode: "lines", x: one.sizes, y: one.theory, name: `${one.kind}, theory`, line: { color: colour, width: 2, dash: "dot" } },
    ].filter(Boolean);
  });
  return {
    traces, label: `Learning curves of ${list.length} kinds of estimators`,
    layout: { xaxis: { type: "log", title: "rows used", tickvals: list[0].sizes, ticktext: list[0].sizes.map((one) => short(one)) }, yaxis: { title: "error on held-out rows / Var y", rangemode: "tozero" } },
    headers: ["Estimator", "Rows", "Mean error", "Theory"], rows: curves.flatMap((one) => one.sizes.map((size, place) => [one.kind, size, one.means[place], one.theory?.[place] ?? null])),
  };
}
