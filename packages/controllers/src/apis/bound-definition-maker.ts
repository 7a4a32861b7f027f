import { clusterAnnotation, isStatusError, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiConversions,
  boundDefinitionsCluster,
  conversionsAnnotation,
  definitionOfSchema,
  type APIConversion,
  type APIResourceSchema,
} from '@multiplane/apis';
import type { InformerSource, Lister, ObjectClient } from '@multiplane/client';
import { crds } from '../apiextensions/crd-names.ts';
import { conversionsText } from './api-conversion-controller.ts';

/**
 * Makes the definitions of bound schemas in `system:bound-crds` (C5.11). A hundred bindings that need the same one at the
 * same moment ask for it once.
 */
export class BoundDefinitionMaker {
  readonly #client: ObjectClient;
  readonly #conversions: Lister<APIConversion>;
  readonly #underWay = new Map<string, Promise<string | undefined>>();

  constructor(modules: { readonly client: ObjectClient; readonly globalInformers: InformerSource }) {
    this.#client = modules.client;
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
    const definition = definitionOfSchema(schema);
    const conversion = conversionsText(this.#conversions.get({ cluster, namespace: '', name }));
    if (conversion !== undefined)
      definition.metadata.annotations = { ...definition.metadata.annotations, [conversionsAnnotation]: conversion };
    try {
      await this.#client.create(crds, boundDefinitionsCluster as LogicalClusterName, definition);
    } catch (error) {
      if (isStatusError(error, 'Invalid')) {
        const causes = (error.details?.causes ?? []).map(
          ({ reason = '', message = '', field = '' }) => `{${reason} ${message} ${field}}`,
        );
        return `APIResourceSchema ${cluster}|${name} is invalid: [${causes.join(' ')}]`;
      }
      if (!isStatusError(error, 'AlreadyExists')) throw error;
    }
    return undefined;
  }
}
