// A frame: lanes from top to bottom, then what lies over all of them.

import { Data } from "./data";
import { Axis, Facts } from "./facts";
import { Lane, Lanes } from "./lanes";
import { paintEtcd, paintFaults, paintMarks } from "./paint-top";
import { paintServer } from "./paint-server";
import { paintClient, paintOwed, paintStream } from "./paint-stream";
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
    const { g, scene } = this;
    g.fillStyle = this.colours.paper;
    g.fillRect(0, 0, scene.width, scene.height);
    g.textBaseline = "middle";
    const visible = scene.lanes.all.filter((lane) => lane.top + lane.height > scene.scroll && lane.top < scene.scroll + scene.height);
    for (const lane of visible) this.ground(lane, lane.top - scene.scroll);
    this.grid();
    for (const lane of visible) {
      g.font = `11px ${fontFamily}`;
      this.lane(lane, lane.top - scene.scroll);
    }
    this.over();
  }

  private lane(lane: Lane, y: number): void {
    switch (lane.kind) {
      case "marks": return paintMarks(this, lane, y);
      case "faults": return paintFaults(this, lane, y);
      case "etcd": return paintEtcd(this, lane, y);
      case "server": return paintServer(this, lane, y);
      case "client": return paintClient(this, lane, y);
      case "owed": return paintOwed(this, lane, y);
      case "stream": return paintStream(this, lane, y);
    }
  }

  /** The ground of a lane, with the faults that act on it. */
  private ground(lane: Lane, y: number): void {
    const { g, scene, colours } = this;
    if (lane.kind === "client" || lane.kind === "server" || lane.kind === "etcd") {
      g.fillStyle = colours.lane;
      g.fillRect(0, y, scene.width, lane.height);
    }
    if (lane.id === scene.lane) {
      g.fillStyle = colours.focus;
      g.globalAlpha = 0.09;
      g.fillRect(0, y, scene.width, lane.height);
      g.globalAlpha = 1;
    }
    if (lane.kind !== "marks" && lane.kind !== "faults") this.faults(lane, y);
    g.fillStyle = colours.line;
    g.fillRect(0, Math.round(y + lane.height) - 1, scene.width, 1);
  }

  private faults(lane: Lane, y: number): void {
    const { g, scene, colours } = this;
    for (const fault of scene.data.faults) {
      if (fault.processes.length > 0 && !fault.processes.some((p) => lane.processes.includes(p))) continue;
      const [left, right] = this.faultSpan(fault);
      if (right < 0 || left > scene.width) continue;
      g.globalAlpha = 0.1;
      g.fillStyle = colours.fault;
      g.fillRect(left, y, Math.max(1.5, right - left), lane.height);
      g.globalAlpha = 0.22;
      g.fillStyle = hatch(g, colours.fault);
      g.fillRect(left, y, Math.max(1.5, right - left), lane.height);
      g.globalAlpha = 1;
    }
  }

  /** The pixels that a fault lasted. On the RV axis, what was committed meanwhile. */
  faultSpan(fault: { begin: number; end: number }): [number, number] {
    if (this.scene.axis === "time") return [this.x(fault.begin), this.x(fault.end)];
    return [this.x(this.scene.facts.rvAt(fault.begin)), this.x(this.scene.facts.rvAt(fault.end))];
  }

  private grid(): void {
    const { g, scene } = this;
    g.fillStyle = this.colours.line;
    for (const tick of scene.ticks) g.fillRect(Math.round(this.x(tick)), 0, 1, scene.height);
    const healed = scene.axis === "time" ? scene.data.healed : scene.facts.rvAt(scene.data.healed);
    if (scene.data.faults.length > 0 && scene.data.healed > 0) this.dashed(this.x(healed), this.colours.soft, [2, 3], 1);
  }

  private dashed(x: number, colour: string, dash: number[], width: number): void {
    const { g } = this;
    if (x < -2 || x > this.scene.width + 2) return;
    g.save();
    g.strokeStyle = colour;
    g.lineWidth = width;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(Math.round(x) + 0.5, 0);
    g.lineTo(Math.round(x) + 0.5, this.scene.height);
    g.stroke();
    g.restore();
  }

  /** What lies over all lanes. */
  private over(): void {
    const { g, scene, colours } = this;
    if (scene.mark >= 0) {
      const colour = scene.data.marks[scene.mark].breaks ? colours.violation : colours.soft;
      this.dashed(this.x(scene.facts.position({ kind: "mark", index: scene.mark }, scene.axis)), colour, [5, 4], 1.4);
    }
    if (!Number.isNaN(scene.moment)) this.dashed(this.x(scene.moment), colours.focus, [1, 3], 1.6);
    if (scene.matches.length > 0) this.matches();
    if (scene.selected && scene.selected.kind !== "mark") this.selection(scene.selected);
    if (scene.hover >= 0) {
      g.fillStyle = colours.soft;
      g.globalAlpha = 0.55;
      g.fillRect(Math.round(scene.hover), 0, 1, scene.height);
      g.globalAlpha = 1;
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
    const y = lane.top - scene.scroll + (lane.kind === "etcd" ? (ref.kind === "compaction" ? 43 : 19) : lane.height / 2);
    g.strokeStyle = colours.focus;
    g.lineWidth = 2;
    g.beginPath();
    g.arc(x, y, 8.5, 0, 2 * Math.PI);
    g.stroke();
  }

  /** Draws a series: one shape for each thing, or one stack for all in a cell. */
  series(series: Series, y: number, height: number, label?: (item: number) => [string, string], hollow?: (item: number) => boolean): void {
    const { g, scene } = this, size = cell / this.perUnit;
    const end = series.from(scene.domain[1] + size);
    for (let i = series.from(scene.domain[0] - size); i < end;) {
      // Cells hang on the axis rather than on the screen, lest they change while it moves.
      const next = Math.max(i + 1, series.from((Math.floor(series.at[i] / size) + 1) * size, i + 1));
      const room = next < series.length ? this.x(series.at[next]) - this.x(series.at[next - 1]) : Infinity;
      const x = (this.x(series.at[i]) + this.x(series.at[next - 1])) / 2;
      if (next - i === 1) {
        const item = series.item[i], kind = this.kindAt(series, i);
        shape(g, kind, x, y, 4.3, this.palette[kind], this.colours.paper, hollow?.(item));
        if (label && room > 36) this.label(label(item), x + 8, y, room - 20);
      } else {
        this.stack(series, i, next, x, y, height);
        if (room > 44) this.label([`×${next - i}`, ""], x + 8, y, room - 20);
      }
      i = next;
    }
  }

  private kindAt(series: Series, i: number): number {
    for (let kind = 0; kind < this.palette.length; kind++) if (series.count(kind, i, i + 1) > 0) return kind;
    return 5;
  }

  /** A stack is as high as the logarithm of what it stands for, its parts as their shares. */
  private stack(series: Series, first: number, end: number, x: number, y: number, height: number): void {
    const { g } = this, high = Math.min(height - 3, 6 + 2.4 * Math.log2(end - first));
    let from = y + high / 2;
    for (let kind = 0; kind < this.palette.length; kind++) {
      const share = series.count(kind, first, end) / (end - first);
      if (share === 0) continue;
      const part = Math.max(kind === 4 ? 4 : 1, share * high);
      g.fillStyle = this.palette[kind];
      g.fillRect(x - cell / 2 + 1.5, from - part, cell - 3, part);
      from -= part;
      if (kind !== 4) continue;
      g.fillStyle = this.colours.paper; // the letter of an error
      g.fillRect(x - 0.6, from + 0.8, 1.2, Math.min(part - 1.6, 4));
    }
  }

  /** The longer text where there is room for both, else the shorter, else none. */
  label([short, long]: [string, string], x: number, y: number, room: number): void {
    const { g } = this, both = long === "" ? short : `${short}  ${long}`;
    const text = both.length * 6.3 < room ? both : short.length * 6.6 < room ? short : "";
    if (text === "") return;
    g.fillStyle = this.colours.soft;
    g.fillText(text, x, y + 0.5);
  }

  /** Text on a ground of its own. */
  tag(text: string, x: number, y: number, colour: string): void {
    const { g } = this, width = g.measureText(text).width;
    g.globalAlpha = 0.85;
    g.fillStyle = this.colours.paper;
    g.fillRect(x - 3, y - 7, width + 6, 14);
    g.globalAlpha = 1;
    g.fillStyle = colour;
    g.fillText(text, x, y + 0.5);
  }

  clock(time: number): string { return clock(time, this.scene.axis === "time" ? this.scene.domain[1] - this.scene.domain[0] : 1); }
}
