// The line to the safety desk, which says that something has changed, never what.

const WAITS = [1000, 2000, 5000, 10_000]; // milliseconds before each try to connect again

/** Call `receive` with each state of the desk, and `miss` when there is no line or no database. */
export function watch(address, receive, miss, tries = 0) {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}${address}`);
  socket.addEventListener("message", (event) => {
    tries = 0;
    const state = JSON.parse(event.data);
    if (state.type === "desk") receive(state);
    else miss();
  });
  socket.addEventListener("close", () => {
    miss();
    setTimeout(watch, WAITS[Math.min(tries, WAITS.length - 1)], address, receive, miss, tries + 1);
  });
}
