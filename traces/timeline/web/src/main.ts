// Joins the parts: what the reader does changes the view, and every change draws
// at most one frame.

import { drawAxis, drawPointer } from "./axis";
import { Data, load } from "./data";
import { Details } from "./details";
import { button, byId, el } from "./dom";
import { Axis, Facts } from "./facts";
import { under } from "./hit";
import { listen } from "./keys";
import { Lane, Lanes } from "./lanes";
import { format, parse } from "./link";
import { Overview } from "./overview";
import { Frame, Scene } from "./paint";
import { positions, search } from "./search";
import { Ref } from "./series";
import { Colours, readColours } from "./shapes";
import { fillTable, onScreen } from "./table";
import { switchTheme, watchTheme } from "./theme";
import { View } from "./view";
import { clock, Words } from "./words";

/** How long after the last change the address, the table and the description follow, in milliseconds. */
const settle = 200;

/** The share of the height that lanes may take which do not scroll. */
const maxPinned = 0.55;

export class Page {
  private readonly facts: Facts;
  private readonly lanes: Lanes;
  private readonly words: Words;
  readonly view: View;
  private readonly details: Details;
  private readonly overview: Overview;
  private readonly canvas = byId<HTMLCanvasElement>("canvas");
  private readonly scroller = byId("scroller");
  private readonly g = this.canvas.getContext("2d", { alpha: false })!;
  private colours: Colours = readColours();
  private selected: Ref | null = null;
  private mark = -1;
  private lane = "";
  private hover = -1;
  private moment = NaN;
  private found: Ref[] = [];
  private foundAt = -1;
  private matches: Float64Array = new Float64Array(0);
  private wanted = false;
  private settling = 0;
  private written = "";

  constructor(private readonly data: Data) {
    this.facts = new Facts(data);
    this.lanes = new Lanes(data, this.facts);
    this.words = new Words(data, this.facts);
    this.view = new View(this.canvas, this.facts);
    this.details = new Details(data, this.facts, this.words, {
      select: (ref) => this.select(ref, true), mark: (index) => this.goToMark(index), home: () => this.unselect(),
    });
    this.overview = new Overview(byId<HTMLCanvasElement>("overview"), data, this.facts, this.view);
    this.view.changed = () => this.draw();
    this.view.dragged = (pixels) => { this.scroller.scrollTop += pixels; };
    this.heading();
    this.labels();
    this.controls();
    this.pointer();
    listen(this.canvas, this);
    new ResizeObserver(() => this.resize()).observe(this.scroller);
    watchTheme(() => this.recolour());
    this.resize();
    this.details.home();
    if (location.hash.length > 1) this.follow();
    else this.goToMark(data.marks.findIndex((mark) => mark.breaks));
    addEventListener("hashchange", () => { if (location.hash !== this.written) this.follow(); });
  }

  private heading(): void {
    const { data } = this;
    document.title = `${data.title} · watchsim timeline`;
    byId("title").textContent = data.title;
    const broken = data.marks.filter((m) => m.breaks).length;
    const verdict = byId("verdict");
    verdict.className = `outcome ${data.outcome}`;
    verdict.textContent = data.outcome === "" ? "not judged" : data.outcome.toUpperCase();
    for (const id of ["previous", "next"]) byId<HTMLButtonElement>(id).hidden = data.marks.length === 0;
    byId("next").textContent = broken > 0 ? `Next violation` : `Next mark`;
  }

  // Lanes have labels of text beside the canvas, one each.
  private labels(): void {
    const labels = this.lanes.all.map((lane) => {
      const name = el("span", { class: "name" }, lane.label), note = el("span", { class: "note" }, lane.note);
      const label = el("li", { class: `label ${lane.kind}`, "data-lane": lane.id, title: `${lane.label} ${lane.note}` });
      if (lane.kind === "client" && this.lanes.foldable(lane.client)) {
        const folded = this.lanes.isFolded(lane.client);
        const fold = button(folded ? "▸" : "▾", { class: "fold", "aria-expanded": String(!folded), "aria-label": `Streams of ${lane.client}` },
          () => this.fold(lane.client, !this.lanes.isFolded(lane.client)));
        label.append(fold);
      }
      label.append(name, note);
      if (lane.kind === "server") label.append(el("span", { class: "note along-time" }, "newest RV shown, below etcd's"), el("span", { class: "note along-rv" }, "delay until each RV was shown"));
      if (lane.kind === "window" && this.facts.windowsOf.get(lane.server)!.length > 0) {
        label.append(el("span", { class: "note along-time" }, "RVs that its cache held, oldest to newest"), el("span", { class: "note along-rv" }, "RVs held, from the beginning down to the end"));
      }
      label.style.top = `${lane.top}px`;
      label.style.height = `${lane.height}px`;
      label.addEventListener("click", () => {
        this.lane = lane.id;
        if (lane.stream) this.select({ kind: "stream", index: lane.stream.index }, false);
        this.draw();
      });
      return label;
    });
    const pinned = this.lanes.all.filter((lane) => this.lanes.isPinned(lane)).length;
    byId("pinned").replaceChildren(...labels.slice(0, pinned));
    byId("pinned").style.height = `${this.lanes.pinned}px`;
    byId("labels").replaceChildren(...labels.slice(pinned));
    byId("rows").style.height = `${Math.max(this.lanes.height, 1)}px`;
  }

  private fold(client: string, folded: boolean): void {
    this.lanes.fold(client, folded);
    this.labels();
    this.draw();
    byId("labels").querySelector<HTMLElement>(`[data-lane="${CSS.escape(`client:${client}`)}"] .fold`)?.focus();
  }

  private controls(): void {
    for (const axis of ["time", "rv"] as const) byId(`axis-${axis}`).addEventListener("click", () => this.setAxis(axis));
    byId("previous").addEventListener("click", () => this.stepMark(-1));
    byId("next").addEventListener("click", () => this.stepMark(1));
    byId("zoom-in").addEventListener("click", () => this.view.zoomBy(2));
    byId("zoom-out").addEventListener("click", () => this.view.zoomBy(0.5));
    byId("zoom-all").addEventListener("click", () => this.view.showAll());
    byId("as-table").addEventListener("click", () => this.toggleTable());
    byId("theme").addEventListener("click", () => this.nextTheme());
    byId("help").addEventListener("click", () => this.showHelp());
    const input = byId<HTMLInputElement>("search");
    input.addEventListener("input", () => this.find(input.value));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.stepFound(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") {
        input.value = "";
        this.find("");
        this.canvas.focus();
      }
    });
    this.scroller.addEventListener("scroll", () => this.draw());
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  /** A wheel scrolls lanes, or zooms where they all fit; with shift, or sideways, it goes along the axis. */
  private wheel(event: WheelEvent): void {
    if (event.ctrlKey || event.metaKey) return; // zooms, in view.ts
    event.preventDefault();
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) this.view.panBy(sideways);
    else this.scroller.scrollTop += event.deltaMode === 1 ? event.deltaY * 20 : event.deltaY;
    this.draw();
  }

  private pointer(): void {
    const { canvas } = this, tip = byId("tip");
    const at = (event: MouseEvent): { ref: Ref | null; lane: Lane | undefined; x: number } => {
      const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top, scroll = this.scroller.scrollTop;
      const lane = this.lanes.at(y, scroll);
      if (!lane) return { ref: null, lane, x };
      return { ref: under(this.lanes, this.facts, this.view.axis, lane, this.view.x.invert(x), y - this.lanes.screenTop(lane, scroll), this.view.width / this.view.span), lane, x };
    };
    canvas.addEventListener("pointermove", (event) => {
      const { ref, x } = at(event);
      this.hover = x;
      tip.hidden = ref === null || event.buttons !== 0;
      if (ref) {
        tip.textContent = `${clock(this.facts.position(ref, "time"), this.view.axis === "time" ? this.view.span : 1)}  ${this.words.line(ref)}`;
        const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
        tip.style.transform = `translate(${left}px, ${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8)}px)`;
      }
      canvas.style.cursor = ref ? "pointer" : "";
      this.draw();
    });
    canvas.addEventListener("pointerleave", () => {
      this.hover = -1;
      tip.hidden = true;
      this.draw();
    });
    canvas.addEventListener("click", (event) => {
      const { ref, lane } = at(event);
      if (lane) this.lane = lane.id;
      if (ref?.kind === "mark") this.goToMark(ref.index);
      else if (ref) this.select(ref, false);
      else this.unselect();
    });
    canvas.addEventListener("dblclick", (event) => this.view.zoomBy(event.shiftKey ? 0.4 : 2.5, at(event).x));
  }

  /** Zooms around what is selected, if that is on screen. */
  zoom(factor: number): void {
    const { view } = this, x = this.selected ? view.x(this.facts.position(this.selected, view.axis)) : NaN;
    view.zoomBy(factor, x >= 0 && x <= view.width ? x : undefined);
  }

  stepLane(step: number): void {
    const { all } = this.lanes, index = all.findIndex((lane) => lane.id === this.lane);
    const next = all[Math.min(all.length - 1, Math.max(0, index + step))];
    if (!next) return;
    this.lane = next.id;
    this.scrollTo(next);
    this.say(`${next.label} ${next.note}`);
    this.draw();
  }

  /** Goes to the next thing in the lane. */
  stepItem(step: number): void {
    const lane = this.lanes.all.find((one) => one.id === this.lane);
    if (!lane) return this.view.panBy(step * 0.1 * this.view.width);
    const { axis } = this.view;
    const series = lane.kind === "client" && this.lanes.isFolded(lane.client) ? this.lanes.eventsOf(lane.client, axis) : this.lanes.seriesOf(lane, axis);
    const refOf = (item: number): Ref => (series === this.lanes.seriesOf(lane, axis) ? this.lanes.refOf(lane, item) : { kind: "event", index: item });
    const current = series.item.findIndex((item) => refOf(item).kind === this.selected?.kind && refOf(item).index === this.selected.index);
    const [low, high] = this.view.domain;
    const next = current >= 0 ? current + step : step > 0 ? series.from(low) : series.from(high) - 1;
    if (next < 0 || next >= series.length) return;
    this.select(refOf(series.item[next]), true);
  }

  private select(ref: Ref, reveal: boolean): void {
    if (ref.kind === "mark") return this.goToMark(ref.index);
    this.selected = ref;
    const lane = this.lanes.laneOf(ref);
    if (lane && reveal) {
      this.view.reveal(this.facts.position(ref, this.view.axis));
      this.scrollTo(lane);
    }
    if (lane) this.lane = lane.id;
    this.details.show(ref);
    this.say(`${exactly(this.facts.position(ref, "time"))}: ${this.words.line(ref)}`);
    this.draw();
  }

  unselect(): void {
    this.selected = null;
    this.mark = -1;
    this.moment = NaN;
    this.details.home();
    this.draw();
  }

  stepMark(step: number): void {
    const { length } = this.data.marks;
    if (length > 0) this.goToMark(this.mark < 0 ? (step > 0 ? 0 : length - 1) : (this.mark + step + length) % length);
  }

  /** Shows a violation with what belongs to it. */
  private goToMark(index: number, keepView = false): void {
    const mark = this.data.marks[index];
    if (!mark) return;
    this.mark = index;
    this.selected = { kind: "mark", index };
    const lane = this.lanes.laneOf(this.selected);
    if (lane) this.lane = lane.id;
    if (!keepView) {
      const [low, high] = this.around(index);
      this.view.show(low, high);
    }
    if (lane) this.scrollTo(lane);
    this.details.show(this.selected);
    this.say(`${mark.breaks ? "Violation" : "Observation"} ${index + 1} of ${this.data.marks.length}, ${mark.name}: ${mark.plain}`);
    this.draw();
  }

  /** The part of the axis that a violation is about, with some room. */
  private around(index: number): [number, number] {
    const { axis } = this.view, mark = this.data.marks[index], at = this.facts.position({ kind: "mark", index }, axis);
    const all = [at, ...mark.events.slice(0, 4).map((event) => this.facts.position({ kind: "event", index: event }, axis))];
    for (const version of mark.versions.slice(0, 4)) {
      const change = this.data.changes.findIndex((c) => c.version === version);
      if (change >= 0) all.push(this.facts.position({ kind: "change", index: change }, axis));
    }
    const low = Math.min(...all), high = Math.max(...all);
    const room = Math.max((high - low) * 0.35, axis === "time" ? Math.min(1.5, this.data.end * 0.05) : 4);
    return [low - room, high + room];
  }

  setAxis(axis: Axis): void {
    if (axis === this.view.axis) return;
    // What was in the middle stays there.
    const [low, high] = this.view.domain, whole = this.view.span >= (this.view.whole[1] - this.view.whole[0]) * 0.999;
    const convert = (position: number) => (axis === "rv" ? this.facts.rvAt(position) : Math.max(0, this.facts.timeOf(position)));
    this.moment = NaN;
    this.view.setAxis(axis);
    if (whole) this.view.showAll();
    else if (this.mark >= 0) this.view.show(...this.around(this.mark));
    else this.view.show(convert(low), Math.max(convert(high), convert(low) + (axis === "rv" ? 8 : 0.5)));
    this.matches = positions(this.facts, this.found, axis);
    this.draw();
  }

  private find(query: string): void {
    this.found = search(this.data, this.facts, query);
    this.foundAt = -1;
    this.matches = positions(this.facts, this.found, this.view.axis);
    byId("found").textContent = query.trim() === "" ? "" : `${this.found.length.toLocaleString("en-GB")} found`;
    this.draw();
  }

  private stepFound(step: number): void {
    const { length } = this.found;
    if (length === 0) return;
    this.foundAt = this.foundAt < 0 ? (step > 0 ? 0 : length - 1) : (this.foundAt + step + length) % length;
    byId("found").textContent = `${this.foundAt + 1} of ${length.toLocaleString("en-GB")}`;
    this.select(this.found[this.foundAt], true);
  }

  toggleTable(): void {
    const shown = document.body.classList.toggle("table-shown");
    byId("as-table").setAttribute("aria-pressed", String(shown));
    byId("table").hidden = !shown;
    if (shown) this.table();
    this.draw();
  }

  private table(): void { fillTable(this.data, this.facts, this.words, this.view.axis, this.view.domain, (ref) => this.select(ref, false)); }

  nextTheme(): void {
    byId("theme").textContent = `Theme: ${switchTheme()}`;
    this.recolour();
  }

  private recolour(): void {
    this.colours = readColours();
    this.draw();
  }

  showHelp(): void { byId<HTMLDialogElement>("keys").showModal(); }

  private scrollTo(lane: Lane): void {
    const { scroller } = this, room = 40, { pinned } = this.lanes;
    if (this.lanes.isPinned(lane)) return;
    if (lane.top < scroller.scrollTop + pinned + room || lane.top + lane.height > scroller.scrollTop + scroller.clientHeight - room) {
      scroller.scrollTop = lane.top - (scroller.clientHeight + pinned) / 2;
    }
  }

  private resize(): void {
    const width = this.scroller.clientWidth - byId("pinned").offsetWidth, height = this.scroller.clientHeight, ratio = devicePixelRatio;
    if (width <= 0 || height <= 0 || (this.canvas.width === Math.round(width * ratio) && this.canvas.height === Math.round(height * ratio))) return;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const { pinned } = this.lanes;
    this.lanes.pin(height * maxPinned);
    if (pinned !== this.lanes.pinned) this.labels();
    this.view.resize(width, height);
    this.frame(); // at once: a canvas that has another size is empty
  }

  /** Goes where the address says. */
  private follow(): void {
    const address = parse(location.hash);
    const axis = address.axis ?? (Number.isNaN(address.rv) ? "time" : "rv");
    if (location.hash.length > 1) this.setAxis(axis);
    const at = axis === "time" ? address.t : this.data.scale.place(address.rv);
    if (!Number.isNaN(at)) {
      const span = Number.isNaN(address.span) ? Math.min(this.view.span, (this.view.whole[1] - this.view.whole[0]) / 10) : address.span;
      this.view.show(at - span / 2, at + span / 2);
      if (Number.isNaN(address.span)) this.moment = at;
    }
    if (address.violation > 0) this.goToMark(address.violation - 1, !Number.isNaN(at));
    this.draw();
  }

  private draw(): void {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      this.frame();
    });
    clearTimeout(this.settling);
    this.settling = window.setTimeout(() => this.settled(), settle);
  }

  private frame(): void {
    const { view, scroller } = this, ratio = devicePixelRatio;
    const scene: Scene = {
      data: this.data, facts: this.facts, lanes: this.lanes, words: this.words, axis: view.axis, domain: view.domain, width: view.width,
      height: scroller.clientHeight, scroll: scroller.scrollTop, ticks: drawAxis(view, this.data.scale), selected: this.selected, mark: this.mark, lane: this.lane,
      hover: this.hover, moment: this.moment, matches: this.matches,
    };
    this.g.setTransform(ratio, 0, 0, ratio, 0, 0);
    new Frame(this.g, scene, this.colours).paint();
    this.overview.paint(this.colours, ratio, this.mark);
    drawPointer(view, this.facts, this.hover);
    for (const axis of ["time", "rv"]) byId(`axis-${axis}`).setAttribute("aria-pressed", String(axis === view.axis));
    document.documentElement.dataset.axis = view.axis;
    document.documentElement.dataset.mark = String(this.mark + 1);
    document.documentElement.dataset.domain = view.domain.join(" ");
    const { dataset } = document.documentElement;
    dataset.ready ??= String(performance.now());
  }

  /** Once nothing has moved for a while. */
  private settled(): void {
    const { view } = this;
    const hash = format(view.axis, view.domain, this.mark, this.data.scale);
    if (hash !== location.hash) {
      this.written = hash;
      history.replaceState(null, "", hash);
    }
    if (!byId("table").hidden) this.table();
    const [low, high] = view.domain;
    const count = onScreen(this.data, this.facts, view.axis, low, high).length;
    const from = view.axis === "time" ? clock(Math.max(0, low), view.span) : `RV ${Math.max(0, Math.ceil(this.data.scale.at(low)))}`;
    const to = view.axis === "time" ? clock(high, view.span) : `RV ${Math.floor(this.data.scale.at(high))}`;
    byId("range").textContent = `${from} to ${to} · ${count.toLocaleString("en-GB")} records on screen`;
    this.canvas.setAttribute("aria-label", `Timeline of ${this.data.title}, ${byId("range").textContent}. Press t for a table of them, ? for all keys.`);
  }

  private say(text: string): void { byId("status").textContent = text; }
}

const exactly = (time: number) => (time < 0 ? "never" : `${time.toFixed(3)} seconds`);

load().then((data) => new Page(data)).catch((error: unknown) => {
  byId("status").textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  byId("status").className = "failed";
  throw error;
});
