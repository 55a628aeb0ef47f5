// Which lanes there are, from top to bottom, and what stands in each.

import { Data, Operation, Owed, Stream } from "./data";
import { Axis, Facts } from "./facts";
import { range, Ref, Series } from "./series";

export type LaneKind = "marks" | "faults" | "etcd" | "leader" | "server" | "window" | "client" | "owed" | "stream";

export interface Lane {
  id: string;
  kind: LaneKind;
  label: string;
  note: string;
  height: number;
  top: number;
  /** The processes whose faults darken the lane. */
  processes: string[];
  /** What series of this lane refer to. */
  refKind: Ref["kind"];
  client: string;
  server: string;
  stream: Stream | null;
  owed: Owed | null;
}

export const heights: Record<LaneKind, number> = { marks: 26, faults: 18, etcd: 50, leader: 20, server: 76, window: 46, client: 26, owed: 20, stream: 20 };

/** The most streams with which all clients begin expanded. */
const maxExpanded = 250;

export class Lanes {
  all: Lane[] = [];
  height = 0;
  /** How high the lanes are that stay where they are while the others scroll. */
  pinned = 0;
  /** The rows that faults are packed into, so that none covers another. */
  readonly faultRows: number[];
  readonly faultRowCount: number;
  private readonly folded: Set<string>;
  private readonly streamsOf = new Map<string, Stream[]>();
  private readonly series = new Map<string, Series>();

  constructor(readonly data: Data, readonly facts: Facts) {
    for (const client of data.clients) this.streamsOf.set(client, []);
    for (const s of data.streams) this.streamsOf.get(s.client)!.push(s);
    for (const streams of this.streamsOf.values()) streams.sort((a, b) => a.call - b.call || a.id - b.id);
    const concerned = new Set(data.marks.map((m) => m.client));
    this.folded = new Set(data.streams.length > maxExpanded ? data.clients.filter((c) => !concerned.has(c)) : []);
    [this.faultRows, this.faultRowCount] = packed(data);
    this.layout();
  }

  isFolded(client: string): boolean { return this.folded.has(client); }
  foldable(client: string): boolean { return this.streamsOf.get(client)!.length > 0; }

  fold(client: string, folded: boolean): void {
    if (folded) this.folded.add(client);
    else this.folded.delete(client);
    this.layout();
  }

  private layout(): void {
    const { data } = this;
    this.all = [];
    this.height = 0;
    if (data.marks.length > 0) this.add("marks", "verdict", "Verdict", verdictNote(data), {});
    if (data.faults.length > 0) this.add("faults", "faults", "Faults", counted(data.faults.length, "fault"), {}, 8 + 16 * this.faultRowCount);
    const members = new Set(data.faults.flatMap((f) => f.processes).filter((p) => !data.servers.includes(p) && !data.clients.includes(p)));
    this.add("etcd", "etcd", "etcd", data.known ? `${counted(data.changes.length, "change")} to RV ${data.versions[data.revision]}` : "not recorded",
      { processes: [...members] });
    if (data.leaders.length > 0) {
      this.add("leader", "leader", "Leader", `of etcd, ${counted(data.leaders.length - 1, "change")}`, { processes: [...members] }, 6 + 16 * Math.max(1, this.facts.members.length));
    }
    // Whoever tells of leaders looked for windows too; a history of somebody else's has neither.
    const looked = data.leaders.length + data.windows.length > 0;
    for (const server of data.servers) {
      this.add("server", `server:${server}`, server, "", { server, processes: [server] });
      if (!looked) continue;
      const steps = this.facts.windowsOf.get(server)!.length;
      this.add("window", `window:${server}`, `window of ${server}`, steps > 0 ? "" : "not recorded",
        { server, processes: [server] }, steps > 0 ? heights.window : 20);
    }
    for (const client of data.clients) {
      const streams = this.streamsOf.get(client)!;
      this.add("client", `client:${client}`, client, this.contents(client), { client, processes: [client] });
      if (this.folded.has(client)) continue;
      for (const stream of streams) {
        if (stream.error !== "") continue; // a watch that was refused stands among the requests
        const owed = data.owed.get(stream.index);
        if (owed) this.add("owed", `owed:${stream.id}`, "expected", `on stream ${stream.id}, by etcd's log`, { client, stream, owed, processes: [client] });
        this.add("stream", `stream:${stream.id}`, String(stream.id), `${stream.server} · ${brief(stream.query)} · ${asked(data, stream)}`,
          { client, stream, server: stream.server, processes: [client] });
      }
    }
  }

  private add(kind: LaneKind, id: string, label: string, note: string, more: Partial<Lane>, height = heights[kind]): void {
    const refKinds: Record<LaneKind, Ref["kind"]> = {
      marks: "mark", faults: "fault", etcd: "change", leader: "leader", server: "operation", window: "window", client: "operation", owed: "change", stream: "event",
    };
    this.all.push({
      id, kind, label, note, height, top: this.height, processes: [], refKind: refKinds[kind], client: "", server: "", stream: null, owed: null, ...more,
    });
    this.height += height;
  }

  /** The lane that something stands in, its client's if that is folded. */
  laneOf(ref: Ref): Lane | undefined {
    const { data } = this;
    const stream = ref.kind === "event" ? data.streams[data.events.stream[ref.index]] : ref.kind === "stream" ? data.streams[ref.index] : null;
    const byId = (id: string) => this.all.find((lane) => lane.id === id);
    if (stream) return byId(`stream:${stream.id}`) ?? byId(`client:${stream.client}`);
    switch (ref.kind) {
      case "operation": return byId(`client:${data.operations[ref.index].client}`);
      case "fault": return byId("faults");
      case "mark": {
        const mark = data.marks[ref.index];
        if (mark.stream >= 0) return this.laneOf({ kind: "stream", index: mark.stream });
        if (mark.operations.length > 0) return this.laneOf({ kind: "operation", index: mark.operations[0] });
        return byId(`client:${mark.client}`) ?? byId(`server:${mark.server}`) ?? byId("verdict");
      }
      case "ended": return byId(`server:${this.facts.ended[ref.index].server}`);
      case "leader": return byId("leader");
      case "window": return byId(`window:${data.windows[ref.index].server}`);
      default: return byId("etcd");
    }
  }

  /** How many streams a client opened, and requests it made. */
  private contents(client: string): string {
    const streams = this.streamsOf.get(client)!, opened = streams.filter((s) => s.error === "").length;
    const requests = this.data.operations.reduce((n, op) => n + (op.client === client ? 1 : 0), 0) + streams.length - opened;
    return [opened > 0 ? counted(opened, "stream") : "", requests > 0 ? counted(requests, "request") : ""].filter((text) => text !== "").join(", ");
  }

  /** Pins the first lanes, as many as fit into a height. */
  pin(most: number): void {
    this.pinned = 0;
    for (const lane of this.all) {
      if (lane.kind === "client" || lane.top + lane.height > most) break;
      this.pinned = lane.top + lane.height;
    }
  }

  isPinned(lane: Lane): boolean { return lane.top < this.pinned; }

  /** Where a lane is on a screen that is scrolled. */
  screenTop(lane: Lane, scroll: number): number { return this.isPinned(lane) ? lane.top : lane.top - scroll; }

  /** The lane at a height of the screen. */
  at(y: number, scroll: number): Lane | undefined {
    const inAll = y < this.pinned ? y : y + scroll;
    return this.all.find((lane) => lane.top <= inAll && inAll < lane.top + lane.height);
  }

  /** What an item of a lane's series refers to: a negative one is a watch that was refused. */
  refOf(lane: Lane, item: number): Ref {
    return item < 0 ? { kind: "stream", index: ~item } : { kind: lane.refKind, index: item };
  }

  /** What stands in a lane, along an axis. */
  seriesOf(lane: Lane, axis: Axis): Series {
    return this.cached(`${axis} ${lane.id}`, () => {
      const { facts } = this;
      return new Series(this.items(lane), (item) => facts.position(this.refOf(lane, item), axis), (item) => facts.kindOf(this.refOf(lane, item)));
    });
  }

  /** The events of all streams of a client, for when it is folded. */
  eventsOf(client: string, axis: Axis): Series {
    return this.cached(`${axis} events ${client}`, () => {
      const items = this.streamsOf.get(client)!.flatMap((s) => Array.from(range(s.first, s.end)));
      return new Series(Int32Array.from(items), (index) => this.facts.position({ kind: "event", index }, axis), (index) => this.facts.kindOf({ kind: "event", index }));
    });
  }

  private cached(key: string, make: () => Series): Series {
    let series = this.series.get(key);
    if (!series) this.series.set(key, series = make());
    return series;
  }

  private items(lane: Lane): Int32Array {
    const { data } = this;
    const where = <T>(all: T[], wanted: (one: T) => boolean) => Int32Array.from(all.flatMap((one, i) => (wanted(one) ? [i] : [])));
    switch (lane.kind) {
      case "marks": return range(0, data.marks.length);
      case "faults": return range(0, data.faults.length);
      case "etcd": return range(0, data.changes.length);
      case "leader": return range(0, data.leaders.length);
      case "window": return Int32Array.from(this.facts.windowsOf.get(lane.server)!);
      // Lists of an exact version, and later pages, are as old as they were asked to be.
      // A get answers with the version of its object, which says nothing of the cache unless there was a newer one.
      case "server": return where(data.operations, (op) => op.server === lane.server && (tellsFreshness(op) || this.facts.outdatedBy(op) >= 0));
      case "client": {
        const refused = this.streamsOf.get(lane.client)!.filter((s) => s.error !== "").map((s) => ~s.index);
        return Int32Array.from([...where(data.operations, (op) => op.client === lane.client), ...refused]);
      }
      case "stream": return range(lane.stream!.first, lane.stream!.end);
      case "owed": {
        const owed = new Set(lane.owed!.versions);
        return where(data.changes, (change) => owed.has(change.version));
      }
    }
  }
}

/** Whether an answer is a list as new as the server could make it. */
export function tellsFreshness(op: Operation): boolean { return op.kind === "list" && op.match !== "Exact" && op.continues === 0; }

function brief(query: string): string { return query.replace(/^all objects/, "all").replace(/^namespace ([^,]*)/, "$1/*"); }

/** What a stream asked for. */
export function asked(data: Data, s: Stream): string {
  const rv = data.versions[s.version];
  return (rv === "-1" ? "no RV" : `from RV ${rv}`) + (s.initialEvents ? ", initial events" : "");
}

export function counted(n: number, of: string): string { return `${n.toLocaleString("en-GB")} ${of}${n === 1 ? "" : "s"}`; }

function verdictNote(data: Data): string {
  const broken = data.marks.filter((m) => m.breaks).length;
  return broken > 0 ? counted(broken + data.left, "violation") : counted(data.marks.length, "observation");
}

/** Packs faults into rows: the row of each, and how many there are. */
function packed(data: Data): [number[], number] {
  const ends: number[] = [], rows: number[] = [];
  // A name needs room even where its fault is short.
  const room = data.end / 9;
  data.faults.map((f, i) => ({ f, i })).sort((a, b) => a.f.begin - b.f.begin).forEach(({ f, i }) => {
    let row = ends.findIndex((end) => end <= f.begin);
    if (row < 0) row = ends.length < 5 ? ends.length : ends.indexOf(Math.min(...ends));
    ends[row] = Math.max(f.end, f.begin + room);
    rows[i] = row;
  });
  return [rows, Math.max(1, ends.length)];
}
