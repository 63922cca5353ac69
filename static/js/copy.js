// A button that copies what a person should keep: a link, a code. Without script or HTTPS there is no button, and the
// text can be selected.

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText((source.value ?? source.textContent).trim());
  } catch {
    return; // the browser does not allow it: nothing is said to be copied
  }
  const state = button.nextElementSibling;
  state.textContent = state.dataset.copied;
}
