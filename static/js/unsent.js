// What is typed into a form and has not reached us comes back, in this tab and for the same person alone, when the page is
// opened again: the session may have ended before the form was sent. Without this module the form works.

const UNSENT = "emostudy.unsent.";

function keep(form) {
  const place = `${UNSENT}${form.dataset.unsent} ${new URL(form.action).pathname}`;
  const field = form.querySelector("textarea");
  const write = (sent) => sessionStorage.setItem(place, JSON.stringify({ text: field.value, sent }));
  const kept = JSON.parse(sessionStorage.getItem(place));
  form.addEventListener("input", () => write(false));
  form.addEventListener("submit", () => write(true));
  if (kept?.sent) sessionStorage.removeItem(place);
  else if (kept) {
    field.value = kept.text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** On a page that stands in for the answer to a form: nothing of what was sent has arrived. */
function takeBack() {
  for (const place of Object.keys(sessionStorage).filter((name) => name.startsWith(UNSENT))) {
    sessionStorage.setItem(place, JSON.stringify({ ...JSON.parse(sessionStorage.getItem(place)), sent: false }));
  }
}

document.querySelectorAll("form[data-unsent]").forEach(keep);
if (document.querySelector("[data-nothing-arrived]")) takeBack();
