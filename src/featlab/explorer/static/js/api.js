// What the page asks the server. Every answer is JSON; what takes long is a stream of events.

const ROOT = "/api/v1/";
const CLIENT = crypto.randomUUID?.() ?? String(Math.random()).slice(2);
const AGAIN = 500; // milliseconds
const watchers = new Set();

/** A refusal of the server, with what it said; or no answer at all (`lost`). */
class Refusal extends Error {
  constructor(said, status = 0) {
    super(said.message);
    Object.assign(this, { columns: null, suggestions: [], parameter: null, kind: null, status, lost: status === 0 }, said);
    this.message = said.message;
  }
}

/** Be told whether the server answers: true or false, whenever it is learned. */
export function onReach(watcher) {
  watchers.add(watcher);
}

const reached = (answered) => watchers.forEach((watcher) => watcher(answered));

async function fetched(path, options) {
  let answer;
  try {
    answer = await fetch(ROOT + path, { ...options, headers: { "X-Featlab-Client": CLIENT, ...options.headers } });
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    reached(false);
    throw new Refusal({ message: "the server does not answer" });
  }
  reached(true);
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => null);
  throw new Refusal(said?.error ?? { message: `the server answered ${answer.status}` }, answer.status);
}

const posted = (body, signal) => ({
  method: "POST", body: JSON.stringify(body), signal, headers: { "Content-Type": "application/json" },
});

export const get = async (path, signal) => (await fetched(path, { signal })).json();

/** An answer; who was being answered by a worker that died asks once more. */
export async function post(path, body, signal) {
  const ask = async () => (await fetched(path, posted(body, signal))).json();
  try {
    return await ask();
  } catch (fault) {
    if (fault.kind !== "worker" || signal?.aborted) throw fault;
    await new Promise((done) => setTimeout(done, AGAIN));
    return ask();
  }
}

export const postForText = async (path, body) => (await fetched(path, posted(body))).text();

/** A question that is asked again and again while a person types or drags: a new one takes the place of the old. */
export function latest() {
  let controller = null;
  const ask = async (path, body) => {
    controller?.abort();
    const mine = (controller = new AbortController());
    try {
      const answer = await post(path, body, mine.signal);
      return mine.signal.aborted ? null : answer;
    } catch (fault) {
      if (mine.signal.aborted) return null;
      throw fault;
    }
  };
  ask.stop = () => controller?.abort();
  return ask;
}

/** A stream: `heard(name, data)` for every event; ends with the stream. `stop()` cancels the work on the server. */
export function stream(path, body, heard, type = "application/json") {
  const controller = new AbortController();
  const content = type === "application/json" ? JSON.stringify(body) : body;
  const options = { method: "POST", body: content, signal: controller.signal, headers: { "Content-Type": type } };
  const ended = (async () => {
    try {
      const answer = await fetched(path, options);
      if (!(await readEvents(answer.body, heard))) {
        reached(false);
        throw new Refusal({ message: "the stream broke off: the server ended, or was started again" });
      }
    } catch (fault) {
      if (controller.signal.aborted) return "stopped";
      if (fault instanceof Refusal) throw fault;
      reached(false);
      throw new Refusal({ message: "the stream broke off: the server ended, or was started again" });
    }
    return "ended";
  })();
  return { ended, stop: () => controller.abort() };
}

const LAST = ["done", "cancelled", "error"];

/** Whether a last event came before the end. */
async function readEvents(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let complete = false;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return complete;
    rest += value.replaceAll("\r", "");
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const [name, data] of blocks.map(parsed).filter(Boolean)) {
      complete ||= LAST.includes(name);
      try {
        heard(name, data);
      } catch (fault) {
        reportError(fault); // of the page, not of the stream, which goes on
      }
    }
  }
}

function parsed(block) {
  const lines = block.split("\n");
  const of = (field) => lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).trim());
  const data = of("data").join("\n");
  return data ? [of("event")[0] ?? "message", JSON.parse(data)] : null;
}
