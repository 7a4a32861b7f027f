let counter = 0;

/** A suffix of its own for each scenario; six characters, beginning with a letter. */
export function runName(key: string): string {
  let hash = 7;
  for (const char of key) hash = (hash * 31 + char.charCodeAt(0)) >>> 0;
  return `r${hash.toString(36).padStart(5, '0').slice(-4)}${(counter++ % 36).toString(36)}`;
}
