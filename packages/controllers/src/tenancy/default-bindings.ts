import type { DeepReadonly } from '@multiplane/apimachinery';
import type { WorkspaceType } from './kinds.ts';
import { typePathOf } from './workspace-type-closure.ts';

/** Exports of the root workspace whose kinds every logical cluster serves: there is nothing to bind. */
const servedEverywhere = new Set(['root:tenancy.kcp.io', 'root:topology.kcp.io']);

/** The default exports of a workspace's types that are not served in it: `<path>|<name>`, each once. */
export function unservedExports(closure: readonly DeepReadonly<WorkspaceType>[]): string[] {
  const unserved = new Set<string>();
  for (const type of closure) {
    for (const { path = typePathOf(type), export: name } of type.spec?.defaultAPIBindings ?? [])
      if (!servedEverywhere.has(`${path}:${name}`)) unserved.add(`${path}|${name}`);
  }
  return [...unserved];
}
