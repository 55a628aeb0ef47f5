// The axis above the lanes, and the tag that says where the pointer is.

import { axisTop } from "d3-axis";
import { select } from "d3-selection";
import { byId } from "./dom";
import { Facts } from "./facts";
import { View } from "./view";
import { clock } from "./words";

/** How far apart ticks are, in pixels. */
const apart = 110;

/** Draws the axis and returns its ticks. */
export function drawAxis(view: View): number[] {
  const x = view.x, count = Math.max(2, Math.floor(view.width / apart));
  const ticks = x.ticks(count).filter((tick) => view.axis === "time" ? tick >= 0 : Number.isInteger(tick) && tick > 0);
  const step = ticks.length > 1 ? (ticks[1] - ticks[0]) * 60 : view.span;
  const format = (tick: number) => (view.axis === "time" ? clock(tick, Math.min(step, view.span * 20)) : tick.toLocaleString("en-GB"));
  select<SVGSVGElement, unknown>("#axis").select<SVGGElement>("g")
    .call(axisTop<number>(x as never).tickValues(ticks).tickFormat(format as never).tickSize(5).tickPadding(4));
  return ticks;
}

/** Says what the pointer is at, on both axes. */
export function drawPointer(view: View, facts: Facts, pixel: number): void {
  const tag = byId("pointer");
  tag.hidden = pixel < 0;
  if (pixel < 0) return;
  const position = view.x.invert(pixel);
  if (view.axis === "time") {
    const rv = facts.etcd.at(position);
    tag.textContent = clock(Math.max(0, position), view.span) + (rv > 0 ? ` · RV ${rv}` : "");
  } else {
    const rv = Math.round(position), time = facts.timeOf(rv);
    tag.textContent = `RV ${rv}` + (time >= 0 ? ` · ${clock(time, 1)}` : "");
  }
  tag.style.transform = `translateX(${Math.min(Math.max(pixel - tag.offsetWidth / 2, 0), view.width - tag.offsetWidth)}px)`;
}
