// Forms whose text would be missed. Without this module they work.

/** What is typed and not saved yet is not left without a question. */
function guard(form) {
  // On a slow line, people type before this module is there.
  const isTyped = [...form.querySelectorAll("textarea")].some((field) => field.value !== field.defaultValue);
  let changed = isTyped || form.dataset.guard === "unsaved";
  form.addEventListener("input", () => (changed = true));
  form.addEventListener("submit", () => (changed = false));
  window.addEventListener("beforeunload", (event) => changed && event.preventDefault());
}

document.querySelectorAll("form[data-guard]").forEach(guard);
