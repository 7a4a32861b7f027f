import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const block = 512;
const maxNameBytes = 100;
const maxPrefixBytes = 155;

/** Name and prefix of a header in the format ustar (POSIX.1-1988), which has no room for longer paths. */
function splitPath(path: string): { readonly name: string; readonly prefix: string } {
  if (Buffer.byteLength(path) <= maxNameBytes) return { name: path, prefix: '' };
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(name) <= maxNameBytes && Buffer.byteLength(prefix) <= maxPrefixBytes && name !== '')
      return { name, prefix };
  }
  throw new Error(`the path is too long for tar: ${path}`);
}

function header(path: string, size: number, mode: number, seconds: number): Buffer {
  const { name, prefix } = splitPath(path);
  const bytes = Buffer.alloc(block);
  const octal = (value: number, at: number, length: number): void => {
    bytes.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  };
  bytes.write(name, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(seconds, 136, 12);
  bytes.write('        ', 148, 'latin1');
  bytes.write('0', 156, 'latin1');
  bytes.write('ustar\x0000', 257, 'latin1');
  bytes.write(prefix, 345);
  octal(
    bytes.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return bytes;
}

/** The files below a folder, by their path in an archive. */
export function filesBelow(folder: string, within: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile()) files.set(`${within}/${file.slice(folder.length + 1)}`, file);
    else if (!entry.isDirectory()) throw new Error(`not a file, which archives of a release consist of: ${file}`);
  }
  return files;
}

/**
 * Packs files into a compressed archive that depends on nothing but their paths, their bytes, whether they can be executed, and
 * the given time. `tar` of GNU, of BSD and npm would each write another one.
 *
 * @param files - the file of each path in the archive
 * @param seconds - modification time of all files since 1970
 */
export function packArchive(files: ReadonlyMap<string, string>, seconds: number): Buffer {
  const chunks: Buffer[] = [];
  for (const [path, file] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const contents = readFileSync(file);
    const isExecutable = (lstatSync(file).mode & 0o100) !== 0;
    chunks.push(header(path, contents.length, isExecutable ? 0o755 : 0o644, seconds), contents);
    chunks.push(Buffer.alloc((block - (contents.length % block)) % block));
  }
  chunks.push(Buffer.alloc(2 * block));
  const archive = gzipSync(Buffer.concat(chunks), { level: 9 });
  // The system that has compressed it.
  archive[9] = 255;
  return archive;
}
