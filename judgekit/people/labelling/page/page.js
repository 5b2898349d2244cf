// The labelling page: asks for the present pair, shows it, sends votes. Responses come as HTML that the server made safe.
"use strict";

const place = location.pathname;
const byId = (id) => document.getElementById(id);
const KEYS = {
  1: "first", a: "first", 2: "second", b: "second", 0: "tie", t: "tie", x: "both_bad", c: "comment",
  s: "skip", u: "undo", r: "raw", f: "reference", h: "help", "?": "help",
};
const LEAST = 250; // milliseconds that a pair must have been seen: a key hit twice is no vote on the next one

let now = null;
let busy = true;
let shownAt = 0;
const on = { raw: false, reference: false, help: false };
const comments = new Map(); // by the pair voted on: U brings back what was typed, too

// The token has done its work: it stays neither in the address bar nor in the history.
history.replaceState(null, "", place);

async function ask(method, action, body) {
  busy = true;
  enable();
  try {
    const reply = await fetch(place + action, {
      method, credentials: "same-origin", cache: "no-store",
      headers: body ? { "content-type": "application/json" } : {},
      body: body ? JSON.stringify(body) : undefined,
    });
    if (!(reply.headers.get("content-type") || "").startsWith("application/json")) {
      const said = (await reply.text()).trim();
      const framed = window.top !== window;
      say(said + (reply.status === 403 && framed ? " Or open this page in a tab of its own, by the link below the frame." : ""), true);
      busy = false;
      enable();
      return;
    }
    const found = await reply.json();
    const another = now === null || now.ticket !== found.ticket;
    now = found;
    say([found.said, found.trouble].filter(Boolean).join(" "), !reply.ok || Boolean(found.trouble));
    show(another);
  } catch (error) {
    say("The server does not answer, and this vote is not stored. Is it still running? Start it again and open the link that it prints.", true);
  }
  busy = false;
  enable();
}

function say(text, wrong) {
  byId("said").textContent = text;
  byId("said").classList.toggle("wrong", Boolean(wrong));
}

function textNode(text, where) {
  where.replaceChildren();
  where.classList.add("text");
  where.dir = "auto";
  if (on.raw) {
    const raw = document.createElement("pre");
    raw.className = "raw";
    raw.dir = "auto";
    raw.textContent = text.raw;
    where.append(raw);
  } else {
    where.innerHTML = text.html; // safe: made by judgekit.people.labelling.app, and the policy runs no inline script
  }
  return where;
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  if (text) made.textContent = text;
  return made;
}

function texts() {
  const pair = now.pair;
  const turns = byId("turns");
  turns.replaceChildren();
  for (const side of ["first", "second"]) byId(side).replaceChildren();
  pair.turns.forEach((turn, n) => {
    const box = element("div", "turn");
    box.append(element("span", "caption", `Turn ${n + 1}: asked`), textNode(turn.question, element("div", "")));
    if (turn.shared) {
      box.append(element("span", "caption", `Turn ${n + 1}: answered`), textNode(turn.first, element("div", "")));
    } else {
      for (const side of ["first", "second"]) {
        const earlier = element("div", "earlier");
        earlier.append(element("span", "caption", `Turn ${n + 1}`), textNode(turn[side], element("div", "")));
        byId(side).append(earlier);
      }
    }
    turns.append(box);
  });
  if (pair.turns.length) turns.append(element("span", "caption", `Turn ${pair.turns.length + 1}: asked now`));
  textNode(pair.question, byId("question"));
  for (const side of ["first", "second"]) {
    if (pair.turns.some((turn) => !turn.shared)) byId(side).append(element("span", "caption", "Now"));
    byId(side).append(textNode(pair[side], element("div", "")));
  }
  byId("reference-box").hidden = !(on.reference && pair.reference);
  if (pair.reference) textNode(pair.reference, byId("reference"));
}

function show(another) {
  const { done, of, pace, minutes_left: left, skipped } = now.progress;
  byId("filled").style.setProperty("transform", `scaleX(${done / of})`);
  byId("bar").setAttribute("aria-valuemax", of);
  byId("bar").setAttribute("aria-valuenow", done);
  const parts = [`${done} of ${of} labelled`];
  if (skipped) parts.push(`${skipped} skipped`);
  if (pace !== null) parts.push(`${pace} s per pair`);
  if (left !== null && done < of) parts.push(left < 1 ? "under a minute left" : `about ${Math.round(left)} min left`);
  byId("progress").textContent = parts.join(" · ");
  const agreement = now.agreement;
  byId("agreement").textContent = agreement
    ? `Same as the others: ${agreement.percent} % (${agreement.interval}, ${agreement.n} comparisons)` : "";
  byId("who").textContent = now.annotator;
  if (now.instructions) byId("instructions").innerHTML = now.instructions; // made safe like the texts
  if (another) on.reference = false;
  byId("main").hidden = now.pair === null;
  byId("end").hidden = now.pair !== null;
  if (now.pair === null) {
    byId("end-title").textContent = "All pairs are labelled";
    byId("end-text").textContent = "Thank you. Every vote is stored, and this page may be closed. U takes the last vote back.";
  } else {
    texts();
  }
  if (another) {
    byId("comment").value = comments.get(JSON.stringify(now.pair)) || "";
    byId("comment").blur();
    if (now.pair !== null) {
      for (const id of ["asked", "first", "second"]) byId(id).scrollTop = 0;
      window.scrollTo(0, 0);
    }
    shownAt = performance.now();
    byId(now.pair === null ? "end" : "asked").focus({ preventScroll: true });
  }
}

function enable() {
  const none = now === null;
  for (const button of document.querySelectorAll("button")) {
    const { choice, action, toggle } = button.dataset;
    if (choice || action === "skip") button.disabled = none || now.pair === null;
    if (action === "undo") button.disabled = none || now.progress.done === 0;
    if (toggle === "reference") button.disabled = none || now.pair === null || !now.pair.reference;
    if (toggle) button.setAttribute("aria-pressed", String(on[toggle]));
  }
}

function toggle(name) {
  on[name] = !on[name];
  byId("help").hidden = !on.help;
  if (now && now.pair) texts();
  enable();
}

function act(name) {
  if (name in on) {
    if (name !== "reference" || (now && now.pair && now.pair.reference)) toggle(name);
    return;
  }
  if (busy || now === null) return;
  if (name === "comment") {
    byId("comment").focus();
  } else if (name === "undo") {
    ask("POST", "undo", { ticket: now.ticket });
  } else if (now.pair !== null && performance.now() - shownAt > LEAST) {
    const comment = byId("comment").value.trim();
    comments.set(JSON.stringify(now.pair), comment);
    ask("POST", ...(name === "skip" ? ["skip", { ticket: now.ticket }] : ["vote", { ticket: now.ticket, choice: name, comment }]));
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
  if (event.target === byId("comment")) { // letters are letters here
    if (event.key === "Escape") byId("comment").blur();
    return;
  }
  if (event.key === "Escape" && on.help) toggle("help");
  const name = KEYS[event.key.toLowerCase()];
  if (!name) return;
  event.preventDefault();
  act(name);
});
for (const button of document.querySelectorAll("button")) {
  button.addEventListener("click", () => act(button.dataset.choice || button.dataset.action || button.dataset.toggle));
}
window.addEventListener("pageshow", (event) => { if (event.persisted) ask("GET", "now"); });
ask("GET", "now");
