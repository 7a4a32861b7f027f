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
import { FakeShard, type OpenStream } from '../test-support/fake-shard.ts';
import { bindingOf, exportOf, schemaOf } from '../test-support/shared-apis.ts';
import type { ViewHost } from './view-host.ts';

export interface ViewConformanceModules {
  /** Starts views before a shard that has objects already. */
  readonly start: (shard: FakeShard) => Promise<ViewHost>;
  /** Tries again until it succeeds: what a shard has may be known a moment later. */
  readonly eventually: (attempt: () => void | Promise<void>) => Promise<void>;
}

const view = '/services/apiexport/provider/things/clusters';
const schemas = '/services/apiresourceschema/consumer/apis/apis.kcp.io/v1alpha1/apiresourceschemas';
const widgets = 'apis/example.dev/v1/widgets';
const one = 'apis/example.dev/v1/namespaces/default/widgets/one';
const configmaps: PermissionClaim = { group: '', resource: 'configmaps', verbs: ['*'] };
const claimLabel = `claimed.internal.apis.kcp.io/${exportLabelValue('provider', 'things')}`;

/**
 * What holds for the views of providers and consumers (C8.2, C8.3) wherever they run: inside the shard's process, where
 * requests go down its chain, or in a server of their own, which reaches the shard over mTLS and follows it by watches.
 */
export function viewConformance(name: string, { start, eventually }: ViewConformanceModules): void {
  describe(`views ${name}`, () => {
    let shard: FakeShard;
    let host: ViewHost;
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
    const statusOf = async (path: string, method = 'GET'): Promise<number> =>
      (await host.ask(`${view}/${path}`, { method, body: method === 'GET' ? '' : '{}' })).status;
    const told = (stream: OpenStream): string[] =>
      stream.events.map(({ type, object }) => `${type} ${(object['metadata'] as { name?: string }).name ?? ''}`);

    test('discovery tells what the export brings, and its bindings', async () => {
      const { text } = await host.ask(`${view}/*/apis/example.dev/v1`);
      expect(json(text)).toMatchObject({
        kind: 'APIResourceList',
        resources: [{ name: 'widgets', kind: 'Widget' }, { name: 'widgets/status' }],
      });
      const own = await host.ask(`${view}/consumer/apis/apis.kcp.io/v1alpha2`);
      expect(json(own.text)['resources']).toMatchObject([{ name: 'apibindings', verbs: ['get', 'list', 'watch'] }]);
    });

    test('over all logical clusters the shard is asked by identity, with every right, and its bytes come through', async () => {
      shard.answer = ({ exchange }) => exchange.respond(200, '{"kind":"WidgetList" , "items":[]}');
      const answer = await host.ask(`${view}/*/${widgets}?limit=5`);
      expect(answer).toEqual({ status: 200, text: '{"kind":"WidgetList" , "items":[]}' });
      expect(shard.lines).toEqual(['GET /clusters/*/apis/example.dev/v1/widgets:id1?limit=5']);
      expect(shard.asked[0]?.user.groups).toContain(mastersGroup);
    });

    test('in one logical cluster it is asked in the name of the caller, with a warrant for this one', async () => {
      expect(await statusOf(`consumer/${one}`)).toBe(200);
      expect(shard.lines).toEqual(['GET /clusters/consumer/apis/example.dev/v1/namespaces/default/widgets:id1/one']);
      const { user } = shard.asked[0]!;
      expect(user).toMatchObject({ name: 'ann', uid: '7' });
      expect(user.groups).toContain('system:authenticated');
      expect(user.groups).not.toContain(mastersGroup);
      expect(user.extra['authorization.kcp.io/warrant']?.map((text) => json(text)['groups'])).toEqual([
        ['system:kcp:admin', 'system:kcp:apiexport:provider:things'],
      ]);
    });

    test('nobody makes himself somebody else by headers of his own', async () => {
      const headers = {
        'impersonate-user': 'admin',
        'impersonate-group': mastersGroup,
        'x-remote-user': 'admin',
        'x-remote-group': mastersGroup,
      };
      await host.ask(`${view}/consumer/${one}`, { headers });
      expect(shard.asked.filter(({ user }) => user.name !== 'ann' || user.groups.includes(mastersGroup))).toEqual([]);
    });

    test('writes go on as they came, and the shard’s refusals come back as they are', async () => {
      const sent: unknown[] = [];
      const conflict = '{"kind":"Status","code":409,"reason":"Conflict","message":"somebody was faster"}';
      shard.answer = async ({ exchange, method }) => {
        sent.push([method, exchange.headers['content-type'], (await exchange.readBody(1_000)).toString()]);
        exchange.respond(409, conflict);
      };
      const type = 'application/merge-patch+json';
      const request = { method: 'PATCH', headers: { 'content-type': type }, body: '{"spec": {"n" : 1}}' };
      expect(await host.ask(`${view}/consumer/${one}`, request)).toEqual({ status: 409, text: conflict });
      expect(sent).toEqual([['PATCH', type, '{"spec": {"n" : 1}}']]);
    });

    test('no identity of another export is found, by whatever spelling', async () => {
      for (const resource of ['widgets:id2', 'widgets%3Aid2', 'widgets:', 'parts:id2', 'widgets:id1'])
        expect([resource, await statusOf(`*/apis/example.dev/v1/${resource}`)]).toEqual([resource, 404]);
      expect(shard.lines).toEqual([]);
    });

    test('whoever is unknown, or may not, gets the words of Kubernetes', async () => {
      shard.caller = undefined;
      const stranger = await host.ask(`${view}/*/${widgets}`);
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
      const refused = await host.ask(`${view}/consumer/${widgets}`);
      expect([refused.status, json(refused.text)['message']]).toEqual([
        403,
        'widgets.example.dev is forbidden: User "bob" cannot list resource "widgets" in API group "example.dev" at the cluster scope: access denied',
      ]);
      expect(shard.lines).toEqual([]);
    });

    test('a logical cluster is in the view as soon as it has bound the export', async () => {
      expect(await statusOf(`newcomer/${widgets}`)).toBe(403);
      shard.informer(apiBindings).put(bindingOf({}, { cluster: 'newcomer' }));
      // Not a moment later: a controller that was told of a binding goes there at once.
      expect(await statusOf(`newcomer/${widgets}`)).toBe(200);
    });

    test('of what is claimed only that exists which the consumer gave away', async () => {
      shard.informer(apiExports).put(exportOf({ permissionClaims: [configmaps] }));
      const claim = { ...configmaps, state: 'Accepted' as const, selector: { matchAll: true } };
      shard.informer(apiBindings).put(bindingOf({ permissionClaims: [claim] }));
      let labels: Record<string, string> = {};
      shard.answer = ({ exchange }) =>
        exchange.respond(200, JSON.stringify({ kind: 'ConfigMap', metadata: { labels } }));
      const map = 'consumer/api/v1/namespaces/default/configmaps/one';
      await eventually(async () => {
        await host.ask(`${view}/consumer/api/v1/configmaps`);
        expect(shard.lines.at(-1)).toContain(`${claimLabel}+in+(${claimLabelValue(configmaps)})`);
      });
      for (const method of ['GET', 'PUT', 'DELETE'])
        expect([method, await statusOf(map, method)]).toEqual([method, 404]);
      labels = { [claimLabel]: claimLabelValue(configmaps) };
      for (const method of ['GET', 'PUT', 'DELETE'])
        expect([method, await statusOf(map, method)]).toEqual([method, 200]);
    });

    test('a watch brings events as they happen, and ends properly when the API changes', async () => {
      const write = Promise.withResolvers<(line: string) => void>();
      shard.answer = ({ exchange }) => {
        exchange.start(200);
        write.resolve((line) => void exchange.write(Buffer.from(`${line}\n`)));
        return new Promise((resolve) => exchange.signal.addEventListener('abort', () => resolve()));
      };
      const watch = host.open(`${view}/*/${widgets}?watch=1`);
      const tell = await write.promise;
      for (const event of ['one', 'two']) {
        tell(JSON.stringify({ type: 'ADDED', object: { metadata: { name: event } } }));
        await eventually(() => expect(told(watch).at(-1)).toBe(`ADDED ${event}`));
      }
      shard.informer(apiExports).put(exportOf({ permissionClaims: [configmaps] }));
      await eventually(async () => expect(await statusOf('*/api/v1')).toBe(200));
      expect(watch.ended).toBe(false);
      shard.informer(apiResourceSchemas).put(schemaOf({ uid: 'another' }));
      await eventually(() => expect(watch.ended).toBe(true));
      await watch.handled;
    });

    test('the shard learns that a client has gone', async () => {
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

    test('a consumer reads and watches the schemas of what it has bound', async () => {
      const list = json((await host.ask(schemas)).text);
      expect((list['items'] as JsonObject[]).map(({ metadata }) => (metadata as JsonObject)['name'])).toEqual([
        'v1.widgets.example.dev',
      ]);
      const { resourceVersion } = list['metadata'] as { resourceVersion: string };
      const watch = host.open(`${schemas}?watch=1&resourceVersion=${resourceVersion}`);
      await eventually(() => expect(watch.started).toBe(true));
      shard.informer(apiBindings).remove(bindingOf());
      await eventually(() => expect(told(watch)).toEqual(['DELETED v1.widgets.example.dev']));
      const foreign = host.open(`${schemas}?watch=1&resourceVersion=5`);
      await eventually(() => expect(foreign.ended).toBe(true));
      expect(foreign.events).toMatchObject([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]);
    });
  });
}
