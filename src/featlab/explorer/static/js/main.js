// The page begins here: views, colours, and whether the server is there.

import { get, onReach } from "./api.js";
import { composer } from "./composer.js";
import { diagnoseView } from "./diagnose.js";
import { $, announce, fill, el } from "./dom.js";
import { functionView } from "./function.js";
import { galleryView } from "./gallery.js";
import { homeView } from "./home.js";
import { recolour } from "./plots.js";
import { predictView } from "./predict.js";
import { raceView } from "./race.js";
import { addressOf, state, watch } from "./state.js";

const MAKERS = { function: functionView, predict: predictView, race: raceView, diagnose: diagnoseView, gallery: galleryView, home: homeView };
const WITH_TARGET = ["function", "predict", "race"];
const THEMES = ["system", "light", "dark"];
const AGAIN = 1500; // milliseconds between two looks for a server that is gone
const made = {};

function show(now, changed) {
  for (const view of Object.keys(MAKERS)) $(`#view-${view}`).hidden = view !== now.view;
  $("#composer").hidden = !WITH_TARGET.includes(now.view);
  for (const link of document.querySelectorAll("nav a")) {
    link.setAttribute("href", addressOf({ ...now, view: link.dataset.view }));
    if (link.dataset.view === now.view) {
      link.setAttribute("aria-current", "page");
      link.parentElement.scrollLeft = link.offsetLeft - link.parentElement.offsetLeft; // on a phone not all are seen
    } else link.removeAttribute("aria-current");
  }
  const title = $(`nav a[data-view="${now.view}"]`).textContent;
  $("#title").textContent = title;
  document.title = `${title} – featlab explorer`;
  made[now.view] ??= MAKERS[now.view]($(`#view-${now.view}`));
  made[now.view].update?.(now, changed);
}

function dress(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  $("#theme").setAttribute("aria-label", `Colours: ${theme === "system" ? "as the system" : theme}; press for the next`);
  $("#theme").textContent = { system: "Colours: system", light: "Colours: light", dark: "Colours: dark" }[theme];
  recolour();
}

function themes() {
  let theme = localStorage.getItem("featlab-theme");
  if (!THEMES.includes(theme)) theme = "system";
  dress(theme);
  $("#theme").addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    localStorage.setItem("featlab-theme", theme);
    dress(theme);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
}

/** Says that the server is gone, looks for it, and asks again what was asked last when it is back. */
function watchServer() {
  let [gone, started] = [false, null];
  const look = async () => {
    try {
      const health = await get("health");
      $("#version").textContent = `featlab ${health.version}`;
      if (gone || (started && started !== health.started)) back();
      started = health.started;
    } catch {
      setTimeout(look, AGAIN);
    }
  };
  const back = () => {
    gone = false;
    fill($("#lost")).hidden = true;
    announce("The server is back.");
    composing.update(state(), new Set(["again"]));
    Object.values(made).forEach((view) => view.again?.());
    show(state(), new Set(["again"]));
  };
  onReach((answered) => {
    if (answered || gone) return;
    gone = true;
    fill($("#lost"), el("span", {}, "The server does not answer. Is featlab explore still running? This page goes on when it is back.")).hidden = false;
    setTimeout(look, AGAIN);
  });
  look();
}

const composing = composer($("#composer"));
watch((now, changed) => {
  composing.update(now, changed);
  show(now, changed);
  if (changed.has("view")) $("#main").focus({ preventScroll: true });
});
$("#skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("#main").focus();
});
// A file that is let go beside its place would take the browser away from this page.
for (const event of ["dragover", "drop"]) addEventListener(event, (dragged) => dragged.preventDefault());
themes();
watchServer();
composing.update(state(), new Set(["target", "first"]));
show(state(), new Set(["first"]));
