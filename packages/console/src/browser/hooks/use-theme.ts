import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const key = 'multiplane-theme';
const listeners = new Set<() => void>();

const read = (): Theme => {
  const stored = localStorage.getItem(key);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
};

/** Before the first paint, so that a dark page does not flash white. */
export function applyTheme(): void {
  const theme = read();
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const theme = useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, read);
  const set = (next: Theme): void => {
    localStorage.setItem(key, next);
    applyTheme();
    for (const listener of listeners) listener();
  };
  return [theme, set];
}
