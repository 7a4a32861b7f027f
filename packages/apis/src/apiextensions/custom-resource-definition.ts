import {
  asJson,
  deepEqual,
  encodeJson,
  fieldErrors,
  FieldPath,
  isConditionTrue,
  isJsonObject,
  quote,
  setCondition,
  type Condition,
  type DeepReadonly,
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { isLongExpression, isLongPattern, regexOf, unrecognizedFormats, type MayCompile } from '@multiplane/schema';
import { builtInKind } from '../built-in-kind.ts';
import { defaultStrategy, keepField, statusSubresource } from '../default-strategy.ts';
import { at, listAt, numberAt, objectAt, textAt, textsAt } from '../fields.ts';
import type { ResourceDefinition, Strategy, StrategyContext } from '../resource-definition.ts';
import { boundDefinitionsCluster } from '../kcp/api-sharing.ts';
import { approvalErrors } from './api-approval.ts';
import { crdNamesErrors } from './crd-names.ts';
import { unreadablePathWarnings } from './unreadable-paths.ts';
import {
  crdImmutableErrors,
  crdSpecErrors,
  preserveUnknownFieldsErrors,
  storageNameOf,
  storedVersionErrors,
} from './crd-spec-rules.ts';

/** The finalizer that is put on a definition when it is deleted: its objects go first. */
export const customResourceCleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

export function customResourceDefinitions(): ResourceDefinition {
  const base: Strategy = defaultStrategy({
    metadataChecks: { standardFinalizers: false, onUpdate: ['update'] },
    allowUnconditionalUpdate: false,
    managesGeneration: true,
    beginDeletion: (context, object) => markTerminating(object, context.now()),
  });
  return builtInKind({
    group: 'apiextensions.k8s.io',
    version: 'v1',
    kind: 'CustomResourceDefinition',
    resource: 'customresourcedefinitions',
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    namespaced: false,
    component: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition',
    defaults: applyCrdDefaults,
    strategy: {
      ...base,
      prepareForCreate: ({ keepsStatus }, object) => {
        if (keepsStatus !== true) object['status'] = emptyStatus();
        rememberStorageVersion(object);
      },
      validate: (context, object) =>
        withSpecErrors(context, object, undefined, (spec) => [
          ...(context.cluster === boundDefinitionsCluster ? [] : nameErrors(object)),
          ...spec,
          ...commonErrors(object, undefined),
        ]),
      prepareForUpdate: (_context, object, old) => {
        keepField(object, old, 'status');
        rememberStorageVersion(object);
      },
      validateUpdate: (context, object, old) =>
        withSpecErrors(context, object, old, (spec) => [
          ...spec,
          ...crdImmutableErrors(object, old, isEstablished(old)),
          ...commonErrors(object, old),
        ]),
      warnings: (_context, object, old) => [...formatWarnings(object, old), ...unreadablePathWarnings(object, old)],
    },
    subresources: {
      status: statusSubresource(base, {
        // Metadata may change here (kubernetes/kubernetes#137681): the finalizer of a definition is removed without a check of
        // the spec, which may be invalid since its stored versions have changed.
        prepareForUpdate: (_context, object, old) => keepField(object, old, 'spec'),
        validateUpdate: (_context, object) => acceptedNamesErrors(object),
      }),
    },
  });
}

/** The errors of the spec, computed in a worker where that takes long, merged with the others. */
function withSpecErrors(
  { slowly, cluster, request }: StrategyContext,
  crd: KubeObject,
  old: DeepReadonly<KubeObject> | undefined,
  all: (spec: readonly FieldError[]) => FieldError[],
): FieldError[] | Promise<FieldError[]> {
  if (slowly === undefined) return all(crdSpecErrors(crd, old));
  if (isLongCheck(crd, old)) return slowly.definition(cluster, crd, old, request).then(all);
  if (isSameSchema(crd, old)) return all(crdSpecErrors(crd, old));
  // They take longer than all else in a check that is made at once.
  const compiled = slowly.compiling((mayCompile) => compilePatterns(at(crd, 'spec', 'versions'), mayCompile));
  return compiled instanceof Promise ? compiled.then(() => all(crdSpecErrors(crd, old))) : all(crdSpecErrors(crd, old));
}

/** Those of a definition. */
function compilePatterns(value: Json | undefined, mayCompile: MayCompile): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'pattern' && typeof inner === 'string') regexOf(inner, mayCompile);
    compilePatterns(inner, mayCompile);
  }
}

/** A definition with fewer rules than this, and fewer places, is checked within some milliseconds. */
const fewRules = 8;
const fewPlaces = 1500;

/** Characters of the patterns and rules of a definition that is checked within some milliseconds. */
const fewCharacters = 4_000;

/**
 * Whether the check of a definition takes too long for the event loop: rules and patterns take long to compile, and a rule
 * is evaluated on the defaults of its place. A schema that did not change is not looked at again.
 */
export function isLongCheck(crd: KubeObject, old: DeepReadonly<KubeObject> | undefined): boolean {
  if (isSameSchema(crd, old)) return false;
  let rules = 0;
  let places = 0;
  let characters = 0;
  let hasDefaults = false;
  const isLongText = (key: string, text: string): boolean => {
    if (key !== 'pattern' && key !== 'rule' && key !== 'messageExpression') return false;
    characters += text.length;
    return characters > fewCharacters || (key === 'pattern' ? isLongPattern(text) : isLongExpression(text));
  };
  const isLong = (value: Json): boolean => {
    if (typeof value !== 'object' || value === null) return false;
    if (++places > fewPlaces) return true;
    for (const key of Object.keys(value)) {
      const inner = (value as JsonObject)[key] as Json;
      if (key === 'x-kubernetes-validations' && Array.isArray(inner)) rules += inner.length;
      if (key === 'default' && isLongDefault(inner)) hasDefaults = true;
      if (rules > fewRules || (rules > 0 && hasDefaults)) return true;
      if (typeof inner === 'string' ? isLongText(key, inner) : isLong(inner)) return true;
    }
    return false;
  };
  return isLong(listAt(crd, 'spec', 'versions') as Json[]);
}

/** Rules on values as short as this are evaluated within some milliseconds. */
const isLongDefault = (value: Json): boolean =>
  typeof value === 'string'
    ? value.length > 32
    : typeof value === 'object' && value !== null && encodeJson(value).length > 32;

const isSameSchema = (crd: KubeObject, old: DeepReadonly<KubeObject> | undefined): boolean =>
  old !== undefined && deepEqual(listAt(crd, 'spec', 'versions'), listAt(old, 'spec', 'versions'));

/** Unknown formats are not validated; the author gets one warning per new format. */
function formatWarnings(crd: KubeObject, old: DeepReadonly<KubeObject> | undefined): string[] {
  const before = formatsOf(old);
  return [...formatsOf(crd)]
    .filter((format) => !before.has(format))
    .map((format) => `unrecognized format ${quote(format)}`);
}

const formatsOf = (crd: DeepReadonly<KubeObject> | undefined): ReadonlySet<string> =>
  new Set(
    listAt(crd, 'spec', 'versions').flatMap((version) =>
      unrecognizedFormats(objectAt(version, 'schema', 'openAPIV3Schema') ?? {}),
    ),
  );

/** True once the names of a definition have been accepted and it is served. */
export const isEstablished = (crd: DeepReadonly<KubeObject>): boolean =>
  isConditionTrue(conditionsOf(crd), 'Established');

/** The conditions of a definition. */
export const conditionsOf = (crd: DeepReadonly<KubeObject>): readonly Condition[] =>
  listAt(crd, 'status', 'conditions') as unknown as readonly Condition[];

const acceptedNamesPath = FieldPath.of('status', 'acceptedNames');

/** What a definition leaves open: singular, list kind, conversion, ports. */
function applyCrdDefaults(object: KubeObject): void {
  const spec = objectAt(object, 'spec');
  if (spec === undefined) return;
  const names = objectAt(spec, 'names');
  const kind = textAt(names, 'kind');
  if (names !== undefined) {
    if (textAt(names, 'singular') === '') setText(names, 'singular', kind.toLowerCase());
    if (textAt(names, 'listKind') === '' && kind !== '') names['listKind'] = `${kind}List`;
  }
  if (spec['conversion'] === undefined) spec['conversion'] = { strategy: 'None' };
  const service = objectAt(spec, 'conversion', 'webhook', 'clientConfig', 'service');
  if (service !== undefined && numberAt(service, 'port') === undefined) service['port'] = 443;
  const status = objectAt(object, 'status');
  const storage = storageNameOf(object);
  if (status !== undefined && storage !== undefined && listAt(status, 'storedVersions').length === 0)
    status['storedVersions'] = [storage];
}

function setText(object: JsonObject, field: string, text: string): void {
  if (text !== '') object[field] = text;
}

/** As Go encodes it: conditions and names are never left out. */
const emptyStatus = (): JsonObject => ({ conditions: null, acceptedNames: { kind: '', plural: '' } });

function rememberStorageVersion(object: KubeObject): void {
  const storage = storageNameOf(object);
  const stored = textsAt(object, 'status', 'storedVersions');
  if (storage === undefined || stored.includes(storage)) return;
  const status = asJson(object)['status'];
  if (isJsonObject(status)) status['storedVersions'] = [...stored, storage];
  else object['status'] = { ...emptyStatus(), storedVersions: [storage] };
}

/** Definitions made of bound schemas have the uid of the schema as their name, in a place of their own. */
function nameErrors(object: KubeObject): FieldError[] {
  const plural = textAt(object, 'spec', 'names', 'plural');
  const group = textAt(object, 'spec', 'group');
  // The core group has no name of its own.
  const required = `${plural}.${group || 'core'}`;
  // With an empty group the rule of Kubernetes asks for this name, which is no valid one.
  const emptyGroup = `${plural}.`;
  // A missing name has its own error.
  return (['generateName', 'name'] as const).flatMap((field) => {
    const name = object.metadata[field] ?? '';
    return name === '' || name === required || (group === '' && name === emptyGroup)
      ? []
      : [fieldErrors.invalid(`metadata.${field}`, name, 'must be spec.names.plural+"."+spec.group')];
  });
}

/** The status subresource accepts any stored versions: updates of the definition check them against its versions. */
const acceptedNamesErrors = (object: KubeObject): FieldError[] =>
  crdNamesErrors(objectAt(object, 'status', 'acceptedNames'), acceptedNamesPath);

const commonErrors = (object: KubeObject, old: DeepReadonly<KubeObject> | undefined): FieldError[] => [
  ...acceptedNamesErrors(object),
  ...storedVersionErrors(object),
  ...approvalErrors(object, old),
  ...preserveUnknownFieldsErrors(object, old),
];

function markTerminating(object: KubeObject, now: Date): void {
  const finalizers = (object.metadata.finalizers ??= []);
  if (!finalizers.includes(customResourceCleanupFinalizer)) finalizers.push(customResourceCleanupFinalizer);
  const status = objectAt(object, 'status') ?? {};
  const conditions = setCondition(
    conditionsOf(object),
    {
      type: 'Terminating',
      status: 'True',
      reason: 'InstanceDeletionPending',
      message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    },
    now,
  );
  object['status'] = { ...status, conditions };
}
