import {
  deepEqual,
  isJsonObject,
  type DeepReadonly,
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiResourceSchemaErrors,
  crdSpecErrors,
  definitionOfSchema,
  rootExports,
  type APIResourceSchema,
  type SlowChecks,
} from '@multiplane/apis';
import type { CompiledSchema, MayCompile } from '@multiplane/schema';

/**
 * Schemas of the control plane's own kinds are known to be right, and so are the definitions made of them: every first
 * start writes them, and would begin with a thread for that, which costs it a third of a second and 20 MiB. What the
 * schemas stand in is checked as ever.
 */
export class OwnSchemas implements SlowChecks {
  readonly #slowly: SlowChecks;

  constructor(modules: { /** Checks of everything else. */ readonly slowly: SlowChecks }) {
    this.#slowly = modules.slowly;
  }

  definition(
    cluster: LogicalClusterName,
    object: KubeObject,
    old: DeepReadonly<KubeObject> | undefined,
  ): Promise<FieldError[]> {
    const own = old === undefined ? ownSchemaOf(object) : undefined;
    if (own === undefined) return this.#slowly.definition(cluster, object, old);
    // What is as it was before is not looked at again.
    return Promise.resolve(
      object.kind === own.kind
        ? apiResourceSchemaErrors(object, object)
        : crdSpecErrors(object, definitionOfSchema(own)),
    );
  }

  compiling<T>(check: (mayCompile: MayCompile) => T): T | Promise<T> {
    return this.#slowly.compiling(check);
  }

  object(
    cluster: LogicalClusterName,
    schema: CompiledSchema,
    object: KubeObject,
    options: { readonly old?: DeepReadonly<KubeObject> | undefined; readonly subtree?: 'status' | undefined },
  ): ReturnType<SlowChecks['object']> {
    return this.#slowly.object(cluster, schema, object, options);
  }
}

/** A schema or a definition of which {@link OwnSchemas} knows that it is right. */
export const isOwnSchema = (object: KubeObject): boolean => ownSchemaOf(object) !== undefined;

/** What schemas are given for a field that they leave open. */
const usualNames = 'DNS1123Subdomain';

function ownSchemaOf(object: KubeObject): APIResourceSchema | undefined {
  const isMadeOf = madeOf.get(object.kind);
  const spec = object['spec'] as JsonObject;
  const { group } = spec;
  if (isMadeOf === undefined || typeof group !== 'string' || !group.endsWith('.kcp.io')) return undefined;
  return rootExports()
    .flatMap(({ schemas }) => schemas)
    .find((own) => isMadeOf(own, spec));
}

/** By kind: whether a spec was made of an own schema. */
const madeOf: ReadonlyMap<string, (own: APIResourceSchema, spec: JsonObject) => boolean> = new Map([
  [
    'APIResourceSchema',
    (own, { nameValidation = usualNames, ...spec }) =>
      nameValidation === usualNames && deepEqual(spec, own.spec as unknown as Json),
  ],
  [
    'CustomResourceDefinition',
    // Nothing but schemas and webhooks of conversions is checked with a look at what was before.
    (own, { versions = null, conversion = {} }) =>
      !('webhook' in (conversion as JsonObject)) &&
      deepEqual(schemasIn(versions), schemasIn((definitionOfSchema(own)['spec'] as JsonObject)['versions'] as Json)),
  ],
]);

const schemasIn = (versions: Json): Json =>
  !Array.isArray(versions)
    ? versions
    : versions.map((version) =>
        isJsonObject(version)
          ? {
              name: version['name'] ?? '',
              schema: version['schema'] ?? {},
              subresources: version['subresources'] ?? {},
            }
          : version,
      );
