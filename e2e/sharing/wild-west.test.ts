import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { configMap } from '../fixtures/gadgets.ts';
import {
  bind,
  endpointsOf,
  foundBehind,
  identityOf,
  letEverybodyBind,
  placesOf,
  type Found,
} from '../harness/api-export.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { goProgram, repository, skipLoudly } from '../harness/foreign-program.ts';
import { describeWithKubectl, type Kubectl } from '../harness/kubectl.ts';
import { Requests } from '../harness/requests.ts';
import { createTenant, type Tenant, type TestUser } from '../harness/tenants.ts';

/*
 * Two providers, north and south, know nothing of each other and offer the same resources by the same names: cowboys and
 * sheriffs of wildwest.dev. Each has two consumers, one who lets it see config maps and one who does not.
 */

const isSharded = topologyName === 'sharded';
const patient = { timeout: 60_000 };
/** Each provider has a consumer beside it and one on the other shard. */
const [here, there] = isSharded ? ['root', 'shard-1'] : [undefined, undefined];
const homes = {
  north: { user: 'user-1', shard: here },
  south: { user: 'user-2', shard: there },
  ranch: { user: 'user-3', shard: here },
  saloon: { user: 'user-3', shard: there },
  mine: { user: 'user-3', shard: here },
  bank: { user: 'user-3', shard: there },
} as const satisfies Record<string, { user: TestUser; shard: string | undefined }>;
type Name = keyof typeof homes;
const consumersOf = { north: ['ranch', 'saloon'], south: ['mine', 'bank'] } as const;
/** Those who let the provider see their config maps. */
const accepting: readonly Name[] = ['ranch', 'mine'];

const definition = readFileSync(join(repository, 'docs', 'examples', 'cowboy-crd.yaml'), 'utf8');
const sheriffDefinition = definition.replaceAll('cowboy', 'sheriff').replaceAll('Cowboy', 'Sheriff');

const cowboy = (name: string, intent: string): object => ({
  apiVersion: 'wildwest.dev/v1alpha1',
  kind: 'Cowboy',
  metadata: { name },
  spec: { intent },
});

describeWithKubectl('cowboys and sheriffs', () => {
  let control: ControlPlane;
  let tenants: Record<Name, Tenant>;
  let endpoints: Record<'north' | 'south', readonly string[]>;
  let identities: Record<'north' | 'south', string>;
  const controllers: ChildProcess[] = [];
  /** Runs a controller as the administrator of a provider; its output is kept for failures. */
  const run = (command: string, parameters: readonly string[], provider: 'north' | 'south'): (() => string) => {
    const child = spawn(command, parameters, {
      cwd: repository,
      env: { ...process.env, KUBECONFIG: kubectlOf(provider).kubeconfig },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    controllers.push(child);
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
    return () => printed;
  };
  const resultOf = (consumer: Name): Promise<string> =>
    kubectlOf(consumer).ok(['get', 'cowboy', 'billy', '-o', 'jsonpath={.status.result}']);
  /** Both consumers of a provider have what its controller says; a failure shows what it has printed. */
  const served = (provider: 'north' | 'south', printed: () => string): Promise<void> =>
    eventually(async () => {
      const results = await Promise.all(consumersOf[provider].map(resultOf));
      if (results.join() !== 'rides into the sunset,is locked up')
        throw new Error(`${results.join()}; the controller says: ${printed().slice(-3000)}`);
    }, patient);

  const kubectlOf = (name: Name): Kubectl => tenants[name].kubectl;
  const clusterOf = (name: Name): string => tenants[name].cluster;
  /** The endpoint of a provider behind which a consumer is. */
  const endpointFor = async (provider: 'north' | 'south', consumer: Name): Promise<string> => {
    for (const url of endpoints[provider])
      if (placesOf(await foundBehind(kubectlOf(provider), [url], 'cowboys')).includes(`${clusterOf(consumer)}/billy`))
        return url;
    throw new Error(`${consumer} is behind no endpoint of ${provider}`);
  };

  beforeAll(async () => {
    control = await startControlPlane();
    const made = await Promise.all(
      Object.entries(homes).map(async ([name, home]) => [name, await createTenant(control, name, home)] as const),
    );
    tenants = Object.fromEntries(made) as Record<Name, Tenant>;
  }, 240_000);

  afterAll(async () => {
    for (const controller of controllers) controller.kill();
    for (const tenant of Object.values(tenants ?? {})) await tenant[Symbol.asyncDispose]();
    await control?.[Symbol.asyncDispose]();
  });

  test('two providers offer the same resources, each with an identity of its own', async () => {
    for (const provider of ['north', 'south'] as const) {
      const kubectl = kubectlOf(provider);
      const schemas = await kubectl.ok(['kcp', 'crd', 'snapshot', '-f', '-', '--prefix', 'v1'], {
        stdin: `${definition}---\n${sheriffDefinition}`,
      });
      await kubectl.ok(['apply', '-f', '-'], { stdin: schemas });
      await kubectl.apply({
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIExport',
        metadata: { name: 'wildwest' },
        spec: {
          resources: ['cowboys', 'sheriffs'].map((name) => ({
            group: 'wildwest.dev',
            name,
            schema: `v1.${name}.wildwest.dev`,
          })),
          permissionClaims: [{ resource: 'configmaps', verbs: ['get', 'list', 'watch', 'create'] }],
        },
      });
      await letEverybodyBind(kubectl, 'wildwest');
    }
    identities = {
      north: await identityOf(kubectlOf('north'), 'wildwest'),
      south: await identityOf(kubectlOf('south'), 'wildwest'),
    };
    expect(identities.north).toMatch(/^[0-9a-f]{64}$/);
    expect(identities.south).not.toBe(identities.north);
  }, 120_000);

  test('consumers bind one or the other, and answer the claim on their config maps', async () => {
    for (const [provider, consumers] of Object.entries(consumersOf)) {
      for (const consumer of consumers) {
        const flag = accepting.includes(consumer) ? '--accept-permission-claim' : '--reject-permission-claim';
        const said = await bind(kubectlOf(consumer), `root:${provider}:wildwest`, flag, 'configmaps.core');
        expect(said).toBe(
          'apibinding wildwest created. Waiting to successfully bind ...\nwildwest created and bound.\n',
        );
      }
    }
    expect(await kubectlOf('saloon').ok(['kcp', 'claims', 'get', 'apibinding', 'wildwest'])).toBe(
      [
        'APIBINDING   GROUP-RESOURCE   VERBS                   STATUS',
        'wildwest     configmaps       get,list,watch,create   Rejected',
        '',
      ].join('\n'),
    );
  }, 180_000);

  test('each has objects of its own, even by the same name', async () => {
    for (const [index, consumer] of [...consumersOf.north, ...consumersOf.south].entries()) {
      const kubectl = kubectlOf(consumer);
      await eventually(() => kubectl.apply(cowboy('billy', index % 2 === 0 ? 'good' : 'bad')), patient);
      await kubectl.apply(configMap(`secrets-of-${consumer}`, { from: consumer }));
    }
    const table = await kubectlOf('mine').ok(['get', 'cowboys']);
    expect(table.split('\n').map((line) => line.trim())).toEqual([
      expect.stringMatching(/^NAME\s+INTENT\s+RESULT$/),
      expect.stringMatching(/^billy\s+good$/),
      '',
    ]);
    expect(
      await kubectlOf('mine').fails(['apply', '-f', '-'], {
        stdin: JSON.stringify({ ...cowboy('x', 'good'), spec: {} }),
      }),
    ).toContain('spec.intent: Required value');
    expect(await kubectlOf('mine').ok(['explain', 'sheriffs.spec.intent'])).toContain('FIELD: intent <string>');
  }, 120_000);

  test('a provider finds the objects of its consumers behind its endpoints, and nothing of anybody else', async () => {
    endpoints = {
      north: await endpointsOf(kubectlOf('north'), 'wildwest', isSharded ? 2 : 1),
      south: await endpointsOf(kubectlOf('south'), 'wildwest', isSharded ? 2 : 1),
    };
    for (const provider of ['north', 'south'] as const) {
      const expected = consumersOf[provider].map((consumer) => `${clusterOf(consumer)}/billy`).sort();
      await eventually(
        async () =>
          expect(placesOf(await foundBehind(kubectlOf(provider), endpoints[provider], 'cowboys'))).toEqual(expected),
        patient,
      );
      expect(await foundBehind(kubectlOf(provider), endpoints[provider], 'sheriffs')).toEqual([]);
    }
  }, 120_000);

  test('of what it claims it finds that of consumers who accepted', async () => {
    for (const provider of ['north', 'south'] as const) {
      const [consumer] = consumersOf[provider].filter((name) => accepting.includes(name)) as [Name];
      await eventually(async () => {
        const found = await foundBehind(kubectlOf(provider), endpoints[provider], 'configmaps');
        expect(new Set(found.map(({ metadata }) => metadata.annotations?.['kcp.io/cluster']))).toEqual(
          new Set([clusterOf(consumer)]),
        );
        expect(placesOf(found)).toContain(`${clusterOf(consumer)}/secrets-of-${consumer}`);
      }, patient);
    }
    const refusing = `${await endpointFor('north', 'saloon')}/clusters/${clusterOf('saloon')}`;
    for (const command of [
      ['get', 'configmaps'],
      ['create', 'configmap', 'planted'],
    ])
      expect(await kubectlOf('north').fails([...command, '--server', refusing])).toMatch(/forbidden/i);
    expect(await kubectlOf('saloon').fails(['get', 'configmap', 'planted'])).toContain('NotFound');
    const agreeing = `${await endpointFor('north', 'ranch')}/clusters/${clusterOf('ranch')}`;
    await kubectlOf('north').ok(['create', 'configmap', 'left-behind', '--server', agreeing]);
    expect(await kubectlOf('ranch').ok(['get', 'configmap', 'left-behind', '-o', 'name'])).toBe(
      'configmap/left-behind\n',
    );
    // A verb that was never claimed.
    expect(await kubectlOf('north').fails(['delete', 'configmap', 'left-behind', '--server', agreeing])).toContain(
      'Forbidden',
    );
  }, 120_000);

  test('a controller of the provider writes the status of objects of all consumers', async () => {
    const printed = run(
      join(repository, 'hack', 'node'),
      ['e2e/clients/provider/controller.ts', kubectlOf('north').kubeconfig, 'e2e', 'wildwest'],
      'north',
    );
    await served('north', printed);
    expect(await kubectlOf('ranch').ok(['get', 'configmap', 'note-billy', '-o', 'jsonpath={.data.result}'])).toBe(
      'rides into the sunset',
    );
    expect(await kubectlOf('saloon').fails(['get', 'configmap', 'note-billy'])).toContain('NotFound');
    // It is not the controller of those who bound the other provider.
    expect([await resultOf('mine'), await resultOf('bank')]).toEqual(['', '']);
    // Later consumers are served as well.
    await kubectlOf('saloon').apply(cowboy('jesse', 'good'));
    await kubectlOf('saloon').ok([
      'wait',
      'cowboy',
      'jesse',
      '--for=jsonpath={.status.result}=rides into the sunset',
      '--timeout=30s',
    ]);
  }, 180_000);

  const go = goProgram('e2e/clients/go', 'provider');
  const inGo = 'another provider’s controller, on controller-runtime as it is, does the same for its own';
  if ('problem' in go) skipLoudly(inGo, go.problem);
  else
    test(
      // oxlint-disable-next-line jest/valid-title -- the same as when it is skipped
      inGo,
      async () => {
        const printed = run(go.command, ['e2e', 'wildwest'], 'south');
        await served('south', printed);
        expect(await resultOf('ranch')).toBe('rides into the sunset');
      },
      120_000,
    );

  describe('a provider that wants to see more', () => {
    /** What a user gets for a list; its items are what would be a leak. */
    const attempt = async (as: string, url: string): Promise<{ status: number; places: string[] }> => {
      const { origin, pathname } = new URL(url);
      const requests = new Requests({ url: origin, ca: control.ca });
      try {
        const { status, json } = await requests.send({ as, path: pathname });
        return { status, places: placesOf((json['items'] ?? []) as Found[]) };
      } finally {
        requests[Symbol.dispose]();
      }
    };
    const cowboysPath = 'apis/wildwest.dev/v1alpha1/cowboys';

    test('finds no objects of other exports by another identity behind its own endpoint', async () => {
      for (const endpoint of endpoints.north) {
        for (const identity of [identities.south, identities.north, '0'.repeat(64), '*']) {
          const { places } = await attempt('user-1', `${endpoint}/clusters/*/${cowboysPath}:${identity}`);
          expect(
            places.filter((place) => !place.startsWith(clusterOf('ranch')) && !place.startsWith(clusterOf('saloon'))),
          ).toEqual([]);
        }
      }
    });

    test('is not let into workspaces that have not bound it, nor behind others’ endpoints', async () => {
      for (const consumer of consumersOf.south)
        for (const endpoint of endpoints.north)
          expect(await attempt('user-1', `${endpoint}/clusters/${clusterOf(consumer)}/${cowboysPath}`)).toEqual({
            status: 403,
            places: [],
          });
      for (const endpoint of endpoints.south)
        for (const workspace of ['*', clusterOf('mine')])
          expect(await attempt('user-1', `${endpoint}/clusters/${workspace}/${cowboysPath}`)).toEqual({
            status: 403,
            places: [],
          });
      // An export of its own by any other name.
      const [endpoint = ''] = endpoints.north;
      for (const name of ['nosuch', 'wildwest%2f..', '..'])
        expect(
          (await attempt('user-1', `${endpoint.replace(/[^/]+$/, name)}/clusters/*/${cowboysPath}`)).places,
        ).toEqual([]);
    });

    test('is not let past its endpoints, whatever identity it guesses', async () => {
      for (const workspace of ['*', clusterOf('mine'), clusterOf('ranch'), 'root:mine'])
        for (const suffix of ['', `:${identities.south}`, `:${identities.north}`]) {
          const { status, places } = await attempt(
            'user-1',
            `${control.url}/clusters/${workspace}/${cowboysPath}${suffix}`,
          );
          expect([status, places]).toEqual([403, []]);
        }
    });

    test('gets no other provider’s objects by claiming them, unless the consumer agrees', async () => {
      const north = kubectlOf('north');
      const patch = {
        spec: {
          permissionClaims: [
            { resource: 'configmaps', verbs: ['get', 'list', 'watch', 'create'] },
            { group: 'wildwest.dev', resource: 'cowboys', verbs: ['*'], identityHash: identities.south },
          ],
        },
      };
      await north.run(['patch', 'apiexport', 'wildwest', '--type=merge', '--patch', JSON.stringify(patch)]);
      for (let round = 0; round < 3; round++)
        expect(
          placesOf(await foundBehind(north, endpoints.north, 'cowboys')).filter(
            (place) => place.startsWith(clusterOf('mine')) || place.startsWith(clusterOf('bank')),
          ),
        ).toEqual([]);
    });
  });

  test('a consumer changes its mind about a claim, either way, and it holds', async () => {
    const inSaloon = async (): Promise<string[]> =>
      placesOf(await foundBehind(kubectlOf('north'), endpoints.north, 'configmaps')).filter((place) =>
        place.startsWith(clusterOf('saloon')),
      );
    expect(await kubectlOf('saloon').ok(['kcp', 'claims', 'accept', 'wildwest', '--resource', 'configmaps.core'])).toBe(
      'claim "configmaps.core" on APIBinding "wildwest" is accepted\n',
    );
    await eventually(
      async () => expect(await inSaloon()).toContain(`${clusterOf('saloon')}/secrets-of-saloon`),
      patient,
    );
    await kubectlOf('saloon').ok(['kcp', 'claims', 'reject', 'wildwest', '--resource', 'configmaps.core']);
    await eventually(async () => expect(await inSaloon()).toEqual([]), patient);
  }, 120_000);

  test('a consumer that leaves loses its own objects only', async () => {
    await kubectlOf('ranch').ok(['delete', 'apibinding', 'wildwest', '--timeout=60s']);
    await eventually(
      async () =>
        expect(placesOf(await foundBehind(kubectlOf('north'), endpoints.north, 'cowboys'))).toEqual([
          `${clusterOf('saloon')}/billy`,
          `${clusterOf('saloon')}/jesse`,
        ]),
      patient,
    );
    expect(await kubectlOf('ranch').ok(['get', 'configmap', 'secrets-of-ranch', '-o', 'name'])).toContain('secrets');
    // It comes back to the other provider, and finds nothing of before.
    await bind(kubectlOf('ranch'), 'root:south:wildwest', '--reject-all-permission-claims');
    await eventually(
      async () => expect(await kubectlOf('ranch').ok(['get', 'cowboys', '-o', 'name'])).toBe(''),
      patient,
    );
  }, 180_000);
});
