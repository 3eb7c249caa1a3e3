// Tables sort by the header that is pressed: down, up, and back to how they came. Missing values stay last.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const numeric = header.classList.contains("n");
    const turns = numeric ? ["descending", "ascending", "none"] : ["ascending", "descending", "none"];
    header.querySelector("button").addEventListener("click", () => {
      const turn = turns[(turns.indexOf(header.getAttribute("aria-sort") ?? "none") + 1) % 3];
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      if (turn !== "none") header.setAttribute("aria-sort", turn);
      body.append(...(turn === "none" ? original : sorted(original, column, numeric, turn === "ascending")));
    });
  });
}

function sorted(rows, column, numeric, ascending) {
  const key = (row) => {
    const cell = row.cells[column];
    if (!numeric) return cell.textContent;
    return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
  };
  const missing = (value) => value === null || value === "";
  return [...rows].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    const order = numeric ? x - y : x.localeCompare(y, undefined, { numeric: true });
    return ascending ? order : -order;
  });
}

// Charts are drawn when they come near the screen, and again when the background changes.
const data = JSON.parse(document.getElementById("data").textContent);
const night = matchMedia("(prefers-color-scheme: dark)");
const views = new Map();

async function draw(place) {
  const mode = night.matches ? "dark" : "light";
  const chart = data.charts[place.dataset.chart];
  const config = { ...data.themes[mode], background: null, range: { category: chart[mode] } };
  views.get(place)?.finalize();
  try {
    const options = {
      config, actions: false, renderer: "svg", defaultStyle: false, ast: true,
      tooltip: { disableDefaultStyle: true, theme: "custom" },
    };
    views.set(place, await window.vegaEmbed(place, chart.panels[place.dataset.panel], options));
  } catch (error) {
    console.error(error);
    const words = document.createElement("p");
    words.textContent = "This chart could not be drawn.";
    place.replaceChildren(words);
  }
}

const watcher = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        watcher.unobserve(target);
        draw(target);
      }
    }
  },
  { rootMargin: "800px" },
);
const places = [...document.querySelectorAll(".chart")];
places.forEach((place) => watcher.observe(place));
night.addEventListener("change", () => [...views.keys()].forEach(draw));
addEventListener("beforeprint", () => places.filter((place) => !views.has(place)).forEach(draw));
