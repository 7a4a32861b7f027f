import { type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { Clock, Timer } from '../clock/clock.ts';
import type { Runnable } from '../lifecycle/runnable.ts';
import type { Logger } from '../logging/logger.ts';
import { readOptionFile } from '../options/option-file.ts';
import type { Certificate, CertificateFiles } from './certificate.ts';
import { exposedMode, holdsSecretKey, parsePrivateKey } from './private-key-file.ts';
import { readIfPresent } from './stored-pair.ts';

/** A value derived from files, which is updated when they change. */
export interface Watched<T> {
  /** From the last valid content of the files. */
  readonly current: T;
  /** Calls the listener with the new value after each change; what it throws is logged. */
  onChange(listener: (value: T) => void): void;
}

export interface CertificateWatcherOptions {
  /** Poll interval in milliseconds; 2 s by default. */
  readonly intervalMs?: number | undefined;
}

export interface CertificateWatcherModules {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reads a text file and throws when that fails. */
export type ReadText = (path: string) => string;

/**
 * Reloads certificates, keys and kubeconfigs when their files change, so that rotation needs no restart.
 *
 * ```
 *  every interval   stat every file that was read: device, inode, size, mtime and ctime of the target of the path
 *  changed          read and validate all files of the value again; valid → replace the value, notify listeners
 *  invalid          log once, keep the previous value, retry at every poll (a pair may be written one file after the other)
 * ```
 *
 * Polling sees overwritten files, files renamed into place, and the symbolic link by which the kubelet replaces a whole
 * folder; inotify would see only some of these, and none on a network file system.
 *
 * The first read happens in `watch` and throws: a server does not start on invalid files. A file with a private key, with the
 * keys of an EncryptionConfiguration or with tokens that other users can read is reported once per mode; it is used all the
 * same, because the owner may have a reason.
 */
export class CertificateWatcher implements Runnable {
  readonly name = 'certificates';
  readonly #intervalMs: number;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #checks: (() => void)[] = [];
  /** The reported mode by file. */
  readonly #exposed = new Map<string, string | undefined>();
  #timer: Timer | undefined;

  constructor({ intervalMs = 2_000 }: CertificateWatcherOptions, { clock, logger }: CertificateWatcherModules) {
    this.#intervalMs = intervalMs;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The result of `read`, which is called again when a file that it read changes; it may read other files each time. */
  watch<T>(what: string, read: (readText: ReadText) => T): Watched<T> {
    const listeners: ((value: T) => void)[] = [];
    const load = (files: Map<string, FileVersion>): T =>
      read((path) => {
        // Stat before reading: a write in between shows as a change at the next poll.
        const state = fileState(path);
        const text = readFileSync(path, 'utf8');
        files.set(path, { state, text });
        if (holdsSecretKey(text)) this.#reportExposed(path);
        return text;
      });
    let loaded = new Map<string, FileVersion>();
    let current = load(loaded);
    let failed = false;
    const check = (): void => {
      if (!failed && [...loaded].every(([path, { state }]) => fileState(path) === state)) return;
      const files = new Map<string, FileVersion>();
      let value: T;
      try {
        value = load(files);
      } catch (error) {
        // Logged once, not at every poll.
        if (!failed) this.#logger.warn('failed to reload changed files, keeping the previous ones', { what, error });
        failed = true;
        return;
      }
      failed = false;
      const previous = loaded;
      loaded = files;
      if (files.size === previous.size && [...files].every(([path, { text }]) => previous.get(path)?.text === text))
        return;
      current = value;
      this.#logger.info('reloaded changed files', { what });
      for (const listener of listeners) {
        try {
          listener(value);
        } catch (error) {
          this.#logger.error('failed to apply changed files', { what, error });
        }
      }
    };
    this.#checks.push(check);
    return {
      get current() {
        return current;
      },
      onChange: (listener) => void listeners.push(listener),
    };
  }

  /** A certificate and its private key, which must match. */
  watchPair({ certificateFile, privateKeyFile }: CertificateFiles): Watched<Certificate> {
    return this.watch(certificateFile, (readText) =>
      checkPair(
        { certificatePem: readText(certificateFile), privateKeyPem: readText(privateKeyFile) },
        { certificateFile, privateKeyFile },
      ),
    );
  }

  /** A private key that is read once. Throws an Error with the file. */
  readPrivateKey(file: string): KeyObject {
    const text = readIfPresent(file);
    if (text === undefined) throw new Error(`${file} does not exist`);
    const key = parsePrivateKey(text, file);
    this.#reportExposed(file);
    return key;
  }

  /** A file of secrets that a flag names and that is read once. Throws an OptionError. */
  readSecrets(flag: string, file: string): string {
    const text = readOptionFile(flag, file);
    this.#reportExposed(file);
    return text;
  }

  /** A CA bundle with at least one certificate. */
  watchAuthorities(file: string): Watched<readonly X509Certificate[]> {
    return this.watch(file, (readText) => parseCertificates(readText(file), file));
  }

  async start(): Promise<void> {
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
  }

  /** Polls now: on SIGHUP, and in tests. */
  check(): void {
    for (const check of this.#checks) check();
  }

  #reportExposed(file: string): void {
    const mode = exposedMode(file);
    if (mode !== undefined && this.#exposed.get(file) !== mode)
      this.#logger.warn('a file with secrets is open to other users; restrict it with chmod 600', { file, mode });
    this.#exposed.set(file, mode);
  }

  #arm(): void {
    this.#timer = this.#clock.after(this.#intervalMs, () => {
      this.check();
      this.#arm();
    });
  }
}

interface FileVersion {
  readonly state: string;
  readonly text: string;
}

/** Changes with every write or replacement of the target of a path; follows symbolic links. */
function fileState(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? 'absent' : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

/** Returns the pair; throws unless the key belongs to the certificate. Errors name the file at fault. */
export function checkPair(pair: Certificate, { certificateFile, privateKeyFile }: CertificateFiles): Certificate {
  const [leaf] = parseCertificates(pair.certificatePem, certificateFile);
  if (leaf === undefined || !leaf.checkPrivateKey(parsePrivateKey(pair.privateKeyPem, privateKeyFile)))
    throw new Error(
      certificateFile === privateKeyFile
        ? `${certificateFile}: the private key does not belong to the certificate`
        : `${privateKeyFile}: the private key does not belong to the certificate in ${certificateFile}`,
    );
  return pair;
}

/** Whether both parts exist and belong together. A crash between the writes of a pair leaves one that does not. */
export function isPair(pair: Partial<Certificate>, files: CertificateFiles): pair is Certificate {
  const { certificatePem, privateKeyPem } = pair;
  if (certificatePem === undefined || privateKeyPem === undefined) return false;
  try {
    checkPair({ certificatePem, privateKeyPem }, files);
    return true;
  } catch {
    return false;
  }
}

/** The certificates of a PEM bundle. Throws when it has none, or a truncated one. */
export function parseCertificates(bundle: string, file: string): X509Certificate[] {
  const found = bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const headers = bundle.match(/-----BEGIN CERTIFICATE-----/g)?.length ?? 0;
  if (found.length === 0 || headers !== found.length)
    throw new Error(`${file}: not a complete PEM bundle of certificates`);
  return found.map((pem) => {
    try {
      return new X509Certificate(pem);
    } catch (cause) {
      throw new Error(`${file}: not a valid certificate`, { cause });
    }
  });
}
