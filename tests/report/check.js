// Says what is to be seen in the page beside it.

/** Red, green, blue and opacity of a computed colour. */
function parts(colour) {
  const [red, green, blue, opacity = 1] = colour.match(/[\d.]+/g).map(Number);
  return { red, green, blue, opacity };
}

/** Relative luminance, as WCAG has it. */
function luminance({ red, green, blue }) {
  const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

/** The first colour behind an element that is not transparent. */
function behind(element) {
  for (let e = element; e; e = e.parentElement) {
    const colour = parts(getComputedStyle(e).backgroundColor);
    if (colour.opacity > 0) return colour;
  }
  return { red: 255, green: 255, blue: 255 };
}

/** Whether a text is as easy to tell from what is behind it as WCAG AA asks. */
function legible(element) {
  const style = getComputedStyle(element);
  const ink = luminance(parts(element instanceof element.ownerDocument.defaultView.SVGElement ? style.fill : style.color));
  const paper = luminance(behind(element));
  const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
  return contrast >= (large ? 3 : 4.5);
}

const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;

/** Pairs of elements that lie over each other. */
function overlapping(elements) {
  const boxes = elements.map((e) => [e, e.getBoundingClientRect()]).filter(([, b]) => b.width > 0);
  return boxes.flatMap(([e, a], i) => boxes.slice(i + 1).filter(([, b]) => overlap(a, b)).map(([f]) => `${e.textContent}|${f.textContent}`));
}

/** Texts that reach beyond their drawing. */
function outside(svg) {
  const box = svg.getBoundingClientRect();
  const reaches = (t) => { const b = t.getBoundingClientRect(); return b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1; };
  return [...svg.querySelectorAll("text")].filter(reaches).map((t) => t.textContent);
}

function check(page) {
  for (const folded of page.querySelectorAll("details")) folded.open = true;
  const size = (e) => { const b = e.getBBox(); return Math.max(b.width, b.height); };
  const charts = [...page.querySelectorAll("svg")];
  const drawn = (svg) => [...svg.querySelectorAll(".line, .bar, .dot")].filter((e) => size(e) > 0).length;
  const told = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const texts = [...page.body.querySelectorAll("*")].filter((e) => !e.closest("title, style, script") && told(e) && e.getClientRects().length);
  const laps = charts.flatMap((svg) => overlapping([...svg.querySelectorAll("text")]));
  const blocks = [...page.querySelectorAll("article, .cards, .beside, .panels")].flatMap((e) => overlapping([...e.children]));
  const pale = texts.filter((e) => !legible(e)).map((e) => e.textContent.trim());
  const beyond = charts.flatMap(outside);
  const unnamed = charts.filter((svg) => svg.getAttribute("role") !== "img" || !svg.getAttribute("aria-label")).length;
  const lost = [...page.querySelectorAll("a[href^='#']")].filter((a) => !page.getElementById(a.getAttribute("href").slice(1))).length;
  const some = (list) => list.slice(0, 4).join("; ").replace(/\s+/g, " ").slice(0, 300);
  return {
    charts: charts.length,
    drawn: charts.reduce((n, svg) => n + drawn(svg), 0),
    empty: charts.filter((svg) => drawn(svg) === 0).length,
    width: page.documentElement.scrollWidth,
    overlaps: laps.length + blocks.length, "which-overlap": some([...laps, ...blocks]),
    outside: beyond.length, "which-outside": some(beyond),
    pale: pale.length, "which-pale": some(pale),
    unnamed, lost,
    paper: luminance(behind(page.body)).toFixed(2),
  };
}

addEventListener("load", () => {
  const said = check(document.getElementById("f").contentDocument);
  document.getElementById("said").textContent = "\n" + Object.entries(said).map(([k, v]) => `${k}=${v}\n`).join("");
});
