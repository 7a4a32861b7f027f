import {
  deepEqual,
  encodeJson,
  isJsonObject,
  parseJson,
  quote,
  statusErrors,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import type { VersionConverter } from '../resource-definition.ts';

/*
 * APIExport and APIBinding between v1alpha1 and v1alpha2, the stored version. What one version cannot say
 * travels in annotations of the other, so that nothing is lost on the way there and back. Unlike in kcp, what
 * is read in v1alpha1 can be written in v1alpha1: claims that it cannot say read `all: true` there, and the annotation
 * beside them keeps what they really are.
 */

const prefix = 'apis.v1alpha2.kcp.io/';
/** In v1alpha1: resources of an export that are not stored as objects of a definition. */
export const resourceSchemasAnnotation = `${prefix}resource-schemas`;
/** In v1alpha1: claims of an export with verbs or a default selector. */
export const permissionClaimsAnnotation = `${prefix}permission-claims`;
/** In v1alpha1: claims of a binding with verbs or a selector. */
export const acceptableClaimsAnnotation = `${prefix}acceptable-permission-claims`;
const exportedClaimsAnnotation = `${prefix}status-export-permission-claims`;
const appliedClaimsAnnotation = `${prefix}status-applied-permission-claims`;
/** In v1alpha2: claims as they were written in v1alpha1. */
const oldClaimsAnnotation = `${prefix}v1alpha1-permission-claims`;
const oldExportedClaimsAnnotation = `${prefix}v1alpha1-status-export-permission-claims`;
const oldAppliedClaimsAnnotation = `${prefix}v1alpha1-status-applied-permission-claims`;

type Annotations = Record<string, string>;

/** Text fields of a claim in the order in which annotations have them; empty ones are left out. */
const claimFields = [
  'group',
  'resource',
  'all',
  'resourceSelector',
  'verbs',
  'identityHash',
  'defaultSelector',
  'selector',
  'objects',
  'subresources',
  'state',
];
/** What v1alpha1 has no field for. */
const laterFields = ['defaultSelector', 'objects', 'subresources'];
const hasLaterField = (claim: JsonObject): boolean => laterFields.some((field) => claim[field] !== undefined);

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const partOf = (object: KubeObject, part: 'spec' | 'status'): JsonObject | undefined => {
  const value = object[part] as Json | undefined;
  return isJsonObject(value) ? value : undefined;
};
/**
 * kcp converts Go structs, which always have a spec and a status: a converted object has them, too. Returns the spec. What is
 * no object is left to validation.
 */
function completed(object: KubeObject): JsonObject | undefined {
  for (const part of ['spec', 'status']) object[part] ??= {};
  return partOf(object, 'spec');
}
const keyOf = (claim: JsonObject): string =>
  encodeJson([claim['group'] ?? '', claim['resource'], claim['identityHash'] ?? '']);
const isEveryVerb = (claim: JsonObject): boolean => deepEqual(claim['verbs'] ?? ['*'], ['*']);
const isMatchAll = (selector: Json | undefined): boolean => isJsonObject(selector) && selector['matchAll'] === true;

function compact(claim: JsonObject): JsonObject {
  return Object.fromEntries(
    claimFields
      .filter((field) => claim[field] !== undefined && claim[field] !== '' && claim[field] !== false)
      .map((field) => [field, claim[field] as Json]),
  );
}

/** Takes an annotation away and reads it; one that cannot be read is left to admission, which refuses it. */
function taken(annotations: Annotations, name: string): JsonObject[] {
  const text = annotations[name];
  if (text === undefined) return [];
  let list: Json;
  try {
    list = parseJson(text);
  } catch {
    return [];
  }
  if (!Array.isArray(list)) return [];
  delete annotations[name];
  return objects(list);
}

const keep = (annotations: Annotations, name: string, list: readonly JsonObject[]): void => {
  if (list.length > 0) annotations[name] = encodeJson([...list]);
};

function withAnnotations(object: KubeObject, change: (annotations: Annotations) => void): void {
  const annotations: Annotations = { ...object.metadata.annotations };
  change(annotations);
  if (Object.keys(annotations).length > 0) object.metadata.annotations = annotations;
  else delete object.metadata.annotations;
}

/** What of a v1alpha2 claim v1alpha1 has a field for. */
function oldClaim(claim: JsonObject, written: ReadonlyMap<string, JsonObject>): JsonObject {
  const { verbs: _verbs, selector: _selector, identityHash, group, ...others } = claim;
  const rest = Object.fromEntries(Object.entries(others).filter(([field]) => !laterFields.includes(field)));
  const before = written.get(keyOf(claim));
  const chosen = before?.['resourceSelector'];
  return {
    ...rest,
    ...(group === undefined || group === '' ? {} : { group }),
    ...(identityHash === undefined || identityHash === '' ? {} : { identityHash }),
    ...(Array.isArray(chosen) && chosen.length > 0 ? { resourceSelector: chosen } : { all: true }),
  };
}

/** A v1alpha1 claim with what v1alpha2 wants to know besides. */
function newClaim(claim: JsonObject, known: ReadonlyMap<string, JsonObject>, selects: boolean): JsonObject {
  const { all: _all, resourceSelector: _chosen, ...rest } = claim;
  const before = known.get(keyOf(claim));
  return {
    ...rest,
    verbs: before?.['verbs'] ?? ['*'],
    ...Object.fromEntries(
      laterFields.flatMap((field) => (before?.[field] === undefined ? [] : [[field, before[field]]])),
    ),
    ...(selects ? { selector: before?.['selector'] ?? { matchAll: true } } : {}),
  };
}

const byKey = (claims: readonly JsonObject[]): Map<string, JsonObject> =>
  new Map(claims.map((claim) => [keyOf(claim), claim]));

/** `v1.widgets.example.dev` as a resource of the export. Throws with kcp's text. */
function resourceOfSchema(schema: string): JsonObject {
  const [first, name, ...group] = schema.split('.');
  if (first === undefined || name === undefined || group.length === 0)
    throw statusErrors.untyped(
      `failed to convert v1alpha1 APIExport to v1alpha2: invalid schema ${quote(schema)}: must have at least 3 dot-separated segments`,
    );
  const groupName = group.join('.');
  return { group: groupName === 'core' ? '' : groupName, name, schema, storage: { crd: {} } };
}

const isStoredAsObjects = ({ storage }: JsonObject): boolean => isJsonObject(storage) && storage['crd'] !== undefined;

export const exportConversion: VersionConverter = {
  toStorage(object) {
    const spec = completed(object);
    if (spec === undefined) return;
    withAnnotations(object, (annotations) => {
      const { latestResourceSchemas, permissionClaims, ...rest } = spec;
      const schemas = Array.isArray(latestResourceSchemas) ? latestResourceSchemas.map(String) : [];
      const resources = [...schemas.map(resourceOfSchema), ...taken(annotations, resourceSchemasAnnotation)];
      const known = byKey(taken(annotations, permissionClaimsAnnotation));
      const claims = objects(permissionClaims);
      keep(annotations, oldClaimsAnnotation, claims.map(compact));
      object['spec'] = {
        ...rest,
        ...(resources.length === 0 ? {} : { resources }),
        ...(claims.length === 0 ? {} : { permissionClaims: claims.map((claim) => newClaim(claim, known, false)) }),
      };
    });
  },
  fromStorage(object) {
    const spec = completed(object);
    if (spec === undefined) return;
    withAnnotations(object, (annotations) => {
      const { resources, permissionClaims, ...rest } = spec;
      const list = objects(resources);
      const written = byKey(taken(annotations, oldClaimsAnnotation));
      const claims = objects(permissionClaims);
      keep(
        annotations,
        permissionClaimsAnnotation,
        claims.filter((claim) => !isEveryVerb(claim) || hasLaterField(claim)).map(compact),
      );
      keep(
        annotations,
        resourceSchemasAnnotation,
        list
          .filter((resource) => !isStoredAsObjects(resource))
          .map(({ name, group, schema, storage, ...more }) => ({
            name: name ?? '',
            group: group ?? '',
            schema: schema ?? '',
            storage: storage ?? {},
            ...more,
          })),
      );
      const schemas = list.filter(isStoredAsObjects).map(({ schema }) => schema as Json);
      object['spec'] = {
        ...rest,
        ...(schemas.length === 0 ? {} : { latestResourceSchemas: schemas }),
        ...(claims.length === 0 ? {} : { permissionClaims: claims.map((claim) => oldClaim(claim, written)) }),
      };
    });
  },
};

/** Lists of claims of a binding, with the annotation for each direction. */
const bindingClaims = [
  {
    part: 'spec',
    field: 'permissionClaims',
    later: acceptableClaimsAnnotation,
    before: oldClaimsAnnotation,
    selects: true,
  },
  {
    part: 'status',
    field: 'exportPermissionClaims',
    later: exportedClaimsAnnotation,
    before: oldExportedClaimsAnnotation,
    selects: false,
  },
  {
    part: 'status',
    field: 'appliedPermissionClaims',
    later: appliedClaimsAnnotation,
    before: oldAppliedClaimsAnnotation,
    selects: true,
  },
] as const;

export const bindingConversion: VersionConverter = {
  toStorage(object) {
    completed(object);
    withAnnotations(object, (annotations) => {
      for (const { part, field, later, before, selects } of bindingClaims) {
        const known = byKey(taken(annotations, later));
        const holder = partOf(object, part);
        if (holder?.[field] === undefined) continue;
        const claims = objects(holder[field]);
        keep(annotations, before, claims.filter((claim) => claim['all'] !== true).map(compact));
        object[part] = { ...holder, [field]: claims.map((claim) => newClaim(claim, known, selects)) };
      }
    });
  },
  fromStorage(object) {
    completed(object);
    withAnnotations(object, (annotations) => {
      for (const { part, field, later, before, selects } of bindingClaims) {
        const written = byKey(taken(annotations, before));
        const holder = partOf(object, part);
        if (holder?.[field] === undefined) continue;
        const claims = objects(holder[field]);
        const plain = (claim: JsonObject): boolean =>
          isEveryVerb(claim) && !hasLaterField(claim) && (!selects || isMatchAll(claim['selector']));
        keep(annotations, later, claims.filter((claim) => !plain(claim)).map(compact));
        object[part] = { ...holder, [field]: claims.map((claim) => oldClaim(claim, written)) };
      }
    });
  },
};
