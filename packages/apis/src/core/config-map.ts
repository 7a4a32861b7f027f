import {
  fieldErrors,
  FieldPath,
  type DeepReadonly,
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { builtInKind } from '../built-in-kind.ts';
import { defaultStrategy } from '../default-strategy.ts';
import { at, objectAt, textAt } from '../fields.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { column, nameAgeTable } from '../tables/columns.ts';
import { configKeyErrors, isConfigKey, immutableData, immutableDataErrors, maxDataBytes } from './config-data.ts';

/** Keys of data and binaryData, 1 MiB of values at most, `immutable`. */
export function configMaps(): ResourceDefinition {
  return builtInKind({
    group: '',
    version: 'v1',
    kind: 'ConfigMap',
    resource: 'configmaps',
    shortNames: ['cm'],
    namespaced: true,
    component: 'io.k8s.api.core.v1.ConfigMap',
    strategy: defaultStrategy({
      metadataChecks: { standardFinalizers: true, onUpdate: ['update', 'change', 'object'] },
      validate: (_context, object) => validateConfigMap(object),
      validateUpdate: (_context, object) => validateConfigMap(object),
      validateChange,
    }),
    table: nameAgeTable([column('Data', { description: 'Number of keys.' })], (object) => [
      keyCount(object, 'data') + keyCount(object, 'binaryData'),
    ]),
  });
}

/** How many keys the map in a field has. */
export const keyCount = (object: DeepReadonly<KubeObject>, field: string): number =>
  Object.keys(objectAt(object, field) ?? {}).length;

const noErrors: readonly FieldError[] = [];
const dataPath = FieldPath.of('data');

function validateConfigMap(object: KubeObject): FieldError[] {
  let bytes = 0;
  const binaryData = objectAt(object, 'binaryData');
  const errors = errorsByKey(objectAt(object, 'data'), (key, value) => {
    bytes += Buffer.byteLength(value as string);
    const isRepeated = binaryData !== undefined && at(object, 'binaryData', key) !== undefined;
    if (!isRepeated && isConfigKey(key)) return noErrors;
    const path = dataPath.key(key);
    const invalid = configKeyErrors(path, key);
    return !isRepeated
      ? invalid
      : [...invalid, fieldErrors.invalid(path, key, 'duplicate of key present in binaryData')];
  });
  errors.push(
    ...errorsByKey(binaryData, (key) => {
      bytes += Buffer.from(textAt(object, 'binaryData', key), 'base64').length;
      return configKeyErrors(FieldPath.of('binaryData').key(key), key);
    }),
  );
  // The root path of this very error prints as `[]`, not as `<nil>`.
  if (bytes > maxDataBytes) errors.push(fieldErrors.tooLong('[]', maxDataBytes));
  return errors;
}

/** The errors of all members, sorted by key. Only keys with errors are sorted: a map may have 90,000 members. */
function errorsByKey(
  map: DeepReadonly<JsonObject> | undefined,
  errorsOf: (key: string, value: DeepReadonly<Json>) => readonly FieldError[],
): FieldError[] {
  const found = new Map<string, readonly FieldError[]>();
  for (const key of Object.keys(map ?? {})) {
    const errors = errorsOf(key, map?.[key] as Json);
    if (errors.length > 0) found.set(key, errors);
  }
  return [...found.keys()].toSorted().flatMap((key) => found.get(key) ?? []);
}

function validateChange(object: KubeObject, old: DeepReadonly<KubeObject>): FieldError[] {
  if (at(old, 'immutable') !== true) return [];
  const errors = at(object, 'immutable') === true ? [] : [immutableData('immutable')];
  return [...errors, ...immutableDataErrors(object, old, ['data', 'binaryData'], ['data'])];
}
