// Writes e2e/fixtures/chart-kinds/<name of the definition>.data.json: CustomResourceDefinitions of kinds that Kubernetes builds in,
// with structural schemas made of Kubernetes' published OpenAPI v3 documents.
//   hack/node hack/import-native-crds.mjs <folder with *_openapi.json>
// Carries over facts only: names, types, formats, defaults, list types, merge keys. Descriptions stay behind.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: import-native-crds.mjs <folder>');
const target = new URL('../e2e/fixtures/chart-kinds/', import.meta.url);
mkdirSync(target, { recursive: true });

/** Kinds of the Helm chart of this repository, and Pod. */
const kinds = [
  { group: '', package: 'core', kind: 'Pod', plural: 'pods', shortNames: ['po'] },
  { group: '', package: 'core', kind: 'Service', plural: 'services', shortNames: ['svc'] },
  { group: 'apps', package: 'apps', kind: 'Deployment', plural: 'deployments', shortNames: ['deploy'], scale: true },
  { group: 'apps', package: 'apps', kind: 'StatefulSet', plural: 'statefulsets', shortNames: ['sts'], scale: true },
  {
    group: 'policy',
    package: 'policy',
    kind: 'PodDisruptionBudget',
    plural: 'poddisruptionbudgets',
    shortNames: ['pdb'],
  },
  { group: 'networking.k8s.io', package: 'networking', kind: 'Ingress', plural: 'ingresses', shortNames: ['ing'] },
];

const components = {};
for (const file of readdirSync(folder).sort()) {
  if (!file.endsWith('_openapi.json')) continue;
  Object.assign(components, JSON.parse(readFileSync(join(folder, file), 'utf8')).components?.schemas ?? {});
}

/** Types that JSON writes differently from what their fields say. */
const special = new Map([
  ['io.k8s.apimachinery.pkg.util.intstr.IntOrString', { 'x-kubernetes-int-or-string': true }],
  ['io.k8s.apimachinery.pkg.api.resource.Quantity', { 'x-kubernetes-int-or-string': true }],
  ['io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1', { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }],
]);
const kept = new Set(['type', 'format', 'enum', 'required', 'x-kubernetes-list-type', 'x-kubernetes-map-type']);
/** Go's zero value: it only says that the field is not a pointer, and would hide that a required field is missing. */
const isZero = (value) =>
  value === '' ||
  value === 0 ||
  value === false ||
  (typeof value === 'object' && Object.keys(value ?? {}).length === 0);

/** A key of a list has a default, be it the zero value, or is required. */
function withKeyDefaults(items, keys) {
  const properties = { ...items.properties };
  for (const key of keys) if (!items.required?.includes(key)) properties[key] = { default: '', ...properties[key] };
  return { ...items, properties };
}

/** The structural schema of a schema of OpenAPI, without references. */
function structural(schema) {
  const reference = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0].$ref : undefined);
  if (reference !== undefined) {
    const name = reference.slice(reference.lastIndexOf('/') + 1);
    const resolved = special.get(name) ?? structural(components[name]);
    return { ...resolved, ...structural({ default: schema.default }) };
  }
  const out = {};
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined) continue;
    if (key === 'properties')
      out.properties = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, structural(inner)]));
    else if (key === 'items' || key === 'additionalProperties') out[key] = structural(value);
    else if (key === 'default' && !isZero(value)) out.default = value;
    else if (key === 'x-kubernetes-list-map-keys') out[key] = value;
    else if (kept.has(key)) out[key] = value;
  }
  const keys = out['x-kubernetes-list-map-keys'];
  return keys === undefined ? out : { ...out, items: withKeyDefaults(out.items, keys) };
}

for (const { group, package: name, kind, plural, shortNames, scale } of kinds) {
  const { properties, ...root } = structural(components[`io.k8s.api.${name}.v1.${kind}`]);
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group || 'core'}`,
      ...(group.endsWith('.k8s.io')
        ? { annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes' } }
        : {}),
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        plural,
        singular: kind.toLowerCase(),
        kind,
        listKind: `${kind}List`,
        shortNames,
        categories: ['all'],
      },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: {
            status: {},
            ...(scale ? { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } } : {}),
          },
          schema: { openAPIV3Schema: { ...root, properties: { ...properties, metadata: { type: 'object' } } } },
        },
      ],
    },
  };
  writeFileSync(new URL(`${definition.metadata.name}.data.json`, target), `${JSON.stringify(definition)}\n`);
}
