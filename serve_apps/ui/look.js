// Moments in the reader's zone, the window's title, the choice of a workspace, and the way out when a session ends.
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

  const send = window.fetch;
  window.fetch = async (...told) => {
    const answer = await send(...told);
    if (answer.status === 401 && new URL(answer.url).pathname.startsWith("/console/")) {
      location.assign("/console/sign-in?next=" + encodeURIComponent(location.pathname + location.search));
    }
    return answer;
  };
})();
