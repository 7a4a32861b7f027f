import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { MissingPrerequisiteError } from '@multiplane/testing';
import { repository } from './foreign-program.ts';

/** Packages of this repository that other projects install, each after those that it depends on. */
export const publishedPackages = [
  ...['apimachinery', 'component-base', 'client', 'provider', 'testing-server'].map((name) => `@multiplane/${name}`),
  'create-multiplane-provider',
];

/** What npm says where neither the registry nor its cache has a package. */
const unreachable = /ENOTCACHED|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|EHOSTUNREACH/;
const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];

/** The packed command, among the packed packages. */
export function packedCommand(folder: string): string {
  const file = readdirSync(folder).find((one) => /^multiplane-\d.*\.tgz$/.test(one));
  if (file === undefined) throw new Error('hack/pack has not packed multiplane');
  return join(folder, file);
}

/** Packs the published packages, and the command, into a folder. Returns the file of each package. */
export function packPackages(folder: string): ReadonlyMap<string, string> {
  execFileSync(join(repository, 'hack', 'pack'), [folder], { stdio: ['ignore', 'ignore', 'pipe'] });
  const files = readdirSync(folder);
  const prefixOf = (name: string): string => name.replace('@', '').replace('/', '-');
  return new Map(
    publishedPackages.map((name) => {
      const file = files.find((one) => one.startsWith(prefixOf(name)) && one.endsWith('.tgz'));
      if (file === undefined) throw new Error(`hack/pack has not packed ${name}`);
      return [name, join(folder, file)];
    }),
  );
}

/** A project in a folder of its own, as users of the published packages have one. */
export class NpmProject {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.folder, file)), { recursive: true });
    writeFileSync(join(this.folder, file), text);
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8');
  }

  /** Names packages in package.json; their dependencies are those of `packed` where it has them. */
  depend(packages: Readonly<Record<string, string>>, packed: ReadonlyMap<string, string> = new Map()): void {
    const manifest = existsSync(join(this.folder, 'package.json'))
      ? (JSON.parse(this.read('package.json')) as Record<string, Record<string, string>>)
      : {};
    const files = Object.fromEntries([...packed].map(([name, file]) => [name, `file:${file}`]));
    const dependencies = { ...files, ...manifest['dependencies'], ...packages, ...files };
    const withPacked = (versions: Record<string, string> = {}): Record<string, string> =>
      Object.fromEntries(Object.entries(versions).filter(([name]) => !packed.has(name)));
    const devDependencies = withPacked(manifest['devDependencies']);
    this.write('package.json', JSON.stringify({ type: 'module', ...manifest, dependencies, devDependencies }, null, 2));
  }

  /** Installs what package.json names. Throws a {@link MissingPrerequisiteError} where packages of others cannot be fetched. */
  async install(): Promise<void> {
    await this.runWithRegistry('npm', ['install', ...quiet]);
  }

  /** Runs a program that may fetch packages. Throws a {@link MissingPrerequisiteError} where it cannot. Returns what it prints. */
  async runWithRegistry(program: string, args: readonly string[]): Promise<string> {
    try {
      return await this.run(program, args);
    } catch (error) {
      if (unreachable.test(String(error)))
        throw new MissingPrerequisiteError('the npm registry cannot be reached, and the cache of npm lacks a package');
      throw error;
    }
  }

  /** Runs a program; `node`: the Node that is first on its PATH, that of the tests by default. Returns what it prints. Throws with all of it when it fails. */
  async run(
    program: string,
    args: readonly string[],
    { node = process.execPath }: { readonly node?: string } = {},
  ): Promise<string> {
    const path = [
      dirname(node),
      join(repository, 'bin'),
      join(this.folder, 'node_modules', '.bin'),
      process.env['PATH'] ?? '',
    ];
    const env = { ...process.env, PATH: path.join(delimiter), NODE_OPTIONS: '' };
    try {
      return (await promisify(execFile)(program, args, { cwd: this.folder, env, timeout: 240_000 })).stdout;
    } catch (error) {
      const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
      throw new Error(`${message}\n${stdout}\n${stderr}`, { cause: error });
    }
  }
}

/** The newest of Node 22, which is fetched once from its npm package. Throws a {@link MissingPrerequisiteError}. */
export function findNode22(): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  return fetchNode(platform === 'darwin-arm64' ? `node-bin-${platform}` : `node-${platform}`, '^22.18.0');
}

/** Node of a package, also for another platform, which is fetched once. Throws a {@link MissingPrerequisiteError}. */
export async function fetchNode(name: string, version: string): Promise<string> {
  const project = new NpmProject(join(repository, '.cache', `${name}-${version.replaceAll(/[^\d.]/g, '')}`));
  const node = join(project.folder, 'node_modules', name, 'bin', 'node');
  if (existsSync(node)) return node;
  project.write('package.json', JSON.stringify({ private: true, dependencies: { [name]: version } }));
  await project.runWithRegistry('npm', ['install', '--force', ...quiet]);
  return node;
}
