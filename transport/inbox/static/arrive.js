// Where the focus is when a page has come: at what stands against a form, at what was done, or at the heading of a card that
// was opened by keyboard.

const byKey = "revue-opened";

export function arrive() {
  document.addEventListener("click", (e) => {
    if (!(e.target instanceof Element) || !e.target.closest("[data-row], [data-next]") || e.detail > 0) return; // a mouse counts its clicks
    try {
      sessionStorage.setItem(byKey, "1");
    } catch {
      // The next page begins where pages begin.
    }
  });
  const heading = opened() ? document.querySelector("#card h1") : null;
  if (document.querySelector("#main [role=alert]:not([hidden])")) return; // it takes the focus itself
  (document.querySelector("#main .done") ?? heading)?.focus({ preventScroll: true });
}

function opened() {
  try {
    const was = sessionStorage.getItem(byKey) !== null;
    sessionStorage.removeItem(byKey);
    return was;
  } catch {
    return false;
  }
}
