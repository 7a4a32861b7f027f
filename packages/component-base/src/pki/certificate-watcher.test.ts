import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../clock/fake-clock.ts';
import { createLogger } from '../logging/create-logger.ts';
import type { Certificate } from './certificate.ts';
import { CertificateAuthority } from './certificate-authority.ts';
import { CertificateWatcher } from './certificate-watcher.ts';

const authority = await CertificateAuthority.create({ commonName: 'first' });
const other = await CertificateAuthority.create({ commonName: 'second' });
const pairs = await Promise.all(['a', 'b', 'c'].map((user) => authority.issueClient({ user })));
const [first, second, third] = pairs as [Certificate, Certificate, Certificate];

let folder: string;
let clock: FakeClock;
let log: string[];
let watcher: CertificateWatcher;
const files = () => ({ certificateFile: join(folder, 'tls.crt'), privateKeyFile: join(folder, 'tls.key') });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multiplane-'));
  clock = new FakeClock();
  log = [];
  const logger = createLogger({ level: 'debug', format: 'text' }, { write: (line) => void log.push(line) });
  watcher = new CertificateWatcher({ intervalMs: 1000 }, { clock, logger });
});
afterEach(async () => {
  await watcher.stop();
  await rm(folder, { recursive: true });
});

function write(pair: Certificate, into = folder): void {
  writeFileSync(join(into, 'tls.key'), pair.privateKeyPem);
  writeFileSync(join(into, 'tls.crt'), pair.certificatePem);
}

describe('a pair', () => {
  test('that was overwritten is in force after the next look, and listeners get it once', async () => {
    write(first);
    const watched = watcher.watchPair(files());
    const told: Certificate[] = [];
    watched.onChange((pair) => told.push(pair));
    await watcher.start();
    await clock.advance(5000);
    expect([watched.current, told]).toEqual([first, []]);
    write(second);
    await clock.advance(1000);
    expect([watched.current, told]).toEqual([second, [second]]);
    await clock.advance(5000);
    expect(told).toEqual([second]);
  });

  test('of which only one file is written yet changes nothing until the other one is there', () => {
    write(first);
    const watched = watcher.watchPair(files());
    writeFileSync(files().certificateFile, second.certificatePem);
    watcher.check();
    watcher.check();
    expect(watched.current).toEqual(first);
    expect(log.filter((line) => line.includes('not usable'))).toHaveLength(1);
    writeFileSync(files().privateKeyFile, second.privateKeyPem);
    watcher.check();
    expect(watched.current).toEqual(second);
  });

  test('whose files are cut short or missing for a while stays in force', () => {
    write(first);
    const watched = watcher.watchPair(files());
    writeFileSync(files().certificateFile, second.certificatePem.slice(0, 200));
    watcher.check();
    expect(watched.current).toEqual(first);
    rmSync(files().certificateFile);
    watcher.check();
    expect(watched.current).toEqual(first);
    write(third);
    watcher.check();
    expect(watched.current).toEqual(third);
  });

  test('behind a symbolic link to a folder follows the link, as Kubernetes swaps secrets', () => {
    for (const [name, pair] of [
      ['one', first],
      ['two', second],
    ] as const) {
      mkdirSync(join(folder, name));
      write(pair, join(folder, name));
    }
    symlinkSync('one', join(folder, '..data'));
    symlinkSync('..data/tls.crt', files().certificateFile);
    symlinkSync('..data/tls.key', files().privateKeyFile);
    const watched = watcher.watchPair(files());
    expect(watched.current).toEqual(first);
    symlinkSync('two', join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    watcher.check();
    expect(watched.current).toEqual(second);
  });

  test('that does not fit is refused at the start, with the name of the file', () => {
    write({ ...first, privateKeyPem: second.privateKeyPem });
    expect(() => watcher.watchPair(files())).toThrow(
      `${files().certificateFile}: the private key does not belong to the certificate`,
    );
  });
});

test('a bundle of authorities may grow and shrink, and is never empty', () => {
  const file = join(folder, 'ca.crt');
  writeFileSync(file, authority.pem.certificatePem);
  const watched = watcher.watchAuthorities(file);
  const names = (): string[] => watched.current.map(({ subject }) => subject);
  appendFileSync(file, other.pem.certificatePem);
  watcher.check();
  expect(names()).toEqual(['CN=first', 'CN=second']);
  writeFileSync(file, '');
  watcher.check();
  expect(names()).toEqual(['CN=first', 'CN=second']);
  writeFileSync(file, other.pem.certificatePem);
  watcher.check();
  expect(names()).toEqual(['CN=second']);
});

test('a value may name the files it is made of: another name means other files are watched', () => {
  const [index, a, b] = ['index', 'a', 'b'].map((name) => join(folder, name)) as [string, string, string];
  writeFileSync(index, 'a');
  writeFileSync(a, '1');
  writeFileSync(b, '2');
  const watched = watcher.watch('index', (readText) => readText(join(folder, readText(index))));
  const told: string[] = [];
  watched.onChange((text) => told.push(text));
  writeFileSync(index, 'b');
  watcher.check();
  writeFileSync(a, 'of nobody any more');
  watcher.check();
  writeFileSync(b, '22');
  watcher.check();
  expect(told).toEqual(['2', '22']);
});

test('a listener that fails is logged and keeps no other from being told', () => {
  write(first);
  const watched = watcher.watchPair(files());
  const told: Certificate[] = [];
  watched.onChange(() => {
    throw new Error('cannot take it');
  });
  watched.onChange((pair) => told.push(pair));
  write(second);
  watcher.check();
  expect(told).toEqual([second]);
  expect(log.join('')).toContain('cannot take it');
});
