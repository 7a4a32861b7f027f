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
  scopesGroup,
  type APIResourceSchema,
  type CelCosts,
  type SlowCheckOptions,
  type SlowChecks,
  type StrategyContext,
} from '@multiplane/apis';
import type { CompiledSchema, IsOverdue, MayCompile } from '@multiplane/schema';

/**
 * Skips the schema checks for the control plane's own APIResourceSchemas and the CRDs made from them: they ship with the
 * program and are valid. Checking them would start the worker thread on every first start, which costs 300 ms and 20 MiB.
 * The fields around the schemas are checked as usual.
 */
export class SystemSchemaChecks implements SlowChecks {
  readonly costs: CelCosts | undefined;
  readonly #slowly: SlowChecks;

  constructor(modules: {
    /** Checks of all other schemas. */
    readonly slowly: SlowChecks;
    readonly costs?: CelCosts | undefined;
  }) {
    this.#slowly = modules.slowly;
    this.costs = modules.costs;
  }

  definition(
    cluster: LogicalClusterName,
    object: KubeObject,
    old: DeepReadonly<KubeObject> | undefined,
    request?: StrategyContext['request'],
  ): Promise<FieldError[]> {
    const system = old === undefined ? systemSchemaOf(object) : undefined;
    if (system === undefined) return this.#slowly.definition(cluster, object, old, request);
    // Passing the object as its own predecessor skips the checks of unchanged schemas.
    return Promise.resolve(
      object.kind === system.kind
        ? apiResourceSchemaErrors(object, object)
        : crdSpecErrors(object, definitionOfSchema(system)),
    );
  }

  compiling<T>(check: (mayCompile: MayCompile, isOverdue: IsOverdue) => T): T | Promise<T> {
    return this.#slowly.compiling(check);
  }

  object(
    cluster: LogicalClusterName,
    schema: CompiledSchema,
    object: KubeObject,
    options: SlowCheckOptions,
  ): ReturnType<SlowChecks['object']> {
    return this.#slowly.object(cluster, schema, object, options);
  }
}

/** Whether {@link SystemSchemaChecks} skips the checks of this APIResourceSchema or CustomResourceDefinition. */
export const isSystemSchema = (object: KubeObject): boolean => systemSchemaOf(object) !== undefined;

/** Default of `spec.nameValidation`. */
const defaultNameValidation = 'DNS1123Subdomain';

function systemSchemaOf(object: KubeObject): APIResourceSchema | undefined {
  const matches = matchers.get(object.kind);
  const spec = (object['spec'] ?? {}) as JsonObject;
  const { group } = spec;
  if (matches === undefined || typeof group !== 'string') return undefined;
  if (!group.endsWith('.kcp.io') && group !== scopesGroup) return undefined;
  return rootExports()
    .flatMap(({ schemas }) => schemas)
    .find((system) => matches(system, spec));
}

/** By kind: whether a spec equals that of a system schema, or was made from it. */
const matchers: ReadonlyMap<string, (system: APIResourceSchema, spec: JsonObject) => boolean> = new Map([
  [
    'APIResourceSchema',
    (system, { nameValidation = defaultNameValidation, ...spec }) =>
      nameValidation === defaultNameValidation && deepEqual(spec, system.spec as unknown as Json),
  ],
  [
    'CustomResourceDefinition',
    // Only schemas and conversion webhooks have checks that depend on the predecessor; both must be covered here.
    (system, { versions = null, conversion = {} }) =>
      !('webhook' in (conversion as JsonObject)) &&
      deepEqual(schemasIn(versions), schemasIn((definitionOfSchema(system)['spec'] as JsonObject)['versions'] as Json)),
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
