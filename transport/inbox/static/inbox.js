// The inbox works without this file. It adds the keyboard, live views and the code of a one-time link.

const login = document.getElementById("login");
if (login && location.hash.startsWith("#code=")) {
  const code = decodeURIComponent(location.hash.slice("#code=".length));
  history.replaceState(null, "", location.pathname + location.search);
  login.elements.code.value = code;
  login.requestSubmit();
}
