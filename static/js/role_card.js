// The role card beside the chat: opened and closed where there is no room for both, and its ticks saved at once.
import { ofTab } from "./storage.js";

const card = document.querySelector("[data-role-card]");
const button = document.querySelector("[data-role-card-open]");
const state = card.querySelector("[data-role-card-state]");
const form = card.querySelector("form");
const words = Object.fromEntries(
  [...card.querySelector("[data-role-card-words]").content.children].map((one) => [one.dataset.word, one.textContent]),
);
const code = card.dataset.roleCard;
const kept = `emostudy.card.${code}`;

function show(open) {
  card.classList.toggle("role-card--open", open);
  button.setAttribute("aria-expanded", String(open));
  ofTab.write(kept, open ? "open" : "closed");
}

function isOpen() {
  return card.classList.contains("role-card--open");
}

/** Only where it covers something: beside the chat there is nothing to close. */
function closes(event) {
  const elsewhere = event.defaultPrevented || document.querySelector("dialog[open]");
  return event.key === "Escape" && !elsewhere && isOpen() && button.checkVisibility();
}

button.addEventListener("click", () => show(!isOpen()));
document.addEventListener("keydown", (event) => {
  if (!closes(event)) return;
  if (card.contains(document.activeElement)) button.focus();
  show(false);
});

// Where it covers the conversation, it makes way for the reply
document.querySelector('[data-part="composer"]').addEventListener("submit", () => {
  if (button.checkVisibility()) show(false);
});

// One after the other, so that what was chosen last is what is stored
let saving = Promise.resolve();
let sent = 0;

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("change", ({ target }) => {
  const { checked } = target;
  saving = saving.then(() => save(target, checked));
});

async function save(box, checked) {
  const response = await fetch(form.action, { method: "POST", body: bodyOf(box, checked) }).catch(() => Response.error());
  if (!response.ok) box.checked = !checked;
  state.textContent = response.ok ? words.saved : words.not_saved;
}

function bodyOf(box, checked) {
  const body = new FormData(form);
  sent += 1;
  body.set("idempotency", `${code}.played.${Date.now()}.${sent}`);
  body.set("behaviour", box.value);
  body.set("played", checked ? "yes" : "no");
  return body;
}

const before = ofTab.read(kept);
if (before) show(before === "open");
