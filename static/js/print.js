// A form to be kept: all of its sections are opened before it is printed.

const open = () => document.querySelectorAll("details").forEach((section) => (section.open = true));

window.addEventListener("beforeprint", open);
for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}
