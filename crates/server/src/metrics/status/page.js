// Asks the server once a second what it does and draws it. It only ever writes text and attributes, and reads nothing but /status.json.
"use strict";

/** Seconds that charts show. */
const SPAN = 300;
/** Looks kept, to tell what changed since: at most so many. */
const KEPT = 60;
const SVG = "http://www.w3.org/2000/svg";

/** Looks at the server, the oldest first. */
const looks = [];

// --- Elements ---

const at = (id) => document.getElementById(id);

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function draw(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// --- Words ---

/** A number with about three digits. */
function num(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (Math.abs(x) >= 99.95) return Math.round(x).toLocaleString("en");
  return x === 0 ? "0" : x.toPrecision(3).replace(/\.?0+$/, "");
}

function time(us) {
  if (us === null || us === undefined || !Number.isFinite(us)) return "–";
  if (us < 1000) return `${num(us)} µs`;
  return us < 1e6 ? `${num(us / 1e3)} ms` : `${num(us / 1e6)} s`;
}

function size(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit += 1; }
  return `${num(bytes)} ${units[unit]}`;
}

const percent = (part, whole) => (whole > 0 ? `${num((100 * part) / whole)} %` : "–");
const clock = (us) => new Date(us / 1000).toLocaleTimeString("en-GB");

function span(seconds) {
  const days = Math.floor(seconds / 86400);
  const hours = Math.floor(seconds / 3600) % 24;
  const minutes = Math.floor(seconds / 60) % 60;
  return days ? `${days} d ${hours} h` : hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min` : `${seconds} s`;
}

// --- Charts ---

const BOX = { height: 170, left: 56, right: 10, top: 10, bottom: 24 };
/** A bar whose legend has this much room has it in two columns. */
const TWO_COLUMNS = 440;

/** Pixels across an element: charts are drawn in pixels, so that their text has one size on all screens. */
const across = (id) => Math.max(280, Math.floor(at(id).clientWidth));

/** Round values from 0, or powers of ten, up to a highest. */
function ticks(high, logarithmic) {
  if (logarithmic) {
    const top = Math.max(1, Math.ceil(Math.log10(Math.max(high, 1))));
    const step = Math.ceil(top / 4);
    return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => 10 ** (i * step));
  }
  const rough = Math.max(high, 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((lead) => rough / power <= lead + 1e-9);
  return Array.from({ length: 5 }, (_, i) => i * step);
}

/** Values by second, the last at `now`: `points` has [second, value], `marks` seconds, `spans` [from, until]. */
function overTime(id, name, now, points, { marks = [], spans = [], logarithmic = false, shown }) {
  const { height, left, right, top, bottom } = BOX;
  const width = across(id);
  const values = new Map(points);
  const high = Math.max(0, ...values.values());
  const scale = ticks(high, logarithmic);
  const most = Math.max(scale.at(-1), high);
  const part = (v) => (logarithmic ? Math.log10(Math.max(v, 1)) / Math.log10(Math.max(most, 10)) : v / most);
  const x = (second) => left + ((second - now + SPAN) / SPAN) * (width - left - right);
  const y = (v) => height - bottom - part(v) * (height - top - bottom);
  const last = values.get(now) ?? 0;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${name}: ${shown(last)} in the last whole second, ${shown(high)} at most in five minutes` });
  for (const tick of scale) {
    svg.append(draw("path", { class: "grid", d: `M${left} ${y(tick).toFixed(1)}H${width - right}` }));
    svg.append(draw("text", { class: "k e", x: left - 6, y: (y(tick) + 4).toFixed(1) }, shown(tick)));
  }
  for (let minute = 0; minute <= 5; minute += 1) {
    const label = minute === 5 ? "now" : `−${5 - minute} min`;
    const place = minute === 0 ? "k" : minute === 5 ? "k e" : "k m";
    svg.append(draw("text", { class: place, x: x(now - SPAN + minute * 60).toFixed(1), y: height - 6 }, label));
  }
  for (const [from, until] of spans) {
    const begin = Math.max(x(from), left);
    svg.append(draw("path", { class: "stall", d: `M${begin.toFixed(1)} ${top}H${Math.max(x(until), begin + 1.5).toFixed(1)}V${height - bottom}H${begin.toFixed(1)}z` }));
  }
  for (const mark of marks) svg.append(draw("path", { class: "mark", d: `M${x(mark).toFixed(1)} ${top}V${height - bottom}` }));
  let line = "";
  for (let second = now - SPAN + 1; second <= now; second += 1) {
    line += `${line ? "L" : "M"}${x(second).toFixed(1)} ${y(values.get(second) ?? 0).toFixed(1)}`;
  }
  svg.append(draw("path", { class: "area", d: `${line}V${height - bottom}H${x(now - SPAN + 1).toFixed(1)}z` }));
  svg.append(draw("path", { class: "line c0", d: line }));
  at(id).replaceChildren(svg);
}

/** A bar of parts: [name, value, class, words]. */
function bar(id, name, parts, whole) {
  const width = across(id);
  const columns = width < TWO_COLUMNS ? 1 : 2;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${26 + 18 * Math.ceil(parts.length / columns)}`, role: "img",
    "aria-label": `${name}: ${parts.map(([what, , , words]) => `${what} ${words}`).join(", ")}` });
  svg.append(draw("path", { class: "grid", d: `M0.5 0.5H${width - 0.5}V17.5H0.5z` }));
  let from = 0;
  parts.forEach(([what, value, style, words], i) => {
    const until = from + (whole > 0 ? (value / whole) * width : 0);
    svg.append(draw("path", { class: `bar ${style}`, d: `M${from.toFixed(1)} 1H${until.toFixed(1)}V17H${from.toFixed(1)}z` }));
    from = until;
    const left = (i % columns) * (width / columns);
    const top = 38 + 18 * Math.floor(i / columns);
    svg.append(draw("path", { class: `bar ${style}`, d: `M${left} ${top - 9}h10v10h-10z` }));
    svg.append(draw("text", { class: "k", x: left + 15, y: top }, `${what} ${words}`));
  });
  at(id).replaceChildren(svg);
}

// --- Tables ---

/** Heads and rows; columns whose head ends in a space are texts, code where it begins with one. */
function table(id, heads, rows, none) {
  const cell = (head, content, of) => {
    const element = make(of ? "th" : "td", of ? { scope: of } : {});
    if (head.endsWith(" ")) element.className = "text";
    element.append(head.startsWith(" ") && of !== "col" ? make("code", {}, content) : content);
    return element;
  };
  const head = make("thead", {}, make("tr", {}, ...heads.map((h) => cell(h, h.trim(), "col"))));
  const lines = rows.map((row) => make("tr", {}, ...row.map((content, i) => cell(heads[i], content, i === 0 ? "row" : ""))));
  const empty = make("tr", {}, make("td", { class: "text", colspan: heads.length }, none));
  at(id).replaceChildren(head, make("tbody", {}, ...(lines.length ? lines : [empty])));
}

function cards(list) {
  at("cards").replaceChildren(...list.map(([label, value, note]) =>
    make("div", { class: "card" }, make("span", {}, label), make("b", {}, value), make("small", {}, note))));
}

// --- What changed ---

/** How much a number has grown a second since the look before, or since the oldest that is kept. */
function rate(of, since = looks.at(-2)) {
  const now = looks.at(-1);
  if (!since || now.now_us <= since.now_us) return null;
  return Math.max(0, of(now) - of(since)) / ((now.now_us - since.now_us) / 1e6);
}

/** What 50, 99 of a hundred statements of a kind did not exceed since the oldest look, microseconds. */
function quantiles(kind, before) {
  const counts = kind.log.map((n, i) => n - (before?.log[i] ?? 0));
  const total = counts.reduce((a, b) => a + Math.max(b, 0), 0);
  return [0.5, 0.99].map((share) => {
    let seen = 0;
    const bucket = counts.findIndex((n) => (seen += Math.max(n, 0)) >= share * total);
    return total > 0 && bucket >= 0 ? Math.min(2 ** bucket, kind.max_us) : null;
  });
}

// --- The page ---

function show(s) {
  const now = Math.floor(s.now_us / 1e6) - 1;
  const recent = s.seconds.filter(([second]) => second > now - SPAN && second <= now);
  const [, queries = 0] = recent.find(([second]) => second === now) ?? [];
  const longest = s.stalls[0];
  const { pool, log, graveyard } = s;
  at("about").textContent = `Version ${s.version}, up for ${span(s.uptime)}.`;
  cards([
    ["Statements per second", num(queries), `${num(s.queries)} since the start`],
    ["Connections", num(s.connections), `${num(s.running)} running, ${num(s.max_connections)} at most`],
    ["Longest stall, five minutes", longest ? time(longest.length_us) : "none", longest?.ddl.length ? longest.ddl[0] : "no DDL beside it"],
    ["Dirty pages", percent(pool.dirty, pool.total), `${size(pool.dirty * pool.page_bytes)} to be written`],
    ["Log since checkpoint", percent(log.age, log.capacity), `${size(log.age)} of ${size(log.capacity)}`],
    ["Graveyard", size(graveyard.bytes), `${num(graveyard.spaces)} dropped, to be given back`],
  ]);
  const marks = recent.filter(([, , , ddl]) => ddl > 0).map(([second]) => second);
  const spans = s.stalls.map((stall) => [stall.start_us / 1e6, (stall.start_us + stall.length_us) / 1e6]);
  overTime("rate", "Statements per second", now, recent.map(([second, n]) => [second, n]), { marks, spans, shown: num });
  overTime("slowest", "Slowest statement", now, recent.map(([second, , us]) => [second, us]), { marks, spans, logarithmic: true, shown: time });
  stallsAndDdl(s);
  latency(s);
  engine(s);
  table("statements", [" statement ", "database", "number", "total", "mean", "95 %", "longest", "rows read each", "whole tables", "errors"],
    s.statements.map((d) => [d.text, d.schema ?? "–", num(d.count), time(d.total_us), time(d.total_us / d.count), time(d.p95_us), time(d.max_us),
      num(d.examined / d.count), num(d.no_index), num(d.errors)]), "None has ended yet.");
}

function stallsAndDdl(s) {
  table("stalls", ["at", "length", "DDL meanwhile "], s.stalls.map((stall) =>
    [clock(stall.start_us), time(stall.length_us), stall.ddl.length ? stall.ddl.join("; ") : "none"]), "There was none.");
  at("ddl-count").textContent = `${num(s.ddl_statements)} since the start.`;
  table("ddl", ["at", "took", "statement "], s.ddl.map((e) =>
    [clock(e.start_us), e.took_us === null ? "runs" : time(e.took_us), `${e.kind} ${e.about}${e.error ? `, error ${e.error}` : ""}`]), "There was none.");
}

function latency(s) {
  const before = new Map(looks[0].kinds.map((k) => [k.kind, k]));
  const since = looks.length > 1 ? looks[0] : undefined;
  const count = (look, kind) => look.kinds.find((k) => k.kind === kind)?.count ?? 0;
  table("kinds", ["kind ", "per second", "half below", "99 % below", "longest", "mean", "number"], s.kinds.map((k) => {
    const [half, most] = since ? quantiles(k, before.get(k.kind)) : [null, null];
    return [k.kind, num(rate((look) => count(look, k.kind), since)), time(half), time(most), time(k.max_us), time(k.sum_us / k.count), num(k.count)];
  }), "No statement has ended yet.");
}

function engine({ pool, log, graveyard }) {
  const clean = pool.data - pool.dirty;
  const pages = (n) => `${size(n * pool.page_bytes)} (${percent(n, pool.total)})`;
  bar("pool", "Buffer pool", [["clean", clean, "b0", pages(clean)], ["dirty", pool.dirty, "b1", pages(pool.dirty)],
    ["of dropped tables", pool.stale, "b7", pages(pool.stale)], ["free", pool.free, "room", pages(pool.free)]], pool.total);
  const hits = rate((s) => s.pool.requests);
  const reads = rate((s) => s.pool.reads);
  at("pool-note").textContent = `${num(hits)} pages looked for a second, ${num(reads)} of them read from disk; ${num(rate((s) => s.pool.flushed))} written.`;
  bar("log", "Redo log", [["since the checkpoint", log.age, "b0", size(log.age)], ["room", log.capacity - log.age, "room", size(log.capacity - log.age)]], log.capacity);
  at("log-note").textContent = `${size(rate((s) => s.log.written))} and ${num(rate((s) => s.log.syncs))} syncs a second.`;
  at("graveyard").textContent = `${num(graveyard.spaces)} dropped indexes and files wait, with ${size(graveyard.bytes)}; ${size(graveyard.reclaimed)} were given back since the start, ` +
    `${size(rate((s) => s.graveyard.reclaimed))} a second now.`;
}

async function look() {
  if (document.hidden) return;
  const live = at("live");
  try {
    const answer = await fetch("/status.json", { cache: "no-store" });
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
    const s = await answer.json();
    // A server that was started anew has nothing to do with what was before.
    if (looks.length && s.uptime < looks.at(-1).uptime) looks.length = 0;
    looks.push(s);
    if (looks.length > KEPT) looks.shift();
    show(s);
    live.className = "";
    if (live.textContent !== "Live.") live.textContent = "Live.";
  } catch (e) {
    const since = looks.length ? ` since ${clock(looks.at(-1).now_us)}` : "";
    const words = `The server has not answered${since}.`;
    live.className = "lost";
    if (live.textContent !== words) live.textContent = words;
  }
}

addEventListener("visibilitychange", look);
setInterval(look, 1000);
look();
