/**
 * Completes the bill of materials of the container image: reads what `pnpm sbom` wrote of the lockfile (CycloneDX) from
 * standard input, keeps the components that are in the folder, with their licenses, adds Node, and writes the same text for
 * the same content: the date is that of the source.
 * Usage: image-sbom.ts <folder>
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

interface Component {
  readonly type: string;
  readonly purl: string;
  readonly name: string;
  readonly version: string;
  readonly group?: string;
  readonly 'bom-ref': string;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  /** Old packages have an object here. */
  readonly license?: unknown;
  readonly dependencies?: Readonly<Record<string, string>>;
}

interface Bom {
  serialNumber?: string;
  metadata: { timestamp: string; component: Component };
  components: Component[];
  dependencies: { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: image-sbom.ts <folder>');
/** `name@version` → license (SPDX), of everything installed. */
const installed = new Map<string, unknown>(
  [
    ...globSync('node_modules/.pnpm/*/node_modules/{*,@*/*}/package.json', { cwd: folder }),
    ...globSync('packages/*/package.json', { cwd: folder }),
  ].map((path) => {
    const manifest = JSON.parse(readFileSync(join(folder, path), 'utf8')) as Manifest;
    return [`${manifest.name}@${manifest.version}`, manifest.license] as const;
  }),
);
const nameOf = ({ group, name, version }: Component): string =>
  `${group === undefined ? '' : `${group}/`}${name}@${version}`;

const bom = JSON.parse(readFileSync(0, 'utf8')) as Bom;
const packages = bom.components
  .filter((component) => installed.has(nameOf(component)))
  .map((component) => {
    const license = installed.get(nameOf(component));
    return typeof license === 'string' ? { ...component, licenses: [{ expression: license }] } : component;
  });
const listed = new Set(packages.map(nameOf));
// Nothing depends on the package of the command: it is what the bill is of.
const missing = [...installed.keys()].filter(
  (name) => !listed.has(name) && !name.startsWith('@multiplane/multiplane@'),
);
if (missing.length > 0) throw new Error(`pnpm sbom does not list ${missing.join(', ')}`);

const version = process.versions.node;
const node = `pkg:generic/node@${version}`;
const allocatorVersion = /^version=(.+)$/m.exec(readFileSync('hack/jemalloc', 'utf8'))?.[1];
if (allocatorVersion === undefined) throw new Error('hack/jemalloc names no version any more');
const allocator = `pkg:deb/debian/libjemalloc2@${allocatorVersion}`;
const components = [
  ...packages,
  { type: 'platform', name: 'node', version, purl: node, 'bom-ref': node },
  { type: 'library', name: 'libjemalloc2', version: allocatorVersion, purl: allocator, 'bom-ref': allocator },
];
const refs = new Set([bom.metadata.component['bom-ref'], ...components.map((component) => component['bom-ref'])]);
bom.components = components.sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
// pnpm 12.21 leaves out what some packages of the workspace depend on, from run to run others.
const ownDependencies = new Map(
  globSync('packages/*/package.json', { cwd: folder }).map((path) => {
    const { name, version, dependencies = {} } = JSON.parse(readFileSync(join(folder, path), 'utf8')) as Manifest;
    const dependsOn = Object.keys(dependencies).map((dependency) => {
      const file = join(folder, dirname(path), 'node_modules', dependency, 'package.json');
      const found = JSON.parse(readFileSync(file, 'utf8')) as Manifest;
      return refOf(found);
    });
    return [refOf({ name, version }), dependsOn] as const;
  }),
);
function refOf({ name, version }: Pick<Manifest, 'name' | 'version'>): string {
  if (name === '@multiplane/multiplane') return bom.metadata.component['bom-ref'];
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}
bom.dependencies = [
  ...[...ownDependencies].map(([ref, dependsOn]) => ({ ref, dependsOn })),
  ...bom.dependencies.filter(({ ref }) => !ownDependencies.has(ref)),
]
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)).sort() }))
  .sort((a, b) => (a.ref < b.ref ? -1 : 1));
bom.metadata.timestamp = new Date(Number(process.env['SOURCE_DATE_EPOCH'] ?? 0) * 1000).toISOString();
delete bom.serialNumber;
const digest = createHash('sha256').update(JSON.stringify(bom)).digest('hex');
const serial = [8, 4, 4, 4, 12].reduce<{ parts: string[]; rest: string }>(
  ({ parts, rest }, length) => ({ parts: [...parts, rest.slice(0, length)], rest: rest.slice(length) }),
  { parts: [], rest: digest },
);
bom.serialNumber = `urn:uuid:${serial.parts.join('-')}`;
process.stdout.write(`${JSON.stringify(bom, undefined, 2)}\n`);
