// The conversation page: what the socket tells becomes bubbles and cards, what the person does becomes frames.
import { writeMoment } from "./moments.js";
import { leave } from "./offline.js";
import { ChatSocket } from "./socket.js";
import { ofDevice } from "./storage.js";
import { Timing } from "./timing.js";

const LONGEST = 4000; // Unicode characters, as the server counts them
const NEAR_THE_END = 48; // pixels from the end of the log that still count as being there
const BREATH = 1200; // milliseconds before the page moves on where there is nothing left to read
const SETTLED = 500; // milliseconds until what was there before stands, so that it is not read out anew
const TIME_TO_READ = 20_000; // what who hears the page needs to stop it (WCAG 2.2.1)

const root = document.querySelector("[data-conversation]");
const parts = Object.fromEntries([...root.querySelectorAll("[data-part]")].map((one) => [one.dataset.part, one]));
const words = Object.fromEntries(
  [...parts.words.content.children].map((one) => [one.dataset.word, one.textContent.trim()]),
);
const code = root.dataset.conversation;
const minTurns = Number(root.dataset.minTurns);
const maxTurns = Number(root.dataset.maxTurns);
const earlierLanguages = JSON.parse(root.dataset.earlierLanguages); // each with its last turn, in their order
const draft = `emostudy.draft.${code}`;
const sendsWithEnter = matchMedia("(pointer: fine)").matches;

const timing = new Timing(root.dataset.timings !== undefined);
const own = new Map(); // id of a message → its bubble
const replies = new Map(); // turn → its bubble
let answered = Number(root.dataset.answered);
const history = answered; // up to this turn, what comes was there before
let asked = 0; // the last turn of which the person's message is stored
let failed = false;
let isBroken = false; // the line broke, and is not back yet
let over = false; // nothing more can be written here now

// Counsellors alone have flags.
const flags =
  parts.flag &&
  import("./flags.js").then(({ Flags }) => new Flags({ shell: parts.flag, form: parts["flag-form"], words, post }));
const socket = new ChatSocket(code, { onFrame: (frame) => handlers[frame.type]?.(frame), onState: showState });

// What comes from the server

const handlers = {
  ack({ id, turn }) {
    asked = Math.max(asked, turn);
    settle(ownBubble(id), `${words.saved} · ${writeMoment(new Date())}`);
  },
  message({ id, turn, text, sent_at }) {
    asked = Math.max(asked, turn);
    settle(ownBubble(id, text, turn), sent_at ? `${words.saved} · ${writeMoment(new Date(sent_at))}` : words.saved);
  },
  chunk({ turn, at, text }) {
    const bubble = replies.get(turn) ?? addReply(turn);
    const standing = [...textOf(bubble)];
    if (at > standing.length) return; // a piece before it is missing; the whole reply will bring it
    parts.log.setAttribute("aria-busy", "true");
    setText(bubble, standing.slice(0, at).join("") + text);
    refresh();
  },
  reply({ turn, text, seq, sent_at }) {
    const bubble = replies.get(turn) ?? addReply(turn);
    parts.log.removeAttribute("aria-busy");
    stateOf(bubble).textContent = sent_at ? writeMoment(new Date(sent_at)) : "";
    setText(bubble, text);
    bubble.dataset.seq = seq;
    timing.begin();
    shown.observe(bubble);
    flags?.then((them) => them.offer(bubble, turn));
    offerRating(bubble, turn);
    answered = Math.max(answered, turn);
    if (turn >= history) setTimeout(() => parts.log.setAttribute("aria-live", "polite"), SETTLED);
    failed = false;
    forgetWaiting();
    refresh();
  },
  failed({ turn }) {
    replies.get(turn)?.remove();
    replies.delete(turn);
    parts.log.removeAttribute("aria-busy");
    failed = true;
    forgetWaiting();
    refresh();
  },
  pause: ({ next, by }) => moveOn(by === "team" ? parts.rest : parts.pause, next, TIME_TO_READ),
  closed({ next }) {
    keepDraft("");
    moveOn(parts.closed, next, ending ? BREATH : TIME_TO_READ);
  },
  held: ({ next }) => moveToCare(next),
  help({ turn, level }) {
    pointToHelp();
    if (level < 2) return;
    if (parts.role) askRole(turn);
    reveal(parts.role ?? parts.help);
  },
  superseded() {
    over = true;
    refresh();
    reveal(parts.superseded);
  },
  error({ code: wrong }) {
    if (["paused", "held", "closed"].includes(wrong)) leave(() => location.assign(root.dataset.study));
    else if (["too_long", "empty", "bad_frame"].includes(wrong)) returnToBox(wrong);
    else tell(words[wrong]);
  },
};

function showState(state) {
  parts.connection.textContent = words[state];
  parts.connection.dataset.state = state;
  isBroken = state === "broken" || (isBroken && state === "connecting");
  if (state === "broken") tellBroken();
  if (state === "connected") tell("");
  for (const bubble of parts.turns.querySelectorAll("[data-unsent]")) {
    stateOf(bubble).textContent = state === "connected" ? words.sending : words.kept;
  }
}

/** What is lost with the line: nothing that is stored, but a message that waits is only on this device. */
function tellBroken() {
  tell(socket.unsent.length ? words.pending : words.broke);
}

// Bubbles

function copyOf(template) {
  return template.content.firstElementChild.cloneNode(true);
}

function textOf(bubble) {
  return bubble.querySelector(".bubble__text").textContent;
}

function setText(bubble, text) {
  bubble.querySelector(".bubble__text").textContent = text;
}

/** The page may be in another language by now; what was said is read out in its own. */
function setLanguage(bubble, turn) {
  const [, earlier] = earlierLanguages.find(([last]) => turn <= last) ?? [];
  bubble.querySelector(".bubble__text").lang = earlier ?? root.dataset.language;
}

function stateOf(bubble) {
  return bubble.querySelector(".bubble__state");
}

/** What is stored stands before what is not sent yet. */
function place(bubble) {
  parts.turns.insertBefore(bubble, parts.turns.querySelector("[data-unsent]"));
}

function ownBubble(id, text = "", turn = Infinity) {
  return own.get(id) ?? addOwn(id, text, turn);
}

/** `turn`: its number, once it has one. */
function addOwn(id, text, turn = Infinity) {
  const bubble = copyOf(parts["own-bubble"]);
  setText(bubble, text);
  setLanguage(bubble, turn);
  own.set(id, bubble);
  place(bubble);
  return bubble;
}

function addUnsent(id, text) {
  const bubble = addOwn(id, text);
  bubble.dataset.unsent = "";
  stateOf(bubble).textContent = socket.isOpen ? words.sending : words.kept;
  if (isBroken) tellBroken();
  refresh();
}

function settle(bubble, state) {
  delete bubble.dataset.unsent;
  stateOf(bubble).textContent = state;
  refresh();
}

function addReply(turn) {
  const bubble = copyOf(parts["partner-bubble"]);
  setLanguage(bubble, turn);
  replies.set(turn, bubble);
  place(bubble);
  if (!isFollowing()) parts.newest.hidden = false;
  return bubble;
}

function offerRating(bubble, turn) {
  if (!parts["reply-rating"] || bubble.querySelector("form")) return;
  const form = copyOf(parts["reply-rating"]);
  form.elements.turn.value = turn;
  form.elements.idempotency.value = `${code}.${turn}`; // one form for each reply, all in one showing of the page
  sendWhenChosen(form);
  const rating = form.querySelector(`[value="${JSON.parse(parts["reply-rating"].dataset.ratings)[turn]}"]`);
  if (rating) {
    rating.checked = true;
    form.querySelector("fieldset").disabled = true;
  }
  bubble.append(form);
}

/** With arrow keys each step on the way to an answer is a change; the one that is left standing counts. */
function sendWhenChosen(form) {
  let byKeys = false;
  form.addEventListener("keydown", () => (byKeys = true));
  form.addEventListener("pointerdown", () => (byKeys = false));
  form.addEventListener("change", () => byKeys || rate(form));
  form.addEventListener("focusout", ({ relatedTarget }) => {
    const chosen = form.querySelector(":enabled:checked");
    if (byKeys && chosen && !form.contains(relatedTarget)) rate(form);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault(); // Enter, in a browser that lets it send; leaving the form sends it
    parts.text.focus();
  });
}

function pointToHelp() {
  document.querySelector(".help-link").classList.add("help-link--near");
}

function askRole(turn) {
  parts.role.elements.turn.value = turn;
  parts.role.elements.idempotency.value = `${code}.role.${turn}`;
  parts["role-words"].textContent = textOf([...own.values()].at(-1)); // help is only ever about the last message
}

async function post(form, submitter) {
  const lost = () => Response.error(); // no line: treated like any other answer that is not ok
  return fetch(form.action, { method: "POST", body: new FormData(form, submitter) }).catch(lost);
}

async function rate(form) {
  const [fieldset, state] = form.querySelectorAll("fieldset, .reply-rating__state");
  const answer = post(form);
  if (form.contains(document.activeElement)) state.focus({ preventScroll: true }); // it would be lost with the radios
  fieldset.disabled = true; // the first answer counts, also while it is on its way
  state.textContent = words.sending;
  const { ok } = await answer;
  state.textContent = ok ? words.saved : words.not_saved;
  fieldset.disabled = ok;
}

// The state of the page

function isReplyDue() {
  return asked > answered && !failed && !over;
}

function refresh() {
  const turn = Math.min(answered + 1, maxTurns);
  const enough = answered >= minTurns;
  parts.turn.textContent = (enough ? words.enough : words.turn).replace("{turn}", turn);
  parts.end.disabled = !enough || over;
  parts.end.classList.toggle("button--ready", enough);
  parts.early.hidden = enough;
  parts.typing.hidden = !isReplyDue() || replies.has(asked);
  parts.failed.hidden = !failed || over;
  parts.composer.hidden = parts.ways.hidden = over;
  parts["go-on"].hidden = parts.stop.hidden = over;
  parts.send.setAttribute("aria-disabled", String(!maySend()));
  stay();
}

function maySend() {
  return !over && !failed && !isReplyDue() && socket.unsent.length === 0;
}

function tell(text) {
  parts.notice.textContent = text;
  parts.notice.hidden = !text;
  stay();
}

/** What was said about a reply that is due is over once it has come, or is known not to come. */
function forgetWaiting() {
  if ([words.wait, words.busy].includes(parts.notice.textContent)) tell("");
}

function reveal(card) {
  card.hidden = false;
  stay();
  if (isLost(document.activeElement)) card.focus();
}

/** Whether what had the focus is gone, such as the message box with the caret in it. */
function isLost(focused) {
  return focused !== document.body && !focused.checkVisibility();
}

/** Whether help, or the question that comes before it in role-play, is in sight. */
function isOfferingHelp() {
  return [parts.help, parts.role].some((card) => card && !card.hidden);
}

/** To the page for danger, which itself begins with the lines. */
function moveToCare(next) {
  parts.help.hidden = true;
  if (parts.role) parts.role.hidden = true;
  moveOn(parts.held, next, BREATH);
}

/** To the next page: soon where no one is reading, and never by itself beside help or once someone scrolls or touches
 *  the text. */
function moveOn(card, next, wait) {
  over = true;
  refresh();
  const go = () => leave(() => location.assign(next));
  card.querySelector("[data-go]").addEventListener("click", go);
  const soon = card.querySelector("[data-soon]");
  const isSoon = isFollowing() && !isOfferingHelp();
  soon.hidden = !isSoon;
  reveal(card);
  if (!isSoon) return;
  const timer = setTimeout(go, wait);
  const linger = () => {
    clearTimeout(timer);
    soon.style.visibility = "hidden"; // not gone: the button beside it must not move away under the finger
  };
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) document.addEventListener(kind, linger);
}

// Following the end of the conversation, but only for those who are there

let following = true;

function isAtEnd() {
  return parts.log.scrollHeight - parts.log.scrollTop - parts.log.clientHeight < NEAR_THE_END;
}

/** Not while a reply is being flagged: its form must stay where it is. */
function isFollowing() {
  return following && !parts.turns.querySelector(".flag form");
}

function stay() {
  if (isFollowing()) parts.log.scrollTop = parts.log.scrollHeight;
}

function toEnd() {
  following = true;
  parts.newest.hidden = true;
  stay();
}

let lastTop = 0;

// Only a way upwards leaves the end; that the text grew or the box shrank does not.
parts.log.addEventListener("scroll", () => {
  if (isAtEnd()) toEnd();
  else if (parts.log.scrollTop < lastTop) following = false;
  lastTop = parts.log.scrollTop;
});
parts.newest.addEventListener("click", () => {
  toEnd();
  parts.log.focus(); // the button is gone
});
new ResizeObserver(stay).observe(parts.log);

// What was on the screen

let seenUpTo = 0;
let toldUpTo = 0;

const shown = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      shown.unobserve(target);
      seenUpTo = Math.max(seenUpTo, Number(target.dataset.seq));
    }
    tellSeen();
  },
  { root: parts.log },
);

function tellSeen() {
  if (document.hidden || seenUpTo <= toldUpTo) return;
  if (socket.seen(seenUpTo)) toldUpTo = seenUpTo;
}

document.addEventListener("visibilitychange", tellSeen);

// What the person does

function send() {
  const text = parts.text.value;
  const length = [...text].length;
  if (!text.trim()) return parts.text.focus();
  if (length > LONGEST) return tell(words.too_long.replace("{length}", length));
  if (!maySend()) return tell(words.wait);
  tell("");
  parts.help.hidden = true;
  write("");
  following = true;
  addUnsent(socket.send(text, timing.taken()), text);
}

function write(text) {
  parts.text.value = text;
  keepDraft(text);
  parts.text.style.height = "auto";
  parts.text.style.height = `${parts.text.scrollHeight + 2}px`; // with its two borders
}

/** Not for the tab alone: a phone that needs its memory ends the browser, and with it what a tab has stored. */
function keepDraft(text) {
  ofDevice.write(draft, text);
}

function returnToBox(wrong) {
  const message = socket.takeBack();
  if (message) {
    own.get(message.id)?.remove();
    write(message.text);
  }
  tell(words[wrong].replace("{length}", [...(message?.text ?? "")].length));
  refresh();
}

let ending = false;

function ask(dialog, early) {
  dialog.returnValue = "stay";
  dialog.showModal();
  dialog.onclose = () => {
    if (dialog.returnValue !== "end") return;
    ending = socket.end(early);
    if (!ending) tellBroken();
  };
}

// A low window has more room while the box has the caret, so the button must not take it and move from under the finger
parts.send.addEventListener("mousedown", (event) => event.preventDefault());
parts.composer.addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
parts.text.addEventListener("input", () => {
  timing.typed();
  write(parts.text.value);
});
parts.text.addEventListener("paste", () => timing.pasted());
parts.text.addEventListener("keydown", (event) => {
  const composing = event.isComposing || event.keyCode === 229; // an input method takes this Enter for itself
  if (event.key !== "Enter" || event.shiftKey || composing || !sendsWithEnter) return;
  event.preventDefault();
  parts.composer.requestSubmit(); // so that the role card makes way, as it does for the button
});
parts.retry.addEventListener("click", () => {
  if (!socket.retry()) return tellBroken();
  failed = false;
  refresh();
  parts.log.focus();
});
parts.end.addEventListener("click", () => ask(parts["ask-finished"], false));
parts.early.addEventListener("click", () => ask(parts["ask-early"], true));
parts.stop.addEventListener("click", () => (answered >= minTurns ? parts.end : parts.early).click());
parts["go-on"].addEventListener("click", () => {
  parts.help.hidden = true;
  parts.text.focus();
});
parts["use-here"].addEventListener("click", () => leave(() => location.reload()));
parts.role?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const response = await post(parts.role, event.submitter);
  if (!response.ok) return tell(words.not_saved);
  parts.role.hidden = true;
  parts.text.focus();
  const { next } = await response.json();
  if (next) leave(() => location.assign(next));
  else if (event.submitter.value === "me") reveal(parts.help); // as it would be for anyone
});

// The menu lies over the message box, so it closes as soon as something else is meant
const { more } = parts;

function closeMore() {
  const hadFocus = more.contains(document.activeElement);
  more.open = false;
  if (hadFocus) more.querySelector("summary").focus();
}

document.addEventListener("keydown", ({ key }) => key === "Escape" && more.open && closeMore());
for (const kind of ["pointerdown", "focusin"]) {
  document.addEventListener(kind, ({ target }) => {
    if (!more.contains(target)) more.open = false;
  });
}

// The keyboard of a phone covers the page unless the page is as high as what is left
visualViewport?.addEventListener("resize", () => {
  if (visualViewport.scale !== 1) return; // enlarged with two fingers, not covered
  document.documentElement.style.setProperty("--viewport", `${visualViewport.height}px`);
  window.scrollTo(0, 0);
  stay();
});

// From the browser's memory of pages, this one may be long past
window.addEventListener("pageshow", (event) => event.persisted && leave(() => location.reload()));

write(ofDevice.read(draft) ?? "");
for (const { id, text } of socket.unsent) addUnsent(id, text);
refresh();
// No frame tells again that a reply was withheld, or that the words were a counsellor's own
if (root.dataset.needsHelp !== undefined) {
  pointToHelp();
  reveal(parts.help);
}
socket.connect();
