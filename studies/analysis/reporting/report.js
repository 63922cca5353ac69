// Buttons for each table: its numbers as they are shown, to paste, to save and to typeset.
"use strict";
const words = document.body.dataset;
const LATEX = {
  "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "–": "--", "−": "$-$", "×": "$\\times$",
  "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "{": "\\{", "}": "\\}", "<": "\\textless{}", ">": "\\textgreater{}",
};

function rowsOf(table) {
  return [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
}

// Other programs read no number behind the minus of typography.
function plain(text) {
  return text.replace(/−(?=\d)/g, "-");
}

function tabbed(rows) {
  return rows.map((row) => row.map((text) => plain(text).replace(/\s+/g, " ")).join("\t")).join("\n");
}

function csv(rows) {
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const guarded = (text) => (/^'*[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text);
  return rows.map((row) => row.map((text) => quoted(guarded(plain(text)))).join(",") + "\r\n").join("");
}

function latex(table, rows) {
  const escaped = (text) => text.replace(/[\\~^–−×&%$#_{}<>]/g, (sign) => LATEX[sign]);
  const line = (row) => `${row.map(escaped).join(" & ")} \\\\`;
  const last = table.rows[table.rows.length - 1];
  const columns = [...last.cells].map((cell) => (cell.classList.contains("number") ? "r" : "l")).join("");
  const [head, ...body] = rows;
  return [`\\begin{tabular}{${columns}}`, "\\toprule", line(head), "\\midrule", ...body.map(line), "\\bottomrule", "\\end{tabular}", ""].join("\n");
}

async function copy(text, button) {
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = words.copied;
  setTimeout(() => { button.textContent = said; }, 2000);
}

function save(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));
  link.download = `${name}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A link into the supplement opens the section it leads to.
function open() {
  const found = location.hash && document.getElementById(location.hash.slice(1));
  const fold = found && found.closest("details");
  if (fold && !fold.open) {
    fold.open = true;
    found.scrollIntoView();
  }
}

addEventListener("hashchange", open);
open();

for (const box of document.querySelectorAll(".table")) {
  const table = box.querySelector("table");
  const acts = {
    copy: (button) => copy(tabbed(rowsOf(table)), button),
    csv: () => save(csv(rowsOf(table)), box.dataset.name),
    latex: (button) => copy(latex(table, rowsOf(table)), button),
  };
  const bar = document.createElement("div");
  bar.className = "bar";
  for (const [name, act] of Object.entries(acts)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words[name];
    button.setAttribute("aria-label", `${words[name]}: ${box.querySelector(".caption").textContent}`);
    button.addEventListener("click", () => act(button));
    bar.append(button);
  }
  box.querySelector(".caption").after(bar);
}
