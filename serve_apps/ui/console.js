// Moments in the reader's zone, the window's title, the workspace, and the way out when a session ends.
(() => {
  "use strict";
  const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
  const ago = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
  const steps = [["day", 86400], ["hour", 3600], ["minute", 60]];

  function relative(at) {
    const seconds = (at - Date.now()) / 1000;
    for (const [unit, length] of steps) {
      if (Math.abs(seconds) >= length) return ago.format(Math.round(seconds / length), unit);
    }
    return ago.format(Math.round(seconds), "second");
  }

  function tell(time) {
    const at = new Date(time.dateTime);
    if (isNaN(at)) return;
    const text = time.hasAttribute("data-relative") ? relative(at) : clock.format(at);
    if (time.textContent !== text) time.textContent = text;
    time.title = full.format(at);
  }

  const tellAll = () => document.querySelectorAll("time[datetime]").forEach(tell);
  let waiting = false;
  new MutationObserver(() => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; tellAll(); });
  }).observe(document.documentElement, { childList: true, subtree: true });
  setInterval(tellAll, 15000);
  tellAll();

  // Gradio names every page alike once it is there.
  const title = document.querySelector("[data-title]")?.dataset.title;
  const head = document.querySelector("head");
  if (title && head) {
    const keep = () => { if (document.title !== title) document.title = title; };
    new MutationObserver(keep).observe(head, { childList: true, subtree: true, characterData: true });
    keep();
  }

  // On a narrow screen the pages are a strip: the one that is open may stand outside of what is seen of it.
  document.querySelector(".aos-nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  document.querySelectorAll("select[data-submits]").forEach((choice) => {
    choice.addEventListener("change", () => choice.form.submit());
  });

  // Gradio sets a base address, from which a browser would take a link within the page.
  document.addEventListener("click", (event) => {
    const inside = event.target.closest?.('a[href^="#"]');
    if (!inside) return;
    event.preventDefault();
    location.hash = inside.getAttribute("href");
  });

  // Of several files that are chosen at once the ones that are too large are named and left out, large ones go in pieces
  // (uploads.js), and the others are sent.
  function fitting(event, input, files) {
    const told = document.querySelector("[data-most]");
    const most = Number(told?.dataset.most ?? Infinity);
    const atOnce = Math.min(most, Number(told?.dataset.atOnce ?? Infinity));
    const large = [...files].filter((file) => file.size > most);
    const pieces = [...files].filter((file) => file.size <= most && file.size > atOnce);
    if (told) told.replaceChildren();
    if (!large.length && !pieces.length) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const kept = new DataTransfer();
    [...files].filter((file) => file.size <= atOnce).forEach((file) => kept.items.add(file));
    if (pieces.length) document.dispatchEvent(new CustomEvent("aos-large-files", { detail: pieces }));
    if (large.length) tellTooLarge(told, large);
    input.files = kept.files;
    if (kept.files.length) input.dispatchEvent(Object.assign(new Event("change", { bubbles: true }), { fits: true }));
  }
  function tellTooLarge(told, large) {
    const names = document.createElement("ul"), fix = document.createElement("p");
    large.forEach((file) => names.append(Object.assign(document.createElement("li"), {
      textContent: `${file.name} is larger than ${told.dataset.limit} and was not sent.`,
    })));
    const limits = told.dataset.atOnce ? "AOS_READ_MAX_FILE_BYTES and AOS_UPLOADS_MAX_BYTES" : "AOS_HTTP_MAX_UPLOAD_BYTES";
    fix.textContent = `Split it, scan it from a folder, or ask an administrator to raise ${limits}.`;
    told.append(names, fix);
  }
  document.addEventListener("change", (event) => {
    if (!event.fits && event.target.matches?.("#upload input[type=file]")) fitting(event, event.target, event.target.files);
  }, true);
  document.addEventListener("drop", (event) => {
    const input = event.target.closest?.("#upload")?.querySelector("input[type=file]");
    if (input && event.dataTransfer?.files.length) fitting(event, input, event.dataTransfer.files);
  }, true);

  // A page acts in the workspace that it shows or not at all: another one may have been chosen in another tab.
  const place = document.querySelector("[data-workspace]")?.dataset.workspace;
  function elsewhere(said) {
    if (document.querySelector(".aos-elsewhere")) return;
    const box = document.createElement("div"), again = document.createElement("button");
    box.className = "aos-problem aos-elsewhere";
    box.setAttribute("role", "alert");
    again.type = "button";
    again.textContent = "Reload";
    again.addEventListener("click", () => location.reload());
    box.append(said, again);
    document.body.append(box);
  }

  const send = window.fetch;
  window.fetch = async (what, how = {}) => {
    const to = new URL(what.url ?? what, document.baseURI);
    if (place && to.origin === location.origin && to.pathname.startsWith("/console/")) {
      const headers = new Headers(how.headers ?? what.headers);
      headers.set("X-Console-Workspace", place);
      how = { ...how, headers };
    }
    const answer = await send(what, how);
    const bare = (how.method ?? what.method) === "HEAD";  // its answers have no body
    if (!bare && answer.status === 409 && answer.headers.get("content-type")?.startsWith("application/problem+json")) {
      const told = await answer.clone().json();
      if (told.code === "other_workspace") {
        elsewhere(told.title);
        return new Promise(() => {});  // never answered, so that what refreshes itself does not ask again and again
      }
    }
    if (answer.status === 401 && new URL(answer.url).pathname.startsWith("/console/")) {
      location.assign("/console/sign-in?next=" + encodeURIComponent(location.pathname + location.search));
    }
    return answer;
  };
})();
