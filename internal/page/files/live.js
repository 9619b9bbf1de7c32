// The page's only script: it puts the parts that the stream brings into the page, and says whether the stream is there.
"use strict";
(() => {
  const live = document.getElementById("live");
  const words = document.getElementById("live-words");
  const say = (state, text) => {
    live.dataset.state = state;
    if (words.textContent !== text) words.textContent = text;
  };
  const stream = new EventSource(document.body.dataset.events);
  stream.addEventListener("open", () => say("on", "live"));
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) say("off", "ended: reload, or type hanse page");
    else say("wait", "connection lost, trying again");
  });
  stream.addEventListener("part", (event) => {
    const part = JSON.parse(event.data);
    const old = document.getElementById(part.id);
    if (!old) return;
    const fresh = old.cloneNode(false);
    fresh.innerHTML = part.html;
    if (fresh.isEqualNode(old)) return;
    const held = old.contains(document.activeElement) ? document.activeElement.id : "";
    old.replaceChildren(...fresh.childNodes);
    if (held) (document.getElementById(held) || document.getElementById("content")).focus({ preventScroll: true });
  });
})();
