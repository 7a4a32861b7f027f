import { type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  boundDefinitionsCluster,
  claimKey,
  schemaClusterAnnotation,
  schemaNameAnnotation,
  type APIBinding,
  type APIExport,
} from '@multiplane/apis';
import type { InformerSource } from '@multiplane/client';
import { crds, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { ignoring } from '../runtime/update-status.ts';

const boundCluster = boundDefinitionsCluster as LogicalClusterName;
const unusedMs = 30 * 60_000;

/**
 * Deletes definitions in `system:bound-crds` that no binding of the shard has used for half an hour (C5.15): bound
 * resources by the uid of their schema, accepted claims by the identity of an export that has the schema.
 *
 * Uses are counted as bindings come, change and go: one number per schema and claim, however many bindings there are. So
 * asking whether a definition is used looks at no workspace, and only a definition that is not used has a timer. A
 * binding that begins to use it while it goes makes it anew.
 */
export function boundDefinitionCleanupController(
  modules: ControllerModules & { readonly globalInformers: InformerSource },
): Controller {
  const { informers, globalInformers, client, clock } = modules;
  const bindings = informers.informer<APIBinding>(apiBindings);
  const definitions = informers.informer<CustomResourceDefinition>(crds);
  const exports = globalInformers.informer<APIExport>(apiExports);
  const controller: Controller = new Controller({ name: 'bound-definition-cleanup', reconcile, workers: 1 }, modules);
  const uses = new Map<string, number>();
  /** Definitions that are not used, and when their half hour is over. */
  const unused = new Map<string, number>();

  const look = (name: string): void => controller.queue.add(name);
  const count = (binding: DeepReadonly<APIBinding>, by: 1 | -1): void => {
    for (const use of usesOf(binding)) {
      const uid = use.startsWith(uidUse) ? use.slice(uidUse.length) : undefined;
      const left = (uses.get(use) ?? 0) + by;
      if (left > 0) uses.set(use, left);
      else uses.delete(use);
      if (uid === undefined) {
        // Seldom: the last claim of its kind on the shard.
        if (left <= 0)
          for (const { metadata } of definitions.list({ cluster: boundCluster })) look(metadata.name ?? '');
      } else if (left > 0) {
        unused.delete(uid);
      } else {
        look(uid);
      }
    }
  };
  bindings.addHandlers({
    added: (binding) => count(binding, 1),
    updated: (binding, old) => {
      count(binding, 1);
      count(old, -1);
    },
    deleted: (old) => count(old, -1),
  });
  definitions.addHandlers({
    added: (_definition, { cluster, name }) => {
      if (cluster === boundCluster) controller.queue.add(name);
    },
    deleted: (_old, { cluster, name }) => {
      if (cluster === boundCluster) unused.delete(name);
    },
  });

  async function reconcile(name: string): Promise<number | void> {
    const definition = definitions.get({ cluster: boundCluster, namespace: '', name });
    if (definition === undefined || definition.metadata.deletionTimestamp !== undefined || isUsed(definition)) {
      unused.delete(name);
      return;
    }
    const due = unused.get(name) ?? clock.monotonic() + unusedMs;
    unused.set(name, due);
    const left = due - clock.monotonic();
    if (left > 0) return left;
    const { uid } = definition.metadata;
    await ignoring(['NotFound', 'Conflict'], () =>
      client.delete(crds, { cluster: boundCluster, namespace: '', name }, { preconditions: { uid } }),
    );
    unused.delete(name);
  }

  function isUsed({ metadata, spec }: DeepReadonly<CustomResourceDefinition>): boolean {
    if (uses.has(`${uidUse}${metadata.name ?? ''}`)) return true;
    const cluster = (metadata.annotations?.[schemaClusterAnnotation] ?? '') as LogicalClusterName;
    const schema = metadata.annotations?.[schemaNameAnnotation] ?? '';
    return exports.list({ cluster }).some(({ spec: offered, status }) => {
      if (offered?.resources?.some((resource) => resource.schema === schema) !== true) return false;
      const identityHash = status?.identityHash ?? '';
      return uses.has(claimUse + claimKey({ group: spec.group, resource: spec.names.plural, identityHash }));
    });
  }
  return controller;
}

const uidUse = 'uid:';
const claimUse = 'claim:';

function usesOf({ spec, status }: DeepReadonly<APIBinding>): Set<string> {
  const found = new Set<string>();
  for (const { schema } of status?.boundResources ?? []) found.add(uidUse + schema.UID);
  for (const claim of spec?.permissionClaims ?? [])
    if (claim.state === 'Accepted' && (claim.identityHash ?? '') !== '') found.add(claimUse + claimKey(claim));
  return found;
}
