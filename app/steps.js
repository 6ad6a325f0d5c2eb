// Which changes of the URL the browser's Back comes to. Going to another page by a click, Streamlit first gives the page that is
// left the values of the other one, as a step of its own, and lets no script say otherwise: a value marks what is none.
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
    const clean = wanted.replace(MARK, (_, before, how, after) => (after ? before : "")) || location.pathname;
    if (new URL(clean, location.href).pathname !== location.pathname) return usual(state, title, clean);
    return found[2] === "amend" ? replace(state, title, clean) : undefined;
  };
  history.pushState = through(push);
  history.replaceState = through(replace);
})();
