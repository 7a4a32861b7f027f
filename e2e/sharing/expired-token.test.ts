import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Json } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually } from '@multiplane/testing';
import { bind, endpointsOf, identityOf, letEverybodyBind } from '../harness/api-export.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { signedAgain } from '../harness/jwt.ts';
import { describeWithKubectl } from '../harness/kubectl.ts';
import { Requests, type Response } from '../harness/requests.ts';
import { createTenant, type Tenant } from '../harness/tenants.ts';
import { field } from '../harness/workspaces.ts';

const patient = { timeout: 60_000 };
/** Provider and consumer are apart where they can be. */
const [here, there] = topologyName === 'sharded' ? ['root', 'shard-1'] : [undefined, undefined];
/** Tokens are accepted this long after their time, as by Kubernetes: clocks differ. */
const leeway = 60;

const unauthorized = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'Unauthorized',
  reason: 'Unauthorized',
  code: 401,
};
const riders = '/clusters/*/apis/wildwest.dev/v1/cowboys';

/**
 * A provider's controller, whose token expires while it watches all of its consumers. Servers verify the credential of a
 * watch again while it is open (ADR 113): the watch ends with its token, and further requests are refused.
 */
describeWithKubectl('a controller whose token expires in mid watch', () => {
  let control: ControlPlane;
  let provider: Tenant;
  let consumer: Tenant;
  /** The endpoint of the export, as plain requests. */
  let requests: Requests;
  let path: string;
  let valid: string;

  const ride = (name: string): Promise<string> =>
    consumer.kubectl.apply({ apiVersion: 'wildwest.dev/v1', kind: 'Cowboy', metadata: { name } });
  const list = (token: string): Promise<Response> => requests.send({ path, as: token });
  const newToken = async (): Promise<string> => (await provider.kubectl.ok(['create', 'token', 'robot'])).trim();
  /** Accepted for a few seconds more. */
  const tired = (token: string, seconds: number): string => {
    const now = Math.floor(Date.now() / 1000);
    return signedAgain(control, token, { iat: now - 3600, nbf: now - 3600, exp: now - leeway + seconds });
  };
  const namesOf = (events: readonly Record<string, unknown>[]): string[] =>
    events
      .filter(({ type }) => type !== 'BOOKMARK')
      .map(({ type, object }) => `${type as string} ${field(object as Json, 'metadata', 'name') as string}`);

  beforeAll(async () => {
    control = await startControlPlane();
    [provider, consumer] = await Promise.all([
      createTenant(control, 'provider', { user: 'user-1', shard: here }),
      createTenant(control, 'consumer', { user: 'user-2', shard: there }),
    ]);
    const { kubectl } = provider;
    await kubectl.create(apiResourceSchema({ group: 'wildwest.dev', plural: 'cowboys' }));
    await kubectl.create(apiExport('cowboys', ['v1.cowboys.wildwest.dev']));
    await letEverybodyBind(kubectl, 'cowboys');
    await identityOf(kubectl, 'cowboys');
    await bind(consumer.kubectl, 'root:provider:cowboys');
    await eventually(() => ride('billy'), patient);

    await kubectl.ok(['create', 'serviceaccount', 'robot']);
    await kubectl.ok(['create', 'clusterrole', 'robot', '--verb=*', '--resource=apiexports.apis.kcp.io/content']);
    await kubectl.ok([
      'create',
      'clusterrolebinding',
      'robot',
      '--clusterrole=robot',
      '--serviceaccount=default:robot',
    ]);
    const [endpoint = ''] = await endpointsOf(kubectl, 'cowboys', 1);
    const { origin, pathname } = new URL(endpoint);
    requests = new Requests({ url: origin, ca: control.ca });
    path = `${pathname}${riders}`;
    valid = await newToken();
    await eventually(async () => {
      const { status, text } = await list(valid);
      if (status !== 200) throw new Error(`the controller is answered ${status}: ${text}`);
    }, patient);
  }, 240_000);

  afterAll(async () => {
    requests?.[Symbol.dispose]();
    for (const tenant of [provider, consumer]) await tenant?.[Symbol.asyncDispose]();
    await control?.[Symbol.asyncDispose]();
  });

  test('sees the end of its watch, is refused what it asks next, and misses nothing with its next token', async () => {
    const token = tired(valid, 8);
    const first = await list(token);
    expect(first.status).toBe(200);
    const start = field(first.json as Json, 'metadata', 'resourceVersion') as string;
    const watch = await requests.watch(`${path}?watch=true&resourceVersion=${start}`, token);
    expect(watch.status).toBe(200);
    await ride('jesse');

    // Servers cache the result of a token for a moment beyond its time.
    await eventually(async () => expect((await list(token)).status).toBe(401), patient);
    const refused = await list(token);
    expect(refused.json).toEqual(unauthorized);
    expect(refused.headers['content-type']).toBe('application/json');
    const again = await requests.send({ path: `${path}?watch=true&resourceVersion=${start}`, as: token });
    expect([again.status, again.json]).toEqual([401, unauthorized]);

    // The watch ends as one that was long enough, without an error, so that clients continue from its last event.
    await eventually(async () => expect(watch.ended).toBe(true), patient);
    expect(watch.events.filter(({ type }) => type === 'ERROR')).toEqual([]);
    const seen = namesOf(watch.events);
    const last = watch.events.at(-1)?.['object'] as Json | undefined;
    const from = last === undefined ? start : (field(last, 'metadata', 'resourceVersion') as string);

    await ride('annie');
    await consumer.kubectl.ok(['delete', 'cowboy', 'jesse']);
    const renewed = await requests.watch(`${path}?watch=true&resourceVersion=${from}`, await newToken());
    await eventually(
      async () =>
        expect([...seen, ...namesOf(renewed.events)]).toEqual(['ADDED jesse', 'ADDED annie', 'DELETED jesse']),
      patient,
    );
    renewed.close();
  }, 120_000);
});
