import { clusterAnnotation, isStatusError, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiConversions,
  boundDefinitionsCluster,
  conversionsAnnotation,
  definitionOfSchema,
  type APIConversion,
  type APIResourceSchema,
} from '@multiplane/apis';
import type { InformerSource, Lister } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { crds, noTakenNames, type CrdNames, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { definitionStatus } from '../apiextensions/definition-status.ts';
import type { UpdateWithStatus } from '../runtime/object-writes.ts';
import { formatConversions } from './api-conversion-controller.ts';

export interface BoundCRDCreatorModules {
  /** Conversions of all shards. */
  readonly globalInformers: InformerSource;
  readonly clock: Clock;
  /** Creates an object with its status in one write. */
  readonly createWithStatus: UpdateWithStatus;
}

/**
 * Creates the CustomResourceDefinitions of bound schemas in `system:bound-crds`, one request per schema however many
 * bindings need it at the same time.
 *
 * Definitions there do not compete for names, so the status that the CRD controller would give is known in advance: the
 * definition is created established, and its bindings wait for one write.
 */
export class BoundCRDCreator {
  readonly #modules: BoundCRDCreatorModules;
  readonly #conversions: Lister<APIConversion>;
  readonly #inFlight = new Map<string, Promise<string | undefined>>();

  constructor(modules: BoundCRDCreatorModules) {
    this.#modules = modules;
    this.#conversions = modules.globalInformers.informer<APIConversion>(apiConversions);
  }

  /** Resolves to undefined if the definition exists, or to kcp's message if the schema is not a valid definition. */
  create(schema: DeepReadonly<APIResourceSchema>): Promise<string | undefined> {
    const { uid = '' } = schema.metadata;
    let result = this.#inFlight.get(uid);
    if (result === undefined) {
      result = this.#create(schema).finally(() => this.#inFlight.delete(uid));
      this.#inFlight.set(uid, result);
    }
    return result;
  }

  async #create(schema: DeepReadonly<APIResourceSchema>): Promise<string | undefined> {
    const { name = '', annotations } = schema.metadata;
    const cluster = (annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
    const definition = definitionOfSchema(schema) as CustomResourceDefinition;
    definition.spec.names = withDefaults(definition.spec.names);
    const conversions = formatConversions(this.#conversions.get({ cluster, namespace: '', name }));
    if (conversions !== undefined)
      definition.metadata.annotations = { ...definition.metadata.annotations, [conversionsAnnotation]: conversions };
    const { createWithStatus, clock } = this.#modules;
    const storedVersions = definition.spec.versions.filter(({ storage }) => storage).map((version) => version.name);
    const status = { ...definitionStatus(definition, noTakenNames, new Date(clock.now())), storedVersions };
    try {
      await createWithStatus(crds, boundDefinitionsCluster as LogicalClusterName, { ...definition, status });
    } catch (error) {
      if (isStatusError(error, 'Invalid')) {
        // Errors about names are reported for spec.names already.
        const causes = (error.details?.causes ?? [])
          .filter(({ field = '' }) => !field.startsWith('status.acceptedNames'))
          .map(({ reason = '', message = '', field = '' }) => `{${reason} ${message} ${field}}`);
        return `APIResourceSchema ${cluster}|${name} is invalid: [${causes.join(' ')}]`;
      }
      if (!isStatusError(error, 'AlreadyExists')) throw error;
    }
    return undefined;
  }
}

/** The defaults that the API server sets for the names of a CustomResourceDefinition. */
function withDefaults(names: CrdNames): CrdNames {
  const { kind, singular = '', listKind = '' } = names;
  return {
    ...names,
    singular: singular === '' ? kind.toLowerCase() : singular,
    listKind: listKind === '' ? `${kind}List` : listKind,
  };
}
