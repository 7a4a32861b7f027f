import { fieldErrors, FieldPath, type DeepReadonly, type FieldError, type KubeObject } from '@multiplane/apimachinery';
import { builtInKind } from '../built-in-kind.ts';
import { defaultStrategy } from '../default-strategy.ts';
import { at, entriesAt, objectAt, textAt } from '../fields.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { column, nameAgeTable } from '../tables/columns.ts';
import { configKeyErrors, immutableData, immutableDataErrors, maxDataBytes } from './config-data.ts';

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

const dataPath = FieldPath.of('data');

function validateConfigMap(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of entriesAt(object, 'data')) {
    const path = dataPath.key(key);
    errors.push(...configKeyErrors(path, key));
    if (at(object, 'binaryData', key) !== undefined) {
      errors.push(fieldErrors.invalid(path, key, 'duplicate of key present in binaryData'));
    }
    bytes += Buffer.byteLength(value as string);
  }
  for (const [key] of entriesAt(object, 'binaryData')) {
    errors.push(...configKeyErrors(FieldPath.of('binaryData').key(key), key));
    bytes += Buffer.from(textAt(object, 'binaryData', key), 'base64').length;
  }
  // The root path of this very error prints as `[]`, not as `<nil>`.
  if (bytes > maxDataBytes) errors.push(fieldErrors.tooLong('[]', maxDataBytes));
  return errors;
}

function validateChange(object: KubeObject, old: DeepReadonly<KubeObject>): FieldError[] {
  if (at(old, 'immutable') !== true) return [];
  const errors = at(object, 'immutable') === true ? [] : [immutableData('immutable')];
  return [...errors, ...immutableDataErrors(object, old, ['data', 'binaryData'], ['data'])];
}
