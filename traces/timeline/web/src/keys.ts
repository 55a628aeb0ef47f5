// What keys do while the lanes have the focus, and a few everywhere.

export interface Keyed {
  pan(share: number): void;
  zoom(factor: number): void;
  all(): void;
  ends(last: boolean): void;
  lane(step: number): void;
  item(step: number): void;
  enter(): void;
  axis(): void;
  violation(step: number): void;
  table(): void;
  search(): void;
  theme(): void;
  help(): void;
  leave(): void;
}

export function listen(target: HTMLElement, keyed: Keyed): void {
  const lanes: Record<string, (shift: boolean) => void> = {
    ArrowLeft: (shift) => (shift ? keyed.pan(-0.2) : keyed.item(-1)),
    ArrowRight: (shift) => (shift ? keyed.pan(0.2) : keyed.item(1)),
    ArrowUp: () => keyed.lane(-1),
    ArrowDown: () => keyed.lane(1),
    a: () => keyed.pan(-0.2),
    d: () => keyed.pan(0.2),
    w: () => keyed.zoom(1.5),
    s: () => keyed.zoom(1 / 1.5),
    "+": () => keyed.zoom(1.5),
    "=": () => keyed.zoom(1.5),
    "-": () => keyed.zoom(1 / 1.5),
    "0": () => keyed.all(),
    Home: () => keyed.ends(false),
    End: () => keyed.ends(true),
    Enter: () => keyed.enter(),
  };
  const everywhere: Record<string, (shift: boolean) => void> = {
    x: () => keyed.axis(),
    v: () => keyed.violation(1),
    V: () => keyed.violation(-1),
    t: () => keyed.table(),
    "/": () => keyed.search(),
    l: () => keyed.theme(),
    "?": () => keyed.help(),
    Escape: () => keyed.leave(),
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
