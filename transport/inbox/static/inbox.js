// The inbox works without this file. It adds the keyboard, live views, notifications and the code of a one-time link.

import { arrive } from "./arrive.js";
import * as card from "./card.js";
import * as copy from "./copy.js";
import { keys } from "./keys.js";
import { beside } from "./list.js";
import { follow } from "./live.js";

// signIn takes the code of a one-time link out of the address, and sends it. Where somebody is signed in it says who, and the
// code is not used: it may be that of another.
function signIn() {
  if (!location.hash.startsWith("#code=")) return;
  let code = location.hash.slice("#code=".length);
  try {
    code = decodeURIComponent(code);
  } catch {
    // It is sent as it is, and refused.
  }
  history.replaceState(null, "", location.pathname + location.search);
  document.getElementById("linked")?.removeAttribute("hidden");
  const login = document.getElementById("login");
  if (!login) return;
  login.elements.code.value = code;
  login.requestSubmit();
}

signIn();
window.addEventListener("hashchange", signIn); // a link that is opened where the page is already

if (document.getElementById("rail")) {
  const init = () => [card, copy].forEach((part) => part.init(document.getElementById("main")));
  init();
  document.addEventListener("revue:shown", init); // live.js has put a newer page in place
  beside();
  arrive();
  keys();
  follow();
}
