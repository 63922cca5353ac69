// What is typed into a form and has not reached us comes back, in this tab and for the same person alone, when the page is
// opened again: the session may have ended before the form was sent. Without this module the form works.

import { ofTab } from "./storage.js";

const UNSENT = "emostudy.unsent.";

function keep(form) {
  const place = `${UNSENT}${form.dataset.unsent} ${new URL(form.action).pathname}`;
  const field = form.querySelector("textarea");
  const here = location.href.split("#")[0]; // as the next page has it for its referrer
  const write = (sentFrom) => ofTab.write(place, JSON.stringify({ text: field.value, sentFrom }));
  const kept = JSON.parse(ofTab.read(place));
  form.addEventListener("input", () => write(""));
  form.addEventListener("submit", () => write(here));
  if (field.value !== field.defaultValue) write(""); // typed before this module was there
  else if (kept?.sentFrom) ofTab.write(place, "");
  else if (kept) {
    field.value = kept.text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** On a page that stands in for the answer to a form: what was sent from the page before has not arrived. */
function takeBack() {
  for (const place of ofTab.keys().filter((name) => name.startsWith(UNSENT))) {
    const { text, sentFrom } = JSON.parse(ofTab.read(place));
    if (sentFrom === document.referrer) ofTab.write(place, JSON.stringify({ text, sentFrom: "" }));
  }
}

document.querySelectorAll("form[data-unsent]").forEach(keep);
if (document.querySelector("[data-nothing-arrived]")) takeBack();
