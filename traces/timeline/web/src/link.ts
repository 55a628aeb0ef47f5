// The address of a moment: #t=47.9 or #rv=46 or #violation=1, and what else is
// needed to see the same again.

import { Axis } from "./facts";
import { Scale } from "./scale";

export interface Address {
  axis: Axis | null;
  t: number; // a time in seconds, NaN if there is none
  rv: number; // a version, NaN if there is none
  span: number; // of the axis, NaN if there is none
  violation: number; // from 1 on, 0 if there is none
}

export function parse(hash: string): Address {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const number = (name: string) => {
    const text = fields.get(name);
    return text === null || text.trim() === "" || !Number.isFinite(Number(text)) ? NaN : Number(text);
  };
  const axis = fields.get("axis");
  const violation = number("violation");
  return {
    axis: axis === "time" || axis === "rv" ? axis : null, t: number("t"), rv: number("rv"), span: number("span"),
    violation: Number.isInteger(violation) && violation > 0 ? violation : 0,
  };
}

/** The address of what is on screen. */
export function format(axis: Axis, domain: [number, number], mark: number, scale: Scale): string {
  const place = (domain[0] + domain[1]) / 2, middle = axis === "time" ? place : scale.at(place), span = domain[1] - domain[0];
  const digits = Math.min(9, Math.max(1, 3 - Math.floor(Math.log10(span))));
  const fields = [`${axis === "time" ? "t" : "rv"}=${middle.toFixed(digits)}`, `span=${Number(span.toPrecision(4))}`];
  if (mark >= 0) fields.unshift(`violation=${mark + 1}`);
  return `#${fields.join("&")}`;
}
