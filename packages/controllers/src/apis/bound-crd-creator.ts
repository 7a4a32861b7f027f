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
import { crds, nothingTaken, type CrdNames, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { definitionStatus } from '../apiextensions/definition-status.ts';
import type { UpdateWhole } from '../runtime/update-status.ts';
import { conversionsText } from './api-conversion-controller.ts';

export interface BoundDefinitionModules {
  readonly globalInformers: InformerSource;
  readonly clock: Clock;
  /** Makes an object with its status, in one write. */
  readonly createWhole: UpdateWhole;
}

/**
 * Makes the definitions of bound schemas in `system:bound-crds` (C5.11). A hundred bindings that need the same one at the
 * same moment ask for it once.
 *
 * No name is taken there, so what the controller of definitions will say of one is known from its first moment, and it is
 * made established: whoever waits for it waits for one write.
 */
export class BoundDefinitionMaker {
  readonly #modules: BoundDefinitionModules;
  readonly #conversions: Lister<APIConversion>;
  readonly #underWay = new Map<string, Promise<string | undefined>>();

  constructor(modules: BoundDefinitionModules) {
    this.#modules = modules;
    this.#conversions = modules.globalInformers.informer<APIConversion>(apiConversions);
  }

  /** Undefined: it is there; a text: why the schema cannot be a definition, as kcp tells it. */
  make(schema: DeepReadonly<APIResourceSchema>): Promise<string | undefined> {
    const { uid = '' } = schema.metadata;
    let result = this.#underWay.get(uid);
    if (result === undefined) {
      result = this.#create(schema).finally(() => this.#underWay.delete(uid));
      this.#underWay.set(uid, result);
    }
    return result;
  }

  async #create(schema: DeepReadonly<APIResourceSchema>): Promise<string | undefined> {
    const { name = '', annotations } = schema.metadata;
    const cluster = (annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
    const definition = definitionOfSchema(schema) as CustomResourceDefinition;
    definition.spec.names = completeNames(definition.spec.names);
    const conversion = conversionsText(this.#conversions.get({ cluster, namespace: '', name }));
    if (conversion !== undefined)
      definition.metadata.annotations = { ...definition.metadata.annotations, [conversionsAnnotation]: conversion };
    const { createWhole, clock } = this.#modules;
    const stored = definition.spec.versions.filter(({ storage }) => storage).map((version) => version.name);
    const status = {
      ...definitionStatus(definition, nothingTaken, new Date(clock.now())),
      storedVersions: stored,
    };
    try {
      await createWhole(crds, boundDefinitionsCluster as LogicalClusterName, { ...definition, status });
    } catch (error) {
      if (isStatusError(error, 'Invalid')) {
        // What is wrong with a name has been said of the spec.
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

/** What a definition's names leave open, as the API fills it in. */
function completeNames(names: CrdNames): CrdNames {
  const { kind, singular = '', listKind = '' } = names;
  return {
    ...names,
    singular: singular === '' ? kind.toLowerCase() : singular,
    listKind: listKind === '' ? `${kind}List` : listKind,
  };
}
