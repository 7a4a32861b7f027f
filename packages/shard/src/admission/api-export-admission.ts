import {
  asJson,
  deepCopy,
  fieldErrors,
  fieldErrorText,
  FieldPath,
  getOwn,
  isJsonObject,
  parseJson,
  type DeepReadonly,
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { admissionForbidden, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import {
  type ResourceDefinition,
  apiExports,
  needsNoIdentity,
  permissionClaimsAnnotation,
  resourceSchemasAnnotation,
  type APIExport,
  type ExportedResource,
} from '@multiplane/apis';
import { claimedObjectsErrors, referenceErrors } from './claimed-objects-rules.ts';
import { virtualStorageErrors } from './virtual-storage-rules.ts';

export interface ApiExportAdmissionModules {
  /** Whether an APIBinding of this shard has the resource of the export. */
  readonly isBound: (object: DeepReadonly<APIExport>, resource: DeepReadonly<ExportedResource>) => boolean;
  /** Feature gate CacheAPIs. */
  readonly cacheApis: boolean;
}

/**
 * Validates APIExports (kcp `pkg/admission/apiexport/admission.go`): a claim for a kind that is not built in has an identity
 * hash, and a resource has the name of its schema. A v1alpha1 object is converted to the stored version first, and the
 * annotations that carry its v1alpha2 fields are validated like the spec.
 */
export class ApiExportAdmission implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/APIExport';
  readonly #modules: ApiExportAdmissionModules;

  constructor(modules: ApiExportAdmissionModules = { isBound: () => false, cacheApis: true }) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === apiExports.group && resource === apiExports.resource;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { definition, object } = attributes;
    if (definition.group !== apiExports.group || definition.resource !== apiExports.resource) return;
    if (object === undefined) return;
    const stored = storedForm(attributes, object);
    const old = attributes.oldObject;
    const before =
      old === undefined
        ? undefined
        : storedForm(attributes, deepCopy(asJson(old as KubeObject)) as unknown as KubeObject);
    const [first] = [...problems(object, definition.version === 'v1alpha1')].concat(
      specProblems(stored),
      virtualStorageErrors(
        stored,
        before,
        (resource) => this.#modules.isBound(stored, resource),
        this.#modules.cacheApis,
      ),
    );
    if (first !== undefined) throw admissionForbidden(attributes, fieldErrorText(first));
  }
}

const problems = (object: KubeObject, isOld: boolean): FieldError[] =>
  isOld ? [...schemaAnnotationProblems(object), ...claimAnnotationProblems(object)] : [];

function storedForm({ definition }: AdmissionAttributes, object: KubeObject): APIExport {
  if (definition.converter === undefined) return object;
  const copy = deepCopy(asJson(object)) as unknown as KubeObject;
  definition.converter.toStorage(copy);
  return copy;
}

function specProblems({ spec }: APIExport): FieldError[] {
  const path = FieldPath.of('spec');
  const claims = (spec?.permissionClaims ?? []).flatMap(({ group = '', resource, identityHash = '' }, index) =>
    identityHash !== '' || needsNoIdentity({ group, resource })
      ? []
      : [
          fieldErrors.invalid(
            path.child('permissionClaims').index(index).child('identityHash'),
            '',
            'identityHash is required for API types that are not built-in',
          ),
        ],
  );
  const parts = (spec?.permissionClaims ?? []).flatMap((claim, index) => {
    const claimPath = path.child('permissionClaims').index(index);
    return [...claimedObjectsErrors(claim, claimPath), ...referenceErrors(claim, spec?.resources ?? [], claimPath)];
  });
  const resources = (spec?.resources ?? []).flatMap(({ name, group = '', schema }, index) => {
    const suffix = `.${name}.${group === '' ? 'core' : group}`;
    return schema.endsWith(suffix)
      ? []
      : [fieldErrors.invalid(path.child('resources').index(index).child('schema'), schema, `must end in ${suffix}`)];
  });
  return [...claims, ...parts, ...resources];
}

/** Decodes an annotation that holds a list of objects; undefined without the annotation. */
function listIn(
  object: KubeObject,
  annotation: string,
  problem: string,
): { readonly list: readonly JsonObject[] } | { readonly problem: FieldError } | undefined {
  const text = object.metadata.annotations?.[annotation];
  if (text === undefined) return undefined;
  let value: Json = null;
  try {
    value = parseJson(text);
  } catch {
    // Text that is not JSON is reported below, like JSON that is not a list.
  }
  return Array.isArray(value) && value.every((entry) => isJsonObject(entry))
    ? { list: value }
    : { problem: annotationError(object, annotation, problem) };
}

function schemaAnnotationProblems(object: KubeObject): FieldError[] {
  const found = listIn(object, resourceSchemasAnnotation, 'failed to decode overhanging resource schemas');
  if (found === undefined) return [];
  if ('problem' in found) return [found.problem];
  const schemas = [...found.list.map((entry) => entry['schema']), ...listOf(object, 'latestResourceSchemas')];
  return new Set(schemas).size === schemas.length
    ? []
    : [annotationError(object, resourceSchemasAnnotation, 'duplicate resource schema')];
}

function claimAnnotationProblems(object: KubeObject): FieldError[] {
  const found = listIn(object, permissionClaimsAnnotation, 'failed to decode overhanging permission claims');
  if (found === undefined) return [];
  if ('problem' in found) return [found.problem];
  const known = new Set(listOf(object, 'permissionClaims').map(claimOf));
  return found.list.every((claim) => known.has(claimOf(claim)))
    ? []
    : [
        annotationError(
          object,
          permissionClaimsAnnotation,
          'permission claims defined in annotation do not match permission claims defined in spec',
        ),
      ];
}

/** Identifies what a claim is for. */
const claimOf = (claim: Json): string =>
  JSON.stringify(
    ['group', 'resource', 'identityHash'].map((field) => (isJsonObject(claim) ? (getOwn(claim, field) ?? '') : '')),
  );

function listOf(object: KubeObject, field: string): readonly Json[] {
  const spec = asJson(object)['spec'];
  const value = isJsonObject(spec) ? getOwn(spec, field) : undefined;
  return Array.isArray(value) ? value : [];
}

const annotationError = (object: KubeObject, annotation: string, detail: string): FieldError =>
  fieldErrors.invalid(
    FieldPath.of('metadata', 'annotations').key(annotation),
    object.metadata.annotations?.[annotation] ?? '',
    detail,
  );
