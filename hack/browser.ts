/*
 * Builds the browser application of the console into packages/console/dist/browser/, with compressed copies of its files beside
 * them. Does nothing while what it is built from is the same, or where there is none of it. Usage: hack/node hack/browser.ts
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
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

/** A digest of all that the application is built from. */
async function digestOfSources(): Promise<string> {
  const digest = createHash('sha256');
  const sources = (await Array.fromAsync(glob('src/browser/**', { cwd: folder, withFileTypes: true })))
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
    writeFileSync(stamp, digest);
  }
}
