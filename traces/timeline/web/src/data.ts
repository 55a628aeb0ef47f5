// The data of the page, decoded: typed arrays for what there is much of, and
// plain objects for the rest. Its other half is data.go and requests.go.

import { Scale } from "./scale";

/** What Go writes. Columns that are empty may be null. */
interface Raw {
  version: number;
  title: string;
  about: [number, number][] | null;
  links: { file: string; text: string }[] | null;
  outcome: string;
  reason: number;
  known: boolean;
  healed: number;
  end: number;
  revision: number;
  texts: string[];
  versions: string[];
  objects: { key: number[]; value: number[]; labels: number[]; node: number[]; uid: number[] };
  servers: number[];
  clients: number[];
  changes: Record<string, number[] | null>;
  compactions: { version: number; time: number }[] | null;
  faults: { name: number; note: number; begin: number; end: number; processes: number[] | null }[] | null;
  operations: Record<string, unknown[] | null>;
  streams: Record<string, unknown[] | null>;
  events: Record<string, number[] | null>;
  leaders: { time: number; member: number; term: number }[] | null;
  windows: Record<string, number[] | null>;
  marks: RawMark[] | null;
  left: number;
  owed: { stream: number; types: string[]; versions: number[]; objects: number[]; cut: boolean }[] | null;
}

interface RawMark {
  breaks: boolean;
  name: string;
  plain: number;
  text: number;
  explanation: number[] | null;
  client: number;
  server: number;
  stream: number;
  operations: number[] | null;
  events: number[] | null;
  versions: number[] | null;
  time: number;
  at: number;
  owed: Item[] | null;
  came: Item[] | null;
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
  type: (i: number) => string;
  stream: Int32Array;
  initialEnd: Set<number>;
  failed: Map<number, { error: string; message: string }>;
}

/** What can be drawn differently. The last two are of operations alone. */
export const kinds = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "other", "read", "write"] as const;
export const Added = 0, Modified = 1, Deleted = 2, Bookmark = 3, Failed = 4, Other = 5, Read = 6, Write = 7;

export class Data {
  readonly title: string;
  readonly about: [string, string][];
  readonly links: { file: string; text: string }[];
  readonly outcome: string;
  readonly reason: string;
  readonly known: boolean;
  readonly healed: number;
  readonly end: number;
  readonly revision: number;
  readonly versions: string[];
  /** The positions of the versions, which are exact up to 2^53 only. */
  readonly rv: Float64Array;
  readonly scale: Scale;
  readonly servers: string[];
  readonly clients: string[];
  readonly changes: Change[];
  readonly compactions: { version: number; time: number }[];
  readonly faults: Fault[];
  readonly operations: Operation[];
  readonly streams: Stream[];
  readonly events: Events;
  readonly leaders: Leader[];
  readonly windows: Window[];
  readonly marks: Mark[];
  readonly left: number;
  readonly owed: Map<number, Owed>;
  private readonly texts: string[];
  private readonly objects: Raw["objects"];

  constructor(raw: Raw) {
    if (raw.version !== 2) throw new Error(`expected data of version 2, found version ${raw.version}`);
    const text = (i: number) => raw.texts[i];
    this.texts = raw.texts;
    this.objects = raw.objects;
    this.title = raw.title;
    this.about = (raw.about ?? []).map(([name, value]) => [text(name), text(value)]);
    this.links = raw.links ?? [];
    this.outcome = raw.outcome;
    this.reason = text(raw.reason);
    this.known = raw.known;
    this.healed = seconds(raw.healed);
    this.end = seconds(raw.end);
    this.revision = raw.revision;
    this.versions = raw.versions;
    const versions = Float64Array.from(raw.versions, Number);
    this.scale = new Scale(versions);
    this.rv = versions.map((rv) => this.scale.place(rv));
    this.servers = raw.servers.map(text);
    this.clients = raw.clients.map(text);
    this.changes = decodeChanges(raw);
    this.compactions = (raw.compactions ?? []).map((c) => ({ version: c.version, time: seconds(c.time) }));
    this.faults = (raw.faults ?? []).map((f) => ({
      name: text(f.name), note: text(f.note), begin: seconds(f.begin), end: seconds(f.end), processes: (f.processes ?? []).map(text),
    }));
    this.operations = decodeOperations(raw);
    this.streams = decodeStreams(raw);
    this.events = decodeEvents(raw, this.streams);
    this.leaders = (raw.leaders ?? []).map((l) => ({ time: seconds(l.time), member: text(l.member), term: l.term }));
    this.windows = decodeWindows(raw);
    this.marks = (raw.marks ?? []).map((m) => ({
      breaks: m.breaks, name: m.name, plain: text(m.plain), text: text(m.text), explanation: (m.explanation ?? []).map(text), client: text(m.client),
      server: text(m.server), stream: m.stream, operations: m.operations ?? [], events: m.events ?? [], versions: m.versions ?? [],
      time: seconds(m.time), at: m.at, owed: m.owed ?? [], came: m.came ?? [],
    }));
    this.left = raw.left;
    this.owed = new Map((raw.owed ?? []).map((o) => [o.stream, { ...o, types: o.types ?? [], versions: o.versions ?? [], objects: o.objects ?? [] }]));
  }

  /** The namespace and name of an object. */
  key(object: number): string { return this.texts[this.objects.key[object]]; }
  keyText(object: number): number { return this.objects.key[object]; }

  /** An object as rows of a table. */
  fields(object: number): [string, string][] {
    const rows: [string, string][] = [["object", this.key(object)]];
    for (const [name, column] of [["value", this.objects.value], ["labels", this.objects.labels], ["spec.nodeName", this.objects.node], ["uid", this.objects.uid]] as const) {
      if (column[object] !== 0) rows.push([name, this.texts[column[object]]]);
    }
    return rows;
  }

  /** All texts that contain a string, whatever the case. */
  textsWith(part: string): Set<number> {
    const found = new Set<number>();
    const lower = part.toLowerCase();
    this.texts.forEach((text, i) => { if (text.toLowerCase().includes(lower)) found.add(i); });
    return found;
  }

  /** Whether an object's name, value, labels, node or UID is among some texts. */
  objectWithin(object: number, texts: Set<number>): boolean {
    const o = this.objects;
    return object !== 0 && (texts.has(o.key[object]) || texts.has(o.value[object]) || texts.has(o.labels[object]) ||
      texts.has(o.node[object]) || texts.has(o.uid[object]));
  }
}

const seconds = (nanoseconds: number) => (nanoseconds < 0 ? -1 : nanoseconds / 1e9);

function decodeChanges(raw: Raw): Change[] {
  const c = raw.changes, deleted = new Set(c.deleted ?? []);
  let version = 0, from = 0;
  return (c.versionSteps ?? []).map((step, i) => {
    version += step;
    from += c.fromSteps![i];
    return { version, object: c.object![i], deleted: deleted.has(i), from: seconds(from), by: seconds(from + c.lasted![i]), author: c.author![i] };
  });
}

function decodeWindows(raw: Raw): Window[] {
  const c = raw.windows;
  let time = 0, since = 0, newest = 0;
  return (c.server ?? []).map((server, i) => {
    time += c.timeSteps![i];
    since += c.sinceSteps![i];
    newest += c.newestSteps![i];
    return { time: seconds(time), server: raw.texts[server], filling: c.filling![i], since, newest };
  });
}

function decodeOperations(raw: Raw): Operation[] {
  const c = raw.operations as Record<string, any[]>, more = new Set(c.hasMore ?? []);
  let call = 0;
  return (c.id ?? []).map((id, i) => {
    call += c.callSteps[i];
    return {
      id, client: raw.texts[c.client[i]], server: raw.texts[c.server[i]], kind: c.kind[i], call: seconds(call),
      end: c.lasted[i] < 0 ? -1 : seconds(call + c.lasted[i]), query: raw.texts[c.query[i]], object: c.object[i],
      precondition: c.precondition[i], version: c.version[i], match: c.match[i], limit: c.limit[i], continues: c.continues[i],
      error: c.error[i], message: raw.texts[c.message[i]], result: c.result[i], count: c.count[i], hasMore: more.has(i),
    };
  });
}

function decodeStreams(raw: Raw): Stream[] {
  const c = raw.streams as Record<string, any[]>;
  let first = 0;
  return (c.id ?? []).map((id, index) => {
    const stream = {
      index, id, client: raw.texts[c.client[index]], server: raw.texts[c.server[index]], call: seconds(c.call[index]),
      opened: seconds(c.return[index]), closed: seconds(c.closed[index]), reason: c.reason[index], query: raw.texts[c.query[index]],
      version: c.version[index], bookmarks: c.bookmarks[index], initialEvents: c.initialEvents[index],
      resumesStream: c.resumesStream[index], resumesList: c.resumesList[index], consumer: raw.texts[c.consumer[index]],
      timeout: seconds(c.timeout[index]), error: c.error[index], message: raw.texts[c.message[index]],
      first, end: first + c.events[index],
    };
    first = stream.end;
    return stream;
  });
}

function decodeEvents(raw: Raw, streams: Stream[]): Events {
  const c = raw.events, steps = c.timeSteps ?? [], count = steps.length;
  const names = (c.types ?? []).map((i) => raw.texts[i]);
  const kindOf = names.map((name) => { const at = kinds.indexOf(name as (typeof kinds)[number]); return at < 0 || at > Failed ? Other : at; });
  const events: Events = {
    count, time: new Float64Array(count), version: new Int32Array(count), object: Int32Array.from(c.object ?? []),
    kind: new Uint8Array(count), type: (i) => names[c.type![i]], stream: new Int32Array(count),
    initialEnd: new Set(c.initialEnd ?? []), failed: new Map(),
  };
  let time = 0, version = 0;
  for (let i = 0; i < count; i++) {
    time += steps[i];
    version += c.versionSteps![i];
    events.time[i] = time / 1e9;
    events.version[i] = version;
    events.kind[i] = kindOf[c.type![i]];
  }
  for (const s of streams) events.stream.fill(s.index, s.first, s.end);
  (c.failed ?? []).forEach((at, i) => events.failed.set(at, { error: raw.texts[c.error![i]], message: raw.texts[c.message![i]] }));
  return events;
}

/** Reads the data out of the page. */
export async function load(): Promise<Data> {
  const packed = atob(document.getElementById("data")!.textContent!.trim());
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Data(JSON.parse(await new Response(inflated).text()));
}
