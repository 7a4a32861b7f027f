import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { bind, endpointsOf, foundBehind, identityOf, letEverybodyBind, placesOf } from '../harness/api-export.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { repository } from '../harness/foreign-program.ts';
import { signedAgain } from '../harness/jwt.ts';
import { describeWithKubectl, type Kubectl } from '../harness/kubectl.ts';
import { createTenant, type Tenant } from '../harness/tenants.ts';

const patient = { timeout: 60_000 };
const isSharded = topologyName === 'sharded';
/** Provider and consumer are apart where they can be. */
const [here, there] = isSharded ? ['root', 'shard-1'] : [undefined, undefined];

const definition = readFileSync(join(repository, 'docs', 'examples', 'cowboy-crd.yaml'), 'utf8');
const cowboy = (name: string): object => ({
  apiVersion: 'wildwest.dev/v1alpha1',
  kind: 'Cowboy',
  metadata: { name },
  spec: { intent: 'good' },
});

describeWithKubectl('what a provider may do wrong', () => {
  let control: ControlPlane;
  let provider: Tenant;
  let consumer: Tenant;
  let offering: Kubectl;
  let using: Kubectl;

  const offer = async (name: string, spec: object = {}): Promise<string> => {
    await offering.apply({
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name },
      spec: { resources: [{ group: 'wildwest.dev', name: 'cowboys', schema: 'v1.cowboys.wildwest.dev' }], ...spec },
    });
    await letEverybodyBind(offering, name);
    return identityOf(offering, name);
  };
  const conditionOf = (kubectl: Kubectl, object: string, type: string): Promise<string> =>
    kubectl.ok([
      'get',
      object,
      '-o',
      `jsonpath={range .status.conditions[?(@.type=="${type}")]}{.status} {.reason} {.message}{end}`,
    ]);
  const says = (kubectl: Kubectl, object: string, type: string, text: string): Promise<void> =>
    eventually(async () => expect(await conditionOf(kubectl, object, type)).toContain(text), patient);
  const inView = async (endpoints: readonly string[]): Promise<string[]> =>
    placesOf(await foundBehind(offering, endpoints, 'cowboys'));
  /** While a binding is there: two of them would be after the same resource. */
  const whileBound = async (name: string, flags: readonly string[], what: () => Promise<void>): Promise<void> => {
    await bind(using, `root:provider:${name}`, ...flags);
    try {
      await what();
    } finally {
      await using.ok(['delete', 'apibinding', name, '--timeout=60s']);
    }
  };

  beforeAll(async () => {
    control = await startControlPlane();
    [provider, consumer] = await Promise.all([
      createTenant(control, 'provider', { user: 'user-1', shard: here }),
      createTenant(control, 'consumer', { user: 'user-2', shard: there }),
    ]);
    [offering, using] = [provider.kubectl, consumer.kubectl];
    await offering.ok(['create', '-f', '-'], {
      stdin: await offering.ok(['kcp', 'crd', 'snapshot', '-f', '-', '--prefix', 'v1'], { stdin: definition }),
    });
  }, 240_000);

  afterAll(async () => {
    for (const tenant of [provider, consumer]) await tenant?.[Symbol.asyncDispose]();
    await control?.[Symbol.asyncDispose]();
  });

  test('a schema that is none is refused when it is made, and says what is wrong', async () => {
    const schemas = await offering.ok(['kcp', 'crd', 'snapshot', '-f', '-', '--prefix', 'v2'], { stdin: definition });
    for (const [broken, complaint] of [
      [schemas.replace('type: object', 'type: thing'), 'Unsupported value: "thing"'],
      [schemas.replace('storage: true', 'storage: false'), 'storage'],
      [schemas.replace('v2.cowboys', 'v2.horses'), 'metadata.name'],
      [schemas.replace('scope: Namespaced', 'scope: Galactic'), 'spec.scope'],
    ] as const)
      expect(await offering.fails(['create', '-f', '-'], { stdin: broken })).toContain(complaint);
    expect(await offering.ok(['get', 'apiresourceschemas', '-o', 'name'])).toBe(
      'apiresourceschema.apis.kcp.io/v1.cowboys.wildwest.dev\n',
    );
  }, 120_000);

  test('columns that cannot be parsed are left out, here and for consumers; everything else is served', async () => {
    const group = 'columns.example.com';
    const columnsOf = (...paths: string[]): object[] =>
      paths.map((jsonPath, index) => ({ name: `C${index}`, type: 'string', jsonPath }));
    const crdOf = (plural: string, kind: string, columns: readonly object[]): object => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            additionalPrinterColumns: columns,
          },
        ],
      },
    });
    const paths = [
      '.spec.a',
      '.spec.list[',
      '.spec.list[].b',
      '.spec.list[?(@.b=="x" && @.c)]',
      '. b',
      '..',
      '.spec.list[0:1:0]',
    ];
    const object = (kind: string): object => ({
      apiVersion: `${group}/v1`,
      kind,
      metadata: { name: 'x' },
      spec: { a: 'A', list: [{ b: 'first' }, { b: 'second' }] },
    });
    const everythingElseWorks = async (kubectl: Kubectl): Promise<void> => {
      for (const document of ['/apis', '/api/v1', '/openapi/v2', '/openapi/v3', `/apis/${group}/v1`])
        await kubectl.ok([
          'get',
          '--raw',
          `/clusters/${kubectl === offering ? provider.cluster : consumer.cluster}${document}`,
        ]);
      await kubectl.ok(['get', 'configmaps']);
    };
    const header = /^NAME +C0 +C2 +C4 +C5 +C6 *$/m;

    await offering.apply(crdOf('locals', 'Local', columnsOf(...paths)));
    await says(
      offering,
      `crd/locals.${group}`,
      'Degraded',
      'True InvalidJSONPath version "v1": column "C1" is left out',
    );
    await eventually(() => offering.apply(object('Local')), patient);
    await everythingElseWorks(offering);
    const local = await offering.ok(['get', 'locals', 'x']);
    expect(local).toMatch(header);
    expect(local).toMatch(/^x +A +first +/m);

    const snapshot = await offering.ok(['kcp', 'crd', 'snapshot', '-f', '-', '--prefix', 'v1'], {
      stdin: JSON.stringify(crdOf('shareds', 'Shared', [...columnsOf(...paths), ...columnsOf('.spec.a')])),
    });
    await offering.ok(['create', '-f', '-'], { stdin: snapshot });
    await offer('columns', { resources: [{ group, name: 'shareds', schema: `v1.shareds.${group}` }] });
    await whileBound('columns', [], async () => {
      await eventually(() => using.apply(object('Shared')), patient);
      await everythingElseWorks(using);
      expect(await using.ok(['get', 'shareds', 'x'])).toMatch(/^x +A +first +/m);
      const endpoints = await endpointsOf(offering, 'columns', 1);
      await eventually(
        async () =>
          expect((await foundBehind(offering, endpoints, 'shareds')).map(({ metadata }) => metadata.name)).toEqual([
            'x',
          ]),
        patient,
      );
    });
    await offering.ok(['delete', 'crd', `locals.${group}`, '--timeout=60s']);
    await offering.ok(['delete', 'apiexport', 'columns']);
    await offering.ok(['delete', 'apiresourceschema', `v1.shareds.${group}`]);
  }, 120_000);

  test('a claim with an unknown identity grants nothing and does not affect other claims', async () => {
    const stranger = 'f'.repeat(64);
    await offer('greedy', {
      permissionClaims: [
        { group: 'other.example.com', resource: 'treasures', verbs: ['*'], identityHash: stranger },
        { resource: 'configmaps', verbs: ['*'] },
      ],
    });
    await whileBound('greedy', ['--accept-all-permission-claims'], async () => {
      // The answer keeps the identity that the export names, unlike with kcp's plugin.
      expect(
        await using.ok(['get', 'apibinding', 'greedy', '-o', 'jsonpath={.spec.permissionClaims[0].identityHash}']),
      ).toBe(stranger);
      await eventually(() => using.apply(cowboy('billy')), patient);
      const endpoints = await endpointsOf(offering, 'greedy', 1);
      await eventually(async () => expect(await inView(endpoints)).toEqual([`${consumer.cluster}/billy`]), patient);
      expect((await foundBehind(offering, endpoints, 'configmaps')).length).toBeGreaterThan(0);
      expect(
        await offering.fails([
          'get',
          '--raw',
          `${new URL(endpoints[0] as string).pathname}/clusters/*/apis/other.example.com/v1/treasures`,
          '--server',
          new URL(endpoints[0] as string).origin,
        ]),
      ).toMatch(/forbidden|not find/i);
    });
  }, 120_000);

  test('a secret that does not match the identity is reported and changes nothing for consumers', async () => {
    const identity = await offer('careless');
    await whileBound('careless', [], async () => {
      await eventually(() => using.apply(cowboy('billy')), patient);
      const secret = ['secret', 'careless', '--namespace', 'kcp-system'];
      const key = await offering.ok(['get', ...secret, '-o', 'jsonpath={.data.key}']);
      const write = (value: string): Promise<string> =>
        offering.ok(['patch', ...secret, '--type=merge', '--patch', JSON.stringify({ data: { key: value } })]);
      await write(Buffer.from('something else').toString('base64'));
      await says(offering, 'apiexport/careless', 'IdentityValid', 'False IdentityVerificationFailed hash mismatch');
      expect(await offering.ok(['get', 'apiexport', 'careless', '-o', 'jsonpath={.status.identityHash}'])).toBe(
        identity,
      );
      expect(await using.ok(['get', 'cowboys', '-o', 'name'])).toBe('cowboy.wildwest.dev/billy\n');
      await write(key);
      await says(offering, 'apiexport/careless', 'IdentityValid', 'True');
    });
  }, 120_000);

  test('an export that is deleted is missed by its bindings, and found again; consumers keep what they have', async () => {
    const identity = await offer('gone');
    await whileBound('gone', [], async () => {
      await eventually(() => using.apply(cowboy('billy')), patient);
      const endpoints = await endpointsOf(offering, 'gone', 1);
      await eventually(async () => expect(await inView(endpoints)).toEqual([`${consumer.cluster}/billy`]), patient);

      await offering.ok(['delete', 'apiexport', 'gone']);
      await says(
        using,
        'apibinding/gone',
        'APIExportValid',
        'False APIExportNotFound APIExport root:provider|gone not found',
      );
      await using.apply(cowboy('jesse'));
      expect(await using.ok(['get', 'cowboys', '-o', 'name'])).toBe(
        'cowboy.wildwest.dev/billy\ncowboy.wildwest.dev/jesse\n',
      );
      await eventually(async () => {
        const { code } = await offering.run([
          'get',
          '--server',
          `${endpoints[0]}/clusters/*`,
          'cowboys',
          '--all-namespaces',
        ]);
        expect(code).not.toBe(0);
      }, patient);

      // The secret has stayed: the same name has the same identity again.
      expect(await offer('gone')).toBe(identity);
      await says(using, 'apibinding/gone', 'APIExportValid', 'True');
      await eventually(
        async () =>
          expect(await inView(await endpointsOf(offering, 'gone', 1))).toEqual([
            `${consumer.cluster}/billy`,
            `${consumer.cluster}/jesse`,
          ]),
        patient,
      );
    });
  }, 180_000);

  test('a token that has expired opens nothing any more; the next one does', async () => {
    await offer('tired');
    await whileBound('tired', [], async () => {
      await eventually(() => using.apply(cowboy('billy')), patient);
      await offering.ok(['create', 'serviceaccount', 'robot']);
      await offering.apply({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'robot' },
        rules: [{ apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], verbs: ['*'] }],
      });
      await offering.ok([
        'create',
        'clusterrolebinding',
        'robot',
        '--clusterrole=robot',
        '--serviceaccount=default:robot',
      ]);
      const [endpoint] = await endpointsOf(offering, 'tired', 1);
      const attempt = (token: string) =>
        using.run([
          'get',
          '--token',
          token,
          '--server',
          `${endpoint}/clusters/*`,
          'cowboys',
          '-o',
          'name',
          '--all-namespaces',
        ]);
      const token = (await offering.ok(['create', 'token', 'robot'])).trim();
      await eventually(
        async () =>
          expect(await attempt(token)).toEqual({ code: 0, stdout: 'cowboy.wildwest.dev/billy\n', stderr: '' }),
        patient,
      );

      const hourAgo = Math.floor(Date.now() / 1000) - 3600;
      const expired = await attempt(
        signedAgain(control, token, { iat: hourAgo - 3600, nbf: hourAgo - 3600, exp: hourAgo }),
      );
      expect([expired.code, expired.stderr]).toEqual([1, expect.stringMatching(/Unauthorized|logged in/)]);
      const renewed = (await offering.ok(['create', 'token', 'robot'])).trim();
      expect(await attempt(renewed)).toMatchObject({ code: 0 });
    });
  }, 120_000);
});
