import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { configMap, gadget, gadgetDefinition } from '../fixtures/gadgets.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane } from '../harness/start-control-plane.ts';
import { Requests, type Response } from '../harness/requests.ts';
import { createWorkspace, grantAccess } from '../harness/workspaces.ts';

interface Item {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
}

const namespace = (name: string): object => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const itemsOf = (response: Response): Item[] => response.json['items'] as Item[];
const clusterOf = ({ metadata }: Item): string => metadata.annotations['kcp.io/cluster'] as string;

let cluster: ControlPlane;
let requests: Requests;
/** Logical clusters of the workspaces. */
const names: Record<string, string> = {};

beforeAll(async () => {
  // Objects of logical clusters that do not exist stay behind.
  cluster = await startControlPlane({ ownProcesses: true });
  // What a shard answers; what the front-proxy lets through to it is less.
  requests = new Requests(cluster.rootShard);
  const admin = cluster.transport('shard-base');
  for (const name of ['alpha', 'alphabet', 'secret']) {
    await createWorkspace(admin, 'root', name, { shard: 'root' });
    names[name] = (
      (await requests.must({ path: `/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/${name}` })).json[
        'spec'
      ] as { cluster: string }
    ).cluster;
  }
  await grantAccess(admin, 'root:alpha', ['user-1']);
  admin.close();
  for (const name of ['alpha', 'alphabet']) {
    const at = `/clusters/root:${name}`;
    await requests.must({ method: 'POST', path: `${at}/api/v1/namespaces`, body: namespace('work') });
    await requests.must({
      method: 'POST',
      path: `${at}/api/v1/namespaces/work/configmaps`,
      body: configMap('same-name', { owner: name }),
    });
    await requests.must({
      method: 'POST',
      path: `${at}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`,
      body: gadgetDefinition,
    });
    await eventually(() =>
      requests.must({
        method: 'POST',
        path: `${at}/apis/e2e.example.com/v1/namespaces/work/gadgets`,
        body: gadget('same-name', { free: { owner: name } }),
      }),
    );
  }
}, 180_000);

afterAll(async () => {
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
});

describe('wildcard requests', () => {
  test('LIST as shard admin reaches every workspace, and tells whose each object is', async () => {
    const items = itemsOf(await requests.must({ path: '/clusters/*/api/v1/configmaps' })).filter(
      ({ metadata }) => metadata.name === 'same-name',
    );
    expect(
      Object.fromEntries(
        items.map((item) => [clusterOf(item), (item as unknown as { data: { owner: string } }).data.owner]),
      ),
    ).toEqual({ [names['alpha'] as string]: 'alpha', [names['alphabet'] as string]: 'alphabet' });
    expect(items).toHaveLength(2);
    const clusters = itemsOf(
      await requests.must({ path: '/clusters/*/apis/core.kcp.io/v1alpha1/logicalclusters' }),
    ).map(clusterOf);
    expect(clusters).toEqual(expect.arrayContaining(Object.values(names)));
  });

  test('LIST pages with continue tokens over all workspaces, without a gap or a repetition', async () => {
    const whole = itemsOf(await requests.must({ path: '/clusters/*/api/v1/namespaces' })).map(
      (item) => `${clusterOf(item)}/${item.metadata.name}`,
    );
    const paged: string[] = [];
    let token = '';
    do {
      const page = await requests.must({
        path: `/clusters/*/api/v1/namespaces?limit=2${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`,
      });
      paged.push(...itemsOf(page).map((item) => `${clusterOf(item)}/${item.metadata.name}`));
      token = (page.json['metadata'] as { continue?: string }).continue ?? '';
    } while (token !== '');
    expect(paged).toEqual(whole);
    expect(new Set(paged).size).toBe(paged.length);
  });

  test('WATCH sees the changes of every workspace', async () => {
    const { resourceVersion } = (await requests.must({ path: '/clusters/*/api/v1/configmaps?limit=1' })).json[
      'metadata'
    ] as { resourceVersion: string };
    const watch = await requests.watch(`/clusters/*/api/v1/configmaps?watch=1&resourceVersion=${resourceVersion}`);
    for (const name of ['alpha', 'alphabet'])
      await requests.must({
        method: 'POST',
        path: `/clusters/root:${name}/api/v1/namespaces/work/configmaps`,
        body: configMap('watched'),
      });
    await eventually(() => expect(watch.events).toHaveLength(2));
    watch.close();
    expect(watch.events.map(({ type, object }) => [type, clusterOf(object as Item)])).toEqual([
      ['ADDED', names['alpha']],
      ['ADDED', names['alphabet']],
    ]);
  });

  test('objects of definitions are listed over all workspaces as partial metadata', async () => {
    const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
    const list = await requests.must({ path: '/clusters/*/apis/e2e.example.com/v1/gadgets', headers: { accept } });
    expect(list.json['kind']).toBe('PartialObjectMetadataList');
    expect(new Set(itemsOf(list).map(clusterOf))).toEqual(new Set([names['alpha'], names['alphabet']]));
    // As a whole they could have any shape, so they are not to be had that way.
    expect(await requests.send({ path: '/clusters/*/apis/e2e.example.com/v1/gadgets' })).toMatchObject({
      status: 404,
      text: '404 page not found\n',
    });
  });

  test('only LIST and WATCH, and only for the shard admin', async () => {
    for (const [method, path, verb] of [
      ['GET', '/api/v1/namespaces/work', 'get'],
      ['POST', '/api/v1/namespaces', 'create'],
      ['DELETE', '/api/v1/namespaces/work', 'delete'],
      ['DELETE', '/api/v1/namespaces/work/configmaps', 'deletecollection'],
    ] as const) {
      const answer = await requests.send({
        method,
        path: `/clusters/*${path}`,
        ...(method === 'POST' ? { body: namespace('x') } : {}),
      });
      expect([answer.status, answer.json['message']]).toEqual([
        405,
        expect.stringMatching(
          new RegExp(
            `^${verb} is not supported on resources of kind "(namespaces|configmaps)" in the \`\\*\` logical cluster$`,
          ),
        ),
      ]);
    }
    const admin = cluster.transport('base');
    await expect(admin.json({ method: 'GET', path: '/clusters/*/api/v1/namespaces' })).rejects.toMatchObject({
      code: 403,
    });
    admin.close();
    for (const as of ['user-1', 'anonymous'])
      expect((await requests.send({ as, path: '/clusters/*/api/v1/namespaces' })).status).toBe(403);
    expect((await requests.send({ as: 'user-1', path: '/clusters/*/api/v1/namespaces?watch=1' })).status).toBe(403);
  });
});

describe('a tenant whose name begins another one’s name reaches nothing of it', () => {
  // Writing below an unused name needs system:masters, and lets the test choose names that a scan could confuse.
  const tenants = ['a', 'ab', 'a0', 'a-'.concat('b')];

  beforeAll(async () => {
    for (const tenant of tenants) {
      for (const name of ['n', 'nn', 'n-n']) {
        await requests.must({ method: 'POST', path: `/clusters/${tenant}/api/v1/namespaces`, body: namespace(name) });
        await requests.must({
          method: 'POST',
          path: `/clusters/${tenant}/api/v1/namespaces/${name}/configmaps`,
          body: configMap('c', { tenant, name }),
        });
      }
    }
  });

  test.each(tenants)('%s: lists of the cluster and of a namespace', async (tenant) => {
    const all = [`${tenant}/n`, `${tenant}/n-n`, `${tenant}/nn`];
    const namespaces = itemsOf(await requests.must({ path: `/clusters/${tenant}/api/v1/namespaces` }));
    expect(namespaces.map((item) => `${clusterOf(item)}/${item.metadata.name}`).sort()).toEqual(all);
    const everywhere = itemsOf(
      await requests.must({ path: `/clusters/${tenant}/api/v1/configmaps?fieldSelector=metadata.name%3Dc` }),
    );
    expect(everywhere.map((item) => `${clusterOf(item)}/${item.metadata.namespace}`).sort()).toEqual(all);
    const one = itemsOf(
      await requests.must({
        path: `/clusters/${tenant}/api/v1/namespaces/n/configmaps?fieldSelector=metadata.name%3Dc`,
      }),
    );
    expect(one.map((item) => [clusterOf(item), item.metadata.namespace])).toEqual([[tenant, 'n']]);
  });

  test('watches and deletecollection stay inside', async () => {
    const { resourceVersion } = (await requests.must({ path: '/clusters/a/api/v1/configmaps?limit=1' })).json[
      'metadata'
    ] as { resourceVersion: string };
    const watch = await requests.watch(
      `/clusters/a/api/v1/namespaces/n/configmaps?watch=1&resourceVersion=${resourceVersion}`,
    );
    const change = { data: { changed: 'yes' } };
    for (const [tenant, name] of [
      ['ab', 'n'],
      ['a0', 'n'],
      ['a-b', 'n'],
      ['a', 'nn'],
      ['a', 'n-n'],
      ['a', 'n'],
    ]) {
      await requests.must({
        method: 'PATCH',
        path: `/clusters/${tenant}/api/v1/namespaces/${name}/configmaps/c`,
        headers: { 'content-type': 'application/merge-patch+json' },
        body: change,
      });
    }
    // The change of its own came last, so whatever else was to come is there before it.
    await eventually(() => expect(watch.events.length).toBeGreaterThan(0));
    watch.close();
    expect(watch.events.map(({ object }) => [clusterOf(object as Item), (object as Item).metadata.namespace])).toEqual([
      ['a', 'n'],
    ]);

    await requests.must({ method: 'DELETE', path: '/clusters/a/api/v1/namespaces/n/configmaps' });
    expect(
      itemsOf(await requests.must({ path: '/clusters/a/api/v1/configmaps?fieldSelector=metadata.name%3Dc' })).map(
        ({ metadata }) => metadata.namespace,
      ),
    ).toEqual(['n-n', 'nn']);
    for (const tenant of tenants.slice(1))
      expect(
        itemsOf(await requests.must({ path: `/clusters/${tenant}/api/v1/configmaps?fieldSelector=metadata.name%3Dc` })),
      ).toHaveLength(3);
  });

  test('a continue token of one tenant cannot be turned against another', async () => {
    const first = await requests.must({ path: '/clusters/ab/api/v1/namespaces?limit=1' });
    const { continue: token } = first.json['metadata'] as { continue: string };
    const answer = await requests.send({
      path: `/clusters/a/api/v1/namespaces?limit=500&continue=${encodeURIComponent(token)}`,
    });
    const seen = answer.status === 200 ? itemsOf(answer).map(clusterOf) : [];
    expect(seen.filter((name) => name !== 'a')).toEqual([]);
    const decoded = JSON.parse(Buffer.from(token, 'base64url').toString()) as { start: string };
    for (const start of ['../ab/n', '/registry/core/namespaces/ab/', '\u0000', '../../secrets/', 'n/../../ab/']) {
      const forged = Buffer.from(JSON.stringify({ ...decoded, start })).toString('base64url');
      const attack = await requests.send({
        path: `/clusters/a/api/v1/namespaces?continue=${encodeURIComponent(forged)}`,
      });
      expect(
        attack.status === 200
          ? itemsOf(attack)
              .map(clusterOf)
              .filter((name) => name !== 'a')
          : [],
      ).toEqual([]);
      expect([200, 400]).toContain(attack.status);
    }
  });
});

describe('owners in another workspace', () => {
  const collections = {
    configmaps: { path: 'api/v1/namespaces/work/configmaps', apiVersion: 'v1', kind: 'ConfigMap' },
    gadgets: {
      path: 'apis/e2e.example.com/v1/namespaces/work/gadgets',
      apiVersion: 'e2e.example.com/v1',
      kind: 'Gadget',
    },
  };

  test.each(['configmaps', 'gadgets'] as const)(
    'do not keep %s, are not blocked by them, and take none with them',
    async (resource) => {
      const { path, apiVersion, kind } = collections[resource];
      const at = (workspace: string, name = ''): string =>
        `/clusters/root:${workspace}/${path}${name === '' ? '' : `/${name}`}`;
      const create = async (workspace: string, name: string, metadata: object = {}): Promise<string> => {
        const body = { apiVersion, kind, metadata: { name, namespace: 'work', ...metadata } };
        const { json } = await requests.must({ method: 'POST', path: at(workspace), body });
        return (json['metadata'] as { uid: string }).uid;
      };
      const statusOf = async (workspace: string, name: string): Promise<number> =>
        (await requests.send({ path: at(workspace, name) })).status;
      const ownedBy = (uid: string): object => ({
        ownerReferences: [{ apiVersion, kind, name: 'owner', uid, blockOwnerDeletion: true }],
      });
      // Both workspaces have an owner of this name; only the uid tells them apart.
      const own = await create('alpha', 'owner');
      const remote = await create('alphabet', 'owner');
      await create('alpha', 'of-own', ownedBy(own));
      await create('alphabet', 'of-remote', ownedBy(remote));
      await create('alpha', 'of-other', { ...ownedBy(remote), finalizers: ['e2e.example.com/keep'] });
      await eventually(async () => {
        const { json } = await requests.must({ path: at('alpha', 'of-other') });
        expect(json['metadata']).toHaveProperty('deletionTimestamp');
      });
      await requests.must({
        method: 'DELETE',
        path: at('alphabet', 'owner'),
        body: { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Foreground' },
      });
      await eventually(async () => expect(await statusOf('alphabet', 'owner')).toBe(404));
      expect(await statusOf('alphabet', 'of-remote')).toBe(404);
      for (const name of ['owner', 'of-own', 'of-other'])
        expect([name, await statusOf('alpha', name)]).toEqual([name, 200]);
      // An event would tell that an object with this uid exists elsewhere.
      const events = await requests.must({
        path: '/clusters/root:alpha/api/v1/namespaces/work/events?fieldSelector=reason%3DOwnerRefInvalidNamespace',
      });
      expect(itemsOf(events)).toEqual([]);
      await requests.must({
        method: 'PATCH',
        path: at('alpha', 'of-other'),
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { metadata: { finalizers: null } },
      });
      await eventually(async () => expect(await statusOf('alpha', 'of-other')).toBe(404));
      for (const name of ['of-own', 'owner']) await requests.must({ method: 'DELETE', path: at('alpha', name) });
    },
  );
});

describe('hostile names', () => {
  test.each([
    'Root',
    'root_x',
    'root:',
    ':root',
    'root::x',
    'root:-x',
    'root.x',
    'root%20x',
    '%2e%2e',
    '..',
    '-root',
    'root:Upper',
    'root:*',
    '**',
    '%00',
    'root%00',
    'root:%2fx',
    'r%C3%B6%C3%B6t',
    'a'.repeat(70),
  ])('the cluster %s is refused', async (name) => {
    const answer = await requests.send({ path: `/clusters/${name}/api/v1/namespaces` });
    expect([answer.status, answer.json['kind']]).toEqual([400, 'Status']);
  });

  test.each([
    '/clusters/root%2fapi/v1/namespaces',
    '/clusters/root/api/v1/namespaces/%2e%2e/configmaps',
    '/clusters/root/api/v1/namespaces/../../../../clusters/root:secret/api/v1/namespaces',
    '/clusters/root/api/v1/namespaces/..%2f..%2froot:secret/configmaps',
    '/clusters/root/api/v1/namespaces/default/configmaps/..%2f..%2fx',
    '/clusters/root/api/v1/namespaces/default/configmaps/%252e%252e',
    '/clusters/root/api/v1/namespaces/default/configmaps/a%00b',
    '/clusters/root/api/v1/namespaces/%00/configmaps',
    '/clusters/root/api/v1/namespaces/./configmaps/x',
    '/clusters/root/api/v1/%E0%A4%A/x',
  ])('the path %s reaches nothing', async (path) => {
    const answer = await requests.send({ path });
    expect([400, 404]).toContain(answer.status);
    expect(answer.text).not.toContain('"items"');
  });

  test.each(['..', '.', 'a/b', '../x', 'a%b', 'a\u0000b', 'x'.repeat(300), 'ünï', '__proto__', '*'])(
    'an object cannot be named %j',
    async (name) => {
      const answer = await requests.send({
        method: 'POST',
        path: '/clusters/root:alpha/api/v1/namespaces/work/configmaps',
        body: configMap(name),
      });
      expect([answer.status, answer.json['reason']]).toEqual([422, 'Invalid']);
    },
  );

  test('a workspace cannot be named like a path, a system cluster or a wildcard', async () => {
    for (const name of ['a:b', 'system:admin', '*', '..', 'root:x', 'a/b', 'A', '']) {
      const answer = await requests.send({
        method: 'POST',
        path: '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces',
        body: { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name } },
      });
      expect([answer.status, answer.json['reason']]).toEqual([422, 'Invalid']);
    }
  });

  test('system clusters are closed to everybody but the shard admin', async () => {
    for (const name of ['system:admin', 'system:system-crds', 'system:nope']) {
      expect((await requests.send({ as: 'user-1', path: `/clusters/${name}/api/v1/namespaces` })).status).toBe(403);
      expect((await requests.send({ as: 'anonymous', path: `/clusters/${name}/apis` })).status).toBe(403);
    }
  });
});

describe('who may not enter learns nothing', () => {
  const asked = [
    '/api/v1/namespaces',
    '/api/v1/namespaces/work/secrets/x',
    '/api',
    '/apis',
    '/openapi/v3',
    '/version',
    '/apis/e2e.example.com/v1/gadgets',
    '/nope',
    '/api/v1/namespaces?watch=1',
  ];
  /** What an answer says, the name that was asked for left out. */
  const said = ({ status, text }: Response, name: string): unknown => [status, text.replaceAll(name, '<name>')];

  test.each(['user-2', 'anonymous'])('%s: a workspace that exists answers as one that does not', async (as) => {
    for (const path of asked) {
      const byName = await requests.send({ as, path: `/clusters/${names['secret']}${path}` });
      expect(said(byName, names['secret'] as string)).toEqual(
        said(await requests.send({ as, path: `/clusters/nosuchcluster123${path}` }), 'nosuchcluster123'),
      );
      expect([byName.status, byName.json['reason']]).toEqual([403, 'Forbidden']);
      const byPath = await requests.send({ as, path: `/clusters/root:secret${path}` });
      expect(said(byPath, 'root:secret')).toEqual(
        said(await requests.send({ as, path: `/clusters/root:nosuch${path}` }), 'root:nosuch'),
      );
    }
  });

  test('a wrong token is 401 everywhere, before anything is looked at', async () => {
    for (const name of ['root:secret', 'root:nosuch', 'root', names['secret'], '*']) {
      const answer = await requests.send({ as: 'no-such-token', path: `/clusters/${name}/api/v1/namespaces` });
      expect([answer.status, answer.json['message']]).toEqual([401, 'Unauthorized']);
    }
  });

  test('a user of one workspace has no rights in its neighbour, whichever way it is addressed', async () => {
    expect((await requests.send({ as: 'user-1', path: '/clusters/root:alpha/api' })).status).toBe(200);
    expect((await requests.send({ as: 'user-1', path: '/clusters/root:alpha/api/v1/namespaces' })).status).toBe(403);
    for (const at of ['root:alphabet', names['alphabet']]) {
      for (const path of ['/api', '/apis', '/openapi/v3', '/api/v1/namespaces/work/configmaps/same-name'])
        expect((await requests.send({ as: 'user-1', path: `/clusters/${at}${path}` })).status).toBe(403);
    }
  });

  test('shard-level endpoints are not served inside a workspace', async () => {
    expect(await requests.send({ as: 'user-1', path: '/clusters/root:alpha/metrics' })).toMatchObject({
      status: 501,
      text: 'shard-level endpoint not available at workspace scope\n',
    });
    for (const as of ['user-1', 'anonymous']) expect((await requests.send({ as, path: '/metrics' })).status).toBe(403);
  });
});
