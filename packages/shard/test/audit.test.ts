import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AuditEvent } from '@multiplane/generic-server';
import { eventually, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
rules:
- {level: None, userGroups: ["system:masters"], verbs: [get], nonResourceURLs: ["/readyz*"]}
- {level: RequestResponse, resources: [{group: "", resources: [configmaps]}], namespaces: [default]}
- {level: Request, verbs: [watch]}
- {level: Metadata, omitStages: [RequestReceived]}
`;

let folder: TempDir;
let shard: InProcessShard;
let webhook: Server;
const delivered: AuditEvent[] = [];

beforeAll(async () => {
  folder = await TempDir.create('audit');
  webhook = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      delivered.push(...(JSON.parse(Buffer.concat(chunks).toString()) as { items: AuditEvent[] }).items);
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => webhook.once('listening', resolve));
  const { port } = webhook.address() as AddressInfo;
  writeFileSync(folder.join('policy.yaml'), policy);
  writeFileSync(folder.join('tokens.csv'), 'kcp-admin,kcp-admin,1,system:kcp:admin\n');
  writeFileSync(
    folder.join('webhook.yaml'),
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'audit',
      clusters: [{ name: 'audit', cluster: { server: `http://127.0.0.1:${port}/audit` } }],
      contexts: [{ name: 'audit', context: { cluster: 'audit', user: 'audit' } }],
      users: [{ name: 'audit', user: {} }],
    }),
  );
  shard = await InProcessShard.start([
    '--storage-backend=memory',
    `--audit-policy-file=${folder.join('policy.yaml')}`,
    `--audit-log-path=${folder.join('audit.log')}`,
    `--audit-webhook-config-file=${folder.join('webhook.yaml')}`,
    '--audit-webhook-batch-max-size=1',
    `--token-auth-file=${folder.join('tokens.csv')}`,
  ]);
}, 120_000);

afterAll(async () => {
  await shard?.[Symbol.asyncDispose]();
  webhook?.close();
  await folder?.remove();
});

const events = (): AuditEvent[] =>
  readFileSync(folder.join('audit.log'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditEvent);

async function send(method: string, path: string, body?: object): Promise<number> {
  const response = await shard.transport.open({
    method,
    path,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  response.resume();
  await new Promise((resolve) => response.once('end', resolve));
  return response.statusCode ?? 0;
}

describe('the audit log of a shard', () => {
  test('logs both stages of a create with user, request and response objects', async () => {
    const path = '/clusters/root/api/v1/namespaces/default/configmaps';
    await eventually(async () => expect(await send('GET', '/clusters/root/api/v1/namespaces/default')).toBe(200));
    expect(await send('POST', path, { metadata: { name: 'logged' }, data: { a: '1' } })).toBe(201);
    // The response is sent before the audit event of the second stage is written.
    const [received, complete] = await eventually(() => {
      const both = events().filter(({ requestURI, verb }) => requestURI === path && verb === 'create');
      expect(both).toHaveLength(2);
      return both;
    });
    expect(received).toMatchObject({ stage: 'RequestReceived', level: 'RequestResponse' });
    expect(complete).toMatchObject({
      kind: 'Event',
      stage: 'ResponseComplete',
      user: { username: 'shard-admin' },
      objectRef: { resource: 'configmaps', namespace: 'default', name: 'logged', apiVersion: 'v1' },
      responseStatus: { code: 201 },
      requestObject: { data: { a: '1' } },
      responseObject: { kind: 'ConfigMap', data: { a: '1' } },
      annotations: {
        'kcp.io/cluster': 'root',
        'kcp.io/path': 'root',
        'authorization.k8s.io/decision': 'allow',
      },
    });
    expect(complete?.auditID).toBe(received?.auditID);
    expect(JSON.stringify(complete)).not.toContain('managedFields');
  });

  test('logs the reason of a denied request, which the response does not contain', async () => {
    const path = '/clusters/root/api/v1/secrets';
    const anonymous = await fetchAnonymously(path);
    expect(anonymous).toBe(403);
    const event = events().find(({ requestURI, user }) => requestURI === path && user.username === 'system:anonymous');
    expect(event).toMatchObject({
      stage: 'ResponseComplete',
      level: 'Metadata',
      responseStatus: { code: 403, reason: 'Forbidden' },
      annotations: {
        'authorization.k8s.io/decision': 'forbid',
        'request.auth.kcp.io/02-content-decision': 'NoOpinion',
        'request.auth.kcp.io/02-content-reason': 'no verb=access permission on /',
      },
    });
  });

  test('names the decision of every link of the authorization chain', async () => {
    const path = '/clusters/root/api/v1/namespaces/default/secrets';
    expect(await fetchAnonymously(path, 'Bearer kcp-admin')).toBe(200);
    const ofLinks = (event: AuditEvent): boolean => event.requestURI === path && event.stage === 'ResponseComplete';
    await eventually(() => expect(events().some(ofLinks)).toBe(true));
    const { annotations = {} } = events().find(ofLinks) ?? {};
    const links = ['01-requiredgroups', '02-content', '03-systemcrd', '04-maxpermissionpolicy', '05-bootstrap'];
    expect(links.map((link) => annotations[`request.auth.kcp.io/${link}-decision`])).toEqual(
      links.map(() => 'Allowed'),
    );
    expect(annotations['request.auth.kcp.io/05-bootstrap-reason']).toMatch(/^bootstrap policy: RBAC: allowed by /);
  });

  test('logs requests with invalid credentials', async () => {
    expect(await fetchAnonymously('/clusters/root/api', 'Bearer nonsense')).toBe(401);
    expect(events().find(({ responseStatus }) => responseStatus?.['code'] === 401)).toMatchObject({
      stage: 'ResponseComplete',
      responseStatus: { message: 'Authentication failed, attempted: bearer' },
    });
  });

  test('never logs a token', () => {
    expect(readFileSync(folder.join('audit.log'), 'utf8')).not.toContain('nonsense');
  });

  test('sends the same events to the webhook', async () => {
    const wanted = events().length;
    await eventually(async () => expect(delivered.length).toBeGreaterThanOrEqual(wanted));
  });
});

async function fetchAnonymously(path: string, authorization?: string): Promise<number> {
  const { request } = await import('node:https');
  const url = new URL(shard.transport.origin);
  return new Promise((resolve, reject) => {
    request(
      {
        host: url.hostname,
        port: url.port,
        path,
        rejectUnauthorized: false,
        headers: authorization === undefined ? {} : { authorization },
      },
      (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
      },
    )
      .on('error', reject)
      .end();
  });
}
