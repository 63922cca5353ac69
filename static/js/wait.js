// A page that waits for somebody's decision: looks now and then whether it has been made, and only then goes on.
// A refresh of the page itself would throw whoever is reading it, or has it read out, back to its start each time.

const EVERY = 20_000; // milliseconds
const { waits } = document.querySelector("[data-waits]").dataset;

async function stillWaits() {
  const response = await fetch(location.href).catch(() => Response.error()); // no line: asked again later
  if (!response.ok) return true;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.querySelector(`[data-waits="${waits}"]`) !== null;
}

async function look() {
  if (await stillWaits()) setTimeout(look, EVERY);
  else location.reload();
}

setTimeout(look, EVERY);
