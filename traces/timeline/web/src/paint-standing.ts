// The lanes of who led etcd and of what the caches held. Both are drawn from what
// the history says of them, and from nothing else.

import { Window } from "./data";
import { Lane } from "./lanes";
import { Frame } from "./paint";
import { hatch } from "./shapes";
import { clock } from "./words";

/** A row for each member, and a band in the row of the one that led. */
export function paintLeader(frame: Frame, lane: Lane, y: number): void {
  const { g, scene, colours } = frame, { facts } = scene, series = scene.lanes.seriesOf(lane, scene.axis);
  const first = Math.max(0, series.from(scene.domain[0]) - 1), end = Math.min(series.length, series.from(scene.domain[1]) + 1);
  const tall = (lane.height - 6) / Math.max(1, facts.members.length);
  for (let i = first; i < end; i++) {
    const leader = scene.data.leaders[series.item[i]];
    const left = Math.max(-4, frame.x(series.at[i])), right = Math.min(scene.width + 4, frame.x(i + 1 < series.length ? series.at[i + 1] : facts.domain[scene.axis][1]));
    if (right <= 0 || left >= scene.width) continue;
    const none = leader.member === "", top = none ? y + 3 : y + 3 + facts.members.indexOf(leader.member) * tall;
    const height = (none ? lane.height - 6 : tall) - 2, width = Math.max(1.5, right - left - 1);
    frame.rect(none ? hatch(g, colours.violation) : colours.server, left, top, width, height, none ? 0.45 : 0.3);
    frame.rect(none ? colours.violation : colours.server, left, top, 2, height);
    const at = Math.max(left, 0) + 7, room = right - at;
    frame.label(none ? ["no leader"] : [`${leader.member} leads, term ${leader.term}`, `${leader.member}, ${leader.term}`, leader.member], at, top + height / 2, room);
  }
}

export function paintWindow(frame: Frame, lane: Lane, y: number): void {
  const { scene } = frame;
  if (scene.lanes.seriesOf(lane, "time").length === 0) return;
  frame.clipped(0, y, scene.width, lane.height - 1, () => (scene.axis === "time" ? alongTime : alongVersions)(frame, lane, y));
}

/** What a cache held from one pixel to another. */
interface Step {
  left: number;
  right: number;
  window: Window;
  index: number;
}

/** The steps on screen. Where there are more than pixels, what was held at each pixel. */
function stepsOnScreen(frame: Frame, lane: Lane): Step[] {
  const { scene } = frame, series = scene.lanes.seriesOf(lane, "time"), last = Math.min(scene.width, frame.x(scene.data.end));
  const first = Math.max(0, series.from(scene.domain[0]) - 1), end = series.from(scene.domain[1]);
  const places: number[] = [];
  if (end - first <= scene.width) for (let i = first; i < end; i++) places.push(i);
  else {
    for (let x = 0; x < scene.width; x++) {
      const place = series.from(frame.at(x + 1)) - 1;
      if (place >= 0 && place !== places[places.length - 1]) places.push(place);
    }
  }
  return places.map((place, i) => ({
    left: Math.max(0, frame.x(series.at[place])), right: i + 1 < places.length ? frame.x(series.at[places[i + 1]]) : last,
    window: scene.data.windows[series.item[place]], index: series.item[place],
  })).filter((step) => step.right > 0 && step.left <= last);
}

/** A band from the RV that watches could go on from to the newest. */
function alongTime(frame: Frame, lane: Lane, y: number): void {
  const { g, scene, colours } = frame, { data, facts } = scene, steps = stepsOnScreen(frame, lane);
  const held = steps.filter((step) => step.window.filling > 0);
  let low = Infinity, high = -Infinity;
  for (const { window } of held) {
    low = Math.min(low, data.rv[window.since]);
    high = Math.max(high, data.rv[window.newest]);
  }
  const top = y + 10, bottom = y + lane.height - 9;
  const height = (rv: number) => bottom - ((rv - low) / Math.max(1, high - low)) * (bottom - top);
  for (const { left, right, window } of steps) {
    if (window.filling > 0) continue;
    frame.rect(hatch(g, colours.soft), left, y + 2, Math.max(1, right - left), lane.height - 5, 0.35);
    frame.label(["not ready"], left + 5, y + lane.height / 2, right - left - 5);
  }
  for (const { left, right, window } of held) {
    const from = height(data.rv[window.since]), to = height(data.rv[window.newest]), width = Math.max(1, right - left);
    frame.rect(colours.server, left, to, width, Math.max(1, from - to), 0.22);
    frame.rect(colours.server, left, to - 1, width, 2);
    frame.rect(colours.server, left, from - 0.5, width, 1);
  }
  let free = 70; // the lowest and the highest RV stand to the left
  for (const { left, right, window, index } of held) {
    const begun = facts.begun(index), rvs = `${data.versions[window.since]} to ${data.versions[window.newest]}`;
    if (begun) frame.rect(colours.ink, left, y + 2, 1.5, lane.height - 5);
    const text = begun && window.filling > 1 ? `refilled, ${rvs}` : rvs, width = text.length * 6.3;
    if (left + 5 < free || (!begun && right - left < width + 12)) continue;
    frame.label([text], left + 5, y + lane.height / 2, Infinity);
    free = left + width + 16;
  }
  if (held.length > 0) {
    frame.tag(`RV ${data.scale.name(high)}`, 5, top - 1, colours.soft);
    frame.tag(`RV ${data.scale.name(low)}`, 5, bottom + 1, colours.soft);
  }
  if (scene.hover >= 0) {
    const under = steps.find((step) => step.left <= scene.hover && scene.hover < step.right);
    if (under) frame.readout(under.window.filling === 0 ? "not ready" : `RV ${data.versions[under.window.since]} to ${data.versions[under.window.newest]}`, y + lane.height / 2);
  }
}

/** Which RVs were held: from the top to the bottom of the lane, the beginning to the end of the history. */
function alongVersions(frame: Frame, lane: Lane, y: number): void {
  const { scene, colours } = frame, { data, facts } = scene, series = scene.lanes.seriesOf(lane, "time");
  const top = y + 3, rows = lane.height - 8;
  for (let row = 0; row < rows; row++) {
    const place = series.from((data.end * (row + 1)) / rows) - 1;
    if (place < 0) continue;
    const window = data.windows[series.item[place]];
    if (window.filling === 0) continue;
    const left = Math.max(0, frame.x(data.rv[window.since])), right = Math.min(scene.width, frame.x(data.rv[window.newest]));
    frame.rect(colours.server, left, top + row, Math.max(1, right - left), 1, 0.35);
    frame.rect(colours.server, right - 1.5, top + row, 1.5, 1);
  }
  frame.tag(clock(0, data.end), 5, top + 5, colours.soft);
  frame.tag(clock(data.end, data.end), 5, top + rows - 5, colours.soft);
  if (scene.selected?.kind === "window" && data.windows[scene.selected.index].server === lane.server) chosen(frame, data.windows[scene.selected.index], top, rows);
  if (scene.hover >= 0) {
    const rv = Math.round(frame.at(scene.hover)), [from, to] = facts.heldBetween(lane.server, rv);
    frame.readout(from < 0 ? `RV ${data.scale.name(rv)} was not held` : `RV ${data.scale.name(rv)} held from ${clock(from, 1)} to ${clock(to, 1)}`, y + lane.height / 2);
  }
}

/** The window that is selected, at its time. */
function chosen(frame: Frame, window: Window, top: number, rows: number): void {
  const { data } = frame.scene;
  if (window.filling === 0) return;
  const left = frame.x(data.rv[window.since]), right = frame.x(data.rv[window.newest]);
  frame.rect(frame.colours.focus, left, top + (window.time / Math.max(data.end, 1e-9)) * rows - 1, Math.max(2, right - left), 2);
}
