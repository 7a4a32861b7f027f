/**
 * The messages of KMS v2 (k8s.io/kms `apis/v2/api.proto`) and of values that it encrypts (k8s.io/apiserver
 * `storage/value/encrypt/envelope/kmsv2/v2/api.proto`), in the protobuf wire format.
 */

export interface StatusResponse {
  readonly version: string;
  readonly healthz: string;
  readonly keyId: string;
}
export interface EncryptResponse {
  readonly ciphertext: Buffer;
  readonly keyId: string;
  readonly annotations: ReadonlyMap<string, Buffer>;
}
export interface DecryptRequest {
  readonly ciphertext: Buffer;
  readonly uid: string;
  readonly keyId: string;
  readonly annotations: ReadonlyMap<string, Buffer>;
}

/** How the encrypted data key is used: as a key, or as the seed of a key per value. */
export const dekSourceTypes = { aesGcmKey: 0, hkdfSeed: 1 } as const;

export interface EncryptedObject {
  readonly data: Buffer;
  readonly keyId: string;
  readonly dekSource: Buffer;
  readonly annotations: ReadonlyMap<string, Buffer>;
  readonly dekSourceType: number;
}

type Field = readonly [number: number, value: Buffer | string | number | ReadonlyMap<string, Buffer>];

/** Encodes fields in order; empty ones are left out, as in proto3. */
function encode(fields: readonly Field[]): Buffer {
  const parts: Buffer[] = [];
  for (const [number, value] of fields) {
    if (typeof value === 'number') {
      if (value !== 0) parts.push(varint(number << 3), varint(value));
    } else if (typeof value === 'string' || Buffer.isBuffer(value)) {
      const bytes = Buffer.from(value);
      if (bytes.length > 0) parts.push(varint((number << 3) | 2), varint(bytes.length), bytes);
    } else {
      const entries = [...value].sort(([a], [b]) => (a < b ? -1 : 1));
      for (const [key, bytes] of entries) {
        const entry = encode([
          [1, key],
          [2, bytes],
        ]);
        parts.push(varint((number << 3) | 2), varint(entry.length), entry);
      }
    }
  }
  return Buffer.concat(parts);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** The fields of a message by number, in order of appearance. Throws for bytes that are no message. */
function decode(bytes: Buffer): Map<number, (Buffer | number)[]> {
  const fields = new Map<number, (Buffer | number)[]>();
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 49; scale *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error('truncated message');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new Error('invalid number in message');
  };
  while (at < bytes.length) {
    const tag = number();
    const wire = tag % 8;
    let value: Buffer | number;
    if (wire === 0) value = number();
    else {
      const length = wire === 2 ? number() : wire === 1 ? 8 : wire === 5 ? 4 : -1;
      if (length < 0 || at + length > bytes.length) throw new Error('truncated message');
      value = bytes.subarray(at, (at += length));
    }
    const field = Math.floor(tag / 8);
    fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}

type Fields = ReturnType<typeof decode>;

function bytesOf(fields: Fields, number: number): Buffer {
  const value = fields.get(number)?.at(-1);
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
}
const textOf = (fields: Fields, number: number): string => bytesOf(fields, number).toString('utf8');
function mapOf(fields: Fields, number: number): Map<string, Buffer> {
  const map = new Map<string, Buffer>();
  for (const value of fields.get(number) ?? []) {
    if (!Buffer.isBuffer(value)) continue;
    const entry = decode(value);
    map.set(textOf(entry, 1), bytesOf(entry, 2));
  }
  return map;
}

export const encodeNothing = (): Buffer => Buffer.alloc(0);

export function decodeStatusResponse(bytes: Buffer): StatusResponse {
  const fields = decode(bytes);
  return { version: textOf(fields, 1), healthz: textOf(fields, 2), keyId: textOf(fields, 3) };
}

export const encodeEncryptRequest = ({
  plaintext,
  uid,
}: {
  readonly plaintext: Buffer;
  readonly uid: string;
}): Buffer =>
  encode([
    [1, plaintext],
    [2, uid],
  ]);

export function decodeEncryptResponse(bytes: Buffer): EncryptResponse {
  const fields = decode(bytes);
  return { ciphertext: bytesOf(fields, 1), keyId: textOf(fields, 2), annotations: mapOf(fields, 3) };
}

export const encodeDecryptRequest = ({ ciphertext, uid, keyId, annotations }: DecryptRequest): Buffer =>
  encode([
    [1, ciphertext],
    [2, uid],
    [3, keyId],
    [4, annotations],
  ]);

/** The plain text. */
export const decodeDecryptResponse = (bytes: Buffer): Buffer => bytesOf(decode(bytes), 1);

export const encodeEncryptedObject = (object: EncryptedObject): Buffer =>
  encode([
    [1, object.data],
    [2, object.keyId],
    [3, object.dekSource],
    [4, object.annotations],
    [5, object.dekSourceType],
  ]);

/** Throws for bytes that are no valid EncryptedObject. */
export function decodeEncryptedObject(bytes: Buffer): EncryptedObject {
  const fields = decode(bytes);
  const type = fields.get(5)?.at(-1) ?? 0;
  const object = {
    data: bytesOf(fields, 1),
    keyId: textOf(fields, 2),
    dekSource: bytesOf(fields, 3),
    annotations: mapOf(fields, 4),
    dekSourceType: typeof type === 'number' ? type : -1,
  };
  validateEncryptedObject(object);
  return object;
}

const maxKeyIdBytes = 1024;
const maxDekSourceBytes = 1024;
const maxAnnotationBytes = 32 * 1024;

/** Throws for what kube-apiserver does not accept. */
export function validateEncryptedObject(object: EncryptedObject): void {
  const { data, keyId, dekSource, annotations, dekSourceType } = object;
  if (!Object.values<number>(dekSourceTypes).includes(dekSourceType))
    throw new Error(`unknown encryptedDEKSourceType: ${dekSourceType}`);
  if (data.length === 0) throw new Error('encrypted data is empty');
  if (dekSource.length === 0) throw new Error('failed to validate encrypted DEK source: encrypted DEK source is empty');
  if (dekSource.length > maxDekSourceBytes)
    throw new Error(
      `failed to validate encrypted DEK source: encrypted DEK source is ${dekSource.length} bytes, which exceeds the max size of ${maxDekSourceBytes}`,
    );
  if (keyId === '') throw new Error('failed to validate key id: keyID is empty');
  if (Buffer.byteLength(keyId) > maxKeyIdBytes)
    throw new Error(`failed to validate key id: keyID is longer than ${maxKeyIdBytes} bytes`);
  let bytes = 0;
  for (const [key, value] of annotations) bytes += Buffer.byteLength(key) + value.length;
  if (bytes > maxAnnotationBytes)
    throw new Error(
      `failed to validate annotations: total size of annotations is ${bytes}, which exceeds ${maxAnnotationBytes}`,
    );
}
