// The same in text: what is on screen as a table, for those who cannot see it or
// would rather read, and for copying.

import { Data } from "./data";
import { byId, button, el } from "./dom";
import { Axis, Facts } from "./facts";
import { Ref } from "./series";
import { exact, Words } from "./words";

/** How many rows there are at most. */
const maxRows = 500;

/** Everything that stands between two positions of an axis, in order. */
export function onScreen(data: Data, facts: Facts, axis: Axis, low: number, high: number): { ref: Ref; at: number }[] {
  const found: { ref: Ref; at: number }[] = [];
  const add = (kind: Ref["kind"], count: number) => {
    for (let index = 0; index < count; index++) {
      const ref = { kind, index }, at = facts.position(ref, axis);
      if (at >= low && at <= high) found.push({ ref, at });
    }
  };
  add("mark", data.marks.length);
  add("fault", data.faults.length);
  add("compaction", data.compactions.length);
  add("ended", facts.ended.length);
  add("leader", data.leaders.length);
  add("window", data.windows.length);
  add("change", data.changes.length);
  add("operation", data.operations.length);
  add("stream", data.streams.length);
  add("event", data.events.count);
  return found.sort((a, b) => a.at - b.at);
}

/** Fills the table with the first rows of what is on screen. */
export function fillTable(data: Data, facts: Facts, words: Words, axis: Axis, domain: [number, number], select: (ref: Ref) => void): void {
  const all = onScreen(data, facts, axis, ...domain), shown = all.slice(0, maxRows);
  const rows = shown.map(({ ref }) => {
    const line = button(words.line(ref), { class: "related" }, () => select(ref));
    return el("tr", ref.kind === "mark" && data.marks[ref.index].breaks ? { class: "wrong" } : {},
      el("td", {}, exact(facts.position(ref, "time"))), el("td", {}, revision(data, ref)), el("td", {}, words.where(ref)), el("td", {}, line));
  });
  const note = all.length > shown.length ? `The first ${maxRows} of ${all.length.toLocaleString("en-GB")} on screen: zoom in to see the rest.` : `${all.length} on screen.`;
  byId("table").replaceChildren(el("table", {},
    el("caption", {}, note),
    el("thead", {}, el("tr", {}, ...["Time", "RV", "Where", "What"].map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, ...rows)));
}

function revision(data: Data, ref: Ref): string {
  const version = ref.kind === "event" ? data.events.version[ref.index] : ref.kind === "change" ? data.changes[ref.index].version
    : ref.kind === "operation" ? data.operations[ref.index].result : ref.kind === "compaction" ? data.compactions[ref.index].version
    : ref.kind === "mark" ? data.marks[ref.index].at : ref.kind === "stream" ? data.streams[ref.index].version
    : ref.kind === "window" ? data.windows[ref.index].newest : -1;
  return version < 0 || data.rv[version] <= 0 ? "" : data.versions[version];
}
