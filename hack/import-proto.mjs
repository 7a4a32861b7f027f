// Writes packages/apis/src/schemas/protobuf-fields.data.ts from Kubernetes' published generated.proto files.
//   hack/node hack/import-proto.mjs <folder that holds k8s.io/…/generated.proto and the types.go beside it> [<folder of golden *.pb and *.json>]
// With the second folder also the test vectors of our kinds: packages/apis/src/schemas/testdata/protobuf-golden.txt,
// one line each, the message in base64 and the same object in JSON. Carries over facts only: numbers, names and types of
// fields from the protos; which are pointers, which JSON leaves out and how patches merge them from the types' tags.
// Comments stay behind.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const [folder, golden] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: import-proto.mjs <folder> [<golden folder>]');

/** Kinds that come in a request body or go out in an answer, by the API version they are sent as. */
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
  'meta.k8s.io/v1': 'DeleteOptions ListMeta PartialObjectMetadata WatchEvent',
  'rbac.authorization.k8s.io/v1': 'ClusterRole ClusterRoleBinding Role RoleBinding',
};
/** Kinds of meta/v1 that are sent as of the core group. */
const metaKinds = ['APIGroup', 'APIGroupList', 'APIResourceList', 'APIVersions', 'Status'];

/** Groups whose kinds a definition may bring back (seed: minimal API server): all of them that have lists. */
const nativeGroups = {
  v1: 'core.v1',
  'apps/v1': 'apps.v1',
  'autoscaling/v1': 'autoscaling.v1',
  'autoscaling/v2': 'autoscaling.v2',
  'batch/v1': 'batch.v1',
  'discovery.k8s.io/v1': 'discovery.v1',
  'networking.k8s.io/v1': 'networking.v1',
  'node.k8s.io/v1': 'node.v1',
  'policy/v1': 'policy.v1',
  'scheduling.k8s.io/v1': 'scheduling.v1',
  'storage.k8s.io/v1': 'storage.v1',
};

/** Bytes that are a JSON text. */
const jsonBytes = new Set(['apiextensions.v1.JSON.raw', 'meta.v1.FieldsV1.raw', 'runtime.RawExtension.raw']);

const scalars = new Set(['string', 'bytes', 'bool', 'int32', 'int64', 'double']);
/** `k8s.io.api.core.v1.ConfigMap` → `core.v1.ConfigMap`; packages without a version: `resource.Quantity`. */
const shortName = (full) =>
  full
    .split('.')
    .slice(/\.v\d[a-z\d]*\.[^.]+$/.test(full) ? -3 : -2)
    .join('.');

/** What the tags of a Go type and the marks above them say of its fields, by the numbers of the fields. */
const structs = (source) => {
  const found = new Map();
  for (const [, above, name, body] of source
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .matchAll(/((?:^\/\/.*\n)*)^type (\w+) struct \{\n([^]*?)\n\}/gm)) {
    const facts = new Map();
    let listType = '';
    let keys = [];
    for (const line of body.split('\n')) {
      const [, mark, value] = /^\s*\/\/\s*\+(listType|listMapKey)=(\w+)/.exec(line) ?? [];
      if (mark === 'listType') listType = value;
      else if (mark === 'listMapKey') keys.push(value);
      if (/^\s*(\/\/.*)?$/.test(line)) continue;
      const [, embedded, type, tags] = /^\s+(?:(\w+)\s+)?(\S+)\s+`([^`]*)`/.exec(line) ?? [];
      const number = /protobuf:"\w+,(\d+)/.exec(tags ?? '')?.[1];
      if (number !== undefined) {
        const [json, ...options] = (/json:"([^"]*)"/.exec(tags)?.[1] ?? '-').split(',');
        facts.set(Number(number), {
          json,
          inlined: json === '' && (embedded === undefined || options.includes('inline')),
          pointer: type.startsWith('*'),
          omitted: options.includes('omitempty') || options.includes('omitzero'),
          strategy: /patchStrategy:"([^"]*)"/.exec(tags)?.[1] ?? '',
          mergeKey: /patchMergeKey:"([^"]*)"/.exec(tags)?.[1] ?? '',
          listType,
          keys,
        });
      }
      listType = '';
      keys = [];
    }
    facts.atomic = /\+structType=atomic/.test(above);
    found.set(name, facts);
  }
  return found;
};

const atomicMessages = new Set();
const messages = new Map();
for (const file of readdirSync(folder, { recursive: true })) {
  if (!file.endsWith('generated.proto')) continue;
  const text = readFileSync(join(folder, file), 'utf8').replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, '');
  const packageName = /^package (\S+);/m.exec(text)[1];
  const place = dirname(join(folder, file));
  const sources = readdirSync(place).filter(
    (name) => /^types.*\.go$/.test(name) && !/(_test|_generated)\.go$/.test(name),
  );
  const types = structs(sources.map((name) => readFileSync(join(place, name), 'utf8')).join('\n'));
  const typeName = (type) =>
    scalars.has(type) ? type : shortName(type.startsWith('.') ? type.slice(1) : `${packageName}.${type}`);
  for (const [, name, body] of text.matchAll(/^message (\w+) \{([^}]*)\}/gm)) {
    const message = shortName(`${packageName}.${name}`);
    if (types.get(name)?.atomic === true) atomicMessages.add(message);
    const fields = [];
    for (const line of body.split(';')) {
      if (line.trim() === '') continue;
      const [, label, mapValue, type, protoName, number] =
        /^\s*(?:(optional|repeated) |map<string, ([\w.]+)>)\s*([\w.]+(?= \w+ =))?\s*(\w+) = (\d+)\s*$/.exec(line);
      const field = protoName[0].toLowerCase() + protoName.slice(1);
      const key = `${message}.${field}`;
      const facts = types.get(name)?.get(Number(number));
      const single = mapValue === undefined && label !== 'repeated';
      const merges = facts?.strategy.includes('merge') === true;
      fields.push({
        number: Number(number),
        name:
          facts?.inlined === true
            ? '.'
            : facts === undefined || facts.json === '-' || facts.json === ''
              ? field
              : facts.json,
        type: jsonBytes.has(key) ? 'json' : typeName(mapValue ?? type),
        mark: mapValue !== undefined ? '{}' : label === 'repeated' ? '[]' : '',
        flags:
          (single && facts?.pointer === true ? '*' : '') +
          (facts?.omitted === true ? '?' : '') +
          (facts?.strategy.includes('retainKeys') === true ? '-' : '') +
          (merges ? `+${facts.mergeKey}` : '') +
          (facts?.listType === 'map' || facts?.listType === 'set' ? `@${facts.keys.join(';')}` : ''),
      });
    }
    messages.set(message, fields);
  }
}

// Fields of alpha types are left out: definitions that bring such kinds back do not have them either.
for (const [name, fields] of messages) {
  messages.set(
    name,
    fields.filter(({ type }) => scalars.has(type) || type === 'json' || messages.has(type)),
  );
}

const roots = Object.entries(kinds).flatMap(([apiVersion, names]) =>
  names.split(' ').map((kind) => {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
    return [`${apiVersion}/${kind}`, `${group.split('.')[0]}.${version}.${kind}`];
  }),
);
for (const kind of metaKinds) roots.push([`v1/${kind}`, `meta.v1.${kind}`]);
for (const [apiVersion, prefix] of Object.entries(nativeGroups)) {
  for (const [message, fields] of messages) {
    const kind = message.slice(message.lastIndexOf('.') + 1);
    if (message !== `${prefix}.${kind}` || fields[0]?.type !== 'meta.v1.ObjectMeta' || !messages.has(`${message}List`))
      continue;
    if (!roots.some(([key]) => key === `${apiVersion}/${kind}`)) roots.push([`${apiVersion}/${kind}`, message]);
  }
}
roots.sort(([a], [b]) => (a < b ? -1 : 1));
const reached = new Map();
const visit = (name) => {
  if (scalars.has(name) || name === 'json' || reached.has(name)) return;
  const fields = messages.get(name);
  if (fields === undefined) throw new Error(`no message ${name}`);
  reached.set(name, fields);
  for (const { type } of fields) visit(type);
};
for (const [, message] of roots) visit(message);

const text = (fields) =>
  fields.map(({ number, name, type, mark, flags }) => `${number} ${name} ${mark}${type}${flags}`).join(', ');
writeFileSync(
  join(import.meta.dirname, '..', 'packages/apis/src/schemas/protobuf-fields.data.ts'),
  `// Generated by hack/import-proto.mjs from the generated.proto files of Kubernetes 1.36; do not edit.
/** The message of each kind that a body can hold, by \`<apiVersion>/<kind>\`. */
export const protobufKinds: Readonly<Record<string, string>> = {
${roots.map(([kind, message]) => `  '${kind}': '${message}',`).join('\n')}
};

/**
 * Fields of each message: number, name in JSON, type. \`[]\` is repeated, \`{}\` a map by strings; a name \`.\` stands for
 * a struct whose fields belong to the object itself, the type \`json\` for bytes that are a JSON text. Behind the type:
 * \`*\` the absent value is not the zero value, \`?\` JSON leaves the zero value out, \`-\` patches may say which members stay
 * (retainKeys), \`+key\` patches merge the items by this key, \`+\` alone as a set of values or as a map, \`@key;key\`
 * server-side apply tells the items apart by these keys, \`@\` alone by their values; without it the list is one value.
 */
export const protobufMessages: Readonly<Record<string, string>> = {
${[...reached.keys()]
  .sort()
  .map((name) => `  '${name}':\n    '${text(reached.get(name))}',`)
  .join('\n')}
};

/** Messages that server-side apply owns as a whole. */
export const atomicMessages: ReadonlySet<string> = new Set([
${[...atomicMessages]
  .filter((name) => reached.has(name))
  .sort()
  .map((name) => `  '${name}',`)
  .join('\n')}
]);
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
