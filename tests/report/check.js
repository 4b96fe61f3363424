// Says what is to be seen in the report beside it, a page as wide as a phone.
addEventListener("load", () => {
  const page = document.getElementById("f").contentDocument;
  for (const folded of page.querySelectorAll("details")) folded.open = true;
  const size = (e) => { const b = e.getBBox(); return Math.max(b.width, b.height); };
  const charts = [...page.querySelectorAll("svg")];
  const drawn = (svg) => [...svg.querySelectorAll(".line, .bar")].filter((e) => size(e) > 0).length;
  const said = {
    charts: charts.length,
    drawn: charts.reduce((n, svg) => n + drawn(svg), 0),
    empty: charts.filter((svg) => drawn(svg) === 0).length,
    width: page.documentElement.scrollWidth,
  };
  document.getElementById("said").textContent = "\n" + Object.entries(said).map(([k, v]) => `${k}=${v}\n`).join("");
});
