// Keeps a page up to date. What it puts in place is the same HTML that a reload would show.
"use strict";
(() => {
  const body = document.body;
  const news = document.getElementById("news");
  const say = (text) => { news.textContent = text; };

  // What somebody began to fill in is never taken away from under them.
  document.addEventListener("input", (e) => {
    const card = e.target.closest("article");
    if (card) card.dataset.dirty = "yes";
    if (e.target.dataset.of && e.target.value) document.getElementById(e.target.dataset.of).checked = true;
  });

  const load = async (address) => {
    const answer = await fetch(address, { credentials: "same-origin", redirect: "manual", cache: "no-store" });
    if (!answer.ok) return null;
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };

  const put = (old, fresh) => {
    const focused = old.contains(document.activeElement);
    fresh = document.importNode(fresh, true);
    old.replaceWith(fresh);
    if (focused) fresh.focus();
  };

  const heading = (card) => card.querySelector("h2").textContent;

  const ended = async (card) => {
    const page = await load("/inbox/inputs/" + encodeURIComponent(card.id.slice(3)));
    const fresh = page && page.getElementById(card.id);
    if (!fresh || fresh.dataset.state === "pending") { card.remove(); return; }
    const how = fresh.querySelector(".ended strong");
    put(card, fresh);
    say(heading(fresh) + " " + (how ? how.textContent : fresh.dataset.state));
  };

  const cards = async (page) => {
    const list = document.getElementById("cards");
    let before = null;
    for (const fresh of page.querySelectorAll("#cards > article")) {
      const old = document.getElementById(fresh.id);
      if (!old) {
        const added = document.importNode(fresh, true);
        if (before) before.after(added); else list.prepend(added);
        say("New: " + heading(added));
      } else if (old.dataset.version !== fresh.dataset.version) {
        if (old.dataset.dirty && fresh.dataset.state === "pending") {
          say(heading(old) + " was changed meanwhile. Load the page again to see it.");
        } else {
          const how = fresh.querySelector(".ended strong");
          put(old, fresh);
          say(heading(fresh) + (how ? " " + how.textContent : " was changed."));
        }
      }
      before = document.getElementById(fresh.id);
    }
    for (const old of list.querySelectorAll("article[data-state=pending]")) {
      if (!page.getElementById(old.id)) await ended(old);
    }
    const empty = document.getElementById("empty");
    if (empty && list.querySelector("article")) empty.remove();
    const more = page.getElementById("more");
    if (more && document.getElementById("more")) put(document.getElementById("more"), more);
  };

  let busy = false, wanted = "";
  const follow = async (version) => {
    wanted = version;
    if (busy) return;
    busy = true;
    try {
      while (wanted !== body.dataset.version) {
        const aim = wanted;
        const page = await load(body.dataset.self);
        if (!page) { say("The page could not be loaded again."); return; }
        const run = document.getElementById("run");
        if (run && page.getElementById("run")) {
          put(run, page.getElementById("run"));
          say("The run went on.");
        } else {
          await cards(page);
        }
        body.dataset.version = page.body.dataset.version;
        if (wanted === aim) break;
      }
    } catch (e) {
      say("The page could not be loaded again.");
    } finally {
      busy = false;
    }
  };

  const stream = new EventSource(body.dataset.live);
  stream.addEventListener("version", (e) => follow(e.data));
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) say("Not live any more. Load the page again.");
  });
})();
