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
import type { ObjectConversions } from './object-conversions.ts';

/** Thrown by {@link ConvertedViews.convert} for what is not at hand yet. */
class ConversionNeeded extends Error {
  readonly key: string;
  readonly object: KubeObject;
  readonly desired: string;

  constructor(key: string, object: KubeObject, desired: string) {
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
}

/**
 * An object in the versions that its managers speak of (K4.7), where a webhook makes them.
 *
 * Ownership is computed in one go and does not change what it is given. So a computation that finds a conversion
 * missing is broken off, the webhook is asked, and it starts again with the answer at hand; after a few turns it has all
 * it needs. Most writes need none: their managers all speak the same version.
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
    if (known === undefined) throw new ConversionNeeded(key, deepCopy<JsonObject>(value) as unknown as KubeObject, to);
    return { value: known, schema: target.schema.typed };
  }

  /** Runs a computation until it has every conversion it asks for. */
  async run<T>(compute: () => T | Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await compute();
      } catch (error) {
        if (!(error instanceof ConversionNeeded)) throw error;
        const { conversion, conversions, versionOf, signal } = this.#modules;
        const converted = await conversions.ofObject(conversion, error.object, error.desired, signal);
        versionOf(error.desired)?.schema.prune(asJson(converted));
        this.#known.set(error.key, asJson(converted));
      }
    }
  }
}
