import {
  deepEqual,
  encodeJsonGo,
  fieldErrors,
  FieldPath,
  isJsonObject,
  parseJson,
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
import { approvalErrors } from '../apiextensions/api-approval.ts';
import { crdNamesErrors } from '../apiextensions/crd-names.ts';
import { nativeGroups, requiredNameErrors } from '../apiextensions/crd-spec-rules.ts';
import {
  deprecationWarningErrors,
  printerColumnsErrors,
  subresourceErrors,
} from '../apiextensions/crd-version-parts.ts';
import { at, listAt, objectAt, textAt } from '../fields.ts';

const prefixForm = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/**
 * Rules of an APIResourceSchema: those of a definition, on the parts the two have in common. Its own schema has
 * been checked before. A schema never changes, so what has not changed is not looked at again.
 */
export function apiResourceSchemaErrors(object: KubeObject, old: DeepReadonly<KubeObject> | undefined): FieldError[] {
  const spec = objectAt(object, 'spec') ?? {};
  const path = FieldPath.of('spec');
  const before = old === undefined ? undefined : objectAt(old, 'spec');
  const isSame = before !== undefined && deepEqual(before, spec);
  return [
    ...nameErrors(object.metadata.name ?? '', spec),
    ...approvalErrors(object, undefined),
    ...(isSame ? [] : specErrors(spec, path)),
    ...(old === undefined || isSame ? [] : [fieldErrors.invalid(path, specForm(spec), 'is immutable')]),
  ];
}

/** The last segments of the name are those of the resource, so that exports can be read. */
function nameErrors(name: string, spec: JsonObject): FieldError[] {
  const plural = textAt(spec, 'names', 'plural');
  // Said of the plural itself.
  if (plural === '') return [];
  const suffix = `.${plural}.${textAt(spec, 'group') || 'core'}`;
  const wrong = (detail: string): FieldError[] => [fieldErrors.invalid('metadata.name', name, detail)];
  if (!name.endsWith(suffix)) return wrong(`must end in ${suffix}`);
  return prefixForm.test(name.slice(0, -suffix.length))
    ? []
    : wrong(`must match ^[a-z]([-a-z0-9]*[a-z0-9])?$ in front of ${suffix}`);
}

function specErrors(spec: JsonObject, path: FieldPath): FieldError[] {
  const versions = listAt(spec, 'versions');
  return [
    ...groupErrors(textAt(spec, 'group'), path.child('group')),
    ...versions.flatMap((version, index) => versionErrors(version, path.child('versions').index(index))),
    ...versionListErrors(versions, spec['versions'] === undefined, path.child('versions')),
    ...requiredNameErrors(spec, path.child('names')),
    ...crdNamesErrors(spec['names'], path.child('names')),
  ];
}

function groupErrors(group: string, path: FieldPath): FieldError[] {
  if (group === '') return [];
  if (group === 'core') return [fieldErrors.invalid(path, group, 'must be empty string for the core group')];
  const messages = validateDns1123Subdomain(group);
  if (messages.length > 0) return [fieldErrors.invalid(path, group, messages.join(','))];
  return group.includes('.') || nativeGroups.has(group)
    ? []
    : [fieldErrors.invalid(path, group, 'should be a domain with at least one dot')];
}

function versionErrors(version: Json, path: FieldPath): FieldError[] {
  const name = textAt(version, 'name');
  const messages = validateDns1035Label(name);
  const schema = objectAt(version, 'schema');
  const unreadable = schema === undefined ? undefined : unreadablePart(schema);
  return [
    ...(messages.length === 0 ? [] : [fieldErrors.invalid(path.child('name'), name, messages.join(','))]),
    ...deprecationWarningErrors(version, path),
    ...(schema === undefined
      ? [fieldErrors.required(path.child('schema'))]
      : unreadable !== undefined
        ? [
            fieldErrors.invalid(
              path.child('schema'),
              encodeJsonGo(schema, { sortKeys: true }),
              `invalid JSON: ${unreadable}`,
            ),
          ]
        : validateDefinitionSchema(withZeros(schema), {
            path: path.child('schema', 'openAPIV3Schema'),
            statusSubresource: objectAt(version, 'subresources', 'status') !== undefined,
            validateRules: validateDefinitionRules,
          })),
    ...subresourceErrors(at(version, 'subresources'), path.child('subresources')),
    ...printerColumnsErrors(version, path.child('additionalPrinterColumns')),
    ...selectableFieldErrors(version, unreadable === undefined ? schema : undefined, path),
  ];
}

function selectableFieldErrors(version: Json, schema: JsonObject | undefined, path: FieldPath): FieldError[] {
  const fields = listAt(version, 'selectableFields').filter((field) => isJsonObject(field));
  if (fields.length === 0) return [];
  const where = path.child('selectableFields');
  if (schema === undefined)
    return [fieldErrors.invalid(where, '', 'may only be set when `version.schema.openAPIV3Schema` is not included')];
  const problem = structuralProblem(schema);
  return [
    ...(problem === undefined ? [] : [fieldErrors.invalid(path.child('schema', 'openAPIV3Schema'), '', problem)]),
    ...validateSelectableFields(fields, schema, where),
  ];
}

/** Go's types of the fields of JSONSchemaProps; fields that take any JSON, or decode themselves, are not here. */
const goTypes: ReadonlyMap<string, string> = new Map([
  ...['id', '$schema', '$ref', 'description', 'type', 'format', 'title', 'pattern'].map((name) => [name, 'string']),
  ...['x-kubernetes-list-type', 'x-kubernetes-map-type'].map((name) => [name, 'string']),
  ...['maximum', 'minimum', 'multipleOf'].map((name) => [name, 'float64']),
  ...['Length', 'Items', 'Properties'].flatMap((name) => [
    [`max${name}`, 'int64'],
    [`min${name}`, 'int64'],
  ]),
  ...['exclusiveMaximum', 'exclusiveMinimum', 'uniqueItems', 'nullable'].map((name) => [name, 'bool']),
  ...['preserve-unknown-fields', 'embedded-resource', 'int-or-string'].map((name) => [`x-kubernetes-${name}`, 'bool']),
  ...['required', 'x-kubernetes-list-map-keys'].map((name) => [name, '[]string']),
  ...['allOf', 'anyOf', 'oneOf'].map((name) => [name, '[]v1.JSONSchemaProps']),
  ...['properties', 'patternProperties', 'definitions'].map((name) => [name, 'map[string]v1.JSONSchemaProps']),
  ['not', 'v1.JSONSchemaProps'],
  ['x-kubernetes-validations', '[]v1.ValidationRule'],
  ['externalDocs', 'v1.ExternalDocumentation'],
  ['enum', '[]v1.JSON'],
  ['dependencies', 'map[string]v1.JSONSchemaPropsOrStringArray'],
] as [string, string][]);
const structs: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  ['v1.JSONSchemaProps', goTypes],
  [
    'v1.ValidationRule',
    new Map([
      ...['rule', 'message', 'messageExpression', 'reason', 'fieldPath'].map((name) => [name, 'string'] as const),
      ['optionalOldSelf', 'bool'],
    ]),
  ],
  [
    'v1.ExternalDocumentation',
    new Map([
      ['description', 'string'],
      ['url', 'string'],
    ]),
  ],
]);

/** Fields whose value may be something else instead of a schema. */
const schemasOrElse: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'additionalItems']);

/**
 * Why a schema cannot be decoded as JSONSchemaProps: the first misfit in the order of the names, with the text of Go's decoder;
 * undefined if all fits.
 */
const unreadablePart = (schema: JsonObject): string | undefined => unreadableField(schema, 'v1.JSONSchemaProps', '');

/** `isInner`: a type that decodes itself is on the path, so that the error names the struct around it. */
function unreadableField(value: JsonObject, struct: string, path: string, isInner = false): string | undefined {
  const shown = isInner ? 'JSONSchemaProps' : struct.replace('v1.', '');
  const fields = structs.get(struct) ?? goTypes;
  for (const field of Object.keys(value).sort()) {
    const part = value[field] as Json;
    const isElse = struct === 'v1.JSONSchemaProps' && schemasOrElse.has(field) && isJsonObject(part);
    const type = isElse ? 'v1.JSONSchemaProps' : fields.get(field);
    const at = { path: `${path}.${field}`, struct: shown, isInner: isInner || isElse };
    const problem = type === undefined ? undefined : misfit(part, type, at);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** A schema as Go decodes it: null in a map or list of schemas is an empty one. The same object if there is none. */
function withZeros(schema: JsonObject): JsonObject {
  let changed: JsonObject | undefined;
  for (const [field, value] of Object.entries(schema)) {
    const type = goTypes.get(field) ?? '';
    if (!type.endsWith('JSONSchemaProps') && !schemasOrElse.has(field)) continue;
    const decoded = type.startsWith('v1.') || schemasOrElse.has(field) ? zeroOf(value) : itemsWithZeros(value);
    if (decoded !== value) changed = { ...(changed ?? schema), [field]: decoded };
  }
  return changed ?? schema;
}

function itemsWithZeros(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  const items = Object.entries(value as JsonObject).map(
    ([key, item]) => [key, item === null ? {} : zeroOf(item)] as const,
  );
  if (items.every(([key, item]) => (value as JsonObject)[key] === item)) return value;
  return Array.isArray(value) ? items.map(([, item]) => item) : Object.fromEntries(items);
}

const zeroOf = (value: Json): Json => (isJsonObject(value) ? withZeros(value) : value);

interface Place {
  readonly path: string;
  readonly struct: string;
  readonly isInner: boolean;
}

function misfit(value: Json, type: string, place: Place): string | undefined {
  if (value === null) return undefined;
  const found = jsonTypeOf(value);
  const wrong = (text = found): string =>
    `json: cannot unmarshal ${text} into Go struct field ${place.struct}${place.path} of type ${type}`;
  if (structs.has(type)) return isJsonObject(value) ? unreadableField(value, type, place.path, place.isInner) : wrong();
  switch (type) {
    case 'v1.JSON':
      return undefined;
    case 'v1.JSONSchemaPropsOrStringArray':
      return isJsonObject(value) ? unreadableField(value, 'v1.JSONSchemaProps', place.path, true) : undefined;
    case 'string':
    case 'bool':
      return found === type ? undefined : wrong();
    case 'float64':
      return found === 'number' ? undefined : wrong();
    case 'int64':
      if (found !== 'number') return wrong();
      return Number.isInteger(Number(value)) ? undefined : wrong(`number ${encodeJsonGo(value)}`);
    default: {
      if (type.startsWith('[]') ? !Array.isArray(value) : !isJsonObject(value)) return wrong();
      const itemType = type.replace(/^(\[\]|map\[string\])/, '');
      for (const item of Object.values(value as JsonObject)) {
        const problem = misfit(item, itemType, place);
        if (problem !== undefined) return problem;
      }
      return undefined;
    }
  }
}

const jsonTypeOf = (value: Json): string => {
  if (Array.isArray(value)) return 'array';
  if (isJsonObject(value)) return 'object';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'string' ? 'string' : 'number';
};

function versionListErrors(versions: readonly Json[], isAbsent: boolean, path: FieldPath): FieldError[] {
  const shown = isAbsent ? null : versions.map(versionForm);
  const wrong = (detail: string): FieldError => fieldErrors.invalid(path, shown, detail);
  const names = new Set(versions.map((version) => textAt(version, 'name')));
  return [
    ...(names.size < versions.length ? [wrong('must contain unique version names')] : []),
    ...(versions.filter((version) => at(version, 'storage') === true).length === 1
      ? []
      : [wrong('must have exactly one version marked as storage version')]),
  ];
}

/** The fields in the order in which messages show them; absent ones are left out. */
function inOrder(source: Json | undefined, fields: readonly string[]): JsonObject {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = at(source, field);
      return value === undefined ? [] : [[field, value]];
    }),
  );
}

/** Maps without an order of their own are shown sorted. */
const sorted = (value: Json): Json => parseJson(encodeJsonGo(value, { sortKeys: true }));

function versionForm(version: Json): JsonObject {
  const {
    schema = {},
    subresources = {},
    additionalPrinterColumns,
    selectableFields,
    ...first
  } = inOrder(version, [
    'name',
    'served',
    'storage',
    'deprecated',
    'deprecationWarning',
    'schema',
    'subresources',
    'additionalPrinterColumns',
    'selectableFields',
  ]);
  return {
    ...first,
    schema: sorted(schema),
    subresources,
    ...(additionalPrinterColumns === undefined ? {} : { additionalPrinterColumns }),
    ...(selectableFields === undefined ? {} : { selectableFields }),
  };
}

function specForm(spec: JsonObject): JsonObject {
  const fields = inOrder(spec, ['group', 'names', 'scope', 'versions', 'nameValidation', 'conversion']);
  return {
    ...fields,
    names: inOrder(spec['names'], ['plural', 'singular', 'shortNames', 'kind', 'listKind', 'categories']),
    versions: listAt(spec, 'versions').map(versionForm),
  };
}
