// The shapes that stand for things. Each kind has a shape of its own, so that
// colour is never needed to tell them apart.

import { Added, Bookmark, Deleted, Failed, Modified, Read, Write } from "./data";

const names = [
  "ink", "soft", "faint", "line", "edge", "paper", "lane", "added", "modified", "deleted", "bookmark", "error", "other", "read", "write",
  "fault", "violation", "etcd", "server", "focus",
] as const;

/** The colours of the page, read from its style. */
export type Colours = Record<(typeof names)[number], string>;

export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) as Colours;
}

/** Colours by kind, in the order of the kinds. */
export function palette(c: Colours): string[] {
  return [c.added, c.modified, c.deleted, c.bookmark, c.error, c.other, c.read, c.write];
}

/** Adds the outline of a kind to the path, around x and y. */
function outline(g: CanvasRenderingContext2D, kind: number, x: number, y: number, r: number): void {
  switch (kind) {
    case Added: // a triangle that points up
      g.moveTo(x, y - r); g.lineTo(x + r, y + r * 0.8); g.lineTo(x - r, y + r * 0.8); g.closePath();
      break;
    case Deleted: // one that points down
      g.moveTo(x, y + r); g.lineTo(x + r, y - r * 0.8); g.lineTo(x - r, y - r * 0.8); g.closePath();
      break;
    case Bookmark: // a flag
      g.rect(x - r * 0.7, y - r, 1.5, r * 2); g.rect(x - r * 0.7, y - r, r * 1.5, r);
      break;
    case Failed: // a square, with a letter in it
      g.rect(x - r, y - r, r * 2, r * 2);
      break;
    case Read: // a ring
    case Modified:
      g.moveTo(x + r * 0.9, y); g.arc(x, y, r * 0.9, 0, 2 * Math.PI);
      break;
    case Write: // a diamond
      g.moveTo(x, y - r * 1.1); g.lineTo(x + r * 1.1, y); g.lineTo(x, y + r * 1.1); g.lineTo(x - r * 1.1, y); g.closePath();
      break;
    default:
      g.rect(x - r * 0.5, y - r, r, r * 2);
  }
}

/** Draws one thing. A hollow one was owed, and is not what came. */
export function shape(g: CanvasRenderingContext2D, kind: number, x: number, y: number, r: number, colour: string, paper: string, hollow = false): void {
  g.beginPath();
  outline(g, kind, x, y, r);
  if (hollow || kind === Read) {
    g.fillStyle = paper;
    g.fill();
    g.strokeStyle = colour;
    g.lineWidth = 1.6;
    g.stroke();
    return;
  }
  g.fillStyle = colour;
  g.fill();
  if (kind === Failed) {
    g.fillStyle = paper;
    g.fillRect(x - 0.8, y - r * 0.65, 1.6, r * 0.75);
    g.fillRect(x - 0.8, y + r * 0.35, 1.6, 1.6);
  }
}

/** A flag that stands for a violation or an observation, with its number. */
export function flag(g: CanvasRenderingContext2D, x: number, y: number, text: string, colour: string, paper: string, solid: boolean): void {
  const width = g.measureText(text).width + 12;
  g.beginPath();
  g.roundRect(x - 1, y - 9, width, 18, 4);
  g.fillStyle = solid ? colour : paper;
  g.strokeStyle = colour;
  g.lineWidth = 1.5;
  g.fill();
  g.stroke();
  g.fillStyle = solid ? paper : colour;
  g.fillText(text, x + 5, y + 0.5);
}

const pattern = new Map<string, CanvasPattern>();

/** Diagonal lines, which stand for faults. */
export function hatch(g: CanvasRenderingContext2D, colour: string): CanvasPattern {
  let made = pattern.get(colour);
  if (!made) {
    const tile = new OffscreenCanvas(8, 8), t = tile.getContext("2d")!;
    t.strokeStyle = colour;
    t.lineWidth = 1.2;
    t.beginPath();
    for (const from of [-8, 0, 8]) { t.moveTo(from, 8); t.lineTo(from + 8, 0); }
    t.stroke();
    made = g.createPattern(tile as unknown as CanvasImageSource, "repeat")!;
    pattern.set(colour, made);
  }
  return made;
}
