// A person's page stays where it is while the device has no network: the browser's own page would take its place, and
// with it the numbers to call and what is typed. What is sent by a frame or by fetch is the business of its own module.

const SELF = import.meta.url; // of this server, and needs neither session nor database
const PATIENCE = 5000; // milliseconds
const notice = document.querySelector("[data-offline]");
const passing = new WeakSet(); // forms that the server can take after all

/** What the browser says is asked again: on some devices it says that there is no network where there is one. */
async function isReachable() {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), PATIENCE);
  return fetch(SELF, { method: "HEAD", cache: "no-store", signal: stop.signal }).then(
    () => true,
    () => false,
  );
}

/** Say that nothing was sent and nothing is lost, with the numbers that can be called without a network. */
export function tellOffline() {
  for (const line of notice.querySelectorAll("[data-reach]")) line.href = line.dataset.reach;
  if (!notice.open) notice.showModal();
}

/** Leave the page, or stay where there is no network. */
export async function leave(go) {
  if (navigator.onLine || (await isReachable())) go();
  else tellOffline();
}

function leadsAway(link) {
  const { protocol, origin, pathname, search, hash } = new URL(link.href);
  const isHere = origin === location.origin && pathname === location.pathname && search === location.search;
  return protocol.startsWith("http") && !link.target && !(isHere && hash);
}

// On the way down, before a form's own module counts it as sent; forms that send by fetch know what to do themselves.
window.addEventListener(
  "submit",
  (event) => {
    const { target: form, submitter } = event;
    const isSentHere = form.method === "dialog" || form.matches("[data-stays]");
    if (navigator.onLine || isSentHere || passing.delete(form)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    leave(() => {
      passing.add(form);
      form.requestSubmit(submitter);
    });
  },
  true,
);
window.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (navigator.onLine || event.defaultPrevented || !link || !leadsAway(link)) return;
  event.preventDefault();
  leave(() => location.assign(link.href));
});
