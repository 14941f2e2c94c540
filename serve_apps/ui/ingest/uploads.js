// Large files go in pieces by tus 1.0: what was sent stays sent, after a pause, a cut or a reload of the page.
// They outlive this element, as the page draws itself again while they are on their way.
const path = "/console/uploads";
const PIECE = 4 * 2 ** 20, AT_ONCE = 2, LONGEST_WAIT = 30, MOST_TRIES = 40, MOST_PIECES = 10000, KEPT_DAYS = 30;
const place = () => document.querySelector("[data-workspace]")?.dataset.workspace ?? "";
const stored = "aos-upload:";
const root = element;
const shared = (window.aosUploads ??= { all: [], draw: () => {}, say: () => {}, heard: false });

// What tells a file from others, without its name: a browser may be shared. By cyrb53, as crypto.subtle needs https.
function fingerprint(file) {
  const text = [place(), file.name, file.size, file.lastModified, file.type].join("\n");
  return mixed(Array.from(text, (one) => one.codePointAt(0))) + "-" + file.size.toString(36);
}

function mixed(codes) {
  let a = 0xdeadbeef, b = 0x41c6ce57;
  for (const code of codes) {
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
}

// A copy may have name, size and time of another file: what an upload began with has to be there before it goes on.
async function beginning(file) {
  const bytes = await read(file.slice(0, PIECE));
  if (!globalThis.crypto?.subtle) return mixed(new Uint8Array(bytes));
  return base64(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

async function read(piece) {
  try {
    return await piece.arrayBuffer();
  } catch {
    throw new Refused("The file cannot be read any more. Was it moved or changed? Choose it again.");
  }
}

// A browser may keep nothing (private windows, full storage): then an upload goes on until the page is left.
const memory = {
  find(key) { try { return JSON.parse(localStorage.getItem(stored + key)) ?? {}; } catch { return {}; } },
  keep(key, id, first) {
    try { localStorage.setItem(stored + key, JSON.stringify({ id, first, at: Date.now() })); } catch { return; }
  },
  drop(key) { try { localStorage.removeItem(stored + key); } catch { return; } },
  entries() {
    const found = new Map();
    try {
      for (const key of Object.keys(localStorage).filter((one) => one.startsWith(stored))) {
        const entry = JSON.parse(localStorage.getItem(key));
        if (Date.now() - entry.at > KEPT_DAYS * 86400000) localStorage.removeItem(key);
        else found.set(entry.id, key.slice(stored.length));
      }
    } catch { return found; }
    return found;
  },
};

class Refused extends Error {}
class Away extends Error {}

const base64 = (bytes) => btoa(Array.from(bytes, (one) => String.fromCharCode(one)).join(""));
const inBase64 = (text) => base64(new TextEncoder().encode(text));
const size = (bytes) => bytes < 2 ** 30 ? (bytes / 2 ** 20).toFixed(1) + " MiB" : (bytes / 2 ** 30).toFixed(2) + " GiB";

async function ask(method, address, headers = {}, body = undefined, signal = undefined) {
  let answer;
  try {
    answer = await fetch(address, { method, headers: { "Tus-Resumable": "1.0.0", ...headers }, body, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Away("The connection is gone.");
  }
  const status = answer.status, later = Number(answer.headers.get("Retry-After"));
  if (answer.ok || [404, 409, 410, 460].includes(status)) return answer;
  if (status === 401) throw new Refused("You are signed out. Sign in, and choose the file again.");
  const told = method === "HEAD" ? {} : await answer.json().catch(() => ({}));
  const said = [told.title, told.detail, told.fix].filter(Boolean).join(" ") || "The server answered " + status + ".";
  if (status >= 500 && status !== 507 || [408, 423].includes(status) || (status === 429 && later)) {
    throw Object.assign(new Away(said), { later });
  }
  if (status === 400 && told.code === "part_cut") throw new Away(said);
  throw new Refused(said);
}

async function checksum(piece) {
  if (!globalThis.crypto?.subtle) return {};
  return { "Upload-Checksum": "sha256 " + base64(new Uint8Array(await crypto.subtle.digest("SHA-256", await read(piece)))) };
}

class Upload {
  constructor(file) {
    this.file = file;
    this.name = file.name;
    this.size = file.size;
    this.key = fingerprint(file);
    const known = memory.find(this.key);
    this.id = known.id ?? null;
    this.first = known.first ?? null;
    this.offset = 0;
    this.state = "waiting";
    this.note = "";
    this.tries = 0;
    this.round = 0;
  }

  async run() {
    const round = ++this.round, goes = () => this.state === "sending" && this.round === round;
    this.enter("sending");
    while (goes()) {
      this.cut = new AbortController();
      try {
        await this.begin();
        while (goes() && this.offset < this.size) await this.piece();
        if (goes()) this.end();
      } catch (error) {
        if (!goes()) break;
        if (error instanceof Away && this.tries < MOST_TRIES) await this.rest(error);
        else this.enter("failed", error instanceof Refused || error instanceof Away ? error.message : String(error));
      }
    }
    next();
  }

  async begin() {
    const first = await beginning(this.file);
    if (this.id && this.first !== first) this.forget();  // another file's, which stays unfinished
    this.first = first;
    if (this.id) {
      const answer = await ask("HEAD", path + "/" + this.id, {}, undefined, this.cut.signal);
      if (answer.ok) return this.learn(answer);
      if (answer.status === 409) await ask("GET", path);  // its answer says whether another workspace was chosen
      if (![404, 410].includes(answer.status)) throw new Away("It is at work there.");
      this.forget();
    }
    const about = "filename " + inBase64(this.name) + (this.file.type ? ",filetype " + inBase64(this.file.type) : "");
    const headers = { "Upload-Length": String(this.size), "Upload-Metadata": about };
    const answer = await ask("POST", path, headers, undefined, this.cut.signal);
    if (!answer.ok) throw new Away("The server answered " + answer.status + ".");
    this.id = answer.headers.get("Location").split("/").pop();
    this.offset = 0;
    memory.keep(this.key, this.id, first);
  }

  async piece() {
    const bytes = this.file.slice(this.offset, this.offset + Math.max(PIECE, Math.ceil(this.size / MOST_PIECES)));
    const sum = await checksum(bytes);
    const headers = { "Content-Type": "application/offset+octet-stream", "Upload-Offset": String(this.offset), ...sum };
    const answer = await ask("PATCH", path + "/" + this.id, headers, bytes, this.cut.signal);
    if (!answer.ok) throw new Away("It stands elsewhere by now.");  // 404, 409, 410, 460: begin() asks where
    this.tries = 0;
    this.learn(answer);
  }

  learn(answer) {
    this.offset = Number(answer.headers.get("Upload-Offset"));
    this.document = answer.headers.get("AOS-Document-Id") ?? this.document;
    this.job = answer.headers.get("AOS-Job-Id") ?? this.job;
    this.outcome = answer.headers.get("AOS-Status") ?? this.outcome;
    shared.draw();
  }

  end() {
    memory.drop(this.key);
    this.enter("sent");
  }

  async rest(error) {
    const seconds = Math.min(LONGEST_WAIT, Math.max(error.later || 0, 2 ** Math.min(this.tries++, 5)));
    this.note = error.message + " It goes on in " + seconds + " s at most.";
    if (this.tries === 1) shared.say(this.name + ": " + error.message + " It goes on by itself.");
    shared.draw();
    await new Promise((awake) => { this.awake = awake; setTimeout(awake, seconds * 1000); });
    this.note = "";
    shared.draw();
  }

  enter(state, note = "") {
    const said = { paused: note ? ": " + note : " is paused.", sent: " is sent.", failed: " was not sent. " + note };
    this.state = state;
    this.note = note;
    if (said[state]) shared.say(this.name + said[state]);
    shared.draw();
  }

  stop(state) {
    this.enter(state);
    this.cut?.abort();
    this.awake?.();
  }

  forget() {
    memory.drop(this.key);
    this.id = null;
    this.offset = 0;
  }

  again() {
    this.tries = 0;
    this.enter("waiting");
    next();
  }

  async remove() {
    const sent = this.state === "sent";
    if (!sent) this.stop("discarding");
    const kept = sent || !this.id ? null : await discard(this.id);
    if (kept) return this.enter("paused", kept);
    if (!sent) memory.drop(this.key);
    leave(this);
  }
}

// One that waits on the server for its file, which a browser does not give again by itself.
class Unfinished {
  constructor(line, key) {
    Object.assign(this, { key, id: line.upload_session_id, name: line.document_name, size: line.total_size_bytes });
    this.state = "unfinished";
    this.offset = 0;
    const until = " It is kept until " + new Date(line.expires_at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) + ".";
    this.note = (key ? "Choose the same file again, and it goes on." : "It was begun in another browser or by another program.") + until;
  }

  async remove() {
    const kept = await discard(this.id);
    if (kept) {
      this.note = kept;
      shared.say(this.name + ": " + kept);
      return shared.draw();
    }
    if (this.key) memory.drop(this.key);
    leave(this);
  }
}

// Why it is still there, if it is. What is left there for another reason runs out by itself.
async function discard(id) {
  const answer = await ask("DELETE", path + "/" + id).catch(() => null);
  if (answer?.status !== 409) return "";
  const told = await answer.json().catch(() => ({}));
  if (told.code === "upload_busy") return "It was not discarded: the file is being put together, and is a document then.";
  return [told.title, told.detail, told.fix].filter(Boolean).join(" ") || "It was not discarded.";
}

function leave(one) {
  shared.all = shared.all.filter((other) => other !== one);
  shared.draw();
}

function next() {
  const free = AT_ONCE - shared.all.filter((one) => one.state === "sending").length;
  shared.all.filter((one) => one.state === "waiting").slice(0, Math.max(0, free)).forEach((one) => one.run());
}

function add(files) {
  for (const file of files) {
    const key = fingerprint(file), same = shared.all.find((one) => one.key === key && one.state !== "sent");
    if (same instanceof Upload) {
      if (["paused", "failed"].includes(same.state)) { same.file = file; same.again(); }
      continue;
    }
    const one = new Upload(file);
    shared.all = [...shared.all.filter((other) => other !== same), one];
  }
  shared.draw();
  next();
}

async function recall() {
  const known = memory.entries();
  const answer = await ask("GET", path).catch(() => null);
  if (!answer?.ok) return;
  for (const line of await answer.json()) {
    if (shared.all.some((one) => one.id === line.upload_session_id)) continue;
    const one = new Unfinished(line, known.get(line.upload_session_id));
    shared.all.push(one);
    const head = await ask("HEAD", path + "/" + one.id).catch(() => null);
    if (head?.ok) one.offset = Number(head.headers.get("Upload-Offset"));
  }
  shared.draw();
}

const made = (name, more, ...inside) => {
  const one = Object.assign(document.createElement(name), more);
  one.append(...inside);
  return one;
};
const button = (said, about, act) => {
  const one = made("button", { type: "button", className: "aos-button small", textContent: said });
  one.setAttribute("aria-label", said + " " + about);
  one.addEventListener("click", act);
  return one;
};
const link = (said, href) => made("a", { href, textContent: said });

function buttons(one) {
  const found = [];
  if (one.state === "discarding") return found;
  if (["sending", "waiting"].includes(one.state)) found.push(button("Pause", one.name, () => one.stop("paused")));
  if (one.state === "paused") found.push(button("Resume", one.name, () => one.again()));
  if (one.state === "failed") found.push(button("Retry", one.name, () => one.again()));
  const ended = one.state === "sent" ? "Hide" : "Discard";
  return [...found, button(ended, one.name, () => one.remove())];
}

function words(one) {
  const share = size(one.offset) + " of " + size(one.size);
  if (one.state !== "sent") return [{ sending: "sending", unfinished: "not finished" }[one.state] ?? one.state, ", ", share, ". ", one.note];
  const shown = [one.outcome === "duplicate" ? "sent; the workspace had it already. " : "sent. "];
  if (one.document) shown.push(link("its document", "/console/documents?id=" + one.document));
  if (one.job) shown.push(" ", link("its job", "/console/ingest?job=" + one.job));
  return shown;
}

// A row stays the same element while its state does: a button that is replaced between press and release does nothing.
function row(one) {
  if (one.row?.dataset.state !== one.state) {
    const held = one.row?.contains(document.activeElement);
    const bar = made("progress", { max: one.size || 1 });
    bar.setAttribute("aria-label", "Sent of " + one.name);
    const fresh = made("li", {}, made("b", { textContent: one.name }), bar, made("span"));
    fresh.append(made("div", { className: "aos-row" }, ...buttons(one)));
    fresh.dataset.state = one.state;
    one.row?.replaceWith(fresh);
    one.row = fresh;
    if (held) fresh.querySelector("button")?.focus();
  }
  one.row.querySelector("progress").value = one.state === "sent" ? one.size : one.offset;
  const said = words(one), before = one.row.dataset.said, now = said.map((part) => part.href ?? part).join("");
  if (before !== now) one.row.querySelector("span").replaceChildren(...said);
  one.row.dataset.said = now;
  return one.row;
}

shared.draw = () => {
  const list = root.querySelector("ul");
  if (!list) return;
  const rows = shared.all.map(row);
  [...list.children].filter((line) => !rows.includes(line)).forEach((line) => line.remove());
  rows.forEach((line, n) => { if (list.children[n] !== line) list.insertBefore(line, list.children[n] ?? null); });
  list.hidden = rows.length === 0;
};
shared.say = (said) => { const there = root.querySelector("[role=status]"); if (there) there.textContent = said; };
if (!shared.heard) {
  shared.heard = true;
  document.addEventListener("aos-large-files", (event) => add(event.detail));
  addEventListener("online", () => shared.all.forEach((one) => one.awake?.()));
}
shared.draw();
recall();
