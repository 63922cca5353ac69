// Comforts of a questionnaire page. Without this module every form works: the server decides what was to be answered.

import { countCharacters } from "./count.js";
import { tellOffline } from "./offline.js";

const SECONDS_UNTIL_AGAIN = 10;
const PAUSE_IN_TYPING = 800; // milliseconds, after which what is answered so far is kept
const PATIENCE = 8000; // milliseconds, after which a draft without an answer counts as lost, and comes again

/** To the head of the summary: focus alone would show the middle of a long one. */
function focusErrors() {
  const summary = document.querySelector("[data-error-summary]");
  summary?.focus({ preventScroll: true });
  summary?.scrollIntoView();
}

function sendOnce(form) {
  const button = form.querySelector("[type=submit]");
  const release = () => button.removeAttribute("aria-disabled");
  form.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    if (button.hasAttribute("aria-disabled")) return event.preventDefault();
    // Not `disabled`, which would take the focus away; and not for ever, since a lost line leaves the page standing.
    button.setAttribute("aria-disabled", "true");
    setTimeout(release, SECONDS_UNTIL_AGAIN * 1000);
  });
  // Back from the next page, the browser may show this one as it was left.
  window.addEventListener("pageshow", release);
}

function isOneOf(form, question, values) {
  return new FormData(form).getAll(question).some((answer) => values.split(" ").includes(answer));
}

function isDue(form, { showIf, showValues, hideIf, hideValues }) {
  const wanted = showIf === undefined || isOneOf(form, showIf, showValues);
  return wanted && !(hideIf !== undefined && isOneOf(form, hideIf, hideValues));
}

function showWhatIsDue(form) {
  for (const item of form.querySelectorAll("[data-show-if], [data-hide-if]")) {
    item.toggleAttribute("data-hidden", !isDue(form, item.dataset));
  }
}

/** How many of the questions that are due are answered, at the head of a long form. */
function countAnswered(form) {
  const line = form.querySelector("[data-answered-words]");
  if (!line) return;
  const due = [...form.querySelectorAll("[data-item]:not([data-hidden])")];
  const done = due.filter(({ dataset: { item } }) => new FormData(form).getAll(item).some((answer) => answer.trim()));
  line.textContent = line.dataset.answeredWords.replace("{done}", done.length).replace("{all}", due.length);
  line.hidden = false;
}

/** Keeps what is answered and not sent yet: on the server, so that it is there on another device and gone from this one.
 *
 *  A form whose draft could not be kept is not sent before it is: where the line is dead, the browser's own page would
 *  take the place of ours, and Back would not bring the answers again.
 */
function keepDraft(form) {
  const state = form.querySelector("[data-draft-state]");
  let waiting;
  let sent = false;
  let unheard; // the draft that the server has not heard of: on its way, or lost
  const post = async () => {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), PATIENCE);
    const request = { method: "POST", body: new FormData(form), keepalive: true, signal: stop.signal };
    const { ok, status } = await fetch(form.dataset.draft, request).catch(() => Response.error());
    clearTimeout(timer);
    state.hidden = !ok; // it says what is true now
    return status !== 0;
  };
  const keep = async () => {
    if (!waiting || sent) return;
    clearTimeout(waiting);
    waiting = undefined;
    window.removeEventListener("beforeunload", keep);
    const draft = post();
    unheard = draft;
    const isHeard = await draft;
    if (unheard !== draft) return; // a later one is on its way
    if (isHeard) unheard = undefined;
    else waiting ??= setTimeout(keep, PATIENCE);
  };
  form.addEventListener("input", () => {
    sent = false;
    state.hidden = true;
    clearTimeout(waiting);
    waiting = setTimeout(keep, PAUSE_IN_TYPING);
    // Before the next page is asked for, so that coming back at once finds it; `pagehide` is after its answer, and too
    // late for that, but phones know no other. Only while there is something to keep: it bars a page from going back fast.
    window.addEventListener("beforeunload", keep);
  });
  form.addEventListener("submit", async (event) => {
    if (!unheard) return (sent = true);
    event.preventDefault();
    await unheard;
    await keep(); // once more where it was lost, and what was typed since
    if (unheard) tellOffline();
    else form.requestSubmit(event.submitter);
  });
  document.addEventListener("visibilitychange", () => document.hidden && keep());
  window.addEventListener("online", keep);
  window.addEventListener("pagehide", keep);
  window.addEventListener("pageshow", () => (sent = false));
}

/** Seconds by item, while the page is in view: from the answer before, or the opening, to the last change of this one. */
function measureSeconds(form) {
  const spent = new Map();
  let since = performance.now();
  let inView = 0; // milliseconds since the answer before, up to `since`
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) inView += performance.now() - since;
    since = performance.now();
  });
  form.addEventListener("input", ({ target }) => {
    const item = target.closest("[data-item]")?.dataset.item;
    if (!item) return;
    spent.set(item, (spent.get(item) ?? 0) + inView + performance.now() - since);
    [inView, since] = [0, performance.now()];
  });
  form.addEventListener("formdata", ({ formData }) => {
    for (const [item, time] of spent) formData.set(`seconds.${item}`, (time / 1000).toFixed(1));
  });
}

for (const form of document.querySelectorAll("form[data-instrument]")) {
  if (form.dataset.draft) keepDraft(form);
  sendOnce(form);
  showWhatIsDue(form);
  countAnswered(form);
  form.addEventListener("input", () => {
    showWhatIsDue(form);
    countAnswered(form);
  });
  if (form.dataset.timings !== undefined) measureSeconds(form);
}
for (const line of document.querySelectorAll("[data-count-of]")) countCharacters(line);
focusErrors();
