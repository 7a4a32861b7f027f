import { request } from 'node:https';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { HostileServer } from '../harness/hostile-server.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { Requests, type Response, type SentRequest } from '../harness/requests.ts';
import { createWorkspace } from '../harness/workspaces.ts';

/**
 * What one tenant makes the server compute must not delay another tenant. Each test runs an attack and measures what a
 * neighbour's requests had to wait for, in processor time of the thread that answers requests, or whether they were
 * answered before the attack ended.
 */

let server: HostileServer;
let neighbour: Requests;

beforeAll(async () => {
  server = await HostileServer.start();
  const admin = server.cluster.transport('shard-base');
  await createWorkspace(admin, 'root', 'neighbour');
  admin.close();
  neighbour = new Requests(server.cluster, '/clusters/root:neighbour');
}, 240_000);
afterAll(async () => {
  neighbour?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
});
afterEach(() => server.mustBeWell());

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const configMaps = '/api/v1/namespaces/default/configmaps';
const yaml = { 'content-type': 'application/yaml' };

/** The longest that a neighbour may wait, in milliseconds of processor time; ten times what the server is built for. */
const promptMs = 500;

type Schema = Readonly<Record<string, unknown>>;

function definitionOf(plural: string, spec: Schema): unknown {
  const kind = plural[0]?.toUpperCase() + plural.slice(1);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.budgets.example.com` },
    spec: {
      group: 'budgets.example.com',
      scope: 'Namespaced',
      names: { plural, singular: plural, kind, listKind: `${kind}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  };
}

const resourceOf = (plural: string): string => `/apis/budgets.example.com/v1/namespaces/e2e/${plural}`;

async function define(plural: string, spec: Schema): Promise<void> {
  await server.workspace.must({ method: 'POST', path: definitions, body: definitionOf(plural, spec) });
  await eventually(() => server.workspace.must({ path: resourceOf(plural) }));
}

const create = (plural: string, spec: unknown): Promise<Response> =>
  server.workspace.send({
    method: 'POST',
    path: resourceOf(plural),
    body: {
      apiVersion: 'budgets.example.com/v1',
      kind: plural[0]?.toUpperCase() + plural.slice(1),
      metadata: { generateName: 'x-' },
      spec,
    },
  });

const reasonOf = ({ status, json }: Response): unknown[] => [status, json['reason'], json['message']];

/** Letters in an order that no small automaton knows. */
function letters(length: number): string {
  let text = '';
  for (let state = 12_345; text.length < length;) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    text += (state >> 16) & 1 ? 'a' : 'b';
  }
  return text;
}

/** Its automaton has 2^200 states, so that each character costs as much as the pattern is long. */
const explosive = '(a|b)*a(a|b){200}[cd]';

describe('regular expressions', () => {
  test('a pattern on 300 KB exceeds its budget, and a neighbour does not wait', async () => {
    await define('patterns', { type: 'string', pattern: explosive });
    const answer = await server.whileServing(() => create('patterns', letters(300_000)), promptMs);
    expect(reasonOf(answer)).toEqual([422, 'Invalid', expect.stringContaining('exceeds the budget')]);
  });

  test('a pattern within its budget is judged off the main thread', async () => {
    await define('shorts', { type: 'string', pattern: explosive });
    const answer = await server.whileServing(() => create('shorts', letters(20_000)), promptMs);
    expect(reasonOf(answer)).toEqual([422, 'Invalid', expect.stringContaining('should match')]);
    const good = await server.whileServing(() => create('shorts', `${letters(20_000)}a${letters(200)}c`), promptMs);
    expect(good.status).toBe(201);
  });

  test('many texts that match slowly are together off the main thread', async () => {
    await define('manytexts', { type: 'array', items: { type: 'string', pattern: explosive } });
    const texts = Array.from({ length: 200 }, (_, index) => letters(200 + index).slice(index));
    const answer = await server.whileServing(() => create('manytexts', texts), promptMs);
    expect(answer.status).toBe(422);
  });

  test.each([
    ['matches', `self.matches('${explosive}')`],
    ['find', `self.find('${explosive}') == ''`],
    ['findAll', "self.findAll('a.*c|a').size() < 5"],
  ])('CEL %s', async (name, rule) => {
    const plural = `rules${name.toLowerCase()}`;
    await define(plural, { type: 'string', maxLength: 200_000, 'x-kubernetes-validations': [{ rule }] });
    const answer = await server.whileServing(() => create(plural, letters(100_000)), promptMs);
    expect(reasonOf(answer)).toEqual([422, 'Invalid', expect.stringContaining('actual cost limit exceeded')]);
  });

  test('CEL with a pattern from the object', async () => {
    await define('rulesdynamic', {
      type: 'object',
      properties: { text: { type: 'string', maxLength: 60_000 }, pattern: { type: 'string', maxLength: 30 } },
      'x-kubernetes-validations': [{ rule: 'self.text.matches(self.pattern)' }],
    });
    const spec = { text: letters(20_000), pattern: explosive };
    const answer = await server.whileServing(() => create('rulesdynamic', spec), promptMs);
    expect(reasonOf(answer)).toEqual([422, 'Invalid', expect.stringContaining('failed rule')]);
  });

  test.each([
    ['a pattern of a million instructions', 'x{1000}'.repeat(1_000)],
    ['a pattern of ten thousand Unicode classes', `[${'\\pL'.repeat(10_000)}]`],
    ['a pattern of a megabyte', 'x'.repeat(1_000_000)],
  ])('a definition with %s', async (_name, pattern) => {
    const answer = await server.whileServing(
      () =>
        server.workspace.send({
          method: 'POST',
          path: definitions,
          body: definitionOf('huges', { type: 'string', pattern }),
        }),
      promptMs,
    );
    expect(answer.status).toBeLessThan(500);
    if (answer.status !== 201) return;
    await eventually(() => server.workspace.must({ path: resourceOf('huges') }));
    const object = await server.whileServing(() => create('huges', 'x'.repeat(1_000)), promptMs);
    expect(object.status).toBeLessThan(500);
    await server.workspace.must({ method: 'DELETE', path: `${definitions}/huges.budgets.example.com` });
    await eventually(async () =>
      expect((await server.workspace.send({ path: `${definitions}/huges.budgets.example.com` })).status).toBe(404),
    );
  });
});

describe('values', () => {
  test('a hundred thousand texts and an enumeration of twenty thousand', async () => {
    const allowed = Array.from({ length: 20_000 }, (_, index) => `value-${index}`);
    await define('enums', { type: 'array', items: { type: 'string', enum: allowed } });
    const texts = Array.from({ length: 60_000 }, () => 'value-19999');
    const answer = await server.whileServing(() => create('enums', texts), promptMs);
    expect(answer.status).toBe(201);
  });

  test('a hundred thousand numbers and a thousand alternatives', async () => {
    const anyOf = Array.from({ length: 1_000 }, (_, index) => ({ minimum: 1_000 + index, maximum: 1_000 + index }));
    await define('alternatives', { type: 'array', items: { type: 'integer', anyOf } });
    const numbers = Array.from({ length: 100_000 }, () => 1_999);
    const answer = await server.whileServing(() => create('alternatives', numbers), promptMs);
    expect(answer.status).toBeLessThan(500);
  });

  test('an enumeration of objects', async () => {
    const allowed = Array.from({ length: 5_000 }, (_, index) => ({ a: { b: { c: index } } }));
    await define('objectenums', {
      type: 'array',
      items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, enum: allowed },
    });
    const objects = Array.from({ length: 10_000 }, () => ({ a: { b: { c: 4_999 } } }));
    const answer = await server.whileServing(() => create('objectenums', objects), promptMs);
    expect(answer.status).toBeLessThan(500);
  });
});

/** A long YAML text that is no JSON, with `count` keys. */
const yamlMap = (name: string, count: number): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata:\n${Array.from({ length: count }, (_, index) => `  k${index}: v\n`).join('')}`;
/** 100 KB that take half a second to parse, and are no ConfigMap. */
const slowYaml = `[${'1,'.repeat(50_000)}1]`;

const postYaml = (requests: Requests, text: string): Promise<Response> =>
  requests.send({ method: 'POST', path: configMaps, headers: yaml, text } satisfies SentRequest);

test('a regular expression that a policy finds invalid at use fails that request, no other and not the server', async () => {
  const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic';
  const metadata = { name: 'regex-at-use' };
  await server.workspace.must({
    method: 'POST',
    path: `${policies}ies`,
    body: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        },
        validations: [
          { expression: "!has(object.data) || !('pattern' in object.data) || 'x'.matches(object.data.pattern)" },
        ],
      },
    },
  });
  await server.workspace.must({
    method: 'POST',
    path: `${policies}ybindings`,
    body: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: 'regex-at-use', validationActions: ['Deny'] },
    },
  });
  const send = (pattern: string): Promise<Response> =>
    server.workspace.send({
      method: 'POST',
      path: `${configMaps}?dryRun=All`,
      body: { metadata: { generateName: 'x-' }, data: { pattern } },
    });
  try {
    // In force.
    await eventually(async () => expect((await send('y')).status).toBe(422));
    expect((await send('x')).status).toBe(201);
    for (const pattern of [
      '[',
      '(',
      '*',
      '(?P<n>',
      '\\',
      'x{2,1}',
      'x{100000}',
      '(?=x)',
      '\\1',
      '[[:nope:]]',
      '\u0000',
      '\ud800',
    ]) {
      const { status, text } = await send(pattern);
      expect([pattern, status, text.includes('panic')]).toEqual([
        pattern,
        pattern === '\u0000' ? expect.any(Number) : 422,
        false,
      ]);
    }
    expect((await send('x')).status).toBe(201);
    const other = { method: 'POST', path: `${configMaps}?dryRun=All`, body: { metadata: { generateName: 'x-' } } };
    expect((await server.workspace.send(other)).status).toBe(201);
    expect((await neighbour.send(other)).status).toBe(201);
  } finally {
    await server.workspace.send({ method: 'DELETE', path: `${policies}ies/regex-at-use` });
    await server.workspace.send({ method: 'DELETE', path: `${policies}ybindings/regex-at-use` });
  }
});

describe('worker lanes', () => {
  test('a YAML body of a neighbour is read before the queued ones of a flood', async () => {
    await postYaml(neighbour, yamlMap('warm', 1_500));
    let ended = 0;
    const flood = Array.from({ length: 6 }, () => postYaml(server.workspace, slowYaml).finally(() => ended++));
    // The flood is in the queue once its first requests are refused or have been read.
    await server.mustBeWell();
    const answer = await postYaml(neighbour, yamlMap('prompt', 1_500));
    expect([answer.status, ended < flood.length - 1]).toEqual([201, true]);
    await Promise.all(flood);
  });

  test('a flood gets 429 with Retry-After, and its neighbour none', async () => {
    const flood = Array.from({ length: 40 }, () => postYaml(server.workspace, slowYaml));
    const answer = await postYaml(neighbour, yamlMap('unaffected', 1_500));
    expect(answer.status).toBe(201);
    const refused = (await Promise.all(flood)).filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every(({ headers }) => Number(headers['retry-after']) >= 1)).toBe(true);
  }, 240_000);
});

describe('clients that left', () => {
  test('an apply of 3,000 keys ends with its connection', async () => {
    const data = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, index) => [`key-${index}`, 'a value of the apply']),
    );
    const names = Array.from({ length: 40 }, (_, index) => `left-${index}`);
    const path = (name: string): string => `${configMaps}/${name}`;
    const first = Promise.withResolvers<void>();
    const sockets = names.map((name) => {
      const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
      const sent = request(`${server.cluster.url}/clusters/root:hostile${path(name)}?fieldManager=left&force=true`, {
        method: 'PATCH',
        ca: server.cluster.ca,
        agent: false,
        headers: { authorization: `Bearer ${testTokens.masters}`, 'content-type': 'application/apply-patch+yaml' },
      });
      sent.on('error', () => undefined).on('response', () => first.resolve());
      sent.end(body);
      return sent;
    });
    // By then the bodies of the others have arrived.
    await first.promise;
    for (const sent of sockets) sent.destroy();
    await server.mustBeWell();
    await eventually(async () => {
      const { text } = await server.requests.must({ path: '/metrics' });
      const inFlight = /^apiserver_current_inflight_requests\{.*mutating.*\} (\d+)$/m.exec(text)?.[1];
      expect(inFlight).toBe('0');
    });
    const answers = await Promise.all(names.map((name) => server.workspace.send({ path: path(name) })));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(names.length);
  });
});
