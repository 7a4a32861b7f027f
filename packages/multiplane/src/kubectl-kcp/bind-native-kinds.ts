import { isStatusError, type KubeObject } from '@multiplane/apimachinery';
import { suggestionText } from '@multiplane/component-base';
import type { CommandModules } from '../kubectl-ws/commands.ts';
import { poll } from '../kubectl-ws/poll.ts';
import { parseWorkspaceUrl } from '../kubectl-ws/workspace-url.ts';
import { failedConditions } from './bind-api-export.ts';
import { apiBindings, type Binding } from './permission-claims.ts';

/** Exports of root with Kubernetes' own kinds, by API group; `core` is the group without a name. */
const nativeGroups = [
  'core',
  'apps',
  'autoscaling',
  'batch',
  'discovery.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'policy',
  'scheduling.k8s.io',
  'storage.k8s.io',
] as const;

const root = 'root';

/**
 * `kubectl kcp bind native-kinds`: binds the exports of these groups, all without any, and waits until they are bound. Bindings that
 * exist already stay, so the command can be repeated. Throws for an unknown group, and for a binding that is not bound in time.
 */
export async function bindNativeKinds(
  { groups, timeoutMs }: { readonly groups: readonly string[]; readonly timeoutMs: number },
  { client, url, out }: CommandModules,
): Promise<void> {
  const known: readonly string[] = nativeGroups;
  for (const group of groups)
    if (!known.includes(group))
      throw new Error(
        `no native kinds in group ${JSON.stringify(group)}${suggestionText(group, known)}; the groups are ${known.join(', ')}`,
      );
  const { path: workspace } = parseWorkspaceUrl(url);
  const wanted = groups.length === 0 ? known : [...new Set(groups)];
  for (const group of wanted) await createBinding(group, workspace, client);
  let waiting: readonly string[] = wanted;
  const last = new Map<string, Binding>();
  const isBound = await poll(timeoutMs, async () => {
    for (const group of waiting)
      last.set(group, await client.objects.get<Binding>(apiBindings, { workspace, name: group }));
    waiting = waiting.filter((group) => last.get(group)?.status?.phase !== 'Bound');
    return waiting.length === 0 ? true : undefined;
  });
  for (const group of wanted) if (!waiting.includes(group)) out(`${group}: ${resourcesOf(last.get(group)).join(', ')}`);
  if (isBound === undefined)
    throw new Error(
      `could not bind ${waiting.map((group) => group + failedConditions(last.get(group))).join(', ')}: context deadline exceeded`,
    );
}

async function createBinding(name: string, workspace: string, client: CommandModules['client']): Promise<void> {
  const binding: KubeObject = {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name },
    spec: { reference: { export: { path: root, name } } },
  };
  try {
    await client.objects.create(apiBindings, workspace, binding);
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists'))
      throw new Error(`failed to create APIBinding ${name}: ${(error as Error).message}`, { cause: error });
    const { spec } = await client.objects.get<Binding>(apiBindings, { workspace, name });
    const { path, name: exported } = spec?.reference?.export ?? {};
    if (path !== root || exported !== name)
      throw new Error(`APIBinding ${name} exists and is for another export: ${path ?? ''}:${exported ?? ''}`, {
        cause: error,
      });
  }
}

const resourcesOf = (binding: Binding | undefined): string[] =>
  (binding?.status?.boundResources ?? []).map(({ resource }) => resource).toSorted();
