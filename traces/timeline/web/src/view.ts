// What is on screen: which axis, which part of it, and what is selected.

import { scaleLinear, ScaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { D3ZoomEvent, zoom, ZoomBehavior, zoomIdentity, ZoomTransform } from "d3-zoom";
import { Axis, Facts } from "./facts";

/** The smallest span that can be on screen: a microsecond, or a fifth of a revision. */
const minSpan: Record<Axis, number> = { time: 1e-6, rv: 0.2 };

export class View {
  axis: Axis = "time";
  width = 800;
  /** Is called whenever what is on screen has changed. */
  changed = () => {};
  /** Is called when a drag also goes up or down, with pixels. */
  dragged = (_pixels: number) => {};
  private readonly base: Record<Axis, ScaleLinear<number, number>>;
  private readonly transforms: Record<Axis, ZoomTransform> = { time: zoomIdentity, rv: zoomIdentity };
  private readonly behaviour: ZoomBehavior<HTMLCanvasElement, unknown>;
  private lastY = 0;

  constructor(private readonly canvas: HTMLCanvasElement, facts: Facts) {
    this.base = { time: padded(facts.domain.time), rv: padded(facts.domain.rv) };
    this.behaviour = zoom<HTMLCanvasElement, unknown>()
      .clickDistance(4)
      .filter((event: MouseEvent) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : event.button === 0 && !event.ctrlKey))
      .wheelDelta((event: WheelEvent) => wheelStep(event))
      .on("start", (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => { this.lastY = event.sourceEvent?.clientY ?? 0; })
      .on("zoom", (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        this.transforms[this.axis] = event.transform;
        const source = event.sourceEvent as MouseEvent | null;
        if (source?.type === "mousemove") {
          this.dragged(this.lastY - source.clientY);
          this.lastY = source.clientY;
        }
        this.changed();
      });
    select(canvas).call(this.behaviour).on("dblclick.zoom", null);
  }

  /** The scale of what is on screen: positions to pixels. */
  get x(): ScaleLinear<number, number> { return this.transforms[this.axis].rescaleX(this.base[this.axis]); }

  /** What is on screen. */
  get domain(): [number, number] { return this.x.domain() as [number, number]; }
  get span(): number { const [low, high] = this.domain; return high - low; }
  get whole(): [number, number] { return this.base[this.axis].domain() as [number, number]; }

  resize(width: number, height: number): void {
    if (width === this.width) return;
    const kept = { time: this.domainOf("time"), rv: this.domainOf("rv") };
    this.width = width;
    for (const axis of ["time", "rv"] as const) {
      const [low, high] = this.base[axis].domain();
      this.base[axis].range([0, width]);
      this.transforms[axis] = this.transformTo(axis, kept[axis]);
      if (axis === this.axis) {
        this.behaviour.extent([[0, 0], [width, height]]).translateExtent([[0, -Infinity], [width, Infinity]])
          .scaleExtent([1, Math.max(1, (high - low) / minSpan[axis])]);
      }
    }
    this.apply();
  }

  private domainOf(axis: Axis): [number, number] {
    return this.transforms[axis].rescaleX(this.base[axis]).domain() as [number, number];
  }

  setAxis(axis: Axis): void {
    this.axis = axis;
    const [low, high] = this.whole;
    this.behaviour.scaleExtent([1, Math.max(1, (high - low) / minSpan[axis])]);
    this.apply();
  }

  private transformTo(axis: Axis, [low, high]: [number, number]): ZoomTransform {
    const base = this.base[axis], [wholeLow, wholeHigh] = base.domain();
    const span = Math.min(Math.max(high - low, minSpan[axis]), wholeHigh - wholeLow);
    const from = Math.min(Math.max((low + high - span) / 2, wholeLow), wholeHigh - span);
    const k = (wholeHigh - wholeLow) / span;
    return zoomIdentity.translate(-base(from) * k, 0).scale(k);
  }

  private apply(): void { select(this.canvas).call(this.behaviour.transform, this.transforms[this.axis]); }

  /** Shows a part of the axis, as far as there is one. */
  show(low: number, high: number): void {
    this.transforms[this.axis] = this.transformTo(this.axis, [low, high]);
    this.apply();
  }

  showAll(): void { this.show(...this.whole); }

  /** Zooms around a pixel, the middle if none is given. */
  zoomBy(factor: number, pixel = this.width / 2): void { select(this.canvas).call(this.behaviour.scaleBy, factor, [pixel, 0]); }

  panBy(pixels: number): void { select(this.canvas).call(this.behaviour.translateBy, -pixels / this.transforms[this.axis].k, 0); }

  /** Brings a position on screen, and keeps the zoom. */
  reveal(position: number): void {
    const [low, high] = this.domain, margin = (high - low) * 0.06;
    if (position < low + margin || position > high - margin) this.centre(position);
  }

  centre(position: number): void { this.show(position - this.span / 2, position + this.span / 2); }
}

/** A little room at both ends. */
function padded([low, high]: [number, number]): ScaleLinear<number, number> {
  const pad = (high - low) * 0.015;
  return scaleLinear().domain([low - pad, high + pad]).range([0, 800]);
}

/** How far a wheel zooms: pinches come as wheels with small steps. */
export function wheelStep(event: WheelEvent): number {
  const pinch = event.ctrlKey && Math.abs(event.deltaY) < 25;
  return -event.deltaY * (event.deltaMode === 1 ? 0.05 : event.deltaMode ? 1 : 0.002) * (pinch ? 6 : 1);
}
