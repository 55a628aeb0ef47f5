// The strip above everything: the whole history, and which part is on screen.

import { Data } from "./data";
import { Axis, Facts } from "./facts";
import { Colours } from "./shapes";
import { View, wheelStep } from "./view";

export class Overview {
  private readonly counts = new Map<Axis, Float64Array>();
  private columns = 0;

  constructor(private readonly canvas: HTMLCanvasElement, private readonly data: Data, private readonly facts: Facts, private readonly view: View) {
    let grabbed = NaN;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      const at = this.position(event), [low, high] = view.domain;
      grabbed = at >= low && at <= high ? at - (low + high) / 2 : 0;
      view.centre(at - grabbed);
    });
    canvas.addEventListener("pointermove", (event) => { if (!Number.isNaN(grabbed)) view.centre(this.position(event) - grabbed); });
    canvas.addEventListener("pointerup", () => { grabbed = NaN; });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      view.zoomBy(2 ** wheelStep(event));
    }, { passive: false });
  }

  private position(event: PointerEvent): number {
    const [low, high] = this.view.whole;
    return low + ((event.clientX - this.canvas.getBoundingClientRect().left) / this.canvas.clientWidth) * (high - low);
  }

  paint(colours: Colours, ratio: number, mark: number): void {
    const { canvas, view, data, facts } = this, g = canvas.getContext("2d")!;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    const [low, high] = view.whole, x = (position: number) => ((position - low) / (high - low)) * width;
    g.fillStyle = colours.fault;
    g.globalAlpha = 0.18;
    for (const fault of data.faults) {
      const [from, to] = view.axis === "time" ? [fault.begin, fault.end] : [facts.rvAt(fault.begin), facts.rvAt(fault.end)];
      g.fillRect(x(from), 0, Math.max(1, x(to) - x(from)), height);
    }
    g.globalAlpha = 1;
    g.fillStyle = colours.modified;
    const counts = this.density(Math.max(1, Math.floor(width / 3))), most = Math.log2(1 + Math.max(...counts));
    counts.forEach((count, i) => {
      const tall = most === 0 ? 0 : (Math.log2(1 + count) / most) * (height - 8);
      g.fillRect(i * 3, height - tall, 2, tall);
    });
    data.marks.forEach((one, index) => {
      g.fillStyle = one.breaks ? colours.violation : colours.soft;
      g.fillRect(x(facts.position({ kind: "mark", index }, view.axis)) - 1, 0, index === mark ? 3 : 2, height);
    });
    const [from, to] = view.domain;
    g.fillStyle = colours.paper;
    g.globalAlpha = 0.6;
    g.fillRect(0, 0, x(from), height);
    g.fillRect(x(to), 0, width - x(to), height);
    g.globalAlpha = 1;
    g.strokeStyle = colours.focus;
    g.lineWidth = 1.5;
    g.strokeRect(Math.max(0.75, x(from)), 0.75, Math.max(3, Math.min(width, x(to)) - Math.max(0.75, x(from)) - 0.75), height - 1.5);
  }

  /** How many events there are in each column. */
  private density(columns: number): Float64Array {
    if (columns !== this.columns) this.counts.clear();
    this.columns = columns;
    let counts = this.counts.get(this.view.axis);
    if (counts) return counts;
    counts = new Float64Array(columns);
    const [low, high] = this.view.whole, positions = this.view.axis === "time" ? this.data.events.time : this.facts.eventRv;
    for (const position of positions) counts[Math.min(columns - 1, Math.max(0, Math.floor(((position - low) / (high - low)) * columns)))]++;
    this.counts.set(this.view.axis, counts);
    return counts;
  }
}
