import { isLogicalClusterPath } from '@multiplane/apimachinery';

/** The parts of a server URL: `https://host/prefix` and the workspace path after `/clusters/`. */
export interface WorkspaceUrl {
  readonly base: string;
  readonly path: string;
}

/** Throws the text of kcp's plugin for a URL that is not of a workspace. */
export function parseWorkspaceUrl(server: string): WorkspaceUrl {
  const marker = '/clusters/';
  const at = server.indexOf(marker);
  if (at < 0) throw new Error(`current cluster URL ${server} is not pointing to a workspace`);
  const path = server.slice(at + marker.length).replace(/\/$/, '');
  if (!isLogicalClusterPath(path)) throw new Error(`invalid cluster name: ${JSON.stringify(path)}`);
  return { base: server.slice(0, at), path };
}

export function workspaceUrl({ base, path }: WorkspaceUrl): string {
  return `${base}/clusters/${path}`;
}

/** Resolves an argument of `kubectl ws` against the current path. */
export function resolveWorkspacePath(current: string, argument: string): { path: string; note?: string } {
  const text = argument.replaceAll('/', ':').replace(/:+$/, (colons) => (argument.length === colons.length ? ':' : ''));
  if (text === ':') return { path: current.split(':')[0] as string };
  if (text.startsWith(':')) return { path: checked(text.slice(1), text) };
  if (text === 'root' || text.startsWith('root:')) {
    return {
      path: checked(text, text),
      note: "Note: Using 'root:' to define an absolute path is no longer supported. Instead, use ':root' to specify an absolute path.",
    };
  }
  const segments = current.split(':');
  for (const segment of text.split(':')) {
    if (segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (segments.length > 1) segments.pop();
    else throw new Error(`invalid workspace path: ${text}`);
  }
  return { path: checked(segments.join(':'), text) };
}

function checked(path: string, text: string): string {
  if (!isLogicalClusterPath(path)) throw new Error(`invalid workspace path: ${text}`);
  return path;
}
