// Times of a page in the reader's own zone.

/** The server knows the study's time zone, and only the browser knows the reader's. */
export function tellLocalTimes(part) {
  for (const moment of part.querySelectorAll("time[data-moment]")) {
    const date = new Date(moment.dateTime);
    const isToday = date.toDateString() === new Date().toDateString();
    const day = isToday ? {} : { month: "short", day: "numeric" };
    const { lang } = document.documentElement;
    moment.textContent = date.toLocaleString(lang, { ...day, hour: "2-digit", minute: "2-digit" });
  }
}

tellLocalTimes(document);
