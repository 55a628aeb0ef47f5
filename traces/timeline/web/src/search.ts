// Finds things by what they are called: objects, values, clients, servers, faults,
// codes, RVs, and the numbers of streams and operations.

import { Data } from "./data";
import { Axis, Facts } from "./facts";
import { Ref } from "./series";

/** All that matches, in order of time. A number is an RV; `stream 7` and `operation 7` are what they say. */
export function search(data: Data, facts: Facts, query: string): Ref[] {
  const wanted = query.trim();
  if (wanted === "") return [];
  const numbered = /^(rv|stream|operation|op)?\s*[:#]?\s*(\d+)$/i.exec(wanted);
  const found: Ref[] = [];
  const add = (kind: Ref["kind"], index: number) => found.push({ kind, index });
  if (numbered) {
    const [, what, number] = numbered, kind = (what ?? "").toLowerCase();
    if (kind === "stream" || kind === "") {
      const index = facts.stream(Number(number));
      if (index >= 0 && kind === "stream") add("stream", index);
    }
    if ((kind === "operation" || kind === "op") && facts.operation(Number(number)) >= 0) add("operation", facts.operation(Number(number)));
    if (kind === "rv" || kind === "") byVersion(data, data.versions.indexOf(number), add);
    return inOrder(facts, found);
  }
  const objects = data.objectsWith(wanted), lower = wanted.toLowerCase(), has = (text: string) => text.toLowerCase().includes(lower);
  data.changes.forEach((change, i) => { if (objects.has(change.object)) add("change", i); });
  data.operations.forEach((op, i) => { if (has(op.query) || has(op.client) || has(op.server) || has(op.error) || has(op.kind) || objects.has(op.object)) add("operation", i); });
  data.streams.forEach((s, i) => { if (has(s.query) || has(s.client) || has(s.server) || has(s.error)) add("stream", i); });
  data.faults.forEach((fault, i) => { if (has(fault.name) || has(fault.note)) add("fault", i); });
  data.marks.forEach((mark, i) => { if (has(mark.name)) add("mark", i); });
  data.leaders.forEach((leader, i) => { if (has(leader.member) || has("leader")) add("leader", i); });
  data.windows.forEach((_, i) => { if (has("window") || (facts.begun(i) && has(data.windows[i].filling === 1 ? "filled" : "refilled"))) add("window", i); });
  if (has("compacted")) data.compactions.forEach((_, i) => add("compaction", i));
  for (let i = 0; i < data.events.count; i++) {
    const failed = data.events.failed.get(i);
    if (objects.has(data.events.object[i]) || (failed && (has(failed.error) || has(failed.message))) ||
      data.events.type[i].toLowerCase() === lower) add("event", i);
  }
  return inOrder(facts, found);
}

function byVersion(data: Data, version: number, add: (kind: Ref["kind"], index: number) => void): void {
  if (version < 0) return;
  data.changes.forEach((change, i) => { if (change.version === version) add("change", i); });
  data.compactions.forEach((compaction, i) => { if (compaction.version === version) add("compaction", i); });
  data.windows.forEach((window, i) => { if (window.newest === version && data.windows[i - 1]?.newest !== version) add("window", i); });
  data.operations.forEach((op, i) => { if (op.result === version || op.version === version) add("operation", i); });
  data.streams.forEach((s, i) => { if (s.version === version) add("stream", i); });
  for (let i = 0; i < data.events.count; i++) if (data.events.version[i] === version) add("event", i);
}

function inOrder(facts: Facts, found: Ref[]): Ref[] {
  const at = new Map(found.map((ref) => [ref, facts.position(ref, "time")]));
  return found.sort((a, b) => at.get(a)! - at.get(b)!);
}

/** Where matches stand, for the ticks above the lanes. */
export function positions(facts: Facts, found: Ref[], axis: Axis): Float64Array {
  return Float64Array.from(found, (ref) => facts.position(ref, axis)).sort();
}
