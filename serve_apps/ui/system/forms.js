const here = "/console/system";
const kind = (field) => field.type;
const zoned = (text) => (text ? new Date(text).toISOString() : "");
const local = (text) => {
  const at = new Date(text);
  return isNaN(at) ? "" : new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
};
const state = (field) => kind(field) === "checkbox" ? String(field.checked)
  : kind(field) === "datetime-local" ? zoned(field.value) : field.value;
const first = (field) => {
  if (kind(field) === "checkbox") return String(field.defaultChecked);
  if (field.tagName !== "SELECT") return kind(field) === "datetime-local" ? zoned(field.defaultValue) : field.defaultValue;
  const options = [...field.options];
  return (options.find((one) => one.defaultSelected) ?? options[0])?.value;
};
const named = (form) => [...form.elements].filter((field) => field.name && field.tagName !== "BUTTON" && !field.disabled);
const edited = (form) => named(form).filter((field) => !("always" in field.dataset) && state(field) !== first(field));
const guarded = () => [...element.querySelectorAll("form[data-only=changed]")].reduce((sum, form) => sum + edited(form).length, 0);
const leave = () => !guarded() || confirm(guarded() + " changed settings are not saved. Leave them?");

function mark(form) {
  if (form?.dataset.only !== "changed") return;
  const changed = new Set(edited(form));
  for (const field of named(form)) field.closest(".aos-field")?.classList.toggle("changed", changed.has(field));
  const bar = form.querySelector("[data-count]");
  if (!bar) return;
  bar.textContent = changed.size === 0 ? "Nothing is changed." : changed.size + (changed.size === 1 ? " change is" : " changes are") + " not saved.";
  bar.closest(".aos-save").classList.toggle("changed", changed.size > 0);
  for (const button of bar.closest(".aos-save").querySelectorAll("button")) button.disabled = changed.size === 0;
}

// Gradio changes what is there in place of putting new elements there, so what was typed into the old ones must go.
function begin() {
  element.querySelectorAll("form").forEach((form) => form.reset());
  element.querySelectorAll("input[data-iso]").forEach((field) => { field.defaultValue = local(field.dataset.iso); });
  element.querySelectorAll("input[data-zone]").forEach((field) => {
    if (!field.defaultValue) field.defaultValue = Intl.DateTimeFormat().resolvedOptions().timeZone;
  });
  element.querySelectorAll("input[data-filter]").forEach(sift);
  element.querySelectorAll("form").forEach(mark);
  const tabs = element.querySelector(".aos-tabs"), tab = tabs?.querySelector("[aria-current]");
  if (tab) tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - 24;
}

// One change of place at a time: answers could pass each other. Who goes on meanwhile gets the last one afterwards.
let going = 0, next = null;
function go(query, push = true) {
  if (push) history.pushState(null, "", here + query);
  element.setAttribute("aria-busy", "true");
  if (going && Date.now() - going < 30000) { next = query; return; }
  going = Date.now();
  trigger("click", { query });
}

function sift(box) {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const all = element.querySelector(box.dataset.filter);
  let shown = 0;
  for (const group of all.querySelectorAll("details[data-group]")) {
    let inside = 0;
    for (const field of group.querySelectorAll("[data-words]")) {
      const fits = words.every((word) => field.dataset.words.includes(word));
      field.hidden = !fits;
      inside += fits;
    }
    group.hidden = inside === 0;
    if (words.length) group.open = inside > 0;
    else group.open = false;
    shown += inside;
  }
  const said = element.querySelector("[data-found]");
  said.textContent = words.length ? (shown ? shown + " found" : "No setting is called like this.") : "";
}

element.addEventListener("submit", (event) => {
  const form = event.target;
  event.preventDefault();
  if ("go" in form.dataset) {
    const asked = new URLSearchParams();
    for (const field of named(form)) if (state(field)) asked.append(field.name, state(field));
    go("?" + asked);
    return;
  }
  if (form.dataset.act) send(form, null, event.submitter?.dataset.act);
});

function send(form, forget, other) {
  if (form.getAttribute("aria-busy")) return;
  const only = form.dataset.only === "changed" ? new Set(forget ? [] : edited(form)) : null;
  const values = forget ? { forget } : {};
  for (const field of named(form)) {
    if (!only || "always" in field.dataset || only.has(field)) values[field.name] = state(field);
  }
  form.querySelectorAll("[data-error]").forEach((place) => { place.textContent = ""; });
  form.querySelectorAll("[aria-invalid]").forEach((field) => field.removeAttribute("aria-invalid"));
  form.setAttribute("aria-busy", "true");
  trigger("submit", { act: other ?? form.dataset.act, values, query: form.closest("[data-at]")?.dataset.at ?? location.search });
}

element.addEventListener("click", (event) => {
  const back = event.target.closest("button[data-forget]");
  if (back) {
    const others = edited(back.form).length;
    if (!others || confirm("The other changes are not saved and will be dropped. Go on?")) send(back.form, back.dataset.forget);
    return;
  }
  const link = event.target.closest("a[href]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const to = new URL(link.href);
  if (to.pathname !== here || to.origin !== location.origin) return;
  event.preventDefault();
  if (leave()) go(to.search);
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const code = button.parentElement.querySelector("code");
  getSelection().selectAllChildren(code);
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Selected: press Ctrl+C";
  }
});

element.addEventListener("input", (event) => {
  const field = event.target;
  if (field.dataset.filter) sift(field);
  else mark(field.form);
});
element.addEventListener("focusin", (event) => { if ("masked" in event.target.dataset) event.target.select(); });
element.addEventListener("reset", (event) => setTimeout(() => mark(event.target)));
addEventListener("popstate", () => go(location.search, false));
addEventListener("beforeunload", (event) => { if (guarded()) event.preventDefault(); });

// Told by the page when an act or a change of place has been answered.
document.addEventListener("aos-system", (event) => setTimeout(() => {
  if (event.detail === "go") {
    const further = next;
    going = 0;
    next = null;
    if (further !== null) { go(further, false); return; }
  }
  element.removeAttribute("aria-busy");
  element.querySelectorAll("form[aria-busy]").forEach((form) => form.removeAttribute("aria-busy"));
  const said = document.querySelector(".aos-said");
  if (!said) {
    if (!document.activeElement?.closest(".aos-tabs")) element.querySelector("h1")?.focus();
    return;
  }
  if (said.dataset.to && said.dataset.to !== location.search) history.pushState(null, "", here + said.dataset.to);
  let wrong = null;
  for (const mark of said.querySelectorAll("[data-field]")) {
    const place = element.querySelector('[data-error="' + CSS.escape(mark.dataset.field) + '"]');
    const field = place?.closest(".aos-field")?.querySelector("input, select, textarea");
    if (!field) continue;
    place.textContent = mark.dataset.said;
    field.setAttribute("aria-invalid", "true");
    const group = field.closest("details");
    if (group) group.open = true;
    wrong ??= field;
  }
  (wrong ?? said).focus();
  (wrong ?? said).scrollIntoView({ block: "nearest" });
}, 60));
watch("value", begin);
begin();
