import { Client, credentials } from '@grpc/grpc-js';
import {
  type DecryptRequest,
  decodeDecryptResponse,
  decodeEncryptResponse,
  decodeStatusResponse,
  encodeDecryptRequest,
  encodeEncryptRequest,
  encodeNothing,
  type EncryptResponse,
  type StatusResponse,
} from './messages.ts';

/** A KMS v2 plugin. Every call rejects after the timeout. */
export interface KmsService {
  status(): Promise<StatusResponse>;
  encrypt(uid: string, plaintext: Buffer): Promise<EncryptResponse>;
  decrypt(request: DecryptRequest): Promise<Buffer>;
  close(): void;
}

const unixScheme = 'unix://';

/** A plugin behind a UNIX socket (`unix:///run/kms.sock`). Throws for other endpoints. */
export class KmsClient implements KmsService {
  readonly #client: Client;
  readonly #timeoutMs: number;

  constructor({ endpoint, timeoutMs }: { readonly endpoint: string; readonly timeoutMs: number }) {
    const scheme = endpoint.slice(0, Math.max(0, endpoint.indexOf(':')));
    if (!endpoint.startsWith(unixScheme))
      throw new Error(`unsupported scheme ${JSON.stringify(scheme)} for KMS provider, only unix is supported`);
    this.#client = new Client(`unix:${endpoint.slice(unixScheme.length)}`, credentials.createInsecure(), {
      // The client of a provider is its own: a removed provider closes its connection.
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_reconnect_backoff_ms': 5000,
      'grpc.default_authority': 'localhost',
    });
    this.#timeoutMs = timeoutMs;
  }

  status(): Promise<StatusResponse> {
    return this.#call('Status', undefined, encodeNothing, decodeStatusResponse);
  }
  encrypt(uid: string, plaintext: Buffer): Promise<EncryptResponse> {
    return this.#call('Encrypt', { plaintext, uid }, encodeEncryptRequest, decodeEncryptResponse);
  }
  decrypt(request: DecryptRequest): Promise<Buffer> {
    return this.#call('Decrypt', request, encodeDecryptRequest, decodeDecryptResponse);
  }
  close(): void {
    this.#client.close();
  }

  #call<Request, Response>(
    method: string,
    request: Request,
    encode: (request: Request) => Buffer,
    decode: (bytes: Buffer) => Response,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const path = `/v2.KeyManagementService/${method}`;
      const deadline = new Date(Date.now() + this.#timeoutMs);
      this.#client.makeUnaryRequest(path, encode, decode, request, { deadline }, (error, response) => {
        if (error !== null) reject(error);
        else if (response === undefined) reject(new Error(`${method}: empty response`));
        else resolve(response);
      });
    });
  }
}
