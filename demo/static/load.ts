// Keeps the strip at the top fresh. Served as it is: plain enough to need no compiler.
// It stops a minute after the visitor's last move, so that an open tab does not keep a place inside for ever.
(() => {
  const quiet = 60_000;
  let moved = Date.now();
  for (const name of ["pointermove", "keydown", "scroll", "click"]) {
    addEventListener(name, () => { moved = Date.now(); }, { passive: true });
  }

  async function refresh() {
    if (document.hidden || Date.now() - moved > quiet) return;
    const answer = await fetch("/load", { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const load = await answer.json();
    for (const [name, value] of Object.entries(load)) {
      const place = document.getElementById("load-" + name);
      if (place) place.textContent = String(value);
    }
    const bar = document.getElementById("load-bar");
    if (bar && load.comfortable) bar.style.width = Math.min(100, (100 * load.inside) / load.comfortable) + "%";
    document.getElementById("load")?.classList.toggle("crowded", load.inside > load.comfortable);
  }

  setInterval(() => { refresh().catch(() => undefined); }, 2_000);
})();
