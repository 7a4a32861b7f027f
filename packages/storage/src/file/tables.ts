import { existsSync } from 'node:fs';
import { open, type RootDatabase, type Transaction } from 'lmdb';

/**
 * The tables of the file, all in one lmdb environment, so that one transaction changes them together:
 *
 *   current   key                → value, with the number revision × 2 + (1 when the key expires)
 *   versions  key, revision      → a value that was replaced or removed, with the revision that did it:
 *                                  it was the current one in [revision, end)
 *   log       revision           → what that revision did: kind, revision before, key
 *   expiry    time, key          → nothing; an index, true only as far as `leases` agrees
 *   leases    key                → time at which the key goes
 *   meta      name               → nothing, with a number: `revision`, `oldest`, `format`
 *
 * A value is thus written once, and once more when it is replaced while history is kept; history is dropped without
 * reading values, from the log alone.
 */
export interface Tables {
  readonly root: RootDatabase<Buffer, string>;
  readonly current: Table<string>;
  readonly versions: Table<VersionKey>;
  readonly log: Table<number>;
  readonly expiry: Table<ExpiryKey>;
  readonly leases: Table<string>;
  readonly meta: Table<string>;
}

/** What is used of an lmdb table, whose own types know only lmdb's kinds of keys. */
export interface Table<K> {
  get(key: K): Buffer | undefined;
  getEntry(key: K, options?: { readonly transaction: Transaction }): Entry | undefined;
  getRange(range: Range<K>): Iterable<Entry & { readonly key: K }>;
  getKeys(range: Range<K>): Iterable<K>;
  getKeysCount(range: Range<K>): number;
  put(key: K, value: Buffer, version?: number): Promise<boolean>;
  remove(key: K): Promise<boolean>;
  getStats(): unknown;
}

export interface Entry {
  readonly value: Buffer;
  readonly version?: number;
}

/** From `start` to before `end`; both must be given, undefined stands for the very first and last. */
export interface Range<K> {
  readonly start: K | undefined;
  readonly end: K | undefined;
  readonly limit?: number;
  readonly offset?: number;
  readonly versions?: boolean;
  readonly transaction?: Transaction;
}

export interface VersionKey {
  readonly key: string;
  readonly revision: number;
}

export interface ExpiryKey {
  readonly at: number;
  readonly key: string;
}

/** lmdb takes 1978 bytes; the longest key of a table here is eleven bytes more than the key of the object. */
export const maxKeyBytes = 1900;

export const empty = Buffer.alloc(0);

/** Addresses, not memory nor disk: lmdb need not map a growing file anew, which it does only beyond this. */
const reservedBytes = 64 * 2 ** 30;

/** Raised with the layout: another number is another program's data. */
export const format = 1;

const textKey = {
  writeKey: (key: string, target: Buffer, start: number): number => start + target.write(key, start, 'utf8'),
  readKey: (target: Buffer, start: number, end: number): string => target.toString('utf8', start, end),
};

// Keys hold no NUL, so the separator keeps versions in the order of their keys.
const versionKey = {
  writeKey({ key, revision }: VersionKey, target: Buffer, start: number): number {
    const end = start + target.write(key, start, 'utf8');
    target[end] = 0;
    return writeNumber(revision, target, end + 1);
  },
  readKey(target: Buffer, start: number, end: number): VersionKey {
    return { key: target.toString('utf8', start, end - 9), revision: readNumber(target, end - 8) };
  },
};

const revisionKey = {
  writeKey: writeNumber,
  readKey: readNumber,
};

const expiryKey = {
  writeKey({ at, key }: ExpiryKey, target: Buffer, start: number): number {
    const end = writeNumber(at, target, start);
    return end + target.write(key, end, 'utf8');
  },
  readKey(target: Buffer, start: number, end: number): ExpiryKey {
    return { at: readNumber(target, start), key: target.toString('utf8', start + 8, end) };
  },
};

/** Opens or makes the tables. The caller holds the folder's lock and has inspected the file. */
export function openTables(path: string): Tables {
  const fresh = !existsSync(path);
  const root: RootDatabase<Buffer, string> = open({
    path,
    noSubdir: true,
    encoding: 'binary',
    maxDbs: 8,
    // A commit is acknowledged by lmdb only when data and root are on disk.
    overlappingSync: false,
    // Batches are made here, where compare-and-set is decided.
    eventTurnBatching: false,
    mapSize: reservedBytes,
    ...(fresh && { pageSize: 4096 }),
  });
  const table = <K>(name: string, keyEncoder: object, useVersions = false): Table<K> => {
    const options = { name, encoding: 'binary' as const, keyEncoder, useVersions };
    return root.openDB<Buffer, string>(options) as unknown as Table<K>;
  };
  return {
    root,
    current: table('current', textKey, true),
    versions: table('versions', versionKey, true),
    log: table('log', revisionKey),
    expiry: table('expiry', expiryKey),
    leases: table('leases', textKey),
    meta: table('meta', textKey, true),
  };
}

/** Eight bytes in the order of numbers. */
function writeNumber(value: number, target: Buffer, start: number): number {
  target.writeUInt32BE(Math.floor(value / 0x1_0000_0000), start);
  target.writeUInt32BE(value % 0x1_0000_0000, start + 4);
  return start + 8;
}

function readNumber(target: Buffer, start: number): number {
  return target.readUInt32BE(start) * 0x1_0000_0000 + target.readUInt32BE(start + 4);
}

/** First key after everything that begins with the prefix; undefined for the empty one. */
export function afterPrefix(prefix: string): string | undefined {
  if (prefix === '') return undefined;
  const last = prefix.length - 1;
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
}

export function readMeta(tables: Tables, name: string): number | undefined {
  return tables.meta.getEntry(name)?.version;
}

/** The number beside a current value. */
export const packVersion = (revision: number, expires: boolean): number => revision * 2 + (expires ? 1 : 0);
export const revisionOf = (version: number | undefined): number => Math.floor((version ?? 0) / 2);
export const expiresOf = (version: number | undefined): boolean => (version ?? 0) % 2 === 1;
