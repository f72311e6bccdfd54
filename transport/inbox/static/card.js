// A card: what is typed as an answer of one's own chooses it, so that it is not lost beside an option.

/** Prepares the card in root. It may be called again for the same one. */
export function init(root) {
  const own = root.querySelector("[data-own]");
  if (own && !own.dataset.ready) {
    own.dataset.ready = "1";
    const choice = own.form.querySelector("#o-own");
    const demand = () => (own.required = choice !== null && choice.checked);
    own.addEventListener("input", () => {
      if (choice && own.value.trim() !== "") choice.checked = true;
      demand();
    });
    demand();
    own.form.addEventListener("change", (event) => {
      demand();
      if (event.target.id === "o-own" && event.target.checked) own.focus();
    });
  }
  const alert = root.querySelector(".alert[role=alert]");
  if (alert && !alert.dataset.ready) {
    alert.dataset.ready = "1";
    alert.focus();
  }
}
