import type { ApiResource } from './discovery.ts';

/**
 * What is asked for in the search of the console:
 *
 * ```
 *   team            pages, workspaces and resources with this in their names
 *   root:team       workspaces below `root` whose names begin with `team`
 *   configmaps foo  objects of a resource with this in their names
 * ```
 */
export interface PaletteQuery {
  /** Lower case. */
  readonly text: string;
  /** The workspace whose children are meant, and how their names begin. */
  readonly workspace: { readonly parent: string; readonly prefix: string } | undefined;
  readonly objects: { readonly resource: ApiResource; readonly name: string } | undefined;
}

export function parsePaletteQuery(input: string, resources: readonly ApiResource[]): PaletteQuery {
  const text = input.trimStart().toLowerCase();
  const space = text.indexOf(' ');
  if (space > 0) {
    const name = text.slice(0, space);
    const resource = resources.find((candidate) => isNamed(candidate, name) && candidate.verbs.includes('list'));
    if (resource !== undefined)
      return { text, workspace: undefined, objects: { resource, name: text.slice(space + 1).trim() } };
  }
  const colon = text.lastIndexOf(':');
  const workspace = colon <= 0 ? undefined : { parent: text.slice(0, colon), prefix: text.slice(colon + 1).trim() };
  return { text: text.trim(), workspace, objects: undefined };
}

/** As `kubectl` names it: by its plural, singular, kind or short name, with or without the group. */
function isNamed({ resource, singular, kind, shortNames, group }: ApiResource, name: string): boolean {
  const names = [resource, singular, kind.toLowerCase(), ...shortNames];
  return names.some((own) => own !== '' && (own === name || (group !== '' && `${own}.${group}` === name)));
}

/** Better matches first: equal, at the begin, at the begin of a word, anywhere; undefined for none. */
export function matchRank(candidate: string, text: string): number | undefined {
  const lower = candidate.toLowerCase();
  const at = lower.indexOf(text);
  if (at < 0) return undefined;
  if (lower === text) return 0;
  if (at === 0) return 1;
  return /[^a-z0-9]/.test(lower[at - 1] ?? '') ? 2 : 3;
}
