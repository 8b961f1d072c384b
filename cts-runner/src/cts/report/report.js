// Search over all cases: every word must be in the name or be the outcome.
const cases = [];
let before = "";
for (const line of document.getElementById("cases").textContent.trim().split("\n")) {
  const [shared, rest, outcome, ms] = line.split("|");
  before = before.slice(0, Number(shared)) + rest;
  cases.push({ name: before, outcome: outcomes[outcome], ms: Number(ms) });
}
const found = document.getElementById("found");
document.getElementById("search").addEventListener("input", (event) => {
  const words = event.target.value.split(/\s+/).filter(Boolean);
  found.replaceChildren();
  if (words.length === 0) return;
  const hits = cases.filter((c) => words.every((word) => c.name.includes(word) || c.outcome === word));
  for (const hit of hits.slice(0, 200)) {
    const item = document.createElement("li");
    const badge = document.createElement("span");
    badge.className = hit.outcome;
    badge.textContent = hit.outcome;
    item.append(badge, ` ${hit.name}  ${hit.ms} ms`);
    found.append(item);
  }
  const rest = document.createElement("p");
  rest.textContent = hits.length > 200 ? `and ${hits.length - 200} more` : `${hits.length} cases`;
  found.append(rest);
});
