import {
  asJson,
  fieldErrors,
  FieldPath,
  isJsonObject,
  setOwn,
  type DeepReadonly,
  type FieldError,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { builtInKind } from '../built-in-kind.ts';
import { defaultStrategy } from '../default-strategy.ts';
import { annotationOf, at, entriesAt, textAt } from '../fields.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { column, nameAgeTable } from '../tables/columns.ts';
import { configKeyErrors, immutableData, immutableDataErrors, maxDataBytes } from './config-data.ts';
import { keyCount } from './config-map.ts';
import { jsonSyntaxProblem } from './json-syntax-problem.ts';
import { tlsKeyPairProblem } from './tls-key-pair.ts';

export const secretTypes = {
  opaque: 'Opaque',
  serviceAccountToken: 'kubernetes.io/service-account-token',
  dockercfg: 'kubernetes.io/dockercfg',
  dockerConfigJson: 'kubernetes.io/dockerconfigjson',
  basicAuth: 'kubernetes.io/basic-auth',
  sshAuth: 'kubernetes.io/ssh-auth',
  tls: 'kubernetes.io/tls',
} as const;
export const serviceAccountNameAnnotation = 'kubernetes.io/service-account.name';

/** stringData is written into data, the type is fixed and decides the keys that must be there. */
export function secrets(): ResourceDefinition {
  return builtInKind({
    group: '',
    version: 'v1',
    kind: 'Secret',
    resource: 'secrets',
    namespaced: true,
    component: 'io.k8s.api.core.v1.Secret',
    defaults: (object) => {
      mergeStringData(asJson(object));
      if (textAt(object, 'type') === '') object['type'] = secretTypes.opaque;
    },
    strategy: defaultStrategy({
      metadataChecks: { standardFinalizers: true, onUpdate: ['update', 'change', 'object'] },
      validate: (_context, object) => validateSecret(object),
      validateUpdate: (_context, object) => validateSecret(object),
      validateChange,
      warnings: (_context, object) => {
        if (textAt(object, 'type') !== secretTypes.tls) return [];
        const problem = tlsKeyPairProblem(dataOf(object, 'tls.crt'), dataOf(object, 'tls.key'));
        return problem === undefined ? [] : [problem];
      },
    }),
    fieldSelectors: { type: (object) => textAt(object, 'type') },
    table: nameAgeTable(
      [column('Type', { description: 'What the secret is for.' }), column('Data', { description: 'Number of keys.' })],
      (object) => [textAt(object, 'type'), keyCount(object, 'data')],
    ),
  });
}

/** `stringData` is write-only: its values win over those of `data`. */
function mergeStringData(object: JsonObject): void {
  const texts = object['stringData'];
  delete object['stringData'];
  if (!isJsonObject(texts) || Object.keys(texts).length === 0) return;
  const data = isJsonObject(object['data']) ? object['data'] : {};
  for (const [key, text] of Object.entries(texts)) {
    setOwn(data, key, Buffer.from(typeof text === 'string' ? text : '').toString('base64'));
  }
  object['data'] = data;
}

const dataOf = (object: KubeObject, key: string): Buffer => Buffer.from(textAt(object, 'data', key), 'base64');

function validateSecret(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const dataPath = FieldPath.of('data');
  let bytes = 0;
  for (const [key, value] of entriesAt(object, 'data')) {
    errors.push(...configKeyErrors(dataPath.key(key), key));
    bytes += Buffer.byteLength(value as string, 'base64');
  }
  if (bytes > maxDataBytes) errors.push(fieldErrors.tooLong(dataPath, maxDataBytes));
  errors.push(...typeErrors(object, dataPath));
  return errors;
}

function typeErrors(object: KubeObject, dataPath: FieldPath): FieldError[] {
  const has = (key: string): boolean => at(object, 'data', key) !== undefined;
  const required = (key: string): FieldError => fieldErrors.required(dataPath.key(key));
  switch (textAt(object, 'type')) {
    case secretTypes.serviceAccountToken:
      return annotationOf(object, serviceAccountNameAnnotation) === ''
        ? [fieldErrors.required(FieldPath.of('metadata', 'annotations').key(serviceAccountNameAnnotation))]
        : [];
    case secretTypes.dockercfg:
      return jsonErrors(object, dataPath, '.dockercfg');
    case secretTypes.dockerConfigJson:
      return jsonErrors(object, dataPath, '.dockerconfigjson');
    case secretTypes.basicAuth:
      return has('username') || has('password') ? [] : [required('username'), required('password')];
    case secretTypes.sshAuth:
      return textAt(object, 'data', 'ssh-privatekey') === '' ? [required('ssh-privatekey')] : [];
    case secretTypes.tls:
      return ['tls.crt', 'tls.key'].filter((key) => !has(key)).map(required);
    default:
      return [];
  }
}

function jsonErrors(object: KubeObject, dataPath: FieldPath, key: string): FieldError[] {
  if (at(object, 'data', key) === undefined) return [fieldErrors.required(dataPath.key(key))];
  const problem = jsonSyntaxProblem(dataOf(object, key).toString());
  return problem === undefined ? [] : [fieldErrors.invalid(dataPath.key(key), '<secret contents redacted>', problem)];
}

function validateChange(object: KubeObject, old: DeepReadonly<KubeObject>): FieldError[] {
  const errors: FieldError[] = [];
  const type = textAt(object, 'type');
  if (type !== textAt(old, 'type')) errors.push(fieldErrors.invalid('type', type, 'field is immutable'));
  if (at(old, 'immutable') === true) {
    if (at(object, 'immutable') !== true) errors.push(immutableData('immutable'));
    errors.push(...immutableDataErrors(object, old, ['data']));
  }
  return errors;
}
