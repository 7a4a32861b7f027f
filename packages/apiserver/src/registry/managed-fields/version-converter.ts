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
import type { FieldManagerRequest } from './field-manager-request.ts';
import type { ObjectConversions } from '../conversion/object-conversions.ts';
import { fromStorage, toStorage } from '../conversion/storage-version.ts';
import type { ResourceResolver } from '../definitions/resource-resolver.ts';

export interface VersionConverterModules {
  /** Resolves the other versions of a kind; absent: kinds have a single version. */
  readonly resolver?: Pick<ResourceResolver, 'resolve'> | undefined;
  /** Conversions by webhooks; absent: no kind has one. */
  readonly conversions?: (() => ObjectConversions) | undefined;
}

/** Converts an object to the versions that its managers wrote: each managedFields entry has a version of its own. */
export class VersionConverter {
  readonly #modules: VersionConverterModules;

  constructor(modules: VersionConverterModules) {
    this.#modules = modules;
  }

  /** The definition of another version of the written kind. */
  definition({ definition, cluster }: FieldManagerRequest, apiVersion: string): ResourceDefinition | undefined {
    const parsed = parseApiVersion(apiVersion);
    if (parsed === undefined) return undefined;
    return this.#modules.resolver?.resolve(cluster, parsed.group, parsed.version, definition.resource);
  }

  /** Runs a computation that converts objects; asynchronous only if a webhook converts this kind. */
  compute<T>(write: FieldManagerRequest, compute: (views: VersionedViews) => T | Promise<T>): T | Promise<T> {
    const { conversion } = write.definition;
    const { conversions } = this.#modules;
    if (conversion === undefined || conversions === undefined) return compute(this.views(write));
    const views = new ConvertedViews({
      conversion,
      conversions: conversions(),
      versionOf: (apiVersion) => this.definition(write, apiVersion),
      signal: write.signal,
      work: write.work,
    });
    return views.run(() => compute(views));
  }

  views(write: FieldManagerRequest): VersionedViews {
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
