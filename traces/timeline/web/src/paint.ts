// A frame: lanes from top to bottom, then what lies over all of them.

import { Data } from "./data";
import { Axis, Facts } from "./facts";
import { Lane, Lanes } from "./lanes";
import { paintEtcd, paintFaults, paintMarks } from "./paint-top";
import { paintLeader, paintWindow } from "./paint-standing";
import { paintServer } from "./paint-server";
import { paintClient, paintOwed, paintStream } from "./paint-stream";
import { Gap } from "./scale";
import { Ref, Series } from "./series";
import { Colours, hatch, palette, shape } from "./shapes";
import { clock, Words } from "./words";

/** What a frame is drawn from. */
export interface Scene {
  data: Data;
  facts: Facts;
  lanes: Lanes;
  words: Words;
  axis: Axis;
  /** What is on screen of the axis, and how many pixels wide and high the screen is. */
  domain: [number, number];
  width: number;
  height: number;
  scroll: number;
  ticks: number[];
  selected: Ref | null;
  mark: number; // the selected one, -1 for none
  lane: string; // the selected one
  hover: number; // a pixel, -1 for none
  moment: number; // a position that the address names, NaN for none
  matches: Float64Array; // positions of what was searched for
}

export const fontFamily = "ui-sans-serif, system-ui, 'Segoe UI', 'Noto Sans', sans-serif";

/** How wide a cell is whose items are drawn as one. */
export const cell = 10;

export class Frame {
  readonly palette: string[];
  private readonly perUnit: number;

  constructor(readonly g: CanvasRenderingContext2D, readonly scene: Scene, readonly colours: Colours) {
    this.palette = palette(colours);
    this.perUnit = scene.width / (scene.domain[1] - scene.domain[0]);
  }

  /** The pixel of a position. */
  x(position: number): number { return (position - this.scene.domain[0]) * this.perUnit; }

  /** The position of a pixel. */
  at(pixel: number): number { return this.scene.domain[0] + pixel / this.perUnit; }

  paint(): void {
    const { scene } = this;
    this.rect(this.colours.paper, 0, 0, scene.width, scene.height);
    this.g.textBaseline = "middle";
    const { pinned } = scene.lanes;
    const top = (lane: Lane) => scene.lanes.screenTop(lane, scene.scroll);
    const scrolled = scene.lanes.all.filter((lane) => !scene.lanes.isPinned(lane) && top(lane) + lane.height > pinned && top(lane) < scene.height);
    const pinnedLanes = scene.lanes.all.filter((lane) => scene.lanes.isPinned(lane));
    this.clipped(0, pinned, scene.width, scene.height, () => this.paintLanes(scrolled, top));
    this.paintLanes(pinnedLanes, top);
    if (pinned > 0 && scene.scroll > 0) this.rect(this.colours.edge, 0, pinned - 1, scene.width, 1);
    this.over();
  }

  rect(colour: string | CanvasPattern, x: number, y: number, width: number, height: number, alpha = 1): void {
    const { g } = this;
    g.fillStyle = colour;
    g.globalAlpha = alpha;
    g.fillRect(x, y, width, height);
    g.globalAlpha = 1;
  }

  line(colour: string, width: number, from: [number, number], to: [number, number], dash: number[] = [], alpha = 1): void {
    const { g } = this;
    g.strokeStyle = colour;
    g.lineWidth = width;
    g.globalAlpha = alpha;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(...from);
    g.lineTo(...to);
    g.stroke();
    g.setLineDash([]);
    g.globalAlpha = 1;
  }

  /** Draws what lies within a part of the screen, and no more. */
  clipped(x: number, y: number, width: number, height: number, draw: () => void): void {
    const { g } = this;
    g.save();
    g.beginPath();
    g.rect(x, y, width, height);
    g.clip();
    draw();
    g.restore();
  }

  private paintLanes(lanes: Lane[], top: (lane: Lane) => number): void {
    for (const lane of lanes) this.ground(lane, top(lane));
    if (lanes.length > 0) {
      const from = top(lanes[0]), to = top(lanes[lanes.length - 1]) + lanes[lanes.length - 1].height;
      this.grid(from, to);
      if (this.scene.axis === "rv") for (const gap of this.scene.data.scale.gaps) this.broken(gap, from, to);
    }
    for (const lane of lanes) {
      this.g.font = `11px ${fontFamily}`;
      this.lane(lane, top(lane));
    }
  }

  private lane(lane: Lane, y: number): void {
    switch (lane.kind) {
      case "marks": return paintMarks(this, lane, y);
      case "faults": return paintFaults(this, lane, y);
      case "etcd": return paintEtcd(this, lane, y);
      case "leader": return paintLeader(this, lane, y);
      case "server": return paintServer(this, lane, y);
      case "window": return paintWindow(this, lane, y);
      case "client": return paintClient(this, lane, y);
      case "owed": return paintOwed(this, lane, y);
      case "stream": return paintStream(this, lane, y);
    }
  }

  /** The ground of a lane, with the faults that act on it. */
  private ground(lane: Lane, y: number): void {
    const { scene, colours } = this;
    if (lane.kind === "client" || lane.kind === "server" || lane.kind === "window" || lane.kind === "etcd" || lane.kind === "leader") {
      this.rect(colours.lane, 0, y, scene.width, lane.height);
    }
    if (lane.id === scene.lane) this.rect(colours.focus, 0, y, scene.width, lane.height, 0.09);
    if (lane.kind !== "marks" && lane.kind !== "faults") this.faults(lane, y);
    this.rect(colours.line, 0, Math.round(y + lane.height) - 1, scene.width, 1);
  }

  private faults(lane: Lane, y: number): void {
    const { g, scene, colours } = this;
    for (const fault of scene.data.faults) {
      if (fault.processes.length > 0 && !fault.processes.some((p) => lane.processes.includes(p))) continue;
      const [left, right] = this.faultSpan(fault);
      if (right < 0 || left > scene.width) continue;
      this.rect(colours.fault, left, y, Math.max(1.5, right - left), lane.height, 0.1);
      this.rect(hatch(g, colours.fault), left, y, Math.max(1.5, right - left), lane.height, 0.22);
    }
  }

  /** The pixels that a fault lasted. On the RV axis, what was committed meanwhile. */
  faultSpan(fault: { begin: number; end: number }): [number, number] {
    if (this.scene.axis === "time") return [this.x(fault.begin), this.x(fault.end)];
    return [this.x(this.scene.facts.rvAt(fault.begin)), this.x(this.scene.facts.rvAt(fault.end))];
  }

  private grid(from: number, to: number): void {
    for (const tick of this.scene.ticks) this.rect(this.colours.line, Math.round(this.x(tick)), from, 1, to - from);
  }

  /** When the last fault had healed, NaN where that means nothing. */
  get healed(): number {
    const { data, axis, facts } = this.scene;
    if (data.faults.length === 0 || data.healed <= 0) return NaN;
    return this.x(axis === "time" ? data.healed : facts.rvAt(data.healed));
  }

  private dashed(x: number, colour: string, dash: number[], width: number): void {
    const at = Math.round(x) + 0.5;
    if (x > -2 && x < this.scene.width + 2) this.line(colour, width, [at, 0], [at, this.scene.height], dash);
  }

  /** What lies over all lanes. */
  private over(): void {
    const { scene, colours } = this;
    this.dashed(this.healed, colours.soft, [2, 3], 1);
    if (scene.mark >= 0) {
      const colour = scene.data.marks[scene.mark].breaks ? colours.violation : colours.soft;
      this.dashed(this.x(scene.facts.position({ kind: "mark", index: scene.mark }, scene.axis)), colour, [5, 4], 1.4);
    }
    if (!Number.isNaN(scene.moment)) this.dashed(this.x(scene.moment), colours.focus, [1, 3], 1.6);
    if (scene.matches.length > 0) this.matches();
    if (scene.selected && scene.selected.kind !== "mark") this.selection(scene.selected);
    if (scene.hover >= 0) this.rect(colours.soft, Math.round(scene.hover), 0, 1, scene.height, 0.55);
  }

  /** A break of the axis: a torn strip behind what stands in the lanes. */
  private broken(gap: Gap, top: number, bottom: number): void {
    const { g, scene, colours } = this, left = this.x(gap.left + 0.6), right = this.x(gap.right - 0.6);
    if (right < 0 || left > scene.width) return;
    g.fillStyle = colours.paper;
    g.strokeStyle = colours.soft;
    g.lineWidth = 1;
    g.fillRect(left, top, right - left, bottom - top);
    for (const x of [left, right]) {
      g.beginPath();
      for (let y = top; y <= bottom; y += 4) g.lineTo(x + (Math.round(y / 4) % 2 === 0 ? -2 : 2), y);
      g.stroke();
    }
  }

  private matches(): void {
    const { g, scene } = this;
    g.fillStyle = this.colours.focus;
    let last = -2;
    for (const position of scene.matches) {
      const x = Math.round(this.x(position));
      if (x < 0 || x > scene.width || x === last) continue;
      g.beginPath();
      g.moveTo(x - 4, 0);
      g.lineTo(x + 4, 0);
      g.lineTo(x, 6);
      g.fill();
      last = x;
    }
  }

  private selection(ref: Ref): void {
    const { g, scene, colours } = this, lane = scene.lanes.laneOf(ref);
    if (!lane) return;
    const x = this.x(scene.facts.position(ref, scene.axis));
    const y = scene.lanes.screenTop(lane, scene.scroll) + (lane.kind === "etcd" ? (ref.kind === "compaction" ? 39 : 19) : lane.height / 2);
    if (!scene.lanes.isPinned(lane) && y < scene.lanes.pinned) return;
    g.strokeStyle = colours.focus;
    g.lineWidth = 2;
    g.beginPath();
    g.arc(x, y, 8.5, 0, 2 * Math.PI);
    g.stroke();
  }

  /** Draws a series: one shape for each thing, or one stack for all in a cell. */
  series(series: Series, y: number, height: number, label?: (item: number) => string[], hollow?: (item: number) => boolean, ended = NaN): void {
    const { g, scene } = this, size = cell / this.perUnit;
    const end = series.from(scene.domain[1] + size);
    for (let i = series.from(scene.domain[0] - size); i < end;) {
      // Cells hang on the axis rather than on the screen, lest they change while it moves.
      const next = Math.max(i + 1, series.from((Math.floor(series.at[i] / size) + 1) * size, i + 1));
      const room = next < series.length ? this.x(series.at[next]) - this.x(series.at[next - 1]) : Infinity;
      const x = (this.x(series.at[i]) + this.x(series.at[next - 1])) / 2;
      // A label leaves free the mark of a stream's end, the thing after it, and the edge of the screen.
      const from = ended > x - 3 && ended < x + 12 ? ended + 5 : x + 8;
      const free = Math.min(room - 12, scene.width - x - 2, ended > from ? ended - x - 4 : Infinity) - (from - x);
      if (next - i === 1) {
        const item = series.item[i], kind = this.kindAt(series, i);
        shape(g, kind, x, y, 4.3, this.palette[kind], this.colours.paper, hollow?.(item));
        if (label && room > 36) this.label(label(item), from, y, free);
      } else {
        this.stack(series, i, next, x, y, height);
        if (room > 44) this.label([`×${next - i}`], from, y, free);
      }
      i = next;
    }
  }

  /** Says at the edges of the screen that there is more of a lane beyond, if nothing is on it. */
  beyond(series: Series, y: number): void {
    const { g, scene } = this, first = series.from(scene.domain[0]), end = series.from(scene.domain[1]);
    if (series.length === 0 || end > first) return;
    g.fillStyle = this.colours.bookmark;
    if (first > 0) g.fillText("‹", 5, y);
    if (end < series.length) g.fillText("›", scene.width - 9, y);
  }

  private kindAt(series: Series, i: number): number {
    for (let kind = 0; kind < this.palette.length; kind++) if (series.count(kind, i, i + 1) > 0) return kind;
    return 5;
  }

  /** A stack is as high as the logarithm of what it stands for, its parts as their shares. */
  private stack(series: Series, first: number, end: number, x: number, y: number, height: number): void {
    const high = Math.min(height - 3, 6 + 2.4 * Math.log2(end - first));
    let from = y + high / 2;
    for (let kind = 0; kind < this.palette.length; kind++) {
      const share = series.count(kind, first, end) / (end - first);
      if (share === 0) continue;
      const part = Math.max(kind === 4 ? 4 : 1, share * high);
      this.rect(this.palette[kind], x - cell / 2 + 1.5, from - part, cell - 3, part);
      from -= part;
      if (kind === 4) this.rect(this.colours.paper, x - 0.6, from + 0.8, 1.2, Math.min(part - 1.6, 4)); // the letter of an error
    }
  }

  /** The first of some texts that there is room for. */
  label(texts: string[], x: number, y: number, room: number): void {
    const { g } = this, text = texts.find((one) => one.length * 6.3 < room);
    if (!text) return;
    this.rect(this.colours.paper, x - 2, y - 6, g.measureText(text).width + 4, 12, 0.5);
    g.fillStyle = this.colours.ink;
    g.fillText(text, x, y + 0.5);
  }

  /** Text on a ground of its own. */
  tag(text: string, x: number, y: number, colour: string): void {
    const { g } = this;
    this.rect(this.colours.paper, x - 3, y - 7, g.measureText(text).width + 6, 14, 0.75);
    g.fillStyle = colour;
    g.fillText(text, x, y + 0.5);
  }

  /** What is under the pointer, as a tag beside it that stays on the screen. */
  readout(text: string, y: number): void {
    const { hover, width } = this.scene, wide = this.g.measureText(text).width;
    this.tag(text, hover + 8 + wide > width ? hover - wide - 8 : hover + 8, y, this.colours.ink);
  }

  clock(time: number): string { return clock(time, this.scene.axis === "time" ? this.scene.domain[1] - this.scene.domain[0] : 1); }
}
