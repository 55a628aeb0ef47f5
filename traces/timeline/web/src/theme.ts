// Light or dark: what the system prefers, until somebody switches.

const next = { auto: "light", light: "dark", dark: "auto" } as const;
type Theme = keyof typeof next;

/** Takes the next theme and returns its name. */
export function switchTheme(): Theme {
  const theme = next[(document.documentElement.dataset.theme as Theme) ?? "auto"];
  document.documentElement.dataset.theme = theme;
  return theme;
}

/** Calls back whenever the colours have changed by themselves. */
export function watchTheme(changed: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
