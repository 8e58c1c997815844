// Film, time line and keys of the review page. Answers are the server's: nothing is remembered here.
"use strict";
const page = document.querySelector("main.pair");
const film = document.getElementById("film");
const line = document.getElementById("line");
const start = Number(page.dataset.start);
const length = Number(page.dataset.length);
const trouble = document.getElementById("trouble");
const help = document.getElementById("help");

function go(seconds) {
  film.currentTime = Math.min(Math.max(seconds, 0), Math.max(0, (film.duration || length) - 0.01));
}

function follow() {
  const now = film.currentTime;
  document.getElementById("head").style.left = `${Math.min(100, (100 * now) / length)}%`;
  document.getElementById("now").textContent = now.toFixed(1);
  for (const told of document.querySelectorAll("#account li[data-from]")) {
    told.classList.toggle("now", now >= Number(told.dataset.from) && now < Number(told.dataset.to));
  }
  requestAnimationFrame(follow);
}
requestAnimationFrame(follow);

function at(event) {
  const box = line.getBoundingClientRect();
  go((length * (event.clientX - box.left)) / box.width);
}
line.addEventListener("pointerdown", (event) => { line.setPointerCapture(event.pointerId); film.pause(); at(event); });
line.addEventListener("pointermove", (event) => { if (event.buttons) at(event); });
document.getElementById("account").addEventListener("click", (event) => {
  const told = event.target.closest("li[data-from]");
  if (told) go(Number(told.dataset.from));
});

document.addEventListener("click", (event) => {
  if (event.target.closest("#mark")) {
    htmx.ajax("POST", page.dataset.answer, {
      target: "#answer", swap: "outerHTML", values: { field: "apparent_s", value: (start + film.currentTime).toFixed(3) },
    });
  }
  if (event.target.closest("#reveal")) document.querySelector(".mark.inferred").classList.toggle("veiled");
  if (event.target.closest("#help-button")) help.showModal();
  if (event.target.closest("#help-close")) help.close();
});

const moves = { ArrowLeft: -0.5, ArrowRight: 0.5, ",": -1 / 25, ".": 1 / 25 };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea")) {
    if (event.key === "Escape" || event.key === "Enter") event.target.blur();
    return;
  }
  if (help.open) return;
  if (event.key === " ") film.paused ? film.play() : film.pause();
  else if (event.key in moves) { film.pause(); go(film.currentTime + moves[event.key]); }
  else if (event.key === "c") document.getElementById("comment").focus();
  else {
    const button = document.querySelector(`[data-key~="${CSS.escape(event.key)}"]`);
    if (!button || button.closest("fieldset[disabled]")) return;
    button.click();
  }
  event.preventDefault();
});

function told(text) { trouble.textContent = text; trouble.hidden = !text; }
document.addEventListener("htmx:sendError", () => told("Not saved: the review server does not answer. Start `interject review` again, then repeat the click."));
document.addEventListener("htmx:responseError", (event) => told(`Not saved: ${event.detail.xhr.responseText}`));
document.addEventListener("htmx:afterOnLoad", (event) => { if (event.detail.xhr.status < 400) told(""); });
film.addEventListener("error", async () => {
  const reply = await fetch(film.src).catch(() => null);
  told(`The clip cannot be shown. ${reply ? await reply.text() : "The review server does not answer."}`);
});
