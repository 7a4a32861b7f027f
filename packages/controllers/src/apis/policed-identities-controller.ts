import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiExports,
  apiResourceSchemas,
  boundDefinitionsCluster,
  policedIdentities,
  policedIdentitiesAnnotation,
  schemaClusterAnnotation,
  schemaNameAnnotation,
  type APIExport,
} from '@multiplane/apis';
import type { InformerSource, ObjectReference } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';

const definitionsResource: GroupVersionResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};
const boundCluster = boundDefinitionsCluster as LogicalClusterName;
/** Identities recorded per definition; the oldest are dropped. */
const maxIdentities = 512;

/**
 * Records on each bound definition the identities of the exports of its schema that have a maximal permission policy.
 * Requests use the policy of an existing export; the record keeps consumers restricted after the export is deleted
 * (docs/adr/0057).
 *
 *   export with a policy      → its identity is added
 *   export without a policy   → its identity is removed
 *   export deleted            → the record is kept
 */
export function policedIdentitiesController(
  modules: ControllerModules & { readonly globalInformers: InformerSource },
): Controller {
  const { client, informers, globalInformers } = modules;
  const definitions = informers.informer(definitionsResource);
  const exports = globalInformers.informer<APIExport>(apiExports);
  const schemas = globalInformers.informer(apiResourceSchemas);
  const controller: Controller = new Controller({ name: 'policed-identities', workers: 1, reconcile }, modules);
  definitions.addHandlers({
    added: (_object, { cluster, name }) => {
      if (cluster === boundCluster) controller.queue.add(name);
    },
  });
  const enqueueOfExport = (object: DeepReadonly<APIExport>, { cluster }: ObjectReference): void => {
    for (const { schema } of object.spec?.resources ?? []) {
      const uid = schemas.get({ cluster, namespace: '', name: schema })?.metadata.uid;
      if (uid !== undefined) controller.queue.add(uid);
    }
  };
  exports.addHandlers({
    added: enqueueOfExport,
    updated: (object, _old, reference) => enqueueOfExport(object, reference),
  });

  async function reconcile(name: string): Promise<void> {
    const reference = { cluster: boundCluster, namespace: '', name };
    const definition = definitions.get(reference);
    if (definition === undefined) return;
    const recorded = policedIdentities(definition);
    const text = Array.from(identitiesOf(definition, recorded)).slice(-maxIdentities).join(',');
    if (text === (definition.metadata.annotations?.[policedIdentitiesAnnotation] ?? '')) return;
    await client.patch(definitionsResource, reference, 'application/merge-patch+json', {
      metadata: { annotations: { [policedIdentitiesAnnotation]: text === '' ? null : text } },
    });
  }

  function identitiesOf({ metadata }: DeepReadonly<KubeObject>, recorded: ReadonlySet<string>): Set<string> {
    const identities = new Set(recorded);
    const cluster = metadata.annotations?.[schemaClusterAnnotation] as LogicalClusterName | undefined;
    const schema = metadata.annotations?.[schemaNameAnnotation];
    if (cluster === undefined) return identities;
    for (const { spec, status } of exports.list({ cluster })) {
      const hash = status?.identityHash;
      if (hash === undefined || spec?.resources?.some((resource) => resource.schema === schema) !== true) continue;
      if (spec.maximalPermissionPolicy?.local === undefined) identities.delete(hash);
      else identities.add(hash);
    }
    return identities;
  }
  return controller;
}
