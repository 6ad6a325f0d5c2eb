// Which changes of the URL the browser's Back comes to. Going to another page by a click, Streamlit first gives the page that is
// left the values of the other one, as a step of its own, and lets no script say otherwise: a value marks what is none, and names the page that the
// others are for.
(() => {
  if (window.compilewatchSteps) return;
  window.compilewatchSteps = true;
  const MARK = /([?&])_step=([a-z]*)(&|$)/;
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  const through = (usual) => (state, title, address) => {
    const wanted = String(address ?? "");
    const found = MARK.exec(wanted);
    if (!found) return usual(state, title, address);
    const clean = wanted.replace(MARK, (_, before, page, after) => (after ? before : "")) || location.pathname;
    if (new URL(clean, location.href).pathname !== location.pathname) return usual(state, title, clean);
    // Not there yet: Streamlit has taken note of the values and goes to the page with them.
    return location.pathname.split("/").pop() === found[2] ? replace(state, title, clean) : undefined;
  };
  history.pushState = through(push);
  history.replaceState = through(replace);
})();
