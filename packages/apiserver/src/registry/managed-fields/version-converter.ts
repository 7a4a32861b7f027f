import {
  type JsonObject,
  type KubeObject,
  type VersionedViews,
  apiVersionOf,
  asJson,
  deepCopy,
  parseApiVersion,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { ConvertedViews } from './converted-views.ts';
import type { FieldWrite } from './field-write.ts';
import type { ObjectConversions } from './object-conversions.ts';
import { fromStorage, toStorage } from './object-reader.ts';
import type { ResourceResolver } from './resource-resolver.ts';

export interface WriteVersionsModules {
  /** Finds the other versions of a kind; absent: there are none. */
  readonly resolver?: Pick<ResourceResolver, 'resolve'> | undefined;
  /** Conversions by webhooks; absent: there are none. */
  readonly conversions?: (() => ObjectConversions) | undefined;
}

/** The other versions of what is written: managers may own fields of any of them (K4.6). */
export class WriteVersions {
  readonly #modules: WriteVersionsModules;

  constructor(modules: WriteVersionsModules) {
    this.#modules = modules;
  }

  /** The definition of a version of the kind that is written. */
  definition({ definition, cluster }: FieldWrite, apiVersion: string): ResourceDefinition | undefined {
    const parsed = parseApiVersion(apiVersion);
    if (parsed === undefined) return undefined;
    return this.#modules.resolver?.resolve(cluster, parsed.group, parsed.version, definition.resource);
  }

  /** Computes with objects in other versions; waits where a webhook has to make them. */
  compute<T>(write: FieldWrite, compute: (views: VersionedViews) => T | Promise<T>): T | Promise<T> {
    const { conversion } = write.definition;
    const { conversions } = this.#modules;
    if (conversion === undefined || conversions === undefined) return compute(this.views(write));
    const views = new ConvertedViews({
      conversion,
      conversions: conversions(),
      versionOf: (apiVersion) => this.definition(write, apiVersion),
      signal: write.signal,
    });
    return views.run(() => compute(views));
  }

  views(write: FieldWrite): VersionedViews {
    const versionOf = (apiVersion: string): ResourceDefinition | undefined => this.definition(write, apiVersion);
    return {
      schema: (apiVersion) =>
        (apiVersion === apiVersionOf(write.definition) ? write.definition : versionOf(apiVersion))?.schema.typed,
      convert: ({ value }, from, to) => {
        const source = versionOf(from);
        const target = versionOf(to);
        if (source === undefined || target === undefined) return undefined;
        const copy = deepCopy<JsonObject>(value) as unknown as KubeObject;
        return { value: asJson(fromStorage(target, toStorage(source, copy))), schema: target.schema.typed };
      },
    };
  }
}
