// The tools above the charts of a section: zoom, scale, difference, choice of metrics, and lines by their names.

class Board {
  constructor(section) {
    Object.assign(this, { low: null, high: null, log: false, difference: false, seeds: false, hidden: new Set(), section });
    this.charts = [...section.querySelectorAll("figure[data-chart]")].map((figure) => new Chart(figure, this));
    this.marked = this.charts.find((chart) => chart.marked !== null)?.marked ?? null;
    this.addTools();
    this.addChoice();
    this.makeLegend();
  }

  draw() {
    for (const chart of this.charts) chart.draw();
    this.whole.disabled = this.low === null;
    this.said.textContent = this.low === null ? "" : `${this.charts[0].unit}s ${stepText(this.low)} to ${stepText(this.high)}`;
  }

  zoomTo(low, high) {
    if (low !== null && !(high > low)) return;
    Object.assign(this, { low, high });
    this.draw();
  }

  zoomBy(factor, chart = this.charts[0]) {
    const [low, high] = chart.range();
    const { at } = chart;
    const middle = at ?? (low + high) / 2;
    const [from, to] = [middle - (middle - low) * factor, middle + (high - middle) * factor];
    const [first, last] = chart.ends;
    if (from <= first && to >= last) this.zoomTo(null, null);
    else this.zoomTo(Math.max(first, from), Math.min(last, to));
    chart.show(at);
  }

  // Ten records before the first that differs, and ten after it.
  toDivergence() {
    const chart = this.charts.find((one) => one.marked !== null && !one.figure.hidden) ?? this.charts[0];
    const { steps } = chart;
    const found = steps.findIndex((step) => step >= this.marked);
    const at = found < 0 ? steps.length - 1 : found;
    this.zoomTo(steps[Math.max(0, at - 10)], steps[Math.min(steps.length - 1, at + 10)]);
    chart.show(steps[at]);
  }

  addTools() {
    const tools = made("div", { class: "tools", role: "toolbar", "aria-label": "Charts of this section" });
    const button = (text, act) => {
      const one = made("button", { type: "button", class: "tool" }, text);
      one.addEventListener("click", () => act(one));
      tools.append(one);
      return one;
    };
    const toggle = (text, name) => {
      const one = button(text, () => {
        this[name] = !this[name];
        one.setAttribute("aria-pressed", this[name]);
        this.draw();
      });
      one.setAttribute("aria-pressed", "false");
    };
    if (this.marked !== null) button("To the divergence", () => this.toDivergence());
    button("Zoom in", () => this.zoomBy(0.5));
    button("Zoom out", () => this.zoomBy(2));
    this.whole = button("All records", () => this.zoomTo(null, null));
    this.whole.disabled = true;
    if (this.charts.some((chart) => !chart.isLog)) {
      toggle("Logarithmic", "log");
      if (this.charts.some((chart) => chart.hasDifference())) toggle("Difference", "difference");
      if (this.charts.some((chart) => chart.lines.some((line) => line.form === "seed"))) toggle("Each seed", "seeds");
    }
    this.said = made("span", { class: "meaning", role: "status" });
    tools.append(this.said);
    const { figure } = this.charts[0];
    (figure.closest("details") ?? figure.closest(".charts")).before(tools);
    this.tools = tools;
    tools.after(made("p", { class: "meaning keys" }, "In a chart: drag to zoom, double-click for all records. By keyboard: arrow keys, Page Up, Home, + and − to zoom, 0 for all."));
  }

  // A field that searches, and a box for each metric.
  addChoice() {
    if (this.charts.length < 4) return;
    const field = made("input", { type: "search", placeholder: "Search metrics", "aria-label": "Search metrics" });
    const choice = made("details", { class: "choice" });
    const chosen = new Map();
    const boxes = made("div", { class: "boxes" });
    const every = made("input", { type: "checkbox", checked: "" });
    const all = made("label");
    all.append(every, " all");
    boxes.append(all);
    for (const chart of this.charts) {
      const box = made("input", { type: "checkbox", checked: "" });
      const label = made("label");
      label.append(box, ` ${chart.name}`);
      boxes.append(label);
      chosen.set(chart, box);
      box.addEventListener("change", () => filter());
    }
    choice.append(made("summary", {}, "Choose metrics"), boxes);
    const filter = () => {
      const asked = field.value.trim().toLowerCase();
      let count = 0;
      for (const [chart, box] of chosen) {
        const isShown = box.checked && chart.name.toLowerCase().includes(asked);
        (chart.figure.closest("details.equal, .one-metric") ?? chart.figure).hidden = !isShown;
        chart.figure.hidden = !isShown;
        count += isShown;
      }
      choice.firstChild.textContent = `Choose metrics: ${count} of ${chosen.size} shown`;
    };
    every.addEventListener("change", () => {
      for (const box of chosen.values()) box.checked = every.checked;
      filter();
    });
    field.addEventListener("input", filter);
    this.tools.prepend(field);
    this.tools.after(choice);
  }

  // The names in the legend become buttons that take a line away and bring it back.
  makeLegend() {
    const legend = this.section.querySelector(".legend");
    const labels = new Set(this.charts.flatMap((chart) => chart.lines.map((line) => line.label)));
    if (!legend || labels.size < 2) return;
    for (const entry of legend.querySelectorAll(":scope > span")) {
      const label = entry.textContent.trim();
      if (!labels.has(label)) continue;
      const button = made("button", { type: "button", class: "line", "aria-pressed": "true" });
      button.append(...entry.childNodes);
      entry.append(button);
      button.addEventListener("click", () => {
        if (!this.hidden.delete(label)) this.hidden.add(label);
        button.setAttribute("aria-pressed", !this.hidden.has(label));
        this.draw();
      });
    }
  }
}

for (const section of document.querySelectorAll("section")) {
  if (section.querySelector("figure[data-chart]")) new Board(section);
}
