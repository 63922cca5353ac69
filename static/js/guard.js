// Forms whose text would be missed. Without this module they work.

/** What is typed and not saved yet is not left without a question. */
function guard(form) {
  let changed = form.dataset.guard === "unsaved";
  form.addEventListener("input", () => (changed = true));
  form.addEventListener("submit", () => (changed = false));
  window.addEventListener("beforeunload", (event) => changed && event.preventDefault());
}

document.querySelectorAll("form[data-guard]").forEach(guard);
