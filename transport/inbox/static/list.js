// The list beside a card keeps its place from one card to the next, and shows the card that is open.

const place = "revue-beside";

export function beside() {
  const list = document.querySelector(".beside");
  if (!list || list.getClientRects().length === 0) return;
  list.scrollTop = Number(kept());
  const at = list.querySelector("[data-current]");
  if (at) {
    const box = list.getBoundingClientRect();
    const row = at.getBoundingClientRect();
    if (row.top < box.top || row.bottom > box.bottom) list.scrollTop += row.top - box.top - (box.height - row.height) / 2;
  }
  window.addEventListener("pagehide", () => {
    try {
      sessionStorage.setItem(place, String(list.scrollTop));
    } catch {
      // The next page begins at what is open.
    }
  });
}

function kept() {
  try {
    return sessionStorage.getItem(place) ?? 0;
  } catch {
    return 0;
  }
}
