// Follows a run while it goes on. The server draws the page; for each update it
// announces, this fetches the page again and takes over what is in <main>.
"use strict";
(() => {
  const source = new EventSource(document.currentScript.dataset.events);
  let busy = false, due = false;
  const refresh = async () => {
    if (busy) { due = true; return; }
    busy = true;
    do {
      due = false;
      try {
        const answer = await fetch(location.href, { credentials: "same-origin", redirect: "error" });
        if (!answer.ok) continue;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const now = page.querySelector("main");
        if (!now) continue;
        const scrolled = [...document.querySelectorAll("main .wide")].map((e) => e.scrollLeft);
        document.querySelector("main").replaceWith(document.adoptNode(now));
        document.querySelectorAll("main .wide").forEach((e, i) => { e.scrollLeft = scrolled[i] || 0; });
      } catch { /* the next update, or the end, fetches it again */ }
    } while (due);
    busy = false;
  };
  source.addEventListener("progress", refresh);
  source.addEventListener("end", () => { source.close(); refresh(); });
})();
