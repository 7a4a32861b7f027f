import {
  apiVersionOf,
  asJson,
  clusterAnnotation,
  compareVersionPriority,
  jsonPathText,
  parseJson,
  statusErrors,
  type DeepReadonly,
  type GroupVersionKind,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { compileRules, SchemaCache, type CompiledSchema } from '@multiplane/schema';
import { conversionsAnnotation, nameValidationAnnotation, schemaClusterAnnotation } from '../kcp/api-sharing.ts';
import { at, listAt, objectAt, textAt, textsAt } from '../fields.ts';
import type {
  DefiningObject,
  FieldSelectorLabels,
  ResourceDefinition,
  Subresource,
  Verb,
  VersionConverter,
  WebhookConversion,
} from '../resource-definition.ts';
import { finalizersOfDeletion } from '../kcp/workspace-finalizer.ts';
import { webhookClientConfig } from '../webhook-client-config.ts';
import { nativeApplySchema } from '../native/native-apply-schema.ts';
import { nativeFieldSelectors } from '../native/native-fields.ts';
import { nativeKindOf } from '../native/native-kind.ts';
import { nativeTableOf } from '../native/native-tables.ts';
import { pathSegmentName } from '../name-rules.ts';
import { customResourceTable } from '../tables/custom-resource-table.ts';
import { conditionsOf } from './custom-resource-definition.ts';
import { readJsonPaths } from './read-json-paths.ts';
import type { ScaleRules } from './scale-rules.ts';
import { ConversionError, VersionConversions, type VersionConversionRules } from './version-conversions.ts';
import { customResourceStatusStrategy, customResourceStrategy } from './custom-resource-strategy.ts';

/** Verbs as discovery lists them for custom resources. */
const customVerbs: readonly Verb[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
];
const terminatingVerbs: readonly Verb[] = ['delete', 'deletecollection', 'get', 'list', 'watch'];
const subresourceVerbs: readonly Verb[] = ['get', 'patch', 'update'];

/** What all versions of a definition have in common. */
interface DefinitionParts {
  readonly conversion: WebhookConversion | undefined;
  readonly rules: VersionConversions | undefined;
  readonly retired: AbortSignal;
  readonly identity: string | undefined;
  readonly definedBy: DefiningObject;
}

/** Sets of conversion rules that are kept compiled. */
const maxConversions = 512;

/**
 * What an accepted definition serves: one resource definition for each served version, all stored alike.
 * Compiled schemas are shared through the cache by their content.
 */
export class CustomResources {
  readonly #schemas: SchemaCache;
  /** Of kinds that Kubernetes knows: as many as there are in its table. */
  readonly #nativeSchemas = new Map<string, SchemaCache>();
  /** By the rules and the schemas that they are between. */
  readonly #conversions = new Map<string, VersionConversions>();
  constructor(modules: { readonly schemas?: SchemaCache | undefined } = {}) {
    this.#schemas = modules.schemas ?? new SchemaCache({ origin: 'custom', rules: compileRules });
  }

  /**
   * `retired` aborts when the definition no longer holds; watches end with it. With the identity of an export, the
   * resources are those that a binding to it brings: their objects lie apart from all others of the schema.
   */
  definitionsOf(crd: DeepReadonly<KubeObject>, retired: AbortSignal, identity?: string): ResourceDefinition[] {
    const versions = listAt(crd, 'spec', 'versions');
    const conversion = conversionOf(crd);
    const rules = versions.length < 2 || conversion !== undefined ? undefined : this.#rulesOf(crd, versions);
    return versions
      .filter((version) => at(version, 'served') === true)
      .map((version) =>
        this.#definition(crd, version, versions, {
          conversion,
          rules,
          retired,
          identity,
          definedBy: definingObject(crd),
        }),
      );
  }

  /**
   * What remains of a definition when {@link definitionsOf} fails: its objects can be read and deleted as they are stored. Nothing
   * can be written, because there is no schema to check it.
   */
  readOnlyDefinitionsOf(crd: DeepReadonly<KubeObject>, retired: AbortSignal, identity?: string): ResourceDefinition[] {
    const bare = listAt(crd, 'spec', 'versions').map((version) => ({
      name: textAt(version, 'name'),
      served: at(version, 'served') === true,
      storage: at(version, 'storage') === true,
    }));
    const { conversion: _conversion, ...spec } = objectAt(crd, 'spec') ?? {};
    const { [conversionsAnnotation]: _rules, ...annotations } = crd.metadata.annotations ?? {};
    const readOnly: DeepReadonly<KubeObject> = {
      ...crd,
      metadata: { ...crd.metadata, annotations },
      spec: { ...spec, versions: bare },
    };
    return this.definitionsOf(readOnly, retired, identity).map((definition) => ({
      ...definition,
      verbs: terminatingVerbs,
    }));
  }

  /** Compiled once for all definitions of the same rules and schemas. */
  #rulesOf(crd: DeepReadonly<KubeObject>, versions: readonly Json[]): VersionConversions | undefined {
    const text = crd.metadata.annotations?.[conversionsAnnotation];
    if (text === undefined) return undefined;
    const schemas = new Map(versions.map((version) => [textAt(version, 'name'), this.#schemaOf(version)]));
    const key = JSON.stringify([text, Array.from(schemas, ([version, { hash }]) => [version, hash])]);
    let rules = this.#conversions.get(key);
    if (rules === undefined) {
      const conversions = parseJson(text) as unknown as VersionConversionRules;
      rules = new VersionConversions(conversions, (version) => schemas.get(version)?.source);
    }
    // A Map keeps the order of insertion: the first is always the least recently used.
    this.#conversions.delete(key);
    this.#conversions.set(key, rules);
    if (this.#conversions.size > maxConversions)
      this.#conversions.delete(this.#conversions.keys().next().value as string);
    return rules;
  }

  #schemaOfVersion(apiVersion: string, group: string, versions: readonly Json[]): CompiledSchema | undefined {
    const version = versions.find((candidate) => `${group}/${textAt(candidate, 'name')}` === apiVersion);
    return version === undefined ? undefined : this.#schemaOf(version);
  }

  #schemaOf(version: Json): CompiledSchema {
    return this.#schemas.get(schemaDocument(version));
  }

  /** Equal documents mean the same to server-side apply only where they are of the same kind. */
  #cacheFor(gvk: GroupVersionKind): SchemaCache {
    const applySchema = nativeApplySchema(gvk);
    if (applySchema === undefined) return this.#schemas;
    const key = `${apiVersionOf(gvk)}/${gvk.kind}`;
    let cache = this.#nativeSchemas.get(key);
    if (cache === undefined) {
      const maxBytes = 16 * 1024 * 1024;
      cache = new SchemaCache({ origin: 'custom', rules: compileRules, applySchema, maxBytes, maxEntries: 500 });
      this.#nativeSchemas.set(key, cache);
    }
    return cache;
  }

  #definition(
    crd: DeepReadonly<KubeObject>,
    version: Json,
    versions: readonly Json[],
    { conversion, rules, retired, identity, definedBy }: DefinitionParts,
  ): ResourceDefinition {
    const group = textAt(crd, 'spec', 'group');
    const accepted = objectAt(crd, 'status', 'acceptedNames');
    const requested = objectAt(crd, 'spec', 'names');
    const name = (field: string): string => textAt(accepted, field) || textAt(requested, field);
    const resource = textAt(requested, 'plural');
    const kind = name('kind');
    const storageVersion = versions.find((candidate) => at(candidate, 'storage') === true);
    const gvk = { group, version: textAt(version, 'name'), kind };
    const schema = this.#cacheFor(gvk).get(schemaDocument(version));
    const hasStatus = at(version, 'subresources', 'status') !== undefined;
    const terminating =
      crd.metadata.deletionTimestamp !== undefined ||
      conditionsOf(crd).some(({ type, status }) => type === 'Terminating' && status === 'True');
    const subresources: Record<string, Subresource> = {};
    const scale = objectAt(version, 'subresources', 'scale');
    const scaleRules: ScaleRules | undefined =
      scale === undefined
        ? undefined
        : {
            specReplicasPath: textAt(scale, 'specReplicasPath'),
            statusReplicasPath: textAt(scale, 'statusReplicasPath'),
            labelSelectorPath: textAt(scale, 'labelSelectorPath'),
          };
    if (hasStatus)
      subresources['status'] = {
        type: 'object',
        verbs: subresourceVerbs,
        strategy: customResourceStatusStrategy({ schema, hasStatus, scale: scaleRules }),
        validates: 'status',
      };
    if (scale !== undefined) subresources['scale'] = scaleSubresource(scale);
    return {
      group,
      version: textAt(version, 'name'),
      resource,
      singular: name('singular') || kind.toLowerCase(),
      kind,
      listKind: name('listKind') || `${kind}List`,
      namespaced: textAt(crd, 'spec', 'scope') === 'Namespaced',
      shortNames: textsAt(accepted, 'shortNames'),
      categories: textsAt(accepted, 'categories'),
      verbs: terminating ? terminatingVerbs : customVerbs,
      origin: 'custom',
      schema,
      native: nativeKindOf(gvk),
      strategy: customResourceStrategy({
        schema,
        hasStatus,
        scale: scaleRules,
        validateName:
          crd.metadata.annotations?.[nameValidationAnnotation] === 'path-segment' ? pathSegmentName : undefined,
        finalizersOfDeletion: finalizersOfDeletion({ group, resource }),
      }),
      subresources,
      tableConvertor: nativeTableOf(gvk) ?? customResourceTable(listAt(version, 'additionalPrinterColumns')),
      fieldSelectors: selectableFields(listAt(version, 'selectableFields'), nativeFieldSelectors(gvk)),
      // Without rules conversion changes nothing but the version; what the stored version does not know is lost.
      converter:
        conversion !== undefined || storageVersion === version || storageVersion === undefined
          ? undefined
          : converterBetween(textAt(version, 'name'), storageVersion, this.#schemaOf(storageVersion), rules),
      fromOlder:
        conversion === undefined && storageVersion === version && rules !== undefined
          ? (object) => convertFromStored(rules, object, textAt(version, 'name'))
          : undefined,
      conversion,
      schemaOf: versions.length < 2 ? undefined : (apiVersion) => this.#schemaOfVersion(apiVersion, group, versions),
      storage: {
        group,
        version: textAt(storageVersion, 'name'),
        kind,
        prefix: `/registry/${group === '' ? 'core' : group}/${resource}/${identity ?? 'customresources'}/`,
      },
      deprecationWarning: deprecationWarning(group, kind, version, versions),
      terminating,
      bound: identity === undefined ? undefined : { identity },
      definedBy,
      retired,
    };
  }
}

/** Of a definition. */
export const definingObject = (crd: DeepReadonly<KubeObject>): DefiningObject => ({
  kind: 'CustomResourceDefinition',
  cluster: crd.metadata.annotations?.[clusterAnnotation] ?? '',
  name: crd.metadata.name ?? '',
  // Generations rise with the spec.
  version: `${crd.metadata.uid ?? ''}/${crd.metadata.generation ?? 0}`,
});

/** The webhook between the versions; undefined where nothing but the version changes. */
function conversionOf(crd: DeepReadonly<KubeObject>): WebhookConversion | undefined {
  if (textAt(crd, 'spec', 'conversion', 'strategy') !== 'Webhook') return undefined;
  const webhook = objectAt(crd, 'spec', 'conversion', 'webhook') ?? {};
  return {
    // Of whose definition, and which state of it.
    key: definingObject(crd).version,
    tenant: crd.metadata.annotations?.[schemaClusterAnnotation] ?? crd.metadata.annotations?.[clusterAnnotation] ?? '',
    client: webhookClientConfig(webhook['clientConfig']),
    reviewVersions: textsAt(webhook, 'conversionReviewVersions'),
  };
}

function converterBetween(
  version: string,
  storageVersion: Json,
  stored: CompiledSchema,
  rules: VersionConversions | undefined,
): VersionConverter {
  const storedAs = textAt(storageVersion, 'name');
  return {
    toStorage: (object) => {
      if (rules !== undefined) failingAsStatus(() => rules.convert(object, version, storedAs));
      stored.prune(asJson(object));
    },
    fromStorage: (object) => {
      if (rules !== undefined) convertFromStored(rules, object, version);
    },
  };
}

/** What is stored may be of any version that once was the one to be stored. */
function convertFromStored(rules: VersionConversions, object: KubeObject, version: string): void {
  const from = object.apiVersion.slice(object.apiVersion.indexOf('/') + 1);
  if (from !== version) failingAsStatus(() => rules.convert(object, from, version));
}

function failingAsStatus(convert: () => void): void {
  try {
    convert();
  } catch (error) {
    throw error instanceof ConversionError ? statusErrors.internal(error) : error;
  }
}

const schemaDocument = (version: Json): JsonObject => objectAt(version, 'schema', 'openAPIV3Schema') ?? anything;

/** The schema of a version that has none. */
const anything: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function scaleSubresource(scale: JsonObject): Subresource {
  const path = (field: string): string => textAt(scale, field).replace(/^\./, '');
  const labelSelectorPath = path('labelSelectorPath');
  return {
    type: 'scale',
    verbs: subresourceVerbs,
    specReplicasPath: path('specReplicasPath'),
    statusReplicasPath: path('statusReplicasPath'),
    ...(labelSelectorPath === '' ? {} : { labelSelectorPath }),
  };
}

/**
 * Selectable fields by their path without the leading dot; an absent field is the empty text. `known` are those of
 * the kind itself.
 */
function selectableFields(fields: readonly Json[], known: FieldSelectorLabels): FieldSelectorLabels {
  const labels: Record<string, (object: DeepReadonly<KubeObject>) => string> = Object.create(null) as Record<
    string,
    (object: DeepReadonly<KubeObject>) => string
  >;
  Object.assign(labels, known);
  for (const { path } of readJsonPaths(fields).readable) {
    labels[path.text.replace(/^\./, '')] = (object) => {
      const value = path.first(asJson(object as KubeObject));
      return value === undefined || value === null ? '' : jsonPathText(value);
    };
  }
  return labels;
}

/** Warning on every request of a deprecated version: its own text, or which version to use instead. */
function deprecationWarning(group: string, kind: string, version: Json, versions: readonly Json[]): string | undefined {
  if (at(version, 'deprecated') !== true) return undefined;
  const own = textAt(version, 'deprecationWarning');
  if (own !== '') return own;
  const name = textAt(version, 'name');
  const newer = versions
    .filter((other) => at(other, 'served') === true && at(other, 'deprecated') !== true)
    .map((other) => textAt(other, 'name'))
    .filter((other) => compareVersionPriority(other, name) < 0)
    .sort(compareVersionPriority)[0];
  const warning = `${group}/${name} ${kind} is deprecated`;
  return newer === undefined ? warning : `${warning}; use ${group}/${newer} ${kind}`;
}
