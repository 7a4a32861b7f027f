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
/** Exports of one schema whose policies are remembered; beyond, the one that came first is forgotten. */
const mostIdentities = 512;

/**
 * Remembers on each bound definition which of the exports that offer its schema have a maximal permission policy. While an
 * export is there, its own spec counts; the note is for when it is gone, and consumers must not be allowed more because
 * of that (issue 6 §3).
 *
 *   export with a policy     → its identity is noted
 *   export without           → its identity is struck out
 *   export gone              → what was noted stays
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
  const offered = (object: DeepReadonly<APIExport>, { cluster }: ObjectReference): void => {
    for (const { schema } of object.spec?.resources ?? []) {
      const uid = schemas.get({ cluster, namespace: '', name: schema })?.metadata.uid;
      if (uid !== undefined) controller.queue.add(uid);
    }
  };
  exports.addHandlers({ added: offered, updated: (object, _old, reference) => offered(object, reference) });

  async function reconcile(name: string): Promise<void> {
    const reference = { cluster: boundCluster, namespace: '', name };
    const definition = definitions.get(reference);
    if (definition === undefined) return;
    const noted = policedIdentities(definition);
    const text = Array.from(identitiesOf(definition, noted)).slice(-mostIdentities).join(',');
    if (text === (definition.metadata.annotations?.[policedIdentitiesAnnotation] ?? '')) return;
    await client.patch(definitionsResource, reference, 'application/merge-patch+json', {
      metadata: { annotations: { [policedIdentitiesAnnotation]: text === '' ? null : text } },
    });
  }

  function identitiesOf({ metadata }: DeepReadonly<KubeObject>, noted: ReadonlySet<string>): Set<string> {
    const identities = new Set(noted);
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
