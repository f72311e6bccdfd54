// A card: what is typed as an answer of one's own chooses it, so that it is not lost beside an option.

/** Prepares the card in root. It may be called again for the same one. */
export function init(root) {
  const own = root.querySelector("[data-own]");
  if (own && !own.dataset.ready) {
    own.dataset.ready = "1";
    own.addEventListener("input", () => {
      const choice = own.form.querySelector("#o-own");
      if (choice && own.value.trim() !== "") choice.checked = true;
    });
    own.form.addEventListener("change", (event) => {
      if (event.target.id === "o-own" && event.target.checked) own.focus();
    });
  }
  const alert = root.querySelector("#card > .alert[role=alert]");
  if (alert && !alert.dataset.ready) {
    alert.dataset.ready = "1";
    alert.focus();
  }
}
