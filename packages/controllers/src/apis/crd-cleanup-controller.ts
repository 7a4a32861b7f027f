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
import { ignoreReasons } from '../runtime/object-writes.ts';

const boundCluster = boundDefinitionsCluster as LogicalClusterName;
const retentionMs = 30 * 60_000;

/**
 * Deletes definitions in `system:bound-crds` that no binding of the shard has used for half an hour (kcp:
 * pkg/reconciler/apis/crdcleanup). Bound resources use a definition by the uid of its schema, accepted claims by the
 * identity of an export that has the schema.
 *
 * Handlers count the uses: one number per schema and claim, however many bindings there are. Only an unused definition has
 * a timer. A binding that needs a definition while it is being deleted creates it again.
 */
export function crdCleanupController(
  modules: ControllerModules & { readonly globalInformers: InformerSource },
): Controller {
  const { informers, globalInformers, client, clock } = modules;
  const bindings = informers.informer<APIBinding>(apiBindings);
  const definitions = informers.informer<CustomResourceDefinition>(crds);
  const exports = globalInformers.informer<APIExport>(apiExports);
  const controller: Controller = new Controller({ name: 'crd-cleanup', reconcile, workers: 1 }, modules);
  const uses = new Map<string, number>();
  /** When unused definitions are due for deletion, by name; monotonic milliseconds. */
  const deleteAt = new Map<string, number>();

  const count = (binding: DeepReadonly<APIBinding>, by: 1 | -1): void => {
    for (const use of usesOf(binding)) {
      const uid = use.startsWith(uidUse) ? use.slice(uidUse.length) : undefined;
      const left = (uses.get(use) ?? 0) + by;
      if (left > 0) uses.set(use, left);
      else uses.delete(use);
      if (uid === undefined) {
        // Rare: the last such claim on the shard is gone. Any definition may be the claimed one.
        if (left <= 0)
          for (const { metadata } of definitions.list({ cluster: boundCluster }))
            controller.queue.add(metadata.name ?? '');
      } else if (left > 0) {
        deleteAt.delete(uid);
      } else {
        controller.queue.add(uid);
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
      if (cluster === boundCluster) deleteAt.delete(name);
    },
  });

  async function reconcile(name: string): Promise<number | void> {
    const definition = definitions.get({ cluster: boundCluster, namespace: '', name });
    if (definition === undefined || definition.metadata.deletionTimestamp !== undefined || isUsed(definition)) {
      deleteAt.delete(name);
      return;
    }
    const due = deleteAt.get(name) ?? clock.monotonic() + retentionMs;
    deleteAt.set(name, due);
    const left = due - clock.monotonic();
    if (left > 0) return left;
    const { uid } = definition.metadata;
    await ignoreReasons(['NotFound', 'Conflict'], () =>
      client.delete(crds, { cluster: boundCluster, namespace: '', name }, { preconditions: { uid } }),
    );
    deleteAt.delete(name);
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
