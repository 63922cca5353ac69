// Keeps one page for a time without a network: numbers to call, the same for everyone who reads a language in a country.
// offline_worker.js shows it. When a person's part is over, both go.

const CACHE = "emostudy-offline";
const SCOPES = ["/study/", "/help/", "/pause/"]; // a person's pages; the worker meets no others
const { keep, worker } = document.querySelector("[data-offline]").dataset;

async function keepPage() {
  const page = await fetch(keep, { cache: "no-store" });
  if (!page.ok) return;
  const cache = await caches.open(CACHE);
  await cache.put("/offline/", page);
  for (const scope of SCOPES) await navigator.serviceWorker.register(worker, { scope });
}

async function forgetPage() {
  for (const scope of SCOPES) await (await navigator.serviceWorker.getRegistration(scope))?.unregister();
  await caches.delete(CACHE);
}

// Browsers have neither without https. What fails for want of a network is tried again by the next page.
if (navigator.serviceWorker) (keep ? keepPage() : forgetPage()).catch(() => {});
