// Comforts of a questionnaire page. Without this module every form works: the server decides what was to be answered.

function focusErrors() {
  document.querySelector("[data-error-summary]")?.focus();
}

const SECONDS_UNTIL_AGAIN = 10;

function sendOnce(form) {
  const button = form.querySelector("[type=submit]");
  const release = () => button.removeAttribute("aria-disabled");
  form.addEventListener("submit", (event) => {
    if (button.hasAttribute("aria-disabled")) event.preventDefault();
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

for (const form of document.querySelectorAll("form[data-instrument]")) {
  sendOnce(form);
  showWhatIsDue(form);
  form.addEventListener("change", () => showWhatIsDue(form));
}
focusErrors();
