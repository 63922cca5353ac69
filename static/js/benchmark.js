// Fetches how far a run is, and loads the page anew when nothing is under way any more.

const EVERY = 2000; // milliseconds

async function look() {
  const here = document.querySelector('[data-live="on"]');
  if (!here) return;
  const response = await fetch(location.href).catch(() => null); // a lost line is tried again
  if (response?.redirected) return location.reload(); // signed out meanwhile
  if (response?.ok) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const there = page.querySelector('[data-live="on"]');
    if (!there) return location.reload();
    show(here, there);
  }
  setTimeout(look, EVERY);
}

// Only what counts is exchanged, so that no button is lost under a finger and no focus from the keyboard.
function show(here, there) {
  const act = (section) => section.querySelector("form")?.action;
  if (act(here) !== act(there)) return location.reload();
  for (const part of ["table", ".judging", ".under-way p"]) {
    const [old, fresh] = [here.querySelector(part), there.querySelector(part)];
    if (!old !== !fresh) return location.reload();
    if (old && !old.contains(document.activeElement)) old.replaceWith(fresh);
  }
}

setTimeout(look, EVERY);
