// The board of a study renews its parts by itself: when the server says that something has changed, and each minute,
// because who is here and who is gone changes with time alone.

const WAITS = [1000, 2000, 5000, 10_000]; // milliseconds before each try to connect again
const APART = 3000; // between two looks, so that a busy study does not keep the server busy with boards
const MINUTE = 60_000;

const board = document.querySelector("[data-board]");
let tries = 0;
let seen = "";
let looking = false;
let state = "away";
let again;

function tell(now = state) {
  state = now;
  for (const words of board.querySelectorAll("[data-when]")) words.hidden = words.dataset.when !== state;
}

/** A part in which someone is reading or about to press something stays as it is until the next look. */
const isInUse = (part) => part.contains(document.activeElement) || part.matches(":active");

function replaceParts(page) {
  for (const fresh of page.querySelectorAll("[data-board] [data-part]")) {
    const part = board.querySelector(`[data-part="${fresh.dataset.part}"]`);
    if (!part || isInUse(part) || part.innerHTML === fresh.innerHTML) continue;
    const scrolled = part.querySelector(".table-scroll")?.scrollLeft ?? 0;
    part.replaceWith(fresh);
    const table = fresh.querySelector(".table-scroll");
    if (table) table.scrollLeft = scrolled;
  }
}

async function look() {
  looking = true;
  const response = await fetch(board.dataset.page).catch(() => undefined);
  looking = false;
  if (!response?.ok) return tell("away");
  if (response.redirected) return location.reload(); // signed out meanwhile
  replaceParts(new DOMParser().parseFromString(await response.text(), "text/html"));
  tell();
}

function lookSoon() {
  if (again || document.hidden) return;
  again = setTimeout(() => {
    again = undefined;
    if (looking) lookSoon();
    else look();
  }, APART);
}

function receive(text) {
  const { type } = JSON.parse(text);
  tell(type === "board" ? "live" : "away");
  if (type !== "board") return;
  if (seen && seen !== text) lookSoon();
  seen = text;
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}${board.dataset.board}`);
  socket.addEventListener("message", (event) => {
    tries = 0;
    receive(event.data);
  });
  socket.addEventListener("close", () => {
    tell("away");
    setTimeout(connect, WAITS[Math.min(tries, WAITS.length - 1)]);
    tries += 1;
  });
}

document.addEventListener("visibilitychange", lookSoon);
setInterval(lookSoon, MINUTE);
connect();
