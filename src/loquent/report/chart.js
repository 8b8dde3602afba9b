(() => {
  "use strict";
  const COLOURS = 8, HEIGHT = 230, DASHES = [[], [6, 3], [2, 3]];
  const STEPS = Array.from({ length: 36 }, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3));
  const data = JSON.parse(document.getElementById("chart-data").textContent);
  const form = document.querySelector("form.controls");
  const view = { axis: data.axes[0], smoothing: 0, range: null };
  const drawn = new Map();  // by element: the plot, and whether it shows the current view
  let applying = false;

  const power = value => value ? Math.floor(Math.log10(Math.abs(value)) + 1e-9) : 0;
  const signed = text => text.replace("e+", "e").replaceAll("-", "−");

  // A value with so many digits, and all digits before the point.
  function number(value, digits = 4) {
    if (value === null || value === undefined || !isFinite(value)) return "–";
    const size = Math.abs(value), most = Math.min(17, Math.max(digits, power(value) + 1));
    if (size >= 1e9 || (size > 0 && size < 1e-4)) return signed(value.toExponential(digits - 1));
    return signed(String(Number(value.toPrecision(most))));
  }

  // How many digits tell the values of a line apart.
  function digitsOf(values) {
    const high = Math.max(...values), low = Math.min(...values);
    if (high === low) return 6;
    return Math.min(17, 4 + Math.max(0, power(Math.max(Math.abs(high), Math.abs(low)) / (high - low))));
  }

  // The label of a tick: as many digits as the distance between ticks has.
  function tick(value, step) {
    if (value === 0) return "0";
    if (step < 1e-4 || Math.abs(value) >= 1e6)
      return signed(value.toExponential(Math.min(17, Math.max(1, power(value) - power(step)))));
    return signed(value.toFixed(Math.max(0, -power(step))));
  }

  // A place on a horizontal axis; thinned curves have places between updates.
  function whole(value) {
    return String(Math.round(value * 10) / 10);
  }

  // An exponential moving average without the bias of its start; it begins again where the seeds change.
  function smoothed(values, counts, weight) {
    let sum = 0, norm = 0;
    return values.map((value, i) => {
      if (i && counts[i] !== counts[i - 1]) sum = norm = 0;
      sum = weight * sum + (1 - weight) * value;
      norm = weight * norm + (1 - weight);
      return sum / norm;
    });
  }

  // A line in the current view. Two points at one place of the axis cannot both be drawn: the later one is.
  function column(line) {
    const counts = Array.isArray(line.n) ? line.n : line.mean.map(() => line.n);
    const mean = view.smoothing ? smoothed(line.mean, counts, view.smoothing) : line.mean;
    const places = data.x[line.x][view.axis];
    const kept = places.map((_, i) => i).filter(i => i + 1 === places.length || places[i + 1] > places[i]);
    const pick = values => kept.map(i => values[i]);
    return {
      x: pick(places), update: pick(data.x[line.x].update), n: pick(counts), mean: pick(mean), raw: pick(line.mean),
      spread: line.spread && pick(line.spread),
    };
  }

  // The end of a band, which no possible mean exceeds; null: there is no such end.
  function within(value, [least, greatest]) {
    return Math.min(Math.max(value, least ?? -Infinity), greatest ?? Infinity);
  }

  // The rows and series of uPlot for one line: seeds that are all there, and those that go on when some end.
  function layers(line, own, css, ends) {
    const colour = css.getPropertyValue(`--c${line.colour % COLOURS}`).trim();
    const dash = DASHES[Math.floor(line.colour / COLOURS) % DASHES.length];
    const most = Math.max(...own.n), rows = [], series = [], bands = [];
    for (const whole of [true, false]) {
      const here = own.n.map(n => (n === most) === whole);
      if (!here.includes(true)) continue;
      const only = values => values.map((value, i) => here[i] ? value : null);
      if (own.spread && !view.smoothing) {
        bands.push([rows.length + 1, rows.length]);
        for (const sign of [-1, 1]) {
          rows.push(only(own.mean.map((mean, i) => within(mean + sign * own.spread[i], ends))));
          series.push({ points: { show: false } });
        }
      }
      if (view.smoothing) {
        rows.push(only(own.raw));
        series.push({ stroke: colour + "55", width: 1, points: { show: false } });
      }
      rows.push(only(own.mean));
      series.push({ stroke: colour, width: 2, dash: whole ? dash : [1, 5], points: { size: 6, fill: colour } });
    }
    return { rows, series, bands: bands.map(places => ({ places, fill: colour + "2b" })) };
  }

  function limits(plot, low, high) {
    if (low === null || high === null) return [0, 1];
    if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high))) {
      const room = Math.abs(high) * 0.1 || 0.5;
      return [low - room, high + room];
    }
    const room = (high - low) * 0.06;
    return [low >= 0 && low < 0.35 * high ? 0 : low - room, high + room];
  }

  function nearest(places, place) {
    let low = 0, high = places.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[middle] < place) low = middle + 1; else high = middle;
    }
    return low > 0 && place - places[low - 1] <= places[low] - place ? low - 1 : low;
  }

  // The values at the cursor, in a box below the chart, where it covers no line.
  function hover(lines, columns) {
    const box = document.createElement("div"), digits = lines.map(line => digitsOf(line.mean));
    box.className = "values";
    box.hidden = true;
    const row = (...texts) => {
      const item = document.createElement("div");
      for (const [style, text] of texts) {
        const part = document.createElement("span");
        part.className = style;
        part.textContent = text;
        item.append(part);
      }
      return item;
    };
    return {
      hooks: {
        init: plot => plot.root.append(box),
        setCursor: plot => {
          const { left } = plot.cursor;
          box.hidden = left === undefined || left < 0;
          if (box.hidden) return;
          const place = plot.posToVal(left, "x");
          const at = columns.map(own => nearest(own.x, place));
          const first = at.reduce((a, b, i) =>
            Math.abs(columns[i].x[b] - place) < Math.abs(columns[a].x[at[a]] - place) ? i : a, 0);
          const head = view.axis === "update" ? "" : `${view.axis} ${whole(columns[first].x[at[first]])}, `;
          const rows = lines.map((line, i) => {
            const own = columns[i], k = at[i];
            let text = number(own.raw[k], digits[i]);
            if (own.spread && own.spread[k]) text += ` ± ${number(own.spread[k])}`;
            if (own.n[k] > 1) text += ` (${own.n[k]} seeds)`;
            if (view.smoothing) text += `, smoothed ${number(own.mean[k], digits[i])}`;
            if (own.update[k] !== columns[first].update[at[first]]) text += ` at update ${whole(own.update[k])}`;
            return row([`dot c${line.colour % COLOURS}`, ""], ["name", line.label], ["", text]);
          });
          box.replaceChildren(row(["head", `${head}update ${whole(columns[first].update[at[first]])}`]), ...rows);
        },
      },
    };
  }

  function draw(place) {
    const old = drawn.get(place), chart = data.charts[place.dataset.chart];
    const css = getComputedStyle(place), soft = css.getPropertyValue("--soft").trim();
    const grid = css.getPropertyValue("--grid").trim();
    const columns = chart.lines.map(column), tables = [], series = [{}], bands = [];
    chart.lines.forEach((line, i) => {
      const own = layers(line, columns[i], css, chart.ends);
      for (const band of own.bands)
        bands.push({ series: band.places.map(k => k + series.length), fill: band.fill });
      tables.push([columns[i].x, ...own.rows]);
      series.push(...own.series);
    });
    const axis = { stroke: soft, font: "12px system-ui, sans-serif", grid: { stroke: grid, width: 1 },
      ticks: { stroke: grid, width: 1 } };
    const label = { labelFont: "12px system-ui, sans-serif", labelSize: 18 };
    const options = {
      width: place.clientWidth, height: HEIGHT, series, bands, legend: { show: false },
      scales: { x: { time: false, range: (_, low, high) => low === high ? [low - 1, high + 1] : [low, high] }, y: { range: limits } },
      axes: [
        { ...axis, ...label, label: view.axis, size: 34, incrs: STEPS, values: (_, ticks) => ticks.map(whole) },
        { ...axis, ...label, label: chart.unit || undefined, labelSize: chart.unit ? 18 : 0,
          size: (_, texts) => Math.max(52, 20 + 7 * Math.max(0, ...(texts || []).map(text => text.length))),
          values: (_, ticks, axis, space, step) => ticks.map(value => tick(value, step)) },
      ],
      cursor: { drag: { x: true, y: false }, points: { show: false }, y: false },
      plugins: [hover(chart.lines, columns)],
      hooks: { setScale: [(plot, name) => name === "x" && !applying && zoomed(plot)] },
    };
    applying = true;
    const plot = new uPlot(options, uPlot.join(tables), (self, ready) => {
      ready();
      if (!old) {
        const static_ = place.querySelector("svg");
        place.setAttribute("role", "img");
        place.setAttribute("aria-label", static_.querySelector("desc").textContent);
        static_.remove();
      } else old.plot.destroy();
      place.append(self.root);
    });
    if (view.range) plot.setScale("x", view.range);
    plot.whole = [Math.min(...columns.map(own => own.x[0])), Math.max(...columns.map(own => own.x.at(-1)))];
    setTimeout(() => { applying = false; });  // uPlot sets scales in a microtask
    drawn.set(place, { plot, fresh: true });
  }

  function zoomed(plot) {
    const { min, max } = plot.scales.x;
    const all = plot.whole && min <= plot.whole[0] && max >= plot.whole[1];
    view.range = all ? null : { min, max };
    form.elements.whole.disabled = all;
    refresh(plot);
  }

  function refresh(except) {
    for (const item of drawn.values()) item.fresh = item.plot === except;
    for (const place of seen) show(place);
  }

  function show(place) {
    if (!drawn.get(place)?.fresh && place.clientWidth) draw(place);
  }

  const seen = new Set();
  const sight = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (entry.isIntersecting) { seen.add(entry.target); show(entry.target); } else seen.delete(entry.target);
    }
  }, { rootMargin: "300px" });
  const size = new ResizeObserver(entries => {
    for (const { target } of entries) {
      const item = drawn.get(target);
      if (item && target.clientWidth && target.clientWidth !== item.plot.width)
        item.plot.setSize({ width: target.clientWidth, height: HEIGHT });
    }
  });
  for (const place of document.querySelectorAll(".plot")) { sight.observe(place); size.observe(place); }

  form.hidden = false;
  form.elements.axis.addEventListener("change", () => {
    view.axis = form.elements.axis.value;
    view.range = null;
    form.elements.whole.disabled = true;
    refresh();
  });
  form.elements.smoothing.addEventListener("input", () => {
    view.smoothing = Number(form.elements.smoothing.value);
    form.elements.weight.value = form.elements.smoothing.value;
    refresh();
  });
  form.elements.whole.addEventListener("click", () => {
    view.range = null;
    form.elements.whole.disabled = true;
    refresh();
  });
  form.addEventListener("submit", event => event.preventDefault());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => refresh());
})();
