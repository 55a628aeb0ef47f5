// A series is what stands in one lane along one axis, in order. Prefix sums by
// kind tell what any part of it holds without looking at each item, so that a
// frame costs as much for a hundred thousand items as for a hundred.

import { kinds } from "./data";

/** What is drawn and can be selected. */
export interface Ref {
  kind: "event" | "change" | "operation" | "stream" | "fault" | "compaction" | "mark" | "ended" | "leader" | "window";
  index: number;
}

export class Series {
  readonly at: Float64Array;
  readonly item: Int32Array;
  private readonly sums: Int32Array[];

  /** Items need not be in order; kindOf is below kinds.length. */
  constructor(items: Int32Array, positionOf: (item: number) => number, kindOf: (item: number) => number) {
    const position = Float64Array.from(items, positionOf);
    let sorted = true;
    for (let i = 1; i < position.length && sorted; i++) sorted = position[i - 1] <= position[i];
    if (sorted) {
      this.item = items;
      this.at = position;
    } else {
      const order = Uint32Array.from(items, (_, i) => i).sort((a, b) => position[a] - position[b] || a - b);
      this.item = Int32Array.from(order, (i) => items[i]);
      this.at = Float64Array.from(order, (i) => position[i]);
    }
    const present = new Set<number>();
    for (const item of this.item) present.add(kindOf(item));
    this.sums = kinds.map((_, kind) => {
      if (!present.has(kind)) return empty;
      const sums = new Int32Array(this.item.length + 1);
      for (let i = 0; i < this.item.length; i++) sums[i + 1] = sums[i] + (kindOf(this.item[i]) === kind ? 1 : 0);
      return sums;
    });
  }

  get length(): number { return this.at.length; }

  /** The first place whose position is not below one. */
  from(position: number, low = 0): number { return lowest(low, this.at.length, (i) => this.at[i] >= position); }

  /** How many items of a kind there are in some places. */
  count(kind: number, first: number, end: number): number {
    const sums = this.sums[kind];
    return sums.length === 0 ? 0 : sums[end] - sums[first];
  }
}

const empty = new Int32Array(0);

/** The lowest number from low on for which something holds, as for all above it; high if for none below that. */
function lowest(low: number, high: number, holds: (i: number) => boolean): number {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The numbers from first up to end. */
export function range(first: number, end: number): Int32Array {
  return Int32Array.from({ length: end - first }, (_, i) => first + i);
}

/** A step function that rises until it restarts: the newest version known at a time. */
export class Frontier {
  readonly time: number[] = [];
  readonly rv: number[] = [];

  /** Points have to come in order of time. */
  add(time: number, rv: number): void {
    if (this.rv.length > 0 && rv <= this.rv[this.rv.length - 1]) return;
    this.time.push(time);
    this.rv.push(rv);
  }

  /** From a time on nothing is known. */
  restart(time: number): void {
    if (this.rv.length === 0 || this.rv[this.rv.length - 1] === 0) return;
    this.time.push(time);
    this.rv.push(0);
  }

  /** The times of the steps between two times. */
  between(from: number, to: number): number[] {
    return this.time.slice(this.after(from), this.after(to));
  }

  /** How many steps come up to a time. */
  private after(time: number): number { return lowest(0, this.time.length, (i) => this.time[i] > time); }

  /** When a version was reached, -1 if it never was. Only for those that never restart. */
  timeOf(rv: number): number {
    const step = lowest(0, this.rv.length, (i) => this.rv[i] >= rv);
    return step === this.rv.length ? -1 : this.time[step];
  }

  /** The version at a time, 0 before the first. */
  at(time: number): number {
    const steps = this.after(time);
    return steps === 0 ? 0 : this.rv[steps - 1];
  }
}
