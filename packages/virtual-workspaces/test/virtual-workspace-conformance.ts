import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mastersGroup, type JsonObject } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  claimLabelValue,
  exportLabelValue,
  type PermissionClaim,
} from '@multiplane/apis';
import { answerConfigMap } from './answer-config-map.ts';
import { FakeShard, type OpenStream } from './fake-shard.ts';
import { bindingOf, exportOf, schemaOf } from './shared-apis.ts';
import type { VirtualWorkspaceHost } from './virtual-workspace-host.ts';

export interface VirtualWorkspaceConformanceModules {
  /** Starts virtual workspaces in front of a shard that already has objects. */
  readonly start: (shard: FakeShard) => Promise<VirtualWorkspaceHost>;
  /** Retries until it succeeds, because informers may lag behind the shard. */
  readonly eventually: (attempt: () => void | Promise<void>) => Promise<void>;
}

const view = '/services/apiexport/provider/things/clusters';
const schemas = '/services/apiresourceschema/consumer/apis/apis.kcp.io/v1alpha1/apiresourceschemas';
const widgets = 'apis/example.dev/v1/widgets';
const one = 'apis/example.dev/v1/namespaces/default/widgets/one';
const configmaps: PermissionClaim = { group: '', resource: 'configmaps', verbs: ['*'] };
const claimLabel = `claimed.internal.apis.kcp.io/${exportLabelValue('provider', 'things')}`;

/**
 * Behaviour of the virtual workspaces of providers and consumers in both forms: embedded in the shard, where requests
 * go through its handler chain, and as a server, which reaches the shard over mTLS and watches it.
 */
export function virtualWorkspaceConformance(
  name: string,
  { start, eventually }: VirtualWorkspaceConformanceModules,
): void {
  describe(`virtual workspaces ${name}`, () => {
    let shard: FakeShard;
    let host: VirtualWorkspaceHost;
    beforeEach(async () => {
      shard = new FakeShard();
      shard.informer(apiResourceSchemas).put(schemaOf());
      shard.informer(apiExports).put(exportOf());
      shard.informer(apiBindings).put(bindingOf());
      host = await start(shard);
    });
    afterEach(async () => {
      await host[Symbol.asyncDispose]();
    });

    const json = (text: string): JsonObject => JSON.parse(text) as JsonObject;
    const statusOf = async (path: string, method = 'GET', body = '{}'): Promise<number> =>
      (await host.send(`${view}/${path}`, { method, body: method === 'GET' ? '' : body })).status;
    const eventsOf = (stream: OpenStream): string[] =>
      stream.events.map(({ type, object }) => `${type} ${(object['metadata'] as { name?: string }).name ?? ''}`);

    test('discovery lists the resources of the export, and its bindings', async () => {
      const { text } = await host.send(`${view}/*/apis/example.dev/v1`);
      expect(json(text)).toMatchObject({
        kind: 'APIResourceList',
        resources: [{ name: 'widgets', kind: 'Widget' }, { name: 'widgets/status' }],
      });
      const own = await host.send(`${view}/consumer/apis/apis.kcp.io/v1alpha2`);
      expect(json(own.text)['resources']).toMatchObject([
        { name: 'apibindings', verbs: ['get', 'list', 'watch'] },
        { name: 'apibindings/status', verbs: null },
        { name: 'apibindings/status', verbs: null },
      ]);
    });

    test('across all logical clusters, requests name the identity, use system rights, and bytes are unchanged', async () => {
      shard.answer = ({ exchange }) => exchange.respond(200, '{"kind":"WidgetList" , "items":[]}');
      const answer = await host.send(`${view}/*/${widgets}?limit=5`);
      expect(answer).toEqual({ status: 200, text: '{"kind":"WidgetList" , "items":[]}' });
      expect(shard.lines).toEqual(['GET /clusters/*/apis/example.dev/v1/widgets:id1?limit=5']);
      expect(shard.requests[0]?.user.groups).toContain(mastersGroup);
    });

    test('in one logical cluster, requests are sent as the caller with a warrant', async () => {
      expect(await statusOf(`consumer/${one}`)).toBe(200);
      expect(shard.lines).toEqual(['GET /clusters/consumer/apis/example.dev/v1/namespaces/default/widgets:id1/one']);
      const { user } = shard.requests[0]!;
      expect(user).toMatchObject({ name: 'ann', uid: '7' });
      expect(user.groups).toContain('system:authenticated');
      expect(user.groups).not.toContain(mastersGroup);
      expect(user.extra['authorization.kcp.io/warrant']?.map((text) => json(text)['groups'])).toEqual([
        ['system:kcp:admin', 'system:kcp:apiexport:provider:things'],
      ]);
    });

    test('clients cannot change their identity by headers', async () => {
      const headers = {
        'impersonate-user': 'admin',
        'impersonate-group': mastersGroup,
        'x-remote-user': 'admin',
        'x-remote-group': mastersGroup,
      };
      await host.send(`${view}/consumer/${one}`, { headers });
      expect(shard.requests.filter(({ user }) => user.name !== 'ann' || user.groups.includes(mastersGroup))).toEqual(
        [],
      );
    });

    test('forwards writes unchanged, and errors of the shard as well', async () => {
      const sent: unknown[] = [];
      const conflict = '{"kind":"Status","code":409,"reason":"Conflict","message":"conflict"}';
      shard.answer = async ({ exchange, method }) => {
        sent.push([method, exchange.headers['content-type'], (await exchange.readBody(1_000)).toString()]);
        exchange.respond(409, conflict);
      };
      const type = 'application/merge-patch+json';
      const request = { method: 'PATCH', headers: { 'content-type': type }, body: '{"spec": {"n" : 1}}' };
      expect(await host.send(`${view}/consumer/${one}`, request)).toEqual({ status: 409, text: conflict });
      expect(sent).toEqual([['PATCH', type, '{"spec": {"n" : 1}}']]);
    });

    test('does not serve the identity of another export in any spelling', async () => {
      for (const resource of ['widgets:id2', 'widgets%3Aid2', 'widgets:', 'parts:id2', 'widgets:id1'])
        expect([resource, await statusOf(`*/apis/example.dev/v1/${resource}`)]).toEqual([resource, 404]);
      expect(shard.lines).toEqual([]);
    });

    test('unauthenticated and unauthorized callers get the messages of Kubernetes', async () => {
      shard.caller = undefined;
      const stranger = await host.send(`${view}/*/${widgets}`);
      expect([stranger.status, json(stranger.text)]).toEqual([
        401,
        {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: 'Unauthorized',
          reason: 'Unauthorized',
          code: 401,
        },
      ]);
      shard.caller = { name: 'bob', uid: '8', groups: ['system:authenticated'], extra: {} };
      shard.allows = () => false;
      const refused = await host.send(`${view}/consumer/${widgets}`);
      expect([refused.status, json(refused.text)['message']]).toEqual([
        403,
        'widgets.example.dev is forbidden: User "bob" cannot list resource "widgets" in API group "example.dev" at the cluster scope: access denied',
      ]);
      expect(shard.lines).toEqual([]);
    });

    test('serves a logical cluster as soon as it has bound the export', async () => {
      expect(await statusOf(`newcomer/${widgets}`)).toBe(403);
      shard.informer(apiBindings).put(bindingOf({}, { cluster: 'newcomer' }));
      // The endpoint must serve the consumer before the binding is visible to controllers.
      expect(await statusOf(`newcomer/${widgets}`)).toBe(200);
    });

    test('serves only claimed objects that the consumer accepted', async () => {
      shard.informer(apiExports).put(exportOf({ permissionClaims: [configmaps] }));
      const claim = { ...configmaps, state: 'Accepted' as const, selector: { matchAll: true } };
      shard.informer(apiBindings).put(bindingOf({ permissionClaims: [claim] }));
      let labels: Record<string, string> = {};
      shard.answer = (dispatched) => answerConfigMap(dispatched, labels);
      const map = 'consumer/api/v1/namespaces/default/configmaps/one';
      await eventually(async () => {
        await host.send(`${view}/consumer/api/v1/configmaps`);
        expect(shard.lines.at(-1)).toContain(`${claimLabel}+in+(${claimLabelValue(configmaps)})`);
      });
      for (const method of ['GET', 'DELETE']) expect([method, await statusOf(map, method)]).toEqual([method, 404]);
      const update = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}}';
      expect(await statusOf(map, 'PUT', update)).toBe(404);
      labels = { [claimLabel]: claimLabelValue(configmaps) };
      for (const method of ['GET', 'PUT', 'DELETE'])
        expect([method, await statusOf(map, method)]).toEqual([method, 200]);
    });

    test('a watch streams events, and ends properly when the API changes', async () => {
      const write = Promise.withResolvers<(line: string) => void>();
      shard.answer = ({ exchange }) => {
        exchange.start(200);
        write.resolve((line) => void exchange.write(Buffer.from(`${line}\n`)));
        return new Promise((resolve) => exchange.signal.addEventListener('abort', () => resolve()));
      };
      const watch = host.open(`${view}/*/${widgets}?watch=1`);
      const send = await write.promise;
      for (const event of ['one', 'two']) {
        send(JSON.stringify({ type: 'ADDED', object: { metadata: { name: event } } }));
        await eventually(() => expect(eventsOf(watch).at(-1)).toBe(`ADDED ${event}`));
      }
      shard.informer(apiExports).put(exportOf({ permissionClaims: [configmaps] }));
      await eventually(async () => expect(await statusOf('*/api/v1')).toBe(200));
      expect(watch.ended).toBe(false);
      shard.informer(apiResourceSchemas).put(schemaOf({ uid: 'another' }));
      await eventually(() => expect(watch.ended).toBe(true));
      await watch.handled;
    });

    test('a client disconnect reaches the shard', async () => {
      const gone = Promise.withResolvers<void>();
      shard.answer = ({ exchange }) => {
        exchange.start(200);
        exchange.signal.addEventListener('abort', () => gone.resolve());
        return gone.promise;
      };
      const watch = host.open(`${view}/*/${widgets}?watch=1`);
      await eventually(() => expect(shard.lines).toHaveLength(1));
      watch.abort();
      await gone.promise;
      expect(shard.lines[0]).toContain('/clusters/*/apis/example.dev/v1/widgets:id1?watch=');
    });

    test('a consumer reads and watches the schemas of its bound APIs', async () => {
      const list = json((await host.send(schemas)).text);
      expect((list['items'] as JsonObject[]).map(({ metadata }) => (metadata as JsonObject)['name'])).toEqual([
        'v1.widgets.example.dev',
      ]);
      const { resourceVersion } = list['metadata'] as { resourceVersion: string };
      const watch = host.open(`${schemas}?watch=1&resourceVersion=${resourceVersion}`);
      await eventually(() => expect(watch.started).toBe(true));
      shard.informer(apiBindings).remove(bindingOf());
      await eventually(() => expect(eventsOf(watch)).toEqual(['DELETED v1.widgets.example.dev']));
      const otherVersion = host.open(`${schemas}?watch=1&resourceVersion=5`);
      await eventually(() => expect(otherVersion.ended).toBe(true));
      expect(otherVersion.events).toMatchObject([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]);
    });
  });
}
