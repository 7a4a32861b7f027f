/*
 * Builds the browser application of the console into packages/console/dist/browser/, with compressed copies of its files beside
 * them. Does nothing while what it is built from is the same, or where there is none of it. Usage: hack/node hack/browser.ts
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { glob, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'packages', 'console');
const output = join(folder, 'dist', 'browser');
const configuration = join(folder, 'vite.config.ts');
const stamp = join(output, '.built');
/** Smaller files fit into one packet as they are. */
const minCompressedBytes = 1024;
const maxFirstLoadBytes = 300 * 1024;

/** A digest of all that the application is built from. */
async function digestOfSources(): Promise<string> {
  const digest = createHash('sha256');
  const sources = (
    await Array.fromAsync(
      glob('{console/src/browser,apimachinery/src}/**', { cwd: join(folder, '..'), withFileTypes: true }),
    )
  )
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();
  for (const file of [
    ...sources,
    configuration,
    join(folder, 'package.json'),
    join(root, 'pnpm-lock.yaml'),
    import.meta.filename,
  ])
    digest
      .update(`${file.slice(root.length)}\0`)
      .update(await readFile(file))
      .update('\0');
  return digest.digest('hex');
}

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
  readonly assets?: readonly string[];
}

/** What a browser loads before it shows anything, compressed by the weaker of the two codings. Fails when it has become too much. */
async function checkFirstLoad(): Promise<void> {
  const chunks = JSON.parse(await readFile(join(output, '.vite', 'manifest.json'), 'utf8')) as Record<string, Chunk>;
  const files = new Set<string>();
  const add = (chunk: Chunk | undefined): void => {
    if (chunk === undefined || files.has(chunk.file)) return;
    for (const file of [chunk.file, ...(chunk.css ?? []), ...(chunk.assets ?? [])]) files.add(file);
    for (const name of chunk.imports ?? []) add(chunks[name]);
  };
  for (const chunk of Object.values(chunks)) if (chunk.isEntry === true) add(chunk);
  const sizes = [...files].map((name) => {
    const file = join(output, name);
    return statSync(existsSync(`${file}.gz`) ? `${file}.gz` : file).size;
  });
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total > maxFirstLoadBytes)
    throw new Error(
      `the first load of the console is ${total} bytes compressed, more than ${maxFirstLoadBytes}: ${[...files].join(', ')}`,
    );
}

async function compress(): Promise<void> {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  const files = await Array.fromAsync(glob('assets/**/*.{css,js,json,svg,txt}', { cwd: output }));
  await Promise.all(
    files.map(async (name) => {
      const file = join(output, name);
      const bytes = await readFile(file);
      if (bytes.length < minCompressedBytes) return;
      await writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: 9 }));
      await writeFile(`${file}.br`, await promisify(brotliCompress)(bytes, quality));
    }),
  );
}

if (existsSync(configuration)) {
  const digest = await digestOfSources();
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== digest) {
    await rm(output, { recursive: true, force: true });
    const vite = join(folder, 'node_modules', 'vite', 'bin', 'vite.js');
    execFileSync(
      process.execPath,
      [
        vite,
        'build',
        '--config',
        configuration,
        '--outDir',
        output,
        '--emptyOutDir',
        '--manifest',
        '--logLevel',
        'warn',
      ],
      { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] },
    );
    await compress();
    await checkFirstLoad();
    writeFileSync(stamp, digest);
  }
}
