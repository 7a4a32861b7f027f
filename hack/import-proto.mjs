// Writes packages/apis/src/schemas/protobuf-fields.data.ts from Kubernetes' published generated.proto files.
//   hack/node hack/import-proto.mjs <folder that holds k8s.io/…/generated.proto> [<folder of golden *.pb and *.json>]
// With the second folder also the test vectors of our kinds: packages/apis/src/schemas/testdata/protobuf-golden.txt,
// one line each, the message in base64 and the same object in JSON. Carries over facts only: numbers, names and types of fields. Comments stay behind.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, golden] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: import-proto.mjs <folder> [<golden folder>]');

/** Kinds that come in a request body, by the API version they are sent as. */
const kinds = {
  v1: 'ConfigMap Event LimitRange Namespace ResourceQuota Secret ServiceAccount',
  'admissionregistration.k8s.io/v1':
    'MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ' +
    'ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration',
  'apiextensions.k8s.io/v1': 'CustomResourceDefinition',
  'authentication.k8s.io/v1': 'SelfSubjectReview TokenRequest TokenReview',
  'authorization.k8s.io/v1':
    'LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview',
  'autoscaling/v1': 'Scale',
  'certificates.k8s.io/v1': 'CertificateSigningRequest',
  'coordination.k8s.io/v1': 'Lease',
  'events.k8s.io/v1': 'Event',
  'flowcontrol.apiserver.k8s.io/v1': 'FlowSchema PriorityLevelConfiguration',
  'meta.k8s.io/v1': 'DeleteOptions',
  'rbac.authorization.k8s.io/v1': 'ClusterRole ClusterRoleBinding Role RoleBinding',
};

/** Structs whose fields stand in the object that holds them. */
const inlined = new Set([
  'admissionregistration.v1.NamedRuleWithOperations.ruleWithOperations',
  'admissionregistration.v1.RuleWithOperations.rule',
]);

/** Bytes that are a JSON text. */
const jsonBytes = new Set(['apiextensions.v1.JSON.raw', 'meta.v1.FieldsV1.raw', 'runtime.RawExtension.raw']);

/** Names in JSON where they are not those of the proto with a small first letter. */
const renamed = {
  'apiextensions.v1.CustomResourceColumnDefinition.jSONPath': 'jsonPath',
  'apiextensions.v1.JSONSchemaProps.schema': '$schema',
  'apiextensions.v1.JSONSchemaProps.ref': '$ref',
  'authentication.v1.BoundObjectReference.uID': 'uid',
};
const jsonName = (message, name) => {
  const key = `${message}.${name}`;
  if (Object.hasOwn(renamed, key)) return renamed[key];
  return name.startsWith('xKubernetes') ? name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) : name;
};

const scalars = new Set(['string', 'bytes', 'bool', 'int32', 'int64', 'double']);
/** `k8s.io.api.core.v1.ConfigMap` → `core.v1.ConfigMap`; packages without a version: `resource.Quantity`. */
const shortName = (full) =>
  full
    .split('.')
    .slice(/\.v\d[a-z\d]*\.[^.]+$/.test(full) ? -3 : -2)
    .join('.');

const messages = new Map();
for (const file of readdirSync(folder, { recursive: true })) {
  if (!file.endsWith('.proto')) continue;
  const text = readFileSync(join(folder, file), 'utf8').replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, '');
  const packageName = /^package (\S+);/m.exec(text)[1];
  const typeName = (type) =>
    scalars.has(type) ? type : shortName(type.startsWith('.') ? type.slice(1) : `${packageName}.${type}`);
  for (const [, name, body] of text.matchAll(/^message (\w+) \{([^}]*)\}/gm)) {
    const message = shortName(`${packageName}.${name}`);
    const fields = [];
    for (const line of body.split(';')) {
      if (line.trim() === '') continue;
      const [, label, mapValue, type, protoName, number] =
        /^\s*(?:(optional|repeated) |map<string, ([\w.]+)>)\s*([\w.]+(?= \w+ =))?\s*(\w+) = (\d+)\s*$/.exec(line);
      const field = protoName[0].toLowerCase() + protoName.slice(1);
      const key = `${message}.${field}`;
      fields.push({
        number: Number(number),
        name: inlined.has(key) ? '.' : jsonName(message, field),
        type: jsonBytes.has(key) ? 'json' : typeName(mapValue ?? type),
        mark: mapValue !== undefined ? '{}' : label === 'repeated' ? '[]' : '',
      });
    }
    messages.set(message, fields);
  }
}
// Three small messages whose file is not in every collection; their numbers are part of the API.
const field = (number, name, type) => ({ number, name, type, mark: '' });
messages.set('autoscaling.v1.Scale', [
  field(1, 'metadata', 'meta.v1.ObjectMeta'),
  field(2, 'spec', 'autoscaling.v1.ScaleSpec'),
  field(3, 'status', 'autoscaling.v1.ScaleStatus'),
]);
messages.set('autoscaling.v1.ScaleSpec', [field(1, 'replicas', 'int32')]);
messages.set('autoscaling.v1.ScaleStatus', [field(1, 'replicas', 'int32'), field(2, 'selector', 'string')]);

const roots = Object.entries(kinds).flatMap(([apiVersion, names]) =>
  names.split(' ').map((kind) => {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
    return [`${apiVersion}/${kind}`, `${group.split('.')[0]}.${version}.${kind}`];
  }),
);
const reached = new Map();
const visit = (name) => {
  if (scalars.has(name) || name === 'json' || reached.has(name)) return;
  const fields = messages.get(name);
  if (fields === undefined) throw new Error(`no message ${name}`);
  reached.set(name, fields);
  for (const { type } of fields) visit(type);
};
for (const [, message] of roots) visit(message);

const text = (fields) => fields.map(({ number, name, type, mark }) => `${number} ${name} ${mark}${type}`).join(', ');
writeFileSync(
  join(import.meta.dirname, '..', 'packages/apis/src/schemas/protobuf-fields.data.ts'),
  `// Generated by hack/import-proto.mjs from the generated.proto files of Kubernetes 1.36; do not edit.
/** The message of each kind that a request body can hold, by \`<apiVersion>/<kind>\`. */
export const protobufKinds: Readonly<Record<string, string>> = {
${roots.map(([kind, message]) => `  '${kind}': '${message}',`).join('\n')}
};

/**
 * Fields of each message: number, name in JSON, type. \`[]\` is repeated, \`{}\` a map by strings; a name \`.\` stands for
 * a struct whose fields belong to the object itself, the type \`json\` for bytes that are a JSON text.
 */
export const protobufMessages: Readonly<Record<string, string>> = {
${[...reached.keys()]
  .sort()
  .map((name) => `  '${name}':\n    '${text(reached.get(name))}',`)
  .join('\n')}
};
`,
);

if (golden !== undefined) {
  const ours = new Set(roots.map(([kind]) => kind));
  const lines = [];
  for (const file of readdirSync(golden).sort()) {
    if (!file.endsWith('.pb')) continue;
    const object = JSON.parse(readFileSync(join(golden, file.replace(/pb$/, 'json')), 'utf8'));
    if (!ours.has(`${object.apiVersion}/${object.kind}`)) continue;
    lines.push(`${readFileSync(join(golden, file)).toString('base64')} ${JSON.stringify(object)}\n`);
  }
  const target = join(import.meta.dirname, '..', 'packages/apis/src/schemas/testdata');
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, 'protobuf-golden.txt'), lines.join(''));
}
