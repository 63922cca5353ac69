// Beside a text that has a least length: how much of it is written. Without this module a hint says the length alone.

const PAUSE_IN_TYPING = 1000; // milliseconds, after which a screen reader is told; at each key it would talk over the keys

/** Characters as the server counts them: without blanks around the text, and a sign outside the first plane as one. */
const length = (text) => [...text.trim()].length;

export function countCharacters(line) {
  const box = document.getElementById(line.dataset.countOf);
  const [seen, heard] = ["[data-seen]", "[data-heard]"].map((part) => line.querySelector(part));
  let waiting;
  const tell = () => {
    const number = length(box.value);
    const isEnough = number >= Number(line.dataset.least);
    seen.textContent = (isEnough ? line.dataset.enough : line.dataset.short).replace("{number}", number);
    line.toggleAttribute("data-is-enough", isEnough);
  };
  box.addEventListener("input", () => {
    tell();
    clearTimeout(waiting);
    waiting = setTimeout(() => (heard.textContent = seen.textContent), PAUSE_IN_TYPING);
  });
  window.addEventListener("pageshow", tell); // back from another page, the browser may have put the text in again
  tell();
  line.hidden = false;
}
