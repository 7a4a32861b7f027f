import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '@multiplane/component-base';
import { ExtendedNonceGcmTransformer, GcmTransformer, seedBytes } from '../aes-transformers.ts';
import type { Decrypted, ValueTransformer } from '../value-transformer.ts';
import type { KmsService } from './kms-client.ts';
import {
  decodeEncryptedObject,
  dekSourceTypes,
  encodeEncryptedObject,
  type EncryptedObject,
  validateEncryptedObject,
} from './messages.ts';

export interface KmsTransformerModules {
  readonly service: KmsService;
  readonly clock: Clock;
}

/** Without a successful probe for so long, writes are refused. */
const writeForMs = 3 * 60_000;
/** Data keys that are kept; there is one per key of the plugin and start of a shard. */
const maxDataKeys = 1000;

/** The seed that writes use. */
interface WriteState {
  readonly transformer: ExtendedNonceGcmTransformer;
  readonly envelope: Omit<EncryptedObject, 'data'>;
  /** Monotonic. */
  readonly expiresAt: number;
}

/**
 * KMS v2 (KEP-3299): values are encrypted with keys that are derived from a seed; the plugin encrypts the seed, which is
 * stored beside each value.
 *
 *   seed      created at the first probe, and again when the key of the plugin changes. One call of the plugin per seed, none
 *             per write.
 *   read      the decrypted seed is cached by its encrypted form; concurrent reads share one call. Reads are allowed as long
 *             as the seed is cached or the plugin responds.
 *   write     with the current seed, for three minutes after the last successful probe: then the plugin's key may have been
 *             revoked, and writes are refused
 *   stale     values of another key of the plugin than the one that its last status named
 */
export class KmsTransformer implements ValueTransformer {
  readonly name: string;
  readonly #service: KmsService;
  readonly #clock: Clock;
  readonly #dataKeys = new Map<string, ValueTransformer | Promise<ValueTransformer>>();
  #state: WriteState | undefined;
  #lastError: Error | undefined = new Error('the plugin has not been asked yet');

  constructor({ name }: { readonly name: string }, { service, clock }: KmsTransformerModules) {
    this.name = name;
    this.#service = service;
    this.#clock = clock;
  }

  /** The reason why the last probe failed; undefined: it succeeded. */
  get failure(): Error | undefined {
    return this.#lastError;
  }

  /** Asks the plugin for its status, and creates a seed when its key has changed. Never rejects; see {@link failure}. */
  async probe(): Promise<void> {
    try {
      const { version, healthz, keyId } = await this.#service.status();
      if (version !== 'v2' && version !== 'v2beta1')
        throw new Error(`expected KMSv2 API version v2, got ${JSON.stringify(version)}`);
      if (healthz !== 'ok') throw new Error(`got unexpected healthz status: ${healthz}`);
      if (keyId === '') throw new Error('expected KMSv2 KeyID to be set, got empty');
      const expiresAt = this.#clock.monotonic() + writeForMs;
      this.#state =
        this.#state?.envelope.keyId === keyId
          ? { ...this.#state, expiresAt }
          : { ...(await this.#createSeed(keyId)), expiresAt };
      this.#lastError = undefined;
    } catch (error) {
      this.#lastError = new Error(
        `KMS provider ${this.name}: ${error instanceof Error ? error.message : String(error)}`,
        {
          cause: error,
        },
      );
    }
  }

  encrypt(value: Buffer, context: string): Buffer {
    const state = this.#state;
    if (state === undefined)
      throw new Error(`KMS provider ${this.name} has not responded yet`, { cause: this.#lastError });
    if (this.#clock.monotonic() > state.expiresAt)
      throw new Error(`the data key of KMS provider ${this.name} has expired: the plugin does not respond`, {
        cause: this.#lastError,
      });
    return encodeEncryptedObject({ ...state.envelope, data: state.transformer.encrypt(value, context) });
  }

  decrypt(stored: Buffer, context: string): Decrypted | Promise<Decrypted> {
    const object = decodeEncryptedObject(stored);
    const transformer = this.#dataKey(object);
    return transformer instanceof Promise
      ? transformer.then((known) => this.#open(known, object, context))
      : this.#open(transformer, object, context);
  }

  close(): void {
    this.#service.close();
  }

  #open(transformer: ValueTransformer, object: EncryptedObject, context: string): Decrypted {
    const { value } = transformer.decrypt(object.data, context) as Decrypted;
    const current = this.#state?.envelope;
    const stale =
      current !== undefined && (object.keyId !== current.keyId || object.dekSourceType !== current.dekSourceType);
    return { value, stale };
  }

  #dataKey(object: EncryptedObject): ValueTransformer | Promise<ValueTransformer> {
    const id = dataKeyId(object);
    const known = this.#dataKeys.get(id);
    if (known !== undefined) return known;
    const { dekSource: ciphertext, keyId, annotations } = object;
    const fetched = this.#service
      .decrypt({ ciphertext, uid: randomUUID(), keyId, annotations })
      .then((plaintext): ValueTransformer => {
        const transformer =
          object.dekSourceType === dekSourceTypes.hkdfSeed
            ? new ExtendedNonceGcmTransformer(plaintext)
            : new GcmTransformer(plaintext);
        this.#keep(id, transformer);
        return transformer;
      });
    // A failed call is not cached: the next read asks the plugin again.
    const tracked = fetched.catch((error: unknown) => {
      this.#dataKeys.delete(id);
      throw new Error(`failed to decrypt DEK, error: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    });
    this.#dataKeys.set(id, tracked);
    return tracked;
  }

  async #createSeed(keyId: string): Promise<Omit<WriteState, 'expiresAt'>> {
    const seed = randomBytes(seedBytes);
    const response = await this.#service.encrypt(randomUUID(), seed);
    if (response.keyId !== keyId)
      throw new Error(`the plugin encrypted with key ${response.keyId}, but its status says ${keyId}`);
    const envelope = {
      keyId,
      dekSource: response.ciphertext,
      annotations: response.annotations,
      dekSourceType: dekSourceTypes.hkdfSeed,
    };
    validateEncryptedObject({ ...envelope, data: Buffer.from([0]) });
    const transformer = new ExtendedNonceGcmTransformer(seed);
    this.#keep(dataKeyId(envelope), transformer);
    return { transformer, envelope };
  }

  #keep(id: string, transformer: ValueTransformer): void {
    this.#dataKeys.set(id, transformer);
    for (const oldest of this.#dataKeys.keys()) {
      if (this.#dataKeys.size <= maxDataKeys) break;
      this.#dataKeys.delete(oldest);
    }
  }
}

function dataKeyId({ dekSource, keyId, annotations, dekSourceType }: Omit<EncryptedObject, 'data'>): string {
  const bytes = encodeEncryptedObject({ dekSource, keyId, annotations, dekSourceType, data: Buffer.alloc(0) });
  return createHash('sha256').update(bytes).digest('base64');
}
