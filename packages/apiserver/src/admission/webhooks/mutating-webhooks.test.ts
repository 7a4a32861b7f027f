import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { webhookOf } from '../../../test/configured-admission-fixture.ts';
import { allowed, answer, maps, patching, requestOf, webhookSuite } from '../../../test/webhook-suite.ts';

const suite = webhookSuite();

describe('a mutating webhook', () => {
  test('changes the stored object and is audited', async () => {
    suite.server.answer = (call) => patching(call, { op: 'add', path: '/data', value: { added: 'yes' } });
    await suite.mutating(webhookOf(suite.server));
    expect((await suite.create()).body).toMatchObject({ data: { added: 'yes' } });
    expect(Object.fromEntries(suite.admission.annotations)).toEqual({
      'mutation.webhook.admission.k8s.io/round_0_index_0':
        '{"configuration":"w","webhook":"a.hooks.example.com","mutated":true}',
      'patch.webhook.admission.k8s.io/round_0_index_0':
        '{"configuration":"w","webhook":"a.hooks.example.com","patch":[{"op":"add","path":"/data","value":{"added":"yes"}}],"patchType":"JSONPatch"}',
    });
  });

  test('cannot change the logical cluster of an object', async () => {
    suite.server.answer = (call) =>
      patching(call, { op: 'replace', path: '/metadata/annotations/kcp.io~1cluster', value: 'other' });
    await suite.mutating(webhookOf(suite.server));
    expect((await suite.create()).body).toMatchObject({ metadata: { annotations: { 'kcp.io/cluster': 'root' } } });
  });

  test('its result is validated like a request', async () => {
    suite.server.answer = (call) => patching(call, { op: 'add', path: '/data', value: { 'bad key': 'x' } });
    await suite.mutating(webhookOf(suite.server));
    expect((await suite.create()).status).toBe(422);
    suite.server.answer = (call) => patching(call, { op: 'add', path: '/data', value: 7 });
    expect((await suite.create()).status).toBe(500);
  });

  test('cannot change an object that is deleted', async () => {
    await suite.create();
    suite.server.answer = (call) => patching(call, { op: 'add', path: '/data', value: {} });
    await suite.mutating(webhookOf(suite.server));
    expect((await suite.admission.on.must(500, 'DELETE', `${maps}/a`))['message']).toBe(
      'Internal error occurred: admission webhook "a.hooks.example.com" attempted to modify the object, which is not supported for this operation',
    );
  });

  test.each<[string, JsonObject, string]>([
    [
      'no type',
      { patch: 'W10=' },
      'received invalid webhook response: webhook returned response.patch but not response.patchType',
    ],
    [
      'another type',
      { patch: 'W10=', patchType: 'x' },
      'received invalid webhook response: webhook returned invalid response.patchType of "x"',
    ],
    ['no JSON', { patch: 'eA==', patchType: 'JSONPatch' }, 'received undecodable patch in webhook response: '],
  ])('a patch with %s fails', async (_name, response, why) => {
    suite.server.answer = (call) => answer(call, { allowed: true, ...response });
    await suite.mutating(webhookOf(suite.server));
    const refused = await suite.create();
    expect(refused.status).toBe(500);
    expect(refused.body['message']).toContain(`failed calling webhook "a.hooks.example.com": ${why}`);
  });

  test('a patch that cannot be applied fails regardless of the failure policy', async () => {
    suite.server.answer = (call) => patching(call, { op: 'remove', path: '/nope' });
    await suite.mutating(webhookOf(suite.server, { failurePolicy: 'Ignore' }));
    expect((await suite.create()).status).toBe(500);
  });

  test('invalid managedFields are restored with a warning', async () => {
    suite.server.answer = (call) =>
      patching(call, { op: 'replace', path: '/metadata/managedFields', value: [{ manager: 'x', operation: 'Nope' }] });
    await suite.mutating(webhookOf(suite.server));
    const made = await suite.admission.on.ask('POST', `${maps}?fieldManager=me`, {
      metadata: { name: 'a' },
      data: { k: '1' },
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ metadata: { managedFields: [{ manager: 'me' }] } });
    expect(made.warnings[0]).toMatch(/^\.metadata\.managedFields was in an invalid state after admission; /);
  });
});

describe('several mutating webhooks', () => {
  /** Webhooks with separate paths and the reinvocation policy IfNeeded. */
  const at = (path: string, reinvocationPolicy: string): JsonObject => ({
    ...webhookOf(suite.server, { name: `${path}.hooks.example.com`, reinvocationPolicy }),
    clientConfig: {
      ...(webhookOf(suite.server) as { clientConfig: JsonObject }).clientConfig,
      url: `${suite.server.url}/${path}`,
    },
  });
  const order = (): string[] => suite.server.calls.map(({ url }) => url.slice(1, url.indexOf('?')));

  test('each sees earlier changes; one with IfNeeded is reinvoked after later ones', async () => {
    suite.server.answer = (call) => {
      const { data } = requestOf(call)['object'] as { data?: JsonObject };
      const path = call.url.slice(1, call.url.indexOf('?'));
      return data?.[path] === undefined
        ? patching(call, { op: 'add', path: `/data/${path}`, value: Object.keys(data ?? {}).join(',') })
        : allowed(call);
    };
    await suite.mutating(at('one', 'IfNeeded'), at('two', 'Never'), at('three', 'IfNeeded'));
    expect((await suite.create('a', { k: '1' })).body['data']).toEqual({
      k: '1',
      one: 'k',
      two: 'k,one',
      three: 'k,one,two',
    });
    expect(order()).toEqual(['one', 'two', 'three', 'one']);
  });

  test('none is reinvoked without a later change', async () => {
    await suite.mutating(at('one', 'IfNeeded'), at('two', 'IfNeeded'));
    await suite.create();
    expect(order()).toEqual(['one', 'two']);
  });
});
