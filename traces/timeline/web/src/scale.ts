// The scale of resourceVersions. Between two that a history knows there may be
// hundreds that nobody saw, as after a restore of etcd, which skips them. Drawn to
// scale they would press everything else together, so the axis is broken there:
// everything on the page has positions, in which a gap is narrow.

/** What is between two versions, and where it is drawn. */
export interface Gap {
  from: number; // versions
  to: number;
  left: number; // positions
  right: number;
}

/** How many gaps an axis may have. */
const maxGaps = 6;

export class Scale {
  readonly gaps: Gap[] = [];

  constructor(versions: Float64Array) {
    const known = Float64Array.from(new Set(versions.filter((rv) => rv > 0))).sort();
    const steps = Array.from(known.subarray(1), (rv, i) => ({ from: known[i], to: rv, size: rv - known[i] }));
    if (steps.length < 4) return;
    const sizes = steps.map((step) => step.size).sort((a, b) => a - b), usual = sizes[sizes.length >> 1];
    const total = known[known.length - 1] - known[0];
    const broken = steps.filter(({ size }) => size > 50 && size > 8 * usual && size > 0.1 * total)
      .sort((a, b) => b.size - a.size).slice(0, maxGaps).sort((a, b) => a.from - b.from);
    const rest = total - broken.reduce((sum, { size }) => sum + size, 0), width = Math.max(4, Math.round(rest * 0.05));
    for (const { from, to, size } of broken) {
      if (size <= width) continue;
      const left = this.place(from);
      this.gaps.push({ from, to, left, right: left + width });
    }
  }

  /** Where a version is. */
  place(rv: number): number {
    let place = rv;
    for (const { from, to, left, right } of this.gaps) {
      if (rv <= from) break;
      place = rv >= to ? right + rv - to : left + ((rv - from) / (to - from)) * (right - left);
    }
    return place;
  }

  /** The version at a position. */
  at(place: number): number {
    let rv = place;
    for (const { from, to, left, right } of this.gaps) {
      if (place <= left) break;
      rv = place >= right ? to + place - right : from + ((place - left) / (right - left)) * (to - from);
    }
    return rv;
  }

  /** The version at a position, as a whole number for people. */
  name(place: number): string { return Math.round(this.at(place)).toString(); }
}
