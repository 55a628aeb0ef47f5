// The data of the page: typed arrays for what there is much of, and plain objects
// for the rest, as data.go and requests.go write them.

import { Scale } from "./scale";

/** What Go writes. */
interface Raw {
  version: number;
  title: string;
  about: [string, string][];
  links: { file: string; text: string }[];
  outcome: string;
  reason: string;
  known: boolean;
  healed: number;
  end: number;
  revision: number;
  versions: string[];
  objects: State[];
  servers: string[];
  clients: string[];
  changes: Change[];
  compactions: { version: number; time: number }[];
  faults: Fault[];
  operations: Operation[];
  streams: Stream[];
  events: RawEvents;
  leaders: Leader[];
  windows: Window[];
  marks: Mark[];
  left: number;
  owed: Owed[];
}

/** Events as columns. Steps are the differences between neighbours. */
interface RawEvents {
  timeSteps: number[]; // nanoseconds
  type: string[];
  versionSteps: number[];
  object: number[];
  initialEnd: number[];
  failed: Failure[];
}

interface Failure {
  index: number;
  error: string;
  message: string;
}

/** A state of an object, without its version. */
interface State {
  key: string;
  value: string;
  labels: string;
  node: string;
  uid: string;
}

export interface Item {
  object: number;
  version: number;
}

export interface Operation {
  id: number;
  client: string;
  server: string;
  kind: string;
  call: number; // seconds, as all times here
  end: number; // the return, -1 if none came
  query: string;
  object: number;
  precondition: number;
  version: number; // indices into Data.versions, as all versions here
  match: string;
  limit: number;
  continues: number;
  error: string;
  message: string;
  result: number;
  count: number;
  hasMore: boolean;
}

export interface Stream {
  index: number;
  id: number;
  client: string;
  server: string;
  call: number;
  opened: number;
  closed: number; // -1 if it was open at the end
  reason: string;
  query: string;
  version: number;
  bookmarks: boolean;
  initialEvents: boolean;
  resumesStream: number;
  resumesList: number;
  consumer: string;
  timeout: number;
  error: string;
  message: string;
  first: number; // its events are those from first up to end
  end: number;
}

export interface Change {
  version: number;
  object: number;
  deleted: boolean;
  from: number;
  by: number;
  author: number; // the index of an operation, -1 if none
}

export interface Fault {
  name: string;
  note: string;
  begin: number;
  end: number;
  processes: string[];
}

export interface Mark {
  breaks: boolean;
  name: string;
  plain: string;
  text: string;
  explanation: string[];
  client: string;
  server: string;
  stream: number;
  operations: number[];
  events: number[];
  versions: number[];
  time: number;
  at: number;
  owed: Item[];
  came: Item[];
}

export interface Owed {
  stream: number;
  types: string[];
  versions: number[];
  objects: number[];
  cut: boolean;
}

/** Who led etcd from a time on; nobody if the member has no name. */
export interface Leader {
  time: number;
  member: string;
  term: number;
}

/** What the cache of a server held from a time on: changes above since, up to newest. */
export interface Window {
  time: number;
  server: string;
  filling: number; // how often it has been filled, 0 while nothing can be read of it
  since: number;
  newest: number;
}

export interface Events {
  count: number;
  time: Float64Array;
  version: Int32Array;
  object: Int32Array;
  /** An index into kinds: what a mark looks like. */
  kind: Uint8Array;
  /** The name of the type, as it came. */
  type: string[];
  stream: Int32Array;
  initialEnd: Set<number>;
  failed: Map<number, Failure>;
}

/** What can be drawn differently. The last two are of operations alone. */
export const kinds = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "other", "read", "write"] as const;
export const Added = 0, Modified = 1, Deleted = 2, Bookmark = 3, Failed = 4, Other = 5, Read = 6, Write = 7;

// The fields that are as Go writes them.
export interface Data extends Omit<Raw, "events" | "owed"> {}

export class Data {
  /** The positions of the versions, which are exact up to 2^53 only. */
  readonly rv: Float64Array;
  readonly scale: Scale;
  readonly events: Events;
  /** By the index of the stream. */
  readonly owed: Map<number, Owed>;

  constructor(raw: Raw) {
    if (raw.version !== 3) throw new Error(`expected data of version 3, found version ${raw.version}`);
    Object.assign(this, raw);
    const versions = Float64Array.from(raw.versions, Number);
    this.scale = new Scale(versions);
    this.rv = versions.map((rv) => this.scale.place(rv));
    this.events = decodeEvents(raw.events, raw.streams);
    this.owed = new Map(raw.owed.map((owed) => [owed.stream, owed]));
  }

  /** The namespace and name of an object. */
  key(object: number): string { return this.objects[object].key; }

  /** An object as rows of a table. */
  fields(object: number): [string, string][] {
    const { key, value, labels, node, uid } = this.objects[object];
    const rows: [string, string][] = [["value", value], ["labels", labels], ["spec.nodeName", node], ["uid", uid]];
    return [["object", key], ...rows.filter(([, text]) => text !== "")];
  }

  /** The objects whose name, value, labels, node or UID contains a string, whatever the case. */
  objectsWith(part: string): Set<number> {
    const found = new Set<number>(), lower = part.toLowerCase();
    this.objects.forEach((object, i) => { if (Object.values(object).some((text) => text.toLowerCase().includes(lower))) found.add(i); });
    return found;
  }
}

function decodeEvents(raw: RawEvents, streams: Stream[]): Events {
  const count = raw.type.length;
  const events: Events = {
    count, time: new Float64Array(count), version: new Int32Array(count), object: Int32Array.from(raw.object),
    kind: Uint8Array.from(raw.type, kindOf), type: raw.type, stream: new Int32Array(count),
    initialEnd: new Set(raw.initialEnd), failed: new Map(raw.failed.map((failure) => [failure.index, failure])),
  };
  let time = 0, version = 0;
  for (let i = 0; i < count; i++) {
    time += raw.timeSteps[i];
    version += raw.versionSteps[i];
    events.time[i] = time / 1e9;
    events.version[i] = version;
  }
  for (const s of streams) events.stream.fill(s.index, s.first, s.end);
  return events;
}

function kindOf(type: string): number {
  const at = kinds.indexOf(type as (typeof kinds)[number]);
  return at < 0 || at > Failed ? Other : at;
}

/** Reads the data out of the page. */
export async function load(): Promise<Data> {
  const packed = atob(document.getElementById("data")!.textContent!.trim());
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Data(JSON.parse(await new Response(inflated).text()));
}
