import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { apiExport, eventually } from '@multiplane/testing';
import { WebhookServer, webhooksHere } from '../harness/webhook-server.ts';
import { field } from '../harness/workspaces.ts';
import {
  clusterObject,
  labelKey,
  Marketplace,
  mustSucceed,
  objectOf,
  scopeObject,
  scopesPath,
  slicesPath,
  type Cluster,
} from './marketplace.ts';

const patient = { timeout: 60_000 };
const consumers = ['near', 'far'] as const;
const admission = '/clusters/root:provider/apis/admissionregistration.k8s.io/v1';

interface Review {
  readonly request: { readonly uid: string; readonly object: Cluster };
}

let market: Marketplace;
let webhook: WebhookServer;
beforeAll(async () => {
  webhook = await WebhookServer.start('scopes', ({ request: { uid, object } }: Review) => {
    const path = `/metadata/labels/${labelKey.replace('/', '~1')}`;
    const value = object.metadata.name.startsWith('webhook-closed') ? 'closed' : 'b';
    const parent = object.metadata.labels === undefined ? [{ op: 'add', path: '/metadata/labels', value: {} }] : [];
    const patch = Buffer.from(JSON.stringify([...parent, { op: 'add', path, value }])).toString('base64');
    const response = object.metadata.name.startsWith('webhook-')
      ? { uid, allowed: true, patchType: 'JSONPatch', patch }
      : { uid, allowed: true };
    return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response };
  });
  market = await Marketplace.start({ transfer: 'WhenFinalizersGone' }, { flags: webhooksHere });
  await market.createScope('closed', { assignment: 'Provider' });
  await market.inForce('closed');
}, 240_000);
afterAll(async () => {
  await market?.[Symbol.asyncDispose]();
  await webhook?.[Symbol.asyncDispose]();
});

const current = async (consumer: string, name: string): Promise<Cluster> =>
  objectOf(await market.shared.requests.send({ path: market.own(consumer, name) }));
const scopeOf = ({ metadata }: Cluster): string | undefined => metadata.labels?.[labelKey];

const rules = [
  {
    apiGroups: ['marketplace.example'],
    apiVersions: ['v1'],
    operations: ['CREATE', 'UPDATE'],
    resources: ['clusters', 'clusters/status'],
  },
];

/** Objects `<prefix>-…` whose label a mutation of the provider changes follow the rules of who wrote them. */
async function expectProtected(prefix: string, whenActive: () => Promise<void>): Promise<void> {
  const kept = `${prefix}-kept`;
  for (const consumer of consumers) mustSucceed(await market.create(consumer, kept, { [labelKey]: 'a' }));
  await whenActive();
  for (const consumer of consumers) {
    const own = market.own(consumer, kept);
    await eventually(async () => {
      const update = await market.patch(own, { spec: { size: 7 } }, 'user-3');
      expect([update.status, update.json['message']]).toEqual([
        403,
        expect.stringContaining('needs the verb "assign"'),
      ]);
    }, patient);
    const through = await market.patch(market.in('a', consumer, kept), { spec: { size: 7 } }, 'user-1');
    expect([through.status, through.json['message']]).toEqual([
      403,
      expect.stringContaining('cannot be changed through'),
    ]);
    const applied = await market.shared.requests.send({
      as: 'user-3',
      method: 'PATCH',
      path: `${own}?fieldManager=m&force=true`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: clusterObject(kept, {}, { size: 8 }),
    });
    expect(applied.status).toBe(403);
    // A write of the status changes no label.
    mustSucceed(await market.patch(`${own}/status`, { status: { phase: 'Up' } }, 'user-3'));
    const after = await current(consumer, kept);
    expect([scopeOf(after), after.spec, after.status]).toEqual(['a', { size: 1 }, { phase: 'Up' }]);
    // At creation the label is the consumer's choice only where the scope says so.
    const refused = await market.create(consumer, `${prefix}-closed`, { [labelKey]: 'a' });
    expect([refused.status, refused.json['message']]).toEqual([
      403,
      expect.stringContaining('needs the verb "assign"'),
    ]);
    expect((await market.shared.requests.send({ path: market.own(consumer, `${prefix}-closed`) })).status).toBe(404);
    // Who creates through a scope cannot be moved to another one by a mutation.
    const body = clusterObject(`${prefix}-through`, { labels: {} });
    const path = market.in('a', consumer);
    const created = await market.shared.requests.send({ as: 'user-1', method: 'POST', path, body });
    expect([created.status, created.json['message']]).toEqual([403, expect.stringContaining('protected label')]);
  }
}

// oxlint-disable-next-line jest/expect-expect -- expectProtected() asserts
test('an admission webhook cannot change the label for who may not', async () => {
  await expectProtected('webhook', async () => {
    await market.shared.post(`${admission}/mutatingwebhookconfigurations`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'mover' },
      webhooks: [
        {
          name: 'mover.marketplace.example',
          clientConfig: { url: webhook.url, caBundle: webhook.caBundle },
          rules,
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
  });
  await market.shared.remove(`${admission}/mutatingwebhookconfigurations/mover`);
}, 120_000);

// oxlint-disable-next-line jest/expect-expect -- expectProtected() asserts
test('a MutatingAdmissionPolicy cannot change the label for who may not', async () => {
  await expectProtected('policy', async () => {
    const path = `/metadata/labels/${labelKey.replace('/', '~1')}`;
    const value = `object.metadata.name.startsWith('policy-closed') ? 'closed' : 'b'`;
    await market.shared.post(`${admission}/mutatingadmissionpolicies`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicy',
      metadata: { name: 'mover' },
      spec: {
        matchConstraints: { resourceRules: rules },
        matchConditions: [{ name: 'mine', expression: `object.metadata.name.startsWith('policy-')` }],
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: {
              expression: `(has(object.metadata.labels) ? [] : [JSONPatch{op: 'add', path: '/metadata/labels', value: {}}]) + [JSONPatch{op: 'add', path: '${path}', value: ${value}}]`,
            },
          },
        ],
      },
    });
    await market.shared.post(`${admission}/mutatingadmissionpolicybindings`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name: 'mover' },
      spec: { policyName: 'mover' },
    });
  });
  await market.shared.remove(`${admission}/mutatingadmissionpolicybindings/mover`);
}, 120_000);

test('labels of permission claims come and go without a change of the scope', async () => {
  const exports = '/clusters/root:provider/apis/apis.kcp.io/v1alpha2/apiexports';
  const identityHash = await eventually(async () => {
    const hash = field(await market.shared.get(`${exports}/marketplace`), 'status', 'identityHash');
    if (typeof hash !== 'string' || hash === '') throw new Error('no identity');
    return hash;
  });
  const claim = { group: 'marketplace.example', resource: 'clusters', identityHash, verbs: ['*'] };
  await market.shared.offer(apiExport('auditor', [], { permissionClaims: [claim] }));
  await market.grant('provider', 'user-2', 'use-auditor', [
    { apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], resourceNames: ['auditor'], verbs: ['*'] },
  ]);
  for (const consumer of consumers) {
    const finalizer = 'a.example/cleanup';
    mustSucceed(await market.create(consumer, 'claimed', { [labelKey]: 'a' }));
    const through = market.in('a', consumer, 'claimed');
    mustSucceed(await market.patch(through, { metadata: { finalizers: [finalizer] } }, 'user-1'));
    mustSucceed(await market.move(consumer, 'claimed', 'b'));
    await market.shared.bind(consumer, 'auditor');
    const binding = `/clusters/root:${consumer}/apis/apis.kcp.io/v1alpha2/apibindings/auditor`;
    const claimLabels = async (): Promise<string[]> =>
      Object.keys((await current(consumer, 'claimed')).metadata.labels ?? {}).filter((key) => key !== labelKey);
    for (const state of ['Accepted', 'Rejected', 'Accepted']) {
      const decided = { ...claim, state, selector: { matchAll: true } };
      await market.shared.patch(binding, { spec: { permissionClaims: [decided] } });
      // The controller rewrites the objects; the transfer goes on waiting.
      await eventually(async () => expect((await claimLabels()).length).toBe(state === 'Accepted' ? 1 : 0), patient);
      const { metadata } = await current(consumer, 'claimed');
      expect([metadata.labels?.[labelKey], metadata.finalizers]).toEqual(['a', [finalizer]]);
      expect(metadata.annotations).toHaveProperty(['scopes.multiplane.dev/transfer']);
    }
    // Who claims the objects may write them, and is bound by the rules of their scopes.
    const claimed = market
      .in('a', consumer, 'claimed')
      .replace('apiexport-scope', 'apiexport')
      .replace('/a/', '/auditor/');
    const write = (body: object) => market.patch(claimed, body, 'user-2');
    await eventually(async () => mustSucceed(await write({ spec: { size: 3 } })), patient);
    const moved = await write({ metadata: { labels: { [labelKey]: 'b' } } });
    expect([moved.status, moved.json['message']]).toEqual([403, expect.stringContaining('needs the verb "assign"')]);
    mustSucceed(await market.patch(through, { metadata: { finalizers: null } }, 'user-1'));
    expect(scopeOf(await current(consumer, 'claimed'))).toBe('b');
  }
}, 120_000);

test('objects from before the scope: their labels count as assigned, absent ones may be assigned once', async () => {
  const key = 'marketplace.example/zone';
  const forged = { 'scopes.multiplane.dev/transfer': '{"x":1}', 'scopes.multiplane.dev/force-transfer': 'true' };
  for (const consumer of consumers) {
    for (const [name, labels] of [
      ['old-x', { [key]: 'x' }],
      ['old-none', {}],
      ['old-other', { [key]: 'unknown' }],
    ] as const) {
      const body = clusterObject(name, { labels, annotations: { ...forged, mine: 'kept' } });
      mustSucceed(
        await market.shared.requests.send({ as: 'user-3', method: 'POST', path: market.own(consumer), body }),
      );
    }
  }
  // Times of creation have seconds.
  const createdAt = Date.now();
  await eventually(() => expect(Date.now() - createdAt).toBeGreaterThan(1_100));
  for (const value of ['x', 'y']) {
    const selector = { matchLabels: { [key]: value } };
    const body = scopeObject(`zone-${value}`, { selector, transfer: 'WhenFinalizersGone' });
    await market.shared.requests.must({ method: 'POST', path: scopesPath, body });
    await market.inForce(`zone-${value}`);
  }
  await market.grant('provider', 'user-1', 'use-zones', [
    { apiGroups: ['scopes.multiplane.dev'], resources: ['apiexportscopes/content'], verbs: ['*'] },
  ]);
  const set = (consumer: string, name: string, value: string | null, as = 'user-3') =>
    market.patch(market.own(consumer, name), { metadata: { labels: { [key]: value } } }, as);
  for (const consumer of consumers) {
    const namesIn = async (scope: string): Promise<string[]> => {
      const { json } = mustSucceed(await market.list(scope, consumer, 'user-1'));
      return (json['items'] as Cluster[]).map(({ metadata }) => metadata.name);
    };
    await eventually(async () => expect(await namesIn('zone-x')).toEqual(['old-x']), patient);
    // Protected as if it had been assigned.
    for (const value of ['y', null, 'unknown']) expect((await set(consumer, 'old-x', value)).status).toBe(403);
    expect((await set(consumer, 'old-none', 'unknown')).status).toBe(403);
    mustSucceed(await set(consumer, 'old-none', 'y'));
    for (const value of ['x', null]) expect((await set(consumer, 'old-none', value)).status).toBe(403);
    expect(await namesIn('zone-y')).toEqual(['old-none']);
    // A value that no scope has is a label all the same.
    expect((await set(consumer, 'old-other', 'x')).status).toBe(403);
    mustSucceed(await set(consumer, 'old-other', 'x', 'masters'));
    expect((await current(consumer, 'old-other')).metadata.annotations).toEqual(
      expect.objectContaining({ mine: 'kept' }),
    );
    expect((await current(consumer, 'old-other')).metadata.annotations).not.toHaveProperty([
      'scopes.multiplane.dev/transfer',
    ]);
    // Later objects have the choice at their creation only.
    mustSucceed(await market.create(consumer, 'new-none'));
    expect((await set(consumer, 'new-none', 'x')).status).toBe(403);
  }
}, 120_000);

describe('the kinds', () => {
  test('have columns for people', async () => {
    const columnsOf = async (path: string): Promise<string[]> => {
      const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
      const { json } = mustSucceed(await market.shared.requests.send({ path, headers }));
      return (json['columnDefinitions'] as { name: string }[]).map(({ name }) => name);
    };
    const cells = mustSucceed(
      await market.shared.requests.send({
        path: `${scopesPath}/a`,
        headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
      }),
    ).json['rows'] as { cells: unknown[] }[];
    expect(await columnsOf(scopesPath)).toEqual([
      'Name',
      'Export',
      'Key',
      'Value',
      'Assignment',
      'Transfer',
      'Ready',
      'Age',
    ]);
    expect(cells[0]?.cells.slice(0, 7)).toEqual([
      'a',
      'marketplace',
      labelKey,
      'a',
      'Consumer',
      'WhenFinalizersGone',
      'True',
    ]);
    expect(await columnsOf(scopesPath.replace('apiexportscopes', 'apiexportscopesets'))).toEqual([
      'Name',
      'Export',
      'Key',
      'Count',
      'Age',
    ]);
    expect(await columnsOf(slicesPath)).toEqual(['Name', 'Scope', 'Partition', 'Age']);
  });

  test('have a text for every field, for kubectl explain', async () => {
    interface Schema {
      readonly description?: string;
      readonly properties?: Record<string, Schema>;
      readonly items?: Schema;
    }
    const path = '/clusters/root:provider/openapi/v3/apis/scopes.multiplane.dev/v1alpha1';
    const { components } = mustSucceed(await market.shared.requests.send({ path })).json as unknown as {
      components: { schemas: Record<string, Schema> };
    };
    const without: string[] = [];
    const visit = (name: string, { properties = {}, items }: Schema): void => {
      for (const [part, schema] of Object.entries(properties)) {
        if ((schema.description ?? '') === '') without.push(`${name}.${part}`);
        visit(`${name}.${part}`, schema);
      }
      if (items !== undefined) visit(`${name}[]`, items);
    };
    const kinds = Object.entries(components.schemas).filter(([name]) =>
      /\.APIExportScope(Set|EndpointSlice)?$/.test(name),
    );
    expect(kinds.length).toBe(3);
    for (const [name, schema] of kinds) {
      expect(schema.description).toMatch(/^APIExportScope/);
      for (const part of ['spec', 'status']) visit(`${name}.${part}`, schema.properties?.[part] ?? {});
    }
    expect(without).toEqual([]);
  });
});
