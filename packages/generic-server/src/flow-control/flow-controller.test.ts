import { describe, expect, test } from '@jest/globals';
import type { UserInfo } from '@multiplane/apimachinery';
import { MetricsRegistry } from '@multiplane/component-base';
import { FakeClock, eventLoopIdle } from '@multiplane/testing';
import { clusterNameExtra } from '../authentication/service-account-claims.ts';
import type { RequestInfo } from '../request/request-info.ts';
import { resolveRequestInfo } from '../request/request-info-resolver.ts';
import { parseRequestPath } from '../request/request-path.ts';
import type { FlowControlConfiguration, FlowSchema, PriorityLevel } from './flow-control-configuration.ts';
import { FlowController } from './flow-controller.ts';
import type { FlowTicket } from './flow-ticket.ts';
import { minimalFlowControl } from './minimal-configuration.ts';

const info = (path: string, method = 'GET'): RequestInfo => {
  const target = parseRequestPath(path);
  return resolveRequestInfo(method, target, target.cluster);
};
const user = (name: string, groups: string[] = ['system:authenticated'], cluster?: string): UserInfo => ({
  name,
  uid: '',
  groups,
  extra: cluster === undefined ? {} : { [clusterNameExtra]: [cluster] },
});
const maps = info('/clusters/abc/api/v1/namespaces/default/configmaps/a');
const running = { signal: new AbortController().signal };

class Setup {
  readonly clock = new FakeClock();
  readonly registry = new MetricsRegistry();
  readonly controller: FlowController;
  busy = false;
  constructor(seats: number, configuration: FlowControlConfiguration = minimalFlowControl, objects = 0) {
    const { scheduler } = this.clock;
    Object.defineProperty(scheduler, 'sharedSliceEndsAt', { get: () => (this.busy ? 0 : undefined) });
    this.controller = new FlowController(
      { seats, waitLimitMs: 15_000, cluster: 'system:admin' },
      { clock: this.clock, scheduler, random: () => 0.5, registry: this.registry, objectCount: () => objects },
      configuration,
    );
  }

  ticket(name = 'alice', request = maps): FlowTicket {
    const who = user(name);
    return this.controller.ticket(this.controller.classify(who, request), who, request);
  }
  acquire(ticket: FlowTicket, request: { readonly signal: AbortSignal } = running): Promise<void> | undefined {
    return this.controller.acquire(ticket, request);
  }
}
const anyone: FlowSchema['rules'][number]['subjects'] = [{ kind: 'Group', name: '*' }];
const everything = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }];
const schema = (name: string, matchingPrecedence: number, rest: Partial<FlowSchema> = {}): FlowSchema => ({
  name,
  uid: name,
  matchingPrecedence,
  priorityLevel: 'catch-all',
  distinguisher: 'ByUser',
  rules: [{ subjects: anyone, resourceRules: everything, nonResourceRules: [] }],
  ...rest,
});
const level = (name: string, rest: Partial<PriorityLevel> = {}): PriorityLevel => ({
  name,
  uid: name,
  exempt: false,
  nominalConcurrencyShares: 10,
  lendablePercent: 0,
  borrowingLimitPercent: undefined,
  queuing: { queues: 16, handSize: 4, queueLengthLimit: 10 },
  ...rest,
});
const configured = (schemas: FlowSchema[], levels: PriorityLevel[] = []): FlowControlConfiguration => ({
  schemas: [...schemas, schema('last', 10_000)],
  levels: [level('catch-all'), ...levels],
});

describe('classification', () => {
  const subject = (subjects: FlowSchema['rules'][number]['subjects']): Partial<FlowSchema> => ({
    rules: [{ subjects, resourceRules: everything, nonResourceRules: [] }],
  });
  const nameOf = (schemas: FlowSchema[], who: UserInfo, request = maps): string =>
    new Setup(10, configured(schemas)).controller.classify(who, request).schemaName;

  test('takes the schema with the lowest precedence, then the first by name', () => {
    expect(nameOf([schema('b', 5), schema('a', 5), schema('c', 9)], user('x'))).toBe('a');
  });

  test('ignores schemas whose priority level does not exist', () => {
    expect(nameOf([schema('a', 1, { priorityLevel: 'nope' })], user('x'))).toBe('last');
  });

  test('matches users, groups and service accounts of system:admin only', () => {
    const accounts = schema('a', 1, subject([{ kind: 'ServiceAccount', namespace: 'kube-system', name: '*' }]));
    const account = 'system:serviceaccount:kube-system:x';
    expect(nameOf([accounts], user(account, [], 'system:admin'))).toBe('a');
    expect(nameOf([accounts], user(account, [], 'tenant'))).toBe('last');
    expect(nameOf([schema('u', 1, subject([{ kind: 'User', name: 'alice' }]))], user('alice'))).toBe('u');
    expect(nameOf([schema('g', 1, subject([{ kind: 'Group', name: 'dev' }]))], user('x', ['dev']))).toBe('g');
    expect(nameOf([schema('g', 1, subject([{ kind: 'Group', name: 'dev' }]))], user('x', ['ops']))).toBe('last');
  });

  test.each<[string, string, Partial<(typeof everything)[number]>, boolean]>([
    ['verb', '/api/v1/namespaces/n/secrets/s', { verbs: ['get'] }, true],
    ['another verb', '/api/v1/namespaces/n/secrets', { verbs: ['get'] }, false],
    ['group', '/apis/apps/v1/namespaces/n/deployments', { apiGroups: ['apps'] }, true],
    ['another group', '/api/v1/namespaces/n/secrets', { apiGroups: ['apps'] }, false],
    ['subresource', '/api/v1/namespaces/n/pods/p/status', { resources: ['pods/status'] }, true],
    ['the resource of a subresource', '/api/v1/namespaces/n/pods/p/status', { resources: ['pods'] }, false],
    ['namespace', '/api/v1/namespaces/n/secrets', { namespaces: ['n'] }, true],
    ['another namespace', '/api/v1/namespaces/m/secrets', { namespaces: ['n'] }, false],
    ['no namespace', '/api/v1/secrets', { clusterScope: false }, false],
  ])('by %s', (_name, path, rule, matches) => {
    const rules = [
      {
        subjects: anyone,
        resourceRules: [{ ...everything[0], ...rule } as (typeof everything)[number]],
        nonResourceRules: [],
      },
    ];
    expect(nameOf([schema('a', 1, { rules })], user('x'), info(`/clusters/abc${path}`))).toBe(matches ? 'a' : 'last');
  });

  test.each([
    ['/openapi/v3', '/openapi/v3', true],
    ['/openapi/*', '/openapi/v3', true],
    ['/openapi/*', '/openapi', false],
    ['*', '/version', true],
  ])('path %s against %s', (url, path, matches) => {
    const nonResourceRules = [{ verbs: ['get'], nonResourceURLs: [url] }];
    const rules = [{ subjects: anyone, resourceRules: [], nonResourceRules }];
    expect(nameOf([schema('a', 1, { rules })], user('x'), info(path))).toBe(matches ? 'a' : 'catch-all');
  });
});

describe('seats', () => {
  test('are given back at the end of a request, and a waiting one gets them', async () => {
    const on = new Setup(1);
    const [first, second] = [on.ticket(), on.ticket()];
    expect(on.acquire(first)).toBeUndefined();
    const waiting = on.acquire(second);
    expect(waiting).toBeInstanceOf(Promise);
    on.controller.release(first);
    await waiting;
    expect(second.state).toBe('executing');
    on.controller.release(second);
    on.controller.release(second);
    expect(on.controller.classify(user('x'), maps).level.set?.executingSeats).toBe(0);
  });

  test('are free while a request waits for its client', async () => {
    const on = new Setup(1);
    const [first, second] = [on.ticket(), on.ticket('bob')];
    void on.acquire(first);
    const waiting = on.acquire(second);
    on.controller.pause(first);
    await waiting;
    const resumed = on.controller.resume(first, running);
    await eventLoopIdle();
    expect(first.state).toBe('queued');
    on.controller.release(second);
    await resumed;
    expect(first.state).toBe('executing');
  });

  test('after the wait limit requests are rejected', async () => {
    const on = new Setup(1);
    void on.acquire(on.ticket());
    const waiting = Array.from({ length: 20 }, (_, n) => on.acquire(on.ticket(`user-${n}`)));
    const outcomes = Promise.allSettled(waiting.map((each) => Promise.resolve(each)));
    await on.clock.advance(16_000);
    expect((await outcomes).map(({ status }) => status)).toEqual(waiting.map(() => 'rejected'));
    expect(await on.registry.render()).toMatch(
      /apiserver_flowcontrol_rejected_requests_total\{priority_level="catch-all",flow_schema="catch-all",reason="time-out"\} 20/,
    );
  });

  test('a client that disconnects leaves its queue', async () => {
    const on = new Setup(1);
    void on.acquire(on.ticket());
    const client = new AbortController();
    const waiting = on.acquire(on.ticket('bob'), client);
    client.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect(on.controller.classify(user('x'), maps).level.set?.waiting).toBe(0);
  });

  test('when the event loop is busy, requests wait although there are seats, and flows take turns', async () => {
    const on = new Setup(1_000);
    on.busy = true;
    const order: string[] = [];
    const start = (name: string): unknown => on.acquire(on.ticket(name))?.then(() => order.push(name));
    for (let i = 0; i < 40; i++) start('flood');
    start('neighbour');
    await eventLoopIdle();
    expect(order.length).toBe(41);
    expect(order.indexOf('neighbour')).toBeLessThan(8);
  });

  test('a list needs one seat per hundred objects, within the limit of its level', () => {
    const list = info('/clusters/abc/api/v1/namespaces/default/configmaps');
    const seats = (path: RequestInfo, objects: number): number =>
      new Setup(600, undefined, objects).ticket('a', path).seats;
    expect([seats(list, 5), seats(list, 450), seats(list, 1e6), seats(maps, 1e6)]).toEqual([1, 5, 10, 1]);
    expect(seats(info('/clusters/abc/api/v1/configmaps?limit=250'), 1e6)).toBe(3);
    expect(seats(info('/clusters/abc/api/v1/configmaps?limit=250&labelSelector=a'), 1e6)).toBe(10);
    expect(seats(info('/clusters/abc/api/v1/configmaps?watch=1'), 1e6)).toBe(10);
    expect(seats(info('/clusters/abc/api/v1/configmaps?watch=1&resourceVersion=5'), 1e6)).toBe(1);
  });

  test('a write needs one seat per 32 KiB of its body, up to four', () => {
    const on = new Setup(600);
    const seats = (bytes: number): number => {
      const ticket = on.ticket('a', info('/clusters/abc/api/v1/namespaces/d/configmaps/c', 'PATCH'));
      on.controller.widen(ticket, bytes);
      return ticket.seats;
    };
    expect([0, 1_000, 32 * 1024, 32 * 1024 + 1, 66_000].map(seats)).toEqual([1, 1, 1, 2, 3]);
    expect(seats(3 * 1024 * 1024)).toBe(4);
  });

  test('a write is charged for the watches that get its event', () => {
    const on = new Setup(600);
    const watches = ['/clusters/abc/api/v1/configmaps', '/clusters/*/api/v1/configmaps'].flatMap((path) =>
      Array.from({ length: 10 }, () => on.controller.watches.start(info(`${path}?watch=1`))),
    );
    const work = (path: string, method: string): number => on.ticket('a', info(path, method)).extraWork;
    expect(work('/clusters/abc/api/v1/namespaces/d/configmaps', 'POST')).toBe(10);
    expect(work('/clusters/other/api/v1/namespaces/d/configmaps', 'POST')).toBe(5);
    expect(work('/clusters/abc/api/v1/namespaces/d/secrets', 'POST')).toBe(0);
    expect(work('/clusters/abc/api/v1/namespaces/d/configmaps', 'GET')).toBe(0);
    for (const end of watches) end();
    expect(work('/clusters/abc/api/v1/namespaces/d/configmaps', 'POST')).toBe(0);
  });
});

describe('configuration', () => {
  test('waiting requests survive a change of their queues and the removal of their level', async () => {
    const own = schema('own', 1, { priorityLevel: 'small' });
    const on = new Setup(2, configured([own], [level('small')]));
    const first = on.ticket();
    void on.acquire(first);
    const waiting = [on.acquire(on.ticket()), on.acquire(on.ticket())];
    on.controller.configure(
      configured([own], [level('small', { queuing: { queues: 8, handSize: 2, queueLengthLimit: 5 } })]),
    );
    on.controller.configure(configured([]));
    on.controller.release(first);
    await Promise.resolve(waiting[0]);
    expect(on.controller.classify(user('x'), maps).schemaName).toBe('last');
  });

  test('a level that is short of seats borrows those that another lends', async () => {
    const levels = [level('idle', { lendablePercent: 50 })];
    const on = new Setup(20, configured([], levels));
    const tickets = Array.from({ length: 40 }, (_, n) => on.ticket(`user-${n % 10}`));
    for (const ticket of tickets) void on.acquire(ticket)?.catch(() => undefined);
    await on.clock.advance(10_000);
    void on.acquire(on.ticket('late'))?.catch(() => undefined);
    await eventLoopIdle();
    expect(await on.registry.render()).toMatch(/current_limit_seats\{priority_level="catch-all"\} 15/);
  });

  test('metrics name levels and schemas', async () => {
    const on = new Setup(5);
    void on.acquire(on.ticket());
    const text = await on.registry.render();
    expect(text).toMatch(/nominal_limit_seats\{priority_level="catch-all"\} 5/);
    expect(text).toMatch(/current_executing_requests\{priority_level="catch-all"\} 1/);
    expect(text).toMatch(/dispatched_requests_total\{priority_level="catch-all",flow_schema="catch-all"\} 1/);
  });
});
