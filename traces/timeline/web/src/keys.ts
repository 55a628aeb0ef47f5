// What keys do while the lanes have the focus, and a few everywhere.

import { byId } from "./dom";
import type { Page } from "./main";

type Keys = Record<string, (shift: boolean) => void>;

export function listen(target: HTMLElement, page: Page): void {
  const { view } = page, pan = (share: number) => view.panBy(share * view.width);
  const lanes: Keys = {
    ArrowLeft: (shift) => (shift ? pan(-0.2) : page.stepItem(-1)),
    ArrowRight: (shift) => (shift ? pan(0.2) : page.stepItem(1)),
    ArrowUp: () => page.stepLane(-1),
    ArrowDown: () => page.stepLane(1),
    a: () => pan(-0.2),
    d: () => pan(0.2),
    w: () => page.zoom(1.5),
    s: () => page.zoom(1 / 1.5),
    "+": () => page.zoom(1.5),
    "=": () => page.zoom(1.5),
    "-": () => page.zoom(1 / 1.5),
    "0": () => view.showAll(),
    Home: () => view.centre(view.whole[0]),
    End: () => view.centre(view.whole[1]),
    Enter: () => byId("details").focus(),
  };
  const everywhere: Keys = {
    x: () => page.setAxis(view.axis === "time" ? "rv" : "time"),
    v: () => page.stepMark(1),
    V: () => page.stepMark(-1),
    t: () => page.toggleTable(),
    "/": () => byId("search").focus(),
    l: () => page.nextTheme(),
    "?": () => page.showHelp(),
    Escape: () => page.unselect(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement) return; // which has keys of its own
    const onLanes = event.target === target || event.target === document.body;
    const does = everywhere[event.key] ?? (onLanes ? lanes[event.key] : undefined);
    if (!does) return;
    event.preventDefault();
    does(event.shiftKey);
  });
}
