import { type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiConversions,
  apiResourceSchemas,
  boundDefinitionsCluster,
  conversionsAnnotation,
  type APIConversion,
  type APIResourceSchema,
} from '@multiplane/apis';
import type { InformerSource, ObjectReference } from '@multiplane/client';
import { crds, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons } from '../runtime/object-writes.ts';

const boundCluster = boundDefinitionsCluster as LogicalClusterName;

/**
 * Copies an APIConversion of any shard to an annotation of the bound definition of the APIResourceSchema with the same
 * name, where the API server reads it. Schemas are immutable, conversions are not.
 */
export function apiConversionController(
  modules: ControllerModules & { readonly globalInformers: InformerSource },
): Controller {
  const { informers, globalInformers, client } = modules;
  const definitions = informers.informer<CustomResourceDefinition>(crds);
  const schemas = globalInformers.informer<APIResourceSchema>(apiResourceSchemas);
  const conversions = globalInformers.informer<APIConversion>(apiConversions);
  const controller: Controller = new Controller({ name: 'apiconversion', reconcile }, modules);
  const enqueue = (reference: ObjectReference, isLowPriority = false): void =>
    controller.queue.add(keyOf(reference), isLowPriority);
  conversions.addHandlers({
    added: (_object, reference, isInInitialList) => enqueue(reference, isInInitialList),
    updated: (_object, _old, reference) => enqueue(reference),
    deleted: (_old, reference) => enqueue(reference),
  });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const name = schemas.get(reference)?.metadata.uid ?? '';
    const definition = definitions.get({ cluster: boundCluster, namespace: '', name });
    if (definition === undefined) return;
    const wanted = formatConversions(conversions.get(reference));
    if (definition.metadata.annotations?.[conversionsAnnotation] === wanted) return;
    await ignoreReasons(['NotFound'], () =>
      client.patch(crds, { cluster: boundCluster, namespace: '', name }, 'application/merge-patch+json', {
        metadata: { annotations: { [conversionsAnnotation]: wanted ?? null } },
      }),
    );
  }
  return controller;
}

/** Value of {@link conversionsAnnotation}; undefined without conversions. */
export function formatConversions(conversion: DeepReadonly<APIConversion> | undefined): string | undefined {
  const conversions = conversion?.spec?.conversions;
  return conversions === undefined ? undefined : JSON.stringify(conversions);
}
