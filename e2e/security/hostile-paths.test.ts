import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { apiExport, apiResourceSchema, eventually } from '@multiplane/testing';
import { hostilePaths, type KnownNames } from '../fixtures/hostile-paths.ts';
import { PathPlayer } from '../harness/path-player.ts';
import { bindingsOf, exportPath, SharedApis, there } from '../harness/shared-apis.ts';

/**
 * Paths below `/services/`, `/clusters/` and `/shards/` that are missing, deleted, malformed or of somebody else: no answer is an
 * error of the server, and none of them leaves an error or a stack trace in a log. `make fuzz` plays more of them.
 */
const runs = Number(process.env['MULTIPLANE_FUZZ_RUNS'] ?? 6) * 50;
const seed = Number(process.env['MULTIPLANE_FUZZ_SEED'] ?? 22);
const group = 'wildwest.dev';
const scopesApi = 'scopes.multiplane.dev';
const scopes = `/clusters/root:provider/apis/${scopesApi}/v1alpha1/apiexportscopes`;
const types = '/clusters/root:provider/apis/tenancy.kcp.io/v1alpha1/workspacetypes';

let shared: SharedApis;
let names: KnownNames;

async function offer(name: string): Promise<void> {
  await shared.offer(apiExport(name, [`v1.cowboys.${group}`]));
  const scope = {
    apiVersion: `${scopesApi}/v1alpha1`,
    kind: 'APIExportScope',
    metadata: { name },
    spec: { export: { name }, selector: { matchLabels: { [`${group}/of`]: name } } },
  };
  await eventually(() => shared.post(scopes, scope), { timeout: 30_000 });
}

beforeAll(async () => {
  shared = await SharedApis.start();
  await shared.nearAndFar();
  const gone = await shared.workspace('gone', there);
  await shared.post(bindingsOf('provider'), {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name: scopesApi },
    spec: { reference: { export: { path: 'root', name: scopesApi } } },
  });
  await shared.bound('provider', scopesApi);
  await shared.addSchema(apiResourceSchema({ group, plural: 'cowboys', prefix: 'v1' }));
  for (const name of ['paths', 'removed']) await offer(name);
  for (const consumer of ['near', 'far']) await shared.bind(consumer, 'paths');
  await shared.post(types, {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'WorkspaceType',
    metadata: { name: 'waiting' },
    spec: { initializer: true, terminator: true },
  });
  await shared.grant(
    'provider',
    'user-1',
    [
      { nonResourceURLs: ['*'], verbs: ['*'] },
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
    ],
    [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'user-1' }],
  );
  await shared.remove('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/gone');
  const clusters = ['provider', 'near', 'far'].map((name) => shared.clusters.get(name) as string);
  names = {
    clusters: ['root', 'root:provider', 'root:far', 'root:gone', gone, ...clusters],
    shards: ['root', 'shard-1'],
    keys: ['paths', 'removed', 'waiting', 'tenancy.kcp.io', 'universal'],
    resources: [
      ['', 'v1', 'configmaps'],
      [group, 'v1', 'cowboys'],
      ['core.kcp.io', 'v1alpha1', 'logicalclusters'],
      ['apis.kcp.io', 'v1alpha1', 'apiresourceschemas'],
      ['apis.kcp.io', 'v1alpha2', 'apiexports'],
      ['tenancy.kcp.io', 'v1alpha1', 'workspaces'],
    ],
    objects: ['paths', 'cluster', 'default', 'kube-root-ca.crt'],
    users: ['masters', 'masters', 'user-1', 'user-1', 'user-1', 'user-2', 'anonymous', 'nonsense'],
  };
}, 240_000);
afterAll(() => shared?.[Symbol.asyncDispose]());

test(
  'no path is an error of the server, and none leaves an error in a log',
  async () => {
    const provider = shared.clusters.get('provider') as string;
    const logged = shared.cluster.log().length;
    const player = new PathPlayer(shared);
    // What is deleted meanwhile is in use: a watch is open, and its paths are among those that are played.
    const watched = ['apiexport', 'apiexport-scope'].map(
      (service) => `/services/${service}/${provider}/removed/clusters/*/apis/${group}/v1/cowboys`,
    );
    const watches = await Promise.all(
      watched.map((path) =>
        eventually(async () => {
          const watch = await shared.requests.watch(`${path}?watch=true`, 'user-1');
          if (watch.status !== 200) throw new Error(`${path}: ${watch.status}`);
          return watch;
        }),
      ),
    );
    const requests = fc.sample(hostilePaths(names), { numRuns: runs, seed });
    for (const [index, request] of requests.entries()) {
      if (index === Math.floor(runs / 3)) await shared.remove(`${scopes}/removed`);
      if (index === Math.floor(runs / 2)) await shared.remove(exportPath('removed'));
      await player.play(request);
    }
    for (const watch of watches) await eventually(() => expect(watch.ended).toBe(true));
    for (const path of watched)
      for (const [as, statuses] of [
        ['user-1', [404]],
        ['user-2', [403]],
        ['anonymous', [401, 403]],
      ] as const)
        await eventually(async () => expect(statuses).toContain((await shared.requests.send({ as, path })).status));
    const errors = shared.cluster
      .log()
      .slice(logged)
      .split('\n')
      .filter((line) => /^\s+at |\bERROR\b|"level":"error"|panic/.test(line));
    expect({ seed, problems: player.problems, errors }).toEqual({ seed, problems: [], errors: [] });
    expect((await shared.requests.send({ path: '/readyz' })).status).toBe(200);
  },
  60_000 + runs * 1_000,
);
