import { appendFileSync, chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createLogger } from '../logging/create-logger.ts';
import type { Certificate } from './certificate.ts';
import { CertificateAuthority } from './certificate-authority.ts';
import { CertificateWatcher } from './certificate-watcher.ts';
import { FakeClock } from '@multiplane/testing';

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

describe('files with keys', () => {
  const warnings = (): string[] => log.filter((line) => line.includes('open to other users'));
  /** The umask of the machine does not matter. */
  const withMode = (path: string, mode: number): void => chmodSync(path, mode);

  test('that others can read are reported once, and once more when the mode changes to another such one', () => {
    write(first);
    const { certificateFile, privateKeyFile } = files();
    withMode(certificateFile, 0o644);
    withMode(privateKeyFile, 0o644);
    watcher.watchPair(files());
    watcher.watchPair(files());
    expect(warnings()).toHaveLength(1);
    expect(warnings()[0]).toContain(privateKeyFile);
    expect(warnings()[0]).toContain('0644');
    withMode(privateKeyFile, 0o666);
    watcher.check();
    expect(warnings()).toHaveLength(2);
    withMode(privateKeyFile, 0o600);
    watcher.check();
    expect(warnings()).toHaveLength(2);
  });

  test('with tokens are reported, too', () => {
    const file = join(folder, 'tokens.csv');
    writeFileSync(file, 'token,user,1\n');
    withMode(file, 0o644);
    expect(watcher.readSecrets('token-auth-file', file)).toBe('token,user,1\n');
    expect(warnings()).toEqual([expect.stringMatching(/tokens\.csv.*0644/)]);
    expect(() => watcher.readSecrets('token-auth-file', join(folder, 'absent.csv'))).toThrow(
      /--token-auth-file: .*absent\.csv/,
    );
  });

  test.each([
    [0o600, 0],
    [0o400, 0],
    // A Secret of Kubernetes with an fsGroup.
    [0o440, 0],
    [0o460, 1],
    [0o604, 1],
  ])('with mode %i are reported %i times', (mode, count) => {
    write(first);
    withMode(files().privateKeyFile, mode);
    watcher.readPrivateKey(files().privateKeyFile);
    watcher.watchPair(files());
    expect(warnings()).toHaveLength(count);
  });

  test('a kubeconfig with a key counts as one', () => {
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, 'users: [{name: a, user: {client-key-data: a2V5}}]');
    withMode(kubeconfig, 0o644);
    watcher.watch('kubeconfig', (read) => read(kubeconfig));
    expect(warnings()).toHaveLength(1);
  });

  test.each([
    ['{secretbox: {keys: [{name: a, secret: a2V5}]}}', 1],
    ['{kms: {apiVersion: v2, name: a, endpoint: "unix:///a.sock"}}', 0],
  ])('an encryption configuration with the provider %s counts %i times', (provider, count) => {
    const file = join(folder, 'encryption.yaml');
    writeFileSync(file, `kind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [${provider}]}]`);
    withMode(file, 0o644);
    watcher.watch('encryption-provider-config', (read) => read(file));
    expect(warnings()).toHaveLength(count);
  });

  test('that are broken are named', () => {
    write(first);
    const { certificateFile, privateKeyFile } = files();
    writeFileSync(privateKeyFile, 'no key');
    expect(() => watcher.watchPair(files())).toThrow(`${privateKeyFile}: not a private key in PEM`);
    expect(() => watcher.readPrivateKey(privateKeyFile)).toThrow(`${privateKeyFile}: not a private key in PEM`);
    writeFileSync(privateKeyFile, second.privateKeyPem);
    expect(() => watcher.watchPair(files())).toThrow(
      `${privateKeyFile}: the private key does not belong to the certificate in ${certificateFile}`,
    );
    writeFileSync(certificateFile, first.certificatePem.replace(/\n\w{20}/, '\nAAAAAAAAAAAAAAAAAAAA'));
    expect(() => watcher.watchPair(files())).toThrow(`${certificateFile}: not a valid certificate`);
  });
});

describe('a certificate and its key', () => {
  test('are replaced at the next poll after they were overwritten, and listeners are notified once', async () => {
    write(first);
    const watched = watcher.watchPair(files());
    const notified: Certificate[] = [];
    watched.onChange((pair) => notified.push(pair));
    await watcher.start();
    await clock.advance(5000);
    expect([watched.current, notified]).toEqual([first, []]);
    write(second);
    await clock.advance(1000);
    expect([watched.current, notified]).toEqual([second, [second]]);
    await clock.advance(5000);
    expect(notified).toEqual([second]);
  });

  test('stay unchanged until both files of a new pair are written', () => {
    write(first);
    const watched = watcher.watchPair(files());
    writeFileSync(files().certificateFile, second.certificatePem);
    watcher.check();
    watcher.check();
    expect(watched.current).toEqual(first);
    expect(log.filter((line) => line.includes('failed to reload'))).toHaveLength(1);
    writeFileSync(files().privateKeyFile, second.privateKeyPem);
    watcher.check();
    expect(watched.current).toEqual(second);
  });

  test('stay unchanged while the files are truncated or missing', () => {
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

  test('follow a symbolic link to a folder, as the kubelet updates secrets', () => {
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

  test('are refused at the start when they do not match, with the name of the file', () => {
    write({ ...first, privateKeyPem: second.privateKeyPem });
    expect(() => watcher.watchPair(files())).toThrow(
      `${files().privateKeyFile}: the private key does not belong to the certificate in ${files().certificateFile}`,
    );
  });
});

test('a CA bundle may grow and shrink, and is never empty', () => {
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

test('a value may name the files that it is read from: a new name watches another file', () => {
  const [index, a, b] = ['index', 'a', 'b'].map((name) => join(folder, name)) as [string, string, string];
  writeFileSync(index, 'a');
  writeFileSync(a, '1');
  writeFileSync(b, '2');
  const watched = watcher.watch('index', (readText) => readText(join(folder, readText(index))));
  const notified: string[] = [];
  watched.onChange((text) => notified.push(text));
  writeFileSync(index, 'b');
  watcher.check();
  writeFileSync(a, 'no longer watched');
  watcher.check();
  writeFileSync(b, '22');
  watcher.check();
  expect(notified).toEqual(['2', '22']);
});

test('a failing listener is logged, and the others are notified', () => {
  write(first);
  const watched = watcher.watchPair(files());
  const notified: Certificate[] = [];
  watched.onChange(() => {
    throw new Error('cannot take it');
  });
  watched.onChange((pair) => notified.push(pair));
  write(second);
  watcher.check();
  expect(notified).toEqual([second]);
  expect(log.join('')).toContain('cannot take it');
});
