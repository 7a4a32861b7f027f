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
import { ignoring } from '../runtime/update-status.ts';

const boundCluster = boundDefinitionsCluster as LogicalClusterName;

/**
 * Brings an APIConversion, also of another shard, to the bound definition of the schema of its name (C2.6): there, where
 * objects are served, nobody has to look for it. A schema never changes, its conversion may.
 */
export function apiConversionController(
  modules: ControllerModules & { readonly globalInformers: InformerSource },
): Controller {
  const { informers, globalInformers, client } = modules;
  const definitions = informers.informer<CustomResourceDefinition>(crds);
  const schemas = globalInformers.informer<APIResourceSchema>(apiResourceSchemas);
  const conversions = globalInformers.informer<APIConversion>(apiConversions);
  const controller: Controller = new Controller({ name: 'apiconversion', reconcile }, modules);
  const touched = (reference: ObjectReference, canWait = false): void =>
    controller.queue.add(keyOf(reference), canWait);
  conversions.addHandlers({
    added: (_object, reference, wasThere) => touched(reference, wasThere),
    updated: (_object, _old, reference) => touched(reference),
    deleted: (_old, reference) => touched(reference),
  });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const name = schemas.get(reference)?.metadata.uid ?? '';
    const definition = definitions.get({ cluster: boundCluster, namespace: '', name });
    if (definition === undefined) return;
    const wanted = conversionsText(conversions.get(reference));
    if (definition.metadata.annotations?.[conversionsAnnotation] === wanted) return;
    await ignoring(['NotFound'], () =>
      client.patch(crds, { cluster: boundCluster, namespace: '', name }, 'application/merge-patch+json', {
        metadata: { annotations: { [conversionsAnnotation]: wanted ?? null } },
      }),
    );
  }
  return controller;
}

/** Value of {@link conversionsAnnotation}; undefined without conversions. */
export function conversionsText(conversion: DeepReadonly<APIConversion> | undefined): string | undefined {
  const conversions = conversion?.spec?.conversions;
  return conversions === undefined ? undefined : JSON.stringify(conversions);
}
