// The lanes of clients: their requests, their streams, and what they should have received.

import { Bookmark, Failed } from "./data";
import { Lane } from "./lanes";
import { Frame } from "./paint";
import { bothThenFirst, codes } from "./words";

export function paintClient(frame: Frame, lane: Lane, y: number): void {
  const { scene, colours } = frame, { data, lanes } = scene, middle = y + lane.height / 2;
  const series = lanes.seriesOf(lane, scene.axis);
  if (scene.axis === "time") {
    // How long each took, where that can be seen.
    const first = series.from(scene.domain[0]), end = Math.min(series.from(scene.domain[1]) + 1, series.length);
    for (let i = first; i < end && end - first < 2000; i++) {
      if (series.item[i] < 0) continue;
      const op = data.operations[series.item[i]], left = frame.x(op.call);
      frame.rect(colours.soft, left, middle - 1, Math.max(0, frame.x(op.end >= 0 ? op.end : op.call) - left), 2, 0.35);
    }
  }
  if (lanes.isFolded(lane.client)) frame.series(lanes.eventsOf(lane.client, scene.axis), middle, lane.height);
  frame.series(series, middle, lane.height, (i) => {
    if (i < 0) {
      const s = data.streams[~i];
      return bothThenFirst(`watch ${codes[s.error] ?? s.error}`, s.message.slice(0, 80));
    }
    const op = data.operations[i];
    const answer = op.error !== "" ? (codes[op.error] ?? op.error) : op.end < 0 ? "no response" : data.rv[op.result] > 0 ? data.versions[op.result] : "";
    return bothThenFirst(op.kind === "list" || op.kind === "get" ? `${op.kind} ${answer}` : answer, op.query);
  });
}

export function paintStream(frame: Frame, lane: Lane, y: number): void {
  const { g, scene, colours } = frame, { data, facts } = scene, s = lane.stream!, middle = y + lane.height / 2;
  const [from, to] = facts.streamSpan(s, scene.axis), left = frame.x(from), right = frame.x(to);
  if (right >= 0 && left <= scene.width) {
    const begin = Math.max(left, -8), end = Math.min(right, scene.width + 8);
    g.fillStyle = colours.faint;
    g.beginPath();
    g.roundRect(begin, middle - 6, Math.max(2, end - begin), 12, 3);
    g.fill();
    ending(frame, s.closed < 0 ? "open" : s.reason, right, middle);
  }
  const series = scene.lanes.seriesOf(lane, scene.axis);
  if (right < 0 || left > scene.width) frame.beyond(series, middle);
  frame.series(series, middle, lane.height, (i) => {
    const failed = data.events.failed.get(i);
    if (failed) return bothThenFirst(codes[failed.error] ?? failed.error, failed.message.slice(0, 80));
    return bothThenFirst(data.versions[data.events.version[i]], data.events.object[i] === 0 ? "" : data.key(data.events.object[i]));
  }, undefined, scene.axis === "time" && s.error === "" && s.closed >= 0 ? right : NaN);
}

/** How a stream ended: a bar by its client, a bracket by the server, a cross by an error, a gap by its connection. */
function ending(frame: Frame, reason: string, x: number, y: number): void {
  const { g, scene, colours } = frame;
  if (scene.axis !== "time" || x < 0 || x > scene.width || reason === "open") return;
  g.strokeStyle = reason === "client" ? colours.soft : colours.ink;
  g.lineWidth = 1.6;
  g.beginPath();
  switch (reason) {
    case "client": g.moveTo(x, y - 6); g.lineTo(x, y + 6); break;
    case "server": g.moveTo(x - 3, y - 6); g.lineTo(x, y - 6); g.lineTo(x, y + 6); g.lineTo(x - 3, y + 6); break;
    case "connection": g.moveTo(x - 2, y - 7); g.lineTo(x + 2, y - 2); g.lineTo(x - 2, y + 2); g.lineTo(x + 2, y + 7); break;
    default: g.moveTo(x - 3, y - 3); g.lineTo(x + 3, y + 3); g.moveTo(x + 3, y - 3); g.lineTo(x - 3, y + 3);
  }
  g.stroke();
}

/** Of more changes than this on screen, no lines lead to where they arrived. */
const maxLines = 250;

export function paintOwed(frame: Frame, lane: Lane, y: number): void {
  const { g, scene, colours } = frame, { data, facts } = scene, middle = y + lane.height / 2;
  const series = scene.lanes.seriesOf(lane, scene.axis);
  const first = series.from(scene.domain[0]), end = series.from(scene.domain[1]);
  const accused = new Set(data.marks.filter((m) => m.breaks && m.stream === lane.stream!.index).flatMap((m) => m.versions));
  const arrivals = arrivalsOf(frame, lane);
  if (end - first <= maxLines) {
    for (let i = first; i < end; i++) {
      const version = data.changes[series.item[i]].version, event = arrivals.get(version);
      if (event === undefined) continue;
      const [colour, width, alpha] = accused.has(version) ? [colours.violation, 1.5, 0.9] as const : [colours.soft, 1, 0.45] as const;
      const to = frame.x(scene.axis === "time" ? data.events.time[event] : facts.eventRv[event]);
      frame.line(colour, width, [frame.x(series.at[i]), middle + 4], [to, middle + lane.height - 4], [], alpha);
    }
  }
  frame.series(series, middle, lane.height, (i) => {
    const change = data.changes[i], rv = data.versions[change.version], key = data.key(change.object);
    if (arrivals.has(change.version)) return bothThenFirst(rv, key);
    const missing = accused.has(change.version) ? "never received" : "not received";
    return [`${rv}  ${key} ${missing}`, `${rv} ${missing}`, rv];
  }, () => true);
  for (let i = first; i < end && accused.size > 0; i++) {
    if (!accused.has(data.changes[series.item[i]].version)) continue;
    const x = frame.x(series.at[i]);
    g.strokeStyle = colours.violation;
    g.lineWidth = 1.8;
    g.beginPath();
    g.arc(x, middle, 7.5, 0, 2 * Math.PI);
    if (!arrivals.has(data.changes[series.item[i]].version)) { g.moveTo(x - 5, middle - 5); g.lineTo(x + 5, middle + 5); }
    g.stroke();
  }
}

const known = new WeakMap<Lane, Map<number, number>>();

/** Where each version arrived on the stream that it was owed to. */
export function arrivalsOf(frame: Frame, lane: Lane): Map<number, number> {
  let arrivals = known.get(lane);
  if (arrivals) return arrivals;
  const { events } = frame.scene.data;
  arrivals = new Map();
  for (let i = lane.stream!.first; i < lane.stream!.end; i++) {
    if (events.kind[i] !== Bookmark && events.kind[i] !== Failed && !arrivals.has(events.version[i])) arrivals.set(events.version[i], i);
  }
  known.set(lane, arrivals);
  return arrivals;
}
