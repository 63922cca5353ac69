// Scrolls the list of pages to the one that is shown, where the list is higher than the window.

const here = document.querySelector('.workbench-nav__groups [aria-current="page"]');
const list = here?.closest(".workbench-nav__groups");
if (list) list.scrollTop = here.offsetTop - list.clientHeight / 2;
