import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { startTestingServer } from '@multiplane/testing-server';
import { repository } from '../harness/foreign-program.ts';
import { findNode22, NpmProject, packedCommand, packPackages, publishedPackages } from '../harness/npm-project.ts';

interface Manifest {
  readonly license: string;
  readonly repository: { readonly url: string };
  readonly exports: Record<string, Record<string, string>>;
  readonly publishConfig?: { readonly provenance?: boolean; readonly access?: string };
  readonly dependencies?: Record<string, string>;
  readonly private?: boolean;
}

let folder: TempDir;
let packed: ReadonlyMap<string, string>;
beforeAll(async () => {
  folder = await TempDir.create('packages');
  packed = packPackages(folder.join('packed'));
}, 120_000);
afterAll(() => folder?.remove());

const tar = (...args: string[]): string => execFileSync('tar', args, { encoding: 'utf8' });

describe.each(publishedPackages)('%s', (name) => {
  const file = (): string => packed.get(name) as string;
  const filesOf = (): string[] => tar('-tzf', file()).trim().split('\n');

  test('has compiled code, types, a licence and a text, and nothing else', () => {
    const files = filesOf();
    const needed = ['LICENSE', 'README.md', 'package.json', 'dist/index.js', 'dist/index.d.ts'];
    expect(files).toEqual(expect.arrayContaining(needed.map((path) => `package/${path}`)));
    expect(files.filter((path) => !/^package\/(?:dist|template|[^/]+$)/.test(path))).toEqual([]);
    expect(files.filter((path) => /\.test\.(?:js|d\.ts)$|\.map$|\.tsbuildinfo$/.test(path))).toEqual([]);
  });

  test('has a manifest that the registry and users can do with', () => {
    const manifest = JSON.parse(tar('-xzOf', file(), 'package/package.json')) as Manifest;
    const source = readFileSync(join(repository, 'packages', name.replace('@multiplane/', ''), 'package.json'), 'utf8');
    expect((JSON.parse(source) as Manifest).publishConfig).toMatchObject({ provenance: true, access: 'public' });
    expect(manifest).toMatchObject({ license: 'Apache-2.0' });
    expect(manifest.repository.url).toMatch(/^git\+https:.*\.git$/);
    expect(manifest.private).toBeUndefined();
    for (const version of Object.values(manifest.dependencies ?? {})) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    const targets = Object.values(manifest.exports).flatMap((conditions) => Object.values(conditions));
    const files = filesOf();
    for (const target of targets) expect(files).toContain(target.replace('./', 'package/'));
  });
});

describe('multiplane', () => {
  const file = (): string => packedCommand(folder.join('packed'));

  test('contains the command, the plugins and their libraries, and needs only Node', () => {
    const files = tar('-tzf', file()).trim().split('\n');
    const manifest = JSON.parse(tar('-xzOf', file(), 'package/package.json')) as Manifest & {
      readonly bin: Record<string, string>;
      readonly optionalDependencies: Record<string, string>;
    };
    expect(manifest).toMatchObject({ license: 'Apache-2.0', publishConfig: { provenance: true, access: 'public' } });
    expect(manifest.dependencies).toBeUndefined();
    expect(Object.keys(manifest.optionalDependencies).filter((name) => !name.startsWith('node-'))).toEqual([]);
    expect(Object.keys(manifest.bin).sort()).toEqual(readdirSync(join(repository, 'bin')).sort());
    for (const program of Object.values(manifest.bin)) expect(files).toContain(`package/${program}`);
    const browser = 'package/packages/console/dist/browser/index.html';
    expect(files).toEqual(expect.arrayContaining(['package/LICENSE', 'package/README.md', browser]));
    expect(files.filter((path) => /\.d\.[cm]?ts$|\.map$|\.tsbuildinfo$|\.test\.js$/.test(path))).toEqual([]);
  });

  test('what npx installs in an empty folder serves, with its plugins', async () => {
    const empty = new NpmProject(folder.join('empty'));
    // It installs a package of a file anew at each run, also under a server that runs: once here.
    const script = 'command -v multiplane && multiplane --version';
    const printed = await empty.runWithRegistry('npx', [
      '--yes',
      '--prefer-offline',
      `--package=${file()}`,
      '-c',
      script,
    ]);
    const [command = '', version] = printed.trim().split('\n');
    // It stays in the cache of npx, in a folder of its own: <folder>/node_modules/.bin/multiplane.
    await using _ = { [Symbol.asyncDispose]: () => rm(join(command, '..', '..', '..'), { recursive: true }) };
    expect(version).toMatch(/^multiplane \d+\.\d+\.\d+$/);
    await using server = await startTestingServer({ command: [command] });
    const plugin = join(command, '..', 'kubectl-ws');
    expect(await empty.run(plugin, ['.', `--kubeconfig=${server.kubeconfig}`])).toContain(
      "Current workspace is 'root'",
    );
    const definition = join(repository, 'docs', 'examples', 'widget-crd.yaml');
    await empty.run('kubectl', ['--kubeconfig', server.kubeconfig, 'apply', '--server-side', '-f', definition]);
    const served = await empty.run('kubectl', ['--kubeconfig', server.kubeconfig, 'api-resources', '-o', 'name']);
    expect(served.split('\n')).toContain('widgets.example.dev');
  }, 240_000);
});

/** What another project compiles with, on purpose stricter than its editors suggest. */
const tsconfig = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    types: ['node'],
    noUncheckedIndexedAccess: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
  },
  include: ['*.ts'],
};

/** The TypeScript that a README of a package shows. */
const sampleOf = (name: string): string =>
  /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(repository, 'packages', name, 'README.md'), 'utf8'))?.[1] ?? '';

describe('installed into other projects', () => {
  const nodes = { 'Node 24': () => Promise.resolve(process.execPath), 'Node 22': findNode22 };
  let samples: NpmProject;
  let project: NpmProject;

  beforeAll(async () => {
    samples = new NpmProject(folder.join('samples'));
    samples.depend({ typescript: '^5.9.0', '@types/node': '^22.0.0' }, packed);
    samples.write('tsconfig.json', JSON.stringify(tsconfig));
    samples.write('provider.ts', sampleOf('provider'));
    samples.write('server.test.ts', sampleOf('testing-server'));
    samples.write('client.ts', sampleOf('client'));
    await samples.install();
    await samples.run('create-multiplane-provider', [
      folder.join('project'),
      '--kind',
      'FlowPolicy',
      '--group',
      'acme.io',
    ]);
    project = new NpmProject(folder.join('project'));
    project.depend({}, packed);
    await project.install();
  }, 240_000);

  test('the samples compile', async () => {
    expect(await samples.run('tsc', [])).toBe('');
  });

  test.each(Object.entries(nodes))(
    'the samples run on %s',
    async (_, find) => {
      expect(await samples.run('node', ['--test', 'server.test.ts'], { node: await find() })).toMatch(/pass 1$/m);
      await using server = await startTestingServer({ command: [join(repository, 'bin', 'multiplane')] });
      const printed = await samples.run('node', ['client.ts', server.kubeconfig], { node: await find() });
      expect(printed.split('\n')).toContain('universal');
    },
    240_000,
  );

  test('a new project compiles, and has what its definition generates', async () => {
    await project.run('npm', ['run', 'check']);
    const generated = ['src/flowpolicy.ts', 'config/schema.yaml'] as const;
    const before = generated.map((file) => project.read(file));
    await project.run('npm', ['run', 'generate']);
    const snapshot = await project.run('kubectl-kcp', ['crd', 'snapshot', '-f', 'config/crd.yaml', '--prefix', 'v1']);
    expect([project.read(generated[0]), snapshot]).toEqual(before);
  });

  test.each(Object.entries(nodes))(
    'the test of a new project runs on %s',
    async (_, find) => {
      expect(await project.run('npm', ['test'], { node: await find() })).toMatch(/pass 2$/m);
    },
    240_000,
  );

  test('kubectl kcp init provider writes the same project', async () => {
    const other = new NpmProject(folder.join('other'));
    const flags = ['--kind', 'FlowPolicy', '--group', 'acme.io'];
    await other.run('kubectl-kcp', ['init', 'provider', folder.join('other', 'project'), ...flags]);
    for (const file of ['src/provider.ts', 'config/export.yaml', 'test/provider.test.ts'])
      expect(other.read(`project/${file}`)).toBe(project.read(file));
    const again = other.run('kubectl-kcp', ['init', 'provider', folder.join('other')]);
    await expect(again).rejects.toThrow(/error: .* is not empty: it has project/);
  });

  test('the testing server serves tests of vitest', async () => {
    const vitest = new NpmProject(folder.join('vitest'));
    vitest.depend({ vitest: '^3.2.0' }, packed);
    vitest.write(
      'server.test.ts',
      sampleOf('testing-server').replace(
        "import { after, before, test } from 'node:test';",
        "import { afterAll as after, beforeAll as before, test } from 'vitest';",
      ),
    );
    await vitest.install();
    // Its own limit of five seconds is for an idle machine.
    const limits = ['--testTimeout=60000', '--hookTimeout=60000'];
    expect(await vitest.run('vitest', ['run', ...limits])).toMatch(/1 passed/);
  }, 240_000);
});
