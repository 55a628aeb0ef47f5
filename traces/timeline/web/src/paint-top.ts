// The lanes that stand above the servers: the verdict, the faults and etcd.

import { Lane } from "./lanes";
import { Frame } from "./paint";
import { flag, hatch } from "./shapes";
import { bothThenFirst } from "./words";

export function paintMarks(frame: Frame, lane: Lane, y: number): void {
  const { g, scene, colours } = frame, { data, facts } = scene;
  const marks = data.marks.map((mark, index) => ({ mark, index, x: frame.x(facts.position({ kind: "mark", index }, scene.axis)) }))
    .sort((a, b) => a.x - b.x || a.index - b.index);
  let free = -Infinity;
  for (const { mark, index, x } of marks) {
    const selected = index === scene.mark, colour = mark.breaks ? colours.violation : colours.soft;
    const text = `${index + 1} ${mark.name}`;
    if (x < -200 || x > scene.width + 20) continue;
    if (x < free && !selected) {
      frame.rect(colour, x - 1, y + 2, 2, lane.height - 5);
      continue;
    }
    flag(g, within(frame, x, text), y + lane.height / 2, text, colour, colours.paper, selected || mark.breaks);
    free = x + g.measureText(text).width + 16;
  }
  // The selected one lies on top.
  if (scene.mark < 0) return;
  const chosen = marks.find((m) => m.index === scene.mark)!;
  const text = `${chosen.index + 1} ${chosen.mark.name}`;
  flag(g, within(frame, chosen.x, text), y + lane.height / 2, text, chosen.mark.breaks ? colours.violation : colours.ink, colours.paper, true);
}

/** Keeps a flag on the screen: it hangs to the left of its place at the right edge. */
function within(frame: Frame, x: number, text: string): number {
  const width = frame.g.measureText(text).width + 13;
  return x <= frame.scene.width + 1 && x + width > frame.scene.width ? x - width + 2 : x;
}

export function paintFaults(frame: Frame, lane: Lane, y: number): void {
  const { g, scene, colours } = frame;
  if (scene.axis === "time" && frame.healed > 0 && frame.healed < scene.width) frame.tag("healed", frame.healed + 5, y + lane.height - 10, colours.soft);
  scene.data.faults.forEach((fault, i) => {
    const [from, to] = frame.faultSpan(fault), left = Math.max(from, -4), right = Math.min(Math.max(to, from + 3), scene.width + 4);
    const top = y + 4 + 16 * scene.lanes.faultRows[i];
    if (right < 0 || left > scene.width) return;
    frame.rect(colours.fault, left, top, right - left, 13, 0.25);
    frame.rect(hatch(g, colours.fault), left, top, right - left, 13, 0.6);
    frame.rect(colours.fault, left, top, 2, 13);
    frame.clipped(Math.max(0, left), top - 1, Math.max(right - left, nextInRow(frame, i) - left - 6), 15, () => {
      g.fillStyle = colours.ink;
      g.fillText(fault.name, Math.max(0, left) + 5, top + 7);
    });
  });
}

/** Where the next fault of the same row begins: a name may reach up to it. */
function nextInRow(frame: Frame, i: number): number {
  const { scene } = frame, row = scene.lanes.faultRows[i], begin = scene.data.faults[i].begin;
  let next = Infinity;
  scene.data.faults.forEach((other, j) => {
    if (j !== i && scene.lanes.faultRows[j] === row && other.begin >= begin) next = Math.min(next, frame.faultSpan(other)[0]);
  });
  return Math.min(next, scene.width + 200);
}

export function paintEtcd(frame: Frame, lane: Lane, y: number): void {
  const { scene, colours } = frame, { data, facts } = scene;
  const series = scene.lanes.seriesOf(lane, scene.axis);
  frame.rect(colours.etcd, Math.max(0, frame.x(facts.domain[scene.axis][0])), y + 19, Math.min(scene.width, frame.x(facts.domain[scene.axis][1])), 1);
  frame.series(series, y + 19, 30, (i) => bothThenFirst(data.versions[data.changes[i].version], data.key(data.changes[i].object)));
  compactions(frame, y + 39);
}

/** The floor below which etcd has no history any more. */
function compactions(frame: Frame, y: number): void {
  const { g, scene, colours } = frame, { data, facts } = scene;
  let free = -Infinity;
  if (scene.axis === "rv" && data.compactions.length > 0) {
    const floor = frame.x(data.rv[data.compactions[data.compactions.length - 1].version]);
    frame.rect(hatch(g, colours.soft), 0, y - 7, Math.max(0, floor), 14, 0.35);
  }
  data.compactions.forEach((compaction, index) => {
    const x = frame.x(facts.position({ kind: "compaction", index }, scene.axis)), text = `compacted ${data.versions[compaction.version]}`;
    if (x < -120 || x > scene.width) return;
    frame.rect(colours.ink, x, y - 7, 2, 14);
    frame.rect(colours.ink, x - 5, y + 5, 5, 2); // a foot to the left: what lies there is gone
    if (x < free) return;
    frame.tag(text, x + 6, y, colours.soft);
    free = x + g.measureText(text).width + 14;
  });
}
