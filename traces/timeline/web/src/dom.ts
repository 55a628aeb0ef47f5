// Elements of the page. Text goes in as text: nothing of a history ever becomes
// markup.

type Child = Node | string;

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, string> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function byId<T extends HTMLElement>(id: string): T { return document.getElementById(id) as T; }

export function button(text: string, attributes: Record<string, string>, click: () => void): HTMLButtonElement {
  const element = el("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", click);
  return element;
}

/** A table of names and values. */
export function definitions(rows: [string, string][]): HTMLElement {
  const list = el("dl");
  for (const [name, value] of rows) list.append(el("dt", {}, name), el("dd", {}, value));
  return list;
}
