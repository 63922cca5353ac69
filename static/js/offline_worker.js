// Answers one thing: a page of a person that could not be fetched, with the one page that offline_page.js has kept.
// It stores nothing, and everything else passes by it.

const CACHE = "emostudy-offline";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("fetch", (event) => {
  const { mode, method } = event.request;
  // A form that could not be sent is left to the browser, which can send it again with what was typed.
  if (mode === "navigate" && method === "GET") event.respondWith(fetch(event.request).catch(getKeptPage));
});

async function getKeptPage() {
  return (await caches.match("/offline/", { cacheName: CACHE })) ?? Response.error();
}
