// The panel beside the lanes: the verdict, one violation with what was expected beside
// what was received, or whatever is selected.

import { Data, Mark } from "./data";
import { button, byId, definitions, el } from "./dom";
import { Facts } from "./facts";
import { Ref } from "./series";
import { codes, exact, Words } from "./words";

export interface Actions {
  select(ref: Ref): void;
  mark(index: number): void;
  home(): void;
}

/** How many rows of expected and received are shown, around those that differ. */
const around = 6;

export class Details {
  private readonly panel = byId("details");

  constructor(private readonly data: Data, private readonly facts: Facts, private readonly words: Words, private readonly actions: Actions) {}

  /** What is shown when nothing is selected. */
  home(): void {
    const { data } = this, outcome = data.outcome || "not judged";
    const children: Node[] = [el("h2", {}, "Verdict"), el("p", { class: `outcome ${data.outcome}` }, outcome.toUpperCase())];
    if (data.reason !== "") children.push(el("p", {}, data.reason));
    if (data.marks.length > 0) {
      const list = el("ol", { class: "found" });
      data.marks.forEach((mark, index) => {
        const item = button("", {}, () => this.actions.mark(index));
        item.append(el("b", mark.breaks ? { class: "breaks" } : {}, mark.name), el("span", {}, ` ${mark.plain}`));
        list.append(el("li", {}, item));
      });
      children.push(list);
    }
    if (data.left > 0) children.push(el("p", {}, `${data.left} more are left out.`));
    const about: [string, string][] = [...data.about, ["length", exact(data.end)], ["events", data.events.count.toLocaleString("en-GB")],
      ["streams", data.streams.length.toLocaleString("en-GB")], ["operations", data.operations.length.toLocaleString("en-GB")],
      ["etcd", data.known ? `${data.changes.length.toLocaleString("en-GB")} changes, last revision ${data.versions[data.revision]}` : "not recorded"]];
    children.push(el("h2", {}, "History"), definitions(about));
    for (const link of data.links) children.push(el("p", {}, el("a", { class: "page", href: link.file }, link.text)));
    children.push(el("h2", {}, "Legend"), byId<HTMLTemplateElement>("legend").content.cloneNode(true) as Node);
    this.panel.replaceChildren(...children);
  }

  show(ref: Ref): void {
    if (ref.kind === "mark") return this.mark(ref.index);
    const children: Node[] = [this.back(), el("h2", {}, this.words.line(ref)), definitions(this.words.rows(ref))];
    for (const [text, to] of this.related(ref)) children.push(el("p", {}, button(text, { class: "related" }, () => this.actions.select(to))));
    this.panel.replaceChildren(...children);
  }

  private back(): HTMLElement { return button("← Verdict", { class: "back" }, () => this.actions.home()); }

  /** What else is worth a look. */
  private related(ref: Ref): [string, Ref][] {
    const { data, facts } = this, found: [string, Ref][] = [];
    const changeAt = (version: number) => data.changes.findIndex((c) => c.version === version);
    if (ref.kind === "event") {
      found.push([`stream ${data.streams[data.events.stream[ref.index]].id}`, { kind: "stream", index: data.events.stream[ref.index] }]);
      const change = changeAt(data.events.version[ref.index]);
      if (change >= 0 && data.events.object[ref.index] !== 0) found.push([`the change at RV ${this.words.version(data.events.version[ref.index])}`, { kind: "change", index: change }]);
    }
    if (ref.kind === "change") {
      const { author, version } = data.changes[ref.index];
      if (author >= 0) found.push([`${data.operations[author].kind} by ${data.operations[author].client}`, { kind: "operation", index: author }]);
      let shown = 0;
      for (let i = 0; i < data.events.count && shown < 8; i++) {
        if (data.events.version[i] !== version || data.events.object[i] === 0) continue;
        found.push([`${data.events.type[i]} on stream ${data.streams[data.events.stream[i]].id} at ${exact(data.events.time[i])}`, { kind: "event", index: i }]);
        shown++;
      }
    }
    if (ref.kind === "stream") {
      const s = data.streams[ref.index], before = facts.stream(s.resumesStream), list = facts.operation(s.resumesList);
      if (before >= 0) found.push([`stream ${s.resumesStream}, before it`, { kind: "stream", index: before }]);
      if (list >= 0) found.push([`the list of operation ${s.resumesList}`, { kind: "operation", index: list }]);
      const next = data.streams.find((other) => other.resumesStream === s.id);
      if (next) found.push([`stream ${next.id}, which goes on from it`, { kind: "stream", index: next.index }]);
    }
    return found;
  }

  private mark(index: number): void {
    const { data } = this, mark = data.marks[index];
    const children: Node[] = [el("h2", { class: mark.breaks ? "plain breaks" : "plain" }, mark.plain),
      el("p", { class: "which" }, this.back(), ` ${mark.breaks ? "violation" : "observation"} ${index + 1} of ${data.marks.length}: ${mark.name}`),
      el("p", { class: "text" }, mark.text.replace(`${mark.name}: ${mark.plain}; `, ""))];
    children.push(...this.sideBySide(mark));
    for (const paragraph of mark.explanation) children.push(el("p", {}, paragraph));
    const links: [string, Ref][] = [
      ...mark.events.slice(0, 12).map((event): [string, Ref] => [this.words.line({ kind: "event", index: event }), { kind: "event", index: event }]),
      ...mark.operations.slice(0, 12).map((op): [string, Ref] => [`operation ${data.operations[op].id}: ${this.words.line({ kind: "operation", index: op })}`, { kind: "operation", index: op }]),
    ];
    if (mark.stream >= 0) links.unshift([`stream ${data.streams[mark.stream].id}`, { kind: "stream", index: mark.stream }]);
    if (links.length > 0) children.push(el("h3", {}, "Witness"));
    for (const [text, ref] of links) children.push(el("p", {}, button(text, { class: "related" }, () => this.actions.select(ref))));
    this.panel.replaceChildren(...children);
  }

  /** What was expected beside what was received: changes of a stream, or items of a list. */
  private sideBySide(mark: Mark): Node[] {
    const { data } = this;
    if (mark.owed.length + mark.came.length > 0) {
      const rows = new Map<string, [string, string]>();
      mark.owed.forEach((item) => rows.set(data.key(item.object), [`RV ${this.words.version(item.version)}`, "—"]));
      mark.came.forEach((item) => {
        const key = data.key(item.object), row = rows.get(key) ?? ["—", "—"];
        rows.set(key, [row[0], `RV ${this.words.version(item.version)}`]);
      });
      return [this.table(["object", "was stored", "was listed"], [...rows].slice(0, 50).map(([key, [owed, came]]) => [key, owed, came, "differs"]))];
    }
    const owed = mark.stream < 0 ? undefined : data.owed.get(mark.stream);
    if (!owed) return [];
    const stream = data.streams[mark.stream], wanted = new Set(mark.versions.concat(mark.events.map((event) => data.events.version[event])));
    // Both sides in order of versions, those around what the violation is about.
    const sides = new Map<number, [string, string, boolean]>();
    owed.versions.forEach((version, i) => sides.set(version, [`${owed.types[i]} ${data.key(owed.objects[i])}`, "—", mark.versions.includes(version)]));
    for (let i = stream.first; i < stream.end; i++) {
      const version = data.events.version[i], failed = data.events.failed.get(i);
      if (data.rv[version] <= 0 && !failed) continue;
      const came = failed ? `${data.events.type[i]} ${codes[failed.error] ?? failed.error}` : data.events.type[i] + (data.events.object[i] === 0 ? "" : ` ${data.key(data.events.object[i])}`);
      const row = sides.get(version);
      const text = `${came}, ${data.events.time[i].toFixed(3)}\u00a0s`;
      if (row) row[1] = row[1] === "—" ? text : `${row[1]}; ${text}`;
      else sides.set(version, ["—", text, wanted.has(version)]);
    }
    const versions = [...sides.keys()].sort((a, b) => a - b);
    const centre = versions.findIndex((version) => mark.versions.includes(version));
    const kept = centre >= 0 ? versions.slice(Math.max(0, centre - around), centre + around + 1) : versions.slice(-around * 2);
    const rows = kept.map((version) => {
      const [left, right, concerned] = sides.get(version)!;
      return [this.words.version(version), left, right, concerned ? (right === "—" ? "missing" : "differs") : ""];
    });
    return [this.table(["RV", "expected", "received"], rows)];
  }

  /** Rows end with what is wrong with them, if anything is. */
  private table(heads: string[], rows: string[][]): HTMLElement {
    const head = el("tr", {}, ...heads.map((text) => el("th", { scope: "col" }, text)));
    const body = rows.map((row) => {
      const wrong = row[row.length - 1], cells = row.slice(0, -1).map((text) => el("td", {}, text));
      if (wrong === "") return el("tr", {}, ...cells);
      cells[cells.length - 1].append(el("em", {}, wrong === "missing" ? " never received" : ""));
      return el("tr", { class: "wrong" }, ...cells);
    });
    return el("table", { class: "sides" }, el("caption", {}, "Expected and received"), el("thead", {}, head), el("tbody", {}, ...body));
  }
}
