// Watches the tasks that a page shows, and loads the page anew when one of them has ended.

const EVERY = 1500; // milliseconds

function show(row, task) {
  const bar = row.querySelector("progress");
  if (bar && task.total) {
    bar.max = task.total;
    bar.value = task.done;
  }
  row.querySelector(".task__message").textContent = task.message;
}

async function watch(list) {
  const running = [...list.querySelectorAll('[data-state="running"]')];
  if (!running.length) return;
  const response = await fetch(list.dataset.tasks).catch(() => null); // a lost line is tried again
  if (response?.redirected) return location.reload(); // signed out meanwhile
  const { tasks } = response?.ok ? await response.json() : { tasks: [] };
  for (const row of running) {
    const task = tasks.find(({ pk }) => String(pk) === row.dataset.task);
    if (task && task.state !== "running") return location.reload();
    if (task) show(row, task);
  }
  setTimeout(() => watch(list), EVERY);
}

document.querySelectorAll("[data-tasks]").forEach(watch);
