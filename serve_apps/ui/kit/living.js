// HTML of ours that lives: links within the page and forms change it in place, and buttons ask for what they name.
// Whatever is not handled here still works as a link or a form of the browser.
const here = location.pathname;
let asked = null;

function busy(on) {
  element.setAttribute("aria-busy", on ? "true" : "false");
  element.classList.toggle("doc-busy", on);
}

function go(address, push) {
  if (push) history.pushState(null, "", address);
  asked = document.activeElement?.id || null;
  busy(true);
  trigger("select", { query: new URL(address, location.href).search, turn: Date.now() });
}

element.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest("a[href]");
  if (link && !link.target && new URL(link.href).pathname === here) {
    event.preventDefault();
    go(link.href, true);
    return;
  }
  const button = event.target.closest("button[data-act]");
  if (!button || button.disabled) return;
  event.preventDefault();
  asked = button.id || null;
  busy(true);
  const form = button.closest("form");
  const fields = form ? Object.fromEntries(new FormData(form)) : {};
  trigger("click", { act: button.dataset.act, value: button.value, fields, query: location.search, turn: Date.now() });
});

element.addEventListener("submit", (event) => {
  const form = event.target.closest("form");
  if (!form) return;
  event.preventDefault();
  const act = form.querySelector("button[data-act]");
  if (act) {
    act.click();
    return;
  }
  const query = new URLSearchParams();
  const zone = form.querySelector("[data-zone]");
  const dated = [...form.querySelectorAll("[type=date]")].some((one) => one.value);
  if (zone) zone.value = dated ? -new Date().getTimezoneOffset() : "";
  for (const [name, value] of new FormData(form)) if (value !== "") query.append(name, value);
  go(here + (query.size ? "?" + query : ""), true);
});

element.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-at-once]");
  if (form && event.target.tagName === "SELECT") form.requestSubmit();
});

addEventListener("popstate", () => { if (element.isConnected) go(location.href, false); });

// A word of a page is lit in the picture and in the text, by pointer and by keyboard.
function light(event) {
  const word = event.target.closest?.("[data-w]");
  element.querySelectorAll(".lit").forEach((one) => one.classList.remove("lit"));
  if (!word) return;
  const pair = element.querySelectorAll(`[data-w="${CSS.escape(word.dataset.w)}"]`);
  pair.forEach((one) => one.classList.add("lit"));
  const other = [...pair].find((one) => one !== word);
  const frame = other?.closest(".doc-scroll");
  if (!frame || event.type !== "focusin") return;
  const place = other.getBoundingClientRect(), room = frame.getBoundingClientRect();
  if (place.top < room.top || place.bottom > room.bottom) frame.scrollTop += place.top - room.top - room.height / 2;
}
element.addEventListener("mouseover", light);
element.addEventListener("focusin", light);

// One stop of the Tab key for all words; arrows go from word to word.
element.addEventListener("keydown", (event) => {
  const word = event.target.closest?.("[data-w][tabindex]");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!word || !step) return;
  event.preventDefault();
  const words = [...word.parentElement.closest(".doc-scroll").querySelectorAll("[data-w][tabindex]")];
  const next = words[words.indexOf(word) + step];
  if (!next) return;
  word.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});

// A key of its own for a link, wherever nobody writes; Escape leaves a field.
addEventListener("keydown", (event) => {
  if (!element.isConnected || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (field && event.key === "Escape" && element.contains(field)) field.blur();
  const link = field ? null : element.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});

element.addEventListener("error", (event) => {
  if (event.target.tagName === "IMG") event.target.closest(".doc-sheet")?.classList.add("nopicture");
}, true);

element.addEventListener("input", (event) => {
  const name = event.target.dataset?.shows;
  if (name) element.querySelector(".doc-viewer")?.classList.toggle(name, event.target.checked);
});

// Where somebody is stays where it is when the page refreshes itself.
let last = null;
element.addEventListener("focusin", (event) => { last = event.target.id || null; });
element.addEventListener("focusout", (event) => {
  if (event.relatedTarget && !element.contains(event.relatedTarget)) last = null;
});

function settle() {
  busy(false);
  if (!asked && document.activeElement === document.body) asked = last;
  if (asked) element.querySelector("#" + CSS.escape(asked))?.focus();
  asked = null;
  const address = element.querySelector("[data-address]")?.dataset.address;
  if (address) history.replaceState(null, "", address);
  const passage = element.querySelector(".doc-text .doc-passage");
  const frame = passage?.closest(".doc-scroll");
  if (frame) frame.scrollTop += passage.getBoundingClientRect().top - frame.getBoundingClientRect().top - 80;
}
watch("value", settle);
