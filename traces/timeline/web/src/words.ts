// How times, versions and things are put in words: the same in the details, the
// table, the search and the description for screen readers.

import { Data } from "./data";
import { asked, counted, tellsFreshness } from "./lanes";
import { Facts } from "./facts";
import { Ref } from "./series";

/** A time with as many digits as tell neighbours apart, given the seconds on screen. */
export function clock(time: number, span = 1): string {
  if (time < 0) return "never";
  const digits = Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(Math.max(span, 1e-9)))));
  if (time < 600 || span < 1) return `${time.toFixed(Math.max(digits, 0))} s`;
  const hours = Math.floor(time / 3600), minutes = Math.floor(time / 60) % 60, seconds = time % 60;
  const two = (n: number) => String(n).padStart(2, "0");
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${seconds.toFixed(digits).padStart(digits > 0 ? digits + 3 : 2, "0")}`;
}

export const exact = (time: number) => (time < 0 ? "never" : `${time.toFixed(6)} s`);

/** Labels for where there is much room, and for where there is little. */
export function bothThenFirst(first: string, second: string): string[] { return second === "" ? [first] : [`${first}  ${second}`, first]; }

/** What a request got in place of an answer. */
export const codes: Record<string, string> = {
  Expired: "410 Expired", TooLarge: "RV too large", NotFound: "404 NotFound", AlreadyExists: "409 AlreadyExists", Conflict: "409 Conflict",
  Invalid: "400 Invalid", TooMany: "429 TooMany", Unavailable: "Unavailable", Unknown: "Unknown",
};

const reasons: Record<string, string> = {
  client: "closed by its client", server: "ended by the server", error: "ended after an ERROR event", connection: "connection lost", "": "ended",
};

export class Words {
  constructor(private readonly data: Data, private readonly facts: Facts) {}

  version(index: number): string {
    const text = this.data.versions[index];
    return text === "-1" ? "none" : text;
  }

  /** One line: what it is. */
  line(ref: Ref): string {
    const { data } = this, i = ref.index;
    switch (ref.kind) {
      case "event": {
        const failed = data.events.failed.get(i), type = data.events.type[i];
        if (failed) return `${type} ${codes[failed.error] ?? failed.error} ${failed.message}`.trim();
        const rv = ` at RV ${this.version(data.events.version[i])}`;
        if (data.events.object[i] === 0) return type + rv + (data.events.initialEnd.has(i) ? ", end of the initial events" : "");
        return `${type} ${data.key(data.events.object[i])}${rv}`;
      }
      case "change": {
        const change = data.changes[i];
        return `${["created", "changed", "deleted"][this.facts.changeKind(i)]} ${data.key(change.object)} at RV ${this.version(change.version)}`;
      }
      case "operation": {
        const op = data.operations[i];
        return `${op.kind} ${op.query}${this.request(i)}: ${this.answer(i)}`;
      }
      case "stream": {
        const s = data.streams[i];
        if (s.error !== "") return `watch ${s.id} of ${s.query}, ${asked(data, s)}: refused, ${codes[s.error] ?? s.error}`;
        return `watch ${s.id} of ${s.query}, ${asked(data, s)}: ${counted(s.end - s.first, "event")}, ${this.ending(i)}`;
      }
      case "fault": return `fault ${data.faults[i].name} ${data.faults[i].note}`.trim();
      case "compaction": return `etcd compacted at RV ${this.version(data.compactions[i].version)}`;
      case "mark": return `${data.marks[i].breaks ? "violation of" : "observation:"} ${data.marks[i].name}`;
      case "ended": return `all ${this.facts.ended[i].streams.length} open streams ended, none by its client`;
      case "leader": return data.leaders[i].member === "" ? "no member leads etcd" : `${data.leaders[i].member} leads etcd, term ${data.leaders[i].term}`;
      case "window": {
        const window = data.windows[i];
        if (window.filling === 0) return "the cache is not ready";
        const filled = !this.facts.begun(i) ? "" : window.filling === 1 ? ", filled" : ", refilled";
        return `window from RV ${this.version(window.since)} to RV ${this.version(window.newest)}${filled}`;
      }
    }
  }

  private request(i: number): string {
    const op = this.data.operations[i];
    if (op.kind !== "get" && op.kind !== "list") return "";
    const rv = this.data.versions[op.version];
    return `, ${rv === "-1" ? "no RV" : `RV ${rv}`}${op.match === "" ? "" : ` ${op.match}`}${op.continues > 0 ? `, after page ${op.continues}` : ""}`;
  }

  private answer(i: number): string {
    const op = this.data.operations[i];
    if (op.end < 0) return "no response came";
    if (op.error !== "") return codes[op.error] ?? op.error;
    if (op.kind === "list") return `${counted(op.count, "object")} at RV ${this.version(op.result)}`;
    return this.data.rv[op.result] > 0 ? `RV ${this.version(op.result)}` : "done";
  }

  ending(i: number): string {
    const s = this.data.streams[i];
    return s.closed < 0 ? "open to the end" : `${reasons[s.reason] ?? s.reason} at ${exact(s.closed)}`;
  }

  /** Where it happened, for tables. */
  where(ref: Ref): string {
    const { data } = this, i = ref.index;
    switch (ref.kind) {
      case "event": { const s = data.streams[data.events.stream[i]]; return `${s.client}, stream ${s.id}`; }
      case "stream": return data.streams[i].client;
      case "operation": return data.operations[i].client;
      case "fault": return data.faults[i].processes.join(", ") || "anywhere";
      case "mark": return data.marks[i].client || data.marks[i].server;
      case "ended": return this.facts.ended[i].server;
      case "window": return data.windows[i].server;
      default: return "etcd";
    }
  }

  /** Everything there is to say of it, as rows. */
  rows(ref: Ref): [string, string][] {
    const { data } = this, i = ref.index, rows: [string, string][] = [];
    const add = (name: string, value: string) => { if (value !== "") rows.push([name, value]); };
    switch (ref.kind) {
      case "event": {
        const s = data.streams[data.events.stream[i]], failed = data.events.failed.get(i);
        add("type", data.events.type[i]);
        add("received", exact(data.events.time[i]));
        add("RV", this.version(data.events.version[i]));
        if (data.events.object[i] !== 0) rows.push(...data.fields(data.events.object[i]));
        if (data.events.initialEnd.has(i)) add("marks", "the end of the initial events");
        if (failed) { add("error", codes[failed.error] ?? failed.error); add("message", failed.message); }
        add("on", `${s.client}, stream ${s.id}, ${s.server}`);
        break;
      }
      case "change": {
        const change = data.changes[i], author = change.author < 0 ? null : data.operations[change.author];
        add("revision", this.version(change.version));
        add("committed", change.from === change.by ? `by ${exact(change.by)}` : `between ${exact(change.from)} and ${exact(change.by)}`);
        rows.push(...data.fields(change.object));
        add("written by", author ? `${author.client}, operation ${author.id} (${author.kind})` : "no operation says so");
        break;
      }
      case "operation": {
        const op = data.operations[i];
        add("request", `${op.kind} ${op.query}${this.request(i)}`);
        add("answer", this.answer(i));
        add("message", op.message);
        add("called", exact(op.call));
        add("returned", exact(op.end));
        add("client", op.client);
        add("server", op.server);
        add("operation", String(op.id));
        if (op.limit > 0) add("limit", String(op.limit));
        if (data.rv[op.precondition] > 0) add("requires RV", this.version(op.precondition));
        if (op.hasMore) add("more", "a continue token came back");
        if (op.object !== 0) rows.push(...data.fields(op.object));
        add("freshness", this.freshness(i));
        break;
      }
      case "stream": {
        const s = data.streams[i];
        add("watches", s.query);
        add("asked", asked(data, s) + (s.bookmarks ? ", bookmarks" : ""));
        add("client", s.client);
        add("server", s.server);
        add("opened", s.error === "" ? exact(s.opened) : "refused");
        if (s.error !== "") { add("error", codes[s.error] ?? s.error); add("message", s.message); }
        else add("ended", this.ending(i));
        add("events", (s.end - s.first).toLocaleString("en-GB"));
        if (s.resumesStream > 0) add("goes on from", `stream ${s.resumesStream}`);
        if (s.resumesList > 0) add("goes on from", `the list of operation ${s.resumesList}`);
        add("consumer", s.consumer);
        if (s.timeout > 0) add("timeout", `${s.timeout} s`);
        break;
      }
      case "fault": {
        const fault = data.faults[i];
        add("fault", fault.name);
        add("note", fault.note);
        add("from", exact(fault.begin));
        add("to", exact(fault.end));
        add("acts on", fault.processes.join(", ") || "any process");
        break;
      }
      case "compaction": {
        add("compacted at", `RV ${this.version(data.compactions[i].version)}`);
        add("asked for", data.compactions[i].time < 0 ? "unknown" : exact(data.compactions[i].time));
        break;
      }
      case "ended": {
        const ended = this.facts.ended[i];
        add("server", ended.server);
        add("from", exact(ended.time));
        add("streams", ended.streams.map((s) => data.streams[s].id).join(", "));
        add("so", "it stopped, or its cache was reinitialised: no client closed them, and none stayed open");
        break;
      }
      case "leader": {
        const leader = data.leaders[i];
        add("leader", leader.member === "" ? "none" : leader.member);
        if (leader.term > 0) add("term", String(leader.term));
        add("from", exact(leader.time));
        add("to", exact(this.facts.until(ref)));
        break;
      }
      case "window": {
        const window = data.windows[i];
        add("cache of", window.server);
        if (window.filling === 0) add("holds", "nothing that can be read: the server is down, or its cache is initialising");
        else {
          add("oldest", `a watch can go on from RV ${this.version(window.since)}; one from before gets a 410`);
          add("newest", `everything is known up to RV ${this.version(window.newest)}`);
          add("filled", window.filling === 1 ? "once since the server started" : `${window.filling} times since the server started`);
        }
        add("from", exact(window.time));
        add("to", exact(this.facts.until(ref)));
        break;
      }
      case "mark": break;
    }
    return rows;
  }

  /** How far an answer was behind what clients knew of etcd when they asked. */
  freshness(i: number): string {
    const { data, facts } = this, op = data.operations[i], rv = data.rv[op.result];
    if (op.end < 0 || op.error !== "") return "";
    if (op.kind === "get") {
      const outdated = facts.outdatedBy(op);
      if (outdated < 0) return "";
      const change = data.changes[outdated];
      return `out of date: RV ${this.version(change.version)} of this object was known since ${exact(change.by)}`;
    }
    if (!tellsFreshness(op) || rv <= 0) return "";
    const known = facts.etcd.at(op.call);
    if (known <= rv) return "as new as anything that clients knew of";
    const { scale } = data, missing = Math.round(scale.at(known) - scale.at(rv));
    return `behind: RV ${scale.name(known)} was known then, ${missing.toLocaleString("en-GB")} more, and RV ${scale.name(rv)} out of date since ${exact(facts.timeOf(rv + 1))}`;
  }
}
