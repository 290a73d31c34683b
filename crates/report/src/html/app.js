"use strict";
// Adds values under the pointer, zoom and sorting to a page that is whole without them. Text from outside is only ever
// set as text, never as markup.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const make = (name, attributes, parent) => {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    return parent.appendChild(element);
  };
  const number = (value) => {
    if (value === 0) return "0";
    const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
    const rounded = digits > 0 ? value.toFixed(Math.min(digits, 9)) : String(Number(value.toPrecision(3)));
    const [whole, part] = rounded.split(".");
    return whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") + (part ? "." + part : "");
  };

  // One tip per figure.
  const tipOf = (plot) => {
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    plot.appendChild(tip);
    return {
      show(lines, x, y) {
        tip.replaceChildren(...lines.map(([name, text]) => {
          const line = document.createElement("div");
          if (name) {
            const b = document.createElement("b");
            b.textContent = name + " ";
            line.append(b);
          }
          line.append(text);
          return line;
        }));
        tip.hidden = false;
        const left = Math.min(Math.max(0, x + 12), plot.clientWidth - tip.offsetWidth);
        tip.style.left = left + "px";
        tip.style.top = y - tip.offsetHeight - 10 + "px";
      },
      hide() { tip.hidden = true; },
    };
  };

  // Marks say their title at once; the browser's own tip comes late, and would come second.
  const marks = (plot, tip) => {
    plot.querySelectorAll("path > title").forEach((title) => {
      const mark = title.parentNode;
      const text = title.textContent;
      title.remove();
      mark.setAttribute("aria-label", text);
      mark.addEventListener("pointerenter", () => {
        const box = mark.getBoundingClientRect(), around = plot.getBoundingClientRect();
        tip.show([["", text]], box.right - around.left, box.top - around.top);
      });
      mark.addEventListener("pointerleave", () => tip.hide());
    });
  };

  const steps = (lo, hi, count) => {
    const rough = (hi - lo) / count, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999);
    const decimals = Math.max(0, -Math.floor(Math.log10(step)));
    const ticks = [];
    for (let n = Math.ceil(lo / step); n * step <= hi; n += 1) ticks.push([n * step, (n * step).toFixed(decimals)]);
    return ticks;
  };

  const curves = (figure, plot, tip) => {
    const source = figure.querySelector('script[type="application/json"]');
    if (!source) return;
    const data = JSON.parse(source.textContent);
    const svg = plot.querySelector("svg");
    const { left, top, right, bottom } = data;
    let view = data.x.slice();
    const inPicture = (event) => {
      const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
      return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale, 1 / scale];
    };
    const cross = make("path", { class: "hover" }, svg);
    const place = (x) => data.kind === "depth" ? `depth ${Math.round(2 ** x)}` : data.kind === "clients" ? `${x} clients` : data.kind === "percentile"
      ? (100 * (1 - 10 ** -x)).toFixed(Math.max(0, Math.ceil(x) - 1)) + "\u202f%" : number(x) + "\u202fs";

    const hover = (event) => {
      const [px, , scale] = inPicture(event);
      if (px < left || px > right) return leave();
      const x = view[0] + (px - left) / (right - left) * (view[1] - view[0]);
      const lines = [];
      let at = x;
      for (const one of data.series) {
        let best = -1;
        one.x.forEach((place, index) => { if (best < 0 || Math.abs(place - x) < Math.abs(one.x[best] - x)) best = index; });
        if (best < 0 || x > one.x[one.x.length - 1] + (view[1] - view[0]) * 0.03) continue;
        if (!lines.length) at = one.x[best];
        const range = one.range ? ` (${number(one.range[best][0])} – ${number(one.range[best][1])})` : "";
        lines.push([one.name, number(one.y[best]) + range]);
      }
      lines.unshift(["", `${place(at)}, ${data.unit}`]);
      const line = left + (at - view[0]) / (view[1] - view[0]) * (right - left);
      cross.setAttribute("d", `M${line} ${top}L${line} ${bottom}`);
      // Above the plotting area, so that it covers no curve.
      tip.show(lines, px * scale, top * scale + 6);
    };
    const leave = () => { cross.removeAttribute("d"); tip.hide(); };
    svg.addEventListener("pointermove", hover);
    svg.addEventListener("pointerleave", leave);
    if (data.zoom) zoom({ figure, plot, svg, data, inPicture, get: () => view, set: (next) => { view = next; } });
  };

  const zoom = ({ figure, plot, svg, data, inPicture, get, set }) => {
    const { left, top, right, bottom } = data;
    // What moves goes into a window of its own, which cuts off what leaves it.
    const pane = make("svg", { x: left, y: top, width: right - left, height: bottom - top, viewBox: `${left} ${top} ${right - left} ${bottom - top}`, preserveAspectRatio: "none", class: "zoomable" }, svg);
    svg.querySelectorAll(":scope > .rg, :scope > .ln").forEach((path) => pane.append(path));
    // The marks at the axis move with the labels.
    svg.querySelectorAll(":scope > path.ax").forEach((path) => {
      const box = path.getBBox();
      if (box.width < 1 && box.height < 5 && box.y >= bottom - 1) path.remove();
    });
    const labels = () => {
      svg.querySelectorAll(":scope > text.tx, :scope > path.tick").forEach((old) => old.remove());
      const view = get();
      for (const [x, text] of steps(view[0], view[1], 7)) {
        const at = left + (x - view[0]) / (view[1] - view[0]) * (right - left);
        make("path", { class: "ax tick", d: `M${at} ${bottom}v3` }, svg);
        make("text", { class: "tx", x: at, y: bottom + 6, dy: ".8em", "text-anchor": "middle" }, svg).textContent = text;
      }
    };
    const tools = document.createElement("div");
    tools.className = "tools";
    const buttons = {};
    const button = (name, title, act) => {
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = name;
      b.setAttribute("aria-label", title);
      b.title = title;
      b.addEventListener("click", act);
      tools.append(b);
      buttons[name] = b;
    };
    const show = (from, to) => {
      const [lo, hi] = data.x, least = (hi - lo) / 60;
      let width = Math.min(Math.max(to - from, least), hi - lo);
      from = Math.min(Math.max(from, lo), hi - width);
      set([from, from + width]);
      const scale = (right - left) / width, full = (right - left) / (hi - lo);
      pane.setAttribute("viewBox", `${left + (from - lo) * full} ${top} ${(right - left) * full / scale} ${bottom - top}`);
      labels();
      const whole = width >= (hi - lo) * 0.999;
      buttons["whole"].disabled = buttons["−"].disabled = buttons["‹"].disabled = buttons["›"].disabled = whole;
    };
    const by = (factor) => () => {
      const [from, to] = get(), middle = (from + to) / 2, half = (to - from) / 2 * factor;
      show(middle - half, middle + half);
    };
    const move = (share) => () => { const [from, to] = get(), d = (to - from) * share; show(from + d, to + d); };
    button("+", "zoom in", by(0.5));
    button("−", "zoom out", by(2));
    button("‹", "earlier", move(-0.5));
    button("›", "later", move(0.5));
    button("whole", "show the whole measured part", () => show(data.x[0], data.x[1]));
    plot.after(tools);
    let start = null, brush = null;
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") return;
      const [x] = inPicture(event);
      if (x < left || x > right) return;
      start = x;
      brush = make("rect", { class: "brush", x, y: top, width: 0, height: bottom - top }, svg);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!brush) return;
      const x = Math.min(Math.max(inPicture(event)[0], left), right);
      brush.setAttribute("x", Math.min(x, start));
      brush.setAttribute("width", Math.abs(x - start));
    });
    svg.addEventListener("pointerup", (event) => {
      if (!brush) return;
      const x = Math.min(Math.max(inPicture(event)[0], left), right), view = get();
      brush.remove();
      brush = null;
      const toValue = (px) => view[0] + (px - left) / (right - left) * (view[1] - view[0]);
      if (Math.abs(x - start) > 6) show(toValue(Math.min(x, start)), toValue(Math.max(x, start)));
    });
    svg.addEventListener("dblclick", () => show(data.x[0], data.x[1]));
    show(data.x[0], data.x[1]);
  };

  const sortable = (table) => {
    const body = table.tBodies[0], original = [...body.rows];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.setAttribute("aria-sort", "none");
      head.tabIndex = 0;
      const sort = () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
        for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", next);
        const key = (row) => {
          const cell = row.cells[column], value = cell.dataset.v ?? cell.textContent.trim();
          return value === "" || isNaN(value) ? value : Number(value);
        };
        const order = (a, b) => {
          const x = key(a), y = key(b);
          return typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
        };
        const rows = next === "none" ? original : [...original].sort((a, b) => next === "ascending" ? order(a, b) : order(b, a));
        body.append(...rows);
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } });
    });
  };

  document.querySelectorAll("figure.chart").forEach((figure) => {
    const plot = figure.querySelector(".plot");
    if (!plot) return;
    // The title of the whole picture would cover the tips of its marks.
    const svg = plot.querySelector("svg"), title = svg.querySelector(":scope > title");
    if (title) {
      svg.setAttribute("aria-label", title.textContent);
      svg.removeAttribute("aria-labelledby");
      title.remove();
    }
    const tip = tipOf(plot);
    curves(figure, plot, tip);
    marks(plot, tip);
  });
  document.querySelectorAll("table.results").forEach(sortable);
  const relevant = document.getElementById("relevant");
  if (relevant) {
    relevant.closest(".filter").hidden = false;
    const apply = () => {
      document.getElementById("results").classList.toggle("only-relevant", relevant.checked);
      if (relevant.checked !== (location.hash === "#only")) history.replaceState(null, "", relevant.checked ? "#only" : "#results");
    };
    relevant.checked = location.hash === "#only";
    if (relevant.checked) apply();
    relevant.addEventListener("change", apply);
  }
  document.documentElement.dataset.ready = "yes";
})();
