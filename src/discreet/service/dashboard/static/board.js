// What pages do beyond plain HTML: painting the means, copying a key, and saying when the service does not answer.
// Everything works without it, except the picture, whose numbers are in tables too.
"use strict";

(() => {
  const MARK = 4.5; // half the size of an arm's mark, in CSS pixels
  const HEIGHT = 304;
  const painted = new WeakMap();

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const known = (value) => value !== null && value !== undefined;

  // ------------------------------------------------------------------ the picture of means

  // The marks of `parts.html`, as paths around a point: shape tells arms apart where colour does not.
  const MARKS = [
    (c, x, y, r) => c.arc(x, y, r, 0, 2 * Math.PI),
    (c, x, y, r) => c.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r),
    (c, x, y, r) => polygon(c, x, y, r, [[0, -1.1], [1.07, 0.9], [-1.07, 0.9]]),
    (c, x, y, r) => polygon(c, x, y, r, [[0, -1.2], [1.1, 0], [0, 1.2], [-1.1, 0]]),
    (c, x, y, r) => polygon(c, x, y, r, [[0, 1.1], [1.07, -0.9], [-1.07, -0.9]]),
    (c, x, y, r) => polygon(c, x, y, r, [[-0.36, -1.1], [0.36, -1.1], [0.36, -0.36], [1.1, -0.36], [1.1, 0.36], [0.36, 0.36], [0.36, 1.1], [-0.36, 1.1], [-0.36, 0.36], [-1.1, 0.36], [-1.1, -0.36], [-0.36, -0.36]]),
    (c, x, y, r) => polygon(c, x, y, r, [[-1.1, -1.1], [-0.58, -1.1], [0, -0.49], [0.58, -1.1], [1.1, -1.1], [0.31, 0], [1.1, 1.1], [0.58, 1.1], [0, 0.49], [-0.58, 1.1], [-1.1, 1.1], [-0.31, 0]]),
    (c, x, y, r) => polygon(c, x, y, r, [[0, -1.2], [1.13, -0.38], [0.71, 0.98], [-0.71, 0.98], [-1.13, -0.38]]),
  ];

  function polygon(c, x, y, r, corners) {
    corners.forEach(([dx, dy], i) => (i ? c.lineTo(x + r * dx, y + r * dy) : c.moveTo(x + r * dx, y + r * dy)));
    c.closePath();
  }

  // The highest and lowest end of any bar, with some air.
  function range(chart) {
    const ends = chart.line.filter(known);
    for (const arm of chart.series) {
      arm.means.forEach((mean, i) => known(mean) && ends.push(mean - (arm.radii[i] || 0), mean + (arm.radii[i] || 0)));
    }
    const low = Math.min(...ends), high = Math.max(...ends), air = 0.06 * (high - low || 1);
    return [low - air, high + air];
  }

  function stroke(c, points, width, dash) {
    c.beginPath();
    points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.lineWidth = width;
    c.setLineDash(dash || []);
    c.stroke();
  }

  // Where there is room, bars have caps; where there is none, marks must stand out from bars.
  function drawArm(u, chart, arm, shift, pixel, crowded) {
    const c = u.ctx;
    const places = chart.epochs.map((epoch, i) => known(arm.means[i]) && {
      x: u.valToPos(epoch, "x", true) + shift,
      y: u.valToPos(arm.means[i], "y", true),
      top: u.valToPos(arm.means[i] + (arm.radii[i] || 0), "y", true),
      bottom: u.valToPos(arm.means[i] - (arm.radii[i] || 0), "y", true),
    }).filter(Boolean);
    c.strokeStyle = c.fillStyle = colour(`--hue-${arm.hue}`);
    c.globalAlpha = 0.45;
    stroke(c, places.map((p) => [p.x, p.y]), 1.5 * pixel);
    c.globalAlpha = 1;
    for (const p of places) {
      const cap = 3.5 * pixel;
      c.globalAlpha = crowded ? 0.3 : 1;
      stroke(c, [[p.x, p.top], [p.x, p.bottom]], (crowded ? 1 : 1.5) * pixel);
      c.globalAlpha = 1;
      if (!crowded) {
        stroke(c, [[p.x - cap, p.top], [p.x + cap, p.top]], 1.5 * pixel);
        stroke(c, [[p.x - cap, p.bottom], [p.x + cap, p.bottom]], 1.5 * pixel);
      }
      c.beginPath();
      MARKS[arm.hue](c, p.x, p.y, (crowded ? 0.6 : 1) * MARK * pixel);
      c.fill();
    }
  }

  // Arms of an epoch stand side by side, so that their bars do not hide each other.
  function drawAll(u, chart) {
    const c = u.ctx, pixel = devicePixelRatio || 1;
    const epoch = chart.epochs.length > 1 ? u.valToPos(chart.epochs[1], "x", true) - u.valToPos(chart.epochs[0], "x", true) : u.bbox.width;
    const step = Math.min(13 * pixel, (0.7 * epoch) / chart.series.length);
    c.save();
    c.beginPath();
    c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    c.clip();
    c.strokeStyle = colour("--soft");
    chart.line.forEach((y, i) => {
      if (!known(y)) return;
      const x = u.valToPos(chart.epochs[i], "x", true), at = u.valToPos(y, "y", true), half = 0.42 * Math.min(epoch, 220 * pixel);
      stroke(c, [[x - half, at], [x + half, at]], 1.6 * pixel, [5 * pixel, 4 * pixel]);
    });
    chart.series.forEach((arm, i) => drawArm(u, chart, arm, (i - (chart.series.length - 1) / 2) * step, pixel, step < 7 * pixel));
    c.restore();
  }

  const short = (value) => String(Number(value.toPrecision(3)));

  function readOut(chart, index, into) {
    if (!known(index)) {
      into.textContent = "";
      return;
    }
    const arms = chart.series.filter((arm) => known(arm.means[index]));
    into.textContent = `Epoch ${chart.epochs[index]}: ` + arms.map((arm) => `${arm.name} ${short(arm.means[index])} ± ${short(arm.radii[index])}`).join(", ");
  }

  function options(chart, width, into) {
    const first = chart.epochs[0], last = chart.epochs[chart.epochs.length - 1];
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
    const every = Math.max(1, Math.ceil(chart.epochs.length / (width / 60)));
    return {
      width, height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: { x: { time: false, range: [first - 0.5, last + 0.5] }, y: { range: () => range(chart) } },
      axes: [
        { ...axis, grid: { show: false }, label: "epoch", size: 30, labelSize: 18, labelGap: 0, gap: 4, splits: () => chart.epochs.filter((_, i) => i % every === 0), values: (u, splits) => splits.map(String) },
        { ...axis, size: 58 },
      ],
      series: [{}, ...chart.series.map((arm) => ({ label: arm.name, paths: () => null, points: { show: false } }))],
      hooks: { draw: [(u) => drawAll(u, chart)], setCursor: [(u) => readOut(chart, u.cursor.idx, into)] },
    };
  }

  // ------------------------------------------------------------------ the picture of lifts

  const LIFTS_HEIGHT = 240;

  // The last look as a whole, and the values of later ones: earlier intervals go beyond, or nothing could be told apart.
  function rangeOfLifts(chart) {
    const last = chart.epochs.length - 1;
    const ends = chart.control === null ? [] : [0];
    for (const arm of chart.series) {
      if (arm.ends[last]) ends.push(...arm.ends[last].filter(known));
      ends.push(...arm.values.filter((value, i) => known(value) && 2 * i >= last));
    }
    const low = Math.min(...ends), high = Math.max(...ends), air = 0.2 * (high - low || 1);
    return [low - air, high + air];
  }

  function drawBand(u, arm, pixel) {
    const c = u.ctx;
    const places = arm.ends.map((pair, i) => pair && {
      x: u.valToPos(i, "x", true),
      y: u.valToPos(arm.values[i], "y", true),
      bottom: u.valToPos(pair[0], "y", true),
      top: known(pair[1]) ? u.valToPos(pair[1], "y", true) : -1e5,
    }).filter(Boolean);
    c.strokeStyle = c.fillStyle = colour(`--hue-${arm.hue}`);
    c.globalAlpha = 0.14;
    c.beginPath();
    [...places.map((p) => [p.x, p.top]), ...places.map((p) => [p.x, p.bottom]).reverse()].forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.fill();
    c.globalAlpha = 0.7;
    for (const side of ["top", "bottom"]) stroke(c, places.map((p) => [p.x, p[side]]), pixel);
    if (places.length === 1) for (const p of places) stroke(c, [[p.x, p.top], [p.x, p.bottom]], 1.5 * pixel);
    c.globalAlpha = 1;
    stroke(c, places.map((p) => [p.x, p.y]), 1.5 * pixel);
    for (const p of places) {
      c.beginPath();
      MARKS[arm.hue](c, p.x, p.y, (places.length > 14 ? 0.5 : 0.8) * MARK * pixel);
      c.fill();
    }
  }

  function drawLifts(u, chart) {
    const c = u.ctx, pixel = devicePixelRatio || 1;
    c.save();
    c.beginPath();
    c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    c.clip();
    if (chart.control !== null) {
      const zero = u.valToPos(0, "y", true);
      c.strokeStyle = colour("--ink");
      stroke(c, [[u.bbox.left, zero], [u.bbox.left + u.bbox.width, zero]], 1.2 * pixel, [5 * pixel, 4 * pixel]);
    }
    for (const arm of chart.series) drawBand(u, arm, pixel);
    c.restore();
  }

  const signed = (chart, value) => (chart.percent ? `${value > 0 ? "+" : ""}${short(100 * value)} %` : short(value)).replace("-", "−");

  function readLifts(chart, index, into) {
    if (!known(index)) {
      into.textContent = "";
      return;
    }
    const arms = chart.series.filter((arm) => arm.ends[index]);
    into.textContent = `After epoch ${chart.epochs[index]}: ` + arms.map((arm) => `${arm.name} ${signed(chart, arm.values[index])}, ${signed(chart, arm.ends[index][0])} to ${known(arm.ends[index][1]) ? signed(chart, arm.ends[index][1]) : "no limit"}`).join("; ");
  }

  function liftOptions(chart, width, into) {
    const every = Math.max(1, Math.ceil(chart.epochs.length / (width / 60))), last = chart.epochs.length - 1;
    const base = options(chart, width, into);
    return {
      ...base,
      height: LIFTS_HEIGHT,
      scales: { x: { time: false, range: [-0.4, last + 0.4] }, y: { range: () => rangeOfLifts(chart) } },
      axes: [
        { ...base.axes[0], label: "after epoch", splits: () => chart.epochs.map((_, i) => i).filter((i) => i % every === 0), values: (u, splits) => splits.map((i) => String(chart.epochs[i])) },
        { ...base.axes[1], size: 72, values: (u, splits) => splits.map((value) => signed(chart, value)) },
      ],
      series: [{}, ...chart.series.map((arm) => ({ label: arm.name, paths: () => null, points: { show: false } }))],
      hooks: { draw: [(u) => drawLifts(u, chart)], setCursor: [(u) => readLifts(chart, u.cursor.idx, into)] },
    };
  }

  // ------------------------------------------------------------------ painting

  const PICTURES = "[data-chart], [data-lifts]";
  const dataOf = (plot) => plot.dataset.chart || plot.dataset.lifts;

  function made(plot, chart, into) {
    if (plot.dataset.chart) return new uPlot(options(chart, plot.clientWidth, into), [chart.epochs, ...chart.series.map((arm) => arm.means)], plot);
    return new uPlot(liftOptions(chart, plot.clientWidth, into), [chart.epochs.map((_, i) => i), ...chart.series.map((arm) => arm.values)], plot);
  }

  function paint(plot) {
    const before = painted.get(plot);
    if (before && before.data === dataOf(plot) && before.u.root.isConnected) return;
    if (before) before.u.destroy();
    const chart = JSON.parse(dataOf(plot));
    const into = document.createElement("p");
    into.className = "readout";
    into.setAttribute("aria-hidden", "true");
    plot.replaceChildren();
    const u = made(plot, chart, into);
    plot.append(into);
    painted.set(plot, { u, data: dataOf(plot) });
    if (!before) watch(plot);
  }

  function watch(plot) {
    new ResizeObserver(() => {
      const { u } = painted.get(plot);
      if (plot.clientWidth && plot.clientWidth !== u.width) u.setSize({ width: plot.clientWidth, height: u.height });
    }).observe(plot);
  }

  const paintAll = () => document.querySelectorAll(PICTURES).forEach(paint);

  function repaintAll() {
    document.querySelectorAll(PICTURES).forEach((plot) => {
      const before = painted.get(plot);
      if (before) before.data = null;
    });
    paintAll();
  }

  // ------------------------------------------------------------------ refreshing

  const connection = (lost) => {
    const notice = document.getElementById("connection");
    if (notice) notice.hidden = !lost;
  };

  document.addEventListener("htmx:after:swap", () => {
    paintAll();
    tellTimes();
    markScrolling();
  });
  document.addEventListener("htmx:before:request", (event) => {
    if (document.hidden && event.detail.ctx.request.method === "GET") event.preventDefault(); // nobody is looking
  });
  document.addEventListener("htmx:after:request", (event) => connection(event.detail.ctx.response.status >= 500));
  document.addEventListener("htmx:error", () => connection(true));
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    tellTimes();
    document.getElementById("live")?.dispatchEvent(new Event("shown")); // what happened meanwhile
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaintAll);

  // ------------------------------------------------------------------ times

  // The service sends a part of a page only when something has changed, so that the page itself tells how long ago
  // that was: by the service's clock, and in the words of the service (`since` in formatting.py).
  const ahead = Date.now() / 1000 - Number(document.body.dataset.now);
  const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

  function duration(seconds) {
    for (const [unit, length] of [["day", 86400], ["hour", 3600]]) {
      const count = Math.round(seconds / length);
      if (count > 0 && count < 48 && Math.abs(seconds - count * length) < 1) return counted(count, unit);
    }
    for (const [unit, length, most] of [["second", 1, 100], ["minute", 60, 100], ["hour", 3600, 48], ["day", 86400, 700]]) {
      const count = Math.round(seconds / length);
      if (count < most) return counted(count, unit);
    }
    return `${(seconds / 86400 / 365.25).toFixed(1)} years`;
  }

  function tellTimes() {
    const now = Date.now() / 1000 - ahead;
    for (const time of document.querySelectorAll("time[datetime]")) {
      const away = Date.parse(time.dateTime) / 1000 - now;
      const length = duration(Math.round(Math.abs(away)));
      const words = Math.abs(away) < 5 ? "just now" : away < 0 ? `${length} ago` : `in ${length}`;
      if (time.textContent !== words) time.textContent = words;
    }
  }

  setInterval(() => document.hidden || tellTimes(), 10_000);

  // ------------------------------------------------------------------ wide tables

  // A table that is wider than its place says so by a shadow at the side where more of it is.
  function markScrolling() {
    for (const box of document.querySelectorAll(".scroll")) {
      const rest = box.scrollWidth - box.clientWidth;
      box.classList.toggle("wide", rest > 2);
      box.classList.toggle("more-left", box.scrollLeft > 2);
      box.classList.toggle("more-right", rest - box.scrollLeft > 2);
    }
  }

  document.addEventListener("scroll", markScrolling, { capture: true, passive: true });
  document.addEventListener("toggle", markScrolling, true);
  addEventListener("resize", markScrolling);

  // ------------------------------------------------------------------ keys and forms

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl+C"; // without TLS a browser does not let a page copy
    }
  });

  paintAll();
  markScrolling();
  document.querySelector("[data-focus]")?.focus();
  if (document.querySelector("[data-once]")) {
    const url = new URL(location.href);
    url.searchParams.delete("done");
    history.replaceState(history.state, "", url); // a reload must not say it again
  }
})();
