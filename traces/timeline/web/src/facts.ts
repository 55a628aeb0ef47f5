// What follows from the history: where each thing stands on either axis, what
// each API server had shown by when, and which streams ended together. Nothing
// here guesses: what the history does not hold is not drawn.

import { Added, Data, Deleted, Failed, Modified, Mark, Operation, Other, Read, Stream, Write } from "./data";
import { Frontier, Ref } from "./series";

export type Axis = "time" | "rv";

/** Streams of one server that ended at once, none by its client's doing, while none stayed open. */
export interface Ended {
  server: string;
  time: number;
  streams: number[];
}

/** How close ends of streams must be to count as one, in seconds. */
const together = 0.5;

export class Facts {
  /** The newest version that anybody had been told of. */
  readonly etcd = new Frontier();
  /** The newest version that a server had shown to anybody, since it last started. */
  readonly shown = new Map<string, Frontier>();
  /** The same without restarts: when it first showed a version. */
  readonly first = new Map<string, Frontier>();
  /** Versions that a server had answered 410 to, the highest so far. */
  readonly gone = new Map<string, Frontier>();
  readonly ended: Ended[];
  /** The members of etcd that ever led. */
  readonly members: string[];
  /** The windows of each server, in order of time. */
  readonly windowsOf = new Map<string, number[]>();
  /** The versions that events have on the RV axis: those of their own, or of what came before. */
  readonly eventRv: Float64Array;
  /** The ends of the axes, in seconds and in versions. */
  readonly domain: Record<Axis, [number, number]>;
  private readonly operationsById = new Map<number, number>();
  private readonly streamsById = new Map<number, number>();

  constructor(readonly data: Data) {
    this.created = this.findCreated();
    this.changesOf = this.groupChanges();
    this.domain = { time: [0, Math.max(data.end, 1e-3)], rv: this.versionsShown() };
    data.operations.forEach((op, i) => this.operationsById.set(op.id, i));
    data.streams.forEach((s, i) => this.streamsById.set(s.id, i));
    this.advance();
    this.eventRv = this.placeEvents();
    this.ended = this.endedTogether();
    this.members = [...new Set(data.leaders.map((l) => l.member))].filter((m) => m !== "").sort();
    data.servers.forEach((server) => this.windowsOf.set(server, []));
    data.windows.forEach((window, i) => this.windowsOf.get(window.server)!.push(i));
    this.refused();
  }

  operation(id: number): number { return this.operationsById.get(id) ?? -1; }
  stream(id: number): number { return this.streamsById.get(id) ?? -1; }

  private versionsShown(): [number, number] {
    const { data } = this;
    let low = Infinity, high = -Infinity;
    const most = data.known ? data.rv[data.revision] : Infinity;
    const add = (version: number) => {
      const rv = data.rv[version];
      if (rv <= 0 || rv > most) return;
      low = Math.min(low, rv);
      high = Math.max(high, rv);
    };
    data.changes.forEach((c) => add(c.version));
    data.operations.forEach((op) => add(op.result));
    for (let i = 0; i < data.events.count; i++) add(data.events.version[i]);
    if (data.known) add(data.revision);
    return low <= high ? [low - 1, high + 1] : [0, 1];
  }

  /** Goes through all that clients were told, in order of time. */
  private advance(): void {
    const { data } = this, { events, operations } = data;
    const count = events.count + operations.length;
    const time = new Float64Array(count);
    time.set(events.time);
    operations.forEach((op, i) => { time[events.count + i] = op.end; });
    const order = Uint32Array.from(time, (_, i) => i).sort((a, b) => time[a] - time[b]);
    for (const server of data.servers) {
      this.shown.set(server, new Frontier());
      this.first.set(server, new Frontier());
    }
    const restarts = this.restarts();
    const most = data.known ? data.rv[data.revision] : Infinity;
    for (const i of order) {
      while (restarts.length > 0 && restarts[0].time <= time[i]) {
        const { server, time: at } = restarts.shift()!;
        this.shown.get(server)?.restart(at);
      }
      const op = i < events.count ? undefined : operations[i - events.count];
      if (op && (op.end < 0 || op.error !== "" || op.kind === "create" || op.kind === "update" || op.kind === "delete")) {
        // A write's result comes from etcd itself, and says nothing of the cache.
        if (op.end >= 0 && op.error === "" && data.rv[op.result] <= most) this.etcd.add(op.end, data.rv[op.result]);
        continue;
      }
      const rv = data.rv[op ? op.result : events.version[i]];
      if (rv <= 0 || rv > most) continue;
      this.etcd.add(time[i], rv);
      // A read without a version is answered from the newest state, by etcd or after waiting for the cache.
      const server = op ? op.server : data.streams[events.stream[i]].server;
      this.shown.get(server)!.add(time[i], rv);
      this.first.get(server)!.add(time[i], rv);
    }
  }

  /** When servers came back, by what the faults say. */
  private restarts(): { server: string; time: number }[] {
    return this.data.faults.filter((f) => f.name.startsWith("apiserver-"))
      .flatMap((f) => f.processes.map((server) => ({ server, time: f.end })))
      .sort((a, b) => a.time - b.time);
  }

  private placeEvents(): Float64Array {
    const { data } = this, { events } = data, [low, high] = this.domain.rv;
    const placed = new Float64Array(events.count);
    for (const s of data.streams) {
      let last = Math.max(low, data.rv[s.version]);
      for (let i = s.first; i < s.end; i++) {
        if (data.rv[events.version[i]] > 0) last = data.rv[events.version[i]];
        placed[i] = Math.min(Math.max(last, low), high);
      }
    }
    return placed;
  }

  private endedTogether(): Ended[] {
    const found: Ended[] = [];
    for (const server of this.data.servers) {
      const streams = this.data.streams.filter((s) => s.server === server && s.error === "");
      const ends = streams.filter((s) => s.closed >= 0 && s.reason !== "client").sort((a, b) => a.closed - b.closed);
      for (let i = 0; i < ends.length;) {
        let next = i + 1;
        while (next < ends.length && ends[next].closed - ends[i].closed <= together) next++;
        const begin = ends[i].closed, end = ends[next - 1].closed;
        const survived = streams.some((s) => s.opened >= 0 && s.opened < begin && (s.closed < 0 || s.closed > end));
        if (next - i > 1 && !survived) found.push({ server, time: begin, streams: ends.slice(i, next).map((s) => s.index) });
        i = next;
      }
    }
    return found.sort((a, b) => a.time - b.time);
  }

  private refused(): void {
    const { data } = this;
    const all = [
      ...data.streams.filter((s) => s.error === "Expired").map((s) => ({ server: s.server, time: s.opened, rv: data.rv[s.version] })),
      ...data.operations.filter((op) => op.error === "Expired" && op.continues === 0)
        .map((op) => ({ server: op.server, time: op.end, rv: data.rv[op.version] })),
    ].filter((r) => r.rv > 0 && r.time >= 0).sort((a, b) => a.time - b.time);
    data.servers.forEach((server) => this.gone.set(server, new Frontier()));
    for (const r of all) this.gone.get(r.server)!.add(r.time, r.rv);
  }

  /** When a version was first known, -1 if never. */
  timeOf(rv: number): number { return this.etcd.timeOf(rv); }

  /** Where something stands on an axis. */
  position(ref: Ref, axis: Axis): number {
    const { data } = this, i = ref.index;
    switch (ref.kind) {
      case "event": return axis === "time" ? data.events.time[i] : this.eventRv[i];
      case "change": return axis === "time" ? data.changes[i].by : data.rv[data.changes[i].version];
      case "operation": return axis === "time" ? this.operationTime(data.operations[i]) : this.operationRv(data.operations[i]);
      case "stream": return this.streamSpan(data.streams[i], axis)[0];
      case "fault": return axis === "time" ? data.faults[i].begin : this.rvAt(data.faults[i].begin);
      case "compaction": return axis === "rv" ? data.rv[data.compactions[i].version] : this.compactionTime(i);
      case "mark": return axis === "time" ? data.marks[i].time : this.markRv(data.marks[i]);
      case "ended": return axis === "time" ? this.ended[i].time : this.rvAt(this.ended[i].time);
      case "leader": return axis === "time" ? data.leaders[i].time : this.rvAt(data.leaders[i].time);
      case "window": return axis === "time" ? data.windows[i].time : data.windows[i].filling > 0 ? data.rv[data.windows[i].newest] : this.rvAt(data.windows[i].time);
    }
  }

  operationTime(op: Operation): number { return op.end >= 0 ? op.end : op.call; }

  operationRv(op: Operation): number {
    const { data } = this, [low, high] = this.domain.rv;
    const rv = data.rv[op.result] > 0 ? data.rv[op.result] : data.rv[op.version] > 0 ? data.rv[op.version] : this.etcd.at(op.call);
    return Math.min(Math.max(rv, low), high);
  }

  /** A compaction without a time is put where its version was first known. */
  compactionTime(i: number): number {
    const { time, version } = this.data.compactions[i];
    return time >= 0 ? time : Math.max(0, this.timeOf(this.data.rv[version]));
  }

  markRv(mark: Mark): number {
    const rv = this.data.rv[mark.at], [low, high] = this.domain.rv;
    return rv > 0 ? Math.min(Math.max(rv, low), high) : this.rvAt(mark.time);
  }

  /** The version that etcd is known to have reached at a time, on the RV axis. */
  rvAt(time: number): number { return Math.max(this.etcd.at(time), this.domain.rv[0]); }

  /** Where a stream begins and ends on an axis. */
  streamSpan(s: Stream, axis: Axis): [number, number] {
    if (axis === "time") {
      const begin = s.opened >= 0 ? s.opened : s.call;
      return [Math.min(begin, s.end > s.first ? this.data.events.time[s.first] : begin), s.error !== "" ? begin : s.closed >= 0 ? s.closed : this.data.end];
    }
    let low = this.data.rv[s.version], high = low;
    if (low <= 0) low = high = Infinity;
    for (let i = s.first; i < s.end; i++) {
      low = Math.min(low, this.eventRv[i]);
      high = high === Infinity ? this.eventRv[i] : Math.max(high, this.eventRv[i]);
    }
    const fallback = this.rvAt(s.call);
    return low === Infinity ? [fallback, fallback] : [Math.min(low, this.domain.rv[1]), Math.min(high, this.domain.rv[1])];
  }

  /** Whether a window is the first of its filling. */
  begun(i: number): boolean {
    const { windows } = this.data, window = windows[i], before = windows[i - 1];
    return window.filling > 0 && (before?.server !== window.server || before.filling !== window.filling);
  }

  /** When the next leader or window of the same kind took the place of one. */
  until(ref: Ref): number {
    const { data } = this, i = ref.index;
    if (ref.kind === "leader") return data.leaders[i + 1]?.time ?? data.end;
    return data.windows[i + 1]?.server === data.windows[i].server ? data.windows[i + 1].time : data.end;
  }

  /** When the cache of a server first held a version, and when it last did; -1 if never. */
  heldBetween(server: string, rv: number): [number, number] {
    const { data } = this;
    let from = -1, to = -1;
    for (const i of this.windowsOf.get(server)!) {
      const { filling, since, newest, time } = data.windows[i];
      if (filling === 0 || data.rv[since] >= rv || data.rv[newest] < rv) continue;
      if (from < 0) from = time;
      to = this.until({ kind: "window", index: i });
    }
    return [from, to];
  }

  /** The first change that made a get's answer out of date and was known before it was asked, -1 if there is none. */
  outdatedBy(op: Operation): number {
    if (op.kind !== "get" || op.error !== "" || op.end < 0) return -1;
    const rv = this.data.rv[op.result];
    return (this.changesOf.get(op.query) ?? []).find((i) => {
      const change = this.data.changes[i];
      return this.data.rv[change.version] > rv && change.by < op.call;
    }) ?? -1;
  }

  /** The changes of each object, by its name. */
  private readonly changesOf: Map<string, number[]>;
  private groupChanges(): Map<string, number[]> {
    const groups = new Map<string, number[]>();
    this.data.changes.forEach((change, i) => {
      const key = this.data.key(change.object), group = groups.get(key);
      if (group) group.push(i);
      else groups.set(key, [i]);
    });
    return groups;
  }

  /** What a change looks like: whether it made, changed or removed its object. */
  changeKind(i: number): number {
    const { changes } = this.data;
    if (changes[i].deleted) return Deleted;
    return this.created.has(i) ? Added : Modified;
  }

  /** The changes that made an object, by going through each object's history. */
  private readonly created: Set<number>;
  private findCreated(): Set<number> {
    const exists = new Set<string>(), created = new Set<number>();
    this.data.changes.forEach((change, i) => {
      const key = this.data.key(change.object);
      if (change.deleted) exists.delete(key);
      else if (!exists.has(key)) {
        exists.add(key);
        created.add(i);
      }
    });
    return created;
  }

  operationKind(i: number): number {
    const op = this.data.operations[i];
    if (op.error !== "" || op.end < 0) return Failed;
    return op.kind === "get" || op.kind === "list" ? Read : Write;
  }

  /** What something looks like. */
  kindOf(ref: Ref): number {
    switch (ref.kind) {
      case "event": return this.data.events.kind[ref.index];
      case "change": return this.changeKind(ref.index);
      case "operation": return this.operationKind(ref.index);
      case "leader": case "window": return Other;
      default: return Failed; // of streams, only those that were refused stand in a series
    }
  }
}
