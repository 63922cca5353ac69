// The coding of an interview. Without this module its form works.

function sourceOf(node) {
  return (node?.nodeType === Node.ELEMENT_NODE ? node : node?.parentElement)?.closest("[data-source]") ?? null;
}

/** What is selected in a source becomes the passage to be coded. */
function takeSelections(form) {
  document.addEventListener("selectionchange", () => {
    const selection = document.getSelection();
    const source = sourceOf(selection.anchorNode);
    if (selection.isCollapsed || !source || source !== sourceOf(selection.focusNode)) return;
    form.elements.source.value = source.dataset.source;
    form.elements.text.value = selection.toString();
  });
}

document.querySelectorAll("form[data-coding]").forEach(takeSelections);
