import { type FileHandle, open } from 'node:fs/promises';
import { errorCode } from '../error-code.ts';
import { StorageUnusableError } from '../errors.ts';

/**
 * What can be told about a file before lmdb maps it, where a root that points beyond the end would end the process.
 *
 * An lmdb file begins with two roots. A commit writes its pages where no root points to, makes them durable, and only
 * then overwrites the older root, with one write within a sector. So whatever a crash or a power cut leaves, one root is
 * whole and everything it points to is there; a commit is acknowledged after its root is durable. A root that is not
 * whole, or a file that ends before the pages of its newest root, is repaired by going back to the other root; when that
 * does not fit either, the file is refused. lmdb has no checksums of its pages: a bit that the disk changes inside a
 * value is not noticed here.
 */
export interface FileCheck {
  /** Set when a root was replaced: a sentence for the log. */
  readonly repaired: string | undefined;
}

interface Root {
  readonly lastPage: number;
  readonly transaction: bigint;
  readonly pageSize: number;
}

/** Offsets in a root page of lmdb's format 2 as lmdb-js builds it. */
const pageFlags = 18;
const isRootPage = 0x08;
const magicAt = 24;
const magic = 0xbeefc0de;
const versionAt = 28;
const knownVersion = 2;
const pageSizeAt = 48;
const lastPageAt = 144;
const transactionAt = 152;
const rootBytes = 160;
/** Of a root page, all that lmdb reads. */
const copiedBytes = 512;
const pageSizes: ReadonlySet<number> = new Set([4096, 8192, 16_384, 32_768, 65_536]);

/** Inspects and if need be repairs the file; an empty or missing one is fine. Throws {@link StorageUnusableError}. */
export async function checkFile(path: string): Promise<FileCheck> {
  let file: FileHandle;
  try {
    file = await open(path, 'r+');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { repaired: undefined };
    throw new StorageUnusableError(`the data file ${path} cannot be opened for reading and writing`, error);
  }
  try {
    const { size } = await file.stat();
    return size === 0 ? { repaired: undefined } : await checkRoots(file, path, size);
  } finally {
    await file.close();
  }
}

async function checkRoots(file: FileHandle, path: string, size: number): Promise<FileCheck> {
  const first = await readRoot(file, 0);
  const pageSize = first?.pageSize ?? (await findSecond(file));
  const second = pageSize === undefined ? undefined : await readRoot(file, pageSize);
  const roots = [first, second];
  const newest = newestOf(roots);
  if (newest === undefined || pageSize === undefined) {
    throw new StorageUnusableError(
      `the data file ${path} is not a store of this program or is damaged at its beginning: restore it from a backup, ` +
        'or move it away to begin with an empty store',
    );
  }
  const whole = newestOf(roots.map((root) => (root !== undefined && fits(root, size) ? root : undefined)));
  if (whole === undefined) {
    throw new StorageUnusableError(
      `the data file ${path} has ${size} bytes but its content needs ${(newest.lastPage + 1) * pageSize}: it was cut ` +
        'short outside this program; restore it from a backup, or move it away to begin with an empty store',
    );
  }
  if (first !== undefined && second !== undefined && whole === newest) return { repaired: undefined };
  const good = whole === first ? 0 : 1;
  await copyRoot(file, pageSize, good);
  const lost = first === undefined || second === undefined ? 'one of its two roots was damaged' : 'its end was missing';
  return { repaired: `the data file ${path} was repaired to its last whole state: ${lost}` };
}

/** lmdb wants the roots to lie one page apart, so a lost first root is found by its sister. */
async function findSecond(file: FileHandle): Promise<number | undefined> {
  for (const pageSize of pageSizes) if ((await readRoot(file, pageSize))?.pageSize === pageSize) return pageSize;
  return undefined;
}

async function readRoot(file: FileHandle, offset: number): Promise<Root | undefined> {
  const page = Buffer.alloc(rootBytes);
  const { bytesRead } = await file.read(page, 0, rootBytes, offset);
  if (bytesRead < rootBytes) return undefined;
  if ((page.readUInt16LE(pageFlags) & isRootPage) === 0 || page.readUInt32LE(magicAt) !== magic) return undefined;
  const pageSize = page.readUInt32LE(pageSizeAt);
  if (page.readUInt32LE(versionAt) !== knownVersion || !pageSizes.has(pageSize)) return undefined;
  return {
    pageSize,
    lastPage: Number(page.readBigUInt64LE(lastPageAt)),
    transaction: page.readBigUInt64LE(transactionAt),
  };
}

function newestOf(roots: readonly (Root | undefined)[]): Root | undefined {
  let newest: Root | undefined;
  for (const root of roots) {
    if (root !== undefined && (newest === undefined || root.transaction > newest.transaction)) newest = root;
  }
  return newest;
}

const fits = ({ lastPage, pageSize }: Root, size: number): boolean => (lastPage + 1) * pageSize <= size;

/** Overwrites the other root with the good one; it keeps its page number, which the page header holds. */
async function copyRoot(file: FileHandle, pageSize: number, good: number): Promise<void> {
  const page = Buffer.alloc(copiedBytes);
  await file.read(page, 0, copiedBytes, good * pageSize);
  page.writeBigUInt64LE(BigInt(1 - good), 0);
  await file.write(page, 0, copiedBytes, (1 - good) * pageSize);
  await file.sync();
}
