import { isStatusError, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import type { CommandModules } from '../kubectl-ws/commands.ts';
import { parseWorkspaceUrl } from '../kubectl-ws/workspace-url.ts';
import { tableText } from './permission-claims.ts';

const ofScopes = (resource: string): GroupVersionResource => ({
  group: 'scopes.multiplane.dev',
  version: 'v1alpha1',
  resource,
});
const apiExportScopes = ofScopes('apiexportscopes');
const apiExportScopeEndpointSlices = ofScopes('apiexportscopeendpointslices');

/** An APIExportScope, as far as it is shown. */
export type ShownScope = KubeObject & {
  spec?: {
    export: { path?: string; name: string };
    selector: { matchLabels?: Record<string, string>; matchFields?: Record<string, string> };
    assignment?: string;
    transfer?: string;
  };
  status?: {
    conditions?: { type: string; status: string; reason?: string }[];
    shards?: { name: string; objects: number }[];
  };
};

/** An APIExportScopeEndpointSlice. */
export type ScopeSlice = KubeObject & {
  spec?: { scope: { name: string } };
  status?: { endpoints?: { url: string }[] };
};

const header = ['SCOPE', 'APIEXPORT', 'SELECTOR', 'ASSIGNMENT', 'TRANSFER', 'STATE', 'ENDPOINTS', 'OBJECTS'];

/**
 * `kubectl kcp scopes [<apiexport>]`: the APIExportScopes of the workspace, with the number of their endpoints and objects and,
 * where one is not usable, the reason.
 */
export async function showScopes(exportName: string | undefined, { client, url, out }: CommandModules): Promise<void> {
  const { path: workspace } = parseWorkspaceUrl(url);
  let scopes: readonly ShownScope[];
  let slices: readonly ScopeSlice[];
  try {
    [scopes, slices] = await Promise.all([
      client.objects.list<ShownScope>(apiExportScopes, workspace),
      client.objects.list<ScopeSlice>(apiExportScopeEndpointSlices, workspace),
    ]);
  } catch (error) {
    // An unknown group gets 404 without a Status, as in Kubernetes.
    if (!isStatusError(error) || error.code !== 404) throw error;
    throw new Error(
      `workspace ${JSON.stringify(workspace)} has no scopes; to use them: kubectl kcp bind apiexport root:scopes.multiplane.dev`,
      { cause: error },
    );
  }
  const shown = scopes.filter(({ spec }) => exportName === undefined || spec?.export.name === exportName);
  out(tableText([header, ...scopeRows(shown, slices)]));
}

/** One row per scope. */
export function scopeRows(scopes: readonly ShownScope[], slices: readonly ScopeSlice[]): string[][] {
  return scopes.map(({ metadata, spec, status }) => {
    const { name = '' } = metadata;
    const { path = '', name: exported = '' } = spec?.export ?? {};
    const { matchLabels = {}, matchFields = {} } = spec?.selector ?? {};
    const selected = Object.entries({ ...matchLabels, ...matchFields }).map(([key, value]) => `${key}=${value}`);
    const problem = status?.conditions?.find((condition) => condition.status !== 'True');
    const urls = slices
      .filter((slice) => slice.spec?.scope.name === name)
      .flatMap((slice) => slice.status?.endpoints ?? [])
      .map(({ url }) => url);
    return [
      name,
      path === '' ? exported : `${path}:${exported}`,
      selected.join(','),
      spec?.assignment ?? '',
      spec?.transfer ?? '',
      status?.conditions === undefined ? 'Pending' : (problem?.reason ?? 'Ready'),
      String(new Set(urls).size),
      // Of the shards that have counted; before, it is not known.
      status?.shards === undefined ? '' : String(status.shards.reduce((sum, { objects }) => sum + objects, 0)),
    ];
  });
}
