// A page that waits for someone's decision: looks now and then whether it has been made, and only then goes on.
// A refresh of the page itself would throw whoever is reading it, or has it read out, back to its start each time, and
// lose what is typed. So only the parts that say how things stand are put in anew, and only where they say something new.

import { tellLocalTimes } from "./moments.js";

const EVERY = 20_000; // milliseconds
const { waits } = document.querySelector("[data-waits]").dataset;
const news = document.querySelector("[data-news]");
const live = new Map([...document.querySelectorAll("[data-live]")].map((part) => [part, part.innerHTML]));

async function look() {
  const page = await fetchPage();
  const isDecided = page && !page.querySelector(`[data-waits="${waits}"]`);
  if (isDecided && !isTyping()) return location.reload();
  if (isDecided) news.hidden = false;
  else if (page) renew(page);
  setTimeout(look, EVERY);
}

/** Whether something is written that has not been sent, and would be lost with the page. */
function isTyping() {
  return [...document.querySelectorAll("main textarea")].some((box) => box.value !== box.defaultValue);
}

/** The page as it is now; nothing where there is no line, or the server is busy: asked again later. */
async function fetchPage() {
  const response = await fetch(location.href).catch(() => Response.error());
  return response.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : undefined;
}

function renew(page) {
  for (const [part, stood] of live) {
    const now = page.querySelector(`[data-live="${part.dataset.live}"]`)?.innerHTML;
    if (now === undefined || now === stood) continue;
    live.set(part, now);
    part.innerHTML = now;
    tellLocalTimes(part);
  }
}

setTimeout(look, EVERY);
