// The keyboard: j and k move, u and Escape go back, x ticks, 1 to 9 choose, a, d and e go to approve, decline and dismiss,
// / searches, ? helps, g goes places. Nothing is decided by a single key: keys choose and focus, Enter or Space presses.

const places = { i: "/", h: "/history", m: "/memory", o: "/overview", s: "/settings" };
const goesFor = 1500; // ms between g and the key of a place

let gone = 0; // when g was pressed
let done = ""; // the key that did something just now

export function keys() {
  const help = document.getElementById("keys");
  help.hidden = false;
  help.addEventListener("click", () => document.getElementById("help").showModal());
  const on = document.getElementById("keys-on");
  on.checked = wanted();
  on.addEventListener("change", () => {
    try {
      localStorage.setItem("revue-keys", on.checked ? "on" : "off");
    } catch {
      // It holds for this page then.
    }
  });
  document.addEventListener("keypress", (e) => {
    if (e.key === done) e.preventDefault(); // it is not typed where the focus went
    done = "";
  });
  document.addEventListener("keydown", (e) => {
    done = "";
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
    if (document.querySelector("dialog[open]")) return; // it has keys of its own
    if (typing(e.target)) {
      if (e.key === "Escape") e.target.blur();
      return;
    }
    if (!on.checked && e.key !== "Escape") return;
    const place = Date.now() - gone < goesFor ? places[e.key] : undefined;
    gone = 0;
    if (place) {
      e.preventDefault();
      location.assign(place);
      return;
    }
    if (press(e.key)) {
      done = e.key;
      e.preventDefault();
    }
  });
}

// wanted reports whether the human wants single keys to do something: they are in the way of speech input, for example.
function wanted() {
  try {
    return localStorage.getItem("revue-keys") !== "off";
  } catch {
    return true;
  }
}

// typing reports whether keys are for the element that has the focus.
function typing(at) {
  if (!(at instanceof Element)) return false;
  if (at.closest("textarea, select, [contenteditable]")) return true;
  const input = at.closest("input");
  return input !== null && !["checkbox", "radio", "button", "submit"].includes(input.type);
}

// press does what a key is for, and reports whether it did.
function press(key) {
  switch (key) {
    case "j":
      return move(1);
    case "k":
      return move(-1);
    case "x":
      return tick();
    case "u":
    case "Escape":
      return back();
    case "/":
      return focus(document.querySelector("[data-search]"), true);
    case "a":
      return focus(document.querySelector("[data-approve]"));
    case "d":
      return focus(document.querySelector("[data-decline]"));
    case "e":
      return focus(document.querySelector("[data-dismiss]"));
    case "g":
      gone = Date.now();
      return true;
    case "?":
      document.getElementById("help")?.showModal();
      return true;
    default:
      return /^[1-9]$/.test(key) && choose(Number(key) - 1);
  }
}

// choose ticks an option, or focuses it where it is a button.
function choose(nth) {
  const option = document.querySelectorAll("[data-option]")[nth];
  if (!focus(option)) return false;
  if (option.type === "radio" && !option.checked) option.click();
  return true;
}

function rows() {
  return [...document.querySelectorAll("[data-row]")].filter((r) => r.getClientRects().length > 0);
}

// move focuses the next row; beside an open card it opens it.
function move(by) {
  const all = rows();
  if (all.length === 0 && !document.querySelector("[data-next]")) return false;
  const focused = all.indexOf(document.activeElement?.closest("li")?.querySelector("[data-row]"));
  const open = all.findIndex((r) => r.ariaCurrent === "true");
  const at = focused >= 0 ? focused : open;
  const next = document.querySelector("[data-next]");
  if (next && at < 0 && by > 0) { // what follows the card that was answered just now
    next.click();
    return true;
  }
  const to = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  if (!to) return true;
  to.focus();
  to.scrollIntoView({ block: "nearest" });
  if (open >= 0) to.click();
  return true;
}

function tick() {
  const box = document.activeElement?.closest("li")?.querySelector("input[type=checkbox]");
  if (!box) return false;
  box.click();
  return true;
}

function back() {
  const to = document.querySelector("[data-back]");
  if (!to) return false;
  to.click();
  return true;
}

function focus(to, select) {
  if (!to) return false;
  const closed = to.closest("details:not([open])");
  if (closed) closed.open = true;
  to.focus();
  if (select) to.select?.();
  return true;
}
