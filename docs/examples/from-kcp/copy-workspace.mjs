#!/usr/bin/env node
/*
 * Copies the content of one workspace to another one, which may be of another control plane: from kcp to Multiplane, or back. It reads
 * and writes through the API, with kubectl, so it needs no access to a store. Objects that are there already are changed to what the source has, so a
 * copy that ended early is repeated. Compares both sides at the end.
 *
 * Usage: copy-workspace.mjs <kubeconfig of the source> <kubeconfig of the target> [--verify]
 *   The current contexts of both name the workspaces.
 *   --verify   compares only
 */
import { execFileSync } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';

const [source, target, verifyOnly] = process.argv.slice(2);
if (target === undefined) {
  console.error('usage: copy-workspace.mjs <kubeconfig of the source> <kubeconfig of the target> [--verify]');
  process.exit(2);
}

function kubectl(kubeconfig, args, input) {
  return execFileSync('kubectl', ['--kubeconfig', kubeconfig, ...args], {
    encoding: 'utf8',
    input,
    maxBuffer: 1 << 30,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'inherit'],
  });
}

/** What each control plane makes itself, and workspaces, whose content is copied by a run for each. */
const leftOut = new Set([
  'events',
  'events.events.k8s.io',
  'leases.coordination.k8s.io',
  'logicalclusters.core.kcp.io',
  'workspaces.tenancy.kcp.io',
  'apiexportendpointslices.apis.kcp.io',
  'apiconversions.apis.kcp.io',
]);

/** Kinds in this order: each before those that need it. The rest follows when these are served. */
const bindings = 'APIBinding.apis.kcp.io';
const first = [
  'Namespace',
  'Secret',
  'CustomResourceDefinition.apiextensions.k8s.io',
  'APIResourceSchema.apis.kcp.io',
  'APIExport.apis.kcp.io',
  bindings,
];

/** `<kind>.<group>`; the sides may prefer different versions. */
const typeOf = ({ apiVersion, kind }) => (apiVersion.includes('/') ? `${kind}.${apiVersion.split('/')[0]}` : kind);

/** What a workspace serves and can be copied: `<resource>.<group>` by `<kind>.<group>`. */
function resourcesOf(kubeconfig) {
  const lines = kubectl(kubeconfig, ['api-resources', '--verbs=list,create', '--no-headers', '--cached=false'])
    .trim()
    .split('\n');
  const resources = new Map();
  for (const line of lines) {
    const words = line.trim().split(/\s+/);
    const [apiVersion, , kind] = words.slice(-3);
    const name = apiVersion.includes('/') ? `${words[0]}.${apiVersion.split('/')[0]}` : words[0];
    if (!leftOut.has(name)) resources.set(typeOf({ apiVersion, kind }), name);
  }
  return resources;
}

const list = (kubeconfig, resources) =>
  resources.length === 0
    ? []
    : JSON.parse(
        kubectl(kubeconfig, ['get', resources.join(','), '--all-namespaces', '--output=json', '--ignore-not-found']) ||
          '{"items": []}',
      ).items;

const keyOf = (object) => {
  const { namespace, name } = object.metadata;
  return `${typeOf(object)} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
};

/** Objects that every workspace has from its start. */
const isOfWorkspace = ({ kind, type, metadata: { name, annotations = {} } }) =>
  (kind === 'ConfigMap' && name === 'kube-root-ca.crt') ||
  (kind === 'ServiceAccount' && name === 'default') ||
  (kind === 'ClusterRoleBinding' && name === 'workspace-admin') ||
  (kind === 'Namespace' && name === 'default') ||
  (kind === 'Secret' && type === 'kubernetes.io/service-account-token') ||
  'apis.kcp.io/bound-crd' in annotations;

/** The object without what its server has written. Owners have other uids in the target. */
function portable(object) {
  const { status: _, metadata, ...rest } = object;
  const { name, namespace, labels = {}, annotations = {}, finalizers } = metadata;
  const own = (all) =>
    Object.fromEntries(
      Object.entries(all).filter(([key]) => !/(^|\.)kcp\.io\/|^kubectl\.kubernetes\.io\/last-applied/.test(key)),
    );
  if (object.kind === 'ServiceAccount') delete rest.secrets;
  if (object.kind === 'Namespace') delete rest.spec;
  return {
    ...rest,
    metadata: {
      name,
      namespace,
      labels: own(labels),
      annotations: own(annotations),
      ...(finalizers && { finalizers }),
    },
  };
}

const exportOf = ({ spec }) => `${spec?.reference?.export?.path ?? ''}:${spec?.reference?.export?.name ?? ''}`;

/** A workspace type binds exports by itself, under names with a random end: such a binding is there, under another name. */
function withoutBound(objects, existing) {
  const bound = new Set(existing.filter((object) => typeOf(object) === bindings).map(exportOf));
  return objects.filter((object) => typeOf(object) !== bindings || !bound.has(exportOf(object)));
}

/** What has to hold before the next kinds are copied. */
const conditions = {
  'CustomResourceDefinition.apiextensions.k8s.io': 'condition=Established',
  [bindings]: 'jsonpath={.status.phase}=Bound',
};

function copy(title, objects) {
  if (objects.length === 0) return;
  const items = objects.map(portable);
  const flags = ['--server-side', '--force-conflicts', '--field-manager=copy-workspace'];
  kubectl(
    target,
    ['apply', ...flags, '--filename=-', '--output=name'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  );
  const owned = objects.filter(({ metadata }) => metadata.ownerReferences !== undefined).length;
  console.log(`${title}: ${objects.length} copied${owned > 0 ? `, ${owned} without their owners` : ''}`);
  const condition = conditions[title];
  if (condition === undefined) return;
  const names = objects.map(({ metadata }) => `${title}/${metadata.name}`);
  kubectl(target, ['wait', `--for=${condition}`, '--timeout=60s', ...names]);
}

/** What the source has and can be copied. */
const wanted = list(source, [...resourcesOf(source).values()]).filter((object) => !isOfWorkspace(object));

if (verifyOnly !== '--verify') {
  const existing = list(target, ['apibindings.apis.kcp.io']);
  for (const type of first)
    copy(
      type,
      withoutBound(wanted, existing).filter((object) => typeOf(object) === type),
    );
  // Definitions and bindings have brought further resources.
  const served = resourcesOf(target);
  copy(
    'others',
    wanted.filter((object) => !first.includes(typeOf(object)) && served.has(typeOf(object))),
  );
}

const found = list(target, [...resourcesOf(target).values()]);
const byKey = new Map(found.map((object) => [keyOf(object), object]));
const problems = withoutBound(wanted, found).flatMap((object) => {
  const other = byKey.get(keyOf(object));
  if (other === undefined) return [`${keyOf(object)}: missing`];
  return isDeepStrictEqual(portable(other), portable(object)) ? [] : [`${keyOf(object)}: differs`];
});
for (const problem of problems) console.log(problem);
console.log(problems.length === 0 ? `both have the same ${wanted.length} objects` : `${problems.length} differences`);
process.exitCode = problems.length === 0 ? 0 : 1;
