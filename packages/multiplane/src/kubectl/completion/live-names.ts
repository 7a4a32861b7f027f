import { isLogicalClusterPath, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import { kubeconfigPaths, KubeconfigFiles } from '../../kubectl-ws/kubeconfig-files.ts';
import type { CommandModules } from '../../kubectl-ws/commands.ts';
import { parseWorkspaceUrl, resolveWorkspacePath } from '../../kubectl-ws/workspace-url.ts';
import { apiBindings, apiExports } from '../../kubectl-kcp/permission-claims.ts';
import { withSelectedServer, type CommonFlags } from '../options.ts';
import { noFiles, noSpace, type Candidate, type Completion, type NameSource } from './complete.ts';
import type { NameKind } from './completed-names.ts';

/** A shell waits for the names: rather none than late ones. */
const idleTimeoutMs = 3_000;
const workspaceTypes: GroupVersionResource = {
  group: 'tenancy.kcp.io',
  version: 'v1alpha1',
  resource: 'workspacetypes',
};

const shards: GroupVersionResource = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'shards' };

type Modules = Pick<CommandModules, 'client' | 'url'>;

/** Names of the server that the kubeconfig and the flags select. What cannot be read is not completed. */
export class LiveNames implements NameSource {
  readonly #environment: NodeJS.ProcessEnv;
  constructor(options: { readonly environment: NodeJS.ProcessEnv }) {
    this.#environment = options.environment;
  }

  async names(
    kind: Exclude<NameKind, 'file'>,
    prefix: string,
    flags: Readonly<Record<string, unknown>>,
  ): Promise<Completion> {
    let found: Completion = { candidates: [], directive: noFiles };
    const selected = flags as CommonFlags;
    try {
      if (kind === 'context') {
        const files = new KubeconfigFiles(kubeconfigPaths(selected.kubeconfig, this.#environment));
        found = { candidates: files.contexts.map((word) => ({ word })), directive: noFiles };
      } else
        await withSelectedServer({ flags: selected, idleTimeoutMs }, async (modules) => {
          found = await liveNames(kind, prefix, modules);
        });
    } catch {
      // A message would be printed into the command line.
    }
    return { ...found, candidates: found.candidates.filter(({ word }) => word.startsWith(prefix)) };
  }
}

/** The names of a kind in the current workspace, or for paths in the workspace that the prefix names. */
async function liveNames(
  kind: Exclude<NameKind, 'file' | 'context'>,
  prefix: string,
  modules: Modules,
): Promise<Completion> {
  const { client, url } = modules;
  const { path: current } = parseWorkspaceUrl(url);
  switch (kind) {
    case 'workspace':
      return workspaces(prefix, current, modules);
    case 'workspace type': {
      const own = await namesIn(workspaceTypes, current, modules);
      const ofRoot = current === 'root' ? [] : await namesIn(workspaceTypes, 'root', modules);
      return withoutFiles([...own, ...ofRoot.map((name) => `root:${name}`)]);
    }
    case 'export reference': {
      const colon = prefix.lastIndexOf(':');
      const path = colon < 0 ? 'root' : prefix.slice(0, colon);
      if (!isLogicalClusterPath(path)) return withoutFiles([]);
      const [exports, children] = await Promise.all([
        namesIn(apiExports, path, modules),
        client.list(path).catch(() => []),
      ]);
      return {
        candidates: [
          ...exports.map((name): Candidate => ({ word: `${path}:${name}`, description: 'APIExport' })),
          ...children.map(({ name }): Candidate => ({ word: `${path}:${name}:`, description: 'workspace' })),
        ],
        directive: noFiles | noSpace,
      };
    }
    case 'shard':
      return withoutFiles(await namesIn(shards, 'root', modules));
    case 'apiexport':
      return withoutFiles(await namesIn(apiExports, current, modules));
    case 'apibinding':
      return withoutFiles(await namesIn(apiBindings, current, modules));
  }
}

const withoutFiles = (names: readonly string[]): Completion => ({
  candidates: names.map((word) => ({ word })),
  directive: noFiles,
});

/** None where the user may not list them. */
async function namesIn(resource: GroupVersionResource, workspace: string, { client }: Modules): Promise<string[]> {
  const objects = await client.objects.list<KubeObject>(resource, workspace).catch(() => []);
  return objects.map(({ metadata }) => metadata.name ?? '');
}

/** Children of the workspace that a path such as `a:b:`, `..:`, `:root:` or `~:` begins with. */
async function workspaces(prefix: string, current: string, { client }: Modules): Promise<Completion> {
  const colon = prefix.lastIndexOf(':');
  const start = prefix.slice(0, colon + 1);
  if (start === ':') return { candidates: [{ word: ':root', description: 'the root workspace' }], directive: noFiles };
  const above = start.slice(0, -1);
  const parent =
    above === ''
      ? current
      : above === '~' || above.startsWith('~:')
        ? `${await client.home()}${above.slice(1)}`
        : resolveWorkspacePath(current, above).path;
  const children = (await client.list(parent)).filter(({ isDeleting }) => !isDeleting);
  return {
    candidates: children.map(({ name, type }) => ({ word: `${start}${name}`, description: type })),
    directive: noFiles,
  };
}
