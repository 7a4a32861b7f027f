import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { findBinary } from '@multiplane/testing';

import { cache, repository, type ContainerEngine } from './engine.ts';

/** An image that the Dockerfile or the compose file names, and what a stand-in adds to Debian. */
interface BaseImage {
  readonly name: string;
  /** Host of its registry. */
  readonly registry: string;
  /** Puts files below a folder. */
  readonly fill: (folder: string) => void;
  /** Of the image, where the compose file has none. */
  readonly entrypoint?: string;
}

/** What stand-ins are named on a machine's own engine, whose user must not take one for the image of the registry. */
const ownPrefix = 'localhost/multiplane-e2e/stand-in/';
const debian = 'localhost/multiplane-e2e/debian:bookworm';
const program = (folder: string, name: string): void => {
  mkdirSync(join(folder, 'usr/local/bin'), { recursive: true });
  cpSync(findBinary(name), join(folder, 'usr/local/bin', name), { dereference: true });
};

/** The base of the Dockerfile, or its stand-in. */
export function nodeImage(engine: ContainerEngine): string {
  return localName(engine, nodeImageName());
}

/** The name under which an image that the Dockerfile or the compose file names is found here. */
export function localName(engine: ContainerEngine, name: string): string {
  return isBase(name) && kindOf(engine, name) === undefined ? standInName(engine, name) : name;
}

/** Whether the base of the Dockerfile comes from its registry. */
export function hasRealBase(engine: ContainerEngine): boolean {
  return kindOf(engine, nodeImageName()) === 'real';
}

const isBase = (name: string): boolean => baseImages().some((image) => image.name === name);
const standInName = ({ dialect }: ContainerEngine, name: string): string =>
  dialect.shared ? `${ownPrefix}${name.slice(name.lastIndexOf('/') + 1)}` : name;

function nodeImageName(): string {
  const text = readFileSync(join(repository, 'deploy', 'docker', 'Dockerfile'), 'utf8');
  return /^ARG NODE_IMAGE=(\S+)$/m.exec(text)?.[1] as string;
}

const baseImages = (): readonly BaseImage[] => [
  {
    name: nodeImageName(),
    registry: 'registry-1.docker.io',
    fill: (folder) => {
      const bin = join(folder, 'usr/local/bin');
      const library = join(folder, 'usr/local/lib/node_modules/npm');
      mkdirSync(bin, { recursive: true });
      cpSync(
        execFileSync(join(repository, 'hack/node'), ['-p', 'process.execPath'], { encoding: 'utf8' }).trim(),
        join(bin, 'node'),
      );
      const npm = execFileSync('npm', ['root', '--global'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
      cpSync(join(npm.trim(), 'npm'), library, { recursive: true });
      for (const name of ['npm', 'npx']) symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(bin, name));
    },
  },
  {
    name: 'quay.io/coreos/etcd:v3.5.21',
    registry: 'quay.io',
    fill: (folder) => ['etcd', 'etcdctl'].forEach((name) => program(folder, name)),
  },
  {
    name: 'docker.io/library/nats:2.11.3-alpine',
    registry: 'registry-1.docker.io',
    fill: (folder) => program(folder, 'nats-server'),
  },
  {
    name: 'docker.io/prom/prometheus:v3.3.1',
    registry: 'registry-1.docker.io',
    fill: (folder) => program(folder, 'prometheus'),
    entrypoint: '/usr/local/bin/prometheus',
  },
];

/**
 * Makes the base images available: those that are there already, else those of the registries, else stand-ins of the same
 * names. Returns the names of the stand-ins. Throws when neither can be had.
 */
export function provideBaseImages(engine: ContainerEngine): string[] {
  mkdirSync(cache, { recursive: true });
  const standIns: string[] = [];
  for (const image of baseImages()) {
    const { name, registry } = image;
    const standIn = standInName(engine, name);
    const present = kindOf(engine, name) ?? kindOf(engine, standIn);
    const kind = present ?? (answers(registry) && pulled(engine, name) ? 'real' : undefined);
    if (kind === undefined) buildStandIn(engine, standIn, image);
    if (kind !== 'real') standIns.push(name);
  }
  return standIns;
}

const standInLabel = 'multiplane.e2e.stand-in';

function kindOf(engine: ContainerEngine, name: string): 'real' | 'stand-in' | undefined {
  try {
    const format = `{{index .Config.Labels "${standInLabel}"}}`;
    return engine.sync(['image', 'inspect', '--format', format, name]).trim() === 'true' ? 'stand-in' : 'real';
  } catch {
    return undefined;
  }
}

/** A registry answers 200, or asks who is there. */
function answers(registry: string): boolean {
  const ask = `fetch(${JSON.stringify(`https://${registry}/v2/`)}, { signal: AbortSignal.timeout(5000) }).then(({ status }) => process.exit(status === 200 || status === 401 ? 0 : 1), () => process.exit(1))`;
  try {
    execFileSync(process.execPath, ['-e', ask], { stdio: 'ignore', env: { ...process.env, NODE_OPTIONS: '' } });
    return true;
  } catch {
    return false;
  }
}

function pulled(engine: ContainerEngine, name: string): boolean {
  try {
    engine.sync(['pull', '--quiet', name], { timeout: 240_000 });
    return true;
  } catch {
    return false;
  }
}

function buildStandIn(engine: ContainerEngine, name: string, { fill, entrypoint }: BaseImage): void {
  process.stderr.write(`Building a stand-in for ${name}, which no registry gives here …\n`);
  if (kindOf(engine, debian) === undefined) buildDebian(engine);
  const folder = mkdtempSync(join(cache, 'stand-in-'));
  try {
    fill(join(folder, 'files'));
    const start = entrypoint === undefined ? '' : `ENTRYPOINT ["${entrypoint}"]\n`;
    writeFileSync(join(folder, 'Dockerfile'), `FROM ${debian}\nLABEL ${standInLabel}=true\nCOPY files/ /\n${start}`);
    engine.sync(['build', '--quiet', '--tag', name, folder]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Unpacks Debian's packages. No script of them runs: programs are all that is needed. */
function buildDebian(engine: ContainerEngine): void {
  const folder = mkdtempSync(join(cache, 'debian-'));
  const root = join(folder, 'root');
  const run = (command: string, ...args: string[]): unknown => execFileSync(command, args, { stdio: 'pipe' });
  try {
    run('debootstrap', '--foreign', '--variant=minbase', '--include=busybox', 'bookworm', root);
    const kept = globSync(join(root, 'var/cache/apt/archives/*.deb')).filter((file) =>
      /\/(libstdc\+\+6|busybox)_/.test(file),
    );
    const unpack = 'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"';
    for (const file of kept) run('sh', '-ec', unpack, 'sh', file, root);
    for (const unneeded of [
      'debootstrap',
      'var/cache/apt/archives',
      'usr/share/doc',
      'usr/share/locale',
      'usr/share/man',
    ])
      rmSync(join(root, unneeded), { recursive: true, force: true });
    // Inside a container debootstrap makes links of these; a runtime wants folders.
    for (const mountPoint of ['proc', 'sys', 'dev']) {
      rmSync(join(root, mountPoint), { recursive: true, force: true });
      mkdirSync(join(root, mountPoint));
    }
    writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
    writeFileSync(join(root, 'etc/group'), 'root:x:0:\n');
    // What Alpine's images have.
    mkdirSync(join(root, 'usr/local/bin'), { recursive: true });
    if (!existsSync(join(root, 'usr/bin/wget'))) symlinkSync('../../../bin/busybox', join(root, 'usr/local/bin/wget'));
    const archive = join(folder, 'root.tar');
    run('tar', '-C', root, '-cf', archive, '.');
    engine.sync(['import', archive, debian]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * A base for two platforms under one name: that of this machine as it is, of arm64 an empty one. An image for arm64 can be
 * built on it, though not run. Only for an engine whose names can be of several platforms.
 */
export function baseForBoth(engine: ContainerEngine): string {
  const name = 'localhost/multiplane-e2e/node-for-both:1';
  const empty = 'localhost/multiplane-e2e/empty-arm64:1';
  const folder = mkdtempSync(join(cache, 'empty-'));
  try {
    mkdirSync(join(folder, 'root'));
    execFileSync('tar', ['-C', join(folder, 'root'), '-cf', join(folder, 'root.tar'), '.']);
    engine.sync(['import', ...engine.dialect.importFor('linux', 'arm64'), join(folder, 'root.tar'), empty]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  try {
    engine.sync(['manifest', 'rm', name]);
  } catch {
    // There is none.
  }
  const local = (image: string): string => `containers-storage:${image}`;
  engine.sync(['manifest', 'create', name, local(nodeImage(engine)), local(empty)]);
  return name;
}
