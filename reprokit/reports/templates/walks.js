// Drawings of single things, such as a dot a seed or a line a trial: what each is, by pointer and by arrow keys.
// Without this script it is in the titles of the drawing.

class Walk {
  constructor(svg) {
    this.svg = svg;
    const titled = [...svg.querySelectorAll(".member > title, .dot > title, .mean > title, .ring > title, .cross > title")];
    this.items = titled.map((title) => ({ shape: title.parentElement, told: title.textContent }));
    if (svg.querySelector(".member")) this.items.reverse(); // the best is drawn last, and named first
    if (!this.items.length) return;
    for (const title of titled) title.remove();
    this.at = null;
    this.readout = made("div", { class: "readout", hidden: "", "aria-hidden": "true" });
    svg.closest("figure").append(this.readout);
    for (const [key, value] of Object.entries({
      role: "slider", tabindex: 0, "aria-label": `Values of ${svg.getAttribute("aria-label")}`,
      "aria-valuemin": 1, "aria-valuemax": this.items.length, "aria-valuenow": 1,
      "aria-valuetext": "arrow keys choose one",
    })) svg.setAttribute(key, value);
    this.items.forEach(({ shape }, at) => {
      shape.addEventListener("pointerenter", () => this.show(at));
      shape.addEventListener("pointerleave", () => this.show(null));
    });
    svg.addEventListener("keydown", (event) => this.pressed(event));
    svg.addEventListener("blur", () => this.show(null));
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.items.length - 1;
    const here = this.at ?? -1;
    const moves = {
      ArrowRight: here + 1, ArrowUp: here + 1, ArrowLeft: here < 0 ? last : here - 1, ArrowDown: here - 1,
      PageUp: here + 10, PageDown: here - 10, Home: 0, End: last,
    };
    if (event.key in moves) this.show(Math.max(0, Math.min(last, moves[event.key])));
    else if (event.key === "Escape") this.show(null);
    else return;
    event.preventDefault();
  }

  show(at) {
    this.at = at;
    this.chosen?.remove();
    this.readout.hidden = at === null;
    if (at === null) return;
    const { shape, told } = this.items[at];
    this.readout.textContent = told;
    const box = shape.getBoundingClientRect();
    const whole = this.svg.getBoundingClientRect();
    const isWide = box.width > whole.width / 2;
    this.readout.classList.toggle("before", !isWide && box.left + box.right > whole.left + whole.right);
    this.chosen = shape.cloneNode();
    this.chosen.classList.add("chosen");
    this.svg.append(this.chosen);
    this.svg.setAttribute("aria-valuenow", at + 1);
    this.svg.setAttribute("aria-valuetext", told);
  }
}

for (const svg of document.querySelectorAll("svg[data-walk]")) new Walk(svg);
