import type { Step } from '../../../e2e/conformance/scenario.ts';
import type { Body } from '../grammar.ts';

/*
 * Steps from which the scenarios of kcp's API are made. Paths are complete. Names of logical clusters and identities are
 * captured, so that the comparison replaces them; controllers are waited for, at most for so many seconds.
 */

const settleSeconds = 240;
/** For what may never become true, because the object before it was refused. */
const briefSeconds = 120;

export const tenancy = '/apis/tenancy.kcp.io/v1alpha1';
export const apis = (version = 'v1alpha2'): string => `/apis/apis.kcp.io/${version}`;
export const inCluster = (cluster: string, path: string): string => `/clusters/{{${cluster}}}${path}`;
export const mergePatch = 'application/merge-patch+json';

export const object = (apiVersion: string, kind: string, name: string, rest: Body = {}): Body => ({
  apiVersion,
  kind,
  metadata: { name },
  ...rest,
});

export const workspace = (name: string, spec: Body = {}): Body =>
  object('tenancy.kcp.io/v1alpha1', 'Workspace', name, { spec });

/**
 * A ready workspace below root; the variable of its name has its logical cluster. Scenarios leave their workspaces behind: kcp
 * takes longer to delete one than to play a scenario, and the servers are thrown away.
 */
export const readyWorkspace = (variable: string, type = 'universal'): Step[] => [
  {
    method: 'POST',
    path: `/clusters/root${tenancy}/workspaces`,
    body: workspace(`${variable}-{{run}}`, { type: { name: type, path: 'root' } }),
    only: [],
  },
  {
    path: `/clusters/root${tenancy}/workspaces/${variable}-{{run}}`,
    until: { pointer: '/status/phase', equals: 'Ready', within: 400 },
    capture: { [variable]: '/spec/cluster' },
    only: ['/status/phase', '/message'],
  },
];

/** Reads an object when none of the texts of a passing state is in it; an object that is not there is read at once. */
export const settled = (path: string, absent: readonly string[], more: Partial<Step> = {}): Step => ({
  path,
  until: { absent, within: settleSeconds },
  ...more,
});

/** Reads an object when the text is in it; what was refused is not waited for long. */
export const whenIncluded = (path: string, contains: string, more: Partial<Step> = {}): Step => ({
  path,
  until: { contains, within: briefSeconds },
  ...more,
});

/** Its logical cluster, whose name is random, becomes a variable, so that the comparison replaces it. */
export const settledWorkspace = (cluster: string, name: string): Step =>
  settled(
    `${cluster}${tenancy}/workspaces/${name}`,
    ['"phase":"Scheduling"', '"phase":"Initializing"', '"phase":"Deleting"', 'deletionTimestamp'],
    { capture: { [`of-${name}`.replaceAll(/\W/g, '_')]: '/spec/cluster' } },
  );

/** An APIResourceSchema for a group of the scenario. */
export const schemaObject = (plural: string, spec: Body, prefix = 'v1'): Body =>
  object('apis.kcp.io/v1alpha1', 'APIResourceSchema', `${prefix}.${plural}.${spec['group'] as string}`, {
    spec,
  });

export const simpleSchema = (plural: string, kind: string, scope: 'Cluster' | 'Namespaced', more: Body = {}): Body => ({
  group: 'example.dev',
  names: { plural, singular: plural.slice(0, -1), kind, listKind: `${kind}List` },
  scope,
  versions: [
    {
      name: 'v1',
      served: true,
      storage: true,
      schema: {
        type: 'object',
        properties: {
          spec: {
            type: 'object',
            properties: { size: { type: 'integer' }, colour: { type: 'string', default: 'blue' } },
          },
          status: { type: 'object', properties: { state: { type: 'string' } } },
        },
      },
      subresources: { status: {} },
      ...more,
    },
  ],
});

export const create = (path: string, body: Body, more: Partial<Step> = {}): Step => ({
  method: 'POST',
  path,
  body,
  ...more,
});

/** An export with its schemas in the workspace of a variable; captures its identity as `identity`. */
export function readyExport(cluster: string, name: string, schemas: readonly Body[], spec: Body = {}): Step[] {
  const resources = schemas.map((schema) => {
    const { group, names } = schema['spec'] as { group: string; names: { plural: string } };
    return { name: names.plural, group, schema: (schema['metadata'] as { name: string }).name };
  });
  return [
    ...schemas.map((schema) =>
      create(inCluster(cluster, `${apis('v1alpha1')}/apiresourceschemas`), schema, { only: [] }),
    ),
    create(
      inCluster(cluster, `${apis()}/apiexports`),
      object('apis.kcp.io/v1alpha2', 'APIExport', name, { spec: { resources, ...spec } }),
      { only: [] },
    ),
    {
      path: inCluster(cluster, `${apis()}/apiexports/${name}`),
      until: { pointer: '/status/conditions/0/status', equals: 'True', within: settleSeconds },
      capture: { identity: '/status/identityHash' },
      only: ['/status/conditions/0/type', '/message'],
    },
  ];
}

export const binding = (name: string, providerPath: string, exportName: string, more: Body = {}): Body =>
  object('apis.kcp.io/v1alpha2', 'APIBinding', name, {
    spec: { reference: { export: { path: providerPath, name: exportName } }, ...more },
  });

/** Binds an export and waits until its resources are served. */
export const bound = (cluster: string, body: Body): Step[] => [
  create(inCluster(cluster, `${apis()}/apibindings`), body, {
    until: { status: 201, within: settleSeconds },
    only: [],
  }),
  {
    path: inCluster(cluster, `${apis()}/apibindings/${(body['metadata'] as { name: string }).name}`),
    until: { pointer: '/status/phase', equals: 'Bound', within: settleSeconds },
    only: ['/status/phase', '/message'],
  },
];

/** Masks the end of the name of a default binding: a hash of the logical cluster. */
export const defaultBindingHash = '(?<=\\.kcp\\.io-)[a-z0-9]{5}\\b';
