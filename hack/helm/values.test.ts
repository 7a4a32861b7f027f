import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { unlessMissing, skippedTitle } from '@multiplane/testing';
import { parseYaml } from '../../packages/apimachinery/src/index.ts';
import { chartFolder, matrix } from './chart.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
}

const values = parseYaml(readFileSync(join(chartFolder, 'values.yaml'), 'utf8')) as Record<string, unknown>;
const schema = JSON.parse(readFileSync(join(chartFolder, 'values.schema.json'), 'utf8')) as Schema;
const readme = readFileSync(join(chartFolder, '..', '..', 'README.md'), 'utf8');
const helm = spawnSync('helm', ['version', '--short'], { encoding: 'utf8' });
const missingHelm = helm.status === 0 ? undefined : 'helm is not on the PATH; install Helm 3';
const withHelm = unlessMissing(missingHelm, test);

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Follows `$ref`, which are paths inside the schema. */
function resolved(part: Schema): Schema {
  let current = part;
  while (current.$ref !== undefined) {
    let target: unknown = schema;
    for (const step of current.$ref.slice(2).split('/')) target = (target as Record<string, unknown>)[step];
    current = target as Schema;
  }
  return current;
}

/** The schema of a path such as `kcp.etcd.prefix` or `shards[].etcd.prefix`. */
function schemaOf(path: string): Schema | undefined {
  let current: Schema | undefined = schema;
  for (const key of path.replaceAll('[]', '.[]').split('.')) {
    if (current === undefined) return undefined;
    const { items, properties, additionalProperties }: Schema = resolved(current);
    if (key === '[]') current = items;
    else current = properties?.[key] ?? (isMap(additionalProperties) ? additionalProperties : undefined);
  }
  return current;
}

/** Paths of all values that have a default, without those inside of free maps. */
function documented(value: unknown, part: Schema, path: string): string[] {
  const { properties } = resolved(part);
  if (!isMap(value) || properties === undefined) return [path];
  return Object.entries(value).flatMap(([key, member]) =>
    documented(member, properties[key] ?? {}, path === '' ? key : `${path}.${key}`),
  );
}
const paths = documented(values, schema, '');

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
};

describe('values and their schema', () => {
  test('every documented value has an entry in the schema, of the type of its default', () => {
    const wrong = paths.flatMap((path) => {
      const part = schemaOf(path);
      if (part === undefined) return [`${path}: no entry`];
      const { type, enum: allowed } = resolved(part);
      let value: unknown = values;
      for (const key of path.split('.')) value = (value as Record<string, unknown>)[key];
      if (allowed !== undefined) return allowed.includes(value) ? [] : [`${path}: ${String(value)}`];
      return [type].flat().includes(typeOf(value)) ? [] : [`${path}: ${typeOf(value)} instead of ${String(type)}`];
    });
    expect(wrong).toEqual([]);
    expect(paths.length).toBeGreaterThan(150);
  });

  test('every entry of the schema is a documented value, or says why it is none', () => {
    const undocumented: string[] = [];
    const visit = (part: Schema, path: string): void => {
      for (const [key, entry] of Object.entries(part.properties ?? {})) {
        const next = path === '' ? key : `${path}.${key}`;
        if (entry.description !== undefined) continue;
        if (entry.properties === undefined) {
          if (!paths.some((known) => known === next || known.startsWith(`${next}.`))) undocumented.push(next);
        } else visit(entry, next);
      }
    };
    visit(schema, '');
    expect(undocumented).toEqual([]);
  });

  test('a misspelt key is refused at every level that has named keys', () => {
    const open: string[] = [];
    const visit = (part: Schema, path: string): void => {
      if (part.properties !== undefined && part.additionalProperties !== false) open.push(path);
      for (const [key, entry] of Object.entries(part.properties ?? {})) visit(entry, `${path}.${key}`);
      if (part.items !== undefined) visit(part.items, `${path}[]`);
    };
    visit(schema, '');
    expect(open).toEqual([]);
  });

  test('a shard takes every value of kcp', () => {
    const shard = Object.keys(schemaOf('shards[]')?.properties ?? {}).toSorted();
    expect(shard).toEqual(['name', ...Object.keys(schemaOf('kcp')?.properties ?? {})].toSorted());
  });

  test('the README names only values that there are, and every part of the chart', () => {
    const table = readme.slice(readme.indexOf('| value |'), readme.indexOf('\n\n', readme.indexOf('| value |')));
    const named = [...table.matchAll(/^\| ((?:`[^`]+`(?:, )?)+) \|/gm)].flatMap(([, cell]) =>
      [...(cell as string).matchAll(/`([^`]+)`/g)].map(([, path]) => path as string),
    );
    expect(named.filter((path) => schemaOf(path) === undefined)).toEqual([]);
    const parts = new Set(named.map((path) => path.split(/[.[]/)[0]));
    const unsupported = ['letsEncrypt', 'development', 'global'];
    expect(Object.keys(values).filter((part) => !parts.has(part) && !unsupported.includes(part))).toEqual([]);
  });

  test('the matrix of renderings sets every documented value', () => {
    const set = Object.values(matrix)
      .flat()
      .map((setting) =>
        setting
          .slice(0, setting.indexOf('='))
          .replace(/^shards\[\d+\]\.(?!name)/, 'kcp.')
          .replaceAll(/\[\d+\]/g, '.[]'),
      );
    const refusedWhenSet = [
      'kcp.authorization.webhook.secretName',
      'kcp.profiling.enabled',
      ...['name', 'kind', 'group'].map((key) => `kcpFrontProxy.certificateIssuer.${key}`),
      'letsEncrypt',
      'development',
    ];
    const never = paths.filter((path) => !set.some((each) => each === path || each.startsWith(`${path}.`)));
    expect(never.filter((path) => !refusedWhenSet.includes(path))).toEqual([]);
  });

  test("the keys of kcp's chart are there", () => {
    const keys = [
      'externalHostname externalPort global.imagePullSecrets etcd.enabled etcd.image etcd.tag etcd.resources etcd.volumeSize',
      'etcd.storageClassName etcd.profiling etcd.monitoring.serviceMonitor.enabled etcd.podDisruptionBudget kcp.replicas',
      'kcp.strategy kcp.image kcp.tag kcp.pullPolicy kcp.v kcp.batteries kcp.leaderElection.enabled kcp.extraFlags',
      'kcp.resources kcp.etcd.serverAddress kcp.etcd.clientCertificate.issuer kcp.profiling kcp.tokenAuth',
      'kcp.authorization.webhook.secretName kcp.hostAliases kcp.homeWorkspaces.enabled kcp.podSecurityContext',
      'kcp.containerSecurityContext kcp.monitoring kcp.podDisruptionBudget kcp.extraVolumes kcp.extraVolumeMounts',
      'kcpFrontProxy.replicas kcpFrontProxy.openshiftRoute kcpFrontProxy.ingress kcpFrontProxy.gateway',
      'kcpFrontProxy.service kcpFrontProxy.certificateIssuer kcpFrontProxy.additionalPathMappings',
      'kcpFrontProxy.extraDNSNames kcpFrontProxy.extraFlags authentication.configMapRef.name oidc.enabled audit.enabled',
      'letsEncrypt.enabled development.rootIdentities',
    ].flatMap((line) => line.split(' '));
    const has = (path: string): boolean => {
      let current: unknown = values;
      for (const key of path.split('.')) current = (current as Record<string, unknown> | undefined)?.[key];
      return current !== undefined;
    };
    expect(keys.filter((path) => !has(path))).toEqual([]);
  });
});

withHelm('helm lint finds nothing wrong', () => {
  const { status, stdout } = spawnSync('helm', ['lint', chartFolder, '--set', 'externalHostname=a.example.org'], {
    encoding: 'utf8',
  });
  // oxlint-disable-next-line jest/no-standalone-expect -- a test calls it
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('0 chart(s) failed') });
});
const refused = missingHelm === undefined ? test.each : test.skip.each;
const host = 'externalHostname=a';
const twoShards = ['shards[0].name=root', 'shards[1].name=eu'];
const oneEtcd = [host, 'kcp.etcd.serverAddress=https://etcd:2379'];
const longName = 'a'.repeat(32);
refused([
  [[], 'externalHostname is required'],
  [oneEtcd, 'shards root and shard-1 share the etcd https://etcd:2379, and prefix /registry of one'],
  [[...oneEtcd, ...twoShards, 'shards[1].etcd.prefix=/registry/eu/'], 'give each of them an etcd.prefix of its own'],
  [
    [
      host,
      ...twoShards,
      'shards[0].etcd.serverAddress=https://a:2379\\,https://b:2379',
      'shards[1].etcd.serverAddress=https://B:2379/',
    ],
    'shards root and eu share the etcd https://b:2379',
  ],
  [[...oneEtcd, 'kcp.etcd.prefix=registry'], "'registry' does not match pattern"],
  [[host, 'shards[0].name=root', `shards[1].name=${longName}`], 'longer than 63 characters'],
  [['externalHostname=https://a'], "'https://a' does not match pattern"],
  [[host, 'externalPort=70000'], 'maximum: got 70,000, want 65,535'],
  [
    ['externalHostname=10.0.0.1', 'kcpFrontProxy.openshiftRoute.enabled=true'],
    'kcpFrontProxy.openshiftRoute.enabled needs a name in externalHostname, not the address 10.0.0.1',
  ],
  [[host, 'kcp.profiling.enabled=true'], 'kcp.profiling is not supported'],
  [[host, 'kcp.authorization.webhook.secretName=a'], 'kcp.authorization.webhook is not supported'],
  [[host, 'kcpFrontProxy.certificateIssuer.name=a'], 'kcpFrontProxy.certificateIssuer: not supported'],
  [[host, 'development.rootIdentities=a'], 'development.rootIdentities is not supported'],
  [[host, 'kcp.tokenAuth.enabled=true'], 'kcp.tokenAuth.config or kcp.tokenAuth.secretName is required'],
  [[host, 'audit.log.maxAge=x'], "at '/audit/log/maxAge'"],
  [['externalHostname=a', 'shards[0].name=eu'], 'one of the shards must be called root'],
  [['externalHostname=a', 'etcd.enabled=false'], 'etcd.enabled=false needs etcd.serverAddress for shard root'],
  [['externalHostname=a', 'kcp.leaderElection.enabled=false'], 'kcp.leaderElection.enabled must be true'],
  [['externalHostname=a', 'oidc.enabled=true'], 'oidc.enabled needs oidc.issuerUrl and oidc.clientId'],
  [['externalHostname=a', 'letsEncrypt.enabled=true'], 'letsEncrypt is not supported'],
  [['externalHostname=a', 'kcp.replica=1'], 'additional properties'],
])(missingHelm === undefined ? 'helm refuses %j' : skippedTitle('helm refuses %j', missingHelm), (values, message) => {
  const args = ['template', 'mp', chartFolder, '--kube-version=1.32.0', ...values.flatMap((value) => ['--set', value])];
  const { status, stderr } = spawnSync('helm', args, { encoding: 'utf8' });
  // oxlint-disable-next-line jest/no-standalone-expect -- a test calls it
  expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
});
