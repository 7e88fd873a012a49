// What does not change while the page is open, asked once: catalogue, learners, exhibits; and what the last analysis said.

import { get, post } from "./api.js";

const kept = new Map();

function once(name, ask) {
  if (!kept.has(name)) {
    const asked = ask();
    kept.set(name, asked);
    asked.catch(() => kept.delete(name)); // asked again by the next who needs it
  }
  return kept.get(name);
}

export const catalogue = () => once("catalogue", async () => (await get("catalogue")).targets);
export const exhibits = () => once("exhibits", async () => (await get("exhibits")).exhibits);
export const learners = () => once("learners", () => get("learners"));

/** What an analysis is asked. */
export const questionOf = (now) => ({
  target: now.target, noise: now.noise, spike: now.spike, alignment: now.spike === null ? null : now.alignment,
});

let newest = {};

/** An analysis, shared by those that ask for the same; another one takes its place, and stops it if it still runs. */
export function analysis(now) {
  const question = questionOf(now);
  const name = JSON.stringify(question);
  if (newest.name === name && !newest.failed) return newest.answer;
  newest.controller?.abort();
  const controller = new AbortController();
  const mine = (newest = { name, controller, answer: post("analyse", question, controller.signal), failed: false });
  mine.answer.catch(() => { mine.failed = true; });
  return mine.answer;
}
