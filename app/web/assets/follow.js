// Follows a run while it goes on, and looks now and then for how one went on that
// waits. The server draws the page; for each update this fetches it again and takes
// over what is in <main>.
"use strict";
(() => {
  const script = document.currentScript;
  let busy = false, due = false, timer = 0, every = Number(script.dataset.every || 0);
  let shown = document.querySelector("main")?.innerHTML;
  const show = (now) => {
    const before = document.querySelector("main");
    if (now.innerHTML === shown) return; // whoever selects the line to copy keeps it
    shown = now.innerHTML;
    const scrolled = [...before.querySelectorAll(".wide")].map((e) => e.scrollLeft);
    const open = [...before.querySelectorAll("details")].map((e) => e.open);
    before.replaceWith(document.adoptNode(now));
    now.querySelectorAll(".wide").forEach((e, i) => { e.scrollLeft = scrolled[i] || 0; });
    now.querySelectorAll("details").forEach((e, i) => { e.open = open[i] || e.open; });
  };
  const refresh = async () => {
    if (busy) { due = true; return; }
    busy = true;
    do {
      due = false;
      try {
        const answer = await fetch(location.href, { credentials: "same-origin", redirect: "error" });
        if (!answer.ok) continue;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        every = Number(page.querySelector("script[data-every]")?.dataset.every || 0);
        const now = page.querySelector("main");
        if (now) show(now);
      } catch { /* the next update, or the end, fetches it again */ }
    } while (due);
    busy = false;
    later();
  };
  const later = () => {
    clearTimeout(timer);
    if (every) timer = setTimeout(refresh, 1000 * every);
  };
  if (script.dataset.events) {
    const source = new EventSource(script.dataset.events);
    source.addEventListener("progress", refresh);
    source.addEventListener("end", () => { source.close(); refresh(); });
  }
  later();
})();
