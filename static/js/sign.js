// The page of one sign of danger: it says when the person or a colleague has done something more, and shows that without
// losing what is typed. Without this module the server refuses a decision on an old page.
import { watch } from "./desk_line.js";

const place = document.querySelector("[data-sign]");
const news = document.querySelector('[data-part="news"]');
const away = document.querySelector('[data-part="away"]');
let fresh; // the page as it is now, while it differs from what is shown

const liveOf = (page) => page.querySelector("[data-live]");

async function look() {
  away.hidden = true;
  const response = await fetch(place.dataset.page).catch(() => undefined);
  if (!response?.ok || response.redirected) return miss();
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (liveOf(page).dataset.seen === liveOf(document).dataset.seen) return;
  fresh = page;
  news.hidden = false;
}

function miss() {
  away.hidden = false;
}

news.querySelector("button").addEventListener("click", () => {
  const { seen } = liveOf(fresh).dataset;
  liveOf(document).replaceWith(document.importNode(liveOf(fresh), true));
  for (const input of document.querySelectorAll('input[name="seen"]')) input.value = seen;
  document.querySelectorAll("form[data-unsent]").forEach(putAway);
  news.hidden = true;
  document.getElementById("done").scrollIntoView();
});
/** Hide a form for what a colleague has done; what was typed there may still be a note. */
function putAway(form) {
  if (fresh.querySelector(`form[action="${form.getAttribute("action")}"]`)) return;
  document.getElementById("note").value ||= form.querySelector("textarea").value;
  form.hidden = true;
}

watch(place.dataset.sign, look, miss);
