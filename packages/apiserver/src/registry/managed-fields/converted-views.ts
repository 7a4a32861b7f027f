import {
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  type TypedObject,
  type VersionedViews,
  asJson,
  deepCopy,
  encodeJson,
} from '@multiplane/apimachinery';
import type { ResourceDefinition, WebhookConversion } from '@multiplane/apis';
import type { RequestWork } from '@multiplane/component-base';
import type { ObjectConversions } from '../conversion/object-conversions.ts';

/** Thrown by {@link ConvertedViews.convert} for a conversion that the webhook has not been asked for yet. */
class ConversionNeeded extends Error {
  readonly key: string;
  readonly object: DeepReadonly<KubeObject>;
  readonly desired: string;

  constructor(key: string, object: DeepReadonly<KubeObject>, desired: string) {
    super('a conversion is needed');
    this.key = key;
    this.object = object;
    this.desired = desired;
  }
}

export interface ConvertedViewsModules {
  readonly conversion: WebhookConversion;
  readonly conversions: Pick<ObjectConversions, 'ofObject'>;
  readonly versionOf: (apiVersion: string) => Pick<ResourceDefinition, 'schema'> | undefined;
  readonly signal: AbortSignal;
  readonly work: RequestWork;
}

/**
 * An object in the versions of its managers, converted by a webhook.
 *
 * The computation of ownership is synchronous and does not modify its input. When it needs a conversion that is missing, it
 * is aborted by {@link ConversionNeeded}, the webhook is called, and the computation restarts with the result. It ends
 * after as many calls as there are versions; most objects have managers of one version and need none.
 */
export class ConvertedViews implements VersionedViews {
  readonly #modules: ConvertedViewsModules;
  readonly #known = new Map<string, DeepReadonly<JsonObject>>();

  constructor(modules: ConvertedViewsModules) {
    this.#modules = modules;
  }

  schema(apiVersion: string): VersionedViews['schema'] extends (version: string) => infer T ? T : never {
    return this.#modules.versionOf(apiVersion)?.schema.typed;
  }

  convert({ value }: TypedObject, from: string, to: string): TypedObject | undefined {
    const target = this.#modules.versionOf(to);
    if (target === undefined || this.#modules.versionOf(from) === undefined) return undefined;
    const key = `${to} ${encodeJson(value)}`;
    const known = this.#known.get(key);
    if (known === undefined) throw new ConversionNeeded(key, value as DeepReadonly<KubeObject>, to);
    return { value: known, schema: target.schema.typed };
  }

  /** Runs a computation until all conversions that it needs are available. */
  async run<T>(compute: () => T | Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await compute();
      } catch (error) {
        if (!(error instanceof ConversionNeeded)) throw error;
        const { conversion, conversions, versionOf, signal, work } = this.#modules;
        const sent = asJson(error.object as KubeObject);
        await work.pause();
        const copy = deepCopy<JsonObject>(sent);
        const converted = await conversions.ofObject(conversion, copy as unknown as KubeObject, error.desired, signal);
        versionOf(error.desired)?.schema.prune(asJson(converted));
        this.#known.set(error.key, asJson(converted));
      }
    }
  }
}
