// Times of a page in the reader's own zone.

/** The time of day, and the day where it is not today: "9:05 AM" in English, "09:05" in Chinese. */
export function writeMoment(date) {
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? {} : { month: "short", day: "numeric" };
  const { lang } = document.documentElement;
  const hour = lang.startsWith("en") ? "numeric" : "2-digit";
  return date.toLocaleString(lang, { ...day, hour, minute: "2-digit" });
}

/** The server knows the study's time zone, and only the browser knows the reader's. */
export function tellLocalTimes(part) {
  for (const moment of part.querySelectorAll("time[data-moment]")) {
    moment.textContent = writeMoment(new Date(moment.dateTime));
  }
}

tellLocalTimes(document);
