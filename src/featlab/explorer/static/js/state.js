// The state of the page lives in its address, after the #: a link shows the same, back and forward go through it.
//
//     #/predict?target=tanh(h1)&noise=0.1&x.learner=online-sgd&x.step_size=0.5/d
//
// Names with "x." are those of the experiment, names with "race." those of the race.

const VIEWS = ["function", "predict", "race", "diagnose", "gallery", "home"];
const DEFAULTS = { target: "h1 + h1*h2 + He3(h3)", noise: 0, spike: null, alignment: 0, dim: 1000, x: {}, race: {} };
const NUMBERS = ["noise", "spike", "alignment", "dim"];
const LONGEST = 2000;
const SAME_GESTURE = 1200; // milliseconds within which one control's changes are one entry of the history

let current = read();
let lastShown = current.view === "home" ? "function" : current.view;
let lastControl = null;
let lastTime = 0;
const watchers = new Set();

/** The state as it is; to be read, not written. */
export const state = () => current;

/** The view that was looked at before "Take it home". */
export const lastView = () => lastShown;

/** Be told of every change: (state, changed), with changed the names that differ. */
export function watch(watcher) {
  watchers.add(watcher);
}

/** Change the state; `control` names what did it, so that one drag is one step back. */
export function change(patch, control = null) {
  const before = current;
  current = { ...current, ...patch };
  const address = addressOf(current);
  if (address === location.hash) return tell(before);
  const now = performance.now();
  const together = control !== null && control === lastControl && now - lastTime < SAME_GESTURE;
  history[together ? "replaceState" : "pushState"](null, "", address);
  [lastControl, lastTime] = [control, now];
  tell(before);
}

export const changeExperiment = (patch, control) => change({ x: without({ ...current.x, ...patch }) }, control);
export const changeRace = (patch, control) => change({ race: without({ ...current.race, ...patch }) }, control);

/** The address of a state, from the # on. */
export function addressOf(one) {
  const said = new URLSearchParams();
  said.set("target", one.target); // also the first one: another version may begin with another
  for (const name of NUMBERS) {
    if (one[name] !== DEFAULTS[name] && one[name] !== null) said.set(name, one[name]);
  }
  for (const group of ["x", "race"]) {
    for (const [name, value] of Object.entries(one[group])) said.set(`${group}.${name}`, value);
  }
  const query = said.toString().replaceAll("%28", "(").replaceAll("%29", ")").replaceAll("%2C", ",").replaceAll("%2F", "/");
  return `#/${one.view}${query && `?${query}`}`;
}

function read() {
  const [, view, query] = /^#\/?([a-z]*)(?:\?(.*))?$/s.exec(location.hash) ?? [];
  const found = { ...DEFAULTS, view: VIEWS.includes(view) ? view : "function", x: {}, race: {} };
  for (const [name, value] of new URLSearchParams(query ?? "")) {
    const [, group, inner] = /^(x|race)\.([a-z_]{1,40})$/.exec(name) ?? [];
    if (value.length > LONGEST) continue;
    if (group) found[group][inner] = value;
    else if (name === "target") found.target = value;
    else if (NUMBERS.includes(name) && value !== "" && Number.isFinite(Number(value))) found[name] = Number(value);
  }
  return found;
}

function without(group) {
  return Object.fromEntries(Object.entries(group).filter(([, value]) => value !== null && value !== undefined && value !== ""));
}

function tell(before) {
  const changed = new Set(Object.keys(current).filter((name) => JSON.stringify(current[name]) !== JSON.stringify(before[name])));
  if (current.view !== "home") lastShown = current.view;
  if (changed.size) watchers.forEach((watcher) => watcher(current, changed));
}

function moved() {
  const before = current;
  current = read();
  lastControl = null;
  tell(before);
}

addEventListener("popstate", moved);
addEventListener("hashchange", moved);
