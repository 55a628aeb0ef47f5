// The axis above the lanes, and the tag that says where the pointer is.

import { axisTop } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { byId } from "./dom";
import { Facts } from "./facts";
import { Gap, Scale } from "./scale";
import { View } from "./view";
import { clock } from "./words";

/** How far apart ticks are, in pixels. */
const apart = 110;

/** Draws the axis and returns its ticks. */
export function drawAxis(view: View, scale: Scale): number[] {
  const x = view.x, count = Math.max(2, Math.floor(view.width / apart));
  const ticks = view.axis === "time" ? x.ticks(count).filter((tick) => tick >= 0) : versionTicks(view, scale, count);
  const step = ticks.length > 1 ? (ticks[1] - ticks[0]) * 60 : view.span;
  const format = (tick: number) => (view.axis === "time" ? clock(tick, Math.min(step, view.span * 20)) : Math.round(scale.at(tick)).toLocaleString("en-GB"));
  const shown = ticks.filter((tick) => view.x(tick) < view.width - 12); // whose labels are not cut
  const gaps = view.axis === "time" ? [] : scale.gaps.filter((gap) => middle(gap) > view.domain[0] && middle(gap) < view.domain[1]);
  const labels = new Map(gaps.map((gap) => [middle(gap), `${(gap.from + 1).toLocaleString("en-GB")}–${(gap.to - 1).toLocaleString("en-GB")} skipped`]));
  select<SVGSVGElement, unknown>("#axis").select<SVGGElement>("g")
    .call(axisTop<number>(x as never).tickValues([...shown, ...labels.keys()]).tickFormat(((tick: number) => labels.get(tick) ?? format(tick)) as never).tickSize(5).tickPadding(4));
  return ticks;
}

/** The ticks between two breaks of the axis are those of the versions there. */
function versionTicks(view: View, scale: Scale, count: number): number[] {
  const [low, high] = view.domain, ends = [low, ...scale.gaps.flatMap((gap) => [gap.left, gap.right]), high];
  const found: number[] = [], breaks = scale.gaps.map(middle);
  for (let i = 0; i < ends.length; i += 2) {
    const from = Math.max(low, ends[i]), to = Math.min(high, ends[i + 1]);
    if (from >= to) continue;
    const few = Math.max(1, Math.round((count * (to - from)) / (high - low)));
    const ticks = scaleLinear().domain([scale.at(from), scale.at(to)]).ticks(few).filter((rv) => Number.isInteger(rv) && rv > 0);
    for (const rv of ticks) {
      const x = view.x(scale.place(rv));
      if (found.every((other) => Math.abs(x - view.x(other)) > apart / 3) && breaks.every((other) => Math.abs(x - view.x(other)) > apart * 0.6)) found.push(scale.place(rv));
    }
  }
  return found;
}

const middle = (gap: Gap) => (gap.left + gap.right) / 2;

/** Says what the pointer is at, on both axes. */
export function drawPointer(view: View, facts: Facts, pixel: number): void {
  const tag = byId("pointer");
  tag.hidden = pixel < 0;
  if (pixel < 0) return;
  const position = view.x.invert(pixel);
  if (view.axis === "time") {
    const rv = facts.etcd.at(position);
    tag.textContent = clock(Math.max(0, position), view.span) + (rv > 0 ? ` · RV ${facts.data.scale.name(rv)}` : "");
  } else {
    const rv = Math.round(position), time = facts.timeOf(rv);
    tag.textContent = `RV ${facts.data.scale.name(rv)}` + (time >= 0 ? ` · ${clock(time, 1)}` : "");
  }
  tag.style.transform = `translateX(${Math.min(Math.max(pixel - tag.offsetWidth / 2, 0), view.width - tag.offsetWidth)}px)`;
}
