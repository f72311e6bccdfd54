// Live views. When something is committed the page is fetched again and what is in it is changed in place: focus, scrolling,
// what was typed or ticked and what was opened stay. One tab of a browser listens and tells the others.

const quickly = 40; // ms after the first of several events
const atMost = 400; // ms between two fetches
const slow = 15000; // ms after which a fetch, or a connection that does not come about, is given up
const later = 3000; // ms after a fetch that failed
const backOff = [500, 1000, 2000, 4000, 8000, 15000]; // ms until the next try
const anyway = 60000; // ms after which a page that is looked at is fetched without an event: times go on, lanes get other names
const silence = 45000; // ms without a sign of life, after which a connection counts as lost; longer than two heartbeats

const main = document.getElementById("main");
const away = document.getElementById("away");
const said = document.getElementById("said");

let seq = Number(main.dataset.seq); // what the page reflects
let opened = Number(main.dataset.opened); // the newest question that is known
let tell = () => {}; // tells other tabs
let hurry = () => {}; // connects now, where that is waited with
let unreachable = false; // the plane was, at the last fetch
let fetching = false;
let again = false; // something came while fetching
let timer = 0;
let last = 0; // when a fetch began

export function follow() {
  notifications();
  if (!("seq" in main.dataset)) return; // an error, or what a form came to: nothing to keep current
  setInterval(() => document.hidden || changed(), anyway);
  window.addEventListener("pageshow", (e) => e.persisted && refresh());
  if (!("BroadcastChannel" in window) || !navigator.locks) {
    listen();
    return;
  }
  const name = "revue-live-" + main.dataset.session;
  const channel = new BroadcastChannel(name);
  channel.addEventListener("message", ({ data }) => {
    if (data.up !== undefined) connected(data.up);
    if (data.ended) ended();
    if (data.refresh) refresh();
    if (data.seq > seq) changed();
  });
  tell = (what) => channel.postMessage(what);
  const forGood = () => {
    listen();
    return new Promise(() => {});
  };
  navigator.locks.request(name, { ifAvailable: true }, (lock) => {
    if (lock) return forGood();
    // The lock comes to this tab when the one that has it is closed. Something may have been missed then.
    navigator.locks.request(name, () => {
      refresh();
      return forGood();
    });
  });
}

// listen follows the journal for as long as the tab is there.
function listen() {
  let tries = 0;
  let source = null;
  let watch = 0;
  let waiting = 0;
  let came = false; // the connection came about

  const connect = () => {
    clearTimeout(waiting);
    waiting = 0;
    came = false;
    source = new EventSource(`/live?after=${seq}`);
    const alive = () => {
      clearTimeout(watch);
      watch = setTimeout(lost, silence);
    };
    watch = setTimeout(lost, slow);
    source.addEventListener("open", () => {
      alive();
      came = true;
      if (tries > 0) {
        tell({ refresh: true });
        refresh();
      }
      tries = 0;
      connected(true);
      tell({ up: true });
    });
    source.addEventListener("beat", alive);
    source.addEventListener("change", (e) => {
      alive();
      tell({ seq: Number(e.lastEventId) });
      if (Number(e.lastEventId) > seq) changed();
    });
    source.addEventListener("end", () => {
      source.close();
      clearTimeout(watch);
      tell({ ended: true });
      ended();
    });
    source.addEventListener("error", lost);
  };

  const lost = () => {
    clearTimeout(watch);
    source.close();
    if (waiting) return;
    tries++;
    connected(false);
    tell({ up: false });
    const pause = backOff[Math.min(tries, backOff.length) - 1];
    if (!came) refresh(); // the session may have ended, which the page tells
    waiting = setTimeout(connect, pause * (0.75 + Math.random() / 2));
  };

  const now = () => {
    if (waiting) connect();
  };
  hurry = now;
  window.addEventListener("online", now);
  document.addEventListener("visibilitychange", () => document.hidden || now());
  window.addEventListener("pagehide", () => source?.close());
  window.addEventListener("pageshow", (e) => e.persisted && lost());
  connect();
}

function connected(up) {
  away.hidden = up;
}

// ended leads to the page to sign in, which leads back here.
function ended() {
  location.reload();
}

// changed fetches the page soon: at once after a quiet time, and not all the time in a busy one.
function changed() {
  if (timer) return;
  timer = setTimeout(() => {
    timer = 0;
    refresh();
  }, Math.max(quickly, last + atMost - Date.now()));
}

// refresh fetches the page and puts it in place.
async function refresh() {
  if (fetching) {
    again = true;
    return;
  }
  fetching = true;
  last = Date.now();
  const page = await fetched();
  fetching = false;
  if (again) {
    again = false;
    changed();
  }
  if (page) show(page);
}

// fetched returns the page as it is now; null where there is none.
async function fetched() {
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store", signal: AbortSignal.timeout(slow) });
    if (answer.redirected && new URL(answer.url).pathname === "/login") {
      ended();
      return null;
    }
    if (answer.status >= 500) throw new Error("not now");
    if (unreachable) hurry();
    unreachable = false;
    if (!answer.ok) return null; // what is shown here is gone
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    unreachable = true;
    setTimeout(changed, later);
    return null;
  }
}

function show(page) {
  const next = page.getElementById("main");
  if (!next || !("seq" in next.dataset)) return;
  if (next.dataset.session !== main.dataset.session) { // somebody else has signed in
    ended();
    return;
  }
  document.title = page.title;
  const icon = document.getElementById("icon");
  const href = page.getElementById("icon")?.getAttribute("href");
  if (icon && href && icon.getAttribute("href") !== href) icon.setAttribute("href", href);
  const entry = document.getElementById("nav-inbox");
  const newer = page.getElementById("nav-inbox");
  if (entry && newer) { // a card that ended here is still looked at from the inbox
    if (entry.hasAttribute("aria-current")) newer.setAttribute("aria-current", "page");
    else newer.removeAttribute("aria-current");
  }
  morph(entry, newer);
  if (!("still" in main.dataset)) {
    const rows = () => [...document.querySelectorAll("[data-row]")];
    const at = rows().indexOf(document.activeElement);
    morph(main, next);
    if (at >= 0 && document.activeElement === document.body) { // somebody has answered what had the focus
      const left = rows();
      left[Math.min(at, left.length - 1)]?.focus({ preventScroll: true });
    }
    over();
    document.dispatchEvent(new CustomEvent("revue:shown"));
  }
  seq = Number(next.dataset.seq);
  main.dataset.seq = seq;
  announce(page);
}

// morph makes one element what another is, and leaves what the human has begun.
function morph(from, to) {
  if (!from || !to) return;
  Idiomorph.morph(from, to, {
    morphStyle: "outerHTML",
    ignoreActiveValue: true,
    callbacks: {
      beforeNodeMorphed(old, fresh) {
        if (!(old instanceof Element) || !(fresh instanceof Element)) return true;
        if (old.isEqualNode(fresh)) return false; // comparing is quick, and to morph a thousand paragraphs is not
        if (old.matches("form[data-keep]")) {
          const changed = content(old) !== content(fresh);
          if (begun(old) || (changed && settles(old) && sameForm(old, fresh))) {
            if (changed) changedMeanwhile(old);
            return false;
          }
        }
        if (old instanceof HTMLDetailsElement) fresh.open = old.open;
        if (old instanceof HTMLDialogElement && old.open) return false;
        return !edited(old);
      },
      beforeNodeRemoved(old) {
        // What was written is not thrown away because the card has ended: sending it tells by whom.
        const kept = old instanceof Element ? [old, ...old.querySelectorAll("form[data-keep]")].filter((f) => f.matches("form[data-keep]") && written(f)) : [];
        for (const form of kept) changedMeanwhile(form);
        return kept.length === 0;
      },
    },
  });
}

// settles reports whether sending a form settles what was on screen. Such a form stays as it is, begun or not, and with it what
// it says was seen: else a button settles what came under the eyes of nobody.
function settles(form) {
  return form.querySelector('input[name="seen"], input[name="lot"]') !== null;
}

function sameForm(old, fresh) {
  return fresh.matches("form[data-keep]") && fresh.getAttribute("action") === old.getAttribute("action");
}

function changedMeanwhile(form) {
  form.querySelector("[data-changed]")?.removeAttribute("hidden");
}

// over says of a form that was kept when its card ended that it settles nothing any more, and by whom the card was.
function over() {
  const form = document.getElementById("answer");
  const note = form?.querySelector("[data-over]");
  if (!note) return;
  const by = document.getElementById("card")?.dataset.ended ?? "";
  const was = !note.hidden;
  for (const b of form.querySelectorAll("button")) b.disabled = by !== "";
  note.hidden = by === "";
  if (by !== "") {
    const text = `${by} just now; what you send is not recorded.`;
    if (!was || !note.textContent.startsWith(by)) note.textContent = text;
    form.querySelector("[data-changed]")?.setAttribute("hidden", "");
  } else if (was) changedMeanwhile(form); // it was reopened
}

// edited reports whether a field is not as the server sent it.
function edited(field) {
  if (field instanceof HTMLInputElement) {
    if (field.type === "hidden") return false;
    return ["checkbox", "radio"].includes(field.type) ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
  }
  if (field instanceof HTMLTextAreaElement) return field.value !== field.defaultValue;
  if (field instanceof HTMLSelectElement) {
    const preset = [...field.options].findIndex((o) => o.defaultSelected);
    return field.selectedIndex !== Math.max(preset, 0);
  }
  return false;
}

function begun(form) {
  return [...form.elements].some(edited);
}

function written(form) {
  return [...form.elements].some((f) => f.matches("textarea, input[type=text]") && f.value.trim() !== "" && edited(f));
}

// content is what a form says, without what is another in each page and what only tells the time.
function content(form) {
  const copy = form.cloneNode(true);
  copy.querySelectorAll('input[name="csrf"], input[name="call"], time, [data-changed], [data-over]').forEach((e) => e.remove());
  copy.querySelectorAll("button").forEach((b) => b.removeAttribute("disabled"));
  copy.querySelectorAll("details").forEach((d) => d.removeAttribute("open"));
  copy.querySelectorAll("[data-ready]").forEach((e) => ["data-ready", "required"].forEach((name) => e.removeAttribute(name))); // card.js sets them
  return copy.innerHTML.replace(/\s+/g, " ");
}

// announce says that questions are new: to a screen reader, and by a notification where nobody looks.
function announce(page) {
  const newest = Number(page.getElementById("main").dataset.opened);
  if (!(newest > opened)) return;
  const rows = [...page.querySelectorAll("#main [data-row]")].filter((r) => Number(r.dataset.opened) > opened);
  const fresh = rows.filter((r) => !r.closest(".lane.muted")); // a muted stream tells nobody
  opened = newest;
  if (rows.length > 0 && fresh.length === 0) return;
  said.textContent = fresh.length === 0 ? "New questions" : fresh.length === 1 ? "1 new question" : `${fresh.length} new questions`;
  if (document.hidden) notify(fresh);
}

// notify shows a notification while the tab is hidden. The text of agents is plain text there, and short.
function notify(fresh) {
  if (!("Notification" in window) || Notification.permission !== "granted" || !wanted()) return;
  const row = fresh.length === 1 ? fresh[0] : null;
  const asks = row?.querySelector(".asks")?.textContent.trim() ?? "";
  // The tag is the same in all tabs, so that several show one.
  const n = new Notification(fresh.length > 1 ? `${fresh.length} questions wait` : "A question waits", {
    body: asks.length > 120 ? asks.slice(0, 119) + "…" : asks,
    tag: row ? row.dataset.row : "revue",
    icon: "/favicon.svg?n=" + Math.max(fresh.length, 1),
  });
  const to = row ? row.getAttribute("href") : "/";
  n.addEventListener("click", () => {
    window.focus();
    n.close();
    location.assign(to);
  });
}

function wanted() {
  try {
    return localStorage.getItem("revue-notify") !== "off";
  } catch {
    return true;
  }
}

// notifications shows the button that asks for leave. Nothing asks before it is pressed.
function notifications() {
  const button = () => document.getElementById("notify");
  if (!("Notification" in window)) return;
  const label = () => {
    const b = button();
    if (!b) return;
    b.hidden = Notification.permission === "denied";
    b.textContent = Notification.permission === "granted" && wanted() ? "Stop notifying me" : "Notify me of new questions";
  };
  document.addEventListener("click", async (e) => {
    if (!(e.target instanceof Element) || e.target.closest("#notify") === null) return;
    if (Notification.permission === "granted") {
      try {
        localStorage.setItem("revue-notify", wanted() ? "off" : "on");
      } catch {
        // It holds for this page then.
      }
    } else {
      await Notification.requestPermission();
    }
    label();
  });
  document.addEventListener("revue:shown", label);
  label();
}
