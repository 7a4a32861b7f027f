import {
  deepEqual,
  fieldErrors,
  FieldPath,
  isJsonObject,
  validateDns1035Label,
  validateDns1123Subdomain,
  type DeepReadonly,
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import {
  structuralProblem,
  validateDefinitionRules,
  validateDefinitionSchema,
  validateSelectableFields,
} from '@multiplane/schema';
import { at, listAt, objectAt, textAt, textsAt } from '../fields.ts';
import { boundDefinitionAnnotation } from '../kcp/api-sharing.ts';
import { conversionErrors } from './crd-conversion-rules.ts';
import { crdNamesErrors } from './crd-names.ts';
import { deprecationWarningErrors, printerColumnsErrors, subresourceErrors } from './crd-version-parts.ts';
import { sharedParts, shownVersions, type SharedPart } from './internal-versions.ts';

/**
 * Rules of `spec`. Errors come in the order and with the paths of Kubernetes, which validates its internal version of the
 * definition where parts that all versions share were lifted to the top of the spec.
 */
export function crdSpecErrors(crd: KubeObject, old: DeepReadonly<KubeObject> | undefined): FieldError[] {
  const path = FieldPath.of('spec');
  const spec = objectAt(crd, 'spec') ?? {};
  const versions = listAt(spec, 'versions');
  const lifted = new Set<SharedPart>(sharedParts.filter((part) => isShared(versions, part)));
  const oldSchemas = schemasByVersion(old);
  return [
    ...groupErrors(textAt(spec, 'group'), meansCoreGroup(crd), path.child('group')),
    ...scopeErrors(textAt(spec, 'scope'), path.child('scope')),
    ...missingSchemaErrors(versions, path),
    ...unprunedDefaultErrors(spec, versions, path),
    ...versions.flatMap((version, index) =>
      versionErrors(version, lifted, oldSchemas, path.child('versions').index(index)),
    ),
    ...versionListErrors(spec, lifted, path),
    ...requiredNameErrors(spec, path.child('names')),
    ...crdNamesErrors(spec['names'], path.child('names')),
    ...liftedErrors(versions, lifted, oldSchemas, path),
    ...unprunedConversionErrors(spec, path.child('conversion')),
    ...conversionErrors(
      objectAt(spec, 'conversion'),
      old === undefined ? undefined : (objectAt(old, 'spec', 'conversion') ?? {}),
      path.child('conversion'),
    ),
  ];
}

function isShared(versions: readonly Json[], part: SharedPart): boolean {
  const first = at(versions[0], part);
  return first !== undefined && versions.every((version) => deepEqual(at(version, part), first));
}

function hasDefaults(schema: Json | undefined): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  if (Array.isArray(schema)) return schema.some(hasDefaults);
  if ((at(schema, 'default') ?? null) !== null) return true;
  return Object.entries(schema).some(([keyword, inner]) => {
    if (schemaMaps.has(keyword)) return isJsonObject(inner) && Object.values(inner).some(hasDefaults);
    return schemaKeywords.has(keyword) && hasDefaults(inner);
  });
}

const schemaKeywords = new Set(['items', 'allOf', 'anyOf', 'oneOf', 'not', 'additionalProperties', 'additionalItems']);
const schemaMaps = new Set(['properties', 'patternProperties', 'definitions', 'dependencies']);

type OldSchemas = ReadonlyMap<string, JsonObject>;

function schemasByVersion(crd: DeepReadonly<KubeObject> | undefined): OldSchemas {
  const schemas = new Map<string, JsonObject>();
  for (const version of listAt(crd, 'spec', 'versions')) {
    const schema = schemaOf(version);
    if (schema !== undefined) schemas.set(textAt(version, 'name'), schema);
  }
  return schemas;
}

const schemaOf = (version: Json | undefined): JsonObject | undefined => objectAt(version, 'schema', 'openAPIV3Schema');
const selectableFieldsOf = (version: Json): JsonObject[] =>
  listAt(version, 'selectableFields').filter((field) => isJsonObject(field));
const hasStatus = (version: Json): boolean => objectAt(version, 'subresources', 'status') !== undefined;

/** Groups of Kubernetes without a dot, whose kinds may be brought back. */
export const nativeGroups: ReadonlySet<string> = new Set(['apps', 'autoscaling', 'batch', 'extensions', 'policy']);

/** Who spells the core group out in the name means it; a bound schema has said so in its own. */
const meansCoreGroup = ({ metadata }: KubeObject): boolean =>
  metadata.name?.endsWith('.core') === true ||
  (metadata.annotations !== undefined && Object.hasOwn(metadata.annotations, boundDefinitionAnnotation));

function groupErrors(group: string, core: boolean, path: FieldPath): FieldError[] {
  if (group === '') return core ? [] : [fieldErrors.required(path)];
  const messages = validateDns1123Subdomain(group);
  if (messages.length > 0) return [fieldErrors.invalid(path, group, messages.join(','))];
  return group.includes('.') || nativeGroups.has(group)
    ? []
    : [fieldErrors.invalid(path, group, 'should be a domain with at least one dot')];
}

function scopeErrors(scope: string, path: FieldPath): FieldError[] {
  if (scope === '') return [fieldErrors.required(path)];
  const scopes = ['Cluster', 'Namespaced'];
  return scopes.includes(scope) ? [] : [fieldErrors.notSupported(path, scope, scopes)];
}

const missingSchemaErrors = (versions: readonly Json[], path: FieldPath): FieldError[] =>
  versions.flatMap((version, index) =>
    schemaOf(version) === undefined
      ? [fieldErrors.required(path.child('versions').index(index).child('schema', 'openAPIV3Schema'))]
      : [],
  );

/** Definitions of old times keep unknown fields; these can have neither defaults nor conversion. */
const keepsUnknownFields = (spec: JsonObject): boolean => at(spec, 'preserveUnknownFields') === true;

function unprunedDefaultErrors(spec: JsonObject, versions: readonly Json[], path: FieldPath): FieldError[] {
  if (!keepsUnknownFields(spec) || !versions.some((version) => hasDefaults(schemaOf(version)))) return [];
  const detail = 'must be false in order to use defaults in the schema';
  return [fieldErrors.invalid(path.child('preserveUnknownFields'), true, detail)];
}

function unprunedConversionErrors(spec: JsonObject, path: FieldPath): FieldError[] {
  const strategy = textAt(spec, 'conversion', 'strategy');
  if (!keepsUnknownFields(spec) || strategy === 'None' || at(spec, 'conversion') === undefined) return [];
  const detail = 'must be None if spec.preserveUnknownFields is true';
  return [fieldErrors.invalid(path.child('strategy'), strategy, detail)];
}

function versionErrors(
  version: Json,
  lifted: ReadonlySet<SharedPart>,
  oldSchemas: OldSchemas,
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  const name = textAt(version, 'name');
  const messages = validateDns1035Label(name);
  if (messages.length > 0) errors.push(fieldErrors.invalid(path.child('name'), name, messages.join(',')));
  errors.push(...deprecationWarningErrors(version, path));
  const schema = schemaOf(version);
  if (schema !== undefined && !lifted.has('schema')) {
    errors.push(
      ...validateDefinitionSchema(schema, {
        path: path.child('schema', 'openAPIV3Schema'),
        statusSubresource: hasStatus(version),
        old: oldSchemas.get(name),
        validateRules: validateDefinitionRules,
      }),
    );
  }
  if (!lifted.has('subresources')) {
    errors.push(...subresourceErrors(at(version, 'subresources'), path.child('subresources')));
  }
  if (!lifted.has('additionalPrinterColumns')) {
    errors.push(...printerColumnsErrors(version, path.child('additionalPrinterColumns')));
  }
  if (!lifted.has('selectableFields') && selectableFieldsOf(version).length > 0) {
    const where = path.child('selectableFields');
    // Kubernetes looks for the schema where it is no longer: at the version.
    if (schema === undefined || lifted.has('schema')) {
      const detail = 'may only be set when `version.schema.openAPIV3Schema` is not included';
      errors.push(fieldErrors.invalid(where, '', detail));
    } else {
      const problem = structuralProblem(schema);
      if (problem !== undefined) errors.push(fieldErrors.invalid(path.child('schema.openAPIV3Schema'), '', problem));
      errors.push(...validateSelectableFields(selectableFieldsOf(version), schema, where));
    }
  }
  return errors;
}

function versionListErrors(spec: JsonObject, lifted: ReadonlySet<SharedPart>, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const versions = listAt(spec, 'versions');
  const names = versions.map((version) => textAt(version, 'name'));
  const wrong = (detail: string): void =>
    void errors.push(fieldErrors.invalid(path.child('versions'), shownVersions(spec, lifted), detail));
  if (new Set(names).size < names.length) wrong('must contain unique version names');
  if (versions.filter((version) => at(version, 'storage') === true).length !== 1) {
    wrong('must have exactly one version marked as storage version');
  }
  // Kubernetes' internal version has a field for the first version, which is validated once more.
  const first = names[0] ?? '';
  const messages = first === '' ? [] : validateDns1035Label(first);
  if (messages.length > 0) errors.push(fieldErrors.invalid(path.child('version'), first, messages.join(',')));
  return errors;
}

/** Names that a definition must have, of those that its status may lack. */
export const requiredNameErrors = (spec: JsonObject, path: FieldPath): FieldError[] =>
  ['plural', 'singular', 'kind', 'listKind']
    .filter((field) => textAt(spec, 'names', field) === '')
    .map((field) => fieldErrors.required(path.child(field)));

function liftedErrors(
  versions: readonly Json[],
  lifted: ReadonlySet<SharedPart>,
  oldSchemas: OldSchemas,
  path: FieldPath,
): FieldError[] {
  const version = versions[0];
  if (version === undefined) return [];
  const errors: FieldError[] = [];
  const schema = schemaOf(version);
  if (lifted.has('schema') && schema !== undefined) {
    errors.push(
      ...validateDefinitionSchema(schema, {
        path: path.child('validation', 'openAPIV3Schema'),
        statusSubresource: versions.some(hasStatus),
        old: oldSchemas.get(textAt(version, 'name')),
        validateRules: validateDefinitionRules,
      }),
    );
  }
  if (lifted.has('subresources')) {
    errors.push(...subresourceErrors(at(version, 'subresources'), path.child('subresources')));
  }
  if (lifted.has('additionalPrinterColumns')) {
    errors.push(...printerColumnsErrors(version, path.child('additionalPrinterColumns')));
  }
  if (lifted.has('selectableFields') && selectableFieldsOf(version).length > 0) {
    const where = path.child('selectableFields');
    if (!lifted.has('schema')) {
      errors.push(fieldErrors.invalid(where, '', 'may only be set when validations.schema is included'));
    } else errors.push(...validateSelectableFields(selectableFieldsOf(version), schema ?? {}, where));
  }
  return errors;
}

/** `status.storedVersions`: every version that was ever stored stays in the spec until it is taken off the list. */
export function storedVersionErrors(crd: KubeObject): FieldError[] {
  const path = FieldPath.of('status', 'storedVersions');
  const stored = textsAt(crd, 'status', 'storedVersions');
  if (stored.length === 0)
    return [
      fieldErrors.invalid(path, at(crd, 'status', 'storedVersions') ?? null, 'must have at least one stored version'),
    ];
  const versions = listAt(crd, 'spec', 'versions');
  const names = new Set(versions.map((version) => textAt(version, 'name')));
  const missing = stored.flatMap((version, index) =>
    names.has(version)
      ? []
      : [
          fieldErrors.invalid(
            path.index(index),
            version,
            `missing from spec.versions; ${version} was previously a storage version, and must remain in spec.versions ` +
              `until a storage migration ensures no data remains persisted in ${version} and removes ${version} from status.storedVersions`,
          ),
        ],
  );
  // Of every version that is marked, although only one may be.
  const absent = versions
    .filter((version) => at(version, 'storage') === true && !stored.includes(textAt(version, 'name')))
    .map((version) => fieldErrors.invalid(path, stored, `must have the storage version ${textAt(version, 'name')}`));
  return [...absent, ...missing];
}

/** Name of the version that objects are stored in; undefined when there is none. */
export function storageNameOf(crd: DeepReadonly<KubeObject>): string | undefined {
  const version = listAt(crd, 'spec', 'versions').find((candidate) => at(candidate, 'storage') === true);
  return version === undefined ? undefined : textAt(version, 'name');
}

/** {@link storageNameOf}; empty when there is none. */
export const storageVersionOf = (crd: DeepReadonly<KubeObject>): string => storageNameOf(crd) ?? '';

/** Fields that cannot change: always group and plural, once established also scope and kind. */
export function crdImmutableErrors(crd: KubeObject, old: DeepReadonly<KubeObject>, established: boolean): FieldError[] {
  const fields = [...(established ? [['scope'], ['names', 'kind']] : []), ['group'], ['names', 'plural']];
  return fields.flatMap((field) => {
    const now = textAt(crd, 'spec', ...field);
    return now === textAt(old, 'spec', ...field)
      ? []
      : [fieldErrors.invalid(FieldPath.of('spec', ...field), now, 'field is immutable')];
  });
}

/** `preserveUnknownFields: true` is of old times; objects that have it may keep it. */
export function preserveUnknownFieldsErrors(crd: KubeObject, old: DeepReadonly<KubeObject> | undefined): FieldError[] {
  if (at(old, 'spec', 'preserveUnknownFields') === true || at(crd, 'spec', 'preserveUnknownFields') !== true) return [];
  return [
    fieldErrors.invalid(
      'spec.preserveUnknownFields',
      true,
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    ),
  ];
}
