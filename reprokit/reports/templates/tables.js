// Tables that are sorted by their columns, searched, and filtered by the values of some: those with data-tools.
// Without this script a table stands in the order in which it was written. A cell is its data-value, or its text.

class SortedTable {
  constructor(table) {
    this.table = table;
    this.body = table.tBodies[0];
    this.rows = [...this.body.rows];
    this.heads = [...table.tHead.rows[0].cells];
    this.column = null;
    this.isDown = false;
    this.asked = new Map();
    table.classList.add("sorted");
    this.addTools();
    this.heads.forEach((head, column) => this.addSorting(head, column));
  }

  valueOf(row, column) {
    const cell = row.cells[column];
    return (cell.dataset.value ?? cell.textContent).trim();
  }

  addTools() {
    const tools = document.createElement("div");
    tools.className = "tools";
    const field = document.createElement("input");
    field.type = "search";
    field.placeholder = "Search";
    field.setAttribute("aria-label", "Search the rows");
    field.addEventListener("input", () => {
      this.text = field.value.trim().toLowerCase();
      this.filter();
    });
    this.text = "";
    tools.append(field);
    for (const column of (this.table.dataset.filter ?? "").split(" ").filter(Boolean).map(Number)) {
      tools.append(this.choice(column));
    }
    this.said = document.createElement("span");
    this.said.className = "meaning";
    this.said.setAttribute("role", "status");
    tools.append(this.said);
    (this.table.closest(".scroll") ?? this.table).before(tools);
  }

  choice(column) {
    const name = this.heads[column].textContent.trim();
    const select = document.createElement("select");
    select.setAttribute("aria-label", name);
    const values = [...new Set(this.rows.map((row) => this.valueOf(row, column)))].sort();
    select.append(new Option(`Every ${name.toLowerCase()}`, ""), ...values.map((value) => new Option(value, value)));
    select.addEventListener("change", () => {
      this.asked.set(column, select.selectedIndex ? select.value : null);
      this.filter();
    });
    return select;
  }

  addSorting(head, column) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = head.textContent.trim();
    head.replaceChildren(button);
    button.addEventListener("click", () => this.sort(column));
  }

  // By number where all that is there is a number, else by text; what is empty or no number comes last.
  sort(column) {
    this.isDown = this.column === column ? !this.isDown : false;
    this.column = column;
    const keys = new Map(this.rows.map((row) => [row, this.valueOf(row, column)]));
    const numbers = new Map([...keys].map(([row, text]) => [row, numberIn(text)]));
    const isNumeric = [...numbers.values()].some((number) => !Number.isNaN(number));
    const sign = this.isDown ? -1 : 1;
    const ordered = [...this.rows].sort((one, other) => {
      if (!isNumeric) return sign * keys.get(one).localeCompare(keys.get(other), "en");
      const [a, b] = [numbers.get(one), numbers.get(other)];
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return sign * (a - b);
    });
    this.body.append(...ordered);
    this.heads.forEach((head, at) => {
      if (at === column) head.setAttribute("aria-sort", this.isDown ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  filter() {
    let count = 0;
    for (const row of this.rows) {
      const isAsked = [...this.asked].every(([column, value]) => value === null || this.valueOf(row, column) === value);
      row.hidden = !(isAsked && row.textContent.toLowerCase().includes(this.text));
      count += !row.hidden;
    }
    this.said.textContent = `${count} of ${this.rows.length} rows`;
  }
}

// The number that a cell begins with, such as 0.25 of "0.25 ± 0.01" or 1200 of "1,200"; of other texts NaN.
function numberIn(text) {
  const found = text.match(/^[-+−]?(\d[\d,]*\.?\d*|\.\d+)(e[-+]?\d+)?(?![\w:/-])/i);
  return found ? Number(found[0].replaceAll(",", "").replace("−", "-")) : NaN;
}

for (const table of document.querySelectorAll("table[data-tools]")) {
  if (table.tBodies[0].rows.length) new SortedTable(table);
}
