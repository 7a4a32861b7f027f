import { Server, ServerCredentials, status as grpcStatus } from '@grpc/grpc-js';

const field = (number: number, bytes: Buffer | string): Buffer => {
  const content = Buffer.from(bytes);
  return Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content]);
};
/** Fields of at most 127 bytes. */
const read = (bytes: Buffer): Map<number, Buffer> => {
  const fields = new Map<number, Buffer>();
  for (let at = 0; at < bytes.length;) {
    const length = bytes[at + 1] as number;
    fields.set((bytes[at] as number) >> 3, bytes.subarray(at + 2, at + 2 + length));
    at += 2 + length;
  }
  return fields;
};

/** A KMS v2 plugin that encrypts by XOR with the number of its key, and counts calls. */
export class KmsPlugin {
  keyId = '1';
  healthz = 'ok';
  fails = false;
  readonly calls: string[] = [];
  readonly #server = new Server();

  /** Serves at a UNIX socket. */
  async listen(path: string): Promise<void> {
    const pass = (bytes: Buffer): Buffer => bytes;
    const method = (name: string, answer: (request: Buffer) => Buffer) => ({
      definition: {
        path: `/v2.KeyManagementService/${name}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: pass,
        requestDeserialize: pass,
        responseSerialize: pass,
        responseDeserialize: pass,
      },
      handle: (call: { request: Buffer }, done: (error: object | null, response?: Buffer) => void) => {
        this.calls.push(name);
        if (this.fails) done({ code: grpcStatus.UNAVAILABLE, details: 'the HSM is away' });
        else done(null, answer(call.request));
      },
    });
    const xor = (bytes: Buffer, keyId: string): Buffer => Buffer.from(bytes.map((byte) => byte ^ Number(keyId)));
    const methods = {
      Status: method('Status', () => Buffer.concat([field(1, 'v2'), field(2, this.healthz), field(3, this.keyId)])),
      Encrypt: method('Encrypt', (request) => {
        const annotation = Buffer.concat([field(1, 'plugin.example.dev'), field(2, 'local')]);
        const sealed = xor(read(request).get(1) as Buffer, this.keyId);
        return Buffer.concat([field(1, sealed), field(2, this.keyId), field(3, annotation)]);
      }),
      Decrypt: method('Decrypt', (request) => {
        const fields = read(request);
        if (fields.get(4)?.includes('local') !== true) throw new Error('the annotations are missing');
        return field(1, xor(fields.get(1) as Buffer, (fields.get(3) as Buffer).toString()));
      }),
    };
    this.#server.addService(
      Object.fromEntries(Object.entries(methods).map(([name, { definition }]) => [name, definition])),
      Object.fromEntries(Object.entries(methods).map(([name, { handle }]) => [name, handle as never])),
    );
    await new Promise<void>((resolve, reject) =>
      this.#server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      ),
    );
  }
  close(): void {
    this.#server.forceShutdown();
  }
}
