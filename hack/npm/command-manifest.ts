import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly repository?: unknown;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * The package.json of the npm package `multiplane`, and the folders of the libraries that it contains, by name. It has them with the
 * versions of the lockfile, so they are no dependencies: npm has nothing to resolve, little to download, and on Node 20, on which the
 * launchers do not run them, nothing to warn of.
 */
export function commandManifest(root: string): {
  readonly manifest: object;
  readonly libraries: ReadonlyMap<string, string>;
} {
  const read = (...path: string[]): Manifest => JSON.parse(readFileSync(join(root, ...path), 'utf8')) as Manifest;
  const folders = new Map(
    readdirSync(join(root, 'packages')).map((folder) => [read('packages', folder, 'package.json').name, folder]),
  );
  const libraries = new Map<string, string>();
  const seen = new Set<string>();
  const visit = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    const folder = folders.get(name) as string;
    for (const dependency of Object.keys(read('packages', folder, 'package.json').dependencies ?? {})) {
      if (folders.has(dependency)) visit(dependency);
      else libraries.set(dependency, realpathSync(join(root, 'packages', folder, 'node_modules', dependency)));
    }
  };
  visit('@multiplane/multiplane');
  const { version, license, repository } = read('packages', 'multiplane', 'package.json');
  const catalog = readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8');
  const pinned = (name: string): [string, string] => {
    const found = new RegExp(`^ {2}"?${name}"?: (\\S+)$`, 'm').exec(catalog)?.[1];
    if (found === undefined) throw new Error(`the catalog has no ${name}`);
    return [name, found];
  };
  const manifest = {
    name: 'multiplane',
    version,
    description:
      'A kcp- and Kubernetes-compatible control plane for many tenants: the command and its kubectl plugins.',
    keywords: ['kubernetes', 'kcp', 'control-plane', 'multi-tenancy', 'kubectl-plugin'],
    license,
    repository,
    bin: Object.fromEntries(readdirSync(join(root, 'bin')).map((name) => [name, `bin/${name}`])),
    type: 'module',
    publishConfig: { access: 'public', provenance: true },
    // npm installs the one of the platform; elsewhere hack/node looks for a Node on the PATH.
    optionalDependencies: Object.fromEntries(
      Object.keys(read('package.json').optionalDependencies ?? {}).map((name) => pinned(name)),
    ),
    os: ['linux', 'darwin'],
    engines: { node: '>=20' },
  };
  return { manifest, libraries };
}
