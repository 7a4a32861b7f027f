import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { decodeProtobufObject, encodeProtobufObject } from '@multiplane/apis';
import { Pipeline } from '../../test/pipeline.ts';
import { definitionOf } from '../../test/definitions.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';
const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
const table = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
const pods = '/api/v1/namespaces/default/pods';
const deployments = '/apis/apps/v1/namespaces/default/deployments';

let pipeline: Pipeline;
beforeEach(async () => {
  pipeline = await Pipeline.open();
  await pipeline.serve(definitionOf('', 'v1', 'pods', 'Pod'));
  await pipeline.serve(definitionOf('apps', 'v1', 'deployments', 'Deployment'));
});
afterEach(() => pipeline.close());

const pod = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    containers: [
      { name: 'one', image: 'one:1', ports: [{ containerPort: 80 }] },
      { name: 'two', image: 'two:1' },
    ],
    ...spec,
  },
});
const deployment: JsonObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'd' } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } },
    template: {
      metadata: { labels: { app: 'd' } },
      spec: { containers: [{ name: 'c', image: 'i' }], volumes: [{ name: 'v', emptyDir: {} }] },
    },
  },
};
const at = (object: JsonObject, ...path: string[]): unknown =>
  path.reduce<unknown>((value, key) => (value as JsonObject | undefined)?.[key], object);

describe('strategic merge patches', () => {
  test('merge lists by the merge keys of Kubernetes', async () => {
    await pipeline.must(201, 'POST', pods, pod('p'));
    const patched = await pipeline.must(
      200,
      'PATCH',
      `${pods}/p`,
      {
        spec: {
          containers: [
            { name: 'two', image: 'two:2' },
            { name: 'three', image: 'three:1' },
          ],
        },
      },
      strategic,
    );
    expect(at(patched, 'spec', 'containers')).toEqual([
      { name: 'one', image: 'one:1', ports: [{ containerPort: 80 }] },
      { name: 'two', image: 'two:2' },
      { name: 'three', image: 'three:1' },
    ]);
    const removed = await pipeline.must(
      200,
      'PATCH',
      `${pods}/p`,
      { spec: { containers: [{ name: 'one', $patch: 'delete' }] } },
      strategic,
    );
    expect((at(removed, 'spec', 'containers') as JsonObject[]).map(({ name }) => name)).toEqual(['two', 'three']);
  });

  test('support $retainKeys where Kubernetes does', async () => {
    await pipeline.must(201, 'POST', deployments, deployment);
    const patched = await pipeline.must(
      200,
      'PATCH',
      `${deployments}/d`,
      {
        spec: {
          strategy: { $retainKeys: ['type'], type: 'Recreate' },
          template: { spec: { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }] } },
        },
      },
      strategic,
    );
    expect(at(patched, 'spec', 'strategy')).toEqual({ type: 'Recreate' });
    expect(at(patched, 'spec', 'template', 'spec', 'volumes')).toEqual([{ name: 'v', hostPath: { path: '/x' } }]);
  });

  test('are not supported for other definitions', async () => {
    await pipeline.serve(definitionOf('example.com', 'v1', 'pods', 'Pod'));
    await pipeline.serve(definitionOf('apps', 'v2', 'gizmos', 'Gizmo'));
    for (const [group, path] of [
      ['example.com/v1', 'pods'],
      ['apps/v2', 'gizmos'],
    ]) {
      const answer = await pipeline.ask('PATCH', `/apis/${group}/namespaces/default/${path}/x`, {}, strategic);
      expect([answer.status, answer.body['message']]).toEqual([
        415,
        'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
      ]);
    }
  });
});

describe('protobuf', () => {
  test('request and response bodies', async () => {
    const { exchange, done } = pipeline.start('POST', deployments, encodeProtobufObject(deployment), {
      'content-type': protobuf,
      accept: protobuf,
    });
    await done;
    expect([exchange.status, exchange.answer['content-type']]).toEqual([201, protobuf]);
    const shown = await pipeline.must(200, 'GET', `${deployments}/d`);
    // The zero values that a typed client sends for unset fields.
    expect(at(shown, 'spec', 'template', 'spec', 'containers')).toEqual([{ name: 'c', image: 'i', resources: {} }]);
    expect(at(shown, 'spec', 'strategy', 'rollingUpdate')).toEqual({ maxSurge: 1 });
    const answered = decodeProtobufObject(Buffer.concat(exchange.chunks));
    expect(at(answered, 'metadata', 'uid')).toBe(at(shown, 'metadata', 'uid'));
    expect(answered['spec']).toEqual(shown['spec']);
  });

  test('a message of another kind is rejected', async () => {
    const { status } = await pipeline.ask('POST', deployments, encodeProtobufObject(pod('p')), {
      'content-type': protobuf,
    });
    expect(status).toBe(400);
  });
});

test('tables have the columns of Kubernetes', async () => {
  await pipeline.must(201, 'POST', pods, { ...pod('p'), spec: { ...(pod('p')['spec'] as JsonObject), nodeName: 'n' } });
  await pipeline.must(
    200,
    'PATCH',
    `${pods}/p/status`,
    {
      status: {
        phase: 'Running',
        podIPs: [{ ip: '10.0.0.1' }],
        containerStatuses: [
          { name: 'one', ready: true, restartCount: 0, state: { running: {} } },
          { name: 'two', ready: false, restartCount: 3, state: { waiting: { reason: 'CrashLoopBackOff' } } },
        ],
      },
    },
    { 'content-type': 'application/merge-patch+json' },
  );
  await pipeline.must(201, 'POST', deployments, deployment);
  const shown = async (path: string): Promise<unknown[]> => {
    const { columnDefinitions, rows } = await pipeline.must(200, 'GET', path, undefined, table);
    const columns = (columnDefinitions as JsonObject[]).map(
      ({ name, priority }) => `${name as string}/${priority as number}`,
    );
    return [columns.join(' '), ...(rows as JsonObject[]).map(({ cells }) => cells)];
  };
  expect(await shown(pods)).toEqual([
    'Name/0 Ready/0 Status/0 Restarts/0 Age/0 IP/1 Node/1 Nominated Node/1 Readiness Gates/1',
    ['p', '1/2', 'CrashLoopBackOff', '3', '0s', '10.0.0.1', 'n', '<none>', '<none>'],
  ]);
  expect(await shown(deployments)).toEqual([
    'Name/0 Ready/0 Up-to-date/0 Available/0 Age/0 Containers/1 Images/1 Selector/1',
    ['d', '0/2', 0, 0, '0s', 'c', 'i', 'app=d'],
  ]);
});

test('field selectors are those of Kubernetes', async () => {
  await pipeline.must(201, 'POST', pods, pod('here', { nodeName: 'n1' }));
  await pipeline.must(201, 'POST', pods, pod('there', { nodeName: 'n2', hostNetwork: true }));
  const selected = async (selector: string): Promise<unknown[]> => {
    const path = `${pods}?fieldSelector=${encodeURIComponent(selector)}`;
    const { items } = await pipeline.must(200, 'GET', path);
    return (items as JsonObject[]).map(({ metadata }) => (metadata as JsonObject)['name']);
  };
  expect(await selected('spec.nodeName=n1')).toEqual(['here']);
  expect(await selected('spec.hostNetwork!=true')).toEqual(['here']);
  expect(await selected('status.phase=,spec.nodeName!=n1')).toEqual(['there']);
  const { status, body } = await pipeline.ask('GET', `${pods}?fieldSelector=spec.priority%3D1`);
  expect([status, body['message']]).toEqual([400, 'field label not supported: spec.priority']);
});

describe('server-side apply', () => {
  const apply = (manager: string, path: string, object: JsonObject, status = 200): Promise<JsonObject> =>
    pipeline.must(status, 'PATCH', `${path}?fieldManager=${manager}`, object, {
      'content-type': 'application/apply-patch+yaml',
    });
  const only = (spec: JsonObject): JsonObject => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });

  test('merges lists by the keys of Kubernetes if the schema sets none', async () => {
    const one = { name: 'one', image: 'i', ports: [{ containerPort: 80 }, { containerPort: 80, protocol: 'UDP' }] };
    await apply('a', `${pods}/p`, only({ containers: [one] }), 201);
    const both = await apply('b', `${pods}/p`, only({ containers: [{ name: 'two', image: 'j' }] }));
    expect(at(both, 'spec', 'containers')).toEqual([one, { name: 'two', image: 'j' }]);
    const { status, body } = await pipeline.ask(
      'PATCH',
      `${pods}/p?fieldManager=b`,
      only({ containers: [{ name: 'one', image: 'k' }] }),
      { 'content-type': 'application/apply-patch+yaml' },
    );
    expect([status, body['message']]).toEqual([
      409,
      'Apply failed with 1 conflict: conflict with "a": .spec.containers[name="one"].image',
    ]);
    const gone = await apply('a', `${pods}/p`, only({ containers: [{ name: 'one', image: 'i' }] }));
    expect(at(gone, 'spec', 'containers')).toEqual([
      { name: 'one', image: 'i' },
      { name: 'two', image: 'j' },
    ]);
  });

  test('follows list types set in the schema', async () => {
    const items = { type: 'object', properties: { port: { type: 'integer' } } };
    const serviceOf = (ports: JsonObject): JsonObject => ({
      type: 'object',
      properties: { spec: { type: 'object', properties: { ports } } },
    });
    const services = '/api/v1/namespaces/default/services/s';
    const ports = (...numbers: number[]): JsonObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's' },
      spec: { ports: numbers.map((port) => ({ port })) },
    });
    await pipeline.serve(
      definitionOf(
        '',
        'v1',
        'services',
        'Service',
        serviceOf({ type: 'array', 'x-kubernetes-list-type': 'atomic', items }),
      ),
    );
    await apply('a', services, ports(1), 201);
    const { status, body } = await pipeline.ask('PATCH', `${services}?fieldManager=b`, ports(2), {
      'content-type': 'application/apply-patch+yaml',
    });
    expect([status, body['message']]).toEqual([409, 'Apply failed with 1 conflict: conflict with "a": .spec.ports']);
  });
});
