import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { skipLoudly } from '../harness/foreign-program.ts';
import { buildImage, describeWithContainers } from './available.ts';
import { baseForBoth, hasRealBase, nodeImage } from './base-images.ts';
import { cache } from './engine.ts';
import { image } from './working-engine.ts';

const mebibyte = 1 << 20;
/** `e_machine` of ELF files by the name that images have for the processor. */
const machines: Readonly<Record<string, number>> = { amd64: 62, arm64: 183 };

/** Programs and libraries below a folder: path → `e_machine`. */
function machinesIn(root: string): ReadonlyMap<string, number> {
  const head = Buffer.alloc(20);
  const machineOf = (path: string): number | undefined => {
    const file = openSync(path, 'r');
    try {
      const isElf = readSync(file, head, 0, 20, 0) === 20 && head.toString('latin1', 0, 4) === '\x7fELF';
      return isElf ? head.readUInt16LE(18) : undefined;
    } finally {
      closeSync(file);
    }
  };
  return new Map(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .flatMap((entry) => {
        const path = join(entry.parentPath, entry.name);
        const machine = machineOf(path);
        return machine === undefined ? [] : [[path.slice(root.length + 1), machine] as const];
      }),
  );
}

interface ImageInfo {
  readonly Id: string;
  readonly Size: number;
  readonly Architecture: string;
  readonly Config: { readonly User: string; readonly Volumes: Readonly<Record<string, object>> };
  readonly RootFS: { readonly Layers: readonly string[] };
}

describeWithContainers('the image', (engine) => {
  const inspect = (name: string): ImageInfo =>
    (JSON.parse(engine.sync(['image', 'inspect', name])) as ImageInfo[])[0] as ImageInfo;

  /** Files of an image without those of its base: path → type, mode, owner, and the first bytes. */
  function filesOf(name: string): Map<string, string> {
    const folder = mkdtempSync(join(cache, 'files-'));
    const container = engine.sync(['create', name]).trim();
    try {
      const archive = join(folder, 'all.tar');
      engine.sync(['export', '--output', archive, container]);
      const listed = execFileSync('tar', ['--numeric-owner', '-tvf', archive, 'opt/multiplane', 'data'], {
        encoding: 'utf8',
        maxBuffer: 64 << 20,
      });
      const root = join(folder, 'root');
      mkdirSync(root);
      execFileSync('tar', ['-xf', archive, '-C', root, 'opt/multiplane']);
      const machine = machinesIn(root);
      return new Map(
        listed
          .trim()
          .split('\n')
          .map((line) => {
            const [mode = '', owner = '', , , , ...path] = line.split(/\s+/);
            const file = path
              .join(' ')
              .replace(/ -> .*| link to .*/, '')
              .replace(/\/$/, '');
            return [file, `${mode} ${owner} ${machine.get(file) ?? ''}`.trim()];
          }),
      );
    } finally {
      engine.sync(['rm', '--force', container]);
      rmSync(folder, { recursive: true, force: true });
    }
  }

  let files: Map<string, string>;
  beforeAll(async () => {
    await buildImage(engine);
    files = filesOf(image);
  }, 600_000);

  test('adds less than 150 MiB to its base', () => {
    const added = (inspect(image).Size - inspect(nodeImage(engine)).Size) / mebibyte;
    process.stderr.write(`The image adds ${added.toFixed(1)} MiB to its base.\n`);
    expect(added).toBeLessThan(150);
  });

  test('is not for root, and has nothing writable for its user but the folder of the data', () => {
    expect(inspect(image).Config).toMatchObject({ User: '65532:65532', Volumes: { '/data': {} } });
    expect(files.get('data')).toBe('drwx------ 65532/65532');
    const others = [...files].filter(([path]) => path !== 'data');
    expect(others.length).toBeGreaterThan(1000);
    expect(
      others.filter(([, about]) => !/^(l|.{8}[^w]. )|^.{8}-.\s?0\/0/.test(about) || !about.includes(' 0/0')),
    ).toEqual([]);
  });

  test('has no tests, sources, compilers, declarations or files of the package manager', () => {
    const unwanted = [...files.keys()].filter(
      (path) =>
        /\.(d\.[cm]?ts|tsbuildinfo)$|\/\.modules\.yaml$|pnpm-lock|pnpm-workspace/.test(path) ||
        // The project that `kubectl kcp init provider` writes has sources and tests of its own.
        (!path.includes('/.pnpm/') &&
          !path.includes('/create-multiplane-provider/template/') &&
          /\.test\.|\/test\/|\/src\/|packages\/testing|\.map$/.test(path)) ||
        /\/\.pnpm\/(typescript|jest|esbuild|@swc\+|oxlint|oxfmt|node-linux)/.test(path),
    );
    expect(unwanted).toEqual([]);
  });

  test('starts the command of this version', () => {
    expect(engine.sync(['run', '--rm', '--read-only', '--network', 'none', image, 'version'])).toMatch(
      /^multiplane \d/,
    );
  });

  test('loads jemalloc', () => {
    // The dynamic linker of glibc names the libraries that it loads.
    const command = 'LD_DEBUG=libs /opt/multiplane/bin/multiplane version 2>&1';
    expect(engine.sync(['run', '--rm', '--network', 'none', '--entrypoint', '/bin/sh', image, '-c', command])).toMatch(
      /calling init: \S+\/libjemalloc\.so\.2/,
    );
  });

  test('has a bill of materials of every package in it', () => {
    const text = engine.sync([
      'run',
      '--rm',
      '--network',
      'none',
      '--entrypoint',
      '/bin/cat',
      image,
      '/opt/multiplane/sbom.cdx.json',
    ]);
    const bom = JSON.parse(text) as {
      readonly bomFormat: string;
      readonly components: readonly { readonly group?: string; readonly name: string; readonly version: string }[];
    };
    expect(bom.bomFormat).toBe('CycloneDX');
    const listed = new Set(
      bom.components.map(({ group, name, version }) => `${group === undefined ? '' : `${group}+`}${name}@${version}`),
    );
    const installed = new Set(
      [...files.keys()].flatMap((path) => /\/node_modules\/\.pnpm\/([^/_(]+@[^/_(]+)[^/]*$/.exec(path)?.[1] ?? []),
    );
    expect(installed.size).toBeGreaterThan(100);
    expect([...installed].filter((name) => !listed.has(name))).toEqual([]);
    expect([...listed].filter((name) => name.startsWith('node@'))).toHaveLength(1);
  });

  if (!engine.dialect.rewritesTimestamps)
    skipLoudly(
      'has the same layers when it is built again from nothing',
      'docker rewrites dates since 26, with buildx',
    );
  else
    test('has the same layers when it is built again from nothing', async () => {
      const again = image.replace(/:.*/, ':again');
      await buildImage(engine, { tag: again, env: { MULTIPLANE_IMAGE_CACHE: 'no' } });
      expect(inspect(again).RootFS.Layers).toEqual(inspect(image).RootFS.Layers);
    }, 600_000);

  if (!engine.dialect.severalPlatforms && !hasRealBase(engine))
    skipLoudly(
      'is built for arm64 with packages of that platform',
      'docker has one platform under a name, and no registry gives the base for arm64',
    );
  else
    test('is built for arm64 with packages of that platform', async () => {
      const tag = image.replace(/:.*/, ':arm64');
      const env = engine.dialect.severalPlatforms ? { NODE_IMAGE: baseForBoth(engine) } : {};
      await buildImage(engine, { tag, platform: 'linux/arm64', env });
      expect(inspect(tag).Architecture).toBe('arm64');
      const programs = [...filesOf(tag)].flatMap(([path, about]) => {
        const machine = / (\d+)$/.exec(about)?.[1];
        return machine === undefined || Number(machine) === machines['arm64'] ? [] : [path];
      });
      expect(programs).toEqual([]);
      expect(inspect(image).Architecture in machines).toBe(true);
    }, 600_000);
});
