/** Writes SHA256SUMS into a folder: the checksums of all files below it, as `sha256sum --check` and `shasum --check` read them. Usage: checksums.ts <folder> */
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { filesBelow } from './tar.ts';

const name = 'SHA256SUMS';
const [argument] = process.argv.slice(2);
if (argument === undefined) throw new Error('usage: checksums.ts <folder>');
const folder = resolve(argument);
rmSync(join(folder, name), { force: true });
const lines = [...filesBelow(folder, '.')]
  .map(([path, file]) => [path.slice(2), createHash('sha256').update(readFileSync(file)).digest('hex')] as const)
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([path, checksum]) => `${checksum}  ${path}\n`);
writeFileSync(join(folder, name), lines.join(''));
