import { basePath } from './base-path.ts';

/** Any origin: only the path of the result is used. */
const origin = 'https://console.invalid';
const notPages = ['assets/', 'login/', 'proxy/', 'operator/', 'session', 'logout', 'kubeconfig'];

/**
 * Where a log-in leads: `asked` if it is a page of the console, else its start. What a browser makes of the text decides, not the
 * text: browsers drop tabs and line ends and read a backslash as a slash.
 */
export function returnTo(asked: unknown): string {
  if (typeof asked !== 'string' || !URL.canParse(asked, origin)) return basePath;
  const url = new URL(asked, origin);
  if (url.origin !== origin || !url.pathname.startsWith(basePath)) return basePath;
  const below = url.pathname.slice(basePath.length);
  if (notPages.some((prefix) => below.startsWith(prefix))) return basePath;
  return url.pathname + url.search + url.hash;
}
