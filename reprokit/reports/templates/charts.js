// Charts that one can look into: values under the pointer and by keyboard, zoom, logarithmic scale, differences,
// choice of metrics and lines. Without this script the page has its drawings, and the values in their titles.
//
// Each figure says in data-chart what it draws (see charts/chart_data.py). Names and values that a program made
// get into the page as text (textContent) only.

const SVG = "http://www.w3.org/2000/svg";

function made(name, attributes = {}, text = "") {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

function drawn(name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}

// ---- numbers ----

function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return Array.from(new Float64Array(bytes.buffer));
}

function stepsOf(text) {
  if (text.startsWith("=")) return unpacked(text.slice(1));
  let at = 0;
  return text.split(" ").map((distance) => (at += Number(distance)));
}

function linesOf(found) {
  const lines = [];
  for (const line of found.lines) {
    const steps = typeof line.steps === "number" ? lines[line.steps].steps : stepsOf(line.steps);
    const values = typeof line.values === "number" ? lines[line.values].values : unpacked(line.values);
    const at = new Map();
    steps.forEach((step, index) => { if (!at.has(step)) at.set(step, values[index]); });
    const form = line.form ?? "";
    const mean = form === "seed" ? lines.findLast((one) => one.kind === line.kind && !one.form) : null;
    const limits = line.low ? [unpacked(line.low), unpacked(line.high)] : null;
    lines.push({ label: line.label, kind: line.kind, form, of: mean?.label ?? line.label, steps, values, limits, at });
  }
  return lines;
}

function spelt(value) {
  return value === undefined ? "no record" : Number.isNaN(value) ? "not a finite number" : String(value);
}

// The distance of two values, exactly; of a small one every digit counts, and no zero before them.
function apartText(apart) {
  if (!apart) return "equal";
  return Math.abs(apart) < 1e-3 ? apart.toExponential() : String(apart);
}

function stepText(step) {
  return step.toLocaleString("en", { maximumFractionDigits: 20 });
}

// Round numbers between two others: 1, 2 or 5 times a power of ten apart.
function niceTicks(low, high, count = 5) {
  const rough = (high / 2 - low / 2) / count * 2;
  if (!(rough > 1e-300 && rough < 1e300)) return [...new Set([low, high])];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => power * factor >= rough * 0.999);
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high && ticks.length < 2 * count; at += 1) {
    ticks.push(Number((at * step).toPrecision(12)));
  }
  return ticks.length ? ticks : [low, high];
}

function tickText(value) {
  const size = Math.abs(value);
  if (size >= 1e6 && size < 1e15) return `${Number((value / 1e6).toPrecision(12))}M`;
  if (size >= 1e4 && size < 1e6) return `${Number((value / 1e3).toPrecision(12))}k`;
  return size && (size < 1e-4 || size >= 1e15) ? value.toExponential() : String(value);
}

// ---- one chart ----

class Chart {
  constructor(figure, board) {
    const found = JSON.parse(figure.dataset.chart);
    this.figure = figure;
    this.board = board;
    this.svg = figure.querySelector("svg[role=img]");
    this.name = figure.querySelector("figcaption").firstChild.textContent.trim();
    this.lines = linesOf(found);
    this.marked = found.marked;
    this.isLog = found.log;
    this.unit = found.across;
    this.isThinned = found.thinned ?? false;
    const [, , width, height] = this.svg.getAttribute("viewBox").split(" ").map(Number);
    Object.assign(this, { width, height, top: 12, right: width - 16, bottom: height - 48 });
    this.left = Number(this.svg.querySelector(".axis").getAttribute("x1"));
    this.first = this.left;
    const every = new Set();
    for (const line of this.lines.filter((one) => one.form !== "seed")) {
      line.at.forEach((_, step) => { if (!Number.isNaN(step)) every.add(step); });
    }
    this.steps = [...every].sort((one, other) => one - other);
    this.ends = this.endsOfNumbers();
    for (const stop of this.svg.querySelectorAll(".stop, title")) stop.remove(); // the readout says more
    this.original = [...this.svg.childNodes];
    this.at = null;
    this.addReadout();
    this.listen();
  }

  // The first and the last step that has a number: what the drawing of the page reaches over.
  endsOfNumbers() {
    let low = Infinity;
    let high = -Infinity;
    for (const line of this.lines) {
      line.steps.forEach((step, index) => {
        if (Number.isFinite(line.values[index]) && Number.isFinite(step)) {
          low = Math.min(low, step);
          high = Math.max(high, step);
        }
      });
    }
    return [low, high];
  }

  addReadout() {
    this.readout = made("div", { class: "readout", hidden: "", "aria-hidden": "true" });
    this.note = made("p", { class: "meaning chart-note", hidden: "" });
    this.figure.append(this.readout, this.note);
    const label = this.svg.getAttribute("aria-label");
    for (const [key, value] of Object.entries({
      role: "slider", tabindex: 0, "aria-label": `Values of ${label}`, "aria-orientation": "horizontal",
      "aria-valuemin": this.steps[0], "aria-valuemax": this.steps.at(-1), "aria-valuenow": this.steps[0],
      "aria-valuetext": "arrow keys choose a record",
    })) this.svg.setAttribute(key, value);
  }

  listen() {
    let start = null;
    this.svg.addEventListener("pointermove", (event) => {
      this.show(this.nearest(this.xOf(event)));
      if (start !== null) this.select(start, this.xOf(event));
    });
    this.svg.addEventListener("pointerleave", () => { if (start === null) this.show(null); });
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      start = this.xOf(event);
      this.svg.setPointerCapture(event.pointerId);
    });
    const end = (event) => {
      if (start === null) return;
      const [one, other] = [start, this.xOf(event)];
      start = null;
      this.selection?.remove();
      if (event.type === "pointerup" && Math.abs(one - other) > 8) {
        this.board.zoomTo(this.stepAt(Math.min(one, other)), this.stepAt(Math.max(one, other)));
      }
    };
    this.svg.addEventListener("pointerup", end);
    this.svg.addEventListener("pointercancel", end);
    this.svg.addEventListener("dblclick", () => this.board.zoomTo(null, null));
    this.svg.addEventListener("keydown", (event) => this.pressed(event));
    this.svg.addEventListener("blur", () => this.show(null));
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const visible = this.visibleSteps();
    const here = this.at === null ? -1 : visible.indexOf(this.at);
    const moves = {
      ArrowLeft: here < 0 ? visible.length - 1 : here - 1, ArrowDown: here - 1,
      ArrowRight: here + 1, ArrowUp: here + 1, PageUp: here + 10, PageDown: here - 10,
      Home: 0, End: visible.length - 1,
    };
    if (event.key in moves) {
      this.show(visible[Math.max(0, Math.min(visible.length - 1, moves[event.key]))] ?? null);
    } else if (event.key === "+" || event.key === "=") this.board.zoomBy(0.5, this);
    else if (event.key === "-") this.board.zoomBy(2, this);
    else if (event.key === "0") this.board.zoomTo(null, null);
    else if (event.key === "d" && this.board.marked !== null) this.board.toDivergence();
    else if (event.key === "Escape") this.show(null);
    else return;
    event.preventDefault();
  }

  range() {
    const { low, high } = this.board;
    return low === null ? this.ends : [low, high];
  }

  visibleSteps() {
    const [low, high] = this.range();
    return this.steps.filter((step) => step >= low && step <= high);
  }

  shownLines() {
    return this.lines.filter((line) => !this.board.hidden.has(line.of) && (line.form !== "seed" || this.board.seeds));
  }

  xOf(event) {
    const box = this.svg.getBoundingClientRect();
    return (event.clientX - box.left) / box.width * this.width;
  }

  placeOf(step) {
    const [low, high] = this.range();
    const share = high > low ? (step - low) / (high - low) : 0.5;
    return this.left + share * (this.right - this.left);
  }

  stepAt(x) {
    const [low, high] = this.range();
    const share = (x - this.left) / (this.right - this.left);
    return low + Math.max(0, Math.min(1, share)) * (high - low);
  }

  nearest(x) {
    let found = null;
    for (const step of this.visibleSteps()) {
      if (found === null || Math.abs(this.placeOf(step) - x) < Math.abs(this.placeOf(found) - x)) found = step;
    }
    return found;
  }

  // ---- the values at one step ----

  show(step) {
    this.at = step;
    this.cursor?.remove();
    this.readout.hidden = step === null;
    if (step === null) return;
    const rows = this.rowsAt(step);
    this.readout.replaceChildren(made("b", {}, `${this.unit} ${stepText(step)}`), ...rows.map(([kind, label, text]) => {
      const row = made("div");
      row.append(made("span", { class: `key ${kind}` }), made("span", {}, `${label} `), made("code", {}, text));
      return row;
    }));
    const x = this.placeOf(step);
    this.readout.classList.toggle("before", x > (this.left + this.right) / 2);
    this.svg.setAttribute("aria-valuenow", step);
    this.svg.setAttribute("aria-valuetext", [`${this.unit} ${stepText(step)}`, ...rows.map(([, label, text]) => `${label} ${text}`)].join(", "));
    this.cursor = drawn("g", { class: "cursor" });
    this.cursor.append(drawn("line", { x1: x, x2: x, y1: this.top, y2: this.bottom }));
    this.svg.append(this.cursor);
  }

  rowsAt(step) {
    const isSparse = (line) => line.form || this.isThinned;
    const shown = this.shownLines().filter((line) => line.at.has(step) || !isSparse(line));
    const rows = shown.filter((line) => line.form !== "seed").flatMap((line) => {
      const row = [line.kind, line.label, spelt(line.at.get(step)) + limitsText(line, step)];
      const seeds = shown.filter((one) => one.form === "seed" && one.of === line.label).map((one) => shortText(one.at.get(step)));
      return seeds.length ? [row, [line.kind, `${line.label}, seeds`, seeds.join(", ")]] : [row];
    });
    if (this.isLog) return rows;
    const [reference] = this.lines;
    for (const line of shown.filter((one) => one !== reference && !one.form)) {
      const apart = line.at.get(step) - reference.at.get(step);
      if (!Number.isNaN(apart)) rows.push(["apart", `${line.label} − ${reference.label}`, apartText(apart)]);
    }
    return rows;
  }

  select(one, other) {
    this.selection?.remove();
    const [from, to] = [one, other].sort((a, b) => a - b).map((x) => Math.max(this.left, Math.min(this.right, x)));
    this.selection = drawn("rect", { class: "selection", x: from, width: to - from, y: this.top, height: this.bottom - this.top });
    this.svg.append(this.selection);
  }

  // ---- drawing ----

  draw() {
    const { board } = this;
    const isPlain = board.low === null && !board.log && !board.difference && !board.seeds && board.hidden.size === 0;
    this.show(null);
    this.note.hidden = true;
    if (isPlain) {
      this.left = this.first;
      this.svg.replaceChildren(...this.original);
      return;
    }
    const isLog = this.isLog || board.log;
    const { curves, left: leftOut } = this.curves(isLog);
    this.tell(leftOut, curves.length);
    this.svg.replaceChildren(...this.axes(curves.flatMap((curve) => curve.points), isLog, curves));
  }

  // What is to be drawn: the lines that are shown, or their differences from the first of all.
  curves(isLog) {
    const isDifference = this.board.difference && this.hasDifference();
    const reference = this.lines[0];
    const lines = this.shownLines().filter((line) => !isDifference || line !== reference);
    const [low, high] = this.range();
    let left = 0;
    const curves = lines.map((line) => {
      const points = [];
      line.steps.forEach((step, index) => {
        let value = line.values[index];
        if (isDifference) value -= reference.at.get(step) ?? NaN;
        if (isDifference && isLog) value = Math.abs(value);
        const isNumber = Number.isFinite(value) && Number.isFinite(step);
        if (isNumber && isLog && value <= 0 && step >= low && step <= high) left += 1;
        if (isNumber && !(isLog && value <= 0)) points.push([step, isLog ? Math.log10(value) : value]);
        else if (!isDifference || reference.at.has(step)) points.push(null);
      });
      const band = isDifference ? [] : bandOf(line, isLog).filter((point) => !point || (point[0] >= low && point[0] <= high));
      return { kind: line.kind, form: line.form, points: inside(points, low, high), band };
    });
    return { curves: curves.filter((curve) => curve.points.some(Boolean)), left };
  }

  hasDifference() {
    return !this.isLog && this.lines.filter((line) => !line.form).length > 1;
  }

  tell(leftOut, count) {
    const told = [];
    if (this.board.difference && !this.isLog) {
      told.push(this.hasDifference() ? `Difference from ${this.lines[0].label}.` : "One line only: there is no difference.");
    }
    if (!count) told.push(leftOut ? "No value here is above 0." : "There is nothing to draw here.");
    else if (leftOut && !this.isLog) {
      const what = this.board.difference ? "equal, so that they have" : "not above 0 and have";
      told.push(`${stepText(leftOut)} values are ${what} no logarithm.`);
    }
    this.note.textContent = told.join(" ");
    this.note.hidden = !told.length;
  }

  axes(points, isLog, curves) {
    const values = points.filter(Boolean).map((point) => point[1]);
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (!values.length) [low, high] = [0, 1];
    const spread = high - low; // a band may reach as far again beyond the lines
    const ends = curves.flatMap((curve) => curve.band.filter(Boolean).flatMap((point) => [point[1], point[2]]));
    for (const end of ends) [low, high] = [Math.min(low, end), Math.max(high, end)];
    if (values.length) low = Math.max(low, Math.min(...values) - spread);
    if (values.length) high = Math.min(high, Math.max(...values) + spread);
    const half = high / 2 - low / 2;
    const pad = half > 0 ? half * 0.1 : Math.abs(low) * 0.05 || 1;
    low = Math.max(-Number.MAX_VALUE, low - pad);
    high = Math.min(Number.MAX_VALUE, high + pad);
    const ticks = values.length ? ticksOf(low, high, isLog) : [];
    this.left = Math.round(10 + 7.6 * Math.max(3, ...ticks.map(([, label]) => label.length)));
    const up = (value) => this.bottom - (value / 2 - low / 2) / (high / 2 - low / 2) * (this.bottom - this.top);
    const parts = [];
    for (const [value, label] of ticks) {
      parts.push(drawn("line", { class: "grid", x1: this.left, x2: this.right, y1: up(value), y2: up(value) }));
      parts.push(drawn("text", { class: "tick", x: this.left - 6, y: up(value) + 4, "text-anchor": "end" }, label));
    }
    return [...parts, ...this.across(), this.plot(curves, up)];
  }

  across() {
    const [low, high] = this.range();
    const whole = this.steps.every((step) => step % 1 === 0);
    const parts = [drawn("line", { class: "axis", x1: this.left, x2: this.right, y1: this.bottom, y2: this.bottom })];
    for (const value of niceTicks(low, high, 4).filter((tick) => !whole || tick % 1 === 0)) {
      const x = this.placeOf(value);
      parts.push(drawn("line", { class: "axis", x1: x, x2: x, y1: this.bottom, y2: this.bottom + 4 }));
      parts.push(drawn("text", { class: "tick", x, y: this.bottom + 19, "text-anchor": "middle" }, tickText(value)));
    }
    const middle = (this.left + this.right) / 2;
    parts.push(drawn("text", { class: "tick", x: middle, y: this.bottom + 40, "text-anchor": "middle" }, this.unit));
    return parts;
  }

  // Lines in a view of their own, which cuts off what lies beyond the range.
  plot(curves, up) {
    const box = [this.left, this.top - 4, this.right - this.left, this.bottom - this.top + 8];
    const inner = drawn("svg", { x: box[0], y: box[1], width: box[2], height: box[3], viewBox: box.join(" ") });
    for (const { kind, band } of curves) {
      for (const piece of pieces(band)) {
        const ends = [...piece.map(([step, low]) => [step, low]), ...piece.map(([step, , high]) => [step, high]).reverse()];
        inner.append(drawn("polygon", { class: `band ${kind}`, points: ends.map(([step, value]) => `${this.placeOf(step).toFixed(2)},${up(value).toFixed(2)}`).join(" ") }));
      }
    }
    for (const { kind, form, points } of curves) {
      for (const piece of pieces(points)) {
        const places = piece.map(([step, value]) => [this.placeOf(step), up(value)]);
        if (places.length > 1 && form !== "dots") inner.append(drawn("polyline", { class: `curve ${kind} ${form}`.trim(), points: places.map((place) => place.map((length) => length.toFixed(2)).join(",")).join(" ") }));
        if ((places.length < 60 && form !== "seed") || form === "dots") {
          for (const [cx, cy] of places) inner.append(drawn("circle", { class: `dot ${kind}`, cx, cy, r: places.length > 1 && !form ? 2 : 3 }));
        }
      }
    }
    if (this.marked !== null) {
      const x = this.placeOf(this.marked);
      inner.append(drawn("line", { class: "marker", x1: x, x2: x, y1: this.top - 4, y2: this.bottom }));
    }
    return inner;
  }
}

// Points of a range, and one beyond it on either side, to which the line goes on.
function inside(points, low, high) {
  const kept = points.map((point) => point === null || (point[0] >= low && point[0] <= high));
  return points.filter((point, index) => kept[index] || (point && ((kept[index - 1] && points[index - 1]) || (kept[index + 1] && points[index + 1]))));
}

// The band around a line: step and both limits, null where it has none.
function bandOf({ steps, limits }, isLog) {
  if (!limits) return [];
  return steps.map((step, index) => {
    const ends = limits.map((values) => (isLog ? Math.log10(values[index]) : values[index]));
    return Number.isFinite(step) && ends.every(Number.isFinite) ? [step, ...ends] : null;
  });
}

function shortText(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : spelt(value);
}

function limitsText({ steps, limits }, step) {
  const ends = limits?.map((values) => values[steps.indexOf(step)]) ?? [];
  return ends.length && ends.every(Number.isFinite) ? `, ${ends.map(shortText).join(" to ")}` : "";
}

function pieces(points) {
  const found = [[]];
  for (const point of points) {
    if (point) found.at(-1).push(point);
    else found.push([]);
  }
  return found.filter((piece) => piece.length);
}

// Pairs of place and label; on a logarithmic scale powers of ten, or 1, 2 and 5 times these where they are few.
function ticksOf(low, high, isLog) {
  if (!isLog) return niceTicks(low, high).map((value) => [value, tickText(value)]);
  const stride = Math.max(1, Math.ceil((high - low) / 6));
  const powers = [];
  for (let power = Math.ceil(low); power <= high; power += stride) powers.push(power);
  if (powers.length > 2) return powers.map((power) => [power, `1e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`]);
  const between = [];
  for (let power = Math.floor(low); power <= high; power += 1) {
    for (const factor of [1, 2, 5]) between.push(Number(`${factor}e${power}`));
  }
  const shown = between.filter((value) => Math.log10(value) >= low && Math.log10(value) <= high);
  const values = shown.length > 1 ? shown : niceTicks(10 ** low, 10 ** high).filter((value) => value > 0);
  return values.map((value) => [Math.log10(value), tickText(value)]);
}
