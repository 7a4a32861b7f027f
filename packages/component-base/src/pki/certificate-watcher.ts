import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { Clock, Timer } from '../clock/clock.ts';
import type { Runnable } from '../lifecycle/runnable.ts';
import type { Logger } from '../logging/logger.ts';
import type { Certificate, CertificateFiles } from './certificate.ts';

/** A value that was read from files and follows them. */
export interface Watched<T> {
  /** As the files were when they last made sense. */
  readonly current: T;
  /** Called with the new value after each change; what it throws is logged. */
  onChange(listener: (value: T) => void): void;
}

export interface CertificateWatcherOptions {
  /** Time between two looks, in milliseconds. */
  readonly intervalMs?: number | undefined;
}

export interface CertificateWatcherModules {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reads a text file. */
export type ReadText = (path: string) => string;

/**
 * Certificates, keys and whatever names them, read again whenever their files change, so that none of it needs a
 * restart (C11.5).
 *
 * One timer for the whole process looks at every file that was read: inode, size and times of what the path leads to.
 * That sees a file that is overwritten, one that is renamed into place, and the symbolic link by which Kubernetes swaps
 * a whole folder; inotify would see only some of these, and none on a network file system. When something differs,
 * everything of that value is read anew and judged as a whole. What does not make sense – a certificate whose key is
 * not there yet, half a file – leaves the old value in force and is tried again at every look until it does.
 *
 * The first read happens in `watch` itself and throws: a server does not start on broken files.
 */
export class CertificateWatcher implements Runnable {
  readonly name = 'certificates';
  readonly #intervalMs: number;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #checks: (() => void)[] = [];
  #timer: Timer | undefined;

  constructor({ intervalMs = 2_000 }: CertificateWatcherOptions, { clock, logger }: CertificateWatcherModules) {
    this.#intervalMs = intervalMs;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Whatever `read` makes of the files it asks for; they may be others each time. */
  watch<T>(what: string, read: (readText: ReadText) => T): Watched<T> {
    const listeners: ((value: T) => void)[] = [];
    const look = (seen: Map<string, Seen>): T =>
      read((path) => {
        // The state before the content: a write in between shows as a change at the next look.
        const state = stateOf(path);
        const text = readFileSync(path, 'utf8');
        seen.set(path, { state, text });
        return text;
      });
    let inForce = new Map<string, Seen>();
    let current = look(inForce);
    let failed = false;
    const check = (): void => {
      if (!failed && [...inForce].every(([path, { state }]) => stateOf(path) === state)) return;
      const seen = new Map<string, Seen>();
      let value: T;
      try {
        value = look(seen);
      } catch (error) {
        // Told once, not at every look: a pair is often written one file after the other.
        if (!failed) this.#logger.warn('changed files are not usable; the old ones stay in force', { what, error });
        failed = true;
        return;
      }
      failed = false;
      const before = inForce;
      inForce = seen;
      if (seen.size === before.size && [...seen].every(([path, { text }]) => before.get(path)?.text === text)) return;
      current = value;
      this.#logger.info('read again after a change', { what });
      for (const listener of listeners) {
        try {
          listener(value);
        } catch (error) {
          this.#logger.error('a changed file could not be taken over', { what, error });
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

  /** A certificate with its key; each must fit the other. */
  watchPair({ certificateFile, privateKeyFile }: CertificateFiles): Watched<Certificate> {
    return this.watch(certificateFile, (readText) =>
      checkPair(
        { certificatePem: readText(certificateFile), privateKeyPem: readText(privateKeyFile) },
        certificateFile,
      ),
    );
  }

  /** A bundle of authorities; at least one certificate, all of them readable. */
  watchAuthorities(file: string): Watched<readonly X509Certificate[]> {
    return this.watch(file, (readText) => parseCertificates(readText(file), file));
  }

  async start(): Promise<void> {
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
  }

  /** Looks at once, for a process that was told to reload, and for tests. */
  check(): void {
    for (const check of this.#checks) check();
  }

  #arm(): void {
    this.#timer = this.#clock.after(this.#intervalMs, () => {
      this.check();
      this.#arm();
    });
  }
}

interface Seen {
  readonly state: string;
  readonly text: string;
}

/** Changes with everything that can happen to what a path leads to; links are followed. */
function stateOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? 'absent' : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

/** Throws unless the key belongs to the certificate. */
export function checkPair(pair: Certificate, file: string): Certificate {
  const [leaf] = parseCertificates(pair.certificatePem, file);
  if (leaf === undefined || !leaf.checkPrivateKey(createPrivateKey(pair.privateKeyPem)))
    throw new Error(`${file}: the private key does not belong to the certificate`);
  return pair;
}

/** Every certificate of a PEM bundle. Throws when there is none, or when the file ends within one. */
export function parseCertificates(bundle: string, file: string): X509Certificate[] {
  const found = bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const begun = bundle.match(/-----BEGIN CERTIFICATE-----/g)?.length ?? 0;
  if (found.length === 0 || begun !== found.length)
    throw new Error(`${file}: not a whole bundle of certificates (PEM)`);
  return found.map((pem) => new X509Certificate(pem));
}
