// What lies under the pointer.

import { Facts, Axis } from "./facts";
import { Lane, Lanes } from "./lanes";
import { Ref, Series } from "./series";

/** How near the pointer has to be, in pixels. */
const near = 9;

/** The thing of a lane that is nearest to a position, null if none is near. y counts from the top of the lane. */
export function under(lanes: Lanes, facts: Facts, axis: Axis, lane: Lane, position: number, y: number, pixelsPerUnit: number): Ref | null {
  const { data } = lanes;
  const distance = (at: number) => Math.abs(at - position) * pixelsPerUnit;
  const nearestOf = (kind: Ref["kind"], indices: Iterable<number>): Ref | null => {
    let best: Ref | null = null, least = near;
    for (const index of indices) {
      const d = distance(facts.position({ kind, index }, axis));
      if (d < least) { least = d; best = { kind, index }; }
    }
    return best;
  };
  const inLane = (): Ref | null => nearest(lanes.seriesOf(lane, axis), position, distance, (item) => lanes.refOf(lane, item));
  switch (lane.kind) {
    case "marks": {
      // A flag reaches to the right of its place.
      const before = data.marks.map((_, index) => ({ index, left: (position - facts.position({ kind: "mark", index }, axis)) * pixelsPerUnit }))
        .filter(({ left }) => left >= -near && left < 100).sort((a, b) => a.left - b.left);
      return before.length > 0 ? { kind: "mark", index: before[0].index } : null;
    }
    case "faults": {
      const row = Math.floor((y - 4) / 16);
      const index = data.faults.findIndex((fault, i) => {
        const from = axis === "time" ? fault.begin : facts.rvAt(fault.begin), to = axis === "time" ? fault.end : facts.rvAt(fault.end);
        return lanes.faultRows[i] === row && position >= from - 4 / pixelsPerUnit && position <= to + 4 / pixelsPerUnit;
      });
      return index >= 0 ? { kind: "fault", index } : null;
    }
    case "etcd":
      if (y > 30) return nearestOf("compaction", data.compactions.keys());
      return inLane();
    case "server": {
      const together = facts.ended.flatMap((ended, i) => (ended.server === lane.server ? [i] : []));
      return nearestOf("ended", together) ?? inLane();
    }
    case "leader": {
      const series = lanes.seriesOf(lane, axis), place = series.from(position + 1e-12) - 1;
      return place >= 0 ? { kind: "leader", index: series.item[place] } : null;
    }
    case "window": {
      // Along versions, the time goes from the top of the lane to the bottom.
      const series = lanes.seriesOf(lane, "time"), time = axis === "time" ? position : (data.end * y) / lane.height;
      const place = series.from(time + 1e-12) - 1, index = series.item[place];
      if (place < 0) return null;
      const { since, newest } = data.windows[index];
      return axis === "time" || (position >= data.rv[since] && position <= data.rv[newest]) ? { kind: "window", index } : null;
    }
    case "client":
      return inLane() ??
        (lanes.isFolded(lane.client) ? nearest(lanes.eventsOf(lane.client, axis), position, distance, (index) => ({ kind: "event", index })) : null);
    case "owed": return inLane();
    case "stream": {
      const event = inLane();
      if (event) return event;
      const [from, to] = facts.streamSpan(lane.stream!, axis);
      return position >= from - near / pixelsPerUnit && position <= to + near / pixelsPerUnit ? { kind: "stream", index: lane.stream!.index } : null;
    }
  }
}

function nearest(series: Series, position: number, distance: (at: number) => number, refOf: (item: number) => Ref): Ref | null {
  const after = series.from(position);
  let best = -1;
  for (const i of [after - 1, after]) {
    if (i < 0 || i >= series.length) continue;
    if (distance(series.at[i]) < near && (best < 0 || distance(series.at[i]) < distance(series.at[best]))) best = i;
  }
  return best < 0 ? null : refOf(series.item[best]);
}
