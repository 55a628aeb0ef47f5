// The lane of an API server. Along time it shows how far etcd was and how far
// the server had shown to be, so that a stale cache is a gap. Along the RV axis it
// shows how much later than anybody else the server showed each version.

import { Lane } from "./lanes";
import { Frame } from "./paint";
import { hatch } from "./shapes";
import { Frontier } from "./series";
import { clock } from "./words";

export function paintServer(frame: Frame, lane: Lane, y: number): void {
  frame.clipped(0, y, frame.scene.width, lane.height - 1, () => {
    if (frame.scene.axis === "time") alongTime(frame, lane, y);
    else alongVersions(frame, lane, y);
    together(frame, lane, y);
  });
}

/** A chart of versions, over what is on screen. */
class Chart {
  constructor(readonly low: number, readonly high: number, readonly top: number, readonly bottom: number) {}
  y(rv: number): number {
    const share = (Math.min(Math.max(rv, this.low), this.high) - this.low) / (this.high - this.low);
    return this.bottom - share * (this.bottom - this.top);
  }
}

function alongTime(frame: Frame, lane: Lane, y: number): void {
  const { g, scene, colours } = frame, { data, facts } = scene;
  const shown = facts.shown.get(lane.server)!, gone = facts.gone.get(lane.server)!;
  const reads = readsOnScreen(frame, lane);
  const begin = [shown.at(scene.domain[0]), facts.etcd.at(scene.domain[0])].filter((rv) => rv > 0);
  const high = Math.max(facts.etcd.at(scene.domain[1]), shown.at(scene.domain[1]), 1);
  let low = begin.length > 0 ? Math.min(...begin) : facts.domain.rv[0];
  for (const read of reads) low = Math.min(low, read.rv);
  const chart = new Chart(Math.min(low, high - 4), high, y + 10, y + lane.height - 9);

  const floor = gone.at(scene.domain[1]);
  if (floor > chart.low) floorOf(frame, chart, gone);
  gap(frame, chart, shown);
  stepLine(frame, chart, facts.etcd, colours.etcd, 1.2);
  stepLine(frame, chart, shown, colours.server, 2.2);
  for (const read of reads) {
    g.fillStyle = colours.paper;
    g.strokeStyle = colours.read;
    g.lineWidth = 1.4;
    g.beginPath();
    g.rect(read.x - 2.5, chart.y(read.rv) - 2.5, 5, 5);
    g.fill();
    g.stroke();
    if (read.lowest < read.rv) frame.line(colours.read, 1.4, [read.x, chart.y(read.rv) + 2.5], [read.x, chart.y(read.lowest)]);
  }
  for (const { left, right, from, to } of data.scale.gaps) {
    const line = Math.round((chart.y(left) + chart.y(right)) / 2);
    if (left < chart.low || right > chart.high) continue;
    frame.line(colours.soft, 1, [0, line + 0.5], [scene.width, line + 0.5], [2, 4]);
    frame.tag(`RV ${from + 1} to ${to - 1} skipped`, 64, line, colours.soft);
  }
  frame.tag(`RV ${data.scale.name(chart.high)}`, 5, chart.top - 1, colours.soft);
  frame.tag(`RV ${data.scale.name(Math.max(0, chart.low))}`, 5, chart.bottom + 1, colours.soft);
  if (scene.hover >= 0) readout(frame, chart, shown);
}

/** Reads on screen, those in four pixels as one: from the highest version to the lowest. */
function readsOnScreen(frame: Frame, lane: Lane): { x: number; rv: number; lowest: number }[] {
  const { scene } = frame, { data } = scene, series = scene.lanes.seriesOf(lane, "time");
  const cells: { x: number; rv: number; lowest: number }[] = [];
  const first = series.from(scene.domain[0]), end = series.from(scene.domain[1]);
  const stride = Math.max(1, Math.floor((end - first) / 20_000));
  for (let i = first; i < end; i += stride) {
    const rv = data.rv[data.operations[series.item[i]].result], x = Math.round(frame.x(series.at[i]) / 5) * 5;
    if (rv <= 0 || data.operations[series.item[i]].error !== "") continue;
    const last = cells[cells.length - 1];
    if (!last || last.x !== x) cells.push({ x, rv, lowest: rv });
    else {
      last.rv = Math.max(last.rv, rv);
      last.lowest = Math.min(last.lowest, rv);
    }
  }
  return cells;
}

/** Draws a frontier as steps, at most one for each pixel. */
function stepLine(frame: Frame, chart: Chart, line: Frontier, colour: string, width: number): void {
  const { g } = frame;
  g.strokeStyle = colour;
  g.lineWidth = width;
  g.beginPath();
  let drawing = false, lastY = 0;
  const visit = (x: number, rv: number) => {
    if (rv === 0) {
      drawing = false;
      return;
    }
    const y = chart.y(rv);
    if (drawing) {
      if (y === lastY) return;
      g.lineTo(x, lastY);
      g.lineTo(x, y);
    } else g.moveTo(x, y);
    drawing = true;
    lastY = y;
  };
  walk(frame, [line], (x, [rv]) => visit(x, rv));
  if (drawing) g.lineTo(Math.min(frame.scene.width, frame.x(frame.scene.data.end)), lastY);
  g.stroke();
}

/** Goes through the pixels at which any of some frontiers changes. */
function walk(frame: Frame, lines: Frontier[], visit: (x: number, rvs: number[]) => void): void {
  const { scene } = frame;
  const [low, high] = scene.domain;
  const steps = lines.flatMap((line) => line.between(low, high));
  const xs = steps.length > scene.width
    ? Array.from({ length: Math.ceil(scene.width) }, (_, x) => x)
    : [0, ...steps.map((time) => frame.x(time)).sort((a, b) => a - b)];
  for (const x of xs) visit(x, lines.map((line) => line.at(frame.at(x) + 1e-12)));
}

/** What lies between the two lines: by how much the server was behind. */
function gap(frame: Frame, chart: Chart, shown: Frontier): void {
  const { scene, colours } = frame, end = Math.min(scene.width, frame.x(scene.data.end));
  let from = 0, rvs = [0, 0];
  const fill = (to: number) => {
    const [known, server] = rvs, top = chart.y(known);
    if (known > server && server > 0 && to > from) frame.rect(colours.server, from, top, to - from, chart.y(server) - top, 0.16);
  };
  walk(frame, [scene.facts.etcd, shown], (x, next) => {
    fill(x);
    from = x;
    rvs = next;
  });
  fill(end);
}

/** Versions that the server had said to hold no more: the window begins above. */
function floorOf(frame: Frame, chart: Chart, gone: Frontier): void {
  const { g, colours, scene } = frame;
  let from = 0, rv = 0;
  const fill = (to: number) => { if (rv > chart.low) frame.rect(hatch(g, colours.soft), from, chart.y(rv), to - from, chart.bottom + 9 - chart.y(rv), 0.3); };
  walk(frame, [gone], (x, [next]) => {
    fill(x);
    from = x;
    rv = next;
  });
  fill(scene.width);
  frame.tag(`410 up to RV ${scene.data.scale.name(rv)}`, Math.max(60, Math.min(from + 4, scene.width - 110)), Math.min(chart.y(rv) + 8, chart.bottom - 2), colours.soft);
}

function readout(frame: Frame, chart: Chart, shown: Frontier): void {
  const { scene } = frame, time = frame.at(scene.hover);
  const etcd = scene.facts.etcd.at(time), server = shown.at(time);
  if (etcd === 0) return;
  const name = (rv: number) => scene.data.scale.name(rv);
  const behind = server === 0 ? "nothing shown yet" : etcd > server ? `${Math.round(scene.data.scale.at(etcd) - scene.data.scale.at(server))} behind` : "up to date";
  const text = server === 0 ? `etcd at RV ${name(etcd)}, ${behind}` : `RV ${name(server)}, etcd at ${name(etcd)}: ${behind}`;
  frame.readout(text, (chart.top + chart.bottom) / 2);
}

/** The delays that are drawn, in seconds: from nothing to the height of the lane. */
const shortest = 1e-4, longest = 100;

/** How much later than the first to show it the server showed each version. */
function alongVersions(frame: Frame, lane: Lane, y: number): void {
  const { g, scene, colours } = frame, { facts } = scene;
  const top = y + 8, bottom = y + lane.height - 14, first = facts.first.get(lane.server)!;
  const share = (delay: number) => Math.min(1, Math.max(0, Math.log(delay / shortest) / Math.log(longest / shortest)));
  const [low, high] = facts.domain.rv;
  const from = Math.max(0, Math.floor(frame.x(low + 0.5))), to = Math.min(scene.width, Math.ceil(frame.x(high - 0.5)));
  for (const [delay, text] of [[0.01, "10 ms"], [1, "1 s"], [100, "100 s"]] as const) {
    const line = bottom - share(delay) * (bottom - top);
    frame.rect(colours.line, 0, line, scene.width, 1);
    frame.tag(text, 5, line + 1, colours.soft);
  }
  for (let x = from; x < to; x += 2) {
    const rv = Math.round(frame.at(x)), known = facts.timeOf(rv), shown = first.timeOf(rv);
    if (known < 0 || rv > high - 1) continue;
    if (shown < 0) {
      frame.rect(hatch(g, colours.soft), x, top, 2, bottom - top); // never shown
      continue;
    }
    const tall = 1.5 + share(shown - known) * (bottom - top);
    frame.rect(colours.server, x, bottom - tall, 2, tall, 0.55);
  }
  frame.series(scene.lanes.seriesOf(lane, "rv"), y + lane.height - 8, 12);
  if (scene.hover >= 0) {
    const rv = Math.round(frame.at(scene.hover)), known = facts.timeOf(rv), shown = first.timeOf(rv);
    if (known >= 0) frame.tag(shown < 0 ? `RV ${scene.data.scale.name(rv)} was not shown` : `RV ${scene.data.scale.name(rv)} shown ${clock(shown - known, 0.01)} after the first`, scene.hover + 8, top + 6, colours.ink);
  }
}

/** Streams that ended together. */
function together(frame: Frame, lane: Lane, y: number): void {
  const { g, scene, colours } = frame, { facts } = scene;
  let free = -Infinity;
  facts.ended.forEach((ended, index) => {
    if (ended.server !== lane.server) return;
    const x = frame.x(facts.position({ kind: "ended", index }, scene.axis));
    if (x < -150 || x > scene.width) return;
    g.fillStyle = colours.ink;
    g.fillRect(x, y, 1.5, lane.height);
    g.beginPath();
    g.moveTo(x, y); g.lineTo(x + 7, y); g.lineTo(x, y + 7);
    g.fill();
    const text = `all ${ended.streams.length} streams ended`;
    if (x < free) return;
    frame.tag(text, x + 10, y + 8, colours.soft);
    free = x + g.measureText(text).width + 18;
  });
}
