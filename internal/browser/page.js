// What a tab evaluates in the page before each expression: it finds elements as a person would name them.
const $$ = (sel) => {
  const [css, words] = sel.split(" :: ");
  let all = [...document.querySelectorAll(css)];
  if (words !== undefined) {
    all = all.filter((e) => $named(e).includes(words));
    // The innermost ones: a card has the words of its button too.
    all = all.filter((e) => !all.some((o) => o !== e && e.contains(o)));
  }
  return all;
};
const $named = (e) =>
  [e.textContent, e.getAttribute("aria-label"), e.value, e.title].filter(Boolean).join(" ").replace(/\s+/g, " ").trim();
const $shown = (e) => {
  if (!e.isConnected || !e.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
  const r = e.getBoundingClientRect();
  return r.width > 1 && r.height > 1; // what is there for screen readers alone has a pixel
};
const $ = (sel) => $$(sel).find($shown);
const $any = (sel) => $(sel) ?? $$(sel)[0];
// $spot is where to press an element: a point in it that nothing covers, or a text that says what is wrong.
const $spot = (sel) => {
  const e = $(sel);
  if (!e) return { why: $$(sel).length ? "it is not shown" : "there is none" };
  if (e.disabled || e.getAttribute("aria-disabled") === "true") return { why: "it is disabled" };
  e.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
  for (const r of e.getClientRects()) {
    const x = r.left + r.width / 2, y = r.top + r.height / 2;
    const hit = document.elementFromPoint(x, y);
    if (hit && (e.contains(hit) || hit.contains(e) && hit.closest("label") && e.labels && [...e.labels].includes(hit.closest("label")))) return { x, y };
    if (hit && e.labels && [...e.labels].some((l) => l.contains(hit))) return { x, y };
  }
  return { why: "something covers it" };
};
