import {
  asJson,
  deepCopy,
  fieldErrors,
  fieldErrorText,
  FieldPath,
  getOwn,
  isJsonObject,
  parseJson,
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
} from '@multiplane/apis';

/**
 * APIExports (C6.10): a claim says whose kind is meant, a resource is named as its schema is. What is written in v1alpha1
 * is looked at as it will be stored, and what it carries in annotations as if it stood in the spec.
 */
export class ApiExportAdmission implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/APIExport';

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
    const [first] = [...problems(object, definition.version === 'v1alpha1')].concat(
      specProblems(storedForm(attributes, object)),
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
  const resources = (spec?.resources ?? []).flatMap(({ name, group = '', schema }, index) => {
    const suffix = `.${name}.${group === '' ? 'core' : group}`;
    return schema.endsWith(suffix)
      ? []
      : [fieldErrors.invalid(path.child('resources').index(index).child('schema'), schema, `must end in ${suffix}`)];
  });
  return [...claims, ...resources];
}

/** What an annotation with a list says; a problem where it is none, nothing where there is no annotation. */
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
    // Refused below, like every other text that is no list.
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

/** What a claim is for. */
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
