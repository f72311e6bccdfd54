// A button that copies what is in an element, for those that ask for one.
export function init(root) {
  if (!navigator.clipboard) return;
  for (const from of root.querySelectorAll("[data-copy]:not([data-copies])")) {
    from.dataset.copies = "";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(from.value ?? from.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select it and copy by hand";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    from.after(button);
  }
}
