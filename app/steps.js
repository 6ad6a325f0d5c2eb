// Which changes of the URL the browser's Back comes to: those that somebody made. Streamlit makes every change that a script makes a
// step, and lets no script say otherwise. On a way to another page that is too many: the page that is left first gets other values, and
// the one that is come to loses some. A script that sends its reader on, or says in full what a step means, marks the values with the
// page that they are for.
(() => {
  if (window.compilewatchSteps) return;
  window.compilewatchSteps = true;
  const MARK = /([?&])_step=([a-z]*)(&|$)/;
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  // On the way by a link; and arrived, with nothing done there yet.
  let leaving = false;
  let untouched = true;
  const touched = () => { leaving = false; untouched = false; };
  for (const kind of ["pointerdown", "keydown", "click"]) addEventListener(kind, touched, true);
  addEventListener("popstate", () => { leaving = false; untouched = true; }, true);
  addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    const here = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    leaving = here && !!link && !link.target && link.origin === location.origin && link.pathname !== location.pathname;
  }, true);
  const through = (usual) => (state, title, address) => {
    const wanted = String(address ?? "");
    const found = MARK.exec(wanted);
    const clean = found
      ? wanted.replace(MARK, (_, before, page, after) => (after ? before : "")) || location.pathname
      : address;
    if (address != null && new URL(clean, location.href).pathname !== location.pathname) {
      leaving = false;
      untouched = true;
      return usual(state, title, clean);
    }
    // Not there yet: Streamlit has taken note of the values and goes to the page with them.
    if (leaving || (found && location.pathname.split("/").pop() !== found[2])) return undefined;
    return (found || untouched ? replace : usual)(state, title, clean);
  };
  history.pushState = through(push);
  history.replaceState = through(replace);
})();
